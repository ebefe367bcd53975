"""Draws from Python's and NumPy's generators in traced functions."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

GENERATOR, STATE, RANDOM = np.random.default_rng(0), np.random.RandomState(1), random.Random(2)

DRAWS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "rand": (lambda x: x + np.random.rand(), "rt.random.uniform"),
    "normal": (lambda x: x + GENERATOR.normal(), "rt.random.normal"),
    "randint": (lambda x: x + STATE.randint(5), "rt.random.uniform(..., dtype=rt.int32)"),
    "random": (lambda x: x + random.random(), "rt.random.uniform"),
    "gauss": (lambda x: x + RANDOM.gauss(0, 1), "rt.random.normal"),
    "choice": (lambda x: random.choice([x, 2 * x]), "rt.random.categorical"),
    "gamma": (lambda x: GENERATOR.gamma(x), "rt.random"),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_is_an_error_with_its_counterpart(name: str) -> None:
    function, counterpart = DRAWS[name]
    before = RANDOM.getstate()
    traced = rt.function(function)
    for _ in range(2):
        with pytest.raises(rt.errors.StagingError) as caught:
            traced(rt.constant(1.0))
        text = str(caught.value)
        assert f"'{name}' draws a random number" in text and "test_random_draws.py" in text
        assert f"Draw with {counterpart}, or" in text
    assert name != "gamma" or RANDOM.getstate() == before


def test_a_draw_in_a_staged_loop() -> None:
    @rt.function
    def f(n):
        total = 0.0
        for _ in range(n):
            total += np.random.rand()
        return total

    with pytest.raises(rt.errors.StagingError, match="'rand' draws a random number from a RandomState"):
        f(rt.constant(3))


def test_generators_that_are_passed() -> None:
    @rt.function
    def f(x, generator):
        return x + generator.random()

    for generator in GENERATOR, STATE, RANDOM:
        with pytest.raises(rt.errors.StagingError, match="'random' draws"):
            f(rt.constant(1.0), generator)


def test_generators_that_are_made_or_seeded_in_the_function() -> None:
    def f(x):
        np.random.seed(3)
        random.seed(4)
        made = np.random.default_rng(0)
        return x + np.random.rand() + random.random() + made.normal() + random.Random(5).random()

    traced, x = rt.function(f), rt.constant(1.0, rt.float64)
    assert [float(traced(x)) for _ in range(2)] == pytest.approx([float(f(1.0))] * 2, rel=1e-12)


def test_initial_values_of_variables_may_be_drawn() -> None:
    class Layer:
        w = None

        @rt.function
        def __call__(self, x):
            if self.w is None:
                self.w = rt.Variable(np.random.rand(3).astype(np.float32))
            return x * self.w

    layer = Layer()
    first = layer(rt.constant(1.0)).numpy()
    assert len({*first}) == 3 and (layer(rt.constant(1.0)).numpy() == first).all()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("shape", [(12,), (4, 3)])
def test_an_array_is_shuffled(make: Any, shape: tuple[int, ...]) -> None:
    def f(a):
        make(7).shuffle(a)
        return a

    found, expected = np.arange(12).reshape(shape), np.arange(12).reshape(shape)
    rt.function(f)(found)
    f(expected)
    assert (found == expected).all()
