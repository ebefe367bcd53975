"""Calls of Python functions: `py_function` and `numpy_function`.

A graph knows every rank, but `Tout` gives only dtypes. The rank of such a result is that of the first argument, until
`set_shape` declares another, or a run finds another (`Ranks`): then the function is traced again with that one.
"""
from __future__ import annotations

import contextlib
import functools
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final
from weakref import ref

import numpy as np

from runtime.core.config import running_eagerly
from runtime.core.constant_arrays import adapt, constant_array
from runtime.core.errors import DTypeError, InvalidArgumentError, OpError, ShapeError
from runtime.core.graph import Value
from runtime.core.op import Op
from runtime.core.positions import located, user_position
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor, current_graph, init_scope
from runtime.core.types import (
    TensorSpec,
    TensorType,
    Type,
    as_dtype,
    compatible_shapes,
    shape_text,
    type_of_array,
)

__all__ = ["NUMPY_FUNCTION", "PY_FUNCTION", "declare_rank", "numpy_function", "py_function", "ranks"]

Types = tuple[TensorType, ...]
Site = tuple[Any, ...]  # the place of a call, the name of its function, and the ranks of its arguments


class Ranks(threading.local):
    """The ranks of results that calls of Python functions have had where a trace would assume another.

    known     by the site of the call and the number of the result, for all threads
    assumed   the first results of calls with assumed ranks, in the traces of this thread inside `collecting`
    log       what Python functions have returned in a call while ranks were assumed; None if that is much
    """

    known: Final[dict[tuple[Site | None, int], int]] = {}

    def __init__(self) -> None:
        self.assumed: list[ref[Value]] = []
        self.learns = False
        self.log: list[Any] | None = None
        self.replayed: deque[Any] = deque()

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect the calls with assumed ranks in traces made inside."""
        before, self.assumed = self.assumed, []
        try:
            yield
        finally:
            self.assumed = before

    def note(self, site: Site | None, results: Sequence[Any], likely: int, free: Collection[int]) -> None:
        """Note a call, in which only the dtypes of the results `free` were given: that their ranks are assumed, in a
        trace, or their ranks, in `learning`."""
        if isinstance(results[0], GraphTensor):
            self.assumed.append(ref(results[0].value))
        elif self.learns and site is not None:
            self.known.update({(site, i): results[i].ndim for i in free if results[i].ndim != likely})

    def are_assumed(self) -> bool:
        """Whether a rank is assumed in the traces inside `collecting`, which no `set_shape` has declared."""
        values = [value for each in self.assumed if (value := each()) is not None]
        return any(value.node is not None and value.node.params.get("assumed") for value in values)

    def learn(self, error: BaseException) -> bool:
        """Whether `error` says that a result has another rank than a graph assumes; then it is known from now on."""
        found, place = getattr(error, "found_rank", None), getattr(error, "place", None)
        if found is None or place is None:
            return False
        (name, arguments), i, rank = found
        key = (place.filename, place.lineno, place.col, name, arguments), i
        is_new: bool = self.known.get(key) != rank
        self.known[key] = rank
        return is_new

    @contextlib.contextmanager
    def learning(self) -> Iterator[None]:
        """Run functions eagerly inside, and learn the ranks of results."""
        before, self.learns = self.learns, True
        try:
            with running_eagerly(), init_scope():
                yield
        finally:
            self.learns = before

    @contextlib.contextmanager
    def replaying(self, log: Sequence[Any]) -> Iterator[None]:
        """Inside, the first calls of Python functions return what is in `log`, without being made."""
        before, self.replayed = self.replayed, deque(log)
        try:
            yield
        finally:
            self.replayed = before

    def called(self, func: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """`func(*arguments)`, as the contexts above say."""
        result = self.replayed.popleft() if self.replayed else func(*arguments)
        if self.log is not None and self.assumed:
            self.log.append(result)
            if len(self.log) > _MOST_LOGGED:
                self.log = None
        return result


_MOST_LOGGED: Final = 100  # results are large, and the first of each call tells its rank
ranks: Final = Ranks()


def _results(
    func: Any, results: Any, types: Types, single: bool, free: frozenset[int], arguments: Sequence[Any],
    assumed: frozenset[int], converts: bool = False,
) -> Any:
    """The arrays of what `func` returned for these arguments. An OpError is located at the call, though it is foreign
    code that was called."""
    try:
        name = _name(func)
        if single or (len(types) == 1 and not isinstance(results, (list, tuple))):
            results = (results,)
        elif not types:
            return ()
        elif not isinstance(results, (list, tuple)) or len(results) != len(types):
            count = len(results) if isinstance(results, (list, tuple)) else 1
            raise InvalidArgumentError(f"{name} returned {count} values, but Tout has {len(types)}")
        arrays = [_array(name, x, type, converts) for x, type in zip(results, types, strict=True)]
        for i, (array, type) in enumerate(zip(arrays, types, strict=True)):
            if i not in free and not compatible_shapes(array.shape, type.shape):
                raise _misfit(func, array, type, (_call(func, arguments), i, array.ndim) if i in assumed else None)
    except OpError as error:
        error.of_op = True
        raise
    return arrays[0] if single else tuple(arrays)


def _name(func: Any) -> str:
    return str(getattr(func, "__name__", "function"))


def _call(func: Any, arguments: Sequence[Any]) -> tuple[str, tuple[int, ...]]:
    """Distinguishes the calls of one line."""
    return _name(func), tuple(map(np.ndim, arguments))


def _misfit(func: Any, array: Any, type: TensorType, found: Any) -> ShapeError:
    """The error for a result of another shape; `found`: its rank, if the graph only assumes one."""
    error = ShapeError(f"{_name(func)} returned {type_of_array(array)}, but its result was taken to have the shape "
                       f"{shape_text(type.shape)}", remedy=_GIVE_SHAPE)
    error.found_rank = found
    return error


def _array(name: str, x: Any, type: TensorType, converts: bool) -> Any:
    """The array of a result. `converts`: what is no tensor becomes one of the dtype that is wanted, where it can."""
    if isinstance(x, Tensor) or hasattr(x, "__tensor__"):
        x = convert_to_tensor(x)
    elif converts:
        with contextlib.suppress(DTypeError):
            x = constant_array(x, type.dtype)[0]
    array, weak = constant_array(x, strings=type.dtype.is_string)
    found = type_of_array(array, weak)
    if weak and found.dtype.level <= type.dtype.level and not type.dtype.is_bool:
        return adapt(array, type.dtype)
    if found.dtype is not type.dtype:
        raise DTypeError(f"{name} returned {found}, but Tout says {type.dtype.name}")
    return array


_GIVE_SHAPE: Final = ("Give the result's shape: Tout=rt.TensorSpec(shape, dtype), or result.set_shape(shape) right "
                      "after the call.")
_NONE: Final[frozenset[int]] = frozenset()


def _py_kernel(
    *arrays: Any, func: Callable[..., Any], types: Types, single: bool, free: frozenset[int] = _NONE,
    assumed: frozenset[int] = _NONE,
) -> Any:
    with init_scope():
        found = ranks.called(func, list(map(EagerTensor, arrays)))
        return _results(func, found, types, single, free, arrays, assumed, converts=True)


def _scalar(array: Any) -> Any:
    return array[()] if isinstance(array, np.ndarray) and array.dtype == object else array  # a string's bytes


def _numpy_kernel(
    *arrays: Any, func: Callable[..., Any], types: Types, single: bool, free: frozenset[int] = _NONE,
    assumed: frozenset[int] = _NONE,
) -> Any:
    with init_scope():
        copies = [np.array(array) if np.ndim(array) else _scalar(array) for array in arrays]
        return _results(func, ranks.called(func, copies), types, single, free, arrays, assumed)


def _py_rule(
    *inputs: Type, func: Callable[..., Any], types: Types, single: bool, free: frozenset[int] = _NONE,
    assumed: frozenset[int] = _NONE,
) -> Any:
    """`free` are the results (by position) whose shapes `types` does not give, in eager calls; `assumed` those in
    graphs whose rank is assumed until `set_shape` declares it."""
    return types[0] if single else types


PY_FUNCTION: Final = Op("py_function", _py_kernel, _py_rule, effect=True, foreign=True,
                        errors=(Exception,),
                        doc="Call a Python function on eager tensors.")
NUMPY_FUNCTION: Final = Op("numpy_function", _numpy_kernel, _py_rule, effect=True, foreign=True,
                           errors=(Exception,),
                           doc="Call a Python function on NumPy arrays.")


def _host_call(op: Op, func: Callable[..., Any], inp: Any, Tout: Any) -> Any:
    inputs = [convert_to_tensor(x, strings=True) for x in (inp if isinstance(inp, (list, tuple)) else [inp])]
    single = not isinstance(Tout, (list, tuple)) and Tout is not None
    wanted = [Tout] if single else list(Tout or ())
    unranked = frozenset([i for i, what in enumerate(wanted) if not isinstance(what, TensorSpec)])
    if not unranked:
        results = apply(op, *inputs, func=func, types=tuple([spec.type for spec in wanted]), single=single)
        return results if single else list(results)
    site, likely = _site(func, inputs), inputs[0].ndim if inputs else 0
    types = [_unranked_type(what, ranks.known.get((site, i), likely)) if i in unranked else what.type
             for i, what in enumerate(wanted)]
    free = unranked if current_graph() is None else frozenset([i for i in unranked if (site, i) not in ranks.known])
    name = "free" if current_graph() is None else "assumed"
    results = apply(op, *inputs, func=func, types=tuple(types), single=single, **{name: free})
    made = [results] if single else list(results)
    ranks.note(site, made, likely, free)
    return results if single else made


def _site(func: Callable[..., Any], inputs: Sequence[Tensor]) -> Site | None:
    place = user_position()
    return None if place is None else (
        place.filename, place.lineno, place.col, _name(func), tuple([x.ndim for x in inputs]))


def _unranked_type(dtype: Any, rank: int) -> TensorType:
    return TensorType(as_dtype(dtype), (None,) * rank)


def declare_rank(x: Any, rank: int) -> None:
    """Let `x` have that rank, if it is a result of a Python function whose rank is only assumed. ShapeError if an op
    has taken it as one of another rank."""
    value = x.value if isinstance(x, GraphTensor) else None
    node = None if value is None else value.node
    if value is None or node is None or node.op not in (PY_FUNCTION, NUMPY_FUNCTION):
        return
    i, assumed = node.outputs.index(value), node.params.get("assumed", _NONE)
    if i not in assumed:
        return
    node.params["assumed"] = assumed - {i}
    if rank == x.ndim:
        return
    user = next((each for each in value.graph.nodes if value in each.inputs), None)
    if user is not None or current_graph() is not value.graph:
        raise located(ShapeError(
            f"the rank {rank} is declared after the result was used{f' by {user.op.name}' if user else ''}, as a "
            f"tensor of rank {x.ndim}", remedy=_GIVE_SHAPE))
    value.type = x.type.with_shape((None,) * rank)
    types = node.params["types"]
    node.params["types"] = (*types[:i], value.type, *types[i + 1:])


def py_function(
    func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None, name: str | None = None
) -> Any:
    """Call a Python function whenever the graph reaches this point (`tf.py_function`).

    Without `inp` it is a decorator, `@rt.py_function(Tout=rt.float32)`: the decorated function takes tensors.

    `func` takes an eager tensor for each element of the list `inp`, and returns one value, or a list of values if
    `Tout` is a list; `Tout=[]` or None for no value. `Tout` gives the dtype of each, or a `TensorSpec`, which also
    gives the shape. With a dtype alone, a result has any shape. In a graph its rank is that of the first of `inp`,
    unless `result.set_shape(shape)` or `rt.ensure_shape` right after the call declares another, or the first call of
    the `rt.function` (in a dataset, the first element) finds another, and has it traced again; ShapeError where later
    calls give other ranks. DTypeError for another dtype. Exceptions of `func` propagate to the caller of the graph.
    """
    return _call_or_decorate(PY_FUNCTION, func, inp, Tout)


def numpy_function(
    func: Callable[..., Any] | None = None, inp: Any = None, Tout: Any = None, stateful: bool = True,
    name: str | None = None
) -> Any:
    """Call a Python function on NumPy arrays whenever the graph reaches this point (`tf.numpy_function`).

    Like `py_function`, also as a decorator, but `func` takes and returns NumPy arrays. It is always an effect.
    """
    return _call_or_decorate(NUMPY_FUNCTION, func, inp, Tout)


def _call_or_decorate(op: Op, func: Callable[..., Any] | None, inp: Any, Tout: Any) -> Any:
    if func is not None and inp is not None:
        return _host_call(op, func, inp, Tout)

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any) -> Any:
            return _host_call(op, function, args, Tout)

        return call

    return decorated if func is None else decorated(func)
