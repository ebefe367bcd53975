"""References to objects of several classes: where a variable, or an element of a list, may be of any of these.

The objects of all classes of a `Union` are in one arena, with a number for the class of each, and for each attribute a
list, in which the objects that have it have values. So a reference is an index, as in an arena of one class. Where its
class is known, it acts as a reference of that class, else as a Select of one for each class.
"""
from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Final

from autograph.backend import refill
from runtime.core.errors import UnimplementedError
from runtime.core.operations import OPERATIONS
from runtime.core.trace import convert_to_tensor
from runtime.ops.effects import raise_unless
from runtime.ops.lists import list_append, list_get, list_length
from runtime.ops.logic import not_equal
from runtime.staging.elements.references import IDENTITY, Reference, is_frozen
from runtime.staging.elements.select import call_method, select_of, use
from runtime.staging.storage.arenas import Arena, as_growing, as_stored, list_of, reference_class
from runtime.staging.values.iterables import StagedRange, view_of
from runtime.staging.values.list import fold
from runtime.staging.values.method_operators import BY_METHOD, SPECIAL

__all__ = ["Union"]

_CLASS: Final = ""
"""The name of the list of the numbers of classes."""


class Union(Arena):
    """The objects of these classes, with the attributes of each, that a traced function makes."""

    def __init__(self, classes: Mapping[type, Sequence[str]], number: int) -> None:
        super().__init__([_CLASS, *dict.fromkeys(name for names in classes.values() for name in names)], number)
        self.own, self.classes = dict(classes), tuple(classes)
        self.name = " or a ".join([cls.__name__ for cls in classes])
        self.kinds = {cls: reference_class(self, cls, names) for cls, names in classes.items()}
        self.of_any = self._class_of_any()
        self.methods: dict[str, Any] = {}

    def _class_of_any(self) -> Any:
        """The class of references to objects whose class only the graph knows."""
        special = {name for name in SPECIAL if any(
            getattr(cls, name, None) is not getattr(object, name, None) for cls in self.classes)}
        methods: dict[str, Any] = {
            name: _operator(BY_METHOD[name]) if name in BY_METHOD else _for_each_class(name) for name in special}
        if not special & {"__eq__", "__ne__"}:
            methods |= IDENTITY
        attributes = {name: _Attribute(name, [cls for cls, names in self.own.items() if name not in names])
                      for name in self.attributes if name != _CLASS}
        has_truth = not special.isdisjoint({"__bool__", "__len__"})
        methods["__truth__"] = (lambda x: use(x.__select__(), _truth)) if has_truth else (lambda x: True)
        return type("object", (_OfAnyClass,), {
            "__slots__": ("__place__",), "__arena__": self, **methods, **attributes})

    def takes(self, cls: type) -> bool:
        return cls in self.own

    def add(self, cls: type, attributes: dict[str, Any], x: Any = None) -> Any:
        self.check(cls, attributes, self.own[cls])
        numbers = self.fields[_CLASS]
        place = view_of(numbers).length if numbers else convert_to_tensor(0)
        made = self.reference(self.kinds[cls], place)
        for name, value in {_CLASS: self.classes.index(cls), **attributes}.items():
            self._put(name, made if value is x and x is not None else as_growing(as_stored(value)), place)
        return made

    def _put(self, name: str, value: Any, place: Any) -> None:
        """Make a value the one at that index, the last one, of a list. Objects before it that have no such attribute
        have the value, too, which nothing reads."""
        values = self.fields[name]
        if values:
            view_of(values).append(value)
        else:
            refill(values, list_of(value))
        items = values[0]
        refill(values, [items.holding([_padded(column, place) for column in items.leaves])])

    def at(self, index: Any) -> Any:
        return self.reference(self.of_any, index)

    def select(self, index: Any) -> Any:
        """The Select of the object with that index as one of each class."""
        return select_of([self.reference(kind, index) for kind in self.kinds.values()], self.read(index, _CLASS))

    def method(self, name: str) -> Any:
        """The function to call in place of a method that all of the classes have: one for all of them, so that methods
        that call each other are one recursion; None for other attributes."""
        if name not in self.methods:
            own = [inspect.getattr_static(cls, name, None) for cls in self.classes]
            all_have = all(type(each) is FunctionType for each in own)
            self.methods[name] = OPERATIONS.recursive(*[_for_each_class(name, own)] * 2) if all_have else None
        return self.methods[name]

    def classes_at(self, numbers: Sequence[Any]) -> list[type]:
        return [self.classes[int(number)] for number in numbers]


def _padded(column: Any, place: Any) -> Any:
    """A list with its last element repeated, up to that index."""
    size = list_length(column)
    last = list_get(column, size - 1)
    (made,) = fold(StagedRange(place + 1 - size), lambda _, items: (list_append(items, last),), (column,), ("items",))
    return made


class _OfAnyClass(Reference):
    """A reference to an object whose class only the graph knows."""

    __slots__ = ()
    __stands_for__ = object

    def __select__(self) -> Any:
        """The same object as a Select."""
        return self.__arena__.select(self.__place__)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        kinds = self.__arena__.kinds.values()
        if not any(hasattr(kind, name) or hasattr(kind, "__getattr__") for kind in kinds):
            raise AttributeError(f"{self.__arena__.classes[0].__name__!r} object has no attribute {name!r}")
        method = self.__arena__.method(name)
        return getattr(self.__select__(), name) if method is None else functools.partial(method, self)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(inspect.getattr_static(type(self), name, None), _Attribute):
            object.__setattr__(self, name, value)
        else:
            use(self.__select__(), setattr, name, value)

    def __copy__(self) -> Any:
        return use(self.__select__(), copy.copy)

    def __deepcopy__(self, memo: Any) -> Any:
        return use(self.__select__(), copy.deepcopy, memo)


class _Attribute:
    """An attribute that objects of some of the classes have, as a data descriptor of such references."""

    def __init__(self, name: str, others: Sequence[type]) -> None:
        self.name, self.others = name, others
        """The classes whose objects do not have it."""

    def __get__(self, x: Any, owner: Any = None) -> Any:
        if x is None:
            return self
        if any(hasattr(cls, self.name) for cls in self.others):
            return getattr(x.__select__(), self.name)
        for cls in self.others:
            _raise_for(x, cls, AttributeError(f"{cls.__name__!r} object has no attribute {self.name!r}"))
        return x.__arena__.read(x.__place__, self.name)

    def __set__(self, x: Any, value: Any) -> None:
        if any(map(is_frozen, x.__arena__.classes)):
            use(x.__select__(), setattr, self.name, value)
            return
        for cls in self.others:
            _raise_for(x, cls, UnimplementedError(
                f"the attribute {self.name!r} of a {cls.__name__} is set, which its `__init__` does not set: set it"
                " there, to None if it has no value yet"))
        x.__arena__.write(x.__place__, self.name, value)


def _raise_for(x: Reference, cls: type, error: Exception) -> None:
    """Raise an error at run time if the object is of a class."""
    arena = x.__arena__
    raise_unless(not_equal(arena.read(x.__place__, _CLASS), arena.classes.index(cls)), error)


def _truth(x: Reference) -> Any:
    return x.__truth__()


def _operator(applied: Callable[..., Any]) -> Callable[..., Any]:
    """The special method that an operator calls, as the operator on an object of each class."""
    return lambda x, *args: use(x.__select__(), applied, *args)


def _for_each_class(name: str, methods: Sequence[Any] = ()) -> Callable[..., Any]:
    """A function that calls the method of that name of the class of its argument. `methods`: those of all classes, for
    a function that may be recursive."""

    def method(x: _OfAnyClass, /, *args: Any, **keywords: Any) -> Any:
        return use(x.__select__(), call_method, name, args, keywords)

    method.__name__ = name
    method.__methods__ = methods  # type: ignore[attr-defined]
    return method
