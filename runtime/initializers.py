"""Initial values of variables (`tf.initializers`): each is called with a shape and returns a tensor.

Those of Keras are in `keras.initializers`.
"""
from __future__ import annotations

from typing import Any

from runtime.core.public_names import hint_at_public_names
from runtime.core.tensor import Tensor
from runtime.core.types import as_dtype
from runtime.ops.creation import constant, ones, zeros
from runtime.ops.random import normal, uniform

__all__ = ["Constant", "Initializer", "Ones", "RandomNormal", "RandomUniform", "Zeros"]


class Initializer:
    """Base class; `get_config` and `from_config` are for its arguments."""

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        """A tensor of the shape, of float32 by default."""
        raise NotImplementedError("an Initializer defines __call__(shape, dtype)")

    def get_config(self) -> dict[str, Any]:
        """The arguments by name."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """An initializer with these arguments."""
        return cls(**config)


class Zeros(Initializer):
    """Zeros (`tf.zeros_initializer`)."""

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return zeros(shape, as_dtype(dtype or "float32"))


class Ones(Initializer):
    """Ones (`tf.ones_initializer`)."""

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return ones(shape, as_dtype(dtype or "float32"))


class Constant(Initializer):
    """A constant: a scalar for all elements, or as many numbers as there are (`tf.constant_initializer`). Without a
    dtype it has that of the constant. `support_partition` has no effect."""

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return constant(self.value, dtype, shape)


class RandomUniform(Initializer):
    """Uniform random numbers from `minval` to `maxval` (`tf.random_uniform_initializer`)."""

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return uniform(shape, self.minval, self.maxval, as_dtype(dtype or "float32"), seed=self.seed)


class RandomNormal(Initializer):
    """Normal random numbers with this mean and standard deviation (`tf.random_normal_initializer`)."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return normal(shape, self.mean, self.stddev, as_dtype(dtype or "float32"), seed=self.seed)


hint_at_public_names(__name__)
