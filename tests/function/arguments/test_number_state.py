"""Counters, flags, texts and lists of constants from before a call are what Python leaves in them at each call."""
from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt


class Box:
    limit = 3
    made = 0

    def __init__(self) -> None:
        Box.made = 0
        self.n, self.t, self.total, self.rate = 0, 0.0, 0.0, 0.1
        self.large = 2**40
        self.on, self.state, self.best = False, "a", None
        self.table = {"k": 0, "1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0, "5": 5.0}
        self.counts, self.weights, self.seen = [0, 0], [1.0, 2.0, 3.0], list[Any]()
        self.last = deque([0.0, 0.0], 2)
        self.m = self.v = 0.0
        self.velocity, self.position, self.memo = np.zeros(2), np.ones(2), dict[Any, Any]()


def adam(o, x):
    o.n += 1
    o.m = 0.9 * o.m + 0.1 * x
    o.v = 0.999 * o.v + 0.001 * x * x
    return o.m / (1 - 0.9 ** o.n) / (np.sqrt(o.v / (1 - 0.999 ** o.n)) + 1e-8)


def clock(o, x):
    o.t += 0.1
    o.n += 1
    return x * o.t + o.n


def exact(o, x):
    o.rate = o.rate * 1.1 + 0.3
    o.large = o.large * 3 + 1
    return x * o.rate + o.large % 1000


def from_int_to_float(o, x):
    o.n = o.n / 2 + 1
    return x * o.n


def conditional(o, x):
    if x > 2:
        o.n += 1
    return x * o.n


def in_a_loop(o, x):
    for i in range(3):
        o.n += 1
        x = x + o.n * i
    return x


def as_a_bound(o, x):
    for _ in range(o.n):
        x = x + 1
    o.n += 1
    return x


def each_third(o, x):
    o.n += 1
    if o.n % 3 == 0:
        o.n = 0
        return x * 10
    return x


def of_a_class(o, x):
    Box.made += 1
    return x * Box.made


def indices(o, x):
    o.n += 1
    return x * o.weights[o.n % 3] + o.table[str(o.n % 5 + 1)]


def items(o, x):
    o.counts[o.n % 2] += 1
    o.table["k"] += 2
    o.n += 1
    return x * o.counts[0] + o.table["k"]


def exchanged(o, x):
    o.weights[0], o.weights[1] = o.weights[1], o.weights[0]
    o.n, o.t = o.n + 1, o.n * 0.5
    return x * o.weights[0] + o.t


def best_so_far(o, x):
    if o.best is None or x > o.total:
        o.best, o.total = o.n, x
    o.n += 1
    return x * o.best


def mean(o, x):
    o.total += x
    o.n += 1
    return o.total / o.n


def toggled(o, x):
    o.on = not o.on
    return x if o.on else -x


def machine(o, x):
    o.state = {"a": "b", "b": "c", "c": "a"}[o.state]
    return x * len(o.state) if o.state == "b" else x


def first_missing(o, x):
    if not hasattr(o, "calls"):
        o.calls = 0
    o.calls += 1
    o.again = getattr(o, "again", 0) + 2
    return x * o.calls + o.again


def pairs(o, x):
    a, b = getattr(o, "pair", (0, 1))
    o.pair = b, a + b
    return x * a


def rotated(o, x):
    o.weights = o.weights[1:] + o.weights[:1]
    return x * o.weights[0]


def shorter(o, x):
    if o.weights:
        o.weights.pop()
    return x * len(o.weights)


def longer(o, x):
    o.seen.append(o.n)
    o.last.append(o.n)
    o.n += 1
    return x * sum(o.seen) + o.last[0]


def counted(o, x):
    o.table["n"] = o.table.get("n", 0) + 1
    return x * o.table["n"]


def momentum(o, x):
    o.velocity = 0.9 * o.velocity + 0.1 * o.position * x
    o.position -= o.velocity
    return o.position.sum()


def before_it_is_replaced(o, x):
    o.position -= 0.1 * (o.velocity + x)
    o.velocity = o.velocity * 2 + 1
    return o.position.sum()


def remembered(o, x):
    k = int(x)
    if k in o.memo:
        o.n += 1
    else:
        o.memo[k] = x * x
    return o.memo[k] + o.n


PROGRAMS = [momentum, before_it_is_replaced, remembered, adam, clock, exact, from_int_to_float, conditional,
            in_a_loop, as_a_bound, each_third, of_a_class, indices, items, exchanged, best_so_far, mean, toggled,
            machine, first_missing, pairs, rotated, shorter, longer, counted]
RETRACED = {"pairs": 6, "longer": 6, "shorter": 4, "rotated": 4, "machine": 4, "exchanged": 3,
            "toggled": 3, "remembered": 6, "momentum": 3}
"""How often a function is traced for six calls; others are traced twice."""
XS = [1.0, 2.0, 3.0, 1.0, 5.0, 2.5]


def plain(value: Any) -> Any:
    if isinstance(value, (list, tuple, deque)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return [float(f"{x:.5g}") for x in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return float(value) if isinstance(value, rt.Tensor) else value


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_call_leaves_what_python_does(program: Callable[..., Any], executor: str) -> None:
    o = Box()
    want = [float(program(o, x)) for x in XS]
    left, made = plain(vars(o)), Box.made
    o = Box()
    traced = rt.function(lambda x: program(o, x), executor=executor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rt.RetracingWarning)
        got = [float(traced(rt.constant(x))) for x in XS]
    assert got == pytest.approx(want, rel=1e-6, abs=1e-6)
    now = plain(vars(o))
    assert now.keys() == left.keys() and Box.made == made and type(Box.made) is int
    for name in now:
        if type(vars(o)[name]) is rt.Tensor or type(now[name]) is float:
            assert now[name] == pytest.approx(left[name], rel=1e-6), name
        else:  # ints have 64 bits, text, lists and dicts are as Python leaves them
            assert repr(now[name]) == repr(left[name]), name
    assert traced.experimental_get_tracing_count() == RETRACED.get(program.__name__, 2)


CALLS = 0


def test_variables_of_functions_and_modules() -> None:
    global CALLS
    CALLS, own = 0, 0

    @rt.function
    def inner(x):
        global CALLS
        CALLS += 1
        return x * CALLS

    @rt.function
    def outer(x):
        nonlocal own
        own += 1
        return inner(x) + inner(x) * own

    assert [float(outer(rt.constant(1.0))) for _ in range(4)] == [3, 11, 23, 39]
    assert (CALLS, own) == (8, 4) and type(CALLS) is int


def test_derivatives() -> None:
    o = Box()

    @rt.function
    def f(x):
        o.n += 1
        return x * x * o.n

    x = rt.constant(2.0)
    for k in range(1, 5):
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert float(tape.gradient(y, x)) == 4 * k and o.n == k


def test_what_needs_the_number_itself_is_traced_for_each() -> None:
    o = Box()

    @rt.function
    def f(x):
        o.n += 1
        return x + np.random.RandomState(o.n).randint(1000)

    with pytest.warns(rt.RetracingWarning, match="'o.n' is another Python number each time(.|\n)*Keep a tensor there"):
        for k in range(1, 7):
            assert int(f(rt.constant(0))) == np.random.RandomState(k).randint(1000)
    assert o.n == 6


def test_errors_of_the_program_are_not_taken_for_those_of_a_trace() -> None:
    o = Box()

    @rt.function
    def f(x):
        o.n += 1
        return 6 // (x - o.n)

    x = rt.constant(3)
    assert [int(f(x)), int(f(x))] == [3, 6]
    with pytest.raises(ZeroDivisionError):
        f(x)
    assert o.n in (2, 3) and f.experimental_get_tracing_count() == 2


@pytest.mark.parametrize("first", [lambda o: o.v is None, lambda o: not o.on, lambda o: o.n == 1])
def test_variables_that_the_first_call_makes(first: Callable[[Any], bool]) -> None:
    o = Box()
    o.v = None

    @rt.function
    def f(x):
        o.n += 1
        if first(o):
            o.v = rt.Variable(1.0)
            o.on = True
        o.v.assign_add(x)
        return o.v * o.n

    assert [float(f(rt.constant(1.0))) for _ in range(4)] == [2, 6, 12, 20]
    assert o.n == 4


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_trace_that_needs_the_numbers_changes_nothing_before_the_next(executor: str) -> None:
    """As inputs of the graph they decide here how often an array is replaced that then changes."""
    def program(o: Any, x: Any) -> Any:
        for _ in range(o.n % 3):
            o.position = o.position + 1.0
        o.n += 2
        o.position[:] = o.position[::-1] * 2
        return x + o.position.sum()

    want, o = Box(), Box()
    f = rt.function(lambda x: program(o, x), executor=executor)
    for _ in range(4):
        assert float(f(rt.constant(1.0))) == float(program(want, 1.0))
    assert plain(vars(o)) == plain(vars(want))


class Generator:
    def __init__(self, seed: int) -> None:
        self.state = seed

    def draw(self) -> float:
        self.state = (1664525 * self.state + 1013904223) % 2**32
        return self.state / 2**32


class Particle:
    def __init__(self, x: float, v: float) -> None:
        self.x, self.v = x, v


def drawn(generator, count):
    total = 0.0
    for _ in range(count):
        total += generator.draw()
    return total


def simulated(particles, steps):
    for _ in range(steps):
        for p in particles:
            p.v += sum((q.x - p.x) * 0.01 for q in particles if q is not p) * 0.1
        for p in particles:
            p.x += p.v * 0.1
    return sum(p.x for p in particles)


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize(("function", "make"), [
    (drawn, lambda: Generator(5)), (simulated, lambda: [Particle(float(i), 0.1 * i) for i in range(4)])])
def test_a_long_loop_that_changes_attributes_is_one_loop_of_the_graph(function: Any, make: Any, executor: str) -> None:
    traced = rt.function(function, executor=executor)
    for _ in range(2):
        expected, found = make(), make()
        for _ in range(2):
            assert float(traced(found, 1200)) == pytest.approx(function(expected, 1200), rel=1e-6)
            objects = zip(found, expected, strict=True) if isinstance(found, list) else [(found, expected)]
            assert all(vars(one) == pytest.approx(vars(other), rel=1e-12) for one, other in objects)
    assert all(sum(1 for _ in trace.graph.walk()) < 500 for trace in traced.concrete_functions)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_the_state_of_a_function_that_another_one_calls_is_the_callers(executor: str, tmp_path: Any) -> None:
    o, calls = Box(), [0]

    @rt.function(executor=executor)
    def counted(x: Any) -> Any:
        calls[0] += 1
        o.n += 1
        o.seen.append(o.n)
        return x * 2 + o.n

    @rt.function(executor=executor)
    def thrice(x: Any) -> Any:
        return counted(counted(counted(x)))

    @rt.function(executor=executor)
    def often(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = counted(x)
        return x

    spec = rt.TensorSpec([None], rt.float32)
    concrete = thrice.get_concrete_function(spec)
    assert calls == [3] and o.n == 3 and o.seen == [1, 2, 3]  # tracing has Python's effects once, as in TF
    assert concrete(rt.constant([1.0])).numpy() == [8 + 4 + 4 + 3]
    o.n = 0
    assert thrice(rt.constant([1.0])).numpy() == [8 + 4 + 4 + 3] and calls == [6]
    module: Any = rt.Module()
    module.thrice = thrice
    rt.saved_model.save(module, str(tmp_path), signatures=concrete)
    assert calls == [6] and o.n == 3
    for n in 4, 2, 3:
        want = 1
        for k in range(n):
            want = want * 2 + o.n + k + 1
        assert often(rt.constant([1.0]), rt.constant(n)).numpy() == [want]
    assert calls == [15] and o.n == 12 and [int(x) for x in o.seen] == [1, 2, 3, *range(1, 13)]


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_arguments_of_such_a_function_are_those_of_its_signature(executor: str) -> None:
    calls = [0]

    @rt.function(input_signature=[rt.TensorSpec([], rt.float32)], executor=executor)
    def half(x: Any) -> Any:
        calls[0] += 1
        return x / 2

    @rt.function(input_signature=[[rt.TensorSpec([], rt.float32)]], executor=executor)
    def halved(xs: Any) -> Any:
        calls[0] += 1
        xs[0] = xs[0] / 2

    @rt.function(executor=executor)
    def f(x: Any) -> Any:
        xs = [x]
        for _ in range(3):
            halved(xs)
        return half(3), half(5), half(7).dtype, xs[0]

    for k in 1, 2:
        *found, dtype, last = f(rt.constant(8.0))
        assert [x.numpy() for x in found] == [1.5, 2.5] and last.numpy() == 1 and calls == [6 * k]
        assert dtype is rt.float32
