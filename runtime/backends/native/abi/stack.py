"""The limit of recursion in native code: an address determined for each thread's stack."""
from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Final

__all__ = ["CREDIT_WORD", "STACK_WORD", "is_known", "stack_limit"]

STACK_WORD: Final = 8  # of the frame: the address below which no function may call a routine
CREDIT_WORD: Final = 9  # of the frame: nanoseconds left until the next poll for signals, over all calls of routines
_KEPT: Final = 1 << 19  # bytes for code that does not check the limit: the last call, Python code and signal handlers
_MOST: Final = 1 << 30  # bytes: a stack may be unlimited
_ATTRIBUTES: Final = 256  # bytes that `pthread_attr_t` has at most


class _Limit(threading.local):
    """Of the running thread."""

    address = 0


_limit: Final = _Limit()


def stack_limit() -> int:
    """The limit address to store in the frame of a call on this thread."""
    if not _limit.address:
        low, size = _stack()
        top, size = low + size, min(size, _MOST)
        _limit.address = top - size + min(_KEPT, size // 2)
    return _limit.address


def _stack() -> tuple[int, int]:
    """The lowest address of this thread's stack, and its size."""
    c = ctypes.pythonapi  # the process itself, with the C library
    c.pthread_self.restype = ctypes.c_void_p
    thread = ctypes.c_void_p(c.pthread_self())
    if sys.platform == "darwin":
        c.pthread_get_stackaddr_np.restype, c.pthread_get_stacksize_np.restype = ctypes.c_void_p, ctypes.c_size_t
        size = int(c.pthread_get_stacksize_np(thread))
        return int(c.pthread_get_stackaddr_np(thread)) - size, size
    attributes = ctypes.create_string_buffer(_ATTRIBUTES)
    code = c.pthread_getattr_np(thread, attributes)
    if code:
        raise OSError(code, "the stack of this thread is not known: pthread_getattr_np failed")
    address, length = ctypes.c_void_p(), ctypes.c_size_t()
    c.pthread_attr_getstack(attributes, ctypes.byref(address), ctypes.byref(length))
    c.pthread_attr_destroy(attributes)
    return int(address.value or 0), int(length.value)


def is_known() -> bool:
    """Whether the system tells the bounds of a thread's stack."""
    if sys.platform == "darwin":
        return True
    return hasattr(ctypes.pythonapi, "pthread_getattr_np") and os.path.exists("/proc/self/maps")
