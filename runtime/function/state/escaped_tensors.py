"""Searches Python objects for values of a graph."""
from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any, Final

from runtime.core.errors import InaccessibleTensorError
from runtime.core.graph import Graph, Node, Value
from runtime.core.inaccessible import Replacement, is_lost
from runtime.core.tensor import EagerList, EagerTensor, GraphList, GraphTensor
from runtime.core.text import Text
from runtime.core.types import TensorType

__all__ = ["ATOMS", "belongs", "closes_over_graph_value", "graph_value_in"]

ATOMS: Final = frozenset({
    int, float, complex, bool, str, bytes, range, type(None), type(Ellipsis), type(NotImplemented), CodeType,
    ModuleType, EagerTensor, EagerList,
})
"""Types of immutable objects without values of a graph."""
_MOST: Final = 100_000  # maximal number of objects to search
_CLOSED: Final = (ModuleType, FrameType, CodeType, TracebackType)


def graph_value_in(value: Any, known: Callable[[Any], bool] = lambda _: False, kind: type[Any] | None = None) -> Any:
    """A GraphTensor or GraphList (or an object of class `kind`) in `value`, at any depth; None if there is none, or
    only such of graphs whose traces have ended.

    Objects for which `known` is true are not searched; neither are modules.
    """
    pending, visited = [value], set[int]()
    while pending and len(visited) < _MOST:
        item = pending.pop()
        if kind is not None:
            if isinstance(item, kind):
                return item
            if isinstance(item, (GraphTensor, GraphList, Value)):
                continue
        if isinstance(item, (GraphTensor, GraphList)):
            if is_lost(item):
                continue
            return item
        if isinstance(item, Value):
            return GraphTensor(item)
        if isinstance(item, Text):
            value = item.values[0]
            return GraphTensor(value) if isinstance(value.type, TensorType) else GraphList(value)
        if type(item) in ATOMS or id(item) in visited or isinstance(item, (*_CLOSED, Graph, Node, Replacement)):
            continue
        visited.add(id(item))
        if item is value or not known(item):
            pending += _parts(item)
    return None


def _parts(item: Any) -> Iterator[Any]:
    if isinstance(item, FunctionType):
        yield from (item.__closure__, item.__defaults__, item.__kwdefaults__, item.__dict__)
    elif isinstance(item, type):
        yield from vars(item).values()
    else:
        yield from (part for part in gc.get_referents(item) if part is not type(item))


def belongs(error: InaccessibleTensorError, graph: Graph) -> bool:
    """Whether the inaccessible tensor belongs to `graph` or to a graph that encloses it."""
    owner = getattr(error, "graph", None)
    return isinstance(owner, Graph) and owner.contains(graph)


def closes_over_graph_value(fn: Any, depth: int = 3) -> bool:
    """Whether a function closes over a value of a graph, directly or through functions that it closes over."""
    fn = getattr(fn, "__func__", fn)
    fn = getattr(fn, "python_function", fn)
    if isinstance(fn, functools.partial):
        return any(isinstance(x, (GraphTensor, GraphList)) for x in (*fn.args, *fn.keywords.values()))
    if not isinstance(fn, FunctionType):
        return False
    for cell in fn.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:
            continue
        if isinstance(content, (GraphTensor, GraphList)):
            return True
        inner = isinstance(content, (FunctionType, MethodType)) or hasattr(type(content), "python_function")
        if inner and depth and closes_over_graph_value(content, depth - 1):
            return True
    return False
