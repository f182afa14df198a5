"""``wisecrowd demo``: digits from five annotators."""

from importlib import import_module

import pytest

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
