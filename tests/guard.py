"""Guard pages: in a process that called `install`, all memory that native code gets lies between pages that nobody may
touch (guard.c): arrays of NumPy (inputs, constants, variables, outputs, results of kernels) and native memory, which
small arrays use here, too, that are on the stack otherwise. Whatever reads or writes beside them, or after they were
freed, ends the process; what reads fresh memory finds a pattern.

It cannot be undone, and must come before the first native call: use a process of its own.
"""
from __future__ import annotations

import ctypes
import faulthandler
import functools
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["available", "install"]

_SOURCE = Path(__file__).with_suffix(".c")


def available() -> bool:
    """Whether this machine can compile the allocator."""
    return sysconfig.get_platform().startswith("linux") and shutil.which("cc") is not None


@functools.lru_cache(maxsize=1)
def _library() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "guard.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-pthread", "-o", target, _SOURCE], check=True)
        return ctypes.CDLL(str(target))


class _Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")]


class _Handler(ctypes.Structure):  # PyDataMem_Handler of NumPy's C API
    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator)]


_SET_HANDLER = 304  # of NumPy's table of functions: PyDataMem_SetHandler
_kept: list[Any] = []


def _address(name: str) -> int:
    found = ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value
    assert found is not None
    return found


def _guard_numpy() -> None:
    handler = _Handler(b"guard", 1, _Allocator(None, *[
        _address(f"guard_{name}") for name in ("malloc", "calloc", "realloc", "free")]))
    python = ctypes.pythonapi
    python.PyCapsule_New.restype = ctypes.py_object
    python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = python.PyCapsule_New(ctypes.addressof(handler), b"mem_handler", None)
    table = python.PyCapsule_GetPointer(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    functions = (ctypes.c_void_p * (_SET_HANDLER + 1)).from_address(table)
    ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[_SET_HANDLER])(capsule)
    _kept.extend([handler, capsule])
    assert np._core.multiarray.get_handler_name() == "guard"


def _fresh(native: Any) -> Any:
    """A frame of its own for each call, so that memory has no room from calls before."""
    from runtime.backends.native.jit.executor import Frame
    native.frames.clear()
    return Frame(native.lowering.slots, native.addresses.ctypes.data)


def install(at_start: bool = False, most: int = 1 << 26, address_space: int = 6 << 30) -> None:
    """Guard the memory of this process. `at_start`: blocks begin right after an unreadable page, else they end right
    before one. `most`: the bytes of the largest block that there is memory for; the rest of the process may use
    `address_space` bytes."""
    faulthandler.enable()
    _library().guard_configure(ctypes.c_int(at_start), ctypes.c_size_t(most))
    _guard_numpy()
    from runtime.backends.native.abi import allocator
    from runtime.backends.native.jit import compile
    llvm: Any = compile.llvm
    for name, mine in ((allocator.GROW, "guard_grow"), (allocator.EXTEND, "guard_extend"),
                       (allocator.RETREAT, "guard_retreat"), (allocator.RELEASE, "guard_release")):
        llvm.add_symbol(name, _address(mine))
    for count in range(allocator.MOST_FACTORS + 1):
        llvm.add_symbol(f"{allocator.RESERVE}{count or ''}", _address(f"guard_reserve{count}"))
    from runtime.backends.native.codegen import context
    from runtime.backends.native.jit import executor
    free: Any = executor._free
    executor._free = type(free)(_address("guard_release"))  # type: ignore[misc]
    context._STACK = -1  # type: ignore[misc]
    executor.Native.frame = _fresh  # type: ignore[method-assign]
    resource.setrlimit(resource.RLIMIT_AS, (address_space, resource.RLIM_INFINITY))


def main(options: list[str]) -> int:
    """`python tests/guard.py native/kernels/test_native_ops.py -q`: tests with guarded memory. GUARD=start: see
    `at_start`."""
    install(at_start=os.environ.get("GUARD") == "start", most=1 << 31, address_space=16 << 30)
    import pytest
    return int(pytest.main(options))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main(sys.argv[1:]))
