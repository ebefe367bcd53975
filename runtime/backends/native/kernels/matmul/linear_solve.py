"""Lowerings of linear systems, determinants and Cholesky factors.

They call the LAPACK functions that NumPy calls, on copies of the matrices in Fortran order and in double precision, as
NumPy does. Where these find a matrix singular, the kernel raises.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from runtime.backends.native.abi.blas import blas_symbols
from runtime.backends.native.codegen import fusion
from runtime.backends.native.codegen.context import Lowering, NotNative, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Leaf, Map, Scalar
from runtime.backends.native.codegen.scalar_ops import cast, combine, literal, llvm_type
from runtime.backends.native.kernels.matmul.products import element_at, leading, steps_of
from runtime.backends.native.libm.complex_numbers import call_library, joined, parts
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.graph import Node
from runtime.core.types import DType, complex128, float64, int64

__all__: list[str] = []


def _routine(w: Lowering, name: str, dtype: DType) -> tuple[str, DType]:
    """The routine's symbol for a dtype (it takes addresses), and the dtype in which it computes."""
    symbol = f"{'z' if dtype.is_complex else 'd'}{name}64"
    if symbol not in blas_symbols():
        raise NotNative("no LAPACK was found")
    w.module.declare(symbol, "void", *["ptr"] * {"gesv": 8, "getrf": 6, "potrf": 5}[name])
    w.long = True
    return symbol, _wide(dtype)


def _wide(dtype: DType) -> DType:
    return complex128 if dtype.is_complex else float64


def _square(w: Lowering, node: Node, x: Leaf, values: Sequence[Value]) -> Index:
    """The size of square matrices; the kernel raises if they are not square."""
    rows, columns = x.dims[-2:]
    if isinstance(rows, int) and isinstance(columns, int):
        return rows
    w.fail_if(w.b.icmp("ne", w.b.i64(rows), w.b.i64(columns)), node, values)
    return rows


def _cell(b: Builder, value: Val) -> Val:
    place = b.alloca(value.ty)
    b.store(value, place)
    return place


def _cells(b: Builder, size: Index) -> tuple[Val, Val, Val]:
    """Memory for a routine's arguments: the size of a matrix, the stride of its columns, and the error code."""
    return (_cell(b, b.i64(size)), _cell(b, b.intrinsic("smax", b.i64(size), const("i64", 1))),
            _cell(b, const("i64", 0)))


def _turned(w: Lowering, x: Leaf, copy: Leaf) -> None:
    """Copy a matrix transposed, possibly to another dtype: `copy` [columns, rows]."""
    steps, source, target = x.steps(w.b), x.dtype, copy.dtype
    turned = Leaf(source, copy.dims, x.pointer, (steps[1], steps[0]))
    new = Map("cast", target, copy.dims, lambda b, v: cast(b, v, source, target), [turned])
    w.store_all([(new, Leaf(target, copy.dims, copy.pointer))])


@lowers("solve")
def solve(w: Lowering, node: Node, matrix: Value, rhs: Value) -> Value:
    assert isinstance(matrix, Array) and isinstance(rhs, Array)
    b, dtype = w.b, matrix.dtype
    routine, wide = _routine(w, "gesv", dtype)
    x, y = w.leaf(matrix), w.leaf(rhs)
    size = _square(w, node, x, [x, y])
    rows, columns = y.dims[-2:]
    if isinstance(rows, Val) or isinstance(size, Val):
        w.fail_if(b.icmp("ne", b.i64(rows), b.i64(size)), node, [x, y])
    lead = leading(w, node, x, y)
    target = w.memory(dtype, [*lead, size, columns])
    a, c = w.memory(wide, [size, size]), w.memory(wide, [columns, size])
    pivots = w.memory(int64, [size])
    xs, ys = (steps_of(w, m, lead) for m in (x, y))

    def one(place: Sequence[Index]) -> None:
        for m, steps, copy in ((x, xs, a), (y, ys, c)):
            _turned(w, Leaf(dtype, m.dims[-2:], element_at(w, m, steps, place), m.steps(b)[-2:]), copy)
        n, least, info = _cells(b, size)
        b.call("void", routine, n, _cell(b, b.i64(columns)), a.pointer, least, pivots.pointer, c.pointer, least, info)
        w.fail_if(b.icmp("ne", b.load("i64", info), const("i64", 0)), node, [x, y])
        _turned(w, c, Leaf(dtype, [size, columns], target.address(b, [*place, 0, 0])))

    fusion.nest(b, lead, one, parallel=False)
    return target


@lowers("cholesky")
def cholesky(w: Lowering, node: Node, matrix: Value) -> Value:
    assert isinstance(matrix, Array)
    b, dtype = w.b, matrix.dtype
    routine, wide = _routine(w, "potrf", dtype)
    x = w.leaf(matrix)
    size = _square(w, node, x, [x])
    target, a = w.memory(dtype, x.dims), w.memory(wide, [size, size])

    def one(place: Sequence[Index]) -> None:
        _turned(w, Leaf(dtype, x.dims[-2:], x.address(b, [*place, 0, 0])), a)
        n, least, info = _cells(b, size)
        b.call("void", routine, _cell(b, const("i8", ord("L"))), n, a.pointer, least, info)
        w.fail_if(b.icmp("ne", b.load("i64", info), const("i64", 0)), node, [x])
        with b.loop(0, size) as i, b.loop(0, size) as j:
            value = b.select(b.icmp("sle", j, i), b.load(llvm_type(wide), a.address(b, [j, i])), literal(wide, 0))
            target.store(b, [*place, i, j], cast(b, value, wide, dtype))

    fusion.nest(b, x.dims[:-2], one, parallel=False)
    return target


@lowers("det")
def det(w: Lowering, node: Node, matrix: Value) -> Value:
    """As in NumPy: the product of the signs on the diagonal times exp of the sum of the logarithms."""
    assert isinstance(matrix, Array)
    b, dtype, wide = w.b, matrix.dtype, _wide(matrix.dtype)
    target = w.memory(dtype, matrix.dims[:-2])

    def store(place: Sequence[Index], singular: Val, sign: Val, total: Val) -> None:
        grown = call_library(b, "exp", total)
        if dtype.is_complex:
            grown = joined(b, (grown, literal(float64, 0)))
        value = b.select(singular, literal(wide, 0), combine(b, "reduce_prod", wide, sign, grown))
        target.store(b, place, cast(b, value, wide, dtype))

    _factored(w, node, matrix, store)
    return _result(w, target)


@lowers("slogdet")
def slogdet(w: Lowering, node: Node, matrix: Value) -> tuple[Value, Value]:
    assert isinstance(matrix, Array)
    b, dtype, wide = w.b, matrix.dtype, _wide(matrix.dtype)
    real = dtype.real_dtype
    signs, logarithms = w.memory(dtype, matrix.dims[:-2]), w.memory(real, matrix.dims[:-2])

    def store(place: Sequence[Index], singular: Val, sign: Val, total: Val) -> None:
        signs.store(b, place, cast(b, b.select(singular, literal(wide, 0), sign), wide, dtype))
        nothing = literal(float64, -math.inf)
        logarithms.store(b, place, cast(b, b.select(singular, nothing, total), float64, real))

    _factored(w, node, matrix, store)
    return _result(w, signs), _result(w, logarithms)


def _result(w: Lowering, target: Leaf) -> Value:
    return target if target.dims else Scalar(target.dtype, w.b.load(llvm_type(target.dtype), target.pointer))


def _factored(w: Lowering, node: Node, matrix: Array, store: Callable[[Sequence[Index], Val, Val, Val], None]) -> None:
    """For each matrix call `store` with its position, whether it is singular, the sign of the determinant, and the
    logarithm of the determinant's absolute value."""
    b, dtype = w.b, matrix.dtype
    routine, wide = _routine(w, "getrf", dtype)
    x = w.leaf(matrix)
    size = _square(w, node, x, [x])
    a, pivots = w.memory(wide, [size, size]), w.memory(int64, [size])

    def one(place: Sequence[Index]) -> None:
        _turned(w, Leaf(dtype, x.dims[-2:], x.address(b, [*place, 0, 0])), a)
        n, least, info = _cells(b, size)
        b.call("void", routine, n, n, a.pointer, least, pivots.pointer, info)
        singular = b.icmp("ne", b.load("i64", info), const("i64", 0))

        def swapped(k: Val, state: Sequence[Val]) -> list[Val]:
            moved = b.icmp("ne", b.load("i64", pivots.address(b, [k])), b.add(k, const("i64", 1)))
            return [b.xor(state[0], moved)]

        def factor(k: Val, state: Sequence[Val]) -> list[Val]:
            sign, length = _sign(b, wide, b.load(llvm_type(wide), a.address(b, [k, k])))
            logarithm = call_library(b, "log", length)
            return [combine(b, "reduce_prod", wide, state[0], sign), b.fadd(state[1], logarithm)]

        (odd,) = b.folded(0, size, [const("i1", 0)], swapped)
        first = b.select(odd, literal(wide, -1), literal(wide, 1))  # negating step by step would make other zeros -0.0
        sign, total = b.folded(0, size, [first, literal(float64, 0)], factor)
        store(place, singular, sign, total)

    fusion.nest(b, x.dims[:-2], one, parallel=False)


def _sign(b: Builder, dtype: DType, x: Val) -> tuple[Val, Val]:
    """The sign of a real number, or the phase of a complex one, and the absolute value."""
    if not dtype.is_complex:
        negative = b.fcmp("olt", x, const(x.ty, 0))
        return b.select(negative, const(x.ty, -1), const(x.ty, 1)), b.select(negative, b.fneg(x), x)
    pair = parts(b, x)
    length = call_library(b, "hypot", *pair)
    return joined(b, (b.fdiv(pair[0], length), b.fdiv(pair[1], length))), length
