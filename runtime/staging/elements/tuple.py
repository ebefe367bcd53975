"""Tuples of whose length only the graph knows: `tuple(items)` of a staged list, `path + (node,)` in a loop.

Such a tuple has its items as a staged list has (`list.py`), in a list of its own that nothing changes; as tuples are
immutable, it has no identity to keep.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from autograph.backend import operators
from runtime.core.array_mode import lists_hold_arrays
from runtime.core.errors import OperatorNotAllowedInGraphError, locate
from runtime.core.generator_frames import decided_in_python
from runtime.core.object_mode import want_references
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error, user_position
from runtime.core.tensor import Tensor
from runtime.core.text import ITEM, REPR, STR, Text, concat_text
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType, int32
from runtime.ops.lists import ListValue
from runtime.ops.logic import equal
from runtime.ops.math import cast
from runtime.staging.elements.element_layout import Rows, may_change, same_layout
from runtime.staging.values.generators import listed
from runtime.staging.values.iterables import Counted, Staged, normalised_index, stages, view_of
from runtime.staging.values.list import StagedItems, StagedSequence
from runtime.staging.values.strings import repeated_text

__all__ = ["StagedTuple", "Tuples", "can_hold", "is_array_like", "list_of", "tuple_of"]


class StagedTuple(Staged):
    """A tuple in a function that is being traced. `items`: what a staged list with its items would hold."""

    __slots__ = ("items",)
    __stands_for__ = tuple

    def __init__(self, items: StagedItems) -> None:
        self.items = items

    # For staging.

    def __leaves__(self) -> list[ListValue]:
        return [*self.items.leaves]

    def __rebuild__(self, leaves: Sequence[ListValue]) -> StagedTuple:
        return StagedTuple(self.items.holding(leaves))

    def __is_like__(self, other: StagedTuple) -> bool:
        return same_layout(self.items.structure, other.items.structure)

    def as_list(self) -> StagedSequence:
        """The view of a new list of the items."""
        return self.items.view([self.items])

    def __iterable__(self) -> Counted:
        found = self.as_list().__iterable__()
        assert isinstance(found, Counted)
        return Counted(found.length, found.item, (self,))

    def __truth__(self) -> Any:
        return self.as_list().__truth__()  # type: ignore[attr-defined]

    def __tensor__(self) -> Tensor:
        return convert_to_tensor(list_of(self))

    __as_array__ = __tensor__

    @property
    def length(self) -> Any:
        """The number of items: a weak int32 scalar."""
        return self.as_list().length

    # Python's tuple operations.

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _of_list(self.as_list()[index])
        return self.as_list()[normalised_index(index, self.length, "tuple index out of range")]

    def __add__(self, other: Any) -> Any:
        return self._with(other, operators.add)

    def __radd__(self, other: Any) -> Any:
        if not (isinstance(other, tuple) or is_array_like(other)):
            kind = type(other).__name__
            raise TypeError(f'can only concatenate {kind} (not "tuple") to {kind}' if isinstance(other, (list, str))
                            else f"unsupported operand type(s) for +: '{kind}' and 'tuple'")
        return self._with(other, lambda one, two: operators.add(two, one))

    def _with(self, other: Any, concat: Callable[[Any, Any], Any]) -> Any:
        if is_array_like(other):
            return concat(self.__tensor__(), other)
        if not isinstance(other, (tuple, StagedTuple)):
            raise TypeError(f'can only concatenate tuple (not "{_name_of(other)}") to tuple')
        return _of_list(view_of(concat(list_of(self), list_of(other))))

    def __mul__(self, count: Any) -> Any:
        made = operators.mul(list_of(self), count)
        return made if is_array_like(made) else _of_list(view_of(made))

    def __rmul__(self, count: Any) -> Any:
        return self * count

    def index(self, value: Any, start: Any = 0, stop: Any = None, /) -> Any:
        """The first index of a value. ValueError at run time if there is none."""
        return OPERATIONS.index(self, value, start, stop)

    def count(self, value: Any, /) -> Any:
        """How many items equal a value."""
        return OPERATIONS.count(self.as_list(), value)

    def __text__(self, spec: str) -> Any:
        items = self.items.text()
        made = concat_text(("(", items, repeated_text(",", cast(equal(self.length, 1), int32)), ")"))
        return made if spec in (STR, REPR, ITEM) else made.__text__(spec)

    def __setitem__(self, index: Any, x: Any) -> NoReturn:
        raise TypeError("'tuple' object does not support item assignment")

    def __delitem__(self, index: Any) -> NoReturn:
        raise TypeError("'tuple' object doesn't support item deletion")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'tuple' object has no attribute {name!r}")

    def __len__(self) -> int:
        self._refuse("the length of a tuple is not known here", "Use len() in converted code.")

    def __bool__(self) -> bool:
        self._refuse("whether a tuple is empty is not known here", "Test len(t) > 0 in converted code.")

    def __iter__(self) -> Iterator[Any]:
        self._refuse("a tuple cannot be iterated over here", "Loop over it in converted code.")

    def __hash__(self) -> int:
        self._refuse("a tuple cannot be hashed here", "Make it a key, or an item of a set, in converted code.")

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (tuple, StagedTuple)):
            return NotImplemented
        self._refuse("tuples do not compare here", "Compare them in converted code.")

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        error = OperatorNotAllowedInGraphError(f"{what}: the tuple is made while the graph runs", remedy=remedy)
        locate(error, user_position())
        raise decided_in_python(error)

    def __repr__(self) -> str:
        return "<staged tuple>"


class Tuples(Rows):
    """The layout of such tuples as elements, which are stored as lists are; `structure` is that of their items."""

    changes = False
    made = tuple

    def check(self, x: Any) -> None:
        if type(x) not in (tuple, StagedTuple):
            raise ValueError(f"the structures differ: {x!r} is not a tuple")
        super().check(list_of(x))

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        return super().columns(list_of(x), types)

    def types(self, x: Any) -> list[TensorType]:
        return super().types(list_of(x))

    def value(self, columns: Sequence[Any]) -> Any:
        return StagedTuple(super().value(columns)[0])

    def shown(self, columns: Sequence[int]) -> Text:
        raise staging_error("the text of a list is asked for whose elements are tuples of several lengths",
                            "Format the elements one by one.")

    def __repr__(self) -> str:
        return "a tuple"


def list_of(x: Any) -> list[Any]:
    """A list of the items of a tuple, Python's or the graph's."""
    return [x.items] if isinstance(x, StagedTuple) else [*x]


StagedTuple.__name__ = "tuple"  # the name in messages


def tuple_of(iterable: Any = ()) -> Any:
    """`tuple`: a Python tuple if the number of items is known, else a StagedTuple. StagingError for items that can be
    changed in place, unless they are by reference."""
    return _of_list(view_of(listed(iterable))) if stages(iterable) else tuple(iterable)


def _of_list(items: Any) -> Any:
    """The tuple of the items of a list, which has no other names, or of its view."""
    if not isinstance(items, StagedSequence):
        return tuple(items)
    held = items.owner[0]
    if not can_hold(held.structure, [leaf.type.element for leaf in held.leaves]):
        want_references(of_containers=True)
        raise staging_error(
            "a tuple has lists, objects or arrays, and only the graph knows how many: staged code would have copies of"
            " them", "Use a list: list(...), xs.append(x).")
    return StagedTuple(held)


def can_hold(structure: Any, types: Sequence[TensorType]) -> bool:
    """Whether a tuple can have items of that structure, in columns of these types: none that can be changed in place,
    since it has copies of them."""
    return not (may_change(structure) or (lists_hold_arrays() and any(type.ndim for type in types)))


def is_array_like(x: Any) -> bool:
    """Whether it is a tensor or array, which takes a tuple as an array of its items."""
    return isinstance(x, Tensor) or (hasattr(type(x), "__array__") and not isinstance(x, Staged))


def _name_of(x: Any) -> str:
    return getattr(type(x), "__stands_for__", type(x)).__name__
