"""What a traced function returns is the caller's own: each call makes anew what the function makes."""
from __future__ import annotations

import array
import collections
import dataclasses
import enum
import functools
import math
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt
from runtime.function.state.escaped_tensors import graph_value_in

ONE, TWO = rt.constant(1), rt.constant(2)


class Box:
    def __init__(self, value: Any = None) -> None:
        self.value = value

    def get(self) -> Any:
        return self.value


class Slim:
    __slots__ = ("inner", "value")


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    value: Any


@dataclasses.dataclass
class Record:
    value: Any
    other: Any = None


class Color(enum.Enum):
    RED = 1


class Items(list):  # type: ignore[type-arg]
    pass


KEPT = Box(3)
GRID = np.zeros(3)


def box(x: Any) -> Any:
    b = Box()
    b.value = 2 * x
    return b


def slim(x: Any) -> Any:
    s = Slim()
    s.value, s.inner = x, Box(x + 1)
    return s


def shared(x: Any) -> Any:
    inner = [x]
    return {"a": inner, "b": (inner, Box(inner))}


def cyclic(x: Any) -> Any:
    b = Box()
    b.value = [b, (b, x)]
    return b


def closure(x: Any) -> Any:
    def times(y: Any) -> Any:
        return x * y

    return times


def counter(x: Any) -> Any:
    n = 0

    def count() -> Any:
        nonlocal n
        n += 1
        return n

    def seen() -> Any:
        return n

    return count, seen


def view(x: Any) -> Any:
    a = np.arange(6).reshape(2, 3)
    return a, a[1], a.T


def items(x: Any) -> Any:
    found = Items([x, 2])
    found.name = x  # type: ignore[attr-defined]
    return found


FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    # the function, and what to look at in what it returns
    "box": (box, lambda r: (type(r), r.value)),
    "slim": (slim, lambda r: (type(r), r.value, type(r.inner), r.inner.value)),
    "shared": (shared, lambda r: (r["a"], r["a"] is r["b"][0] is r["b"][1].value)),
    "cyclic": (cyclic, lambda r: (r.value[0] is r, r.value[1][0] is r, r.value[1][1])),
    "closure": (closure, lambda r: r(3)),
    "counter": (counter, lambda r: (r[0](), r[0](), r[1]())),
    "view": (view, lambda r: (r[0].__setitem__((1, 0), 9), r[1].tolist(), r[2].tolist())),
    "items": (items, lambda r: (type(r), list(r), r.name)),
    "zeros": (lambda x: np.zeros(3), lambda r: (r.__setitem__(0, 7), r.tolist())),
    "fortran": (lambda x: np.ones((2, 3), order="F")[:, ::-1], lambda r: (r.__setitem__((0, 0), 7), r.tolist())),
    "objects": (lambda x: np.array([Box(x), None], dtype=object), lambda r: (r[0].value, r[1])),
    "set": (lambda x: {1, 2}, lambda r: (r.add(3), r)),
    "frozenset": (lambda x: frozenset([1]), lambda r: r),
    "bytearray": (lambda x: bytearray(2), lambda r: (r.append(1), r)),
    "deque": (lambda x: collections.deque([x, 1], 5), lambda r: (r.append(1), list(r), r.maxlen)),
    "array": (lambda x: array.array("i", [1]), lambda r: (r.append(1), r)),
    "defaultdict": (lambda x: collections.defaultdict(list, a=[x]), lambda r: (r["b"].append(1), dict(r))),
    "OrderedDict": (lambda x: collections.OrderedDict(b=x, a=1), lambda r: (type(r), list(r.items()))),
    "Counter": (lambda x: collections.Counter("aab"), lambda r: (r.update("a"), r)),
    "record": (lambda x: Record(x, [x]), lambda r: (type(r), r.value, r.other)),
    "frozen": (lambda x: (Frozen(x),) * 2, lambda r: (r[0].value, r[0] is r[1])),
    "partial": (lambda x: functools.partial(max, x), lambda r: (r(0), r.func is max)),
    "method": (lambda x: Box(x).get, lambda r: r()),
    "method of a list": (lambda x: [x].pop, lambda r: r()),
    "iterator": (lambda x: iter([x, 1]), lambda r: list(r)),
    "error": (lambda x: ValueError("no", x), lambda r: (type(r), r.args)),
    "existing": (lambda x: (KEPT, GRID, Box, Color.RED, box, np), lambda r: [
        a is b for a, b in zip(r, (KEPT, GRID, Box, Color.RED, box, np))]),
    "view of existing": (lambda x: GRID[1:], lambda r: (np.shares_memory(r, GRID), r is GRID)),
    "keys": (lambda x: {Box(1): x}, lambda r: [(type(k), v) for k, v in r.items()]),
}


def plain(value: Any) -> Any:
    """Tensors as numbers."""
    if isinstance(value, rt.Tensor):
        return value.numpy().item()
    if isinstance(value, (list, tuple)):
        return type(value)([plain(item) for item in value])
    return {key: plain(item) for key, item in value.items()} if type(value) is dict else value


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("name", FORMS)
def test_each_call_makes_its_own(name: str, executor: str) -> None:
    fn, look = FORMS[name]
    traced = on(executor, fn)
    results = [traced(x) for x in (ONE, TWO, ONE)]
    assert traced.experimental_get_tracing_count() == 1  # type: ignore[attr-defined]
    assert all(graph_value_in(result) is None for result in results)
    if name not in ("frozenset", "existing"):
        assert len({*map(id, results)}) == 3
    for x, result in zip((1, 2, 1), results, strict=True):
        assert plain(look(result)) == plain(look(fn(x)))
        GRID[:] = 0.0


def test_init_is_not_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = rt.function(box)
    traced(ONE)
    monkeypatch.setattr(Box, "__init__", None)
    assert traced(TWO).value == 4


@pytest.mark.parametrize("make", [
    lambda x: (x * i for i in range(3)), lambda x: range(x), lambda x: threading.Lock(),
    lambda x: {"a": Box(threading.Lock())},
])
def test_what_cannot_be_made_anew_is_an_error(make: Callable[[Any], Any]) -> None:
    with pytest.raises(rt.errors.StagingError, match="of which no other call can make one like it") as info:
        rt.function(make)(ONE)
    assert f"test_results.py:{make.__code__.co_firstlineno}" in str(info.value)
    assert "Return " in str(info.value).splitlines()[-1]


def test_arguments_are_themselves() -> None:
    @rt.function
    def f(xs: Any, d: Any, o: Any, t: Any) -> Any:
        return xs, [d], o, t, d["inner"]

    for _ in range(2):
        given: Any = [1, ONE], {"inner": [2]}, Record(ONE), (1, [2])
        xs, (d,), o, t, inner = f(*given)
        assert all(a is b for a, b in zip((xs, d, o, t, inner), (*given, given[1]["inner"])))


def test_arguments_change_as_in_python() -> None:
    def f(xs: Any, d: Any, o: Any, x: Any) -> Any:
        xs.append(x)
        xs[0], d["new"] = xs[1], [x, xs]
        del d["old"]
        o.value, o.more = x + 1, 3
        return o

    def run(fn: Any, x: Any) -> Any:
        xs, d, o = [np.ones(2), "b"], {"old": 1}, Record(0)
        assert fn(xs, d, o, x) is o and d["new"][1] is xs
        return plain([xs, d["new"][0], [*d], o.value, o.more])  # type: ignore[attr-defined]

    traced = rt.function(f)
    assert [run(traced, rt.constant(x)) for x in (1, 5)] == [run(f, x) for x in (1, 5)]


def test_arguments_that_are_one_object() -> None:
    @rt.function
    def f(a: Any, b: Any) -> Any:
        a.append(1)
        return len(b)

    one: list[int] = []
    assert f(one, []) == 0 and f(one, one) == 2 and one == [1, 1]


def test_a_key_on_some_ways() -> None:
    @rt.function
    def f(d: Any, x: Any) -> Any:
        if x > 0:
            d["b"] = x
        return x

    for x, keys in ((1, ["a", "b"]), (-1, ["a"])):
        d = {"a": 1}
        f(d, rt.constant(x))
        assert list(d) == keys


def test_a_constant_bound_on_some_ways_in_a_tuple() -> None:
    thing = Box()

    @rt.function
    def f(x: Any) -> Any:
        if x > 0:
            name, found = "b", thing
        return found, (name, "c")

    assert f(ONE) == (thing, ("b", "c"))
    with pytest.raises(UnboundLocalError):
        f(-ONE)


def test_no_value_of_a_graph_stays_outside() -> None:
    holder, items, table = Box(), [], {}  # type: ignore[var-annotated]
    last = None

    @rt.function
    def f(x: Any) -> Any:
        nonlocal last
        holder.value = Box((x, [x]))
        items.append({"x": x})
        table["k"] = last = [Box(2 * x)]
        return x

    @rt.function
    def hides(x: Any) -> Any:
        holder.value = lambda: x + 1
        return x

    @rt.function
    def fails(x: Any) -> Any:
        holder.value = x
        raise LookupError

    f(ONE)
    assert graph_value_in([holder, items, table, last]) is None and table["k"] is last
    assert [*map(int, (holder.value.value[1][0], items[0]["x"], last[0].value))] == [1, 1, 2]  # type: ignore
    hides(ONE)
    assert graph_value_in(holder) is None
    with pytest.raises(rt.errors.InaccessibleTensorError, match="belongs to graph 'hides'"):
        holder.value()
    with pytest.raises(LookupError):
        fails(ONE)
    assert graph_value_in(holder) is None


def test_what_is_returned_from_before_with_a_tensor() -> None:
    kept: list[Any] = []

    @rt.function
    def f(x: Any) -> Any:
        kept.append(2 * x)
        return kept

    assert f(ONE) is kept and [*map(int, kept)] == [2]


def test_what_is_returned_from_before_with_what_no_call_can_make_is_an_error() -> None:
    kept: list[Any] = []

    @rt.function
    def f(x: Any) -> Any:
        kept.append(lambda: x)
        return kept

    with pytest.raises(rt.errors.StagingError, match="was there before the call, is given"):
        f(ONE)


def test_errors_that_leave_have_values() -> None:
    class Failed(Exception):
        def __init__(self, value: Any) -> None:
            super().__init__("failed")
            self.value = value

    @rt.function
    def f(x: Any) -> Any:
        raise Failed(2 * x)

    for x in (ONE, TWO):
        with pytest.raises(Failed) as info:
            f(x)
        assert graph_value_in(info.value.__dict__) is None


def test_a_traced_function_in_another() -> None:
    inner = rt.function(box)

    @rt.function
    def outer(x: Any) -> Any:
        first, second = inner(x), inner(3 * x)
        second.value += first.value
        return second

    assert [int(outer(x).value) for x in (ONE, TWO)] == [8, 16]


@pytest.mark.parametrize("dtype", [rt.float32, rt.int64, rt.bool, rt.complex64, rt.string])
def test_long_lists_of_results_have_the_dtype_and_value_of_each_item(dtype: rt.DType) -> None:
    def appended(x: Any) -> Any:
        found = []
        for i in rt.range(rt.shape(x)[0]):
            found.append(x[i])
        return found

    def written(x: Any) -> Any:
        table = [x[0]] * 40
        for i in rt.range(rt.shape(x)[0]):
            table[i] = x[i]
        return table

    x = rt.constant(["a", "bc"] * 20) if dtype == rt.string else rt.cast(rt.range(40) % 3, dtype)
    for fn in (appended, written):
        for native in (False, True):
            found = rt.function(fn, executor="native" if native else "numpy")(x)
            assert type(found) is list and len(found) == 40
            assert all(type(item) is type(x) and item.dtype == dtype and item.shape == () for item in found)
            assert [item.numpy() for item in found] == list(x.numpy())
            assert not np.asarray(found[0]).flags.writeable
    assert rt.function(appended)(x[:0]) == []


def test_derivatives_lead_through_the_items_of_a_list_of_results() -> None:
    @rt.function
    def appended(x: Any) -> Any:
        found = []
        for i in rt.range(40):
            found.append(x[i] * x[i])
        return found

    @rt.function
    def written(x: Any) -> Any:
        table = [x[0]] * 40
        for i in rt.range(40):
            table[i] = x[i] * x[i]
        return table

    x = rt.range(40.0)
    expected = [2.0 * i if i in (3, 39) else 0.0 for i in range(40)]
    for fn in (appended, written):
        with rt.GradientTape() as tape:
            tape.watch(x)
            items = fn(x)
            y = items[3] + items[-1]
        assert tape.gradient(y, x).numpy().tolist() == expected
        assert rt.grad(lambda x, fn=fn: fn(x)[3] + fn(x)[-1])(x).numpy().tolist() == expected
        assert rt.jvp(lambda x, fn=fn: fn(x)[3], (x,), (rt.ones([40]),))[1].numpy() == 6.0


@pytest.mark.filterwarnings("ignore::runtime.RetracingWarning")
def test_lists_of_numbers_as_arguments_are_told_apart_by_types_and_values() -> None:
    @rt.function(autograph=False)
    def f(x: Any) -> Any:
        return [type(x).__name__, *x], rt.constant(1)

    values: list[Any] = [
        [1], [1.0], [True], [1 + 0j], (1,), [1, 2.0], [1.0, 2], [0.0], [-0.0], [2**70], [-(2**70)], [[1], [2]],
        [[1, 2]], [], [1, 1], ["1"], [None], [1, None], (1, 2.0), [rt.constant(1)], [1, rt.constant(1)],
        [1, 2, 3.0], [1.0, 2, 3], [True, 1.0], [1, 0.0], [1, -0.0], [2**53, 0.5], [2**53 + 1, 0.5], [2**70, 0.5],
        [-(2**53) - 1, 0.5], [1j, 1], [1, 1j], [1, math.inf], [1, -math.inf], (1, math.inf)]
    for round in range(2):
        for x in values:
            found = f(x)[0]
            assert found[0] == type(x).__name__ and len(found) == len(x) + 1
        assert f.experimental_get_tracing_count() == len(values), round
    for nan in math.nan, float("nan"):
        f([nan])
        f([1, nan])
    assert f.experimental_get_tracing_count() == len(values) + 2


def test_lists_of_numbers_and_tensors_as_results() -> None:
    @rt.function
    def f(x: Any) -> Any:
        items: list[Any] = [1, 2.5, x, 2**70, True, [x, 3], *[4, x + 1] * 2]
        grown = [x]
        for i in rt.range(x):
            grown.append(i)
        items.append(items[5])
        return items, [7, 8.5], grown

    @rt.function
    def inlined(x: Any) -> Any:
        return f(x)[0][5][1] * 0.5, f(x)

    for items, numbers, grown in f(TWO), f(TWO), inlined(TWO)[1]:
        found = [x.numpy().tolist() if isinstance(x, rt.Tensor) else x for x in items]
        assert found[:5] + found[6:-1] == [1, 2.5, 2, 2**70, True, 4, 3, 4, 3] and items[5] is items[-1]
        assert [x.numpy().tolist() for x in items[5]] == [2, 3]
        assert [x.numpy().tolist() for x in numbers] == [7, 8.5] and [int(x) for x in grown] == [2, 0, 1]
        numbers.append(1)  # the caller's own
    assert inlined(TWO)[0].numpy() == 1.5


def test_a_list_that_is_passed_twice_is_one_in_the_function() -> None:
    @rt.function
    def f(x: Any, y: Any) -> Any:
        x.append(3)
        return len(y)

    one = [1, 2]
    assert f(one, one).numpy() == 3 and one == [1, 2, 3]
    assert f([1, 2], [1, 2]).numpy() == 2


@pytest.mark.parametrize("count", [1, 20])
def test_what_modules_have_is_returned_itself(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("has_objects")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    kept = {f"item{i}": Items([i]) for i in range(count)}
    vars(module).update(kept, Made=type("Made", (), {}))

    def of_module(name: str) -> Any:
        return vars(sys.modules["has_objects"])[name]

    @rt.function
    def f(x: Any) -> Any:
        return x, of_module("Made"), [[of_module(f"item{i}"), Items([i])] for i in range(count)]

    for _ in range(2):
        _, made, items = f(ONE)
        assert made is module.Made and len(items) == count
        for found, (has, new) in zip(kept.values(), items):
            assert has is found and new is not found and new == found
