"""The sentences of the library in the words of the command line."""

import re

from wisecrowd.cli.options import READING, TABLE
from wisecrowd.cli.settings import FRIENDLY, dashed

KEYWORDS = {
    **{name: dashed(name) for name in (*READING, *TABLE)},
    **{friendly.setting: dashed(name) for name, friendly in FRIENDLY.items()},
    "X": "--features",
    "gold": "--gold-column",
    "leave_out": "--leave-out",
    "held_out": "--held-out",
    "size": "--size",
    "settled_at": "--settled-at",
    "score": "--score",
}
"""The option that gives each argument of the library."""


def as_options(sentence: str) -> str:
    """Return a sentence of the library in the words of the command line.

    Examples
    --------
    >>> as_options("Choose with task=. Or say format='wide'.")
    "Choose with --task. Or say --format 'wide'."
    >>> as_options("Pass classes=['1.5', '2', ...], or answers=[...].")
    'Pass --classes 1.5,2,..., or --answers A,B,....'
    >>> as_options("n_inducing=0 must be at least 1; max_iter=0 too.")
    '--inducing 0 must be at least 1; max_iter=0 too.'
    >>> as_options("time_limit=nan must be seconds, above 0.")
    '--time-limit nan must be seconds, above 0.'
    >>> as_options("Give rename={'old': 'new'}, the text 'old=new', or a file.")
    "Give --rename 'old=new', or a file."
    >>> as_options("pass rename={'GRFF': 'GIRAFFE', 'BFFL': 'BUFFALO'}; if not, ...")
    "pass --rename 'GRFF=GIRAFFE,BFFL=BUFFALO'; if not, ..."
    >>> as_options("resume=True needs checkpoint=, the file to go on from.")
    '--resume needs --checkpoint, the file to go on from.'
    """
    sentence = sentence.replace("rename={'old': 'new'}, the text '", "rename='")
    sentence = re.sub(r"\brename=(\{'.*?'\})(?=;)", _as_pairs, sentence)
    names = "|".join(KEYWORDS)
    settings = [friendly.setting for friendly in FRIENDLY.values()]
    numbers = "|".join([*settings, "held_out", "settled_at"])
    with_value = rf"\b(?:({names})=(?=')|({numbers})=(?=-?\d|nan|-?inf))"
    said = re.sub(rf"\b({names})=\[(.*?)\]", _as_list, sentence)
    said = re.sub(with_value, lambda m: f"{KEYWORDS[m[1] or m[2]]} ", said)
    said = re.sub(rf"\b({names})=(?=[\s,.;)])", lambda m: KEYWORDS[m[1]], said)
    return re.sub(r"\b(repeats|resume|force)=True", r"--\1", said)


def said_of_usage(problem: str, command: str) -> str:
    """Return what Typer says about the arguments, as a sentence of ours.

    Examples
    --------
    >>> said_of_usage("Missing argument 'ANSWERS'.", "fit")
    "fit: missing argument 'ANSWERS'. See 'wisecrowd fit --help'."
    >>> said_of_usage("No such command 'fot'. Did you mean 'fit'?", "wisecrowd")
    "no such command 'fot'. Did you mean 'fit'? See 'wisecrowd --help'."
    """
    said = problem.strip()
    said = said[:1].lower() + said[1:]
    said = said if said.endswith((".", "?", "!")) else f"{said}."
    if command == "wisecrowd":
        return f"{said} See 'wisecrowd --help'."
    return f"{command}: {said} See 'wisecrowd {command} --help'."


def _as_pairs(found: re.Match[str]) -> str:
    pairs = re.findall(r"'(.*?)': '(.*?)'", found[1])
    return f"rename='{','.join(f'{old}={new}' for old, new in pairs)}'"


def _as_list(found: re.Match[str]) -> str:
    names = found[2].replace("'", "").replace(", ", ",")
    return f"{KEYWORDS[found[1]]} {'A,B,...' if names == '...' else names}"
