"""Recorded calls of graphs: the forward and the backward pass are each one call, of separate graphs."""
from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from autograph.backend import deferred, until_gone
from runtime.autodiff.activity import differentiable, variables_read
from runtime.autodiff.backward import NoGradientError
from runtime.autodiff.cotangents import zero_for
from runtime.autodiff.entries import Entry, Pull
from runtime.autodiff.forward import tangent_graph
from runtime.autodiff.reverse import Derivative, derivative
from runtime.autodiff.rules.gather import of_rows
from runtime.core.graph import Graph
from runtime.core.inline_graph import inline
from runtime.core.recording import record_call, recorders
from runtime.core.trace import current_graph
from runtime.core.variable_bindings import NO_VARIABLES, binding

if TYPE_CHECKING:
    from runtime import optimize
    from runtime.function.execution import executors
    from runtime.numbers import prepared
else:
    executors = deferred("runtime.function.execution.executors")
    optimize = deferred("runtime.optimize")
    prepared = deferred("runtime.numbers.prepared")

__all__ = ["GraphCall", "call_of", "called"]

class GraphCall:
    """A graph that is called as one op, and its derivatives, each made on first use.

    passed   by the ids of placeholders of variables: the variables that calls pass for them (see `bound`)
    general  the same call without variables passed for placeholders
    """

    def __init__(self, graph: Graph, executor: str | None, fast_math: bool) -> None:
        self.graph, self.executor, self.fast_math = graph, executor, fast_math
        self.captures = [outer for outer, _ in graph.captures]
        self.variables = list(variables_read(graph).values())
        self.types = [value.type for value in graph.outputs]
        self._lock = threading.RLock()
        self._run: Callable[..., tuple[Any, ...]] | None = None
        self._tangents: dict[tuple[bool, ...], tuple[GraphCall, list[int | None]]] = {}
        self._recorded: dict[tuple[bool, ...], _Recorded | NoGradientError] = {}
        self.passed: Mapping[int, Any] = NO_VARIABLES
        self.general = self

    def bound(self, variables: Mapping[int, Any]) -> GraphCall:
        """The same call with variables for its placeholders, by their ids; shares everything made for the call."""
        if not variables:
            return self
        new = copy.copy(self.general)
        new.passed = variables
        new.variables = [variables.get(id(v), v) for v in self.general.variables]
        return new

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        """The results, without recording."""
        own = self.general
        with self._lock:
            if own._run is None:
                own._run = executors.make(self.optimized, self.executor, self.fast_math).function()
        with binding(self.passed) if self.passed else nullcontext():
            return executors.tensors_of(own._run(*executors.arrays_of(leaves)), self.types)

    @property
    def optimized(self) -> Graph:
        """The graph that is executed."""
        return optimize.rewrite(self.general.graph, fast_math=self.fast_math)

    def sources(self, leaves: Sequence[Any]) -> list[Any]:
        """The tensors, lists and variables that a call uses."""
        return [*leaves, *self.captures, *self.variables]

    def record(self, leaves: Sequence[Any], wanted: tuple[bool, ...], order: int = 1) -> Entry:
        """Call it so that cotangents of the `wanted` sources can be computed, for derivatives up to `order`."""
        with self._lock:
            recorded = self._recorded.get(wanted)
            if recorded is None:
                recorded = self._recorded[wanted] = self.general._derived(wanted)
        if isinstance(recorded, NoGradientError):
            return Entry(self.sources(leaves), called(self, leaves), _failing(recorded))
        return recorded.call(leaves, order, self.passed)

    def tangent(self, wanted: tuple[bool, ...]) -> tuple[GraphCall, list[int | None]]:
        """The call with tangents of the `wanted` sources as additional inputs, and of its results as additional
        results."""
        with self._lock:
            found = self._tangents.get(wanted)
            if found is None:
                graph, results = tangent_graph(
                    self.graph, [i for i, want in enumerate(wanted[:len(wanted) - len(self.variables)]) if want],
                    [v for v, want in zip(
                        self.general.variables, wanted[len(wanted) - len(self.variables):], strict=True) if want])
                call = GraphCall(prepared.prepared(graph), self.executor, self.fast_math)
                found = self._tangents[wanted] = call, results
        return found[0].bound(self.passed), found[1]

    def _derived(self, wanted: Sequence[bool]) -> _Recorded | NoGradientError:
        count = len(wanted) - len(self.variables)
        numbers = [i for i in range(count) if wanted[i]]
        variables = [v for v, want in zip(self.variables, wanted[count:], strict=True) if want]
        outputs = [k for k, type in enumerate(self.types) if differentiable(type)]
        try:
            found = derivative(self.graph, numbers, variables, outputs)
        except NoGradientError as error:
            return error
        return _Recorded(self, found, tuple(wanted), outputs)


class _Recorded:
    """A call whose `forward` graph also returns the residuals for its backward pass."""

    def __init__(
        self, call: GraphCall, derivative: Derivative, wanted: tuple[bool, ...], outputs: Sequence[int]
    ) -> None:
        self.results, self.wanted, self.outputs = len(call.types), wanted, outputs
        self.inputs_used, self.found = derivative.inputs_used, derivative.found
        self.forward = GraphCall(derivative.forward, call.executor, call.fast_math)
        self.forward.variables = list(call.general.variables)  # in the order of `wanted`, not of its own reads
        self.backward = GraphCall(prepared.prepared(derivative.backward), call.executor, call.fast_math)

    def call(self, leaves: Sequence[Any], order: int, variables: Mapping[int, Any]) -> Entry:
        """Call `forward`. Derivatives of higher order depend on the residuals: then this call is recorded, too."""
        forward, backward = self.forward.bound(variables), self.backward.bound(variables)
        deeper = forward.record(leaves, self.wanted, order - 1) if order > 1 else None
        outputs = called(forward, leaves) if deeper is None else deeper.outputs
        saved = [*(leaves[i] for i in self.inputs_used), *outputs[self.results:len(forward.types)]]
        sources = forward.sources(leaves)

        def pull(cts: Sequence[Any], wanted: Sequence[bool]) -> Sequence[Any]:
            if any(ct is not None for ct in cts[self.results:]):
                entry = forward.record(leaves, self.wanted) if deeper is None else deeper
                return entry.pull([*cts, *[None] * (len(entry.outputs) - len(cts))], wanted)
            seeds = [zero_for(outputs[k]) if cts[k] is None else cts[k] for k in self.outputs]
            found = called(backward, [*saved, *seeds])
            made: list[Any] = [None] * len(sources)
            for i, k in zip([i for i, want in enumerate(self.wanted) if want], self.found, strict=True):
                if k is not None:
                    made[i] = of_rows(found[k[0]], found[k[1]], sources[i]) if isinstance(k, tuple) else found[k]
            return made

        return Entry(sources, outputs, pull)


def _failing(error: NoGradientError) -> Pull:
    def pull(cts: Sequence[Any], wanted: Sequence[bool]) -> Sequence[Any]:
        raise error
    return pull


_calls: Final[dict[int, tuple[GraphCall, object]]] = {}
"""By the id of a traced function, for its lifetime."""


def call_of(function: Any) -> GraphCall:
    """The graph of a traced function as a recordable call."""
    found = _calls.get(id(function))
    if found is None:
        call = GraphCall(prepared.prepared(function.graph), function.executor, function.fast_math)
        found = _calls[id(function)] = call, until_gone(function, _calls, id(function))
    return found[0]


def called(call: GraphCall, leaves: Sequence[Any]) -> list[Any]:
    """The results of a call, traced into the current graph or computed at once; recorders are notified."""
    graph = current_graph()
    if graph is not None:
        return inline(call.graph, graph, leaves, call.passed)
    recorded = record_call(call, leaves, call.passed) if recorders else None
    return call(leaves) if recorded is None else recorded
