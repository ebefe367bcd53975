"""Rules for control flow: `cond`, `while_loop` and `reduce`. The sub-graphs of other ops are simplified inside."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from runtime.core.graph import Graph, Node, Value
from runtime.core.types import TensorType, Type
from runtime.optimize.algebra import dtype_of
from runtime.optimize.builder import Builder, certainly_raises, implied, is_removable
from runtime.optimize.rules import Result, named, rule

__all__ = ["visit"]

BRANCH: Final = named("branch", "A cond on a constant is the branch that it takes; on `not p`, one on p.")
EQUAL: Final = named("equal branches", "What both branches give alike needs no cond.")
TOLD: Final = named("which branch", "What is True in one branch and False in the other is the condition.")
SELECT: Final = named("select", "A cond of scalars with short branches that raise nothing, but where a check fails, "
                                "computes both.")
NEVER: Final = named("no iteration", "A loop that never runs gives the state that it starts with.")
SINGLE: Final = named("one iteration", "A counted loop that runs once is its body.")
FIXED: Final = named("fixed state", "State that no iteration changes is what it is at the start.")
CUSTOM: Final = named("custom gradient", "What has a gradient of its own is what it is. Gradients are taken before.")
TWINS: Final = named("twins", "Two variables of a loop that start alike and change alike are one.")

MOST_SPECULATED: Final = 8  # maximum number of nodes, in both branches, that a select computes
MOST_COMPARED: Final = 8  # maximum number of flags compared with one, and of dependent nodes of a flag
CHEAP: Final = frozenset((
    "add", "subtract", "multiply", "negative", "abs", "sign", "maximum", "minimum", "floordiv", "mod", "cast", "where",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "invert", "bitwise_and", "bitwise_or",
    "bitwise_xor", "left_shift", "right_shift", "const", "undefined", "stop_gradient", "relu", "floor", "ceil", "rint",
    "add_fits", "subtract_fits", "multiply_fits",
))
"""Ops that cost about as much as a branch on scalars."""
CHECKS: Final = frozenset(("raise_unless", "add_fits", "subtract_fits", "multiply_fits"))
"""Ops whose cost is negligible compared with what they check."""


def visit(b: Builder, old: Node, operands: list[Value]) -> Sequence[Value]:
    """The results that replace a node with sub-graphs, whose operands have the homes `operands`."""
    if old.op.name == "cond":
        return _cond(b, old, operands[0])
    if old.op.name in ("while_loop", "reduce"):
        return _Loop(b, old, operands).results
    if old.op.name == "custom_gradient" and CUSTOM in b.context.enabled:
        b.context.fired(CUSTOM, old.op.name, old.position)
        return operands[old.params["count"]:]
    graphs = {}
    for name, graph in old.subgraphs.items():
        sub = Builder(b.context, graph.name, b)
        inputs = [sub.graph.add_input(v.type, v.hint) for v in graph.inputs]
        graphs[name] = sub.finish(sub.inline(graph, inputs))
    types = old.outputs[0].type if old.single else tuple([v.type for v in old.outputs])
    return _add(b, old, operands, graphs, types, old.outputs).outputs


def _add(
    b: Builder, old: Node, operands: Sequence[Value], graphs: dict[str, Graph], types: Type | tuple[Type, ...],
    hints: Sequence[Value],
) -> Node:
    """Add the node with new, finished sub-graphs."""
    params = {**old.params, **graphs}
    captured = [outer for graph in params.values() if isinstance(graph, Graph) for outer, _ in graph.captures]
    node = Node(b.graph, old.op, [*operands, *captured], params, types, old.position)
    for value, hint in zip(node.outputs, hints, strict=True):
        value.hint = hint.hint
    b.graph.nodes.append(node)
    return node


# Conditions.

@rule("check", "check_bound", "raise_unless", sees=True)
def check(b: Builder, node: Node) -> Result:
    """A check that is known to hold is removed."""
    (condition, *_), constant = node.inputs, node.inputs[0].constant
    if constant is not None and bool(constant):
        return ()
    compared = condition.node
    if compared is not None and compared.op.name == "not_equal" and _is_zero(compared.inputs[1]):
        return () if _least(b, compared.inputs[0]) == 1 else None
    return None


def _is_zero(value: Value) -> bool:
    constant = value.constant
    return constant is not None and not constant.any()


def _least(b: Builder, value: Value, depth: int = 8) -> int | None:
    """A lower bound of a scalar, 1 or 0, or None: for constants, iteration counters, and sums and maxima of them."""
    value = b.home(value)
    constant = value.constant
    if constant is not None:
        return int(constant > 0) if constant.ndim == 0 and constant >= 0 else None
    if b.counts(value):
        return 0
    node = value.node
    if node is None or not depth:
        return None
    if node.op.name == "cast" and dtype_of(node.inputs[0]).size <= dtype_of(value).size:
        return _least(b, node.inputs[0], depth - 1)
    if node.op.name in ("add", "maximum"):
        parts = [_least(b, v, depth - 1) for v in node.inputs]
        known = [part for part in parts if part is not None]
        return max(known) if len(known) == 2 or (known and node.op.name == "maximum") else None
    return None


def _cond(b: Builder, old: Node, pred: Value) -> Sequence[Value]:
    true: Graph = old.params["true"]
    false: Graph = old.params["false"]
    if BRANCH in b.context.enabled:
        constant = pred.constant
        if constant is not None:
            b.context.fired(BRANCH, "cond", old.position)
            return b.inline(true if constant else false)
        while pred.node is not None and pred.node.op.name == "invert":
            b.context.fired(BRANCH, "cond", old.position)
            pred, true, false = pred.node.inputs[0], false, true
    branches: list[Builder] = []
    outputs: list[list[Value]] = []
    for graph, truth in ((true, True), (false, False)):
        sub = Builder(b.context, "true" if truth else "false", b)
        sub.learn(pred, truth)
        branches.append(sub)
        outputs.append(sub.inline(graph))
        sub.scope.is_exited = True
    b.position = old.position
    results = _without_choice(b, old, pred, outputs)
    chosen = [i for i in range(len(old.outputs)) if i not in results]
    graphs = [sub.finish([homes[i] for i in chosen]) for sub, homes in zip(branches, outputs)]
    if chosen and SELECT in b.context.enabled and _selectable(graphs):
        b.context.fired(SELECT, "cond", old.position)
        results.update(zip(chosen, _selected(b, old, pred, graphs)))
    elif chosen or not all(is_removable(node) for graph in graphs for node in graph.nodes):
        results.update(zip(chosen, _branched(b, old, pred, graphs, chosen)))
    return [results[i] for i in range(len(old.outputs))]


def _without_choice(b: Builder, old: Node, pred: Value, outputs: Sequence[Sequence[Value]]) -> dict[int, Value]:
    """By position, the results that need no select: both branches give the same value, or the predicate's truth."""
    enabled, fired = b.context.enabled, b.context.fired
    results: dict[int, Value] = {}
    for i, (value, x, y) in enumerate(zip(old.outputs, *outputs, strict=True)):
        if x is y and EQUAL in enabled:
            results[i] = x
            fired(EQUAL, "cond", old.position)
        elif TOLD in enabled and _tells(x, y) and isinstance(value.type, TensorType) and not value.type.shape:
            results[i] = pred if x.constant else b.apply("invert", pred)
            fired(TOLD, "cond", old.position)
    return results


def _selected(b: Builder, old: Node, pred: Value, graphs: Sequence[Graph]) -> list[Value]:
    """Compute both branches, and select their results by the predicate."""
    negated = (b.apply("invert", pred), pred) if any(map(_checks, graphs)) else (None, None)
    computed = [_speculated(b, graph, other) for graph, other in zip(graphs, negated)]
    b.position = old.position
    return [b.apply("where", pred, x, y) for x, y in zip(*computed)]


def _branched(
    b: Builder, old: Node, pred: Value, graphs: Sequence[Graph], places: Sequence[int]
) -> Sequence[Value]:
    """A `cond` of these branches. If one always raises, later code learns that the other ran."""
    outputs = [old.outputs[i] for i in places]
    node = _add(b, old, [pred], dict(zip(("true", "false"), graphs)), tuple([v.type for v in outputs]), outputs)
    for graph, truth in zip(graphs, (True, False)):
        if certainly_raises(graph):
            b.learn(pred, not truth)
    return node.outputs


def _tells(x: Value, y: Value) -> bool:
    a, b = x.constant, y.constant
    return a is not None and b is not None and a.dtype.kind == b.dtype.kind == "b" and bool(a) is not bool(b)


def _selectable(graphs: Sequence[Graph]) -> bool:
    """Whether both branches can be speculated, at a lower cost than a branch."""
    nodes = [node for graph in graphs for node in graph.nodes]
    if sum(node.op.name != "const" and node.op.name not in CHECKS for node in nodes) > MOST_SPECULATED:
        return False
    return all(_is_scalar(v) for graph in graphs for v in graph.outputs) and all(
        ((node.op.name in CHEAP and not node.errors) or node.op.name == "raise_unless")
        and all(map(_is_scalar, (*node.inputs, *node.outputs))) for node in nodes)


def _checks(graph: Graph) -> bool:
    return any(node.op.name == "raise_unless" for node in graph.nodes)


def _speculated(b: Builder, graph: Graph, other: Value | None) -> list[Value]:
    """The outputs of a speculated branch. Its checks are weakened so that they hold if `other`, the other branch's
    predicate, is true."""
    for outer, inner in graph.captures:
        b.values[inner] = b.home(outer)
    for node in graph.nodes:
        if node.op.name == "raise_unless":
            assert other is not None
            holds, *operands = map(b.home, node.inputs)
            b.position = node.position
            holds = b.apply("bitwise_or", holds, other)
            b.place(Node(b.graph, node.op, [holds, *operands], node.params, (), node.position))
        else:
            b.visit(node)
    return [b.home(v) for v in graph.outputs]


def _is_scalar(value: Value) -> bool:
    return isinstance(value.type, TensorType) and not value.type.shape


def _is_flag(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype.is_bool and not value.type.shape


# Loops.

class _Loop:
    """A `while_loop` or `reduce`: `results` are the homes of its results.

    State k of the old loop is `kept`, or `fixed` to a home outside the loop, or equal to another state, its twin. Fixed
    state may simplify the body, so that more state becomes fixed: then the body is rebuilt from its current form.
    """

    def __init__(self, b: Builder, old: Node, operands: list[Value]) -> None:
        self.b, self.old = b, old
        self.body: Graph = old.params["body"]
        self.test: Graph | None = old.params.get("test")
        states = len(old.outputs)
        self.lead, self.init = operands[:len(operands) - states], operands[len(operands) - states:]
        self.items = len(self.body.inputs) - states
        self.kept = list(range(states))
        self.fixed: dict[int, Value] = {}
        self.twins: dict[int, int] = {}
        count = self.lead[0].constant if self.lead and old.params.get("stream") is None else None
        self.length = None if count is None else int(count)  # the exact or greatest number of iterations, if known
        self.first = self._first()
        self.results = self._results()

    def _first(self) -> bool | None:
        """Whether there is a first iteration; None if unknown."""
        count = self.length
        if self.old.op.name == "reduce":
            return None if count is None else count > 0
        if self.old.params.get("limited") and (count is None or count <= 0):
            return None if count is None else False
        assert self.test is not None
        if len(self.test.nodes) > 32 or any(node.effect or node.subgraphs for node in self.test.nodes):
            return None
        log, self.b.context.log = self.b.context.log, None
        trial = Builder(self.b.context, "trial", self.b)
        (holds,) = trial.inline(self.test, self.init)
        self.b.context.log = log
        if holds.constant is None or not all(map(is_removable, trial.graph.nodes)):
            return None
        return bool(holds.constant)

    def _may(self, rule: str) -> bool:
        """Record that a rule fires, if it is enabled."""
        if rule not in self.b.context.enabled:
            return False
        self.b.context.fired(rule, self.old.op.name, self.old.position)
        return True

    def _results(self) -> Sequence[Value]:
        b, old = self.b, self.old
        if self.first is False and self._may(NEVER):
            return self.init
        if self.length == 1 and old.op.name == "reduce" and (
                self.test is None or all(map(is_removable, self.test.nodes))) and self._may(SINGLE):
            return b.inline(self.body, [b.constant(np.zeros_like(self.lead[0].constant)), *self.init])
        for k, value in enumerate(self.body.outputs):
            if value is self.body.inputs[self.items + k] and self._may(FIXED):
                self.fixed[k] = self.init[k]
        graphs = self._attempt()
        while graphs is None:
            graphs = self._attempt()
        operands = [*self.lead, *(self.init[k] for k in self.kept)]
        types = tuple([v.type for v in graphs["body"].inputs[self.items:]])
        node = _add(b, old, operands, graphs, types, [old.outputs[k] for k in self.kept])
        found = {**self.fixed, **dict(zip(self.kept, node.outputs))}
        return [found[self.twins.get(k, k)] for k in range(len(old.outputs))]

    def _attempt(self) -> dict[str, Graph] | None:
        """Build the graphs. None if more state proved to be fixed or twins, so that another attempt is worthwhile."""
        b, before = self.b, self.kept
        self.kept = [k for k in before if k not in self.fixed and k not in self.twins]
        subs: dict[str, Builder] = {}
        outputs: dict[str, list[Value]] = {}
        states: dict[str, dict[int, Value]] = {}
        for name, graph in (("test", self.test), ("body", self.body)):
            if graph is None:
                continue
            sub = subs[name] = Builder(b.context, graph.name, b, loop=True, certain=self._certainly_runs(name))
            sub.graph.is_rolled = graph.is_rolled
            operands, states[name] = self._inputs(sub, graph, name, before)
            if name == "body" and self.test is not None:
                self._learn_from_test(outputs["test"][0], states, sub)
            outputs[name] = sub.inline(graph, operands)
        after = dict(zip(before, outputs["body"], strict=True))
        again = self._compare(subs["body"], states["body"], after)
        outputs["body"] = [after[k] for k in self.kept]
        graphs = {name: sub.finish(outputs[name]) for name, sub in subs.items()}
        if not again:
            return graphs
        self.body, self.test = graphs["body"], graphs.get("test")
        return None

    def _certainly_runs(self, name: str) -> bool:
        """Whether the test or the body certainly runs at least once."""
        if self.first or name != "test" or self.old.op.name != "while_loop":
            return bool(self.first)
        return not self.old.params.get("limited") or (self.length is not None and self.length > 0)

    def _inputs(
        self, sub: Builder, graph: Graph, name: str, before: Sequence[int]
    ) -> tuple[list[Value], dict[int, Value]]:
        """The inputs with which a test or body is inlined: new inputs, or the homes or twins of fixed state; and the
        state among them, by position."""
        own = len(graph.inputs) - len(before)  # the number of inputs that are not state
        operands = [sub.graph.add_input(v.type, v.hint) for v in graph.inputs[:own]]
        if name == "body" and self.old.op.name == "reduce" and self.old.params.get("stream") is None:
            sub.index = operands[0]
            sub.counter = None if self.length is None else (operands[0], self.length)
        state = dict(self.fixed)
        for k, value in zip(before, graph.inputs[own:], strict=True):
            k = self.twins.get(k, k)
            if k not in state:
                state[k] = sub.graph.add_input(value.type, value.hint)
            operands.append(state[k])
        return operands, state

    def _learn_from_test(self, holds: Value, states: dict[str, dict[int, Value]], body: Builder) -> None:
        """Let the body use that the test was true. A reduce has no test before the first iteration."""
        positions = {value: k for k, value in states["test"].items()}
        for value, truth in implied(holds, True):
            k = positions.get(value)
            if k is None or value.constant is not None:
                continue
            start = self.init[k].constant
            if self.old.op.name == "while_loop" or (start is not None and bool(start) is truth):
                body.learn(states["body"][k], truth)

    def _compare(self, body: Builder, made: dict[int, Value], after: dict[int, Value]) -> bool:
        """Find state that is fixed, or has a twin: `made` is the state before an iteration, `after` the state after it.
        Returns whether there was any."""
        again = False
        alike: dict[tuple[Value, Type], list[int]] = {}  # states with equal initial values that are not twins
        for k in self.kept:
            if self._is_fixed(body, made[k], after[k], self.init[k]) and self._may(FIXED):
                self.fixed[k] = self.init[k]
                again = True
                continue
            others = alike.setdefault((self.init[k], made[k].type), [])
            twin = next((j for j in others[:MOST_COMPARED] if self._are_twins(body, made, after, j, k)), None)
            if twin is None or not self._may(TWINS):
                others.append(k)
                continue
            self.twins = {**{j: twin if i == k else i for j, i in self.twins.items()}, k: twin}
            again = True
        return again

    def _is_fixed(self, body: Builder, made: Value, after: Value, init: Value) -> bool:
        """Whether an iteration leaves a state at its initial value; for a flag, assuming that it was so before."""
        if after is made or after is init:
            return True
        return init.constant is not None and _is_flag(made) and _with(body, after, {made: init}, MOST_COMPARED) is init

    def _are_twins(self, body: Builder, made: dict[int, Value], after: dict[int, Value], j: int, k: int) -> bool:
        """Whether two states with equal initial values stay equal in each iteration; for flags, assuming that they were
        so before."""
        if after[j] is after[k]:
            return True
        if not _is_flag(made[k]):
            return False
        alike = {made[k]: body.home(made[j])}
        return _with(body, after[j], alike, MOST_COMPARED) is _with(body, after[k], alike, MOST_COMPARED)


def _with(b: Builder, value: Value, new: dict[Value, Value], depth: int) -> Value:
    """A bool of the builder's graph, with some values replaced by others."""
    if value in new or value.node is None or value.graph is not b.graph or not depth:
        return new.get(value, value)
    node = value.node
    if node.op.name not in ("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "where") or node.errors:
        return value
    inputs = [_with(b, v, new, depth - 1) for v in node.inputs]
    new[value] = value if inputs == node.inputs else b.apply(node.op.name, *inputs)
    return new[value]
