"""Functions that are traced once for both executors: a trace does not depend on what will run it."""
from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import runtime as rt
from runtime.function.concrete import ConcreteFunction
from runtime.function.function import Function
from runtime.function.signature import Call

__all__ = ["Again", "on", "on_both"]


class Again(Function):
    """A function with the traces of another one, compiled for itself."""

    def __init__(self, traced: Function, executor: str, optimized: bool = True) -> None:
        """`optimized`: their optimised graphs, too."""
        super().__init__(
            traced.python_function, input_signature=traced.input_signature, autograph=traced.autograph,
            reduce_retracing=traced.reduce_retracing, executor=executor, name=traced.name,
            max_traces=traced.max_traces, fast_math=traced.fast_math)
        self._forms, self._attributes = traced._forms, traced._attributes
        self._traced, self._takes_optimized = traced, optimized

    def _trace_as_general_as_useful(self, call: Call) -> ConcreteFunction:
        found = copy.copy(self._traced._find_or_trace(call))
        found._executor, found._compiled, found.findable = self.executor, None, None
        found.run = found._compile_and_run
        found.used = copy.copy(found.used)
        self._count += 1
        found._optimized = found.optimized if self._takes_optimized and not self.fast_math else None
        return found


@functools.lru_cache(maxsize=64)
def _traced(fn: Callable[..., Any]) -> Function:
    return rt.function(fn, executor="numpy")


def on(executor: str, fn: Callable[..., Any]) -> Any:
    """`rt.function(fn, executor=executor)`, traced once for both: for functions that do the same each time they are
    traced."""
    return _traced(fn) if executor == "numpy" else Again(_traced(fn), executor)


def on_both(fn: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """The function by executor, traced once."""
    traced: Any = rt.function(fn, executor="numpy", **options)
    return {"numpy": traced, "native": Again(traced, "native")}
