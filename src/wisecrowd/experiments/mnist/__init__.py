"""Section 4.1 of the paper: MNIST with five simulated annotators.

Numbers are in the tables. A paragraph says where ours can differ from the paper, and
why.
"""

from wisecrowd.experiments.mnist import figures, tables
from wisecrowd.experiments.mnist.fits import METHODS, check, jobs
from wisecrowd.experiments.parts import Experiment, Part

ABOUT = """\
The digits are real, the annotators are simulated as in the paper: five of them answer every digit. Three are right with probability .95, .90 and .80, one guesses, and one
says the next digit with probability .9. The errors of the first three are drawn at random, anew for every seed, so that no run has the very answers of the paper.

| column | what it is |
| --- | --- |
| SVGP on gold | the true classes instead of answers; robust max with epsilon 1e-3, our inference |
| `as_published()` | the paper's model and inference: `SVGPCR.as_published()`, Adam for everything |
| robust max | `SVGPCR(link="robustmax", epsilon=1e-3)`: the paper's link, all else as in our default |
| default | `SVGPCR()`: softmax |
| convolutional kernel | `SVGPCR(kernel=Deep(ConvNet(shape=(28, 28), channels=(8, 16), pool=False)))`: not in the paper |
"""

PARTS = (
    Part("mnist-scores", "All scores", tables.summary, """\
The paper's numbers are those of 60,000 digits and M = 100. Rows with fewer digits check the code, not the paper.

**Steps of Adam.** The published code takes 31,000 steps. `as_published()` takes 3,000 by default, which is not enough for 60,000 digits: with seed 0 and M = 100 it has .930, .923 and 174 wrong labels. So the sizes medium and full
give it 150 passes with the step size .03, 9,000 steps in all with 60,000 digits, which has .972, .959 and 16 wrong labels with the same seed.

The paper gives no deviations, and neither log loss nor calibration error. Seconds are those of the fit by the clock, compilation included, then those of the processor over all threads, which other jobs
disturb less. Test seconds are those of all test digits at once. Megabytes are the peak of the fit above what the process had before.
"""),
    Part("mnist-table2-accuracy", "Table 2: accuracy of new digits", tables.accuracy, """\
Differences of a few thousandths of a class are one to four digits. SVGP on gold is no longer an upper bound once the annotators are known: five answers per digit leave little doubt about its class.
Ours starts from k-means and takes natural gradients, where the paper's code takes Adam; that, and not the model, is what differs most between the columns `as_published()` and robust max.
"""),
    Part("mnist-table2-likelihood", "Table 2: likelihood of new digits", tables.likelihood, """\
The likelihood is the mean probability of the true class, so a method gains by being surer than it should be. Softmax is less sure than robust max by construction: compare it by log loss and calibration error, in the table of all scores.
"""),
    Part("mnist-table3", "Table 3: labels of the training digits", tables.labels, """\
The paper's labels are its q(Z), and so are those of `as_published()`. Ours are made from answers and features by the pool (docs/theory.md), which learns how much correlated answers count.
MNIST's annotators are independent, and the pool has to find that out: where it counts answers for less than they are worth, the probabilities of right labels are lower than they could be.
"""),
    Part("mnist-confusion", "Confusion matrices of the annotators", figures.confusion, """\
The first row is what the answers were drawn from. The paper draws the transpose: its columns are the true classes. Its largest posterior variance of an entry is .0016. With 60,000 answers per annotator a row has about 6,000,
for which the variance of an entry of .5 is .00004. The paper's value is that of about 150 answers. Its Dirichlet parameters are learned by Adam, which moves them slowly from their start: `as_published()` with its 3,000 steps has .0017, too. Ours are counts, in closed form.
"""),
    Part("mnist-wrong-digits", "Digits whose label is wrong", figures.wrong_digits, """\
Orange is the true class. The digits are those, among the digits with a wrong label, whose true class has the largest probability. As in the paper, most of them look like another digit, or three annotators erred at once.
"""),
    Part("mnist-inducing-points", "Inducing points", figures.inducing_points, """\
Each column has inducing points whose largest latent mean is that of the class. They begin at centres of k-means, and the bound moves them. Pixels below 0 and above 1 are drawn as 0 and 1.
"""),
    Part("mnist-influence-of-m", "Influence of M", figures.influence_of_m, """\
Training time is that of the processor over all cores. As in the paper, more inducing points make a better and a slower classifier. The paper shows this as a figure without numbers.
"""),
    Part("mnist-over-time", "Accuracy against training time", figures.over_time, """\
Time is that of the processor over all cores. Each point is a fit of its own with so many passes over the digits, whose step sizes fall in time for its end; the last point of each line is the fit of the tables. The paper draws one long fit per M, looked at while it ran.
"""),
    Part("mnist-epochs", "Cost of an epoch", figures.cost_of_an_epoch, """\
The paper compares a CPU with a GPU. Where JAX finds no GPU, 32 bits stand beside 64. Matrices of inducing points have 64 bits in both. Seconds per epoch are the median time of a step times the number of steps, so that compilation does not count.
"""),
)  # fmt: skip

EXPERIMENT = Experiment(
    name="mnist",
    title="MNIST with five simulated annotators",
    about=ABOUT,
    methods=tuple(METHODS),
    jobs=jobs,
    parts=PARTS,
    check=check,
)
