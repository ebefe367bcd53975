"""Lowerings of random numbers: bit for bit those that the kernels get from NumPy's generator.

A source's numbers come from NumPy's own bit generator, through its C functions (numpy/random/bitgen.h), so that kernels
and native code share one stream; the distributions are written here as in NumPy (numpy/random/src/distributions).
Other versions of NumPy may draw differently; if this NumPy does not draw the expected numbers, the kernels are called.
"""
from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from runtime.backends.native.abi.interrupts import INTERRUPTED, PIECE, poll, watched
from runtime.backends.native.codegen.context import Lowering, NotNative, Value, lowers
from runtime.backends.native.codegen.index_expressions import Leaf, Scalar
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.kernels import ziggurat_tables
from runtime.backends.native.kernels.shapes import check_sizes, numbers, result_type
from runtime.backends.native.llvm.builder import Builder, Index, Val, bits_of, const
from runtime.core.graph import Node

__all__ = ["array_of", "bounds", "constant_table", "for_each"]

_LONG: Final = 1 << 12  # numbers from which on the GIL should be released
_PLAIN: Final = "noinline nounwind"
_DIGEST: Final = "ad95d28df75de371"


@functools.lru_cache(maxsize=1)
def _known() -> bool:
    """Whether this NumPy draws the same numbers as the code here, judging by samples from a fixed seed."""
    generator = np.random.default_rng([5, 1 << 40])
    digest = hashlib.sha256(type(generator.bit_generator).__name__.encode())
    for dtype in (np.float32, np.float64):
        digest.update(generator.random(3, dtype).tobytes())
        digest.update(generator.standard_normal(4000, dtype).tobytes())
    for bits in (8, 16, 32, 64):
        for span in (100, 1 << (bits - 1), 1 << bits):
            digest.update(generator.integers(0, span, 7, f"u{bits // 8}").tobytes())
    return digest.hexdigest()[:16] == _DIGEST


# Streams: the address of three words, the addresses of the state and of functions to the next 64 and the next 32 bits.

def _stream(w: Lowering, source: Any) -> Val:
    """The stream of a source, whose state stays in NumPy's generator."""
    if not any(source is other for other in w.sources):
        w.sources.append(source)
    interface = source.generator.bit_generator.ctypes
    words = [interface.state_address, *[
        ctypes.cast(function, ctypes.c_void_p).value for function in (interface.next_uint64, interface.next_uint32)]]
    found = w.constant(np.array(words, np.uint64).view(np.int64))
    assert isinstance(found, Leaf)
    return found.pointer


# Distributions.

class Stream(NamedTuple):
    """A stream inside a function that draws from it: its state, and the functions that return the next bits."""

    state: Val
    functions: dict[int, Val]

    def next(self, b: Builder, bits: int) -> Val:
        return b.call_pointer(f"i{bits}", self.functions[bits], self.state)


def _opened(b: Builder, words: Val) -> Stream:
    functions = {bits: b.load("ptr", b.offset(words, k, "i64")) for k, bits in ((1, 64), (2, 32))}
    return Stream(b.load("ptr", words), functions)


def _unit(b: Builder, stream: Stream, kind: str) -> Val:
    """A number in [0, 1), from the highest 53 of 64 or 24 of 32 bits."""
    bits, digits = (64, 53) if kind == "double" else (32, 24)
    whole = b.lshr(stream.next(b, bits), const(f"i{bits}", bits - digits))
    return b.op(kind, f"fmul {b.convert('sitofp', whole, kind)}, {const(kind, 2.0 ** -digits).ref}")


def _normal(b: Builder, stream: Stream, kind: str) -> Val:
    """A normal number by the ziggurat algorithm: a point in a layer, drawn again until it is below the curve."""
    module = b.module
    name = f"normal.{kind}"
    module.declare("exp", "double", "double")
    module.declare("log1p", "double", "double")
    module.declare("log1pf", "float", "float")
    bits = 64 if kind == "double" else 32

    def write(f: Builder, state: Val, function: Val) -> None:
        _ziggurat(f, Stream(state, {bits: function}), kind)

    module.define(name, kind, ["ptr", "ptr"], write, "nounwind")
    return b.call(kind, name, stream.state, stream.functions[bits])


def _ziggurat(b: Builder, stream: Stream, kind: str) -> None:
    digits, bits = (52, 64) if kind == "double" else (23, 32)
    whole = f"i{bits}"
    table = ziggurat_tables.tables(digits)
    below, widths, heights = (constant_table(b, f"ziggurat.{name}{bits}", ty, values) for name, ty, values in (
        ("below", whole, table.below), ("widths", kind, table.widths), ("heights", kind, table.heights)))

    def arithmetic(name: str, x: Val, y: Val) -> Val:
        return b.op(x.ty, f"{name} {x}, {y.ref}")

    def logarithm() -> Val:
        """log(1 - u)"""
        return b.call(kind, "log1p" if kind == "double" else "log1pf", b.fneg(_unit(b, stream, kind)))

    again, tail = b.label("again"), b.label("tail")
    b.start(again)
    drawn = stream.next(b, bits)
    layer = b.and_(drawn, const(whole, 255))
    point = b.lshr(drawn, const(whole, 9))
    if kind == "double":
        point = b.and_(point, const(whole, (1 << digits) - 1))
    negative = b.icmp("ne", b.and_(drawn, const(whole, 256)), const(whole, 0))
    index = b.convert("zext", layer, "i64")
    width = arithmetic("fmul", b.convert("sitofp", point, kind), b.load(kind, b.offset(widths, index, kind)))
    x = b.select(negative, b.fneg(width), width)
    with b.when(b.icmp("ult", point, b.load(whole, b.offset(below, index, whole)))):
        b.line(f"ret {x}")
    with b.when(b.icmp("eq", layer, const(whole, 0))):
        b.start(tail)
        far = arithmetic("fmul", const(kind, -ziggurat_tables.INVERSE_TAIL), logarithm())
        under = b.fneg(logarithm())
        with b.when(b.fcmp("ogt", arithmetic("fadd", under, under), arithmetic("fmul", far, far))):
            outer = arithmetic("fadd", const(kind, ziggurat_tables.TAIL), far)
            is_negative = b.icmp("ne", b.and_(point, const(whole, 256)), const(whole, 0))
            b.line(f"ret {b.select(is_negative, b.fneg(outer), outer)}")
        b.jump(tail)
    low = b.load(kind, b.offset(heights, index, kind))
    high = b.load(kind, b.offset(heights, b.isub(index, 1), kind))
    height = arithmetic("fadd", arithmetic("fmul", arithmetic("fsub", high, low), _unit(b, stream, kind)), low)
    place = b.convert("fpext", x, "double")
    square = arithmetic("fmul", arithmetic("fmul", const("double", -0.5), place), place)
    with b.when(b.fcmp("olt", b.convert("fpext", height, "double"), b.call("double", "exp", square))):
        b.line(f"ret {x}")
    b.jump(again)


def constant_table(b: Builder, name: str, ty: str, values: Sequence[float]) -> Val:
    items = ", ".join([str(const(ty, value)) for value in values])
    b.module.globals[name] = f"internal constant [{len(values)} x {ty}] [{items}]"
    return Val("ptr", f"@{name}")


def _floats(w: Lowering, distribution: str, ty: str, words: Val, out: Val, count: Index) -> Val:
    """Fill memory with floats; float16 is rounded from float32. Returns the status: 0, or INTERRUPTED."""
    kind = "float" if ty == "half" else ty
    draw: Callable[..., Val] = _unit if distribution == "uniform" else _normal

    def fill(b: Builder, words: Val, out: Val, count: Val, frame: Val) -> None:
        stream = _opened(b, words)
        for_each(b, count, frame, lambda k: b.store(
            b.convert("fptrunc", draw(b, stream, kind), ty), b.offset(out, k, ty)))

    name = f"fill.{distribution}.{ty}"
    w.module.define(name, "i32", ["ptr", "ptr", "i64", "ptr"], fill, _PLAIN)
    return w.b.call("i32", name, words, out, w.b.i64(count), w.frame)


def for_each(b: Builder, count: Val, frame: Val, write: Callable[[Val], None]) -> None:
    """Write `write(k)` for each of `count` numbers, and the end of the function, which returns 0, or INTERRUPTED if a
    signal handler raised."""
    def step(k: Val, _: Sequence[Val]) -> list[Val]:
        write(k)
        return []

    watched(b, count, [], step, lambda many: poll(b, frame, 4 * many, lambda: b.line(f"ret i32 {INTERRUPTED}")))
    b.line("ret i32 0")


def _integers(w: Lowering, words: Val, out: Val, count: Index, low: Val, high: Val) -> Val:
    """Fill memory with integers in [low, high) (D. Lemire, 2019). Returns the status: 0, or INTERRUPTED."""
    b, ty = w.b, low.ty
    name = f"fill.{ty}"
    w.module.define(name, "i32", ["ptr", "ptr", "i64", "ptr", ty, ty], _fill_integers, _PLAIN)
    return b.call("i32", name, words, out, b.i64(count), w.frame, low, b.sub(b.sub(high, const(ty, 1)), low))


def _fill_integers(b: Builder, words: Val, out: Val, count: Val, frame: Val, low: Val, span: Val) -> None:
    """Draw numbers from low to low + span, inclusive."""
    stream = _opened(b, words)
    ty, bits = low.ty, bits_of(low.ty)
    buffer, remaining = b.alloca("i32"), b.alloca("i32")  # unused bits of a word of 32; how many numbers they make
    b.store(const("i32", 0), remaining)

    def word() -> Val:
        """The next 8 or 16 bits of 32, from the lowest on."""
        some = b.icmp("ne", b.load("i32", remaining), const("i32", 0))

        def rest() -> list[Val]:
            b.store(b.sub(b.load("i32", remaining), const("i32", 1)), remaining)
            return [b.lshr(b.load("i32", buffer), const("i32", bits))]

        def fresh() -> list[Val]:
            b.store(const("i32", 32 // bits - 1), remaining)
            return [stream.next(b, 32)]

        (value,) = b.either(some, rest, fresh)
        b.store(value, buffer)
        return b.convert("trunc", value, ty)

    def each(draw: Callable[[], Val]) -> None:
        for_each(b, count, frame, lambda k: b.store(b.add(low, draw()), b.offset(out, k, ty)))

    def bounded(next_: Callable[[], Val], span: Val) -> Val:
        """The high half of a product with a random number, drawn again if the low half would cause a bias."""
        narrow = bits_of(span.ty)
        double = f"i{2 * narrow}"
        excluded = b.add(span, const(span.ty, 1))
        top = b.convert("zext", excluded, double)
        again = b.label("again")

        def product() -> Val:
            return b.mul(b.convert("zext", next_(), double), top)

        first = product()
        low_half = b.convert("trunc", first, span.ty)

        def uneven() -> list[Val]:
            threshold = b.urem(b.sub(const(span.ty, -1), span), excluded)
            before = b.block
            b.start(again)
            value, close = b.open_phi(double, first, before)
            fails = b.icmp("ult", b.convert("trunc", value, span.ty), threshold)
            with b.when(fails):
                close(product(), b.block)
                b.jump(again)
            return [value]

        (value,) = b.either(b.icmp("ult", low_half, excluded), uneven, lambda: [first])
        return b.convert("trunc", b.op(double, f"lshr {value}, {narrow}"), span.ty)

    with b.when(b.icmp("eq", span, const(ty, 0))):
        each(lambda: const(ty, 0))
    if bits == 64:
        whole32 = const(ty, 0xFFFFFFFF)
        with b.when(b.icmp("eq", span, whole32)):
            each(lambda: b.convert("zext", stream.next(b, 32), ty))
        with b.when(b.icmp("ult", span, whole32)):
            short = b.convert("trunc", span, "i32")
            each(lambda: b.convert("zext", bounded(lambda: stream.next(b, 32), short), ty))
    next_ = word if bits < 32 else lambda: stream.next(b, bits)
    each(lambda: bounded(next_, span))  # the span is never the dtype's full range


# The ops.

def array_of(w: Lowering, node: Node, shape: Sequence[Value], values: Sequence[Value],
            fill: Callable[[Val, Index], Val], source: Val | None = None) -> Value:
    """An array of the requested shape; `fill` gets its memory and the number of elements. If a signal interrupts it,
    the state of the source's stream is restored."""
    b = w.b
    type = result_type(node)
    elements = numbers(w, shape[0], len(type.shape)) if shape else list(node.params["dims"])
    dims: list[Index] = [e if known is None else known for e, known in zip(elements, type.shape, strict=True)]
    check_sizes(w, node, dims, values)
    w.check_room(node, values, type.dtype, dims)
    count = b.product(dims)
    if not isinstance(count, int) or count >= _LONG:
        w.long = True
    if not dims:
        cell = b.alloca(llvm_type(type.dtype))
        fill(cell, 1)
        return Scalar(type.dtype, b.load(llvm_type(type.dtype), cell))
    target = w.memory(type.dtype, dims)
    places = [] if source is None else _places(b, source)
    before = [b.load("i64", place) for place in places]
    stopped = b.icmp("ne", fill(target.pointer, count), const("i32", 0))
    if not isinstance(count, int) or count > PIECE:
        with b.when(stopped):
            for place, word in zip(places, before, strict=True):
                b.store(word, place)
            w.leave(INTERRUPTED)
    return target


def _places(b: Builder, words: Val) -> list[Val]:
    """The addresses of the changing words of a source's state (`pcg64_state` of NumPy): 128 bits, and unused 32
    bits."""
    state = b.load("ptr", words)
    inner = b.load("ptr", state)
    return [inner, b.offset(inner, 1, "i64"), b.offset(state, 1, "i64")]


def _need_known() -> None:
    if not _known():
        raise NotNative("this NumPy draws random numbers in a way of its own")


@lowers("random")
def random(w: Lowering, node: Node, *shape: Value) -> Value:
    _need_known()
    words = _stream(w, node.params["source"])
    ty = llvm_type(node.params["dtype"])
    return array_of(w, node, shape, shape, lambda out, count: _floats(
        w, node.params["distribution"], ty, words, out, count), words)


@lowers("random_int")
def random_int(w: Lowering, node: Node, low: Value, high: Value, *shape: Value) -> Value:
    _need_known()
    first, end = bounds(w, node, low, high, [low, high, *shape])
    words = _stream(w, node.params["source"])
    return array_of(w, node, shape, [low, high, *shape], lambda out, count: _integers(w, words, out, count, first, end),
                   words)


def bounds(w: Lowering, node: Node, low: Value, high: Value, values: list[Value]) -> tuple[Val, Val]:
    """The smallest number to draw and the exclusive limit; an empty range is an error."""
    first, end = w.element(low), w.element(high)
    relation = "uge" if result_type(node).dtype.is_unsigned else "sge"
    w.fail_if(w.b.icmp(relation, first, end), node, values)
    return first, end
