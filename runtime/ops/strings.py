"""Text in graphs: a vector of uint8, in UTF-8."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError
from runtime.core.formatting import repr_of
from runtime.core.op import CONST, Op, Sample
from runtime.core.operations import OPERATIONS
from runtime.core.text import ITEM, LIST, STR, Hole, Template, Text, split
from runtime.core.trace import apply, wrap
from runtime.core.types import TensorType, Type
from runtime.ops.logic import logical_not

__all__ = ["as_bytes", "text_of_records"]


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


def _records_kernel(*columns: Any, record: Template, order: tuple[int, ...]) -> Any:
    records = [record.render([row[k] for k in order]) for row in zip(*columns, strict=True)]
    return np.frombuffer(", ".join(records).encode(), np.uint8)


def _records_rule(*types: Type, record: Template, order: tuple[int, ...]) -> TensorType:
    return TensorType(t.uint8, (None,))


_RECORDS: Final = Op("render_records", _records_kernel, _records_rule,
                     doc="The items of a list of records, one column for each part, as Python shows them, as UTF-8."
                         " `record` is the text of one; its holes take the columns in `order`.")


class _Part:
    """Stands for a part of a record in the template of the record's text."""

    def __init__(self, number: int, is_list: bool) -> None:
        self.number, self.is_list = number, is_list

    def __text__(self, spec: str) -> Text:
        return Text(Template(("", ""), (Hole(LIST if self.is_list else ITEM),)), (self.number,))


def text_of_records(
    columns: Sequence[Any], pack: Callable[[Iterable[Any]], Any], lists: Sequence[bool] | None = None
) -> Text:
    """The text of the items of a list of records in the current graph; `pack` builds a record from its parts. `lists`:
    which parts are tensors of the items of a list."""
    lists = [False for _ in columns] if lists is None else lists
    record, order = split(repr_of(pack(map(_Part, range(len(columns)), lists))))
    return Text.of_utf8(apply(_RECORDS, *columns, record=record, order=order).value)


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


def _equal(x: str | Text, y: str | Text) -> Any:
    return apply(_EQUAL, as_bytes(x), as_bytes(y))


OPERATIONS.define(equal_text=_equal, unequal_text=lambda x, y: logical_not(_equal(x, y)))
