"""Objects by reference: where lists share their elements, or objects are linked, the traced function has its objects in
arenas.

An `Arena` stores the objects of one class that a traced function makes, as one list of the graph for each attribute. A
`Reference` stands for one of them: it holds the index of the object there, and reads and writes its attributes in the
lists. So a reference has any number of names, may be an element of any lists, None, or an attribute of another object,
and every change is seen through all of these. The first trace of a function has its objects by value; where that is an
error, it is traced again with them by reference (`runtime.core.object_mode`).
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, Final

from autograph.backend import consists_of_attributes, fields_in, references, refill, special_result
from runtime.core.object_mode import note_made, storing
from runtime.core.positions import staging_error
from runtime.core.trace import convert_to_tensor
from runtime.staging.elements.element_classes import arenas_in
from runtime.staging.elements.element_layout import empty_row, types_of
from runtime.staging.elements.element_structures import structure_of
from runtime.staging.elements.references import (
    IDENTITY,
    Attribute,
    Attributes,
    Reference,
    References,
    other_attributes,
    without_text,
)
from runtime.staging.storage.record_list import StagedRecords
from runtime.staging.values.iterables import view_of
from runtime.staging.values.list import StagedList, unview
from runtime.staging.values.optional import there
from runtime.staging.values.truthiness import truth

__all__ = [
    "Arena", "as_growing", "as_stored", "can_be_reference", "constructor", "list_of", "reference_class", "truth_of"]


class Arena:
    """The objects of one class, with these attributes, that a traced function makes."""

    cls: type | None = None
    name = ""

    def __init__(self, attributes: Sequence[str], number: int) -> None:
        self.attributes, self.number = attributes, number
        self.own: dict[type, Sequence[str]] = {}
        """By class, the attributes of its objects."""
        self.kinds: dict[type, Any] = {}
        """By class, that of the references to its objects."""
        self.fields: dict[str, list[Any]] = {name: [] for name in attributes or ("",)}
        """For each attribute, the list of its values, which becomes one of the graph with the first object."""
        self.layout: Final = References(self)
        self.adopted: list[Any] = []
        """The recipes of its first objects, which are from before the call."""
        self.written: set[str] = set()
        """The attributes that staged code sets."""
        self.recipe: Any = None
        """That of the list of objects, as a result (`runtime.function.results.object_results`)."""

    def takes(self, cls: type) -> bool:
        """Whether the objects of a class are in the arena: of the first one with the name that it is for."""
        if self.cls is None:
            self.cls, self.name, self.own[cls] = cls, cls.__name__, self.attributes
            self.kinds[cls] = reference_class(self, cls, self.attributes)
        return self.cls is cls

    def check(self, cls: type, attributes: dict[str, Any], known: Sequence[str]) -> None:
        """Check that a new object has the known attributes."""
        if {*attributes} != {*known}:
            names = sorted({*attributes} ^ {*known})
            raise other_attributes(f"not all objects of {cls.__name__} have the attributes {', '.join(names)}",
                                   "Set these in all of them, to None where there is no value.")

    def add(self, cls: type, attributes: dict[str, Any], x: Any = None) -> Any:
        """A reference to a new object with these attributes, which takes the place of `x`, also in these."""
        self.check(cls, attributes, self.attributes)
        first = next(iter(self.fields.values()))
        made = self.at(view_of(first).length if first else convert_to_tensor(0))
        for name, values in self.fields.items():
            value = as_stored(attributes.get(name, 0))
            value = made if value is x and x is not None else as_growing(value)
            with storing(name):
                if values:
                    view_of(values).append(value)
                else:
                    refill(values, list_of(value))
        return made

    @property
    def is_linked(self) -> bool:
        """Whether an attribute may refer to other objects by reference."""
        return any([*arenas_in(values[0].structure)] for values in self.fields.values() if values)

    def at(self, index: Any) -> Any:
        """The reference to the object with that index."""
        (kind,) = self.kinds.values()
        return self.reference(kind, index)

    def reference(self, kind: Any, index: Any) -> Any:
        """The reference of a class with that index."""
        made = object.__new__(kind)
        object.__setattr__(made, "__place__", index)
        return made

    def read(self, index: Any, name: str) -> Any:
        """An attribute of the object with that index."""
        return unview(view_of(self.fields[name])[index])

    def classes_at(self, numbers: Sequence[Any]) -> list[type]:
        """The classes of the objects, given their numbers, or, of one class, any values."""
        assert self.cls is not None
        return [self.cls] * len(numbers)

    def write(self, index: Any, name: str, value: Any) -> None:
        """Set an attribute of the object with that index."""
        self.written.add(name)
        view_of(self.fields[name])[index] = as_stored(value)


def as_stored(value: Any) -> Any:
    """The value of an attribute as its list stores it: not a view, and not one that may be None where it is none."""
    return there(unview(value))


def as_growing(value: Any) -> Any:
    """The value of an attribute of a new object: an empty list becomes one that adapts to its first item."""
    if type(value) is list and not value:
        refill(value, empty_row())
    return value


def reference_class(arena: Arena, cls: type, attributes: Sequence[str]) -> Any:
    """The class of references to the objects of a class in an arena."""
    namespace: dict[str, Any] = {
        "__slots__": ("__place__",), "__arena__": arena, "__stands_for__": cls, "__class__": property(lambda _: cls),
        "__attributes__": attributes, "__module__": cls.__module__, "__qualname__": cls.__qualname__,
        "__dict__": property(lambda x: MappingProxyType(Attributes(x))),  # `vars` does not set them
        **{name: Attribute(name) for name in attributes}}
    namespace["__truth__"] = truth_of(cls)
    if all(getattr(cls, name) is getattr(object, name) for name in ("__repr__", "__str__")):
        namespace["__text__"] = without_text
    if getattr(cls, "__eq__", None) is object.__eq__:
        namespace |= IDENTITY
    elif getattr(cls, "__hash__", None) is None:
        namespace["__hash__"] = None
    return type(cls.__name__, (Reference, cls), namespace)


def truth_of(cls: type) -> Callable[[Any], Any]:
    """The truth of an object of a class, by its `__bool__` or `__len__`."""
    name = next((name for name in ("__bool__", "__len__") if getattr(cls, name, None) is not None), None)
    return (lambda x: True) if name is None else lambda x: truth(special_result(x, name))


def list_of(x: Any) -> list[Any]:
    """A staged list of one element."""
    structure = structure_of(x)
    made: Any = StagedList.from_items([x]) if structure is None else StagedRecords.from_items(
        [x], structure, types_of(structure, x))
    owner: list[Any] = made.owner
    return owner


def can_be_reference(cls: type) -> bool:
    """Whether the objects of a class consist of attributes that are set one by one."""
    return _can_be_reference(cls)


@functools.lru_cache(maxsize=1024)
def _can_be_reference(cls: type) -> bool:
    return consists_of_attributes(cls, even_frozen=True) and not any(
        isinstance(value, functools.cached_property) for base in cls.__mro__ for value in vars(base).values())


def constructor(cls: type, make: Callable[..., Any]) -> Callable[..., Any]:
    """The callable to use in place of the class `cls`, whose objects `make` makes."""

    def made(*args: Any, **keywords: Any) -> Any:
        x = make(*args, **keywords)
        if type(x) is not cls:
            return x
        fields = fields_in(x) or {}
        arena = note_made(cls, fields)
        if arena is None:
            return x
        if references([x])[id(x)] > sum(value is x for value in fields.values()):
            raise staging_error(
                f"a {cls.__name__} is given to other code in its `__init__`, and staged code refers to it by several"
                " names", "Do that after it is made.")
        return arena.add(cls, fields, x)

    return made if can_be_reference(cls) else make
