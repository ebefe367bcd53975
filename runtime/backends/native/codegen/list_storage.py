"""Lists between native memory and Python: a part of `Lowering`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runtime.backends.native.abi.allocator import PAIR
from runtime.backends.native.abi.callbacks import BoxSite, MoveSite, Site, UnboxSite
from runtime.backends.native.codegen.index_expressions import Array, Boxed, Listed, Scalar
from runtime.backends.native.codegen.ragged_lists import blank, content, of_rows, used
from runtime.backends.native.llvm.builder import Builder, Index, Module, Val, const
from runtime.core.graph import Value as GraphValue
from runtime.core.types import ListType, Type

__all__ = ["FIRST_SLOT", "REFUSAL_WORD", "REFUSED", "ListMemory", "listed"]

REFUSED: Final = 2  # the status of code that ended with a refusal
REFUSAL_WORD: Final = 7  # the word of the frame with its number
FIRST_SLOT: Final = 10  # of the frame, where the pairs begin


def listed(type: Type) -> bool:
    """Whether a list of this type is in native memory: if the type of its elements is known."""
    return isinstance(type, ListType) and type.known


class ListMemory:
    """The part of `Lowering` for lists."""

    b: Builder
    frame: Val
    module: Module
    objects: int
    slots: int
    first_slot: tuple[Val, int]
    env: dict[GraphValue, Any]
    last: dict[GraphValue, int]
    operands: Sequence[GraphValue]
    dead: frozenset[int]

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def pair(self, slot: int) -> Val:
        """The address of a slot: a pair."""
        place, first = self.first_slot
        return self.b.offset(place, first + PAIR * slot, "i64")

    def reserved(self, pair: Val, size: Index) -> Val:
        raise NotImplementedError

    def no_memory(self) -> None:
        raise NotImplementedError

    def call_python(self, site: Site, words: Sequence[Val] = (), results: int = 0) -> list[Val]:
        raise NotImplementedError

    def new_object(self) -> int:
        self.objects += 1
        return self.objects - 1

    def new_list(self, type: ListType, length: Val, dims: tuple[Index, ...] | None = None) -> Listed:
        """A list of that length, with slots of its own, whose memory is not allocated yet. `dims`: the shape of its
        elements, if more is known than the type says."""
        return self._other(Listed(type.element.dtype, dims or type.element.shape, Val("ptr", "null"), length))

    def _other(self, x: Listed) -> Listed:
        slots = [self.new_slot() for _ in range(1 + x.ragged)]
        place, first = self.first_slot
        pair = self.b.at_entry("ptr", f"getelementptr i64, {place}, i64 {first + PAIR * slots[0]}")
        return Listed(x.dtype, x.dims, pair, x.length)

    def unwritten(self, type: ListType, length: Val) -> Listed:
        """A list of unwritten elements. If they have one shape, they read as zeros."""
        b, made = self.b, self.new_list(type, length)
        pointer = self.reserved(made.pair, made.room(b, length))
        if made.ragged:
            b.store(const("i64", 0), pointer)
            blank(self, made, 0, length)
        else:
            b.call("void", "llvm.memset.p0.i64", pointer, const("i8", 0), b.i64(made.bytes(b, length)),
                   Val("i1", "false"))
        return made

    def copy_list(self, x: Listed, pair: Val | None = None) -> Listed:
        """A copy of the list, in the memory of `pair` if given."""
        b = self.b
        made = self._other(x) if pair is None else Listed(x.dtype, x.dims, pair, x.length)
        self._copy(self.reserved(made.pair, x.bytes(b, x.length)), b.load("ptr", x.pair), x.bytes(b, x.length))
        if x.ragged:
            size = b.imul(used(b, x), x.dtype.size)
            self._copy(self.reserved(b.offset(made.pair, PAIR, "i64"), size), content(b, x), size)
        return made

    def _copy(self, target: Val, source: Val, size: Index) -> None:
        self.b.call("void", "llvm.memcpy.p0.p0.i64", target, source, self.b.i64(size), Val("i1", "false"))

    def owns(self, operand: int, x: Listed) -> bool:
        """Whether the list, operand number `operand` of the current node, is dead after it, and may be changed in
        place."""
        return x.scratch and operand in self.dead and self.is_alone(x, self.operands[operand])

    def is_alone(self, x: Listed, mine: GraphValue) -> bool:
        """Whether no other live value shares the memory of the list `mine`."""
        return not any(isinstance(other, Listed) and other.pair.ref == x.pair.ref
                       for value, other in self.env.items() if value is not mine and value in self.last)

    def boxed(self, x: Listed, result: bool = False) -> Boxed:
        """A list as a Python object, perhaps as a `result` of the graph; its elements are copied."""
        b, place = self.b, self.new_object()
        addresses = [] if x.dims is None else [b.load("i64", b.offset(x.pair, PAIR * k, "i64"))
                                               for k in range(1 + x.ragged)]
        dims = None if x.dims is None else tuple([-1 if isinstance(size, Val) else size for size in x.dims])
        open_ = [size for size in x.dims or () if isinstance(size, Val)]
        self.call_python(BoxSite(place, dims, x.dtype.np, result), [x.length, *addresses, *open_])
        return Boxed(place)

    def as_type(self, x: Scalar | Array | Boxed | Listed, type: Type) -> Scalar | Array | Boxed | Listed:
        """A list in the representation of its type: in native memory if the type of its elements is known."""
        if not isinstance(type, ListType):
            return x
        if not listed(type):
            return self.boxed(x) if isinstance(x, Listed) else x
        dims, dtype = tuple(type.element.shape), type.element.dtype
        if isinstance(x, Listed):
            if x.dims is None:
                return self.unwritten(type, x.length)
            if x.dims == dims or x.is_open:
                return x
            if None in dims:
                return self._as_ragged(x, type)
            x = self.boxed(x)
        assert isinstance(x, Boxed)
        b = self.b
        length, *addresses = self.call_python(UnboxSite(x.place, dims, dtype.np), (), 2 + (None in dims))
        made = self.new_list(type, length)
        first, *second = [b.op("ptr", f"inttoptr {address} to ptr") for address in addresses]
        self._copy(self.reserved(made.pair, made.bytes(b, length)), first, made.bytes(b, length))
        if second:
            size = b.imul(b.load("i64", first), dtype.size)
            self._copy(self.reserved(b.offset(made.pair, PAIR, "i64"), size), second[0], size)
        return made

    def _as_ragged(self, x: Listed, type: ListType) -> Listed:
        """The list in the ragged representation."""
        if x.ragged:  # it is ragged already
            return Listed(x.dtype, tuple(type.element.shape), x.pair, x.length, x.scratch)
        made = self.new_list(type, x.length)
        self._copy(of_rows(self, made, x.length, x.sizes), self.b.load("ptr", x.pair), x.bytes(self.b, x.length))
        return made

    def move(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Move objects to other slots, all at once: pairs of target and source."""
        pairs = [pair for pair in pairs if pair[0] != pair[1]]
        if pairs:
            self.call_python(MoveSite(pairs))
