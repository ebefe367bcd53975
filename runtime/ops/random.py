"""Random numbers. Drawing is an effect: it happens in program order, and advances the generator.

A generator is made from a seed; `set_seed` restarts the global one and those of ops with their own seed.
"""
from __future__ import annotations

import math as python_math
import threading
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, FailedPreconditionError, InvalidArgumentError, ShapeError
from runtime.core.op import Op, Sample
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.core.types import DType, TensorType, as_dtype, check_room, dtype_of
from runtime.ops import math
from runtime.ops.bitcast import bitcast
from runtime.ops.concat_split import concat
from runtime.ops.gather import gather
from runtime.ops.logic import bitwise_or, left_shift
from runtime.ops.math import cast
from runtime.ops.op_makers import FLOATS, INTS, apply_one, check_dtype, named
from runtime.ops.reduction import argmax
from runtime.ops.shape import dim, shape_argument
from runtime.ops.sorting import argsort

__all__ = [
    "Algorithm", "Generator", "categorical", "get_global_generator", "normal", "set_global_generator", "set_seed",
    "shuffle", "source_of_seed", "stateless_normal", "stateless_truncated_normal", "stateless_uniform",
    "truncated_normal", "uniform",
]

Dims = tuple[int | None, ...]


class Source:
    """A source of random numbers: a NumPy generator, and a lock that is held while drawing.

    It is reseeded in place: native code knows the address of its state.
    """

    __slots__ = ("generator", "lock")

    def __init__(self, seed: Any = None) -> None:
        self.generator = np.random.default_rng(seed)
        self.lock = threading.RLock()

    @property
    def state(self) -> Any:
        """The state that determines the numbers drawn next."""
        return self.generator.bit_generator.state

    @state.setter
    def state(self, state: Any) -> None:
        with self.lock:
            self.generator.bit_generator.state = state

    def restart(self, seed: Any) -> None:
        self.state = np.random.default_rng(seed).bit_generator.state

    def __reduce__(self) -> Any:
        return _source_in, (self.state,)

    def __repr__(self) -> str:
        return "<random source>"


def _source_in(state: Any) -> Source:
    """A copy of a source, which draws the same numbers."""
    new = Source(0)
    new.state = state
    return new


class _Seeds:
    """The sources of ops without an explicit generator, by the op's seed (None: the global source)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed: int | None = None
        self.sources: dict[int | None, Source] = {}

    def source(self, seed: int | None) -> Source:
        with self.lock:
            if seed not in self.sources:
                self.sources[seed] = Source(self.entropy(seed))
            return self.sources[seed]

    def entropy(self, seed: int | None) -> Any:
        if seed is None:
            return self.seed
        return [seed, 0 if self.seed is None else self.seed + 1]

    def reset(self, seed: int | None) -> None:
        """Reseed the sources in place, since graphs refer to them."""
        with self.lock:
            self.seed = seed
            sources = list(self.sources.items())
        for own, source in sources:  # the lock is released: the holder of a source's lock may be waiting for it
            source.restart(self.entropy(own))


_seeds: Final = _Seeds()


def set_seed(seed: int) -> None:
    """Restart all random numbers from `seed` (`tf.random.set_seed`)."""
    _seeds.reset(abs(int(seed)))


def source_of_seed(seed: Any) -> Source:
    return _seeds.source(None if seed is None else abs(int(seed)))


def state_of(source: Source) -> Any:
    """The state of a source, for `source_of`; None for the global source."""
    return None if source is _seeds.sources.get(None) else source.state


def source_of(state: Any) -> Source:
    """The global source for None; else a new one that continues from a state."""
    return _seeds.source(None) if state is None else _source_in(state)


# The ops. As in reshape, dims are the known dimensions; if some are unknown, an operand has the whole shape.

def _draw(generator: np.random.Generator, distribution: str, shape: tuple[int, ...], dtype: DType) -> Any:
    wide = np.float32 if dtype is t.float16 else dtype.np
    if distribution == "uniform":
        return generator.random(shape, wide).astype(dtype.np, copy=False)
    return generator.standard_normal(shape, wide).astype(dtype.np, copy=False)


def _random_kernel(*shape: Any, dims: Dims, dtype: DType, distribution: str, source: Source) -> Any:
    wanted = _wanted(f"random.{distribution}", shape, dims, dtype)
    with source.lock:
        return _draw(source.generator, distribution, wanted, dtype)


def _wanted(op: str, shape: Sequence[Any], dims: Dims, dtype: DType) -> tuple[int, ...]:
    """The shape in a kernel: that of the operand, if there is one."""
    wanted: Any = tuple(shape[0].tolist()) if shape else dims
    if any(size < 0 for size in wanted):
        raise ShapeError(f"{op} takes sizes of at least 0, not {list(wanted)}")
    check_room(f"the result of {op}", wanted, dtype)
    return wanted  # type: ignore[no-any-return]


def _check(op: str, dims: Dims, shape: Sequence[TensorType]) -> None:
    if any(size is not None and size < 0 for size in dims):
        raise ShapeError(f"{op} takes sizes of at least 0, not {list(dims)}")
    if shape and (shape[0].ndim != 1 or shape[0].shape[0] not in (None, len(dims))):
        raise ShapeError(f"{op} takes its shape as an int tensor of {len(dims)} elements, not {shape[0]}")


def _random_rule(*shape: TensorType, dims: Dims, dtype: DType, distribution: str, source: Source) -> TensorType:
    check_dtype(f"random.{distribution}", dtype, FLOATS)
    _check(f"random.{distribution}", dims, shape)
    return TensorType(dtype, dims)


def _random_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in FLOATS:
        for distribution in ("uniform", "normal"):
            params = {"dtype": dtype, "distribution": distribution, "source": Source(1)}
            yield (), {"dims": (), **params}
            yield (), {"dims": (2, 3), **params}
            yield (np.array([2, 0], np.int32),), {"dims": (2, None), **params}


RANDOM: Final = Op("random", _random_kernel, _random_rule, effect=True, samples=_random_samples,
                   errors=(ShapeError,),
                   doc="Random floats, uniform from 0 to below 1 or standard normal.")


def _random_int_kernel(low: Any, high: Any, *shape: Any, dims: Dims, source: Source) -> Any:
    _check_bounds("random.uniform", low, high)
    wanted = _wanted("random.uniform", shape, dims, dtype_of(low))
    with source.lock:
        return source.generator.integers(low, high, wanted, low.dtype)


def _random_int_rule(low: TensorType, high: TensorType, *shape: TensorType, dims: Dims, source: Source
                     ) -> TensorType:
    return _int_type("random.uniform", low, high, dims, shape)


def _check_bounds(op: str, low: Any, high: Any) -> None:
    if low >= high:
        raise InvalidArgumentError(f"{op} takes a minval less than maxval, not {low} and {high}")


def _int_type(op: str, low: TensorType, high: TensorType, dims: Dims, shape: Sequence[TensorType]) -> TensorType:
    check_dtype(f"{op} of ints", low.dtype, INTS)
    if low.ndim or high.ndim or low.dtype is not high.dtype:
        raise DTypeError(f"{op} takes scalar bounds of one dtype, not {low} and {high}")
    _check(op, dims, shape)
    return TensorType(low.dtype, dims)


def _random_int_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in INTS:
        bounds = dtype.as_numpy_dtype(1), dtype.as_numpy_dtype(9)
        yield bounds, {"dims": (2, 3), "source": Source(1)}
        yield (*bounds, np.array([4], np.int32)), {"dims": (None,), "source": Source(1)}


RANDOM_INT: Final = Op("random_int", _random_int_kernel, _random_int_rule, effect=True, agree=slice(0, 2),
                       samples=_random_int_samples, errors=(InvalidArgumentError, ShapeError),
                       doc="Random ints from low to below high.")


def _stateless_kernel(seed: Any, *shape: Any, dims: Dims, dtype: DType, distribution: str) -> Any:
    wanted = _wanted(f"random.stateless_{distribution}", shape, dims, dtype)
    return _draw(_seeded(seed), distribution, wanted, dtype)


def _seeded(seed: Any) -> np.random.Generator:
    return np.random.default_rng([int(s) & 0xFFFFFFFFFFFFFFFF for s in seed])


def _stateless_rule(seed: TensorType, *shape: TensorType, dims: Dims, dtype: DType, distribution: str
                    ) -> TensorType:
    check_dtype(f"random.stateless_{distribution}", dtype, FLOATS)
    _check_seed(f"random.stateless_{distribution}", seed)
    _check(f"random.stateless_{distribution}", dims, shape)
    return TensorType(dtype, dims)


def _check_seed(op: str, seed: TensorType) -> None:
    if not seed.dtype.is_integer or seed.ndim != 1:
        raise ShapeError(f"{op} takes a seed of two ints, not {seed}")


def _stateless_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in FLOATS:
        for distribution in ("uniform", "normal"):
            yield (np.array([1, -2], np.int32),), {"dims": (2, 3), "dtype": dtype, "distribution": distribution}


STATELESS: Final = Op("stateless_random", _stateless_kernel, _stateless_rule, samples=_stateless_samples,
                      errors=(ShapeError,),
                      doc="Random floats that depend on the seed alone.")


def _stateless_int_kernel(low: Any, high: Any, seed: Any, *shape: Any, dims: Dims) -> Any:
    _check_bounds("random.stateless_uniform", low, high)
    wanted = _wanted("random.stateless_uniform", shape, dims, dtype_of(low))
    return _seeded(seed).integers(low, high, wanted, low.dtype)


def _stateless_int_rule(low: TensorType, high: TensorType, seed: TensorType, *shape: TensorType, dims: Dims
                        ) -> TensorType:
    type = _int_type("random.stateless_uniform", low, high, dims, shape)
    _check_seed("random.stateless_uniform", seed)
    return type


def _stateless_int_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in INTS:
        yield (dtype.as_numpy_dtype(1), dtype.as_numpy_dtype(9), np.array([1, -2], np.int32)), {"dims": (2, 3)}


STATELESS_INT: Final = Op("stateless_random_int", _stateless_int_kernel, _stateless_int_rule, agree=slice(0, 2),
                          samples=_stateless_int_samples, errors=(InvalidArgumentError, ShapeError),
                          doc="Random ints from low to below high that depend on the seed alone.")


# Distributions.

Floats = Callable[[str], Tensor]  # from the name of a distribution to numbers drawn from it


def _floats(source: Source, shape: Any, dtype: Any) -> Floats:
    dims, operand = shape_argument("random", shape)
    operands = () if operand is None else (operand,)

    def draw(distribution: str) -> Tensor:
        return apply_one(RANDOM, *operands, dims=dims, dtype=as_dtype(dtype), distribution=distribution,
                               source=source)

    return draw


def _stateless(seed: Any, shape: Any, dtype: Any) -> Floats:
    dims, operand = shape_argument("random", shape)
    operands = () if operand is None else (operand,)

    def draw(distribution: str) -> Tensor:
        return apply_one(STATELESS, convert_to_tensor(seed), *operands, dims=dims, dtype=as_dtype(dtype),
                               distribution=distribution)

    return draw


def _between(draw: Floats, low: Any, high: Any) -> Tensor:
    x = draw("uniform")
    if type(low) in (int, float) and type(high) in (int, float):
        return x if (low, high) == (0, 1) else math.add(math.multiply(x, high - low), low)
    return math.add(math.multiply(x, math.subtract(high, low)), low)


def _scaled(draw: Floats, mean: Any, stddev: Any) -> Tensor:
    x = draw("normal")
    if type(stddev) not in (int, float) or stddev != 1:
        x = math.multiply(x, stddev)
    return x if type(mean) in (int, float) and mean == 0 else math.add(x, mean)


def _uniform(source: Source, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Tensor:
    want = as_dtype(dtype)
    if not want.is_integer:
        return _between(_floats(source, shape, want), minval, 1 if maxval is None else maxval)
    if minval is None and maxval is None:
        return _any_int(lambda k, low, high: _uniform(source, shape, low, high, t.int64), want)
    low, high = _bounds("random.uniform", minval, maxval, want)
    dims, operand = shape_argument("random.uniform", shape)
    operands = () if operand is None else (operand,)
    return apply_one(RANDOM_INT, low, high, *operands, dims=dims, source=source)


def _any_int(draw: Callable[[int, int, int], Tensor], dtype: DType) -> Tensor:
    """Ints of the whole range of `dtype`. `draw(k, low, high)` gives int64 between bounds, another one for each k."""
    info = np.iinfo(dtype.as_numpy_dtype)
    if info.bits < 64:
        return cast(draw(0, int(info.min), int(info.max) + 1), dtype)
    return bitcast(bitwise_or(left_shift(draw(0, 0, 2**32), 32), draw(1, 0, 2**32)), dtype)


def _bounds(op: str, minval: Any, maxval: Any, dtype: DType) -> list[Any]:
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
    return named(_scaled(_floats(source_of_seed(seed), shape, dtype), mean, stddev), name)


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32, seed: Any = None,
                     name: str | None = None) -> Tensor:
    """Normally distributed floats within two standard deviations (`tf.random.truncated_normal`)."""
    from_uniform = _floats(source_of_seed(seed), shape, dtype)
    return named(_scaled(lambda _: _truncated(from_uniform), mean, stddev), name)


def _truncated(draw: Floats) -> Tensor:
    """Draws by the inverse of the distribution function, from uniform numbers between its values at -2 and 2."""
    edge = python_math.erf(2 / python_math.sqrt(2))
    return math.multiply(math.erfinv(math.multiply(_between(draw, -1, 1), edge)), python_math.sqrt(2))


def stateless_uniform(shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = t.float32,
                      name: str | None = None, alg: Any = "auto_select") -> Tensor:
    """Uniform numbers from `minval` to below `maxval` that depend only on `seed`, two ints: floats (by default below
    1), or ints, of the whole range of the dtype if both are None (`tf.random.stateless_uniform`). ValueError for ints
    with `minval` alone; InvalidArgumentError if `maxval` is not greater. `alg`: one of TF's, which has no effect."""
    _algorithm(alg)
    want = as_dtype(dtype)
    if not want.is_integer:
        return named(_between(_stateless(seed, shape, want), minval, 1 if maxval is None else maxval), name)
    if minval is None and maxval is None:
        pair = convert_to_tensor(seed)
        return named(_any_int(lambda k, low, high: stateless_uniform(
            shape, concat([pair, cast([k], pair.dtype)], 0) if k else pair, low, high, t.int64), want), name)
    low, high = _bounds("random.stateless_uniform", minval, maxval, want)
    dims, operand = shape_argument("random.stateless_uniform", shape)
    operands = () if operand is None else (operand,)
    return named(apply_one(STATELESS_INT, low, high, convert_to_tensor(seed), *operands, dims=dims), name)


def stateless_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32,
                     name: str | None = None, alg: Any = "auto_select") -> Tensor:
    """Normally distributed floats that depend only on `seed`, two ints (`tf.random.stateless_normal`). `alg`: one of
    TF's, which has no effect."""
    _algorithm(alg)
    return named(_scaled(_stateless(seed, shape, dtype), mean, stddev), name)


def stateless_truncated_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32,
                               name: str | None = None, alg: Any = "auto_select") -> Tensor:
    """As `truncated_normal`, of numbers that depend only on `seed`, two ints
    (`tf.random.stateless_truncated_normal`). `alg`: one of TF's, which has no effect."""
    _algorithm(alg)
    from_uniform = _stateless(seed, shape, dtype)
    return named(_scaled(lambda _: _truncated(from_uniform), mean, stddev), name)


def shuffle(value: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """The slices along the first axis in random order (`tf.random.shuffle`)."""
    x = convert_to_tensor(value)
    if not x.ndim:
        return x
    return gather(x, argsort(uniform([dim(x, 0)], dtype=t.float64, seed=seed)), name=name)


def categorical(logits: Any, num_samples: Any, dtype: Any = t.int64, seed: Any = None, name: str | None = None
                ) -> Tensor:
    """Classes drawn with probabilities proportional to exp(logits): [batch, classes] to int[batch, num_samples]
    (`tf.random.categorical`).
    """
    x = convert_to_tensor(logits)
    if x.ndim != 2:
        raise ShapeError(f"categorical takes logits of shape [batch, classes], not {x.type}")
    u = uniform([dim(x, 0), num_samples, dim(x, 1)], dtype=x.dtype, seed=seed)
    noise = math.negative(math.log(math.negative(math.log(math.subtract(convert_to_tensor(1, x.dtype), u)))))
    return argmax(math.add(x[:, None, :], noise), axis=2, output_type=dtype, name=name)


# Generators.

class Algorithm(Enum):
    """TF 2's algorithms of random numbers (`tf.random.Algorithm`). All numbers here are those of NumPy's PCG64."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _algorithm(alg: Any) -> Algorithm:
    """An algorithm by itself, its name or its number; None is AUTO_SELECT. ValueError for anything else."""
    try:
        if alg is None or isinstance(alg, str):
            return Algorithm[(alg or "auto_select").upper()]
        return Algorithm(int(np.asarray(alg)) if not isinstance(alg, Algorithm) else alg)
    except (KeyError, ValueError, TypeError):
        raise located(ValueError(
            f"the alg of random numbers is 'philox', 'threefry' or 'auto_select', not {alg!r}")) from None


_WORD: Final = (1 << 64) - 1


class Generator:
    """A generator of random numbers with its own state (`tf.random.Generator`).

    `copy_from`: a generator whose state and algorithm are copied. `state`: a `state` of another; or 2 or 3 ints, as
    TF's algorithms have, which are a seed here. Without either the state is drawn from the system. `alg` is checked,
    and has no effect: the numbers are those of NumPy's PCG64, and are not TF's.

    What changes or asks for the state, and `split`, is done outside of traced functions (FailedPreconditionError).
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None) -> None:
        if copy_from is None:
            self._alg, self._source = _algorithm(alg), Source()
            if state is not None:
                self._start(state)
            return
        if state is not None or alg is not None:
            raise located(ValueError("a Generator takes either copy_from, or state and alg"))
        if not isinstance(copy_from, Generator):
            raise located(TypeError(
                f"a Generator copies a Generator, not {copy_from!r}: Generator.from_seed takes a seed"))
        self._alg, self._source = copy_from._alg, _source_in(copy_from._source.state)

    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Generator:
        """With that state: see the class."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        """With the numbers that belong to an int."""
        new = cls(alg=alg)
        new._source.restart(abs(int(seed)))
        return new

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """With a state drawn from the system."""
        return cls(alg=alg)

    @property
    def state(self) -> Tensor:
        """What determines the next numbers, for `from_state` and `reset`: int64[6], the state and the increment of
        PCG64 as two words each, and whether half a word is left, and which."""
        _outside("the state of a Generator")
        state = self._source.state
        words = [half for number in (state["state"]["state"], state["state"]["inc"])
                 for half in (number >> 64, number & _WORD)]
        return convert_to_tensor(np.array([*words, state["has_uint32"], state["uinteger"]], np.uint64).view(np.int64))

    @property
    def key(self) -> Tensor:
        """What the sequences of numbers differ in that do not overlap, uint64[]: of PCG64 a part of the increment."""
        _outside("the key of a Generator")
        return convert_to_tensor(np.uint64(self._source.state["state"]["inc"] >> 1 & _WORD))

    @property
    def algorithm(self) -> int:
        """The number of the algorithm that was asked for; that of Philox for "auto_select", as in TF on CPUs."""
        return Algorithm.PHILOX.value if self._alg is Algorithm.AUTO_SELECT else int(self._alg.value)

    def reset(self, state: Any) -> None:
        """Go on with that state: see the class. ShapeError for another number of ints."""
        _outside("a new state of a Generator")
        self._start(state)

    def _start(self, state: Any) -> None:
        array = np.asarray(convert_to_tensor(state))
        if array.dtype.kind not in "iu" or array.shape not in ((2,), (3,), (6,)):
            raise located(ShapeError("the state of a Generator is the `state` of another, or 2 or 3 ints, not a "
                                     f"tensor of {dtype_of(array).name}{list(array.shape)}"))
        words = [int(word) & _WORD for word in array]
        if len(words) < 6:
            self._source.restart(words)
            return
        numbers = {"state": words[0] << 64 | words[1], "inc": words[2] << 64 | words[3]}
        self._source.state = {**self._source.state, "state": numbers, "has_uint32": words[4], "uinteger": words[5]}

    def reset_from_seed(self, seed: int) -> None:
        """Restart from `seed`."""
        _outside("a new seed of a Generator")
        self._source.restart(abs(int(seed)))

    def split(self, count: int = 1) -> list[Generator]:
        """New generators, with seeds that are drawn from this one. ValueError for a count below 1."""
        _outside("a new Generator")
        if count < 1:
            raise located(ValueError(f"split makes at least 1 generator, not {count}"))
        made = []
        for _ in range(count):
            with self._source.lock:
                seed = [int(word) for word in self._source.generator.integers(0, _WORD, 4, np.uint64, endpoint=True)]
            made.append(Generator(alg=self._alg))
            made[-1]._source.restart(seed)
        return made

    def make_seeds(self, count: int = 1) -> Tensor:
        """Seeds for `stateless_uniform` and the like, one in each column: int64[2, count]."""
        low, high = t.int64.limits
        return _uniform(self._source, [2, count], low, high, t.int64)

    def uniform(self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = t.float32,
                name: str | None = None) -> Tensor:
        """As `random.uniform`."""
        return named(_uniform(self._source, shape, minval, maxval, dtype), name)

    def normal(self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32,
               name: str | None = None) -> Tensor:
        """As `random.normal`."""
        return named(_scaled(_floats(self._source, shape, dtype), mean, stddev), name)

    def truncated_normal(self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32,
                         name: str | None = None) -> Tensor:
        """As `random.truncated_normal`."""
        from_uniform = _floats(self._source, shape, dtype)
        return named(_scaled(lambda _: _truncated(from_uniform), mean, stddev), name)


def _outside(what: str) -> None:
    """Of what would be done once, when the function is traced."""
    if current_graph() is not None:
        raise located(FailedPreconditionError(
            f"{what} belongs outside of traced functions, whose runs it would not be part of",
            remedy="Make it before, and draw from the generator in the function."))


_global: list[Generator] = []


def get_global_generator() -> Generator:
    """The global generator, which is made from the system's randomness when it is asked for first
    (`tf.random.get_global_generator`). `random.uniform` and the like, and `set_seed`, do not use it."""
    if not _global:
        _global.append(Generator())
    return _global[0]


def set_global_generator(generator: Generator) -> None:
    """Replace the global generator (`tf.random.set_global_generator`). Functions that were traced go on with the one
    that they found."""
    _global[:] = [generator]
