"""Lists of lists that tensors are the indices of, and lists an item of which is set at a tensor: as in Python, on both
executors."""
from __future__ import annotations

import copy
import importlib.util
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from traced_once import on

import runtime as rt
from runtime.staging.control import cond, loops
from tests.plain_values import check_places

EXECUTORS = ("numpy", "native")


def values(x: Any) -> Any:
    return rt.nest.map_structure(lambda y: y.numpy().tolist() if isinstance(y, rt.Tensor) else y, x)


def counts(n):
    g = [[0] * 3 for _ in range(2)]
    for i in range(n):
        g[i % 2][i % 3] += 1
        g[i % 2][1] = g[1 - i % 2][i % 3] + 2
    return g, len(g), len(g[n % 2]), len(g[0])


def read_only(n):
    s = 0
    for i in range(n):
        s += TABLE[i % 2][-1 - i % 3] * 10 + TABLE[1][i % 3]
    return s, TABLE[n % 2], PAIRS[n % 2][n % 2]


TABLE = [[1, 2, 3], [4, 5, 6]]
PAIRS = ([1.5, 2.5], [3.5, 4.5])


def common_subsequence(n):
    a, b = [1, 3, 4, 2, 5], [3, 4, 1, 5, 5]
    dp = [[0] * 6 for _ in range(6)]
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            if a[i - 1] == b[j - 1]:
                dp[i][j] = dp[i - 1][j - 1] + 1
            else:
                dp[i][j] = max(dp[i - 1][j], dp[i][j - 1])
    return dp[n][n], dp


def edit_distance(n):
    a, b = [1, 3, 4, 2, 5], [3, 4, 1, 5, 5]
    dp = [[0] * 6 for _ in range(6)]
    for i in range(n + 1):
        dp[i][0] = i
    for j in range(n + 1):
        dp[0][j] = j
    i = 1
    while i <= n:
        j = 1
        while j <= n:
            dp[i][j] = min(dp[i - 1][j] + 1, dp[i][j - 1] + 1, dp[i - 1][j - 1] + int(a[i - 1] != b[j - 1]))
            j += 1
        i += 1
    return dp


def by_other_names(n):
    g = [[0.0] * 4 for _ in range(4)]
    best, held = g[1], {"row": g[2], "pair": (g[0], 1)}
    for y in range(n):
        row = g[y]
        for x in range(n):
            row[x] = x * y + best[x]
            if x > 1:
                row[x] += 0.5
                held["row"][1] += 1.0
    best[0] = 7.0
    held["pair"][0][n % 4] = 3.0
    return g, best, held, sum(g[2]), max(g[n - 1]), [r[0] for r in g]


def rows_in_while(n):
    g = [[0.0] * 4 for _ in range(4)]
    best, y = g[1], 0
    while y < n:
        row = g[y]
        for x in range(n):
            row[x] = x * y + 0.5
            if x > 1:
                row[x] += best[x]
        y += 1
    return g, best


def one_row_twice(n):
    g = [[0] * 3] * 2
    for i in range(n):
        g[i % 2][i % 3] += 1
    return g


def rows_change_places(n):
    g = [[0] * 3 for _ in range(2)]
    g[n % 2][n % 3] = 4
    g[0], g[1] = g[1], g[0]
    g[n % 2][n % 3] = 5
    g.append([7, 8, 9])
    g[n % 3][0] = 6
    return g, g[0] is g[1], g[0] is g[0]


class Board:
    def __init__(self):
        self.cells = [[0] * 3 for _ in range(2)]

    def put(self, y, x):
        self.cells[y][x] += 1


def bump(g, y, x):
    g[y][x] += 1


def elsewhere(n):
    board, g = Board(), [[0] * 3 for _ in range(2)]
    for i in range(n):
        board.put(i % 2, i % 3)
        bump(g, i % 2, i % 3)
    if n > 3:
        bump(g, n % 2, 0)
    return board.cells, g


def made_in_a_loop(n):
    s = 0
    for i in range(n):
        g = [[0] * 3 for _ in range(2)]
        g[i % 2][1] = i
        for j in range(n):
            g[j % 2][0] += 1
        s += g[0][1] + g[1][0]
    return s


def in_conditions(n):
    g = [[1, 2], [3, 4]]
    x = g[n % 2][1] if n > 1 else g[0][n % 2]
    if n > 1 and g[n % 2][0] > 2:
        g[n % 2][0] = 7
    while g[n % 2][0] < 20:
        g[n % 2][0] *= 2
    return g, x, [g[i % 2][0] for i in range(n)], sum(g[i % 2][1] for i in range(n))


def handled(n):
    g = [[1, 2], [3, 4]]
    r = g[1]
    for i in range(n):
        try:
            g[i][0] = i * 10
            if r[1] > 4:
                raise ValueError
        except IndexError:
            g[0][1] += 1
        except ValueError:
            r[1] = 0
    try:
        g[n % 2][1] += 1
        if n > 2:
            raise ValueError
    except ValueError:
        r[0] += 1
    return g, r


def seen(n):
    found, marked = 0, [[False] * 3 for _ in range(2)]
    for i in range(n):
        if not marked[i % 2][i * i % 3]:
            marked[i % 2][i * i % 3] = True
            found += 1
    return found, marked


def a_list_as_any(n):
    g = [[1, 2], [3, 4]]
    g[n % 2][0] = 5
    h = [row[:] for row in g]
    h[n % 2][1] = 8
    k = copy.deepcopy(g)
    k[0].append(3)
    shallow = copy.copy(g[0])
    shallow[0] = 9
    a, *b = g[n % 2]
    total = 0
    for y, row in enumerate(g):
        row[n % 2] += y
        for v in row:
            total += v
    match g[1]:
        case [first, _]:
            total += first
    print(g, g[0], sep="; ")
    return (g, h, k, shallow, a, b, total, g[0] + [1], [0] + g[1], g[0] * 2, sorted(g[1]), list(zip(*g)), g[0][::-1],
            g[n % 2][:n % 2], any(x > 4 for x in g[n % 2]), isinstance(g[0], list), type(g[1]) is list, bool(g[0]))


def of_one_list(n):
    xs = [1, 2, 3, 4, 5, 6, 7]
    ys, pairs, d = xs, [(1, 2), (3, 4)], {"k": [1.5, 2.5]}
    xs[n] += 5
    if n > 0:
        ys[n - 1] = 7
    pairs[n % 2] = (n, 7)
    d["k"][n % 2] += 3
    (xs[0], ys[-1 - n]) = 0, 9
    try:
        xs[n + 3] = 1
    except IndexError:
        xs[1] = -1
    return xs, ys is xs, len(xs), pairs, d


class Record:
    def __init__(self):
        self.hist, self.sums, self.pair = [0] * 4, [0.0] * 4, ([1, 2], [3, 4])
        self.by_name = {"a": [1, 2, 3]}
        self.shared = self.hist

    def count(self, x):
        self.hist[x % 4] += 1


def held_by_others(n):
    a, tables = Record(), [[1, 2, 3], [4]]

    def bump(k):
        a.sums[k] += 0.5

    for i in range(n):
        a.count(i * i)
        a.shared[i % 2] += 10
        if i % 3 != 1:
            a.pair[0][i % 2] = a.by_name["a"][i % 3]
            for j in range(i):
                a.by_name["a"][(i + j) % 3] -= j
        tables[0][i % 3] += tables[1][0]
        bump(i % 4)
        a.sums[i % 4], a.sums[-1] = a.sums[-1], a.sums[i % 4] + 1
        fresh = [0] * 3
        fresh[i % 3] = i
        a.hist[0] += fresh[1]
    while a.hist[n % 4] < 5:
        a.hist[n % 4] += 2
    return a.hist, a.shared is a.hist, a.sums, a.pair, a.by_name, tables, len(a.hist), max(a.hist)


def held_and_out_of_range(n):
    a = Record()
    for i in range(2 * n):
        try:
            a.hist[i] += 1
        except IndexError:
            a.hist[-1] -= 1
    return a.hist


def compared(n):
    g = [[1, 2], [3, 4]]
    for i in range(n):
        g[i % 2][0] += i
    row = g[n % 2]
    return g == [[1, 2], [5, 4]], row < [3, 5], g[0] >= g[1], row == [3, 4], (row, 1) > ([3, 3], 2), row != g[0]


def another_row_in_a_branch(n):
    g = [[1, 2], [3, 4]]
    g[n % 2][0] = 5
    if n > 1:
        row = g[0]
    else:
        row = g[1]
    row[1] = 9
    return g


def test_a_row_that_is_there_twice_is_put_where_a_tensor_says() -> None:
    def f(n):
        row = [0, 0]
        rows = [row, row, [1, 0], [n, 0]]
        chosen = rows[n % 3]
        rows[n % 4] = chosen
        return chosen, rows

    for n in range(5):
        assert values(rt.function(f)(rt.constant(n))) == f(n)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("program", [
    counts, read_only, common_subsequence, edit_distance, by_other_names, rows_in_while, one_row_twice,
    rows_change_places, elsewhere, made_in_a_loop, in_conditions, handled, seen, a_list_as_any, of_one_list,
    held_by_others, held_and_out_of_range, compared, another_row_in_a_branch,
], ids=lambda fn: fn.__name__)
def test_programs(program: Callable[..., Any], executor: str, capsys: Any) -> None:
    staged = on(executor, program)
    for n in (4, 0, 1, 3):
        want, printed = program(n), capsys.readouterr().out
        assert values(staged(rt.constant(n))) == values(want)
        assert capsys.readouterr().out == printed


def rows_swapped_in_a_loop(n):
    g = [[1, 2], [3, 4]]
    g[n][0] = 5
    for _ in range(n):
        g[0], g[1] = g[1], g[0]
    return g


def longer(n):
    g = [[1, 2], [3, 4]]
    g[n][0] = 5
    if n > 0:
        g[0].append(1)


def which(n):
    g = [[1, 2], [3, 4]]
    return g[n] is g[0]


def a_list_in_it(n):
    g = [[1, 2], [3, 4]]
    g[n][0] = [5]


def partly_new(n):
    row = [1, 2]
    for _ in range(n):
        g = [row, [3, 4]]
        g[n][0] = 5


def chosen_before(n):
    g = [[1, 2], [3, 4]]
    h = [g[n], g[0]]
    h[n][0] = 5


_ROW = "a list that is a row of a list of lists is part of a tensor here, as a tensor was the index of these: "


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_rows_that_a_loop_exchanges(executor: str) -> None:
    check_places(rows_swapped_in_a_loop, executor, (1,), (0,))


@pytest.mark.parametrize(("program", "line", "what", "remedy"), [
    (longer, 4, _ROW + "it has no append()", "Make another list of it first: row[:]."),
    (which, 2, _ROW + "which one it is, is known only when the graph runs", "Compare their indices."),
    (a_list_in_it, 2, "an item of a list of lists that a tensor was the index of is set to list: such lists hold"
     " numbers", "Use one list for each part, or a tensor with more dimensions."),
    (partly_new, 4, "a tensor is the index of a list of lists of which some are made in this staged statement,"
     " others before it, and an item is set", "Make all of them before that statement, or in it."),
    (chosen_before, 3, "an item is set of a list of lists of which a tensor chose some out of another: which ones these"
     " are is known only when the graph runs", "Keep their indices, or copies of them: row[:]."),
], ids=lambda x: getattr(x, "__name__", ""))
def test_refusals(program: Callable[..., Any], line: int, what: str, remedy: str) -> None:
    with pytest.raises(rt.errors.OpError) as caught:
        rt.function(program)(rt.constant(1))
    first, _, _, last = str(caught.value).split("\n")
    place = f"{__file__}:{program.__code__.co_firstlineno + line}: "
    assert first.startswith(place), first
    for text, found in (what, first[len(place):]), (remedy, last):
        assert text == found or re.fullmatch(text, found), found


def test_rows_that_a_staged_list_holds_can_be_variables() -> None:
    @rt.function
    def fn(n):
        rows, last = [[1, 2], [3, 4]], [0, 0]
        for i in range(n):
            rows.append([i, i])
            last = rows[i]
        return last, rows

    assert values(fn(rt.constant(3))) == ([0, 0], [[1, 2], [3, 4], [0, 0], [1, 1], [2, 2]])


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_list_of_a_try_that_is_traced_again(executor: str) -> None:
    def fn(n):
        xs, s = [7, 8, 9], 1
        try:
            for i in range(n + 1):
                xs[i % 3] = i
            s = s + xs[0]
            if s > 2:
                raise ValueError
        except ValueError:
            s = 0
        return s, xs

    for n in (3, 0):
        assert values(on(executor, fn)(rt.constant(n))) == fn(n)


def rows_with_none(n):
    g = [[k if n > k else None for k in range(3)] for _ in range(2)]
    for i in range(n):
        g[i % 2][i % 3] = g[1 - i % 2][2 - i % 3]
    return g


def rows_of_what_is_there(n):
    g, best = [[0] * 3 for _ in range(2)], None
    for i in range(n):
        if i % 2 == 1:
            best = i
        if best is not None:
            g[i % 2][i % 3] = best
    return g


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [rows_with_none, rows_of_what_is_there])
def test_items_that_may_be_none(fn: Any, executor: str) -> None:
    staged = on(executor, fn)
    for n in range(6):
        assert values(staged(rt.constant(n))) == fn(n)


def test_a_row_of_numbers_takes_nothing_that_may_be_none() -> None:
    @rt.function
    def f(n):
        g = [[0] * 3 for _ in range(2)]
        g[n % 2][n % 3] = n if n > 1 else None
        return g

    with pytest.raises(rt.errors.StagingError, match="is set to what may be None: such lists hold numbers"):
        f(rt.constant(2))



# At random.

class _Program:
    """The source of a function of lists of lists, with other names for rows, in nests of statements."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        choose = self.random.choice
        self.lines = ["def fn(n):", "    i = j = s = 0", "    g = [[1, 2, 3], [4, 5, 6]]",
                      f"    h = {choose(['[[0] * 3 for _ in range(2)]', '[[0] * 3] * 2'])}",
                      f"    r = {choose(['g[1]', '[7, 8, 9]'])}",
                      f"    d = {{'k': {choose(['r', '[1, 1, 1]', '[[4, 5, 6], r][0]'])}}}"]
        self.block(1, self.random.randrange(2, 6), 0)
        self.lines.append("    return s, g, h, r, d")

    def place(self, of: str = "") -> str:
        name = of or self.random.choice("gggh")
        return f"{name}[{self.index(2)}][{self.index(3)}]"

    def index(self, size: int) -> str:
        k = self.random.randrange(size)
        return self.random.choice([f"{k}", f"(n + {k}) % {size}", f"i % {size}", f"(i + j) % {size}",
                                   f"-1 - i % {size}"])

    def number(self, depth: int = 0) -> str:
        kind = self.random.random()
        if kind < 0.3 or depth > 1:
            return self.random.choice(["1", "2", "n", "i", "j", "s"])
        if kind < 0.8:
            return self.random.choice([self.place(), self.place(), f"r[{self.index(3)}]", f"d['k'][{self.index(3)}]",
                                       f"sum(g[{self.index(2)}])"])
        return f"({self.number(depth + 1)} {self.random.choice('+-')} {self.number(depth + 1)})"

    def block(self, indent: int, count: int, loops: int) -> None:
        for _ in range(count):
            self.statement(indent, loops)

    def statement(self, indent: int, loops: int) -> None:
        def add(line: str) -> None:
            self.lines.append("    " * indent + line)

        kind = self.random.random()
        if kind < 0.45 or indent > 3:
            target = self.random.choice([
                self.place(), self.place("g"), f"r[{self.index(3)}]", f"d['k'][{self.index(3)}]", "s"])
            add(f"{target} = ({self.number()}) % 50")
        elif kind < 0.52:
            add(f"q = g[{self.index(2)}]")
            add(f"q[{self.index(3)}] += 1")
        elif kind < 0.56:
            add("for row in g:")
            add(f"    s = (s + row[{self.index(3)}]) % 100")
        elif kind < 0.6 and indent == 1:
            add("g[0], g[1] = g[1], g[0]")
        elif kind < 0.75:
            add(f"if {self.number()} > {self.random.randrange(20)}:")
            self.block(indent + 1, self.random.randrange(1, 4), loops)
        elif kind < 0.83:
            add("try:")
            self.block(indent + 1, self.random.randrange(1, 3), loops)
            add(f"    if s > {self.random.randrange(60)}: raise ValueError")
            add("except ValueError:")
            self.block(indent + 1, self.random.randrange(1, 3), loops)
        elif loops < 2:
            add(f"for {'ij'[loops]} in range({self.random.choice(['n', 'n + 1', '2'])}):")
            self.block(indent + 1, self.random.randrange(1, 4), loops + 1)
        else:
            add("s += 1")


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    source = "\n".join(_Program(seed).lines)
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    staged = rt.function(module.fn, executor=EXECUTORS[seed % 2])
    for n in (3, 0):
        try:
            got = values(staged(rt.constant(n)))
        except (rt.errors.StagingError, rt.errors.OperatorNotAllowedInGraphError) as error:
            assert str(error).startswith(str(path)), (source, error)  # it names the line
            break
        assert got == module.fn(n), source


def test_rows_of_a_table_are_no_state_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that sets items of rows has the table as state from the start, and not each of the rows."""
    states: list[int] = []

    class Counted(cond.Traced):
        def __init__(self, name: str, body: Any, init: Any, *rest: Any) -> None:
            states.append(len(init))
            super().__init__(name, body, init, *rest)

    monkeypatch.setattr(cond, "Traced", Counted)
    rt.function(common_subsequence)(rt.constant(3))
    with_rows = [k for k, size in enumerate(states) if size > 2]
    assert len(states) <= 14 and (not with_rows or max(with_rows) <= 3), states


def test_a_table_that_a_method_makes_of_rows_is_state_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Board:
        def __init__(self) -> None:
            self.cells = [[0] * 4 for _ in range(3)]

        def put(self, row: Any, column: Any) -> None:
            self.cells[row][column] += 1

    def f(places: Any) -> Any:
        board = Board()
        for place in places:
            board.put(place % 3, place % 4)
        return board.cells

    traces, trace = [], loops._Loop._trace
    monkeypatch.setattr(loops._Loop, "_trace", lambda *args: traces.append(1) or trace(*args))
    places = [5, 2, 11, 5]
    assert rt.nest.map_structure(int, rt.function(f)(rt.constant(places))) == f(places)
    assert len(traces) == 2  # the first one ends where the rows become a table


def rows_appended(n):
    t, u = [[0] * 2], [[0.5, 1.0]]
    for i in range(n):
        row = [i, 0]
        t.append(row)
        t[i][1] = 7
        row[0] = 9
        for j in range(i):
            u.append([i, j])
            u[j][1] += 1
    return t, u


def rows_joined(n):
    t = [[0] * 2]
    i = 0
    while i < n:
        if i % 2 == 0:
            t = [*t, [i] * 2]
            t[i // 2][1] += 7
        i += 1
    return t


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("program", [rows_appended, rows_joined])
def test_rows_of_before_the_loop_and_new_ones(program: Callable[..., Any], executor: str) -> None:
    staged = on(executor, program)
    for n in (0, 1, 2, 4):
        assert values(staged(rt.constant(n))) == program(n)
