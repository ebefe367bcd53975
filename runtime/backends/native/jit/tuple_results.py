"""The results of a call that returns a tuple of tensors, made by native code."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from runtime.backends.native.jit.call_abi import DATA, field, freeze
from runtime.backends.native.llvm.builder import Builder, Module, Val, const
from runtime.core.types import TensorType

__all__ = ["MOST_RESULTS", "TupleResults", "declare_tuples", "described"]

MOST_RESULTS: Final = 16
_WORDS: Final = 3  # of the description of an array: its dtype, its rank, and the address of its dimensions


def described(types: Sequence[TensorType]) -> Any:
    """The words that describe the arrays of a tuple."""
    sizes = np.array([size for type in types for size in type.shape], np.int64)
    words = np.concatenate([np.zeros(_WORDS * len(types), np.int64), sizes])
    place = words.ctypes.data + 8 * _WORDS * len(types)
    for k, type in enumerate(types):
        words[_WORDS * k:_WORDS * (k + 1)] = id(type.dtype.np), type.ndim, place
        place += 8 * type.ndim
    return words


def declare_tuples(module: Module) -> None:
    module.declare("PyTuple_New", "ptr", "i64")
    module.declare("PyTuple_SetItem", "i32", "ptr", "i64", "ptr")


class TupleResults:
    """`count` arrays, as `words` describe them; none for a call that returns no tuple. `new` makes an array of a dtype,
    rank and dimensions, and `tensor` the tensor of an array, whose reference it takes; or null."""

    def __init__(self, b: Builder, count: Val, words: Val, new: Callable[[Val, Val, Val], Val],
                 tensor: Callable[[Val], Val]) -> None:
        self.b, self.count, self.words, self.new, self.tensor = b, count, words, new, tensor
        self.arrays = b.alloca("ptr", MOST_RESULTS)

    def make(self, addresses: Val, leave: Callable[[Val], None]) -> None:
        """Make the arrays, and store the addresses of their data."""
        b, null = self.b, Val("ptr", "null")
        with b.loop(const("i64", 0), self.count) as k:
            place = b.offset(self.words, b.mul(k, const("i64", _WORDS)), "i64")
            dtype, dims = (b.load("ptr", b.offset(place, i, "i64")) for i in (0, 2))
            made = self.new(dtype, b.load("i64", b.offset(place, 1, "i64")), dims)
            with b.when(b.icmp("eq", made, null)):
                self.drop(k)
                leave(null)
            b.store(made, b.offset(self.arrays, k, "ptr"))
            b.store(field(b, made, DATA, "i64"), b.offset(addresses, k, "i64"))

    def drop(self, count: Val | None = None) -> None:
        """Free the arrays, or the first `count` of them."""
        with self.b.loop(const("i64", 0), self.count if count is None else count) as k:
            self.b.call("void", "Py_DecRef", self.b.load("ptr", self.b.offset(self.arrays, k, "ptr")))

    def deliver(self, leave: Callable[[Val], None]) -> None:
        """Leave with the tuple, or with null if there is no memory for all of it."""
        b, null = self.b, Val("ptr", "null")
        result = b.call("ptr", "PyTuple_New", self.count)
        with b.when(b.icmp("eq", result, null)):
            self.drop()
            leave(null)

        def put(k: Val, state: Sequence[Val]) -> list[Val]:
            array = b.load("ptr", b.offset(self.arrays, k, "ptr"))
            freeze(b, array)
            tensor = self.tensor(array)
            b.call("i32", "PyTuple_SetItem", result, k, tensor)
            return [b.or_(state[0], b.icmp("eq", tensor, null))]

        (fails,) = b.folded(const("i64", 0), self.count, [const("i1", 0)], put)
        with b.when(fails):
            b.call("void", "Py_DecRef", result)
            leave(null)
        leave(result)
