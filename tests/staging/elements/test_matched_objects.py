"""`match` by the classes of objects that only the graph knows, and comparisons of such objects."""
from __future__ import annotations

import dataclasses
import enum
import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import runtime as rt
from tests.plain_values import check_sizes, executors
from tests.traced_once import on


@dataclass
class Circle:
    r: Any


@dataclass
class Square:
    side: Any


class Num:
    __match_args__ = ("value",)

    def __init__(self, value):
        self.value = value


@dataclass
class Add:
    left: Any
    right: Any


@dataclass
class Mul:
    left: Any
    right: Any


class Var:
    pass


@dataclass(frozen=True)
class Leaf:
    value: Any


@dataclass(frozen=True)
class Fork:
    left: Any
    right: Any


@dataclass
class Link:
    value: Any
    rest: Any = None


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


class Point(NamedTuple):
    x: Any
    y: Any


def chosen(n):
    s = Circle(n) if n % 2 == 0 else Square(n + 1)
    match s:
        case Circle(r):
            return 3 * r * r
        case Square(side=x):
            return x * x
    return -1


def guards_and_alternatives(n):
    out = 0
    for i in range(n):
        s = Circle(i) if i % 2 == 0 else Square(i + 1)
        match s:
            case Circle(r) if r > 3:
                out += 100 * r
            case Circle(0):
                out += 1000
            case Circle(r) | Square(r) if r > 2:
                out += r
            case Square() as q:
                q.side += 5
                out -= q.side
            case _:
                out += 7
    return out


def jumps(n):
    shapes = [Circle(1), Square(2), Circle(3), Square(9), Circle(1)]
    i = 0
    while True:
        match shapes[i % 5]:
            case Square(s) if s > n:
                break
            case Circle(r):
                i += r
                continue
        i += 1
        if i > 40:
            return -1
    return i


def grown(n):
    shapes = [Circle(i) if i % 2 else Square(i) for i in range(n)]
    out = 0
    for s in shapes:
        match s:
            case Circle(r):
                out += r
            case Square(side):
                out -= side * 10
    return out


def nested(n):
    out = 0
    for i in range(n):
        e = Add(Num(i), Circle(i)) if i % 2 else Add(Num(i), Num(i + 1))
        match e:
            case Add(Num(a), Num(b)):
                out += a * b
            case Add(Num(a), Circle(r=b)):
                out -= a * b
    return out


def maybe_none(n):
    s = None
    if n > 3:
        s = Circle(n)
    elif n > 1:
        s = Square(n)
    match s:
        case None:
            return 0
        case Circle(r):
            return r
        case Square(q):
            return -q


def named_tuples(n):
    out = 0
    for i in range(n):
        match Point(i % 3, i):
            case Point(0, y=y):
                out += y
            case Point(x, 4) | Point(2, x):
                out -= 10 * x
            case (x, y):
                out += x * y * 100
    return out


def members(n):
    colors = [Color.RED, Color.GREEN, Color.BLUE]
    out = 0
    for i in range(n):
        match colors[i % 3]:
            case Color.RED:
                out += 1
            case Color.GREEN | Color.BLUE if i > 4:
                out += 10
            case _:
                out += 100
    return out


def stars(n):
    xs = [i * i for i in range(n)]
    match xs:
        case []:
            return -1
        case [x]:
            return x
        case [x, *_, 16]:
            return 16 + x
        case [x, y, *rest]:
            return x + 10 * y + 100 * len(rest) + sum(rest)


def stack(n):
    made = []
    for i in range(n):
        made.append(i)
        match made:
            case [*rest, a, b] if b % 3 == 2:
                made = [*rest, a * b]
            case [a] if a > 5:
                made = []
    return made


def mapping(n):
    d = {}
    for i in range(n):
        d[i] = i * i
    match d:
        case {3: x, 4: y, **rest}:
            return x + y + 100 * len(rest)
        case {0: x}:
            return x - 5
        case {}:
            return -9


def state_machine(n):
    state, log = "idle", []
    events = [Circle(i % 5) if i % 3 else Square(i) for i in range(n)]
    for event in events:
        match state, event:
            case "idle", Circle(key) if key > 2:
                state = "run"
            case "run", Circle(1):
                state = "idle"
            case "run", Square(dt):
                log.append(dt)
            case _, Square(dt):
                log.append(-dt)
    return state, log


def evaluate(e, x):
    match e:
        case Num(value):
            return value
        case Var():
            return x
        case Add(a, b):
            return evaluate(a, x) + evaluate(b, x)
        case Mul(a, b):
            return evaluate(a, x) * evaluate(b, x)


def derivative_of(e):
    match e:
        case Num(_):
            return Num(0)
        case Var():
            return Num(1)
        case Add(a, b):
            return Add(derivative_of(a), derivative_of(b))
        case Mul(a, b):
            return Add(Mul(derivative_of(a), b), Mul(a, derivative_of(b)))


def derivative(n):
    e = Var()
    for i in range(n):
        if i % 2 == 0:
            e = Add(e, Num(i))
        else:
            e = Mul(e, Var())
    return evaluate(derivative_of(e), 3)


def simplify(e):
    match e:
        case Add(Num(0), x) | Add(x, Num(0)):
            return simplify(x)
        case Mul(Num(0), _) | Mul(_, Num(0)):
            return Num(0)
        case Mul(Num(1), x):
            return simplify(x)
        case Add(a, b):
            return Add(simplify(a), simplify(b))
        case Mul(a, b):
            return Mul(simplify(a), simplify(b))
        case other:
            return other


def size(e):
    match e:
        case Add(a, b) | Mul(a, b):
            return 1 + size(a) + size(b)
        case _:
            return 1


def simplified(n):
    e = Var()
    for i in range(n):
        if i % 2 == 0:
            e = Add(e, Num(i % 3))
        else:
            e = Mul(Num(1), e)
    s = simplify(e)
    return size(e), size(s), evaluate(s, 2)


def total(e):
    match e:
        case Leaf(v):
            return v
        case Fork(a, b):
            return total(a) + total(b)


def fork(n):
    e = Leaf(1)
    for i in range(n):
        e = Fork(e, Leaf(i)) if i % 3 else Fork(Leaf(i), e)
    return e


def frozen(n):
    return total(fork(n))


def frozen_is_not_set(n):
    e = fork(n)
    try:
        e.left = 3
    except dataclasses.FrozenInstanceError:
        return 1
    return 0


def set_in_one_class(n):
    link = Link(0)
    for i in range(n):
        link = Link(i, link)
    link.value += 7
    return link.value + (0 if link.rest is None else link.rest.value)


def equal_trees(n):
    e = fork(n)
    return e == fork(n), e == fork(n + 1), e == Leaf(1), e != Fork(Leaf(0), Leaf(1)), e == 3


def links(n, k):
    head = None
    for i in range(n):
        head = Link(i * k % 3, head)
    return head


def equal_links(n):
    return links(n, 1) == links(n, 4), links(n, 1) == links(n, 2), links(n, 1) == links(n + 1, 1)


class P:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        if not isinstance(other, P):
            return NotImplemented
        return self.x == other.x and self.y == other.y


class R:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        if isinstance(other, R):
            return self.x == other.x
        return self.x == other.x + other.y if isinstance(other, P) else NotImplemented


def equality_of_several_classes(n):
    ps = []
    for i in range(n):
        if i % 2:
            ps.append(P(i, 1))
        else:
            ps.append(R(i))
    c = 0
    for p in ps:
        for q in ps:
            c = c * 2 % 1009 + (p == q)
    return c


@functools.total_ordering
class Version:
    def __init__(self, major, minor):
        self.major, self.minor = major, minor

    def __eq__(self, other):
        if not isinstance(other, Version):
            return NotImplemented
        return (self.major, self.minor) == (other.major, other.minor)

    def __lt__(self, other):
        return (self.major, self.minor) < (other.major, other.minor)


def ordered(n):
    versions = [Version(i * 7 % 5, i) for i in range(n)]
    best = Version(0, 0)
    for v in versions:
        if v >= best:
            best = v
        elif v <= Version(1, 3) and not v > Version(9, 9):
            best = Version(best.major, best.minor + 1)
    return best.major, best.minor, Version(1, 2) in versions


def optional_of_several_classes(n):
    e = Num(3)
    for i in range(n):
        e = Add(e, Num(i)) if i % 2 else e
    r = None
    if n > 5:
        r = Num(7)
    elif n > 1:
        r = Add(e, e)
    return r.value if isinstance(r, Num) else -1


PROGRAMS = [
    chosen, guards_and_alternatives, jumps, grown, nested, maybe_none, named_tuples, members, stars, stack, mapping,
    state_machine, derivative, simplified, frozen, set_in_one_class, equal_trees, equal_links,
    equality_of_several_classes, ordered, optional_of_several_classes]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_programs(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 0, 1, 2, 5, 6)


@executors
def test_attributes_of_frozen_objects_are_not_set(executor: str) -> None:
    traced = on(executor, frozen_is_not_set)
    assert [int(traced(rt.constant(n))) for n in (0, 3)] == [1, 1]
