"""``wisecrowd predict``: class probabilities of new items."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wisecrowd.cli import options as opt


@opt.with_reading(without=("classes", "answers", "gold_column", "gold_item"))
@opt.with_table_reading()
def predict(
    run: opt.Run,
    features: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FEATURES]",
            show_default=False,
            help="Features of the new items: npy, npz, CSV, Parquet or HDF5. For a run "
            "of fit only.",
        ),
    ] = None,
    *,
    annotations: Annotated[
        list[Path] | None,
        typer.Option(
            "--annotations",
            "-a",
            metavar="FILE",
            help="Answers on the new items, by known or new annotators. May be "
            "repeated.",
        ),
    ] = None,
    out: Annotated[Path | None, opt.out_file("CSV or Parquet to write.")] = None,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    reading: opt.Reading,
    reading_table: opt.Reading,
) -> None:
    """Predict the classes of new items with a fitted model.

    [bold]wisecrowd predict run/ new.parquet --out predictions.csv[/bold]

    If some of them already have answers, add these with --annotations. A run of
    aggregate has no classifier and predicts from answers alone:
    [bold]wisecrowd predict run/ --annotations new.csv[/bold]
    """
    from wisecrowd.persist import load
    from wisecrowd.results.run_folder import check_table_file

    check_table_file(out, opt.inputs(reading, features, annotations), force=force)
    model = load(run)
    table = _table_for(model, features, run, reading_table)
    read = None
    if annotations:
        read = opt.answers_from(annotations, reading)
        _check_answers(model, read)
    elif table is None:
        _refuse_silence(model, run)
    _predict(model, table, read, out=out, as_json=as_json, quiet=quiet)


def _predict(model: Any, table: Any, read: Any, *, out: Any, **how: bool) -> None:
    from wisecrowd._checks import counted
    from wisecrowd.cli import show
    from wisecrowd.cli.wording import as_options
    from wisecrowd.results.findings import n_gold_of
    from wisecrowd.results.run_folder import write_table
    from wisecrowd.results.tables import class_table, probability_table

    notes: list[str] = []
    both, X = read, None
    if table is not None:
        both, table, notes, X = _joined(model, table, read)
    if not how["quiet"]:
        notes = [*_said_of_answers(model, both), *notes]
        show.say(*map(as_options, notes))
    names = table.items if both is None else both.items
    n_answers = 0 if both is None else both.codes.n_per_item
    if table is None:
        proba = model.predict_proba(both)
    else:
        proba = model.predict_proba(X, both, items=names)
    _check_finite(proba)
    found = probability_table(names, proba, model.classes_, n_answers)
    if out is not None:
        write_table(found, out)
    if how["as_json"]:
        show.show_json({"classes": model.classes_, "items": found})
    elif not how["quiet"]:
        show.show_classes(class_table(found, model.classes_, n_gold_of(model)))
        show.show_items(found)
    if not how["quiet"]:
        nothing = "Nothing was written. Add --out FILE to keep the predictions."
        show.say(
            nothing if out is None else f"Wrote {out}: {counted(len(found), 'item')}."
        )


# -- what is read -------------------------------------------------------------------


def _table_for(model: Any, path: Path | None, run: Path, reading: opt.Reading) -> Any:
    """Return the features of the new items; None if the model does not use any."""
    from wisecrowd._checks import InputError
    from wisecrowd.base import CrowdClassifier

    if isinstance(model, CrowdClassifier):
        if path is None:
            raise InputError(
                f"{run}: the model of this run is {type(model).__name__}, which needs "
                f"the features of the new items: 'wisecrowd predict {run} FEATURES'."
            )
        return _features_of_fit(model, path, reading)
    if path is None:
        return None
    raise InputError(
        f"{run}: the model of this run is {type(model).__name__}, which does not use "
        f"features. Give it answers: 'wisecrowd predict {run} --annotations FILE'. For "
        f"features, fit one with 'wisecrowd fit ANSWERS --features FILE --out RUN'."
    )


def _features_of_fit(model: Any, path: Path, reading: opt.Reading) -> Any:
    """Read the features; a column that the fit had is one, whatever it is called."""
    table = opt.features_from(path, reading)
    fitted = [str(name) for name in getattr(model, "feature_names_in_", ())]
    chosen = reading["columns"] or reading["leave_out"]
    if chosen or not any(name in table.left_out for name in fitted):
        return table
    return opt.features_from(path, reading, fitted)


def _refuse_silence(model: Any, run: Path) -> None:
    from wisecrowd._checks import InputError

    raise InputError(
        f"{run}: the model of this run is {type(model).__name__}, which predicts from "
        f"answers. Add --annotations FILE with the answers on the new items."
    )


def _joined(model: Any, table: Any, read: Any) -> tuple[Any, Any, list[str], Any]:
    """Return the answers of the table's items, the table in order, and what to note."""
    from wisecrowd.io.join import join_features, join_note

    table, note = _arranged(model, table)
    both = None if read is None else join_features(read, table)
    said = str(table) if both is None else join_note(both, table)
    return both, table, [said, *note], table.to_frame()


def _said_of_answers(model: Any, both: Any) -> list[str]:
    """Return what was read from the file of answers, and who of them is known."""
    from wisecrowd.base import said_of_annotators
    from wisecrowd.cli import show

    if both is None:
        return []
    who = said_of_annotators(model.known_annotators(both))
    return [*show.report_lines(both.report), f"  {show.sizes(both)}", f"  {who}"]


def _arranged(model: Any, table: Any) -> tuple[Any, list[str]]:
    """Return the table with the columns of the fit in order, and what to note."""
    from wisecrowd._checks import counted, listed
    from wisecrowd.features import in_order_of_fit
    from wisecrowd.io.sources import errors_that_name

    fitted = getattr(model, "feature_names_in_", None)
    if fitted is None or table.names is None:
        _check_width(model, table.X, table.path)
        if fitted is None:
            return table._replace(names=None), []
        note = (
            f"note: {table.path} has no names of columns. They are taken to be "
            f"{listed(fitted, 5)}, in this order."
        )
        return table._replace(names=fitted.tolist()), [note]
    with errors_that_name(table.path):
        X, unknown = in_order_of_fit(table.X, table.names, fitted.tolist())
    columns = counted(len(unknown), "column")
    note = f"note: left out {columns} that the fit did not have: {listed(unknown, 5)}."
    return table._replace(X=X, names=fitted.tolist()), [note] if unknown else []


def _check_width(model: Any, X: Any, path: Path) -> None:
    from wisecrowd._checks import InputError

    if X.shape[1] != model.n_features_in_:
        raise InputError(
            f"{path}: it has {X.shape[1]:,} features per item, but the run was fitted "
            f"on {model.n_features_in_:,}. Give the same columns, in the same order."
        )


def _check_finite(proba: Any) -> None:
    import numpy as np

    from wisecrowd._checks import InputError

    if not np.isfinite(proba).all():
        raise InputError(
            "the model gives no probabilities for these items, because its numbers are "
            "out of range. It may have been altered: fit and save it again."
        )


def _check_answers(model: Any, read: Any) -> None:
    import numpy as np

    from wisecrowd._checks import InputError, listed

    unknown = read.answers[~np.isin(read.answers, model.answers_)]
    if len(unknown):
        raise InputError(
            f"{read.report.path}: the answers {listed(unknown, 5)} did not occur in "
            f"the fit, where the possible answers were {listed(model.answers_, 20)}. "
            f"Correct them, or take them out."
        )
