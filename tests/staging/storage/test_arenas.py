"""Objects that loops and branches make, link, and put in several lists, are had by reference."""
from __future__ import annotations

import copy
import dataclasses
import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.plain_values import Job, check_shown, executors


class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


@dataclass
class P:
    x: float
    v: float = 1.0
    hits: list = field(default_factory=list)


class Tree:
    def __init__(self, key):
        self.key = key
        self.left = None
        self.right = None
        self.count = 1


class DNode:
    def __init__(self, key, value):
        self.key = key
        self.value = value
        self.prev = None
        self.next = None


class LRU:
    def __init__(self, capacity):
        self.capacity = capacity
        self.size = 0
        self.head = DNode(0, 0)
        self.tail = DNode(0, 0)
        self.head.next = self.tail
        self.tail.prev = self.head
    def remove(self, node):
        node.prev.next = node.next
        node.next.prev = node.prev
    def add(self, node):
        node.prev = self.tail.prev
        node.next = self.tail
        self.tail.prev.next = node
        self.tail.prev = node
    def find(self, key):
        node = self.head.next
        while node is not self.tail:
            if node.key == key:
                return node
            node = node.next
        return None
    def get(self, key):
        node = self.find(key)
        if node is None:
            return -1
        self.remove(node)
        self.add(node)
        return node.value
    def put(self, key, value):
        node = self.find(key)
        if node is not None:
            node.value = value
            self.remove(node)
            self.add(node)
            return
        if self.size == self.capacity:
            self.remove(self.head.next)
            self.size -= 1
        self.add(DNode(key, value))
        self.size += 1


class Task:
    def __init__(self, pri, name):
        self.pri = pri
        self.name = name
        self.done = False
    def __lt__(self, other):
        return self.pri < other.pri


class V:
    def __init__(self, i):
        self.i = i
        self.adj = []
        self.dist = -1


class UF:
    def __init__(self, i):
        self.id = i
        self.parent = None
        self.size = 1


class Sim:
    def __init__(self, n):
        self.ps = [P(i * 1.0, 0.5) for i in range(n)]
        self.t = 0
        self.leader = self.ps[0]
    def step(self):
        self.t += 1
        for p in self.ps:
            p.x += p.v
            if p.x > self.leader.x:
                self.leader = p
        self.ps = [p for p in self.ps if p.x < 6]


def insert(root, key):
    if root is None:
        return Tree(key)
    if key < root.key:
        root.left = insert(root.left, key)
    else:
        root.right = insert(root.right, key)
    return root


def the_greatest_or_a_new_one(n: Any) -> Any:
    best = Job(-1)
    rows = [Job(i * 7 % 5) for i in range(n)]
    for r in rows:
        if r.x > best.x:
            best = r
    best.n += 5
    return [r.n for r in rows], best.x


def some_of_them_in_another_list(n: Any) -> Any:
    rows = [Job(i * 7 % 5) for i in range(n)]
    active = [r for r in rows if r.x > 1]
    for r in active:
        r.n += 1
    rows[0].n += 10
    return [r.n for r in rows], [r.n for r in active]


def linked_list(n: Any) -> Any:
    head = None
    for i in range(n):
        head = Node(i * i, head)
    total, node = 0, head
    while node is not None:
        total = total * 3 + node.value
        node = node.next
    return total


def reversed_in_place(n: Any) -> Any:
    head = None
    for i in range(n):
        head = Node(i, head)
    prev = None
    while head is not None:
        nxt = head.next
        head.next = prev
        prev = head
        head = nxt
    out = []
    while prev is not None:
        out.append(prev.value)
        prev = prev.next
    return out


def binary_tree(xs: Any) -> Any:
    root = None
    for x in xs:
        if root is None:
            root = Tree(x)
            continue
        node = root
        while True:
            if x == node.key:
                node.count += 1
                break
            if x < node.key:
                if node.left is None:
                    node.left = Tree(x)
                    break
                node = node.left
            else:
                if node.right is None:
                    node.right = Tree(x)
                    break
                node = node.right
    out = []
    stack = []
    node = root
    while stack or node is not None:
        while node is not None:
            stack.append(node)
            node = node.left
        node = stack.pop()
        out.append((node.key, node.count))
        node = node.right
    return out


def returned_with_its_links(n: Any) -> Any:
    head = None
    for i in range(n):
        head = Node(i, head)
    return head


def identity(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    a = rows[n - 1]
    b = [r for r in rows if r.x > 1][-1]
    return a is b, a is rows[0], a == b, a != b, a in rows


def methods_change_them(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    best = max(rows, key=lambda r: r.x % 3)
    best.bump().bump(5)
    last = rows.pop()
    last.bump(3)
    rows.append(last)
    rows.append(best)
    rows[-1].bump(100)
    return [r.n for r in rows]


def dataclass_with_lists(n: Any) -> Any:
    ps = [P(float(i)) for i in range(n)]
    alive = [p for p in ps if p.x > 1]
    for t in range(3):
        for p in alive:
            p.x += p.v
            if p.x > 4:
                p.v = -p.v
                p.hits.append(t)
    return [(p.x, p.v, len(p.hits)) for p in ps], sum(p.x for p in alive)


def a_queue_and_a_list(n: Any) -> Any:
    q = deque()
    seen = []
    for i in range(n):
        j = Job(i)
        q.append(j)
        seen.append(j)
    while q:
        j = q.popleft()
        j.n += 1
        if j.n < j.x:
            q.append(j)
    return [j.n for j in seen]


def exchanged_between_lists(n: Any) -> Any:
    a = [Job(i) for i in range(n)]
    b = [Job(i * 10) for i in range(n)]
    a[0], b[0] = b[0], a[0]
    pick = a[1] if n > 3 else b[1]
    pick.n = 9
    c = a + b
    for r in c:
        r.n += 1
    return [r.n for r in a], [r.n for r in b], [r.x for r in c]


def doubly_linked(keys: Any) -> Any:
    cache = LRU(3)
    out = []
    for k in keys:
        v = cache.get(k)
        if v == -1:
            cache.put(k, k * 10)
        out.append(v)
    return out


def heap_of_tasks(n: Any) -> Any:
    h, all_ = [], []
    for i in range(n):
        t = Task(i * 5 % 7, i)
        heapq.heappush(h, t)
        all_.append(t)
    order = []
    while len(h) > 2:
        t = heapq.heappop(h)
        t.done = True
        order.append(t.name)
    return order, [t.done for t in all_]


def breadth_first(n: Any) -> Any:
    vs = [V(i) for i in range(n)]
    for i in range(n):
        vs[i].adj.append(vs[(i * 2) % n])
        vs[(i * 2) % n].adj.append(vs[i])
        vs[i].adj.append(vs[(i + 1) % n])
    src = vs[0]
    src.dist = 0
    q = [src]
    while q:
        v = q.pop(0)
        for w in v.adj:
            if w.dist < 0:
                w.dist = v.dist + 1
                q.append(w)
    return [v.dist for v in vs]


def union_find(n: Any) -> Any:
    def find(x):
        while x.parent is not None:
            x = x.parent
        return x
    nodes = [UF(i) for i in range(n)]
    for i in range(n):
        a, b = find(nodes[i]), find(nodes[(i * i + 1) % n])
        if a is not b:
            if a.size < b.size:
                a, b = b, a
            b.parent = a
            a.size += b.size
    return [find(x).id for x in nodes], [x.size for x in nodes]


def simulation(n: Any) -> Any:
    s = Sim(n)
    for _ in range(4):
        s.step()
    s.leader.x += 100
    return s.t, s.leader.x, [p.x for p in s.ps]


def copied(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    best = rows[0]
    for r in rows:
        if r.x > 2:
            best = r
    c = copy.copy(best)
    c.n = 5
    best.x = 100
    return [r.x for r in rows], c.x, c.n, best.n


def replaced(n: Any) -> Any:
    ps = [P(float(i)) for i in range(n)]
    far = [p for p in ps if p.x > 1]
    far[0].x = 50.0
    q = dataclasses.replace(far[0], v=3.0)
    q.x += 1
    return [p.x for p in ps], q.x, q.v


def texts(n: Any) -> Any:
    class Item:
        def __init__(self, name, price):
            self.name = name
            self.price = price
        def __repr__(self):
            return f"Item({self.name}, {self.price})"
    items = [Item(f"i{i}", i * 2) for i in range(n)]
    cheap = [x for x in items if x.price < 4]
    for x in cheap:
        x.price += 1
        x.name = x.name + "!"
    return [x.name for x in items], str(items[0]), f"{cheap[1]}"


def groups(n: Any) -> Any:
    groups = {}
    jobs = [Job(i) for i in range(n)]
    for j in jobs:
        groups.setdefault(j.x % 2, []).append(j)
    for j in groups[1]:
        j.n += 1
    return [j.n for j in jobs], len(groups)


def sorted_and_found(n: Any) -> Any:
    jobs = [Job(i * 3 % 5) for i in range(n)]
    by = sorted(jobs, key=lambda j: -j.x)
    by[0].n = 1
    jobs.sort(key=lambda j: j.x)
    jobs[0].n = 2
    i = jobs.index(by[0])
    return [j.n for j in by], [j.x for j in jobs], i, by[0] in jobs, [j for j in jobs if j is by[0]][0].n


def changed_before_an_error(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    head = rows[0]
    try:
        for r in rows:
            if r.x > 1:
                head = r
            r.n += 10 // (2 - r.x)
    except ZeroDivisionError:
        head.n = 99
    return [r.n for r in rows], head.x


def values_of_a_dict(n: Any) -> Any:
    d = {}
    items = []
    for i in range(n):
        j = Job(i)
        d[i * 3] = j
        items.append(j)
    for k in d:
        d[k].n += k
    return [j.n for j in items]


def recursive_insert(n: Any) -> Any:
    root = Tree(5)
    for i in range(n):
        root = insert(root, i)
    return root.key, root.left.key


def recursive_insert_from_none(n: Any) -> Any:
    root = None
    for i in range(n):
        root = insert(root, i)
    return root.key


def recursive_functions(n: Any) -> Any:
    def insert(root, key):
        if root is None:
            return Tree(key)
        if key < root.key:
            root.left = insert(root.left, key)
        elif key > root.key:
            root.right = insert(root.right, key)
        else:
            root.count += 1
        return root
    def depth(t):
        if t is None:
            return 0
        return 1 + max(depth(t.left), depth(t.right))
    root = None
    for i in range(n):
        root = insert(root, i * 5 % 7)
    return depth(root), root.key


def recursive_sum(n: Any) -> Any:
    def total(t):
        if t is None:
            return 0
        return t.key + total(t.left) + total(t.right)
    root = Tree(0)
    cur = root
    for i in range(n):
        cur.left = Tree(i)
        cur.right = Tree(10 * i)
        cur = cur.right
    return total(root)


PROGRAMS = [
    (the_greatest_or_a_new_one, 6),
    (some_of_them_in_another_list, 6),
    (linked_list, 6),
    (reversed_in_place, 6),
    (binary_tree, np.array([5, 2, 8, 1, 9, 3, 5, 2])),
    (returned_with_its_links, 6),
    (identity, 6),
    (methods_change_them, 6),
    (dataclass_with_lists, 6),
    (a_queue_and_a_list, 6),
    (exchanged_between_lists, 6),
    (doubly_linked, np.array([1, 2, 3, 1, 4, 5, 2, 1])),
    (heap_of_tasks, 6),
    (breadth_first, 6),
    (union_find, 6),
    (simulation, 6),
    (copied, 6),
    (replaced, 6),
    (texts, 6),
    (groups, 6),
    (sorted_and_found, 6),
    (changed_before_an_error, 6),
    (values_of_a_dict, 6),
    (recursive_insert, 6),
    (recursive_insert_from_none, 6),
    (recursive_functions, 6),
    (recursive_sum, 6),
]


@executors
@pytest.mark.parametrize(("fn", "x"), PROGRAMS)
def test_programs(fn: Any, x: Any, executor: str) -> None:
    check_shown(fn, executor, x)


def objects_of_two_classes(n: Any) -> Any:
    class A:
        def __init__(self, x: Any) -> None:
            self.x = x

    class B:
        def __init__(self, x: Any) -> None:
            self.x = x

    return sum(each.x for each in [A(i) if i % 2 == 0 else B(i) for i in range(n)])


def test_the_error_is_that_by_value_if_there_is_one_by_reference() -> None:
    with pytest.raises(rt.errors.StagingError, match="is a A if the condition holds"):
        rt.function(objects_of_two_classes)(rt.constant(3))


@executors
def test_gradients_flow_through_attributes(executor: str) -> None:
    @rt.function(executor=executor)
    def f(x: Any, n: Any) -> Any:
        rows = [Job(x * (1.0 + i)) for i in range(n)]
        best = Job(x)
        for r in rows:
            if r.x > 3.0:
                best = r
        best.x = best.x * best.x
        return rows[0].x + rows[n - 1].x

    x = rt.constant(2.0)
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = f(x, rt.constant(3))
    assert (float(y), float(tape.gradient(y, x))) == (38.0, 37.0)
