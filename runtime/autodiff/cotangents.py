"""The accumulated cotangents of a backward pass, by value, variable or eager tensor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.autodiff.rules.cotangent_lists import add_lists, zero_list
from runtime.autodiff.rules.gather import of_rows
from runtime.autodiff.rules.registry import Update
from runtime.core.tensor import EagerList, GraphList, GraphTensor
from runtime.core.types import ListType, TensorType, Type, int64
from runtime.ops.concat_split import concat
from runtime.ops.creation import zeros
from runtime.ops.lists import list_cast
from runtime.ops.math import add, cast
from runtime.ops.shape import shape
from runtime.ops.shape_refinement import assume_shape

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
        assume_shape(x, type.shape)
    if isinstance(type, ListType) and not type.accepts(x.type):
        return list_cast(x, type.element)
    return x


class Cotangents:
    """Sums of cotangents. Keys are values of graphs, or ids of variables and eager tensors.

    `keeps_rows(key)`: whether a sum of slices along the first axis stays a list of these until it is read.
    """

    def __init__(self, keeps_rows: Callable[[Any], bool] = lambda key: False) -> None:
        self._sums: dict[Any, Any] = {}
        self._rows: dict[Any, tuple[list[Update], Any]] = {}  # the slices, and the primal
        self._keeps_rows = keeps_rows

    def __contains__(self, key: Any) -> bool:
        return key in self._sums or key in self._rows

    def get(self, key: Any) -> Any:
        """The sum so far; None is zero."""
        if key in self._rows:
            updates, primal = self._rows.pop(key)
            total = zero_for(primal)
            for update in updates:
                total = update.add(total)
            self._sums[key] = total
        return self._sums.get(key)

    def pop(self, key: Any) -> Any:
        """Remove and return the sum so far."""
        self.get(key)
        return self._sums.pop(key, None)

    def takes_rows(self, key: Any) -> bool:
        """Whether slices along the first axis that are added to the sum so far stay such."""
        return key not in self._sums and self._keeps_rows(key)

    def is_rows(self, key: Any) -> bool:
        """Whether the sum so far consists of slices along the first axis."""
        return key in self._rows

    def rows(self, key: Any) -> tuple[Any, Any] | None:
        """The sum so far as the values and indices of slices along the first axis, if it consists of these."""
        if key not in self._rows:
            return None
        values, indices = zip(*[update.rows() for update in self._rows[key][0] if update.rows is not None], strict=True)
        if len(values) == 1:
            return values[0], indices[0]
        dtype = indices[0].dtype if len({each.dtype for each in indices}) == 1 else int64
        return concat(values, 0), concat([cast(each, dtype) for each in indices], 0)

    def move(self, key: Any, to: Any, primal: Any, dtype: Any = None) -> bool:
        """Add the slices that the sum so far consists of to the cotangent of another key, in another dtype; False if
        it has none, or they are not kept there."""
        if not self._keeps_rows(to) or (found := self.rows(key)) is None:
            return False
        values, indices = found
        del self._rows[key]
        self.add(to, of_rows(values if dtype is None else cast(values, dtype), indices, primal), primal)
        return True

    def put(self, key: Any, ct: Any) -> None:
        """Set the sum to `ct`; None is zero."""
        self._rows.pop(key, None)
        if ct is None:
            self._sums.pop(key, None)
        else:
            self._sums[key] = ct

    def add(self, key: Any, ct: Any, primal: Any) -> None:
        """Add a cotangent or an `Update`; None is zero. `primal`: the value that it is a cotangent of, needed for an
        `Update`."""
        if ct is None:
            return
        if isinstance(ct, Update) and ct.rows is not None and self.takes_rows(key):
            self._rows.setdefault(key, ([], primal))[0].append(ct)
            return
        have = self.get(key)
        if isinstance(ct, Update):
            self._sums[key] = ct.add(zero_for(primal) if have is None else have)
        elif have is None:
            self._sums[key] = ct
        else:
            self._sums[key] = add_lists(have, ct) if isinstance(have, (EagerList, GraphList)) else add(have, ct)
