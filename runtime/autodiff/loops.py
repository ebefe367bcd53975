"""Reverse mode through loops: a counted loop over the iterations in reverse order.

Its state consists of the cotangents of the forward loop's state, and sums of those of the body's captures. The forward
loop appends the residuals, which the rules use, to lists, one per value; if there are none, nothing is saved. In a
nested loop these lists are carried through the outer loop, which saves where each of its iterations starts in them.
For a table of which the body of a rolled loop only gathers slices, the state has lists of slices and of their indices
instead of a sum, if the cotangent is wanted as slices: those of the unrolled loop, which optimizers tell from their
sum. Loops over tensors give the sum, as in TensorFlow.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.autodiff.activity import Activity, state_of, useful_state, variables_read
from runtime.autodiff.backward import handles, passes_rows, sweep
from runtime.autodiff.binomial import revolve
from runtime.autodiff.branches import STACKS, Targets, attach, gathered, inner_keys, note_stack
from runtime.autodiff.checkpoints import copied_here, prepare, segmented
from runtime.autodiff.cotangents import Cotangents, fit, zero_for
from runtime.autodiff.rules.gather import of_rows
from runtime.autodiff.rules.registry import CONSTANT
from runtime.autodiff.saving import add_state, define, drop_dead, inserted, plan_saved, recaptured
from runtime.core.graph import Graph, Node, Value
from runtime.core.op import CAST, CONST
from runtime.core.tensor import GraphTensor
from runtime.core.trace import add_input, apply, current_graph, tracing, wrap
from runtime.core.types import ListType, TensorType, int64
from runtime.ops.control import COND, REDUCE, SAVED, UNDEFINED
from runtime.ops.lists import list_append, list_concat, list_extend, list_get, list_length, list_new, list_slice
from runtime.ops.math import add, cast, subtract

__all__: list[str] = []

_COUNT = TensorType(int64)


@handles("while_loop", "reduce")
def _loop(node: Node, out_cts: Sequence[Any], cts: Cotangents, activity: Activity) -> None:
    checkpoint = node.params.get("checkpoint")
    if checkpoint is not None:
        reads = prepare(node, activity)
        if isinstance(checkpoint, tuple):
            revolve(node, _count(node), out_cts, cts, activity)
        else:
            segmented(node, activity)
            _pull(node, out_cts, cts, activity)
        for key, value in reads.items():
            cts.add(key, cts.pop(value), None)
        return
    if not node.params.get("again"):
        _pull(node, out_cts, cts, activity)
        return
    copy, inner, own, places = copied_here(node, cts, activity)
    _pull(copy, out_cts, inner, own)
    for value, place in places.items():
        cts.put(value, inner.get(place))
    for key in activity.variables:
        cts.put(key, inner.get(key))


def _pull(node: Node, out_cts: Sequence[Any], cts: Cotangents, activity: Activity) -> None:
    loop = _Loop(node, out_cts, cts, activity)
    if loop.useful:
        loop.run()


class _Loop:
    """The reverse mode of a loop, in the current graph."""

    def __init__(self, node: Node, out_cts: Sequence[Any], cts: Cotangents, activity: Activity) -> None:
        self.node, self.out_cts, self.cts, self.activity = node, out_cts, cts, activity
        self.body: Graph = node.params["body"]
        self.state = state_of(node, self.body)
        operands = node.operands
        self.init = operands[len(operands) - len(self.state):]
        self.useful = useful_state(node, activity, [k for k, ct in enumerate(out_cts) if ct is not None])
        self.targets = Targets([self.body], activity)
        self.tables = {key: inner[0] for key in self.targets.types if self.body.is_rolled and cts.takes_rows(key)
                       and len(inner := inner_keys(self.body, key)) == 1 and _is_only_gathered(self.body, inner[0])}
        """The targets whose cotangents are slices, with their keys in the body."""
        self.slices: dict[Any, tuple[Any, Any]] = {}
        """By target, the lists of slices and of their indices after an iteration."""
        self.back = Graph("body", self.body)
        here = current_graph()
        assert here is not None
        self.here = here

    def run(self) -> None:
        results, sums = self._trace()
        lists = [x for pair in self.slices.values() for x in pair]
        self.back.outputs = [x.value for x in (*results, *sums.values(), *lists)]
        drop_dead(self.back)
        count = self._attach()
        starts = []
        for k in self.useful:
            ct = self.out_cts[k]
            starts.append(fit(zero_for(wrap(self.node.outputs[k])) if ct is None else ct, self.state[k].type))
        for key in sums:
            ct = self.cts.get(key)
            starts.append(zero_for(self.targets.primal(key)) if ct is None else fit(ct, self.targets.types[key]))
        starts += [list_new([], x.type.element) for x in lists]
        made = apply(REDUCE, count, *starts, body=self.back)
        for key, ct in zip(sums, made[len(self.useful):len(made) - len(lists)], strict=True):
            self.cts.put(key, ct)
        collected = iter(made[len(made) - len(lists):])
        for key in self.slices:
            values, indices = list_concat(next(collected)), list_concat(next(collected))
            self.cts.add(key, of_rows(values, indices, self.targets.primal(key)), self.targets.primal(key))
        for k, ct in zip(self.useful, made[:len(self.useful)], strict=True):
            if self.init[k] in self.activity:
                self.cts.add(self.init[k], ct, None)

    def _trace(self) -> tuple[list[Any], dict[Any, Any]]:
        """The cotangents of the state before an iteration, and the sums for those body captures that it adds to."""
        tables = {*self.tables.values()}
        inner = Cotangents(lambda key: passes_rows(key, tables))
        body, back = self.body, self.back
        with tracing(back):
            self.index = add_input(back, _COUNT, "k")
            sums = {key: add_input(back, type) for key, type in self.targets.types.items() if key not in self.tables}
            for key, x in sums.items():
                inner.put(inner_keys(body, key)[0], x)
            seeds = {k: add_input(back, self.state[k].type) for k in self.useful}
            for k, x in seeds.items():
                value = body.outputs[k]
                inner.add(value, x, wrap(value))
            sweep(body.nodes, inner, self.activity)
            results = []
            for k in self.useful:
                found = inner.get(self.state[k])
                results.append(zero_for(wrap(self.state[k])) if found is None else fit(found, self.state[k].type))
            lists = self._collect(inner)
            after = {key: gathered(inner, body, key) for key in sums}
        changed = {key: fit(after[key], self.targets.types[key]) for key, x in sums.items()
                   if after[key].value is not x.value}
        back.inputs = [self.index.value, *(seeds[k].value for k in self.useful), *(sums[key].value for key in changed),
                       *lists]
        return results, changed

    def _collect(self, inner: Cotangents) -> list[Value]:
        """Append the slices of an iteration to lists; returns these inputs of the backward body."""
        inputs: list[Value] = []
        for key, table in self.tables.items():
            assert inner.is_rows(table) or table not in inner, key
            found = inner.rows(table)
            if found is not None:
                lists = [add_input(self.back, ListType(x.type)) for x in found]
                inputs += [x.value for x in lists]
                self.slices[key] = list_append(lists[0], found[0]), list_append(lists[1], found[1])
        return inputs

    def _attach(self) -> GraphTensor:
        """Complete the backward body, which reads the saved residuals. Returns the number of iterations."""
        node, body, back = self.node, self.body, self.back
        stable = _stable_reads(node)
        available: dict[Value, Any] = {inner: wrap(outer) for outer, inner in body.captures}
        count = _count(self.node)
        index = body.inputs[0] if node.op.name == "reduce" and node.params.get("stream") is None else None
        plan_saved(back, body, {*available, *stable, *([] if index is None else [index])})
        needed = back.captures
        for value, _ in needed:
            if value in stable:
                available[value] = wrap(_read_before(node, value))
        saved = [value for value, _ in needed if value not in available and value is not index]
        spans = {value: self._flattened(value) for value in saved
                 if isinstance(value.type, ListType) and not _continues(value, body)}
        bounds = [bound for _, *both in spans.values() for bound in both]
        lists = {value: self._stack(value) for value in (*saved, *bounds) if value not in spans}
        captured: dict[Value, Any] = {}
        reads: dict[Value, Value] = {}
        for value, inner in needed:
            if value in available:
                captured[inner] = available[value]
            elif isinstance(value.type, ListType) and value not in spans:
                captured[inner] = wrap(lists[value][0])
            else:
                reads[value] = inner
        attach(back, captured)
        if reads:
            with tracing(back), inserted(back):
                i = subtract(subtract(count, np.int64(1)), self.index)
                if index in reads:
                    inner = reads.pop(index)
                    made = _as(i, index.type)
                    define(inner, made.value)
                    i = _scalar(inner) if made is i else i
                _read(reads, lists, spans, i)
        return count

    def _flattened(self, value: Value) -> tuple[Value, Value, Value]:
        """The elements of all lists that `value` is in the iterations, as one list, and where, in it, those of an
        iteration begin and end: values of the body."""
        node, body = self.node, self.body
        graph, type = body.parent, value.type
        assert graph is not None and isinstance(type, ListType)
        with tracing(graph), inserted(graph, node):
            start = list_new([], type.element)
        with tracing(body):
            before = wrap(body.add_input(ListType(type.element), SAVED + (f"_{value.hint}" if value.hint else "")))
            after = list_extend(before, wrap(value))
            bounds = [cast(list_length(x), int64) for x in (before, after)]
        made = add_state(node, start.value, after.value)
        if graph.parent is not None:
            note_stack(made)
        return made, _value(bounds[0]), _value(bounds[1])

    def _stack(self, value: Value) -> tuple[Value, Value | None]:
        """The list to which the loop appends `value` in each iteration, and the offset where this starts (None: 0)."""
        node, body = self.node, self.body
        graph = body.parent
        assert graph is not None
        if isinstance(value.type, ListType):
            return _threaded(node, value), None
        found = _stack_of(node, value) if graph.parent is None else None
        if found is None:
            with tracing(graph), inserted(graph, node):
                start = list_new([], value.type)
            with tracing(body):
                before = wrap(body.add_input(ListType(value.type), SAVED + (f"_{value.hint}" if value.hint else "")))
                after = list_append(before, wrap(value))
            add_state(node, start.value, after.value)
            found = len(node.outputs) - 1
        if graph.parent is None:
            return node.outputs[found], None
        note_stack(node.outputs[found])
        operands = node.operands
        return node.outputs[found], _base(graph, node, operands[len(operands) - len(node.outputs) + found])


def _is_only_gathered(body: Graph, table: Any) -> bool:
    """Whether a body uses a value, or a variable given by id, only to gather slices along its first axis, itself or in
    rolled loops."""
    pending = [table] if isinstance(table, Value) else []
    for node in body.nodes:
        if node.op.name == "read_variable" and id(node.params["variable"]) == table:
            pending.append(node.outputs[0])
        elif isinstance(table, int) and any([table in variables_read(graph) for graph in node.subgraphs.values()]) and (
                not _is_only_gathered_in_loop(node, table)):
            return False
    for value in pending:  # grows meanwhile
        if value in body.outputs:
            return False
        for node in [node for node in body.nodes if value in node.inputs]:
            if node.op.name == "cast":
                pending.append(node.outputs[0])
            elif node.op.name not in CONSTANT and not _gathers(node, value) and not (
                    _is_only_gathered_in_loop(node, value)):
                return False
    return True


def _gathers(node: Node, table: Value) -> bool:
    return (node.op.name == "gather" and node.params["axis"] == 0 and bool(node.params.get("slices"))
            and node.inputs[0] is table and node.inputs[1] is not table)


def _is_only_gathered_in_loop(node: Node, table: Any) -> bool:
    """Whether a node is a rolled loop whose body only gathers slices of a value or variable."""
    body = node.params.get("body")
    if not (isinstance(body, Graph) and body.is_rolled) or node.params.get("checkpoint") or node.params.get("again"):
        return False
    if isinstance(table, int):
        return not any(table in variables_read(graph) for graph in node.subgraphs.values() if graph is not body) and (
            _is_only_gathered(body, table))
    inner = inner_keys(body, table)
    return table not in node.operands and len(inner) == 1 and _is_only_gathered(body, inner[0]) and not any(
        inner_keys(graph, table) for graph in node.subgraphs.values() if graph is not body)


def _read(
    reads: dict[Value, Value], lists: dict[Value, tuple[Value, Value | None]],
    spans: dict[Value, tuple[Value, Value, Value]], i: Any,
) -> None:
    """Read the residuals of iteration `i` in the current graph: for each key of `reads`, define its value."""
    def one(value: Value) -> Any:
        stack, base = lists[value]
        return list_get(wrap(stack), i if base is None else add(cast(wrap(base), int64), i))

    for value, inner in reads.items():
        if value in spans:
            flat, first, last = spans[value]
            define(inner, list_slice(wrap(flat), one(first), one(last)).value)
        else:
            define(inner, one(value).value)


def _count(loop: Node) -> GraphTensor:
    """The number of iterations that the loop has run."""
    if loop.op.name == "reduce" and loop.params.get("stream") is None and loop.params.get("test") is None:
        counted: GraphTensor = _as(wrap(loop.operands[0]), _COUNT)
        return counted
    return _scalar(_counter(loop))


def _as(x: Any, type: Any) -> Any:
    """An integer scalar as another dtype."""
    if x.type == type:
        return x
    return apply(CAST, x, dtype=type.dtype, **({"weak": True} if type.weak else {}))


def _scalar(value: Value) -> GraphTensor:
    found = wrap(value)
    assert isinstance(found, GraphTensor)
    return found


def _value(x: Any) -> Value:
    assert isinstance(x, GraphTensor)
    return x.value


def _counter(loop: Node) -> Value:
    """The state that counts a loop's iterations, added if there is none."""
    body: Graph = loop.params["body"]
    operands = loop.operands
    init = operands[len(operands) - len(loop.outputs):]
    for k, (start, before, after) in enumerate(zip(init, state_of(loop, body), body.outputs, strict=True)):
        made = after.node
        if (start.constant is not None and before.type == _COUNT and not start.constant.any() and made is not None
                and made.op.name == "add" and made.inputs[0] is before and made.inputs[1].constant is not None
                and made.inputs[1].constant == 1):
            return loop.outputs[k]
    assert body.parent is not None
    with tracing(body.parent), inserted(body.parent, loop):
        zero = apply(CONST, value=np.array(0, np.int64))
    with tracing(body):
        counted = add(wrap(body.add_input(_COUNT, "count")), np.int64(1))
    return add_state(loop, zero.value, _value(counted))


def _stack_of(loop: Node, value: Value) -> int | None:
    """The number of the state that collects all values of `value` in a list; None if there is none."""
    body: Graph = loop.params["body"]
    operands = loop.operands
    init = operands[len(operands) - len(loop.outputs):]
    for k, (start, before, after) in enumerate(zip(init, state_of(loop, body), body.outputs, strict=True)):
        if (isinstance(before.type, ListType) and after.node is not None and after.node.op.name == "list_append"
                and after.node.inputs[0] is before and after.node.inputs[1] is value
                and _is_new(start)):
            return k
    return None


def _is_new(value: Value) -> bool:
    """Whether a list is newly created and empty."""
    node = value.node
    return node is not None and node.op.name == "list_new" and not node.inputs


def _base(graph: Graph, node: Node, start: Value) -> Value:
    """The initial length of a loop's list."""
    for other in graph.nodes:
        if other.op.name == "list_length" and other.inputs[0] is start:
            return other.outputs[0]
    with tracing(graph), inserted(graph, node):
        length: GraphTensor = list_length(wrap(start))
    return length.value


def _threaded(loop: Node, value: Value) -> Value:
    """The list `value`, to which a loop in the body of `loop` appends, made a state that `loop` carries."""
    body: Graph = loop.params["body"]
    graph = body.parent
    assert graph is not None and isinstance(value.type, ListType)
    with tracing(graph), inserted(graph, loop):
        start = list_new([], value.type.element)
    before = body.add_input(value.type, value.hint)
    _continue(value, body, before)
    STACKS.pop(id(value), None)
    made = add_state(loop, start.value, value)
    if graph.parent is not None:
        note_stack(made)
    return made


def _continues(value: Value, graph: Graph) -> bool:
    """Whether the list `value` holds residuals of a loop in `graph`, and starts empty in `graph`."""
    return id(value) in STACKS and _starts_empty(value, graph)


def _starts_empty(value: Value, graph: Graph) -> bool:
    node = value.node
    if node is None or value.graph is not graph:
        return False
    if node.op.name in ("while_loop", "reduce"):
        start = _start(value, node)
        return _is_new(start) and start.graph is graph
    return node.op is COND and all(
        made.node is not None and (made.node.op is UNDEFINED or _starts_empty(made, branch))
        for branch in node.subgraphs.values() for made in [branch.outputs[node.outputs.index(value)]])


def _start(value: Value, loop: Node) -> Value:
    """The initial value of a loop's state."""
    return loop.operands[loop.outputs.index(value) - len(loop.outputs)]


def _continue(value: Value, graph: Graph, start: Value) -> None:
    """Make the list `value`, which starts empty in `graph`, start with `start` instead."""
    node = value.node
    assert node is not None
    k = node.outputs.index(value)
    operands = node.operands
    if node.op is COND:
        for branch in node.subgraphs.values():
            inner = branch.capture(start, start.type)
            made = branch.outputs[k]
            if made.node is not None and made.node.op is UNDEFINED:
                branch.outputs[k] = inner
            else:
                _continue(made, branch, inner)
    else:
        old = _start(value, node)
        operands[k - len(node.outputs)] = start
        for other in graph.nodes:
            if other.op.name == "list_length" and other.inputs[0] is old:
                other.inputs[0] = start
                graph.nodes.remove(other)  # moved to the start: `start` is an input or a capture
                graph.nodes.insert(0, other)
                break
    recaptured(node, operands)


def _stable_reads(loop: Node) -> set[Value]:
    """Reads, in a loop's body, of variables that the loop does not change."""
    nodes = [node for graph in loop.subgraphs.values() for node in graph.walk()]
    if any(node.op.foreign and node.op.name not in ("raise", "raise_unless", "reraise") for node in nodes):
        return set()
    written = {id(node.params["variable"]) for node in nodes
               if node.op.name in ("assign_variable", "accumulate_variable")}
    return {node.outputs[0] for node in loop.params["body"].nodes
            if node.op.name == "read_variable" and id(node.params["variable"]) not in written}


def _read_before(loop: Node, read: Value) -> Value:
    """The value of a variable that the loop does not change, read before the loop."""
    graph: Graph | None = loop.params["body"].parent
    assert graph is not None and read.node is not None
    before = graph.nodes[graph.nodes.index(loop) - 1]
    if before.op is read.node.op and before.params["variable"] is read.node.params["variable"]:
        return before.outputs[0]
    made = Node(graph, read.node.op, (), read.node.params, read.type, read.node.position)
    made.outputs[0].hint = read.hint
    graph.nodes.insert(graph.nodes.index(loop), made)
    return made.outputs[0]
