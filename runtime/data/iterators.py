"""Iterators of datasets, in Python and in graphs."""
from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from runtime.core.errors import OutOfRangeError
from runtime.core.pytree import flatten, pack_sequence_as
from runtime.core.tensor import EagerList, EagerTensor
from runtime.core.trace import apply, current_graph
from runtime.core.types import ListType
from runtime.data.pipeline import DatasetSpec, Element, Elements, array_of, packed, types_of
from runtime.ops.datasets import NEXT, START
from runtime.staging.values.iterables import Staged, Stream

__all__ = ["DatasetIterator"]


class DatasetIterator(Staged):
    """An iterator over the elements of a dataset: the result of `iter(dataset)` (`tf.data.Iterator`).

    In a graph that is being traced `next` is an effect, which takes an element each time the run gets there; after the
    last it raises OutOfRangeError.
    """

    def __init__(self, sources: Sequence[Any], element_spec: Any, elements: Elements) -> None:
        self.element_spec = element_spec
        self.types: tuple[Any, ...] = tuple(types_of(self.element_spec))
        self._nested = any(isinstance(leaf, DatasetSpec) for leaf in flatten(element_spec))
        self._elements = elements
        self.name = "iterator"
        self._of_graph = current_graph() is not None
        self._thread = threading.local()  # the position of a graph's iterator, for each thread that runs it
        self._stream: Iterator[Element] = iter(())
        if self._of_graph:
            apply(START, *sources, iterator=self)
        else:
            self.start(*map(array_of, sources))

    def start(self, *sources: Any) -> None:
        """Implements the op `iterator_start`."""
        if self._of_graph:
            self._thread.stream = self._elements(sources)
        else:
            self._stream = self._elements(sources)

    def _current(self) -> Iterator[Element]:
        return self._thread.stream if self._of_graph else self._stream

    def advance(self) -> Element:
        """Implements the op `iterator_next`: the arrays of the next element."""
        try:
            return tuple([np.asarray(x) for x in next(self._current())])
        except StopIteration:
            raise OutOfRangeError("End of sequence") from None

    def get_next(self) -> Any:
        """The next element. OutOfRangeError after the last (`tf.data.Iterator.get_next`)."""
        return pack_sequence_as(self.element_spec, apply(NEXT, iterator=self))

    def __next__(self) -> Any:
        if current_graph() is not None:
            return self.get_next()
        with np.errstate(all="ignore"):
            element = next(self._current())
        if not self._nested:
            return pack_sequence_as(self.element_spec, map(EagerTensor.own, element))
        return packed(self.element_spec, [
            EagerList(x, type) if isinstance(type, ListType) else EagerTensor.own(x)
            for x, type in zip(element, self.types, strict=True)])

    def __iter__(self) -> DatasetIterator:
        return self

    def __iterable__(self) -> Stream:
        return Stream((), self.element_spec, lambda arrays: self._current())

    def __repr__(self) -> str:
        return f"<iterator of a dataset, element_spec={self.element_spec!r}>"
