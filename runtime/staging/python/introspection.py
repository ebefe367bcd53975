"""Questions about an object that may be answered at run time only: whether it is None, or has an attribute."""
from __future__ import annotations

import builtins
import itertools
import sys
from collections.abc import Callable, Mapping
from types import FrameType, FunctionType, MappingProxyType, MemberDescriptorType
from typing import Any, Final

import numpy as np

from autograph.backend import has_staged_items, is_body, is_container, is_internal, is_reference, keyed, operators
from runtime.core.array_mode import need_objects, note_class_asked
from runtime.core.array_promotion import is_of_arrays
from runtime.core.errors import UnimplementedError
from runtime.core.positions import staging_error
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.text import Text
from runtime.core.variable_bindings import Placeholder
from runtime.numpy.array_choices import JoinedArray, SelectedArray
from runtime.numpy.array_objects import StagedArray
from runtime.ops.effects import raise_unless
from runtime.ops.logic import where
from runtime.staging.aliases.alias_tracking import check_comparison, note_compared
from runtime.staging.aliases.list_elements import check_identity, is_same_element, refuse_identity
from runtime.staging.aliases.open_bodies import elements_with
from runtime.staging.containers.dict_lookup import method_of_dict
from runtime.staging.containers.row_table import ChosenRow, Row
from runtime.staging.elements.references import Reference, is_hashable_reference, number_of, same_reference, selected
from runtime.staging.elements.select import (
    Select,
    alternatives_of,
    has_attribute,
    identities_of,
    is_one,
    tested,
    unknown,
)
from runtime.staging.joins.container_arenas import identity_of, same_container
from runtime.staging.python.attribute_names import get_by_text, set_by_text
from runtime.staging.storage.dict_keys import is_staged_key
from runtime.staging.storage.set import JoinedSet
from runtime.staging.values.iterables import Poison, stages, view_of
from runtime.staging.values.optional import Maybe, MaybeObject, known, same_or_none, without_none
from runtime.staging.values.strings import text_among

__all__ = [
    "ASKED", "check_attribute", "check_attributes", "check_owned", "is_same", "is_scalar", "of_numpy",
    "subject_of_match", "tested_maybe_none"]


def tested_maybe_none(value: Any, test: Callable[[Any], bool]) -> Any:
    """The result of `test` for a value that may be None at run time: a bool, or a bool scalar tensor."""
    if not isinstance(value, Maybe):
        return test(value)
    value.presence.check_bound()
    present, of_value = value.presence.has_value, test(value.content)
    if present is True or of_value is test(None):
        return of_value
    return present if of_value else ~present


def of_numpy(value: Any) -> Any:
    """An array or scalar of NumPy of the class that `value` has in Python, if it is made of arrays; else None."""
    note_class_asked()
    if isinstance(value, StagedArray) or (
            type(value) is GraphTensor and is_of_arrays(value.type) and not value.type.weak):
        return np.empty((0,) * value.ndim, value.dtype.np) if value.ndim else value.dtype.np.type(0)
    return None


def _python_number(value: Any) -> Any:
    """A value of the class that `value` has in Python, if it is text or derived from Python numbers; else `value`."""
    if isinstance(value, Text):
        return ""
    if not isinstance(value, GraphTensor) or not value.type.weak or value.type.shape:
        return value
    return {"b": False, "i": 0, "f": 0.0, "c": 0j}[value.type.dtype.np.kind]


def _of_content(value: Any, ask: Callable[[Any], Any]) -> Any:
    """The answer for a value that may be None, or be of several classes: as if asked for what it is."""
    value.presence.check_bound()
    present = value.presence.has_value
    if present is True:
        return ask(value.content)
    return operators.if_exp(present, lambda: ask(value.content), lambda: ask(None))


def _is_of_several(value: Any) -> bool:
    return type(value) is MaybeObject and (
        isinstance(value.content, Select) or hasattr(type(value.content), "__select__"))


def _isinstance(value: Any, classes: Any, /) -> Any:
    if _is_of_several(value):
        return _of_content(value, lambda x: _isinstance(x, classes))
    value = selected(value)
    if isinstance(value, Select):
        return tested(value, lambda one: _isinstance(one, classes))
    kind = getattr(builtins.type(value), "__stands_for__", None)
    if kind is not None and not hasattr(type(value), "__no_class__"):
        return builtins.issubclass(kind, classes)
    found = tested_maybe_none(value, lambda x: builtins.isinstance(_python_number(x), classes) or (
        (array := of_numpy(x)) is not None and builtins.isinstance(array, classes)))
    if found is False and hasattr(type(value), "__no_class__"):  # an error that a handler caught
        value.__no_class__()
    return found


def _issubclass(cls: Any, classes: Any, /) -> Any:
    if isinstance(cls, Select):
        return tested(cls, lambda one: builtins.issubclass(one, classes))
    return builtins.issubclass(cls, classes)


def is_scalar(element: Any) -> Any:
    """`numpy.isscalar`."""
    return tested_maybe_none(element, lambda x: np.isscalar(
        _python_number(x) if (array := of_numpy(x)) is None else array))


def subject_of_match(value: Any) -> Any:
    """The subject of a `match` that stays Python. StagingError if only the graph knows its text or class, or whether it
    is None."""
    if has_staged_items(value):
        return [*view_of(value)]
    if isinstance(value, Text):
        value.refuse()
    one = selected(value)
    if isinstance(one, Select) and len({_type(each) for each in alternatives_of(one)[0]}) > 1:
        raise unknown(one, "so is the pattern that it matches",
                      "Ask isinstance(x, ...) in place of `case`, and read its attributes.")
    return known(value, "which pattern it matches")


def _callable(value: Any, /) -> Any:
    if isinstance(value, Poison):
        value.refuse()
    if _is_of_several(value):
        return _of_content(value, _callable)
    value = selected(value)
    if isinstance(value, Select):
        return tested(value, builtins.callable)
    return tested_maybe_none(value, builtins.callable)


def _type(value: Any, /, *others: Any, **keywords: Any) -> Any:
    if others or keywords:
        return builtins.type(value, *others, **keywords)
    value = selected(value)
    if hasattr(type(value), "__no_class__"):
        value.__no_class__()
    if isinstance(value, Select):
        return tested(value, _type)
    if hasattr(builtins.type(value), "__stands_for__"):
        return builtins.type(value).__stands_for__
    value = known(value, "for its type")
    array = of_numpy(value)
    return builtins.type(_python_number(value) if array is None else array)


def is_same(value: Any, other: Any) -> Any:
    """`value is other`: a bool, or a bool scalar tensor."""
    sides = [identities_of(each)[0] for each in (value, other)]
    for container in itertools.chain(*sides) if any(map(is_container, sides[1])) else ():
        note_compared(container)
    if isinstance(value, Maybe) or isinstance(other, Maybe):
        return _is_same_or_none(value, other)
    if value is other:
        return True
    _check_arrays(value, other)
    _check_sets(value, other)
    if isinstance(value, Reference):
        return same_reference(value, other)
    if is_reference(value):
        return same_container(value, other)
    for one, second in itertools.product(*sides):
        if one is not second and is_container(one) and is_container(second):
            check_comparison(one, second)
            if (same := is_same_element(one, second)) is not None and len(sides[0]) == len(sides[1]) == 1:
                return same
            if not (same is None or same is False):
                refuse_identity()
    for one, second in ((value, other), (other, value)):
        if isinstance(one, ChosenRow) and (isinstance(second, Row) or type(second) is list):
            one.refuse("which one it is, is known only when the graph runs", "Compare their indices.")
        if isinstance(one, (Select, SelectedArray)):
            return is_one(one, second)
        if isinstance(one, Placeholder):
            return one.is_same(second)
    return False


def _check_arrays(value: Any, other: Any) -> None:
    """Called before two different values are compared by identity. If they are arrays, of which the trace has the
    elements only, NeedsArrayObjects; StagingError if the graph does not have the answer either."""
    if all(isinstance(x, GraphTensor) and x.type.shape and (x.is_object or is_of_arrays(x.type))
           for x in (value, other)):
        error = staging_error(
            "whether two names have one array is asked here (`is`), and that is known only when the graph runs",
            "Keep a number or bool that says which one it is.")
        need_objects(error)
        if any(isinstance(x, JoinedArray) for x in (value, other)):
            raise error


def _check_sets(value: Any, other: Any) -> None:
    """StagingError for the identity of a set that may be one from before the call, which `other` may be, too."""
    both = [{*map(id, x.originals)} if isinstance(x, JoinedSet) else {id(x)} for x in (value, other)]
    if JoinedSet in (type(value), type(other)) and not both[0].isdisjoint(both[1]):
        raise staging_error(
            "whether two names have one set is asked here (`is`), and that is known only when the graph runs",
            "Compare their items (`==`), or keep a number or bool that says which one it is.")


def _is_same_or_none(value: Any, other: Any) -> Any:
    """`is_same` for values that may be None. Which number, tensor or tuple a name has only Python knows:
    UnimplementedError at run time if both names have one."""
    (one, has_one), (second, has_second) = map(without_none, (value, other))
    is_known = value is other or one is second
    if is_known or not all(isinstance(x, (Tensor, tuple)) for x in (one, second)):
        return same_or_none(value, other, is_same)
    missing, other_missing = operators.not_(has_one), operators.not_(has_second)
    raise_unless(operators.or_(missing, lambda: other_missing), UnimplementedError(
        "whether two names have one number, tensor or tuple is asked here (`is`), which may be None, and neither is:"
        " only Python knows; compare their values (`==`), or ask whether they are None"))
    return operators.and_(missing, lambda: other_missing)


def _bit(value: Any, name: Any) -> Any:
    """The bit that tells whether an object has an attribute, or None if that is known at trace time."""
    if isinstance(name, Text):
        name.refuse()
    if not isinstance(name, str):
        return None
    slot = next((vars(cls)[name] for cls in type(value).__mro__ if name in vars(cls)), None)
    if isinstance(slot, MemberDescriptorType):
        found = slot.__get__(value) if builtins.hasattr(value, name) else None
    else:
        found = getattr(value, "__dict__", {}).get(name)
    return found.presence.bound if isinstance(found, Maybe) else None


def _hasattr(value: Any, name: str, /) -> Any:
    if (among := text_among(name)) is not None:
        return among.of_each(lambda each: builtins.hasattr(value, each))
    if _is_of_several(value):
        return _of_content(value, lambda x: _hasattr(x, name))
    value = selected(value)
    if isinstance(value, Select):
        return has_attribute(value, name)
    bit = _bit(value, name)
    return tested_maybe_none(value, lambda x: builtins.hasattr(x, name)) if bit is None else bit


def _getattr(value: Any, name: str, /, *default: Any) -> Any:
    if isinstance(name, Text):
        return get_by_text(value, name, _getattr, *default)
    bit = _bit(value, name)
    asks = isinstance(value, (Maybe, Select)) or bit is not None or selected(value) is not value
    found = _hasattr(value, name) if default and asks else True
    if isinstance(found, bool):
        return builtins.getattr(value, name, *default) if found else default[0]
    return operators.if_exp(found, lambda: getattr(value, name), lambda: default[0])


def _setattr(value: Any, name: str, new: Any, /) -> None:
    if isinstance(name, Text):
        set_by_text(value, name, new)
    else:
        builtins.setattr(value, name, new)


def check_attribute(value: Any, name: str) -> None:
    """Emit a check that an object has an attribute, if that is known only at run time."""
    if _bit(value, name) is not None:
        getattr(value, name).presence.check_bound()


def check_owned(cls: type, name: str, value: Any) -> None:
    """StagingError if only the graph knows whether a class gets an attribute of its own, with this value, or keeps that
    of its base."""
    if isinstance(value, Maybe) and value.presence.bound is not None:
        base = next(base.__name__ for base in cls.__mro__ if name in vars(base))
        own, inherited = f"{cls.__name__}.{name}", f"{base}.{name}"
        raise staging_error(
            f"{own} is set on some ways through a staged statement only, and is {inherited} on the others, so that"
            " which of the two it is is known only when the graph runs",
            f"Set {inherited} instead, or give {cls.__name__} an attribute of its own before: {own} = {inherited}.")


def check_attributes(value: Any) -> None:
    """StagingError if an object's set of attributes is known only at run time."""
    for name in getattr(value, "__dict__", ()) if not isinstance(value, Maybe) else ():
        if _bit(value, name) is not None:
            what = getattr(value, name).presence.name
            raise staging_error(
                f"whether there is {what} is known only when the graph runs, as it is set on some ways through a staged"
                " statement only, and Python asks here for the attributes of that object",
                f"Give {what} a value on all ways, or before, such as 0 or None; `hasattr`, `getattr` and {what} itself"
                " may be used.")


def _delattr(value: Any, name: str, /) -> None:
    check_attribute(value, name)
    builtins.delattr(value, name)


def _listing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The replacement of `vars` or `dir`, which list the attributes of an object."""

    def listing(*values: Any) -> Any:
        if not values:  # of the calling frame
            found = _variables(sys._getframe(1))
            return found if fn is builtins.vars else sorted(found)
        for value in values:
            check_attributes(value)
            value = selected(value)
            if isinstance(value, Select):
                if fn is not builtins.vars:
                    raise unknown(value, "so are all of its attributes together")
                return _vars(value)
            if isinstance(value, Reference) and fn is builtins.dir and type(value).__dir__ is object.__dir__:
                return sorted({*builtins.dir(value.__stands_for__), *value.__attributes__})
        return fn(*[known(value, "for its attributes") for value in values])

    return listing


def _vars(value: Select) -> Mapping[str, Any]:
    """`vars` of one of several objects with the same attributes, to read."""
    each = [list(vars(one)) for one in alternatives_of(value)[0]]
    if any(names != each[0] for names in each):
        raise unknown(value, "so are all of its attributes together")
    return MappingProxyType({name: builtins.getattr(value, name) for name in each[0]})


def _variables(frame: FrameType) -> dict[str, Any]:
    """The variables of the user's function that runs in `frame`, or called it, including bodies generated from it."""
    around: FrameType | None = frame
    found: dict[str, Any] = {}
    while around is not None:
        code = around.f_code
        if not is_internal(code.co_filename):
            found = {**around.f_locals, **found}
            if not is_body(code):
                break
        around = around.f_back
    return {name: value for name, value in found.items()
            if value is not operators and not (type(value) is FunctionType and is_body(value.__code__))}


def _dict(*values: Any, **keywords: Any) -> Any:
    values = tuple([value.checked() if isinstance(value, MaybeObject) else value for value in values])
    if len(values) == 1 and isinstance(values[0], Select) and type(values[0]).__stands_for__ is dict:
        values = (operators.call(values[0].copy)(),)
    if len(values) == 1 and not (type(values[0]) in keyed or stages(values[0]) or hasattr(values[0], "keys")):
        pairs = [*values[0]]
        values = (pairs,)
        if not any([isinstance(pair, (list, tuple)) and pair and is_staged_key(pair[0]) for pair in pairs]):
            return builtins.dict(pairs, **keywords)
    elif len(values) != 1 or not (type(values[0]) in keyed or stages(values[0])):
        return builtins.dict(*values, **keywords)
    made: dict[Any, Any] = {}
    method_of_dict(made.update)(*values, **keywords)
    return made


def _number(value: Any, number: Callable[[Any], Any], of_none: int) -> Any:
    """The number of a value that may be None."""
    content, there = without_none(value)
    return number(content) if there is True else where(there, number(content), of_none)


def _id(value: Any, /) -> Any:
    """`id(value)`: of an object by reference, a number of its own."""
    return _number(value, _id_of, builtins.id(None))


def _id_of(value: Any) -> Any:
    if isinstance(value, Reference):
        return number_of(value)
    if is_reference(value):
        return identity_of(value)
    if isinstance(value, Select):
        raise unknown(value, "so is its `id`")
    if elements_with(value):
        refuse_identity()
    return builtins.id(value)


def _hash(value: Any, /) -> Any:
    """`hash(value)`: of an object by reference whose class compares by identity, a number of its own."""
    return _number(value, _hash_of, builtins.hash(None))


def _hash_of(value: Any) -> Any:
    if is_hashable_reference(value):
        return number_of(value)
    check_identity(value)
    return builtins.hash(value)


ASKED: Final[Mapping[Any, Callable[..., Any]]] = {
    builtins.isinstance: _isinstance,
    builtins.issubclass: _issubclass,
    builtins.callable: _callable,
    builtins.type: _type,
    builtins.hasattr: _hasattr,
    builtins.getattr: _getattr,
    builtins.setattr: _setattr,
    builtins.delattr: _delattr,
    builtins.vars: _listing(builtins.vars),
    builtins.dir: _listing(builtins.dir),
    builtins.dict: _dict,
    builtins.id: _id,
    builtins.hash: _hash,
}
