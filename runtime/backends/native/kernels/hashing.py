"""Lowerings of the ops of hash tables (`runtime.ops.hashing`). A module has one function for each kind of key."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from runtime.backends.native.codegen.context import Lowering, Value, lowers
from runtime.backends.native.codegen.index_expressions import Listed, Scalar
from runtime.backends.native.codegen.scalar_ops import cast, llvm_type
from runtime.backends.native.kernels.lists import in_memory, lengthened, own, taken_as
from runtime.backends.native.llvm.builder import Builder, Val, const
from runtime.core.graph import Node
from runtime.core.types import DType, float64, int32, int64
from runtime.ops.hashing import MULTIPLIER, ROOM, SHIFT

__all__: list[str] = []

_WORK: Final = 10  # per slot, as polls count it
_ONE: Final = const("i64", 1)


@lowers("hash_slots")
def slots(w: Lowering, node: Node, *operands: Value) -> Value:
    b = w.b
    before, marks, *columns = _lists(w, node, operands)
    least = b.mul(b.sub(marks.length, _ONE), const("i64", ROOM))
    b.module.declare("llvm.ctlz.i64", "i64", "i64", "i1")
    above = b.call("i64", "llvm.ctlz.i64", b.sub(b.intrinsic("smax", least, _ONE), _ONE), const("i1", 0))
    made = lengthened(w, own(w, before), b.shl(_ONE, b.sub(const("i64", 64), above)))
    dtypes = [column.dtype for column in columns]
    name = b.module.define(
        f"hash.slots.{_kinds(dtypes)}", "void", ["ptr", "i64", "ptr", "i64", *["ptr"] * len(columns)],
        lambda f, *args: _fill(f, dtypes, *args), "noinline nounwind")
    b.call("void", name, made.place(b, 0), made.length, marks.place(b, 0), marks.length,
           *[column.place(b, 0) for column in columns])
    w.poll(b.imul(made.length, _WORK))
    return made


@lowers("hash_find")
def find(w: Lowering, node: Node, *operands: Value) -> list[Value]:
    b = w.b
    count = len(operands) // 2 - 1
    lists = _lists(w, node, operands[:2 + count])
    key = [cast(b, w.element(x), value.type.dtype, _wide(value.type.dtype))  # type: ignore[union-attr]
           for x, value in zip(operands[2 + count:], node.inputs[2 + count:], strict=True)]
    dtypes = [column.dtype for column in lists[2:]]
    name = b.module.define(
        f"hash.find.{_kinds(dtypes)}", "i64", ["ptr", "i64", "ptr", *["ptr"] * count, *[part.ty for part in key]],
        lambda f, *args: _find(f, dtypes, *args), "nounwind")
    slot = b.call("i64", name, lists[0].place(b, 0), lists[0].length, *[x.place(b, 0) for x in lists[1:]], *key)
    entry = b.load("i32", lists[0].place(b, slot))
    return [Scalar(int32, entry), Scalar(int32, b.convert("trunc", slot, "i32"))]


def _lists(w: Lowering, node: Node, operands: Sequence[Value]) -> list[Listed]:
    first = in_memory(w, node, operands[0])
    return [first, *[taken_as(w, x, value.type) for x, value in zip(operands[1:], node.inputs[1:])]]


def _kinds(dtypes: Sequence[DType]) -> str:
    return ".".join(dtype.name for dtype in dtypes)


def _wide(dtype: DType) -> DType:
    """The dtype in which parts of keys are compared."""
    return float64 if dtype.is_floating else int64


def _parts(b: Builder, dtypes: Sequence[DType], columns: Sequence[Val], entry: Val) -> list[Val]:
    """The parts of the key of an entry."""
    return [cast(b, b.load(llvm_type(dtype), b.offset(column, entry, llvm_type(dtype))), dtype, _wide(dtype))
            for dtype, column in zip(dtypes, columns, strict=True)]


def _hash(b: Builder, parts: Sequence[Val]) -> Val:
    found = const("i64", 0)
    for part in parts:
        bits = part if part.ty == "i64" else b.bitcast(b.fadd(part, const("double", 0)), "i64")
        product = b.mul(b.xor(found, bits), const("i64", MULTIPLIER))
        found = b.xor(product, b.ashr(product, const("i64", SHIFT)))
    return found


def _probed(b: Builder, hash: Val, last: Val, goes_on: Callable[[Val], Val]) -> Val:
    """The first slot, from that of the hash on, at which the search ends."""
    head, after = b.label("probe"), b.label("found")
    first, before = b.and_(hash, last), b.block
    b.start(head)
    slot, close = b.open_phi("i64", first, before)
    again = goes_on(slot)
    close(b.and_(b.add(slot, _ONE), last), b.block)
    b.branch(again, head, after)
    b.start(after)
    return slot


def _fill(b: Builder, dtypes: Sequence[DType], slots: Val, size: Val, marks: Val, count: Val, *columns: Val) -> None:
    """Write the numbers of the entries that are not deleted into the slots."""
    zero = const("i32", 0)
    b.module.declare("llvm.memset.p0.i64", "void", "ptr", "i8", "i64", "i1")
    b.call("void", "llvm.memset.p0.i64", slots, const("i8", 0), b.mul(size, const("i64", 4)), const("i1", 0))
    with b.loop(1, count) as entry, b.when(b.icmp("ne", b.load("i32", b.offset(marks, entry, "i32")), zero)):
        slot = _probed(b, _hash(b, _parts(b, dtypes, columns, entry)), b.sub(size, _ONE), lambda slot: b.icmp(
            "ne", b.load("i32", b.offset(slots, slot, "i32")), zero))
        b.store(b.convert("trunc", entry, "i32"), b.offset(slots, slot, "i32"))


def _find(b: Builder, dtypes: Sequence[DType], slots: Val, size: Val, marks: Val, *rest: Val) -> Val:
    """The slot of a key. An empty slot refers to entry 0, whose key is never compared."""
    columns, key = rest[:len(dtypes)], rest[len(dtypes):]

    def goes_on(slot: Val) -> Val:
        entry = b.load("i32", b.offset(slots, slot, "i32"))
        at = b.convert("zext", entry, "i64")
        same = b.icmp("ne", b.load("i32", b.offset(marks, at, "i32")), const("i32", 0))
        for mine, part in zip(_parts(b, dtypes, columns, at), key, strict=True):
            same = b.and_(same, b.fcmp("oeq", mine, part) if part.ty == "double" else b.icmp("eq", mine, part))
        return b.and_(b.icmp("ne", entry, const("i32", 0)), b.not_(same))

    return _probed(b, _hash(b, key), b.sub(size, _ONE), goes_on)
