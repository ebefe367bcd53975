"""Nested structures (pytrees): lists, tuples, named tuples and dicts, with anything else as a leaf (`tf.nest`).

Dicts are traversed in the order of their sorted keys.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from autograph.backend import has_staged_items

__all__ = ["assert_same_structure", "children", "flatten", "is_nested", "map_structure", "pack_sequence_as", "rebuild"]


def is_nested(structure: Any) -> bool:
    """Whether it is a list, tuple, named tuple or mapping (`tf.nest.is_nested`)."""
    return isinstance(structure, (list, tuple, Mapping)) and not has_staged_items(structure)


def flatten(structure: Any) -> list[Any]:
    """The leaves, in order; a single leaf gives a list of one (`tf.nest.flatten`)."""
    leaves: list[Any] = []
    _flatten(structure, leaves)
    return leaves


def _flatten(structure: Any, leaves: list[Any]) -> None:
    if is_nested(structure):
        for child in children(structure):
            _flatten(child, leaves)
    else:
        leaves.append(structure)


def _keys(structure: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(structure)
    except TypeError:
        raise TypeError(f"a dict in a nested structure needs keys that sort, not {list(structure)}") from None


def children(structure: Any) -> Iterable[Any]:
    return [structure[key] for key in _keys(structure)] if isinstance(structure, Mapping) else structure


def rebuild(structure: Any, children: Iterable[Any]) -> Any:
    """A structure of the same kind with these children, in the order of `children`."""
    kind: Any = type(structure)
    if isinstance(structure, Mapping):
        new = dict(zip(_keys(structure), children, strict=True))
        ordered = {key: new[key] for key in structure}
        if isinstance(structure, defaultdict):
            return kind(structure.default_factory, ordered)
        return kind(ordered)
    return kind(*children) if hasattr(structure, "_fields") else kind(children)


def pack_sequence_as(structure: Any, flat_sequence: Iterable[Any]) -> Any:
    """A structure like `structure` with the leaves `flat_sequence` (`tf.nest.pack_sequence_as`).

    ValueError if there are too few or too many.
    """
    flat = list(flat_sequence)
    count = len(flatten(structure))
    if len(flat) != count:
        raise ValueError(f"the structure {structure!r} has {count} leaves, but {len(flat)} are given")
    return _pack(structure, iter(flat))


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if is_nested(structure):
        return rebuild(structure, [_pack(child, leaves) for child in children(structure)])
    return next(leaves)


def map_structure(func: Callable[..., Any], *structure: Any) -> Any:
    """`func` applied to corresponding leaves of structures of the same form (`tf.nest.map_structure`).

    ValueError or TypeError if the structures differ.
    """
    if not structure:
        raise ValueError("map_structure needs at least one structure")
    first, *others = structure
    for other in others:
        assert_same_structure(first, other)
    return _pack(first, map(func, *map(flatten, structure)))


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Check that both structures have the same form (`tf.nest.assert_same_structure`).

    ValueError if keys or lengths differ; TypeError if `check_types` and the kinds of containers differ.
    """
    if is_nested(nest1) is not is_nested(nest2):
        nested, leaf = (nest1, nest2) if is_nested(nest1) else (nest2, nest1)
        raise ValueError(f"the structures differ: {nested!r} is nested, {leaf!r} is not")
    if not is_nested(nest1):
        return
    kinds_differ = isinstance(nest1, Mapping) is not isinstance(nest2, Mapping)
    if kinds_differ or (check_types and type(nest1) is not type(nest2)):
        raise TypeError(f"the structures differ: a {type(nest1).__name__} and a {type(nest2).__name__}")
    if isinstance(nest1, Mapping) and set(nest1) != set(nest2):
        raise ValueError(f"the structures differ: dicts with the keys {_keys(nest1)} and {_keys(nest2)}")
    if len(nest1) != len(nest2):
        raise ValueError(f"the structures differ: {len(nest1)} elements and {len(nest2)}")
    for child1, child2 in zip(children(nest1), children(nest2), strict=True):
        assert_same_structure(child1, child2, check_types)
