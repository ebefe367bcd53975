"""Random numbers in native code: bit for bit those of the reference executor, out of one stream with it."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core import types as t

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from runtime.backends.native.kernels import random, ziggurat_tables

FLOATS = [dtype for dtype in t.ALL if dtype.is_floating]
INTS = [dtype for dtype in t.ALL if dtype.is_integer]
MANY = 400_000  # so that rare cases come, such as the tail of the normal distribution: about 100 of them


def drawn(fn: Callable[..., Any], executor: str, calls: list[tuple[Any, ...]], specs: Any = None) -> list[Any]:
    """What calls give one after another, each followed by a draw of the eager kernel; from one seed."""
    rt.random.set_seed(11)
    function = rt.function(fn, executor=executor, input_signature=specs)
    results = []
    for arguments in calls:
        results += [x.numpy() for x in rt.nest.flatten(function(*arguments))]
        results.append(rt.random.uniform([3]).numpy())
    if executor == "native" and calls:
        assert "nothing calls Python" in function.get_concrete_function(*calls[0]).explain_native()
    return results


def same(fn: Callable[..., Any], *calls: tuple[Any, ...], specs: Any = None) -> list[Any]:
    want, got = (drawn(fn, executor, list(calls), specs) for executor in ("numpy", "native"))
    assert len(want) == len(got)
    for w, g in zip(want, got, strict=True):
        assert (w.dtype, w.shape) == (g.dtype, g.shape)
        assert w.tobytes() == g.tobytes()
    return got


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
def test_floats(dtype: t.DType) -> None:
    many, _, scalar, *_ = same(lambda: (
        rt.random.normal([MANY], dtype=dtype), rt.random.uniform([3, 5], dtype=dtype),
        rt.random.normal([], dtype=dtype), rt.random.uniform([], dtype=dtype),
        rt.random.normal([0, 2], dtype=dtype)), (), ())
    assert np.abs(many.astype("f8")).max() > ziggurat_tables.TAIL
    assert scalar.shape == ()


@pytest.mark.parametrize("dtype", INTS, ids=lambda d: d.name)
def test_integers(dtype: t.DType) -> None:
    low, high = dtype.limits

    def fn(least: Any, end: Any) -> Any:
        return (rt.random.uniform([1001], least, end, dtype), rt.random.uniform([], least, end, dtype),
                rt.random.uniform([7], least, end, dtype))

    bounds = [(0, 1), (0, 100), (low, low + 3), (low, high), (low + 1, high), (0, high // 2 + 2), (3, high // 3)]
    if dtype.size == 8:
        bounds += [(5, 5 + 2**32), (0, 2**32 - 1), (0, 2**32 + 1), (7, 2**63 - 1)]
    same(fn, *[(dtype.as_numpy_dtype(a), dtype.as_numpy_dtype(b)) for a, b in bounds],
         specs=[rt.TensorSpec([], dtype)] * 2)


@pytest.mark.parametrize("seed_dtype", [t.int32, t.int64, t.uint64], ids=lambda d: d.name)
def test_stateless(seed_dtype: t.DType) -> None:
    def fn(seed: Any) -> Any:
        return [f([50], seed, dtype=dtype) for dtype in FLOATS[:2]
                for f in (rt.random.stateless_normal, rt.random.stateless_truncated_normal)] + [
            rt.random.stateless_uniform([51], seed, dtype=dtype) for dtype in FLOATS] + [
            rt.random.stateless_uniform([50], seed, -3, 10**9, dtype) for dtype in (t.int32, t.int64)] + [
            rt.random.stateless_uniform([3], seed, None, None, dtype) for dtype in INTS] + [
            rt.random.stateless_uniform([9], seed, 1, 100, dtype) for dtype in INTS] + [
            rt.random.stateless_normal([], seed), rt.random.stateless_normal([MANY // 2 + 3], seed),
            rt.random.stateless_truncated_normal([MANY // 2 + 1], seed), rt.random.stateless_uniform([0, 2], seed)]

    low, high = seed_dtype.limits
    seeds = [[1, 2], [0, 0], [low, high], [high, low], [5, high], [low + 1, 0]]
    if seed_dtype.size == 8:
        seeds += [[2**32, 1], [2**32 - 1, 2**40]]
    same(fn, *[(np.array(seed, seed_dtype.np),) for seed in seeds])


def test_normal_floats_of_64_bits_call_numpy() -> None:
    def fn(seed: Any) -> Any:
        return (rt.random.stateless_normal([51], seed, dtype=t.float64),
                rt.random.stateless_truncated_normal([51], seed, dtype=t.float64))

    want, got = (rt.function(fn, executor=executor)(np.array([1, 2])) for executor in ("numpy", "native"))
    for w, g in zip(want, got, strict=True):
        np.testing.assert_array_equal(w, g)
    text = rt.function(fn, executor="native").get_concrete_function(np.array([1, 2])).explain_native()
    assert "stateless_random calls Python: normal numbers of float64 take NumPy's functions" in text


def test_seeds_of_other_lengths() -> None:
    for seed in ([], [3], [1, 2, 3, 4, 5, 6]):
        for executor in ("numpy", "native"):
            with pytest.raises(rt.errors.ShapeError, match=rf"a seed of two ints, not int64\[{len(seed)}\]"):
                drawn(lambda s: rt.random.stateless_uniform([5], s), executor, [(np.array(seed, np.int64),)],
                      [rt.TensorSpec([None], rt.int64)])
    with pytest.raises(rt.errors.ShapeError, match=r"a seed of two ints, not int64\[3\]"):
        rt.random.stateless_uniform([5], np.array([1, 2, 3]))


def test_what_is_made_of_them() -> None:
    same(lambda x: (rt.random.shuffle(x), rt.random.uniform([4], -3.0, 2.0), rt.random.normal([4], 1.0, 2.0),
                    rt.random.uniform([3], seed=5)), (np.arange(50),), (np.arange(50),))
    generators = [rt.random.Generator.from_seed(3) for _ in range(2)]
    draws = [rt.function(lambda g=g: (g.normal([5]), g.uniform([2], 0, 9, rt.int32)), executor=executor)
             for g, executor in zip(generators, ("numpy", "native"), strict=True)]
    for again in range(3):
        if again == 2:
            for g in generators:
                g.reset_from_seed(8)
        want, got = (draw() for draw in draws)
        for w, g in zip(want, got, strict=True):
            np.testing.assert_array_equal(w, g)


def test_shapes_that_the_run_knows() -> None:
    def fn(n: Any) -> Any:
        return rt.random.uniform([n, 3]), rt.random.normal([2, n]), rt.random.uniform([n], 0, 5, rt.int32)

    same(fn, (3,), (0,), (5000,), specs=[rt.TensorSpec([], rt.int32)])
    messages = []
    for executor in ("numpy", "native"):
        with pytest.raises(rt.errors.ShapeError, match=r"takes sizes of at least 0, not \[-1, 3\]") as caught:
            drawn(fn, executor, [(-1,)], [rt.TensorSpec([], rt.int32)])
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_bounds_that_are_out_of_order() -> None:
    for executor in ("numpy", "native"):
        with pytest.raises(rt.errors.InvalidArgumentError) as caught:
            drawn(lambda a, b: rt.random.uniform([3], a, b, rt.int32), executor, [(4, 4)])
        assert "random.uniform takes a minval less than maxval, not 4 and 4" in str(caught.value)


def test_draws_in_loops_and_branches() -> None:
    def fn(n: Any) -> Any:
        inside = 0
        for _ in rt.range(n):
            x, y = rt.random.uniform([]), rt.random.uniform([])
            if x * x + y * y < 1.0:
                inside += rt.random.uniform([], 1, 3, rt.int32)
            else:
                inside -= rt.cast(rt.reduce_sum(rt.random.normal([20])) > 0.0, rt.int32)
        return inside

    got, *_ = same(fn, (2000,), (10,), specs=[rt.TensorSpec([], rt.int32)])
    assert 1900 < got < 2400


def test_a_seed_set_between_calls_counts() -> None:
    draw = rt.function(lambda: rt.random.normal([4]), executor="native")
    rt.random.set_seed(1)
    first = draw().numpy()
    assert not np.array_equal(draw(), first)
    rt.random.set_seed(1)
    np.testing.assert_array_equal(draw(), first)
    rt.random.set_seed(1)
    np.testing.assert_array_equal(rt.random.normal([4]), first)


def test_threads_share_a_stream() -> None:
    """No number is lost or comes twice: all that threads draw together is what one thread draws."""
    generator = rt.random.Generator.from_seed(2)
    size, calls, count = 6000, 20, 4  # such a draw lets other threads run
    native = rt.function(lambda: generator.uniform([size], dtype=rt.float64), executor="native")
    native.get_concrete_function()
    parts: list[list[Any]] = [[] for _ in range(count)]

    def work(k: int) -> None:
        for _ in range(calls):
            parts[k].append((native() if k % 2 else generator.uniform([size], dtype=rt.float64)).numpy())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got = sorted(tuple(x[:3]) for part in parts for x in part)
    again = rt.random.Generator.from_seed(2)
    want = sorted(tuple(again.uniform([size], dtype=rt.float64).numpy()[:3]) for _ in range(calls * count))
    assert got == want


def test_a_numpy_that_draws_otherwise_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "_known", lambda: False)
    text = rt.function(lambda: rt.random.normal([4]), executor="native").explain_native()
    assert text.endswith("random calls Python: this NumPy draws random numbers in a way of its own")
