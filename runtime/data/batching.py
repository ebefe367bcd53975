"""Datasets that group elements: stacked, padded, or as datasets."""
from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from runtime.core.absent import refuse_ragged
from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.positions import located
from runtime.core.pytree import flatten, map_structure
from runtime.core.tensor import EagerList
from runtime.core.types import ListType, TensorSpec, int64
from runtime.data.elements import ElementFunction, as_count, rebatched, stacked
from runtime.data.padding import Padding
from runtime.data.pipeline import UNKNOWN_CARDINALITY, DatasetSpec, Element, P, Pipeline, tensor_types
from runtime.function.variables.static_values import get_static_value

__all__ = ["Batching"]

D = TypeVar("D", bound="Batching")


def _at_least_one(value: Any, what: str) -> tuple[Any, int | None]:
    """A number of elements as an int64 scalar, and as an int if it is static."""
    size = as_count(value)
    known = get_static_value(size)
    if known is not None and known < 1:
        raise located(InvalidArgumentError(f"{what} has at least 1 element, not {known}"))
    return size, None if known is None else int(known)


class Batching(Pipeline):
    """The transformations that group elements, or split them."""

    def batch(
        self: D, batch_size: Any, drop_remainder: bool = False, num_parallel_calls: Any = None,
        deterministic: Any = None, name: str | None = None,
    ) -> D:
        """Groups of `batch_size` elements, stacked; the last may be smaller unless `drop_remainder`
        (`tf.data.Dataset.batch`). ShapeError, when it is reached, for elements that cannot be stacked."""
        tensor_types(self.element_spec, "batch")
        size, count = _at_least_one(batch_size, "a batch")
        blocks = self._blocks

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            if blocks is not None:
                yield from rebatched(blocks(arrays[:-1]), int(arrays[-1]), drop_remainder)
                return
            for rows in _groups(self._elements(arrays[:-1]), int(arrays[-1]), drop_remainder):
                yield tuple(map(stacked, zip(*rows, strict=True)))

        length = count if drop_remainder else None
        spec = map_structure(lambda s: TensorSpec([length, *s.shape], s.dtype), self.element_spec)
        return self._derived(elements, (size,), spec, _batches(self._cardinality, count, drop_remainder))

    def ragged_batch(self, *args: Any, **options: Any) -> NoReturn:
        """UnimplementedError: there are no ragged tensors; `padded_batch` pads elements to one size."""
        refuse_ragged("Dataset.ragged_batch")

    def padded_batch(
        self: D, batch_size: Any, padded_shapes: Any = None, padding_values: Any = None, drop_remainder: bool = False,
        name: str | None = None,
    ) -> D:
        """Groups of `batch_size` elements, each padded at its ends to `padded_shapes`, and stacked
        (`tf.data.Dataset.padded_batch`).

        `padded_shapes`: a structure of shapes like that of the elements; a dimension of None or -1 becomes as long as
        the longest in the batch; without `padded_shapes`, so do all unknown dimensions. `padding_values`: a scalar for
        each component, or one for all; default 0. ShapeError for an element that is longer.
        """
        padding = Padding(self.element_spec, padded_shapes, padding_values)
        size, count = _at_least_one(batch_size, "a batch")

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            for rows in _groups(self._elements(arrays[:-1]), int(arrays[-1]), drop_remainder):
                yield padding.stacked(rows)

        return self._derived(elements, (size,), padding.spec(count if drop_remainder else None),
                             _batches(self._cardinality, count, drop_remainder))

    def bucket_by_sequence_length(
        self: D, element_length_func: Callable[..., Any], bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int], padded_shapes: Any = None, padding_values: Any = None,
        pad_to_bucket_boundary: bool = False, no_padding: bool = False, drop_remainder: bool = False,
        name: str | None = None,
    ) -> D:
        """Padded batches of elements of similar length (`tf.data.Dataset.bucket_by_sequence_length`).

        An element of length n belongs to the bucket of the first boundary above n, or to the last one. A bucket makes a
        batch when it has its number of elements in `bucket_batch_sizes`. ValueError unless there is one more size than
        boundaries.
        """
        boundaries, sizes = [int(x) for x in bucket_boundaries], [int(x) for x in bucket_batch_sizes]
        if len(sizes) != len(boundaries) + 1 or boundaries != sorted(set(boundaries)) or min(sizes) < 1:
            raise located(ValueError(
                f"bucket_by_sequence_length takes increasing boundaries and one batch size more, not {boundaries} and "
                f"{sizes}"))
        length = ElementFunction(element_length_func, self.element_spec)
        length.check_integer("a length")
        padding = None if no_padding else Padding(self.element_spec, padded_shapes, padding_values)

        def stack(rows: Sequence[Element], bucket: int) -> Element:
            if padding is None:
                return tuple(map(stacked, zip(*rows, strict=True)))
            if not pad_to_bucket_boundary:
                return padding.stacked(rows)
            if bucket == len(boundaries):
                raise ShapeError("an element is as long as the last boundary or longer, so there is none to pad it to",
                                 remedy="Add a boundary above the longest element.")
            return padding.stacked(rows, boundaries[bucket] - 1)

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            own, run = length.bind(arrays)
            buckets: list[list[Element]] = [[] for _ in sizes]
            for element in self._elements(own):
                bucket = int(np.searchsorted(boundaries, int(run(*element)[0]), side="right"))
                rows = buckets[bucket]
                rows.append(element)
                if len(rows) == sizes[bucket]:
                    yield stack(rows, bucket)
                    rows.clear()
            for bucket, rows in enumerate(buckets):
                if rows and not drop_remainder:
                    yield stack(rows, bucket)

        spec = padding.spec(None) if padding is not None else map_structure(
            lambda s: TensorSpec([None, *s.shape], s.dtype), self.element_spec)
        return self._derived(elements, length.captures, spec, UNKNOWN_CARDINALITY)

    def unbatch(self: D, name: str | None = None) -> D:
        """The rows of each element (`tf.data.Dataset.unbatch`). ShapeError if an element is a scalar."""
        for type in tensor_types(self.element_spec, "unbatch"):
            if not type.shape:
                raise located(ShapeError(f"unbatch needs elements with at least one dimension, not {type}"))

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            for element in self._elements(arrays):
                yield from zip(*element, strict=True)

        lengths = {spec.shape[0] for spec in flatten(self.element_spec)} - {None}
        known = self._cardinality >= 0 and len(lengths) == 1
        spec = map_structure(lambda s: TensorSpec(s.shape[1:], s.dtype), self.element_spec)
        return self._derived(elements, (), spec, self._cardinality * lengths.pop() if known else UNKNOWN_CARDINALITY)

    def rebatch(self: D, batch_size: Any, drop_remainder: bool = False, name: str | None = None) -> D:
        """The rows of the elements in batches of another size; a list of sizes is used in turn
        (`tf.data.Dataset.rebatch`)."""
        sizes = [int(x) for x in np.atleast_1d(np.asarray(batch_size))]
        if not sizes or min(sizes) < 1:
            raise located(InvalidArgumentError(f"a batch has at least 1 element, not {min(sizes, default=0)}"))
        rows = self.unbatch()

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            stream = rows._elements(arrays)
            for size in itertools.cycle(sizes):
                group = list(itertools.islice(stream, size))
                if not group or (len(group) < size and drop_remainder):
                    return
                yield tuple(map(stacked, zip(*group, strict=True)))

        length = sizes[0] if drop_remainder and len(set(sizes)) == 1 else None
        spec = map_structure(lambda s: TensorSpec([length, *s.shape], s.dtype), rows.element_spec)
        total = _batches(rows._cardinality, sizes[0], drop_remainder) if len(set(sizes)) == 1 else UNKNOWN_CARDINALITY
        return self._derived(elements, (), spec, total)

    def window(
        self: D, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: bool = False, name: str | None = None
    ) -> D:
        """Datasets of `size` elements each, which begin `shift` elements apart (default: `size`) and take every
        `stride`-th one (`tf.data.Dataset.window`). For structures, each component is a dataset of its own, as in TF 2.

        `ds.window(n).flat_map(lambda window: window.batch(n))` makes tensors of them.
        """
        tensor_types(self.element_spec, "window")
        counts = [_at_least_one(x, "a window")[0] for x in (size, size if shift is None else shift, stride)]
        parts = [_rows(type(self), leaf) for leaf in flatten(self.element_spec)]
        specs = iter([DatasetSpec(part) for part in parts])
        spec = map_structure(lambda _: next(specs), self.element_spec)

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            windows = _windows(self._elements(arrays[:-3]), *map(int, arrays[-3:]))
            for wanted, rows in windows:
                if len(rows) == wanted or not drop_remainder:
                    yield tuple(map(list, zip(*rows, strict=True)))

        return self._derived(elements, counts, spec, UNKNOWN_CARDINALITY)

    def group_by_window(
        self: D, key_func: Callable[..., Any], reduce_func: Callable[[Any, Any], Any], window_size: Any = None,
        window_size_func: Callable[[Any], Any] | None = None, name: str | None = None,
    ) -> D:
        """The elements of `reduce_func(key, dataset)` for each group of `window_size` elements with the same int key
        `key_func(element)`, and at the end for the remaining elements of each key (`tf.data.Dataset.group_by_window`).

        `window_size_func(key)` gives the size for a key. ValueError unless one of the two is given.
        """
        if (window_size is None) == (window_size_func is None):
            raise located(ValueError("group_by_window takes either window_size or window_size_func"))
        key_type = TensorSpec((), int64)
        key = ElementFunction(key_func, self.element_spec)
        key.check_integer("a key")
        window = _rows(type(self), self.element_spec)
        reduced = ElementFunction(reduce_func, (key_type, DatasetSpec(window)))
        inner = reduced.dataset("group_by_window")
        size = ElementFunction(window_size_func if window_size_func is not None else _always(window_size), key_type)
        size.check_integer("a window size")

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            rest, find_size = size.bind(arrays)
            rest, reduce = reduced.bind(rest)
            own, find_key = key.bind(rest)
            groups: dict[int, list[Element]] = {}
            sizes: dict[int, int] = {}

            def result(number: int) -> Iterator[Element]:
                rows = groups.pop(number)
                return inner._elements(reduce(np.int64(number), *map(list, zip(*rows, strict=True))))

            for element in self._elements(own):
                number = int(find_key(*element)[0])
                if number not in sizes:
                    sizes[number] = int(find_size(np.int64(number))[0])
                group = groups.setdefault(number, [])
                group.append(element)
                if len(group) >= sizes[number]:
                    yield from result(number)
            for number in sorted(groups):
                yield from result(number)

        return self._derived(elements, (*key.captures, *reduced.captures, *size.captures), inner.element_spec,
                             UNKNOWN_CARDINALITY)


def _always(size: Any) -> Callable[[Any], Any]:
    number = as_count(size)
    return lambda key: number


def _groups(stream: Iterator[Element], size: int, whole: bool) -> Iterator[list[Element]]:
    while rows := list(itertools.islice(stream, size)):
        if len(rows) == size or not whole:
            yield rows


def _batches(rows: int, size: int | None, whole: bool) -> int:
    """The cardinality of the batches of `rows` elements."""
    if rows < 0:
        return rows
    return UNKNOWN_CARDINALITY if size is None else rows // size if whole else -(-rows // size)


def _rows(kind: type[P], spec: Any) -> P:
    """A dataset of the elements of a window: its sources are lists, as the elements' shapes may differ."""
    lists = [EagerList([], ListType(type)) for type in tensor_types(spec, "a window")]
    return kind(lists, spec, lambda columns: zip(*columns, strict=True), UNKNOWN_CARDINALITY)


def _windows(
    stream: Iterator[Element], size: int, shift: int, stride: int
) -> Iterator[tuple[int, list[Element]]]:
    """The size of a full window and the elements, for each window."""
    span = (size - 1) * stride + 1
    kept: deque[Element] = deque()
    while True:
        kept.extend(itertools.islice(stream, span - len(kept)))
        if not kept:
            return
        yield size, list(itertools.islice(kept, 0, span, stride))
        for _ in range(min(shift, len(kept))):
            kept.popleft()
        if shift > span:
            next(itertools.islice(stream, shift - span - 1, None), None)
