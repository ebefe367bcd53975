"""Methods of lists and dicts that were looked up before a statement that is staged: `add = xs.append`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from select_programs import EXECUTORS
from traced_once import on

import runtime as rt
from tests.plain_values import plain


def in_a_loop(n):
    xs = []
    add = xs.append
    for i in range(n):
        add(i)
    return xs


def in_branches(n):
    xs = [1, 2]
    add, pop = xs.append, xs.pop
    for i in range(n):
        if i % 2 == 0:
            add(i)
        else:
            pop()
    return xs, len(xs)


def that_compare(n):
    xs = [3, 1, 2]
    sort, count = xs.sort, xs.count
    if n > 2:
        sort()
    return xs, count(n)


def of_a_dict(n):
    d, s = {"a": 1}, 0
    get, update, item = d.get, d.update, d.__getitem__
    for i in range(n):
        update(a=i + item("a"))
        s += get("a") + get("z", 5)
    return d, s


def of_a_closure(n):
    out = []
    push = out.append

    def give(k):
        push(k)

    for i in range(n):
        for j in range(i):
            give(j)
    return out


class Stack:
    def __init__(self):
        self.items = []
        self.add = self.items.append


def of_an_attribute(n):
    stack = Stack()
    for i in range(n):
        stack.add(i)
    return stack.items


def in_a_tuple(n):
    xs = []
    methods = (xs.append,)
    for i in range(n):
        methods[0](i)
    xs.append(9)
    for i in range(n):
        methods[0](i * 2)
    return xs


def in_chosen_lists(n):
    a, b = [0], []
    calls = {"odd": [a.append], "even": [b.append, a.append]}
    for f in calls["odd" if n % 2 else "even"]:
        f(7)
    for i in range(n):
        for f in calls["odd" if i % 2 else "even"]:
            f(i)
    return a, b


def closures_in_chosen_lists(n):
    a, b = [0], {}

    def note(x):
        a.append(x)

    def count(x):
        b[x % 3] = b.get(x % 3, 0) + 1

    calls = [[note], [count, note], []]
    for i in range(n + 3):
        for f in calls[i % 3]:
            f(i)
    return a, b


class Events:
    def __init__(self):
        self.listeners = {}

    def on(self, key, listener):
        self.listeners.setdefault(key, []).append(listener)

    def emit(self, key, x):
        for listener in self.listeners.get(key, []):
            listener(x)


def of_listeners(n):
    events, seen, others = Events(), [], [1]
    events.on("a", seen.append)
    events.on("b", others.append)
    events.on("b", seen.append)
    for i in range(n):
        events.emit("a" if i % 2 else "b", i)
    return seen, others


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("program", [
    in_a_loop, in_branches, that_compare, of_a_dict, of_a_closure, of_an_attribute, in_a_tuple, in_chosen_lists,
    closures_in_chosen_lists, of_listeners,
], ids=lambda fn: fn.__name__)
def test_programs(program: Callable[..., Any], executor: str) -> None:
    staged = on(executor, program)
    for n in (3, 1, 2):
        assert plain(staged(rt.constant(n))) == plain(program(n))


def test_it_is_what_the_method_is() -> None:
    @rt.function
    def fn(n):
        xs = [1]
        add = xs.append
        for i in range(n):
            add(i)
        return add == xs.append, add.__self__ is xs, add.__name__, callable(add)

    assert fn(rt.constant(2)) == (True, True, "append", True)


TABLE = {1: 2}
look_up = TABLE.get
LOG = [1, 2, 1]
count = LOG.count


def test_what_is_not_changed_is_the_users_again() -> None:
    methods = look_up, count

    @rt.function
    def fn(n):
        x = 0
        for i in range(n):
            x += look_up(1, 0) + i
        return x + count(1)

    assert int(fn(rt.constant(3))) == 11
    assert look_up is methods[0] and count is methods[1]
