"""Classes whose objects are made in a way of their own: by `__new__`, by a metaclass, of an abstract base class."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import pytest

import runtime as rt
from tests.plain_values import check_shown, executors, plain
from tests.traced_once import on


class Shape(ABC):
    def __init__(self, side): self.side = side
    @abstractmethod
    def area(self): ...


class Square(Shape):
    def area(self): return self.side * self.side


class Strip(Shape):
    def area(self): return self.side * 3


class HasArea(Protocol):
    def area(self) -> Any: ...


class Dot(HasArea):
    def __init__(self): self.size = 1
    def area(self): return self.size


class Point:
    def __new__(cls, x):
        self = super().__new__(cls)
        self.x = x
        return self


class Registered(type):
    classes = []
    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        Registered.classes.append(name)


class Plugin(metaclass=Registered):
    def __init__(self, x): self.x = x


class Doubling(type):
    def __call__(cls, x):
        made = super().__call__(2 * x)
        made.y = 1
        return made


class Doubled(metaclass=Doubling):
    def __init__(self, x): self.x = x


class Single:
    made = None
    def __new__(cls):
        if cls.made is None:
            cls.made = super().__new__(cls)
            cls.made.count = 0
        return cls.made
    def bump(self): self.count += 1


def abstract(n: Any) -> Any:
    shapes = [Square(i) for i in range(n)]
    best = shapes[0]
    for shape in shapes:
        if shape.area() > best.area():
            best = shape
    best.side = 10
    return [shape.area() for shape in shapes]


def of_two_subclasses(n: Any) -> Any:
    shapes = []
    for i in range(n):
        if i % 2 == 0:
            shapes.append(Square(i))
        else:
            shapes.append(Strip(i))
    shapes[1].side += 5
    return [shape.area() for shape in shapes]


def of_a_protocol(n: Any) -> Any:
    dots = [Dot() for _ in range(n)]
    dots[n - 2].size = 4
    return [dot.area() for dot in dots]


def made_by_new(n: Any) -> Any:
    points = [Point(i) for i in range(n)]
    best = points[0]
    for point in points:
        if point.x > best.x:
            best = point
    best.x = 7
    return [point.x for point in points]


def replaced_by_new(n: Any) -> Any:
    point = Point(1)
    for i in range(n):
        if point.x < 3:
            point = Point(point.x + i)
        point.x += 1
    return point.x


def of_a_metaclass(n: Any) -> Any:
    plugins = [Plugin(i) for i in range(n)]
    plugins[n - 3].x = 8
    return [plugin.x for plugin in plugins], len(Registered.classes)


def made_by_a_metaclass(n: Any) -> Any:
    found = [Doubled(i) for i in range(n)]
    last = found[n - 1]
    last.y += last.x
    return [(x.x, x.y) for x in found]


@executors
@pytest.mark.parametrize("fn", [
    abstract, of_two_subclasses, of_a_protocol, made_by_new, replaced_by_new, of_a_metaclass, made_by_a_metaclass])
def test_programs(fn: Any, executor: str) -> None:
    check_shown(fn, executor, 4)


@executors
def test_a_singleton_is_made_in_the_first_iteration(executor: str) -> None:
    def count(n: Any) -> Any:
        for i in range(n):
            Single().bump()
        return Single().count

    found: list[Any] = []
    for traced in (False, True):
        Single.made = None
        fn = on(executor, count) if traced else count
        found.append([plain(fn(rt.constant(3) if traced else 3)) for _ in range(2)])
    assert found == [[3, 6], [3, 6]]


class Watched(Single):
    made = None
    def __setattr__(self, name, value): object.__setattr__(self, name, value)


def test_a_singleton_that_could_tell_that_it_is_copied_is_not_made_in_a_loop() -> None:
    def count(n: Any) -> Any:
        for i in range(n):
            Watched().bump()
        return Watched().count

    with pytest.raises(rt.errors.StagingError, match="which no graph can carry"):
        rt.function(count)(rt.constant(3))


class Keyed(type):
    made = {}
    def __call__(cls, *args):
        if cls not in cls.made:
            cls.made[cls] = super().__call__(*args)
        return cls.made[cls]


class Kept(metaclass=Keyed):
    def __init__(self): self.count = 0


@executors
def test_an_object_under_a_key_that_is_a_class(executor: str) -> None:
    def count(n: Any) -> Any:
        for i in range(n):
            Kept().count += i
        return Kept().count

    Keyed.made.clear()
    staged = on(executor, count)
    assert [int(staged(rt.constant(3))) for _ in range(2)] == [3, 6]
