"""TFRecord files: records with their lengths and checksums, as event files have them, too.

Format: `tensorflow/core/lib/io/record_writer.h`.
"""
from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from runtime.core.errors import DataLossError, InvalidArgumentError
from runtime.core.positions import located

__all__ = ["compression", "masked_crc", "record", "records"]

_POLYNOMIAL: Final = 0x82F63B78
"""Of CRC-32C (Castagnoli), reflected."""


_BLOCK: Final = 1 << 20
"""Of how many bytes the checksum is computed at once."""
_FEW: Final = 1000
"""Up to how many bytes a loop in Python takes less time than NumPy's calls."""


def _table() -> list[int]:
    values = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        values.append(byte)
    return values


_TABLE: Final = _table()


@functools.cache
def _after(count: int) -> tuple[Any, Any]:
    """What `count` zero bytes, a power of 2, make of a checksum that is so far the lower or the upper 16 bits of the
    index. It is linear: for a checksum of both halves, the exclusive or of the two."""
    if count == 1:
        images = np.array([(1 << bit >> 8) ^ _TABLE[1 << bit & 0xFF] for bit in range(32)], np.uint32)
    else:
        low, high = _after(count // 2)
        units = np.uint32(1) << np.arange(32, dtype=np.uint32)
        half = low[units & 0xFFFF] ^ high[units >> 16]
        images = low[half & 0xFFFF] ^ high[half >> 16]
    return _linear(images[:16]), _linear(images[16:])


def _linear(images: Any) -> Any:
    """The table of a linear function of 16 bits by the images of each bit."""
    table = np.zeros(1 << 16, np.uint32)
    for bit, image in enumerate(images):
        table[1 << bit:2 << bit] = table[:1 << bit] ^ image
    return table


@functools.cache
def _of_words() -> tuple[Any, ...]:
    """For each of the four words of 8 bytes, the table of what it adds to their checksum. (The upper 16 bits become the
    lower ones after two bytes.)"""
    return _after(8)[0], _after(8)[1], _after(4)[0], _after(2)[0]


@functools.cache
def _views_of_words() -> tuple[memoryview, ...]:
    return tuple(map(memoryview, _of_words()))  # an item is a Python int, which Python computes with fastest


def _crc_of_few(data: bytes, crc: int) -> int:
    first, second, third, fourth = _views_of_words()
    whole = len(data) & ~7
    for a, b, c, d in struct.iter_unpack("<4H", data[:whole]):
        crc = first[a ^ (crc & 0xFFFF)] ^ second[b ^ (crc >> 16)] ^ third[c] ^ fourth[d]
    for byte in data[whole:]:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc


def _crc_of_many(data: bytes, crc: int) -> int:
    """The checksums of 8 bytes each, which are then joined in pairs. Zeros before the data do not change it, and the
    checksum so far is added to the first 4 bytes."""
    padded = np.zeros(len(data) + -len(data) % 8, np.uint8)
    padded[-len(data):] = np.frombuffer(data, np.uint8)
    start = -len(data) % 8
    padded[start:start + 4] ^= np.frombuffer(struct.pack("<I", crc), np.uint8)
    words = padded.view("<u2").reshape(-1, 4)
    sums = functools.reduce(np.bitwise_xor, [table.take(words[:, i]) for i, table in enumerate(_of_words())])
    size = 8
    while len(sums) > 1:
        if len(sums) % 2:
            sums = np.concatenate([np.zeros(1, np.uint32), sums])
        low, high = _after(size)
        left = sums[::2]
        sums = low.take(left & 0xFFFF) ^ high.take(left >> 16) ^ sums[1::2]
        size *= 2
    return int(sums[0])


def compression(kind: str | None) -> str:
    """How a file is compressed, as TF names it. InvalidArgumentError for another name."""
    if kind not in (None, "", "GZIP", "ZLIB"):
        raise located(InvalidArgumentError(f"compression_type is '', 'GZIP' or 'ZLIB', not {kind!r}"))
    return kind or ""


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and with a constant added, as records have it."""
    crc = 0xFFFFFFFF
    for start in range(0, len(data), _BLOCK):
        block = data[start:start + _BLOCK]
        crc = (_crc_of_few if len(block) <= _FEW else _crc_of_many)(block, crc)
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
