"""Python's builtins on tensors in converted code.

A replacement is called when an argument has this backend. With eager tensors alone it acts as Python does; with a graph
tensor it stages. Where Python returns an int or a float, the staged value is weak, so that it mixes with tensors as
Python numbers do.
"""
from __future__ import annotations

import builtins
import collections
import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

import numpy as np

from autograph.backend import LISTS, Clause, has_staged_items, is_iterator, itself, keyed, operators, special_result
from runtime.core import types as t
from runtime.core.errors import ShapeError, StagingError, locate
from runtime.core.formatting import formatted
from runtime.core.op import CAST
from runtime.core.positions import user_position
from runtime.core.pytree import flatten
from runtime.core.tensor import EagerTensor, Tensor, not_iterable
from runtime.core.text import Text
from runtime.core.trace import apply, convert_to_tensor, current_graph
from runtime.core.types import DType
from runtime.numpy.dispatch import operate
from runtime.numpy.reductions import is_array
from runtime.ops.complex_numbers import complex as complex_of_parts
from runtime.ops.effects import raise_unless, stage_print
from runtime.ops.logic import equal, greater, greater_equal, less_equal, not_equal, where
from runtime.ops.math import cast
from runtime.ops.math import round as round_op
from runtime.ops.reduction import reduce_all, reduce_any, reduce_sum
from runtime.ops.shape import dim
from runtime.staging.containers.sorting import maximum_of, minimum_of, sorted_
from runtime.staging.elements.references import Reference
from runtime.staging.elements.select import Select
from runtime.staging.elements.tuple import StagedTuple, tuple_of
from runtime.staging.python.introspection import ASKED
from runtime.staging.storage.deque import deque_of
from runtime.staging.storage.dict import StagedDict, View
from runtime.staging.storage.dict_presence import check_keys, is_uncertain, size
from runtime.staging.storage.set import StagedSet, frozenset_of, set_of
from runtime.staging.values.generators import (
    StagedGenerator,
    any_of,
    any_taken,
    can_be_enumerated,
    enumerated,
    filtered,
    first_of,
    listed,
    mapped,
    materialized,
    once,
    reduced,
    sum_of,
    zip_operands,
    zipped,
)
from runtime.staging.values.iterables import (
    Counted,
    Staged,
    StagedRange,
    StagedReversed,
    as_iterable,
    iterated,
    stages,
    view_of,
    weak_int,
)
from runtime.staging.values.lazy_iterables import StagedEnumerate, StagedZip
from runtime.staging.values.list import StagedSequence, fold, fold_while, unview
from runtime.staging.values.optional import Maybe, MaybeObject
from runtime.staging.values.strings import Characters, any_text, character_of, code_of_text, length_of_text, of_python
from runtime.staging.values.truthiness import maybe_truth

__all__ = ["BUILTINS", "of_values"]

_MISSING: Final = object()


def _fail(error: Exception) -> NoReturn:
    locate(error, user_position())
    raise error


def _operand(x: Any) -> Any:
    """A graph tensor for an object that represents one; other values, which the operator accepts or refuses,
    unchanged."""
    return convert_to_tensor(x) if stages(x) else x


_ONE_ELEMENT_CONVERTS: Final = np.lib.NumpyVersion(np.__version__) < "2.4.0"
"""Whether `float` and the like take arrays with axes and one element, which NumPy refuses since then."""


def _scalar(x: Any, what: str) -> Tensor:
    if isinstance(x, Staged):
        getattr(builtins, what)([])  # raises the TypeError about its argument
    tensor = convert_to_tensor(x)
    if tensor.type.size == 1 and tensor.ndim and (what == "bool" or _ONE_ELEMENT_CONVERTS or not is_array(x)):
        tensor = tensor[(0,) * tensor.ndim]
    if tensor.ndim and is_array(x):
        _fail(ValueError("the truth of an array with several elements is ambiguous: use a.any() or a.all()")
              if what == "bool" else
              TypeError(f"only an array without axes converts to {what}, and this one is {tensor.type}: take an element"
                        " of it, as a[0], or the only one, a.item()"))
    if tensor.ndim:
        _fail(TypeError(f"only a tensor with one element converts to {what}; this one is {tensor.type}"))
    return tensor


# Numbers

def _weak(x: Tensor, dtype: DType) -> Any:
    return x if x.type.weak and x.dtype is dtype else apply(CAST, x, dtype=dtype, weak=True)


def _int(x: Any = 0, *base: Any, **kwargs: Any) -> Any:
    """`int(x)`: a weak int32, or int64 if the dtype needs 64 bits; truncates towards zero."""
    if base or kwargs or not stages(x):
        return of_python(builtins.int, (x, *base), kwargs)
    x = _scalar(x, "int")
    if x.dtype.is_complex:
        raise TypeError("int() takes a real number, not a complex one; use rt.math.real")
    return _weak(x, t.int64 if x.dtype in (t.int64, t.uint64, t.uint32, t.float64) else t.int32)


def _in_base(fn: Callable[[Any], str], spec: str) -> Callable[[Any], Any]:
    """`bin`, `oct` or `hex`, which is the text that `format` makes."""
    def shown(x: Any, /) -> Any:
        if not stages(x):
            return fn(x)
        x = _scalar(x, "int")
        if not x.dtype.is_integer:
            _fail(TypeError(f"{fn.__name__}() takes an integer; this is {x.type}"))
        return formatted(x, spec)

    return shown


def _float(x: Any = 0.0) -> Any:
    """`float(x)`: a weak float32, or float64 for a float64."""
    if not stages(x):
        return of_python(builtins.float, (x,), {})
    x = _scalar(x, "float")
    if x.dtype.is_complex:
        raise TypeError("float() takes a real number, not a complex one; use rt.math.real")
    return _weak(x, t.float64 if x.dtype is t.float64 else t.float32)


def _complex(real: Any = 0, imag: Any = _MISSING) -> Any:
    """`complex(real, imag)`: a weak complex128, whose parts have the 64 bits of Python's floats."""
    parts = (real,) if imag is _MISSING else (real, imag)
    if not stages(*parts):
        return of_python(builtins.complex, parts, {})
    numbers: list[Any] = [
        x if isinstance(x, (builtins.int, builtins.float, builtins.complex)) else _scalar(x, "complex") for x in parts]
    if len(parts) == 1 or any(_is_complex(x) for x in numbers):
        values = [builtins.complex(x) if not isinstance(x, Tensor) else _weak(x, t.complex128) for x in numbers]
        return values[0] if len(values) == 1 else values[0] + values[1] * 1j
    reals = [np.float64(x) if not isinstance(x, Tensor) else _weak(x, t.float64) for x in numbers]
    return _weak(complex_of_parts(*reals), t.complex128)


def _is_complex(x: Any) -> builtins.bool:
    return x.dtype.is_complex if isinstance(x, Tensor) else isinstance(x, builtins.complex)


def _bool(x: Any = False) -> Any:
    """`bool(x)`: a bool scalar; for a staged list, whether it has elements."""
    if isinstance(x, Reference):
        return x.__truth__()
    x = view_of(x)
    if isinstance(x, Text):
        return any_text(x)
    if not stages(x):
        if type(x) in keyed:
            check_keys(x)
        return builtins.bool(x)
    if isinstance(x, Maybe):
        return maybe_truth(x, _bool)
    if isinstance(x, Staged):
        return _length(x) != 0
    return _truth(_scalar(x, "bool"))


def _ord(character: Any, /) -> Any:
    """`ord(character)`: a weak int32 for text known only at run time."""
    return code_of_text(character) if isinstance(character, Text) else builtins.ord(character)


def _chr(code: Any, /) -> Any:
    """`chr(code)`: text known only at run time, for a graph tensor."""
    return character_of(_scalar(code, "int")) if stages(code) else builtins.chr(code)


def _truth(x: Any) -> Any:
    if not isinstance(x, Tensor):
        return builtins.bool(x)
    return x if x.dtype.is_bool else not_equal(x, 0)


def _abs(x: Any) -> Any:
    return builtins.abs(_operand(x))


def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    if not stages(base, exp, mod):
        return builtins.pow(base, exp) if mod is None else builtins.pow(base, exp, mod)
    return _operand(base) ** _operand(exp) if mod is None else _power_modulo(base, exp, mod)


def _power_modulo(base: Any, exp: Any, mod: Any) -> Any:
    """`pow(base, exp, mod)` by repeated squaring, in 64 bits."""
    base, exp, mod = [_scalar(x, "int") if stages(x) else x for x in (base, exp, mod)]
    if not all([x.dtype.is_integer if isinstance(x, Tensor) else isinstance(x, builtins.int)
                for x in (base, exp, mod)]):
        raise TypeError("pow() 3rd argument not allowed unless all arguments are integers")
    raise_unless(not_equal(mod, 0), ValueError("pow() 3rd argument cannot be 0"))
    raise_unless(greater_equal(exp, 0), ValueError(
        "pow() of a tensor has no negative exponent with a 3rd argument: use one that is not negative"))
    result = base % mod
    modulus, exponent, square = [cast(x, t.int64) for x in (mod, exp, result)]
    raise_unless(less_equal(builtins.abs(modulus), _MOST_MODULO), OverflowError(
        f"pow() of a tensor squares numbers below the 3rd argument in 64 bits: it can be {_MOST_MODULO} at most"))

    def step(exp: Any, square: Any, power: Any) -> Any:
        return exp // 2, square * square % modulus, where(equal(exp % 2, 1), power * square % modulus, power)

    _, _, power = fold_while(
        lambda exp, *_: greater(exp, 0), step, (exponent, square, 1 % modulus), ("exp", "square", "power"))
    kind = result.type if isinstance(result, Tensor) else t.TensorType(t.int64, (), weak=True)
    return apply(CAST, power, dtype=kind.dtype, weak=kind.weak)


_MOST_MODULO: Final = 3037000500
"""The largest modulus for which a product of two smaller numbers fits into 64 bits."""


def _divmod(a: Any, b: Any) -> Any:
    found = operate("divmod", a, b)
    return builtins.divmod(_operand(a), _operand(b)) if found is NotImplemented else found


def _round(number: Any, ndigits: Any = None) -> Any:
    """`round`: halves to even; without `ndigits` an int, eager and staged."""
    x = convert_to_tensor(number)
    if ndigits is not None:
        return round_op(x, ndigits)
    if not x.dtype.is_floating:
        return x if not x.dtype.is_bool else weak_int(x)
    if isinstance(x, EagerTensor):
        return builtins.round(x._item("int"))
    return _weak(round_op(_scalar(x, "int")), t.int64 if x.dtype is t.float64 else t.int32)


# Lengths and iterables

def _length(x: Any) -> Any:
    length = getattr(type(x), "length", None)
    if length is not None:
        return x.length
    if isinstance(x, Staged):
        return builtins.len(x)  # type: ignore[arg-type]
    x = convert_to_tensor(x)
    if not x.ndim:
        _fail(TypeError("Scalar tensor has no `len()`"))
    return weak_int(dim(x, 0))


def _len(x: Any) -> Any:
    """`len(x)`: an int if it is known at trace time, else a weak int32 scalar."""
    x = x if isinstance(x, Select) else view_of(x)
    if stages(x):
        return _length(x)
    if isinstance(x, Text):
        return length_of_text(x)
    return size(x) if isinstance(x, dict) and is_uncertain(x) else builtins.len(x)


def _range(*args: Any) -> Any:
    return StagedRange(*args) if stages(*args) else builtins.range(*args)


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    if isinstance(iterable, StagedGenerator) and can_be_enumerated(iterable):
        return enumerated(iterable, start)
    if not stages(iterable, start):
        return builtins.enumerate(iterated(iterable), start)
    try:
        return once(StagedEnumerate(iterable, start))
    except StagingError:
        if stages(iterable):
            raise
        return builtins.map(lambda pair: (start + pair[0], pair[1]), builtins.enumerate(iterable))


def _zip(*iterables: Any, strict: bool = False) -> Any:
    iterables = zip_operands(iterables)
    if stages(*iterables):
        iterables = tuple([Characters(x) if isinstance(x, builtins.str) else x for x in iterables])
    if any(isinstance(x, StagedGenerator) for x in iterables):
        return zipped(iterables, strict)
    if stages(*iterables):
        beside = _beside_objects(iterables)
        if beside is None:
            return once(StagedZip(*iterables, strict=strict))
        iterables = builtins.tuple(beside)
    return builtins.zip(*map(iterated, iterables), strict=strict)


def _beside_objects(iterables: tuple[Any, ...]) -> list[Any] | None:
    """The operands of a `zip` as Python's own iterables, if one is a list or tuple of objects that are no numbers, and
    the lengths of the staged ones are known; else None."""
    if not any(map(_are_objects, iterables)):
        return None
    operands = []
    for x in iterables:
        found = as_iterable(x)
        if found is not None and not (isinstance(found, Counted) and isinstance(found.length, builtins.int)):
            return None
        operands.append(x if found is None else builtins.map(found.item, builtins.range(found.length)))
    return operands


def _are_objects(items: Any) -> builtins.bool:
    numbers = builtins.int, builtins.float, builtins.complex, Tensor, np.ndarray, np.generic
    return isinstance(items, (*LISTS, builtins.tuple)) and not has_staged_items(items) and not all(
        isinstance(part, numbers) for part in flatten([*items]))


def _map(function: Any, *iterables: Any) -> Any:
    function = operators.call(function)
    return mapped(function, iterables) if stages(*iterables) else builtins.map(function, *iterables)


def _filter(function: Any, iterable: Any) -> Any:
    """`filter`: a generator of the remaining items."""
    keep = _bool if function is None else operators.call(function)
    return builtins.filter(keep, iterable) if current_graph() is None else filtered(keep, iterable)


def _reversed(sequence: Any) -> Any:
    return once(StagedReversed(sequence)) if stages(sequence) else builtins.reversed(iterated(sequence))


def _list(iterable: Any = ()) -> Any:
    """`list`: a Python list if the number of items is known, else a staged list."""
    return listed(iterable) if stages(iterable) else builtins.list(iterable)


def _iter(x: Any, *sentinel: Any) -> Any:
    if isinstance(x, StagedTuple):
        x = x.as_list()
    if isinstance(x, (StagedSequence, StagedDict, View)) and not sentinel:
        return StagedGenerator(Clause(unview(x), itself, None))
    return builtins.iter(x, *sentinel)


def _next(iterator: Any, *default: Any) -> Any:
    """`next`: an iterator with staged elements handles the default itself, by `__next_or__(default)`."""
    if isinstance(iterator, StagedGenerator):
        return first_of(iterator, *default)
    if default and stages(iterator) and hasattr(type(iterator), "__next_or__"):
        return iterator.__next_or__(*default)
    return builtins.next(iterator, *default)


# Reductions

def _sum(iterable: Any, /, start: Any = 0) -> Any:
    """`sum`: of the rows of a tensor, or of the items of a staged iterable. Bools count as ints."""
    if not stages(iterable):
        if isinstance(iterable, EagerTensor) and iterable.dtype.is_bool and iterable.ndim == 1:
            iterable = [builtins.int(reduce_sum(apply(CAST, iterable, dtype=t.int64)))]
        return builtins.sum(iterable, start)
    if isinstance(iterable, StagedGenerator):
        return sum_of(iterable, start)
    if isinstance(iterable, Staged) and not hasattr(type(iterable), "__tensor__"):
        return fold(iterable, lambda item, total: (total + item,), (start,), ("sum",))[0]
    x = convert_to_tensor(iterable)
    if not x.ndim:
        raise not_iterable()
    if x.type.shape[0] == 0:
        return start
    if x.dtype.is_bool:
        of_arrays = is_array(x) and not x.type.weak
        x = apply(CAST, x, dtype=t.int64) if of_arrays else apply(CAST, x, dtype=t.int32, weak=True)
    total = reduce_sum(x, axis=0)
    return total if isinstance(start, builtins.int) and start == 0 else start + total


def _reduce(function: Any, iterable: Any, /, *initial: Any) -> Any:
    """`functools.reduce`. TypeError at run time for no items without an initial value."""
    function = operators.call(function)
    if not initial:
        iterable = materialized(iterable)
    if not stages(iterable):
        return functools.reduce(function, iterable, *initial)
    if not initial:
        iterable = _list(iterable)
        if isinstance(iterable, builtins.list):
            return functools.reduce(function, iterable)
        raise_unless(not_equal(_length(iterable), 0), TypeError("reduce() of empty iterable with no initial value"))
        initial, iterable = (iterable[0],), iterable[1:]
    return reduced(function, iterable if isinstance(iterable, StagedGenerator) else once(iterable), initial[0])


def _quantifier(
    name: str, python: Callable[[Any], Any], reduction: Callable[..., Any], stop: builtins.bool
) -> Callable[[Any], Any]:
    def quantified(iterable: Any, /) -> Any:
        if not stages(iterable):
            return python(iterable) if current_graph() is None else over_python(iterable)
        if isinstance(iterable, StagedGenerator):
            return any_of(iterable, stop, _bool)
        if isinstance(iterable, Staged) and not hasattr(type(iterable), "__tensor__"):
            return fold(iterable, step, (not stop,), (name,))[0]
        x = convert_to_tensor(iterable)
        if x.ndim != 1:
            if not x.ndim:
                raise not_iterable()
            _fail(ShapeError(f"{name}() takes the truth of rows, which is ambiguous: the tensor is {x.type}",
                             remedy=f"Use rt.reduce_{name}."))
        return reduction(_truth(x))

    def over_python(iterable: Any) -> Any:
        if is_iterator(iterable):
            return any_taken(iterable, stop, _bool)
        found: Any = not stop
        for item in iterable:
            value = _bool(item)
            if value is stop:
                return stop
            if value is not (not stop):
                found = value if found is (not stop) else found | value if stop else found & value
        return found

    def step(item: Any, found: Any) -> tuple[Any, ...]:
        value = _bool(item)
        return ((value | found) if stop else (value & found),)

    quantified.__name__ = quantified.__qualname__ = name
    return quantified


# The table


def of_values(fn: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    """`replacement` of the builtin `fn`, extended: it first checks variables that may be unbound or None, and handles
    lists with staged items."""

    @functools.wraps(replacement)
    def called(*args: Any, **kwargs: Any) -> Any:
        if any([isinstance(arg, Reference) for arg in args]):
            return _of_references(fn, replacement, args, kwargs)
        if fn in _ITERATE and (len(args) == 1 or fn not in (builtins.min, builtins.max)):
            several = args[:2] if fn is functools.reduce else args
            args = (*map(_iterated, several), *args[len(several):])
        if not any(type(arg) is MaybeObject for arg in args):
            if fn in _OF_ANY_ORDER:
                args = tuple([arg.in_any_order() if isinstance(arg, StagedSet) else arg for arg in args])
            return unview(replacement(*(args if fn is builtins.len else map(view_of, args)), **kwargs))
        return operators.call(fn)(*(arg.checked() if type(arg) is MaybeObject else arg for arg in args), **kwargs)

    return called


def _iterated(x: Any) -> Any:
    """What a function iterates over for an argument: the characters of text that only the graph knows."""
    return x.__iterated__() if isinstance(x, (Select, Text)) and hasattr(type(x), "__iterated__") else x


def _of_references(
    fn: Callable[..., Any], replacement: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of a builtin for objects by reference: of their special method, or of what they yield."""
    method = getattr(type(args[0]), _METHODS.get(fn, "__iter__"), None)
    if fn in _METHODS:
        if method is None:
            return fn(*args, **kwargs)
        return special_result(args[0], _METHODS[fn]) if fn in _CHECKED else operators.call(method)(*args, **kwargs)
    if len(args) > 1 and fn in (builtins.min, builtins.max):
        return replacement(*args, **kwargs)
    return operators.call(fn)(*[arg.__iterated__() if isinstance(arg, Reference) else arg for arg in args], **kwargs)


_METHODS: Final[Mapping[Any, str]] = {
    builtins.len: "__len__", builtins.abs: "__abs__", builtins.int: "__int__", builtins.float: "__float__",
    builtins.complex: "__complex__", builtins.round: "__round__", builtins.divmod: "__divmod__",
    builtins.pow: "__pow__", builtins.reversed: "__reversed__", builtins.next: "__next__"}
"""The special methods of an object that builtins call."""
_CHECKED: Final = frozenset({builtins.len, builtins.int, builtins.float, builtins.complex})
"""Those whose results Python checks."""
_ITERATE: Final = frozenset({
    builtins.min, builtins.max, builtins.sum, builtins.any, builtins.all, builtins.enumerate, builtins.zip,
    builtins.map, builtins.filter, builtins.reversed, builtins.sorted, builtins.iter, builtins.list, builtins.tuple,
    functools.reduce, builtins.set, builtins.frozenset, collections.deque})
"""Functions that iterate over their arguments."""
_OF_ANY_ORDER: Final = frozenset({
    builtins.sorted, builtins.min, builtins.max, builtins.sum, builtins.any, builtins.all})
"""Functions whose result does not depend on the order of a set's items."""
_REPLACEMENTS: Final[Mapping[Any, Callable[..., Any]]] = {
    builtins.len: _len,
    builtins.range: _range,
    builtins.print: stage_print,
    builtins.int: _int,
    builtins.float: _float,
    builtins.bool: _bool,
    builtins.complex: _complex,
    builtins.abs: _abs,
    builtins.ord: _ord,
    builtins.chr: _chr,
    builtins.bin: _in_base(builtins.bin, "#b"),
    builtins.oct: _in_base(builtins.oct, "#o"),
    builtins.hex: _in_base(builtins.hex, "#x"),
    builtins.min: minimum_of,
    builtins.max: maximum_of,
    builtins.sum: _sum,
    builtins.any: _quantifier("any", builtins.any, reduce_any, True),
    builtins.all: _quantifier("all", builtins.all, reduce_all, False),
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.map: _map,
    builtins.filter: _filter,
    builtins.reversed: _reversed,
    builtins.sorted: sorted_,
    builtins.round: _round,
    builtins.next: _next,
    builtins.iter: _iter,
    builtins.list: _list,
    builtins.tuple: tuple_of,
    builtins.pow: _pow,
    builtins.divmod: _divmod,
    functools.reduce: _reduce,
    builtins.set: set_of,
    builtins.frozenset: frozenset_of,
    collections.deque: deque_of,
}
BUILTINS: Final[Mapping[Any, Callable[..., Any]]] = {
    fn: replacement if fn in (builtins.print, builtins.bool) else of_values(fn, replacement)
    for fn, replacement in _REPLACEMENTS.items()} | dict(ASKED)
EQUAL_TO_PYTHON: Final = frozenset(fn.__name__ for fn in _REPLACEMENTS)
"""Replacements that equal Python's builtins while nothing is traced. (Not those chosen by type: `sum` and `round` take
bools as ints, and `map` and `filter` convert their functions for the rows of a tensor.)"""
