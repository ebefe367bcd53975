"""Objects that a traced function has by reference, in the results of its calls and in the caller's attributes."""
from __future__ import annotations

from typing import Any

import pytest

import runtime as rt
from tests.plain_values import shown

executors = pytest.mark.parametrize("executor", ["numpy", "native"])


class Job:
    def __init__(self, x: Any) -> None:
        self.x, self.next = x, None


class Holder:
    best: Any = None
    rows: Any = ()


def linked(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    best = Job(-1)
    for row in rows:
        row.next = best
        if row.x > best.x:
            best = row
    best.x += 100
    return rows, best


@executors
def test_results_are_new_objects_with_one_identity(executor: str) -> None:
    f = rt.function(linked, executor=executor)
    rows, best = f(rt.constant(4))
    assert [type(row) for row in rows] == [Job] * 4
    assert best is rows[3] and best.next is rows[2] and rows[2].next is rows[1] and rows[0].next.x == -1
    assert [int(row.x) for row in rows] == [0, 1, 2, 103]
    assert f(rt.constant(4))[1] is not best


def best_of(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    best = rows[0]
    for row in rows:
        if row.x > 1:
            best = row
    return rows, best


def some_of(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    even = []
    for row in rows:
        if row.x % 2 == 0:
            even.append(row)
    return rows, even


def ends(n: Any) -> Any:
    rows = []
    for i in range(n):
        rows.append(Job(i))
    return {"first": rows[0], "last": rows[-1], "other": rows[n // 8]}


@executors
def test_results_with_a_common_object(executor: str) -> None:
    rows, best = rt.function(best_of, executor=executor)(rt.constant(4))
    assert [row is best for row in rows] == [False, False, False, True]
    rows, even = rt.function(some_of, executor=executor)(rt.constant(4))
    assert [row in even for row in rows] == [True, False, True, False]
    made = rt.function(ends, executor=executor)(rt.constant(4))
    assert made["other"] is made["first"] is not made["last"]


def test_results_by_value_that_may_have_a_common_object() -> None:
    def f(n: Any) -> Any:
        other = Job(0)
        other.extra = n
        return best_of(n)

    with pytest.raises(rt.errors.StagingError, match="whether two of the results are, or have, one Job"):
        rt.function(f)(rt.constant(4))


@executors
def test_objects_in_attributes_of_the_caller(executor: str) -> None:
    @rt.function(executor=executor)
    def f(holder: Any, n: Any) -> Any:
        holder.rows, holder.best = linked(n)

    holder = Holder()
    for n in (4, 2):
        f(holder, rt.constant(n))
        assert holder.best is holder.rows[n - 1] and int(holder.best.x) == n + 99


@rt.function
def made(n: Any) -> Any:
    return [Job(i) for i in range(n)]


@rt.function
def greatest(rows: Any) -> Any:
    best = rows[0]
    for row in rows:
        if row.x > best.x:
            best = row
    return best


@rt.function
def chain(n: Any) -> Any:
    head = None
    for i in range(n):
        job = Job(i)
        job.next, head = head, job
    return head


@rt.function
def turned(head: Any) -> Any:
    last = None
    while head is not None:
        rest = head.next
        head.next = last
        last, head = head, rest
    return last


def of_lists(n: Any, made: Any, greatest: Any) -> Any:
    rows = made(n)
    best = greatest(rows)
    best.x += 100
    return [row.x for row in rows], best is rows[n - 1]


def of_links(n: Any, chain: Any, turned: Any) -> Any:
    out, cur = [], turned(chain(n))
    while cur is not None:
        out.append(cur.x)
        cur = cur.next
    return out


@executors
@pytest.mark.parametrize(("fn", "called"), [(of_lists, (made, greatest)), (of_links, (chain, turned))])
def test_traced_functions_give_them_to_each_other(fn: Any, called: Any, executor: str) -> None:
    traced = rt.function(lambda n: fn(n, *called), executor=executor)
    assert shown(traced(rt.constant(4))) == shown(fn(4, *[each.python_function for each in called]))


def test_a_concrete_function_does_not_return_them_to_another() -> None:
    concrete = rt.function(linked).get_concrete_function(rt.constant(3))

    @rt.function
    def outer(n: Any) -> Any:
        return concrete(n)[1].x

    with pytest.raises(rt.errors.StagingError, match="has such objects by reference"):
        outer(rt.constant(3))


class Tree:
    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right


def tree(depth: Any) -> Any:
    return None if depth == 0 else Tree(tree(depth - 1), tree(depth - 1))


def size(node: Any) -> int:
    return 0 if node is None else 1 + size(node.left) + size(node.right)


@executors
def test_objects_with_no_attributes_but_other_objects(executor: str) -> None:
    """How many there are is not known from an attribute whose values need them."""
    traced = rt.function(tree, executor=executor)
    assert [size(traced(rt.constant(depth))) for depth in (3, 0, 4)] == [7, 0, 15]
