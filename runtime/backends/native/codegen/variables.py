"""Variables of a graph, by identity."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runtime.core.graph import Graph, Node
from runtime.core.types import TensorType

__all__ = ["ASSIGN", "Variable", "changes_any", "variables_of"]

ASSIGN: Final = ("assign_variable", "accumulate_variable")
_END: Final = ("raise", "raise_unless", "reraise")


class Variable:
    """A variable, by identity."""

    __slots__ = ("storage",)

    def __init__(self, storage: Any) -> None:
        self.storage = storage

    @property
    def type(self) -> TensorType:
        found: TensorType = self.storage.type
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and other.storage is self.storage

    def __hash__(self) -> int:
        return id(self.storage)


def variables_of(*graphs: Graph, ops: Sequence[str] = ()) -> list[Variable]:
    """The variables that graphs use, in the order of their first use; only by `ops`, if given."""
    found: dict[Variable, None] = {}
    for graph in graphs:
        for node in graph.walk():
            if "variable" in node.params and (not ops or node.op.name in ops):
                found.setdefault(Variable(node.params["variable"]))
    return list(found)


def changes_any(node: Node) -> bool:
    """Whether the node runs Python code that may change any variable."""
    name = node.op.name
    streams = name.startswith("iterator_") or node.params.get("stream") is not None
    return streams or (node.op.foreign and name not in _END)
