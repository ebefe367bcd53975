"""Python's numbers among the arguments: from the fifth value on, and lists of them from the second one on, calls share
traces, and all that a call leaves is what it is in Python."""
from __future__ import annotations

import collections
import copy
import dataclasses
import heapq
import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs.state import bubble_sort

import runtime as rt
from runtime.function.function import Function

CALLS = 8
_random = random.Random(5)


def ints(count: int, end: int = 100) -> list[int]:
    return [_random.randrange(end) for _ in range(count)]


def floats(count: int) -> list[float]:
    return [_random.uniform(-5, 5) for _ in range(count)]


def knapsack(weights, values, capacity):
    best = [0] * (capacity + 1)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[capacity]


def spread_heat(grid, steps):
    for _ in range(steps):
        for i in range(1, len(grid) - 1):
            for j in range(1, len(grid[0]) - 1):
                grid[i][j] = 0.25 * (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1])
    return grid[2][2]


def statistics(xs):
    mean = sum(xs) / len(xs)
    spread = 0.0
    for x in xs:
        spread += (x - mean) ** 2
    return mean, (spread / len(xs)) ** 0.5, max(xs), min(xs)


def search(xs, wanted):
    xs.sort()
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def euler(step, count, y):
    for _ in range(count):
        y = y - step * 2 * y
    return y


def product(a, b):
    n = len(a)
    c = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i][j] += a[i][k] * b[k][j]
    return c


def by_key(settings, x):
    for _ in range(settings["steps"]):
        x -= settings["rate"] * x
    return x


def longer(xs):
    xs.append(len(xs))
    xs.insert(2, xs.pop(0))
    xs.reverse()
    return sum(xs)


def other_rows(grid):
    grid[0].append(3)
    grid.append([1, 2, 3])
    return len(grid), len(grid[0])


def transposed(grid):
    return [[grid[j][i] for j in range(len(grid))] for i in range(len(grid[0]))]


def as_a_size(xs, n):
    a = np.zeros(n + 1)
    return a.shape[0], a.sum() + xs[n]


def by_two_names(xs, ys, k):
    xs[k] = 10
    return ys[k] + ys[0]


def rows_by_two_names(grid, row, k):
    row[k] += 10
    return grid[1][k] + grid[0][0]


# With arguments for each call, and the number of traces at most.
PROGRAMS: list[tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]], int]] = [
    (bubble_sort, lambda k: (floats(20 + k % 3),), 4),
    (knapsack, lambda k: (ints(20, 30), ints(20), 40), 3),
    (spread_heat, lambda k: ([floats(5) for _ in range(5)], 2), 2),
    (statistics, lambda k: (floats(40),), 2),
    (search, lambda k: (ints(50), ints(1)[0]), 6),
    (euler, lambda k: (0.01 * k, 3 + k % 4, floats(1)[0]), 8),
    (product, lambda k: ([floats(5) for _ in range(5)], [floats(5) for _ in range(5)]), 2),
    (by_key, lambda k: ({"rate": 0.1 * k, "steps": k + 1}, floats(1)[0]), 8),
    (longer, lambda k: (ints(20),), 2),
    (other_rows, lambda k: ([ints(10) for _ in range(3)],), 2),
    (transposed, lambda k: ([ints(4) for _ in range(6)],), 2),
    (as_a_size, lambda k: (ints(20), k), 6),
    (by_two_names, lambda k: (lambda xs: (xs, xs, k))(ints(20)), 6),
    (rows_by_two_names, lambda k: (lambda grid: (grid, grid[1], k))([ints(10) for _ in range(2)]), 7),
]


def plain(x: Any) -> Any:
    """With numbers in place of tensors."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    return x.numpy().tolist() if isinstance(x, (rt.Tensor, rt.Variable)) else x


def flat(x: Any) -> list[Any]:
    """The numbers in containers."""
    if isinstance(x, dict):
        x = [*x.values()]
    return [number for part in x for number in flat(part)] if isinstance(x, (list, tuple)) else [x]


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program, arguments, traces", PROGRAMS, ids=[f.__name__ for f, *_ in PROGRAMS])
def test_as_in_python(
    program: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]], traces: int, executor: str
) -> None:
    staged = rt.function(program, executor=executor)
    for k in range(CALLS):
        given = arguments(k)
        passed = copy.deepcopy(given)
        wanted, found = program(*given), plain(staged(*passed))
        np.testing.assert_allclose(flat(found), flat(wanted), rtol=1e-5)
        assert np.shape(flat(passed)) == np.shape(flat(given))
        np.testing.assert_allclose(flat(passed), flat(given), rtol=1e-9)
        assert [*map(type, flat(passed))] == [*map(type, flat(given))]  # numbers, and no tensors
    assert staged.experimental_get_tracing_count() <= traces


def test_numbers_have_64_bits() -> None:
    @rt.function
    def f(xs, n):
        for i in range(n):
            xs[i] += 1
        return xs[1] - xs[0]

    for k in range(6):
        xs = [10**15 + k, 10**15 + 2 * k] + [0.5 if k > 3 else 7] * 20
        before = [*xs]
        assert int(f(xs, 3)) == k
        assert xs == [before[0] + 1, before[1] + 1, before[2] + 1, *before[3:]]
    assert f([2**70, 1, *range(20)], 0) == 1 - 2**70  # no 64 bits: it is known to its trace


def test_what_needs_the_number_is_traced_for_each() -> None:
    @rt.function
    def f(x, rank, scale):
        return rt.reshape(x, [1] * rank) * scale

    for k, rank in enumerate([1, 2, 3, 4, 5, 6, 1, 2]):
        found = f(rt.ones([1]), rank, 0.5 + k)
        assert found.shape == (1,) * rank and float(rt.reshape(found, [])) == 0.5 + k
    assert f.experimental_get_tracing_count() < 12  # the scale is an input


def test_an_error_that_has_nothing_to_do_with_numbers() -> None:
    @rt.function
    def f(x, k):
        if k < 100:
            return x + k
        raise ValueError("too much")

    for k in range(8):
        assert int(f(rt.constant(1), k)) == k + 1
    with pytest.raises(ValueError, match="too much"):
        f(rt.constant(1), 200)
    assert int(f(rt.constant(1), 50)) == 51
    with pytest.raises(TypeError):
        f("text", 3)
    assert int(f(rt.constant(1), 51)) == 52


def test_lists_in_objects_attributes_and_variables() -> None:
    class Filter:
        def __init__(self, weights):
            self.weights = weights

        @rt.function
        def apply(self, x):
            total = x
            for w in self.weights:
                total = total + w
            return total

    filters = [Filter(floats(100)) for _ in range(8)]
    for each in filters * 2:
        each.weights[3] += 1.0
        np.testing.assert_allclose(each.apply(rt.constant(1.0)), 1 + sum(each.weights), rtol=1e-4)
    assert Filter.apply.experimental_get_tracing_count() <= 3

    seen = [0.0] * 100

    @rt.function
    def note(k, x):
        seen[k] = seen[k] + 1.5
        return x * len(seen)

    for k in range(6):
        note(rt.constant(k), rt.constant(1.0))
        seen[50] += 1.0
    assert seen == [1.5] * 6 + [0.0] * 44 + [6.0] + [0.0] * 49 and {*map(type, seen)} == {float}
    assert note.experimental_get_tracing_count() <= 4


def test_a_list_of_numbers_that_grows() -> None:
    log: list[float] = []

    @rt.function
    def step(x):
        log.append(1.5)
        return x + len(log)

    for k in range(10):
        assert float(step(rt.constant(1.0))) == 2.0 + k
    assert log == [1.5] * 10 and step.experimental_get_tracing_count() <= 5


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_containers_of_numbers_have_numbers_after_a_call(executor: str) -> None:
    @rt.function(executor=executor)
    def f(d, grid, log, queue, n):
        for i in range(n):
            d[i * 10**12] = d.get(i, 0.5) + 1
            grid[i % 2][i % 3] += 10**12
            log.append((i + 0.5, n, 3))
            queue.append(i * 0.1)
        return n

    d, grid, log, queue = {0: 1.5}, [[0] * 3, [1] * 3], [], collections.deque([0.25])
    f(d, grid, log, queue, rt.constant(3))
    assert d == {0: 2.5, 10**12: 1.5, 2 * 10**12: 1.5} and grid == [[10**12, 0, 10**12], [1, 1 + 10**12, 1]]
    assert [(a, int(b), c) for a, b, c in log] == [(0.5, 3, 3), (1.5, 3, 3), (2.5, 3, 3)]
    assert {*map(type, [*d, *d.values(), *grid[0], *grid[1], *queue])} == {int, float}
    assert [*queue] == [0.25, 0.0, 0.1, 0.2]


def test_rows_of_a_table_are_unpacked_and_looped_over() -> None:
    @rt.function
    def f(grid, i):
        a, b = grid[i]
        grid[i][0] = 5
        c, d = grid[1]
        total = 0
        for row in grid:
            for number in row:
                total += number
        return a, b, c, d, max(*grid[i]), total

    assert [int(x) for x in f([[1, 2], [3, 4], [9, 8]], rt.constant(2))] == [9, 8, 3, 4, 8, 23]


def test_objects_that_a_call_makes_have_numbers() -> None:
    @dataclasses.dataclass
    class Pair:
        a: int
        b: float

    @rt.function
    def f(n, x):
        return Pair(n * 2, x / 3)

    for k in range(8):
        assert f(k, 0.1 * k) == Pair(2 * k, 0.1 * k / 3)


def test_a_result_of_more_bits_is_traced_for_its_number() -> None:
    @rt.function
    def factorial(n):
        found = 1
        for i in range(1, n + 1):
            found *= i
        return found

    for n in (3, 4, 5, 6, 7, 15, 20, 25, 30, 8):
        found = factorial(n)
        assert int(found) == math.factorial(n)
        assert type(found) is int if n > 20 else found.dtype is (rt.int32 if n < 13 else rt.int64)


def test_explain_tells_numbers_that_are_inputs() -> None:
    @rt.function
    def f(xs, k):
        return sum(xs) * k

    for k in range(6):
        f(floats(200), k)
    assert "argument 'k' is a number, and was 3 before" in f.explain() and "rt.constant" not in f.explain()
    assert f.pretty_printed_concrete_signatures().endswith("f(xs: [numbers], k: number) -> float32[]")


def pi(n):
    total = 0.0
    for k in range(n):
        total += (-1) ** k / (2 * k + 1)
    return 4 * total


def mandelbrot(width, height, most):
    found = np.zeros((height, width))
    for i in range(height):
        for j in range(width):
            x, y, k = 0.0, 0.0, 0
            while k < most and x * x + y * y < 4:
                x, y = x * x - y * y - 2 + 3 * j / width, 2 * x * y - 1.5 + 3 * i / height
                k += 1
            found[i, j] = k
    return found


def longest_collatz(end):
    best = which = 0
    for n in range(1, end):
        m, count = n, 0
        while m != 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            count += 1
        if count > best:
            best, which = count, n
    return which, best


def primes_below(n):
    flags = [True] * n
    for i in range(2, int(n ** 0.5) + 1):
        if flags[i]:
            for j in range(i * i, n, i):
                flags[j] = False
    return sum(flags[2:]), [i for i in range(2, 30) if flags[i]]


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program, arguments", [
    (pi, (1500,)), (mandelbrot, (8, 7, 30)), (longest_collatz, (40,)), (primes_below, (700,))])
def test_long_loops_on_numbers_are_loops_of_the_graph_at_the_first_call(
    program: Callable[..., Any], arguments: tuple[int, ...], executor: str
) -> None:
    staged = rt.function(program, executor=executor)
    for k in range(3):
        values = [x + k for x in arguments]
        wanted = program(*values)
        wanted = wanted.tolist() if isinstance(wanted, np.ndarray) else wanted
        np.testing.assert_allclose(flat(plain(staged(*values))), flat(wanted), rtol=1e-6)
    assert staged.experimental_get_tracing_count() == 1


def test_what_a_trace_has_done_before_it_finds_a_long_loop_is_undone() -> None:
    class Counter:
        calls, log = 0, ["a"]

    @rt.function
    def f(counter, seen, n):
        counter.calls += 1
        counter.log.append("b")
        seen.append(n)
        total = 0
        for k in range(n):
            total += k % 7
        return total

    counter, seen = Counter(), []
    for n in (2000, 3000, 5):
        assert int(f(counter, seen, n)) == sum(k % 7 for k in range(n))
    assert counter.calls == 3 and counter.log == ["a", "b", "b", "b"] and seen == [2000, 3000, 5]


def test_a_long_loop_whose_number_has_to_be_known() -> None:
    @rt.function
    def f(x, rank, scale):
        total = 0.0
        for k in range(3000):
            total += scale * (k % 3)
        return rt.reshape(x, [1] * rank) * total

    for rank in (1, 2, 3):
        found = f(rt.ones([1]), rank, 0.5 * rank)
        assert found.shape == (1,) * rank
        np.testing.assert_allclose(found.numpy().item(), 3000 * 0.5 * rank, rtol=1e-6)


def test_long_loops_on_numbers_from_outside() -> None:
    end, offset = 20_000, 0.5

    def terms(x):
        total = 0.0
        for k in range(end):
            total += 1 / (k * k + offset)
        return total * x

    class Decay:
        def __init__(self, n: int) -> None:
            self.n, self.y, self.t = n, 1.0, 0.0

        def run(self):
            for _ in range(self.n):
                self.y -= 0.001 * self.y
                self.t += 0.001
            return self.y

    class Staged(Decay):
        run = rt.function(Decay.run)

    staged, here, there = rt.function(terms), Decay(3000), Staged(3000)
    for _ in range(4):
        np.testing.assert_allclose(staged(rt.constant(2.0)), terms(2.0), rtol=1e-5)
        here.run(), there.run()
        assert (here.y, here.t) == (there.y, there.t) and type(there.y) is float
        end, offset, here.n, there.n = end + 100, offset + 0.1, here.n + 5, there.n + 5
    assert staged.experimental_get_tracing_count() == there.run.experimental_get_tracing_count() == 1


def test_many_numbers_from_outside_stay_known() -> None:
    class Settings:
        def __init__(self) -> None:
            self.a = self.b = self.c = self.d = self.e = self.f = self.g = self.h = self.i = self.j = self.k = 1
            self.l = self.m = self.n = self.o = self.p = self.q = 2

    settings = Settings()

    @rt.function
    def f(x):
        s = settings
        total = s.a + s.b + s.c + s.d + s.e + s.f + s.g + s.h + s.i + s.j + s.k + s.l + s.m + s.n + s.o + s.p + s.q
        for k in range(2000):
            total += k % 2
        return rt.reshape(x, [s.a, s.l, -1]) * total

    assert f(rt.ones([6])).shape == (1, 2, 3)
    concrete, = f.concrete_functions
    assert len(concrete.graph.inputs) == 1


def test_loops_over_the_items_of_lists_of_lists_are_loops_of_the_graph() -> None:
    staged = rt.function(spread_heat)
    for _ in range(2):
        grid = [floats(12) for _ in range(12)]
        here, there = copy.deepcopy(grid), copy.deepcopy(grid)
        wanted, found = spread_heat(here, 3), staged(there, 3)
        np.testing.assert_allclose([float(found), *flat(there)], [wanted, *flat(here)], rtol=1e-5)
    (concrete,) = staged.concrete_functions
    assert len([*concrete.graph.walk()]) < 600  # 2,700 for each iteration by itself


def test_a_graph_that_would_be_large_is_traced_for_its_numbers() -> None:
    def solved(m):
        n = len(m)
        for i in range(n):
            p = i
            for r in range(i + 1, n):
                if abs(m[r][i]) > abs(m[p][i]):
                    p = r
            if p != i:
                m[i], m[p] = m[p], m[i]
            for r in range(i + 1, n):
                f = m[r][i] / m[i][i]
                for c in range(i, n):
                    m[r][c] -= f * m[i][c]
        return m[n - 1][n - 1]

    staged = rt.function(solved)
    for _ in range(2):
        grid = [floats(12) for _ in range(12)]
        here, there = copy.deepcopy(grid), copy.deepcopy(grid)
        np.testing.assert_allclose(float(staged(there)), solved(here), rtol=1e-5)
        np.testing.assert_allclose(flat(there), flat(here), rtol=1e-9)
    assert staged.experimental_get_tracing_count() == 2


def test_a_trial_that_is_too_large_is_given_up_for_all_arguments() -> None:
    """Numbers that become inputs after another trial was given up: a search over a list of lists."""
    def distance(grid, start, goal):
        h, w = len(grid), len(grid[0])
        best = {start: 0}
        heap = [(0, 0, start)]
        while heap:
            _, g, (r, c) = heapq.heappop(heap)
            if (r, c) == goal:
                return g
            for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                y, x = r + dr, c + dc
                if 0 <= y < h and 0 <= x < w and grid[y][x] == 0:
                    if (y, x) not in best or g + 1 < best[(y, x)]:
                        best[(y, x)] = g + 1
                        heapq.heappush(heap, (g + 1 + abs(y - goal[0]) + abs(x - goal[1]), g + 1, (y, x)))
        return -1

    traced = rt.function(distance)
    for size in (20, 20, 12):
        grid = [[int(x == 3 and y > 2) for x in range(size)] for y in range(size)]
        assert int(traced(grid, (0, 0), (9, 9))) == distance(grid, (0, 0), (9, 9))


def test_inputs_that_never_share_a_trace_are_given_up() -> None:
    """Nested lists of other lengths in each call: each call has a trace, which is to be small."""
    def reached(links, start):
        found, queue = {start: 0}, [start]
        while queue:
            u = queue.pop()
            for v in links[u]:
                if v not in found:
                    found[v] = found[u] + 1
                    queue.append(v)
        return len(found)

    traced = rt.function(reached)
    for seed in range(20):
        draw = random.Random(seed)
        links = [[draw.randrange(20) for _ in range(draw.randrange(5))] for _ in range(20)]
        assert int(traced(links, seed)) == reached(links, seed)
    nodes = [sum(1 for _ in trace.graph.walk()) for trace in traced.concrete_functions]
    assert max(nodes[4:8]) > 50 > max(nodes[-3:])


def test_recursion_that_python_decides_is_no_trace_of_its_own() -> None:
    @rt.function
    def ordered(xs):
        if len(xs) <= 1:
            return xs
        p = xs[0]
        return ordered([x for x in xs[1:] if x < p]) + [p] + ordered([x for x in xs[1:] if x >= p])

    for seed in range(3):
        xs = random.Random(seed).sample(range(100), 12)
        assert [int(x) for x in ordered(xs)] == sorted(xs)
    assert ordered.experimental_get_tracing_count() == 3


# Numbers that become keys of a dict that cannot be a table of the graph

COUNTED: dict[Any, int] = {"calls": 0}


def test_a_number_that_is_a_new_key_of_a_dict_with_text_has_a_trace_for_each_value() -> None:
    def f(x):
        COUNTED["calls"] += 1
        COUNTED[x] = 5
        return x

    def counted(d, x):
        d["calls"] += 1
        d.setdefault(x, 7)
        return d[x]

    COUNTED.clear()
    COUNTED["calls"] = 0
    first, second, d = rt.function(f), rt.function(counted), {"calls": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in [4, 8, 5, 6, 1, 7, 4]:
            assert int(first(x)) == x
            assert int(second(d, x)) == 7
    assert COUNTED == {"calls": 7, 4: 5, 8: 5, 5: 5, 6: 5, 1: 5, 7: 5}
    assert d == {"calls": 7, 4: 7, 8: 7, 5: 7, 6: 7, 1: 7, 7: 7}


def alive_around(board, i, j):
    n = 0
    for y in range(max(0, i - 1), min(len(board), i + 2)):
        for x in range(max(0, j - 1), min(len(board), j + 2)):
            if (y, x) != (i, j):
                n += board[y][x]
    return n


def life(board, steps):
    for _ in range(steps):
        board = [[1 if alive_around(board, i, j) == 3 or (board[i][j] and alive_around(board, i, j) == 2) else 0
                  for j in range(len(board))] for i in range(len(board))]
    return board


def test_numbers_that_cannot_be_inputs_are_tried_as_such_once(monkeypatch: Any) -> None:
    """The first trace, with the board as an input, becomes too large; the second one computes at length with it."""
    traced_once, kinds = Function._trace_once, []

    def counted(self: Any, *args: Any, **keywords: Any) -> Any:
        try:
            return traced_once(self, *args, **keywords)
        except BaseException as error:
            kinds.append(type(error).__name__)
            raise

    monkeypatch.setattr(Function, "_trace_once", counted)
    board = [[(3 * i + j) % 2 for j in range(6)] for i in range(6)]
    found = rt.function(life)(board, rt.constant(2))
    assert [[int(x) for x in row] for row in found] == life(board, 2)
    assert kinds == ["TrialTooLarge"]
