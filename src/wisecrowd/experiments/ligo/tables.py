"""Tables 4 and 5, with the paper's numbers, and all scores over all classes."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from wisecrowd._types import Array
from wisecrowd.experiments.ligo.fits import KINDS, METHODS, largest
from wisecrowd.experiments.parts import cells, mean_and_deviation, short
from wisecrowd.experiments.runner import Rows
from wisecrowd.simulation.glitches.items import CLASSES


def numbers(text: str) -> Float[Array, "R 7 2"]:
    """Return mean and deviation of every class, then of all, for every method."""
    return np.array(text.split(), float).reshape(-1, len(METHODS), 2) / 1e4


# Mean and deviation in units of .0001; a row per class, the last one for all items.
ACCURACY = numbers(
    """
9791   45  9676   63  9732   59  9746   63  9781   75  9720   76  9720   69
9447  237  1666 3335  3243 4001     0    0     0    0  8528  203  8577  171
9737   78  9754   79  9741  135  9826   62  8712 2904  9643   44  9622   52
8704  566  7193  652  8034  660  5272 3502  3681 3705  7261  398  7295  427
8760  634  8749  151  9043  296  9023  203  8007 2673  8844  129  8828  115
7649  802  8639  299  9023  211  9146  174  7912 2638  8864   87  8861  105
8603  742  8603  274  8514  293  8566  279  8354 2785  9150  105  9156  111
9174  354  8835  201  8887  241  9141  274  7048 2366  7941  223  7951  162
2786  294  4167  348  3660  376  3503  297  3622 1213  3977   83  4011   91
8885  676  8591  290  9468  104  9365  179  7417 2476  8438  102  8425  127
5487  730   470 1410   572 1717     0    0     0    0  6649  215  6700  210
9088  492  9497  126  9601  109  9645   53  8657 2886  9600   50  9562   56
8980  400  4433 4437  4426 4452  4440 4444  8093 2702  8953  206  9000  165
9755   57  9932   32  9921   33  9930   18  8915 2971  9899   27  9914   17
9175  236  9359  136  9438  137  9377  230  8122 2712  9166   70  9201   47
8957  227  8886  126  8985  105  8956  104  8355 1919  9184   31  9183   27
"""
)

LIKELIHOOD = numbers(
    """
9781   48  9515   91  9597   76  9649   74  8811 2715  9689   82  9688   75
9416  242  1644 3290  3196 3937   118 4874    67  199  8475  182  8509  156
9709   77  9753   79  9735  123  9777   43  8746 2694  9606   44  9587   55
8626  574  7214  645  8024  684  5276 3503  3651 3541  7266  435  7242  408
8688  679  8752  161  9013  300  8959  190  8022 2457  8788  109  8784  117
7575  799  7249  139  8035  177  8419  207  7966 2434  8851   83  8838   98
8502  786  5808  192  6200  178  6917  242  8378 2571  9125   94  9118  103
9091  402  8109  247  8196  342  8196  244  7062 2146  7919  238  7932  146
2692  285  4123  322  3439  362  3268  275  3686 1012  3959   95  3999   91
8700  665  8565  291  8993  108  8929  117  7435 2260  8384  107  8380  107
5323  664   466 1400   584 1752  4878 8447    67  199  6581  191  6651  198
8716  480  8782  165  8947  196  9416   67  8683 2673  9558   47  9520   57
8823  399  4425 4429  4411 4440  4414 4419  7971 2441  8911  215  8953  176
9738   58  9823   34  9815   24  9863   22  8960 2765  9875   20  9886   14
9167  215  9341  149  9427  141  9388  213  8124 2490  9155   64  9179   46
8871  240  8175  106  8387  113  8528  101  8126 2487  9154   33  9149   27
"""
)

COLUMNS = {  # of the table of all scores, and their digits behind the point
    "accuracy": ("test_accuracy", 4),
    "likelihood": ("test_mean_likelihood", 4),
    "log loss": ("test_log_loss", 4),
    "calibration error": ("test_calibration_error", 4),
    "accuracy, usual items": ("usual_accuracy", 4),
    "their log loss": ("usual_log_loss", 4),
    "training labels": ("label_accuracy", 4),
    "log loss of labels": ("label_log_loss", 4),
    "error of matrices": ("matrix_error", 4),
    "seconds": ("seconds", 0),
    "of the processor": ("processor", 0),
    "test seconds": ("test_seconds", 2),
    "MB": ("megabytes", 0),
}


def _cell(mean: float, deviation: float) -> str:
    return f"{short(mean)} ({short(deviation)})"


def per_class(rows: Rows, score: str, published: Array) -> pd.DataFrame:
    """Return a table with three lines per class: the paper's numbers and ours."""
    frame = largest(rows)
    lines = []
    for c, name in enumerate([*CLASSES, "all"]):
        said = {m: _cell(*published[c, i]) for i, m in enumerate(METHODS)}
        lines.append({"class": name, "": "paper", **said})
        for kind in KINDS:
            some, found = frame[frame["kind"] == kind], {}
            for method in METHODS:
                runs = some[some["method"] == method]
                values = runs[score] if name == "all" else runs[f"{score}_of"].str[c]
                found[method] = mean_and_deviation(values)
            lines.append({"class": "", "": kind, **found})
    return pd.DataFrame(lines)


def table_4(rows: Rows) -> pd.DataFrame:
    """Accuracy per class."""
    return per_class(rows, "test_accuracy", ACCURACY)


def table_5(rows: Rows) -> pd.DataFrame:
    """Mean likelihood per class."""
    return per_class(rows, "test_mean_likelihood", LIKELIHOOD)


def summary(rows: Rows) -> pd.DataFrame:
    """All scores of all methods, over all classes."""
    frame, lines = largest(rows), []
    for i, method in enumerate(METHODS):
        said = {
            "accuracy": _cell(*ACCURACY[-1, i]),
            "likelihood": _cell(*LIKELIHOOD[-1, i]),
        }
        blank = dict.fromkeys(COLUMNS, "")
        lines.append({"method": method, "": "paper", **blank, **said})
        for kind in KINDS:
            runs = frame[(frame["method"] == method) & (frame["kind"] == kind)]
            lines.append({"method": "", "": kind, **cells(runs, COLUMNS)})
    return pd.DataFrame(lines)
