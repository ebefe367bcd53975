"""A model's steps (`train_step`, `test_step`, `predict_step`) as traced functions of batches.

Python's work per batch (Keras' iteration, the entry of a native call) takes about as long as a small model's step. So
batches are passed in groups, and one native call runs the step for each batch of a group.
"""
from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from keras.src import tree

import runtime as rt
from runtime.keras.backend.core import convert_to_tensor
from runtime.keras.backend.datasets import Block, leaves
from runtime.keras.backend.foreign import is_foreign_sparse
from runtime.keras.backend.layer import RuntimeLayer
from runtime.staging.control_flow import scan_with_carry

__all__ = ["Grouping", "Steps", "joined"]

_WORTH: Final = 2e-2  # seconds that a call should take, so that Python's share is small
_MOST: Final = 256  # batches in a call
_MEMORY: Final = 1 << 24  # bytes of batches in a call
_SMALL: Final = 500  # nodes in the graph of a step


class Steps:
    """Runs a step for each of several batches, in one native call for those of equal structure and shapes.

    The step is traced once for each structure of a batch; if it is small, it becomes the body of a loop over batches.
    It reads and writes variables in program order: the graph reads each once, and writes it back when the call ends.

    `joins`: the result for several batches is all results, joined along their first axis, instead of the last one.
    """

    def __init__(self, step: Callable[[Any], Any], joins: bool = False) -> None:
        self._step, self._joins = step, joins
        self._traced: dict[Hashable, _Traced] = {}

    @property
    def graph(self) -> Any:
        """The graph of the step, for the first kind of batch."""
        return next(iter(self._traced.values())).graph

    def one(self, batch: Any) -> Any:
        """The step's result for one batch."""
        return self._find(batch, _kinds(batch)).one(batch)

    def many(self, batches: Sequence[Any]) -> Any:
        """The step's result for several batches."""
        results = self._stacked(batches) if isinstance(batches, Block) else self._grouped(batches)
        return joined(results) if self._joins else results[-1]

    def _grouped(self, batches: Sequence[Any]) -> list[Any]:
        results = []
        start = 0
        kinds = list(map(_kinds, batches))
        while start < len(batches):
            traced, stop = self._find(batches[start], kinds[start]), start + 1
            while traced.is_grouped and stop < len(batches) and kinds[stop] == kinds[start]:
                stop += 1
            group = batches[start:stop]
            # A remainder of another size is often alone: then it needs no loop.
            results.append(traced.many(group) if len(group) > 1 or traced.has_loop else traced.one(batches[start]))
            start = stop
        return results

    def _stacked(self, block: Block) -> list[Any]:
        traced = self._find(block[0], _kinds(block[0]))
        if traced.has_loop or (len(block) > 1 and traced.is_grouped):
            return [traced.stacked(block.arrays)]
        return [traced.one(batch) for batch in block]

    def _find(self, batch: Any, kinds: tuple[Hashable, ...]) -> _Traced:
        if kinds not in self._traced:
            self._traced[kinds] = _Traced(self._step, self._joins, batch)
        return self._traced[kinds]


class _Traced:
    """The step for batches with the structure, dtypes and shapes of `like`."""

    def __init__(self, step: Callable[[Any], Any], joins: bool, like: Any) -> None:
        self._step, self._joins = step, joins
        self._like = tree.map_structure(lambda x: None if x is None else True, like)
        self._result: Any = None
        self.has_loop = False
        """Whether the loop over batches is compiled."""
        tensors = [rt.convert_to_tensor(x) for x in _tensors(like)]
        self._shapes = [tuple(x.shape) if _is_sparse(x) else None for x in leaves(like)]
        has_sparse = any(shape is not None for shape in self._shapes)
        self._single: Any = rt.function(self._once, autograph=False, input_signature=[
            rt.TensorSpec([None, *x.shape[1:]] if has_sparse else x.shape, x.dtype) for x in tensors])
        self._several: Any = rt.function(self._loop, autograph=False, input_signature=[
            rt.TensorSpec([None, *x.shape], x.dtype) for x in tensors])
        self._compiled: set[Any] = set()

    @property
    def graph(self) -> Any:
        return self._single.get_concrete_function().graph

    @functools.cached_property
    def is_grouped(self) -> bool:
        """Whether a loop over batches pays: it takes longer to compile, and a step with a large graph, or with loops,
        takes longer than Python's part anyway. Sparse batches cannot be stacked."""
        if any(shape is not None for shape in self._shapes):
            return False
        nodes = list(self.graph.walk())
        return len(nodes) < _SMALL and not any(node.op.name in ("while_loop", "reduce") for node in nodes)

    def one(self, batch: Any) -> Any:
        flat = self._run(self._single, [rt.convert_to_tensor(x) for x in _tensors(batch)])
        return tree.pack_sequence_as(self._result, flat)

    def many(self, batches: Sequence[Any]) -> Any:
        columns = zip(*map(_tensors, batches), strict=True)
        return self.stacked([np.stack([np.asarray(x) for x in column]) for column in columns])

    def stacked(self, arrays: Sequence[Any]) -> Any:
        self.has_loop = True
        flat = self._run(self._several, [rt.convert_to_tensor(x) for x in arrays])
        return tree.pack_sequence_as(self._result, flat)

    def _run(self, function: Any, tensors: Sequence[Any]) -> Any:
        """Call a function with subnormal numbers flushed to zero, as on Keras' other backends: moments of weights whose
        gradients are zero decay to subnormal numbers within a thousand steps."""
        if function not in self._compiled and not rt.config.functions_run_eagerly():
            function.lower()
            self._compiled.add(function)
        with rt.config.flush_subnormals():
            return function(*tensors)

    def _once(self, *tensors: Any) -> list[Any]:
        remaining, shapes = iter(tensors), iter(self._shapes)

        def leaf() -> Any:
            shape = next(shapes)
            return next(remaining) if shape is None else rt.SparseTensor(next(remaining), next(remaining), shape)

        if isinstance(model := getattr(self._step, "__self__", None), RuntimeLayer):
            model._clear_losses()  # type: ignore[attr-defined]  # an earlier trace may have left some
        batch = tree.map_structure(lambda like: like and leaf(), self._like)
        result = self._step(batch)
        self._result = tree.map_structure(lambda _: None, result)
        return [rt.convert_to_tensor(x) for x in tree.flatten(result)]

    def _loop(self, *tensors: Any) -> list[Any]:
        _, results = scan_with_carry(lambda carry, batch: (carry, self._single(*batch)), (), list(tensors))
        return [rt.reshape(x, [-1, *x.shape[2:]]) if self._joins else x[-1] for x in results]


def joined(results: Sequence[Any]) -> Any:
    """Join the results for several batches along their first axis."""
    return results[0] if len(results) == 1 else tree.map_structure(lambda *parts: rt.concat(parts, 0), *results)


def _is_sparse(x: Any) -> bool:
    return type(x) is not np.ndarray and (isinstance(x, rt.SparseTensor) or is_foreign_sparse(x))


def _tensors(batch: Any) -> list[Any]:
    """The leaves; for a sparse one its indices and its values."""
    found: list[Any] = []
    for x in leaves(batch):
        if _is_sparse(x):
            x = convert_to_tensor(x)
            found += [x.indices, x.values]
        else:
            found.append(x)
    return found


def _kinds(batch: Any) -> tuple[Hashable, ...]:
    """The dtype and shape of each leaf."""
    return tuple([(x.dtype, x.shape) if type(x) is np.ndarray else _kind(x) for x in tree.flatten(batch)])


def _kind(x: Any) -> Hashable:
    if x is None:
        return None
    if _is_sparse(x):
        return "sparse", str(x.dtype), tuple(x.shape)
    array = np.asarray(x)
    return array.dtype, array.shape


class Grouping:
    """Chooses how many batches to pass at a time, so that a call takes some milliseconds."""

    def __init__(self) -> None:
        self.count = 2  # the first call compiles the loop
        self._is_compiled = False

    def groups(self, epoch_iterator: Any) -> Iterator[tuple[int, int, Sequence[Any]]]:
        """The batches of an epoch in groups, each with the numbers of its first and last step."""
        if epoch_iterator.has_blocks:
            yield from epoch_iterator.blocks(lambda: self.count)
            return
        group: list[Any] = []
        first = last = 0
        for begin, last, data in epoch_iterator:
            if not group:
                first = begin
            group += data
            if len(group) >= self.count:
                yield first, last, group
                group = []
        if group:
            yield first, last, group

    def took(self, seconds: float, group: Sequence[Any]) -> None:
        """Adapt to the time of a call, except that of the first one, which compiles, and of an epoch's remainder."""
        if self._is_compiled and len(group) >= self.count:
            size = sum(getattr(x, "nbytes", 0) for x in _tensors(group[0])) or 1
            fitting = min(int(_WORTH * len(group) / seconds) + 1, _MEMORY // size, 2 * len(group), _MOST)
            self.count = max(fitting, 1)
        self._is_compiled = True

    def run(self, function: Callable[[Any], Any], group: Sequence[Any]) -> Any:
        """`function(group)`, timed for the choice of the group size."""
        start = time.perf_counter()
        result = function(group)
        self.took(time.perf_counter() - start, group)
        return result
