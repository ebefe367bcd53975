"""Applying ops: immediately to values, or as nodes of the graph that is being traced.

`apply` is the only way to apply an op. `tracing(graph)` makes `graph` the current graph of this thread.
"""
from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, Protocol

import numpy as np

from autograph.backend import Backend, ambient, at_end, has_staged_items, of_trace
from runtime.core import narrow_floats
from runtime.core.array_mode import need_objects
from runtime.core.array_promotion import array_types, common_dtype, is_of_arrays, made_of_arrays
from runtime.core.constant_arrays import adapt, adapted, constant_array, is_numpy_number, is_numpy_value
from runtime.core.errors import DTypeConversionError, DTypeError, InaccessibleTensorError, NumberOverflowError, locate
from runtime.core.graph import Graph, Value
from runtime.core.inaccessible import inaccessible
from runtime.core.op import CAST, CONST, Errors, Op, belongs_to_user, better_error, kernel_for
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located, user_position
from runtime.core.recording import announce, record, recorders
from runtime.core.refined_tensors import restore_captures
from runtime.core.string_arrays import remedy
from runtime.core.tensor import Array, EagerList, EagerTensor, GraphList, GraphTensor, Tensor
from runtime.core.tensor_writes import written_by
from runtime.core.types import (
    DType,
    ListType,
    TensorType,
    Type,
    Weak,
    as_dtype,
    dtype_of,
    promote,
    type_of_array,
    uint64,
)

__all__ = [
    "add_input", "announce_errors", "apply", "as_plain_tensor", "capture", "constant", "constant_tensor",
    "convert_beside", "convert_to_tensor", "current_graph", "hint", "holds_tensor", "init_scope", "inside_function",
    "promoted_arrays", "raising", "set_outputs", "stands_for_array", "tell_watchers", "tracing",
    "watchers", "watching", "wrap",
]

NOW: Final = object()


class Watcher(Protocol):
    """Is notified where a graph may raise."""

    def before(self, graph: Graph, errors: Errors) -> None:
        """Called before a node that may raise `errors` is added to `graph`. Without errors: a node with sub-graphs was
        added, so the last effects before this point may differ between trace and run."""

    def exited_by(self, error: BaseException | None) -> None:
        """Called when traced code has raised `error`, or (None) a body has ended. Nodes that this requires are added
        after the bodies are left, inside `raising`."""


class _State(threading.local):
    graph: Graph | None = None
    watchers: tuple[Watcher, ...] = ()
    raising: object = NOW


_state: Final = of_trace(_State())
open_traces: Final[dict[int, None]] = {}
"""The threads that are tracing or have open recorders: if empty, a call need not check its own."""


def current_graph() -> Graph | None:
    """The graph that this thread is tracing, or None: then ops compute immediately."""
    return _state.graph


def inside_function() -> bool:
    """Whether a function is being traced (`tf.inside_function`)."""
    return _state.graph is not None


class watching(AbstractContextManager[None]):
    """Notify `watcher` of the errors of graphs traced inside; with None, notify nobody, since these graphs run at
    another time."""

    def __init__(self, watcher: Watcher | None) -> None:
        self.watcher = watcher

    def __enter__(self) -> None:
        self.previous = _state.watchers
        _state.watchers = () if self.watcher is None else (*self.previous, self.watcher)

    def __exit__(self, *_: object) -> None:
        _state.watchers = self.previous


class raising(AbstractContextManager[None]):
    """Declare that nodes added inside are due to `error`, which traced code has raised, or (None) to the end of a
    body."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def __enter__(self) -> None:
        _state.raising = self.error

    def __exit__(self, *_: object) -> None:
        _state.raising = NOW

    @staticmethod
    def cause() -> object:
        """The error, or None; NOW outside of `raising`."""
        return _state.raising


def watchers() -> tuple[Watcher, ...]:
    """The watchers notified of errors here, the innermost last."""
    return _state.watchers


def announce_errors(graph: Graph, errors: Errors) -> None:
    """Notify the watchers that `graph`, which is being traced, may raise at this point."""
    told, _state.watchers = _state.watchers, ()
    try:
        for watcher in told:
            watcher.before(graph, errors)
    finally:
        _state.watchers = told


def tell_watchers(error: BaseException | None) -> None:
    """Notify the watchers that traced code has raised `error`, or (None) that a body has ended."""
    for watcher in _state.watchers:
        watcher.exited_by(error)


class tracing(AbstractContextManager[Graph | None]):
    """Make `graph` the current graph of this thread; None suspends all graphs. Meanwhile `backend` stages the control
    flow of converted code; the default is that of the enclosing graph."""

    def __init__(self, graph: Graph | None, backend: Backend | None = None) -> None:
        self.graph = graph
        self.backend = backend

    def __enter__(self) -> Graph | None:
        self.previous = _state.graph, ambient.backend
        self.first = self.graph is not None and threading.get_ident() not in open_traces
        if self.first:
            open_traces[threading.get_ident()] = None
        _state.graph = self.graph
        ambient.backend = None if self.graph is None else self.backend or ambient.backend
        return self.graph

    def __exit__(self, *_: object) -> None:
        _state.graph, ambient.backend = self.previous
        if self.graph is not None:
            self.graph.is_over = _state.graph is None
        restore_captures(self.graph)
        if self.first:
            open_traces.pop(threading.get_ident(), None)


at_end(lambda: open_traces.pop(threading.get_ident(), None))


def init_scope() -> tracing:
    """Suspend all graphs: ops inside compute immediately (`tf.init_scope`)."""
    return tracing(None)


def _convert(value: Any) -> Any:
    """A tensor for an object with `__tensor__`, or `__dense__` where it is one in another form, or a list that contains
    tensors; any other value itself."""
    to_tensor = getattr(type(value), "__tensor__", None)
    if to_tensor is not None:  # includes tensors that may be unbound, which is checked here
        return to_tensor(value)
    if isinstance(value, (Tensor, EagerList, GraphList)):
        return value
    if has_staged_items(value):
        view = value[0].view(value)
        return view.stacked() if hasattr(view, "stacked") else _convert(view)
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        return OPERATIONS.stack([_convert(item) for item in value])
    to_dense = getattr(type(value), "__dense__", None)
    return value if to_dense is None else to_dense(value)


def holds_tensor(value: Sequence[Any]) -> bool:
    return any(isinstance(item, Tensor) or hasattr(type(item), "__tensor__") or (
        isinstance(item, (list, tuple)) and holds_tensor(item)) for item in value)


def convert_beside(value: Any, dtype: DType) -> Tensor:
    """A tensor for `value` beside one of that dtype. NumPy numbers adapt to it, and Python numbers if they can."""
    return convert_to_tensor(value, dtype if is_numpy_number(value) else None, dtype)


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None, strings: bool = False
) -> Tensor:
    """A tensor for `value`: a tensor, a number, an array, or nested lists of these (`tf.convert_to_tensor`).

    With `dtype`, Python numbers adapt to it, and other values of another dtype raise DTypeError; Python numbers adapt
    to `dtype_hint` if they can. `strings`: text becomes a tensor of strings even without `dtype`. ValueError for a
    value that is no array.
    """
    try:
        return _to_tensor(value, dtype, dtype_hint, name, strings)
    except Exception as exc:
        locate(exc, user_position())
        raise


def _to_tensor(value: Any, dtype: Any, dtype_hint: Any, name: str | None, strings: bool) -> Tensor:
    want = None if dtype is None else as_dtype(dtype)
    value = _convert(value)
    if _state.graph is None and type(value) is GraphTensor and (known := value.value.constant) is not None:
        value = EagerTensor(known)  # suspended graphs, whose constants are known
    if isinstance(value, Tensor):
        if want is None or value.dtype is want:
            return value
        if value.type.weak and value.dtype.level <= want.level and not want.is_bool:
            result = apply(CAST, value, dtype=want)
            assert isinstance(result, Tensor)
            return result
        raise DTypeConversionError(f"a tensor of dtype {value.dtype.name} was given where {want.name} is wanted",
                                   remedy=remedy(value.dtype, want, otherwise=f"Cast it: rt.cast(x, rt.{want.name})."))
    hinted = None if dtype_hint is None else as_dtype(dtype_hint)
    takes_text = strings or (hinted is not None and hinted.is_string)
    array, weak = constant_array(value, want, takes_text and want is None)
    if want is None and hinted is not None and weak and (dtype_of(array).level <= hinted.level or not array.size):
        array, weak = adapt(array, hinted), False
    if isinstance(weak, DType):
        array = adapt(array, weak)
    graph = _state.graph
    if graph is None:
        return EagerTensor.own(array)
    return GraphTensor(constant(graph, array, False, name, want is None and is_numpy_value(value)))


def constant(graph: Graph, array: Array, weak: Weak, name: str | None = None, of_arrays: bool = False) -> Value:
    """A constant of `graph`, which takes ownership of the array. `of_arrays`: it is a NumPy array of the user's."""
    array.setflags(write=False)
    params: dict[str, Any] = {"value": array, "weak": weak} if weak else {"value": array}
    type = type_of_array(array, weak)
    if of_arrays:
        type = replace(type, of_arrays=True)
    value = graph.add_node(CONST, (), params, type, user_position()).outputs[0]
    value.hint = name
    return value


def constant_tensor(array: Array, name: str | None = None) -> EagerTensor | GraphTensor:
    """A tensor of an array that the runtime has made, and which it takes over: it is not one of the user's arrays."""
    graph = _state.graph
    return EagerTensor.own(array) if graph is None else GraphTensor(constant(graph, array, False, name))


def stands_for_array(x: Any) -> bool:
    """Whether a tensor of a graph stands for an array of NumPy, or what was made of such: it has NumPy's `shape`."""
    return isinstance(x, GraphTensor) and (x.is_object or is_of_arrays(x.type))


def as_plain_tensor(x: Tensor) -> Tensor:
    """The tensor itself, or one with the same value if it stands for an array."""
    if not stands_for_array(x):
        return x
    plain: GraphTensor = apply(CAST, x, dtype=x.dtype)
    plain.value.type = replace(plain.type, of_arrays=False)
    return plain


# Values of the graph.

def wrap(value: Value) -> GraphTensor | GraphList:
    """The tensor or list that wraps `value` in traced code."""
    return GraphList(value) if isinstance(value.type, ListType) else GraphTensor(value)


def capture(graph: Graph, x: Any) -> Value:
    """The value of `graph` for a tensor, list or constant: its own value, a capture from outside, or a new constant.

    InaccessibleTensorError for a tensor of a graph that does not enclose `graph`.
    """
    x = _convert(x)
    if isinstance(x, (GraphTensor, GraphList)):
        value = x.value
        if isinstance(x, GraphTensor) and x.memory:
            OPERATIONS.check_current(x)
        if value.graph is graph:
            return value
        if not value.graph.contains(graph):
            raise inaccessible(x, graph)
        return graph.capture(value, value.type)
    if isinstance(x, (EagerTensor, EagerList)):
        return graph.capture(x, x.type)
    array, weak = constant_array(x)
    return constant(graph, array, weak, of_arrays=is_numpy_value(x))


def _check_reach(x: GraphTensor) -> None:
    """InaccessibleTensorError for a tensor of a graph that is not being traced here."""
    if not x.value.graph.contains(_state.graph):
        error = inaccessible(x, _state.graph)
        locate(error, user_position())
        raise error


OPERATIONS.define(check_reach=_check_reach)


def add_input(graph: Graph, type: Type, hint: str | None = None) -> Any:
    """A new input of `graph`: a GraphTensor, or a GraphList for a ListType."""
    return wrap(graph.add_input(type, hint))


def set_outputs(graph: Graph, outputs: Iterable[Any]) -> None:
    """Make the tensors, lists or constants `outputs` the results of `graph`."""
    try:
        graph.outputs = [capture(graph, x) for x in outputs]
    except InaccessibleTensorError as error:
        locate(error, error.made or user_position())
        raise
    graph.executable = None


def hint(x: Any, name: str) -> None:
    """Name the value in print, unless it has a name or is eager."""
    if isinstance(x, (GraphTensor, GraphList)) and x.value.hint is None:
        x.value.hint = name


# Applying ops.

def apply(op: Op, *inputs: Any, **params: Any) -> Any:
    """Apply `op`: compute immediately, or add a node to the current graph.

    Inputs are tensors, lists, or convertible to tensors. Returns a tensor (or list), or a tuple of these if the op's
    rule returns a tuple. For an op with sub-graphs the inputs are the operands; the captures are added here.
    """
    graph = _state.graph
    try:
        return _compute(op, inputs, params) if graph is None else _stage(graph, op, inputs, params)
    except Exception as exc:
        if not belongs_to_user(op, exc):
            locate(exc, user_position())
        raise


def _stage(graph: Graph, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    operands = [_operand(graph, x) for x in inputs]
    operand_types = [x.type if isinstance(x, Value) else None for x in operands]
    is_widened = op.agree is not None and _make_agree(graph, op, operands, inputs)
    resolved = [x if isinstance(x, Value) else constant(graph, *x) for x in operands]
    types_out = op.rule(*[v.type for v in resolved], **params)
    if any([type is not None and is_of_arrays(type) for type in operand_types]):
        types_out = made_of_arrays(op, operand_types, types_out, is_widened)
    for param in params.values():
        if isinstance(param, Graph):
            assert param.parent is graph, f"sub-graph {param.name} is not nested in {graph.name}"
            resolved.extend(outer for outer, _ in param.captures)
    node = graph.add_node(op, resolved, params, types_out, user_position())
    if _state.watchers and (errors := node.own_errors):
        graph.nodes.pop()
        announce_errors(graph, errors)
        graph.nodes.append(node)
        if node.subgraphs:  # they were traced earlier, but run after the nodes added by the watchers
            announce_errors(graph, ())
    if node.subgraphs:
        written_by(node.subgraphs.values())
    return wrap(node.outputs[0]) if node.single else tuple(map(wrap, node.outputs))


Operand = Value | tuple[Array, Weak]  # a value of the graph, or a constant's array and whether it is weak


def _operand(graph: Graph, x: Any) -> Operand:
    x = _convert(x)
    return capture(graph, x) if isinstance(x, (Tensor, EagerList, GraphList)) else constant_array(x, strings=True)


def _make_agree(graph: Graph, op: Op, operands: list[Operand], inputs: Sequence[Any]) -> bool:
    """Convert the operands that must agree to their common dtype: weak ones, NumPy numbers beside a tensor, and, if
    `op.widens`, those of a narrower kind. Returns whether a tensor was converted to a wider dtype."""
    assert op.agree is not None
    positions = range(len(operands))[op.agree]
    types: list[TensorType] = []
    for i in positions:
        x = operands[i]
        type = x.type if isinstance(x, Value) else type_of_array(*x)
        if not isinstance(type, TensorType):
            raise DTypeError(f"{op.name} takes tensors, not a {type}")
        types.append(type)
    dtype, weak = _promoted(types, _constants(operands[op.agree], inputs[op.agree]), f"the operands of {op.name}",
                            op.widens, op.joins)
    for i, type in zip(positions, types, strict=True):
        operands[i] = _in_dtype(graph, operands[i], type, dtype, weak)
    return any([type.dtype is not dtype and not (type.weak or type.of_arrays) for type in types])


def _in_dtype(graph: Graph, x: Operand, type: TensorType, dtype: DType, weak: bool) -> Operand:
    """An operand of that type in another dtype."""
    if not isinstance(x, Value):
        return adapted(x[0], dtype, weak and bool(x[1]))
    if type.dtype is dtype:
        return x
    known = x.constant
    wanted = replace(type, dtype=dtype, weak=weak)
    return _cast(graph, x, wanted) if known is None else adapted(known, dtype, weak)


def promoted_arrays(values: Sequence[Any], joins: bool) -> list[Tensor] | None:
    """Tensors of one dtype for values of which some are arrays of the graph and none is a tensor, as the operands of an
    op that `joins` them, or does not. None for other values."""
    values = list(map(_convert, values))
    if not any([isinstance(x, GraphTensor) and x.type.of_arrays and not x.type.weak for x in values]):
        return None
    graph = _state.graph
    assert graph is not None
    operands = [_operand(graph, x) for x in values]
    types: list[Any] = [x.type if isinstance(x, Value) else type_of_array(*x) for x in operands]
    constants = _constants(operands, values)
    if array_types(types, constants, joins) is None:
        return None
    dtype, weak = _promoted(types, constants, "the arguments", True, joins)
    found = [_in_dtype(graph, x, type, dtype, weak) for x, type in zip(operands, types, strict=True)]
    return [GraphTensor(x if isinstance(x, Value) else constant(graph, *x, of_arrays=True)) for x in found]


def _constants(operands: Sequence[Operand], values: Sequence[Any]) -> list[Any]:
    """The values of the operands that are constants, else None."""
    return [None if isinstance(x, Value) else value for x, value in zip(operands, values, strict=True)]


def _promoted(
    types: Sequence[TensorType], constants: Sequence[Any], what: str, widens: bool, joins: bool
) -> tuple[DType, bool]:
    """The common dtype of operands, and whether it is weak. `constants`: the values of those that are constants, else
    None. Those of NumPy adapt to a tensor; beside arrays they are promoted as in NumPy."""
    adapting = list(types)
    if any(x is None and not own.weak for x, own in zip(constants, types, strict=True)):
        adapting = [TensorType(own.dtype, own.shape, True) if is_numpy_number(x) else own
                    for x, own in zip(constants, types, strict=True)]
    error: DTypeError | None = None
    dtype, weak = None, False
    try:
        dtype, weak = promote(adapting, what, widens)
    except DTypeError as exc:
        error = exc
    if any([type.of_arrays and not type.weak for type in types]):
        arrays = array_types(types, constants, joins)
        found = common_dtype(arrays) if arrays is not None else None if error is None else common_dtype(adapting)
        if found is not None and found is not dtype:
            need_objects(located(error or DTypeError(f"{what} become {found.name}, as they are arrays")))
            return found, False
    if dtype is None:
        assert error is not None
        raise error
    if weak and dtype is uint64 and any(type.dtype is not uint64 for type in types):
        raise NumberOverflowError(
            "an int of Python's does not fit int64: ints that Python made have 64 bits in a graph")
    return dtype, weak


def _cast(graph: Graph, x: Value, type: TensorType) -> Value:
    params: dict[str, Any] = {"dtype": type.dtype, "weak": True} if type.weak else {"dtype": type.dtype}
    return graph.add_node(CAST, (x,), params, type, user_position()).outputs[0]


_SIMPLE: Final = frozenset((int, float, bool, str, type(None), tuple, DType))
_rules: Final[dict[Any, Any]] = {}  # results of rules, by op, types and params


def _compute(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    if recorders:
        inputs = list(map(_convert, inputs))
        announce(op)
    arrays, lists, weak = _arrays_of(op, inputs)
    if weak:
        inputs = _adapt_weak(op, arrays, weak, inputs)
    found = _infer(op, arrays, lists, params)
    try:
        kernel = op.kernel if not narrow_floats.loaded or lists else kernel_for(
            op, map(type_of_array, arrays), found if isinstance(found, tuple) else (found,))
        with np.errstate(all="ignore"):
            result = kernel(*arrays, **params)
    except Exception as exc:
        better = better_error(op, arrays, params, exc)
        if better is not None:
            raise better from None
        raise
    made = tuple(map(_eager, result or (), found)) if isinstance(found, tuple) else _eager(result, found)
    if recorders:
        record(op, inputs, arrays, made, params)
    return made


def _arrays_of(op: Op, inputs: Sequence[Any]) -> tuple[list[Any], dict[int, ListType], dict[int, Weak]]:
    """The arrays of an op's inputs (for a list, a tuple of arrays); by position, the types of lists and the weakness of
    weak inputs."""
    arrays: list[Any] = []
    lists: dict[int, ListType] = {}
    weak: dict[int, Weak] = {}
    from_numpy: list[int] = []
    for i, x in enumerate(inputs):
        if type(x) is EagerTensor:
            arrays.append(x._array)
            continue
        scalar = _scalar_like_others(op, i, x, inputs) if type(x) is int or type(x) is float else None
        if scalar is not None:
            arrays.append(scalar)
            continue
        x = _convert(x)
        if isinstance(x, EagerTensor):
            arrays.append(x._array)
        elif isinstance(x, EagerList):
            arrays.append(x.items)
            lists[i] = x.type
        elif isinstance(x, (GraphTensor, GraphList)):
            raise inaccessible(x, None)
        else:
            array, is_weak = constant_array(x, strings=True)
            arrays.append(array)
            if is_weak:
                weak[i] = is_weak
            elif op.agree is not None and i in range(len(inputs))[op.agree] and is_numpy_number(x):
                from_numpy.append(i)
    if from_numpy and op.agree is not None and any(
            i not in weak and i not in from_numpy for i in range(len(arrays))[op.agree]):
        weak |= dict.fromkeys(from_numpy, True)
    return arrays, lists, weak


def _adapt_weak(op: Op, arrays: list[Any], weak: Mapping[int, Weak], inputs: Sequence[Any]) -> Sequence[Any]:
    """Convert the weak arrays to the dtype of the operands that they must agree with, or to their own. Returns the
    inputs, those that `op.widens` applies to with casts."""
    wanted = {i: type_of_array(arrays[i], kind).dtype for i, kind in weak.items()}
    if op.agree is not None:
        positions = range(len(arrays))[op.agree]
        types = [type_of_array(arrays[i], weak.get(i, False)) for i in positions]
        dtype, _ = promote(types, f"the operands of {op.name}", op.widens)
        wanted |= dict.fromkeys(positions, dtype)
        for i, own in zip(positions, types, strict=True):
            if not own.weak and own.dtype is not dtype:
                inputs = [*inputs[:i], _compute(CAST, [inputs[i]], {"dtype": dtype}), *inputs[i + 1:]]
                arrays[i] = inputs[i]._array
    for i in weak:
        arrays[i] = adapt(arrays[i], wanted[i])
    return inputs


def _scalar_like_others(op: Op, i: int, x: int | float, inputs: Sequence[Any]) -> Array | None:
    """A Python number in the dtype of the tensors that it must agree with: the fast path.

    None if the conversion is not trivial; then the rules of `promote` and `adapt` decide.
    """
    if op.agree is None or i not in range(len(inputs))[op.agree]:
        return None
    for other in inputs[op.agree]:
        if type(other) is EagerTensor:
            dtype = other.dtype
            if type(x) is float:
                return np.array(x, dtype.np) if dtype.level >= 2 else None
            low, high = dtype.limits if dtype.is_integer else (-(1 << 63), 1 << 63)
            return np.array(x, dtype.np) if dtype.level > 0 and low <= x <= high else None
    return None


def _eager(result: Any, type: Type) -> EagerTensor | EagerList:
    return EagerList(result, type) if isinstance(type, ListType) else EagerTensor.own(result)


def _infer(
    op: Op, arrays: list[Any], lists: dict[int, ListType], params: dict[str, Any]
) -> Type | tuple[Type, ...]:
    """The result types of an op on arrays, cached if the params are hashable."""
    key: Any = None
    if not lists and all(type(param) in _SIMPLE for param in params.values()):
        key = (op, *[(a.dtype, a.shape) for a in arrays], *params.items())
        try:
            return _rules[key]  # type: ignore[no-any-return]
        except KeyError:
            pass
        except TypeError:  # a tuple of something unhashable
            key = None
    types = [lists[i] if i in lists else type_of_array(a) for i, a in enumerate(arrays)]
    if op.agree is not None:
        promote(types[op.agree], f"the operands of {op.name}")  # type: ignore[arg-type]
    result = op.rule(*types, **params)
    if key is not None:
        if len(_rules) >= 4096:
            _rules.clear()
        _rules[key] = result
    return result
