"""Orders of elements, which are TensorFlow 2.21's for the same seeds."""
from __future__ import annotations

from typing import Any

import pytest

import runtime as rt
from runtime.ops import random_sources

Dataset = rt.data.Dataset


@pytest.fixture(autouse=True)
def _no_global_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_sources, "_seeds", random_sources._Seeds())


def orders(dataset: Any, count: int = 2) -> list[list[int]]:
    return [[int(x) for x in dataset] for _ in range(count)]


def test_orders_of_a_seed() -> None:
    numbers = Dataset.range(10)
    assert orders(numbers.shuffle(4, seed=1), 3) == [
        [0, 4, 5, 1, 2, 7, 9, 8, 6, 3],
        [2, 1, 3, 4, 6, 8, 7, 9, 5, 0],
        [3, 1, 0, 4, 6, 5, 9, 8, 2, 7]]
    assert orders(numbers.shuffle(100, seed=7, reshuffle_each_iteration=False)) == [
        [7, 2, 0, 9, 8, 4, 5, 1, 6, 3],
        [7, 2, 0, 9, 8, 4, 5, 1, 6, 3]]
    assert orders(Dataset.range(8).shuffle(3, seed=-3)) == [
        [1, 0, 3, 4, 2, 7, 6, 5],
        [0, 3, 1, 4, 5, 7, 6, 2]]


def test_orders_of_the_global_seed() -> None:
    rt.random.set_seed(9)
    assert orders(Dataset.range(10).shuffle(4, seed=1)) == [
        [0, 3, 4, 2, 7, 8, 5, 6, 9, 1],
        [1, 3, 5, 0, 2, 4, 7, 9, 6, 8]]
    assert orders(Dataset.range(8).shuffle(4)) == [
        [3, 2, 5, 6, 0, 4, 7, 1],
        [0, 3, 4, 6, 7, 5, 2, 1]]
    assert orders(Dataset.range(8).shuffle(8)) == [
        [7, 0, 4, 2, 3, 1, 6, 5],
        [5, 4, 3, 6, 2, 0, 1, 7]]
    rt.random.set_seed(0)
    assert orders(Dataset.range(8).shuffle(4, seed=0)) == [
        [2, 0, 5, 6, 1, 7, 4, 3],
        [2, 0, 1, 4, 3, 6, 7, 5]]


def test_orders_without_a_seed() -> None:
    first, second = (orders(Dataset.range(50).shuffle(50)) for _ in range(2))
    assert len({*map(tuple, first), *map(tuple, second)}) == 4


def test_an_iterator_goes_on_where_it_was() -> None:
    dataset = Dataset.range(12).shuffle(5, seed=3)
    orders(dataset, 1)
    iterator = iter(dataset)
    before = [int(next(iterator)) for _ in range(4)]
    state = iterator.state()
    rest = [int(x) for x in iterator]
    again = iter(Dataset.range(12).shuffle(5, seed=8))
    again.restore(state)
    assert [int(x) for x in again] == rest and sorted(before + rest) == list(range(12))
