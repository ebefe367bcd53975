"""Lists of lists whose number and length only the graph knows: rows are lists, with all that lists do."""
from __future__ import annotations

import collections
import linecache
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from traced_once import on

import runtime as rt
from tests.plain_values import check_places, plain


def rows_joined(n: Any, m: Any) -> Any:
    rows = [[0.0] * m for _ in range(n)]
    rows[0][1] = 1.0
    return rows[0] + rows[1], rows[0] * 2, len(rows[0] + rows[1]), rows[0] == rows[1], rows[1] == [0.0] * m


def rows_of_a_loop(n: Any, m: Any) -> Any:
    rows = []
    for i in range(n):
        rows.append([i] * m)
    return rows


def next_hops(n: Any, m: Any) -> Any:
    after = [[None] * n for _ in range(n)]
    far = [[100] * n for _ in range(n)]
    for i in range(n):
        far[i][i] = 0
        after[i][i] = i
        if i > 0:
            far[i - 1][i], after[i - 1][i] = m, i
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if far[i][k] + far[k][j] < far[i][j]:
                    far[i][j] = far[i][k] + far[k][j]
                    after[i][j] = after[i][k]
    u, path = 0, [0]
    while u != n - 1:
        u = after[u][n - 1]
        path.append(u)
    return path, far[0][n - 1], after[n - 1][0] is None, [[-1 if x is None else x for x in row] for row in after]


def rows_without_values(n: Any, m: Any) -> Any:
    rows = [[None] * (k + 1) for k in range(n)]
    rows[1][1] = (m, m * 2)
    rows.append([None] * m)
    rows[0] = [None] * n
    return rows[1][1], rows[0][0] is None, len(rows), len(rows[0]), rows[n][m - 1] is None, rows[1][0] is None


def triangle(n: Any, m: Any) -> Any:
    rows = [[1]]
    for _ in range(n):
        last = rows[-1]
        rows.append([1, *[last[k] + last[k + 1] for k in range(len(last) - 1)], 1])
    return rows


def changed_by_name(n: Any, m: Any) -> Any:
    rows = [[float(j) for j in range(m)] for _ in range(n)]
    for i in range(n):
        row = rows[i]
        row[1] += row[0]
    for row in rows:
        row[0] = 5.0
    last = rows[-1]
    last[1] = 6.0
    return rows, last


def of_other_lengths(n: Any, m: Any) -> Any:
    rows = [[float(j) for j in range(m)] for _ in range(n)]
    rows[0].append(3.0)
    rows[1] += [4.0, 5.0]
    del rows[0][1]
    rows[1][0:2] = [7.0]
    return rows, [len(row) for row in rows], sum(rows[0])


def asked(n: Any, m: Any) -> Any:
    rows = [[float(j) for j in range(m)] for _ in range(n)]
    return 3.0 in rows[0], rows[0].index(1.0), rows[0].count(1.0), sorted(rows[1], reverse=True), max(rows[0])


def exchanged(n: Any, m: Any) -> Any:
    rows = [[float(i)] * m for i in range(n)]
    for i in range(n - 1):
        rows[i], rows[i + 1] = rows[i + 1], rows[i]
    rows[0][1] = 7.0
    first = rows[0]
    rows[0], rows[1] = rows[1], first
    first[0] = 8.0
    return rows


def put_in(n: Any, m: Any) -> Any:
    rows = [[float(i)] * m for i in range(n)]
    row = rows[0][:]
    row[0] = 99.0
    rows[1] = row
    row[1] = 98.0
    return rows, row


def put_in_empty(n: Any, m: Any) -> Any:
    rows, row = [[float(i)] * m for i in range(n)], []
    rows[0] = row
    rows[n - 1] *= 2
    return rows, row


def taken_out(n: Any, m: Any) -> Any:
    rows = [[float(i)] * m for i in range(n)]
    last = rows.pop()
    last.append(1.0)
    rows.append(last)
    last[0] = 7.0
    return rows, last


def common_subsequence(n: Any, m: Any) -> Any:
    best = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n):
        for j in range(m):
            if (7 * i + 3 * j) % 5 == 0:
                best[i + 1][j + 1] = best[i][j] + 1
            else:
                best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j])
    return best[n][m], best


def eliminated(n: Any, m: Any) -> Any:
    a = [[float((3 * i + j * j) % 7 + 1) for j in range(n)] for i in range(n)]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i][k]) > abs(a[p][k]):
                p = i
        a[k], a[p] = a[p], a[k]
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= factor * a[k][j]
    return a


def rows_in_tuples(n: Any, m: Any) -> Any:
    pairs = [(i, [float(i)] * m) for i in range(n)]
    total = 0.0
    for i, row in pairs:
        total += i * sum(row) + len(row + row)
    pairs[0][1][0] = 6.0
    return pairs, total


def neighbours(n: Any, m: Any) -> Any:
    graph = [[] for _ in range(n)]
    for i in range(n):
        for j in range(m):
            graph[i].append((i * j + 1) % n)
            graph[(i * j + 1) % n].append(i)
    distance = [-1] * n
    distance[0] = 0
    queue, head = [0], 0
    while head < len(queue):
        node = queue[head]
        head += 1
        for other in graph[node]:
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                queue.append(other)
    return graph, distance


def empty_at_first(n: Any, m: Any) -> Any:
    floats, bools, none, tables = [[] for _ in range(n)], [[] for _ in range(n)], [[] for _ in range(n)], []
    for i in range(n):
        tables.append([])
        floats[i].append(i / 2)
        bools[i] += [i > 1]
    for i in range(m):
        tables[0].append(i)
    return floats, bools, none, tables, len(none[0]), sum(floats[1]), none[0] + floats[1]


PROGRAMS = [rows_joined, rows_of_a_loop, next_hops, rows_without_values,
            triangle, changed_by_name, of_other_lengths, asked, exchanged, put_in,
            put_in_empty, taken_out, common_subsequence, eliminated, rows_in_tuples, neighbours, empty_at_first]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_rows_are_lists(program: Callable[..., Any], executor: str) -> None:
    traced = on(executor, program)
    for n, m in ((3, 3), (4, 2), (2, 5)):
        assert rounded(plain(traced(rt.constant(n), rt.constant(m)))) == rounded(plain(program(n, m)))


def rounded(value: Any) -> Any:
    """Floats to some digits: results have 32 bits."""
    return [*map(rounded, value)] if isinstance(value, (list, tuple)) else round(value, 4)


def test_an_item_is_read_and_set_without_the_row() -> None:
    graph = rt.function(common_subsequence).get_concrete_function(rt.constant(3), rt.constant(3)).optimized
    bodies = [node.params["body"] for node in graph.walk() if node.op.name == "reduce"]
    [loop] = [body for body in bodies if any(node.op.name == "reduce" for node in body.nodes)]
    names = {node.op.name for node in loop.walk()}
    assert "setitem" in names and not {"list_stack", "list_from_tensor"} & names


def test_rows_are_printed_as_lists(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(n: Any, m: Any) -> None:
        rows = [(i, [0.1 * i] * m) for i in range(n)]
        print(rows, [row for _, row in rows], f"{rows[1][1]}")

    shown(2, 3)
    expected = capsys.readouterr().out
    for executor in ("numpy", "native"):
        on(executor, shown)(rt.constant(2), rt.constant(3))
        assert capsys.readouterr().out == expected


def test_rows_of_saved_functions_and_of_callees_are_lists(tmp_path: Path) -> None:
    def one_changes(n: Any, m: Any) -> Any:
        rows = [[float(i)] * m for i in range(n)]
        rows[1] = rows[0][:]
        rows[1][0] = 98.0
        return rows

    module = rt.Module()
    module.f = rt.function(one_changes, input_signature=[rt.TensorSpec((), rt.int32)] * 2)
    rt.saved_model.save(module, tmp_path)
    n, m = rt.constant(3), rt.constant(2)
    assert plain(rt.saved_model.load(tmp_path).f(n, m)) == plain(one_changes(3, 2))

    @rt.function
    def longer(n: Any, m: Any) -> Any:
        rows = module.f(n, m)
        rows[0].append(5.0)
        return rows

    assert plain(longer(n, m)) == [[*row, 5.0] if k == 0 else row for k, row in enumerate(one_changes(3, 2))]


def test_gradients_flow_through_rows() -> None:
    @rt.function
    def f(x: Any, n: Any) -> Any:
        rows = [[x * j for j in range(n)] for _ in range(n)]
        rows[0][1] += x * x
        return sum(rows[0]) + rows[1][1]

    assert float(rt.function(rt.grad(f))(rt.constant(3.0), rt.constant(3))) == 10
    assert rt.vectorized_map(lambda x: f(x, rt.constant(3)), rt.constant([1.0, 2.0])).numpy().tolist() == [5, 12]


def added_to_itself(n: Any, m: Any) -> Any:
    rows = [[0.0] * m for _ in range(n)]
    rows[1] = rows[0]
    rows[0][0] = 1.0
    return rows


def one_row_for_all(n: Any, m: Any) -> Any:
    rows, row = [], [0.0] * m
    for i in range(n):
        row[0] = float(i)
        rows.append(row)
    return rows


def in_two_lists(n: Any, m: Any) -> Any:
    rows, others = [[0.0] * m for _ in range(n)], [[1.0] * m for _ in range(n)]
    others[0] = rows[0]
    rows[0][0] = 1.0
    return rows, others


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", [added_to_itself, one_row_for_all, in_two_lists])
def test_a_row_in_two_places_changes_in_both(program: Callable[..., Any], executor: str) -> None:
    check_places(program, executor, (3, 2), (4, 3))


STEPS = (
    "x = rows[{i}]", "y = rows[{i}]", "rows[{i}] = x", "rows[{i}] = y", "x[{k}] = {v}", "y[{k}] += {v}",
    "rows[{i}][{k}] = {v}", "rows[{i}], rows[{j}] = rows[{j}], rows[{i}]", "x, y = y, x", "rows.append(x)",
    "rows.append({new})", "x = {new}", "rows[{i}] = x[:]", "x = rows.pop()", "rows.insert(0, y)", "x = y", "y = x[:]",
    "rows.reverse()", "other.append(x)", "other.append(rows[{i}])", "y = other[-1]", "for r in rows: r[{k}] += {v}",
    "rows[{i}] = other[-1]", "del rows[0]", "if a > 1: x[{k}] = {v}", "if a > 1: rows[{i}] = y",
    "if a > 1: x = rows[{i}]", "for q in range(n): rows[q] = rows[0]",
    "for q in range(n): rows[0], rows[q] = rows[q], rows[0]", "for q in range(n): x[0] += rows[q][1]",
    "for q in range(n): rows.append([q * 1.0, 2.0])", "a = a + rows[{i}][{k}]",
)
OF_LISTS = ("x.append({v})", "rows[{i}].append({v})", "x += [{v}]", "rows[{i}] += y", "x.pop()", "x = x + y",
            "y = y * 2", "x.insert(0, {v})", "x[0:1] = [{v}]", "a = a + len(x)", "a = a + sum(x)", "rows[{i}] *= 2",
            "x.reverse()", "a = a + len(rows[{i}])", "x = []", "rows[{i}] = []", "other = [[] for _ in range(n)]",
            "rows.append([])", "other[{i}].append({v})", "for q in range(n): other[q].append(q * 1.0)",
            "for q in range(n): rows[q].append({v})")


def random_program(chance: random.Random) -> str:
    """Rows of a length that only the graph knows, or of two items."""
    unknown = chance.random() < 0.6
    row, steps = ("[float(q)] * m", STEPS + OF_LISTS) if unknown else ("[float(q), 1.0]", STEPS)
    lines = ["def f(n, m, i, j):", "    a = 0.0", f"    rows = [{row} for q in range(n)]",
             f"    other = [{row} for q in range(n)]", "    x, y = rows[0], rows[1]"]
    for _ in range(chance.randint(2, 7)):
        lines.append("    " + chance.choice(steps).format(
            i=chance.choice(("0", "1", "i", "j", "-1", "2")), j=chance.choice(("0", "1", "i", "j", "-1", "2")),
            k=chance.choice("01"), v=f"{chance.randint(1, 99)}.0", new=row.replace("q", str(chance.randint(0, 9)))))
    return "\n".join([*lines, "    return rows, x, y, other, a", ""])


def outcome(fn: Callable[..., Any], *args: Any) -> Any:
    try:
        return plain(fn(*args))
    except IndexError:
        return IndexError


@pytest.mark.random
@pytest.mark.parametrize("seed", range(8))
def test_random_programs_are_right_or_refused(seed: int) -> None:
    """A change that a list would not see is an error, and nothing else is wrong."""
    chance, right = random.Random(seed), 0
    for number in range(8):
        text, name = random_program(chance), f"<rows {seed} {number}>"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        namespace: dict[str, Any] = {}
        exec(compile(text, name, "exec"), namespace)
        f, traced = namespace["f"], rt.function(namespace["f"], executor="numpy")
        for args in ((3, 2, 0, 1), (3, 2, 1, 1), (4, 2, 2, 0)):
            try:
                found = outcome(traced, *map(rt.constant, args))
            except rt.errors.StagingError:
                break
            assert found == outcome(f, *args), (text, args)
        else:
            right += 1
    assert right > 1


def test_message_a_deque_as_an_element() -> None:
    def value(n):
        queues = {}
        try:
            for i in range(n):
                queues[i] = collections.deque([i])
        except ValueError:  # which the program does not raise
            return -1
        return len(queues)

    def element(n):
        queue, rows = collections.deque(), [[i] for i in range(n)]
        for i in range(n):
            queue.append(i)
        rows.append(queue)
        return rows

    for fn, message in (value, "a deque is no list"), (element, "a deque has items that only"):
        with pytest.raises(rt.errors.StagingError, match=message):
            rt.function(fn)(rt.constant(3))
