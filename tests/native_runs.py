"""Graphs on both executors, and where their results differ: what the tests of the native executor share."""
from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from op_checks import forgotten, last_dim_needed, type_of, value_of
from traced_once import on_both

import runtime as rt
from runtime.core.graph import Graph
from runtime.core.op import Op
from runtime.core.trace import add_input, apply, set_outputs, tracing
from runtime.function.execution.executors import make

__all__ = ["Batch", "Compared", "bound", "compare", "difference", "layouts", "line", "steps_apart"]

Bound = Callable[[Any, Any], Any]  # from what is wanted and the arguments to how far off a result may be


def steps_apart(got: Any, want: Any) -> Any:
    """How many floats of the dtype lie between; 0 for two NaNs."""
    bits = {2: np.int16, 4: np.int32, 8: np.int64}[got.dtype.itemsize]
    least = np.iinfo(bits).min

    def line(x: Any) -> Any:
        whole = np.ascontiguousarray(x).view(bits)
        return np.where(whole < 0, least - whole.astype(object), whole.astype(object))

    return np.where(np.isnan(got) & np.isnan(want), 0, abs(line(got) - line(want)))


def difference(got: Any, want: Any, ulps: int = 0, allowed: Any = None) -> str | None:
    """Where a result differs, or None. NaN is like NaN; -0.0 is not like 0.0 unless something is allowed."""
    if isinstance(want, tuple) or isinstance(got, tuple):
        if not _has_elements(got) or not _has_elements(want) or len(got) != len(want):
            return f"{got!r}, not {want!r}"
        return next((d for g, w in zip(got, want) if (d := _element(g, w, ulps, allowed))), None)
    return _element(got, want, ulps, allowed)


def _has_elements(x: Any) -> bool:
    """Whether it is a list as executors give it: a tuple, or an array of its elements."""
    return isinstance(x, tuple) or (isinstance(x, np.ndarray) and x.ndim > 0)


def _element(got: Any, want: Any, ulps: int, allowed: Any) -> str | None:
    if got is None or want is None:  # an element of a list that was not written reads as zeros
        other = want if got is None else got
        return None if other is None or not np.any(other) else f"{got!r}, not {want!r}"
    got, want = np.asarray(got), np.asarray(want)
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"{got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
    if want.dtype.kind == "c":
        part = want.real.dtype
        return _element(np.array([got.real, got.imag], part), np.array([want.real, want.imag], part), ulps, allowed)
    if want.dtype.kind == "f":
        same = np.isnan(got) & np.isnan(want) | (got == want) & (np.signbit(got) == np.signbit(want))
        if ulps:
            same |= steps_apart(got, want) <= ulps
        if allowed is not None:
            with np.errstate(all="ignore"):
                same |= (got == want) | (abs(got.astype("f8") - want.astype("f8")) <= allowed)
    else:
        same = got == want
    if np.all(same):
        return None
    where = tuple(int(k) for k in np.argwhere(~same)[0])
    return f"{got[where]!r}, not {want[where]!r}, at {list(where)} of {list(want.shape)} ({np.sum(~same)} differ)"


def compare(fn: Callable[..., Any], *arguments: Any, blocks: bool | None = None, relaxed: bool = False, ulps: int = 0
            ) -> Any:
    """Both executors give the same; `blocks`: whether a loop runs block by block."""
    return Compared(fn, *arguments, blocks=blocks, relaxed=relaxed, ulps=ulps)(*arguments)


class Compared:
    """A function that is traced and compiled once, for arguments of the types of these: a call is `compare`."""

    def __init__(self, fn: Callable[..., Any], *like: Any, blocks: bool | None = None, relaxed: bool = False,
                 ulps: int = 0) -> None:
        tensors = [rt.constant(a) for a in like]
        specs = [rt.TensorSpec([None] * t.ndim, t.dtype) if relaxed else t for t in tensors]
        self.reference, self.native = (traced.get_concrete_function(*specs) for traced in on_both(fn).values())
        self.blocks, self.ulps = blocks, ulps

    def __call__(self, *arguments: Any) -> Any:
        want, results = ([x.numpy() for x in rt.nest.flatten(concrete(*map(rt.constant, arguments)))]
                         for concrete in (self.reference, self.native))
        if self.blocks is not None:
            text = self.native.explain_native()
            assert ("block by block" in text) is self.blocks, text
        for got, expected in zip(results, want, strict=True):
            assert (found := difference(got, expected, self.ulps)) is None, found
        return results


def line(size: int, low: float = -2, high: float = 2, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(low, high, size).astype(np.float32)


def bound(op: str, arguments: Sequence[Any], params: dict[str, Any], kernel: Callable[..., Any]) -> Any:
    """How far floats of both executors may be apart for a sum or product: None if they must be the same.

    Both sum pairwise or better, so a sum is off by some units in the last place of the sum of the absolute values.
    """
    if not arguments or isinstance(arguments[0], tuple):  # a list
        return None
    x = np.asarray(arguments[0])
    if x.dtype.kind not in "fc":
        return None
    eps = float(np.finfo(x.dtype).eps)
    with np.errstate(all="ignore"):
        if op == "reduce_sum":
            return eps * (20 + np.log2(max(x.size, 2))) * kernel(abs(x).astype("f8"), **params)
        if op == "reduce_prod":
            return 2 * eps * x.size * kernel(abs(x).astype("f8"), **params)
        if op in ("matmul", "einsum"):
            wide = [abs(np.asarray(a)).astype("f8") for a in arguments]
            return eps * (4 + x.shape[-1] if x.ndim else 4) * kernel(*wide, **params)
        if op.startswith("conv"):  # float16 is added up in float32, and rounded once
            wide = [abs(a.astype("f8")) if a.dtype.kind == "f" else a for a in arguments]
            terms = kernel(*[np.ones_like(a) if a.dtype.kind == "f" else a for a in wide], **params)
            step = min(eps, float(np.finfo(np.float32).eps))
            return (eps * (eps > step) + step * (4 + terms)) * kernel(*wide, **params)
    return None


def layouts(x: Any) -> list[Any]:
    """Arrays with the elements of `x` that lie in memory in other ways."""
    x = np.asarray(x)
    wide = np.zeros([2 * d + 1 for d in x.shape], x.dtype)
    every_second = wide[tuple(slice(1, 2 * d + 1, 2) for d in x.shape)]
    every_second[...] = x
    backwards = np.ascontiguousarray(x[tuple([slice(None, None, -1)] * x.ndim)])[tuple(
        [slice(None, None, -1)] * x.ndim)]
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:]
    unaligned = raw.view(x.dtype).reshape(x.shape) if x.size else x.copy()
    unaligned[...] = x
    found = [np.asfortranarray(x), every_second, backwards, unaligned]
    if x.ndim and x.shape[0] > 1 and (x == x[:1]).all():
        found.append(np.broadcast_to(x[:1], x.shape))
    return found


class Batch:
    """Many nodes in one graph, each with inputs of its own: compiled once, for each executor."""

    def __init__(self, name: str) -> None:
        self.graphs = Graph(name), Graph(name)  # what has a state, such as random numbers, has it twice
        self.values: list[Any] = []
        self.checks: list[tuple[str, int, int, Any]] = []
        self.outputs: tuple[list[Any], list[Any]] = [], []
        self.native: Any = None
        """What runs natively, once it ran."""

    def add(self, op: Op, arguments: Sequence[Any], params: dict[str, Any], hide: bool = False, ulps: int = 0,
            allowed: Any = None) -> None:
        """`hide`: dims are unknown in the graph. For the rest see `difference`."""
        types = [type_of(a) for a in arguments]
        if hide:
            kept = last_dim_needed(op, types)
            types = [t if i in kept else forgotten(t) for i, t in enumerate(types)]
        for graph, outputs in zip(self.graphs, self.outputs):
            with tracing(graph):
                result = apply(op, *[add_input(graph, t) for t in types], **copy.deepcopy(params))
            results = result if isinstance(result, tuple) else (result,)
            outputs += results
        self.values += map(value_of, arguments)
        text = ", ".join(f"{type_of(a)}" for a in arguments)
        self.checks.append((f"{op.name}({text}, {params}){' with unknown dims' if hide else ''}", len(results), ulps,
                            allowed))

    def differences(self) -> list[str]:
        """Where the native executor differs from the reference."""
        found = []
        for graph, outputs in zip(self.graphs, self.outputs):
            with tracing(graph):
                set_outputs(graph, outputs)
        want = make(self.graphs[0], "numpy").function()(*self.values)
        self.native = make(self.graphs[1], "native")
        got = self.native.function()(*self.values)
        at = 0
        for text, count, ulps, allowed in self.checks:
            for k in range(at, at + count):
                different = difference(got[k], want[k], ulps, allowed)
                if different is not None:
                    found.append(f"{text}: {different}")
            at += count
        return found
