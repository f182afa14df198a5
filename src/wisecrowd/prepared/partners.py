"""Four verbs for processes that share the work: rank, size, sum, broadcast.

An algorithm that knows no more than these runs alone, on the cores of one machine and
on a cluster.
"""

from typing import Any, Protocol, TypeVar, runtime_checkable

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
