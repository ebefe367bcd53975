"""Loops that save every so many iterations, and run the others again."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from autodiff.derivatives import f64

import runtime as rt
from runtime.autodiff.binomial import split
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


@pytest.mark.parametrize("make", [counted, nested, until])
def test_gradients_are_the_same(make: Any) -> None:
    x, w = f64(0.8), f64(0.7)
    ways: list[Any] = [1, 3, "sqrt", "binomial", ("binomial", 2)]
    for order, executor in ((0, "native"), (1, "numpy")):
        def derived(every: Any) -> Any:
            return rt.grad(make(every)) if order else make(every)

        reference = rt.function(rt.grad(derived(None), (0, 1)), executor="numpy")
        expected = [reference(x, w, rt.constant(n)) for n in (0, 1, 7)]
        for every in ways:
            if make is until and every == "sqrt":
                continue
            for gradient in (rt.function(rt.grad(derived(every), (0, 1)), executor=executor),
                             rt.grad(rt.function(derived(every), executor=executor), (0, 1))):
                found = [gradient(x, w, rt.constant(n)) for n in (0, 1, 7)]
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14, err_msg=str(every))


def test_only_states_of_segments_are_saved_outside() -> None:
    graph = rt.function(rt.grad(counted(10))).get_concrete_function(f64(0.8), f64(0.7), rt.constant(100)).optimized
    outer = [node for node in graph.nodes if node.op.name == "reduce"][0]
    appended = [node for node in outer.params["body"].nodes if node.op.name == "list_append"]
    assert len(appended) == 2  # the state and the flag of `break`; the loop inside appends in the backward pass alone
    inner = [node for node in outer.params["body"].nodes if node.op.name == "reduce"][0]
    assert not [node for node in inner.params["body"].walk() if node.op.name == "list_append"]


@pytest.mark.parametrize("limit", [None, 0, 3, 7, 100])
def test_while_loop_by_hand(limit: int | None) -> None:
    def program(x: Any) -> Any:
        _, y = rt.while_loop(lambda i, y: i < 10, lambda i, y: (i + 1, rt.sin(y) * x), (0, x), checkpoint_every=4,
                             maximum_iterations=limit)
        return y

    x = f64(1.3)
    np.testing.assert_allclose(rt.function(rt.grad(program))(x), rt.grad(program)(x), rtol=1e-12)
    second = rt.function(rt.grad(rt.grad(program)), executor="numpy")
    np.testing.assert_allclose(second(x), rt.grad(rt.grad(program))(x), rtol=1e-12)


@pytest.mark.parametrize("every", [2, "binomial", ("binomial", 1)])
@pytest.mark.parametrize("stop", [False, True])
def test_datasets(stop: bool, every: Any) -> None:
    dataset = rt.data.Dataset.from_tensor_slices(np.linspace(0.1, 0.7, 7)).map(lambda v: v * 1.5)

    def make(every: Any) -> Any:
        def program(x: Any) -> Any:
            y = x
            for v in dataset:
                rt.autograph.set_loop_options(checkpoint=every)
                y = rt.sin(y) * v + x
                if stop and y > 2.1:
                    break
            return y * y

        return program

    x = f64(1.3)
    expected = rt.function(rt.grad(make(None)), executor="numpy")(x)
    for executor in ("numpy", "native"):
        np.testing.assert_allclose(rt.grad(rt.function(make(every), executor=executor))(x), expected, rtol=1e-12)
    expected, found = [rt.function(rt.grad(rt.grad(make(e))), executor="numpy")(x) for e in (None, every)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("every", [2, "binomial"])
def test_variables_are_read_before_the_loop(every: Any) -> None:
    """What the backward pass runs again sees the values that there were."""
    w = rt.Variable(0.7, dtype=rt.float64)

    @rt.function
    def program(x: Any, every: Any) -> Any:
        with rt.GradientTape() as tape:
            y = x
            for i in rt.range(7):
                rt.autograph.set_loop_options(checkpoint=every)
                if i > 2:
                    y = rt.sin(y) * w
            w.assign(9.0)
        return tape.gradient(y, w)

    expected = program(f64(1.3), None)
    w.assign(0.7)
    np.testing.assert_allclose(program(f64(1.3), every), expected, rtol=1e-12)


def test_effects_are_not_run_again() -> None:
    v = rt.Variable(0.5)

    def drawing(x: Any) -> Any:
        for _ in rt.range(5):
            rt.autograph.set_loop_options(checkpoint=2)
            x = rt.sin(x) * rt.random.uniform([])
        return x

    def assigning(x: Any) -> Any:
        for _ in rt.range(5):
            rt.autograph.set_loop_options(checkpoint="binomial")
            x = rt.sin(x) * v
            v.assign(0.3)
        return x

    for program, what in ((drawing, "draws random numbers"), (assigning, "assigns a variable")):
        with pytest.raises(rt.errors.UnimplementedError, match=f"test_checkpoints.py.*runs iterations again .* {what}"):
            rt.function(rt.grad(program))(1.0)


def test_lists_are_no_binomial_checkpoints() -> None:
    def program(x: Any) -> Any:
        found = []
        for _ in rt.range(5):
            rt.autograph.set_loop_options(checkpoint="binomial")
            x = rt.sin(x)
            found.append(x)
        return rt.reduce_sum(rt.stack(found))

    with pytest.raises(rt.errors.UnimplementedError, match="keep states in tensors, but a list is among"):
        rt.function(rt.grad(program))(1.0)


def test_the_schedule_is_that_of_revolve() -> None:
    """As few runs forward as Griewank and Walther prove to be possible."""
    def runs(length: int, snapshots: int) -> int:
        if length == 1:
            return 0
        if snapshots == 1:
            return length * (length - 1) // 2
        first = int(split(np.int64(length), np.int64(snapshots)))
        assert 0 < first < length
        return first + runs(length - first, snapshots - 1) + runs(first, snapshots)

    def least(length: int, snapshots: int) -> int:
        r = next(r for r in range(length) if math.comb(snapshots + r, r) >= length)
        return r * length - math.comb(snapshots + r, r - 1) if r else 0

    for length in (1, 2, 3, 9, 10, 11, 40, 56, 57):
        for snapshots in (1, 2, 3, 6):
            assert runs(length, snapshots) == least(length, snapshots), (length, snapshots)


def test_binomial_checkpoints_bound_memory() -> None:
    def program(x: Any, n: Any) -> Any:
        for _ in rt.range(n):
            rt.autograph.set_loop_options(checkpoint=("binomial", 6))
            x = rt.sin(x)
        return rt.reduce_sum(x)

    x = rt.ones([1000], rt.float64)
    graph = rt.function(rt.grad(program)).get_concrete_function(x, rt.constant(100)).optimized
    types = {str(value.type) for node in graph.walk() for value in node.outputs}
    assert not any("list" in name for name in types), types
    assert "float64[7,1000]" in types


def test_options_that_are_none() -> None:
    for make, every, message in (
            (until, "sqrt", "number of iterations is not known before"), (counted, 0, "at least 1"),
            (counted, ("binomial", 0), "checkpoint is a number of snapshots, at least 1"),
            (counted, 2.5, "checkpoint is a number of iterations")):
        with pytest.raises(TypeError, match=message):
            rt.function(make(every))(f64(0.8), f64(0.7), rt.constant(3))
