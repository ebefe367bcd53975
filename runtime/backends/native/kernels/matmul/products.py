"""Matrix products: small ones written inline, others by `gemm.py`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runtime.backends.native.abi.blas import GEMM
from runtime.backends.native.codegen import folds, fusion
from runtime.backends.native.codegen.context import Lowering, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Leaf, Map, Scalar
from runtime.backends.native.codegen.scalar_ops import llvm_type, lower
from runtime.backends.native.kernels.elementwise import fitted
from runtime.backends.native.kernels.gemm_accumulate import Update, update_of
from runtime.backends.native.kernels.matmul import gemm, matrix_vector
from runtime.backends.native.kernels.matmul.packed_operands import PackedMatrix
from runtime.backends.native.kernels.shapes import narrowed, result_type, widened
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.graph import Node
from runtime.core.types import DType, float16

__all__ = ["by_blas", "element_at", "leading", "multiply", "steps_of"]

_ROW: Final = 64  # columns of an inline product whose row is kept in registers
_CHAINS: Final = 8  # independent accumulators, in 256-bit registers
_WORTH_COPYING: Final = 4  # rows that read a transposed matrix, from which on copying it pays


@lowers("matmul")
def matmul(w: Lowering, node: Node, x: Value, y: Value) -> Value:
    assert isinstance(x, Array) and isinstance(y, Array)
    if x.dtype is float16:
        return narrowed(w, _matmul(w, node, widened(x), widened(y)), float16)
    return _matmul(w, node, x, y)


def _matmul(w: Lowering, node: Node, x: Array, y: Array) -> Value:
    if x.dtype in GEMM:
        gemm.need(w, x.dtype)
    b = w.b
    x, y = _matrix(w, x), _matrix(w, y)
    rows, inner, columns = x.dims[-2], x.dims[-1], y.dims[-1]
    if isinstance(inner, Val) or isinstance(y.dims[-2], Val):
        w.fail_if(b.icmp("ne", b.i64(inner), b.i64(y.dims[-2])), node, [x, y])
        inner = inner if isinstance(inner, int) else y.dims[-2]
    known = result_type(node).shape
    dims = [d if k is None else k for k, d in zip(known, [*leading(w, node, x, y), rows, columns], strict=True)]
    lead, rows, columns = dims[:-2], *dims[-2:]  # the result type may know more than the operands
    together = b.product(dims[:-1])
    if lead and len(y.dims) == 2 and isinstance(together, int):  # one product, which reads `y` once
        x, lead, rows = w.leaf(x).reshaped([together, inner]), [], together
    if not lead and gemm.by_sums(x.dtype, (rows, inner, columns)):
        return _by_sums(w, node, x, y, dims)
    if not lead and by_blas(w, x.dtype, [rows, inner, columns]):
        fused = _fused(w, node, x, y, (rows, inner, columns), dims)
        if fused is not None:
            return fused
    whole = x.dtype is result_type(node).dtype
    target = w.result(node.outputs[0], dims) if whole else w.memory(x.dtype, dims)
    xs, ys = (steps_of(w, m, lead) for m in (x, y))
    outs = target.reshaped([*lead, rows, columns])

    def product(place: Sequence[Index]) -> None:
        left, right = (element_at(w, m, s, place) for m, s in ((x, xs), (y, ys)))
        out = Leaf(x.dtype, [rows, columns], outs.address(b, [*place, 0, 0]))
        multiply(w, Leaf(x.dtype, [rows, inner], left, x.steps(b)[-2:]),
                 Leaf(x.dtype, [inner, columns], right, y.steps(b)[-2:]), out)
        if lead:
            w.poll(b.imul(b.product([rows, columns]), inner) if isinstance(inner, int) else 1 << 14)

    fusion.nest(b, lead, product, parallel=False)
    return target


def _fused(w: Lowering, node: Node, x: Leaf, y: Leaf, sizes: tuple[Index, Index, Index], dims: Sequence[Index]
           ) -> Value | None:
    """The product by a matrix that was packed before the loop, or fused with its accumulator; None if neither
    applies."""
    update = update_of(w, node, dims)
    is_variable = update is not None and update.variable is not None
    packed: PackedMatrix | None = w.packed_operands.get(node)
    if packed is not None and packed.takes(w, x) and not is_variable:
        return _by_packed(w, node, packed, x, dims, update)
    if update is None or (is_variable and gemm.cut(w, x.dtype, sizes)):  # an interrupt would leave it half written
        return None
    w.added.append(node)
    return update.write(w, lambda out, alpha: gemm.call(w, x, y, out, alpha, is_variable))


def _by_sums(w: Lowering, node: Node, x: Leaf, y: Leaf, dims: Sequence[Index]) -> Leaf:
    """The product of a matrix and a vector."""
    b, dtype = w.b, x.dtype
    w.long = True
    if not _is(y.dims[1], 1):  # x y = (y' x')'
        x, y = (Leaf(dtype, m.dims[::-1], m.pointer, m.steps(b)[::-1], bases=m.bases) for m in (y, x))
    if not _is(y.steps(b)[0], 1):
        y = _copied(w, y)
    target = w.result(node.outputs[0], dims) if dtype is result_type(node).dtype else w.memory(dtype, dims)
    matrix_vector.multiply(w, x, y, Leaf(dtype, [x.dims[0], 1], target.pointer))
    return target


def _by_packed(
    w: Lowering, node: Node, packed: PackedMatrix, x: Leaf, dims: Sequence[Index], update: Update | None
) -> Leaf:
    w.by_packed.append(node)
    if update is not None:
        w.added.append(node)
        return update.write(w, lambda out, alpha: packed.multiply(w, x, out, alpha))
    target = w.result(node.outputs[0], dims)
    packed.multiply(w, x, target)
    return target


def _matrix(w: Lowering, x: Array) -> Leaf:
    """The matrices in memory, with contiguous rows or columns."""
    if isinstance(x, Leaf) and any(isinstance(s, int) and s == 1 for s in x.steps(w.b)[-2:]):
        return x
    return w.leaf(x)


def leading(w: Lowering, node: Node, x: Leaf, y: Leaf) -> list[Index]:
    """The leading (batch) dimensions, broadcast."""
    if len(x.dims) == 2 and len(y.dims) == 2:
        return []
    shapes = [Leaf(m.dtype, m.dims[:-2], m.pointer) for m in (x, y)]
    dims, _ = fitted(w, node, [s for s in shapes if s.dims], widen=False, operands=[x, y])
    return dims


def steps_of(w: Lowering, x: Leaf, lead: Sequence[Index]) -> list[Index]:
    """The stride of each leading index; 0 where the axis is repeated."""
    b = w.b
    mine = x.dims[:-2]
    steps: list[Index] = [0] * (len(lead) - len(mine))
    for size, step in zip(mine, x.steps(b), strict=False):
        if isinstance(size, int):
            steps.append(0 if size == 1 else step)
        else:
            steps.append(b.select(b.icmp("eq", size, const("i64", 1)), const("i64", 0), b.i64(step)))
    return steps


def element_at(w: Lowering, x: Leaf, steps: Sequence[Index], place: Sequence[Index]) -> Val:
    """The address of the matrix at a position of the leading dimensions."""
    b = w.b
    offset: Index = 0
    for index, step in zip(place, steps, strict=True):
        offset = b.iadd(offset, b.imul(index, step))
    return b.offset(x.pointer, offset, llvm_type(x.dtype))


def multiply(w: Lowering, x: Leaf, y: Leaf, out: Leaf) -> None:
    """Write the product of two matrices into `out`, which overlaps neither."""
    rows, inner, columns = x.dims[0], x.dims[1], y.dims[1]
    if _is(rows, 0) or _is(columns, 0):
        return
    if by_blas(w, x.dtype, [rows, inner, columns]):
        gemm.call(w, x, y, out)
    else:
        _inline(w, x, y, out)


def by_blas(w: Lowering, dtype: DType, sizes: Sequence[Index]) -> bool:
    return gemm.is_large(dtype, w.b.product(sizes))


def _inline(w: Lowering, x: Leaf, y: Leaf, out: Leaf) -> None:
    b, ty = w.b, llvm_type(x.dtype)
    inner, columns = x.dims[1], y.dims[1]
    if x.dtype.is_floating and _fits_registers(w, x, y):
        _by_vector(w, x, y, out)
        return
    y = _by_rows(w, x, y)
    if isinstance(columns, int) and 1 < columns <= _ROW and _is(y.steps(b)[1], 1):
        _by_short_rows(w, x, y, out, columns)
        return
    with b.loop(0, x.dims[0]) as i:
        if isinstance(columns, int) and columns == 1:
            _dot(w, x, y, out, i)
        else:
            with b.loop(0, columns, parallel=True) as j:
                out.store(b, [i, j], const(ty, 0))
            with b.loop(0, inner) as k:
                one = b.load(ty, x.address(b, [i, k]))
                with b.loop(0, columns, parallel=True) as j:
                    value = b.load(ty, y.address(b, [k, j]))
                    old = b.load(ty, out.address(b, [i, j]))
                    out.store(b, [i, j], _added(b, x.dtype, one, value, old))


def _by_short_rows(w: Lowering, x: Leaf, y: Leaf, out: Leaf, columns: int) -> None:
    """Keep rows of the product in registers: several at once, to hide the latency of the additions."""
    b, dtype = w.b, x.dtype
    ty, size = llvm_type(dtype), dtype.size
    parts = _parts(columns, w.module.vector_bits // (8 * size)) if dtype.is_floating else [(0, columns)]

    def rows(first: Val, count: int) -> None:
        def step(k: Val, totals: Sequence[Val]) -> list[Val]:
            line = [b.load(_vector(ty, width), y.address(b, [k, at]), size) for at, width in parts]
            ones = [b.load(ty, x.address(b, [b.iadd(first, r), k])) for r in range(count)]
            left = iter(totals)
            return [_added(b, dtype, b.splat(one, width) if width > 1 else one, part, next(left))
                    for one in ones for part, (_, width) in zip(line, parts, strict=True)]

        zeros = [const(_vector(ty, width), 0) for _ in range(count) for _, width in parts]
        totals = iter(b.folded(0, x.dims[1], zeros, step))
        for r in range(count):
            for at, _ in parts:
                b.store(next(totals), out.address(b, [b.iadd(first, r), at]), size)

    height, start = x.dims[0], 0
    if not isinstance(height, int) or not dtype.is_floating:
        with b.loop(0, height) as i:
            rows(i, 1)
        return
    for count in dict.fromkeys((max(1, _CHAINS // len(parts)), 1)):
        stop = start + (height - start) // count * count
        if start < stop:
            with b.loop(start, stop, count) as i:
                rows(i, count)
        start = stop


def _vector(ty: str, width: int) -> str:
    return f"<{width} x {ty}>" if width > 1 else ty


def _parts(columns: int, lanes: int) -> list[tuple[int, int]]:
    """How a row is split into registers: the first column and the number of columns, a power of two, of each. LLVM
    would keep vectors of other widths element by element in phis."""
    found, at = [], 0
    while at < columns:
        width = lanes
        while width > columns - at:
            width //= 2
        found.append((at, width))
        at += width
    return found


def _by_rows(w: Lowering, x: Leaf, y: Leaf) -> Leaf:
    """`y` in row-major order: copied if several rows of `x` read it."""
    steps = y.steps(w.b)
    rows, columns = x.dims[0], y.dims[1]
    if _is(steps[1], 1) or _is(columns, 1) or not isinstance(rows, int) or rows < _WORTH_COPYING:
        return y
    return _copied(w, y)


def _copied(w: Lowering, x: Leaf) -> Leaf:
    """A copy of a matrix in row-major order."""
    b, made = w.b, w.memory(x.dtype, x.dims)
    with b.loop(0, x.dims[0]) as i, b.loop(0, x.dims[1]) as j:
        made.store(b, [i, j], b.load(llvm_type(x.dtype), x.address(b, [i, j])))
    return made


def _added(b: Builder, dtype: DType, x: Val, y: Val, total: Val) -> Val:
    """total + x * y"""
    if dtype.is_floating:
        return b.fma(x, y, total)
    return lower(b, "add", dtype, total, lower(b, "multiply", dtype, x, y))


def _is(step: Index, value: int) -> bool:
    return isinstance(step, int) and step == value


def _fits_registers(w: Lowering, x: Leaf, y: Leaf) -> bool:
    """Whether `y` is a vector that fits half of the registers, and the rows of `x` are contiguous."""
    inner = x.dims[1]
    return (_is(y.dims[1], 1) and isinstance(inner, int) and isinstance(x.dims[0], int) and inner > 0
            and _is(x.steps(w.b)[1], 1) and _is(y.steps(w.b)[0], 1)
            and inner * x.dtype.size * 8 <= 16 * w.module.vector_bits)


def _by_vector(w: Lowering, x: Leaf, y: Leaf, out: Leaf) -> None:
    """A matrix times a vector in registers: as many rows at once as a register has lanes. Their partial sums, one
    register for each row, are added pairwise until one register has all sums, in order."""
    b, ty, size = w.b, llvm_type(x.dtype), x.dtype.size
    count = w.module.vector_bits // (8 * size)
    rows, inner = x.dims[0], x.dims[1]
    assert isinstance(rows, int) and isinstance(inner, int)
    wide = f"<{count} x {ty}>"

    def picked(lanes: list[int]) -> str:
        return f"<{len(lanes)} x i32> <{', '.join(f'i32 {k}' for k in lanes)}>"

    def line(pointer: Val) -> list[Val]:
        """Load a row into registers; the last one is filled up with zeros."""
        found = [b.load(wide, b.offset(pointer, k, ty), size) for k in range(0, inner - count + 1, count)]
        rest = inner % count
        if rest:
            part = b.load(f"<{rest} x {ty}>", b.offset(pointer, inner - rest, ty), size)
            lanes = picked([min(k, rest) for k in range(count)])
            found.append(b.op(wide, f"shufflevector {part}, {part.ty} zeroinitializer, {lanes}"))
        return found

    vector = line(y.pointer)

    def sums(first: Index, many: int) -> Val:
        totals: list[Val] = []
        for r in range(many):
            ones = line(x.address(b, [b.iadd(first, r), 0]))
            total = b.fmul(ones[0], vector[0])
            for one, other in zip(ones[1:], vector[1:], strict=True):
                total = b.fma(one, other, total)
            totals.append(total)
        totals += [const(wide, 0)] * (count - many)
        while len(totals) > 1:
            halves = [[b.op(wide, f"shufflevector {p}, {q}, {picked([2 * k + odd for k in range(count)])}")
                       for odd in (0, 1)] for p, q in zip(totals[::2], totals[1::2], strict=True)]
            totals = [b.fadd(*half) for half in halves]
        return totals[0]

    with b.loop(0, rows // count * count, count) as i:
        b.store(sums(i, count), out.address(b, [i, 0]), size)
    rest = rows % count
    if rest:
        total = sums(rows - rest, rest)
        part = b.op(f"<{rest} x {ty}>", f"shufflevector {total}, {wide} poison, {picked(list(range(rest)))}")
        b.store(part, out.address(b, [rows - rest, 0]), size)


def _dot(w: Lowering, x: Leaf, y: Leaf, out: Leaf, i: Val) -> None:
    """The dot product of a row and a column."""
    b = w.b
    inner = x.dims[1]
    line = Leaf(x.dtype, [inner], x.address(b, [i, 0]), [x.steps(b)[1]])
    column = Leaf(x.dtype, [inner], y.pointer, [y.steps(b)[0]])
    terms = Map("product", x.dtype, [inner], lambda b, p, q: lower(b, "multiply", x.dtype, p, q), [line, column])
    total = folds.reduce(b, w.memory, "reduce_sum", terms, [0], False, w.divide)
    assert isinstance(total, Scalar)
    out.store(b, [i, 0], total.val)
