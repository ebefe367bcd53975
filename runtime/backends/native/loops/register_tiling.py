"""Register tiling: loops over arrays, block by block; each block runs all its iterations in registers.

It applies to loops whose arrays have one shape, whose body is element-wise, and whose carried scalars depend on no
array. Then elements are independent, and only the loop's test combines them: by at most one `reduce_any`, and the loop
must end when that is false. So a block may stop as soon as its own `reduce_any` is false, if its arrays are stable from
then on. This is checked by one more iteration that must change nothing: the body depends only on the block's arrays and
on loop invariants, so later iterations then change nothing, either. (The mask may be a carried array; where it is
false, `where(mask, new, old)` is `old`, and `new` may use anything.) If a block fails the check, the untiled loop runs.
The number of iterations is the maximum over all blocks. If sizes are known only at run time, the untiled loop also runs
if they differ, or the arrays are smaller than a block.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.index_expressions import Array, Context, Leaf, Scalar, same
from runtime.backends.native.codegen.parallel import WORTH, region
from runtime.backends.native.codegen.scalar_ops import ELEMENTWISE, FAILS, llvm_type
from runtime.backends.native.kernels.shapes import numbers
from runtime.backends.native.llvm.builder import Builder, Index, Val, const, int_like, is_float
from runtime.backends.native.loops.if_conversion import Registers, flat, safe, type_of
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import TensorType, bool_, int32, int64

__all__ = ["TilingPlan", "planned"]

_SHARE: Final = 32  # blocks per share of a thread
_BITS: Final = 1024  # bits of an array in a block: two of the widest registers
_PLAIN: Final = {"const", "cast", "broadcast_to", "dim"}


class TilingPlan:
    """The plan for a loop that can be tiled."""

    def __init__(self, body: Graph, test: Graph | None, items: int, any_: Node | None, checked: bool,
                 shapes: list[GraphValue]) -> None:
        self.body = body
        self.test = test
        self.items = items
        self.any = any_  # the test's `reduce_any`
        self.checked = checked  # whether each block that stops early must be checked
        self.shapes = shapes  # captured values that are the shape of the arrays
        self.names: dict[GraphValue, GraphValue] = {}  # the loop's captures, by those of `body` and `test`


def planned(node: Node, body: Graph, test: Graph | None, items: int) -> TilingPlan | None:
    """The plan for a loop, or None if it cannot be tiled. `items`: how many inputs of the body precede the state."""
    if any(n.op.effect or n.op.name in ("while_loop", "reduce", "try") for g in (body, test) if g is not None
           for n in g.walk()):
        return None
    names: dict[GraphValue, GraphValue] = {}
    body, renamed = flat(body)
    names.update(renamed)
    if test is not None:
        test, renamed = flat(test)
        names.update(renamed)
    plan = _plan(body, test, items)
    if plan is not None:
        plan.names = names
    return plan


def _plan(body: Graph, test: Graph | None, items: int) -> TilingPlan | None:
    state = body.inputs[items:]
    shape = _array_type(body, state)
    if shape is None:
        return None
    tests = [n for n in test.nodes if n.op.name == "reduce_any"] if test is not None else []
    if len(tests) > 1 or not all(_is_any_of_elements(n, shape) for n in tests):
        return None
    any_ = tests[0] if tests else None
    graphs = [body] if test is None else [body, test]
    shapes = list(dict.fromkeys(n.inputs[1] for g in graphs for n in g.nodes
                                if n.op.name == "broadcast_to" and n.inputs[1:] and n.inputs[1].node is None))
    if not (_is_elementwise(graphs, any_, shape) and _captures_fit(graphs, shapes, shape)
            and _keeps_arrays_separate(body, state)):
        return None
    if test is None or any_ is None:
        if test is not None and _dependent(test, _arrays_of(test.inputs)) & set(test.outputs):
            return None
        return TilingPlan(body, test, items, None, False, shapes)
    return TilingPlan(body, test, items, any_, True, shapes) if _stays_when_done(body, test, any_, items) else None


def _arrays_of(values: Iterable[GraphValue]) -> set[GraphValue]:
    return {v for v in values if type_of(v).shape}


def _array_type(body: Graph, state: Sequence[GraphValue]) -> TensorType | None:
    """The type that gives the common shape of all arrays of the state; None if there are none, or shapes differ."""
    if not all(isinstance(v.type, TensorType) for v in body.inputs):
        return None
    arrays = [v for v in state if type_of(v).shape]
    if not arrays:
        return None
    shape = type_of(arrays[0])
    return shape if all(_fits(v, shape) for v in arrays) else None


def _is_any_of_elements(node: Node, shape: TensorType) -> bool:
    """Whether a `reduce_any` reduces all axes of an array of this shape."""
    mask = node.inputs[0]
    return bool(type_of(mask).shape) and _fits(mask, shape) and not type_of(node.outputs[0]).shape


def _is_elementwise(graphs: Iterable[Graph], any_: Node | None, shape: TensorType) -> bool:
    """Whether all nodes, except the test's `any_`, are element-wise, and there is work on arrays."""
    nodes = [n for g in graphs for n in g.nodes if n is not any_ and not _is_shape(n, shape)]
    return all(_elementwise(n, shape) for n in nodes) and any(type_of(n.outputs[0]).shape for n in nodes)


def _captures_fit(graphs: Iterable[Graph], shapes: Sequence[GraphValue], shape: TensorType) -> bool:
    outer = {v for g in graphs for _, v in g.captures}
    return outer.issuperset(shapes) and all(v in shapes or _fits(v, shape) for v in outer)


def _keeps_arrays_separate(body: Graph, state: Sequence[GraphValue]) -> bool:
    """Whether arrays stay arrays, scalars stay scalars, and no scalar depends on an array."""
    depends = _dependent(body, _arrays_of(body.inputs))
    return all(bool(type_of(v).shape) is bool(type_of(out).shape) and (bool(type_of(v).shape) or out not in depends)
               for v, out in zip(state, body.outputs, strict=True))


def _stays_when_done(body: Graph, test: Graph, any_: Node, items: int) -> bool:
    """Whether the loop ends when `any_` is false, and further iterations would then change no array, so that blocks can
    end independently."""
    if _known(test, {any_.outputs[0]: False}).get(test.outputs[0]) is not False:
        return False
    state = body.inputs[items:]
    mask = any_.inputs[0]
    known: dict[GraphValue, Any] = {}
    if mask in test.inputs:
        known[state[test.inputs.index(mask)]] = False
    values = _known(body, known)
    changing = {v for v in body.inputs[:items]} | {
        v for v, out in zip(state, body.outputs, strict=True) if not type_of(v).shape and out is not v}
    reached = _dependent(body, changing, values)
    return not any(out in reached for v, out in zip(state, body.outputs, strict=True) if type_of(v).shape)


def _elementwise(node: Node, shape: TensorType) -> bool:
    name = node.op.name
    if (name not in ELEMENTWISE and name not in _PLAIN) or (name in FAILS and not safe(node)):
        return False
    if name == "const":
        return not node.outputs[0].type.shape  # type: ignore[union-attr]
    if name == "broadcast_to":
        filled, *dims = node.inputs
        fits = all(v.node is None or _is_shape(v.node, shape) for v in dims)
        return fits and not type_of(filled).shape and _fits(node.outputs[0], shape)
    return all(_fits(v, shape) for v in (*node.inputs, *node.outputs))


def _is_shape(node: Node, shape: TensorType) -> bool:
    """Whether the node builds the arrays' common shape from its dimensions."""
    if node.op.name != "stack" or len(node.inputs) != len(shape.shape):
        return False
    makers = [v.node for v in node.inputs]
    return all(n is not None and n.op.name == "dim" and n.params["axis"] == k and _fits(n.inputs[0], shape)
               for k, n in enumerate(makers))


def _fits(value: GraphValue, shape: TensorType) -> bool:
    type = value.type
    return isinstance(type, TensorType) and (not type.shape or (
        len(type.shape) == len(shape.shape)
        and all(a is None or b is None or a == b for a, b in zip(type.shape, shape.shape, strict=True))))


def _dependent(graph: Graph, sources: set[GraphValue], known: dict[GraphValue, Any] | None = None
               ) -> set[GraphValue]:
    """The values that depend on `sources`. A value in `known` does not, unless it equals one that does."""
    found = set(sources)
    known = known or {}
    for node in graph.nodes:
        if node.op.name == "dim":
            continue  # the same in each iteration
        for out in node.outputs:
            what = known.get(out)
            if isinstance(what, GraphValue):
                if what in found:
                    found.add(out)
            elif what is None and any(v in found for v in node.inputs):
                found.add(out)
    return found


def _known(graph: Graph, known: dict[GraphValue, Any]) -> dict[GraphValue, Any]:
    """Bools that follow from known ones, and values that are then equal to other values."""
    found = dict(known)

    def what(v: GraphValue) -> Any:
        constant = v.constant
        return found.get(v, bool(constant) if constant is not None and constant.dtype == bool else v)

    for node in graph.nodes:
        name = node.op.name
        values = [what(v) for v in node.inputs]
        if name in ("bitwise_and", "bitwise_or") and node.outputs[0].type.dtype is bool_:  # type: ignore[union-attr]
            absorbing = name == "bitwise_or"
            if absorbing in [v for v in values if isinstance(v, bool)]:
                found[node.outputs[0]] = absorbing
        elif name == "where" and isinstance(values[0], bool):
            found[node.outputs[0]] = values[1] if values[0] else values[2]
        elif name == "invert" and isinstance(values[0], bool):
            found[node.outputs[0]] = not values[0]
    return found


class Block(Registers):
    """Writes one block of a tiled loop."""

    def __init__(self, w: Lowering, dims: Sequence[Index], count: int) -> None:
        super().__init__(w, count)
        self.dims = dims  # of the complete arrays

    def run(self, graph: Graph, env: dict[GraphValue, Val], skip: Node | None = None) -> list[Val]:
        """The values of the outputs: scalars, or vectors of the block's elements."""
        b = self.b
        for node in graph.nodes:
            out = node.outputs[0]
            name = node.op.name
            if node is skip:
                env[out] = self.any(self.wide(env[node.inputs[0]]))
            elif name == "stack":
                continue  # the common shape of all arrays
            elif name == "dim":
                size = self.dims[node.params["axis"]]
                env[out] = b.convert("trunc", b.i64(size), llvm_type(type_of(out).dtype))
            elif name == "broadcast_to":
                env[out] = env[node.inputs[0]]
            else:
                env[out] = self.node(node, env)
        return [env[v] for v in graph.outputs]


def write(w: Lowering, plan: TilingPlan, state: Sequence[Value], envs: dict[str, dict[GraphValue, Value]],
          length: Val | None, dims: Sequence[Index], fits: Val | None, cost: int) -> tuple[list[Value], Val | None]:
    """Write the tiled loop, for arrays of at least one block. Returns the state after it, and whether that is invalid,
    because a block failed its check or nothing was done. `length`: the maximal number of iterations. `fits`: the
    run-time condition on the arrays; None: always true."""
    return _Tiles(w, plan, state, envs, length, dims, cost).all(fits)


class _Tiles:
    """Writes the loop over blocks: carried values stay in registers while all iterations run for one block."""

    def __init__(self, w: Lowering, plan: TilingPlan, state: Sequence[Value], envs: dict[str, dict[GraphValue, Value]],
                 length: Val | None, dims: Sequence[Index], cost: int) -> None:
        self.w, self.plan, self.state, self.length, self.cost = w, plan, state, length, cost
        body, items = plan.body, plan.items
        self.types = [type_of(v) for v in body.inputs[items:]]
        self.arrays = [k for k, type in enumerate(self.types) if type.shape]
        self.count = block_size(plan)
        self.size = w.b.product(dims)
        self.total = w.b.i64(self.size)
        self.sources = {k: w.leaf(state[k]) for k in self.arrays}
        self.carried = [k for k in self.arrays if body.outputs[k] is not body.inputs[items + k]]
        self.targets = {k: w.memory(self.types[k].dtype, dims) for k in self.carried}
        self.block = Block(w, dims, self.count)
        self.firsts = {k: w.element(state[k]) for k in range(len(self.types)) if k not in self.arrays}
        self.scalars = [k for k in self.firsts if body.outputs[k] is not body.inputs[items + k]]
        self.captures = {name: self._captured(graph, envs[name]) for name, graph in (
            ("body", body), ("test", plan.test)) if graph is not None}

    def _captured(self, graph: Graph, env: dict[GraphValue, Value]) -> dict[GraphValue, Value]:
        found: dict[GraphValue, Value] = {}
        for _, v in graph.captures:
            if v not in self.plan.shapes:
                x = env[self.plan.names[v]]
                found[v] = self.w.leaf(x) if isinstance(x, Array) else x
        return found

    def all(self, fits: Val | None) -> tuple[list[Value], Val | None]:
        b, plan = self.w.b, self.plan
        start = [const("i64", -1), *[self.firsts[k] for k in self.scalars]]
        if plan.checked:
            start.append(const("i1", 0))
        stop = self.size if fits is None else b.select(fits, self.total, const("i64", 0))
        last = _all_blocks(self.w, stop, self.count, self.cost, start, plan.checked, self.one)
        results: list[Value] = list(self.state)
        for k, type in enumerate(self.types):
            if k in self.targets:
                results[k] = self.targets[k]
            elif k in self.scalars:
                results[k] = Scalar(type.dtype, last[1 + self.scalars.index(k)])
        wrong = last[-1] if plan.checked else None
        if fits is not None:
            wrong = b.not_(fits) if wrong is None else b.or_(b.not_(fits), wrong)
        return results, wrong

    def one(self, start: Val, best: Sequence[Val]) -> list[Val]:
        """Run all iterations for the block at `start`. `best`: the maximal number of iterations of the blocks so far,
        the scalars after these, and whether a block failed its check."""
        b = self.w.b
        base = b.intrinsic("smin", start, b.op("i64", f"sub {self.total}, {self.count}"))
        outer = {name: {v: self._load(x, base) for v, x in env.items()} for name, env in self.captures.items()}
        now, turn, still = self._iterations(outer, base)
        for k in self.carried:
            dtype = self.types[k].dtype
            b.store(now[k], b.offset(self.targets[k].pointer, base, llvm_type(dtype)), dtype.size)
        later = b.icmp("sgt", turn, best[0])
        chosen = [b.select(later, turn, best[0])]
        chosen += [b.select(later, now[k], old)
                   for k, old in zip(self.scalars, best[1:1 + len(self.scalars)], strict=True)]
        if self.plan.checked:
            assert still is not None
            chosen.append(b.or_(best[-1], self._is_wrong(outer, now, turn, still)))
        return chosen

    def _load(self, x: Value, base: Val) -> Val:
        if isinstance(x, Scalar):
            return x.val
        assert isinstance(x, Leaf)
        if all(isinstance(s, int) and s == 0 for s in x.strides or (1,)):
            return x.at(Context(self.w.b), [0] * len(x.dims))
        return x.at(Context(self.w.b, self.count), [base])

    def _iterations(
        self, outer: dict[str, dict[GraphValue, Val]], base: Val
    ) -> tuple[list[Val], Val, Val | None]:
        """Write the loop of one block: the state after it, its number of iterations, and its test's `reduce_any`."""
        w, b, block, plan = self.w, self.w.b, self.block, self.plan
        fixed = {k: self._load(self.sources[k], base) for k in self.arrays if k not in self.carried}
        head, inside, after = b.label("while"), b.label("do"), b.label("end")
        first = {k: block.wide(self._load(self.sources[k], base)) for k in self.carried}
        before = b.block
        b.start(head)
        turn, close_turn = b.open_phi("i64", const("i64", 0), before)
        values = {k: self.firsts[k] for k in self.scalars} | first
        phis = {k: b.open_phi(v.ty, v, before) for k, v in values.items()}
        now = [phis[k][0] if k in phis else fixed[k] if k in fixed else self.firsts[k] for k in range(len(self.types))]
        go = const("i1", 1) if self.length is None else b.icmp("slt", turn, self.length)
        still: Val | None = None
        if plan.test is not None:
            (more,), still = self._test(plan.test, outer, now)
            go = more if self.length is None else b.and_(go, more)
        b.branch(go, inside, after)
        b.start(inside)
        news = self._iterate(outer, now, turn)
        w.poll(self.cost)
        close_turn(b.op("i64", f"add nuw nsw {turn}, 1"), b.block)
        for k, (_, close) in phis.items():
            close(block.wide(news[k]) if k in self.carried else news[k], b.block)
        b.jump(head)
        b.start(after)
        return now, turn, still

    def _test(
        self, test: Graph, outer: dict[str, dict[GraphValue, Val]], state: Sequence[Val]
    ) -> tuple[list[Val], Val | None]:
        env = {**outer["test"], **dict(zip(test.inputs, state, strict=True))}
        found = self.block.run(test, env, self.plan.any)
        return found, None if self.plan.any is None else env[self.plan.any.outputs[0]]

    def _is_wrong(
        self, outer: dict[str, dict[GraphValue, Val]], state: Sequence[Val], turn: Val, still: Val
    ) -> Val:
        """Whether a finished block would change in a further iteration, which other blocks may need."""
        b, test = self.w.b, self.plan.test
        assert test is not None
        again = self._iterate(outer, state, turn)
        same: Val | None = None
        for k in self.carried:
            equal = _equal(self.block, state[k], self.block.wide(again[k]))
            same = equal if same is None else b.and_(same, equal)
        following = [again[k] if k in self.carried else v for k, v in enumerate(state)]
        _, then = self._test(test, outer, following)
        assert same is not None and then is not None
        return b.and_(b.not_(still), b.or_(b.not_(same), then))

    def _iterate(self, outer: dict[str, dict[GraphValue, Val]], state: Sequence[Val], turn: Val) -> list[Val]:
        b, body = self.w.b, self.plan.body
        counter: list[Val] = []
        if self.plan.items:
            ty = llvm_type(type_of(body.inputs[0]).dtype)
            counter = [turn if ty == "i64" else b.convert("trunc", turn, ty)]
        return self.block.run(body, {**outer["body"], **dict(zip(body.inputs, [*counter, *state], strict=True))})


def _all_blocks(w: Lowering, total: Index, count: int, cost: int, start: Sequence[Val],
                checked: bool, one: Callable[[Val, Sequence[Val]], list[Val]]) -> list[Val]:
    """Fold `one` over all blocks; many blocks possibly on several threads, each of which folds shares of them."""
    b = w.b
    many = count * _SHARE
    least = max(2 * many, -(-WORTH // cost))  # worth more than one thread
    if (isinstance(total, int) and total < least) or w.inside:
        return b.folded(0, total, start, one, count)
    shares = b.idiv(b.iadd(total, many - 1), many)
    width = len(start)
    found = w.memory(int64, [b.imul(shares, width)])
    worth = None if isinstance(total, int) else b.icmp("sge", total, const("i64", least))

    def place(b: Builder, k: Index, j: int) -> Val:
        return b.offset(found.pointer, b.iadd(b.imul(k, width), j), "i64")

    def write(first: Val, last: Val) -> None:
        b = w.b
        with b.loop(first, last) as k:
            begin = b.imul(k, many)
            end = b.intrinsic("smin", b.i64(b.iadd(begin, many)), b.i64(total))
            for j, value in enumerate(b.folded(begin, end, start, one, count)):
                b.store(value, place(b, k, j))

    if not region(w, shares, write, 1, worth):
        return b.folded(0, total, start, one, count)

    def later(k: Val, best: Sequence[Val]) -> list[Val]:
        these = [b.load(value.ty, place(b, k, j)) for j, value in enumerate(start)]
        newer = b.icmp("sgt", these[0], best[0])
        chosen = [b.select(newer, x, y) for x, y in zip(these, best, strict=True)]
        if checked:  # whether a block failed its check
            chosen[-1] = b.or_(these[-1], best[-1])
        return chosen

    return b.folded(0, shares, start, later)


def block_size(plan: TilingPlan) -> int:
    """The number of elements of a block, such that the widest array takes two registers."""
    sizes = [v.type.dtype.size for g in (plan.body,) for n in g.nodes for v in n.outputs
             if isinstance(v.type, TensorType) and v.type.shape]
    return max(_BITS // (8 * max(sizes, default=4)), 4)


def _equal(block: Block, x: Val, y: Val) -> Val:
    """Whether all lanes are equal, bit for bit."""
    b = block.b
    if is_float(x.ty):
        x, y = b.bitcast(x, int_like(x.ty)), b.bitcast(y, int_like(y.ty))
    return b.not_(block.any(b.icmp("ne", x, y)))


def runtime_check(w: Lowering, plan: TilingPlan, state: Sequence[Value], envs: dict[str, dict[GraphValue, Value]]
          ) -> tuple[list[Index], Val | None] | None:
    """The common shape of the arrays, and the run-time condition that they have it and are large enough, or None.
    Returns None alone if they statically differ or are too small."""
    b = w.b
    captured = [envs[name][plan.names[v]] for name, graph in (("body", plan.body), ("test", plan.test))
                for _, v in (graph.captures if graph is not None else ()) if v not in plan.shapes]
    arrays = [x for x in (*state, *captured) if isinstance(x, Array)]
    fits: Val | None = None
    dims: list[Index] = []
    for sizes in zip(*[x.dims for x in arrays], strict=True):
        size = next((d for d in sizes if isinstance(d, int)), sizes[0])
        dims.append(size)
        for other in sizes:
            if same(other, size):
                continue
            if isinstance(other, int):
                return None
            equal = b.icmp("eq", other, b.i64(size))
            fits = equal if fits is None else b.and_(fits, equal)
    for v in plan.shapes:
        shape = next(x for env in envs.values() for inner, x in env.items() if inner is plan.names[v])
        for size, other in zip(dims, numbers(w, shape, len(dims)), strict=True):
            if not same(other, size):
                equal = b.icmp("eq", b.i64(other), b.i64(size))
                fits = equal if fits is None else b.and_(fits, equal)
    total = b.product(dims)
    if isinstance(total, int):
        return (dims, fits) if total >= block_size(plan) else None
    least = block_size(plan)
    enough = b.icmp("ult", b.sub(total, const("i64", least)), const("i64", int32.limits[1] - least))  # of int32
    return dims, enough if fits is None else b.and_(fits, enough)
