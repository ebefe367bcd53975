"""How the calling code uses a tensor, by its bytecode: for errors that name the remedy, and for `a *= b`.

Each function serves one method of a tensor, which Python calls for that code.
"""
from __future__ import annotations

import dis
import sys
from types import FrameType
from typing import Final

from autograph.backend import is_converted, is_internal

__all__ = [
    "calls_native_code", "compares_containers", "deletes", "formats", "is_in_place", "is_subscript", "property_getter",
    "unpacks",
]


def _compiled(text: str) -> tuple[str, int]:
    """The instruction, with its argument, that this interpreter uses for the operator in `text`."""
    return next((each.opname, each.arg or 0) for each in dis.get_instructions(compile(text, "<operator>", "exec"))
                if each.opname.startswith(("BINARY_", "COMPARE_", "INPLACE_")))


_MODULO: Final = _compiled("a % b")
_TIMES_IN_PLACE: Final = _compiled("a *= b")
_SUBSCRIPT: Final = _compiled("a[b]")
_TESTED: Final = _compiled("if a == b: pass")[1] ^ _compiled("a == b")[1]
"""The bit of a comparison's argument which says that the result is tested as well (from Python 3.13 on)."""


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
    """Whether a comparison of containers asks for the truth of a tensor."""
    name, argument = _instruction()
    return name == "COMPARE_OP" and not argument & _TESTED


def calls_native_code() -> bool:
    """Whether a C function or iterator used by converted code asks for the truth of a tensor."""
    name, _ = _instruction()
    code = sys._getframe(2).f_code
    return name.startswith(("CALL", "PRECALL", "FOR_ITER")) and (is_converted(code) or is_internal(code.co_filename))


def formats() -> bool:
    """Whether `text % values` asks a tensor for a number."""
    return _instruction() == _MODULO


def is_in_place() -> bool:
    """Whether `a *= b` asks for a product."""
    return _instruction() == _TIMES_IN_PLACE


def is_subscript() -> bool:
    """Whether a subscript of a container asks a tensor for an int."""
    found = _instruction()
    return found[0].endswith(("_SUBSCR", "_SLICE")) or found == _SUBSCRIPT


def deletes() -> bool:
    """Whether `del a[b]` asks a tensor for an int."""
    return _instruction()[0] == "DELETE_SUBSCR"


def unpacks() -> bool:
    """Whether an assignment to several targets asks for the items of a tensor."""
    name, _ = _instruction()
    return name.startswith("UNPACK_")
