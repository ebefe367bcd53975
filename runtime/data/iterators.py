"""Iterators of datasets, in Python and in graphs."""
from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from runtime.core.errors import InvalidArgumentError, OutOfRangeError, UnimplementedError
from runtime.core.positions import located
from runtime.core.pytree import flatten, pack_sequence_as
from runtime.core.tensor import EagerList, EagerTensor
from runtime.core.trace import apply, current_graph
from runtime.core.types import ListType
from runtime.data.pipeline import DatasetSpec, Draws, Element, Elements, array_of, packed, types_of
from runtime.ops.datasets import NEXT, START
from runtime.staging.values.iterables import Staged, Stream

__all__ = ["DatasetIterator", "OptionalElement"]


class OptionalElement:
    """An element, or none (`tf.experimental.Optional`)."""

    def __init__(self, elements: Sequence[Any], element_spec: Any) -> None:
        self._elements = elements
        self.element_spec = element_spec

    def has_value(self, name: str | None = None) -> EagerTensor:
        """Whether there is one: bool[]."""
        return EagerTensor(np.bool_(bool(self._elements)))

    def get_value(self, name: str | None = None) -> Any:
        """The element. InvalidArgumentError if there is none."""
        if not self._elements:
            raise located(InvalidArgumentError("The given optional does not have a value."))
        return self._elements[0]

    def __repr__(self) -> str:
        return f"<{'an element' if self._elements else 'no element'}, element_spec={self.element_spec!r}>"


class DatasetIterator(Staged):
    """An iterator over the elements of a dataset: the result of `iter(dataset)` (`tf.data.Iterator`).

    In a graph that is being traced `next` is an effect, which takes an element each time it runs; after the last
    element it raises OutOfRangeError.
    """

    def __init__(
        self, sources: Sequence[Any], element_spec: Any, elements: Elements, draws: Sequence[Draws] = ()
    ) -> None:
        self.element_spec = element_spec
        self.types: tuple[Any, ...] = tuple(types_of(self.element_spec))
        self._nested = any(isinstance(leaf, DatasetSpec) for leaf in flatten(element_spec))
        self._elements = elements
        self.name = "iterator"
        self._of_graph = current_graph() is not None
        self._thread = threading.local()  # an iterator of a graph has a position in each thread that runs the graph
        self._stream: Iterator[Element] = iter(())
        self._taken = 0
        if self._of_graph:
            apply(START, *sources, iterator=self)
        else:
            self._sources, self._draws = sources, draws
            self._begin()

    def _begin(self) -> None:
        self._began = [(draws.base, draws.round) for draws in self._draws]
        self._taken = 0
        self.start(*map(array_of, self._sources))

    def state(self) -> Any:
        """The position, as int64[n], from which `restore` can resume."""
        self._outside("saved")
        return np.array([self._taken, *itertools.chain.from_iterable(self._began)], np.int64)

    def restore(self, state: Any) -> None:
        """Resume at the position `state` of an iterator over the same dataset: the elements before it are skipped.
        ValueError for the state of another dataset."""
        self._outside("restored")
        taken, *numbers = map(int, state)
        if len(numbers) != 2 * len(self._draws):
            raise ValueError("this is the position of an iterator over another dataset: the number of its shuffles "
                             f"is {len(numbers) // 2}, not {len(self._draws)}")
        for draws, base, turn in zip(self._draws, numbers[::2], numbers[1::2], strict=True):
            draws.base, draws.round = base, turn
        self._begin()
        for number in range(taken):
            if next(self._current(), None) is None:
                raise ValueError(f"this is the position after element {taken} of a dataset, which now has {number}")
        self._taken = taken

    def _outside(self, what: str) -> None:
        if self._of_graph:
            raise ValueError(f"the iterator of a traced function begins anew in each run, so it is not {what}")

    def start(self, *sources: Any) -> None:
        """Implements the op `iterator_start`."""
        if self._of_graph:
            self._thread.stream = self._elements(sources)
        else:
            self._stream = self._elements(sources)

    def _current(self) -> Iterator[Element]:
        return self._thread.stream if self._of_graph else self._stream

    def _advance(self) -> Element:
        element = next(self._current())
        self._taken += 1
        return element

    def advance(self) -> Element:
        """Implements the op `iterator_next`: the arrays of the next element."""
        try:
            return tuple([np.asarray(x) for x in self._advance()])
        except StopIteration:
            raise OutOfRangeError("End of sequence") from None

    def get_next(self) -> Any:
        """The next element. OutOfRangeError after the last (`tf.data.Iterator.get_next`)."""
        return pack_sequence_as(self.element_spec, apply(NEXT, iterator=self))

    def get_next_as_optional(self) -> OptionalElement:
        """The next element, or that there is none (`tf.data.Iterator.get_next_as_optional`). UnimplementedError in a
        traced function."""
        if current_graph() is not None:
            raise located(UnimplementedError(
                "get_next_as_optional is not there in a traced function",
                remedy="Loop over the iterator; or catch OutOfRangeError of get_next."))
        return OptionalElement([*itertools.islice(self, 1)], self.element_spec)

    def __next__(self) -> Any:
        if current_graph() is not None:
            return self.get_next()
        with np.errstate(all="ignore"):
            element = self._advance()
        if not self._nested:
            return pack_sequence_as(self.element_spec, map(EagerTensor.own, element))
        return packed(self.element_spec, [
            EagerList(x, type) if isinstance(type, ListType) else EagerTensor.own(x)
            for x, type in zip(element, self.types, strict=True)])

    def __iter__(self) -> DatasetIterator:
        return self

    def __iterable__(self) -> Stream:
        return Stream((), self.element_spec, lambda arrays: iter(self._advance, None))

    def __repr__(self) -> str:
        return f"<iterator of a dataset, element_spec={self.element_spec!r}>"
