"""The crowd of the methods that predict each answer by itself: flat rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from wisecrowd.answers import Answers
from wisecrowd.fit.flat_answers import flat_rows
from wisecrowd.maths.deep.crowd_layers import Rows


@dataclass(frozen=True, eq=False)
class FlatAnswers:
    """Answers as they are: see :class:`~wisecrowd.fit.deep.Crowd`.

    Attributes
    ----------
    answers : Answers
        All answers.
    gold : array (N,)
        Codes of the classes known for certain, -1 elsewhere.
    room : int
        Rows that a batch is filled up to.
    """

    answers: Answers
    gold: Int[np.ndarray, " N"]
    room: int
    learns: bool = False

    def start(self) -> tuple[()]:
        """Return nothing: the layer learns it all."""
        return ()

    def given(self, learned: Any, items: Int[np.ndarray, "T B"]) -> Rows:
        """Return the answers on the items."""
        return flat_rows(self.answers, self.gold, items, self.room)

    def after_pass(self, learned: Any, log_proba: Float[np.ndarray, "N C"]) -> Any:
        """Return what there was: nothing is learned between passes."""
        return learned
