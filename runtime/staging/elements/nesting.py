"""How tuples, lists and dicts nest in the state of staged code: a type has a depth, so they cannot be put into others
of their kind for as long as the graph runs, as objects by reference can."""
from __future__ import annotations

from typing import Any, Final, NamedTuple

from runtime.core import pytree
from runtime.core.errors import subject
from runtime.core.positions import staging_error
from runtime.staging.elements.element_layout import MaybeNone, Record, Rows
from runtime.staging.elements.specs import Custom, Nested, Optional, Spec
from runtime.staging.values.list import StagedItems
from runtime.staging.values.optional import MaybeObject

__all__ = ["AS_OBJECTS", "check_nesting", "is_other_tuple"]

_MOST: Final = 7  # of two levels of pairs in a pair: another level takes several times as long to trace
AS_OBJECTS: Final = ("Make a class in place of these, whose objects have the parts as attributes, None where"
                     " there is none: objects may refer to others of their class.")
"""What to do where containers would be nested to a depth that only the graph knows."""


class _Shape(NamedTuple):
    """How tuples, lists and dicts nest in a value: the name of its class, and the shapes of its parts; none for other
    values. Objects, and lists of the graph, have no name."""

    kind: str
    parts: tuple[Any, ...]

    @property
    def size(self) -> int:
        """The number of tuples, lists and dicts."""
        found: int = (self.kind != "") + sum(part.size for part in self.parts)
        return found

    def times(self, other: _Shape) -> int:
        """How often there is another one in it."""
        return sum((part == other) + part.times(other) for part in self.parts)


def _shape(x: Any) -> _Shape:
    """The shape of a spec, of the structure of elements, or of a value that may be one."""
    if isinstance(x, (Optional, MaybeNone, MaybeObject)):
        return _shape(x.child if isinstance(x, Optional) else x.structure if isinstance(x, MaybeNone) else x.content)
    if isinstance(x, Nested):
        return _Shape(_kind(x.like), tuple(map(_shape, x.children)))
    if isinstance(x, Custom):
        return _Shape("", (_shape(x.like.structure),) if isinstance(x.like, StagedItems) else ())
    if isinstance(x, Rows):
        return _Shape("", (_shape(x.structure),))
    if isinstance(x, Record):
        return _Shape("", tuple(map(_shape, x.fields.values())))
    if pytree.is_nested(x):
        return _Shape(_kind(x), tuple(map(_shape, pytree.children(x))))
    return _Shape("", ())


def _kind(x: Any) -> str:
    return next((kind.__name__ for kind in (tuple, list, dict) if isinstance(x, kind)), "")


def check_nesting(before: Spec | None, now: Spec | None, what: str, name: str = "") -> None:
    """StagingError if the type of a value has changed so that a tuple, list or dict has several times in it what was in
    its place before: their number would double with each trace. `what` does that, to the variable `name`."""
    kind = "" if before is None or now is None else _nests(_shape(before), _shape(now))
    if kind:
        of = f" of {subject(name)}" if name else ""
        raise staging_error(f"{what} puts the {kind}s{of} that it has made into others, to a depth that only the graph"
                            " knows", AS_OBJECTS)


def _nests(before: _Shape, now: _Shape) -> str:
    """The kind of a part that has become one that has it several times; empty if there is none."""
    if before == now:
        return ""
    if before.kind and now.size >= _MOST and now.times(before) > 1:
        return before.kind
    if len(before.parts) != len(now.parts):
        return ""
    return next(filter(None, map(_nests, before.parts, now.parts)), "")


def is_other_tuple(structure: Any, x: Any) -> bool:
    """Whether a value differs from elements with a structure in that one has a tuple where the other has none, or one
    of another length."""
    return _differ(_shape(structure), _shape(x))


def _differ(one: _Shape, other: _Shape) -> bool:
    kinds, is_same_length = (one.kind, other.kind), len(one.parts) == len(other.parts)
    if "tuple" in kinds and not (kinds[0] == kinds[1] and is_same_length):
        return True
    return is_same_length and any(map(_differ, one.parts, other.parts))
