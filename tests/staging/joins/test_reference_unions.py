"""Variables, and elements of lists, that are one of several objects by reference whose class only the graph knows."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import check_shown, executors
from tests.traced_once import on


class Round:
    def __init__(self, r):
        self.r = r

    def area(self):
        return self.r * self.r * 3


class Box:
    def __init__(self, s):
        self.s = s

    def area(self):
        return self.s * self.s


def shapes(n):
    shapes = []
    for i in range(n):
        if i % 2 == 0:
            shapes.append(Round(i))
        else:
            shapes.append(Box(i))
    total = 0
    for s in shapes:
        total += s.area()
    return total


class Num:
    def __init__(self, v):
        self.v = v

    def eval(self):
        return self.v


class Sum:
    def __init__(self, a, b):
        self.a = a
        self.b = b

    def eval(self):
        return self.a.eval() + self.b.eval()


class Product:
    def __init__(self, a, b):
        self.a = a
        self.b = b

    def eval(self):
        return self.a.eval() * self.b.eval()


def tree(n):
    e = Num(1)
    for i in range(n):
        if i % 2 == 0:
            e = Sum(e, Num(i))
        else:
            e = Product(e, Num(i))
    return e.eval()


def chosen(n):
    s = Round(n) if n > 3 else Box(n)
    t = Round(2)
    if n > 2:
        t = Box(3)
    return s.area(), t.area(), isinstance(s, Round), isinstance(t, Round)


class Animal:
    def __init__(self, name):
        self.name = name
        self.food = 0

    def eat(self, k):
        self.food += k


class Dog(Animal):
    def speak(self):
        return 1


class Cat(Animal):
    def speak(self):
        return 2


def zoo(n):
    zoo = []
    for i in range(n):
        zoo.append(Dog(i) if i % 2 else Cat(i))
    for a in zoo:
        a.eat(a.speak())
    return [a.food for a in zoo], sum(a.speak() for a in zoo)


class Leaf:
    def __init__(self, v):
        self.v = v


class Branch:
    def __init__(self, left, right):
        self.left = left
        self.right = right


def total(t):
    if isinstance(t, Leaf):
        return t.v
    return total(t.left) + total(t.right)


def leaf_tree(n):
    t = Leaf(n)
    for i in range(n):
        t = Branch(t, Leaf(i))
    return total(t)


class Shape:
    sides = 0
    def __init__(self, tag):
        self.tag = tag
        self.hits = 0

    def hit(self, k=1):
        self.hits += k
        return self

    def scaled(self):
        return self.area() * 2

    def area(self):
        raise NotImplementedError

    @property
    def double(self):
        return self.area() * 2


class Circle(Shape):
    def __init__(self, tag, r):
        super().__init__(tag)
        self.r = r

    def area(self):
        return self.r * self.r * 3

    def __repr__(self):
        return f"Circle({self.r})"

    def __add__(self, o):
        return self.area() + o.area()


class Square(Shape):
    sides = 4
    def __init__(self, tag, s):
        super().__init__(tag)
        self.s = s

    def area(self):
        return self.s * self.s

    def __repr__(self):
        return f"Square({self.s})"

    def __add__(self, o):
        return self.area() + o.area() + 1


def mk(n):
    out = []
    for i in range(n):
        if i % 3 == 1:
            out.append(Circle(i, i + 1))
        else:
            out.append(Square(i, i))
    return out


def base(n):
    xs = mk(n)
    for x in xs:
        x.hit()
        if isinstance(x, Circle):
            x.hit(10)
        x.tag += 100
    return ([x.hits for x in xs], [x.tag for x in xs], sum(x.scaled() for x in xs), [x.double for x in xs],
            [x.sides for x in xs])


def own_attr(n):
    xs = mk(n)
    for x in xs:
        if isinstance(x, Circle):
            x.r += 1
        else:
            x.s *= 2
    return [x.area() for x in xs], sum(x.r for x in xs if isinstance(x, Circle))


def best(n):
    xs = mk(n)
    best = xs[0]
    for x in xs:
        if x.area() > best.area():
            best = x
    best.hits = 7
    return (best is xs[4], best is xs[1], [x.hits for x in xs], best == xs[4], xs.index(best), best in xs,
            {best: 3}[xs[4]])


def text(n):
    xs = mk(n)
    return [f"{x}" for x in xs][0], repr(xs[1]), str(xs[n - 1])


def add(n):
    xs = mk(n)
    t = 0
    for i in range(n - 1):
        t += xs[i] + xs[i + 1]
    return t


def missing(n):
    xs = mk(n)
    t = 0
    try:
        for x in xs:
            t += x.r
    except AttributeError as e:
        return -1, str(e)
    return t, ""


def ret(n):
    xs = mk(n)
    best = xs[0]
    for x in xs:
        if x.area() > best.area():
            best = x
    return [type(x).__name__ for x in []], xs, best


def hasattr_(n):
    xs = mk(n)
    t = 0
    for x in xs:
        if hasattr(x, "r"):
            t += x.r
        t += getattr(x, "s", 100)
    return t


class Idle:
    def __init__(self):
        self.n = 0

    def step(self, x):
        return Busy(x) if x > 2 else self


class Busy:
    def __init__(self, left):
        self.left = left

    def step(self, x):
        self.left -= 1
        return self if self.left > 0 else Idle()


def machine(n):
    s = Idle()
    log = []
    for i in range(n):
        s = s.step(i % 5)
        log.append(1 if isinstance(s, Busy) else 0)
    return log


class Empty:
    def __init__(self):
        self.z = 0

    def length(self):
        return 0

    def total(self):
        return 0


class Cons:
    def __init__(self, h, t):
        self.h = h
        self.t = t

    def length(self):
        return 1 + self.t.length()

    def total(self):
        return self.h + self.t.total()


def cons(n):
    xs = Empty()
    for i in range(n):
        xs = Cons(i, xs)
    out = []
    cur = xs
    while isinstance(cur, Cons):
        out.append(cur.h)
        cur = cur.t
    return xs.length(), xs.total(), out


@dataclass
class Lit:
    v: int


@dataclass
class Neg:
    e: object


@dataclass
class Plus:
    a: object
    b: object


def ev(e):
    if isinstance(e, Lit):
        return e.v
    if isinstance(e, Neg):
        return -ev(e.e)
    return ev(e.a) + ev(e.b)


def exprs(n):
    e = Lit(1)
    for i in range(n):
        if i % 2:
            e = Plus(e, Lit(i))
        else:
            e = Neg(Plus(Lit(i), e))
    return ev(e)


def simplify(e):
    if isinstance(e, Lit):
        return e
    if isinstance(e, Neg):
        x = simplify(e.e)
        if isinstance(x, Neg):
            return x.e
        return Neg(x)
    return Plus(simplify(e.a), simplify(e.b))


def exprs3(n):
    e = Lit(1)
    for i in range(n):
        if i % 2:
            e = Plus(e, Lit(i))
        else:
            e = Neg(Neg(e))
    return ev(simplify(e))


def rpn(n):
    toks = [1, 2, -1, 3, -2, 4, -1]
    st = []
    for t in toks[:n + 1]:
        if t > 0:
            st.append(Lit(t * n))
        elif t == -1:
            b = st.pop()
            a = st.pop()
            st.append(Plus(a, b))
        else:
            st.append(Neg(st.pop()))
    return ev(st[0]), len(st)


class Constant:
    def __init__(self, value):
        self.value = value

    def at(self, x):
        return self.value

    def derivative(self):
        return Constant(0)


class Variable:
    def __init__(self):
        self.name = 0

    def at(self, x):
        return x

    def derivative(self):
        return Constant(1)


class Total:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def at(self, x):
        return self.a.at(x) + self.b.at(x)

    def derivative(self):
        return Total(self.a.derivative(), self.b.derivative())


class Times:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def at(self, x):
        return self.a.at(x) * self.b.at(x)

    def derivative(self):
        return Total(Times(self.a.derivative(), self.b), Times(self.a, self.b.derivative()))


def polynomial(n):
    e = Constant(0)
    for i in range(n):
        e = Total(Times(e, Variable()), Constant(i))
    return e.at(2), e.derivative().at(3)


def greatest_of_some(n):
    xs = mk(n)
    big = max(xs, key=lambda x: x.area())
    return (big.area(), isinstance(big, Circle), isinstance(big, Square), hasattr(big, "r"), hasattr(big, "s"),
            callable(big))


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def of(self, x):
        return self.factor * x

    def __call__(self, x, self_=1):
        return x + self.factor * self_


class Moved:
    def __init__(self, by):
        self.by = by

    def of(self, x):
        return self.by + x

    def __call__(self, x, self_=2):
        return x - self.by * self_


def keywords(n):
    maps = []
    for i in range(n):
        if i % 2 == 0:
            maps.append(Scaled(i))
        else:
            maps.append(Moved(i))
    maps[0].factor = 7
    total = 0
    for one in maps:
        total += one.of(x=3) * one(x=2) + one(4, self_=5)
    return total


class Logged:
    def __init__(self):
        self.log = []


class Marked(Logged):
    pass


def empty_lists(n):
    made = []
    for i in range(n):
        made.append(Logged() if i % 2 else Marked())
    for i in range(n):
        made[i].log.append(i)
    made[0].log.append(n)
    return [len(one.log) for one in made], made[0].log[-1], sum(made[1].log)


class Left:
    def __init__(self, v, before):
        self.v, self.before = v, before

    def __add__(self, other):
        return self.v + other

    def __lt__(self, other):
        return self.v < other


class Right:
    def __init__(self, v, before):
        self.v, self.before = v, before

    def __add__(self, other):
        return 3

    def __rsub__(self, other):
        return other + 40


def operators_of_one_class(n):
    made, one = [], None
    for i in range(n):
        one = Left(i, one) if i % 2 else Right(i, one)
        made.append(one)
    found = []
    for i in range(n):
        try:
            found.append(5 - made[i] + (made[i] + 1))
        except TypeError:
            found.append(-1)
        try:
            found.append(1 if made[i] < 2 else 2)
        except TypeError:
            found.append(-2)
    return found


PROGRAMS = [
    empty_lists, operators_of_one_class, polynomial, greatest_of_some, keywords,
    shapes, tree, chosen, zoo, leaf_tree, base, own_attr, best, text, add, missing, ret, hasattr_, machine, cons,
    exprs, exprs3, rpn]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_programs(fn: Any, executor: str) -> None:
    check_shown(fn, executor, 5)


@executors
def test_results_have_their_classes(executor: str) -> None:
    made = on(executor, mk)(rt.constant(5))
    assert [type(x) for x in made] == [type(x) for x in mk(5)]
    assert [sorted(vars(x)) for x in made] == [sorted(vars(x)) for x in mk(5)]


def attribute_of_another_class(n):
    for x in mk(n):
        x.r = 5
    return 0


def test_refused() -> None:
    with pytest.raises(rt.errors.UnimplementedError, match="the attribute 'r' of a Square is set"):
        rt.function(attribute_of_another_class)(rt.constant(4))
