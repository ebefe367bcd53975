"""From the text of a module to machine code in this process: LLVM's optimiser and code generator, through llvmlite."""
from __future__ import annotations

import ctypes
import functools
import os
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm

from runtime.backends.native.abi import thread_pool
from runtime.backends.native.abi.allocator import MEMORY
from runtime.backends.native.abi.blas import blas_symbols
from runtime.backends.native.abi.interruptible import close_after, run_off_main_thread, step
from runtime.backends.native.abi.interrupts import SIGNAL_SYMBOLS
from runtime.backends.native.jit import object_cache
from runtime.backends.native.jit.call_abi import ENTRY, SYMBOLS
from runtime.backends.native.jit.fast_call import FRONT_SYMBOLS
from runtime.backends.native.jit.support_module import SUPPORT, support_text
from runtime.backends.native.jit.vectorized_parts import divided
from runtime.backends.native.kernels.matmul.gemm import BY_BLAS, by_blas_text
from runtime.backends.native.kernels.matmul.microkernel import FUNCTIONS, function_text
from runtime.backends.native.llvm.builder import BY_ITEMS, PARALLEL, Module
from runtime.core.config import allocated_memory, settings

__all__ = ["Code", "address_of", "has_fma", "target", "vector_bits"]


@functools.lru_cache(maxsize=1)
def _host() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    for name, address in {**SYMBOLS, **SIGNAL_SYMBOLS, **FRONT_SYMBOLS, **blas_symbols()}.items():
        llvm.add_symbol(name, address)
    found = llvm.Target.from_default_triple()
    if found.triple.startswith("x86"):
        # Else LLVM may make a branch of a maximum that the next iteration depends on, as in dynamic programming, where
        # data decide it, so that it is mispredicted. It holds for all users of llvmlite in the process.
        llvm.set_option("", "-x86-cmov-converter=false")
    # It stays: an interrupt that ends the import of this module would let the main thread free it, and lose another one
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(found))
    return found


def target(level: int | None = None) -> Any:
    """The target machine, which is this one. Each engine owns one."""
    return _host().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features(), opt=settings.llvm_level if level is None else level,
        codemodel="jitdefault", jit=True)


@functools.lru_cache(maxsize=1)
def features() -> str:
    return run_off_main_thread(lambda: str(llvm.get_host_cpu_features().flatten()))


@functools.lru_cache(maxsize=1)
def has_fma() -> bool:
    return "+fma" in features().split(",") or not run_off_main_thread(llvm.get_default_triple).startswith("x86")


@functools.lru_cache(maxsize=1)
def vector_bits() -> int:
    """The width of this machine's vector registers."""
    known = features().split(",")
    return 512 if "+avx512f" in known else 256 if "+avx2" in known else 128


class _MethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


class Code:
    """Machine code of a module, loaded from the cache or compiled now. `function` is the callable for CPython, `body`
    the address of the code that it calls.

    `describe` returns the words for `runtime_call`, given the address of the module's `body`.
    """

    __slots__ = ("__weakref__", "body", "cached", "function", "text")

    def __init__(self, text: str, describe: Callable[[int], Any]) -> None:
        self.text = text

        def made() -> tuple[int, bool]:
            _support()  # not on the main thread, where an interrupt would leave LLVM's objects
            level = _level_of(text)
            key = object_cache.key_of(text, llvm.get_host_cpu_name(), features(), llvmlite.__version__, str(level))
            known = object_cache.load(key)
            for name in FUNCTIONS:
                if name in text:
                    _packed(name)
            for name in BY_BLAS:
                if name in text:
                    _shared(name, by_blas_text(name, Module(has_fma(), vector_bits())))
            engine = _engine_of(text, level, known, functools.partial(object_cache.save, key))
            close_after(self, engine)
            return engine.get_function_address("body"), known is not None

        self.body, self.cached = run_off_main_thread(made)
        words = describe(self.body)
        self.function = _new_function(ctypes.byref(_support()), id(words), None)

    def optimized(self) -> tuple[str, str]:
        """The optimised LLVM IR of the module, and the assembly."""
        def made() -> tuple[str, str]:
            level = _level_of(self.text)
            machine = target(level)
            module = (optimized if level else parsed)(self.text, machine)
            return str(module), str(machine.emit_assembly(module))

        return run_off_main_thread(made)


def _engine_of(
    text: str, level: int, known: bytes | None = None, save: Callable[[bytes], None] | None = None
) -> Any:
    """An engine with the machine code of a module: `known`, from the cache, or compiled now and passed to `save`. At
    level 0 nothing is optimised."""
    machine = target(level)
    if known is not None:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(known))
    else:
        module = optimized(text, machine) if level else parsed(text, machine)
        step()
        engine = llvm.create_mcjit_compiler(module, machine)
        if save is not None:
            engine.set_object_cache(lambda _, code: save(code))
    engine.finalize_object()
    return engine


_addresses: Final[dict[str, int]] = {}


@functools.lru_cache(maxsize=1)
def _support() -> _MethodDef:
    """The function that CPython calls. Also registers the support functions by name, for modules compiled later."""
    _host()
    llvm.add_symbol(thread_pool.STATE, thread_pool.state.ctypes.data)
    llvm.add_symbol(MEMORY, allocated_memory.ctypes.data)
    engine = _engine_of(support_text(), 0)
    for name in SUPPORT:
        _addresses[name] = engine.get_function_address(name)
        llvm.add_symbol(name, _addresses[name])
    reset = ctypes.CFUNCTYPE(None)(engine.get_function_address(thread_pool.RESET))
    reset()
    os.register_at_fork(after_in_child=reset)
    entry = _MethodDef(b"call", engine.get_function_address(ENTRY), _METH_FASTCALL, None)
    engine.detach()  # kept for ever: threads sleep in it
    return entry


@functools.cache
def _packed(name: str) -> None:
    """Compile a function for large products and register it by name, for modules compiled later."""
    _shared(name, function_text(name, Module(has_fma(), vector_bits())))


_texts: Final[dict[str, str]] = {}


def _shared(name: str, text: str) -> None:
    """Register the function in a module by name, for modules compiled later: compiled now, unless it was before."""
    if _texts.get(name) == text:
        return
    key = object_cache.key_of(text, llvm.get_host_cpu_name(), features(), llvmlite.__version__, "0")
    engine = _engine_of(text, 0, object_cache.load(key), functools.partial(object_cache.save, key))
    llvm.add_symbol(name, engine.get_function_address(name))
    engine.detach()  # kept for ever, like the code that may call it
    _texts[name] = text


def parsed(text: str, machine: Any) -> Any:
    module = llvm.parse_assembly(text)
    module.verify()
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def address_of(name: str) -> int:
    """The address of a function of `SUPPORT`."""
    return _addresses[name]


def optimized(text: str, machine: Any) -> Any:
    """The module, optimised by LLVM."""
    two = divided(text) if not text.startswith(BY_ITEMS) and _has_passes() and PARALLEL in text else None
    module = parsed(text if two is None else two.rest, machine)
    step()
    if two is None:
        _optimize(module, machine, text)
    else:
        part = parsed(two.vectorized, machine)
        _vectorize(part, machine, text)
        step()
        _run(module, _pass_builder(machine), *_PASSES)
        module.link_in(part)
    try:
        module.verify()
    except RuntimeError:  # LLVM 22's SROA merges stores in descending address order before the last value is computed
        module = parsed(text, machine)
        _run(module, _pass_builder(machine), *[name for name in _PASSES if name != "sroa"])
    return module


def _level_of(text: str) -> int:
    """The optimisation level for a module. Code without loops is as fast (within 3 %) unoptimised, in half the compile
    time."""
    return settings.llvm_level if has_loops(text) else 0


def has_loops(text: str) -> bool:
    """Whether code may run more than once in a call: there is a back edge, or a function that is not just called once,
    as outlined parts are."""
    labels: set[str] = set()
    for line in text.splitlines():
        if line.endswith(":"):
            labels.add(line[:-1])
        elif line.startswith("define "):
            labels.clear()
        elif line.startswith("  br ") and not labels.isdisjoint(_TARGET.findall(line)):
            return True
    if text.count("define ") == 1:
        return False
    uses, calls = Counter(_NAME.findall(text)), Counter(_CALLED.findall(text))
    return any(uses[name] > 1 + calls[name] or calls[name] > 1 for name in _DEFINED.findall(text))


_TARGET: Final = re.compile(r"label %([\w.]+)")
_DEFINED: Final = re.compile(r"^define [^@\n]*@([\w.]+)\(", re.MULTILINE)
_CALLED: Final = re.compile(r" call [^@\n]*@([\w.]+)\(")
_NAME: Final = re.compile(r"@([\w.]+)")


def _has_passes() -> bool:
    """Whether passes can be chosen individually: with llvmlite 0.45 and later."""
    return hasattr(llvm.create_new_module_pass_manager(), "add_sroa_pass")


def _optimize(module: Any, machine: Any, text: str) -> None:
    """Run LLVM's passes: those of `clang -O2` where loops index arrays item by item; those of `clang -O1` and the
    vectoriser where kernels wrote loops that need it; else only a few."""
    if text.startswith(BY_ITEMS) or not _has_passes():
        builder = _pass_builder(machine)
        builder.getModulePassManager().run(module, builder)
    elif PARALLEL not in text:
        _run(module, _pass_builder(machine), *_PASSES)
    else:
        _vectorize(module, machine, text)


def _vectorize(module: Any, machine: Any, text: str) -> None:
    """Run the passes of `clang -O1` and the vectoriser: more take twice the time, and gain nothing."""
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.loop_interleaving = True
    options.loop_unrolling = text.count("\n") <= _UNROLLED
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _pass_builder(machine: Any) -> Any:
    return llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=settings.llvm_level))


def _run(module: Any, builder: Any, *names: str) -> None:
    passes = llvm.create_new_module_pass_manager()
    for name in names:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)


_UNROLLED: Final = 2_000
"""Lines of text up to which short loops are unrolled."""
_PASSES: Final = ("always_inliner", "instruction_combine", "sroa", "simplify_cfg", "dead_store_elimination")


_METH_FASTCALL: Final = 0x0080
_new_function: Final = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]

run_off_main_thread(_support)  # at import, not in the first call of a function
