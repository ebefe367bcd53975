"""Identity of objects that only the graph knows: `==`, `in` and `index` of plain classes, keys of dicts, items of sets,
`id` and `hash`."""
from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import Job, check_shown, executors
from tests.traced_once import on


class Vertex:
    def __init__(self, name):
        self.name = name
        self.out = []


class ListNode:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


class Register:
    def __init__(self):
        self.items = {}

    def add(self, x, weight):
        self.items[x] = self.items.get(x, 0) + weight


def jobs(n):
    rows = [Job(i) for i in range(n)]
    best = rows[0]
    for row in rows:
        if row.x > 1:
            best = row
    best.x += 100
    return rows, best


def vertices(n):
    made = [Vertex(i) for i in range(n)]
    for i in range(n):
        made[i].out.append(made[(i * 2 + 1) % n])
        made[i].out.append(made[(i * 3) % n])
    return made


def equality(n: Any) -> Any:
    rows, best = jobs(n)
    return best == rows[0], best == rows[n - 1], best != rows[n - 1], [row.x for row in rows if row != best]


def lists_of_some(n: Any) -> Any:
    rows, best = jobs(n)
    path = []
    for row in rows:
        if row.x != 1:
            path.append(row)
    found = best in path, rows[1] in path, path.index(best), path.count(best), rows.index(best)
    path.remove(best)
    return found, len(path), best in path


def set_of_one(n: Any) -> Any:
    rows, best = jobs(n)
    seen = {best}
    return best in seen, rows[n - 1] in seen, rows[0] in seen


def set_operations(n: Any) -> Any:
    rows, best = jobs(n)
    seen = set()
    for row in rows:
        if row.x != 1:
            seen.add(row)
    other = {rows[0], rows[1]}
    return (best in seen, len(seen | other), len(seen & other), len(seen - other), rows[2] in (seen ^ other),
            sum(row.x for row in seen), sorted(row.x for row in seen))


def branches(n: Any) -> Any:
    rows, best = jobs(n)
    seen, d = set(), {}
    if n > 2:
        seen.add(rows[1])
    else:
        seen.add(rows[0])
    if n > 3:
        d[best] = 5
    return rows[1] in seen, rows[0] in seen, d.get(rows[n - 1]), d.get(rows[0], 4)


def dict_of_one(n: Any) -> Any:
    rows, best = jobs(n)
    d = {best: 1}
    return d[rows[n - 1]], rows[0] in d, d.get(rows[0], -1), len(d)


def dict_of_some(n: Any) -> Any:
    rows, _ = jobs(n)
    cost = {}
    for row in rows:
        if row.x > 2:
            cost[row] = row.x * 10
    total = 0
    for row, c in cost.items():
        total += row.x + c
    return total, len(cost), rows[0] in cost, sorted(cost.values())


def missing(n: Any) -> Any:
    rows, best = jobs(n)
    d = {best: 1}
    try:
        return d[rows[0]]
    except KeyError:
        return -1


def tuples_as_keys(n: Any) -> Any:
    rows, best = jobs(n)
    d = {}
    for i in range(n):
        for row in rows:
            d[row, i] = row.x * i
    return d[best, 1], d[rows[0], 2], (best, 7) in d


def counts(n: Any) -> Any:
    rows, best = jobs(n)
    c, d = Counter(), defaultdict(list)
    for i in range(6):
        c[rows[i % n]] += 1
        d[rows[i % n]].append(i)
    return c[best], [c[row] for row in rows], d[best], [len(d[row]) for row in rows]


def dict_as_an_attribute(n: Any) -> Any:
    rows, best = jobs(n)
    register = Register()
    for row in rows:
        register.add(row, row.x)
    register.add(best, 5)
    return [register.items[row] for row in rows], len(register.items)


def a_chosen_object(n: Any) -> Any:
    a, b = Job(1), Job(2)
    d = {a: 10, b: 20}
    c = a if n > 3 else b
    return d[c], c in {a}, c in {b}, c == a, c != b


def numbers_of_objects(n: Any) -> Any:
    made = vertices(n)
    seen, v = set(), made[0]
    while id(v) not in seen:
        seen.add(id(v))
        v = v.out[0]
    return v.name, len(seen), hash(v) == hash(made[n - 1]), hash(v) == hash(made[0]), id(v) == id(made[0])


def breadth_first(n: Any) -> Any:
    made = vertices(n)
    seen, queue, order = {made[0]}, deque([made[0]]), []
    while queue:
        v = queue.popleft()
        order.append(v.name)
        for w in v.out:
            if w not in seen:
                seen.add(w)
                queue.append(w)
    return order


def shortest_path(n: Any) -> Any:
    made = vertices(n)
    parent, stack = {made[0]: None}, [made[0]]
    while stack:
        v = stack.pop()
        for w in v.out:
            if w not in parent:
                parent[w] = v
                stack.append(w)
    path, v = [], made[n - 1]
    if v not in parent:
        return path
    while v is not None:
        path.append(v.name)
        v = parent[v]
    return path[::-1]


def adjacency(n: Any) -> Any:
    made = [Vertex(i) for i in range(n)]
    edges = {v: [] for v in made}
    for i in range(n):
        edges[made[i]].append(made[(i * 2 + 1) % n])
        edges[made[i]].append(made[(i * 3) % n])
    seen, stack, order = {made[0]}, [made[0]], []
    while stack:
        v = stack.pop()
        order.append(v.name)
        for w in edges[v]:
            if w not in seen:
                seen.add(w)
                stack.append(w)
    return order


def topological_order(n: Any) -> Any:
    made = [Vertex(i) for i in range(n)]
    for i in range(n - 1):
        made[i].out.append(made[i + 1])
    indegree = {v: 0 for v in made}
    for v in made:
        for w in v.out:
            indegree[w] += 1
    ready, order = [v for v in made if indegree[v] == 0], []
    while ready:
        v = ready.pop()
        order.append(v.name)
        for w in v.out:
            indegree[w] -= 1
            if indegree[w] == 0:
                ready.append(w)
    return order


def work_list(n: Any) -> Any:
    made = vertices(n)
    todo, done = {made[0]}, set()
    while todo:
        v = todo.pop()
        done.add(v)
        for w in v.out:
            if w not in done:
                todo.add(w)
    return sorted(v.name for v in done)


def visit(v, seen):
    if v in seen:
        return 0
    seen.add(v)
    total = v.name
    for w in v.out:
        total += visit(w, seen)
    return total


def depth_first_by_recursion(n: Any) -> Any:
    made, seen = vertices(n), set()
    return visit(made[1], seen), len(seen)


def cycle(n: Any) -> Any:
    head = tail = ListNode(0)
    for i in range(1, n):
        tail.next = ListNode(i)
        tail = tail.next
    tail.next = head.next.next
    seen, cur = set(), head
    while cur is not None and cur not in seen:
        seen.add(cur)
        cur = cur.next
    return -1 if cur is None else cur.value, len(seen)


def copied_list(n: Any) -> Any:
    head = None
    for i in range(n):
        head = ListNode(i, head)
    made, cur = {}, head
    while cur is not None:
        made[cur] = ListNode(cur.value * 2)
        cur = cur.next
    cur = head
    while cur.next is not None:
        made[cur].next = made[cur.next]
        cur = cur.next
    out, cur = [], made[head]
    while cur is not None:
        out.append(cur.value)
        cur = cur.next
    return out


PROGRAMS = [
    equality, lists_of_some, set_of_one, set_operations, branches, dict_of_one, dict_of_some, missing, tuples_as_keys,
    counts, dict_as_an_attribute, a_chosen_object, numbers_of_objects, breadth_first, shortest_path, adjacency,
    topological_order, work_list, depth_first_by_recursion, cycle, copied_list]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_programs(fn: Any, executor: str) -> None:
    check_shown(fn, executor, 5)


@executors
def test_keys_of_results(executor: str) -> None:
    @rt.function(executor=executor)
    def f(n: Any) -> Any:
        rows, best = jobs(n)
        return rows, {row: row.x for row in rows}, {best}

    rows, cost, seen = f(rt.constant(4))
    assert [cost[row] for row in rows] == [0, 1, 2, 103]
    assert [row in seen for row in rows] == [False, False, False, True]


@executors
def test_a_key_of_the_callers_dict(executor: str) -> None:
    @rt.function(executor=executor)
    def f(n: Any, found: Any) -> Any:
        rows, best = jobs(n)
        found[best] = best.x
        return rows

    found: dict[Any, Any] = {}
    rows = f(rt.constant(4), found)
    assert [row in found for row in rows] == [False, False, False, True] and found[rows[3]] == 103


class Unhashable:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x


def test_classes_that_define_equality_are_no_keys() -> None:
    @rt.function
    def f(n: Any) -> Any:
        rows = [Unhashable(i) for i in range(n)]
        best = rows[0]
        for row in rows:
            if row.x > 1:
                best = row
        best.x = 5
        return rows[0].x, {best}

    with pytest.raises(TypeError, match="unhashable type: 'Unhashable'"):
        f(rt.constant(4))


class Marked:
    pass


@executors
def test_the_id_of_an_object_that_may_be_none(executor: str) -> None:
    one, other = Marked(), Marked()

    def ids(k):
        x = one if k > 0 else None
        return (id(x) == id(one), id(x) == id(None), id(x) == id(other), hash(x) == hash(one), hash(x) == hash(None),
                id(x) in {id(one), id(other)})

    traced = on(executor, ids)
    for k in (1, 0):
        assert [bool(found) for found in traced(rt.constant(k))] == [*ids(k)]
