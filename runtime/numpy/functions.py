"""NumPy's computing functions on tensors, with NumPy's names and arguments: reductions, selection, sorting, products.

Results are tensors with NumPy's result dtypes, except that sums of int32 stay int32. Sizes may be known only when a
graph runs; ranks and axes must be known at trace time.
"""
from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from runtime.core.array_mode import want_objects
from runtime.core.positions import located, staging_error
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor, holds_tensor
from runtime.core.types import float16, float64, int64
from runtime.numpy.arrays import (
    astype,
    concatenate,
    elements,
    floats,
    inexact,
    meets,
    moveaxis,
    ravel,
    read,
    roll,
    together,
)
from runtime.numpy.reductions import averaged, doubles, is_array, is_bool_array
from runtime.numpy.ufuncs import UFUNCS
from runtime.ops import complex_numbers, concat_split, creation, linalg, logic, math, reduction, sorting
from runtime.ops import shape as shapes
from runtime.ops.checks import all_of, message, require, same
from runtime.ops.gather import boolean_mask, gather, scatter_nd
from runtime.ops.indexing import from_end

__all__ = [
    "allclose", "angle", "argpartition", "argsort", "argwhere", "around", "array_equal", "bincount", "clip",
    "compress", "cross", "diff", "dot", "einsum", "fix", "flatnonzero", "imag", "inner", "interp", "isclose",
    "iscomplex", "iscomplexobj", "isneginf", "isposinf", "isreal", "isrealobj", "kron", "lexsort", "nan_to_num",
    "nonzero", "outer", "partition", "real", "round", "searchsorted", "sinc", "sort", "take", "take_along_axis",
    "tensordot", "vdot", "vecdot", "where",
]

_OF_NUMPY = np.generic, np.ndarray

# Choice, order and sets.

def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return nonzero(condition)
    if is_array(condition) and not any(meets(each) for each in (x, y)):
        x, y = elements(x), elements(y)
    if (isinstance(x, _OF_NUMPY) and not holds_tensor([y])) or (isinstance(y, _OF_NUMPY) and not holds_tensor([x])):
        x, y = (np.asarray(value) if isinstance(value, (list, tuple)) else value for value in (x, y))
        dtype = np.result_type(x, y)
        x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    return logic.where(astype(condition, bool), x, y)


def nonzero(a: Any) -> tuple[Tensor, ...]:
    rank = convert_to_tensor(a).ndim
    if not rank:
        raise located(ValueError("np.nonzero takes arrays with axes, not a scalar; give it np.atleast_1d(x)"))
    return tuple(concat_split.unstack(logic.where(astype(a, bool)), num=rank, axis=1))


def argwhere(a: Any) -> Tensor:
    return logic.where(astype(a, bool))


def flatnonzero(a: Any) -> Tensor:
    return nonzero(ravel(a))[0]


def compress(condition: Any, a: Any, axis: int | None = None) -> Tensor:
    return boolean_mask(ravel(a) if axis is None else a, condition, axis)


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Tensor:
    low, high = a_min if min is None else min, a_max if max is None else max
    x = convert_to_tensor(a)
    if x.dtype.is_integer:  # a bound that excludes nothing need not fit the dtype
        low = None if type(low) is int and low <= x.dtype.limits[0] else low
        high = None if type(high) is int and high >= x.dtype.limits[1] else high
    x = x if low is None else math.maximum(x, low)
    return x if high is None else math.minimum(x, high)


def sort(a: Any, axis: int | None = -1, kind: Any = None, order: None = None, *, stable: Any = True,
         descending: bool = False) -> Tensor:
    x = ravel(a) if axis is None else a
    return sorting.sort(x, -1 if axis is None else axis, "DESCENDING" if descending else "ASCENDING")


def argsort(a: Any, axis: int | None = -1, kind: str | None = None, stable: bool = True, descending: bool = False
            ) -> Tensor:
    x = ravel(a) if axis is None else a
    found = sorting.argsort(x, -1 if axis is None else axis, "DESCENDING" if descending else "ASCENDING")
    return astype(found, int64) if is_array(a) else found


def lexsort(keys: Any, axis: int = -1) -> Tensor:
    """The order by the last key, where that is equal by the one before it, and so on (`numpy.lexsort`)."""
    first, *others = keys if isinstance(keys, (list, tuple)) else concat_split.unstack(keys)
    order = argsort(first, axis)
    for key in others:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return astype(order, int64)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    row, values = together(a, v)
    if row.dtype is not values.dtype:
        row, values = floats(row, values)
    row = row if sorter is None else gather(row, sorter)
    return shapes.reshape(sorting.searchsorted(row, ravel(values), side, int64), shapes.dims(values))


def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect") -> Tensor:
    """The elements sorted, of which those before and after the one at `kth` are in some order in NumPy."""
    _check_rank(a, kth, axis)
    return sort(a, axis)


def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect") -> Tensor:
    _check_rank(a, kth, axis)
    return argsort(a, axis)


def _check_rank(a: Any, kth: Any, axis: int | None) -> None:
    """ValueError if there is no element at `kth`."""
    x = convert_to_tensor(a)
    size, places = shapes.product(shapes.dims(x)) if axis is None else shapes.dim(x, axis, int64), astype(kth, int64)
    require(reduction.reduce_all(logic.logical_and(places >= -size, places < size)), ValueError(message(
        "kth(=", kth, ") out of bounds (", size, ")")))


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Tensor:
    x = ravel(a) if axis is None else convert_to_tensor(a)
    axis, places = axis or 0, convert_to_tensor(indices)
    if mode == "raise":
        return gather(x, from_end(places, shapes.dim(x, axis)), axis=axis)
    size = astype(shapes.dim(x, axis), places.dtype)
    return gather(x, places % size if mode == "wrap" else clip(places, 0, size - 1), axis=axis)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    if axis is None:
        return take(arr, indices)
    x, places = convert_to_tensor(arr), convert_to_tensor(indices)
    moved, at = moveaxis(x, axis, -1), moveaxis(from_end(places, shapes.dim(x, axis)), axis, -1)
    return moveaxis(gather(moved, at, axis=moved.ndim - 1, batch_dims=moved.ndim - 1), -1, axis)


def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Tensor:
    given = elements(x)
    if given.dtype.level > 1:
        raise located(TypeError(f"np.bincount takes ints, not {given.dtype.name}"))
    places = astype(one_axis("np.bincount", given), int64)
    require(reduction.reduce_all(places >= 0), ValueError("'list' argument must have no negative elements"))
    require(astype(minlength, int64) >= 0, ValueError("'minlength' must not be negative"))
    size = math.maximum(reduction.reduce_max(concatenate([places, np.array([-1])])) + 1, astype(minlength, int64))
    if weights is None:
        updates = creation.ones_like(places)
    else:
        values = one_axis("the weights of np.bincount", elements(weights))
        if values.dtype.is_complex:
            raise located(TypeError("the weights of np.bincount are real numbers, not complex ones"))
        updates = values if isinstance(weights, Tensor) and not is_array(weights) else astype(values, float64)
    return scatter_nd(places[:, None], updates, [size])


def one_axis(name: str, x: Tensor) -> Tensor:
    """`x`. ValueError if it has not exactly one axis."""
    if x.ndim != 1:
        raise located(ValueError(f"{name} must have one axis, not {x.ndim}"))
    return x


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    x = convert_to_tensor(a)
    if prepend is not None or append is not None:
        x = concatenate([part for part in (_edge(prepend, x, axis), x, _edge(append, x, axis)) if part is not None],
                        axis)
    if not x.ndim:
        raise located(ValueError("np.diff takes arrays with axes, not a scalar"))
    for _ in builtins.range(n):
        axis %= x.ndim
        ahead, behind = x[shapes.along(axis, slice(1, None))], x[shapes.along(axis, slice(None, -1))]
        x = logic.not_equal(ahead, behind) if x.dtype.is_bool else ahead - behind
    return x


def _edge(edge: Any, x: Tensor, axis: int) -> Any:
    """What `diff` puts before or after the elements."""
    if edge is None or np.ndim(edge) if not isinstance(edge, Tensor) else edge.ndim:
        return edge
    sizes = shapes.dims(x)
    sizes[axis] = 1
    return shapes.broadcast_to(together(x, edge)[1], sizes)


def interp(x: Any, xp: Any, fp: Any) -> Tensor:
    """Linear interpolation between points, constant outside of them (`numpy.interp`)."""
    x, xp, fp = floats(*[doubles(each) if isinstance(each, Tensor) else each for each in (x, xp, fp)])
    flat = ravel(x)
    last = shapes.dim(xp, 0, int64) - 1
    require(last >= 0, ValueError("array of sample points is empty"))
    right = math.minimum(math.maximum(sorting.searchsorted(xp, flat, "right", int64), 1), last)
    low, high = gather(xp, right - 1), gather(xp, right)
    share = clip((flat - low) / (high - low), 0.0, 1.0)
    return shapes.reshape(gather(fp, right - 1) * (1 - share) + gather(fp, right) * share, shapes.shape(x))


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    x, y = floats(a, b)
    near = logic.logical_and(math.abs(x - y) <= atol + rtol * math.abs(y), UFUNCS["isfinite"](y))
    found = logic.logical_or(near, logic.equal(x, y))
    return logic.logical_or(found, _both_nan(x, y)) if equal_nan else found


def _both_nan(x: Tensor, y: Tensor) -> Tensor:
    return logic.logical_and(UFUNCS["isnan"](x), UFUNCS["isnan"](y))


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    return reduction.reduce_all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    x, y = together(*[a if holds_tensor([a]) else np.asarray(a) for a in map(read, (a1, a2))])
    if x.ndim != y.ndim:
        return convert_to_tensor(False)
    sizes = [*zip(shapes.dims(x), shapes.dims(y), strict=True)]
    is_alike = all_of(*[same(m, n) for m, n in sizes])
    if is_alike is False:
        return convert_to_tensor(False)
    if is_alike is not True:
        count = shapes.product([math.minimum(m, n) for m, n in sizes])
        x, y = ravel(x)[:count], ravel(y)[:count]
    found = logic.logical_or(x == y, _both_nan(x, y)) if equal_nan else x == y
    return logic.logical_and(is_alike, reduction.reduce_all(found))


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
               ) -> Tensor:
    tensor = convert_to_tensor(x)
    if not copy and isinstance(tensor, GraphTensor) and not tensor.is_object:
        raise want_objects(staging_error("np.nan_to_num with copy=False changes an array, and a tensor does not change",
                                         "Assign its result: x = np.nan_to_num(x)."))
    if tensor.dtype.level < 2:
        return tensor
    most = float(np.finfo(tensor.dtype.np).max)
    found = logic.where(math.is_nan(tensor), nan, tensor)
    found = logic.where(logic.equal(found, np.inf), most if posinf is None else posinf, found)
    return logic.where(logic.equal(found, -np.inf), -most if neginf is None else neginf, found)


def round(a: Any, decimals: int = 0) -> Tensor:
    x = convert_to_tensor(a)
    if is_bool_array(x):
        if decimals:
            raise located(TypeError("np.round of bools takes no decimals"))
        return astype(x, float16)
    if decimals < 0:
        unit = 10.0 ** -decimals
        return astype(math.rint(x / unit) * unit, x.dtype)
    if x.dtype.level < 2:
        return x
    return math.rint(x * 10.0 ** decimals) / 10.0 ** decimals if decimals else math.rint(x)


around = round


def sinc(x: Any) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0 (`numpy.sinc`)."""
    angle = averaged(x) * np.pi
    angle = logic.where(logic.equal(angle, 0), np.finfo(angle.dtype.np).eps, angle)
    return math.sin(angle) / angle


# Products.

def dot(a: Any, b: Any) -> Tensor:
    x, y = together(a, b)
    if not (x.ndim and y.ndim):
        return x * y
    return linalg.tensordot(x, y, ([-1], [0 if y.ndim == 1 else y.ndim - 2]))


def vdot(a: Any, b: Any) -> Tensor:
    x, y = map(ravel, together(a, b))
    found = complex_numbers.conj(x) * y
    return reduction.reduce_any(found) if found.dtype.is_bool else reduction.reduce_sum(found)


def inner(a: Any, b: Any) -> Tensor:
    x, y = together(a, b)
    return x * y if not (x.ndim and y.ndim) else linalg.tensordot(x, y, ([-1], [-1]))


def outer(a: Any, b: Any) -> Tensor:
    x, y = map(ravel, together(a, b))
    return x[:, None] * y


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    x, y = together(a, b)
    return linalg.tensordot(x, y, axes)


def einsum(subscripts: str, *operands: Any, optimize: Any = False) -> Tensor:
    return linalg.einsum(subscripts, *together(*operands))


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Tensor:
    x, y = together(x1, x2)
    return reduction.reduce_sum(complex_numbers.conj(x) * y, axis)


def cross(a: Any, b: Any) -> Tensor:
    """The cross product of vectors of length 3 along the last axis (`numpy.cross`)."""
    x, y = together(a, b)
    require(all_of(*[same(shapes.dim(each, -1), 3) for each in (x, y)]), ValueError(
        "np.cross takes vectors of length 3; of length 2, take a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]"))
    return roll(x, -1, -1) * roll(y, -2, -1) - roll(x, -2, -1) * roll(y, -1, -1)


def kron(a: Any, b: Any) -> Tensor:
    """The Kronecker product (`numpy.kron`), with axes of size 1 before those of the operand that has fewer."""
    x, y = together(a, b)
    rank = max(x.ndim, y.ndim)
    sizes = [([1] * (rank - each.ndim) + shapes.dims(each)) for each in (x, y)]
    apart = [shapes.reshape(each, [size for pair in pairs for size in pair]) for each, pairs in (
        (x, [(size, 1) for size in sizes[0]]), (y, [(1, size) for size in sizes[1]]))]
    return shapes.reshape(apart[0] * apart[1], [shapes.product(pair) for pair in zip(*sizes, strict=True)])


def real(val: Any) -> Tensor:
    return complex_numbers.real(val)


def imag(val: Any) -> Tensor:
    return complex_numbers.imag(val)


def iscomplex(x: Any) -> Tensor:
    """Whether the imaginary part is not 0."""
    return astype(imag(x), bool)


def isreal(x: Any) -> Tensor:
    return logic.logical_not(iscomplex(x))


def isposinf(x: Any) -> Tensor:
    return _is_infinity(np.inf, x)


def isneginf(x: Any) -> Tensor:
    return _is_infinity(-np.inf, x)


def _is_infinity(infinity: float, x: Any) -> Tensor:
    values = inexact(x)
    if values.dtype.is_complex:
        raise located(TypeError("np.isposinf and np.isneginf take real numbers: give them x.real or x.imag"))
    return logic.equal(values, infinity)


def fix(x: Any) -> Tensor:
    found: Tensor = UFUNCS["trunc"](x)
    return found


def angle(z: Any, deg: bool = False) -> Tensor:
    """The argument, of a real number the angle of the point (z, 0): nan of nan, which `tf.math.angle` has as 0."""
    x = convert_to_tensor(z)
    if x.dtype.is_complex:
        found = complex_numbers.angle(x)
    else:
        x = inexact(x)
        found = math.atan2(creation.zeros_like(x), x)
    return found * (180 / np.pi) if deg else found


def iscomplexobj(x: Any) -> bool:
    return convert_to_tensor(x).dtype.is_complex


def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)
