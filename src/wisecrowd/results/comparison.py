"""Several methods on the same answers, side by side."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool
from sklearn.base import clone

from wisecrowd._checks import InputError, listed
from wisecrowd._types import Array, Gold
from wisecrowd.annotations import Annotations
from wisecrowd.base import CrowdClassifier, as_annotations, made_annotations
from wisecrowd.features import row_ids
from wisecrowd.io.gold import matched_gold
from wisecrowd.registry import METHODS, method_name
from wisecrowd.results.summary import SCORES, gold_scores

Models = Mapping[str, Any] | Iterable[Any] | None


class Comparison(NamedTuple):
    """Several methods on the same answers.

    Attributes
    ----------
    scores : DataFrame
        One row per method and seed: what :func:`compare` returns.
    labels : DataFrame
        One row per item, one column per method: the labels with the first seed.
    """

    scores: pd.DataFrame
    labels: pd.DataFrame


def compare(
    methods: Models,
    answers: Any,
    *,
    X: Any = None,
    items: Any = None,
    gold: Gold | None = None,
    seeds: Sequence[int] = (0,),
    held_out: float | int = 0.1,
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
        answers, if they have any.
    seeds : sequence of int
        Every method is fitted once per seed. A seed replaces the `random_state` of
        the method and decides which answers are held out.
    held_out : float
        Share of the answers that is hidden from a second fit, to be predicted by it.
        0: no second fit.

    Returns
    -------
    DataFrame
        One row per method and seed, with these columns.

        method, seed
            Which fit.
        accuracy, mean_likelihood, log_loss, calibration_error
            Scores of the labels against the gold classes; NaN without gold.
        unseen_answers
            Mean log probability of the held-out answers. Closer to 0 is better, and no
            gold is needed.
        seconds
            Time of the first fit.
        note
            Why a method could not be fitted; empty if it was.

    Examples
    --------
    >>> import wisecrowd as wc
    >>> crowd = wc.simulate(50, 7, 3, random_state=0)
    >>> gold = dict(enumerate(crowd.truth))
    >>> table = wc.compare([wc.MajorityVote(), "glad"], crowd.answers, gold=gold)
    >>> table["method"].tolist(), table["accuracy"].round(1).tolist()
    (['majority-vote', 'glad'], [0.9, 0.9])
    """
    found = compared(
        methods,
        answers,
        X=X,
        items=items,
        gold=gold,
        seeds=seeds,
        held_out=held_out,
    )
    return found.scores


def compared(
    methods: Models,
    answers: Any,
    *,
    X: Any = None,
    items: Any = None,
    gold: Gold | None = None,
    seeds: Sequence[int] = (0,),
    held_out: float | int = 0.1,
) -> Comparison:
    """Return the scores of :func:`compare`, and the labels of every method."""
    if not 0 <= held_out < 1:
        raise InputError(
            f"held_out={held_out!r} must be a share of the answers, from 0 to below 1."
        )
    models = named_models(methods, with_features=X is not None)
    _check_features(models, X)
    annotations = made_annotations(answers)
    if X is not None:
        annotations = annotations.align(row_ids(X, items, len(X)))
    if gold is not None:
        known, _ = matched_gold(pd.Series(gold), annotations)
        annotations = annotations.with_gold(known)
    as_annotations(annotations)  # what is wrong for every method is an error
    rows: list[dict[str, Any]] = []
    labels: dict[str, Array] = {}
    for seed in seeds:
        hidden = np.random.default_rng(seed).random(len(annotations)) < held_out
        for name, model in models.items():
            row, found = _row(with_seed(model, seed), annotations, X, hidden)
            rows.append({"method": name, "seed": seed, **row})
            if found is not None:
                labels.setdefault(name, found)
    if not labels:
        raise InputError(f"no method could be fitted. {rows[0]['note']}")
    return Comparison(pd.DataFrame(rows), pd.DataFrame(labels, index=annotations.items))


def agreement_between(labels: pd.DataFrame) -> pd.DataFrame:
    """Return the share of items to which two methods give the same label.

    Parameters
    ----------
    labels : DataFrame
        One row per item, one column per method.

    Examples
    --------
    >>> labels = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0, 1, 0, 0]})
    >>> agreement_between(labels).loc["a"].tolist()
    [1.0, 0.75]
    """
    columns = [labels[name].to_numpy() for name in labels]
    share = [[float((a == b).mean()) for b in columns] for a in columns]
    return pd.DataFrame(share, index=labels.columns, columns=labels.columns)


# -- the models ---------------------------------------------------------------------


def named_models(methods: Models, *, with_features: bool = True) -> dict[str, Any]:
    """Return the models by name; two of one method are told apart by their settings.

    Examples
    --------
    >>> from wisecrowd import BCC
    >>> list(named_models(["glad", BCC(), BCC(dependence=None)]))
    ['glad', 'BCC()', 'BCC(dependence=None)']
    """
    if methods is None:
        needs = ("answers", "features") if with_features else ("answers",)
        methods = [name for name in METHODS if METHODS.info(name).needs in needs]
    if isinstance(methods, Mapping):
        return {str(name): _model(model) for name, model in methods.items()}
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise InputError(
            f"methods={methods!r} must be a list, such as ['majority-vote', 'bcc'], or "
            f"a dict from names to methods."
        )
    models = [_model(model) for model in methods]
    short = [model.method.name for model in models]
    named: dict[str, Any] = {}
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


def _row(
    model: Any, annotations: Annotations, X: Any, hidden: Any
) -> tuple[dict[str, Any], Array | None]:
    """Return the scores of a method and its labels, or why it could not be fitted."""
    nothing = dict.fromkeys((*SCORES, "unseen_answers", "seconds"), float("nan"))
    try:
        began = time.perf_counter()
        fitted = _fitted(model, annotations, X)
        seconds = time.perf_counter() - began
        unseen = log_likelihood_of_hidden(clone(model), annotations, hidden, X)
    except InputError as error:
        return {**nothing, "note": str(error)}, None
    found = gold_scores(fitted, annotations) or nothing
    row: dict[str, Any] = {name: found[name] for name in SCORES}
    row |= {"unseen_answers": unseen, "seconds": seconds, "note": ""}
    return row, fitted.labels_


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
