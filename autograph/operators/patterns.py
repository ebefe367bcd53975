"""`match`: what its patterns ask of a subject, and the parts of it that they test and capture (PEP 634)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograph.core.backend import ambient, backend_of, deciding
from autograph.core.tracebacks import own_errors
from autograph.dispatch.converted_call import call
from autograph.operators.containers import delitem, eq, ge, item

__all__ = [
    "has_length", "has_part", "is_class", "is_mapping", "is_sequence", "matched", "matched_items", "matched_part",
    "matched_rest"]

_MATCH_SELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""The classes whose one positional pattern is for the object itself, if they have no `__match_args__`."""


def matched(value: Any, /) -> Any:
    """The subject of a `match` that stays Python."""
    backend = deciding(value) or backend_of(value) or (ambient.backend if hasattr(type(value), "__stands_for__") else (
        None))
    return value if backend is None else backend.check(value, "subject")


@own_errors
def is_sequence(value: Any, /) -> Any:
    """Whether sequence patterns can match the value; False for a tensor."""
    found = call(isinstance)(value, Sequence)
    return found if found is False or call(isinstance)(value, (str, bytes, bytearray)) is False else False


@own_errors
def has_length(value: Any, length: int, more: bool, /) -> Any:
    """Whether a sequence has this length, or (`more`) at least this."""
    return (ge if more else eq)(call(len)(value), length)


@own_errors
def matched_items(value: Any, start: int, after: int, /) -> Any:
    """The items for `*rest` in a sequence pattern: a list of those from `start` to the last `after` ones."""
    return call(list)(item(value, slice(start, -after or None)))


@own_errors
def is_mapping(value: Any, /, *keys: Any) -> Any:
    """Whether mapping patterns with these keys can match the value, if it has them."""
    found = call(isinstance)(value, Mapping)
    if found is not False:
        for i, key in enumerate(keys):
            if key in keys[:i]:
                raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
    return found


@own_errors
def matched_rest(value: Any, /, *keys: Any) -> Any:
    """The dict for `**rest` in a mapping pattern with these keys."""
    rest = call(dict)(value)
    for key in keys:
        delitem(rest, key)
    return rest


@own_errors
def is_class(value: Any, cls: Any, /) -> Any:
    """Whether class patterns of `cls` can match the value."""
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    return call(isinstance)(value, cls)


@own_errors
def has_part(value: Any, cls: Any, part: int | str, before: int = 0, /) -> Any:
    """Whether an object of a class has the attribute for the positional pattern `part`, or with that name, which comes
    after `before` positional ones."""
    name = _attribute(cls, part)
    if isinstance(part, str) and part in [_attribute(cls, i) for i in range(before)]:
        raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {part!r}")
    return name is None or call(hasattr)(value, name)


@own_errors
def matched_part(value: Any, cls: Any, part: int | str, /) -> Any:
    """What a class pattern tests or captures by the positional pattern `part`, or by that name."""
    name = _attribute(cls, part)
    return value if name is None else call(getattr)(value, name)


def _attribute(cls: type, part: int | str) -> str | None:
    """The name of the attribute for a part of a class pattern; None for the object itself."""
    if isinstance(part, str):
        return part
    is_itself = not hasattr(cls, "__match_args__") and issubclass(cls, _MATCH_SELF)
    names = getattr(cls, "__match_args__", ())
    if type(names) is not tuple:
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(names).__name__})")
    allowed = 1 if is_itself else len(names)
    if part >= allowed:
        patterns = "sub-pattern" if allowed == 1 else "sub-patterns"
        raise TypeError(f"{cls.__name__}() accepts {allowed} positional {patterns} ({part + 1} given)")
    if is_itself:
        return None
    if not isinstance(name := names[part], str):
        raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
    return name
