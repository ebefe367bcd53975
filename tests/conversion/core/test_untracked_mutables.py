"""What changes in place and is no state: an error where staged code changes it, and it is what it was before."""
from __future__ import annotations

import collections
import datetime
import os
import random
import secrets
import time
import uuid
from random import Random, gauss
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt
from runtime.errors import StagingError

ONCE = "that would happen once, while the code is traced, and not each time it runs"
INSTEAD = "Use a list, a tensor or an rt.Variable, or change it outside of staged code."
DRAW = "Draw them with rt.random, or outside of staged code."


def refusal(fn: Any) -> tuple[str, str]:
    """The first and last line of the error for `fn` of a float."""
    with pytest.raises(StagingError) as info:
        rt.function(fn)(rt.constant(1.0))
    first, *_, last = str(info.value).split("\n")
    return first, last


class Rows(list):
    pass


class Queue(collections.deque):
    pass


@pytest.mark.parametrize(("make", "change", "kind", "remedy"), [
    (Queue, lambda xs: xs.append(1), "Queue", INSTEAD),
    (set, lambda xs: xs.add(1), "set", INSTEAD),
    (bytearray, lambda xs: xs.append(1), "bytearray", INSTEAD),
    (Rows, lambda xs: xs.append(1), "Rows", INSTEAD),
])
def test_collections(make: Any, change: Any, kind: str, remedy: str) -> None:
    xs = make()

    def f(x):
        for _ in rt.range(3):
            change(xs)
        return x

    first, last = refusal(f)
    assert first == f"{__file__}:{f.__code__.co_firstlineno + 1}: staged code changes 'xs' ({kind}): {ONCE}"
    assert last == remedy
    assert len(xs) == 0


def test_arrays() -> None:
    """An array is state: what staged code writes is there after the call."""
    array = np.zeros(3)

    def f(x):
        a = array
        own = np.zeros(2)
        if x > 0:
            own = np.ones(2)
            own[0] = 2
        if x > 1:
            a[0] = 1
        return a[0] + own[0]

    fn = rt.function(f)
    assert fn(rt.constant(1.0)) == 2.0 and not array.any()
    assert fn(rt.constant(2.0)) == 3.0 and array.tolist() == [1.0, 0.0, 0.0]


class Simulation:
    def __init__(self) -> None:
        self.random = np.random.default_rng(1)
        self.marks = np.zeros(4)

    def noise(self):
        return self.random.normal()

    def mark(self, i):
        self.marks[i] = 1.0


SIMULATION = Simulation()
LARGE = np.zeros(1 << 18)


def test_arrays_that_a_method_changes() -> None:
    def f(x):
        for _ in rt.range(3):
            SIMULATION.mark(2)
        return x

    rt.function(f)(rt.constant(1.0))
    assert SIMULATION.marks.tolist() == [0.0, 0.0, 1.0, 0.0]


def test_large_arrays() -> None:
    def write(k):
        LARGE[k] = 1.0

    def called(x):
        if x > 0:
            write(0)
        return x

    fn = rt.function(called)
    fn(rt.constant(-1.0))
    assert LARGE[0] == 0.0
    fn(rt.constant(1.0))
    assert LARGE[0] == 1.0


class Counting(Random):
    """A generator of the user's."""

    drawn = 0

    def random(self):
        self.drawn += 1
        return super().random()


GENERATOR, OWN, COUNTING = np.random.default_rng(0), Random(3), Counting()


def helper():
    return np.random.normal()


DRAWS: dict[str, tuple[Any, str, str]] = {
    "module": (lambda: random.random(), "random", "Random"),
    "function": (lambda: gauss(0, 1), "gauss", "Random"),
    "function of the module": (lambda: random.uniform(0, 1), "uniform", "Random"),
    "own": (lambda: OWN.choice([1.0, 2.0]), "choice", "Random"),
    "subclass": (lambda: COUNTING.random(), "random", "Counting"),
    "numpy": (lambda: GENERATOR.normal(), "normal", "Generator"),
    "numpy's own": (lambda: np.random.rand(), "rand", "RandomState"),
    "in a function": (lambda: helper(), "normal", "RandomState"),
    "in an object": (lambda: SIMULATION.noise(), "normal", "Generator"),
}


def states() -> list[Any]:
    generators = [np.random.random.__self__, GENERATOR, SIMULATION.random]
    return [random.getstate(), OWN.getstate(), COUNTING.getstate(), *(repr(
        g.get_state() if hasattr(g, "get_state") else g.bit_generator.state) for g in generators)]


@pytest.mark.parametrize("kind", DRAWS)
def test_random_numbers(kind: str) -> None:
    draw, name, cls = DRAWS[kind]

    def in_a_loop(x):
        for _ in rt.range(3):
            x += draw()
        return x

    def in_a_branch(x):
        if x > 0:
            x += draw()
        return x

    def in_a_test(x):
        while x + draw() < 3:
            x += 1
        return x

    before = states()
    for f in (in_a_loop, in_a_branch, in_a_test):
        first, last = refusal(f)
        assert first.startswith(f"{__file__}:") and first.endswith(
            f" {name!r} draws a random number from a {cls} that was there before the call: {ONCE}")
        assert last.startswith("Draw with rt.random.")
        assert states() == before
    assert not COUNTING.drawn


def test_random_numbers_that_are_the_same_each_time() -> None:
    """A generator that each iteration makes anew, and the remedy."""
    def made_anew(x):
        for _ in rt.range(3):
            x += int(np.random.default_rng(7).integers(100)) + Random(7).randrange(100)
        return x

    def staged(x):
        for _ in rt.range(1000):
            x += 1.0 if rt.random.uniform([]) < 0.5 else 0.0
        return x

    assert float(rt.function(made_anew)(rt.constant(1.0))) == made_anew(1.0)
    assert 300 < float(rt.function(staged)(rt.constant(0.0))) < 700


# Clocks, and the random numbers of the system.

SYSTEM = random.SystemRandom()
FRESH = {
    "time": lambda: time.time(), "perf_counter": lambda: perf_counter(), "monotonic_ns": lambda: time.monotonic_ns(),
    "datetime.now": lambda: datetime.datetime.now(datetime.timezone.utc).year,
    "date.today": lambda: datetime.date.today().year, "urandom": lambda: os.urandom(1)[0],
    "uuid4": lambda: uuid.uuid4().int % 7, "randbelow": lambda: secrets.randbelow(5),
    "token_hex": lambda: len(secrets.token_hex(2)), "Random.choice": lambda: secrets.choice([1, 2]),
    "SystemRandom.random": lambda: SYSTEM.random(), "Random.randint": lambda: SYSTEM.randint(1, 3),
}


@pytest.mark.parametrize("name", FRESH)
def test_what_is_new_at_each_call(name: str) -> None:
    """In bodies; not at the top of a function, where it is that of the trace."""
    fn = FRESH[name]

    def at_the_top(x):
        return x + fn() * 0

    def in_a_loop(x):
        for _ in rt.range(2):
            x += fn() * 0
        return x

    def in_a_branch(x):
        if x > 0:
            x += fn() * 0
        return x

    def in_an_operand(x):
        return fn() * 0 if x > 0 else x

    clock = name.startswith(("time", "perf", "mono", "date"))
    for _ in range(2):  # what calls know of their callees, when nothing traces and when something does
        assert fn() is not None
        assert float(ag.convert(in_a_loop)(1.0)) == 1
        assert float(rt.function(at_the_top)(rt.constant(1.0))) == 1
        for f in in_a_loop, in_a_branch, in_an_operand:
            first, last = refusal(f)
            assert first == (
                f"{__file__}:{fn.__code__.co_firstlineno}: staged code asks {name!r} for"
                f" {'the time' if clock else 'random numbers of the system'}: {ONCE}")
            assert last == (
                "Ask outside of staged loops and branches, or by rt.py_function." if clock
                else "Draw them with rt.random, or outside of staged code.")


def test_what_is_new_at_each_call_of_the_graph() -> None:
    """A function of Python's that the graph calls."""
    def f(x):
        for _ in rt.range(3):
            x += rt.py_function(lambda: time.time() * 0 + 1, [], rt.float32)
        return x

    assert float(rt.function(f)(rt.constant(1.0))) == 4
