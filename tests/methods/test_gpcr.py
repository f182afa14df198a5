"""The loop of VGPCR, RFFGPCR and VFFGPCR; their formulas are in tests/maths/."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

import contract
import oracles
import wisecrowd as wc
from wisecrowd import RFFGPCR, VFFGPCR, VGPCR, Annotations, InputError
from wisecrowd.maths import full_process
from wisecrowd.methods.gpcr import loop, vgpcr

seeds = st.integers(0, 10**6)
N, A, K, D = 6, 4, 3, 2
METHODS = {
    "vgpcr": VGPCR.as_published(),
    "rffgpcr": RFFGPCR.as_published(n_frequencies=5),
    "vffgpcr": VFFGPCR.as_published(n_frequencies=5),
}
each = pytest.mark.parametrize("name", METHODS)


def drawn(seed, n_items=N, n_annotators=A):
    """A small crowd of two classes with an answer that is no class, and features."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, (n_items, n_annotators))
    y[rng.random(y.shape) < 0.2] = -1
    y[:, 0] = rng.integers(0, 2, n_items)  # nobody is without an answer
    names = {"items": range(n_items), "annotators": range(n_annotators)}
    answers = Annotations.from_matrix(y, **names, classes=[0, 1], answers=[2])
    return rng.normal(size=(n_items, D)), answers


def model_of(name, **settings):
    return wc.METHODS[name](**{**METHODS[name].get_params(), **settings})


def rows_of(answers):
    codes = answers.codes
    return codes.item, codes.annotator, codes.answer


# -- the bound ---------------------------------------------------------------------


@each
@given(seeds)
@settings(max_examples=4)
def test_the_bound_never_falls(name, seed):
    model = model_of(name, max_iter=6, tol=None).fit(*drawn(seed, n_items=20))
    bound = model.trace_["bound"].to_numpy()
    assert (np.diff(bound) >= -1e-9 * np.abs(bound[1:])).all()
    assert bound[-1] > bound[0]


@given(seeds)
@settings(max_examples=6)
def test_the_bound_and_the_labels_are_those_of_the_oracle(seed):
    X, answers = drawn(seed)
    prior = np.random.default_rng(seed).uniform(0.5, 3, (A, 2, K))
    fixed = {"learn_kernel": False, "length_scale": 0.8, "variance": 2.0}
    held = {"annotator_prior": prior, "scaling": "none", "tol": None, **fixed}
    before, after = (
        VGPCR.as_published(max_iter=n, **held).fit(X, answers) for n in (2, 3)
    )
    rows = rows_of(answers)
    prior_cov = oracles.covariance_table(X, X, 2.0, 0.8)
    f = full_process.predicted(before.learned_.classifier, prior_cov)
    xi = np.sqrt(f[0] ** 2 + f[1])
    curvature = np.array([(oracles.logistic(x) - 0.5) / (2 * x) for x in xi])
    shift = before.label_proba_[:, 1] - 0.5
    mean, cov = oracles.quadratic_posterior(prior_cov, shift, 2 * curvature)
    counts = prior + oracles.soft_counts(before.label_proba_, *rows, (A, 2, K))
    xi = np.sqrt(mean**2 + np.diagonal(cov))
    q = after.label_proba_[:, 1]
    want = oracles.gpcr_bound(rows, q, mean, cov, xi, counts, prior, prior_cov)
    assert_allclose(after.trace_["bound"].iloc[-1], want, rtol=1e-7)
    # The labels are those of the paper: the mean of f and the expected log skills.
    log_odds = mean.copy()
    for n, a, y in zip(*rows, strict=True):
        no, yes = (oracles.mean_log_row(list(counts[a, c])) for c in range(2))
        log_odds[n] += yes[y] - no[y]
    assert_allclose(q, [oracles.logistic(s) for s in log_odds], atol=1e-9)


def direct_maximum(X, answers, start, variance, scale):
    """The oracle's bound, climbed over every variational parameter at once."""
    n_items, n_annotators = len(X), answers.codes.n_annotators
    rows, shape = rows_of(answers), (n_annotators, 2, K)
    prior_cov = oracles.covariance_table(X, X, variance, scale)
    lower = np.tril_indices(n_items)
    sizes = np.cumsum([n_items, n_items, len(lower[0]), n_items])

    def bound(flat):
        logits, mean, entries, log_xi, log_counts = np.split(flat, sizes)
        factor = np.zeros((n_items, n_items))
        factor[lower] = entries
        q, counts = 1 / (1 + np.exp(-logits)), np.exp(log_counts).reshape(shape)
        parts = mean, factor @ factor.T, np.exp(log_xi), counts
        return -oracles.gpcr_bound(rows, q, *parts, np.ones(shape), prior_cov)

    first = np.concatenate(
        [
            np.log(start + 0.1) - np.log(1.1 - start),
            start - 0.5,
            np.linalg.cholesky(prior_cov)[lower],
            np.zeros(n_items),
            np.zeros(np.prod(shape)),
        ]
    )
    options = {"maxiter": 400, "maxfun": 10**5}
    found = minimize(bound, first, method="L-BFGS-B", options=options)
    return -found.fun, 1 / (1 + np.exp(-found.x[:n_items]))


@pytest.mark.parametrize("seed", [0, 3, 5])  # of 0 to 5, 1 has two maxima
def test_the_loop_arrives_at_the_maximum_over_all_parameters(seed):
    X, answers = drawn(seed, n_items=4, n_annotators=2)
    fixed = {"learn_kernel": False, "length_scale": 1.5, "variance": 2.0}
    model = VGPCR.as_published(scaling="none", tol=1e-12, max_iter=10_000, **fixed).fit(
        X, answers
    )
    votes = oracles.vote_proba(answers.codes.votes(), answers.gold_codes)[:, 1]
    want, q = direct_maximum(X, answers, votes, 2.0, 1.5)
    assert_allclose(model.trace_["bound"].iloc[-1], want, atol=1e-6)
    assert_allclose(model.label_proba_[:, 1], q, atol=1e-3)


@given(seeds)
@settings(max_examples=5)
def test_the_bound_is_at_most_the_log_evidence(seed):
    X, answers = drawn(seed, n_items=3, n_annotators=2)
    model = VGPCR.as_published(scaling="none").fit(X, answers)
    prior_cov = oracles.covariance_table(X, X, model.variance_, model.length_scale_)
    prior_cov += 1e-9 * np.eye(3)
    exact = oracles.gpcr_log_evidence(rows_of(answers), np.ones((2, 2, K)), prior_cov)
    assert model.trace_["bound"].max() <= exact + 1e-6


def test_a_learned_kernel_has_a_higher_bound_than_the_one_it_started_with():
    X, y, _ = contract.two_clouds()
    for name in METHODS:
        start = {"length_scale": 1.0, "tol": 1e-6}
        fixed = model_of(name, learn_kernel=False, **start).fit(X, y)
        learned = model_of(name, **start).fit(X, y)
        assert (fixed.length_scale_, fixed.variance_) == (1.0, 1.0)
        assert learned.trace_["bound"].iloc[-1] > fixed.trace_["bound"].iloc[-1] + 1
        assert learned.length_scale_ != 1.0


def test_the_kernel_stays_within_its_limits():
    rng = np.random.default_rng(0)  # features that say nothing: the variance vanishes
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, (40, 3))
    with np.errstate(all="raise", under="ignore"):
        model = VGPCR.as_published(max_iter=60, tol=None).fit(X, y)
    assert model.variance_ * (1 + 1e-9) >= 1 / loop.LARGEST_VARIANCE
    assert model.variance_ < 1
    assert np.isfinite(model.trace_.to_numpy()).all()


@each
def test_features_that_say_nothing_predict_nothing(name):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 250)
    X, wrong = rng.normal(size=(250, 5)), rng.random((250, 4)) < 0.25
    model = model_of(name).fit(X[:150], (truth[:, None] ^ wrong)[:150])
    predicted = model.predict_proba(X[150:])[:, 1]
    assert np.abs(predicted - 0.5).max() < 0.1
    assert (model.labels_ == truth[:150]).mean() > 0.8  # from the answers


# -- the three methods beside one another ------------------------------------------


def test_random_features_approach_the_full_process():
    X, y, _ = contract.two_clouds()
    fixed = {"learn_kernel": False, "length_scale": 1.0, "variance": 3.0}
    loop_of = {"max_iter": 10, "tol": None, **fixed}
    want = VGPCR.as_published(**loop_of).fit(X, y).predict_proba(X)[:, 1]

    def error(n_frequencies):
        found = [
            RFFGPCR.as_published(
                n_frequencies=n_frequencies, random_state=seed, **loop_of
            )
            .fit(X, y)
            .predict_proba(X)[:, 1]
            for seed in range(6)
        ]
        return np.sqrt(np.mean((np.array(found) - want) ** 2))

    assert 2.5 < error(16) / error(256) < 6.5  # four: one over the square root


def test_without_learning_the_frequencies_vff_is_rff():
    X, y, _ = contract.two_clouds()
    same = {"n_frequencies": 5, "learn_kernel": False, "random_state": 3}
    random, learned = (cls(**same).fit(X, y) for cls in (RFFGPCR, VFFGPCR))
    assert_array_equal(random.label_proba_, learned.label_proba_)
    assert_array_equal(random.frequencies_, learned.frequencies_)


def test_only_vff_moves_its_frequencies():
    X, y, _ = contract.two_clouds()
    start = {"n_frequencies": 5, "random_state": 3, "length_scale": 1.0}
    drawn_ones = np.random.RandomState(3).normal(size=(5, 2))
    random, learned = (cls(**start).fit(X, y) for cls in (RFFGPCR, VFFGPCR))
    assert_allclose(random.frequencies_ * random.length_scale_, drawn_ones)
    moved = learned.frequencies_ * learned.length_scale_ - drawn_ones
    assert np.abs(moved).max() > 0.01
    assert learned.trace_["bound"].iloc[-1] > random.trace_["bound"].iloc[-1]


# -- items and classes -------------------------------------------------------------


@each
def test_an_item_without_answers_changes_nothing_and_is_predicted(name):
    X, y, _ = contract.two_clouds()
    more = np.concatenate([X, X[:3] + 0.5])
    with_them = np.concatenate([y, np.full((3, 3), -1)])
    quick = {"scaling": "none", "max_iter": 3, "tol": None}
    alone = model_of(name, **quick).fit(X, y)
    model = model_of(name, **quick).fit(more, with_them)
    assert_array_equal(model.label_proba_[:60], alone.label_proba_)
    assert_array_equal(model.label_proba_[60:], alone.predict_proba(X[:3] + 0.5))
    assert_array_equal(model.confusion_, alone.confusion_)


@each
def test_an_item_with_gold_and_no_answer_is_learned_from(name):
    X = np.array([[0.0], [1.0], [4.0], [5.0]])
    y = np.array([[0], [-1], [1], [-1]])
    fixed = {"learn_kernel": False, "scaling": "none"}
    model = model_of(name, **fixed)
    free, known = model.fit(X, y).predict_proba(X), None
    known = model_of(name, **fixed).fit(X, y, gold={1: 1, 3: 1}).predict_proba(X)
    assert (known[[1, 3], 1] > free[[1, 3], 1]).all()


@each
def test_more_than_two_classes_are_refused_and_other_methods_named(name):
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"needs two classes.* 3\. .*SVGPCR, Raykar"):
        model_of(name).fit(rng.normal(size=(6, 2)), np.array([0, 1, 2] * 2)[:, None])


def test_more_items_than_memory_can_hold_are_refused_before_they_are_tried():
    n_items = vgpcr.MOST_ITEMS + 1
    with pytest.raises(InputError, match=r"25,001 are more .* RFFGPCR"):
        VGPCR.as_published().fit(np.zeros((n_items, 1)), np.arange(n_items) % 2)
    few = np.full((n_items, 1), -1)
    few[:4, 0] = [0, 1, 0, 1]  # those without an answer do not count
    X = np.arange(n_items)[:, None] % 2
    assert VGPCR.as_published(max_iter=1, tol=None).fit(X, few).labels_.shape == (
        n_items,
    )


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("vgpcr", {"length_scale": 0}),
        ("vgpcr", {"length_scale": "long"}),
        ("vgpcr", {"variance": -1.0}),
        ("rffgpcr", {"n_frequencies": 0}),
        ("vffgpcr", {"n_frequencies": -3}),
        ("vgpcr", {"annotator_prior": "even"}),
        ("vgpcr", {"max_iter": 0}),
    ],
    ids=str,
)
def test_a_setting_that_cannot_be_is_refused(name, wrong):
    X, y, _ = contract.two_clouds(n_items=10)
    with pytest.raises(InputError, match=next(iter(wrong))):
        model_of(name, **wrong).fit(X, y)


@each
def test_answers_at_hand_change_a_prediction(name):
    X, y, _ = contract.two_clouds()
    model = model_of(name).fit(X, y)
    between = np.full((2, 2), 1.5)
    said = model.predict_proba(between, [[0, -1, -1], [1, -1, -1]])[:, 1]
    alone = model.predict_proba(between)[:, 1]
    assert said[0] < alone[0] < said[1]
    odds = said / (1 - said) * (1 - alone) / alone  # the first annotator's own
    want = model.confusion_[0, 1] / model.confusion_[0, 0]
    assert_allclose(odds, want, rtol=1e-9)


# -- recovery ----------------------------------------------------------------------

SENSITIVITY = np.array([0.9, 0.8, 0.7, 0.6, 0.5])  # the last one flips a coin
SPECIFICITY = np.array([0.85, 0.9, 0.65, 0.75, 0.5])


def rings(rng, n_items):
    """A disc inside a ring, with noise."""
    z = rng.integers(0, 2, n_items)
    radius = np.where(z == 1, 0.5, 1.0) + 0.15 * rng.normal(size=n_items)
    angle = rng.uniform(0, 2 * np.pi, n_items)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), z


def checkerboard(rng, n_items):
    X = rng.uniform(-1.5, 1.5, (n_items, 2))
    return X, (np.floor(X).sum(1) % 2).astype(int)


def three_answers(rng, z):
    """Three of five annotators answer each item."""
    said = rng.random((len(z), 5)) < np.where(
        z[:, None] == 1, SENSITIVITY, 1 - SPECIFICITY
    )
    absent = np.argsort(rng.random((len(z), 5)), axis=1) >= 3
    return np.where(absent, -1, said)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [rings, checkerboard])
@pytest.mark.parametrize("name", METHODS)
def test_a_crowd_beats_its_votes_and_its_annotators_are_found(name, shape):
    gains, errors = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        (X, z), (new, truth) = shape(rng, 500), shape(rng, 1000)
        y = three_answers(rng, z)
        model = wc.METHODS[name]().fit(X, y)
        votes = wc.MajorityVote(random_state=0).fit(y).labels_
        trusted = wc.METHODS[name](annotator_prior=[[1e9, 1], [1, 1e9]]).fit(X, votes)
        mine, theirs = (
            roc_auc_score(truth, m.predict_proba(new)[:, 1]) for m in (model, trusted)
        )
        gains.append(mine - theirs)
        found = model.confusion_
        errors += [found[:, 1, 1] - SENSITIVITY, found[:, 0, 0] - SPECIFICITY]
    assert np.mean(gains) > 0
    assert np.mean(np.array(gains) > 0) >= 0.6
    assert np.abs(errors).mean() < 0.05
