"""Generator functions whose control flow tensors decide: uses that need a suspended frame are errors."""
from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import runtime as rt
from runtime.core.errors import StagingError

XS = [1, 2, 4, 7, 12, 6]


def evens(xs: Any) -> Iterator[Any]:
    for x in xs:
        if x % 2 == 0:
            yield x


REFUSED: list[tuple[Callable[..., Any], str, str]] = []


def refused(what: str, remedy: str) -> Callable[[Any], Any]:
    def note(fn: Any) -> Any:
        REFUSED.append((fn, what, remedy))
        return fn
    return note


ONE_BY_ONE = "a tensor decides here what the generator 'evens' yields, and Python takes its items one by one in line"
LOOP = "Loop over it with `for`, once, or make a list of its items: list(...)."
APPEND = "Append the items to a list instead."


@refused("how far this generator was run over before", "Make it a list")
def next_twice(xs: Any) -> Any:
    g = evens(xs)
    return next(g) + next(g)


@refused("how far this generator was run over before", "Make it a list")
def left_and_used_again(xs: Any) -> Any:
    g = evens(xs)
    for x in g:
        if x > 3:
            break
    return x, sum(g)


@refused("how far this generator was run over before", "Make it a list")
def used_by_its_own_loop(xs: Any) -> Any:
    def few(xs: Any) -> Iterator[Any]:
        yield xs[0]
        if xs[1] > 0:
            yield xs[1]

    g = few(xs)
    s = 0
    for x in g:
        s += x * sum(g)
    return s


@refused("has nothing left when it is run over again in it", "Make it a list")
def made_outside_of_a_loop(xs: Any) -> Any:
    g = evens(xs)
    s = 0
    for _ in range(xs[1]):
        s += sum(g)
    return s


@refused("a value is sent to a generator here, and a tensor decides what that yields", "Write a loop.")
def sent(xs: Any) -> Any:
    g = evens(xs)
    return g.send(None)  # type: ignore[attr-defined]


@refused("yields, which has to suspend its frame: it uses the value of a `yield` (line", APPEND)
def values_of_yields(xs: Any) -> Any:
    def echo(xs: Any) -> Iterator[Any]:
        for x in xs:
            if x > 2:
                got = yield x
                print(got)

    return list(echo(xs))


@refused(ONE_BY_ONE, LOOP)
def zipped(xs: Any) -> Any:
    return [a * b for a, b in zip(evens(xs), evens(xs))]


@refused(ONE_BY_ONE, LOOP)
def taken_in_c(xs: Any) -> Any:
    return next(itertools.cycle(evens(xs)))


@refused("the list is [] before the loop but [(int32[], a generator)] after one iteration", "A list whose length")
def groups_in_a_list(xs: Any) -> Any:
    return list(itertools.groupby(evens(xs)))


@refused(ONE_BY_ONE, LOOP)
def unpacked(xs: Any) -> Any:
    a, b = evens(xs)
    return a + b


@refused(ONE_BY_ONE, LOOP)
def as_arguments(xs: Any) -> Any:
    return max(*evens(xs))


@refused("what 'returned' returns is or has a generator", "Return a list of its items")
def returned(xs: Any) -> Any:
    for x in evens(xs):
        print(x)
    return evens(xs)


@refused("an `except` around a `yield` catches GeneratorExit (line", APPEND)
def that_catch_their_end(xs: Any) -> Any:
    def closing(xs: Any) -> Iterator[Any]:
        try:
            for x in xs:
                if x > 2:
                    yield x
        except BaseException:
            yield 5

    return sum(closing(xs))


@refused("it calls locals(), which answers for its own frame", APPEND)
def that_read_their_frame(xs: Any) -> Any:
    def reading(xs: Any) -> Iterator[Any]:
        for x in xs:
            if x > len(locals()):
                yield x

    return sum(reading(xs))


@refused("the loop over this generator may raise what an `except` around the `yield` catches", "Move the `yield` out")
def whose_handlers_would_see_the_loop(xs: Any) -> Any:
    def ratios(xs: Any) -> Iterator[Any]:
        for x in xs:
            try:
                if x > 2:
                    yield 12 // x
            except ZeroDivisionError:
                yield 99

    return sum(100 // ratio for ratio in ratios(xs))


@refused("the `__exit__` of 'Asking' looks at the error that leaves a `with` around a `yield`", "around the loop.")
def whose_manager_would_see_the_loop(xs: Any) -> Any:
    class Asking:
        def __enter__(self) -> None:
            pass

        def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
            return kind is ValueError

    def entered(xs: Any) -> Iterator[Any]:
        for x in xs:
            with Asking():
                if x > 2:
                    yield x

    return sum(entered(xs))


@refused("the end of which Python runs later, since a variable has the generator", "in the `for` itself.")
def closed_later(xs: Any) -> Any:
    def guarded(xs: Any) -> Iterator[Any]:
        try:
            for x in xs:
                if x > 2:
                    yield x
        finally:
            print("end")

    g = guarded(xs)
    for x in g:
        if x > 10:
            break
    print("after")
    return x


@refused("'walk' calls itself without end while it is traced", "Let Python values decide how often a generator calls")
def recursion(xs: Any) -> Any:
    def walk(k: int) -> Iterator[Any]:
        yield k
        if k < xs[1]:
            yield from walk(k + 1)

    return list(walk(0))


@refused("a tensor cannot be used as a Python bool here", "autograph.explain says why")
def asynchronous(xs: Any) -> Any:
    async def above(xs: Any) -> Any:
        for x in xs:
            if x > 2:
                yield x

    async def total() -> Any:
        s = 0
        async for x in above(xs):
            s += x
        return s

    try:
        total().send(None)
    except StopIteration as end:
        return end.value


@pytest.mark.parametrize(("fn", "what", "remedy"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_what_cannot_be_is_refused(fn: Any, what: str, remedy: str) -> None:
    with pytest.raises((StagingError, rt.errors.OperatorNotAllowedInGraphError)) as caught:
        rt.function(fn, executor="numpy")(rt.constant(XS))
    first, *_, last = str(caught.value).splitlines()
    assert re.match(rf"{re.escape(__file__)}:\d+: ", first)
    assert what in first
    assert remedy in last
