"""Functions that decorators of derivatives make, which are methods if a class has them."""
from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from runtime.core.wrapped_functions import HasSignature

__all__ = ["MethodFunction"]


class MethodFunction(HasSignature, ABC):
    """A callable in place of a function. As an attribute of a class it is a method: the instance is no argument of it,
    and so has no derivative."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        own: Any = self
        functools.update_wrapper(own, function, updated=())

    def __get__(self, instance: Any, owner: type | None = None) -> MethodFunction:
        bind = getattr(type(self._function), "__get__", None)
        return self if bind is None else type(self)(bind(self._function, instance, owner))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], type):  # from Python 3.13 classmethod calls what it decorates, without binding
            return self.__get__(args[0], args[0])(*args[1:], **kwargs)
        return self._call(*args, **kwargs)

    @abstractmethod
    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, with the derivatives that the decorator gives it."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._function == other._function

    def __hash__(self) -> int:
        return hash(self._function)

    def __reduce__(self) -> str | tuple[Any, ...]:
        bound = getattr(self._function, "__self__", None)
        if bound is None:
            return self.__qualname__  # type: ignore[attr-defined, no-any-return]
        return getattr, (bound, self._function.__name__)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._function!r}>"
