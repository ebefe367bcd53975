"""Python dicts that become hash tables in the graph."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph.backend import DICTS, containers_in, items_in, refill
from runtime.core import pytree
from runtime.core.types import TensorType, join_types
from runtime.staging.values import dict_presence
from runtime.staging.values.dict import StagedDict, certain, empty_dict_like, is_numeric
from runtime.staging.values.lattice import type_of

__all__ = ["can_be_table", "settle_keys"]


def settle_keys(mapping: Any) -> bool:
    """Convert a dict to a hash table in the graph if the presence of some of its keys is known only at run time.
    Returns whether that was done; StagingError if it is impossible."""
    if not isinstance(mapping, dict) or not dict_presence.is_uncertain(mapping):
        dict_presence.check_keys(mapping)
        return False
    items = [(key, certain(value)) for key, value in items_in(mapping)]
    if not can_be_table(empty_dict_like(mapping), *items[0], items[1:]):
        dict_presence.check_keys(mapping)
    refill(mapping, [*StagedDict.from_items(mapping).owner.values()])
    return True


def can_be_table(mapping: dict[Any, Any], key: Any, value: Any, others: Sequence[tuple[Any, Any]] = ()) -> bool:
    """Whether the dict, extended by these items, can be a hash table in the graph: keys are numbers or tuples of
    numbers, all keys and all values have one structure, and the types of their leaves have joins."""
    items = [(key, value), *others, *mapping.items()]
    if type(mapping) not in DICTS or not all([is_numeric(each) for each, _ in items]):
        return False
    if containers_in([content for _, content in items]):
        return False
    try:
        for item in items:
            pytree.assert_same_structure(items[0], item)
    except (TypeError, ValueError):
        return False
    return all(map(_have_join, zip(*map(pytree.flatten, items), strict=True)))


def _have_join(leaves: Sequence[Any]) -> bool:
    found: Any = type_of(leaves[0])
    for leaf in leaves:
        other = type_of(leaf)
        found = None if found is None or other is None else join_types(found, other, adapts=True)
    return isinstance(found, TensorType)
