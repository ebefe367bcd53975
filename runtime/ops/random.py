"""Random numbers of the global source, which `set_seed` restarts, and of ops with their own seed. Drawing is an effect:
it happens in program order, and advances the source."""
from __future__ import annotations

import math as python_math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, InvalidArgumentError, ShapeError
from runtime.core.op import Op, Sample
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, TensorType, as_dtype, check_room, dtype_of
from runtime.ops import math
from runtime.ops.bitcast import bitcast
from runtime.ops.gather import gather
from runtime.ops.logic import bitwise_or, left_shift
from runtime.ops.math import cast
from runtime.ops.op_makers import FLOATS, INTS, apply_one, check_dtype, named
from runtime.ops.random_sources import Stream, source_of_seed
from runtime.ops.reduction import argmax
from runtime.ops.shape import dim, shape_argument
from runtime.ops.sorting import argsort

__all__ = [
    "Dims", "bounds_of", "categorical", "check_bounds", "check_sizes", "int_type", "normal", "scaled", "shuffle",
    "spread", "truncated_normal", "uniform", "wanted_shape",
]

Dims = tuple[int | None, ...]


# The ops. As in reshape, dims are the known dimensions; if some are unknown, an operand has the whole shape.

def _draw(generator: np.random.Generator, distribution: str, shape: tuple[int, ...], dtype: DType) -> Any:
    wide = np.float32 if dtype is t.float16 else dtype.np
    if distribution == "uniform":
        return generator.random(shape, wide).astype(dtype.np, copy=False)
    return generator.standard_normal(shape, wide).astype(dtype.np, copy=False)


def _random_kernel(*shape: Any, dims: Dims, dtype: DType, distribution: str, source: Stream) -> Any:
    wanted = wanted_shape(f"random.{distribution}", shape, dims, dtype)
    with source.lock:
        return _draw(source.generator, distribution, wanted, dtype)


def wanted_shape(op: str, shape: Sequence[Any], dims: Dims, dtype: DType) -> tuple[int, ...]:
    """The shape in a kernel: that of the operand, if there is one."""
    wanted: Any = tuple(shape[0].tolist()) if shape else dims
    if any(size < 0 for size in wanted):
        raise ShapeError(f"{op} takes sizes of at least 0, not {list(wanted)}")
    check_room(f"the result of {op}", wanted, dtype)
    return wanted  # type: ignore[no-any-return]


def check_sizes(op: str, dims: Dims, shape: Sequence[TensorType]) -> None:
    if any(size is not None and size < 0 for size in dims):
        raise ShapeError(f"{op} takes sizes of at least 0, not {list(dims)}")
    if shape and (shape[0].ndim != 1 or shape[0].shape[0] not in (None, len(dims))):
        raise ShapeError(f"{op} takes its shape as an int tensor of {len(dims)} elements, not {shape[0]}")


def _random_rule(*shape: TensorType, dims: Dims, dtype: DType, distribution: str, source: Stream) -> TensorType:
    check_dtype(f"random.{distribution}", dtype, FLOATS)
    check_sizes(f"random.{distribution}", dims, shape)
    return TensorType(dtype, dims)


def _random_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in FLOATS:
        for distribution in ("uniform", "normal"):
            params = {"dtype": dtype, "distribution": distribution, "source": Stream(1)}
            yield (), {"dims": (), **params}
            yield (), {"dims": (2, 3), **params}
            yield (np.array([2, 0], np.int32),), {"dims": (2, None), **params}


RANDOM: Final = Op("random", _random_kernel, _random_rule, effect=True, samples=_random_samples,
                   errors=(ShapeError,),
                   doc="Random floats, uniform from 0 to below 1 or standard normal.")


def _random_int_kernel(low: Any, high: Any, *shape: Any, dims: Dims, source: Stream) -> Any:
    check_bounds("random.uniform", low, high)
    wanted = wanted_shape("random.uniform", shape, dims, dtype_of(low))
    with source.lock:
        return source.generator.integers(low, high, wanted, low.dtype)


def _random_int_rule(low: TensorType, high: TensorType, *shape: TensorType, dims: Dims, source: Stream
                     ) -> TensorType:
    return int_type("random.uniform", low, high, dims, shape)


def check_bounds(op: str, low: Any, high: Any) -> None:
    if low >= high:
        raise InvalidArgumentError(f"{op} takes a minval less than maxval, not {low} and {high}")


def int_type(op: str, low: TensorType, high: TensorType, dims: Dims, shape: Sequence[TensorType]) -> TensorType:
    check_dtype(f"{op} of ints", low.dtype, INTS)
    if low.ndim or high.ndim or low.dtype is not high.dtype:
        raise DTypeError(f"{op} takes scalar bounds of one dtype, not {low} and {high}")
    check_sizes(op, dims, shape)
    return TensorType(low.dtype, dims)


def _random_int_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in INTS:
        bounds = dtype.as_numpy_dtype(1), dtype.as_numpy_dtype(9)
        yield bounds, {"dims": (2, 3), "source": Stream(1)}
        yield (*bounds, np.array([4], np.int32)), {"dims": (None,), "source": Stream(1)}


RANDOM_INT: Final = Op("random_int", _random_int_kernel, _random_int_rule, effect=True, agree=slice(0, 2),
                       samples=_random_int_samples, errors=(InvalidArgumentError, ShapeError),
                       doc="Random ints from low to below high.")


# Distributions.

Floats = Callable[[str], Tensor]  # from the name of a distribution to numbers drawn from it


def _floats(source: Stream, shape: Any, dtype: Any) -> Floats:
    dims, operand = shape_argument("random", shape)
    operands = () if operand is None else (operand,)

    def draw(distribution: str) -> Tensor:
        return apply_one(RANDOM, *operands, dims=dims, dtype=as_dtype(dtype), distribution=distribution,
                               source=source)

    return draw


def spread(x: Tensor, low: Any, high: Any) -> Tensor:
    """Numbers from 0 to below 1, as ones from `low` to below `high`; the span is rounded to their dtype."""
    if type(low) in (int, float) and type(high) in (int, float):
        if (low, high) == (0, 1):
            return x
        number = x.dtype.wide.as_numpy_dtype
        return math.add(math.multiply(x, float(number(high) - number(low))), low)
    return math.add(math.multiply(x, math.subtract(high, low)), low)


def scaled(x: Tensor, mean: Any, stddev: Any) -> Tensor:
    """Numbers of the standard normal distribution, as ones of that mean and deviation."""
    if type(stddev) not in (int, float) or stddev != 1:
        x = math.multiply(x, stddev)
    return x if type(mean) in (int, float) and mean == 0 else math.add(x, mean)


def _uniform(source: Stream, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Tensor:
    want = as_dtype(dtype)
    if not want.is_integer:
        return spread(_floats(source, shape, want)("uniform"), minval, 1 if maxval is None else maxval)
    if minval is None and maxval is None:
        return _any_int(lambda k, low, high: _uniform(source, shape, low, high, t.int64), want)
    low, high = bounds_of("random.uniform", minval, maxval, want)
    dims, operand = shape_argument("random.uniform", shape)
    operands = () if operand is None else (operand,)
    return apply_one(RANDOM_INT, low, high, *operands, dims=dims, source=source)


def _any_int(draw: Callable[[int, int, int], Tensor], dtype: DType) -> Tensor:
    """Ints of the whole range of `dtype`. `draw(k, low, high)` gives int64 between bounds, another one for each k."""
    info = np.iinfo(dtype.as_numpy_dtype)
    if info.bits < 64:
        return cast(draw(0, int(info.min), int(info.max) + 1), dtype)
    return bitcast(bitwise_or(left_shift(draw(0, 0, 2**32), 32), draw(1, 0, 2**32)), dtype)


def bounds_of(op: str, minval: Any, maxval: Any, dtype: DType) -> list[Any]:
    if maxval is None:
        raise ValueError(f"Must specify maxval for integer dtype: {op} has no default there")
    return [convert_to_tensor(value, dtype) for value in (minval, maxval)]


def uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = t.float32, seed: Any = None,
            name: str | None = None) -> Tensor:
    """Uniform from `minval` to below `maxval`: floats (by default below 1), or ints, of the whole range of the dtype if
    both are None (`tf.random.uniform`)."""
    return named(_uniform(source_of_seed(seed), shape, minval, maxval, dtype), name)


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32, seed: Any = None,
           name: str | None = None) -> Tensor:
    """Normally distributed floats (`tf.random.normal`)."""
    return named(scaled(_floats(source_of_seed(seed), shape, dtype)("normal"), mean, stddev), name)


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32, seed: Any = None,
                     name: str | None = None) -> Tensor:
    """Normally distributed floats within two standard deviations (`tf.random.truncated_normal`)."""
    x = _floats(source_of_seed(seed), shape, dtype)("uniform")
    return named(scaled(_truncated(x), mean, stddev), name)


def _truncated(x: Tensor) -> Tensor:
    """Draws by the inverse of the distribution function, from uniform numbers between its values at -2 and 2."""
    edge = python_math.erf(2 / python_math.sqrt(2))
    return math.multiply(math.erfinv(math.multiply(spread(x, -1, 1), edge)), python_math.sqrt(2))


def shuffle(value: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """The slices along the first axis in random order (`tf.random.shuffle`)."""
    x = convert_to_tensor(value)
    if not x.ndim:
        return x
    return gather(x, argsort(uniform([dim(x, 0)], dtype=t.float64, seed=seed)), name=name)


def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None
                ) -> Tensor:
    """Classes drawn with probabilities proportional to exp(logits): [batch, classes] to int[batch, num_samples]
    (`tf.random.categorical`).
    """
    x = convert_to_tensor(logits)
    if x.ndim != 2:
        raise ShapeError(f"categorical takes logits of shape [batch, classes], not {x.type}")
    u = uniform([dim(x, 0), num_samples, dim(x, 1)], dtype=x.dtype, seed=seed)
    noise = math.negative(math.log(math.negative(math.log(math.subtract(convert_to_tensor(1, x.dtype), u)))))
    return argmax(math.add(x[:, None, :], noise), axis=2, output_type=t.int64 if dtype is None else dtype, name=name)
