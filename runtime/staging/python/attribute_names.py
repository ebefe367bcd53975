"""`getattr(x, name)` and `setattr(x, name, value)` where only the graph knows the name: it is looked up among the names
that the object has, and there is a branch, or a choice, for each."""
from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any, Final

from runtime.core.errors import UnimplementedError
from runtime.core.text import Text, concat_text
from runtime.ops.effects import raise_unless
from runtime.ops.logic import not_equal
from runtime.ops.math import minimum
from runtime.staging.elements.references import Attribute, Reference, selected
from runtime.staging.elements.select import Select, alternatives_of, choose, replaced, used_at
from runtime.staging.values.optional import Maybe
from runtime.staging.values.strings import place_of_text, text_among

__all__ = ["get_by_text", "set_by_text"]

_WITHOUT_CODE: Final = (FunctionType, MemberDescriptorType, classmethod, staticmethod, Attribute)
"""Class attributes that run no code of the user's where an attribute of an object is read."""


def get_by_text(value: Any, name: Text, read: Callable[..., Any], *default: Any) -> Any:
    """`getattr(value, name, *default)`, where `read` reads an attribute with a known name."""
    names = [each for each in _candidates(value, name, builtins.dir) if _may_have(value, each)]
    if (not names and not default) or (text_among(name) is None and isinstance(value, ModuleType)):
        name.refuse()
    place = place_of_text(names, name)
    if default:
        return used_at(place, [*names, None], lambda each: default[0] if each is None else read(value, each, *default))
    error = AttributeError(concat_text((f"{_class_name(value)!r} object has no attribute '", name, "'")))
    place = _checked(place, names, name, error)
    if all(_reads_without_code(one, each) for one in _objects(value) for each in names):
        return choose([read(value, each) for each in names], place)
    return used_at(place, names, lambda each: read(value, each))


def set_by_text(value: Any, name: Text, new: Any) -> None:
    """`setattr(value, name, new)`: of other text than several that are known, the attribute has to exist."""
    names = _candidates(value, name, _fields_of)
    if not names:
        name.refuse()
    place = _checked(place_of_text(names, name), names, name, UnimplementedError(concat_text((
        f"an attribute of a {_class_name(value)} is set that has no value yet: ", name))))
    if all(_may_have(value, each) and _reads_without_code(one, each) for one in _objects(value) for each in names):
        values = replaced([getattr(value, each) for each in names], place, new)
        if values is not None:
            for each, changed in zip(names, values, strict=True):
                setattr(value, each, changed)
            return
    used_at(place, names, lambda each: setattr(value, each, new))


def _candidates(value: Any, name: Text, names_of: Callable[[Any], Sequence[str]]) -> list[str]:
    """The names that the text may be: those among which the graph selects it, or those of an object that begin and end
    as it does."""
    if (among := text_among(name)) is not None:
        return [*dict.fromkeys(among.texts)]
    first, *_, last = name.template.pieces
    names = dict.fromkeys(each for one in _objects(value) for each in names_of(one))
    return [each for each in names if each.startswith(first) and each.endswith(last) and not each.startswith("__")]


def _checked(place: Any, names: Sequence[str], name: Text, error: Exception) -> Any:
    """The index of a text among names; the graph raises the error if it is none of them."""
    among = text_among(name)
    if among is not None and {*among.texts} <= {*names}:
        return place
    raise_unless(not_equal(place, len(names)), error)
    return minimum(place, len(names) - 1)


def _objects(value: Any) -> Sequence[Any]:
    value = selected(value.content if isinstance(value, Maybe) else value)
    return alternatives_of(value)[0] if isinstance(value, Select) else (value,)


def _class_name(value: Any) -> str:
    one, *_ = _objects(value)
    name: str = (type(one).__stands_for__ if isinstance(one, Reference) else type(one)).__name__
    return name


def _fields_of(x: Any) -> Sequence[str]:
    """The names of the attributes of an object that can be set."""
    found = [name for name in builtins.dir(type(x)) if hasattr(inspect.getattr_static(type(x), name, None), "__set__")]
    return [*x.__attributes__] if isinstance(x, Reference) else [*getattr(x, "__dict__", ()), *found]


def _may_have(value: Any, name: str) -> bool:
    """Whether some object that the value may be has the attribute; the code of properties does not run."""
    return any(inspect.getattr_static(one, name, None) is not None or (
        hasattr(type(one), "__getattr__") and hasattr(one, name)) for one in _objects(value))


def _reads_without_code(x: Any, name: str) -> bool:
    found = inspect.getattr_static(type(x), name, None)
    return not hasattr(type(x), "__getattr__") and (
        isinstance(found, _WITHOUT_CODE) or not hasattr(type(found), "__get__"))
