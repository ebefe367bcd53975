"""What is known of code objects, each by itself.

Python compares them with all that is in them, which for equal ones takes time that doubles with each level of nesting:
those of a cell of a notebook that runs again.
"""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, TypeVar

__all__ = ["inside", "per_code", "until_gone"]

T = TypeVar("T")


def until_gone(value: Any, table: dict[Any, Any], key: Any) -> weakref.ref[Any]:
    """A weak reference that takes `key` out of `table` when `value` goes.

    All of it is C: what Python code does then (`finalize`, `WeakKeyDictionary`, a callback of one's own) can be met
    by a signal, and the exception of the signal's handler, such as KeyboardInterrupt, is lost."""
    return weakref.ref(value, functools.partial(table.pop, key))  # `pop` takes the reference for the default


def per_code(find: Callable[[CodeType], T]) -> Callable[[CodeType], T]:
    """`find`, called once for each code object as long as that lives."""
    found: dict[int, tuple[T, object]] = {}

    @functools.wraps(find)
    def get(code: CodeType) -> T:
        known = found.get(id(code))
        if known is None:
            known = found[id(code)] = find(code), until_gone(code, found, id(code))
        return known[0]

    return get


def inside(code: CodeType) -> Iterator[CodeType]:
    """The code, and that of all functions and classes in it."""
    codes = [code]
    for each in codes:  # grows meanwhile
        yield each
        codes += [constant for constant in each.co_consts if isinstance(constant, CodeType)]
