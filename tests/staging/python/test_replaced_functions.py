"""Classes of objects that only the graph knows: `type`, `issubclass`, dispatch by class, attributes of classes; objects
as indices."""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import executors, shown
from tests.traced_once import on


@dataclass
class Circle:
    r: Any


@dataclass
class Square:
    side: Any


class Base:
    count = 0
    kind = "base"

    def __init__(self, x):
        self.x = x
        Base.count += 1


class A(Base):
    kind = "a"


class B(Base):
    kind = "bb"

    def __init__(self, x):
        super().__init__(x + 1)

    @classmethod
    def make(cls, v):
        return cls(v * 2)


class C(A):
    @classmethod
    def make(cls, v):
        return cls(v * 3)


def pick(n):
    return A(n) if n > 2 else B(n)


def is_sub(n):
    o = pick(n)
    return issubclass(type(o), Base), issubclass(type(o), A), issubclass(type(o), (B, int))


def name(n):
    o = pick(n)
    return type(o).__name__, type(o).kind, o.kind


def type_is(n):
    o = pick(n)
    return type(o) is A, type(o) is not B, type(o) == A, type(o) in (A, C)  # noqa: E721


def type_same(n):
    o, p = pick(n), pick(n + 1)
    return type(o) is type(p), type(o) == type(p)  # noqa: E721


def type_call(n):
    o = pick(n)
    return type(o)(n).x


def type_grown(n):
    os = []
    for i in range(n):
        if i % 2:
            os.append(A(i))
        else:
            os.append(B(i))
    s, t = 0, 0
    for o in os:
        if type(o) is A:
            s += o.x
        elif type(o) == B:  # noqa: E721
            t += o.x
        s += len(type(o).__name__) + len(o.kind)
    return s, t


def type_key(n):
    o = pick(n)
    names = {A: 1, B: 2}
    return names[type(o)]


def text_of_type(n):
    o = pick(n)
    return f"{type(o).__name__}({o.x})", f"{type(o).__qualname__}"


def counter(n):
    before = Base.count
    for i in range(n):
        if i % 2:
            B(i)
        else:
            A(i)
    return Base.count - before


class Node:
    count = 0
    made = []

    def __init__(self, v):
        Node.count += 1
        self.id = Node.count
        self.v = v

    @classmethod
    def reset(cls):
        cls.count = 0


def ids(n):
    Node.reset()
    nodes = [Node(i) for i in range(n)]
    return [x.id for x in nodes], Node.count


def ids2(n):
    Node.count = 0
    last = None
    for i in range(n):
        if i % 3 != 1:
            last = Node(i)
    return Node.count, last.id if last is not None else -1


@functools.singledispatch
def area(s):
    return -1


@area.register
def _(s: Circle):
    return 3 * s.r


@area.register
def _(s: Square):
    return s.side * s.side


@area.register(int)
def _(s):
    return s


def dispatch(n):
    s = Circle(n) if n > 2 else Square(n)
    return area(s), area(Circle(n)), area("x")


def dispatch_loop(n):
    shapes = [Circle(1), Square(2), Circle(3)]
    t = 0
    for i in range(n):
        t += area(shapes[i % 3])
    return t


def dispatch_grown(n):
    shapes = [Circle(i) if i % 2 else Square(i) for i in range(n)]
    t = 0
    for s in shapes:
        t += area(s)
    return t


class Visitor:
    def __init__(self):
        self.n = 0

    @functools.singledispatchmethod
    def visit(self, s):
        return 0

    @visit.register
    def _(self, s: Circle):
        self.n += 1
        return s.r

    @visit.register
    def _(self, s: Square):
        self.n += 10
        return s.side


def visitor(n):
    v = Visitor()
    shapes = [Circle(1), Square(2), Circle(3)]
    t = 0
    for i in range(n):
        t += v.visit(shapes[i % 3])
    return t, v.n


def classmethods(n):
    o = B(n) if n > 2 else C(n)
    return o.make(n).x, type(o).make(1).x, B.make(n).x


def super_(n):
    return B(n).x, pick(n).x


class Place:
    def __init__(self, x):
        self.x = x

    def __index__(self):
        return self.x + 1 if self.x < 2 else self.x


def index_of_a_chosen_object(n):
    xs = [10, 20, 30, 40, 50, 60, 70, 80, 90]
    o = Place(n) if n > 2 else Place(1)
    return xs[o], "abcdefghi"[o], tuple(xs)[Place(n)]


def index_in_a_loop(n):
    xs = [i * i for i in range(9)]
    places = [Place(i) for i in range(9)]
    s = 0
    for i in range(n):
        s += xs[places[i]]
        xs[places[i]] = 3
    return s, xs


def index_to_delete(n):
    xs = [i * n for i in range(9)]
    del xs[Place(n % 3)]
    xs[Place(n % 4)] += 100
    return xs


PROGRAMS = [
    index_of_a_chosen_object, index_in_a_loop, index_to_delete,
    is_sub, name, type_is, type_same, type_call, type_grown, type_key, text_of_type, counter, ids, ids2, dispatch,
    dispatch_loop, dispatch_grown, visitor, classmethods, super_]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_programs(fn: Any, executor: str) -> None:
    traced = on(executor, fn)
    for n in (0, 1, 2, 3, 5, 8):
        assert shown(traced(rt.constant(n))) == shown(fn(n))
