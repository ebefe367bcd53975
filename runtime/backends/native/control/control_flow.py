"""Control flow: `cond`, `while_loop` and `reduce` as basic blocks, with phis for loop-carried values.

Scalars are carried in registers. A loop-carried array has a buffer of its own, which the loop writes in place where
each new element depends only on old elements at the same position, or where an item is set and the old array is dead;
otherwise two buffers are swapped. So a steady loop does not allocate.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from runtime.backends.native.abi.callbacks import StreamSite
from runtime.backends.native.codegen.context import Lowering, Value, listed, lowers
from runtime.backends.native.codegen.index_expressions import Array, Boxed, Leaf, Listed, Scalar, same
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.codegen.variables import ASSIGN, Variable, changes_any, variables_of
from runtime.backends.native.control.branch_buffers import at_home, homes_of
from runtime.backends.native.control.carried_buffers import Carried
from runtime.backends.native.kernels.matmul import packed_operands
from runtime.backends.native.kernels.shapes import integer
from runtime.backends.native.llvm.builder import Index, Val, const
from runtime.backends.native.loops import (
    division_speculation,
    gemm_batching,
    register_tiling,
    spmd_analysis,
    spmd_scheduling,
    time_skewing,
)
from runtime.backends.native.loops.if_conversion import type_of
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import ListType, TensorType, Type

__all__ = ["captured", "changed", "cost_of", "joined", "pack"]


def captured(w: Lowering, node: Node, values: Sequence[Value]) -> list[dict[GraphValue, Value]]:
    """For each sub-graph the values of its captures, computed; those in memory that must not be written as read-only
    views."""
    count = len(node.operands)
    envs: list[dict[GraphValue, Value]] = []
    at = count
    for graph in node.subgraphs.values():
        env: dict[GraphValue, Value] = {}
        for _, inner in graph.captures:
            x = w.settle(w.as_type(values[at], inner.type))
            if isinstance(x, Listed) and x.scratch and not _last(w, node, at):
                x = Listed(x.dtype, x.dims, x.pair, x.length, scratch=False)
            if isinstance(x, Leaf) and x.scratch and not _free(w, node, at, x):
                x = Leaf(x.dtype, x.dims, x.pointer, x.strides, bases=x.bases)
            env[inner] = x
            at += 1
        envs.append(env)
    return envs


def _free(w: Lowering, node: Node, at: int, x: Leaf) -> bool:
    """Whether a branch may write a captured buffer."""
    return _last(w, node, at) and w.unread(x, node.inputs[at])


def _last(w: Lowering, node: Node, at: int) -> bool:
    """Whether a branch has the last use of a captured value."""
    value = node.inputs[at]
    return node.op.name == "cond" and w.last.get(value) == w.node_index and value not in node.operands


def changed(w: Lowering, *graphs: Graph | None) -> list[Variable]:
    """The variables that graphs may assign."""
    present = [graph for graph in graphs if graph is not None]
    if any(changes_any(node) for graph in present for node in graph.walk()):
        return list(w.variables)
    return variables_of(*present, ops=ASSIGN)


def cost_of(w: Lowering, *graphs: Graph | None) -> Index:
    """A lower bound of the nanoseconds per iteration, approximately."""
    arrays = [x for x in w.env.values() if isinstance(x, Array) and any(isinstance(d, Val) for d in x.dims)]
    unknown: Index = 1024  # elements of an array of unknown size: the maximum of these sizes
    for x in arrays:
        size = w.b.i64(w.b.product(x.dims))
        unknown = size if isinstance(unknown, int) else w.b.intrinsic("smax", unknown, size)
    known, times = 0, 0
    for graph in graphs:
        for node in graph.walk() if graph is not None else ():
            known += 1
            work = _WORK.get(node.op.name)
            each = 1 if work is None else work(node)
            for shape in _computed(node):
                if None in shape:
                    times += each
                elif shape:
                    known += math.prod(shape) * each // 8  # type: ignore[arg-type]
    return w.b.iadd(known, w.b.imul(w.b.idiv(unknown, 8), times)) if times else known


def _computed(node: Node) -> list[Sequence[int | None]]:
    """The shapes of what a node computes. For an update, that of the inserted part: the rest mostly stays in place, and
    `Lowering.copy` counts it otherwise."""
    if node.subgraphs:
        return []
    if node.op.name == "scatter":
        return [node.inputs[2].type.shape]  # type: ignore[union-attr]
    shapes: list[Sequence[int | None]] = [v.type.shape for v in node.outputs if isinstance(v.type, TensorType)]
    if node.op.name == "setitem":
        entries = [entry for entry in node.params["index"] if entry is not None]
        return [[size for k, size in enumerate(shapes[0]) if k >= len(entries) or type(entries[k]) is tuple]]
    return shapes


def _inner(node: Node) -> int:
    """The length of the sums in a matrix product, divided by four."""
    shape = node.inputs[0].type.shape  # type: ignore[union-attr]
    last = shape[-1] if shape else 1
    return 256 if last is None else last // 4 + 1


def _kernel(node: Node) -> int:
    sizes = node.inputs[1].type.shape[:-1]  # type: ignore[union-attr]
    return math.prod([8 if size is None else size for size in sizes]) // 4 + 1


_WORK: Final[dict[str, Callable[[Node], int]]] = {"matmul": _inner, "einsum": _inner, "conv": _kernel}


# cond

@lowers("cond")
def cond(w: Lowering, node: Node, *values: Value) -> list[Value]:
    b = w.b
    true, false = node.params["true"], node.params["false"]
    envs = captured(w, node, values)
    storages = changed(w, true, false)
    homes = homes_of(w, node)
    before, dirty = dict(w.variables), dict(w.dirty)
    types: list[Type] = [v.type for v in node.outputs] + [s.type for s in storages]
    places = [w.new_object() if isinstance(type, ListType) and not listed(type) else None for type in types]
    owners: list[list[Value]] = []
    ends: list[dict[Variable, None]] = []

    def branch(graph: Graph, env: dict[GraphValue, Value]) -> Callable[[], list[Val]]:
        def write() -> list[Val]:
            w.variables, w.dirty = dict(before), dict(dirty)
            with w.scope():
                results = w.run(graph, env)
                if b.done:  # an exception was surely raised: nothing may be written after it
                    return []
                results += [w.variables[s] for s in storages]
                results = [w.as_type(x, type) for x, type in zip(results, types, strict=True)]
                results = at_home(w, results, homes)
                vals = pack(w, types, places, results)
                owners.append(results)
                ends.append(w.dirty)
            return vals

        return write

    merged = b.either(w.element(values[0]), branch(true, envs[0]), branch(false, envs[1]))
    w.variables = dict(before)
    w.dirty = {s: None for end in ends for s in end} if ends else dict(dirty)
    if not ends:
        return [w.undefined(v.type) for v in node.outputs]
    results = joined(w, types, places, merged, owners)
    _see(w, storages, results[len(node.outputs):])
    return results[:len(node.outputs)]


def joined(w: Lowering, types: Sequence[Type], places: Sequence[int | None], merged: Sequence[Val],
           owners: Sequence[Sequence[Value]]) -> list[Value]:
    """The results after branches, from the phis. `owners`: the results of each branch that reaches its end."""
    results = unpack(w, types, places, merged)
    for k, x in enumerate(results):
        if isinstance(x, Listed):
            lists = [s for mine in owners if isinstance(s := mine[k], Listed)]
            if len({s.pair.ref for s in lists}) == 1:
                x.pair = lists[0].pair
            x.scratch = all(s.scratch for s in lists)
        if isinstance(x, Leaf):
            sources = [mine[k] for mine in owners]
            x.bases = x.bases.union(*[s.bases for s in sources if isinstance(s, Leaf)])
            if not all(isinstance(s, Leaf) for s in sources):
                continue
            leaves = [s for s in sources if isinstance(s, Leaf)]
            # the same buffer in both, or buffers of the branches' own
            if len({s.pointer.ref for s in leaves}) == 1:
                x.pointer = leaves[0].pointer
            x.scratch = all(s.scratch for s in leaves)
            x.dims = tuple([first if all(same(first, d) for d in others) else d
                            for d, first, *others in zip(x.dims, *[s.dims for s in leaves], strict=True)])
    return results


def pack(w: Lowering, types: Sequence[Type], places: Sequence[int | None], results: Sequence[Value]) -> list[Val]:
    """The phis' parts of values: scalars, addresses, unknown dimensions. Objects move to their places."""
    vals: list[Val] = []
    moves = []
    for type, place, x in zip(types, places, results, strict=True):
        if place is not None:
            assert isinstance(x, Boxed)
            moves.append((place, x.place))
            continue
        if isinstance(x, Listed):
            vals += [x.pair, x.length]
            continue
        assert isinstance(type, TensorType)
        if isinstance(x, Scalar):
            vals.append(x.val)
            continue
        leaf = w.leaf(x)
        vals += [leaf.pointer, *[w.b.i64(d) for d, known in zip(leaf.dims, type.shape, strict=True) if known is None]]
    w.move(moves)
    return vals


def unpack(w: Lowering, types: Sequence[Type], places: Sequence[int | None], vals: Sequence[Val]) -> list[Value]:
    packed = iter(vals)
    results: list[Value] = []
    for type, place in zip(types, places, strict=True):
        if place is not None:
            results.append(Boxed(place))
            continue
        if isinstance(type, ListType):
            results.append(Listed(type.element.dtype, tuple(type.element.shape), next(packed), next(packed)))
            continue
        assert isinstance(type, TensorType)
        if not type.shape:
            results.append(Scalar(type.dtype, next(packed)))
        else:
            pointer = next(packed)
            results.append(Leaf(type.dtype, [next(packed) if d is None else d for d in type.shape], pointer))
    return results


# Loops

def _start(w: Lowering, node: Node, types: Sequence[Type], operands: Sequence[Value], first: int,
           graphs: Sequence[Graph], body: Graph, skip: int) -> tuple[Carried, list[Variable]]:
    """The loop-carried values: the state, and the variables that the loop may assign."""
    storages = list(w.variables) if changes_any(node) else changed(w, *graphs)
    before = [w.variables[s] for s in storages]
    fixed = [body.outputs[k] is body.inputs[skip + k] for k in range(len(operands))]
    carried = Carried(w, [*types, *[s.type for s in storages]], [*operands, *before],
                      [*range(first, first + len(operands)), *storages],
                      [*fixed, *[False] * len(storages)])
    for s in variables_of(*graphs, ops=ASSIGN):
        w.dirty[s] = None  # some iteration makes it dirty
    return carried, storages


@contextmanager
def _inside(w: Lowering) -> Iterator[None]:
    """Inside a loop: values that Python does not have yet may be those from before the first iteration, or newer."""
    dirty = dict(w.dirty)
    w.loops += 1
    w.long = True
    with w.scope():
        yield
    w.loops -= 1
    w.dirty = dirty


def _see(w: Lowering, storages: Sequence[Variable], values: Sequence[Value]) -> None:
    for s, x in zip(storages, values, strict=True):
        w.variables[s] = x


def _by_blocks(w: Lowering, node: Node, body: Graph, test: Graph | None, items: int, state: Sequence[Value],
               envs: dict[str, dict[GraphValue, Value]], length: Value | None,
               whole: Callable[[Sequence[Value]], list[Value]]) -> list[Value] | None:
    """The loop as register tiles, if possible. `whole`: the loop from a state on, array by array."""
    b = w.b
    plan = register_tiling.planned(node, body, test, items)
    if plan is None:
        return None
    found = register_tiling.runtime_check(w, plan, state, envs)
    if found is None:
        return None
    dims, fits = found
    state = [x if isinstance(x, Scalar) else w.leaf(x) for x in state]
    count: Val | None = None
    if length is not None:
        count = integer(w, length)
    w.long = True
    w.blocked.append(node)
    results, failed = register_tiling.write(w, plan, state, envs, count, dims, fits, 2 * len(body.nodes) + 8)
    if failed is None:
        return results
    types = [v.type for v in node.outputs]
    places: list[int | None] = [None] * len(types)

    made = [results]

    def again() -> list[Val]:
        dead, w.dead = w.dead, frozenset()
        with w.scope():
            made.append(whole(state))
            vals = pack(w, types, places, made[1])
        w.dead = dead
        return vals

    joined = unpack(w, types, places, b.either(failed, again, lambda: pack(w, types, places, results)))
    for k, value in enumerate(joined):
        if isinstance(value, Leaf):
            value.bases = value.bases.union(*[w.leaf(values[k]).bases for values in made])
    return joined


def _by_sweeps(w: Lowering, node: Node, body: Graph, test: Graph | None, items: int, state: Sequence[Value],
               envs: dict[str, dict[GraphValue, Value]], length: Value | None) -> list[Value] | None:
    """The loop with time skewing (several steps per pass over memory), if that is possible and worthwhile."""
    plan = time_skewing.planned(w, body, test, items, envs)
    if plan is None:
        return None
    w.swept.append((node, plan.steps))
    count = None if length is None else integer(w, length)
    with _inside(w):
        return time_skewing.write(w, plan, body, test, items, state, envs, count)


def _by_lanes(w: Lowering, node: Node, values: Sequence[Value], envs: dict[str, dict[GraphValue, Value]]
              ) -> list[Value] | None:
    """The loop in SPMD form (several iterations in lanes), if possible; few iterations run one by one."""
    plan = spmd_analysis.planned(node, w.module.vector_bits)
    if plan is None:
        return None
    w.laned[node] = plan if isinstance(plan, str) else plan.count
    if isinstance(plan, str):
        return None
    length = integer(w, values[0])
    first = [w.element(x) for x in values[1:1 + len(node.outputs)]]
    captured = [w.element(envs["body"][inner]) for _, inner in node.params["body"].captures]

    def one_by_one() -> list[Val]:
        with w.scope():
            return [w.element(x) for x in _reduce(w, node, values, envs)]

    found = spmd_scheduling.write(w, plan, length, first, captured, one_by_one)
    return [Scalar(type_of(v).dtype, x) for v, x in zip(node.outputs, found, strict=True)]


def _speculated_steps(w: Lowering, node: Node, state: Sequence[Value], envs: dict[str, dict[GraphValue, Value]],
                 length: Value | None) -> tuple[Sequence[Value], Val]:
    """The state after the steps of a loop with division speculation, and the number of steps: where it goes on."""
    plan = division_speculation.planned(w, node)
    if plan is None:
        return state, const("i64", 0)
    numbers = [w.element(x) for x in state]
    outer = {inner: w.element(x) for env in envs.values() for inner, x in env.items()}
    found, index = division_speculation.write(w, plan, numbers, outer, None if length is None else integer(w, length))
    return [Scalar(type_of(v).dtype, x) for v, x in zip(plan.body.outputs, found, strict=True)], index


@lowers("while_loop")
def while_loop(w: Lowering, node: Node, *values: Value) -> list[Value]:
    test, body = node.params["test"], node.params["body"]
    limited = bool(node.params.get("limited"))
    envs = dict(zip(node.subgraphs, captured(w, node, values), strict=True))
    count = len(node.operands) - limited
    limit = values[0] if limited else None
    state = values[limited:limited + count]
    found = _by_blocks(w, node, body, test, 0, state, envs, limit,
                       lambda state: _while(w, node, state, limit, envs, int(limited)))
    if found is None:
        found = _by_sweeps(w, node, body, test, 0, state, envs, limit)
    if found is None:
        later, _ = _speculated_steps(w, node, state, envs, None)
        found = _while(w, node, later, limit, envs, int(limited))
    return found


def _while(w: Lowering, node: Node, state: Sequence[Value], most: Value | None,
           envs: dict[str, dict[GraphValue, Value]], first: int) -> list[Value]:
    b = w.b
    limit = None if most is None else integer(w, most)
    test, body = node.params["test"], node.params["body"]
    types = [v.type for v in body.inputs]
    carried, storages = _start(w, node, types, state, first, (test, body), body, 0)
    packed_operands.pack_invariants(w, body, envs["body"])
    cost = cost_of(w, test, body)
    head, inside, after = b.label("while"), b.label("do"), b.label("end")
    before = b.block
    b.start(head)
    turn, close_turn = b.open_phi("i64", const("i64", 0), before)
    carried.open(before)
    n = len(types)
    exits: list[Exit] = []
    with _inside(w):
        _see(w, storages, carried.current[n:])
        if limit is not None:
            more = b.label("more")
            exits.append((carried.vals(), b.block))
            b.branch(b.icmp("slt", turn, limit), more, after)
            b.start(more)
        (go,) = w.run(test, {**envs["test"], **dict(zip(test.inputs, carried.current[:n], strict=True))})
        exits.append((_current_values(w, carried, storages) if changed(w, test) else carried.vals(), b.block))
        b.branch(w.element(go), inside, after)
        b.start(inside)
        with w.scope():
            carried.store_ahead(body)
            results = w.run(body, {**envs["body"], **dict(zip(body.inputs, carried.current[:n], strict=True))})
            if not b.done:
                taken = carried.advance([*results, *[w.variables[s] for s in storages]])
                w.poll(cost)
                carried.close(taken, b.block)
                close_turn(b.op("i64", f"add nuw nsw {turn}, 1"), b.block)
                b.jump(head)
    return _after_loop(w, carried, storages, exits, after)


@lowers("reduce")
def reduce(w: Lowering, node: Node, *values: Value) -> list[Value]:
    body, test, stream = node.params["body"], node.params.get("test"), node.params.get("stream")
    sources = node.params.get("sources", 1)
    envs = dict(zip(node.subgraphs, captured(w, node, values), strict=True))
    count = len(node.operands) - sources
    items = len(body.inputs) - count
    found: list[Value] | None = None
    if stream is None and test is None:
        found = _by_blocks(w, node, body, None, items, values[1:1 + count], envs, values[0],
                           lambda state: _reduce(w, node, [values[0], *state], envs))
        if found is None:
            found = _by_sweeps(w, node, body, None, items, values[1:1 + count], envs, values[0])
    if stream is None and found is None:
        found = _by_lanes(w, node, values, envs)
    if found is not None:
        return found
    state, index = _speculated_steps(w, node, values[1:1 + count], envs, values[0]) if stream is None else (
        values[sources:sources + count], const("i64", 0))
    return _reduce(w, node, [*values[:sources], *state], envs, index)


Exit = tuple[list[list[Val]], str]  # the operands of a loop's phis, and the exiting block


def _reduce(w: Lowering, node: Node, values: Sequence[Value], envs: dict[str, dict[GraphValue, Value]],
            first: Val | None = None) -> list[Value]:
    """`first`: the index at which it starts; None: 0."""
    return (_Counted if node.params.get("stream") is None else _Streamed)(w, node, values, envs).write(first)


class _Reduce:
    """The code of a `reduce` as a loop: the phis of what it carries, the source of its items, and its body."""

    def __init__(self, w: Lowering, node: Node, values: Sequence[Value], envs: dict[str, dict[GraphValue, Value]]
                 ) -> None:
        self.w, self.node, self.envs = w, node, envs
        self.body, self.test = node.params["body"], node.params.get("test")
        sources = node.params.get("sources", 1)
        count = len(node.operands) - sources
        self.items = len(self.body.inputs) - count
        types = [v.type for v in self.body.inputs[self.items:]]
        self.count = len(types)
        self.open_source(values[:sources])
        graphs = [self.body] if self.test is None else [self.test, self.body]
        self.carried, self.storages = _start(w, node, types, values[sources:sources + count], sources, graphs,
                                             self.body, self.items)
        packed_operands.pack_invariants(w, self.body, envs["body"])
        self.batches = self.batched_products()
        self.exits: list[Exit] = []

    def open_source(self, values: Sequence[Value]) -> None:
        """Before the loop, which takes its items of these values."""
        raise NotImplementedError

    def batched_products(self) -> gemm_batching.BatchedProducts | None:
        """The products that are computed ahead, many steps at once."""
        return None

    def next_item(self, index: Val) -> tuple[Val, Callable[[], list[Value]]]:
        """Whether there is another item, and what gives it, in the block that follows."""
        raise NotImplementedError

    def write(self, first: Val | None) -> list[Value]:
        """Write the loop: the state after it."""
        w, b, carried = self.w, self.w.b, self.carried
        head, inside, after = b.label("for"), b.label("do"), b.label("end")
        before = b.block
        b.start(head)
        index, close_index = b.open_phi("i64", first or const("i64", 0), before)
        carried.open(before)
        with _inside(w):
            _see(w, self.storages, carried.current[self.count:])
            more, take = self.next_item(index)
            b.branch(more, inside, after)
            b.start(inside)
            items = take()
            with w.scope():
                taken = self.iteration(index, items, after)
                if taken is not None:
                    w.poll(cost_of(w, self.test, self.body))
                    carried.close(taken, b.block)
                    close_index(b.op("i64", f"add nuw nsw {index}, 1"), b.block)
                    b.jump(head)
        return _after_loop(w, carried, self.storages, self.exits, after)

    def iteration(self, index: Val, items: Sequence[Value], after: str) -> list[list[Val]] | None:
        """The body, and the test if there is one: what the phis take. None if the body always raises."""
        w, b, carried, n = self.w, self.w.b, self.carried, self.count
        env = {**self.envs["body"], **dict(zip(self.body.inputs, [*items, *carried.current[:n]], strict=True))}
        if self.batches is not None:
            env.update(self.batches.enter(index))
        carried.store_ahead(self.body)
        results = w.run(self.body, env)
        if b.done:
            return None
        taken = carried.advance([*results, *[w.variables[s] for s in self.storages]])
        if self.test is not None:
            state = carried.rebuilt(taken)[:n]
            (go,) = w.run(self.test, {**self.envs["test"], **dict(zip(self.test.inputs, state, strict=True))})
            self.exits.append((taken, b.block))
            following = b.label("next")
            b.branch(w.element(go), following, after)
            b.start(following)
        return taken


class _Counted(_Reduce):
    """A loop whose items are the numbers below a length."""

    def open_source(self, values: Sequence[Value]) -> None:
        self.length = integer(self.w, values[0])

    def batched_products(self) -> gemm_batching.BatchedProducts | None:
        return gemm_batching.planned(self.w, self.node, self.length, self.envs["body"])

    def next_item(self, index: Val) -> tuple[Val, Callable[[], list[Value]]]:
        b = self.w.b
        self.exits.append((self.carried.vals(), b.block))
        dtype = type_of(self.body.inputs[0]).dtype
        ty = llvm_type(dtype)
        return b.icmp("slt", index, self.length), lambda: [
            Scalar(dtype, index if ty == "i64" else b.convert("trunc", index, ty))]


class _Streamed(_Reduce):
    """A loop whose items Python gives one by one."""

    def open_source(self, values: Sequence[Value]) -> None:
        w = self.w
        w.flush()
        self.place = w.new_object()
        words, specs = w.described(values)
        w.call_python(StreamSite(self.node.params["stream"], self.place, specs, ()), words)
        w.reload()

    def next_item(self, index: Val) -> tuple[Val, Callable[[], list[Value]]]:
        types = [v.type for v in self.body.inputs[:self.items]]
        found, items = _next_item(self.w, self.node.params["stream"], self.place, types)
        self.exits.append((_current_values(self.w, self.carried, self.storages), self.w.b.block))
        return found, lambda: items


def _current_values(w: Lowering, carried: Carried, storages: Sequence[Variable]) -> list[list[Val]]:
    """The current values of a loop's phis, and of the variables."""
    state = carried.current[:len(carried.current) - len(storages)]
    return carried.advance([*state, *[w.variables[s] for s in storages]])


def _after_loop(w: Lowering, carried: Carried, storages: Sequence[Variable], exits: Sequence[Exit], after: str
          ) -> list[Value]:
    """The values of a loop after it."""
    b = w.b
    b.lines.append(f"{after}:")
    b.block, b.done = after, False
    final = carried.left(exits)
    n = len(final) - len(storages)
    _see(w, storages, final[n:])
    return final[:n]


def _next_item(w: Lowering, stream: Any, place: int, types: Sequence[Type]) -> tuple[Val, list[Value]]:
    """Whether a stream, whose code may use variables, has a next element, and that element."""
    known = [type for type in types if isinstance(type, TensorType)]
    w.flush()
    words = w.call_python(StreamSite(stream, place, None, known), (), 1 + sum(1 + len(type.shape) for type in known))
    w.reload()
    rest = iter(words[1:])
    values: list[Value] = []
    for type in known:
        pointer = w.b.op("ptr", f"inttoptr {next(rest)} to ptr")
        sizes = [next(rest) for _ in type.shape]
        values.append(w.incoming(type, pointer, sizes))
    return w.b.icmp("ne", words[0], const("i64", 0)), values
