"""Products in loops by a matrix that stays the same, which is copied once, before the loop."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from test_native_microkernel import WIDTHS, laid, needs_packed

import runtime as rt
from tests.native.abi.test_native_interrupts import stop_after, took

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from runtime.backends.native.jit import compile as code
from runtime.backends.native.jit import executor
from runtime.backends.native.kernels.matmul import gemm, microkernel, packed_operands
from runtime.backends.native.llvm.builder import Builder, Module
from runtime.backends.native.loops import gemm_batching

pytestmark = needs_packed
ONCE = "matmul multiplies by a matrix that is copied once, before the loop"
KINDS = [(dtype, turned) for dtype in (rt.float32, rt.float64) for turned in (False, True)]


@pytest.fixture(autouse=True)
def _on_this_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever its registers, also where tiles are not full; on two threads, even for little work."""
    monkeypatch.setattr(packed_operands, "_fills", lambda *_: True)
    monkeypatch.setattr(packed_operands, "_THREADS", 1)
    before = rt.config.threading.get_intra_op_parallelism_threads()
    rt.config.threading.set_intra_op_parallelism_threads(2)
    yield
    rt.config.threading.set_intra_op_parallelism_threads(before)


def random(*shape: int, dtype: Any = rt.float32) -> Any:
    return rt.constant((np.random.default_rng(sum(shape)).standard_normal(shape) / 8).astype(dtype.np))


def traced(fn: Callable[..., Any], args: Any, *specs: Any) -> Any:
    return rt.function(fn, executor="native").get_concrete_function(*(specs or args))


def check(fn: Callable[..., Any], *args: Any, specs: Any = (), said: bool = True) -> Any:
    """That the function does what the reference executor does; on one thread it gives the same bits."""
    concrete = traced(fn, args, *specs)
    assert (ONCE in concrete.explain_native()) is said
    got = [x.numpy() for x in rt.nest.flatten(concrete(*args))]
    want = rt.nest.flatten(rt.function(fn, executor="numpy")(*args))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=2e-4, atol=2e-4 if a.dtype == np.float32 else 1e-12)
    rt.config.threading.set_intra_op_parallelism_threads(1)
    alone = [x.numpy() for x in rt.nest.flatten(concrete(*args))]
    rt.config.threading.set_intra_op_parallelism_threads(2)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(got, alone, strict=True))
    return concrete


# The code itself

class Kept:
    """Machine code that copies a matrix to strips, and multiplies by them."""

    def __init__(self, bits: int, dtype: Any, turned: bool) -> None:
        self.module, self.dtype, self.turned = Module(True, bits), dtype, turned
        self.engines = []
        i64, ptr = ctypes.c_int64, ctypes.c_void_p
        self.copy = self._of(microkernel.PACK_RIGHT, turned, [i64, i64, ptr, i64, ptr])
        self.multiply = self._of(microkernel.PACKED_PRODUCT, False, [ptr, i64, i64, i64, ptr, i64, ptr, ptr, ptr, i64])

    def _of(self, part: str, turned: bool, types: list[Any]) -> Any:
        (name,) = [name for name, known in microkernel.FUNCTIONS.items() if known == (part, self.dtype, False, turned)]
        self.engines.append(code._engine_of(microkernel.function_text(name, Module(True, self.module.vector_bits)), 0))
        return ctypes.CFUNCTYPE(ctypes.c_int32, *types)(self.engines[-1].get_function_address(name))

    def __call__(self, xs: list[Any], y: Any, outs: list[Any], scale: int | None) -> None:
        inner, columns = y.shape
        room = microkernel.Packed(self.module, self.dtype, False, False).room(Builder(self.module), 0, inner, columns)
        assert isinstance(room, int)
        memory = np.full(room + 64, 77, self.dtype.np)
        assert self.copy(inner, columns, y.ctypes.data, y.strides[self.turned] // y.itemsize, memory.ctypes.data) == 0
        factor = None if scale is None else np.full(1, scale, self.dtype.np).ctypes
        for x, out in zip(xs, outs, strict=True):
            assert self.multiply(None, x.shape[0], inner, columns, x.ctypes.data, x.strides[0] // x.itemsize,
                                 memory.ctypes.data, out.ctypes.data, None if factor is None else factor.data, 0) == 0
        assert (memory[room:] == 77).all(), "what lies behind the memory is untouched"


@pytest.mark.parametrize("scale", [None, 1, -2])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("bits", WIDTHS)
def test_code(bits: int, kind: Any, scale: int | None) -> None:
    """Of small integers, of which all sums are exact; nothing around the operands is read or written."""
    dtype, turned = kind
    kept, rng = Kept(bits, dtype, turned), np.random.default_rng(0)
    for inner, columns in [(1, 1), (16, 48), (3, 24), (512, 97), (30, 2048), (130, 65)]:
        y = rng.integers(-4, 5, (inner, columns)).astype(dtype.np)
        xs = [rng.integers(-4, 5, (rows, inner)).astype(dtype.np) for rows in (8, 1, 5, 0, 96, 203)]
        outs = [np.full(len(x) * columns + 200, 7, dtype.np) for x in xs]
        kept([laid(x, False) for x in xs], laid(y, turned), [out[100:] for out in outs], scale)
        for x, out in zip(xs, outs, strict=True):
            end = 100 + len(x) * columns
            want = x @ y if scale is None else 7 + scale * (x @ y)
            assert (out[100:end].reshape(-1, columns) == want).all(), (len(x), inner, columns)
            assert (out[:100] == 7).all() and (out[end:] == 7).all()


# Loops

def stepped(h, u, n):
    for _ in rt.range(n):
        h = rt.tanh(h @ u)
    return h


def added(h, u, n):
    total = h * 0.5
    for k in rt.range(n):
        total = h * rt.cast(k, h.dtype) + total @ u
        h = -h
    return total


def while_(h, u, n):
    while rt.reduce_max(rt.abs(h)) > 0.01 and n > 0:
        h, n = rt.tanh(h @ u), n - 1
    return h, n


def turned(h, u, n):
    for _ in rt.range(n):
        h = rt.tanh(h @ rt.transpose(u))
    return h


def backwards(h, u, n):
    """Rows that lie backwards are read as they lie; columns are copied."""
    for _ in rt.range(n):
        h = rt.tanh(h[::-1] @ u) + rt.tanh(h[:, ::-1] @ u)
    return h


def nested(h, u, n):
    for _ in rt.range(2):
        v = u * 0.5
        for _ in rt.range(n):
            h = rt.tanh(h @ v)
            v = v + 0.0
        for _ in rt.range(n):
            h = rt.tanh(h @ v)
    return h


@pytest.mark.parametrize("fn", [stepped, added, while_, turned, backwards, nested])
@pytest.mark.parametrize("rows", [4, 7, 32, 130])
@pytest.mark.parametrize("dtype", [rt.float32, rt.float64], ids=lambda dtype: dtype.name)
def test_loops(fn: Callable[..., Any], rows: int, dtype: Any) -> None:
    size = 96 if rows in (4, 130) else 101
    for n in (0, 1, 5):
        check(fn, random(rows, size, dtype=dtype), random(size, size, dtype=dtype), rt.constant(n))


@pytest.mark.parametrize("rows", [1, 3, 32])
def test_rows_of_any_number(rows: int) -> None:
    n, u = rt.constant(4), random(100, 100)
    specs = [rt.TensorSpec([None, 100], rt.float32), rt.TensorSpec([100, 100], rt.float32), rt.TensorSpec([], rt.int32)]
    check(stepped, random(rows, 100), u, n, specs=specs)


def test_nothing_stays_of_the_last_call() -> None:
    h, n = random(16, 64), rt.constant(3)
    concrete = check(stepped, h, random(64, 64), n)
    for factor in (2.0, -1.0):
        u = random(64, 64) * factor
        np.testing.assert_allclose(concrete(h, u, n).numpy(), stepped(h, u, 3).numpy(), rtol=1e-4, atol=1e-5)


def test_a_variable_that_the_loop_assigns_is_no_such_matrix() -> None:
    u = rt.Variable(random(64, 64))

    def f(h):
        for _ in rt.range(4):
            h = rt.tanh(h @ u)
            u.assign(u * -0.5)
        return h

    h, start = random(16, 64), u.numpy()
    got = rt.function(f, executor="native")(h).numpy()
    u.assign(start)
    np.testing.assert_allclose(got, rt.function(f, executor="numpy")(h).numpy(), rtol=1e-4, atol=1e-5)


def test_a_variable_that_it_reads_may_be_one() -> None:
    u = rt.Variable(random(64, 64))

    def f(h):
        for _ in rt.range(4):
            h = rt.tanh(h @ u)
        return h

    h = random(16, 64)
    fn = rt.function(f, executor="native")
    for _ in range(2):
        np.testing.assert_allclose(fn(h).numpy(), rt.function(f, executor="numpy")(h).numpy(), rtol=1e-4, atol=1e-5)
        u.assign(u * -0.5)


def test_not_finite() -> None:
    h = np.zeros((9, 64), np.float32)
    h[0, 0], h[3, 5], h[8, 63] = np.inf, np.nan, -np.inf

    def f(h, u):
        for _ in rt.range(1):
            h = h @ u
        return h

    u = np.ones((64, 64), np.float32)
    u[:, 7] = 0
    got = traced(f, (rt.constant(h), rt.constant(u)))(rt.constant(h), rt.constant(u)).numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, h @ u)


def test_what_is_left_to_blas() -> None:
    """Matrices whose sizes are not known, that are too large, or of which only a branch makes products."""
    h, u, n = random(32, 64), random(64, 64), rt.constant(3)
    unknown = [rt.TensorSpec([None, None], rt.float32)] * 2 + [rt.TensorSpec([], rt.int32)]
    check(stepped, h, u, n, specs=unknown, said=False)
    check(stepped, random(32, 520), random(520, 520) * 0.1, n, said=False)

    def in_a_branch(h, u, n):
        for k in rt.range(n):
            h = rt.tanh(h @ u) if k > 1 else h
        return h

    check(in_a_branch, h, u, n, said=False)


@pytest.mark.parametrize("rate", [0.5, 0.0, float("inf")])
def test_products_are_scaled_and_added(rate: float) -> None:
    def scaled(h, u, n, rate):
        w = h * 2.0
        for k in rt.range(n):
            w = w - rate * (rt.tanh(h + rt.cast(k, rt.float32)) @ u)
        return w

    concrete = check(scaled, random(33, 64), random(64, 64), rt.constant(3), rt.constant(rate))
    assert "matmul is added in place" in concrete.explain_native()


def test_tiles_have_to_be_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of AVX-512 are 8 rows by 32 or 48 columns of float32, those of AVX2 4 by 16 or 24."""
    monkeypatch.undo()
    for bits, high, few in ((512, 8, (1, 4, 6, 9)), (256, 4, (1, 3, 5))):
        monkeypatch.setattr(executor, "vector_bits", lambda bits=bits: bits)
        for rows in (*few, high, 2 * high, 30):
            h, u, n = random(rows, 256), random(256, 256), rt.constant(3)
            said = traced(stepped, (h, u, n)).explain_native()
            assert (ONCE in said) is (rows not in few), (bits, rows)
        specs = [rt.TensorSpec([None, 256], rt.float32), rt.TensorSpec([256, 256], rt.float32), n]
        assert (ONCE in traced(stepped, (), *specs).explain_native()) is (bits == 256)


def test_little_products_are_written_inline() -> None:
    check(stepped, random(4, 16), random(16, 16), rt.constant(3), said=False)


def network(xs, w, u):
    h = rt.zeros([xs.shape[1], u.shape[0]])
    for t in rt.range(xs.shape[0]):
        h = rt.tanh(xs[t] @ w + h @ u)
    return h


@pytest.mark.parametrize("rows", [16, 18])
def test_products_ahead_are_made_by_strips_where_tiles_are_whole(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm_batching, "_WORTH", 1)
    args = random(40, rows, 33), random(33, 70), random(70, 70)
    said = check(network, *args).explain_native()
    assert "matmul is made for up to 40 steps of the loop at once" in said
    assert said.count(ONCE) == 1 and "matmul is added in place\n" in said
    text = traced(network, args).inspect_llvm(optimized=False)
    assert ("cblas_sgemm64" in text) is (rows == 18 and "cblas_sgemm64" in gemm.blas_symbols())


def test_a_signal_stops_the_loop() -> None:
    args = random(64, 256), random(256, 256), rt.constant(40_000)
    concrete = traced(stepped, args)
    assert ONCE in concrete.explain_native()

    def stopped() -> None:
        stop_after(0.2, lambda: concrete(*args))

    assert took(stopped) < 1.0


def test_without_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "blas_symbols", dict)
    check(stepped, random(30, 100), random(100, 100), rt.constant(4))
