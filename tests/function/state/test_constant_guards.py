"""What a traced function reads of attributes, variables and containers from before is what they hold at each call."""
from __future__ import annotations

import argparse
import gc
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

RATE: Any = 2.0
helper: Any = abs


class Slotted:
    __slots__ = ("rate",)  # no weak references to it


class Box:
    shared = 1.0

    def __init__(self) -> None:
        self.rate, self.on, self.name, self.w = 1.0, True, "a", None
        self.table, self.weights, self.pair = {"k": 1.0}, [1.0, 2.0], (1.0, 2.0)
        self.array, self.large = np.ones(3), np.ones(2000)
        self.variable, self.tensor = rt.Variable(1.0), rt.constant(1.0)
        self.variables, self.nested = [rt.Variable(1.0), rt.Variable(2.0)], [[1.0], {"a": 1.0}]


def the_rate(o):
    o.rate = 3.0


def the_class(o):
    Box.shared = 3.0


def an_attribute_in_front_of_that_of_the_class(o):
    o.shared = 5.0


def an_attribute_that_was_missing(o):
    o.extra = 5.0


def a_helper(o):
    global helper
    scale = helper(1.0) + 1
    helper = lambda x: x * scale


def a_flag(o):
    o.on = False


def a_text(o):
    o.name = "bb"


def none(o):
    o.w = 5.0


def an_item(o):
    o.table["k"] = 4.0


def a_list(o):
    o.weights[1] = 9.0


def a_longer_list(o):
    o.weights.append(9.0)


def another_list(o):
    o.weights = [3.0, 4.0]


def a_tuple(o):
    o.pair = (3.0, 4.0)


def an_array(o):
    o.array[1] = 7.0


def another_array(o):
    o.array = np.full(3, 2.0)


def a_large_array(o):
    o.large[5] = 7.0


def another_large_array(o):
    o.large = o.large * 3


def another_variable(o):
    o.variable = rt.Variable(8.0)


def another_tensor(o):
    o.tensor = rt.constant(8.0)


def a_variable_in_a_list(o):
    o.variables[1] = rt.Variable(8.0)


def one_variable_more(o):
    o.variables.append(rt.Variable(8.0))


def in_a_list_in_a_list(o):
    o.nested[0][0] = o.nested[1]["a"] = 4.0


def a_global(o):
    global RATE
    RATE = RATE * 2


def an_int_for_a_float(o):
    o.rate = 1


def a_zero_of_the_other_sign(o):
    o.rate = -0.0


CHANGES = [an_attribute_that_was_missing, a_helper, the_rate, the_class, an_attribute_in_front_of_that_of_the_class,
           a_flag, a_text, none, an_item, a_list, a_longer_list, another_list, a_tuple, an_array, another_array,
           a_large_array, another_large_array, another_variable, another_tensor, a_variable_in_a_list,
           one_variable_more, in_a_list_in_a_list, a_global, an_int_for_a_float, a_zero_of_the_other_sign]


def all_of_it(o, x):
    y = x * o.rate + Box.shared * o.shared if o.on else -x
    y = y + len(o.name) + o.table["k"] + sum(o.weights) + o.pair[0] * RATE
    if o.w is not None:
        y = y * o.w
    y = y + helper(x) + getattr(o, "extra", 0.0)
    if hasattr(o, "extra"):
        y = y - helper(x)
    for v in o.variables:
        y = y * v
    y = y + o.nested[0][0] * o.nested[1]["a"]
    sums = np.sum(o.array) + np.sum(o.large)
    return y * o.variable + o.tensor, sums, rt.atan2(rt.constant(0.0), rt.constant(float(o.rate)))


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Box, "shared", 1.0)
    monkeypatch.setattr(sys.modules[__name__], "RATE", 2.0)
    monkeypatch.setattr(sys.modules[__name__], "helper", lambda x: x)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("change", CHANGES)
def test_changes_between_calls(change: Callable[[Any], None], executor: str) -> None:
    o, x = Box(), rt.constant(2.0)
    traced = rt.function(lambda x: all_of_it(o, x), executor=executor)

    def same() -> bool:
        found = [float(part) for part in traced(x)]
        return found == [pytest.approx(float(part), rel=1e-6) for part in all_of_it(o, x)]

    assert same() and same()
    made = traced.experimental_get_tracing_count()
    for _ in range(3):
        change(o)
        assert same() and same()
    assert traced.experimental_get_tracing_count() <= made + 3


def test_numbers_that_keep_changing_are_inputs() -> None:
    o, x = Box(), rt.constant(2.0)
    traced = rt.function(lambda x: x * o.rate + o.weights[0])
    for k in range(20):
        o.rate, o.weights[0] = 0.1 * k, 0.5 * k
        assert float(traced(x)) == pytest.approx(0.2 * k + 0.5 * k)
    assert traced.experimental_get_tracing_count() <= 4 and o.rate == 0.1 * 19


def test_variables_of_functions_and_modules() -> None:
    module = types.ModuleType("settings_of_a_user")
    module.rate = 1.0  # type: ignore[attr-defined]
    own, calls = 1.0, 0
    slotted = Slotted()
    slotted.rate = 1.0

    @rt.function
    def f(x):
        return x * own + slotted.rate

    for own in (1.0, 2.0, 3.0):
        assert float(f(rt.constant(1.0))) == own + 1
    slotted.rate = 5.0
    assert float(f(rt.constant(1.0))) == 8


def test_what_is_not_read_traces_nothing() -> None:
    class Stats:
        def __init__(self) -> None:
            self.rate, self.name = 0.0, ""

    class Trainer:
        def __init__(self) -> None:
            self.stats = Stats()
            self.history, self.best, self.rate = list[float](), {"loss": 1.0}, 2.0

        @rt.function
        def step(self, x):
            return x * self.rate

        def fit(self) -> None:
            for k in range(5):
                self.history.append(float(self.step(rt.constant(1.0))))
                self.best["loss"] = 1.0 / (k + 1)
                self.stats.rate, self.stats.name = k + 1.0, str(k)

    trainer = Trainer()
    trainer.fit()
    assert trainer.history == [2.0] * 5 and trainer.step.experimental_get_tracing_count() == 1
    o = Box()
    traced = rt.function(lambda x: x * o.rate)
    for k in range(5):
        o.unread = k  # type: ignore[attr-defined]
        o.name = str(k)
        o.rate = 10.0 / 10  # another object, the same number
        assert float(traced(rt.constant(2.0))) == 2
    assert traced.experimental_get_tracing_count() == 1


def test_functions_that_are_called_in_a_trace() -> None:
    o = Box()

    @rt.function
    def inner(x):
        return x * o.rate

    outer = rt.function(lambda x: inner(x) + 1)
    for o.rate in (1.0, 2.0, 3.0):
        assert float(outer(rt.constant(1.0))) == o.rate + 1 == float(inner(rt.constant(1.0))) + 1


def test_variables_and_items_that_are_gone_are_errors_as_in_python() -> None:
    o = Box()
    traced = rt.function(lambda x: x * o.table["k"] * o.rate)
    assert float(traced(rt.constant(2.0))) == 2
    del o.table["k"]
    with pytest.raises(KeyError):
        traced(rt.constant(2.0))
    o.table["k"] = 3.0
    assert float(traced(rt.constant(2.0))) == 6
    del o.rate
    with pytest.raises(AttributeError):
        traced(rt.constant(2.0))


def test_objects_are_not_kept_alive() -> None:
    class Scale:
        def __init__(self) -> None:
            self.rate = 2.0

        @rt.function
        def times(self, x):
            return x * self.rate

    o = Scale()
    reference = weakref.ref(o)
    assert float(o.times(rt.constant(1.0))) == 2
    o.rate = 3.0
    assert float(o.times(rt.constant(1.0))) == 3
    del o
    gc.collect()
    assert reference() is None


def test_objects_that_the_first_call_makes() -> None:
    class Counter:
        def __init__(self) -> None:
            self.n = 0

    o = Box()

    @rt.function
    def f(x):
        if o.w is None:
            o.w = Counter()
        if not hasattr(o, "other"):
            o.other = Counter()
        o.w.n += 1
        o.other.n += o.w.n
        return x * o.other.n

    assert [float(f(rt.constant(1.0))) for _ in range(5)] == [1, 3, 6, 10, 15]
    assert (o.w.n, o.other.n) == (5, 15) and f.experimental_get_tracing_count() <= 4


def test_long_containers_and_many_objects() -> None:
    numbers, table, chosen = [*map(float, range(300))], {k: float(k) for k in range(300)}, set(range(300))
    grid, boxes = [[0.0] * 80 for _ in range(80)], [Slotted() for _ in range(300)]
    for box in boxes:
        box.rate = 1.0

    def f(x: Any) -> Any:
        total = x + numbers[200] + table[250] + len(numbers) + grid[70][75]
        if 299 in chosen:
            total = total + 1000
        for box in boxes:
            total = total + box.rate
        return total

    staged, one = rt.function(f), rt.constant(1.0)

    def check() -> None:
        np.testing.assert_allclose(staged(one), f(1.0))

    check()
    for change in (lambda: numbers.__setitem__(200, 7.5), lambda: numbers.append(1.0), lambda: table.update({250: 0.5}),
                   lambda: grid[70].__setitem__(75, 2.0), lambda: chosen.discard(299),
                   lambda: setattr(boxes[299], "rate", 50.0), lambda: table.update({1000: 1.0})):
        change()
        check()
    traces = staged.experimental_get_tracing_count()
    numbers[:] = [x + 0 for x in numbers]  # other objects, of the same values
    check()
    assert staged.experimental_get_tracing_count() == traces

class _Vector:
    def __add__(self, x):
        return x * WEIGHTS.sum()

    @property
    def weights(self):
        return _Vector.own

    own = np.zeros(2, np.float32)


WEIGHTS, NAMES = np.zeros(2, np.float32), types.SimpleNamespace(a=np.zeros(2, np.float32), k=0.0)
SETTINGS = argparse.Namespace(rate=0.0)
TUPLE, LIST = (np.zeros(2, np.float32),), [np.zeros(2, np.float32)]
NESTED = {"a": (1, np.zeros(2, np.float32)), "b": [[np.zeros(2, np.float32)]]}
LARGE = (np.zeros(2000, np.float32),)
PLACES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "attribute of a namespace": (lambda x: x * NAMES.a.sum(), NAMES.a),
    "number in a namespace": (lambda x: x * NAMES.k, (NAMES, "k")),
    "setting of a program": (lambda x: x * SETTINGS.rate, (SETTINGS, "rate")),
    "item of a tuple": (lambda x: x * TUPLE[0].sum(), TUPLE[0]),
    "item of a list": (lambda x: x * LIST[0].sum(), LIST[0]),
    "tuple in a dict": (lambda x: x * NESTED["a"][1].sum(), NESTED["a"][1]),
    "list in a list in a dict": (lambda x: x * NESTED["b"][0][0].sum(), NESTED["b"][0][0]),
    "large array in a tuple": (lambda x: x * LARGE[0].sum(), LARGE[0]),
    "global in a special method": (lambda x: _Vector() + x, WEIGHTS),
    "class attribute in a property": (lambda x: x * _Vector().weights.sum(), _Vector.own),
}


@pytest.mark.parametrize("place", PLACES)
def test_arrays_that_change_in_place_wherever_they_are(place: str) -> None:
    function, target = PLACES[place]
    traced = rt.function(function)
    for k in range(4):
        if isinstance(target, tuple):
            setattr(*target, float(k))
        else:
            target[0] = k
        assert float(traced(rt.constant(1.0))) == k


BOARD = [0, 0, 0]
GRID = [[1, 2], [3, 4]]


def marked(n):  # type: ignore[no-untyped-def]
    if n > 1:
        BOARD[n - 2] = 7
    return BOARD[0] + BOARD[1]


def row_marked(n):  # type: ignore[no-untyped-def]
    row = GRID[n % 2]
    if n > 1:
        row[0] = 7
    return sum(row)


@pytest.mark.parametrize("fn", [marked, row_marked])
def test_an_equal_list_in_place_of_one_that_calls_change_is_changed(fn: Any) -> None:
    global BOARD
    staged = rt.function(fn)
    for n in (1, 2, 3, 1, 2):
        BOARD, GRID[:] = [0, 0, 0], [[1, 2], [3, 4]]
        wanted = fn(n), [*BOARD], [[*row] for row in GRID]
        BOARD, GRID[:] = [0, 0, 0], [[1, 2], [3, 4]]
        found = int(staged(rt.constant(n)))
        assert (found, [int(x) for x in BOARD], [[int(x) for x in row] for row in GRID]) == wanted
    assert staged.experimental_get_tracing_count() == 2
