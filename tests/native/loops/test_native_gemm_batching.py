"""Products in loops that do not wait for the state: many steps at once, with the bits of one step after another."""
from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.backends.native.kernels.matmul import gemm, packed_operands
from runtime.backends.native.loops import gemm_batching
from tests.native.abi.test_native_interrupts import stop_after, took

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

T, B, F, H = 40, 16, 33, 70
AT_ONCE = "matmul is made for up to 40 steps of the loop at once"


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever the machine has; no loop is too little work, and BLAS makes all products."""
    monkeypatch.setattr(gemm_batching, "_WORTH", 1)
    monkeypatch.setattr(packed_operands, "fits", lambda *_: False)
    before = rt.config.threading.get_intra_op_parallelism_threads()
    rt.config.threading.set_intra_op_parallelism_threads(2)
    yield
    rt.config.threading.set_intra_op_parallelism_threads(before)


def steps(xs, w, h, n):
    for t in rt.range(T):
        h = rt.maximum(xs[t] @ w + h * 0.5, h)
    return h


def rows(xs, w, h, n):
    for row in xs:
        h = rt.maximum(h * 0.5 - row @ w, h)
    return h


def state_too(xs, w, h, n):
    """The product of the state is added to the other one, by BLAS."""
    u = rt.transpose(h) @ h
    for t in rt.range(T):
        h = rt.clip_by_value(h @ u + xs[t] @ w, -2.0, 2.0)
    return h


def second_axis(xs, w, h, n):
    xs = rt.transpose(xs, [1, 0, 2])
    for t in rt.range(T):
        h = rt.maximum(xs[:, t] @ w + h * 0.5, h)
    return h


def view(xs, w, h, n):
    """Rows that are far apart."""
    xs = rt.transpose(rt.reshape(xs, [B, T, F]), [1, 0, 2])
    for t in rt.range(T):
        h = rt.maximum(xs[t] @ w + h * 0.5, h)
    return h


def gathered(xs, w, h, n):
    for t in rt.range(T):
        h = rt.maximum(rt.gather(xs, t) @ w + h * 0.5, h)
    return h


def last_axis_gathered(xs, w, h, n):
    xs = rt.transpose(xs, [1, 2, 0])
    for t in rt.range(T):
        h = rt.maximum(rt.gather(rt.transpose(xs, [0, 2, 1]), t, axis=1) @ w + h * 0.5, h)
    return h


def backwards(xs, w, h, n):
    for t in rt.range(T):
        h = rt.maximum(xs[T - 1 - t] @ w + h * 0.5, h)
    return h


def from_the_end(xs, w, h, n):
    for t in rt.range(T):
        h = rt.maximum(xs[t - 20] @ w + h * 0.5, h)
    return h


def in_an_order(xs, w, h, n):
    order = rt.cast(rt.range(T) * 7 % T, rt.int64)
    for t in rt.range(T):
        h = rt.maximum(xs[order[t]] @ w + h * 0.5, h)
    return h


def of_a_list(xs, w, h, n):
    items = rt.TensorArray(xs.dtype, size=T).unstack(xs)
    for t in rt.range(T):
        h = rt.maximum(items.read(t) @ w + h * 0.5, h)
    return h


def turned(xs, w, h, n):
    xs, w, h = rt.transpose(xs, [0, 2, 1]), rt.transpose(w), rt.transpose(h)
    for t in rt.range(T):
        h = rt.maximum(w @ xs[t] + h * 0.5, h)
    return h


def two_sequences(xs, w, h, n):
    ws = rt.stack([w * float(k) for k in range(-3, 5)])
    ws = rt.gather(ws, rt.range(T) % 8)
    for t in rt.range(T):
        h = rt.maximum(xs[t] @ ws[t] + h * 0.5, h)
    return h


def kept(xs, w, h, n):
    """What a product gives is the state, in a list, and carried by a loop within."""
    found = []
    for t in rt.range(T):
        p = xs[t] @ w
        q = p
        for _ in rt.range(3):
            q = q * 0.5 + h
        found.append(q)
        found.append(p)
        h = p
    return rt.stack(found), h


def gates(xs, w, h, n):
    """Several products of a step."""
    v = w * 3.0
    for t in rt.range(T):
        h = rt.maximum(xs[t] @ w, xs[T - 1 - t] @ v) - h * 0.5
    return h


def in_a_loop(xs, w, h, n):
    for k in rt.range(3):
        w = w + 1.0
        for t in rt.range(T):
            h = rt.maximum(xs[t] @ w + h * 0.5, h)
    return h


def some(xs, w, h, n):
    for t in rt.range(n):
        h = rt.maximum(xs[t] @ w + h * 0.5, h)
    return h


PROGRAMS = [steps, rows, state_too, second_axis, view, gathered, last_axis_gathered, backwards, from_the_end,
            in_an_order, of_a_list, turned, two_sequences, kept, gates, in_a_loop, some]


def arguments(whole: bool, dtype: Any = np.float32, sizes: tuple[int, int, int, int] = (T, B, F, H), n: int = 33
              ) -> list[Any]:
    """`whole`: small integers, of which all sums are exact."""
    rng = np.random.default_rng(0)
    t, b, f, h = sizes

    def numbers(*shape: int) -> Any:
        x = rng.integers(-3, 4, shape) if whole else rng.standard_normal(shape)
        return rt.constant(x.astype(dtype))

    return [numbers(t, b, f), numbers(f, h), numbers(b, h), rt.constant(n)]


def traced(fn: Callable[..., Any], args: list[Any], executor: str = "native") -> Any:
    return rt.function(fn, executor=executor).get_concrete_function(*args)


def results(concrete: Any, args: list[Any]) -> list[Any]:
    return [x.numpy() for x in rt.nest.flatten(concrete(*args))]


def all_same(first: list[Any], second: list[Any]) -> bool:
    return all(x.shape == y.shape and (x == y).all() for x, y in zip(first, second, strict=True))


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_programs_give_what_the_reference_gives(fn: Callable[..., Any]) -> None:
    args = arguments(whole=True)
    concrete = traced(fn, args)
    said = concrete.explain_native()
    assert "steps of the loop at once" in said
    assert ("matmul is added in place" in said) is (fn is state_too)
    expected = results(traced(fn, args, "numpy"), args)
    if fn is not state_too:  # whose sums grow
        assert all_same(results(concrete, args), expected)
    for got, want in zip(results(concrete, args), expected, strict=True):
        np.testing.assert_allclose(got, want, 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_bits_are_those_of_one_step_after_another(fn: Callable[..., Any], dtype: Any,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    args = arguments(whole=False, dtype=dtype)
    concrete = traced(fn, args)
    together = results(concrete, args)
    rt.config.threading.set_intra_op_parallelism_threads(1)
    assert all_same(results(concrete, args), together)  # the code for one thread
    rt.config.threading.set_intra_op_parallelism_threads(2)
    monkeypatch.setattr(gemm_batching, "_GROUP", 7 * B * F * H)
    assert all_same(results(traced(fn, args), args), together)  # groups of 7 steps and less
    monkeypatch.setattr(gemm_batching, "planned", lambda *_: None)
    assert all_same(results(traced(fn, args), args), together)


@pytest.mark.parametrize("hidden", range(1, 16))
def test_unknown_sizes(hidden: int) -> None:
    """Of steps, rows and columns; that of sums has to be known."""
    hide = [bool(hidden >> k & 1) for k in range(4)]
    t, b, f, c = (None if unknown else size for unknown, size in zip(hide, (T, B, F, H), strict=True))
    specs = [rt.TensorSpec(shape, rt.float32) for shape in ([t, b, f], [F, c], [b, c])]
    concrete = rt.function(some, executor="native").get_concrete_function(*specs, rt.TensorSpec([], rt.int32))
    how = "step by step: how many products an element sums is not known" if hide[2] else "for "
    assert f"matmul is made {how}" in concrete.explain_native()
    for sizes in ((T, B, F, H), (T, B if b else 3, F, H if c else 200), (T if t else 1, B, F, H)):
        for count in (0, 1, min(sizes[0], 33), sizes[0]):
            args = arguments(True, sizes=sizes, n=count)
            assert all_same(results(concrete, args), results(traced(some, args, "numpy"), args)), (sizes, count)


def test_products_too_large_at_run_time_are_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "on_one_thread", lambda _: B * F * H - 1)
    specs = [rt.TensorSpec([None] * k, rt.float32) for k in (3, 2, 2)]
    specs[1] = rt.TensorSpec([F, None], rt.float32)
    specs[0] = rt.TensorSpec([None, None, F], rt.float32)
    concrete = rt.function(some, executor="native").get_concrete_function(*specs, rt.TensorSpec([], rt.int32))
    assert "matmul is made for several steps of the loop at once" in concrete.explain_native()
    for rows in (B - 1, B, B + 1):
        args = arguments(True, sizes=(T, rows, F, H))
        assert all_same(results(concrete, args), results(traced(some, args, "numpy"), args))


def test_no_step() -> None:
    args = arguments(whole=True, n=0)
    assert all_same(results(traced(some, args), args), [args[2].numpy()])
    args = arguments(whole=True, n=-5)
    assert all_same(results(traced(some, args), args), [args[2].numpy()])


@pytest.mark.parametrize("shift", [0, 30, -50, 1 << 24, -1 << 24])
def test_an_index_out_of_range_raises_when_its_step_is_reached(shift: int) -> None:
    """Steps before it have been made, and nothing beyond the array was read."""
    count = rt.Variable(0)

    def f(xs, w, h, n):
        for t in rt.range(n):
            count.assign(t)
            h = rt.maximum(xs[t + shift] @ w + h * 0.5, h)
        return h

    seen = []
    for executor in ("numpy", "native"):
        count.assign(-1)
        args = arguments(whole=True, n=T + 5)
        with pytest.raises(rt.errors.IndexOutOfRangeError) as caught:
            traced(f, args, executor)(*args)
        seen.append((str(caught.value), int(count.numpy())))
    assert seen[0] == seen[1]


def test_an_exception_in_the_middle_leaves_variables_as_they_were() -> None:
    count = rt.Variable(0)

    def f(xs, w, h, n):
        for t in rt.range(T):
            h = rt.maximum(xs[t] @ w + h * 0.5, h)
            assert t < n, "too far"
            count.assign_add(1)
        return h

    args = arguments(whole=True)
    concrete = traced(f, args)
    assert AT_ONCE in concrete.explain_native()
    with pytest.raises(AssertionError, match="too far"):
        concrete(*args)
    assert count.numpy() == 33


def early(xs, w, h, n):
    for t in rt.range(T):
        h = rt.maximum(xs[t] @ w + h * 0.5, h)
        if rt.reduce_max(h) > 40.0:
            break
    return h


def in_a_branch(xs, w, h, n):
    for t in rt.range(T):
        if rt.reduce_max(h) < 40.0:
            h = rt.maximum(xs[t] @ w + h * 0.5, h)
    return h


def where_the_state_says(xs, w, h, n):
    at = 0
    for t in rt.range(T):
        at = (at * 3 + 1) % T
        h = rt.maximum(xs[at] @ w + h * 0.5, h)
    return h


def changed(xs, w, h, n):
    for t in rt.range(T):
        h = rt.maximum(xs[t] @ w + h * 0.5, h)
        w = w * 0.5
    return h


def while_(xs, w, h, n):
    t = 0
    while t < n:
        h = rt.maximum(xs[t] @ w + h * 0.5, h)
        t += 1
    return h


def first_alone(xs, w, h, n):
    for t in rt.range(T):
        h = rt.maximum(xs[t, :2] @ w, h[:2])
        h = rt.concat([h] * 8, 0)
    return h


@pytest.mark.parametrize(("fn", "why"), [
    (early, "the loop may end early"), (in_a_branch, None), (where_the_state_says, None), (changed, None),
    (while_, None), (first_alone, None)], ids=lambda x: getattr(x, "__name__", ""))
def test_what_stays_in_its_step(fn: Callable[..., Any], why: str | None) -> None:
    args = arguments(whole=True)
    concrete = traced(fn, args)
    said = re.findall("matmul is made (.*)", concrete.explain_native())
    assert said == ([] if why is None else [f"step by step: {why}"])
    assert all_same(results(concrete, args), results(traced(fn, args, "numpy"), args))


@pytest.mark.parametrize(("sizes", "worth", "said"), [
    ((T, B, F, H), None, "step by step: those of all steps are little work"),
    ((500, B, F, H), None, "for up to 500 steps of the loop at once"),
    ((4000, B, F, H), 1, "for up to 800 steps of the loop at once"),  # whose products have 4 MB
    ((T, 4, F, H), 1, "step by step: it is written inline"),
    ((T, 500, F, H), 1, "step by step: it is divided among threads by itself")])
def test_explain_native_says_how_a_product_is_made(sizes: tuple[int, int, int, int], worth: int | None, said: str,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(packed_operands, "fits", lambda *_: False)
    if worth is not None:
        monkeypatch.setattr(gemm_batching, "_WORTH", worth)
    concrete = traced(rows, arguments(whole=True, sizes=sizes))
    line = rows.__code__.co_firstlineno + 2
    assert f"  {__file__}:{line}: matmul is made {said}\n" in concrete.explain_native()


def test_a_signal_stops_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is as long as all steps: threads end after a part of it."""
    monkeypatch.setattr(gemm_batching, "_GROUP", 1 << 60)
    monkeypatch.setattr(gemm_batching, "_BYTES", 1 << 60)
    args = arguments(whole=True, sizes=(20_000, 30, 100, 87))
    concrete = traced(rows, args)
    assert "matmul is made for up to 20000 steps of the loop at once" in concrete.explain_native()
    whole = took(lambda: concrete(*args))

    def stopped() -> None:
        stop_after(whole / 5, lambda: concrete(*args))

    assert took(stopped) < 0.7 * whole


def test_many_threads_call_one_function() -> None:
    args = arguments(whole=False)
    concrete = traced(state_too, args)
    expected = results(concrete, args)
    wrong = []

    def work() -> None:
        for _ in range(50):
            if not all_same(results(concrete, args), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_code_from_the_cache(tmp_path: Path) -> None:
    args, before = arguments(whole=False), rt.config.native_cache()
    rt.config.set_native_cache(str(tmp_path))
    try:
        first, second = traced(state_too, args), traced(state_too, args)
        assert all_same(results(first, args), results(second, args))
        assert [c._executable.code.cached for c in (first, second)] == [False, True]
    finally:
        rt.config.set_native_cache(before)
