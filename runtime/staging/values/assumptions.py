"""Bool scalars of the graph that are known to be true in the code being traced, from the enclosing branches."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from autograph.backend import of_trace
from runtime.core.graph import Value
from runtime.core.tensor import GraphTensor

__all__ = ["assuming", "is_assumed"]


_MOST: Final = 8
"""The number of nested operators and branches that are looked through."""
_Scope = tuple[tuple[Value, ...], Any]  # the facts of a branch, and the enclosing scope


class _Open(threading.local):
    scope: _Scope | None = None


_open: Final = of_trace(_Open())


@contextmanager
def assuming(pred: Any, outcome: bool) -> Iterator[None]:
    """Trace code that runs only where the bool scalar `pred` is `outcome`."""
    outer = _open.scope
    if isinstance(pred, GraphTensor) and (found := tuple(_implied(pred.value, outcome))):
        _open.scope = found, outer
    try:
        yield
    finally:
        _open.scope = outer


def is_assumed(bit: GraphTensor) -> bool:
    """Whether a bool scalar is true wherever the code being traced runs."""
    scope = _open.scope
    while scope is not None:
        values, scope = scope
        if any(bit.value is value for value in values):
            return True
    return False


def _implied(value: Value, outcome: bool, depth: int = 0) -> Iterator[Value]:
    """The values that are true if `value` is `outcome`: operands of `and`, `or` and `not`, and conditions of branches
    that decide it."""
    if outcome:
        yield value
    node = value.node
    if node is None or depth == _MOST:
        return
    if node.op.name == "invert":
        yield from _implied(node.inputs[0], not outcome, depth + 1)
    elif node.op.name == ("bitwise_and" if outcome else "bitwise_or"):
        for operand in node.inputs:
            yield from _implied(operand, outcome, depth + 1)
    elif node.op.name == "cond":
        place = next(i for i, output in enumerate(node.outputs) if output is value)
        for name, other in (("true", False), ("false", True)):
            constant = node.params[name].outputs[place].constant
            if constant is not None and bool(constant) is not outcome:  # the other branch ran
                yield from _implied(node.inputs[0], other, depth + 1)
