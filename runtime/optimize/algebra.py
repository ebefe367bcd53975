"""Rules for values: constants, arithmetic, comparison, logic and dtypes.

Each is exact: the same bits, also for nan, infinities and -0.0. So identities that hold only for real numbers are not
used, and rules for integers say so. (A signalling nan may be kept, where arithmetic would make it quiet.)
"""
from __future__ import annotations

from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.graph import Node, Value
from runtime.core.op import kernel_for
from runtime.core.types import DType, ListType, TensorType
from runtime.optimize.builder import Builder
from runtime.optimize.rules import Result, rule

__all__ = ["made_by", "uniform"]

MOST_FOLDED: Final = 4096  # maximal number of elements of a folded constant


def made_by(value: Value, *ops: str) -> Node | None:
    """The node that defines the value, if it applies one of `ops`."""
    node = value.node
    return node if node is not None and node.op.name in ops else None


def uniform(value: Value) -> Any:
    """The number that all elements of a value equal; None if there is none or it is unknown."""
    node = made_by(value, "broadcast_to")
    constant = (value if node is None else node.inputs[0]).constant
    if constant is None or not constant.size:
        return None
    first = constant.reshape(-1)[0]
    return first if constant.size == 1 or constant.tobytes() == first.tobytes() * constant.size else None


def dtype_of(value: Value) -> DType:
    assert isinstance(value.type, TensorType)
    return value.type.dtype


def _is(value: Value, number: float) -> bool:
    """Whether all elements equal `number`, with the same sign if it is 0."""
    found = uniform(value)
    return found is not None and found == number and (
        bool(np.signbit(found)) is bool(np.signbit(number)) if dtype_of(value).is_floating else True)


def _all_bits(value: Value) -> bool:
    """Whether all elements are True, or the integer with all bits set."""
    found = uniform(value)
    return found is not None and bool(np.invert(found) == 0)


def _filled(b: Builder, node: Node, number: Any) -> Result:
    """A constant that replaces the result of the node, if its shape is known."""
    type = node.outputs[0].type
    assert isinstance(type, TensorType)
    if None in type.shape:
        return None
    value = b.constant(np.array(number, type.dtype.np))
    return b.apply("broadcast_to", value, dims=type.shape) if type.shape else value


# For all ops.

@rule("fold", sees=True)
def fold(b: Builder, node: Node) -> Result:
    """An op on constants is folded, unless the result is larger than they are, or it raises."""
    if not node.inputs:
        return None
    arrays = []
    for value in node.inputs:
        array = value.constant
        if array is None:
            return None
        arrays.append(array)
    room = min(MOST_FOLDED, max(sum(array.size for array in arrays), 1))
    for value in node.outputs:
        if isinstance(value.type, ListType) or None in value.type.shape or (value.type.size or 0) > room:
            return None
    try:
        with np.errstate(all="ignore"):
            kernel = kernel_for(node.op, [value.type for value in node.inputs], [value.type for value in node.outputs])
            found = kernel(*arrays, **node.params)
    except Exception:
        return None  # raised when the op is reached
    results = []
    for array in (found,) if node.single else found:
        array = np.array(array)
        array.setflags(write=False)
        results.append(b.constant(array))
    return results


# Arithmetic.

@rule("identity", "add", "subtract", "multiply", "divide", "floordiv", "pow", "bitwise_and", "bitwise_or",
      "bitwise_xor", "left_shift", "right_shift")
def identity(b: Builder, node: Node) -> Result:
    """x + 0, x - 0, x * 1, x / 1, x // 1, x ** 1, x & ~0, x | 0, x ^ 0, x << 0, x >> 0: x. For floats only x + -0.0,
    x - 0.0, x * 1 and x / 1."""
    x, y = node.inputs
    if y.constant is None and x.constant is None and not (made_by(x, "broadcast_to") or made_by(y, "broadcast_to")):
        return None
    op, dtype = node.op.name, dtype_of(x)
    if dtype.is_complex:
        return None
    if _neutral(op, dtype, y):
        return x
    return y if op in _COMMUTE and _neutral(op, dtype, x) else None


_COMMUTE: Final = frozenset(("add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor"))


def _neutral(op: str, dtype: DType, y: Value) -> bool:
    if op == "bitwise_and":
        return _all_bits(y)
    if op in ("multiply", "divide"):
        return _is(y, 1)
    if op in ("floordiv", "pow"):
        return dtype.is_integer and _is(y, 1)
    return _is(y, -0.0 if op == "add" and dtype.is_floating else 0)


@rule("absorb", "multiply", "mod", "bitwise_and", "bitwise_or")
def absorb(b: Builder, node: Node) -> Result:
    """x * 0, x % 1, x & 0: 0; x | ~0: ~0. For integers and bools."""
    op, dtype = node.op.name, dtype_of(node.inputs[0])
    if not (dtype.is_integer or dtype.is_bool):
        return None
    x, y = node.inputs
    if op == "mod":
        return _filled(b, node, 0) if _is(y, 1) else None
    for value in (x, y):
        if _all_bits(value) if op == "bitwise_or" else _is(value, 0):
            return _filled(b, node, uniform(value))
    return None


@rule("same", "subtract", "bitwise_xor", "bitwise_and", "bitwise_or", "maximum", "minimum", "equal", "not_equal",
      "less", "less_equal", "greater", "greater_equal")
def same(b: Builder, node: Node) -> Result:
    """x & x, x | x, max(x, x), min(x, x): x. For integers and bools x - x, x ^ x: 0; x == x: True, x < x: False."""
    x, y = node.inputs
    if x is not y:
        return None
    op = node.op.name
    if op in ("bitwise_and", "bitwise_or", "maximum", "minimum"):
        return x
    if dtype_of(x).level > 1:
        return None
    return _filled(b, node, op in ("equal", "less_equal", "greater_equal"))


@rule("cancel", "subtract")
def cancel(b: Builder, node: Node) -> Result:
    """(x + y) - x: y; (x + 3) - (x + 1): 2. For integers."""
    x, y = node.inputs
    if not dtype_of(x).is_integer:
        return None
    (base, more), (other, less) = _without_constant(x), _without_constant(y)
    if base is other and (more is not None or less is not None):
        zero = np.zeros((), dtype_of(x).np)
        return _filled(b, node, np.subtract(zero if more is None else more, zero if less is None else less))
    total = made_by(x, "add")
    for term, rest in (total.inputs, total.inputs[::-1]) if total is not None else ():
        if term is y and rest.type == node.outputs[0].type:
            return rest
    return None


def _without_constant(x: Value) -> tuple[Value, Any]:
    """The value to which a number is added to make `x`, and the number; None if there is none."""
    total = made_by(x, "add", "subtract")
    if total is None:
        return x, None
    left, right = map(uniform, total.inputs)
    if right is not None:
        return total.inputs[0], right if total.op.name == "add" else np.negative(right)
    return (total.inputs[1], left) if left is not None and total.op.name == "add" else (x, None)


@rule("gather constants", "add", "subtract", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor")
def gather_constants(b: Builder, node: Node) -> Result:
    """(x + 1) + 2: x + 3. The same for -, *, &, | and ^. For integers and bools."""
    op, (x, y) = node.op.name, node.inputs
    if dtype_of(x).level > 1:
        return None
    if y.constant is None:
        if x.constant is None or op == "subtract":
            return None
        x, y = y, x
    inner = made_by(x, *(("add", "subtract") if op in ("add", "subtract") else (op,)))
    if inner is None:
        return None
    z, c = inner.inputs
    if c.constant is None:
        if inner.op.name == "subtract":
            return None
        z, c = c, z
    if c.constant is None:
        return None
    if op not in ("add", "subtract"):
        return b.apply(op, z, b.apply(op, c, y))
    if inner.op.name == op:
        return b.apply(op, z, b.apply("add", c, y))
    return b.apply(op, z, b.apply("subtract", y, c))


@rule("twice", "negative", "invert", "conj")
def twice(b: Builder, node: Node) -> Result:
    """-(-x), ~~x, conj(conj(x)): x."""
    inner = made_by(node.inputs[0], node.op.name)
    return None if inner is None else inner.inputs[0]


_IDEMPOTENT: Final = {
    "abs": ("abs",), "floor": ("floor", "ceil", "rint"), "ceil": ("floor", "ceil", "rint"),
    "rint": ("floor", "ceil", "rint"), "relu": ("relu",), "sign": ("sign",),
}


@rule("once", *_IDEMPOTENT)
def once(b: Builder, node: Node) -> Result:
    """abs(abs(x)): abs(x). The same for sign and relu; floor, ceil and rint of one another."""
    x = node.inputs[0]
    return None if made_by(x, *_IDEMPOTENT[node.op.name]) is None else x


@rule("abs of negative", "abs")
def abs_of_negative(b: Builder, node: Node) -> Result:
    """abs(-x): abs(x), but for unsigned ints, of which -x is another number."""
    inner = made_by(node.inputs[0], "negative")
    if inner is None or dtype_of(inner.inputs[0]).is_unsigned:
        return None
    return b.apply("abs", inner.inputs[0])


@rule("stop_gradient", "stop_gradient")
def stop_gradient(b: Builder, node: Node) -> Result:
    """stop_gradient(x): x. Gradients have been taken by then."""
    return node.inputs[0]


# Comparison and logic.

_OPPOSITE: Final = {"less": "greater_equal", "less_equal": "greater", "greater": "less_equal",
                    "greater_equal": "less", "equal": "not_equal", "not_equal": "equal"}


@rule("not of a comparison", "invert")
def not_of_comparison(b: Builder, node: Node) -> Result:
    """not x == y: x != y, and vice versa. For integers and bools also not x < y: x >= y, and so on."""
    inner = made_by(node.inputs[0], *_OPPOSITE)
    if inner is None or (inner.op.name not in ("equal", "not_equal") and dtype_of(inner.inputs[0]).level > 1):
        return None
    return b.apply(_OPPOSITE[inner.op.name], *inner.inputs)


@rule("compared with a bool", "equal", "not_equal", "bitwise_xor")
def compared_with_bool(b: Builder, node: Node) -> Result:
    """p == True, p != False: p. p == False, p != True, p ^ True: not p."""
    x, y = node.inputs
    if not dtype_of(x).is_bool:
        return None
    for value, other in ((x, y), (y, x)):
        found = uniform(value)
        if found is not None and other.type.accepts(node.outputs[0].type):
            return other if bool(found) is (node.op.name == "equal") else b.apply("invert", other)
    return None


@rule("where", "where")
def where(b: Builder, node: Node) -> Result:
    """where(c, x, x): x. where(True, x, y): x. where(not c, x, y): where(c, y, x). For bools where(c, True, y) and
    where(c, c, y): c | y; where(c, x, False) and where(c, x, c): c & x; where(c, False, True): not c."""
    condition, x, y = node.inputs
    if x is y:
        return x
    found = uniform(condition)
    if found is not None:
        return x if found else y
    inverted = made_by(condition, "invert")
    if inverted is not None:
        return b.apply("where", inverted.inputs[0], y, x)
    if not dtype_of(x).is_bool:
        return None
    first, second = uniform(x), uniform(y)
    if first is not None and second is not None:
        return x if first == second else condition if first else b.apply("invert", condition)
    if x is condition or (first is not None and first):
        return b.apply("bitwise_or", condition, y)
    return b.apply("bitwise_and", condition, x) if y is condition or (second is not None and not second) else None


@rule("where of where", "where")
def where_of_where(b: Builder, node: Node) -> Result:
    """where(c, where(c, x, y), z): where(c, x, z). The same for the other operand."""
    condition, x, y = node.inputs
    for i, value in enumerate((x, y)):
        inner = made_by(value, "where")
        if inner is not None and inner.inputs[0] is condition and not inner.errors:
            parts = [x, y]
            parts[i] = inner.inputs[1 + i]
            return b.apply("where", condition, *parts)
    return None


# Dtypes.

@rule("cast", "cast")
def cast(b: Builder, node: Node) -> Result:
    """A cast to the dtype that the value has is removed. So is a lossless cast before another cast."""
    x = node.inputs[0]
    if not isinstance(x.type, TensorType):
        return None
    wanted = dtype_of(node.outputs[0])
    if x.type.dtype is wanted:
        return x
    inner = made_by(x, "cast")
    if inner is None:
        return None
    source = inner.inputs[0]
    if not (_holds(x.type.dtype, dtype_of(source)) and _passes(dtype_of(source), x.type.dtype, wanted)):
        return None
    return source if dtype_of(source) is wanted else b.apply("cast", source, dtype=wanted)


_DIGITS: Final = {t.float16: 11, t.float32: 24, t.float64: 53, t.complex64: 24, t.complex128: 53}


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether `wide` can represent each value of `narrow`."""
    if wide is narrow or narrow.is_bool:
        return True
    if wide.is_bool or wide.level < narrow.level:
        return False
    if wide.is_integer:
        return bool(wide.limits[0] <= narrow.limits[0] and narrow.limits[1] <= wide.limits[1])
    if wide.is_narrow or narrow.is_narrow:
        return narrow.is_narrow and wide.size >= 4
    if narrow.is_integer:
        return bool(max(-narrow.limits[0], narrow.limits[1] + 1) <= 1 << _DIGITS[wide])
    return _DIGITS[narrow] <= _DIGITS[wide]


def _passes(source: DType, middle: DType, target: DType) -> bool:
    """Whether a cast from source to target equals one by way of `middle`, which can represent all of source.

    The result for a float out of an integer's range depends on the float's dtype, and NumPy rounds integers twice on
    the way to float16.
    """
    if target.is_integer and not middle.is_integer:
        return source.is_bool or _holds(target, source)
    if target is t.float16 and not middle.is_integer:
        return not source.is_integer or source.size <= 2
    return True
