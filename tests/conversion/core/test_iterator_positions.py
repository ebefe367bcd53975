"""An iterator that staged code advances is an error that names the line, and one that it does not is none."""
from __future__ import annotations

import array
import collections
import contextlib
import csv
import functools
import io
import itertools
import os
import pathlib
import re
import warnings
from typing import Any

import pytest

import autograph
import runtime as rt
from autograph.core import iterator_positions
from autograph.core.iterator_positions import Place, hides_place
from runtime.errors import StagingError
from tests.traced_once import on

X = rt.constant(2.0)
ITEMS = [1.0, 2.0, 3.0]


class Linked:
    """What it changes is no number, so no state."""

    def __init__(self) -> None:
        self.node: Any = (1.0, (2.0, (3.0, None)))

    def __iter__(self) -> Linked:
        return self

    def __next__(self) -> float:
        if self.node is None:
            raise StopIteration
        value, self.node = self.node
        return float(value)


class Slots(Linked):
    __slots__ = ("node",)


class OnlySlots:
    __slots__ = ("node",)
    __init__, __iter__, __next__ = Linked.__init__, Linked.__iter__, Linked.__next__


class Around:
    def __init__(self) -> None:
        self.items = iter(ITEMS)

    def __iter__(self) -> Around:
        return self

    def __next__(self) -> float:
        return next(self.items)


def counted() -> Any:
    for number in range(3):
        yield float(number)


def delegates() -> Any:
    yield from ITEMS


def second_round() -> Any:
    found = itertools.cycle(ITEMS)
    for _ in range(4):
        next(found)
    return found


def behind() -> Any:
    found, ahead = itertools.tee(ITEMS)
    list(ahead)
    return found


def with_next_of(iterator: Any) -> Any:
    return iter(lambda: next(iterator), None)


def outside(make: Any) -> Any:
    """A function that makes an iterator outside of traced code."""
    return autograph.do_not_convert(lambda: make())


MAKES = {
    "list": lambda: iter(ITEMS), "tuple": lambda: iter(tuple(ITEMS)), "range": lambda: iter(range(3)),
    "large range": lambda: iter(range(1 << 99)), "dict": lambda: iter(dict.fromkeys(ITEMS)),
    "keys": lambda: iter(dict.fromkeys(ITEMS).keys()), "values": lambda: iter(dict(enumerate(ITEMS)).values()),
    "reversed dict": lambda: reversed(dict.fromkeys(ITEMS)), "set": lambda: iter(set(ITEMS)),
    "reversed": lambda: reversed(ITEMS), "reversed tuple": lambda: reversed(tuple(ITEMS)),
    "str": lambda: map(float, iter("123")), "text": lambda: map(len, iter("éöü")), "bytes": lambda: iter(b"123"),
    "bytearray": lambda: iter(bytearray(b"123")), "deque": lambda: iter(collections.deque(ITEMS)),
    "enumerate": lambda: map(sum, enumerate(ITEMS)), "zip": lambda: map(sum, zip(ITEMS, ITEMS)),
    "filter": lambda: filter(None, ITEMS), "generator": counted, "delegating": delegates,
    "generator expression": lambda: (item for item in ITEMS), "count": outside(itertools.count),
    "count of floats": outside(lambda: itertools.count(0.5, 0.5)), "cycle": lambda: itertools.cycle(ITEMS),
    "cycle again": second_round, "tee": behind, "repeat": lambda: itertools.repeat(1.0, 3),
    "chain": lambda: itertools.chain(ITEMS, ITEMS), "islice": lambda: itertools.islice(itertools.count(), 3),
    "accumulate": lambda: itertools.accumulate(itertools.repeat(0.0, 3)),
    "product": lambda: map(sum, itertools.product(ITEMS, ITEMS)),
    "permutations": lambda: map(max, itertools.permutations(ITEMS)),
    "combinations": lambda: map(max, itertools.combinations(ITEMS, 1)),
    "groupby": lambda: (key for key, _ in itertools.groupby(ITEMS)),
    "takewhile": lambda: itertools.takewhile(bool, ITEMS), "starmap": lambda: itertools.starmap(pow, [(1.0, 2.0)] * 3),
    "zip_longest": lambda: map(max, itertools.zip_longest(ITEMS, [], fillvalue=0.0)),
    "callable": lambda: iter(functools.partial(next, iter(ITEMS)), None), "closure": lambda: with_next_of(iter(ITEMS)),
    "class": Linked, "class with more slots": Slots, "slots": OnlySlots, "class around": Around,
}


@pytest.mark.parametrize("kind", MAKES)
def test_where_it_is_shows(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iterator = MAKES[kind]()
        for _ in range(3):
            place = Place(iterator)
            assert not place.has_advanced()
            next(iterator)
            assert place.has_advanced() is not hides_place(iterator) or kind == "cycle", kind


@pytest.mark.parametrize("kind", MAKES)
def test_which_hide_it(kind: str) -> None:
    """Those that keep items and count on: of a cycle in its first round, what it takes items of shows it."""
    assert hides_place(MAKES[kind]()) is (kind in ("cycle", "cycle again", "tee"))


def test_nothing_is_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python 3.14 on, iterators of itertools have no `__reduce__` of their own."""
    asked: list[type] = []

    class Reduced(frozenset[type]):
        def __contains__(self, kind: object) -> bool:
            found = super().__contains__(kind)
            if found:
                asked.append(kind)  # type: ignore[arg-type]
            return found

    monkeypatch.setattr(iterator_positions, "_REDUCED", Reduced(iterator_positions._REDUCED))
    for make in MAKES.values():
        Place(make())
    assert asked and not {kind for kind in asked if kind.__module__ == "itertools"}


@pytest.mark.parametrize("make", [
    lambda: iter(()), lambda: iter([]), lambda: itertools.islice([], 1), lambda: iter({}), counted, Linked,
    lambda: itertools.zip_longest([], [])])
def test_one_that_has_ended_stays(make: Any) -> None:
    iterator = make()
    assert next((None for _ in iterator), 0) in (None, 0)
    collections.deque(iterator, maxlen=0)
    place = Place(iterator)
    assert next(iterator, None) is None
    assert not place.has_advanced()


IS_STATE = {"class", "class with more slots", "slots"}
"""Whose attributes the graph carries."""


class Endless:
    def __init__(self) -> None:
        self.node: Any = (1.0, 2.0)

    def __next__(self) -> float:
        value, following = self.node
        self.node = (following, value + following)
        return value


def sum_of(make: Any, count: int) -> Any:
    """A function that adds up as many items of an iterator as a staged loop takes."""
    def f(x):
        it = make()
        s = x
        for _ in rt.range(count):
            s = s + next(it)
        return s

    return f


def test_attributes_are_state() -> None:
    f = sum_of(Endless, 4)
    assert float(rt.function(f)(X)) == f(2.0)


@pytest.mark.parametrize("make", [MAKES[kind] for kind in sorted(IS_STATE)])
def test_the_graph_does_not_say_whether_there_is_another_item(make: Any) -> None:
    f = sum_of(make, 2)
    with pytest.raises(StagingError) as info:
        rt.function(f)(X)
    first, *_, last = str(info.value).split("\n")
    assert first == (
        f"{__file__}:{f.__code__.co_firstlineno + 4}: whether {make.__name__!r} has another item is decided by a"
        " tensor, known only when the graph runs, and Python asks for it while the function is traced")
    assert last == (
        "Let a Python value decide when to raise StopIteration, or write the loop as a `while` on the tensor.")


@pytest.mark.parametrize("kind", sorted(MAKES.keys() - IS_STATE))
def test_kinds(kind: str) -> None:
    f = sum_of(MAKES[kind], 2)
    where, what = refusal(f, 4)
    assert where == f"{__file__}:{f.__code__.co_firstlineno + 4}"
    assert what.startswith("staged code takes items of 'it' (")


def refusal(f: Any, offset: int) -> tuple[str, str]:
    """Where and what the error says; its text is complete, with the line that is so far below that of `f`."""
    with pytest.raises(StagingError) as info:
        rt.function(f, executor="numpy")(X)
    first, line, _, remedy = str(info.value).split("\n")
    where = f"{__file__}:{f.__code__.co_firstlineno + offset}"
    assert line.split(" | ")[0].strip() == where.rpartition(":")[2], first
    assert remedy == ("Make the iterator in the code that uses it, take the items before, or take those of a list or"
                      " tensor by an index.")
    assert first.endswith(
        ", an iterator from outside of it: that would happen once, while the code is traced, and not each time it runs")
    return first[:len(where)], first[len(where) + 2:]


def in_a_branch(x, it):
    s = x
    if x > 0:
        s += it.__next__()
    return s


def in_a_while(x, it):
    s = x
    while s < 4:
        s += next(it)
    return s


def in_a_test(x, it):
    s = x
    while s < 0 * next(it, 0.0) + 4:
        s += 1
    return s


def by_a_loop(x, it):
    s = x
    if x > 0:
        for item in it:
            s += item
    return s


def by_zip(x, it):
    s = x
    if x > 0:
        for item, _ in zip(it, ITEMS):
            s += item
    return s


def by_list(x, it):
    s = x
    for _ in rt.range(2):
        s += list(it)[0]
    return s


def by_in(x, it):
    s = x
    if x > 0:
        if 1.0 in it:
            s += 1
    return s


def by_unpacking(x, it):
    s = x
    if x > 0:
        first, *_ = it
        s += first
    return s


def by_a_comprehension(x, it):
    s = x
    if x > 0:
        s += sum([item for item in it])
    return s


def in_an_operand(x, it):
    s = x
    return s + next(it) if s > 0 else s


def in_an_and(x, it):
    s = x
    return s > 0 and s > next(it)


def in_a_try(x, it):
    s = x
    try:
        s = s + list(it)[0]
        rt.debugging.assert_positive(x)
    except rt.errors.InvalidArgumentError:
        s = s - 1
    return s


def in_a_finally(x, it):
    s = x
    try:
        s = s + list(it)[0]
        rt.debugging.assert_positive(x)
    finally:
        s = s - 1
    return s


def by_a_method(x, it):
    take = it.__next__
    s = x
    if x > 0:
        s += take()
    return s


def by_a_partial(x, it):
    take = functools.partial(next, it)
    s = x
    if x > 0:
        s += take()
    return s


def by_a_function(x, it):
    def take():
        return next(it)

    s = x
    if x > 0:
        s += take()
    return s


def in_an_attribute(x, it):
    holder = Linked()
    holder.node = {"k": (it,)}
    s = x
    if x > 0:
        s += next(holder.node["k"][0])
    return s


def beside_state(x, it):
    seen = Linked()
    seen.count = 0.0
    s = x
    for _ in rt.range(2):
        seen.count += next(it, 0.0)
    return s + seen.count


@pytest.mark.parametrize(("fn", "offset", "name"), [
    (in_a_branch, 3, "it"), (in_a_while, 3, "it"), (in_a_test, 2, "it"), (by_a_loop, 3, "it"), (by_zip, 3, "it"),
    (by_list, 3, "it"), (by_in, 3, "it"), (by_unpacking, 3, "it"), (by_a_comprehension, 3, "it"),
    (in_an_operand, 2, "it"), (in_an_and, 2, "it"), (in_a_try, 3, "it"), (in_a_finally, 3, "it"),
    (by_a_method, 4, "take.__self__"), (by_a_partial, 4, "take"), (by_a_function, 2, "it"),
    (in_an_attribute, 5, "holder.node['k'][0]"), (beside_state, 5, "it"),
])
def test_ways(fn: Any, offset: int, name: str) -> None:
    def run(x):
        return fn(x, iter(ITEMS[:1]))

    with pytest.raises(StagingError) as info:
        rt.function(run, executor="numpy")(X)
    assert str(info.value).split("\n")[0] == (
        f"{__file__}:{fn.__code__.co_firstlineno + offset}: staged code takes items of {name!r} (list_iterator), an"
        " iterator from outside of it: that would happen once, while the code is traced, and not each time it runs")


def test_a_generator_of_tensors_over_python_items() -> None:
    def f(x):
        g = (item for item in ITEMS if item > x)
        s = x
        for _ in rt.range(2):
            s += sum(g)
        return s

    assert refusal(f, 4)[1].startswith("staged code takes items of 'g' (StagedGenerator), an iterator from")


# What is as in Python.

def around_staged_code(x):
    s, it = x, iter(ITEMS)
    for item in it:
        if s > item:
            s += item
    return s


def besides_staged_code(x):
    s, it, numbers = x, iter(ITEMS), itertools.count()
    for item in it:
        if s > item:
            s += item
        s += next(it, 0.0) + next(numbers)
    return s + next(numbers)


def made_in_staged_code(x):
    s, n = x, rt.constant(0)
    it = iter(ITEMS)
    while n < 3:
        n += 1
        it = enumerate(zip(ITEMS, map(abs, ITEMS)))
        for i, (item, other) in it:
            if s > 4:
                s += item * i
            s += other
        s += next(iter(ITEMS))
    return s


def driven_by_a_generator(x):
    s = x
    for item in halves(x):
        s += item
    return s


def halves(x):
    for item in ITEMS:
        if x > item:
            item = item - x
        yield item


class Driver:
    def __init__(self, x):
        self.x = x
        self.steps = self.run()

    def run(self):
        for item in ITEMS:
            if self.x > item:
                self.x = self.x + item
            yield self.x


def generator_of_its_own_object(x):
    driver = Driver(x)
    return next(driver.steps) + next(driver.steps)


def has_ended(x):
    it = iter([])
    s = x + len(list(it))
    for _ in rt.range(2):
        s += next(it, 1.0)
    return s


def without_state(x):
    s, it = x, itertools.repeat(2.0)
    for _ in rt.range(2):
        s += next(it)
    return s


def generator_over_state(x):
    items, n = [x], 0

    def counting():
        for item in (1.0, 2.0, 3.0):
            yield item + n + len(items)

    g = counting()
    s = next(g)
    for _ in rt.range(3):
        n += 1
        items.append(x)
        items[0] = items[0] + n
    return s + next(g) + items[0]


class Counting:
    def __init__(self):
        self.n, self.seen = 0.0, []

    def __next__(self):
        self.n += 1
        self.seen.append(self.n)
        return self.n


def whose_state_is_a_number(x):
    s, it = x, Counting()
    for _ in rt.range(3):
        s += next(it)
    return s + next(it) + len(it.seen)


@contextlib.contextmanager
def context():
    yield 1.0


def context_managers(x):
    s = x
    with context() as value:
        if x > 0:
            with context() as inner:
                s += value + inner
        if x > 100:
            raise ValueError
    return s


def tried_once(x):
    s, it = x, iter(ITEMS)
    try:
        s += next(it)
    except StopIteration:
        s -= 1
    try:
        s += next(it)
    finally:
        s += 1
    return s + next(it)


@pytest.mark.parametrize("fn", [
    around_staged_code, besides_staged_code, made_in_staged_code, driven_by_a_generator, generator_of_its_own_object,
    generator_over_state, has_ended, without_state, whose_state_is_a_number, context_managers, tried_once,
])
def test_what_staged_code_does_not_advance(fn: Any) -> None:
    for x in (-1.0, 2.0, 5.0):
        assert float(rt.function(fn, executor="numpy")(rt.constant(x))) == fn(x)


def test_an_iterator_of_a_dataset_is_advanced_by_the_graph() -> None:
    def f(x):
        it = iter(rt.data.Dataset.range(4))
        for _ in rt.range(3):
            x += rt.cast(next(it), rt.float32)
        return x

    assert float(rt.function(f)(X)) == 5


# Those that do not tell where they are.

HIDDEN = {
    "file": lambda path: path.open(), "binary file": lambda path: path.open("rb"),
    "file without a buffer": lambda path: path.open("rb", buffering=0),
    "matches": lambda path: re.finditer("[0-9]", "123"), "rows": lambda path: csv.reader(["1,2", "3,4", "5,6"]),
    "rows of a file": lambda path: csv.reader(path.open()), "records": lambda path: csv.DictReader(["a", "1", "2"]),
    "folder": lambda path: os.scandir("/"), "map over a file": lambda path: map(len, path.open()),
    "generator over a file": lambda path: (len(line) for line in path.open()),
    "lines": lambda path: iter(path.open().readline, ""), "array": lambda path: iter(array.array("d", ITEMS)),
    "function that reads": lambda path: iter(lambda file=path.open(): file.read(1), ""),
    "ordered dict": lambda path: iter(collections.OrderedDict.fromkeys(ITEMS)),
    "memory": lambda path: iter(memoryview(b"123")), "text in memory": lambda path: io.StringIO("1\n2\n3\n"),
    "bytes in memory": lambda path: io.BytesIO(b"1\n2\n3\n"),
}


def taken_in_a_loop(x, it):
    for _ in rt.range(2):
        next(it)
        x += 1
    return x


def taken_in_a_branch(x, it):
    if x > 0:
        for _ in it:
            x += 1
    return x


def taken_by_star(x, it):
    if x > 0:
        x += len([*it])
    return x


def taken_by_a_method(x, it):
    if x > 0:
        it.__next__()
    return x


def taken_by_an_attribute(x, it):
    o = Around()
    o.items = it
    if x > 0:
        next(o)
    return x


def taken_by_set(x, it):
    if x > 0:
        set(it)
    return x


@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize(("fn", "offset"), [
    (taken_in_a_loop, 2), (taken_in_a_branch, 2), (taken_by_star, 2), (taken_by_a_method, 2), (taken_by_set, 2),
    (taken_by_an_attribute, None)])
def test_where_it_is_does_not_show(kind: str, fn: Any, offset: int | None, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "numbers"
    path.write_text("1\n2\n3\n")
    it = HIDDEN[kind](path)

    def f(x):
        return fn(x, it)

    if offset is None:
        with pytest.raises(StagingError, match="staged code takes items of "):
            rt.function(f)(X)
    else:
        with pytest.raises(StagingError) as info:
            rt.function(f)(X)
        first, *_, last = str(info.value).split("\n")
        assert first.startswith(
            f"{__file__}:{fn.__code__.co_firstlineno + offset}: staged code takes items of 'it' (")
        assert first.endswith(
            ", an iterator from outside of it: that would happen once, while the code is traced, and not each time it"
            " runs")
        assert last == ("Make the iterator in the code that uses it, take the items before, or take those of a list or"
                        " tensor by an index.")
    if "memory" not in kind:
        assert next(it, None) is not None  # nobody has taken it


@pytest.mark.parametrize("kind", HIDDEN)
def test_where_it_is_need_not_show(kind: str, tmp_path: pathlib.Path) -> None:
    """Outside of bodies, of one made in the body, and of one that the body only has."""
    path = tmp_path / "numbers"
    path.write_text("1\n2\n3\n")
    it = HIDDEN[kind](path)
    holder = Around()
    holder.items = it

    def f(x):
        next(it)
        if x > 0:
            x += len(list(HIDDEN[kind](path))) * 0.0 + 1.0
            holder.items = it
        while x < 3 and holder is not None:
            x += 1
        next(it)
        return x

    assert float(rt.function(f)(X)) == 3
    assert holder.items is it


def test_a_file_that_is_written() -> None:
    out = io.StringIO()

    def f(x):
        for _ in rt.range(2):
            print("x", file=out)
        return x

    rt.function(f)(X)
    assert out.getvalue() == "x\nx\n"


# A loop over Python values that a tensor leaves.

def left_then_next(x, it):
    for v in it:
        if x < v:
            break
    return x + next(it)


def left_then_loop(x, it):
    for v in it:
        x = x + v
        if x > 3:
            break
    for v in it:
        x = x + v
    return x


def left_then_star(x, it):
    for _, v in enumerate(it):
        if x < v:
            break
    return x + len({*it})


def left_by_return(x, it):
    def first():
        for v in it:
            if x < v:
                return v
        return x

    return first() + first()


def left_then_an_attribute(x, it):
    o, d = Around(), {"k": [it]}
    o.items = it
    for v in o.items:
        if x < v:
            break
    return x + next(d["k"][0])


def left_zip(x, it):
    for v, _ in zip(it, ITEMS):
        if x < v:
            break
    return x + sum(it)


def left_by_any(x, it):
    y = any(x < v for v in it)
    return x + next(it, 0.0) if y else x


def left_by_any_of_a_map(x, it):
    y = any(map(lambda v: x < v, it))
    return x + next(it, 0.0) if y else x


def left_by_in(x, it):
    y = x in it
    return x + next(it, 0.0) if y else x


def left_by_next(x, it):
    y = next(v for v in it if x < v)
    return x + y + next(it, 0.0)


LEFT = {
    "list": lambda: iter(ITEMS), "generator": counted, "map": lambda: map(float, ITEMS),
    "chain": lambda: itertools.chain(ITEMS, ITEMS), "class": Around,
}


@pytest.mark.parametrize("kind", LEFT)
@pytest.mark.parametrize(("fn", "loop", "use"), [
    (left_then_next, 1, 4), (left_then_loop, 1, 5), (left_then_star, 1, 4), (left_by_return, 2, 2),
    (left_then_an_attribute, 3, 6), (left_zip, 1, 4), (left_by_any, 1, 2), (left_by_any_of_a_map, 1, 2),
    (left_by_in, 1, 2), (left_by_next, 1, 2)])
def test_left(kind: str, fn: Any, loop: int, use: int) -> None:
    def f(x):
        return fn(x, LEFT[kind]())

    with pytest.raises(StagingError) as info:
        rt.function(f)(X)
    first, *_, last = str(info.value).split("\n")
    line = fn.__code__.co_firstlineno
    name = type(LEFT[kind]()).__name__
    assert first == (
        f"{__file__}:{line + use}: where this {name} is, is known only when the graph runs, as a tensor decides how"
        f" many items line {line + loop} takes of it")
    assert last == "Take the items before, `items = list(it)`, and keep in a variable how many of them are used."


def left_for_good(x, it):
    for v in it:
        x = x + v
        if x > 3:
            break
    return x


def left_by_a_number(x, it):
    for v in it:
        x = x + v
        if v > 0.5:
            break
    return x + next(it)


def left_and_made_anew(x, it):
    for v in it:
        if x < v:
            break
    it = iter(ITEMS)
    return x + next(it)


def left_in_a_loop(x, it):
    while x < 100:
        own = iter(ITEMS)
        for v in own:
            x = x + v
            if x > 3:
                break
        x = x * 2
    return x + next(it)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("kind", LEFT)
@pytest.mark.parametrize("fn", [left_for_good, left_by_a_number, left_and_made_anew, left_in_a_loop])
def test_left_and_not_used(fn: Any, kind: str, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")

    def f(x):
        return fn(x, LEFT[kind]())

    for value in (0.5, 2.0, 9.0):
        assert float(on(executor, f)(rt.constant(value))) == float(f(rt.constant(value)))
