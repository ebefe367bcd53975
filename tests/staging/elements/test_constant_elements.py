"""Members of an Enum, functions and classes as elements of lists, dicts and objects of the graph."""
from __future__ import annotations

import enum
import heapq
import math
from collections import deque
from typing import Any, Generic, TypeVar

import pytest

import runtime as rt
from tests.plain_values import check_shown, executors, plain

T = TypeVar("T")


class Kind(enum.Enum):
    A = 1
    B = 2
    C = 3


def more(x): return x + 1


def twice(x): return x * 2


class Token:
    def __init__(self, kind, value):
        self.kind = kind
        self.value = value


class Task:
    def __init__(self, state):
        self.state = state
        self.past = []

    def step(self):
        self.past.append(self.state)
        if self.state is Kind.A:
            self.state = Kind.B
        elif self.state is Kind.B:
            self.state = Kind.C


class Stack(Generic[T]):
    def __init__(self): self.items = []
    def push(self, x: T): self.items.append(x)


def tokens(n: Any) -> Any:
    found = []
    for i in range(n):
        if i % 3 == 0:
            found.append(Token(Kind.A, i))
        elif i % 3 == 1:
            found.append(Token(Kind.B, -i))
        else:
            found.append(Token(Kind.C, 0))
    found.append(Token(Kind.A, 100))
    total = 0
    for token in found:
        if token.kind is Kind.A:
            total += token.value
        elif token.kind == Kind.C:
            total *= 2
    return total, [token.kind for token in found]


def grid(n: Any) -> Any:
    rows = [[Kind.A] * n for _ in range(n)]
    rows[n - 1][0] = Kind.B
    rows[0][1] = Kind.C
    return rows, sum(1 for row in rows for kind in row if kind is Kind.A)


def as_values_of_a_dict(n: Any) -> Any:
    kinds = {}
    for i in range(n):
        kinds[i] = Kind.B
    kinds[1] = Kind.C
    if n > 2:
        kinds[0] = Kind.A
    return kinds


def events(n: Any) -> Any:
    queue, x, count = deque([(0, more)]), 1, 0
    while queue:
        time, action = queue.popleft()
        x = action(x)
        if count < n:
            queue.append((time + 1, twice))
            count += 1
    return x


def heap_of_events(n: Any) -> Any:
    queue = []
    for i in range(n):
        heapq.heappush(queue, (n - i, more))
    heapq.heappush(queue, (0, twice))
    x = 1
    while queue:
        _, action = heapq.heappop(queue)
        x = action(x)
    return x


def states(n: Any) -> Any:
    tasks = [Task(Kind.A) for _ in range(n)]
    for i in range(n):
        for _ in range(i):
            tasks[i].step()
    done = [task for task in tasks if task.state is Kind.C]
    done[0].state = Kind.A
    return [task.state for task in tasks], [task.past for task in tasks], len(done)


def methods_of_the_list(n: Any) -> Any:
    kinds = []
    for i in range(n):
        kinds.append(Kind.A if i % 2 else Kind.B)
    return (kinds.index(Kind.A), Kind.B in kinds, Kind.C in kinds, kinds.count(Kind.A), [kind.name for kind in kinds],
            [kind.value for kind in kinds])


def chosen_functions(n: Any) -> Any:
    functions, past = [more, twice, math.sqrt], []
    for i in range(n):
        past.append(functions[i % 2])
    x = 3
    for function in reversed(past):
        x = function(x)
    return x, past


def sorted_by_number(n: Any) -> Any:
    pairs = []
    for i in range(n):
        pairs.append((i * 7 % 5, Kind.A if i % 2 else Kind.B))
    best = max(pairs, key=lambda pair: pair[0])
    pairs.sort(key=lambda pair: pair[0])
    return best, pairs


def or_none(n: Any) -> Any:
    kinds = [None] * n
    for i in range(n):
        if i % 2:
            kinds[i] = Kind.A
    return kinds, sum(1 for kind in kinds if kind is None)


def classes(n: Any) -> Any:
    found = []
    for i in range(n):
        found.append(Token if i % 2 else Task)
    return found, found[1](Kind.A, 3).value


def counted(n: Any) -> Any:
    kinds = []
    for i in range(n):
        kinds.append(Kind.A if i % 2 else Kind.B)
    counts = {kind: 0 for kind in Kind}
    for kind in kinds:
        counts[kind] += 1
    return counts


def one_more_kind_in_each_iteration(n: Any) -> Any:
    kinds = [Kind.A, Kind.A]
    for i in range(n):
        if kinds[-1] is Kind.A:
            kinds.append(Kind.B)
        elif kinds[-1] is Kind.B:
            kinds.append(Kind.C)
        else:
            kinds.append(kinds[i])
    kinds[n] = Kind.B
    return kinds, kinds[-1] is Kind.C


def generic(n: Any) -> Any:
    stacks = [Stack[int]() for _ in range(n)]
    for i in range(n):
        stacks[i].push(i)
    stacks[n - 1].push(9)
    return [stack.items for stack in stacks]


@executors
@pytest.mark.parametrize("fn", [
    tokens, grid, as_values_of_a_dict, events, heap_of_events, states, methods_of_the_list, chosen_functions,
    sorted_by_number, or_none, classes, counted, one_more_kind_in_each_iteration, generic])
def test_programs(fn: Any, executor: str) -> None:
    check_shown(fn, executor, 5)


@executors
def test_between_functions(executor: str) -> None:
    @rt.function(executor=executor)
    def made(n: Any) -> Any:
        kinds = []
        for i in range(n):
            kinds.append(Kind.A if i % 2 else Kind.C)
        return kinds

    @rt.function(executor=executor)
    def counts(kinds: Any) -> Any:
        return [sum(1 for each in kinds if each is kind) for kind in Kind]

    @rt.function(executor=executor)
    def both(n: Any) -> Any:
        kinds = made(n)
        kinds.append(Kind.B)
        return counts(kinds)

    assert plain(both(rt.constant(5))) == [2, 1, 3] and made(rt.constant(2)) == [Kind.C, Kind.A]


def test_functions_that_each_iteration_makes_are_refused() -> None:
    def f(n: Any) -> Any:
        found = []
        for i in range(n):
            found.append(lambda x: x + i)
        return found[0](1)

    with pytest.raises(rt.errors.StagingError, match="'found' is"):
        rt.function(f)(rt.constant(3))
