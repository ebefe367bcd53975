"""Control flow by functions (Keras' `backend.core`): `cond`, `switch`, loops, and functions over rows."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keras.src import tree

import runtime as rt
from runtime.staging.control_flow import scan_with_carry

__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "switch", "vectorized_map", "while_loop"]

Function = Callable[..., Any]


def cond(pred: Any, true_fn: Function, false_fn: Function) -> Any:
    if isinstance(pred, (bool, int)):
        return true_fn() if pred else false_fn()
    return rt.cond(_truth(pred), true_fn, false_fn)


def _truth(pred: Any) -> Any:
    pred = rt.convert_to_tensor(pred)
    return pred if pred.dtype is rt.bool else rt.cast(pred, rt.bool)


def switch(index: Any, branches: Sequence[Function], *operands: Any) -> Any:
    """The result of branch number `index`, which is clamped to the valid numbers."""
    index = rt.clip_by_value(rt.cast(rt.convert_to_tensor(index), rt.int32), 0, len(branches) - 1)
    return rt.switch_case(index, [_with(branch, operands) for branch in branches])


def _with(branch: Function, operands: Sequence[Any]) -> Function:
    return lambda: branch(*operands)


def while_loop(cond: Function, body: Function, loop_vars: Any, maximum_iterations: Any = None) -> Any:
    several = isinstance(loop_vars, (tuple, list))
    variables = tuple(loop_vars) if several else (loop_vars,)

    def step(*state: Any) -> Any:
        result = body(*state)
        return tuple(result) if several else (result,)

    result = rt.while_loop(lambda *state: _truth(cond(*state)), step, variables, maximum_iterations=maximum_iterations)
    return tuple(result) if several else result[0]


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any) -> Any:
    """`for i in range(lower, upper): value = body_fun(i, value)`."""
    if rt.executing_eagerly():
        for i in range(int(lower), int(upper)):
            init_val = body_fun(i, init_val)
        return init_val
    _, value = rt.while_loop(lambda i, value: i < upper, lambda i, value: (i + 1, body_fun(i, value)),
                             (rt.convert_to_tensor(lower), init_val))
    return value


def map(f: Function, xs: Any) -> Any:
    """`f` applied to each row of `xs` in sequence, stacked."""
    return rt.map_fn(f, xs)


def vectorized_map(function: Function, elements: Any) -> Any:
    """`function` applied to all rows of `elements` at once, stacked."""
    return rt.vectorized_map(function, elements)


def scan(
    f: Function, init: Any, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1,
) -> tuple[Any, Any]:
    """Iterate `carry, y = f(carry, x)` over the rows of `xs`: the last `carry`, and the stacked `y`. `unroll` has no
    effect."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    return scan_with_carry(f, init, xs, length, reverse)


def associative_scan(f: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes combined by the associative `f` along an axis, by repeated doubling."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    leaves = [rt.convert_to_tensor(x) for x in tree.flatten(elems)]
    axis = axis % leaves[0].ndim
    count: Any = leaves[0].shape[axis]
    if any(x.shape[axis] != count for x in leaves):
        raise ValueError("Array inputs to associative_scan must have the same first dimension. (saw: "
                         f"{[tuple(x.shape) for x in leaves]})")

    def part(xs: list[Any], start: int, stop: int) -> list[Any]:
        index = (slice(None),) * axis + (slice(start, stop),)
        return [x[index] for x in xs]

    if reverse:
        leaves = [rt.reverse(x, [axis]) for x in leaves]
    distance = 1
    while distance < count:
        combined = f(tree.pack_sequence_as(elems, part(leaves, 0, count - distance)),
                     tree.pack_sequence_as(elems, part(leaves, distance, count)))
        leaves = [rt.concat([head, tail], axis)
                  for head, tail in zip(part(leaves, 0, distance), tree.flatten(combined), strict=True)]
        distance *= 2
    if reverse:
        leaves = [rt.reverse(x, [axis]) for x in leaves]
    return tree.pack_sequence_as(elems, leaves)
