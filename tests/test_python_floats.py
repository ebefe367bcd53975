"""Python's floats have 64 bits, in tensors of float64 and where a graph computes with them."""
from __future__ import annotations

import builtins
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.python_floats import with_python_floats


def test_values_of_tensors() -> None:
    exact = np.float64(0.1)
    for tensor in (
        rt.constant(0.1, rt.float64), rt.constant([0.1], rt.float64)[0], rt.Variable(0.1, dtype=rt.float64),
        rt.cast(0.1, rt.float64), rt.convert_to_tensor(0.1, dtype=rt.float64), rt.zeros([], rt.float64) + 0.1,
        rt.zeros([1], rt.float64)[0] + [0.1][0], (rt.zeros([1], rt.float64) + [0.1])[0],
        rt.stack([rt.zeros([], rt.float64), 0.1])[1], rt.fill([1], rt.constant(0.1, rt.float64))[0],
    ):
        assert tensor.dtype is rt.float64 and tensor.numpy() == exact
    for tensor in (rt.constant(0.1), rt.constant([0.1])[0], rt.fill([1], 0.1)[0], rt.add(0.0, 0.1), rt.Variable(0.1)):
        assert tensor.dtype is rt.float32 and tensor.numpy() == np.float32(0.1)
    assert rt.cast(0.1, rt.float16).numpy() == np.float16(0.1)
    assert rt.constant(0.1, rt.complex128).numpy() == 0.1 + 0j


def operand(x):
    return x + 0.1, 0.1 * x, x / 0.3, 0.7 - x, x**0.3, x > 0.3


def branch(x):
    rate = 0.1 if x > 0 else 0.03
    return x * rate


def statement(x):
    if x > 0:
        t, u = 0.1, 0.2
    else:
        t, u = 0.3, 0.7
    t = t * 3 + u / 7
    return x - t


def counted(x):
    t, h = 0.0, 0.1
    for _ in rt.range(10):
        x = x + h * (1 / 3 - x * t)
        t += h
    return x, t > 1


def until(x):
    t, n = 0.0, 0
    while t < x:
        t += 0.1
        n += 1
    return n, x - t


def a_list(x):
    ts, t = [], 0.0
    for i in rt.range(10):
        if i % 3 != 1:
            t += 0.1
            ts.append(t)
    for t in ts:
        x = x + t * 0.3
    return x, len(ts)


def items(x):
    state = {"t": 0.1, "u": [0.2, 0.3]}
    for _ in rt.range(3):
        state["t"] = state["t"] * 1.1
        state["u"][1] += state["t"]
    return x * state["u"][1]


def handler(x):
    t = 0.1
    try:
        t = t * 3
        if x > 0:
            raise ValueError(t)
        t = t * 7
    except ValueError:
        t = t + 0.2
    return x * t


def division(x):
    n = 1
    while n < 4:
        n += 1
        if x > 0:
            n += 1
    return x + n / 3


def mixed(x):
    t = 0.1
    for i in rt.range(4):
        t = t + float(i) * 0.3
        if x > float(i):
            t = max(t, 1.7) - abs(t - 3.3)
    return x * t


def maybe(x):
    t = None
    if x > 0:
        t = 0.1
        t = t * 3
    return x if t is None else x * t


@rt.function
def inner(x, t):
    return x * t, t * 1.1


def nested(x):
    t = 0.1
    for _ in rt.range(3):
        x, t = inner(x, t)
    return x


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [
    operand, branch, statement, counted, until, a_list, items, handler, division, mixed, maybe],
    ids=lambda fn: fn.__name__)
def test_as_in_python(fn: Any, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    f = rt.function(fn, executor=executor)
    for value in (0.9, -1.3, 3.1):
        x = rt.constant(value, rt.float64)
        want, got = (part if isinstance(part, tuple) else (part,) for part in (plain(fn, value), f(x)))
        for a, b in zip(want, got, strict=True):
            power = isinstance(a, complex)  # of a negative number: Python's is complex, NumPy's is none
            assert np.isnan(b.numpy()) if power else b.numpy() == pytest.approx(a, rel=2e-16, abs=0), (value, a, b)
        concrete = f.get_concrete_function(x)
        concrete.graph.verify()
        concrete.optimized.verify()


def plain(fn: Any, value: float) -> Any:
    """What Python gives, with its own `range`."""
    return FunctionType(fn.__code__, {"rt": builtins})(value)


def test_through_another_traced_function() -> None:
    x = rt.constant(0.9, rt.float64)
    t, want = 0.1, 0.9
    for _ in range(3):
        want, t = want * t, t * 1.1
    assert rt.function(nested)(x).numpy() == pytest.approx(want, rel=1e-7)  # what `inner` gives is a float32 tensor


def test_what_is_float32() -> None:
    """Beside a tensor of float32, and where a tensor of its own is wanted."""
    v = rt.Variable(0.0)
    seen: list[Any] = []

    def look(t):
        seen.append(t.dtype)
        return t

    @rt.function
    def f(x):
        t = 0.1
        for _ in rt.range(3):
            t *= 1.1
        v.assign(t)
        v.assign_add(t)
        stacked = rt.stack([x, t])
        called = rt.py_function(look, [t], rt.float32)
        return t, x * t, v.read_value(), stacked, rt.reduce_sum([t, t]), called, [t], rt.fill([2], t)

    results = f(rt.constant(2.0))
    t = np.float32(0.1 * 1.1 * 1.1 * 1.1)
    wanted = (t, 2 * t, t + t, [2, t], t + t, t, t, [t, t])
    for got, want in zip(results, wanted, strict=True):
        got = got[0] if isinstance(got, list) else got
        assert got.dtype is rt.float32
        np.testing.assert_array_equal(got.numpy(), np.float32(want))
    assert seen == [rt.float32]


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_text(executor: str, capfd: pytest.CaptureFixture[str]) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")

    def f(x):
        t = 0.1
        if x > 0:
            t = t * 3
        print(t, f"{t:.3f} {t}")
        return x

    f(0.5)
    want = capfd.readouterr().out
    rt.function(f, executor=executor)(rt.constant(0.5))
    assert capfd.readouterr().out == want == "0.30000000000000004 0.300 0.30000000000000004\n"


def test_functions_of_datasets() -> None:
    def scaled(x):
        rate = 0.1 if x > 1 else 0.03
        return x * rate

    values = [0.5, 1.5]
    data = rt.data.Dataset.from_tensor_slices(rt.constant(values, rt.float64)).map(scaled)
    assert [x.numpy() for x in data] == [scaled(x) for x in values]

    @rt.function
    def total(data, x):
        t = 0.1
        for item in data:
            t *= 1.1
            x += item * t
        return x

    t, want = 0.1, 0.7
    for item in values:
        t *= 1.1
        want += scaled(item) * t
    assert total(data, rt.constant(0.7, rt.float64)).numpy() == want


def test_a_graph_without_them_stays_the_same() -> None:
    f = rt.function(lambda x, n: x * 0.5 + n)
    graph = f.get_concrete_function(rt.TensorSpec([None]), 3).graph
    assert with_python_floats(graph) is graph
