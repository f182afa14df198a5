import subprocess
import sys

import pytest

FIT = """
import wisecrowd as wc
labels = wc.Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
for name in ("majority-vote", "dawid-skene", "bcc", "glad"):
    wc.METHODS[name]().fit(labels).annotator_summary()
"""
HELP = """
import sys
from wisecrowd.cli import main
sys.argv = ["wisecrowd", "--help"]
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
"""


@pytest.mark.parametrize(
    "code", ["import wisecrowd", FIT, HELP], ids=["import", "fit", "help"]
)
def test_jax_stays_out_of(code):
    check = "\nimport sys; assert 'jax' not in sys.modules, 'jax was imported'"
    done = subprocess.run(
        [sys.executable, "-c", code + check],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_found_and_listed():
    import wisecrowd as wc

    for name in wc.__all__:
        assert getattr(wc, name) is not None
    assert set(wc.__all__) <= set(dir(wc))
    assert {"majority-vote", "dawid-skene", "bcc", "glad"} <= set(wc.METHODS)


def test_a_name_that_is_not_there_is_an_attribute_error_that_names_it():
    import wisecrowd as wc

    with pytest.raises(AttributeError, match="Nonesuch"):
        wc.Nonesuch  # noqa: B018
