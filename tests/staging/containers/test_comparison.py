"""Comparisons of tuples and lists with numbers of the graph, without branches."""
from __future__ import annotations

import heapq
import itertools
import operator
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import plain
from tests.traced_once import on

ORDERS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)
@pytest.mark.parametrize("kind", [tuple, list])
def test_as_in_python(order: Callable[[Any, Any], Any], kind: Callable[[Any], Any]) -> None:
    def f(x: Any, y: Any, z: Any) -> Any:
        pairs = [((x, y), (y, x)), ((x, 2, z), (x, y, 1)), ((1, x), (1, 2, 3)), ((0, x), (1, y)), ((x, y), (x, y, z)),
                 ((), (x,)), ((x, y, z), (2, 2, 2)), ((2, x), (2, x))]
        return [order(kind(one), kind(other)) for one, other in pairs]

    spec = rt.TensorSpec([], rt.int32)
    concrete = rt.function(f).get_concrete_function(spec, spec, spec)
    assert "cond" not in [node.op.name for node in concrete.graph.walk()]
    for numbers in itertools.product((1, 2, 3), repeat=3):
        assert [bool(x) for x in concrete(*map(rt.constant, numbers))] == f(*numbers)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)
def test_nan_decides(order: Callable[[Any, Any], Any]) -> None:
    f = rt.function(lambda x, y: order((x, 1), (y, 2)))
    for texts in itertools.product(("0", "1", "nan"), repeat=2):
        x, y = map(float, texts)  # two objects, as Python takes one for equal to itself
        assert bool(f(rt.constant(x), rt.constant(y))) == order((x, 1), (y, 2))


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_ranges_are_equal_if_their_items_are(executor: str) -> None:
    def f(x: Any, y: Any) -> Any:
        pairs = [(range(x), range(x)), (range(x), range(0, 3)), (range(0, x, 2), range(0, 4, y)), (range(x), range(y)),
                 (range(x, 0), range(0)), (range(1, x, -1), range(5, 5)), (range(2, 2 + x, 5), range(2, 3)),
                 (range(x), [0])]
        return [one == other for one, other in pairs] + [one != other for one, other in pairs]

    staged = on(executor, f)
    for numbers in itertools.product((0, 1, 3), (1, 2, 3)):
        assert [bool(x) for x in staged(*map(rt.constant, numbers))] == f(*numbers)


def test_what_the_first_parts_decide_is_not_compared() -> None:
    f = rt.function(lambda x, y: (1, x) < (2, y))
    assert f(rt.constant(1), rt.constant(2.0))  # int32 and float32 do not mix


def test_functions_of_operator() -> None:
    def f(x: Any, y: Any) -> Any:
        row = [x, 5, y]
        return operator.contains(row, y + 1), operator.contains(range(x, 4), y), operator.not_(
            operator.contains((x, y), 3)), operator.getitem(row, y % 3)

    for numbers in itertools.product((1, 2, 3, 4), repeat=2):
        found = rt.function(f)(*map(rt.constant, numbers))
        assert [x.numpy().tolist() for x in found] == list(f(*numbers))


def orders(a: Any, b: Any, xs: Any, ys: Any) -> list[Any]:
    p, q, r, s = (a, 1, xs), (b, 1, ys), [a, b, xs, a], [b, b, ys]
    return [p < q, p <= q, p > q, p >= q, p == q, p != q, r < s, r >= s, r == s, (a, (a, xs)) < (a, (b, ys))]


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_lists_after_scalars(executor: str) -> None:
    def f(a: Any, b: Any, n: Any, m: Any) -> list[Any]:
        return orders(a, b, [i for i in range(n)], [2 * i for i in range(m)])

    staged = on(executor, f)
    for a, b in itertools.product((1.0, float("nan")), (1.0, 2.0)):
        for n, m in itertools.product((0, 1, 2), repeat=2):
            found = staged(rt.constant(a), rt.constant(b), rt.constant(n), rt.constant(m))
            assert list(map(bool, found)) == f(a, b, n, m), (a, b, n, m)


def test_lists_after_scalars_are_compared_in_one_branch() -> None:
    def f(a: Any, b: Any, n: Any) -> Any:
        return (a, a + 1, a + 2, [i for i in range(n)]) < (b, b + 1, b + 2, [1 for _ in range(n)])

    graph: Any = rt.function(f).get_concrete_function(rt.constant(1), rt.constant(1), rt.constant(3)).graph
    assert [node.op.name for node in graph.nodes].count("cond") == 1


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_list_that_the_graph_chooses(executor: str) -> None:
    def smallest(ws: Any) -> Any:
        heap = [[w, i] for i, w in enumerate(ws)]
        heapq.heapify(heap)
        return heapq.heappop(heap)

    def orders(ws: Any) -> Any:
        x, y = [ws[0]], [ws[0], ws[1]]
        z = x if ws[1] > 2 else y
        return z < y, y < z, z <= x, x >= z, z > [3, 1], [5, 0] == z

    for ws in [5, 2, 1], [1, 2, 3], [4, 3, 4], [5, 0, 2]:
        for f in smallest, orders:
            assert plain(on(executor, f)([*map(rt.constant, ws)])) == f(ws)


def test_lists_with_items_of_several_types_that_the_graph_chooses() -> None:
    @rt.function
    def smallest(ws: Any) -> Any:
        heap = [[w, ["a", "b"]] for w in ws]
        heapq.heapify(heap)
        return heapq.heappop(heap)

    with pytest.raises(rt.errors.StagingError, match=r"test_comparison.py:\d+: .*\n.*heapq.heapify\(heap\)\n"):
        smallest([rt.constant(2), rt.constant(1), rt.constant(0)])
