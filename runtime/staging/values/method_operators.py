"""The operators and builtins that Python implements with special methods, by the names of these: the use of one of
several objects of different classes is the use of each of them, in a branch of its own."""
from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from autograph.backend import operators, references
from runtime.core.formatting import formatted, repr_of, str_of
from runtime.core.positions import staging_error
from runtime.core.text import ITEM, REPR, STR

__all__ = ["BY_METHOD", "OF_TEXT", "SPECIAL", "with_format"]


def with_format(x: Any, spec: str) -> Any:
    """The text of an object, as `__text__` gives it."""
    return str_of(x) if spec == STR else repr_of(x) if spec in (REPR, ITEM) else formatted(x, spec)


def _reflected(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, other: fn(other, x)


def _call(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *args: operators.call(fn)(x, *args)


def _of_context(name: str) -> Callable[..., Any]:
    def call(x: Any, *args: Any) -> Any:
        if not hasattr(type(x), name):
            with x:  # raises
                pass
        return operators.call(getattr(x, name))(*args)

    return call


def _index(x: Any) -> Any:
    method = getattr(type(x), "__index__", None)
    return operator.index(x) if method is None else operators.call(method)(x)


def _in(x: Any, item: Any) -> Any:
    return operators.in_(item, x)


def _put_item(x: Any, index: Any, value: Any) -> None:
    operators.place(x)[index] = value


def _items(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A list of what the iterator that `fn` returns gives, if that runs no code and nothing changes what it iterates
    over."""
    def items(x: Any) -> list[Any]:
        found = operators.call(fn)(x)
        if not (type(found) in _ITERATORS or (type(found) in _OF_LISTS and not references(
                found.__reduce__()[1]).total())):
            kind = type(x).__name__
            raise staging_error(
                f"only the graph knows which of several objects this is, and the iterator of {kind!r} runs code, or"
                " is one of a container that may change",
                f"Loop over each of them in a branch of its own, which asks isinstance(x, {kind}).")
        return [*found]

    return items


_ITERATORS: Final[frozenset[type]] = frozenset(map(type, (iter(()), iter(range(0)), iter(""), reversed(()))))
_OF_LISTS: Final[frozenset[type]] = frozenset(map(type, (iter([]), reversed([]))))
_BINARY: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "and": operators.bitand, "or": operators.bitor, "xor": operator.xor, "lshift": operator.lshift,
    "rshift": operator.rshift, "divmod": _call(builtins.divmod),
    **{name: getattr(operators, name) for name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow")},
}
_IN_PLACE: Final = {name: getattr(operators, f"ibit{name}" if name in ("and", "or") else f"i{name}")
                    for name in _BINARY if name != "divmod"}

BY_METHOD: Final[Mapping[str, Callable[..., Any]]] = {
    **{f"__{name}__": fn for name, fn in _BINARY.items()},
    **{f"__r{name}__": _reflected(fn) for name, fn in _BINARY.items()},
    **{f"__i{name}__": fn for name, fn in _IN_PLACE.items()},
    **{f"__{name}__": getattr(operators, name) for name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos")},
    **{f"__{name}__": _call(getattr(builtins, name)) for name in ("abs", "len", "next", "int", "float", "round")},
    **{f"__{name}__": _of_context(f"__{name}__") for name in ("enter", "exit")},
    "__index__": _index, "__invert__": operator.invert, "__contains__": _in,
    "__iter__": _items(iter), "__reversed__": _items(reversed),
    "__getitem__": operators.item, "__setitem__": _put_item, "__delitem__": operators.delitem,
}
"""All but those whose results Python checks: of the truth and the text of an object."""
OF_TEXT: Final = ("__str__", "__repr__", "__format__")
SPECIAL: Final = BY_METHOD.keys() | {"__bool__", "__call__", *OF_TEXT}
