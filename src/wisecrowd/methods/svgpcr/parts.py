"""Batches that several processes share, and what a step sums over their parts."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from wisecrowd.fit.partners import AXIS

Result = TypeVar("Result")


class Parts(NamedTuple):
    """Equal parts of a batch, the last one filled up; or, without a mesh, the batch.

    The mesh has one device of every process. `rows` is for NumPy, all else for what is
    compiled over the mesh; of one process, it changes nothing.
    """

    mesh: Any = None
    batch: int = 0  # items of a whole batch

    @property
    def n_own(self) -> int:
        """Items of one part, with those that fill it up."""
        return -(-self.batch // self.mesh.size)

    def rows(self, rows: Int[np.ndarray, "T B"], rank: int) -> Int[np.ndarray, "T b"]:
        """Return the items of one part; what fills it up are copies of an item."""
        n_more = self.n_own * self.mesh.size - self.batch
        full = np.pad(rows, ((0, 0), (0, n_more)), mode="edge")
        return full[:, rank * self.n_own : (rank + 1) * self.n_own]

    @property
    def _first(self) -> Any:
        return self.n_own * jax.lax.axis_index(AXIS)

    def n_items(self, X: Float[Any, "b D"]) -> int:
        """Return how many items the whole batch has."""
        return self.batch if self.mesh else len(X)

    def counted(self, tree: Any) -> Any:
        """Return zero for what fills the part up, in (b, C) arrays."""
        if not self.mesh:
            return tree
        own = self._first + jnp.arange(self.n_own, dtype="int32") < self.batch
        return jax.tree.map(lambda a: jnp.where(own[:, None], a, 0), tree)

    def total(self, tree: Any, dtype: Any) -> Any:
        """Return the sums over all parts, sent in one message in this precision."""
        if not self.mesh:
            return tree
        leaves, form = jax.tree.flatten(tree)
        flat = jnp.concatenate([leaf.ravel().astype(dtype) for leaf in leaves])
        ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
        pairs = zip(jnp.split(jax.lax.psum(flat, AXIS), ends), leaves, strict=True)
        sums = [own.astype(leaf.dtype).reshape(leaf.shape) for own, leaf in pairs]
        return jax.tree.unflatten(form, sums)

    def all(self, true: Any) -> Any:
        """Return whether something is true in all processes: they must go one way."""
        if not self.mesh:
            return true
        return jax.lax.psum(true.astype("int32"), AXIS) == self.mesh.size

    def gathered(self, tree: Any) -> Any:
        """Return whole batches from (T, b, ...) parts, by the sum of tables of zeros.

        On processors, sums are what JAX does best over processes.
        """

        def whole(own: Any) -> Any:
            shape = own.shape[0], self.n_own * self.mesh.size, *own.shape[2:]
            table = jnp.zeros(shape, own.dtype)
            table = jax.lax.dynamic_update_slice_in_dim(table, own, self._first, 1)
            return jax.lax.psum(table, AXIS)[:, : self.batch]

        return jax.tree.map(whole, tree) if self.mesh else tree

    def mapped(self, function: Callable[..., Result]) -> Callable[..., Result]:
        """Return a function of a state, two tables of parts, and two things more.

        What it returns is the same in all processes.
        """
        if not self.mesh:
            return function
        same, parts = (jax.sharding.PartitionSpec(*n) for n in ([], [None, AXIS]))
        specs = (same, parts, parts, same, same)
        over: Any = partial(jax.shard_map, mesh=self.mesh, check_vma=False)
        mapped: Callable[..., Result] = over(function, in_specs=specs, out_specs=same)
        return mapped
