"""Control flow in functions that are mapped: the results, errors and derivatives of a loop over the lanes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.batching.masks import Present

N = 7
X = rt.constant(np.linspace(-2, 3, N))
K = rt.constant(np.array([0, 3, 1, 7, 2, 5, 4]))
M = rt.constant(np.random.default_rng(0).standard_normal((N, 4)))


def root(x: Any) -> Any:
    a = rt.abs(x) + 1.0
    y = a
    while rt.abs(y * y - a) > 1e-9:
        y = 0.5 * (y + a / y)
    return y


def log_or_line(x: Any) -> Any:
    if x > 1.0:
        return rt.math.log(x - 1.0)
    return 3.0 * x


def nested(x: Any) -> Any:
    if x > 0.0:
        y = rt.sqrt(x)
        if y > 1.0:
            y = y / (y - 1.0)
    elif x < -1.0:
        y = 1.0 / x
    else:
        y = x * x
    return y + 1.0


def unless_zero(k: Any) -> Any:
    if k % 2 == 1:
        return 20 // k
    return k


def while_in_branch(x: Any) -> Any:
    steps = 0
    if x > 0.0:
        while x < 100.0:
            x = x * x + 1.0
            steps += 1
    return x, steps


def branch_in_while(k: Any) -> Any:
    n, steps, top = k + 1, 0, k
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        top = rt.maximum(top, n)
        steps += 1
    return steps, top


def counted(x: Any) -> Any:
    for i in rt.range(5):
        x = x + rt.cast(i, rt.float64) * rt.sin(x)
    return x


def counted_by_lane(k: Any) -> Any:
    total = rt.constant(0.0, rt.float64)
    for i in rt.range(k):
        total += 1.0 / rt.cast(i + 1, rt.float64)
    return total


def broken(m: Any) -> Any:
    total = m[0] * 0.0
    for x in m:
        if x > 0.8:
            break
        if x < -1.0:
            continue
        total += rt.math.log(2.0 + x)
    return total


def broken_by_lane(k: Any) -> Any:
    found = -1
    for i in rt.range(k):
        if i * i > k:
            found = i
            break
    return found


def early(m: Any) -> Any:
    for x in m:
        if x > 0.5:
            return x * 2.0
    return rt.reduce_sum(m)


def two_loops(k: Any) -> Any:
    total = 0
    for i in rt.range(k):
        j = i
        while j > 0:
            total += j % 3
            j = j // 2
    return total


def appended(m: Any) -> Any:
    items = []
    for x in m:
        items.append(x * x)
    return rt.stack(items)


def appended_pairs(m: Any) -> Any:
    items = [m[0]]
    for x in m:
        items.append(items[-1] + x)
    return items[2], rt.stack(items)


def filtered(m: Any) -> Any:
    items = []
    for x in m:
        if x > 0.0:
            items.append(x)
    return len(items), rt.reduce_sum(items)


def power(k: Any) -> Any:
    acc = 1
    for _ in rt.range(k):
        acc *= 3
    return acc


def tried(k: Any) -> Any:
    try:
        y = 12 // k
    except ZeroDivisionError:
        y = -1
    return y


def items(m: Any) -> Any:
    i = rt.argmax(m)
    m[i] = 0.0
    return m, m[rt.minimum(i + 1, 3)], m[::2]


def maximal_iterations(x: Any) -> Any:
    return rt.while_loop(lambda y: y < 50.0, lambda y: (y * 1.5 + 1.0,), [x], maximum_iterations=4)[0]


def row_while(m: Any) -> Any:
    while rt.norm(m) > 0.5:
        m = m * 0.7
    return m


def weights(x: Any) -> Any:
    if x > 0.0:
        return rt.reduce_sum(WEIGHTS / x)
    return rt.reduce_sum(WEIGHTS)


WEIGHTS = rt.constant(np.array([1.0, 2.0]))


def custom(x: Any) -> Any:
    @rt.custom_gradient
    def f(x: Any) -> Any:
        return rt.exp(x), lambda ct: ct * 2.0 * x
    return f(x) + x


def switched(k: Any) -> Any:
    return rt.switch_case(k % 3, [lambda: k * 2, lambda: k - 1, lambda: k * k])


FUNCTIONS: list[tuple[Callable[..., Any], Any]] = [
    (root, X), (log_or_line, X), (nested, X), (unless_zero, K), (while_in_branch, X), (branch_in_while, K),
    (counted, X), (counted_by_lane, K), (broken, M), (broken_by_lane, K), (early, M), (two_loops, K), (appended, M),
    (appended_pairs, M), (filtered, M), (power, K), (tried, K), (items, M), (maximal_iterations, X), (row_while, M),
    (weights, X), (custom, X), (switched, K)]


def looped(fn: Callable[..., Any], xs: Any) -> Any:
    one = rt.function(fn)
    found = [rt.nest.flatten(one(x)) for x in xs]
    return [np.stack([np.asarray(x) for x in column]) for column in zip(*found, strict=True)]


def same(found: Any, wanted: Any) -> None:
    flat = rt.nest.flatten(found)
    assert len(flat) == len(wanted)
    for a, b in zip(flat, wanted, strict=True):
        assert a.numpy().dtype == b.dtype and a.shape == b.shape, (a, b)
        np.testing.assert_allclose(a.numpy(), b, 1e-12)


@pytest.mark.parametrize(("fn", "xs"), FUNCTIONS, ids=lambda x: getattr(x, "__name__", ""))
def test_is_a_loop_over_lanes(fn: Callable[..., Any], xs: Any) -> None:
    wanted = looped(fn, xs)
    same(rt.vmap(fn)(xs), wanted)
    same(rt.function(rt.vmap(fn), executor="numpy")(xs), wanted)
    unknown = rt.TensorSpec([None, *xs.shape[1:]], xs.dtype)
    same(rt.function(rt.vmap(fn), input_signature=[unknown])(xs), wanted)


SMOOTH = [(fn, xs) for fn, xs in FUNCTIONS if xs is not K and fn is not appended]


@pytest.mark.parametrize(("fn", "xs"), SMOOTH, ids=lambda x: getattr(x, "__name__", ""))
def test_gradients(fn: Callable[..., Any], xs: Any) -> None:
    def loss(x: Any) -> Any:
        return sum(rt.reduce_sum(y) for y in rt.nest.flatten(fn(x)) if y.dtype.is_floating)

    wanted = looped(rt.grad(loss), xs)
    same(rt.vmap(rt.grad(loss))(xs), wanted)
    same(rt.function(rt.grad(lambda xs: rt.reduce_sum(rt.vmap(loss)(xs))))(xs), wanted)
    same(rt.grad(lambda xs: rt.reduce_sum(rt.vmap(loss)(xs)))(xs), wanted)


def test_what_is_not_taken_adds_nothing() -> None:
    x = rt.constant([4.0, 0.0, -1.0, 9.0])

    def f(x: Any) -> Any:
        return rt.sqrt(x) if x > 0.0 else x * 0.0

    np.testing.assert_array_equal(rt.grad(lambda x: rt.reduce_sum(rt.vmap(f)(x)))(x), [0.25, 0, 0, np.float32(1 / 6)])

    def g(w: Any) -> Any:
        return rt.reduce_sum(rt.vmap(lambda x: rt.sqrt(w * x) if x > 0.0 else w * 0.0)(x))

    assert np.isfinite(rt.grad(g)(rt.constant(2.0)).numpy())


def test_planted_mask_that_hides_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Present, "only", lambda self, x: x)
    for test in (test_what_is_not_taken_adds_nothing, test_errors_are_those_of_lanes_that_come_there):
        with pytest.raises((AssertionError, ArithmeticError, rt.errors.OpError)):
            test()


def test_errors_are_those_of_lanes_that_come_there() -> None:
    x, i = rt.constant([1, 2, 3]), rt.constant([0, 5, 1])

    def item(i: Any) -> Any:
        return x[i] if i < 3 else -1

    np.testing.assert_array_equal(rt.vmap(item)(i), [1, -1, 2])
    with pytest.raises(rt.errors.InvalidArgumentError, match="out of bounds"):
        rt.vmap(lambda i: x[i])(i)
    with pytest.raises(ZeroDivisionError):
        rt.vmap(lambda k: 6 // k)(i)

    def refuses(k: Any) -> Any:
        if k > 4:
            raise ValueError(f"{k} is too much")
        return k

    with pytest.raises(ValueError, match="5 is too much"):
        rt.vmap(refuses)(i)
    np.testing.assert_array_equal(rt.vmap(refuses)(x), [1, 2, 3])


def test_no_lane_comes_to_a_branch() -> None:
    def f(x: Any) -> Any:
        if x > 100.0:
            return 1.0 / (x - x)
        return x

    np.testing.assert_array_equal(rt.vmap(f)(X), X)
    np.testing.assert_array_equal(rt.vmap(lambda k: k if k < 100 else k // 0)(K), K)


def test_condition_that_is_the_same_in_all_lanes_stays_one() -> None:
    @rt.function
    def f(x: Any, flag: Any) -> Any:
        return rt.vmap(lambda x: rt.exp(x) if flag else rt.math.log(x))(x)

    f(X, rt.constant(True))
    (node,) = [node for node in f.concrete_functions[-1].graph.nodes if node.op.name == "cond"]
    assert node.inputs[0].type.shape == ()
    assert not any(node.op.name == "where" for node in f.concrete_functions[-1].graph.walk())
