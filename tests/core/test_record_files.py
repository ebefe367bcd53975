"""Checksums of records, and records of damaged files."""
import io
import random

import pytest

from runtime.core.errors import DataLossError
from runtime.core.record_files import _BLOCK, _FEW, masked_crc, record, records


def unmasked(masked):
    rotated = (masked - 0xA282EAD8) & 0xFFFFFFFF
    return (rotated << 15 | rotated >> 17) & 0xFFFFFFFF


def by_bits(data, before=0):
    """CRC-32C as it is defined, of data that follow others."""
    crc = before ^ 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize("data, crc", [  # from RFC 3720, B.4
    (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E)])
def test_published_checksums(data, crc):
    assert unmasked(masked_crc(data)) == crc


@pytest.mark.parametrize("size", [*range(20), *range(_FEW - 1, _FEW + 10), 2 * _FEW + 3, 5000])
def test_sizes(size):
    data = random.Random(size).randbytes(size)
    assert unmasked(masked_crc(data)) == by_bits(data)


@pytest.mark.parametrize("rest", [1, _FEW + 1])
def test_blocks(rest):
    data = random.Random(rest).randbytes(_BLOCK + rest)
    assert unmasked(masked_crc(data)) == by_bits(data[_BLOCK:], unmasked(masked_crc(data[:_BLOCK])))


def test_damage_is_found_where_it_is():
    """The records before a changed bit are read, and the error has the number of that record."""
    rng = random.Random(1)
    sizes = [0, 1, 3, 4, 5, 9, 430, 430, 430, 430, 1001, 40000, 300000, *[rng.randrange(3000) for _ in range(100)]]
    datas = [rng.randbytes(size) for size in sizes]
    whole = b"".join(map(record, datas))
    assert [data for block in records(io.BytesIO(whole)) for data in block] == datas
    for _ in range(60):
        damaged, at = bytearray(whole), rng.randrange(len(whole))
        damaged[at] ^= 1 << rng.randrange(8)
        number, end = 0, 16 + sizes[0]
        while end <= at:
            number += 1
            end += 16 + sizes[number]
        seen = []
        with pytest.raises(DataLossError, match=f"corrupted record {number}"):
            for block in records(io.BytesIO(bytes(damaged))):
                seen += block
        assert seen == datas[:number]


def test_a_file_that_ends_in_the_middle():
    datas = [b"a" * 500] * 1000
    whole = b"".join(map(record, datas))
    for cut in (1, 11, 12, 400, len(whole) // 2 + 3, len(whole) - 1):
        number = cut // 516
        seen = []
        with pytest.raises(DataLossError, match=f"truncated record {number}"):
            for block in records(io.BytesIO(whole[:cut])):
                seen += block
        assert len(seen) == number
