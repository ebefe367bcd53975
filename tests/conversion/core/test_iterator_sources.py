"""What is left of an iterator can be run over again, and does not move it."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autograph.core.iterator_sources import source_of

ITERATORS: dict[str, Callable[[], Iterator[Any]]] = {
    "list": lambda: iter([3, 1, 2]),
    "tuple": lambda: iter((3, 1, 2)),
    "range": lambda: iter(range(2, 12, 3)),
    "long range": lambda: iter(range(1 << 70, (1 << 70) + 3)),
    "array": lambda: iter(np.arange(3)),
    "reversed list": lambda: reversed([3, 1, 2]),
    "reversed tuple": lambda: reversed((3, 1, 2)),
    "reversed range": lambda: reversed(range(5)),
    "enumerate": lambda: enumerate([3, 1, 2], 7),
    "zip": lambda: zip([3, 1, 2], (4, 5, 6, 7)),
    "strict zip": lambda: zip([3, 1], (4, 5), strict=True),
    "nested": lambda: enumerate(zip(reversed([3, 1, 2]), enumerate(range(9)))),
}


@pytest.mark.parametrize("taken", [0, 1, 2])
@pytest.mark.parametrize("kind", ITERATORS)
def test_the_rest(kind: str, taken: int) -> None:
    iterator, same = ITERATORS[kind](), ITERATORS[kind]()
    for _ in range(taken):
        next(iterator)
        next(same)
    source = source_of(iterator)
    assert source is not None
    rest = [*same]
    assert [*source] == rest == [*source]
    assert [*source.after(1)] == rest[1:]
    assert [*iterator] == rest


def test_a_product() -> None:
    iterator = itertools.product([3, 1], range(3), repeat=2)
    source, items = source_of(iterator), [*itertools.product([3, 1], range(3), repeat=2)]
    assert source is not None
    assert [*source] == items and [*source.after(5)] == items[5:] and [*source.after(5).after(2)] == items[7:]
    assert next(iterator) == items[0] and source_of(iterator) is None


def test_lengths_that_a_strict_zip_refuses() -> None:
    source = source_of(zip([1], [2, 3], strict=True))
    assert source is not None
    with pytest.raises(ValueError, match="longer"):
        [*source]


class Indexed:
    def __getitem__(self, index: int) -> int:
        return range(3)[index]

    def __len__(self) -> int:
        return 3


def test_iterators_without_a_source() -> None:
    shared = iter([1, 2, 3])
    others = (
        [1], range(3), iter({1: 2}), (x for x in [1]), map(abs, [1]), zip(shared, shared), zip(), zip([1], iter({2})),
        enumerate(x for x in [1]), iter(Indexed()), reversed(Indexed()))
    assert [source_of(other) for other in others] == [None] * len(others)
