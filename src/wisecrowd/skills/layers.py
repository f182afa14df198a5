"""Skills that a layer of a network learned: crowd layers and CoNAL."""

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit, log_softmax, softmax

from wisecrowd._records import PROBA, SHARES, record
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.maths import crowd, dirichlet
from wisecrowd.maths.scaling import Scaling
from wisecrowd.skills.part import ByConfusion
from wisecrowd.skills.tally import Counted, Tally

ROWS = 10_000  # answers at a time, where each has a matrix of its own


def of_the_crowd(
    values: Float[np.ndarray, "A ..."], answered: Bool[np.ndarray, " A"]
) -> Float[np.ndarray, "..."]:
    """Return the mean of those who answered; of all, if nobody did."""
    mean: Array = values[answered if answered.any() else slice(None)].mean(0)
    return mean


def interval_of(
    confusion: Float[np.ndarray, "A C K"], tally: Tally, level: float
) -> tuple[Array, Array]:
    """Return intervals of Dirichlets with these means.

    A layer has no posterior. The concentrations of a row add up to the answers to items
    of that class, and one more for every possible answer.
    """
    n_rows = tally.smoothed.sum(-1, keepdims=True)
    return dirichlet.interval(confusion * n_rows, level)


@record
@dataclass(frozen=True, eq=False)
class LayerMatrices(Counted, ByConfusion):
    """Confusion matrices that a crowd layer learned.

    An annotator without answers, or a new one, has the mean matrix of the crowd.

    Attributes
    ----------
    tally : Tally
        The answers counted against the labels: what is reported about an annotator.
    matrices : array (A, C, K)
        p(answer | class) by the layer.
    """

    tally: Tally
    matrices: Annotated[Float[np.ndarray, "A C K"], SHARES]

    @classmethod
    def of(
        cls,
        answers: Answers,
        proba: Float[np.ndarray, "N C"],
        matrices: Float[np.ndarray, "A C K"],
    ) -> "LayerMatrices":
        """Return the skills of a fit: its matrices, and its labels for the tally."""
        answered = answers.n_per_annotator > 0
        known = answered[:, None, None]
        whole = np.where(known, matrices, of_the_crowd(matrices, answered))
        return cls(Tally.of(answers, proba), whole)

    def confusion(self) -> Float[np.ndarray, "A C K"]:
        """Return the matrices of the layer."""
        return self.matrices

    def interval(self, level: float) -> tuple[Array, Array]:
        """Return the interval of every entry."""
        return interval_of(self.matrices, self.tally, level)

    def chosen(self, where: Int[np.ndarray, " B"]) -> "LayerMatrices":
        """Return the skills of some annotators; one never seen has the crowd's."""
        answered = self.tally.table.sum((1, 2)) > 0
        new = of_the_crowd(self.matrices, answered)[None]
        matrices = np.concatenate([self.matrices, new])[where]
        return LayerMatrices(self.tally.chosen(where), matrices)

    def evidence(self, answers: Answers) -> Float[np.ndarray, "N C"]:
        """Σ log R[a, c, y] over the answers of every item."""
        return crowd.evidence_per_item(answers, np.log(self.matrices))


@record
class Mixing(NamedTuple):
    """What decides how much an answer follows the common confusions.

    s = σ(v(x) · u[a]), v and u of length one; v(x) has two linear layers.
    """

    seen: Float[np.ndarray, "D H"]
    seen_bias: Float[np.ndarray, " H"]
    item: Float[np.ndarray, "H E"]
    item_bias: Float[np.ndarray, " E"]
    annotator: Float[np.ndarray, "A E"]

    def of_items(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N E"]:
        """Return v(x) of scaled features."""
        between = X @ self.seen + self.seen_bias
        return of_length_one(between @ self.item + self.item_bias)


def of_length_one(vectors: Float[np.ndarray, "n E"]) -> Float[np.ndarray, "n E"]:
    """Return the vectors with length one; zero stays zero."""
    length = np.sqrt((vectors * vectors).sum(1, keepdims=True))
    return vectors / np.maximum(length, np.finfo(np.float32).tiny)


@record
@dataclass(frozen=True, eq=False)
class CommonConfusions(Counted):
    """A confusion matrix that all share, and one of each annotator's own (CoNAL).

    An annotator without answers, or a new one, has the mean matrix of the crowd and
    follows the common confusions in half of the answers.

    Attributes
    ----------
    tally : Tally
        The answers counted against the labels: what is reported about an annotator.
    common : array (C, K)
        p(answer | class) of a common confusion.
    own : array (A, C, K)
        p(answer | class) of each annotator otherwise.
    mean_share : array (A,)
        Mean share of common confusions, over the items that the annotator saw.
    mixing : Mixing
        How the share depends on the features.
    scaling : Scaling
        From the user's units to the model's.
    features : array (N, D) or None
        Scaled features of the items at hand; None: the mean shares are used.
    in_logs : bool
        Whether the logs of common and own are mixed, as published: p ∝ G^s R^(1 − s).
    """

    tally: Tally
    common: Annotated[Float[np.ndarray, "C K"], SHARES]
    own: Annotated[Float[np.ndarray, "A C K"], SHARES]
    mean_share: Annotated[Float[np.ndarray, " A"], PROBA]
    mixing: Mixing
    scaling: Scaling
    features: Float[np.ndarray, "N D"] | None = None
    in_logs: bool = False

    def confusion(self) -> Float[np.ndarray, "A C K"]:
        """Return the mixture of common and own, with the mean share."""
        share = self.mean_share[:, None, None]
        if self.in_logs:
            return softmax(mixed_logs(share, self.common, self.own), axis=2)
        return share * self.common + (1 - share) * self.own

    def interval(self, level: float) -> tuple[Array, Array]:
        """Return the interval of every entry."""
        return interval_of(self.confusion(), self.tally, level)

    def chosen(self, where: Int[np.ndarray, " B"]) -> "CommonConfusions":
        """Return the skills of some annotators; one never seen has the crowd's."""
        answered = self.tally.table.sum((1, 2)) > 0
        own = np.concatenate([self.own, of_the_crowd(self.own, answered)[None]])
        towards = self.mixing.annotator
        towards = np.concatenate([towards, np.zeros_like(towards[:1])])
        return replace(
            self,
            tally=self.tally.chosen(where),
            own=own[where],
            mean_share=np.append(self.mean_share, 0.5)[where],
            mixing=self.mixing._replace(annotator=towards[where]),
        )

    def seeing(self, X: Float[np.ndarray, "N D"]) -> "CommonConfusions":
        """Return the skills on items with these features, in the user's units."""
        return replace(self, features=self.scaling.apply(X, "float64"))

    def share(self, answers: Answers) -> Float[np.ndarray, " L"]:
        """Return the share s of common confusions in every answer."""
        if self.features is None:
            return self.mean_share[answers.annotator]
        items = self.mixing.of_items(self.features)[answers.item]
        people = of_length_one(self.mixing.annotator)[answers.annotator]
        out: Array = expit((items * people).sum(1))
        return out

    def evidence(self, answers: Answers) -> Float[np.ndarray, "N C"]:
        """Σ log (s G[c, y] + (1 − s) R[a, c, y]) over the answers of every item."""
        share = self.share(answers)[:, None]
        if self.in_logs:
            return answers.per_item @ self._log_given(share, answers)
        common = self.common.T[answers.answer]
        own = self.own[answers.annotator, :, answers.answer]
        return answers.per_item @ np.log(share * common + (1 - share) * own)

    def _log_given(
        self, share: Float[np.ndarray, "L 1"], answers: Answers
    ) -> Float[np.ndarray, "L C"]:
        """Return log p(y | c, x, a) of every answer, where the logs are mixed."""
        out = np.empty((len(answers), len(self.common)))
        for first in range(0, len(answers), ROWS):  # a table of all is large
            rows = slice(first, first + ROWS)
            own = self.own[answers.annotator[rows]]
            logs = log_softmax(mixed_logs(share[rows, None], self.common, own), axis=2)
            said = answers.answer[rows, None, None]
            out[rows] = np.take_along_axis(logs, said, 2)[:, :, 0]
        return out

    def label_proba(
        self, answers: Answers, log_prior: Float[np.ndarray, "#N C"]
    ) -> Float[np.ndarray, "N C"]:
        """p(z | x, answers), each answer with the share of its item and annotator."""
        return crowd.posterior(self.evidence(answers) + log_prior)[0]


def mixed_logs(
    share: Float[np.ndarray, "n 1 1"],
    common: Float[np.ndarray, "C K"],
    own: Float[np.ndarray, "n C K"],
) -> Float[np.ndarray, "n C K"]:
    """Return s log G + (1 − s) log R: softmaxes of mixed matrices are ∝ its exp."""
    return share * np.log(common) + (1 - share) * np.log(own)


def mean_share(
    share: Float[np.ndarray, " L"], answers: Answers
) -> Float[np.ndarray, " A"]:
    """Return the mean over each annotator's answers; one half without any."""
    total = np.bincount(answers.annotator, share, minlength=answers.n_annotators)
    n_each = answers.n_per_annotator
    return np.where(n_each > 0, total / np.maximum(n_each, 1), 0.5)
