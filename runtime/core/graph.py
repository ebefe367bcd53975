"""The intermediate representation: typed graphs in SSA form.

A `Graph` is a list of nodes; list order is execution order. A `Node` applies an op to values and defines new values. A
`Value` is defined once: as an input of its graph, a capture, or an output of a node.

Graphs are closed: a node uses values of its own graph only. A value from outside is a capture, a pair `(outer, inner)`:
`inner` is a value of this graph, and `outer` is a value of the parent graph, or an eager tensor if there is no parent.

Control flow consists of ops whose params are graphs; each sub-graph belongs to one node. The inputs of such a node are
its operands followed by the outer values of each sub-graph's captures, sub-graphs in the order of the params. Its rule
receives the types of the operands only. Its kernel receives the operands and, for each sub-graph, a function from the
graph's inputs to the sequence of its outputs.
"""
from __future__ import annotations

import itertools
import math
import threading
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from autograph.backend import format_error, of_trace
from runtime.core.errors import GraphError, ShapeError, StagingError, locate
from runtime.core.op import Errors, Op
from runtime.core.operations import OPERATIONS
from runtime.core.positions import Position
from runtime.core.refined_tensors import restore_refined
from runtime.core.svg import Box, svg
from runtime.core.types import DType, ListType, Shape, Type

__all__ = [
    "COUNT", "INSTEAD", "Graph", "Node", "Unrolled", "UnrollingWarning", "Value", "loops", "param_text", "verify",
    "why_unrolled",
]

MANY_NODES: Final = 10_000
TOO_MANY_NODES: Final = 100_000


class UnrollingWarning(UserWarning):
    """Warns of a loop over Python values that makes a graph slow to trace and to run."""


class Unrolled(NamedTuple):
    """A loop over Python values that is traced iteration by iteration, since a loop of the graph would have another
    meaning: the lines of its body, and the reason."""

    filename: str
    first: int
    last: int
    why: str

    def __str__(self) -> str:
        lines = f"line {self.first}" if self.first == self.last else f"lines {self.first} to {self.last}"
        return f"{self.filename}:{self.first}: the loop with {lines} is traced iteration by iteration, since {self.why}"


class TrialTooLarge(StagingError):
    """A trace that is tried with numbers as inputs has more nodes and values than it may have."""


class _Loops(threading.local):
    has_warned = False
    """Whether a warning of a slow loop has been given."""
    last_number: float = math.inf
    """The highest number that a node of the trace may have; bounds the time of attempts."""

    def __init__(self) -> None:
        self.unrolled: list[Unrolled] = []


loops: Final = of_trace(_Loops())
"""The unrolled loops of the running trace that have many iterations."""


INSTEAD: Final = (
    "Take what needs the Python value out of the loop, or make it a tensor, so that the loop itself becomes graph")


def why_unrolled(filename: str, lineno: int) -> tuple[str, str]:
    """`("; it is not rolled ..., since ...", remedy)` for the innermost unrolled loop that contains this line; if there
    is none, the first is empty."""
    found = [loop for loop in loops.unrolled if loop.filename == filename and loop.first <= lineno <= loop.last]
    innermost = max(reversed(found), key=lambda loop: (loop.first, -loop.last), default=None)
    if innermost is None:
        return "", "Loop over a tensor, for example rt.range(n), so that the loop itself becomes graph"
    return f"; it is not rolled into a loop of the graph, since {innermost.why}", INSTEAD


def _watch_size(graph: Graph) -> None:
    """Warn with the line that makes a graph grow. StagingError beyond the limit."""
    size = len(graph.nodes)
    lines = Counter((n.position.filename, n.position.lineno) for n in graph.nodes if n.position is not None)
    (filename, lineno), count = lines.most_common(1)[0] if lines else (("<unknown>", 0), 0)
    why, remedy = why_unrolled(filename, lineno)
    what = (f"the graph of {graph.name!r} has grown to {size:,} ops, {count:,} of them from this line: "
            f"a loop over Python values is traced iteration by iteration{why}")
    remedy += "."
    if size == MANY_NODES:
        text = format_error(filename, lineno, None, what, remedy)
        warnings.warn_explicit(UnrollingWarning(text), None, filename, lineno)
        return
    error = StagingError(what, remedy=remedy)
    locate(error, Position(filename, lineno))
    raise error


COUNT: Final = itertools.count()
"""Numbers nodes and values in the order of their creation."""


class Value:
    """A value of a graph. `node` defines it, or is None for an input or capture; `hint` is its name in print; its
    `number` is higher than those of all earlier values and nodes."""

    __slots__ = ("__weakref__", "graph", "hint", "node", "number", "type")

    def __init__(self, graph: Graph, type: Type, node: Node | None = None, hint: str | None = None) -> None:
        self.graph = graph
        self.type = type
        self.node = node
        self.hint = hint
        self.number = next(COUNT)

    @property
    def constant(self) -> Any:
        """The array of a constant; None if the value is not a constant."""
        node = self.node
        return node.params["value"] if node is not None and node.op.name == "const" else None

    def __repr__(self) -> str:
        return f"<value {self.hint or (self.node.op.name if self.node else 'input')}: {self.type}>"


class Node:
    """An op applied to values. `types` is the result of the op's rule: a tuple if the kernel returns one. `number`: as
    for values."""

    __slots__ = ("inputs", "number", "op", "outputs", "params", "position", "single")

    def __init__(
        self, graph: Graph, op: Op, inputs: Sequence[Value], params: Mapping[str, Any],
        types: Type | tuple[Type, ...], position: Position | None = None,
    ) -> None:
        self.op = op
        self.inputs = list(inputs)
        self.params = dict(params)
        self.position = position
        self.single = not isinstance(types, tuple)
        self.number = next(COUNT)
        self.outputs = tuple([Value(graph, t, self) for t in types] if isinstance(types, tuple) else [
            Value(graph, types, self)])

    @property
    def subgraphs(self) -> dict[str, Graph]:
        for param in self.params.values():
            if isinstance(param, Graph):
                return {name: param for name, param in self.params.items() if isinstance(param, Graph)}
        return {}  # most nodes have none, and this is called often

    @property
    def operands(self) -> list[Value]:
        """The inputs, except those that feed captures of sub-graphs."""
        graphs = self.subgraphs
        return self.inputs[:len(self.inputs) - sum(len(g.captures) for g in graphs.values()) if graphs else None]

    @property
    def effect(self) -> bool:
        """Whether the node, or one in a sub-graph, has an effect; a `stream` counts, since it runs the user's code or
        is consumed."""
        return (self.op.effect or self.params.get("stream") is not None
                or any(graph.effect for graph in self.subgraphs.values()))

    @property
    def own_errors(self) -> Errors:
        """The errors that it may raise, not counting those of its sub-graphs (see `Op.errors`). Tensors may have other
        shapes at run time than they need; elements of lists may differ."""
        if self.subgraphs:
            return () if self.params.get("stream") is None else (Exception,)
        found = declared(self) if callable(declared := self.op.errors) else declared
        shapes = [t.shape for x in self.operands if not isinstance(t := x.type, ListType) and t.shape]
        fits = len(shapes) < 2 or None not in [dim for shape in shapes for dim in shape]
        return found if fits or ShapeError in found else (*found, ShapeError)

    @property
    def errors(self) -> Errors:
        """The errors that running it may raise."""
        if not self.subgraphs:
            return self.own_errors
        if callable(self.op.errors):
            return self.op.errors(self)
        return tuple(dict.fromkeys([*self.own_errors, *(e for g in self.subgraphs.values() for e in g.errors)]))

    def infer(self) -> Type | tuple[Type, ...]:
        """The types according to the op's rule for the current inputs."""
        return self.op.rule(*[value.type for value in self.operands], **self.params)

    def __repr__(self) -> str:
        return f"<node {self.op.name} at {self.position}>"


def shape_of(type: Type) -> Shape:
    """The shape of a tensor; for a list, the shape of its elements."""
    return type.element.shape if isinstance(type, ListType) else type.shape


class Graph:
    """A function as a graph: `inputs` and `captures` are its parameters, `outputs` its results; it is nested in
    `parent`."""

    __slots__ = (
        "__weakref__", "_captured", "captures", "executable", "inputs", "is_over", "is_rolled", "name", "nodes",
        "outputs", "parent", "refined", "written")

    def __init__(self, name: str = "graph", parent: Graph | None = None) -> None:
        self.name = name
        self.parent = parent
        self.inputs: list[Value] = []
        self.captures: list[tuple[Any, Value]] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.executable: Any = None  # the compiled form of the executor; None again when the graph changes
        self.refined: list[tuple[Any, Value, Value]] = []  # see `runtime.core.refined_tensors`
        self.is_over = False  # whether its trace has ended, so that no other graph can use its values
        self.is_rolled = False  # whether it is the body of a loop over Python values
        self.written: tuple[Any, ...] = ()  # memory of arrays that it writes (`runtime.core.tensor_writes`)
        self._captured: dict[int, tuple[Any, Value]] = {}  # outer and inner value by id of the outer

    @property
    def parameters(self) -> list[Value]:
        """The inputs followed by the captures' inner values."""
        return [*self.inputs, *(inner for _, inner in self.captures)]

    @property
    def effect(self) -> bool:
        return any(node.effect for node in self.nodes)

    @property
    def errors(self) -> Errors:
        """The errors that running it may raise, in the order of the nodes."""
        return tuple(dict.fromkeys([error for node in self.nodes for error in node.errors]))

    @property
    def may_raise(self) -> bool:
        """Whether some node, also in a sub-graph, may raise an error, if only one that is handled."""
        return any(node.own_errors for node in self.walk())

    def add_input(self, type: Type, hint: str | None = None) -> Value:
        value = Value(self, type, hint=hint)
        self.inputs.append(value)
        self.executable = None
        return value

    def add_node(
        self, op: Op, inputs: Sequence[Value], params: Mapping[str, Any],
        types: Type | tuple[Type, ...], position: Position | None = None,
    ) -> Node:
        node = Node(self, op, inputs, params, types, position)
        self.nodes.append(node)
        self.executable = None
        if len(self.nodes) in (MANY_NODES, TOO_MANY_NODES):
            _watch_size(self)
        if node.number > loops.last_number:
            raise TrialTooLarge("this trace, which is tried with numbers as inputs, has too many ops")
        return node

    def contains(self, graph: Graph | None) -> bool:
        """Whether `graph` is this graph or nested in it."""
        while graph is not None:
            if graph is self:
                return True
            graph = graph.parent
        return False

    def capture(self, outer: Any, type: Type) -> Value:
        """This graph's value for `outer`: a value of an enclosing graph, or an eager tensor.

        It is passed through the graphs in between, each of which captures it from its parent. A scalar constant is
        instead redefined in this graph.
        """
        if isinstance(outer, Value):
            if outer.graph is self:
                return outer
            assert self.parent is not None, "the caller checks that the value's graph encloses this one"
        known = self._captured.get(id(outer))
        if known is not None:
            return known[1]
        constant = outer.constant if isinstance(outer, Value) else None
        if constant is not None and constant.ndim == 0:
            node: Node = outer.node
            inner = self.add_node(node.op, (), node.params, type, node.position).outputs[0]
            inner.hint = outer.hint
        else:
            source = outer if self.parent is None else self.parent.capture(outer, type)
            if id(source) not in self._captured:
                self.captures.append((source, Value(self, type, hint=outer.hint if isinstance(outer, Value) else None)))
                self._captured[id(source)] = self.captures[-1]
                self.executable = None
            inner = self._captured[id(source)][1]
        self._captured[id(outer)] = outer, inner
        return inner

    def remove_after(self, number: int) -> None:
        """Remove the trailing nodes and captures whose number is higher than `number`, which was taken from `COUNT`."""
        restore_refined(self, lambda _, refined: refined.number > number)
        nodes, captures = len(self.nodes), len(self.captures)
        while self.nodes and self.nodes[-1].number > number:  # derivatives insert nodes between others
            self.nodes.pop()
        while self.captures and self.captures[-1][1].number > number:
            self.captures.pop()
        if (nodes, captures) != (len(self.nodes), len(self.captures)):
            self._captured = {key: pair for key, pair in self._captured.items() if pair[1].number < number}
        self.executable = None

    def walk(self) -> Iterator[Node]:
        """All nodes; those of sub-graphs follow the node that contains them. The time per node is independent of the
        depth."""
        open_graphs = [iter(self.nodes)]
        while open_graphs:
            for node in open_graphs[-1]:
                yield node
                inner = [iter(graph.nodes) for graph in node.subgraphs.values()]
                if inner:
                    open_graphs += reversed(inner)
                    break
            else:
                open_graphs.pop()

    def values(self) -> Iterator[Value]:
        """All values, including those of sub-graphs."""
        yield from self.parameters
        for node in self.walk():
            yield from node.outputs
            for inner in node.subgraphs.values():
                yield from inner.parameters

    def get_operations(self) -> list[Any]:
        """An `Operation` for each input, capture and node, in the order in which they run, without those of the graphs
        inside of control flow (`tf.Graph.get_operations`)."""
        return OPERATIONS.operations(self)

    def get_operation_by_name(self, name: str) -> Any:
        """The `Operation` of that name. MissingKeyError, a KeyError (`tf.Graph.get_operation_by_name`)."""
        return OPERATIONS.operation_by_name(self, name)

    def get_tensor_by_name(self, name: str) -> Any:
        """The tensor "name:index" that the `Operation` of that name makes. MissingKeyError, a KeyError; ValueError for
        another form (`tf.Graph.get_tensor_by_name`)."""
        return OPERATIONS.tensor_by_name(self, name)

    def as_graph_def(self) -> Any:
        """A `GraphDef` that describes the graph for reading: a `NodeDef` for each of `get_operations`, with its name,
        its op, the names of its inputs and its params as text (as `tf.Graph.as_graph_def`).

        It is no protocol buffer: graphs are saved by `rt.saved_model`, and for TensorBoard by `rt.summary.graph`.
        """
        return OPERATIONS.graph_def(self)

    def verify(self) -> None:
        """Check the rules of the IR here and in sub-graphs; GraphError, with the node, if one is violated.

        Values are defined before use, in their own graph, and have the types that the rules give.
        """
        verify(self)

    def __str__(self) -> str:
        return "\n".join(Printer().graph(self, "graph " + self.name))

    def to_svg(self, most: int) -> str:
        """A drawing as SVG text, with the names of the printed graph, limited to `most` boxes."""
        return svg(_Drawing(most).graph(self, 0))

    def _repr_svg_(self) -> str:
        """For notebooks."""
        return self.to_svg(most=150)

    def __repr__(self) -> str:
        sizes = len(self.inputs), len(self.nodes), len(self.outputs)
        return "<graph {}: {} inputs, {} nodes, {} outputs>".format(self.name, *sizes)


class Printer:
    """The text of a graph. Unnamed scalar constants are printed at their uses."""

    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.count = 0

    def graph(self, graph: Graph, title: str) -> list[str]:
        params = ", ".join(f"{self.name(v)}: {v.type}" for v in graph.inputs)
        if graph.captures:
            params += "; " + ", ".join(f"{self.name(v)}: {v.type}" for _, v in graph.captures)
        results = ", ".join(str(v.type) for v in graph.outputs)
        lines = [f"{title}({params}) -> ({results}) {{"]
        for node in graph.nodes:
            lines += ["  " + line for line in self.node(node)]
        if graph.outputs:
            lines.append("  return " + ", ".join(map(self.name, graph.outputs)))
        return [*lines, "}"]

    def node(self, node: Node) -> list[str]:
        if node.op.name == "const":
            value = node.outputs[0]
            if self.literal(value) is not None:
                return []
            return [f"{self.name(value)} = const {_array_text(node.params['value'])} : {value.type}"]
        call = self.call(node)
        if not node.subgraphs:
            types = ", ".join(str(v.type) for v in node.outputs)
            return [call + (f" : {types}" if types else "")]
        lines = [call + " {"]
        for name, graph in node.subgraphs.items():
            lines += ["  " + line for line in Printer().graph(graph, name)]
        return [*lines, "}"]

    def call(self, node: Node) -> str:
        """A node without its sub-graphs and types: `y = multiply(x, 2)`."""
        operands = ", ".join(map(self.name, node.operands))
        if node.subgraphs:
            captured = node.inputs[len(node.operands):]
            if captured:
                operands += "; " + ", ".join(map(self.name, captured))
        params = "".join(f", {name}={param_text(param)}" for name, param in node.params.items()
                         if not isinstance(param, Graph))
        results = ", ".join(map(self.name, node.outputs))
        return f"{results + ' = ' if results else ''}{node.op.name}({(operands + params).removeprefix(', ')})"

    def literal(self, value: Value) -> str | None:
        constant = value.constant
        if constant is None or constant.ndim or value.hint is not None:
            return None
        return _array_text(constant)

    def name(self, value: Value) -> str:
        if value not in self.names:
            name = self.literal(value)
            if name is None and value.hint is None:
                self.count += 1
                name = f"%{self.count}"
            elif name is None:
                name, k = str(value.hint), 0
                while name in self.taken:
                    k += 1
                    name = f"{value.hint}_{k}"
                self.taken.add(name)
            self.names[value] = name
        return self.names[value]


class _Drawing:
    """The boxes of a graph and of its sub-graphs, with the names that `Printer` gives; `left`: how many more may be
    drawn."""

    def __init__(self, most: int) -> None:
        self.left = most

    def graph(self, graph: Graph, depth: int) -> list[Box]:
        printer = Printer()
        boxes: list[Box] = []
        places: dict[Value, int] = {}  # value -> index of the box that defines it
        for count, value in enumerate(graph.parameters):
            if self.left <= 0:
                boxes.append(Box((f"{len(graph.parameters) - count:,} more",), "value"))
                break
            self.left -= 1
            places[value] = len(boxes)
            kind = "value" if count < len(graph.inputs) else "capture"
            boxes.append(Box((_short(printer.name(value)), _short(str(value.type))), kind))
        for count, node in enumerate(graph.nodes):
            if node.op.name == "const" and printer.literal(node.outputs[0]) is not None:
                continue
            if self.left <= 0:
                boxes.append(Box((f"{len(graph.nodes) - count:,} more ops",), "value"))
                break
            self.left -= 1
            box = self.node(node, printer, places, depth)
            places.update((value, len(boxes)) for value in node.outputs)
            boxes.append(box)
        if graph.outputs:
            text = "return " + ", ".join(printer.name(value) for value in graph.outputs[:20])
            boxes.append(Box((_short(text),), "value", _places(graph.outputs, places)))
        return boxes

    def node(self, node: Node, printer: Printer, places: Mapping[Value, int], depth: int) -> Box:
        constant = node.op.name == "const"
        call = printer.node(node)[0] if constant else printer.call(node)
        types = ", ".join(str(value.type) for value in node.outputs[:20])
        lines = (_short(call),) if constant or not types else (_short(call), _short(types))
        operands = _places(node.operands, places)
        captured = [k for k in _places(node.inputs[len(node.operands):], places) if k not in operands]
        if depth >= 10 and node.subgraphs:
            return Box((*lines, "..."), "op", operands, captured)
        frames = [(name, self.graph(sub, depth + 1)) for name, sub in node.subgraphs.items()]
        return Box(lines, "op", operands, captured, frames)


def _places(values: Sequence[Value], places: Mapping[Value, int]) -> list[int]:
    """The boxes of those values that have one, without repetition; at most 20."""
    return [*dict.fromkeys(places[value] for value in values if value in places)][:20]


def _short(text: str, most: int = 50) -> str:
    return text if len(text) <= most else text[:most - 3] + "..."


def _array_text(array: np.ndarray[Any, Any]) -> str:
    if array.size > 16:
        return f"<{array.size} elements>"
    return " ".join(str(array.tolist()).split())


def param_text(param: Any) -> str:
    """The text of a node's param, short and on one line."""
    if isinstance(param, DType):
        return param.name
    if isinstance(param, np.ndarray):
        return _array_text(param)
    text = getattr(param, "__name__", None) or getattr(param, "name", None) or repr(param)
    return _short(" ".join(str(text).split()), 60)


def verify(graph: Graph) -> None:
    """See `Graph.verify`."""
    _Verifier(graph).verify()


class _Verifier:
    """Checks a graph: definitions before uses, types against the rules of the ops, and captures."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.defined: set[Value] = set()

    def verify(self) -> None:
        graph = self.graph
        for outer, inner in graph.captures:
            if isinstance(outer, Value) and outer.graph is not graph.parent:
                self.fail(None, f"it captures {outer!r} as {inner!r}, which is not of its parent")
        for value in graph.parameters:
            if value.graph is not graph or value.node is not None or value in self.defined:
                self.fail(None, f"{value!r} is not a parameter of this graph alone")
            self.defined.add(value)
        for node in graph.nodes:
            for value in node.inputs:
                self.use(node, value)
            self.check_captures(node)
            self.check_types(node)
            for value in node.outputs:
                if value.node is not node or value in self.defined:
                    self.fail(node, f"{value!r} is made twice")
                self.defined.add(value)
            for sub in node.subgraphs.values():
                verify(sub)
        for value in graph.outputs:
            self.use(None, value)

    def fail(self, node: Node | None, what: str) -> NoReturn:
        where = f"node {node.op.name} ({node.position})" if node is not None else "its interface"
        raise GraphError(f"graph {self.graph.name}: {where}: {what}")

    def use(self, node: Node | None, value: Value) -> None:
        if value.graph is not self.graph:
            self.fail(node, f"{value!r} belongs to graph {value.graph.name}")
        if value not in self.defined:
            self.fail(node, f"{value!r} is not defined before it is used")

    def check_types(self, node: Node) -> None:
        """Compare the types of a node's results with those of its rule."""
        try:
            types = node.infer()
        except (TypeError, ValueError) as exc:
            self.fail(node, f"its rule says: {exc}")
        expected = types if isinstance(types, tuple) else (types,)
        found = tuple(value.type for value in node.outputs)
        if node.single is isinstance(types, tuple):
            kinds = ("a tuple", "1 result") if node.single else ("1 result", "a tuple")
            self.fail(node, "its rule gives {}, but the node has {}".format(*kinds))
        if len(expected) != len(found):
            self.fail(node, f"its rule gives {len(expected)} results, but it has {len(found)}")
        for want, have in zip(expected, found, strict=True):
            if want != have and not (have.accepts(want) or want.accepts(have)):
                self.fail(node, f"its rule gives {want}, but the value is {have}")

    def check_captures(self, node: Node) -> None:
        """Compare the captures of a node's graphs with the node's inputs for them."""
        feeds = iter(node.inputs[len(node.operands):])
        for name, sub in node.subgraphs.items():
            if sub.parent is not self.graph:
                self.fail(node, f"its graph {name} is not nested in this graph")
            for outer, inner in sub.captures:
                feed = next(feeds, None)
                if feed is None or feed is not outer:
                    self.fail(node, f"its graph {name} captures {outer!r}, but {feed!r} is passed")
                if not inner.type.accepts(outer.type):
                    self.fail(node, f"its graph {name} captures {outer!r} as {inner.type}")
