"""Section 4.1 of the paper: MNIST with five simulated annotators."""

from wisecrowd.experiments.mnist.confusion import confusion
from wisecrowd.experiments.mnist.epochs import cost_of_an_epoch
from wisecrowd.experiments.mnist.fits import METHODS, check, jobs
from wisecrowd.experiments.mnist.inducing import inducing_points
from wisecrowd.experiments.mnist.influence import influence_of_m, over_time
from wisecrowd.experiments.mnist.table2 import accuracy, likelihood, summary
from wisecrowd.experiments.mnist.table3 import labels
from wisecrowd.experiments.mnist.wrong_digits import wrong_digits
from wisecrowd.experiments.parts import Experiment, Part

PARTS = (
    Part("mnist-scores", "All scores", summary),
    Part("mnist-table2-accuracy", "Table 2: accuracy of new digits", accuracy),
    Part("mnist-table2-likelihood", "Table 2: likelihood of new digits", likelihood),
    Part("mnist-table3", "Table 3: labels of the training digits", labels),
    Part("mnist-confusion", "Confusion matrices of the annotators", confusion),
    Part("mnist-wrong-digits", "Digits whose label is wrong", wrong_digits),
    Part("mnist-inducing-points", "Inducing points", inducing_points),
    Part("mnist-influence-of-m", "Influence of M", influence_of_m),
    Part("mnist-over-time", "Accuracy against training time", over_time),
    Part("mnist-epochs", "Cost of an epoch", cost_of_an_epoch),
)
EXPERIMENT = Experiment(
    name="mnist",
    title="MNIST with five simulated annotators",
    about="",
    methods=tuple(METHODS),
    jobs=jobs,
    parts=PARTS,
    check=check,
)
