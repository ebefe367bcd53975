"""NumPy's reductions, with NumPy's names and arguments.

Small ints of arrays are summed in 64 bits, as in NumPy; those of tensors keep their dtype.
"""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.core.errors import InvalidArgumentError
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import complex128, float16, float32, float64, int8, int64, uint64
from runtime.numpy.arrays import astype, concatenate, floats, inexact, moveaxis, ones_like, ravel
from runtime.ops import creation, logic, math, reduction, sorting
from runtime.ops import shape as shapes
from runtime.ops.checks import require
from runtime.ops.gather import gather, scatter_nd
from runtime.ops.static_arguments import axes_of

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "nanargmax", "nanargmin", "nancumprod", "nancumsum",
    "nanmax", "nanmean", "nanmin", "nanprod", "nansum", "prod", "ptp", "std", "sum", "var",
]

Axis = Any  # None, an int, or a tuple of ints


def is_array(x: Any) -> bool:
    """Whether a value of a graph is made of arrays, so that NumPy's dtypes hold."""
    return isinstance(x, GraphTensor) and (x.is_object or x.type.of_arrays)


def is_bool_array(x: Any) -> bool:
    """Whether a value is of bools of arrays."""
    return is_array(x) and x.dtype.is_bool


def summable(x: Any, dtype: Any = None) -> Tensor:
    """What is summed: bools as ints, and small ints of arrays as those of 64 bits."""
    if dtype is not None:
        return astype(x, dtype)
    found = convert_to_tensor(x)
    if found.dtype.is_bool:
        return astype(found, int64)
    if found.dtype.is_integer and found.dtype.size < 8 and is_array(x):
        return astype(found, uint64 if found.dtype.is_unsigned else int64)
    return found


def averaged(x: Any, dtype: Any = None) -> Tensor:
    """What is averaged: ints as floats, those of arrays of 64 bits."""
    if dtype is not None:
        return inexact(astype(x, dtype))
    found = convert_to_tensor(x)
    return astype(found, float64) if found.dtype.level < 2 and is_array(x) else inexact(found)


def doubles(x: Any) -> Tensor:
    """What NumPy computes in 64 bits: ints and floats of arrays as float64; those of tensors as in `averaged`."""
    found = averaged(x)
    return astype(found, complex128 if found.dtype.is_complex else float64) if is_array(x) else found


def with_ints(x: Any) -> Tensor:
    """The elements of an array in the dtype that NumPy gives them beside int64; a tensor as it is."""
    found = convert_to_tensor(x)
    return astype(found, np.promote_types(found.dtype.np, np.int64)) if is_array(x) else found


def _axis(x: Any, axis: Axis) -> Axis:
    """The axis of a reduction: a scalar is reduced along 0 and -1, too."""
    return None if type(axis) is int and axis in (0, -1) and not convert_to_tensor(x).ndim else axis


def _where(x: Tensor, where: Any, instead: Any) -> Tensor:
    """The elements where `where` is true, or true for all; elsewhere what changes no result."""
    return x if where is None or where is True else logic.where(where, x, astype(instead, x.dtype))


# Reductions.

def sum(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
        ) -> Tensor:
    found = reduction.reduce_sum(_where(summable(a, dtype), where, 0), _axis(a, axis), keepdims)
    return found if initial is None else found + astype(initial, found.dtype)


def prod(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
         ) -> Tensor:
    found = reduction.reduce_prod(_where(summable(a, dtype), where, 1), _axis(a, axis), keepdims)
    return found if initial is None else found * astype(initial, found.dtype)


def max(a: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Tensor:
    return _extreme(reduction.reduce_max, math.maximum, a, axis, keepdims, initial, where)


def min(a: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Tensor:
    return _extreme(reduction.reduce_min, math.minimum, a, axis, keepdims, initial, where)


def _extreme(reduce: Callable[..., Tensor], function: Callable[..., Tensor], a: Any, axis: Axis, keepdims: bool,
             initial: Any, where: Any) -> Tensor:
    x, axis = convert_to_tensor(a), _axis(a, axis)
    if x.dtype.is_bool:
        found = _extreme(reduce, function, astype(x, int8), axis, keepdims, initial, where)
        return astype(found, bool)
    if initial is None:
        if where is not None and where is not True:
            raise ValueError("max and min with where= take initial=, the value where none is chosen")
        _refuse_empty(function.__name__, x, axis)
        return reduce(x, axis, keepdims)
    if axis is None:
        found = reduce(concatenate([ravel(_where(x, where, initial)), ravel(astype(initial, x.dtype))]), 0)
        return shapes.reshape(found, [1] * x.ndim) if keepdims else found
    return function(reduce(_where(x, where, initial), axis, keepdims), astype(initial, x.dtype))


def _refuse_empty(name: str, x: Tensor, axis: Axis) -> None:
    """ValueError if a reduction by the ufunc `name`, which has no identity, is one of no elements."""
    require(_count(x, axis) > 0, ValueError(f"zero-size array to reduction operation {name} which has no identity"))


amax, amin = max, min


def mean(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, where: Any = None) -> Tensor:
    x = averaged(a, dtype)
    if x.dtype is float16 and dtype is None:  # which NumPy sums as float32, too
        return astype(mean(astype(x, float32), axis, None, keepdims, where), float16)
    if where is None or where is True:
        return reduction.reduce_mean(x, axis, keepdims)
    return sum(x, axis, None, keepdims, None, where) / _chosen(x, where, axis, keepdims)


def _chosen(x: Tensor, where: Any, axis: Axis, keepdims: bool) -> Tensor:
    """How many elements are chosen, per reduction."""
    ones = logic.where(where, creation.ones_like(x), creation.zeros_like(x))
    return reduction.reduce_sum(ones, axis, keepdims)


def var(a: Any, axis: Axis = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False, where: Any = None
        ) -> Tensor:
    x = averaged(a, dtype)
    if x.dtype is float16 and dtype is None:
        return astype(var(astype(x, float32), axis, None, ddof, keepdims, where), float16)
    deviation = math.abs(x - mean(x, axis, None, True, where))
    is_all = where is None or where is True
    count = astype(_count(x, axis), deviation.dtype) if is_all else _chosen(deviation, where, axis, keepdims)
    return sum(deviation * deviation, axis, None, keepdims, None, where) / (count - astype(ddof, deviation.dtype))


def std(a: Any, axis: Axis = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False, where: Any = None
        ) -> Tensor:
    return math.sqrt(var(a, axis, dtype, ddof, keepdims, where))


def _count(x: Tensor, axis: Axis) -> Any:
    """The number of elements per reduction: an int where it is known."""
    axes = range(x.ndim) if axis is None else axes_of("a reduction", axis, x.ndim)
    return shapes.product([shapes.dim(x, i, int64) for i in axes])


def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    if weights is None:
        found, total = mean(a, axis, keepdims=keepdims), None
    else:
        x, w = floats(averaged(a), weights)
        if x.ndim != w.ndim and isinstance(axis, int):
            w = shapes.reshape(w, [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
        total = sum(w * ones_like(x), axis, keepdims=keepdims)
        require(all(total), ZeroDivisionError("Weights sum to zero, can't be normalized"))
        found = sum(x * w, axis, keepdims=keepdims) / total
    if not returned:
        return found
    if total is None:
        total = creation.zeros_like(found) + astype(_count(convert_to_tensor(a), axis), found.dtype)
    return found, total


def any(a: Any, axis: Axis = None, keepdims: bool = False, where: Any = None) -> Tensor:
    return reduction.reduce_any(_where(astype(a, bool), where, False), _axis(a, axis), keepdims)


def all(a: Any, axis: Axis = None, keepdims: bool = False, where: Any = None) -> Tensor:
    return reduction.reduce_all(_where(astype(a, bool), where, True), _axis(a, axis), keepdims)


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_sum(astype(astype(a, bool), int64), axis, keepdims)


def ptp(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return max(a, axis, keepdims) - min(a, axis, keepdims)


def argmax(a: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _arg(reduction.argmax, a, axis, keepdims)


def argmin(a: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _arg(reduction.argmin, a, axis, keepdims)


def _arg(find: Callable[..., Tensor], a: Any, axis: int | None, keepdims: bool) -> Tensor:
    x = convert_to_tensor(a)
    x, axis = astype(x, int8) if x.dtype.is_bool else x, _axis(x, axis)
    found = find(ravel(x), 0) if axis is None else find(x, axis)
    return found if not keepdims else shapes.expand_dims(found, axis) if axis is not None else shapes.reshape(
        found, [1] * x.ndim)


# Of all elements up to each.

def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    return _cumulative(reduction.cumsum, summable(a, dtype), axis)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    return _cumulative(reduction.cumprod, summable(a, dtype), axis)


def _cumulative(function: Callable[..., Tensor], x: Tensor, axis: int | None) -> Tensor:
    return function(ravel(x), 0) if _axis(x, axis) is None else function(x, axis)


def cumulative_sum(x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    return _with_initial(cumsum(x, axis, dtype), axis, include_initial, 0)


def cumulative_prod(x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    return _with_initial(cumprod(x, axis, dtype), axis, include_initial, 1)


def _with_initial(x: Tensor, axis: int | None, is_wanted: bool, value: int) -> Tensor:
    if not is_wanted:
        return x
    sizes = shapes.dims(x)
    sizes[axis or 0] = 1
    return concatenate([creation.fill(sizes, astype(value, x.dtype)), x], axis or 0)


def accumulated(function: Callable[[Any, Any], Any], a: Any, axis: int) -> Tensor:
    """What an associative function of two operands makes of all elements up to each, in steps that double."""
    x = moveaxis(convert_to_tensor(a), axis, 0)
    size = x.type.shape[0]
    for k in range(40 if size is None else builtins.max(size - 1, 0).bit_length()):
        x = concatenate([x[:2**k], function(x[2**k:], x[:-2**k])])
    return moveaxis(x, 0, axis)


def reduced(ufunc: Any, function: Callable[[Any, Any], Any], a: Any, axis: Any = 0, keepdims: bool = False) -> Tensor:
    """What an associative function of two operands, that of `ufunc`, makes of all elements along an axis."""
    x = ravel(a) if axis is None else moveaxis(convert_to_tensor(a), axis, 0)
    x = astype(x, bool) if ufunc is np.logical_xor else x
    if ufunc.identity is None:
        _refuse_empty(ufunc.__name__, x, 0)
    else:  # the result for no elements
        x = concatenate([creation.fill([1, *shapes.dims(x)[1:]], astype(ufunc.identity, x.dtype)), x])
    found = accumulated(function, x, 0)[-1]
    if not keepdims:
        return found
    return shapes.expand_dims(found, axis) if axis is not None else shapes.reshape(
        found, [1] * convert_to_tensor(a).ndim)


def sums_between(a: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Tensor:
    """The sums from each index to before the next, or, where that is not greater, the element (`add.reduceat`).

    The indices must not decrease.
    """
    x, starts = moveaxis(summable(a, dtype), axis, 0), astype(indices, int64)
    require(reduction.reduce_all(starts[1:] >= starts[:-1]), InvalidArgumentError(
        "add.reduceat takes indices that do not decrease, in a traced function"))
    places = astype(creation.range(shapes.dim(x, 0)), int64)
    part = sorting.searchsorted(starts, places, "right", int64) - 1
    count = shapes.dim(starts, 0, int64)
    sums = scatter_nd(logic.where(part < 0, count, part)[:, None], x, [count + 1, *shapes.dims(x)[1:]])[:-1]
    is_one = concatenate([logic.equal(starts[1:], starts[:-1]), np.array([False])])
    is_one = shapes.reshape(is_one, [-1, *[1] * (x.ndim - 1)])
    return moveaxis(logic.where(is_one, gather(x, starts), sums), 0, axis)


# Without what is not a number.

def nansum(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return sum(_without_nan(a, 0), axis, dtype, keepdims)


def nanprod(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return prod(_without_nan(a, 1), axis, dtype, keepdims)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    return cumsum(_without_nan(a, 0), axis, dtype)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    return cumprod(_without_nan(a, 1), axis, dtype)


def nanmean(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    x = averaged(a, dtype)
    count = sum(logic.logical_not(math.is_nan(x)), axis, x.dtype, keepdims)
    return nansum(x, axis, None, keepdims) / count


def nanmax(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return _extreme_number("fmax", reduction.reduce_max, -np.inf, a, axis, keepdims)


def nanmin(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return _extreme_number("fmin", reduction.reduce_min, np.inf, a, axis, keepdims)


def nanargmax(a: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _arg_number(argmax, -np.inf, a, axis, keepdims)


def nanargmin(a: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _arg_number(argmin, np.inf, a, axis, keepdims)


def _arg_number(find: Callable[..., Tensor], instead: float, a: Any, axis: int | None, keepdims: bool) -> Tensor:
    """The index of the extreme of the elements that are numbers. ValueError where none is."""
    x = convert_to_tensor(a)
    found = find(_without_nan(x, instead), axis, keepdims)
    if x.dtype.level >= 2:
        is_number = logic.logical_not(math.is_nan(x))
        require(reduction.reduce_all(reduction.reduce_any(is_number, axis)), ValueError("All-NaN slice encountered"))
    return found


def _extreme_number(name: str, reduce: Callable[..., Tensor], instead: float, a: Any, axis: Axis, keepdims: bool
                    ) -> Tensor:
    """The extreme of the elements that are numbers, or NaN where none is."""
    x = convert_to_tensor(a)
    if x.dtype.is_bool:
        return astype(_extreme_number(name, reduce, instead, astype(x, int8), axis, keepdims), bool)
    _refuse_empty(name, x, axis)
    found = reduce(_without_nan(x, instead), axis, keepdims)
    if x.dtype.level < 2:
        return found
    return logic.where(reduction.reduce_all(math.is_nan(x), axis, keepdims), np.nan, found)


def _without_nan(a: Any, instead: float) -> Any:
    x = convert_to_tensor(a)
    return logic.where(math.is_nan(x), instead, x) if x.dtype.level >= 2 else a
