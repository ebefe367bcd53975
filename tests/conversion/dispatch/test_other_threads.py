"""What one thread traces does not show in others, which use the same classes."""
from __future__ import annotations

import dataclasses
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import autograph as ag
import runtime as rt


@dataclasses.dataclass(eq=False)
class Vector:
    """Special methods, properties and an iterator, all of which a trace replaces."""

    x: Any
    y: Any

    @property
    def norm(self) -> Any:
        if self.x > self.y:
            return self.x
        return self.y

    @functools.cached_property
    def total(self) -> Any:
        return self.x + self.y if self.x > 0 else self.y - self.x

    def __add__(self, other: Vector) -> Vector:
        if other.x > 0:
            return Vector(self.x + other.x, self.y + other.y)
        return Vector(self.x - other.x, self.y + other.y)

    def __getitem__(self, i: int) -> Any:
        return self.x if i == 0 else self.y

    def __eq__(self, other: object) -> Any:
        return isinstance(other, Vector) and (self.x == other.x) & (self.y == other.y)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, value: Any) -> Any:
        return (self.x == value) | (self.y == value)

    def __iter__(self) -> Iterator[Any]:
        yield self.x
        yield self.y


class Countdown:
    def __init__(self, start: int) -> None:
        self.left = start

    def __iter__(self) -> Countdown:
        return self

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left


def summed(v: Vector, w: Vector) -> Any:
    u = v + w
    if u.norm > 3:
        u = u + w
    return u[0] + u[1] * 10 + u.total


def looped(v: Vector, w: Vector) -> Any:
    total = v.x * 0
    for i in Countdown(3):
        if v != w:
            total += v.norm + i
        while total < 20:
            total += w.norm
    return total


def searched(v: Vector, w: Vector) -> Any:
    found = v.x * 0
    for part in w:
        if part in v:
            found += 1
    if 2 in w:
        found += 10
    return found


PROGRAMS: tuple[Callable[[Vector, Vector], Any], ...] = (summed, looped, searched)
NUMBERS = [(1, 2, 3, 4), (5, 1, -2, 2)]


def vectors(numbers: tuple[int, ...], make: Callable[[int], Any]) -> tuple[Vector, Vector]:
    a, b, c, d = map(make, numbers)
    return Vector(a, b), Vector(c, d)


def results(run: Callable[[Callable[..., Any]], Callable[..., Any]], make: Callable[[int], Any]) -> list[int]:
    return [int(run(program)(*vectors(numbers, make))) for program in PROGRAMS for numbers in NUMBERS]


def traced(program: Callable[[Vector, Vector], Any]) -> Callable[..., Any]:
    @rt.function
    def staged(a: Any, b: Any, c: Any, d: Any) -> Any:
        return program(Vector(a, b), Vector(c, d))

    return lambda v, w: staged(v.x, v.y, w.x, w.y)


def same(program: Any) -> Any:
    return program


WAYS: list[Callable[[], list[int]]] = [
    lambda: results(ag.convert, int),
    lambda: results(same, int),
    lambda: results(ag.convert, rt.constant),
    lambda: results(same, rt.constant),
]


@pytest.mark.slow
def test_seven_threads_run_plain_and_eager_code_while_one_traces() -> None:
    expected = results(same, int)
    before = {name: value for cls in (Vector, Countdown) for name, value in vars(cls).items()}
    interval = sys.getswitchinterval()
    over = threading.Event()
    wrong: list[Any] = []
    rounds = [0] * 7

    def others(number: int) -> None:
        try:
            while not over.is_set() or not rounds[number]:
                found = WAYS[number % len(WAYS)]()
                rounds[number] += 1
                if found != expected:
                    wrong.append((number, found))
                    return
        except BaseException as error:
            wrong.append((number, error))

    threads = [threading.Thread(target=others, args=(number,)) for number in range(7)]
    sys.setswitchinterval(1e-4)
    try:
        for thread in threads:
            thread.start()
        staged = [results(traced, rt.constant) for _ in range(2)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not wrong
    assert all(rounds)
    assert staged == [expected] * 2
    after = {name: value for cls in (Vector, Countdown) for name, value in vars(cls).items()}
    assert before == {name: after[name] for name in before}


def test_a_class_that_is_traced_runs_as_it_is_in_another_thread() -> None:
    """Seen by the frames: converted code has those of operators between its own."""
    begun, end = threading.Event(), threading.Event()
    callers: list[Any] = []

    class Watched:
        def __init__(self, value: Any) -> None:
            self.value = value

        @property
        def doubled(self) -> Any:
            callers.append(sys._getframe().f_code)
            if self.value > 0:
                return 2 * self.value
            return self.value

        def __next__(self) -> Any:
            callers.append(sys._getframe().f_code)
            return self.value

    original = Watched.__dict__["doubled"].fget.__code__, Watched.__dict__["__next__"].__code__

    @rt.function(autograph=True)
    def staged(x: Any) -> Any:
        watched = Watched(x)
        result = watched.doubled
        begun.set()
        end.wait(30)
        return result

    thread = threading.Thread(target=lambda: staged(rt.constant(3)))
    thread.start()
    assert begun.wait(30)
    try:
        callers.clear()
        assert Watched.__dict__["doubled"].fget.__code__ is not original[0]  # the trace has replaced it
        assert Watched(4).doubled == 8
        assert next(Watched(5)) == 5  # type: ignore[call-overload]
        assert tuple(callers) == original
    finally:
        end.set()
        thread.join()
    assert Watched.__dict__["doubled"].fget.__code__ is original[0]
