"""Products of matrices by BLAS, or by `packed` where none was found, and how large ones of BLAS are cut so that signals
can come between.

A call of BLAS cannot be stopped, and one product may take seconds. A large one is many calls, each of which takes some
tens of milliseconds, and each element stays bit for bit the sum that it is in one call, where the BLAS allows that:
OpenBLAS adds up a part of each sum at once, as many products as its kernels like, then the next. Sums are cut where it
cuts them, if that was found out (`blas.depth`): then no more is copied than in one call, and little time is lost. Rows
are cut at multiples of `_ROWS`, which its kernels write in the same way wherever they are.
"""
from __future__ import annotations

from typing import Final

from runtime.execute.native.arrays import Leaf, same
from runtime.execute.native.blas import GEMM, blas_symbols, depth
from runtime.execute.native.emit import Builder, Index, Val, const
from runtime.execute.native.lower import Lowering, NotNative
from runtime.execute.native.packed import Packed, fits
from runtime.execute.native.scalars import literal, llvm_type
from runtime.execute.native.signals import INTERRUPTED, poll
from runtime.types import DType

__all__ = ["call", "cut", "is_large", "layout", "need", "straight"]

_AT_ONCE: Final = 15 << 28  # multiplications of float32, in vectors of 512 bits: some 80 ms of one core
_ROWS: Final = 96
_SMALL: Final = 1 << 15  # multiplications up to which a product is written inline
_LOOK: Final = 1 << 24  # what a call counts for signals: more than is needed for a look


def _most(bits: int, dtype: DType) -> int:
    """How many multiplications one call has, about."""
    return _AT_ONCE * 4 * bits // (512 * dtype.size * (2 if dtype.is_complex else 1))


def is_large(dtype: DType, work: Index | None) -> bool:
    """Whether a product of so many multiplications, or a number that is not known, is not written inline."""
    return dtype in GEMM and not (isinstance(work, int) and work <= _SMALL)


def need(w: Lowering, dtype: DType) -> None:
    """Something that makes large products of a dtype."""
    if not blas_symbols() and not fits(w.module, dtype):
        raise NotNative("no BLAS was found")


def cut(w: Lowering, dtype: DType, sizes: tuple[Index, Index, Index]) -> bool | None:
    """Whether a product of so many rows, multiplications for an element, and columns is cut, if BLAS makes it; None:
    the run decides."""
    work = w.b.product(sizes) if all(isinstance(size, int) for size in sizes) else None
    return work > _most(w.module.vector_bits, dtype) if isinstance(work, int) else None


def call(w: Lowering, x: Leaf, y: Leaf, out: Leaf, alpha: Val | None = None, whole: bool = False) -> None:
    """The product into `out`; with `alpha` BLAS adds as many times the product to what is there. `whole`: in one call
    of BLAS, however large it is."""
    b, dtype = w.b, x.dtype
    w.long = True
    x, y = (_lying(w, m) for m in (x, y))
    (x_turned, x_step), (y_turned, y_step) = (layout(w, m) for m in (x, y))
    sizes = x.dims[0], x.dims[1], y.dims[1]
    operands = [x.pointer, b.i64(x_step), y.pointer, b.i64(y_step)]

    if not blas_symbols():
        own = Packed(w.module, dtype, x_turned, y_turned)
        memory = w.memory(dtype, [own.room(b, *sizes)])
        given = [*map(b.i64, sizes), *operands, out.pointer, memory.pointer]
        w.leave_if_stopped(b.call("i32", own.declare(), w.frame, *given))
        return
    scale, beta = (literal(dtype, 1), literal(dtype, 0)) if alpha is None else (alpha, literal(dtype, 1))
    given = [*map(b.i64, sizes), scale, *operands, beta, out.pointer]
    _by_blas(w, _Product(dtype, x_turned, y_turned), sizes, given, whole)


def _by_blas(w: Lowering, product: _Product, sizes: tuple[Index, Index, Index], given: list[Val], whole: bool) -> None:
    """In one call, or in several if it takes long."""
    b, dtype = w.b, product.dtype
    if whole or cut(w, dtype, sizes) is False:
        product.write(b, *given)
        return
    name = f"gemm.{GEMM[dtype]}.{'nt'[product.x_turned]}{'nt'[product.y_turned]}"
    w.module.define(name, "i32", ["ptr", *[v.ty for v in given]], product.write_cut, "noinline nounwind")
    w.leave_if_stopped(b.call("i32", name, w.frame, *given))


def _is(step: Index, value: int) -> bool:
    return isinstance(step, int) and step == value


def straight(b: Builder, m: Leaf) -> bool | Val:
    """Whether a matrix lies as BLAS takes it: the elements of each line, a row or a column, side by side, and the lines
    one after another, which those that repeat or go backwards do not. Perhaps the run decides."""
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
    """The matrix as BLAS takes it: itself, or a copy. In the part of a loop, where threads would share that, it is."""
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
    """Whether a matrix lies transposed, and how far its lines are apart."""
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
    """The code of products of one dtype whose matrices lie in one way."""

    def __init__(self, dtype: DType, x_turned: bool, y_turned: bool) -> None:
        self.dtype = dtype
        self.x_turned = x_turned
        self.y_turned = y_turned

    def write(self, b: Builder, rows: Val, inner: Val, columns: Val, alpha: Val, x: Val, x_step: Val, y: Val,
              y_step: Val, beta: Val, out: Val) -> None:
        """One call."""
        name = GEMM[self.dtype]

        def cell(value: Val) -> Val:
            place = b.alloca(value.ty)
            b.store(value, place)
            return place

        if f"cblas_{name}64" in blas_symbols():
            if self.dtype.is_complex:  # it takes the address of these
                alpha, beta = cell(alpha), cell(beta)
            b.module.declare(f"cblas_{name}64", "void", *["i32"] * 3, *["i64"] * 3, alpha.ty, "ptr", "i64", "ptr",
                             "i64", beta.ty, "ptr", "i64")
            b.call("void", f"cblas_{name}64", const("i32", 101), *[
                const("i32", 112 if turned else 111) for turned in (self.x_turned, self.y_turned)],
                rows, columns, inner, alpha, x, x_step, y, y_step, beta, out,
                b.intrinsic("smax", columns, const("i64", 1)))
            return
        # Fortran counts columns first, so the transposed product is asked for: out' = y' x'
        b.module.declare(name, "void", *["ptr"] * 13)

        def short(index: Val) -> Val:
            return cell(b.convert("trunc", index, "i32"))

        turns = [cell(const("i8", ord("T" if turned else "N"))) for turned in (self.y_turned, self.x_turned)]
        b.call("void", name, *turns, short(columns), short(rows), short(inner), cell(alpha), y, short(y_step), x,
               short(x_step), cell(beta), out, short(columns))

    def write_cut(self, b: Builder, frame: Val, rows: Val, inner: Val, columns: Val, alpha: Val, x: Val, x_step: Val,
                  y: Val, y_step: Val, beta: Val, out: Val) -> Val:
        """A function that makes as many calls as it takes. Its result is 0, or a signal stopped it."""
        most, zero, one = _most(b.module.vector_bits, self.dtype), const("i64", 0), const("i64", 1)
        ty = llvm_type(self.dtype)
        inner_at_once = depth(self.dtype)

        def few() -> list[Val]:
            self.write(b, rows, inner, columns, alpha, x, x_step, y, y_step, beta, out)
            return []

        def many() -> list[Val]:
            span, spans = inner, one  # of a sum
            if inner_at_once is not None:
                group = b.mul(b.mul(rows, columns), const("i64", inner_at_once))
                span = b.mul(_at_least_one(b, b.udiv(const("i64", most), group)), const("i64", inner_at_once))
                # so that of the last at least one part is left, as BLAS cuts the rest in another way
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
        """How many rows a call has, each of so much work, and how many calls; the last takes the rest: at least
        `_ROWS`, if there are so many, as BLAS has other ways for small products."""
        unit, one = const("i64", _ROWS), const("i64", 1)

        def up(x: Val, by: Val) -> Val:
            return b.udiv(b.add(x, b.sub(by, one)), by)

        fitting = b.mul(_at_least_one(b, b.udiv(const("i64", most), b.mul(work, unit))), unit)
        lines = b.mul(up(up(rows, up(rows, fitting)), unit), unit)  # all calls about the same
        return lines, up(_at_least_one(b, b.sub(rows, b.sub(unit, one))), lines)
