"""Objects of frozen dataclasses as keys of dicts and items of sets."""
from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

import pytest

import runtime as rt
from runtime.errors import OperatorNotAllowedInGraphError, StagingError
from tests.plain_values import executors
from tests.traced_once import on


@dataclass(frozen=True)
class Pos:
    r: int
    c: int

    def __add__(self, other):
        return Pos(self.r + other.r, self.c + other.c)


@dataclass(frozen=True, order=True)
class Later:
    z: int
    a: int


@dataclass(frozen=True)
class Move:
    to: Pos
    by: Pos


class Turn(Enum):
    LEFT = "L"
    RIGHT = "R"


@dataclass(frozen=True)
class State:
    pos: Pos
    turn: Turn
    word: str = "x"


def added(n: Any) -> Any:
    seen = {Pos(0, 0)}
    for i in range(n):
        seen.add(Pos(i % 3, 0))
    return len(seen), Pos(2, 0) in seen, Pos(0, n) in seen, (0, 0) in seen, 0 in seen


def added_in_branches(n: Any) -> Any:
    pos, seen = Pos(0, 0), set()
    for i in range(n):
        if i % 2 == 0:
            pos = Pos(pos.r + 1, pos.c)
            seen.add(pos)
    return len(seen), pos in seen


def added_in_match(n: Any) -> Any:
    pos = Pos(0, 0)
    seen = {pos}
    for i in range(n):
        match "LFRF"[i % 4]:
            case "L":
                pass
            case "F":
                pos = pos + [Pos(1, 0), Pos(0, 1)][i % 2]
                seen.add(pos)
    return len(seen), pos


def perhaps_none(n: Any) -> Any:
    seen, pos = set(), None
    for i in range(n):
        if i > 1:
            pos = Pos(i % 2, 0)
        if pos is not None:
            seen.add(pos)
    return len(seen), pos in seen


def put(n: Any) -> Any:
    found: dict[Any, Any] = {}
    for i in range(n):
        found[Pos(i % 3, 0)] = i
    return found, found[Pos(0, 0)], found.get(Pos(n, n), -1), Pos(n, 0) in found, (0, 0) in found


def counted(n: Any) -> Any:
    counts: Counter[Any] = Counter()
    for i in range(n):
        counts[Pos(i % 2, i % 3)] += 1
    return [(pos.r, pos.c, k) for pos, k in counts.items()], [*counts], counts.most_common(1)[0][1]


def fields_by_name(n: Any) -> Any:
    seen = {Later(n, 1), Later(1, n), Later(1, 1), Later(2, 0)}
    seen.discard(Later(2, 0))
    return sorted(seen), max(seen), seen == {Later(1, 1)}, sorted(seen, key=lambda x: -x.a)[0].z


def nested(n: Any) -> Any:
    seen = {Move(Pos(0, 0), Pos(n, 0))}
    found: dict[Any, Any] = {}
    for i in range(n):
        seen.add(Move(Pos(i, 0), Pos(n, i % 2)))
        found[Pos(i % 2, 0), i] = i
    return len(seen), Move(Pos(1, 0), Pos(n, 1)) in seen, Move(Pos(1, 0), Pos(n, 0)) in seen, found


def of_members_and_words(n: Any) -> Any:
    found: dict[Any, Any] = {}
    for i in range(n):
        found[State(Pos(i % 2, 0), Turn.LEFT if i % 3 else Turn.RIGHT, "ab"[i % 2])] = i
    return found


def taken(n: Any) -> Any:
    found: dict[Any, Any] = {}
    for i in range(n):
        found[Pos(i % 3, 1)] = i
    del found[Pos(0, 1)]
    return found.pop(Pos(1, 1), 0), found, found.setdefault(Pos(n, n), 7), len(found)


def known_keys(n: Any) -> Any:
    found = {Pos(0, 0): 1, Pos(0, 4): 2}
    found[Pos(0, n)] += 5
    return found, Pos(n, n) in found, {Pos(0, 0): 1, 4: 2}[n]


def groups(n: Any) -> Any:
    rows = []
    for i in range(n):
        rows.append(Pos(i % 2, 0))
    found = defaultdict(list)
    for i, pos in enumerate(rows):
        found[pos].append(i)
    return len(set(rows)), {pos: sum(items) for pos, items in found.items()}, {pos for pos in rows} == {
        Pos(0, 0), Pos(1, 0)}


def sets_of_records(n: Any) -> Any:
    found = defaultdict(set)
    for i in range(n):
        found[i % 2].add(Pos(i, 0))
    return len(found[0]), Pos(2, 0) in found[0], Pos(2, 0) in found[1]


def search(n: Any) -> Any:
    start = Pos(0, 0)
    todo, distance = deque([start]), {start: 0}
    while todo:
        pos = todo.popleft()
        for step in (Pos(0, 1), Pos(1, 0), Pos(0, -1), Pos(-1, 0)):
            to = pos + step
            if 0 <= to.r < n and 0 <= to.c < n and to not in distance and to not in {Pos(1, 1), Pos(2, 2)}:
                distance[to] = distance[pos] + 1
                todo.append(to)
    return distance[Pos(n - 1, n - 1)], len(distance)


@cache
def ways(pos: Any) -> Any:
    return 1 if pos.r == 0 or pos.c == 0 else ways(Pos(pos.r - 1, pos.c)) + ways(Pos(pos.r, pos.c - 1))


def cached(n: Any) -> Any:
    return ways(Pos(n, n))


PROGRAMS: list[Any] = [
    added, added_in_branches, added_in_match, perhaps_none, put, counted, fields_by_name, nested, of_members_and_words,
    taken, known_keys, groups, sets_of_records, search, cached]


def values(x: Any) -> Any:
    """A result with Python's numbers; dicts as lists of items, in their order."""
    if isinstance(x, dict):
        return [*map(values, x.items())]
    if isinstance(x, (list, tuple)):
        return type(x)(map(values, x))
    if is_dataclass(x):
        return type(x)(**{name: values(part) for name, part in vars(x).items()})
    return x.numpy().item() if isinstance(x, rt.Tensor) else x


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_programs(fn: Any, executor: str) -> None:
    assert values(on(executor, fn)(rt.constant(4))) == values(fn(4))


@executors
def test_keys_from_before_the_call(executor: str) -> None:
    @rt.function(executor=executor)
    def f(n: Any, found: Any) -> Any:
        for i in range(n):
            found[Pos(i, 0)] = i
        return len(found)

    found = {Pos(1, 0): 9, Pos(7, 7): 7}
    assert int(f(rt.constant(3), found)) == 4
    assert {key: int(value) for key, value in found.items()} == {Pos(1, 0): 1, Pos(7, 7): 7, Pos(0, 0): 0, Pos(2, 0): 2}
    assert [*found] == [Pos(1, 0), Pos(7, 7), Pos(0, 0), Pos(2, 0)]


@executors
@pytest.mark.parametrize("is_known", [True, False])
def test_a_missing_key(is_known: bool, executor: str) -> None:
    @rt.function(executor=executor)
    def f(n: Any) -> Any:
        found = {Pos(0, 0): 1, Pos(0, 1): 2}
        if not is_known:
            for i in range(n):
                found[Pos(i, 0)] = 5
        return found[Pos(n, 1)]

    with pytest.raises(KeyError) as info:
        f(rt.constant(2))
    assert info.value.args == (Pos(2, 1),)


@dataclass(frozen=True)
class Tagged:
    r: int
    tag: int = field(default=0, compare=False)


def test_refusals_name_the_users_line() -> None:
    @rt.function
    def other_equality(n: Any) -> Any:
        seen = set()
        for i in range(n):
            seen.add(Tagged(i))
        return len(seen)

    @rt.function
    def two_classes(n: Any) -> Any:
        found = {}
        for i in range(n):
            found[Pos(i, 0)] = 1
            found[Later(i, 0)] = 2
        return len(found)

    for f, what in ((other_equality, "a tensor cannot be a key of a dict or an item of a set here"), (
            two_classes, "a key of a dict that changes in staged code is of another kind here than the others")):
        with pytest.raises((StagingError, OperatorNotAllowedInGraphError)) as info:
            f(rt.constant(2))
        first = f.python_function.__code__.co_firstlineno
        place = str(info.value).split(": ", 1)
        assert place[0] in [f"{__file__}:{first + k}" for k in (4, 5)] and place[1].startswith(what)
