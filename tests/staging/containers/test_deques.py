"""`collections.deque` in staged code: programs that give what Python gives."""
from __future__ import annotations

import copy
import re
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from plain_values import executors
from traced_once import on, on_both

import runtime as rt
from runtime.errors import StagingError


def plain(value: Any) -> Any:
    """A result with numbers in place of tensors, and what distinguishes deques."""
    if isinstance(value, deque):
        return "deque", value.maxlen, [plain(item) for item in value]
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    return value.numpy().tolist() if isinstance(value, rt.Tensor) else np.asarray(value).tolist()


def outcome(fn: Callable[..., Any], *args: Any) -> Any:
    try:
        return plain(fn(*args))
    except Exception as error:
        kind = next(kind for kind in (IndexError, ValueError, TypeError, AttributeError) if isinstance(error, kind))
        return kind, str(error).partition(": index ")[0]


# Algorithms

GRID = np.zeros((6, 6), np.int32)
GRID[1, :5] = GRID[3, 1:] = 1
EDGES = np.zeros((6, 6), bool)
for edge in (5, 2), (5, 0), (4, 0), (4, 1), (2, 3), (3, 1):
    EDGES[edge] = True


def breadth_first(grid, row, column):
    rows, columns = grid.shape
    distance = [-1] * (rows * columns)
    distance[row * columns + column] = 0
    queue = deque([(row, column)])
    while queue:
        r, c = queue.popleft()
        for dr, dc in (0, 1), (1, 0), (0, -1), (-1, 0):
            a, b = r + dr, c + dc
            if 0 <= a and a < rows and 0 <= b and b < columns and grid[a, b] == 0 and distance[a * columns + b] < 0:
                distance[a * columns + b] = distance[r * columns + c] + 1
                queue.append((a, b))
    return distance


def topological(edges):
    n = len(edges)
    before = [0] * n
    for i in range(n):
        for j in range(n):
            if edges[i, j]:
                before[j] += 1
    queue = deque([i for i in range(n) if before[i] == 0])
    order = []
    while queue:
        u = queue.popleft()
        order.append(u)
        for v in range(n):
            if edges[u, v]:
                before[v] -= 1
                if before[v] == 0:
                    queue.append(v)
    return order


def zero_one_search(edges, start):
    """Edges to a smaller number cost nothing."""
    n = len(edges)
    cost = [99] * n
    cost[start] = 0
    queue = deque()
    queue.append(start)
    while queue:
        u = queue.popleft()
        for v in range(n):
            if edges[u, v]:
                step = 0 if v < u else 1
                if cost[u] + step < cost[v]:
                    cost[v] = cost[u] + step
                    if step == 0:
                        queue.appendleft(v)
                    else:
                        queue.append(v)
    return cost


def moving_average(xs):
    window, found = deque(maxlen=3), []
    for x in xs:
        window.append(x)
        found.append(sum(window) / len(window))
    return found, window


def sliding_maximum(xs, size):
    places, found = deque(), []
    for i in range(len(xs)):
        while places and xs[places[-1]] <= xs[i]:
            places.pop()
        places.append(i)
        if places[0] <= i - size:
            places.popleft()
        if i >= size - 1:
            found.append(xs[places[0]])
    return found


def josephus(n, k):
    circle = deque(range(n))
    while len(circle) > 1:
        circle.rotate(-k)
        circle.popleft()
    return circle[0]


def palindrome(xs):
    rest = deque()
    for x in xs:
        rest.append(x)
    while len(rest) > 1:
        if rest.popleft() != rest.pop():
            return False
    return True


def by_levels(n):
    level, depths = deque([1]), []
    while level:
        depths.append(len(level))
        below = deque()
        while level:
            x = level.popleft()
            if 2 * x <= n:
                below.append(2 * x)
            if 2 * x + 1 <= n:
                below.append(2 * x + 1)
        level = below
    return depths


def with_break_and_continue(n):
    queue, seen, order = deque([0]), [False] * 12, []
    while True:
        if not queue:
            break
        u = queue.popleft()
        if seen[u]:
            continue
        seen[u] = True
        order.append(u)
        for v in (2 * u + 1, 2 * u + 2, u // 2):
            if v < n:
                queue.append(v)
    return order


# Methods and operators, of a deque that a loop of the graph made

def upto(n, maxlen=None):
    queue = deque(maxlen=maxlen)
    for i in range(n):
        queue.append(i)
    return queue


def reads(n):
    q = upto(n)
    return q.index(3), q.index(3, 1), q.count(2), q[0], q[-1], q[n - 2], 3 in q, 9 in q, len(q), bool(q)


def writes(n):
    q = upto(n)
    q[1], q[-1] = 7, 9
    q[n - 3] += 10
    q.insert(1, 5)
    q.remove(9)
    del q[0], q[n - 4]
    q.reverse()
    return q


def extensions(n):
    q = upto(n)
    q.extend([7, 8])
    q.extendleft([1, 2])
    q.extend(q)
    q.extendleft(upto(n))
    q += upto(2)
    q += [4]
    return q


def extended_by_staged(n):
    q, r, xs = deque([7]), deque([7], 3), [7]
    q.extend(upto(n))
    q.extendleft(upto(n))
    r.extend(upto(n))
    r.extendleft(upto(n))
    xs.extend(upto(n))
    xs += upto(n)
    return q, r, xs


def copies(n):
    q = upto(n)
    a, b, c, d, e = q.copy(), copy.copy(q), deque(q), deque(q, 3), deque(q, maxlen=0)
    a.rotate()
    b.rotate(-2)
    c.rotate(n + 2)
    d.rotate(1)
    return q, a, b, c, d, e, deque(i * i for i in range(n)), list(q)


def bounded(n):
    q = deque([1, 2], maxlen=3)
    for i in range(n):
        if i % 2 == 0:
            q.append(i)
        else:
            q.appendleft(-i)
    q.extend([5, 6])
    q.extendleft([9])
    q += [7]
    return q, q.maxlen, len(q), upto(n, 0), q * 2, q + deque([8])


def cleared(n):
    q = upto(n)
    q.clear()
    was = not q
    q.append(3)
    return was, q


def compared(n):
    q, r = upto(n), upto(n)
    same = q == r
    r.append(1)
    return same, q == r, q != r, q < r, q == [0, 1, 2, 3, 4], q == deque([0, 1, 2, 3, 4]), deque([n]) == deque([5])


def concatenated(n):
    q = upto(n)
    r = q
    q *= 2
    return q + q, deque([9]) + q, q + deque([9, 8]), 2 * q, r is q, r


def iterated(n):
    q, s = upto(n), 0
    for x in q:
        s = 2 * s + x
    return s, [x * x for x in q], sorted(q), sum(q), max(q), list(reversed(q)), any(x == 3 for x in q)


def pairs(n):
    q = deque([(0, 1.5)])
    while n > 0:
        q.append((n, n / 2))
        if n % 2:
            q.popleft()
        n -= 1
    a, b = q[0]
    return q, a, b, (2, 1.0) in q, (2, 3.0) in q, q[-1], q.index((1, 0.5))


class Server:
    def __init__(self):
        self.waiting = deque()

    def arrive(self, x):
        self.waiting.append(x)

    def serve(self):
        return self.waiting.popleft()


def in_an_object(n):
    server, total = Server(), 0
    for i in range(n):
        server.arrive(i)
        if i > 1:
            total += server.serve()
    return total, server.waiting


def in_a_closure(n):
    q, i = deque(), 0

    def put(x):
        q.append(x)

    while i < n:
        put(i)
        i += 1
    return q


def in_branches(n):
    q, r, s = deque([1, 2]), deque([1, 2]), deque([1]) if n > 3 else deque([1, 2])
    if n > 3:
        q.append(3)
        r.rotate(1)
    else:
        q.popleft()
        r[0] = 5
    s.append(n)
    return q, r, s


def in_containers(n):
    queues, table = [deque(), deque()], {"a": deque()}
    for i in range(n):
        queues[0].append(i)
        if i % 2 == 0:
            queues[1].appendleft(i)
        table["a"].append(i)
    return queues, table["a"]


def one_of_several(n):
    a, b, found = deque([1, 2]), upto(3), []
    for one in a if n > 3 else b, b if n > 3 else a:
        found += [len(one), sum(one), max(one), one[0], one[-1], one.index(2), 1 if one else 0, list(one)[0]]
        found.append(1 if 2 in one else 0)
        for x in one:
            found.append(x)
        one.append(n)
        one.appendleft(7)
        found += [one.pop(), one.popleft()]
        one.rotate(1)
        one.insert(1, 5)
        one[0] += 1
        del one[-1]
        found += sorted(one)
    while b if n > 3 else a:
        found.append((b if n > 3 else a).popleft())
    return found, a, b, [deque([1, 2]), deque([3, 4])][n % 2]


def known_items_at_staged_places(n):
    q, r = deque([1, 2, 3, 4]), deque()
    q.rotate(n)
    r.rotate(n)
    q[n - 3] = 7
    q.insert(n - 4, 8)
    return r, q, q[n - 5], q.index(n - 4), q.count(n - 2), n - 4 in q


def caught(n):
    q, found = deque([1]), 0
    try:
        while n > 0:
            found += q.popleft()
            n -= 1
    except IndexError as error:
        return str(error), found, len(q)
    return "", 0, 0


def append_all(queue, n):
    if n <= 0:
        return len(queue)
    queue.append(n)
    found = append_all(queue, n - 1)
    queue.popleft()
    return found + append_all(queue, n - 2)


def in_recursion(n):
    queue, bounded = deque(), deque(maxlen=2)
    return append_all(queue, n), queue, append_all(bounded, n - 1), bounded


def arrays(n):
    q = deque([np.zeros(3), np.ones(3)])
    a = q[0]
    a[1] = 5
    for _ in range(n):
        q[0][0] += 1
        q[1][2] *= 2
    return q, a


def vectors(n):
    q = deque()
    for i in range(n):
        q.append(np.ones(2) * i)
    return q.popleft(), len(q)


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (breadth_first, (GRID, np.int32(0), np.int32(0))), (topological, (EDGES,)), (zero_one_search, (EDGES, np.int32(5))),
    (moving_average, (np.arange(7.0),)), (sliding_maximum, (np.array([1.0, 3, -1, -3, 5, 3, 6, 7]), np.int32(3))),
    (josephus, (np.int32(7), np.int32(2))), (palindrome, (np.array([1, 2, 3, 2, 1]),)),
    (palindrome, (np.array([1, 2, 3, 1]),)), (by_levels, (np.int32(11),)), (with_break_and_continue, (np.int32(11),)),
    *[(fn, (np.int32(5),)) for fn in (
        reads, writes, extensions, extended_by_staged, copies, bounded, cleared, compared, concatenated, iterated,
        pairs, in_an_object, in_a_closure, in_branches, in_containers, in_recursion, one_of_several,
        known_items_at_staged_places, caught, arrays, vectors)]]


@pytest.mark.parametrize(("fn", "args"), PROGRAMS, ids=[fn.__name__ for fn, _ in PROGRAMS])
def test_programs(fn, args) -> None:
    expected = outcome(fn, *[arg if arg.ndim else arg.item() for arg in args])
    assert isinstance(expected, (list, tuple, int, bool))
    for traced in on_both(fn).values():
        assert outcome(traced, *map(rt.constant, args)) == expected


@executors
def test_an_array_decides(executor) -> None:
    assert outcome(on(executor, topological), EDGES) == topological(EDGES)


# Errors

def too_often(n):
    q = deque([1, 2])
    while n > 0:
        q.popleft()
        n -= 1


def too_often_from_the_end(n):
    q = deque([1, 2])
    while n > 0:
        q.pop()
        n -= 1


@pytest.mark.parametrize("fn", [
    too_often, too_often_from_the_end, lambda n: upto(n)[n], lambda n: upto(n)[-n - 1], lambda n: upto(n).remove(17),
    lambda n: upto(n).index(17), lambda n: upto(n, 2).insert(0, 1), lambda n: upto(n)[1:3], lambda n: upto(n) + [1],
    lambda n: [1] + upto(n), lambda n: upto(n).pop(0), lambda n: upto(n).sort(), lambda n: upto(n) < [1],
    lambda n: deque(upto(n), -1), lambda n: deque([1, 2])[n]])
def test_errors_are_pythons(fn) -> None:
    kind, message = outcome(fn, 5)
    for traced in on_both(fn).values():
        found, text = outcome(traced, rt.constant(5))
        assert issubclass(found, kind) and re.sub(r"^.*:\d+: ", "", text) == message


def test_items_of_several_types_are_refused() -> None:
    def mixed(n):
        q = deque([1])
        while n > 0:
            q.append("a")
            n -= 1

    with pytest.raises(StagingError, match=r"'q' is deque\(\[the int 1\]\) before the loop"):
        rt.function(mixed)(rt.constant(2))


def other_limit_in_a_branch(n):
    q = deque([1, 2])
    if n > 3:
        q = deque([1, 2], 2)
    return q


def other_limit_in_a_loop(n):
    q = deque([1, 2, 3, 4])
    for i in range(n):
        q.append(i)
        q = deque(q, 3)
    return q


def other_limit_of_a_staged_one(n):
    q, r = upto(n, 3), upto(n)
    for _ in range(n):
        q = r.copy()
    return q


def staged_list_or_deque(n):
    xs, q = list(upto(n)), upto(n)
    for _ in range(n):
        xs = q.copy()
    return xs


def list_or_deque(n):
    return [1, 2] if n > 3 else deque([1, 2])


@pytest.mark.parametrize(("fn", "message"), [
    (other_limit_in_a_branch, "'q' is deque([the int 1, the int 2], maxlen=2) if the condition holds"),
    (other_limit_in_a_loop, "after one iteration"),
    (other_limit_of_a_staged_one, "'q' is a deque with maxlen=3 before the loop but a deque after one iteration"),
    (staged_list_or_deque, "'xs' is a list before the loop but a deque after one iteration"),
    (list_or_deque, "but deque([the int 1, the int 2]) if it does not")])
def test_several_kinds_are_refused(fn, message) -> None:
    with pytest.raises(StagingError) as info:
        rt.function(fn)(rt.constant(5))
    assert message in str(info.value)
    assert str(info.value).endswith("Make it a list, or a deque with one maxlen, everywhere.")


# Arguments and results of functions

@executors
def test_arguments_are_changed_as_in_python(executor) -> None:
    @rt.function(executor=executor)
    def advance(queue, n):
        while queue and queue[0] < n:
            queue.popleft()
        queue.append(n)
        return len(queue)

    for items, maxlen in ([1, 5, 9], None), ([rt.constant(1), rt.constant(5)], None), ([1, 5, 9, 2], 4):
        queue = deque(items, maxlen)
        same, limit = deque(map(int, items), maxlen), rt.constant(5)
        assert int(advance(queue, limit)) == advance.python_function(same, 5)
        assert plain(queue) == plain(same)
    assert "advance(queue=deque([1, 5, 9]), n: int32[]) -> int32[]" in str(advance.pretty_printed_concrete_signatures())


def test_calls_are_told_apart_by_kind_and_length_limit() -> None:
    @rt.function
    def length(items, n):
        items.append(n)
        return len(items)

    one = rt.constant(1)
    assert [int(length(items, one)) for items in ([1], deque([1]), deque([1], 1), deque([1]))] == [2, 2, 1, 2]
    assert length.experimental_get_tracing_count() == 3


@executors
def test_each_call_makes_its_deque(executor) -> None:
    made = on(executor, lambda n: upto(n, 4))
    first, second = made(rt.constant(6)), made(rt.constant(2))
    assert plain(first) == ("deque", 4, [2, 3, 4, 5]) and plain(second) == ("deque", 4, [0, 1])
    assert first is not second


def test_text(capsys) -> None:
    @rt.function
    def shown(n):
        q = upto(n, 4)
        print(q, f"{q}")
        print(deque([n, 1]), [deque([n])])

    shown(rt.constant(6))
    assert capsys.readouterr().out == (
        "deque([2, 3, 4, 5], maxlen=4) deque([2, 3, 4, 5], maxlen=4)\ndeque([6, 1]) [deque([6])]\n")


def test_calls_are_verified() -> None:
    def served(queue, n):
        queue.append(n)
        if n > 2:
            queue.popleft()
        return len(queue)

    assert int(rt.function(served, verify=True)(deque([1, 2]), rt.constant(3))) == 2


@executors
def test_derivatives(executor) -> None:
    def smoothed(xs):
        window, total = deque(maxlen=3), 0.0
        for x in xs:
            window.append(x * x)
            total += sum(window) / len(window)
        return total

    found = rt.function(rt.grad(smoothed), executor=executor)(rt.constant([1.0, 2.0, 3.0, 4.0, 5.0]))
    np.testing.assert_allclose(found.numpy(), [11 / 3, 14 / 3, 6, 16 / 3, 10 / 3], rtol=1e-6)
    rows = rt.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    np.testing.assert_allclose(rt.function(rt.vmap(smoothed), executor=executor)(rows).numpy(),
                               [smoothed([1, 2, 3]), smoothed([4, 5, 6])], rtol=1e-6)
