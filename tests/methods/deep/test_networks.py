"""AggNet, crowd layers and CoNAL as wholes; their formulas are in tests/maths/deep."""

from functools import partial

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import contract
import oracles
import wisecrowd as wc
from wisecrowd import AggNet, CoNAL, ConvNet, CrowdLayer, InputError
from wisecrowd.answers import Answers
from wisecrowd.maths.scaling import Scaling
from wisecrowd.methods.deep import crowd_layer
from wisecrowd.skills import CommonConfusions, LayerMatrices, Tally
from wisecrowd.skills.layers import Mixing

KINDS = (AggNet, CrowdLayer, CoNAL)
# The shapes of tests/methods/test_settings.py: compiled once.
QUICK = {"max_epochs": 40, "held_out": 0.35, "batch_size": 20, "progress": False}


@pytest.fixture(scope="module")
def data():
    return contract.two_clouds()


def one_of_three(n_items=300, seed=0, n_answers=2):
    """Three classes, six annotators of whom one guesses, few answers per item."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_items)
    X = 2.5 * np.eye(3)[truth] + rng.normal(size=(n_items, 3))
    skill = np.array([0.9, 0.85, 0.8, 0.7, 0.6, 1 / 3])
    wrong = (truth[:, None] + rng.integers(1, 3, (n_items, 6))) % 3
    y = np.where(rng.random((n_items, 6)) < skill, truth[:, None], wrong)
    for row in y:
        row[rng.permutation(6)[n_answers:]] = -1
    return X, y, truth, skill


# -- what they learn -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_labels_beat_the_votes_and_annotators_are_ranked(kind):
    X, y, truth, skill = one_of_three()
    model = kind(max_epochs=200).fit(X, y)
    votes = wc.MajorityVote().fit(y)
    assert (model.labels_ == truth).mean() > (votes.labels_ == truth).mean() + 0.05
    accuracy = np.diagonal(model.confusion_, axis1=1, axis2=2).mean(1)
    assert np.corrcoef(accuracy, skill)[0, 1] > 0.8


def test_fewer_annotators_than_classes_and_one_answer_per_item_work():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 60)
    X = 3 * np.eye(5)[truth] + rng.normal(size=(60, 5))
    y = np.full((60, 2), -1)
    y[np.arange(60), rng.integers(0, 2, 60)] = truth
    model = AggNet(**QUICK).fit(X, wc.Annotations.from_matrix(y, classes=range(5)))
    assert (model.labels_ == truth).mean() > 0.9
    assert np.isfinite(model.label_proba_).all()


def test_the_labels_of_aggnet_are_its_e_step(data):
    X, y, _ = data
    model = AggNet(**QUICK, annotator_prior=[[5.0, 1.0], [2.0, 7.0]]).fit(X, y)
    log_proba = np.log(model.predict_proba(X))
    again = AggNet(**QUICK, annotator_prior=[[5.0, 1.0], [2.0, 7.0]], temperature=None)
    assert again.fit(X, y).temperature_ == 1
    # The counts of the fit: the answers against the labels, and the prior.
    rows = np.nonzero(y >= 0)
    counts = oracles.soft_counts(model.label_proba_, *rows, y[rows], (3, 2, 2))
    assert_allclose(model.confusion_counts_ - model.annotator_prior_, counts, rtol=1e-6)
    evidence = oracles.evidence_per_item(np.log(model.confusion_), *rows, y[rows], 60)
    want, _ = oracles.normalised(log_proba + evidence)
    assert np.abs(model.label_proba_ - want).max() < 0.1  # by one more E-step


def test_the_labels_of_a_layer_are_prediction_times_answers(data):
    X, y, _ = data
    rows = np.nonzero(y >= 0)
    model = CrowdLayer(**QUICK, dependence=None).fit(X, y)
    log_proba = np.log(model.predict_proba(X))
    evidence = oracles.evidence_per_item(np.log(model.confusion_), *rows, y[rows], 60)
    want, _ = oracles.normalised(log_proba + evidence)
    assert_allclose(model.label_proba_, want, atol=1e-5)
    assert_allclose(model.predict_proba(X, y), want, atol=1e-5)


def test_the_labels_of_conal_use_the_features_of_every_answer(data):
    X, y, _ = data
    model = CoNAL(**QUICK, dependence=None).fit(X, y)
    assert_allclose(model.predict_proba(X, y), model.label_proba_, atol=1e-5)
    assert model.common_confusion_.shape == (2, 2)
    assert ((model.common_share_ > 0.26) & (model.common_share_ < 0.74)).all()
    share = model.common_share_[:, None, None]
    own = model.learned_.skills.own
    want = share * model.common_confusion_ + (1 - share) * own
    assert_allclose(model.confusion_, want)


@pytest.mark.parametrize("kind", KINDS)
def test_gold_teaches_the_network(kind, data):
    """Every annotator says the opposite of what the gold does."""
    X, _, truth = data
    gold = dict(enumerate(truth.tolist()))
    opposite = np.repeat(1 - truth[:, None], 3, 1)
    settings = {**QUICK, "learning_rate": 0.01}
    model = kind(**settings).fit(X, opposite, gold=gold)
    assert (model.predict(X) == truth).mean() > 0.9
    assert model.confusion_[0, 0, 1] > 0.3  # a layer starts from .05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "least"),
    [
        (AggNet, 0.82),
        (CrowdLayer, 0.82),
        (partial(CrowdLayer, regularizer="geometric"), 0.84),
        (partial(CrowdLayer, regularizer="trace"), 0.84),
        (CoNAL, 0.84),
    ],
    ids=["aggnet", "mw", "geometric", "trace", "conal"],
)
def test_labelme_is_learned_with_the_defaults(make, least, data_folder):
    """Mean accuracy on new items of five seeds, majority vote with a network: .814."""
    crowd = wc.datasets.load_labelme()
    found = [
        make(random_state=seed).fit(crowd.X, crowd.answers).predict(crowd.X_test)
        for seed in range(5)
    ]
    assert np.mean(np.array(found) == np.asarray(crowd.gold_test)) >= least


# -- settings --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_time_that_is_up_ends_the_fit(kind, data):
    model = kind(**{**QUICK, "max_epochs": 4000}, tol=None, time_limit=0.3)
    assert model.fit(*data[:2]).trace_.index[-1] < 4000
    assert model.trace_["seconds"].iloc[-1] < 3


def test_tol_stops_a_fit(data):
    settings = {**QUICK, "max_epochs": 400}
    every = AggNet(**settings, tol=None).fit(*data[:2])
    some = AggNet(**settings, tol=1e3).fit(*data[:2])
    assert some.trace_.index[-1] < every.trace_.index[-1]


def test_the_network_with_the_best_bound_is_kept(data):
    """Long after the best step, the held-out answers are worse explained."""
    noise = np.random.default_rng(0).normal(size=(60, 2))
    long = {**QUICK, "max_epochs": 300, "learning_rate": 0.03, "tol": None}
    model = CrowdLayer(**long, temperature=None).fit(noise, data[1])
    bound = model.trace_["bound"]
    assert bound.iloc[-1] < bound.max() - 1
    early = np.abs(np.log(model.predict_proba(noise))).max()
    last = CrowdLayer(**{**long, "held_out": 0}, temperature=None).fit(noise, data[1])
    assert early < np.abs(np.log(last.predict_proba(noise))).max()


def test_a_regularizer_has_a_strength(data):
    X, y, _ = data
    made = [
        CrowdLayer(**QUICK, regularizer="trace", regularizer_strength=strength)
        for strength in (0, 5)
    ]
    weak, strong = (model.fit(X, y).confusion_ for model in made)
    traces = [np.diagonal(c, axis1=1, axis2=2).mean() for c in (weak, strong)]
    assert traces[1] < traces[0] - 0.01
    auto, said = (
        CrowdLayer(**QUICK, regularizer="trace", regularizer_strength=strength)
        for strength in ("auto", crowd_layer.STRENGTH["trace"])
    )
    assert_array_equal(auto.fit(X, y).confusion_, said.fit(X, y).confusion_)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"kind": "mv"}, "kind='mv' is not one of"),
        ({"output": "logits"}, "output='logits' is not one of"),
        ({"kind": "vw", "regularizer": "trace"}, "is for confusion matrices"),
        ({"output": "softmax", "regularizer": "geometric"}, "is for confusion"),
        ({"regularizer_strength": -1}, "regularizer_strength=-1 must be"),
        ({"held_out": 1}, "held_out=1 must be at least 0 and below 1"),
        ({"temperature": "warm"}, "temperature='warm' is not one of"),
        ({"annotator_rate": -1}, "annotator_rate=-1 must be"),
        ({"max_epochs": 0}, "whole number"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused(data, settings, why):
    with pytest.raises(InputError, match=why):
        CrowdLayer(**settings).fit(*data[:2])


def test_steps_that_are_far_too_large_are_refused_with_a_sentence(data):
    with pytest.raises(InputError, match=r"is not finite.*smaller learning_rate"):
        CrowdLayer(**QUICK, learning_rate=1e38).fit(*data[:2])


def test_crowd_layer_as_published_is_the_papers():
    model = CrowdLayer.as_published(kind="vwb")
    want = CrowdLayer(
        kind="vwb", output="softmax", annotator_l2=0.0, annotator_rate=1e-3,
        temperature=None, dependence=None,
    )  # fmt: skip
    assert model.get_params() == want.get_params()


def test_aggnet_as_published_is_the_papers():
    want = AggNet(annotator_prior="flat", temperature=None, dependence=None)
    assert AggNet.as_published().get_params() == want.get_params()


def test_conal_as_published_mixes_activations(data):
    X, y, truth = data
    model = CoNAL.as_published(**{**QUICK, "annotator_rate": 0.03}).fit(X, y)
    assert (model.output, model.annotator_l2, model.temperature_) == ("softmax", 0, 1)
    assert (model.labels_ == truth).mean() > 0.9
    assert_allclose(model.confusion_.sum(2), 1.0, rtol=1e-10)
    skills = model.learned_.skills
    share = skills.mean_share[0]
    mixed = share * np.log(skills.common) + (1 - share) * np.log(skills.own[0])
    want = np.exp(mixed) / np.exp(mixed).sum(1, keepdims=True)
    assert_allclose(model.confusion_[0], want, rtol=1e-10)
    with pytest.raises(InputError, match="output='sum' is not one of"):
        CoNAL(output="sum").fit(X, y)


# -- networks of the user's own -------------------------------------------------------


class Own(eqx.Module):
    weight: jax.Array

    def __call__(self, x, *, key=None):
        return self.weight @ x


def test_a_module_and_a_function_are_learned_but_not_saved(data, tmp_path):
    X, y, truth = data
    given = Own(np.zeros((2, 2)))
    for network in (given, lambda n_features, n_classes, key: given):
        model = AggNet(network=network, **QUICK).fit(X, y)
        assert (model.predict(X) == truth).mean() > 0.8
        assert_array_equal(given.weight, 0)  # it is not changed
        why = "setting network is a .*need a pickle.*network_.weights"
        with pytest.raises(InputError, match=why):
            wc.save(model, tmp_path)


@pytest.mark.parametrize("side", [8, pytest.param(28, marks=pytest.mark.slow)])
def test_images_are_learned_and_saved(side, tmp_path):
    """Bars across or upright, anywhere in the image."""
    rng, n = np.random.default_rng(0), 7 * side + 4  # 60, or 200 to learn from
    truth = rng.integers(0, 2, n + 20)
    images = 0.3 * rng.normal(size=(n + 20, side, side))
    for image, upright in zip(images, truth, strict=True):
        at = rng.integers(1, side - 1)
        image[slice(None) if upright else at, at if upright else slice(None)] += 1
    wrong = rng.random((n + 20, 3)) < 0.2
    y = np.where(wrong, 1 - truth[:, None], truth[:, None])
    spec = ConvNet(shape=(side, side), channels=(4, 4), kernel=3, hidden=16)
    model = CrowdLayer(network=spec, max_epochs=40, learning_rate=0.01)
    model.fit(images[:n].reshape(n, -1), y[:n])
    new = images[n:].reshape(20, -1)
    assert (model.predict(new) == truth[n:]).mean() > 0.85
    wc.save(model, tmp_path)
    back = wc.load(tmp_path)
    assert back.network == spec
    assert_array_equal(back.predict_proba(new), model.predict_proba(new))


# -- the skills ------------------------------------------------------------------------


def test_intervals_are_around_the_matrices_of_the_layer():
    rng = np.random.default_rng(0)
    matrices = rng.dirichlet(np.full(4, 5.0), (3, 2))
    tally = Tally(rng.uniform(10, 50, (3, 2, 4)), np.zeros(3))
    low, high = LayerMatrices(tally, matrices).interval(0.9)
    assert ((low < matrices) & (matrices < high)).all()
    more = Tally(100 * tally.table, np.zeros(3))
    closer = LayerMatrices(more, matrices).interval(0.9)
    assert (closer[1] - closer[0] < high - low).all()


def test_the_share_of_common_confusions_is_the_oracles():
    rng = np.random.default_rng(0)
    names = ("seen", "seen_bias", "item", "item_bias", "annotator")
    shapes = ((2, 4), (4,), (4, 3), (3,), (3, 3))
    params = {n: rng.normal(size=s) for n, s in zip(names, shapes, strict=True)}
    params["matrix"] = rng.normal(size=(3, 2, 4))
    params["common"] = rng.normal(size=(2, 4))
    tables = [
        np.array([[oracles.softmaxed(row) for row in table] for table in some])
        for some in (params["matrix"], params["common"][None])
    ]
    scale = Scaling(np.array([1.0, 0.0]), np.array([2.0, 3.0]))
    skills = CommonConfusions(
        Tally(np.ones((3, 2, 4)), np.zeros(3)),
        tables[1][0],
        tables[0],
        np.full(3, 0.5),
        Mixing(*(params[n] for n in names)),
        scale,
    )
    item, annotator, answer = np.array([[0, 0, 2], [1, 2, 0], [3, 0, 1]])
    answers = Answers.from_codes(item, annotator, answer, (3, 3, 2, 4))
    X = rng.normal(size=(3, 2))
    want = np.zeros((3, 2))
    for n, a, y in zip(item, annotator, answer, strict=True):
        x = (X[n] - scale.centre) / scale.spread
        want[n] += np.log(oracles.conal_given(params, x, a, y))
    assert_allclose(skills.seeing(X).evidence(answers), want, rtol=1e-9)
