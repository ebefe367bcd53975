"""The bits of a tensor as another dtype."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core.errors import DTypeError, ShapeError
from runtime.core.op import Op, Sample, unknown_shape
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, Shape, TensorType, as_dtype, dtype_of, shape_text
from runtime.ops.op_makers import ALL, apply_one, named, random_array

__all__ = ["bitcast"]


def _kernel(x: Any, *, dtype: DType) -> Any:
    x = np.ascontiguousarray(x) if np.ndim(x) else np.asarray(x)
    if x.dtype.itemsize == dtype.size:
        return x.view(dtype.np)
    if x.dtype.itemsize > dtype.size:
        return x[..., None].view(dtype.np)
    _check_last(dtype_of(x), x.shape, dtype)
    return x.view(dtype.np)[..., 0]


def _rule(x: TensorType, *, dtype: DType) -> TensorType:
    if x.dtype.is_bool or dtype.is_bool:
        raise DTypeError("bitcast takes numbers, not bools")
    if x.dtype.size == dtype.size:
        return TensorType(dtype, x.shape)
    if x.dtype.size > dtype.size:
        return TensorType(dtype, (*x.shape, x.dtype.size // dtype.size))
    _check_last(x.dtype, x.shape, dtype)
    return TensorType(dtype, x.shape[:-1])


def _check_last(source: DType, shape: Shape, target: DType) -> None:
    parts = target.size // source.size
    if not shape or shape[-1] not in (parts, None):
        raise ShapeError(f"bitcast from {source.name} to {target.name} takes a last axis of {parts}, not "
                         f"{shape_text(shape)}")


def _samples(rng: np.random.Generator) -> Iterable[Sample]:
    for source in ALL:
        for target in ALL:
            if source.is_bool or target.is_bool:
                continue
            for shape in ((), (3,), (0, 2)):
                parts = (target.size // source.size,) if target.size > source.size else ()
                if np.dtype(target.np).kind in "iu":  # an int's bits may be NaN as a float
                    yield (random_array(rng, source, (*shape, *parts)),), {"dtype": target}


BITCAST: Final = Op("bitcast", _kernel, _rule, samples=_samples, errors=unknown_shape,
                   doc="The bits of a tensor as another dtype.")


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The bits of `input` as another dtype (`tf.bitcast`): a wider dtype is split along a new last axis; narrower
    numbers along the last axis are merged into one. DTypeError for bools, ShapeError if the last axis does not fit."""
    return named(apply_one(BITCAST, convert_to_tensor(input), dtype=as_dtype(type)), name)
