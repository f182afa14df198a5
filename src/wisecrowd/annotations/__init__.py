"""Who answered what about which item: codes, names, gold classes."""

from wisecrowd.annotations.annotations import Annotations, Repeats

__all__ = ["Annotations", "Repeats"]
