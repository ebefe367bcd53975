"""Objects from before a call that a traced function has by reference, in the arenas of the objects that it makes.

While the function is traced, references take their place wherever its code can find them, and their attributes are in
the arenas. Each call then sets those attributes of the objects that the code sets.
"""
from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from autograph.backend import fields_in, is_of_converted_code
from runtime.core.object_mode import Classes, Name, arenas_of_objects, name_of, note_outside
from runtime.core.tensor import EagerTensor, GraphTensor
from runtime.function.arguments.signature import weakly
from runtime.function.results.reconstruction import Part, Values
from runtime.function.state.attribute_state import holder_of
from runtime.function.state.prior_state import PriorState
from runtime.function.state.substitution import substituted
from runtime.staging.storage.arenas import can_be_reference

__all__ = ["calling"]

_MOST: Final = 256
"""The number of objects of a class up to which they can be in an arena: each is added by nodes of its own."""
_ATOMS: Final = frozenset({bool, int, float, str, type(None), EagerTensor, GraphTensor})


def calling(
    callee: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], outside: PriorState, fn: Any,
    adopts: bool,
) -> Callable[[], Any]:
    """What a trace of `fn` calls: `callee`, its converted form, with these arguments, and if it `adopts` objects from
    before the call, with references in place of these."""
    if adopts:
        return functools.partial(_Adoption(outside, fn).within, callee, args, kwargs)
    note_outside(functools.partial(_adoptable, outside, fn))
    return functools.partial(callee, *args, **kwargs)


def _adoptable(outside: PriorState, fn: Any) -> dict[Name, tuple[type, tuple[str, ...]]]:
    """The classes of the objects from before the call that can be by reference, with their attributes: those whose
    objects all have the same ones, which are numbers, text, members of an Enum, tensors, None or such objects, also in
    tuples; but not that of the object that `fn` is a method of."""
    own = type(getattr(fn, "__self__", None))
    objects = [(x, fields) for x, fields in _objects(outside) if type(x) is not own]
    counts = Counter(name_of(type(x)) for x, _ in objects)
    found = {name_of(type(x)): (type(x), tuple(fields)) for x, fields in objects if counts[name_of(type(x))] <= _MOST}
    while True:
        wrong = {name_of(type(x)) for x, fields in objects if name_of(type(x)) in found and not _fits(x, fields, found)}
        if not wrong:
            return found
        found = {name: each for name, each in found.items() if name not in wrong}


def _objects(outside: PriorState) -> list[tuple[Any, dict[str, Any]]]:
    """The objects of users' classes, with the attributes that they had before the trace."""
    return [(reached.value, before) for reached, before in outside.heap.records if is_of_converted_code(
        type(reached.value)) and can_be_reference(type(reached.value)) and isinstance(before, dict)
        and not isinstance(reached.value, Enum)]


def _fits(x: Any, fields: Mapping[str, Any], classes: Classes) -> bool:
    cls, names = classes[name_of(type(x))]
    return type(x) is cls and {*fields} == {*names} and all(_can_be_stored(value, classes) for value in fields.values())


def _can_be_stored(value: Any, classes: Classes) -> bool:
    if type(value) is tuple:
        return all(_can_be_stored(part, classes) for part in value)
    return type(value) in _ATOMS or isinstance(value, Enum) or name_of(type(value)) in classes


class _Adoption:
    """The objects from before a call of `fn` that its trace has in arenas."""

    def __init__(self, outside: PriorState, fn: Any) -> None:
        self.outside, self.arenas = outside, arenas_of_objects()
        classes = self.arenas.keys() & _adoptable(outside, fn).keys()
        self.objects = [x for x, _ in _objects(outside) if name_of(type(x)) in classes]
        self.references: dict[int, Any] = {}
        """By id of an object, its reference."""

    def within(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of a call of `fn` with references in place of the objects."""
        self._add()
        with substituted(self.outside.heap, self._with, self.references):  # the attributes of the objects are in arenas
            return fn(*map(self._with, args), **{name: self._with(value) for name, value in kwargs.items()})

    def _add(self) -> None:
        """Add the objects to the arenas."""
        counts = Counter[int]()
        for x in self.objects:
            arena: Any = self.arenas[name_of(type(x))]
            arena.takes(type(x))
            self.references[id(x)] = arena.reference(arena.kinds[type(x)], counts[id(arena)])
            counts[id(arena)] += 1
        for x in self.objects:
            arena = self.arenas[name_of(type(x))]
            arena.add(type(x), {name: self._with(value) for name, value in (fields_in(x) or {}).items()})
            arena.adopted.append(self._recipe(x))

    def _recipe(self, x: Any) -> Part:
        """The recipe of the object, which is one of the call's if it is a copy of an argument."""
        place = self.outside.numbers.get(id(x))
        return functools.partial(_found, weakly(x), type(x)) if place is None else functools.partial(_argument, place)

    def _with(self, value: Any) -> Any:
        """The value with references in place of the objects."""
        if id(value) in self.references:
            return self.references[id(value)]
        if type(value) is not tuple:
            return value
        parts = [self._with(part) for part in value]
        return value if all(new is part for new, part in zip(parts, value, strict=True)) else tuple(parts)


def _found(kept: Any, cls: type, values: Values) -> Any:
    """The object for which `weakly` returned `kept`; in place of one that has been freed, one that nobody sees."""
    x = holder_of(kept)
    return object.__new__(cls) if x is None else x


def _argument(place: int, values: Values) -> Any:
    assert values.containers is not None
    return values.containers[place]
