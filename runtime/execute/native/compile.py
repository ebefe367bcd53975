"""From the text of a module to machine code in this process: LLVM's optimiser and code generator, through llvmlite."""
from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from runtime.execute.native import cache
from runtime.execute.native.products import blas_symbols

__all__ = ["Code", "has_fma", "target", "vector_bits"]

_LEVEL: Final = 3
_lock: Final = threading.RLock()  # LLVM's global state


@functools.lru_cache(maxsize=1)
def _host() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.add_symbol("PyArray_Type_", id(np.ndarray))
    for name, address in blas_symbols().items():
        llvm.add_symbol(name, address)
    return llvm.Target.from_default_triple()


def target() -> Any:
    """The machine that code is made for: this one. Each engine takes one for its own."""
    return _host().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features(), opt=_LEVEL, codemodel="jitdefault", jit=True)


@functools.lru_cache(maxsize=1)
def features() -> str:
    return str(llvm.get_host_cpu_features().flatten())


@functools.lru_cache(maxsize=1)
def has_fma() -> bool:
    return "+fma" in features().split(",") or not llvm.get_default_triple().startswith("x86")


@functools.lru_cache(maxsize=1)
def vector_bits() -> int:
    """The width of this machine's vector registers."""
    known = features().split(",")
    return 512 if "+avx512f" in known else 256 if "+avx2" in known else 128


class Code:
    """Machine code of a module, from the cache or made now. `function` is the callable that CPython sees."""

    __slots__ = ("_definition", "_engine", "cached", "function", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        key = cache.key_of(text, llvm.get_host_cpu_name(), features(), llvmlite.__version__, str(_LEVEL))
        known = cache.load(key)
        self.cached = known is not None
        with _lock:
            machine = target()
            module = parsed(text, machine)
            if known is None:
                optimize(module, machine)
            engine = llvm.create_mcjit_compiler(module, machine)
            engine.set_object_cache(lambda _, code: cache.save(key, code), lambda _: known)
            engine.finalize_object()
            address = engine.get_function_address("call")
        self._engine = engine
        self._definition = _MethodDef(b"call", address, _METH_FASTCALL, None)
        self.function = _new_function(ctypes.byref(self._definition), None, None)

    def optimized(self) -> tuple[str, str]:
        """The text of the module as LLVM optimised it, and the assembly."""
        with _lock:
            machine = target()
            module = parsed(self.text, machine)
            optimize(module, machine)
            return str(module), str(machine.emit_assembly(module))


def parsed(text: str, machine: Any) -> Any:
    module = llvm.parse_assembly(text)
    module.verify()
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def optimize(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=_LEVEL)
    options.loop_vectorization = True
    options.slp_vectorization = True
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


class _MethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


_METH_FASTCALL: Final = 0x0080
_new_function: Final = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
