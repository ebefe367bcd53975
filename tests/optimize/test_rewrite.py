"""The rules of `runtime.optimize` for values: each fires where it should, and does not where it must not."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rewrites import only, same_runs, text, traced

import runtime as rt
from runtime.core import types as t
from runtime.core.graph import Graph
from runtime.core.op import REGISTRY
from runtime.core.trace import add_input, apply, set_outputs, tracing
from runtime.core.types import TensorType
from runtime.errors import GraphError
from runtime.optimize import RULES, Rule, rewrite
from runtime.optimize.algebra import made_by

Function = Callable[..., Any]


def op(name: str, *inputs: Any, **params: Any) -> Any:
    """An op applied as it is, past what its public function already simplifies."""
    return apply(REGISTRY[name], *inputs, **params)


def f(x: Any, dtype: str = "float32") -> Any:
    return rt.constant(x, dtype)


FIRES: list[tuple[str, Function, Function, tuple[str, ...]]] = [
    ("fold", lambda: rt.add(f([1, 2]), f([3, 4])), lambda: f([4, 6]), ()),
    ("fold", lambda: op("split", f([1, 2]), sections=2, axis=0)[1], lambda: f([2]), ()),
    ("identity", lambda x: x + 0, lambda x: x, ("int32[3]",)),
    ("identity", lambda x: 0 + x, lambda x: x, ("int32[?]",)),
    ("identity", lambda x: x + rt.zeros([3], "int32"), lambda x: x, ("int32[3]",)),
    ("identity", lambda x: x + f(-0.0), lambda x: x, ("float32[]",)),
    ("identity", lambda x: x - 0.0, lambda x: x, ("float64[2]",)),
    ("identity", lambda x: 1.0 * x, lambda x: x, ("float16[?]",)),
    ("identity", lambda x: x / 1.0, lambda x: x, ("float32[]",)),
    ("identity", lambda x: x // 1, lambda x: x, ("int8[]",)),
    ("identity", lambda x: x ** 1, lambda x: x, ("int64[]",)),
    ("identity", lambda x: x & True, lambda x: x, ("bool[2]",)),
    ("identity", lambda x: -1 & x, lambda x: x, ("int32[]",)),
    ("identity", lambda x: x | False, lambda x: x, ("bool[]",)),
    ("identity", lambda x: x ^ 0, lambda x: x, ("uint8[]",)),
    ("identity", lambda x: x << 0, lambda x: x, ("int32[]",)),
    ("absorb", lambda x: x * 0, lambda x: f(0, "int32"), ("int32[]",)),
    ("absorb", lambda x: x * 0, lambda x: rt.zeros([3], "int32"), ("int32[3]",)),
    ("absorb", lambda x: x % 1, lambda x: f(0, "int16"), ("int16[]",)),
    ("absorb", lambda x: False & x, lambda x: f(False, "bool"), ("bool[]",)),
    ("absorb", lambda x: x | True, lambda x: rt.ones([2], "bool"), ("bool[2]",)),
    ("same", lambda x: x & x, lambda x: x, ("bool[3]",)),
    ("same", lambda x: rt.maximum(x, x), lambda x: x, ("float32[3]",)),
    ("same", lambda x: x - x, lambda x: f(0, "int32"), ("int32[]",)),
    ("same", lambda x: x == x, lambda x: f(True, "bool"), ("int32[]",)),
    ("same", lambda x: x < x, lambda x: f(False, "bool"), ("int32[]",)),
    ("cancel", lambda x, y: (x + y) - x, lambda x, y: y, ("int32[]", "int32[]")),
    ("cancel", lambda x, y: (x + y) - y, lambda x, y: x, ("int64[3]", "int64[3]")),
    ("cancel", lambda x: (x + 3) - x, lambda x: f(3, "int8"), ("int8[]",)),
    ("cancel", lambda x: (x - 3) - (1 + x), lambda x: f(-4, "int64"), ("int64[]",)),
    ("cancel", lambda x: x - (x + 100), lambda x: f(156, "uint8"), ("uint8[]",)),
    ("gather constants", lambda x: (x + 1) + 2, lambda x: x + 3, ("int32[?]",)),
    ("gather constants", lambda x: (x - 1) + 2, lambda x: x + 1, ("int32[]",)),
    ("gather constants", lambda x: (x + 5) - 2, lambda x: x - op("subtract", f(2, "int32"), f(5, "int32")),
     ("int32[]",)),
    ("gather constants", lambda x: (x - 5) - 2, lambda x: x - 7, ("int32[]",)),
    ("gather constants", lambda x: 2 * (x * 3), lambda x: x * 6, ("int32[]",)),
    ("gather constants", lambda x: (x & 7) & 12, lambda x: x & 4, ("int32[]",)),
    ("twice", lambda x: -(-x), lambda x: x, ("float32[?]",)),
    ("twice", lambda x: rt.logical_not(rt.logical_not(x)), lambda x: x, ("bool[]",)),
    ("once", lambda x: abs(abs(x)), lambda x: abs(x), ("float32[]",)),
    ("once", lambda x: rt.floor(rt.math.ceil(x)), lambda x: rt.math.ceil(x), ("float32[]",)),
    ("once", lambda x: rt.nn.relu(rt.nn.relu(x)), lambda x: rt.nn.relu(x), ("float32[5]",)),
    ("abs of negative", lambda x: abs(-x), lambda x: abs(x), ("complex64[3]",)),
    ("stop_gradient", lambda x: rt.stop_gradient(x), lambda x: x, ("float32[]",)),
    ("not of a comparison", lambda x, y: rt.logical_not(x < y), lambda x, y: x >= y, ("int32[]", "int32[]")),
    ("not of a comparison", lambda x, y: rt.logical_not(x == y), lambda x, y: x != y, ("float32[3]", "float32[3]")),
    ("compared with a bool", lambda x: x == True, lambda x: x, ("bool[]",)),  # noqa: E712
    ("compared with a bool", lambda x: x != False, lambda x: x, ("bool[2]",)),  # noqa: E712
    ("compared with a bool", lambda x: x == False, lambda x: rt.logical_not(x), ("bool[]",)),  # noqa: E712
    ("compared with a bool", lambda x: True ^ x, lambda x: rt.logical_not(x), ("bool[]",)),
    ("where", lambda c, x: rt.where(c, x, x), lambda c, x: x, ("bool[]", "float32[3]")),
    ("where", lambda x, y: rt.where(f(True, "bool"), x, y), lambda x, y: x, ("float32[]", "float32[]")),
    ("where", lambda x, y: rt.where(rt.zeros([2], "bool"), x, y), lambda x, y: y, ("int32[2]", "int32[2]")),
    ("where", lambda c, x, y: rt.where(rt.logical_not(c), x, y), lambda c, x, y: rt.where(c, y, x),
     ("bool[]", "float32[3]", "float32[3]")),
    ("where", lambda c, y: rt.where(c, True, y), lambda c, y: c | y, ("bool[]", "bool[3]")),
    ("where", lambda c, y: rt.where(c, c, y), lambda c, y: c | y, ("bool[]", "bool[]")),
    ("where", lambda c, x: rt.where(c, x, False), lambda c, x: c & x, ("bool[]", "bool[]")),
    ("where", lambda c: rt.where(c, True, False), lambda c: c, ("bool[3]",)),
    ("where", lambda c: rt.where(c, False, True), lambda c: rt.logical_not(c), ("bool[3]",)),
    ("where of where", lambda c, x, y: rt.where(c, rt.where(c, x, y), y), lambda c, x, y: rt.where(c, x, y),
     ("bool[]", "float32[3]", "float32[3]")),
    ("where of where", lambda c, x, y: rt.where(c, x, rt.where(c, x, y)), lambda c, x, y: rt.where(c, x, y),
     ("bool[]", "int32[]", "int32[]")),
    ("cast", lambda x: op("cast", x, dtype=t.int32), lambda x: x, ("int32[?]",)),
    ("cast", lambda x: rt.cast(rt.cast(x, "int64"), "int32"), lambda x: x, ("int32[?]",)),
    ("cast", lambda x: rt.cast(rt.cast(x, "float64"), "int32"), lambda x: x, ("int32[]",)),
    ("cast", lambda x: rt.cast(rt.cast(x, "float64"), "float16"), lambda x: rt.cast(x, "float16"), ("float32[3]",)),
    ("cast", lambda x: rt.cast(rt.cast(x, "int32"), "uint8"), lambda x: rt.cast(x, "uint8"), ("int16[3]",)),
    ("cast", lambda x: rt.cast(rt.cast(x, "float32"), "bool"), lambda x: rt.cast(x, "bool"), ("uint8[3]",)),
    ("shape as it is", lambda x: rt.reshape(x, [2, 3]), lambda x: x, ("float32[2,3]",)),
    ("shape as it is", lambda x: op("transpose", x, perm=(0, 1)), lambda x: x, ("float32[?,3]",)),
    ("shape as it is", lambda x: rt.concat([x], 0), lambda x: x, ("float32[?]",)),
    ("shape as it is", lambda x: op("squeeze", x, axis=()), lambda x: x, ("float32[3]",)),
    ("shape of a shape", lambda x: rt.reshape(rt.reshape(x, [6]), [3, 2]), lambda x: rt.reshape(x, [3, 2]),
     ("float32[2,3]",)),
    ("shape of a shape", lambda x: rt.reshape(rt.expand_dims(x, 0), [3, 2]), lambda x: rt.reshape(x, [3, 2]),
     ("float32[2,3]",)),
    ("shape of a shape", lambda x: rt.transpose(rt.transpose(x, [1, 2, 0]), [2, 1, 0]),
     lambda x: rt.transpose(x, [0, 2, 1]), ("float32[2,3,4]",)),
    ("shape of a shape", lambda x: rt.broadcast_to(rt.broadcast_to(x, [2, 3]), [4, 2, 3]),
     lambda x: rt.broadcast_to(x, [4, 2, 3]), ("float32[3]",)),
    ("squeeze of expand_dims", lambda x: rt.squeeze(rt.expand_dims(x, 1), 1), lambda x: x, ("float32[?]",)),
    ("squeeze of expand_dims", lambda x: rt.expand_dims(rt.squeeze(x, 0), 0), lambda x: x, ("float32[1,3]",)),
    ("dim", lambda x: op("dim", x, axis=1), lambda x: f(3, "int32"), ("float32[?,3]",)),
    ("element of a stack", lambda x, y: op("getitem", rt.stack([x, y]), index=(-1,)), lambda x, y: y,
     ("float32[3]", "float32[3]")),
    ("stack of all elements", lambda x: rt.stack([x[0], x[1], x[-1]]), lambda x: x, ("float32[3]",)),
    ("stack of all elements", lambda x: rt.stack([x[i, j] for i in range(2) for j in range(3)]),
     lambda x: rt.reshape(x, [6]), ("float32[2,3]",)),
    ("stack of all elements", lambda x: rt.stack([x[1, 0], x[1, 1], x[1, 2]]), lambda x: x[1], ("float32[2,3]",)),
    ("stack of all elements", lambda x: rt.stack([x[1, i, j] for i in range(2) for j in range(2)]),
     lambda x: rt.reshape(x[1], [4]), ("float32[3,2,2]",)),
    ("broadcast of an operand", lambda x: x + rt.fill([2, 3], 7.0), lambda x: x + f(7), ("float32[2,3]",)),
    ("broadcast of an operand", lambda c, x: rt.where(c, rt.broadcast_to(x, [2, 3]), 0.0),
     lambda c, x: rt.where(c, x, 0.0), ("bool[2,3]", "float32[3]")),
    ("share", lambda x, y: (x * y) - (x * y), lambda x, y: (lambda p: p - p)(x * y), ("float32[?]", "float32[?]")),
    ("share", lambda x, y: (x * y) - (y * x), lambda x, y: (lambda p: p - p)(x * y), ("int32[]", "int32[]")),
]
"""Rule, a function, what it becomes by this rule, and the types of its arguments."""


@pytest.mark.parametrize(("name", "before", "after", "specs"), FIRES)
def test_it_fires(name: str, before: Function, after: Function, specs: tuple[str, ...]) -> None:
    graph, log = traced(before, *specs), []
    old = str(graph)
    new = only(graph, name, *(["fold"] if name == "gather constants" else []), log=log)
    assert name in [fired.rule for fired in log]
    assert text(new) == text(rewrite(traced(after, *specs), [RULES["fold"], RULES["dead code"]]))
    assert str(graph) == old and new is not graph
    same_runs(graph, new)
    same_runs(graph, rewrite(graph))


HOLDS_OFF: list[tuple[str, Function, tuple[str, ...]]] = [
    ("fold", lambda: rt.zeros([3]), ()),  # larger than its operand
    ("fold", lambda x: x + 1, ("int32[]",)),
    ("fold", lambda: f([1, 2], "int32") // f([1, 0], "int32"), ()),  # it raises, when it runs
    ("identity", lambda x: x + 0.0, ("float32[]",)),  # -0.0 + 0.0 is 0.0
    ("identity", lambda x: x - f(-0.0), ("float32[]",)),
    ("identity", lambda x: x * f(1j, "complex64"), ("complex64[]",)),
    ("identity", lambda x: x * f(1, "complex64"), ("complex64[]",)),  # (inf + 1j) * 1 is inf + nanj
    ("identity", lambda x: 1 - x, ("int32[]",)),
    ("identity", lambda x: 1.0 / x, ("float32[]",)),
    ("identity", lambda x: x // 1.0, ("float32[]",)),  # 1.5 // 1
    ("identity", lambda x: x + rt.zeros([3], "int32"), ("int32[]",)),  # it gets a shape
    ("identity", lambda x, y: x + rt.zeros(rt.shape(y), "int32"), ("int32[?]", "int32[?]")),  # it may broadcast
    ("absorb", lambda x: x * 0.0, ("float32[]",)),  # nan, infinity, -1
    ("absorb", lambda x: x * 0, ("int32[?]",)),  # the shape is not known
    ("absorb", lambda x: x % 2, ("int32[]",)),
    ("absorb", lambda x: x | 1, ("int32[]",)),
    ("same", lambda x: x - x, ("float32[]",)),
    ("same", lambda x: x == x, ("float32[]",)),  # nan
    ("same", lambda x, y: x - y, ("int32[]", "int32[]")),
    ("cancel", lambda x, y: (x + y) - x, ("float32[]", "float32[]")),
    ("cancel", lambda x, y: (x + y) - x, ("int32[3]", "int32[]")),  # the result has a shape
    ("cancel", lambda x: (x + 1) - x, ("int32[?]",)),  # the shape is not known
    ("cancel", lambda x, y: (x - y) - x, ("int32[]", "int32[]")),
    ("gather constants", lambda x: (x + 1.0) + 2.0, ("float32[]",)),
    ("gather constants", lambda x: (1 - x) - 2, ("int32[]",)),
    ("gather constants", lambda x: (x * 2) + 2, ("int32[]",)),
    ("twice", lambda x: -abs(-x), ("float32[]",)),
    ("once", lambda x: abs(rt.nn.relu(x)), ("float32[]",)),
    ("abs of negative", lambda x: -abs(x), ("float32[]",)),
    ("abs of negative", lambda x: abs(-x), ("uint8[3]",)),  # -x is 256 - x
    ("stop_gradient", lambda x: x + 1, ("float32[]",)),
    ("not of a comparison", lambda x, y: rt.logical_not(x < y), ("float32[]", "float32[]")),  # nan
    ("not of a comparison", lambda x, y: rt.logical_not(x), ("bool[]", "bool[]")),
    ("compared with a bool", lambda x: x == 1, ("int32[]",)),
    ("compared with a bool", lambda x: x == f([True, True], "bool"), ("bool[]",)),  # it gets a shape
    ("where", lambda c, x: rt.where(c, x, x), ("bool[3]", "float32[]")),  # it gets a shape
    ("where", lambda c, x: rt.where(c, x, x), ("bool[?]", "float32[?]")),
    ("where", lambda x, y: rt.where(f(True, "bool"), x, y), ("float32[?]", "float32[?]")),  # it may broadcast
    ("where", lambda c, x: rt.where(c, x, 0), ("bool[]", "int32[]")),
    ("where of where", lambda c, d, x: rt.where(c, rt.where(d, x, 0), 1), ("bool[]", "bool[]", "int32[]")),
    ("where of where", lambda c, x, y: rt.where(c, rt.where(c, x, y), 1), ("bool[]", "int32[?]", "int32[?]")),
    ("cast", lambda x: rt.cast(rt.cast(x, "int32"), "float64"), ("float64[]",)),
    ("cast", lambda x: rt.cast(rt.cast(x, "float32"), "int64"), ("int64[]",)),  # 24 bits of 63
    ("cast", lambda x: rt.cast(rt.cast(x, "float64"), "int32"), ("float32[]",)),  # out of range
    ("cast", lambda x: rt.cast(rt.cast(x, "float64"), "uint8"), ("int32[]",)),  # out of range
    ("cast", lambda x: rt.cast(rt.cast(x, "float64"), "float16"), ("int32[]",)),  # rounded twice
    ("cast", lambda x: rt.cast(rt.cast(x, "bool"), "int32"), ("int32[]",)),
    ("shape as it is", lambda x: rt.reshape(x, [3]), ("float32[?]",)),  # it may raise
    ("shape as it is", lambda x, n: rt.broadcast_to(x, [n]), ("float32[3]", "int32[]")),  # only if n is 3
    ("shape as it is", lambda x: rt.transpose(x, [1, 0]), ("float32[2,2]",)),
    ("shape of a shape", lambda x: rt.reshape(rt.reshape(x, [2, 3]), [6]), ("float32[?]",)),  # it may raise
    ("shape of a shape", lambda x: rt.reshape(rt.transpose(x), [6]), ("float32[2,3]",)),
    ("squeeze of expand_dims", lambda x: rt.squeeze(rt.expand_dims(x, 0), 1), ("float32[1]",)),
    ("squeeze of expand_dims", lambda x: rt.expand_dims(rt.squeeze(x, 0), 0), ("float32[?]",)),  # it may raise
    ("dim", lambda x: op("dim", x, axis=0), ("float32[?,3]",)),
    ("element of a stack", lambda x, y: op("getitem", rt.stack([x, y], 1), index=(0,)), ("float32[2]", "float32[2]")),
    ("element of a stack", lambda x, i: rt.stack([x, x])[i], ("float32[2]", "int32[]")),
    ("stack of all elements", lambda x: rt.stack([x[0], x[1]]), ("float32[3]",)),
    ("stack of all elements", lambda x: rt.stack([x[1], x[0]]), ("float32[2]",)),
    ("stack of all elements", lambda x, y: rt.stack([x[0], y[1]]), ("float32[2]", "float32[2]")),
    ("stack of all elements", lambda x: rt.stack([x[0], x[1]]), ("float32[2,2]",)),  # of rows
    ("stack of all elements", lambda x: rt.stack([x[0], x[1]]), ("float32[?]",)),
    ("stack of all elements", lambda x, i: rt.stack([x[0], x[i]]), ("float32[2]", "int32[]")),
    ("stack of all elements", lambda x: rt.stack([x[0, 0], x[1, 0]]), ("float32[2,2]",)),  # a column
    ("broadcast of an operand", lambda x: x + rt.fill([2, 3], 7.0), ("float32[3]",)),  # it gets a shape
    ("broadcast of an operand", lambda x: x + rt.fill([2, 3], 7.0), ("float32[?,3]",)),
    ("share", lambda x, y: (x * y) - (y * x), ("float32[]", "float32[]")),  # nans keep their bits
    ("share", lambda x: rt.random.uniform([2]) - rt.random.uniform([2]), ("int32[]",)),
    ("share", lambda x: rt.cast(x, "int8") == rt.cast(rt.cast(x, "int16"), "int8"), ("int32[]",)),
]
"""Rule, a function where it must not fire, and the types of its arguments."""


@pytest.mark.parametrize(("name", "fn", "specs"), HOLDS_OFF)
def test_it_holds_off(name: str, fn: Function, specs: tuple[str, ...]) -> None:
    graph, log = traced(fn, *specs), []
    new = only(graph, name, log=log)
    assert name not in [fired.rule for fired in log]
    assert text(new) == text(graph)
    if not graph.effect:
        same_runs(graph, rewrite(graph))


ARITHMETIC = [name for name in ("identity", "absorb", "same", "gather constants", "twice", "once", "abs of negative",
                                "not of a comparison", "cast")]


@pytest.mark.parametrize("dtype", t.ALL, ids=str)
def test_arithmetic_is_exact(dtype: t.DType) -> None:
    """Each op of two operands with 0, -0.0, 1, 2 and -1 on either side, and with itself, of every dtype."""
    graph = Graph("f")
    with tracing(graph):
        x = add_input(graph, TensorType(dtype, (40,)), "x")
        results = []
        with np.errstate(all="ignore"):
            numbers = [np.array(number).astype(dtype.np) for number in (0.0, -0.0, 1.0, 2.0, -1.0)]
        for name in ("add", "subtract", "multiply", "divide", "floordiv", "mod", "pow", "bitwise_and", "bitwise_or",
                     "bitwise_xor", "left_shift", "right_shift", "maximum", "minimum", "equal", "less",
                     "greater_equal"):
            for pair in [(x, x), *((x, number) for number in numbers), *((number, x) for number in numbers)]:
                try:
                    result = op(name, *pair)
                except rt.errors.DTypeError:
                    continue
                if not (graph.nodes[-1].errors or (name.endswith("shift") and pair[1] is x)):
                    results += [result, op(name, result, numbers[2]) if result.dtype is dtype else result]
                    if result.dtype is dtype and dtype.is_numeric:
                        results += [-(-result), abs(abs(result))]
        for other in t.ALL:
            for back in t.ALL:
                results.append(op("cast", op("cast", x, dtype=other), dtype=back))
        set_outputs(graph, results)
    log: list[Any] = []
    new = only(graph, *ARITHMETIC, "fold", log=log)
    assert {"cast"} < {fired.rule for fired in log}
    same_runs(graph, new, runs=3)


def test_what_may_raise_stays() -> None:
    """A rule takes away the use of a quotient, not its error."""
    graph = traced(lambda x, y: rt.where(f(True, "bool"), x, x // y), "int32[]", "int32[]")
    new = rewrite(graph)
    assert [node.op.name for node in new.nodes] == ["floordiv"] and new.outputs == [new.inputs[0]]
    same_runs(graph, new)


def test_a_scalar_from_outside_is_a_constant() -> None:
    one = rt.constant(1)
    vector = rt.constant([1, 2])
    graph = traced(lambda x: x * one + vector, "int32[2]")
    new = rewrite(graph)
    assert [outer is vector for outer, _ in new.captures] == [True] and [n.op.name for n in new.nodes] == ["add"]
    same_runs(graph, new)


def test_what_only_is_returned_is_reduced_last() -> None:
    def loss(x: Any) -> Any:
        y = x * x
        return rt.reduce_sum(y), y * 2.0

    graph, log = traced(loss, "float32[4]"), []
    new = only(graph, "reduce last", log=log)
    assert [fired.rule for fired in log] == ["reduce last"]
    assert [node.op.name for node in new.nodes if node.op.name != "const"] == ["multiply", "multiply", "reduce_sum"]
    same_runs(graph, new)

    def used(x: Any) -> Any:
        total = rt.reduce_sum(x)
        return total, x * total

    assert text(only(traced(used, "float32[4]"), "reduce last")) == text(traced(used, "float32[4]"))


def test_the_log_says_which_rule_fired_where() -> None:
    graph, log = traced(lambda x: x + 0, "int32[]"), []
    rewrite(graph, log=log)
    assert [str(fired).split(" in ")[0] for fired in log] == [f"identity: add at {__file__}:{log[0].position.lineno}"]


def test_positions_are_those_of_the_first() -> None:
    graph = traced(lambda x: (
        x * 3 +
        x * 3), "int32[]")
    first = next(node for node in graph.nodes if node.op.name == "multiply")
    (kept,) = [node for node in rewrite(graph).nodes if node.op.name == "multiply"]
    assert kept.position is first.position


def no_care(name: str) -> Any:
    """The rule, but of nodes that may raise, too."""
    return dataclasses.replace(RULES[name], sees=True)


@pytest.mark.parametrize("planted", [
    dataclasses.replace(RULES["identity"], function=lambda b, node: node.inputs[0]),
    dataclasses.replace(RULES["absorb"], function=lambda b, node: (
        b.constant(np.zeros((), node.inputs[0].type.dtype.np)))),
    dataclasses.replace(RULES["cast"], function=lambda b, node: (
        b.apply("cast", node.inputs[0].node.inputs[0], **node.params) if made_by(node.inputs[0], "cast") else None)),
    dataclasses.replace(RULES["where of where"], function=lambda b, node: (
        b.apply("where", node.inputs[0], node.inputs[1].node.inputs[1], node.inputs[2])
        if made_by(node.inputs[1], "where") else None)),
    no_care("where"), no_care("shape as it is"), no_care("identity"),
], ids=lambda rule: rule.name)
def test_a_planted_fault_is_caught(planted: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, planted.name, planted)
    caught = 0
    for name, fn, specs in HOLDS_OFF:
        graph = traced(fn, *specs)
        if name == planted.name and not graph.effect:
            try:
                new = rewrite(graph, [planted])
                new.verify()
                same_runs(graph, new)
            except (AssertionError, GraphError):
                caught += 1
    assert caught


def test_every_rule_says_what_it_does() -> None:
    assert all(rule.doc.endswith(".") and name == rule.name for name, rule in RULES.items())
    of_values = {name for name, rule in RULES.items() if rule.function is not None} - {
        "hoist", "check", "element of a range"}  # see test_rewrite_control.py
    assert {case[0] for case in FIRES} == {case[0] for case in HOLDS_OFF} == of_values
