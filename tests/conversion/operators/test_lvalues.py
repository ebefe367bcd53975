"""Items set of what an attribute or an element has: `self.grid[i] = v`, `cells[k][i] += v`.

Of a tensor they give the attribute another tensor; of all else they are set as in Python, and nothing more.
"""
from __future__ import annotations

import collections
import gc
import inspect
import textwrap
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from traced_once import on

import autograph as ag
import runtime as rt
from autograph import operators

PROGRAMS: list[Callable[..., Any]] = []


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` takes an array that it may change, and a number: NumPy's arrays say what it has to give."""
    PROGRAMS.append(fn)
    return fn


class Plain:
    def __init__(self, grid: Any) -> None:
        self.grid = grid

    def step(self, by: Any) -> float:
        self.grid[1] += by
        return 1.0

    def first(self) -> int:
        self.grid[0] += 5.0
        self.grid[2] += 10.0
        return 0


@dataclass
class Record:
    grid: Any
    count: Any = 0


class Slotted:
    __slots__ = ("grid",)

    def __init__(self, grid: Any) -> None:
        self.grid = grid


class Private:
    def __init__(self, grid: Any) -> None:
        self.__grid = grid

    def run(self, n: Any) -> Any:
        self.__grid[0] = 5.0
        if self.__grid[1] > 2.0:
            self.__grid[1] = 7.0
        for i in range(n):
            self.__grid[i + 1 - 1] += 1.0
        return self.__grid


class Counting:
    """Says how often its property is read and set."""

    def __init__(self, grid: Any) -> None:
        self.kept, self.reads, self.sets = grid, 0, 0

    @property
    def grid(self) -> Any:
        self.reads += 1
        return self.kept

    @grid.setter
    def grid(self, value: Any) -> None:
        self.sets += 1
        self.kept = value


class Fixed:
    def __init__(self, grid: Any) -> None:
        self.kept = grid

    @property
    def grid(self) -> Any:
        return self.kept


@program
def without_control_flow(x: Any, n: Any) -> Any:
    a = Plain(x)
    a.grid[0] = 3.0
    a.grid[-1] += 2.0
    a.grid[1:3] *= 2.0
    a.grid[a.grid > 5.0] = -1.0
    return a.grid


@program
def branches_in_a_while(x: Any, n: Any) -> Any:
    a = Record(x)
    i = 0
    while i < n:
        if a.grid[i] > 1.0:
            a.grid[i] = a.grid[i] * 10.0
            a.count += 1
        else:
            a.grid[i] -= 1.0
        i += 1
    return a.grid, a.count


@program
def nested_attributes(x: Any, n: Any) -> Any:
    a = SimpleNamespace(b=Slotted(x))
    for i in range(n):
        for j in range(n):
            if i > j:
                a.b.grid[i] += a.b.grid[j]
            elif i == j:
                a.b.grid[(i + j) // 2] -= 0.5
    return a.b.grid


@program
def rows_and_columns(x: Any, n: Any) -> Any:
    a = Plain(x[:, None] * x)
    for i in range(n):
        a.grid[i, 0] = 1.0
        a.grid[i, i:] += 2.0
        a.grid[..., 1] -= 1.0
    return a.grid


@program
def elements_of_a_dict(x: Any, n: Any) -> Any:
    d = {"w": x, "b": {"c": x * 2.0}}
    for i in range(n):
        d["w"][i] += 1.0
        if d["w"][i] > 3.0:
            d["b"]["c"][i] = d["w"][i]
    return d["w"], d["b"]["c"]


@program
def elements_of_a_list(x: Any, n: Any) -> Any:
    cells = [x, x + 1.0]
    k = 0
    while k < 2:
        cells[k][0] = 9.0
        for i in range(n):
            cells[k][i] += cells[1][i]
        k += 1
    return cells[0], cells[1]


@program
def a_list_in_an_attribute(x: Any, n: Any) -> Any:
    a = Plain([x, x + 1.0])
    for i in range(n):
        a.grid[1][i] = a.grid[0][i] * 3.0
        a.grid[0][0] += 1.0
    return a.grid[0], a.grid[1]


@program
def by_a_method(x: Any, n: Any) -> Any:
    a = Plain(x)
    for i in range(n):
        a.step(x[i] * 0.0 + 2.0)
    return a.grid


@program
def private_names(x: Any, n: Any) -> Any:
    return Private(x).run(n)


@program
def changed_while_the_value_is_evaluated(x: Any, n: Any) -> Any:
    a = Plain(x)
    a.grid[0] += a.step(10.0)
    a.grid[a.first()] = 9.0
    a.grid[a.first()] += a.step(1.0)
    a.grid[1] += a.step(1.0) * 0.0
    return a.grid


@program
def left_by_break(x: Any, n: Any) -> Any:
    d = {"w": x}
    for i in range(n):
        d["w"][i] += 1.0
        if d["w"][i] > 4.0:
            break
    for i in (0, 1, 2):
        d["w"][i] += 1.0
        if d["w"][i] > 5.0:
            break
    return d["w"]


@program
def in_a_try(x: Any, n: Any) -> Any:
    a = Plain(x)
    i = 0
    try:
        a.grid[0] = 5.0
        while i < n:
            a.grid[i] += 1.0
            if a.grid[i] > 4.5:
                raise ValueError("large")
            i += 1
    except ValueError:
        a.grid[2] = 77.0
    finally:
        a.grid[1] += 1.0
    return a.grid


@program
def several_targets(x: Any, n: Any) -> Any:
    a, b = Plain(x), Plain(x * 2.0)
    if x[0] > 0.0:
        (a.grid[0], *b.grid[1:]), a.grid[1] = [1.5, 2.5, 3.5], 3.0
        a.grid[2] = b.grid[0] = 6.0
    return a.grid, b.grid


@program
def default_of_a_dict(x: Any, n: Any) -> Any:
    zeros = x * 0.0
    d: Any = collections.defaultdict(lambda: zeros + 1.0)
    d["a"][0] = 4.0
    d[3][1] += 2.0
    return d["a"], d[3]


@program
def unannotated_and_annotated(x: Any, n: Any) -> Any:
    a = Plain(x)
    a.grid[0]: float = 4.0
    return a.grid


def values(result: Any) -> Any:
    return [values(r) for r in result] if isinstance(result, tuple) else np.asarray(result).tolist()


X = [1.0, 4.0, 2.0]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_staged(fn: Callable[..., Any], executor: str) -> None:
    expected = values(fn(np.array(X, np.float32), 3))
    assert values(on(executor, fn)(rt.constant(X), rt.constant(3))) == expected


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_eager(fn: Callable[..., Any]) -> None:
    expected = values(fn(np.array(X, np.float32), 3))
    converted = ag.convert(fn)
    assert values(converted(rt.constant(X), 3)) == expected
    assert values(converted(np.array(X, np.float32), 3)) == expected
    exec(textwrap.dedent(ag.to_code(fn)), namespace := {**fn.__globals__, "ag__": operators})
    assert values(namespace[fn.__name__](rt.constant(X), 3)) == expected


def test_a_body_is_traced_once() -> None:
    """That an item of the tensor is set is known by the text, and not found when a body has been traced."""
    times = 0

    @ag.do_not_convert
    def traced() -> None:
        nonlocal times
        times += 1

    @rt.function
    def f(x: Any, n: Any) -> Any:
        a = Plain(x)
        for i in range(n):
            for j in range(n):
                if x[i] > x[j]:
                    traced()
                    a.grid[i] = x[j]
                    a.grid[i + j - j] += 1.0
        return a.grid

    f(rt.constant(X), rt.constant(3))
    assert times == 1


def test_text() -> None:
    def f(self, cells, k, n):
        self.a.grid[k, 1:] = 0
        cells[k][0] += n
        cells["w"]["key"] = n
        for i in range(n):
            self.a.grid[i, 0] = 1
            cells[i][k] = 1

    assert ag.to_code(f) == textwrap.dedent("""\
        def f(self, cells, k, n):
            ag__.attribute(self.a, 'grid')[k, 1:] = 0
            ag__.element(cells, k)[0] += n
            cells["w"]["key"] = n

            def for_body(i):
                ag__.attribute(self.a, 'grid')[i, 0] = 1
                ag__.element(cells, i)[k] = 1
            ag__.reduce(ag__.call(range)(n), for_body, 'cells[i][k]', 'self.a.grid[:]')
        """)


# --- What is no tensor: exactly as in Python ---


class Noting:
    """Notes what is asked of it and of what it has."""

    def __init__(self, log: list[Any], name: str = "") -> None:
        object.__setattr__(self, "log", log)
        object.__setattr__(self, "name", name)

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __getattr__(self, name: str) -> Any:
        self.log.append(("attribute", self.name, name))
        return Noting(self.log, f"{self.name}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        self.log.append(("set attribute", self.name, name))

    def __getitem__(self, key: Any) -> Any:
        self.log.append(("item", self.name, str(key)))
        return Noting(self.log, f"{self.name}[]")

    def __setitem__(self, key: Any, value: Any) -> None:
        self.log.append(("set item", self.name, str(key)))

    def __iadd__(self, other: Any) -> Any:
        self.log.append(("add", self.name))
        return self


def in_order(o: Any, noted: Any) -> None:
    noted("object").a.b[noted("key")] = noted("value")
    noted("object").a.b[noted("key")] += noted("value")
    o[noted("first")][noted("second")] = noted("value")
    o[noted("first")][noted("second"):noted("third"), noted("fourth")] += noted("value")
    o.a[noted("x")], (o["k"][0], noted("object").b[1:2]) = noted("pair"), (noted("c"), noted("d"))
    o.a[(k := noted("walrus"))] = noted("value")
    k.b[0] = 1
    o.c[0] = o[1][2] = noted("several")


def of_globals(o: Any, noted: Any) -> None:
    OBJECTS["k"].items[noted("key")] = noted("value")
    OBJECTS[noted("k")[0].name][1:] = 4


OBJECTS: dict[Any, Any] = {}


@pytest.mark.parametrize("convert", [ag.convert, lambda fn: fn_of_text(fn)], ids=["live", "text"])
@pytest.mark.parametrize("fn", [in_order, of_globals], ids=lambda fn: fn.__name__)
def test_order_of_evaluation(fn: Any, convert: Any) -> None:
    def run(fn: Any) -> list[Any]:
        log: list[Any] = []

        def noted(name: str) -> Any:
            log.append(name)
            return Noting(log, name)

        OBJECTS.clear()
        OBJECTS.update({"k": Noting(log, "global"), "k[]": Noting(log, "other")})
        fn(Noting(log, "o"), noted)
        return log

    assert run(convert(fn)) == run(fn)


def fn_of_text(fn: Any) -> Any:
    exec(textwrap.dedent(ag.to_code(fn)), namespace := {**fn.__globals__, "ag__": operators})
    return namespace[fn.__name__]


def counted(o: Any) -> Any:
    o.grid[0] = 3.0
    o.grid[1] += 3.0
    return o


def test_the_attribute_is_read_once_and_set_for_a_tensor_alone() -> None:
    run = ag.convert(counted)
    o = run(Counting([1.0, 2.0]))
    assert (o.kept, o.reads, o.sets) == ([3.0, 5.0], 2, 0)
    o = run(Counting(rt.constant([1.0, 2.0])))
    assert (o.kept.numpy().tolist(), o.reads, o.sets) == ([3.0, 5.0], 2, 2)
    o = run(Counting({0: 1.0, 1: 2.0}))
    assert (o.kept, o.reads, o.sets) == ({0: 3.0, 1: 5.0}, 2, 0)
    assert run(Fixed([1.0, 2.0])).kept == [3.0, 5.0], "no setter is needed"


class Subclass(list[Any]):
    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, ("set", value))


def test_subclasses_keep_their_meaning() -> None:
    @ag.convert
    def f(o: Any) -> Any:
        o.grid[0] = 1
        return o.grid

    kept = Subclass([0])
    assert f(Plain(kept)) is kept and kept == [("set", 1)]


def test_errors_are_pythons_own() -> None:
    def f(o: Any) -> None:
        o.grid[5] = 1

    for o in (Plain([1]), Plain((1, 2)), Plain(None), 3):
        with pytest.raises((IndexError, TypeError, AttributeError)) as python:
            f(o)
        with pytest.raises(python.type) as converted:
            ag.convert(f)(o)
        assert str(converted.value) == str(python.value)
        assert converted.traceback[-1].lineno == python.traceback[-1].lineno
        assert converted.traceback[-1].path == python.traceback[-1].path


def test_what_an_attribute_had_goes_when_it_goes_in_python() -> None:
    class Items(list[Any]):
        pass

    @ag.convert
    def f(o: Any, holders: Any) -> Any:
        o.grid[0] = 1
        holders.pop().grid[0] += 1
        found = weakref.ref(o.grid)
        o.grid = None
        return found(), len(gone)

    gone: list[Any] = []
    o, other = Plain(Items([0])), Plain(Items([0]))
    weakref.finalize(other, gone.append, 1)
    holders = [other]
    del other
    gc.disable()
    try:
        assert f(o, holders) == (None, 1)
    finally:
        gc.enable()


# --- Tensors: what is different ---


def test_what_else_had_the_tensor_cannot_be_used() -> None:
    def f(x: Any) -> Any:
        a, b = Plain(x), x
        a.grid[0] = 9.0
        return a.grid, b

    assert values(ag.convert(f)(rt.constant(X))) == [[9.0, 4.0, 2.0], X]  # eager tensors are not followed
    for executor in ("numpy", "native"):
        with pytest.raises(rt.errors.StagingError, match="a tensor is changed here that the function returns under"):
            on(executor, f)(rt.constant(X))


def test_a_list_in_one_call_and_a_tensor_in_another() -> None:
    @rt.function
    def f(o: Any, n: Any) -> Any:
        for i in range(n):
            o.grid[i] += 1.0
        return o.grid

    three = rt.constant(3)
    assert values(f(Record(rt.constant(X)), three)) == [2.0, 5.0, 3.0]
    assert values(tuple(f(Record(list(X)), three))) == [2.0, 5.0, 3.0]
    assert values(f(Record(rt.constant(X)), three)) == [2.0, 5.0, 3.0]


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_tensor_on_some_ways_only(executor: str) -> None:
    @rt.function(executor=executor)
    def f(x: Any) -> Any:
        a = Plain(None)
        if x[0] > 0.0:
            a.grid = x * 2.0
        a.grid[0] = 1.0
        return a.grid

    assert values(f(rt.constant(X))) == [1.0, 8.0, 4.0]
    with pytest.raises(TypeError):
        f(rt.constant([-1.0, 0.0]))


def no_setter(x: Any) -> Any:
    a = Fixed(x)
    a.grid[0] = 3.0  # here
    return a.grid


def in_a_tuple(x: Any) -> Any:
    pair = (x, x)
    pair[1][0] += 3.0  # here
    return pair


def of_a_row(x: Any) -> Any:
    rows = rt.stack([x, x])
    rows[0][1] = 3.0  # here
    return rows


def of_a_variable(x: Any) -> Any:
    a = Plain(VARIABLE)
    a.grid[0] = 3.0  # here
    return a.grid


def too_far(x: Any) -> Any:
    a = Plain(x)
    a.grid[7] = 3.0  # here
    return a.grid


VARIABLE = rt.Variable([1.0, 2.0])
REFUSED: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (no_setter, rt.errors.StagingError, "what has it is given another, which Python refuses here: "),
    (in_a_tuple, rt.errors.StagingError, "Python refuses here: 'tuple' object does not support item assignment"),
    (of_a_row, TypeError, "with all indices: x[i, j] = value."),
    (of_a_variable, TypeError, "items of a variable"),
    (too_far, IndexError, "7"),
]


@pytest.mark.parametrize("way", ["eager", "numpy", "native"])
@pytest.mark.parametrize(("fn", "kind", "message"), REFUSED, ids=[fn.__name__ for fn, *_ in REFUSED])
def test_refused(fn: Callable[..., Any], kind: type[Exception], message: str, way: str) -> None:
    lines, start = inspect.getsourcelines(fn)
    line = next(start + i for i, text in enumerate(lines) if "# here" in text)
    run = ag.convert(fn) if way == "eager" else rt.function(fn, executor=way)
    with pytest.raises(kind) as info:
        run(rt.constant(X))
    assert message in str(info.value)
    entries = [e for e in info.traceback if e.path.name == "test_lvalues.py"]
    assert f"test_lvalues.py:{line}" in str(info.value) or entries[-1].lineno + 1 == line
    assert VARIABLE.numpy().tolist() == [1.0, 2.0]


def test_items_set_of_an_attribute_from_before_are_there_after_each_call() -> None:
    a = Plain(rt.constant(X))

    @rt.function
    def f(n: Any) -> Any:
        a.grid[0] += rt.cast(n, a.grid.dtype)
        return n

    expected = np.array(X)
    for k in range(1, 4):
        f(rt.constant(k))
        expected[0] += k
        np.testing.assert_array_equal(a.grid.numpy(), expected)


def test_verification_takes_it_for_a_difference() -> None:
    with pytest.raises(Exception, match="a.grid"):
        ag.convert(without_control_flow, verify=True)(rt.constant(X), 3)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_items_of_a_variable_are_assigned(traced: bool) -> None:
    """What `x[i] = v` would give is a tensor, and the variable as it was."""
    v = rt.Variable([1.0, 2.0])
    holder = SimpleNamespace(v=v)

    def local(i):
        x = v
        x[i] = 5.0
        return x

    def held(i):
        holder.v[i] = 5.0

    for fn in (local, held):
        converted = rt.function(fn) if traced else ag.convert(fn)
        with pytest.raises(TypeError, match="items of a variable") as raised:
            converted(rt.constant(0))
        assert "v[i].assign(value)" in str(raised.value) and "test_lvalues.py" in str(raised.value)
    assert v.numpy().tolist() == [1.0, 2.0]
