"""Python numbers after a loop over Python values: those independent of tensors are computed at trace time, as they
would be if the loop were unrolled.

So after `for i in range(1000): x = x + i; n += 1` the variables `i` and `n` are ints.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from runtime.core.graph import Graph, Node, Value
from runtime.core.types import ListType, TensorType, Type
from runtime.staging.joins.lattice import Leaf, Nested, Spec, leaf_types

__all__ = ["PythonResults", "may_be_numbers", "python_results", "tensor_ends"]

MOST_STEPS: Final = 200_000
"""Results that take more operations are computed by the graph."""

_OPERATORS: Final[Mapping[str, Callable[..., Any]]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "negative": operator.neg, "pow": operator.pow,
    "left_shift": operator.lshift, "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne}
"""Ops that behave as Python's operators on Python numbers."""
_INT64: Final = range(-(1 << 63), 1 << 63)

Number = int | float | None


@dataclass
class PythonResults:
    """`numbers`: the final values of a loop's variables that depend on Python numbers alone; None for others. `fit`:
    whether all such numbers that the loop has to compute fit 64 bits."""

    numbers: Sequence[Number]
    fit: bool = True


def python_results(
    body: Graph, test: Graph | None, leaves: Sequence[Any], length: Any, may_be_numbers: Sequence[bool]
) -> PythonResults:
    """The results of a loop that depend on Python numbers alone. Those variables become loop-invariant, unless the rest
    of the loop depends on them.

    `leaves`: the variables before the loop. `length`: the number of iterations, or None. The inputs of the body are the
    index, if there is a length, and the variables; those of `test`, which tells whether the loop continues, the
    variables. `may_be_numbers`: for which of them a number can take the place of the result.
    """
    loop = _Loop(body, test, list(map(_number, leaves)), None if length is None else int(length))
    numbers = loop.run()
    if numbers is None:
        return PythonResults([None] * len(leaves))
    numbers = [number if may else None for number, may in zip(numbers, may_be_numbers, strict=True)]
    needed, values = _needed(body, test, loop, {k for k, number in enumerate(numbers) if number is None})
    for k, number in enumerate(numbers):
        if number is not None and k not in needed:
            body.outputs[k] = loop.inputs[k]
    return PythonResults(numbers, loop.large.isdisjoint(values))


def may_be_numbers(spec: Spec) -> list[bool]:
    """For each leaf of a variable, whether a Python number can take its place."""
    if isinstance(spec, Leaf):
        return [True]
    if isinstance(spec, Nested):
        return [is_number for child in spec.children for is_number in may_be_numbers(child)]
    return [False for _ in leaf_types(spec)]


def _number(x: Any) -> Number:
    """The Python number behind a constant graph value; None if there is none."""
    value = getattr(x, "value", None)
    if not isinstance(value, Value) or not _is_number(value):
        return None
    array = value.constant
    found: Number = array.item() if array is not None else None
    return found


def _is_number(value: Value) -> bool:
    return isinstance(value.type, TensorType) and not value.type.shape and value.type.weak


def _computed(graph: Graph, inputs: Iterable[Value]) -> tuple[list[Node], set[Value]]:
    """The nodes that compute Python numbers and truth values from `inputs` alone, and the values known then."""
    nodes, known = [], set(inputs)
    for node in graph.nodes:
        name = node.op.name
        if name == "const" or name == "cast" or name in _OPERATORS:
            result = node.outputs[0]
            type = result.type
            if known.issuperset(node.inputs) and isinstance(type, TensorType) and not type.shape and (
                    type.weak or type.dtype.is_bool):
                nodes.append(node)
                known.add(result)
    return nodes, known


class _Loop:
    """The part of a loop that computes Python numbers."""

    def __init__(self, body: Graph, test: Graph | None, init: list[Number], count: int | None) -> None:
        self.body, self.test, self.init, self.count = body, test, init, count
        offset = len(body.inputs) - len(init)
        self.inputs, self.indices = body.inputs[offset:], body.inputs[:offset]
        self.large: set[Value] = set()
        """Values beyond 64 bits."""
        known = {k for k, number in enumerate(init) if number is not None}
        while True:
            self.nodes, values = _computed(body, (*self.indices, *(self.inputs[k] for k in known)))
            lost = {k for k in known if body.outputs[k] not in values}
            if not lost:
                break
            known -= lost
        self.wanted = [k for k, value in enumerate(body.outputs) if value in values and _is_number(value)]
        self.going: list[Node] = []
        self.ends = count is not None
        if test is not None:
            self.going, values = _computed(test, [test.inputs[k] for k in known])
            self.ends = test.outputs[0] in values

    def run(self) -> list[Number] | None:
        """The variables after the loop, None for those that depend on tensors; None if the end of the loop depends on
        tensors, it takes too many steps, or an operation raises."""
        state, index, steps = [*self.init], 0, 0
        try:
            while self.ends and (self.count is None or index < self.count) and self._goes_on(state):
                steps += len(self.nodes) + len(self.going) + 1
                if steps > MOST_STEPS:
                    return None
                values: dict[Value, Any] = dict(zip(self.inputs, state, strict=True))
                self._compute(self.nodes, values | dict.fromkeys(self.indices, index), state)
                index += 1
        except (ArithmeticError, ValueError, TypeError):  # 2 ** -1: its type depends on the value
            return None
        wanted = self.wanted if index else ()
        return [state[k] if k in wanted else None for k in range(len(state))] if self.ends else None

    def _goes_on(self, state: Sequence[Number]) -> bool:
        if self.test is None:
            return True
        values: dict[Value, Any] = dict(zip(self.test.inputs, state, strict=True))
        self._compute(self.going, values, [])
        return bool(values[self.test.outputs[0]])

    def _compute(self, nodes: list[Node], values: dict[Value, Any], state: list[Number]) -> None:
        """Evaluate the nodes, adding to `values`, and store the variables in `state`."""
        for node in nodes:
            name, result = node.op.name, node.outputs[0]
            if name == "const":
                found = node.params["value"].item()
            elif name == "cast":
                found = values[node.inputs[0]]
                if isinstance(result.type, TensorType):
                    found = float(found) if result.type.dtype.is_floating else int(found)
            else:
                found = _OPERATORS[name](*[values[value] for value in node.inputs])
            if type(found) is int and found not in _INT64:
                self.large.add(result)
            values[result] = found
        for k in self.wanted if state else ():
            state[k] = values[self.body.outputs[k]]


def tensor_ends(body: Graph, test: Graph | None, leaves: Sequence[Any]) -> bool:
    """Whether a tensor certainly decides when the loop ends, so that it would if the loop were unrolled. For the
    arguments see `python_results`."""
    if test is None:
        return False
    inputs = body.inputs[len(body.inputs) - len(leaves):]
    indices = body.inputs[:len(body.inputs) - len(leaves)]
    known = {k for k, leaf in enumerate(leaves) if _is_constant(getattr(leaf, "value", None))}
    while True:
        values = _of_python(body, {*indices, *(inputs[k] for k in known), *_constant_captures(body)})
        lost = {k for k in known if body.outputs[k] not in values}
        if not lost:
            break
        known -= lost
    known_to_test = {*(test.inputs[k] for k in known), *_constant_captures(test)}
    return test.outputs[0] not in _of_python(test, known_to_test)


_SIZES: Final = frozenset({"dim", "list_length"})
"""Ops whose results Python may know, whatever they are applied to."""


def _of_python(graph: Graph, known: set[Value]) -> set[Value]:
    """The values that Python may know if it knows some: numbers, truth values and lists of these."""
    for node in graph.nodes:
        graphs = node.subgraphs
        if node.op.name == "cond":
            if node.inputs[0] in known:
                branches = [(each, _of_python(each, {inner for outer, inner in each.captures if outer in known}))
                            for each in graphs.values()]
                known.update(result for k, result in enumerate(node.outputs) if all(
                    each.outputs[k] in values for each, values in branches))
        elif node.op.name in _SIZES or known.issuperset(node.inputs):
            nodes = [node, *[inner for each in graphs.values() for inner in each.walk()]]
            if node.op.name in _SIZES or all(_is_python_type(value.type) for each in nodes for value in each.outputs):
                known.update(node.outputs)
    return known


def _is_python_type(type: Type) -> bool:
    type = type.element if isinstance(type, ListType) else type
    return isinstance(type, TensorType) and (type.weak or type.dtype.is_bool)


def _is_constant(value: Any) -> bool:
    return isinstance(value, Value) and value.constant is not None and _is_python_type(value.type)


def _constant_captures(graph: Graph) -> list[Value]:
    return [inner for outer, inner in graph.captures if _is_constant(outer)]


def _needed(
    body: Graph, test: Graph | None, loop: _Loop, wanted: set[int]
) -> tuple[set[int], set[Value]]:
    """The variables that the loop must compute for the `wanted` ones, its test, effects and errors; and all values that
    it must compute."""
    if test is not None:
        used = {value for node in test.nodes for value in node.inputs} | {*test.outputs}
        wanted = wanted | {k for k, value in enumerate(test.inputs) if value in used}
    known = set(map(id, loop.nodes))
    values: set[Value] = set()
    for node in body.nodes:
        if id(node) not in known and (node.effect or node.errors):
            values.update(node.inputs)
    while True:
        values.update(body.outputs[k] for k in wanted)
        for node in reversed(body.nodes):
            if not values.isdisjoint(node.outputs):
                values.update(node.inputs)
        more = {k for k, value in enumerate(loop.inputs) if value in values} - wanted
        if not more:
            return wanted, values
        wanted |= more
