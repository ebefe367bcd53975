"""A long list of Python numbers is one constant of a graph: its cost does not grow with its length."""
from __future__ import annotations

from typing import Any

import pytest

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


def mixed(x: Any) -> Any:
    p = [1] * N + [0.5]
    for i in x:
        p[i] = 2.5
    return p


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [written, floats, large, becomes_float, grows, mixed], ids=lambda fn: fn.__name__)
def test_as_python(fn: Any, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    want = fn(range(5))
    got = rt.function(fn, executor=executor)(rt.range(5))
    if isinstance(want, list):
        assert len(got) == len(want)
        assert [float(x) for x in got] == pytest.approx(want, rel=1e-6)
    else:
        assert int(got) == want


def test_the_graph_does_not_grow_with_the_list() -> None:
    graph = rt.function(written).get_concrete_function(rt.TensorSpec([5], rt.int32)).graph
    assert len(graph.nodes) < 10
    assert ag.convert(written)(range(5)) == written(range(5))
