"""Properties and special methods convert while a function is traced; the classes are then what they were."""
from __future__ import annotations

import functools
import threading
import weakref
from typing import NamedTuple

import pytest

import runtime as rt


class Box:
    def __init__(self, v):
        self.v = v

    @property
    def size(self):
        return self.v if self.v > 0 else -self.v

    @functools.cached_property
    def once(self):
        return self.v * 2 if self.v > 0 else 0

    def __add__(self, other):
        return self.v + (other if other > 0 else 0)

    def __bool__(self):
        return True


def attributes(cls):
    return dict(vars(cls))


def test_classes_are_put_back():
    before = attributes(Box)
    seen = []

    @rt.function
    def f(x):
        seen.append(type(vars(Box)["size"].fget) is type(attributes) and vars(Box)["size"] is before["size"])
        return Box(x).size + Box(x).once + (Box(x) + x)

    assert f(rt.constant(-3)) == 0 and f(rt.constant(3)) == 15
    assert not any(seen), "while it is traced, another property stands there"
    assert attributes(Box) == before


def test_classes_are_put_back_after_an_error():
    before = attributes(Box)

    @rt.function
    def f(x):
        raise KeyError(Box(x).size)

    with pytest.raises(KeyError):
        f(rt.constant(3))
    assert attributes(Box) == before


def test_traces_in_each_other_and_beside_each_other():
    before = attributes(Box)

    @rt.function
    def inner(x):
        return Box(x).size

    @rt.function
    def outer(x):
        first = inner(x)
        return first + Box(x).size

    assert outer(rt.constant(-2)) == 4
    assert attributes(Box) == before

    started, go_on, results = threading.Event(), threading.Event(), []

    def waits(x):
        started.set()
        go_on.wait(20)
        return Box(x).size

    thread = threading.Thread(target=lambda: results.append(int(rt.function(waits)(rt.constant(-7)))))
    thread.start()
    assert started.wait(20)
    assert inner.python_function is not None
    assert rt.function(lambda x: Box(x).size)(rt.constant(-5)) == 5
    assert attributes(Box) != before, "the other trace still needs it"
    go_on.set()
    thread.join(20)
    assert results == [7] and attributes(Box) == before


class Hidden:
    """Its objects come from where a trace does not look."""

    def __init__(self, v):
        self.v = v

    @property
    def size(self):
        return self.v if self.v > 0 else -self.v


def with_value(cls, v):
    made = object.__new__(cls)
    vars(made)["v"] = v
    return made


def test_what_a_trace_does_not_meet_says_so():
    stored = weakref.ref(Hidden)

    def make(x):
        return with_value(stored(), x)

    with pytest.raises(rt.errors.OperatorNotAllowedInGraphError) as caught:
        rt.function(lambda x: make(x).size)(rt.constant(-3))
    text = str(caught.value)
    assert "the property Hidden.size cannot decide on a tensor: reading an attribute runs its getter as it is" in text
    assert text.endswith("Put @autograph.convert between @property and the getter; or make it a method.")


class Pair(NamedTuple):
    a: int
    b: int

    @property
    def larger(self):
        return self.a if self.a > self.b else self.b


class Unit:
    __slots__ = ()

    def __add__(self, other):
        return other if other > 0 else -other


class Texts(dict):
    @property
    def mark(self):
        return 1 if self["x"] > 0 else -1


@pytest.mark.parametrize(("held", "use", "want"), [
    (Hidden, lambda held, x: with_value(held, x).size, 4),
    (Pair(3, 1), lambda held, x: held._replace(b=x).larger, 3),
    (Unit(), lambda held, x: held + x, 4),
    (Texts(x=0), lambda held, x: Texts(held, x=x).mark, -1),
], ids=["class", "tuple", "slots", "dict"])
def test_what_is_held_at_any_depth_is_met(held, use, want):
    stored = [[[[[[held]]]]]]
    cls = held if isinstance(held, type) else type(held)
    before, seen = attributes(cls), []

    @rt.function
    def f(x):
        seen.append(attributes(cls) != before)
        return use(stored[0][0][0][0][0][0], x)

    assert f(rt.constant(-4)) == want and seen == [True] and attributes(cls) == before


def test_without_autograph_nothing_converts():
    before = attributes(Box)

    @functools.partial(rt.function, autograph=False)
    def f(x):
        assert attributes(Box) == before
        return Box(x).size

    with pytest.raises(rt.errors.OperatorNotAllowedInGraphError):
        f(rt.constant(3))


class Until:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        self.n = self.n - 1
        if self.n < 0:
            raise StopIteration
        return self.n


def in_for(n):
    s = 0
    for x in Until(n):
        s += x
    return s


@pytest.mark.parametrize("fn", [
    in_for, lambda n: list(Until(n)), lambda n: sum(Until(n)), lambda n: next(Until(n), 0), lambda n: [*Until(n)]])
def test_whether_an_iterator_has_another_item_python_decides(fn):
    assert fn(3) is not None
    with pytest.raises(rt.errors.StagingError) as caught:
        rt.function(fn)(rt.constant(3))
    first, *_, last = str(caught.value).splitlines()
    assert first.startswith(f"{__file__}:{fn.__code__.co_firstlineno + 2 * (fn is in_for)}: ")
    assert first.partition(": ")[2] == (
        "whether 'Until' has another item is decided by a tensor, known only when the graph runs, and Python asks for"
        " it while the function is traced")
    assert last == (
        "Let a Python value decide when to raise StopIteration, or write the loop as a `while` on the tensor.")
    assert int(next(Until(rt.constant(3)))) == 2, "the class is what it was"
