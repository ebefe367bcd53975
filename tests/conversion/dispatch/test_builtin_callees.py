"""Builtins, functions of modules, partials and held objects that converted code calls."""
from __future__ import annotations

import builtins
import functools
import math
import operator
import subprocess
import sys
import threading
from collections.abc import Callable
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt


def value(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(value, x))
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def lengths(items):
    return len(items), max(items), sorted(items), list(map(abs, items)), sum(items), sum(map(abs, items)), abs(items[0])


def test_a_builtin_of_ones_own_is_seen_at_once(monkeypatch):
    converted = ag.convert(lengths)
    for _ in range(3):
        assert converted([2, 1]) == lengths([2, 1])
    for name, own in {"len": str, "abs": lambda x: -x, "map": lambda f, xs: [f(x) for x in xs], "sum": list}.items():
        monkeypatch.setitem(lengths.__globals__, name, own)
        assert converted([2, 1]) == lengths([2, 1])
    monkeypatch.undo()
    with monkeypatch.context() as patches:
        patches.setattr(builtins, "abs", lambda x: x + 10)
        found = converted([2, 1])
    assert found == (2, 2, [1, 2], [12, 11], 3, 23, 12) and converted([2, 1]) == lengths([2, 1])


def test_builtins_ask_in_a_trace_after_plain_calls_and_not_after_it():
    converted, staged = ag.convert(lengths), rt.function(lengths)
    for _ in range(2):
        assert converted([2, -1]) == lengths([2, -1])
        assert value(staged(rt.constant([2, -1]))) == lengths([2, -1])
        assert value(converted(rt.constant([2, -1]))) == lengths([2, -1])


def test_builtins_whose_replacements_do_more_than_python_ask_eager_tensors():
    def sets_items(row):
        row[0] = 7
        return row

    converted = ag.convert(lambda bools, rows: (sum(bools), round(bools[0]), list(map(sets_items, rows))))
    total, rounded, rows = converted(rt.constant([True, True]), rt.constant([[1, 2], [3, 4]]))
    assert value((total, rounded, rows)) == (2, 1, [[7, 2], [7, 4]])


def counts(xs):
    while True:
        xs = yield len((yield xs)), sum((yield)), math.floor(len(xs))


def test_a_generator_that_was_suspended_before_a_trace_asks_in_it():
    """What it calls was chosen before."""
    generator = ag.convert(counts)([1, 2])
    next(generator)

    @rt.function(input_signature=[rt.TensorSpec([None], rt.int32)])
    def traced(xs):
        generator.send(xs)
        return generator.send(xs)[:2]

    assert value(traced(rt.constant([3, 4, 5]))) == (3, 12)


def test_a_thread_that_traces_changes_no_other():
    begun, end = threading.Event(), threading.Event()
    converted = ag.convert(lengths)
    expected = lengths([2, 1])
    assert converted([2, 1]) == expected

    @rt.function
    def traced(x):
        begun.set()
        assert end.wait(60)
        return abs(x) + len([x])

    thread = threading.Thread(target=lambda: results.append(traced(rt.constant(-3)).numpy()))
    results: list[int] = []
    thread.start()
    assert begun.wait(60)
    try:
        assert converted([2, 1]) == expected
    finally:
        end.set()
        thread.join()
    assert results == [4] and converted([2, 1]) == expected


OTHER_BACKEND = """
import autograph as ag
from autograph.core.backend import register

class Lazy:
    pass

class Backend:
    builtins = {len: lambda x: "staged length"}
    def stages(self, value):
        return True

class Length:
    def length(self, x):
        return len(x)

def length(x):
    return len(x)

def of_object(o, x):
    return o.length(x)

converted, method = ag.convert(length), ag.convert(of_object)
print(converted([1]), method(Length(), [1]))
register(Lazy, Backend())
class Lazier(Lazy):
    pass
print(converted([1]), converted(Lazy()), method(Length(), Lazier()))
"""


@pytest.mark.parametrize("before", ["", "import runtime\n"])
def test_a_backend_is_asked_though_nothing_traces(before, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(before + OTHER_BACKEND)
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("1 1\n1 staged length staged length\n", "")


def in_order(p):
    return sum([p(1)], p(2)), sum([p(1), p(3)], p(2)), list(map(p, [p(3)])), round(p(2.5), p(1)), max(p(1), p(2))


def test_arguments_of_builtins_run_in_order():
    def seen(fn: Callable[..., Any]) -> tuple[Any, list[Any]]:
        order: list[Any] = []
        return fn(lambda x: order.append(x) or x), order  # type: ignore[func-returns-value]

    assert seen(ag.convert(in_order)) == seen(in_order)


# --- Modules ---


def of_modules(x):
    return math.floor(math.sqrt(x)), operator.add(x, 1), float(np.sqrt(x)), int(np.sum([x, 1])), np.linalg.norm([x])


def test_functions_of_modules_in_c_and_what_takes_their_place(monkeypatch):
    converted = ag.convert(of_modules)
    for _ in range(10):
        assert converted(4) == of_modules(4)
    monkeypatch.setattr(math, "sqrt", lambda x: -x if x > 0 else x)
    monkeypatch.setattr(np, "sqrt", lambda x: 3 * x if x > 0 else x)
    assert converted(4) == of_modules(4)
    monkeypatch.undo()
    monkeypatch.setitem(of_modules.__globals__, "math", SimpleNamespace(floor=str, sqrt=lambda x: x if x > 9 else -x))
    assert converted(4) == of_modules(4) == ("-4", 5, 2.0, 5, 4.0)


def plain(x, y):
    return x * y


def clipped(x, y):
    return x if x < y else y


def by_default(x, y=1):
    return x if x < y else y


KEPT = functools.partial(plain, 3)


def test_partials_that_are_made_where_they_are_called(monkeypatch):
    def call(fn, x, **options):
        made = functools.partial(fn, x, **options)
        return made(), made(y=5)

    converted = ag.convert(call)
    for _ in range(2):
        for fn in (clipped, by_default, plain):
            assert converted(fn, 3, y=2) == call(fn, 3, y=2)
    monkeypatch.setattr(by_default, "__defaults__", (-7,))
    assert converted(by_default, 3) == call(by_default, 3)
    assert value(rt.function(call)(clipped, rt.constant(3), y=2)) == (2, 3)
    nested = functools.partial(functools.partial(clipped, y=2), 4)
    assert ag.convert(lambda fn: fn())(nested) == 2 and ag.convert(lambda: KEPT(2))() == 6


class Clips:
    """A callable object in place of a method."""

    def __init__(self, most):
        self.most = most

    def __call__(self, owner, x):
        return x + owner.offset if x < self.most else self.most


class Clipping:
    offset = 1
    by_partial = classmethod(functools.partial(Clips.__call__, Clips(5)))
    by_object = classmethod(Clips(6))


def test_methods_of_partials_and_callable_objects():
    def call(x):
        clipping, total = Clipping(), 0
        bound = MethodType(functools.partial(Clips(7)), clipping)
        for i in range(x):
            total += clipping.by_partial(i) + Clipping.by_object(i) * 100 + bound(i) * 10_000
        return total

    assert value(rt.function(call)(rt.constant(9))) == call(9)


# --- What objects hold ---


class Words(list):
    def append(self, word):
        if word is not None:
            super().append([word])


class Proxy:
    def __init__(self, held):
        self.held = held

    def __getattr__(self, name):
        return getattr(self.held, name)


class Setter:
    def append(self, x):
        x[0] = 7
        self.last = x


class Keeper:
    def __init__(self, x):
        self.items = [x]

    def put(self, x):
        self.items.append(x)
        return self.items


def keeps(keeper, x):
    return keeper.put(x)


def test_what_an_object_holds_may_be_another_each_time():
    converted = ag.convert(keeps)
    keeper = Keeper(1)
    for _ in range(3):
        converted(keeper, 2)
    assert keeper.items == [1, 2, 2, 2]
    keeper.items = Words()
    assert converted(keeper, 3) == [[3]] and converted(keeper, None) == [[3]]
    keeper.items = Proxy([])
    assert converted(keeper, 4).held == [4]
    keeper.items = Setter()
    assert value(converted(keeper, rt.constant([1, 2])).last) == [7, 2]
    keeper.put = lambda x: "own"
    assert converted(keeper, 5) == "own"


def test_what_an_object_holds_is_staged_after_plain_calls():
    @rt.function
    def staged(x):
        keeper = Keeper(x)
        for i in range(x):
            keeper.put(i)
        return keeper.items

    for _ in range(2):
        assert ag.convert(keeps)(Keeper(1), 2) == [1, 2]
        assert [int(v) for v in staged(rt.constant(3))] == [3, 0, 1, 2]


# --- Objects that call builtins ---


class Sized:
    def __init__(self, x):
        self.keeper = Keeper(x)
        self.size = abs(x)

    def measured(self, items):
        return len(items) + max(self.size, 1) + math.floor(self.size)

    def helped(self):
        return plain(self.size, 2)

def test_what_takes_the_place_of_a_function_of_the_module(monkeypatch):
    converted = ag.convert(lambda x: (Sized(x).measured([x]), Sized(x).helped(), Sized(x).keeper.items))
    for _ in range(3):
        assert converted(4) == (9, 8, [4])
    monkeypatch.setitem(plain.__globals__, "plain", lambda x, y: x - y if x > y else y)
    monkeypatch.setitem(plain.__globals__, "len", lambda items: 100)
    monkeypatch.setitem(plain.__globals__, "Keeper", lambda x: SimpleNamespace(items="own"))
    assert converted(4) == (108, 2, "own")
