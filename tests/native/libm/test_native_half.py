"""float64 to float16 in native code."""
from __future__ import annotations

import ctypes

import numpy as np
import pytest

import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from native_runs import compare

from runtime.backends.native.jit import compile
from runtime.backends.native.libm.half import TO_HALF
from runtime.backends.native.llvm.builder import Builder, Module, Val


def _loop(b: Builder, source: Val, target: Val, size: Val) -> None:
    with b.loop(0, size) as k:
        half = b.call("half", TO_HALF, b.load("double", b.offset(source, k, "double")))
        b.store(half, b.offset(target, k, "half"))


def test_from_float64_in_one_rounding() -> None:
    """Each float16, the middle between it and the next, and what is a little beside both: NumPy rounds once."""
    halves = np.arange(0x7c00, dtype=np.uint16).view(np.float16).astype(np.float64)
    middles = halves + np.diff(halves, append=65536) / 2
    exact = np.concatenate([halves, middles, [0.0, 1e-300, 5e-324, 1e300, np.inf, np.nan]])
    x = np.concatenate([sign * y for sign in (1.0, -1.0)
                        for y in (exact, np.nextafter(exact, 0), np.nextafter(exact, np.inf), exact * (1 + 2**-30))])
    module = Module()
    module.declare(TO_HALF, "half", "double")
    module.define("body", "void", ["ptr", "ptr", "i64"], _loop, linkage="")
    compile._support()
    engine = compile._engine_of(module.text(), 2)
    got = np.empty(x.shape, np.float16)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    signature(engine.get_function_address("body"))(x.ctypes.data, got.ctypes.data, x.size)
    with np.errstate(all="ignore"):
        want = x.astype(np.float16)
    numbers = ~np.isnan(x)
    assert np.array_equal(got[numbers].view(np.uint16), want[numbers].view(np.uint16))
    assert np.isnan(got[~numbers]).all()


@pytest.mark.parametrize("size", [1, 2, 17])
def test_signs_by_way_of_float16(size: int) -> None:
    """LLVM takes the sign of what was float64 from a conversion of its own to float16."""
    compare(lambda x: rt.atanh(rt.math.erfc(x)), np.linspace(-2, 2, size, dtype=np.float16))
