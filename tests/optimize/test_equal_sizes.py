"""Sums over axes that were not repeated, and changes of a shape into itself, are dropped where sizes are equal."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.backends.numpy import run
from runtime.core.graph import Graph
from runtime.optimize import rewrite
from runtime.optimize.equal_sizes import simplified
from runtime.optimize.symbolic_sizes import Sizes

S = rt.TensorSpec


def both(f: Callable[..., Any], *specs: Any, hopes: bool = True) -> tuple[Graph, Graph]:
    """The graph of a function, and the simplified one."""
    graph = rt.function(f, input_signature=[*specs]).get_concrete_function().optimized
    new = rewrite(graph, rules=())
    simplified(new, Sizes(new, hopes))
    new.verify()
    return graph, new


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.walk()]


def loss(x: Any, y: Any) -> Any:
    with rt.GradientTape() as tape:
        tape.watch(x)
        total = rt.reduce_sum(rt.tanh(x @ rt.ones([3, 3])) * y)
    return tape.gradient(total, x)


def test_sums_of_what_was_not_repeated_are_dropped() -> None:
    before, after = both(loss, S([None, 3]), S([None, 3]))
    assert "reshape" in names(before) and "floordiv" in names(before)
    assert not {"reshape", "floordiv", "maximum", "reduce_sum"} & {*names(after)}
    x, y = np.random.default_rng(0).random((2, 5, 3), np.float32)
    for rows in (5, 1, 0):
        (old,), (new,) = run(before, [x[:rows], y[:rows]]), run(after, [x[:rows], y[:rows]])
        assert old.tobytes() == new.tobytes()


def test_without_hopes_they_stay() -> None:
    _, after = both(loss, S([None, 3]), S([None, 3]), hopes=False)
    assert "reduce_sum" in names(after)


def test_the_sum_of_minus_zero_is_zero() -> None:
    def f(x: Any, y: Any, ct: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            z = (x + y) * ct
        return tape.gradient(z, x)

    before, after = both(f, S([None]), S([None]), S([None]))
    assert "reduce_sum" in names(before) and "reduce_sum" not in names(after)
    arrays = [np.ones(3, np.float32), np.ones(3, np.float32), np.array([-0.0, np.nan, -np.inf], np.float32)]
    (old,), (new,) = run(before, arrays), run(after, arrays)
    assert old.tobytes() == new.tobytes()


def test_a_sum_of_reshaped_rows_is_no_repetition() -> None:
    """A reshape that may raise stays."""
    def f(x: Any) -> Any:
        n = rt.shape(x, rt.int64)[0]
        return rt.reduce_sum(rt.reshape(x, [2, n // 2]), 0), rt.reshape(x, [-1, n])[0]

    before, after = both(f, S([None]))
    assert names(after).count("reshape") == names(before).count("reshape")
    with pytest.raises(rt.errors.OpError):
        run(after, [np.ones(3, np.float32)])


def test_a_shape_changed_into_itself() -> None:
    def f(x: Any) -> Any:
        n = rt.shape(x)[0]
        return rt.tanh(rt.reshape(rt.broadcast_to(x, [n, 3]), [n, 3]))

    _, after = both(f, S([None, 3]))
    assert not {"reshape", "broadcast_to"} & {*names(after)}


def test_bodies_of_loops_are_simplified() -> None:
    def f(x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in rt.range(3):
                y = rt.tanh(y @ rt.ones([3, 3])) * y
            total = rt.reduce_sum(y)
        return tape.gradient(total, x)

    before, after = both(f, S([None, 3]))
    assert "reshape" in names(before) and "reshape" not in names(after)
    x = np.random.default_rng(0).random((4, 3), np.float32)
    assert run(before, [x])[0].tobytes() == run(after, [x])[0].tobytes()


def repeated(ct: Any, n: Any) -> Any:
    """As a derivative sums what was broadcast from a size that is given as a number."""
    have = rt.shape(ct, rt.int64)[0]
    want = rt.where(rt.equal(have, 1), have, n)
    return rt.reduce_sum(rt.reshape(ct, rt.stack([have // rt.maximum(want, 1), want])), 0)


def test_sizes_before_a_broadcast_that_are_given_as_numbers() -> None:
    before, after = both(repeated, S([None]), S([], rt.int64))
    assert "reshape" in names(before) and not {"reshape", "floordiv", "reduce_sum"} & {*names(after)}
    x = np.random.default_rng(0).random(5, np.float32)
    (old,), (new,) = run(before, [x, np.array(5)]), run(after, [x, np.array(5)])
    assert old.tobytes() == new.tobytes()
    _, general = both(repeated, S([None]), S([], rt.int64), hopes=False)
    assert "reduce_sum" in names(general)


def test_numbers_that_are_no_sizes_are_not_assumed_to_be() -> None:
    def f(x: Any, n: Any, m: Any) -> Any:
        return rt.where(rt.equal(n, 1), n, m) + rt.shape(x, rt.int64)[0] * n

    graph = rt.function(f, input_signature=[S([None]), S([], rt.int64), S([], rt.int64)]).get_concrete_function()
    assert Sizes(rewrite(graph.optimized, rules=()), True).assumed == []
