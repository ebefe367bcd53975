"""Functions of text that Python computes when the graph runs: `str`'s methods, `int`, `float`, `repr`, `in`."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.op import Errors, Op, Sample
from runtime.core.trace import apply
from runtime.core.types import TensorType, Type

__all__ = ["ERRORS", "FUNCTIONS", "filled", "text_function"]

FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "float": float, "int": int, "repr": repr, "ascii": ascii, "in": lambda whole, part: part in whole,
    **{name: getattr(str, name) for name in dir(str) if callable(getattr(str, name)) and (
        not name.startswith("_") or name == "__format__")}}
"""What can be computed, by name."""
_RESULTS: Final[Mapping[type, tuple[TensorType, ...]]] = {
    str: (TensorType(t.uint8, (None,)),), bool: (TensorType(t.bool_),), int: (TensorType(t.int64),),
    float: (TensorType(t.float64),), list: (TensorType(t.uint8, (None,)), TensorType(t.int32, (None,)))}
"""The types of the results that stand for a value of each class: text is its UTF-8; a list or tuple of texts is the
UTF-8 of all of them, and their lengths."""
ERRORS: Final = (ValueError, TypeError, OverflowError)
"""The errors that a result may be instead, by number, from 1 on."""


def _kernel(
    *operands: Any, function: str, args: tuple[Any, ...], gives: str, is_checked: bool = False
) -> tuple[Any, ...]:
    values = [_decoded(bytes(x)) if x.ndim else x.item() for x in operands]
    kind = next(kind for kind in _RESULTS if kind.__name__ == gives)
    try:
        found = FUNCTIONS[function](*filled(args, values))
        results = _arrays(kind, found)
        return np.int32(0), _utf8(""), *results
    except ERRORS as error:
        if not is_checked:
            raise
        number = next(k for k, each in enumerate(ERRORS, 1) if isinstance(error, each))
        return np.int32(number), _utf8(str(error)), *_arrays(kind, kind())


def _decoded(utf8: bytes) -> str:
    try:
        return utf8.decode(errors="surrogatepass")
    except UnicodeDecodeError:  # it is no text of Python's
        return utf8.decode(errors="replace")


def filled(args: tuple[Any, ...], values: Sequence[Any]) -> list[Any]:
    """The arguments (`text_function`)."""
    return [arg if type(arg) is not tuple else tuple(filled(arg[1:], values)) if arg[0] is None else values[arg[0]]
            for arg in args]


def _utf8(text: str) -> Any:
    return np.frombuffer(text.encode(errors="surrogatepass"), np.uint8)


def _arrays(kind: type, value: Any) -> list[Any]:
    if kind is str:
        return [_utf8(value)]
    if kind is list:
        parts = [*map(_utf8, value)]
        return [np.concatenate([*parts, _utf8("")]), np.array([*map(len, parts)], np.int32)]
    (type_,) = _RESULTS[kind]
    if kind is int and not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{value} does not fit into the 64 bits of Python's ints in a graph")
    return [type_.dtype.np.type(value)]


def _rule(
    *operands: Type, function: str, args: tuple[Any, ...], gives: str, is_checked: bool = False
) -> tuple[TensorType, ...]:
    (results,) = [types for kind, types in _RESULTS.items() if kind.__name__ == gives]
    return TensorType(t.int32), TensorType(t.uint8, (None,)), *results


def _errors(node: Any) -> Errors:
    """Those of numbers that are too large, such as widths."""
    return () if node.params.get("is_checked") or all(value.type.shape for value in node.operands) else ERRORS


def _samples(rng: np.random.Generator) -> Iterable[Sample]:
    text = np.frombuffer("é12 7".encode(), np.uint8)
    yield (text,), {"function": "upper", "args": ((0,),), "gives": "str"}
    yield (text, np.int32(9)), {"function": "rjust", "args": ((0,), (1,), "*"), "gives": "str"}
    yield (text,), {"function": "startswith", "args": ((0,), (None, "1", "é")), "gives": "bool"}
    yield (text[:0],), {"function": "split", "args": ((0,),), "gives": "list"}
    yield (text,), {"function": "split", "args": ((0,), " "), "gives": "list"}
    yield (text,), {"function": "int", "args": ((0,),), "gives": "int", "is_checked": True}
    yield (text[2:4],), {"function": "int", "args": ((0,),), "gives": "int", "is_checked": True}


_CALL: Final = Op("text_function", _kernel, _rule, samples=_samples, errors=_errors,
                  doc="A function of text, by name, as Python computes it: the number of the error that it raises, or"
                      " 0; the text of the error; and the results.")


def text_function(
    function: str, args: tuple[Any, ...], operands: Sequence[Any], gives: type, is_checked: bool
) -> tuple[Any, ...]:
    """The number of the error (`ERRORS`) that the function raises, or 0; its text, as UTF-8; and what stands for a
    result of that class (`_RESULTS`). Unless `is_checked`, the op raises errors itself.

    `args`: the arguments, of which `(k,)` is operand k, a text in UTF-8 or a number, and `(None, ...)` a tuple.
    """
    found: tuple[Any, ...] = apply(
        _CALL, *operands, function=function, args=args, gives=gives.__name__, is_checked=is_checked)
    return found
