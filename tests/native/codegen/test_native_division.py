"""Quotients and remainders of scalar ints by constants: floors, as Python's."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite.binding", reason="the native executor needs llvmlite")

import runtime as rt

pytestmark = pytest.mark.optimised


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_by_constants(dtype: Any) -> None:
    info = np.iinfo(dtype)
    some = 1, 2, 3, 5, 7, 10, 64, 127, 641, 10_000, 1_000_000_007, 2**62 + 1, 2**63 - 1, -1, -3, -8, -10
    divisors = [d for d in some if info.min <= d <= info.max]
    edges = [info.min, info.min + 1, info.max - 1, info.max, *range(-50, 50)]
    edges += [k * d + e for d in divisors for k in (-3, -1, 1, 3) for e in (-1, 0, 1)]
    x = np.array([e for e in edges if info.min <= e <= info.max and e != info.min], dtype)

    def divided(x: Any, quotients: Any, remainders: Any) -> None:
        for i in range(len(x)):
            for k, d in enumerate(divisors):
                quotients[i, k] = x[i] // dtype(d)
                remainders[i, k] = x[i] % dtype(d)

    found = np.zeros((2, len(x), len(divisors)), dtype)
    rt.function(divided, executor="native")(x, *found)
    want = [[divmod(e, d) for d in divisors] for e in x.tolist()]
    assert [[*zip(*rows, strict=True)] for rows in zip(*found.tolist(), strict=True)] == want


def test_least_int() -> None:
    def parts(x: Any, out: Any) -> None:
        for i in range(len(x)):
            out[i, 0], out[i, 1], out[i, 2] = x[i] // 10, x[i] % 10, x[i] % 1_000_000_007

    out = np.zeros((1, 3), np.int64)
    rt.function(parts, executor="native")(np.array([-2**63]), out)
    assert out.tolist() == [[-2**63 // 10, -2**63 % 10, -2**63 % 1_000_000_007]]
