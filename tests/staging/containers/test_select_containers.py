"""One of many lists, as a tensor tells: its uses are staged in parts that grow as n log n."""
from __future__ import annotations

import collections
import copy
import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core.graph import Graph
from runtime.staging.control import cond
from tests.gradients import EXECUTORS
from tests.plain_values import executors, plain
from tests.traced_once import on


def neighbours(edges, n):  # type: ignore[no-untyped-def]
    rows = [[] for _ in range(n)]
    for e in range(len(edges)):
        rows[edges[e, 0]].append(edges[e, 1])
    return [len(row) for row in rows], [sum(row) for row in rows]


def with_another_name(edges, n):  # type: ignore[no-untyped-def]
    rows = [[0] for _ in range(n)]
    last, again = rows[-1], [rows[0], rows[-1]]
    for e in range(len(edges)):
        rows[edges[e, 0]].append(edges[e, 1])
        again[e % 2].append(-1)
    return [len(row) for row in rows], sum(last), [sum(row) for row in again]


def an_argument_grows(edges, n):  # type: ignore[no-untyped-def]
    rows, log = [[] for _ in range(n)], []
    for e in range(len(edges)):
        rows[edges[e, 0]].append(edges[e, 1])
        rows[edges[e, 1]].extend(log[:1])
        log.append(edges[e, 0])
    return [sum(row) for row in rows], len(log)


def moved(edges, n):  # type: ignore[no-untyped-def]
    rows = [[i for i in range(n) if i >= edges[0, 0]], *([] for _ in range(n - 1))]
    for e in range(len(edges)):
        rows[edges[e, 1]].append(e)
        if rows[edges[e, 0]]:
            rows[edges[e, 1]].append(rows[edges[e, 0]].pop())
    return [len(row) for row in rows], [sum(row) for row in rows]


def shorter(edges, n):  # type: ignore[no-untyped-def]
    rows = [[i] * (i % 3) for i in range(n)]
    taken = 0
    for e in range(len(edges)):
        row = rows[edges[e, 0]]
        if len(row) > 0:
            taken += row.pop()
        row.insert(0, edges[e, 1])
    return taken, [sum(row) for row in rows]


def items_set(edges, n):  # type: ignore[no-untyped-def]
    rows = [[0.5] * (1 + i % 3) for i in range(n)]
    for e in range(len(edges)):
        rows[edges[e, 0]][0] += edges[e, 1] * 1.0
        rows[edges[e, 1]][-1] *= 2.0
    return [sum(row) for row in rows]


EDGES = np.random.default_rng(3).integers(0, 6, (20, 2))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("program", [
    neighbours, with_another_name, an_argument_grows, moved, shorter, items_set])
def test_programs(program: Callable[..., Any], executor: str) -> None:
    want = program(EDGES, 6)
    got = on(executor, lambda edges: program(edges, 6))(rt.constant(EDGES))
    for one, other in zip(rt.nest.flatten(got), rt.nest.flatten(want), strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)


def test_an_index_out_of_range_and_an_empty_list_raise_as_in_python() -> None:
    def taken(i):  # type: ignore[no-untyped-def]
        rows = [[1], [], [3]]
        return rows[i].pop()

    f = rt.function(taken)
    assert int(f(rt.constant(2))) == 3
    for i in (1, 3):
        with pytest.raises(IndexError) as want:
            taken(i)
        with pytest.raises(IndexError, match=str(want.value)):
            f(rt.constant(i))


def test_each_use_is_staged_once_for_each_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each use takes two branches for each list but the last one, and no more uses are traced for many lists."""
    traced: list[str] = []

    class Counted(cond.Traced):
        def __init__(self, name: str, *args: Any) -> None:
            traced.append(name)
            super().__init__(name, *args)

    monkeypatch.setattr(cond, "Traced", Counted)
    uses = []
    for n in (8, 16, 32):
        traced.clear()
        rt.function(lambda edges, n=n: neighbours(edges, n)).get_concrete_function(rt.TensorSpec([20, 2], rt.int64))
        uses.append(len(traced) / (2 * (n - 1)))
    assert uses == [4, 4, 4]


def distances(edges, n):  # type: ignore[no-untyped-def]
    rows = [[] for _ in range(n)]
    for one, other in edges:
        rows[one].append(other)
        rows[other].append(one)
    found, queue = [-1] * n, [0]
    found[0] = 0
    while queue:
        place = queue.pop(0)
        for other in rows[place]:
            if found[other] < 0:
                found[other] = found[place] + 1
                queue.append(other)
    return found, [len(row) for row in rows]


def cheapest(edges, n):  # type: ignore[no-untyped-def]
    rows = [[] for _ in range(n)]
    for i in range(len(edges)):
        rows[edges[i, 0]].append((edges[i, 1], i % 7 + 1))
    best, heap = [1000] * n, [(0, 0)]
    best[0] = 0
    while heap:
        cost, place = heapq.heappop(heap)
        if cost > best[place]:
            continue
        for other, more in rows[place]:
            if cost + more < best[other]:
                best[other] = cost + more
                heapq.heappush(heap, (cost + more, other))
    return best


def by_names(edges, n):  # type: ignore[no-untyped-def]
    rows = [[] for _ in range(n)]
    for one, other in edges:
        row = rows[one]
        if other not in row:
            row.append(other)
    for i in range(n):
        rows[i] = sorted(rows[i])
    return [row[0] if row else -1 for row in rows], len(rows), rows[-1]


def with_a_name(edges, n):  # type: ignore[no-untyped-def]
    rows = [[] for _ in range(n)]
    first = rows[0]
    for one, other in edges:
        rows[one].append(other)
    first.append(-1)
    return len(rows[0]), sum(first)


def neighbours_by_key(edges, n):  # type: ignore[no-untyped-def]
    rows, seen = {key: [] for key in range(n)}, {key: 0 for key in range(n)}
    for i in range(len(edges)):
        one, other = edges[i, 0], edges[i, 1]
        rows[one].append(other)
        if other not in rows[other]:
            rows[other].append(one)
        seen[other] += len(rows[one])
    found = 0
    for other in rows[edges[0, 0]]:
        found = found * 3 % 1000 + other
    return found, [len(rows[key]) for key in rows], seen[5], n in rows


def by_key_with_a_name(edges, n):  # type: ignore[no-untyped-def]
    rows = {str(key): [] for key in range(n)}
    first = rows["0"]
    for one, other in edges:
        if other > one:
            rows["30" if one > 20 else "0"].append(other)
    first.append(-1)
    return len(rows["0"]), sum(first), len(rows["30"])


MANY = np.random.default_rng(3).integers(0, 40, (60, 2))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("program", [
    distances, cheapest, by_names, with_a_name, neighbours_by_key, by_key_with_a_name])
def test_many_lists(program: Callable[..., Any], executor: str) -> None:
    want = program(MANY, 40)
    got = on(executor, lambda edges: program(edges, 40))(rt.constant(MANY))
    for one, other in zip(rt.nest.flatten(got), rt.nest.flatten(want), strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)


@pytest.mark.parametrize(("program", "most", "each"), [(distances, 200, 2), (neighbours_by_key, 450, 4)])
def test_many_lists_are_elements_of_one_list(program: Callable[..., Any], most: int, each: int) -> None:
    sizes = []
    for n in (64, 512):
        concrete = rt.function(lambda edges, n=n: program(edges, n)[0]).get_concrete_function(
            rt.TensorSpec([20, 2], rt.int64))
        sizes.append(sum(node.op.name != "const" for node in concrete.graph.walk()))
    assert sizes[0] < most
    assert sizes[1] - sizes[0] == each * (512 - 64)  # to make the lists, and not for each use


def of_sets(sets, k):  # type: ignore[no-untyped-def]
    total = 0
    for v in sets[k]:
        total = total * 10 + v
    return (total, sum(sets[k]), max(sets[k]), sorted(sets[k]), list(sets[k]), len(sets[k]), 2 in sets[k],
            [x + 1 for x in sets[k]], any(x > 2 for x in sets[k]), 1 if sets[k] else 0)


def of_dicts(dicts, k):  # type: ignore[no-untyped-def]
    total = 0
    for a, b in dicts[k].items():
        total += a * b
    for a in dicts[k]:
        total += a
    return total, sum(dicts[k].values()), sorted(dicts[k].keys()), len(dicts[k])


def search(links, k):  # type: ignore[no-untyped-def]
    queue, distance = collections.deque([k]), {k: 0}
    while queue:
        u = queue.popleft()
        for v in links[u]:
            if v not in distance:
                distance[v] = distance[u] + 1
                queue.append(v)
    return list(distance.items())


def search_by_defaults(edges, k):  # type: ignore[no-untyped-def]
    links, found, waiting = collections.defaultdict(set), [], [k]
    for a, b in edges:
        links[a].add(b)
    while waiting:
        u = waiting.pop()
        found.append(u)
        waiting.extend(sorted(links[u]))
    return found, len(links)


SETS: list[tuple[Any, Any]] = [
    (of_sets, {1: {2, 3}, 2: {3}}),
    (of_sets, {1: frozenset({2, 3}), 2: frozenset({4, 3})}),
    (of_sets, {1: {2, 40}, 2: {3, 33}}), (of_sets, [set(), {5, 1}, {7}]),
    (of_dicts, {1: {2: 3}, 2: {3: 4, 5: 6}}), (of_dicts, {1: {2: 3}, 2: {3: 4}}),
    (of_dicts, {1: collections.defaultdict(int, {2: 3}), 2: collections.defaultdict(int, {7: 1, 8: 2})}),
    (of_dicts, {1: collections.Counter([1, 1]), 2: collections.Counter([4, 5, 5])}),
    (search, {1: {2, 3}, 2: {3}, 3: set()}), (search_by_defaults, [(1, 2), (1, 3), (2, 4)]),
]


@executors
@pytest.mark.parametrize(("fn", "among"), SETS)
def test_sets_and_dicts(fn: Callable[..., Any], among: Any, executor: str) -> None:
    staged = on(executor, fn)
    for k in (1, 2):
        assert plain(staged(among, rt.constant(k))) == fn(copy.deepcopy(among), k)


def truth_by_key(dicts, k):
    found = dicts[k % 2]
    if not found:
        return 0, not found, bool(found), len(found), dicts
    assert found
    return (2 if found and k > 0 else 3), not found, bool(found), max(found.values()), dicts


def emptied(dicts, k):
    count = 0
    while dicts[k % 2]:
        dicts[k % 2].clear()
        count += 1
    return count, dicts


def extended_if_any(dicts, k):
    dicts[1]["q"] = k
    chosen = dicts[0] if k > 1 else dicts[1]
    if chosen:
        chosen["z"] = 3
    return len(chosen), dicts


@executors
@pytest.mark.parametrize("fn", [truth_by_key, emptied, extended_if_any])
@pytest.mark.parametrize("of", [dict, collections.Counter, collections.OrderedDict])
def test_the_truth_of_one_of_several_dicts(of: Any, fn: Callable[..., Any], executor: str) -> None:
    def called(k):  # type: ignore[no-untyped-def]
        return fn([of({"x": 1, "y": 2}), of()], k)

    staged = on(executor, called)
    for k in (1, 2):
        assert plain(staged(rt.constant(k))) == plain(called(k))


CODE = [("push", 3), ("push", 4), ("add",), ("jmp", 5), ("push", 100), ("dup",), ("mul",), ("halt",)]


class Machine:
    def __init__(self):
        self.stack, self.place, self.running, self.op, self.args = [], 0, True, None, []

    def step(self):
        op, *args = CODE[self.place]
        self.place, self.op, self.args = self.place + 1, op, args
        if op == "push":
            self.stack.append(args[0])
        elif op == "jmp":
            self.place = args[0]
        elif op == "halt":
            self.running = False
        else:
            a = self.stack.pop()
            b = a if op == "dup" else self.stack.pop()
            self.stack.extend([a, a] if op == "dup" else [a + b if op == "add" else a * b])


def machine(n):
    m, steps = Machine(), 0
    while m.running and steps < n + 3:
        m.step()
        steps += 1
    return m.stack, m.place, m.op, m.args


def instructions(n):
    place, total, log = 0, 0, []
    while place < n:
        op, *args = CODE[place]
        log.append((op, args))
        if args:
            total += args[0] * len(args)
        place += 1
    return op, args, total, log


def own_lists(n):
    op, *args = CODE[n]
    args.append(7)
    whole = CODE[n]
    return args, whole[0], whole[1] if len(whole) > 1 else len(op), CODE[2:4]


def wrong_lengths(n):
    found = []
    for k in range(n):
        try:
            _, a, *rest = CODE[k]
            found.append(a + len(rest))
        except ValueError as error:
            found.append(-1)
            print(error)
        try:
            found.append(CODE[k][1])
        except IndexError:
            found.append(-2)
    first, *middle, last = [(1, 2, 3.5), (4, 5.5)][n % 2]
    return found, first, middle, last


@executors
@pytest.mark.parametrize("fn", [machine, instructions, own_lists, wrong_lengths])
def test_parts_of_tuples_of_several_lengths_and_types(
    fn: Callable[..., Any], executor: str, capsys: pytest.CaptureFixture[str],
) -> None:
    staged = on(executor, fn)
    for n in (1, 3, 5):
        found = plain(staged(rt.constant(n))), capsys.readouterr().out
        assert found == (plain(fn(n)), capsys.readouterr().out)


KEYED = [{"a": 1, "b": 2}, {"a": 3, "c": 4}, {"b": 7, "c": 2}]


def displays(n):
    chosen = KEYED[n]
    return ({*chosen.items()}, {*chosen, "z"}, {9, *chosen.values(), *[n, 5]}, [*chosen], [*chosen.items(), ("q", n)],
            ("a", 1) in {*chosen.items()}, n in {*range(2)}, len({*chosen.values(), 1}))


def extremes(n):
    chosen = KEYED[n]
    of_branch = {"x": 4, "b": 2} if n > 0 else {"b": 5}
    return (max(chosen, key=chosen.get), min(chosen, key=lambda k: chosen[k]), max(chosen), min(chosen), sorted(chosen),
            sorted(chosen, key=lambda k: -chosen[k]), list(chosen), [*reversed(list(chosen))], list(enumerate(chosen)),
            [k for k in map(str.upper, ["q"])], any(k == "c" for k in chosen), max(of_branch, key=of_branch.get))


def with_the_same_keys(n):
    chosen = [{1: 1, 2: 2}, {1: 5, 2: 4}, {1: 0, 2: 3}][n]
    first, second = chosen.keys()
    return (list(enumerate(chosen)), list(zip(chosen, "ab", strict=True)), list(map(str, chosen)), sum(chosen),
            {**chosen}, tuple(chosen), [*reversed(chosen)], list(filter(lambda k: k > 1, chosen)), first, second,
            any(k > chosen[k] for k in chosen), max(chosen, key=chosen.get), {*chosen}, 2 in chosen, next(iter(chosen)))


def in_order(n):
    texts, sets, tuples = [["b", "a"], ["c"], []], [{"b", "a"}, {"c"}, set()], [("b", "a"), ("c",), ()]
    return sorted(texts[n]), sorted(sets[n], reverse=True), sorted(tuples[n]), sorted(texts[n], key=lambda text: text)


@executors
@pytest.mark.parametrize("fn", [displays, extremes, in_order, with_the_same_keys])
def test_functions_and_displays_iterate_over_one_of_several_dicts(fn: Callable[..., Any], executor: str) -> None:
    staged = on(executor, fn)
    for n in range(3):
        assert plain(staged(rt.constant(n))) == fn(n)


@executors
def test_a_tuple_of_the_items_of_one_of_several_dicts(executor: str) -> None:
    def items(n):  # type: ignore[no-untyped-def]
        return (*KEYED[n].items(),)

    found = plain(on(executor, items)(rt.constant(1)))
    assert found == items(1) and type(found) is tuple


def eliminated(xs, k):
    table = [[1.0, 2.0, 3.0], [2.0, 5.0, 1.0], [4.0, 0.5, 6.0], [float(x) for x in xs]]
    for step in range(3):
        column, best = k, 100.0
        for j in range(3):
            if table[3][j] < best:
                column, best = j, table[3][j]
        if best > 50.0:
            break
        row, ratio = 0, 1e9
        for i in range(3):
            if table[i][column] < ratio:
                row, ratio = i, table[i][0]
        pivot = table[row][column] + 2.0
        table[row] = [x / pivot for x in table[row]]
        for i in range(4):
            if i != row:
                factor = table[i][column]
                table[i] = [x - factor * y for x, y in zip(table[i], table[row])]
    return table


@executors
def test_rows_put_at_indices_of_tensors_do_not_become_more_and_more_alternatives(
        executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs: list[str] = []
    begin = Graph.__init__

    def counted(self: Graph, name: str, *args: Any, **keywords: Any) -> None:
        graphs.append(name)
        begin(self, name, *args, **keywords)

    monkeypatch.setattr(Graph, "__init__", counted)
    staged = rt.function(eliminated, executor=executor)
    for k in range(3):
        np.testing.assert_allclose(plain(staged(rt.constant([1.0, 4.0, 9.0]), rt.constant(k))),
                                   eliminated([1.0, 4.0, 9.0], k), rtol=1e-5)
    assert len(graphs) < 1000, len(graphs)  # they were 5,453, and grew with the square of the number of steps


def three_rows(xs):
    return [[x + 1.0 for x in xs], [2.0 * x for x in xs], [-x for x in xs]]


def a_new_row_has_a_name(xs, k):
    table, new = three_rows(xs), [x * 4.0 for x in xs]
    table[k] = new
    new[0] = 9.0
    return table


def an_old_row_has_a_name(xs, k):
    table = three_rows(xs)
    row = table[0]
    table[k] = [x * 4.0 for x in xs]
    table[0][0] = 5.0
    return table, sum(row)


def rows_are_in_another_list(xs, k):
    table = three_rows(xs)
    again = list(table)
    table[k] = [x * 4.0 for x in xs]
    table[0][0] = 5.0
    again[1][1] = 7.0
    return [sum(row) for row in table], [sum(row) for row in again]


def a_row_is_put_twice(xs, k):
    table = three_rows(xs)
    table[k] = table[0]
    table[0][0] = 5.0
    return [sum(row) for row in table], [table[0] is row for row in table]


def a_replaced_row_has_a_name(xs, k):
    table = three_rows(xs)
    table[k] = [x * 4.0 for x in xs]
    row = table[1]
    table[k] = [x * 5.0 for x in xs]
    row[0] = 100.0
    return [sum(row) for row in table], sum(row)


def a_closure_has_the_row(xs, k):
    rows, table = {"last": [0.0, 0.0, 0.0]}, three_rows(xs)
    rows["last"] = table[2]
    table[k] = [x * 4.0 for x in xs]
    rows["last"][0] = 8.0
    return [sum(row) for row in table]


@executors
@pytest.mark.parametrize("fn", [
    a_new_row_has_a_name, an_old_row_has_a_name, rows_are_in_another_list, a_row_is_put_twice,
    a_replaced_row_has_a_name, a_closure_has_the_row])
def test_rows_put_at_an_index_of_a_tensor_keep_their_names(fn: Callable[..., Any], executor: str) -> None:
    staged = rt.function(fn, executor=executor)
    for k in range(3):
        assert plain(staged(rt.constant([1.0, 2.0, 3.0]), rt.constant(k))) == plain(fn([1.0, 2.0, 3.0], k))
