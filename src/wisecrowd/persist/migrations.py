"""Models saved by an older wisecrowd, in today's form.

A migration takes what a file of its version holds, decoded, and returns what a file of
the next version would hold. ``tests/saved`` keeps files of every version.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from wisecrowd.base import Learned
from wisecrowd.maths.scaling import Scaling
from wisecrowd.methods.svgpcr.record import SparseGP
from wisecrowd.skills import Ability, ConfusionMatrices, Tally, Trusted, Votes

Values = dict[str, Any]
Migration = Callable[[str, Values, Values], tuple[Values, Values]]


def migrated(
    version: int, name: str, settings: Values, fitted: Values
) -> tuple[Values, Values]:
    """Return settings and fitted attributes in the form of the newest version."""
    while version in MIGRATIONS:
        settings, fitted = MIGRATIONS[version](name, settings, fitted)
        version += 1
    return settings, fitted


def from_version_1(
    name: str, settings: Values, fitted: Values
) -> tuple[Values, Values]:
    """One record, `learned_`, instead of an attribute for every part of it."""
    settings, old = dict(settings), dict(fitted)
    if settings.get("link") == "softmax":  # epsilon belongs to robust max now
        settings["epsilon"] = None
    if "factorised" in settings:
        paper = settings.pop("factorised")
        settings["posterior"] = "factorised" if paper else "conditional"
    kept = (
        "classes_", "answers_", "annotators_", "items_", "easiness_",
        "n_features_in_", "feature_names_in_",
    )  # fmt: skip
    new = {key: old[key] for key in kept if key in old}
    new["n_answers_"] = old["n_labels_"]
    new["trace_"] = old["trace_"].rename(columns={"labels": "answers"})
    new["learned_"] = Learned(
        old["label_proba_"],
        old["class_prior_"],
        _skills_1(name, settings, old),
        _gp_1(old) if "gp_" in old else None,
    )
    return settings, new


def _skills_1(name: str, settings: Values, old: Values) -> Any:
    prior, counts = old["annotator_prior_"], old["confusion_counts_"]
    if name in ("MajorityVote", "SVGP"):
        tally = Tally(counts - prior, old["hit_variance_"])
        if name == "SVGP":
            return Trusted(tally)
        seed = settings["random_state"]
        return Votes(tally, settings["ties"], seed if isinstance(seed, int) else None)
    if name == "GLAD":
        return _ability_1(settings, old)
    return ConfusionMatrices(
        prior,
        counts,
        hit_variance=old["hit_variance_"],
    )


def _ability_1(settings: Values, old: Values) -> Ability:
    """Version 1 kept no spread: it is that of as many answers on typical items."""
    easiness = float(np.exp(np.log(old["easiness_"]).mean()))
    right = expit(easiness * old["ability_"])
    curvature = old["n_labels_"] * right * (1 - right) * easiness**2
    return Ability(
        mean=old["ability_"],
        spread=1 / np.sqrt(curvature + settings["ability_spread"] ** -2.0),
        prior_spread=float(settings["ability_spread"]),
        easiness=easiness,
        n_classes=len(old["classes_"]),
        n_answers=len(old["answers_"]),
    )


def _gp_1(old: Values) -> SparseGP:
    gp = old["gp_"]
    return SparseGP(
        shift=gp["shift"],
        precision=gp["precision"],
        kernel=gp["kernel"],
        inducing=gp["inducing"],
        scaling=Scaling(gp["centre"], gp["spread"]),
        jitter=float(old["jitter_"]),
        epsilon=float(old["epsilon_"]),
        sharpness=float(old["sharpness_"]),
    )


def from_version_2(
    name: str, settings: Values, fitted: Values
) -> tuple[Values, Values]:
    """Version 3 added which items are hard, which nothing needs any more."""
    return settings, fitted


def from_version_3(
    name: str, settings: Values, fitted: Values
) -> tuple[Values, Values]:
    """Version 4 added what annotators and features share, of no use any more."""
    return settings, fitted


def from_version_4(
    name: str, settings: Values, fitted: Values
) -> tuple[Values, Values]:
    """Version 4 had no pool: new items are labelled as if answers were independent."""
    return settings, fitted


MIGRATIONS: dict[int, Migration] = {
    1: from_version_1,
    2: from_version_2,
    3: from_version_3,
    4: from_version_4,
}
"""From a version of the file format to what makes the next one of it."""
