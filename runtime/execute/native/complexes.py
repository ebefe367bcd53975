"""Element-wise ops on complex numbers, which lie in memory as pairs of floats.

The two parts of an array are views of it, so that `real` and `imag` cost nothing. Other ops are a loop each. The
functions of complex numbers (exp, sqrt, ...) and what moves complex arrays about are NumPy's kernels.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from runtime.execute.native import loops
from runtime.execute.native.arrays import Array, Context, Leaf, Map, Place, Scalar, same
from runtime.execute.native.emit import Builder, Val, const
from runtime.execute.native.lower import Lowering, NotNative, Value, lowers
from runtime.execute.native.pointwise import COMPLEX, fitted
from runtime.execute.native.scalars import cast, is_native, llvm_type
from runtime.execute.native.shapes import result_type
from runtime.graph import Node
from runtime.types import DType

__all__: list[str] = []

Pair = tuple[Val, Val]  # real and imaginary part


def parts(w: Lowering, x: Leaf) -> tuple[Leaf, Leaf]:
    """The real and the imaginary part, as views."""
    b, dtype = w.b, x.dtype.real_dtype
    steps = [b.imul(step, 2) for step in x.steps(b)]
    second = b.offset(x.pointer, 1, llvm_type(dtype))
    real, imag = (Leaf(dtype, x.dims, pointer, steps, bases=x.bases) for pointer in (x.pointer, second))
    return real, imag


# Of one element each: what the kernels compute, in their order of operations.

def _multiply(b: Builder, x: Pair, y: Pair) -> Pair:
    return (b.fsub(b.fmul(x[0], y[0]), b.fmul(x[1], y[1])), b.fadd(b.fmul(x[0], y[1]), b.fmul(x[1], y[0])))


def _divide(b: Builder, x: Pair, y: Pair) -> Pair:
    """R. L. Smith's algorithm (1962): by the greater part of the divisor first; 0 gives infinities and NaN."""
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
    """Without overflow: of float32 in float64, of float64 by the quotient of the parts."""
    infinite = b.or_(*[b.fcmp("oeq", b.intrinsic("fabs", part), const(part.ty, float("inf"))) for part in x])
    if x[0].ty == "float":
        squares = [b.fmul(wide, wide) for wide in (b.convert("fpext", part, "double") for part in x)]
        length = b.convert("fptrunc", b.intrinsic("sqrt", b.fadd(*squares)), "float")
    else:
        sizes = [b.intrinsic("fabs", part) for part in x]
        most, least = b.intrinsic("maximum", *sizes), b.intrinsic("minimum", *sizes)
        ratio = b.fdiv(least, b.select(b.fcmp("oeq", most, const(most.ty, 0)), const(most.ty, 1), most))
        length = b.fmul(most, b.intrinsic("sqrt", b.fma(ratio, ratio, const(ratio.ty, 1))))
    return b.select(infinite, const(length.ty, float("inf")), length)


_PAIRS: Final[dict[str, Callable[..., Pair]]] = {
    "add": lambda b, x, y: (b.fadd(x[0], y[0]), b.fadd(x[1], y[1])),
    "subtract": lambda b, x, y: (b.fsub(x[0], y[0]), b.fsub(x[1], y[1])),
    "multiply": _multiply, "divide": _divide,
    "negative": lambda b, x: (b.fneg(x[0]), b.fneg(x[1])), "conj": lambda b, x: (x[0], b.fneg(x[1])),
    "where": lambda b, c, x, y: (b.select(c, x[0], y[0]), b.select(c, x[1], y[1])),
    "complex": lambda b, x, y: (x, y),
}
_SINGLE: Final[dict[str, Callable[..., Val]]] = {
    "abs": _abs,
    "equal": lambda b, x, y: b.and_(b.fcmp("oeq", x[0], y[0]), b.fcmp("oeq", x[1], y[1])),
    "not_equal": lambda b, x, y: b.or_(b.fcmp("une", x[0], y[0]), b.fcmp("une", x[1], y[1])),
}


@lowers("complex")
def complex_(w: Lowering, node: Node, *values: Value) -> Value:
    """An op of complex numbers, or that makes some."""
    name = node.op.name
    first = values[0]
    if name == "stop_gradient":
        return first
    if name in ("real", "imag"):
        assert isinstance(first, Leaf)
        part = parts(w, first)[name == "imag"]
        return part if part.dims else Scalar(part.dtype, part.at(Context(w.b), []))
    if name not in _PAIRS and name not in _SINGLE:
        raise NotNative("a function of complex numbers")
    arrays = [x for x in values if isinstance(x, Array)]
    for axis in range(1, 1 + max([len(x.dims) for x in arrays], default=0)):
        sizes = [x.dims[-axis] for x in arrays if axis <= len(x.dims) and not _is_one(x.dims[-axis])]
        if not all(same(size, sizes[0]) for size in sizes):
            raise NotNative("complex numbers in shapes whose sizes only the run compares")
    dims, args = fitted(w, node, values)

    def element(b: Builder, place: Place) -> Pair | Val:
        c = Context(b)
        operands = [tuple([part.at(c, place) for part in pair]) if isinstance(pair, tuple) else pair.at(c, place)
                    for pair in sources]
        return (_PAIRS.get(name) or _SINGLE[name])(b, *operands)

    sources = [parts(w, x) if isinstance(x, Leaf) and not is_native(x.dtype) else x for x in args]
    return _stored(w, result_type(node).dtype, dims, element)


def _is_one(size: object) -> bool:
    return isinstance(size, int) and size == 1


def _stored(w: Lowering, dtype: DType, dims: Sequence[int | Val], element: Callable[[Builder, Place], Pair | Val]
            ) -> Value:
    """Memory for the elements, which one loop computes."""
    if not dims and is_native(dtype):
        found = element(w.b, [])
        assert isinstance(found, Val)
        return Scalar(dtype, found)
    target = w.memory(dtype, dims)
    targets = parts(w, target) if not is_native(dtype) else (target,)

    def write(place: Place) -> None:
        found = element(w.b, place)
        for part, value in zip(targets, found if isinstance(found, tuple) else (found,), strict=True):
            part.store(w.b, place, value)

    loops.nest(w.b, dims, write)
    return target


def convert(w: Lowering, node: Node, x: Value) -> Value:
    """A cast from or to complex numbers: of what is not complex the imaginary part is 0, and is left out again."""
    target = node.params["dtype"]
    assert isinstance(x, (Scalar, Array))
    if is_native(target):
        assert isinstance(x, Leaf)
        real = parts(w, x)[0]
        source = real.dtype
        if not real.dims:
            return Scalar(target, cast(w.b, real.at(Context(w.b), []), source, target))
        return Map("cast", target, real.dims, lambda b, v: cast(b, v, source, target), [real])
    kind = target.real_dtype
    pair = parts(w, x) if isinstance(x, Leaf) and not is_native(x.dtype) else (x,)

    def element(b: Builder, place: Place) -> Pair:
        c = Context(b)
        values = [cast(b, part.at(c, place), part.dtype, kind) for part in pair]
        return values[0], values[1] if len(values) > 1 else const(llvm_type(kind), 0)

    return _stored(w, target, x.dims, element)


COMPLEX.update(elementwise=complex_, cast=convert)
