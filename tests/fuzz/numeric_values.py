"""Arrays that numeric programs are called with: by dtype, shape, kind of values, layout in memory, and seed."""
from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["DTYPES", "SIZES", "Argument", "random_argument"]

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTS, *FLOATS, *COMPLEX)
SIZES = (0, 1, 2, 3, 7, 8, 16, 17, 31, 64, 257, 1000)
KINDS = ("small", "small", "unit", "mixed", "special", "extreme", "subnormal", "whole")
LAYOUTS = ("plain", "plain", "plain", "reversed", "every second", "fortran", "unaligned")


@dataclass(frozen=True)
class Argument:
    """An array, by what it is made of."""

    dtype: str
    shape: tuple[int, ...]
    kind: str = "small"
    layout: str = "plain"
    seed: int = 0

    def array(self) -> Any:
        """The array, read-only."""
        values = _values(np.random.default_rng(self.seed), np.dtype(self.dtype), self.shape, self.kind)
        array = _laid_out(values, self.layout)
        array.setflags(write=False)
        return array


def random_argument(r: random.Random, dtype: str, shape: tuple[int, ...]) -> Argument:
    return Argument(dtype, shape, r.choice(KINDS), r.choice(LAYOUTS), r.randrange(10**6))


def _values(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], kind: str) -> Any:
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return _ints(rng, dtype, shape, kind)
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        values = np.empty(shape, dtype)
        values.real, values.imag = _floats(rng, part, shape, kind), _floats(rng, part, shape, kind)
        return values
    return _floats(rng, dtype, shape, kind)


def _ints(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], kind: str) -> Any:
    limits = np.iinfo(dtype)
    if kind in ("extreme", "mixed"):
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    values = rng.integers(max(-9, limits.min), 10, shape).astype(dtype)
    if kind == "special":
        edges = np.array([limits.min, limits.max, limits.min + 1, limits.max // 2, 0, 1], dtype)
        values = np.where(rng.random(shape) < 0.3, rng.choice(edges, shape), values)
    return values


def _floats(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], kind: str) -> Any:
    limits = np.finfo(dtype)
    if kind == "unit":
        values = rng.uniform(0, 1, shape)
    elif kind == "whole":
        values = rng.integers(-5, 6, shape).astype(np.float64)
    elif kind == "small" or kind == "special":
        values = rng.uniform(-3, 3, shape)
    elif kind == "mixed":  # over the whole range of exponents
        most = float(np.log2(float(limits.max)))
        values = np.exp2(rng.uniform(-most, most, shape) * rng.choice([0.1, 0.4, 1])) * rng.choice([-1, 1], shape)
    elif kind == "extreme":
        edges = [1, float(limits.max), -float(limits.max), float(limits.tiny), float(limits.eps), -1, 1.5]
        values = rng.choice(edges, shape) * rng.uniform(0.5, 1, shape)
    else:
        values = rng.integers(-2000, 2001, shape) * float(limits.smallest_subnormal)
    values = np.asarray(values)
    if kind == "special":
        edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, float(limits.smallest_subnormal), -1.0, float(limits.max)]
        values = np.where(rng.random(shape) < rng.choice([0.05, 0.4]), rng.choice(edges, shape), values)
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def _laid_out(values: Any, layout: str) -> Any:
    """An array with these elements that lies in memory in the way of `layout`."""
    values = np.asarray(values)
    if layout == "fortran":
        return np.asfortranarray(values)
    if layout == "reversed" and values.ndim:
        back = tuple([slice(None, None, -1)] * values.ndim)
        return np.ascontiguousarray(values[back])[back]
    if layout == "every second" and values.ndim:
        wide = np.zeros([2 * d + 1 for d in values.shape], values.dtype)
        found = wide[tuple(slice(1, 2 * d + 1, 2) for d in values.shape)]
        found[...] = values
        return found
    if layout == "unaligned" and values.size:
        found = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
        found[...] = values
        return found
    return values.copy()
