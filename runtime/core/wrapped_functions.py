"""What `inspect` is told of objects that stand for a function."""
from __future__ import annotations

import inspect
from typing import Any

__all__ = ["HasSignature"]


class HasSignature:
    """A callable made with `functools.update_wrapper`: its signature is that of the function.

    `inspect.signature` finds it by itself, but `inspect.getfullargspec` takes every object with `__get__` for a method
    of C, unless it has this attribute.
    """

    __slots__ = ()

    __wrapped__: Any

    @property
    def __signature__(self) -> inspect.Signature:
        """AttributeError if the function has none."""
        try:
            return inspect.signature(self.__wrapped__)
        except (TypeError, ValueError) as error:
            raise AttributeError(str(error)) from None
