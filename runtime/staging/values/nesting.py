"""How tuples nest in the state of staged code: a type has a depth, so tuples cannot be put into others of their kind
for as long as the graph runs, as objects by reference can."""
from __future__ import annotations

from typing import Any, Final, NamedTuple

from runtime.core import pytree
from runtime.core.errors import subject
from runtime.core.positions import staging_error
from runtime.staging.values.element_layout import MaybeNone, Record, Rows
from runtime.staging.values.list import StagedItems
from runtime.staging.values.optional import MaybeObject
from runtime.staging.values.specs import Custom, Nested, Optional, Spec

__all__ = ["AS_OBJECTS", "check_nesting", "is_other_tuple"]

_MOST: Final = 8
AS_OBJECTS: Final = ("Make a class in place of these tuples, whose objects have the parts as attributes, None where"
                     " there is none: objects may refer to others of their class.")
"""What to do where tuples would be nested to a depth that only the graph knows."""


class _Shape(NamedTuple):
    """How tuples nest in a value: the shapes of its parts, of which those that are no containers have none."""

    is_tuple: bool
    parts: tuple[Any, ...]

    @property
    def size(self) -> int:
        """The number of tuples."""
        found: int = self.is_tuple + sum(part.size for part in self.parts)
        return found

    def times(self, other: _Shape) -> int:
        """How often there is another one in it."""
        return sum((part == other) + part.times(other) for part in self.parts)


def _shape(x: Any) -> _Shape:
    """The shape of a spec, of the structure of elements, or of a value that may be one."""
    if isinstance(x, (Optional, MaybeNone, MaybeObject)):
        return _shape(x.child if isinstance(x, Optional) else x.structure if isinstance(x, MaybeNone) else x.content)
    if isinstance(x, Nested):
        return _Shape(isinstance(x.like, tuple), tuple(map(_shape, x.children)))
    if isinstance(x, Custom):
        return _Shape(False, (_shape(x.like.structure),) if isinstance(x.like, StagedItems) else ())
    if isinstance(x, Rows):
        return _Shape(False, (_shape(x.structure),))
    if isinstance(x, Record):
        return _Shape(False, tuple(map(_shape, x.fields.values())))
    if pytree.is_nested(x):
        return _Shape(isinstance(x, tuple), tuple(map(_shape, pytree.children(x))))
    return _Shape(False, ())


def check_nesting(before: Spec | None, now: Spec | None, what: str, name: str = "") -> None:
    """StagingError if the type of a value has changed so that tuples have several times in them what was in their place
    before: their number would double with each trace. `what` does that, to the variable `name`."""
    if before is not None and now is not None and _nests(_shape(before), _shape(now)):
        of = f" of {subject(name)}" if name else ""
        raise staging_error(f"{what} puts the tuples{of} that it has made into others, to a depth that only the graph"
                            " knows", AS_OBJECTS)


def _nests(before: _Shape, now: _Shape) -> bool:
    """Whether a part that is a tuple has become one that has it several times."""
    if before == now:
        return False
    if before.is_tuple and now.size >= _MOST and now.times(before) > 1:
        return True
    return len(before.parts) == len(now.parts) and any(map(_nests, before.parts, now.parts))


def is_other_tuple(structure: Any, x: Any) -> bool:
    """Whether a value differs from elements with a structure in that one has a tuple where the other has none, or one
    of another length."""
    return _differ(_shape(structure), _shape(x))


def _differ(one: _Shape, other: _Shape) -> bool:
    is_same_length = len(one.parts) == len(other.parts)
    if one.is_tuple != other.is_tuple or (one.is_tuple and not is_same_length):
        return True
    return is_same_length and any(map(_differ, one.parts, other.parts))
