"""Reductions along axes, and cumulative sums and products."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

import numpy as np

from autograph.backend import has_staged_items
from runtime.core import types as t
from runtime.core.errors import NumberOverflowError, ShapeError
from runtime.core.op import Errors, Op, Sample
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_beside, convert_to_tensor
from runtime.core.types import DType, TensorType
from runtime.ops import math
from runtime.ops.checks import all_of, message, require, same
from runtime.ops.logic import not_equal, where
from runtime.ops.op_makers import (
    BOOL,
    INEXACT,
    INTS,
    NUMERIC,
    REAL,
    DTypes,
    apply_one,
    check_dtype,
    named,
    of_ints,
    random_array,
)
from runtime.ops.shape import along, dim, dims, product, squeeze
from runtime.ops.static_arguments import axes_of, axis_of

Axes = tuple[int, ...]


class Reduction(Protocol):
    op: Op

    def __call__(self, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
                 ) -> Tensor: ...


def _reduced(x: TensorType, axis: Axes, keepdims: bool) -> t.Shape:
    if any(not 0 <= a < x.ndim for a in axis):
        raise ShapeError(f"axes {list(axis)} are out of range for a tensor of rank {x.ndim}")
    if keepdims:
        return tuple(1 if a in axis else size for a, size in enumerate(x.shape))
    return tuple(size for a, size in enumerate(x.shape) if a not in axis)


def _reduction(
    name: str, kernel: Callable[..., Any], dtypes: DTypes, doc: str, errors: Callable[[Any], Errors] | Errors = (),
) -> Reduction:
    """A reduction along several axes, with the same dtype. The axes are dropped, or with `keepdims` get size 1."""

    def rule(x: TensorType, *, axis: Axes, keepdims: bool) -> TensorType:
        check_dtype(name, x.dtype, dtypes)
        return x.with_shape(_reduced(x, axis, keepdims))

    def samples(rng: np.random.Generator) -> Iterable[Sample]:
        for dtype in dtypes:
            for shape, axis in (((), ()), ((3,), (0,)), ((2, 3), (1,)), ((2, 3, 2), (0, 2)), ((2, 0), (1,))):
                for keepdims in (False, True):
                    yield (random_array(rng, dtype, shape, -2, 2),), {"axis": axis, "keepdims": keepdims}

    op = Op(name, kernel, rule, samples=samples, errors=errors, doc=doc)

    def function(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
        x = convert_to_tensor(input_tensor)
        return named(apply_one(op, x, axis=axes_of(op.name, axis, x.ndim), keepdims=bool(keepdims)), name)

    function.op = op  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function  # type: ignore[return-value]


# untyped, since NumPy's stubs of `reduce` are incomplete
_add: Final[Any] = np.add.reduce
_multiply: Final[Any] = np.multiply.reduce
_maximum: Final[Any] = np.maximum.reduce
_minimum: Final[Any] = np.minimum.reduce
_and: Final[Any] = np.logical_and.reduce
_or: Final[Any] = np.logical_or.reduce


def _sum(x: Any, *, axis: Axes, keepdims: bool) -> Any:
    return _add(x, axis, x.dtype, None, keepdims)


def _prod(x: Any, *, axis: Axes, keepdims: bool) -> Any:
    return _multiply(x, axis, x.dtype, None, keepdims)


def _max(x: Any, *, axis: Axes, keepdims: bool) -> Any:
    if x.size:
        return _maximum(x, axis, keepdims=keepdims)
    return _maximum(x, axis, keepdims=keepdims, initial=_least(x.dtype))


def _min(x: Any, *, axis: Axes, keepdims: bool) -> Any:
    if x.size:
        return _minimum(x, axis, keepdims=keepdims)
    return _minimum(x, axis, keepdims=keepdims, initial=_greatest(x.dtype))


def _least(dtype: Any) -> Any:
    return dtype.type(-np.inf) if dtype.kind == "f" else np.iinfo(dtype).min


def _greatest(dtype: Any) -> Any:
    return dtype.type(np.inf) if dtype.kind == "f" else np.iinfo(dtype).max


def _all(x: Any, *, axis: Axes, keepdims: bool) -> Any:
    return _and(x, axis, keepdims=keepdims)


def _any(x: Any, *, axis: Axes, keepdims: bool) -> Any:
    return _or(x, axis, keepdims=keepdims)


reduce_sum = _reduction("reduce_sum", _sum, NUMERIC, "The sum along `axis` (None: all) (`tf.reduce_sum`).",
                        of_ints(NumberOverflowError))
reduce_prod = _reduction("reduce_prod", _prod, NUMERIC, "The product along `axis` (None: all) (`tf.reduce_prod`).")
reduce_max = _reduction("reduce_max", _max, REAL, """\
The greatest along `axis` (None: all); of nothing, -inf or the least int (`tf.reduce_max`).

Equal elements share the derivative equally.""")
reduce_min = _reduction("reduce_min", _min, REAL, """\
The smallest along `axis` (None: all); of nothing, inf or the greatest int (`tf.reduce_min`).

Equal elements share the derivative equally.""")
reduce_all = _reduction("reduce_all", _all, BOOL, "Whether all along `axis` (None: all) hold (`tf.reduce_all`).")
reduce_any = _reduction("reduce_any", _any, BOOL, "Whether any along `axis` (None: all) holds (`tf.reduce_any`).")


# Composed reductions.

def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The mean along `axis` (None: all); of ints an int, rounded towards zero (`tf.reduce_mean`)."""
    x = convert_to_tensor(input_tensor)
    count = product(dim(x, a) for a in axes_of("reduce_mean", axis, x.ndim))
    total = reduce_sum(x, axis, keepdims)
    if x.dtype.is_integer:
        count = math.cast(count, x.dtype)
        return named(math.multiply(math.sign(total), math.floordiv(math.abs(total), count)), name)
    return named(math.divide(total, float(count) if type(count) is int else math.cast(count, x.dtype)), name)


def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The mean squared distance from the mean along `axis` (`tf.math.reduce_variance`). Floats or complex."""
    x = convert_to_tensor(input_tensor)
    check_dtype("reduce_variance", x.dtype, INEXACT)
    distance = math.abs(math.subtract(x, reduce_mean(x, axis, keepdims=True)))
    return reduce_mean(math.square(distance), axis, keepdims, name)


def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The standard deviation along `axis` (`tf.math.reduce_std`). Floats or complex."""
    return math.sqrt(reduce_variance(input_tensor, axis, keepdims), name)


def reduce_logsumexp(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
                     ) -> Tensor:
    """log(sum(exp(x))) along `axis`, without overflow (`tf.reduce_logsumexp`)."""
    x = convert_to_tensor(input_tensor)
    axes = axes_of("reduce_logsumexp", axis, x.ndim)
    top = reduce_max(x, axes, keepdims=True)
    zero = convert_to_tensor(x.dtype.as_numpy_dtype(0))
    top = math.stop_gradient(where(math.is_finite(top), top, zero))
    result = math.add(math.log(reduce_sum(math.exp(math.subtract(x, top)), axes, keepdims=True)), top)
    return named(result if keepdims else squeeze(result, list(axes)) if axes else result, name)


def reduce_euclidean_norm(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
                          ) -> Tensor:
    """sqrt(sum(|x|²)) along `axis`, in the dtype of the elements; of ints rounded down
    (`tf.math.reduce_euclidean_norm`)."""
    x = convert_to_tensor(input_tensor)
    length = math.sqrt(math.cast(reduce_sum(math.square(math.abs(x)), axis, keepdims), _inexact(x)))
    return named(length if length.dtype is x.dtype else math.cast(length, x.dtype), name)


def _inexact(x: Tensor) -> DType:
    """The real dtype in which a square root of sums of `x` is computed."""
    return t.float64 if x.dtype.is_integer else x.dtype.real_dtype


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one shape, or of the rows of a tensor (`tf.add_n`). ValueError for an empty list,
    ShapeError for shapes that differ."""
    if has_staged_items(inputs) or not isinstance(inputs, (list, tuple)):
        return named(reduce_sum(inputs, 0), name)
    items = list(inputs)
    if not items:
        raise located(ValueError("add_n takes a list of at least one tensor"))
    total = convert_to_tensor(items[0])
    for item in items[1:]:
        x = convert_beside(item, total.dtype)
        sizes, others = dims(total), dims(x)
        require(len(sizes) == len(others) and all_of(*map(same, sizes, others)), ShapeError(message(
            "add_n takes tensors of one shape, not ", sizes, " and ", others), remedy="Add them with + to broadcast."))
        total = math.add(total, x)
    return named(total, name)


def count_nonzero(input: Any, axis: Any = None, keepdims: bool = False, dtype: Any = t.int64,
                  name: str | None = None) -> Tensor:
    """The number of elements along `axis` that are not 0, or of strings not empty (`tf.math.count_nonzero`)."""
    x = convert_to_tensor(input, strings=True)
    counted = not_equal(x, "") if x.dtype.is_string else math.cast(x, t.bool_)
    return reduce_sum(math.cast(counted, dtype), axis, keepdims, name)


# Indices of extrema.

def _arg_kernel(find: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(x: Any, *, axis: int, dtype: DType) -> Any:
        if not x.shape[axis]:
            raise ShapeError(f"axis {axis} of {t.shape_text(x.shape)} is empty and has no greatest or least element")
        return find(x, axis).astype(dtype.np)

    return kernel


def _arg_rule(x: TensorType, *, axis: int, dtype: DType) -> TensorType:
    check_dtype("argmax or argmin", x.dtype, BOOL + REAL)
    check_dtype("argmax or argmin as output_type", dtype, INTS)
    return TensorType(dtype, _reduced(x, (axis,), False))


def _arg_errors(node: Any) -> Errors:
    size = node.operands[0].type.shape[node.params["axis"]]
    return () if size else (ShapeError,)


def _arg_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in BOOL + REAL:
        for shape, axis in (((3,), 0), ((2, 3), 1), ((2, 3, 2), 0), ((2, 0), 0)):
            yield (random_array(rng, dtype, shape),), {"axis": axis, "dtype": t.int64 if axis else t.int32}


ARGMAX: Final = Op("argmax", _arg_kernel(np.argmax), _arg_rule, samples=_arg_samples,
                   errors=_arg_errors,
                   doc="The first index of the greatest element along an axis.")
ARGMIN: Final = Op("argmin", _arg_kernel(np.argmin), _arg_rule, samples=_arg_samples,
                   errors=_arg_errors,
                   doc="The first index of the least element along an axis.")


def argmax(input: Any, axis: Any = None, output_type: Any = t.int64, name: str | None = None) -> Tensor:
    """The first index of the maximum along `axis`, by default 0 (`tf.argmax`)."""
    return named(_arg(ARGMAX, input, axis, output_type), name)


def argmin(input: Any, axis: Any = None, output_type: Any = t.int64, name: str | None = None) -> Tensor:
    """The first index of the minimum along `axis`, by default 0 (`tf.argmin`)."""
    return named(_arg(ARGMIN, input, axis, output_type), name)


def _arg(op: Op, input: Any, axis: Any, output_type: Any) -> Tensor:
    x = convert_to_tensor(input)
    place = axis_of(op.name, 0 if axis is None else axis, x.ndim)
    return apply_one(op, x, axis=place, dtype=t.as_dtype(output_type))


# Cumulative.

def _cumulative(ufunc: np.ufunc, first: int) -> Callable[..., Any]:
    def kernel(x: Any, *, axis: int, exclusive: bool, reverse: bool) -> Any:
        if reverse:
            x = np.flip(x, axis)
        if exclusive and x.shape[axis]:
            start = np.full((*x.shape[:axis], 1, *x.shape[axis + 1:]), first, x.dtype)
            x = np.concatenate((start, x[along(axis, slice(None, -1))]), axis)
        result = ufunc.accumulate(x, axis, x.dtype)
        return np.flip(result, axis) if reverse else result

    return kernel


def _cumulative_rule(x: TensorType, *, axis: int, exclusive: bool, reverse: bool) -> TensorType:
    check_dtype("a cumulative sum or product", x.dtype, NUMERIC)
    if not 0 <= axis < x.ndim:
        raise ShapeError(f"axis {axis} is out of range for a tensor of rank {x.ndim}")
    return x


def _cumulative_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in NUMERIC:
        for shape, axis in (((3,), 0), ((2, 3), 1), ((0, 2), 0)):
            for exclusive in (False, True):
                yield (random_array(rng, dtype, shape, -2, 2),), {
                    "axis": axis, "exclusive": exclusive, "reverse": not exclusive}


CUMSUM: Final = Op("cumsum", _cumulative(np.add, 0), _cumulative_rule, samples=_cumulative_samples,
                   doc="Sums of what is up to (`exclusive`: before) each element along an axis.")
CUMPROD: Final = Op("cumprod", _cumulative(np.multiply, 1), _cumulative_rule, samples=_cumulative_samples,
                    doc="Products of what is up to (`exclusive`: before) each element along an axis.")


def cumsum(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Sums of the elements up to each one along `axis` (`tf.cumsum`).

    `exclusive`: without the element itself; `reverse`: from the end.
    """
    return named(_cumulate(CUMSUM, x, axis, exclusive, reverse), name)


def cumprod(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
            ) -> Tensor:
    """Products of the elements up to each one along `axis` (`tf.math.cumprod`); for the rest see `cumsum`."""
    return named(_cumulate(CUMPROD, x, axis, exclusive, reverse), name)


def _cumulate(op: Op, x: Any, axis: Any, exclusive: bool, reverse: bool) -> Tensor:
    x = convert_to_tensor(x)
    return apply_one(op, x, axis=axis_of(op.name, axis, x.ndim), exclusive=exclusive, reverse=reverse)


# A recurrence that derivatives of cumulative products use.

def _recurrence_kernel(a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    if a.shape != b.shape:
        raise ShapeError(f"a recurrence takes factors and terms of one shape, not {t.shape_text(a.shape)} and "
                         f"{t.shape_text(b.shape)}")
    result = np.empty_like(b)
    steps = range(b.shape[axis])
    before: Any = b.dtype.type(0)
    for k in reversed(steps) if reverse else steps:
        place = along(axis, k)
        before = a[place] * before + b[place]
        result[place] = before
    return result


def _recurrence_rule(a: TensorType, b: TensorType, *, axis: int, reverse: bool) -> TensorType:
    if not t.compatible_shapes(a.shape, b.shape):
        raise ShapeError(f"a recurrence takes factors and terms of one shape, not {a} and {b}")
    return _cumulative_rule(b, axis=axis, exclusive=False, reverse=reverse)


def _recurrence_errors(node: Any) -> Errors:
    known = all(None not in value.type.shape for value in node.operands)
    return () if known else (ShapeError,)


def _recurrence_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in INEXACT:
        for shape, axis in (((4,), 0), ((2, 3), 1), ((3, 2), 0), ((0, 2), 0)):
            for reverse in (False, True):
                yield (random_array(rng, dtype, shape, -2, 2), random_array(rng, dtype, shape, -2, 2)), {
                    "axis": axis, "reverse": reverse}


LINEAR_RECURRENCE: Final = Op("linear_recurrence", _recurrence_kernel, _recurrence_rule, agree=slice(0, 2),
                              samples=_recurrence_samples, errors=_recurrence_errors,
                              doc="x[k] = a[k] * x[k - 1] + b[k] along an axis, or with `reverse` from its end on; "
                                  "what comes before is 0.")
