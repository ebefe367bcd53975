"""Derivatives of programs with control flow."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from autodiff.derivatives import check, f64
from traced_once import on, on_both

import runtime as rt


def straight(x: Any) -> Any:
    return rt.sin(x) * x + 3.0 * x


def counted(x: Any, n: Any) -> Any:
    for i in rt.range(n):
        x = rt.sin(x) * x + rt.cast(i, rt.float64)
    return x


def until(x: Any) -> Any:
    while x < 100.0:
        x = x * x + 1.0
    return x


def branches_in_loop(x: Any) -> Any:
    y = x
    while x < 50.0:
        if y > 3.0:
            x = x * 1.5 + y
        else:
            x = x + rt.exp(x) * y
    return x


def jumps(x: Any) -> Any:
    s = 0.0 * x[0]
    for v in x:
        if v < 0:
            continue
        s = s * v + rt.sin(v)
        if s > 5.0:
            break
    return s


def returns(x: Any) -> Any:
    for i in rt.range(10):
        x = x * x
        if x > 4.0:
            return x * rt.sin(x)
    return x + 1.0


def nested(x: Any, w: Any) -> Any:
    s = x * 0.0
    for i in rt.range(4):
        for _ in rt.range(i):
            s = rt.sin(s * w + x) * s + x
            if s > 1.0:
                s = s * w
    return s


def loops_in_branches(x: Any, w: Any) -> Any:
    s = x * 0.0
    for i in rt.range(3):
        if x > 0.5:
            for _ in rt.range(i + 1):
                s = s * s * 0.1 + rt.sin(s * w) + x
        else:
            k = 0
            while k < 2:
                s = s * w * s + x
                k += 1
    return s


def growing_list(x: Any) -> Any:
    kept = []
    for v in x:
        if v > 0:
            kept.append(v * v)
    s = rt.zeros([], rt.float64)
    for v in kept:
        s += rt.sin(v) * s + v
    return s


def recurrent(x: Any, w: Any) -> Any:
    h = rt.zeros([2, 3], rt.float64)
    for t in rt.range(rt.shape(x)[0]):
        h = rt.tanh(h @ w + x[t])
    return rt.reduce_sum(h)


@rt.function
def item_assignment(x: Any) -> Any:
    y = x * 2.0
    for i in rt.range(1, 4):
        y[i] = y[i - 1] * x[i]
    return rt.reduce_sum(y)


def linear(x: Any) -> Any:
    s = x
    for i in rt.range(5):
        s = s * 2.0 + x
    return s


def never(x: Any) -> Any:
    y = x * x
    while y < 0.0:
        y = y * x
    return y


def handlers(x: Any) -> Any:
    y = x
    for _ in rt.range(4):
        try:
            if y > 5.0:
                raise ValueError("big")
            if y > 3.0:
                raise KeyError("mid")
            y = y * y * x
        except ValueError:
            y = rt.sin(y) * x
        except KeyError:
            y = y * 0.5
    return y


DATA = rt.data.Dataset.from_tensor_slices(np.arange(1.0, 5.0))


def dataset(w: Any) -> Any:
    s = w * 0.0
    for v in DATA:
        s = s * w + v * w
    return s


def lists_in_a_loop(x: Any, w: Any) -> Any:
    y = x
    for _ in rt.range(3):
        kept = []
        for _ in rt.range(4):
            y = rt.sin(y) * w
            kept.append(y)
        y = kept[0] * y + rt.cast(len(kept), rt.float64)
    return y


def sizes_that_change(x: Any) -> Any:
    y = x
    for _ in rt.range(3):
        y = rt.concat([y, rt.sin(y[:2])], 0)
    return rt.reduce_sum(y * y)


def captured_twice(x: Any) -> Any:
    y = x
    kept = []
    for _ in x:
        for _ in rt.range(0):
            y = y * 2.0
        kept.append(y)
    return rt.reduce_sum(rt.stack(kept))


def swapped(x: Any, y: Any) -> Any:
    for _ in rt.range(3):
        x, y = y * 2.0, x * y
    return x


def ragged(x: Any) -> Any:
    parts = []
    for i in rt.range(3):
        parts.append(x[: i + 1] * 2.0)
    s = rt.zeros([], rt.float64)
    for part in parts:
        s += rt.reduce_sum(part * part)
    return s


def ragged_and_changed(x: Any) -> Any:
    parts = []
    y = x
    for i in rt.range(4):
        y = rt.sin(y) * x
        parts.append(y[: i % 2 + 1] * 2.0)
        if i > 1:
            parts[i - 1] = parts[i - 1] * 2.0
    s = rt.zeros([], rt.float64)
    for part in parts:
        s = s * 0.5 + rt.reduce_sum(part * part * part)
    return s


def ragged_rows(x: Any) -> Any:
    rows = []
    for i in rt.range(3):
        row = []
        for j in rt.range(i + 1):
            row.append(x[j] * x[i])
        rows.append(rt.stack(row))
    s = rt.zeros([], rt.float64)
    for row in rows:
        s = s * rt.reduce_sum(row) + rt.reduce_prod(row)
    return s


def ragged_in_a_nested_loop(x: Any) -> Any:
    s = x[0] * 0.0
    kept = []
    for i in rt.range(3):
        kept.append(x[: i + 1] * x[i])
        for j in rt.range(len(kept)):
            s = s * 0.3 + rt.reduce_sum(kept[j] * kept[j])
    return s


def grown_from_itself(x: Any) -> Any:
    kept = []
    for i in rt.range(4):
        if len(kept) > 1:
            kept.append(rt.concat([kept[-1], kept[-2]], 0) * x[i % 3])
        else:
            kept.append(x[: i + 1] * x[i])
    return rt.reduce_sum(kept[-1] * kept[-1])


RAGGED = [ragged, ragged_and_changed, ragged_rows, ragged_in_a_nested_loop, grown_from_itself]
RNG = np.random.default_rng(1)
PROGRAMS = [
    (straight, [(1.3,)]), (counted, [(0.7, 5), (0.7, 0)]), (until, [(1.2,)]), (branches_in_loop, [(0.2,), (3.2,)]),
    (jumps, [([1.0, -2, 3, 0.5, 4, 7, 8],)]), (returns, [(1.2,), (0.5,)]), (nested, [(0.8, 0.3)]),
    (loops_in_branches, [(0.8, 0.3), (0.4, 0.3)]), (growing_list, [([1.0, -2, 3, 0.5],)]),
    (recurrent, [(RNG.standard_normal((4, 2, 3)), RNG.standard_normal((3, 3)))]), (handlers, [(1.4,)]),
    (dataset, [(1.4,)]), (lists_in_a_loop, [(0.8, 0.7)]), (sizes_that_change, [([1.0, 2, 3],)]),
    (swapped, [(1.2, 1.3)]), (captured_twice, [([1.0, 2, 3],)]), (ragged, [([1.0, 2, 3],)]),
    (item_assignment, [([1.0, 2, 3, 4],)]), (linear, [(1.5,)]), (never, [(1.5,)]),
]


def arguments(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([rt.constant(x) if isinstance(x, int) else f64(x) for x in values])


@pytest.mark.parametrize(("program", "points"), PROGRAMS)
def test_programs(program: Any, points: Any) -> None:
    check(program, *map(arguments, points), second=program not in RAGGED)


@pytest.mark.parametrize("program", RAGGED)
def test_rows_of_different_length(program: Any) -> None:
    """As eagerly, where the path is Python's, up to the third order; natively the second, as LLVM takes seconds."""
    x, direction = f64([0.7, 1.2, 0.9]), f64([0.3, 0.5, 0.7])

    def along(gradient: Any) -> Any:
        return lambda x: rt.reduce_sum(gradient(x) * direction)

    slope = along(rt.grad(program))
    want = slope(x)
    for executor in ("numpy", "native"):
        pushed = rt.jvp(on(executor, program), [x], [direction])[1]
        np.testing.assert_allclose(pushed, want, rtol=1e-9)
    for gradient in rt.grad(program), rt.grad(slope):
        want = gradient(x)
        for staged in on_both(gradient).values():
            np.testing.assert_allclose(staged(x), want, rtol=1e-9, atol=1e-12)
    third = rt.grad(along(rt.grad(slope)))
    np.testing.assert_allclose(rt.function(third, executor="numpy")(x), third(x), rtol=1e-9, atol=1e-12)


def test_of_a_list_an_element_is_saved_if_that_is_all_that_is_needed() -> None:
    def second(program: Any) -> Any:
        gradient = rt.function(rt.grad(lambda x: rt.reduce_sum(rt.grad(program)(x))), executor="numpy")
        return str(gradient.get_concrete_function(f64([0.7, 1.2, 0.9])).graph)

    assert "list_extend" not in second(ragged_in_a_nested_loop)
    assert "list_extend" in second(grown_from_itself)


def test_a_loop_whose_rules_touch_nothing_saves_nothing() -> None:
    graph = rt.function(rt.grad(linear)).get_concrete_function(f64(1.0)).optimized
    assert "list_append" not in str(graph)
    graph = rt.function(rt.grad(counted)).get_concrete_function(f64(1.0), rt.constant(3)).optimized
    assert str(graph).count("list_append") == 2  # x and sin(x)


def test_a_branch_not_taken_gives_zero_and_never_nan() -> None:
    def guarded(x: Any) -> Any:
        if x > 0.0:
            y = rt.sqrt(x)
        else:
            y = 0.0 * x
        return y

    for gradient in rt.grad(guarded), rt.function(rt.grad(guarded)), rt.grad(rt.function(guarded)):
        assert gradient(f64(-1.0)).numpy() == 0
        assert gradient(f64(4.0)).numpy() == 0.25


def test_what_is_invariant_is_not_saved() -> None:
    args = arguments((np.ones((4, 2, 3)), np.ones((3, 3))))
    text = str(rt.function(rt.grad(recurrent, (0, 1))).get_concrete_function(*args).optimized)
    assert text.count("list_append") == 2  # h before, and after tanh
    v = rt.Variable(np.ones((3, 3)))

    def with_variable(x: Any) -> Any:
        with rt.GradientTape() as tape:
            value = recurrent(x, v)
        return tape.gradient(value, v)

    text = str(rt.function(with_variable).get_concrete_function(args[0]).optimized)
    assert text.count("list_append") == 2
    np.testing.assert_allclose(rt.function(with_variable)(args[0]), rt.grad(recurrent, 1)(*args), rtol=1e-9)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_sums_of_a_loop_whose_cotangent_knows_less_of_its_shape(executor: str) -> None:
    """The number of rows that `scan` takes is known, that of the cotangent of another branch's `rows` is not."""
    w, scale = rt.constant([[0.3, -0.5], [0.2, 0.4]], rt.float64), rt.constant([0.5, 2.0], rt.float64)

    def written(x: Any) -> Any:
        rows = rt.TensorArray(rt.float64, size=2)
        for i in rt.range(2):
            rows = rows.write(1 - i, x[i] * w[0])
        return rows.stack()

    def f(x: Any, limit: Any) -> Any:
        for _ in rt.range(3):
            if rt.reduce_sum(w) > 10.0:
                pass
            else:
                rows = rt.map_fn(lambda row: rt.sin(row) * scale, w)
            if rt.reduce_sum(w) > limit:
                rows = written(x)
            else:
                x = rt.scan(lambda h, row: rt.tanh(h + row * w[0]), rows)
            x = rt.tanh(x) * w
        return x

    x = rt.constant([[1.0, 0.5], [0.25, -1.0]], rt.float64)
    for limit in (-1.0, 1.0):
        found = []
        for way in f, on(executor, f):
            with rt.GradientTape() as tape:
                tape.watch([x, w, scale])
                value = rt.reduce_sum(rt.sin(way(x, rt.constant(limit, rt.float64))))
            found.append(tape.gradient(value, [x, w, scale], unconnected_gradients="zero"))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
