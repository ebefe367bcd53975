"""Graphs of routines: their captures, and the error for those that never return."""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from runtime.core.errors import StagingError, locate
from runtime.core.graph import Graph, Value
from runtime.core.op import CAST, Errors
from runtime.core.positions import staging_error, user_position
from runtime.core.pruning import prune as prune_graph
from runtime.core.routine import Routine
from runtime.core.tensor import EagerTensor, GraphList, GraphTensor
from runtime.core.trace import apply, convert_to_tensor, set_outputs, tracing, watchers, watching, wrap
from runtime.core.types import TensorType, Type
from runtime.ops.exceptions import may_catch

__all__ = ["EndlessError", "add_captures", "are_available", "caught_here", "close", "endless", "refuse_caught",
           "too_many"]


class EndlessError(StagingError):
    """A function calls itself with the same arguments while it is traced for them."""


def endless(name: str) -> EndlessError:
    """The error for the function `name`."""
    error = EndlessError(f"{name!r} calls itself again and again: no condition decides whether it does, so this"
                         " recursion has no end", remedy="Let a condition return without the call.")
    locate(error, user_position())
    return error


def too_many(name: str, most: int) -> EndlessError:
    """The error for the function `name`, of which more than `most` calls would be inlined."""
    error = EndlessError(
        f"{name!r} calls itself without end, or more than {most} times, while it is traced: a tensor decides, and each"
        " call has other Python values, or changes objects",
        remedy="Give it tensors for what changes from call to call, return what it changes, or write a loop.")
    locate(error, user_position())
    return error


def caught_here() -> Errors:
    """The errors that enclosing `try` statements catch at this point of the trace."""
    return tuple(kind for watcher in watchers() for kind in getattr(watcher, "kinds", ()))


def refuse_caught(name: str, graph: Graph, kinds: Errors) -> None:
    """StagingError if the graph of a routine that changes lists, arrays or objects may raise an error that is caught:
    their state at the error is known only inside the routine."""
    if kinds and any(may_catch(kind, error) for error in graph.errors for kind in kinds):
        raise staging_error(
            f"{name!r}, which calls itself where a tensor decides, changes lists, arrays or objects, and may raise what"
            " a `try` around this call catches: the graph does not know what they are then",
            "Return what shows that it failed, instead of raising an error.")


def add_captures(captured: list[Any], graph: Graph, others: Collection[Value] = ()) -> bool:
    """Add the tensors and lists that a routine's graph captures, except `others`, to `captured`, which its calls pass.
    Returns whether there were new ones. They are those of the outermost graph that has them, from where other calls
    can pass them, too."""
    passed = {*map(_outermost, others)}
    wanted = Counter(origin for outer, _ in graph.captures if isinstance(outer, Value) and _constant(outer) is None
                     and (origin := _outermost(outer)) not in passed)
    more = [wrap(origin) for origin in (wanted - Counter(map(_value, captured))).elements()]
    captured += more
    return bool(more)


def are_available(captured: Sequence[Any], here: Graph) -> bool:
    """Whether the tensors and lists that calls of a routine pass are available in the graph `here`."""
    values = [x.value for x in captured if isinstance(x, (GraphTensor, GraphList))]
    return all(value.graph.contains(here) and (value.node is None or value.node in value.graph.nodes)
               for value in values)


def close(routine: Routine, graph: Graph, captured: Sequence[Any], results: Sequence[Any]) -> None:
    """Make `graph` that of the routine, with captures turned into inputs, and these results as outputs."""
    constants = [(_constant(outer), inner) for outer, inner in graph.captures]
    inner: dict[Value, list[Value]] = {}
    for outer, value in graph.captures:
        if isinstance(outer, Value):
            inner.setdefault(_outermost(outer), []).append(value)
    with watching(None), tracing(graph):
        set_outputs(graph, [_fit(x, type) for x, type in zip(results, routine.types, strict=True)])
    for x in captured:
        if found := inner.get(_value(x)):
            graph.inputs.append(found.pop(0))
        else:  # only earlier traces captured it
            graph.add_input(x.value.type)
    graph.captures = [(tensor, value) for tensor, value in constants if tensor is not None]
    graph._captured, graph.parent = {}, None
    prune_graph(graph)
    routine.graph = graph


def _fit(x: Any, type: Type) -> Any:
    if not isinstance(type, TensorType):
        return x
    x = convert_to_tensor(x, type.dtype)
    return x if x.type.weak == type.weak else apply(CAST, x, dtype=type.dtype, weak=type.weak)


def _value(x: Any) -> Value:
    found: Value = x.value
    return found


def _outermost(value: Value) -> Value:
    """The value of the outermost graph of which this one is a capture, of a capture and so on; itself if it is none."""
    while isinstance(source := _source(value), Value):
        value = source
    return value


def _source(value: Value) -> Any:
    """What a value of a graph is a capture of; None if it is none."""
    return next((source for source, inner in value.graph.captures if inner is value), None)


def _constant(outer: Any) -> Any:
    """The eager tensor behind a captured value, if it has one that is not differentiable; else None."""
    while isinstance(outer, Value):
        outer = _source(outer)
    return outer if isinstance(outer, EagerTensor) and not (outer.dtype.is_floating or outer.dtype.is_complex) else None
