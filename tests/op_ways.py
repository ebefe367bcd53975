"""An op or a composition of ops three ways: eager, in a graph that knows the shapes, and in a graph that does not."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import runtime as rt
from runtime.backends.numpy import run
from runtime.core.graph import Graph
from runtime.core.pruning import prune
from runtime.core.tensor import EagerTensor
from runtime.core.trace import add_input, set_outputs, tracing
from runtime.core.types import TensorType, type_of_array
from runtime.numbers.widen_python_numbers import with_python_numbers


def eager(function: Callable[..., Any], *arrays: Any) -> list[Any]:
    return [np.asarray(x) for x in rt.nest.flatten(function(*map(EagerTensor, arrays)))]


def staged(function: Callable[..., Any], *arrays: Any, known: bool = True) -> list[Any]:
    """The results of the traced, verified, pruned and run graph, which fit the types that it states."""
    graph = Graph("test")
    with tracing(graph):
        types = [type_of_array(a) if known else TensorType(rt.as_dtype(a.dtype), (None,) * a.ndim) for a in arrays]
        set_outputs(graph, rt.nest.flatten(function(*[add_input(graph, type) for type in types])))
    graph.verify()
    prune(graph)
    graph.verify()
    results = list(run(with_python_numbers(graph), arrays))
    for value, result in zip(graph.outputs, results, strict=True):
        assert value.type.accepts(type_of_array(result)), f"the graph says {value.type}, not {type_of_array(result)}"
    return results


def agree(got: list[Any], want: list[Any]) -> None:
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-6 if a.dtype == np.float32 else 1e-11, atol=1e-6)


def check(function: Callable[..., Any], expected: Callable[..., Any], *arrays: Any, unknown: bool = True) -> None:
    want = [np.asarray(x) for x in rt.nest.flatten(expected(*arrays))]
    agree(eager(function, *arrays), want)
    agree(staged(function, *arrays), want)
    if unknown:
        agree(staged(function, *arrays, known=False), want)


# Arguments.

RNG = np.random.default_rng(0)
V = RNG.uniform(-2, 2, 5).astype(np.float32)
M = RNG.uniform(-2, 2, (3, 4)).astype(np.float32)
M2 = RNG.uniform(0.5, 2, (3, 4)).astype(np.float32)
T = RNG.uniform(-2, 2, (2, 3, 4)).astype(np.float32)
D = RNG.uniform(-2, 2, (3, 3))
E = np.zeros((0, 4), np.float32)
S = np.float32(1.5)
N = np.array([3, -1, 2, 0, 7], np.int32)
J = np.array([[2, 0, 1], [1, 1, 0]], np.int64)
B = np.array([True, False, True, True, False])
MB = M > 0
C = (V + 1j * V[::-1]).astype(np.complex64)


def f32(x: Any) -> Any:
    return np.asarray(x, np.float32)


def i32(x: Any) -> Any:
    return np.asarray(x, np.int32)
