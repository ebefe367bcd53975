"""Unpacking of what has graph values, as in `a, b = items` and `a, *rest = items`."""
from __future__ import annotations

from typing import Any

from autograph.backend import itself, split
from runtime.core.formatting import formatted
from runtime.core.text import concat_text
from runtime.core.trace import convert_to_tensor
from runtime.ops.effects import raise_unless
from runtime.ops.logic import greater_equal, less_equal
from runtime.staging.containers.select_containers import has_known_sequences, middle_of
from runtime.staging.values.generators import StagedGenerator, all_at_once, listed, materialized
from runtime.staging.values.iterables import Counted, Lazy, as_iterable, view_of, weak_int
from runtime.staging.values.list import unview

__all__ = ["parts_of"]


def parts_of(items: Any, before: int, after: int | None) -> Any:
    """The parts of a staged iterable: its items, which are `before`, or the first `before` items, the list of those in
    the middle, and the last `after`. ValueError at run time if there are others."""
    if isinstance(items, StagedGenerator) and after is None:  # Python takes one item more than it needs, at most
        if items.passes_items:
            return iter(items)
        clause = items.use()
        is_whole = clause.is_map and clause.element is itself and isinstance(as_iterable(clause.iterable), Counted)
        items = clause.iterable if is_whole else all_at_once(clause)
    items = view_of(materialized(items))
    found = as_iterable(items)
    if not isinstance(found, Counted):
        return items if after is None else split(items, before, after)
    if isinstance(found.length, int):
        known = [found.item(i) for i in range(found.length)]
        return known if after is None else split(known, before, after)
    is_chosen, is_lazy = has_known_sequences(items), isinstance(items, Lazy) and after is None
    elements = items if is_chosen or is_lazy else view_of(listed(items)).as_list()
    size, least = weak_int(convert_to_tensor(elements.length)), before + (after or 0)
    raise_unless(greater_equal(size, least), ValueError(concat_text((
        f"not enough values to unpack (expected {'' if after is None else 'at least '}{least}, got ", formatted(size),
        ")"))))
    first = [found.item(i) if is_lazy else elements[i] for i in range(before)]
    if after is None:
        raise_unless(less_equal(size, least), ValueError(f"too many values to unpack (expected {before})"))
        return first
    if is_chosen:
        return *first, middle_of(items, before, after), *[items[i] for i in range(-after, 0)]
    rest = elements[before:size - after] if after else elements[before:]
    return *first, unview(rest), *[elements[size - after + i] for i in range(after)]
