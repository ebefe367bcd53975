"""Methods of lists and dicts that were looked up before a statement that is staged: `add = xs.append`.

Such a method has its list for good. But a body has a copy of it, and a list that grows becomes another object, so what
stands for the method has the list in a place where another can be put.
"""
from __future__ import annotations

from types import BuiltinMethodType
from typing import Any

from autograph.dispatch.converted_call import call

__all__ = ["BoundMethod"]


class BoundMethod:
    """`getattr(owner, name)`, looked up at each call."""

    __slots__ = ("__name__", "__self__")

    __stands_for__ = BuiltinMethodType

    def __init__(self, method: Any) -> None:
        self.__self__, self.__name__ = method.__self__, method.__name__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return call(getattr(self.__self__, self.__name__))(*args, **keywords)

    def __eq__(self, other: object) -> bool:
        return (getattr(other, "__self__", None) is self.__self__
                and getattr(other, "__name__", None) == self.__name__)

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__name__))
