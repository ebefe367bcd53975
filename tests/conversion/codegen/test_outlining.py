"""The staged lanes of small functions are functions of their own: the variables of the plain lane are no cells."""
from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

import autograph as ag
import runtime as rt


def decides(x, n=2):
    if x < n:
        return x
    return x * decides(x - n)


def chooses(x):
    y = x + 1
    if y > 3:
        y = y * 2
        z = y
    else:
        z = -y
    return y + z


def guarded(x, *rest, scale=2, **options):
    y = scale
    try:
        y = x // rest[0] + options.get("more", 0)
    except ZeroDivisionError:
        y = -1
    return y + scale


def finishes(x, y):
    try:
        return x // y
    finally:
        y = 0


class Held:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return error[0] is not None and issubclass(error[0], ZeroDivisionError)


def within(x, y):
    held = Held()
    z = 0
    with held:
        z = x // y
    return z


def adds(xs):
    total = 0
    for x in xs:
        total += x
    return total


def twice(x):
    y = x
    if x > 1:
        y = x - 1
    if y > 1:
        y = y - 1
    return x, y


class Private:
    def __init__(self, x):
        self.__x = x

    def value(self):
        __more = 1
        if self.__x > 1:
            __more = self.__x
        return __more


    def total(self):
        __total, __table = 0, {"k": 1}
        for __i in range(self.__x):
            __total = __total + __i
            __table["k"] = __table["k"] + __total
        return __total + __table["k"]


def private(x):
    return Private(x).value() + Private(x).total()


class _Private(Private):
    def value(self):
        __more__ = 5
        __more = super().value()
        if __more > 1:
            __more__ = __more
            __more = __more + 1
        return __more + __more__


def private_of_another_class(x):
    return _Private(x).value()


class __:
    def value(self, x):
        __more = 1
        if x > 1:
            __more = x
        return __more


def not_private(x):
    return globals()["__"]().value(x)


def value(x: Any) -> Any:
    return x.numpy().tolist() if hasattr(x, "numpy") else tuple(map(value, x)) if isinstance(x, tuple) else x


FAST: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (chooses, [(1,), (5,)]), (guarded, [(7, 2), (7, 0)]), (finishes, [(7, 2), (7, 3)]), (within, [(7, 2), (7, 0)]),
    (adds, [([1, 2, 3],)]), (twice, [(0,), (2,), (5,)]), (Private.value, []),
]


@pytest.mark.parametrize(("fn", "arguments"), FAST, ids=lambda x: getattr(x, "__name__", ""))
def test_variables_are_no_cells_where_no_other_function_has_them(fn, arguments):
    converted, staged = ag.convert(fn), rt.function(fn)
    assert converted.__code__.co_cellvars == ()
    for args in arguments:
        assert converted(*args) == fn(*args)
        assert value(staged(*map(rt.constant, args))) == fn(*args)
        assert converted(*args) == fn(*args)


def test_recursion_and_private_names():
    assert ag.convert(decides)(7) == decides(7) and ag.convert(decides).__code__.co_cellvars == ()
    for fn in (private, private_of_another_class, not_private):
        for x in (0, 3):
            assert value(rt.function(fn)(rt.constant(x))) == fn(x)
            assert ag.convert(fn)(x) == fn(x)


def perhaps_bound(x, n):
    if n > 1:
        y = 1
    if x > 1:
        z = y
    else:
        z = 0
    return z


def closes_over(x):
    y = 1
    if x > 1:
        y = x
    return (lambda: y)()


def forgets(x, y):
    z = x
    if x > 1:
        z = y
    del y
    return z


def walrus(x, y):
    if x > 1 and (z := y) > 1:
        return z
    return x


def catches(x, y):
    try:
        y = 1 // y
    except ZeroDivisionError as error:
        y = len(error.args)
    if x > 1:
        y = y + x
    return y


class Base:
    def part(self, x):
        return x


class Derived(Base):
    def part(self, x):
        y = super().part(x)
        if x > 1:
            y = super().part(x + 1)
        return y


def calls_super(x):
    return Derived().part(x)


SLOW: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (perhaps_bound, [(0, 0), (2, 2), (0, 2)]), (closes_over, [(0,), (3,)]), (forgets, [(0, 5), (3, 5)]),
    (walrus, [(0, 1), (2, 1), (2, 3)]), (catches, [(0, 0), (2, 1), (3, 0)]),
    (calls_super, [(0,), (3,)]),
]


@pytest.mark.parametrize(("fn", "arguments"), SLOW, ids=lambda x: getattr(x, "__name__", ""))
def test_lanes_stay_where_it_is_not_known_what_is_bound(fn, arguments):
    converted, staged = ag.convert(fn), rt.function(fn)
    for args in arguments:
        assert converted(*args) == fn(*args)
        assert value(staged(rt.constant(args[0]), *args[1:])) == fn(*args)
    assert (ag.convert(Derived.part) if fn is calls_super else converted).__code__.co_cellvars != ()


def test_what_is_unbound_stays_so():
    with pytest.raises(UnboundLocalError, match="y"):
        ag.convert(perhaps_bound)(2, 0)
    with pytest.raises(UnboundLocalError, match="y"):
        rt.function(perhaps_bound)(rt.constant(2), 0)


def fails(x):
    y = x
    if x > 1:
        y = missing(x)  # noqa: F821
    return y


def test_errors_of_staged_lanes_name_the_function():
    with pytest.raises(NameError) as raised:
        rt.function(fails)(rt.constant(2))
    own = [f for f in traceback.extract_tb(raised.value.__traceback__) if f.filename == __file__]
    assert {f.name for f in own[1:]} == {"fails"} and own[-1].line == "y = missing(x)  # noqa: F821"


def test_a_variable_has_one_place_while_a_lane_is_staged():
    """The function that goes on has it alone: a list that changes does not seem to have two names."""
    def changes(x, items):
        if x > 1:
            items.append(x)
        return items

    assert [int(v) for v in rt.function(changes)(rt.constant(2), [rt.constant(1)])] == [1, 2]
