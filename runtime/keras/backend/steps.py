"""A model's steps (`train_step`, `test_step`, `predict_step`) as traced functions of batches."""
from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from keras.src import tree

import runtime as rt
from runtime.staging.control_flow import scan_with_carry

__all__ = ["Steps"]


class Steps:
    """Runs a step for each of several batches, in one native call for those of equal structure and shapes.

    The step is traced once for each structure of a batch. It reads and writes variables in program order: the graph
    reads each once, and writes it when the call ends.
    """

    def __init__(self, step: Callable[[Any], Any]) -> None:
        self._step = step
        self._traced: dict[Hashable, tuple[Callable[..., Any], list[Any]]] = {}

    def one(self, batch: Any) -> Any:
        """The step's result for one batch."""
        leaves, given = _split(batch)
        call, made = self._function("one", given, leaves, batch, self._step)
        return tree.pack_sequence_as(made[0], call(*leaves))

    def many(self, batches: Sequence[Any]) -> Any:
        """The step's result for the last of these batches."""
        result = None
        start = 0
        while start < len(batches):
            shapes, stop = _shapes(batches[start]), start + 1
            while stop < len(batches) and _shapes(batches[stop]) == shapes:
                stop += 1
            result = self.one(batches[start]) if stop == start + 1 else self._loop(batches[start:stop])
            start = stop
        return result

    def _loop(self, batches: Sequence[Any]) -> Any:
        columns = zip(*[_split(batch)[0] for batch in batches], strict=True)
        leaves = [rt.convert_to_tensor(np.stack([np.asarray(x) for x in column])) for column in columns]
        _, given = _split(batches[0])
        call, made = self._function("many", given, leaves, batches[0], self._step)
        return tree.pack_sequence_as(made[0], call(*leaves))

    def _function(self, kind: str, given: Any, leaves: list[Any], like: Any, step: Callable[[Any], Any]) -> Any:
        """The traced function of a batch's tensors that returns the result's, and a list that gets the result."""
        key = kind, given, tuple([(x.dtype, tuple(x.shape)[kind == "many":]) for x in leaves])
        if key in self._traced:
            return self._traced[key]
        made: list[Any] = []

        def packed(tensors: Sequence[Any]) -> Any:
            remaining = iter(tensors)
            flat = [next(remaining) if is_there else None for is_there in given]
            return tree.pack_sequence_as(like, flat)

        def one(*tensors: Any) -> Any:
            result = step(packed(tensors))
            made[:] = [result]
            return [rt.convert_to_tensor(x) for x in tree.flatten(result)]

        def many(*tensors: Any) -> Any:
            _, results = scan_with_carry(lambda carry, batch: (carry, one(*batch)), (), list(tensors))
            return [x[-1] for x in results]

        specs = [rt.TensorSpec([None, *x.shape[1:]] if kind == "many" else x.shape, x.dtype) for x in leaves]
        call = rt.function(many if kind == "many" else one, input_signature=specs, autograph=False)
        self._traced[key] = call, made
        return self._traced[key]


def _split(batch: Any) -> tuple[list[Any], tuple[bool, ...]]:
    """The tensors in a batch, and of each leaf whether it is one (and not None)."""
    leaves = tree.flatten(batch)
    return ([rt.convert_to_tensor(x) for x in leaves if x is not None], tuple([x is not None for x in leaves]))


def _shapes(batch: Any) -> list[Any]:
    return [None if x is None else tuple(x.shape) for x in tree.flatten(batch)]
