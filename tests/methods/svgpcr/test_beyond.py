"""Features beyond memory: the fit of the same rows in memory, or one as good."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd import blocks
from wisecrowd.io import beyond

N, D = 90, 2
SETTINGS = {"n_inducing": 6, "batch_size": 30, "max_epochs": 40}


@pytest.fixture(scope="module")
def crowd():
    return wc.simulate(
        N, 7, 3, answers_per_item=4, accuracy=0.85, n_features=D, separation=8.0,
        random_state=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def path(crowd, tmp_path_factory):
    path = tmp_path_factory.mktemp("beyond") / "x.npy"
    np.save(path, crowd.X)
    return path


@pytest.fixture(scope="module")
def in_memory(crowd):
    return wc.SVGPCR(**SETTINGS).fit(crowd.X, crowd.answers)


@pytest.fixture
def in_small_blocks(monkeypatch):
    """Blocks of seven items, all in one window."""
    monkeypatch.setattr(beyond, "BLOCK", 7 * D * 4)


@pytest.mark.usefixtures("in_small_blocks")
def test_a_file_in_one_window_gives_the_fit_of_the_array(crowd, path, in_memory):
    X = wc.features(path)
    assert len(X.parts) == 13
    model = wc.SVGPCR(**SETTINGS).fit(X, crowd.answers)
    assert_allclose(model.label_proba_, in_memory.label_proba_, atol=1e-6)
    assert_allclose(model.confusion_, in_memory.confusion_, atol=1e-6)
    want = in_memory.predict_proba(crowd.X)
    assert_allclose(model.predict_proba(X), want, atol=1e-6)
    assert_allclose(
        model.predict_proba(X, crowd.answers),
        in_memory.predict_proba(crowd.X, crowd.answers),
        atol=1e-6,
    )
    wanted = in_memory.latent_moments(crowd.X).var
    assert_allclose(model.latent_moments(X).var, wanted, atol=1e-5)


@pytest.mark.usefixtures("in_small_blocks")
def test_blocks_in_another_order_give_labels_as_good(
    crowd, path, in_memory, monkeypatch
):
    monkeypatch.setattr(blocks, "WINDOW", 3 * 7 * D * 4)
    X = wc.features(path)
    assert X.blocks.together == 3
    model = wc.SVGPCR(**SETTINGS).fit(X, crowd.answers)
    assert (model.labels_ == crowd.truth).mean() >= 0.95
    assert_allclose(model.label_proba_, in_memory.label_proba_, atol=0.1)


@pytest.mark.usefixtures("in_small_blocks")
def test_svgp_learns_and_the_paper_s_inference_learns_from_a_file(crowd, path):
    for model, y in (
        (wc.SVGP(n_inducing=6, batch_size=30, max_epochs=5), crowd.truth),
        (wc.SVGPCR.as_published(6, batch_size=30, max_epochs=5), crowd.answers),
    ):
        want = model.fit(crowd.X, y).predict_proba(crowd.X)
        assert_allclose(model.fit(wc.features(path), y).predict_proba(crowd.X), want,
                        atol=1e-6)  # fmt: skip


def test_items_stay_in_the_order_of_the_file_and_are_joined_by_id(crowd, path):
    names = [f"i{n}" for n in range(N)][::-1]
    y = dict(zip(names, crowd.truth.tolist(), strict=True))
    rows = {name: {"ann": said} for name, said in y.items()}
    X = wc.features(path, ids=names)
    model = wc.SVGP(n_inducing=6, batch_size=30, max_epochs=5).fit(X, rows)
    assert model.items_.tolist() == names
    assert (model.labels_ == crowd.truth).all()


def test_a_checkpoint_knows_the_files_by_size_and_time(crowd, path):
    from wisecrowd.fit.checkpoint import fingerprint

    def of(X):
        return fingerprint(wc.SVGPCR(), X, crowd.answers.codes, np.zeros(N, int))

    before = of(wc.features(path))
    assert of(wc.features(path)) == before
    np.save(path, crowd.X)
    assert of(wc.features(path)) != before


@pytest.mark.parametrize("model", [wc.Raykar(), wc.SVGPCR(kernel="deep"), wc.AggNet()])
def test_what_learns_in_memory_refuses_a_file_in_one_sentence(crowd, path, model):
    with pytest.raises(wc.InputError, match=r"in memory, .*read_features\(path\)"):
        model.fit(wc.features(path), crowd.answers)


def test_every_classifier_predicts_from_a_file(crowd, path):
    model = wc.Raykar().fit(crowd.X, crowd.answers)
    want = model.predict_proba(crowd.X)
    assert_allclose(model.predict_proba(wc.features(path)), want, atol=1e-12)
    right = model.score(crowd.X, crowd.truth)
    assert model.score(wc.features(path), crowd.truth) == right
    with pytest.raises(wc.InputError, match="takes rows out of X"):
        wc.cross_validate(model, wc.features(path), crowd.answers)
    wide = wc.Raykar().fit(crowd.X[:, :1], crowd.answers)
    with pytest.raises(wc.InputError, match=r"2 features per item, .* with 1\."):
        wide.predict_proba(wc.features(path))


def test_a_value_that_is_missing_ends_the_fit_before_the_first_step(crowd, tmp_path):
    X = crowd.X.copy()
    X[41, 1] = np.nan
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(wc.InputError, match=r"nan in row 42, column 1\."):
        wc.SVGPCR(**SETTINGS).fit(wc.features(tmp_path / "x.npy"), crowd.answers)


def test_a_file_that_goes_during_a_fit_ends_it_in_one_sentence(
    crowd, tmp_path, monkeypatch
):
    from wisecrowd.methods.svgpcr import natural

    gone = tmp_path / "x.npy"
    np.save(gone, crowd.X)

    def between(self, state, place):
        gone.unlink(missing_ok=True)
        return state

    monkeypatch.setattr(natural.NaturalTask, "between", between)
    with pytest.raises(wc.InputError, match="is not there any more") as error:
        wc.SVGPCR(**SETTINGS).fit(wc.features(gone), crowd.answers)
    assert "\n" not in str(error.value)
