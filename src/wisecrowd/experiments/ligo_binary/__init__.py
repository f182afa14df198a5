"""Section 4.2 of the paper: "Other" against all other glitches."""

from wisecrowd.experiments.ligo_binary.fits import METHODS, NAME, jobs
from wisecrowd.experiments.ligo_binary.tables import (
    draw_auc,
    draw_times,
    table,
    time_table,
)
from wisecrowd.experiments.parts import Experiment, Part

ABOUT = ""

PARTS = (
    Part("ligo-binary", "AUC of the largest fit", table),
    Part("ligo-binary-auc", "Figure 11: AUC of the largest fit", draw_auc),
    Part("ligo-binary-seconds", "Seconds of a fit", time_table),
    Part("ligo-binary-times", "Figure 10: training time", draw_times),
)

EXPERIMENT = Experiment(
    name=NAME,
    title='LIGO, two classes: "Other" against the rest',
    about=ABOUT,
    methods=METHODS,
    jobs=jobs,
    parts=PARTS,
)
