"""Random numbers that TensorFlow 2.21 draws, too, on CPUs: by digests of their bits."""
from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.ops import philox
from tests.traced_once import on

SEED = [3, -4]
FLOATS = {
    ("uniform", "float16"): "fe45ed45a9ac", ("uniform", "float32"): "b60b808423d0",
    ("uniform", "float64"): "354221ce0545", ("normal", "float16"): "29a897a44529",
    ("normal", "float32"): "0f6ef35ac5d6",
    ("truncated_normal", "float16"): "a920eaf802f1", ("truncated_normal", "float32"): "ca505091b2c2",
}
INTS = {
    (-7, 10**6, "int32"): "23b03c661c41", (-7, 10**6, "int64"): "11f4550bcbd6", (None, None, "int32"): "27915a0700ce",
    (None, None, "int64"): "291ca7ecef1c", (None, None, "uint32"): "27915a0700ce",
    (None, None, "uint64"): "291ca7ecef1c",
}


def digest(x: Any) -> str:
    return hashlib.sha256(np.asarray(x).tobytes()).hexdigest()[:12]


def ways(fn: Callable[[], Any]) -> list[Any]:
    return [fn(), *[on(executor, fn)() for executor in ("numpy", "native")]]


@pytest.mark.parametrize(("distribution", "dtype"), FLOATS)
def test_floats(distribution: str, dtype: str) -> None:
    draw = getattr(rt.random, f"stateless_{distribution}")
    for found in ways(lambda: draw([1003], SEED, dtype=dtype)):
        assert digest(found) == FLOATS[distribution, dtype]


def test_normal_numbers_of_64_bits_are_near_those_of_glibc() -> None:
    found = rt.random.stateless_normal([1003], SEED, dtype="float64").numpy()
    np.testing.assert_allclose(found[:3], [0.5278684414155569, 0.9311649829545875, -0.6852638555127535], rtol=1e-15)


@pytest.mark.parametrize(("low", "high", "dtype"), INTS)
def test_integers(low: Any, high: Any, dtype: str) -> None:
    for found in ways(lambda: rt.random.stateless_uniform([1003], SEED, low, high, dtype)):
        assert digest(found) == INTS[low, high, dtype]


def test_classes_and_seeds() -> None:
    logits = [[0.0, 1.0, 2.0], [1.0, -np.inf, 3.0]]
    for found in ways(lambda: rt.random.stateless_categorical(logits, 8, SEED)):
        assert found.numpy().tolist() == [[2, 0, 2, 2, 2, 2, 2, 2], [2, 2, 2, 2, 2, 2, 2, 2]]
    for found in ways(lambda: rt.random.split([1, 2], 3)):
        assert found.numpy().tolist() == [[1105988140, 1738052849], [-335576002, 370444179], [10670227, -246211131]]
    for found in ways(lambda: rt.random.fold_in([1, 2], 3)):
        assert found.numpy().tolist() == [1105988140, 3]


@pytest.mark.parametrize("way", [
    lambda fn: fn, rt.function, lambda fn: rt.function(fn, executor="numpy")], ids=["eager", "native", "numpy"])
def test_generators(way: Callable[[Any], Any]) -> None:
    g = rt.random.Generator.from_seed(1234)
    draws = [lambda: g.normal([5]), lambda: g.uniform([5], 0, 99, rt.int32), lambda: g.truncated_normal([5])]
    assert [digest(way(draw)()) for draw in draws] == ["0ff2255e0618", "9497fb518357", "e7857b430f73"]
    assert way(lambda: g.make_seeds(2))().numpy().tolist() == [[5394157901782015838, -1253747224176783485], [0, 0]]
    assert digest(g.split(2)[1].uniform([3])) == "27f7a915e4fb"
    assert g.state.numpy().tolist() == [6098, 0, 0]


def test_a_counter_carries() -> None:
    g = rt.random.Generator.from_state([-256, 4, 5])
    for draw in (lambda: g.uniform([1])), rt.function(lambda: g.uniform([1])):
        g.reset([-256, 4, 5])
        draw()
        assert g.state.numpy().tolist() == [0, 5, 5]


def test_lanes_draw_different_parts_of_a_generator() -> None:
    g = rt.random.Generator.from_seed(1)
    found = rt.vmap(lambda x: x + g.uniform([2]))(rt.zeros([3, 2])).numpy()
    again = rt.random.Generator.from_seed(1)
    np.testing.assert_array_equal(found, [again.uniform([2]) for _ in range(3)])
    np.testing.assert_array_equal(g.state, again.state)
    same = rt.vmap(lambda x: x + g.uniform([2]), randomness="same")(rt.zeros([3, 2])).numpy()
    np.testing.assert_array_equal(same, [same[0]] * 3)


def test_orders_of_rows() -> None:
    assert philox.permutation((3, 0), 11).tolist() == [10, 9, 8, 4, 6, 3, 7, 0, 5, 2, 1]
    assert philox.permutation((3, 5), 11).tolist() == [0, 9, 2, 8, 1, 10, 3, 5, 6, 7, 4]
    assert [philox.permutation((1, 2), n).tolist() for n in (0, 1)] == [[], [0]]
