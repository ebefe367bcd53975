"""The wire format of protocol buffers: fields of messages, written and read without the protobuf package."""
from __future__ import annotations

import struct
from collections.abc import Iterator

__all__ = ["bytes_field", "double_field", "fields", "int_field", "places", "varint", "varints"]


def varint(number: int) -> bytes:
    """A number of at most 64 bits, 7 of them per byte."""
    number &= 0xFFFFFFFFFFFFFFFF
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def int_field(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number)


def bytes_field(field: int, data: bytes) -> bytes:
    """A field of bytes, a string, a message, or packed numbers."""
    return varint(field << 3 | 2) + varint(len(data)) + data


def double_field(field: int, number: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", number)


def _read(data: bytes, at: int) -> tuple[int, int]:
    """A varint, and the position after it. ValueError if it is damaged."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
    raise ValueError("a number of a message is damaged")


def varints(data: bytes) -> Iterator[int]:
    """Packed numbers, as signed 64-bit ints."""
    at = 0
    while at < len(data):
        number, at = _read(data, at)
        yield number - (1 << 64) if number >> 63 else number


def places(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """The number, start and end of each field in a part of a message that consists of length-delimited fields.
    ValueError if it has other fields, or is damaged."""
    while start < stop:
        key, start = _read(data, start)
        size, start = _read(data, start)
        if key & 7 != 2 or start + size > stop:
            raise ValueError("a part of a message is damaged, or holds a number")
        yield key >> 3, start, start + size
        start += size


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The number and the content, an int or bytes, of each field of a message. ValueError if it is damaged."""
    at = 0
    while at < len(data):
        key, at = _read(data, at)
        kind = key & 7
        if kind == 0:
            number, at = _read(data, at)
            yield key >> 3, number
            continue
        if kind == 2:
            size, at = _read(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"a message has a field of the unknown kind {kind}")
        if at + size > len(data):
            raise ValueError("a message ends in the middle of a field")
        yield key >> 3, data[at:at + size]
        at += size
