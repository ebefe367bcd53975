"""Lowerings of Philox (`runtime.ops.philox`): bit for bit the numbers of the kernels. The logarithm, sine and cosine of
float64 are NumPy's, so its normal numbers call the kernel."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from runtime.backends.native.codegen.context import Lowering, NotNative, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Context, Leaf
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.kernels.random import array_of, bounds, constant_table, for_each
from runtime.backends.native.llvm.builder import Builder, Index, Val, bits_of, const
from runtime.core.graph import Node
from runtime.core.types import int64
from runtime.ops import philox

__all__: list[str] = []

_PLAIN: Final = "noinline nounwind"
Block = Sequence[Val]  # four words


def _block(b: Builder, state: Sequence[Val], at: Val) -> Block:
    """The block at a place after the counter of a state."""
    low, high, key = state
    below = b.add(low, at)
    above = b.add(high, b.convert("zext", b.icmp("ult", below, at), "i64"))

    def halves(x: Val) -> tuple[Val, Val]:
        return b.convert("trunc", x, "i32"), b.convert("trunc", b.lshr(x, const("i64", 32)), "i32")

    words, keys = [*halves(below), *halves(above)], list(halves(key))
    for _ in range(philox.ROUNDS):
        (low0, high0), (low1, high1) = [
            halves(b.mul(b.convert("zext", word, "i64"), const("i64", factor)))
            for word, factor in zip(words[::2], philox.MULTIPLIERS, strict=True)]
        words = [b.xor(b.xor(high1, words[1]), keys[0]), low1, b.xor(b.xor(high0, words[3]), keys[1]), low0]
        keys = [b.add(key, const("i32", step)) for key, step in zip(keys, philox.WEYL, strict=True)]
    return words


def _wide(b: Builder, low: Val, high: Val) -> Val:
    return b.or_(b.convert("zext", low, "i64"), b.shl(b.convert("zext", high, "i64"), const("i64", 32)))


# From a block to numbers of a dtype.

def _units(b: Builder, words: Block, ty: str) -> list[Val]:
    """Numbers from 0 to below 1 with as many random bits as the mantissa has."""
    if ty == "double":
        mantissas = [b.and_(_wide(b, words[k + 1], words[k]), const("i64", (1 << 52) - 1)) for k in (0, 2)]
        return [b.fmul(b.convert("uitofp", x, ty), const(ty, 2.0 ** -52)) for x in mantissas]
    digits = 10 if ty == "half" else 23
    kept = [b.and_(word, const("i32", (1 << digits) - 1)) for word in words]
    return [b.convert("fptrunc", b.fmul(b.convert("uitofp", x, "float"), const("float", 2.0 ** -digits)), ty)
            for x in kept]


def _normals(b: Builder, words: Block, ty: str) -> list[Val]:
    """The Box-Muller transform of each pair of words."""
    module = b.module
    module.define("philox.log", "float", ["float"], _logarithm, "alwaysinline nounwind")
    uniform, made = _units(b, words, "float"), []
    for first, second in ((uniform[0], uniform[1]), (uniform[2], uniform[3])):
        least = const("float", float(np.float32(1e-7)))
        first = b.select(b.fcmp("olt", first, least), least, first)
        angle = b.fmul(b.convert("fpext", second, "double"), const("double", philox.TWO_PI))
        radius = b.intrinsic("sqrt", b.fmul(b.call("float", "philox.log", first), const("float", -2.0)))
        made += [b.fmul(x, radius) for x in _sine_and_cosine(b, b.convert("fptrunc", angle, "float"))]
    return [b.convert("fptrunc", x, ty) for x in made]


def _double(value: float) -> Val:
    return const("double", value)


def _logarithm(b: Builder, x: Val) -> Val:
    pairs = constant_table(b, "philox.logarithms", "double", [number for pair in philox.TABLE for number in pair])
    whole = b.bitcast(x, "i32")
    shifted = b.sub(whole, const("i32", philox.OFFSET))
    place = b.convert("zext", b.and_(b.lshr(shifted, const("i32", 19)), const("i32", 15)), "i64")
    inverse, base = [b.load("double", b.offset(pairs, b.iadd(b.imul(place, 2), k), "double")) for k in (0, 1)]
    exponent = b.and_(shifted, const("i32", 0xFF800000 - (1 << 32)))
    z = b.convert("fpext", b.bitcast(b.sub(whole, exponent), "float"), "double")
    r = b.fsub(b.fmul(z, inverse), _double(1.0))
    scale = b.convert("sitofp", b.ashr(shifted, const("i32", 23)), "double")
    base = b.fadd(base, b.fmul(scale, _double(philox.LOG_TWO)))
    square = b.fmul(r, r)
    third, second, first = map(_double, philox.LOGARITHM)
    y = b.fadd(b.fmul(third, square), b.fadd(b.fmul(second, r), first))
    return b.convert("fptrunc", b.fadd(b.fmul(y, square), b.fadd(base, r)), "float")


def _sine_and_cosine(b: Builder, x: Val) -> tuple[Val, Val]:
    wide = b.convert("fpext", x, "double")
    scaled = b.convert("fptosi", b.fmul(wide, _double(philox.INVERSE)), "i32")
    quadrant = b.ashr(b.add(scaled, const("i32", 0x800000)), const("i32", 24))
    wide = b.fsub(wide, b.fmul(b.convert("sitofp", quadrant, "double"), _double(philox.HALF_PI)))
    square = b.fmul(wide, wide)
    fourth, cube = b.fmul(square, square), b.fmul(square, wide)
    s, c = [_double(value) for value in philox.SINE], [_double(value) for value in philox.COSINE]
    sine = b.fadd(b.fadd(wide, b.fmul(cube, s[0])),
                  b.fmul(b.fmul(cube, square), b.fadd(s[1], b.fmul(square, s[2]))))
    cosine = b.fadd(b.fadd(b.fadd(c[0], b.fmul(square, c[1])), b.fmul(fourth, c[2])),
                    b.fmul(b.fmul(fourth, square), b.fadd(c[3], b.fmul(square, c[4]))))

    def has(bits: int, x: Val) -> Val:
        return b.icmp("ne", b.and_(x, const("i32", bits)), const("i32", 0))

    swapped = has(1, quadrant)
    found = []
    for own, other, negative in ((sine, cosine, has(2, quadrant)),
                                 (cosine, sine, has(2, b.add(quadrant, const("i32", 1))))):
        value = b.select(swapped, other, own)
        found.append(b.convert("fptrunc", b.select(negative, b.fneg(value), value), "float"))
    return found[0], found[1]


def _bits(b: Builder, words: Block, ty: str) -> list[Val]:
    """Integers of all bits, of 32 bits for narrower types."""
    return [_wide(b, words[k], words[k + 1]) for k in (0, 2)] if ty == "i64" else list(words)


Draw = Callable[[Builder, Block, str], list[Val]]
_DRAWS: Final[dict[str, Draw]] = {
    "uniform": _units, "normal": _normals,
    "bits": lambda b, words, ty: [b.convert("trunc", x, ty) for x in _bits(b, words, ty)]}


# Filling memory.

def _filling(ty: str, make: Callable[[Builder, Sequence[Val], Val, Sequence[Val]], list[Val]]) -> Callable[..., None]:
    """A function that fills memory with what `make(builder, state, group, more)` gives for each group of numbers."""
    size = 2 if bits_of(ty) == 64 else 4

    def fill(b: Builder, low: Val, high: Val, key: Val, out: Val, count: Val, frame: Val, *more: Val) -> None:
        state, rest = (low, high, key), b.and_(count, const("i64", size - 1))
        groups = b.lshr(count, const("i64", 1 if size == 2 else 2))
        last = b.imul(groups, size)
        with b.when(b.icmp("ne", rest, const("i64", 0))):
            for k, value in enumerate(make(b, state, groups, more)[:-1]):
                with b.when(b.icmp("ugt", rest, const("i64", k))):
                    b.store(value, b.offset(out, b.iadd(last, k), ty))

        def write(group: Val) -> None:
            first = b.imul(group, size)
            for k, value in enumerate(make(b, state, group, more)):
                b.store(value, b.offset(out, b.iadd(first, k), ty))

        for_each(b, groups, frame, write)

    return fill


def _fill(w: Lowering, name: str, ty: str, make: Callable[..., list[Val]], state: Sequence[Val], out: Val, count: Index,
          *more: Val) -> Val:
    types = ["i64", "i64", "i64", "ptr", "i64", "ptr", *[x.ty for x in more]]
    w.module.define(name, "i32", types, _filling(ty, make), _PLAIN)
    return w.b.call("i32", name, *state, out, w.b.i64(count), w.frame, *more)


def _truncated(b: Builder, state: Sequence[Val], group: Val, ty: str) -> list[Val]:
    """The first normal numbers of a group's blocks that are within the bounds."""
    size = 4
    cells, filled, block = b.alloca(ty, size), b.alloca("i64"), b.alloca("i64")
    b.store(const("i64", 0), filled)
    b.store(b.mul(group, const("i64", size * philox.RESERVED // 4)), block)
    again, after = b.label("again"), b.label("after")
    b.jump(again)
    b.start(again)
    at = b.load("i64", block)
    b.store(b.add(at, const("i64", 1)), block)
    for value in _normals(b, _block(b, state, at), "float"):
        place = b.load("i64", filled)
        inside = b.fcmp("olt", b.intrinsic("fabs", value), const("float", philox.TRUNCATION))
        with b.when(b.and_(inside, b.icmp("ult", place, const("i64", size)))):
            b.store(b.convert("fptrunc", value, ty), b.offset(cells, place, ty))
            b.store(b.add(place, const("i64", 1)), filled)
    b.branch(b.icmp("ult", b.load("i64", filled), const("i64", size)), again, after)
    b.start(after)
    return [b.load(ty, b.offset(cells, k, ty)) for k in range(size)]


# The ops.

def _words(w: Lowering, x: Value, count: int) -> list[Val]:
    """The elements of a vector of integers, as 64 bits each."""
    assert isinstance(x, Array)
    places = w.leaf(x)
    return [w.b.extend(places.at(Context(w.b), [w.b.i64(k)]), places.dtype.is_unsigned) for k in range(count)]


def _stored(w: Lowering, words: Sequence[Val]) -> Leaf:
    target = w.memory(int64, [len(words)])
    for k, word in enumerate(words):
        w.b.store(word, w.b.offset(target.pointer, k, "i64"))
    return target


@lowers("philox_state")
def philox_state(w: Lowering, node: Node, seed: Value) -> Value:
    assert isinstance(seed, Array)
    b, size = w.b, seed.dims[0]
    if not isinstance(size, int):
        w.fail_if(b.icmp("ne", size, const("i64", 2)), node, [seed])
    mixed = _block(b, [*_words(w, seed, 2), const("i64", philox.SCRAMBLE)], const("i64", 0))
    return _stored(w, [const("i64", 0), _wide(b, mixed[2], mixed[3]), _wide(b, mixed[0], mixed[1])])


@lowers("philox_skip")
def philox_skip(w: Lowering, node: Node, count: Value) -> Value:
    b, source = w.b, node.params["source"]
    if not any(source is other for other in w.sources):
        w.sources.append(source)
    address = w.constant(np.array([source.words.ctypes.data, 0], np.int64))
    assert isinstance(address, Leaf)
    words = b.load("ptr", address.pointer)
    places = [b.offset(words, k, "i64") for k in range(3)]
    low, high, key = [b.load("i64", place) for place in places]
    state = _stored(w, [low, high, key])
    ahead = b.mul(w.element(count), const("i64", philox.RESERVED))
    after = b.add(low, ahead)
    b.store(after, places[0])
    b.store(b.add(high, b.convert("zext", b.icmp("ult", after, ahead), "i64")), places[1])
    return state


@lowers("stateless_random")
def stateless_random(w: Lowering, node: Node, state: Value, *shape: Value) -> Value:
    ty, distribution = llvm_type(node.params["dtype"]), node.params["distribution"]
    if ty == "double" and distribution != "uniform":
        raise NotNative("normal numbers of float64 take NumPy's functions")

    def make(b: Builder, state: Sequence[Val], group: Val, more: Sequence[Val]) -> list[Val]:
        if distribution == "truncated_normal":
            return _truncated(b, state, group, ty)
        return _DRAWS[distribution](b, _block(b, state, group), ty)

    words = _words(w, state, 3)
    return array_of(w, node, shape, [state, *shape], lambda out, count: _fill(
        w, f"philox.{distribution}.{ty}", ty, make, words, out, count))


@lowers("stateless_random_int")
def stateless_random_int(w: Lowering, node: Node, low: Value, high: Value, state: Value, *shape: Value) -> Value:
    values = [low, high, state, *shape]
    first, end = bounds(w, node, low, high, values)
    ty, words = first.ty, _words(w, state, 3)
    wide = "i64" if ty == "i64" else "i32"
    how: Any = "zext" if node.outputs[0].type.dtype.is_unsigned else "sext"  # type: ignore[union-attr]
    span = w.b.sub(w.b.convert(how, end, wide), w.b.convert(how, first, wide))

    def make(b: Builder, state: Sequence[Val], group: Val, more: Sequence[Val]) -> list[Val]:
        low, span = more
        return [b.add(low, b.convert("trunc", b.urem(x, span), ty)) for x in _bits(b, _block(b, state, group), ty)]

    return array_of(w, node, shape, values, lambda out, count: _fill(
        w, f"philox.int.{ty}", ty, make, words, out, count, first, span))
