"""What `rt.function` decorates: functions, methods, callable objects, and traced functions with other options."""
from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from runtime.backends.executable import Called
from runtime.core.errors import locate
from runtime.core.positions import user_position
from runtime.function.method import Method
from runtime.function.signature import InvalidArgumentsError

__all__ = ["decorate"]


def decorate(options: dict[str, Any], func: Any, make: Callable[..., Any]) -> Any:
    """What `make` makes of `func` with the options. TypeError for what is no function."""
    if isinstance(func, (staticmethod, classmethod)):
        return type(func)(decorate(options, func.__func__, make))
    if isinstance(func, Method):
        func = MethodType(func.python_function, func.__self__)
    if not callable(func) or isinstance(func, type):
        what = f"the class {func.__qualname__!r}" if isinstance(func, type) else repr(func)
        error = InvalidArgumentsError(
            f"rt.function takes a function, method or callable object, not {what}",
            remedy="Decorate its methods." if isinstance(func, type) else "Call it as @rt.function or rt.function(f).")
        locate(error, user_position())
        raise error
    try:
        return make(getattr(func, "python_function", func) if isinstance(func, Called) else func, **options)
    except (TypeError, ValueError) as error:
        locate(error, user_position())
        raise
