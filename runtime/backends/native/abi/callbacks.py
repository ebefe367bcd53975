"""Calls from native code to Python: kernels without a lowering, exceptions, lists, memory for outputs.

A `Site` gets the `Call` in progress and the address of words in memory, from which it reads its operands and to which
it writes its results. The results stay alive until the site runs again or the call ends.
"""
from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np

from runtime.backends.numpy import kernel_of
from runtime.core.errors import OutOfMemoryError, locate
from runtime.core.graph import Node
from runtime.core.op import belongs_to_user, better_error
from runtime.core.positions import Position
from runtime.core.routine import Routine
from runtime.core.types import ListType, TensorType, check_room, dtype_of
from runtime.core.variable_bindings import bound

__all__ = [
    "AllocateSite", "ArraySpec", "BoxSite", "Call", "DeliverSite", "FlushSite", "KernelSite", "LeaveSite", "MoveSite",
    "Refusal", "ReloadSite", "Site", "Spec", "StreamSite", "UnboxSite", "new_array", "result_array"]


class Call:
    """The Python side of one call: objects that native code refers to by number, and the exception that ended it."""

    __slots__ = ("call_sites", "error", "kept", "objects")

    def __init__(self, objects: int, call_sites: Sequence[Site]) -> None:
        self.call_sites = call_sites
        self.objects: list[Any] = [None] * objects
        self.kept: dict[Any, Any] = {}
        self.error: BaseException | None = None

    def ask(self, site: int, words: int) -> None:
        """The function that native code calls."""
        self.call_sites[site].run(self, words)


class Site:
    """A callback from native code to Python."""

    def run(self, call: Call, words: int) -> None:
        """Run it. `words`: the address of int64 words, operands first and results last."""
        raise NotImplementedError

    def hand_over(self, call: Call, out: Any, arrays: list[Any], at: int = 0) -> None:
        """Write the address and the sizes of each array from word `at` on, and keep the arrays alive."""
        for array in arrays:
            for word in (array.ctypes.data, *array.shape):
                out[at] = word
                at += 1
        call.kept[self] = arrays


def view(pointer: int, dtype: Any, shape: Sequence[int]) -> Any:
    """An array over memory that native code owns."""
    size = dtype.itemsize
    for dim in shape:
        size *= dim
    if not size:
        return np.zeros(shape, dtype)
    return np.ndarray(shape, dtype, (ctypes.c_char * size).from_address(pointer))


class ArraySpec(NamedTuple):
    """The static properties of an array that words describe by its address and its unknown sizes. `repeated`: all
    elements are equal, and only one is in memory."""

    dtype: Any
    dims: tuple[int | None, ...]
    repeated: bool


Spec = ArraySpec | int
"""The spec of an array, or the number of an object."""


def read(call: Call, words: Any, specs: Sequence[Spec], copied: bool) -> list[Any]:
    """Decode the values that words describe."""
    values = []
    at = 0
    for spec in specs:
        if isinstance(spec, int):
            values.append(call.objects[spec])
            continue
        dtype, dims, repeated = spec
        end = at + 1 + dims.count(None)
        address, *unknown = words[at:end]
        at, sizes = end, iter(unknown)
        shape = [next(sizes) if size is None else size for size in dims]
        array = np.broadcast_to(view(address, dtype, ()), shape) if repeated else view(address, dtype, shape)
        values.append(array[()] if not dims else array.copy() if copied else array)
    return values


def words_at(address: int, count: int) -> Any:
    return (ctypes.c_int64 * max(count, 1)).from_address(address)


def _size(specs: Sequence[Spec]) -> int:
    return sum(0 if isinstance(spec, int) else 1 + spec.dims.count(None) for spec in specs)


def result_array(x: Any, dtype: Any) -> Any:
    """A result of a kernel as an array in C order that owns its memory."""
    array = np.asarray(x)
    if array.dtype != dtype:
        raise TypeError(f"a kernel gave {array.dtype} for {dtype}")
    return array if array.base is None and array.flags.c_contiguous else array.copy("C")


def _native(function: Routine, *arrays: Any) -> tuple[Any, ...]:
    return tuple([tuple(x) if isinstance(type, ListType) else x
                  for x, type in zip(function.call("native", arrays), function.types, strict=True)])


class KernelSite(Site):
    """Call the NumPy kernel of a node. `failing`: the call must raise."""

    def __init__(
        self, node: Node, specs: Sequence[Spec], places: Sequence[int | None] = (), failing: bool = False
    ) -> None:
        self.node = node
        self.specs = specs
        self.places = places
        self.failing = failing
        self.inputs = _size(specs)
        types = [value.type for value in node.outputs]
        self.dtypes = [type.dtype.np if isinstance(type, TensorType) else None for type in types]
        self.outputs = sum(1 + len(type.shape) for type in types if isinstance(type, TensorType))
        # the user's code, and lists, may keep their arguments
        self.copied = (node.op.foreign or bool(node.subgraphs)
                       or any(isinstance(value.type, ListType) for value in (*node.inputs, *node.outputs)))
        self.kernel = kernel_of(node) if node.op.name != "call" else partial(_native, node.params["function"])

    def run(self, call: Call, words: int) -> None:
        node = self.node
        inputs = read(call, words_at(words, self.inputs), self.specs, self.copied)
        try:
            with np.errstate(all="ignore"):
                results = self.kernel(*inputs)
        except Exception as exc:
            if not belongs_to_user(node.op, exc) and not node.subgraphs:
                better = better_error(node.op, inputs, node.params, exc)
                locate(better or exc, node.position)
                if better is not None:
                    raise better from None
            raise
        if self.failing:
            try:
                for x in results if isinstance(results, tuple) else (results,):
                    check_room(f"the result of {node.op.name}", x.shape, dtype_of(x))
            except OutOfMemoryError as error:
                locate(error, node.position)
                raise
            raise AssertionError(f"{node.op.name} was to raise and did not (this is an error of the native executor)")
        self.give(call, words, (results,) if node.single else results or ())

    def give(self, call: Call, words: int, results: Sequence[Any]) -> None:
        arrays = []
        for x, dtype, place in zip(results, self.dtypes, self.places, strict=True):
            if place is None:
                arrays.append(result_array(x, dtype))
            else:
                call.objects[place] = x
        self.hand_over(call, words_at(words, self.outputs), arrays)


def new_array(shape: Sequence[int], dtype: Any, node: Node | None) -> Any:
    """Memory for the result of a node."""
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        name, position = ("the graph", None) if node is None else (node.op.name, node.position)
        raise Refusal(OutOfMemoryError, f"{name} got no memory", position).error() from None


class Refusal(NamedTuple):
    """An error that native code reports by number, without calling Python: for example out of memory."""

    kind: type[Exception]
    text: str
    position: Position | None

    def error(self) -> Exception:
        error = self.kind(self.text)
        locate(error, self.position)
        return error


class StreamSite(Site):
    """The next element of a streaming loop: whether there is one, and its arrays. With `specs` it opens the stream."""

    def __init__(self, stream: Any, place: int, specs: Sequence[Spec] | None, types: Sequence[TensorType]) -> None:
        self.stream = stream
        self.place = place
        self.specs = specs
        self.types = types

    def run(self, call: Call, words: int) -> None:
        if self.specs is not None:
            sources = read(call, words_at(words, _size(self.specs)), self.specs, True)
            call.objects[self.place] = self.stream.stream(sources)
            return
        out = words_at(words, 1 + sum(1 + len(type.shape) for type in self.types))
        item = next(call.objects[self.place], None)
        out[0] = item is not None
        if item is None:
            return
        arrays = [result_array(x, type.dtype.np) for x, type in zip(item, self.types, strict=True)]
        self.hand_over(call, out, arrays, 1)


class MoveSite(Site):
    """Move objects between slots of the object table, or store known objects in slots."""

    def __init__(self, pairs: Sequence[tuple[int, int]], known: Mapping[int, Any] = {}) -> None:
        self.pairs = pairs
        self.known = known

    def run(self, call: Call, words: int) -> None:
        objects = call.objects
        values = [objects[source] for _, source in self.pairs]
        for (target, _), value in zip(self.pairs, values, strict=True):
            objects[target] = value
        for target, value in self.known.items():
            objects[target] = value


class BoxSite(Site):
    """A Python list made from native memory; without `dims`, its elements are unwritten; with a None in `dims`, their
    shapes differ; sizes of -1 are among the words. If it is a `result`, elements of one shape become one array."""

    def __init__(self, place: int, dims: tuple[int | None, ...] | None, dtype: Any, result: bool) -> None:
        self.place = place
        self.result = result
        self.dims = dims
        self.sizes = [size for size in dims or () if size is not None]
        self.dtype = dtype

    def run(self, call: Call, words: int) -> None:
        described = words_at(words, 3)
        if self.dims is None:
            call.objects[self.place] = (None,) * described[0]
        elif None in self.dims:
            width = 2 + len(self.dims)
            table = words_at(described[1] + 8, described[0] * width)
            entries = [table[k:k + width] for k in range(0, described[0] * width, width)]
            call.objects[self.place] = tuple([
                None if start < 0 else view(described[2] + start * self.dtype.itemsize, self.dtype, shape).copy()
                for start, _, *shape in entries])
        else:
            more = iter(words_at(words, 2 + self.sizes.count(-1))[2:])
            shape = [next(more) if size == -1 else size for size in self.sizes]
            whole = view(described[1], self.dtype, [described[0], *shape]).copy()
            call.objects[self.place] = whole if self.result else tuple(whole)


class UnboxSite(Site):
    """The length of a list, and the address of its contiguous elements, with zeros for unwritten ones. With a None in
    `dims`, the addresses of the table and of the data of a ragged list
    (`runtime.backends.native.codegen.ragged_lists`)."""

    def __init__(self, place: int, dims: tuple[int | None, ...], dtype: Any) -> None:
        self.place = place
        self.dims = dims
        self.sizes = [size for size in dims if size is not None]
        self.dtype = dtype

    def run(self, call: Call, words: int) -> None:
        items = call.objects[self.place]
        arrays = [self.several(items)] if None not in self.dims else self.table(items)
        call.kept[self] = arrays
        described = words_at(words, 1 + len(arrays))
        described[0] = len(items)
        for k, array in enumerate(arrays):
            described[1 + k] = array.ctypes.data

    def several(self, items: Sequence[Any]) -> Any:
        array = np.zeros((len(items), *self.sizes), self.dtype)
        for k, item in enumerate(items):
            if item is not None:
                array[k] = item
        return array

    def table(self, items: Sequence[Any]) -> list[Any]:
        table = [0]
        for item in items:
            table += [-1] * (2 + len(self.dims)) if item is None else [table[0], item.size, *item.shape]
            table[0] += 0 if item is None else item.size
        written = [np.asarray(item, self.dtype).reshape(-1) for item in items if item is not None]
        return [np.array(table, np.int64), np.concatenate(written) if written else np.empty(0, self.dtype)]


class AllocateSite(Site):
    """Memory for an output whose shape is known only at run time."""

    def __init__(self, dtype: Any, rank: int, place: int, node: Node | None) -> None:
        self.dtype = dtype
        self.rank = rank
        self.place = place
        self.node = node

    def run(self, call: Call, words: int) -> None:
        space = words_at(words, max(self.rank, 1))
        array = new_array(space[:self.rank], self.dtype, self.node)
        call.objects[self.place] = array
        space[0] = array.ctypes.data


class DeliverSite(AllocateSite):
    """An output in memory that native code has disowned; or memory for it, if that is null."""

    def run(self, call: Call, words: int) -> None:
        given, destructor = words_at(words, self.rank + 2)[self.rank:]
        if not given:
            super().run(call, words)
            return
        array = np.asarray(_Owned(given, destructor, words_at(words, self.rank)[:self.rank], self.dtype))
        call.objects[self.place] = array
        words_at(words, 1)[0] = given


class _Owned:
    """Memory that is freed with this object, as NumPy's array interface describes it."""

    __slots__ = ("__array_interface__", "capsule")

    def __init__(self, address: int, destructor: int, shape: Sequence[int], dtype: Any) -> None:
        self.capsule = _capsule(address, None, destructor)
        self.__array_interface__ = {
            "version": 3, "shape": tuple(shape), "typestr": dtype.str, "data": (address, False)}


_capsule: Final = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))


class FlushSite(Site):
    """Assign to variables: to all within one C call of the interpreter, which no signal handler interrupts."""

    def __init__(self, storages: Sequence[Any], specs: Sequence[Spec]) -> None:
        self.storages = storages
        self.specs = specs

    def run(self, call: Call, words: int) -> None:
        _write_back(call, words, self.storages, self.specs)


class LeaveSite(Site):
    """Assign to variables, as `FlushSite` does, in one of several states in which a call may end early. Each state adds
    one assignment to its parent state, or to none (-1). The first word is the number of the state; the words that
    describe the values follow."""

    def __init__(self) -> None:
        self.states: dict[int, tuple[int, Any, Spec]] = {}

    def run(self, call: Call, words: int) -> None:
        assigned = []
        number = words_at(words, 1)[0]
        while number >= 0:
            number, *one = self.states[number]
            assigned.append(one)
        storages, specs = zip(*reversed(assigned), strict=True)
        _write_back(call, words + ctypes.sizeof(ctypes.c_int64), storages, specs)


def _write_back(call: Call, words: int, storages: Sequence[Any], specs: Sequence[Spec]) -> None:
    arrays = [np.asarray(x) for x in read(call, words_at(words, _size(specs)), specs, True)]
    for array in arrays:
        array.setflags(write=False)
    any(map(setattr, [*map(bound, storages)], repeat("array"), arrays))


class ReloadSite(Site):
    """The current values of variables."""

    def __init__(self, storages: Sequence[Any]) -> None:
        self.storages = storages
        self.count = sum(1 + len(storage.type.shape) for storage in storages)

    def run(self, call: Call, words: int) -> None:
        arrays = [result_array(storage.array, storage.type.dtype.np) for storage in self.storages]
        self.hand_over(call, words_at(words, self.count), arrays)
