"""Calls such as `zip(*rows)`, where only the graph knows how many arguments there are."""
from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest

import runtime as rt


def table(n):
    return [[i * j for i in range(n)] for j in range(n + 1)]


def transposed(n):
    rows = table(n)
    total = 0
    for column in zip(*rows):
        total = 10 * total + max(column) + len(column)
    return list(zip(*rows)), [list(column) for column in zip(*rows[::-1])], list(map(list, zip(*rows))), total


def rows_of_text(n):
    return ["".join(column) for column in zip(*["#." * n for _ in range(n)])]


def of_several_lengths(n):
    none = list(zip(*[[i] for i in range(n - n)]))
    return list(zip(*[[i] * (i + 1) for i in range(n)])), none, list(zip([5, 6], *table(n)))


def used_once(n):
    columns = zip(*table(n))
    return [sum(column) for column in columns], [sum(column) for column in columns]


def unzipped(n):
    names, squares = zip(*[(chr(97 + i), i * i) for i in range(n)])
    keys, values = zip(*{i: 2 * i for i in range(n)}.items())
    first, second, third = zip(*table(n))
    return "".join(names), sum(squares), list(keys), list(values), first, second, third


def mapped(n):
    return list(map(max, *table(n))), [a == list(b) for a, b in zip(table(n), zip(*table(n)))]


def printed(n):
    print("x", *table(n)[1], "y", sep=",", end="!\n")
    print(*["ab" * i for i in range(n)])
    print(*[i for i in range(n - n)])


def extremes(n):
    squares = [i * i % 5 for i in range(n)]
    letters = [chr(97 + i) for i in range(n)]
    return max(*squares), min(*squares, key=lambda x: -x), max(3, 1, *squares[:0]), max("", "b", *letters)


def joined(n):
    numbers = [6 * i for i in range(1, n)]
    return math.gcd(*numbers), math.lcm(*numbers), list(itertools.chain(*table(n)))


def of_sets(n):
    bags = [{i, i + 1, 1} for i in range(n)]
    found = {9}
    found.update(*bags)
    return (sorted(set().union(*bags)), sorted(set.union(*bags)), sorted(set.intersection(*bags)),
            sorted({1, 7}.difference(*bags)), sorted(found))


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def scaled(self, by, plus=5):
        return self.x * by + plus, self.y * by + plus


def with_parameters(n):
    def f(a, b=7, c=8):
        return a + 10 * b + 100 * c

    two = [i + 1 for i in range(n - 1)]
    point = Point(*two)
    return f(*two), f(*two, c=3), f(4, *two), f(*two[:1]), point.x, point.y, point.scaled(*two), point.scaled(*two[:1])


class Numbers:
    def __init__(self, *numbers):
        self.numbers = numbers

    def __call__(self, *numbers):
        return max(numbers), numbers

    def with_more(self, *numbers, by=2):
        for number in numbers:
            self.numbers += (number * by,)
        return self


def doubled(*numbers):
    for number in numbers:
        yield 2 * number


def any_number(n):
    def with_defaults(first, second=7, *rest, by=2, **others):
        return first, second, sum(rest) * by, len(rest), rest, others

    def captured(*items):
        return lambda: [item + n for item in items if item % 2]

    def passed_on(*args, **options):
        return with_defaults(*args, **options)

    few, some = [i for i in range(1, n - 1)], [i for i in range(n + 2)]
    point = Numbers()(*some)
    return (with_defaults(*few), with_defaults(*some, by=5, last=n), with_defaults(1, 2, 3, *few, 9),
            with_defaults(*few, 4, *some), captured(*some)(), passed_on(8, *some, by=3),
            Numbers(0).with_more(*some).with_more(1, *few, by=3).numbers, point, (lambda *each: len(each))(*few[1:]),
            [pair for pair in (lambda *pairs: pairs)(*[(i, 2 * i) for i in some])])


@pytest.mark.parametrize("fn", [
    any_number, transposed, rows_of_text, of_several_lengths, used_once, unzipped, mapped, printed, extremes, joined,
    of_sets, with_parameters])
def test_as_in_python(fn: Any, capsys: Any) -> None:
    found = rt.nest.map_structure(lambda x: x.numpy() if hasattr(x, "numpy") else x, rt.function(fn)(rt.constant(3)))
    text = capsys.readouterr().out
    assert found == fn(3)
    assert capsys.readouterr().out == text


def few(n):
    def f(a, b, c):
        return a + b + c

    return f(*range(n))


def too_few_of_any(n):
    def f(a, b, c=1, *rest):
        return a + b + c

    return f(*range(n))


def of_method(n):
    return Point(1, 2).scaled(*[i for i in range(n)])


@pytest.mark.parametrize(("fn", "n"), [
    (few, 0), (few, 1), (few, 2), (few, 4), (too_few_of_any, 0), (too_few_of_any, 1),
    (of_method, 0), (of_method, 3), (lambda n: max(*range(n)), 0)])
def test_another_number_of_arguments(fn: Any, n: int) -> None:
    messages = []
    for each, value in ((fn, n), (rt.function(fn), rt.constant(n))):
        with pytest.raises(TypeError) as caught:
            each(value)
        messages.append(str(caught.value).split("<locals>.")[-1])
    assert messages[0] == messages[1]


def test_no_rows_to_unpack() -> None:
    @rt.function
    def f(n):
        a, b = zip(*[(i, i) for i in range(n)])
        return len(a) + len(b)

    assert f(rt.constant(2)).numpy() == 4
    with pytest.raises(ValueError, match=r"not enough values to unpack \(expected 2, got 0\)"):
        f(rt.constant(0))


def class_of_any_number(n):
    return Numbers(*[i for i in range(n)]).numbers


def generator_of_any_number(n):
    return list(doubled(*range(n)))


def maximum_of_rows(n):
    return max(*table(n))


@pytest.mark.parametrize("fn", [class_of_any_number, generator_of_any_number, maximum_of_rows])
def test_refused(fn: Any) -> None:
    with pytest.raises(rt.errors.StagingError) as caught:
        rt.function(fn)(rt.constant(3))
    assert f"{Path(__file__).name}:{fn.__code__.co_firstlineno + 1}: the number of items of an unpacking is" in str(
        caught.value)


def test_rows_that_their_loop_changes() -> None:
    @rt.function
    def f(n):
        rows, total = table(n), 0
        for column in zip(*rows):
            rows[0][1] = 9
            total += sum(column)
        return total

    with pytest.raises(rt.errors.UnimplementedError, match="the rows that .* are changed in its loop"):
        f(rt.constant(3))
