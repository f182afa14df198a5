"""Four verbs for processes that share the work: rank, size, sum, broadcast.

An algorithm that knows no more than these runs alone, on the cores of one machine and
on a cluster.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from wisecrowd._checks import InputError

PARTNER_DIED = (
    "a process that shares the work has died, so the others end too. Run the same "
    "command again; the run folder has no new model."
)
Tree = TypeVar("Tree")


@runtime_checkable
class Partners(Protocol):
    """The processes of a run, as one of them sees them."""

    rank: int
    size: int

    def sum(self, tree: Tree) -> Tree:
        """Return the sum of what all processes hand in: arrays in a dict or tuple."""

    def broadcast(self, tree: Tree) -> Tree:
        """Return what the first process hands in."""


class Alone:
    """One process, which has no partner.

    Examples
    --------
    >>> Alone().sum({"n": 3})
    {'n': 3}
    """

    rank, size = 0, 1

    def sum(self, tree: Any) -> Any:
        """Return the same."""
        return tree

    def broadcast(self, tree: Any) -> Any:
        """Return the same."""
        return tree


class OverJax:
    """The processes of JAX's runtime, one device each, which sum with gloo or NCCL.

    The address is host and port of the first process. Without one, JAX finds the
    processes that Slurm, Open MPI or Kubernetes have started.
    """

    def __init__(
        self,
        address: str | None = None,
        size: int | None = None,
        rank: int | None = None,
    ) -> None:
        import jax

        self._jax = jax
        try:
            jax.distributed.initialize(
                address, size, rank, local_device_ids=[0], heartbeat_timeout_seconds=30
            )
        except (RuntimeError, ValueError) as error:
            said = str(error).split("\n", 1)[0]
            raise InputError(
                f"no partners were found to share the work with ({said}). Start all "
                f"processes with srun or mpirun, or here with --processes."
            ) from None
        self.rank, self.size = jax.process_index(), jax.process_count()
        places = jax.sharding.PartitionSpec("process")
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("process",))
        self._mine = jax.sharding.NamedSharding(mesh, places)
        add = partial(jax.lax.psum, axis_name="process")
        nowhere = jax.sharding.PartitionSpec()
        self._add = jax.jit(
            jax.shard_map(add, mesh=mesh, in_specs=places, out_specs=nowhere)
        )
        with _quiet():  # gloo says on standard output that it is connected
            self.sum(np.zeros(1))

    def sum(self, tree: Any) -> Any:
        """Return the sum of what all processes hand in, in 64 bits."""
        jax = self._jax
        leaves, form = jax.tree.flatten(tree)
        leaves = [np.asarray(leaf, float) for leaf in leaves]
        flat = np.concatenate([leaf.ravel() for leaf in leaves])[None]
        shape = self.size, flat.shape[1]
        try:
            with jax.enable_x64(True):
                handed = jax.make_array_from_process_local_data(self._mine, flat, shape)
                found = np.asarray(self._add(handed).addressable_data(0))[0]
        except jax.errors.JaxRuntimeError:
            raise InputError(PARTNER_DIED) from None
        ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
        parts = zip(np.split(found, ends), leaves, strict=True)
        return jax.tree.unflatten(form, [p.reshape(leaf.shape) for p, leaf in parts])

    def broadcast(self, tree: Any) -> Any:
        """Return what the first process hands in, in 64 bits."""
        mine = tree if self.rank == 0 else self._jax.tree.map(np.zeros_like, tree)
        return self.sum(mine)

    def part(self) -> None:
        """Wait until all processes are done: none may leave before the others."""
        self._jax.distributed.shutdown()


@contextmanager
def _quiet() -> Iterator[None]:
    """Send to nowhere what compiled code prints on standard output."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
