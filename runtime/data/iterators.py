"""Iterators of datasets, in Python and in graphs."""
from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from runtime.core.errors import InvalidArgumentError, OutOfRangeError
from runtime.core.positions import located
from runtime.core.pytree import flatten, map_structure, pack_sequence_as
from runtime.core.tensor import EagerList, EagerTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor, current_graph
from runtime.core.types import ListType, TensorSpec
from runtime.data.pipeline import DatasetSpec, Draws, Element, Elements, array_of, packed, types_of
from runtime.ops.datasets import NEXT, NEXT_OR_NONE, START
from runtime.ops.effects import raise_unless
from runtime.staging.values.iterables import Staged, Stream

__all__ = ["DatasetIterator", "OptionalElement"]


@dataclasses.dataclass(init=False, repr=False, eq=False, frozen=True)
class OptionalElement:
    """An element, or none (`tf.experimental.Optional`)."""

    present: Any
    element: Any

    def __init__(self, present: Any, element: Any) -> None:
        object.__setattr__(self, "present", present)
        object.__setattr__(self, "element", element)

    @property
    def element_spec(self) -> Any:
        """The type of the element, in its structure."""
        return map_structure(TensorSpec.from_tensor, self.element)

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is one: bool[]."""
        return convert_to_tensor(self.present)

    def get_value(self, name: str | None = None) -> Any:
        """The element. InvalidArgumentError if there is none."""
        raise_unless(self.present, located(InvalidArgumentError("The given optional does not have a value.")))
        return self.element

    def __repr__(self) -> str:
        return f"<an element or none, {self.element!r}>"


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

    def advance_or_none(self) -> Element:
        """Implements the op `iterator_next_or_none`."""
        try:
            return np.bool_(True), *self.advance()
        except OutOfRangeError:
            zeros = [np.zeros([size or 0 for size in type.shape], type.dtype.np) for type in self.types]
            return np.bool_(False), *zeros

    def get_next_as_optional(self) -> OptionalElement:
        """The next element, or that there is none (`tf.data.Iterator.get_next_as_optional`)."""
        present, *parts = apply(NEXT_OR_NONE, iterator=self)
        return OptionalElement(present, pack_sequence_as(self.element_spec, parts))

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
