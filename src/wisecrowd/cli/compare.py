"""``wisecrowd compare``: several methods on one file of answers."""

import math
from pathlib import Path
from typing import Annotated, Any, cast

import wisecrowd as wc
from wisecrowd.cli import inputs
from wisecrowd.cli import options as opt
from wisecrowd.cli import settings as cfg
from wisecrowd.registry import fitting, method_name

HEADINGS = {
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "calibration_error": "calibration",
    "unseen_answers": "unseen",
    "seconds": "seconds",
    "megabytes": "MB",
}
DIGITS = {"seconds": 1, "megabytes": 0}  # behind the point; 3 for all else
WITH_DEVIATION = ("accuracy", "log_loss")  # there is no room for more
MOST_BESIDE = 6  # methods whose agreement fits into a table
THAN_VOTES = {
    "more": "More honest than smoothed votes (lower log loss)",
    "less": "Less honest than smoothed votes (higher log loss)",
    "unclear": "No clear difference from smoothed votes (two standard errors)",
}


@cfg.with_settings()
@opt.with_reading()
@opt.with_table_reading()
def compare(
    path: opt.AnswersFile,
    *,
    methods: Annotated[
        str | None,
        opt.option(
            "--methods -m A,B,...",
            "Names, as in [bold]wisecrowd methods[/bold]. Default: all that can be "
            "fitted to these files.",
        ),
    ] = None,
    features: Annotated[
        Path | None,
        opt.option(
            "--features -f FILE",
            "Features, one row per item, for the methods that need them.",
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        opt.option(
            "FILE",
            "Known classes (columns item and gold) to compare with. No method sees "
            "them. Default: those in ANSWERS, if it has any.",
        ),
    ] = None,
    score: Annotated[
        str,
        opt.option(
            "all|answered|new",
            "Which gold items to score; new: those of FEATURES without an answer, "
            "labelled by their features alone.",
        ),
    ] = "all",
    held_out: Annotated[
        float,
        opt.option(
            "SHARE",
            "Share of the answers to hide from a second fit, which predicts them. 0: "
            "no second fit.",
        ),
    ] = 0.1,
    seeds: Annotated[
        int,
        opt.option(
            "N",
            "Fit every method N times, with the seeds --seed, --seed + 1, ...",
            min=1,
            max=1000,
        ),
    ] = 1,
    time_limit: Annotated[
        float | None,
        opt.option("SECONDS", "Give up a fit that takes longer. Default: no limit."),
    ] = None,
    out: Annotated[
        Path | None,
        opt.out_file("CSV, Parquet or LaTeX (.tex: the printed table) to write."),
    ] = None,
    plot: Annotated[
        Path | None,
        opt.option("FILE", "Figure to write: PNG, SVG or PDF. Needs matplotlib."),
    ] = None,
    seed: opt.Seed = 0,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
    quiet: opt.Quiet = False,
    settings: list[cfg.Given],
    reading: opt.Reading,
    reading_table: opt.Reading,
) -> None:
    """Fit several methods to the same answers, and compare them.

    [bold]wisecrowd compare answers.csv --gold gold.csv[/bold]

    With known classes, the labels and their probabilities are scored, beside those of
    smoothed votes (the votes plus 1 / number of classes, divided by their sum). In any
    case the methods are compared by how well they predict held-out answers, and by how
    often their labels agree.
    """
    names = _names(methods, with_features=features is not None)
    models = cfg.made_methods(names, settings, seed=seed, quiet=quiet)
    from wisecrowd.cli.outcome import say_read
    from wisecrowd.results.comparison import check_score, compared
    from wisecrowd.results.run_folder import check_file

    check_score(score, with_features=features is not None)
    given = inputs.files_of(reading, path, features, gold)
    check_file(out, "scores", given, force=force)
    check_file(plot, "figure", given, force=force)
    table = None if features is None else (features, reading_table)
    data = inputs.data_from(path, reading, gold, table)
    read = data.answers
    if methods is None:  # the answers say how many classes there are
        fit = fitting(with_features=features is not None, n_classes=read.n_classes)
        models = {name: models[name] for name in fit}
    n_gold, said = _n_scored(data, score if features else "answered")
    say_read(read, [*data.notes, *said], quiet=quiet)
    found = compared(
        models, read, X=data.table and data.table.X, items=read.items, gold=data.gold,
        seeds=range(seed, seed + seeds), held_out=held_out, time_limit=time_limit,
        score=cast("Any", score),
    )  # fmt: skip
    wrote = _written(found.scores, n_gold, out, plot)
    _report(found, read, n_gold, as_json=as_json, quiet=quiet)
    if not quiet:
        from wisecrowd.cli.show import say

        say(*wrote)


def _names(methods: str | None, *, with_features: bool) -> list[str]:
    if methods is None:
        return fitting(with_features=with_features, n_classes=2)
    names = inputs.several(methods)
    if not names:
        raise wc.InputError(
            "--methods is empty. Name the methods, such as --methods bcc,glad, or "
            "leave the option out."
        )
    return [method_name(name) for name in names]


def _n_scored(data: inputs.Data, score: str) -> tuple[int, list[str]]:
    """Return how many gold items are scored, and what to say of the others."""
    from wisecrowd._checks import counted
    from wisecrowd.results.comparison import scored_gold

    read = data.answers if data.gold is None else data.answers.with_gold(data.gold)
    n_scored = int((scored_gold(read, score) >= 0).sum())
    n_other = len(read.gold) - n_scored
    which = "with answers" if score == "new" else "without an answer"
    said = [f"{counted(n_other, 'gold item')} {which}: not scored."]
    return n_scored, said if n_other else []


def _written(
    scores: Any, n_gold: int, out: Path | None, plot: Path | None
) -> list[str]:
    """Write the table and the figure, and return what to say of them."""
    from wisecrowd._checks import counted
    from wisecrowd.results import run_folder
    from wisecrowd.results.figures import plot_comparison

    said = []
    if out is not None:
        if out.suffix.lower() == run_folder.TEX:
            run_folder.write_text(as_latex(*_table(scores)), out)
        else:
            run_folder.write_table(scores, out)
        scored = counted(scores["method"].nunique() - bool(n_gold), "method")
        also = " and of smoothed votes" if n_gold else ""
        said.append(f"Wrote {out}: the scores of {scored}{also}.")
    if plot is not None:
        run_folder.write_figure(plot_comparison(scores), plot)
        said.append(f"Wrote {plot}: the figure.")
    return said


def _report(found: Any, read: Any, n_gold: int, *, as_json: bool, quiet: bool) -> None:
    from wisecrowd.cli.show import say, show_json
    from wisecrowd.cli.wording import as_options
    from wisecrowd.metrics import krippendorff_alpha
    from wisecrowd.results.comparison import agreement_between, honesty

    alpha, between = krippendorff_alpha(read), agreement_between(found.labels)
    than_votes = honesty(found.scores) if n_gold else None
    lines = list(map(as_options, notes_of(found.scores)))
    if as_json:
        show_json(
            {
                "krippendorff_alpha": alpha,
                "n_gold": n_gold,
                "methods": found.scores,
                "honesty": than_votes,
                "agreement": between.to_dict(),
            }
        )
    elif not quiet:
        _show(found.scores, between, alpha, n_gold)
        honest = than_votes and said_of_honesty(than_votes, read.n_classes)
        lines = [*said_of_columns(found.scores), *(honest or ()), *lines]
    if not quiet:
        say(*lines)


def notes_of(scores: Any) -> list[str]:
    """Return what went wrong: one line per method and note, with the seeds."""
    lines = []
    with_notes = scores[scores["note"] != ""]
    for (name, note), rows in with_notes.groupby(["method", "note"], sort=False):
        seeds = ", ".join(map(str, rows["seed"]))
        word = "seed" if len(rows) == 1 else "seeds"
        where = f" ({word} {seeds})" if scores["seed"].nunique() > 1 else ""
        lines.append(f"note: {name}{where}: {note}")
    return lines


def said_of_columns(scores: Any) -> list[str]:
    """Return how to read the columns of the table that have scores, in lines."""
    lines = []
    if scores["log_loss"].notna().any():
        lines.append("log loss, calibration: lower is better.")
    if scores["unseen_answers"].notna().any():
        lines += [
            "unseen: mean log probability of answers that were hidden from the",
            "fit; closer to 0 is better.",
        ]
    return lines


def said_of_honesty(than_votes: dict[str, list[str]], n_classes: int) -> list[str]:
    """Return which methods are more honest than smoothed votes, in lines."""
    lines = [
        f"smoothed-votes is a baseline: the votes plus 1 / {n_classes}, divided by "
        f"their sum."
    ]
    if not than_votes["more"]:
        lines.append("No method is clearly more honest than smoothed votes.")
    return lines + [
        f"{THAN_VOTES[how]}: {', '.join(names)}."
        for how, names in than_votes.items()
        if names
    ]


def _show(scores: Any, between: Any, alpha: float, n_gold: int) -> None:
    from wisecrowd.cli.show import show_table
    from wisecrowd.results.sentences import number

    against = f"{n_gold:,} gold items" if n_gold else "no gold classes"
    n_seeds = scores["seed"].nunique()
    means = f", means of {n_seeds} seeds" if n_seeds > 1 else ""
    title = f"Methods{means} ({against}; Krippendorff's alpha {number(alpha)})"
    show_table(title, *_table(scores))
    if 1 < len(between) <= MOST_BESIDE:
        share = [(n, *(f"{v:.1%}" for v in between.loc[n])) for n in between.index]
        show_table("Items with the same label", ("<", *between.columns), share)


def _table(scores: Any) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of the table of scores."""
    from wisecrowd.results.comparison import over_seeds

    shown = [name for name in HEADINGS if scores[name].notna().any()]
    rows = [
        [row["method"], *(_cell(row, name) for name in shown)]
        for row in over_seeds(scores).to_dict("records")
    ]
    return ["<method", *(HEADINGS[name] for name in shown)], rows


def as_latex(heads: list[str], rows: list[list[str]]) -> str:
    r"""Return a table in LaTeX, with the rules of booktabs.

    Examples
    --------
    >>> print(as_latex(["<method", "accuracy"], [["bcc", "0.91 ± 0.02"]]))
    \begin{tabular}{lr}
    \toprule
    method & accuracy \\
    \midrule
    bcc & 0.91 $\pm$ 0.02 \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    import pandas as pd

    form = "".join("l" if head.startswith("<") else "r" for head in heads)
    table = pd.DataFrame(rows, columns=[head.lstrip("<") for head in heads])
    text = table.to_latex(index=False, column_format=form)
    return text.replace("±", r"$\pm$").replace("–", "--")


def _cell(row: Any, name: str) -> str:
    from wisecrowd.results.sentences import number

    digits, spread = DIGITS.get(name, 3), row[f"{name}_sd"]
    text = number(row[name], digits)
    known = name in WITH_DEVIATION and math.isfinite(spread)
    return f"{text} ± {number(spread, digits)}" if known else text
