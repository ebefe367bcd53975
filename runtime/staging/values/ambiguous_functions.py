"""Functions that a loop body or branch defines: which of them a variable has is unknown."""
from __future__ import annotations

import functools
from types import CodeType, FunctionType
from typing import Any, NoReturn

from runtime.core.positions import staging_error

__all__ = ["Redefined", "redefined"]


class Redefined:
    """Replaces functions with these code objects, defined in loops and branches, of which it is unknown which one it
    is."""

    def __init__(self, codes: frozenset[CodeType]) -> None:
        self.codes = codes
        self.lineno, self.__name__ = min((code.co_firstlineno, code.co_name) for code in codes)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise staging_error(
            f"{self.__name__!r} of line {self.lineno} is made anew in each iteration or branch, and here it may be any"
            " of these functions",
            "Call it where it is made, or make it before the loop or branch.")


_of = functools.lru_cache(maxsize=1024)(Redefined)  # one object for the same codes, so that loops reach a fixpoint


def redefined(a: Any, b: Any) -> Redefined | None:
    """The replacement of either of two values, if these are functions."""
    codes: frozenset[CodeType] = frozenset()
    for value in (a, b):
        if isinstance(value, Redefined):
            codes |= value.codes
        elif isinstance(value, FunctionType):
            codes |= {value.__code__}
        else:
            return None
    return _of(codes)
