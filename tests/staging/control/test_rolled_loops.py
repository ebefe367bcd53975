"""Loops over Python ranges and lists: rolled into one loop of the graph, or unrolled, with the same meaning."""
from __future__ import annotations

import dataclasses
import heapq
import io
import itertools
import math
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from traced_once import on, on_both

import autograph as ag
import runtime as rt
from runtime.staging.control import loops, rolled_loops, unrolled_loops

ONE = rt.constant(1.0)


def ops_of(f: Callable[..., Any], *args: Any) -> list[str]:
    return [node.op.name for node in rt.function(f).get_concrete_function(*args).graph.nodes]


def is_rolled(f: Callable[..., Any], *args: Any) -> bool:
    return not {"reduce", "while_loop"}.isdisjoint(ops_of(f, *args))


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    return x.numpy().tolist() if isinstance(x, rt.Tensor) else x


def check(f: Callable[..., Any], *args: Any, rolled: bool = True) -> Any:
    """`f` is rolled or not, and gives what Python gives, natively, by NumPy, and unrolled."""
    expected = plain(f(*args))
    on_numpy, native = on_both(f).values()
    found = [native(*args), on_numpy(*args)]
    ops = {node.op.name for node in on_numpy.get_concrete_function(*args).graph.nodes}
    assert ops.isdisjoint(("reduce", "while_loop")) is not rolled
    bounds = rolled_loops.FEWEST, rolled_loops.LONG
    try:
        rolled_loops.FEWEST = rolled_loops.LONG = 1 << 30  # type: ignore[misc]
        found.append(rt.function(f, executor="numpy")(*args))
    finally:
        rolled_loops.FEWEST, rolled_loops.LONG = bounds  # type: ignore[misc]
    for each in found:
        np.testing.assert_allclose(np.array(plain(each), float), np.array(expected, float), rtol=1e-5)
    return found[0]


# What is rolled.

def test_a_list_of_one_length_beside_a_list_that_grows() -> None:
    def dijkstra(graph: Any, source: Any) -> Any:
        n = len(graph)
        dist = [math.inf] * n
        dist[source] = 0.0
        queue = [(0.0, source)]
        while queue:
            d, u = heapq.heappop(queue)
            if d > dist[u]:
                continue
            for v in range(n):
                if graph[u, v] > 0 and d + graph[u, v] < dist[v]:
                    dist[v] = d + graph[u, v]
                    heapq.heappush(queue, (dist[v], v))
        return dist

    generator = np.random.default_rng(3)
    edges = generator.uniform(1, 9, (20, 20)) * (generator.uniform(size=(20, 20)) < 0.2)
    staged = rt.function(dijkstra)
    found = staged(rt.constant(edges), rt.constant(0))
    assert "iteration by iteration" not in staged.explain()
    np.testing.assert_allclose([float(x) for x in found], dijkstra(edges, 0))


def test_range() -> None:
    def f(x: Any) -> Any:
        for i in range(3, 300, 2):
            x = x * 0.5 + i
        return x

    check(f, ONE)


def test_downwards_and_negative() -> None:
    def f(x: Any) -> Any:
        for i in range(200, -200, -3):
            x = x * 0.5 + i
        return x

    check(f, ONE)


def test_numbers_that_python_knows_stay_python_numbers() -> None:
    kinds = []

    def f(x: Any) -> Any:
        n, m, half, big = 0, 100, 1.0, 1
        for i in range(120):
            x = x + i
            n += 1
            m -= i % 3
            half /= 2
            big *= 2
            last = i * i
        kinds.append([*map(type, (n, m, half, last, i))])
        return x, n, m, half, last, i, rt.zeros([n])[3]

    check(f, ONE)
    assert all(each == [int, int, float, int, int] for each in kinds)


def test_an_integer_beyond_64_bits_stays_exact() -> None:
    @rt.function
    def f(x: Any) -> Any:
        big = 1
        for i in range(120):
            x = x + i
            big *= 3
        return x, big == 3 ** 120

    assert f(ONE)[1]


def test_what_the_first_iteration_changes_is_in_the_graph_from_the_first_trace_on(monkeypatch: Any) -> None:
    def f(x: Any) -> Any:
        steps, seen = 0, (0, x)
        for i in range(200):
            x = x * 3 % 101
            steps += 2
            if x == 50:
                seen = i, x
            if x > 98:
                return steps, i, seen
        return -1, steps, seen

    traces, trace = [], loops._Loop._trace
    monkeypatch.setattr(loops._Loop, "_trace", lambda *args: traces.append(1) or trace(*args))
    for x in 7, 50, 0:
        assert rt.nest.map_structure(int, rt.function(f)(rt.constant(x))) == f(x)
        assert traces.pop() and not traces


def test_while_on_python_values() -> None:
    def f(x: Any) -> Any:
        k, total = 0, 0
        while k < 150:
            x = x * 0.9 + k
            total += k
            k += 1
        return x, k, total

    found = check(f, ONE)
    assert found[1:] == (150, 11175)


def test_break_continue_and_else() -> None:
    def f(x: Any, limit: Any) -> Any:
        for i in range(200):
            if i % 3 == 0:
                continue
            if x > limit:
                break
            x = x + i
        else:
            x = -x
        return x, i

    for limit in 10.0, 1e9:
        check(f, ONE, rt.constant(limit))


def test_nested_loops_and_a_list_that_they_change() -> None:
    def f(values: Any) -> Any:
        best = [0] * 31
        for i in range(12):
            for c in range(30, 1, -1):
                best[c] = max(best[c], best[c - 2] + values[i])
        return best

    check(f, rt.constant(np.arange(12, dtype=np.int32) * 7 % 5))


def test_a_list_of_lists() -> None:
    def f(a: Any, b: Any) -> Any:
        table = [[0] * 11 for _ in range(11)]
        for i in range(1, 11):
            for j in range(1, 11):
                if a[i - 1] == b[j - 1]:
                    table[i][j] = table[i - 1][j - 1] + 1
                else:
                    table[i][j] = max(table[i - 1][j], table[i][j - 1])
        return table[10][10]

    a = rt.constant([0, 1, 2, 1, 0, 2, 2, 1, 0, 1])
    check(f, a, a[::-1])


def test_a_long_list_of_numbers_and_of_tuples() -> None:
    weights = [k % 7 - 2 for k in range(100)]
    pairs = [(k, k / 8) for k in range(100)]

    def f(x: Any) -> Any:
        for w in weights:
            x = x * 0.5 + w
        for k, part in pairs:
            x = x * part - k
        return x

    check(f, ONE)


def test_a_value_whose_type_the_first_iteration_settles() -> None:
    def f(x: Any) -> Any:
        total, before = 0, None
        for i in range(100):
            total = total + x * i
            if before is not None:
                total = total + before
            before = x
        return total

    check(f, rt.constant([1.0, 2.0]))


def test_a_value_that_some_iterations_set() -> None:
    def first_above(xs: Any, limit: Any) -> Any:
        found = None
        for i in range(len(xs)):
            if xs[i] > limit:
                low, high = xs[i - 1], xs[i]
                while high - low > 1e-3:
                    middle = (low + high) / 2
                    if middle * middle * middle - middle <= limit - 0.1 * middle:
                        low = middle
                    else:
                        high = middle
                found = (low + high) / 2
                break
        return -1.0 if found is None else found

    xs = np.linspace(0.0, 3.0, 40)
    for limit in 1.5, 4.0:
        check(first_above, xs, rt.constant(limit, rt.float64))


def test_attributes_and_helpers() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count, self.sum = 0, 0.0

        def add(self, x: Any) -> None:
            self.count += 1
            self.sum = self.sum + x

    def f(x: Any) -> Any:
        counter = Counter()
        for i in range(100):
            counter.add(x * i)
        return counter.sum, counter.count

    check(f, ONE)


def test_prints_come_once_for_each_iteration(capfd: Any) -> None:
    @rt.function
    def f(x: Any) -> Any:
        for i in range(60):
            print("at", i, x)
            x = x + i
        return x

    f(ONE)
    lines = capfd.readouterr().out.split("\n")
    assert lines[:2] == ["at 0 1.0", "at 1 1.0"] and lines[59] == "at 59 1712.0" and len(lines) == 61


def test_raise_in_a_rolled_loop() -> None:
    def f(x: Any) -> Any:
        for i in range(100):
            if x > 50:
                raise ValueError(f"too much at {i}")
            x = x + i
        return x

    assert is_rolled(f, ONE)
    for traced in on_both(f).values():
        with pytest.raises(ValueError, match="^too much at 11$"):
            traced(ONE)


# What is unrolled.

def test_short_loops_and_cheap_ones_stay_unrolled() -> None:
    def short(x: Any) -> Any:
        for i in range(8):
            x = rt.sin(x) * i + rt.cos(x) * 2 + rt.exp(x) * 0.01 + x * x + x / 3 + rt.tanh(x) + rt.abs(x)
        return x

    def cheap(x: Any) -> Any:
        for i in range(20):
            x = x + i
        return x

    check(short, ONE, rolled=False)
    check(cheap, ONE, rolled=False)


def test_a_shape_needs_the_python_value() -> None:
    def f(x: Any) -> Any:
        parts = []
        for i in range(1, 60):
            parts.append(rt.reduce_sum(rt.ones([i]) * x))
        return parts[3], parts[58], len(parts)

    assert check(f, ONE, rolled=False)[2] == 59


def test_weights_are_not_chosen_by_a_tensor() -> None:
    weights = [rt.constant([[k + 1.0, 1.0], [0.5, 1.0]]) for k in range(60)]

    def f(x: Any) -> Any:
        for i in range(60):
            x = rt.tanh(rt.matmul(weights[i], x))
        return x

    check(f, rt.constant([[1.0], [2.0]]), rolled=False)


def test_objects_and_functions_are_not_chosen_by_a_tensor() -> None:
    class Layer:
        def __init__(self, k: int) -> None:
            self.k = k

        def __call__(self, x: Any) -> Any:
            return x * 0.5 + self.k

    layers = [Layer(k) for k in range(60)]

    def f(x: Any) -> Any:
        for i in range(len(layers)):
            x = layers[i](x) + 1
        return x

    check(f, ONE, rolled=False)


def test_python_errors_that_the_index_causes_are_not_the_program_s() -> None:
    table = {k: k * k for k in range(100)}

    def f(x: Any) -> Any:
        for i in range(100):
            x = x * 0.5 + len("ab" * i) + len(str(i).encode()) + table[i] + "abc".find(chr(97 + i % 3))
        return x

    check(f, ONE, rolled=False)


def test_an_error_that_the_index_causes_in_a_branch_is_not_the_program_s() -> None:
    def f(x: Any) -> Any:
        for i in range(100):
            if x > 3:
                x = x - len(str(i).encode()) * 0.125
            else:
                x = x + 5
        return x

    check(f, ONE, rolled=False)


def test_a_handler_does_not_catch_what_the_attempt_causes() -> None:
    names = [f"{k}" for k in range(100)]

    def f(x: Any) -> Any:
        for i in range(100):
            try:
                k = float.fromhex(names[i])
            except (TypeError, ValueError):
                k = -1.0
            x = x * 0.5 + k * 2
        return x

    check(f, ONE, rolled=False)


def test_a_list_that_grows_keeps_its_length_where_that_is_cheap() -> None:
    def f(x: Any) -> Any:
        steps = []
        for i in range(60):
            x = x * 0.5 + i
            steps.append(x)
        a, *_, b = steps
        return rt.stack(steps).shape[0], a, b, len(steps)

    assert check(f, ONE, rolled=False)[3] == 60


def test_a_long_loop_beside_a_growing_list_that_python_ran_before() -> None:
    def f(x: Any) -> Any:
        scale: Any = [[[2]]]
        found: Any = []
        for k in (0, 1, 2, 3, 4):
            found = []
            for i in range(60):
                value = scale[0][0][0]
                for j in range(8):
                    value = (value * 7 + i) % (101 + j) + (value // 3 + i * 2) % (57 + j) + (value % 5 + j) // 2
                found.append(value)
            if k == 3:
                scale = [[[x]]]
        return found

    traced = rt.function(f)
    assert rt.nest.map_structure(int, traced(rt.constant(5))) == f(5)
    assert sum(1 for _ in traced.concrete_functions[0].graph.walk()) < 2000


def test_a_list_that_grows_until_python_ends_the_loop_keeps_its_length() -> None:
    last, stops = 40, [k > 40 for k in range(60)]

    def by_index(x: Any) -> Any:
        steps = []
        for i in range(60):
            x = x * 0.5 + i
            steps.append(x)
            if i == last or i * i > 2000:
                x = x + 1
                break
        return rt.stack(steps).shape[0], len(steps), x

    def by_length(x: Any) -> Any:
        steps = []
        for i in range(60):
            x = x * 0.5 + i
            steps.append(x)
            if len(steps) == 20:
                break
        return rt.stack(steps).shape[0], x

    def by_list(x: Any) -> Any:
        steps = []
        for i in range(60):
            x = x * 0.5 + i
            steps.append(x)
            if stops[i]:
                break
        return rt.stack(steps).shape[0], x

    for f in (by_index, by_length, by_list):
        check(f, ONE, rolled=False)


@pytest.mark.parametrize("least", [0.01, 0.0])
def test_a_list_that_grows_until_a_tensor_ends_the_loop(least: float) -> None:
    def f(x: Any) -> Any:
        steps = []
        for i in range(60):
            x = x * 0.9 + 0.001 * i
            steps.append(x)
            if i > 2 and abs(steps[-2] - x) < least:
                break
        else:
            steps.append(2.0)
        return len(steps), steps[-1], rt.reduce_sum(rt.stack(steps))

    check(f, ONE)


def test_a_shape_that_changes_until_a_tensor_ends_the_loop() -> None:
    def f(x: Any) -> Any:
        for i in range(60):
            x = rt.concat([x, x[-1:] * 0.5], 0)
            if x[-1] < 0.001:
                break
        return rt.size(x), x[-1], i

    check(f, rt.constant([1.0]))


def test_a_shape_that_changes_stays_known() -> None:
    def f(x: Any) -> Any:
        for i in range(40):
            x = rt.concat([x, x[:1] * i], 0) + 1
        return x.shape[0], x[-1]

    check(f, rt.constant([1.0]), rolled=False)


# What an attempt must leave nothing of.

outside: list[Any] = []
count = 0


def test_changes_of_objects_from_before_happen_once_each() -> None:
    seen: set[int] = set()
    kept: dict[str, int] = {}

    @rt.function
    def f(x: Any) -> Any:
        global count
        for i in range(60):
            x = x * 0.5 + i
            outside.append(i)
            seen.add(i)
            kept["last"] = i
            count += 1
        return x

    outside.clear()
    f(ONE)
    assert outside == [*range(60)] and seen == {*range(60)} and kept == {"last": 59} and count == 60


def test_each_change_alone_happens_once() -> None:
    items: list[int] = []
    seen: set[int] = set()
    file = io.StringIO()
    holder = type("Holder", (), {"n": 0})()

    def appended(i: int) -> None:
        items.append(i)

    def added(i: int) -> None:
        seen.add(i)

    def written(i: int) -> None:
        file.write(f"{i},")

    def counted(i: int) -> None:
        holder.n += 1

    for act in appended, added, written, counted:
        @rt.function
        def f(x: Any) -> Any:
            for i in range(60):
                x = x * 0.5 + i
                act(i)
            return x

        f(ONE)
    assert items == [*range(60)] and seen == {*range(60)} and holder.n == 60
    assert file.getvalue() == "".join(f"{i}," for i in range(60))


def test_calls_of_other_code_happen_once_for_each_iteration() -> None:
    calls: list[int] = []

    @ag.do_not_convert
    def observe(i: Any) -> int:
        calls.append(i)
        return 2

    def f(x: Any) -> Any:
        for i in range(60):
            x = x * observe(i)
        return x

    rt.function(f)(ONE)
    assert calls == [*range(60)]


def test_files_are_written_once(tmp_path: Any) -> None:
    path = tmp_path / "log"

    @rt.function
    def f(x: Any) -> Any:
        for i in range(60):
            x = x * 0.5 + i
            with open(path, "a") as file:
                file.write(f"{i},")
        return x

    f(ONE)
    assert path.read_text() == "".join(f"{i}," for i in range(60))


def test_iterators_from_outside_advance_once() -> None:
    numbers = itertools.count(5)

    def generate() -> Iterator[int]:
        yield from range(1000)

    generator = generate()

    @rt.function
    def f(x: Any) -> Any:
        for _ in range(60):
            x = x * 0.5 + next(numbers) + next(generator)
        return x

    f(ONE)
    assert next(numbers) == 65 and next(generator) == 60


def test_a_list_that_the_loop_runs_over_and_changes() -> None:
    def f(x: Any) -> Any:
        items = [*range(30)]
        for k in items:
            x = x * 0.5 + k
            if k % 2 == 0 and len(items) < 60:
                items.append(k + 1)
        return x, len(items)

    check(f, ONE, rolled=False)


def test_variables_are_made_once() -> None:
    made: list[rt.Variable] = []

    @rt.function
    def f(x: Any) -> Any:
        for i in range(40):
            if len(made) <= i:
                made.append(rt.Variable(float(i)))
            x = x * 0.5 + made[i]
        return x

    f(ONE)
    assert len(made) == 40


def test_objects_that_the_loop_makes_are_as_many_as_in_python() -> None:
    class Node:
        count = 0

        def __init__(self, value: Any) -> None:
            Node.count += 1
            self.value = value

    @rt.function
    def f(x: Any) -> Any:
        for i in range(60):
            x = x * 0.5 + Node(i).value
        return x

    f(ONE)
    assert Node.count == 60



# Iterators over sequences.

XS = [float(k) for k in range(60)]
YS = [*range(70)]


def test_enumerate_zip_and_reversed_of_long_lists() -> None:
    def numbered(x: Any) -> Any:
        for i, v in enumerate(XS, 3):
            x = x * 0.5 + v * i
        return x, i

    def side_by_side(x: Any) -> Any:
        for v, k in zip(XS, YS):
            x = x * 0.5 + v * k
        return x

    def backwards(x: Any) -> Any:
        for v in reversed(XS):
            x = x * 0.5 + v
        return x

    def nested(x: Any) -> Any:
        for i, (k, (v, w)) in enumerate(zip(reversed(YS), zip(XS, reversed(XS), strict=True)), 2):
            if i % 3 == 0:
                continue
            x = x * 0.5 + k * v - i * w
            if x > 10_000_000:
                break
        return x

    def over_ranges(x: Any) -> Any:
        for i, j in zip(range(5, 125, 2), reversed(range(60))):
            x = x * 0.5 + i * j
        return x

    def items(x: Any) -> Any:
        for v in iter(XS):
            x = x * 0.5 + v
        return x

    for program in numbered, side_by_side, backwards, nested, over_ranges, items:
        check(program, ONE)


def test_a_loop_over_an_iterator_left_early() -> None:
    def f(x: Any) -> Any:
        for i, v in enumerate(reversed(XS)):
            x = x * 0.5 + v
            if i > 40:
                break
        else:
            x = x - 100
        return x, i, v

    check(f, ONE)


@pytest.mark.parametrize("rows", [np.arange(80, dtype=np.float32), rt.range(80.0)], ids=["array", "tensor"])
def test_arrays_and_eager_tensors(rows: Any) -> None:
    def f(x: Any) -> Any:
        for v in rows:
            x = x * 0.5 + v
        for i, (v, k) in enumerate(zip(reversed(rows), YS)):
            x = x * 0.5 + v * k + i
        return x

    assert [op for op in ops_of(f, ONE) if op == "reduce"] == ["reduce"] * 2
    expected = 1.0
    for v in range(80):
        expected = expected * 0.5 + v
    for i, (v, k) in enumerate(zip(range(79, -1, -1), YS)):
        expected = expected * 0.5 + v * k + i
    for traced in on_both(f).values():
        np.testing.assert_allclose(traced(ONE), expected, rtol=1e-6)


def test_the_bodies_that_need_the_python_value_run_once_for_each_item_of_an_iterator() -> None:
    def by_shape(x: Any) -> Any:
        for i, v in enumerate(XS):
            x = x * 0.5 + rt.ones([i + 1, 2])[0, 0] * v
            shape = rt.zeros([i]).shape
        return x, shape[0]

    def by_key(x: Any) -> Any:
        found = {}
        for i, k in zip(range(200), reversed(range(200))):
            found[k] = x * i + k
        return found[3]

    check(by_key, ONE, rolled=False)
    assert not is_rolled(by_shape, ONE)
    total, length = rt.function(by_shape)(ONE)
    expected = 1.0
    for v in XS:
        expected = expected * 0.5 + v
    assert length == 59 and abs(float(total) - expected) < 1e-4


def test_an_iterator_is_where_python_leaves_it() -> None:
    def all_taken(x: Any) -> Any:
        pairs = enumerate(XS)
        for i, v in pairs:
            x = x * 0.5 + v * i
        return x, len(list(pairs))

    def rest_of_an_iterator(x: Any) -> Any:
        it = iter(YS)
        first = next(it)
        for i, v in enumerate(it):
            x = x * 0.5 + v * i
        return x + first, next(it, -1)

    def longer_operand(x: Any) -> Any:
        it = iter(YS)
        for v, k in zip(XS, it):
            x = x * 0.5 + v * k
        return x, list(it)

    def longer_operand_first(x: Any) -> Any:
        it = iter(YS)
        for k, v in zip(it, XS):
            x = x * 0.5 + v * k
        return x, list(it)

    for program in all_taken, rest_of_an_iterator, longer_operand, longer_operand_first:
        check(lambda x, program=program: rt.nest.flatten(program(x)), ONE)


def test_iterators_that_cannot_be_run_over_again_or_that_the_body_advances() -> None:
    def pairs(x: Any) -> Any:
        it = iter(YS)
        for a, b in zip(it, it):
            x = x * 0.5 + a - b
        return x, next(it, -1)

    def advanced(x: Any) -> Any:
        it = iter(YS)
        for i, v in enumerate(it):
            x = x * 0.5 + v
            if i % 2 == 0:
                x = x + next(it, 0)
        return x

    def left(x: Any) -> Any:
        it = iter(YS)
        for v in it:
            x = x * 0.5 + v
            if v > 55:
                break
        return x, list(it)

    for program in pairs, advanced, left:
        check(lambda x, program=program: rt.nest.flatten(program(x)), ONE, rolled=False)


def test_items_that_code_of_the_user_s_makes_are_read_once() -> None:
    reads = []

    class Numbers:
        def __getitem__(self, index: int) -> float:
            reads.append(index)
            return XS[index]

    numbers = Numbers()

    @rt.function
    def f(x: Any) -> Any:
        for i, v in enumerate(iter(numbers)):
            x = x * 0.5 + v * i
        return x

    f(ONE)
    assert reads == [*range(61)]


def test_a_strict_zip_of_other_lengths() -> None:
    @rt.function
    def f(x: Any) -> Any:
        for v, k in zip(XS, YS, strict=True):
            x = x * 0.5 + v * k
        return x

    with pytest.raises(ValueError, match=re.escape("zip() argument 2 is longer than argument 1")):
        f(ONE)


def test_a_list_whose_items_the_loop_changes() -> None:
    def by_number(x: Any) -> Any:
        items = [*XS]
        for i, v in enumerate(items):
            x = x * 0.5 + v
            items[i * 7 % 60] = 1.0
        return x, items

    def in_a_branch(x: Any) -> Any:
        items = [*XS]
        for v in items:
            x = x * 0.5 + v
            if x > 3:
                items[50] = 3.0
        return x, items[50]

    def backwards(x: Any) -> Any:
        items = [*XS]
        for v in reversed(items):
            x = x * 0.5 + v
            if x > 3:
                items[5] = 3.0
        return x, items[5]

    for program in by_number, in_a_branch, backwards:
        check(lambda x, program=program: rt.nest.flatten(program(x)), ONE, rolled=False)
        function = rt.function(program)
        function(ONE)
        assert function.explain().splitlines()[-2].endswith(
            "traced iteration by iteration, since it changes the list that it runs over")


# Errors and warnings.

def test_the_warning_says_why_a_loop_is_unrolled(monkeypatch: Any) -> None:
    monkeypatch.setattr("runtime.core.graph.MANY_NODES", 500)
    names = [f"{k}" for k in range(300)]

    @rt.function
    def f(x: Any) -> Any:
        for i in range(300):
            x = x * 0.5 + float.fromhex(names[i])
        return x

    with pytest.warns(rt.UnrollingWarning) as caught:
        f(ONE)
    line = f.python_function.__code__.co_firstlineno + 3
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)
    text = str(caught[0].message).split("\n")
    assert text[0].startswith(f"{__file__}:{line}: the graph of 'f' has grown to 500 ops, 500 of them from this line: "
                              "a loop over Python values is traced iteration by iteration; it is not rolled into a loop"
                              " of the graph, since ")
    assert text[-1] == ("Take what needs the Python value out of the loop, or make it a tensor, so that the loop"
                        " itself becomes graph.")


def test_no_warning_where_a_loop_is_rolled() -> None:
    @rt.function
    def f(x: Any) -> Any:
        for i in range(100_000):
            x = x * 0.5 + i
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(ONE)


def test_an_error_of_the_program_is_the_same_as_unrolled() -> None:
    @rt.function
    def f(x: Any) -> Any:
        for i in range(100):
            x = rt.matmul(x, x) + i
        return x

    with pytest.raises(rt.errors.InvalidArgumentError, match=re.escape(f"{__file__}:")):
        f(rt.ones([2, 3]))


class Board:
    """A grid whose steps make a new one, by appending rows, and by a comprehension."""

    def __init__(self, rows: list[list[int]]) -> None:
        self.rows, self.size = rows, len(rows)

    def near(self, r: int, c: int) -> Any:
        count = 0
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                if dr != 0 or dc != 0:
                    count += self.rows[(r + dr) % self.size][(c + dc) % self.size]
        return count

    def appended(self) -> None:
        new = []
        for r in range(self.size):
            row = []
            for c in range(self.size):
                near = self.near(r, c)
                row.append(1 if near == 3 or (near == 2 and self.rows[r][c] == 1) else 0)
            new.append(row)
        self.rows = new

    def comprehended(self) -> None:
        self.rows = [[1 if (near := self.near(r, c)) == 3 or (near == 2 and self.rows[r][c] == 1) else 0
                      for c in range(self.size)] for r in range(self.size)]


@pytest.mark.parametrize("step", [Board.appended, Board.comprehended])
def test_a_list_that_grows_by_many_rows(step: Any) -> None:
    """Its loops are ones of the graph, whose size does not depend on the number of rows."""
    first = [[(r * r + 3 * c) % 5 % 2 for c in range(18)] for r in range(18)]

    def board(n: Any) -> Any:
        found = Board([row[:] for row in first])
        for _ in range(n):
            step(found)
        return sum([sum(row) for row in found.rows])

    traced = rt.function(board)
    assert [int(traced(rt.constant(n))) for n in (0, 1, 5)] == [board(n) for n in (0, 1, 5)]
    (concrete,) = traced.concrete_functions
    assert len([*concrete.graph.walk()]) < 900


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_dict_that_gets_its_keys_in_a_long_loop(executor: str) -> None:
    """Only the unrolled loop knows them."""
    def by_number(x):
        d = {}
        for i in range(200):
            d[i] = x * i
        return d[3], len(d)

    def by_text(x):
        d = {}
        i = 0
        while i < 200:
            d[f"k{i}"] = x * i
            i += 1
        return d["k3"]

    def by_default(x):
        d = {}
        for i in range(200):
            d.setdefault(i % 7, x * 0)
            d[i % 7] = d[i % 7] + x
        return d

    def with_all_keys(x):
        d = dict.fromkeys(range(200), 0)
        d[1] = 1
        for i in range(2, 200):
            d[i] = (d[i - 1] + d[i - 2]) % 1000 + x
        return d[199]

    for program in by_number, by_text, by_default, with_all_keys:
        function = on(executor, program)
        expected, found = program(3), function(rt.constant(3))
        assert [int(x) for x in rt.nest.flatten(found)] == rt.nest.flatten(expected), program.__name__


def test_explain_says_which_loops_are_unrolled() -> None:
    @rt.function
    def program(x):
        d = {}
        for i in range(200):
            d[i] = x * i  # here
        return d[1]

    program(rt.constant(2))
    program(rt.constant(2.0))  # another trace, which knows nothing of the first
    lines = program.explain().splitlines()
    assert len(lines) == 4 and "test_rolled_loops.py" in lines[2]
    assert lines[2].endswith("is traced iteration by iteration, since it adds keys to a dict")
    assert lines[3] == ("    Take what needs the Python value out of the loop, or make it a tensor, so that the loop"
                        " itself becomes graph.")


@pytest.fixture
def seconds(monkeypatch: Any) -> Iterator[None]:
    """A clock by which each iteration of a loop takes a second."""
    monkeypatch.setattr(unrolled_loops, "clock", itertools.count().__next__)
    before = rt.config.autograph_unroll_seconds()
    yield
    rt.config.set_autograph_unroll_seconds(before)


def slow_messages(program: Callable[..., Any], *args: Any) -> tuple[list[str], str]:
    function = rt.function(program)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args)
    assert all(each.category is rt.UnrollingWarning and each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught], function.explain()


def test_a_loop_that_takes_long_to_unroll_warns_once(seconds: None) -> None:
    def program(x: Any) -> Any:
        d, e = {}, {}
        for i in range(200):
            d[i] = x * i
        for i in range(200):
            e[i] = x * i
        return d[1], e[2]

    line = program.__code__.co_firstlineno + 2
    messages, explained = slow_messages(program, rt.constant(2))
    assert messages == [
        f"{__file__}:{line}: this loop over Python values has taken 17.0 s for 17 iterations, each of which is traced"
        " into the graph of 'program', 34 ops so far; it is not rolled into a loop of the graph, since it adds keys to"
        " a dict\n"
        f"    {line} |         for i in range(200):\n"
        "Take what needs the Python value out of the loop, or make it a tensor, so that the loop itself becomes graph;"
        " or raise the limit with rt.config.set_autograph_unroll_seconds(s)."]
    assert len(explained.splitlines()) == 5  # both loops, and the remedy


def test_a_while_and_a_loop_over_objects_that_take_long(seconds: None) -> None:
    weights = [rt.constant(float(k)) for k in range(40)]

    def over_objects(x: Any) -> Any:
        for w in weights:
            x = x * w
        return x

    def while_(x: Any) -> Any:
        d, i = {}, 0
        while i < 60:
            d[f"k{i}"] = x * i
            i += 1
        return d["k1"]

    def left_by_a_tensor(x: Any) -> Any:
        for w in weights:
            x = x * w
            if x > 5:
                break
        return x

    for program in over_objects, while_, left_by_a_tensor:
        messages, explained = slow_messages(program, ONE)
        assert len(messages) == 1 and " s for 17 iterations, each of which is traced into the graph of " in messages[0]
        assert "; it is not rolled into a loop of the graph, since " in messages[0]
        assert "is traced iteration by iteration, since " in explained


def test_loops_that_do_not_take_long(seconds: None) -> None:
    def program(x: Any) -> Any:
        d, numbers = {}, []
        for i in range(100):
            d[i] = x * i
        for i in range(300):  # traces nothing
            numbers.append(i)
        return d[1]

    def rolled(x: Any) -> Any:
        for i in range(1000):
            x = x * 0.5 + i
        return x

    rt.config.set_autograph_unroll_seconds(100)
    assert slow_messages(program, rt.constant(2))[0] == []
    rt.config.set_autograph_unroll_seconds(98.5)
    assert len(slow_messages(program, rt.constant(2))[0]) == 1
    rt.config.set_autograph_unroll_seconds(0)
    assert slow_messages(rolled, ONE)[0] == []
    with pytest.raises(ValueError, match="the unroll budget is a number of seconds, not -1"):
        rt.config.set_autograph_unroll_seconds(-1)


class Pair(NamedTuple):
    count: int
    value: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    count: int
    value: Any


def test_python_numbers_in_containers_are_counted() -> None:
    def f(x: Any) -> Any:
        pair, named, frozen = (0, x), Pair(0, x), Frozen(0, x)
        items, table, fibonacci = [0, x], {"s": (0, 0.5)}, (0, 1)
        for _ in range(200):
            pair = (pair[0] + 1, pair[1] * 0.5)
            named = named._replace(count=named.count + 2, value=named.value * 0.5)
            frozen = dataclasses.replace(frozen, count=frozen.count + 3, value=frozen.value * 0.5)
            items[0] += 4
            items[1] = items[1] * 0.5
            table["s"] = (table["s"][0] + 5, table["s"][1] + 0.5)
            fibonacci = fibonacci[1], (fibonacci[0] + fibonacci[1]) % 1000
        steps, last = 0, (0, x)
        while steps < 200:
            steps += 1
            if steps > 3:
                last = (last[0] + 1, last[1] * 0.5)
        return [pair[0], named.count, frozen.count, items[0], *table["s"], *fibonacci, steps, last[0]]

    check(f, ONE)
