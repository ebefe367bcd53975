"""Conversion to tensors, and values that are known before a graph runs."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from runtime.backends.numpy import executable
from runtime.core import trace
from runtime.core.errors import FailedPreconditionError
from runtime.core.graph import Graph, Node, Value
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.trace import current_graph
from runtime.core.types import DType, ListType, as_dtype, dtype_of

__all__ = ["convert_to_tensor", "evaluate", "executing_eagerly", "get_static_value", "is_tensor"]


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Tensor:
    """A tensor for `value`: a tensor, a number, an array, or nested lists of these (`tf.convert_to_tensor`).

    With `dtype`, Python numbers adapt to it, and other values of another dtype raise DTypeError; Python numbers and
    NumPy values adapt to `dtype_hint` if they can. `str` and `bytes` are strings. ValueError for a value that is no
    array. Of an array of NumPy in a trace it is a tensor whose `shape` is a TensorShape.
    """
    if dtype is None and dtype_hint is not None and isinstance(value, (np.ndarray, np.generic)):
        value = _as_hinted(value, as_dtype(dtype_hint))
    return trace.as_plain_tensor(trace.convert_to_tensor(value, dtype, dtype_hint, name, strings=True))


def _as_hinted(array: Any, hinted: DType) -> Any:
    """A NumPy value in the hinted dtype, if that is of its kind (or a float, for ints) and can represent the value."""
    try:
        found = dtype_of(array)
    except TypeError:  # `convert_to_tensor` reports it
        return array
    if found.is_bool or hinted.is_bool or found.level > hinted.level:
        return array
    if hinted.is_integer and array.size:
        low, high = hinted.limits
        if int(array.min()) < low or int(array.max()) > high:
            return array
    return array.astype(hinted.np)


def executing_eagerly() -> bool:
    """Whether ops compute immediately here, outside of any trace (`tf.executing_eagerly`)."""
    return current_graph() is None


def is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor or a variable (`tf.is_tensor`)."""
    return isinstance(x, Tensor) or (hasattr(type(x), "__tensor__") and not hasattr(type(x), "__leaves__"))


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor as an array if it is known now, otherwise None; what is no tensor itself
    (`tf.get_static_value`)."""
    if isinstance(tensor, EagerTensor):
        return tensor.numpy()
    if not isinstance(tensor, GraphTensor):
        return tensor
    return None if tensor.value.constant is None else tensor.value.constant[()]


def evaluate(value: Value, known: Mapping[Value, Any]) -> Any:
    """Compute a value of a graph that is still being traced, from arrays for some of the graph's inputs.

    FailedPreconditionError if the value depends on an input that is not in `known`.
    """
    graph = value.graph
    nodes: set[Node] = set()
    inputs: set[Value] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        node = current.node
        if node is None:
            inputs.add(current)
        elif node not in nodes:
            nodes.add(node)
            pending += node.inputs
    part = Graph(graph.name)
    part.nodes = [node for node in graph.nodes if node in nodes]
    part.captures = [pair for pair in graph.captures if pair[1] in inputs]
    part.inputs = [v for v in graph.inputs if v in inputs]
    part.outputs = [value]
    missing = [v for v in part.inputs if v not in known]
    if missing or graph.parent is not None:
        what = ", ".join(repr(v.hint or "an input") for v in missing) or f"the graph {graph.parent!r} around it"
        raise FailedPreconditionError(f"the value depends on {what}, which is not known while the function is traced")
    assert not isinstance(value.type, ListType)
    return executable(part)(*[known[v] for v in part.inputs])[0]
