"""The join of sets: of staged ones, and of a Python set, from before the call, with a staged one.

A variable that has a set from before the call on one path, and a new one on another, has a `JoinedSet`: by value, so it
may be read but not changed. (No name of a frozenset can tell.)
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from runtime.core import pytree
from runtime.core.types import ListType, Type, join_types
from runtime.staging.elements.constant_layout import Constants
from runtime.staging.elements.describe import leaf_type, target_of
from runtime.staging.elements.element_layout import STRING
from runtime.staging.elements.element_structures import join_structures
from runtime.staging.elements.specs import Custom, Leaf, Spec, Static, type_of
from runtime.staging.joins.column_join import join_sets_of
from runtime.staging.joins.spec_text import Conflict
from runtime.staging.storage.dict_keys import is_alike, is_key, is_number, is_text, structure_with
from runtime.staging.storage.set import JoinedSet, StagedFrozenSet, StagedSet

__all__ = ["join_sets"]


def join_sets(a: Spec, b: Spec) -> Custom | None:
    """The join of sets of which one never had an item, or one is Python's, or a JoinedSet; None for others. Conflict if
    the structures or types of the items differ."""
    left, right = _staged(a), _staged(b)
    if left is None or right is None:
        return _with_python(left, b) if left is not None else None if right is None else _with_python(right, a)
    if left.like.__stands_for__ is not right.like.__stands_for__:
        return None
    if JoinedSet in (left.kind, right.kind):
        return _joined(left, right)
    if left.children and right.children:
        return None if left.alike(right) else join_sets_of(left, right)
    full = left if left.children else right
    return Custom(full.like, _leaves(_types(full)), target_of(left, right))


def _staged(spec: Spec) -> Custom | None:
    return spec if isinstance(spec, Custom) and isinstance(spec.like, StagedSet) else None


def _with_python(staged: Custom, python: Spec) -> Custom | None:
    """The join with a set, or frozenset, of Python's; None for other values."""
    items: Any = python.value if isinstance(python, Static) else None
    if type(items) is not staged.like.__stands_for__:
        return None
    types = _types(staged)
    structure = reduce(structure_with, items, staged.like.structure)
    if not all(is_key(item) and _holds(structure, types[2:], item) for item in items):
        raise Conflict(staged, python)
    like = StagedFrozenSet((), structure) if type(items) is frozenset else JoinedSet(
        (), structure, [*_originals(staged), items])
    return Custom(like, _leaves(types))


def _holds(structure: Any, columns: Sequence[Type], item: Any) -> bool:
    """Whether a table with keys of that structure, in these columns, holds an item of Python's as it is."""
    return bool(columns) and is_alike(structure, item) and all(
        layout.number_of(leaf) is not None if isinstance(layout, Constants) else is_text(leaf) if layout is STRING
        else layout is None and is_number(leaf) and isinstance(column, ListType) and _adapts(leaf, column.element)
        for layout, column, leaf in zip(
            pytree.flatten(structure), columns, pytree.flatten(item), strict=True))


def _adapts(number: Any, type: Type) -> bool:
    own = type_of(number)
    return own is not None and join_types(type, own, adapts=True) == type


def _joined(a: Custom, b: Custom) -> Custom:
    """The join of two sets one of which may be one from before the call."""
    full, other = (a, b if b.children else a) if a.children else (b, b)
    types = [join_types(x, y, adapts=True) for x, y in zip(_types(full), _types(other), strict=True)]
    known = [type for type in types if type is not None]
    try:
        structure = join_structures(full.like.structure, other.like.structure)
    except (TypeError, ValueError):
        known = []
    if len(known) < len(types):
        raise Conflict(a, b)
    return Custom(JoinedSet((), structure, [*_originals(a), *_originals(b)]), _leaves(known))


def _types(spec: Custom) -> list[Type]:
    return [type for child in spec.children if (type := leaf_type(child)) is not None]


def _leaves(types: Sequence[Type]) -> tuple[Spec, ...]:
    return tuple(map(Leaf, types))


def _originals(spec: Custom) -> list[Any]:
    return spec.like.originals if isinstance(spec.like, JoinedSet) else []
