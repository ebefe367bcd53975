"""The table of the traces that native code can find by the arguments of a call (`fast_call.py` describes its words).

The table is part of a function's `_front`, a tuple that keeps alive everything the table refers to. It is immutable: an
update replaces it, and native code holds a reference to the tuple that it found until the body has run.
"""
from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np

from runtime.backends.executable import Returned
from runtime.backends.native.jit.fast_call import (
    CALLS,
    CELL,
    FACTOR,
    ITEMS_OF_LIST,
    KEY,
    MASK,
    MOST_ARGUMENTS,
    MOST_TAKEN,
    MOST_WORDS,
    OF_ARRAY,
    OF_CELL,
    OF_DICT,
    OF_OBJECT,
    PLACES,
    RESULT,
    RESULTS,
    VALUES,
    kind_of,
    words_of,
)
from runtime.backends.native.jit.tuple_results import MOST_RESULTS, described
from runtime.core.tensor import EagerTensor
from runtime.core.types import TensorType, Type

__all__ = ["Body", "Findable"]

_MOST_KEPT: Final = 1024  # bytes of a result whose array is reused: NumPy also caches small memory


class Body(NamedTuple):
    """The code of a graph whose arguments and results are arrays, and that calls Python only to raise."""

    address: int
    frame: int
    is_long: bool  # whether a call may take long
    outputs: Sequence[int | None]  # the inputs whose memory they occupy; None: a new array
    results: Sequence[TensorType]  # the types of the new arrays, which tensors are made of
    returned: Returned  # what a call returns
    failed: Callable[[int], None]  # raises the error of a call, by its status; if it does not, Python repeats the call
    idle: list[Any]  # the frames of calls by Python, whose memory native code does not use
    keeps_alive: Any  # objects that must live while the code can run


class Findable:
    """A trace that native code can find: to run its body if it has one, else to call a function."""

    __slots__ = ("_body", "_types")

    def __init__(self, types: Sequence[Type], body: Body | None) -> None:
        self._types = types
        self._body = body

    def known(
        self, front: tuple[Any, ...], calls: array[int], used: array[int], args: Sequence[Any], inputs: Sequence[bool],
        run: Callable[..., Any], items: Sequence[tuple[Any, Any, Any]] | None = (),
    ) -> tuple[Any, ...]:
        """See `runtime.backends.executable.Findable`."""
        kind = _Kind(args, inputs, self._types)
        if len(args) > MOST_ARGUMENTS or len(kind.key) > MOST_WORDS:
            return front
        entries = [entry for entry in (front[2] if front else ()) if not entry.kind.differs_in_use(kind)]
        if any(entry.kind.key == kind.key for entry in entries):
            return front
        body = None if items is None else self._body
        looked_at = np.array([(OF_CELL, 0, id(at) + CELL, id(expected)) if within is None else
                              (OF_DICT if isinstance(within, dict) else OF_OBJECT, id(within), id(at), id(expected))
                              for within, at, expected in items or ()], np.int64)
        head = [len(kind.key), used.buffer_info()[0], 0, id(run), *[0] * 9]
        taken: list[int] = []
        new = _NewArrays((), Returned(0))
        if body is not None:
            new = _NewArrays(body.results, body.returned)
            places = count(RESULTS if body.returned.in_tuple else RESULT)
            taken = [*kind.taken, *(next(places) if place is None else kind.places[place] for place in body.outputs)]
            if len(taken) > MOST_TAKEN or len(body.results) > MOST_RESULTS:
                return front
            returned = 0 if body.results else id(body.returned.value)
            body.idle.clear()
            head[2:] = (body.address, body.frame, 0, body.is_long, id(body.failed), returned, *new.single)
        words = np.array([*head[:12], len(taken), looked_at.ctypes.data, len(looked_at), len(kind.arrays) // 2,
                          *new.in_tuple, *kind.key, *taken, *new.shape, *kind.arrays], np.int64)
        entry = _Entry(kind, words, self, used, new.kept, (items, looked_at, run, new))
        if front and len(entries) == len(front[2]) and 2 * (len(entries) + 1) < len(front[0]) - PLACES:
            table = front[0].copy()
            _put(table, entry)
            return table, calls, (*entries, entry)
        return _front(calls, (*entries, entry))

    def forgotten(self, front: tuple[Any, ...]) -> tuple[Any, ...]:
        """See `runtime.backends.executable.Findable`."""
        return front and _front(front[1], tuple([entry for entry in front[2] if entry.trace is not self]))


class _NewArrays:
    """What an entry has of the new arrays of a body.

    single    the dtype, rank and flags of the only one that is not in a tuple, and the address of the kept ones
    shape     its dimensions and strides
    in_tuple  the number of those in a tuple, and the address of their description
    kept      the arrays of the last two results, the older one first
    """

    def __init__(self, types: Sequence[TensorType], returned: Returned) -> None:
        self.single, self.in_tuple = (0, 0, 0, 0), (0, 0)
        self.shape: tuple[int, ...] = ()
        self.kept: list[Any] = []
        if returned.in_tuple:
            self.words = described(types)
            self.in_tuple = len(types), self.words.ctypes.data
        elif types:
            made: Any = np.empty(types[0].shape, types[0].dtype.np)
            made.flags.writeable = False
            if made.nbytes <= _MOST_KEPT:
                self.kept = [None, None]
            kept = words_of(self.kept, ITEMS_OF_LIST + 8)[-1]
            self.single = id(types[0].dtype.np), made.ndim, made.flags.num, kept
            self.shape = *made.shape, *made.strides


class _Kind:
    """What native code compares of the arguments of a call, and where it finds them.

    key       the words to compare
    values    a bit for each number whose value is in the key
    staged    a bit for each number whose value is not in it
    places    by input of the graph, the index of its address
    taken     the indices of the words for a body: addresses and unknown sizes
    arrays    of each array of the caller's: the number of the argument, and its size in bytes
    objects   those whose addresses are in the key, kept alive
    """

    def __init__(self, args: Sequence[Any], inputs: Sequence[bool], types: Sequence[Type]) -> None:
        self.key: list[int] = []
        self.values = self.staged = 0
        self.places: list[int] = []
        self.taken: list[int] = []
        self.arrays: list[int] = []
        self.objects: list[Any] = []
        rest = iter(types)
        for k, (x, is_input) in enumerate(zip(args, inputs, strict=True)):
            kind = type(x)
            if is_input:
                self.places.append(k)
                self.taken.append(k)
            if kind is EagerTensor or kind is np.ndarray:
                type_of = next(rest)
                assert isinstance(type_of, TensorType)
                data = x._array if kind is EagerTensor else x
                if data is x:
                    self.arrays += k, x.nbytes
                self.key.append(kind_of(data.dtype) | data.ndim << 24 | (OF_ARRAY if data is x else 0))
                first = KEY + len(self.key)
                self.taken += [first + axis for axis, size in enumerate(type_of.shape) if size is None]
                self.key += data.shape
            elif kind is float or kind is int:
                self.key.append(id(kind))
                if is_input:
                    next(rest)
                    self.staged |= 1 << k
                else:
                    self.values |= 1 << k
                    self.key.append(x if kind is int else struct.unpack("q", struct.pack("d", x))[0])
            else:
                self.key.append(id(x))
                self.objects.append(x)

    def differs_in_use(self, other: _Kind) -> bool:
        """Whether the value of a number is in one key, and not in the other."""
        return bool(self.values & other.staged or self.staged & other.values)

    def first_slot(self) -> int:
        """The first slot to try, before probing the next ones."""
        place = 0
        for word in self.key:
            place = (place ^ word) * FACTOR & (1 << 64) - 1
        return place >> 32


class _Entry(NamedTuple):
    kind: _Kind
    words: Any
    trace: Findable
    used: array[int]
    kept: list[Any]  # the arrays of the last two results, the older one first
    others: Any  # the guards, the function to call, and the description of a tuple, kept alive


def _front(calls: array[int], entries: tuple[_Entry, ...]) -> tuple[Any, ...]:
    size = 2 << (2 * len(entries)).bit_length()
    table = np.zeros(PLACES + size, np.int64)
    table[CALLS], table[MASK] = calls.buffer_info()[0], size - 1
    for entry in entries:
        _put(table, entry)
    return table, calls, entries


def _put(table: Any, entry: _Entry) -> None:
    place, mask = entry.kind.first_slot(), int(table[MASK])
    while table[PLACES + (place & mask)]:
        place += 1
    table[PLACES + (place & mask)] = entry.words.ctypes.data
    table[VALUES] |= entry.kind.values
