"""What SVGPCR learns about features, as plain arrays: loading it needs no JAX."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Inexact
from scipy.special import softmax

from wisecrowd._records import (
    LOG_32,
    NOT_NEGATIVE,
    POSITIVE,
    PROBA,
    WEIGHT,
    Sizes,
    Unfit,
    check_array,
    of_type,
    record,
)  # fmt: skip
from wisecrowd._types import Array
from wisecrowd.maths.pool import bounded_log
from wisecrowd.maths.scaling import Scaling

LEAST_PRECISION = 1e-6
"""Of the whitened inducing values from a file: before any data it is 1."""


@record
class Networks(NamedTuple):
    """Networks with one layer of relu units: E that learned labels, E answers.

    Attributes
    ----------
    inner : array (2 E, D, H)
    inner_bias : array (2 E, H)
        From the features, in the model's units, to the units.
    outer : array (2 E, H, C)
    outer_bias : array (2 E, C)
        From the units to the logits of the classes.
    """

    inner: Annotated[Inexact[Any, "E D H"], WEIGHT]
    inner_bias: Annotated[Inexact[Any, "E H"], WEIGHT]
    outer: Annotated[Inexact[Any, "E H C"], WEIGHT]
    outer_bias: Annotated[Inexact[Any, "E C"], WEIGHT]

    def logits(self, X: Any, kept: Any = 1) -> Any:
        """Return the logits (networks, n, C) of items; `kept` multiplies the units.

        The same for arrays of NumPy, which predict, and of JAX, which learn.
        """
        units = X @ self.inner + self.inner_bias[:, None]
        return (kept * units * (units > 0)) @ self.outer + self.outer_bias[:, None]

    def by_kind(self, X: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "2 E n C"]:
        """Return the probabilities of the classes by networks of labels and answers."""
        logits = self.logits(X.astype(np.float32)).astype(np.float64)
        out: Array = softmax(logits, 2).reshape(2, -1, *logits.shape[1:])
        return out

    def unfit(self, sizes: Sizes) -> str:
        """Return what is wrong with networks from a file."""
        return f"of {len(self.inner)} networks" if len(self.inner) % 2 else ""


@record
class Beside(NamedTuple):
    """Small networks beside a Gaussian process.

    Attributes
    ----------
    networks : Networks
        What those of a kind say is their mean.
    exponents : array (3,)
        Of the process, the networks of labels and those of answers: each alone would
        suit the labels with it.
    reach : float
        The largest distance from the mean of an item that they were learned from, in
        the model's units.
    """

    networks: Networks
    exponents: Annotated[Float[np.ndarray, " 3"], NOT_NEGATIVE]
    reach: Annotated[float, NOT_NEGATIVE]

    def log_proba(
        self, process: Float[np.ndarray, "n C"], X: Float[np.ndarray, "n D"]
    ) -> Float[np.ndarray, "n C"]:
        """Return the mean of what all say, in logs, if the process says this.

        Beyond their reach the networks say less and less, as the process does: they
        would be certain there of what nobody has seen. X is in the model's units.
        """
        distance = np.linalg.norm(X, axis=1, keepdims=True)
        near = np.ones_like(distance)
        np.divide(self.reach, distance, out=near, where=distance > self.reach)
        kinds = self.networks.by_kind(near * X).mean(1)
        parts = [process, *(near * bounded_log(kind) for kind in kinds)]
        return self.mean_of(parts)

    def mean_of(
        self, parts: list[Float[np.ndarray, "n C"]]
    ) -> Float[np.ndarray, "n C"]:
        """Return the mean of the logs, each with its exponent, up to a constant."""
        out: Array = np.tensordot(self.exponents, parts, 1) / len(parts)
        return out


@record
class SparseGP(NamedTuple):
    """A sparse Gaussian process classifier.

    Attributes
    ----------
    shift : array (C, M)
    precision : array (C, M, M)
        Natural parameters of q(w), the whitened inducing values.
    kernel : dict
        The kernel's parameters, logs of what is positive; leading axis 1 or C.
    inducing : array (M, D)
        The inducing points, in the model's units.
    scaling : Scaling
        From the user's units to the model's.
    jitter : float
        What was added to the diagonal, relative to the mean variance.
    epsilon : float
        Of robust max.
    sharpness : float
        The exponent of the predicted probabilities.
    beside : Beside or None
        Networks whose predictions are multiplied with the process's.
    """

    shift: Float[np.ndarray, "C M"]
    precision: Float[np.ndarray, "C M M"]
    kernel: dict[str, Any]
    inducing: Float[np.ndarray, "M G"]  # G: features, or outputs of a network
    scaling: Scaling
    jitter: Annotated[float, PROBA]
    epsilon: Annotated[float, PROBA]
    sharpness: Annotated[float, NOT_NEGATIVE]
    beside: Beside | None = None

    def unfit(self, sizes: Sizes) -> str:
        """Return what is wrong with a process from a file."""
        for name in ("inducing", "shift", "precision"):
            if getattr(self, name).dtype not in (np.float32, np.float64):
                return f"{name} has the type {getattr(self, name).dtype}"
        if not self.precision.size:
            return "precision is empty"
        largest = np.abs(self.precision).max()
        turned = np.swapaxes(self.precision, 1, 2)
        if not np.allclose(self.precision, turned, atol=1e-3 * largest):
            return "precision is not symmetric"
        least = np.linalg.eigvalsh(self.precision.astype(np.float64)).min()
        if least <= max(1e-12 * largest, LEAST_PRECISION):
            return "precision is not of a covariance"
        return ""


# -- the parameters of a kernel from a file -----------------------------------------


def check_kernel(kernel: Any, gp: SparseGP, sizes: Sizes) -> None:
    """Raise `Unfit` if the parameters are not those of the setting `kernel`."""
    if kernel == "deep" or hasattr(kernel, "n_outputs"):
        _check_deep(kernel, gp, sizes)
        return
    check_array(gp.inducing, "inducing", (len(gp.inducing), sizes["D"]))
    _check_plain(kernel, gp.kernel, sizes)


def _check_plain(kernel: Any, params: Any, sizes: Sizes) -> None:
    """Check a kernel without JAX: by its name, or by its parts."""
    needed = {"log_variance"}
    if kernel == "linear+se" or hasattr(kernel, "left"):
        needed = {"left", "right"}
    elif hasattr(kernel, "shape") or (isinstance(kernel, str) and kernel != "linear"):
        needed = {"log_scale", "log_variance"}
    if not isinstance(params, dict) or set(params) != needed:
        raise Unfit("the parameters are not those of the kernel")
    for name, value in params.items():
        if needed == {"left", "right"}:
            part = getattr(kernel, name, "linear" if name == "left" else "se")
            _check_plain(part, value, sizes)
            continue
        shape = np.shape(of_type(value, name, np.ndarray))
        first, rest = shape[:1], shape[1:]
        if first not in ((1,), (sizes["C"],)) or rest not in ((), (sizes["D"],)):
            raise Unfit(f"{name} has the shape {shape}")
        if len(value) != sizes.setdefault("kernels", len(value)):
            raise Unfit(f"{name} is of another number of kernels")
        check_array(value, name, shape, LOG_32)


def _check_deep(kernel: Any, gp: SparseGP, sizes: Sizes) -> None:
    """Check the network under a kernel, and the kernel on its output."""
    from wisecrowd.maths.gp.kernels import as_kernel

    deep: Any = as_kernel(kernel)
    deep.check(sizes["D"])
    expected, found = deep.start(sizes["D"]), gp.kernel
    if not isinstance(found, dict) or found.keys() != expected.keys():
        raise Unfit("the parameters are not those of a kernel with a network")
    for part in ("network", "units"):
        if found[part].keys() != expected[part].keys():
            raise Unfit(f"the parameters do not have the {part} of the kernel")
        for name, value in found[part].items():
            limits = POSITIVE if name == "spread" else WEIGHT
            check_array(value, name, np.shape(expected[part][name]), limits)
    check_array(gp.inducing, "inducing", (len(gp.inducing), deep.n_outputs))
    _check_plain(deep.kernel, found["kernel"], sizes | {"D": deep.n_outputs})
