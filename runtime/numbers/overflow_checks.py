"""Overflow checks: where Python raises an error, or its result exceeds 64 bits, the graph raises, so no Python number
is silently wrong.

Tensors wrap around, or become inf or nan, as in TF. Values that stand for Python numbers alone are checked: a
`raise_unless` follows each node whose result may differ from Python's, unless range analysis of its operands rules that
out. So counters, sums in counted loops and remainders are not checked.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from runtime.core.errors import (
    DivisionByZeroError,
    DTypeOverflowError,
    InvalidArgumentError,
    InvalidNumberError,
    NumberOverflowError,
    locate,
)
from runtime.core.formatting import formatted
from runtime.core.graph import Graph, Node, Value
from runtime.core.integer_ranges import INT64, Bounds, Interval, within
from runtime.core.op import CONST, REGISTRY
from runtime.core.positions import Position
from runtime.core.tensor import GraphTensor
from runtime.core.types import DType, ListType, TensorType, float64, int32, int64
from runtime.ops import overflow  # noqa: F401  which registers its ops
from runtime.ops.effects import RAISE_UNLESS, Raised

__all__ = ["add_checks", "is_checked"]

_SIGNS: Final = {"add": "+", "subtract": "-", "multiply": "*", "negative": "-", "floordiv": "//", "pow": "**",
                 "left_shift": "<<", "abs": "abs", "reduce_sum": "sum"}
_WIDER: Final = ("Take the remainder earlier (% m), compute with floats, or begin with a tensor, such as "
                 "rt.constant(0, rt.int64), which begins anew beyond 2**63.")
_LEAST: Final = INT64[0]


def is_checked(node: Node) -> bool:
    """Whether the result of a node in a traced graph may differ from Python's for Python numbers, as its op
    declares."""
    return bool(node.outputs) and any(
        issubclass(error, (NumberOverflowError, InvalidNumberError)) for error in node.own_errors)


def add_checks(graph: Graph, numbers: Mapping[Node, Position | None]) -> None:
    """Add checks to the nodes `numbers` of the graph and its sub-graphs, with these positions: results computed from
    Python numbers alone, and casts of Python numbers to dtypes with less range."""
    if not numbers:
        return
    bounds = Bounds(graph, numbers)
    for inner in dict.fromkeys(node_graph(node) for node in numbers):
        nodes: list[Node] = []
        for node in inner.nodes:
            nodes.append(node)
            if node in numbers:
                _Check(inner, node, bounds, numbers[node], nodes).add()
        inner.nodes = nodes


def node_graph(node: Node) -> Graph:
    return node.outputs[0].graph


class _Check:
    """Adds the check of one node to `nodes`."""

    def __init__(self, graph: Graph, node: Node, bounds: Bounds, place: Position | None, nodes: list[Node]) -> None:
        self.graph, self.node, self.bounds, self.place, self.nodes = graph, node, bounds, place, nodes
        self.result = node.outputs[0]

    # The checks.

    def add(self) -> None:
        if isinstance(self.result.type, ListType):
            self._narrowed()
        elif self.node.op.name == "cast":
            self._cast(self.result.type.dtype)
        elif self.result.type.dtype.is_floating:
            self._power_of_floats()
        else:
            self._arithmetic()

    def _cast(self, dtype: DType) -> None:
        (x,) = self.node.inputs
        assert isinstance(x.type, TensorType)
        if dtype is int64:
            self._converted()
        elif dtype is int32 and not x.type.dtype.is_floating:
            self._narrowed()
        else:
            self._stored()

    def _arithmetic(self) -> None:
        name, inputs = self.node.op.name, self.node.inputs
        first = name == "left_shift" and _most_shifted(inputs[0]) is not None  # only the operand is checked
        if first:
            self.nodes.pop()
        if name in ("left_shift", "right_shift") and self.bounds.of(inputs[1])[0] < 0:
            self._unless(self._apply("greater_equal", inputs[1], self._like(0, inputs[1])),
                         InvalidNumberError("negative shift count"))
        if name != "right_shift" and not within(self._exact(), INT64):
            sign = _SIGNS[name]
            what = f"the result of {sign}" if not sign.isalpha() else f"{sign}()"
            self._unless(self._fits(name, *inputs), NumberOverflowError(
                f"{what} does not fit int64: ints that Python made have 64 bits in a graph", remedy=_WIDER))
        if first:
            inputs[1] = self._apply("bitwise_and", inputs[1], self._like(63, inputs[1]))  # a no-op; it informs LLVM
            self.nodes.append(self.node)

    def _exact(self) -> Interval:
        if self.node.op.name != "reduce_sum":
            return self.bounds.exact(self.node)
        (x,) = self.node.inputs
        assert isinstance(x.type, TensorType)
        low, high = self.bounds.of(x)
        count = x.type.size or 1 << 40
        return count * min(low, 0), count * max(high, 0)

    def _fits(self, name: str, *xs: Value) -> Value:
        """A condition under which the result of an op is exact."""
        if name in ("add", "subtract", "multiply"):
            return self._apply(name + "_fits", *xs)
        x, y = xs[0], xs[-1]
        if name in ("negative", "abs"):
            return self._apply("not_equal", x, self._like(_LEAST, x))
        if name == "floordiv":
            return self._apply("bitwise_or", self._apply("not_equal", y, self._like(-1, y)),
                               self._apply("not_equal", x, self._like(_LEAST, x)))
        if name == "left_shift":
            most = _most_shifted(x)
            if most is not None:
                return self._apply("less_equal", y, self._like(most, y))
            return self._apply("equal", self._apply("right_shift", self.result, y), x)
        if name == "reduce_sum":  # sums of the lower and upper bits separately
            low = self._apply("reduce_sum", self._apply("bitwise_and", x, self._like((1 << 32) - 1, x)),
                              **self.node.params)
            high = self._apply("reduce_sum", self._apply("right_shift", x, self._like(32, x)), **self.node.params)
            total = self._apply("add", high, self._apply("right_shift", low, self._like(32, low)))
            return self._inside(total, -1 << 31, 1 << 31)
        # compare as floats: a result that wrapped around differs by at least 2**62 (see `multiply_fits`)
        near = self._apply("pow", *(self._apply("cast", v, dtype=float64) for v in xs))
        away = self._apply("abs", self._apply("subtract", near, self._apply("cast", self.result, dtype=float64)))
        return self._apply("less", away, self._like(2.0 ** 62, away))

    def _narrowed(self) -> None:
        """The check for Python ints that become int32."""
        (source,) = self.node.inputs
        several = source.type if isinstance(source.type, ListType) else None
        if several is None and within(self.bounds.of(source), int32.limits):
            return
        self.nodes.pop()  # before the list is converted
        number = self._apply("list_stack", source, element=several.element) if several is not None else source
        is_one = isinstance(number.type, TensorType) and not number.type.shape and several is None
        text = formatted(GraphTensor(number)) if is_one else "an item"
        low, high = int32.limits
        narrow = self._apply("cast", number, dtype=int32)
        fits = self._apply("equal", self._apply("cast", narrow, dtype=int64), number)
        self._unless(fits, DTypeOverflowError(
            text + f" does not fit int32, which goes from {low} to {high}: ints of Python's become that where they are "
            "returned, or meet a tensor of int32",
            remedy="Begin with a tensor of 64 bits, such as rt.constant(0, rt.int64)."))
        self.nodes.append(self.node)

    def _stored(self) -> None:
        """The check for Python numbers that become elements of an array of ints, with NumPy's errors."""
        (x,) = self.node.inputs
        assert isinstance(x.type, TensorType) and isinstance(self.result.type, TensorType)
        dtype = self.result.type.dtype
        low, high = dtype.limits
        if not x.type.dtype.is_floating and within(self.bounds.of(x), (low, high)):
            return
        self.nodes.pop()
        if x.type.dtype.is_floating:
            self._unless(self._apply("equal", x, x), InvalidNumberError("cannot convert float NaN to integer"))
            fits = self._apply("bitwise_and", self._apply("greater", x, self._like(low - 1.0, x)),
                               self._apply("less", x, self._like(high + 1.0, x)))
        else:
            bounds = [("greater_equal", low)] * (low > INT64[0]) + [("less_equal", high)] * (high < INT64[1])
            each = [self._apply(name, x, self._like(bound, x)) for name, bound in bounds]
            fits = each[0] if len(each) == 1 else self._apply("bitwise_and", *each)
        text = "an item" if x.type.shape else formatted(GraphTensor(x))
        self._unless(fits, NumberOverflowError(
            text + f" does not fit {dtype.name}, which goes from {low} to {high}",
            remedy="Take the remainder first (% m), or give the array a dtype with more bits."))
        self.nodes.append(self.node)

    def _converted(self) -> None:
        """The check for `int(x)` of a dtype other than int64."""
        (x,) = self.node.inputs
        assert isinstance(x.type, TensorType)
        if not x.type.dtype.is_floating and within(self.bounds.of(x), INT64):
            return
        text = formatted(GraphTensor(x)) + " does not fit int64: ints that Python made have 64 bits in a graph"
        if not x.type.dtype.is_floating:
            fits = self._apply("less_equal", x, self._like(INT64[1], x))  # for uint64
        else:
            self._unless(self._apply("equal", x, x), InvalidNumberError("cannot convert float NaN to integer"))
            fits = (self._inside(x, -2.0 ** 63, 2.0 ** 63) if x.type.dtype.size > 2
                    else self._apply("less", self._apply("abs", x), self._like(math.inf, x)))
        self._unless(fits, NumberOverflowError(text))

    def _power_of_floats(self) -> None:
        x, y = self.node.inputs
        base, exponent = x.constant, y.constant
        zero = self._like(0.0, x)
        if exponent is None or not np.all(exponent >= 0):
            self._unless(self._apply("bitwise_or", self._apply("not_equal", x, zero),
                                     self._apply("greater_equal", y, self._like(0.0, y))),
                         DivisionByZeroError(_ZERO_POWER))
        if (base is None or not np.all(base >= 0)) and (exponent is None or not np.all(exponent == np.floor(exponent))):
            is_nan = [self._apply("not_equal", v, v) for v in (x, y)]
            holds = self._apply("equal", self.result, self.result)
            for v in is_nan:
                holds = self._apply("bitwise_or", holds, v)
            self._unless(holds, InvalidArgumentError(
                "a negative float to a fractional power is a complex number in Python, and a float in a graph",
                remedy="Take the power of complex(x), or of abs(x)."))
        if exponent is not None and np.all((exponent >= 0) & (exponent <= 1)):
            return
        size = self._apply("abs", self.result)
        holds = self._apply("not_equal", size, self._like(math.inf, size))
        for v in (x, y):
            if v.constant is None:
                size = self._apply("abs", v)
                holds = self._apply("bitwise_or", holds, self._apply("equal", size, self._like(math.inf, size)))
        self._unless(holds, NumberOverflowError("(34, 'Numerical result out of range')"))

    # Nodes.

    def _inside(self, x: Value, low: float, high: float) -> Value:
        return self._apply("bitwise_and", self._apply("greater_equal", x, self._like(low, x)),
                           self._apply("less", x, self._like(high, x)))

    def _apply(self, name: str, *inputs: Value, **params: Any) -> Value:
        op = REGISTRY[name]
        return self._node(Node(self.graph, op, inputs, params, op.rule(*[v.type for v in inputs], **params),
                               self.place)).outputs[0]

    def _like(self, number: float, x: Value) -> Value:
        """A scalar constant in the dtype of `x`."""
        assert isinstance(x.type, TensorType)
        params = {"value": np.array(number, x.type.dtype.np)}
        return self._node(Node(self.graph, CONST, (), params, TensorType(x.type.dtype, ()), self.place)).outputs[0]

    def _node(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def _unless(self, holds: Value, error: Exception) -> None:
        """Raise the error, at the user's line, unless the condition holds for all elements."""
        assert isinstance(holds.type, TensorType)
        if holds.type.shape:
            holds = self._apply("reduce_all", holds, axis=tuple(range(len(holds.type.shape))), keepdims=False)
        locate(error, self.place)
        operands: list[Any] = []
        raised = Raised.of(error, operands, self.place)
        self._node(Node(self.graph, RAISE_UNLESS, [holds, *(x.value for x in operands)], {"raised": raised}, (),
                        self.place))


def _most_shifted(x: Value) -> int | None:
    """The number of bits by which a non-zero constant can be shifted to the left without overflow; None otherwise."""
    number = 0 if x.constant is None or x.constant.ndim else int(x.constant)
    return 63 - max(number, ~number).bit_length() if number else None


def _zero_power() -> str:
    """This Python version's message for 0.0**-1."""
    try:
        return str(0.0 ** int("-1"))
    except ZeroDivisionError as error:
        return str(error)


_ZERO_POWER: Final = _zero_power()
