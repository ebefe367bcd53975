"""Bits and floats of Philox4x32-10 (J. K. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011), in the
order in which TensorFlow's kernels on CPUs take them.

A state is three words of 64 bits: the counter's low and high half, and the key. Each value of the counter gives a block
of four words of 32 bits.

Of float32 the logarithm, sine and cosine of the Box-Muller transform are those of glibc (ARM's optimized routines), in
the arithmetic of double precision, so that all executors compute the same bits.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.types import DType

__all__ = ["COSINE", "HALF_PI", "INVERSE", "LOGARITHM", "LOG_TWO", "MULTIPLIERS", "OFFSET", "RESERVED", "ROUNDS",
           "SCRAMBLE", "SINE", "TABLE", "TRUNCATION", "TWO_PI", "WEYL", "advanced", "bits", "drawn", "permutation",
           "scrambled"]

ROUNDS: Final = 10
MULTIPLIERS: Final = 0xD2511F53, 0xCD9E8D57
WEYL: Final = 0x9E3779B9, 0xBB67AE85
"""What the halves of the key grow by in a round."""
SCRAMBLE: Final = 0x02461E293EC8F720
"""The key of the block that a seed becomes a state by."""
RESERVED: Final = 256
"""Blocks that a stateful draw takes for each number, and a truncated one for each four words."""
TRUNCATION: Final = 2.0
_PIECE: Final = 1 << 12
_MASK: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)


def blocks(state: Any, at: Any) -> Any:
    """uint32 [n, 4]: the blocks of the counter of `state` + `at`, uint64 [n]."""
    low, high, key = (int(word) & 0xFFFFFFFFFFFFFFFF for word in state)
    below = at + np.uint64(low)
    above = np.uint64(high) + (below < at).astype(np.uint64)
    words = [below & _MASK, below >> _HALF, above & _MASK, above >> _HALF]
    keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(ROUNDS):
        first, second = words[0] * np.uint64(MULTIPLIERS[0]), words[2] * np.uint64(MULTIPLIERS[1])
        words = [(second >> _HALF) ^ words[1] ^ np.uint64(keys[0]), second & _MASK,
                 (first >> _HALF) ^ words[3] ^ np.uint64(keys[1]), first & _MASK]
        keys = [(key + step) & 0xFFFFFFFF for key, step in zip(keys, WEYL, strict=True)]
    return np.stack(words, -1).astype(np.uint32)


def scrambled(seed: Any) -> Any:
    """int64 [3]: the state that belongs to two ints."""
    words = blocks([*seed, SCRAMBLE], np.zeros(1, np.uint64))[0].astype(np.uint64)
    return np.array([0, words[2] | words[3] << _HALF, words[0] | words[1] << _HALF], np.uint64).view(np.int64)


def permutation(seeds: tuple[int, int], count: int) -> Any:
    """int64 [count]: the order that TensorFlow's first RandomShuffle of these seeds gives so many rows."""
    words = bits([0, seeds[1], seeds[0]], count, t.uint32).tolist()
    order = list(range(count))
    for i, word in enumerate(words[:-1]):
        j = i + word % (count - i)
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def advanced(state: Any, count: int) -> Any:
    """int64 [3]: the state after a stateful draw of `count` numbers."""
    low, high, key = (int(word) & 0xFFFFFFFFFFFFFFFF for word in state)
    counter = (high << 64 | low) + (count * RESERVED & 0xFFFFFFFFFFFFFFFF)
    return np.array([counter & 0xFFFFFFFFFFFFFFFF, counter >> 64 & 0xFFFFFFFFFFFFFFFF, key], np.uint64).view(np.int64)


def _per_block(dtype: DType) -> int:
    """How many numbers a block makes."""
    return 2 if dtype.size == 8 else 4


def _in_pieces(make: Callable[[Any], Any], count: int, size: int) -> Any:
    """`count` numbers: `make(at)` gives `size` of them for each of the groups `at`, int64 [n]. A piece fits a cache."""
    groups = -(-count // size)
    pieces = [make(np.arange(start, min(start + _PIECE, groups))) for start in range(0, max(groups, 1), _PIECE)]
    return (pieces[0] if len(pieces) == 1 else np.concatenate(pieces)).reshape(-1)[:count]


def bits(state: Any, count: int, dtype: DType) -> Any:
    """Unsigned integers of all bits, uint32 or for numbers of 64 bits uint64."""
    each = _per_block(dtype)

    def make(at: Any) -> Any:
        words = blocks(state, at.astype(np.uint64))
        if each == 4:
            return words
        wide = words.astype(np.uint64)
        return wide[:, ::2] | wide[:, 1::2] << _HALF

    return _in_pieces(make, count, each)


def drawn(state: Any, count: int, dtype: DType, distribution: str) -> Any:
    """`count` floats: "uniform" from 0 to below 1, "normal", or "truncated_normal", within two deviations."""
    def make(at: Any) -> Any:
        if distribution == "truncated_normal":
            return _truncated(state, at, dtype)
        words = blocks(state, at.astype(np.uint64))
        made = _normals(words, dtype) if distribution == "normal" else _uniforms(words, dtype)
        return made.astype(dtype.np, copy=False)

    return _in_pieces(make, count, _per_block(dtype))


def _uniforms(words: Any, dtype: DType) -> Any:
    """Floats of as many random bits as the mantissa has."""
    if dtype is t.float64:
        return _doubles(words)
    if dtype is t.float16:
        return ((words & np.uint32(0x3FF)).astype(np.uint16) | np.uint16(0x3C00)).view(np.float16) - np.float16(1)
    return _singles(words)


def _singles(words: Any) -> Any:
    return (words & np.uint32(0x7FFFFF) | np.uint32(0x3F800000)).view(np.float32) - np.float32(1)


def _doubles(words: Any) -> Any:
    wide = words.astype(np.uint64)
    mantissa = (wide[..., ::2] & np.uint64(0xFFFFF)) << _HALF | wide[..., 1::2]
    return (mantissa | np.uint64(1023 << 52)).view(np.float64) - 1.0


def _normals(words: Any, dtype: DType) -> Any:
    """The Box-Muller transform of pairs of uniform numbers; the first one is at least 1e-7."""
    uniform: Any = _doubles(words) if dtype is t.float64 else _singles(words)
    first = np.maximum(uniform[..., ::2], uniform.dtype.type(1e-7))
    angle = TWO_PI * uniform[..., 1::2].astype(np.float64)
    if dtype is t.float64:
        radius, sine, cosine = np.sqrt(-2.0 * np.log(first)), np.sin(angle), np.cos(angle)
    else:
        radius = np.sqrt(np.float32(-2) * _logarithm(first))
        sine, cosine = _sine_and_cosine(angle.astype(np.float32))
    return np.stack([sine * radius, cosine * radius], -1).reshape(uniform.shape)


def _truncated(state: Any, groups: Any, dtype: DType) -> Any:
    """Each group of numbers takes from its own blocks those within the bounds."""
    size = _per_block(dtype)
    apart = size * RESERVED // 4
    result, filled = np.zeros([len(groups), size], dtype.np), np.zeros(len(groups), np.int64)
    block, open_ = 0, np.arange(len(groups))
    while len(open_):
        at = (groups[open_] * apart + block).astype(np.uint64)
        made = _normals(blocks(state, at), dtype)
        for column in range(made.shape[1]):
            taken = (np.abs(made[:, column]) < TRUNCATION) & (filled[open_] < size)
            rows = open_[taken]
            result[rows, filled[rows]] = made[taken, column]
            filled[rows] += 1
        block, open_ = block + 1, open_[filled[open_] < size]
    return result


# The functions of float32, in the arithmetic of float64.

def _of(texts: Iterable[str]) -> tuple[float, ...]:
    return tuple([float.fromhex(text) for text in texts])


TWO_PI: Final = 2 * np.pi
LOG_TWO: Final = float.fromhex("0x1.62e42fefa39efp-1")
LOGARITHM: Final = _of(["-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2"])
_PAIRS_TEXT: Final = """\
0x1.661ec79f8f3bep+0 -0x1.57bf7808caadep-2, 0x1.571ed4aaf883dp+0 -0x1.2bef0a7c06ddbp-2,
0x1.49539f0f010bp+0 -0x1.01eae7f513a67p-2, 0x1.3c995b0b80385p+0 -0x1.b31d8a68224e9p-3,
0x1.30d190c8864a5p+0 -0x1.6574f0ac07758p-3, 0x1.25e227b0b8eap+0 -0x1.1aa2bc79c81p-3,
0x1.1bb4a4a1a343fp+0 -0x1.a4e76ce8c0e5ep-4, 0x1.12358f08ae5bap+0 -0x1.1973c5a611cccp-4,
0x1.0953f419900a7p+0 -0x1.252f438e10c1ep-5, 0x1p+0 0x0p+0,
0x1.e608cfd9a47acp-1 0x1.aa5aa5df25984p-5, 0x1.ca4b31f026aap-1 0x1.c5e53aa362eb4p-4,
0x1.b2036576afce6p-1 0x1.526e57720db08p-3, 0x1.9c2d163a1aa2dp-1 0x1.bc2860d22477p-3,
0x1.886e6037841edp-1 0x1.1058bc8a07ee1p-2, 0x1.767dcf5534862p-1 0x1.4043057b6ee09p-2"""
TABLE: Final = tuple([_of(pair.split()) for pair in _PAIRS_TEXT.split(",")])
"""By the first four bits of the mantissa: the inverse and the logarithm of a number near by."""
HALF_PI: Final = float.fromhex("0x1.921FB54442D18p0")
INVERSE: Final = float.fromhex("0x1.45F306DC9C883p+23")
"""2 / pi, times 2**24."""
COSINE: Final = _of(["0x1p0", "-0x1.ffffffd0c621cp-2", "0x1.55553e1068f19p-5", "-0x1.6c087e89a359dp-10",
                     "0x1.99343027bf8c3p-16"])
SINE: Final = _of(["-0x1.555545995a603p-3", "0x1.1107605230bc4p-7", "-0x1.994eb3774cf24p-13"])
OFFSET: Final = 0x3F330000
_PAIRS: Final = np.array(TABLE)


def _logarithm(x: Any) -> Any:
    """log(x) of float32: x = 2**k * z, and log1p(z / c - 1) by a polynomial for a c near z."""
    whole = x.view(np.int32)
    shifted = whole - np.int32(OFFSET)
    inverse, base = _PAIRS[(shifted >> 19) & 15].T
    z = (whole - (shifted & np.int32(-0x800000))).view(np.float32).astype(np.float64)
    r = z.reshape(-1) * inverse.T.reshape(-1) - 1.0
    base = base.T.reshape(-1) + (shifted >> 23).reshape(-1).astype(np.float64) * LOG_TWO
    square = r * r
    y = LOGARITHM[1] * r + LOGARITHM[2]
    y = LOGARITHM[0] * square + y
    return (y * square + (base + r)).astype(np.float32).reshape(x.shape)


def _sine_and_cosine(x: Any) -> tuple[Any, Any]:
    """sin(x) and cos(x) of float32 from 0 to 2 pi: polynomials around the nearest multiple of pi / 2."""
    wide = x.astype(np.float64)
    quadrant = ((wide * INVERSE).astype(np.int64) + 0x800000) >> 24
    wide = wide - quadrant.astype(np.float64) * HALF_PI
    square = wide * wide
    fourth, cube = square * square, square * wide
    sine = (wide + cube * SINE[0]) + (cube * square) * (SINE[1] + square * SINE[2])
    cosine = ((COSINE[0] + square * COSINE[1]) + fourth * COSINE[2]) + (fourth * square) * (
        COSINE[3] + square * COSINE[4])
    swapped, quadrant = (quadrant & 1).astype(bool), quadrant & 3
    sines, cosines = np.where(swapped, cosine, sine), np.where(swapped, sine, cosine)
    return (np.where(quadrant >= 2, -sines, sines).astype(np.float32),
            np.where((quadrant == 1) | (quadrant == 2), -cosines, cosines).astype(np.float32))
