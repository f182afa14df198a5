import numpy as np
from numpy.testing import assert_allclose

import oracles
from wisecrowd.maths import temperature

rng = np.random.default_rng(0)


def test_the_likelihood_is_the_oracles():
    log_proba = np.log(rng.dirichlet(np.ones(3), 5))
    evidence = rng.normal(size=(5, 3))
    proba = [oracles.softmaxed(row / 1.7) for row in log_proba]
    want = sum(
        np.log(sum(p[c] * np.exp(e[c]) for c in range(3)))
        for p, e in zip(proba, evidence, strict=True)
    )
    got = temperature.log_likelihood(log_proba, evidence, 1.7)
    assert_allclose(got, want, rtol=1e-12)


def test_a_network_that_is_too_sure_is_mended_by_answers_alone():
    """The classes are drawn from p; the network says p³; annotators are right in .8."""
    logits = rng.normal(size=(4000, 3)) * 1.5
    proba = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    truth = (rng.random((4000, 1)) > proba.cumsum(1)).sum(1)
    said = np.where(rng.random(4000) < 0.8, truth, (truth + 1) % 3)
    evidence = np.log(np.where(np.arange(3) == said[:, None], 0.8, 0.1))
    found = temperature.fitted_temperature(
        temperature.tempered(logits, 1 / 3), evidence
    )
    assert_allclose(found, 3, rtol=0.15)


def test_without_held_out_items_nothing_is_divided():
    assert temperature.fitted_temperature(np.empty((0, 3)), np.empty((0, 3))) == 1
