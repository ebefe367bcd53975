"""Formatting operators: while a backend traces, text may contain values of a graph."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from autograph.core.backend import ambient
from autograph.core.tracebacks import own_errors
from autograph.dispatch.converted_call import call
from autograph.operators.containers import beside_array

__all__ = ["formatted", "imod", "mod", "shown", "text"]


@own_errors
def text(*parts: Any) -> Any:
    """The f-string of these parts."""
    return "".join(parts) if ambient.backend is None else ambient.backend.text(parts)


@own_errors
def formatted(value: Any, spec: Any = "", /) -> Any:
    """The part of an f-string for `value` with this spec."""
    return (format if ambient.backend is None else ambient.backend.builtins.get(format, format))(value, spec)


def shown(value: Any, conversion: str, /) -> Any:
    """`value` with `!s`, `!r` or `!a`, before it is formatted."""
    return call(_CONVERSIONS[conversion])(value)


_CONVERSIONS: Final[dict[str, Any]] = {"s": str, "r": repr, "a": ascii}


def _mod(python: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @own_errors
    def mod(left: Any, right: Any, /) -> Any:
        if ambient.backend is not None and (issubclass(type(left), str) or beside_array(left, right)):
            return ambient.backend.operation(python.__name__, left, right)
        return python(left, right)

    mod.__name__ = mod.__qualname__ = python.__name__
    return mod


mod, imod = _mod(operator.mod), _mod(operator.imod)
"""`left % right` and `left %= right`, which may format text."""
