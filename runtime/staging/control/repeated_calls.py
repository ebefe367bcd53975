"""Calls of a recursive function that repeat an earlier one: same types of tensors, same Python values.

Where Python decides a recursion, as by the length of an array, each call is traced into its caller's graph. Sorting by
halves would have a graph of as many calls as there are elements, though only a few lengths differ. So once the graph is
large, a call that repeats an earlier one becomes a routine (`runtime.core.routine`), which later ones call, too: if it
returns tensors or new arrays, and changes nothing.
"""
from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from autograph.backend import Heap
from runtime.core import pytree
from runtime.core.graph import COUNT, Graph
from runtime.core.object_mode import reached_by_call
from runtime.core.positions import user_position
from runtime.core.routine import Routine
from runtime.core.tensor import EagerTensor, GraphTensor
from runtime.core.trace import add_input, apply, capture, tracing, watchers, watching, wrap
from runtime.numpy.array_objects import ArrayCell, StagedArray
from runtime.ops.control import CALL
from runtime.staging.control.call_arguments import ARRAY, TENSOR, Arguments, mark, packed
from runtime.staging.control.routine_graphs import add_captures, are_available, close
from runtime.staging.values.body_tracing import Unreachable, checkpoint, rollback

__all__ = ["RepeatedCalls"]

_LARGE: Final = 1500  # values and nodes traced since the outermost call, from which on routines are made
_FEW: Final = 6  # ops


class _Unshared(Exception):
    """The call returns or changes something that a routine cannot."""


class _Small(Exception):
    """The call has so few ops that a call of a routine would not be smaller."""


class RepeatedCalls:
    """The calls of recursive functions within an outermost one, and the routines made of them."""

    def __init__(self) -> None:
        self.begin = next(COUNT)
        self.met: dict[tuple[Any, Hashable], SharedCall | None] = {}  # by function and key
        self.refused: set[Any] = set()  # functions, and calls of a few ops

    def shared(self, fn: Any, form: Callable[..., Any], here: Graph, args: Any, kwargs: Any) -> SharedCall | None:
        """The routine for a call, known or made now; None to trace it into its caller's graph."""
        if next(COUNT) - self.begin < _LARGE or fn in self.refused or watchers():
            return None
        arguments = Arguments(args, kwargs, views=True)
        if not arguments.is_simple or not arguments.leaves or not all(
                isinstance(x, (EagerTensor, GraphTensor)) and not x.type.weak for x in arguments.leaves):
            return None
        key = fn, arguments.key
        if key in self.refused:
            return None
        if key not in self.met:
            self.met[key] = None
            return None
        known = self.met[key]
        if known is not None and known.may_be_called(here):
            return known
        point, made = checkpoint(), SharedCall(fn, arguments, here)
        if made.is_traceable:
            try:
                made.trace(form)
                self.met[key] = made
                return made
            except (Exception, Unreachable) as error:  # a trace into the caller's graph tells
                rollback(point)
                made.heap.restore()
                if isinstance(error, _Small):
                    self.refused.add(key)
                    return None
        self.refused.add(fn)
        return None


class SharedCall:
    """A routine for calls with equal arguments, apart from the contents of tensors and arrays."""

    def __init__(self, fn: Any, arguments: Arguments, here: Graph) -> None:
        self.arguments, self.here = arguments, here
        self.heap = Heap(reached_by_call(fn, *arguments.passed))
        self.is_traceable = not (self.heap.others or self.heap.reach.iterators)
        self.routine = Routine(fn.__name__, (), user_position())
        self.structure: Any = None
        self.captured: list[Any] = []

    def may_be_called(self, here: Graph) -> bool:
        """Whether what the routine captures is available in the graph `here`, and what its trace has read is
        unchanged."""
        return are_available(self.captured, here) and not any(self.heap.changes())

    def trace(self, form: Callable[..., Any]) -> None:
        """Trace the routine. _Unshared, or the error of the trace, if it cannot stand for the call."""
        graph = Graph(self.routine.name, self.here)
        inputs = [add_input(graph, x.type) for x in self.arguments.leaves]
        with watching(None), tracing(graph):
            args, kwargs, _, arrays = self.arguments.replaced(inputs)
            before = [array.leaf for array in arrays]
            returned = form(*args, **kwargs)
            leaves = _leaves(returned)
            marks = [mark(x, arrays) for x in leaves]
            results = [x for x, each in zip(leaves, marks, strict=True) if each is TENSOR or each is ARRAY]
            _check(results, graph)
            found = [wrap(capture(graph, x.__tensor__() if isinstance(x, StagedArray) else x)) for x in results]
        if any(array.leaf is not leaf for array, leaf in zip(arrays, before, strict=True)) or any(
                self.heap.changes()) or self.heap.changed() is not None:
            raise _Unshared
        if any(name in node.params for node in graph.walk() for name in ("variable", "region", "stream")):
            raise _Unshared
        if sum(node.op.name != "const" for node in graph.walk()) < _FEW:
            raise _Small
        self.structure = pytree.pack_sequence_as(returned, marks)
        add_captures(self.captured, graph)
        self.routine.types = tuple([x.type for x in found])
        close(self.routine, graph, self.captured, found)

    def call(self, args: Any, kwargs: Any) -> Any:
        """Emit a call of the routine."""
        arguments = Arguments(args, kwargs, views=True)
        found = apply(CALL, *arguments.leaves, *self.captured, function=self.routine)
        return packed(self.structure, found, arguments.arrays)


def _leaves(x: Any) -> list[Any]:
    """The parts of a result. _Unshared if they are in containers other than tuples, which have an identity."""
    if type(x) is tuple:
        return [leaf for part in x for leaf in _leaves(part)]
    if pytree.is_nested(x):
        raise _Unshared
    return [x]


def _check(results: Sequence[Any], graph: Graph) -> None:
    """_Unshared unless these are tensors of a graph, or different new arrays."""
    arrays = [x for x in results if isinstance(x, StagedArray)]
    if len(set(map(id, arrays))) < len(arrays) or not all(type(x) is GraphTensor or (
            type(x) is ArrayCell and graph.contains(x.born) and x.refusal is None and (x.layout == "C" or x.ndim < 2))
            for x in results):
        raise _Unshared
