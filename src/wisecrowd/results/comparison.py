"""Several methods on the same answers, side by side."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from sklearn.base import clone

from wisecrowd._checks import InputError, listed, number, one_of, whole_number
from wisecrowd._types import Array, Gold
from wisecrowd.annotations import Annotations
from wisecrowd.base import CrowdClassifier, as_annotations, made_annotations
from wisecrowd.feature_source import n_rows, row_ids
from wisecrowd.io.gold import matched_gold
from wisecrowd.metrics import SMALLEST_PROBABILITY, scores
from wisecrowd.registry import METHODS, fitting, method_name
from wisecrowd.results import limits
from wisecrowd.results.findings import SCORES
from wisecrowd.results.notebook import of_comparison

BASELINE = "smoothed-votes"
"""The name of the row that every method is compared with where there is gold."""

SCORED = ("all", "answered", "new")
"""Which gold items can be scored."""

CLEAR = 2.0  # standard errors from which a difference in log loss is called clear

Models = Mapping[str, Any] | Iterable[Any] | None


class Comparison(NamedTuple):
    """Several methods on the same answers.

    Attributes
    ----------
    scores : DataFrame
        One row per method and seed: what :func:`wisecrowd.compare` returns.
    labels : DataFrame
        One row per item, one column per method: the labels with the first seed.
    """

    scores: pd.DataFrame
    labels: pd.DataFrame

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the mean scores of every method."""
        return of_comparison(self.scores)


def compare(  # noqa: PLR0913  its settings are its arguments
    methods: Models,
    answers: Any,
    *,
    X: Any = None,
    items: Any = None,
    gold: Gold | None = None,
    seeds: Sequence[int] = (0,),
    held_out: float | int = 0.1,
    time_limit: float | int | None = None,
    score: Literal["all", "answered", "new"] = "all",
) -> pd.DataFrame:
    """Fit several methods to the same answers, and score them.

    Parameters
    ----------
    methods : list or dict of methods, or None
        Estimators, such as ``wc.BCC()``, or command-line names, such as ``"bcc"``. A
        dict gives them other names. None: all methods that can be fitted to these
        data. The estimators are copied and stay as they are.
    answers : Annotations, DataFrame (long), or (N, A) matrix
        The answers.
    X : array or DataFrame (N, D), optional
        Features, one row per item, for the methods that need them.
    items : sequence of length N, optional
        The ids of the rows of X. Default: a DataFrame's index, else row numbers.
    gold : dict or Series, optional
        Known classes to compare with. No method sees them. Default: those of the
        answers, if they have any. Without features, items that nobody answered are not
        scored.
    seeds : sequence of int
        Every method is fitted once per seed. A seed replaces the `random_state` of
        the method and decides which answers are held out.
    held_out : float
        Share of the answers that is hidden from a second fit, to be predicted by it.
        0: no second fit.
    time_limit : float, optional
        Seconds after which a fit is given up. The method then has no scores, and its
        `note` says so. Default: none.
    score : {"all", "answered", "new"}
        Which gold items are scored: all, those with answers, or new ones: rows of X
        about which nobody answered, so that they are labelled by their features alone.

    Returns
    -------
    DataFrame
        One row per method and seed, with these columns. With gold, the last row of
        every seed is the baseline "smoothed-votes": the votes plus 1 / C, divided by
        their sum.

        method, seed
            Which fit.
        accuracy, mean_likelihood, log_loss, calibration_error
            Scores of the labels against the gold classes; NaN without gold.
        gain, gain_error
            How much smaller the log loss is than that of smoothed votes, and the
            standard error of this difference; NaN without gold. Below 0, smoothed votes
            have the more honest probabilities.
        unseen_answers
            Mean log probability of the held-out answers. Closer to 0 is better, and no
            gold is needed.
        seconds, megabytes
            Time of the first fit, and its peak of memory above what the process had in
            use before. Memory is NaN where the system does not tell it (it does on
            Linux).
        note
            Why a method could not be fitted, or what else went wrong; empty if nothing
            did.

    Examples
    --------
    >>> import wisecrowd as wc
    >>> crowd = wc.simulate(50, 7, 3, random_state=0)
    >>> gold = dict(enumerate(crowd.truth))
    >>> table = wc.compare([wc.MajorityVote(), "glad"], crowd.answers, gold=gold)
    >>> table["method"].tolist(), table["accuracy"].round(1).tolist()
    (['majority-vote', 'glad', 'smoothed-votes'], [0.9, 0.9, 0.9])
    """
    found = compared(
        methods, answers, X=X, items=items, gold=gold, seeds=seeds, held_out=held_out,
        time_limit=time_limit, score=score,
    )  # fmt: skip
    return found.scores


def compared(  # noqa: PLR0913  those of compare
    methods: Models,
    answers: Any,
    *,
    X: Any = None,
    items: Any = None,
    gold: Gold | None = None,
    seeds: Sequence[int] = (0,),
    held_out: float | int = 0.1,
    time_limit: float | int | None = None,
    score: Literal["all", "answered", "new"] = "all",
) -> Comparison:
    """Return the scores of :func:`wisecrowd.compare`, and every method's labels."""
    _check_arguments(seeds, held_out, time_limit)
    check_score(score, with_features=X is not None)
    annotations = made_annotations(answers)
    models = named_models(
        methods, with_features=X is not None, n_classes=annotations.n_classes
    )
    _check_features(models, X)
    if X is not None:
        annotations = annotations.align(row_ids(X, items, n_rows(X)))
    if gold is not None:
        known, _ = matched_gold(pd.Series(gold), annotations)
        annotations = annotations.with_gold(known)
    as_annotations(annotations)  # what is wrong for every method is an error
    # Without features, nothing is known of an item that nobody answered.
    codes = scored_gold(annotations, "answered" if X is None else score)
    annotations = replace(annotations, gold_codes=codes)
    against = scores_against_gold(annotations)
    rows: list[dict[str, Any]] = []
    labels: dict[str, Array] = {}
    for seed in seeds:
        hidden = np.random.default_rng(seed).random(len(annotations)) < held_out
        for name, model in models.items():
            row, found = _row(
                with_seed(model, seed), annotations, X, hidden, time_limit
            )
            proba = None if found is None else found.label_proba_
            rows.append({"method": name, "seed": seed, **against(proba), **row})
            if found is not None:
                labels.setdefault(name, found.labels_)
        if len(annotations.gold):
            row = against(smoothed_votes(annotations)) | NOT_FITTED | {"note": ""}
            rows.append({"method": BASELINE, "seed": seed, **row})
    if not labels:
        raise InputError(f"no method could be fitted. {rows[0]['note']}")
    return Comparison(pd.DataFrame(rows), pd.DataFrame(labels, index=annotations.items))


def _check_arguments(seeds: Any, held_out: Any, time_limit: float | int | None) -> None:
    wanted = "a share of the answers, from 0 to below 1"
    number(held_out, "held_out", wanted, lambda v: 0 <= v < 1)
    if time_limit is not None:
        number(time_limit, "time_limit", "seconds, above 0", lambda v: 0 < v < np.inf)
    if isinstance(seeds, str) or not isinstance(seeds, Sequence | np.ndarray):
        raise InputError(f"seeds={seeds!r} must be a list, such as seeds=[0, 1].")
    if not len(seeds):
        raise InputError("seeds is empty. Give at least one, such as seeds=[0].")
    for seed in seeds:
        whole_number(seed, "a seed in seeds", least=0, most=2**32 - 1)


def check_score(score: Any, *, with_features: bool) -> None:
    """Refuse a choice of gold items that does not fit the data."""
    one_of(score, SCORED, "score")
    if score == "new" and not with_features:
        raise InputError(
            "score='new' needs features: without them, nothing is known of an item "
            "that nobody answered. Pass them with X=."
        )


def over_seeds(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of every score over the seeds, and its standard deviation.

    One row per method, in their order. `n_fits` is the number of seeds with which the
    method was fitted. The standard deviation of `accuracy` is in `accuracy_sd`, and so
    on; it is NaN for a single fit.

    Examples
    --------
    >>> table = pd.DataFrame({"method": ["a", "a"], "seed": [0, 1], "note": "",
    ...                       "accuracy": [0.8, 0.9], "seconds": [1.0, 3.0]})
    >>> over_seeds(table).round(3).values.tolist()
    [['a', 2, 0.85, 0.071, 2.0, 1.414]]
    """
    by_method = scores.drop(columns=["seed", "note"]).groupby("method", sort=False)
    mean, spread = by_method.mean(), by_method.std()
    out = pd.DataFrame({"n_fits": by_method.count().max(axis=1)})
    for name in mean:
        out[name], out[f"{name}_sd"] = mean[name], spread[name]
    return out.reset_index()


def agreement_between(labels: pd.DataFrame) -> pd.DataFrame:
    """Return the share of items to which two methods (columns) give the same label.

    Examples
    --------
    >>> labels = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0, 1, 0, 0]})
    >>> agreement_between(labels).loc["a"].tolist()
    [1.0, 0.75]
    """
    codes = labels.to_numpy().T
    share = [[(one == other).mean() for other in codes] for one in codes]
    return pd.DataFrame(share, index=labels.columns, columns=labels.columns)


# -- the models ---------------------------------------------------------------------


def named_models(
    methods: Models, *, with_features: bool = True, n_classes: int = 2
) -> dict[str, Any]:
    """Return the models by name; two of one method are told apart by their settings.

    Examples
    --------
    >>> from wisecrowd import BCC
    >>> list(named_models(["glad", BCC(), BCC(dependence=None)]))
    ['glad', 'BCC()', 'BCC(dependence=None)']
    """
    if methods is None:
        methods = fitting(with_features=with_features, n_classes=n_classes)
    if isinstance(methods, Mapping):
        if BASELINE in methods:
            raise InputError(
                f"{BASELINE!r} is the name of the baseline. Give the method another "
                f"name."
            )
        return {str(name): _model(model) for name, model in methods.items()}
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise InputError(
            f"methods={methods!r} must be a list, such as ['majority-vote', 'bcc'], or "
            f"a dict from names to methods."
        )
    named: dict[str, Any] = {}
    models = [_model(model) for model in methods]
    short = [model.method.name for model in models]
    for model, name in zip(models, short, strict=True):
        chosen = name if short.count(name) == 1 else " ".join(repr(model).split())
        if chosen in named:
            raise InputError(f"{chosen} is there twice. Leave one out.")
        named[chosen] = model
    if not named:
        raise InputError("there is no method to compare. Name at least one.")
    return named


def _model(method: Any) -> Any:
    """Return an estimator from itself or from its name."""
    if isinstance(method, str):
        return METHODS[method_name(method)]()
    if isinstance(method, type) or not hasattr(method, "method"):
        raise InputError(
            f"{method!r} is not a method. Give an estimator, such as wisecrowd.BCC(), "
            f"or a name, such as 'bcc'."
        )
    return method


def _check_features(models: Mapping[str, Any], X: Any) -> None:
    needy = [name for name, m in models.items() if isinstance(m, CrowdClassifier)]
    if needy and X is None:
        raise InputError(
            f"{listed(needy)} cannot be fitted without features. Pass them with X=, or "
            f"leave the method out."
        )


def with_seed(model: Any, seed: int) -> Any:
    """Return a copy of a method that draws its random numbers from this seed.

    It has no checkpoint: that belongs to one fit, and here are several.
    """
    copy = clone(model)
    changes = {"random_state": seed, "checkpoint": None, "resume": False}
    known = copy.get_params(deep=False)
    return copy.set_params(**{k: v for k, v in changes.items() if k in known})


# -- fits and scores ----------------------------------------------------------------


def smoothed_votes(annotations: Annotations) -> Float[np.ndarray, "N C"]:
    """Return the votes for each class plus 1 / C, divided by their sum.

    The simplest probabilities that are never 0 or 1. They treat all annotators alike.
    Of two classes with as many votes, the one that has more votes on all items is more
    probable, by a millionth: the order of the classes decides nothing.

    Examples
    --------
    >>> smoothed_votes(Annotations.from_matrix([[0, 0, 0], [0, 1, -1]])).tolist()
    [[0.875, 0.125], [0.5, 0.5]]
    """
    votes = annotations.codes.votes()
    votes = votes + 1 / annotations.n_classes + 1e-6 * votes.sum(0) / votes.sum()
    shares: Array = votes / votes.sum(1, keepdims=True)
    return shares


def honesty(scores: pd.DataFrame) -> dict[str, list[str]]:
    """Return which methods have more and less honest probabilities than the baseline.

    "more": the log loss is smaller than that of smoothed votes, by two standard errors
    or more; of several seeds the mean counts. "less": it is larger, likewise.
    "unclear": the others. A method without scores is nowhere.

    Examples
    --------
    >>> table = pd.DataFrame({"method": ["a", "b", "smoothed-votes"],
    ...                       "gain": [0.2, -0.1, 0.0], "gain_error": [0.05, 0.2, 0.0]})
    >>> honesty(table)
    {'more': ['a'], 'less': [], 'unclear': ['b']}
    """
    rows = scores[(scores["method"] != BASELINE) & scores["gain"].notna()]
    mean = rows.groupby("method", sort=False)[["gain", "gain_error"]].mean()
    clear = mean["gain"].abs() >= CLEAR * mean["gain_error"]  # not where it is NaN
    better = mean["gain"] > 0
    return {
        "more": mean.index[clear & better].tolist(),
        "less": mean.index[clear & ~better].tolist(),
        "unclear": mean.index[~clear].tolist(),
    }


def scored_gold(annotations: Annotations, score: str) -> Int[np.ndarray, " N"]:
    """Return the codes of the gold classes that are scored, -1 for other items.

    Examples
    --------
    >>> both = Annotations.from_dict({"a": {"ann": 0}, "b": {"ann": 1}, "c": {}})
    >>> both = both.with_gold({"a": 0, "c": 1})
    >>> [scored_gold(both, score).tolist() for score in SCORED]
    [[0, -1, 1], [0, -1, -1], [-1, -1, 1]]
    """
    answered = annotations.codes.n_per_item > 0
    chosen = {"answered": answered, "new": ~answered}.get(score, True)
    codes = np.where(chosen, annotations.gold_codes, -1).astype(np.int32)
    if score == "new" and (codes < 0).all():
        raise InputError(
            "score='new': no gold item is without an answer. Give the features and the "
            "gold of items about which nobody answered."
        )
    return codes


def scores_against_gold(annotations: Annotations) -> Callable[..., dict[str, float]]:
    """Return a function that scores class probabilities; NaN where there are none."""
    codes = annotations.gold_codes
    columns = (*SCORES, "gain", "gain_error")
    nothing = dict.fromkeys(columns, float("nan"))
    known = np.flatnonzero(codes >= 0)
    if not len(known):
        return lambda proba: nothing

    def surprise(proba: Array) -> Array:
        likelihood = proba[known, codes[known]]
        return -np.log(np.clip(likelihood, SMALLEST_PROBABILITY, 1.0))

    of_votes = surprise(smoothed_votes(annotations))

    def against(proba: Array | None) -> dict[str, float]:
        if proba is None:
            return nothing
        table = scores(codes, proba).loc["all"]
        gain = of_votes - surprise(proba)
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        found = (*(table[name] for name in SCORES), gain.mean(), error)
        return dict(zip(columns, map(float, found), strict=True))

    return against


NOT_FITTED = dict.fromkeys(("unseen_answers", "seconds", "megabytes"), np.nan)


def _row(
    model: Any,
    annotations: Annotations,
    X: Any,
    hidden: Any,
    seconds: float | int | None,
) -> tuple[dict[str, Any], Any]:
    """Return cost and fit of a method, and its model; or why it could not be fitted.

    What the fit warns of is a note, so that it stands beside the name of the method.
    """
    try:
        with (
            warnings.catch_warnings(record=True) as warned,
            limits.time_limit(seconds),
            limits.measured() as cost,
        ):
            warnings.simplefilter("always")
            fitted = _fitted(model, annotations, X)
    except InputError as error:
        return {**NOT_FITTED, "note": f"it could not be fitted: {error}"}, None
    except limits.OutOfTime:
        note = f"its fit took more than {seconds:g} seconds."
        return {**NOT_FITTED, "note": note}, None
    unseen, note = float("nan"), " ".join(dict.fromkeys(str(w.message) for w in warned))
    try:
        with warnings.catch_warnings(), limits.time_limit(seconds):
            warnings.simplefilter("ignore")  # of the same data: said by the first fit
            unseen = log_likelihood_of_hidden(clone(model), annotations, hidden, X)
    except InputError as error:
        note = f"it could not be fitted without the held-out answers: {error}"
    except limits.OutOfTime:
        note = f"its second fit took more than {seconds:g} seconds."
    costs = {"seconds": cost.seconds, "megabytes": cost.megabytes}
    return {"unseen_answers": unseen, **costs, "note": note}, fitted


def _fitted(model: Any, annotations: Annotations, X: Any) -> Any:
    """Return the model after its fit, which sees no gold."""
    if isinstance(model, CrowdClassifier):
        return model.fit(X, annotations, items=annotations.items)
    return model.fit(annotations)


def log_likelihood_of_hidden(
    model: Any, annotations: Annotations, hidden: Bool[np.ndarray, " L"], X: Any = None
) -> float:
    """Return the mean of log Σ_c q(z = c) R[a, c, y] over answers not used in the fit.

    NaN if no answer is hidden, or all are.
    """
    if hidden.all() or not hidden.any():
        return float("nan")
    kept = replace(annotations, codes=annotations.codes.some(~hidden))
    fitted = _fitted(model, kept, X)
    proba = fitted.label_proba_[annotations.item[hidden]]
    skill = fitted.confusion_[
        annotations.annotator[hidden], :, annotations.answer[hidden]
    ]
    with np.errstate(divide="ignore"):
        return float(np.log((proba * skill).sum(1)).mean())
