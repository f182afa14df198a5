"""Crowd layers (Rodrigues and Pereira 2018): annotators as a layer of the network.

The layer turns the network's class probabilities into the probabilities of each
annotator's answers. Network and layer are learned end to end from the cross-entropy of
the answers that were given.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from wisecrowd._checks import InputError, number, one_of
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.methods.deep.shared import LayerClassifier
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import LayerMatrices

STRENGTH = {"geometric": 0.1, "trace": 1.0, None: 0.0}


@dataclass(eq=False, repr=False, kw_only=True)
class CrowdLayer(LayerClassifier):
    """A neural network with a layer that predicts each annotator's answers.

    Parameters
    ----------
    kind : {"mw", "vw", "vwb"}
        What an annotator has: a matrix, a weight per class, or a weight per class and
        an offset per answer.
    output : {"mixture", "softmax"}
        How W predicts an answer. "mixture": the softmax of every row of W is a row of
        a confusion matrix. "softmax", as published: the softmax of the probabilities
        times W.
    regularizer : {None, "geometric", "trace"}
        Only with kind "mw" and output "mixture". "geometric" (GeoCrowdNet) asks for
        items of every class of which the network is certain. "trace" (Tanno et al.)
        asks for unreliable annotators.
    regularizer_strength : float or "auto"
        Its weight, beside the mean cross-entropy of an answer. "auto" is .1 for
        "geometric" and 1 for "trace".
    annotator_l2 : float
        Precision of the Gaussian prior of W around its start.
    annotator_rate : float
        Step size of Adam for W.
    network, scaling, batch_size, max_epochs, tol, time_limit
        As in :class:`AggNet`.
    learning_rate, held_out, temperature, dependence, random_state, progress
        As in :class:`AggNet`.
    checkpoint, checkpoint_seconds, resume
        As in :class:`AggNet`.

    Attributes
    ----------
    network_ : Network
        The fitted network: architecture, weights, scaling and temperature.
    temperature_ : float
        What the logits are divided by.
    n_features_in_ : int
        Number of features at the fit.
    feature_names_in_ : array
        Their names, where X was a DataFrame.

    Notes
    -----
    The confusion matrices are the layer's answers to a class that is certain. With its
    defaults this is an extension of the published layer: "mixture", a prior, and a
    faster layer. :meth:`as_published` is the paper's.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 60)
    >>> X = truth[:, None] + 0.3 * rng.normal(size=(60, 2))
    >>> wrong = rng.random((60, 3)) < [0.1, 0.2, 0.4]  # three annotators
    >>> answers = np.where(wrong, 1 - truth[:, None], truth[:, None])
    >>> model = CrowdLayer(max_epochs=100).fit(X, answers)
    >>> bool((model.labels_ == truth).mean() > 0.9)
    True
    """

    kind: str = "mw"
    regularizer: str | None = None
    regularizer_strength: float | int | str = "auto"

    method = MethodInfo(
        name="crowd-layer",
        needs="features",
        learns="a layer of a neural network, from classes to answers",
        paper="Rodrigues and Pereira, *AAAI* 2018",
        bibtex="""\
@inproceedings{rodrigues2018crowdlayer,
  author = {Rodrigues, Filipe and Pereira, Francisco C.},
  title = {Deep learning from crowds},
  booktitle = {Proceedings of the 32nd AAAI Conference on Artificial Intelligence},
  pages = {1611--1618},
  year = {2018}
}""",
    )

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of(self.kind, ("mw", "vw", "vwb"), "kind")
        one_of(self.regularizer, STRENGTH, "regularizer")
        if self.regularizer_strength != "auto":
            wanted = "'auto', or a number, at least 0"
            number(
                self.regularizer_strength, "regularizer_strength", wanted,
                lambda v: 0 <= v < np.inf,
            )  # fmt: skip
        of_mixture = self.kind == "mw" and self.output == "mixture"
        if self.regularizer is not None and not of_mixture:
            raise InputError(
                f"regularizer={self.regularizer!r} is for confusion matrices: use it "
                f"with kind='mw' and output='mixture', or set regularizer=None."
            )

    def _layer(self, shape: tuple[int, int, int], n_features: int) -> tuple[Any, float]:
        from wisecrowd.maths.deep.layers import CrowdLayerRecipe

        layer = CrowdLayerRecipe(
            *shape,
            mixture=self.output == "mixture",
            kind=self.kind,
            regularizer=self.regularizer,
        )
        strength = self.regularizer_strength
        if strength == "auto":
            strength = STRENGTH[self.regularizer]
        return layer, float(strength)

    def _learned_skills(
        self, recipe: Any, found: Any, answers: Answers, X: Array
    ) -> Any:
        # The answers to a class that is certain: the softmax of the rows of W.
        logits = np.asarray(recipe.layer.matrices(found.layer), np.float64)
        proba = np.exp(found.log_proba)
        return LayerMatrices.of(answers, proba, softmax(logits, axis=2))
