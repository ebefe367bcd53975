"""Control flow for all lanes at once.

A condition that is the same in all lanes stays a branch. Otherwise both branches run, each if some lane takes it, and a
select picks the results; a loop runs until its last lane ends, and lanes that have ended keep their state.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.batching.masks import Present, harmless, select
from runtime.batching.rules.lists import batched_type
from runtime.batching.rules.registry import Unbatched
from runtime.batching.transform import Batch, Counting, Lane, both, controls
from runtime.core.graph import Graph, Node, Value, shape_of
from runtime.core.op import CAST
from runtime.core.trace import add_input, apply, current_graph, set_outputs, tracing
from runtime.core.types import ListType
from runtime.ops.concat_split import concat
from runtime.ops.control import COND
from runtime.ops.creation import ones, zeros
from runtime.ops.logic import bitwise_and, greater, invert, less, where
from runtime.ops.math import add, cast
from runtime.ops.reduction import reduce_any, reduce_max, reduce_sum

State = Sequence[Lane]


# Branches.

@controls("cond")
def _cond(batch: Batch, node: Node, mask: Any) -> State:
    pred = batch.known[node.inputs[0]]
    true, false = node.params["true"], node.params["false"]
    if pred.batched:
        try:
            return _both_branches(batch, node, pred.x, mask)
        except Unbatched as why:
            return batch.by_lane(node, mask, str(why))
    here = current_graph()
    graphs = [Graph(graph.name, here) for graph in (true, false)]
    found = []
    for new, graph in zip(graphs, (true, false), strict=True):
        with tracing(new):
            found.append(batch.inline(graph, mask))
    batched = [a.batched or b.batched for a, b in zip(*found, strict=True)]
    for new, lanes in zip(graphs, found, strict=True):
        with tracing(new):
            set_outputs(new, [batch.lift(lane) if b else lane.x for lane, b in zip(lanes, batched, strict=True)])
    results = apply(COND, pred.x, true=graphs[0], false=graphs[1])
    return [Lane(x, b) for x, b in zip(results, batched, strict=True)]


def _both_branches(batch: Batch, node: Node, pred: Any, mask: Any) -> State:
    true, false = node.params["true"], node.params["false"]
    captured = [{inner: outer for outer, inner in graph.captures} for graph in (true, false)]
    same = [_constant_result(a, b, *captured) for a, b in zip(true.outputs, false.outputs, strict=True)]
    places = [k for k, value in enumerate(same) if value is None]
    for k in places:
        _need_shape(node.outputs[k].type, "the results of its branches")
    then = _branch(batch, node, true, pred, mask, places)
    orelse = _branch(batch, node, false, invert(pred), mask, places)
    chosen = iter([_chosen(pred, a, b, len(shape_of(node.outputs[k].type)))
                   for a, b, k in zip(then, orelse, places, strict=True)])
    return [next(chosen) if value is None else batch.known[value] for value in same]


def _constant_result(a: Value, b: Value, of_a: dict[Value, Any], of_b: dict[Value, Any]) -> Any:
    """The captured value that both branches return, or None."""
    outer = of_a.get(a)
    return outer if outer is not None and of_b.get(b) is outer else None


def _need_shape(type: Any, what: str) -> None:
    """Unbatched if the shapes in both branches are not known to be equal, so that a select is impossible."""
    if isinstance(type, ListType):
        raise Unbatched(f"{what} are lists whose lengths differ from lane to lane")
    if None in type.shape:
        raise Unbatched(f"{what} have shapes that only the run knows")


def _chosen(pred: Any, a: Lane, b: Lane, rank: int) -> Lane:
    if a.x is b.x:
        return a
    return Lane(select(pred, a.x, b.x, rank), True)


def _branch(batch: Batch, node: Node, graph: Graph, here: Any, mask: Any, places: Sequence[int]) -> State:
    """The results `places` of a branch that the lanes in the mask `here` take."""
    if harmless(graph):
        lanes = batch.inline(graph, both(mask, here))
        return [lanes[k] for k in places]
    outer = current_graph()
    taken, other = Graph(graph.name, outer), Graph("nobody", outer)
    with tracing(taken):
        _enter(batch, graph, Present(here))
        batch.run(graph.nodes, both(mask, here))
        found = batch.outputs(graph)
        set_outputs(taken, [batch.lift(found[k]) for k in places])
    with tracing(other):
        set_outputs(other, [_nothing(batch, node.outputs[k].type) for k in places])
    results = apply(COND, reduce_any(here), true=taken, false=other)
    return [Lane(x, True) for x in results]


def _nothing(batch: Batch, type: Any) -> Any:
    """Placeholder results of a branch that no lane takes."""
    x = zeros([batch.size, *type.shape], type.dtype)
    return apply(CAST, x, dtype=type.dtype, weak=True) if type.weak else x


def _enter(batch: Batch, graph: Graph, present: Present) -> None:
    """Map captures of a sub-graph to the captured values, restricted to the present lanes."""
    batch.enter(graph)
    for _, inner in graph.captures:
        lane = batch.known[inner]
        if isinstance(lane, Counting):
            batch.known[inner] = lane.over(present.only)
        elif lane.batched:
            batch.known[inner] = Lane(present.only(lane.x), True)


# Loops.

class _Loop:
    """A loop, whose states become batched one after another until a fixpoint."""

    def __init__(self, batch: Batch, node: Node, mask: Any) -> None:
        self.batch, self.node, self.mask = batch, node, mask
        self.body: Graph = node.params["body"]
        self.test: Graph | None = node.params.get("test")
        count = len(node.outputs)
        operands = node.operands
        self.before = [batch.known[value] for value in operands[:len(operands) - count]]
        self.init = [batch.known[value] for value in operands[len(operands) - count:]]
        self.state = self.body.inputs[len(self.body.inputs) - count:]
        self.items = self.body.inputs[:len(self.body.inputs) - count]
        self.batched = [lane.batched for lane in self.init]
        if node.op.name == "reduce" and node.params.get("stream") is None:
            batch.counters.update(self.items)
        self.options = {name: param for name, param in node.params.items() if not isinstance(param, Graph)}

    def types(self) -> list[Any]:
        return [batched_type(value.type, self.batch.lanes) if b else value.type
                for value, b in zip(self.state, self.batched, strict=True)]

    def inputs(self, graph: Graph, values: Sequence[Value]) -> list[Any]:
        """Inputs of a new graph for the state; `values` are the corresponding inputs of the loop's graph."""
        made = [add_input(graph, type, value.hint) for type, value in zip(self.types(), values, strict=True)]
        self.bind(values, [Lane(x, b) for x, b in zip(made, self.batched, strict=True)])
        return made

    def bind(self, values: Sequence[Value], lanes: State) -> None:
        self.batch.known.update(zip(values, lanes, strict=True))

    def starts(self) -> list[Any]:
        return [self.batch.lift(lane) if b else lane.x for lane, b in zip(self.init, self.batched, strict=True)]

    def results(self, found: Sequence[Any]) -> State:
        return [Lane(x, b) for x, b in zip(found, self.batched, strict=True)]

    def settled(self, found: State) -> bool:
        """Whether the results of the body match the state; otherwise states have become batched."""
        more = [b or lane.batched for lane, b in zip(found, self.batched, strict=True)]
        done, self.batched = more == self.batched, more
        return done

    def fitted(self, found: State) -> list[Any]:
        return [self.batch.lift(lane) if b else lane.x for lane, b in zip(found, self.batched, strict=True)]

    def plain(self) -> tuple[Graph, Graph | None] | None:
        """The body, and the test if there is one; None if the test's result differs between lanes."""
        while True:
            here = current_graph()
            body = Graph(self.body.name, here)
            with tracing(body):
                self.bind(self.items, [Lane(add_input(body, value.type, value.hint), False) for value in self.items])
                self.inputs(body, self.state)
                found = self.batch_of(self.body)
                if not self.settled(found):
                    continue
                set_outputs(body, self.fitted(found))
            if self.test is None:
                return body, None
            test = Graph(self.test.name, here)
            with tracing(test):
                self.inputs(test, self.test.inputs)
                (going,) = self.batch_of(self.test)
                if going.batched:
                    return None
                set_outputs(test, [going.x])
            return body, test

    def batch_of(self, graph: Graph) -> State:
        return self.batch.inline(graph, self.mask)


def _changed(loop: _Loop) -> list[bool]:
    """For each state, whether the body may change it."""
    return [out is not value for out, value in zip(loop.body.outputs, loop.state, strict=True)]


def _prepared(loop: _Loop) -> None:
    """Make all states that the body may change batched. Unbatched if a select cannot keep one of them."""
    loop.batched = [b or changed for b, changed in zip(loop.batched, _changed(loop), strict=True)]
    for value, changed in zip(loop.state, _changed(loop), strict=True):
        if changed:
            _need_shape(value.type, "the state of the loop")


def _step(loop: _Loop, mask: Any, state: list[Any]) -> tuple[Any, list[Any]]:
    """One iteration of the lanes in `mask`: the mask of those that continue, and the next state."""
    batch = loop.batch
    graphs = [loop.body] if loop.test is None else [loop.body, loop.test]
    safe = all(map(harmless, graphs))
    present = Present(mask)
    arguments = state if safe else [present.only(x) if b else x for x, b in zip(state, loop.batched, strict=True)]
    for graph in graphs:
        if safe:
            batch.enter(graph)
        else:
            _enter(batch, graph, present)
    inside = both(loop.mask, mask)
    loop.bind(loop.state, loop.results(arguments))
    batch.run(loop.body.nodes, inside)
    found = batch.outputs(loop.body)
    going = mask
    if loop.test is not None:
        loop.bind(loop.test.inputs, found)
        batch.run(loop.test.nodes, inside)
        going = bitwise_and(mask, batch.outputs(loop.test)[0].x)
    merged = [select(mask, batch.lift(lane), x, len(shape_of(value.type))) if changed else x
              for lane, x, value, changed in zip(found, state, loop.state, _changed(loop), strict=True)]
    return going, merged


def _masked(loop: _Loop, first: Any, before: Sequence[Any], ends: Any = None) -> State:
    """The loop until no lane continues, starting with the lanes in `first`. `before`: the operands before the state;
    `ends`: the number of iterations of each lane of a counted loop."""
    here = current_graph()
    body, test = Graph(loop.body.name, here), Graph("test", here)
    with tracing(body):
        index = [add_input(body, value.type, value.hint) for value in loop.items]
        loop.bind(loop.items, [Lane(x, False) for x in index])
        going = add_input(body, first.type, "going")
        after, state = _step(loop, going, loop.inputs(body, loop.state))
        if ends is not None:
            after = bitwise_and(after, less(add(index[0], 1), ends))
        set_outputs(body, [after, *state])
    with tracing(test):
        more = add_input(test, first.type, "going")
        for type in loop.types():
            add_input(test, type)
        set_outputs(test, [reduce_any(more)])
    params = _ordered({**loop.options, "body": body, "test": test}, loop.node.op.name == "reduce")
    return loop.results(apply(loop.node.op, *before, first, *loop.starts(), **params)[1:])


def _ordered(params: dict[str, Any], counted: bool) -> dict[str, Any]:
    """Reorder sub-graphs to the order of the op's params."""
    first = ("body", "test") if counted else ("test", "body")
    return {**{name: params[name] for name in first if name in params},
            **{name: param for name, param in params.items() if name not in first}}


@controls("while_loop")
def _while(batch: Batch, node: Node, mask: Any) -> State:
    loop = _Loop(batch, node, mask)
    try:
        if any(lane.batched for lane in loop.before):
            raise Unbatched("its greatest number of iterations differs from lane to lane")
        graphs = loop.plain()
        before = [lane.x for lane in loop.before]
        if graphs is not None:
            body, test = graphs
            params = _ordered({**loop.options, "body": body, "test": test}, False)
            return loop.results(apply(node.op, *before, *loop.starts(), **params))
        _prepared(loop)
        assert loop.test is not None
        loop.bind(loop.test.inputs, loop.results(loop.starts()))
        (going,) = loop.batch_of(loop.test)
        return _masked(loop, batch.lift(going), before)
    except Unbatched as why:
        return batch.by_lane(node, mask, str(why))


@controls("reduce")
def _reduce(batch: Batch, node: Node, mask: Any) -> State:
    loop = _Loop(batch, node, mask)
    try:
        if not any(lane.batched for lane in loop.before):
            graphs = loop.plain()
            before = [lane.x for lane in loop.before]
            if graphs is not None:
                body, test = graphs
                params = {**loop.options, "body": body, **({} if test is None else {"test": test})}
                return loop.results(apply(node.op, *before, *loop.starts(), **_ordered(params, True)))
            ends = None
        else:
            ends = loop.before[0].x
        if node.params.get("stream") is not None:
            raise Unbatched("a loop over a dataset ends in different lanes at different elements")
        _prepared(loop)
        length = loop.before[0].x if ends is None else _greatest(ends)
        if batch.lanes is None:
            length = where(greater(batch.size, 0), length, zeros([], length.dtype))
        first = ones([batch.size], "bool") if ends is None else less(zeros([], ends.dtype), ends)
        return _masked(loop, first, [length], ends)
    except Unbatched as why:
        return batch.by_lane(node, mask, str(why))


def _greatest(ends: Any) -> Any:
    """The greatest number of iterations, 0 if there are no lanes."""
    return reduce_max(concat([ends, cast([0], ends.dtype)], 0))


# Other ops with sub-graphs.

@controls("custom_gradient")
def _custom(batch: Batch, node: Node, mask: Any) -> State:
    """Cotangents are batched; those of arguments that are the same in all lanes are summed over the lanes."""
    count, gradient = node.params["count"], node.params["gradient"]
    lanes = [batch.known[value] for value in node.operands]
    here = current_graph()
    new = Graph(gradient.name, here)
    results = [batch.lift(lane) for lane in lanes[count:]]
    with tracing(new):
        for value in gradient.inputs:
            ct = add_input(new, batched_type(value.type, batch.lanes), value.hint)
            batch.known[value] = Lane(ct, True)
        found = batch.inline(gradient, None)
        set_outputs(new, [batch.lift(ct) if lane.batched else reduce_sum(batch.lift(ct), 0)
                          for ct, lane in zip(found, lanes[:count], strict=True)])
    made = apply(node.op, *[lane.x for lane in lanes[:count]], *results, gradient=new, count=count)
    return [Lane(x, True) for x in made]


@controls("try_")
def _try(batch: Batch, node: Node, mask: Any) -> State:
    """Runs lane by lane, since each lane takes its own path."""
    if mask is None and not any(batch.known[value].batched for value in node.inputs):
        return batch.copy(node)
    return batch.by_lane(node, mask, "each lane may go to another handler")

