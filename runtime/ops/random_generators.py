"""Generators of random numbers, each with its own state (`tf.random.Generator`). Their numbers are TensorFlow's."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.core import types as t
from runtime.core.errors import FailedPreconditionError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.core.types import as_dtype, dtype_of
from runtime.ops.creation import zeros_like
from runtime.ops.op_makers import named
from runtime.ops.random import scaled
from runtime.ops.random_sources import Philox
from runtime.ops.shape import stack
from runtime.ops.stateless_random import Algorithm, algorithm_of, drawn, skipped, uniform_from

__all__ = ["Generator", "create_rng_state", "get_global_generator", "set_global_generator"]

_WORD = (1 << 64) - 1
_SIZES = {Algorithm.PHILOX: 3, Algorithm.AUTO_SELECT: 3, Algorithm.THREEFRY: 2}


def _words(seed: Any, size: int) -> list[int]:
    """The state that belongs to a seed: an int by its words, the lowest first; other ints after zeros."""
    if isinstance(seed, int):
        return [seed >> 64 * k & _WORD for k in range(size)]
    words = [int(word) & _WORD for word in np.asarray(convert_to_tensor(seed)).reshape(-1)[:size]]
    return [0] * (size - len(words)) + words


def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """The state of a generator that belongs to a seed: int64 [3], for "threefry" [2] (`tf.random.create_rng_state`)."""
    words = _words(seed, _SIZES[algorithm_of(alg)])
    return convert_to_tensor(np.array(words, np.uint64).view(np.int64))


class Generator:
    """A generator of random numbers with its own state (`tf.random.Generator`).

    `copy_from`: a generator whose state and algorithm are copied. `state`: 3 ints, the counter's low and high word and
    the key (for "threefry" 2, a counter and a key). Without either the state is drawn from the system. The numbers are
    those of Philox, also where `alg` is "threefry", which TF has on accelerators only.

    What replaces the state, and `split`, is done outside of traced functions (FailedPreconditionError).
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None) -> None:
        if copy_from is None:
            self._alg = algorithm_of(alg)
            random = np.random.SeedSequence().generate_state(3, np.uint64).view(np.int64)
            self._source = Philox(random if state is None else self._checked(state))
            return
        if state is not None or alg is not None:
            raise located(ValueError("a Generator takes either copy_from, or state and alg"))
        if not isinstance(copy_from, Generator):
            raise located(TypeError(
                f"a Generator copies a Generator, not {copy_from!r}: Generator.from_seed takes a seed"))
        self._alg, self._source = copy_from._alg, Philox(copy_from._source.words)

    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Generator:
        """With that state: see the class."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """With the numbers that belong to an int, or to a vector of ints."""
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any = None) -> Generator:
        """With a state made of a key, an int, and a counter, 2 ints (1 for "threefry")."""
        return cls(state=[*map(int, np.asarray(convert_to_tensor(counter))), int(key)], alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """With a state drawn from the system."""
        return cls(alg=alg)

    def _size(self) -> int:
        return _SIZES[self._alg]

    @property
    def state(self) -> Tensor:
        """What determines the next numbers, for `from_state` and `reset`: int64 [3], for "threefry" [2]. In a traced
        function it is that of each run, at this point."""
        if current_graph() is not None:
            return self.skip(0)[3 - self._size():]
        return convert_to_tensor(self._source.words[3 - self._size():].copy())

    @property
    def key(self) -> Tensor:
        """What the sequences of numbers differ in that do not overlap: int64 []."""
        return self.state[-1]

    @property
    def algorithm(self) -> int:
        """The number of the algorithm that was asked for; that of Philox for "auto_select", as in TF on CPUs."""
        return Algorithm.PHILOX.value if self._alg is Algorithm.AUTO_SELECT else int(self._alg.value)

    def reset(self, state: Any) -> None:
        """Go on with that state: see the class. ShapeError for another number of ints."""
        _outside("a new state of a Generator")
        self._source.state = {"philox": self._checked(state)}

    def _checked(self, state: Any) -> Any:
        array = np.asarray(convert_to_tensor(state))
        size = self._size()
        if array.dtype.kind not in "iu" or array.shape != (size,):
            raise located(ShapeError(f"the state of a Generator of this algorithm is {size} ints, not a tensor of "
                                     f"{dtype_of(array).name}{list(array.shape)}"))
        return [0] * (3 - size) + array.astype(np.int64).tolist()

    def reset_from_seed(self, seed: Any) -> None:
        """Restart from `seed`."""
        _outside("a new seed of a Generator")
        self._source.state = {"philox": self._checked(create_rng_state(seed, self._alg))}

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Go on with a key and a counter: see `from_key_counter`."""
        self.reset([*map(int, np.asarray(convert_to_tensor(counter))), int(key)])

    def skip(self, delta: Any) -> Tensor:
        """Go on after `delta` numbers; returns the state before: int64 [3]."""
        return skipped(self._source, [delta])

    def split(self, count: int = 1) -> list[Generator]:
        """New generators, with keys that are drawn from this one. ValueError for a count below 1."""
        _outside("a new Generator")
        if count < 1:
            raise located(ValueError(f"split makes at least 1 generator, not {count}"))
        keys = np.asarray(self.uniform([count], None, None, t.int64))
        return [Generator(state=[*[0] * (self._size() - 1), key], alg=self._alg) for key in keys]

    def make_seeds(self, count: int = 1) -> Tensor:
        """Seeds for `stateless_uniform` and the like, one in each column: int64 [2, count]."""
        keys = self.uniform([count], None, None, t.int64)
        return stack([keys, zeros_like(keys)])

    def uniform_full_int(self, shape: Any, dtype: Any = t.uint64, name: str | None = None) -> Tensor:
        """Ints of all bits of the dtype."""
        return self.uniform(shape, None, None, dtype, name)

    def uniform(self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = t.float32,
                name: str | None = None) -> Tensor:
        """As `random.uniform`."""
        return named(uniform_from(skipped(self._source, shape), shape, minval, maxval, dtype), name)

    def normal(self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32,
               name: str | None = None) -> Tensor:
        """As `random.normal`."""
        return named(scaled(self._floats(shape, dtype, "normal"), mean, stddev), name)

    def truncated_normal(self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = t.float32,
                         name: str | None = None) -> Tensor:
        """As `random.truncated_normal`."""
        return named(scaled(self._floats(shape, dtype, "truncated_normal"), mean, stddev), name)

    def _floats(self, shape: Sequence[Any], dtype: Any, distribution: str) -> Tensor:
        return drawn(skipped(self._source, shape), shape, as_dtype(dtype), distribution)


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
