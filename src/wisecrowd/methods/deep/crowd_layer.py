"""Crowd layers (Rodrigues and Pereira 2018): annotators as a layer of the network.

The layer turns the network's class probabilities into the probabilities of each
annotator's answers. Network and layer are learned end to end from the cross-entropy of
the answers that were given.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from wisecrowd._checks import InputError, number, one_of
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.base import Learned
from wisecrowd.fit.trace import Trace
from wisecrowd.maths import crowd
from wisecrowd.maths.temperature import tempered
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
    output: str = "mixture"
    regularizer: str | None = None
    regularizer_strength: float | int | str = "auto"

    published: ClassVar[dict[str, Any]] = {
        "output": "softmax",
        "annotator_l2": 0.0,
        "annotator_rate": 1e-3,
        "temperature": None,
        "dependence": None,
    }
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
        one_of(self.output, ("mixture", "softmax"), "output")
        one_of(self.regularizer, STRENGTH, "regularizer")
        if self.regularizer_strength != "auto":
            wanted = "'auto', or a number, at least 0"
            number(self.regularizer_strength, "regularizer_strength", wanted, _finite)
        if self.regularizer is not None and (self.kind, self.output) != (
            "mw",
            "mixture",
        ):
            raise InputError(
                f"regularizer={self.regularizer!r} is for confusion matrices: use it "
                f"with kind='mw' and output='mixture', or set regularizer=None."
            )

    def _fit(self, X: Array, annotations: Annotations) -> tuple[Learned, Trace]:
        self._check_settings()
        from wisecrowd.maths.deep.layers import CrowdLayerRecipe

        layer = CrowdLayerRecipe(
            *annotations.codes.shape[1:],
            kind=self.kind,
            mixture=self.output == "mixture",
            regularizer=self.regularizer,
        )
        strength = self.regularizer_strength
        if strength == "auto":
            strength = STRENGTH[self.regularizer]
        found, answers, trace = self._trained(X, annotations, layer, float(strength))
        # The answers to a class that is certain: the softmax of the rows of W.
        logits = np.asarray(layer.matrices(found.layer), np.float64)
        matrices = softmax(logits, axis=2)
        said, held, gold = found.log_proba, found.held_out, annotations.gold_codes
        evidence = crowd.evidence_per_item(answers, np.log(matrices))
        evidence = crowd.clamped(evidence, gold)
        temperature = self._temperature(said[held], evidence[held])
        proba, _ = crowd.posterior(tempered(said, temperature) + evidence)
        skills = LayerMatrices.of(answers, proba, matrices)
        network = found.network._replace(temperature=temperature)
        return Learned(proba, proba.mean(0), skills, network), trace


def _finite(value: Any) -> bool:
    return bool(0 <= value < np.inf)
