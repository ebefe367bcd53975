"""Graphs for the tests of `runtime.optimize`: how they are made, run and compared."""
from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import runtime as rt
from runtime.backends.numpy import executable
from runtime.core import types as t
from runtime.core.graph import Graph
from runtime.core.types import TensorType
from runtime.optimize import RULES, Fired, rewrite

SPECIAL = {
    "b": [False, True], "i": [0, 1, -1, 2, -2, 3, 7, 127, -128], "u": [0, 1, 2, 3, 255, 128],
    "f": [0.0, -0.0, 1.0, -1.0, 1.5, 3.25, np.nan, -np.nan, np.inf, -np.inf, 1e30, -1e-30, 5e-324, 65504.0, 2049.0],
    "c": [0, 1, -1j, complex(np.nan, 1), complex(-0.0, np.inf), 2 + 3j, complex(np.inf, np.nan)],
}


def spec(text: str) -> Any:
    """`int32[?,3]` as a TensorSpec."""
    dtype, dims = text.rstrip("]").split("[")
    return rt.TensorSpec([None if d == "?" else int(d) for d in dims.split(",") if d], dtype)


def traced(fn: Callable[..., Any], *specs: str) -> Graph:
    graph = rt.function(fn).get_concrete_function(*map(spec, specs)).graph
    graph.verify()
    return graph


def text(graph: Graph) -> str:
    """The text of a graph without its name."""
    return str(graph).split("(", 1)[1]


def outline(graph: Graph) -> str:
    """The ops of a graph in a line, with how many results control flow has: `mul reduce/2(body: add; test: not)`."""
    parts = []
    for node in graph.nodes:
        if node.subgraphs:
            inner = "; ".join(f"{name}: {outline(sub)}".strip() for name, sub in node.subgraphs.items())
            parts.append(f"{node.op.name}/{len(node.outputs)}({inner})")
        elif node.op.name != "const":
            parts.append(node.op.name)
    return " ".join(parts)


def only(graph: Graph, *rules: str, log: list[Fired] | None = None) -> Graph:
    """The graph rewritten by these rules and `dead code`, verified."""
    new = rewrite(graph, [RULES[name] for name in {*rules, "dead code"}], log)
    new.verify()
    return new


def values(type: t.Type, seed: int, size: int = 3) -> Any:
    """An array of a type, of special values; unknown dimensions are `size`."""
    assert isinstance(type, TensorType)
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        pool = np.array(SPECIAL[type.dtype.np.kind]).astype(type.dtype.np)
    if type.dtype.is_integer and type.dtype.size > 1:
        pool = np.append(pool, np.array(type.dtype.limits, type.dtype.np))
    return np.asarray(rng.choice(pool, [size if d is None else d for d in type.shape]))


def outcome(graph: Graph, arguments: Iterable[Any]) -> Any:
    """What a run of the graph gives: the bits of its results, or its error; and what it prints."""
    printed = io.StringIO()
    result: Any
    with contextlib.redirect_stdout(printed):
        try:
            arrays = executable(graph)(*arguments)
            result = [(a.dtype.name, a.shape, a.tobytes()) if isinstance(a, np.ndarray) else
                      [(x.dtype.name, x.shape, np.asarray(x).tobytes()) for x in a] for a in arrays]
        except Exception as error:
            result = type(error), str(error)
    return result, printed.getvalue()


def some_arguments(graph: Graph, seed: int) -> list[Any]:
    """Values for the inputs: of unknown dimensions all are of one size, or some of size 1, so that they broadcast."""
    size, some = seed % 4, seed // 4 % 3
    return [values(value.type, 17 * seed + i, size if some == 0 or (i + some) % 2 else 1)
            for i, value in enumerate(graph.inputs)]


def same_runs(before: Graph, after: Graph, runs: int = 12, counts: bool = False) -> None:
    """Both graphs give the same bits, prints and errors for special values; `counts`: integers are small ones."""
    for seed in range(runs):
        arguments = some_arguments(before, seed)
        if counts:
            arguments = [np.clip(a, -3, 9) if a.dtype.kind == "i" else a for a in arguments]
        assert outcome(before, arguments) == outcome(after, arguments), f"for {arguments}"
