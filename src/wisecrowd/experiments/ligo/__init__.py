"""Section 4.3 of the paper: LIGO, Gaussian processes and networks."""

from functools import partial

from wisecrowd.experiments.ligo.figures import (
    draw_matrices,
    draw_predictions,
    draw_times,
)
from wisecrowd.experiments.ligo.fits import KINDS, NAME, jobs
from wisecrowd.experiments.ligo.paper import METHODS
from wisecrowd.experiments.ligo.tables import summary, table_4, table_5
from wisecrowd.experiments.parts import Experiment, Part

ABOUT = """\
Data: `simulate_glitches`.
"""

PARTS = (
    Part("ligo-summary", "All scores", summary),
    Part("ligo-accuracy", "Table 4: accuracy per class", table_4),
    Part("ligo-likelihood", "Table 5: mean likelihood per class", table_5),
    Part("ligo-times", "Figure 12: training and test times", draw_times),
    *(
        Part(f"ligo-{what}-{kind}", f"{title} ({kind})", partial(draw, kind=kind))
        for what, title, draw in (
            ("predictions", "Figure 13: predictions of four items", draw_predictions),
            ("matrices", "Figure 14: matrices of five volunteers", draw_matrices),
        )
        for kind in KINDS
    ),
)

EXPERIMENT = Experiment(
    name=NAME,
    title="LIGO: Gaussian processes and networks",
    about=ABOUT,
    methods=METHODS,
    jobs=jobs,
    parts=PARTS,
)
