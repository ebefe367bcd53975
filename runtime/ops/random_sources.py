"""Sources of random numbers: what ops draw from, in program order.

Graphs refer to sources, and native code to the addresses of their states, which are therefore changed in place.
"""
from __future__ import annotations

import random
import threading
from typing import Any, Final

import numpy as np

from runtime.ops import philox

__all__ = ["Philox", "Source", "Stream", "global_seed", "seeds_of", "set_seed", "source_of", "source_of_seed",
           "state_of"]


class Source:
    """A source of random numbers, and a lock that is held while drawing."""

    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.RLock()

    @property
    def state(self) -> Any:
        """The state that determines the numbers drawn next."""
        raise NotImplementedError

    @state.setter
    def state(self, state: Any) -> None:
        raise NotImplementedError

    def __reduce__(self) -> Any:
        return _source_in, (self.state,)

    def __repr__(self) -> str:
        return "<random source>"


class Stream(Source):
    """A generator of NumPy."""

    __slots__ = ("generator",)

    def __init__(self, seed: Any = None) -> None:
        super().__init__()
        self.generator = np.random.default_rng(seed)

    @property
    def state(self) -> Any:
        return self.generator.bit_generator.state

    @state.setter
    def state(self, state: Any) -> None:
        with self.lock:
            self.generator.bit_generator.state = state

    def restart(self, seed: Any) -> None:
        self.state = np.random.default_rng(seed).bit_generator.state


class Philox(Source):
    """A counter and a key: int64 [3], as in TensorFlow (`runtime.ops.philox`)."""

    __slots__ = ("words",)

    def __init__(self, words: Any) -> None:
        super().__init__()
        self.words = np.array(words, np.int64)

    @property
    def state(self) -> Any:
        return {"philox": self.words.tolist()}

    @state.setter
    def state(self, state: Any) -> None:
        with self.lock:
            self.words[:] = state["philox"]

    def skip(self, count: int) -> Any:
        """The state before `count` numbers, which the source skips."""
        with self.lock:
            before = self.words.copy()
            self.words[:] = philox.advanced(before, count)
            return before


def _source_in(state: Any) -> Source:
    """A copy of a source, which draws the same numbers."""
    new: Source = Philox(state["philox"]) if "philox" in state else Stream(0)
    new.state = state
    return new


class _Seeds:
    """The sources of ops without an explicit generator, by the op's seed (None: the global source)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed: int | None = None
        self.own = random.Random()  # the seeds of operations without one
        self.sources: dict[int | None, Stream] = {}

    def source(self, seed: int | None) -> Stream:
        with self.lock:
            if seed not in self.sources:
                self.sources[seed] = Stream(self.entropy(seed))
            return self.sources[seed]

    def entropy(self, seed: int | None) -> Any:
        if seed is None:
            return self.seed
        return [seed, 0 if self.seed is None else self.seed + 1]

    def reset(self, seed: int | None) -> None:
        """Reseed the sources in place, since graphs refer to them."""
        with self.lock:
            self.seed = seed
            self.own.seed(seed)
            sources = list(self.sources.items())
        for own, source in sources:  # the lock is released: the holder of a source's lock may be waiting for it
            source.restart(self.entropy(own))


_seeds: Final = _Seeds()


def set_seed(seed: int) -> None:
    """Restart all random numbers from `seed` (`tf.random.set_seed`)."""
    _seeds.reset(abs(int(seed)))


def global_seed() -> int | None:
    """The seed that was set last, or None."""
    return _seeds.seed


_LARGEST: Final = 2**31 - 1
_DEFAULT: Final = 87654321


def seeds_of(seed: int | None) -> tuple[int, int]:
    """The two seeds that TF makes, in eager code, of an operation's own seed and the global one."""
    if seed is None:
        with _seeds.lock:
            second = _seeds.own.randint(0, _LARGEST)
            first = _seeds.own.randint(0, _LARGEST) if _seeds.seed is None else _seeds.seed
    else:
        first, second = _DEFAULT if _seeds.seed is None else _seeds.seed, int(seed)
    pair = first % _LARGEST, second % _LARGEST
    return (0, _LARGEST) if pair == (0, 0) else pair


def source_of_seed(seed: Any) -> Stream:
    return _seeds.source(None if seed is None else abs(int(seed)))


def state_of(source: Source) -> Any:
    """The state of a source, for `source_of`; None for the global source."""
    return None if source is _seeds.sources.get(None) else source.state


def source_of(state: Any) -> Source:
    """The global source for None; else a new one that continues from a state."""
    return _seeds.source(None) if state is None else _source_in(state)
