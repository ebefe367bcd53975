"""Calls of compiled graphs: frames, callbacks to Python, and results."""
from __future__ import annotations

import ctypes
import math
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

import numpy as np

from autograph.backend import until_gone, with_room
from runtime.backends.executable import Returned
from runtime.backends.native.abi.allocator import PAIR, RELEASE
from runtime.backends.native.abi.callbacks import Call, KernelSite, new_array
from runtime.backends.native.abi.interrupts import CALL_WORD
from runtime.backends.native.abi.stack import STACK_WORD, stack_limit
from runtime.backends.native.abi.subnormals import FLUSH
from runtime.backends.native.codegen.context import Lowering
from runtime.backends.native.codegen.known_sizes import KnownSizes, analysed
from runtime.backends.native.codegen.list_storage import FIRST_SLOT, REFUSAL_WORD
from runtime.backends.native.codegen.variables import ASSIGN, variables_of
from runtime.backends.native.control import control_flow, exceptions, routines
from runtime.backends.native.control.routines import why_not_direct
from runtime.backends.native.jit.call_abi import NOT_PLAIN, OTHER_SIZES, description, write
from runtime.backends.native.jit.call_table import Body, Findable
from runtime.backends.native.jit.compile import Code, address_of, has_fma, vector_bits
from runtime.backends.native.jit.explain import report
from runtime.backends.native.jit.fast_call import FRONT, install, is_possible
from runtime.backends.native.jit.overwritten_inputs import are_few, overwritten_inputs
from runtime.backends.native.jit.unstack import UNSTACK, can_unstack, unstacked, wrapped
from runtime.backends.native.kernels import (
    concat_split,
    effects,
    elementwise,
    gather_scatter,
    hashing,
    list_stack_unstack,
    lists,
    random,
    reductions,
    shapes,
    sorting,
    stateless_random,
    strings,
)
from runtime.backends.native.kernels.convolution import convolutions, pooling
from runtime.backends.native.kernels.matmul import einsum, linear_solve, products
from runtime.core.config import threads
from runtime.core.graph import Graph
from runtime.core.persistent_list import Items
from runtime.core.profiling import phase
from runtime.core.traceback_replay import show_users
from runtime.core.types import ListType
from runtime.core.variable_bindings import Placeholder, bound

__all__ = ["UNSTACKING", "Native", "set_flush", "why_not_direct"]

_ = (control_flow, convolutions, effects, einsum, gather_scatter, hashing, concat_split, list_stack_unstack, lists,
     elementwise, pooling, products, random, reductions, routines, shapes, sorting, stateless_random, linear_solve,
     strings, exceptions)  # importing these registers lowerings

_free: Final = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.py_object)(address_of(RELEASE))
"""Its last argument is unused: the weak reference whose callback it is."""
set_flush: Final = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)(address_of(FLUSH))
"""Set whether float arithmetic of this thread treats subnormal numbers as zero; returns the previous mode."""
_make: Final = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.py_object)(address_of(UNSTACK))
UNSTACKING: Final = (partial(unstacked, _make), partial(wrapped, _make)) if can_unstack() else None
"""The functions `unstacked` and `wrapped`. None if the structures of CPython or NumPy are not as expected."""
_LARGE: Final = 1 << 24  # bytes: smaller allocations are assumed to succeed


class Frame:
    """The words of one call at a time, with memory that is reused by the next call; also `call`, for code whose sites
    only raise."""

    __slots__ = ("__weakref__", "call", "words")

    def __init__(self, slots: int, constants: int, call: Call | None = None) -> None:
        self.words = np.zeros(FIRST_SLOT + PAIR * slots, np.int64)
        self.call = call
        self.words[CALL_WORD] = id(call)
        self.words[1] = constants
        self.words[2] = threads.ctypes.data
        address = self.words.ctypes.data
        free = partial(_free, self.words[FIRST_SLOT:].ctypes.data, slots)
        _frames[address] = until_gone(self, _frames, address), weakref.ref(self, free)


_frames: Final[dict[int, tuple[object, object]]] = {}  # weak references to frames, by address


def _large_array(nodes: dict[Any, Any], shape: Sequence[int], dtype: Any) -> Any:
    return new_array(shape, dtype, nodes.get((shape, dtype)))


class Native:
    """A graph as native code, and the function on arrays that runs it."""

    lowering_of: Callable[..., Lowering] = Lowering
    hopes = True
    """Whether it may assume sizes of inputs to be equal: other calls run the code of another object."""
    may_overwrite = True

    def __init__(
        self, graph: Graph, fast_math: bool = False, donated: Mapping[int, int] = {}, is_final: bool = True
    ) -> None:
        def lowered() -> tuple[Lowering, str]:
            known, sizes = analysed(graph, self.hopes)
            overwritten = overwritten_inputs(known, donated) if self.may_overwrite else frozenset()
            while True:
                w = type(self).lowering_of(known, fast_math, has_fma(), vector_bits())
                w.sizes = KnownSizes(sizes)
                w.restores = bool(overwritten) and not is_final and are_few(known, donated)
                text = write(w, donated, overwritten)
                if w.in_place == overwritten and not w.writes_late:
                    return w, text
                overwritten = frozenset()

        with phase(f"lower {graph.name}"):
            w, self.text = with_room(lowered)  # graphs may nest deeply
        self.lowering = w
        self.donated = donated
        self.is_final = is_final
        self.overwritten = frozenset(w.in_place)
        self.restores, self.may_raise = w.restores or not self.overwritten, graph.may_raise
        self.graph = graph
        self.fast_math = fast_math
        with phase(f"LLVM: {graph.name}"):
            self.code = Code(self.text, lambda address: description(w, address))
        self.frames: list[Frame] = []
        self.call_sites = w.call_sites
        self.is_closed = all(isinstance(site, KernelSite) and site.failing for site in w.call_sites)
        self.constants = w.constants
        self.addresses = np.array([array.ctypes.data for array in self.constants], np.int64)
        self._others: Callable[..., tuple[Any, ...]] | None = None
        self.lists = [k for k, v in enumerate(graph.inputs) if isinstance(v.type, ListType)]

    def for_other_sizes(self, *inputs: Any) -> tuple[Any, ...]:
        """The results for inputs whose sizes are not as assumed."""
        if self._others is None:
            others = _General(self.graph, self.fast_math, self.donated, self.is_final, bool(self.overwritten))
            assert others.overwritten == self.overwritten, "what a call leaves after an error depends on sizes"
            self._others = others.function()
        return self._others(*inputs)

    def frame(self) -> Frame:
        try:
            return self.frames.pop()
        except IndexError:
            return Frame(self.lowering.slots, self.addresses.ctypes.data)

    def inspect_llvm(self, optimized: bool = True) -> str:
        """The LLVM IR, optimised or as generated."""
        return self.code.optimized()[0] if optimized else self.text

    def inspect_asm(self) -> str:
        """The assembly of this machine."""
        return self.code.optimized()[1]

    def explain(self) -> str:
        return report(self.lowering)

    def findable(self, returned: Returned | None, only_arrays: bool) -> Findable | None:
        """An entry for native code to look up the trace; native code can run the body itself if that calls Python only
        to raise."""
        if not is_possible():
            return None
        body = None if returned is None or (self.lowering.long and not only_arrays) else self._body(returned)
        return Findable([v.type for v in self.graph.inputs], body)

    def _body(self, returned: Returned) -> Body | None:
        w = self.lowering
        results = _Results(w, self.donated)
        outputs, count = results.donated or [None] * len(results.makers), returned.tensors
        if self._locks() or w.storages or w.objects or w.direct or not self.is_closed or not results.are_arrays or (
                outputs.count(None) != count or any(place is not None for place in outputs[:count])):
            return None
        if not (self.restores or self.is_final):
            return None  # an error would have to restore its arguments
        frame = self._new_frame()

        def failed(status: int) -> None:
            error = self._failure(status, frame.call, frame.words)
            if not self.restores:
                show_users(error)
                raise error

        return Body(self.code.body, frame.words.ctypes.data, bool(w.long), outputs,
                    [type for _, type in w.outputs[:count]], returned, failed, self.frames,
                    (self.code, frame, self.addresses, self.constants))

    def _new_frame(self) -> Frame:
        return Frame(self.lowering.slots, self.addresses.ctypes.data, Call(0, self.call_sites)
                     if self.call_sites else None)

    def _locks(self) -> tuple[list[Any], list[Any]] | None:
        """The variables that a call assigns, and the locks of the sources of random numbers; None if there are
        none. A thread that updates a variable must see the updates of the others."""
        w = self.lowering
        assigned = [v.storage for v in variables_of(w.graph, ops=ASSIGN)]
        sources = [source.lock for source in sorted(w.sources, key=id)]
        return (assigned, sources) if assigned or sources else None

    def function(self) -> Callable[..., tuple[Any, ...]]:
        """The function that runs the code for arrays, in the cheapest sufficient way."""
        w = self.lowering
        results = _Results(w, self.donated)
        if (locks := self._locks()) is not None:
            return _locked(self._general(results), *locks)
        if w.storages or w.objects or not self.is_closed or not results.are_arrays:
            return self._general(results)
        shared = None if w.slots or w.long or w.call_sites else Frame(0, self.addresses.ctypes.data)
        simple = self._simple(results, shared)
        return simple if shared is None or len(results.makers) != 1 or self.donated else self._single(
            results, shared, simple)

    def _general(self, results: _Results) -> Callable[..., tuple[Any, ...]]:
        """For graphs with variables, Python objects, or callbacks."""
        w, native, frames = self.lowering, self.code.function, self.frames
        call_sites, lists = self.call_sites, self.lists
        storages, written = [v.storage for v in w.storages], [v.storage for v in w.written]
        needs_call, recurs = bool(w.call_sites) or bool(w.objects), bool(w.direct)
        passes = any(isinstance(x, Placeholder) for x in written)

        def run(*inputs: Any) -> tuple[Any, ...]:
            frame = self.frame()
            call, made = None, results.arrays(inputs)
            if recurs:
                frame.words[STACK_WORD] = stack_limit()
            passed = inputs
            if needs_call:
                call = Call(w.objects, call_sites)
                frame.words[CALL_WORD] = id(call)
                for place, k in enumerate(lists):
                    call.objects[place] = inputs[k]
                if lists:
                    inputs = tuple([x for k, x in enumerate(inputs) if k not in lists])
            variables = [storage.array for storage in storages]
            assigned = [*map(bound, written)] if passes else written
            objects = None if call is None else call.objects
            try:
                status = native(frame.words, *inputs, *variables, *made, *assigned, objects)
                if status == NOT_PLAIN:
                    status = native(frame.words, *map(plain, inputs), *map(plain, variables), *made, *assigned, objects)
            finally:
                frames.append(frame)
            if status == OTHER_SIZES:
                return self.for_other_sizes(*passed)
            if status is not None:
                raise self._failure(status, call, frame.words)
            return results.finish(call, made)

        return run

    def _simple(self, results: _Results, shared: Frame | None) -> Callable[..., tuple[Any, ...]]:
        """For graphs of arrays that call Python only to raise; `shared` is the frame of all calls, if they need no
        memory of their own."""
        native, frames = self.code.function, self.frames
        empty, makers, donated = results.empty, results.makers, bool(results.donated)
        recurs = bool(self.lowering.direct)
        places = [place for place in results.donated if place is not None]
        only_donated = donated and len(places) == len(results.donated)

        def run_simple(*inputs: Any) -> tuple[Any, ...]:
            if only_donated:
                made = [inputs[place] for place in places]
            else:
                made = results.arrays(inputs) if donated else [empty(shape, dtype) for shape, dtype in makers]
            try:
                frame = shared or frames.pop()
            except IndexError:
                frame = self._new_frame()
            words = frame.words
            if recurs:
                words[STACK_WORD] = stack_limit()
            try:
                status = native(words, *inputs, *made)
                if status == NOT_PLAIN:
                    status = native(words, *map(plain, inputs), *made)
                if status == OTHER_SIZES:
                    return self.for_other_sizes(*inputs)
                if status is not None:
                    raise self._failure(status, frame.call, words)
            finally:
                if frame is not shared:
                    frames.append(frame)
            return tuple(made)

        return run_simple

    def _single(
        self, results: _Results, shared: Frame, simple: Callable[..., tuple[Any, ...]]
    ) -> Callable[..., tuple[Any, ...]]:
        """For one result; `simple` handles unusual arguments."""
        native, empty, words = self.code.function, results.empty, shared.words
        ((shape, dtype),) = results.makers

        def run_on_one(x: Any) -> tuple[Any, ...]:
            made = empty(shape, dtype)
            return (made,) if native(words, x, made) is None else simple(x)

        def run_single(*inputs: Any) -> tuple[Any, ...]:
            made = empty(shape, dtype)
            status = native(words, *inputs, made)
            if status is not None:
                return simple(*inputs)
            return (made,)

        return run_on_one if len(self.graph.inputs) == 1 else run_single

    def _failure(self, status: int, call: Call | None, words: Any) -> BaseException:
        if status == 1:
            assert call is not None and call.error is not None
            error, call.error = call.error, None
            return error
        return self.lowering.refusals[int(words[REFUSAL_WORD])].error()


class _Results:
    """The results of a call: arrays that it allocates, and Python objects."""

    def __init__(self, w: Lowering, donated: Mapping[int, int]) -> None:
        self.makers = [(type.shape, type.dtype.np) for kind, type in w.outputs if kind == "array"]
        self.places: list[int | None] = [None if kind == "array" else place
                                         for kind, place in w.outputs[:len(w.graph.outputs)]]
        numbers = [k for k, (kind, _) in enumerate(w.outputs[:len(w.graph.outputs)]) if kind == "array"]
        variables = [None] * (len(self.makers) - len(numbers))
        self.donated = [*map(donated.get, numbers), *variables] if donated else []
        self.are_arrays = all(place is None for place in self.places)
        large = {(shape, dtype): node for (shape, dtype), node in zip(self.makers, w.made_by, strict=True)
                 if None not in shape and dtype.itemsize * math.prod(shape) > _LARGE}
        self.empty: Any = partial(_large_array, large) if large else np.empty

    def arrays(self, inputs: Sequence[Any]) -> list[Any]:
        """Arrays to be filled: new ones, or inputs that are donated."""
        empty = self.empty
        if not self.donated:
            return [empty(shape, dtype) for shape, dtype in self.makers]
        return [empty(shape, dtype) if number is None else inputs[number]
                for (shape, dtype), number in zip(self.makers, self.donated, strict=True)]

    def finish(self, call: Call | None, made: list[Any]) -> tuple[Any, ...]:
        arrays = iter(made)
        objects = () if call is None else call.objects
        results = [next(arrays) if place is None else objects[place] for place in self.places]
        for k, x in enumerate(results):
            if type(x) is Items:
                results[k] = tuple(x)
            elif self.places[k] is not None and type(x) is not tuple:
                x.setflags(write=False)
        return tuple(results)


class _General(Native):
    """The code for all sizes of a graph. `may_overwrite`: whether it may change inputs as it runs."""

    hopes = False

    def __init__(
        self, graph: Graph, fast_math: bool, donated: Mapping[int, int], is_final: bool, may_overwrite: bool
    ) -> None:
        self.may_overwrite = may_overwrite
        super().__init__(graph, fast_math, donated, is_final)


def _locked(
    run: Callable[..., tuple[Any, ...]], assigned: list[Any], others: list[Any]
) -> Callable[..., tuple[Any, ...]]:
    def locks(variables: Iterable[Any]) -> list[Any]:  # in the same order in all calls
        return [*map(lock_of, sorted(variables, key=id)), *others]

    of_all = None if any(isinstance(x, Placeholder) for x in assigned) else locks(assigned)

    def run_locked(*inputs: Any) -> tuple[Any, ...]:
        with ExitStack() as stack:
            for lock in locks(map(bound, assigned)) if of_all is None else of_all:
                stack.enter_context(lock)
            return run(*inputs)

    return run_locked


if is_possible():
    install(address_of(FRONT))

_locks: Final[dict[int, tuple[Any, weakref.ref[Any]]]] = {}
_lock: Final = threading.Lock()


def lock_of(storage: Any) -> Any:
    """The lock that a call holds while it may assign the variable."""
    known = _locks.get(id(storage))
    if known is None:
        with _lock:
            known = _locks.get(id(storage))
            if known is None:
                known = _locks[id(storage)] = threading.RLock(), until_gone(storage, _locks, id(storage))
    return known[0]


def plain(x: Any) -> Any:
    """The array, aligned and in C order, as native code requires."""
    return np.require(x, requirements=("C", "A"))
