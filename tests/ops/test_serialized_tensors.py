"""Tensors as strings: the bytes of TensorFlow's TensorProto, of which those below are TensorFlow 2.21's."""
from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}
MESSAGES: dict[str, bytes] = {  # serialize_tensor(cast([1, 0], dtype))
    "float32": b"\x08\x01\x12\x04\x12\x02\x08\x02\"\x08\x00\x00\x80?\x00\x00\x00\x00",
    "float64": b"\x08\x02\x12\x04\x12\x02\x08\x02\"\x10\x00\x00\x00\x00\x00\x00\xf0?\x00\x00\x00\x00\x00\x00\x00\x00",
    "int32": b"\x08\x03\x12\x04\x12\x02\x08\x02\"\x08\x01\x00\x00\x00\x00\x00\x00\x00",
    "uint8": b"\x08\x04\x12\x04\x12\x02\x08\x02\"\x02\x01\x00",
    "int16": b"\x08\x05\x12\x04\x12\x02\x08\x02\"\x04\x01\x00\x00\x00",
    "int8": b"\x08\x06\x12\x04\x12\x02\x08\x02\"\x02\x01\x00",
    "complex64": b"\x08\x08\x12\x04\x12\x02\x08\x02\"\x10\x00\x00\x80?" + bytes(12),
    "int64": b"\x08\t\x12\x04\x12\x02\x08\x02\"\x10\x01" + bytes(15),
    "bool": b"\x08\n\x12\x04\x12\x02\x08\x02\"\x02\x01\x00",
    "bfloat16": b"\x08\x0e\x12\x04\x12\x02\x08\x02\"\x04\x80?\x00\x00",
    "uint16": b"\x08\x11\x12\x04\x12\x02\x08\x02\"\x04\x01\x00\x00\x00",
    "complex128": b"\x08\x12\x12\x04\x12\x02\x08\x02\" \x00\x00\x00\x00\x00\x00\xf0?" + bytes(24),
    "float16": b"\x08\x13\x12\x04\x12\x02\x08\x02\"\x04\x00<\x00\x00",
    "uint32": b"\x08\x16\x12\x04\x12\x02\x08\x02\"\x08\x01\x00\x00\x00\x00\x00\x00\x00",
    "uint64": b"\x08\x17\x12\x04\x12\x02\x08\x02\"\x10\x01" + bytes(15),
}


def values(dtype: str) -> Any:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return rt.cast([1, 0], dtype)


@pytest.mark.parametrize("dtype", MESSAGES)
@pytest.mark.parametrize("way", WAYS)
def test_numbers(way: str, dtype: str) -> None:
    x = values(dtype)
    data = WAYS[way](rt.io.serialize_tensor)(x)
    assert data.numpy() == MESSAGES[dtype]
    found = WAYS[way](lambda s: rt.ensure_shape(rt.io.parse_tensor(s, dtype), [None]))(data)
    assert found.dtype == x.dtype and found.numpy().tolist() == x.numpy().tolist()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("x", "data"), [
    (rt.constant([b"a", b"bcd"]), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x03bcd"),
    (rt.constant(b"x"), b"\x08\x07\x12\x00B\x01x"),
    (rt.zeros([0, 3]), b"\x08\x01\x12\x06\x12\x00\x12\x02\x08\x03"),
    (rt.constant(2), b"\x08\x03\x12\x00\"\x04\x02\x00\x00\x00"),
    (rt.constant([[1, 2], [3, 4]]),
     b"\x08\x03\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02\"\x10\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x04\0\0\0"),
], ids=["strings", "string", "empty", "scalar", "matrix"])
def test_shapes(way: str, x: Any, data: bytes) -> None:
    assert WAYS[way](rt.io.serialize_tensor)(x).numpy() == data
    found = WAYS[way](lambda s: rt.ensure_shape(rt.io.parse_tensor(s, x.dtype), x.shape))(rt.constant(data))
    assert found.shape == x.shape and np.array_equal(found.numpy(), x.numpy())


def field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data


@pytest.mark.parametrize(("dtype", "number", "content", "expected"), [
    ("float32", 1, field(5, struct.pack("<2f", 1.5, 2)), [1.5, 2, 2, 2]),
    ("float32", 1, b"\x2d" + struct.pack("<f", 5), [5] * 4),
    ("float64", 2, field(6, struct.pack("<d", 1.5)), [1.5] * 4),
    ("int32", 3, field(7, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x07"), [-1, 7, 7, 7]),
    ("uint8", 4, b"\x38\xfa\x01", [250] * 4),
    ("int64", 9, field(10, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x07"), [-1, 7, 7, 7]),
    ("uint64", 23, b"\x8a\x01\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x07", [2**64 - 1, 7, 7, 7]),
    ("uint32", 22, b"\x82\x01\x06\xff\xff\xff\xff\x0f\x07", [2**32 - 1, 7, 7, 7]),
    ("bool", 10, field(11, b"\1\0"), [True, False, False, False]),
    ("string", 7, field(8, b"a") + field(8, b"bc"), [b"a", b"bc", b"bc", b"bc"]),
    ("complex64", 8, field(9, struct.pack("<4f", 1, 2, 3, 4)), [1 + 2j, 3 + 4j, 3 + 4j, 3 + 4j]),
    ("float16", 19, field(13, b"\x80\x78\x80\x80\x01"), [1, 2, 2, 2]),
    ("float32", 1, b"", [0] * 4),
    ("string", 7, b"", [b""] * 4),
])
def test_fields_of_values_repeat_the_last(dtype: str, number: int, content: bytes, expected: list[Any]) -> None:
    found = rt.io.parse_tensor(bytes([8, number]) + b"\x12\x04\x12\x02\x08\x04" + content, dtype)
    assert found.dtype.name == dtype and found.numpy().tolist() == expected


def test_a_dataset() -> None:
    rows = rt.data.Dataset.from_tensor_slices(rt.reshape(rt.range(6.0), [3, 2])).map(rt.io.serialize_tensor)
    found = rows.map(lambda s: rt.ensure_shape(rt.io.parse_tensor(s, rt.float32), [2]))
    assert [each.numpy().tolist() for each in found] == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize(("data", "text"), [
    (b"abc", "Could not parse `serialized` as TensorProto"), (b"", "it has no known dtype"),
    (MESSAGES["int32"], r"Type mismatch between parsed tensor \(int32\) and dtype \(float32\)"),
    (MESSAGES["float32"].replace(b"\x08\x02", b"\x08\x01"), "it has 2 values for a shape of 1"),
    (MESSAGES["float32"][:-3], "Could not parse"),
])
def test_errors(data: bytes, text: str) -> None:
    with pytest.raises(rt.errors.InvalidArgumentError, match=text):
        rt.io.parse_tensor(data, rt.float32)
    with pytest.raises(rt.errors.ShapeError, match="takes a string scalar"):
        rt.io.parse_tensor([data], rt.float32)
