"""Rules for special functions, and for functions of Python's `math`, which take scalars."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import pi
from typing import Any, Final

from runtime.autodiff.rules.broadcasting import broadcast_like, reshape_like
from runtime.autodiff.rules.elementwise import total
from runtime.autodiff.rules.registry import Applied, constant, jvp, vjp
from runtime.core.types import int64
from runtime.ops.concat_split import concat
from runtime.ops.indexing import getitem
from runtime.ops.integrals import SPECIAL
from runtime.ops.logic import equal, where
from runtime.ops.math import add, cast, cos, exp, exp2, log, multiply, negative, sign, sin
from runtime.ops.op_makers import apply_one
from runtime.ops.python_math import STATISTICS
from runtime.ops.reduction import reduce_sum
from runtime.ops.shape import reshape, size
from runtime.ops.special_functions import POLYGAMMA, digamma


@vjp("polygamma")
@jvp("polygamma")
def _polygamma(node: Applied, t: Any) -> Sequence[Any]:
    return [multiply(t, apply_one(POLYGAMMA, node.inputs[0], order=node.params["order"] + 1))]


def _of(function: str, x: Any) -> Any:
    return apply_one(SPECIAL, x, function=function)


_SLOPES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "bessel_i0": lambda x, y: _of("bessel_i1", x),
    "bessel_i0e": lambda x, y: _of("bessel_i1e", x) - sign(x) * y,
    "bessel_i1": lambda x, y: _of("bessel_i0", x) - _over(y, x, 0.5),
    "bessel_i1e": lambda x, y: _of("bessel_i0e", x) - sign(x) * y - _over(y, x, 0.5),
    "bessel_j0": lambda x, y: -_of("bessel_j1", x),
    "bessel_j1": lambda x, y: _of("bessel_j0", x) - _over(y, x, 0.5),
    "bessel_y0": lambda x, y: -_of("bessel_y1", x),
    "bessel_y1": lambda x, y: _of("bessel_y0", x) - y / x,
    "bessel_k0": lambda x, y: -_of("bessel_k1", x),
    "bessel_k0e": lambda x, y: y - _of("bessel_k1e", x),
    "bessel_k1": lambda x, y: -_of("bessel_k0", x) - y / x,
    "bessel_k1e": lambda x, y: y - y / x - _of("bessel_k0e", x),
    "dawsn": lambda x, y: 1.0 - 2.0 * x * y,
    "expint": lambda x, y: exp(x) / x,
    "fresnel_cos": lambda x, y: cos(x * x * (pi / 2)),
    "fresnel_sin": lambda x, y: sin(x * x * (pi / 2)),
    "spence": lambda x, y: where(equal(x, 1.0), -1.0, log(x) / (1.0 - where(equal(x, 1.0), 2.0, x)))}
"""The derivative of each function by its argument and its value."""


def _over(y: Any, x: Any, limit: float) -> Any:
    """y / x, with its limit at 0."""
    is_zero = equal(x, 0.0)
    return where(is_zero, limit, y / where(is_zero, 1.0, x))


@vjp("special_function")
@jvp("special_function")
def _special(node: Applied, t: Any) -> Sequence[Any]:
    return [multiply(t, _SLOPES[node.params["function"]](node.inputs[0], node.outputs[0]))]


# Functions of Python's `math`. Their results may have more bits than their operands.

def _of_first(partial: Callable[..., Any], *names: str) -> None:
    """Register functions with a derivative by the first operand only: `partial(t, x, out, *others)` is t times it."""
    @vjp(*names)
    def pull(node: Applied, ct: Any) -> Sequence[Any]:
        x, *others = node.inputs
        return [cast(partial(ct, cast(x, ct.dtype), node.outputs[0], *others), x.dtype), *[None] * len(others)]

    @jvp(*names)
    def push(node: Applied, t: Any, *_: Any) -> Sequence[Any]:
        (x, *others), out = node.inputs, node.outputs[0]
        return [None if t is None else partial(cast(t, out.dtype), cast(x, out.dtype), out, *others)]


_of_first(lambda t, x, out: t * (out * digamma(x)), "gamma")
_of_first(lambda t, x, out: t * digamma(x), "lgamma")
_of_first(lambda t, x, out, *_: t, "nextafter", "nextafter_steps")
_of_first(lambda t, x, out, i: t * exp2(cast(i, t.dtype)), "ldexp")

constant("a step function: its derivative is 0 wherever it has one", "ulp")
constant("its result is an int", "sumprod_ints")


@vjp("frexp")
def _frexp(node: Applied, ct: Any, _: Any) -> Sequence[Any]:
    return [None if ct is None else cast(_scaled(ct, node), node.inputs[0].dtype)]


@jvp("frexp")
def _frexp_tangent(node: Applied, t: Any) -> Sequence[Any]:
    return [_scaled(cast(t, node.outputs[0].dtype), node), None]


def _scaled(t: Any, node: Applied) -> Any:
    return multiply(t, exp2(negative(cast(node.outputs[1], t.dtype))))


@vjp("fsum")
def _fsum(node: Applied, ct: Any) -> Sequence[Any]:
    return [broadcast_like(cast(ct, x.dtype), x) if want else None
            for x, want in zip(node.inputs, node.wanted, strict=True)]


@jvp("fsum")
def _fsum_tangent(node: Applied, *tangents: Any) -> Sequence[Any]:
    return [total([None if t is None else reduce_sum(cast(t, node.outputs[0].dtype)) for t in tangents])]


@vjp("fma")
def _fma(node: Applied, ct: Any) -> Sequence[Any]:
    x, y, z = node.inputs
    found = multiply(ct, cast(y, ct.dtype)), multiply(ct, cast(x, ct.dtype)), ct
    return [cast(part, operand.dtype) if want else None
            for part, operand, want in zip(found, (x, y, z), node.wanted, strict=True)]


@jvp("fma")
def _fma_tangent(node: Applied, *tangents: Any) -> Sequence[Any]:
    dtype = node.outputs[0].dtype
    x, y, _ = (cast(operand, dtype) for operand in node.inputs)
    t, u, v = (None if tangent is None else cast(tangent, dtype) for tangent in tangents)
    return [total([None if t is None else multiply(t, y), None if u is None else multiply(u, x), v])]


@vjp("sumprod")
def _sumprod(node: Applied, ct: Any) -> Sequence[Any]:
    count = node.params["count"]
    first, second = node.inputs[:count], node.inputs[count:]
    found = [*_parts(multiply(ct, _flat(second, ct.dtype)), first),
             *_parts(multiply(ct, _flat(first, ct.dtype)), second)]
    return [part if want else None for part, want in zip(found, node.wanted, strict=True)]


@jvp("sumprod")
def _sumprod_tangent(node: Applied, *tangents: Any) -> Sequence[Any]:
    count, dtype = node.params["count"], node.outputs[0].dtype
    t = [multiply(cast(x, dtype), 0) if tangent is None else tangent
         for x, tangent in zip(node.inputs, tangents, strict=True)]
    left = multiply(_flat(t[:count], dtype), _flat(node.inputs[count:], dtype))
    right = multiply(_flat(node.inputs[:count], dtype), _flat(t[count:], dtype))
    return [reduce_sum(add(left, right))]


def _flat(xs: Sequence[Any], dtype: Any) -> Any:
    """Scalars and vectors as one vector."""
    return concat([reshape(cast(x, dtype), [-1]) for x in xs], 0)


def _parts(whole: Any, xs: Sequence[Any]) -> Sequence[Any]:
    """The parts of a vector that belong to the operands."""
    ends = list(accumulate([size(x, int64) for x in xs], add))
    starts = [0, *ends[:-1]]
    return [cast(reshape_like(getitem(whole, slice(start, end)), x), x.dtype)
            for start, end, x in zip(starts, ends, xs, strict=True)]


# Functions of `statistics`.

def _slopes(node: Applied) -> Any:
    """The derivatives by all numbers of the data, as one vector."""
    kind, out = node.name.removeprefix("statistics_"), node.outputs[0]
    data = _flat(node.inputs, out.dtype)
    count = cast(size(data, int64), out.dtype)
    if kind == "mean":
        return multiply(data, 0) + 1 / count
    less = count - 1 if kind in ("variance", "stdev") else count
    found = (data - reduce_sum(data) / count) / less
    return found / out if kind.endswith("stdev") else found * 2


def _of_statistics(*names: str) -> None:
    @vjp(*names)
    def pull(node: Applied, ct: Any) -> Sequence[Any]:
        found = _parts(multiply(ct, _slopes(node)), node.inputs)
        return [part if want else None for part, want in zip(found, node.wanted, strict=True)]

    @jvp(*names)
    def push(node: Applied, *tangents: Any) -> Sequence[Any]:
        dtype = node.outputs[0].dtype
        t = [multiply(cast(x, dtype), 0) if tangent is None else tangent
             for x, tangent in zip(node.inputs, tangents, strict=True)]
        return [reduce_sum(multiply(_flat(t, dtype), _slopes(node)))]


_of_statistics(*[f"statistics_{name}" for name in STATISTICS])
