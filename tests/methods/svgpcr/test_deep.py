"""SVGPCR with a network under its Gaussian process."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import contract
import wisecrowd as wc
from wisecrowd import MLP, SVGP, SVGPCR, Deep, InputError
from wisecrowd.fit.checkpoint import Checkpoint
from wisecrowd.methods.svgpcr import start, train

NETWORK = Deep(MLP(hidden=(6,), dropout=0.2), n_outputs=3)
QUICK = {"n_inducing": 8, "max_epochs": 16, "dependence": 0.1, "kernel": NETWORK}


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(start, "MIN_STEPS", 120)


@pytest.fixture(scope="module")
def data():
    return contract.two_clouds()


@pytest.fixture(scope="module")
def fitted(data):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(start, "MIN_STEPS", 120)
        return SVGPCR(**QUICK).fit(*data[:2])


def test_labels_and_predictions_are_right(fitted, data):
    X, _, truth = data
    assert (fitted.labels_ == truth).mean() > 0.95
    assert (fitted.predict(X) == truth).mean() > 0.95
    gp = fitted.learned_.classifier
    assert gp.inducing.shape == (8, 3)
    assert {w.dtype.name for w in gp.kernel["network"].values()} == {"float32"}
    assert fitted.latent_moments(X).mean.shape == (len(X), 2)
    with pytest.raises(InputError, match="outputs of the network"):
        fitted.inducing_points()


def test_a_saved_model_predicts_the_same(fitted, data, tmp_path):
    wc.save(fitted, tmp_path / "model")
    again = wc.load(tmp_path / "model")
    assert again.kernel == NETWORK
    assert_array_equal(again.predict_proba(data[0]), fitted.predict_proba(data[0]))


@pytest.mark.parametrize(
    "change",
    [
        lambda gp: gp.kernel["network"].pop("0"),
        lambda gp: gp.kernel["network"].update({"1": np.zeros(7, np.float32)}),
        lambda gp: gp.kernel["units"].update(spread=np.zeros((), np.float32)),
        lambda gp: gp.kernel.pop("kernel"),
    ],
    ids=["fewer weights", "another shape", "no spread", "no kernel"],
)
def test_a_file_with_another_network_is_refused(change, fitted, tmp_path):
    gp = fitted.learned_.classifier
    kernel = {name: dict(part) for name, part in gp.kernel.items()}
    other = gp._replace(kernel=kernel)
    change(other)
    model = SVGPCR(**QUICK)
    vars(model).update(vars(fitted))
    model.learned_ = fitted.learned_._replace(classifier=other)
    wc.save(model, tmp_path / "model")
    with pytest.raises(InputError):
        wc.load(tmp_path / "model")


def test_a_fit_that_was_killed_goes_on_where_it_stood(fitted, data, tmp_path):
    path = tmp_path / "run.checkpoint"
    settings = {**QUICK, "checkpoint": path, "checkpoint_seconds": 0, "resume": True}

    def killed(self, run):
        write(self, run)
        if run.step >= 4:
            raise KeyboardInterrupt

    write = Checkpoint.write
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Checkpoint, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            SVGPCR(**settings).fit(*data[:2])
    model = SVGPCR(**settings).fit(*data[:2])
    assert_allclose(model.label_proba_, fitted.label_proba_, atol=1e-6)
    assert not path.exists()
    assert_allclose(
        model.predict_proba(data[0]), fitted.predict_proba(data[0]), atol=1e-6
    )


@pytest.fixture(scope="module")
def of_right_labels(data):
    """From a kernel to predictions, by SVGP: it leaves out no items."""

    def proba(kernel):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(start, "MIN_STEPS", 120)
            model = SVGP(n_inducing=8, max_epochs=16, kernel=kernel)
            return model.fit(data[0], data[2]).predict_proba(data[0])

    return proba


@pytest.fixture(scope="module")
def before(of_right_labels):
    return of_right_labels(NETWORK)


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"network": MLP(hidden=(7,), dropout=0.2)},
        {"kernel": "matern32"},
        {"n_outputs": 2},
        {"pace": 50},
    ],
    ids=lambda other: next(iter(other)),
)
def test_every_setting_of_the_kernel_changes_predictions(
    other, before, of_right_labels
):
    changed = of_right_labels(replace(NETWORK, **other)) - before
    assert np.abs(changed).max() > 1e-4


def test_a_network_that_takes_no_steps_stays_as_it_was_trained(data):
    X, _, truth = data
    still = Deep(NETWORK.network, n_outputs=3, pace=0)
    model = SVGP(n_inducing=8, max_epochs=16, kernel=still).fit(X, truth)
    evidence = np.where(np.eye(2)[truth] > 0, 0.0, -np.inf)
    scaled = model.learned_.classifier.scaling.apply(X, "float32")
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    want = start.trained_network(still, train.InMemory(scaled), evidence, seed)
    got = model.learned_.classifier.kernel["network"]
    for name, value in want["network"].items():
        assert_array_equal(got[name], value)


def test_outputs_begin_with_the_mean_0_and_the_mean_square_1(data):
    X = data[0].astype(np.float32)
    features = train.InMemory(X)
    evidence = np.log(np.where(np.eye(2)[data[2]] > 0, 0.9, 0.1))
    params = start.trained_network(NETWORK, features, evidence, 0)
    out = start.embedded_in_pieces(NETWORK, params, features)
    assert_allclose(out.mean(0), 0, atol=1e-5)
    assert_allclose((out**2).mean(), 1, rtol=1e-5)


@pytest.mark.parametrize(
    "large",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["few items", "many items"],
)
def test_the_network_of_a_fold_has_not_seen_its_answers(large, data, monkeypatch):
    if large:
        monkeypatch.setattr(train, "CROSS_FITTED", 0)
    seen = []
    learned = start.trained_network

    def spy(kernel, features, evidence, seed, **more):
        seen.append((features.n_items, int((np.ptp(evidence, axis=1) > 0).sum())))
        return learned(kernel, features, evidence, seed, **more)

    monkeypatch.setattr(start, "trained_network", spy)
    SVGPCR(**{**QUICK, "max_epochs": 4}).fit(*data[:2])
    n = len(data[0])
    folds = [(n // 2, n // 2)] * 2 if large else [(n, n - n // 3)] * 3
    assert seen == [(n, n), *folds]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_with_useless_features_labels_stay_those_of_bcc(seed, monkeypatch):
    monkeypatch.undo()
    crowd = wc.simulate(300, 10, 3, answers_per_item=3, random_state=seed)
    useless = np.random.default_rng(seed).normal(size=(300, 20))
    model = SVGPCR(kernel="deep", random_state=seed).fit(useless, crowd.answers)
    bcc = wc.BCC().fit(crowd.answers)
    right, wanted = ((m.labels_ == crowd.truth).mean() for m in (model, bcc))
    assert right >= wanted - 0.02
