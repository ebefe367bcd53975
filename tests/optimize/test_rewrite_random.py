"""Random graphs mean the same rewritten: bits, prints and errors. `python tests/optimize/test_rewrite_random.py N` runs
more."""
from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rewrites import outcome, some_arguments

import runtime as rt
from runtime.core import types as t
from runtime.core.graph import Graph
from runtime.core.pruning import prune
from runtime.core.trace import add_input, apply, convert_to_tensor, set_outputs, tracing
from runtime.core.types import TensorType
from runtime.ops.control import COND, REDUCE, WHILE_LOOP
from runtime.ops.effects import check_bound, raise_unless, stage_print
from runtime.optimize import Fired, rewrite

INT, FLOAT, BOOL = TensorType(t.int32), TensorType(t.float32), TensorType(t.bool_)
LONGER = TensorType(t.float32, (3,))
INTS, FLOATS, FIXED = TensorType(t.int32, (None,)), TensorType(t.float32, (None,)), TensorType(t.float32, (2,))
TYPES = (INT, INT, BOOL, BOOL, FLOAT, INTS, FLOATS, FIXED, LONGER)

BINARY: dict[str, tuple[Callable[..., Any], ...]] = {
    "int": (rt.add, rt.subtract, rt.multiply, rt.maximum, rt.minimum, rt.bitwise.bitwise_and, rt.bitwise.bitwise_xor,
            rt.math.floordiv, rt.math.mod),
    "float": (rt.add, rt.subtract, rt.multiply, rt.divide, rt.maximum),
    "bool": (rt.logical_and, rt.logical_or, rt.equal, rt.math.logical_xor),
}
COMPARE = (rt.equal, rt.less, rt.greater_equal, rt.not_equal)


class Maker:
    """Makes a graph: `pool` has the values that can be used, by scope."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.left = self.random.randint(10, 80)  # ops that are made, about

    def graph(self) -> Graph:
        graph = Graph("f")
        with tracing(graph):
            pool = [add_input(graph, type, f"x{i}") for i, type in enumerate(TYPES)]
            while self.left > 0:
                self.body(pool, 3)
            set_outputs(graph, self.random.sample(pool[-16:], min(len(pool), 10)))
        prune(graph)
        return graph

    def pick(self, pool: list[Any], *wanted: TensorType) -> Any:
        """A value of one of some types: of the pool, mostly a late one, or a constant."""
        fitting = [x for x in pool if any(w.accepts(x.type) for w in wanted)]
        if fitting and self.random.random() < 0.8:
            return self.random.choice(fitting[-6:] if self.random.random() < 0.6 else fitting)
        type = wanted[0]
        if type.shape:
            return self.random.choice(fitting)
        number: Any = self.random.choice([0, 1, 2, -1, 3])
        return convert_to_tensor(np.array(bool(number > 0) if type.dtype.is_bool else number, type.dtype.np))

    def body(self, pool: list[Any], depth: int) -> None:
        for _ in range(self.random.randint(2, 9)):
            if self.left <= 0:
                return
            self.left -= 1
            kind = self.random.choices(("op", "effect", "cond", "while", "reduce"), (12, 1.5, 2, 1, 1.5))[0]
            if kind == "op":
                with contextlib.suppress(rt.errors.ShapeError):  # known shapes that do not fit are refused at once
                    pool.append(self.op(pool))
            elif kind == "effect":
                self.effect(pool)
            elif depth:
                getattr(self, kind + "_")(pool, depth - 1)

    def op(self, pool: list[Any]) -> Any:
        kind = self.random.choice(("int", "float", "bool", "compare", "where", "unary", "shape", "cast", "index"))
        if kind == "compare":
            type = self.random.choice((INT, FLOAT))
            return self.random.choice(COMPARE)(self.pick(pool, type), self.pick(pool, type))
        if kind == "where":
            type = self.random.choice((INT, FLOAT, BOOL, FIXED))
            return rt.where(self.pick(pool, BOOL), self.pick(pool, type), self.pick(pool, type))
        if kind == "unary":
            x = self.pick(pool, *self.random.choice(((INT, INTS), (FLOAT, FLOATS))))
            return self.random.choice((rt.negative, rt.abs, rt.sign, rt.stop_gradient))(x)
        if kind == "shape":
            x = self.pick(pool, FIXED)
            return self.random.choice((
                lambda: rt.reshape(rt.reshape(x, [2, 1]), [2]), lambda: rt.squeeze(rt.expand_dims(x, 0), 0),
                lambda: rt.reduce_sum(x), lambda: x + rt.zeros([2]), lambda: rt.fill([2], self.pick(pool, FLOAT)),
                lambda: rt.stack([x[0], x[1]])[1], lambda: rt.cast(rt.shape(self.pick(pool, INTS))[0], rt.int32),
            ))()
        if kind == "cast":
            x = self.pick(pool, *self.random.choice(((INT,), (BOOL,), (INTS,))))
            return rt.cast(rt.cast(x, self.random.choice(("int64", "float64", "int8"))), rt.int32)
        if kind == "index":
            return self.random.choice((lambda: self.pick(pool, INTS)[self.pick(pool, INT)],
                                       lambda: self.pick(pool, FIXED)[0]))()
        types = {"int": (INT, INTS), "float": (FLOAT, FLOATS), "bool": (BOOL,)}[kind]
        x = self.pick(pool, *types)
        return self.random.choice(BINARY[kind])(x, x if self.random.random() < 0.15 else self.pick(pool, *types))

    def effect(self, pool: list[Any]) -> None:
        kind = self.random.randrange(3)
        if kind == 0:
            stage_print("p", self.pick(pool, INT, BOOL))
        elif kind == 1:
            raise_unless(self.pick(pool, BOOL), ValueError("no"))
        else:
            check_bound(self.pick(pool, BOOL), "name")

    def branch(self, name: str, parent: Graph, pool: list[Any], depth: int, types: list[TensorType]) -> Graph:
        graph = Graph(name, parent)
        with tracing(graph):
            inner = list(pool)
            self.body(inner, depth)
            set_outputs(graph, [self.pick(inner, type) for type in types])
        return graph

    def cond_(self, pool: list[Any], depth: int) -> None:
        parent = rt.core.trace.current_graph()
        assert parent is not None
        types = [self.random.choice((INT, BOOL, BOOL, FLOAT, FLOATS, FIXED)) for _ in range(self.random.randint(0, 3))]
        graphs = {name: self.branch(name, parent, pool, depth, types) for name in ("true", "false")}
        pool += apply(COND, self.pick(pool, BOOL), **graphs)

    def state(self, pool: list[Any]) -> list[Any]:
        return [self.pick(pool, self.random.choice((INT, BOOL, BOOL, FLOAT, FLOATS, FIXED))) for _ in range(
            self.random.randint(0, 4))]

    def loop(self, name: str, parent: Graph, first: list[TensorType], init: list[Any], pool: list[Any], depth: int,
             after: Callable[[list[Any]], list[Any]] = lambda own: []) -> Graph:
        graph = Graph(name, parent)
        with tracing(graph):
            own = [add_input(graph, type) for type in first]
            state = [add_input(graph, x.type) for x in init]
            inner = [*pool, *own, *state]
            self.body(inner, depth)
            results = [x if self.random.random() < 0.25 else self.pick(inner, x.type) for x in state]
            set_outputs(graph, [*after(own), *results])
        return graph

    def test(self, parent: Graph, first: list[TensorType], init: list[Any], pool: list[Any], limit: int | None
             ) -> Graph:
        graph = Graph("test", parent)
        with tracing(graph):
            own = [add_input(graph, type) for type in first]
            state = [add_input(graph, x.type) for x in init]
            holds = self.pick([*state, *pool], BOOL)
            if self.random.random() < 0.5:
                holds = rt.logical_not(holds)
            if limit is not None:
                holds = (own[0] < limit) & holds
            set_outputs(graph, [holds])
        return graph

    def while_(self, pool: list[Any], depth: int) -> None:
        parent = rt.core.trace.current_graph()
        assert parent is not None
        init = self.state(pool)
        body = self.loop("body", parent, [INT], init, pool, depth, lambda own: [own[0] + 1])
        test = self.test(parent, [INT], init, pool, self.random.choice((0, 1, 3)))
        pool += apply(WHILE_LOOP, convert_to_tensor(np.int32(0)), *init, test=test, body=body)[1:]

    def reduce_(self, pool: list[Any], depth: int) -> None:
        parent = rt.core.trace.current_graph()
        assert parent is not None
        init = self.state(pool)
        graphs = {"body": self.loop("body", parent, [INT], init, pool, depth)}
        if self.random.random() < 0.5:
            graphs["test"] = self.test(parent, [], init, pool, None)
        length = self.random.choice((lambda: 3, lambda: 1, lambda: 0, lambda: self.pick(pool, INT) % 4))()
        pool += apply(REDUCE, convert_to_tensor(length), *init, **graphs)


def check(seed: int, log: list[Fired] | None = None) -> int:
    """Compare the runs of a random graph. Gives how many of them raised."""
    graph = Maker(seed).graph()
    graph.verify()
    new = rewrite(graph, log=log)
    new.verify()
    raised = 0
    for k in range(3):
        arguments = some_arguments(graph, 5 * seed + k)
        expected, got = outcome(graph, arguments), outcome(new, arguments)
        assert expected == got, f"seed {seed}, {arguments}:\n{expected}\n{got}\n{graph}\n{new}"
        raised += isinstance(expected[0][0], type)
    return raised


@pytest.mark.parametrize("start", range(0, 240, 40))
def test_random_graphs(start: int) -> None:
    for seed in range(start, start + 40):
        check(seed)


def test_random_graphs_are_not_trivial() -> None:
    log: list[Fired] = []
    raised = sum(check(seed, log) for seed in range(1000, 1100))
    assert 30 < raised < 240
    assert len({fired.rule for fired in log}) > 20


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for seed in range(first, first + int(sys.argv[1])):
        check(seed)
