"""Attributes and methods that tensors share with NumPy's arrays, and NumPy's protocols.

Methods are functions of `runtime.numpy` with the tensor as the first argument.
"""
from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from runtime.core.operations import OPERATIONS

if TYPE_CHECKING:
    from runtime.core.tensor import Tensor

__all__ = ["ArrayMethods"]


def _call(name: str, *args: Any) -> Tensor:
    result: Tensor = OPERATIONS.array_method(name)(*args)
    return OPERATIONS.as_object(result) if getattr(args[0], "is_object", False) else result


class ArrayMethods:
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

    @property
    def mT(self) -> Tensor:
        return _call("matrix_transpose", self)

    @property
    def real(self) -> Tensor:
        return _call("real", self)

    @property
    def imag(self) -> Tensor:
        return _call("imag", self)

    def array_shape(self) -> tuple[Any, ...]:
        """The shape in NumPy's form: ints, and scalar tensors for sizes that are known only when the graph runs."""
        dims = self.type.shape  # type: ignore[attr-defined]
        return tuple([_call("size", self, axis) if dim is None else dim for axis, dim in enumerate(dims)])

    @property
    def size(self) -> Any:
        """The number of elements: an int, or a scalar tensor if it is known only when the graph runs."""
        return _call("size", self)

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        return _call("sum", self, axis, dtype, keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        return _call("prod", self, axis, dtype, keepdims)

    def mean(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        return _call("mean", self, axis, dtype, keepdims)

    def var(self, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False) -> Tensor:
        return _call("var", self, axis, dtype, ddof, keepdims)

    def std(self, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False) -> Tensor:
        return _call("std", self, axis, dtype, ddof, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _call("max", self, axis, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _call("min", self, axis, keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _call("any", self, axis, keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _call("all", self, axis, keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        return _call("argmax", self, axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        return _call("argmin", self, axis, keepdims)

    def argsort(self, axis: int | None = -1) -> Tensor:
        return _call("argsort", self, axis)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Tensor:
        return _call("cumsum", self, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Tensor:
        return _call("cumprod", self, axis, dtype)

    def nonzero(self) -> Any:
        return _call("nonzero", self)

    def astype(self, dtype: Any, copy: bool = True) -> Tensor:
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

    def take(self, indices: Any, axis: int | None = None) -> Tensor:
        return _call("take", self, indices, axis)

    def diagonal(self) -> Tensor:
        return _call("diagonal", self)

    def trace(self) -> Tensor:
        return _call("trace", self)

    def dot(self, b: Any) -> Tensor:
        return _call("dot", self, b)

    def clip(self, min: Any = None, max: Any = None) -> Tensor:
        return _call("clip", self, min, max)

    def round(self, decimals: int = 0) -> Tensor:
        return _call("round", self, decimals)

    def conj(self) -> Tensor:
        return _call("conj", self)

    conjugate = conj

