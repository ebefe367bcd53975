"""Methods of every kind, properties, class bodies, special methods, inheritance, private names."""
from __future__ import annotations

import contextlib
import functools
from collections import namedtuple
from dataclasses import dataclass

from programs import fixed, program

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


@dataclass
class Interval:
    """Of which the generated `__init__` calls a method."""

    low: int
    high: int

    def __post_init__(self):
        if self.low > self.high:
            self.low, self.high = self.high, self.low
        for _ in range(self.high - self.low - 10):
            self.high -= 1


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


@program((3,), (30,))
def property_getter(x):
    return Counter(x).clipped


@program((3,), (30,))
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


@program((3, 5), (5, 3), (0, 20))
def post_init(a, b):
    interval = Interval(a, b)
    return interval.low, interval.high


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


class Level:
    """Special methods with control flow of their own."""

    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        v = self.v
        if other.v > 0:
            v += other.v
        return Level(v)

    def __radd__(self, other):
        return Level(other) + self

    def __iadd__(self, other):
        self.v = self.v + other if other > 0 else self.v
        return self

    def __neg__(self):
        return Level(-self.v if self.v > 0 else 0)

    def __lt__(self, other):
        if other.v > 10:
            return self.v < 10
        return self.v < other.v

    def __getitem__(self, i):
        if self.v > i:
            return self.v - i
        return 0

    def __contains__(self, v):
        return v > 0 and v < self.v

    def __iter__(self):
        yield self.v if self.v > 0 else -self.v
        yield 1


@program((3, 4), (3, -4), (30, 20))
def special_methods(a, b):
    x, y = Level(a), Level(b)
    z = x + y
    w = 1 + y
    z += b
    return z.v, w.v, (-x).v, x < y, x[1], x[100]


@program((3, 2), (3, 5), (-3, 0))
def special_methods_of_containers(a, b):
    level = Level(a)
    inside = b in level
    s = 0
    for part in level:
        s += part
    first, second = level
    return inside, b not in level, s, first + second


class Clamped:
    """A descriptor written in Python."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        held = getattr(instance, self.name)
        if held > 100:
            return 100
        return held

    def __set__(self, instance, value):
        setattr(instance, self.name, value if value > 0 else 0)


class Tank:
    level = Clamped()

    def __init__(self, level):
        self.level = level

    @property
    def half(self):
        return self.level // 2 if self.level > 1 else 0


class Reserve(Tank):
    @property
    def half(self):
        if self.level > 50:
            return super().half
        return super().half + 1


@program((70,), (30,), (-3,), (700,))
def descriptors_and_inherited_properties(v):
    tank = Reserve(0)
    before = tank.half
    if v > 10:
        tank.level = v
        tank.level += 1
    return before, tank.half, tank.level


TANK = Tank(40)


@program((3,), (100,))
def property_of_a_global_object(v):
    if v > TANK.half:
        return TANK.half
    return v


@program((4,), (1,))
def property_that_is_set_in_a_loop(n):
    tank = Reserve(1)
    counter = Counter(0)
    for i in range(n):
        tank.level += i * 3
        if i > 1:
            counter.clipped = i + tank.half
    return tank.level, counter.clipped, counter.count


class Totals:
    def __init__(self):
        self.total = 0

    def up(self, k):
        self.total += k
        return self.total


@program(([3, -1, 4],), ([-2],))
def methods_that_change_their_object_as_they_are_mapped(xs):
    a, b, c = Totals(), Totals(), Totals()
    up = c.up
    summed = sum(a.up(x) for x in xs if x > 0)
    mapped = [y for y in map(b.up, xs)]
    for x in xs:
        up(x)
    return summed, a.total, mapped, b.total, c.total


@program(([3, -1, 4],), ([-2],))
def objects_changed_by_items_that_are_counted_and_zipped(xs):
    a, b, c = Totals(), Totals(), Totals()
    s = 0
    for i, y in enumerate((a.up(x) for x in xs), 1):
        s += i * y
    for x, y in zip(xs, (b.up(2 * x) for x in xs)):
        s += x * y
    for y, x in zip((c.up(x) for x in xs), xs):
        s -= y - x
    return s, a.total, b.total, c.total


class Doubled:
    def __init__(self, items):
        self.items = items
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 2:
            raise StopIteration
        x = self.items[self.at]
        self.at += 1
        if x < 0:
            return -x
        return 2 * x


@program(([3, -1, 4],), ([-2, 0],))
def iterator_that_decides_on_its_items(xs):
    s = 0
    for x in Doubled(xs):
        s += x
    it = Doubled(xs)
    first = next(it)
    return s, first, next(it), next(it, -1), sum(Doubled(xs)), [x + 1 for x in Doubled(xs)]


@functools.total_ordering
class Ordered:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v == other.v

    def __lt__(self, other):
        return self.v < other.v


@program((1, 2), (2, 1), (2, 2))
def ordering_made_of_one_comparison(a, b):
    x, y = Ordered(a), Ordered(b)
    if x >= y:
        kind = 1
    else:
        kind = 2
    return kind, x > y, x >= y, x <= y, x < y, x != y


class Pile:
    def __init__(self):
        self.items = []
        self.peak = 0

    def push(self, v):
        self.items.append(v)
        self.peak = max(self.peak, len(self.items))

    def pop(self):
        if not self.items:
            raise IndexError("empty pile")
        return self.items.pop()


@program(([1, 2, -1, 3, -1, -1],), ([1, -1],))
def object_with_a_pop_of_its_own(ops):
    pile = Pile()
    out = 0
    for op in ops:
        if op > 0:
            pile.push(op * 10)
        else:
            out += pile.pop()
    return out, pile.peak, pile.items


@program(([1, -1, -1],), ([2, 2],))
def object_whose_pop_fails(ops):
    pile = Pile()
    out = 0
    try:
        for op in ops:
            if op > 0:
                pile.push(op)
            else:
                out += pile.pop()
    except IndexError:
        return out, -1
    return out, pile.peak


class Meter:
    """Its methods have names of a list's or set's, and nothing to convert."""

    def __init__(self):
        self.n = 0

    def add(self, k):
        self.n += k
        return self.n

    def get(self):
        return self.n


@program((3,), (0,))
def methods_named_as_those_of_containers(x):
    meter = Meter()
    for i in range(3):
        meter.add(i)
        if meter.get() > 1:
            continue
        meter.add(
            meter.get())
    y = (meter.add(1) if x > 2 else meter.add(2)) if meter.get() else meter.add(3)
    z = x > 1 and meter.get() > 3
    while meter.add(-30) > 0:
        pass
    return [meter.add(i) for i in range(2)], y, z, 3 < meter.add(40) < meter.get()


class Marked:
    pass


class Slotted:
    __slots__ = ("first", "last")


@program((3,), (1,), (0,))
def attributes_looked_for(n):
    def see(box, i):
        if not hasattr(box, "first"):
            box.first = i + 10
        else:
            box.last = i
        return hasattr(box, "last")

    slotted, box = Slotted(), Marked()
    times = 0
    for i in range(n):
        if see(slotted, i):
            times += 1
        see(box, i)
    return times, hasattr(slotted, "first"), hasattr(box, "last"), hasattr(box, "__len__"), hasattr([n], "append")


@program((3,), (1,), (0,))
def items_of_what_attributes_have(n):
    def same(box):
        return box

    box = Marked()
    box.rows, box.inner = [0, 0, n], Marked()
    box.inner.rows = [[n, 0], [0, 1]]
    box.rows[
        len(box.rows) - 3
    ] = (
        n + 1)
    box.inner.rows[1][
        0] += 3
    same(
        box
    ).rows[1] = 2
    (box.
      rows)[2], box.inner.rows[
          0][1] = (n,
                   4)
    for i in range(n):
        box.rows[1] += i
        if i > 0:
            box.inner.rows[1][0] = i + n
            box.inner.rows[0][0] += box.rows[1]
    return box.rows, box.inner.rows


@program((3,), (0,))
def record_with_a_tuple_made_anew_in_a_loop(n):
    pair = Pair(1, (2, "two"))
    other = Pair(n, (n, "n"))
    for _ in range(n):
        pair = Pair(pair.a * 2, pair.b)
        other = Pair(other.a + 1, (other.b[0] + n, other.b[1]))
    return pair.a, pair.b, other.a, other.b
