"""Recursive functions that make, link and return objects, as textbooks have them."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core.graph import Graph
from runtime.staging.control.widened_recursion import WidenedRoutine
from tests.plain_values import check_shown, executors, plain, shown
from tests.traced_once import on


class Cell:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


class T:
    def __init__(self, key, left=None, right=None):
        self.key = key
        self.left = left
        self.right = right


def build(xs, lo, hi):
    if lo > hi:
        return None
    mid = (lo + hi) // 2
    t = T(xs[mid])
    t.left = build(xs, lo, mid - 1)
    t.right = build(xs, mid + 1, hi)
    return t


def inorder(t, out):
    if t is None:
        return
    inorder(t.left, out)
    out.append(t.key)
    inorder(t.right, out)


def bst(n):
    xs = [i * 3 for i in range(n)]
    t = build(xs, 0, n - 1)
    out = []
    inorder(t, out)
    return out


def build2(xs, lo, hi):
    if lo > hi:
        return None
    mid = (lo + hi) // 2
    return T(xs[mid], build2(xs, lo, mid - 1), build2(xs, mid + 1, hi))


def height(t):
    if t is None:
        return 0
    return 1 + max(height(t.left), height(t.right))


def bst2(n):
    xs = [i * 3 for i in range(n)]
    t = build2(xs, 0, n - 1)
    out = []
    inorder(t, out)
    return out, height(t)


def mk(n, s):
    head = None
    for i in range(n, 0, -1):
        head = Cell(i * s, head)
    return head


def tolist(h):
    out = []
    while h is not None:
        out.append(h.value)
        h = h.next
    return out


def merge(a, b):
    if a is None:
        return b
    if b is None:
        return a
    if a.value <= b.value:
        a.next = merge(a.next, b)
        return a
    b.next = merge(a, b.next)
    return b


def merged(n):
    return tolist(merge(mk(n, 2), mk(n, 3)))


def rev(h):
    if h is None or h.next is None:
        return h
    r = rev(h.next)
    h.next.next = h
    h.next = None
    return r


def reversed_(n):
    return tolist(rev(mk(n, 2)))


def invert(t):
    if t is None:
        return None
    t.left, t.right = invert(t.right), invert(t.left)
    return t


def inverted(n):
    xs = [i * 3 for i in range(n)]
    root = None
    for x in [4, 2, 6, 1, 3]:
        root = insert(root, x * n)
    invert(root)
    out = []
    inorder(root, out)
    return out


def insert(t, k):
    if t is None:
        return T(k)
    if k < t.key:
        t.left = insert(t.left, k)
    else:
        t.right = insert(t.right, k)
    return t


def grown(n):
    root, x = None, n
    for _ in range(n):
        x = (x * 7 + 3) % 31
        root = insert(root, x)
    return root, x


def keys(root):
    out = []
    inorder(root, out)
    return out


def inserted(n):
    root, _ = grown(n)
    return keys(root), height(root)


def copy_tree(t):
    if t is None:
        return None
    return T(t.key * 2, copy_tree(t.left), copy_tree(t.right))


def copied(n):
    root, _ = grown(n)
    return keys(copy_tree(root)), keys(root)


def from_list(xs, i):
    if i == len(xs):
        return None
    return Cell(xs[i], from_list(xs, i + 1))


def conslist(n):
    xs = [i * i for i in range(n)]
    return tolist(from_list(xs, 0))


def remove(h, k):
    if h is None:
        return None
    if h.value == k:
        return remove(h.next, k)
    h.next = remove(h.next, k)
    return h


def removed(n):
    return tolist(remove(mk(n, 2), 4))


def delete(t, k):
    if t is None:
        return None
    if k < t.key:
        t.left = delete(t.left, k)
    elif k > t.key:
        t.right = delete(t.right, k)
    else:
        if t.left is None:
            return t.right
        if t.right is None:
            return t.left
        s = t.right
        while s.left is not None:
            s = s.left
        t.key = s.key
        t.right = delete(t.right, s.key)
    return t


def deleted(n):
    root, x = grown(n)
    return keys(delete(root, x))


PROGRAMS = [bst, bst2, merged, reversed_, inverted, inserted, copied, conslist, removed, deleted]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_programs(fn: Any, executor: str) -> None:
    check_shown(fn, executor, 5)


END, NUMBER, PLUS, TIMES, MINUS, LEFT, RIGHT = range(7)


class Parser:
    def __init__(self, kinds, values):
        self.kinds, self.values, self.at = kinds, values, 0

    def expression(self):
        value = self.term()
        while self.kinds[self.at] == PLUS or self.kinds[self.at] == MINUS:
            operator = self.kinds[self.at]
            self.at += 1
            other = self.term()
            if operator == PLUS:
                value += other
            else:
                value -= other
        return value

    def term(self):
        value = self.factor()
        while self.kinds[self.at] == TIMES:
            self.at += 1
            value *= self.factor()
        return value

    def factor(self):
        if self.kinds[self.at] == LEFT:
            self.at += 1
            value = self.expression()
            self.at += 1
            return value
        if self.kinds[self.at] == MINUS:
            self.at += 1
            return -self.factor()
        value = self.values[self.at]
        self.at += 1
        return value


@executors
def test_methods_that_call_each_other(executor: str) -> None:
    """The first result that is known is that of the innermost one."""
    @rt.function(executor=executor)
    def parsed(kinds, values):
        return Parser(kinds, values).expression()

    for text in ("1+2*3", "(1+2)*3", "2*(3+4)*5-1", "-(2+3)*4", "((7))"):
        kinds = [NUMBER if c.isdigit() else PLUS + "+*-()".index(c) for c in text] + [END]
        values = [int(c) if c.isdigit() else 0 for c in text] + [0]
        assert int(parsed(rt.constant(kinds), rt.constant(values))) == eval(text)


class Endless:
    def __init__(self):
        self.calls = 0

    def one(self, n):
        self.calls += 1
        return self.other(n - 1) if n > 0 else self.other(n)

    def other(self, n):
        return self.one(n) if n > 3 else self.one(n + 1)


def test_methods_that_call_each_other_without_end() -> None:
    with pytest.raises(RecursionError, match="calls itself too often"):
        rt.function(lambda n: Endless().one(n))(rt.constant(2))


class Vertex:
    def __init__(self, value: int) -> None:
        self.left = self.right = self.next = None
        self.value = value
        self.seen = False


def vertices(count: int, tags: bool = False) -> list[Any]:
    """Vertices from before a call, linked in cycles; with lists, they cannot be by reference."""
    found = [Vertex(i) for i in range(count)]
    for i, vertex in enumerate(found):
        vertex.left, vertex.right = found[2 * i % count], found[(2 * i + 1) % count]
        vertex.next = found[i + 1] if i % 7 and i + 1 < count else None
        if tags:
            vertex.tags = [i]
    return found


def visit(node):
    if node is None or node.seen:
        return 0
    node.seen = True
    return node.value + visit(node.left) + visit(node.right) + visit(node.next)


def visited_from(nodes, k):
    return visit(nodes[k]), [node.seen for node in nodes]


def visited_set(nodes, k):
    seen = set()

    def go(node):
        if node is None or node in seen or node.value > 3 * k:
            return 0
        seen.add(node)
        return node.value + go(node.left) + go(node.right) + go(node.next)
    return go(nodes[0]) + 100 * go(nodes[k]), len(seen)


def visited_ids(nodes, k):
    seen, none_seen = set(), set()

    def go(node):
        if id(node) in seen:
            return 0
        if node is None:
            none_seen.add(id(node))
            none_seen.add(hash(node))
            return 0
        seen.add(id(node))
        return node.value + go(node.left) + go(node.right) + go(node.next)
    return go(nodes[k]), len(seen), len(none_seen), id(None) in none_seen, hash(None) in none_seen


@executors
@pytest.mark.parametrize("visited", [visited_from, visited_set, visited_ids])
@pytest.mark.parametrize("tags", [False, True])
def test_depth_first_search_over_objects_from_before_the_call(executor: str, visited: Any, tags: bool) -> None:
    for k in (0, 5):
        nodes = vertices(24, tags)
        if tags and visited is not visited_from:
            with pytest.raises(rt.errors.StagingError, match="an item of a set|so is its `id`"):
                on(executor, lambda k: visited(nodes, k))(rt.constant(k))
            continue
        found = on(executor, lambda k: visited(nodes, k))(rt.constant(k))
        assert shown(found) == shown(visited(vertices(24), k))


def test_the_number_of_objects_by_reference_does_not_matter_where_one_of_them_is_used() -> None:
    def nodes_of_visit(count: int) -> int:
        nodes = vertices(count)
        traced = rt.function(lambda k: visit(nodes[k])).get_concrete_function(rt.TensorSpec([], rt.int32))
        (call,) = [node for node in traced.graph.walk() if node.op.name == "call"]
        return len([*call.params["function"].graph.walk()])

    assert nodes_of_visit(12) == nodes_of_visit(24)


class LoggingParser:
    def __init__(self, tokens: Any) -> None:
        self.tokens, self.at, self.count, self.log = tokens, 0, 0, []

    def value(self):  # type: ignore[no-untyped-def]
        token = self.tokens[self.at]
        if token == 1:
            return self.row()
        if token == 2:
            return self.pair()
        self.at += 1
        self.count += 1
        return token

    def row(self):  # type: ignore[no-untyped-def]
        self.at += 1
        total = 0
        while self.tokens[self.at] != 9:
            total += self.value()
        self.at += 1
        return total

    def pair(self):  # type: ignore[no-untyped-def]
        self.at += 1
        first = self.value()
        self.log.append(first)
        self.count += 10 * (self.at % 3)
        second = self.value()
        self.log.append(second)
        return 2 * first - second


def parsed_with_log(tokens):  # type: ignore[no-untyped-def]
    parser = LoggingParser(tokens)
    value = parser.value()
    return value, parser.at, parser.count, parser.log


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions of which a body is traced as a graph of its own, each time."""
    found: list[str] = []
    trace = WidenedRoutine._trace

    def counted(self: WidenedRoutine, graph: Graph) -> None:
        found.append(self.name)
        trace(self, graph)

    monkeypatch.setattr(WidenedRoutine, "_trace", counted)
    return found


@executors
def test_methods_that_call_one_another_are_traced_once_for_each_pass_of_the_outer_one(
        executor: str, passes: list[str]) -> None:
    staged = rt.function(parsed_with_log, executor=executor)
    for tokens in ([3], [1, 4, 5, 9], [2, 3, 1, 4, 4, 9], [2, 2, 2, 3, 4, 1, 5, 2, 6, 1, 9, 9, 7], [1, 5, 9]):
        assert plain(staged(rt.constant(tokens))) == plain(parsed_with_log(np.array(tokens)))
    assert len(passes) < 20, passes  # they were 102


class Split:
    def __init__(self, total: Any, left: Any = None, right: Any = None) -> None:
        self.total, self.left, self.right = total, left, right


def split(xs, depth):  # type: ignore[no-untyped-def]
    total = sum(xs)
    if depth == 0 or total < 3:
        return Split(total)
    mean = total // len(xs)
    if mean == 9:
        return Split(mean)
    return Split(total, split([x for x in xs if x <= mean], depth - 1), split([x for x in xs if x > mean], depth - 1))


def leaf_for(xs, x):  # type: ignore[no-untyped-def]
    node = split([*xs], 3)
    while node.left is not None:
        node = node.left if 8 * x <= node.total else node.right
    return node.total


def test_results_that_link_twice_as_many_objects_with_each_trace_are_not_traced_on(passes: list[str]) -> None:
    staged = rt.function(leaf_for)
    xs = [3, 1, 4, 1, 5, 9, 2, 6]
    for x in (1, 2, 4, 5, 9):
        assert int(staged(rt.constant(xs), rt.constant(x))) == leaf_for(xs, x)
    assert len(passes) < 14, passes  # with 16 passes, the last one had 65,535 objects
