"""`vmap` and `vectorized_map`: a function of one lane becomes a function of all lanes.

The function is traced once, with the shapes of one lane; `transform.py` turns its graph into one for all lanes. In a
traced function, that becomes part of its graph. Otherwise it is executed immediately as one native function, which is
cached by the trace: each call traces again, so it sees the current values of Python variables.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import autograph as ag
from autograph.backend import restored
from runtime.batching import control_flow, rules  # noqa: F401  they fill the tables
from runtime.batching.axes import (
    arguments_axes,
    axis_size,
    located,
    moved_back,
    prefix_axes,
)
from runtime.batching.lanes import each_lane, one_of
from runtime.batching.programs import program_of
from runtime.batching.rules.registry import Unbatched
from runtime.batching.transform import Batch, Lane
from runtime.core import pytree
from runtime.core.config import settings
from runtime.core.errors import ShapeError
from runtime.core.generator_frames import with_generators
from runtime.core.graph import Graph
from runtime.core.inline_graph import inline
from runtime.core.positions import staging_error
from runtime.core.pruning import prune
from runtime.core.trace import add_input, convert_to_tensor, current_graph, set_outputs, tracing, wrap
from runtime.core.types import TensorType
from runtime.numbers.prepared import prepared
from runtime.ops.checks import message, require
from runtime.ops.creation import range as range_
from runtime.ops.creation import zeros
from runtime.ops.logic import equal
from runtime.ops.shape import dim, dims, moveaxis, reshape, squeeze, stack
from runtime.staging.aliases.body_tracing import NEVER, Unreachable, checkpoint, rollback, trace_function
from runtime.staging.backend import BACKEND
from runtime.staging.values.optional import MaybeObject, MaybeTensor

__all__ = ["run_lanes", "vectorized_map", "vmap"]

Function = Callable[..., Any]
_RANDOMNESS: Final = ("different", "same", "error")


@dataclass(frozen=True)
class _Map:
    """The mapped call `fn(*args, **kwargs)`, with the leaves `leaves`; those with an axis are mapped."""

    fn: Function
    rebuild: Callable[[Sequence[Any]], tuple[Any, Any]]
    leaves: Sequence[Any]
    axes: Sequence[int | None]
    size: Any
    out_axes: Any
    randomness: str
    fallback: bool

    @property
    def mapped(self) -> list[Any]:
        return [x for x, axis in zip(self.leaves, self.axes, strict=True) if axis is not None]

    @property
    def name(self) -> str:
        return getattr(self.fn, "__name__", None) or type(self.fn).__name__


def vmap(
    fn: Function, in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None, *, randomness: str = "different",
) -> Function:
    """A function that computes `fn` for each lane of its arguments, all at once (`jax.vmap`).

    in_axes     the axis of each mapped argument, or None for one that is the same in all lanes: a single entry for all
                positional arguments, or a tuple with an entry for each, which may be a structure like the argument.
                Keyword arguments are mapped along axis 0.
    out_axes    the axis of the lanes in the results, likewise; None for a result that is the same in all lanes
    axis_size   the number of lanes; required only if no argument is mapped
    randomness  of random numbers: "different" in each lane, the "same", or an "error"

    `fn` takes and returns tensors, or structures of these, of one lane. Control flow on tensors is converted; a lane
    that does not take a branch, or has ended a loop, causes neither errors nor NaN there, and has zero derivatives.
    Prints and calls of Python functions run for each lane, in order, or once if they are the same in all lanes and not
    under a condition that differs. It composes with itself, derivatives and `rt.function` as in JAX.

    ValueError for axes that do not match the arguments or results; TypeError for an invalid axis; ShapeError (a
    ValueError) for sizes that differ; UnimplementedError for an assignment to a variable.
    """
    if not callable(fn):
        raise located(TypeError(f"vmap takes a function, not {fn!r}"))
    if randomness not in _RANDOMNESS:
        raise located(ValueError(f"randomness is one of {', '.join(map(repr, _RANDOMNESS))}, not {randomness!r}"))

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        axes: list[int | None] = [*arguments_axes(in_axes, args), *[0] * len(pytree.flatten(kwargs))]
        leaves = pytree.flatten((args, kwargs))
        if not leaves and axis_size is None:
            raise located(ValueError("vmap wrapped function must be passed at least one argument containing an array, "
                                     "got empty *args and **kwargs"))
        return _run(_planned(fn, (args, kwargs), leaves, axes, axis_size, out_axes, randomness))

    del call.__wrapped__  # its signature would fill in defaults, which would be mapped
    return call


def _planned(
    fn: Function, structure: Any, leaves: list[Any], axes: list[int | None], wanted: int | None, out_axes: Any,
    randomness: str,
) -> _Map:
    leaves = [x if axis is None else convert_to_tensor(x) for x, axis in zip(leaves, axes, strict=True)]
    names = _names(structure)
    size = axis_size([convert_to_tensor(x) if axis is not None else x for x, axis in zip(leaves, axes, strict=True)],
                     axes, names, wanted)

    def rebuild(values: Sequence[Any]) -> tuple[Any, Any]:
        args, kwargs = pytree.pack_sequence_as(structure, values)
        return args, kwargs

    return _Map(fn, rebuild, leaves, axes, size, out_axes, randomness, True)


def _names(structure: tuple[Any, Any]) -> list[str]:
    """The names of the leaves of the arguments."""
    args, kwargs = structure
    named = [(f"args[{i}]", arg) for i, arg in enumerate(args)] + [(key, kwargs[key]) for key in sorted(kwargs)]
    return [name if len(pytree.flatten(tree)) == 1 else f"{name} (leaf {k})"
            for name, tree in named for k in range(len(pytree.flatten(tree)))]


def vectorized_map(fn: Function, elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """`fn` of each row of `elems`, all at once, stacked (`tf.vectorized_map`): a faster `map_fn`.

    elems                   a tensor, or a structure of tensors; `fn` takes the structure of their rows. Tensors with
    one
                            row broadcast over the rows of the others
    fallback_to_while_loop  run row by row what cannot run for all rows at once; if false, that is a ValueError
    warn                    has no effect

    See `vmap`. ShapeError for scalars, and for different numbers of rows.
    """
    if not callable(fn):
        raise located(TypeError(f"vectorized_map takes a function, not {fn!r}"))
    leaves: list[Any] = [convert_to_tensor(x) for x in pytree.flatten(elems)]
    if not leaves or any(not x.ndim for x in leaves):
        raise located(ShapeError("vectorized_map runs over the rows of tensors, and a scalar has none" if leaves else
                                 "vectorized_map needs at least one tensor to run over"))
    sizes = [dim(x, 0) for x in leaves]
    several = any(size != 1 for size in sizes if type(size) is int) or not all(type(size) is int for size in sizes)
    axes: list[int | None] = [None if several and type(size) is int and size == 1 else 0 for size in sizes]
    leaves = [squeeze(x, 0) if axis is None else x for x, axis in zip(leaves, axes, strict=True)]
    names = ["elems"] if len(leaves) == 1 else [f"elems (leaf {k})" for k in range(len(leaves))]
    size = axis_size(leaves, axes, names, None)

    def rebuild(values: Sequence[Any]) -> tuple[Any, Any]:
        return (pytree.pack_sequence_as(elems, values),), {}

    return _run(_Map(fn, rebuild, leaves, axes, size, 0, "different", fallback_to_while_loop))


# Running.

def run_lanes(fn: Function, count: int) -> Any:
    """`fn(i)` for the ints i below `count`, stacked: executed immediately, by NumPy, without compiling."""
    lanes = range_(count)
    return _run(_Map(fn, lambda values: (tuple(values), {}), [lanes], [0], count, 0, "different", True), "numpy")


def _run(map_: _Map, executor: str | None = None) -> Any:
    if current_graph() is not None:
        return _staged(map_, map_.mapped)
    if settings.run_eagerly and type(map_.size) is int and map_.size:
        return _eagerly(map_, map_.size)
    xs = map_.mapped

    def trace() -> tuple[Graph, Any]:
        graph = Graph(map_.name)
        with tracing(graph, BACKEND):
            inputs = [add_input(graph, x.type) for x in xs]
            returned = trace_function(lambda: _staged(map_, inputs))
            flat = [] if returned is NEVER else pytree.flatten(returned)
            set_outputs(graph, [x for x in flat if x is not None])
        return graph, returned

    graph, returned = with_generators(lambda: restored(trace))
    prune(graph)
    results = iter(program_of(graph, executor)(xs))
    return pytree.map_structure(lambda x: None if x is None else next(results), returned)


def _eagerly(map_: _Map, size: int) -> Any:
    """The results, one lane after another, on eager tensors: `fn` runs without conversion
    (`rt.config.run_functions_eagerly`)."""
    rows = iter([moveaxis(x, axis, 0) for x, axis in zip(map_.leaves, map_.axes, strict=True) if axis is not None])
    leaves = [(x, False) if axis is None else (next(rows), True)
              for x, axis in zip(map_.leaves, map_.axes, strict=True)]
    found = []
    for lane in range(size):
        args, kwargs = map_.rebuild([x[lane] if mapped else x for x, mapped in leaves])
        found.append(_as_tensors(map_.fn(*args, **kwargs)))
    axes = iter(prefix_axes("out_axes", map_.out_axes, found[0], "the result"))

    def placed(*results: Any) -> Any:
        axis = next(axes)
        if results[0] is None or axis is None:
            return results[0]
        return moved_back(stack(list(results)), axis, "the result")

    return pytree.map_structure(placed, *found)


def _staged(map_: _Map, xs: Sequence[Any]) -> Any:
    """The results, traced into the current graph; `xs` are the mapped leaves."""
    here = current_graph()
    mapped = [axis for axis in map_.axes if axis is not None]
    rows = _same_size([moveaxis(x, axis, 0) for x, axis in zip(xs, mapped, strict=True)], map_.size)
    lane = Graph(map_.name, here)
    never: Unreachable | None = None
    flat: list[Any] = []
    returned: Any = None
    with tracing(lane, BACKEND):
        inputs = [add_input(lane, TensorType(x.dtype, x.type.shape[1:], x.type.weak)) for x in rows]
        remaining = iter(inputs)
        args, kwargs = map_.rebuild([x if axis is None else next(remaining)
                                     for x, axis in zip(map_.leaves, map_.axes, strict=True)])
        try:
            returned = _as_tensors(ag.convert(map_.fn)(*args, **kwargs))
            flat = pytree.flatten(returned)
        except Unreachable as end:  # the graph always raises
            never = end
        set_outputs(lane, [x for x in flat if x is not None])
    lane.is_over = True
    prune(lane)
    results = iter(_all_lanes(map_, *_closed(lane, rows)))
    if never is not None:
        raise never
    packed = pytree.pack_sequence_as(returned, [None if x is None else next(results) for x in flat])
    return _placed(map_, packed)


def _as_tensors(returned: Any) -> Any:
    """The result of a function of one lane, with all leaves except None converted to tensors."""
    if issubclass(type(returned), (MaybeObject, MaybeTensor)):  # returned under a condition
        if returned.presence.present is not None:
            raise staging_error("a result of a function that is mapped is None in some lanes and not in others",
                                "Return a tensor in each case, for example rt.zeros_like(x).")
        returned = returned.checked() if issubclass(type(returned), MaybeObject) else returned.__tensor__()
    if pytree.is_nested(returned):
        children = [_as_tensors(x) for x in pytree.children(returned)]
        return pytree.rebuild(returned, children)
    return None if returned is None else convert_to_tensor(returned)


def _closed(lane: Graph, rows: Sequence[Any]) -> tuple[Graph, list[Lane]]:
    """The graph of one lane, ready to run, with its captures as inputs; and the inputs' counterparts for all lanes."""
    lanes = [Lane(row, True) for row in rows]
    for outer, inner in lane.captures:
        lane.inputs.append(inner)
        lanes.append(Lane(wrap(outer), False))
    lane.captures, lane._captured, lane.parent = [], {}, None
    weak = any(isinstance(value.type, TensorType) and value.type.weak for value in lane.inputs)  # widened outside
    return lane if weak else prepared(lane), lanes


def _same_size(rows: list[Any], size: Any) -> list[Any]:
    """Batched arguments, with a run-time check that their number of lanes is `size`, if it is not known statically."""
    unsure = [k for k, x in enumerate(rows) if x.type.shape[0] is None]
    for k in unsure if type(size) is int else unsure[1:]:
        x = rows[k]
        require(equal(dim(x, 0), size), ShapeError(
            message("vmap got inconsistent sizes for array axes to be mapped: ", size, " and ", dim(x, 0)),
            remedy="Map axes of one size, or give None for what is the same in all lanes."))
        rows[k] = reshape(x, [size, *dims(x)[1:]])
    return rows


def _placed(map_: _Map, returned: Any) -> Any:
    """The results, with the axis of the lanes at `out_axes`."""
    axes = prefix_axes("out_axes", map_.out_axes, returned, "the result")
    leaves: list[Any] = []
    for x, axis in zip(pytree.flatten(returned), axes, strict=True):
        if x is None:
            leaves.append(None)
        elif axis is None and x.batched:
            raise located(ValueError("vmap has mapped output but out_axes is None: a result that differs from lane to "
                                     f"lane, {x.x.type}, has no single value"), "Give the axis that the lanes get.")
        elif axis is None:
            leaves.append(x.x)
        else:
            leaves.append(moved_back(x.lift(), axis, "the result"))
    return pytree.pack_sequence_as(returned, leaves)


class _Result:
    """A result, and whether it differs between lanes."""

    def __init__(self, batch: Batch, lane: Lane) -> None:
        self.x, self.batched, self.lift = lane.x, lane.batched, lambda: batch.lift(lane)


def _all_lanes(map_: _Map, lane: Graph, lanes: Sequence[Lane]) -> list[Any]:
    """The results of the graph of one lane, for all of them."""
    batch = Batch(map_.size, map_.randomness, map_.fallback)
    if type(map_.size) is int and map_.size == 0:
        types: list[Any] = [value.type for value in lane.outputs]
        return [_Result(batch, Lane(zeros([0, *[d or 0 for d in type.shape]], type.dtype), True)) for type in types]
    mark = checkpoint()
    batch.known.update(zip(lane.inputs, lanes, strict=True))
    try:
        batch.run(lane.nodes)
        return [_Result(batch, found) for found in batch.outputs(lane)]
    except Unbatched as why:
        if not map_.fallback:
            raise located(ValueError(f"{map_.name} cannot run for all rows at once: {why}")) from None
        text = str(why)
    rollback(mark)

    def body(i: Any) -> Sequence[Any]:
        here = current_graph()
        assert here is not None
        return inline(lane, here, [one_of(x.x, i) if x.batched else x.x for x in lanes])

    found = each_lane(map_.size, [value.type for value in lane.outputs], f"{map_.name}: {text}", body)
    return [_Result(batch, Lane(x, True)) for x in found]
