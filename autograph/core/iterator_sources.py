"""The sequences behind an iterator, so that its remaining items can be iterated more than once."""
from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, Final

from autograph.core.backend import backend_for

__all__ = ["Source", "dict_of", "source_of"]


class _Indexed:
    def __getitem__(self, index: int) -> Any:
        raise IndexError


_FORWARDS: Final = frozenset({*map(type, (
    iter([]), iter(()), iter(range(0)), iter(range(1 << 99)), iter(""), iter("é"), iter(b""), iter(_Indexed())))})
_BACKWARDS: Final[frozenset[type]] = frozenset({type(reversed([])), type(reversed(()))})


@dataclass(frozen=True)
class Source:
    """The remaining items of one of Python's own iterators over sequences.

    kind      `enumerate` or `zip` of other sources, `reversed` or `iter` of a sequence, `itertools.product` of tuples.
    parts     the sources, or the sequence, or the tuples.
    position  for `enumerate` the number of the next item, for a sequence or product its index.
    is_strict whether `zip` requires operands of equal length.
    """

    kind: Any
    parts: tuple[Any, ...]
    position: int = 0
    is_strict: bool = False

    def __iter__(self) -> Iterator[Any]:
        if self.kind is zip:
            return zip(*self.parts, strict=self.is_strict)
        if self.kind is enumerate:
            return enumerate(self.parts[0], self.position)
        if self.kind is itertools.product:
            return itertools.islice(itertools.product(*self.parts), self.position, None)
        iterator = self.kind(self.parts[0])
        iterator.__setstate__(self.position)
        return iterator  # type: ignore[no-any-return]

    def sequences(self) -> list[Any]:
        """All sequences that the items come from."""
        if self.kind is enumerate or self.kind is zip:
            return [items for part in self.parts for items in part.sequences()]
        return [*self.parts]

    def at(self, index: Any, item: Callable[[Any, Any], Any]) -> Any:
        """The item that is taken after `index` more; `item` returns that of a sequence."""
        if self.kind is zip:
            return tuple([part.at(index, item) for part in self.parts])
        if self.kind is enumerate:
            return self.position + index, self.parts[0].at(index, item)
        return item(self.parts[0], self.position - index if self.kind is reversed else self.position + index)

    def bounds(self, index: Any, length: Callable[[Any], Any]) -> list[Any]:
        """The conditions for the item to be there."""
        if self.kind is enumerate or self.kind is zip:
            return [bound for part in self.parts for bound in part.bounds(index, length)]
        if self.kind is reversed:
            return [self.position - index >= 0, self.position - index < length(self.parts[0])]
        return [self.position + index < length(self.parts[0])]

    def has_index(self) -> bool:
        """Whether `at` gives the items: those of a product have no index, and a strict `zip` raises at its end."""
        if self.kind is enumerate or self.kind is zip:
            return not self.is_strict and all(part.has_index() for part in self.parts)
        return self.kind is not itertools.product

    def after(self, count: int) -> Source:
        """The source after `count` more items have been taken."""
        if self.kind is enumerate or self.kind is zip:
            parts = tuple([part.after(count) for part in self.parts])
            return replace(self, parts=parts, position=self.position + (count if self.kind is enumerate else 0))
        return replace(self, position=self.position + (-count if self.kind is reversed else count))


def source_of(value: Any) -> Source | None:
    """The source of an iterator. None for any other value, for a user's sequence with a `__getitem__`, for a `zip` of
    which two operands share one iterator, and for a product that has yielded items."""
    return _source(value, set())


def _source(value: Any, seen: set[int]) -> Source | None:
    kind = type(value)
    if kind is itertools.product:
        pools, *last = (part for part in gc.get_referents(value) if part is not kind)  # its class from Python 3.12
        return None if last else Source(itertools.product, pools)
    if kind is not zip and kind is not enumerate and kind not in _FORWARDS and kind not in _BACKWARDS:
        return None
    if id(value) in seen:
        return None
    seen.add(id(value))
    _, operands, *state = value.__reduce__()  # a tuple, and the position
    if kind is enumerate:
        part = _source(operands[0], seen)
        return None if part is None else Source(enumerate, (part,), operands[1])
    if kind is zip:
        parts = [part for operand in operands if (part := _source(operand, seen)) is not None]
        if not operands or len(parts) < len(operands):
            return None
        return Source(zip, tuple(parts), is_strict=bool(state and state[0]))
    (sequence,) = operands
    if isinstance(getattr(type(sequence), "__getitem__", None), FunctionType) and backend_for(type(sequence)) is None:
        return None
    if kind in _BACKWARDS:
        return Source(reversed, operands, state[0]) if state else None
    return Source(iter, operands, state[0] if state and state[0] else 0)


def dict_of(value: Any) -> Any:
    """The plain dict whose keys, values or items a loop over `value` takes; None if there is none."""
    if type(value) in _VIEWS:
        (value,) = gc.get_referents(value)
    return value if type(value) is dict else None


_VIEWS: Final = frozenset({*map(type, ({}.keys(), {}.values(), {}.items()))})
