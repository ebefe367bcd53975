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

from runtime.core.protocol_buffers import bytes_field, double_field, int_field

__all__ = ["DTYPES", "event", "graph_event", "png", "summary_value", "version_event"]

DTYPES: Final = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "complex64": 8, "int64": 9, "bool": 10,
                 "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23, "int16": 5, "int8": 6,
                 "string": 7}
"""Numbers of the enum DataType."""
_KINDS: Final = {"scalars": 1, "histograms": 2, "text": 2, "images": 3, "graph_keras_model": 3}
"""By plugin: number of the enum DataClass: scalar, tensor, blob sequence."""
_VERSIONS: Final = {"graph_keras_model": b"1"}
"""By plugin: the data that it expects in the metadata of a summary."""


def _tensor(data: Any) -> bytes:
    """A TensorProto of an array, or of a list of byte strings."""
    strings = isinstance(data, list)
    shape = (len(data),) if strings else data.shape
    dims = b"".join(bytes_field(2, int_field(1, n)) for n in shape)
    head = int_field(1, DTYPES["string"] if strings else DTYPES[data.dtype.name]) + bytes_field(2, dims)
    if strings:
        return head + b"".join(bytes_field(8, x) for x in data)
    return head + bytes_field(4, np.ascontiguousarray(data).tobytes())


def summary_value(tag: str, plugin: str, data: Any, description: str | None = None) -> bytes:
    """A Summary with one value for this plugin of TensorBoard: an array, or a list of byte strings."""
    metadata = bytes_field(1, bytes_field(1, plugin.encode()) + bytes_field(2, _VERSIONS.get(plugin, b"")))
    if description is not None:
        metadata += bytes_field(3, description.encode())
    metadata += int_field(4, _KINDS[plugin])
    return bytes_field(1, bytes_field(1, tag.encode()) + bytes_field(9, metadata) + bytes_field(8, _tensor(data)))


def event(wall_time: float, step: int, summary: bytes) -> bytes:
    """An Event with a summary; the time is in seconds since 1970."""
    return double_field(1, wall_time) + int_field(2, step) + bytes_field(5, summary)


def graph_event(wall_time: float, graph_def: bytes) -> bytes:
    """An Event with a graph."""
    return double_field(1, wall_time) + bytes_field(4, graph_def)


def version_event(wall_time: float) -> bytes:
    """The first event of a file."""
    return double_field(1, wall_time) + bytes_field(3, b"brain.Event:2")


def png(pixels: Any) -> bytes:
    """A PNG file of an image uint8[height, width, 1 to 4 channels]."""
    height, width, channels = pixels.shape
    colour = (0, 4, 2, 6)[channels - 1]
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row begins with its filter type: 0, none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunks(((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")))


def _chunks(chunks: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks])
