"""Commands whose work several processes share: how to join, and how to go on."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

import wisecrowd as wc


@contextmanager
def joined(distributed: bool, advice: Callable[[], str] | None = None) -> Iterator[Any]:
    """Be one of the processes that a cluster has started, or the only one.

    If another one dies, `advice` returns what to do.
    """
    from wisecrowd.fit.partners import Alone, OverJax, PartnerDied

    partners: Any = OverJax() if distributed else Alone()
    try:
        yield partners
        if distributed:
            partners.part()
        return
    except wc.InputError as error:
        died = isinstance(error, PartnerDied)
        if not (distributed or died):
            raise
        sentence = str(PartnerDied(advice())) if died and advice else str(error)
    typer.echo(f"error: {sentence}", err=True)
    if distributed:
        os._exit(2)  # at the usual end, JAX would wait for a partner that is dead
    raise typer.Exit(2)


def how_to_go_on(model: Any) -> str:
    """Return how a fit is resumed: the command that was given, with ``--resume``."""
    if getattr(model, "checkpoint", None) is None:
        return (
            "Nothing was kept of this fit: run the same command again. With "
            "--checkpoint FILE, the next one can be resumed."
        )
    if not Path(model.checkpoint).expanduser().exists():
        return "No checkpoint had been written yet: run the same command again."
    more = [] if model.resume else ["--resume"]
    command = shlex.join(["wisecrowd", *sys.argv[1:], *more])
    return f"This resumes the fit from its checkpoint: {command}"
