"""Functions of text that only the graph knows, which Python computes when it runs (`runtime.ops.text_functions`)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from runtime.core.op import CAST
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located, staging_error
from runtime.core.tensor import Tensor
from runtime.core.text import Text
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import DType, float64, int32, int64, uint8
from runtime.ops.concat_split import concat
from runtime.ops.creation import zeros
from runtime.ops.effects import raise_unless
from runtime.ops.indexing import getitem
from runtime.ops.lists import list_split
from runtime.ops.logic import equal, less_equal, logical_and, logical_not, not_equal, where
from runtime.ops.math import cast, maximum
from runtime.ops.reduction import cumsum, reduce_all, reduce_sum
from runtime.ops.shape import dim
from runtime.ops.strings import as_bytes
from runtime.ops.text_functions import ERRORS, FUNCTIONS, filled, text_function
from runtime.staging.elements.element_layout import STRING, StagedStructures
from runtime.staging.values.list import branch

__all__ = ["call_text"]

_PARAMETERS: Final[Mapping[str, Sequence[str]]] = {
    "split": ("sep", "maxsplit"), "rsplit": ("sep", "maxsplit"), "splitlines": ("keepends",),
    "expandtabs": ("tabsize",), "replace": ("old", "new", "count"), "int": ("base",)}
"""The parameters, besides the text, that may be given by name."""
_GIVES: Final[Mapping[str, type]] = {
    "int": int, "float": float, "index": int, "rindex": int, "split": list, "rsplit": list, "partition": tuple,
    "rpartition": tuple}
"""What functions return that raise errors for some texts."""
_PADS: Final = frozenset({"center", "ljust", "rjust"})
"""Functions that raise an error for some texts given to them."""
_CONSTANTS: Final = frozenset({str, int, float, bool, type(None)})


def call_text(function: str, *args: Any, **keywords: Any) -> Any:
    """What the function of that name (`FUNCTIONS`) gives for these arguments, some of which only the graph knows: a
    number, text, or a list or tuple of text. Errors that depend on the text are raised when the graph runs."""
    if function == "int" and len(args) == 1 and not keywords:
        return _int_of(args[0])
    return _called(function, args, keywords)


def _int_of(text: Text) -> Any:
    """`int(text)`: of a few digits, perhaps with a minus, without a call of Python."""
    whole = as_bytes(text)
    has_minus = equal(getitem(concat([whole, zeros([1], uint8)], 0), 0), ord("-"))
    digits = cast(getitem(whole, slice(cast(has_minus, int32), None)), int64) - ord("0")
    count = dim(digits, 0)
    is_plain = logical_and(reduce_all(logical_and(less_equal(0, digits), less_equal(digits, 9))),
                           logical_and(less_equal(1, count), less_equal(count, len(_POWERS))))
    value = reduce_sum(getitem(digits, slice(None, len(_POWERS))) * getitem(
        _POWERS, slice(maximum(len(_POWERS) - count, 0), None)))
    value = _weak(where(has_minus, -value, value), int64)
    (found,) = branch(logical_not(is_plain), lambda _: (_called("int", (text,), {}),), (value,), ("int",))
    return found


_POWERS: Final = 10 ** np.arange(17, -1, -1, dtype=np.int64)


def _called(function: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """`call_text` by a call of Python."""
    if function not in FUNCTIONS:
        next(arg for arg in (*args, *keywords.values()) if isinstance(arg, Text)).refuse()
    operands: list[Any] = []
    samples: list[Any] = []

    def put(arg: Any) -> Any:
        if type(arg) is tuple:
            return (None, *map(put, arg))
        if type(arg) in _CONSTANTS:
            return arg
        is_text = isinstance(arg, Text)
        operands.append(as_bytes(arg) if is_text else _number(function, arg))
        samples.append("1" if is_text else 1)
        return (len(operands) - 1,)

    given = tuple(map(put, _positional(function, args, keywords)))
    kind = _kind(function, given, samples)
    gives = list if kind is tuple else kind
    may_raise = function in _GIVES or function in _PADS
    status, message, *results = text_function(function, given, operands, gives, may_raise)
    for number, error in enumerate(ERRORS if may_raise else (), 1):
        raise_unless(not_equal(status, number), error(Text.of_utf8(message.value)))
    return _value(kind, results)


def _positional(function: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Sequence[Any]:
    """All arguments by position. TypeError for a name that is no parameter."""
    if not keywords:
        return args
    names = _PARAMETERS.get(function, ())
    rest = names[len(args) - 1:]
    if not keywords.keys() <= {*rest}:
        (name, *_) = [name for name in keywords if name not in rest]
        raise located(TypeError(f"{function}() got an unexpected keyword argument '{name}'"))
    last = max(rest.index(name) for name in keywords)
    return [*args, *[keywords.get(name) for name in rest[:last + 1]]]


def _number(function: str, arg: Any) -> Any:
    """A number of the graph as an operand."""
    made = convert_to_tensor(arg) if isinstance(arg, Tensor) or hasattr(type(arg), "__tensor__") else None
    if made is None or made.ndim or not made.dtype.is_integer:
        raise staging_error(
            f"{function}() gets a {type(arg).__name__} here, with text that only the graph knows",
            "Give it numbers and text.")
    return made


def _kind(function: str, args: tuple[Any, ...], samples: Sequence[Any]) -> type:
    """The class of the results, as for sample values of the operands, which shows whether the types of the arguments
    are right. StagingError for other classes than those of numbers, text, and lists and tuples of text."""
    try:
        found: type = type(FUNCTIONS[function](*filled(args, samples)))
    except ValueError as error:
        if function not in _GIVES:  # such as a format that is wrong for all text
            raise located(error) from None
        return _GIVES[function]
    except TypeError as error:
        raise located(error) from None
    if found not in (bool, int, float, str, list, tuple):
        raise staging_error(f"text that only the graph knows is given to {function}() here, which makes a"
                            f" {found.__name__} of it", "Keep it as text.")
    return found


def _weak(number: Any, dtype: DType) -> Any:
    return apply(CAST, number, dtype=dtype, weak=True)


def _value(kind: type, results: Sequence[Any]) -> Any:
    """The value for which results stand: Python's numbers as weak scalars."""
    if kind is str:
        return Text.of_utf8(results[0].value)
    if kind in (int, float):
        return _weak(results[0], int64 if kind is int else float64)
    if kind is bool:
        return results[0]
    whole, sizes = results
    if kind is list:
        return [StagedStructures([list_split(whole, sizes)], STRING)]
    ends = concat([[0], cumsum(sizes)], 0)
    parts: list[Any] = [getitem(whole, slice(getitem(ends, k), getitem(ends, k + 1))) for k in range(3)]
    return tuple([Text.of_utf8(part.value) for part in parts])


OPERATIONS.define(call_text=call_text)
