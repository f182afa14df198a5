"""Files of every older format are read: tests/saved/version1 was written by 0.1."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc
from wisecrowd.persist.files import VERSION
from wisecrowd.persist.migrations import MIGRATIONS

SAVED = Path(__file__).parent / "saved" / "version1"
EXPECTED = json.loads((SAVED / "expected.json").read_text())


@pytest.fixture(scope="module")
def answers():
    return wc.read_annotations(SAVED / "answers.csv")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_model_of_version_1_answers_as_it_did(name, answers, tmp_path):
    model, wanted = wc.load(SAVED / name), EXPECTED[name]
    assert_allclose(model.label_proba_, wanted["proba"], rtol=1e-12)
    if name in wc.AGGREGATORS:
        found = model.predict_proba(answers)
    else:
        X = np.load(SAVED / "X.npy")
        found = model.predict_proba(X)
    # Batches are in float32: rounding alone moves a probability by some 1e-7.
    assert_allclose(found, wanted["predict"], rtol=1e-6, atol=1e-6)
    if "with_answers" in wanted:
        found = model.predict_proba(X, answers)
        assert_allclose(found, wanted["with_answers"], rtol=1e-6, atol=1e-6)
    if "accuracy" in wanted and name != "glad":  # GLAD's was that of another model
        accuracy = model.annotator_summary()["accuracy"]
        assert_allclose(accuracy, wanted["accuracy"], rtol=1e-9)
    wc.save(model, tmp_path)
    again = wc.load(tmp_path)
    assert_allclose(again.label_proba_, model.label_proba_, rtol=0)


def test_every_older_version_has_a_migration():
    assert sorted(MIGRATIONS) == list(range(1, VERSION))
