"""How far results of a graph may lie apart: the reference executor, with results of some ops moved a little.

Most ops have one result, bit for bit. Sums and products may be made in another order, and elementary functions are off by
some units in the last place. The result of such an op may be no further from what it is in higher precision, for the same
operands, than twice as far as the reference executor's, and a few units in the last place. Runs in which each such result
is moved at random by as much as that show what differences may come of it in what is computed from it, in tests and trip
counts, too.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.graph import Graph, Node

__all__ = ["Moved", "run_graph"]

FUNCTIONS = frozenset((
    "exp expm1 exp2 log log1p log2 log10 cbrt sigmoid softplus erf erfc erfinv sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh pow atan2 hypot gamma lgamma").split())
"""Elementary functions, of floats."""
SUMS = frozenset(("reduce_sum", "reduce_prod", "matmul", "einsum", "conv", "conv_input", "conv_filters"))
"""What adds or multiplies many terms."""
OF_COMPLEX = SUMS | {"multiply"}
"""What has not just one result of complex numbers: NumPy multiplies with or without FMA, by layout and machine. Their
elementary functions are those of the C library, for both executors."""

Change = Callable[[Node, Sequence[Any], Any], Any]  # from a node, its operands and its result to another result


def run_graph(graph: Graph, arguments: Sequence[Any], change: Change) -> list[Any]:
    """The outputs of a graph without parent, as the reference executor computes it, with results changed."""
    with np.errstate(all="ignore"):
        return _run(graph, [*arguments, *[_outer(outer) for outer, _ in graph.captures]], change)


def _outer(value: Any) -> Any:
    return tuple(value.items) if hasattr(value, "items") else value._array


def _run(graph: Graph, parameters: Sequence[Any], change: Change) -> list[Any]:
    values = dict(zip(graph.parameters, parameters, strict=True))
    for node in graph.nodes:
        if node.op.name == "const":
            values[node.outputs[0]] = node.params["value"]
            continue
        inputs = [values[x] for x in node.inputs]
        params, parts = dict(node.params), node.subgraphs
        if parts:
            at = len(node.operands)
            for name, part in parts.items():
                captured = inputs[at:at + len(part.captures)]
                at += len(part.captures)
                params[name] = lambda *xs, part=part, captured=captured: _run(part, [*xs, *captured], change)
            inputs = inputs[:len(node.operands)]
        result = node.op.kernel(*inputs, **params)
        if not node.outputs:
            continue
        if node.single:
            values[node.outputs[0]] = change(node, inputs, result)
        else:
            values.update(zip(node.outputs, result, strict=True))
    return [values[x] for x in graph.outputs]


class Moved:
    """What a result becomes in one of several runs, by `seed`."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.together = seed % 3  # whether elements move in one direction
        self.part = (1.0, 1.0, 0.1)[seed // 3 % 3]

    def __call__(self, node: Node, inputs: Sequence[Any], result: Any) -> Any:
        name = node.op.name
        kind = getattr(result, "dtype", np.dtype(bool)).kind
        if kind not in "fc" or name not in (FUNCTIONS | SUMS if kind == "f" else OF_COMPLEX) or not result.size:
            return result
        found = self._allowed(node, inputs, result)
        if found is None:
            return result
        wide, allowed = found
        if result.dtype.kind != "c":
            return self._moved(result, wide, allowed)
        moved = np.empty(result.shape, result.dtype)
        moved.real = self._moved(result.real, wide.real, allowed)
        moved.imag = self._moved(result.imag, wide.imag, allowed)
        return moved

    def _allowed(self, node: Node, inputs: Sequence[Any], result: Any) -> tuple[Any, Any] | None:
        """What the result is in higher precision, and how far from it another may be; None if there is but one."""
        name, eps = node.op.name, np.finfo(result.dtype).eps
        if name == "reduce_sum" or name == "reduce_prod":
            terms = int(np.prod([inputs[0].shape[a] for a in node.params["axis"]]))
            if terms < 3 and result.dtype.kind == "f":
                return None
        operands = [_widened(x) for x in inputs]
        wide = np.asarray(node.op.kernel(*operands, **copy.copy(node.params)))
        off = abs(wide - result)
        if name in FUNCTIONS or name == "reduce_prod":
            few = 2 if name in FUNCTIONS else 2 + max(terms, 1).bit_length()
            scale = np.where(result == 0, 0, abs(result)) * eps
            least = np.where((result == 0) & (wide == 0), 0, np.finfo(result.dtype).smallest_subnormal)
            return wide, 2 * off + few * np.maximum(scale, least)
        parts = [abs(x) if getattr(x, "dtype", np.dtype(bool)).kind in "fc" else x for x in operands]
        scale = abs(np.asarray(node.op.kernel(*parts, **copy.copy(node.params)))) * eps
        return wide, 2 * off + 4 * scale

    def _moved(self, result: Any, wide: Any, allowed: Any) -> Any:
        rng, shape = self.rng, result.shape
        if self.together == 0:
            by = rng.choice([-1.0, 1.0])
        elif self.together == 1:
            by = rng.uniform(-1, 1, shape)
        else:
            by = rng.choice([-1.0, 0.0, 1.0], shape)
        moved = result + by * self.part * allowed
        whole = np.isfinite(result)
        moved = np.where(whole & np.isfinite(allowed), moved, np.where(rng.random(shape) < 0.5, result, wide))
        return np.asarray(moved).astype(result.dtype)


def _widened(x: Any) -> Any:
    kind = getattr(x, "dtype", np.dtype(bool)).kind
    if kind == "f":
        return np.asarray(x).astype(np.float64 if x.dtype.itemsize < 8 else np.longdouble)
    if kind == "c":
        return np.asarray(x).astype(np.complex128 if x.dtype.itemsize < 16 else np.clongdouble)
    return x
