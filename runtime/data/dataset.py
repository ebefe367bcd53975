"""Datasets: sequences of elements that stream one at a time (`tf.data`)."""
from __future__ import annotations

import copy
import glob
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import autograph as ag
from runtime.core.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, StagingError
from runtime.core.positions import located
from runtime.core.pytree import flatten, map_structure
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.core.types import int64, string
from runtime.data.batching import Batching
from runtime.data.buffering import Buffering
from runtime.data.iterators import DatasetIterator
from runtime.data.mapping import Mapping
from runtime.data.ordering import Ordering
from runtime.data.pipeline import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, DatasetSpec, Element, Options
from runtime.data.sources import Sources
from runtime.function.function import Function
from runtime.staging.aliases.body_tracing import Step
from runtime.staging.backend import BACKEND
from runtime.staging.values.iterables import Stream

__all__ = ["Dataset"]


class Dataset(Sources, Mapping, Batching, Ordering, Buffering):
    """A sequence of elements, each a structure of tensors (`tf.data.Dataset`).

    It can be iterated over any number of times. In converted code that is being traced a `for` over it becomes one
    `reduce` node, which streams the elements when the graph runs.

    element_spec   the structure of an element, with a TensorSpec for each tensor
    sources        the tensors that it is made from: eager ones, or tensors of the graph that is being traced
    """

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """`transformation_func(self)` (`tf.data.Dataset.apply`)."""
        return transformation_func(self)

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any], name: str | None = None) -> Any:
        """The state after `state = reduce_func(state, element)` for each element (`tf.data.Dataset.reduce`).

        The function is converted and traced; the loop is one `reduce` node.
        """
        converted = ag.convert_traced(reduce_func)

        def fn(state: Any, element: Any) -> Any:
            found = converted(state, element)
            return tuple(found) if type(found) is list and isinstance(initial_state, tuple) else found

        def whole() -> Any:
            if current_graph() is None:  # functions run eagerly
                state = initial_state
                for element in self:
                    state = fn(state, element)
                return state
            body = Step(lambda element, state: (fn(state, element),))
            return BACKEND.reduce(self, body, None, (initial_state,), ("state",), {})[0]

        result = whole() if current_graph() is not None else Function(whole, autograph=False, name="reduce")()
        return map_structure(convert_to_tensor, result)

    def cardinality(self, name: str | None = None) -> Tensor:
        """The number of elements as an int64 scalar; INFINITE_CARDINALITY (-1) or UNKNOWN_CARDINALITY (-2)
        (`tf.data.Dataset.cardinality`).
        """
        return convert_to_tensor(self._cardinality, dtype=int64)

    def assert_cardinality(self, expected_cardinality: Any, name: str | None = None) -> Dataset:
        """The same elements; FailedPreconditionError when they turn out to be more or fewer
        (`tf.data.Dataset.assert_cardinality`). The dataset has that cardinality."""
        expected = int(expected_cardinality)
        known = self._cardinality
        if known != UNKNOWN_CARDINALITY and known != expected:
            raise located(_wrong_cardinality(expected, known))

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            count = 0
            for element in self._elements(arrays):
                count += 1
                if count > expected >= 0:
                    raise _wrong_cardinality(expected, "more")
                yield element
            if count != expected:
                raise _wrong_cardinality(expected, count)

        return self._derived(elements, cardinality=expected)

    def options(self) -> Options:
        """The settings given by `with_options` (`tf.data.Dataset.options`)."""
        return self._options

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same dataset with these settings, which have no effect (`tf.data.Dataset.with_options`)."""
        made = copy.copy(self)
        made._options = self._options.merge(options)
        return made

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements as NumPy arrays and scalars (`tf.data.Dataset.as_numpy_iterator`)."""
        return (map_structure(_in_numpy, element) for element in self)

    def get_single_element(self, name: str | None = None) -> Any:
        """The element of a dataset that has one (`tf.data.Dataset.get_single_element`). InvalidArgumentError if it has
        none or more."""
        found = list(self.take(2))
        if len(found) != 1:
            raise located(InvalidArgumentError(
                f"get_single_element takes a dataset of one element, not of {'none' if not found else 'more'}"))
        return found[0]

    @classmethod
    def list_files(
        cls, file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """The names of the files that match one of the `glob` patterns, in a new random order in each iteration, or
        sorted with `shuffle=False` (`tf.data.Dataset.list_files`). NotFoundError if no file matches."""
        names = _matching(file_pattern)
        dataset = cls.from_tensor_slices(names)
        return dataset if shuffle is False else dataset.shuffle(len(names), seed)

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self.sources, self.element_spec, self._elements, self.draws)

    def __len__(self) -> int:
        if self._cardinality == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if self._cardinality == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return self._cardinality

    def __bool__(self) -> bool:
        return True

    def __iterable__(self) -> Stream:
        if any(isinstance(leaf, DatasetSpec) for leaf in flatten(self.element_spec)):
            raise located(StagingError(
                "a loop over a dataset of datasets cannot be traced",
                remedy="Make tensors of them, for example with flat_map(lambda window: window.batch(n)), or loop "
                       "outside of the traced function."))
        return Stream(self.sources, self.element_spec, self._elements)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} element_spec={self.element_spec!r}>"


def _wrong_cardinality(expected: int, found: Any) -> FailedPreconditionError:
    names = {INFINITE_CARDINALITY: "infinitely many"}
    return FailedPreconditionError(f"the dataset was expected to contain {names.get(expected, expected)} elements, but "
                                   f"contains {names.get(found, found)}")


def _matching(patterns: Any) -> list[bytes]:
    """The sorted names of the files that match one of the patterns. NotFoundError if there is none."""
    names = np.asarray(convert_to_tensor(patterns, string)).reshape(-1).tolist()
    found = sorted({path.encode() for name in names for path in glob.glob(name.decode())})
    if not found:
        raise located(NotFoundError(f"No files matched pattern: {', '.join(name.decode() for name in names)}"))
    return found


def _in_numpy(x: Any) -> Any:
    return x.as_numpy_iterator() if isinstance(x, Dataset) else x.numpy()
