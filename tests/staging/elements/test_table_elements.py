"""Dicts and sets whose items only the graph knows, as elements of lists and as values of dicts."""
from __future__ import annotations

import collections
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.plain_values import check_places, check_refused, check_sizes, executors


def set_by_default(n: Any) -> Any:
    tree: Any = {}
    for i in range(n):
        tree.setdefault(i % 3, {})[i] = i * i
    return tree


def edges_by_default(n: Any) -> Any:
    edges: Any = defaultdict(dict)
    for i in range(n):
        edges[i % 3][(i * 2) % n] = 0.5 * i
    total = 0.0
    for u in edges:
        for v, weight in edges[u].items():
            total += weight * u + v
    return edges, total


def a_list_of_them(n: Any) -> Any:
    edges: Any = [{} for _ in range(n)]
    for i in range(n):
        edges[i][(i + 1) % n] = i
        edges[(i + 1) % n][i] = -i
    return edges


def shortest_path(n: Any) -> Any:
    edges: Any = defaultdict(dict)
    for i in range(n):
        edges[i][(i + 1) % n] = 2
        edges[i][(i * 3) % n] = 5
    cost = {0: 0}
    waiting = [0]
    while waiting:
        u = waiting.pop()
        for v, weight in edges[u].items():
            if v not in cost or cost[u] + weight < cost[v]:
                cost[v] = cost[u] + weight
                waiting.append(v)
    return cost


def counts_of_counts(n: Any) -> Any:
    counts: Any = defaultdict(lambda: defaultdict(int))
    for i in range(n):
        for j in range(i):
            counts[i % 2][j] += 1
    return counts


def counters(n: Any) -> Any:
    counts: Any = {}
    for i in range(n):
        counts.setdefault(i % 2, collections.Counter())[i % 3] += 1
    return counts


def made_where_missing(n: Any) -> Any:
    found: Any = {}
    for i in range(n):
        if i % 3 not in found:
            found[i % 3] = {}
        found[i % 3][i] = found[i % 3].get(i - 3, 0) + 1
    return found, [len(each) for each in found.values()]


def by_a_name(n: Any) -> Any:
    found: Any = {}
    for i in range(n):
        own = found.setdefault(i % 2, {})
        own[i] = 1
        if i > 2:
            own[i - 1] = 2
        own.pop(0, None)
    return found


def displays_and_comprehensions(n: Any) -> Any:
    first: Any = {}
    for i in range(n):
        first[i] = {i: 1, i + 1: 2}
    first[0][5] = 7
    second = {}
    for i in range(n):
        second[i] = {j: i * j for j in range(i)}
    return first, second


def sets_by_default(n: Any) -> Any:
    found: Any = defaultdict(set)
    for i in range(n):
        found[i % 3].add(i)
        found[i % 2].add(i % 2)
        found[i % 3] |= {i + 7}
    return found, 3 in found[0], found[0] & found[1]


def sets_of_neighbours(n: Any) -> Any:
    near: Any = [set() for _ in range(n)]
    for i in range(n):
        near[i].add((i + 1) % n)
        near[(i + 1) % n].add(i)
    seen: Any = set()
    waiting = [0]
    while waiting:
        u = waiting.pop()
        if u in seen:
            continue
        seen.add(u)
        for v in sorted(near[u]):
            if v not in seen:
                waiting.append(v)
    return len(seen), near


def sets_that_shrink(n: Any) -> Any:
    found: Any = {}
    for i in range(n):
        found.setdefault(i % 3, set()).add(i)
        found[i % 3].discard(i - 3)
        if i > 3:
            found[0].clear()
    return found, {key: len(each) for key, each in found.items()}


def in_records(n: Any) -> Any:
    rows: Any = [{"id": i, "tags": set()} for i in range(n)]
    for i, row in enumerate(rows):
        row["tags"].add(i)
        if i % 2:
            row["tags"].add(7)
    return rows


@dataclass
class Node:
    key: Any
    edges: dict[Any, Any] = field(default_factory=dict)


def in_objects(n: Any) -> Any:
    nodes = [Node(i) for i in range(n)]
    for i in range(n):
        nodes[i].edges[(i + 1) % n] = 1.5 * i
    return nodes, [sum(node.edges.values()) for node in nodes]


def tuples_as_keys(n: Any) -> Any:
    found: Any = defaultdict(dict)
    for i in range(n):
        found[i % 2][i, i + 1] = i
    return found, [key for each in found.values() for key in each if key[0] > 1]


def only_empty_ones(n: Any) -> Any:
    out: Any = []
    for _ in range(n):
        out.append({})
    return out, len(out[0])


PROGRAMS = [
    set_by_default, edges_by_default, a_list_of_them, shortest_path, counts_of_counts, counters, made_where_missing,
    by_a_name, displays_and_comprehensions, sets_by_default, sets_of_neighbours, sets_that_shrink, in_records,
    in_objects, tuples_as_keys, only_empty_ones]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_tables_as_elements(fn: Callable[[Any], Any], executor: str) -> None:
    check_sizes(fn, executor, 6, 2)


def of_rows(n: Any) -> Any:
    found: Any = defaultdict(dict)
    for i in range(n):
        found[i % 2].setdefault(i % 3, []).append(i)
    return found


def two_names(n: Any) -> Any:
    found: Any = [{} for _ in range(n)]
    found[1] = found[0]
    found[0][n] = 1
    return found


@executors
def test_one_dict_in_two_places(executor: str) -> None:
    check_places(two_names, executor, (3,), (4,))


def test_refused() -> None:
    check_refused(of_rows, "Use one dict with tuples as keys: d[i, j].")
