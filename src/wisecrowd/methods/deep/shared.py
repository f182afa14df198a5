"""What AggNet, the crowd layers and CoNAL share: settings, network, predictions."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import number, one_of, random_numbers, whole_number
from wisecrowd._types import Array
from wisecrowd.annotations import Annotations
from wisecrowd.answers import Answers
from wisecrowd.base import CrowdClassifier, Published
from wisecrowd.fit.stochastic import Schedule
from wisecrowd.fit.trace import Trace
from wisecrowd.maths.networks import Network
from wisecrowd.maths.scaling import SCALINGS
from wisecrowd.maths.temperature import fitted_temperature

MIN_STEPS = 3000  # the most steps of a small crowd
DEFAULT_PASSES = 20  # the most passes over a large one
COOL_DOWN = 0.4  # of the steps, in which the rates fall
BATCH = 64


# A dataclass only for its constructor, which scikit-learn reads the settings from.
@dataclass(eq=False, repr=False)
class NetworkClassifier(Published, CrowdClassifier):
    """A network, its training and its predictions."""

    network: Any = "mlp"
    _: KW_ONLY
    scaling: str = "auto"
    batch_size: int = BATCH
    max_epochs: int | None = None
    tol: float | int | None = 1e-3
    time_limit: float | int | None = None
    learning_rate: float | int = 1e-3
    held_out: float | int = 0.1
    temperature: str | None = "auto"
    dependence: float | int | str | None = "learn"
    random_state: Any = 0
    progress: bool | None = None

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
        one_of(self.scaling, SCALINGS, "scaling")
        one_of(self.temperature, ("auto", None), "temperature")
        whole_number(self.batch_size, "batch_size")
        wanted = "a number, at least 0"
        number(self.learning_rate, "learning_rate", wanted, lambda v: 0 <= v < np.inf)
        wanted = "at least 0 and below 1"
        number(self.held_out, "held_out", wanted, lambda v: 0 <= v < 1)
        if self.max_epochs is not None:
            whole_number(self.max_epochs, "max_epochs")
        if self.tol is not None:
            number(self.tol, "tol", "at least 0, or None", lambda v: v >= 0)
        if self.time_limit is not None:
            wanted = "seconds above 0, or None"
            number(self.time_limit, "time_limit", wanted, lambda v: v > 0)

    # -- what fit/deep.py asks for --------------------------------------------------

    def _seed(self) -> int:
        return int(random_numbers(self.random_state).randint(2**31 - 1))

    def _layer_rate(self) -> float:
        return float(self.learning_rate)

    def _schedule(self, n_items: int) -> Schedule:
        # Plain numbers: a grid's are NumPy's.
        batch = min(int(self.batch_size), n_items)
        passes = self.max_epochs
        if passes is None:
            passes = max(DEFAULT_PASSES, -(-MIN_STEPS * batch // n_items))
        return Schedule.of(
            n_items,
            batch,
            max(1, int(passes) * n_items // batch),
            tol=None if self.tol is None else float(self.tol),
            time_limit=None if self.time_limit is None else float(self.time_limit),
            cool_down=COOL_DOWN,
        )

    # -- the end of a fit -----------------------------------------------------------

    def _temperature(
        self, log_proba: Float[np.ndarray, "H C"], evidence: Float[np.ndarray, "H C"]
    ) -> float:
        """Return the temperature, from predictions and answers of held-out items."""
        if self.temperature is None:
            return 1.0
        return fitted_temperature(log_proba, evidence)

    def _predict_proba(self, X: Array) -> Array:
        return np.exp(self.network_.log_proba(X))


@dataclass(eq=False, repr=False, kw_only=True)
class LayerClassifier(NetworkClassifier):
    """A network whose annotators are a layer, learned by Adam too."""

    annotator_l2: float | int = 0.5
    annotator_rate: float | int = 0.03

    def _check_settings(self) -> None:
        super()._check_settings()
        wanted = "a number, at least 0 and at most 1e6"  # with more, 32 bits overflow
        for name in ("annotator_l2", "annotator_rate"):
            number(getattr(self, name), name, wanted, lambda v: 0 <= v <= 1e6)

    def _layer_rate(self) -> float:
        return float(self.annotator_rate)

    def _trained(
        self, X: Array, annotations: Annotations, layer: Any, strength: float
    ) -> tuple[Any, Answers, Trace]:
        """Return what training leaves, the answers in its order, and the trace."""
        from wisecrowd.fit.deep import Recipe, trained
        from wisecrowd.fit.flat_answers import ordered, room_for
        from wisecrowd.maths.deep.layers import Strength
        from wisecrowd.methods.deep.answers import FlatAnswers

        answers, gold = ordered(annotations.codes), annotations.gold_codes
        prior = float(self.annotator_l2) / max(len(answers), 1)

        def recipe(train: Int[np.ndarray, " n"], batch_size: int) -> Recipe:
            rows = FlatAnswers(answers, gold, room_for(answers, train, batch_size))
            # 32 bits, and not part of what is compiled.
            strengths = Strength(np.float32(prior), np.float32(strength))
            return Recipe(layer, rows, strengths)

        found, trace = trained(self, X, answers, gold, recipe)
        return found, answers, trace
