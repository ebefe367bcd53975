"""Large products by code of our own, over all ways in which matrices lie and all widths of registers; and where an
operand does not lie as a product takes it."""
from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

import runtime as rt
from runtime.backends.native.jit import compile as code
from runtime.backends.native.kernels.matmul import gemm, microkernel
from runtime.backends.native.llvm.builder import Builder, Module

HERE = Module(code.has_fma(), code.vector_bits())
needs_packed = pytest.mark.skipif(not microkernel.fits(HERE, rt.float32), reason="for AVX2 or AVX-512")
PRODUCTS = {name: tuple(kind) for name, (part, *kind) in microkernel.FUNCTIONS.items() if part == microkernel.PRODUCT}
WIDTHS = [bits for bits in (256, 512) if bits <= code.vector_bits()]
# rows, products of a sum, columns: less than a tile and a vector, whole ones, with a rest; several blocks, either way
SIZES = [(1, 1, 1), (8, 16, 48), (97, 40, 5), (4, 3, 24), (100, 600, 97), (97, 1100, 300), (96, 1100, 50),
         (2100, 30, 50), (50, 520, 2101), (13, 1, 65), (0, 5, 4), (5, 0, 4), (4, 5, 0)]


class Product:
    """Machine code of `Packed`, called by address."""

    def __init__(self, bits: int, *kind: Any) -> None:
        self.dtype, self.x_turned, self.y_turned = kind
        self.module = Module(True, bits)
        (name,) = [name for name, known in PRODUCTS.items() if known == kind]
        self.engine = code._engine_of(microkernel.function_text(name, self.module), 0)
        i64, ptr = ctypes.c_int64, ctypes.c_void_p
        types = [ptr, i64, i64, i64, i64, ptr, i64, ptr, i64, ptr, ptr, ptr]
        self.call = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(self.engine.get_function_address(name))

    def __call__(self, x: Any, y: Any, out: Any, threads: int = 2, scale: float | None = None) -> None:
        """Of matrices as they are to be multiplied, laid as they are to lie. `scale`: so many times is added."""
        (rows, inner), columns = x.shape, y.shape[1]
        sizes = rows, inner, columns
        room = microkernel.Packed(self.module, self.dtype, self.x_turned, self.y_turned).room(Builder(self.module),
                                                                                              *sizes)
        assert isinstance(room, int)
        memory = np.full(room + 64, 77, self.dtype.np)
        steps = [(m.strides[turned] // m.itemsize) for m, turned in ((x, self.x_turned), (y, self.y_turned))]
        factor = None if scale is None else np.full(1, scale, self.dtype.np).ctypes
        status = self.call(None, threads, *sizes, x.ctypes.data, steps[0], y.ctypes.data, steps[1], out.ctypes.data,
                           memory.ctypes.data, None if factor is None else factor.data)
        assert status == 0
        assert (memory[room:] == 77).all(), "what lies behind the memory is untouched"


def laid(values: Any, turned: bool, gap: int = 3) -> Any:
    """A view of an array whose lines are some elements apart, and that has NaN around it."""
    lines = values.T if turned else values
    around = np.full((lines.shape[0] + 2, lines.shape[1] + gap), np.nan, values.dtype)
    view = around[1:-1, :lines.shape[1]]
    view[:] = lines
    return view.T if turned else view


@needs_packed
@pytest.mark.parametrize("kind", PRODUCTS.values(), ids=PRODUCTS)
@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("scale", [None, 1, -2])
def test_product(kind: Any, bits: int, scale: int | None) -> None:
    """Of small integers, of which all sums are exact; nothing around the operands is read, nor written around the
    result."""
    product, rng = Product(bits, *kind), np.random.default_rng(0)
    for sizes in SIZES:
        rows, inner, columns = sizes
        x, y = (rng.integers(-4, 5, shape).astype(kind[0].np) for shape in ((rows, inner), (inner, columns)))
        want = x @ y if scale is None else 3 + scale * (x @ y)
        around = np.full(rows * columns + 200, 7, kind[0].np)
        out = around[100:100 + rows * columns].reshape(rows, columns)
        out[:] = np.nan if scale is None else 3
        product(laid(x, kind[1]), laid(y, kind[2]), out, scale=scale)
        assert (out == want).all(), sizes
        assert (around[:100] == 7).all() and (around[100 + rows * columns:] == 7).all(), sizes


@functools.cache  # the processor's extended floats are slow
def large(dtype: Any) -> list[tuple[Any, Any, Any]]:
    """Matrices, and their product in a wider dtype."""
    rng, found = np.random.default_rng(0), []
    wider = np.longdouble if dtype.np == np.float64 else np.float64
    for sizes in [(333, 1500, 517), (2100, 600, 70)]:
        x, y = (rng.standard_normal(shape).astype(dtype.np) for shape in (sizes[:2], sizes[1:]))
        found.append((x, y, x.astype(wider) @ y.astype(wider)))
    return found


@needs_packed
@pytest.mark.parametrize("kind", PRODUCTS.values(), ids=PRODUCTS)
def test_bits_do_not_depend_on_threads_and_sums_are_exact_enough(kind: Any) -> None:
    product = Product(WIDTHS[-1], *kind)
    for x, y, exact in large(kind[0]):
        found = []
        for threads in (1, 2, 5):
            found.append(np.empty(exact.shape, kind[0].np))
            product(laid(x, kind[1]), laid(y, kind[2]), found[-1], threads=threads)
        assert (found[0] == found[1]).all() and (found[0] == found[2]).all()
        bound = 30 * np.finfo(kind[0].np).eps * np.sqrt(len(y))  # of sums of so many products of size 1
        assert abs(found[0] - exact).max() < bound


def multiplied(x: Any, y: Any) -> Any:
    return x @ y


def native(fn: Any, *args: Any, unknown: bool = False) -> Any:
    specs = [rt.TensorSpec([None, None] if unknown and len(x.shape) == 2 else x.shape, x.dtype) for x in args]
    return rt.function(fn, executor="native").get_concrete_function(*specs)


def random(*shape: int, dtype: Any = rt.float32) -> Any:
    return rt.constant(np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype.np))


@needs_packed
def test_bits_do_not_depend_on_what_is_known_nor_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "blas_symbols", dict)
    x, y = random(310, 700), random(700, 290)
    known, unknown = native(multiplied, x, y), native(multiplied, x, y, unknown=True)
    want = known(x, y).numpy()
    np.testing.assert_allclose(want, x.numpy() @ y.numpy(), rtol=1e-4, atol=1e-4)
    assert (unknown(x, y).numpy() == want).all()
    before = rt.config.threading.get_intra_op_parallelism_threads()
    rt.config.threading.set_intra_op_parallelism_threads(1)
    try:
        assert (unknown(x, y).numpy() == want).all() and (known(x, y).numpy() == want).all()
    finally:
        rt.config.threading.set_intra_op_parallelism_threads(before)
    small = unknown(random(30, 40), random(40, 20)).numpy()
    np.testing.assert_allclose(small, random(30, 40).numpy() @ random(40, 20).numpy(), rtol=1e-4, atol=1e-5)


@needs_packed
def test_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "blas_symbols", dict)
    special = np.ones((330, 330), np.float32)
    special[0, 0], special[7, 299], special[299, 5] = np.inf, np.nan, -np.inf
    got = native(multiplied, *[rt.constant(special)] * 2)(rt.constant(special), rt.constant(special)).numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, special @ special)


VIEWS = {
    "rows backwards": lambda x: x[::-1], "columns backwards": lambda x: x[:, ::-1], "both": lambda x: x[::-1, ::-1],
    "every other row": lambda x: x[::2], "every other column": lambda x: x[:, ::2],
    "a row again and again": lambda x: rt.broadcast_to(x[:1], rt.shape(x)), "turned": rt.transpose,
    "turned and backwards": lambda x: rt.transpose(x)[:, ::-1], "a part": lambda x: x[10:, 20:],
    "a column again and again": lambda x: rt.transpose(rt.broadcast_to(rt.transpose(x)[:1], rt.shape(rt.transpose(x)))),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("found", [True, pytest.param(False, marks=needs_packed)], ids=["BLAS", "none"])
def test_operands_are_views(view: str, found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which BLAS takes some as they lie: lines that go backwards or repeat are copied."""
    if not found:
        monkeypatch.setattr(gemm, "blas_symbols", dict)

    def f(x: Any) -> Any:
        y = VIEWS[view](x)
        return y @ rt.transpose(y), rt.transpose(y) @ y

    x = random(100, 100)
    wanted = rt.function(f, executor="numpy")(x)
    for unknown in (False, True):
        for got, want in zip(native(f, x, unknown=unknown)(x), wanted, strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("view", [lambda xs: xs[:, ::-1], lambda xs: xs[::-1, ::-1], lambda xs: xs[:, :, ::-1],
                                  lambda xs: rt.broadcast_to(xs[:, :1], rt.shape(xs))])
def test_products_of_many_steps_at_once_have_operands_that_are_views(view: Any, unknown: bool) -> None:
    def f(xs: Any, w: Any) -> Any:
        state, views = rt.zeros([32, 128]), view(xs)
        for t in rt.range(100):
            state = rt.tanh(state + views[t] @ w[::-1])
        return state

    xs, w = random(100, 32, 64), random(64, 128)
    specs = [rt.TensorSpec([None, None, 64] if unknown else xs.shape), rt.TensorSpec(w.shape)]
    got = rt.function(f, executor="native").get_concrete_function(*specs)(xs, w).numpy()
    np.testing.assert_allclose(got, rt.function(f, executor="numpy")(xs, w).numpy(), rtol=1e-4, atol=1e-4)


@needs_packed
@pytest.mark.parametrize("dtype", [rt.float16, rt.float32, rt.float64], ids=lambda dtype: dtype.name)
def test_without_blas_all_products_are_made_by_it(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "blas_symbols", dict)

    def f(x: Any, y: Any, z: Any) -> Any:
        turned = rt.matmul(x, y, transpose_a=True), rt.matmul(x, x, transpose_b=True)
        return x @ z, *turned, rt.einsum("bij,bjk->bik", rt.stack([x, x]), rt.stack([z, z]))

    args = [random(*shape, dtype=rt.float32) for shape in ((70, 90), (70, 80), (90, 60))]
    args = [rt.cast(x, dtype) for x in args]
    for unknown in (False, True):
        fn = native(f, *args, unknown=unknown)
        assert "calls Python" not in fn.explain_native().replace("nothing calls Python", "")
        got = fn(*args)
        for one, other in zip(got, rt.function(f, executor="numpy")(*args), strict=True):
            tolerance = 2e-2 if dtype is rt.float16 else 1e-4
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=tolerance, atol=tolerance)


@needs_packed
def test_without_blas_a_variable_is_not_updated_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal may come in between, and then a variable has no half of a product."""
    monkeypatch.setattr(gemm, "blas_symbols", dict)
    v = rt.Variable(np.zeros((100, 100), np.float32))

    def f(x: Any) -> Any:
        for _ in range(3):
            v.assign_sub(x @ x)
        return v.read_value()

    x = random(100, 100)
    fn = native(f, x)
    assert "added" not in fn.explain_native()
    np.testing.assert_allclose(fn(x).numpy(), -3 * (x.numpy() @ x.numpy()), rtol=1e-4, atol=1e-4)
