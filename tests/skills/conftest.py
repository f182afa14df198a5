"""A crowd as codes, for every part: seven items, five annotators, C = 3, K = 4."""

from typing import NamedTuple

import numpy as np
import pytest

import oracles
from wisecrowd.answers import Answers

N, A, C, K = 7, 5, 3, 4


class Drawn(NamedTuple):
    answers: Answers
    rows: tuple  # item, annotator, answer
    proba: np.ndarray
    rng: np.random.Generator


@pytest.fixture(params=range(4))
def drawn(request):
    made = oracles.drawn_crowd(request.param)
    rows = tuple(made[name] for name in ("item", "annotator", "label"))
    rng = np.random.default_rng(request.param)
    answers = Answers.from_codes(*rows, (N, A, C, K))
    return Drawn(answers, rows, rng.dirichlet(np.ones(C), N), rng)


@pytest.fixture
def parts_add_up():
    """A function: the statistics of shards of items sum to those of all items."""

    def check(skills, drawn):
        whole = skills.statistics(drawn.answers, drawn.proba)
        assert whole.shape == (A, C, K)
        order = drawn.rng.permutation(N)
        shards = [np.sort(order[:2]), np.sort(order[2:3]), np.sort(order[3:])]
        parts = [
            skills.statistics(drawn.answers.of_items(some), drawn.proba[some])
            for some in shards
        ]
        np.testing.assert_allclose(sum(parts), whole, atol=1e-12)
        np.testing.assert_allclose(
            whole, oracles.soft_counts(drawn.proba, *drawn.rows, (A, C, K)), atol=1e-12
        )

    return check
