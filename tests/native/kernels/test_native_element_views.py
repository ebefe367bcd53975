"""Items of rows of lists in native code: read and set in the list's memory, and never seen by what holds an old row."""
from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt
from runtime.core.types import TensorType
from runtime.ops import lists as ops
from runtime.ops.indexing import setitem

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")


def grid(n: Any) -> Any:
    return [[0] * n for _ in range(n)]


def set_items(n: Any, m: Any) -> Any:
    d = grid(n)
    for k in range(m):
        d[k % n][k * 7 % n] = d[k * 3 % n][k % n] + 1
    return d


def added_in_a_branch(n: Any, m: Any) -> Any:
    d = grid(n)
    for k in range(m):
        if d[k % n][k * 7 % n] < 3:
            d[k % n][k * 7 % n] += k
    return d


def an_old_item_is_kept(n: Any, m: Any) -> Any:
    d, total = grid(n), 0
    for k in range(m):
        before = d[k % n][0]
        d[k % n][0] = k
        total = total * 3 % 1009 + before
    return d, total


def an_alias_of_a_row(n: Any, m: Any) -> Any:
    d = grid(n)
    for k in range(m):
        row = d[k % n]
        row[0] = k
        d[k % n][n - 1] += row[0]
    return d


def a_copy_of_a_row(n: Any, m: Any) -> Any:
    d, total = grid(n), 0
    for k in range(m):
        row = list(d[k % n])
        d[k % n][k % n] = k + 1
        total += row[k % n] + len(row)
    return d, total


def a_row_put_elsewhere(n: Any, m: Any) -> Any:
    d, others = grid(n), [[0] * n]
    for k in range(m):
        others.append(list(d[k % n]))
        d[k % n][0] += others[k % len(others)][0] + 1
        d[k * 5 % n] = list(others[-1])
    return d, others


def rows_exchanged(n: Any, m: Any) -> Any:
    d = grid(n)
    for k in range(m):
        d[k % n], d[k * 3 % n] = list(d[k * 3 % n]), list(d[k % n])
        d[k % n][k % n] += k
    return d


def a_list_that_an_older_one_shares(n: Any, m: Any) -> Any:
    d = grid(n)
    for k in range(m):
        before = [list(row) for row in d]
        d[k % n][0] = k + 1
        if before[k % n][0] == 3:
            d = before
    return d


def grown_rows(n: Any, m: Any) -> Any:
    d: list[list[Any]] = [[] for _ in range(n)]
    taken = 0
    for k in range(m):
        d[k * k % n].append(k)
        d[k * k % n].append(k + 1)
        if len(d[k * 3 % n]) > 4:
            taken += d[k * 3 % n].pop()
        if k % 3 == 0:
            d[k % n].append(d[k * k % n][-1])
    return d, taken


def rows_of_pairs(n: Any, m: Any) -> Any:
    d: list[list[Any]] = [[] for _ in range(n)]
    for k in range(m):
        d[k % n].append((k, k * 2))
        d[k * 3 % n].append((k, -k))
    total = 0
    for row in d:
        for a, b in row:
            total = (total * 7 + a * 3 + b) % 10007
    return total


def after_an_error(n: Any, m: Any) -> Any:
    d = grid(n)
    for k in range(m):
        try:
            d[k % n][k % (n + 1)] += 1
            d[k % n][0] = 100 // (k % 4)
        except IndexError:
            d[k % n][0] = -1
        except ZeroDivisionError:
            d[k % n][0] -= 5
    return d


PROGRAMS = [set_items, added_in_a_branch, an_old_item_is_kept, an_alias_of_a_row, a_copy_of_a_row, a_row_put_elsewhere,
            rows_exchanged, a_list_that_an_older_one_shares, grown_rows, rows_of_pairs, after_an_error]


def plain(x: Any) -> Any:
    return [plain(each) for each in x] if isinstance(x, (list, tuple)) else int(x)


@pytest.mark.parametrize("fn", PROGRAMS)
def test_as_in_python(fn: Callable[..., Any]) -> None:
    for staged in on_both(fn).values():
        for n, m in (1, 4), (3, 0), (5, 60):
            assert plain(staged(rt.constant(n), rt.constant(m))) == plain(fn(n, m))


def read_and_set(h: Any, n: Any, m: Any) -> Any:
    d = [[0] * n for _ in range(h)]
    for k in range(m):
        d[k % h][k * 7 % n] = d[k % h][0] % 8 + d[0][k % n] % 8
        d[k % h][k * 5 % n] += len(d[k % h])
        if d[k % h][0] > 7:
            d[k % h][0] -= 1
    return d[0][0]


def an_item_of_a_row_and_of_the_one_before(h: Any, n: Any, m: Any) -> Any:
    """As in tables of dynamic programs: the order of reads differs."""
    d = [[0] * n for _ in range(h)]
    for k in range(m):
        i, j = 1 + k % (h - 1), 1 + k * 3 % (n - 1)
        d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + k % 2)
    return d[0][0]


def append_and_pop(h: Any, n: Any, m: Any) -> Any:
    d = [[0] * n for _ in range(h)]
    for k in range(m):
        d[k % h].append(k)
        d[k % h].append(d[k % h].pop())
    return d[0][0]


def a_row_kept(h: Any, n: Any, m: Any) -> Any:
    d, total = [[0] * n for _ in range(h)], 0
    for k in range(m):
        row = list(d[k % h])
        d[k % h][0] = k
        total = row[k % n]
    return total


def growth(fn: Callable[..., Any]) -> float:
    """The time of a step with rows of 4000 items, by that with rows of 40."""
    staged, rows = rt.function(fn, executor="native"), rt.constant(20)

    def step(n: int) -> float:
        few, many = (min(took(staged, rows, rt.constant(n), rt.constant(m)) for _ in range(5)) for m in (10, 100_010))
        return many - few

    return step(4000) / step(40)


def took(fn: Callable[..., Any], *arguments: Any) -> float:
    begin = time.process_time()
    fn(*arguments)
    return time.process_time() - begin


@pytest.mark.parametrize("fn", [read_and_set, an_item_of_a_row_and_of_the_one_before, append_and_pop])
def test_no_row_is_copied(fn: Callable[..., Any]) -> None:
    assert fn(3, 4, 50) == int(rt.function(fn, executor="native")(*map(rt.constant, (3, 4, 50))))
    assert growth(fn) < 8  # 1 to 2; copies make it 20 and more


def test_a_row_that_is_used_again_is_copied() -> None:
    assert growth(a_row_kept) > 8


@pytest.mark.parametrize("fn, message", [
    (lambda n, m: d_set(n, n, 0), "list assignment index out of range|list index out of range"),
    (lambda n, m: d_set(n, 0, n), "out of range|out of bounds"),
    (lambda n, m: d_pop(n), "pop from empty list")], ids=["row", "item", "pop"])
def test_errors(fn: Callable[..., Any], message: str) -> None:
    texts = []
    for staged in on_both(fn).values():
        with pytest.raises(IndexError, match=message) as caught:
            staged(rt.constant(3), rt.constant(1))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def d_set(n: Any, i: Any, j: Any) -> Any:
    d = grid(n)
    d[i][j] = 1
    return d[0][0]


def d_pop(n: Any) -> Any:
    d: list[list[Any]] = [[] for _ in range(n)]
    d[n - 1].append(1)
    d[n - 1].pop()
    return d[n - 1].pop()


def test_gradient_of_rows_whose_items_are_set() -> None:
    def f(x: Any, n: Any) -> Any:
        d = [[x * 0.0] * 4 for _ in range(n)]
        d[0][0] = x
        for k in range(1, 6):
            d[k % n][k % 4] = d[(k - 1) % n][(k - 1) % 4] * x + d[k % n][k % 4]
        return d[5 % n][1]

    for executor in "numpy", "native":
        @rt.function(executor=executor)
        def gradient(x: Any, n: Any) -> Any:
            with rt.GradientTape() as tape:
                tape.watch(x)
                y = f(x, n)
            return y, tape.gradient(y, x)

        y, slope = gradient(rt.constant(1.5), rt.constant(3))
        wanted = f(1.5, 3)
        assert abs(float(y) - wanted) < 1e-5
        assert abs(float(slope) - (f(1.5 + 1e-5, 3) - f(1.5 - 1e-5, 3)) / 2e-5) < 1e-3


ROWS = TensorType(rt.int64, (None,))


class RandomProgram:
    """Rows that are read from a list, changed and put back, with other uses of lists and rows in between."""

    def __init__(self, seed: int, x: Any, k: Any) -> None:
        self.r, self.k, self.sum = random.Random(seed), k, k
        self.items = ops.list_new([x, x + 1, rt.concat([x, x], 0)], ROWS)
        self.row, self.rows, self.old = x, [x], self.items
        self.busy = self.r.choice([0.05, 0.3])  # how often something comes in between

    def run(self) -> list[Any]:
        for _ in range(6):
            where = self.r.choice([self.k % 3, (self.k + 1) % 3, rt.constant(self.r.randrange(-3, 3))])
            self.do(lambda where=where: setattr(self, "row", ops.list_get(self.items, where)))
            for _ in range(self.r.randrange(1, 4)):
                self.do(self.r.choice([self.set_item, self.set_slice, self.grow, self.see]))
            self.do(lambda where=where: setattr(self, "items", ops.list_set(self.items, where, self.row)))
        return [ops.list_concat(self.items), self.sum]

    def do(self, step: Callable[[], None]) -> None:
        if self.r.random() < self.busy:
            self.r.choice([self.look, self.look, self.look_later, self.look_back, self.see, self.measure,
                           self.fork])()
        step()

    def add(self, number: Any) -> None:
        self.sum = self.sum * 31 + rt.cast(number, rt.int64)

    def set_item(self) -> None:
        self.row = setitem(self.row, self.r.choice([0, -1]), self.sum)

    def set_slice(self) -> None:
        self.row = setitem(self.row, slice(0, 2), self.row[-2:])

    def grow(self) -> None:
        scalars = ops.list_append(ops.list_from_tensor(self.row), self.sum)
        self.add(ops.list_get(scalars, 0) + rt.cast(ops.list_length(scalars), rt.int64))
        for _ in range(self.r.randrange(4)):
            scalars = ops.list_append(scalars, self.k)
        if self.r.random() < 0.5:
            scalars, number = ops.list_pop(scalars)
            self.add(number)
        self.row = ops.list_stack(scalars)

    def see(self) -> None:
        self.add(self.row[0])

    def look(self) -> None:
        self.add(ops.list_get(self.items, self.k % 3)[0])

    def look_later(self) -> None:
        """Read an item of a row that was read from the list before."""
        self.add(self.r.choice(self.rows)[-1])
        self.rows = [*self.rows[-1:], ops.list_get(self.items, self.r.choice([self.k % 3, rt.constant(0)]))]

    def look_back(self) -> None:
        """Read from a list as it was before."""
        self.add(ops.list_get(self.old, self.k % 3)[0])
        self.old = self.items

    def measure(self) -> None:
        self.add(rt.shape(ops.list_concat(self.items))[0])

    def fork(self) -> None:
        """Use a list as it was, beside one that is changed."""
        other = ops.list_set(self.items, 0, self.row)
        self.add(ops.list_get(other, 0)[0])
        if self.r.random() < 0.5:
            self.items = other


@pytest.mark.parametrize(("first", "looped"), [(k, k >= 30) for k in range(0, 60, 10)])
def test_random_programs(first: int, looped: bool) -> None:
    for seed in range(first, first + 10):
        def fn(x: Any, k: Any, seed: int = seed) -> Any:
            if not looped:
                return RandomProgram(seed, x, k).run()
            total = k * 0
            for turn in rt.range(5):
                found = RandomProgram(seed, x, k + rt.cast(turn, rt.int64)).run()
                total = total * 31 + rt.reduce_sum(found[0]) * 7 + found[1]
            return [total]

        specs = [rt.TensorSpec([None], rt.int64), rt.TensorSpec([], rt.int64)]
        results = []
        for staged in on_both(fn, input_signature=specs).values():
            x, k = np.array([3, 5, 7]), np.array(seed)
            results.append([each.numpy().tolist() for each in staged(x, k)])
        assert results[0] == results[1], seed


@pytest.mark.parametrize("before", [True, False], ids=["read before", "read while the row is changed"])
def test_a_view_of_the_row_that_is_changed(before: bool) -> None:
    def fn(x: Any, k: Any) -> Any:
        items = ops.list_new([x, x + 1], ROWS)
        other = ops.list_get(items, k) if before else None
        row = ops.list_get(items, 0)
        other = ops.list_get(items, k) if other is None else other
        row = setitem(row, 0, x[1] * 100)
        return other[0], ops.list_concat(ops.list_set(items, 0, row))

    for staged in on_both(fn).values():
        for k, seen in (0, 3), (1, 4):
            found, rows = staged(np.array([3, 5]), k)
            assert (int(found), rows.numpy().tolist()) == (seen, [500, 5, 4, 6])


def test_rows_that_were_not_written() -> None:
    def fn(x: Any, k: Any) -> Any:
        items = ops.list_set(ops.list_reserve(3, ROWS), 0, x)
        items = ops.list_set(items, k, setitem(ops.list_get(items, k), 1, k + 8))
        longer = ops.list_append(ops.list_from_tensor(ops.list_get(items, 2)), k)
        items = ops.list_set(items, 2, ops.list_stack(longer))
        return ops.list_concat(items)

    for staged in on_both(fn).values():
        assert staged(np.array([3, 5]), rt.constant(1, rt.int64)).numpy().tolist() == [3, 5, 0, 9, 0, 0, 1]
        assert staged(np.array([3, 5]), rt.constant(2, rt.int64)).numpy().tolist() == [3, 5, 0, 0, 0, 10, 2]
