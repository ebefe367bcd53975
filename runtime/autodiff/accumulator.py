"""`ForwardAccumulator`: forward mode, computing tangents together with the values
(`tf.autodiff.ForwardAccumulator`)."""
from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from runtime.autodiff.activity import differentiable
from runtime.autodiff.calls import GraphCall, call_of, called
from runtime.autodiff.cotangents import zero_for
from runtime.autodiff.forward import Tangents, apply_jvp, push_forward
from runtime.autodiff.rules.registry import CONSTANT, Applied
from runtime.autodiff.staged_tape import chain_of, place_after
from runtime.autodiff.tape import UnconnectedGradients, variable_of
from runtime.core import pytree
from runtime.core.errors import DTypeError, ShapeError, locate
from runtime.core.graph import Graph, Node
from runtime.core.op import Op
from runtime.core.positions import computed_for, user_position
from runtime.core.recording import Recorder, recorders
from runtime.core.tensor import EagerList, EagerTensor, GraphList, GraphTensor
from runtime.core.trace import capture, convert_to_tensor, current_graph, open_traces, wrap
from runtime.core.types import compatible_shapes
from runtime.function.variables.variable import Variable

__all__ = ["ForwardAccumulator"]


class ForwardAccumulator(Recorder):
    """Computes Jacobian-vector products of computations inside `with` (`tf.autodiff.ForwardAccumulator`).

    primals   a tensor or variable, or a structure of these
    tangents  the directions, in the structure of `primals`; shapes and dtypes are those of `primals`

    ShapeError or DTypeError for tangents that do not match. Accumulators and tapes nest.
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        pytree.assert_same_structure(primals, tangents, check_types=False)
        self._eager: dict[int, tuple[Any, Any]] = {}  # by id: a tensor or variable, and its tangent
        self._staged = Tangents()
        self._done: dict[Graph, Node | None] = {}
        self._outer: dict[int, Any] = {}  # tangents of eager tensors that graphs capture
        self._active = False
        self._thread = 0
        for x, tangent in zip(map(variable_of, pytree.flatten(primals)), pytree.flatten(tangents), strict=True):
            self._watch(x, _fitting(x, tangent))

    def _watch(self, x: Any, tangent: Any) -> None:
        if isinstance(x, Variable):
            self._staged.put(id(x), tangent)
        if isinstance(x, (GraphTensor, GraphList)):
            self._staged.put(x.value, tangent)
        else:
            self._eager[id(x)] = x, tangent

    def has_tangent(self, tensor: Any) -> bool:
        """Whether an eager tensor depends on a primal."""
        return id(tensor) in self._eager

    def __enter__(self) -> ForwardAccumulator:
        if self._active:
            error = ValueError("Accumulator is already recording.")
            locate(error, user_position())
            raise error
        self._thread = threading.get_ident()
        self._start()
        for graph in chain_of(current_graph()):
            self._done.setdefault(graph, graph.nodes[-1] if graph.nodes else None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc is None:
            self._advance()
        self._stop()

    def _start(self) -> None:
        recorders[self._thread] = (*recorders.get(self._thread, ()), self)
        open_traces[~id(self)] = None
        self._active = True

    def _stop(self) -> None:
        rest = tuple([r for r in recorders.get(self._thread, ()) if r is not self])
        if rest:
            recorders[self._thread] = rest
        else:
            recorders.pop(self._thread, None)
        open_traces.pop(~id(self), None)
        self._active = False

    @contextmanager
    def _paused(self) -> Iterator[None]:
        before = recorders[self._thread]
        self._stop()
        try:
            yield
        finally:
            recorders[self._thread] = before
            open_traces[~id(self)] = None
            self._active = True

    # Eager computations.

    def computed(
        self, op: Op, inputs: Sequence[Any], arrays: Sequence[Any], outputs: tuple[Any, ...], params: Mapping[str, Any],
    ) -> None:
        if op.name in CONSTANT or not any(id(x) in self._eager for x in inputs):
            return
        operands = [x if isinstance(x, (EagerTensor, EagerList)) else EagerTensor(array)
                 for x, array in zip(inputs, arrays, strict=True)]
        tangents = [self._tangent(x) for x in operands]
        place = user_position()
        with self._paused(), computed_for(place and place.derivative(op.name)):
            applied = Applied(op.name, operands, outputs, params, [x is not None for x in tangents])
            found = apply_jvp(applied, tangents, place)
        for x, tangent in zip(outputs, found, strict=True):
            if tangent is not None and differentiable(x.type):
                self._eager[id(x)] = x, tangent

    def read(self, variable: Any, tensor: Any) -> None:
        tangent = self._tangent(variable)
        if tangent is not None:
            self._eager[id(tensor)] = tensor, tangent

    def called(self, function: Any, leaves: Sequence[Any], variables: Mapping[int, Any]) -> list[Any] | None:
        call = (function if isinstance(function, GraphCall) else call_of(function)).bound(variables)
        tangents = [self._tangent(x) if differentiable(x.type) else None for x in call.sources(leaves)]
        if all(x is None for x in tangents):
            return None
        with self._paused():
            both, found = call.tangent(tuple([x is not None for x in tangents]))
            results = called(both, [*leaves, *(x for x in tangents if x is not None)])
        for x, k in zip(results[:len(call.types)], found, strict=True):
            if k is not None:
                self._eager[id(x)] = x, results[k]
        return results[:len(call.types)]

    def _tangent(self, x: Any) -> Any:
        found = self._eager.get(id(x))
        return None if found is None else found[1]

    # Traced computations.

    def _advance(self) -> None:
        """Push tangents through nodes traced since the last call."""
        for graph in chain_of(current_graph()):
            for outer, inner in list(graph.captures):
                found = self._staged.get(outer) if graph.parent is not None else self._tangent(outer)
                if found is not None and self._staged.get(inner) is None:
                    self._staged.put(inner, wrap(capture(graph, found)))
            start = place_after(graph, self._done.get(graph))
            if start < len(graph.nodes):
                push_forward(graph, start, self._staged)
                self._done[graph] = graph.nodes[-1]

    def jvp(
        self, primals: Any, unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE
    ) -> Any:
        """The tangents of a tensor, or of a structure of tensors. For values that do not depend on the primals, None,
        or zeros with `unconnected_gradients` ZERO."""
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        if self._active:
            self._advance()

        def tangent(x: Any) -> Any:
            x = variable_of(x)
            found = self._staged.get(x.value) if isinstance(x, (GraphTensor, GraphList)) else self._tangent(x)
            return zero_for(x) if found is None and zero else found

        return pytree.map_structure(tangent, primals)


def _fitting(x: Any, tangent: Any) -> Any:
    """The tangent as a tensor. DTypeError or ShapeError if it does not match `x`."""
    try:
        found = convert_to_tensor(tangent, dtype=x.dtype)
        if not differentiable(x.type):
            raise DTypeError(f"a primal of dtype {x.dtype.name} has no tangent",
                             remedy="Cast it to a floating dtype, for example rt.float32.")
        if not compatible_shapes(found.type.shape, x.type.shape):
            raise ShapeError(f"a tangent of shape {found.shape} does not fit a primal of shape {x.shape}",
                             remedy="Give a tangent of the primal's shape.")
    except Exception as error:
        locate(error, user_position())
        raise
    return found
