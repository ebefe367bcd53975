"""TFRecord files: records with their lengths and checksums, as event files have them, too.

Format: `tensorflow/core/lib/io/record_writer.h`.
"""
from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from runtime.core.errors import DataLossError, InvalidArgumentError
from runtime.core.positions import located

__all__ = ["compression", "masked_crc", "record", "records"]

_POLYNOMIAL: Final = 0x82F63B78
"""Of CRC-32C (Castagnoli), reflected."""


def _table() -> list[int]:
    values = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        values.append(byte)
    return values


_TABLE: Final = _table()


def compression(kind: str | None) -> str:
    """How a file is compressed, as TF names it. InvalidArgumentError for another name."""
    if kind not in (None, "", "GZIP", "ZLIB"):
        raise located(InvalidArgumentError(f"compression_type is '', 'GZIP' or 'ZLIB', not {kind!r}"))
    return kind or ""


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and with a constant added, as records have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """A record of a file: length, its checksum, the data, its checksum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def records(file: Any) -> Iterator[bytes]:
    """The data of the records in a file. DataLossError if it ends in the middle of one, or a checksum is wrong."""
    number = 0
    while head := file.read(12):
        if len(head) < 12:
            raise DataLossError(f"truncated record {number}")
        if masked_crc(head[:8]) != struct.unpack("<I", head[8:])[0]:
            raise DataLossError(f"corrupted record {number}: the checksum of its length is wrong")
        size = struct.unpack("<Q", head[:8])[0]
        data = file.read(size + 4)
        if len(data) < size + 4:
            raise DataLossError(f"truncated record {number}")
        if masked_crc(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
            raise DataLossError(f"corrupted record {number}: its checksum is wrong")
        yield data[:-4]
        number += 1
