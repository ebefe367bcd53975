"""Pooling with windows of a given size, or with a given number of windows."""
from __future__ import annotations

import math as python_math
from typing import Any

import numpy as np
from keras.src.backend.config import standardize_data_format

from runtime.core.tensor import Tensor
from runtime.keras.backend.nn.convolutions import from_last, per_axis, to_last
from runtime.keras.backend.promotion import floating, in_dtype, tensor
from runtime.ops import linalg, pooling, reduction
from runtime.ops import shape as shapes
from runtime.ops.gather import gather

__all__ = ["adaptive_average_pool", "adaptive_max_pool", "average_pool", "max_pool"]


def max_pool(inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: str | None = None
             ) -> Tensor:
    return _pooled(pooling.max_pool, tensor(inputs), pool_size, strides, padding, data_format)


def average_pool(inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid",
                 data_format: str | None = None) -> Tensor:
    return _pooled(pooling.avg_pool, floating(inputs), pool_size, strides, padding, data_format)


def _pooled(function: Any, x: Tensor, pool_size: Any, strides: Any, padding: str, data_format: str | None) -> Tensor:
    data_format = standardize_data_format(data_format)
    rank = x.ndim - 2
    window = per_axis(pool_size, rank)
    steps = window if strides is None else per_axis(strides, rank)
    return from_last(function(to_last(x, data_format), window, steps, padding.upper()), data_format)


def adaptive_average_pool(inputs: Any, output_size: Any, data_format: str | None = None) -> Tensor:
    def averaged(x: Tensor, axis: int, starts: Any, ends: Any) -> Tensor:
        places = np.arange(x.type.shape[axis] or 0)
        weights = ((places >= starts[:, None]) & (places < ends[:, None])) / (ends - starts)[:, None]
        found = linalg.tensordot(x, in_dtype(tensor(weights.T), x.dtype.name), [[axis], [0]])
        return shapes.moveaxis(found, -1, axis)

    return _adaptive(averaged, floating(inputs), output_size, data_format)


def adaptive_max_pool(inputs: Any, output_size: Any, data_format: str | None = None) -> Tensor:
    def greatest(x: Tensor, axis: int, starts: Any, ends: Any) -> Tensor:
        places = np.minimum(starts[:, None] + np.arange((ends - starts).max()), ends[:, None] - 1)
        return reduction.reduce_max(gather(x, places.astype(np.int32), axis=axis), axis + 1)

    return _adaptive(greatest, tensor(inputs), output_size, data_format)


def _adaptive(pool: Any, x: Tensor, output_size: Any, data_format: str | None) -> Tensor:
    """Pooling along one spatial axis after the other, with windows that divide it as evenly as integers can."""
    data_format = standardize_data_format(data_format)
    x = to_last(x, data_format)
    for axis, count in enumerate(per_axis(output_size, x.ndim - 2), 1):
        size = x.type.shape[axis]
        if size is None:
            raise NotImplementedError("adaptive pooling along an axis of unknown size")
        starts = np.array([i * size // count for i in range(count)])
        ends = np.array([python_math.ceil((i + 1) * size / count) for i in range(count)])
        x = pool(x, axis, starts, ends)
    return from_last(x, data_format)
