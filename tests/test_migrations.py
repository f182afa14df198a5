"""Files of every older format are read: tests/saved has some of each.

They were written by development versions of wisecrowd 0.1, fitted on the answers and
features in tests/saved/version1.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd.persist.files import VERSION
from wisecrowd.persist.migrations import MIGRATIONS
from wisecrowd.results.tables import label_table

SAVED = Path(__file__).parent / "saved"
EXPECTED = {
    (version, name): wanted
    for version in range(1, VERSION)
    for name, wanted in json.loads(
        (SAVED / f"version{version}/expected.json").read_text()
    ).items()
}


@pytest.fixture(scope="module")
def answers():
    return wc.read_annotations(SAVED / "version1/answers.csv")


@pytest.mark.parametrize(("version", "name"), sorted(EXPECTED))
def test_a_model_of_an_older_version_answers_as_it_did(
    version, name, answers, tmp_path
):
    model = wc.load(SAVED / f"version{version}" / name)
    wanted = EXPECTED[version, name]
    assert_allclose(model.label_proba_, wanted["proba"], rtol=1e-12)
    if name in wc.AGGREGATORS:
        found = model.predict_proba(answers)
    else:
        X = np.load(SAVED / "version1/X.npy")
        found = model.predict_proba(X)
    # Batches are in float32: rounding alone moves a probability by some 1e-7.
    assert_allclose(found, wanted["predict"], rtol=1e-6, atol=1e-6)
    if "with_answers" in wanted:
        found = model.predict_proba(X, answers)
        assert_allclose(found, wanted["with_answers"], rtol=1e-6, atol=1e-6)
    # GLAD's accuracy was that of another model in version 1.
    if "accuracy" in wanted and (version, name) != (1, "glad"):
        accuracy = model.annotator_summary()["accuracy"]
        assert_allclose(accuracy, wanted["accuracy"], rtol=1e-9)
    wc.save(model, tmp_path)
    again = wc.load(tmp_path)
    assert_allclose(again.label_proba_, model.label_proba_, rtol=0)


@pytest.mark.parametrize("name", ["bcc", "svgpcr"])
def test_models_of_version_2_do_not_know_which_items_are_hard(name, answers):
    model = wc.load(SAVED / "version2" / name)
    assert not hasattr(model, "hard_proba_")
    assert model.hard_share_ > 0
    with pytest.raises(AttributeError, match="must be fitted again"):
        _ = model.decoy_
    assert "hard" not in label_table(model, answers)


def test_models_of_version_3_take_features_as_independent_of_the_answers():
    for name in ("svgpcr", "crowd-em"):
        assert wc.load(SAVED / "version3" / name).learned_.skills.shared == 0


def test_every_older_version_has_a_migration():
    assert sorted(MIGRATIONS) == list(range(1, VERSION))
