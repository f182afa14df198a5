"""How the defaults of Raykar, Yan and CrowdEM were chosen.

Run: python experiments/rival_settings.py raykar|yan|exponents
`raykar` and `yan` vary the prior variances of the logits on LabelMe, Sentiment and
simulated crowds; `exponents` compares exponents of CrowdEM's predictions. Prints means
of accuracy and log loss on new items, and of the labels of the training items.
"""

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import wisecrowd as wc
from wisecrowd.datasets import load_digits_crowd, load_labelme, load_sentiment
from wisecrowd.maths import logistic
from wisecrowd.methods import crowd_em, yan
from wisecrowd.metrics import accuracy, log_loss


class Data(NamedTuple):
    """Features, answers and classes of a crowd, and of new items."""

    X: Any
    answers: Any
    truth: Any
    X_new: Any
    truth_new: Any


def real(data: Any) -> Data:
    """Return a data set with codes of its classes."""
    place = {name: c for c, name in enumerate(data.classes.tolist())}
    gold, gold_new = (
        np.array([place[name] for name in np.asarray(g).tolist()])
        for g in (data.gold, data.gold_test)
    )
    return Data(data.X, data.answers, gold, data.X_test, gold_new)


def simulated(
    seed: int, n: int, n_features: int, n_classes: int, depends: float
) -> Data:
    """Gaussian classes, ten annotators, four answers per item; skill may follow x."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n + 1000)
    means = rng.normal(size=(n_classes, n_features)) * 2.5 / np.sqrt(n_features)
    X = means[truth] + rng.normal(size=(n + 1000, n_features))
    slope = depends * rng.normal(size=(10, n_features)) / np.sqrt(n_features)
    right = rng.random((n, 10)) < expit(X[:n] @ slope.T + rng.normal(1.0, 0.7, 10))
    wrong = (truth[:n, None] + rng.integers(1, n_classes, (n, 10))) % n_classes
    answers = np.where(right, truth[:n, None], wrong)
    answers[rng.random(answers.shape) > 0.4] = -1
    made = wc.Annotations.from_matrix(answers, classes=range(n_classes))
    return Data(X[:n], made, truth[:n], X[n:], truth[n:])


def simulated_crowds(depends: float) -> list[Data]:
    """Return crowds of 2, 20 and 200 features, two and four classes."""
    return [
        simulated(seed, n, n_features, n_classes, depends)
        for n_features in (2, 20, 200)
        for n_classes in (2, 4)
        for n in (200, 600)
        for seed in (0, 1)
    ]


def scores(model: Any, data: Data) -> list[float]:
    """Fit, and return accuracy and log loss on new items and of the labels."""
    model.fit(data.X, data.answers)
    new = model.predict_proba(data.X_new)
    return [
        measure(truth, proba)
        for truth, proba in ((data.truth_new, new), (data.truth, model.label_proba_))
        for measure in (accuracy, log_loss)
    ]


def vary(make: Any, groups: dict[str, list[Data]]) -> str:
    """Return the mean scores per group."""
    found = {
        name: np.mean([scores(make(), one) for one in some], 0).round(3).tolist()
        for name, some in groups.items()
    }
    return str(found)


def of_raykar(groups: dict[str, list[Data]]) -> None:
    """Vary the prior variance of the logits, and the prior of the annotators."""
    for prior in ("flat", "diagonal"):
        for variance in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
            logistic.LOGIT_VARIANCE = variance
            said = vary(lambda p=prior: wc.Raykar(annotator_prior=p, tol=1e-5), groups)
            print(prior, variance, said, flush=True)


def of_yan(groups: dict[str, list[Data]]) -> None:
    """Vary the priors of the annotators' weights and offsets."""
    for precision in (0.05, 0.25, 1.0):
        for variance in (0.1, 0.5, 2.0):
            yan.OFFSET_PRECISION, yan.RELIABILITY_VARIANCE = precision, variance
            print(precision, variance, vary(lambda: wc.Yan(tol=1e-5), groups))


def of_exponents(groups: dict[str, list[Data]]) -> None:
    """Compare exponents of CrowdEM's predictions: ours, none, and √t."""
    ours = crowd_em.exponent_of_predictions
    rules = {
        "ours": ours,
        "none": lambda known, end, alone: 1.0,
        "square root": lambda known, end, alone: known.sharpness**0.5,
    }
    kinds = {
        "default": None,
        "logistic C=.01": LogisticRegression(C=0.01),
        "logistic C=1": LogisticRegression(),
        "neighbours": KNeighborsClassifier(15),
    }
    for kind, estimator in kinds.items():
        for rule, exponent in rules.items():
            crowd_em.exponent_of_predictions = exponent
            said = vary(lambda e=estimator: wc.CrowdEM(e, dependence=0.1), groups)
            print(kind, "|", rule, said, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["raykar", "yan", "exponents"])
    what = parser.parse_args().what
    warnings.simplefilter("ignore")
    groups = {"labelme": [real(load_labelme())], "sentiment": [real(load_sentiment())]}
    if what == "exponents":
        groups["digits"] = [real(load_digits_crowd(answers_per_item=2))]
    groups["simulated"] = simulated_crowds(0.0)
    if what == "yan":
        groups["skill by x"] = simulated_crowds(2.0)
    {"raykar": of_raykar, "yan": of_yan, "exponents": of_exponents}[what](groups)


if __name__ == "__main__":
    main()
