"""Random numbers that depend on their seed alone: the bits that TensorFlow draws on CPUs (`runtime.ops.philox`)."""
from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.op import Op, Sample
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, TensorType, as_dtype, dtype_of
from runtime.ops import logic, math, philox
from runtime.ops.math import cast
from runtime.ops.op_makers import FLOATS, INTS, apply_one, check_dtype, named
from runtime.ops.random import (
    Dims,
    bounds_of,
    check_bounds,
    check_sizes,
    int_type,
    scaled,
    spread,
    wanted_shape,
)
from runtime.ops.random_sources import Philox
from runtime.ops.reduction import cumsum, reduce_max, reduce_prod
from runtime.ops.shape import dims as sizes_of
from runtime.ops.shape import shape_argument, stack
from runtime.ops.sorting import searchsorted

__all__ = ["Algorithm", "algorithm_of", "drawn", "fold_in", "skipped", "split", "stateless_categorical",
           "stateless_normal", "stateless_truncated_normal", "stateless_uniform", "uniform_from"]


class Algorithm(Enum):
    """TF 2's algorithms of random numbers (`tf.random.Algorithm`). All numbers here are of Philox, as on CPUs there."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def algorithm_of(alg: Any) -> Algorithm:
    """An algorithm by itself, its name or its number; None is AUTO_SELECT. ValueError for anything else."""
    try:
        if alg is None or isinstance(alg, str):
            return Algorithm[(alg or "auto_select").upper()]
        return Algorithm(int(np.asarray(alg)) if not isinstance(alg, Algorithm) else alg)
    except (KeyError, ValueError, TypeError):
        raise located(ValueError(
            f"the alg of random numbers is 'philox', 'threefry' or 'auto_select', not {alg!r}")) from None


# The ops. A state is int64 [3]; dims are as in `random`.

def _state_kernel(seed: Any) -> Any:
    if seed.shape != (2,):
        raise ShapeError(f"stateless random numbers take a seed of two ints, not of {seed.size}")
    return philox.scrambled(seed)


def _state_rule(seed: TensorType) -> TensorType:
    if not seed.dtype.is_integer or seed.ndim != 1 or seed.shape[0] not in (None, 2):
        raise ShapeError(f"stateless random numbers take a seed of two ints, not {seed}")
    return TensorType(t.int64, (3,))


def _state_samples(rng: np.random.Generator) -> Iterable[Sample]:
    yield (np.array([1, -2], np.int32),), {}
    yield (np.array([1 << 40, 7], np.uint64),), {}


STATE: Final = Op("philox_state", _state_kernel, _state_rule, samples=_state_samples, errors=(ShapeError,),
                  doc="The state of Philox that belongs to a seed of two ints.")


def _skip_kernel(count: Any, *, source: Philox) -> Any:
    return source.skip(int(count))


def _skip_rule(count: TensorType, *, source: Philox) -> TensorType:
    check_dtype("a draw of a Generator", count.dtype, (t.int64,))
    return TensorType(t.int64, (3,))


def _skip_samples(rng: np.random.Generator) -> Iterable[Sample]:
    yield (np.int64(5),), {"source": Philox([1, 2, 3])}


SKIP: Final = Op("philox_skip", _skip_kernel, _skip_rule, effect=True, samples=_skip_samples,
                 doc="The state of a Generator before so many numbers, which it skips.")


def _bits(state: Any, count: int, dtype: DType) -> Any:
    """Integers of all their bits."""
    return philox.bits(state, count, dtype).astype(np.dtype(f"u{dtype.size}")).view(dtype.np)


def _stateless_kernel(state: Any, *shape: Any, dims: Dims, dtype: DType, distribution: str) -> Any:
    wanted = wanted_shape(f"random.stateless_{distribution}", shape, dims, dtype)
    count = int(np.prod(wanted, dtype=np.int64))
    with np.errstate(over="ignore"):
        made = _bits(state, count, dtype) if distribution == "bits" else philox.drawn(state, count, dtype, distribution)
    return made.reshape(wanted)


def _stateless_rule(state: TensorType, *shape: TensorType, dims: Dims, dtype: DType, distribution: str) -> TensorType:
    check_dtype(f"random.stateless_{distribution}", dtype, INTS if distribution == "bits" else FLOATS)
    check_sizes(f"random.stateless_{distribution}", dims, shape)
    return TensorType(dtype, dims)


_STATE: Final = np.array([0, -5, 3 << 40])


def _stateless_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in FLOATS:
        for distribution in ("uniform", "normal", "truncated_normal"):
            yield (_STATE,), {"dims": (2, 3), "dtype": dtype, "distribution": distribution}
    for dtype in INTS:
        yield (_STATE, np.array([3], np.int32)), {"dims": (None,), "dtype": dtype, "distribution": "bits"}


STATELESS: Final = Op("stateless_random", _stateless_kernel, _stateless_rule, samples=_stateless_samples,
                      errors=(ShapeError,),
                      doc="Random floats, or integers of all bits, that depend on a state alone.")


def _stateless_int_kernel(low: Any, high: Any, state: Any, *shape: Any, dims: Dims) -> Any:
    check_bounds("random.stateless_uniform", low, high)
    dtype = dtype_of(low)
    wanted = wanted_shape("random.stateless_uniform", shape, dims, dtype)
    with np.errstate(over="ignore"):
        words = philox.bits(state, int(np.prod(wanted, dtype=np.int64)), dtype)
        span = words.dtype.type((int(high) - int(low)) & (1 << 8 * words.itemsize) - 1)
        return (words % span).astype(np.dtype(f"u{dtype.size}")).view(dtype.np).reshape(wanted) + dtype.np.type(low)


def _stateless_int_rule(low: TensorType, high: TensorType, state: TensorType, *shape: TensorType, dims: Dims
                        ) -> TensorType:
    return int_type("random.stateless_uniform", low, high, dims, shape)


def _stateless_int_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in INTS:
        yield (dtype.as_numpy_dtype(1), dtype.as_numpy_dtype(9), _STATE), {"dims": (2, 3)}


STATELESS_INT: Final = Op("stateless_random_int", _stateless_int_kernel, _stateless_int_rule, agree=slice(0, 2),
                          samples=_stateless_int_samples, errors=(InvalidArgumentError, ShapeError),
                          doc="Random ints from low to below high that depend on a state alone.")


# Functions of a state.

def _state_of(seed: Any, alg: Any) -> Tensor:
    algorithm_of(alg)
    return apply_one(STATE, convert_to_tensor(seed))


def skipped(source: Philox, shape: Any) -> Tensor:
    """The state of a source before it draws numbers of that shape."""
    dims, operand = shape_argument("random", shape)
    known = [size for size in dims if size is not None]
    count = cast(int(np.prod(known, dtype=np.int64)), t.int64) if operand is None else (
        reduce_prod(cast(operand, t.int64)))
    return apply_one(SKIP, count, source=source)


def drawn(state: Tensor, shape: Any, dtype: Any, distribution: str) -> Tensor:
    dims, operand = shape_argument("random", shape)
    operands = () if operand is None else (operand,)
    return apply_one(STATELESS, state, *operands, dims=dims, dtype=as_dtype(dtype), distribution=distribution)


def uniform_from(state: Tensor, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Tensor:
    """As `random.uniform`, with the numbers of a state."""
    want = as_dtype(dtype)
    if not want.is_integer:
        return spread(drawn(state, shape, want, "uniform"), minval, 1 if maxval is None else maxval)
    if minval is None and maxval is None:
        return drawn(state, shape, want, "bits")
    low, high = bounds_of("random.stateless_uniform", minval, maxval, want)
    dims, operand = shape_argument("random.stateless_uniform", shape)
    operands = () if operand is None else (operand,)
    return apply_one(STATELESS_INT, low, high, state, *operands, dims=dims)


def stateless_uniform(shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = t.float32,
                      name: str | None = None, alg: Any = "auto_select") -> Tensor:
    """Uniform numbers from `minval` to below `maxval` that depend only on `seed`, two ints: floats (by default below
    1), or ints, of the whole range of the dtype if both are None (`tf.random.stateless_uniform`). ValueError for ints
    with `minval` alone; InvalidArgumentError if `maxval` is not greater. `alg`: one of TF's, which has no effect."""
    return named(uniform_from(_state_of(seed, alg), shape, minval, maxval, dtype), name)


def stateless_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32,
                     name: str | None = None, alg: Any = "auto_select") -> Tensor:
    """Normally distributed floats that depend only on `seed`, two ints (`tf.random.stateless_normal`). `alg`: one of
    TF's, which has no effect."""
    return named(scaled(drawn(_state_of(seed, alg), shape, dtype, "normal"), mean, stddev), name)


def stateless_truncated_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32,
                               name: str | None = None, alg: Any = "auto_select") -> Tensor:
    """As `truncated_normal`, of numbers that depend only on `seed`, two ints
    (`tf.random.stateless_truncated_normal`). `alg`: one of TF's, which has no effect."""
    return named(scaled(drawn(_state_of(seed, alg), shape, dtype, "truncated_normal"), mean, stddev), name)


def stateless_categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any = t.int64, name: str | None = None
                          ) -> Tensor:
    """Classes drawn with probabilities proportional to exp(logits), which depend only on `seed`, two ints: [batch,
    classes] to int [batch, num_samples] (`tf.random.stateless_categorical`)."""
    x = convert_to_tensor(logits)
    if x.ndim != 2:
        raise ShapeError(f"stateless_categorical takes logits of shape [batch, classes], not {x.type}")
    wide, finite = cast(x, t.float64), math.is_finite(x)
    least = reduce_max(logic.where(finite, wide, -np.inf), 1, keepdims=True)
    sums = cumsum(logic.where(finite, math.exp(math.subtract(wide, least)), 0.0), 1)
    u = stateless_uniform([sizes_of(x)[0], num_samples], seed, dtype=t.float64)
    return cast(searchsorted(sums, math.multiply(u, sums[:, -1:]), side="right"), as_dtype(dtype), name=name)


def split(seed: Any, num: Any = 2, alg: Any = "auto_select") -> Tensor:
    """`num` seeds that are made of one: ints [num, 2] (`tf.random.split`)."""
    pair = convert_to_tensor(seed)
    return stateless_uniform([num, 2], pair, None, None, pair.dtype, alg=alg)


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Tensor:
    """A seed made of another and an int: ints [2] of the dtype of `data` (`tf.random.fold_in`)."""
    number = convert_to_tensor(data)
    return stack([stateless_uniform([], seed, None, None, number.dtype, alg=alg), number])
