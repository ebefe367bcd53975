"""Lists and dicts whose number of elements only the graph knows: text, None, lists and tuples as elements."""
from __future__ import annotations

import collections
import heapq
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from traced_once import on

import runtime as rt
from tests.elements import Program, outcome
from tests.plain_values import check_places, check_sizes, plain

# Text.


def fizzbuzz(n: Any) -> Any:
    out = []
    for i in range(1, n + 1):
        if i % 15 == 0:
            out.append("FizzBuzz")
        elif i % 3 == 0:
            out.append("Fizz")
        elif i % 5 == 0:
            out.append("Buzz")
        else:
            out.append(str(i))
    return out


def joined(n: Any) -> Any:
    words = []
    while n > 0:
        words.append(f"{n:d}é")
        n -= 1
    return ", ".join(words), "".join(word + "." for word in words), f"<{words[0]}>".join(words), len(words), words


def asked_for(n: Any) -> Any:
    words = ["a", "b", "c"]
    for i in range(n):
        words.append("x" if i % 2 == 0 else "yy")
    return ("yy" in words, words.count("x"), words.index("yy"), words[n], words[-1] + "!", len(words[-1]),
            words == ["a", "b", "c", "x", "yy", "x", "yy"], [word for word in words if word > "b"])


def set_at(n: Any) -> Any:
    few, many = ["none"] * 5, ["none"] * n
    for i in range(n):
        few[i % 5] = many[n - 1 - i] = "big" if i > 1 else f"small {i}"
    return few, many


def with_numbers(n: Any) -> Any:
    pairs = []
    for i in range(n):
        pairs.append((i, "odd" if i % 2 else "even"))
    return pairs, [name for i, name in pairs if i > 1], sorted(pairs, key=lambda pair: (pair[1], -pair[0]))


def in_order(n: Any) -> Any:
    words = ["pear", "apple", ""]
    for i in range(n):
        words.append("fig" if i % 2 == 0 else f"kiwi{i}")
    up = sorted(words)
    words.sort(key=len)
    return words, up, max(words), min(words), sorted([f"{n}", "2", "10"]), max(f"{n}", "2")


def changed(n: Any) -> Any:
    words = ["z"]
    for i in range(n):
        words.append(f"{i}")
    last = words.pop()
    words.insert(0, "first")
    words.remove("0")
    words.reverse()
    words.extend(["p", "q"])
    del words[0]
    return words, last, words + ["r"], words[1:], "-" * n, f"{n}" * n


def in_dicts(n: Any) -> Any:
    names = {}
    for i in range(n):
        names[i] = "odd" if i % 2 else "even"
    return names, names[1], [f"{key}{name}" for key, name in names.items()], names.get(99, "none")


# None.


def filled_in(n: Any) -> Any:
    memo, total = [None] * (n + 1), 0
    memo[0] = 1
    for i in range(1, n + 1):
        if memo[i] is None:
            memo[i] = memo[i - 1] * 2
    for m in memo:
        if m is not None and m > 2:
            total += m
    return memo, total


def none_at_first(n: Any) -> Any:
    before, previous = [], None
    for i in range(n):
        before.append(previous)
        previous = i
    return before, before[0] is None, before.count(None), None in before


def none_later(n: Any) -> Any:
    out = [*range(n)]
    for i in range(n):
        if out[i] == 2:
            out[i] = None
    out.append(None)
    out.insert(0, 7)
    return out, out.index(None), [x for x in out if x is not None], f"{out}"


def hash_table(n: Any) -> Any:
    slots = [None] * 8
    for k in range(n):
        key = k * k
        at = key % 8
        while slots[at] is not None and slots[at][0] != key:
            at = (at + 1) % 8
        slots[at] = (key, 1) if slots[at] is None else (key, slots[at][1] + 1)
    return slots


def text_or_none(n: Any) -> Any:
    names = [None] * n
    for i in range(n):
        if i % 2:
            names[i] = f"{i}"
    return names, [(i, name) for i, name in enumerate(names) if name is not None]


# Lists in dicts, and lists whose lengths differ.


def grouped(n: Any) -> Any:
    groups, others = collections.defaultdict(list), {}
    for i in range(n):
        groups[i % 3].append(i)
        others.setdefault(i % 2, []).append(float(i))
    return groups, {k: sum(v) for k, v in others.items()}, max(len(v) for v in groups.values()), groups == others


def by_membership(n: Any) -> Any:
    groups = {}
    for i in range(n):
        if i % 3 not in groups:
            groups[i % 3] = []
        groups[i % 3].append(i)
        row = groups.get(i % 2, [])
        row.append(-i)
        groups[i % 2] = row
    return groups


def changed_in_loops(n: Any) -> Any:
    groups = {i: [i] for i in range(n)}
    for key, row in groups.items():
        row.append(key * 2)
    for row in groups.values():
        row[0] = -1
    first = groups.pop(0)
    first.append(9)
    del groups[1]
    return groups, first, list(groups), list(groups.values()), len(groups), 0 in groups


def put_in_and_changed(n: Any) -> Any:
    groups, rows = {}, []
    for i in range(n):
        row = [i]
        groups[i] = row
        row.append(5)
        rows.append([i])
        rows[-1].append(i)
        rows[0].append(i)
    for i, row in enumerate(rows):
        row.append(i)
    for row in reversed(rows):
        row += [1]
    for i, row in zip(range(n), rows):
        row.remove(1)
    return groups, rows


def of_records(n: Any) -> Any:
    records = {}
    for i in range(n):
        records[i % 2] = {"count": 0, "items": []}
    for i in range(n):
        records[i % 2]["count"] += 1
        records[i % 2]["items"].append(i)
    return records


def of_tuples(n: Any) -> Any:
    table = {}
    for i in range(n):
        table[i] = (i, [i, i + 1])
    for i in range(n):
        table[i][1].append(0)
    return table


def of_other_lengths(n: Any) -> Any:
    found = []
    if n > 2:
        found.append([1])
    if n > 1:
        found.append([1, 2])
    if n > 3:
        found.append([])
    return found


def breadth_first(n: Any) -> Any:
    graph = {}
    for i in range(n):
        graph.setdefault(i, []).append((i * i + 1) % n)
        graph.setdefault((i * i + 1) % n, []).append(i)
    seen, queue, order = {0}, collections.deque([0]), []
    while queue:
        node = queue.popleft()
        order.append(node)
        for other in graph[node]:
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return order


def shortest_paths(n: Any) -> Any:
    ends, weights = collections.defaultdict(list), collections.defaultdict(list)
    for i in range(n):
        ends[i] += [(i + 1) % n, (i + 2) % n]
        weights[i] += [3, 4]
    distances, heap = {0: 0}, [(0, 0)]
    while heap:
        distance, node = heapq.heappop(heap)
        if distance > distances.get(node, 1000):
            continue
        for other, weight in zip(ends[node], weights[node]):
            if distance + weight < distances.get(other, 1000):
                distances[other] = distance + weight
                heapq.heappush(heap, (distance + weight, other))
    return distances


PROGRAMS = [fizzbuzz, joined, asked_for, set_at, with_numbers, in_order, changed, in_dicts, filled_in, none_at_first,
            none_later, hash_table, text_or_none, grouped, by_membership, changed_in_loops, put_in_and_changed,
            of_records, of_tuples, of_other_lengths, breadth_first, shortest_paths]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_elements_are_pythons(program: Callable[..., Any], executor: str) -> None:
    traced = on(executor, program)
    for n in (4, 7):
        found, expected = plain(traced(rt.constant(n))), program(n)
        assert found == expected and repr(found) == repr(plain(expected))


def test_elements_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(n: Any) -> None:
        words, gaps, groups = [], [None] * n, {}
        for i in range(n):
            words.append((i, f"it's {i}"))
            groups.setdefault(i % 2, []).append(i)
            if i > 1:
                gaps[i] = i
        print(words, gaps, groups, f"{words[1:]}")

    shown(3)
    expected = capsys.readouterr().out
    for executor in ("numpy", "native"):
        on(executor, shown)(rt.constant(3))
        assert capsys.readouterr().out == expected


def test_none_is_an_error_where_a_number_is_needed() -> None:
    def added(n: Any) -> Any:
        memo = [None] * n
        memo[0] = n
        return memo[n - 1] + 1

    assert int(rt.function(added)(rt.constant(1))) == 2
    with pytest.raises(TypeError, match="'item' is None here"):
        rt.function(added)(rt.constant(3))


def test_joined_numbers_are_a_type_error() -> None:
    def joined_numbers(n: Any) -> Any:
        return ", ".join([i for i in range(n)])

    with pytest.raises(TypeError, match="sequence item 0: expected str instance, Tensor found"):
        rt.function(joined_numbers)(rt.constant(3))


def test_text_of_a_saved_function(tmp_path: Path) -> None:
    module = rt.Module()
    module.f = rt.function(fizzbuzz, input_signature=[rt.TensorSpec((), rt.int32)])
    module.g = rt.function(filled_in, input_signature=[rt.TensorSpec((), rt.int32)])
    rt.saved_model.save(module, tmp_path)
    loaded = rt.saved_model.load(tmp_path)
    assert loaded.f(rt.constant(5)) == fizzbuzz(5) and plain(loaded.g(rt.constant(5))) == filled_in(5)


def same_row_twice(n: Any) -> Any:
    groups = {}
    for i in range(n):
        row = [i]
        groups[i] = row
        groups[i + 10] = row
        row.append(5)
    return groups


def two_rows_that_may_be_one(n: Any) -> Any:
    groups = collections.defaultdict(list)
    for i in range(n):
        one, other = groups[i % 2], groups[(i + 1) % 2]
        one.append(i)
        other.append(i)
        one.append(7)
    return groups


def copied(n: Any) -> Any:
    groups = {i: [i] for i in range(n)}
    others = dict(groups)
    others[1].append(99)
    return groups, others


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", [same_row_twice, two_rows_that_may_be_one, copied])
def test_a_list_that_may_be_in_two_places_changes_in_both(program: Callable[..., Any], executor: str) -> None:
    check_places(program, executor, (3,), (4,))


# Lists, text and tuples in lists that are elements.


def weighted_graph(n: Any) -> Any:
    graph, distances, heap = {}, [999] * n, [(0, 0)]
    for i in range(n):
        graph.setdefault(i, []).append(((i + 1) % n, 2))
        graph.setdefault(i, []).append(((i + 2) % n, 3))
    distances[0] = 0
    while heap:
        distance, node = heapq.heappop(heap)
        if distance > distances[node]:
            continue
        for other, weight in graph[node]:
            if distance + weight < distances[other]:
                distances[other] = distance + weight
                heapq.heappush(heap, (distance + weight, other))
    return distances, graph


def three_levels(n: Any) -> Any:
    cube = [[[0] * n for _ in range(n)] for _ in range(n)]
    for i in range(n):
        cube[i][i][i] = i
        cube[0][i].append(7)
        cube[n - 1].append([i])
    return cube, len(cube[n - 1]), sum(cube[0][0]), [len(plane) for plane in cube]


def sentences(n: Any) -> Any:
    out = []
    for i in range(n):
        words = []
        for j in range(i):
            words.append(f"{j}")
        out.append(words)
    out[0].append("first")
    return out, [" ".join(words) for words in out], out[1] == ["0"]


def runs_of(n: Any) -> Any:
    out, run, groups, group = [], [], [], [0]
    for i in range(n):
        x = i // 3
        if run and run[-1][0] != x:
            out.append(run)
            run = []
        run.append((x, i))
        if i * i % 5 > 1:
            groups.append(group)
            group = [i]
        else:
            group.append(i)
    out.append(run)
    groups.append(group)
    return out, groups


def subsets(n: Any) -> Any:
    out = [[]]
    for i in range(n):
        for k in range(len(out)):
            out.append(out[k] + [i])
    return out


def appended_elsewhere(n: Any) -> Any:
    out, lines, queue = [], ["start"], []

    def add(text: Any) -> None:
        out.append(text)
        lines.append((text + "!") * 2)

    for i in range(n):
        add(f"line {i}")
        heapq.heappush(queue, (i * 13 % 7, f"job {i}"))
    order = []
    while queue:
        order.append(heapq.heappop(queue)[1])
    return out, lines, order


def default_dicts(n: Any) -> Any:
    totals: dict[Any, Any] = {}
    for i in range(n):
        entry = totals.setdefault(i % 3, {"sum": 0, "count": 0})
        entry["sum"] += i
        entry["count"] += 1
    for i in range(n):
        totals.setdefault(i % 4, {"sum": 0, "count": 0})["count"] += 10
    return totals


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", [
    weighted_graph, three_levels, sentences, runs_of, subsets, appended_elsewhere, default_dicts])
def test_lists_in_lists_that_are_elements(program: Callable[..., Any], executor: str) -> None:
    traced = on(executor, program)
    for n in (3, 4):
        assert plain(traced(rt.constant(n))) == plain(program(n))


def new_key_of_a_default(n: Any) -> Any:
    found: dict[Any, Any] = {}
    for i in range(n):
        found.setdefault(i % 3, {"first": i})["last"] = i
    return found


def dict_of_dicts_of_lists(n: Any) -> Any:
    tree: Any = collections.defaultdict(dict)
    for i in range(n):
        tree[i % 3].setdefault(i % 2, []).append(i)
    return tree


def empty_tuples(n: Any) -> Any:
    out = [()]
    for _ in range(n):
        out.append(())
    return out, len(out)


def test_empty_tuples() -> None:
    found, size = rt.function(empty_tuples)(rt.constant(3))
    assert found == [(), (), (), ()] and int(size) == 4


@pytest.mark.parametrize("program", [
    new_key_of_a_default, dict_of_dicts_of_lists])
def test_elements_that_a_graph_cannot_hold_are_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(rt.errors.StagingError, match=r"test_element_layout.py:\d+: "):
        rt.function(program)(rt.constant(5))


def test_other_items_than_bools_in_one_list_are_an_error() -> None:
    def mixed(n: Any) -> Any:
        row = [[] for _ in range(n)]
        row[0].append(True)
        row[0].append((n, n))
        return row

    with pytest.raises(rt.errors.StagingError, match="holds tensors of one type, not a tuple"):
        rt.function(mixed)(rt.constant(2))


def least_coins(n: Any) -> Any:
    best = [0] + [None] * n
    for amount in range(1, n + 1):
        for coin in (1, 5, 7):
            if coin <= amount and best[amount - coin] is not None:
                count = best[amount - coin] + 1
                if best[amount] is None or count < best[amount]:
                    best[amount] = count
    return best


def extended_by_numbers(n: Any) -> Any:
    found = [None] * n
    found.extend([i for i in range(n)])
    found += [n]
    return [1.5] * n + [None] + [2.5] * n, found


def rows_and_none(n: Any) -> Any:
    return [[0, 0]] + [None] * n, [None] * n + [None] + [[i, 1] for i in range(n)]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", [least_coins, extended_by_numbers, rows_and_none])
def test_lists_of_several_structures_are_joined(program: Callable[..., Any], executor: str) -> None:
    check_sizes(program, executor, 11, 1, 3)


def distances(n: Any, weights: Any) -> Any:
    found = [float("inf")] * n
    found[0] = weights[0]
    found.append(weights[1])
    return found


def table_with_inf(n: Any, weights: Any) -> Any:
    found = [[0] * n for _ in range(n)]
    found[0][1] = float("inf")
    found[1][0] = weights[0]
    return found


def halves_between(n: Any, weights: Any) -> Any:
    found = []
    for weight in weights:
        found.append(weight)
        if weight > 1:
            found.append(0.5)
    return found


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("program", [distances, table_with_inf, halves_between])
def test_ints_of_tensors_are_floats_in_lists_with_floats(program: Callable[..., Any], dtype: str) -> None:
    found = rt.function(program)(rt.constant(3), rt.constant([4, 1, 2], dtype))
    assert plain(found) == program(3, [4, 1, 2])


@pytest.mark.parametrize("first", range(0, 12, 6))
def test_random_programs(first: int) -> None:
    """See `tests.elements`."""
    outcomes = [outcome(Program(seed), seed, "numpy") for seed in range(first, first + 6)]
    assert set(outcomes) <= {"right", "refused"} and outcomes.count("right") >= 2
