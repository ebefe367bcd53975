"""Building the rewritten graph: one walk over the old graph, in which each node is simplified before it is added.

A value of the new graphs has one home: the value in the graph that defines it. During construction, nodes refer to
homes, also across graphs; a finished graph captures values from outside. So a node of a loop's body whose inputs all
have homes outside can be hoisted. Constants belong to no graph, and are defined where they are used.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

import numpy as np

from runtime.core.errors import OpError
from runtime.core.graph import Graph, Node, Value
from runtime.core.op import CAST, CONST, REGISTRY, Op
from runtime.core.positions import Position
from runtime.core.types import ListType, TensorType, Type, type_of_array
from runtime.optimize.rules import FAST, RULES, Fired, Rule, named

__all__ = ["LEARN", "Builder", "Context", "certainly_raises", "implied", "is_removable"]

MOST_IMPLIED: Final = 32
LEARN: Final = named("learn", "After a check of a condition, and in the branches on it, its value is known.")

T = TypeVar("T")
Visit = Callable[["Builder", Node, list[Value]], Sequence[Value]]


_by_op: Final[dict[frozenset[Rule], dict[str, tuple[Rule, ...]]]] = {}  # by the set of rules, then by op


class Scope:
    """A scope of lookups: a builder's, and the enclosing ones."""

    __slots__ = ("_depth", "_outer", "is_exited")

    def __init__(self, outer: Scope | None) -> None:
        self.is_exited = False
        """Whether it has been exited, so that no lookup starts in it any more."""
        self._outer = outer
        self._depth: int = 0 if outer is None else outer._depth + 1

    def is_in(self, scope: Scope) -> bool:
        """Whether this is `scope`, or nested in it."""
        inner: Scope | None = self
        while inner is not None and inner._depth > scope._depth:
            inner = inner._outer
        return inner is scope


class Scoped(Generic[T]):
    """A scoped table. The time of a lookup does not grow with the depth of scopes."""

    def __init__(self) -> None:
        self._found: dict[Any, list[tuple[Scope, T]]] = {}

    def add(self, key: Any, scope: Scope, value: T) -> None:
        self._found.setdefault(key, []).append((scope, value))

    def get(self, key: Any, scope: Scope) -> T | None:
        """The value last added in this scope or an enclosing one."""
        found = self._found.get(key, ())
        while found and found[-1][0].is_exited:
            found.pop()
        for holder, value in reversed(found):
            if scope.is_in(holder):
                return value
        return None


class Context:
    """The state shared by the builders of one rewrite."""

    def __init__(self, rules: Iterable[Rule], log: list[Fired] | None, visit: Visit) -> None:
        self.log = log
        self.visit = visit  # for nodes with sub-graphs
        self.active = frozenset(rules)
        self.enabled = frozenset([rule.name for rule in self.active])
        self.by_op = _by_op.setdefault(self.active, {})
        self.constants: dict[Any, Value] = {}
        self.shared: Scoped[tuple[Value, ...]] = Scoped()  # results by op, inputs and params
        self.known: Scoped[Value] = Scoped()  # constants, by the values known to equal them
        self.pool = Graph("constants")

    def rules(self, op: Op) -> tuple[Rule, ...]:
        """The rules to try on a node of `op`, in order."""
        found = self.by_op.get(op.name)
        if found is None:
            found = self.by_op[op.name] = tuple([
                rule for rule in (*RULES.values(), *FAST.values()) if rule in self.active and rule.function is not None
                and (op.name in rule.ops or not (rule.ops or op.effect))])
        return found

    def fired(self, rule: str, op: str, position: Position | None) -> None:
        if self.log is not None:
            self.log.append(Fired(rule, op, position))

    def constant(self, array: Any, type: TensorType | None = None, position: Position | None = None) -> Value:
        """The home of a constant: one value for each dtype, shape and bit pattern."""
        key: Any = (array.dtype.char, array.shape, array.tobytes()) if array.size <= 64 else id(array)
        value = self.constants.get(key)
        if value is None:
            type = type_of_array(array) if type is None else type
            params = {"value": array, "weak": True} if type.weak else {"value": array}
            value = self.constants[key] = Node(self.pool, CONST, (), params, type, position).outputs[0]
        return value


class Builder:
    """Builds one graph.

    loop     it is the body or test of a loop: loop-invariant nodes may be hoisted
    certain  it runs at least once whenever its node runs
    index    of a counted loop's body: the iteration counter, from 0
    counter  the iteration counter and the number of iterations, if that is known
    """

    def __init__(
        self, context: Context, name: str, parent: Builder | None = None, loop: bool = False, certain: bool = False
    ) -> None:
        self.context = context
        self.graph: Graph = Graph(name, parent.graph if parent is not None else None)
        self.parent = parent
        self.loop = loop
        self.certain = certain
        self.index: Value | None = None
        self.counter: tuple[Value, int] | None = None
        self.position: Position | None = None  # of the node being simplified
        self.values: dict[Value, Value] = {}  # from values of the old graphs to their homes
        self.scope: Scope = Scope(parent.scope if parent is not None else None)
        self._inner: dict[Value, Value] = {}  # captured values of this graph, by their home outside
        self._homes: dict[Value, Value] = {}  # the inverse: homes, by value of this graph

    # Reading the old graph.

    def home(self, old: Value) -> Value:
        """The home of a value of an old or finished graph; or a constant that it is known to equal."""
        builder: Builder | None = self
        value = None
        while value is None and builder is not None:
            value = builder.values.get(old) or builder._homes.get(old) or (old if old.graph is builder.graph else None)
            builder = builder.parent
        value = value or old
        return self.context.known.get(value, self.scope) or value

    def counts(self, home: Value) -> bool:
        """Whether a value is the iteration counter of an enclosing loop."""
        return self.index is home or (self.parent is not None and self.parent.counts(home))

    def count_of(self, home: Value) -> int | None:
        """If a value is the iteration counter of an enclosing loop, the number of iterations, if known; else None."""
        builder: Builder | None = self
        while builder is not None:
            if builder.counter is not None and builder.counter[0] is home:
                return builder.counter[1]
            builder = builder.parent
        return None

    def visit(self, old: Node) -> None:
        """Add the rewritten form of a node of the old graph."""
        if old.op is CONST:
            value = old.outputs[0]
            assert isinstance(value.type, TensorType)
            self.values[value] = self.context.constant(old.params["value"], value.type, old.position)
            return
        self.position = old.position
        if old.subgraphs:
            results = self.context.visit(self, old, [self.home(v) for v in old.operands])
        else:
            inputs = [self.home(v) for v in old.inputs]
            types: tuple[Type, ...] = tuple([v.type for v in old.outputs])
            if any(new.type is not v.type for new, v in zip(inputs, old.inputs)):
                try:
                    types = _refined(types, old.op.rule(*[v.type for v in inputs], **old.params))
                except OpError:  # raised when the op is reached, as without the refined types
                    inputs = [self._forget(new, v.type) for new, v in zip(inputs, old.inputs)]
            node = Node(self.graph, old.op, inputs, old.params, types[0] if old.single else types, old.position)
            for old_value, value in zip(old.outputs, node.outputs):
                value.hint = old_value.hint
            results = self.place(node)
            if old.op.name in _CHECKS:
                self.learn(inputs[0], True)
        self.values.update(zip(old.outputs, results, strict=True))

    def _forget(self, home: Value, type: Type) -> Value:
        """The value with no more static type information than `type`."""
        if home.type == type:
            return home
        if isinstance(type, ListType):
            node = Node(self.graph, REGISTRY["list_cast"], (home,), {"element": type.element}, type, self.position)
        else:
            node = Node(self.graph, CAST, (home,), {"dtype": type.dtype}, type, self.position)
        self.graph.nodes.append(node)
        return node.outputs[0]

    def inline(self, graph: Graph, inputs: Sequence[Value] = ()) -> list[Value]:
        """Add the rewritten nodes of a sub-graph; returns its outputs."""
        self.values.update(zip(graph.inputs, inputs, strict=True))
        for outer, inner in graph.captures:
            self.values[inner] = self.home(outer)
        for node in graph.nodes:
            self.visit(node)
        return [self.home(v) for v in graph.outputs]

    # Making nodes.

    def constant(self, array: Any) -> Value:
        return self.context.constant(array, position=self.position)

    def apply(self, op: str, *inputs: Value, **params: Any) -> Value:
        """The result of an op applied to homes, at the position of the node being simplified."""
        record = REGISTRY[op]
        types = record.rule(*[v.type for v in inputs], **params)
        (result,) = self.place(Node(self.graph, record, inputs, params, types, self.position))
        return result

    def place(self, node: Node) -> Sequence[Value]:
        """The results that replace a node whose inputs are homes: simpler values, or those of the added node."""
        self.position = node.position
        for rule in self.context.rules(node.op):
            result = rule.function(self, node)  # type: ignore[misc]
            if result is None:
                continue
            results = (result,) if isinstance(result, Value) else result
            if (rule.sees or not node.errors) and all(
                    mine.type.accepts(new.type) for mine, new in zip(node.outputs, results)):
                self.context.fired(rule.name, node.op.name, node.position)
                return results
        self.graph.nodes.append(node)
        return node.outputs

    def learn(self, condition: Value, truth: bool) -> None:
        """Record the truth of a bool scalar, which is known from here on."""
        if LEARN in self.context.enabled:
            for value, holds in implied(condition, truth):
                if value.constant is None:
                    self.context.known.add(value, self.scope, self.constant(np.array(holds)))

    # Finishing.

    def local(self, home: Value) -> Value:
        """The value in this graph for a home that may be outside: a capture, or a copy of a constant."""
        if home.graph is self.graph:
            return home
        inner = self._inner.get(home)
        if inner is None:
            if home.constant is not None:
                assert home.node is not None
                inner = Node(self.graph, CONST, (), home.node.params, home.type, home.node.position).outputs[0]
            else:
                assert self.parent is not None, f"{home!r} is made in no graph around {self.graph.name}"
                inner = Value(self.graph, home.type, hint=home.hint)
                self.graph.captures.append((self.parent.local(home), inner))
            self._inner[home], self._homes[inner] = inner, home
        return inner

    def finish(self, outputs: Iterable[Value]) -> Graph:
        """The finished graph. Constants are defined at its start."""
        self.scope.is_exited = True
        graph = self.graph
        graph.outputs = [self.local(v) for v in outputs]
        for node in graph.nodes:
            if node.subgraphs:
                captured = node.inputs[len(node.operands):]
                node.inputs = [*map(self.local, node.operands), *captured]
            else:
                node.inputs = [v if v.graph is graph else self.local(v) for v in node.inputs]
        constants = [v.node for v in self._inner.values() if v.node is not None]
        graph.nodes = [*constants, *graph.nodes]
        return graph


_CHECKS: Final = frozenset(("check_bound", "raise_unless"))  # raise unless their first operand is true


def _refined(old: tuple[Type, ...], inferred: Type | tuple[Type, ...]) -> tuple[Type, ...]:
    """The inferred types, where they are more specific."""
    new = inferred if isinstance(inferred, tuple) else (inferred,)
    return tuple([_refine(a, b) for a, b in zip(old, new, strict=True)])


def _refine(old: Type, new: Type) -> Type:
    if isinstance(old, ListType) or isinstance(new, ListType) or not old.accepts(new):
        return old
    return old.with_shape(new.shape)


def implied(condition: Value, truth: bool) -> Iterator[tuple[Value, bool]]:
    """Bools that are known if `condition` is: itself, and its operands, recursively up to a limit."""
    pending = [(condition, truth)]
    for _ in range(MOST_IMPLIED):
        if not pending:
            return
        condition, truth = pending.pop()
        yield condition, truth
        node = condition.node
        if node is not None and node.op.name == "invert":
            pending.append((node.inputs[0], not truth))
        elif node is not None and node.op.name == ("bitwise_and" if truth else "bitwise_or"):
            pending += [(value, truth) for value in node.inputs if value.type == condition.type]


def certainly_raises(graph: Graph) -> bool:
    """Whether a graph always raises."""
    return any(node.op.name in ("raise", "reraise") for node in graph.nodes)


def is_removable(node: Node) -> bool:
    """Whether a node can be dropped if its results are unused: it cannot raise, and terminates."""
    if node.effect or node.errors:
        return False
    return node.op.name != "while_loop" and all(
        is_removable(inner) for graph in node.subgraphs.values() for inner in graph.nodes)
