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

FIRST, EVERY = 2, 100
"""In each test the first calls of a function are checked, then one of so many."""

_checked = jaxtyping.jaxtyped


class Turn:
    """Which test is running, and whether all its calls are checked."""

    number = 0
    every_call = False


class Calls:
    """How often a function was called.

    A function inside another one is made anew whenever that one is called, and has to
    be decorated anew, which takes longer than a check. So its calls are counted over
    all tests, and not in each.
    """

    def __init__(self, *, inner):
        self.inner, self.seen, self.number = inner, -1, 0

    def is_checked(self):
        """Count one more call; return whether it is one that is checked."""
        if self.seen != Turn.number and not self.inner:
            self.seen, self.number = Turn.number, 0
        self.number += 1
        return self.number <= FIRST or not self.number % EVERY or Turn.every_call


_calls: dict[types.CodeType, Calls] = {}


def sampled(fn=None, *, typechecker=None):
    """Take the place of ``jaxtyped``: check some calls; decorate when first checked."""
    if fn is None:
        return functools.partial(sampled, typechecker=typechecker)
    if isinstance(fn, classmethod | staticmethod):
        return type(fn)(sampled(fn.__func__, typechecker=typechecker))
    if dataclasses.is_dataclass(fn) and "__init__" in vars(fn):
        fn.__init__ = sampled(fn.__init__, typechecker=typechecker)
        return fn
    if not isinstance(fn, types.FunctionType) or inspect.isgeneratorfunction(fn):
        return _checked(fn, typechecker=typechecker)
    calls = _calls.setdefault(fn.__code__, Calls(inner="<locals>" in fn.__qualname__))
    checked = None

    @functools.wraps(fn)
    def some(*args, **kwargs):
        nonlocal checked
        if not calls.is_checked():
            return fn(*args, **kwargs)
        checked = checked or _checked(fn, typechecker=typechecker)
        return checked(*args, **kwargs)

    return some


def install():
    """Before anything imports wisecrowd."""
    jaxtyping.jaxtyped = sampled
