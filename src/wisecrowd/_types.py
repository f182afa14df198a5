"""Array aliases and the axis letters that every shape in the package uses.

=======  ==============================  =======  ==========================
letter   means                           letter   means
=======  ==============================  =======  ==========================
``N``    items                           ``L``    labels given (annotations)
``B``    items in a batch                ``D``    features
``A``    annotators                      ``M``    inducing points
``C``    true classes                    ``S``    quadrature nodes, samples
``K``    answers (classes first)
=======  ==============================  =======  ==========================

A confusion array is ``[A, C, K]``: annotator, truth, answer; rows sum to one.
"""

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Id: TypeAlias = Hashable
Ids: TypeAlias = Any  # a column of ids: list, array, Series or Index

ItemCodes: TypeAlias = Int[np.ndarray, " L"]
Confusion: TypeAlias = Float[np.ndarray, "A C K"]
ClassProba: TypeAlias = Float[np.ndarray, "N C"]
Gold: TypeAlias = Mapping[Any, Any] | Any  # item -> class: a dict or a Series
