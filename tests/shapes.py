"""How often tests check the shapes and types in signatures.

The hook of pyproject.toml decorates every function of wisecrowd. A check costs more
than most calls, and a loop calls the same functions with the same shapes thousands of
times: ``make test`` checks a sample of the calls, ``make test-all`` all of them.
"""

import dataclasses
import functools
import inspect
import types

import jaxtyping

FIRST, EVERY = 4, 100
"""In each test the first calls of a function are checked, then one of so many."""

_checked = jaxtyping.jaxtyped


class Turn:
    """Which test is running, and whether all its calls are checked."""

    number = 0
    every_call = False


def sampled(fn=None, *, typechecker=None):
    """Take the place of ``jaxtyped``: check some calls; decorate when first called."""
    if fn is None:
        return functools.partial(sampled, typechecker=typechecker)
    if isinstance(fn, classmethod | staticmethod):
        return type(fn)(sampled(fn.__func__, typechecker=typechecker))
    if dataclasses.is_dataclass(fn) and "__init__" in vars(fn):
        fn.__init__ = sampled(fn.__init__, typechecker=typechecker)
        return fn
    if not isinstance(fn, types.FunctionType) or inspect.isgeneratorfunction(fn):
        return _checked(fn, typechecker=typechecker)
    seen, calls, checked = -1, 0, None

    @functools.wraps(fn)
    def some(*args, **kwargs):
        nonlocal seen, calls, checked
        if seen != Turn.number:
            seen, calls = Turn.number, 0
        calls += 1
        if calls > FIRST and calls % EVERY and not Turn.every_call:
            return fn(*args, **kwargs)
        checked = checked or _checked(fn, typechecker=typechecker)
        return checked(*args, **kwargs)

    return some


def install():
    """Before anything imports wisecrowd."""
    jaxtyping.jaxtyped = sampled
