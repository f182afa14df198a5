"""Section 4.1 of the paper: MNIST with five simulated annotators."""

from wisecrowd.experiments.mnist import told
from wisecrowd.experiments.mnist.confusion import confusion
from wisecrowd.experiments.mnist.epochs import cost_of_an_epoch
from wisecrowd.experiments.mnist.fits import METHODS, check, jobs
from wisecrowd.experiments.mnist.inducing import inducing_points
from wisecrowd.experiments.mnist.influence import influence_of_m, over_time
from wisecrowd.experiments.mnist.table2 import accuracy, likelihood, summary
from wisecrowd.experiments.mnist.table3 import labels
from wisecrowd.experiments.mnist.wrong_digits import wrong_digits
from wisecrowd.experiments.parts import Experiment, Part

EXPERIMENT = Experiment(
    name="mnist",
    title="MNIST with five simulated annotators",
    about=told.MNIST,
    methods=tuple(METHODS),
    jobs=jobs,
    parts=(
        Part("mnist-scores", "All scores", summary, told.SCORES),
        Part(
            "mnist-table2-accuracy",
            "Table 2: accuracy of new digits",
            accuracy,
            told.ACCURACY,
        ),
        Part(
            "mnist-table2-likelihood",
            "Table 2: likelihood of new digits",
            likelihood,
            told.LIKELIHOOD,
        ),
        Part(
            "mnist-table3",
            "Table 3: labels of the training digits",
            labels,
            told.LABELS,
        ),
        Part(
            "mnist-confusion",
            "Confusion matrices of the annotators",
            confusion,
            told.CONFUSION,
        ),
        Part(
            "mnist-wrong-digits",
            "Digits whose label is wrong",
            wrong_digits,
            told.WRONG_DIGITS,
        ),
        Part(
            "mnist-inducing-points", "Inducing points", inducing_points, told.INDUCING
        ),
        Part("mnist-influence-of-m", "Influence of M", influence_of_m, told.INFLUENCE),
        Part(
            "mnist-over-time",
            "Accuracy against training time",
            over_time,
            told.OVER_TIME,
        ),
        Part("mnist-epochs", "Cost of an epoch", cost_of_an_epoch, told.EPOCHS),
    ),
    check=check,
)
