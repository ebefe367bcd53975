"""Datasets that apply functions to elements."""
from __future__ import annotations

import inspect
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from autograph import convert_traced
from runtime.core.errors import DTypeError, InvalidArgumentError, UnimplementedError
from runtime.core.positions import located
from runtime.core.pytree import assert_same_structure, flatten, map_structure
from runtime.core.types import TensorSpec, join_shapes
from runtime.data.elements import ElementFunction, as_count, as_tensors
from runtime.data.pipeline import UNKNOWN_CARDINALITY, Draws, Element, P, Pipeline, flat, spec_of, tensor_types
from runtime.data.threads import AUTOTUNE, mapped, prefetched

__all__ = ["Mapping"]

_FOLDER: Final = os.path.dirname(__file__)


def threads_of(num_parallel_calls: Any) -> int | None:
    """The number of threads, AUTOTUNE, or None for sequential calls."""
    if num_parallel_calls is None:
        return None
    number = int(num_parallel_calls)
    if number < 1 and number != AUTOTUNE:
        raise located(InvalidArgumentError(f"num_parallel_calls is at least 1, or AUTOTUNE, not {number}"))
    return number


class Mapping(Pipeline):
    """The transformations that apply a function. It is converted and traced once, when the dataset is made."""

    def map(
        self: P, map_func: Callable[..., Any], num_parallel_calls: Any = None, deterministic: Any = None,
        synchronous: Any = None, use_unbounded_threadpool: bool = False, name: str | None = None,
    ) -> P:
        """`map_func` of each element; an element that is a tuple is passed as several arguments
        (`tf.data.Dataset.map`).

        `num_parallel_calls`: this many threads compute elements ahead of their use; for AUTOTUNE, as many as there are
        processors, if computing an element takes long enough. They come in order, unless `deterministic` is False. An
        error names the element. `synchronous` and `use_unbounded_threadpool` have no effect.
        """
        step, threads = ElementFunction(map_func, self.element_spec, self), threads_of(num_parallel_calls)

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            own, run = step.bind(arrays)

            def one(numbered: tuple[int, Element]) -> Element:
                number, element = numbered
                try:
                    return tuple(run(*element))
                except Exception as error:
                    _name_element(error, number, step.name)
                    raise

            return mapped(one, enumerate(self._elements(own)), threads, deterministic is not False)

        return self._derived(elements, step.captures, step.spec())

    def filter(self: P, predicate: Callable[..., Any], name: str | None = None) -> P:
        """The elements for which `predicate` is true (`tf.data.Dataset.filter`). DTypeError if its result is not a bool
        scalar."""
        step = ElementFunction(predicate, self.element_spec, self)
        step.check_predicate()

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            own, run = step.bind(arrays)
            return filter(lambda element: run(*element)[0], self._elements(own))

        return self._derived(elements, step.captures, cardinality=UNKNOWN_CARDINALITY)

    def ignore_errors(self: P, log_warning: bool = False, name: str | None = None) -> P:
        """The elements that are computed without an error (`tf.data.Dataset.ignore_errors`).

        It follows the `map` or `filter` whose errors are ignored: at an error in a transformation that ends with it,
        such as `batch`, it raises UnimplementedError. With `log_warning` the errors are written to stderr.
        """

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            stream = iter(self._elements(arrays))
            while True:
                try:
                    element = next(stream)
                except StopIteration:
                    return
                except Exception as error:
                    if _ends_iterator(error):
                        raise UnimplementedError(
                            "ignore_errors cannot go on after an error in or before a transformation that ends with "
                            "it, such as batch", remedy="Move it right behind the map.") from error
                    if log_warning:
                        print(f"Error raised with error message {error}", file=sys.stderr)
                    continue
                yield element

        return self._derived(elements, cardinality=UNKNOWN_CARDINALITY)

    def take_while(self: P, predicate: Callable[..., Any], name: str | None = None) -> P:
        """The elements before the first for which `predicate` is false (`tf.data.Dataset.take_while`)."""
        step = ElementFunction(predicate, self.element_spec, self)
        step.check_predicate()

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            own, run = step.bind(arrays)
            return itertools.takewhile(lambda element: run(*element)[0], self._elements(own))

        return self._derived(elements, step.captures, cardinality=UNKNOWN_CARDINALITY)

    def rejection_resample(
        self: P, class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: int | None = None,
        name: str | None = None,
    ) -> P:
        """Pairs (class, element) of elements drawn at random, so that their classes, from `class_func`, have the
        probabilities `target_dist` (`tf.data.Dataset.rejection_resample`).

        `initial_dist`: the probabilities of the classes in this dataset; without it, as they were among the elements so
        far. ValueError for probabilities that do not fit.
        """
        wanted = np.asarray(target_dist, np.float64)
        known = None if initial_dist is None else np.asarray(initial_dist, np.float64)
        if wanted.ndim != 1 or (known is not None and (known.shape != wanted.shape or (wanted[known <= 0] > 0).any())):
            raise located(ValueError(
                f"rejection_resample takes a probability for each class, not target_dist {wanted.tolist()}"
                + ("" if known is None else f" and initial_dist {known.tolist()}")))
        is_tuple, function, draws = isinstance(self.element_spec, tuple), convert_traced(class_func), Draws(seed, True)
        labelled = Mapping.map(self, lambda *element: (function(*element), element if is_tuple else element[0]))

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            rng, counts = draws(), np.zeros(len(wanted))
            for element in labelled._elements(arrays):
                label = int(element[0])
                if not 0 <= label < len(wanted):
                    raise InvalidArgumentError(f"class_func gave {label}, but target_dist has {len(wanted)} classes")
                counts[label] += 1
                found = counts if known is None else known
                ratios = np.where(found > 0, wanted / np.where(found > 0, found, 1), 0)
                if rng.random() * ratios.max() < ratios[label]:
                    yield element

        return labelled._derived(elements, cardinality=UNKNOWN_CARDINALITY, draws=[draws])

    def flat_map(self: P, map_func: Callable[..., Any], name: str | None = None) -> P:
        """The elements of the datasets that `map_func` returns for each element, one dataset after the other
        (`tf.data.Dataset.flat_map`). TypeError for a function that returns something else."""
        step = ElementFunction(map_func, self.element_spec, self)
        inner = step.dataset("flat_map")

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            own, run = step.bind(arrays)
            return itertools.chain.from_iterable(inner._elements(run(*element)) for element in self._elements(own))

        return self._derived(elements, step.captures, inner.element_spec, UNKNOWN_CARDINALITY)

    def interleave(
        self: P, map_func: Callable[..., Any], cycle_length: int | None = None, block_length: int = 1,
        num_parallel_calls: Any = None, deterministic: Any = None, name: str | None = None,
    ) -> P:
        """The elements of the datasets that `map_func` returns for each element: `block_length` of one, then of the
        next, in turn over `cycle_length` datasets (default: the number of processors); the dataset of the next element
        replaces an exhausted one (`tf.data.Dataset.interleave`).

        With `num_parallel_calls` a thread for each dataset reads ahead; the order is the same.
        """
        step, threads = ElementFunction(map_func, self.element_spec, self), threads_of(num_parallel_calls)
        inner = step.dataset("interleave")
        cycle = os.cpu_count() or 1 if cycle_length in (None, AUTOTUNE) else int(cycle_length)
        if cycle < 1 or block_length < 1:
            raise located(InvalidArgumentError(
                f"interleave takes a cycle_length and a block_length of at least 1, not {cycle} and {block_length}"))

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            own, run = step.bind(arrays)
            streams = (inner._elements(run(*element)) for element in self._elements(own))
            if threads is not None:
                streams = (prefetched(stream, block_length) for stream in streams)
            return _interleaved(streams, cycle, block_length)

        return self._derived(elements, step.captures, inner.element_spec, UNKNOWN_CARDINALITY)

    def scan(self: P, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> P:
        """The outputs of `state, output = scan_func(state, element)` for each element (`tf.data.Dataset.scan`).

        Dimensions of the state that change become unknown. DTypeError if the new state has another dtype or rank than
        the initial one.
        """
        state = as_tensors(initial_state)
        count = len(tensor_types(spec_of(state), "the state of scan"))
        step = _scan_step(scan_func, spec_of(state), self.element_spec)
        _, output = step.spec()

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            rest, run = step.bind(arrays)
            values, own = list(rest[len(rest) - count:]), rest[:len(rest) - count]
            for element in self._elements(own):
                results = run(*values, *element)
                values = list(results[:count])
                yield tuple(results[count:])

        return self._derived(elements, (*flat(state), *step.captures), output)

    def unique(self: P, name: str | None = None) -> P:
        """The distinct elements, in the order of first occurrence (`tf.data.Dataset.unique`)."""
        tensor_types(self.element_spec, "unique")

        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            seen = set()
            for element in self._elements(arrays):
                key = tuple([(x.shape, x.tobytes()) for x in map(np.asarray, element)])
                if key not in seen:
                    seen.add(key)
                    yield element

        return self._derived(elements, cardinality=UNKNOWN_CARDINALITY)

    def enumerate(self: P, start: Any = 0, name: str | None = None) -> P:
        """Pairs of an int64 index and an element (`tf.data.Dataset.enumerate`)."""
        def elements(arrays: Sequence[Any]) -> Iterator[Element]:
            return ((np.int64(i), *element) for i, element in enumerate(self._elements(arrays[:-1]), int(arrays[-1])))

        number = as_count(start)
        return self._derived(elements, (number,), (spec_of(number), self.element_spec))


def _scan_step(scan_func: Callable[..., Any], state_spec: Any, element_spec: Any) -> ElementFunction:
    """The function of `scan`, traced for the most specific shapes of the state that it keeps."""
    step = ElementFunction(scan_func, (state_spec, element_spec))
    if not isinstance(step.result, tuple) or len(step.result) != 2:
        raise located(TypeError(f"the function of scan gives a pair, (state, output), but {step.name} gives "
                                f"{step.spec()!r}"))
    new, _ = step.spec()
    assert_same_structure(state_spec, new)

    def joined(before: TensorSpec, after: TensorSpec) -> TensorSpec:
        shape = join_shapes(before.type.shape, after.type.shape)
        if before.dtype is not after.dtype or shape is None:
            raise located(DTypeError(f"the state of scan is {before.type} before, but {after.type} after {step.name}"))
        return TensorSpec(shape, before.dtype)

    kept = map_structure(joined, state_spec, new)
    same = all(a.type == b.type for a, b in zip(flatten(kept), flatten(state_spec), strict=True))
    return step if same else _scan_step(scan_func, kept, element_spec)


def _interleaved(streams: Iterator[Iterator[Element]], cycle: int, block: int) -> Iterator[Element]:
    places: list[Iterator[Element] | None] = [None] * cycle
    place = 0
    exhausted = False
    while not exhausted or any(stream is not None for stream in places):
        stream = places[place]
        if stream is None and not exhausted:
            stream = places[place] = next(streams, None)
            exhausted = stream is None
        if stream is not None:
            taken = 0
            for element in itertools.islice(stream, block):
                taken += 1
                yield element
            if taken < block:
                places[place] = None
        place = (place + 1) % cycle


def _ends_iterator(error: Exception) -> bool:
    """Whether the error, caught by the caller, has passed through a generator of these modules, which is over."""
    entry = error.__traceback__
    while entry is not None and (entry := entry.tb_next) is not None:
        code = entry.tb_frame.f_code
        if code.co_flags & inspect.CO_GENERATOR and os.path.dirname(code.co_filename) == _FOLDER:
            return True
    return False


def _name_element(error: Exception, number: int, name: str) -> None:
    if len(error.args) and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\nwhile {name} was applied to element {number} of a dataset", *error.args[1:])
