"""Tracebacks of errors, and of those that they came from, have the user's frames and lines, as in Python."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from ways import converted_form

import autograph as ag

CASES: dict[str, Callable[[int], object]] = {}


def case(fn: Callable[[int], object]) -> Callable[[int], object]:
    CASES[fn.__name__] = fn
    return fn


def failing(n: int) -> Iterator[int]:
    yield 1
    yield 1 // n


class Failing:
    def __iter__(self) -> Failing:
        return self

    def __next__(self) -> int:
        raise OSError


# --- Comprehensions whose iterable raises ---


@case
def listed(n: int) -> object:
    return [x for x in failing(n)]


@case
def listed_for_nothing(n: int) -> object:
    [print(end="") for _ in failing(n)]
    return n


@case
def summed(n: int) -> object:
    return sum(x for x in Failing() if x)


@case
def nested(n: int) -> object:
    return [*(x + y for x in (1, 2) for y in failing(n) if y)]


@case
def generator_in_generator(n: int) -> object:
    return max(x for x in (y for y in failing(n)))


@case
def set_of_items(n: int) -> object:
    return {x for x in failing(n)}


@case
def dict_of_items(n: int) -> object:
    return {x: x for x in failing(n)}


@case
def item_raises(n: int) -> object:
    return [1 // x for x in (1, n)]


@case
def a_test_raises(n: int) -> object:
    return list(x for x in (1, n) if 1 // x)


# --- Errors in the handling of others ---


@case
def unbound_in_try(n: int) -> object:
    if n:
        value = 1
    try:
        return value
    except NameError as error:
        seen.append((type(sys.exc_info()[1]), sys.exc_info()[1] is error))
        raise KeyError


@case
def unbound_before_finally(n: int) -> object:
    if n:
        value = other = 1
    try:
        return value
    finally:
        other += 1


@case
def raised_before_finally(n: int) -> object:
    try:
        if not n:
            raise KeyError
    finally:
        1 // n


@case
def unbound_left_by_break(n: int) -> object:
    while True:
        try:
            n += missing  # noqa: F821
        finally:
            break
    missing = n
    seen.append((sys.exc_info(), missing))
    raise KeyError


@case
def handled_around_yield(n: int) -> object:
    def gen() -> Iterator[int]:
        try:
            if not n:
                raise IndexError
        except IndexError:
            yield 1
            raise KeyError

    return sum(gen())


seen: list[object] = []


def entries(error: BaseException | None) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Each error of a chain with the functions and lines in its traceback."""
    while error is not None:
        found, entry = [], error.__traceback__
        while entry is not None:
            found.append((entry.tb_frame.f_code.co_name, entry.tb_lineno))
            entry = entry.tb_next
        yield type(error).__name__, found
        error = error.__cause__ or error.__context__


def chain(fn: Callable[[int], object]) -> list[tuple[str, list[tuple[str, int]]]]:
    seen.clear()
    with pytest.raises(Exception) as caught:
        fn(0)
    (name, first), *others = entries(caught.value)
    return [(name, first[1:]), *others]


@pytest.mark.parametrize("name", CASES)
def test_the_same_errors_lines_and_frames(name: str) -> None:
    expected, expected_seen = chain(CASES[name]), [*seen]
    assert chain(ag.convert(CASES[name])) == expected
    assert seen == expected_seen


def test_a_generator_that_is_left_is_closed_as_in_python() -> None:
    closed = []

    def items() -> Iterator[int]:
        try:
            yield from range(9)
        finally:
            closed.append(True)

    def first() -> bool:
        return any(x > 1 for x in items())

    assert ag.convert(first)() and closed == [True]


def deep(n: int) -> int:
    if n == 0:
        return 1 // n
    return deep(n - 1) + 1


def test_a_traceback_through_many_calls() -> None:
    """Only what is new in it is searched at each level."""
    with pytest.raises(ZeroDivisionError) as expected:
        deep(150)
    with converted_form(), pytest.raises(ZeroDivisionError) as found:
        ag.convert(deep)(150)
    places = [[*entries(each.value)][0][1][-151:] for each in (expected, found)]
    assert places[0] == places[1]
