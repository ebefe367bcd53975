"""Widens Python numbers in graphs to 64 bits, the precision that floats have in Python.

While a function is traced, a float made by Python is weak float32 and an int weak int32: the dtypes that they take as
tensors of their own; beside a tensor they adapt to its dtype. Until they meet one, the graph that runs computes with
float64 and int64, in branches, loops and lists, as Python would.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from runtime.core.errors import OpError
from runtime.core.graph import Graph, Node, Value
from runtime.core.op import CAST, CONST, REGISTRY
from runtime.core.positions import Position
from runtime.core.routine import Routine
from runtime.core.types import ListType, TensorType, Type, float32, float64, int32, int64
from runtime.numbers.overflow_checks import add_checks, is_checked
from runtime.ops.effects import Raised
from runtime.ops.exceptions import Region

__all__ = ["with_python_numbers"]

_AS_TENSORS = frozenset(("py_function", "numpy_function"))
"""Ops that pass their operands to functions that expect tensors."""


_WIDE: Final = {float32: float64, float64: float64, int32: int64, int64: int64}


def with_python_numbers(graph: Graph) -> Graph:
    """The graph that runs in place of the traced `graph`: weak float32 becomes float64, rounded where float32 is
    needed, and weak int32 becomes int64. Its inputs and outputs have the same dtypes, but are not weak. An int that
    does not fit int32 where that is needed is a DTypeError of the graph; results that Python would not compute, or that
    exceed 64 bits, are errors, too (`overflow_checks`)."""
    if not _has_numbers(graph):
        return graph
    new = Graph(graph.name, graph.parent)
    _fill(new, graph, _strong)
    return new


def _fill(new: Graph, graph: Graph, change: Callable[[Type], Type]) -> None:
    """Make a graph the copy of another one with the types that `change` gives for those of its inputs and outputs."""
    copy = _Copy(new, {}, {}, {})
    copy.take_inputs(graph.inputs, change)
    for outer, value in graph.captures:
        copy.capture(outer, value, _strong(value.type))
    copy.take_nodes(graph)
    copy.take_outputs(graph.outputs, [change(value.type) for value in graph.outputs])
    add_checks(new, copy.numbers)


def _wide_routine(routine: Routine) -> Routine:
    """The routine to call in place of one: its inputs and results that are Python's numbers have 64 bits, too."""
    types = [*routine.types, *[value.type for value in routine.graph.inputs]]
    if all(_wide(type) is type for type in types):
        return routine
    if routine.wide is None:
        routine.wide = wide = Routine(routine.name, tuple(map(_wide, routine.types)), routine.position)
        wide.executor, wide.fast_math = routine.executor, routine.fast_math
        wide.graph = Graph(routine.graph.name)  # the calls in it are of this one
        _fill(wide.graph, routine.graph, _wide)
    return routine.wide


def _has_numbers(graph: Graph) -> bool:
    types = [value.type for value in (*graph.parameters, *graph.outputs)]
    types += [value.type for node in graph.walk() for value in [*node.outputs, *node.inputs * ("fits" in node.params)]]
    return any(_wide(type) is not type for type in types)


def _wide(type: Type) -> Type:
    """The type in the graph that runs."""
    if isinstance(type, ListType):
        element = _wide(type.element)
        return type if element is type.element else ListType(element, type.known)  # type: ignore[arg-type]
    return TensorType(_WIDE[type.dtype], type.shape) if type.weak and type.dtype in _WIDE else type


def _strong(type: Type) -> Type:
    """The type without weakness."""
    if isinstance(type, ListType):
        return ListType(_strong(type.element), type.known)  # type: ignore[arg-type]
    return TensorType(type.dtype, type.shape) if type.weak and type.dtype in _WIDE else type


def _exact(type: Type) -> Type:
    """The type with 32-bit ints widened to 64 bits."""
    return TensorType(int64, type.shape) if isinstance(type, TensorType) and type.dtype is int32 else type


def _tensor(type: Type) -> TensorType:
    return type.element if isinstance(type, ListType) else type


def _was_int32(value: Value) -> bool:
    """Whether a value is a widened int32, such as a length."""
    node = value.node
    return node is not None and node.op is CAST and _tensor(node.inputs[0].type).dtype is int32


class _Copy:
    """A copy of a graph and its sub-graphs in which each value has the type that `_wide` returns for its own. The nodes
    for `add_checks` are collected in `numbers`."""

    def __init__(
        self, graph: Graph, made: dict[Value, Value], regions: dict[Region, Region],
        numbers: dict[Node, Position | None],
    ) -> None:
        self.graph, self.made, self.regions, self.numbers = graph, made, regions, numbers
        self.place: Position | None = None  # position of the node being copied

    def take_inputs(self, inputs: Iterable[Value], change: Callable[[Type], Type]) -> None:
        for value in inputs:
            self._take(self.graph.add_input(change(value.type), value.hint), value)

    def capture(self, outer: Any, value: Value, type: Type) -> None:
        inner = Value(self.graph, type, hint=value.hint)
        self.graph.captures.append((outer, inner))
        self._take(inner, value)

    def take_nodes(self, graph: Graph) -> None:
        for node in graph.nodes:
            self._visit(node)

    def take_outputs(self, outputs: Iterable[Value], types: Iterable[Type]) -> None:
        """Set the outputs, with the dtypes of `types`."""
        self.graph.outputs = []
        for value, type in zip(outputs, types, strict=True):
            self.place = self.place if value.node is None else value.node.position
            self.graph.outputs.append(self.fit(self.made[value], type))

    def _take(self, new: Value, old: Value) -> None:
        """Make `new`, cast to the widened dtype of `old`, the replacement of `old`."""
        self.made[old] = self.fit(new, _wide(old.type))

    def fit(self, value: Value, type: Type) -> Value:
        """The value, cast to the dtype of `type`."""
        have, want = _tensor(value.type), _tensor(type)
        if have.dtype is want.dtype:
            return value
        if value.constant is not None:
            array = value.constant.astype(want.dtype.np)
            return self.graph.add_node(CONST, (), {"value": array}, TensorType(want.dtype, have.shape)).outputs[0]
        target = TensorType(want.dtype, have.shape)
        if isinstance(value.type, ListType):
            types: Type = ListType(target, value.type.known)
            node = self.graph.add_node(REGISTRY["list_cast"], (value,), {"element": target}, types)
        else:
            node = self.graph.add_node(CAST, (value,), {"dtype": want.dtype}, target)
        if want.dtype is int32 and not (target is not want and target.shape) and not _was_int32(value):
            self.numbers[node] = self.place
        return node.outputs[0]

    def _visit(self, node: Node) -> None:
        self.place = node.position
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
                params.pop("fits", None)  # a node of its own checks that
                if not _tensor(type).weak:
                    params.pop("weak", None)
                self._add(node, (found,), params, wide)
        elif node.subgraphs:
            self._control(node)
        elif node.op.name == "call":
            routine = _wide_routine(node.params["function"])
            inputs = [self.fit(self.made[value], inner.type)
                      for value, inner in zip(node.inputs, routine.graph.inputs, strict=True)]
            self._add(node, inputs, {"function": routine}, routine.types)
        else:
            self._apply(node, wide)

    def _add(self, node: Node, inputs: Sequence[Value], params: dict[str, Any], types: Sequence[Type]) -> None:
        """Add the copy of a node; its results are cast if their dtype is not the widened one."""
        new = self.graph.add_node(node.op, inputs, params, types[0] if node.single else tuple(types), node.position)
        if is_checked(node):
            self.numbers[new] = node.position
        for value, old in zip(new.outputs, node.outputs, strict=True):
            value.hint = old.hint
            self._take(value, old)

    def _apply(self, node: Node, wide: Sequence[Type]) -> None:
        """Add the node with 64-bit operands, if the op accepts them and returns the wanted type (or that in 32 bits: a
        length); otherwise with 32-bit operands. In comparisons, int tensors also have 64 bits."""
        inputs = [self.made[value] for value in node.inputs]
        params = {name: self._param(param, _wide) for name, param in node.params.items()}
        if node.op.name == "keep":
            inputs = [self.fit(value, type) for value, type in zip(inputs, params["region"].types, strict=True)]
        for types in [value.type for value in inputs], [_exact(value.type) for value in inputs]:
            results = wide if node.op.name == "keep" else self._results(node, types, params, wide)
            if results is not None:
                self._add(node, list(map(self.fit, inputs, types)), params, results)
                return
        inputs = [self.fit(made, _strong(value.type)) for made, value in zip(inputs, node.inputs, strict=True)]
        params = {name: self._param(param, _strong) for name, param in node.params.items()}
        self._add(node, inputs, params, [_strong(value.type) for value in node.outputs])

    def _results(
        self, node: Node, types: Sequence[Type], params: dict[str, Any], wide: Sequence[Type]
    ) -> Sequence[Type] | None:
        """The result types of the op for operands of these types, if it accepts them and the results are usable."""
        olds = [value.type for value in node.inputs]
        if all(new is old for new, old in zip(types, olds)) and all(
                type is value.type for type, value in zip(wide, node.outputs)):
            return wide
        floats = {_tensor(old).weak for old in olds if _tensor(old).dtype is float32}
        agreeing = () if node.op.agree is None else types[node.op.agree]
        if node.op.name in _AS_TENSORS or floats == {False, True} or len({_tensor(t).dtype for t in agreeing}) > 1:
            return None
        try:
            found = node.op.rule(*types, **params)
        except OpError:
            return None
        made = found if isinstance(found, tuple) else (found,)
        narrow = [_strong(value.type) for value in node.outputs]
        results = [next((want for want in wants if _tensor(want).dtype is _tensor(have).dtype), None)
                   for have, *wants in zip(made, wide, narrow)]
        return None if len(made) != len(wide) or None in results else results  # type: ignore[return-value]

    def _param(self, param: Any, change: Callable[[Type], Type]) -> Any:
        if isinstance(param, (TensorType, ListType)):
            return change(param)
        if isinstance(param, Region):
            if param not in self.regions:
                self.regions[param] = copy = Region(param.line)
                copy.types, copy.caught = tuple(map(_wide, param.types)), param.caught
            return self.regions[param]
        if isinstance(param, Raised) and param.cause is not None:
            return dataclasses.replace(param, cause=self._param(param.cause, change))
        return param

    def _control(self, node: Node) -> None:
        """Loop-carried values have 64 bits on all paths; the values of streams and user code keep their dtypes."""
        operands = [self.made[value] for value in node.operands]
        results = [_wide(value.type) for value in node.outputs]
        bodies = node.subgraphs
        counts = node.op.name == "reduce" and node.params.get("stream") is None
        item_type = _wide if counts else _strong
        if node.op.name in ("while_loop", "reduce"):
            state = bodies["body"].inputs[len(bodies["body"].inputs) - len(results):]
            results = [_wide(value.type) for value in state]
            lead = len(operands) - len(state)
            olds = bodies["body"].inputs if counts else node.operands
            operands = [*(self.fit(made, item_type(old.type)) for made, old in zip(operands[:lead], olds)),
                        *(self.fit(made, type) for made, type in zip(operands[lead:], results))]
        params = {name: self._param(param, _wide) for name, param in node.params.items()}
        captured: list[Value] = []
        for name, graph in bodies.items():
            inner = _Copy(Graph(graph.name, self.graph), self.made, self.regions, self.numbers)
            inner.graph.is_rolled = graph.is_rolled
            inner.place = node.position
            params[name] = inner.graph
            items = len(graph.inputs) - len(results) if node.op.name == "reduce" and name == "body" else 0
            inner.take_inputs(graph.inputs[:items], item_type)
            inner.take_inputs(graph.inputs[items:], _wide)
            for outer, value in graph.captures:
                captured.append(self.made[outer])
                inner.capture(captured[-1], value, captured[-1].type)
            inner.take_nodes(graph)
            own = name == "test" or node.op.name == "custom_gradient"
            inner.take_outputs(graph.outputs, [_wide(v.type) for v in graph.outputs] if own else results)
        self._add(node, [*operands, *captured], params, results)
