import numpy as np
import pytest

import wisecrowd as wc
from wisecrowd.experiments import ligo_binary
from wisecrowd.experiments.parts import write_part
from wisecrowd.experiments.runner import Job, run

SETTINGS = {"size": "60+60", "limit": 60.0, "smallest": 40}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    grown = ligo_binary.grown
    jobs = [Job("ligo-binary", m, 3, SETTINGS, grown) for m in ("raykar", "yan")]
    return run(jobs, tmp_path_factory.mktemp("binary"), apart=False)


def test_a_method_is_judged_by_its_largest_fit(rows):
    row = rows.frame("ligo-binary").iloc[0]
    assert [fit["n_items"] for fit in row["fits"]] == [40, 60]
    assert row["n_items"] == 60
    assert row["auc"] == row["fits"][-1]["auc"]


def test_a_method_that_is_too_slow_has_fewer_items():
    done = ligo_binary.grown("raykar", 3, size="60+60", limit=1e-9)
    assert done.scores["n_items"] == 0
    assert np.isnan(done.scores["auc"])


def test_the_figures_and_tables_are_written(rows, tmp_path):
    written = [f.name for p in ligo_binary.PARTS for f in write_part(p, rows, tmp_path)]
    assert {"ligo-binary-auc.png", "ligo-binary-times.png"} < set(written)
    assert ligo_binary.table(rows)["items"].tolist() == ["60", "60"]
    assert ligo_binary.times(rows).index.tolist() == [40, 60]


def test_other_is_one_class_and_all_else_the_rest():
    glitches = wc.simulate_glitches((50, 5), random_state=3)
    two = ligo_binary.against_the_rest(glitches.answers)
    other = glitches.answers.classes.tolist().index("Other")
    assert two.classes.tolist() == ["rest", "Other"]
    votes, all_votes = two.codes.votes(), glitches.answers.codes.votes()
    np.testing.assert_array_equal(votes[:, 1], all_votes[:, other])
    np.testing.assert_array_equal(votes.sum(1), all_votes.sum(1))


@pytest.mark.parametrize("name", ["raykar", "rffgpcr"])
def test_as_published_changes_no_prediction_of_the_older_methods(name):
    crowd = wc.simulate(30, 7, 2, n_features=3, random_state=0)
    kind = wc.METHODS[name]
    fitted = [m.fit(crowd.X, crowd.answers) for m in (kind(), kind.as_published())]
    ours, theirs = (model.predict_proba(crowd.X) for model in fitted)
    np.testing.assert_array_equal(ours, theirs)
