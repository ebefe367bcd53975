"""Matrix products: large ones by `microkernel`, others by BLAS, in pieces if they take long, so that signals can be
handled in between.

`microkernel` computes products of known sizes that OpenBLAS would divide among its own threads, and all products if
there is no BLAS. It is as fast or faster, and OpenBLAS's threads would spin for 0.1 s after each product and compete
with the code that follows. `matrix_vector` writes products of a matrix and a vector (`by_sums`).

A call of BLAS cannot be interrupted, and one product may take seconds. A large one is cut into many calls, each of
which takes some tens of milliseconds. Each element is bit for bit the sum of a single call, where the BLAS allows that:
OpenBLAS accumulates each sum in blocks of a size that suits its kernels. If that block size was found (`blas.depth`),
sums are cut at its multiples: then no more is copied than in one call, and little time is lost. Rows are cut at
multiples of `_ROWS`, which its kernels treat alike at any position.
"""
from __future__ import annotations

import math
from typing import Final

from runtime.backends.native.abi.blas import GEMM, blas_symbols, depth
from runtime.backends.native.abi.interrupts import INTERRUPTED, poll
from runtime.backends.native.codegen.context import Lowering, NotNative
from runtime.backends.native.codegen.index_expressions import Leaf, same
from runtime.backends.native.codegen.parallel import THREADS_WORD
from runtime.backends.native.codegen.scalar_ops import literal, llvm_type
from runtime.backends.native.kernels.matmul.microkernel import PRODUCT, Packed, fills, fits
from runtime.backends.native.llvm.builder import Builder, Index, Module, Val, const
from runtime.core.types import DType, float32, float64

__all__ = ["BY_BLAS", "Sizes", "by_blas_text", "by_sums", "call", "cut", "is_large", "layout", "need",
           "on_one_thread", "straight", "wakes", "work_of"]

_AT_ONCE: Final = 15 << 28  # multiplications of float32, in vectors of 512 bits: some 80 ms of one core
_ROWS: Final = 96
_SMALL: Final = 1 << 15  # multiplications up to which a product is written inline
_TURNED: Final = 1 << 17  # multiplications from which a transposed left matrix is worth packing
_LOOK: Final = 1 << 24  # the cost of a call, for polling: enough for a poll after each
_DEEP: Final = 4  # multiplications per element: with fewer, a product is limited by stores
_WASTE: Final = 2.0  # maximal ratio of the size of `microkernel`'s tiles to that of the product

Sizes = tuple[Index | None, Index | None, Index | None]
"""Rows, multiplications per element, and columns; None if unknown."""


def _most(bits: int, dtype: DType) -> int:
    """The approximate number of multiplications per call."""
    return _AT_ONCE * 4 * bits // (512 * dtype.size * (2 if dtype.is_complex else 1))


def is_large(dtype: DType, work: Index | None) -> bool:
    """Whether a product with that number of multiplications (None: unknown) is too large to be written inline."""
    return dtype in GEMM and not (isinstance(work, int) and work <= _SMALL)


def on_one_thread(module: Module, y_turned: bool = False) -> int:
    """The multiplications up to which OpenBLAS uses one thread. For 512-bit registers it has a kernel for small
    products, up to this size, unless only the right matrix is transposed."""
    return 1_000_000 if module.vector_bits >= 512 and not y_turned else 1 << 18


def _is_own(module: Module, dtype: DType, sizes: Sizes, x_turned: bool, y_turned: bool) -> bool:
    """Whether `microkernel` computes a product, given which matrices are transposed."""
    rows, inner, columns = sizes
    if not fits(module, dtype):
        return False
    if not blas_symbols():
        return True
    if not (isinstance(rows, int) and isinstance(inner, int) and isinstance(columns, int)):
        return False
    least = on_one_thread(module, y_turned and not x_turned)
    if x_turned and module.vector_bits < 512:  # then OpenBLAS takes twice as long
        least = min(least, _TURNED)
    return (inner >= _DEEP and rows * inner * columns > least
            and fills(module, dtype, rows, columns, _WASTE))


def by_sums(dtype: DType, sizes: Sizes) -> bool:
    """Whether `matrix_vector` computes a product."""
    return dtype in (float32, float64) and 1 in (sizes[0], sizes[2]) and is_large(dtype, work_of(sizes))


def wakes(module: Module, dtype: DType, sizes: Sizes) -> bool:
    """Whether a BLAS may compute a product on threads of its own, in some layout of the matrices."""
    if _is_own(module, dtype, sizes, False, True) or by_sums(dtype, sizes):
        return False
    work = work_of(sizes)
    return is_large(dtype, work) and not (work is not None and work <= on_one_thread(module, True))


def work_of(sizes: Sizes) -> int | None:
    """The multiplications, if they are known."""
    known = [size for size in sizes if isinstance(size, int)]
    return math.prod(known) if len(known) == len(sizes) else None


def need(w: Lowering, dtype: DType) -> None:
    """Raise NotNative if there is no code for large products of a dtype."""
    if not blas_symbols() and not fits(w.module, dtype):
        raise NotNative("no BLAS was found")


def cut(w: Lowering, dtype: DType, sizes: Sizes) -> bool | None:
    """Whether a product takes so long that it is cut into calls; None: known only at run time."""
    work = work_of(sizes)
    return None if work is None else work > _most(w.module.vector_bits, dtype)


def call(w: Lowering, x: Leaf, y: Leaf, out: Leaf, alpha: Val | None = None, whole: bool = False) -> None:
    """Write the product into `out`; with `alpha`, add that multiple of the product to `out`. `whole`: in one call,
    without handling signals, however large it is."""
    b, dtype = w.b, x.dtype
    w.long = True
    x, y = (_lying(w, m) for m in (x, y))
    (x_turned, x_step), (y_turned, y_step) = (layout(w, m) for m in (x, y))
    sizes = x.dims[0], x.dims[1], y.dims[1]
    operands = [x.pointer, b.i64(x_step), y.pointer, b.i64(y_step)]

    if _is_own(w.module, dtype, sizes, x_turned, y_turned):
        own = Packed(w.module, dtype, x_turned, y_turned)
        memory = w.memory(dtype, [own.room(b, *sizes)])
        args = [b.load("i64", w.word(THREADS_WORD)), *map(b.i64, sizes), *operands, out.pointer, memory.pointer,
                b.cell(alpha)]
        w.leave_if_stopped(b.call("i32", own.declare(PRODUCT), Val("ptr", "null") if whole else w.frame, *args))
        return
    scale, beta = (literal(dtype, 1), literal(dtype, 0)) if alpha is None else (alpha, literal(dtype, 1))
    args = [*map(b.i64, sizes), scale, *operands, beta, out.pointer]
    _by_blas(w, _Product(dtype, x_turned, y_turned), sizes, args, whole)


def _by_blas(w: Lowering, product: _Product, sizes: Sizes, args: list[Val], whole: bool) -> None:
    """Call BLAS once, or several times if the product takes long."""
    b, dtype = w.b, product.dtype
    if whole or cut(w, dtype, sizes) is False:
        product.write(b, *args)
        return
    w.module.declare(product.name, "i32", "ptr", *[v.ty for v in args])
    w.leave_if_stopped(b.call("i32", product.name, w.frame, *args))


def _is(step: Index, value: int) -> bool:
    return isinstance(step, int) and step == value


def straight(b: Builder, m: Leaf) -> bool | Val:
    """Whether a matrix is in a layout for BLAS: the elements of each line (a row or a column) are contiguous, and lines
    do not overlap and have a positive stride. May be known only at run time."""
    if m.strides is None:
        return True
    first, second = m.strides
    turned = not _is(second, 1)
    if turned and not _is(first, 1):
        return False
    (least, lines), step = (m.dims, second) if turned else (m.dims[::-1], first)
    if (isinstance(lines, int) and lines <= 1) or same(step, least):
        return True
    if isinstance(step, int) and isinstance(least, int):
        return step >= least
    return b.icmp("sge", b.i64(step), b.i64(least))


def _lying(w: Lowering, m: Leaf) -> Leaf:
    """The matrix in a layout for BLAS: itself, or a copy. Inside a parallel region, whose threads would share the copy,
    it must have that layout already."""
    b = w.b
    fits = straight(b, m)
    if fits is True or w.inside:
        return m
    if fits is False or m.strides is None:
        return w.leaf(m)
    (rows, columns), (first, second) = m.dims, m.strides
    turned = not _is(second, 1)

    def copied() -> list[Val]:
        with w.scope():
            lines = Leaf(m.dtype, [columns, rows], m.pointer, [second, first], bases=m.bases) if turned else m
            return [w.leaf(lines).pointer, b.i64(rows if turned else columns)]

    pointer, step = b.either(fits, lambda: [m.pointer, b.i64(second if turned else first)], copied)
    return Leaf(m.dtype, m.dims, pointer, [1, step] if turned else [step, 1], bases=m.bases)


def layout(w: Lowering, x: Leaf) -> tuple[bool, Index]:
    """Whether a matrix is transposed, and the stride of its lines."""
    b = w.b
    first, second = x.steps(b)
    turned = not _is(second, 1)
    step, least = (second, x.dims[0]) if turned else (first, x.dims[1])
    if isinstance(step, int) and isinstance(least, int):
        return turned, max(step, least, 1)
    return turned, b.intrinsic("smax", b.i64(step), b.intrinsic("smax", b.i64(least), const("i64", 1)))


def _at_least_one(b: Builder, count: Val) -> Val:
    return b.intrinsic("smax", count, const("i64", 1))


class _Product:
    """Writes calls of BLAS for products of one dtype with one layout of the matrices."""

    def __init__(self, dtype: DType, x_turned: bool, y_turned: bool) -> None:
        self.dtype = dtype
        self.x_turned = x_turned
        self.y_turned = y_turned

    @property
    def name(self) -> str:
        """Of the function that makes as many calls as necessary."""
        return f"gemm.{GEMM[self.dtype]}.{'nt'[self.x_turned]}{'nt'[self.y_turned]}"

    def define(self, module: Module) -> None:
        """Define the function that makes as many calls as necessary."""
        ty = llvm_type(self.dtype)
        types = ["ptr", "i64", "i64", "i64", ty, "ptr", "i64", "ptr", "i64", ty, "ptr"]
        module.define(self.name, "i32", types, self.write_cut, "nounwind", linkage="")

    def write(self, b: Builder, rows: Val, inner: Val, columns: Val, alpha: Val, x: Val, x_step: Val, y: Val,
              y_step: Val, beta: Val, out: Val) -> None:
        """Write one call."""
        name = GEMM[self.dtype]

        if f"cblas_{name}64" in blas_symbols():
            if self.dtype.is_complex:  # passed by address
                alpha, beta = b.cell(alpha), b.cell(beta)
            b.module.declare(f"cblas_{name}64", "void", *["i32"] * 3, *["i64"] * 3, alpha.ty, "ptr", "i64", "ptr",
                             "i64", beta.ty, "ptr", "i64")
            b.call("void", f"cblas_{name}64", const("i32", 101), *[
                const("i32", 112 if turned else 111) for turned in (self.x_turned, self.y_turned)],
                rows, columns, inner, alpha, x, x_step, y, y_step, beta, out,
                b.intrinsic("smax", columns, const("i64", 1)))
            return
        # Fortran counts columns first, so the transposed product is computed: out' = y' x'
        b.module.declare(name, "void", *["ptr"] * 13)

        def short(index: Val) -> Val:
            return b.cell(b.convert("trunc", index, "i32"))

        turns = [b.cell(const("i8", ord("T" if turned else "N"))) for turned in (self.y_turned, self.x_turned)]
        b.call("void", name, *turns, short(columns), short(rows), short(inner), b.cell(alpha), y, short(y_step), x,
               short(x_step), b.cell(beta), out, short(columns))

    def write_cut(self, b: Builder, frame: Val, rows: Val, inner: Val, columns: Val, alpha: Val, x: Val, x_step: Val,
                  y: Val, y_step: Val, beta: Val, out: Val) -> Val:
        """Write a function that makes as many calls as necessary. It returns 0, or INTERRUPTED."""
        most, zero, one = _most(b.module.vector_bits, self.dtype), const("i64", 0), const("i64", 1)
        ty = llvm_type(self.dtype)
        inner_at_once = depth(self.dtype)

        def few() -> list[Val]:
            self.write(b, rows, inner, columns, alpha, x, x_step, y, y_step, beta, out)
            return []

        def many() -> list[Val]:
            span, spans = inner, one  # products per part of a sum, and the number of parts
            if inner_at_once is not None:
                group = b.mul(b.mul(rows, columns), const("i64", inner_at_once))
                span = b.mul(_at_least_one(b, b.udiv(const("i64", most), group)), const("i64", inner_at_once))
                # the last part must not be short, as BLAS cuts the remainder differently
                rest = b.intrinsic("smax", b.sub(inner, const("i64", inner_at_once)), zero)
                spans = b.add(b.udiv(rest, span), one)
            with b.loop(zero, spans) as k:
                first = b.mul(k, span)
                size = b.select(b.icmp("eq", b.add(k, one), spans), b.sub(inner, first), span)
                now = b.select(b.icmp("eq", k, zero), beta, literal(self.dtype, 1))
                lines, parts = self.lines(b, rows, b.mul(columns, size), most)
                with b.loop(zero, parts) as i:
                    row = b.mul(i, lines)
                    here = b.select(b.icmp("eq", b.add(i, one), parts), b.sub(rows, row), lines)
                    left = b.add(b.mul(first, x_step), row) if self.x_turned else b.add(b.mul(row, x_step), first)
                    right = first if self.y_turned else b.mul(first, y_step)
                    self.write(b, here, size, columns, alpha, b.offset(x, left, ty), x_step, b.offset(y, right, ty),
                               y_step, now, b.offset(out, b.mul(row, columns), ty))
                    poll(b, frame, _LOOK, lambda: b.line(f"ret i32 {INTERRUPTED}"))
            return []

        work = b.mul(b.mul(rows, columns), inner)
        b.either(b.icmp("sle", work, const("i64", most)), few, many)
        return const("i32", 0)

    def lines(self, b: Builder, rows: Val, work: Val, most: int) -> tuple[Val, Val]:
        """The number of rows per call, given the work per row, and the number of calls. The last call takes the rest:
        at least `_ROWS` rows, if there are as many, as BLAS has other kernels for small products."""
        unit, one = const("i64", _ROWS), const("i64", 1)

        def up(x: Val, by: Val) -> Val:
            return b.udiv(b.add(x, b.sub(by, one)), by)

        fitting = b.mul(_at_least_one(b, b.udiv(const("i64", most), b.mul(work, unit))), unit)
        lines = b.mul(up(up(rows, up(rows, fitting)), unit), unit)  # calls of about equal size
        return lines, up(_at_least_one(b, b.sub(rows, b.sub(unit, one))), lines)


BY_BLAS: Final = {product.name: product for product in [
    _Product(dtype, x_turned, y_turned) for dtype in GEMM for x_turned in (False, True) for y_turned in (False, True)]}
"""The functions that call BLAS as often as necessary, by name: compiled once in a process, for all modules."""


def by_blas_text(name: str, module: Module) -> str:
    """A module with one of `BY_BLAS`."""
    BY_BLAS[name].define(module)
    return module.text()
