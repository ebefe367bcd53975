"""Graphs as TF 2 shows them: operations with names, whose inputs and outputs are tensors (`tf.Operation`).

An `Operation` is a view of a node, or of an input or capture of the graph, which TF has placeholders for. Names are
unique in a graph: that of the result, or of the op, in the scope of `rt.name_scope`, with a number from the second on.
Nodes keep theirs while the graph grows.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from autograph.backend import until_gone
from runtime.core.errors import MissingKeyError
from runtime.core.graph import Graph, Node, Value, param_text
from runtime.core.growing_lists import GraphList
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located
from runtime.core.tensor import GraphTensor
from runtime.core.trace import wrap
from runtime.core.types import TensorType

__all__ = ["GraphDef", "NodeDef", "Operation", "is_python_number", "kind_of_number"]


class Operation:
    """A node of a graph, or one of its inputs or captures, which have the type "Placeholder" (`tf.Operation`).

    graph     the graph that it belongs to
    name      unique in the graph; `name:0` is the name of its first result (`Graph.get_tensor_by_name`)
    type      the name of the runtime's op, such as "multiply"; TF's ops have other names
    inputs    the tensors that it takes, those that the graphs inside of it capture last
    outputs   the tensors that it makes
    device    "", as in TF's graphs: it is not placed
    """

    __slots__ = ("graph", "of")

    def __init__(self, graph: Graph, of: Node | Value) -> None:
        self.graph = graph
        self.of = of

    @property
    def node(self) -> Node | None:
        """The node of the runtime's graph; None for an input or a capture."""
        return self.of if isinstance(self.of, Node) else None

    @property
    def name(self) -> str:
        return _names(self.graph, self.of)[self.of.number]

    @property
    def type(self) -> str:
        return self.of.op.name if isinstance(self.of, Node) else "Placeholder"

    @property
    def inputs(self) -> tuple[GraphTensor | GraphList, ...]:
        return tuple(map(wrap, self.of.inputs)) if isinstance(self.of, Node) else ()

    @property
    def outputs(self) -> list[GraphTensor | GraphList]:
        return [*map(wrap, self.of.outputs if isinstance(self.of, Node) else [self.of])]

    @property
    def control_inputs(self) -> list[Operation]:
        """None: a graph runs in the order of its operations."""
        return []

    @property
    def device(self) -> str:
        return ""

    @property
    def node_def(self) -> NodeDef:
        """Its name, type, inputs and params as a `NodeDef`."""
        names = _names(self.graph, self.of)
        if not isinstance(self.of, Node):
            return NodeDef(names[self.of.number], self.type, [], {"dtype": str(self.of.type)})
        inputs = [_tensor_name(names, value) for value in self.of.inputs]
        texts = {key: param.name if isinstance(param, Graph) else param_text(param)
                 for key, param in self.of.params.items()}
        return NodeDef(names[self.of.number], self.type, inputs, texts)

    def values(self) -> tuple[GraphTensor | GraphList, ...]:
        """The outputs."""
        return tuple(self.outputs)

    def get_attr(self, name: str) -> Any:
        """A param of the node, such as the graphs of control flow. ValueError if it has none of that name."""
        params = self.of.params if isinstance(self.of, Node) else {"dtype": self.outputs[0].type}
        if name not in params:
            raise located(ValueError(f"operation {self.name!r} has no attr named {name!r}, but {', '.join(params)}"))
        return params[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and self.of is other.of

    def __hash__(self) -> int:
        return id(self.of)

    def __repr__(self) -> str:
        return f"<rt.Operation {self.name!r} type={self.type}>"


@dataclass(frozen=True)
class NodeDef:
    """What describes an operation: `name`, `op` (its type), `input` (the names of what it takes, `name` or `name:1`)
    and `attr` (its params as text, the graphs of control flow by their names)."""

    name: str
    op: str
    input: list[str] = field(default_factory=list)
    attr: dict[str, str] = field(default_factory=dict)
    device: str = ""

    def __str__(self) -> str:
        lines = [f'  name: "{self.name}"', f'  op: "{self.op}"', *(f'  input: "{name}"' for name in self.input),
                 *(f"  attr {{ {key}: {text} }}" for key, text in self.attr.items())]
        return "\n".join(["node {", *lines, "}"])


@dataclass(frozen=True)
class GraphDef:
    """The operations of a graph, in the order in which they run, as `NodeDef`s (`node`). `library`: those of the graphs
    inside of control flow, by the name of the operation and that of its param."""

    node: list[NodeDef]
    library: dict[str, GraphDef] = field(default_factory=dict)

    def __str__(self) -> str:
        inner = [f'function "{name}" {{\n{graph}\n}}' for name, graph in self.library.items()]
        return "\n".join([*map(str, self.node), *inner])


_known: dict[int, tuple[dict[int, str], object]] = {}
"""By id of a graph, the names of its operations, by the numbers of their nodes or values; and what removes them when it
is freed."""


def _members(graph: Graph) -> Iterator[Node | Value]:
    yield from graph.parameters
    yield from graph.nodes


def _names(graph: Graph, of: Node | Value | None = None) -> dict[int, str]:
    """The names of the operations of a graph, all of them or at least that of one."""
    if id(graph) not in _known:
        _known[id(graph)] = {}, until_gone(graph, _known, id(graph))
    known = _known[id(graph)][0]
    if of is not None and of.number in known:
        return known
    taken, counts = set(known.values()), Counter[str]()
    for member in _members(graph):
        if member.number not in known:
            name = numbered = _plain_name(member)
            while numbered in taken:
                counts[name] += 1
                numbered = f"{name}_{counts[name]}"
            taken.add(numbered)
            known[member.number] = numbered
    return known


def _plain_name(member: Node | Value) -> str:
    if isinstance(member, Value):
        return member.hint or "input"
    scope = f"{member.position.scope}/" if member.position is not None and member.position.scope else ""
    hint = member.outputs[0].hint if member.single and member.outputs else None
    return scope + (hint or member.op.name)


def _tensor_name(names: dict[int, str], value: Value) -> str:
    if value.node is None:
        return names[value.number]
    index = value.node.outputs.index(value)
    return f"{names[value.node.number]}:{index}" if index else names[value.node.number]


def _operation_of(value: Value) -> Operation:
    return Operation(value.graph, value if value.node is None else value.node)


def _name_of(value: Value) -> str:
    """`Tensor.name`. AttributeError for a Python number, such as a member of an IntEnum in a list of the graph."""
    if is_python_number(value):
        raise AttributeError(f"'{kind_of_number(value)}' object has no attribute 'name'")
    return _label_of(value)


def _label_of(value: Value) -> str:
    """The name of a tensor in its `repr`."""
    return value.hint or (value.node.op.name if value.node is not None else "input")


def is_python_number(value: Value) -> bool:
    """Whether a value stands for a number of Python's."""
    return isinstance(value.type, TensorType) and value.type.weak and not value.type.shape


def kind_of_number(value: Value) -> str:
    """The name of the class of the number that a value stands for."""
    assert isinstance(value.type, TensorType)
    dtype = value.type.dtype
    return "bool" if dtype.is_bool else "int" if dtype.is_integer else "float" if dtype.is_floating else "complex"


def _operations(graph: Graph) -> list[Operation]:
    return [Operation(graph, member) for member in _members(graph)]


def _by_name(graph: Graph, name: str) -> Operation:
    names = _names(graph)
    for member in _members(graph):
        if names[member.number] == name:
            return Operation(graph, member)
    raise located(MissingKeyError(f"The name {name!r} refers to an Operation not in the graph."))


def _tensor_by_name(graph: Graph, name: str) -> GraphTensor | GraphList:
    operation, colon, index = name.rpartition(":")
    if not colon or not index.isdigit():
        raise located(ValueError(
            f"The name {name!r} is not that of a Tensor, which is of the form <op_name>:<output_index>"))
    outputs = _by_name(graph, operation).outputs
    if int(index) >= len(outputs):
        raise located(MissingKeyError(
            f"The name {name!r} refers to a Tensor which does not exist: the operation has {len(outputs)} outputs."))
    return outputs[int(index)]


def _graph_def(graph: Graph) -> GraphDef:
    operations = _operations(graph)
    library = {f"{operation.name}/{key}": _graph_def(inner) for operation in operations
               if operation.node is not None for key, inner in operation.node.subgraphs.items()}
    return GraphDef([operation.node_def for operation in operations], library)


OPERATIONS.define(
    name_of=_name_of, label_of=_label_of, operation_of=_operation_of, operations=_operations,
    operation_by_name=_by_name, tensor_by_name=_tensor_by_name, graph_def=_graph_def)
