"""Scheduling of SPMD loops (`spmd_analysis`): each iteration runs in a lane (`spmd_codegen`).

If the body of the counted loop contains one inner loop, a lane that has finished an iteration starts its next one at
once: lanes stride through the indices. If it contains several, all lanes finish an iteration before the next ones
begin. When few running lanes are left, they run one by one, which is faster then.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from runtime.backends.native.codegen.context import Lowering
from runtime.backends.native.codegen.parallel import WORTH, region
from runtime.backends.native.llvm.builder import Builder, Val, const, element
from runtime.backends.native.loops.spmd_analysis import LanePlan
from runtime.backends.native.loops.spmd_codegen import Env, Lanes, LaneState, loaded
from runtime.core.graph import Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import int64

__all__ = ["write"]

_SHARES: Final = 64
_LEAST: Final = 64  # minimal number of iterations of a share, per lane
_TURNS: Final = 8  # assumed number of turns of an inner loop, to decide about threads
_CHEAP: Final = 8  # ops that cost less than a branch around them


def _widened(lanes: Lanes, outside: Env) -> Env:
    """The live-ins; the bounds of sums, which each iteration compares with vectors, are broadcast to all lanes."""
    share = lanes.plan.share
    return {v: lanes.wide(x) if v in share and lanes.plan.sums else x for v, x in outside.items()}


class Rows:
    """Scheduling in which all lanes finish an iteration before the next ones begin."""

    def __init__(self, w: Lowering, plan: LanePlan, parts: LaneState, outside: Env) -> None:
        self.w = w
        self.plan = plan
        self.parts = parts
        self.outside = outside

    def run(self, lanes: Lanes, start: Val, stop: Val) -> list[Val]:
        """The state of all lanes after the iterations from `start` to `stop`, in memory."""
        plan, b = self.plan, lanes.b
        end = lanes.wide(stop if plan.index == "i64" else b.convert("trunc", stop, plan.index))
        outside = _widened(lanes, self.outside)

        def row(at: Val, values: Sequence[Val]) -> list[Val]:
            i = lanes.indices(at)
            mask = lanes.b.icmp("ult", i, end)
            env = {**outside, plan.body.inputs[0]: lanes.index(i), **self.parts.env(values)}
            lanes.run(plan.body.nodes, env, mask)
            lanes.poll(len(plan.body.nodes))
            return self.parts.after(lanes, env, values, i, mask)

        nothing = [lanes.wide(x) for x in self.parts.nothing]
        return [lanes.cell(x) for x in b.folded(start, stop, nothing, row, lanes.count)]


class LanePosition:
    """The position of a lane: the index of its iteration, its state, the turn and state of the inner loop, and live
    values of the iteration. State that the inner loop carries is None here, as it is in that loop's state."""

    def __init__(self, i: Val, parts: list[Val | None], turn: Val | None, state: list[Val], live: list[Val]) -> None:
        self.i = i
        self.parts = parts
        self.turn = turn
        self.state = state
        self.live = live

    def vals(self) -> list[Val]:
        return [x for x in (self.i, *self.parts, self.turn, *self.state, *self.live) if x is not None]

    def like(self, vals: Sequence[Val]) -> LanePosition:
        """A copy with other values."""
        news = iter(vals)

        def taken(xs: Sequence[Val | None]) -> list[Val | None]:
            return [None if x is None else next(news) for x in xs]

        i, parts, turn = next(news), taken(self.parts), None if self.turn is None else next(news)
        return LanePosition(i, parts, turn, [next(news) for _ in self.state], [next(news) for _ in self.live])


class Stream:
    """Scheduling in which each lane starts its next iteration at once, for a body with one inner loop."""

    def __init__(self, w: Lowering, plan: LanePlan, parts: LaneState, outside: Env) -> None:
        assert plan.only is not None
        self.w = w
        self.plan = plan
        self.only = plan.only
        self.parts = parts
        self.outside = outside
        self.function: str | None = None  # runs one lane
        self.before, self.after = self._split()
        self.constants = [n for n in self.before if n.op.name == "const"]
        self.live = self._live_across()
        self.through = self._carried_parts()

    def _split(self) -> tuple[list[Node], list[Node]]:
        """The nodes of the body that do not depend on its inner loop, and those that do."""
        later: set[GraphValue] = set(self.only.node.outputs)
        before: list[Node] = []
        after: list[Node] = []
        for node in self.plan.body.nodes:
            if node is self.only.node:
                continue
            if later.isdisjoint(node.inputs):
                before.append(node)
            else:
                after.append(node)
                later.update(node.outputs)
        return before, after

    def _live_across(self) -> list[GraphValue]:
        """The values that are computed before the inner loop, and used in it or after it."""
        node, plan = self.only.node, self.plan
        used = [v for n in self.after for v in n.inputs]
        used += [v for k, v in enumerate(node.inputs) if k - self.only.counted not in self.only.carried]
        used += [*plan.body.outputs, *[c.condition for c in plan.choices if c.condition is not None]]
        guard = plan.guards.get(node)
        used += [] if guard is None else [guard]
        made = {v for n in self.before if n.op.name != "const" for v in n.outputs}
        return [v for v in dict.fromkeys(used) if v in made]

    def _carried_parts(self) -> dict[int, int]:
        """The reductions that the inner loop carries, with their places in its state."""
        node, body = self.only.node, self.plan.body
        carried = {node.inputs[self.only.counted + k] for k in self.only.carried}
        uses = [v for n in body.nodes for v in n.inputs] + list(body.outputs)
        through: dict[int, int] = {}
        for k, place in enumerate(self.parts.places[:len(self.plan.kinds)]):
            value = body.inputs[1 + place]
            if value in carried and uses.count(value) == 1:
                through[k] = self.only.carried.index(node.inputs.index(value) - self.only.counted)
        return through

    def begin(self, lanes: Lanes, i: Val, values: Sequence[Val], stop: Val) -> LanePosition:
        """The position of a lane that begins with iteration `i`, if that is below `stop`, and with this state."""
        env = {**self.outside, self.plan.body.inputs[0]: lanes.index(i), **self.parts.env(values)}
        lanes.run(self.before, env, lanes.b.icmp("ult", i, stop) if self.plan.checks else None)
        first = [lanes.wide(env[self.only.operands[k]]) for k in self.only.carried]
        turn = self.only.first_turn()
        return LanePosition(i, [None if k in self.through else lanes.wide(x) for k, x in enumerate(values)],
                   None if turn is None else lanes.wide(turn), first, [lanes.wide(env[v]) for v in self.live])

    def env(self, lanes: Lanes, now: LanePosition) -> Env:
        env = {**self.outside, self.plan.body.inputs[0]: lanes.index(now.i), **self.parts.env(now.parts)}
        lanes.run(self.constants, env, None)
        return {**env, **dict(zip(self.live, now.live, strict=True))}

    def loop_inputs(self, lanes: Lanes, now: LanePosition) -> tuple[list[Val], Val | None, list[Val]]:
        """The inputs of the inner loop, its mask, and its state."""
        env = self.env(lanes, now)
        state = dict(zip(self.only.carried, now.state, strict=True))
        inputs = [state.get(k - self.only.counted, env.get(v, now.i)) for k, v in enumerate(self.only.node.inputs)]
        guard = self.plan.guards.get(self.only.node)
        return inputs, None if guard is None else env[guard], inputs[self.only.counted:][:len(self.only.state)]

    def end(self, lanes: Lanes, now: LanePosition, state: Sequence[Val], mask: Val | None) -> list[Val]:
        """The lanes' state after the inner loop has ended with `state`, in the lanes of the mask."""
        env = {**self.env(lanes, now), **dict(zip(self.only.node.outputs, state, strict=True))}
        lanes.run(self.after, env, mask)
        return self.parts.after(lanes, env, now.parts, now.i, mask)

    def few(self, length: Val) -> list[Val]:
        """The state after iterations so few that they run sequentially."""
        b = self.w.b

        def some() -> list[Val]:
            one, stop = Lanes(self.w, self.plan, 1, None), self.stop(length)
            return self.alone(one, self.begin(one, const(self.plan.index, 0), self.parts.first, stop), stop, 1)

        return b.either(b.icmp("sgt", length, const("i64", 0)), some, lambda: self.parts.first)

    def stop(self, stop: Val) -> Val:
        return stop if self.plan.index == "i64" else self.w.b.convert("trunc", stop, self.plan.index)

    def run(self, lanes: Lanes, start: Val, stop: Val) -> list[Val]:
        """The state of all lanes after the iterations from `start` to `stop`, in memory."""
        b, only = lanes.b, self.only
        last = self.stop(stop)
        end = lanes.wide(last)
        outside, self.outside = self.outside, _widened(lanes, self.outside)
        first = self.begin(lanes, lanes.indices(start), [lanes.wide(x) for x in self.parts.nothing], end)
        head, inside, after = b.label("lanes"), b.label("do"), b.label("end")
        before = b.block
        b.start(head)
        phis = [b.open_phi(x.ty, x, before) for x in first.vals()]
        now = first.like([x for x, _ in phis])
        live = b.icmp("ult", now.i, end)
        inputs, guard, state = self.loop_inputs(lanes, now)
        go = lanes.goes(only, inputs, now.turn, state, live if guard is None else b.and_(live, guard))
        b.branch(lanes.more(live, lanes.count // 2 - 1), inside, after)
        b.start(inside)
        news = lanes.turn(only, inputs, now.turn, state, go)
        done = b.xor(live, go)
        through = set(self.through.values())
        stepped = LanePosition(now.i, now.parts, None if now.turn is None else b.add(now.turn, const(now.turn.ty, 1)),
                      [lanes.choose(go if k in through else None, news[place], now.state[k])
                       for k, place in enumerate(only.carried)], now.live).vals()

        def following() -> list[Val]:
            parts = self.end(lanes, now, state, done)
            i = lanes.choose(done, b.add(now.i, const(now.i.ty, lanes.count)), now.i)
            fresh = self.begin(lanes, i, parts, end)
            for k, x in enumerate(now.state):
                if fresh.state[k].ref == x.ref:  # not carried by finished lanes: keep it stepped
                    fresh.state[k] = stepped[len(stepped) - len(now.live) - len(now.state) + k]
            chosen = [lanes.choose(done, x, y) for x, y in zip(fresh.vals(), stepped, strict=True)]
            count = 1 + sum(x is not None for x in now.parts)
            return [*fresh.vals()[:count], *chosen[count:]]  # the first ones are already selected

        if len(self.before) + len(self.after) <= _CHEAP:
            nexts = following()
        else:
            nexts = b.either(lanes.any(done), following, lambda: stepped)
        for (_, close), x in zip(phis, nexts, strict=True):
            close(x, b.block)
        b.jump(head)
        b.start(after)
        self.outside = outside
        return self._rest(lanes, now, live, last)

    def _rest(self, lanes: Lanes, now: LanePosition, mask: Val, stop: Val) -> list[Val]:
        """Run the remaining lanes, those in the mask, to the end one by one; returns the state of all lanes, in
        memory."""
        b = lanes.b
        cells = now.like([lanes.cell(x) for x in now.vals()])
        parts = [cells.state[self.through[k]] if x is None else x for k, x in enumerate(cells.parts)]
        with lanes.each(mask) as lane:
            first = [loaded(b, element(x.ty), cell, lane) for x, cell in zip(now.vals(), cells.vals(), strict=True)]
            values = self.alone(lanes, now.like(first), stop, lanes.count)
            for cell, x in zip(parts, values, strict=True):
                b.store(x, b.offset(cell, lane, x.ty))
        return parts

    def alone(self, lanes: Lanes, now: LanePosition, stop: Val, step: int) -> list[Val]:
        """The state of one lane after all its iterations below `stop`, with the stride `step`."""
        w, b = self.w, self.w.b
        live = [*now.vals(), *self.outside.values()]
        words = b.alloca("i64", len(live) + 1)
        for k, x in enumerate(live):
            b.store(x, b.offset(words, k, "i64"))
        if self.function is None:
            self.function = self._function(now)
        status = b.call("i32", self.function, lanes.frame or w.frame, words, stop, const(stop.ty, step))
        with b.when(b.icmp("ne", status, const("i32", 0))):
            lanes.leave()
        if lanes.failed is not None:
            lanes.fail(b.load("i1", b.offset(words, len(live), "i64")))
        return [b.load(x.ty, b.offset(words, k, "i64")) for k, x in enumerate(self.parts.first)]

    def _function(self, now: LanePosition) -> str:
        """The outlined function that runs one lane, whose values are in memory."""
        w = self.w
        outer = w.b

        def write(b: Builder, frame: Val, words: Val, stop: Val, step: Val) -> Val:
            w.b = b
            one = Lanes(w, self.plan, 1, frame)

            def give_up() -> None:
                b.store(const("i1", 1), b.offset(words, len(live), "i64"))
                b.line("ret i32 0")

            if one.failed is not None:
                one.give_up = give_up
            live = [*now.vals(), *self.outside.values()]
            initial = [b.load(x.ty, b.offset(words, k, "i64")) for k, x in enumerate(live)]
            outside, self.outside = self.outside, dict(zip(self.outside, initial[len(now.vals()):], strict=True))
            head, after = b.label("lane"), b.label("end")
            before = b.block
            b.start(head)
            phis = [b.open_phi(x.ty, x, before) for x in initial[:len(now.vals())]]
            current = now.like([x for x, _ in phis])
            inputs, guard, state = self.loop_inputs(one, current)
            ended = one.loop(self.only, inputs, guard, (current.turn, state))
            values = self.end(one, current, ended, None)
            fresh = self.begin(one, b.add(current.i, step), values, stop)
            for (_, close), x in zip(phis, fresh.vals(), strict=True):
                close(x, b.block)
            b.branch(b.icmp("ult", fresh.i, stop), head, after)
            b.start(after)
            for k, x in enumerate(values):
                b.store(x, b.offset(words, k, "i64"))
            if one.failed is not None:
                b.store(one.has_failed(), b.offset(words, len(live), "i64"))
            self.outside, w.b = outside, outer
            return const("i32", 0)

        types = ["ptr", "ptr", self.plan.index, self.plan.index]
        return w.module.define(f"lane{len(w.module.parts)}", "i32", types, write, "noinline nounwind")


def write(w: Lowering, plan: LanePlan, length: Val, first: Sequence[Val], captured: Sequence[Val],
          one_by_one: Callable[[], list[Val]]) -> list[Val]:
    """The state after `length` iterations from the state `first`; `one_by_one` writes the sequential loop."""
    body = plan.body
    parts = LaneState(plan, first)
    outside = {inner: x for (_, inner), x in zip(body.captures, captured, strict=True)}
    outside.update({v: x for k, (v, x) in enumerate(zip(parts.state, first, strict=True)) if k not in parts.places})
    b = w.b
    fits = [const("i1", 1)]
    if plan.checks:
        *share, fits[0] = _share(b, parts, length)
        outside.update(zip(plan.share, share, strict=True))
    stream = None if plan.only is None else Stream(w, plan, parts, outside)
    way = stream or Rows(w, plan, parts, outside)

    def state(values: Sequence[Val]) -> list[Val]:
        found = dict(zip(parts.places, values, strict=False))
        return [found.get(k, x) for k, x in enumerate(first)]

    def some(lanes: Lanes, start: Val, stop: Val) -> tuple[list[Val], Val]:
        """The combined state after the iterations from `start` to `stop`, and whether a check failed."""
        after = w.b.label("after")
        if lanes.failed is not None:
            lanes.give_up = lambda: w.b.jump(after)
        cells = way.run(lanes, start, stop)
        w.b.start(after)
        return w.b.folded(0, plan.count, parts.nothing, lambda lane, values: parts.both(w.b, values, [
            loaded(w.b, x.ty, cell, lane) for x, cell in zip(values, cells, strict=True)]), unroll=False
        ), lanes.has_failed()

    def many() -> list[Val]:
        """The state after all iterations, and whether a check failed."""
        if w.inside:
            found, failed = some(Lanes(w, plan, plan.count, None), const("i64", 0), length)
            return [*state(parts.both(b, parts.first, found)), failed]
        values, failed = _in_shares(w, parts, length, some)
        return [*state(values), failed]

    def few() -> list[Val]:
        return one_by_one() if stream is None else state(stream.few(length))

    w.long = True
    short = b.icmp("slt", length, const("i64", 2 * plan.count))
    if not plan.checks:
        return b.either(short, few, lambda: many()[:-1])
    again = b.or_(short, b.not_(fits[0]))
    *found, failed = b.either(again, lambda: [*first, const("i1", 1)], many)
    return b.either(failed, one_by_one, lambda: found)


def _share(b: Builder, parts: LaneState, length: Val) -> tuple[Val, Val, Val]:
    """The two numbers of `LanePlan.share`, with which each check tests that a term is at most its share of 2**61, up or
    down; and whether all shares together can be added to the initial sums."""
    plan = parts.plan
    checks = max(sum(1 for _, inside in plan.sums.values() if not inside), 1)
    share = b.udiv(const("i64", (1 << 61) // checks), b.intrinsic("smax", length, const("i64", 1)))
    fits = const("i1", 1)
    for k, kind in enumerate(plan.kinds.values()):
        x = parts.first[k]
        if plan.sums and kind == "add" and x.ty == "i64":
            small = b.icmp("ult", b.add(x, const("i64", 1 << 62)), const("i64", 1 << 63))
            fits = b.and_(fits, small)
    low = b.add(share, const("i64", -1 << 63))
    return low, b.add(low, share), fits


def _in_shares(w: Lowering, parts: LaneState, length: Val, some: Callable[[Lanes, Val, Val], tuple[list[Val], Val]]
               ) -> tuple[list[Val], Val]:
    """The state after all iterations, possibly on several threads, and whether a check failed."""
    b, plan, width = w.b, parts.plan, len(parts.first) + 1
    least = _LEAST * plan.count
    memory = w.memory(int64, [_SHARES * width])
    # at most _SHARES shares; fewer if there are few iterations, so that lanes are seldom idle
    shares = b.intrinsic("smin", b.lshr(b.add(length, const("i64", least - 1)), const("i64", least.bit_length() - 1)),
                         const("i64", _SHARES))
    share = b.intrinsic("smax", b.lshr(b.add(length, const("i64", _SHARES - 1)),
                                       const("i64", _SHARES.bit_length() - 1)), const("i64", least))

    def place(b: Builder, share: Val, k: int) -> Val:
        return b.offset(memory.pointer, b.iadd(b.imul(share, width), k), "i64")

    def write(low: Val, high: Val) -> None:
        b = w.b
        with b.loop(low, high) as k:
            for j, x in enumerate((*parts.nothing, const("i1", 0))):
                b.store(x, place(b, k, j))
        stop = b.intrinsic("smin", b.mul(high, share), length)
        values, failed = some(Lanes(w, plan, plan.count, w.frame), b.mul(low, share), stop)
        for j, x in enumerate((*values, failed)):
            b.store(x, place(b, low, j))

    worth = b.icmp("sge", length, const("i64", -(-WORTH // (_TURNS * plan.cost))))
    if not region(w, shares, write, 1, worth):
        raise AssertionError("a part of the loop uses vectors from outside")

    def together(k: Val, values: Sequence[Val]) -> list[Val]:
        *found, failed = [b.load(x.ty, place(b, k, j)) for j, x in enumerate(values)]
        return [*parts.both(b, values[:-1], found), b.or_(values[-1], failed)]

    *found, failed = b.folded(0, shares, [*parts.first, const("i1", 0)], together, unroll=False)
    return found, failed
