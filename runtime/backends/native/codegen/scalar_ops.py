"""Element-wise ops on values in registers: each op in LLVM, for scalars and lane by lane for vectors.

The semantics are those of the NumPy kernels: integers wrap, `//` and `%` floor, excessive shifts give 0 or the sign,
max and min propagate NaN. Where a kernel raises for an element, `FAILS` has the test; the lowering then computes an
arbitrary value, but never traps.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from runtime.backends.native.libm import complex_numbers, fmod, registry
from runtime.backends.native.libm.expressions import Num
from runtime.backends.native.libm.power import MULTIPLES_OF_HALF
from runtime.backends.native.libm.vector_abi import lane_by_lane
from runtime.backends.native.llvm.builder import Builder, Val, bits_of, const, element, is_float, lanes, like
from runtime.core import types as t
from runtime.core.types import DType

__all__ = ["ELEMENTWISE", "FAILS", "Lowering", "alignment", "cast", "combine", "identity", "literal", "llvm_type"]

LLVM_TYPES: Final = {
    t.bool_: "i1", t.int8: "i8", t.int16: "i16", t.int32: "i32", t.int64: "i64", t.uint8: "i8", t.uint16: "i16",
    t.uint32: "i32", t.uint64: "i64", t.float16: "half", t.float32: "float", t.float64: "double",
    t.complex64: "i64", t.complex128: "i128"}

Lowering = Callable[..., Val]  # lowering(b, dtype of the first operand, *operands) -> result


def llvm_type(dtype: DType) -> str:
    return LLVM_TYPES[dtype]


def alignment(dtype: DType) -> int:
    """The alignment of a value in memory: that of its real and imaginary parts, for complex numbers."""
    return dtype.real_dtype.size


def literal(dtype: DType, value: Any) -> Val:
    """A constant of the dtype."""
    return const(llvm_type(dtype), complex_numbers.bits(value, dtype) if dtype.is_complex else value)


def _simple(ints: str, floats: str) -> Lowering:
    def lower(b: Builder, dtype: DType, *xs: Val) -> Val:
        result: Val = getattr(b, floats if is_float(xs[0].ty) else ints)(*xs)
        return result

    return lower


def _compare(relation: str) -> Lowering:
    def lower(b: Builder, dtype: DType, x: Val, y: Val) -> Val:
        if is_float(x.ty):
            return b.fcmp("une" if relation == "ne" else "o" + relation, x, y)
        if relation in ("eq", "ne"):
            return b.icmp(relation, x, y)
        return b.icmp(("u" if dtype.is_unsigned or dtype.is_bool else "s") + relation, x, y)

    return lower


def _only(method: str) -> Lowering:
    def lower(b: Builder, dtype: DType, *xs: Val) -> Val:
        result: Val = getattr(b, method)(*xs)
        return result

    return lower


def _shift(left: bool) -> Lowering:
    def lower(b: Builder, dtype: DType, x: Val, y: Val) -> Val:
        bits = dtype.size * 8
        shift = b.shl if left else b.lshr if dtype.is_unsigned else b.ashr
        if _literal(y) in range(bits):
            return shift(x, y)
        if shift == b.ashr:
            return b.ashr(x, b.intrinsic("umin", y, const(x.ty, bits - 1)))
        inside = b.icmp("ult", y, const(x.ty, bits))
        return b.select(inside, shift(x, b.select(inside, y, const(x.ty, 0))), const(x.ty, 0))

    return lower


def _literal(x: Val) -> int | None:
    """The value of an integer constant, also of a splat; else None."""
    text = x.ref
    if text.startswith("splat ("):
        text = text[7:-1].split(" ")[1]
    return int(text) if text.lstrip("-").isdigit() else None


def _safe_divisor(b: Builder, dtype: DType, y: Val) -> tuple[Val, Val | None]:
    """A divisor that never traps, and whether the original one is -1 (None: statically not)."""
    known = _literal(y)
    if known not in (None, 0, -1):
        return y, None
    zero = b.icmp("eq", y, const(y.ty, 0))
    if dtype.is_unsigned:
        return b.select(zero, const(y.ty, 1), y), None
    minus = b.icmp("eq", y, const(y.ty, -1))
    return b.select(b.or_(zero, minus), const(y.ty, 1), y), minus


def _rounds_down(b: Builder, remainder: Val, y: Val) -> Val:
    """Whether a quotient rounded towards zero must be lowered by 1 to the floor."""
    known = _literal(y)
    zero = const(y.ty, 0)
    if known is not None:
        return b.icmp("slt" if known > 0 else "sgt", remainder, zero)
    return b.and_(b.icmp("ne", remainder, zero), b.icmp("slt", b.xor(remainder, y), zero))


def _divided(b: Builder, x: Val, y: int | None) -> tuple[Num, Num] | None:
    """Quotient and remainder of 64-bit lanes by the constant y, computed in floats where AVX-512 converts these; else
    None. There is no vector division of integers."""
    if y is None or abs(y) < 2 or lanes(x.ty) == 1 or element(x.ty) != "i64" or b.module.vector_bits < 512:
        return None
    return fmod.divided(Num(b, x), y)


def _floor_quotient(b: Builder, x: Val, y: Val) -> Val:
    """The floor of x / y for a constant y > 0: of a negative x it is ~(~x / y), so that no remainder is needed."""
    sign = b.ashr(x, const(x.ty, bits_of(x.ty) - 1))
    return b.xor(b.udiv(b.xor(x, sign), y), sign)


def _floordiv(b: Builder, dtype: DType, x: Val, y: Val) -> Val:
    if is_float(x.ty):
        return registry.call(b, "floordiv", x, y)
    known = _literal(y)
    if known is not None and known > 0 and known & (known - 1) == 0:
        shift = const(x.ty, known.bit_length() - 1)
        return b.lshr(x, shift) if dtype.is_unsigned else b.ashr(x, shift)
    safe, minus = _safe_divisor(b, dtype, y)
    if dtype.is_unsigned:
        return b.udiv(x, safe)
    parts = _divided(b, x, known)
    if parts is not None:
        return parts[0].v
    if known is not None and known > 0 and lanes(x.ty) == 1:
        return _floor_quotient(b, x, y)
    quotient = b.sdiv(x, safe)
    down = _rounds_down(b, b.sub(x, b.mul(quotient, safe)), safe)
    result = b.add(quotient, b.convert("sext", down, element(x.ty)))
    return result if minus is None else b.select(minus, b.sub(const(x.ty, 0), x), result)


def _mod(b: Builder, dtype: DType, x: Val, y: Val) -> Val:
    if is_float(x.ty):
        return registry.call(b, "mod", x, y)
    known = _literal(y)
    if known is not None and known > 0 and known & (known - 1) == 0:
        return b.and_(x, const(x.ty, known - 1))
    safe, minus = _safe_divisor(b, dtype, y)
    if dtype.is_unsigned:
        return b.urem(x, safe)
    parts = _divided(b, x, known)
    if parts is not None:
        return parts[1].v
    if known is not None and known > 0 and lanes(x.ty) == 1:
        return b.sub(x, b.mul(_floor_quotient(b, x, y), y))
    remainder = b.srem(x, safe)
    down = _rounds_down(b, remainder, safe)
    result = b.select(down, b.add(remainder, safe), remainder)
    return result if minus is None else b.select(minus, const(x.ty, 0), result)


def _pow(b: Builder, dtype: DType, x: Val, y: Val) -> Val:
    if is_float(x.ty):
        return _simple_power(b, x, y) or registry.call(b, "pow", x, y)
    known = _literal(y)
    if known is not None and 0 <= known <= 64:
        result: Val | None = None
        while known:
            if known & 1:
                result = x if result is None else b.mul(result, x)
            known >>= 1
            if known:
                x = b.mul(x, x)
        return const(x.ty, 1) if result is None else result
    return _integer_power(b, dtype, x, y)


def _simple_power(b: Builder, x: Val, y: Val) -> Val | None:
    """A power that takes a few correctly rounded instructions: by a constant multiple of 1/2 up to 8; else None."""
    if y.ref == const(y.ty, -1.0).ref:
        return b.fdiv(const(x.ty, 1.0), x)
    if y.ref == const(y.ty, 2.0).ref:
        return b.fmul(x, x)
    if y.ref == const(y.ty, 0.5).ref:
        root = b.intrinsic("sqrt", b.fadd(x, const(x.ty, 0.0)))
        return b.select(b.fcmp("oeq", x, const(x.ty, -math.inf)), const(x.ty, math.inf), root)
    name = next((name for exponent, name in MULTIPLES_OF_HALF.items() if y.ref == const(y.ty, exponent).ref), None)
    return None if name is None else registry.call(b, name, x)


def _integer_power(b: Builder, dtype: DType, x: Val, y: Val) -> Val:
    """Power by squaring, until the exponents of all lanes are used up."""
    one, zero = const(x.ty, 1), const(x.ty, 0)

    def write(f: Builder, base: Val, exponent: Val) -> Val:
        body, after = f.label("do"), f.label("end")
        before = f.block
        f.start(body)
        result, close_result = f.open_phi(x.ty, one, before)
        square, close_square = f.open_phi(x.ty, base, before)
        rest, close_rest = f.open_phi(x.ty, exponent, before)
        product = f.select(f.icmp("ne", f.and_(rest, one), zero), f.mul(result, square), result)
        left = f.lshr(rest, one)
        close_result(product, body)
        close_square(f.mul(square, square), body)
        close_rest(left, body)
        some = left if lanes(x.ty) == 1 else f.call(
            element(x.ty), f"llvm.vector.reduce.or.v{lanes(x.ty)}{element(x.ty)}", left)
        f.branch(f.icmp("ne", some, const(some.ty, 0)), body, after)
        f.start(after)
        return product

    name = "ipow." + x.ty.replace(" ", "").strip("<>")
    b.module.define(name, x.ty, [x.ty, x.ty], write)
    return b.call(x.ty, name, x, y)


def _fits(name: str) -> Lowering:
    """Whether `add`, `sub` or `mul` of int64 does not overflow."""

    def lower(b: Builder, dtype: DType, x: Val, y: Val) -> Val:
        if lanes(x.ty) == 1:
            pair = b.call(f"{{ {x.ty}, i1 }}", f"llvm.s{name}.with.overflow.{x.ty}", x, y)
            return b.not_(b.op("i1", f"extractvalue {pair}, 1"))
        if name == "mul" and _literal(x) is not None:
            x, y = y, x
        known = _literal(y)
        if known is not None:
            low, high = _domain(name, known, *dtype.limits)
            least = dtype.limits[0]
            return b.icmp("sle", b.add(x, const(x.ty, least - low)), const(x.ty, least + high - low))
        if name == "mul":
            return _product_fits(b, x, y)
        total: Val = getattr(b, name)(x, y)
        signs = b.and_(b.xor(x, total), b.xor(y, total) if name == "add" else b.xor(x, y))
        return b.icmp("sge", signs, const(x.ty, 0))

    return lower


def _product_fits(b: Builder, x: Val, y: Val) -> Val:
    """Whether a product does not overflow, as in the kernel; if the processor converts 64-bit lanes to floats one by
    one, factors of 32 bits, the usual case, are detected first."""

    def compared() -> list[Val]:
        near = b.fmul(*[b.convert("sitofp", v, "double") for v in (x, y)])
        away = b.fsub(near, b.convert("sitofp", b.mul(x, y), "double"))
        return [b.fcmp("olt", b.intrinsic("fabs", away), const(near.ty, 2.0 ** 62))]

    if b.module.vector_bits >= 512:
        return compared()[0]
    half = const(x.ty, 1 << 31)
    bits = [b.add(v, half) for v in ((x,) if x.ref == y.ref else (x, y))]
    small = b.icmp("eq", b.lshr(bits[0] if len(bits) == 1 else b.or_(*bits), const(x.ty, 32)), const(x.ty, 0))
    mask = f"i{lanes(x.ty)}"
    large = b.op("i8", f"zext {b.op(mask, f'bitcast {b.not_(small)} to {mask}')} to i8") if lanes(x.ty) < 8 else b.op(
        mask, f"bitcast {b.not_(small)} to {mask}")
    return b.either(b.icmp("eq", large, const(large.ty, 0)), lambda: [small], compared)[0]


def _domain(name: str, y: int, least: int, most: int) -> tuple[int, int]:
    """The range of x for which an op with the constant y does not overflow."""
    if name == "mul":
        bounds = sorted((least, most), reverse=y < 0)
        low, high = (-(-bounds[0] // y), bounds[1] // y) if y else (least, most)
    else:
        change = y if name == "add" else -y
        low, high = least - change, most - change
    return max(low, least), min(high, most)


def _extreme(greatest: bool) -> Lowering:
    def lower(b: Builder, dtype: DType, x: Val, y: Val) -> Val:
        if is_float(x.ty):
            return b.intrinsic("maximum" if greatest else "minimum", x, y)
        sign = "u" if dtype.is_unsigned or dtype.is_bool else "s"
        return b.intrinsic(sign + ("max" if greatest else "min"), x, y)

    return lower


def _negative(b: Builder, dtype: DType, x: Val) -> Val:
    return b.fneg(x) if is_float(x.ty) else b.sub(const(x.ty, 0), x)


def _abs(b: Builder, dtype: DType, x: Val) -> Val:
    if is_float(x.ty):
        return b.intrinsic("fabs", x)
    if dtype.is_unsigned:
        return x
    return b.select(b.icmp("slt", x, const(x.ty, 0)), b.sub(const(x.ty, 0), x), x)


def _sign(b: Builder, dtype: DType, x: Val) -> Val:
    zero, one, minus = const(x.ty, 0), const(x.ty, 1), const(x.ty, -1)
    if is_float(x.ty):
        rest = b.select(b.fcmp("oeq", x, zero), zero, x)  # zero is positive, and NaN stays NaN
        return b.select(b.fcmp("ogt", x, zero), one, b.select(b.fcmp("olt", x, zero), minus, rest))
    positive = b.select(b.icmp("ugt" if dtype.is_unsigned else "sgt", x, zero), one, zero)
    return positive if dtype.is_unsigned else b.select(b.icmp("slt", x, zero), minus, positive)


def _rounding(name: str) -> Lowering:
    return lambda b, dtype, x: b.intrinsic(name, x)


def _function(name: str) -> Lowering:
    return lambda b, dtype, *xs: registry.call(b, name, *xs)


def _library(name: str) -> Lowering:
    """A function of the C library, called for each lane."""

    def write(*xs: Num) -> list[Num]:
        return [Num(xs[0].b, complex_numbers.call_library(xs[0].b, name, *[x.v for x in xs]))]

    def lower(b: Builder, dtype: DType, *xs: Val) -> Val:
        operands = [Num(b, x) for x in xs]
        found = write(*operands) if lanes(xs[0].ty) == 1 else lane_by_lane(f"each_{name}", write, 1, *operands)
        return found[0].v

    return lower


def _relu(b: Builder, dtype: DType, x: Val) -> Val:
    return _extreme(True)(b, dtype, x, const(x.ty, 0))


def _where(b: Builder, dtype: DType, condition: Val, x: Val, y: Val) -> Val:
    if lanes(x.ty) > 1 and dtype is not t.bool_:
        # LLVM turns a select between a new value and a loaded one into a masked store. On AVX2 that takes 12 cycles on
        # some processors, a blend and a store one. `freeze` hides that the value is the loaded one.
        x, y = [b.op(v.ty, f"freeze {v}") for v in (x, y)]
    return b.select(condition, x, y)


def _identity(b: Builder, dtype: DType, x: Val) -> Val:
    return x


def _zero(b: Builder, dtype: DType, x: Val) -> Val:
    return const(x.ty, 0)


ELEMENTWISE: Final[dict[str, Lowering]] = {
    "add": _simple("add", "fadd"), "subtract": _simple("sub", "fsub"), "multiply": _simple("mul", "fmul"),
    "divide": _only("fdiv"), "floordiv": _floordiv, "mod": _mod, "pow": _pow,
    "maximum": _extreme(True), "minimum": _extreme(False), "atan2": _function("atan2"),
    "equal": _compare("eq"), "not_equal": _compare("ne"), "less": _compare("lt"), "less_equal": _compare("le"),
    "greater": _compare("gt"), "greater_equal": _compare("ge"),
    "bitwise_and": _only("and_"), "bitwise_or": _only("or_"), "bitwise_xor": _only("xor"), "invert": _only("not_"),
    "add_fits": _fits("add"), "subtract_fits": _fits("sub"), "multiply_fits": _fits("mul"),
    "left_shift": _shift(True), "right_shift": _shift(False), "where": _where,
    "negative": _negative, "abs": _abs, "sign": _sign, "relu": _relu,
    "floor": _rounding("floor"), "ceil": _rounding("ceil"), "rint": _rounding("rint"), "sqrt": _rounding("sqrt"),
    "complex": lambda b, dtype, real, imag: complex_numbers.joined(b, (real, imag)),
    "stop_gradient": _identity, "real": _identity, "conj": _identity, "imag": _zero,
    **{name: _function(name) for name in (
        "exp", "expm1", "log", "log1p", "sigmoid", "softplus", "erf", "erfc", "erfinv", "sin", "cos", "tan", "asin",
        "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "fmod")},
    **{name: _library(name) for name in ("hypot", "exp2", "log2", "log10", "cbrt")},
    "copysign": lambda b, dtype, x, y: b.intrinsic("copysign", x, y),
}

_AS_IS: Final = {"where", "stop_gradient"}
_HALF_AS_IS: Final = {*_AS_IS, "real", "conj", "imag", "negative", "abs"}


def lower(b: Builder, name: str, dtype: DType, *xs: Val) -> Val:
    """The element-wise op `name`. float16 is computed in float32 and rounded, as in NumPy."""
    if dtype.is_complex and name not in _AS_IS:
        return complex_numbers.lower(b, name, *xs)
    if element(xs[-1].ty) != "half" or name in _HALF_AS_IS:
        return ELEMENTWISE[name](b, dtype, *xs)
    wide = [b.convert("fpext", x, "float") if element(x.ty) == "half" else x for x in xs]
    result = ELEMENTWISE[name](b, dtype, *wide)
    return b.convert("fptrunc", result, "half") if element(result.ty) == "float" else result


# Where a kernel raises: the test for an element, or None if it never does.

def _zero_divisor(b: Builder, dtype: DType, x: Val, y: Val) -> Val | None:
    if is_float(x.ty) or _literal(y) not in (None, 0):
        return None
    return b.icmp("eq", y, const(y.ty, 0))


def _negative_power(b: Builder, dtype: DType, x: Val, y: Val) -> Val | None:
    known = _literal(y)
    if not dtype.is_integer or dtype.is_unsigned or (known is not None and known >= 0):
        return None
    return b.icmp("slt", y, const(y.ty, 0))


FAILS: Final[dict[str, Callable[..., Val | None]]] = {
    "floordiv": _zero_divisor, "mod": _zero_divisor, "pow": _negative_power}


# Casts.

def cast(b: Builder, x: Val, source: DType, target: DType) -> Val:
    """NumPy's `astype`, with the results of C compilers for this machine."""
    to = llvm_type(target)
    if source is target:
        return x
    if source.is_complex or target.is_complex:
        return complex_numbers.cast(b, x, source, target, cast)
    kind = element(x.ty)
    if target.is_bool:
        zero = const(x.ty, 0)
        return b.fcmp("une", x, zero) if is_float(x.ty) else b.icmp("ne", x, zero)
    if target.is_floating:
        if source.is_floating:
            if source.size == 8 and to == "half":
                x = _rounded_to_odd(b, x)
            return b.convert("fpext" if source.size < target.size else "fptrunc", x, to)
        how = "uitofp" if source.is_unsigned or source.is_bool else "sitofp"
        if to == "half":
            return b.convert("fptrunc", b.convert(how, x, "float"), to)
        return b.convert(how, x, to)
    if source.is_floating:
        if kind == "half":
            x = b.convert("fpext", x, "float")
        return _truncated(b, x, target)
    if source.size > target.size:
        return b.convert("trunc", x, to)
    return b.convert("zext" if source.is_unsigned or source.is_bool else "sext", x, to)


def _rounded_to_odd(b: Builder, x: Val) -> Val:
    """A double rounded to odd as a float, so that it rounds to the correct half: there is no instruction from double to
    half, and rounding twice to nearest is not the same (S. Boldo, G. Melquiond, 2008)."""
    nearest = b.convert("fptrunc", x, "float")
    back = b.convert("fpext", nearest, "double")
    away = b.fcmp("ogt", b.intrinsic("fabs", back), b.intrinsic("fabs", x))
    bits = b.bitcast(nearest, "i32")
    odd = b.or_(b.sub(bits, b.convert("zext", away, "i32")), const(bits.ty, 1))
    return b.select(b.fcmp("one", back, x), b.bitcast(odd, "float"), nearest)


def _truncated(b: Builder, x: Val, target: DType) -> Val:
    """A float as an integer. Values out of range, and NaN, are undefined in C, so NumPy returns what the processor's
    instruction returns; this code returns what x86's does. For uint32, where NumPy's vector and scalar code differ
    there, it follows the scalar code."""
    if target is t.uint64:
        half = 2.0 ** 63
        above = b.fcmp("oge", x, const(x.ty, half))
        low = _signed(b, b.select(above, b.op(x.ty, f"fsub {x}, {const(x.ty, half).ref}"), x), 64)
        return b.select(above, b.xor(low, const(low.ty, -(1 << 63))), low)
    value = _signed(b, x, 64 if target.size == 8 or target is t.uint32 else 32)
    return b.convert("trunc", value, llvm_type(target)) if element(value.ty) != llvm_type(target) else value


def _signed(b: Builder, x: Val, bits: int) -> Val:
    least = -(1 << (bits - 1))
    inside = b.and_(b.fcmp("ogt" if bits == 32 and element(x.ty) == "double" else "oge", x,
                           const(x.ty, least - 1 if bits == 32 and element(x.ty) == "double" else least)),
                    b.fcmp("olt", x, const(x.ty, -least)))
    ty = like(x.ty, f"i{bits}")
    safe = b.select(inside, x, const(x.ty, 0))
    return b.select(inside, b.convert("fptosi", safe, f"i{bits}"), const(ty, least))


# Reductions: how two partial results are combined, and the identity element.

_COMBINE: Final = {"reduce_sum": "add", "reduce_prod": "multiply", "reduce_max": "maximum", "reduce_min": "minimum",
                   "reduce_all": "bitwise_and", "reduce_any": "bitwise_or"}


def combine(b: Builder, name: str, dtype: DType, x: Val, y: Val, rows: bool = False) -> Val:
    """Combine two partial results; `rows`: elements of two rows, whose complex products NumPy computes as for
    arrays."""
    if dtype.is_complex:
        return complex_numbers.lower(b, "product" if name == "reduce_prod" and not rows else _COMBINE[name], x, y)
    return ELEMENTWISE[_COMBINE[name]](b, dtype, x, y)


def identity(name: str, dtype: DType) -> Any:
    """The identity element of a reduction."""
    if name == "reduce_sum":
        return 0
    if name == "reduce_prod":
        return complex_numbers.bits(1, dtype) if dtype.is_complex else 1
    if name in ("reduce_all", "reduce_any"):
        return name == "reduce_all"
    if dtype.is_floating:
        return float("-inf") if name == "reduce_max" else float("inf")
    return dtype.limits[0] if name == "reduce_max" else dtype.limits[1]
