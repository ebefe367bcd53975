"""Traced functions as methods."""
from __future__ import annotations

import inspect
from typing import Any

__all__ = ["Method"]


class Method:
    """A `Function` as a method of an object: the value of `instance.method`. Other attributes are those of the
    Function."""

    __slots__ = ("__self__", "_function")

    def __init__(self, function: Any, instance: Any) -> None:
        self._function = function
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        found: inspect.Signature = self._function._signature.parameters
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Method) and self._function is other._function

    def __hash__(self) -> int:
        return hash(self._function)

    def __repr__(self) -> str:
        return f"<rt.function {self._function.python_function.__qualname__} of {self.__self__!r}>"
