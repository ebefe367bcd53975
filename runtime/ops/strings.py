"""Text in graphs: a vector of uint8, in UTF-8."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError
from runtime.core.op import CONST, Op, Sample
from runtime.core.operations import OPERATIONS
from runtime.core.text import STR, Hole, Template, Text, split
from runtime.core.trace import apply, wrap
from runtime.core.types import ListType, TensorType, Type
from runtime.ops.concat_split import concat
from runtime.ops.indexing import getitem
from runtime.ops.logic import less, logical_not, not_equal
from runtime.ops.math import cast, minimum
from runtime.ops.reduction import argmax
from runtime.ops.shape import dim

__all__ = ["as_bytes", "less_text", "rank_texts", "text_of_records"]


def _render_kernel(*arrays: Any, text: Template) -> Any:
    return np.frombuffer(text.render(arrays).encode(), np.uint8)


def _render_rule(*types: Type, text: Template) -> TensorType:
    return TensorType(t.uint8, (None,))


def _render_samples(rng: np.random.Generator) -> Iterable[Sample]:
    yield (), {"text": Template(("é",))}
    yield (np.array(1.5), np.array([1, 2])), {"text": Template(("a", "", "b"), (Hole(".2f"), Hole(STR)))}


_RENDER: Final = Op("render_text", _render_kernel, _render_rule, samples=_render_samples,
                    doc="`text`, with its operands in the holes, as UTF-8.")


def as_bytes(text: str | Text) -> Any:
    """The text as a tensor of the current graph."""
    template, values = split(text)
    if not values:
        return apply(CONST, value=np.frombuffer(template.pieces[0].encode(), np.uint8))
    if template.is_text_alone:
        return wrap(values[0])
    return apply(_RENDER, *map(wrap, values), text=template)


def _records_kernel(*columns: Any, record: Template, order: tuple[int, ...], separator: str = ", ") -> Any:
    records = [record.render([row[k] for k in order]) for row in zip(*columns, strict=True)]
    return np.frombuffer(separator.join(records).encode(), np.uint8)


def _records_rule(*types: Type, record: Template, order: tuple[int, ...], separator: str = ", ") -> TensorType:
    return TensorType(t.uint8, (None,))


_RECORDS: Final = Op("render_records", _records_kernel, _records_rule,
                     doc="The items of a list of records, one column for each part, as Python shows them, as UTF-8."
                         " `record` is the text of one; its holes take the columns in `order`.")


def text_of_records(columns: Sequence[Any], record: Text, separator: str = ", ") -> Text:
    """The texts of the items of a list of records, joined, in the current graph. `record` is the text of one, whose
    values are the numbers of its columns."""
    template, order = split(record)
    more = {} if separator == ", " else {"separator": separator}
    return Text.of_utf8(apply(_RECORDS, *columns, record=template, order=order, **more).value)


def _equal_kernel(x: Any, y: Any) -> Any:
    return np.array(np.array_equal(x, y))


def _equal_rule(x: TensorType, y: TensorType) -> TensorType:
    for operand in x, y:
        if operand.dtype is not t.uint8 or len(operand.shape) != 1:
            raise DTypeError(f"equal_text takes vectors of uint8, not {operand}")
    return TensorType(t.bool_, ())


def _equal_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for x, y in ((b"one", b"one"), (b"one", b"two"), (b"", b""), (b"a", b"ab")):
        yield (np.frombuffer(x, np.uint8), np.frombuffer(y, np.uint8)), {}


_EQUAL: Final = Op("equal_text", _equal_kernel, _equal_rule, samples=_equal_samples,
                   doc="Whether two texts, of any lengths, are the same.")


def _ranks_kernel(texts: Any) -> Any:
    encoded = [bytes(text) for text in texts]  # UTF-8 has the order of the characters
    places = {text: place for place, text in enumerate(sorted({*encoded}))}
    return np.array([places[text] for text in encoded], np.int32)


def _ranks_rule(texts: Type) -> TensorType:
    if not isinstance(texts, ListType) or texts.element.dtype is not t.uint8 or len(texts.element.shape) != 1:
        raise DTypeError(f"rank_texts takes a list of vectors of uint8, not {texts}")
    return TensorType(t.int32, (None,))


_RANKS: Final = Op("rank_texts", _ranks_kernel, _ranks_rule,
                   doc="For each text of a list, how many others are before it in their order; equal ones count once.")


def rank_texts(texts: Any) -> Any:
    """For each text of a list of the graph, its place in their order, as a vector of int32."""
    return apply(_RANKS, texts)


def less_text(x: str | Text, y: str | Text) -> Any:
    """Whether a text is before another one in their order: a bool scalar tensor."""
    one, other = [concat([cast(as_bytes(text), t.int32) + 1, [0]], 0) for text in (x, y)]
    size = minimum(dim(one, 0), dim(other, 0))
    one, other = [getitem(codes, slice(None, size)) for codes in (one, other)]
    first = argmax(cast(not_equal(one, other), t.int32), output_type=t.int32)  # 0 if they are equal
    return less(getitem(one, first), getitem(other, first))


def _equal(x: str | Text, y: str | Text) -> Any:
    return apply(_EQUAL, as_bytes(x), as_bytes(y))


OPERATIONS.define(
    equal_text=_equal, unequal_text=lambda x, y: logical_not(_equal(x, y)), less_text=less_text)
