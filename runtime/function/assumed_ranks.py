"""Calls whose trace assumes ranks of results of Python functions (`runtime.ops.host_functions`).

The first call finds the ranks. If the trace fails, perhaps because it assumes another rank, that call runs eagerly. If
the run finds another rank, the function is traced and run again; Python functions that have been called are not called
again. Either way effects happen once, and later calls are traced with the ranks that were found.
"""
from __future__ import annotations

from typing import Any, Final

from runtime.core.graph import Graph
from runtime.core.trace import current_graph
from runtime.function.until_error import can_run_again, raised
from runtime.ops.host_functions import ranks

__all__ = ["runs_again", "with_ranks_found"]


def with_ranks_found(function: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call of an `rt.function`, outside of a trace."""
    if current_graph() is not None:
        return function._computed(call, args, kwargs)
    before, log = (ranks.assumed, ranks.log), list[Any]()
    ranks.assumed, ranks.log = [], log  # no context manager, whose time each call would take
    try:
        return function._computed(call, args, kwargs)
    except Exception as error:
        if not ranks.are_assumed():
            raise
        if raised.in_trace(error):
            return _eagerly(function, args, kwargs, error)
        concrete = raised.concrete if raised.error is error else None
        again, learned = runs_again(call, error), ranks.learn(error)
        if concrete is None or not learned:
            raise
        function._discard(concrete)
        if not (again and ranks.log is log and _can_repeat(concrete.graph)):
            raise
    finally:
        ranks.assumed, ranks.log = before
    with ranks.replaying(log):
        return with_ranks_found(function, call, args, kwargs)


def runs_again(call: Any, error: BaseException) -> bool:
    """Whether the run of a call found another rank, and its trace has changed no object, so that what Python functions
    have changed may stay."""
    return getattr(error, "found_rank", None) is not None and not call.changed


_REPLAYED: Final = frozenset(("numpy_function", "py_function"))


def _can_repeat(graph: Graph) -> bool:
    """Whether a graph has no effect but calls of Python functions."""
    return can_run_again(graph, but=_REPLAYED) and all(node.op.name != "print" for node in graph.walk())


def _eagerly(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """The result of an eager call after a trace has failed with `error`, which is raised if all ranks are as it
    assumed."""
    known = dict(ranks.known)
    with ranks.learning():
        result = function._bound(function.python_function)(*args, **kwargs)
    if ranks.known == known:
        raise error
    return result
