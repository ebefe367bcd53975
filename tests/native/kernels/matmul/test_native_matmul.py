"""Which products BLAS makes. Its large ones are several calls: each element is the sum that it is in one."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_native_microkernel import HERE, needs_packed

import runtime as rt
from runtime.backends.native.abi import blas
from runtime.backends.native.kernels.matmul import gemm
from runtime.backends.native.llvm.builder import Module

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
ROOT = Path(__file__).parents[4]
SIZES = [(801, 1000, 203), (100, 3000, 97), (97, 2000, 300), (1, 3000, 1000), (1000, 3000, 1), (500, 100, 500),
         (191, 1344, 500), (193, 895, 500)]
LIMITS = [1 << 22, 1 << 25, 1 << 27]  # multiplications of float32, in vectors of 512 bits


def product(x, y):
    return x @ y


def first_turned(x, y):
    return rt.matmul(x, y, transpose_a=True)


def second_turned(x, y):
    return rt.matmul(x, y, transpose_b=True)


KINDS = [(product, False, False), (first_turned, True, False), (second_turned, False, True)]


def operands(dtype: Any, sizes: tuple[int, int, int], kind: Any, whole: bool) -> list[Any]:
    """Of random numbers; `whole`: small integers, of which all sums are exact."""
    rng = np.random.default_rng(0)
    rows, inner, columns = sizes
    _, x_turned, y_turned = kind
    found = []
    for shape, turned in (((rows, inner), x_turned), ((inner, columns), y_turned)):
        values = rng.integers(-4, 5, shape) if whole else rng.standard_normal(shape)
        found.append(rt.constant(np.ascontiguousarray(values.T if turned else values).astype(dtype.np)))
    return found


@pytest.fixture
def by_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    """All large products are."""
    monkeypatch.setattr(gemm, "fits", lambda *_: False)


def called(kind: Any, args: list[Any], unknown: bool) -> Any:
    specs = [rt.TensorSpec([None, None] if unknown else x.shape, x.dtype) for x in args]
    return rt.function(kind[0], executor="native").get_concrete_function(*specs)(*args).numpy()


@pytest.mark.parametrize("dtype", blas.GEMM, ids=lambda dtype: dtype.name)
def test_calls_cover_the_product(dtype: Any, monkeypatch: pytest.MonkeyPatch, by_blas: None) -> None:
    """With sums that are cut, and with rows alone; of known sizes and of unknown ones."""
    cut = gemm.depth
    for k, sizes in enumerate(SIZES):
        monkeypatch.setattr(gemm, "_AT_ONCE", LIMITS[k % 3])
        kind = KINDS[k // 3]
        x, y = operands(dtype, sizes, kind, whole=True)
        expected = np.matmul(x.numpy().T if kind[1] else x.numpy(), y.numpy().T if kind[2] else y.numpy())
        for depth, unknown in ((cut, k % 2 == 0), (lambda dtype: None, k % 2 == 1)):
            monkeypatch.setattr(gemm, "depth", depth)
            assert (called(kind, [x, y], unknown) == expected).all(), (sizes, kind[0].__name__, unknown)


def bits() -> None:
    """With one thread of BLAS, which may cut for its threads in other ways than for one."""
    gemm.fits = lambda *_: False
    for dtype in blas.GEMM:
        assert blas.depth(dtype) is not None, dtype
        for k, sizes in enumerate(SIZES):
            if gemm.by_sums(dtype, sizes):  # not by BLAS
                continue
            kind = KINDS[k % 3]
            args = operands(dtype, sizes, kind, whole=False)
            gemm._AT_ONCE = 1 << 60
            expected = called(kind, args, False)
            gemm._AT_ONCE = LIMITS[k // 3]
            assert (called(kind, args, k % 2 == 0) == expected).all(), (dtype, sizes)


def test_elements_are_bit_for_bit_those_of_one_call() -> None:
    if "cblas_sgemm64" not in blas.blas_symbols():
        pytest.skip("NumPy has no OpenBLAS of its own")
    path = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]
    done = subprocess.run([sys.executable, "-c", "import test_native_matmul as t; t.bits()"], capture_output=True,
                          text=True, timeout=300, env={**os.environ, "OPENBLAS_NUM_THREADS": "1",
                                                       "PYTHONPATH": os.pathsep.join(path)})
    assert done.returncode == 0, done.stderr


def test_what_blas_adds_up_at_once_is_told_from_what_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial finds it: no other number is equal, and none is found where none is tried that is."""
    right = blas.depth(rt.float32)
    if right is None:
        pytest.skip("NumPy has no OpenBLAS of its own")
    monkeypatch.setattr(blas, "_DEPTHS", tuple(count for count in blas._DEPTHS if count % right))
    blas.depth.cache_clear()
    try:
        assert blas.depth(rt.float32) is None
    finally:
        blas.depth.cache_clear()


@needs_packed
@pytest.mark.parametrize("dtype", [rt.float32, rt.float64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize(("sizes", "own"), [
    ((128, 128, 128), True), ((512, 300, 16), True), ((8, 600, 500), True), ((40, 64, 40), False),
    ((128, 32, 512), True), ((4000, 16, 400), True), ((4000, 3, 400), False)])
def test_products_that_blas_would_divide_among_its_threads_are_made_on_those_of_loops(
        dtype: Any, sizes: tuple[int, int, int], own: bool) -> None:
    """If they fill tiles, and their sizes are known."""
    for kind in KINDS:
        x, y = operands(dtype, sizes, kind, whole=True)
        expected = np.matmul(x.numpy().T if kind[1] else x.numpy(), y.numpy().T if kind[2] else y.numpy())
        for unknown in (False, True):
            specs = [rt.TensorSpec([None, None] if unknown else m.shape, dtype) for m in (x, y)]
            concrete = rt.function(kind[0], executor="native").get_concrete_function(*specs)
            text = concrete.inspect_llvm(optimized=False)
            assert ("@runtime_product_" in text) is ((own and not unknown) or not blas.blas_symbols())
            assert (concrete(x, y).numpy() == expected).all()


@needs_packed
@pytest.mark.parametrize(("bits", "own"), [(256, True), (512, False)])
def test_a_transposed_left_matrix_is_packed_from_a_smaller_size_on(bits: int, own: bool) -> None:
    """Where OpenBLAS takes twice as long for it: with registers of 256 bits."""
    for turned, expected in ((True, own), (False, False)):
        found = gemm._is_own(Module(True, bits), rt.float32, (64, 64, 64), turned, False)
        assert found is (expected or not blas.blas_symbols())


@pytest.mark.parametrize("dtype", [rt.float32, rt.float64, rt.int32, rt.complex64], ids=lambda dtype: dtype.name)
def test_products_of_few_columns(dtype: Any) -> None:
    """Rows of all widths in registers, several at once, with rows that are left."""
    rng = np.random.default_rng(0)
    for columns in (2, 3, 5, 7, 8, 10, 13, 31, 64):
        for rows in (1, 5, 19):
            x, y = (rt.constant(rng.integers(-9, 9, shape).astype(dtype.np)) for shape in ((rows, 6), (6, columns)))
            found = rt.function(rt.matmul, executor="native")(x, y)
            assert (found.numpy() == x.numpy() @ y.numpy()).all()


@needs_packed
def test_the_product_by_a_transposed_matrix_is_divided_by_blas_from_a_smaller_size_on() -> None:
    """OpenBLAS has a kernel on one thread for the other layouts."""
    sizes = 64, 128, 64
    for kind in KINDS:
        x, y = operands(rt.float32, sizes, kind, whole=True)
        concrete = rt.function(kind[0], executor="native").get_concrete_function(x, y)
        own = kind[2] or sizes[0] * sizes[1] * sizes[2] > gemm.on_one_thread(HERE) or not blas.blas_symbols()
        assert ("@runtime_product_" in concrete.inspect_llvm(optimized=False)) is own
        expected = np.matmul(x.numpy().T if kind[1] else x.numpy(), y.numpy().T if kind[2] else y.numpy())
        assert (concrete(x, y).numpy() == expected).all()


@needs_packed
@pytest.mark.parametrize("dtype", [rt.float32, rt.float64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("sizes", [(1100, 1000, 1), (1, 1000, 1100), (1, 2000000, 1), (3, 400000, 1)])
def test_products_of_large_matrices_and_vectors_are_loops(dtype: Any, sizes: tuple[int, int, int]) -> None:
    for kind in KINDS:
        x, y = operands(dtype, sizes, kind, whole=True)
        expected = np.matmul(x.numpy().T if kind[1] else x.numpy(), y.numpy().T if kind[2] else y.numpy())
        concrete = rt.function(kind[0], executor="native").get_concrete_function(x, y)
        assert "gemm" not in concrete.inspect_llvm(optimized=False)
        assert (concrete(x, y).numpy() == expected).all()
        x, y = operands(dtype, sizes, kind, whole=False)
        left, right = x.numpy().T if kind[1] else x.numpy(), y.numpy().T if kind[2] else y.numpy()
        scale = abs(left).astype(np.float64) @ abs(right).astype(np.float64)
        error = abs(concrete(x, y).numpy() - left.astype(np.float64) @ right.astype(np.float64))
        assert (error <= 20 * np.finfo(dtype.np).eps * scale).all()


@needs_packed
def test_products_that_update_are_made_on_the_threads_of_loops() -> None:
    """Also if they are scaled, by a number that may be 0, where the product is not finite."""
    def descend(w: Any, x: Any, y: Any, rate: Any) -> Any:
        for t in rt.range(3):
            w = w - rate * (x @ (y + rt.cast(t, rt.float64)))
        return w

    traced = rt.function(descend, executor="native")
    x, y = (rt.constant(np.random.default_rng(0).standard_normal(shape)) for shape in ((130, 300), (300, 90)))
    for rate in (0.25, 0.0):
        for first in (1.0, np.inf):
            args = rt.ones([130, 90], rt.float64), x * first, y, rt.constant(rate, rt.float64)
            concrete = traced.get_concrete_function(*args)
            assert "matmul is added in place" in concrete.explain_native()
            assert "@runtime_product_" in concrete.inspect_llvm(optimized=False)
            want = rt.function(descend, executor="numpy")(*args).numpy()
            np.testing.assert_allclose(concrete(*args).numpy(), want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("lead", [(4,), (2, 3), (1,), (0,)])
@pytest.mark.parametrize("turned", [False, True], ids=["in order", "with axes exchanged"])
@pytest.mark.parametrize("unknown", [False, True])
def test_matrices_times_one_matrix_are_one_product(lead: tuple[int, ...], turned: bool, unknown: bool) -> None:
    """If their number is known: the right matrix is then packed once, and all rows are divided among threads."""
    rng = np.random.default_rng(0)
    xs = rng.integers(-4, 5, (*lead, 24, 40)).astype(np.float32)
    y = rng.integers(-4, 5, (40, 48)).astype(np.float32)

    def products(x, y):
        return rt.matmul(rt.transpose(x, [*range(len(lead) - 1), len(lead), len(lead) - 1, len(lead) + 1]) if turned
                         else x, y)

    given = xs.swapaxes(-2, -3) if turned else xs
    shape = [None, *given.shape[1:]] if unknown else given.shape
    concrete = rt.function(products, executor="native").get_concrete_function(
        rt.TensorSpec(shape, rt.float32), rt.TensorSpec(y.shape, rt.float32))
    assert (concrete(rt.constant(np.ascontiguousarray(given)), rt.constant(y)).numpy() == xs @ y).all()
    if not unknown and lead == (4,) and "cblas_sgemm64" in blas.blas_symbols():
        call = next(line for line in concrete.inspect_llvm(optimized=False).splitlines()
                    if "call void @cblas_sgemm64" in line)
        assert "i64 96, i64 48, i64 40" in call
