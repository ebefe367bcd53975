"""Bool scalars of the graph that are true wherever the code being traced runs, as the branches around it tell."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from autograph.backend import of_trace
from runtime.core.graph import Value
from runtime.core.tensor import GraphTensor

__all__ = ["assuming", "is_assumed"]


class _Open(threading.local):
    true: tuple[Value, ...] = ()


_open: Final = of_trace(_Open())


@contextmanager
def assuming(pred: Any, outcome: bool) -> Iterator[None]:
    """Trace code that runs only where the bool scalar `pred` is `outcome`."""
    outer = _open.true
    if isinstance(pred, GraphTensor):
        _open.true = (*outer, *_implied(pred.value, outcome))
    try:
        yield
    finally:
        _open.true = outer


def is_assumed(bit: GraphTensor) -> bool:
    """Whether a bool scalar is true wherever the code being traced runs."""
    return any(bit.value is value for value in _open.true)


def _implied(value: Value, outcome: bool) -> Iterator[Value]:
    """What is true where `value` is `outcome`: the operands of `and`, `or` and `not`, and the conditions of branches
    that decide it."""
    if outcome:
        yield value
    node = value.node
    if node is None:
        return
    if node.op.name == "invert":
        yield from _implied(node.inputs[0], not outcome)
    elif node.op.name == ("bitwise_and" if outcome else "bitwise_or"):
        for operand in node.inputs:
            yield from _implied(operand, outcome)
    elif node.op.name == "cond":
        place = next(i for i, output in enumerate(node.outputs) if output is value)
        for name, other in (("true", False), ("false", True)):
            constant = node.params[name].outputs[place].constant
            if constant is not None and bool(constant) is not outcome:  # the other branch ran
                yield from _implied(node.inputs[0], other)
