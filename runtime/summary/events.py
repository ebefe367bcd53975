"""Event files of TensorBoard: records of protocol buffers, written without the protobuf package.

Formats: `runtime.core.record_files`, `tensorflow/core/util/event.proto`,
`tensorflow/core/framework/{summary,tensor}.proto` (their fields have the numbers below).
"""
from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

__all__ = ["event", "png", "summary_value", "version_event"]

_DTYPES: Final = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int64": 9, "bool": 10}
"""Numbers of the enum DataType."""
_STRING: Final = 7
_KINDS: Final = {"scalars": 1, "histograms": 2, "text": 2, "images": 3}
"""By plugin: number of the enum DataClass: scalar, tensor, blob sequence."""


def _varint(number: int) -> bytes:
    number &= 0xFFFFFFFFFFFFFFFF
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _int(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _double(field: int, number: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", number)


def _tensor(data: Any) -> bytes:
    """A TensorProto: of an array, or of a list of strings of bytes."""
    strings = isinstance(data, list)
    shape = (len(data),) if strings else data.shape
    dims = b"".join(_bytes(2, _int(1, n)) for n in shape)
    head = _int(1, _STRING if strings else _DTYPES[data.dtype.name]) + _bytes(2, dims)
    return head + (b"".join(_bytes(8, x) for x in data) if strings else _bytes(4, np.ascontiguousarray(data).tobytes()))


def summary_value(tag: str, plugin: str, data: Any, description: str | None = None) -> bytes:
    """A Summary with one value for this plugin of TensorBoard: an array, or a list of strings of bytes."""
    metadata = _bytes(1, _bytes(1, plugin.encode())) + (b"" if description is None else _bytes(3, description.encode()))
    metadata += _int(4, _KINDS[plugin])
    return _bytes(1, _bytes(1, tag.encode()) + _bytes(9, metadata) + _bytes(8, _tensor(data)))


def event(wall_time: float, step: int, summary: bytes) -> bytes:
    """An Event with a summary, of a time in seconds since 1970."""
    return _double(1, wall_time) + _int(2, step) + _bytes(5, summary)


def version_event(wall_time: float) -> bytes:
    """The first event of a file."""
    return _double(1, wall_time) + _bytes(3, b"brain.Event:2")


def png(pixels: Any) -> bytes:
    """A PNG file of an image uint8[height, width, 1 to 4 channels]."""
    height, width, channels = pixels.shape
    colour = (0, 4, 2, 6)[channels - 1]
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunks(((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")))


def _chunks(chunks: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks])
