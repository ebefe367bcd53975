"""Tensors that stand for another value of a graph than the one they were made for: the same, with more of its shape
known (`x.set_shape`).

`graph.refined` lists them in the order of the refinements: each with its value before and with the refined one.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["refine", "restore_captures", "restore_refined"]


def refine(tensor: Any, refined: Any) -> None:
    """Let `tensor` stand for the value `refined`: from now on, or, if that is in a graph nested in the tensor's own,
    until the trace of this graph is left."""
    refined.graph.refined.append((tensor, tensor.value, refined))
    tensor.value = refined


def restore_refined(graph: Any, ends: Callable[[Any, Any], bool]) -> None:
    """Undo the refinements in `graph` for which `ends(tensor, refined value)`."""
    kept = []
    for tensor, own, refined in reversed(graph.refined):
        if ends(tensor, refined):
            tensor.value = own
        else:
            kept.append((tensor, own, refined))
    graph.refined = kept[::-1]


def restore_captures(graph: Any) -> None:
    """Let tensors of enclosing graphs stand for values of these again, since the trace of `graph`, if any, is left."""
    if graph is not None and graph.refined:
        captured = {id(tensor) for tensor, own, _ in graph.refined if own.graph is not graph}
        restore_refined(graph, lambda tensor, _: id(tensor) in captured)
