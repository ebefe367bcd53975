"""`dataclasses.replace`, `asdict` and `astuple` of objects of which only the graph knows which one they are."""
from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from autograph.backend import has_staged_items, operators
from runtime.core.positions import staging_error
from runtime.core.trace import current_graph
from runtime.staging.elements.references import Reference, selected
from runtime.staging.elements.select import Select, alternatives_of, use
from runtime.staging.values.optional import MaybeObject, without_none

__all__ = ["DATACLASS_FUNCTIONS"]


def _class_of(x: Any) -> Any:
    """The class of an object; `object` if it may be of several."""
    return type(x).__stands_for__ if isinstance(x, (Select, Reference)) else type(x)


def _is_dataclass(x: Any) -> bool:
    return hasattr(_class_of(x), "__dataclass_fields__")


def _of_dataclasses(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate the replacement of a function of `dataclasses`: it takes an object of a known class."""
    python = getattr(dataclasses, fn.__name__.strip("_"))

    @functools.wraps(python)
    def of_object(x: Any, /, *args: Any, **keywords: Any) -> Any:
        if current_graph() is None:
            return python(x, *args, **keywords)
        x = selected(x.checked() if isinstance(x, MaybeObject) else x)
        if isinstance(x, Select) and not _is_dataclass(x) and any(map(_is_dataclass, alternatives_of(x)[0])):
            return use(x, lambda one: of_object(one, *args, **keywords))
        return fn(x, *args, **keywords) if _is_dataclass(x) and not isinstance(x, type) else python(
            x, *args, **keywords)

    return of_object


@_of_dataclasses
def _replace(x: Any, /, **changes: Any) -> Any:
    for field in _class_of(x).__dataclass_fields__.values():
        kind = field._field_type.name
        if kind == "_FIELD_CLASSVAR":
            continue
        if not field.init:
            if field.name in changes:
                raise ValueError(
                    f"field {field.name} is declared with init=False, it cannot be specified with replace()")
        elif field.name not in changes:
            if kind == "_FIELD_INITVAR" and field.default is dataclasses.MISSING:
                raise ValueError(f"InitVar {field.name!r} must be specified with replace()")
            changes[field.name] = getattr(x, field.name)
    return operators.call(_class_of(x))(**changes)


@_of_dataclasses
def _asdict(x: Any, *, dict_factory: Any = dict) -> Any:
    return _converted(x, operators.call(dict_factory))


@_of_dataclasses
def _astuple(x: Any, *, tuple_factory: Any = tuple) -> Any:
    return _converted(x, lambda pairs: operators.call(tuple_factory)([value for _, value in pairs]))


def _converted(x: Any, made: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    """A value with each dataclass object in it replaced by what `made` makes of its fields, and the rest copied."""
    if isinstance(x, MaybeObject):
        content, present = without_none(x)
        return operators.if_exp(present, lambda: _converted(content, made), lambda: None)
    x = selected(x)
    if _is_dataclass(x):
        if isinstance(x, Reference) and x.__arena__.is_linked:
            raise staging_error(
                f"a {x.__arena__.name} is converted here with the objects to which it refers, and staged code refers to"
                " it by several names", "Convert its fields one by one.")
        return made([(field.name, _converted(getattr(x, field.name), made)) for field in
                     dataclasses.fields(_class_of(x))])
    if isinstance(x, Select) and any(map(_is_dataclass, alternatives_of(x)[0])):
        return use(x, _converted, made)
    if isinstance(x, tuple):
        parts = [_converted(part, made) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if isinstance(x, list) or _class_of(x) is list:
        return operators.list_comp(x, lambda item: _converted(item, made))
    if type(x) is dict and not has_staged_items(x):
        return {_converted(key, made): _converted(value, made) for key, value in x.items()}
    return operators.call(copy.deepcopy)(x)


DATACLASS_FUNCTIONS: Final[Mapping[Any, Callable[..., Any]]] = {
    dataclasses.replace: _replace, dataclasses.asdict: _asdict, dataclasses.astuple: _astuple}
