"""Other names of a list that became a staged list.

Python's variables refer to objects, so a list that a function was given and appends to grows for its caller too.
Where such a list becomes a staged one, which is another object, every variable of the code that is being traced
that refers to the list is made to refer to the staged list.
"""
from __future__ import annotations

import ctypes
import sys
from types import FrameType
from typing import Any

from autograph.frames import is_internal
from runtime.bodies import trace_function

__all__ = ["replace_aliases"]


def replace_aliases(old: Any, new: Any) -> None:
    """Let the variables that refer to `old`, in the user's frames of the function being traced, refer to `new`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not trace_function.__code__:
        if not is_internal(frame.f_code.co_filename):
            variables = frame.f_locals
            names = [name for name, value in variables.items() if value is old]
            for name in names:
                variables[name] = new
            if names and sys.version_info < (3, 13):  # from 3.13 on the line above has done it (PEP 667)
                ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
        frame = frame.f_back
