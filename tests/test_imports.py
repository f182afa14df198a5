"""What must not wait for JAX does not import it: all in one process of its own."""

import subprocess
import sys

CHILD = """
import sys

def nothing_of_jax(after):
    for name in ("jax", "equinox"):
        assert name not in sys.modules, f"{name} was imported by: {{after}}"

import wisecrowd as wc
nothing_of_jax("import")

from wisecrowd.cli import app, main
folder, sys.argv = sys.argv[1], ["wisecrowd", "--help"]
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
nothing_of_jax("help")

answers = wc.Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
for name in wc.AGGREGATORS:
    model = wc.METHODS[name]().fit(answers)
    model.annotator_summary(), model.predict_proba(answers), wc.cite(model)
    wc.save(model, folder + "/" + name)
    wc.load(folder + "/" + name).labels_
X = [[0.0], [1.0], [0.1], [0.9]]
for name in ("crowd-em", "gpep", "raykar", "rffgpcr", "vffgpcr", "vgpcr", "yan"):
    model = wc.METHODS[name]().fit(X, answers)
    wc.save(model, folder + "/" + name)
    wc.load(folder + "/" + name).predict_proba(X)
wc.SVGPCR(kernel="matern32", link="robustmax").get_params()
for kind in (wc.AggNet, wc.CrowdLayer, wc.CoNAL):
    kind(network=wc.MLP(hidden=(5,))).get_params()
nothing_of_jax("fit")

wc.write_annotations(answers, folder + "/answers.csv")
app(["aggregate", folder + "/answers.csv", "-q"], standalone_mode=False)
nothing_of_jax("aggregate")
print("all")
"""


def test_jax_stays_out_of_import_help_aggregating_and_loading(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all\n")
