"""What the calling code does with a tensor, by its bytecode: for errors that say what to write, and for `a *= b`.

Each function serves one method of a tensor that Python calls for that code.
"""
from __future__ import annotations

import dis
import sys
from types import FrameType
from typing import Final

from autograph.backend import COMPARISONS_TEST, is_converted, is_internal

__all__ = [
    "calls_native_code", "compares_containers", "deletes", "formats", "is_in_place", "is_subscript", "property_getter",
    "unpacks",
]


def property_getter() -> str | None:
    """`Class.name` of the property whose getter is the calling function, or None."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or not frame.f_code.co_argcount or is_converted(frame.f_code):
        return None
    cls = type(frame.f_locals.get(frame.f_code.co_varnames[0]))
    found = getattr(cls, frame.f_code.co_name, None)
    if not isinstance(found, property) or getattr(found.fget, "__code__", None) is not frame.f_code:
        return None
    return f"{cls.__qualname__}.{frame.f_code.co_name}"


def _instruction() -> tuple[str, int]:
    """The instruction of the calling code, with its argument."""
    frame = sys._getframe(3)
    name, argument = frame.f_code.co_code[frame.f_lasti:frame.f_lasti + 2]
    return dis.opname[name], argument


def compares_containers() -> bool:
    """Whether the truth of a tensor is asked for by a comparison of containers."""
    name, argument = _instruction()
    is_test = COMPARISONS_TEST and bool(argument & 16)  # `if a == b`, in one instruction
    return name == "COMPARE_OP" and not is_test


def calls_native_code() -> bool:
    """Whether the truth of a tensor is asked for by a C function or iterator that converted code uses."""
    name, _ = _instruction()
    code = sys._getframe(2).f_code
    return name.startswith(("CALL", "FOR_ITER")) and (is_converted(code) or is_internal(code.co_filename))


def formats() -> bool:
    """Whether a tensor is asked for a number by `text % values`."""
    name, argument = _instruction()
    return name == "BINARY_MODULO" or (name == "BINARY_OP" and argument == _MODULO)


_MODULO: Final = 6
"""The argument of BINARY_OP for `a % b`."""
_TIMES_IN_PLACE: Final = 18
"""The argument of BINARY_OP for `a *= b`."""
_SUBSCRIPT: Final = 26
"""The argument of BINARY_OP for `a[b]`, from Python 3.14 on."""


def is_in_place() -> bool:
    """Whether a product is asked for by `a *= b`."""
    name, argument = _instruction()
    return name == "INPLACE_MULTIPLY" or (name == "BINARY_OP" and argument == _TIMES_IN_PLACE)


def is_subscript() -> bool:
    """Whether a tensor is asked for an int by a subscript of a container."""
    name, argument = _instruction()
    return name.endswith(("_SUBSCR", "_SLICE")) or (name == "BINARY_OP" and argument == _SUBSCRIPT)


def deletes() -> bool:
    """Whether a tensor is asked for an int by `del a[b]`."""
    return _instruction()[0] == "DELETE_SUBSCR"


def unpacks() -> bool:
    """Whether the items of a tensor are asked for by an assignment to several targets."""
    name, _ = _instruction()
    return name.startswith("UNPACK_")
