"""Items of a `defaultdict` that may be missing: a factory that changes something is called for missing keys only."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from autograph.backend import ambient, function_in, is_users_class, operators, without_changes

__all__ = ["with_default"]


def with_default(mapping: Any, key: Any, setdefault: Callable[[Any], Any], read: Callable[[], Any]) -> Any:
    """`mapping[key]` of a `defaultdict`. `setdefault` gets the default, where that may be made for present keys, too;
    `read` returns an item that is there."""
    factory = mapping.default_factory
    ag__factory = operators.call(factory)
    if isinstance(factory, type) and not is_users_class(factory):
        return setdefault(ag__factory())
    assert ambient.backend is not None
    made = without_changes(ambient.backend, "default_factory", factory, ag__factory, _CHANGES)
    if made is not _CHANGES:
        return setdefault(made)
    ag__mapping, ag__key = mapping, key

    def add() -> None:
        operators.setitem(ag__mapping, ag__key, ag__factory())

    if (place := function_in(ag__factory)) is not None:
        add.place = place  # type: ignore[attr-defined]
    operators.cond(operators.not_(operators.in_(key, mapping)), add, None)
    return read()


_CHANGES: Final = object()
