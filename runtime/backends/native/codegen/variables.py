"""Variables of a graph, by identity, and the code that writes them back when a call ends early."""
from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from runtime.backends.native.llvm.builder import Builder
from runtime.core.graph import Graph, Node
from runtime.core.types import TensorType

__all__ = ["ASSIGN", "Variable", "WriteBacks", "changes_any", "variables_of"]

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


class WriteBacks:
    """The blocks that write variables back and leave. Ways out with the same values share one: it is long where there
    are many variables, and many ops may fail."""

    def __init__(self) -> None:
        self._blocks: dict[Hashable, tuple[str, Mapping[Variable, object]]] = {}

    def enter(self, b: Builder, way: Hashable, values: Mapping[Variable, object]) -> bool:
        """Go to the block for these values and that way out; whether it is new, and has to be written."""
        key = b, way, *[(variable, id(value)) for variable, value in values.items()]
        is_new = key not in self._blocks
        if is_new:
            self._blocks[key] = b.label("leave"), values  # which keeps the values, and so their ids
        label, _ = self._blocks[key]
        if is_new:
            b.start(label)
        else:
            b.jump(label)
        return is_new


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
