"""Keras's `backend.random`: numbers that depend only on their seed, two integers."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from keras.src.backend.config import floatx
from keras.src.random.seed_generator import SeedGenerator, draw_seed, make_default_seed

import runtime.numpy as rnp
from runtime.core import types as t
from runtime.core.tensor import Tensor
from runtime.core.types import TensorSpec, as_dtype
from runtime.keras.backend.promotion import floating, in_dtype, name_of, sizes_of, tensor
from runtime.ops import logic, math, sorting, stateless_random
from runtime.ops import shape as shapes
from runtime.ops.host_functions import numpy_function

__all__ = ["SeedGenerator", "beta", "binomial", "categorical", "draw_seed", "dropout", "gamma", "make_default_seed",
           "normal", "randint", "shuffle", "truncated_normal", "uniform"]


def _name(dtype: Any) -> str:
    return str(floatx()) if dtype is None else name_of(tensor(0, dtype))


def _drawn(draw: Callable[[str], Tensor], dtype: Any) -> Tensor:
    """Numbers in a dtype, drawn in float32 if it is no float of NumPy's, and cast."""
    name = _name(dtype)
    return in_dtype(draw(name if name in ("float16", "float32", "float64") else "float32"), name)


def _seed(seed: Any) -> Tensor:
    """The seed that Keras draws with on TensorFlow: there it must fit an int32."""
    return in_dtype(math.mod(in_dtype(draw_seed(seed), "int64"), int(t.int32.limits[1]) - 1), "int32")


def _number(x: Any, name: str) -> Any:
    return x if isinstance(x, (int, float)) else in_dtype(tensor(x), name)


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    return _drawn(lambda name: stateless_random.stateless_normal(
        sizes_of(shape), _seed(seed), _number(mean, name), _number(stddev, name), name), dtype)


def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    return _drawn(lambda name: stateless_random.stateless_uniform(
        sizes_of(shape), _seed(seed), _number(minval, name), _number(maxval, name), name), dtype)


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    return _drawn(lambda name: stateless_random.stateless_truncated_normal(
        sizes_of(shape), _seed(seed), _number(mean, name), _number(stddev, name), name), dtype)


def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Tensor:
    name = _name(dtype)
    drawn = name if name in ("int32", "int64") else "int64"
    return in_dtype(stateless_random.stateless_uniform(
        sizes_of(shape), _seed(seed), in_dtype(tensor(minval), drawn), in_dtype(tensor(maxval), drawn), drawn), name)


def categorical(logits: Any, num_samples: int, dtype: Any = "int32", seed: Any = None) -> Tensor:
    return in_dtype(stateless_random.stateless_categorical(floating(logits), num_samples, _seed(seed)), _name(dtype))


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Tensor:
    x = tensor(inputs)
    if rate == 1.0:
        return rnp.zeros_like(x)
    if rate == 0.0:
        return x
    sizes = shapes.dims(x)
    if noise_shape is not None:
        sizes = [own if size is None else size for own, size in zip(sizes, noise_shape, strict=True)]
    name = x.dtype.name
    kept = uniform(sizes, dtype=name, seed=seed) >= in_dtype(rate, name)
    return logic.where(kept, x * in_dtype(1.0 / (1.0 - rate), name), rnp.zeros_like(x))


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Tensor:
    x = tensor(x)
    order = sorting.argsort(stateless_random.stateless_uniform([shapes.dim(x, axis)], _seed(seed)))
    return rnp.take(x, order, axis)


# Distributions drawn by NumPy, in graphs through a call of Python.

def _from_numpy(shape: Any, parameters: tuple[Any, ...], dtype: Any, seed: Any, draw: Callable[..., Any]) -> Tensor:
    """Numbers of a distribution whose parameters broadcast to the static `shape`."""
    sizes = tuple(int(size) for size in shape)
    name = _name(dtype)

    def drawn(seed: Any, *parameters: Any) -> Any:
        generator = np.random.default_rng([int(part) & 0xFFFFFFFFFFFFFFFF for part in seed])
        return np.asarray(draw(generator, *parameters, sizes)).astype(as_dtype(name).np)

    operands = [in_dtype(tensor(parameter), "float64") for parameter in parameters]
    return numpy_function(drawn, [_seed(seed), *operands], TensorSpec(sizes, name))  # type: ignore[no-any-return]


def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    return _from_numpy(shape, (alpha,), dtype, seed, lambda of, alpha, size: of.gamma(alpha, size=size))


def beta(shape: Any, alpha: Any, beta: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    return _from_numpy(shape, (alpha, beta), dtype, seed, lambda of, alpha, beta, size: of.beta(alpha, beta, size))


def binomial(shape: Any, counts: Any, probabilities: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    return _from_numpy(shape, (counts, probabilities), dtype, seed,
                       lambda of, counts, chances, size: of.binomial(counts.astype(np.int64), chances, size))
