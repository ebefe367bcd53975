"""Which changes are state: what callees delete, and give to what had nothing; what an object got before its variable
got another one."""
from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import runtime as rt


class Made:
    def __init__(self, n=0):
        self.n = n


class Tagged:
    def __init__(self):
        self.tag, self.x = None, 1

    def put(self, value):
        self.tag = value

    def drop(self):
        del self.x


def _put(d, key, value):
    d[key] = value


def _drop(d, key):
    del d[key]


@pytest.mark.parametrize("value", ["text", (1, "a"), abs, [1], Made(), {"k": 1}], ids=lambda x: type(x).__name__)
def test_what_had_nothing_is_given_something_by_a_callee_on_one_way_only(value) -> None:
    def f(n):
        held, others, d = Tagged(), Tagged(), {}
        if n > 2:
            held.put(value)
            _put(d, "k", value)
        elif n > 1:
            others.put(value)
        return held.tag is None, others.tag is None, "k" in d

    for n in (1, 2, 3):
        assert tuple(map(bool, rt.function(f)(rt.constant(n)))) == f(n)


def test_what_a_callee_deletes_is_state() -> None:
    def f(n):
        held, others, d = Tagged(), Tagged(), {"k": 1, "j": 2}
        if n > 2:
            held.drop()
            _drop(d, "k")
        for i in range(n):
            if i == 1:
                delattr(others, "x")
        return hasattr(held, "x"), hasattr(others, "x"), "k" in d, "j" in d

    for n in (1, 2, 3):
        assert tuple(map(bool, rt.function(f)(rt.constant(n)))) == f(n)


def test_a_lazily_made_object_in_a_loop_is_made_once() -> None:
    class Lazy:
        inner = None

        def __call__(self, x):
            if self.inner is None:
                self.inner = Made(2.0)
            return x + self.inner.n

    @rt.function
    def f(x, n):
        lazy = Lazy()
        for _ in range(n):
            x = lazy(x)
        return x

    assert float(f(rt.constant(1.0), rt.constant(3))) == 7.0


class Fields:
    def __init__(self, x):
        self.x = x


@dataclasses.dataclass
class Point:
    x: int


def _of_a_variable(n, make):
    a, b = make(1), make(2)
    p = a
    if n > 2:
        p.x = 10
        p = b
        p.x += 20
    else:
        p = b
    return a.x, b.x


def _of_an_attribute(n, make):
    held, a, b = Fields(None), make(1), make(2)
    held.x = a
    if n > 2:
        held.x.x = 10
        held.x = b
    else:
        held.x = b
    return a.x, b.x


def _of_an_item(n, make):
    a, b = make(1), make(2)
    ps = [a, b]
    if n > 2:
        ps[0].x = 10
        ps[0], ps[1] = ps[1], ps[0]
    else:
        ps[0], ps[1] = ps[1], ps[0]
    return a.x, b.x, [p.x for p in ps]


def _of_a_dict(n, make):
    a, b = {"k": 1}, {"k": 2}
    p = a
    if n > 2:
        p["k"] = 10
        p = b
    else:
        p = b
    return a["k"], b["k"]


@pytest.mark.parametrize("make", [Fields, Point])
@pytest.mark.parametrize("case", [_of_a_variable, _of_an_attribute, _of_an_item, _of_a_dict])
def test_an_object_that_was_changed_before_its_variable_has_another(case, make) -> None:
    staged = rt.function(lambda n: case(n, make))
    for n in (1, 3):
        assert rt.nest.map_structure(int, staged(rt.constant(n))) == case(n, make)


def test_a_list_of_tuples_with_text_that_a_callee_lengthens() -> None:
    """It is state, of which only the graph knows the length."""
    entries = [("in", rt.constant(1.0))]

    def put(x):
        entries.append(("in", x))

    @rt.function
    def f(x):
        if x > 3:
            put(x * 2)
        return x

    f(rt.constant(1.0))
    assert len(entries) == 1
    for x in (4.0, 5.0):
        f(rt.constant(x))
    assert [(text, float(x)) for text, x in entries] == [("in", 1.0), ("in", 8.0), ("in", 10.0)]


# Methods named like those of lists and dicts

@dataclasses.dataclass
class Filter:
    state: Any
    seen: Any

    def predict(self) -> None:
        self.state = [value + 1 for value in self.state]

    def update(self, z: Any) -> None:
        self.seen = [value + z for value in self.seen]


class Robot:
    def __init__(self) -> None:
        self.filter = Filter([0.0], [0.0])

    def move(self, zs: Any) -> None:
        for z in zs:
            self.filter.predict()
            self.filter.update(z)


def test_methods_of_objects_may_be_named_like_those_of_lists_and_dicts() -> None:
    def of_argument(k, zs):
        for z in zs:
            k.predict()
            k.update(z)
        return k.state[0], k.seen[0]

    def of_attribute(robot, zs):
        robot.move(zs)
        return robot.filter.state[0], robot.filter.seen[0]

    zs = rt.constant([1.0, 2.0, 3.0])
    assert [float(x) for x in rt.function(of_argument)(Filter([0.0], [0.0]), zs)] == [3.0, 6.0]
    assert [float(x) for x in rt.function(of_attribute)(Robot(), zs)] == [3.0, 6.0]


def test_a_path_through_an_attribute_that_is_state_is_not_state_of_its_own() -> None:
    def f(n):
        held = Tagged()
        held.tag = Made(rt.constant(1))
        if n > 0:
            held.tag = Made(n)
        else:
            held.tag.n += 5
        return held.tag.n

    graph = rt.function(f).get_concrete_function(rt.TensorSpec([], rt.int32)).graph
    [cond] = [node for node in graph.nodes if node.op.name == "cond"]
    assert len(cond.outputs) == 1
    assert [int(rt.function(f)(rt.constant(n))) for n in (3, 0)] == [3, 6]


class Counting:
    """As a layer of Keras: what is assigned is examined."""

    def __setattr__(self, name, value):
        assert not isinstance(value, (list, dict))
        vars(self)[name] = value


class Examined(dict):
    def __setitem__(self, key, value):
        assert not isinstance(value, (list, dict))
        super().__setitem__(key, value)


def test_own_setters_run_only_where_the_program_assigns() -> None:
    """What had nothing before a loop may be unbound after it, and must not be examined then."""
    @rt.function
    def f(n):
        o, d = Counting(), Examined()
        for i in rt.range(n):
            o.last = i
            d["last"] = i + 1
        return o.last, d["last"]

    assert [int(x) for x in f(rt.constant(3))] == [2, 3]
    with pytest.raises(AttributeError, match="'o' has no attribute 'last'"):
        f(rt.constant(0))
