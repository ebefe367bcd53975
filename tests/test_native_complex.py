"""Complex numbers in native code: element-wise ops, their edges, and what carries them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime import types as t

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from native_runs import Batch

from runtime.op import CAST, REGISTRY

COMPLEX = [t.complex64, t.complex128]
EDGES = [0.0, -0.0, 1.0, -2.5, 3e-3, 1e30, -1e30, np.inf, -np.inf, np.nan]


def edges(dtype: t.DType) -> Any:
    """All pairs of parts at the edges."""
    real, imag = np.meshgrid(EDGES, EDGES)
    found = np.empty(real.size, dtype.np)
    found.real, found.imag = real.ravel(), imag.ravel()
    return found


@pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.name)
def test_edges(dtype: t.DType) -> None:
    """What is computed part by part is the same bit for bit; a length is within some units in the last place."""
    x = edges(dtype)
    y = np.roll(x, 37)
    batch = Batch("edges")
    for name in ("add", "subtract", "equal", "not_equal"):
        batch.add(REGISTRY[name], (x, y), {})
        batch.add(REGISTRY[name], (x, x), {})
    for name in ("negative", "conj", "real", "imag"):
        batch.add(REGISTRY[name], (x,), {})
        batch.add(REGISTRY[name], (x[7],), {})
    batch.add(REGISTRY["abs"], (x,), {}, ulps=4)
    batch.add(REGISTRY["where"], (x == x, x, y), {})
    batch.add(REGISTRY["complex"], (x.real.copy(), y.imag.copy()), {})
    for target in (*COMPLEX, t.float32, t.float64, t.bool_):
        batch.add(CAST, (x,), {"dtype": target})
        batch.add(CAST, (x[3],), {"dtype": target}, hide=True)
    for source in (t.bool_, t.int8, t.uint64, t.float16, t.float64):
        batch.add(CAST, (np.arange(5).astype(source.np),), {"dtype": dtype})
    found = batch.differences()
    assert not found, "\n".join(found[:10])


@pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.name)
def test_products_and_quotients(dtype: t.DType) -> None:
    """Of finite numbers within the error of a few roundings; a quotient by zero as NumPy's."""
    rng = np.random.default_rng(0)
    parts = rng.standard_normal((4, 300)) * 10.0 ** rng.integers(-8, 8, (4, 300))
    x, y = (parts[:2] + 1j * parts[2:]).astype(dtype.np)
    eps = np.finfo(dtype.np).eps
    batch = Batch("products")
    batch.add(REGISTRY["multiply"], (x, y), {}, allowed=8 * eps * abs(x) * abs(y))
    batch.add(REGISTRY["divide"], (x, y), {}, allowed=8 * eps * abs(x) / abs(y))
    batch.add(REGISTRY["divide"], (edges(dtype)[:30], np.zeros(30, dtype.np)), {})
    found = batch.differences()
    assert not found, "\n".join(found[:10])


def escapes(re: Any, im: Any) -> Any:
    c = rt.complex(re, im)
    z = c * 0.0
    steps = rt.zeros(re.shape, rt.int32) if None not in re.shape else rt.cast(re * 0.0, rt.int32)
    i = 0
    while i < 30:
        alive = rt.abs(z) <= 2.0
        z = rt.where(alive, z * z + c, z)
        steps += rt.cast(alive, rt.int32)
        i += 1
    return steps, rt.math.real(z), -rt.math.conj(z)


def sums(re: Any, im: Any) -> Any:
    total = rt.complex(re[0], im[0])
    for x in re:
        if rt.math.imag(total) < 5.0:
            total = total * rt.complex(x, 1.0) + 1.0
        else:
            total = total / rt.complex(2.0, x)
    return total, rt.math.real(total) + 1.0, total == total, rt.cast(total, rt.float32)


@pytest.mark.parametrize("fn", [escapes, sums], ids=lambda f: f.__name__)
@pytest.mark.parametrize("relaxed", [False, True], ids=["known", "unknown"])
def test_programs(fn: Callable[..., Any], relaxed: bool) -> None:
    rng = np.random.default_rng(1)
    re, im = (rng.uniform(-1, 1, 50).astype(np.float32) for _ in range(2))
    specs = [rt.TensorSpec([None] if relaxed and fn is sums else [50], rt.float32)] * 2
    results = []
    for executor in ("numpy", "native"):
        f = rt.function(fn, executor=executor, input_signature=specs)
        results.append([x.numpy() for x in f(re, im)])
    assert "nothing calls Python" in f.get_concrete_function().explain_native()
    for want, got in zip(*results, strict=True):
        assert (want.dtype, want.shape) == (got.dtype, got.shape)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_what_is_numpys() -> None:
    f = rt.function(lambda x: rt.exp(x) + x, executor="native", input_signature=[rt.TensorSpec([3], rt.complex64)])
    text = f.get_concrete_function().explain_native()
    assert text.endswith("exp calls Python: a function of complex numbers")
    np.testing.assert_allclose(f(np.array([0, 1j, 2], np.complex64)).numpy(), np.exp([0, 1j, 2]) + [0, 1j, 2], 1e-6)
