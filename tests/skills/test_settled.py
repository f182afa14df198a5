import numpy as np
from numpy.testing import assert_array_equal

from wisecrowd.skills.settled import Settled


def test_settled_labels_are_the_evidence_of_items_with_answers(drawn):
    log_proba = np.log(drawn.proba)
    said = Settled(log_proba).evidence(drawn.answers)
    answered = np.isin(np.arange(len(log_proba)), drawn.rows[0])
    assert 0 < answered.sum() < len(answered)
    assert_array_equal(said[answered], log_proba[answered])
    assert_array_equal(said[~answered], 0.0)


def test_settled_labels_learn_nothing(drawn):
    settled = Settled(np.log(drawn.proba))
    statistics = settled.statistics(drawn.answers, drawn.proba)
    assert statistics.size == 0
    assert settled.updated(statistics) is settled
    assert settled.divergence() == settled.log_hyperprior() == 0.0


def test_settled_labels_of_some_items_are_theirs(drawn):
    log_proba = np.log(drawn.proba)
    some = Settled(log_proba).of_items(np.array([4, 1]))
    assert_array_equal(some.log_proba, log_proba[[4, 1]])
