"""Batching of matrix products that do not depend on the state of their counted loop: those of many iterations are
computed at once, on several threads.

In `for t in range(time): h = tanh(xs[t] @ w + h @ u)` the products `xs[t] @ w` are independent of other iterations.
Those of a group of iterations are computed when the first one begins. Each is the same call, of BLAS or of
`packed_operands`, so it has the same bits; one product for all iterations might not. A group takes about a millisecond
at most: so little is wasted if an exception ends the loop, and the results are still in the cache when they are used.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple

from runtime.backends.native.abi.blas import blas_symbols
from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.index_expressions import Array, Context, Leaf, Listed, Scalar
from runtime.backends.native.codegen.parallel import THREADS_WORD, region
from runtime.backends.native.codegen.piecewise_arrays import Axis, Slicer
from runtime.backends.native.codegen.scalar_ops import cast, literal, llvm_type, lower
from runtime.backends.native.kernels.matmul import gemm
from runtime.backends.native.kernels.matmul.packed_operands import PackedMatrix
from runtime.backends.native.kernels.matmul.products import by_blas
from runtime.backends.native.kernels.shapes import result_type, wide
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.backends.native.loops.if_conversion import type_of
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import TensorType, float32, float64

__all__ = ["BatchedProducts", "planned"]

_PER_ELEMENT: Final = 16  # multiplications per unit of weight
_WORTH: Final = 1 << 24  # multiplications: 0.3 ms of one core, a few times what waking a thread takes
_GROUP: Final = 1 << 26  # multiplications of float32, in vectors of 512 bits: 1.1 ms of one core
_BYTES: Final = 1 << 22  # size of the results of a group

Env = Mapping[GraphValue, Value]


@dataclass(frozen=True)
class Step:
    """A matrix that depends on the iteration: the slice of `source` at one position of an axis. `wraps`: negative
    positions count from the end."""

    source: Leaf
    axis: int
    index: GraphValue
    wraps: bool

    @property
    def dims(self) -> list[Index]:
        return [*self.source.dims[:self.axis], *self.source.dims[self.axis + 1:]]


class Product(NamedTuple):
    """A batched product. `packed`: its packed right matrix, if threads may share that."""

    node: Node
    sides: Sequence[Leaf | Step]
    packed: PackedMatrix | None

    @property
    def sizes(self) -> tuple[Index, Index, Index]:
        """Rows, multiplications per element, and columns."""
        x, y = self.sides
        return x.dims[0], x.dims[1], y.dims[1]

    @property
    def dims(self) -> tuple[Index, Index]:
        return self.sizes[0], self.sizes[2]


class BatchedProducts:
    """The batched products of one loop, and memory for those of a group of iterations."""

    def __init__(self, w: Lowering, body: Graph, env: Env, products: Sequence[Product], length: Val, at_once: Val,
                 work: Index) -> None:
        self.w = w
        self.body = body
        self.env = env
        self.products = products
        self.length = length
        self.at_once = at_once
        self.work = work
        self.memories = [w.memory(result_type(p.node).dtype, [at_once, *p.dims]) for p in products]

    def enter(self, step: Val) -> dict[GraphValue, Value]:
        """The products for the iteration that begins; the first iteration of a group computes those of the group."""
        w, b = self.w, self.w.b
        row = b.urem(step, self.at_once)
        with b.when(b.icmp("eq", row, const("i64", 0))), w.scope():
            many = b.icmp("sgt", self.at_once, const("i64", 1))
            b.either(many, lambda: self._group(step), lambda: self._alone(step))
        found: dict[GraphValue, Value] = {}
        for p, memory in zip(self.products, self.memories, strict=True):
            place = Leaf(memory.dtype, memory.dims[1:], memory.address(b, [row, 0, 0]), scratch=True)
            w.lowered_early[p.node] = [place]
            found[p.node.outputs[0]] = place
        return found

    def _group(self, first: Val) -> list[Val]:
        w, b = self.w, self.w.b
        count = b.intrinsic("smin", self.at_once, b.sub(self.length, first))

        def part(start: Val, stop: Val) -> None:
            with w.b.loop(start, stop) as row:
                self._make(w.b.add(first, row), row, True)

        if not region(w, count, part, 1, work=b.imul(count, b.idiv(self.work, _PER_ELEMENT))):
            part(const("i64", 0), count)
        return []

    def _alone(self, step: Val) -> list[Val]:
        self._make(step, const("i64", 0), False)
        return []

    def _make(self, step: Val, row: Val, whole: bool) -> None:
        """Compute the products of an iteration; one whose index is out of range is skipped, and raises when its
        iteration runs."""
        w, b = self.w, self.w.b
        for p, memory in zip(self.products, self.memories, strict=True):
            after = b.label("made")
            x, y = [self._matrix(side, step, after) if isinstance(side, Step) else side for side in p.sides]
            out = Leaf(memory.dtype, memory.dims[1:], memory.address(b, [row, 0, 0]))
            if p.packed is not None:
                p.packed.multiply(w, x, out)
            else:
                gemm.call(w, x, y, out, whole=whole)
            b.start(after)

    def _matrix(self, side: Step, step: Val, after: str) -> Leaf:
        b = self.w.b
        size = side.source.dims[side.axis]
        chosen: list[Axis | None] = [Axis(0, 1, d) for d in side.source.dims]
        chosen[side.axis] = Axis(self._place(side.index, step, size, side.wraps, after), 1, None)
        return Slicer(b, chosen, side.dims)(side.source)

    def _place(self, index: GraphValue, step: Val, size: Index, wraps: bool, after: str) -> Val:
        """Write the position of an index on an axis, and a jump to `after` if it is out of range."""
        b = self.w.b
        number = self._number(index, step, after)
        at = wide(b, number.val, number.dtype)
        if wraps:
            at = b.select(b.icmp("slt", at, const("i64", 0)), b.add(at, b.i64(size)), at)
        inside = b.label("inside")
        b.branch(b.icmp("ult", at, b.i64(size)), inside, after)
        b.start(inside)
        return at

    def _number(self, value: GraphValue, step: Val, after: str) -> Scalar:
        b, dtype = self.w.b, type_of(value).dtype
        known, node = self.env.get(value), value.node
        if value is self.body.inputs[0]:
            ty = llvm_type(dtype)
            return Scalar(dtype, step if ty == "i64" else b.convert("trunc", step, ty))
        if isinstance(known, Scalar):
            return known
        if value.constant is not None:
            return Scalar(dtype, literal(dtype, value.constant.item()))
        assert node is not None
        if node.op.name == "getitem":
            vector = self.env[node.inputs[0]]
            assert isinstance(vector, Array)
            place = self._place(node.inputs[1], step, vector.dims[0], True, after)
            return Scalar(dtype, vector.at(Context(b), [place]))
        numbers = [self._number(v, step, after) for v in node.inputs]
        if node.op.name == "cast":
            return Scalar(dtype, cast(b, numbers[0].val, numbers[0].dtype, dtype))
        return Scalar(dtype, lower(b, node.op.name, dtype, *[number.val for number in numbers]))


def planned(w: Lowering, node: Node, length: Val, env: Env) -> BatchedProducts | None:
    """The batched products of a loop over `length` numbers; None if there are none, or they do not pay. `env`:
    captures."""
    body = node.params["body"]
    if w.inside or not blas_symbols():
        return None
    products = [p for n in body.nodes if n.op.name == "matmul" and (p := _product(w, n, body, env)) is not None]
    why = "the loop may end early" if node.params.get("test") is not None else None
    kept = []
    for p in products:
        reason = why or _unfit(w, p)
        if reason is None:
            kept.append(p)
        else:
            w.ahead[p.node] = reason
    if not kept:
        return None
    b = w.b
    known = node.inputs[0].constant
    steps: Index = length if known is None else int(known)
    work = reduce(b.iadd, [b.product(p.sizes) for p in kept])
    size = reduce(b.iadd, [b.product([*p.dims, result_type(p.node).dtype.size]) for p in kept])
    if isinstance(steps, int) and isinstance(work, int) and steps * work < _WORTH:
        w.ahead.update(dict.fromkeys([p.node for p in kept], "those of all steps are little work"))
        return None
    at_once = _at_once(w, steps, work, size)
    w.ahead.update(dict.fromkeys([p.node for p in kept], at_once if isinstance(at_once, int) else 0))
    pays = [b.icmp("sgt", b.load("i64", w.word(THREADS_WORD)), const("i64", 1)),
            b.icmp("sge", b.i64(b.imul(steps, work)), const("i64", _WORTH)),
            *[b.icmp("sle", b.i64(b.product(p.sizes)), const("i64", _most(w, p))) for p in kept],
            *[lies for p in kept for side in p.sides if isinstance(lies := _straight(w, side), Val)]]
    at_once = b.select(reduce(b.and_, pays), b.i64(at_once), const("i64", 1))
    return BatchedProducts(w, body, env, kept, length, at_once, work)


def _at_once(w: Lowering, steps: Index, work: Index, size: Index) -> Index:
    """The iterations per group, at least 1, given the work and bytes of one. All groups have about the same size."""
    b = w.b
    if isinstance(work, int) and isinstance(size, int):
        most: Index = max(min(_GROUP // work, _BYTES // size), 1)
    else:
        limits = [b.idiv(limit, _at_least_one(b, each)) for limit, each in ((_GROUP, work), (_BYTES, size))]
        most = _at_least_one(b, b.intrinsic("smin", *map(b.i64, limits)))
    if isinstance(steps, int) and isinstance(most, int):
        return -(-steps // -(-steps // most))
    groups = _at_least_one(b, b.idiv(b.isub(b.iadd(steps, most), 1), most))
    return _at_least_one(b, b.idiv(b.isub(b.iadd(steps, groups), 1), groups))


def _at_least_one(b: Builder, x: Index) -> Val:
    return b.intrinsic("smax", b.i64(x), const("i64", 1))


def _unfit(w: Lowering, p: Product) -> str | None:
    """Why a product is better computed in its own iteration; None if it is not."""
    x, y = p.sides
    if not isinstance(x.dims[1], int) or x.dims[1] != y.dims[0]:
        return "how many products an element sums is not known"
    if not by_blas(w, result_type(p.node).dtype, p.sizes):
        return "it is written inline"
    work = w.b.product(p.sizes)
    return "it is divided among threads by itself" if isinstance(work, int) and work > _most(w, p) else None


def _most(w: Lowering, p: Product) -> int:
    """The maximal number of multiplications of a batched product: those by packed operands run on one thread;
    OpenBLAS would divide larger ones among threads of its own."""
    return _GROUP if p.packed is not None else gemm.on_one_thread(w.module)


# Which products are independent of the state, with operands that are available before their iteration.

def _product(w: Lowering, node: Node, body: Graph, env: Env) -> Product | None:
    """The product of a node, if one operand depends only on the iteration's number, and the other does, too, or is
    invariant."""
    sides = [side for value in node.inputs if (side := _side(w, value, body, env)) is not None]
    fits = len(sides) == 2 and result_type(node).dtype in (float32, float64)
    if not fits or not any(isinstance(side, Step) for side in sides):
        return None
    packed: PackedMatrix | None = w.packed_operands.get(node)
    left = _laid(w, sides[0])
    shared = packed is not None and packed.divides(left.dims[0]) and packed.takes(w, left)
    return Product(node, sides, packed if shared else None)


def _side(w: Lowering, value: GraphValue, body: Graph, env: Env) -> Leaf | Step | None:
    """An operand as a matrix in a layout for BLAS; None if it is statically not one."""
    operand = env.get(value)
    if operand is None:
        side: Leaf | Step | None = _step(w, value.node, body, env)
    else:
        side = operand if isinstance(operand, Leaf) else None
    if side is None or len(side.dims) != 2:
        return None
    return None if _straight(w, side) is False else side


def _straight(w: Lowering, side: Leaf | Step) -> bool | Val:
    """Whether the matrix of each iteration is in a layout for BLAS."""
    return gemm.straight(w.b, _laid(w, side))


def _laid(w: Lowering, side: Leaf | Step) -> Leaf:
    """A matrix with the layout of each iteration's matrix."""
    if isinstance(side, Leaf):
        return side
    steps = list(side.source.steps(w.b))
    del steps[side.axis]
    return Leaf(side.source.dtype, side.dims, side.source.pointer, steps)


def _step(w: Lowering, node: Node | None, body: Graph, env: Env) -> Step | None:
    if node is None or node.op.name not in ("getitem", "gather", "list_get") or len(node.inputs) != 2:
        return None
    value, index = node.inputs
    source = env.get(value)
    if isinstance(source, Listed) and source.dims is not None and not source.ragged:
        source = source.rows(w.b)
    if not isinstance(source, Leaf) or not _follows(index, body, env):
        return None
    if node.op.name == "gather":
        return None if node.params["batch_dims"] else Step(source, node.params["axis"], index, False)
    if node.op.name == "list_get":
        return Step(source, 0, index, not node.params.get("strict"))
    entries = node.params["index"]
    whole = all(entry in ("?", (None, None, None)) for entry in entries)
    return Step(source, entries.index("?"), index, True) if whole and "?" in entries else None


def _follows(value: GraphValue, body: Graph, env: Env) -> bool:
    """Whether `BatchedProducts._number` can compute an integer from the loop's counter and captures."""
    if value is body.inputs[0] or isinstance(env.get(value), Scalar) or value.constant is not None:
        return isinstance(value.type, TensorType) and not value.type.shape and value.type.dtype.is_integer
    node = value.node
    if node is None:
        return False
    if node.op.name == "getitem":
        vector = env.get(node.inputs[0])
        return (isinstance(vector, Array) and len(vector.dims) == 1 and node.params["index"] == ("?",)
                and _follows(node.inputs[1], body, env))
    return node.op.name in ("add", "subtract", "cast") and all(_follows(v, body, env) for v in node.inputs)
