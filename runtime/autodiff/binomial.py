"""Binomial checkpoints: the backward pass of a counted loop, with memory for a few states.

Griewank and Walther, "Algorithm 799: revolve" (2000). The forward loop saves nothing. The backward loop starts from the
last iteration; it keeps snapshots of states in tensors with one row per snapshot, recomputes from the last snapshot up
to the current iteration, and on the way takes further snapshots where they save the most work.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autograph.backend import deferred
from runtime.autodiff.activity import Activity, state_of, useful_state
from runtime.autodiff.backward import sweep
from runtime.autodiff.branches import Targets
from runtime.autodiff.cotangents import Cotangents, fit, zero_for
from runtime.core.errors import UnimplementedError, locate
from runtime.core.graph import Graph, Node, Value
from runtime.core.inline_graph import inline
from runtime.core.op import CAST
from runtime.core.trace import add_input, apply, capture, current_graph, set_outputs, tracing, wrap
from runtime.core.types import ListType, TensorType, float64, int64
from runtime.ops.control import REDUCE, WHILE_LOOP
from runtime.ops.creation import zeros
from runtime.ops.indexing import getitem, setitem
from runtime.ops.logic import equal, greater, less, logical_and
from runtime.ops.math import add, cast, ceil, divide, floordiv, log, maximum, minimum, multiply, subtract
from runtime.ops.shape import dim

if TYPE_CHECKING:
    from runtime.staging import control_flow
else:
    control_flow = deferred("runtime.staging.control_flow")

__all__ = ["revolve", "split"]

_INT = TensorType(int64)


def split(length: Any, snapshots: Any) -> Any:
    """The number of iterations, out of `length` (at least 2), after which to take a snapshot, to pull all of them back
    with the fewest recomputations, if there is room for `snapshots` states, including that before the first
    iteration."""
    def grow(runs: Any, reach: Any) -> Any:
        runs = add(runs, np.int64(1))
        return runs, floordiv(multiply(reach, add(snapshots, runs)), runs)

    # reach = (snapshots + runs over runs): the most iterations that `runs` runs of each suffice for
    runs, reach = control_flow.while_loop(lambda runs, reach: less(reach, length), grow, (np.int64(0), np.int64(1)))
    one_less = floordiv(multiply(reach, runs), add(snapshots, runs))
    two_less = floordiv(multiply(one_less, subtract(runs, np.int64(1))), subtract(add(snapshots, runs), np.int64(1)))
    fewer = subtract(reach, one_less)  # with one snapshot less
    least = maximum(maximum(two_less, subtract(length, fewer)), np.int64(1))
    return minimum(least, subtract(length, np.int64(1)))


def revolve(loop: Node, count: Any, result_cts: Sequence[Any], cts: Cotangents, activity: Activity) -> None:
    """Pull cotangents back through the `count` iterations that a loop has run."""
    useful = useful_state(loop, activity, [k for k, ct in enumerate(result_cts) if ct is not None])
    if useful:
        _Revolve(loop, useful, activity).run(count, result_cts, cts)


class _Revolve:
    def __init__(self, loop: Node, useful: Sequence[int], activity: Activity) -> None:
        self.useful, self.activity = useful, activity
        self.body: Graph = loop.params["body"]
        self.state = state_of(loop, self.body)
        self.targets = Targets([self.body], activity)
        self.snapshots = loop.params["checkpoint"][1]
        self.init = loop.operands[len(loop.operands) - len(self.state):]
        # states that change, which snapshots hold
        self.kept = [k for k, value in enumerate(self.state) if self.body.outputs[k] is not value]
        if any(isinstance(value.type, ListType) for value in self.state):
            error = UnimplementedError(
                "binomial checkpoints keep states in tensors, but a list is among those of this loop",
                remedy="Keep its elements in a tensor or TensorArray of known size, or give a number of iterations, "
                       "such as checkpoint=100.")
            locate(error, loop.position)
            raise error

    def run(self, count: Any, result_cts: Sequence[Any], cts: Cotangents) -> None:
        if self.snapshots is None:
            logarithm = ceil(divide(log(cast(add(count, np.int64(1)), float64)), np.log(2.0)))
            self.room = maximum(cast(logarithm, int64), np.int64(1))
        else:
            self.room = self.snapshots
        self.start = [wrap(value) for value in self.init]
        rows = [self._rows(self.start[k]) for k in self.kept]
        seeds = [zero_for(self.start[k]) if result_cts[k] is None else result_cts[k] for k in self.useful]
        seeds = [fit(ct, self.state[k].type) for k, ct in zip(self.useful, seeds, strict=True)]
        sums = [zero_for(self.targets.primal(key)) if cts.get(key) is None else fit(cts.get(key), type)
                for key, type in self.targets.types.items()]
        places = zeros([self.room + 1], int64)
        found = self._loop(count, rows, places, [*seeds, *sums])
        for key, ct in zip(self.targets.types, found[len(seeds):], strict=True):
            cts.put(key, ct)
        for k, ct in zip(self.useful, found, strict=False):
            if self.init[k] in self.activity:
                cts.add(self.init[k], ct, None)

    def _rows(self, x: Any) -> Any:
        sizes = [dim(x, i) if size is None else size for i, size in enumerate(x.type.shape)]
        return setitem(zeros([self.room + 1, *sizes], x.dtype), 0, x)

    def _loop(self, count: Any, rows: list[Any], places: Any, cotangents: list[Any]) -> Sequence[Any]:
        """The backward loop; returns the final cotangents."""
        state = [*rows, places, np.int64(0), *cotangents]

        def step(k: Any, *state: Any) -> Sequence[Any]:
            end = subtract(count, k)
            *rows, places, top = self._descend(end, list(state[:len(rows_of)]), *state[len(rows_of):len(rows_of) + 2])
            at = getitem(places, top)
            last = subtract(end, np.int64(1))
            values = self._advanced(self._read(rows, top), at, subtract(last, at))
            top = subtract(top, cast(equal(at, last), int64))
            return [*rows, places, top, *self._pulled(values, last, state[len(rows_of) + 2:])]

        rows_of = rows
        return _reduce(count, step, state)[len(rows) + 2:]

    def _descend(self, end: Any, rows: list[Any], places: Any, top: Any) -> Sequence[Any]:
        """Take snapshots on the way to the iteration before `end`."""
        room = cast(self.room, int64)

        def ahead(*state: Any) -> Any:
            *_, places, top = state
            return logical_and(greater(subtract(end, getitem(places, top)), np.int64(1)), less(top, room))

        def leave(*state: Any) -> Sequence[Any]:
            *rows, places, top = state
            at = getitem(places, top)
            steps = split(subtract(end, at), add(subtract(room, top), np.int64(1)))
            values = self._advanced(self._read(rows, top), at, steps)
            top = add(top, np.int64(1))
            rows = [setitem(row, top, values[k]) for row, k in zip(rows, self.kept, strict=True)]
            return [*rows, setitem(places, top, add(at, steps)), top]

        return _while(ahead, leave, [*rows, places, top])

    def _read(self, rows: Sequence[Any], top: Any) -> list[Any]:
        """The state of a snapshot."""
        values = list(self.start)
        for k, row in zip(self.kept, rows, strict=True):
            values[k] = _typed(getitem(row, top), self.state[k].type)
        return values

    def _advanced(self, values: Sequence[Any], first: Any, count: Any) -> Sequence[Any]:
        """The state after `count` iterations from iteration `first` on."""
        return _reduce(count, lambda i, *state: self._run(add(first, i), state), values, self.state)

    def _run(self, index: Any, state: Sequence[Any]) -> list[Any]:
        """One iteration."""
        here = current_graph()
        assert here is not None
        lead = self.body.inputs[:len(self.body.inputs) - len(self.state)]  # the index of a counted loop
        return inline(self.body, here, [*(_typed(index, value.type) for value in lead), *state])

    def _pulled(self, values: Sequence[Any], index: Any, cotangents: Sequence[Any]) -> list[Any]:
        """Pull the cotangents of the state after an iteration, and the sums, back to those of the state before it."""
        here = current_graph()
        assert here is not None
        before = [wrap(capture(here, x)) for x in values]
        places = {key: key if isinstance(key, int) else capture(here, wrap(key)) for key in self.targets.types}
        first = len(here.nodes)
        after = self._run(index, before)
        nodes = here.nodes[first:]
        own = Activity([*(before[k].value for k in self.useful), *(p for p in places.values() if isinstance(p, Value))],
                       self.activity.variables)
        own.visit(nodes)
        inner = Cotangents()
        sums = cotangents[len(self.useful):]
        for place, ct in zip(places.values(), sums, strict=True):
            inner.put(place, ct)
        for k, ct in zip(self.useful, cotangents, strict=False):
            inner.add(after[k].value, ct, after[k])
        keep = {*(before[k].value for k in self.useful), *(p for p in places.values() if isinstance(p, Value))}
        sweep(nodes, inner, own, keep)
        found = [inner.get(before[k].value) for k in self.useful]
        return [*(fit(zero_for(before[k]) if ct is None else ct, self.state[k].type)
                  for k, ct in zip(self.useful, found, strict=True)),
                *(fit(inner.get(place), type)
                  for place, type in zip(places.values(), self.targets.types.values(), strict=True))]


def _typed(x: Any, type: Any) -> Any:
    """Convert a tensor to a type that differs at most in weakness or in the int dtype."""
    if x.dtype is not type.dtype or x.type.weak != type.weak:
        x = apply(CAST, x, dtype=type.dtype, **({"weak": True} if type.weak else {}))
    return fit(x, type)


Step = Callable[..., Sequence[Any]]


def _reduce(count: Any, step: Step, state: Sequence[Any], like: Sequence[Value] | None = None) -> Sequence[Any]:
    """`for i in range(count): state = step(i, *state)`."""
    here = current_graph()
    body = Graph("body", here)
    with tracing(body):
        i = add_input(body, _INT, "i")
        inputs = _inputs(body, state, like)
        results = step(i, *inputs)
        set_outputs(body, [_typed(x, value.type) for x, value in zip(results, body.inputs[1:], strict=True)])
    made: Sequence[Any] = apply(REDUCE, count, *state, body=body)
    return made


def _while(ahead: Callable[..., Any], step: Step, state: Sequence[Any]) -> Sequence[Any]:
    """`while ahead(*state): state = step(*state)`."""
    here = current_graph()
    body, test = Graph("body", here), Graph("test", here)
    with tracing(test):
        set_outputs(test, [ahead(*_inputs(test, state, None))])
    with tracing(body):
        results = step(*_inputs(body, state, None))
        set_outputs(body, [_typed(x, value.type) for x, value in zip(results, body.inputs, strict=True)])
    made: Sequence[Any] = apply(WHILE_LOOP, *state, test=test, body=body)
    return made


def _inputs(graph: Graph, state: Sequence[Any], like: Sequence[Value] | None) -> list[Any]:
    here = graph.parent
    assert here is not None
    types = [capture(here, x).type for x in state] if like is None else [value.type for value in like]
    return [add_input(graph, type) for type in types]
