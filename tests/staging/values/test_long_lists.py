"""A long list of Python numbers is one constant of a graph: its cost does not grow with its length."""
from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from traced_once import on

import autograph as ag
import runtime as rt

N = 300


def written(x: Any) -> Any:
    p = [0] * N
    for i in x:
        p[i] = i * 2
    return p


def floats(x: Any) -> Any:
    p = [0.1] * N
    for i in x:
        p[i] += 0.2
    return p


def large(x: Any) -> Any:
    p = [2**40] * N
    for i in x:
        p[i] = p[i] + 2**40
    return p[3] // 2**40


def becomes_float(x: Any) -> Any:
    p = [0] * N
    for i in x:
        p[i] = 0.5
    return p


def grows(x: Any) -> Any:
    p = list(range(N))
    for i in x:
        if i % 2 == 0:
            p.append(i)
    return p


def bools(x: Any) -> Any:
    p = [True] * N
    for i in x:
        p[i] = i > 2
    return p


def bools_read(x: Any) -> Any:
    p, q = [True] * N, [False] * N
    for i in x:
        p[i] = q[i + 1]
    return sum(p)


def mixed(x: Any) -> Any:
    p = [1] * N + [0.5]
    for i in x:
        p[i] = 2.5
    return p


def set_outside_of_loops(x: Any) -> Any:
    p = [0] * (3 * N)
    p[x[2]] = 5
    p[x[-1] - 5] += 2.5
    if x[3] > 2:
        p[x[3]] = p[x[2]] + 1
    return p


def with_some_tensors(x: Any) -> Any:
    p = [0] * N
    p[3] = x[1] + 7
    p[-1] = x[2]
    for i in x:
        p[i] += 2
    return p


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize(
    "fn", [written, floats, large, becomes_float, bools, bools_read, grows, mixed, set_outside_of_loops,
           with_some_tensors], ids=lambda fn: fn.__name__)
def test_as_python(fn: Any, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    want = fn(range(5))
    got = on(executor, fn)(rt.range(5))
    if isinstance(want, list):
        assert len(got) == len(want)
        assert [float(x) for x in got] == pytest.approx([float(x) for x in want], rel=1e-6)
    else:
        assert int(got) == want


def test_the_graph_does_not_grow_with_the_list() -> None:
    for fn, most in (written, 10), (bools, 10), (set_outside_of_loops, 40), (with_some_tensors, 20):
        graph = rt.function(fn).get_concrete_function(rt.TensorSpec([5], rt.int32)).graph
        assert len(graph.nodes) < most
    assert ag.convert(written)(range(5)) == written(range(5))


def test_a_place_outside_of_a_long_list_is_an_error() -> None:
    def beyond(i: Any) -> Any:
        p = [0] * (3 * N)
        p[i] = 1
        return p

    for i in 3 * N, -3 * N - 1:
        with pytest.raises(IndexError, match="list.* index out of range"):
            rt.function(beyond)(rt.constant(i))


def sieve(n: Any, one: Any) -> Any:
    prime, count = [True] * n, 0
    for i in range(2, n):
        if prime[i]:
            count += 1
            for j in rt.range(i * i, n, i):  # of which the squares beyond `n` do not fit int32
                prime[j] = False
    return count * one


def test_a_long_sieve_is_a_small_graph_that_is_traced_at_once() -> None:
    small, large = (rt.function(sieve) for _ in range(2))
    small.get_concrete_function(1000, rt.constant(1))
    start = time.process_time()
    concrete = large.get_concrete_function(100_000, rt.constant(1))
    assert time.process_time() - start < 4  # about 0.8 s
    assert sum(1 for _ in concrete.graph.walk()) < 40
    flags = np.ones(100_000, bool)
    flags[:2] = False
    for i in range(2, 317):
        flags[i * i::i] = False
    assert int(large(100_000, rt.constant(1))) == flags.sum()


def test_range_from_beyond_its_limit_is_empty() -> None:
    def starts(n: Any, step: Any) -> Any:
        total = 0
        for i in range(1, 40):
            for j in rt.range(i * 2**28, 2**29, 2**28):
                total += j > 0
            for j in rt.range(-i * 2**28, -(2**29), -(2**28)):
                total += j < 0
            for j in rt.range(i * 2**28, 2**29, step):
                total += j > n
        return total

    assert int(rt.function(starts)(rt.constant(0), rt.constant(2**28))) == 3
    assert starts(0, 2**28) == 3
