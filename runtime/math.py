"""Mathematical functions (`tf.math`)."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograph.backend import deferred
from runtime import special
from runtime.core.public_names import hint_at_public_names
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import float32
from runtime.incomplete import betainc, igamma, igammac, lbeta, polygamma, zeta
from runtime.ops.complex_numbers import angle, complex, conj, imag, real
from runtime.ops.creation import ones_like, zeros_like
from runtime.ops.creation import range as range_
from runtime.ops.gather import gather
from runtime.ops.integrals import bessel_i0, bessel_i0e, bessel_i1, bessel_i1e
from runtime.ops.linalg import l2_normalize
from runtime.ops.logic import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    where,
)
from runtime.ops.math import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    cos,
    cosh,
    divide,
    divide_no_nan,
    erf,
    erfc,
    erfinv,
    exp,
    expm1,
    floor,
    floordiv,
    gcd,
    is_finite,
    is_inf,
    is_nan,
    lcm,
    log,
    log1p,
    maximum,
    minimum,
    mod,
    multiply,
    negative,
    nextafter,
    pow,
    reciprocal,
    rint,
    round,
    rsqrt,
    scalar_mul,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    squared_difference,
    stop_gradient,
    subtract,
    tan,
    tanh,
    truediv,
)
from runtime.ops.math import mod as floormod
from runtime.ops.nn import log_sigmoid, log_softmax, softmax, softplus, softsign
from runtime.ops.op_makers import matching, named
from runtime.ops.reduction import (
    add_n,
    argmax,
    argmin,
    count_nonzero,
    cumprod,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_euclidean_norm,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_std,
    reduce_sum,
    reduce_variance,
)
from runtime.ops.segments import (
    bincount,
    confusion_matrix,
    invert_permutation,
    lgamma,
    polyval,
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
    zero_fraction,
)
from runtime.ops.sequences import is_non_decreasing, is_strictly_increasing
from runtime.ops.shape import dim, moveaxis, reshape
from runtime.ops.sorting import approx_max_k, approx_min_k, in_top_k, top_k
from runtime.ops.special_functions import digamma
from runtime.ops.static_arguments import axis_of
from runtime.ops.string_tensors import add

if TYPE_CHECKING:
    from runtime.staging import control_flow
else:
    control_flow = deferred("runtime.staging.control_flow")

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "approx_max_k", "approx_min_k", "argmax",
    "argmin", "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e",
    "betainc", "bincount", "ceil", "complex", "confusion_matrix", "conj", "cos", "cosh", "count_nonzero", "cumprod",
    "cumsum", "cumulative_logsumexp", "digamma", "divide", "divide_no_nan", "equal", "erf", "erfc", "erfcinv",
    "erfinv", "exp", "expm1", "floor", "floordiv", "floormod", "gcd", "greater", "greater_equal", "igamma", "igammac",
    "imag", "in_top_k", "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing",
    "is_strictly_increasing", "l2_normalize", "lbeta", "lcm", "less", "less_equal", "lgamma", "log", "log1p",
    "log_sigmoid", "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "mod", "multiply", "multiply_no_nan", "ndtri", "negative", "nextafter", "not_equal", "polygamma", "polyval", "pow",
    "real", "reciprocal", "reciprocal_no_nan", "reduce_all", "reduce_any", "reduce_euclidean_norm", "reduce_logsumexp",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance", "rint",
    "round", "rsqrt", "scalar_mul", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
    "sigmoid", "sign", "sin", "sinh", "softmax", "softplus", "softsign", "special", "sqrt", "square",
    "squared_difference", "subtract", "tan", "tanh", "top_k", "truediv", "unsorted_segment_max",
    "unsorted_segment_mean", "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n",
    "unsorted_segment_sum", "xdivy", "xlog1py", "xlogy", "zero_fraction", "zeta",
]


def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape (`tf.math.accumulate_n`)."""
    return add_n(inputs, name)


def erfcinv(x: Any, name: str | None = None) -> Tensor:
    """The inverse of erfc, element-wise, of floats (`tf.math.erfcinv`)."""
    value = convert_to_tensor(x, dtype_hint=float32)
    return multiply(ndtri(multiply(0.5, value)), -(0.5 ** 0.5), name)


def ndtri(x: Any, name: str | None = None) -> Tensor:
    """The quantile of the standard normal distribution, element-wise, of floats (`tf.math.ndtri`)."""
    value = convert_to_tensor(x, dtype_hint=float32)
    return multiply(erfinv(subtract(multiply(2.0, value), 1.0)), 2.0 ** 0.5, name)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, 0 where x is 0, element-wise (`tf.math.reciprocal_no_nan`)."""
    value = convert_to_tensor(x, dtype_hint=float32)
    return divide_no_nan(ones_like(value), value, name)


def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y, but 0 where y is 0, even if x is infinite or NaN (`tf.math.multiply_no_nan`)."""
    x, y = matching(x, y)
    lost = logical_and(equal(y, 0), not_equal(subtract(x, x), 0))  # otherwise y keeps its derivative x
    return multiply(where(lost, zeros_like(x), x), y, name)


def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * log(y), but 0 where x is 0 (`tf.math.xlogy`)."""
    x, y = matching(x, y)
    zero = equal(x, 0)
    return named(where(zero, zeros_like(x), multiply(x, log(where(zero, ones_like(y), y)))), name)


def xlog1py(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * log(1 + y), but 0 where x is 0 (`tf.math.xlog1py`)."""
    x, y = matching(x, y)
    zero = equal(x, 0)
    return named(where(zero, zeros_like(x), multiply(x, log1p(where(zero, zeros_like(y), y)))), name)


def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, 0 where x is 0, element-wise (`tf.math.xdivy`)."""
    x, y = matching(x, y)
    is_zero = equal(x, 0)
    return named(where(is_zero, zeros_like(x), divide(x, where(is_zero, ones_like(y), y))), name)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """log(sum(exp(x))) of the elements up to each one along `axis`, without overflow, for floats
    (`tf.math.cumulative_logsumexp`).

    `exclusive`: without the element itself; `reverse`: from the end. The sum of nothing is -inf.
    """
    values = convert_to_tensor(x, dtype_hint=float32)
    along = axis_of("cumulative_logsumexp", axis, values.ndim)
    rows = moveaxis(values, along, 0)
    if reverse:
        rows = rows[::-1]
    if exclusive:
        rows = _later(rows, 1)
    count = dim(rows, 0)
    _, rows = control_flow.while_loop(
        lambda step, _: step < count, lambda step, y: (step * 2, _logaddexp(y, _later(y, step))),
                         (1, rows))
    return named(moveaxis(rows[::-1] if reverse else rows, 0, along), name)


def _later(rows: Tensor, step: Any) -> Tensor:
    """The rows moved to the place `step` further, after rows of -inf."""
    places = range_(dim(rows, 0)) - step
    there = reshape(greater_equal(places, 0), [-1, *[1] * (rows.ndim - 1)])
    return where(there, gather(rows, maximum(places, 0)), -float("inf"))


def _logaddexp(x: Tensor, y: Tensor) -> Tensor:
    top = stop_gradient(maximum(x, y))
    is_empty = equal(top, -float("inf"))
    shift = where(is_finite(top), top, 0.0)
    total = exp(x - shift) + exp(y - shift)
    return where(is_empty, top, log(where(is_empty, 1.0, total)) + shift)


hint_at_public_names(__name__)
