"""How far results of a graph may lie apart: the reference executor, with results of some ops moved a little.

Most ops have one result, bit for bit. Sums and products may be made in another order, and elementary functions are off
by some units in the last place. The result of such an op may be no further from what it is in higher precision, for the
same operands, than twice as far as the reference executor's, and a few units in the last place. Runs in which each such
result is moved at random by as much as that show what differences may come of it in what is computed from it, in tests
and trip counts, too.
"""
from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.core.graph import Graph, Node

__all__ = ["Moved", "run_graph"]

FUNCTIONS = frozenset((
    "exp expm1 exp2 log log1p log2 log10 cbrt sigmoid softplus erf erfc erfinv sin cos tan asin acos atan sinh cosh "
    "tanh asinh acosh atanh pow atan2 hypot gamma lgamma").split())
"""Elementary functions, of floats."""
SUMS = frozenset(("reduce_sum", "reduce_prod", "matmul", "einsum", "conv", "conv_input", "conv_filters"))
"""What adds or multiplies many terms."""
EXTREMES = frozenset(("maximum", "minimum", "reduce_max", "reduce_min", "max_pool", "relu", "scatter"))
"""Of 0.0 and -0.0 either: which one is NumPy's, its build and the dtype decide."""
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
    """What a result becomes in one of several runs, by `seed`: always the same for the same node and operands."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.numbers: dict[Node, int] = {}
        self.together = seed % 3  # whether elements move in one direction
        self.part = (1.0, 1.0, 0.1)[seed // 3 % 3]

    def __call__(self, node: Node, inputs: Sequence[Any], result: Any) -> Any:
        name, kind = node.op.name, getattr(result, "dtype", np.dtype(bool)).kind
        if not getattr(result, "size", 0):
            return result
        number = self.numbers.setdefault(node, len(self.numbers))
        self.rng = np.random.default_rng([self.seed, number, *[_checksum(x) for x in inputs]])
        if name == "cast" and result.dtype == np.uint32 and inputs[0].dtype.kind == "f":
            return self._one_of(result, np.asarray(inputs[0]).astype(np.int64).astype(np.uint32))
        if name in EXTREMES and kind == "f":
            return np.where(result == 0, self._one_of(result, -result), result).astype(result.dtype)
        if name == "sqrt" and kind == "c":  # the sign of an infinity that comes of NaN
            either = np.isnan(inputs[0].imag) & np.isinf(result.imag)
            return np.where(either, self._one_of(result, result.conj()), result).astype(result.dtype)
        if name == "copysign":
            return np.where(np.isnan(inputs[1]), self._one_of(result, -result), result).astype(result.dtype)
        if name == "abs" and inputs[0].dtype.kind == "c":
            return self._moved(result, *self._allowed(node, inputs, result))
        if kind not in "fc" or name not in (FUNCTIONS | SUMS if kind == "f" else OF_COMPLEX):
            return result
        if name == "reduce_prod":
            result = self._one_of(result, node.op.kernel(np.ascontiguousarray(inputs[0]), **node.params))
        if name in ("reduce_sum", "reduce_prod") and kind == "f" and result.size * 3 > np.size(inputs[0]):
            return result  # of two terms there is one
        wide, allowed, any_way = self._allowed(node, inputs, result)
        if kind != "c":
            return self._moved(result, wide, allowed, any_way)
        moved = np.empty(result.shape, result.dtype)
        moved.real = self._moved(result.real, wide.real, allowed, any_way)
        moved.imag = self._moved(result.imag, wide.imag, allowed, any_way)
        return moved

    def _one_of(self, x: Any, y: Any) -> Any:
        return np.where(self.rng.random(x.shape) < 0.5, x, y).astype(x.dtype)

    def _allowed(self, node: Node, inputs: Sequence[Any], result: Any) -> tuple[Any, Any, Any]:
        """What the result is in higher precision, how far from it another may be, and where parts of it overflow in one
        order of its terms and not in another."""
        name, limits = node.op.name, np.finfo(result.dtype)
        operands = [_widened(x) for x in inputs]
        wide = np.asarray(node.op.kernel(*operands, **copy.copy(node.params)))
        off = abs(wide - result)
        if (name in SUMS and name != "reduce_prod") or name == "multiply":
            sizes = [_size(x) for x in operands]
            scale = abs(np.asarray(node.op.kernel(*sizes, **copy.copy(node.params))))
            any_way = scale > float(limits.max) * 0.999
            if result.dtype.kind == "c" and name != "multiply":  # those of a BLAS, of infinite parts
                any_way |= ~np.isfinite(result)
            return wide, 2 * off + 4 * limits.eps * scale, any_way
        few = 2 if name != "reduce_prod" else 2 + (np.size(inputs[0]) // result.size).bit_length()
        units = np.where(result == 0, 0, abs(result)) * limits.eps
        least = np.where((result == 0) & (wide == 0), 0, limits.smallest_subnormal)
        return wide, 2 * off + few * np.maximum(units, least), np.False_

    def _moved(self, result: Any, wide: Any, allowed: Any, any_way: Any = False) -> Any:
        rng, shape = self.rng, result.shape
        if self.together == 0:
            by = rng.choice([-1.0, 1.0])
        elif self.together == 1:
            by = rng.uniform(-1, 1, shape)
        else:
            by = rng.choice([-1.0, 0.0, 1.0], shape)
        moved = np.where(np.isfinite(allowed) & np.isfinite(result), result + by * self.part * allowed, result)
        loose = any_way | ~np.isfinite(result) & np.isfinite(wide)
        per = shape if self.together else ()  # elements that overflow may do so alike
        others = rng.choice([np.nan, np.inf, -np.inf], per)
        likely = np.where(rng.random(per) < 0.5, moved, np.asarray(wide).astype(result.dtype))
        others = np.where(rng.random(per) < 0.5, others, likely)
        return np.where(loose, others, moved).astype(result.dtype)


def _checksum(x: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(x)) if hasattr(x, "dtype") else 0


def _size(x: Any) -> Any:
    """Absolute values, of the parts of complex numbers together, of what is finite."""
    kind = getattr(x, "dtype", np.dtype(bool)).kind
    if kind == "c":
        return _size(x.real) + _size(x.imag)
    return np.where(np.isfinite(x), abs(x), 0) if kind == "f" else x


def _widened(x: Any) -> Any:
    kind = getattr(x, "dtype", np.dtype(bool)).kind
    if kind == "f":
        return np.asarray(x).astype(np.float64 if x.dtype.itemsize < 8 else np.longdouble)
    if kind == "c":
        return np.asarray(x).astype(np.complex128 if x.dtype.itemsize < 16 else np.clongdouble)
    return x
