"""An op at several lanes, by its batching rule and one after the other: what `test_batching_rules.py` compares."""
from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from op_checks import forgotten, last_dim_needed, samples, type_of, value_of

from runtime.batching.vmap import vmap
from runtime.core.graph import Graph
from runtime.core.op import REGISTRY, Op
from runtime.core.tensor import EagerList
from runtime.core.trace import add_input, apply, set_outputs, tracing
from runtime.core.types import ListType, TensorType
from runtime.ops.lists import list_from_tensor, list_stack

LANES = 3
DTYPES = 2  # of samples of the same shapes
_INDEX = np.int32
EXTRA: dict[str, list[tuple[list[tuple[Any, ...]], dict[str, Any]]]] = {
    "getitem": [
        ([(np.arange(24.).reshape(4, 3, 2) + k, _INDEX(k - 1), _INDEX(1 - k)) for k in range(LANES)],
         {"index": ("?", (None, None, None), "?")}),
        ([(np.arange(24.).reshape(4, 3, 2) + k, _INDEX(1), np.int64(k)) for k in range(LANES)],
         {"index": ((None, "?", None), "?", None)}),
        ([(np.arange(12.).reshape(4, 3) + k, np.uint8(k + 1)) for k in range(LANES)], {"index": (None, "?", -1)}),
    ],
    "setitem": [
        ([(np.arange(24.).reshape(4, 3, 2) + k, np.ones(3) * k, _INDEX(k - 1), _INDEX(1)) for k in range(LANES)],
         {"index": ("?", (None, None, None), "?")}),
        ([(np.arange(4.) + k, np.float64(-k), _INDEX(k)) for k in range(LANES)], {"index": ("?",)}),
        ([(np.arange(8.).reshape(4, 2) + k, np.ones(1) * k, _INDEX(-k)) for k in range(LANES)], {"index": ("?",)}),
    ],
    "slice": [([(np.arange(12.).reshape(4, 3) + k, np.array([k, 0], _INDEX), np.array([2, 1], _INDEX))
                for k in range(LANES)], {"dims": (2, 1)})],
    "scatter": [([(np.zeros((3, 2)), np.array([[k], [0]], _INDEX), np.ones((2, 2)) + k) for k in range(LANES)],
                 {"mode": "add"})],
    "gather_nd": [([(np.arange(6.).reshape(3, 2) + k, np.array([[k, 0], [0, 1]], _INDEX)) for k in range(LANES)], {})],
    "list_get": [([(EagerList(tuple(np.ones(2, np.float32) * (i + k) for i in range(3)),
                              ListType(TensorType(type_of(np.float32(0)).dtype, (2,)))), _INDEX(k - 1))
                   for k in range(LANES)], {"element": TensorType(type_of(np.float32(0)).dtype, (2,))})],
}
"""Lanes that have different indices."""


@dataclass
class Case:
    """An op for lanes, of which each has its own operands where `batched`, and those of the first one elsewhere."""

    op: Op
    lanes: Sequence[Sequence[Any]]
    params: Mapping[str, Any]
    batched: tuple[bool, ...]

    def lane(self, k: int) -> list[Any]:
        return [mine if b else first
                for mine, first, b in zip(self.lanes[k], self.lanes[0], self.batched, strict=True)]

    def wanted(self) -> list[Any]:
        """The results, one lane after the other."""
        with np.errstate(all="ignore"):
            found = [self.op.kernel(*map(value_of, self.lane(k)), **copy.deepcopy(dict(self.params)))
                     for k in range(len(self.lanes))]
        single = not isinstance(self.op.rule(*map(type_of, self.lanes[0]), **self.params), tuple)
        return [stacked(column) for column in ([found] if single else zip(*found, strict=True))]

    def arguments(self) -> list[Any]:
        """The operands, batched where they are to be."""
        return [stacked([as_array(lane[i]) for lane in self.lanes]) if b else as_array(self.lanes[0][i])
                for i, b in enumerate(self.batched)]

    def trace(self, hide: bool = False) -> tuple[list[Any], list[Any]]:
        """The op mapped, in the graph that is open: its inputs that are tensors, and its results."""
        arguments = self.arguments()
        kept = last_dim_needed(self.op, [type_of(a) for a in self.lanes[0]])
        types: list[Any] = [type_of(a) if not hide or i in kept else forgotten(type_of(a))
                            for i, a in enumerate(arguments)]
        inputs = [add_input(open_graph(), type) for type in types]
        axes = tuple(0 if b else None for b in self.batched)

        def fn(*xs: Any) -> Any:
            given = [list_from_tensor(x) if isinstance(a, EagerList) else x
                     for x, a in zip(xs, self.lanes[0], strict=True)]
            found = apply(self.op, *given, **copy.deepcopy(dict(self.params)))
            results = found if isinstance(found, tuple) else (found,)
            return [list_stack(x) if isinstance(x.type, ListType) else x for x in results]

        return arguments, vmap(fn, axes, axis_size=len(self.lanes))(*inputs)


_open: list[Graph] = []


def open_graph() -> Graph:
    return _open[-1]


def graph_of(cases: Sequence[Case], hide: bool = False) -> tuple[Graph, list[Any]]:
    """One graph of all cases, and the arrays for its inputs."""
    graph = Graph("cases")
    arrays: list[Any] = []
    outputs: list[Any] = []
    _open.append(graph)
    try:
        with tracing(graph):
            for case in cases:
                arguments, found = case.trace(hide)
                arrays += map(value_of, arguments)
                outputs += found
            set_outputs(graph, outputs)
    finally:
        _open.pop()
    return graph, arrays


def stacked(values: Sequence[Any]) -> Any:
    """The values of the lanes, batched; of lists the elements, stacked."""
    return np.stack([np.asarray(as_array(x)) for x in values])


def as_array(x: Any) -> Any:
    """A value; of a list the elements, stacked."""
    if isinstance(x, np.ndarray | np.generic):
        return x
    return np.stack(list(x.items if isinstance(x, EagerList) else x))


def cases(name: str, seeds: Sequence[int] = (0, 1, 2)) -> Iterator[Case]:
    """The samples of an op, with each set of batched operands."""
    op = REGISTRY[name]
    found = [samples(op, seed) for seed in seeds]
    lanes = [([moved(sample[0], k) for k, sample in enumerate(column)], column[0][1])
             for column in zip(*found, strict=True)]
    seen: Counter[str] = Counter()
    for rows, params in [*EXTRA.get(name, ()), *lanes]:
        if not all(map(plain, rows[0])) or len({str([type_of(x) for x in row]) for row in rows}) > 1:
            continue
        if len({tuple(np.shape(as_array(x)) for x in row) for row in rows}) > 1:
            continue
        if not all(plain(Items(x)) for lane in rows for x in results(op, lane, params)):
            continue
        seen[key := str(([np.shape(as_array(x)) for x in rows[0]], params))] += 1
        if seen[key] > DTYPES:
            continue
        for batched in product((True, False), repeat=len(rows[0])):
            if any(batched):
                yield Case(op, rows, params, batched)


def results(op: Op, lane: Sequence[Any], params: Mapping[str, Any]) -> list[Any]:
    """What it gives that is a list."""
    types = op.rule(*map(type_of, lane), **params)
    with np.errstate(all="ignore"):
        found = op.kernel(*map(value_of, lane), **copy.deepcopy(dict(params)))
    pairs = zip(types, found, strict=True) if isinstance(types, tuple) else [(types, found)]
    return [x for type, x in pairs if isinstance(type, ListType)]


class Items:
    """The elements of a list."""

    def __init__(self, items: Any) -> None:
        self.items = list(items)


def plain(x: Any) -> bool:
    """Whether it is an array, or a list of elements of one shape."""
    if isinstance(x, np.ndarray | np.generic):
        return True
    items = list(x.items)
    return bool(items) and all(item is not None and item.shape == items[0].shape for item in items) and not (
        isinstance(x, EagerList) and None in x.type.element.shape)


def moved(arguments: Sequence[Any], k: int) -> list[Any]:
    """Lists with other elements in each lane."""
    return [EagerList(tuple(None if item is None else item + k for item in x.items), x.type)
            if isinstance(x, EagerList) else x for x in arguments]
