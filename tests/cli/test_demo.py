"""``wisecrowd demo``: digits from five annotators."""

from importlib import import_module

import pytest

import wisecrowd as wc


@pytest.fixture
def quick(monkeypatch):
    """The same models with fewer steps, so that the demo takes seconds."""
    monkeypatch.setattr("wisecrowd.methods.svgpcr.estimator.MIN_STEPS", 60)
    # wisecrowd.cli.demo, as a name, is the command of the module.
    monkeypatch.setattr(import_module("wisecrowd.cli.demo"), "N_INDUCING", 20)


@pytest.mark.usefixtures("quick")
def test_the_demo_compares_finds_out_who_is_who_and_leaves_a_run(run, tmp_path):
    result = run("demo", "--out", tmp_path / "demo-run")
    assert result.exit_code == 0, result.stderr
    rows = {line.strip()[:9]: line.split() for line in result.stdout.splitlines()}
    crowd, gold = (float(rows[name][-4]) for name in ("SVGPCR, b", "SVGP, on "))
    votes, skilled = (float(rows[name][-4]) for name in ("majority ", "Dawid-Ske"))
    assert crowd >= gold - 0.01
    assert crowd > votes
    assert 0.5 < skilled < 1
    assert "spammer 1.00" in result.stdout
    assert "adversary 1.00" in result.stdout
    assert type(wc.load(tmp_path / "demo-run")) is wc.SVGPCR
    assert max(map(len, result.stdout.splitlines())) <= 80
