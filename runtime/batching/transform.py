"""Batching as a transformation of graphs: the nodes of a function of one lane become nodes for all lanes at once.

The nodes are visited in order. Those that depend on no mapped argument are copied; for others the rule of the op
applies (`runtime.batching.rules`), or that of control flow (`control_flow.py`). An op without a rule runs lane by lane.

Under a condition that differs between lanes a `mask` tells which lanes are present. Absent lanes get the values of a
present one, so they compute nothing that a present lane does not: they add neither errors nor NaN.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from runtime.batching.lanes import node_by_lane
from runtime.batching.rules.lists import lifted_list
from runtime.batching.rules.registry import BATCHING, Call, Shared, Unbatched, lifted
from runtime.core.errors import UnimplementedError, locate
from runtime.core.graph import Graph, Node, Value
from runtime.core.inline_graph import copied_node
from runtime.core.trace import apply, capture, current_graph, wrap
from runtime.core.types import ListType, int32, int64
from runtime.ops.creation import zeros
from runtime.ops.indexing import getitem
from runtime.ops.logic import bitwise_and, greater, invert, less, where
from runtime.ops.math import add, cast, floordiv, minimum, multiply, subtract
from runtime.ops.reduction import argmax, reduce_all

__all__ = ["CONTROL", "Batch", "Lane", "both", "controls"]


@dataclass(frozen=True)
class Lane:
    """The counterpart of a value of one lane: a tensor or list, and whether it is batched."""

    x: Any
    batched: bool


@dataclass(frozen=True)
class Counting(Lane):
    """A range of ints that differs between lanes, for a loop, which needs no tensor: start, limit and step."""

    node: Node
    parts: tuple[Lane, ...]

    @classmethod
    def of(cls, node: Node, parts: Sequence[Lane]) -> Counting | None:
        step = node.inputs[2].constant
        known = step is not None and step.dtype.kind == "i" and step != 0
        return cls(None, True, node, tuple(parts)) if known else None

    def over(self, change: Callable[[Any], Any]) -> Counting:
        """A copy with `change` applied to the batched parts."""
        return Counting(None, True, self.node,
                        tuple([Lane(change(part.x), True) if part.batched else part for part in self.parts]))

    def count(self) -> Any:
        """The length in each lane."""
        start, limit = [part.x for part in self.parts[:2]]
        step = int(self.node.inputs[2].constant)
        far = subtract(limit, start) if step > 0 else subtract(start, limit)
        many = floordiv(add(far, abs(step) - 1), abs(step)) if abs(step) > 1 else far
        ahead = less(start, limit) if step > 0 else greater(start, limit)
        return minimum(cast(where(ahead, many, zeros([], many.dtype)), int64), (1 << 31) - 1)

    def item(self, i: Any) -> Lane:
        start, _, step = self.parts
        return Lane(add(start.x, multiply(cast(i, start.x.dtype), step.x)), start.batched)


Control = Callable[["Batch", Node, Any], Sequence[Lane]]
CONTROL: Final[dict[str, Control]] = {}
"""Rules for ops with sub-graphs: from the node and the mask to the results."""
RANDOM: Final = ("philox_skip", "random", "random_int")
NO_ORDER: Final = ("assign_variable", "accumulate_variable")


def controls(*names: str) -> Callable[[Control], Control]:
    def register(rule: Control) -> Control:
        CONTROL.update(dict.fromkeys(names, rule))
        return rule
    return register


class Batch:
    """One vectorised map: `size` lanes (an int, or an int32 scalar), and the counterparts of the values of one lane."""

    def __init__(self, size: Any, randomness: str, fallback: bool) -> None:
        self.size = size
        self.lanes: int | None = size if type(size) is int else None
        self.randomness = randomness
        self.fallback = fallback
        self.known: dict[Value, Lane] = {}
        self.counters: set[Value] = set()  # the indices of counted loops

    # Values.

    def enter(self, graph: Graph) -> None:
        """Map captures of a sub-graph to the captured values."""
        for outer, inner in graph.captures:
            self.known[inner] = self.known[outer]

    def lift(self, lane: Lane) -> Any:
        """The value in batched form."""
        if lane.batched:
            return lane.x
        return lifted_list(lane.x, self.size) if isinstance(lane.x.type, ListType) else lifted(lane.x, self.size)

    def outputs(self, graph: Graph) -> list[Lane]:
        return [self.tensor(value) for value in graph.outputs]

    def tensor(self, value: Value) -> Lane:
        """The counterpart of a value; a `Counting` is converted to a tensor."""
        lane = self.known[value]
        if isinstance(lane, Counting):
            parts = lane.parts
            (x,) = node_by_lane(lane.node, [part.x for part in parts], [part.batched for part in parts], self.size,
                                None, "its size differs from lane to lane")
            lane = self.known[value] = Lane(x, True)
        return lane

    def inline(self, graph: Graph, mask: Any) -> list[Lane]:
        """The results of a sub-graph without inputs, traced into the current graph."""
        self.enter(graph)
        self.run(graph.nodes, mask)
        return self.outputs(graph)

    # Nodes.

    def run(self, nodes: Iterable[Node], mask: Any = None) -> None:
        """Trace the nodes into the current graph."""
        here = current_graph()
        assert here is not None
        for node in nodes:
            first = len(here.nodes)
            results = self._results(node, mask)
            for value, lane in zip(node.outputs, results, strict=True):
                self.known[value] = lane
            if node.position is not None:
                for new in here.nodes[first:]:
                    new.position = node.position

    def _results(self, node: Node, mask: Any) -> Sequence[Lane]:
        inputs = [self.known[value] for value in node.inputs]
        batched = any(lane.batched for lane in inputs)
        name = node.op.name
        if name == "range" and batched and (counting := Counting.of(node, inputs)) is not None:
            return [counting]
        if any(isinstance(lane, Counting) for lane in inputs):
            found = self._of_range(node, inputs)
            if found is not None:
                return [found]
        if name in _EFFECTS:
            return _EFFECTS[name](self, node, mask)
        if name in RANDOM:
            return self._random(node, mask)
        if not batched and (not node.effect or not node.subgraphs):
            return self.copy(node)
        if name in CONTROL:
            return CONTROL[name](self, node, mask)
        return self.by_rule(node, mask)

    def _of_range(self, node: Node, inputs: Sequence[Lane]) -> Lane | None:
        """The result of an op on a range that a loop iterates over, without a tensor; for other ops the range becomes
        one."""
        first = inputs[0]
        if isinstance(first, Counting):
            if node.op.name == "dim":
                return Lane(cast(first.count(), node.params.get("dtype", int32)), True)
            if node.op.name == "getitem" and node.inputs[1:] and node.inputs[1] in self.counters:
                return first.item(inputs[1].x)
        for value, lane in zip(node.inputs, inputs, strict=True):
            if isinstance(lane, Counting) and (not node.subgraphs or value in node.operands):
                self.tensor(value)
        return None

    def copy(self, node: Node) -> list[Lane]:
        """The results of a node whose operands are the same in all lanes."""
        here = current_graph()
        assert here is not None
        outside = {value: capture(here, self.known[value].x) for value in node.inputs}
        return [Lane(wrap(value), False) for value in copied_node(node, here, outside).outputs]

    def by_rule(self, node: Node, mask: Any) -> list[Lane]:
        """The results of a node by the batching rule of its op, if that applies, else lane by lane."""
        rule = BATCHING.get(node.op.name)
        if rule is None:
            return self.by_lane(node, mask, "it has no batching rule")
        inputs = [self.known[value] for value in node.inputs]
        call = Call(node.op, [lane.x for lane in inputs], [lane.batched for lane in inputs],
                    [value.type for value in node.inputs], [value.type for value in node.outputs], node.params,
                    self.size)
        try:
            found = rule(call)
        except Unbatched as why:
            return self.by_lane(node, mask, str(why))
        assert len(found) == len(node.outputs), f"the batching rule of {node.op.name} gives {len(found)} results"
        return [Lane(x.x, False) if isinstance(x, Shared) else Lane(x, True) for x in found]

    def by_lane(self, node: Node, mask: Any, why: str) -> list[Lane]:
        """The results of a node that runs for one lane after another."""
        if not self.fallback and not node.effect:
            error = ValueError(f"No pfor vectorization defined for {node.op.name}: {why}")
            locate(error, node.position)
            raise error
        inputs = [self.known[value] for value in node.inputs]
        found = node_by_lane(node, [lane.x for lane in inputs], [lane.batched for lane in inputs], self.size,
                             mask if node.effect else None, why)
        return [Lane(x, True) for x in found]

    def _random(self, node: Node, mask: Any) -> Sequence[Lane]:
        if self.randomness == "error":
            error = ValueError("random numbers are drawn in a function that is mapped with randomness='error'")
            error.remedy = "Say what is meant: randomness='different' or 'same'."  # type: ignore[attr-defined]
            locate(error, node.position)
            raise error
        if self.randomness == "same" and not any(self.known[value].batched for value in node.inputs):
            return self.copy(node)
        return self.by_rule(node, mask)


# Effects.

Effect = Callable[[Batch, Node, Any], Sequence[Lane]]


def _assigned(batch: Batch, node: Node, mask: Any) -> Sequence[Lane]:
    error = UnimplementedError(
        "a variable is assigned in a function that is mapped: lanes have no order, so no value would be the last",
        remedy="Return the value, and assign after the map what is to be made of those of all lanes.")
    locate(error, node.position)
    raise error


def _raised(batch: Batch, node: Node, mask: Any) -> Sequence[Lane]:
    """All lanes raise, or have the values of one that does: the first one raises."""
    inputs = [batch.known[value] for value in node.inputs]
    apply(node.op, *[getitem(lane.x, 0) if lane.batched else lane.x for lane in inputs], **node.params)
    return ()


def _raised_unless(batch: Batch, node: Node, mask: Any) -> Sequence[Lane]:
    """The first lane where the condition is false raises."""
    condition, *values = [batch.known[value] for value in node.inputs]
    if not condition.batched:
        first: Any = 0
        holds = condition.x
    else:
        holds, first = reduce_all(condition.x), argmax(invert(condition.x))
    apply(node.op, holds, *[getitem(lane.x, first) if lane.batched else lane.x for lane in values], **node.params)
    return ()


def _checked(batch: Batch, node: Node, mask: Any) -> Sequence[Lane]:
    """Element checks run lane by lane, so that the message is about one lane."""
    if not any(batch.known[value].batched for value in node.inputs):
        return batch.copy(node)
    return batch.by_lane(node, None, "its text is of one lane")


def _done(batch: Batch, node: Node, mask: Any) -> Sequence[Lane]:
    """Effects run once for each present lane, in order; if the same in all lanes and without a mask, once."""
    if mask is None and not any(batch.known[value].batched for value in node.inputs):
        return batch.copy(node)
    return batch.by_lane(node, mask, "it has an effect")


_EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(NO_ORDER, _assigned), "raise": _raised, "raise_unless": _raised_unless,
    "check_bound": _raised_unless, "check": _checked, "assert_compare": _checked,
    **dict.fromkeys(("print", "py_function", "numpy_function", "call"), _done)}


def both(mask: Any, more: Any) -> Any:
    """The intersection of the masks."""
    return more if mask is None else bitwise_and(mask, more)
