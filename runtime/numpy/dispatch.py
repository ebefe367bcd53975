"""Dispatch of NumPy's functions for tensors: `__array_ufunc__` and `__array_function__`.

NumPy passes a call to the class of an argument. Functions with a counterpart here run on tensors, eagerly and in
graphs. Others, and calls that need arrays (`out=`), are run by NumPy on the values of eager tensors; in a graph they
raise an error.
"""
from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from autograph.backend import has_staged_items
from runtime.core import pytree
from runtime.core.array_methods import ArrayMethods
from runtime.core.array_mode import are_objects, existed_before, may_be_0d_array, want_objects
from runtime.core.array_promotion import is_of_arrays, mark_as_array
from runtime.core.constant_arrays import is_numpy_value
from runtime.core.errors import StagingError, UnimplementedError, locate
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error, user_position
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor, holds_tensor
from runtime.numpy import arrays
from runtime.numpy.array_layouts import Layout
from runtime.numpy.array_objects import ArrayCell, ElementsView, StagedArray, put_result, read_only
from runtime.numpy.array_results import has_objects, has_tensors, made_of, new_array
from runtime.numpy.array_views import VIEWS, in_order
from runtime.numpy.changing import CHANGING, change_at, put_out, refusal
from runtime.numpy.reductions import is_array, sums_between
from runtime.numpy.table import ACCUMULATED, CREATION, FUNCTIONS, REDUCTIONS
from runtime.numpy.table import method as method_of
from runtime.numpy.ufuncs import UFUNCS
from runtime.ops import logic

__all__ = ["CHANGING", "CREATION", "FUNCTIONS", "call_method", "call_on_tensors", "is_array_method",
    "operate", "scalar_of", "takes_tensors"]

Function = Callable[..., Any]

_KEEPING: Final = frozenset((np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray))


_ARRAY_FUNCTIONS: Final = frozenset(map(type, (*FUNCTIONS, *CREATION, np.add)))


def takes_tensors(function: Any, args: Sequence[Any]) -> bool:
    """Whether this is a function of NumPy that accepts tensors, and for which a list is an array."""
    return type(function) in _ARRAY_FUNCTIONS and (
        isinstance(function, np.ufunc) or function in CREATION or function in FUNCTIONS or _is_ufunc_method(function)
        or (function in CHANGING and bool(args) and isinstance(args[0], StagedArray)))


def _is_ufunc_method(function: Any) -> bool:
    return isinstance(getattr(function, "__self__", None), np.ufunc)


def call_on_tensors(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The result of such a function for arguments that may be lists with items known only when the graph runs; NumPy
    itself checks only the classes of some arguments."""
    if function is not np.concatenate:  # np.concatenate also takes arrays of different lengths
        args, kwargs = _stacked(args), {key: _stacked(value) for key, value in kwargs.items()}
    if (function in _KEEPING or function is np.array) and _returns_argument(function, *args, **kwargs):
        return in_order(args[0], _ORDERS.get(function) or kwargs.get("order"))
    if function in CREATION:
        made = new_array(arrays.wide(CREATION[function](*args, **kwargs)), args)
        if isinstance(made, ArrayCell):
            made.layout = _layout_of_new(function, args, kwargs)
        return made
    if isinstance(function, np.ufunc) or _is_ufunc_method(function):
        keeps_tuples = function.__name__ == "at"  # a tuple of indices is no array
        return function(*[x if keeps_tuples and type(x) is tuple else _as_operand(x) for x in args], **kwargs)
    return _array_function(function, args, kwargs)


def _as_operand(x: Any) -> Any:
    return convert_to_tensor(x) if type(x) in (list, tuple) and holds_tensor(x) else x


_COMPARISONS: Final[Mapping[str, np.ufunc]] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}
_ARITHMETIC: Final[Mapping[str, np.ufunc]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and_": np.bitwise_and, "or_": np.bitwise_or}
_IN_PLACE: Final[Mapping[str, np.ufunc]] = {f"i{name.strip('_')}": ufunc for name, ufunc in _ARITHMETIC.items()}
_OPERATORS: Final[Mapping[str, np.ufunc]] = {**_COMPARISONS, **_ARITHMETIC, **_IN_PLACE, "divmod": np.divmod}


def operate(name: str, left: Any, right: Any) -> Any:
    """`left + right` and the like, by name in `operator`, if one is an array, and the other a list or tuple with items
    known only when the graph runs: NumPy takes that as an array. NotImplemented for other operands."""
    is_left = type(right) in _SEQUENCES
    array, items = (left, right) if is_left else (right, left)
    if type(items) not in _SEQUENCES or not _is_operand(array, name, is_left) or not (
            has_staged_items(items) or holds_tensor(items)):
        return NotImplemented
    if isinstance(array, GraphTensor) and name in _COMPARISONS:
        return getattr(operator, name)(*[convert_to_tensor(x) if x is items else x for x in (left, right)])
    out = {"out": array} if is_left and name in _IN_PLACE else {}
    return call_on_tensors(_OPERATORS[name], left, right, **out)


_SEQUENCES: Final = frozenset((list, tuple, deque))


def _is_operand(x: Any, name: str, is_left: bool) -> bool:
    """Whether the operator of `x` and a list is to be NumPy's. A tensor's own operators take lists, but those of a list
    on its left come first; an int of NumPy repeats a list."""
    if isinstance(x, GraphTensor):
        return not is_left and x.ndim > 0 and (name in _COMPARISONS or name in _IN_PLACE)
    return is_numpy_value(x) and (isinstance(x, np.ndarray) or name not in ("mul", "imul"))


def _returns_argument(function: Any, x: Any, dtype: Any = None, order: Any = None, **kwargs: Any) -> bool:
    """Whether `np.asarray(x)` and its like return `x`, an array of the graph, itself."""
    is_array = isinstance(x, StagedArray) or (type(x) is GraphTensor and is_of_arrays(x.type))
    is_scalar = is_array and not (x.ndim or x.is_object) and (are_objects() or not may_be_0d_array())
    copies = kwargs.get("copy", function is np.array)
    return bool(
        is_array and not is_scalar and not copies and order in (None, "A", "C", "F", "K")
        and kwargs.keys() <= {"copy", "device", "subok"}
        and (dtype is None or arrays.numpy_dtype(dtype) is x.dtype))


_ORDERS: Final[Mapping[Any, str]] = {np.ascontiguousarray: "C", np.asfortranarray: "F"}


def _layout_of_new(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Layout:
    """The layout of an array that a function of CREATION makes."""
    order = _ORDERS.get(function) or kwargs.get("order")
    if function in _KEEPING or function is np.array:
        if isinstance(args[0], StagedArray):
            return args[0].copied_layout(order or "K")
        return "F" if order == "F" else "C"
    return "C" if order in (None, "C") else None


def scalar_of(kind: type[Any], value: Any) -> Any:
    """What the class of NumPy's scalars makes of a tensor of the graph: one of that dtype, whose dtype adapts."""
    tensor: Any = convert_to_tensor(value)
    made: Any = arrays.astype(tensor, kind)
    if isinstance(made, GraphTensor) and made.value is not tensor.value:
        mark_as_array(made)
    return made_of(made, [value])


def is_array_method(function: Any) -> bool:
    """Whether this is a method of a NumPy array."""
    return isinstance(getattr(function, "__self__", None), np.ndarray)


def call_method(method: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The result of such a method for arguments that include graph tensors."""
    array, name = method.__self__, method.__name__
    args, kwargs = _stacked(args), {key: _stacked(value) for key, value in kwargs.items()}
    if name in _CHANGING_METHODS:
        raise want_objects(staging_error(
            f"an array of NumPy's is changed here by {name!r}, and staged code cannot have it as an object",
            "Make it an object: a = np.array(a)."), [array] if existed_before(array) else ())
    return made_of(getattr(convert_to_tensor(array), name)(*args, **kwargs), pytree.flatten([args, kwargs]))


_CHANGING_METHODS: Final = frozenset(("fill", "itemset", "partition", "put", "resize", "setfield", "sort"))


def _stacked(x: Any) -> Any:
    if has_staged_items(x):
        return convert_to_tensor(x)
    if hasattr(type(x), "__as_array__"):
        return x.__as_array__()
    return type(x)(map(_stacked, x)) if type(x) in (list, tuple) else x


_VIEWS: Final = frozenset(getattr(np, name) for name in (
    "atleast_1d", "atleast_2d", "broadcast_to", "diagonal", "expand_dims", "flip", "fliplr", "flipud", "moveaxis",
    "ravel", "reshape", "rot90", "squeeze", "swapaxes", "transpose", "split", "array_split",
    "hsplit", "vsplit", "dsplit", "atleast_3d", "rollaxis")) | {np.lib.stride_tricks.sliding_window_view}
"""Functions that give a view of an array."""
_READ_ONLY: Final = frozenset((np.broadcast_to, np.lib.stride_tricks.sliding_window_view))
_METHODS: Final = frozenset((np.ravel, np.reshape, np.squeeze, np.swapaxes, np.transpose, np.diagonal))


def _view(func: Any, x: StagedArray, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The result of a function that returns a view of `x`, or several views."""
    if func in _METHODS:
        return getattr(x, func.__name__)(*args, **kwargs)
    def part(number: int | None, base: Any) -> Any:
        made = FUNCTIONS[func](base, *args, **kwargs)
        return made if number is None else made[number]

    made = part(None, x.__tensor__())
    is_plain = func not in _READ_ONLY and not has_tensors([*args, *kwargs.values()])

    def view(number: int | None) -> ElementsView:
        def seen(model: Any) -> Any:
            found = func(model, *args, **kwargs)
            return found if number is None else found[number]

        found = ElementsView(x, functools.partial(part, number), None, seen if is_plain else None)
        found.refusal = read_only if func in _READ_ONLY else None
        return found

    return [*map(view, range(len(made)))] if isinstance(made, (list, tuple)) else view(None)


def _array_function(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    if func in VIEWS and has_objects(args) and _takes(VIEWS[func], args, kwargs):
        found = VIEWS[func](*args, **kwargs)
        if found is not None:
            return found
    if args and isinstance(args[0], StagedArray):
        if func in CHANGING and _takes(CHANGING[func], args, kwargs):
            return CHANGING[func](*args, **kwargs)
        if func in _VIEWS and _takes(FUNCTIONS[func], args, kwargs):
            return _view(func, args[0], args[1:], kwargs)
    if (len(args) > 1 or kwargs) and func in FUNCTIONS:
        args, kwargs = _by_name(func, args, kwargs)
    out = kwargs.get("out")
    if out is not None and func in FUNCTIONS:
        return put_out(_array_function(func, args, {**kwargs, "out": None}), out, _name(func))
    kwargs = {key: value for key, value in kwargs.items() if key != "out" or value is not None}
    args, kwargs = arrays.as_elements(args, kwargs)
    operands = pytree.flatten([args, kwargs])
    result = _of_arrays(_on_tensors(func, args, kwargs), operands)
    is_usual = func not in _UNUSUAL and kwargs.get("order") in (None, "C", "K")
    return new_array(result, operands, is_usual) if func in _LIKE else made_of(result, operands, is_usual)


_UNUSUAL: Final = frozenset((
    np.apply_along_axis, np.argwhere, np.delete, np.einsum, np.nanpercentile, np.nanquantile, np.unique))
"""Functions whose results can have another order in memory than their operands."""
_LIKE: Final = frozenset((np.empty_like, np.full_like, np.ones_like, np.zeros_like))


def _on_tensors(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    found = FUNCTIONS.get(func)
    if found is None or not _takes(found, args, kwargs):
        return _by_numpy(func, _name(func), args, kwargs, "" if found is None else " with these arguments")
    return found(*args, **kwargs)


def _array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    if method == "at":
        return change_at(ufunc, *inputs)
    inputs, _ = arrays.as_elements(tuple(map(_read, inputs)), {})
    out = (kwargs.get("out") or (None,))[0]
    others = {key: value for key, value in kwargs.items() if key != "out"}
    if isinstance(out, StagedArray):
        result = _array_ufunc(ufunc, method, inputs, others)
        if method == "__call__" and others.get("where", True) is not True:
            result = logic.where(others["where"], result, out.__tensor__())
        return put_result(result, out)
    if out is not None and any(isinstance(x, GraphTensor) for x in (*inputs, out)):
        error = StagingError(f"numpy.{ufunc.__name__} is to put its result into {_described(out)}, which is not known"
                             " before the graph runs", remedy="Make that array in the function, or use the result.")
        locate(error, user_position())
        raise want_objects(error)
    return made_of(_of_arrays(_ufunc_on_tensors(ufunc, method, inputs, kwargs), inputs), inputs)


def _of_arrays(result: Any, operands: Sequence[Any]) -> Any:
    """The result of a function of NumPy, whose tensors are of arrays if all that it was given are."""
    given = [x for x in operands if isinstance(x, (GraphTensor, ArrayMethods))]
    if given and all(map(is_array, given)):
        for x in pytree.flatten(result):
            if isinstance(x, GraphTensor) and x.value.node is not None and not x.type.weak and not is_array(x):
                mark_as_array(x)
    return result


def _read(value: Any) -> Any:
    """The current value of a variable; any other value itself."""
    is_variable = isinstance(value, ArrayMethods) and not isinstance(value, Tensor)
    return value.__tensor__() if is_variable else value


def _described(out: Any) -> str:
    return "a tensor, which does not change," if isinstance(out, GraphTensor) else "a NumPy array from outside"


def _ufunc_on_tensors(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    name = ufunc.__name__
    if method == "__call__" and not kwargs.keys() - {"where"} and name in UFUNCS:
        where = kwargs.get("where", True)
        return UFUNCS[name](*(inputs if where is True else [_chosen(x, where) for x in inputs]))
    known: dict[str, Any] = {
        key: value for key, value in kwargs.items() if not (key in ("out", "initial") and value is None)}
    for how, table in (("reduce", REDUCTIONS), ("accumulate", ACCUMULATED)):
        if method == how and name in table:
            axis = known.pop("axis", 0)
            if _takes(table[name], (inputs[0], axis), known):
                return table[name](inputs[0], axis, **known)
            known["axis"] = axis
    if method == "reduceat" and name == "add" and _takes(sums_between, inputs, known):
        return sums_between(*inputs, **known)
    if method == "outer" and name in UFUNCS and not known:
        x, y = arrays.together(*inputs)
        return UFUNCS[name](x[tuple([..., *[None] * y.ndim])], y)
    call = ufunc if method == "__call__" else getattr(ufunc, method)
    how = f".{method}" if method != "__call__" else ""
    return _by_numpy(call, f"numpy.{name}{how}", inputs, kwargs, " with these arguments" if kwargs else "")


def _chosen(x: Any, where: Any) -> Any:
    """An operand of a ufunc with `where=`: 1 in the places that are not chosen, for which no ufunc raises."""
    if isinstance(x, (int, float, complex)):
        return x
    x = arrays.elements(x)
    return logic.where(where, x, arrays.astype(1, x.dtype))


class _Places(NamedTuple):
    """How the parameters of a function of NumPy compare with those of its counterpart."""

    names: tuple[str, ...]
    """Of those that are given by place."""
    same: int
    """How many of these have the same place here."""
    needless: Mapping[str, Any]
    """Defaults of those that are not here."""


def _by_name(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """Arguments of which those are given by name that stand at another place in NumPy's function than in ours, without
    those that only say what is so anyway."""
    names, same, needless = _places(func)
    if len(args) > same:
        args, kwargs = args[:same], {**kwargs, **dict(zip(names[same:], args[same:], strict=False))}
    return args, {name: value for name, value in kwargs.items()
                  if not (name in needless and needless[name] is value)}


@functools.cache
def _places(func: Any) -> _Places:
    try:
        theirs = inspect.signature(func).parameters
    except ValueError:  # it is written in C
        return _Places((), 100, {})
    own = [*_signature(FUNCTIONS[func]).parameters]
    by_place = [each for each in theirs.values() if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    names = tuple([each.name for each in by_place])
    same = next((place for place, each in enumerate(by_place) if each.kind is each.POSITIONAL_OR_KEYWORD and (
        each.name == "out" or (each.name in own and own.index(each.name) != place))), 100)
    needless = {name: each.default for name, each in theirs.items() if name not in own and name != "out"}
    return _Places(names, same, needless)


@functools.cache
def _signature(function: Function) -> inspect.Signature:
    return inspect.signature(function)


def _takes(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    try:
        _signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _by_numpy(call: Function, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], how: str) -> Any:
    """NumPy's result for the values of the tensors. UnimplementedError for tensors of a graph."""
    args, kwargs = pytree.map_structure(_read, [args, dict(kwargs)])
    found = pytree.flatten([args, kwargs])
    if any(isinstance(value, GraphTensor) for value in found):
        error = UnimplementedError(
            f"{name}{how} has no counterpart in graphs, and one of its arguments is a tensor of the graph",
            remedy="Compose it of functions of rt or of NumPy that have one (docs/numpy.md), or call it in a function"
                   " for rt.numpy_function.")
        locate(error, user_position())
        raise error
    plain, named = pytree.map_structure(
        lambda value: np.asarray(value) if isinstance(value, EagerTensor) else value, [args, kwargs])
    return call(*plain, **named)


def _name(func: Any) -> str:
    module = getattr(func, "__module__", "numpy") or "numpy"
    return f"{module}.{func.__name__}"


OPERATIONS.define(
    array_function=_array_function, array_ufunc=_array_ufunc, array_method=method_of,
    put_out=put_out, refusal=refusal,
    array_namespace=lambda: sys.modules["runtime.numpy"])
