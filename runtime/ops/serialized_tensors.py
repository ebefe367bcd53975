"""Tensors as strings (`tf.io.serialize_tensor`), without the protobuf package.

Format: `tensorflow/core/framework/{tensor,tensor_shape,types}.proto`, whose fields and dtypes have the numbers below.
"""
from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.messages import message_of
from runtime.core.positions import located
from runtime.core.protocol_buffers import bytes_field, fields, int_field, varint, varints
from runtime.core.string_arrays import string_array, vector
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, TensorSpec, as_dtype, dtype_of
from runtime.ops.host_functions import numpy_function
from runtime.ops.op_makers import named

__all__ = ["parse_tensor", "serialize_tensor"]

_NUMBERS: Final = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8, "int64": 9,
    "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23,
    "float8_e5m2": 24, "float8_e4m3fn": 25}
_NAMES: Final = {number: name for name, number in _NUMBERS.items()}
_DTYPE, _SHAPE, _CONTENT, _STRINGS, _BITS, _BYTES = 1, 2, 4, 8, 13, 18
_PACKED: Final = {5: "<f4", 6: "<f8", 9: "<c8", 12: "<c16"}
"""The fields of floats and complex numbers, with their dtypes."""
_INTS: Final = (7, 10, 11, _BITS, 16, 17)
"""The fields of ints, bools, and the bits of short floats."""


def _serialized(x: Any) -> bytes:
    array = string_array(x) if isinstance(x, bytes) else np.asarray(x)
    dtype = dtype_of(array)
    sizes = b"".join([bytes_field(2, int_field(1, n) if n else b"") for n in array.shape])
    if dtype.is_string:
        content = b"".join([bytes_field(_STRINGS, each) for each in array.reshape(-1).tolist()])
    else:
        content = bytes_field(_CONTENT, array.tobytes()) if array.size else b""
    return int_field(_DTYPE, _NUMBERS[dtype.name]) + bytes_field(_SHAPE, sizes) + content


def _parsed(data: bytes, expected: DType) -> Any:
    try:
        parts = dict[int, list[int | bytes]]()
        for field, content in fields(data):
            parts.setdefault(field, []).append(content)
        number = parts.get(_DTYPE, [0])[-1]
        if not isinstance(number, int) or (name := _NAMES.get(number)) is None:
            raise ValueError("it has no known dtype")
        if name != expected.name:
            raise InvalidArgumentError(f"Type mismatch between parsed tensor ({name}) and dtype ({expected.name})")
        shape = [next((n for field, n in fields(message_of(dim)) if field == 1 and isinstance(n, int)), 0)
                 for each in parts.get(_SHAPE, []) for kind, dim in fields(message_of(each)) if kind == 2]
        return _filled(_values(parts, expected), math.prod(shape), expected).reshape(shape)
    except ValueError as error:
        raise InvalidArgumentError(f"Could not parse `serialized` as TensorProto: {error}") from None


def _values(parts: dict[int, list[int | bytes]], dtype: DType) -> Any:
    """The values of a message: the bytes of all, or those of its fields for the dtype."""
    if _CONTENT in parts:
        return np.frombuffer(message_of(parts[_CONTENT][-1]), dtype.np)
    if _STRINGS in parts:
        return vector(list(map(message_of, parts[_STRINGS])))
    if _BYTES in parts:
        return np.frombuffer(message_of(parts[_BYTES][-1]), dtype.np)
    for number, kind in _PACKED.items():
        if number in parts:
            return np.frombuffer(b"".join(map(message_of, parts[number])), kind)
    numbers = [n for field in _INTS for x in parts.get(field, []) for n in varints(
        x if isinstance(x, bytes) else varint(x))]
    if _BITS in parts:
        return np.array(numbers, np.uint16).view(dtype.np)
    return np.array([n % (1 << 64) for n in numbers], np.uint64) if dtype.name == "uint64" else np.array(numbers)


def _filled(values: Any, size: int, dtype: DType) -> Any:
    """A vector of that size: the values, the last of them repeatedly; without values, zeros. ValueError for more."""
    if len(values) > size:
        raise ValueError(f"it has {len(values)} values for a shape of {size}")
    rest = np.full(size - len(values), values[-1] if len(values) else b"" if dtype.is_string else 0, dtype.np)
    return np.concatenate([values.astype(dtype.np), rest]) if len(values) else rest


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor of any dtype as a string scalar, the bytes of TensorFlow's TensorProto (`tf.io.serialize_tensor`)."""
    x = convert_to_tensor(tensor)
    found: Tensor = numpy_function(_serialized, [x], TensorSpec((), t.string))
    return named(found, name)


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor that `serialize_tensor` has written, or TensorFlow, as a string scalar (`tf.io.parse_tensor`).

    In a graph its shape must be declared right after the call, by `rt.ensure_shape(x, shape)` or `x.set_shape(shape)`,
    where unknown sizes are None.
    InvalidArgumentError for other strings, and for a tensor of another dtype than `out_type`.
    """
    dtype = as_dtype(out_type)
    data = convert_to_tensor(serialized, t.string)
    if data.type.shape:
        raise located(ShapeError(f"parse_tensor takes a string scalar, not {data.type}"))
    found: Tensor = numpy_function(lambda x: _parsed(x, dtype), [data], dtype)
    return named(found, name)
