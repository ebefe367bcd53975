"""Functions of the tool that the user's program cannot tell are there: a tracer sees nothing of them, and where the
recursion limit leaves the user's code no room for them, they run all the same.

A trace function is told of each Python function that is entered, so it has to be set aside before, by code in C.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import repeat, starmap
from operator import itemgetter
from types import FunctionType, MethodType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from autograph.core.deep_stack import lower_limit, raise_limit
from autograph.core.tracebacks import prune, shows_internal

__all__ = ["begins_unseen", "resume", "unseen"]

P = ParamSpec("P")
R = TypeVar("R")
_FRAMES = 200
_stop: Callable[[], Any] = partial(sys.settrace, None)
_stops: dict[type, Callable[[], Any]] = {} if shows_internal() else {FunctionType: _stop, MethodType: _stop}
"""By the type of a trace function, what sets it aside. Tracers written in C stay on: coverage tools, which know
which files they are to watch, and cannot be set again by `sys.settrace` without a loss."""
_nothing = partial(bool)
_run: Any = partial.__call__
resume: dict[type, Callable[[Any], Any]] = dict.fromkeys(_stops, sys.settrace)
"""By its type, what sets a trace function again; `id`, which does nothing, for others: a call that needs no frame is
`resume.get(type(tracer), id)(tracer)`."""


def begins_unseen(fn: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
    """`fn`, entered with no trace function on, and given the one that was: it is to `resume` that before it calls
    code of the user's, or at its end. A tracer is never told of a frame that began without it.

    A call gets the next item of `enter`: the iterators, all endless, set the trace function aside and give a partial
    of `fn`. All of that is C.
    """
    kinds = map(type, starmap(sys.gettrace, repeat(())))
    stopped: Any = map(_run, map(_stops.get, kinds, repeat(_nothing)))
    tracers = map(itemgetter(0), zip(starmap(sys.gettrace, repeat(())), stopped))
    enter = map(partial(partial, fn), tracers)
    members = {"__slots__": (), "__doc__": fn.__doc__, "__wrapped__": staticmethod(fn),
               "__call__": property(cast(Any, partial(next, enter)))}
    return cast(Callable[P, R], type(fn.__name__, (), members)())


def unseen(fn: Callable[P, R]) -> Callable[P, R]:
    """`fn`, with no trace function on while it runs. It must be able to begin anew: if it needs more frames than the
    recursion limit leaves, it gets them in a second attempt."""

    def run(tracer: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fn(*args, **kwargs)
        except RecursionError:
            limit = raise_limit(_FRAMES)
            try:
                return fn(*args, **kwargs)
            finally:
                lower_limit(limit)
        except BaseException as error:
            prune(error)
            raise
        finally:
            resume.get(type(tracer), id)(tracer)

    run.__name__, run.__doc__ = fn.__name__, fn.__doc__
    return begins_unseen(run)
