"""HTML tables of arrays, for notebooks: bounded in size, all text escaped."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from autograph.backend import deferred

if TYPE_CHECKING:
    import html
else:
    html = deferred("html")  # only notebooks show tables

__all__ = ["array_table"]

_EDGE: Final = 8  # rows or columns at each end
_CHARACTERS: Final = 40  # of an item


def array_table(array: np.ndarray[Any, Any], title: str) -> str:
    """A title and the items of an array; of an array with more than two axes, the items of its first matrix."""
    parts = [f"<div>{html.escape(title)}</div>"]
    shown, index = array, []
    while shown.ndim > 2 and shown.size:
        shown = shown[0]
        index.append("0")
    if index:
        parts.append(f"<div>[{', '.join(index)}, :, :]</div>")
    if shown.size:
        rows = shown.reshape(-1, shown.shape[-1]) if shown.ndim else shown.reshape(1, 1)
        columns = _ends(rows.shape[1])
        body = ["<tr>" + "".join(_cell(rows, i, j) for j in columns) + "</tr>" for i in _ends(rows.shape[0])]
        parts.append("<table>" + "".join(body) + "</table>")
    return "\n".join(parts)


def _ends(length: int) -> Sequence[int | None]:
    """The positions that are shown, with None for the gap."""
    if length <= 2 * _EDGE + 1:
        return range(length)
    return [*range(_EDGE), None, *range(length - _EDGE, length)]


def _cell(rows: np.ndarray[Any, Any], i: int | None, j: int | None) -> str:
    if i is None or j is None:
        return "<td>…</td>"
    text = str(rows[i, j])
    text = text if len(text) <= _CHARACTERS else text[:_CHARACTERS - 1] + "…"
    return f"<td>{html.escape(text)}</td>"
