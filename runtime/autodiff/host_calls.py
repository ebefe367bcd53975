"""Derivatives of `py_function` and of routines: the function is run again, eagerly, and differentiated."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.autodiff.accumulator import ForwardAccumulator
from runtime.autodiff.activity import differentiable
from runtime.autodiff.backward import NoGradientError
from runtime.autodiff.calls import call_of, called
from runtime.autodiff.cotangents import zero_for
from runtime.autodiff.rules.registry import Applied, jvp, vjp
from runtime.autodiff.tape import GradientTape
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import ListType, TensorType
from runtime.ops.host_functions import PY_FUNCTION

__all__: list[str] = []


def _results(node: Applied) -> Callable[..., list[Any]]:
    """The function that the node calls, returning a list of tensors."""
    if node.name == "call":
        routine = node.params["function"]
        return lambda *args: called(call_of(routine), args)
    func, single, types = node.params["func"], node.params["single"], node.params["types"]

    def call(*args: Any) -> list[Any]:
        made = func(*args)
        is_one = single or (len(types) == 1 and not isinstance(made, (list, tuple)))
        return [convert_to_tensor(x, dtype_hint=type.dtype)
                for x, type in zip([made] if is_one else made, types, strict=True)]

    return call


def _refuse_lists(node: Applied) -> None:
    """NoGradientError for a routine that takes or returns differentiable lists."""
    for x in (*node.inputs, *node.outputs):
        if isinstance(x.type, ListType) and differentiable(x.type):
            raise NoGradientError(
                f"the derivative goes through {node.params['function'].name!r}, which calls itself where a tensor "
                f"decides, and takes, changes or returns a {x.type}",
                remedy="Give it tensors in place of the list, or a list of ints.")


def _strong(type: TensorType) -> TensorType:
    return TensorType(type.dtype, type.shape)


def _applied(func: Callable[..., Any], operands: Sequence[Any], types: Sequence[TensorType]) -> list[Any]:
    return list(apply(PY_FUNCTION, *operands, func=func, types=tuple(map(_strong, types)), single=False))


@vjp("py_function", "call")
def _pulled(node: Applied, *cts: Any) -> Sequence[Any]:
    _refuse_lists(node)
    count, call = len(node.inputs), _results(node)
    sources = [i for i, x in enumerate(node.inputs) if node.wanted[i] and differentiable(x.type)]
    outputs = [k for k, x in enumerate(node.outputs) if differentiable(x.type)]
    seeds = [zero_for(node.outputs[k]) if cts[k] is None else cts[k] for k in outputs]

    def pull(*operands: Any) -> list[Any]:
        by = [operands[i] for i in sources]
        with GradientTape() as tape:
            tape.watch(by)
            results = call(*operands[:count])
        found: list[Any] = tape.dense_gradient(
            [results[k] for k in outputs], by, list(operands[count:]), unconnected_gradients="zero")
        return found

    made = iter(_applied(pull, [*node.inputs, *seeds], [node.inputs[i].type for i in sources]))
    return [next(made) if i in sources else None for i in range(count)]


@jvp("py_function", "call")
def _pushed(node: Applied, *tangents: Any) -> Sequence[Any]:
    _refuse_lists(node)
    count, call = len(node.inputs), _results(node)
    moved = [i for i, tangent in enumerate(tangents) if tangent is not None]
    outputs = [k for k, x in enumerate(node.outputs) if differentiable(x.type)]

    def push(*operands: Any) -> list[Any]:
        with ForwardAccumulator([operands[i] for i in moved], list(operands[count:])) as accumulator:
            results = call(*operands[:count])
        found: list[Any] = accumulator.jvp([results[k] for k in outputs], unconnected_gradients="zero")
        return found

    made = iter(_applied(push, [*node.inputs, *(tangents[i] for i in moved)], [node.outputs[k].type for k in outputs]))
    return [next(made) if k in outputs else None for k in range(len(node.outputs))]
