"""Equal symbols are equal sizes: in programs of all kinds, with sizes of all kinds, and in every iteration of loops."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.backends.numpy import executable
from runtime.core.graph import Graph, Node, Value
from runtime.core.types import ListType
from runtime.optimize.symbolic_sizes import Sizes
from runtime.optimize.symbols import Size, Symbol

S = rt.TensorSpec


def graph_of(f: Callable[..., Any], *specs: Any) -> Graph:
    return rt.function(f, input_signature=[*specs]).get_concrete_function().optimized


class Watcher:
    """Checks, while a graph runs, that sizes are what their symbols say."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.now: dict[Symbol, int] = {}

    def see(self, value: Value, x: Any) -> None:
        shape = self.sizes.shapes.get(value)
        items = [item for item in x if item is not None] if isinstance(value.type, ListType) else [x]
        if shape is None:
            assert value not in self.sizes.shapes or not items, f"{value} has items"
            return
        for item in items:
            for axis, (size, found) in enumerate(zip(shape, np.shape(item), strict=True)):
                self.check(value, axis, size, found)
        if not isinstance(value.type, ListType):
            for size, number in zip(self.sizes.numbers.get(value, ()), np.reshape(x, -1)):
                if size is not None:
                    self.check(value, None, size, int(number))

    def check(self, value: Value, axis: int | None, size: Size, found: int) -> None:
        if isinstance(size, int):
            assert size == found, value
        elif size.key == (value, axis) or size.is_several:
            self.now[size] = found
        else:
            assert self.now.setdefault(size, found) == found, (value, size.key)

    def kernel(self, node: Node, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*xs: Any) -> Any:
            results = kernel(*xs)
            for value, x in zip(node.outputs, (results,) if node.single else results, strict=True):
                self.see(value, x)
            return results

        return watched

    def part(self, node: Node, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        graph = node.params[name]

        def watched(*xs: Any) -> Any:
            for symbol in [s for s in self.now if any(graph.contains(home) for home in s.homes)]:
                del self.now[symbol]
            for value, x in zip(graph.inputs, xs, strict=False):
                self.see(value, x)
            return function(*xs)

        return watched


def watch(graph: Graph, arrays: Sequence[Any], hopes: bool = False) -> Sizes:
    """Run a graph and check its symbols; returns the sizes."""
    sizes = Sizes(graph, hopes)
    watcher = Watcher(sizes)
    for value, x in zip(graph.inputs, arrays, strict=True):
        watcher.see(value, x)
    executable(graph, watcher)(*arrays)
    return sizes


def growing(x: Any) -> Any:
    """The state grows in each iteration."""
    y = x[:1]
    for _ in rt.range(3):
        y = rt.concat([y, x], 0)
    return y


def swapped(x: Any, y: Any) -> Any:
    """Two states of unknown sizes change places."""
    for _ in rt.range(3):
        x, y = y, x
    return rt.concat([x, y], 0)


def of_branches(x: Any, y: Any) -> Any:
    if rt.reduce_sum(x) > 0.0:
        z = x
    else:
        z = y
    return z + 1.0


def collected(x: Any) -> Any:
    """A list whose elements have one shape, and a list whose elements have several."""
    same, several = [], []
    for k in rt.range(4):
        same.append(x * 2.0)
        several.append(x[:k])
    return same[1] + same[2], several[1], several[3]


def filtered(x: Any) -> Any:
    y = rt.boolean_mask(x, x > 0.5)
    z = rt.boolean_mask(x, x > 0.7)
    return y * 2.0, z + 1.0, rt.tanh(y) + y


def derived(x: Any, w: Any) -> Any:
    with rt.GradientTape() as tape:
        tape.watch([x, w])
        y = rt.tanh(x @ w)
        for _ in rt.range(2):
            y = rt.tanh(y @ w) + rt.reduce_mean(y, 0, keepdims=True)
        total = rt.reduce_sum(rt.nn.softmax(y))
    return tape.gradient(total, [x, w])


def reshaped(x: Any) -> Any:
    n, m = rt.shape(x)[0], rt.shape(x)[1]
    flat = rt.reshape(x, [-1])
    back = rt.reshape(flat, [n, m])
    return rt.transpose(back) @ x, rt.reshape(x, [n * m]) + flat, rt.reshape(x, [1, -1, m]), x[:, 1:] + x[:, 1:]


def decomposed(x: Any) -> Any:
    s, u, v = rt.linalg.svd(x)
    q, r = rt.linalg.qr(x)
    return rt.matmul(u * s[None], v, transpose_b=True) + x, q @ r + x


PROGRAMS: list[tuple[Callable[..., Any], list[Any], list[list[tuple[int, ...]]]]] = [
    (growing, [S([None])], [[(4,)], [(1,)], [(0,)]]),
    (swapped, [S([None]), S([None])], [[(3,), (5,)], [(2,), (2,)]]),
    (of_branches, [S([None]), S([None])], [[(3,), (5,)], [(2,), (2,)]]),
    (collected, [S([None])], [[(5,)], [(3,)]]),
    (filtered, [S([None])], [[(9,)], [(0,)]]),
    (derived, [S([None, 3]), S([3, 3])], [[(4, 3), (3, 3)], [(1, 3), (3, 3)], [(0, 3), (3, 3)]]),
    (derived, [S([None, None]), S([None, None])], [[(4, 3), (3, 3)], [(1, 1), (1, 1)]]),
    (reshaped, [S([None, None])], [[(3, 4)], [(1, 1)], [(2, 1)]]),
    (decomposed, [S([None, None])], [[(3, 4)], [(4, 3)], [(2, 2)]]),
]


@pytest.mark.parametrize(("program", "specs", "shapes"), PROGRAMS, ids=lambda x: getattr(x, "__name__", None))
def test_symbols_are_sizes(program: Callable[..., Any], specs: list[Any], shapes: list[list[tuple[int, ...]]]) -> None:
    graph = graph_of(program, *specs)
    for some in shapes:
        arrays = [np.random.default_rng(0).random(shape, np.float32) for shape in some]
        watch(graph, arrays)


def test_a_wrong_symbol_is_found() -> None:
    graph = graph_of(lambda x, y: (x, y), S([None]), S([None]))
    sizes = Sizes(graph)
    sizes.shapes[graph.inputs[1]] = sizes.shapes[graph.inputs[0]]
    watcher = Watcher(sizes)
    watcher.see(graph.inputs[0], np.ones(3))
    with pytest.raises(AssertionError):
        watcher.see(graph.inputs[1], np.ones(4))


def result_sizes(f: Callable[..., Any], *specs: Any, hopes: bool = False) -> list[tuple[Size, ...]]:
    graph = graph_of(f, *specs)
    sizes = Sizes(graph, hopes)
    return [sizes.of(value) for value in graph.outputs]


def test_sizes_follow_through_ops() -> None:
    def f(x: Any) -> Any:
        n = rt.shape(x)[0]
        return (x, x @ rt.ones([3, 2]), rt.reduce_sum(x, 1), rt.reshape(x, [n, 3, 1]), rt.transpose(x)[0],
                rt.broadcast_to(x[:1], [n, 3]), rt.zeros([n]), rt.reshape(x, [-1, 1, 3]), rt.range(n))

    first, *others = result_sizes(f, S([None, 3]))
    assert isinstance(first[0], Symbol)
    assert all(shape[0] is first[0] for shape in others)


def test_products_of_sizes_are_symbols() -> None:
    (x,), (y,), (z, _) = result_sizes(
        lambda x: (rt.reshape(x, [-1]), rt.zeros([rt.shape(x, rt.int64)[0] * 6]) + 1.0, rt.reshape(x, [-1, 2])),
        S([None, 6]), hopes=True)
    assert x is y is not z


def test_different_sizes_are_different() -> None:
    for f in (lambda x: (x, x[1:]), lambda x: (x[1:], x[:-1]), lambda x: (x[::2], x[::3]),
              lambda x: (x, rt.concat([x, x], 0)), lambda x: (x, rt.boolean_mask(x, x > 0.0))):
        x, y = result_sizes(f, S([None]))
        assert x != y


def test_inputs_are_hoped_to_be_equal_where_they_meet() -> None:
    def f(x: Any, y: Any, z: Any) -> Any:
        return x * y, z

    graph = graph_of(f, S([None, 3]), S([None, 3]), S([None]))
    assert Sizes(graph).assumed == []
    assert Sizes(graph, hopes=True).assumed == [((1, 0), (0, 0))]


def test_sizes_saved_in_lists_are_known() -> None:
    """A derivative of a loop saves the sizes of each iteration."""
    graph = graph_of(derived, S([None, 3]), S([3, 3]))
    sizes = Sizes(graph)
    assert sizes.of(graph.outputs[0])[0] is sizes.of(graph.inputs[0])[0]
