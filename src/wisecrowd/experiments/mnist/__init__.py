"""Section 4.1 of the paper: MNIST with five simulated annotators."""

from wisecrowd.experiments.mnist import figures, tables
from wisecrowd.experiments.mnist.fits import METHODS, check, jobs
from wisecrowd.experiments.parts import Experiment, Part

PARTS = (
    Part("mnist-scores", "All scores", tables.summary),
    Part("mnist-table2-accuracy", "Table 2: accuracy of new digits", tables.accuracy),
    Part(
        "mnist-table2-likelihood",
        "Table 2: likelihood of new digits",
        tables.likelihood,
    ),
    Part("mnist-table3", "Table 3: labels of the training digits", tables.labels),
    Part("mnist-confusion", "Confusion matrices of the annotators", figures.confusion),
    Part("mnist-wrong-digits", "Digits whose label is wrong", figures.wrong_digits),
    Part("mnist-inducing-points", "Inducing points", figures.inducing_points),
    Part("mnist-influence-of-m", "Influence of M", figures.influence_of_m),
    Part("mnist-over-time", "Accuracy against training time", figures.over_time),
    Part("mnist-epochs", "Cost of an epoch", figures.cost_of_an_epoch),
)

EXPERIMENT = Experiment(
    name="mnist",
    title="MNIST with five simulated annotators",
    methods=tuple(METHODS),
    jobs=jobs,
    parts=PARTS,
    check=check,
)
