"""The error for a tensor of another graph than that which is being traced."""
from __future__ import annotations

from typing import Any, Final

from runtime.core.errors import InaccessibleTensorError
from runtime.core.graph import Graph, Value
from runtime.core.tensor import GraphList, GraphTensor

__all__ = ["Replacement", "inaccessible", "is_lost"]


class Replacement:
    """What stands, outside of its graph, for a `value` of it."""

    __slots__ = ()
    value: Value


def is_lost(x: Any) -> bool:
    """Whether `x` is a tensor or list of a graph whose trace has ended, which that trace has left in some object, or
    its replacement. It may be overwritten; a use is an error."""
    kind = type(x)  # not `isinstance`: to read `__class__`, or the `value` of an array as an object, may add nodes
    graph = x.value.graph if kind is GraphTensor or kind is GraphList or issubclass(kind, Replacement) else None
    while graph is not None and not graph.is_over:
        graph = graph.parent
    return graph is not None


def inaccessible(x: GraphTensor | GraphList | Replacement, graph: Graph | None) -> InaccessibleTensorError:
    """The error for a tensor used in `graph`, or (None) outside of all graphs, that belongs to another graph."""
    value = x.value
    position = value.node.position if value.node is not None else None
    made = f"made at {position}" if position is not None else "an input of it"
    here = f"in graph {graph.name!r}" if graph is not None else "outside of it"
    name = f"{value.hint!r} " if value.hint else ""
    error = InaccessibleTensorError(
        f"the tensor {name}({value.type}) belongs to graph {value.graph.name!r} ({made}) and is used {here}",
        remedy="Return it from the function or body that makes it, or keep it in an rt.Variable." + (
            "" if graph is None or value.graph.parent is None else _OBJECTS))
    error.graph, error.made = value.graph, position
    return error


_OBJECTS: Final = (
    " If an object has it that a staged loop or branch stores where None was, give that place an object before; linked"
    " objects cannot grow in a staged loop: keep their parts in lists, and indices in place of references.")
