"""Annotations: who gave which answer about which item, and the gold classes."""

from wisecrowd.annotations.annotations import Annotations, Repeats

__all__ = ["Annotations", "Repeats"]
