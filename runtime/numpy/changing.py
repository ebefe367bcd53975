"""NumPy's functions that change an array, for arrays that are objects; and the places where results are put."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from runtime.core import pytree
from runtime.core.array_mode import existed_before, want_objects
from runtime.core.errors import DTypeError, StagingError, UnimplementedError
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor, current_graph, holds_tensor
from runtime.core.types import DType, as_dtype
from runtime.numpy import arrays, functions
from runtime.numpy.array_indexing import as_tensor, cast_into, located, plain_index, shape_of
from runtime.numpy.array_objects import StagedArray, put_result
from runtime.ops import creation, math
from runtime.ops import shape as shapes
from runtime.ops.gather import scatter
from runtime.ops.indexing import from_end, getitem

__all__ = ["CHANGING", "change_at", "put_out", "refusal"]


def put_out(result: Any, out: Any, name: str) -> Any:
    """Put the result of a function into what was given to it as `out`."""
    if isinstance(out, StagedArray):
        return put_result(result, out)
    if isinstance(out, Tensor) or current_graph() is not None:
        what = "a tensor, which does not change" if isinstance(out, Tensor) else (
            "a NumPy array from outside, which is not known before the graph runs")
        error = located(StagingError(f"{name} is to put its result into {what}",
                                     remedy="Make that array in the function, or use the result."))
        raise want_objects(error) if current_graph() is not None else error
    np.copyto(out, np.asarray(result), casting="same_kind")
    return out


def refusal(x: Any, name: str, instead: str) -> Exception:
    """The error for a method or an attribute that would change a tensor."""
    error = located(StagingError(f"a tensor does not change in place, as with {name!r}",
                                 remedy=f"Assign another tensor to the variable: {instead}."))
    return want_objects(error) if isinstance(x, GraphTensor) else error


# Elements at places that may repeat.

_MODES: Final = {"add": "add", "subtract": "add", "maximum": "max", "minimum": "min"}


def change_at(ufunc: Any, a: Any, index: Any, *operands: Any) -> None:
    """`ufunc.at`: what the function makes of the elements there, one after the other where places repeat."""
    name = ufunc.__name__
    if not isinstance(a, StagedArray):
        staged = any(isinstance(x, GraphTensor) for x in pytree.flatten([a, index, operands]))
        if isinstance(a, np.ndarray) and not staged:
            ufunc.at(a, *pytree.map_structure(lambda x: np.asarray(x) if isinstance(x, Tensor) else x, [
                index, *operands]))
            return
        error = StagingError(
            f"numpy.{name}.at changes an array, and this is "
            f"{'a tensor, which does not change' if isinstance(a, Tensor) else 'one from outside'}",
            remedy="Use rt.tensor_scatter_nd_add or the like, which give another tensor; or make the array an object: a"
                   " = np.array(a).")
        own = [a] if isinstance(a, np.ndarray) and existed_before(a) else ()
        raise want_objects(located(error), own) if staged else located(error)
    if name not in _MODES:
        raise located(UnimplementedError(
            f"numpy.{name}.at has no counterpart in graphs; there are those of {', '.join(_MODES)}",
            remedy="Write a loop over the places: for i in places: a[i] = f(a[i])."))
    x = a.__tensor__()
    places = _places(x, plain_index(index))
    updates = cast_into(operands[0], a.dtype)
    updates = -updates if name == "subtract" else updates
    updates = shapes.reshape(shapes.broadcast_to(updates, shapes.shape(places)), [-1])
    flat = scatter(arrays.ravel(x), arrays.reshape(places, [-1, 1]), updates, _MODES[name])
    a.write(as_tensor(arrays.reshape(flat, shape_of(x))))


def _places(x: GraphTensor, index: Any) -> Tensor:
    """The places of the elements at an index in the flattened array."""
    if x.ndim == 1 and isinstance(index, (Tensor, np.ndarray, list)):
        found = convert_to_tensor(index)
        if found.dtype.is_integer:
            return from_end(found, shapes.dim(x, 0))
    return getitem(arrays.reshape(creation.range(arrays.size(x)), shape_of(x)), index)


# Functions.

def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    _check_cast(src, dst.dtype, casting)
    value = cast_into(src, dst.dtype)
    if where is not True:
        value = functions.where(where, value, dst.__tensor__())
    put_result(value, dst)


def _check_cast(value: Any, dtype: DType, casting: Any) -> None:
    """TypeError if NumPy's rule does not allow this cast. Numbers of Python's are of a kind only."""
    x = value if isinstance(value, Tensor) else convert_to_tensor(value) if holds_tensor([value]) else np.asarray(value)
    is_number = x.type.weak if isinstance(x, Tensor) else type(value) in (int, float, complex)
    source = as_dtype(x.dtype)
    if source.level <= dtype.level if is_number else np.can_cast(source.np, dtype.np, casting):
        return
    raise located(DTypeError(f"{source.name} cannot become {dtype.name} here by NumPy's rule {casting!r}",
                             remedy=f"Cast the values: b.astype(np.{dtype.name})."))


def _putmask(a: Any, mask: Any, values: Any) -> None:
    if isinstance(values, (Tensor, np.ndarray)) and not getattr(getattr(values, "type", None), "weak", False):
        _check_cast(values, a.dtype, "safe")
    found = cast_into(values, a.dtype)
    if found.ndim and found.type.shape != a.type.shape:
        found = arrays.reshape(_repeated(found, a.size), shape_of(a))
    put_result(functions.where(mask, found, a.__tensor__()), a)


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    places, values = convert_to_tensor(ind), cast_into(v, a.dtype)
    if mode in ("wrap", "clip"):
        size = arrays.astype(a.size, places.dtype)
        places = places % size if mode == "wrap" else math.minimum(math.maximum(places, 0), size - 1)
    if values.ndim and values.type.shape != places.type.shape:
        values = _repeated(values, arrays.size(places))
        values = arrays.reshape(values, shape_of(places))
    a.flat[places] = values


def _repeated(values: Tensor, count: Any) -> Tensor:
    """The values, again and again, as many as there are places."""
    flat = arrays.ravel(values)
    return flat[creation.range(count) % shapes.dim(flat, 0)]


def _place(arr: Any, mask: Any, vals: Any) -> None:
    places = functions.flatnonzero(mask)
    arr.flat[places] = _repeated(cast_into(vals, arr.dtype), shapes.dim(places, 0))


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    x = arr.__tensor__()
    flat = creation.range(arrays.size(x))
    grid = flat if axis is None else arrays.reshape(flat, shape_of(x))
    places = functions.take_along_axis(grid, indices, 0 if axis is None else axis)
    arr.flat[places] = shapes.broadcast_to(cast_into(values, arr.dtype), shapes.shape(places))


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    places = np.arange(min(int(n) for n in a.shape))
    a[(places,) * a.ndim] = val


CHANGING: Final[Mapping[Any, Callable[..., None]]] = {
    np.copyto: _copyto, np.putmask: _putmask, np.put: _put, np.place: _place, np.put_along_axis: _put_along_axis,
    np.fill_diagonal: _fill_diagonal}
"""Functions that change an array argument, for arrays that are objects."""
