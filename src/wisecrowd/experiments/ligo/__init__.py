"""Section 4.3 of the paper: LIGO, Gaussian processes and networks."""

from functools import partial

from wisecrowd.experiments.ligo.figures import (
    draw_matrices,
    draw_predictions,
    draw_times,
    draw_trade,
)
from wisecrowd.experiments.ligo.fits import KINDS, METHODS, NAME, jobs
from wisecrowd.experiments.ligo.tables import summary, table_4, table_5
from wisecrowd.experiments.parts import Experiment, Part

PARTS = (
    Part("ligo-summary", "All scores", summary),
    Part("ligo-accuracy", "Table 4: accuracy per class", table_4),
    Part("ligo-likelihood", "Table 5: likelihood per class", table_5),
    Part("ligo-times", "Figure 12: training and test times", draw_times),
    Part("ligo-trade", "Likelihood against log loss", draw_trade),
    *(
        Part(f"{name}-{kind}", f"{title}, {kind}", partial(draw, kind=kind), name)
        for name, title, draw in (
            ("ligo-predictions", "Figure 13: predictions", draw_predictions),
            ("ligo-matrices", "Figure 14: confusion matrices", draw_matrices),
        )
        for kind in KINDS
    ),
)

EXPERIMENT = Experiment(
    name=NAME,
    title="LIGO: Gaussian processes and networks",
    methods=METHODS,
    jobs=jobs,
    parts=PARTS,
)
