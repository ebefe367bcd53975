"""The position of the greatest and of the least element, in native code, as NumPy gives it: the first one, and the
first NaN before all others."""
from __future__ import annotations

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
