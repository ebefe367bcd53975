"""Select: one of several Python objects, selected at run time, as in `particles[i].x += 1`, `rows[i].append(x)` or
`functions[i](x)` with a tensor `i`.

An attribute is a select among the attributes of all alternatives. A user-defined method runs once, with the select as
`self`. Any other use is staged with one branch per alternative.
"""
from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType
from typing import Any, Final

import numpy as np

from autograph.backend import (
    AttributeNames,
    Late,
    fields_in,
    is_container,
    is_converted,
    is_users_class,
    operators,
    references,
    rule_of_library,
    variables,
)
from runtime.core import pytree
from runtime.core.array_mode import writes_tensor
from runtime.core.errors import StagingError
from runtime.core.object_mode import want_references
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error
from runtime.core.tensor import Tensor
from runtime.core.text import Text
from runtime.core.trace import convert_to_tensor
from runtime.numpy.array_choices import SelectedArray, choices_of, selected
from runtime.numpy.array_objects import StagedArray
from runtime.ops.logic import equal, less, where
from runtime.staging.elements.references import Reference
from runtime.staging.values.enum_members import (
    NumberMember,
    asked_by_flags,
    flag_methods,
    is_member,
    number_methods,
    numbers_of,
)
from runtime.staging.values.iterables import flags, indexable
from runtime.staging.values.method_operators import BY_METHOD, OF_TEXT, SPECIAL, with_format
from runtime.staging.values.optional import Maybe, Presence, attach
from runtime.staging.values.strings import text_at
from runtime.staging.values.trials import refuse_choice, trials
from runtime.staging.values.truthiness import truth

__all__ = [
    "MOST",
    "SELECTION",
    "Method",
    "Select",
    "alternatives_of",
    "among",
    "call_method",
    "can_be_chosen",
    "choose",
    "class_of_selects",
    "has_attribute",
    "identities_of",
    "index_of",
    "is_number",
    "is_one",
    "objects_in_selects",
    "one_of_both",
    "replaced",
    "select_of",
    "tested",
    "unknown",
    "use",
    "used_at",
]

MOST: Final = 256
"""The largest number of alternatives for which branches are traced."""

_MISSING: Final = object()
_FUNCTIONS: Final = (FunctionType, BuiltinFunctionType, MethodType)
_NAMES: Final = frozenset({"__name__", "__qualname__"})
_NUMBERS: Final = (int, float, complex, Tensor)


def is_number(x: Any) -> bool:
    """Whether `x` is immutable: a number or tensor that is certainly there, or a tuple of these."""
    if isinstance(x, tuple):
        return all(map(is_number, x))
    return isinstance(x, _NUMBERS) and not is_array(x) and not isinstance(x, Maybe)


def _are_arrays(values: Sequence[Any]) -> bool:
    """Whether all values are arrays or numbers, and some are mutable arrays."""
    return any(map(is_array, values)) and all(is_array(x) or is_number(x) for x in values)


def is_array(x: Any) -> bool:
    """Whether `x` is a mutable array of the traced function."""
    return isinstance(x, StagedArray)


def choose(values: Sequence[Any], at: Any) -> Any:
    """The value at index `at` of some values (at least one); `at` is an integer scalar in range, from 0."""
    first = values[0]
    if any(isinstance(value, Maybe) for value in values):
        return _one_of_several_types(values, at)
    if all(value is first for value in values) or all(_is_same_atom(value, first) for value in values):
        return first
    if _are_arrays(values):
        refuse_choice(len(values))
        flags.objects_are_chosen = True
        return selected(values, at)
    if all(map(is_member, values)):
        return _choose_member(values, at)
    if all(map(is_number, values)):
        if trials.depth and any(isinstance(value, Tensor) and value.ndim for value in values):
            refuse_choice(len(values))
        if _may_differ_in_size(values):
            return _one_of_several_types(values, at)
        try:
            return indexable(values, "list")(at)
        except StagingError:
            if not all(isinstance(value, tuple) for value in values):
                return _one_of_several_types(values, at)
    if all(type(value) is tuple and len(value) == len(first) for value in values):
        return tuple([choose(column, at) for column in zip(*values, strict=True)])
    if all(isinstance(value, (str, Text)) for value in values):
        return text_at(values, at)
    if all(isinstance(value, (*_NUMBERS, str, Text, type(None))) for value in values):
        return _one_of_several_types(values, at)
    return _choose_object(values, at)


def _choose_member(values: Sequence[Any], at: Any) -> Any:
    """`choose` for members of Enums, many of which may be one."""
    distinct = {id(value): value for value in values}
    if len(distinct) < len(values):
        places = {key: place for place, key in enumerate(distinct)}
        at = indexable([places[id(value)] for value in values], "list")(at)
    members = [*distinct.values()]
    return _choose_object(members, at) if len(members) > 1 else members[0]


OPERATIONS.define(choose_member=_choose_member)


def _may_differ_in_size(values: Sequence[Any]) -> bool:
    """Whether only the graph knows the sizes of some tensors, which are few enough for branches."""
    return len(values) <= MOST and any(isinstance(value, Tensor) and None in value.type.shape for value in values)


def _choose_object(values: Sequence[Any], at: Any) -> Any:
    """Like `choose`, for objects, some of which may be None or selects themselves."""
    if any(value is None for value in values):
        there = [value is not None for value in values]
        places = [sum(there[:i]) if is_there else 0 for i, is_there in enumerate(there)]
        chosen = choose([value for value in values if value is not None], choose(places, at))
        return attach(chosen, Presence("value", None, choose(there, at)))
    if any(isinstance(value, Select) for value in values):
        objects = objects_in_selects(*values)
        numbers = {id(x): number for number, x in enumerate(objects)}
        return choose(objects, choose([_place(value, numbers) for value in values], at))
    if isinstance(first := values[0], Reference) and all(
            isinstance(value, Reference) and value.__arena__ is first.__arena__ for value in values):
        place, arena = choose([value.__place__ for value in values], at), first.__arena__
        return first.__rebuild__([place]) if len({*map(type, values)}) > 1 else arena.reference(type(first), place)
    if np.ndarray in (kinds := {*map(type, values)}) and len(kinds) > 1:
        writes_tensor()  # the others may be arrays, too
    found = OPERATIONS.choose_container(values, at)
    found = SELECTION.of_items(values, at, True) if found is None else found
    if found is None:
        refuse_choice(len(values))
        return _class_for(values)(values, at)
    return found


class Selection(Late):
    """Forward declaration: a select among containers is a select among their items, which may be containers."""

    of_items: Callable[[Sequence[Any], Any, bool], Any]
    """A select among rows or tables, or None if the values are not such:
    `runtime.staging.containers.select_containers`."""


SELECTION: Final = Selection()


def _is_same_atom(value: Any, other: Any) -> bool:
    return type(value) in (int, str, bytes, bool) and type(value) is type(other) and value == other


def _one_of_several_types(values: Sequence[Any], at: Any) -> Any:
    try:
        return used_at(at, values, lambda value: value)
    except StagingError:
        kinds = dict.fromkeys(str(x.type) if isinstance(x, Tensor) else type(x).__name__ for x in values)
        raise staging_error(
            "which item this is, is known only when the graph runs, and no one type fits all of them: they are of"
            f" {', '.join(kinds)}", "Let them be numbers or tensors of one type, or text.") from None


def replaced(values: Sequence[Any], at: Any, value: Any) -> list[Any] | None:
    """The values with `value` at index `at`; None if these are not all numbers or tensors of one shape."""
    if not all(map(is_number, (*values, value))):
        return None
    try:
        item = indexable((*values, value), "list")
    except StagingError:
        return None
    *olds, new = map(item, range(len(values) + 1))
    return [pytree.map_structure(functools.partial(where, equal(at, i)), new, old) for i, old in enumerate(olds)]


def used_at(at: Any, one_of: Sequence[Any], use: Callable[..., Any], *args: Any, changed: str | None = None) -> Any:
    """The result of `use(x, *args)` for the object at `at`, with one branch per object. `changed`: see `use`."""
    if len(one_of) > MOST:
        raise staging_error(
            f"one of {len(one_of)} objects is used as a tensor tells, which takes a branch for each: there can be"
            f" {MOST}", "Keep numbers in lists or tensors of their own, one for each attribute.")
    chosen = tuple(one_of)
    within = tuple([cell.cell_contents for cell in getattr(use, "__closure__", None) or ()])
    names = AttributeNames(text for text in (*chosen, *args, *within) if isinstance(text, str))

    def all_values() -> Any:
        return chosen, args

    # The branches refer to parts of these, which are no names of their own.
    with variables(*all_values.__closure__ or ()):
        return _on_branches(at, 0, chosen, use, args, changed, (names, within))


def _on_branches(
    at: Any, first: int, chosen: tuple[Any, ...], use: Callable[..., Any], args: tuple[Any, ...], changed: str | None,
    used: Any,
) -> Any:
    """The result of `use(x, *args)` for the object in `chosen`, which begins at index `first`, at index `at`. `used`:
    what leads to all else that `use` may change.

    Each branch has a variable of its own that holds what it may change, and nothing else, which would be searched.
    """
    if len(chosen) == 1:
        return use(chosen[0], *args)
    middle = len(chosen) // 2
    left, right = chosen[:middle], chosen[middle:]
    state = () if changed is None else (
        *[f"left[{i}]{changed}" for i in range(len(left))], *[f"right[{i}]{changed}" for i in range(len(right))])
    return operators.if_exp(
        less(at, first + middle), lambda: _on_branches(at, first, left, use, args, changed, used),
        lambda: _on_branches(at, first + middle, right, use, args, changed, used), *state)


def call_method(x: Any, name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return operators.call(getattr(x, name))(*args, **keywords)


def _called(x: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return operators.call(x)(*args, **keywords)


class Select:
    """One of several objects. Subclasses define their special methods."""

    __slots__ = ("_ag_at", "_ag_one_of")

    __stands_for__: type = object
    """Marks a placeholder for autograph: its slots count as reachable from its holders. The value is the class that it
    represents."""

    def __init__(self, one_of: Sequence[Any], at: Any) -> None:
        distinct = list({id(one): one for one in one_of}.values())
        if len(distinct) < len(one_of):
            at = choose([next(i for i, other in enumerate(distinct) if other is one) for one in one_of], at)
        flags.objects_are_chosen = True
        object.__setattr__(self, "_ag_one_of", tuple(distinct))
        object.__setattr__(self, "_ag_at", at)

    def __alternatives__(self) -> Sequence[Any]:
        return self._ag_one_of  # type: ignore[no-any-return]

    def __leaves__(self) -> list[Any]:
        return [self._ag_at]

    def __rebuild__(self, leaves: Sequence[Any]) -> Select:
        return type(self)(self._ag_one_of, leaves[0])

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_ag_") or (name.startswith("__") and name.endswith("__")):
            if name in _NAMES and all([isinstance(one, type) for one in alternatives_of(self)[0]]):
                return _attribute(self, name)
            return object.__getattribute__(self, name)
        return _attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_ag_"):
            object.__setattr__(self, name, value)
        else:
            _set_attribute(self, name, value)

    def __delattr__(self, name: str) -> None:
        use(self, delattr, name)

    def __copy__(self) -> Select:
        one_of, at = alternatives_of(self)
        return _class_for(one_of)([copy.copy(one) for one in one_of], at)

    def __deepcopy__(self, memo: Any) -> Select:
        one_of, at = alternatives_of(self)
        return _class_for(one_of)([copy.deepcopy(one, memo) for one in one_of], at)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise unknown(self, "it cannot be pickled")

    def __eq__(self, other: object) -> Any:
        return is_one(self, other)

    def __ne__(self, other: object) -> Any:
        return operators.not_(self == other)

    def __hash__(self) -> int:
        raise unknown(self, "it cannot be a key of a dict or an item of a set")

    def __repr__(self) -> str:
        raise unknown(self, "it has no text but by a method `__repr__` or `__str__` of its class")


def identities_of(x: Any) -> tuple[tuple[Any, ...], Any]:
    """The objects or arrays that `x` may be, and the index of the one that it is; itself, and None, if that is known.
    """
    return alternatives_of(x) if isinstance(x, Select) else choices_of(x)


def alternatives_of(x: Select) -> tuple[tuple[Any, ...], Any]:
    """The alternatives, and the index of the selected one."""
    return x._ag_one_of, x._ag_at


def use(x: Select, one: Callable[..., Any], *args: Any, changed: str | None = None) -> Any:
    """The result of `one(x, *args)`, with one branch per alternative. `changed`: the path from an alternative to what
    each branch presumably changes, `""` for the alternative itself; None if nothing. Branches that change something
    else are traced again."""
    one_of, at = alternatives_of(x)
    return used_at(at, one_of, one, *args, changed=changed)


def unknown(x: Select, what: str, remedy: str = "") -> StagingError:
    """The error for a use that needs to know which alternative is selected."""
    want_references()
    one_of, _ = alternatives_of(x)
    kind = type(x).__stands_for__
    name = "object" if kind is object else kind.__name__
    return staging_error(
        f"which of {len(one_of)} values of type {name} this is, is known only when the graph runs: {what}",
        remedy or "Use its index, or its attributes and items.")


def is_one(x: Select | SelectedArray, other: Any) -> Any:
    """`x is other`: a bool, or a bool scalar tensor."""
    one_of, at = identities_of(x)
    if x is other:
        return True
    others, there = identities_of(other)
    numbers: dict[int, int] = {}
    mine, its = ([numbers.setdefault(id(one), len(numbers)) for one in each] for each in (one_of, others))
    if not {*mine} & {*its}:
        return False
    return equal(choose(mine, at), its[0] if there is None else choose(its, there))


def one_of_both(a: Any, b: Any) -> Select | None:
    """The select for a value that may be either of two, if these are pre-existing user-defined objects (or selects
    among such); its index is not yet set."""
    objects = objects_in_selects(a, b)
    if not all(map(can_be_chosen, objects)):
        return None
    owned = [x for x in objects if not _is_free(x)]
    known = references(owned)
    return _class_for(objects)(objects, None) if all(known[id(x)] for x in owned) else None


def select_of(objects: Sequence[Any], at: Any) -> Select:
    """The select of the object at index `at`."""
    return _class_for(objects)(objects, at)


def among(objects: Sequence[Any]) -> Select:
    """The select among distinct objects; its index is not yet set."""
    found: Select | None = SELECTION.of_items(objects, None, False)
    return _class_for(objects)(objects, None) if found is None else found


def objects_in_selects(*values: Any) -> list[Any]:
    """The distinct alternatives of values, some of which may be selects."""
    sides = [alternatives_of(x)[0] if isinstance(x, Select) else (x,) for x in values]
    return list({id(x): x for side in sides for x in side}.values())


def _place(x: Any, places: Mapping[int, int]) -> Any:
    """The position of `x`, which may be a select, given the positions of objects by id."""
    if not isinstance(x, Select):
        return places[id(x)]
    one_of, at = alternatives_of(x)
    return choose([places[id(one)] for one in one_of], at)


def can_be_chosen(x: Any) -> bool:
    """Whether state may be a select among such objects, since they are not copied for a body."""
    if isinstance(x, (*_FUNCTIONS, type)):
        return True
    return not hasattr(type(x), "__stands_for__") and fields_in(x) is not None and not is_container(x)


def _is_free(x: Any) -> bool:
    """Whether it cannot refer to a tensor of a graph."""
    return isinstance(x, (BuiltinFunctionType, Enum)) or (isinstance(x, FunctionType) and not x.__closure__)


def index_of(x: Any, among: Select) -> Any:
    """The index of `x`, which may be a select, among the alternatives of another select. StagingError if it may be
    none of these, such as an object that is linked to another one on a way through the trace."""
    places = {id(one): place for place, one in enumerate(alternatives_of(among)[0])}
    if any(id(one) not in places for one in objects_in_selects(x)):
        raise unknown(among, "it is also another one here, on some way of this statement",
                      "Keep such objects in a list, and their indices in place of references.")
    return _place(x, places)


# Attributes.

def has_attribute(x: Select, name: str) -> Any:
    """`hasattr(x, name)`: a bool, or a bool scalar tensor."""
    return tested(x, lambda one: _has(one, name))


def tested(x: Select, test: Callable[[Any], Any]) -> Any:
    """The result of a test applied to each alternative: a value, or a select."""
    one_of, at = alternatives_of(x)
    return choose([test(one) for one in one_of], at)


def of_both(x: Any, y: Any, operate: Callable[[Any, Any], Any]) -> Any:
    """`operate(x, y)` of constants, each of which may be a select."""
    return _tested(x, lambda one: _tested(y, lambda other: operate(one, other)))


def _tested(x: Any, test: Callable[[Any], Any]) -> Any:
    return tested(x, test) if isinstance(x, Select) else test(x)


def _has(x: Any, name: str) -> bool:
    """`hasattr` that does not run the code of properties."""
    if hasattr(type(x), "__attributes__"):  # a reference, whose attributes all are descriptors of its class
        return _found(type(x), name) is not _MISSING
    if is_users_class(type(x)) and not hasattr(type(x), "__getattr__"):
        return name in (fields_in(x) or ()) or _found(type(x), name) is not _MISSING
    return hasattr(x, name)


def _found(kind: type, name: str) -> Any:
    """The class attribute of that name, without invoking descriptors."""
    return next((vars(cls)[name] for cls in kind.__mro__ if name in vars(cls)), _MISSING)


def _is_plain(kind: type, name: str, method: str) -> bool:
    """Whether access is plain: the object's own attribute, which no code of its class gets or (`method`) sets."""
    found = _found(kind, name)
    return getattr(kind, method) is getattr(object, method) and not hasattr(kind, "__getattr__") and (
        found is _MISSING or isinstance(found, MemberDescriptorType) or not hasattr(type(found), "__get__"))


def _attribute(x: Select, name: str) -> Any:
    one_of, at = alternatives_of(x)
    kind = type(x).__stands_for__
    found = _found(kind, name)
    if is_users_class(kind):
        if isinstance(found, property):
            return operators.call(found.fget)(x)
        if isinstance(found, (classmethod, staticmethod)):
            return getattr(kind, name)
        if isinstance(found, FunctionType) and rule_of_library(found) is None and not any(
                name in getattr(one, "__dict__", ()) for one in one_of):
            return MethodType(found, x)
    if not any(_has(one, name) for one in one_of):
        return getattr(one_of[0], name)  # raises the AttributeError
    if all(callable(getattr(type(one), name, None)) and name not in getattr(one, "__dict__", ()) for one in one_of):
        return Method(x, name)
    if all(_has(one, name) for one in one_of) and all(
            _is_plain(type(one), name, "__getattribute__") or not (
                is_users_class(type(one)) or hasattr(type(one), "__attributes__")) for one in one_of):
        return choose([getattr(one, name) for one in one_of], at)
    return use(x, getattr, name)


def _set_attribute(x: Select, name: str, value: Any) -> None:
    one_of, at = alternatives_of(x)
    found = _found(type(x).__stands_for__, name)
    if isinstance(found, property) and found.fset is not None:
        operators.call(found.fset)(x, value)
        return
    if all(_is_plain(type(one), name, "__setattr__") and _has(one, name) for one in one_of):
        values = replaced([getattr(one, name) for one in one_of], at, value)
        if values is not None:
            for one, new in zip(one_of, values, strict=True):
                setattr(one, name, new)
            return
    use(x, setattr, name, value, changed=f".{name}")


class Method:
    """A method of a select, called for each alternative in its own branch."""

    __slots__ = ("_ag_name", "_ag_names", "_ag_of")

    __stands_for__ = MethodType

    def __init__(self, of: Select, name: str) -> None:
        self._ag_of, self._ag_name, self._ag_names = of, name, AttributeNames([name])

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return use(self._ag_of, call_method, self._ag_name, args, keywords)


# Special methods by name. Python functions run once, others once per alternative.

def _special(name: str) -> Callable[..., Any]:
    def special(self: Select, *args: Any, **keywords: Any) -> Any:
        kind = type(self).__stands_for__
        found = _found(kind, name)
        if isinstance(found, FunctionType) and is_users_class(kind) and rule_of_library(found) is None:
            return operators.call(MethodType(found, self))(*args, **keywords)
        if name == "__call__":
            return use(self, _called, args, keywords)
        return use(self, call_method, name, args, keywords)

    special.__name__ = name
    return special


def _special_of_each(name: str) -> Callable[..., Any]:
    """As `_special`, for objects of different classes, not all of which need to have the method."""
    if name in ("__iter__", "__reversed__"):
        return lambda self: iter(use(self, BY_METHOD[name]))
    return lambda self, *args: use(self, BY_METHOD[name], *args)


def _class_for(values: Sequence[Any]) -> type[Select]:
    return class_of_selects(tuple(dict.fromkeys(map(type, values))), all(map(callable, values)))


@functools.cache
def class_of_selects(kinds: tuple[Any, ...], is_callable: bool) -> type[Select]:
    """The class of selects among objects of these classes, which stands for `object` if there are several."""
    kind = kinds[0] if len(kinds) == 1 else object
    namespace: dict[str, Any] = {"__slots__": (), "__stands_for__": kind, "__hash__": Select.__hash__}
    special = {name for name in SPECIAL if any(_found(each, name) is not _found(object, name) for each in kinds)}
    if kind is object:
        namespace |= _methods_of_each(special)
        if all(any(_found(each, name) is not _found(object, name) for name in OF_TEXT) for each in kinds):
            namespace["__text__"] = lambda self, spec: use(self, with_format, spec)
    else:
        namespace |= {name: _special(name) for name in special}
        if "__bool__" in special:
            namespace["__truth__"] = lambda self: truth(namespace["__bool__"](self))
        elif "__len__" in special:
            namespace["__truth__"] = lambda self: truth(namespace["__len__"](self) != 0)
    if is_callable:
        namespace["__call__"] = _special("__call__")
    numeric = number_methods(kind, special, lambda self: numbers_of(*alternatives_of(self)))
    namespace |= numeric
    namespace |= (of_flags := flag_methods(kind, of_both))
    if hasattr(kind, "__tensor__"):
        namespace["__tensor__"] = lambda self: use(self, convert_to_tensor)
    if is_users_class(kind) and not issubclass(kind, (int, float, str)):  # it is no constant
        namespace["__class__"] = property(  # `super()` uses it
            lambda self: type(self) if of_flags and asked_by_flags() else kind)
    return type(kind.__name__, (Select, NumberMember) if numeric else (Select,), namespace)


def _class_of(x: Select) -> Any:
    """`o.__class__`: the class of the object. `isinstance` reads it, too, so code that is not converted, which asks
    whether this is a select, is given that class: only the calling frame tells (`type(o)` does without)."""
    return tested(x, type) if is_converted(sys._getframe(2).f_code) else type(x)


def _methods_of_each(special: Set[str]) -> dict[str, Any]:
    """The special methods of selects among objects of different classes."""
    methods: dict[str, Any] = {name: _special_of_each(name) for name in special & BY_METHOD.keys()}
    methods["__class__"] = property(_class_of)
    if not special.isdisjoint(("__bool__", "__len__")):
        methods["__truth__"] = lambda self: use(self, truth)
    return methods
