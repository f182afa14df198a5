"""What AggNet, the crowd layers and CoNAL share: settings, the fit, predictions."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from wisecrowd._checks import number, one_of
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.base import CrowdClassifier, Learned, Published
from wisecrowd.feature_source import InMemory
from wisecrowd.fit.checkpoint import Checkpoint
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.training import TrainingSettings
from wisecrowd.maths import crowd
from wisecrowd.maths.networks import Network
from wisecrowd.maths.scaling import scaling
from wisecrowd.maths.temperature import fitted_temperature, tempered
from wisecrowd.skills import Tally


# A dataclass only for its constructor, which scikit-learn reads the settings from.
@dataclass(eq=False, repr=False)
class NetworkClassifier(TrainingSettings, Published, CrowdClassifier):
    """A network, its training and its predictions."""

    network: Any = "mlp"
    _: KW_ONLY
    batch_size: int = 64
    tol: float | int | None = 1e-3
    learning_rate: float | int = 1e-3
    held_out: float | int = 0.1
    temperature: str | None = "auto"
    dependence: float | int | str | None = "learn"

    min_steps = 3000
    cool_down = 0.4

    @property
    def network_(self) -> Network:
        """The fitted network."""
        found: Network = self.learned_.classifier
        return found

    @property
    def temperature_(self) -> float:
        """What the network's logits are divided by."""
        return self.network_.temperature

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of(self.temperature, ("auto", None), "temperature")
        wanted = "at least 0 and below 1"
        number(self.held_out, "held_out", wanted, lambda v: 0 <= v < 1)

    # -- what a method brings -------------------------------------------------------

    @abstractmethod
    def _recipe(
        self, annotations: Annotations, answers: Answers, items: Any, batch_size: int
    ) -> Any:
        """Return the recipe of fit/deep.py for these items."""

    @abstractmethod
    def _learned_skills(
        self, recipe: Any, found: Any, answers: Answers, X: Array
    ) -> Any:
        """Return the annotators that training has found."""

    @abstractmethod
    def _counted(
        self, skills: Any, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> Any:
        """Return the skills with the answers counted against the labels."""

    def _evidence(self, skills: Any, answers: Answers) -> Float[np.ndarray, "N C"]:
        """Return Σ log p(y | z, a) of every item."""
        said: Array = skills.evidence(answers)
        return said

    # -- a whole fit ----------------------------------------------------------------

    def _fit(self, X: Array, annotations: Annotations) -> tuple[Learned, Trace]:
        self._check_settings()
        from wisecrowd.fit.deep import Items, fitted

        answers, gold = annotations.codes, annotations.gold_codes
        keep = Checkpoint.of(self, X, answers, gold)
        seed, scale = keep.seed(self._seed()), scaling(X, self.scaling)
        known = (answers.n_per_item > 0) | (gold >= 0)
        features = InMemory(scale.apply(X, "float32"))
        items = Items.of(features, known, float(self.held_out), seed)
        plan = self._plan(len(items.train), seed)
        recipe = self._recipe(annotations, answers, items, plan.schedule.batch_size)
        found, trace = fitted(
            self.network, scale, answers.n_classes, recipe, plan, items, keep
        )
        skills, said = self._learned_skills(recipe, found, answers, X), found.log_proba
        evidence = crowd.clamped(self._evidence(skills, answers), gold)
        temperature, held = 1.0, items.held_out
        if self.temperature is not None:
            temperature = fitted_temperature(said[held], evidence[held])
        proba, _ = crowd.posterior(tempered(said, temperature) + evidence)
        network = found.network._replace(temperature=temperature)
        skills = self._counted(skills, answers, proba)
        keep.remove()
        return Learned(proba, proba.mean(0), skills, network), trace

    def _predict_proba(self, X: Array) -> Array:
        return np.exp(self.network_.log_proba(X))


@dataclass(eq=False, repr=False, kw_only=True)
class LayerClassifier(NetworkClassifier):
    """A network whose annotators are a layer, learned by Adam too."""

    output: str = "mixture"
    annotator_l2: float | int = 0.5
    annotator_rate: float | int = 0.03

    published: ClassVar[dict[str, Any]] = {
        "output": "softmax",
        "annotator_l2": 0.0,
        "annotator_rate": 1e-3,
        "temperature": None,
        "dependence": None,
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of(self.output, ("mixture", "softmax"), "output")
        wanted = "a number, at least 0 and at most 1e6"  # with more, 32 bits overflow
        for name in ("annotator_l2", "annotator_rate"):
            number(getattr(self, name), name, wanted, lambda v: 0 <= v <= 1e6)

    @abstractmethod
    def _layer(self, shape: tuple[int, int, int], n_features: int) -> tuple[Any, float]:
        """Return the layer for A, C, K, and the strength of what it penalises."""

    def _recipe(
        self, annotations: Annotations, answers: Answers, items: Any, batch_size: int
    ) -> Any:
        from wisecrowd.fit.deep import FlatAnswers, Rates, Recipe
        from wisecrowd.fit.flat_answers import room_for
        from wisecrowd.maths.deep.layers import Strength

        layer, strength = self._layer(answers.shape[1:], items.features.n_features)
        room = room_for(answers, items.train, batch_size)
        rows = FlatAnswers(answers, annotations.gold_codes, room)
        rates = Rates(float(self.learning_rate), float(self.annotator_rate))
        prior = float(self.annotator_l2) / max(len(answers), 1)
        # 32 bits, and not part of what is compiled.
        strengths = Strength(np.float32(prior), np.float32(strength))
        return Recipe(layer, rows, rates, strengths)

    def _counted(
        self, skills: Any, answers: Answers, proba: Float[np.ndarray, "N C"]
    ) -> Any:
        return replace(skills, tally=Tally.of(answers, proba))
