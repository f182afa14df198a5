"""The settings of methods on the command line, taken from their constructors.

``--set name=value`` gives any setting of a method. A few settings have an option of
their own, which is short for that. Nothing here knows what settings a method has.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple

import wisecrowd as wc
from wisecrowd.cli.options import Command, gathered, option
from wisecrowd.cli.values import settings_of, value_of
from wisecrowd.registry import METHODS

# -- options ------------------------------------------------------------------------


class Friendly(NamedTuple):
    """An option that is short for ``--set SETTING=...``."""

    setting: str
    metavar: str
    text: str


FRIENDLY = {
    "inducing": Friendly(
        "n_inducing",
        "N",
        "Number of inducing points. With more, the classifier can be more detailed, "
        "and the fit takes longer.",
    ),
    "kernel": Friendly(
        "kernel",
        "NAME",
        "How the similarity of two items falls with their distance, such as se, "
        "matern32 or linear+se.",
    ),
    "link": Friendly(
        "link",
        "softmax|robustmax",
        "How latent functions become class probabilities. The paper uses robustmax.",
    ),
    "epsilon": Friendly(
        "epsilon",
        "learn|NUMBER",
        "Only with --link robustmax: the share of items that the features mislead.",
    ),
    "prior": Friendly(
        "annotator_prior",
        "learned|flat|diagonal",
        "What is assumed about an annotator before the first answer.",
    ),
    "dependence": Friendly(
        "dependence",
        "learn|NUMBER",
        "Correlation of the mistakes of two annotators on one item, from 0 to 1.",
    ),
    "epochs": Friendly("max_epochs", "N", "Largest number of passes over the items."),
    "time_limit": Friendly(
        "time_limit", "SECONDS", "Finish the fit early after this time."
    ),
    "checkpoint": Friendly(
        "checkpoint",
        "PATH",
        "Where to save the state of the fit from time to time, to resume it from.",
    ),
    "resume": Friendly(
        "resume", "", "Continue an interrupted fit from its --checkpoint."
    ),
}
"""The settings that have an option of their own, by its name."""

PANEL = "Settings of the method (defaults: wisecrowd methods NAME)"

AsPublished = Annotated[
    bool,
    option(
        "--as-published",
        "Use the settings of the paper instead of the defaults of wisecrowd.",
        rich_help_panel=PANEL,
    ),
]


class Given(NamedTuple):
    """A setting as it was given on the command line."""

    setting: str
    text: str
    option: str  # what the user wrote, for messages
    method: str | None = None  # only for this one of several methods


def with_settings(*offered: str) -> Callable[[Command], Command]:
    """Give a command ``--set`` and some of `FRIENDLY`; it gets them as ``settings``."""
    options = {name: _friendly_option(name) for name in offered}
    options["set_"] = Annotated[
        list[str] | None,
        option(
            "--set NAME=VALUE",
            "Any setting of the method; may be repeated. "
            "[bold]wisecrowd methods NAME[/bold] lists them.",
            rich_help_panel=PANEL,
        ),
    ]
    return gathered(options, "settings", _given)


def _friendly_option(name: str) -> Any:
    _, metavar, text = FRIENDLY[name]
    how: dict[str, Any] = {"rich_help_panel": PANEL, "show_default": False}
    kind = str if metavar else bool
    return Annotated[kind | None, option(f"{dashed(name)} {metavar}", text, **how)]


def dashed(name: str) -> str:
    """Return the option of an argument: time_limit is --time-limit."""
    return f"--{name.replace('_', '-')}"


def _given(values: dict[str, Any]) -> list[Given]:
    """Return the settings that were given, by their own options and by ``--set``."""
    sets: list[str] = values.pop("set_") or []
    found = []
    for name, value in values.items():
        if value is not None:
            written = dashed(name) if value is True else f"{dashed(name)} {value}"
            found.append(Given(FRIENDLY[name].setting, str(value), written))
    return [*found, *map(_split, sets)]


def _split(text: str) -> Given:
    """Return the setting in ``name=value`` or ``method:name=value``."""
    match = re.fullmatch(r"(?:([\w-]+):)?(\w+)=(.*)", text.strip(), re.DOTALL)
    if match is None:
        raise wc.InputError(
            f"--set {text} is not NAME=VALUE. Write it like --set max_iter=50."
        )
    method, name, value = match.groups()
    return Given(name, value.strip(), f"--set {text}", method)


# -- methods with settings ----------------------------------------------------------


def made_method(
    name: str,
    settings: Iterable[Given] = (),
    *,
    seed: int,
    quiet: bool,
    published: bool = False,
) -> Any:
    """Return a method with these settings, and for others its defaults, or its paper's.

    `seed` is the `random_state` of methods that have one.
    """
    kind: Any = METHODS[name]
    known = settings_of(kind)
    chosen: dict[str, Any] = {}
    for given in settings:
        if given.setting not in known:
            raise wc.InputError(
                f"{given.option} cannot be used: {name} has no setting "
                f"{given.setting}. The settings of {name} are {', '.join(known)}."
            )
        if given.setting in chosen:
            raise wc.InputError(
                f"{given.option} cannot be used: {given.setting} is already given."
            )
        try:
            chosen[given.setting] = value_of(known[given.setting], given.text)
        except wc.InputError as error:
            raise wc.InputError(f"{given.option} cannot be used: {error}") from None
    usual = {"random_state": seed, "progress": False if quiet else None}
    chosen = {k: v for k, v in usual.items() if k in known} | chosen
    if not published:
        return kind(**chosen)
    if not hasattr(kind, "as_published"):
        raise wc.InputError(
            f"{name} has only one set of defaults: leave --as-published out, and "
            f"change single settings with --set."
        )
    return kind.as_published(**chosen)


def made_methods(
    names: Sequence[str], settings: Sequence[Given], *, seed: int, quiet: bool
) -> dict[str, Any]:
    """Return several methods; a setting goes to all of them that have it.

    A setting that is written ``METHOD:NAME=VALUE`` goes to that method only.
    """
    own: dict[str, list[Given]] = {name: [] for name in names}
    for given in settings:
        having = [n for n in names if given.setting in settings_of(METHODS[n])]
        takers = having if given.method is None else {given.method}.intersection(names)
        if not takers:
            raise wc.InputError(
                f"{given.option} cannot be used: none of the compared methods "
                f"({', '.join(names)}) has it. See 'wisecrowd methods NAME'."
            )
        for name in takers:
            own[name].append(given)
    return {n: made_method(n, own[n], seed=seed, quiet=quiet) for n in names}
