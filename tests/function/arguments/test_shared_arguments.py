"""Arguments that the function finds elsewhere, too, in attributes, globals or closures, are one object at each call."""
from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import runtime as rt


@dataclasses.dataclass
class Cell:
    x: Any


class Plain:
    def __init__(self) -> None:
        self.ys = [1.0, 2.0]


class World:
    def __init__(self) -> None:
        self.cells = [Cell(1.0), Cell(2.0)]
        self.pair = (Cell(3.0), Cell(4.0))
        self.best = self.cells[0]
        self.log: list[Any] = []
        self.rows = [[1.0, 2.0], [3.0, 4.0]]
        self.last = deque([1.0, 2.0], maxlen=3)
        self.settings = {"a": 1.0, "b": [1.0, 2.0]}
        self.tree = {"l": {"v": 1.0}, "r": {"v": 2.0}}
        self.kept: dict[str, Any] = {}
        self.array, self.long, self.plain = np.ones(3), np.ones(2000), Plain()

    def hit(self, cell, k):
        cell.x = cell.x + k
        total = 0.0
        for other in self.cells:
            total = total + other.x
        return total

    def in_a_tuple(self, cell, k):
        self.pair[1].x = self.pair[1].x * 2
        cell.x = cell.x + k
        return self.pair[1].x + cell.x

    def note(self, log, k):
        log.append(k)
        self.log.append(k * 2)
        return len(log), len(self.log)

    def set(self, settings, k):
        settings["a"] = settings["a"] + k
        self.settings["b"][0] = self.settings["b"][0] * 2
        return self.settings["a"] + settings["b"][0]

    def compare(self, cell, k):
        if cell is self.best:
            cell.x = cell.x * k
        return self.best.x

    def exchange(self, cell, k):
        if k > 1:
            self.best = cell
        self.best.x = self.best.x + 1
        return cell.x

    def put(self, cell, k):
        self.kept["cell"] = cell
        for _ in range(3):
            self.kept["cell"].x = self.kept["cell"].x + k
        return cell.x

    def append_last(self, last, k):
        last.append(k)
        self.last.popleft()
        return last[0] + self.last[-1]

    def set_row(self, row, k):
        row[0] = k
        self.rows[1][1] = row[0] + self.rows[0][0]
        self.rows[0] = self.rows[1]
        return row[1] + self.rows[0][0]

    def grow(self, node, k):
        node["v"] = node["v"] * k
        self.tree["l"]["v"] += 1.0
        if self.tree["r"]["v"] > 3:
            self.tree["r"]["v"] = node["v"] - 1
        return self.tree["l"]["v"] + self.tree["r"]["v"]

    def write(self, array, k):
        array[0] = array[0] + k
        self.array[1] = self.array[0]
        return array[1] + self.array[0]

    def write_long(self, array, k):
        array[0] = array[0] + k
        self.long[1] = self.long[0]
        return array[1] + self.long[0]

    def read(self, array, k):
        array[0] = array[0] + k
        return self.array[0] * 1.0

    def keep_list(self, ys, k):
        self.plain.ys = ys
        return k

    def of_plain_object(self, ys, k):
        ys[0] = ys[0] + k
        return self.plain.ys[0] * 1.0


def state(x: Any) -> Any:
    if isinstance(x, (rt.Tensor, np.ndarray, np.generic)):
        return np.asarray(x, np.float64).round(4).tolist()
    if isinstance(x, (list, tuple, deque)):
        return [state(item) for item in x]
    if isinstance(x, dict):
        return {key: state(item) for key, item in x.items()}
    return {key: state(item) for key, item in vars(x).items()} if hasattr(x, "__dict__") else x


CASES: list[tuple[Callable[..., Any], Callable[[World], Iterable[Any]]]] = [
    (World.hit, lambda w: (w.cells[0], other := Cell(5.0), w.cells[1], w.cells[0], other)),
    (World.in_a_tuple, lambda w: (w.pair[1], w.pair[0], Cell(5.0), w.pair[1])),
    (World.note, lambda w: (other := [], w.log, other, w.log)),
    (World.set, lambda w: (w.settings, {"a": 3.0, "b": [1.0]}, w.settings)),
    (World.compare, lambda w: (w.cells[0], w.cells[1], Cell(5.0), w.cells[0])),
    (World.exchange, lambda w: (w.cells[0], w.cells[1], Cell(5.0), w.cells[0])),
    (World.put, lambda w: (cell := Cell(1.0), cell, Cell(2.0), cell)),
    (World.append_last, lambda w: (deque([5.0, 6.0], maxlen=3), w.last, w.last)),
    (World.set_row, lambda w: ([9.0, 9.0], w.rows[0], w.rows[1], w.rows[1])),
    (World.grow, lambda w: (w.tree["l"], {"v": 4.0}, w.tree["r"], w.tree["l"])),
    (World.write, lambda w: (np.zeros(3), w.array, np.zeros(3), w.array)),
    (World.write_long, lambda w: (np.zeros(2000), w.long, np.zeros(2000), w.long)),
    (World.read, lambda w: (np.zeros(3), w.array, np.zeros(3), w.array)),
    (World.keep_list, lambda w: ([1.0], ys := [2.0], ys, w.plain.ys)),
    (World.of_plain_object, lambda w: ([1.0, 3.0], w.plain.ys, [1.0, 3.0], w.plain.ys)),
]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("method, arguments", CASES, ids=[method.__name__ for method, _ in CASES])
def test_as_in_python(method: Callable[..., Any], arguments: Callable[[World], Iterable[Any]], executor: str) -> None:
    python, traced = World(), World()
    run = rt.function(getattr(traced, method.__name__), executor=executor)
    given, passed = list(arguments(python)), list(arguments(traced))
    for number, (mine, other) in enumerate(zip(given, passed, strict=True)):
        want, got = method(python, mine, 2.0), run(other, rt.constant(2.0))
        assert state(got) == state(want), number
        assert state([traced, passed]) == state([python, given]), number
    assert (traced.plain.ys is passed[-1]) == (python.plain.ys is given[-1])


def test_a_global_and_a_closure() -> None:
    items = [1.0, 2.0]

    def swapped(xs, k):
        xs[0] = xs[0] + k
        items[1] = items[0]
        return xs[1] * 1.0

    run = rt.function(swapped)
    other = [5.0, 6.0]
    assert [float(run(xs, rt.constant(2.0))) for xs in (other, items, items, other)] == [6, 3, 5, 6]
    assert state([items, other]) == [[5, 5], [9, 6]]


def test_calls_whose_arguments_are_nowhere_else_share_a_trace() -> None:
    world = World()
    run = rt.function(world.hit)
    for number in range(5):
        run(Cell(rt.constant(float(number))), rt.constant(1.0))
    assert run.experimental_get_tracing_count() == 1


def test_the_rest_of_an_array() -> None:
    world = World()
    run = rt.function(world.write)
    run(np.zeros(2), rt.constant(1.0))
    with pytest.raises(rt.errors.StagingError, match="may share memory with"):
        run(world.array[:2], rt.constant(1.0))


def test_what_cannot_be_an_argument_is_refused_if_it_changes() -> None:
    class Holder(list):
        pass

    holder = Holder([Cell(1.0)])

    def changed(cell):
        cell.x = cell.x + 1.0
        return holder[0].x

    def read(cell):
        return holder[0].x + cell.x

    assert float(rt.function(read)(holder[0])) == 2
    with pytest.raises(rt.errors.StagingError, match="holds an argument of the function"):
        rt.function(changed)(holder[0])


@dataclasses.dataclass(eq=False)
class Hashed:
    x: Any


def test_items_of_sets_and_keys_are_refused() -> None:
    one = Hashed(1.0)
    seen, counts = {one}, {one: 1}

    def in_a_set(cell):
        return cell in seen

    def a_key(cell):
        return counts[cell]

    for function in (in_a_set, a_key):
        with pytest.raises(rt.errors.StagingError, match="holds an argument of the function"):
            rt.function(function)(one)
    assert not bool(rt.function(in_a_set)(Hashed(1.0)))


@dataclasses.dataclass(frozen=True)
class Settings:
    name: str


def test_keys_by_value_are_found() -> None:
    settings = Settings("a")
    sizes = {settings: 3}
    assert int(rt.function(lambda s, x: x * sizes[s])(settings, rt.constant(2))) == 6


class Child:
    def __init__(self, parent: Parent) -> None:
        self.parent, self.gain = parent, 2.0


class Parent:
    def __init__(self) -> None:
        self.child, self.rate = Child(self), 1.0

    @rt.function
    def step(self, x):
        return x * self.rate * self.child.gain


def test_objects_that_refer_to_each_other_are_read_at_each_call() -> None:
    parent = Parent()
    assert float(parent.step(rt.constant(1.0))) == 2
    parent.rate = 3.0
    assert float(parent.step(rt.constant(1.0))) == 6
    parent.child.gain = 5.0
    assert float(parent.step(rt.constant(1.0))) == 15


def test_a_constant_in_place_of_a_tensor() -> None:
    class Metric:
        def __init__(self) -> None:
            self.total, self.seen = rt.constant(5.0), [rt.constant(1.0)]

    metric = Metric()

    @rt.function
    def result(x):
        total = x + metric.total
        metric.total, metric.seen = 0.0, [1.0]
        return total

    for given, want in ((None, 6), (None, 1), (7.0, 8), (None, 1), (2.0, 3)):
        if given is not None:
            metric.total, metric.seen = rt.constant(given), [rt.constant(given)]
        assert float(result(rt.constant(1.0))) == want
        assert (metric.total, metric.seen) == (0.0, [1.0])


# A list of the caller's may have names that the trace does not see: which list a name has after a branch matters.

holder = World()


def shortened(xs, x):
    if x > 2:
        xs = xs[:1]
    xs.append(x)
    return len(xs) * x


def attribute_shortened(xs, x):
    holder.log = xs
    if x > 2:
        holder.log = holder.log[:1]
    holder.log.append(x)
    return len(holder.log) * x


def copied(xs, x):
    holder.log = xs
    ys = holder.log
    if x > 2:
        ys = ys[:4]
    ys.append(9.0)
    return len(xs) * x


def replaced(xs, x):
    holder.log = xs
    if x > 2:
        holder.log = [x]
    return len(holder.log) * x


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("kind", ["numbers", "tensors"])
@pytest.mark.parametrize("fn", [shortened, attribute_shortened, copied, replaced])
def test_which_list_a_branch_leaves(fn: Callable[..., Any], kind: str, executor: str) -> None:
    def history(fn: Callable[..., Any], of: Callable[[float], Any]) -> list[Any]:
        found, kept = list[Any](), [of(5.0), of(6.0)] if kind == "tensors" else [5.0, 6.0]
        for x in (1.0, 3.0, 1.5, 3.0, 3.0, 1.0):
            for xs in kept, [of(1.0)]:
                before = [*map(float, xs)]
                result = float(fn(xs, of(x)))
                found.append((before, [*map(float, xs)], result, [*map(float, holder.log)], holder.log is xs))
        return found

    holder.log = []
    want = history(fn, float)
    holder.log = []
    assert history(rt.function(fn, executor=executor), rt.constant) == want


def test_a_list_of_tensors_that_only_a_branch_appends_to() -> None:
    class Box:
        def __init__(self) -> None:
            self.xs = [rt.constant(1.0), rt.constant(2.0)]

    box = Box()

    @rt.function
    def f(x):
        xs = box.xs
        if x > 2:
            xs = xs[:4]
        xs.append(9.0)
        return x

    for x, count in (3.0, 2), (1.0, 3), (3.0, 3):
        f(rt.constant(x))
        assert len(box.xs) == count


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_which_object_a_branch_leaves(executor: str) -> None:
    def renewed(world, x):
        if x > 2:
            world.best = Cell(x)
        world.best.x = world.best.x + 1.0
        return world.best.x

    def history(fn: Callable[..., Any], of: Callable[[float], Any]) -> list[Any]:
        world, found = World(), list[Any]()
        for x in (1.0, 3.0, 1.5, 3.0, 1.0):
            before = world.best
            result = float(fn(world, of(x)))
            found.append((result, float(before.x), world.best is before, float(world.cells[0].x)))
        return found

    assert history(rt.function(renewed, executor=executor), rt.constant) == history(renewed, float)
