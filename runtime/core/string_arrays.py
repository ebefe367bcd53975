"""Arrays of strings: NumPy arrays of objects, all of them bytes."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "boxed", "element", "from_bytes", "holds_text", "in_arrays", "of_scalars", "remedy", "string_array", "to_bytes",
    "vector", "zeros",
]


def holds_text(value: Any) -> bool:
    """Whether a value is a string, or a list or an array of nothing but strings (`str` or `bytes`)."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(holds_text, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "SU" or (
            value.dtype == object and all(isinstance(x, (str, bytes)) for x in value.flat))
    return isinstance(value, (str, bytes))


def string_array(value: Any) -> Any:
    """The array for a value with text (`holds_text`); a `str` is encoded in UTF-8. ValueError for rows of different
    lengths."""
    array = np.array(value, object)
    if not holds_text(array):
        raise ValueError("rows of strings have different lengths")
    return vector([x.encode() if isinstance(x, str) else bytes(x) for x in array.flat]).reshape(array.shape)


def vector(values: Sequence[Any], dtype: Any = object) -> Any:
    """A vector of these values, by default of strings."""
    result = np.empty(len(values), dtype)
    result[:] = values
    return result


def to_bytes(array: Any) -> Any:
    """An array of strings as a vector of uint8: the lengths, of 8 bytes each, then the strings."""
    flat = array.reshape(-1).tolist()
    return np.frombuffer(np.array(list(map(len, flat)), "<i8").tobytes() + b"".join(flat), np.uint8)


def from_bytes(data: Any, shape: tuple[int, ...]) -> Any:
    """The array of this shape written by `to_bytes`. ValueError for other data."""
    size = math.prod(shape)
    lengths, text = data[:8 * size].tobytes(), data[8 * size:].tobytes()
    ends = np.cumsum(np.frombuffer(lengths, "<i8"))
    if data.dtype != np.uint8 or len(ends) != size or np.any(np.diff(ends, prepend=0) < 0) or (
            ends[-1] if size else 0) != len(text):
        raise ValueError(f"these are no {size} strings")
    parts = [text[start:end] for start, end in zip([0, *ends.tolist()], ends.tolist(), strict=False)]
    return vector(parts).reshape(shape)


def remedy(*dtypes: Any, otherwise: str) -> str:
    """The remedy for values of incompatible dtypes: if strings are among them, these are not cast."""
    return "Use rt.as_string, or rt.strings.to_number." if any(dtype.is_string for dtype in dtypes) else otherwise


def boxed(x: Any) -> Any:
    """A scalar that NumPy returns as bytes, which is not an array, as an array of rank 0."""
    if type(x) is not bytes:
        return x
    array = np.empty((), object)
    array[()] = x
    return array


def element(x: Any) -> Any:
    """An array as a value to store in another array: a scalar string as bytes, since NumPy would store the array itself
    as an object."""
    return x if type(x) is bytes or x.ndim or x.dtype.kind != "O" else x[()]


def of_scalars(xs: Sequence[Any], dtype: Any) -> Any:
    """The vector of scalars of this NumPy dtype."""
    return np.array([element(x) for x in xs] if np.dtype(dtype).kind == "O" else xs, dtype)


def zeros(shape: Sequence[int], dtype: Any) -> Any:
    """An array of zeros of this NumPy dtype, or of empty strings."""
    return np.full(shape, b"", dtype) if np.dtype(dtype).kind == "O" else np.zeros(shape, dtype)


def in_arrays(kernel: Callable[..., Any], results: Iterable[bool]) -> Callable[..., Any]:
    """The kernel for operands or results with strings (`results`: which results are): scalars are boxed, and results
    that NumPy computes from objects as an object, such as a bool, become arrays of their own dtype."""
    strings = tuple(results)

    def computed(*arrays: Any, **params: Any) -> Any:
        found = kernel(*arrays, **params)
        if isinstance(found, tuple):
            return tuple([boxed(x) if own else x for x, own in zip(found, strings, strict=True)])
        return boxed(found) if strings[:1] == (True,) else np.asarray(found)

    return computed
