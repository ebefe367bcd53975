"""`separator.join(texts)`, where only the graph knows how many texts there are."""
from __future__ import annotations

from typing import Any

from autograph.backend import has_staged_items
from runtime.core.operations import OPERATIONS
from runtime.core.text import TEXT, Hole, Template, Text, concat_text, join
from runtime.ops.strings import text_of_records
from runtime.staging.elements.element_layout import STRING
from runtime.staging.storage.record_list import StagedRecords, in_plain_columns
from runtime.staging.values.generators import listed
from runtime.staging.values.iterables import stages, view_of
from runtime.staging.values.list import collect
from runtime.staging.values.strings import item_of_text, length_of_text

__all__ = ["joined"]


def joined(separator: Any, texts: Any) -> Any:
    """`separator.join(texts)`. TypeError if the items are no texts."""
    texts = texts.__iterated__() if isinstance(texts, Text) else texts
    if not (stages(texts) or has_staged_items(texts)):
        return join(separator, texts)
    items = in_plain_columns(view_of(listed(texts)))
    if isinstance(items, list):
        return join(separator, items)
    if not isinstance(items, StagedRecords) or items.structure is not STRING:
        raise TypeError(f"sequence item 0: expected str instance, {_kind(items)} found")
    if isinstance(separator, str):
        return _concatenated(items, separator)
    with_separators = collect(items, element=lambda text: concat_text((separator, text)))
    return item_of_text(_concatenated(with_separators, ""), slice(length_of_text(separator), None))


def _concatenated(items: StagedRecords, separator: str) -> Text:
    return text_of_records(items.__leaves__(), Text(Template(("", ""), (Hole(TEXT),)), (0,)), separator)


def _kind(items: Any) -> str:
    """The class of the items, for messages."""
    return "Tensor" if not isinstance(items, StagedRecords) else type(items.structure).__name__


OPERATIONS.define(join_text=joined)
