"""Nested structures: lists, tuples, named tuples and dicts, with anything else as a leaf (`tf.nest`).

In a traced function a staged list or dict is a structure, too, if its length or keys are static.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from autograph.backend import operators
from runtime.core import pytree
from runtime.core.public_names import hint_at_public_names
from runtime.core.trace import current_graph
from runtime.staging.containers.known_structure import container_kind, known_structure

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def is_nested(structure: Any) -> bool:
    """Whether it is a list, tuple, named tuple or mapping (`tf.nest.is_nested`)."""
    return container_kind(structure) is not None or pytree.is_nested(structure)


def flatten(structure: Any) -> list[Any]:
    """The leaves, in order; for a leaf, a list with it (`tf.nest.flatten`)."""
    return pytree.flatten(known_structure(structure))


def pack_sequence_as(structure: Any, flat_sequence: Iterable[Any]) -> Any:
    """A structure like `structure` with the leaves `flat_sequence` (`tf.nest.pack_sequence_as`).

    ValueError if there are too few or too many.
    """
    flat = known_structure(flat_sequence)
    return pytree.pack_sequence_as(known_structure(structure), flat)


def map_structure(func: Callable[..., Any], *structure: Any) -> Any:
    """`func` applied to corresponding leaves of structures of the same form (`tf.nest.map_structure`).

    ValueError or TypeError if the structures differ. In a traced function `func` converts, as callees do.
    """
    func = func if current_graph() is None else operators.call(func)
    return pytree.map_structure(func, *map(known_structure, structure))


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Check that both structures have the same form (`tf.nest.assert_same_structure`).

    ValueError if keys or lengths differ; TypeError if `check_types` and the kinds of containers differ.
    """
    pytree.assert_same_structure(known_structure(nest1), known_structure(nest2), check_types)


hint_at_public_names(__name__)
