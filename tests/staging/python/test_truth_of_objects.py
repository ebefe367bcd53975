"""Objects whose `__bool__` or `__len__` gives what only the graph knows decide statements and operators."""
from __future__ import annotations

from typing import Any

import pytest
from plain_values import plain
from traced_once import on

import runtime as rt


class Positive:
    def __init__(self, v: Any) -> None:
        self.v = v
        self.asked = 0

    def __bool__(self) -> Any:
        self.asked += 1
        return self.v > 0


class Stack:
    def __init__(self, items: Any = ()) -> None:
        self.items = list(items)

    def push(self, x: Any) -> Any:
        self.items.append(x)
        return self

    def pop(self) -> Any:
        if not self.items:
            raise IndexError("empty")
        return self.items.pop()

    def __len__(self) -> Any:
        return len(self.items)


def statements(x, n):
    p = Positive(x - 1)
    a = 1 if p else 2
    if not p:
        a += 10
    b = 0.0
    if p and n > 1:
        b = x
    return a, b, bool(p), 5 if p or x < 0 else 6, [k for k in (1.0, 2.0) if Positive(x - k)]


def loops(x, n):
    p, q, r = Positive(n), Positive(2), Positive(2)
    i, j, k = 0, 0, 0
    while p:
        p.v = p.v - 1
        i += 1
    while q and j < n:
        q.v = q.v - 1
        j += 1
    while r:
        r.v = r.v - 1 if x > 1 else r.v - 2
        k += 1
    return i, j, k


def stacks(x, n):
    s, t = Stack([x]), Stack([x])
    while s and n > 0:
        y = s.pop()
        if y > 1:
            s.push(y - 1).push(y / 2)
        n -= 1
    while t:
        y = t.pop()
        if y > 1:
            t.push(y - 1)
    return len(s), len(t), not s, bool(t)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", [statements, loops, stacks])
def test_as_in_python(f: Any, executor: str) -> None:
    g = on(executor, f)
    for x, n in ((0.5, 3), (2.0, 1), (3.5, 4)):
        assert plain(g(rt.constant(x), rt.constant(n))) == f(x, n), (x, n)


def test_each_test_asks_once() -> None:
    def f(x):
        p = Positive(2.0)
        y = x
        if p:
            y = y + 1
        if p and x > 0:
            y = y + 1
        return y, p.asked

    assert plain(rt.function(f)(rt.constant(1.0))) == (3.0, 2)


def test_what_is_no_truth() -> None:
    class Odd:
        def __bool__(self):
            return 3

    with pytest.raises(TypeError, match="__bool__ should return bool"):
        rt.function(lambda x: 1 if Odd() else x)(rt.constant(1))


def test_operands_of_which_only_the_truth_is_known() -> None:
    def decided(x):
        return 1 if (x > 0 and [1]) or [] else 2

    def returned(x):
        return (x > 0 and [1]) or [2]

    assert [int(rt.function(decided)(rt.constant(x))) for x in (1, 0)] == [decided(1), decided(0)]
    with pytest.raises(rt.errors.StagingError, match=r"\[the int 1\] if the condition holds .*but the bool False"):
        rt.function(returned)(rt.constant(1))
