"""Python's floats in graphs have 64 bits, as in Python.

While a function is traced, a float that Python made is weak float32: that is what it becomes where it is wanted as a
tensor of its own, and it adapts to the dtype of a tensor that it meets. Until then the graph that runs computes with
float64, in branches, loops and lists: what Python would compute.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from runtime.errors import OpError
from runtime.graph import Graph, Node, Value
from runtime.op import CAST, CONST, REGISTRY
from runtime.ops.tries import Region
from runtime.types import ListType, TensorType, Type, float32, float64

__all__ = ["with_python_floats"]

_AS_TENSORS = frozenset(("py_function", "numpy_function"))
"""Whose operands are handed to the user as tensors."""


def with_python_floats(graph: Graph) -> Graph:
    """A graph for `graph`, as it was traced, that runs: what is weak float32 is float64 in it, rounded where float32 is
    wanted. Its inputs and outputs have the types that they had, but are not weak."""
    if not _has_floats(graph):
        return graph
    copy = _Copy(Graph(graph.name, graph.parent), {}, {})
    copy.take_inputs(graph.inputs, _strong)
    for outer, value in graph.captures:
        copy.capture(outer, value, _strong(value.type))
    copy.take_nodes(graph, [_strong(value.type) for value in graph.outputs])
    return copy.graph


def _has_floats(graph: Graph) -> bool:
    types = [value.type for value in (*graph.parameters, *graph.outputs)]
    types += [value.type for node in graph.walk() for value in node.outputs]
    return any(_wide(type) is not type for type in types)


def _wide(type: Type) -> Type:
    """What stands for a type in the graph that runs."""
    if isinstance(type, ListType):
        element = _wide(type.element)
        return type if element is type.element else ListType(element, type.known)  # type: ignore[arg-type]
    return TensorType(float64, type.shape) if type.weak and type.dtype in (float32, float64) else type


def _strong(type: Type) -> Type:
    """The type, of what is not weak."""
    if isinstance(type, ListType):
        return ListType(_strong(type.element), type.known)  # type: ignore[arg-type]
    return TensorType(type.dtype, type.shape) if type.weak and type.dtype.is_floating else type


def _tensor(type: Type) -> TensorType:
    return type.element if isinstance(type, ListType) else type


class _Copy:
    """A copy of a graph and those in it, in which each value has the type that `_wide` gives for its own."""

    def __init__(self, graph: Graph, made: dict[Value, Value], regions: dict[Region, Region]) -> None:
        self.graph, self.made, self.regions = graph, made, regions

    def take_inputs(self, inputs: Iterable[Value], change: Callable[[Type], Type]) -> None:
        for value in inputs:
            self._take(self.graph.add_input(change(value.type), value.hint), value)

    def capture(self, outer: Any, value: Value, type: Type) -> None:
        inner = Value(self.graph, type, hint=value.hint)
        self.graph.captures.append((outer, inner))
        self._take(inner, value)

    def take_nodes(self, graph: Graph, types: Iterable[Type]) -> None:
        """The nodes, and the outputs with the dtypes of `types`."""
        for node in graph.nodes:
            self._visit(node)
        self.graph.outputs = [self._fit(self.made[v], type) for v, type in zip(graph.outputs, types, strict=True)]

    def _take(self, new: Value, old: Value) -> None:
        """Let `new`, which may have another dtype, stand for `old`."""
        self.made[old] = self._fit(new, _wide(old.type))

    def _fit(self, value: Value, type: Type) -> Value:
        """The value in the dtype of `type`."""
        have, want = _tensor(value.type), _tensor(type)
        if have.dtype is want.dtype:
            return value
        target = TensorType(want.dtype, have.shape)
        if isinstance(value.type, ListType):
            types: Type = ListType(target, value.type.known)
            return self.graph.add_node(REGISTRY["list_cast"], (value,), {"element": target}, types).outputs[0]
        return self.graph.add_node(CAST, (value,), {"dtype": want.dtype}, target).outputs[0]

    def _visit(self, node: Node) -> None:
        wide = tuple([_wide(value.type) for value in node.outputs])
        if node.op is CONST:
            (type,) = wide
            params = node.params if type is node.outputs[0].type else {"value": node.params["value"].astype(
                _tensor(type).dtype.np, copy=False)}
            self._add(node, (), params, wide)
        elif node.op is CAST:
            (type,) = wide
            found = self.made[node.inputs[0]]
            if found.type == type:
                self.made[node.outputs[0]] = found
            else:
                params = {**node.params, "dtype": _tensor(type).dtype}
                if not _tensor(type).weak:
                    params.pop("weak", None)
                self._add(node, (found,), params, wide)
        elif node.subgraphs:
            self._control(node)
        else:
            self._apply(node, wide)

    def _add(self, node: Node, inputs: Sequence[Value], params: dict[str, Any], types: Sequence[Type]) -> None:
        """Add what stands for a node, whose results may still have another dtype."""
        new = self.graph.add_node(node.op, inputs, params, types[0] if node.single else tuple(types), node.position)
        for value, old in zip(new.outputs, node.outputs, strict=True):
            value.hint = old.hint
            self._take(value, old)

    def _apply(self, node: Node, wide: Sequence[Type]) -> None:
        """With operands in 64 bits, if the op takes them so and gives what is wanted; else in 32 bits."""
        inputs = [self.made[value] for value in node.inputs]
        params = {name: self._param(param, _wide) for name, param in node.params.items()}
        if node.op.name == "keep":
            inputs = [self._fit(value, type) for value, type in zip(inputs, params["region"].types, strict=True)]
        if node.op.name == "keep" or self._takes(node, inputs, params, wide):
            self._add(node, inputs, params, wide)
            return
        inputs = [self._fit(made, _strong(value.type)) for made, value in zip(inputs, node.inputs, strict=True)]
        params = {name: self._param(param, _strong) for name, param in node.params.items()}
        self._add(node, inputs, params, [_strong(value.type) for value in node.outputs])

    def _takes(self, node: Node, inputs: Sequence[Value], params: dict[str, Any], wide: Sequence[Type]) -> bool:
        olds = [value.type for value in node.inputs]
        if all(new.type is old for new, old in zip(inputs, olds)) and all(
                type is value.type for type, value in zip(wide, node.outputs)):
            return True
        if node.op.name in _AS_TENSORS or any(_tensor(old).dtype is float32 and not _tensor(old).weak for old in olds):
            return False
        try:
            found = node.op.rule(*[value.type for value in inputs], **params)
        except OpError:
            return False
        types = found if isinstance(found, tuple) else (found,)
        return len(types) == len(wide) and all(_tensor(want).dtype is _tensor(have).dtype
                                               for want, have in zip(wide, types))

    def _param(self, param: Any, change: Callable[[Type], Type]) -> Any:
        if isinstance(param, (TensorType, ListType)):
            return change(param)
        if isinstance(param, Region):
            if param not in self.regions:
                self.regions[param] = copy = Region(param.line)
                copy.types, copy.caught = tuple(map(_wide, param.types)), param.caught
            return self.regions[param]
        return param

    def _control(self, node: Node) -> None:
        """State has 64 bits on all ways; what a stream or the user's code gives or takes has the dtype it had."""
        operands = [self.made[value] for value in node.operands]
        results = [_wide(value.type) for value in node.outputs]
        bodies = node.subgraphs
        if node.op.name in ("while_loop", "reduce"):
            state = bodies["body"].inputs[len(bodies["body"].inputs) - len(results):]
            results = [_wide(value.type) for value in state]
            lead = len(operands) - len(state)
            operands = [*(self._fit(made, _strong(old.type)) for made, old in zip(operands[:lead], node.operands)),
                        *(self._fit(made, type) for made, type in zip(operands[lead:], results))]
        params = {name: self._param(param, _wide) for name, param in node.params.items()}
        captured: list[Value] = []
        for name, graph in bodies.items():
            inner = _Copy(Graph(graph.name, self.graph), self.made, self.regions)
            params[name] = inner.graph
            items = len(graph.inputs) - len(results) if node.op.name == "reduce" and name == "body" else 0
            inner.take_inputs(graph.inputs[:items], _strong)
            inner.take_inputs(graph.inputs[items:], _wide)
            for outer, value in graph.captures:
                captured.append(self.made[outer])
                inner.capture(captured[-1], value, captured[-1].type)
            inner.take_nodes(graph, [value.type for value in graph.outputs] if name == "test" else results)
        self._add(node, [*operands, *captured], params, results)
