"""Datasets of tensors, numbers, generators and other datasets."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.positions import located
from runtime.core.pytree import assert_same_structure, flatten, map_structure, pack_sequence_as
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec, as_dtype, int64
from runtime.data.elements import (
    as_count,
    as_tensors,
    checked_spec,
    fit,
    join_specs,
    rows_of,
    shapes_like,
    splitter,
)
from runtime.data.pipeline import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Draws,
    Element,
    P,
    Pipeline,
    flat,
    spec_of,
    tensor_types,
)
from runtime.function.variables.static_values import get_static_value

__all__ = ["Sources"]


def _with_ranks(signature: Any, generator: Callable[..., Any], args: Sequence[Any]) -> Any:
    """`signature`, with unknown ranks replaced by those of the generator's first element."""
    if all(not isinstance(spec, TensorSpec) or spec.shape.rank is not None for spec in flatten(signature)):
        return signature
    found = _inferred(generator, args, map_structure(lambda spec: spec.dtype, signature))
    return map_structure(lambda spec, found: found if spec.shape.rank is None else spec, signature, found)


def _inferred(generator: Callable[..., Any], args: Sequence[Any], output_types: Any) -> Any:
    """The specs of a generator's elements, inferred from the first one; `output_types` gives the dtypes, if given."""
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


class Sources(Pipeline):
    """The constructors of datasets."""

    @classmethod
    def from_tensors(cls: type[P], tensors: Any, name: str | None = None) -> P:
        """A dataset with one element: the structure `tensors` (`tf.data.Dataset.from_tensors`)."""
        tensors = as_tensors(tensors)
        return cls(flat(tensors), spec_of(tensors), lambda arrays: iter((tuple(arrays),)), 1)

    @classmethod
    def from_tensor_slices(cls: type[P], tensors: Any, name: str | None = None) -> P:
        """The rows of the tensors of a structure; lists become tensors (`tf.data.Dataset.from_tensor_slices`).

        ShapeError if one is a scalar or their lengths differ.
        """
        tensors = as_tensors(tensors)
        leaves = flatten(tensors)
        lengths = set()
        for tensor in leaves:
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
        return cls(leaves, spec, rows_of, length)

    @classmethod
    def range(cls: type[P], *args: Any, output_type: Any = int64, name: str | None = None) -> P:
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

        return cls(bounds, TensorSpec((), dtype), elements, size)

    @classmethod
    def counter(cls: type[P], start: Any = 0, step: Any = 1, dtype: Any = int64, name: str | None = None) -> P:
        """The scalars start, start + step, ..., without end (`tf.data.Dataset.counter`)."""
        kind = as_dtype(dtype)
        bounds = [as_count(start), as_count(step)]

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            return ((kind.as_numpy_dtype(i),) for i in itertools.count(*map(int, arrays)))

        return cls(bounds, TensorSpec((), kind), elements, INFINITE_CARDINALITY)

    @classmethod
    def from_generator(
        cls: type[P], generator: Callable[..., Any], output_types: Any = None, output_shapes: Any = None,
        args: Sequence[Any] = (), output_signature: Any = None, name: str | None = None,
    ) -> P:
        """The elements of the iterator that `generator(*args)` returns; it is called for each iteration over the
        dataset (`tf.data.Dataset.from_generator`).

        `output_signature` is a structure of TensorSpecs; or `output_types` and `output_shapes` are structures of dtypes
        and shapes. Missing dtypes and ranks are inferred from a first element, for which the generator is called once
        more here; dimensions are then unknown. An element that does not fit raises DTypeError or ShapeError when it is
        reached.
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
        spec = map_structure(checked_spec, _with_ranks(output_signature, generator, args))
        types = [leaf.type for leaf in flatten(spec)]
        sources = [convert_to_tensor(x) for x in args]

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            try:
                for element in generator(*arrays):
                    yield fit(element, spec, types)
            except Exception as exc:
                exc.located = True  # type: ignore[attr-defined]  # the user's own: it is not changed
                raise

        return cls(sources, spec, elements, UNKNOWN_CARDINALITY)

    @classmethod
    def zip(cls: type[P], *args: Any, datasets: Any = None, name: str | None = None) -> P:
        """Tuples of the elements of several datasets, up to the end of the shortest: `zip(a, b)`, or for a structure of
        datasets `zip({"x": a, "y": b})` (`tf.data.Dataset.zip`)."""
        structure = datasets if datasets is not None else args[0] if len(args) == 1 else args
        parts = flatten(structure)
        for part in parts:
            if not isinstance(part, Pipeline):
                raise TypeError(f"Dataset.zip takes datasets, not {part!r}")
        split = splitter(parts)

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            streams = [part._elements(own) for part, own in zip(parts, split(arrays), strict=True)]
            return (tuple(itertools.chain.from_iterable(together)) for together in zip(*streams, strict=False))

        sizes = [part._cardinality for part in parts if part._cardinality != INFINITE_CARDINALITY]
        return cls([x for part in parts for x in part.sources], map_structure(lambda d: d.element_spec, structure),
                   elements, min(sizes, default=INFINITE_CARDINALITY), _draws(parts))

    @classmethod
    def random(
        cls: type[P], seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> P:
        """Endless int64 scalars from 0 to 2**32 - 1 (`tf.data.Dataset.random`): the same in each iteration, unless
        `rerandomize_each_iteration`."""
        draws = Draws(seed, bool(rerandomize_each_iteration))

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            rng = draws()
            return ((rng.integers(1 << 32),) for _ in itertools.count())

        return cls((), TensorSpec((), int64), elements, INFINITE_CARDINALITY, [draws])

    @classmethod
    def choose_from_datasets(
        cls: type[P], datasets: Sequence[Pipeline], choice_dataset: Pipeline, stop_on_empty_dataset: bool = True
    ) -> P:
        """For each int64 element of `choice_dataset`, the next element of the dataset with that number
        (`tf.data.Dataset.choose_from_datasets`). An exhausted dataset ends the iteration, or is skipped unless
        `stop_on_empty_dataset`."""
        types = tensor_types(choice_dataset.element_spec, "choose_from_datasets")
        if len(types) != 1 or types[0].shape != () or not types[0].dtype.is_integer:
            raise located(TypeError(f"choice_dataset holds int scalars, not {choice_dataset.element_spec!r}"))
        split = splitter((*datasets, choice_dataset))

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            *parts, own = split(arrays)
            return _chosen([d._elements(part) for d, part in zip(datasets, parts, strict=True)],
                           (int(choice[0]) for choice in choice_dataset._elements(own)), stop_on_empty_dataset)

        return cls([x for d in (*datasets, choice_dataset) for x in d.sources], _joined(datasets), elements,
                   UNKNOWN_CARDINALITY, _draws((*datasets, choice_dataset)))

    @classmethod
    def sample_from_datasets(
        cls: type[P], datasets: Sequence[Pipeline], weights: Any = None, seed: int | None = None,
        stop_on_empty_dataset: bool = False, rerandomize_each_iteration: bool | None = None,
    ) -> P:
        """The next element of a dataset drawn at random, with probabilities in proportion to `weights` (default: all
        equal) (`tf.data.Dataset.sample_from_datasets`). An exhausted dataset is skipped, or ends the iteration if
        `stop_on_empty_dataset`."""
        shares = np.ones(len(datasets)) if weights is None else np.asarray(weights, np.float64)
        if shares.shape != (len(datasets),) or not shares.sum() > 0 or shares.min() < 0:
            raise located(ValueError(
                f"sample_from_datasets takes a weight of 0 or more for each of {len(datasets)} datasets, not "
                f"{shares.tolist()}"))
        split, draws = splitter(datasets), Draws(seed, rerandomize_each_iteration is not False)
        ends = np.cumsum(shares / shares.sum())

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            streams = [d._elements(part) for d, part in zip(datasets, split(arrays), strict=True)]
            rng = draws()
            numbers = (min(int(np.searchsorted(ends, rng.random(), side="right")), len(ends) - 1)
                       for _ in itertools.count())
            return _chosen(streams, numbers, stop_on_empty_dataset, {k for k, x in enumerate(shares) if x == 0})

        return cls([x for d in datasets for x in d.sources], _joined(datasets), elements, UNKNOWN_CARDINALITY,
                   [*_draws(datasets), draws])


def _draws(datasets: Sequence[Pipeline]) -> list[Draws]:
    return [draws for dataset in datasets for draws in dataset.draws]


def _joined(datasets: Sequence[Pipeline]) -> Any:
    if not datasets:
        raise located(ValueError("there is no dataset to choose from"))
    spec = datasets[0].element_spec
    for other in datasets[1:]:
        assert_same_structure(spec, other.element_spec)
        spec = map_structure(join_specs, spec, other.element_spec)
    return spec


def _chosen(
    streams: Sequence[Iterator[Element]], numbers: Iterator[int], stop: bool, exhausted: set[int] | None = None
) -> Iterator[Element]:
    remaining = set(range(len(streams))) - (exhausted or set())
    for number in numbers:
        if not 0 <= number < len(streams):
            raise InvalidArgumentError(f"there are {len(streams)} datasets to choose from, and none of number {number}")
        element = next(streams[number], None)
        if element is not None:
            yield element
            continue
        remaining.discard(number)
        if stop or not remaining:
            return
