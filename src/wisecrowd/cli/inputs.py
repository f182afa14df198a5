"""What the options about files turn into: answers, features, gold, groups."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import wisecrowd as wc
from wisecrowd.cli.options import Reading

if TYPE_CHECKING:
    import pandas as pd

    from wisecrowd.annotations import Annotations
    from wisecrowd.io.join import FeatureTable


class Data(NamedTuple):
    """What a command has read: answers, features, gold, and what to note about them."""

    answers: "Annotations"
    table: "FeatureTable | None"
    gold: "pd.Series | None"
    notes: list[str]


def data_from(
    paths: Sequence[Path],
    reading: Reading,
    gold: Path | None,
    features: tuple[Path, Reading] | None = None,
    leave_out_items: Path | None = None,
) -> Data:
    """Read the files of a fit, and join them."""
    from wisecrowd.io.join import join_features, join_note, without_items

    table = None if features is None else features_from(*features)
    read, notes = answers_from(paths, reading, gold), list[str]()
    if leave_out_items is not None:
        read, table, notes = without_items(leave_out_items, read, table)
    if table is not None:
        read = join_features(read, table)
        notes = [join_note(read, table), *notes]
    known, more = gold_from(gold, read, reading, paths)
    return Data(read, table, known, [*notes, *more])


def several(text: str | None) -> list[str] | None:
    """Return the names in a list with commas; a name that has one goes in quotes.

    Examples
    --------
    >>> several('cat, dog,"a, b"')
    ['cat', 'dog', 'a, b']
    """
    if text is None:
        return None
    row = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in row if name.strip()]


def named(text: str | None) -> Any:
    """Return the classes or answers in a list with commas; numbers are numbers."""
    from wisecrowd.io.columns import retyped

    given = several(text)
    return retyped(given).tolist() if given else None


def answers_from(
    paths: Sequence[Path], reading: Reading, gold: Path | None = None
) -> "Annotations":
    """Read the answers. Classes given as text become numbers if the answers are.

    If there is a file of gold, ``--gold-column`` belongs to it. If that is one of
    `paths`, the column is no annotator.
    """
    from wisecrowd.io.read import read_annotations

    options: dict[str, Any] = dict(reading)
    lists = {"classes": named, "answers": named}
    lists |= {"annotators": several, "leave_out": several}
    options |= {name: read(reading[name]) for name, read in lists.items()}
    column, _ = options.pop("gold_column"), options.pop("gold_item")
    options["gold"] = column if gold is None or _is_among(gold, paths) else None
    return read_annotations(paths, **options)


def _is_among(path: Path, paths: Sequence[Path]) -> bool:
    """Return whether this is one of the files of answers."""
    from wisecrowd.io.read import files_in

    files = [Path(file).expanduser() for file in files_in(paths)]
    return path.exists() and any(f.exists() and f.samefile(path) for f in files)


def files_of(reading: Reading, *paths: Path | Sequence[Path] | None) -> list[Path]:
    """Return the files that a command reads, of which none may be replaced."""
    from wisecrowd.io.read import files_in

    files: list[Path] = []
    for path in paths:
        if path is not None and not (isinstance(path, Sequence) and not path):
            files += map(Path, files_in(path))
    names = reading["rename"]
    more = [Path(names)] if names is not None and Path(names).is_file() else []
    return [*files, *more]


def features_from(
    path: Path, reading: Reading, columns: Sequence[str] | None = None
) -> "FeatureTable":
    """Read the features: the columns given, or those that the options name.

    Those in a folder are taken to be beyond memory, and opened only.
    """
    from wisecrowd.io.join import opened_feature_table, read_feature_table

    ids = reading["ids"]
    is_file = ids is not None and Path(ids).expanduser().is_file()
    if ids is not None and not is_file and path.suffix == ".npy":
        raise wc.InputError(
            f"{ids}: there is no such file. An array has no columns, so --ids is a "
            f"file with the ids of its rows."
        )
    try:
        read = opened_feature_table if path.is_dir() else read_feature_table
        return read(
            path,
            item=None if is_file else ids,
            ids=ids if is_file else None,
            key=reading["key"],
            columns=columns or several(reading["columns"]),
            leave_out=several(reading["leave_out"]) or (),
        )
    except wc.InputError as error:
        # On the command line, --item is a column of the answers.
        raise wc.InputError(re.sub(r"\bitem=", "ids=", str(error))) from None


def gold_from(
    path: Path | None,
    annotations: "Annotations",
    reading: Reading,
    answers: Sequence[Path],
) -> tuple["pd.Series | None", list[str]]:
    """Read known classes of the annotations' items; and what to tell about them.

    If `path` is one of the files of answers, they are the known classes in there.
    """
    from wisecrowd.io.gold import gold_in, matched_gold
    from wisecrowd.io.join import item_hints

    if path is None:
        return None, []
    if _is_among(path, answers):
        if not len(annotations.gold):
            raise wc.InputError(
                f"{path}: no column of the answers has known classes. Name theirs with "
                f"gold_column=."
            )
        return annotations.gold, []
    given = {"item": reading["gold_item"], "gold": reading["gold_column"]}
    also = {"item": reading["item"], "gold": reading["answer"]}
    try:
        known, notes = matched_gold(gold_in(path, given, also), annotations)
    except wc.InputError as error:
        said = str(error)
        for role, option in {"item": "gold_item", "gold": "gold_column"}.items():
            said = said.replace(f"with {role}=", f"with {option}=")
        hints = item_hints(annotations) if "is among the items" in said else []
        raise wc.InputError(" ".join([_about(path, said), *hints])) from None
    return known, [_about(path, note) for note in notes]


def set_groups(model: Any, path: Path, annotators: Any) -> list[str]:
    """Give a method the families of annotators; note names that nobody here has."""
    from wisecrowd._checks import counted, listed

    method = model.method.name
    if method != "consensus":
        raise wc.InputError(f"--groups is for the method consensus, not for {method}.")
    try:
        groups = wc.read_gold(path, item="annotator", gold="group").to_dict()
    except wc.InputError as error:
        raise wc.InputError(_said_of_groups(str(error))) from None
    model.set_params(groups=groups)
    here = {str(who) for who in annotators}
    unknown = [who for who in groups if str(who) not in here]
    if not 0 < len(unknown) < len(groups):
        return []
    are = "is" if len(unknown) == 1 else "are"
    note = (
        f"{counted(len(unknown), 'annotator')} of the groups {are} not among the "
        f"annotators of the answers: {listed(unknown, 3)}."
    )
    return [_about(path, note)]


def _said_of_groups(said: str) -> str:
    """Return what the reader of gold says, in the words of groups.

    Examples
    --------
    >>> _said_of_groups("more than one gold class was given for 1 item: item 'ann' ...")
    "more than one group was given for 1 annotator: annotator 'ann' ..."
    """
    words = {
        r"' for the (item|gold); ": r"'; ",
        r"\ban item and a class\b": "an annotator and a group",
        r"; gold is read": "; groups are read",
        r"\bone gold class was given for ([\d,]+ )item(s?): item ": (
            r"one group was given for \1annotator\2: annotator "
        ),
    }
    for seen, meant in words.items():
        said = re.sub(seen, meant, said)
    return said


def _about(path: Path, sentence: str) -> str:
    """Return a sentence that names its file."""
    return sentence if str(path) in sentence else f"{path}: {sentence}"
