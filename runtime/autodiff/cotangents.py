"""The accumulated cotangents of a backward pass, by value, variable or eager tensor."""
from __future__ import annotations

from typing import Any

from runtime.autodiff.rules.cotangent_lists import add_lists, zero_list
from runtime.autodiff.rules.registry import Update
from runtime.core.tensor import EagerList, GraphList, GraphTensor
from runtime.core.types import ListType, TensorType, Type
from runtime.ops.creation import zeros
from runtime.ops.lists import list_cast
from runtime.ops.math import add
from runtime.ops.shape import shape

__all__ = ["Cotangents", "fit", "zero_for"]


def zero_for(x: Any) -> Any:
    """The zero cotangent of a tensor or list, computed from its shape alone."""
    if isinstance(x, (EagerList, GraphList)):
        return zero_list(x)
    known = x.type.shape
    return zeros(list(known) if None not in known else shape(x), x.dtype)


def fit(x: Any, type: Type) -> Any:
    """A cotangent with at least the static type information of the primal."""
    if isinstance(type, TensorType) and isinstance(x, GraphTensor) and not type.accepts(x.type):
        x.set_shape(type.shape)
    if isinstance(type, ListType) and not type.accepts(x.type):
        return list_cast(x, type.element)
    return x


class Cotangents:
    """Sums of cotangents. Keys are values of graphs, or ids of variables and eager tensors."""

    def __init__(self) -> None:
        self._sums: dict[Any, Any] = {}

    def __contains__(self, key: Any) -> bool:
        return key in self._sums

    def get(self, key: Any) -> Any:
        """The sum so far; None is zero."""
        return self._sums.get(key)

    def pop(self, key: Any) -> Any:
        """Remove and return the sum so far."""
        return self._sums.pop(key, None)

    def put(self, key: Any, ct: Any) -> None:
        """Set the sum to `ct`; None is zero."""
        if ct is None:
            self._sums.pop(key, None)
        else:
            self._sums[key] = ct

    def add(self, key: Any, ct: Any, primal: Any) -> None:
        """Add a cotangent or an `Update`; None is zero. `primal`: the value that it is a cotangent of, needed for an
        `Update`."""
        if ct is None:
            return
        have = self._sums.get(key)
        if isinstance(ct, Update):
            self._sums[key] = ct.add(zero_for(primal) if have is None else have)
        elif have is None:
            self._sums[key] = ct
        else:
            self._sums[key] = add_lists(have, ct) if isinstance(have, (EagerList, GraphList)) else add(have, ct)
