"""Calls that native code can serve by a known trace.

It recognises a call by the dtypes and shapes of tensors and arrays, the types of numbers that are inputs, and the
values of the rest. Arrays must be writable, aligned, in C order and in the machine's order of bytes, and share no
memory. Where not all arguments are tensors, the trace must change nothing but arrays, in their own memory, so that
nothing remains to be done after the graph.
"""
from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final
from weakref import WeakMethod

import numpy as np

from runtime.core.tensor import EagerTensor
from runtime.core.traceback_replay import show_users
from runtime.function.arguments.argument_numbers import ArgumentNumber
from runtime.function.arguments.number_state import can_be_staged
from runtime.function.arguments.signature import Call, is_plain, share_memory
from runtime.function.concrete import ConcreteFunction

__all__ = ["inputs_among", "with_call"]

_CONSTANTS: Final = frozenset((bool, float, int, str, type(None)))


def inputs_among(args: Sequence[Any], call: Call, concrete: ConcreteFunction) -> list[bool] | None:
    """Which arguments of a call are inputs of its trace; None if such calls have to take the general path."""
    if all(type(x) is EagerTensor for x in args):
        return None if len(args) != len(call.leaves) or call.own else [True] * len(args)  # a default may be a list
    if not concrete.is_served_by_graph:
        return None
    inputs: list[bool] = []
    arrays: list[Any] = []
    for x, canonical in zip(args, call.args):
        kind, is_number = type(x), type(canonical) is ArgumentNumber
        if kind is np.ndarray:
            if not (x.flags.writeable and is_plain(x)) or any(share_memory(x, other) for other in arrays):
                return None
            arrays.append(x)
        is_input = is_number or kind is np.ndarray or kind is EagerTensor
        if not (is_input or kind in _CONSTANTS) or not (is_number or canonical is x) or (
                kind is int and not can_be_staged(x)):
            return None
        inputs.append(is_input)
    others = *call.args[len(args):], *call.kwargs.values()  # defaults
    if sum(inputs) != len(call.leaves) or not all(type(x) in _CONSTANTS for x in others):
        return None
    return inputs


def with_call(
    front: tuple[Any, ...], calls: array[int], concrete: ConcreteFunction, args: Sequence[Any], inputs: Sequence[bool],
    general: WeakMethod[Callable[..., Any]],
) -> tuple[Any, ...]:
    """`front` with a trace for calls like that with these arguments. `general` computes a call by the general path."""
    items = () if concrete.guards is None else concrete.guards.items
    tensors = all(type(x) is EagerTensor for x in args)
    if concrete.findable is None or (tensors and items is None):
        return front
    run = concrete.run_arrays if tensors else _runner(concrete, args, inputs, general)
    known: tuple[Any, ...] = concrete.findable.known(front, calls, concrete.used, args, inputs, run, items)
    return known


def _runner(
    concrete: ConcreteFunction, args: Sequence[Any], inputs: Sequence[bool], general: WeakMethod[Callable[..., Any]]
) -> Callable[..., Any]:
    """The function from the arguments of such a call, with arrays in place of tensors, to its result."""
    makers = [_maker(x, sum(inputs[:k]) in concrete.overwritten_places) if inputs[k] else None
              for k, x in enumerate(args)]
    are_tensors = [type(x) is EagerTensor for x in args]
    guards, ends = concrete.guards, not concrete.can_repeat

    def run(*args: Any) -> Any:
        if guards is None or guards.hold():
            try:
                return concrete.on_arrays(*[make(x) for make, x in zip(makers, args) if make is not None])
            except BaseException as error:
                if ends:
                    show_users(error)
                    raise
        found = general()
        assert found is not None
        try:
            return found(tuple([EagerTensor(x) if tensor else x for tensor, x in zip(are_tensors, args)]), {})
        except BaseException as error:
            show_users(error)
            raise

    return run


def _maker(x: Any, is_overwritten: bool) -> Callable[[Any], Any]:
    """The function from an argument like `x` to the array for the graph."""
    if type(x) is np.ndarray:
        return np.ndarray.view if is_overwritten else _same  # native code makes results read-only
    if type(x) is EagerTensor:
        return _same
    return partial(np.array, dtype=np.float64 if type(x) is float else np.int64)


def _same(x: Any) -> Any:
    return x
