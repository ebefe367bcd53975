"""Python dicts that become hash tables in the graph."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph.backend import DICTS, containers_in, has_staged_items, items_in, references, refill
from runtime.core.operations import OPERATIONS
from runtime.core.tensor import Tensor
from runtime.core.types import ListType
from runtime.staging.containers.row_table import remake_before
from runtime.staging.elements.describe import describe
from runtime.staging.joins.column_join import join_tables
from runtime.staging.joins.container_arenas import refer_elements
from runtime.staging.joins.lattice import Conflict, Custom, Nested, leaf_types
from runtime.staging.storage import dict_presence
from runtime.staging.storage.dict import StagedDict, empty_dict_like
from runtime.staging.storage.dict_keys import certain, settled_key

__all__ = ["become_table", "settle_keys", "settle_names", "settle_order", "settle_values", "table_spec"]


def settle_keys(mapping: Any, words: bool = True) -> bool:
    """Convert a dict to a hash table in the graph if the presence of some of its keys is known only at run time.
    Returns whether that was done; StagingError if it is impossible. `words`: also where all keys are text, which are
    mostly names of a known number of values."""
    if not isinstance(mapping, dict) or not dict_presence.is_uncertain(mapping) or not (
            words or not all(type(key) is str for key in dict.keys(mapping))):
        dict_presence.check_keys(mapping)
        return False
    spec = _spec_of_items(mapping)
    if spec is None:
        dict_presence.check_keys(mapping)
    else:
        become_table(mapping, spec)
    return True


def settle_order(mapping: dict[Any, Any], key: Any) -> bool:
    """Where a known key is set: convert a dict to a hash table in the graph if that may put the key behind others,
    since only the graph knows which of them are there. Returns whether that was done: if it is possible, and the values
    are no tensors with axes, whose shapes a table would lose."""
    if dict_presence.bound_of(mapping, key) is None or next(reversed(mapping)) == key:
        return False
    return _become_table_of_names(mapping, dict.__getitem__(mapping, key))


def settle_names(mapping: Any) -> bool:
    """Where all keys are asked for: convert a dict with text as keys, which may be names of a known number of values,
    to a hash table in the graph if only the graph knows which of them are there. Returns whether that was done: if it
    is possible, and the values are no tensors with axes, whose shapes a table would lose."""
    if type(mapping) not in DICTS or not dict_presence.is_uncertain(mapping):
        return False
    uncertain = [value for key, value in dict.items(mapping) if dict_presence.bound_of(mapping, key) is not None]
    return _become_table_of_names(mapping, uncertain[0])


def _become_table_of_names(mapping: dict[Any, Any], uncertain: Any) -> bool:
    """Convert a dict to a hash table in the graph, if that loses no shapes of values. `uncertain`: the value of a key
    that may not be there. Returns whether that was done."""
    if any(map(_has_axes, items_in(mapping))):
        return False
    if not uncertain.presence.name.endswith("]"):  # an attribute, in the `__dict__` of an object
        return False
    spec = _spec_of_items(mapping)
    if spec is not None:
        become_table(mapping, spec)
    return spec is not None


def _has_axes(item: tuple[Any, Any]) -> bool:
    value = certain(item[1])
    return isinstance(value, Tensor) and value.ndim > 0


def _spec_of_items(mapping: dict[Any, Any]) -> Custom | None:
    """`table_spec` for a dict some of whose keys may not be there."""
    return table_spec(empty_dict_like(mapping), [(key, certain(value)) for key, value in items_in(mapping)])


def table_spec(mapping: dict[Any, Any], items: Sequence[tuple[Any, Any]]) -> Custom | None:
    """The spec of the dict, extended by these items, as a hash table in the graph. None if it cannot be one: keys are
    such as `is_key` accepts, all keys and all values have one structure, and the types of their leaves have
    joins."""
    if type(mapping) not in DICTS or _have_other_names(mapping):
        return None
    refer_elements(mapping, [value for _, value in items])
    found = [*items, *mapping.items()]
    keys = tuple([settled_key(key)[0] for key, _ in found])
    spec = Nested(mapping, keys, tuple([describe(value) for _, value in found]))
    try:
        return join_tables(spec, spec)
    except Conflict:
        return None


def _have_other_names(mapping: dict[Any, Any]) -> bool:
    """Whether a list or object among the values of the dict has another name: a table has a copy of it."""
    found = containers_in(mapping.values())
    return bool(found) and max(references(found.values()).values(), default=0) > 1


def settle_values(mappings: Sequence[dict[Any, Any]]) -> bool:
    """Convert a dict to a hash table in the graph, before the statement, so that its values are elements of a list of
    the graph. Returns whether that was possible."""
    (mapping,) = mappings
    spec = table_spec(mapping, [])
    if spec is None:
        return False
    remake_before(mappings, settle_values, alone=True)
    become_table(mapping, spec)
    return True


def _make_table(mapping: dict[Any, Any]) -> None:
    """Convert a dict with known keys to a hash table in the graph, if possible."""
    if mapping and not has_staged_items(mapping):
        spec = table_spec(mapping, [])
        if spec is not None:
            become_table(mapping, spec)


OPERATIONS.define(make_table=_make_table)


def become_table(mapping: dict[Any, Any], spec: Custom) -> None:
    """Convert a dict to the hash table that `spec` describes."""
    types = [type.element for type, _ in leaf_types(spec) if isinstance(type, ListType)]
    refill(mapping, [*StagedDict.from_items(mapping, spec.like.structure, types[2:]).owner.values()])
