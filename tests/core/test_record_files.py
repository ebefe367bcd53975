"""Checksums of records."""
import random

import pytest

from runtime.core.record_files import _BLOCK, _FEW, masked_crc


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
