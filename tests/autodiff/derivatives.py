"""Derivatives of a program in every way there is, against differences and against each other."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from traced_once import on_both

import runtime as rt

Program = Callable[..., Any]
STEP = 1e-6


def f64(x: Any) -> Any:
    return rt.constant(x, rt.float64)


def differences(program: Program, args: tuple[Any, ...], k: int) -> Any:
    """The gradient of a program that gives a scalar by argument `k`, by central differences."""
    x = np.asarray(args[k].numpy())
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        values = []
        for step in (STEP, -STEP):
            moved = np.array(x)
            moved[place] += step
            values.append(float(program(*args[:k], f64(moved), *args[k + 1:])))
        found[place] = (values[0] - values[1]) / (2 * STEP)
    return found


def taped(program: Program, argnums: tuple[int, ...]) -> Program:
    """The gradient by a tape."""
    def gradient(*args: Any) -> Any:
        sources = [args[k] for k in argnums]
        with rt.GradientTape() as tape:
            tape.watch(sources)
            value = program(*args)
        return tape.gradient(value, sources, unconnected_gradients="zero")

    return gradient


def directional(program: Program, argnums: tuple[int, ...], directions: list[Any]) -> Program:
    """The derivative in a direction, in forward mode."""
    def derivative(*args: Any) -> Any:
        def inner(*own: Any) -> Any:
            new = list(args)
            for k, x in zip(argnums, own, strict=True):
                new[k] = x
            return program(*new)

        return rt.jvp(inner, [args[k] for k in argnums], directions)[1]

    return derivative


def check(program: Program, *points: tuple[Any, ...], second: bool = True) -> None:
    """Compare the first and second derivatives of a program that gives a scalar, by its float64 arguments, at points,
    which are arguments of the same types. The graph of the gradient is closed, and native."""
    on_numpy, staged = on_both(program).values()
    floats = tuple(k for k, x in enumerate(points[0]) if isinstance(x, rt.Tensor) and x.dtype is rt.float64)
    derived = on_both(rt.grad(program, floats))
    gradients = {
        "grad": rt.grad(program, floats), "function(grad)": derived["native"],
        "function(grad) on numpy": derived["numpy"],
        "grad(function)": rt.grad(staged, floats), "tape": taped(program, floats), "tape of function": taped(
            staged, floats), "grad(function) on numpy": rt.grad(on_numpy, floats),
    }
    rng = np.random.default_rng(0)
    directions = [f64(rng.standard_normal(points[0][k].shape)) for k in floats]
    pushed, pushed_staged = (directional(fn, floats, directions) for fn in (program, staged))
    tape_and_jvp = rt.function(lambda *args: (gradients["tape"](*args), pushed(*args)))
    for args in points:
        expected = [differences(staged, args, k) for k in floats]
        results = {name: gradient(*args) for name, gradient in gradients.items()}
        results["function of tape"], of_jvp = tape_and_jvp(*args)
        for name, result in results.items():
            for mine, want in zip(result, expected, strict=True):
                np.testing.assert_allclose(mine, want, rtol=1e-4, atol=1e-6, err_msg=name)
            for mine, want in zip(result, results["grad"], strict=True):
                np.testing.assert_allclose(mine, want, rtol=1e-9, atol=1e-12, err_msg=name)
        slope = sum(np.sum(x.numpy() * d.numpy()) for x, d in zip(results["grad"], directions, strict=True))
        for name, derivative in {
            "jvp": pushed(*args), "jvp of function": pushed_staged(*args), "function of jvp": of_jvp,
        }.items():
            np.testing.assert_allclose(derivative, slope, rtol=1e-9, atol=1e-12, err_msg=name)
    derived["native"].get_concrete_function(*points[0]).graph.verify()
    assert "calls Python" not in derived["native"].explain_native().replace("nothing calls Python", "")
    if second:
        _check_second(program, staged, derived["native"], points, floats, directions)


def _check_second(
    program: Program, staged: Program, derived: Program, points: tuple[tuple[Any, ...], ...], floats: tuple[int, ...],
    directions: list[Any],
) -> None:
    """Derivatives of the derivative in a direction. `staged`, `derived`: the traced function of the program, and of its
    gradient."""
    def along(gradient: Program) -> Program:
        def slope(*args: Any) -> Any:
            parts = zip(gradient(*args), directions, strict=True)
            return sum([rt.reduce_sum(x * d) for x, d in parts], f64(0.0))
        return slope

    first = along(rt.grad(staged, floats))
    second = {name: rt.grad(slope, floats) for name, slope in {
        "grad": along(rt.grad(program, floats)), "grad of function": first, "function of grad": along(derived),
        "jvp": directional(program, floats, directions), "jvp of function": directional(staged, floats, directions),
    }.items()}

    def every(*args: Any) -> list[Any]:
        return [gradient(*args) for gradient in second.values()]

    in_one_graph = rt.function(every)
    for args in points:
        expected = [differences(first, args, k) for k in floats]
        for way, found in {"eager": every(*args), "staged": in_one_graph(*args)}.items():
            for name, result in zip(second, found, strict=True):
                for mine, want in zip(result, expected, strict=True):
                    np.testing.assert_allclose(mine, want, rtol=1e-3, atol=1e-5, err_msg=f"{way} of {name}")
