"""Lowerings of the ops of hash tables (`runtime.ops.hashing`). A module has one function for each kind of key."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from runtime.backends.native.codegen.context import Lowering, Value, lowers
from runtime.backends.native.codegen.index_expressions import Listed, Scalar
from runtime.backends.native.codegen.ragged_lists import content, vector_at
from runtime.backends.native.codegen.scalar_ops import cast, llvm_type
from runtime.backends.native.kernels.lists import in_memory, lengthened, own, taken_as
from runtime.backends.native.llvm.builder import Builder, Val, const
from runtime.core.graph import Node
from runtime.core.types import DType, float64, int32, int64
from runtime.ops.hashing import MULTIPLIER, ROOM, SHIFT

__all__: list[str] = []

_WORK: Final = 10  # per slot, as polls count it
_ONE: Final = const("i64", 1)


@dataclass(frozen=True)
class _Part:
    """How a part of the keys is stored in a table: `kind` is "" for scalars; for vectors "rows", of one length, or
    "ragged" (`codegen/ragged_lists.py`)."""

    dtype: DType
    kind: str

    @classmethod
    def of(cls, column: Listed) -> _Part:
        return cls(column.dtype, "" if column.dims == () else "ragged" if column.ragged else "rows")

    @property
    def name(self) -> str:
        return self.dtype.name + self.kind

    @property
    def in_tables(self) -> tuple[str, ...]:
        """The types of the words for a column: its address, and the length or the addresses of vectors."""
        return {"": ("ptr",), "rows": ("ptr", "i64"), "ragged": ("ptr", "ptr")}[self.kind]

    @property
    def in_keys(self) -> tuple[str, ...]:
        """The types of the words for a part: the number, or the address, the length and the stride of a vector."""
        return ("ptr", "i64", "i64") if self.kind else ("double" if self.dtype.is_floating else "i64",)

    def column(self, b: Builder, x: Listed) -> list[Val]:
        """The words for a column."""
        first = b.load("ptr", x.pair)
        return [first] if not self.kind else [first, content(b, x) if self.kind == "ragged" else b.i64(x.sizes[0])]

    def key(self, w: Lowering, x: Value) -> list[Val]:
        """The words for a part of a key."""
        if not self.kind:
            return [self._number(w.b, w.element(x))]
        leaf = w.leaf(x)
        (step,) = leaf.steps(w.b)
        return [leaf.pointer, w.b.i64(leaf.dims[0]), w.b.i64(step)]

    def at(self, b: Builder, words: Sequence[Val], entry: Val) -> list[Val]:
        """The words for the part of an entry's key, given those of the column."""
        if not self.kind:
            return [self._item(b, words[0], entry)]
        if self.kind == "rows":
            return [self._address(b, words[0], b.mul(entry, words[1])), words[1], _ONE]
        offset, length = vector_at(b, words[0], entry)
        return [self._address(b, words[1], offset), length, _ONE]

    def hashed(self, b: Builder, found: Val, part: Sequence[Val]) -> Val:
        """The hash of a key up to this part, given that of the parts before it."""
        if not self.kind:
            return _mixed(b, found, part[0])

        def write(b: Builder, found: Val, pointer: Val, length: Val, step: Val) -> Val:
            (found,) = b.folded(const("i64", 0), length, [_mixed(b, found, length)], lambda k, values: [
                _mixed(b, values[0], self._item(b, pointer, b.mul(k, step)))])
            return found

        return b.call("i64", b.module.define(
            f"hash.of.{self.dtype.name}", "i64", ["i64", *self.in_keys], write, "nounwind"), found, *part)

    def equals(self, b: Builder, mine: Sequence[Val], other: _Part, its: Sequence[Val]) -> Val:
        """Whether two parts, of dtypes of one kind, are equal."""
        if not self.kind:
            return self._same(b, mine[0], its[0])

        def write(b: Builder, one: Val, length: Val, step: Val, two: Val, size: Val, pace: Val) -> Val:
            same = b.icmp("eq", length, size)
            with b.loop(0, b.select(same, length, const("i64", 0))) as k:
                x, y = self._item(b, one, b.mul(k, step)), other._item(b, two, b.mul(k, pace))
                with b.when(b.not_(self._same(b, x, y))):
                    b.line("ret i1 false")
            return same

        return b.call("i1", b.module.define(
            f"hash.same.{self.dtype.name}.{other.dtype.name}", "i1", [*self.in_keys, *other.in_keys], write,
            "nounwind"), *mine, *its)

    def _same(self, b: Builder, x: Val, y: Val) -> Val:
        return b.fcmp("oeq", x, y) if self.dtype.is_floating else b.icmp("eq", x, y)

    def _address(self, b: Builder, pointer: Val, at: Val) -> Val:
        return b.offset(pointer, at, llvm_type(self.dtype))

    def _item(self, b: Builder, pointer: Val, at: Val) -> Val:
        return self._number(b, b.load(llvm_type(self.dtype), self._address(b, pointer, at)))

    def _number(self, b: Builder, x: Val) -> Val:
        """A number as parts of keys are hashed and compared."""
        return cast(b, x, self.dtype, float64 if self.dtype.is_floating else int64)


@lowers("hash_slots")
def slots(w: Lowering, node: Node, *operands: Value) -> Value:
    b = w.b
    before, marks, *columns = _lists(w, node, operands)
    least = b.mul(b.sub(marks.length, _ONE), const("i64", ROOM))
    b.module.declare("llvm.ctlz.i64", "i64", "i64", "i1")
    above = b.call("i64", "llvm.ctlz.i64", b.sub(b.intrinsic("smax", least, _ONE), _ONE), const("i1", 0))
    made = lengthened(w, own(w, before), b.shl(_ONE, b.sub(const("i64", 64), above)))
    parts = [*map(_Part.of, columns)]
    name = b.module.define(
        f"hash.slots.{_names(parts)}", "void",
        ["ptr", "i64", "ptr", "i64", *[word for part in parts for word in part.in_tables]],
        lambda f, *args: _fill(f, parts, *args), "noinline nounwind")
    b.call("void", name, made.place(b, 0), made.length, marks.place(b, 0), marks.length, *_words(b, parts, columns))
    w.poll(b.imul(made.length, _WORK))
    return made


@lowers("hash_find")
def find(w: Lowering, node: Node, *operands: Value) -> list[Value]:
    b = w.b
    count = len(operands) // 2 - 1
    slots, marks, *columns = _lists(w, node, operands[:2 + count])
    parts = [*map(_Part.of, columns)]
    wanted = [_Part(value.type.dtype, part.kind)  # type: ignore[union-attr]
              for part, value in zip(parts, node.inputs[2 + count:], strict=True)]
    key = [part.key(w, x) for part, x in zip(wanted, operands[2 + count:], strict=True)]
    name = b.module.define(
        f"hash.find.{_names(parts)}.{_names(wanted)}", "i64",
        ["ptr", "i64", "ptr", *[word for part in parts for word in part.in_tables],
         *[word for part in wanted for word in part.in_keys]],
        lambda f, *args: _find(f, parts, wanted, *args), "nounwind")
    slot = b.call("i64", name, slots.place(b, 0), slots.length, marks.place(b, 0),
                  *_words(b, parts, columns), *[word for part in key for word in part])
    entry = b.load("i32", slots.place(b, slot))
    return [Scalar(int32, entry), Scalar(int32, b.convert("trunc", slot, "i32"))]


def _lists(w: Lowering, node: Node, operands: Sequence[Value]) -> list[Listed]:
    first = in_memory(w, node, operands[0])
    return [first, *[taken_as(w, x, value.type) for x, value in zip(operands[1:], node.inputs[1:])]]


def _names(parts: Sequence[_Part]) -> str:
    return ".".join(part.name for part in parts)


def _words(b: Builder, parts: Sequence[_Part], columns: Sequence[Listed]) -> list[Val]:
    """The words for the columns."""
    return [word for part, column in zip(parts, columns, strict=True) for word in part.column(b, column)]


def _mixed(b: Builder, found: Val, number: Val) -> Val:
    bits = number if number.ty == "i64" else b.bitcast(b.fadd(number, const("double", 0)), "i64")
    product = b.mul(b.xor(found, bits), const("i64", MULTIPLIER))
    return b.xor(product, b.ashr(product, const("i64", SHIFT)))


def _hash(b: Builder, parts: Sequence[_Part], key: Iterable[Sequence[Val]]) -> Val:
    found = const("i64", 0)
    for part, mine in zip(parts, key, strict=True):
        found = part.hashed(b, found, mine)
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


def _fill(b: Builder, parts: Sequence[_Part], slots: Val, size: Val, marks: Val, count: Val, *words: Val) -> None:
    """Write the numbers of the entries that are not deleted into the slots."""
    zero, rest = const("i32", 0), iter(words)
    columns = [[*islice(rest, len(part.in_tables))] for part in parts]
    b.module.declare("llvm.memset.p0.i64", "void", "ptr", "i8", "i64", "i1")
    b.call("void", "llvm.memset.p0.i64", slots, const("i8", 0), b.mul(size, const("i64", 4)), const("i1", 0))
    with b.loop(1, count) as entry, b.when(b.icmp("ne", b.load("i32", b.offset(marks, entry, "i32")), zero)):
        key = [part.at(b, column, entry) for part, column in zip(parts, columns, strict=True)]
        slot = _probed(b, _hash(b, parts, key), b.sub(size, _ONE), lambda slot: b.icmp(
            "ne", b.load("i32", b.offset(slots, slot, "i32")), zero))
        b.store(b.convert("trunc", entry, "i32"), b.offset(slots, slot, "i32"))


def _find(b: Builder, parts: Sequence[_Part], wanted: Sequence[_Part], slots: Val, size: Val, marks: Val, *words: Val
          ) -> Val:
    """The slot of a key. An empty slot refers to entry 0, whose key is compared in vain: its numbers are any, its
    vectors are not written and have no length."""
    rest = iter(words)
    columns = [[*islice(rest, len(part.in_tables))] for part in parts]
    key = [[*islice(rest, len(part.in_keys))] for part in wanted]

    def goes_on(slot: Val) -> Val:
        entry = b.load("i32", b.offset(slots, slot, "i32"))
        at = b.convert("zext", entry, "i64")
        same = b.icmp("ne", b.load("i32", b.offset(marks, at, "i32")), const("i32", 0))
        for part, column, other, its in zip(parts, columns, wanted, key, strict=True):
            same = b.and_(same, part.equals(b, part.at(b, column, at), other, its))
        return b.and_(b.icmp("ne", entry, const("i32", 0)), b.not_(same))

    return _probed(b, _hash(b, wanted, key), b.sub(size, _ONE), goes_on)
