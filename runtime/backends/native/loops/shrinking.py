"""Loops with at most 64 iterations, as each takes bits from an int: `while n > 0: n //= 10`, `while n: n &= n - 1`.

They need no polls for signals, and LLVM knows some of them, such as that which counts bits.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from runtime.backends.native.loops.if_conversion import type_of
from runtime.backends.native.loops.in_bounds import is_simple
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue

__all__ = ["shrinks"]

_HALVES: Final = {"floordiv": 2, "right_shift": 1}
"""The ops that take at least one bit from a positive number, with the least operand for that."""


def shrinks(test: Graph, body: Graph) -> bool:
    """Whether a `while` loop on scalars and items has so few iterations, whatever its numbers are."""
    if not all(is_simple(node) for graph in (test, body) for node in graph.walk()):
        return False
    for number, is_positive in _numbers(test.outputs[0]):
        if number in test.inputs and type_of(number).dtype.is_integer:
            place = test.inputs.index(number)
            after = body.outputs[place].node
            is_positive |= type_of(number).dtype.is_unsigned
            if after is not None and _is_smaller(after, body.inputs[place], is_positive):
                return True
    return False


def _numbers(condition: GraphValue) -> Iterator[tuple[GraphValue, bool]]:
    """The numbers that are not 0 where a condition holds, and whether they are positive."""
    node = condition.node
    if node is None or len(node.inputs) != 2:
        return
    left, right = node.inputs
    if node.op.name == "bitwise_and":
        yield from _numbers(left)
        yield from _numbers(right)
    elif node.op.name == "not_equal" and _constant(right, 1) == 0:
        yield left, False
    elif node.op.name in ("greater", "greater_equal") and _constant(right, -1) >= (node.op.name == "greater_equal"):
        yield left, True
    elif node.op.name in ("less", "less_equal") and _constant(left, -1) >= (node.op.name == "less_equal"):
        yield right, True


def _is_smaller(node: Node, number: GraphValue, is_positive: bool) -> bool:
    """Whether a node gives a number that is not 0 with fewer bits."""
    if node.op.name in _HALVES:
        return is_positive and node.inputs[0] is number and _constant(node.inputs[1]) >= _HALVES[node.op.name]
    return node.op.name == "bitwise_and" and any(
        x is number and _is_less_one(y.node, number) for x, y in (node.inputs, node.inputs[::-1]))


def _is_less_one(node: Node | None, number: GraphValue) -> bool:
    return node is not None and node.op.name == "subtract" and node.inputs[0] is number and _constant(
        node.inputs[1]) == 1


def _constant(value: GraphValue, other: int = 0) -> int:
    """The value of an int that is known, else `other`."""
    return other if value.constant is None or value.constant.dtype.kind not in "iu" else int(value.constant)
