"""The control-flow ops, whose params are graphs: `cond`, `while_loop`, `reduce`, `custom_gradient`; also `call`, and
`undefined`.

State is passed in as operands and out as results, so a lowering sees counted loops and phi nodes. The types of a loop's
state are those of its body's inputs, which accept each initial value and each result of the body.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, ShapeError
from runtime.core.graph import Graph
from runtime.core.op import Op, Sample
from runtime.core.routine import Routine
from runtime.core.string_arrays import zeros
from runtime.core.types import ListType, TensorType, Type, join_types

__all__ = [
    "CALL", "COND", "CUSTOM_GRADIENT", "LANE_BY_LANE", "RECOMPUTED", "REDUCE", "SAVED", "UNDEFINED", "WHILE_LOOP",
    "Checkpoint", "Streaming",
]

Function = Callable[..., Sequence[Any]]  # a sub-graph with its captures bound: inputs -> outputs


def _need_bool(op: str, found: Type) -> None:
    if not (isinstance(found, TensorType) and found.dtype is t.bool_ and not found.shape):
        raise DTypeError(f"{op} takes a bool scalar as its condition, not {found}")


def _need_count(op: str, found: Type) -> None:
    if not (isinstance(found, TensorType) and found.dtype.is_integer and not found.shape):
        raise DTypeError(f"{op} takes an integer scalar as its number of iterations, not {found}")


def _need_state(op: str, what: str, wanted: Iterable[Type], found: Iterable[Type]) -> None:
    for want, have in zip(wanted, found, strict=True):
        if not want.accepts(have):
            raise ShapeError(f"{op}: {what} is {have}, but the state is {want}")


def _types(values: Iterable[Any]) -> tuple[Type, ...]:
    return tuple(value.type for value in values)


# cond(pred; true, false): the results of one of the graphs, neither of which has inputs.

def _cond_kernel(pred: Any, *, true: Function, false: Function) -> tuple[Any, ...]:
    return tuple(true() if pred else false())


def _cond_rule(pred: Type, *, true: Graph, false: Graph) -> tuple[Type, ...]:
    _need_bool("cond", pred)
    results = []
    for a, b in zip(_types(true.outputs), _types(false.outputs), strict=True):
        joined = join_types(a, b)
        if joined is None:
            raise DTypeError(f"cond: the branches give {a} and {b}")
        results.append(joined)
    return tuple(results)


COND: Final = Op("cond", _cond_kernel, _cond_rule, doc="`true()` if the operand holds, else `false()`.")


# while_loop([limit,] *state; test, body)

SAVED: Final = "saved"
"""Prefix of the hints of lists to which loops append the residuals of each iteration for the backward pass."""
RECOMPUTED: Final = "again"
"""Prefix of the hints of values that a backward pass recomputes."""
LANE_BY_LANE: Final = "lane by lane: "
"""Prefix of the names of bodies that run lane by lane, for lack of a batching rule (`runtime.batching`)."""
Checkpoint = int | str | tuple[str, int | None] | None
"""Which states of a loop derivatives save: for an int k that of every k-th iteration, for "sqrt" likewise with k the
square root of their number; for ("binomial", n) those of n iterations at a time, where None is the logarithm of their
number. The flag `again` marks a loop that is recomputed, with nothing of it saved."""


def _while_kernel(
    *operands: Any, test: Function, body: Function, limited: bool = False, checkpoint: Checkpoint = None,
    again: bool = False,
) -> tuple[Any, ...]:
    state: Sequence[Any] = operands
    if not limited:
        while test(*state)[0]:
            state = body(*state)
        return tuple(state)
    state = operands[1:]
    for _ in range(int(operands[0])):
        if not test(*state)[0]:
            break
        state = body(*state)
    return tuple(state)


def _while_rule(
    *operands: Type, test: Graph, body: Graph, limited: bool = False, checkpoint: Checkpoint = None,
    again: bool = False,
) -> tuple[Type, ...]:
    if limited:
        _need_count("while_loop", operands[0])
        operands = operands[1:]
    state = _types(body.inputs)
    _need_bool("while_loop", test.outputs[0].type)
    _need_state("while_loop", "an operand", state, operands)
    _need_state("while_loop", "an input of its test", _types(test.inputs), state)
    _need_state("while_loop", "a result of its body", state, _types(body.outputs))
    return state


WHILE_LOOP: Final = Op(
    "while_loop", _while_kernel, _while_rule,
    doc="`while test(*state): state = body(*state)`; if `limited`, at most as often as the first operand says.")


# reduce(length, *state; body[, test]) or reduce(*sources, *state; body[, test])

class Streaming(Protocol):
    """The source of a streaming `reduce`'s elements, each a tuple of arrays."""

    def stream(self, sources: Sequence[Any]) -> Iterator[tuple[Any, ...]]: ...


def _reduce_kernel(
    *operands: Any, body: Function, test: Function | None = None, stream: Streaming | None = None, sources: int = 1,
    checkpoint: Checkpoint = None, again: bool = False,
) -> tuple[Any, ...]:
    state: Sequence[Any] = operands[sources:]
    items: Iterable[tuple[Any, ...]]
    if stream is None:
        length = operands[0]
        index = length.dtype.type
        items = ((index(i),) for i in range(int(length)))
    else:
        items = stream.stream(operands[:sources])
    if test is None:
        for item in items:
            state = body(*item, *state)
        return tuple(state)
    for item in items:
        state = body(*item, *state)
        if not test(*state)[0]:
            break
    return tuple(state)


def _reduce_rule(
    *operands: Type, body: Graph, test: Graph | None = None, stream: Streaming | None = None, sources: int = 1,
    checkpoint: Checkpoint = None, again: bool = False,
) -> tuple[Type, ...]:
    count = len(operands) - sources
    state = _types(body.inputs[len(body.inputs) - count:])
    if stream is None:
        _need_count("reduce", operands[0])
        _need_state("reduce", "the index", _types(body.inputs[:1]), operands[:1])
    _need_state("reduce", "an operand", state, operands[sources:])
    _need_state("reduce", "a result of its body", state, _types(body.outputs))
    if test is not None:
        _need_bool("reduce", test.outputs[0].type)
        _need_state("reduce", "an input of its test", _types(test.inputs), state)
    return state


REDUCE: Final = Op(
    "reduce", _reduce_kernel, _reduce_rule,
    doc="`for item in items: state = body(*item, *state)`, left when `test(*state)` is false after an iteration. "
        "Without `stream` the items are the indices below the first operand; else the tuples that the stream "
        "yields for the first `sources` operands.")


# custom_gradient(*arguments, *results; gradient): the results, whose cotangents `gradient` pulls back to the arguments.

def _custom_kernel(*operands: Any, gradient: Function, count: int) -> tuple[Any, ...]:
    return operands[count:]


def _custom_rule(*operands: Type, gradient: Graph, count: int) -> tuple[Type, ...]:
    for want, have in zip(operands[count:], _types(gradient.inputs), strict=True):
        if not have.accepts(want):
            raise ShapeError(f"custom_gradient: a result is {want}, but its cotangent is {have}")
    return operands[count:]


CUSTOM_GRADIENT: Final = Op(
    "custom_gradient", _custom_kernel, _custom_rule,
    doc="The operands after the first `count`, with `gradient` as the derivative by these: from cotangents of results "
        "to cotangents of arguments.")


# call(*operands; function): the results of a graph that is called by name, perhaps from itself.

def _call_kernel(*operands: Any, function: Routine) -> tuple[Any, ...]:
    return function.call("numpy", operands)


def _call_rule(*operands: Type, function: Routine) -> tuple[Type, ...]:
    return function.types


CALL: Final = Op("call", _call_kernel, _call_rule, effect=True, foreign=True, errors=(Exception,),
                 doc="The results of a recursive function.")


# undefined(): the value of an unbound variable, and of a branch's results if it raises.

def _undefined_kernel(*, type: Type) -> Any:
    if isinstance(type, ListType):
        return ()
    return zeros([0 if dim is None else dim for dim in type.shape], type.dtype.np)


def _undefined_rule(*, type: Type) -> Type:
    return type


def _undefined_samples(rng: np.random.Generator) -> Iterable[Sample]:
    yield (), {"type": TensorType(t.float32, (2, None))}
    yield (), {"type": TensorType(t.bool_)}


UNDEFINED: Final = Op("undefined", _undefined_kernel, _undefined_rule, samples=_undefined_samples,
                      doc="A value that nobody looks at: zeros of the type.")
