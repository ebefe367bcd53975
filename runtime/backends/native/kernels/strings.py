"""Lowerings of ops on text. Formatting of what is no int calls Python."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runtime.backends.native.codegen.context import Lowering, NotNative, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Context, Leaf, Scalar
from runtime.backends.native.codegen.piecewise_arrays import Axis
from runtime.backends.native.kernels.indexing import viewed
from runtime.backends.native.llvm.builder import Index, Val, const
from runtime.core.graph import Node
from runtime.core.text import TEXT, Hole
from runtime.core.types import bool_, uint8

__all__: list[str] = []

_DECIMAL: Final = ("", "d", "!r")
"""The formats of an int as its decimal digits."""
_LONGEST: Final = 256
"""The most bytes of fixed text that are written one by one."""
_DIGITS: Final = 20
"""The most digits of an int of 64 bits."""


@lowers("equal_text")
def equal_text(w: Lowering, node: Node, x: Value, y: Value) -> Value:
    assert isinstance(x, Array) and isinstance(y, Array)
    b = w.b
    size = b.i64(x.dims[0])
    same = b.icmp("eq", size, b.i64(y.dims[0]))

    def step(k: Val, state: Sequence[Val]) -> list[Val]:
        return [b.and_(state[0], b.icmp("eq", x.at(Context(b), [k]), y.at(Context(b), [k])))]

    return Scalar(bool_, b.folded(0, b.select(same, size, const("i64", 0)), [same], step)[0])


@lowers("render_text")
def render_text(w: Lowering, node: Node, *values: Value) -> Value:
    """Text of fixed pieces, other texts and ints."""
    template = node.params["text"]
    pieces = [piece.encode() for piece in template.pieces]
    if sum(map(len, pieces)) > _LONGEST or not all(map(_is_simple, template.holes, values)):
        raise NotNative("the format of what is no int")
    b = w.b
    parts = [_Digits(w, x) if isinstance(x, Scalar) else _Text(w, x) for x in values]
    total: Index = sum(map(len, pieces))
    for part in parts:
        total = b.iadd(total, part.size)
    target = w.memory(uint8, [total])
    start = _write(w, target, 0, pieces[0])
    for part, piece in zip(parts, pieces[1:], strict=True):
        part.write(w, target, start)
        start = _write(w, target, b.iadd(start, part.size), piece)
    return target


def _write(w: Lowering, target: Leaf, start: Index, piece: bytes) -> Index:
    """Write fixed text from an index on; returns the index of its end."""
    for k, byte in enumerate(piece):
        w.b.store(const("i8", byte), w.b.offset(target.pointer, w.b.iadd(start, k), "i8"), 1)
    return w.b.iadd(start, len(piece))


def _is_simple(hole: Hole, x: Value) -> bool:
    """Whether a value is text, or an int whose format is its digits."""
    if isinstance(x, Scalar):
        return not hole.optional and hole.spec in _DECIMAL and x.dtype.is_integer
    return hole.spec == TEXT and isinstance(x, Array)


class _Text:
    """A text as part of another one."""

    def __init__(self, w: Lowering, x: Value) -> None:
        assert isinstance(x, Array)
        self.text, self.size = w.leaf(x), x.dims[0]

    def write(self, w: Lowering, target: Leaf, start: Index) -> None:
        part = viewed(w, target, [Axis(start, 1, self.size)])
        assert isinstance(part, Leaf)
        w.store_all([(self.text, part)])


class _Digits:
    """An int as decimal digits, with a sign if it is negative."""

    def __init__(self, w: Lowering, x: Scalar) -> None:
        b, zero = w.b, const("i64", 0)
        number = b.extend(x.val, x.dtype.is_unsigned)
        sign = zero
        if not x.dtype.is_unsigned:
            is_negative = b.icmp("slt", number, zero)
            sign, number = b.convert("zext", is_negative, "i64"), b.select(is_negative, b.sub(zero, number), number)
        self.number, self.count = number, const("i64", 1)
        for k in range(1, _DIGITS):
            least = 10 ** k if 10 ** k < 1 << 63 else 10 ** k - (1 << 64)
            self.count = b.add(self.count, b.convert("zext", b.icmp("uge", number, const("i64", least)), "i64"))
        self.size: Index = b.add(sign, self.count)

    def write(self, w: Lowering, target: Leaf, start: Index) -> None:
        b, ten = w.b, const("i64", 10)
        b.store(const("i8", ord("-")), b.offset(target.pointer, start, "i8"), 1)  # a digit replaces it, without a sign
        last = b.sub(b.i64(b.iadd(start, self.size)), const("i64", 1))

        def digit(k: Val, rest: Sequence[Val]) -> list[Val]:
            shown = b.convert("trunc", b.add(b.urem(rest[0], ten), const("i64", ord("0"))), "i8")
            b.store(shown, b.offset(target.pointer, b.sub(last, k), "i8"), 1)
            return [b.udiv(rest[0], ten)]

        b.folded(0, self.count, [self.number], digit, unroll=False)
