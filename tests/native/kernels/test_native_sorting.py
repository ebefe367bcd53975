"""Sorting, searching and telling apart in native code: what the kernels give, for sizes around where the way to sort
changes, with equal elements, NaN and zeros of both signs."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core import types as t

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from native_runs import difference

REAL = [dtype for dtype in t.ALL if not (dtype.is_complex or dtype.is_bool)]
SIZES = [0, 1, 2, 7, 47, 48, 49, 255, 256, 257, 3000]


def lines(dtype: t.DType, size: int) -> Iterator[Any]:
    """Elements in several orders: random, from all over the dtype, few different ones, in order and backwards."""
    rng = np.random.default_rng(size)
    if dtype.is_floating:
        bits = rng.integers(0, 256, size * dtype.size, np.uint8).view(dtype.np)
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.0], dtype.np)
        yield bits  # NaN among them, with all kinds of payloads
        yield rng.choice(special, size)
        yield np.sort(rng.standard_normal(size).astype(dtype.np))
        yield np.full(size, -np.inf, dtype.np)
    else:
        low, high = dtype.limits
        yield rng.integers(low, high, size, dtype.np, endpoint=True)
        yield rng.integers(max(low, -3), 3, size, dtype.np)
        yield np.sort(rng.integers(low, high, size, dtype.np, endpoint=True))[::-1].copy()


def both(fn: Callable[..., Any], *specs: rt.TensorSpec) -> tuple[Any, Any]:
    """A function on both executors."""
    native, reference = (rt.function(fn, executor=name, input_signature=list(specs)) for name in ("native", "numpy"))
    assert "nothing calls Python" in native.get_concrete_function().explain_native()
    return native, reference


def check(functions: tuple[Any, Any], *arguments: Any) -> None:
    got, want = (rt.nest.flatten(fn(*arguments)) for fn in functions)
    for g, w in zip(got, want, strict=True):
        found = difference(g.numpy(), w.numpy())
        assert found is None, f"{[a.shape for a in arguments]}: {found}"


@pytest.mark.parametrize("dtype", [*REAL, t.bool_], ids=lambda d: d.name)
def test_argsort(dtype: t.DType) -> None:
    def all_orders(x: Any) -> Any:
        return [rt.argsort(x), rt.argsort(x, direction="DESCENDING")]

    functions = both(all_orders, rt.TensorSpec([None], dtype))
    for size in SIZES:
        for x in lines(t.int8 if dtype.is_bool else dtype, size):
            check(functions, x > 0 if dtype.is_bool else x)


@pytest.mark.parametrize("shape", [(3, 50), (4, 1, 60), (0, 5), (5, 0), (2, 300)])
@pytest.mark.parametrize("hide", [False, True], ids=["known", "unknown"])
def test_axes_and_top_k(shape: tuple[int, ...], hide: bool) -> None:
    def fn(x: Any) -> Any:
        k = min(3, shape[-1])
        return [rt.sort(x, axis) for axis in range(len(shape))] + [
            rt.argsort(x * 2.0, 0, "DESCENDING"), *rt.math.top_k(x, k),
            *rt.math.top_k(rt.transpose(x), min(2, shape[0]))]

    x = np.random.default_rng(1).integers(-4, 4, shape).astype(np.float32)
    functions = both(fn, rt.TensorSpec([None] * len(shape) if hide else shape, rt.float32))
    check(functions, x)
    check(functions, np.full(shape, np.nan, np.float32))


@pytest.mark.parametrize("dtype", REAL, ids=lambda d: d.name)
def test_searchsorted(dtype: t.DType) -> None:
    def fn(row: Any, values: Any) -> Any:
        return [rt.searchsorted(row, values, side) for side in ("left", "right")]

    functions = both(fn, rt.TensorSpec([None], dtype), rt.TensorSpec([None], dtype))
    for size in (0, 1, 2, 3, 4, 5, 8, 33, 100):
        for row, values in zip(lines(dtype, size), lines(dtype, 70), strict=True):
            check(functions, np.sort(row), values)
            check(functions, np.sort(row), np.sort(row))


def test_searchsorted_line_by_line() -> None:
    def fn(rows: Any, values: Any) -> Any:
        return rt.searchsorted(rows, values, "right", rt.int64), rt.searchsorted(rows[0], values), rt.searchsorted(
            rows[1], values[0, 0])

    functions = both(fn, rt.TensorSpec([None, None], rt.int32), rt.TensorSpec([None, None], rt.int32))
    rows = np.sort(np.random.default_rng(0).integers(0, 9, (3, 6)).astype(np.int32))
    check(functions, rows, np.arange(-3, 12, dtype=np.int32).reshape(3, 5))
    messages = []
    for f in functions:
        with pytest.raises(rt.errors.ShapeError) as caught:
            f(rows, np.zeros((2, 5), np.int32))
        messages.append(str(caught.value).splitlines()[0].split(": ", 1)[1])
    assert messages == ["the leading dimensions of what searchsorted takes have different shapes: [3] and [2]"] * 2


@pytest.mark.parametrize("dtype", REAL, ids=lambda d: d.name)
def test_unique(dtype: t.DType) -> None:
    functions = both(lambda x: tuple(rt.unique_with_counts(x)) + tuple(rt.unique(x, rt.int64)),
                     rt.TensorSpec([None], dtype))
    for size in SIZES:
        for x in lines(dtype, size):
            check(functions, x)


@pytest.mark.parametrize("hide", [False, True], ids=["known", "unknown"])
def test_what_has_as_many_rows_as_are_found(hide: bool) -> None:
    def fn(x: Any, keep: Any) -> Any:
        found = rt.where(x > 0.5)
        total = rt.reduce_sum(rt.boolean_mask(x, keep))
        return found, rt.shape(found), rt.boolean_mask(x * 2.0, x < 0.3), total, rt.where(x[0, 0, 0] > 0.5), rt.where(x)

    specs = [rt.TensorSpec([None] * 3 if hide else [4, 5, 6], rt.float32),
             rt.TensorSpec([None] if hide else [4], rt.bool)]
    functions = both(fn, *specs)
    rng = np.random.default_rng(3)
    x = (rng.integers(0, 9, (4, 5, 6)) / 8).astype(np.float32)
    for keep in (rng.random(4) < 0.5, np.zeros(4, bool), np.ones(4, bool)):
        check(functions, x, keep)
    check(functions, np.where(x > 0.5, np.nan, 0).astype(np.float32), keep)


def test_rows_that_are_found_in_a_loop() -> None:
    def fn(x: Any) -> Any:
        total = 0
        for k in rt.range(6):
            places = rt.where(x > k)
            total += rt.shape(places)[0] * k + rt.cast(rt.reduce_sum(places), rt.int32)
            x = rt.sort(x)[::-1] - 1
            values, _, counts = rt.unique_with_counts(x)
            total += rt.reduce_sum(values * counts)
        return total, x

    functions = both(fn, rt.TensorSpec([None], rt.int32))
    for size in (0, 1, 100):
        check(functions, np.random.default_rng(size).integers(-9, 10, size).astype(np.int32))
