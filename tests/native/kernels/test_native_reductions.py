"""The position of the greatest and of the least element, in native code, as NumPy gives it: the first one, and the
first NaN before all others."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool", "float16"])
def test_positions_of_extremes(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    find, expected = getattr(rt, name), getattr(np, name)
    for size in (7, 16, 17, 64, 259):
        equal = rng.integers(0, 2, (4, size)).astype(dtype)
        other = rng.integers(0, 100, (4, size)).astype(dtype)
        special = other.copy()
        if special.dtype.kind == "f":
            for value in -0.0, np.inf, -np.inf, np.nan:
                special[rng.random(special.shape) < 0.05] = value
        for spec in ([4, size], [None, None]):
            traced = rt.function(
                lambda x: (find(x, axis=1), find(x, axis=0), find(rt.reshape(x, [-1]), axis=0)), executor="native",
                input_signature=[rt.TensorSpec(spec, equal.dtype)])
            for x in equal, other, special:
                for got, want in zip(traced(x), (expected(x, 1), expected(x, 0), expected(x)), strict=True):
                    np.testing.assert_array_equal(got, want)


@pytest.mark.optimised
@pytest.mark.parametrize("name", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8])
def test_windows_of_any_length(name: str, dtype: Any) -> None:
    """Nothing before or behind a window is in its reduction, however short it is."""
    reduce = getattr(np, name)

    def windows(x: Any, lengths: Any, out: Any) -> None:
        for i in range(len(lengths)):
            out[i] = reduce(x[3:3 + lengths[i]])

    x = np.full(160, 100, dtype)
    lengths = np.arange(1, 140)
    for values in np.arange(1, 140) % 5 + 1, np.full(139, -1):
        x[3:142] = values
        out = np.zeros(139, np.float64)
        rt.function(windows, executor="native")(x, lengths, out)
        with np.errstate(over="ignore"):
            want = [float(reduce(x[3:3 + n])) for n in lengths]
        np.testing.assert_allclose(out, want, rtol=1e-6)
