"""Datasets: sequences of elements that stream one at a time (`tf.data`)."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

import autograph as ag
from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.pytree import assert_same_structure, flatten, map_structure, pack_sequence_as
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.core.types import TensorSpec, as_dtype, int64
from runtime.data.elements import (
    Element,
    ElementFunction,
    Elements,
    as_count,
    as_tensors,
    checked_spec,
    fit,
    join_specs,
    located,
    shapes_like,
    shuffled,
    splitter,
    stacked,
)
from runtime.data.iterators import DatasetIterator
from runtime.function.function import Function
from runtime.function.static_values import get_static_value
from runtime.staging.backend import BACKEND
from runtime.staging.values.body_tracing import Step
from runtime.staging.values.iterables import Staged, Stream

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset", "DatasetIterator"]

AUTOTUNE: Final = -1
INFINITE_CARDINALITY: Final = -1
UNKNOWN_CARDINALITY: Final = -2


def _inferred(generator: Callable[..., Any], args: Sequence[Any], output_types: Any) -> Any:
    """The specs of the elements of a generator by its first one; the dtypes are `output_types` if these are given."""
    iterator = iter(generator(*[np.asarray(convert_to_tensor(x)) for x in args]))
    missing = object()
    first = next(iterator, missing)
    if hasattr(iterator, "close"):
        iterator.close()
    if first is missing:
        raise ValueError("the generator of from_generator has no element from which shapes could be inferred: give "
                         "output_signature, a structure of TensorSpecs")
    tensors = as_tensors(first)
    if output_types is None:
        return map_structure(lambda x: TensorSpec([None] * x.ndim, x.dtype), tensors)
    leaves, dtypes = flatten(tensors), flatten(output_types)
    if len(leaves) != len(dtypes):
        raise TypeError(
            f"the first element of the generator has {len(leaves)} parts, but output_types has {len(dtypes)}")
    return pack_sequence_as(output_types, [
        TensorSpec([None] * x.ndim, dtype) for x, dtype in zip(leaves, dtypes, strict=True)])



class Dataset(Staged):
    """A sequence of elements, each a structure of tensors (`tf.data.Dataset`).

    It can be iterated over any number of times. In converted code that is being traced a `for` over it becomes one
    `reduce` node, which streams the elements when the graph runs.

    element_spec   the structure of an element, with a TensorSpec for each tensor
    sources        the tensors that it is made from: eager ones, or tensors of the graph that is being traced
    """

    def __init__(self, sources: Sequence[Any], element_spec: Any, elements: Elements, cardinality: int) -> None:
        self.sources = tuple(sources)
        self.element_spec = element_spec
        self._elements = elements
        self._cardinality = cardinality

    # Sources.

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """A dataset with one element: the structure `tensors` (`tf.data.Dataset.from_tensors`)."""
        tensors = as_tensors(tensors)
        return Dataset(flatten(tensors), map_structure(TensorSpec.from_tensor, tensors),
                       lambda arrays: iter((tuple(arrays),)), 1)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """The rows of the tensors of a structure; lists become tensors (`tf.data.Dataset.from_tensor_slices`).

        ShapeError if one is a scalar or their lengths differ.
        """
        tensors = as_tensors(tensors)
        flat = flatten(tensors)
        lengths = set()
        for tensor in flat:
            if not tensor.type.shape:
                raise located(ShapeError("a dataset of slices needs tensors with at least one dimension, not a "
                                          f"scalar ({tensor.type})", remedy="Use Dataset.from_tensors."))
            lengths.add(tensor.type.shape[0])
        known = lengths - {None}
        if len(known) > 1:
            raise located(ShapeError(
                f"the slices of these tensors do not pair up: their lengths are {', '.join(map(str, sorted(known)))}"))
        spec = map_structure(lambda x: TensorSpec(x.shape[1:], x.dtype), tensors)
        length = known.pop() if known else UNKNOWN_CARDINALITY
        return Dataset(flat, spec, lambda arrays: zip(*arrays, strict=True), length)

    @staticmethod
    def range(*args: Any, output_type: Any = int64, name: str | None = None) -> Dataset:
        """The int64 scalars of Python's `range` for the same arguments (`tf.data.Dataset.range`)."""
        if not 1 <= len(args) <= 3:
            raise TypeError(f"Dataset.range takes 1 to 3 arguments, not {len(args)}")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        dtype = as_dtype(output_type)
        bounds = [as_count(x) for x in (start, stop, step)]
        known = [get_static_value(x) for x in bounds]
        if known[2] == 0:
            raise located(InvalidArgumentError("Dataset.range takes a step that is not 0"))
        size = UNKNOWN_CARDINALITY if any(x is None for x in known) else len(range(*map(int, known)))

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            return ((dtype.as_numpy_dtype(i),) for i in range(*map(int, arrays)))

        return Dataset(bounds, TensorSpec((), dtype), elements, size)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any = None, output_shapes: Any = None, args: Sequence[Any] = (),
        output_signature: Any = None, name: str | None = None,
    ) -> Dataset:
        """The elements of the iterator that `generator(*args)` returns; it is called for each iteration over the
        dataset (`tf.data.Dataset.from_generator`).

        `output_signature` is a structure of TensorSpecs; or `output_types` and `output_shapes` are structures of dtypes
        and shapes. What of these is not given is inferred from a first element, for which the generator is called here
        once more: the dtypes, and the ranks, with unknown dimensions. An element that does not fit raises DTypeError or
        ShapeError when it is reached.
        """
        if not callable(generator):
            raise TypeError(f"generator must be callable, not {generator!r}: pass the function, not its result")
        if output_signature is None:
            if output_shapes is not None and output_types is not None:
                output_signature = pack_sequence_as(output_types, [
                    TensorSpec(shape, dtype) for dtype, shape in
                    zip(flatten(output_types), shapes_like(output_types, output_shapes), strict=True)])
            else:
                output_signature = _inferred(generator, args, output_types)
        spec = map_structure(checked_spec, output_signature)
        types = [leaf.type for leaf in flatten(spec)]
        sources = [convert_to_tensor(x) for x in args]

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            try:
                for element in generator(*arrays):
                    yield fit(element, spec, types)
            except Exception as exc:
                exc.located = True  # type: ignore[attr-defined]  # the user's own: it stays as it is
                raise

        return Dataset(sources, spec, elements, UNKNOWN_CARDINALITY)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Tuples of the elements of several datasets, up to the end of the shortest: `zip(a, b)`, or for a structure of
        datasets `zip({"x": a, "y": b})` (`tf.data.Dataset.zip`)."""
        structure = datasets if datasets is not None else args[0] if len(args) == 1 else args
        parts = flatten(structure)
        for part in parts:
            if not isinstance(part, Dataset):
                raise TypeError(f"Dataset.zip takes datasets, not {part!r}")
        split = splitter(parts)

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            streams = [part._elements(own) for part, own in zip(parts, split(arrays), strict=True)]
            return (tuple(itertools.chain.from_iterable(together)) for together in zip(*streams, strict=False))

        sizes = [part._cardinality for part in parts if part._cardinality != INFINITE_CARDINALITY]
        return Dataset([x for part in parts for x in part.sources], map_structure(lambda d: d.element_spec, structure),
                       elements, min(sizes, default=INFINITE_CARDINALITY))

    # Transformations.

    def map(
        self, map_func: Callable[..., Any], num_parallel_calls: Any = None, deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """`map_func` of each element; an element that is a tuple is passed as several arguments
        (`tf.data.Dataset.map`).

        The function is converted and traced once, here. Elements are computed one after another: `num_parallel_calls`
        and `deterministic` have no effect.
        """
        step = ElementFunction(map_func, self.element_spec)

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            own, run = step.bind(arrays)
            return (tuple(run(*element)) for element in self._elements(own))

        return Dataset((*self.sources, *step.captures), step.result_spec(), elements, self._cardinality)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` is true; it is traced like the function of `map`
        (`tf.data.Dataset.filter`). DTypeError if its result is not a bool scalar."""
        step = ElementFunction(predicate, self.element_spec)
        step.check_predicate()

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            own, run = step.bind(arrays)
            return (element for element in self._elements(own) if run(*element)[0])

        return Dataset((*self.sources, *step.captures), self.element_spec, elements, UNKNOWN_CARDINALITY)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which `predicate` is false (`tf.data.Dataset.take_while`)."""
        step = ElementFunction(predicate, self.element_spec)
        step.check_predicate()

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            own, run = step.bind(arrays)
            return itertools.takewhile(lambda element: run(*element)[0], self._elements(own))

        return Dataset((*self.sources, *step.captures), self.element_spec, elements, UNKNOWN_CARDINALITY)

    def batch(
        self, batch_size: Any, drop_remainder: bool = False, num_parallel_calls: Any = None, deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Groups of `batch_size` elements, stacked; the last may be smaller unless `drop_remainder`
        (`tf.data.Dataset.batch`). ShapeError, when it is reached, for elements that cannot be stacked."""
        size = as_count(batch_size)
        known = get_static_value(size)
        if known is not None and known < 1:
            raise located(InvalidArgumentError(f"a batch has at least 1 element, not {known}"))

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            stream, n = self._elements(arrays[:-1]), int(arrays[-1])
            while rows := list(itertools.islice(stream, n)):
                if len(rows) < n and drop_remainder:
                    return
                yield tuple(map(stacked, zip(*rows, strict=True)))

        count = None if known is None else int(known)
        total = self._cardinality
        if total >= 0:
            total = UNKNOWN_CARDINALITY if count is None else total // count if drop_remainder else -(-total // count)
        length = count if drop_remainder else None
        spec = map_structure(lambda s: TensorSpec([length, *s.shape], s.dtype), self.element_spec)
        return Dataset((*self.sources, size), spec, elements, total)

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of each element (`tf.data.Dataset.unbatch`). ShapeError if an element is a scalar."""
        for spec in flatten(self.element_spec):
            if not spec.shape.rank:
                raise located(ShapeError(f"unbatch needs elements with at least one dimension, not {spec.type}"))

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            for element in self._elements(arrays):
                yield from zip(*element, strict=True)

        lengths = {spec.shape[0] for spec in flatten(self.element_spec)} - {None}
        known = self._cardinality >= 0 and len(lengths) == 1
        return Dataset(self.sources, map_structure(lambda s: TensorSpec(s.shape[1:], s.dtype), self.element_spec),
                       elements, self._cardinality * lengths.pop() if known else UNKNOWN_CARDINALITY)

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first `count` elements; all for -1 (`tf.data.Dataset.take`)."""
        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            n = int(arrays[-1])
            return itertools.islice(self._elements(arrays[:-1]), None if n < 0 else n)

        def size(total: int, n: int) -> int:
            if n < 0 or total == UNKNOWN_CARDINALITY:
                return total if n else 0
            return n if total == INFINITE_CARDINALITY else min(total, n)

        return self._counted(count, elements, size)

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All but the first `count` elements; none for -1 (`tf.data.Dataset.skip`)."""
        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            n = int(arrays[-1])
            return iter(()) if n < 0 else itertools.islice(self._elements(arrays[:-1]), n, None)

        def size(total: int, n: int) -> int:
            return 0 if n < 0 else max(total - n, 0) if total >= 0 else total

        return self._counted(count, elements, size)

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
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

    def _counted(self, count: Any, elements: Elements, size: Callable[[int, int], int]) -> Dataset:
        number = as_count(count)
        known = get_static_value(number)
        total = UNKNOWN_CARDINALITY if known is None else size(self._cardinality, int(known))
        return Dataset((*self.sources, number), self.element_spec, elements, total)

    def shuffle(
        self, buffer_size: Any, seed: int | None = None, reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements in random order, each drawn from a buffer of the next `buffer_size` (`tf.data.Dataset.shuffle`).

        Each iteration has another order, unless `reshuffle_each_iteration` is False; with a `seed` the orders are the
        same in every run of the program.
        """
        base = int(np.random.default_rng().integers(1 << 62)) if seed is None else abs(int(seed))
        rounds = itertools.count()

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            turn = 0 if reshuffle_each_iteration is False else next(rounds)
            return shuffled(self._elements(arrays[:-1]), int(arrays[-1]), np.random.default_rng([base, turn]))

        size = as_count(buffer_size)
        known = get_static_value(size)
        if known is not None and known < 1:
            raise located(InvalidArgumentError(f"a shuffle buffer holds at least 1 element, not {known}"))
        return Dataset((*self.sources, size), self.element_spec, elements, self._cardinality)

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of an int64 index and an element (`tf.data.Dataset.enumerate`)."""
        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            return ((np.int64(i), *element) for i, element in enumerate(self._elements(arrays[:-1]), int(arrays[-1])))

        return Dataset((*self.sources, as_count(start)), (TensorSpec((), int64), self.element_spec), elements,
                       self._cardinality)

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
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
        return Dataset((*self.sources, *dataset.sources), spec, elements, total)

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """Keep the elements in memory once all were read (`tf.data.Dataset.cache`). Files are not supported.

        A dataset made from tensors of a graph is read anew in each run.
        """
        if filename:
            raise ValueError("Dataset.cache keeps elements in memory only: leave filename out")
        kept: list[list[Element]] = []
        lasting = all(isinstance(x, EagerTensor) for x in self.sources)

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            if kept:
                yield from kept[0]
                return
            seen = []
            for element in self._elements(arrays):
                seen.append(element)
                yield element
            if lasting and not kept:
                kept.append(seen)

        return Dataset(self.sources, self.element_spec, elements, self._cardinality)

    def prefetch(self, buffer_size: Any = AUTOTUNE, name: str | None = None) -> Dataset:
        """The same elements (`tf.data.Dataset.prefetch`): elements are computed on demand."""
        return Dataset(self.sources, self.element_spec, self._elements, self._cardinality)

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """`transformation_func(self)` (`tf.data.Dataset.apply`)."""
        return transformation_func(self)

    # Reading.

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any], name: str | None = None) -> Any:
        """The state after `state = reduce_func(state, element)` for each element (`tf.data.Dataset.reduce`).

        The function is converted and traced; the loop is one `reduce` node.
        """
        fn = ag.convert_traced(reduce_func)

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

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements as NumPy arrays and scalars (`tf.data.Dataset.as_numpy_iterator`)."""
        return (map_structure(lambda x: x.numpy(), element) for element in self)

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self.sources, self.element_spec, self._elements)

    def __len__(self) -> int:
        if self._cardinality == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if self._cardinality == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return self._cardinality

    def __bool__(self) -> bool:
        return True

    def __iterable__(self) -> Stream:
        return Stream(self.sources, self.element_spec, self._elements)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} element_spec={self.element_spec!r}>"
