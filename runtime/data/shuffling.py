"""Elements in random order: those of TensorFlow's `ShuffleDataset`, by its seeds and by Philox."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from runtime.data.pipeline import Draws, Element
from runtime.ops.philox import blocks
from runtime.ops.random_sources import seeds_of

__all__ = ["Orders", "shuffled"]

_MOST = 1 << 10  # blocks of random words that are made at once


def _words(seed: int, second: int) -> Iterator[int]:
    """The words of 32 bits of Philox from two seeds."""
    first, count = 0, 16
    while True:
        yield from blocks([0, second, seed], np.arange(first, first + count, dtype=np.uint64)).reshape(-1).tolist()
        first, count = first + count, min(2 * count, _MOST)


class Orders(Draws):
    """The random words for one iteration after the other. `base` has both seeds."""

    def __init__(self, seed: int | None, anew: bool) -> None:
        super().__init__(0, anew)
        first, second = seeds_of(seed)
        self.base = first << 32 | second

    def __call__(self) -> Any:
        seed, second = self.base >> 32, self.base & 0xFFFFFFFF
        if self._anew:
            place = 2 * self.round
            pairs = blocks([0, second, seed], np.array([place // 4], np.uint64))[0].tolist()
            seed, second = pairs[place % 4:place % 4 + 2]
        self.round += self._anew
        return _words(seed, second)


def shuffled(elements: Iterator[Element], size: int, words: Iterator[int]) -> Iterator[Element]:
    """Each element drawn from a ring of the next `size` ones."""
    ring: list[Element] = []
    start = end = 0
    more = True
    while True:
        while more and end - start < size:
            element = next(elements, None)
            if element is None:
                more = False
            elif end < size:
                ring.append(element)
                end += 1
            else:
                ring[end % size] = element
                end += 1
        if start == end:
            return
        place = (start + next(words) % (end - start)) % size
        yield ring[place]
        ring[place] = ring[start % size]
        start += 1
