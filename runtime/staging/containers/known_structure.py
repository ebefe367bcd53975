"""Structures with staged or selected containers, as plain ones: for functions that walk over lists and dicts."""
from __future__ import annotations

from typing import Any

from autograph.backend import has_staged_items, keyed
from runtime.core.pytree import children, is_nested, rebuild
from runtime.core.trace import current_graph
from runtime.staging.storage.dict_presence import check_keys
from runtime.staging.values.generators import known_items
from runtime.staging.values.iterables import Staged, view_of

__all__ = ["container_kind", "known_structure"]


def container_kind(x: Any) -> type | None:
    """The class, list or dict, that a staged or selected container represents; None for other values."""
    if current_graph() is None:
        return None
    kind = type(x) if has_staged_items(x) else getattr(type(x), "__stands_for__", None)
    return kind if kind is list or kind is dict else None


def known_structure(structure: Any) -> Any:
    """The structure with staged or selected lists and dicts replaced by plain ones. StagingError if lengths or keys are
    known only at run time."""
    if current_graph() is None:
        return structure
    kind = container_kind(structure)
    if kind is list:
        return [known_structure(item) for item in _items(structure)]
    if kind is dict:
        return {key: known_structure(structure[key]) for key in structure}
    if type(structure) in keyed:
        check_keys(structure)
    if not is_nested(structure):
        return structure
    before = [*children(structure)]
    after = [known_structure(child) for child in before]
    same = all(one is other for one, other in zip(before, after, strict=True))
    return structure if same else rebuild(structure, after)


def _items(x: Any) -> list[Any]:
    view = view_of(x)
    if isinstance(view, Staged):
        return [*known_items(view, "a list in a nested structure", "Give it a list of known length, or the tensor"
                             " rt.stack(xs).")]
    return [view[i] for i in range(len(view))]
