"""Operations on text that only the graph knows, besides comparing and formatting."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from runtime.core.tensor import Tensor
from runtime.core.text import Text
from runtime.core.trace import convert_to_tensor
from runtime.core.types import int32, uint8
from runtime.ops.concat_split import concat
from runtime.ops.creation import zeros
from runtime.ops.indexing import getitem
from runtime.ops.logic import bitwise_and, equal, not_equal
from runtime.ops.math import cast
from runtime.ops.reduction import reduce_all, reduce_sum
from runtime.ops.shape import dim, reshape
from runtime.ops.strings import as_bytes
from runtime.staging.values.iterables import first_true, weak_int

__all__ = ["any_text", "length_of_text", "place_of_text", "text_at"]


def text_at(texts: Sequence[str | Text], place: Tensor) -> Text:
    """The text at a position, counted from 0 and in range, selected from the bytes of all texts."""
    parts = list(map(as_bytes, texts))
    whole: Any
    constants = [part.value.constant for part in parts]
    if any(constant is None for constant in constants):
        whole, sizes = concat(parts, 0), [weak_int(dim(part, 0)) for part in parts]
    else:
        whole, sizes = np.concatenate(constants), list(map(len, constants))
    bounds = convert_to_tensor([0, *accumulate(sizes)])
    chosen: Any = getitem(whole, slice(getitem(bounds, place), getitem(bounds, place + 1)))
    return Text.held(chosen.value)


def any_text(text: Text) -> Any:
    """Whether a text is not empty: a bool, or a bool scalar tensor."""
    return not_equal(dim(as_bytes(text), 0), 0) if text.may_be_empty else True


def length_of_text(text: Text) -> Any:
    """The number of characters of the text, each of one to four bytes."""
    begins = not_equal(bitwise_and(as_bytes(text), 0xC0), 0x80)
    return weak_int(reduce_sum(cast(begins, int32)))


def place_of_text(texts: Sequence[str], text: Text) -> Any:
    """The position of the first of these texts, all known at trace time, that equals `text`; their number if none
    does."""
    rows = [item.encode(errors="surrogatepass") for item in texts]
    width = max(map(len, rows))
    wanted = as_bytes(text)
    same = equal([len(row) for row in rows], dim(wanted, 0))
    if width:
        table = np.array([[*row.ljust(width, b"\0")] for row in rows], np.uint8)
        start = concat([getitem(wanted, slice(None, width)), zeros([width], uint8)], 0)
        same &= reduce_all(equal(table, reshape(getitem(start, slice(None, width)), [width])), axis=1)
    return first_true(same)
