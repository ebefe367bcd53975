"""Padding in native code: all modes, with sizes that the graph knows and that only the run knows."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from native_runs import Batch

from runtime.core.op import REGISTRY

PAD = REGISTRY["pad"]
CASES: list[tuple[tuple[int, ...], Any, tuple[str, ...]]] = [
    ((1,), [(0, 0)], ("REFLECT", "SYMMETRIC")), ((1,), [(1, 1)], ("SYMMETRIC",)),
    ((4,), [(3, 2)], ("REFLECT", "SYMMETRIC")), ((4,), [(4, 4)], ("SYMMETRIC",)), ((4,), [(7, 9)], ("CONSTANT",)),
    ((2, 3), [(1, 0), (2, 1)], ("CONSTANT", "REFLECT", "SYMMETRIC")),
    ((0, 3), [(0, 0), (1, 2)], ("CONSTANT", "SYMMETRIC")),
    ((3, 1, 4), [(2, 2), (0, 0), (3, 3)], ("CONSTANT", "REFLECT", "SYMMETRIC"))]


@pytest.mark.parametrize("hide", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float64])
def test_modes(dtype: Any, hide: bool) -> None:
    rng = np.random.default_rng(0)
    batch = Batch("pad")
    for shape, pairs, modes in CASES:
        x = rng.integers(0, 100, shape).astype(dtype)
        for mode in modes:
            for widths in ((), (np.array(pairs, np.int32),), (np.array(pairs, np.int64),)):
                batch.add(PAD, (x, dtype(1), *widths), {
                    "pairs": None if widths else tuple(pairs), "mode": mode}, hide)
    found = batch.differences()
    assert not found, "\n".join(found[:10])
