"""Simulated Gravity Spy: glitches, their features, and the answers of volunteers."""

import hashlib
import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from wisecrowd._checks import InputError, one_of
from wisecrowd._files import replacing
from wisecrowd._types import Array
from wisecrowd.annotations.dataset import Dataset
from wisecrowd.simulation.glitches.features import BATCH, N_FEATURES, features
from wisecrowd.simulation.glitches.items import (
    Items,
    draw_classes,
    draw_items,
    hard_items,
)
from wisecrowd.simulation.glitches.strain import Rng
from wisecrowd.simulation.glitches.volunteers import (
    N_VOLUNTEERS,
    answered,
    draw_volunteers,
)

SIZES = {"small": (2_000, 1_000), "medium": (20_000, 4_000), "full": (173_565, 9_997)}
"""Annotated items and test items; "full" has the paper's."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Glitches(Dataset):
    """A data set of glitches, with everything that is unknown in the real one.

    The attributes of :class:`~wisecrowd.annotations.dataset.Dataset`, and:

    Attributes
    ----------
    kinds : array of length A
        The habit of each volunteer: "usual", "guesser", "conservative", ...
    snr, snr_test : arrays
        Signal-to-noise ratio of each glitch.
    difficulty : array of length N
        λ, the probability that a volunteer takes the glitch for its decoy.
    decoy : int array of length N
        The class that the glitch resembles, a code.
    """

    kinds: Array
    snr: Float[np.ndarray, " N"]
    snr_test: Float[np.ndarray, " T"]
    difficulty: Float[np.ndarray, " N"]
    decoy: Int[np.ndarray, " N"]


def simulate_glitches(
    size: str | tuple[int, int] = "small",
    *,
    random_state: int = 0,
    cache: bool = True,
    show: bool | None = None,
) -> Glitches:
    """Draw glitches of a gravitational-wave detector and what volunteers say of them.

    Strain in coloured noise, spectrograms in four windows, 256 features, 15 classes of
    very different sizes, and 3,443 volunteers of whom few give most answers. Faint and
    unusual glitches mislead all volunteers alike (docs/simulate.md).

    Parameters
    ----------
    size : {"small", "medium", "full"} or pair of int
        2,000, 20,000 or 173,565 annotated items, and 1,000, 4,000 or 9,997 for tests;
        or both numbers. The full size takes minutes.
    random_state : int
        Seed of the random numbers.
    cache : bool
        Whether to keep the features of a named size in the download cache (188 MB for
        "full"), and to take them from there.
    show : bool or None
        Whether to draw a progress bar; None: when standard error is a terminal.

    Examples
    --------
    >>> glitches = simulate_glitches((40, 20), random_state=0)
    >>> glitches
    Dataset('glitches', Annotations(40 items, 3,443 annotators, 15 classes,
    422 answers; 10.6 per item), 256 features)
    >>> glitches.X_test.shape, glitches.confusion.shape
    ((20, 256), (3443, 15, 15))
    """
    plan = planned(size, random_state)
    n_items = plan.n_items
    kept = _cache_file(size, random_state) if cache and isinstance(size, str) else None
    X = _cached(kept, plan, show)
    train, test = plan.items.part(slice(n_items)), plan.items.part(slice(n_items, None))
    volunteers = draw_volunteers(N_VOLUNTEERS, plan.for_volunteers)
    answers, confusion = answered(train, volunteers, plan.for_answers)
    gold = pd.Series(answers.classes[train.truth], answers.items, name="gold")
    misleading = hard_items(train)
    return Glitches(
        name="glitches",
        answers=answers,
        classes=answers.classes,
        gold=gold.rename_axis("item"),
        X=X[:n_items],
        X_test=X[n_items:],
        gold_test=answers.classes[test.truth],
        confusion=confusion,
        kinds=volunteers.kinds,
        snr=train.snr,
        snr_test=test.snr,
        difficulty=misleading.difficulty,
        decoy=misleading.decoy,
    )


class Plan(NamedTuple):
    """The items of a data set, test items last, and random numbers for the rest."""

    items: Items
    n_items: int  # annotated ones
    for_noise: Rng
    for_volunteers: Rng
    for_answers: Rng


def planned(size: str | tuple[int, int], random_state: int) -> Plan:
    """Return the glitches of a data set, without noise and answers."""
    if isinstance(size, str):
        one_of(size, SIZES, "size")
        size = SIZES[size]
    if min(size) < 1:
        raise InputError(
            f"size={size}: there must be at least one annotated item and one for tests."
        )
    for_items, *others = np.random.default_rng(random_state).spawn(4)
    truth = np.concatenate([draw_classes(n, for_items) for n in size])
    return Plan(draw_items(truth, for_items), size[0], *others)


# -- the cache -----------------------------------------------------------------------


def _cached(
    path: Path | None, plan: Plan, show: bool | None
) -> Float[np.ndarray, "N D"]:
    """Return the features, from the file if it is there and whole; else write it."""
    if path is None:
        return _computed(plan, show)
    with suppress(OSError, ValueError, EOFError):
        X = np.load(path)
        if X.shape == (len(plan.items.truth), N_FEATURES):
            return X
    X = _computed(plan, show)
    try:
        _keep(X, path)
    except OSError as error:
        warnings.warn(
            f"the features of the glitches could not be kept in {path} "
            f"({error.strerror or error}), so they will be computed again.",
            stacklevel=3,
        )
    return X


def _keep(X: Float[np.ndarray, "N D"], path: Path) -> None:
    """Write the features, and remove those that an older simulator has made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, X)
    for other in path.parent.glob(f"{path.stem.rpartition('-')[0]}-*.npy"):
        if other != path:
            other.unlink()


def _cache_file(size: str, random_state: int) -> Path:
    """Return the place of the features; it changes with the code that makes them."""
    import pooch

    made_by = ("strain.py", "items.py", "spectrograms.py", "features.py", "dataset.py")
    code = b"".join(Path(__file__).with_name(n).read_bytes() for n in made_by)
    name = f"{size}-{random_state}-{hashlib.sha256(code).hexdigest()[:12]}.npy"
    return Path(pooch.os_cache("wisecrowd")) / "glitches" / name


def _computed(plan: Plan, show: bool | None) -> Float[np.ndarray, "N D"]:
    from rich.console import Console
    from rich.progress import track

    n = len(plan.items.truth)
    X = np.empty((n, N_FEATURES), np.float32)
    done = track(
        features(plan.items, plan.for_noise),
        "simulating glitches",
        total=-(-n // BATCH),
        console=Console(stderr=True),
        transient=True,
        disable=not (sys.stderr.isatty() if show is None else show),
    )
    for k, batch in enumerate(done):
        X[k * BATCH : k * BATCH + len(batch)] = batch
    return X
