"""Padding of elements of different shapes to one batch."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.core.errors import DTypeError, ShapeError
from runtime.core.positions import located
from runtime.core.pytree import flatten, pack_sequence_as
from runtime.core.string_arrays import boxed, element
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec, TensorType
from runtime.data.elements import shapes_like
from runtime.data.pipeline import Element, tensor_types

__all__ = ["Padding"]


class Padding:
    """How to pad elements: the shape of each component, with None for the longest size, and the fill value."""

    def __init__(self, spec: Any, shapes: Any, values: Any) -> None:
        self._spec = spec
        types = tensor_types(spec, "padded_batch")
        wanted = [type.shape for type in types] if shapes is None else shapes_like(spec, shapes)
        self._shapes = [_shape(shape, type) for shape, type in zip(wanted, types, strict=True)]
        padding = flatten(values) if values is not None else [None]
        if len(padding) == 1:
            padding *= len(types)
        if len(padding) != len(types):
            raise located(ValueError(f"an element has {len(types)} parts, but there are {len(padding)} padding_values"))
        self._values = [_value(value, type) for value, type in zip(padding, types, strict=True)]

    def spec(self, length: int | None) -> Any:
        """The structure of a batch of this length."""
        return pack_sequence_as(self._spec, [
            TensorSpec([length, *shape], leaf.dtype)
            for shape, leaf in zip(self._shapes, flatten(self._spec), strict=True)])

    def stacked(self, rows: Sequence[Element], longest: int | None = None) -> Element:
        """One batch of these elements; dimensions that are None become `longest`, if that is given."""
        parts = zip(zip(*rows, strict=True), self._shapes, self._values, strict=True)
        return tuple([_stack(column, shape, value, longest) for column, shape, value in parts])


def _shape(shape: Any, type: TensorType) -> tuple[int | None, ...]:
    shape = [shape] if isinstance(shape, int) else shape
    dims = tuple([None if n is None or int(n) == -1 else int(n) for n in shape])
    if len(dims) != len(type.shape) or any(
            n is not None and m is not None and n < m for n, m in zip(dims, type.shape, strict=True)):
        raise located(ShapeError(f"elements of {type} are not padded to the shape {list(dims)}"))
    return dims


def _value(value: Any, type: TensorType) -> Any:
    if value is None:
        return boxed(b"") if type.dtype.is_string else np.zeros((), type.dtype.as_numpy_dtype)
    found = convert_to_tensor(value, dtype_hint=type.dtype, strings=True)
    if found.dtype is not type.dtype or found.type.shape:
        raise located(DTypeError(f"elements of {type} are padded with a scalar of {type.dtype.name}, not "
                                 f"{found.type}"))
    return np.asarray(found)


def _stack(column: Sequence[Any], shape: Sequence[int | None], value: Any, longest: int | None) -> Any:
    sizes = [np.shape(row) for row in column]
    most = [max(size[k] for size in sizes) for k in range(len(shape))]
    dims = [n if n is not None else most[k] if longest is None else longest for k, n in enumerate(shape)]
    if any(n > wanted for n, wanted in zip(most, dims, strict=True)):
        raise ShapeError(f"an element of shape {next(s for s in sizes if any(n > d for n, d in zip(s, dims)))} does "
                         f"not fit into the padded shape {dims}")
    batch = np.full((len(column), *dims), value, value.dtype)
    for row, (array, size) in enumerate(zip(column, sizes, strict=True)):
        place: Any = (row, *[slice(n) for n in size])
        batch[place] = element(array)
    return batch
