"""Datasets of the same elements, of some of them, or in another order."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from runtime.core.errors import InvalidArgumentError
from runtime.core.positions import located
from runtime.core.pytree import assert_same_structure, map_structure
from runtime.data.elements import as_count, join_specs, splitter
from runtime.data.pipeline import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Element, Elements, Pipeline
from runtime.data.shuffling import Orders, shuffled
from runtime.function.variables.static_values import get_static_value

__all__ = ["Ordering"]

D = TypeVar("D", bound="Ordering")


class Ordering(Pipeline):
    """The transformations that select and order elements."""

    def take(self: D, count: Any, name: str | None = None) -> D:
        """The first `count` elements; all for -1 (`tf.data.Dataset.take`)."""
        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            n = int(arrays[-1])
            return itertools.islice(self._elements(arrays[:-1]), None if n < 0 else n)

        def size(total: int, n: int) -> int:
            if n < 0 or total == UNKNOWN_CARDINALITY:
                return total if n else 0
            return n if total == INFINITE_CARDINALITY else min(total, n)

        return self._counted(count, elements, size)

    def skip(self: D, count: Any, name: str | None = None) -> D:
        """All but the first `count` elements; none for -1 (`tf.data.Dataset.skip`)."""
        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            n = int(arrays[-1])
            return iter(()) if n < 0 else itertools.islice(self._elements(arrays[:-1]), n, None)

        def size(total: int, n: int) -> int:
            return 0 if n < 0 else max(total - n, 0) if total >= 0 else total

        return self._counted(count, elements, size)

    def repeat(self: D, count: Any = None, name: str | None = None) -> D:
        """All elements repeated `count` times, endlessly for None or -1 (`tf.data.Dataset.repeat`)."""
        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            n = int(arrays[-1])
            for _ in itertools.count() if n < 0 else range(n):
                empty = True
                for element in self._elements(arrays[:-1]):
                    empty = False
                    yield element
                if empty:
                    return

        def size(total: int, n: int) -> int:
            if n < 0:
                return INFINITE_CARDINALITY if total else 0
            return total * n if total >= 0 else total if n else 0

        return self._counted(-1 if count is None else count, elements, size)

    def shard(self: D, num_shards: Any, index: Any, name: str | None = None) -> D:
        """Every `num_shards`-th element, beginning with number `index` (`tf.data.Dataset.shard`).

        InvalidArgumentError unless 0 <= index < num_shards.
        """
        count, first = as_count(num_shards), as_count(index)
        known = [get_static_value(x) for x in (count, first)]

        def checked(shards: int, start: int) -> tuple[int, int]:
            if not 0 <= start < shards:
                raise located(InvalidArgumentError(
                    f"shard takes 0 <= index < num_shards, not index {start} of {shards}"))
            return shards, start

        total = self._cardinality
        if known[0] is not None and known[1] is not None:
            shards, start = checked(int(known[0]), int(known[1]))
            total = max(0, -(-(total - start) // shards)) if total >= 0 else total
        elif total >= 0:
            total = UNKNOWN_CARDINALITY

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            shards, start = checked(int(arrays[-2]), int(arrays[-1]))
            return itertools.islice(self._elements(arrays[:-2]), start, None, shards)

        return self._derived(elements, (count, first), cardinality=total)

    def _counted(self: D, count: Any, elements: Elements, size: Callable[[int, int], int]) -> D:
        number = as_count(count)
        known = get_static_value(number)
        total = UNKNOWN_CARDINALITY if known is None else size(self._cardinality, int(known))
        return self._derived(elements, (number,), cardinality=total)

    def shuffle(
        self: D, buffer_size: Any, seed: int | None = None, reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> D:
        """The elements in random order, each drawn from a buffer of the next `buffer_size` (`tf.data.Dataset.shuffle`).

        Each iteration has another order, unless `reshuffle_each_iteration` is False; with a `seed`, or after
        `rt.random.set_seed`, the orders are the same in every run of the program, and those of TF.
        """
        draws = Orders(seed, reshuffle_each_iteration is not False)

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            return shuffled(self._elements(arrays[:-1]), int(arrays[-1]), draws())

        size = as_count(buffer_size)
        known = get_static_value(size)
        if known is not None and known < 1:
            raise located(InvalidArgumentError(f"a shuffle buffer holds at least 1 element, not {known}"))
        return self._derived(elements, (size,), draws=[draws])

    def concatenate(self: D, dataset: Pipeline, name: str | None = None) -> D:
        """The elements of this dataset, then those of another of the same structure and dtypes
        (`tf.data.Dataset.concatenate`). TypeError or ValueError if these differ.
        """
        assert_same_structure(self.element_spec, dataset.element_spec)
        split = splitter((self, dataset))

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            mine, theirs = split(arrays)
            return itertools.chain(self._elements(mine), dataset._elements(theirs))

        sizes = self._cardinality, dataset._cardinality
        total = min(sizes) if min(sizes) < 0 else sum(sizes)
        total = INFINITE_CARDINALITY if INFINITE_CARDINALITY in sizes else total
        spec = map_structure(join_specs, self.element_spec, dataset.element_spec)
        return self._derived(elements, dataset.sources, spec, total, dataset.draws)
