"""Functions with custom gradients: `custom_gradient` and `recompute_grad`."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import autograph as ag
from runtime.autodiff.activity import Activity, differentiable
from runtime.autodiff.backward import handles
from runtime.autodiff.cotangents import Cotangents, zero_for
from runtime.autodiff.entries import Entry, EntryRecorder, recording_only, without_tapes
from runtime.autodiff.method_functions import MethodFunction
from runtime.core import pytree
from runtime.core.errors import locate
from runtime.core.graph import Graph, Node
from runtime.core.inline_graph import inline
from runtime.core.op import CAST
from runtime.core.positions import user_position
from runtime.core.recording import Recorder, record, recording
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.trace import add_input, apply, convert_to_tensor, current_graph, set_outputs, tracing, wrap
from runtime.ops.control import CUSTOM_GRADIENT
from runtime.ops.shape_refinement import refined

__all__ = ["custom_gradient", "grad_pass_through", "traceable"]


@handles("custom_gradient")
def _custom(node: Node, out_cts: Sequence[Any], cts: Cotangents, activity: Activity) -> None:
    here = current_graph()
    assert here is not None
    count = node.params["count"]
    seeds = [zero_for(wrap(value)) if ct is None else ct for value, ct in zip(node.outputs, out_cts, strict=True)]
    for value, ct in zip(node.operands[:count], inline(node.params["gradient"], here, seeds), strict=True):
        if value in activity:
            cts.add(value, ct, wrap(value))


class _Reads(Recorder):
    """A recorder of reads of variables."""

    def __init__(self) -> None:
        self.variables: dict[int, Any] = {}

    def read(self, variable: Any, tensor: Any) -> None:
        if getattr(variable, "trainable", True) and differentiable(variable.type):
            self.variables.setdefault(id(variable), variable)

    def called(self, function: Any, leaves: Sequence[Any], variables: Mapping[int, Any]) -> list[Any] | None:
        for node in function.graph.walk():
            if node.op.name == "read_variable":
                variable = node.params["variable"]
                self.read(variables.get(id(variable), variable), None)
        return None


def traceable(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, converted if a graph is being traced; eagerly it runs unconverted, and needs no source."""
    return f if current_graph() is None else ag.convert(f)


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """A function with a custom gradient, as a decorator (`tf.custom_gradient`).

    `f(*args)` returns `(results, gradient)`, where `gradient(*cotangents)` maps a cotangent for each result to a
    cotangent for each positional argument: a single one, or a list. If `f` reads trainable variables, `gradient` takes
    them as `variables=` and returns `(cotangents of arguments, cotangents of variables)`. Higher derivatives
    differentiate `gradient`; forward mode differentiates the computations of `f`. On a method, `self` is no argument.

    ValueError for a wrong number of cotangents, ShapeError for one of another shape than its argument's; TypeError for
    variables without `variables=`.
    """
    return custom_gradient if f is None else CustomGradient(f)


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, whose gradient is that of the identity, as a decorator (`tf.grad_pass_through`): its arguments get the
    cotangents of its results, and variables that it reads get none, in graphs zeros."""

    def passed(*args: Any, **kwargs: Any) -> Any:
        def gradient(*cotangents: Any, variables: Sequence[Any] = ()) -> Any:
            return (list(cotangents), [None] * len(variables)) if variables else list(cotangents)

        return f(*args, **kwargs), gradient

    custom = CustomGradient(passed)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        return custom(*args, **kwargs)

    return call


class CustomGradient(MethodFunction):
    """A function with a custom gradient."""

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        args = tuple([x if isinstance(x, Tensor) else convert_to_tensor(x) for x in args])
        run = _eagerly if current_graph() is None else _staged
        return run(self._function, args, kwargs)


def _eagerly(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    reads = _Reads()
    tapes = [recorder for recorder in recording() if isinstance(recorder, EntryRecorder)]
    with recording_only([*recording(), reads]):
        results, gradient = f(*args, **kwargs)
    made: list[Any] = []
    with without_tapes():
        for x in map(convert_to_tensor, pytree.flatten(results)):
            assert isinstance(x, EagerTensor)
            made.append(EagerTensor.own(x._array))
            record(CAST, [x], [x._array], made[-1], {"dtype": x.dtype})  # for forward mode
    variables = list(reads.variables.values())
    _check_variables(f, gradient, variables)

    def pull(cts: Sequence[Any], wanted: Sequence[bool]) -> Sequence[Any]:
        seeds = [zero_for(x) if ct is None else ct for x, ct in zip(made, cts, strict=True)]
        return _pulled(f, gradient, seeds, args, variables)

    for tape in tapes:
        tape.take(Entry([*args, *variables], made, pull))
    return pytree.pack_sequence_as(results, made)


def _check_variables(f: Callable[..., Any], gradient: Callable[..., Any], variables: Sequence[Any]) -> None:
    if variables and "variables" not in inspect.signature(gradient).parameters:
        error = TypeError(f"{getattr(f, '__name__', f)!r} has a custom gradient and reads variables, so its gradient "
                          "function must accept a 'variables' keyword argument")
        locate(error, user_position())
        raise error


def _pulled(
    f: Callable[..., Any], gradient: Callable[..., Any], seeds: Sequence[Any], args: Sequence[Any],
    variables: Sequence[Any],
) -> list[Any]:
    """The results of the gradient function: cotangents of arguments, and of variables."""
    if variables:
        found, of_variables = gradient(*seeds, variables=variables)
        flat = [*pytree.flatten(found), *of_variables]
    else:
        flat = pytree.flatten(gradient(*seeds))
    if len(flat) != len(args) + len(variables):
        error = ValueError(
            f"custom_gradient function expected to return {len(args) + len(variables)} gradients, but returned "
            f"{len(flat)} instead: the gradient of {getattr(f, '__name__', f)!r}")
        locate(error, user_position())
        raise error
    what = f"the gradient of {getattr(f, '__name__', f)!r}"
    return [None if ct is None or not differentiable(x.type) else
            refined(convert_to_tensor(ct, dtype=x.dtype), x.type.shape, what, "it is a cotangent of a tensor with")
            for ct, x in zip(flat, [*args, *variables], strict=True)]


def _staged(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    graph = current_graph()
    assert graph is not None
    before = len(graph.nodes)
    results, gradient = ag.convert(f)(*args, **kwargs)
    reads = _Reads()
    for node in graph.nodes[before:]:
        for each in (node, *(inner for sub in node.subgraphs.values() for inner in sub.walk())):
            if each.op.name == "read_variable":
                reads.read(each.params["variable"], None)
    variables = list(reads.variables.values())
    _check_variables(f, gradient, variables)
    flat = [convert_to_tensor(x) for x in pytree.flatten(results)]
    sources = [*args, *[variable.read_value() for variable in variables]]
    pulled = Graph("gradient", graph)
    with tracing(pulled):
        seeds = [add_input(pulled, x.type) for x in flat]
        converted = ag.convert(gradient)
        found = _pulled(f, converted, seeds, args, variables)
        set_outputs(pulled, [zero_for(x) if ct is None else ct for x, ct in zip(sources, found, strict=True)])
    made = apply(CUSTOM_GRADIENT, *sources, *flat, gradient=pulled, count=len(sources))
    return pytree.pack_sequence_as(results, list(made))
