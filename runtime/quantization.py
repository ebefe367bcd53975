"""Numbers as a quantised model would have them, for training it (`tf.quantization`)."""
from __future__ import annotations

from typing import Any

from runtime.autodiff.custom import custom_gradient
from runtime.core.errors import InvalidArgumentError
from runtime.core.positions import located
from runtime.core.public_names import hint_at_public_names
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import float32
from runtime.ops import math
from runtime.ops.logic import logical_and, where
from runtime.ops.op_makers import named
from runtime.ops.reduction import reduce_sum

__all__ = ["fake_quant_with_min_max_args", "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_per_channel"]


def _range(low: Tensor, high: Tensor, num_bits: int, narrow_range: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The ends of the range, moved so that 0 is one of the numbers, and the distance of these."""
    if not 2 <= num_bits <= 16:
        raise located(InvalidArgumentError(f"num_bits must be between 2 and 16, inclusive, not {num_bits}"))
    least, most = float(narrow_range), float(2 ** num_bits - 1)
    step = (high - low) / (most - least)
    zero = math.floor(least - low / step + 0.5)
    zero = math.minimum(math.maximum(zero, least), most)
    return (least - zero) * step, (most - zero) * step, step


def _quantized(x: Tensor, low: Tensor, high: Tensor, step: Tensor) -> Tensor:
    inside = math.minimum(math.maximum(x, low), high)
    return math.floor((inside - low) * (1.0 / step) + 0.5) * step + low


def fake_quant_with_min_max_args(
    inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The nearest of 2**num_bits numbers (one less with `narrow_range`) that divide [min, max] evenly, one of which is
    0, float32 (`tf.quantization.fake_quant_with_min_max_args`). The gradient is 1 within the range, else 0."""
    if not min < max:
        raise located(InvalidArgumentError(f"min has to be smaller than max, was: {min} >= {max}"))
    return named(_fake(inputs, float(min), float(max), num_bits, narrow_range), name)


def fake_quant_with_min_max_vars(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None,
) -> Tensor:
    """The same with ends that are scalar tensors, which get the cotangents of what is outside
    (`tf.quantization.fake_quant_with_min_max_vars`)."""
    return named(_fake(inputs, min, max, num_bits, narrow_range), name)


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None,
) -> Tensor:
    """The same with ends for each channel, the last axis (`tf.quantization.fake_quant_with_min_max_vars_per_channel`).
    """
    return named(_fake(inputs, min, max, num_bits, narrow_range, by_channel=True), name)


def _fake(inputs: Any, min: Any, max: Any, num_bits: int, narrow_range: bool, by_channel: bool = False) -> Tensor:
    x = convert_to_tensor(inputs, float32)
    axes = list(range(x.ndim - 1)) if by_channel else None

    @custom_gradient
    def quantized(x: Any, min: Any, max: Any) -> Any:
        low, high, step = _range(min, max, num_bits, narrow_range)

        def gradient(ct: Any) -> Any:
            inside = logical_and(x >= low, x <= high)
            return [where(inside, ct, 0.0), reduce_sum(where(x < low, ct, 0.0), axes),
                    reduce_sum(where(x > high, ct, 0.0), axes)]

        return _quantized(x, low, high, step), gradient

    found: Tensor = quantized(x, convert_to_tensor(min, float32), convert_to_tensor(max, float32))
    return found


hint_at_public_names(__name__)
