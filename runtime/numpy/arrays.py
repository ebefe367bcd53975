"""NumPy's functions that create, reshape, join and split arrays."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from autograph.backend import has_staged_items
from runtime.core import pytree
from runtime.core.agreed_operands import agreed
from runtime.core.array_mode import need_objects, note_0d
from runtime.core.array_promotion import OF_64_BITS, is_of_arrays, mark_as_array
from runtime.core.constant_arrays import is_numpy_value
from runtime.core.errors import StagingError
from runtime.core.op import CAST
from runtime.core.positions import located
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor, holds_tensor, promoted_arrays, stands_for_array
from runtime.core.types import (
    DType,
    TensorShape,
    as_dtype,
    float32,
    float64,
    int64,
)
from runtime.ops import concat_split, creation, linalg, logic, math
from runtime.ops import shape as shapes
from runtime.ops.static_arguments import axes_of

__all__ = [
    "append", "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "astype",
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "column_stack", "concat", "concatenate", "copy",
    "dstack", "empty", "empty_like", "expand_dims", "eye", "flip", "fliplr", "flipud", "full", "full_like", "hstack",
    "identity", "linspace", "matrix_transpose", "meshgrid", "moveaxis", "ndim", "ones", "ones_like", "permute_dims",
    "ravel", "repeat", "reshape", "result_type", "roll", "rollaxis", "rot90", "shape", "size", "squeeze", "stack",
    "swapaxes", "tile", "transpose", "unstack", "vstack", "zeros", "zeros_like",
]


def asarray(a: Any, dtype: Any = None, copy: bool | None = None, order: str = "K", ndmin: int = 0) -> Tensor:
    """A tensor for a value, cast to `dtype` if that is given."""
    x = wide(convert_to_tensor(a)) if dtype is None else astype(convert_to_tensor(a), dtype)
    return x if x.ndim >= ndmin else x[(None,) * (ndmin - x.ndim)]


array = asanyarray = ascontiguousarray = asfortranarray = asarray


def elements(a: Any) -> Tensor:
    """A tensor for elements that meet no others: Python's numbers have 64 bits, as in NumPy."""
    made: Tensor = wide(convert_to_tensor(a if holds_tensor([a]) else np.asarray(a)))
    return made


def wide(x: Any) -> Any:
    """A tensor of Python's numbers in 64 bits, as NumPy makes arrays of them; any other value itself."""
    if not (isinstance(x, GraphTensor) and x.type.weak and (x.dtype.level or x.ndim)):
        return x
    made = apply(CAST, x, dtype=OF_64_BITS[x.dtype.level])
    mark_as_array(made)
    return made


def as_elements(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of a function of NumPy. Python's numbers that are known only when the graph runs have 64 bits in
    lists, and where they meet no array or tensor."""
    values = pytree.flatten([args, kwargs])
    if not any(map(_is_weak, values)):
        return args, kwargs
    alone = not any(map(meets, values))

    def widened(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            of_python = all(_is_weak(part) or type(part) in (int, float, complex) for part in pytree.flatten(x))
            return pytree.map_structure(wide, x) if of_python else x
        return wide(x) if alone or (isinstance(x, Tensor) and x.ndim) else x

    return tuple(map(widened, args)), {key: widened(x) for key, x in kwargs.items()}


def meets(x: Any) -> bool:
    """Whether Python's numbers beside this value take its dtype."""
    return isinstance(x, (Tensor, np.ndarray, np.generic)) and not _is_weak(x)


def _is_weak(x: Any) -> bool:
    return isinstance(x, Tensor) and bool(x.type.weak)


_PYTHON = int, float, complex, list, tuple
"""Types of which NumPy makes values of 64 bits."""


def numpy_dtype(dtype: Any) -> DType:
    """A dtype by any of its names; Python types have 64 bits, as in NumPy."""
    return as_dtype(np.dtype(dtype) if isinstance(dtype, type) and dtype in (int, float, complex) else dtype)


def astype(x: Any, dtype: Any, copy: bool = True) -> Tensor:
    """The tensor in another dtype: floats are truncated, complex numbers keep their real part. A number of Python's
    that is beyond an integer dtype is an error, as in NumPy."""
    source, wanted = elements(x) if isinstance(x, _PYTHON) else convert_to_tensor(x), numpy_dtype(dtype)
    if source.dtype is wanted:
        return source
    if wanted.is_bool:
        return logic.not_equal(source, 0)
    fits = source.type.weak and wanted.is_integer and source.dtype.level <= 2
    result: Tensor = apply(CAST, source, dtype=wanted, **({"fits": True} if fits else {}))
    return result


def _filling(value: Any, dtype: DType) -> Tensor:
    """What an array of that dtype is filled with. OverflowError for a number of Python's that does not fit."""
    if isinstance(value, Tensor) or holds_tensor([value]):
        return astype(convert_to_tensor(value), dtype)
    found = np.empty(np.shape(value), dtype.np)
    try:
        with np.errstate(all="ignore"):
            np.copyto(found, value, casting="unsafe")
    except (TypeError, ValueError, OverflowError) as error:
        raise located(error) from None
    return convert_to_tensor(found)


def together(*values: Any) -> list[Tensor]:
    """Tensors for the values: for arrays, of their common dtype in NumPy; those that are not tensors adapt to the dtype
    of the first tensor, which is widened beside numbers of a greater kind, as by operators."""
    return _together(values, True)


def operands(*values: Any) -> list[Tensor]:
    """As `together`, for a ufunc: beside arrays Python's numbers adapt."""
    return _together(values, False)


def read(value: Any) -> Any:
    """The tensor that a variable or another object stands for; any other value itself."""
    is_other = isinstance(value, Tensor) or not hasattr(type(value), "__tensor__")
    return value if is_other else convert_to_tensor(value)


def _together(values: Sequence[Any], joins: bool) -> list[Tensor]:
    if joins and any(map(is_numpy_value, values)) and not any(isinstance(x, Tensor) and meets(x) for x in values):
        values = [*map(wide, values)]
    found = promoted_arrays(values, joins)
    if found is not None:
        return found
    return agreed(values)


def inexact(x: Any) -> Tensor:
    """A tensor of floats or complex numbers: ints are converted as in `/`, bools to float64."""
    source = convert_to_tensor(x)
    if source.dtype.level >= 2:
        return source
    return astype(source, float64 if source.dtype.is_bool else source.dtype.widened(2))


def floats(*values: Any) -> list[Tensor]:
    """As `together`, converted to floats or complex numbers."""
    found = promoted_arrays(values, True)
    return [*map(inexact, found or together(*[
        inexact(x) if isinstance(x, Tensor) else x for x in map(read, values)]))]


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The common dtype of arrays, dtypes and numbers, of which Python's adapt."""
    def kind(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x.np if isinstance(x, DType) else x
        return (False, 0, 0.0, 0j)[x.dtype.level] if x.type.weak else x.dtype.np

    return as_dtype(np.result_type(*map(kind, arrays_and_dtypes)))


def in_dtype(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else astype(x, dtype)


def larger(x: Any, y: Any) -> Any:
    """The greater of two sizes, which may be known only when the graph runs."""
    return max(x, y) if type(x) is type(y) is int else math.maximum(astype(x, int64), astype(y, int64))


def smaller(x: Any, y: Any) -> Any:
    return min(x, y) if type(x) is type(y) is int else math.minimum(astype(x, int64), astype(y, int64))


# Shapes.

def reshape(a: Any, shape: Any, order: str = "C") -> Tensor:
    _check_order(a, order)
    sizes = sizes_of(shape)
    if order == "F":
        return transpose(shapes.reshape(transpose(a), sizes[::-1]))
    return _noted(shapes.reshape(a, sizes))


def _noted(x: Tensor) -> Tensor:
    """`x`, noted as an array if it has no axes: NumPy gives no scalar there."""
    if not x.ndim:
        note_0d()
    return x


def ravel(a: Any, order: str = "C") -> Tensor:
    _check_order(a, order)
    return shapes.reshape(transpose(a) if order == "F" else a, [-1])


def _check_order(x: Any, order: str) -> None:
    """Trace again with arrays as objects, if the order is that of their elements in memory."""
    if order in ("A", "K") and isinstance(x, GraphTensor) and x.type.of_arrays and x.ndim > 1:
        need_objects(StagingError("the order of the elements of an array in memory is asked for"))


def transpose(a: Any, axes: Any = None) -> Tensor:
    return shapes.transpose(a, axes)


permute_dims = transpose


def matrix_transpose(x: Any) -> Tensor:
    return linalg.matrix_transpose(x)


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    x = convert_to_tensor(a)
    order = [*range(x.ndim)]
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return shapes.transpose(x, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    return shapes.moveaxis(convert_to_tensor(a), source, destination)


def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    x = convert_to_tensor(a)
    axis, start = axis % x.ndim, start + x.ndim if start < 0 else start
    return shapes.moveaxis(x, axis, start - 1 if axis < start else start)


def expand_dims(a: Any, axis: Any) -> Tensor:
    x = convert_to_tensor(a)
    axes = (axis,) if isinstance(axis, int) else axis
    for each in sorted(one % (x.ndim + len(axes)) for one in axes):
        x = shapes.expand_dims(x, each)
    return x


def squeeze(a: Any, axis: Any = None) -> Tensor:
    return _noted(shapes.squeeze(a, axis))


def broadcast_to(array: Any, shape: Any) -> Tensor:
    return shapes.broadcast_to(array, shape)


def atleast_1d(a: Any) -> Tensor:
    x = convert_to_tensor(a)
    return x if x.ndim else shapes.reshape(x, [1])


def atleast_2d(a: Any) -> Tensor:
    x = atleast_1d(a)
    return x if x.ndim > 1 else x[None]


def atleast_3d(a: Any) -> Tensor:
    x = atleast_2d(a)
    return x if x.ndim > 2 else x[..., None]


def tile(A: Any, reps: Any) -> Tensor:
    x = elements(A)
    times = [reps] if isinstance(reps, (int, Tensor)) else [*reps]
    times = [1] * (x.ndim - len(times)) + times
    return concat_split.tile(shapes.reshape(x, [1] * (len(times) - x.ndim) + shapes.dims(x)), times)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    return concat_split.repeat(elements(a), repeats, axis)


def flip(m: Any, axis: Any = None) -> Tensor:
    x = convert_to_tensor(m)
    axes = range(x.ndim) if axis is None else axes_of("flip", axis, x.ndim)
    return x[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(x.ndim))]


def flipud(m: Any) -> Tensor:
    return flip(m, 0)


def fliplr(m: Any) -> Tensor:
    return flip(m, 1)


def rot90(m: Any, k: int = 1) -> Tensor:
    x = convert_to_tensor(m)
    turned = (lambda x: x, lambda x: flip(swapaxes(x, 0, 1), 0), lambda x: flip(x, (0, 1)),
              lambda x: swapaxes(flip(x, 0), 0, 1))
    return turned[k % 4](x)


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    x = convert_to_tensor(a)
    if axis is None:
        return shapes.reshape(concat_split.roll(ravel(x), shift, 0), shapes.shape(x))
    return concat_split.roll(x, shift, axis)


def shape(a: Any) -> Any:
    x = convert_to_tensor(a)
    return tuple(shapes.dims(x))


def ndim(a: Any) -> int:
    return convert_to_tensor(a).ndim


def size(a: Any, axis: int | None = None) -> Any:
    x = convert_to_tensor(a)
    sizes = shapes.dims(x)
    return shapes.product(sizes) if axis is None else sizes[axis]


# Joining and taking apart.

def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Tensor:
    parts = [*arrays] if isinstance(arrays, (list, tuple)) else arrays
    if isinstance(parts, list) and not any(isinstance(x, Tensor) and meets(x) and not is_of_arrays(x.type)
                                           for x in parts):
        parts = [elements(x) if has_staged_items(x) else wide(x) for x in parts]
    if axis is None:
        parts, axis = [*map(ravel, together(*parts))], 0
    return in_dtype(concat_split.concat(parts, axis), dtype)


concat = concatenate


def stack(arrays: Any, axis: int = 0) -> Tensor:
    return shapes.stack(together(*arrays) if isinstance(arrays, (list, tuple)) else arrays, axis)


def vstack(tup: Any) -> Tensor:
    if isinstance(tup, Tensor):
        return tup if tup.ndim == 2 else _rows(tup, 1) if tup.ndim < 2 else _merged(tup, 0)
    return concat_split.concat([*map(atleast_2d, together(*tup))], 0)


def hstack(tup: Any) -> Tensor:
    if isinstance(tup, Tensor):
        return ravel(tup) if tup.ndim <= 2 else _merged(swapaxes(tup, 0, 1), 1)
    parts = [*map(atleast_1d, together(*tup))]
    return concat_split.concat(parts, 0 if parts[0].ndim == 1 else 1)


def dstack(tup: Any) -> Tensor:
    return concat_split.concat([*map(atleast_3d, together(*tup))], 2)


def column_stack(tup: Any) -> Tensor:
    if isinstance(tup, Tensor):
        return _rows(tup, 0) if tup.ndim < 2 else shapes.transpose(tup) if tup.ndim == 2 else hstack(tup)
    parts = together(*tup)
    return concat_split.concat([part[:, None] if part.ndim == 1 else part for part in parts], 1)


def _rows(x: Tensor, axis: int) -> Tensor:
    return shapes.expand_dims(ravel(x), axis)


def _merged(x: Tensor, axis: int) -> Tensor:
    """`x` with `axis` and the next axis merged into one."""
    sizes = shapes.dims(x)
    return shapes.reshape(x, [*sizes[:axis], sizes[axis] * sizes[axis + 1], *sizes[axis + 2:]])


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    return concatenate([arr, values], axis)


def unstack(x: Any, axis: int = 0) -> tuple[Tensor, ...]:
    return tuple(concat_split.unstack(x, axis=axis))


# New arrays.

def zeros(shape: Any, dtype: Any = float, order: str = "C") -> Tensor:
    return creation.zeros(sizes_of(shape), numpy_dtype(dtype))


def ones(shape: Any, dtype: Any = float, order: str = "C") -> Tensor:
    return creation.ones(sizes_of(shape), numpy_dtype(dtype))


empty = zeros


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Tensor:
    value = elements(fill_value) if dtype is None else _filling(fill_value, numpy_dtype(dtype))
    return shapes.broadcast_to(value, sizes_of(shape)) if value.ndim else creation.fill(sizes_of(shape), value)


def sizes_of(shape: Any) -> Any:
    """A shape as a sequence or a tensor of rank 1: one size is that of a vector."""
    return shape if isinstance(shape, (list, tuple, TensorShape)) or getattr(shape, "ndim", False) else [shape]


def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Tensor:
    return _alike(creation.zeros_like, creation.zeros, a, dtype, shape)


empty_like = zeros_like


def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Tensor:
    return _alike(creation.ones_like, creation.ones, a, dtype, shape)


def _alike(make_alike: Callable[..., Tensor], make: Callable[..., Tensor], a: Any, dtype: Any, shape: Any) -> Tensor:
    """The tensor that `make` makes of the dtype and shape given, or else of those of `a`."""
    kind = None if dtype is None else numpy_dtype(dtype)
    return make_alike(a, kind) if shape is None else make(sizes_of(shape), kind or convert_to_tensor(a).dtype)


def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
              ) -> Tensor:
    x = zeros_like(a, dtype, shape=shape)
    return shapes.broadcast_to(_filling(fill_value, x.dtype), shapes.shape(x))


def copy(a: Any, order: str = "K", subok: bool = False) -> Tensor:
    return convert_to_tensor(a)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    bounds = [*map(_as_bound, [start, stop, step] if stop is not None else [0, start, step])]
    if any(type(bound) is float or getattr(getattr(bound, "dtype", None), "kind", "") == "f" for bound in bounds):
        bounds = [astype(bound, float64) if isinstance(bound, Tensor) else bound for bound in bounds]
    if dtype is None and not any(map(meets, bounds)):
        dtype = float if any(_is_weak(bound) and bound.dtype.is_floating for bound in bounds) else int
    return in_dtype(creation.range(*bounds), dtype)


def _as_bound(x: Any) -> Any:
    """A bound of `arange`: what is of arrays in the dtype that it has beside int64."""
    if isinstance(x, np.generic):
        return x.astype(np.promote_types(x.dtype, np.int64))
    is_array = stands_for_array(x) and not x.type.weak and x.dtype.level > 0
    return astype(x, np.promote_types(x.dtype.np, np.int64)) if is_array else x


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
             axis: int = 0) -> Any:
    found, step = spaced(start, stop, num, endpoint, _of_bounds(start, stop))
    found = moveaxis(in_dtype(found, dtype), 0, axis)
    return (found, step) if retstep else found


def spaced(start: Any, stop: Any, num: Any, endpoint: bool, dtype: DType) -> tuple[Tensor, Tensor]:
    """Numbers at equal distances, computed in a dtype, and the distance."""
    first, last = astype(start, dtype), astype(stop, dtype)
    gaps = astype(num, dtype) - 1.0 if endpoint else astype(num, dtype)
    step = (last - first) / math.maximum(gaps, 1.0)
    places = astype(creation.range(num), dtype)
    places = shapes.reshape(places, [-1] + [1] * step.ndim)
    found = first + step * places
    if endpoint:
        found = logic.where(logic.logical_and(logic.equal(places, gaps), gaps > 0.0), last, found)
    return found, step


def _of_bounds(*bounds: Any) -> DType:
    """The dtype of numbers between bounds: float32 if these are of arrays of float32, beside numbers of Python."""
    own = [x for x in bounds if type(x) not in (int, float)]
    return float32 if own and all(
        isinstance(x, Tensor) and x.dtype is float32 and getattr(x.type, "of_arrays", False) for x in own) else float64


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = float) -> Tensor:
    rows, columns = creation.range(N), creation.range(N if M is None else M)
    return astype(logic.equal(rows[:, None] + k, columns), dtype)


def identity(n: Any, dtype: Any = float) -> Tensor:
    return eye(n, dtype=dtype)


_GRIDS: Final = tuple if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else list
"""What `numpy.meshgrid` returns."""


def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False) -> Sequence[Tensor]:
    if not sparse:
        return _GRIDS(creation.meshgrid(*xi, indexing=indexing))
    places = [*range(len(xi))]
    if indexing == "xy" and len(xi) > 1:
        places[:2] = 1, 0
    return _GRIDS(shapes.reshape(x, [-1 if axis == place else 1 for axis in range(len(xi))])
                  for x, place in zip(xi, places, strict=True))
