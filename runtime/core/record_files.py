"""TFRecord files: records with their lengths and checksums, as event files have them, too.

Format: `tensorflow/core/lib/io/record_writer.h`.
"""
from __future__ import annotations

import functools
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from runtime.core.errors import DataLossError, InvalidArgumentError
from runtime.core.positions import located

__all__ = ["compression", "masked_crc", "record", "records"]

_POLYNOMIAL: Final = 0x82F63B78
"""Of CRC-32C (Castagnoli), reflected."""


_BLOCK: Final = 1 << 20
"""Of how many bytes the checksum is computed at once."""
_READ: Final = 1 << 18
"""Of how many bytes records are read at once."""
_WIDE: Final = 1 << 15
"""Up to how many bytes records are checked together."""
_SEVERAL: Final = 4
"""From how many records on that takes less time."""
_UINT, _ULONG = struct.Struct("<I"), struct.Struct("<Q")
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
    """That of data from 4 bytes on, with the checksum so far."""
    return int(_crcs(memoryview(data), [(0, len(data))], crc)[0])


def _crcs(data: memoryview, places: Sequence[tuple[int, int]], crc: int) -> Any:
    """The checksums of parts of data, of at least 4 bytes each, by their beginnings and ends: uint32[n].

    Those of 8 bytes each are joined in pairs. Zeros before the data do not change it, so all get the same length, and
    the checksum so far is added to the first 4 bytes.
    """
    size = max(end - start for start, end in places)
    padded = np.zeros((len(places), size + -size % 8), np.uint8)
    width = padded.shape[1]
    raw = np.frombuffer(data, np.uint8)
    for row, (start, end) in zip(padded, places, strict=True):
        row[width - end + start:] = raw[start:end]
    firsts = np.array([width - end + start for start, end in places])[:, None] + np.arange(4)
    padded[np.arange(len(places))[:, None], firsts] ^= np.frombuffer(struct.pack("<I", crc), np.uint8)
    words = padded.view("<u2").reshape(len(places), -1, 4)
    sums = functools.reduce(np.bitwise_xor, [table.take(words[:, :, i]) for i, table in enumerate(_of_words())])
    size = 8
    while sums.shape[1] > 1:
        if sums.shape[1] % 2:
            sums = np.concatenate([np.zeros((len(sums), 1), np.uint32), sums], 1)
        low, high = _after(size)
        left = sums[:, ::2]
        sums = low.take(left & 0xFFFF) ^ high.take(left >> 16) ^ sums[:, 1::2]
        size *= 2
    return sums[:, 0]


def _masked_crcs(data: memoryview, places: Sequence[tuple[int, int]]) -> list[int]:
    """`masked_crc` of parts of data: of many of similar lengths together, of each of the others by itself."""
    found = [0] * len(places)
    classes: dict[int, list[int]] = {}
    for number, (start, end) in enumerate(places):
        size = end - start
        classes.setdefault(size.bit_length() if 4 <= size <= _WIDE else 0, []).append(number)
    for bits, numbers in classes.items():
        if not bits or len(numbers) < _SEVERAL:
            for number in numbers:
                found[number] = masked_crc(data[slice(*places[number])].tobytes())
            continue
        for first in range(0, len(numbers), max(_BLOCK >> bits, 1)):
            some = numbers[first:first + max(_BLOCK >> bits, 1)]
            for number, crc in zip(some, _crcs(data, [places[k] for k in some], 0xFFFFFFFF).tolist(), strict=True):
                found[number] = _masked(crc ^ 0xFFFFFFFF)
    return found


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
    return _masked(crc ^ 0xFFFFFFFF)


def _masked(crc: int) -> int:
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """A record of a file: length, its checksum, the data, its checksum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def records(file: Any) -> Iterator[bytes]:
    """The data of the records in a file. DataLossError if it ends in the middle of one, or a checksum is wrong."""
    number, data = 0, b""
    while True:
        more = file.read(_READ)
        data = data + more if data else more
        starts = list(_starts(data))
        view = memoryview(data)
        headers = _masked_crcs(view, [(start, start + 8) for start, _ in starts])
        wholes = [(start + 12, start + 12 + size) for start, size in starts if start + 16 + size <= len(data)]
        bodies = _masked_crcs(view, wholes)
        for k, (start, size) in enumerate(starts):
            if headers[k] != _UINT.unpack_from(data, start + 8)[0]:
                raise DataLossError(f"corrupted record {number}: the checksum of its length is wrong")
            if k == len(wholes):  # goes on after the block: the length is right, so it can be read
                data += file.read(max(start + 16 + size - len(data), 0))
                if len(data) < start + 16 + size:
                    raise DataLossError(f"truncated record {number}")
                break
            if bodies[k] != _UINT.unpack_from(data, start + 12 + size)[0]:
                raise DataLossError(f"corrupted record {number}: its checksum is wrong")
            yield data[start + 12:start + 12 + size]
            number += 1
        done = wholes[-1][1] + 4 if wholes else 0
        view.release()
        data = data[done:]
        if not more and not starts:
            if data:
                raise DataLossError(f"truncated record {number}")
            return


def _starts(data: bytes) -> Iterator[tuple[int, int]]:
    """Where records begin in a block, and the lengths that they say they have; the last may go on after it."""
    start = 0
    while start + 12 <= len(data):
        size = _ULONG.unpack_from(data, start)[0]
        yield start, size
        start += 16 + size
