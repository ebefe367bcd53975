"""Methods of every kind, properties, class bodies, special methods, inheritance, private names."""
from __future__ import annotations

import contextlib
from collections import namedtuple
from dataclasses import dataclass

from programs import fixed, program

PROPERTY = "a property that is read converts only if its class says so (`property(convert(f))`)"
Point = namedtuple("Point", "x y")


class Counter:
    step = 2

    def __init__(self, start):
        if start < 0:
            start = 0
        self.count = start
        self.__hidden = 1

    def add(self, v):
        if v > 0:
            self.count += v * self.step
        return self

    def run(self, n):
        for i in range(n):
            self.add(i)
            self.__hidden += 1
        return self.__hidden

    @property
    def clipped(self):
        if self.count > 10:
            return 10
        return self.count

    @clipped.setter
    def clipped(self, v):
        self.count = v if v < 5 else 5

    @staticmethod
    def larger(a, b):
        if a > b:
            return a
        return b

    @classmethod
    def made(cls, v):
        return cls(v if v > 3 else 3)

    def __call__(self, v):
        if v > self.count:
            return v
        return self.count


class Doubling(Counter):
    step = 4

    def __init__(self, start):
        super().__init__(start)
        self.calls = 0

    def add(self, v):
        self.calls += 1
        if v > 2:
            return super().add(v + v)
        return super().add(v)


@dataclass
class Pair:
    a: int
    b: int = 1

    def larger(self):
        return self.a if self.a > self.b else self.b


class Stack:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __iter__(self):
        yield from self.items

    def __enter__(self):
        self.push(0)
        return self

    def __exit__(self, *exc):
        self.push(100)
        return False


@program((3,), (-3,))
def method_with_branch(x):
    c = Counter(x)
    c.add(x)
    return c.count


@program((4,), (0,))
def method_with_loop_and_private(n):
    c = Counter(1)
    return c.run(n), c.count


@program((3,), (30,), staged=PROPERTY)
def property_getter(x):
    return Counter(x).clipped


@program((3,), (30,), staged=PROPERTY)
def property_setter(x):
    c = Counter(0)
    c.clipped = x
    return c.count


@program((3, 4), (4, 3))
def static_method(a, b):
    return Counter.larger(a, b) - Counter(0).larger(a, 0)


@program((2,), (5,))
def class_method(x):
    return Counter.made(x).count, Doubling.made(x).step


@program((3,), (-1,))
def callable_object(x):
    c = Counter(2)
    return c(x)


@program((3,), (1,), (-1,))
def inherited_with_super(x):
    c = Doubling(1)
    c.add(x).add(5)
    return c.count, c.calls


@program((4,), (0,))
def method_chain_in_loop(n):
    c = Doubling(0)
    for i in range(n):
        c.add(i)
    return c.count, c.calls


@program((3,), (-3,))
def bound_method_as_value(x):
    c = Counter(1)
    f = c.add
    f(x)
    f(2)
    return c.count


@program((3,), (0,))
def dataclass_method(x):
    p = Pair(x)
    q = Pair(b=x, a=2)
    return p.larger() + q.larger()


@program((3,), (-3,))
def namedtuple_by_branch(x):
    p = Point(1, 2)
    if x > 0:
        p = Point(x, p.y)
    return p.x * 10 + p.y


@program((4,), (0,))
def namedtuple_in_loop(n):
    p = Point(0, 1)
    for _ in range(n):
        p = p._replace(x=p.y, y=p.x + p.y)
    return p


@program((3,),)
def context_manager_object(x):
    stack = Stack()
    with stack as s:
        s.push(x)
    return list(stack), len(stack), stack[1]


@program((3,), (-3,))
def context_manager_function(x):
    @contextlib.contextmanager
    def logged(name):
        print("enter", name)
        yield 5
        print("leave", name)

    with logged("a") as k, logged("b"):
        if x > 0:
            x += k
    return x


@program((3,), (-3,))
def class_made_in_function(x):
    class Local:
        factor = 3

        def scale(self, v):
            if v > 0:
                return v * self.factor
            return x

    return Local().scale(x)


@program((3,), (fixed(3),))
def iteration_protocol(x):
    class Three:
        def __init__(self):
            self.i = 0

        def __iter__(self):
            return self

        def __next__(self):
            if self.i == 3:
                raise StopIteration
            self.i += 1
            return self.i * x

    s = 0
    for v in Three():
        s += v
    return s


@program((3, 4), (5, 5), (6, 2))
def operator_methods(a, b):
    class Money:
        def __init__(self, cents):
            self.cents = cents

        def __add__(self, other):
            return Money(self.cents + other.cents)

        def __lt__(self, other):
            return self.cents < other.cents

    m = Money(a) + Money(b)
    low = 1 if Money(a) < Money(b) else 0
    return m.cents, low


@program((4,), (0,))
def object_made_in_loop(n):
    s = 0
    for i in range(n):
        c = Counter(i)
        c.add(1)
        s += c.count
    return s


@program((3,), (-2,))
def attribute_through_helper(x):
    c = Counter(0)

    def bump(counter, v):
        if v > 0:
            counter.count = counter.count + v
        else:
            counter.count = -1

    bump(c, x)
    bump(c, 1)
    return c.count


@program((3,), (-3,))
def state_of_attribute_with_return(x):
    class Cell:
        def __init__(self):
            self.h = 0

        def update(self, v):
            if v < 0:
                return self.h
            self.h = self.h + v
            for _ in range(3):
                self.h += 1
                if self.h > 5:
                    return self.h
            return -self.h

    cell = Cell()
    return cell.update(x), cell.h, cell.update(1), cell.h
