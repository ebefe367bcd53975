"""Nested structures: lists, tuples, named tuples and dicts, with anything else as a leaf (`tf.nest`)."""
from __future__ import annotations

from runtime.core.pytree import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]
