"""The elements of an array as a list of eager tensors, made natively: Python would take 200 ns for each.

The tensors hold NumPy scalars, or rows of the array. They are not tracked by the garbage collector, which would go
through all of them again and again while the list grows: arrays and scalars refer to no tensor, so none is in a cycle.
"""
from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from runtime.backends.native.jit.fast_call import ARRAY, ITEMS_OF_LIST, TENSOR, is_possible, words_of
from runtime.backends.native.llvm.builder import Builder, Module, Val, const
from runtime.core.tensor import EagerTensor

__all__ = ["UNSTACK", "Make", "can_unstack", "define_unstack", "unstacked", "wrapped"]

Make = Callable[[int, int, int, Any], list[EagerTensor]]  # `runtime_unstack`

UNSTACK: Final = "runtime_unstack"
_HEAD: Final = object.__basicsize__
_NUMBERS: Final = "bBhHiIlLqQefdFD"
"""The codes of dtypes whose scalar objects consist of a header and the number. Those of bool are singletons."""
_HAS_GC: Final = 1 << 14  # of `tp_flags`


@functools.lru_cache(maxsize=1)
def can_unstack() -> bool:
    """Whether the structures of CPython and NumPy have the layout that native code expects."""
    return is_possible() and all(map(_is_as_expected, _NUMBERS))


def _is_as_expected(code: str) -> bool:
    number = np.dtype(code).type(77)
    width = _width(type(number))
    stored = ctypes.string_at(id(number) + _HEAD, 8 * width)[:number.nbytes]
    return not type(number).__flags__ & _HAS_GC and width == -(-number.nbytes // 8) and stored == number.tobytes()


def _width(cls: type[Any]) -> int:
    return (cls.__basicsize__ - _HEAD) // 8


def wrapped(make: Make, arrays: list[Any]) -> list[EagerTensor]:
    """Tensors of read-only arrays and NumPy scalars."""
    return make(words_of(arrays, ITEMS_OF_LIST + 8)[-1], 0, len(arrays), np.generic)


def unstacked(make: Make, array: Any) -> list[EagerTensor]:
    """The elements along the first axis of a read-only array, which is not of strings."""
    if array.ndim > 1 or array.dtype.char not in _NUMBERS:
        return wrapped(make, list(array))
    size, width = array.itemsize, _width(array.dtype.type)
    words = np.ascontiguousarray(array)
    if size < 8:
        words = words.view(f"u{size}").astype(np.uint64)
    return make(words.ctypes.data, width, len(array), array.dtype.type)


def define_unstack(module: Module) -> None:
    """`ptr runtime_unstack(words, width, count, class)`: a list of tensors, each of a new scalar of the class with
    `width` words; for width 0 the words are addresses of arrays or scalars."""
    for name, result, *types in (
            ("PyList_New", "ptr", "i64"), ("_PyObject_New", "ptr", "ptr"), ("_PyObject_GC_New", "ptr", "ptr"),
            ("Py_IncRef", "void", "ptr"), ("Py_DecRef", "void", "ptr")):
        module.declare(name, result, *types)
    module.globals[TENSOR] = "external global i8"
    module.define(UNSTACK, "ptr", ["ptr", "i64", "i64", "ptr"], _unstack, "nounwind", linkage="")


def _unstack(b: Builder, words: Val, width: Val, count: Val, cls: Val) -> Val:
    zero, null = const("i64", 0), Val("ptr", "null")

    def need(made: Val, *others: Val) -> None:
        """If an allocation failed, release the `others` and raise."""
        with b.when(b.icmp("eq", made, null)):
            for other in others:
                b.call("void", "Py_DecRef", other)
            b.line("ret ptr null")

    found = b.call("ptr", "PyList_New", count)
    need(found)
    items = b.load("ptr", b.offset(found, ITEMS_OF_LIST, "i8"))
    with b.loop(zero, count) as k:
        def scalar() -> list[Val]:
            x = b.call("ptr", "_PyObject_New", cls)
            need(x, found)
            source, target = b.offset(words, b.mul(k, width), "i64"), b.offset(x, _HEAD, "i8")
            with b.loop(zero, width) as j:
                b.store(b.load("i64", b.offset(source, j, "i64")), b.offset(target, j, "i64"))
            return [x]

        def existing() -> list[Val]:
            x = b.load("ptr", b.offset(words, k, "i64"))
            b.call("void", "Py_IncRef", x)
            return [x]

        (x,) = b.either(b.icmp("ne", width, zero), scalar, existing)
        tensor = b.call("ptr", "_PyObject_GC_New", Val("ptr", f"@{TENSOR}"))
        need(tensor, x, found)
        for place in range(_HEAD, EagerTensor.__basicsize__, 8):
            b.store(x if place == ARRAY else null, b.offset(tensor, place, "i8"))
        b.store(tensor, b.offset(items, k, "ptr"))
    return found
