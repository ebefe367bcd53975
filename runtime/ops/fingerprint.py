"""The hashes by which TF puts strings into buckets, 64 bits of any bytes: FarmHash's Fingerprint64, SipHash, and TF's
first one, a MurmurHash."""
from __future__ import annotations

from typing import Final

__all__ = ["fingerprint64", "legacy_hash64", "sip_hash64"]

_K0: Final = 0xC3A5C85C97CB3127
_K1: Final = 0xB492B66FBE98F273
_K2: Final = 0x9AE16A3B2F90404F
_MASK: Final = (1 << 64) - 1


def _word(data: bytes, start: int, size: int = 8) -> int:
    return int.from_bytes(data[start:start + size], "little")


def _rotate(x: int, count: int) -> int:
    x &= _MASK
    return (x >> count | x << (64 - count)) & _MASK


def _shift_mix(x: int) -> int:
    x &= _MASK
    return x ^ x >> 47


def _combine(u: int, v: int, factor: int) -> int:
    """Combine two numbers into one, as CityHash reduces 128 bits to 64."""
    v &= _MASK
    a = _shift_mix(((u & _MASK) ^ v) * factor)
    return _shift_mix((v ^ a) * factor) * factor & _MASK


def _to_16(data: bytes) -> int:
    size = len(data)
    factor = _K2 + size * 2
    if size >= 8:
        a, b = _word(data, 0) + _K2, _word(data, size - 8)
        return _combine(_rotate(b, 37) * factor + a, (_rotate(a, 25) + b) * factor, factor)
    if size >= 4:
        return _combine(size + (_word(data, 0, 4) << 3), _word(data, size - 4, 4), factor)
    if size:
        y, z = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
        return _shift_mix(y * _K2 ^ z * _K0) * _K2 & _MASK
    return _K2


def _to_32(data: bytes) -> int:
    size = len(data)
    factor = _K2 + size * 2
    a, b = _word(data, 0) * _K1, _word(data, 8)
    c, d = _word(data, size - 8) * factor, _word(data, size - 16) * _K2
    return _combine(_rotate(a + b, 43) + _rotate(c, 30) + d, a + _rotate(b + _K2, 18) + c, factor)


def _to_64(data: bytes) -> int:
    size = len(data)
    factor = _K2 + size * 2
    a, b = _word(data, 0) * _K2, _word(data, 8)
    c, d = _word(data, size - 8) * factor, _word(data, size - 16) * _K2
    y = _rotate(a + b, 43) + _rotate(c, 30) + d
    z = _combine(y, a + _rotate(b + _K2, 18) + c, factor)
    e, f = _word(data, 16) * factor, _word(data, 24)
    g, h = (y + _word(data, size - 32)) * factor, (z + _word(data, size - 24)) * factor
    return _combine(_rotate(e + f, 43) + _rotate(g, 30) + h, e + _rotate(f + a, 18) + g, factor)


def _of_32_bytes(data: bytes, start: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(data, start + 8 * i) for i in range(4))
    a += w
    b = _rotate(b + a + z, 21)
    first = a
    a += x + y
    return (a + z) & _MASK, (b + _rotate(a, 44) + first) & _MASK


def fingerprint64(data: bytes) -> int:
    """The fingerprint, from 0 to 2**64 - 1."""
    size = len(data)
    if size <= 64:
        return _to_16(data) if size <= 16 else _to_32(data) if size <= 32 else _to_64(data)
    x, y = 81, 81 * _K1 + 113
    z = _shift_mix(y * _K2 + 113) * _K2
    x = x * _K2 + _word(data, 0)
    v, w = (0, 0), (0, 0)
    for start in range(0, (size - 1) // 64 * 64, 64):
        x, y, z, v, w = _round(data, start, (x, y, z), v, w, _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    w = (w[0] + (size - 1 & 63), w[1])
    v = (v[0] + w[0], v[1])
    w = (w[0] + v[0], w[1])
    x, y, z, v, w = _round(data, size - 64, (x, y, z), v, w, factor, 9)
    return _combine(_combine(v[0], w[0], factor) + _shift_mix(y) * _K0 + z, _combine(v[1], w[1], factor) + x, factor)


def _round(
    data: bytes, start: int, state: tuple[int, int, int], v: tuple[int, int], w: tuple[int, int], factor: int,
    weight: int,
) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
    """Process 64 bytes. The last ones have another factor and weight."""
    x, y, z = state
    x = _rotate(x + y + v[0] + _word(data, start + 8), 37) * factor & _MASK
    y = _rotate(y + v[1] + _word(data, start + 48), 42) * factor & _MASK
    x ^= w[1] * weight & _MASK
    y += v[0] * weight + _word(data, start + 40)
    z = _rotate(z + w[0], 33) * factor & _MASK
    v = _of_32_bytes(data, start, v[1] * factor, x + w[0])
    w = _of_32_bytes(data, start + 32, z + w[1], y + _word(data, start + 16))
    return z, y & _MASK, x, v, w


def sip_hash64(key: tuple[int, int], data: bytes) -> int:
    """SipHash-2-4 with a key of two numbers of 64 bits."""
    first, second = (part & _MASK for part in key)
    a, b = first ^ 0x736F6D6570736575, second ^ 0x646F72616E646F6D
    c, d = first ^ 0x6C7967656E657261, second ^ 0x7465646279746573

    def mix(times: int) -> None:
        nonlocal a, b, c, d
        for _ in range(times):
            a, c = (a + b) & _MASK, (c + d) & _MASK
            b, d = _rotate(b, 51) ^ a, _rotate(d, 48) ^ c
            a = _rotate(a, 32)
            c, a = (c + b) & _MASK, (a + d) & _MASK
            b, d = _rotate(b, 47) ^ c, _rotate(d, 43) ^ a
            c = _rotate(c, 32)

    whole = len(data) // 8 * 8
    words = [_word(data, start) for start in range(0, whole, 8)]
    for word in (*words, _word(data, whole) | (len(data) & 0xFF) << 56):
        d ^= word
        mix(2)
        a ^= word
    c ^= 0xFF
    mix(4)
    return a ^ b ^ c ^ d


def legacy_hash64(data: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """MurmurHash64A, which is `Hash64` in TF."""
    factor = 0xC6A4A7935BD1E995
    h = seed ^ len(data) * factor & _MASK
    whole = len(data) // 8 * 8
    for start in range(0, whole, 8):
        k = _word(data, start) * factor & _MASK
        h = (h ^ (k ^ k >> 47) * factor & _MASK) * factor & _MASK
    if whole < len(data):
        h = (h ^ _word(data, whole)) * factor & _MASK
    h = (h ^ h >> 47) * factor & _MASK
    return h ^ h >> 47
