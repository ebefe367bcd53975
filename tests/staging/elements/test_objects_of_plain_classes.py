"""Objects of classes that are no dataclasses, which staged branches and loops make: as in Python."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on


class Vector:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor: Any) -> Vector:
        return Vector(self.x * factor, self.y * factor)

    @property
    def norm(self) -> Any:
        return (self.x ** 2 + self.y ** 2) ** 0.5


class Complex:
    def __init__(self, re: Any, im: Any = 0.0) -> None:
        self.re, self.im = re, im

    def __mul__(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __abs__(self) -> Any:
        return (self.re ** 2 + self.im ** 2) ** 0.5


class Matrix:
    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __matmul__(self, other: Matrix) -> Matrix:
        return Matrix([[sum(a * b for a, b in zip(row, column)) for column in zip(*other.rows)] for row in self.rows])


class Node:
    def __init__(self, value: Any, following: Any = None) -> None:
        self.value, self.next = value, following


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any = None) -> None:
        self.a, self.b = a, b


class Base:
    def __init__(self, v: Any) -> None:
        self.v, self.log = v, [v]

    def step(self) -> Any:
        return type(self)(self.v + 1.0)


class Derived(Base):
    def __init__(self, v: Any) -> None:
        super().__init__(v)
        self.extra = v * 2.0


class Counted:
    made = 0

    def __init__(self, v: Any) -> None:
        self.v = v
        Counted.made += 1


OUTER = Vector(1.0, 1.0)


def identity(x):
    p = Vector(x, x)
    q = p
    if x > 0:
        p = Vector(x + 1.0, x)
    return p == q, p is q, p.x, q.x


def change_after_a_choice(x):
    p = Vector(x, x)
    q = p
    if x > 0:
        p = Vector(x + 1.0, x)
    p.x = 10.0
    return p.x, q.x


def escape_time(x):
    z, c, n = Complex(0.0), Complex(x, 0.2), 0
    while abs(z) < 2 and n < 50:
        z = z * z + c
        n += 1
    return n


def simulation(x):
    p, v = Vector(x, 0.5), Vector(0.0, 0.0)
    for _ in range(50):
        v = v + p * -0.1
        p = p + v * 0.1
        if p.norm > 4:
            break
    return p.x, p.y, v.x


def power(x):
    n = rt.cast(x, rt.int32) + 6
    found, base = Matrix([[1, 0], [0, 1]]), Matrix([[1, 1], [1, 0]])
    while n > 0:
        if n % 2 == 1:
            found = found @ base
        base = base @ base
        n //= 2
    return found.rows


def slots(x):
    s = Slots(x)
    while s.a < 4:
        s = Slots(s.a + 1.0, s.a)
    return s.a, s.b is None


def derived(x):
    s = Derived(x)
    for _ in rt.range(3):
        s = s.step()
    return s.v, s.extra, s.log[0]


def in_lists(x):
    ps = [Vector(x, 0.0), Vector(0.0, x)]
    for _ in range(30):
        ps = [p + Vector(0.1, 0.2) if p.x > 0 else p * 1.1 for p in ps]
        if ps[0].norm > 8:
            break
    return [p.x for p in ps], [p.norm for p in ps]


def linked(x):
    node = Node(x)
    for k in range(3):
        if x > k:
            node = Node(x + k, node)
    total = 0.0
    while node is not None:
        total += node.value
        node = node.next
    return total


def best_of(x):
    best = Vector(0.0, 0.0)
    for k in rt.range(5.0):
        candidate = Vector(x * k, 4.0 - k)
        if candidate.norm > best.norm:
            best = candidate
    return best.x, best.y


def in_a_dict(x):
    d = {"a": Vector(x, 1.0)}
    if x > 2:
        d["a"] = d["a"] + Vector(1.0, 1.0)
    return d["a"].x, d["a"].y


def in_an_attribute(x):
    node = Node(Vector(x, 1.0))
    for _ in rt.range(3):
        node.value = node.value * 2.0
        if node.value.x > 10:
            node.next = node.value
    return node.value.x, node.next is None


def other_attributes(x):
    p = Vector(x, x)
    if x > 2:
        p = Vector(x, None)
    return p.y is None, type(p) is Vector, p.x


def by_a_closure(x):
    p = Vector(x, x)

    def move():
        nonlocal p
        p = p + Vector(1.0, 0.0)

    for _ in rt.range(3):
        move()
    return p.x


def swapped(x):
    p, q = Vector(x, 0.0), Vector(0.0, x)
    for _ in rt.range(3):
        p, q = q, p * 2.0
    p.x += 1.0
    return p.x, p.y, q.x, q.y


def caught(x):
    p = Vector(x, x)
    try:
        p = p * 2.0
        if x > 2:
            raise ValueError("large")
        p = p * 3.0
    except ValueError:
        p = p + Vector(0.5, 0.5)
    return p.x


def from_outside(x):
    p = OUTER
    if x > 2:
        p = Vector(x, 2.0)
    p.x = p.x + 1.0
    return p.x, OUTER.x, p is OUTER


PROGRAMS = [identity, change_after_a_choice, escape_time, simulation, power, slots, derived, in_lists, linked, best_of,
            in_a_dict, in_an_attribute, other_attributes, by_a_closure, swapped, caught, from_outside]


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [*map(plain, x)]
    return np.asarray(x).tolist() if isinstance(x, rt.Tensor) else x


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_python(program: Any, executor: str) -> None:
    staged = on(executor, program)
    for value in (-1.0, 0.25, 2.0, 5.0):
        x = rt.constant(value)
        OUTER.x = 1.0
        want = plain(program(x))
        OUTER.x = 1.0
        got = plain(staged(x))
        assert rt.nest.flatten(got) == pytest.approx(rt.nest.flatten(want)), (value, got, want)


def test_a_returned_object_is_a_new_one_for_each_call() -> None:
    @rt.function
    def f(x):
        p = Vector(x, 0.0)
        if x > 2:
            p = p * 3.0
        return p

    one, other = f(rt.constant(1.0)), f(rt.constant(3.0))
    assert type(one) is Vector and one is not other and (float(one.x), float(other.x)) == (1.0, 9.0)


def test_derivatives() -> None:
    def f(x):
        p = Vector(x, x)
        for _ in rt.range(3):
            p = p * x
        return p.norm

    @rt.function
    def slope(x):
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    assert float(slope(rt.constant(1.5))) == pytest.approx(2 ** 0.5 * 4 * 1.5 ** 3)


def test_what_a_first_attempt_did_is_undone() -> None:
    @rt.function
    def f(x):
        counted = Counted(x)
        if x > 2:
            counted = Counted(x + 1.0)
        return counted.v

    Counted.made = 0
    assert [float(f(rt.constant(x))) for x in (1.0, 5.0)] == [1.0, 6.0] and int(Counted.made) == 3


def test_attributes_of_classes_have_their_values_after_each_call() -> None:
    class Total:
        value = 0.0

        @classmethod
        def add(cls, x):
            if x > 0:
                cls.value = cls.value + x
            return cls.value

    f = rt.function(lambda x: Total.add(x))
    assert [float(f(rt.constant(x))) for x in (1.0, 2.0, -3.0)] == [1.0, 3.0, 3.0] and float(Total.value) == 3.0


@pytest.mark.parametrize("method", ["__setattr__", "__getattr__", "__copy__", "__reduce__", "__del__"])
def test_classes_that_could_tell_are_refused(method: str) -> None:
    def hook(self: Any, *args: Any) -> Any:
        raise NotImplementedError

    made = type("Made", (Vector,), {method: hook})
    if method in ("__setattr__", "__del__"):
        made = type("Made", (Vector,), {method: {
            "__setattr__": object.__setattr__, "__del__": lambda self: None}[method]})

    def f(x):
        p = made(x, x)
        if x > 0:
            p = made(x + 1.0, x)
        return p.x

    with pytest.raises(rt.errors.StagingError, match="Make its class a dataclass"):
        rt.function(f)(rt.constant(1.0))


# Linked objects

class Link:
    def __init__(self, value, after=None):
        self.value, self.after = value, after


class Stack:
    def __init__(self):
        self.top = None

    def push(self, x):
        self.top = Link(x, self.top)


def linked(xs):
    head = None
    for x in xs:
        head = Link(x, head)
    return head.value


def appended(xs):
    head = tail = None
    for x in xs:
        link = Link(x)
        if head is None:
            head = tail = link
        else:
            tail.after = link
            tail = link
    return head.value


def pushed(xs):
    stack = Stack()
    for x in xs:
        stack.push(x)
    return stack.top.value


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [linked, appended, pushed])
def test_linked_objects_grow(fn: Any, executor: str) -> None:
    assert int(on(executor, fn)(rt.constant([1, 2, 3]))) == fn([1, 2, 3])
