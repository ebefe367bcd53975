"""What Python can do with a value works where it may be None or unbound in the graph."""
from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from plain_values import plain
from traced_once import on

import runtime as rt


class Held:
    def __init__(self, v: Any) -> None:
        self.v = v

    def get(self) -> Any:
        return self.v

    def __add__(self, other: Any) -> Any:
        return self.v + other.v


def after(change: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The value itself, after a change."""
    def use(p, x):
        change(p, x)
        return p

    return use


def set_item(p, x):
    p[0] = x * 5


def add_to_item(p, x):
    p[0] += x


def delete_item(p, x):
    del p[0]


def swap(p, x):
    p[0], p[1] = p[1], p[0]


def set_slice(p, x):
    p[0:1] = [x, x]


def extended(p, x):
    p += [x]
    return p


def repeated(p, x):
    p *= 2
    return p


def grown(p, x):
    p += 1.0
    return p


def unpacked(p, x):
    a, b = p
    return a - b


OF_LISTS = [
    lambda p, x: p + [x], lambda p, x: [x] + p, extended, lambda p, x: p * 2, repeated, lambda p, x: p == [x, x * 2],
    lambda p, x: p != [x], lambda p, x: p < [x, x * 3], lambda p, x: [*p, x], lambda p, x: p[-1], lambda p, x: p[1:],
    after(set_item), after(add_to_item), after(delete_item), after(swap), lambda p, x: x in p,
    lambda p, x: len(p), lambda p, x: sum(p), lambda p, x: [v * 2 for v in p], lambda p, x: sorted(p),
    lambda p, x: p.copy(), lambda p, x: p.pop(), after(lambda p, x: p.insert(0, x)), after(lambda p, x: p.extend(p)),
    lambda p, x: max(p), lambda p, x: list(reversed(p)), lambda p, x: list(enumerate(p))[0][1],
    lambda p, x: not p, lambda p, x: 1 if p else 0, lambda p, x: isinstance(p, list), lambda p, x: type(p) is list,
    lambda p, x: [p], lambda p, x: {"k": p}, lambda p, x: p is p]


def set_key(p, x):
    p["k"] = x * 3


def set_new_key(p, x):
    p["n"] = x


def delete_key(p, x):
    del p["k"]


def set_number(p, x):
    p[5] = x


def set_v(p, x):
    p.v = x * 3


KINDS: dict[str, tuple[Callable[[Any], Any], list[Callable[[Any, Any], Any]]]] = {
    "list": (lambda x: [x, x * 2], [*OF_LISTS, unpacked, after(set_slice)]),
    "list of the graph": (lambda x: [x * k for k in rt.range(1.0, 3.0)], [*OF_LISTS]),
    "dict": (lambda x: {"k": x, "m": x * 2}, [
        lambda p, x: p["k"], after(set_key), after(set_new_key), after(delete_key), lambda p, x: p.get("k"),
        lambda p, x: p.get("z", 0.0), lambda p, x: "k" in p, lambda p, x: list(p.values()),
        lambda p, x: [v for _, v in p.items()], lambda p, x: len(p), lambda p, x: {**p, "z": 1.0},
        lambda p, x: p | {"z": 1.0}, lambda p, x: p.pop("k"), after(lambda p, x: p.update(k=x)), lambda p, x: dict(p),
        lambda p, x: p == {"k": x, "m": x}, lambda p, x: 1 if p else 0]),
    "dict of numbers": (lambda x: {1: x, 2: x}, [
        lambda p, x: p[2], after(set_number), lambda p, x: p.get(3, 0.5), lambda p, x: sum(p.values()),
        lambda p, x: sorted(p), lambda p, x: p.pop(1)]),
    "tuple": (lambda x: (x, x * 2), [
        lambda p, x: p + (x,), lambda p, x: (x, *p), lambda p, x: p * 2, unpacked, lambda p, x: p[0],
        lambda p, x: p[1:], lambda p, x: x in p, lambda p, x: p == (x, x), lambda p, x: p < (x, x * 3),
        lambda p, x: max(p)]),
    "array": (lambda x: np.array([1.0, 2.0]), [
        lambda p, x: p + 1.0, lambda p, x: 1.0 - p, after(set_item), grown, lambda p, x: p.sum(), lambda p, x: -p,
        lambda p, x: p[1], lambda p, x: len(p), lambda p, x: np.max(p), lambda p, x: p @ p, lambda p, x: p > 1.0,
        lambda p, x: p[p > 1.5], unpacked]),
    "object": (Held, [
        lambda p, x: p.v, after(set_v), lambda p, x: p.get(), lambda p, x: p + p, lambda p, x: isinstance(p, Held),
        lambda p, x: getattr(p, "v"), lambda p, x: hasattr(p, "w"), lambda p, x: type(p) is Held]),
    "tensor": (lambda x: x * 2, [
        lambda p, x: p + 1.0, lambda p, x: 1.0 - p, grown, lambda p, x: -p, lambda p, x: p > 1.0,
        lambda p, x: rt.sqrt(p), lambda p, x: abs(p), lambda p, x: p == x, lambda p, x: max(p, x), lambda p, x: [p],
        lambda p, x: 1 if p else 0]),
    "text": (lambda x: "abc", [
        lambda p, x: len(p), lambda p, x: p + "d", lambda p, x: p == "abc", lambda p, x: p.upper() == "ABC",
        lambda p, x: p[0] == "a", lambda p, x: "b" in p]),
    "function": (lambda x: lambda y: y * 3 if x > 0.5 else y, [
        lambda p, x: p(x), lambda p, x: callable(p), lambda p, x: sum(map(p, [x, x]))]),
    "deque": (lambda x: collections.deque([x, x * 2]), [
        lambda p, x: p.popleft(), after(lambda p, x: p.append(x)), lambda p, x: sum(p), after(set_item)]),
    "range": (lambda x: range(3), [lambda p, x: sum(p), lambda p, x: [i * x for i in p], lambda p, x: p[1]]),
}


def maybe_none(kind: str) -> Callable[[Any], Any]:
    make, uses = KINDS[kind]

    def f(x):
        found = []
        for use in uses:
            p = None
            if x > 0:
                p = make(x)
            q = None
            if p is not None:
                q = use(p, x)
            found.append(q)
        return found

    return f


def maybe_unbound(kind: str) -> Callable[[Any], Any]:
    make, uses = KINDS[kind]

    def f(x):
        found = []
        for use in uses:
            if x > 0:
                p = make(x)
            found.append(use(p, x))
            del p
        return found

    return f


PROGRAMS = {(kind, ask.__name__): ask(kind) for kind in KINDS for ask in (maybe_none, maybe_unbound)}


def numbers(value: Any) -> Any:
    if isinstance(value, Held):
        return numbers(value.v)
    if isinstance(value, (list, tuple, collections.deque)):
        return [*map(numbers, value)]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else plain(value)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=" ".join)
def test_as_in_python(program: tuple[str, str], executor: str) -> None:
    f = PROGRAMS[program]
    g = on(executor, f)
    want = numbers(f(rt.constant(1.0)))
    assert numbers(g(rt.constant(1.0))) == want
    if program[1] == "maybe_none":
        assert numbers(g(rt.constant(-1.0))) == [None] * len(want)
    else:
        with pytest.raises(UnboundLocalError):
            g(rt.constant(-1.0))


def test_a_value_that_is_none_after_all() -> None:
    def f(x):
        p = None
        if x > 0:
            p = [x]
        return p[0]

    with pytest.raises(TypeError, match="'p' is None here"):
        rt.function(f)(rt.constant(-1.0))


def early(x):
    p = None
    if x > 0:
        p = Held(x)
    if p is None:
        return 0.0
    p.v = p.v + 1.0
    return p.v * 1.0 if type(p) is Held else 5.0


def conjunction(x):
    p = None
    if x > 0:
        p = [x, x]
    if p is not None and p[0] > 1 and type(p) is list:
        p.append(x)
    if p is None or p[0] > 3:
        return 0.0
    return sum(p)


@pytest.mark.parametrize("f", [early, conjunction])
def test_tests_for_none_are_known_in_what_follows(f: Any) -> None:
    g = rt.function(f)
    for value in (-1.0, 0.5, 2.0, 4.0):
        assert float(g(rt.constant(value))) == float(f(value)), value


def test_no_check_where_the_test_tells() -> None:
    def f(x):
        p = None
        if x > 0:
            p = (x, x)
        y = 0.0
        if p is not None:
            y = p[0] + p[1]
        return y

    g = rt.function(f).get_concrete_function(rt.TensorSpec((), rt.float32))
    assert "check_bound" not in str(g.graph)


def change_by_the_other_name(x):
    a = [x]
    c = None
    if x > 1:
        c = a
    if x > 2:
        a = [x * 2]
    a[0] = 9.0
    return c[0] if c is not None else 0.0, a is c


def change_of_an_unbound_name(x):
    a = [x]
    if x > 0:
        c = a
    if x > 2:
        a = [x * 2]
    a[0] = 9.0
    return c[0] if x > 0 else 0.0


def is_one(x):
    a, b = [x], [x]
    c = a if x > 1 else None
    d = None
    if x > 2:
        d = c
    return a is c, b is c, d is c, c is d, d is None


@pytest.mark.parametrize("f", [change_by_the_other_name, change_of_an_unbound_name, is_one])
def test_a_name_that_may_be_none_is_an_alias(f: Any) -> None:
    g = rt.function(f)
    for value in (-1.0, 1.5, 3.0):
        assert plain(g(rt.constant(value))) == plain(f(value)), value


class Node:
    def __init__(self, value: Any, rest: Any = None) -> None:
        self.value, self.rest = value, rest


def chain(x):
    node = None
    for k in range(3):
        if x > k:
            node = Node(x + k, node)
    return node


def traversed(x):
    node, total = chain(x), 0.0
    while node is not None:
        total = total * 2 + node.value
        node = node.rest
    return total


def changed_on_the_way(x):
    first = node = chain(x)
    while node is not None:
        node.value = node.value * 2
        node = node.rest
    return first.value


def test_linked_lists() -> None:
    g = rt.function(traversed)
    for value in (-1.0, 0.5, 1.5, 3.0):
        assert float(g(rt.constant(value))) == traversed(value)
    assert plain(rt.function(changed_on_the_way)(rt.constant(3.0))) == plain(changed_on_the_way(3.0))


class Lowest:
    def __init__(self) -> None:
        self.v: Any = None

    def push(self, v: Any) -> None:
        if self.v is None or v < self.v:
            self.v = v


def attribute_of_one_of_two(x):
    a, b = Lowest(), Lowest()
    (a if x > 2 else b).v = x
    chosen = a if x > 1 else b
    chosen.v = 7.0 if chosen.v is None else chosen.v + 1
    return a.v, b.v


def method_of_one_of_two(x):
    a, b = Lowest(), Lowest()
    for i in range(4):
        (a if i < x else b).push(x - i)
    return a.v, b.v


def pair_in_one_of_two(x):
    a, b = Lowest(), Lowest()
    if x > 0:
        a.v = x, x
    (a if x > 2 else b).v = x + 1, x
    return a.v, b.v


def item_of_a_list(x):
    items = [None, None, None]
    if x > 0:
        items[0] = x
    if x > 1:
        items[1] = 4.0
    items[abs(int(x)) % 3] = 7.0
    return items


@pytest.mark.parametrize("f", [attribute_of_one_of_two, method_of_one_of_two, pair_in_one_of_two, item_of_a_list])
def test_a_place_that_a_tensor_tells_is_written_where_none_was(f: Any) -> None:
    g = rt.function(f)
    for value in (-1.0, 1.5, 3.0):
        assert plain(g(rt.constant(value))) == plain(f(value)), value
