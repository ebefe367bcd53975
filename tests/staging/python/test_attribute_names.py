"""`getattr` and `setattr` with names that only the graph knows."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import executors, shown
from tests.traced_once import on


class Door:
    def __init__(self, n):
        self.n, self.opened, self.closed = n, 0, 0

    def on_open(self, k=1):
        self.opened += k
        return "closed"

    def on_closed(self, k=1):
        self.closed += 1
        if self.closed > 2:
            return "locked"
        return "open"

    def on_locked(self, k=1):
        self.n -= 1
        return "locked" if self.n > 2 else "open"


def dispatch(n):
    d, state = Door(n), "open"
    for i in range(n):
        state = getattr(d, "on_" + state)()
    return state, d.opened, d.closed, d.n


class Machine:
    def __init__(self):
        self.state, self.count = "idle", 0

    def on_idle(self, e):
        if e % 2:
            self.state = "run"

    def on_run(self, e):
        self.count += e
        if e % 5 == 0:
            self.state = "idle"

    def step(self, e):
        getattr(self, f"on_{self.state}")(e)


def machine_self(n):
    m = Machine()
    for i in range(n):
        m.step(i * 3 % 7)
    return m.state, m.count


@dataclass
class Vec:
    x: int
    y: int
    z: int = 0


def attr_list(n):
    names = ["x", "y", "z"]
    v = Vec(1, 2, 3)
    s = 0
    for i in range(n):
        s = s * 3 + getattr(v, names[i % 3])
    return s


def setattr_list(n):
    names = ["x", "y", "z"]
    v = Vec(1, 2, 3)
    for i in range(n):
        setattr(v, names[i % 3], i * 10)
    return v.x, v.y, v.z


def setattr_chosen(n):
    v = Vec(1, 2, 3)
    name = "x" if n > 2 else "y"
    setattr(v, name, getattr(v, name) + n)
    return v.x, v.y


def set_of_chosen(n):
    vs = [Vec(1, 2, 3), Vec(4, 5, 6)]
    name = "x" if n > 2 else "y"
    setattr(vs[n % 2], name, n)
    return [(v.x, v.y) for v in vs], getattr(vs[(n + 1) % 2], name)


def default(n):
    v = Vec(1, 2, 3)
    name = "x" if n > 2 else "w"
    return getattr(v, name, 77), hasattr(v, name)


def grown(n):
    vs = [Vec(i, i * 2) for i in range(n + 1)]
    names = ["x", "y", "z"]
    for i in range(n):
        setattr(vs[i], names[i % 3], getattr(vs[i + 1], names[(i + 1) % 3]))
    return [(v.x, v.y, v.z) for v in vs]


def const_loop(n):
    v = Vec(1, 2, 3)
    for name in ("x", "y", "z"):
        if getattr(v, name) > n:
            setattr(v, name, n)
    return v.x, v.y, v.z


def const_list(n):
    v = Vec(1, 2, 3)
    for name in ["x", "y", "z"]:
        setattr(v, name, getattr(v, name) * n)
    return v.x, v.y, v.z


class Ops:
    @staticmethod
    def add(a, b):
        return a + b

    @classmethod
    def sub(cls, a, b):
        return a - b

    def mul(self, a, b):
        return a * b


def calc(n):
    o = Ops()
    ops = ["add", "sub", "mul", "add"]
    s = 1
    for i in range(n):
        s = getattr(o, ops[i % 4])(s, i)
    return s


def calc_class(n):
    ops = ["add", "sub"]
    s = 1
    for i in range(n):
        s = getattr(Ops, ops[i % 2])(s, i)
    return s


def method_of_text(n):
    name = "upper" if n > 2 else "lower"
    return getattr("Hello", name)()


def setself(n):
    class S:
        def __init__(self, **kw):
            for k, v in kw.items():
                setattr(self, k, v)
    s = S(a=n, b=n * 2)
    return s.a + s.b


class Prop:
    def __init__(self, n):
        self.n, self.log = n, 0

    @property
    def value_a(self):
        self.log += 1
        return self.n

    @property
    def value_b(self):
        self.log += 10
        return self.n * 2

    @value_b.setter
    def value_b(self, v):
        self.log += 100
        self.n = v


def props(n):
    p = Prop(n)
    s = 0
    for i in range(n):
        s += getattr(p, "value_" + ("a" if i % 2 else "b"))
    return s, p.log


def props_set(n):
    p = Prop(n)
    for i in range(n):
        setattr(p, "value_b" if i % 2 else "n", i * 5)
    return p.n, p.log


def counters(n):
    class C:
        def __init__(self):
            self.count_red = self.count_green = 0
    c, state = C(), "red"
    for i in range(n):
        name = "count_" + state
        setattr(c, name, getattr(c, name) + i)
        state = "green" if i % 3 else "red"
    return c.count_red, c.count_green


def chosen_object(n):
    d = Door(n) if n > 3 else Door2(n)
    state = "open"
    for i in range(n):
        state = getattr(d, "on_" + state)()
    return state, d.n


class Door2(Door):
    def on_open(self, k=1):
        self.n += 5
        return "locked" if self.n > 9 else "closed"


def maybe_obj(n):
    d = None
    if n > 1:
        d = Vec(n, 1, 2)
    name = "x" if n > 2 else "y"
    return getattr(d, name) if d is not None else -1


def default_fn(n):
    m = Machine()
    out = 0
    for name in ("on_idle", "on_none", "step"):
        f = getattr(m, name, None)
        if f is not None:
            f(n)
            out += 1
    return out, m.count, m.state


PROGRAMS = [
    dispatch, machine_self, attr_list, setattr_list, setattr_chosen, set_of_chosen, default, grown, const_loop,
    const_list, calc, calc_class, method_of_text, setself, props, props_set, counters, chosen_object, maybe_obj,
    default_fn]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_programs(fn: Any, executor: str) -> None:
    traced = on(executor, fn)
    for n in (0, 1, 2, 3, 5, 8):
        assert shown(traced(rt.constant(n))) == shown(fn(n))


def missing(n):
    return getattr(Vec(1, 2, 3), "x" if n > 2 else "w")


def missing_method(n):
    d, state = Door(n), "open"
    for i in range(n):
        state = "none" if i > 2 else "open"
    return getattr(d, "on_" + state)()


def set_new(n):
    v, state = Vec(1, 2), "x"
    for i in range(n):
        state = "w" if i > 2 else "y"
    setattr(v, state, 7)
    return v.x, v.y


@executors
def test_missing_attributes_raise(executor: str) -> None:
    for fn, fine, wrong in ((missing, 3, 1), (missing_method, 2, 5)):
        traced = on(executor, fn)
        assert shown(traced(rt.constant(fine))) == shown(fn(fine))
        with pytest.raises(AttributeError) as expected:
            fn(wrong)
        with pytest.raises(AttributeError) as raised:
            traced(rt.constant(wrong))
        assert str(expected.value) in str(raised.value)
    traced = on(executor, set_new)
    assert shown(traced(rt.constant(2))) == [1, 7]
    with pytest.raises(rt.errors.UnimplementedError, match="an attribute of a Vec is set that has no value yet: w"):
        traced(rt.constant(5))


def delattr_of_text(n):
    v = Vec(1, 2)
    delattr(v, "x" if n > 2 else "y")
    return v.z


def getattr_of_unknown_text(n):
    return getattr(Vec(1, 2), f"field{n}")


def test_refused() -> None:
    for fn in (delattr_of_text, getattr_of_unknown_text):
        with pytest.raises(rt.errors.StagingError, match="text with the value of a tensor in it"):
            rt.function(fn)(rt.constant(3))
