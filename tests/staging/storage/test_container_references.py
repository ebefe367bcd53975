"""Lists and dicts by reference: those that only the graph tells apart, with any number of names, also the caller's."""
from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

import runtime as rt
from runtime.function.function import Function
from tests.plain_values import check_places, executors


def merged_groups(edges: Any, n: Any) -> Any:
    """Union by size, where all members of a group share its list."""
    groups = [[i] for i in range(n)]
    for a, b in edges:
        x, y = groups[a], groups[b]
        if x is not y:
            if len(x) < len(y):
                x, y = y, x
            x += y
            for member in y:
                groups[member] = x
    return groups


def records(n: Any) -> Any:
    people = [{"age": i * 7 % 5, "n": 0} for i in range(n)]
    old = [p for p in people if p["age"] > 1]
    best = people[0]
    for p in people:
        if p["age"] > best["age"]:
            best = p
    best["n"] += 10
    for p in old:
        p["n"] += 1
    people.append(best)
    best["age"] = -1
    return people, old, best


class Grid:
    """Its attributes are lists of several structures, which one line makes by reference."""

    def __init__(self) -> None:
        self.rows = [[0, 1, 0], [1, 1, 1], [0, 0, 0]]
        self.shapes = {"a": [(0, 0), (0, 1)], "b": [(1, 0)]}
        self.names = ["a", "b"]

    def place(self, name: str, r: Any) -> Any:
        for dr, dc in self.shapes[name]:
            self.rows[r + dr][dc] = 1
        kept = [row for row in self.rows if not all(row)]
        while len(kept) < 3:
            kept.insert(0, [0, 0, 0])
        self.rows = kept


def grid(n: Any) -> Any:
    found = Grid()
    for i in range(n):
        if found.rows[i % 2][0] == 0:
            found.place(found.names[i % 2], i % 2)
        else:
            found.rows[0][2] = i
    return found.rows


def queue(n: Any) -> Any:
    todo, done = [[0]], []
    for i in range(n):
        current = todo.pop(0)
        current.append(i)
        done.append(current)
        todo.append(current if i % 2 else [i, i])
    return todo, done


def graph(n: Any) -> Any:
    adjacent = {i: [] for i in range(n)}
    for i in range(n):
        adjacent[i].append((i * 3 + 1) % n)
        adjacent[(i * 2) % n].append(i)
    largest = adjacent[0]
    for found in adjacent.values():
        if len(found) > len(largest):
            largest = found
    largest.append(-1)
    largest.sort()
    return adjacent, largest


def buckets(xs: Any, n: Any) -> Any:
    found, last = defaultdict(list), []
    for x in xs:
        last = found[x % n]
        last.append(x)
    last.append(100)
    return dict(found), last


def matrix(n: Any) -> Any:
    rows = [[0] * n for _ in range(n)]
    first, last = rows[0], rows[n - 1]
    for i in range(n):
        first[i] += i
        last[i] += 2 * i
    rows[0], rows[n - 1] = rows[n - 1], rows[0]
    first[0] = 9
    copy = rows[:]
    copy[0][0] += 1
    del copy[1]
    return rows, copy, first, last


def one_row(n: Any) -> Any:
    rows = [[0] * 3] * n
    rows[0][1] = 5
    rows.append(rows[0])
    rows[n][2] += n
    return rows


def frames(n: Any) -> Any:
    stack, out = [{"i": 0, "path": []}], []
    while stack:
        frame = stack[-1]
        if frame["i"] == n or len(frame["path"]) > 2:
            out.append(frame["path"])
            stack.pop()
        else:
            frame["i"] += 1
            if frame["i"] % 2:
                stack.append({"i": frame["i"], "path": frame["path"] + [frame["i"]]})
    return out


def caught(n: Any) -> Any:
    rows = [[i] for i in range(n)]
    row = rows[0]
    try:
        row.append(5)
        rows[n % 3 + 1].append(10 // (n - 4))
        row = rows[1]
    except ZeroDivisionError:
        row.append(-1)
    row.append(6)
    rows.append(row)
    return rows, [each is row for each in rows]


CALLS: list[tuple[Any, list[tuple[Any, ...]]]] = [
    (merged_groups, [([[0, 1], [2, 3], [1, 3], [4, 0]], 6), ([[0, 1], [1, 0], [2, 1], [3, 2]], 4)]),
    (records, [(5,), (3,)]), (grid, [(4,), (7,)]), (queue, [(4,), (5,)]),
    (graph, [(5,), (4,)]), (buckets, [([5, 3, 8, 1, 2], 3)]),
    (matrix, [(3,), (4,)]), (one_row, [(2,), (3,)]), (frames, [(3,), (5,)]), (caught, [(4,), (5,)])]


@executors
@pytest.mark.parametrize(("fn", "calls"), CALLS, ids=lambda x: getattr(x, "__name__", ""))
def test_containers_that_the_function_makes(fn: Any, calls: list[Any], executor: str) -> None:
    check_places(fn, executor, *calls)


class Table:
    def __init__(self) -> None:
        self.rows = [[1], [2, 3], []]


def taken_from_a_list(rows: Any, n: Any) -> Any:
    out: list[Any] = []
    for i in range(n):
        row = rows[i]
        out.append(row)
        row.append(9)
        out[0].append(7)
    return out


def longest(rows: Any, n: Any) -> Any:
    best = rows[0]
    for row in rows:
        if len(row) > n:
            best = row
    best.append(100)
    rows.append(best)
    best.append(5)
    return len(rows)


def of_a_dict(found: Any, n: Any) -> Any:
    one, other = found["a"], found["b"]
    if n > 1:
        one = other
    one.append(n)
    other.append(3)
    return one


def of_an_attribute(table: Any, n: Any) -> Any:
    row, first = table.rows[n], table.rows[0]
    for i in range(n):
        row.append(i)
        first.append(5)
    table.rows.append(row)
    row.append(7)
    return row


ROWS = [[1], [2, 3], []]


@executors
@pytest.mark.parametrize(("fn", "argument"), [
    (taken_from_a_list, ROWS), (longest, ROWS), (of_a_dict, {"a": [1], "b": [2]}), (of_an_attribute, Table())],
    ids=lambda x: getattr(x, "__name__", ""))
def test_the_callers_containers_stay_the_same_ones(fn: Any, argument: Any, executor: str) -> None:
    check_places(fn, executor, (argument, 1), (argument, 2), (argument, 0))


class Board:
    def __init__(self, n: int) -> None:
        self.n, self.turn = n, 0
        self.cells = [[(i * 7 + j * 3) % 5 % 2 for j in range(n)] for i in range(n)]

    def neighbours(self, x, y):
        total = 0
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if (dx or dy) and 0 <= x + dx < self.n and 0 <= y + dy < self.n:
                    total += self.cells[x + dx][y + dy]
        return total

    def step(self):
        new = [[0] * self.n for _ in range(self.n)]
        for x in range(self.n):
            for y in range(self.n):
                count = self.neighbours(x, y)
                if count == 3 or (count == 2 and self.cells[x][y]):
                    new[x][y] = 1
        self.cells = new
        self.turn += 1


def played(board: Any, n: Any, x: Any) -> Any:
    for _ in range(n):
        board.step()
    board.cells[x][x] = 1
    return sum(sum(row) for row in board.cells)


@pytest.mark.parametrize("size", [4])
def test_a_board_that_may_be_replaced(size: int) -> None:
    """Without a step the caller's list of rows is changed, else it is another one."""
    traced = rt.function(played)
    for n, x in ((2, 1), (0, 2), (1, 0)):
        boards = Board(size), Board(size)
        cells = [board.cells for board in boards]
        assert int(traced(boards[1], rt.constant(n), rt.constant(x))) == played(boards[0], n, x)
        assert boards[0].cells == boards[1].cells and cells[0] == cells[1] and boards[0].turn == boards[1].turn
        assert [board.cells is before for board, before in zip(boards, cells, strict=True)] == [n == 0] * 2


def test_life_on_lists_of_lists() -> None:
    def life(cells, n):
        size = len(cells)
        for _ in range(n):
            new = [[0] * size for _ in range(size)]
            for i in range(size):
                for j in range(size):
                    around = sum(cells[(i + k) % size][(j + m) % size] for k in (-1, 0, 1) for m in (-1, 0, 1))
                    if around == 3 or (around == 4 and cells[i][j]):
                        new[i][j] = 1
            cells = new
        return cells

    check_places(life, "numpy", ([[(i * j + i) % 3 % 2 for j in range(9)] for i in range(9)], 3))


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_the_trials_do_not_grow_with_the_number_of_lists(monkeypatch: pytest.MonkeyPatch, executor: str) -> None:
    class Grid:
        shapes: list[list[Any]]

        def __init__(self) -> None:
            self.rows: Any = [[0] * 4 for _ in range(5)]

        def put(self, shape: Any, at: Any) -> None:
            for y, x in self.shapes[shape]:
                self.rows[at + y][x] += 1
            if all(item > 0 for item in self.rows[at]):
                del self.rows[at]
                self.rows.insert(0, [0] * 4)

    def fall(shapes: Any) -> Any:
        grid = Grid()
        for shape in shapes:
            grid.put(shape, 2)
        return grid.rows

    traced_once, counts = Function._trace_once, []
    monkeypatch.setattr(Function, "_trace_once", lambda *args, **names: counts.append(1) or traced_once(*args, **names))
    found = []
    for number in (3, 6):
        Grid.shapes = [[(0, (k + j) % 4) for j in range(2)] for k in range(number)]
        counts.clear()
        traced = rt.function(fall, executor=executor)
        for shapes in ([0, 2, 1], [0, 1], [2, 0, 0, 1, 2]):
            assert rt.nest.map_structure(int, traced(rt.constant(shapes))) == fall(shapes)
        found.append(len(counts))
    assert found[0] == found[1]


def test_message_more_kinds_of_lists_than_there_are_arenas() -> None:
    lines = ["def many(n):", "    kept = []"]
    for k in range(30):
        lines += [f"    rows{k} = [[i] for i in range(n)]", f"    row{k} = rows{k}[n - 1]",
                  f"    rows{k}.append(row{k})", f"    row{k}.append({k})", f"    kept.append(len(rows{k}))"]
    namespace: dict[str, Any] = {}
    exec(compile("\n".join([*lines, "    return kept"]), "<many>", "exec"), namespace)
    import linecache
    linecache.cache["<many>"] = 1, None, [f"{line}\n" for line in [*lines, "    return kept"]], "<many>"
    with pytest.raises(rt.errors.StagingError, match="a list is changed after it was put into another list here"):
        rt.function(namespace["many"])(rt.constant(3))


class Entry:
    def __init__(self, log: Any) -> None:
        self.log = log


def put_on_both_paths(c: Any) -> Any:
    log, rows, table = [1], [], {}
    if c > 0:
        rows.append(log)
        table["a"] = Entry(log)
    else:
        rows.append(log)
        rows.append([5])
        table["a"] = Entry(log)
        table["b"] = Entry([6])
    rows[0].append(3)
    table["a"].log.append(c)
    rows[-1].append(4)
    return log, rows


def put_on_one_of_three_paths(c: Any) -> Any:
    log, rows = [1], []
    if c > 0:
        rows.append(log)
    elif c < 0:
        rows.append(log)
        rows.append([5])
    else:
        rows += [[7], [8], log]
    rows[-1].append(3)
    log.append(4)
    return log, rows


def put_by_a_handler(c: Any) -> Any:
    log, rows = [1], []
    try:
        log[0] = 6 // c
        rows.append(log)
    except ZeroDivisionError:
        rows.append(log)
        rows.append([5])
    rows[0].append(3)
    rows[-1].append(4)
    return log, rows


@pytest.mark.parametrize("f", [put_on_both_paths, put_on_one_of_three_paths, put_by_a_handler])
def test_paths_that_each_put_one_list_into_a_container(f: Any) -> None:
    traced = rt.function(f)
    for c in (2, -3, 0):
        assert rt.nest.map_structure(int, traced(rt.constant(c))) == f(c)


PIECES = [[(0, 0), (0, 1)], [(0, 0), (1, 0)], [(0, 0), (0, 1), (1, 0)]]


def dropped(n: Any) -> Any:
    """Pieces from before the call, by value, and rows of a board, by reference."""
    board = [[0] * 3 for _ in range(4)]
    for turn in range(n):
        cells = PIECES[turn % 3]
        if turn % 2 == 1:
            cells = [(c, 1 - r) for r, c in cells]
        for r, c in cells:
            board[r + 1][c + turn % 2] = turn + 1
        kept = [row for row in board if not all(v != 0 for v in row)]
        board = [[0] * 3 for _ in range(4 - len(kept))] + kept
    return board


def test_lists_from_before_the_call_stay_by_value_beside_lists_by_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    traces: list[int] = []
    trace = Function._trace_once
    monkeypatch.setattr(Function, "_trace_once", lambda *args, **kwargs: traces.append(1) or trace(*args, **kwargs))
    staged = rt.function(dropped)
    for n in (0, 1, 2, 5, 9):
        assert [[int(x) for x in row] for row in staged(rt.constant(n))] == dropped(n)
    assert len(traces) == 3  # there were 9


ROWS = [[1, 2], [3, 4], [5, 6]]


def of_several_kinds(n: Any) -> Any:
    """Lists from before the call, changed under several names beside lists by reference."""
    rows = [[0], [0], [7]]
    for k in range(n):
        first, second = rows[k % 3], rows[(k + 1) % 3]
        first.append(k)
        second.append(-k)
        rows[k % 2] = second
    rows.append(ROWS[0])
    for k in range(n):
        row = ROWS[(k + n) % 3]
        row[0] += 5
        rows[-1][1] += 1
    either = {0: ROWS[n % 3], 1: rows[0]}
    either[n % 2][0] = 31
    return [list(row) for row in rows], ROWS[0][0]


@executors
def test_lists_from_before_the_call_are_changed_beside_lists_by_reference(executor: str) -> None:
    staged = rt.function(of_several_kinds, executor=executor)
    for n in (1, 2, 3, 4, 2):
        ROWS[:] = [[1, 2], [3, 4], [5, 6]]
        wanted, changed = of_several_kinds(n), [[*row] for row in ROWS]
        ROWS[:] = [[1, 2], [3, 4], [5, 6]]
        assert rt.nest.map_structure(int, staged(rt.constant(n))) == wanted
        assert rt.nest.map_structure(int, ROWS) == changed
