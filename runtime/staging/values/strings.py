"""Operations, besides formatting, on text known only at run time."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NoReturn

import numpy as np

from runtime.core.formatting import formatted
from runtime.core.graph import Value
from runtime.core.op import CAST
from runtime.core.operations import OPERATIONS
from runtime.core.tensor import Tensor
from runtime.core.text import REPR, Text, concat_text
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import int32, int64, uint8
from runtime.ops.concat_split import concat, repeat, tile
from runtime.ops.creation import range as range_
from runtime.ops.creation import zeros
from runtime.ops.effects import raise_unless
from runtime.ops.gather import gather
from runtime.ops.indexing import getitem
from runtime.ops.logic import bitwise_and, equal, less, not_equal, where
from runtime.ops.math import cast, maximum, minimum
from runtime.ops.reduction import cumsum, reduce_all, reduce_sum
from runtime.ops.shape import dim, reshape
from runtime.ops.strings import as_bytes
from runtime.staging.values.iterables import Counted, Staged, first_true, normalised_index, stacked, stages, weak_int

__all__ = [
    "Characters", "any_text", "character_of", "code_of_text", "is_part_of_text", "item_of_text", "length_of_text",
    "of_python", "place_of_text", "repeated_text", "text_among", "text_at"]


class TextAmong(Text):
    """One of several texts that are known at trace time, selected at run time. A Python function of it alone is
    evaluated for each of them, and the graph looks the result up."""

    __slots__ = ("place", "texts")

    texts: Sequence[str]
    place: Tensor

    @classmethod
    def at(cls, texts: Sequence[str], place: Tensor, value: Value) -> TextAmong:
        """`texts[place]`, whose UTF-8 is `value`."""
        text = cls.of_utf8(value)
        assert isinstance(text, TextAmong)
        text.texts, text.place = texts, place
        return text

    def of_each(self, function: Callable[[str], Any], otherwise: Callable[[], Any] | None = None) -> Any:
        """`function(text)`, evaluated for each text: numbers of one type, or text. An exception for a text is raised at
        run time if that is selected. For other results `otherwise()`, or StagingError."""
        results, raised = list[Any](), dict[int, Exception]()
        for i, text in enumerate(self.texts):
            try:
                results.append(function(text))
            except (ValueError, TypeError, LookupError) as error:
                raised[i] = error
                results.append(None)
        good = next((result for result in results if result is not None), None)
        kind = type(good)
        if kind not in (bool, int, float, str) or not self._can_raise(raised) or any(
                type(result) is not kind for i, result in enumerate(results) if i not in raised):
            return self.refuse() if otherwise is None else otherwise()
        if raised:
            self._raise(raised)
        results = [good if i in raised else result for i, result in enumerate(results)]
        return text_at(results, self.place) if kind is str else getitem(_table(results), self.place)

    def _forms(self, raised: dict[int, Exception]) -> set[tuple[type[Exception], tuple[str, ...]]]:
        """The classes and the pieces of the messages, around the text, of errors by index of the text."""
        return {(type(error), tuple(str(error).split(repr(self.texts[i])))) for i, error in raised.items()}

    def _can_raise(self, raised: dict[int, Exception]) -> bool:
        return len(self._forms(raised)) <= 1

    def _raise(self, raised: dict[int, Exception]) -> None:
        """Emit a raise of one of these errors, which differ in the text alone, by index of the text."""
        ((kind, pieces),) = self._forms(raised)
        parts = [part for piece in pieces for part in (self.__text__(REPR), piece)][1:]
        fine = [i not in raised for i in range(len(self.texts))]
        raise_unless(getitem(_table(fine), self.place), kind(concat_text(parts)))

    def _compared(self, other: Any, name: str) -> Any:
        """The result of the comparison `name` of `operator`; None if the other text is known only at run time."""
        compare = getattr(operator, name)
        if isinstance(other, str):
            return self.of_each(lambda text: compare(text, other))
        if not isinstance(other, TextAmong):
            return None
        order = {text: k for k, text in enumerate(sorted({*self.texts, *other.texts}))}
        one, two = [getitem(_table([order[text] for text in each.texts]), each.place) for each in (self, other)]
        return compare(one, two)

    def __eq__(self, other: object) -> Any:
        found = self._compared(other, "eq")
        return super().__eq__(other) if found is None else found

    def __ne__(self, other: object) -> Any:
        found = self._compared(other, "ne")
        return super().__ne__(other) if found is None else found

    def __hash__(self) -> NoReturn:
        self.refuse()

    def __lt__(self, other: Any) -> Any:
        found = self._compared(other, "lt")
        return super().__lt__(other) if found is None else found

    def __le__(self, other: Any) -> Any:
        found = self._compared(other, "le")
        return super().__le__(other) if found is None else found

    def __gt__(self, other: Any) -> Any:
        found = self._compared(other, "gt")
        return super().__gt__(other) if found is None else found

    def __ge__(self, other: Any) -> Any:
        found = self._compared(other, "ge")
        return super().__ge__(other) if found is None else found


class TextPart(Text):
    """A part, known when the graph runs, of a text that is known at trace time: `size` characters from `start` on."""

    __slots__ = ("size", "start", "whole")

    whole: str
    start: Any
    size: Any

    @classmethod
    def between(cls, whole: str, start: Any, stop: Any, value: Value) -> TextPart:
        """`whole[start:stop]`, whose UTF-8 is `value`."""
        text = cls.of_utf8(value)
        assert isinstance(text, TextPart)
        text.whole, text.start, text.size = whole, start, stop - start
        return text

    def character(self, at: Any) -> Text:
        """The character at an index, from 0 and in range."""
        return text_at(self.whole, self.start + at)


def _table(numbers: Sequence[bool | int | float]) -> Tensor:
    return convert_to_tensor([*numbers]) if type(numbers[0]) is bool else stacked([*numbers])


def text_at(texts: Sequence[str | Text], place: Tensor) -> Text:
    """The text at an index, from 0 and in range: a slice of the concatenated bytes of all texts."""
    parts = list(map(as_bytes, texts))
    whole: Any
    constants = [part.value.constant for part in parts]
    if any(constant is None for constant in constants):
        whole, sizes = concat(parts, 0), [weak_int(dim(part, 0)) for part in parts]
    else:
        whole, sizes = np.concatenate(constants), list(map(len, constants))
    bounds = convert_to_tensor([0, *accumulate(sizes)])
    chosen: Any = getitem(whole, slice(getitem(bounds, place), getitem(bounds, place + 1)))
    known = [text for text in texts if isinstance(text, str)]
    return TextAmong.at(known, place, chosen.value) if len(known) == len(texts) else Text.of_utf8(chosen.value)


class Characters(Staged):
    """The characters of a text, for a staged loop."""

    def __init__(self, text: str | Text) -> None:
        self.text = text

    def __iterable__(self) -> Counted:
        if isinstance(self.text, str):
            text = self.text
            return Counted(len(text), lambda i: text_at(text, i))
        if isinstance(self.text, TextPart):
            return Counted(self.text.size, self.text.character)
        whole, begins = as_bytes(self.text), _begins(self.text)
        return Counted(weak_int(dim(begins, 0) - 1), lambda i: _cut(whole, begins, i, i + 1))


def item_of_text(text: str | Text, index: Any) -> Any:
    """`text[index]`, where the text or the index, which may be a slice, is known only at run time."""
    if isinstance(text, TextAmong) and not _of_graph(index):
        return text.of_each(lambda each: each[index])
    if isinstance(text, TextPart) and not isinstance(index, slice):
        return text.character(normalised_index(index, text.size, "string index out of range"))
    begins = _begins(text)
    whole, count = as_bytes(text), weak_int(dim(begins, 0) - 1)
    if not isinstance(index, slice):
        at = normalised_index(index, count, "string index out of range")
        return text_at(text, at) if isinstance(text, str) else _cut(whole, begins, at, at + 1)
    if index.step is not None and not (type(index.step) is int and index.step == 1):
        return _picked(whole, begins, index)
    start = 0 if index.start is None else _bound(index.start, count)
    stop = count if index.stop is None else _bound(index.stop, count)
    stop = maximum(start, stop)
    found = _cut(whole, begins, start, stop)
    return TextPart.between(text, start, stop, found.values[0]) if isinstance(text, str) and text else found


def _of_graph(index: Any) -> bool:
    return any(map(stages, (index.start, index.stop, index.step) if isinstance(index, slice) else (index,)))


def _begins(text: str | Text) -> Any:
    """The byte offsets in UTF-8 of the characters of a text, and its end."""
    if isinstance(text, str):
        return convert_to_tensor(np.array([0, *accumulate(len(each.encode(errors="surrogatepass")) for each in text)],
                                          np.int32))
    whole = as_bytes(text)
    first = where(not_equal(bitwise_and(whole, 0xC0), 0x80))
    return cast(concat([reshape(first, [-1]), [cast(dim(whole, 0), int64)]], 0), int32)


def _cut(whole: Any, begins: Any, start: Any, stop: Any) -> Text:
    found: Any = getitem(whole, slice(getitem(begins, start), getitem(begins, stop)))
    return Text.of_utf8(found.value)


def _picked(whole: Any, begins: Any, index: slice) -> Text:
    """The characters at a slice with a step, gathered byte by byte."""
    first = getitem(getitem(begins, slice(None, -1)), index)
    sizes = getitem(getitem(begins, slice(1, None)), index) - first
    ends = cumsum(sizes)
    places = repeat(first - (ends - sizes), sizes) + range_(reduce_sum(sizes))
    found: Any = gather(whole, places)
    return Text.of_utf8(found.value)


def _bound(bound: Any, count: Any) -> Any:
    """The bound of a slice, counted from the start and clipped to the text."""
    bound = weak_int(convert_to_tensor(bound))
    return minimum(maximum(where(less(bound, 0), bound + count, bound), 0), count)


def repeated_text(text: str | Text, count: Any) -> Text:
    """`text * count`, where only the graph knows how often."""
    found: Any = tile(as_bytes(text), [maximum(weak_int(convert_to_tensor(count)), 0)])
    return Text.of_utf8(found.value)


def code_of_text(text: Text) -> Any:
    """`ord(text)`: a weak int32. TypeError at run time if it is not one character."""
    if isinstance(text, TextAmong):
        return text.of_each(ord)
    whole, count = as_bytes(text), length_of_text(text)
    raise_unless(equal(count, 1), TypeError(concat_text((
        "ord() expected a character, but string of length ", formatted(count), " found"))))
    size = dim(whole, 0)
    four = cast(getitem(concat([whole, zeros([4], uint8)], 0), slice(None, 4)), int32)
    first, *rest = [getitem(four, k) for k in range(4)]
    one, two, three = [bitwise_and(each, 0x3F) for each in rest]
    code = where(equal(size, 1), first, where(
        equal(size, 2), (first - 0xC0) * 64 + one, where(
            equal(size, 3), ((first - 0xE0) * 64 + one) * 64 + two,
            (((first - 0xF0) * 64 + one) * 64 + two) * 64 + three)))
    return apply(CAST, code, dtype=int32, weak=True)


def character_of(code: Any) -> Text:
    """`chr(code)` of an integer scalar tensor. ValueError at run time if there is no such character."""
    code = cast(code, int32)
    raise_unless(bitwise_and(less(code, 0x110000), less(-1, code)),
                 ValueError("chr() arg not in range(0x110000)"))
    last, more, first = [bitwise_and(code // shift, 0x3F) + 0x80 for shift in (1, 64, 4096)]
    size = 1 + sum(cast(less(limit, code), int32) for limit in (0x7F, 0x7FF, 0xFFFF))
    rows = [[code, code * 0, code * 0, code * 0], [code // 64 + 0xC0, last, code * 0, code * 0],
            [code // 4096 + 0xE0, more, last, code * 0], [code // 262144 + 0xF0, first, more, last]]
    found: Any = getitem(cast(getitem(convert_to_tensor(rows), size - 1), uint8), slice(None, size))
    return Text.of_utf8(found.value)


def of_python(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """`function` of Python values, some of which may be text of the graph: of one of several known texts it is computed
    for each of them."""
    values = [*args, *kwargs.values()]
    chosen = [value for value in values if isinstance(value, Text)]
    if not chosen:
        return function(*args, **kwargs)
    among = text_among(chosen[0])
    if len(chosen) > 1 or among is None or any(map(stages, [x for x in values if not isinstance(x, Text)])):
        return OPERATIONS.call_text(function.__name__, *args, **kwargs)

    def put(value: Any, text: str) -> Any:
        return text if value is chosen[0] else value

    return among.of_each(
        lambda text: function(*[put(arg, text) for arg in args],
                              **{name: put(arg, text) for name, arg in kwargs.items()}),
        lambda: OPERATIONS.call_text(function.__name__, *args, **kwargs))


def call_method_of_text(text: Text, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """`text.name(*args, **kwargs)`."""
    among = text_among(text)
    if among is not None and all(type(arg) in (str, int, tuple) for arg in (*args, *kwargs.values())):
        return among.of_each(lambda each: getattr(each, name)(*args, **kwargs),
                             lambda: OPERATIONS.call_text(name, text, *args, **kwargs))
    return OPERATIONS.call_text(name, text, *args, **kwargs)


def is_part_of_text(part: Any, text: Any) -> Any:
    """`part in text`, where one of the texts is known only at run time: a bool scalar tensor."""
    if isinstance(text, str) and (among := text_among(part)) is not None:
        return among.of_each(lambda each: each in text)
    if isinstance(part, str) and (among := text_among(text)) is not None:
        return among.of_each(lambda each: part in each)
    return OPERATIONS.call_text("in", text, part)


def any_text(text: Text) -> Any:
    """Whether a text is non-empty: a bool, or a bool scalar tensor."""
    if isinstance(text, TextAmong):
        return text.of_each(bool)
    return not_equal(dim(as_bytes(text), 0), 0) if text.may_be_empty else True


def length_of_text(text: Text) -> Any:
    """The number of characters of a text, each one to four bytes."""
    if isinstance(text, TextAmong):
        return text.of_each(len)
    if isinstance(text, TextPart):
        return text.size
    begins = not_equal(bitwise_and(as_bytes(text), 0xC0), 0x80)
    return weak_int(reduce_sum(cast(begins, int32)))


def place_of_text(texts: Sequence[str], text: Text) -> Any:
    """The index of the first of these texts, all known at trace time, that equals `text`; their number if none does."""
    if isinstance(text, TextAmong):
        places = {each: i for i, each in reversed([*enumerate(texts)])}
        return text.of_each(lambda each: places.get(each, len(texts)))
    rows = [item.encode(errors="surrogatepass") for item in texts]
    width = max(map(len, rows))
    wanted = as_bytes(text)
    same = equal([len(row) for row in rows], dim(wanted, 0))
    if width:
        table = np.array([[*row.ljust(width, b"\0")] for row in rows], np.uint8)
        start = concat([getitem(wanted, slice(None, width)), zeros([width], uint8)], 0)
        same &= reduce_all(equal(table, reshape(getitem(start, slice(None, width)), [width])), axis=1)
    return first_true(same)


OPERATIONS.define(call_method_of_text=call_method_of_text, characters=Characters, text_item=item_of_text)


def text_among(text: Any) -> TextAmong | None:
    """Text that the graph selects among texts known at trace time, by an index or in branches; None for others."""
    if isinstance(text, TextAmong):
        return text
    if not isinstance(text, Text) or not text.may_be_empty or len(text.values) != 1:
        return None
    found = _branches(text.values[0])
    if found is None:
        return None
    texts = [*dict.fromkeys([each.decode(errors="surrogatepass") for each in found])]
    return TextAmong.at(texts, place_of_text(texts, text), text.values[0])


def _branches(value: Value) -> list[bytes] | None:
    """The constants among which branches choose a value; None if it is another value."""
    if value.constant is not None:
        return [bytes(value.constant)]
    node = value.node
    if node is None:
        outer = next((outer for outer, inner in value.graph.captures if inner is value), None)
        return _branches(outer) if isinstance(outer, Value) else None
    if node.op.name != "cond":
        return None
    place = node.outputs.index(value)
    parts = [_branches(branch.outputs[place]) for branch in node.subgraphs.values()]
    return None if None in parts else [each for part in parts for each in part or ()]
