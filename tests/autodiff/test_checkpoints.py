"""Loops that save every so many iterations, and run the others again."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from autodiff.derivatives import f64

import runtime as rt
from runtime.autodiff.rules.registry import VJP

pytestmark = pytest.mark.skipif(not {"sin", "list_get"} <= set(VJP), reason="the rules of ops are not there yet")


def counted(every: Any) -> Any:
    def program(x: Any, w: Any, n: Any) -> Any:
        s = x
        for i in rt.range(n):
            rt.autograph.set_loop_options(checkpoint=every)
            s = rt.sin(s * w) + x * rt.cast(i, rt.float64)
            if s > 6.0:
                break
        return s

    return program


def nested(every: Any) -> Any:
    def program(x: Any, w: Any, n: Any) -> Any:
        s = x
        for i in rt.range(n):
            rt.autograph.set_loop_options(checkpoint=every)
            s = rt.sin(s * w) + x * rt.cast(i, rt.float64)
            for _ in rt.range(i):
                s = s * w
        return s

    return program


def until(every: Any) -> Any:
    def program(x: Any, w: Any, n: Any) -> Any:
        s = x
        while s < 50.0:
            rt.autograph.set_loop_options(checkpoint=every)
            s = s + s * w * x
        return s

    return program


@pytest.mark.parametrize("every", [1, 3, 100, "sqrt"])
@pytest.mark.parametrize("make", [counted, nested, until])
def test_gradients_are_the_same(make: Any, every: Any) -> None:
    if make is until and every == "sqrt":
        return
    x, w = f64(0.8), f64(0.7)
    for n in map(rt.constant, (0, 1, 7)):
        for order in range(2):
            plain, saving = make(None), make(every)
            for _ in range(order):
                plain, saving = rt.grad(plain), rt.grad(saving)
            expected = rt.function(rt.grad(plain, (0, 1)))(x, w, n)
            for gradient in rt.function(rt.grad(saving, (0, 1))), rt.grad(rt.function(saving), (0, 1)):
                np.testing.assert_allclose(gradient(x, w, n), expected, rtol=1e-12, atol=1e-14)


def test_only_states_of_segments_are_saved_outside() -> None:
    graph = rt.function(rt.grad(counted(10))).get_concrete_function(f64(0.8), f64(0.7), rt.constant(100)).optimized
    outer = [node for node in graph.nodes if node.op.name == "reduce"][0]
    appended = [node for node in outer.params["body"].nodes if node.op.name == "list_append"]
    assert len(appended) == 2  # the state and the flag of `break`; the loop inside appends in the backward pass alone
    inner = [node for node in outer.params["body"].nodes if node.op.name == "reduce"][0]
    assert not [node for node in inner.params["body"].walk() if node.op.name == "list_append"]


def test_while_loop_by_hand() -> None:
    def program(x: Any) -> Any:
        _, y = rt.while_loop(lambda i, y: i < 10, lambda i, y: (i + 1, rt.sin(y) * x), (0, x), checkpoint_every=4)
        return y

    x = f64(1.3)
    np.testing.assert_allclose(rt.function(rt.grad(program))(x), rt.grad(program)(x), rtol=1e-12)


def test_options_that_are_none() -> None:
    for make, every, message in (
            (until, "sqrt", "number of iterations is not known before"), (counted, 0, "at least 1"),
            (counted, 2.5, "checkpoint is a number of iterations")):
        with pytest.raises(TypeError, match=message):
            rt.function(make(every))(f64(0.8), f64(0.7), rt.constant(3))
