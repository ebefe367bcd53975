"""Comprehensions over sets whose items only the graph knows, where the order of these is not observable."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from autograph.backend import Clause, Heap, operators
from runtime.core.errors import IndexOutOfRangeError, InvalidArgumentError, ShapeError
from runtime.core.graph import Node
from runtime.core.object_mode import reached_by_call
from runtime.core.positions import staging_error
from runtime.core.trace import current_graph
from runtime.ops.effects import CHECK_BOUND, RAISE, RAISE_UNLESS
from runtime.ops.variables import READ

__all__ = ["listed_in_any_order", "refuse_order"]

_UNORDERED: Final = (CHECK_BOUND, RAISE, RAISE_UNLESS, READ)
"""Ops with effects that are the same in any order of the items, if all errors are of one class."""
_OF_ANY_LOOP: Final = {IndexOutOfRangeError, InvalidArgumentError, ShapeError}
"""Errors that the ops of a loop over a list declare."""


def refuse_order() -> NoReturn:
    raise staging_error("the order of a set whose items only the graph knows is not that of Python's set",
                        "Use sorted(s); or a dict with the items as keys, which are in the order of their addition.")


def listed_in_any_order(clause: Clause, items: Any) -> Any:
    """The list of what a comprehension over a set computes for its `items`, for uses that do not depend on the order.
    StagingError if what it prints or changes, or may raise, does."""
    graph = current_graph()
    before = 0 if graph is None else len(graph.nodes)
    heap = Heap(reached_by_call(clause.element, (clause.test,), {}))
    made = operators.list_comp(items, *clause[1:])
    if next(iter(heap.changes()), None) is not None or (graph is not None and _has_order(graph.nodes[before:])):
        refuse_order()
    return made


def _has_order(nodes: Sequence[Node]) -> bool:
    """Whether what nodes do depends on the order in which items reach them."""
    errors = {error for node in nodes for error in node.errors} - _OF_ANY_LOOP
    every = (each for node in nodes for each in (node, *(inner for graph in node.subgraphs.values()
                                                         for inner in graph.walk())))
    return len(errors) > 1 or any(
        (node.op.effect and node.op not in _UNORDERED) or node.params.get("stream") is not None for node in every)
