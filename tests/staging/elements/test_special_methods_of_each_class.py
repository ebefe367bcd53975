"""Special methods of one of several objects of different classes: those of the class of each."""
from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from plain_values import plain

import runtime as rt


class Zero:
    """All that differs from `object`."""

    def __init__(self, v=0):
        self.v = v

    def __bool__(self): return False
    def __len__(self): return 3
    def __eq__(self, other): return True
    def __hash__(self): return 1
    def __lt__(self, other): return self.v < 3
    def __add__(self, other): return self.v + other
    def __radd__(self, other): return 11
    def __sub__(self, other): return NotImplemented
    def __iadd__(self, other): self.v += other; return self  # noqa: E702
    def __neg__(self): return -5
    def __abs__(self): return 5
    def __invert__(self): return 6
    def __divmod__(self, other): return 1, 2
    def __matmul__(self, other): return 19
    def __getitem__(self, i): return i + self.v
    def __setitem__(self, i, v): self.v = v + i
    def __delitem__(self, i): self.v = -i
    def __contains__(self, x): return x == 3
    def __iter__(self): return iter([1, self.v, 3])
    def __int__(self): return 2
    def __float__(self): return 2.5
    def __index__(self): return 1
    def __round__(self, n=0): return 4
    def __enter__(self): self.v = 8; return self  # noqa: E702
    def __exit__(self, *error): self.v += 1
    def __str__(self): return f"zero {self.v}"
    def __call__(self, k): return k + 1


class Same(Zero):
    """Inherits all."""


class One:
    """Has the reflected subtraction, no addition in place, and no `abs`."""

    def __init__(self, v=0):
        self.v = v

    def __len__(self): return 5 * self.v
    def __eq__(self, other): return other == 4
    def __hash__(self): return 2
    def __lt__(self, other): return False
    def __add__(self, other): return self.v + 2
    def __radd__(self, other): return 33
    def __rsub__(self, other): return other + 21
    def __neg__(self): return -50
    def __getitem__(self, i): return i * 2
    def __setitem__(self, i, v): self.v = v * 2
    def __contains__(self, x): return x == 4
    def __iter__(self): return iter((4, 5, 6))
    def __int__(self): return 3
    def __float__(self): return 3.5
    def __index__(self): return 2
    def __enter__(self): self.v = 80; return self  # noqa: E702
    def __exit__(self, *error): self.v += 10
    def __str__(self): return "one"
    def __call__(self, k): return k * 2


class Bare:
    v = 7


KEPT = [Zero(1), One(2), Same(3)]
NO_TEXT = Bare()


def truth(o):
    return 1 if o else 2, not o, bool(o), 1 if o and 5 else 2, 3 if o or 0 else 4


def asserted(o):
    try:
        assert o
    except AssertionError:
        return "no"
    return "yes"


def repeated(o):
    n = 0
    while o:
        n += 1
        if n > 3:
            break
    return n


def compared(o):
    return o == 1, o != 1, 1 == o, o == 4, o < 3, 3 > o


def added(o):
    return o + 1, 1 + o, -o, len(o)


def subtracted(o):
    try:
        return 5 - o
    except TypeError:
        return -1


def absolute(o):
    try:
        return abs(o)
    except TypeError:
        return -1


def items(o):
    o[1] = 3
    return o[1], o.v, 3 in o, 4 in o, 5 not in o


def converted(o):
    return int(o), float(o), [7, 8, 9][o], str(o), f"{o}", f"{o!s}"


def iterated(o):
    n = 0
    for v in o:
        n = n * 10 + v
    a, b, c = o
    return n, a, b, c, list(o), sorted(o)


def entered(o):
    with o as p:
        v = p.v
    return v, o.v


def called(o):
    return o(4)


def classes(o):
    return o.__class__.__name__, type(o).__name__, o.__class__ is Zero, isinstance(o, Zero)


def in_place(o):
    o += 3
    del o[4]
    return o.v, abs(o), ~o, divmod(o, 2), o @ 3, round(o)


USES = [truth, asserted, repeated, compared, added, subtracted, absolute, items, converted, iterated, entered, called,
        classes]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("other", [Same, One])
def test_of_new_objects(use: Any, other: Any) -> None:
    def f(x):
        return use(Zero(x) if x > 0 else other(x))

    g = rt.function(f)
    for x in 1, 0, 2:
        assert str(plain(g(rt.constant(x)))) == str(plain(f(x))), x


@pytest.mark.parametrize("use", [use for use in USES if use not in (items, entered)])
def test_of_objects_from_before_the_call(use: Any) -> None:
    def f(i):
        return use(KEPT[i])

    g = rt.function(f)
    for i in 0, 1, 2:
        assert str(plain(g(rt.constant(i)))) == str(plain(f(i))), i


def test_of_a_class_and_a_subclass() -> None:
    def f(x):
        return in_place(Zero(x) if x > 0 else Same(x))

    g = rt.function(f)
    for x in 1, 0:
        assert str(plain(g(rt.constant(x)))) == str(plain(f(x))), x


def test_a_class_without_the_method() -> None:
    def f(x):
        o = Bare() if x > 0 else One(x)
        try:
            return 1 if o else 0, o + 1
        except TypeError:
            return 2, 5

    g = rt.function(f)
    for x in 1, 0:
        assert plain(g(rt.constant(x))) == f(x), x


class Counting(Zero):
    def __iter__(self):
        yield self.v


class Growing(Zero):
    def __init__(self, v):
        super().__init__([v])

    def __iter__(self):
        return iter(self.v)


@pytest.mark.parametrize("cls", [Counting, Growing])
def test_an_iterator_that_runs_code_or_sees_changes_is_refused(cls: Any) -> None:
    @rt.function
    def f(x):
        n = 0
        for v in cls(x) if x > 0 else One(x):
            n += v
        return n

    with pytest.raises(rt.errors.StagingError, match=f"the iterator of '{cls.__name__}' runs code, or is") as error:
        f(rt.constant(1))
    assert f"asks isinstance(x, {cls.__name__})" in str(error.value)


@dataclasses.dataclass
class Point:
    v: Any


@dataclasses.dataclass
class Place:
    v: Any


def test_text_of_dataclasses() -> None:
    f = rt.function(lambda x: f"{Point(x) if x > 0 else Place(x)}")
    assert [f(rt.constant(x)) for x in (1, 0)] == [str(Point(rt.constant(1))), str(Place(rt.constant(0)))]


def test_an_object_without_text_of_its_own_has_none() -> None:
    with pytest.raises(rt.errors.StagingError, match="it has no text but by a method"):
        rt.function(lambda x: str([KEPT[0], NO_TEXT][x]))(rt.constant(1))
