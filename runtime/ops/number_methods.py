"""Attributes and methods of Python's ints and floats, for scalars that are such numbers in Python."""
from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.op import CAST
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor
from runtime.ops.logic import bitwise_and, equal, not_equal, right_shift
from runtime.ops.math import cast, floor
from runtime.ops.reduction import reduce_sum

__all__: list[str] = []

_PLACES: Final = np.arange(64)


def _shifted(x: Tensor) -> Any:
    """An int without its sign, divided by each power of 2. (The sign of -2**63 stays, as its highest bit.)"""
    return right_shift(cast(x, t.int64).__abs__(), convert_to_tensor(_PLACES))


def _as_int(x: Any) -> Any:
    return apply(CAST, reduce_sum(cast(x, t.int64)), dtype=t.int32, weak=True)


_INT: Final[Mapping[str, Callable[[Tensor], Any]]] = {
    "bit_length": lambda x: _as_int(not_equal(_shifted(x), 0)),
    "bit_count": lambda x: _as_int(bitwise_and(_shifted(x), 1)),
    "is_integer": lambda x: True,
    "conjugate": lambda x: x,
}
_FLOAT: Final[Mapping[str, Callable[[Tensor], Any]]] = {
    "is_integer": lambda x: equal(x, floor(x)) & equal(x - x, 0),
    "conjugate": lambda x: x,
}
_ATTRIBUTES: Final[Mapping[str, Callable[[Tensor], Any]]] = {"numerator": lambda x: x, "denominator": lambda x: 1}


def _attribute(x: Tensor, name: str, error: Exception) -> Any:
    kind = float if x.dtype.is_floating else int
    if x.type.weak and not x.ndim and not x.dtype.is_complex and hasattr(kind, name):
        if name in _ATTRIBUTES:
            return _ATTRIBUTES[name](x)
        method = (_FLOAT if kind is float else _INT).get(name)
        if method is not None:
            return functools.partial(method, x)
    if not hasattr(error, "remedy"):
        error.remedy = _remedy(name)  # type: ignore[attr-defined]
    raise located(error)


@functools.lru_cache(maxsize=256)
def _remedy(name: str) -> str:
    """What to do where tensors have no such attribute. Kept, since code that asks with `getattr` does so often."""
    close = difflib.get_close_matches(name, dir(GraphTensor), 1)
    return f"Did you mean {close[0]!r}?" if close else "Call a function of rt or of NumPy with the tensor."


OPERATIONS.define(attribute_of_number=_attribute)
