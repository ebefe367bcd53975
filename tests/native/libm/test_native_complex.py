"""Complex numbers in native code: element-wise ops, their edges, and what carries them."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt
from runtime.core import types as t

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from native_runs import Batch, compare
from op_checks import sampled_ops, samples, type_of, value_of

from runtime.backends.native.libm.complex_numbers import FUNCTIONS
from runtime.core.op import CAST, REGISTRY, Op
from runtime.core.tensor import EagerList
from tests.native.kernels.test_native_ops import tolerance

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


@pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.name)
def test_products_that_overflow_are_numpys(dtype: t.DType) -> None:
    """Of elements a part that overflows is infinite where it is in NumPy, which takes FMA where there is one."""
    most = np.finfo(dtype.np).max
    parts = np.random.default_rng(0).choice([most, -most, 1.0, 0.5, 1.5, np.inf], (4, 300))
    x, y = np.empty(300, dtype.np), np.empty(300, dtype.np)
    x.real, x.imag, y.real, y.imag = parts
    batch = Batch("products")
    batch.add(REGISTRY["multiply"], (x, y), {})
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
    for f in on_both(fn, input_signature=specs).values():
        results.append([x.numpy() for x in f(re, im)])
    assert "nothing calls Python" in f.get_concrete_function().explain_native()
    for want, got in zip(*results, strict=True):
        assert (want.dtype, want.shape) == (got.dtype, got.shape)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.name)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions(name: str, dtype: t.DType) -> None:
    """NumPy's results, bit for bit: at the edges, of large and small numbers, and of small integer powers.

    The inverse functions NumPy has of its own, unless it was built for a recent C library: then they may differ in
    rounding, and of acosh(NaN·i) the imaginary part is NaN; in the C standard it is pi/2.
    """
    rng = np.random.default_rng(3)
    parts = rng.standard_normal((4, 200)) * 10.0 ** rng.integers(-6, 6, (4, 200))
    x, y = (parts[:2] + 1j * parts[2:]).astype(dtype.np)
    near = (rng.standard_normal(200) + 1j * rng.standard_normal(200)).astype(dtype.np)
    batch = Batch(name)
    if name == "pow":
        powers = np.array([*range(-12, 12), 99, -99, 100, 0.5, 2 + 1j], dtype.np)
        every = [a.ravel() for a in np.meshgrid(edges(dtype), edges(dtype)[::3])]
        for pair in (every, (x, y), (near, np.roll(near, 7)), (np.repeat(near[:7], 29), np.tile(powers, 7)),
                     (x[0], y[0])):
            batch.add(REGISTRY[name], tuple(pair), {})
    else:
        ends = edges(dtype)
        if name == "acosh":
            ends = ends[(ends.real != 0) | ~np.isnan(ends.imag)]
        for z in (ends, x, near, np.reshape(x, (2, 5, 20)), x[3]):
            with np.errstate(all="ignore"):
                size = abs(REGISTRY[name].kernel(z))
            allowed = 4 * np.finfo(dtype.np).eps * size if name[0] == "a" else None
            batch.add(REGISTRY[name], (z,), {}, allowed=allowed)
            batch.add(REGISTRY[name], (z,), {}, hide=True, allowed=allowed)
    found = batch.differences()
    assert not found, "\n".join(found[:10])


def turned(x: Any, dtype: t.DType) -> Any:
    """Floats with imaginary parts."""
    return (x + 0.25j * np.arange(x.size).reshape(x.shape)).astype(dtype.np)[()]


def moved(dtype: t.DType) -> list[tuple[Op, Any, dict[str, Any]]]:
    """The samples of all ops with complex numbers in the place of floats, where an op takes them."""
    found = []
    for op in sampled_ops():
        for arguments, params in samples(op):
            changed = [a if isinstance(a, EagerList) or a.dtype.kind != "f" else turned(a, dtype) for a in arguments]
            if any(old is not new for old, new in zip(arguments, changed, strict=True)):
                try:
                    op.rule(*map(type_of, changed), **params)
                    op.kernel(*map(value_of, changed), **copy.deepcopy(params))
                except (TypeError, ValueError, rt.errors.InvalidArgumentError):  # such as for what is not Hermitian
                    continue
                found.append((op, tuple(changed), params))
    return found


@pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.name)
def test_all_that_take_them(dtype: t.DType) -> None:
    """Every op that takes complex numbers has a lowering for them, but for `CALLS`; with dims known and not."""
    groups: dict[str, list[Any]] = {}
    for op, arguments, params in moved(dtype):
        groups.setdefault(op.name, []).append((op, arguments, params))
    assert len(groups) > 55
    calls = set()
    for name, members in groups.items():
        batch = Batch(name)
        for k, (op, arguments, params) in enumerate(members):
            for hide in (False, True) if k % 3 == 0 or len(members) <= 6 else (False,):
                batch.add(op, arguments, params, hide=hide, **tolerance(op, arguments, params))
        found = batch.differences()
        assert not found, "\n".join(found[:10])
        if "calls Python: " in batch.native.explain():
            calls.add(name)
    assert calls == CALLS


CALLS = {  # of scatter the greatest and least
    "bitcast", "eigh", "qr", "render_text", "scatter", "svd", "unique"}


@pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(7, 5, 3), (90, 80, 70), (3, 400, 1)])
@pytest.mark.parametrize("relaxed", [False, True], ids=["known", "unknown"])
def test_matrices(dtype: t.DType, shape: tuple[int, int, int], relaxed: bool) -> None:
    """Small products, and those of BLAS; transposed, conjugated, updated, in batches, by einsum."""
    rows, inner, columns = shape
    rng = np.random.default_rng(0)

    def normal(*sizes: int) -> Any:
        return rt.constant((rng.standard_normal(sizes) + 1j * rng.standard_normal(sizes)).astype(dtype.np))

    def fn(x: Any, y: Any, w: Any) -> Any:
        for _ in range(3):
            w = w - 0.5 * (x @ y)
        return (w, rt.matmul(y, x, adjoint_a=True, transpose_b=True), rt.einsum("ij,jk->ki", x, y),
                rt.stack([x, 2.0 * x]) @ y, rt.reduce_sum(x @ y, 0), rt.reduce_mean(rt.abs(w)))

    arguments = normal(rows, inner), normal(inner, columns), normal(rows, columns)
    specs = [rt.TensorSpec([None, None] if relaxed else a.shape, dtype) for a in arguments]
    results = []
    for f in on_both(fn, input_signature=specs).values():
        results.append([x.numpy() for x in f(*arguments)])
    assert "nothing calls Python" in f.get_concrete_function().explain_native()
    for want, got in zip(*results, strict=True):
        assert (want.dtype, want.shape) == (got.dtype, got.shape)
        np.testing.assert_allclose(got, want, 1e-4 if dtype is t.complex64 else 1e-12, 1e-3 if dtype is t.complex64 else
                                   1e-11)


def test_large_arrays_on_several_threads() -> None:
    """Loops large enough for threads, whose parts use complex numbers from outside; sums, and elements in order."""
    def fn(x: Any, a: Any) -> Any:
        y = a * x + rt.exp(x * 0.1)
        return y, rt.reduce_sum(y), rt.reduce_prod(y[:40] / rt.cast(rt.abs(y[:40]), y.dtype)), rt.reduce_sum(
            rt.reshape(y, [-1, 100]), 0)

    rng = np.random.default_rng(2)
    for dtype in COMPLEX:
        x = (rng.standard_normal(600_000) + 1j * rng.standard_normal(600_000)).astype(dtype.np)
        a = dtype.np.type(0.6 - 0.8j)
        want, got = ([r.numpy() for r in traced(rt.constant(x), rt.constant(a))] for traced in on_both(fn).values())
        eps = np.finfo(dtype.np).eps
        for w, g in zip(want, got, strict=True):
            np.testing.assert_allclose(g, w, 40 * eps, 1e6 * eps)


def test_lists_and_variables() -> None:
    v = rt.Variable(np.array([1j, 2.0], np.complex64))

    def fn(x: Any) -> Any:
        rows, z = [], x[0]
        for i in range(rt.shape(x)[0]):
            z = z * x[i] if rt.math.imag(z) < 1.0 else z + 1.0
            rows.append(rt.stack([z, rt.math.conj(z)]))
            v.assign_add(rows[-1])
        return rt.stack(rows), z, v + 1.0, rt.gather(x, rt.constant([2, 0])), rt.where(rt.abs(x) > 1.0)

    x = np.array([1 + 1j, 0.5 - 2j, 3j], np.complex64)
    results = []
    for executor in ("numpy", "native"):
        v.assign([1j, 2.0])
        f = rt.function(fn, executor=executor, input_signature=[rt.TensorSpec([None], rt.complex64)])
        results.append([r.numpy() for r in f(x)] + [v.numpy()])
    assert "calls Python: " not in f.get_concrete_function().explain_native()
    for want, got in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, 1e-6)


def test_a_loop_in_registers() -> None:
    """A while loop over complex numbers runs block by block, as one over floats."""
    def fn(c: Any) -> Any:
        z, steps = rt.zeros_like(c), rt.zeros(c.shape, rt.int32)
        for _ in rt.range(60):
            alive = rt.abs(z) <= 2.0
            z = rt.where(alive, z * z + c, z)
            steps += rt.cast(alive, rt.int32)
        return steps

    c = np.add.outer(1j * np.linspace(-1, 1, 64), np.linspace(-2, 1, 64)).astype(np.complex128)
    compare(fn, c, blocks=True)


def test_constants_of_a_loop_in_registers() -> None:
    def fn(c: Any) -> Any:
        for _ in rt.range(60):
            c = c + 1 / (c + 2)
        return c

    compare(fn, np.linspace(-1, 1, 64).astype(np.complex64), blocks=True)


PLACES = rt.constant([3, 5, 4], rt.int32)


def sums_from_the_end(a: Any, b: Any) -> Any:
    sums = total = b
    first = b[0, 0]
    for row in sums:
        sums = rt.cumsum(sums, 1, True, True)
        total = total - rt.tensor_scatter_nd_add(row, PLACES[:, None], rt.gather(row, PLACES[::-1]))
        if rt.reduce_any(a > -2):
            total = total + sums + total
        else:
            first = first - rt.reduce_sum(rt.cumsum(sums, 1, True, True))
    return rt.pad(sums, [[0, 0], [2, 1]]), total, first


@pytest.mark.parametrize("dtype", COMPLEX, ids=lambda d: d.name)
def test_small_arrays_that_are_stored_from_the_end(dtype: t.DType) -> None:
    """On the stack, LLVM 22 made values of them that are used before they are made, and ended the process."""
    compare(sums_from_the_end, np.zeros((0, 3, 3), np.int32), np.arange(21).reshape(3, 7).astype(dtype.np) / 16)
