"""Sets among the arguments and from before a call: what calls add and remove, and what they find in them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt


class Search:
    def __init__(self) -> None:
        self.seen = set[Any]()
        self.words = {"a"}
        self.fixed = frozenset({1})
        self.layers = [{1}, {2, 3}]
        self.named = {"open": {0}, "closed": set()}


search, marked, empty = Search(), {1}, set[int]()


@pytest.fixture(autouse=True)
def as_at_first() -> None:
    Search.__init__(search)
    marked.clear()
    marked.add(1)
    empty.clear()


def add(s, x):
    s.add(len(s))
    return x * len(s)


def both(s, x):
    s.discard(0)
    s |= {7, 8}
    other = s
    other.add(9)
    return x * len(s)


def of_attribute(s, x):
    search.seen.add(len(search.seen))
    return x * len(search.seen)


def of_module(s, x):
    marked.add(len(marked) + 5)
    return x * sum(marked)


def found(s, x):
    y = x * len(empty)
    if 2 in marked:
        y += 10
    if "b" in search.words:
        y += 100
    if 5 in search.fixed:
        y += 1000
    if 4 in search.layers[1]:
        y += 10000
    return y


def in_containers(s, x):
    search.layers[0].add(len(search.layers[0]) * 3)
    search.named["closed"].update(search.named["open"])
    search.named["open"] = {k + 1 for k in search.named["open"]}
    return x * len(search.layers[0]) + len(search.named["closed"])


def kept(s, x):
    search.seen = s
    search.seen.add(11)
    return x * len(s)


def taken(s, x):
    if s:
        return x * s.pop()
    s.update((3, 4))
    return x * -1


def in_a_loop(s, x):
    for k in range(3):
        s.add(k * 2)
        x = x + len(s)
    return x


FUNCTIONS: list[Callable[..., Any]] = [
    add, both, of_attribute, of_module, found, in_containers, kept, taken, in_a_loop]


def history(fn: Callable[..., Any], of: Callable[[float], Any]) -> list[Any]:
    Search.__init__(search)
    mine, others, log = {1}, {0, 5}, list[Any]()
    for call in range(8):
        s = (mine, others, set[int](), search.seen)[call % 4]
        log.append([float(fn(s, of(0.5 + call))), sorted(s), search.seen is s, sorted(marked), sorted(search.seen),
                    *map(sorted, search.layers), *map(sorted, search.named.values())])
        if call == 2:
            marked.add(2)
            search.layers[1].add(4)
        if call == 4:
            search.words.add("b")
            search.fixed = frozenset({5})
            empty.add(0)
        if call == 5:
            marked.discard(2)
            search.seen.add(20)
    return log


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_as_in_python(fn: Callable[..., Any], executor: str) -> None:
    want = history(fn, float)
    as_at_first.__wrapped__()  # type: ignore[attr-defined]
    assert history(rt.function(fn, executor=executor), rt.constant) == want


def test_sets_that_are_as_before_make_no_trace() -> None:
    f = rt.function(found)
    for _ in range(5):
        f({1, 2}, rt.constant(1.0))
    assert f.experimental_get_tracing_count() == 1


def test_objects_in_sets_are_known_by_identity() -> None:
    class Node:
        def __init__(self, k: int) -> None:
            self.k = k

    nodes, visited = [Node(k) for k in range(9)], set[Any]()

    @rt.function
    def visit(node, x):
        if node in visited:
            return x * -1
        visited.add(node)
        return x * node.k

    for k in (*range(9), 3, 8):
        want = -2.0 if nodes[k] in visited else 2.0 * k
        assert float(visit(nodes[k], rt.constant(2.0))) == want, k
        if k == 8:
            visited.discard(nodes[8])
    assert visited == set(nodes[:8])

    @rt.function
    def note(node, x):
        visited.add(node)
        return x

    for node in nodes:
        note(node, rt.constant(1.0))
    assert visited == set(nodes)

    @rt.function
    def visit_in(seen, node, x):
        seen.add(node)
        return x * len(seen)

    seen = set[Any]()
    assert [float(visit_in(seen, nodes[k], rt.constant(1.0))) for k in (0, 1, 1, 2, 3, 4, 5, 6, 0)] == [
        1, 2, 2, 3, 4, 5, 6, 7, 7]
    assert seen == set(nodes[:7])


def test_a_set_has_its_order() -> None:
    """That of a set that was resized, or made in another order, which a copy, or an equal set, need not have."""
    def items(s, y):
        found = [x for x in s]
        if y > 0:
            s.add(y)
        return found

    traced = rt.function(items)
    for values in [22, 33, 1, 29, 15], [0, 8], [8, 0], [16, 8, 0]:
        for y in 0, 3:
            expected, found = set(values), set(values)
            assert [int(x) for x in traced(found, y)] == items(expected, y)
            assert found == expected
