"""Native convolution and pooling on sizes that take every path through the code, against the kernels."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from native_runs import Batch, bound, difference
from op_checks import samples

import runtime as rt
from runtime.backends.native.jit import executor
from runtime.backends.native.kernels.convolution import convolutions, direct
from runtime.backends.native.kernels.matmul import gemm
from runtime.core.op import REGISTRY

RNG = np.random.default_rng(7)


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.uniform(-1, 1, shape).astype(dtype)


# Images, filters, strides, padding: by the number of features a panel or several, with vectors that are whole or not;
# by the number of windows in a line a tile, several, or several of which the last overlaps.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Any]] = [
    ((2, 6, 28, 3), (3, 3, 3, 64), (1, 1), "SAME"),
    ((1, 5, 13, 8), (3, 3, 8, 100), (1, 1), "SAME"),
    ((1, 4, 7, 5), (2, 2, 5, 17), (1, 2), "VALID"),
    ((2, 9, 11, 4), (3, 5, 4, 1), (2, 1), ((1, 2), (3, 0))),
    ((1, 3, 40, 2), (1, 1, 2, 33), (1, 1), "VALID"),
    ((2, 6, 9, 16), (3, 3, 16, 8), (2, 2), "SAME"),
    ((3, 50, 6), (7, 6, 20), (1,), "SAME"),
    ((1, 4, 5, 6, 3), (2, 3, 3, 3, 9), (1, 1, 1), "SAME"),
    ((2, 6, 11, 24), (3, 3, 1, 24), (1, 1), "SAME"),
    ((2, 6, 11, 6), (3, 3, 1, 18), (2, 1), "SAME"),
    ((1, 12, 12, 3), (9, 9, 1, 3), (1, 1), "SAME"),
]


def operands(x: tuple[int, ...], filters: tuple[int, ...], strides: tuple[int, ...], padding: Any,
             dtype: Any = np.float32, dilations: tuple[int, ...] | None = None
             ) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """The three ops on arrays of these shapes."""
    params = {"strides": strides, "padding": padding, "dilations": dilations or (1,) * len(strides)}
    images, weights = array(*x, dtype=dtype), array(*filters, dtype=dtype)
    y = array(*REGISTRY["conv"].kernel(images, weights, **params).shape, dtype=dtype)
    yield "conv", (images, weights), params
    yield "conv_input", (weights, y), {"dims": x, **params}
    yield "conv_filters", (images, y), {"dims": filters, **params}


def check(batch: Batch) -> None:
    found = batch.differences()
    assert not found, "\n".join(found)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sizes(case: Any) -> None:
    batch = Batch("sizes")
    for name, arguments, params in operands(*case):
        batch.add(REGISTRY[name], arguments, params, allowed=bound(name, arguments, params, REGISTRY[name].kernel))
    check(batch)


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_dtypes(dtype: Any) -> None:
    batch = Batch("dtypes")
    for case in CASES[1:4]:
        for name, arguments, params in operands(*case, dtype=dtype):
            batch.add(REGISTRY[name], arguments, params, allowed=bound(name, arguments, params, REGISTRY[name].kernel))
    check(batch)


@pytest.mark.parametrize(("bits", "fma"), [(128, False), (256, True)])
def test_other_processors(bits: int, fma: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for registers of other widths, and fewer, is right."""
    monkeypatch.setattr(executor, "vector_bits", lambda: bits)
    monkeypatch.setattr(executor, "has_fma", lambda: fma)
    batch = Batch("processors")
    for case in (CASES[0], CASES[2], CASES[8]):
        for name, arguments, params in operands(*case):
            batch.add(REGISTRY[name], arguments, params, allowed=bound(name, arguments, params, REGISTRY[name].kernel))
    check(batch)


@pytest.mark.parametrize("block", [1 << 21, 3000])
def test_large_filters_are_for_blas(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are laid out, in one block or in several."""
    monkeypatch.setattr(direct, "_PANEL", 0)
    monkeypatch.setattr(convolutions, "_BLOCK", block)
    batch = Batch("rows")
    for case in CASES[:8]:
        for name, arguments, params in operands(*case):
            batch.add(REGISTRY[name], arguments, params, allowed=bound(name, arguments, params, REGISTRY[name].kernel))
    check(batch)


def test_without_large_products_the_kernel_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "blas_symbols", dict)
    monkeypatch.setattr(gemm, "fits", lambda *_: False)

    def f(x: Any, w: Any, v: Any) -> Any:
        y = rt.nn.conv2d(x, w, 2, "SAME")
        return y, rt.nn.conv2d_transpose(y, w, rt.shape(x), 2), rt.nn.conv2d(x, v, 1, "SAME")

    arrays = array(1, 5, 6, 3), array(3, 3, 3, 4), array(2, 2, 3, 2)
    specs = [rt.TensorSpec([None, None, None, 3]), rt.TensorSpec([3, 3, 3, 4]), rt.TensorSpec([None, None, 3, None])]
    traced = [rt.function(f, input_signature=specs, executor=name) for name in ("numpy", "native")]
    want, got = ([x.numpy() for x in g(*map(rt.constant, arrays))] for g in traced)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    report = traced[1].get_concrete_function().explain_native()
    assert re.findall(r"(\w+) calls Python: no BLAS was found", report) == ["conv_input", "conv"]


def test_filters_that_are_large() -> None:
    batch = Batch("large")
    for name, arguments, params in operands((1, 3, 6, 600), (3, 3, 600, 70), (1, 1), "SAME"):
        batch.add(REGISTRY[name], arguments, params, allowed=bound(name, arguments, params, REGISTRY[name].kernel))
    check(batch)


# Inf and NaN: what is around images is 0, which times inf is NaN, and nothing is around what a convolution gives.

def not_finite(x: Any) -> Any:
    """Some elements of an array are not finite: one of its ends among them, where padding is near."""
    x = x.copy()
    flat = x.reshape(-1)
    for value in (np.nan, np.inf, -np.inf):
        flat[RNG.integers(x.size)] = value
    flat[RNG.integers(2) - 1] = np.inf
    return x


def edges(name: str, arguments: tuple[Any, ...], params: dict[str, Any], batch: Batch, hide: bool) -> None:
    """Each operand in turn, and all, with elements that are not finite."""
    op = REGISTRY[name]
    floats = [k for k, x in enumerate(arguments) if x.dtype.kind == "f" and x.size]
    finite = bound(name, arguments, params, op.kernel)
    for chosen in [*([k] for k in floats), floats]:
        special = [not_finite(x) if k in chosen else x for k, x in enumerate(arguments)]
        batch.add(op, special, params, hide=hide, allowed=0.0 if finite is None else finite)


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("name", ["conv", "conv_input", "conv_filters", "max_pool", "max_pool_argmax"])
def test_samples_that_are_not_finite(name: str, hide: bool) -> None:
    batch = Batch(name)
    for arguments, params in samples(REGISTRY[name]):
        edges(name, arguments, params, batch, hide)
    check(batch)


@pytest.mark.parametrize("features", [1, 5])
@pytest.mark.parametrize("stride", [1, 2])
def test_strides_paddings_and_dilations_that_are_not_finite(stride: int, features: int) -> None:
    batch = Batch("grid")
    for padding in ("SAME", "VALID", ((2, 0), (1, 3))):
        for dilations in ((1, 1), (2, 1)):
            for name, arguments, params in operands(
                    (2, 6, 7, 2), (3, 2, 2, features), (stride, 1), padding, dilations=dilations):
                edges(name, arguments, params, batch, hide=False)
    check(batch)


# Through `rt.nn`, where batch and sizes are known, and where only the run knows them.

POOLED: list[tuple[Callable[..., Any], tuple[int, ...]]] = [
    (lambda x: rt.nn.max_pool2d(x, 2, 2, "SAME"), (2, 9, 13, 20)),
    (lambda x: rt.nn.max_pool2d(x, [3, 2], [1, 2], [[0, 0], [2, 1], [0, 1], [0, 0]]), (2, 9, 13, 1)),
    (lambda x: rt.nn.max_pool2d(x, 9, 1, "SAME"), (1, 12, 10, 3)),
    (lambda x: rt.nn.max_pool3d(x, [2, 1, 2], 2, "VALID"), (2, 4, 5, 6, 7)),
    (lambda x: rt.nn.max_pool_with_argmax(x, 3, 2, "SAME"), (2, 9, 13, 20)),
    (lambda x: rt.nn.max_pool_with_argmax(x, 9, 3, "SAME", include_batch_in_index=True), (2, 12, 10, 3)),
]


def both(function: Callable[..., Any], arrays: tuple[Any, ...], unknown: bool) -> tuple[Any, Any]:
    """The results of both executors; the last dimension is known."""
    specs = [rt.TensorSpec([None] * (x.ndim - 1) + [x.shape[-1]] if unknown else x.shape, rt.as_dtype(x.dtype))
             for x in arrays]
    results = []
    for name in ("numpy", "native"):
        traced = rt.function(function, input_signature=specs, executor=name)
        results.append([x.numpy() for x in rt.nest.flatten(traced(*map(rt.constant, arrays)))])
    assert "nothing calls Python" in traced.get_concrete_function().explain_native()
    return tuple(results)


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(("function", "shape"), POOLED)
def test_max_pooling_is_the_same_bit_for_bit(function: Callable[..., Any], shape: tuple[int, ...], unknown: bool
                                             ) -> None:
    x = RNG.integers(-3, 4, shape).astype(np.float32) / 2  # with ties
    x[RNG.random(shape) < 0.05] = np.nan
    x[RNG.random(shape) < 0.05] = -np.inf
    x[x == 0] = 0  # the processor decides between 0.0 and -0.0
    for want, got in zip(*both(function, (x,), unknown), strict=True):
        assert difference(got, want) is None


@pytest.mark.parametrize("function", [
    lambda x, w: rt.nn.conv2d(x, w, 1, "SAME"), lambda x, w: rt.nn.conv2d(x, w, [2, 3], "SAME"),
    lambda x, w: rt.nn.conv2d(x, w, 2, "VALID", dilations=2),
    lambda x, w: rt.nn.conv2d_transpose(rt.nn.conv2d(x, w, 1, "SAME"), w, rt.shape(x), 1),
    lambda x, w: rt.nn.conv2d_transpose(rt.nn.conv2d(x, w, 2, "SAME"), w, rt.shape(x), 2),
    lambda x, w: rt.nn.conv2d_backprop_filter(x, rt.shape(w), rt.nn.conv2d(x, w, 1, "SAME"), 1, "SAME"),
    lambda x, w: rt.nn.depthwise_conv2d(x, rt.reshape(w, [3, 3, 6, 10]), [1, 2, 2, 1], "SAME"),
    lambda x, w: rt.nn.avg_pool2d(x, 3, 2, "SAME"), lambda x, w: rt.nn.avg_pool2d(x, 2, 2, "VALID"),
    lambda x, w: rt.nn.conv2d(rt.transpose(x, [0, 3, 1, 2]), w, 1, "SAME", "NCHW"),
])
def test_unknown_sizes(function: Callable[..., Any]) -> None:
    for shape in ((2, 9, 20, 6), (1, 1, 2, 6), (3, 12, 5, 6)):
        if shape == (1, 1, 2, 6) and "VALID" in function.__code__.co_consts:
            continue
        for want, got in zip(*both(function, (array(*shape, dtype="f8"), array(3, 3, 6, 10, dtype="f8")), True)):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = rt.config.threading.get_intra_op_parallelism_threads()
    yield rt.config.threading.set_intra_op_parallelism_threads
    rt.config.threading.set_intra_op_parallelism_threads(before)


@pytest.mark.parametrize("unknown", [False, True])
def test_the_number_of_threads_changes_nothing(threads: Callable[[int], None], unknown: bool) -> None:
    """What is large enough is divided; the results are the same bits."""
    def f(x: Any, w: Any) -> Any:
        y = rt.nn.conv2d(x, w, 1, "SAME")
        return (y, rt.nn.conv2d_transpose(y, w, rt.shape(x), 1), rt.nn.max_pool2d(y, 2, 2, "SAME"),
                rt.nn.conv2d_backprop_filter(x, rt.shape(w), y, 1, "SAME"), rt.nn.avg_pool2d(y, 3, 1, "SAME"))

    x, w = array(16, 32, 32, 16), array(3, 3, 16, 32)
    specs = [rt.TensorSpec([None, None, None, a.shape[-1]] if unknown else a.shape) for a in (x, w)]
    traced = rt.function(f, input_signature=specs, executor="native")
    results = []
    for count in (1, 2, 5):
        threads(count)
        results.append([t.numpy() for t in traced(rt.constant(x), rt.constant(w))])
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(results[0][0], rt.nn.conv2d(x, w, 1, "SAME"), rtol=1e-4, atol=1e-4)
