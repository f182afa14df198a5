"""What must not wait for JAX does not import it: each in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

SAVED = Path(__file__).parent / "saved" / "version1"
FIT = """
import wisecrowd as wc
answers = wc.Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
for name in wc.AGGREGATORS:
    model = wc.METHODS[name]().fit(answers)
    model.annotator_summary(), model.predict_proba(answers), wc.cite(model)
wc.SVGPCR(kernel="matern32", link="robustmax").get_params()
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
LOAD = f"""
import tempfile
import wisecrowd as wc
for name in wc.METHODS:
    model = wc.load({str(SAVED)!r} + "/" + name)  # of an older format
    with tempfile.TemporaryDirectory() as folder:
        wc.save(model, folder)
        again = wc.load(folder)
    again.annotator_summary(), again.label_proba_, again.labels_
"""


@pytest.mark.parametrize(
    "code",
    ["import wisecrowd", FIT, HELP, LOAD],
    ids=["import", "fit", "help", "load"],
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
