"""Calls of a recursive function that repeat an earlier one: same types of tensors, same Python values.

Where Python decides a recursion, as by the length of an array, each call is traced into its caller's graph. Sorting by
halves would have a graph of as many calls as there are elements, though only a few lengths differ. So once the graph is
large, a call that repeats an earlier one becomes a routine (`runtime.core.routine`), which later ones call, too: if it
returns tensors, Python's numbers, or new arrays or lists of these, and changes nothing.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from operator import is_not
from typing import Any, Final, NamedTuple

from autograph.backend import Heap, has_staged_items
from runtime.core import pytree
from runtime.core.graph import COUNT, Graph
from runtime.core.object_mode import reached_by_call
from runtime.core.positions import user_position
from runtime.core.routine import Routine
from runtime.core.tensor import EagerTensor, GraphList, GraphTensor
from runtime.core.trace import add_input, apply, capture, tracing, watchers, watching, wrap
from runtime.numpy.array_objects import ArrayCell, StagedArray
from runtime.ops.control import CALL
from runtime.staging.aliases.body_tracing import Unreachable, checkpoint, rollback
from runtime.staging.control.call_arguments import ARRAY, TENSOR, Arguments, mark, packed
from runtime.staging.control.routine_graphs import add_captures, are_available, close
from runtime.staging.values.list import StagedItems, is_staged_list

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
        self.depth = 0  # the number of routines being traced

    @property
    def is_large(self) -> bool:
        """Whether much has been traced since the outermost call."""
        return next(COUNT) - self.begin >= _LARGE

    def shared(self, fn: Any, form: Callable[..., Any], here: Graph, args: Any, kwargs: Any) -> SharedCall | None:
        """The routine for a call, known or made now; None to trace it into its caller's graph."""
        if not self.is_large or fn in self.refused or watchers():
            return None
        arguments = Arguments(args, kwargs, views=True)
        if not (arguments.is_simple or _are_lists(arguments.passed)) or not arguments.leaves or not all(
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
            self.depth += 1
            try:
                made.trace(form)
                self.met[key] = made
                return made
            except (Exception, Unreachable) as error:  # a trace into the caller's graph tells
                rollback(point)
                made.heap.restore()
                if isinstance(error, RecursionError) and self.depth > 1:
                    raise  # the outermost call is traced again, not each of them
                if isinstance(error, _Small):
                    self.refused.add(key)
                    return None
            finally:
                self.depth -= 1
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
            args, kwargs, made, arrays = self.arguments.replaced(inputs)
            before, contents = [array.leaf for array in arrays], [[*one] for one in made]
            returned = form(*args, **kwargs)
            self._refuse_known_lists(returned)
            results: list[Any] = []
            self.structure = _structure(returned, arrays, results, [one for one in made if type(one) is list])
            _check([x for x in results if not isinstance(x, GraphList)], graph)
            found = [x if isinstance(x, GraphList) else wrap(capture(
                graph, x.__tensor__() if isinstance(x, StagedArray) else x)) for x in results]
        if any(len(one) != len(items) or any(map(is_not, one, items)) for one, items in zip(
                made, contents, strict=True)):
            raise _Unshared
        if any(array.leaf is not leaf for array, leaf in zip(arrays, before, strict=True)) or any(
                self.heap.changes()) or self.heap.changed() is not None:
            raise _Unshared
        if any(name in node.params for node in graph.walk() for name in ("variable", "region", "stream")):
            raise _Unshared
        if sum(node.op.name != "const" for node in graph.walk()) < _FEW:
            raise _Small
        add_captures(self.captured, graph)
        self.routine.types = tuple([x.type for x in found])
        close(self.routine, graph, self.captured, found)

    def _refuse_known_lists(self, returned: Any) -> None:
        """_Unshared if the result has a list from before the call, other than an argument, or one list twice."""
        parts = returned if type(returned) is tuple else (returned,)
        lists = [id(x) for x in parts if type(x) is list]
        known = {id(reached.value) for reached in self.heap.reach.objects}
        if len({*lists}) < len(lists) or not known.isdisjoint(lists):
            raise _Unshared

    def call(self, args: Any, kwargs: Any) -> Any:
        """Emit a call of the routine."""
        arguments = Arguments(args, kwargs, views=True)
        found = apply(CALL, *arguments.leaves, *self.captured, function=self.routine)
        return _made(self.structure, iter(found), arguments.arrays, _lists_in(arguments.passed))


def _are_lists(passed: Any) -> bool:
    """Whether the arguments are tensors, numbers, and different lists of them."""
    lists = _lists_in(passed)
    values = [*passed[0], *passed[1].values()]
    return len({*map(id, lists)}) == len(lists) and all(
        type(x) in _SCALARS for value in values for x in (value if any(value is one for one in lists) else [value]))


def _lists_in(passed: Any) -> list[list[Any]]:
    args, kwargs = passed
    return [value for value in (*args, *kwargs.values()) if type(value) is list and not has_staged_items(value)]


class _Passed(NamedTuple):
    """Stands for a list among the arguments, in a result."""

    number: int


_SCALARS: Final = frozenset({EagerTensor, GraphTensor, bool, int, float})


def _structure(x: Any, arrays: Sequence[ArrayCell], results: list[Any], passed: Sequence[Any]) -> Any:
    """A result with marks in place of what the graph computes, which is added to `results`. _Unshared for containers
    that are not lists of tensors or numbers, either new or `passed` to the call."""
    if type(x) is tuple:
        if any(type(part) is tuple and any(type(each) is list for each in part) for part in x):
            raise _Unshared
        return tuple([_structure(part, arrays, results, passed) for part in x])
    if type(x) is list:
        for number, one in enumerate(passed):
            if one is x:
                return _Passed(number)
        if is_staged_list(x) and x[0].structure is None:
            results += x[0].leaves
            return StagedItems(x[0].leaves, [])
        if not has_staged_items(x) and all(type(part) in _SCALARS for part in x):
            return [_structure(part, arrays, results, ()) for part in x]
    if type(x) in (bool, int, float):
        return x
    if pytree.is_nested(x):
        raise _Unshared
    found = mark(x, arrays)
    if found is TENSOR or found is ARRAY:
        results.append(x)
    return found


def _made(structure: Any, leaves: Iterator[Any], arrays: Sequence[StagedArray], passed: Sequence[Any]) -> Any:
    """The result of a call: that structure, with the results of the graph."""
    if isinstance(structure, _Passed):
        return passed[structure.number]
    if type(structure) in (tuple, list):
        return type(structure)([_made(part, leaves, arrays, passed) for part in structure])
    if isinstance(structure, StagedItems):
        return [structure.holding([next(leaves) for _ in structure.leaves])]
    return packed(structure, itertools.islice(leaves, structure is TENSOR or structure is ARRAY), arrays)


def _check(results: Sequence[Any], graph: Graph) -> None:
    """_Unshared unless these are tensors of a graph, or different new arrays."""
    arrays = [x for x in results if isinstance(x, StagedArray)]
    if len(set(map(id, arrays))) < len(arrays) or not all(type(x) is GraphTensor or (
            type(x) is ArrayCell and graph.contains(x.born) and x.refusal is None and (x.layout == "C" or x.ndim < 2))
            for x in results):
        raise _Unshared
