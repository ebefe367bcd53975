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


def check(program: Program, *args: Any, second: bool = True) -> list[Any]:
    """Compare the first and second derivatives of a program that gives a scalar, by its float64 arguments. Gives the
    first ones."""
    on_numpy, staged = on_both(program).values()
    floats = tuple(k for k, x in enumerate(args) if isinstance(x, rt.Tensor) and x.dtype is rt.float64)
    expected = [differences(staged, args, k) for k in floats]
    derived = on_both(rt.grad(program, floats))
    found = {
        "grad": rt.grad(program, floats), "function(grad)": derived["native"],
        "function(grad) on numpy": derived["numpy"],
        "grad(function)": rt.grad(staged, floats), "tape": taped(program, floats), "tape of function": taped(
            staged, floats), "function of tape": rt.function(taped(program, floats)),
        "grad(function) on numpy": rt.grad(on_numpy, floats),
    }
    results = {name: gradient(*args) for name, gradient in found.items()}
    for name, result in results.items():
        for mine, want in zip(result, expected, strict=True):
            np.testing.assert_allclose(mine, want, rtol=1e-4, atol=1e-6, err_msg=name)
        for mine, want in zip(result, results["grad"], strict=True):
            np.testing.assert_allclose(mine, want, rtol=1e-9, atol=1e-12, err_msg=name)
    rng = np.random.default_rng(0)
    directions = [f64(rng.standard_normal(args[k].shape)) for k in floats]
    slope = sum(np.sum(x.numpy() * d.numpy()) for x, d in zip(results["grad"], directions, strict=True))
    for name, derivative in {
        "jvp": directional(program, floats, directions), "jvp of function": directional(staged, floats, directions),
        "function of jvp": rt.function(directional(program, floats, directions)),
    }.items():
        np.testing.assert_allclose(derivative(*args), slope, rtol=1e-9, atol=1e-12, err_msg=name)
    if second:
        _check_second(program, staged, derived["native"], args, floats, directions)
    return [x.numpy().tolist() for x in results["grad"]]


def _check_second(
    program: Program, staged: Program, derived: Program, args: tuple[Any, ...], floats: tuple[int, ...],
    directions: list[Any],
) -> None:
    """Derivatives of the derivative in a direction. `staged`, `derived`: the traced function of the program, and of its
    gradient."""
    def along(gradient: Program) -> Program:
        def slope(*args: Any) -> Any:
            parts = zip(gradient(*args), directions, strict=True)
            return sum([rt.reduce_sum(x * d) for x, d in parts], f64(0.0))
        return slope

    expected = [differences(along(rt.grad(staged, floats)), args, k) for k in floats]
    for name, slope in {
        "grad": along(rt.grad(program, floats)), "grad of function": along(rt.grad(staged, floats)),
        "function of grad": along(derived),
        "jvp": directional(program, floats, directions), "jvp of function": directional(staged, floats, directions),
    }.items():
        for way, gradient in {"eager": rt.grad(slope, floats), "staged": rt.function(rt.grad(slope, floats))}.items():
            for mine, want in zip(gradient(*args), expected, strict=True):
                np.testing.assert_allclose(mine, want, rtol=1e-3, atol=1e-5, err_msg=f"{way} of {name}")
