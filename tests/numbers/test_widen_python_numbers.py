"""Python's floats and ints have 64 bits where a graph computes with them; and floats in tensors of float64."""
from __future__ import annotations

import builtins
import sys
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.numbers.widen_python_numbers import with_python_numbers
from tests.traced_once import on


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


def complex_numbers(x):
    s = 0.0
    for _ in rt.range(7):
        s += 0.1
    if x > 0:
        s += 0.1
    root = s ** 0.5
    z = complex(s, 0.3) * complex(0.1 * s, s) + complex(x, 0.1)
    return (complex(s).real, complex(s, s).imag, complex(s, 0.0).real, complex(root, 1.0).real, complex(0.7, s).real,
            complex(s, 1e999).real, complex(complex(s, 1.0), s).imag, z.real, z.imag)


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
    operand, branch, statement, counted, until, a_list, items, handler, division, mixed, maybe, complex_numbers],
    ids=lambda fn: fn.__name__)
def test_as_in_python(fn: Any, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    f = on(executor, fn)
    for value in (0.9, -1.3, 3.1):
        x = rt.constant(value, rt.float64)
        want, got = (part if isinstance(part, tuple) else (part,) for part in (plain(fn, value), f(x)))
        for a, b in zip(want, got, strict=True):
            power = isinstance(a, complex)  # of a negative number: Python's is complex, NumPy's is none
            assert np.isnan(b.numpy()) if power else b.numpy() == pytest.approx(a, rel=2e-16, abs=0), (value, a, b)
        concrete = f.get_concrete_function(x)
        concrete.graph.verify()
        concrete.optimized.verify()


def plain(fn: Any, value: Any) -> Any:
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


def test_complex_numbers_are_weak() -> None:
    f = rt.function(lambda x, z: (complex(x, 0.5), complex(x) * z))
    number, product = f(rt.constant(2.0), rt.constant(1 + 1j, rt.complex64))
    assert (number.dtype, number.numpy(), product.dtype, product.numpy()) == (
        rt.complex128, 2 + 0.5j, rt.complex64, 2 + 2j)


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
    on(executor, f)(rt.constant(0.5))
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
    assert with_python_numbers(graph) is graph


# Ints

def squares(n):
    total = 0
    for i in range(n):
        total += i * i * i
    return total // 1_000_003, total % 1_000_003, total > 5_000_000_000


def fibonacci(n):
    a, b, steps = 0, 1, 0
    while a < 10**15:
        a, b = b, a + b
        steps += 1
    return steps, a % 1_000_000_007, n > steps


def factorial(n):
    product = 1
    for k in range(n):
        if k < 20:
            product *= k + 1
    return product % 1_000_003, product / 1e9 > 3.5


def generator(n):
    seed, inside = 42, 0
    for _ in range(n):
        seed = seed * 16807 % 2147483647
        x = seed / 2147483647
        seed = seed * 16807 % 2147483647
        y = seed / 2147483647
        if x * x + y * y < 1:
            inside += 1
    return inside, seed


def hashed(n):
    h = 5381
    for k in range(n):
        h = (h * 33) ^ k & 0xFFFF
        if h > 10**15:
            h //= 10**9
        elif h < 0:
            break
    return h % 1_000_003, h >> 40, ~h & 255


def listed(n):
    powers, p = [], 1
    for k in range(n):
        powers.append(p)
        p = p * 3 if k < 35 else p - k
    total = 0
    for p in powers:
        total += p % 65_537
    return total, powers[-1] // 10**9 % 2**31


def stated(n):
    state = {"a": [1, 2], "b": 5}
    for k in range(n):
        if k < 20:
            state["a"][0] *= 7
        state["b"] = state["a"][0] - state["b"]
    return state["b"] % 1_000_003, -state["b"] // 10 % 1000


def chosen(n):
    big = 70_000 if n > 10 else 60_000
    big *= big
    return big // 1000, -big // 7 % 1_000_003, abs(-big) // 10**4, min(big, 2**40) // 10**3, round(big / 3) // 1000


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [squares, fibonacci, factorial, generator, hashed, listed, stated, chosen],
                         ids=lambda fn: fn.__name__)
def test_ints_as_in_python(fn: Any, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    f = on(executor, fn)
    for n in (1, 9, 20, 37):
        assert values_of(f(rt.constant(n))) == list(plain(fn, n)), n
    concrete = f.get_concrete_function(rt.constant(1))
    concrete.graph.verify()
    concrete.optimized.verify()


def values_of(results: Any) -> Any:
    if isinstance(results, (list, tuple)):
        return [values_of(x) for x in results]
    return results.numpy().item() if isinstance(results, rt.Tensor) else results


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_result_that_is_too_large(executor: str) -> None:
    """It is returned as a tensor of int32, as an eager one of a small int."""
    if executor == "native":
        pytest.importorskip("llvmlite")

    def total(n):
        t = 0
        for i in range(n):
            t += i * i
        return t

    f = on(executor, total)
    assert f(rt.constant(1800)).numpy() == total(1800)
    assert f(rt.constant(1800)).dtype is rt.int32
    with pytest.raises(rt.errors.DTypeError) as caught:
        f(rt.constant(3000))
    line = total.__code__.co_firstlineno + 2
    assert str(caught.value).splitlines() == [
        f"{__file__}:{line}: 8995500500 does not fit int32, which goes from -2147483648 to 2147483647: ints of "
        "Python's become that where they are returned, or meet a tensor of int32",
        f"    {line} |         for i in range(n):",
        "                  ^",
        "Begin with a tensor of 64 bits, such as rt.constant(0, rt.int64)."]

    def long(n):
        t = rt.constant(0, rt.int64)
        for i in range(n):
            t += i * i
        return t

    assert on(executor, long)(rt.constant(3000)).numpy() == total(3000)

    def many(n):
        powers, p = [], 1
        for _ in range(n):
            powers.append(p)
            p *= 10
        return powers

    f = on(executor, many)
    assert [x.numpy() for x in f(rt.constant(5))] == [1, 10, 100, 1000, 10000]
    with pytest.raises(rt.errors.DTypeError, match="an item does not fit int32"):
        f(rt.constant(11))


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_where_a_tensor_is_wanted(executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    v = rt.Variable(7)

    def total(n):
        t = 0
        for i in range(n):
            t += i * i
        return t

    def assigned(n):
        v.assign(total(n))
        return n

    def met(n):
        return n + total(n)

    def whole(n):
        return int(total(n) / 2) + n

    def called(n):
        return rt.function(total)(n) // 1000

    for fn in assigned, met, whole:
        f = on(executor, fn)
        assert f(rt.constant(1000)).numpy() > 0
        with pytest.raises(rt.errors.DTypeError, match="^.*: (8995500500|4497750250) does not fit int32, ") as caught:
            f(rt.constant(3000))
        assert str(caught.value).startswith(f"{__file__}:{fn.__code__.co_firstlineno + 1}: ")
    assert v.numpy() == total(1000)
    assert on(executor, called)(rt.constant(3000)).numpy() == total(3000) // 1000


def test_ints_beside_tensors() -> None:
    """They have the dtype of a tensor that they meet, and compare as what they are."""
    @rt.function
    def f(x, y):
        k = 1
        for _ in rt.range(20):
            k *= 3
        return x + 1, x > k, k == x, y * k, x if k > 2**31 else x + 1, rt.where(x > 0, x, -1)

    x, y = rt.constant(7), rt.constant(0.5)
    plus, more, same, product, chosen, where = f(x, y)
    assert [plus.numpy(), plus.dtype, chosen.numpy(), where.numpy()] == [8, rt.int32, 7, 7]
    assert not more.numpy() and not same.numpy()
    assert product.dtype is rt.float32 and product.numpy() == np.float32(0.5 * 3**20)


# Division by zero

def rate(n):
    hits = total = 0
    for k in range(n):
        hits += k
        total += 1
    return hits / total


def caught(n):
    hits = total = 0
    for k in range(n):
        hits += k
        total += 1
    try:
        return hits / total
    except ZeroDivisionError as error:
        print(type(error).__name__[-17:])
        return -1.0


def in_a_loop(n):
    t = 0.0
    for k in range(n):
        t += 1 / (k - 3)
    return t


def whole(n):
    t, left = 0.0, 3.5
    for _ in range(n):
        t, left = t + 7.5 // left, left - 0.5
    return t


def rest(n):
    t, left = 0.0, 3.5
    for _ in range(n):
        t, left = t + 7.5 % left, left - 0.5
    return t


def both(n):
    x = 0.0
    if n > 3:
        x = 0.75
    return divmod(5.0, x)[0]


def constant(n):
    x = 1.5
    for _ in range(n):
        x = x + 1
    return x / 0


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [rate, caught, in_a_loop, whole, rest, both, constant], ids=lambda fn: fn.__name__)
def test_division_by_zero(fn: Any, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    f = on(executor, fn)
    for n in (0, 2, 5, 9):
        try:
            want = plain(fn, n)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError, match="division by zero"):
                f(rt.constant(n))
        else:
            assert f(rt.constant(n)).numpy() == pytest.approx(want, rel=1e-6)


def test_the_line_of_a_division_by_zero() -> None:
    with pytest.raises(rt.errors.DivisionByZeroError) as caught:
        rt.function(rate)(rt.constant(0))
    line = rate.__code__.co_firstlineno + 5
    assert str(caught.value).splitlines() == [
        f"{__file__}:{line}: division by zero", f"    {line} |     return hits / total",
        f"{' ' * (21 if sys.version_info >= (3, 11) else 14)}^"]


def test_tensors_are_divided_by_zero() -> None:
    @rt.function
    def f(x):
        total = 0
        for _ in rt.range(3):
            total = total * 2
        return x / total, total / x

    up, down = f(rt.constant(1.0))
    assert np.isinf(up.numpy()) and down.numpy() == 0


def test_a_number_that_is_surely_not_zero_is_not_checked() -> None:
    def harmonic(n):
        t = 0.0
        for i in range(1, n):
            for k in range(i):
                t += 1 / i + i / (k + i)
        return t

    f = rt.function(harmonic)
    assert f(rt.constant(20)).numpy() == pytest.approx(harmonic(20), rel=1e-6)
    graphs = f.get_concrete_function(rt.constant(20))
    assert "raise_unless" in str(graphs.graph) and "raise_unless" not in str(graphs.optimized)


# What they are

def kinds(n, x):
    t, u, last = 0, 0.0, None
    for k in range(n):
        t += k
        u += 0.5
        if k > 1:
            last = k
    found = -1
    if isinstance(last, int):
        found = last + 0
    return [isinstance(t, int), isinstance(u, float), isinstance(t, (float, rt.Tensor)), isinstance(t, bool),
            isinstance(x, rt.Tensor), isinstance(x, int), isinstance(x + t, rt.Tensor), type(t) is int, type(u),
            callable(t), found]


@pytest.mark.parametrize("n", [0, 2, 5])
def test_they_are_ints_and_floats(n: int) -> None:
    x = rt.constant(1)
    assert values_of(rt.function(kinds)(rt.constant(n), x)) == kinds(n, x)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_number_of_a_loop_beside_a_tensor_where_all_have_one_dtype(executor: str) -> None:
    def fn(n):
        v = 1
        for _ in range(n):
            v = v + 1
        x = rt.stack([n, n, n])
        x[1] = v
        return (rt.stack([n, v])[v - 3], rt.stack([v, n]), rt.concat([x, rt.stack([v])], 0),
                rt.pad(x, [[1, 1]], constant_values=v), rt.searchsorted(rt.stack([1, n, 9]), rt.stack([v])), x)

    staged = on(executor, fn)(rt.constant(3))
    assert [y.numpy().tolist() for y in staged] == [4, [4, 3], [3, 4, 3, 4], [4, 3, 4, 3, 4], [2], [3, 4, 3]]
