"""The sample of calls whose shapes are checked finds a wrong one."""

import numpy as np
import pytest
from jaxtyping import Float, TypeCheckError

import shapes
from wisecrowd.maths import crowd, dirichlet

ROW = Float[np.ndarray, " K"]


def identity(x: ROW) -> ROW:
    return x


@pytest.fixture
def checked(monkeypatch):
    from beartype import beartype

    monkeypatch.setattr(shapes.Turn, "every_call", False)
    return shapes.sampled(typechecker=beartype)(identity)


def test_the_first_calls_of_a_test_and_some_later_ones_are_checked(checked):
    def refused():
        try:
            checked(np.zeros((2, 2)))
        except TypeCheckError:
            return True
        return False

    found = [n for n in range(1, 3 * shapes.EVERY) if refused()]
    assert found == [*range(1, shapes.FIRST + 1), shapes.EVERY, 2 * shapes.EVERY]
    shapes.Turn.number += 1  # the next test
    assert refused()


def test_every_call_is_checked_where_that_was_asked_for(checked, monkeypatch):
    monkeypatch.setattr(shapes.Turn, "every_call", True)
    for _ in range(2 * shapes.FIRST):
        with pytest.raises(TypeCheckError):
            checked(np.zeros((2, 2)))


def test_the_functions_of_wisecrowd_are_checked():
    with pytest.raises(TypeCheckError):
        dirichlet.mean_log(["no array"])
    with pytest.raises(TypeCheckError):
        crowd.diagonal_prior("two", 2, 4.0, 1.0)
