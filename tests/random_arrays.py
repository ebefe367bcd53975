"""Random functions on arrays, as recipes: each step is an op on values made before, in shapes that a first eager run
settles. So the same recipe runs eagerly, in a graph that knows the shapes, and in one that does not."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import runtime as rt
from runtime.ops.indexing import setitem

__all__ = ["Recipe", "view"]

Step = tuple[Callable[..., Any], tuple[int, ...]]


def view(r: random.Random, shape: list[int]) -> Callable[[Any], Any]:
    """An op that gives a view of an array of this shape: what indices select, or another arrangement."""
    rank = len(shape)
    kinds: list[Callable[[], Callable[[Any], Any]]] = [lambda: _index(r, shape)] * 3
    if rank:
        kinds += [lambda: _transpose(r.sample(range(rank), rank)), lambda: _reshape(r, shape),
                  lambda: _broadcast(r, shape)]
    kinds.append(lambda: _expand(r.randint(0, rank)))
    if 1 in shape:
        axis = r.choice([a for a, d in enumerate(shape) if d == 1])
        kinds.append(lambda: lambda x: rt.squeeze(x, axis))
    return r.choice(kinds)()


def _transpose(perm: list[int]) -> Callable[[Any], Any]:
    return lambda x: rt.transpose(x, perm)


def _expand(axis: int) -> Callable[[Any], Any]:
    return lambda x: rt.expand_dims(x, axis)


def _reshape(r: random.Random, shape: list[int]) -> Callable[[Any], Any]:
    size = int(np.prod(shape))
    if not size:
        return lambda x: rt.reshape(x, [0, 2])
    factors = [d for d in range(1, size + 1) if size % d == 0]
    first = r.choice(factors)
    new = r.choice([[first, size // first], [size], [-1, first], [1, size, 1]])
    return lambda x: rt.reshape(x, new)


def _broadcast(r: random.Random, shape: list[int]) -> Callable[[Any], Any]:
    new = [r.randint(1, 3) if d == 1 else d for d in shape]
    if r.random() < 0.4 and len(new) < 4:
        new.insert(0, 2)
    return lambda x: rt.broadcast_to(x, new)


def _index(r: random.Random, shape: list[int]) -> Callable[[Any], Any]:
    index: list[Any] = []
    for d in shape[:r.randint(0, len(shape))]:
        if r.random() < 0.15:
            index.append(None)
        if d and r.random() < 0.25:
            index.append(r.randrange(-d, d))
        else:
            bounds = [None, *range(-d - 1, d + 2)]
            index.append(slice(r.choice(bounds), r.choice(bounds), r.choice([None, None, 1, 2, -1, -2])))
    staged = [k for k, part in enumerate(index) if isinstance(part, int) and r.random() < 0.5]

    def apply(x: Any) -> Any:
        where = list(index)
        for k in staged:
            where[k] = rt.identity(rt.constant(index[k]))
        return x[tuple(where)] if where else x[...]

    return apply


UNARY: list[Callable[[Any], Any]] = [
    rt.negative, rt.abs, lambda x: x + 1, lambda x: x * x, lambda x: rt.maximum(x, 0), lambda x: x // 3,
    lambda x: x % 5, rt.stop_gradient, lambda x: rt.where(x > 1, x, -x), lambda x: rt.cast(rt.cast(x,
    rt.int8), x.dtype)]
BINARY: list[Callable[[Any, Any], Any]] = [
    rt.add, rt.subtract, rt.multiply, rt.maximum, rt.minimum, lambda x, y: rt.where(x < y, x, y + 1)]
REDUCE = [rt.reduce_sum, rt.reduce_max, rt.reduce_min, rt.reduce_prod]


class Recipe:
    """Steps on int32 arrays, which start from inputs of the given shapes. `results`: what it gives."""

    def __init__(self, seed: int, shapes: list[list[int]], count: int) -> None:
        self.random = random.Random(seed)
        rng = np.random.default_rng(seed)
        self.inputs = [rng.integers(-9, 10, shape).astype(np.int32) for shape in shapes]
        self.steps: list[Step] = []
        self.values: list[Any] = [rt.constant(x) for x in self.inputs]
        while len(self.steps) < count:
            self.grow()
        made = range(len(shapes), len(self.values))
        self.results = sorted(self.random.sample(made, min(len(made), 5)))

    def shape(self, k: int) -> list[int]:
        return [int(d) for d in self.values[k].shape]

    def add(self, fn: Callable[..., Any], *operands: int) -> int:
        self.values.append(fn(*[self.values[k] for k in operands]))
        self.steps.append((fn, operands))
        return len(self.values) - 1

    def pick(self) -> int:
        late = range(max(0, len(self.values) - 6), len(self.values))
        return self.random.choice(late if self.random.random() < 0.7 else range(len(self.values)))

    def grow(self) -> None:
        r = self.random
        k = self.pick()
        shape = self.shape(k)
        kind = r.choices(["view", "unary", "binary", "reduce", "join", "set", "gather", "cumulate", "sort", "search",
                          "pad", "einsum"], [6, 4, 4, 2, 2, 2, 1, 0.7, 1, 1, 1, 1])[0]
        if np.prod(shape) > 400:
            kind = "reduce"
        if kind == "view":
            self.add(view(r, shape), k)
        elif kind == "unary":
            self.add(r.choice(UNARY), k)
        elif kind == "binary":
            fitting = [j for j in range(len(self.values)) if fits(self.shape(j), shape)]
            self.add(r.choice(BINARY), *r.sample([k, r.choice(fitting)], 2))
        elif kind == "reduce" and 0 not in shape:
            axes, keep = r.sample(range(len(shape)), r.randint(0, len(shape))), r.random() < 0.4
            fold = r.choice(REDUCE)
            self.add(lambda x: fold(x, axes, keepdims=keep), k)
        elif kind == "join" and shape:
            same = [j for j in range(len(self.values)) if self.shape(j) == shape]
            axis, join = r.randrange(len(shape)), r.choice([rt.concat, rt.stack])
            self.add(lambda *xs: join(list(xs), axis), *[r.choice(same) for _ in range(r.randint(2, 3))])
        elif kind == "set" and shape and 0 not in shape:
            index: list[Any] = [r.choice([r.randrange(-d, d), slice(None, None, r.choice([1, -1, 2]))]) for d in shape]
            index = index[:r.randint(1, len(index))]
            place = self.values[k].numpy()[tuple(index)].shape
            fitting = [j for j in range(len(self.values)) if fits(self.shape(j), list(place), within=True)]
            if fitting:
                self.add(lambda x, v: setitem(x, tuple(index), v), k, r.choice(fitting))
            else:
                self.add(lambda x: setitem(x, tuple(index), 7), k)
        elif kind == "gather" and shape and shape[0]:
            where = [r.randrange(shape[0]) for _ in range(r.randint(0, 4))]
            self.add(lambda x: rt.gather(x, rt.constant(where, rt.int32)), k)
        elif kind == "cumulate" and shape:
            axis, reverse, exclusive = r.randrange(len(shape)), r.random() < 0.5, r.random() < 0.5
            self.add(lambda x: rt.cumsum(x, axis, exclusive, reverse), k)
        elif kind == "sort" and shape:
            axis, direction = r.randrange(len(shape)), r.choice(["ASCENDING", "DESCENDING"])
            count = r.randint(0, shape[-1])
            self.add(r.choice([lambda x: rt.sort(x, axis, direction), lambda x: rt.argsort(x, axis, direction),
                               lambda x: rt.math.top_k(x, count)[0], lambda x: rt.math.top_k(x, count)[1]]), k)
        elif kind == "pad" and shape:
            mode = r.choice(["CONSTANT", "REFLECT", "SYMMETRIC"])
            most = [2 if mode == "CONSTANT" else max(0, min(2, d - (mode == "REFLECT"))) for d in shape]
            if mode != "REFLECT" or 0 not in shape:
                pairs = [[r.randint(0, most[a]), r.randint(0, most[a])] for a in range(len(shape))]
                widths = rt.constant(pairs)
                self.add(r.choice([lambda x: rt.pad(x, pairs, mode),
                                   lambda x: rt.pad(x, rt.stack([widths * 1])[0], mode)]), k)
        elif kind == "einsum" and len(shape) in (1, 2):
            equation = r.choice(["i,i->", "i,j->ji", "i,j->j"] if len(shape) == 1 else [
                "ij,kj->ik", "ij,ij->j", "ij,ik->kj", "ij,kl->ki"])
            self.add(lambda x: rt.einsum(equation, x, x + 1), k)
        elif kind == "search" and shape:
            side, least = r.choice(["left", "right"]), r.randint(-5, 5)
            found = r.choice([rt.unique, rt.unique_with_counts])
            self.add(r.choice([  # whose shapes do not depend on values
                lambda x: rt.searchsorted(rt.sort(x), x, side), lambda x: rt.reduce_sum(rt.boolean_mask(x, x > least)),
                lambda x: rt.cast(rt.reduce_sum(rt.where(x > least), 0), x.dtype),
                lambda x: rt.reduce_sum(found(rt.reshape(x, [-1]))[0]), lambda x: found(rt.reshape(x, [-1]))[1],
                lambda x: rt.reduce_sum(rt.unique_with_counts(rt.reshape(x, [-1]))[2] ** 2)]), k)

    def __call__(self, *inputs: Any) -> list[Any]:
        values = list(inputs)
        for fn, operands in self.steps:
            values.append(fn(*[values[k] for k in operands]))
        return [values[k] for k in self.results]


def fits(a: list[int], b: list[int], within: bool = False) -> bool:
    """Whether shapes broadcast; `within`: the first to the second."""
    if within and len(a) > len(b):
        return False
    return all(x == y or x == 1 or (y == 1 and not within) for x, y in zip(a[::-1], b[::-1]))
