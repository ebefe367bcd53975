"""Sequential loops, with phis for loop-carried values."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from runtime.backends.native.abi.callbacks import StreamSite
from runtime.backends.native.abi.interrupts import CREDIT
from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.index_expressions import Scalar
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.codegen.variables import ASSIGN, Variable, changes_any, variables_of
from runtime.backends.native.control.carried_buffers import Carried
from runtime.backends.native.control.subgraph_values import changed, cost_of, joined, pack, set_variables
from runtime.backends.native.kernels.matmul import packed_operands
from runtime.backends.native.kernels.shapes import integer
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.backends.native.loops import gemm_batching, in_bounds
from runtime.backends.native.loops.if_conversion import type_of
from runtime.backends.native.loops.shrinking import shrinks
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import TensorType, Type, bool_

_INT32: Final = 1 << 31
_UNROLLED: Final = 2
"""Iterations at a time of a loop with two exits, which LLVM does not unroll by itself."""

__all__ = ["inside_loop", "write_reduce", "write_while"]


def _start(w: Lowering, node: Node, types: Sequence[Type], operands: Sequence[Value], first: int,
           graphs: Sequence[Graph], body: Graph, skip: int) -> tuple[Carried, list[Variable]]:
    """The loop-carried values (the state, and the variables that the loop may assign), and these variables."""
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
def inside_loop(w: Lowering) -> Iterator[None]:
    """Write the code of a loop: afterwards, values not yet written back to Python may be those from before the loop, or
    newer."""
    dirty = dict(w.dirty)
    w.loops += 1
    w.long = True
    with w.scope():
        yield
    w.loops -= 1
    w.dirty = dirty


def write_while(w: Lowering, node: Node, state: Sequence[Value], most: Value | None,
           envs: dict[str, dict[GraphValue, Value]], first: int) -> list[Value]:
    limit = None if most is None else integer(w, most)
    test, body = node.params["test"], node.params["body"]
    carried, storages = _start(w, node, [v.type for v in body.inputs], state, first, (test, body), body, 0)
    packed_operands.pack_invariants(w, body, envs["body"])
    cost = cost_of(w, test, body)
    plan, bound = None, None
    if limit is None and not storages and isinstance(cost, int):
        bound = in_bounds.bounded(test, body)
        plan = None if bound is None else in_bounds.planned_while(w, bound, test, body, carried.first, envs)

    def loop(is_short: bool = False) -> list[Value]:
        return _write_tested(w, node, carried, storages, limit, envs, cost, is_short)

    if plan is None or bound is None or not isinstance(cost, int):
        return loop(limit is None and not storages and (
            shrinks(test, body) or in_bounds.ends_soon(w, test, body, carried.first, envs)))
    return _write_versions(w, node, carried, plan, lambda: _write_bounded(
        w, test, body, carried, plan, bound, envs, cost), loop)


def _write_tested(w: Lowering, node: Node, carried: Carried, storages: Sequence[Variable], limit: Val | None,
                  envs: dict[str, dict[GraphValue, Value]], cost: Index, is_short: bool) -> list[Value]:
    """Write a `while` loop that runs the test before each iteration. `is_short`: it needs no polls for signals."""
    b, test, body = w.b, node.params["test"], node.params["body"]
    n = len(body.inputs)
    head, inside, after = b.label("while"), b.label("do"), b.label("end")
    before = b.block
    b.start(head)
    turn, close_turn = b.open_phi("i64", const("i64", 0), before)
    closing = carried.open(carried.first, before)
    exits: list[Exit] = []
    with inside_loop(w):
        set_variables(w, storages, carried.current[n:])
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
                if not is_short:
                    w.poll(cost)
                carried.close(taken, b.block, closing)
                close_turn(b.op("i64", f"add nuw nsw {turn}, 1"), b.block)
                b.jump(head)
    results = _after_loop(w, carried, storages, exits, after)
    if is_short:
        w.charge(b.imul(turn, cost))
    return results


def _write_bounded(w: Lowering, test: Graph, body: Graph, carried: Carried, plan: in_bounds.Plan,
                   bound: in_bounds.Bound, envs: dict[str, dict[GraphValue, Value]], cost: int) -> list[Value]:
    """Write a `while` loop as two nested loops: the outer one polls once per piece, the inner one runs to the piece's
    end. If the test asks more than the bound, this is tested in each iteration, and the iterations that ran are
    counted afterwards."""
    b = w.b
    pieces, head, inside, rest, after = map(b.label, ("pieces", "while", "do", "rest", "end"))

    def number(values: Sequence[Sequence[Val]]) -> Val:
        return b.extend(values[bound.place][0], False)

    def goes_on(values: Sequence[Sequence[Val]], limit: Val) -> Val:
        return b.icmp(bound.relation, number(values), limit)

    def poll(stop: Val) -> None:
        """Poll for the iterations of a piece up to `stop`, assuming up to twice their number."""
        ways = b.sub(stop, start) if bound.up else b.sub(start, stop)
        shift = b.sub(const("i64", 63), b.call("i64", "llvm.ctlz.i64", plan.step, const("i1", 0)))
        (w.charge if plan.undivided else w.poll)(b.imul(b.lshr(ways, shift), cost))

    before, first = b.block, carried.vals(carried.first)
    b.branch(goes_on(first, plan.limit), pieces, after)
    b.start(pieces)
    outer = None if plan.undivided else carried.open(carried.first, before)
    start, stop = number(carried.vals(carried.first if outer is None else None)), plan.limit
    if outer is not None:
        longest = b.imul(plan.step, max(CREDIT // max(cost, 1), 1))
        far = b.intrinsic("sadd.sat" if bound.up else "ssub.sat", start, b.i64(longest))
        stop = b.intrinsic("smin" if bound.up else "smax", far, stop)
    if not bound.more:
        poll(stop)
    entering = b.block
    b.start(head)
    inner = carried.open(carried.first if outer is None else carried.current, entering)
    exits = [(first, before)]
    with inside_loop(w):
        if bound.more:
            now, ending = carried.vals(), b.label("ending")
            (go,) = w.run(test, {**envs["test"], **dict(zip(test.inputs, carried.current, strict=True))})
            b.branch(w.element(go), inside, ending)
            b.start(ending)
            poll(number(now))
            exits.append((now, b.block))
            b.jump(after)
        b.start(inside)
        with w.scope():
            carried.store_ahead(body)
            results = w.run(body, {**envs["body"], **dict(zip(body.inputs, carried.current, strict=True))})
        if not b.done:
            taken = carried.advance(results)
            carried.close(taken, b.block, inner)
            b.branch(_goes_on(b, bound, taken[bound.place][0], stop), head, rest,
                     plan.mark(b, _UNROLLED if bound.more else 0))
            b.start(rest)
            if bound.more:
                poll(number(taken))
            exits.append((taken, b.block))
            if outer is None:
                b.jump(after)
            else:
                carried.close(taken, b.block, outer)
                b.branch(goes_on(taken, plan.limit), pieces, after)
    return _after_loop(w, carried, [], exits, after)


def _goes_on(b: Builder, bound: in_bounds.Bound, number: Val, stop: Val) -> Val:
    """Whether a `while` goes on after an iteration, with this number: in a form that tells LLVM the trip count."""
    if number.ty != "i64" or not bound.by_ones:
        return b.icmp(bound.relation, b.extend(number, False), stop)
    return b.icmp("ne", number, stop if bound.relation[2] == "t" else b.add(stop, const("i64", 1 if bound.up else -1)))


def _write_versions(w: Lowering, node: Node, carried: Carried, plan: in_bounds.Plan, fast: Callable[[], list[Value]],
                    slow: Callable[[], list[Value]]) -> list[Value]:
    """Write two versions of the loop: one without bounds checks, for where they are sure to pass, and one with them."""
    types = [v.type for v in node.outputs]
    places: list[int | None] = [None] * len(types)
    owners: list[list[Value]] = []

    def version(write: Callable[[], list[Value]], sure: bool) -> Callable[[], list[Val]]:
        def branch() -> list[Val]:
            carried.restart()
            around = w.in_bounds
            if sure:
                w.in_bounds |= plan.nodes
                w.lowered_early.update({check: [Scalar(bool_, const("i1", 1))] for check in plan.fitting})
            with w.scope():
                owners.append(write())
                vals = pack(w, types, places, owners[-1])
            w.in_bounds = around
            return vals

        return branch

    merged = w.b.either(plan.holds, version(fast, True), version(slow, False))
    return joined(w, types, places, merged, owners)


Exit = tuple[list[list[Val]], str]  # the operands of the header's phis at an exit, and the exiting block


def write_reduce(w: Lowering, node: Node, values: Sequence[Value], envs: dict[str, dict[GraphValue, Value]],
            first: Val | None = None) -> list[Value]:
    """Write a `reduce`; `first`: the index at which it starts; None: 0."""
    return (Counted if node.params.get("stream") is None else Streamed)(w, node, values, envs).write(first)


class Reduce:
    """Writes a `reduce` as a loop: the phis of loop-carried values, the source of the items, and the body."""

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
        """Prepare, before the loop, the source of the items from these values."""
        raise NotImplementedError

    def batched_products(self) -> gemm_batching.BatchedProducts | None:
        """The products that are computed for many iterations at once; None: there are none."""
        return None

    def next_item(self, index: Val) -> tuple[Val, Callable[[], list[Value]]]:
        """Whether there is another item, and a function that reads it in the block that follows."""
        raise NotImplementedError

    def write(self, first: Val | None) -> list[Value]:
        """Write the loop; returns the state after it."""
        w, b, carried = self.w, self.w.b, self.carried
        self.exits.clear()
        head, inside, after = b.label("for"), b.label("do"), b.label("end")
        before = b.block
        b.start(head)
        index, close_index = b.open_phi("i64", first or const("i64", 0), before)
        closing = carried.open(carried.first, before)
        with inside_loop(w):
            set_variables(w, self.storages, carried.current[self.count:])
            more, take = self.next_item(index)
            b.branch(more, inside, after)
            b.start(inside)
            items = take()
            with w.scope():
                taken = self.iteration(index, items, after)
                if taken is not None:
                    w.poll(cost_of(w, self.test, self.body))
                    carried.close(taken, b.block, closing)
                    close_index(b.op("i64", f"add nuw nsw {index}, 1"), b.block)
                    b.jump(head)
        return _after_loop(w, carried, self.storages, self.exits, after)

    def iteration(self, index: Val, items: Sequence[Value], after: str) -> list[list[Val]] | None:
        """Write the body, and the test if there is one; returns the phi operands of the latch. None if the body always
        raises."""
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


class Counted(Reduce):
    """A loop whose items are the integers below a length."""

    def open_source(self, values: Sequence[Value]) -> None:
        self.length = integer(self.w, values[0])
        self.is_short = self.length.ref.isdigit() and int(self.length.ref) <= _INT32
        """Whether the items surely fit int32."""

    def batched_products(self) -> gemm_batching.BatchedProducts | None:
        return gemm_batching.planned(self.w, self.node, self.length, self.envs["body"])

    def next_item(self, index: Val) -> tuple[Val, Callable[[], list[Value]]]:
        self.exits.append((self.carried.vals(), self.w.b.block))
        return self.w.b.icmp("slt", index, self.length), lambda: self.items_at(index)

    def items_at(self, index: Val) -> list[Value]:
        dtype = type_of(self.body.inputs[0]).dtype
        ty = llvm_type(dtype)
        item = index if ty == "i64" else self.w.b.convert("trunc", index, ty)
        if ty == "i32" and self.is_short:
            self.w.b.extended[item.ref] = index
        return [Scalar(dtype, item)]

    def write(self, first: Val | None) -> list[Value]:
        cost = cost_of(self.w, self.test, self.body)
        if not isinstance(cost, int) or in_bounds.has_loop(self.body):
            return super().write(first)
        first = first or const("i64", 0)
        size = max(CREDIT // max(cost, 1), 1)
        if self.length.ref.isdigit() and int(self.length.ref) <= size:
            size = 0
        plan = None if self.storages or self.batches or self.test is not None else in_bounds.planned(
            self.w, self.body, self.length, self.carried.first, self.envs["body"])
        if plan is None:
            return self.write_pieces(first, cost, size)
        size = 0 if plan.undivided else size
        return _write_versions(
            self.w, self.node, self.carried, plan, lambda: self.write_pieces(first, cost, size, plan.mark(self.w.b)),
            lambda: super(Counted, self).write(first))

    def write_pieces(self, first: Val, cost: int, size: int, mark: str = "") -> list[Value]:
        """Write the loop as two nested loops: the inner one runs at most `size` iterations (0: all) without a poll,
        the outer one polls between them. `mark`: metadata for the back edge of the inner one."""
        w, b, carried = self.w, self.w.b, self.carried
        pieces, head, exiting, rest, after = map(b.label, ("pieces", "for", "exiting", "rest", "end"))
        before = b.block
        self.exits[:] = [(carried.vals(carried.first), before)]
        b.branch(b.icmp("slt", first, self.length), pieces, after)
        b.start(pieces)
        start, stop, outer = first, self.length, None
        if size:
            start, close_start = b.open_phi("i64", first, before)
            outer = carried.open(carried.first, before)
            stop = b.intrinsic("smin", b.add(start, const("i64", size)), self.length)
        ahead = self.test is None and not self.storages  # all iterations of the piece run
        before, poll = pieces, w.poll if size else w.charge
        if ahead:
            poll(b.imul(b.isub(stop, start), cost))
            before = b.block
        b.start(head)
        index, close_index = b.open_phi("i64", start, before)
        inner = carried.open(carried.current if size else carried.first, before)
        with inside_loop(w):
            set_variables(w, self.storages, carried.current[self.count:])
            with w.scope():
                taken = self.iteration(index, self.items_at(index), exiting)
            if taken is not None:
                following = b.op("i64", f"add nuw nsw {index}, 1")
                carried.close(taken, b.block, inner)
                close_index(following, b.block)
                # with `slt` LLVM did not know the trip count
                b.branch(b.icmp("ne", following, stop), head, rest, mark)
                for block in [rest] if self.test is None else [exiting, rest]:
                    b.start(block)
                    if not ahead:
                        poll(b.imul(b.isub(index if block is exiting else following, start), cost))
                    if block is exiting:
                        self.exits[-1] = taken, b.block
                        b.jump(after)
                self.exits.append((taken, b.block))
                if outer is None:
                    b.jump(after)
                else:
                    carried.close(taken, b.block, outer)
                    close_start(following, b.block)
                    b.branch(b.icmp("slt", following, self.length), pieces, after)
        return _after_loop(w, carried, self.storages, self.exits, after)


class Streamed(Reduce):
    """A loop whose items Python produces one by one."""

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
        return found, items


def _current_values(w: Lowering, carried: Carried, storages: Sequence[Variable]) -> list[list[Val]]:
    """The phi operands for the current state and the current values of the variables."""
    state = carried.current[:len(carried.current) - len(storages)]
    return carried.advance([*state, *[w.variables[s] for s in storages]])


def _after_loop(w: Lowering, carried: Carried, storages: Sequence[Variable], exits: Sequence[Exit], after: str
          ) -> list[Value]:
    """Start the block after a loop; returns the loop's final values."""
    b = w.b
    b.lines.append(f"{after}:")
    b.block, b.done = after, False
    final = carried.exit_values(exits)
    n = len(final) - len(storages)
    set_variables(w, storages, final[n:])
    return final[:n]


def _next_item(
    w: Lowering, stream: Any, place: int, types: Sequence[Type]
) -> tuple[Val, Callable[[], list[Value]]]:
    """Whether a stream, whose code may use variables, has a next element; and a function that reads it, to be called
    where there is one."""
    known = [type for type in types if isinstance(type, TensorType)]
    w.flush()
    words = w.call_python(StreamSite(stream, place, None, known), (), 1 + sum(1 + len(type.shape) for type in known))
    w.reload()

    def element() -> list[Value]:
        rest = iter(words[1:])
        values: list[Value] = []
        for type in known:
            pointer = w.b.op("ptr", f"inttoptr {next(rest)} to ptr")
            sizes = [next(rest) for _ in type.shape]
            values.append(w.incoming(type, pointer, sizes))
        return values

    return w.b.icmp("ne", words[0], const("i64", 0)), element
