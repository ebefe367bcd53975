"""Complex numbers in registers.

A complex number is represented as an integer with its 64 or 128 bits: so it is loaded, stored, selected and moved like
any other value, also in vectors. Arithmetic extracts the two parts and joins the resulting parts; LLVM removes these
conversions between ops of one loop. The order of operations is that of NumPy's kernels. The elementary functions are
those of the C library, which NumPy calls as well, so results are the same bit for bit. (Builds of NumPy for old C
libraries have their own inverse trigonometric functions, which differ by some units in the last place.)
"""
from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from runtime.backends.native.llvm.builder import Builder, Val, const, element, lanes
from runtime.core.types import DType

__all__ = ["FUNCTIONS", "bits", "call_library", "cast", "joined", "lower", "parts"]

Pair = tuple[Val, Val]  # real and imaginary part

_FLOATS: Final = {"i64": "float", "i128": "double"}
_INTS: Final = {"float": "i64", "double": "i128"}


def bits(value: Any, dtype: DType) -> int:
    """The representation of a complex constant."""
    return int.from_bytes(np.asarray(value, dtype.np.newbyteorder("<")).tobytes(), "little")


def parts(b: Builder, x: Val) -> Pair:
    """The real and the imaginary part, in the same number of lanes."""
    kind, count = _FLOATS[element(x.ty)], lanes(x.ty)
    both = b.bitcast(x, f"<{2 * count} x {kind}>")
    if x.ty[0] != "<":
        real, imag = (b.op(kind, f"extractelement {both}, i64 {k}") for k in range(2))
        return real, imag
    real, imag = (_picked(b, both, both, range(k, 2 * count, 2)) for k in range(2))
    return real, imag


def joined(b: Builder, pair: Pair) -> Val:
    """The complex number with these parts."""
    real, imag = pair
    kind, count = element(real.ty), lanes(real.ty)
    if real.ty[0] != "<":
        both = Val(f"<2 x {kind}>", "poison")
        for k, part in enumerate(pair):
            both = b.op(both.ty, f"insertelement {both}, {part}, i64 {k}")
        return b.op(_INTS[kind], f"bitcast {both} to {_INTS[kind]}")
    both = _picked(b, real, imag, [k // 2 + k % 2 * count for k in range(2 * count)])
    return b.bitcast(both, f"<{count} x {_INTS[kind]}>")


def _picked(b: Builder, x: Val, y: Val, chosen: Any) -> Val:
    which = ", ".join(f"i32 {k}" for k in chosen)
    return b.op(f"<{len(chosen)} x {element(x.ty)}>", f"shufflevector {x}, {y}, <{len(chosen)} x i32> <{which}>")


# Arithmetic.

def _multiply(b: Builder, x: Pair, y: Pair) -> Pair:
    return (b.fsub(b.fmul(x[0], y[0]), b.fmul(x[1], y[1])), b.fadd(b.fmul(x[0], y[1]), b.fmul(x[1], y[0])))


def _multiply_elements(b: Builder, x: Pair, y: Pair) -> Pair:
    """The product of array elements, for which NumPy uses FMA where the machine has it. Powers, reductions and
    cumulative products do not use FMA."""
    if not b.module.fma:
        return _multiply(b, x, y)
    return (b.fma(x[0], y[0], b.fneg(b.fmul(x[1], y[1]))), b.fma(x[0], y[1], b.fmul(x[1], y[0])))


def _divide(b: Builder, x: Pair, y: Pair) -> Pair:
    """R. L. Smith's algorithm (1962): divide by the larger part of the divisor first; 0 gives infinities and NaN."""
    sizes = [b.intrinsic("fabs", part) for part in y]
    first = b.fcmp("oge", *sizes)
    greater, smaller = b.select(first, y[0], y[1]), b.select(first, y[1], y[0])
    zero = b.and_(b.fcmp("oeq", sizes[0], const(sizes[0].ty, 0)), b.fcmp("oeq", sizes[1], const(sizes[1].ty, 0)))
    ratio = b.fdiv(smaller, greater)
    scale = b.fdiv(const(ratio.ty, 1), b.fadd(greater, b.fmul(smaller, ratio)))
    of_real, of_imag = b.fmul(x[0], ratio), b.fmul(x[1], ratio)
    real = b.select(first, b.fadd(x[0], of_imag), b.fadd(of_real, x[1]))
    imag = b.select(first, b.fsub(x[1], of_real), b.fsub(of_imag, x[0]))
    return (b.select(zero, b.fdiv(x[0], sizes[0]), b.fmul(real, scale)),
            b.select(zero, b.fdiv(x[1], sizes[0]), b.fmul(imag, scale)))


def _abs(b: Builder, x: Pair) -> Val:
    """The absolute value, without overflow: for float32 in float64, for float64 by the quotient of the parts."""
    infinite = b.or_(*[b.fcmp("oeq", b.intrinsic("fabs", part), const(part.ty, float("inf"))) for part in x])
    if element(x[0].ty) == "float":
        squares = [b.fmul(wide, wide) for wide in (b.convert("fpext", part, "double") for part in x)]
        length = b.convert("fptrunc", b.intrinsic("sqrt", b.fadd(*squares)), "float")
    else:
        sizes = [b.intrinsic("fabs", part) for part in x]
        most, least = b.intrinsic("maximum", *sizes), b.intrinsic("minimum", *sizes)
        ratio = b.fdiv(least, b.select(b.fcmp("oeq", most, const(most.ty, 0)), const(most.ty, 1), most))
        length = b.fmul(most, b.intrinsic("sqrt", b.fma(ratio, ratio, const(ratio.ty, 1))))
    return b.select(infinite, const(length.ty, float("inf")), length)


_ARITHMETIC: Final[dict[str, Callable[..., Pair]]] = {
    "add": lambda b, x, y: (b.fadd(x[0], y[0]), b.fadd(x[1], y[1])),
    "subtract": lambda b, x, y: (b.fsub(x[0], y[0]), b.fsub(x[1], y[1])),
    "multiply": _multiply_elements, "product": _multiply, "divide": _divide,
    "negative": lambda b, x: (b.fneg(x[0]), b.fneg(x[1])), "conj": lambda b, x: (x[0], b.fneg(x[1])),
}
_SINGLE: Final[dict[str, Callable[..., Val]]] = {
    "real": lambda b, x: x[0], "imag": lambda b, x: x[1], "abs": _abs,
    "equal": lambda b, x, y: b.and_(b.fcmp("oeq", x[0], y[0]), b.fcmp("oeq", x[1], y[1])),
    "not_equal": lambda b, x, y: b.or_(b.fcmp("une", x[0], y[0]), b.fcmp("une", x[1], y[1])),
}


# Functions of one number.

_LIBRARY: Final = {  # by name, the function of the C library
    "sqrt": "csqrt", "exp": "cexp", "log": "clog", "sin": "csin", "cos": "ccos", "tan": "ctan", "asin": "casin",
    "acos": "cacos", "atan": "catan", "sinh": "csinh", "cosh": "ccosh", "tanh": "ctanh", "asinh": "casinh",
    "acosh": "cacosh", "atanh": "catanh", "pow": "cpow"}


def _library(b: Builder, name: str, *xs: Pair) -> Pair:
    """A function of complex numbers of the C library."""
    kind = xs[0][0].ty
    symbol = _LIBRARY[name] + ("f" if kind == "float" else "")
    if kind == "float" and platform.machine().lower() in ("x86_64", "amd64"):  # both parts in one register
        both = [b.bitcast(joined(b, x), "<2 x float>") for x in xs]
        b.module.declare(symbol, "<2 x float>", *["<2 x float>"] * len(xs))
        found = b.call("<2 x float>", symbol, *both)
        real, imag = (b.op(kind, f"extractelement {found}, i64 {k}") for k in range(2))
        return real, imag
    b.module.declare(symbol, f"{{{kind}, {kind}}}", *[kind] * (2 * len(xs)))
    found = b.call(f"{{{kind}, {kind}}}", symbol, *[part for x in xs for part in x])
    real, imag = (b.op(kind, f"extractvalue {found}, {k}") for k in range(2))
    return real, imag


def call_library(b: Builder, name: str, *xs: Val) -> Val:
    """A function of floating-point numbers of the C library."""
    ty = xs[0].ty
    symbol = name + ("f" if ty == "float" else "")
    b.module.declare(symbol, ty, *[ty] * len(xs))
    return b.call(ty, symbol, *xs)


def _expm1(b: Builder, x: Pair) -> Pair:
    """As in NumPy: exp(a + ib) - 1 = expm1(a) cos b - 2 sin²(b/2) + i exp(a) sin b."""
    half = call_library(b, "sin", b.fmul(x[1], const(x[1].ty, 0.5)))
    grown = b.fmul(call_library(b, "expm1", x[0]), call_library(b, "cos", x[1]))
    real = b.fsub(grown, b.fmul(b.fmul(const(half.ty, 2), half), half))
    return real, b.fmul(call_library(b, "exp", x[0]), call_library(b, "sin", x[1]))


def _log1p(b: Builder, x: Pair) -> Pair:
    more = b.fadd(x[0], const(x[0].ty, 1))
    return (call_library(b, "log", call_library(b, "hypot", more, x[1])),
            call_library(b, "atan2", x[1], more))


def _pow(b: Builder, x: Pair, y: Pair) -> Pair:
    """As in NumPy: small integer powers are products; powers of 0 are 0 or NaN."""
    kind = x[0].ty
    zero, one = const(kind, 0), const(kind, 1)

    def is_zero(z: Pair) -> Val:
        return b.and_(b.fcmp("oeq", z[0], zero), b.fcmp("oeq", z[1], zero))

    def of_zero() -> Pair:
        part = b.select(b.fcmp("ogt", y[0], zero), zero, const(kind, float("nan")))
        return part, part

    def product() -> Pair:
        count = b.convert("fptosi", b.intrinsic("fabs", y[0]), "i64")
        after = [b.label("power"), b.label("powered")]
        before = b.block
        b.start(after[0])
        state = [b.open_phi(part.ty, part, before) for part in (one, zero, *x, count)]
        total, square, left = (state[0][0], state[1][0]), (state[2][0], state[3][0]), state[4][0]
        odd = b.icmp("ne", b.and_(left, const("i64", 1)), const("i64", 0))
        new = [b.select(odd, p, q) for p, q in zip(_multiply(b, total, square), total, strict=True)]
        rest = b.lshr(left, const("i64", 1))
        for (_, close), part in zip(state, (*new, *_multiply(b, square, square), rest), strict=True):
            close(part, b.block)
        b.branch(b.icmp("ne", rest, const("i64", 0)), after[0], after[1])
        b.start(after[1])
        inverse = _divide(b, (one, zero), (new[0], new[1]))
        real, imag = (b.select(b.fcmp("olt", y[0], zero), p, q) for p, q in zip(inverse, new, strict=True))
        return real, imag

    def first_powers() -> Pair:
        """The powers 1 to 3, for which starting the product with 1 would change infinities."""
        square = _multiply(b, x, x)
        cube = _multiply(b, x, square)
        real, imag = (b.select(b.fcmp("oeq", y[0], one), p, b.select(b.fcmp("oeq", y[0], const(kind, 2)), q, r))
                      for p, q, r in zip(x, square, cube, strict=True))
        return real, imag

    def whole() -> list[Val]:
        few = b.and_(b.fcmp("oge", y[0], one), b.fcmp("ole", y[0], const(kind, 3)))
        return b.either(few, first_powers, product)

    def other() -> list[Val]:
        integral = b.and_(b.fcmp("olt", b.intrinsic("fabs", y[0]), const(kind, 100)),
                          b.fcmp("oeq", b.intrinsic("trunc", y[0]), y[0]))
        return b.either(b.and_(integral, b.fcmp("oeq", y[1], zero)), whole, lambda: _library(b, "pow", x, y))

    real, imag = b.either(is_zero(y), lambda: [one, zero], lambda: b.either(is_zero(x), of_zero, other))
    return real, imag


FUNCTIONS: Final[dict[str, Callable[..., Pair]]] = {
    **{name: (lambda b, x, name=name: _library(b, name, x)) for name in _LIBRARY},
    "pow": _pow, "expm1": _expm1, "log1p": _log1p}
"""Functions that are computed lane by lane."""


def lower(b: Builder, name: str, *xs: Val) -> Val:
    """The element-wise op `name` of complex operands."""
    if name in FUNCTIONS:
        return _one_by_one(b, name, *xs)
    pairs = [parts(b, x) for x in xs]
    if name in _SINGLE:
        return _SINGLE[name](b, *pairs)
    return joined(b, _ARITHMETIC[name](b, *pairs))


def _one_by_one(b: Builder, name: str, *xs: Val) -> Val:
    ty = xs[0].ty
    kind = element(ty)

    def write(inner: Builder, *args: Val) -> Val:
        return joined(inner, FUNCTIONS[name](inner, *[parts(inner, arg) for arg in args]))

    function = b.module.define(f"complex.{name}.{kind}", kind, [kind] * len(xs), write, "noinline nounwind")
    if lanes(ty) == 1:
        return b.call(kind, function, *xs)
    found = Val(ty, "poison")
    for k in range(lanes(ty)):
        one = b.call(kind, function, *[b.op(kind, f"extractelement {x}, i64 {k}") for x in xs])
        found = b.op(ty, f"insertelement {found}, {one}, i64 {k}")
    return found


def cast(b: Builder, x: Val, source: DType, target: DType, of_real: Callable[..., Val]) -> Val:
    """Cast from or to complex numbers: real values get the imaginary part 0; a cast to real numbers drops it.

    `of_real` casts other values.
    """
    if not target.is_complex:
        return of_real(b, parts(b, x)[0], source.real_dtype, target)
    pair = parts(b, x) if source.is_complex else (x,)
    real, *imag = [of_real(b, part, source.real_dtype, target.real_dtype) for part in pair]
    return joined(b, (real, imag[0] if imag else const(real.ty, 0)))
