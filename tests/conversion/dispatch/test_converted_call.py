"""Calls from converted code: callees convert, of every kind, and what is bound anew is called at once."""
from __future__ import annotations

import abc
import inspect
import sys
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

import autograph as ag
import runtime as rt
from autograph.dispatch import converted_call


def clip(x, low=0, *, high=10):
    if x < low:
        x = low
    return min(x, high)


class Account:
    rate = 1

    def __init__(self, balance, rate=2):
        if balance < 0:
            balance = -balance
        self.balance, self.rate = balance, rate

    def grown(self, times=1, *, more=0):
        if self.balance > 5:
            return self.balance * self.rate * times + more
        return self.balance + more

    @classmethod
    def of(cls, balance):
        return cls(balance)

    @staticmethod
    def doubled(x):
        return 2 * x if x > 0 else x


class Slim(Account):
    __slots__ = ()

    def grown(self, times=1, *, more=0):
        return super().grown(times, more=more) + 1


def kinds_of_calls(x):
    def inner(y):
        return y + 1 if y > 2 else y

    account = Account(x, rate=3)
    total = clip(x) + clip(x, 4) + clip(x, high=3) + inner(x) + account.grown() + account.grown(2, more=x)
    total += Account.of(x).balance + Account.doubled(x) + account.doubled(x) + Slim(x).grown(*[2])
    grown = account.grown
    total += grown() + getattr(account, "grow" + "n")() + [inner, clip][1](x) + {"f": Account}["f"](x).balance
    total += Account(Account(x).balance, rate=Account(4).rate).grown() + (lambda y: inner(y))(x)
    return total + sum(clip(i) for i in range(3)) + sum([Account(i).balance for i in range(3)])


@pytest.mark.parametrize("values", [(7, -7, 1, 12), (1, 7)])
def test_every_kind_of_call_converts_again_and_again(values):
    converted, staged = ag.convert(kinds_of_calls), rt.function(kinds_of_calls)
    for _ in range(3):
        for value in values:
            expected = kinds_of_calls(value)
            assert converted(value) == expected
            assert staged(rt.constant(value)).numpy() == expected
            assert converted(rt.constant(value)).numpy() == expected


def builtins_of(x, items):
    text = str(len(items)) + "ab"
    total = len(text) + abs(x) + int(" 3 ") + max(x, 3) + sum(items) + min(items) + round(2.5)
    for i, item in enumerate(sorted(items)):
        total += i * item
    for i in range(len(items)):
        total += items[i]
    return total + len(list(reversed(items))) + sum(a * b for a, b in zip(items, items))


def test_builtins_ask_backends_after_plain_calls():
    converted, staged = ag.convert(builtins_of), rt.function(builtins_of)
    for _ in range(2):
        assert converted(4, [3, 1, 2]) == builtins_of(4, [3, 1, 2])
        assert staged(rt.constant(4), rt.constant([3, 1, 2])).numpy() == builtins_of(4, [3, 1, 2])
        assert staged(rt.constant(4), [rt.constant(3), rt.constant(1)]).numpy() == builtins_of(4, [3, 1])


class Plain:
    """In none of its methods is there anything to convert."""

    def __init__(self, x, y=1):
        self.x, self.y = x, y

    def moved(self, by):
        self.x += by
        return self.x

    def scale(self):
        return lambda by: self.x * by

    @property
    def both(self):
        return self.x, f"{self.y:>3}"


class Signed(Plain):
    def __init__(self, x):
        super().__init__(x, y=2)

    def __add__(self, other):
        if self.x > other.x:
            return self.x - other.x
        return self.x + other.x


class Made(Plain, abc.ABC):
    def __new__(cls, x):
        self = super().__new__(cls)
        self.made = x if x > 0 else -x
        return self


class point(Plain):
    pass


def making(cls, p):
    made = [Plain(p), Signed(p), Made(p), point(p), cls(p), type(made_before)(p), made_before.__class__(p)]
    made += [made_before.kind(p), Plain(*[p]), Plain(Signed(p) + Signed(3))]
    return [(type(m).__name__, vars(m)) for m in made]


made_before = Signed(9)
made_before.kind = Made


def test_objects_are_made_as_python_makes_them():
    converted, staged = ag.convert(making), rt.function(making)
    for _ in range(12):
        for cls in (Plain, Signed, Made, point):
            assert converted(cls, 5) == making(cls, 5)
            assert converted(cls, -5) == making(cls, -5)
    for value in (5, 2):
        for cls in (Plain, Signed, Made, point):
            found = staged(cls, rt.constant(value))
            assert [(name, {k: int(v) for k, v in fields.items()}) for name, fields in found] == making(cls, value)
    assert converted(Made, 7) == making(Made, 7)


def test_classes_and_methods_that_change_after_they_stood_for_themselves(monkeypatch):
    def call(cls, p, by):
        return [Plain(3).x, point(4).x, cls(5).x, Plain(6).moved(by), p.moved(by), Plain(p.x, y=0).both]

    converted = ag.convert(call)

    def made():
        p = Plain(1)
        if own is not None:
            p.moved = own
        return p

    def same(by):
        staged = rt.function(call)
        return converted(point, made(), by) == call(point, made(), by) and [
            int(v) for v in staged(point, made(), rt.constant(by))[:5]] == call(point, made(), by)[:5]

    def clamped(self, x, y=7):
        if x > 4:
            x = 4
        self.x, self.y = x, y

    def halved(self, by):
        return self.x - by if by > 3 else self.x // 2

    own = None
    for _ in range(12):
        assert converted(point, made(), 2) == call(point, made(), 2)
    assert same(2)
    monkeypatch.setattr(Plain, "__init__", clamped)
    monkeypatch.setattr(Plain, "moved", halved)
    assert same(2) and same(5)
    own = lambda by: 100 if by > 3 else 200
    assert same(2) and same(5)
    own = None
    monkeypatch.undo()
    assert same(2)
    monkeypatch.setattr(Plain.__init__, "__defaults__", (50,))
    monkeypatch.setattr(point, "__new__", lambda cls, x: SimpleNamespace(x=-x))
    for _ in range(3):
        assert same(2)


def test_special_methods_of_what_a_known_call_makes_are_staged():
    def deep(x):
        return one(x)

    def one(x):
        return two(x)

    def two(x):
        return made_deep(x)

    staged = rt.function(deep)
    for _ in range(3):
        assert ag.convert(deep)(3) == 2
    assert [int(staged(rt.constant(v))) for v in (0, 3)] == [deep(0), deep(3)] == [1, 2]


def made_deep(x):
    return made_deeper(x)


def made_deeper(x):
    module = sys.modules[__name__]
    return module.Signed(x) + module.Signed(1)


def test_an_own_name_for_a_builtin(monkeypatch):
    def call(items):
        return len(items), len([1, 2]), max(items, 3), sum([items])

    converted = ag.convert(call)
    module = call.__globals__
    items = [5, 6]
    monkeypatch.setitem(module, "max", lambda a, b: ("own", a, b))
    monkeypatch.setitem(module, "sum", lambda a: "own sum")
    assert converted(items) == (2, 2, ("own", items, 3), "own sum")
    monkeypatch.setitem(module, "len", lambda a: "own len")
    assert converted(items) == ("own len", "own len", ("own", items, 3), "own sum")
    for name in ("max", "sum", "len"):
        monkeypatch.delitem(module, name)
    with pytest.raises(TypeError, match="not supported between"):
        converted(items)


def test_a_name_or_attribute_that_is_bound_anew(monkeypatch):
    def call(account):
        return clip(12), account.grown(), Account(3).balance, sites_of.f(2)

    converted = ag.convert(call)
    account = Account(9)
    for _ in range(2):
        assert converted(account) == (10, 18, 3, 4)
    monkeypatch.setitem(call.__globals__, "clip", lambda x: x)
    monkeypatch.setattr(sites_of, "f", lambda x: -x)
    assert converted(account) == (12, 18, 3, -2)
    monkeypatch.setattr(Account, "grown", lambda self: "patched")
    assert converted(account) == (12, "patched", 3, -2)
    other = Account(1)
    account.grown = lambda: "own"
    assert converted(account)[1] == "own"
    account.grown = other.grown  # another object's method, of the same function
    assert converted(account)[1] == "patched"
    del account.grown
    monkeypatch.undo()
    assert converted(account) == (10, 18, 3, 4)
    account.grown = other.grown
    assert converted(account)[1] == other.grown() == 1


sites_of = SimpleNamespace(f=lambda x: 2 * x)


def test_defaults_that_are_assigned(monkeypatch):
    def call(account):
        return clip(-5), account.grown(), Account(6).grown()

    converted = ag.convert(call)
    account = Account(9)
    for _ in range(2):
        assert converted(account) == (0, 18, 12)
    monkeypatch.setattr(clip, "__defaults__", (-2,))
    monkeypatch.setattr(Account.grown, "__kwdefaults__", {"more": 100})
    monkeypatch.setattr(Account.__init__, "__defaults__", (3,))
    assert converted(account) == call(account) == (-2, 118, 118)
    monkeypatch.setattr(Account.grown, "__defaults__", (10,))
    assert converted(account) == call(account) == (-2, 280, 280)


def test_a_class_that_changes(monkeypatch):
    class Point:
        def __init__(self, x):
            self.x = x

    def call():
        return Point(3).x, PLACE(4).x  # noqa: F821

    monkeypatch.setitem(call.__globals__, "PLACE", Point)
    converted = ag.convert(call)
    for _ in range(2):
        assert converted() == (3, 4)
    Point.__init__ = lambda self, x: setattr(self, "x", -x)
    assert converted() == (-3, -4)
    Point.__new__ = lambda cls, x: SimpleNamespace(x="new")
    assert converted() == ("new", "new")


class Odd:
    def __init__(self):
        return "something"


def test_an_init_that_returns_something():
    converted = ag.convert(lambda: Odd())
    for _ in range(3):
        with pytest.raises(TypeError, match=r"^__init__\(\) should return None, not 'str'$"):
            converted()


@pytest.mark.parametrize("account, error", [
    (SimpleNamespace(grown=3), "'int' object is not callable"),
    (3, "'int' object has no attribute 'grown'"),
])
def test_what_cannot_be_called(account, error):
    converted = ag.convert(lambda account: account.grown())
    assert converted(Account(9)) == 18
    for _ in range(2):
        with pytest.raises((TypeError, AttributeError)) as raised:
            converted(account)
        assert str(raised.value) == error
        assert [entry.name for entry in raised.traceback][1:] == ["<lambda>"]


def test_receivers_and_closures_are_not_kept():
    def call(make, drop):
        account = make(8)
        account.grown()
        account.items = []
        account.items.append(3)
        gone = weakref.ref(account)
        account = None
        first = gone() is None
        callback = drop()
        callback()
        gone = weakref.ref(callback)
        callback = None
        return first, gone() is None

    def drop():
        held = Account(1)
        return lambda: held.balance

    converted = ag.convert(call)
    for _ in range(3):
        assert converted(Account, drop) == (True, True)


def added(x):
    return x + 1


def halved(x, by=2):
    return x // by


def test_converted_functions_have_the_attributes_of_their_own():
    def outer():
        cell = 3

        def inner(x, y=[1], *, z=2):
            """Its text."""
            return x + cell if x > 0 else y, z

        return inner

    for fn in (outer(), halved, added, clip):
        converted = ag.convert(fn)
        assert inspect.signature(converted) == inspect.signature(fn)
        assert (converted.__name__, converted.__qualname__) == (fn.__name__, fn.__qualname__)
        assert (converted.__doc__, converted.__module__) == (fn.__doc__, fn.__module__)
    assert ag.convert(outer())(4) == (7, 2)


def test_what_conversion_calls_is_not_converted():
    assert converted_call.call(clip) is not clip
    converted_call.makers.pop(id(clip.__code__))
    found: list[Any] = []

    def work() -> None:
        assert converted_call.call(clip) is clip
        thread = threading.Thread(target=lambda: found.append(converted_call.call(clip)))
        thread.start()
        thread.join()

    converted_call.at_work.run(work)
    assert found[0] is not clip
    assert converted_call.call(clip) is not clip
