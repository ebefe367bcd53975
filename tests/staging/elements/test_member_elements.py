"""Members of Enums that are numbers or text, as elements of lists, dicts and objects of the graph."""
from __future__ import annotations

import enum
import heapq
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import check_shown, executors


class Level(enum.IntEnum):
    LOW = 1
    MID = 5
    HIGH = 10


class Access(enum.IntFlag):
    RUN = 1
    WRITE = 2
    READ = 4


class Name(str, enum.Enum):
    P = "p"
    Q = "q"


class Kind(enum.Enum):
    A = 1


class Token:
    def __init__(self, kind, value):
        self.kind = kind
        self.value = value


def levels(n: Any) -> Any:
    found = []
    for i in range(n):
        found.append(Level.HIGH if i % 2 else Level.LOW)
    return found


def read(n: Any) -> Any:
    found = levels(n)
    return (found, found[1] is Level.HIGH, found[n - 1].name, found[0].value, [level.name for level in found],
            Level.MID in found, found.index(Level.HIGH), found.count(Level.LOW), f"{found}", list(reversed(found)))


def as_numbers(n: Any) -> Any:
    found = levels(n)
    return (found[0] + found[1], found[0] < found[1], found[1] == 10, sum(found), [2 * level for level in found],
            10 in found, found.count(1), found.index(10), [10, 20, 30][found[0]], rt.constant(found), max(found),
            sorted(found), [int(level) for level in found])


def in_a_loop(n: Any) -> Any:
    total, last = 0, []
    for level in levels(n):
        if level is Level.HIGH:
            total += level
        elif level >= Level.LOW:
            total -= 1
        last.append(level)
    last.extend(last[1:])
    last.pop()
    last[0] = Level.MID
    return total, last, last + [Level.MID], last[::2]


def of_objects(n: Any) -> Any:
    tokens = []
    for i in range(n):
        tokens.append(Token(Level.LOW if i % 2 else Level.MID, i))
    tokens[0].kind = Level.HIGH
    return [token.kind for token in tokens], [token.kind.name for token in tokens], [token.kind + 1 for token in tokens]


def in_dicts_pairs_and_rows(n: Any) -> Any:
    by_number, pairs, rows, some = {}, [], [[Level.LOW] * n for _ in range(n)], [None] * n
    for i in range(n):
        by_number[i] = Level.HIGH if i % 2 else Level.LOW
        heapq.heappush(pairs, (Level.HIGH if i % 2 else Level.LOW, -i))
        if i % 2:
            some[i] = Level.MID
    rows[n - 1][0] = Level.HIGH
    return by_number, by_number[1].name, [heapq.heappop(pairs) for _ in range(3)], rows, rows[n - 1][0].name, some


def flags(n: Any) -> Any:
    found = []
    for i in range(n):
        found.append(Access.READ | Access.WRITE if i % 2 else Access.RUN)
    return found, found[1] & Access.READ, [bool(each & Access.WRITE) for each in found]


def names(n: Any) -> Any:
    found, same = [], []
    for i in range(n):
        found.append(Name.P if i % 2 else Name.Q)
        same.append(Name.P)
    return (found, same, found[1] is Name.P, [name.value for name in found], found[0] == "q", "p" in found,
            [name.name for name in found if name is Name.P])


def of_two_kinds(n: Any) -> Any:
    found = []
    for i in range(n):
        if i % 2:
            found.append(Kind.A)
        else:
            found.append(Level.LOW)
    return found


def carried(n: Any) -> Any:
    level, found = Level.LOW, []
    for _ in range(n):
        found.append(level)
        level = Level.HIGH if level is Level.LOW else Level.LOW
    if n > 3:
        found = [level]
    return found


def beside_numbers(n: Any) -> Any:
    one, other, third = [Level.LOW], levels(n), [0] * n
    for i in range(n):
        one.append(i)
        third[i] = Level.HIGH if i % 2 else Level.LOW
    other.append(7)
    other.append(Level.MID)
    if n > 2:
        other = [3]
    return [int(x) for x in one], [int(x) for x in other], [int(x) for x in third]


@executors
@pytest.mark.parametrize("fn", [
    read, as_numbers, in_a_loop, of_objects, in_dicts_pairs_and_rows, flags, names, of_two_kinds, carried,
    beside_numbers])
def test_programs(fn: Any, executor: str) -> None:
    check_shown(fn, executor, 5)


def test_beside_numbers_they_are_numbers() -> None:
    def f(n: Any) -> Any:
        found = levels(n)
        found.append(7)
        return found

    found = rt.function(f)(rt.constant(2))
    assert all(isinstance(x, rt.Tensor) for x in found) and [int(x) for x in found] == [1, 10, 7]


@executors
def test_between_functions(executor: str) -> None:
    @rt.function(executor=executor)
    def highest(found: Any) -> Any:
        return max(found), [level.name for level in found]

    @rt.function(executor=executor)
    def both(n: Any) -> Any:
        return highest(levels(n))

    assert both(rt.constant(3)) == (Level.HIGH, ["LOW", "HIGH", "LOW"])
