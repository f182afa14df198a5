"""CoNAL (Chu, Ma and Wang 2021): confusions that annotators share.

p(y | x, a, z = c) = s G[c, y] + (1 − s) R[a, c, y]: some mistakes are common to all.
How many depends on the item and the annotator, s = σ(v(x) · u[a]).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from wisecrowd._checks import number
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.methods.deep.shared import LayerClassifier
from wisecrowd.registry import MethodInfo
from wisecrowd.skills import CommonConfusions, Tally
from wisecrowd.skills.layers import Mixing, mean_share, of_the_crowd


@dataclass(eq=False, repr=False, kw_only=True)
class CoNAL(LayerClassifier):
    """A neural network with common and individual confusion matrices.

    Parameters
    ----------
    output : {"mixture", "softmax"}
        What is mixed: "mixture" mixes confusion matrices. "softmax", as published,
        mixes the matrices before the softmax that makes them probabilities.
    distance_strength : float
        Weight of the distance between each annotator's matrix and the common one,
        which is kept large.
    annotator_l2 : float
        Precision of the Gaussian prior of the matrices' logits around their start.
    annotator_rate : float
        Step size of Adam for the matrices and what mixes them.
    network, scaling, batch_size, max_epochs, tol, time_limit
        As in :class:`AggNet`.
    learning_rate, held_out, temperature, dependence, random_state, progress
        As in :class:`AggNet`.
    checkpoint, checkpoint_seconds, resume
        As in :class:`AggNet`.

    Attributes
    ----------
    common_confusion_ : array (C, K)
        The common confusion matrix.
    common_share_ : array (A,)
        Mean share of common confusions in each annotator's answers.
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
    With its defaults this is an extension of the published method: "mixture", a prior
    of the matrices, and a larger step for them. :meth:`as_published` is the paper's.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 60)
    >>> X = truth[:, None] + 0.3 * rng.normal(size=(60, 2))
    >>> wrong = rng.random((60, 3)) < [0.1, 0.2, 0.4]  # three annotators
    >>> answers = np.where(wrong, 1 - truth[:, None], truth[:, None])
    >>> model = CoNAL(max_epochs=100).fit(X, answers)
    >>> bool((model.labels_ == truth).mean() > 0.9)
    True
    """

    distance_strength: float | int = 1e-5

    method = MethodInfo(
        name="conal",
        needs="features",
        learns="a confusion matrix, beside one of common confusions",
        paper="Chu, Ma and Wang, *AAAI* 2021",
        bibtex="""\
@inproceedings{chu2021conal,
  author = {Chu, Zhendong and Ma, Jing and Wang, Hongning},
  title = {Learning from crowds by modeling common confusions},
  booktitle = {Proceedings of the 35th AAAI Conference on Artificial Intelligence},
  pages = {5832--5840},
  year = {2021}
}""",
    )

    @property
    def common_confusion_(self) -> Array:
        """The common confusion matrix, (C, K)."""
        skills: CommonConfusions = self.learned_.skills
        return skills.common

    @property
    def common_share_(self) -> Array:
        """Mean share of common confusions in each annotator's answers, (A,)."""
        skills: CommonConfusions = self.learned_.skills
        return skills.mean_share

    def _check_settings(self) -> None:
        super()._check_settings()
        wanted = "a number, at least 0"
        number(
            self.distance_strength, "distance_strength", wanted,
            lambda v: 0 <= v < np.inf,
        )  # fmt: skip

    def _layer(self, shape: tuple[int, int, int], n_features: int) -> tuple[Any, float]:
        from wisecrowd.maths.deep.layers import CommonLayer

        mixture = self.output == "mixture"
        layer = CommonLayer(*shape, mixture=mixture, n_features=n_features)
        return layer, float(self.distance_strength)

    def _learned_skills(
        self, recipe: Any, found: Any, answers: Answers, X: Array
    ) -> Any:
        # An annotator without answers is as the crowd, as a new one is.
        params = found.layer
        answered = answers.n_per_annotator > 0
        own = softmax(params["matrix"].astype(np.float64), axis=2)
        own[~answered] = of_the_crowd(own, answered)
        towards = np.where(answered[:, None], params["annotator"], 0.0)
        names = ("seen", "seen_bias", "item", "item_bias")
        skills = CommonConfusions(
            Tally.of(answers, np.exp(found.log_proba)),
            softmax(params["common"].astype(np.float64), axis=1),
            own,
            np.full(answers.n_annotators, 0.5),
            Mixing(**{name: params[name] for name in names}, annotator=towards),
            found.network.scaling,
            in_logs=self.output == "softmax",
        ).seeing(X)
        return replace(skills, mean_share=mean_share(skills.share(answers), answers))

    def _counted(
        self, skills: Any, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> Any:
        return replace(super()._counted(skills, answers, proba), features=None)
