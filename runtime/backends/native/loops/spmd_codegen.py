"""SPMD code: iterations of a body (`spmd_analysis`) in several lanes or in one, and the reductions of each lane.

In an inner loop each lane runs or is masked. When few running lanes are left, they run one by one.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from runtime.backends.native.abi.interrupts import INTERRUPTED, poll
from runtime.backends.native.codegen.context import Lowering
from runtime.backends.native.codegen.scalar_ops import ELEMENTWISE, llvm_type
from runtime.backends.native.llvm.builder import Builder, Val, const, element, lanes
from runtime.backends.native.loops.if_conversion import LOOPS, Registers, type_of
from runtime.backends.native.loops.spmd_analysis import Choice, LanePlan, Loop
from runtime.core.errors import NumberOverflowError
from runtime.core.graph import Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import DType

__all__ = ["MOST_ADDED", "Env", "LaneState", "Lanes", "loaded"]

Env = dict[GraphValue, Val]
MOST_ADDED: Final = 1 << 49
"""The limit of a lane's sum in inner loops: the lanes of all shares, at most 4096, then add up to at most 2**61."""


class LaneState:
    """Each lane's part of the changing state: partial reductions, choices, and the indices of the choices."""

    def __init__(self, plan: LanePlan, first: Sequence[Val]) -> None:
        self.plan = plan
        self.state = plan.body.inputs[1:]
        self.places = [*plan.kinds, *[k for choice in plan.choices for k in choice.slots]]
        self.first = [*[first[k] for k in self.places], *[const(plan.index, -1)] * len(plan.choices)]
        none = [const(llvm_type(type_of(self.state[k]).dtype), _nothing(kind, type_of(self.state[k]).dtype))
                for k, kind in plan.kinds.items()]
        self.nothing = [*none, *self.first[len(none):]]

    def after(self, lanes: Lanes, env: Env, values: Sequence[Val | None], index: Val, mask: Val | None) -> list[Val]:
        """The state after an iteration of the lanes in the mask. A value that is None is replaced unconditionally."""
        news = [env[self.plan.body.outputs[k]] for k in self.places]
        for choice, x in zip(self.plan.choices, values[len(self.places):], strict=True):
            assert x is not None
            chosen = None if choice.condition is None else env[choice.condition]
            news.append(lanes.choose(chosen, index, x))
        return [lanes.wide(new) if x is None else lanes.choose(mask, new, x)
                for new, x in zip(news, values, strict=True)]

    def env(self, values: Sequence[Val | None]) -> Env:
        """The state as inputs of the body."""
        return {self.state[k]: x for k, x in zip(self.places, values, strict=False) if x is not None}

    def both(self, b: Builder, xs: Sequence[Val], ys: Sequence[Val]) -> list[Val]:
        """Combine the states of two lanes or threads."""
        results = [ELEMENTWISE[kind](b, type_of(self.state[k]).dtype, x, y)
                   for (k, kind), x, y in zip(self.plan.kinds.items(), xs, ys, strict=False)]
        indices = []
        for k, choice in enumerate(self.plan.choices, len(self.places)):
            better = self._better(b, choice, xs, ys, b.icmp("slt", ys[k], xs[k]), b.icmp("sgt", ys[k], xs[k]))
            for j in range(len(results), len(results) + len(choice.slots)):
                results.append(b.select(better, ys[j], xs[j]))
            indices.append(b.select(better, ys[k], xs[k]))
        return [*results, *indices]

    def _better(self, b: Builder, choice: Choice, xs: Sequence[Val], ys: Sequence[Val], earlier: Val, later: Val
                ) -> Val:
        """Whether a choice in `ys` wins over that in `xs`."""
        if choice.leader is None:
            return later
        dtype, k = type_of(self.state[choice.leader]).dtype, self.places.index(choice.leader)
        better = ELEMENTWISE[choice.relation.removesuffix("_equal")](b, dtype, ys[k], xs[k])
        equal = ELEMENTWISE["equal"](b, dtype, ys[k], xs[k])
        return b.or_(better, b.and_(equal, later if choice.relation.endswith("_equal") else earlier))


def _nothing(kind: str, dtype: DType) -> int:
    """The identity element of a reduction."""
    if kind in ("maximum", "minimum"):
        return int(dtype.limits[0 if kind == "maximum" else 1])
    return {"multiply": 1, "bitwise_and": -1}.get(kind, 0)


class Lanes(Registers):
    """Writes iterations in several lanes, or in one. Code for some of the lanes has a mask."""

    def __init__(self, w: Lowering, plan: LanePlan, count: int, frame: Val | None) -> None:
        super().__init__(w, count)
        self.plan = plan
        self.frame = frame  # the call's frame, in an outlined function
        self.failed: Val | None = None  # address of the lanes' flags: whether a check has failed
        self.give_up: Callable[[], None] | None = None  # writes the jump for when one has
        if plan.checks:
            wide = count > 1 and w.module.vector_bits < 512  # only AVX-512 has mask registers
            self.flags = "i1" if count == 1 else f"<{count} x {'i64' if wide else 'i1'}>"
            self.failed = w.b.alloca(self.flags, align=64)
            w.b.line(f"store {const(self.flags, 0)}, {self.failed}")

    def fail(self, where: Val) -> None:
        """Record a failed check in these lanes."""
        assert self.failed is not None
        where = self.wide(where)
        if where.ty != self.flags:
            where = self.b.convert("sext", where, self.flags)
        before = self.b.op(self.flags, f"load {self.flags}, {self.failed}")
        self.b.line(f"store {self.b.or_(before, where)}, {self.failed}")

    def has_failed(self) -> Val:
        """Whether a check has failed in any lane."""
        if self.failed is None:
            return const("i1", 0)
        found = self.b.op(self.flags, f"load {self.flags}, {self.failed}")
        return found if self.count == 1 else self.any(self.b.icmp("ne", found, const(found.ty, 0)))

    def check(self, node: Node, env: Env, mask: Val | None) -> None:
        """Record the lanes of the mask in which the check fails. Overflow checks ignore the mask: they fail in other
        lanes so rarely that applying it costs more."""
        bad = self.b.not_(env[node.inputs[0]])
        self.fail(bad if isinstance(node.params["raised"].exception, NumberOverflowError) else self.both(mask, bad))

    def sum_fits(self, node: Node, env: Env) -> Val:
        """Whether a partial sum is so small that no order of the terms overflows: outside of inner loops each term is
        at most an equal share of 2**61, up or down; in an inner loop the sum only grows, to a limit per lane such that
        the lanes of all threads stay below 2**61."""
        b, (at, inside) = self.b, self.plan.sums[node]
        total, part = env[node.inputs[at]], env[node.inputs[1 - at]]
        if not inside:
            low, high = (env[value] for value in self.plan.share)
            return b.icmp("sle", *self.alike(b.add(*self.alike(part, low)), high))
        total, part = self.alike(total, part)
        grows = part if node.op.name == "add_fits" else b.sub(const(part.ty, 0), part)
        return b.icmp("ult", b.or_(grows, b.add(total, grows)), const(part.ty, MOST_ADDED))

    def poll(self, cost: int) -> None:
        """Poll for signals after code that took about `cost` nanoseconds."""
        poll(self.b, self.frame or self.w.frame, cost, self.leave, None if self.give_up is None else self.look)

    def look(self) -> None:
        """Give up if a check has failed: a loop with wrong numbers may not terminate."""
        assert self.give_up is not None
        with self.b.when(self.has_failed()):
            self.give_up()

    def fail_and_give_up(self) -> None:
        """Give up, because a lane that runs alone has failed."""
        assert self.give_up is not None
        self.fail(const("i1", 1))
        self.give_up()

    def leave(self) -> None:
        """End the call, because a signal handler raised an exception."""
        if self.frame is None:
            self.w.leave(INTERRUPTED)
        else:
            self.b.line(f"ret i32 {INTERRUPTED}")

    def run(self, nodes: Sequence[Node], env: Env, mask: Val | None) -> None:
        """Write the nodes; their results are added to `env`."""
        for node in nodes:
            if node.op.name in LOOPS:
                guard = self.plan.guards.get(node)
                inside = mask if guard is None else self.both(mask, env[guard])
                found = self.loop(self.plan.loops[node], [env[v] for v in node.inputs], inside)
                env.update(zip(node.outputs, found, strict=True))
            elif node.op.name == "raise_unless":
                self.check(node, env, mask)
            elif node in self.plan.sums:
                env[node.outputs[0]] = self.sum_fits(node, env)
            elif node.op.name == "undefined":
                env[node.outputs[0]] = const(llvm_type(type_of(node.outputs[0]).dtype), 0)
            else:
                env[node.outputs[0]] = self.node(node, env)

    def both(self, x: Val | None, y: Val) -> Val:
        """The conjunction of two masks."""
        if x is None:
            return y
        return self.b.and_(*self.alike(x, y))

    def alike(self, x: Val, y: Val) -> tuple[Val, Val]:
        """Both values as vectors, if one of them is."""
        return (x, y) if lanes(x.ty) == lanes(y.ty) else (self.wide(x), self.wide(y))

    def choose(self, mask: Val | None, x: Val, y: Val) -> Val:
        """`x` in the lanes of the mask, `y` in the other lanes."""
        x, y = self.wide(x), self.wide(y)
        return x if mask is None or x.ref == y.ref else self.b.select(self.wide(mask), x, y)

    def indices(self, start: Val) -> Val:
        """The indices of one iteration per lane, from `start` on."""
        ty = self.plan.index
        first = start if ty == "i64" else self.b.convert("trunc", start, ty)
        steps = ", ".join(f"{ty} {k}" for k in range(self.count))
        return self.b.add(self.wide(first), Val(f"<{self.count} x {ty}>", f"<{steps}>"))

    def index(self, i: Val) -> Val:
        """The index as the body's input."""
        ty = llvm_type(type_of(self.plan.body.inputs[0]).dtype)
        return i if ty == element(i.ty) else self.b.convert("trunc", i, ty)

    def cell(self, x: Val) -> Val:
        """Memory with a value for each lane, initialised with `x`."""
        ty = element(x.ty)
        memory = self.b.alloca("i8" if ty == "i1" else ty, self.count)
        self.b.store(self.wide(x), memory)
        return memory

    def more(self, mask: Val, than: int) -> Val:
        """Whether the mask has more than `than` lanes."""
        bits = self.bits(mask)
        return self.b.icmp("ugt", self.b.intrinsic("ctpop", bits), const(bits.ty, than))

    @contextmanager
    def each(self, mask: Val) -> Iterator[Val]:
        """Loop over the lanes in the mask."""
        b = self.b
        bits, before = self.bits(mask), b.block
        head, inside, after = b.label("lanes"), b.label("do"), b.label("end")
        b.start(head)
        rest, close = b.open_phi(bits.ty, bits, before)
        b.branch(b.icmp("ne", rest, const(rest.ty, 0)), inside, after)
        b.start(inside)
        lane = b.call(rest.ty, f"llvm.cttz.{rest.ty}", rest, const("i1", 1))
        yield b.convert("zext", lane, "i64")
        close(b.and_(rest, b.sub(rest, const(rest.ty, 1))), b.block)
        b.jump(head)
        b.start(after)

    # Loops

    def goes(self, loop: Loop, args: Sequence[Val], turn: Val | None, state: Sequence[Val], mask: Val | None) -> Val:
        """The lanes of the mask that make another turn. `args`: the inputs of the loop's node."""
        go = mask
        if turn is not None:
            go = self.both(go, ELEMENTWISE["less"](self.b, loop.counter, *self.alike(turn, args[0])))
        if loop.test is not None:
            env = {**_captures(loop, args), **dict(zip(loop.test.inputs, state, strict=True))}
            first, asked = None, go
            if loop.items:  # the test comes after a turn
                assert turn is not None
                first = self.b.icmp("eq", turn, const(turn.ty, 0))
                if self.plan.checks:
                    asked = self.both(go, self.b.not_(first))
            self.run(loop.test.nodes, env, asked)
            holds = env[loop.test.outputs[0]]
            if first is not None:
                holds = self.b.or_(*self.alike(holds, first))
            go = self.both(go, holds)
        assert go is not None
        return self.wide(go)

    def turn(self, loop: Loop, args: Sequence[Val], turn: Val | None, state: Sequence[Val], mask: Val | None
             ) -> list[Val]:
        """The state after another turn, valid in the lanes of the mask."""
        inputs = [turn, *state] if loop.items and turn is not None else state
        env = {**_captures(loop, args), **dict(zip(loop.body.inputs, inputs, strict=True))}
        self.run(loop.body.nodes, env, mask)
        self.poll(len(loop.body.nodes) + 2)
        return [env[v] for v in loop.body.outputs]

    def loop(self, loop: Loop, args: Sequence[Val], mask: Val | None,
             begin: tuple[Val | None, Sequence[Val]] | None = None) -> list[Val]:
        """The state after a loop, in the lanes of the mask. `begin`: the initial turn and state."""
        b = self.b
        turn, state = begin or (loop.first_turn(), [args[loop.counted + k] for k in range(len(loop.state))])
        first = {k: self.wide(state[k]) for k in loop.carried}
        head, inside, after = b.label("while"), b.label("do"), b.label("end")
        before = b.block
        b.start(head)
        turns = None if turn is None else b.open_phi(turn.ty, turn, before)
        phis = {k: b.open_phi(x.ty, x, before) for k, x in first.items()}
        now = [phis[k][0] if k in phis else x for k, x in enumerate(state)]
        turn = None if turns is None else turns[0]
        go = self.goes(loop, args, turn, now, mask)
        running = None if self.count == 1 else go
        b.branch(go if running is None else self.more(go, self.count // 8), inside, after)
        b.start(inside)
        news = self.turn(loop, args, turn, now, running)
        chosen = {k: self.choose(running, news[k], now[k]) for k in phis}
        if turns is not None:
            turns[1](b.add(turns[0], const(turns[0].ty, 1)), b.block)
        for k, (_, close) in phis.items():
            close(chosen[k], b.block)
        b.jump(head)
        b.start(after)
        return now if running is None else self._rest(loop, args, running, turn, now)

    def _rest(self, loop: Loop, args: Sequence[Val], mask: Val, turn: Val | None, state: Sequence[Val]) -> list[Val]:
        """The state after the few remaining lanes, those in the mask, have finished a loop one by one."""
        b = self.b

        def rest() -> list[Val]:
            cells = {k: self.cell(state[k]) for k in loop.carried}
            inputs = [x if lanes(x.ty) == 1 else self.cell(x) for x in args]
            one = Lanes(self.w, self.plan, 1, self.frame)
            one.give_up = self.give_up and self.fail_and_give_up
            with self.each(mask) as lane:
                values = [x if lanes(x.ty) == 1 else loaded(b, element(x.ty), cell, lane)
                          for x, cell in zip(args, inputs, strict=True)]
                now = [loaded(b, element(x.ty), cells[k], lane) if k in cells else x for k, x in enumerate(state)]
                ended = one.loop(loop, values, None, (turn, now))
                for k, cell in cells.items():
                    b.store(ended[k], b.offset(cell, lane, element(state[k].ty)))
            if self.failed is not None:
                self.fail(one.has_failed())
            return [b.load(state[k].ty, cell) for k, cell in cells.items()]

        ended = b.either(self.any(mask), rest, lambda: [state[k] for k in loop.carried])
        found = dict(zip(loop.carried, ended, strict=True))
        return [found.get(k, x) for k, x in enumerate(state)]


def _captures(loop: Loop, args: Sequence[Val]) -> Env:
    values = args[len(loop.node.operands):]
    return {inner: x for (_, inner), x in zip(loop.captured(), values, strict=True)}


def loaded(b: Builder, ty: str, cell: Val, lane: Val) -> Val:
    """The value of a lane, from memory; `lane` is an i64."""
    return b.load(ty, b.offset(cell, lane, ty))
