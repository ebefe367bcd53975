"""Tables by identity of code objects.

Python compares code objects by their whole content. For equal ones, such as those of a notebook cell that runs again,
that takes time exponential in the nesting depth.
"""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any, TypeVar

__all__ = ["inside", "per_code", "per_code_and_nested", "until_gone"]

T = TypeVar("T")


def until_gone(value: Any, table: dict[Any, Any], key: Any) -> weakref.ref[Any]:
    """A weak reference that removes `key` from `table` when `value` is freed.

    It consists of C code only: an exception that a signal handler raises in a Python callback (`finalize`,
    `WeakKeyDictionary`), such as KeyboardInterrupt, would be lost.
    """
    return weakref.ref(value, functools.partial(table.pop, key))  # `pop` takes the reference as its default


def per_code(find: Callable[[CodeType], T]) -> Callable[[CodeType], T]:
    """`find`, memoised per code object for as long as that object lives."""
    found: dict[int, tuple[T, object]] = {}

    @functools.wraps(find)
    def get(code: CodeType) -> T:
        known = found.get(id(code))
        if known is None:
            known = found[id(code)] = find(code), until_gone(code, found, id(code))
        return known[0]

    return get


def per_code_and_nested(find: Callable[[CodeType, Sequence[T]], T]) -> Callable[[CodeType], T]:
    """`find(code, results)`, memoised per code object, where `results` are those for the functions and classes that are
    nested in it."""
    found: dict[int, tuple[T, object]] = {}

    @functools.wraps(find)
    def get(code: CodeType) -> T:
        if id(code) not in found:
            for each in reversed([*inside(code)]):  # the innermost first: code may nest deeper than Python recurses
                if id(each) not in found:
                    result = find(each, [found[id(nested)][0] for nested in _nested(each)])
                    found[id(each)] = result, until_gone(each, found, id(each))
        return found[id(code)][0]

    return get


def _nested(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def inside(code: CodeType) -> Iterator[CodeType]:
    """The code object and those of all functions and classes nested in it."""
    codes = [code]
    for each in codes:  # grows meanwhile
        yield each
        codes += _nested(each)
