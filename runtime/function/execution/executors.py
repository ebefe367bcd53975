"""The executors of graphs: native code, or the reference executor on NumPy.

Native code needs llvmlite. Without it, graphs run on NumPy, with one warning.
"""
from __future__ import annotations

import functools
import importlib.util
import sys
import warnings
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from autograph.backend import deferred
from runtime.backends.executable import Executable, Returned
from runtime.backends.numpy import executable
from runtime.backends.timed_numpy import TimedProgram
from runtime.core.config import check_executor, settings
from runtime.core.graph import Graph
from runtime.core.profiling import Region, Session
from runtime.core.routine import Routine
from runtime.core.tensor import EagerList, EagerTensor
from runtime.core.types import ListType, Type
from runtime.numbers.widen_python_numbers import with_python_numbers
from runtime.ops.control import CALL
from runtime.optimize import rewrite
from runtime.optimize.numeric_checks import with_numeric_checks

if TYPE_CHECKING:
    from runtime.backends.native.jit import executor as native
    from runtime.backends.native.jit import timed as timed_native
else:
    native = deferred("runtime.backends.native.jit.executor")  # loading LLVM takes longer than all other imports
    timed_native = deferred("runtime.backends.native.jit.timed")

__all__ = [
    "EXECUTORS", "Timed", "able", "arrays_of", "chosen", "flush_subnormals", "load", "make", "tensors_of", "timed",
    "unstacking"]


class Reference:
    """A graph for the reference executor: kernels are called in order."""

    is_closed = False  # results may be views of operands
    overwritten = frozenset[int]()
    restores = may_raise = True

    def __init__(self, graph: Graph, fast_math: bool, donated: Mapping[int, int], is_final: bool) -> None:
        self.graph = graph

    def function(self) -> Callable[..., tuple[Any, ...]]:
        return executable(self.graph)

    def findable(self, returned: Returned | None, only_arrays: bool) -> None:
        """Does nothing: calls always go through Python."""

    def inspect_llvm(self, optimized: bool = True) -> str:
        raise ValueError(f"{self.graph.name} runs on NumPy and has no native code; use executor='native'")

    def inspect_asm(self) -> str:
        return self.inspect_llvm()

    def explain(self) -> str:
        return f"{self.graph.name} runs on NumPy: {len(list(self.graph.walk()))} kernels are called in order."


def arrays_of(leaves: Sequence[Any], unused: Container[int] = ()) -> list[Any]:
    """The inputs of executables for eager tensors and lists; empty for lists whose index is in `unused`."""
    return [leaf._array if not isinstance(leaf, EagerList) else () if k in unused else leaf.items
            for k, leaf in enumerate(leaves)]


def tensors_of(arrays: Sequence[Any], types: Sequence[Type]) -> list[Any]:
    """The eager tensors and lists for the results of executables."""
    return [EagerList(x, type) if isinstance(type, ListType) else EagerTensor.own(x)
            for x, type in zip(arrays, types, strict=True)]


def _native(graph: Graph, fast_math: bool, donated: Mapping[int, int], is_final: bool) -> Executable:
    return native.Native(graph, fast_math, donated, is_final)


EXECUTORS: Final[dict[str, Callable[[Graph, bool, Mapping[int, int], bool], Executable]]] = {
    "native": _native, "numpy": Reference}
"""By name, as passed to `rt.function(executor=...)`: the function that makes a graph ready to run."""


@functools.lru_cache(maxsize=1)
def _has_llvm() -> bool:
    supported = sys.maxsize > 2 ** 32 and sys.implementation.name == "cpython" and object.__basicsize__ == 16
    if supported and importlib.util.find_spec("llvmlite") is not None:
        return True
    what = "llvmlite is not installed" if supported else "there is no native code for this interpreter"
    warnings.warn(f"{what}, so graphs run on NumPy, which is slow for loops" + (
        ": pip install llvmlite" if supported else ""), RuntimeWarning, stacklevel=2)
    return False


def chosen(executor: str | None) -> str:
    """The name of the executor to use. ValueError for an unknown one."""
    if executor is None:
        executor = settings.executor
    if executor is None:
        return "native" if _has_llvm() else "numpy"
    check_executor(executor)  # also if it comes from RUNTIME_EXECUTOR
    if executor == "native" and not _has_llvm():
        raise ValueError("the native executor needs llvmlite: pip install llvmlite, or take executor='numpy'")
    return executor


def load() -> None:
    """Load the modules of the default executor, which the first call would do otherwise."""
    if chosen(None) == "native":
        native.Native  # noqa: B018 - loads LLVM


@contextmanager
def flush_subnormals() -> Iterator[None]:
    """Within this context, float arithmetic of this thread treats subnormal numbers, which are nearer to zero than any
    number of full precision (1.2e-38 for float32, 2.2e-308 for float64), as zero. They cost most processors a hundred
    extra cycles, and the moments of optimizers decay into them. TensorFlow and XLA always do this.

    It applies to native code, including the threads of its loops, to NumPy, to Python floats, and to threads started
    meanwhile; it has no effect on processors other than x86 and ARM, or without llvmlite. Normal results may differ,
    too, if operands are subnormal. Contexts may be nested (`torch.set_flush_denormal`).
    """
    if not _has_llvm():
        yield
        return
    before = native.set_flush(True)
    try:
        yield
    finally:
        native.set_flush(before)


def unstacking() -> tuple[Callable[[Any], list[EagerTensor]], Callable[[list[Any]], list[EagerTensor]]] | None:
    """The functions `unstacked` and `wrapped` of native code, if that is the default executor; otherwise None."""
    return native.UNSTACKING if chosen(None) == "native" else None


class Timed(Protocol):
    """A graph compiled once more in order to measure its calls. `region`: that of a call."""

    @property
    def region(self) -> Region: ...

    def __call__(self, session: Session, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The results for arrays; the times are added to the session."""


def timed(graph: Graph, executor: str | None, fast_math: bool = False) -> Timed:
    """A graph, ready to run, for calls that are profiled: native code with timestamps, or kernels timed one by one."""
    if settings.check_numerics:
        graph, fast_math = with_numeric_checks(graph), False
    native_too = able(graph, chosen(executor)) == "native"
    return timed_native.Timed(graph, fast_math) if native_too else TimedProgram(graph)


def make(
    graph: Graph, executor: str | None, fast_math: bool = False, donated: Mapping[int, int] = {}, is_final: bool = True
) -> Executable:
    """The graph, ready to run, with the routines that it calls.

    fast_math  floats may be reordered, and NaN and infinity are assumed not to occur
    donated    output index -> index of an input of the same type whose memory may be reused for the output
    is_final   whether an error of a call need not restore the memory of donated inputs
    """
    if settings.check_numerics:
        graph, fast_math = with_numeric_checks(graph), False
    name = chosen(executor)
    _make_routines(graph, name, fast_math)
    return _executable(graph, name, fast_math, donated, is_final)


def _make_routines(graph: Graph, executor: str, fast_math: bool) -> None:
    """Make the routines that a graph calls ready to run, except those that native code calls directly."""
    made: dict[Routine, str] = {}
    _find_routines(graph, able(graph, executor), made)
    for routine, executor in made.items():
        if executor not in routine.runs and (executor != "native" or native.why_not_direct(routine) is not None):
            assert routine.optimized is not None
            routine.runs[executor] = _executable(routine.optimized, executor, fast_math).function()


def _find_routines(graph: Graph, executor: str, found: dict[Routine, str]) -> None:
    """Optimise the routines that a graph calls, transitively, and record the executor that runs each."""
    for node in graph.walk():
        if node.op is not CALL:
            continue
        routine = node.params["function"]
        if routine not in found:
            found[routine] = executor
            if routine.optimized is None:
                routine.optimized = rewrite(with_python_numbers(routine.graph))
            _find_routines(routine.optimized, able(routine.optimized, executor), found)


def _executable(
    graph: Graph, executor: str, fast_math: bool, donated: Mapping[int, int] = {}, is_final: bool = True
) -> Executable:
    return EXECUTORS[able(graph, executor)](graph, fast_math, donated, is_final)


def able(graph: Graph, executor: str) -> str:
    """The executor, or the reference executor if native code lacks one of the graph's dtypes."""
    return "numpy" if executor == "native" and _needs_reference(graph) else executor


def _needs_reference(graph: Graph) -> bool:
    """Whether there are strings or narrow floats, for which there is no native code."""
    return any(_is_foreign(value.type) for value in graph.values())


def _is_foreign(type: Type) -> bool:
    dtype = type.element.dtype if isinstance(type, ListType) else type.dtype
    return dtype.is_narrow or dtype.is_string
