"""Residuals, the values of the forward pass that a backward graph uses: saved, or recomputed where that is cheaper.

A backward graph is traced inside its forward graph, and captures the values that its rules use. `plan_saved` leaves
only captures of values that are available anyway, and of values that have to be saved.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Sequence
from typing import Any, Final

from runtime.core.graph import Graph, Node, Value
from runtime.core.types import ListType, Type
from runtime.ops.control import RECOMPUTED, UNDEFINED

__all__ = ["add_state", "define", "drop_dead", "inserted", "plan_saved", "recaptured", "undefined"]

CHEAP: Final = frozenset((
    "abs", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_to", "cast", "ceil", "concat", "conj",
    "copysign", "equal", "floor", "greater", "greater_equal", "imag", "invert", "left_shift", "less", "less_equal",
    "maximum", "minimum", "multiply", "negative", "not_equal", "real", "relu", "right_shift", "rint", "sign",
    "stop_gradient", "subtract", "undefined", "where",
    "dim", "expand_dims", "getitem", "range", "reshape", "size", "slice", "split", "squeeze", "stack", "transpose"))
"""Ops that cost about as much as a load per element; and views."""
MEASURES: Final = frozenset(("dim", "list_length", "size"))
MOST_VALUES: Final = 500
_ENDLESS: Final = 1 << 60


def drop_dead(graph: Graph) -> None:
    """Remove dead nodes of a backward graph, and unused captures. Checks are dead, too, since the forward pass has
    ended without an error."""
    used = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if not any(value in used for value in node.outputs) and not node.effect:
            continue
        if node.subgraphs:
            operands = node.operands
            for sub in node.subgraphs.values():
                drop_dead(sub)
            recaptured(node, operands)
        used.update(node.inputs)
        kept.append(node)
    graph.nodes = kept[::-1]
    graph.captures = [pair for pair in graph.captures if pair[1] in used]
    graph._captured = {id(outer): (outer, inner) for outer, inner in graph.captures}
    graph.executable = None


def recaptured(node: Node, operands: Sequence[Value]) -> None:
    """Set the inputs of a node to these operands and the current captures of its sub-graphs."""
    node.inputs = [*operands, *(outer for graph in node.subgraphs.values() for outer, _ in graph.captures)]


def add_state(loop: Node, start: Value, after: Value) -> Value:
    """Add a state to a loop, whose body has its last input for it and computes `after` from it in each iteration;
    returns the result."""
    body: Graph = loop.params["body"]
    test: Graph | None = loop.params.get("test")
    operands = loop.operands
    state = body.inputs[-1]
    body.outputs.append(after)
    body.executable = None
    if test is not None:
        test.add_input(state.type, state.hint)
    assert body.parent is not None
    loop.outputs = (*loop.outputs, Value(body.parent, state.type, loop, state.hint))
    recaptured(loop, [*operands, start])
    return loop.outputs[-1]


def define(value: Value, made: Value) -> None:
    """Make `value`, which has no node yet, the result `made` of a node."""
    node = made.node
    assert node is not None and value.node is None
    node.outputs = tuple([value if out is made else out for out in node.outputs])
    value.node = node


def undefined(graph: Graph, type: Type) -> Value:
    """A value of a graph, for places where it is never used."""
    return graph.add_node(UNDEFINED, (), {"type": type}, type).outputs[0]


class inserted:
    """A context: nodes added to a graph inside it are inserted before another node, or before all nodes."""

    def __init__(self, graph: Graph, before: Node | None = None) -> None:
        self.graph, self.before = graph, before

    def __enter__(self) -> None:
        self.start = len(self.graph.nodes)

    def __exit__(self, kind: Any, exc: Any, traceback: Any) -> None:
        nodes = self.graph.nodes
        made = nodes[self.start:]
        del nodes[self.start:]
        at = 0 if self.before is None else nodes.index(self.before)
        nodes[at:at] = made


def plan_saved(back: Graph, source: Graph, available: Container[Value]) -> list[Value]:
    """Make `back`, which was traced inside `source`, recompute cheap values; returns the values to save.

    Afterwards `back` captures only these and values that are `available`.
    """
    _measure_outside(back, source, None, available)
    needed = [outer for outer, _ in back.captures]
    saved, again = _plan(source, needed, available)
    inner = {outer: value for outer, value in back.captures}
    made: list[Node] = []

    def local(value: Value) -> Value:
        if value not in inner:
            if value.constant is None:
                inner[value] = Value(back, value.type, hint=value.hint)
                back.captures.append((value, inner[value]))
            else:
                node = value.node
                assert node is not None
                made.append(Node(back, node.op, (), node.params, value.type, node.position))
                inner[value] = made[-1].outputs[0]
        return inner[value]

    for node in source.nodes:
        if node in again:
            types: Any = tuple([value.type for value in node.outputs])
            new = Node(back, node.op, [local(v) for v in node.inputs], node.params, types[0] if node.single else types,
                       node.position)
            made.append(new)
            for old, value in zip(node.outputs, list(new.outputs), strict=True):
                value.hint = f"{RECOMPUTED}_{old.hint or node.op.name}"
                if old in inner:
                    inner[old].hint = value.hint
                    define(inner[old], value)
                else:
                    inner[old] = value
    back.nodes[:0] = made
    back.captures = [(outer, value) for outer, value in back.captures if value.node is None]
    back._captured = {id(outer): (outer, value) for outer, value in back.captures}
    return saved


def _measure_outside(graph: Graph, around: Graph, holder: Node | None, available: Container[Value]) -> None:
    """Query sizes, and elements of lists, in the graph that defines the value, not in `graph`, which captures it from
    `around`; `holder` is the node of `around` to which `graph` belongs. So a value of which only the size is needed, or
    a list of which only an element is needed, is not saved. Elements are still read in sub-graphs, which need not
    run."""
    for node in graph.nodes:
        if node.subgraphs:
            operands = node.operands
            for sub in node.subgraphs.values():
                _measure_outside(sub, graph, node, ())
            recaptured(node, operands)
    outside = {inner: outer for outer, inner in graph.captures}
    kept: list[Node] = []
    taken: list[Node] = []
    for node in graph.nodes:
        found = [outside.get(value) for value in node.inputs]
        operands = [x for x in found if isinstance(x, Value)]
        if len(operands) < len(node.inputs) or not operands or operands[0] in available or not (
                node.op.name in MEASURES or (node.op.name == "list_get" and holder is None)):
            kept.append(node)
            continue
        (inner,) = node.outputs
        made = Node(around, node.op, operands, node.params, inner.type, node.position)
        taken.append(made)
        inner.node = None
        outside[inner] = made.outputs[0]
        graph.captures.append((made.outputs[0], inner))
    graph.nodes = kept
    for node in taken:
        around.nodes.insert(_after_operands(around, node) if holder is None else around.nodes.index(holder), node)
    if taken:
        used = {value for node in kept for value in node.inputs} | set(graph.outputs)
        graph.captures = [pair for pair in graph.captures if pair[1] in used]
        graph._captured = {id(outer): (outer, inner) for outer, inner in graph.captures}


def _after_operands(graph: Graph, node: Node) -> int:
    """The first possible position for a node: a list may be changed in place after it."""
    found = 0
    for k, other in enumerate(graph.nodes):
        if any(value.node is other for value in node.inputs):
            found = k + 1
    return found


def _plan(source: Graph, needed: Iterable[Value], available: Container[Value]) -> tuple[list[Value], set[Node]]:
    """The cheapest set of values to save from which the needed ones can be recomputed, by a minimum cut; and the nodes
    to recompute."""
    needed = list(needed)
    flow = _Flow()
    visited: set[Value] = set()
    pending = [value for value in needed if value not in available]
    for value in pending:
        flow.add((value, 1), _Flow.SINK, _ENDLESS)
    while pending:
        value = pending.pop()
        if value in visited:
            continue
        visited.add(value)
        if len(visited) > MOST_VALUES:
            return [value for value in needed if value not in available], set()
        flow.add((value, 0), (value, 1), _cost(value))
        if not _is_cheap(value, source):
            flow.add(_Flow.SOURCE, (value, 0), _ENDLESS)
            continue
        assert value.node is not None
        for x in value.node.inputs:
            if x not in available and x.constant is None:
                flow.add((x, 1), (value, 0), _ENDLESS)
                pending.append(x)
    saved = flow.cut()
    again: set[Node] = set()
    pending = [value for value in needed if value not in available and value not in saved]
    while pending:
        node = pending.pop().node
        assert node is not None
        if node not in again:
            again.add(node)
            pending += [x for x in node.inputs
                        if x not in available and x not in saved and x.constant is None]
    order = {value: i for i, value in enumerate([*source.parameters, *(v for n in source.nodes for v in n.outputs)])}
    return sorted(saved, key=order.__getitem__), again


def _is_cheap(value: Value, source: Graph) -> bool:
    node = value.node
    return (node is not None and value.graph is source and (node.op.name in CHEAP or node.op.name == "const")
            and not any(isinstance(x.type, ListType) for x in (*node.inputs, *node.outputs)))


def _cost(value: Value) -> int:
    """The approximate cost of saving, in bytes."""
    type = value.type
    if isinstance(type, ListType):
        return 1 << 40
    return 8 + type.dtype.size * (type.size if type.size is not None else 1 << 20)


class _Flow:
    """A flow network; its nodes are values, before (0) and after (1) they are saved."""

    SOURCE: Final = "source"
    SINK: Final = "sink"

    def __init__(self) -> None:
        self.room: dict[Any, dict[Any, int]] = {}  # residual capacities

    def add(self, start: Any, end: Any, room: int) -> None:
        self.room.setdefault(start, {})[end] = room
        self.room.setdefault(end, {}).setdefault(start, 0)

    def cut(self) -> set[Value]:
        """The values of the minimum cut nearest to the sink."""
        while (path := self._path()) is not None:
            flow = min(self.room[a][b] for a, b in path)
            for a, b in path:
                self.room[a][b] -= flow
                self.room[b][a] += flow
        reaches: set[Any] = {self.SINK}  # nodes with a residual path to the sink
        pending: list[Any] = [self.SINK]
        while pending:
            end = pending.pop()
            for start in self.room.get(end, ()):
                if self.room[start][end] > 0 and start not in reaches:
                    reaches.add(start)
                    pending.append(start)
        return {end[0] for end in reaches if end[1] == 1 and (end[0], 0) not in reaches}

    def _path(self) -> list[tuple[Any, Any]] | None:
        came: dict[Any, Any] = {self.SOURCE: None}
        queue = deque([self.SOURCE])
        while queue:
            start = queue.popleft()
            for end, room in self.room.get(start, {}).items():
                if room > 0 and end not in came:
                    came[end] = start
                    if end == self.SINK:
                        path = []
                        while came[end] is not None:
                            path.append((came[end], end))
                            end = came[end]
                        return path
                    queue.append(end)
        return None
