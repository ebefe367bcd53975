"""The join of tuples of different lengths, and of tuples of whose length only the graph knows: that of lists with the
same items."""
from __future__ import annotations

from runtime.core.types import ListType
from runtime.staging.elements.describe import leaf_type
from runtime.staging.elements.list_specs import list_of_tuple
from runtime.staging.elements.specs import Custom, Spec
from runtime.staging.elements.tuple import StagedTuple, can_hold
from runtime.staging.joins.column_join import join_lists
from runtime.staging.joins.spec_text import Conflict

__all__ = ["join_tuples"]


def join_tuples(a: Spec, b: Spec) -> Custom | None:
    """The join of two tuples as a StagedTuple; None for other values. Conflict if there is none."""
    left, right = list_of_tuple(a), list_of_tuple(b)
    if left is None or right is None:
        return None
    try:
        joined = join_lists(left, right)
    except Conflict:
        raise Conflict(a, b) from None
    types = [type.element for type in map(leaf_type, joined.children) if isinstance(type, ListType)]
    if not can_hold(joined.like.structure, types):
        raise Conflict(a, b)
    return Custom(StagedTuple(joined.like), joined.children)
