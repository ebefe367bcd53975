"""`GradientTape`: records computations so that they can be differentiated (`tf.GradientTape`).

Eager computations are recorded op by op. In a traced function the graph is the record: a tape only marks nodes added
while it did not record.
"""
from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from math import prod
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from autograph.backend import deferred
from runtime.autodiff.activity import differentiable
from runtime.autodiff.backward import apply_vjp
from runtime.autodiff.calls import GraphCall, call_of
from runtime.autodiff.cotangents import Cotangents, zero_for
from runtime.autodiff.entries import Entry, without_tapes
from runtime.autodiff.rules.registry import CONSTANT, Applied
from runtime.autodiff.staged_tape import StagedRecord, slices_or_sum
from runtime.core import pytree
from runtime.core.errors import OperatorNotAllowedInGraphError, ShapeError
from runtime.core.op import Op
from runtime.core.positions import Position, computed_for, located, user_position
from runtime.core.recording import Recorder, recorders, recording
from runtime.core.tensor import EagerList, EagerTensor, GraphList, GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor, current_graph, open_traces
from runtime.core.types import compatible_shapes
from runtime.function.variables.variable import Variable
from runtime.ops.concat_split import concat
from runtime.ops.creation import one_hot, ones_like, zeros
from runtime.ops.creation import range as rt_range
from runtime.ops.math import add
from runtime.ops.reduction import reduce_prod
from runtime.ops.shape import broadcast_to, reshape, shape, size, stack, transpose
from runtime.ops.shape_refinement import assume_shape, refined

if TYPE_CHECKING:
    from runtime.batching import vmap
    from runtime.staging import control_flow
else:
    vmap = deferred("runtime.batching.vmap")
    control_flow = deferred("runtime.staging.control_flow")

__all__ = ["GradientTape", "GradientWarning", "UnconnectedGradients", "variable_of", "warn"]


_WORTH_TRACING: Final = 16  # rows of a Jacobian from which one trace is faster than their kernels


class UnconnectedGradients(Enum):
    """The gradient with respect to an unconnected source (`tf.UnconnectedGradients`)."""

    NONE = "none"
    ZERO = "zero"


class GradientWarning(UserWarning):
    """A gradient is None because its source or target is an int or bool (TF2 logs a warning), or omits what Python
    computes from the value of a tensor."""


class EagerRecord:
    """The recorded eager computations: those that depend on a watched tensor or variable."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.tracked: dict[int, Any] = {}  # by id: watched tensors and variables, and those that depend on them

    def watch(self, x: Any) -> None:
        self.tracked[id(x)] = x

    def take(self, entry: Entry) -> None:
        """Record a computation, if it depends on a tracked tensor or variable."""
        if any(id(x) in self.tracked for x in entry.inputs):
            self.entries.append(entry)
            for x in entry.outputs:
                if differentiable(x.type):
                    self.tracked[id(x)] = x

    def keeps_rows(self, sources: Sequence[Any]) -> Callable[[Any], bool]:
        """Whether slices of a cotangent stay such: of the sources, and of what they are read or cast into."""
        keys = {id(x) for x in sources}
        for entry in self.entries:
            if entry.passes and id(entry.inputs[0]) in keys:
                keys.add(id(entry.outputs[0]))
        return keys.__contains__

    def pull(self, cts: Cotangents, sources: Sequence[Any]) -> None:
        """Add the cotangents of `sources` to `cts`, which holds those of targets."""
        wanted = {id(x) for x in sources}
        reached = set(wanted)
        needed: list[Entry] = []
        for entry in self.entries:
            if any(id(x) in reached for x in entry.inputs):
                needed.append(entry)
                reached.update(id(x) for x in entry.outputs if id(x) in self.tracked)
        for entry in reversed(needed):
            if entry.passes and id(entry.outputs[0]) not in wanted and cts.move(
                    id(entry.outputs[0]), id(entry.inputs[0]), entry.inputs[0], entry.inputs[0].type.dtype):
                continue
            out_cts = [cts.get(id(x)) if id(x) in wanted else cts.pop(id(x)) for x in entry.outputs]
            if any(ct is not None for ct in out_cts):
                asked = [id(x) in reached for x in entry.inputs]
                for x, want, ct in zip(entry.inputs, asked, entry.pull(out_cts, asked), strict=True):
                    if want:
                        cts.add(id(x), ct, x)


class GradientTape(Recorder):
    """Records the computations inside `with`, for `gradient` (`tf.GradientTape`).

    persistent                gradients can be computed more than once
    watch_accessed_variables  watch trainable variables when they are read; if false, only arguments of `watch`

    Tapes nest: an outer tape also records an inner tape's computations, including gradients. Inside an `rt.function` a
    tape records the traced ops. A call of an `rt.function` counts as one op.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watches_variables = watch_accessed_variables
        self._used = self._recording = False
        self._thread = 0
        self._clear()

    def _clear(self) -> None:
        self._eager = EagerRecord()
        self._staged = StagedRecord()
        self._variables: dict[int, Any] = {}

    # Recording.

    def __enter__(self) -> GradientTape:
        if self._recording:
            raise located(ValueError("Tape is still recording, This can happen if you try to re-enter an "
                                     "already-active tape."))
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._recording:
            self._stop()

    def _start(self) -> None:
        self._thread = threading.get_ident()
        recorders[self._thread] = (*recorders.get(self._thread, ()), self)
        open_traces[~id(self)] = None
        self._recording = True
        self._staged.start(current_graph())

    def _stop(self) -> None:
        rest = tuple([r for r in recorders.get(self._thread, ()) if r is not self])
        if rest:
            recorders[self._thread] = rest
        else:
            recorders.pop(self._thread, None)
        open_traces.pop(~id(self), None)
        self._recording = False
        self._staged.stop(current_graph())

    def computed(
        self, op: Op, inputs: Sequence[Any], arrays: Sequence[Any], outputs: tuple[Any, ...], params: Mapping[str, Any],
    ) -> None:
        tracked = self._eager.tracked
        if op.name in CONSTANT or not any(id(x) in tracked for x in inputs):
            return
        operands = [x if isinstance(x, (EagerTensor, EagerList)) else EagerTensor(array)
                 for x, array in zip(inputs, arrays, strict=True)]
        place = user_position()

        def pull(cts: Sequence[Any], wanted: Sequence[bool]) -> Sequence[Any]:
            with computed_for(place and place.derivative(op.name)):
                return apply_vjp(Applied(op.name, operands, outputs, params, wanted), cts, place)

        self._eager.take(Entry(operands, outputs, pull, op.name == "cast"))

    def read(self, variable: Any, tensor: Any) -> None:
        if self.wants(variable):
            self._variables.setdefault(id(variable), variable)
            self._eager.watch(variable)
            self._eager.take(Entry((variable,), (tensor,), lambda cts, wanted: cts, True))

    def called(self, function: Any, leaves: Sequence[Any], variables: Mapping[int, Any]) -> list[Any] | None:
        call = (function if isinstance(function, GraphCall) else call_of(function)).bound(variables)
        tapes = [tape for tape in recording() if isinstance(tape, GradientTape)]
        wanted = tuple([differentiable(x.type) and any(tape.wants(x) for tape in tapes) for x in call.sources(leaves)])
        if not any(wanted):
            return None
        with without_tapes():
            entry = call.record(leaves, wanted, order=len(tapes))
        for tape in tapes:
            tape.take(entry)
        return list(entry.outputs)[:len(call.types)]

    def take(self, entry: Entry) -> None:
        """Record a computation, and watch the variables that it read."""
        for x in entry.inputs:
            if isinstance(x, Variable) and self.wants(x):
                self._variables.setdefault(id(x), x)
                self._eager.watch(x)
        self._eager.take(entry)

    def wants(self, x: Any) -> bool:
        """Whether a tensor or variable is watched, or depends on a watched one."""
        if isinstance(x, Variable):
            return id(x) in self._variables or (self._watches_variables and x.trainable and differentiable(x.type))
        return id(x) in self._eager.tracked

    def watch(self, tensor: Any) -> None:
        """From now on record computations that depend on a tensor or variable, or a structure of these.

        ValueError for other values. Ints and bools cause a GradientWarning, and have no gradient.
        """
        for x in map(variable_of, pytree.flatten(tensor)):
            if not isinstance(x, (Tensor, EagerList, GraphList, Variable)) and not hasattr(type(x), "__tensor__"):
                raise located(ValueError(f"Passed in object {x!r} of type {type(x).__name__!r}, not tf.Tensor or "
                                          "tf.Variable or ExtensionType."))
            if not differentiable(x.type):
                warn(f"The dtype of the watched tensor must be floating (e.g. rt.float32), got {x.type}")
            elif isinstance(x, Variable):
                self._variables[id(x)] = x
            elif isinstance(x, (EagerTensor, EagerList)):
                self._eager.watch(x)
                self._staged.watch(x)
            else:
                self._staged.watch(_tensor(x))

    def watched_variables(self) -> tuple[Any, ...]:
        """The watched variables, in the order in which they were first read or watched."""
        found = dict(self._variables)
        if self._watches_variables:
            for variable in self._staged.reads(current_graph(), self._recording):
                if getattr(variable, "trainable", True):
                    found.setdefault(id(variable), variable)
        return tuple(found.values())

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A context that suspends recording. ValueError if the tape is not recording."""
        if not self._recording:
            raise located(ValueError("Cannot pause recording: the tape does not record"))
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Discard the recorded computations, and continue."""
        recording = self._recording
        if recording:
            self._stop()
        self._clear()
        if recording:
            self._start()

    # Gradients.

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of the sum of `target` with respect to `sources`, in the structure of `sources`.

        target                 a tensor, or a structure of tensors
        sources                tensors and variables that the tape watched, or a structure of these
        output_gradients       cotangents for `target`, in its structure, instead of 1
        unconnected_gradients  the gradient for an unconnected source: None ("none") or zeros ("zero")

        A gradient that consists of slices along the first axis, as `rt.gather` and `rt.nn.embedding_lookup` take them,
        is `IndexedSlices`.

        RuntimeError if a tape that is not persistent has been used before; ShapeError for `output_gradients` of another
        shape; NoGradientError (a LookupError) for an op on the path that has no derivative.
        """
        return self._gradient(target, sources, output_gradients, unconnected_gradients, True)

    def dense_gradient(
        self, target: Any, sources: Any, output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """As `gradient`, without IndexedSlices."""
        return self._gradient(target, sources, output_gradients, unconnected_gradients, False)

    def _gradient(self, target: Any, sources: Any, output_gradients: Any,
                  unconnected_gradients: UnconnectedGradients | str, rows: bool) -> Any:
        unconnected = _unconnected(unconnected_gradients)
        self._use()
        targets, flat = _targets(target, variables=True), _sources(sources)
        with self._last():
            seeds = self._seeds(targets, output_gradients)
            tensors = [(x, seed) for x, seed in zip(targets, seeds, strict=True) if not isinstance(x, Variable)]
            found = self._pull([x for x, _ in tensors], [seed for _, seed in tensors], flat, rows)
            for x, seed in zip(targets, seeds, strict=True):
                if isinstance(x, Variable) and differentiable(x.type):
                    found = [ct if source is not x else seed if ct is None else add(ct, seed)
                             for source, ct in zip(flat, found, strict=True)]
        return pytree.pack_sequence_as(sources, _connected(flat, found, unconnected))

    def jacobian(
        self, target: Any, sources: Any, unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of the tensor `target` with respect to `sources`, in their structure: tensors of shape
        `target.shape + source.shape`.

        See `gradient`. With `experimental_use_pfor` all rows are computed at once (`rt.vmap`), with more memory;
        otherwise in a loop. `parallel_iterations` has no effect.
        """
        unconnected = _unconnected(unconnected_gradients)
        self._use()
        (x,), flat = _targets(target), _sources(sources)
        with self._last():
            count = _product(x.type.shape, lambda: size(x))
            rows = self._rows(x, flat, lambda i: reshape(one_hot(i, count, dtype=x.dtype), shape(x)), count,
                              experimental_use_pfor)
        found = [None if row is None else reshape(row, concat([shape(x), shape(source)], 0))
                 for row, source in zip(rows, flat, strict=True)]
        for row, source in zip(found, flat, strict=True):
            assume_shape(row, (*x.type.shape, *source.type.shape))
        return pytree.pack_sequence_as(sources, _connected(flat, found, unconnected, x))

    def batch_jacobian(
        self, target: Any, source: Any, unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
    ) -> Any:
        """For each row of `target` its Jacobian with respect to that row of `source`: of shape `[rows,
        *target.shape[1:], *source.shape[1:]]`. Row i of `target` must depend on row i of `source` only.

        ShapeError if they have no rows, or different numbers of rows.
        """
        unconnected = _unconnected(unconnected_gradients)
        self._use()
        (x,), (by,) = _targets(target), _sources(source)
        if not x.ndim or not by.ndim or not compatible_shapes(x.type.shape[:1], by.type.shape[:1]):
            raise located(ShapeError(f"Need first dimension of target shape ({x.shape}) and source shape ({by.shape}) "
                                      "to match."))
        sizes = shape(x)
        count = _product(x.type.shape[1:], lambda: reduce_prod(sizes[1:]))

        def seed(i: Any) -> Any:
            row = reshape(one_hot(i, count, dtype=x.dtype), concat([[1], sizes[1:]], 0))
            return broadcast_to(row, sizes)

        with self._last():
            (rows,) = self._rows(x, [by], seed, count, experimental_use_pfor)
        if rows is not None:
            rows = reshape(transpose(rows, [1, 0, *range(2, rows.ndim)]), concat([sizes, shape(by)[1:]], 0))
            assume_shape(rows, (*x.type.shape, *by.type.shape[1:]))
        return _connected([by], [rows], unconnected, x)[0]

    def _rows(
        self, x: Any, sources: Sequence[Any], seed: Callable[[Any], Any], count: Any, at_once: bool,
    ) -> list[Any]:
        """The cotangents of `sources` for each of `count` cotangents of `x`, stacked; None for unconnected ones."""
        if isinstance(x, EagerTensor):
            return self._eager_rows(x, sources, seed, count, at_once)
        alone = [self._staged.connected([x], [source], self.wants, self._recording) for source in sources]
        linked = [source for source, is_linked in zip(sources, alone, strict=True) if is_linked]
        if not linked:
            return [None] * len(sources)

        def row(i: Any) -> tuple[Any, ...]:
            found = self._pull([x], [seed(i)], linked)
            return tuple([zero_for(s) if ct is None else ct for s, ct in zip(linked, found, strict=True)])

        columns = iter(vmap.vmap(row)(rt_range(count)) if at_once else control_flow.map_fn(row, rt_range(count)))
        return [next(columns) if is_linked else None for is_linked in alone]

    def _eager_rows(
        self, x: Any, sources: Sequence[Any], seed: Callable[[Any], Any], count: int, at_once: bool,
    ) -> list[Any]:
        if at_once and count >= _WORTH_TRACING:
            try:
                return self._traced_rows(x, sources, seed, count)
            except OperatorNotAllowedInGraphError:
                pass  # a user-defined derivative that inspects values
        rows = [self._pull([x], [seed(i)], sources) for i in range(count)]
        return [None if column[0] is None else stack(column) for column in zip(*rows, strict=True)]

    def _traced_rows(self, x: Any, sources: Sequence[Any], seed: Callable[[Any], Any], count: int) -> list[Any]:
        is_found: list[bool] = []

        def row(i: Any) -> list[Any]:
            found = self._pull([x], [seed(i)], sources)
            is_found[:] = [ct is not None for ct in found]
            return [ct for ct in found if ct is not None]

        columns = iter(vmap.run_lanes(row, count))
        return [next(columns) if there else None for there in is_found]

    def _use(self) -> None:
        if self._used and not self._persistent:
            raise located(RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"))
        if self._recording and not self._persistent:
            self._stop()
        self._used = True

    @contextmanager
    def _last(self) -> Iterator[None]:
        """Afterwards discard the recorded computations, unless the tape is persistent."""
        yield
        if not self._persistent:
            self._eager = EagerRecord()

    def _seeds(self, targets: Sequence[Any], output_gradients: Any) -> list[Any]:
        initial = [None] * len(targets) if output_gradients is None else pytree.flatten(output_gradients)
        if len(initial) != len(targets):
            raise located(ValueError(f"there are {len(targets)} targets, but {len(initial)} output_gradients"))
        seeds = []
        for x, ct in zip(targets, initial, strict=True):
            if ct is None:
                seeds.append(ones_like(x))
                continue
            seed = convert_to_tensor(ct, dtype=x.dtype)
            if not compatible_shapes(seed.type.shape, x.type.shape):
                raise located(ShapeError(
                    f"an output gradient has shape {seed.shape}, but its target has shape {x.shape}",
                    remedy="Give output_gradients in the shapes of the targets."))
            seeds.append(refined(seed, x.type.shape, "an output gradient", "its target has"))
        return seeds

    def _pull(self, targets: Sequence[Any], seeds: Sequence[Any], sources: Sequence[Any], rows: bool = False
              ) -> list[Any]:
        """The cotangents of `sources`; None for unconnected ones. `rows`: as IndexedSlices where they consist of
        slices along the first axis."""
        pairs = [(x, seed) for x, seed in zip(targets, seeds, strict=True) if differentiable(x.type)]
        for x in targets:
            if not differentiable(x.type):
                warn(f"The dtype of the target tensor must be floating (e.g. rt.float32) when calling "
                      f"GradientTape.gradient, got {x.type}")
        if any(isinstance(x, GraphTensor) for x, _ in pairs):
            return self._staged.pull([x for x, _ in pairs], [s for _, s in pairs], sources, self.wants, self._recording,
                                     rows)
        cts = Cotangents(self._eager.keeps_rows(sources) if rows else lambda key: False)
        for x, seed in pairs:
            if id(x) in self._eager.tracked:
                cts.add(id(x), seed, None)
        self._eager.pull(cts, sources)
        return [slices_or_sum(cts, id(x), x) for x in sources]


def warn(what: str) -> None:
    """Emit a GradientWarning, once per line of user code."""
    place = user_position() or Position("<unknown>", 0)
    warnings.warn_explicit(what, GradientWarning, place.filename, place.lineno, registry=_warned)


_warned: Final[dict[Any, Any]] = {}


def _unconnected(value: UnconnectedGradients | str) -> UnconnectedGradients:
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise located(ValueError(f"Unknown value for unconnected_gradients: {value!r}")) from None


def _product(sizes: Sequence[int | None], computed: Callable[[], Any]) -> Any:
    """The product of sizes as an int, where all are known; else what `computed` gives."""
    known = [n for n in sizes if n is not None]
    return prod(known) if len(known) == len(sizes) else computed()


def _tensor(x: Any) -> Any:
    return x if isinstance(x, (Tensor, EagerList, GraphList)) else convert_to_tensor(x)


def _targets(target: Any, variables: bool = False) -> list[Any]:
    """The tensors; with `variables` also variables as such, whose derivative by themselves is 1."""
    found = []
    for x in map(variable_of, pytree.flatten(target)):
        if variables and isinstance(x, Variable):
            found.append(x)
            continue
        if not isinstance(x, Tensor) and not hasattr(type(x), "__tensor__"):
            raise located(TypeError(f"a target is a tensor, or a structure of tensors, not {x!r}"))
        found.append(_tensor(x))
    return found


def variable_of(x: Any) -> Any:
    """The variable for an object of another library that represents one, given by its `__variable__`; else `x`."""
    variable = getattr(type(x), "__variable__", None)
    return x if variable is None else variable(x)


def _sources(sources: Any) -> list[Any]:
    found = []
    for x in map(variable_of, pytree.flatten(sources)):
        if not isinstance(x, (Tensor, Variable, EagerList, GraphList)) and not hasattr(type(x), "__tensor__"):
            raise located(TypeError(f"a source is a tensor or a variable that the tape watched, not {x!r}"))
        if not differentiable(x.type):
            warn(f"The dtype of the source tensor must be floating (e.g. rt.float32) when calling "
                  f"GradientTape.gradient, got {x.type}")
        found.append(x if isinstance(x, Variable) else _tensor(x))
    return found


def _connected(
    sources: Sequence[Any], found: Sequence[Any], unconnected: UnconnectedGradients, target: Any = None
) -> list[Any]:
    """The results, with None or zeros for unconnected sources; for a Jacobian, the shape of zeros is that of `target`
    plus the source's."""
    if unconnected is UnconnectedGradients.NONE:
        return list(found)
    made = []
    for x, ct in zip(sources, found, strict=True):
        if ct is None:
            ct = zero_for(x) if target is None else zeros(concat([shape(target), shape(x)], 0), x.dtype)
        made.append(ct)
    return made



