"""TFRecord files: records with lengths and checksums, the format of event files too.

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
"""The polynomial of CRC-32C (Castagnoli), reflected."""


_BLOCK: Final = 1 << 20
"""The number of bytes per step of computing a checksum."""
_READ: Final = 1 << 18
"""The number of bytes read at a time."""
_WIDE: Final = 1 << 15
"""The maximal size in bytes of records that are checked together."""
_SEVERAL: Final = 4
"""The number of records from which on checking together is faster."""
_ULONG: Final = struct.Struct("<Q")
_FEW: Final = 1000
"""The number of bytes up to which a Python loop is faster than NumPy calls."""


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
    """Tables of the effect of `count` zero bytes (a power of 2) on a checksum whose lower (first table) or upper
    (second) 16 bits are the index, the others 0. The function is linear: for a whole checksum it is the exclusive or of
    the two."""
    if count == 1:
        images = np.array([(1 << bit >> 8) ^ _TABLE[1 << bit & 0xFF] for bit in range(32)], np.uint32)
    else:
        low, high = _after(count // 2)
        units = np.uint32(1) << np.arange(32, dtype=np.uint32)
        half = low[units & 0xFFFF] ^ high[units >> 16]
        images = low[half & 0xFFFF] ^ high[half >> 16]
    return _linear(images[:16]), _linear(images[16:])


def _linear(images: Any) -> Any:
    """The table of a linear function of 16 bits, from the image of each bit."""
    table = np.zeros(1 << 16, np.uint32)
    for bit, image in enumerate(images):
        table[1 << bit:2 << bit] = table[:1 << bit] ^ image
    return table


@functools.cache
def _of_words() -> tuple[Any, ...]:
    """For each of the four 16-bit words in 8 bytes, the table of its contribution to their checksum. (The upper 16 bits
    become the lower ones after two bytes.)"""
    return _after(8)[0], _after(8)[1], _after(4)[0], _after(2)[0]


@functools.cache
def _views_of_words() -> tuple[memoryview, ...]:
    return tuple(map(memoryview, _of_words()))  # items of these are Python ints, with which Python computes fastest


def _crc_of_few(data: bytes, crc: int) -> int:
    first, second, third, fourth = _views_of_words()
    whole = len(data) & ~7
    for a, b, c, d in struct.iter_unpack("<4H", data[:whole]):
        crc = first[a ^ (crc & 0xFFFF)] ^ second[b ^ (crc >> 16)] ^ third[c] ^ fourth[d]
    for byte in data[whole:]:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc


def _crc_of_many(data: bytes, crc: int) -> int:
    """The checksum of data of at least 4 bytes, continuing from the checksum `crc`."""
    return int(_crcs(np.frombuffer(data, np.uint8), np.zeros(1, np.int64), np.array([len(data)]), crc)[0])


def _crcs(data: Any, starts: Any, sizes: Any, crc: int) -> Any:
    """The checksums of parts of data, of at least 4 bytes each, all continuing from the checksum `crc`: uint32[n].

    Checksums of 8 bytes each are combined in pairs. Zeros before a part do not change it, so all parts are padded to
    one length, and `crc` is added to their first 4 bytes.
    """
    count, size = len(starts), int(sizes.max())
    width = size + -size % 8
    padded = np.zeros((count, width), np.uint8)
    if (sizes == size).all():
        padded[:, width - size:] = np.lib.stride_tricks.sliding_window_view(data, size)[starts]
    else:
        for row, start, length in zip(padded, starts.tolist(), sizes.tolist(), strict=True):
            row[width - length:] = data[start:start + length]
    firsts = (width - sizes)[:, None] + np.arange(4)
    padded[np.arange(count)[:, None], firsts] ^= np.frombuffer(struct.pack("<I", crc), np.uint8)
    words = padded.view("<u2").reshape(count, -1, 4)
    sums = functools.reduce(np.bitwise_xor, [table.take(words[:, :, i]) for i, table in enumerate(_of_words())])
    size = 8
    while sums.shape[1] > 1:
        if sums.shape[1] % 2:
            sums = np.concatenate([np.zeros((count, 1), np.uint32), sums], 1)
        low, high = _after(size)
        left = sums[:, ::2]
        sums = low.take(left & 0xFFFF) ^ high.take(left >> 16) ^ sums[:, 1::2]
        size *= 2
    return sums[:, 0]


def _masked_crcs(data: bytes, starts: Any, sizes: Any) -> Any:
    """`masked_crc` of parts of data, uint32[n]: computed together for several parts of similar size, singly for the
    others."""
    found = np.empty(len(starts), np.uint32)
    raw = np.frombuffer(data, np.uint8)
    classes = np.frexp(sizes)[1] * ((sizes >= 4) & (sizes <= _WIDE))  # by the bits that the sizes have
    for bits in np.unique(classes).tolist():
        (numbers,) = np.nonzero(classes == bits)
        if len(numbers) < _SEVERAL or not bits:
            for number, start, size in zip(*[x.tolist() for x in (numbers, starts[numbers], sizes[numbers])],
                                           strict=True):
                found[number] = masked_crc(data[start:start + size])
            continue
        many = max(_BLOCK >> bits, 1)
        for first in range(0, len(numbers), many):
            some = numbers[first:first + many]
            found[some] = _masked(~_crcs(raw, starts[some], sizes[some], 0xFFFFFFFF))
    return found


def compression(kind: str | None) -> str:
    """The compression of a file, in TF's notation. InvalidArgumentError for another name."""
    if kind not in (None, "", "GZIP", "ZLIB"):
        raise located(InvalidArgumentError(f"compression_type is '', 'GZIP' or 'ZLIB', not {kind!r}"))
    return kind or ""


def masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and with a constant added, as stored in records."""
    crc = 0xFFFFFFFF
    for start in range(0, len(data), _BLOCK):
        block = data[start:start + _BLOCK]
        crc = (_crc_of_few if len(block) <= _FEW else _crc_of_many)(block, crc)
    return int(_masked(crc ^ 0xFFFFFFFF))


def _masked(crc: Any) -> Any:
    """The masked form of a checksum, or of an array of them: uint32."""
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """A record of a file: length, its checksum, the data, its checksum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def records(file: Any) -> Iterator[list[bytes]]:
    """The data of the records in a file, a block of records at a time. DataLossError, after the intact records, if the
    file ends within a record or a checksum is wrong."""
    number, data = 0, b""
    while True:
        more = file.read(_READ)
        data = data + more if data else more
        starts, sizes = _places(data)
        problem = _first_problem(data, starts, sizes)
        count = len(starts) if problem is None else problem[0]
        if count and starts[count - 1] + 16 + sizes[count - 1] > len(data):
            count -= 1  # the last one continues after the block
        if count:
            yield [data[start + 12:start + 12 + size]
                   for start, size in zip(starts[:count].tolist(), sizes[:count].tolist(), strict=True)]
        number += count
        if problem is not None:
            raise DataLossError(f"corrupted record {number}: {problem[1]}")
        data = data[int(starts[count - 1] + 16 + sizes[count - 1]) if count else 0:]
        if count < len(starts):
            size = int(sizes[count])
            data += file.read(max(16 + size - len(data), 0))
            if len(data) < 16 + size:
                raise DataLossError(f"truncated record {number}")
        elif not more:
            if data:
                raise DataLossError(f"truncated record {number}")
            return


def _places(data: bytes) -> tuple[Any, Any]:
    """The start of each record in a block, and its length field; the last record may extend beyond the block."""
    starts, sizes, start = [], [], 0
    while start + 12 <= len(data):
        size = _ULONG.unpack_from(data, start)[0]
        starts.append(start)
        sizes.append(min(size, 1 << 62))
        start += 16 + size
    return np.array(starts, np.int64), np.array(sizes, np.int64)


def _first_problem(data: bytes, starts: Any, sizes: Any) -> tuple[int, str] | None:
    """The index of the first record with a wrong checksum, and the message."""
    wrong = np.nonzero(_masked_crcs(data, starts, np.full(len(starts), 8)) != _numbers_at(data, starts + 8))[0]
    count = int(wrong[0]) if len(wrong) else len(starts)
    if count and starts[count - 1] + 16 + sizes[count - 1] > len(data):
        count -= 1
    ends = starts[:count] + 12 + sizes[:count]
    bodies = np.nonzero(_masked_crcs(data, starts[:count] + 12, sizes[:count]) != _numbers_at(data, ends))[0]
    if len(bodies):
        return int(bodies[0]), "its checksum is wrong"
    return (int(wrong[0]), "the checksum of its length is wrong") if len(wrong) else None


def _numbers_at(data: bytes, places: Any) -> Any:
    """The 4-byte numbers at these positions."""
    return np.frombuffer(data, np.uint8)[places[:, None] + np.arange(4)].view("<u4")[:, 0]
