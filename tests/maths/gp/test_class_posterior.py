import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.test_util import check_grads
from numpy.testing import assert_allclose

import oracles
from wisecrowd._checks import InputError
from wisecrowd.maths.gp import class_posterior, links
from wisecrowd.maths.gp.class_posterior import Conditional, Factorised

seeds = st.integers(0, 10**6)
both = pytest.mark.parametrize("family", [Conditional(), Factorised()], ids=str)


def drawn(seed, n_items=5, n_states=4, n_classes=3):
    """States of every item, and evidence with an item that nobody answered."""
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.ones(n_states), n_items)
    log_proba = np.log(rng.dirichlet(np.ones(n_classes), (n_items, n_states)))
    evidence = 3 * rng.normal(size=(n_items, n_classes))
    evidence[0] = 0.0
    return links.States(jnp.asarray(weight), jnp.asarray(log_proba)), jnp.asarray(
        evidence
    )


def is_paper(family):
    """q(Z) q(F), which the oracles call factorised."""
    return family == Factorised()


def by_item(states):
    for weight, table in zip(states.weight, states.log_proba, strict=True):
        yield [(float(w), np.array(row)) for w, row in zip(weight, table, strict=True)]


@both
@given(seeds)
def test_the_terms_are_the_loop_and_sum_to_the_best_bound(family, seed):
    states, evidence = drawn(seed)
    terms = class_posterior.item_terms(family, states, evidence)
    for n, one in enumerate(by_item(states)):
        want = oracles.label_terms(one, evidence[n], is_paper(family))
        assert_allclose([float(term[n]) for term in terms], want, atol=1e-10)
    total = family.best_bound(states, evidence)
    assert_allclose(sum(terms), total, atol=1e-10)


@given(seeds)
def test_the_posterior_given_f_is_never_the_worse_one(seed):
    states, evidence = drawn(seed)
    given_f = Conditional().best_bound(states, evidence)
    apart = Factorised().best_bound(states, evidence)
    assert (given_f >= apart - 1e-12).all()


@both
def test_no_other_posterior_has_a_higher_bound(family):
    states, evidence = drawn(0)
    best = family.best_bound(states, evidence)
    q = np.array(family.proba_by_state(states, evidence))
    rng = np.random.default_rng(1)
    for _ in range(20):
        other = 0.8 * q + 0.2 * rng.dirichlet(np.ones(3), q.shape[:2])
        gain = other * (states.log_proba + evidence[:, None] - np.log(other))
        assert ((np.array(states.weight)[:, :, None] * gain).sum((1, 2)) < best).all()


@both
def test_the_posterior_of_a_label_is_the_average_over_states(family):
    states, evidence = drawn(2)
    got = class_posterior.label_proba(family, states, evidence)
    assert_allclose(got.sum(1), 1.0, rtol=1e-12)
    mean = np.array(links.mean_log_proba(states))
    for n, one in enumerate(by_item(states)):
        want = np.zeros(3)
        for weight, row in one:
            joint = (mean[n] if is_paper(family) else row) + np.array(evidence[n])
            want += weight * oracles.normalised(joint[None])[0][0]
        assert_allclose(got[n], want, rtol=1e-10)


@both
def test_what_gold_rules_out_adds_nothing(family):
    states, evidence = drawn(3)
    known = jnp.asarray([[-jnp.inf, 0.0, -jnp.inf]])
    evidence = jnp.concatenate([evidence[:-1], known])
    terms = class_posterior.item_terms(family, states, evidence)
    assert_allclose(
        class_posterior.label_proba(family, states, evidence)[-1], [0, 1, 0], atol=1e-15
    )
    assert_allclose([float(term[-1]) for term in terms][::2], 0.0, atol=1e-15)
    want = (states.weight[-1] * states.log_proba[-1, :, 1]).sum()
    assert_allclose(terms.features[-1], want)
    slope = jax.grad(
        lambda s: family.best_bound(links.States(states.weight, s), evidence).sum()
    )(states.log_proba)
    assert np.isfinite(slope).all()


def test_an_item_that_nobody_answered_does_not_pull_at_f():
    mean = jnp.asarray([[0.3, -1.0, 0.8]])
    nodes = jnp.asarray(links.normal_nodes(8, 3))

    def gain(mean, var, evidence, family):
        states = links.softmax_states(mean, var, nodes)
        return family.best_bound(states, evidence).sum()

    nothing = jnp.zeros((1, 3))
    slopes = jax.jit(jax.grad(gain, argnums=(0, 1)), static_argnums=3)
    assert_allclose(slopes(mean, mean**2, nothing, Conditional()), 0.0, atol=1e-15)
    apart = slopes(mean, mean**2, nothing, Factorised())
    assert np.abs(np.array(apart)).max() > 1e-3  # the paper's family does pull


@both
def test_gradients_of_the_best_bound(family):
    states, evidence = drawn(4)

    @jax.jit
    def best(weight, log_proba, evidence):
        return family.best_bound(links.States(weight, log_proba), evidence)

    check_grads(best, (*states, evidence), order=1, modes=["rev"])


@both
@pytest.mark.parametrize("link", [links.RobustMax(), links.Softmax(8)], ids=str)
def test_the_slope_of_the_terms_by_f_is_that_of_the_best_bound(family, link):
    rng = np.random.default_rng(6)
    mean, var = (
        jnp.asarray(rng.normal(size=(5, 3))),
        jnp.asarray(rng.gamma(2, 1, (5, 3))),
    )
    evidence = jnp.asarray(3 * rng.normal(size=(5, 3))).at[1, 2].set(-jnp.inf)  # gold

    @jax.jit
    def by_terms(mean, var):
        states = link.states(mean, var, jnp.asarray(0.1))
        return class_posterior.item_terms(family, states, evidence).total.sum()

    @jax.jit
    def by_bound(mean, var):
        states = link.states(mean, var, jnp.asarray(0.1))
        return family.best_bound(states, evidence).sum()

    assert_allclose(by_terms(mean, var), by_bound(mean, var), rtol=1e-12)
    got, want = (
        jax.jit(jax.grad(f, argnums=(0, 1)))(mean, var) for f in (by_terms, by_bound)
    )
    for ours, theirs in zip(got, want, strict=True):
        assert np.abs(np.array(theirs)).max() > 1e-3
        assert_allclose(ours, theirs, atol=1e-12)


def test_a_family_has_a_name_or_is_itself():
    assert class_posterior.as_family("factorised") == Factorised()
    assert class_posterior.as_family(Conditional()) == Conditional()
    with pytest.raises(InputError, match=r"^posterior='paper' is not one of .*\.$"):
        class_posterior.as_family("paper")


@both
def test_agreement_is_the_posterior_of_the_largest(family):
    mean = jnp.asarray([[0.3, -1.0, 0.8], [2.0, 0.0, 0.1]])
    states = links.robust_max_states(mean, jnp.ones((2, 3)), jnp.asarray(0.1))
    _, evidence = drawn(5, n_items=2)
    got = class_posterior.agreement(family, states, evidence)
    q = np.array(family.proba_by_state(states, evidence))
    for n in range(2):
        want = sum(
            float(states.weight[n, i]) * q[n, 0 if is_paper(family) else i, i]
            for i in range(3)
        )
        assert_allclose(got[n], want)
