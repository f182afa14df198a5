"""``wisecrowd predict``: class probabilities of new items."""

from pathlib import Path
from typing import Annotated, Any

import wisecrowd as wc
from wisecrowd.cli import inputs
from wisecrowd.cli import options as opt

OF_FIT = ("classes", "answers", "gold_column", "gold_item")  # known from the fit


@opt.with_reading(*(name for name in opt.READING if name not in OF_FIT))
@opt.with_table_reading()
def predict(
    run: opt.Run,
    features: Annotated[
        Path | None,
        opt.argument(
            "[FEATURES]",
            "Features of the new items: npy, npz, CSV, Parquet or HDF5, or a folder "
            "of npy or Parquet files. For a run of fit only.",
        ),
    ] = None,
    *,
    annotations: Annotated[
        list[Path] | None,
        opt.option(
            "--annotations -a FILE",
            "Answers on the new items, by known or new annotators. May be repeated.",
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
    from wisecrowd.results.run_folder import check_file

    given = inputs.files_of(reading, features, annotations)
    check_file(out, "table", given, force=force)
    model = wc.load(run)
    _check_what_is_given(model, run, features, annotations)
    table = None if features is None else _table(model, features, reading_table)
    read = None
    if annotations:
        read = inputs.answers_from(annotations, reading)
        _check_answers(model, read)
    _predict(model, table, read, out=out, as_json=as_json, quiet=quiet)


def _predict(
    model: Any, table: Any, read: Any, *, out: Path | None, as_json: bool, quiet: bool
) -> None:
    from wisecrowd._checks import counted
    from wisecrowd.cli import show
    from wisecrowd.cli.wording import as_options
    from wisecrowd.io.join import join_features, join_note
    from wisecrowd.results.findings import n_gold_of
    from wisecrowd.results.run_folder import write_table
    from wisecrowd.results.tables import class_table, probability_table

    notes: list[str] = []
    if table is not None:
        table, notes = _arranged(model, table)
        read = None if read is None else join_features(read, table)
        notes = [str(table) if read is None else join_note(read, table), *notes]
    if not quiet:
        show.say(*map(as_options, [*_said_of_answers(model, read), *notes]))
    names = table.items if read is None else read.items
    if table is None:
        proba = model.predict_proba(read)
    else:
        proba = model.predict_proba(table.to_frame(), read, items=names)
    _check_finite(proba)
    n_answers = 0 if read is None else read.codes.n_per_item
    found = probability_table(names, proba, model.classes_, n_answers)
    said = "Nothing was written. Add --out FILE to keep the predictions."
    if out is not None:
        write_table(found, out)
        said = f"Wrote {out}: {counted(len(found), 'item')}."
    if as_json:
        show.show_json({"classes": model.classes_, "items": found})
    elif not quiet:
        show.show_classes(class_table(found, model.classes_, n_gold_of(model)))
        show.show_items(found)
    if not quiet:
        show.say(said)


# -- what is read -------------------------------------------------------------------


def _check_what_is_given(
    model: Any, run: Path, features: Path | None, annotations: Any
) -> None:
    """Refuse features for a model that uses none, and the other way round."""
    from wisecrowd.base import CrowdClassifier

    begin = f"{run}: the model of this run is {type(model).__name__}, which "
    if isinstance(model, CrowdClassifier):
        if features is None:
            raise wc.InputError(
                f"{begin}needs the features of the new items: 'wisecrowd predict {run} "
                f"FEATURES'."
            )
    elif features is not None:
        raise wc.InputError(
            f"{begin}does not use features. Give it answers: 'wisecrowd predict {run} "
            f"--annotations FILE'. For features, fit one with 'wisecrowd fit ANSWERS "
            f"--features FILE --out RUN'."
        )
    elif not annotations:
        raise wc.InputError(
            f"{begin}predicts from answers. Add --annotations FILE with the answers on "
            f"the new items."
        )


def _table(model: Any, path: Path, reading: opt.Reading) -> Any:
    """Read the features; a column that the fit had is one, whatever it is called."""
    table = inputs.features_from(path, reading)
    fitted = [str(name) for name in getattr(model, "feature_names_in_", ())]
    chosen = reading["columns"] or reading["leave_out"]
    if path.is_dir() and fitted and table.names:
        return inputs.features_from(path, reading, fitted)  # in the order of the fit
    if chosen or not any(name in table.left_out for name in fitted):
        return table
    return inputs.features_from(path, reading, fitted)


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
    from wisecrowd.feature_source import in_order_of_fit
    from wisecrowd.io.sources import errors_that_name

    fitted = getattr(model, "feature_names_in_", None)
    if fitted is None or table.names is None:
        if table.X.shape[1] != model.n_features_in_:
            raise wc.InputError(
                f"{table.path}: it has {table.X.shape[1]:,} features per item, but "
                f"the run was fitted on {model.n_features_in_:,}. Give the same "
                f"columns, in the same order."
            )
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


def _check_finite(proba: Any) -> None:
    import numpy as np

    if not np.isfinite(proba).all():
        raise wc.InputError(
            "the model gives no probabilities for these items, because its numbers are "
            "out of range. It may have been altered: fit and save it again."
        )


def _check_answers(model: Any, read: Any) -> None:
    import numpy as np

    from wisecrowd._checks import listed

    unknown = read.answers[~np.isin(read.answers, model.answers_)]
    if len(unknown):
        raise wc.InputError(
            f"{read.report.path}: the answers {listed(unknown, 5)} did not occur in "
            f"the fit, where the possible answers were {listed(model.answers_, 20)}. "
            f"Correct them, or take them out."
        )
