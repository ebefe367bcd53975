"""Functions that are traced once for both executors: a trace does not depend on what will run it."""
from __future__ import annotations

import copy
import dis
import functools
import operator
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import runtime as rt
from autograph.state.reachability import cell_is_filled
from runtime.function.arguments.signature import Call
from runtime.function.concrete import ConcreteFunction
from runtime.function.function import Function

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


class _Same:
    """A function, equal to one of the same code that closes over the very same objects: what a test defines again for
    each executor."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn, self._parts = fn, tuple(_parts(fn, set()))

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._parts)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and len(self._parts) == len(other._parts) and all(
            map(operator.is_, self._parts, other._parts))


def _parts(fn: Any, seen: set[int]) -> Iterator[Any]:
    """What a function is made of: its code, its defaults and the contents of its cells, where functions are taken apart
    in the same way. One that assigns to a cell equals only itself: a trace assigns to the cells of the function that is
    traced."""
    if not isinstance(fn, FunctionType) or fn.__dict__ or _assigns(fn.__code__, set(fn.__code__.co_freevars)):
        yield fn
        return
    seen.add(id(fn))
    yield from (fn.__code__, fn.__globals__, *(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values())
    for cell in fn.__closure__ or ():
        if not cell_is_filled(cell):
            yield cell
        elif id(cell.cell_contents) not in seen:
            yield from _parts(cell.cell_contents, seen)


def _assigns(code: CodeType, names: set[str]) -> bool:
    """Whether the code, or code in it, assigns to one of these variables of the functions around it."""
    return bool(names) and (
        any(at.opname in ("STORE_DEREF", "DELETE_DEREF") and at.argval in names for at in dis.get_instructions(code))
        or any(_assigns(inner, names & set(inner.co_freevars))
               for inner in code.co_consts if isinstance(inner, CodeType)))


@functools.lru_cache(maxsize=64)
def _traced(same: _Same) -> Function:
    return rt.function(same.fn, executor="numpy")


def on(executor: str, fn: Callable[..., Any]) -> Any:
    """`rt.function(fn, executor=executor)`, traced once for both: for functions that do the same each time they are
    traced."""
    traced = _traced(_Same(fn))
    return traced if executor == "numpy" else Again(traced, executor)


def on_both(fn: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """The function by executor, traced once."""
    traced: Any = rt.function(fn, executor="numpy", **options)
    return {"numpy": traced, "native": Again(traced, "native")}
