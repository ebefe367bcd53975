"""Statistics and normalisation."""
from __future__ import annotations

from typing import Any

import numpy as np

from runtime.core.tensor import Tensor
from runtime.keras.backend.promotion import agreed, floating, in_dtype, tensor
from runtime.ops import math, nn
from runtime.ops import shape as shapes

__all__ = ["batch_normalization", "moments"]


def moments(x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False) -> tuple[Tensor, Tensor]:
    """Mean and variance; those of float16 are computed in float32, and are finite."""
    if synchronized:
        raise NotImplementedError("Argument synchronized=True is not supported with the runtime backend: it runs on "
                                  "one device")
    x = floating(x)
    name = x.dtype.name
    half = name in ("float16", "bfloat16")
    found = nn.moments(in_dtype(x, "float32") if half else x, axes, keepdims=keepdims)
    if not half:
        return found
    least, most = float(np.finfo(np.float16).min), float(np.finfo(np.float16).max)
    mean, variance = (in_dtype(math.minimum(math.maximum(each, least), most), name) for each in found)
    return mean, variance


def batch_normalization(x: Any, mean: Any, variance: Any, axis: int, offset: Any = None, scale: Any = None,
                        epsilon: float = 1e-3) -> Tensor:
    x, mean, variance = agreed(x, mean, variance)
    shape = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]

    def along(value: Any) -> Tensor:
        return shapes.reshape(in_dtype(tensor(value), x.dtype.name), shape)

    factor = math.rsqrt(along(variance) + epsilon)
    if scale is not None:
        factor = factor * along(scale)
    shift = -along(mean) * factor
    return x * factor + (shift if offset is None else shift + along(offset))  # type: ignore[no-any-return]
