"""The experiments: tables and figures of the paper, and those of our documentation.

An experiment is a list of jobs (:mod:`~wisecrowd.experiments.runner`), whose rows are
kept in a file, and of parts (:mod:`~wisecrowd.experiments.parts`): tables and figures
that are made from the rows.
"""

from importlib import import_module
from typing import Any

from wisecrowd._checks import one_of

EXPERIMENTS = ("mnist", "ligo-binary", "ligo", "ligo-tuning")
"""What ``wisecrowd reproduce`` knows, in the order of the paper."""


def experiment(name: str) -> Any:
    """Return the record of an experiment: ``EXPERIMENT`` of its module.

    Examples
    --------
    >>> experiment("mnist").name
    'mnist'
    """
    one_of(name, EXPERIMENTS, "name")
    module = import_module(f"wisecrowd.experiments.{name.replace('-', '_')}")
    return module.EXPERIMENT
