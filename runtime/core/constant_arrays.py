"""Python values as arrays, and the dtypes to which they adapt beside tensors."""
from __future__ import annotations

from typing import Any, Final

import numpy as np

from runtime.core.errors import DTypeError, DTypeOverflowError, ShapeError
from runtime.core.string_arrays import holds_text, string_array
from runtime.core.tensor import Array, EagerTensor, Tensor
from runtime.core.types import ALL, DType, Weak, dtype_of, float32, float64, string

__all__ = ["adapt", "adapted", "constant_array", "is_numpy_number", "is_numpy_value"]


def constant_array(value: Any, dtype: DType | None = None, strings: bool = False) -> tuple[Array, Weak]:
    """The array for a Python value, NumPy value or eager tensor, and whether it is weak.

    Values that contain only Python numbers are weak: int is int32 (int64 or uint64 if too large), float is float32 that
    keeps the full float64 value (see `Weak`), complex is complex128. NumPy values keep their dtype, and are copied. All
    but tensors adapt to `dtype` if it is given. ValueError for a value that is no array, DTypeError for one that does
    not fit `dtype`, and for strings unless `dtype` is string or `strings` is set (elsewhere Python text stays Python
    text).
    """
    if (strings or dtype is string) and holds_text(value):
        if dtype is not None and dtype is not string:
            raise DTypeError(f"{_short(value)} is a string, and {dtype.name} is wanted")
        return _strings(value), False
    weak: Weak = False
    if isinstance(value, EagerTensor):
        array = value._array
    elif isinstance(value, (np.ndarray, np.generic)):
        array = np.array(value)
    else:
        array, weak = _python_array(value)
    try:
        if array.dtype == object and not isinstance(value, EagerTensor):
            raise TypeError("the array is not known to be one of strings")
        found = dtype_of(array)
    except TypeError:
        if array.dtype.kind in "US":
            raise DTypeError(
                f"{_short(value)} is text, and a tensor of numbers is wanted",
                remedy="rt.constant makes a tensor of strings, rt.strings.to_number one of numbers.") from None
        if array.dtype.names:
            fields = ", ".join(map(repr, array.dtype.names))
            raise DTypeError(f"no tensor can hold a structured array, which has the fields {fields}",
                             remedy="Take a field before its items: a['x'][i] in place of a[i]['x'].") from None
        raise DTypeError(f"no tensor can hold {_short(value)}, which is of dtype {array.dtype}",
                         remedy=f"There are the dtypes {', '.join(d.name for d in ALL)}.") from None
    if array.dtype.byteorder not in "=|":
        array = array.astype(found.np)
    if dtype is None or dtype is found:
        return array, dtype is None and weak
    if dtype is string:
        raise DTypeError(f"{_short(value)} is no string, and string is wanted", remedy="rt.as_string makes strings.")
    if weak or (_adapts(value) and not found.is_bool):
        fitting = weak.name if isinstance(weak, DType) else found.name
        return adapt(array if weak else _whole(array, dtype), dtype,
                     f"Use the dtype {fitting}, or cast it: rt.cast(x, rt.{dtype.name})."), False
    raise DTypeError(f"a value of dtype {found.name} was given where {dtype.name} is wanted",
                     remedy=f"Cast it: rt.cast(x, rt.{dtype.name}).")


def _strings(value: Any) -> Array:
    try:
        return string_array(value)  # type: ignore[no-any-return]
    except ValueError:
        raise ShapeError(f"a list whose rows have different lengths is no tensor: {_short(value)}") from None


def _whole(array: Array, dtype: DType) -> Array:
    """An array of floats as int64, if `dtype` is an integer dtype and all floats are integral and fit int64."""
    if dtype.is_integer and array.dtype.kind == "f" and (array == np.trunc(array)).all() and (abs(array) < 2**63).all():
        return array.astype(np.int64)
    return array


def _adapts(value: Any) -> bool:
    """Whether a value contains no tensor; a tensor's dtype would be binding."""
    return all(map(_adapts, value)) if isinstance(value, (list, tuple)) else not isinstance(value, Tensor)


def is_numpy_number(x: Any) -> bool:
    """Whether it is a NumPy array or scalar of numbers, which adapts to the dtype of a tensor beside it."""
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "iufc"


def is_numpy_value(x: Any) -> bool:
    """Whether it is a NumPy array or scalar of numbers or bools."""
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc"


_NUMBERS: Final = frozenset({bool, int, float, complex})
_ARRAY_LIKE: Final = (int, float, complex, str, bytes, list, tuple, range)


def _python_array(value: Any) -> tuple[Array, Weak]:
    kind = type(value)
    if kind is int or kind is float:
        if kind is float:
            return np.array(value), float32
        return np.array(value, _int_dtype(value, value)), True
    if kind is bool:
        return np.array(value), False
    if not isinstance(value, _ARRAY_LIKE) and not hasattr(value, "__array__"):
        raise _unsupported(value)
    try:
        array = np.array(_plain(value))
    except ValueError:
        raise ShapeError(f"a list whose rows have different lengths is no tensor: {_short(value)}") from None
    if array.dtype == object:
        if any(isinstance(item, list) for item in array.flat):  # NumPy before 1.24 nests them
            raise ShapeError(f"a list whose rows have different lengths is no tensor: {_short(value)}")
        if _python_only(value):
            raise DTypeError(f"{_short(value)} does not fit int64")
        raise _unsupported(value)
    if not _python_only(value):
        return array, False
    if array.dtype.kind in "iu":
        low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
        return array.astype(_int_dtype(low, high)), True
    if array.dtype.kind == "f":
        return array.astype(np.float64, copy=False), float32
    if array.dtype.kind == "c":
        return array.astype(np.complex128), True
    return array, False


def _plain(value: Any) -> Any:
    """A nested list with its eager tensors replaced by arrays."""
    if type(value) is list and _NUMBERS.issuperset(map(type, value)):
        return value
    if isinstance(value, EagerTensor):
        return value._array
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _python_only(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return _NUMBERS.issuperset(map(type, value)) or all(map(_python_only, value))
    return isinstance(value, (bool, int, float, complex, range)) and not isinstance(value, np.generic)


def _int_dtype(low: int, high: int) -> Any:
    if low >= -(1 << 31) and high < 1 << 31:
        return np.int32
    if low >= -(1 << 63) and high < 1 << 63:
        return np.int64
    if low < 0 or high >= 1 << 64:
        raise DTypeError(f"{low if low < 0 else high} does not fit int64")
    return np.uint64


def _unsupported(value: Any) -> ValueError:
    return ValueError(
        f"Attempt to convert a value ({_short(value)}) with an unsupported type ({type(value)}) to a Tensor.")


def _short(value: Any) -> str:
    """The repr of a value, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def adapted(array: Array, dtype: DType, weak: bool) -> tuple[Array, Weak]:
    """A weak array as `dtype`, with its new weakness."""
    return (adapt(array, float64), float32) if weak and dtype is float32 else (adapt(array, dtype), weak)


def adapt(array: Array, dtype: DType, remedy: str = "") -> Array:
    """A weak array as `dtype`. DTypeError if its kind is too high, with a remedy for operands unless one is given, or
    if an int does not fit."""
    source = dtype_of(array)
    if source is dtype:
        return array
    if not array.size:  # an empty list has no kind
        return array.astype(dtype.np)
    if source.level > dtype.level or dtype.is_bool:
        raise DTypeError(f"{_short(array.tolist())} cannot become {dtype.name}",
                         remedy=remedy or f"Cast the other operand, for example rt.cast(x, rt.{source.name}).")
    if dtype.is_integer and array.size:
        low, high = dtype.limits
        if int(array.min()) < low or int(array.max()) > high:
            raise DTypeOverflowError(
                f"{_short(array.tolist())} does not fit {dtype.name}, which goes from {low} to {high}",
                remedy="Cast the tensor to a wider dtype.")
    return array.astype(dtype.np)
