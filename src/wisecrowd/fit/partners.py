"""Four verbs for processes that share the work: rank, size, sum, broadcast.

An algorithm that knows no more than these runs alone, on the cores of one machine and
on a cluster. What is compiled can sum over the processes too: :meth:`OverJax.run` runs
it with arrays of :meth:`OverJax.everywhere` and :meth:`OverJax.divided`.
"""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from wisecrowd._checks import InputError

DIED = "a process that shares the work has died, so the others end too."
AGAIN = "Run the same command again; the run folder has no new model."


class PartnerDied(InputError):
    """A process that shares the work has died, and all others end."""

    def __init__(self, advice: str = AGAIN) -> None:
        super().__init__(f"{DIED} {advice}")


AXIS = "process"  # of the mesh, which has one device of every process
Tree = TypeVar("Tree")


@runtime_checkable
class Partners(Protocol):
    """The processes of a run, as one of them sees them."""

    rank: int
    size: int

    def sum(self, tree: Tree) -> Tree:
        """Return the sum of what all processes hand in: arrays in a dict or tuple."""

    def broadcast(self, tree: Tree) -> Tree:
        """Return what the first process hands in, of the same types."""


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


_now: ContextVar[Partners] = ContextVar("partners", default=Alone())  # noqa: B039  (has no state)


def partners() -> Partners:
    """Return the processes that share the fit: this one alone, if nobody said so."""
    return _now.get()


@contextmanager
def shared_by(others: Partners) -> Iterator[None]:
    """Share the fits in this block with other processes, which begin them too.

    All of them are given the same answers, features and settings. What is learned is
    the same in all.
    """
    before = _now.set(others)
    try:
        yield
    finally:
        _now.reset(before)


def own_share(who: Partners, n: int, unit: int = 1) -> slice:
    """Return which of n things one of the processes has: whole units in a row.

    Examples
    --------
    >>> own_share(Alone(), 10, 4)
    slice(0, 10, None)
    """
    n_units = -(-n // unit)
    ends = (unit * (rank * n_units // who.size) for rank in (who.rank, who.rank + 1))
    return slice(*(min(n, end) for end in ends))


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
        if address is not None and rank == 0:
            _check_port(address)
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
        self.mesh = jax.sharding.Mesh(np.array(jax.devices()), (AXIS,))
        places, nowhere = (jax.sharding.PartitionSpec(*own) for own in ([AXIS], []))
        add = partial(jax.lax.psum, axis_name=AXIS)
        self._add = jax.jit(
            jax.shard_map(add, mesh=self.mesh, in_specs=places, out_specs=nowhere)
        )
        with _quiet():  # gloo says on standard output that it is connected
            self.sum(np.zeros(1))

    def sum(self, tree: Any) -> Any:
        """Return the sum of what all processes hand in, in 64 bits."""
        jax = self._jax
        leaves, form = jax.tree.flatten(tree)
        leaves = [np.asarray(leaf, float) for leaf in leaves]
        flat = np.concatenate([leaf.ravel() for leaf in leaves])[None]
        with jax.enable_x64(True):
            found = self.run(self._add, self.divided(flat, 0))[0]
        ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
        parts = zip(np.split(found, ends), leaves, strict=True)
        return jax.tree.unflatten(form, [p.reshape(leaf.shape) for p, leaf in parts])

    def broadcast(self, tree: Any) -> Any:
        """Return what the first process hands in, of the same types."""
        mine = tree if self.rank == 0 else self._jax.tree.map(np.zeros_like, tree)
        return self._jax.tree.map(_typed_as, tree, self.sum(mine))

    def everywhere(self, tree: Any) -> Any:
        """Return arrays that all processes have as one array of all of them."""
        return self._jax.tree.map(lambda leaf: self._placed(leaf, None), tree)

    def divided(self, tree: Any, axis: int) -> Any:
        """Return arrays of which every process has a part, divided along an axis."""
        return self._jax.tree.map(lambda leaf: self._placed(leaf, axis), tree)

    def _placed(self, leaf: Any, axis: int | None) -> Any:
        jax, leaf = self._jax, np.asarray(leaf)
        names: list[str | None] = [None] * leaf.ndim
        shape = list(leaf.shape)
        if axis is not None:
            names[axis], shape[axis] = AXIS, shape[axis] * self.size
        spec = jax.sharding.PartitionSpec(*names)
        where = jax.sharding.NamedSharding(self.mesh, spec)
        return jax.make_array_from_process_local_data(where, leaf, tuple(shape))

    def run(self, function: Callable[..., Any], *given: Any) -> Any:
        """Return what all processes compute together, as arrays of NumPy."""
        jax = self._jax
        try:
            # NumPy's: what is bound to a device is compiled once more elsewhere.
            return jax.tree.map(
                lambda a: np.asarray(a.addressable_data(0)), function(*given)
            )
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            # What failed at once, not in the background, is a ValueError.
            if isinstance(error, ValueError) and "Gloo" not in str(error):
                raise
            raise PartnerDied from None

    def part(self) -> None:
        """Wait until all processes are done: none may leave before the others."""
        self._jax.distributed.shutdown()


def _check_port(address: str) -> None:
    """Refuse a port that another program has: JAX would crash."""
    port = address.rpartition(":")[2]
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("", int(port)))
        except (OSError, ValueError, OverflowError) as error:
            raise InputError(
                f"the first process cannot use the port {port!r} of {address!r} "
                f"({error}). Choose another port, the same in all processes."
            ) from None


def _typed_as(like: Any, found: Any) -> Any:
    """Return a sum in 64 bits as what was handed in: a number, or an array."""
    if isinstance(like, int | float) and not isinstance(like, np.generic):
        return type(like)(found)
    return found.astype(np.asarray(like).dtype)


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
