"""A tape's record of functions being traced: the nodes of their graphs."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from runtime.autodiff.activity import Activity, variables_read
from runtime.autodiff.backward import passes_rows, sweep
from runtime.autodiff.cotangents import Cotangents
from runtime.core.graph import Graph, Node, Value
from runtime.core.tensor import EagerList, EagerTensor, GraphList, GraphTensor
from runtime.core.trace import convert_to_tensor, current_graph, wrap
from runtime.ops.shape import dims
from runtime.ops.sparse import IndexedSlices

__all__ = ["StagedRecord", "chain_of", "origin", "place_after", "slices_or_sum"]


def origin(value: Value) -> Value:
    """The original value of a chain of captures."""
    while value.node is None and value.graph.parent is not None:
        outer = next((outer for outer, inner in value.graph.captures if inner is value), None)
        if outer is None:
            return value
        value = outer
    return value


def chain_of(graph: Graph | None) -> list[Graph]:
    """The graph and the graphs that enclose it, the outermost first."""
    found: list[Graph] = []
    while graph is not None:
        found.append(graph)
        graph = graph.parent
    return found[::-1]


def slices_or_sum(cts: Cotangents, key: Any, x: Any) -> Any:
    """The cotangent of a tensor or variable; None is zero."""
    found = cts.rows(key)
    return cts.get(key) if found is None else IndexedSlices(*found, dims(convert_to_tensor(x)))


class StagedRecord:
    """The intervals of each graph that a tape recorded, the watched values, and nodes added while it did not record.

    A position in a graph is given by the last node before it, since nodes may be inserted between others.
    """

    def __init__(self) -> None:
        self.values: set[Value] = set()
        self.eager: set[int] = set()
        self._begin: dict[Graph, Node | None] = {}
        self._end: dict[Graph, Node | None] = {}
        self._skipped: set[Node] = set()

    def start(self, graph: Graph | None) -> None:
        """Start recording in this graph, those that enclose it and those nested in it."""
        for each in chain_of(graph):
            if each in self._begin:
                self._skipped.update(_after(each, self._end.get(each)))
            else:
                self._begin[each] = each.nodes[-1] if each.nodes else None
        self._end = {}

    def stop(self, graph: Graph | None) -> None:
        """Stop recording."""
        self._end = {each: each.nodes[-1] if each.nodes else None for each in chain_of(graph)}

    def watch(self, x: Any) -> None:
        """Watch a tensor from here on."""
        if isinstance(x, (EagerTensor, EagerList)):
            self.eager.add(id(x))
            return
        value = origin(x.value)
        if value not in self.values:
            before = Activity([value])
            for graph, nodes in self._nodes(current_graph(), True):
                before.enter(graph)
                before.visit(nodes)
                self._skipped.update(n for n in nodes if any(v in before for v in n.inputs))
            self.values.add(value)

    def reads(self, graph: Graph | None, recording: bool) -> Iterator[Any]:
        """The variables that were read while the tape recorded."""
        for _, nodes in self._nodes(graph, recording):
            yield from _variables(nodes)

    def _nodes(self, graph: Graph | None, recording: bool) -> list[tuple[Graph, list[Node]]]:
        found = []
        for each in chain_of(graph):
            nodes = list(_after(each, self._begin[each]) if each in self._begin else each.nodes)
            if not recording:
                last = self._end.get(each)
                end = nodes.index(last) + 1 if last in nodes else 0
                nodes = nodes[:end]
            found.append((each, [node for node in nodes if node not in self._skipped]))
        return found

    def pull(
        self, targets: Sequence[Any], seeds: Sequence[Any], sources: Sequence[Any], wants: Callable[[Any], bool],
        recording: bool, rows: bool = False,
    ) -> list[Any]:
        """The cotangents of `sources`, given cotangents `seeds` of `targets`; None for unconnected ones. `wants`:
        whether a variable is watched. `rows`: as IndexedSlices where they consist of slices along the first axis."""
        chain = self._nodes(current_graph(), recording)
        activity, keys = self._activity(chain, sources, wants)
        kept = {key for key in keys if key is not None}
        cts = Cotangents(lambda key: rows and passes_rows(key, kept))
        for x, seed in zip(targets, seeds, strict=True):
            if isinstance(x, (GraphTensor, GraphList)) and origin(x.value) in activity:
                cts.add(origin(x.value), seed, x)
        keep = {key for key in kept if isinstance(key, Value)}
        for graph, nodes in reversed(chain):
            sweep(nodes, cts, activity, keep)
            for outer, inner in list(graph.captures):
                if isinstance(outer, Value) and inner in cts:
                    cts.add(outer, cts.pop(inner), wrap(outer))
        return [None if key is None else slices_or_sum(cts, key, x) for key, x in zip(keys, sources, strict=True)]

    def connected(self, targets: Sequence[Any], sources: Sequence[Any], wants: Callable[[Any], bool],
                  recording: bool) -> bool:
        """Whether some target depends on some source."""
        activity, _ = self._activity(self._nodes(current_graph(), recording), sources, wants)
        return any(isinstance(x, GraphTensor) and origin(x.value) in activity for x in targets)

    def _activity(
        self, chain: Sequence[tuple[Graph, list[Node]]], sources: Sequence[Any], wants: Callable[[Any], bool]
    ) -> tuple[Activity, list[Any]]:
        """The activity of the sources, and their keys in `Cotangents`; None for those that are not watched."""
        root = chain[0][0] if chain else None
        captured = {} if root is None else {id(outer): inner for outer, inner in root.captures}
        watched = Activity([*self.values, *(v for key, v in captured.items() if key in self.eager)],
                           [id(x) for _, nodes in chain for x in _variables(nodes) if wants(x)])
        for graph, nodes in chain:
            watched.enter(graph)
            watched.visit(nodes)
        keys: list[Any] = []
        for x in sources:
            if isinstance(x, (GraphTensor, GraphList)):
                key: Any = origin(x.value)
                keys.append(key if key in watched else None)
            elif isinstance(x, (EagerTensor, EagerList)):
                key = captured.get(id(x))
                keys.append(key if key is not None and key in watched else None)
            else:
                keys.append(id(x) if id(x) in watched.variables else None)
        activity = Activity([key for key in keys if isinstance(key, Value)], [k for k in keys if isinstance(k, int)])
        for graph, nodes in chain:
            activity.enter(graph)
            activity.visit(nodes)
        return activity, keys


def place_after(graph: Graph, node: Node | None) -> int:
    """The index after a node; 0 for None, or if the node no longer exists."""
    return graph.nodes.index(node) + 1 if node is not None and node in graph.nodes else 0


def _after(graph: Graph, node: Node | None) -> list[Node]:
    return graph.nodes[place_after(graph, node):]


def _variables(nodes: Sequence[Node]) -> Iterator[Any]:
    for node in nodes:
        if node.op.name == "read_variable":
            yield node.params["variable"]
        for sub in [node.params["function"].graph] if node.op.name == "call" else node.subgraphs.values():
            yield from variables_read(sub).values()
