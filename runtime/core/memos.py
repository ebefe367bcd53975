"""The results of functions with `functools.lru_cache` that a trace keeps: dicts, which any of its code may change."""
from __future__ import annotations

import threading
from typing import Any, Final

from autograph.backend import of_trace
from runtime.core.graph import COUNT, Graph
from runtime.core.trace import current_graph

__all__ = ["forget_after", "has_memo", "memo_of", "memos"]


_Table = dict[Any, tuple[Any, dict[Any, Any], int]]
"""By key: an object that lives as long, a dict, and a number as nodes have, which tells when it was made."""


class _Trace(threading.local):
    tables: tuple[tuple[Graph, _Table], ...] = ()
    """For each function being traced: its graph and its dicts."""


_trace: Final = of_trace(_Trace())


def _root() -> Graph | None:
    graph = current_graph()
    while graph is not None and graph.parent is not None:
        graph = graph.parent
    return graph


def _table() -> _Table | None:
    root = _root() if _trace.tables else None
    return next((table for each, table in _trace.tables if each is root), None)


def memos() -> list[dict[Any, Any]]:
    """The dicts of the function that is being traced."""
    table = _table()
    return [] if table is None else [memo for _, memo, _ in table.values()]


def has_memo(owner: Any) -> bool:
    """Whether the function that is being traced has a dict of that owner."""
    return any(each is owner for each, _, _ in (_table() or {}).values())


def memo_of(key: Any, owner: Any, make: bool) -> dict[Any, Any] | None:
    """The dict for that key in the function that is being traced; with `make`, a new one if there is none."""
    table, root = _table(), _root()
    if table is None and make and root is not None:
        table = {}
        _trace.tables = (*_trace.tables, (root, table))
    if table is None or (key not in table and not make):
        return None
    if key not in table:
        table[key] = owner, {}, next(COUNT)
    return table[key][1]


def forget_after(number: int) -> None:
    """Forget the dicts made after the node with that number, which the trace removes."""
    for _, table in _trace.tables:
        for key in [key for key, (_, _, made) in table.items() if made > number]:
            del table[key]
