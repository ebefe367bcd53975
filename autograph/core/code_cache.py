"""Tables by identity of code objects.

Python compares code objects by everything in them. For equal ones, as those of a notebook cell that runs again, that
takes time exponential in the nesting depth.
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
    """A weak reference that removes `key` from `table` when `value` is freed.

    It consists of C code only: an exception that a signal handler raises in a Python callback (`finalize`,
    `WeakKeyDictionary`), such as KeyboardInterrupt, would be lost.
    """
    return weakref.ref(value, functools.partial(table.pop, key))  # `pop` takes the reference as its default


def per_code(find: Callable[[CodeType], T]) -> Callable[[CodeType], T]:
    """`find`, memoised per code object for the lifetime of that."""
    found: dict[int, tuple[T, object]] = {}

    @functools.wraps(find)
    def get(code: CodeType) -> T:
        known = found.get(id(code))
        if known is None:
            known = found[id(code)] = find(code), until_gone(code, found, id(code))
        return known[0]

    return get


def inside(code: CodeType) -> Iterator[CodeType]:
    """The code object and those of all functions and classes nested in it."""
    codes = [code]
    for each in codes:  # grows meanwhile
        yield each
        codes += [constant for constant in each.co_consts if isinstance(constant, CodeType)]
