"""Calls with NumPy arrays that a known trace serves, without the general path.

A call is recognised by the dtypes, shapes and memory layouts of its arguments, all of which are arrays, or tensors.
Arrays must be writable, aligned, in C order and in the machine's order of bytes, and share no memory. The trace must
change nothing but arrays, in their own memory, so that nothing remains to be done after the graph, also if it raises.
"""
from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from runtime.core.tensor import EagerTensor
from runtime.function.concrete import ConcreteFunction
from runtime.function.signature import Call

__all__ = ["ArrayCalls"]

_ORDER: Final = 0x0003  # NumPy's flags: in C order, in Fortran's
_PLAIN: Final = 0x0001 | 0x0100 | 0x0400  # in C order, aligned, writable
_MOST: Final = 64
"""Traces of one function to remember, by these keys."""


class ArrayCalls(dict[Hashable, ConcreteFunction]):
    """By the kinds of their arguments, the traces of calls of a function."""

    def find(self, args: Sequence[Any]) -> tuple[ConcreteFunction, list[Any]] | None:
        """The trace for a call, and the arrays to run it with; None if the call has to take the general path."""
        key = _key(args)
        found = None if key is None else self.get(key)
        if found is None or not (found.guards is None or found.guards.hold()):
            return None
        changed = found.overwritten_places
        return found, [x._array if type(x) is EagerTensor else x.view() if k in changed else x
                       for k, x in enumerate(args)]

    def remember(self, args: Sequence[Any], call: Call, concrete: ConcreteFunction) -> None:
        """Note that a trace has served a call, if it can serve such calls without the general path."""
        if not (concrete.serves_arrays and call.twins is None and len(args) == len(call.leaves)):
            return
        key = _key(args)
        if key is not None:
            if len(self) >= _MOST:
                self.clear()
            self[key] = concrete


def _key(args: Sequence[Any]) -> Hashable | None:
    """The kinds of the arguments of a call; None if these are not as they must be."""
    key: list[Any] = []
    arrays: list[Any] = []
    share = np.may_share_memory
    for x in args:
        if type(x) is EagerTensor:
            key += x._array.dtype, x._array.shape
            continue
        if type(x) is not np.ndarray:
            return None
        flags, dtype = x.flags.num, x.dtype
        if flags & _PLAIN != _PLAIN or not dtype.isnative:
            return None
        for other in arrays:
            if share(x, other):
                return None
        arrays.append(x)
        key += dtype, x.shape, x.strides, flags & _ORDER
    return tuple(key)
