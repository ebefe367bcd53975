"""Attributes and methods that tensors share with NumPy's arrays, and NumPy's protocols.

Methods are functions of `runtime.numpy` with the tensor as the first argument.
"""
from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.core.array_shape import ArrayShape
from runtime.core.operations import OPERATIONS
from runtime.core.tensor_attributes import Attributes

if TYPE_CHECKING:
    from runtime.core.tensor import Tensor

__all__ = ["ArrayMethods", "is_tensor_with_axes"]


def _call(name: str, *args: Any, out: Any = None, **keywords: Any) -> Tensor:
    """What a function of that name gives for a tensor; `keywords` are those that were given, or None."""
    provided = {key: value for key, value in keywords.items() if value is not None}
    result: Tensor = OPERATIONS.array_method(name)(*args, **provided)
    if out is not None:
        put: Tensor = OPERATIONS.put_out(result, out, f"the method {name!r}")
        return put
    return OPERATIONS.as_object(result, args) if getattr(args[0], "is_object", False) else result


def _unless_true(where: Any) -> Any:
    return None if where is True else where


class ArrayMethods(Attributes):
    """The part of `Tensor` that is compatible with `numpy.ndarray`, without methods that change an array in place."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return OPERATIONS.array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return OPERATIONS.array_function(func, args, kwargs)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        return OPERATIONS.array_namespace()

    @property
    def device(self) -> str:
        """Where the values are (`tf.Tensor.device`): "" for a tensor of a graph; "cpu" for an array of NumPy there."""
        if hasattr(self, "is_object"):
            return "cpu" if self.is_object else ""
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    @property
    def T(self) -> Tensor:
        return _call("transpose", self)

    @T.setter
    def T(self, value: Any) -> None:
        raise self._immutable("T", "x = rt.transpose(value); for a row of x.T, t = x.T, t[i] = value, x = t.T")

    @property
    def mT(self) -> Tensor:
        return _call("matrix_transpose", self)

    @mT.setter
    def mT(self, value: Any) -> None:
        raise self._immutable("mT", "x = rt.linalg.matrix_transpose(value)")

    @property
    def real(self) -> Tensor:
        return _call("real", self)

    @real.setter
    def real(self, value: Any) -> None:
        raise self._immutable("real", "x = rt.complex(value, x.imag)")

    @property
    def imag(self) -> Tensor:
        return _call("imag", self)

    @imag.setter
    def imag(self, value: Any) -> None:
        raise self._immutable("imag", "x = rt.complex(x.real, value)")

    def array_shape(self) -> tuple[Any, ...]:
        """The shape in NumPy's form: ints, and scalar tensors for sizes that are known only when the graph runs."""
        dims = self.type.shape  # type: ignore[attr-defined]
        if None not in dims:
            return ArrayShape(dims)
        return tuple([_call("size", self, axis) if dim is None else dim for axis, dim in enumerate(dims)])

    @property
    def size(self) -> Any:
        """The number of elements: an int, or a scalar tensor if it is known only when the graph runs."""
        return _call("size", self)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
            where: Any = True) -> Tensor:
        return _call("sum", self, axis, dtype, keepdims, out=out, initial=initial, where=_unless_true(where))

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
             where: Any = True) -> Tensor:
        return _call("prod", self, axis, dtype, keepdims, out=out, initial=initial, where=_unless_true(where))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
             ) -> Tensor:
        return _call("mean", self, axis, dtype, keepdims, out=out, where=_unless_true(where))

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, *,
            where: Any = True) -> Tensor:
        return _call("var", self, axis, dtype, ddof, keepdims, out=out, where=_unless_true(where))

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False, *,
            where: Any = True) -> Tensor:
        return _call("std", self, axis, dtype, ddof, keepdims, out=out, where=_unless_true(where))

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
            ) -> Tensor:
        return _call("max", self, axis, keepdims, out=out, initial=initial, where=_unless_true(where))

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
            ) -> Tensor:
        return _call("min", self, axis, keepdims, out=out, initial=initial, where=_unless_true(where))

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Tensor:
        return _call("any", self, axis, keepdims, out=out, where=_unless_true(where))

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Tensor:
        return _call("all", self, axis, keepdims, out=out, where=_unless_true(where))

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
        return _call("argmax", self, axis, keepdims, out=out)

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Tensor:
        return _call("argmin", self, axis, keepdims, out=out)

    def ptp(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Tensor:
        return _call("ptp", self, axis, keepdims, out=out)

    def argsort(self, axis: int | None = -1, kind: Any = None, order: None = None, *, stable: Any = None) -> Tensor:
        return _call("argsort", self, axis)

    def argpartition(self, kth: Any, axis: int | None = -1, kind: str = "introselect") -> Tensor:
        return _call("argpartition", self, kth, axis)

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
        return _call("cumsum", self, axis, dtype, out=out)

    def cumprod(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
        return _call("cumprod", self, axis, dtype, out=out)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
        return _call("searchsorted", self, v, side, sorter)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Tensor:
        return _call("compress", condition, self, axis, out=out)

    def choose(self, choices: Any, out: Any = None) -> Tensor:
        return _call("choose", self, choices, out=out)

    def nonzero(self) -> Any:
        return _call("nonzero", self)

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
               ) -> Tensor:
        return _call("astype", self, dtype)

    def reshape(self, *shape: Any, order: str = "C") -> Tensor:
        return _call("reshape", self, shape[0] if len(shape) == 1 else shape, order)

    def ravel(self, order: str = "C") -> Tensor:
        return _call("ravel", self, order)

    def flatten(self, order: str = "C") -> Tensor:
        return _call("ravel", self, order)

    def transpose(self, *axes: Any) -> Tensor:
        return _call("transpose", self, axes[0] if len(axes) == 1 else axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        return _call("swapaxes", self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> Tensor:
        return _call("squeeze", self, axis)

    def repeat(self, repeats: Any, axis: int | None = None) -> Tensor:
        return _call("repeat", self, repeats, axis)

    def take(self, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Tensor:
        return _call("take", self, indices, axis, out=out, mode=None if mode == "raise" else mode)

    def diagonal(self, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        return _call("diagonal", self, offset, axis1, axis2)

    def trace(self, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Tensor:
        return _call("trace", self, offset, axis1, axis2, dtype, out=out)

    def dot(self, b: Any, out: Any = None) -> Tensor:
        return _call("dot", self, b, out=out)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Tensor:
        return _call("clip", self, min, max, out=out)

    def round(self, decimals: int = 0, out: Any = None) -> Tensor:
        return _call("round", self, decimals, out=out)

    def conj(self) -> Tensor:
        return _call("conj", self)

    conjugate = conj

    # The memory of arrays.

    @property
    def flat(self) -> Any:
        """The elements in one dimension."""
        return _call("ravel", self)

    @flat.setter
    def flat(self, value: Any) -> None:
        raise self._immutable("flat", "x = rt.reshape(value, x.shape)")

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        size: int = self.dtype.size  # type: ignore[attr-defined]
        return size

    @property
    def nbytes(self) -> Any:
        """The number of bytes of all elements."""
        return self.size * self.itemsize

    def tobytes(self, order: Any = "C") -> bytes:
        """The bytes of the elements of an eager tensor."""
        return np.asarray(self).tobytes(order)

    base: Any = None
    """The array of which this is a view; a tensor is none."""

    def fill(self, value: Any) -> None:
        raise self._immutable("fill", "x = rt.fill(rt.shape(x), value), or np.full_like(x, value)")

    def sort(self, axis: int = -1, kind: Any = None, order: None = None) -> None:
        raise self._immutable("sort", "x = rt.sort(x, axis), or np.sort(x, axis)")

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect") -> None:
        raise self._immutable("partition", "x = np.partition(x, kth, axis)")

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        raise self._immutable("put", "x = rt.tensor_scatter_nd_update(x, indices[:, None], values)")

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        raise self._immutable("resize", "x = np.resize(x, shape)")

    def _immutable(self, name: str, instead: str) -> Exception:
        return OPERATIONS.refusal(self, name, instead)


def is_tensor_with_axes(x: Any) -> bool:
    """Whether a value is a tensor or variable, not an array of a traced function, and no scalar."""
    return isinstance(x, ArrayMethods) and not (getattr(x, "is_object", False) or getattr(
        getattr(x, "type", None), "of_arrays", False)) and bool(getattr(x, "ndim", 0))
