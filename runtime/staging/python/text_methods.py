"""Calls of Python's functions and methods of text with values that only the graph knows."""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any, Final

from autograph.backend import only_atoms
from runtime.core.formatting import (
    ascii_of,
    format_map,
    formatted,
    percent,
    replaced,
    repr_of,
    str_of,
    translated,
)
from runtime.core.text import Text
from runtime.ops.text_functions import FUNCTIONS
from runtime.staging.containers.text_join import joined
from runtime.staging.elements.text_calls import call_text
from runtime.staging.values.iterables import stages

__all__ = ["MEMBERS", "UNBOUND", "function_of_text", "method_of_text"]

UNBOUND: Final = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
"""The classes of the methods of C code, as its classes have them."""
MEMBERS: Final = (*UNBOUND, MethodWrapperType)

_MAKE_TEXT: Final[dict[Any, Callable[..., Any]]] = {str: str_of, ascii: ascii_of, format: formatted, repr: repr_of}
_PUT_TOGETHER: Final[dict[str, Callable[..., Any]]] = {
    "__add__": operator.add, "__mod__": percent, "join": joined, "replace": replaced, "translate": translated,
    "format": lambda text, *args, **keywords: format_map(text, args, keywords),
    "format_map": lambda text, values: format_map(text, (), values)}
"""Methods of `str` that build text."""


def function_of_text(fn: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[..., Any] | None:
    """The replacement of `str`, `repr`, `ascii` or `format`; None for others."""
    if type(fn) in (BuiltinFunctionType, type) and fn in _MAKE_TEXT and not keywords and (
            len(args) == 1 or (fn is format and len(args) == 2)):
        return _MAKE_TEXT[fn]
    return None


def method_of_text(fn: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[..., Any] | None:
    """The replacement of a method of `str` for text of the graph, or one that builds text; None for others."""
    is_unbound = type(fn) in UNBOUND
    owner = fn.__objclass__ if type(fn) in MEMBERS else type(fn.__self__) if type(fn) is BuiltinFunctionType else None
    if owner is not str:
        return None
    receiver = args[0] if is_unbound and args else getattr(fn, "__self__", None)
    if isinstance(receiver, Text):
        return functools.partial(_call_method, fn.__name__)
    values = (*args[is_unbound:], *keywords.values())
    if not isinstance(receiver, str) or only_atoms(values):
        return None
    made = _PUT_TOGETHER.get(fn.__name__)
    if made is None:
        if fn.__name__ not in FUNCTIONS or not any(isinstance(value, Text) or stages(value) for value in values):
            return None
        made = functools.partial(call_text, fn.__name__)
    return made if is_unbound else functools.partial(made, receiver)


def _call_method(name: str, receiver: Any, *args: Any, **keywords: Any) -> Any:
    return getattr(receiver, name)(*args, **keywords)
