"""References to objects in arenas (`runtime.staging.storage.arenas`), and how lists store them."""
from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeGuard

from autograph.backend import operators
from runtime.core.op import CAST
from runtime.core.positions import staging_error
from runtime.core.text import ITEM, Text
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import TensorType, int64
from runtime.ops.logic import equal, logical_not
from runtime.staging.elements.element_layout import LeafLayout

__all__ = [
    "IDENTITY", "Attribute", "Attributes", "Reference", "References", "is_frozen",
    "is_hashable_reference", "number_of", "number_of_place", "other_attributes", "same_reference", "selected",
    "without_text"]


class Reference:
    """An object in an arena. Its class is a subclass of the user's class, made for the arena."""

    __slots__ = ()
    __arena__: Any
    __attributes__: Sequence[str]
    __stands_for__: Any
    __truth__: Any
    __place__: Any
    """The index of the object in the arena: a scalar tensor."""

    def __leaves__(self) -> list[Any]:
        return [self.__place__]

    @classmethod
    def __rebuild__(cls, leaves: Sequence[Any]) -> Any:
        return cls.__arena__.at(leaves[0])

    def __iterated__(self) -> Any:
        """For autograph: the iterator of the object."""
        method = getattr(type(self), "__iter__", None)
        return operators.call(iter if method is None else method)(self)

    def __viewed__(self) -> Any:
        """For autograph: what it leads to."""
        return (*self.__arena__.kinds, *self.__arena__.fields.values())

    def __setattr__(self, name: str, value: Any) -> None:
        if is_frozen(cls := self.__stands_for__):
            cls.__setattr__(object.__new__(cls), name, value)  # raises
        if not hasattr(inspect.getattr_static(type(self), name, None), "__set__"):
            raise other_attributes(f"the attribute {name!r} of a {self.__arena__.name} is set here, which its"
                                   " `__init__` does not set", "Set it in `__init__`, to None if it has no value yet.")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if is_frozen(cls := self.__stands_for__):
            cls.__delattr__(object.__new__(cls), name)  # raises
        raise other_attributes(f"the attribute {name!r} of a {self.__arena__.name} is deleted here",
                               "Set it to None.")

    def __copy__(self) -> Any:
        return self.__arena__.add(self.__stands_for__, dict(Attributes(self)))

    def __deepcopy__(self, memo: Any) -> Any:
        if self.__arena__.is_linked:
            raise self._refused("is copied with the objects to which it refers", "Copy its parts: copy.copy(x).")
        return self.__arena__.add(self.__stands_for__, copy.deepcopy(dict(Attributes(self)), memo))

    def __hash__(self) -> int:
        raise self._refused("is a key of a dict or an item of a set", "Give each object a number, and use that.")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise self._refused("is given to code of a library that takes it apart", "Give it the attributes.")

    def _refused(self, what: str, remedy: str) -> Exception:
        return staging_error(f"a {self.__arena__.name} {what} here, and staged code refers to it by several"
                             " names", remedy)


def is_frozen(cls: Any) -> bool:
    """Whether attributes of the objects of a class cannot be set: it is a frozen dataclass or attrs class."""
    frozen: bool = cls.__setattr__ is not object.__setattr__
    return frozen


class Attributes(Mapping[str, Any]):
    """The attributes of an object, by name. Each is read where it is asked for."""

    def __init__(self, x: Reference) -> None:
        self.x = x

    def __getitem__(self, name: str) -> Any:
        if name not in self.x.__attributes__:
            raise KeyError(name)
        return getattr(self.x, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.x.__attributes__)

    def __len__(self) -> int:
        return len(self.x.__attributes__)

    def __contains__(self, name: object) -> bool:
        return name in self.x.__attributes__


def other_attributes(what: str, remedy: str) -> Exception:
    return staging_error(f"{what}: the objects of a class that staged code refers to by several names have the same"
                         " attributes all the time", remedy)


class Attribute:
    """An attribute of the objects of an arena, as a data descriptor of their references."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, owner: Any = None) -> Any:
        return self if x is None else x.__arena__.read(x.__place__, self.name)

    def __set__(self, x: Any, value: Any) -> None:
        x.__arena__.write(x.__place__, self.name, value)


def without_text(self: Reference, spec: str) -> str:
    """The text of an object whose class does not define it: Python's has an address, as only messages of errors may."""
    if spec == ITEM:
        return object.__repr__(self)
    raise staging_error(f"the text of a {self.__arena__.name} is asked for, which staged code refers to by several"
                        " names", "Give its class a method `__repr__` or `__str__`.")


def _equals(self: Reference, other: object) -> Any:
    """`==` of objects whose class does not define it: whether they are the same."""
    return same_reference(self, other)


def _differs(self: Reference, other: object) -> Any:
    same = same_reference(self, other)
    return not same if isinstance(same, bool) else logical_not(same)


IDENTITY: Final = {"__eq__": _equals, "__ne__": _differs, "__hash__": Reference.__hash__}
"""The methods of references to objects whose class does not define `==`."""


def selected(x: Any) -> Any:
    """A reference to an object whose class only the graph knows as a Select; other values unchanged."""
    return x.__select__() if hasattr(type(x), "__select__") else x


def is_hashable_reference(x: Any) -> TypeGuard[Reference]:
    """Whether a value is a reference that can be a key of a dict: its class compares objects by identity."""
    return isinstance(x, Reference) and type(x).__eq__ is _equals


def same_reference(value: Any, other: Any) -> Any:
    """Whether two values, one of them a reference, are the same object: a bool, or a bool scalar tensor."""
    if not (isinstance(value, Reference) and isinstance(other, Reference)) or value.__arena__ is not other.__arena__:
        return False
    return value is other or value.__place__ is other.__place__ or equal(value.__place__, other.__place__)


def number_of(x: Reference) -> Any:
    """A number that no other object has, such as `id` returns: an int64 scalar that acts as a Python int."""
    return number_of_place(x.__place__, x.__arena__.number)


def number_of_place(place: Any, arena: int) -> Any:
    """The number of what is at an index of an arena with that number."""
    return apply(CAST, convert_to_tensor(place), dtype=int64, weak=True) * _MOST_ARENAS + (
        2 * arena + 1)  # odd, unlike addresses


_MOST_ARENAS: Final = 1 << 20


class References(LeafLayout):
    """References to objects of an arena, stored as their indices."""

    def __init__(self, arena: Any) -> None:
        self.arena = self.of = arena

    def check(self, x: Any) -> None:
        if not isinstance(x, Reference) or x.__arena__ is not self.arena:
            raise ValueError(f"the structures differ: a {type(x).__name__} is no {self.arena.name}")

    def meet(self, other: References) -> None:
        """Called where values of both layouts are to be stored in the same way."""

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        return [x.__place__]

    def types(self, x: Any) -> list[TensorType]:
        return [convert_to_tensor(x.__place__).type]

    def value(self, columns: Sequence[Any]) -> Any:
        return self.arena.at(columns[0])

    def shown(self, columns: Sequence[int]) -> Text:
        raise staging_error(f"the text of a list of objects of {self.arena.name} is asked for",
                            "Format the elements one by one.")

    def __repr__(self) -> str:
        return f"a {self.arena.name}"
