"""`enumerate`, `zip` and `itertools.product` of staged iterables."""
from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from runtime.core import types as t
from runtime.core.types import TensorType
from runtime.ops.effects import raise_unless
from runtime.ops.logic import less, logical_and
from runtime.ops.math import minimum
from runtime.staging.values.iterables import Counted, Iterable_, Lazy, Stream, counted
from runtime.staging.values.lost_iterators import leaving

__all__ = ["StagedEnumerate", "StagedProduct", "StagedZip"]


class StagedEnumerate(Lazy):
    """`enumerate` of a staged iterable: pairs of a weak index and an item."""

    name = "enumerate"

    def __init__(self, iterable: Any, start: Any = 0) -> None:
        self._found = counted(iterable, "enumerate")
        self._start = start

    def __iterable__(self) -> Iterable_:
        found, start = self._found, self._start
        if isinstance(found, Counted):
            from_zero = type(start) is int and start == 0
            return Counted(found.length, lambda i: (i if from_zero else start + i, found.item(i)), found.lists,
                           found.is_there)

        def pack(tensors: Sequence[Any]) -> Any:
            return start + tensors[0], found.pack(tensors[1:])

        def stream(arrays: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
            return ((np.int32(i), *element) for i, element in enumerate(found.stream(arrays)))

        return Stream(found.sources, (TensorType(t.int32, (), weak=True), *found.types), stream, pack)


class StagedZip(Lazy):
    """`zip` with a staged operand: it ends with the shortest."""

    name = "zip"

    def __init__(self, *iterables: Any, strict: bool = False) -> None:
        self._found = _zipped([_endless(x) or counted(x, "zip") for x in iterables], strict)

    def __iterable__(self) -> Iterable_:
        return self._found


class StagedProduct(Lazy):
    """`itertools.product`: the tuples of an item of each iterable, of which the last changes fastest."""

    name = "product"

    def __init__(self, *iterables: Any) -> None:
        self._found = [counted(x, "product") for x in iterables]
        if any(isinstance(found, Stream) for found in self._found):
            raise TypeError("a product of datasets has no items by index")

    def __iterable__(self) -> Counted:
        found: Any = self._found
        length: Any = 1
        for part in found:
            length = length * part.length

        def item(i: Any) -> Any:
            places = []
            for part in reversed(found[1:]):
                places.append(part.item(i % part.length))
                i = i // part.length
            return (found[0].item(i), *reversed(places)) if found else ()

        return Counted(length, item, tuple([x for part in found for x in part.lists]))


def _endless(x: Any) -> Counted | None:
    """The items of an `itertools.count` or `repeat`, which cannot be used afterwards; without a length if it has no
    end. None for others."""
    counts = hasattr(type(x), "__counts__")
    if not counts and type(x) not in (itertools.count, itertools.repeat):
        return None
    leave = leaving(x)
    if counts or type(x) is itertools.count:
        first, step = x.__counts__() if counts else (found := next(x), next(x) - found)
        leave()
        return Counted(None, lambda i: first + i * step)
    length, value = operator.length_hint(x, -1), next(x, None)
    leave()
    return Counted(None if length < 0 else length, lambda i: value)


def _zipped(parts: Sequence[Iterable_], strict: bool) -> Iterable_:
    """Zips several iterables, up to the end of the shortest."""
    lengths = [part.length for part in parts if isinstance(part, Counted)]
    if len(lengths) == len(parts):
        length = _shortest(lengths, strict)
        counted: list[Any] = [*parts]
        lists = tuple([x for part in counted for x in part.lists])

        def is_there(i: Any) -> Any:
            return reduce(logical_and, [less(i, part.length) if part.is_there is None else part.is_there(i)
                                        for part in counted if part.length is not None])

        is_fixed = strict or all(part.is_there is None for part in counted)
        return Counted(length, lambda i: tuple([part.item(i) for part in counted]), lists,
                       None if is_fixed else is_there)
    if strict:
        raise TypeError("zip() of datasets does not take strict=True: their lengths are not known")
    limit = [_shortest(lengths, False)] if lengths != [None] * len(lengths) else []
    streams = [part for part in parts if isinstance(part, Stream)]
    counts = [len(stream.sources) for stream in streams]
    sizes = [len(stream.types) for stream in streams]

    def stream(arrays: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        rest = iter(arrays[len(limit):])
        elements = zip(*[part.stream(list(itertools.islice(rest, n))) for part, n in zip(streams, counts)])
        indices = range(int(arrays[0])) if limit else itertools.count()
        return ((np.int32(i), *itertools.chain(*element)) for i, element in zip(indices, elements))

    def pack(tensors: Sequence[Any]) -> Any:
        index, rest, items, n = tensors[0], iter(tensors[1:]), [], iter(sizes)
        for part in parts:
            if isinstance(part, Stream):
                items.append(part.pack(list(itertools.islice(rest, next(n)))))
            else:
                items.append(part.item(index))
        return tuple(items)

    types = [TensorType(t.int32, (), weak=True), *itertools.chain(*[part.types for part in streams])]
    return Stream([*limit, *itertools.chain(*[part.sources for part in streams])], tuple(types), stream, pack)


def _shortest(lengths: Sequence[Any], strict: bool) -> Any:
    static = [length for length in lengths if isinstance(length, int)]
    dynamic = [length for length in lengths if not isinstance(length, int) and length is not None]
    if strict:
        error = ValueError("zip() arguments have different lengths")
        if len(set(static)) > 1 or len(static) + len(dynamic) < len(lengths):
            raise error
        for other in dynamic:
            raise_unless(other == lengths[0], error)
    result = min(static) if static else dynamic.pop()
    for length in dynamic:
        result = minimum(result, length)
    return result
