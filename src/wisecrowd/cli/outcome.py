"""What a fit leaves, whichever command asked for it: tables, JSON, a run folder."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wisecrowd._checks import counted
from wisecrowd.annotations import Annotations
from wisecrowd.cli import show
from wisecrowd.metrics.calibration import Calibration
from wisecrowd.results.run_folder import check_folder, write_run
from wisecrowd.results.summary import (
    answers_per_item,
    cautions,
    gold_scores,
    summarise,
)
from wisecrowd.results.tables import annotator_table, label_table

__all__ = ["check_folder", "report", "say_read"]

NOTICEABLE = 0.02  # a smaller correlation is noise


def say_read(annotations: Annotations, notes: Iterable[str], *, quiet: bool) -> None:
    """Print what was read, and what to know about it before the fit."""
    if not quiet:
        warned = [f"note: {sentence}" for sentence in cautions(annotations)]
        show.say_read(annotations, [*notes, *warned])


def report(
    model: Any,
    annotations: Annotations,
    known: Any,
    *,
    out: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the run folder, and print what was found.

    Parameters
    ----------
    model : fitted method
        The model.
    annotations : Annotations
        What it was fitted on, over all items of the model.
    known : Series or None
        The gold classes that the fit used. Without them, the gold classes of the file
        are compared with the labels.
    out : path or None
        The run folder to write.
    force : bool
        Whether to replace files in it that no run has written.
    as_json, quiet : bool
        One JSON object instead of tables; no messages.
    """
    if known is not None:
        annotations = annotations.with_gold({})
    if out is not None:
        write_run(model, annotations, out, force=force)
    if as_json:
        run = None if out is None else str(out)
        show.show_json({**summarise(model, annotations), "run": run})
    elif not quiet:
        _show(model, annotations)
    if not quiet:
        said = "Nothing was written. Add --out RUN to keep the results."
        if out is not None:
            said = f"Wrote {out}: labels, annotators, confusion, trace and model."
        show.say(said)


def _show(model: Any, annotations: Annotations) -> None:
    items = label_table(model, annotations)
    show.show_classes(items, model.classes_)
    show.show_items(items)
    show.show_annotators(annotator_table(model))
    if model.dependence_ >= NOTICEABLE:
        show.say(*said_of_worth(model, annotations))
    if model.calibration_ is not None:
        show.say(*said_of_calibration(model.calibration_))
    score = gold_scores(model, annotations)
    if score is not None:
        show.say(
            f"Compared with the gold classes in the file "
            f"({counted(int(score['n_items']), 'item')}), which the fit did not use: "
            f"accuracy {score['accuracy']:.3f}, "
            f"log loss {score['log_loss']:.3f}."
        )
        if score["n_unanswered"]:
            more = counted(int(score["n_unanswered"]), "gold item")
            show.say(f"{more} without an answer: not scored.")


def said_of_worth(model: Any, annotations: Annotations) -> list[str]:
    """Return what the answers of one item are worth, in lines."""
    low, high = model.worth_interval_
    return [
        f"The {answers_per_item(annotations):.1f} answers per item are worth "
        f"{model.worth_:.1f} independent ones ({low:.1f} to {high:.1f}): annotators "
        f"make the same mistakes.",
        "The probabilities take this into account.",
    ]


def said_of_calibration(found: Calibration) -> list[str]:
    """Return how right and how sure the labels are, in lines."""
    low, high = found.accuracy_low, found.accuracy_high
    return [
        f"Estimated from {counted(found.n_gold, 'gold item')}, each predicted without "
        f"its gold class:",
        f"{found.accuracy:.0%} of the labels are right ({found.level:.0%} interval: "
        f"{low:.0%} to {high:.0%}), and their mean probability is "
        f"{found.confidence:.0%}.",
    ]
