"""Objects of different classes, of which branches and loops choose or make one."""
from __future__ import annotations

import dataclasses
import operator
from collections import deque
from typing import Any

import numpy as np
import pytest
from plain_values import plain
from traced_once import on

import runtime as rt
from tests import chosen_classes


class Square:
    def __init__(self, s: Any) -> None:
        self.s = s

    def area(self) -> Any:
        return self.s ** 2

    def grow(self, k: Any) -> None:
        self.s = self.s * k


class Circle:
    def __init__(self, r: Any, name: str = "c") -> None:
        self.r, self.name = r, name

    def area(self) -> Any:
        return 3.0 * self.r ** 2

    def grow(self, k: Any) -> None:
        self.r = self.r + k


@dataclasses.dataclass
class Triangle:
    a: Any
    b: Any

    def area(self) -> Any:
        return self.a * self.b / 2

    def grow(self, k: Any) -> None:
        self.a += k


class Idle:
    name = 0

    def next(self, v):
        return Busy(v) if v > 1 else self


class Busy:
    name = 1

    def __init__(self, left: Any) -> None:
        self.left = left

    def next(self, v):
        if self.left > 0:
            self.left = self.left - 1
            return self
        return Idle()


def of_three(x, n):
    if x > 1:
        s = Square(x)
    elif x > 0.7:
        s = Circle(x)
    else:
        s = Triangle(x, 3.0)
    s.grow(2.0)
    return s.area(), isinstance(s, Square), isinstance(s, (Circle, Triangle)), hasattr(s, "r")


def in_a_loop(x, n):
    s = Square(x)
    for i in range(n):
        if i > 1:
            s = Circle(s.area())
        s.grow(1.5)
    return s.area(), isinstance(s, Circle)


def while_it_is_small(x, n):
    s = Square(x)
    while n > 0:
        if s.area() > 4:
            s = Circle(1.0)
        else:
            s.grow(1.5)
        n -= 1
    return s.area(), isinstance(s, Circle)


def made_in_a_loop(x, n):
    total = 0.0
    for i in range(n):
        s = Square(x + i) if i % 2 == 0 else Triangle(x, i * 1.0)
        s.grow(2.0)
        total += s.area()
    return total


def by_another_name(x, n):
    if x > 1:
        s = Square(x)
    else:
        s = Circle(x)
    t = s
    if x > 3:
        s = Triangle(x, x)
    t.grow(2.0)
    return s.area(), t.area(), s is t


def states(x, n):
    state, count = Idle(), 0
    for i in range(n + 3):
        state = state.next(x * i)
        count = count * 2 + state.name
    return count


def of_a_list(x, n):
    shapes = [Square(x), Circle(x), Triangle(x, 2.0)]
    total = 0.0
    for i in range(n):
        s = shapes[i % 3]
        s.grow(1.5)
        total += s.area()
    best = None
    for k in shapes:
        if best is None or k.area() > best.area():
            best = k
    return total, shapes[0].s, shapes[1].r, best.area(), best is shapes[1]


def of_two_names(x, n):
    p, q = Square(x), Circle(x)
    r = p if x > 1 else q
    r.grow(2.0)
    return r.area(), p.s, q.r, r is p


def or_none(x, n):
    s = None
    if x > 1:
        s = Square(x)
    elif x > 0.7:
        s = Circle(x)
    return -1.0 if s is None else s.area()


def in_containers(x, n):
    d = {"s": Square(x) if x > 1 else Circle(x)}
    d["s"].grow(1.0)
    holder = [d["s"]]
    return holder[0].area(), d["s"].area()


PROGRAMS = [of_three, made_in_a_loop, by_another_name, of_a_list, of_two_names, or_none, in_containers, in_a_loop,
            while_it_is_small, states]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_as_in_python(f: Any, executor: str) -> None:
    g = on(executor, f)
    for x, n in ((0.5, 3), (2.0, 5), (3.5, 4)):
        got, want = plain(g(rt.constant(x), rt.constant(n))), f(x, n)
        assert rt.nest.flatten(got) == pytest.approx(rt.nest.flatten(want), rel=1e-5), (x, n)


def test_results_are_of_the_class_that_the_call_makes() -> None:
    @rt.function
    def f(x):
        return Square(x) if x > 1 else Circle(x)

    square, circle = f(rt.constant(2.0)), f(rt.constant(0.5))
    assert type(square) is Square and float(square.s) == 2 and type(circle) is Circle and float(circle.r) == 0.5


def test_derivatives() -> None:
    def f(x):
        s = Square(x) if x > 1 else Circle(x)
        return s.area()

    for x, slope in ((2.0, 4.0), (0.5, 3.0)):
        v = rt.Variable(x)
        with rt.GradientTape() as tape:
            y = rt.function(f)(v)
        assert float(tape.gradient(y, v)) == slope


# What the methods change outside of the object.

COUNT = 0
LOG: list[Any] = []
TABLE = {"n": 0}


class Plain:
    made = 0

    def hit(self):
        global COUNT
        COUNT += 1

    def note(self):
        LOG.append(1)
        TABLE["n"] += 1

    def tally(self):
        Plain.made += 1

    @property
    def noted(self):
        LOG.append("plain")
        return 1


class Derived(Plain):
    def hit(self):
        global COUNT
        COUNT += 10

    def note(self):
        LOG.append(2)

    def tally(self):
        super().tally()

    @property
    def noted(self):
        LOG.append("derived")
        return 2


BOTH = [Plain(), Derived()]
CALL_HIT = operator.methodcaller("hit")


def by_an_expression(x):
    (Plain() if x > 0 else Derived()).hit()


def by_index(x):
    for i in range(x + 2):
        BOTH[i % 2].note()


def by_class(x):
    made = Plain if x > 0 else Derived
    made().hit()


def by_super(x):
    for i in range(x + 2):
        BOTH[i % 2].tally()


def by_bound_method(x):
    method = (Plain() if x > 0 else Derived()).note
    method()


def by_property(x):
    return (Plain() if x > 0 else Derived()).noted


def by_callback(x):
    o = Plain() if x > 0 else Derived()
    list(map(lambda _: o.hit(), [1, 2]))


def by_text(x):
    getattr(Plain(), "hit" if x > 0 else "note")()


def by_text_of_one_of_both(x):
    o = Plain() if x > 1 else Derived()
    m = getattr(o, "hit" if x > 0 else "note")
    if x < 2:
        m()


def by_a_function_of_operator(x):
    if x > 0:
        CALL_HIT(BOTH[0])
    CALL_HIT(BOTH[x % 2])


def by_a_dict_of_the_class(x):
    if x > 0:
        Plain.__dict__["hit"](BOTH[0])


def by_text_of_python(x):
    if x > 0:
        getattr(BOTH[0], "hit")()
    else:
        for name in ("no", "te"), ("hi", "t"):
            getattr(BOTH[1], "".join(name))()


def _effects() -> Any:
    global COUNT
    found = COUNT, plain([*LOG]), dict(TABLE), Plain.made, "made" in vars(Derived)
    COUNT = Plain.made = TABLE["n"] = 0
    LOG.clear()
    return found


@pytest.mark.parametrize("f", [
    by_an_expression, by_index, by_class, by_super, by_bound_method, by_property, by_callback, by_text,
    by_text_of_one_of_both, by_a_function_of_operator, by_a_dict_of_the_class, by_text_of_python])
def test_effects_outside_are_those_of_one_method(f: Any) -> None:
    g = rt.function(f)
    for x in 1, 0, 1:
        want = f(x), _effects()
        got = g(rt.constant(x))
        assert (None if got is None else plain(got), _effects()) == want, x


class Holder:
    def __init__(self, held):
        self.held = held


class Other(Holder):
    pass


def a_list(x):
    held = []
    o = Holder(held) if x > 0 else Other(held)
    o.held.append(x)
    return held, o.held is held


def two_lists(x):
    p, q = [1], [2]
    o = Holder(p) if x > 0 else Other(q)
    o.held.append(x)
    p.append(5)
    return p, q, o.held


def an_array(x):
    held = np.zeros(2)
    o = Holder(held) if x > 0 else Other(held)
    o.held[0] = 5
    return held


def a_deque(x):
    held = deque([1])
    o = Holder(held) if x > 0 else Other(held)
    o.held.appendleft(x)
    return [*held]


def a_list_in_an_object(x):
    held = Holder([])
    o = Holder(held) if x > 0 else Other(held)
    o.held.held.append(x)
    return held.held


def a_list_in_a_tuple(x):
    held = [0]
    o = Holder((held, 1)) if x > 0 else Other((held, 2))
    o.held[0].append(x)
    return held


def a_list_of_the_branch(x):
    held = [0]
    if x > 0:
        k = [7]
        o = Holder(k)
    else:
        k = held
        o = Other(k)
    o.held.append(4)
    k.append(5)
    return held, k


def lists_of_two_lengths(x):
    n, m = [1], [2]
    o = [n, m] if x > 0 else [m]
    o[0].append(7)
    return n, m, len(o), o[0] is n


def dicts_of_other_keys(x):
    n = {"k": 1}
    o = {1: n, 2: n} if x > 0 else {1: n}
    o[1]["k"] += 2
    return n


@pytest.mark.parametrize("f", [
    a_list, two_lists, an_array, a_deque, a_list_in_an_object, a_list_in_a_tuple, a_list_of_the_branch,
    lists_of_two_lengths, dicts_of_other_keys])
def test_containers_with_other_names_are_no_copies(f: Any) -> None:
    g = rt.function(f)
    for x in 1, 0, 1:
        assert str(plain(g(rt.constant(x)))) == str(plain(f(x))), x


def test_random_programs() -> None:
    found = {seed: chosen_classes.outcome(chosen_classes.Program(seed), f"<chosen_classes {seed}>", "numpy")
             for seed in range(14)}
    assert {seed: text for seed, text in found.items() if text not in ("same", "refused")} == {}
    assert sum(text == "same" for text in found.values()) >= 9
