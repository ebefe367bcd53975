"""Which function for tensors stands for which of NumPy's."""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from runtime.numpy import (
    arrays,
    diagonals,
    fft,
    functions,
    linalg,
    polynomials,
    rearranging,
    reductions,
    sets,
    statistics,
)
from runtime.numpy.ufuncs import UFUNCS

__all__ = ["ACCUMULATED", "CREATION", "FUNCTIONS", "REDUCTIONS", "SUBJECTS", "method"]

Function = Callable[..., Any]

SUBJECTS: Final = (arrays, functions, reductions, diagonals, rearranging, statistics, sets, polynomials)
"""The modules with the functions of `numpy` itself."""


def _of(module: Any, *sources: Any) -> dict[Any, Function]:
    return {getattr(module, name): getattr(source, name)
            for source in sources for name in source.__all__ if hasattr(module, name)}


FUNCTIONS: Final[Mapping[Any, Function]] = {
    **_of(np.linalg, linalg), **_of(np.fft, fft), **_of(np, *SUBJECTS), **_of(np.lib.stride_tricks, rearranging)}
"""By function of NumPy: its counterpart."""

CREATION: Final[Mapping[Any, Function]] = {
    **{getattr(np, name): getattr(arrays, name) for name in (
        "arange", "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "empty", "eye", "full",
        "identity", "linspace", "ones", "zeros")},
    np.tri: diagonals.tri, np.tril_indices: diagonals.tril_indices, np.triu_indices: diagonals.triu_indices,
    np.indices: rearranging.indices, np.logspace: rearranging.logspace, np.geomspace: rearranging.geomspace,
    **{getattr(np, name): functools.partial(rearranging.window, name) for name in rearranging.WINDOWS},
    np.fft.fftfreq: fft.fftfreq, np.fft.rfftfreq: fft.rfftfreq}
"""Functions that NumPy does not dispatch by the class of an argument: converted code does, if one is a tensor of the
graph."""

REDUCTIONS: Final[dict[str, Function]] = {
    "add": reductions.sum, "multiply": reductions.prod, "maximum": reductions.max, "minimum": reductions.min,
    "logical_and": reductions.all, "logical_or": reductions.any,
    **{name: functools.partial(reductions.reduced, getattr(np, name), UFUNCS[name]) for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "logical_xor", "gcd", "lcm", "fmax", "fmin", "hypot",
        "logaddexp")}}
"""By the name of a ufunc: what its method `reduce` does."""

ACCUMULATED: Final[dict[str, Function]] = {
    "add": reductions.cumsum, "multiply": reductions.cumprod,
    **{name: lambda x, axis=0, function=UFUNCS[name]: reductions.accumulated(function, x, axis) for name in (
        "maximum", "minimum", "fmax", "fmin", "bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: lambda x, axis=0, function=UFUNCS[name]: reductions.accumulated(function, arrays.astype(x, bool), axis)
       for name in ("logical_and", "logical_or", "logical_xor")}}
"""By the name of a ufunc: what its method `accumulate` does."""


def method(name: str) -> Function:
    """NumPy's function by name, for tensors."""
    found: Function | None = UFUNCS.get(name)
    return found or next(getattr(module, name) for module in SUBJECTS if hasattr(module, name))
