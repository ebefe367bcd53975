"""Operands that tensors do not accept: the other object's own method decides; without one, a TypeError with remedy."""
from __future__ import annotations

from types import WrapperDescriptorType
from typing import Any, Final

import numpy as np

from runtime.core.operations import OPERATIONS
from runtime.core.positions import located
from runtime.core.types import TensorType

__all__ = ["other_operand"]

_METHODS: Final = {
    "add": ("+", "__radd__"), "subtract": ("-", "__rsub__"), "multiply": ("*", "__rmul__"),
    "truediv": ("/", "__rtruediv__"), "floordiv": ("//", "__rfloordiv__"), "mod": ("%", "__rmod__"),
    "pow": ("**", "__rpow__"), "matmul": ("@", "__rmatmul__"), "divmod": ("divmod()", "__rdivmod__"),
    "bitwise_and": ("&", "__rand__"), "bitwise_or": ("|", "__ror__"), "bitwise_xor": ("^", "__rxor__"),
    "left_shift": ("<<", "__rlshift__"), "right_shift": (">>", "__rrshift__"),
    "less": ("<", "__gt__"), "less_equal": ("<=", "__ge__"), "greater": (">", "__lt__"),
    "greater_equal": (">=", "__le__"),
}
"""By operation: the operator, and the reflected method by which the right operand may implement it."""


def other_operand(operation: str, tensor: Any, other: Any, reflected: bool = False) -> Any:
    """The result of `tensor + other` and the like if a tensor does not accept `other`: that of the other object's
    method. TypeError if it has none or the method declines. `reflected`: for `other + tensor`, where Python has called
    that method already. `==` and `!=` of tensors, which compare identities, and `"text" * tensor` are left to
    Python."""
    if operation in _EQUALITY and tensor.ndim and (getattr(tensor, "is_object", False) or tensor.type.of_arrays):
        return _compared_elements(operation, tensor, other)
    if operation not in _METHODS or (operation == "multiply" and _repeats(other)):
        return NotImplemented
    symbol, name = _METHODS[operation]
    method = None if reflected else getattr(type(other), name, None)
    if method is not None:
        result = method(other, tensor)
        if result is not NotImplemented:
            return result
    left, right = str(tensor.type), _named(other)
    if reflected:
        left, right = right, left
    raise _unsupported(symbol, left, right, _remedy(tensor.type, other))


def _unsupported(symbol: str, left: str, right: str, remedy: str) -> Exception:
    error = TypeError(f"unsupported operands for {symbol}: {left} and {right}")
    error.remedy = remedy  # type: ignore[attr-defined]
    return located(error)


_EQUALITY: Final = {"equal": ("==", "__eq__"), "not_equal": ("!=", "__ne__")}


def _compared_elements(operation: str, array: Any, other: Any) -> Any:
    """`array == other` for what is no number: NumPy compares each element with it, so the result is an array."""
    symbol, name = _EQUALITY[operation]
    method = getattr(type(other), name)
    is_usual = all(getattr(type(other), each) is getattr(object, each) for each in ("__eq__", "__ne__"))
    if other is None or isinstance(other, (str, bytes)) or is_usual:
        return OPERATIONS.array_function(np.full_like, (array, operation == "not_equal"), {"dtype": bool})
    result = method(other, array)
    if result is NotImplemented:
        raise _unsupported(symbol, str(array.type), _named(other), "Compare its items with a number or an array.")
    return result


def _repeats(other: Any) -> bool:
    """Whether it is a sequence of a C type: Python repeats it if neither operand implements the product."""
    kind = type(other)
    return isinstance(getattr(kind, "__mul__", None), WrapperDescriptorType) and hasattr(kind, "__getitem__")


def _named(other: Any) -> str:
    return "None" if other is None else f"an object of {type(other).__name__!r}"


def _remedy(of: TensorType, other: Any) -> str:
    if other is None:
        return "Test `is None` before, or give a number or a tensor."
    if isinstance(other, (str, bytes)):
        return ("A tensor of strings takes text, one of numbers does not: rt.strings.as_string(x) makes text of"
                " numbers, int(text) and float(text) make numbers of text.")
    return "Give a number, an array or a tensor."
