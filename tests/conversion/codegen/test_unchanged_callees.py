"""Methods and classes that stand for themselves though they make calls; and callees of all kinds, called again."""
from __future__ import annotations

import abc
import functools
import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import autograph as ag
import runtime as rt
from autograph.codegen.dual_path import unchanged_callees
from autograph.dispatch import converted_call


class Shape:
    sides = 0

    def __init__(self, name, sides=4):
        self.name, self.sides = name, sides

    def area(self):
        return 1

    def described(self):
        return f"{self.name} {self.area()} {self.__hidden()}"

    def __hidden(self):
        return self.sides

    def each(self):
        yield self.area()

    def twice(self):
        return [self.area() for _ in range(2)]

    @classmethod
    def of(cls, name):
        return cls(name)

    @classmethod
    def square(cls):
        return cls.of("square")

    @staticmethod
    def doubled(x):
        return x * 2

    def __call__(self, x):
        return self.area() * x


class Rect(Shape):
    def __init__(self, w, h=2):
        super().__init__("rect", sides=4)
        self.w, self.h = w, h

    def area(self):
        return self.w * self.h + super().area()


class Old(Shape):
    def __init__(self, w):
        Shape.__init__(self, "old")
        self.w = str(w)


class Clipped(Rect):
    def area(self):
        area = super().area()
        return area if area < 10 else 10


class Kept:
    def __new__(cls, x):
        self = super().__new__(cls)
        self.x = x
        return self

    def shown(self):
        return repr(self.x)


class KeptMore(Kept):
    def __init__(self, x):
        self.y = x


class Pair(tuple):
    def __new__(cls, x, y):
        return tuple.__new__(cls, (x, y))


class Registered(abc.ABC):
    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls.tag = cls.__name__.lower()

    def __init__(self, *args):
        super().__init__()
        self.args = args

    @abc.abstractmethod
    def step(self, x): ...

    def run(self, x):
        return self.step(x)


class Step(Registered):
    def step(self, x):
        return x + 1


class Failure(Exception):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code


class Meta(type):
    def __new__(mcs, name, bases, members):
        return super().__new__(mcs, name, bases, members)


class Named(type):
    def short(cls):
        return 1

    def shown(cls):
        return cls.short()


class Counted(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.counted = True
        return made


class WithMeta(metaclass=Meta):
    def __init__(self, x):
        super().__init__()
        self.x = x


class WithCall(metaclass=Counted):
    def __init__(self, x):
        self.x = x


class Words(list):
    def __init__(self):
        super().__init__()

    def put(self, word):
        self.append(word)
        return self


class Guarded(Rect):
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


class Rebound(Rect):
    def described(self):
        self = Clipped(5, 6)
        return self.area()


class Odd(Rect):
    area = functools.partialmethod(lambda self, x: x, 3)

    def __new__(cls, *args):
        return Shape.__new__(Kept)


class Other(Shape):
    def __init__(self, other):
        other.__init__("x")
        super(Shape, self).__init__()


@pytest.mark.parametrize("cls, stands", [
    (Shape, True), (Rect, True), (Old, True), (Clipped, True), (KeptMore, True), (Pair, True), (Step, True),
    (Failure, True), (WithMeta, True), (Words, True), (dict, True),
    (Kept, False),  # an object of a class below it, with an `__init__` of its own, may come out
    (Odd, False), (Other, False), (WithCall, False),
])
def test_classes_that_stand_for_themselves(cls, stands):
    assert unchanged_callees.class_stands(cls) is stands


@pytest.mark.parametrize("name, cls, stands", [
    ("described", Shape, True), ("described", Rect, True), ("__call__", Rect, True), ("run", Step, True),
    ("put", Words, True), ("shown", Kept, True),
    ("described", Clipped, False), ("__call__", Clipped, False),  # which overrides `area` by one that decides
    ("described", Guarded, False), ("described", Rebound, False), ("described", Odd, False),
    ("shown", Named, False),  # of a class, which may have a `short` of its own
    ("each", Rect, False), ("twice", Rect, False),  # these run later, or hold more than calls
])
def test_methods_that_stand_for_themselves(name, cls, stands):
    assert unchanged_callees.method_stands(getattr(cls, name), cls) is stands


def test_class_methods_that_stand_for_themselves():
    for cls in (Shape, Old, Clipped):
        assert unchanged_callees.method_stands(Shape.square.__func__, cls, on_class=True)
    assert not unchanged_callees.method_stands(Shape.square.__func__, Odd, on_class=True)
    assert not unchanged_callees.method_stands(Shape.square.__func__, None)


def test_what_a_module_names_anew_is_looked_at(monkeypatch):
    assert unchanged_callees.class_stands(Old)
    monkeypatch.setitem(Old.__init__.__globals__, "str", lambda x: x)
    assert not unchanged_callees.class_stands(Old)
    monkeypatch.undo()
    monkeypatch.setitem(Old.__init__.__globals__, "Shape", Kept)
    assert not unchanged_callees.class_stands(Old)


@functools.cache
def remembered(x):
    return x + 1


def noted(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def run(*args, **kwargs):
        return fn(*args, **kwargs)

    return run


@noted
def added(x, y=1):
    return x + y


def scaled(x, by=2):
    return x * by


def adding(n):
    return lambda x: x + n


FOUR_MORE = adding(4)
five_more = adding(5)
THIRD = functools.partial(scaled, by=3)
RECT = Rect(2, 3)
SMALLER = lambda x: x - 1


def kinds(x):
    def inner(y):
        return y + x

    rect, step, words = Rect(x, h=3), Step(x), Words()
    later = lambda y: y * x
    half = functools.partial(scaled, by=0.5)
    total = rect.described() + Old(x).name + Shape.square().name + rect.of("a").name + KeptMore(x).shown()
    total += str(rect(2) + RECT(x) + rect.doubled(x) + Shape.doubled(x) + step.run(x) + Step(x).run(x))
    total += str(THIRD(x) + half(x) + remembered(x) + SMALLER(x) + FOUR_MORE(x) + five_more(x) + inner(x) + later(x))
    total += words.put("a").put("b").pop() + Words().put(total).pop() + str(WithMeta(x).x + WithCall(x).x)
    total += Failure(x).args[0] + str(sum(Pair(x, 1))) + str(max(x, inner(x)) + sum([x, x]) + len(words))
    total += str(list(map(lambda v: v + x, [x]))) + str(sum(v for v in [x]))
    return total + str(sorted([x, 1], key=abs)) + str(next(iter([x])))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="operator.call is new in 3.11: there a builtin takes a detour")
def test_nothing_of_the_tool_runs_once_callees_of_all_kinds_are_known():
    converted = ag.convert(kinds)
    expected = kinds(3)
    for _ in range(10):
        assert converted(3) == expected
    assert rt.function(lambda x: converted(3))(rt.constant(1)) == expected  # of which sites learn nothing
    for _ in range(10):
        assert converted(3) == expected
    seen: list[str] = []

    def profile(frame, event, arg):
        if event == "call" and "/autograph/" in frame.f_code.co_filename:
            seen.append(f"{frame.f_code.co_name} from line {frame.f_back.f_lineno - kinds.__code__.co_firstlineno}")

    sys.setprofile(profile)
    try:
        result = converted(3)
    finally:
        sys.setprofile(None)
    assert (result, seen) == (expected, [])


def measured(cls, x):
    shape = cls(x, 3)
    return shape.area() + shape(2), shape.name, shape.described()


def test_classes_that_stood_for_themselves_are_staged():
    converted, staged = ag.convert(measured), rt.function(measured)
    for _ in range(3):
        for cls in (Rect, Clipped):
            assert converted(cls, 2) == measured(cls, 2)
        for cls in (Clipped, Rect):
            for x in (2, 5):
                area, name, _ = staged(cls, rt.constant(x))
                assert (int(area), name) == measured(cls, x)[:2]


class First:
    def __init__(self, x):
        self.x = x

    def changed(self):
        return self.x

    def run(self):
        return self.changed()


class Second(First):
    def __init__(self, x):
        super().__init__(x)

    def changed(self):
        x = self.x
        x[0] = 7
        return x


def test_objects_of_another_class_convert_where_one_stood_for_itself():
    def call(cls, x):
        return cls(x).run()

    converted = ag.convert(call)
    for _ in range(3):
        assert converted(First, 3) == 3
        assert converted(Second, rt.constant([1, 2])).numpy().tolist() == [7, 2]  # where Python alone has no way
    with pytest.raises(TypeError):
        call(Second, rt.constant([1, 2]))


def test_what_takes_the_place_of_a_method_is_called(monkeypatch):
    def call(x):
        rect = Rect(x)
        rect.more = x
        return rect.described(), Old(x).name, Shape.square().name, rect.of("b").name, RECT(x), Step(x).run(x)

    converted = ag.convert(call)
    for _ in range(3):
        assert converted(3) == call(3)
    monkeypatch.setattr(Shape, "area", lambda self: 100 if self.sides > 3 else 0)
    assert converted(3) == call(3)
    monkeypatch.setattr(Shape, "__init__", lambda self, name, sides=5: vars(self).update(name=name * 2, sides=sides))
    assert converted(3) == call(3)
    monkeypatch.setattr(Shape, "of", classmethod(lambda cls, name: Shape(name + "!")))
    monkeypatch.setattr(Shape, "__call__", lambda self, x: -x if x > 0 else x)
    monkeypatch.setattr(Step, "run", staticmethod(lambda x: x), raising=False)
    assert converted(3) == call(3)


def test_names_that_hold_one_function_and_names_that_do_not():
    def call(x):
        def once(y):
            return y + 1 if y > 2 else y

        def twice(y):
            return y

        def assigned(y):
            return y

        def sets():
            nonlocal assigned
            assigned = scaled

        first = twice(x)
        twice = THIRD
        sets()
        if x > 100:
            def never(y):
                return y
        with pytest.raises(UnboundLocalError, match="never"):
            never(x)
        both = [once(y) for once in (scaled, THIRD) for y in (x,)]
        return first, twice(x), assigned(x), once(x), both, (lambda once: once(x))(scaled)

    converted = ag.convert(call)
    for _ in range(3):
        assert converted(3) == call(3) == (3, 9, 6, 4, [6, 9], 6)
    assert int(rt.function(lambda x: ag.convert(call)(3)[0] + x)(rt.constant(1))) == 4


def test_decorated_functions_of_a_module_are_known_and_others_are_given_up(monkeypatch):
    def call(x):
        return added(x, 2), added(x)

    converted = ag.convert(call)
    assert converted(3) == converted(3) == (5, 4)
    assert added in converted_call.functions
    monkeypatch.setitem(call.__globals__, "added", lambda x, y=0: x if x < 0 else y)
    assert converted(3) == call(3) == (2, 0)

    def local(x):
        fn = noted(scaled)
        result = fn(x)
        gone = weakref.ref(fn)
        del fn
        return result, gone() is None

    assert ag.convert(local)(3) == (6, True)


class Sized:
    def __len__(self):
        return 3

    def __iter__(self) -> Iterator[int]:
        return iter((1, 2))


def asks(x, sized):
    return [sum([x, 1]), max((x, 2)), len(sized), max(x, abs(-x) + 1), sum(v for v in (x, x)), len([x]), sum(sized),
            *map(lambda v: v + x, [x]), *sorted([x, 0]), max([1, 2], key=lambda v: -v),
            sum(filter(lambda v: v > 3, (x, 5))), *list(map(abs, (x, x)))]


def test_builtins_of_several_arguments_ask_backends_after_plain_calls():
    converted, staged = ag.convert(asks), rt.function(asks)
    for _ in range(3):
        assert converted(3, Sized()) == asks(3, Sized())
        assert [int(v) for v in staged(rt.constant(3), Sized())] == asks(3, Sized())
        assert [int(v) for v in converted(rt.constant(3), Sized())] == asks(3, Sized())


def test_known_partials_and_callables_are_given_up_with_a_full_collection():
    converted = ag.convert(lambda fn, x: fn(x))
    for fn in (functools.partial(scaled, by=4), RECT, remembered):
        assert converted(fn, 3) == converted(fn, 3) == fn(3)
        gc.collect()
    assert converted(functools.partial(scaled, by=5), 3) == 15
    assert converted(functools.partial(clipped, low=5), 3) == 5


def clipped(x, low):
    return low if x < low else x
