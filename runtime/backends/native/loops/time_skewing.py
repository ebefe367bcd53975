"""Time skewing of stencil loops: several steps (iterations) in one pass over memory.

If each step is a pass of its own, arrays that exceed the cache go through it in each step. Here a pass makes up to 16
steps. A row (all elements with one index of the first axis) of a step is computed as soon as the previous step has
computed the rows that it reads, so the steps follow each other through the arrays, a few rows apart. The first step
reads the arrays, the last one writes other arrays, which are swapped after the pass; the steps in between keep their
last rows in ring buffers, which stay in the cache. Each element is computed by the same arithmetic as step by step.

Threads process bands of rows. At its ends a band recomputes the rows of its neighbours that it needs. Row numbers
continue beyond the ends of the arrays, wrapping to the other end, if some row reads rows there, as with `roll`.

Arrays of one dimension are processed block by block: each block makes all steps of a pass, in two alternating buffers,
extended at its ends by the elements that the steps read.

It applies to loops whose scalars depend on no array: scalars are computed ahead, for the steps of one pass. Whether a
step reads only nearby rows is found by writing its code once with arrays that cannot be read (`_Trial`).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.fusion import shared
from runtime.backends.native.codegen.index_expressions import Array, Leaf, Map, Scalar
from runtime.backends.native.codegen.parallel import THREADS_WORD, region
from runtime.backends.native.codegen.piecewise_arrays import Joined, split
from runtime.backends.native.codegen.row_rings import Grid, Rows, WholeNeeded
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.codegen.vectorize import store_lines
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.graph import Graph
from runtime.core.graph import Value as GraphValue
from runtime.core.types import TensorType

__all__ = ["Skewing", "planned", "write"]

_CACHE: Final = 1 << 25  # bytes of both buffers of the arrays, from which on it pays
_RINGS: Final = 1 << 21  # bytes of all ring buffers
_STEPS: Final = 16  # per pass
_FEWEST: Final = 4
_ROWS: Final = 8  # of a ring; more only if steps read more
_BLOCK: Final = 1 << 17  # bytes of a block, for arrays of one dimension
_BANDS: Final = 4  # per thread
_LONG: Final = 8  # minimal ratio of a band's rows to the rows it recomputes

Envs = dict[str, dict[GraphValue, Value]]
Groups = list[list[tuple[Array, Rows]]]


class Skewing:
    """The plan for a loop that can be time-skewed."""

    def __init__(self, arrays: list[int], scalars: list[int], low: int, high: int, wraps: bool, steps: int,
                 rows: int, flat: bool) -> None:
        self.arrays = arrays  # the parts of the state that are arrays and change
        self.scalars = scalars
        self.low = low  # a row depends on rows from `low` before it
        self.high = high  # to `high` after it
        self.wraps = wraps  # and rows beyond the ends wrap to the other end
        self.steps = steps  # per pass
        self.rows = rows  # of a ring, a power of two; or elements of a block
        self.flat = flat  # whether the arrays have one dimension


class _Trial(Lowering):
    """Writes code that is discarded, and raises WholeNeeded if that stores an array, asks Python, or may fail."""

    def __init__(self, w: Lowering) -> None:
        self.__dict__.update({name: list(x) if isinstance(x, list) else x for name, x in vars(w).items()})
        self.b = Builder(w.module, w.flags, prefix="trial.")

    def _no(self, *_: object, **__: object) -> NoReturn:
        raise WholeNeeded

    leaf = allocate = store_all = new_slot = ask = new_object = reserved = leave = _no


def planned(w: Lowering, body: Graph, test: Graph | None, items: int, envs: Envs) -> Skewing | None:
    """The plan for a loop; None if time skewing is impossible or does not pay. `items`: inputs of the body that precede
    the state."""
    state = body.inputs[items:]
    carried = [k for k, v in enumerate(state) if body.outputs[k] is not v]
    if w.inside or not _is_stencil_loop(body, test, items, carried):
        return None
    arrays = [k for k in carried if _type(state[k]).shape]
    height = _dims(_type(state[arrays[0]]))[0]
    flat = len(_type(state[arrays[0]]).shape) == 1
    try:
        groups, offsets = _tried(w, body, test, items, arrays, envs)
    except WholeNeeded:
        return None
    near = {(d + height // 2) % height - height // 2 for d in offsets} | {0}
    low, high = -min(near), max(near)
    row = sum(_bytes(state[k]) for k in arrays) // height
    steps, rows = _blocked(low, high, row, height) if flat else _ringed(low, high, row, height)
    if steps < _FEWEST:
        return None
    for group in groups:
        w.note([x for x, _ in group])
    scalars = [k for k in carried if k not in arrays]
    return Skewing(arrays, scalars, low, high, not near.issuperset(offsets), steps, rows, flat)


def _is_stencil_loop(body: Graph, test: Graph | None, items: int, carried: Sequence[int]) -> bool:
    """Whether a loop without effects or inner control flow carries arrays with equal first axes and known sizes, which
    exceed the cache."""
    if not all(isinstance(v.type, TensorType) for v in body.inputs):
        return False
    if any(n.op.effect or n.subgraphs for g in (body, test) if g is not None for n in g.nodes):
        return False
    state = body.inputs[items:]
    if not all(_type(body.outputs[k]).shape == _type(state[k]).shape for k in carried):
        return False
    arrays = [state[k] for k in carried if _type(state[k]).shape]
    shapes = [_type(v).shape for v in arrays]
    if not shapes or any(None in shape for shape in shapes):
        return False
    if len({(len(shape) == 1, shape[0]) for shape in shapes}) != 1:
        return False
    return 2 * sum(map(_bytes, arrays)) >= _CACHE


def _blocked(low: int, high: int, row: int, height: int) -> tuple[int, int]:
    """The steps of a pass over arrays of one dimension, and the elements of a block, of `row` bytes each."""
    elements = min(_BLOCK // row, height // 4)
    return min(_STEPS, elements // (_LONG * max(low + high, 1))), elements


def _ringed(low: int, high: int, row: int, height: int) -> tuple[int, int]:
    """The steps of a pass over arrays of rows, and the rows of a ring, of `row` bytes each."""
    rows = 2
    while rows < low + high + 2:
        rows *= 2
    steps = min(_STEPS, 1 + _RINGS // (rows * row), height // (_LONG * max(low + high, 1)))
    while rows < _ROWS and 2 * rows * row * (steps - 1) <= _RINGS:
        rows *= 2
    return steps, rows


def _tried(w: Lowering, body: Graph, test: Graph | None, items: int, arrays: Sequence[int], envs: Envs
           ) -> tuple[Groups, set[int]]:
    """The stores of a step, and the offsets of the rows that it reads for a row."""
    trial = _Trial(w)
    state = body.inputs[items:]
    counters: list[Value] = [_unknown(v) for v in body.inputs[:items]]
    values = [_rows(v, Grid(f"source {k}")) if k in arrays else _unknown(v) for k, v in enumerate(state)]
    if test is not None:
        trial.run(test, {**envs["test"], **dict(zip(test.inputs, values, strict=True))})
    results = trial.run(body, {**envs["body"], **dict(zip(body.inputs, [*counters, *values], strict=True))})
    for k, v in enumerate(state):
        if k not in arrays and not _type(v).shape:
            trial.element(results[k])
    targets = [_rows(state[k], Grid(f"target {k}")) for k in arrays]
    groups = _groups(trial.b, [results[k] for k in arrays], targets)
    offsets: set[int] = set()
    for group in groups:
        if shared([x for x, _ in group]):
            raise WholeNeeded
        for x, target in group:
            _row_offsets(x, -target.shift, offsets)
    return groups, offsets


def _type(value: GraphValue) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


def _bytes(value: GraphValue) -> int:
    type = _type(value)
    assert type.size is not None
    return type.size * type.dtype.size


def _dims(type: TensorType) -> list[int]:
    return [size for size in type.shape if size is not None]


def _rows(value: GraphValue, grid: Grid) -> Rows:
    type = _type(value)
    dims = _dims(type)
    return Rows(type.dtype, dims, [math.prod(dims[k:]) for k in range(1, len(dims) + 1)], grid)


def _unknown(value: GraphValue) -> Value:
    """A placeholder of that type that is not constant."""
    type = _type(value)
    x = Val(llvm_type(type.dtype), "%unknown")
    if not type.shape:
        return Scalar(type.dtype, x)
    return Leaf(type.dtype, [Val("i64", "%unknown") if size is None else size for size in type.shape],
                Val("ptr", "%unknown"))


def _groups(b: Builder, results: Sequence[Value], targets: Sequence[Rows]) -> Groups:
    """The stores, grouped by shape and rows."""
    groups: Groups = []
    for result, whole in zip(results, targets, strict=True):
        if not isinstance(result, Array):
            raise WholeNeeded
        for x, target in split(b, result, whole):
            assert isinstance(target, Rows)
            for group in groups:
                first, place = group[0]
                if first.dims == x.dims and place.shift == target.shift:
                    group.append((x, target))
                    break
            else:
                groups.append([(x, target)])
    return groups


def _row_offsets(x: Array | Scalar, at: int, found: set[int]) -> None:
    """Collect the offsets from a row to the rows that `x` reads for it; row k of `x` is row k - at of the array."""
    waiting: list[tuple[Array | Scalar, int]] = [(x, at)]
    visited = set()
    while waiting:
        x, at = waiting.pop()
        if (id(x), at) in visited or isinstance(x, Scalar):
            continue
        visited.add((id(x), at))
        if isinstance(x, Rows):
            found.add(at + x.shift)
        elif isinstance(x, Map):
            waiting += [(arg, at) for arg in x.args]
        elif isinstance(x, Joined):
            waiting += [(part, at - start if x.axis == 0 else at)
                        for part, start in zip(x.parts, x.starts, strict=False)]
        elif not isinstance(x, Leaf):
            raise WholeNeeded


class _Pass:
    """Writes one pass over the arrays, inside the loop over passes."""

    def __init__(self, w: Lowering, plan: Skewing, body: Graph, items: int, env: dict[GraphValue, Value],
                 invariants: dict[int, Value], saved: dict[int, Val], bands: Val) -> None:
        self.w = w
        self.plan = plan
        self.body = body
        self.items = items
        self.env = env  # of captures
        self.invariants = invariants  # loop-invariant values of the state, by place
        self.saved = saved  # by place, the address of the scalars of each step
        self.bands = bands
        state = body.inputs[items:]
        self.height = _dims(_type(state[plan.arrays[0]]))[0]
        self.row = {k: _bytes(state[k]) // self.height for k in plan.arrays}
        self.rings: dict[int, tuple[int, int]] = {}  # by array: the offset in a band's memory, and the size
        self.size = 0  # of the rings of a band
        rows = plan.rows + plan.steps * (plan.low + plan.high) if plan.flat else plan.rows
        for k in plan.arrays:
            ring = -(-self.row[k] * rows // 64) * 64
            self.rings[k] = self.size, ring
            self.size += ring * (2 if plan.flat else plan.steps - 1)
        self.memory = w.slot_memory(w.new_slot(), w.b.imul(bands, self.size))

    def write(self, turn: Val, count: Val, sources: dict[int, Val], targets: dict[int, Val]) -> None:
        """Write `count` steps from the arrays at `sources` to those at `targets`. `turn`: the number of steps
        before."""
        w = self.w
        self.turn, self.count, self.sources, self.targets = turn, count, sources, targets

        def part(start: Val, stop: Val) -> None:
            with w.b.loop(start, stop) as band:
                self.band(band)

        if not region(w, self.bands, part, 1):
            part(const("i64", 0), self.bands)

    def band(self, band: Val) -> None:
        w, b, plan, count = self.w, self.w.b, self.plan, self.count
        memory = b.offset(self.memory, b.imul(band, self.size), "i8")
        start, stop = (b.i64(b.idiv(b.imul(k, self.height), self.bands)) for k in (band, b.iadd(band, 1)))
        cost = plan.steps * sum(self.row.values()) // 8
        if plan.flat:
            with b.loop(start, stop, plan.rows) as first:
                last = b.intrinsic("smin", b.add(first, const("i64", plan.rows)), stop)
                with b.loop(1, b.iadd(count, 1)) as step:
                    self.step(step, memory, *self.needed(first, last, step), first)
                w.poll(cost * plan.rows)
            return
        together = plan.rows - plan.low - plan.high
        end = b.iadd(stop, b.imul(b.isub(count, 1), plan.high))
        with b.loop(self.needed(start, stop, 1)[0], end, together) as front:
            with b.loop(1, b.iadd(count, 1)) as step:
                first, last = self.needed(start, stop, step)
                begin = b.i64(b.isub(front, b.imul(b.isub(step, 1), plan.high)))
                self.step(step, memory, b.intrinsic("smax", begin, first),
                          b.intrinsic("smin", b.add(begin, const("i64", together)), last), start)
            w.poll(cost * together)

    def needed(self, start: Val, stop: Val, step: Index) -> tuple[Val, Val]:
        """The rows of a step on which the rows from `start` to `stop` of the last step depend."""
        b, plan = self.w.b, self.plan
        after = b.isub(self.count, step)
        first = b.i64(b.isub(start, b.imul(after, plan.low)))
        last = b.i64(b.iadd(stop, b.imul(after, plan.high)))
        if plan.wraps:
            return first, last
        return b.intrinsic("smax", first, const("i64", 0)), b.intrinsic("smin", last, const("i64", self.height))

    def step(self, step: Val, memory: Val, begin: Val, end: Val, start: Val) -> None:
        """Write the rows from `begin` to `end` of a step, counted from 1. `memory`: of the band's rings; `start`: the
        beginning of the block, if there are blocks."""
        w, b, plan, state = self.w, self.w.b, self.plan, self.body.inputs[self.items:]
        grids = {k: (Grid(f"source {k}"), Grid(f"target {k}")) for k in plan.arrays}
        before = b.isub(step, 1)
        values = dict(self.invariants)
        for k in plan.scalars:
            dtype = _type(state[k]).dtype
            values[k] = Scalar(dtype, b.load(llvm_type(dtype), b.offset(self.saved[k], before, llvm_type(dtype))))
        values.update({k: _rows(state[k], grids[k][0]) for k in plan.arrays})
        counters = [_counter(b, v, b.iadd(self.turn, before)) for v in self.body.inputs[:self.items]]
        results = w.run(self.body, {**self.env, **dict(zip(
            self.body.inputs, [*counters, *[values[k] for k in range(len(state))]], strict=True))})
        groups = _groups(b, [results[k] for k in plan.arrays], [_rows(state[k], grids[k][1]) for k in plan.arrays])
        is_first, is_last = b.icmp("eq", step, const("i64", 1)), b.icmp("eq", step, self.count)
        for k, (source, target) in grids.items():
            at, ring = self.rings[k]
            for grid, outside, whole, number in ((source, is_first, self.sources[k], b.isub(step, 2)),
                                                 (target, is_last, self.targets[k], before)):
                if plan.flat:
                    number = b.op("i64", f"and {b.i64(number)}, 1")
                grid.pointer = b.select(outside, whole, b.offset(memory, b.iadd(b.imul(number, ring), at), "i8"))
        places = [(grid, flag) for pair in grids.values() for grid, flag in zip(pair, (is_first, is_last), strict=True)]
        if plan.flat:
            self.block(groups, places, begin, end, start)
        else:
            self.lines(groups, places, begin, end)

    def lines(self, groups: Groups, grids: Sequence[tuple[Grid, Val]], begin: Val, end: Val) -> None:
        """Write rows, one by one."""
        b = self.w.b
        with b.loop(begin, end) as row:
            real = self.real(row)
            for grid, outside in grids:
                grid.find = self.in_ring(row, real, outside)
            for group in groups:
                x, place = group[0]
                at = b.i64(b.isub(real, place.shift))
                if place.shift == 0 and x.dims[0] == self.height:
                    store_lines(b, group, x.dims, row=at)
                    continue
                with b.when(b.icmp("ult", at, b.i64(x.dims[0]))):
                    store_lines(b, group, x.dims, row=at)

    def real(self, row: Val) -> Val:
        """The row of the arrays for a row number, which may be beyond their ends."""
        b, size = self.w.b, const("i64", self.height)
        if not self.plan.wraps:
            return row
        low = b.select(b.icmp("slt", row, const("i64", 0)), b.add(row, size), row)
        return b.select(b.icmp("sge", low, size), b.sub(low, size), low)

    def in_ring(self, row: Val, real: Val, outside: Val) -> Callable[[Builder, Index], Index]:
        """The function from a row near `row` to its position in a ring; `outside`: in the arrays instead."""
        half = self.height // 2

        def find(b: Builder, other: Index) -> Index:
            near = other
            if self.plan.wraps:
                size = const("i64", self.height)
                far = b.sub(b.i64(other), real)
                far = b.select(b.icmp("sgt", far, const("i64", half)), b.sub(far, size), far)
                far = b.select(b.icmp("slt", far, const("i64", -half)), b.add(far, size), far)
                near = b.add(row, far)
            ring = b.op("i64", f"and {b.i64(near)}, {self.plan.rows - 1}")
            return b.select(outside, b.i64(other), ring)

        return find

    def block(self, groups: Groups, grids: Sequence[tuple[Grid, Val]], begin: Val, end: Val, start: Val) -> None:
        """Write contiguous elements, in one piece, or in two if they wrap around an end."""
        b, plan, size = self.w.b, self.plan, self.height
        first = b.isub(start, plan.steps * plan.low)  # the beginning of a ring
        turns = (-1, 2) if plan.wraps else (0, 1)
        with b.loop(*turns) as turn:  # number of wraparounds of elements beyond the ends
            by = b.i64(b.imul(turn, size))
            low = b.intrinsic("smax", b.sub(begin, by), const("i64", 0))
            high = b.intrinsic("smin", b.sub(end, by), const("i64", size))
            for grid, outside in grids:
                grid.find = self.in_block(b.i64(b.isub(by, first)), outside)
            for group in groups:
                x, place = group[0]
                here = b.intrinsic("smax", b.i64(b.isub(low, place.shift)), const("i64", 0))
                there = b.intrinsic("smin", b.i64(b.isub(high, place.shift)), b.i64(x.dims[0]))
                with b.when(b.icmp("slt", here, there)):
                    store_lines(b, group, x.dims, here, there)

    def in_block(self, by: Val, outside: Val) -> Callable[[Builder, Index], Index]:
        """The function from an element near the block to its position in a buffer; `outside`: in the arrays instead."""
        b, size = self.w.b, const("i64", self.height)
        offset = b.select(outside, const("i64", 0), by)
        most = b.select(outside, size, const("i64", self.height // 2))

        def find(b: Builder, other: Index) -> Index:
            at = b.i64(b.iadd(other, offset))
            if self.plan.wraps:
                at = b.select(b.icmp("slt", at, const("i64", 0)), b.add(at, size), at)
                at = b.select(b.icmp("sge", at, most), b.sub(at, size), at)
            return at

        return find


def _counter(b: Builder, value: GraphValue, turn: Index) -> Scalar:
    """The counter of a counted loop, as a scalar."""
    dtype = _type(value).dtype
    ty = llvm_type(dtype)
    return Scalar(dtype, b.i64(turn) if ty == "i64" else b.convert("trunc", b.i64(turn), ty))


Phi = tuple[Val, Callable[[Val, str], None]]
"""A loop-carried phi, and the function that adds its incoming value from a block."""


def write(w: Lowering, plan: Skewing, body: Graph, test: Graph | None, items: int, state: Sequence[Value], envs: Envs,
          length: Val | None) -> list[Value]:
    """Write the loop, of at most `length` steps; returns the state after it."""
    return _Passes(w, plan, body, test, items, state, envs, length).write()


class _Passes:
    """Writes the loop over passes. The scalars are computed ahead, for the steps of one pass."""

    def __init__(self, w: Lowering, plan: Skewing, body: Graph, test: Graph | None, items: int, state: Sequence[Value],
                 envs: Envs, length: Val | None) -> None:
        self.w, self.plan, self.body, self.test, self.items = w, plan, body, test, items
        self.state, self.envs, self.length = state, envs, length
        self.types = [_type(v) for v in body.inputs[items:]]
        self.initial = {k: w.leaf(state[k]) for k in plan.arrays}
        self.invariants = {
            k: w.settle(x) for k, x in enumerate(state) if k not in plan.arrays and k not in plan.scalars}
        self.scalars = {k: w.element(state[k]) for k in plan.scalars}
        self.memory = {k: [w.memory(self.types[k].dtype, _dims(self.types[k])) for _ in range(2)]
                       for k in plan.arrays}
        self.saved = {
            k: w.b.alloca("i8" if self.types[k].dtype.is_bool else llvm_type(self.types[k].dtype), plan.steps)
            for k in plan.scalars}

    def write(self) -> list[Value]:
        """Write the loop; returns the state after it."""
        b, plan = self.w.b, self.plan
        one_pass = _Pass(self.w, plan, self.body, self.items, self.envs["body"], self.invariants, self.saved,
                         self.bands())
        head, after = b.label("sweep"), b.label("end")
        before = b.block
        b.start(head)
        turn, close_turn = b.open_phi("i64", const("i64", 0), before)
        scalars = {k: b.open_phi(x.ty, x, before) for k, x in self.scalars.items()}
        sources = {k: b.open_phi("ptr", x.pointer, before) for k, x in self.initial.items()}
        targets, others = ({k: b.open_phi("ptr", self.memory[k][j].pointer, before) for k in plan.arrays}
                           for j in range(2))
        count, ahead = self.run_ahead(turn, scalars, head)
        some = b.label("pass")
        b.branch(b.icmp("sgt", count, const("i64", 0)), some, after)
        b.start(some)
        one_pass.write(turn, count, {k: x for k, (x, _) in sources.items()}, {k: x for k, (x, _) in targets.items()})
        close_turn(b.add(turn, count), b.block)
        for k, (_, close) in scalars.items():
            close(ahead[k], b.block)
        for k in plan.arrays:  # rotate the buffers
            target = targets[k][0]
            sources[k][1](target, b.block)
            targets[k][1](others[k][0], b.block)
            others[k][1](target, b.block)
        b.jump(head)
        b.start(after)
        return self.final(scalars, sources)

    def bands(self) -> Val:
        """The number of bands of rows: one, or several per thread."""
        b, plan = self.w.b, self.plan
        threads = b.load("i64", self.w.word(THREADS_WORD))
        height = _dims(self.types[plan.arrays[0]])[0]
        most = height // (_LONG * plan.steps * max(plan.low + plan.high, 1))
        several = b.intrinsic("smin", b.mul(threads, const("i64", _BANDS)), const("i64", max(most, 1)))
        return b.select(b.icmp("sgt", threads, const("i64", 1)), several, const("i64", 1))

    def run_ahead(self, turn: Val, scalars: dict[int, Phi], head: str) -> tuple[Val, dict[int, Val]]:
        """Compute and save the scalars of the next pass's steps; returns the number of these steps, and the scalars
        after them."""
        w, b, plan = self.w, self.w.b, self.plan
        scan, more, inside = (b.label(name) for name in ("scan", "more", "step"))
        b.start(scan)
        count, close_count = b.open_phi("i64", const("i64", 0), head)
        ahead = {k: b.open_phi(x.ty, x, head) for k, (x, _) in scalars.items()}
        values = [self.value_ahead(k, ahead) for k in range(len(self.types))]
        go = b.icmp("slt", count, const("i64", plan.steps))
        if self.length is not None:
            go = b.and_(go, b.icmp("slt", b.add(turn, count), self.length))
        if self.test is not None:
            checked = b.label("check")
            b.branch(go, checked, more)
            b.start(checked)
            inputs = dict(zip(self.test.inputs, values, strict=True))
            go = w.element(w.run(self.test, {**self.envs["test"], **inputs})[0])
        b.branch(go, inside, more)
        b.start(inside)
        for k, (x, _) in ahead.items():
            b.store(x, b.offset(self.saved[k], count, llvm_type(self.types[k].dtype)))
        if ahead:
            counters = [_counter(b, v, b.iadd(turn, count)) for v in self.body.inputs[:self.items]]
            results = w.run(self.body, {
                **self.envs["body"], **dict(zip(self.body.inputs, [*counters, *values], strict=True))})
            for k, (_, close) in ahead.items():
                close(w.element(results[k]), b.block)
        close_count(b.op("i64", f"add nuw nsw {count}, 1"), b.block)
        b.jump(scan)
        b.start(more)
        return count, {k: x for k, (x, _) in ahead.items()}

    def value_ahead(self, place: int, ahead: dict[int, Phi]) -> Value:
        """A value of the state ahead of the pass: arrays cannot be read."""
        if place in self.invariants:
            return self.invariants[place]
        if place in ahead:
            return Scalar(self.types[place].dtype, ahead[place][0])
        return _rows(self.body.inputs[self.items + place], Grid("none"))

    def final(self, scalars: dict[int, Phi], sources: dict[int, Phi]) -> list[Value]:
        """The state after the loop."""
        made: list[Value] = list(self.state)
        for k, (x, _) in scalars.items():
            made[k] = Scalar(self.types[k].dtype, x)
        for k, (pointer, _) in sources.items():
            first = self.initial[k]
            bases = first.bases.union([pointer.ref, *[x.pointer.ref for x in self.memory[k]]])
            made[k] = Leaf(self.types[k].dtype, first.dims, pointer, bases=bases)
        return made
