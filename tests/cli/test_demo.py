"""``wisecrowd demo``: digits from five annotators."""

from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wisecrowd as wc

WORDS = ("SVGPCR, a", "SVGP, on ", "majority ", "Dawid-Ske")


@pytest.fixture
def quick(monkeypatch):
    """The same models with fewer steps, so that the demo takes seconds."""
    # wisecrowd.cli.demo, as a name, is the command of the module.
    demo = import_module("wisecrowd.cli.demo")
    monkeypatch.setattr(demo, "SETTINGS", {"n_inducing": 20, "max_epochs": 20})


@pytest.mark.usefixtures("quick")
def test_the_demo_compares_finds_out_who_is_who_and_leaves_a_run(run, tmp_path):
    result = run("demo", "--out", tmp_path / "demo-run")
    assert result.exit_code == 0, result.output
    rows = {line.strip()[:9]: line.split() for line in result.stdout.splitlines()}
    crowd, gold, votes, skilled = (float(rows[name][-4]) for name in WORDS)
    assert crowd >= gold - 0.01
    assert crowd > votes
    assert 0.5 < skilled < 1
    assert "spammer 1.00" in result.stdout
    assert "adversary 1.00" in result.stdout
    assert type(wc.load(tmp_path / "demo-run")) is wc.SVGPCR
    assert max(map(len, result.stdout.splitlines())) <= 80
    page = (tmp_path / "demo-run/report.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") > 100


def test_a_digit_is_drawn_as_a_picture(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not there")
    grey = np.arange(6.0).reshape(2, 3) * 51
    (tmp_path / "a.png").write_bytes(import_module("wisecrowd.cli.demo")._png(grey))
    assert_allclose(pyplot.imread(tmp_path / "a.png"), grey / 255)
