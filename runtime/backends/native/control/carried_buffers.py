"""Loop-carried values, and the buffers of arrays among them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from runtime.backends.native.codegen.context import Lowering, Value, listed
from runtime.backends.native.codegen.index_expressions import Array, Boxed, Leaf, Listed, Map, Scalar, reads, same_dims
from runtime.backends.native.codegen.piecewise_arrays import Axis, Joined, Slicer, has_part, split
from runtime.backends.native.codegen.variables import Variable
from runtime.backends.native.llvm.builder import Index, Val
from runtime.core.graph import Graph
from runtime.core.types import ListType, TensorType, Type

__all__ = ["Carried", "aligned"]

Closing = Sequence[Sequence[Callable[[Val, str], None]]]
"""For each loop-carried value, the callbacks that add a latch's incoming operand to its phis."""


class Carried:
    """The loop-carried values of given types.

    `fixed`: which of them are loop invariants, which get no phis.
    """

    def __init__(self, w: Lowering, types: Sequence[Type], first: Sequence[Value], operands: Sequence[int | Variable],
                 fixed: Sequence[bool]) -> None:
        self.w = w
        self.types = types
        self.fixed = fixed
        self.places = [w.new_object() if isinstance(type, ListType) and not listed(type) and not still else None
                       for type, still in zip(types, fixed, strict=True)]
        self.first = [w.as_type(x, type) for x, type in zip(first, types, strict=True)]
        self.own: list[Val | None] = [None] * len(types)  # the first buffer of an array
        self.slots: list[int | None] = [None] * len(types)  # or the slot with its buffer, if its size is unknown
        self.second: list[Any] = [None] * len(types)
        moves = []
        for k, (type, x) in enumerate(zip(types, self.first, strict=True)):
            if fixed[k]:
                self.first[k] = w.settle(x)
            elif isinstance(x, Boxed):
                place = self.places[k]
                assert place is not None
                moves.append((place, x.place))
            elif isinstance(x, Array):
                self.first[k] = self.enter(k, type, x, operands[k])
            elif isinstance(x, Listed):
                operand = operands[k]
                assert isinstance(operand, int)
                self.first[k] = x if w.owns(operand, x) else w.copy_list(x)
        w.move(moves)
        self.pinned = [isinstance(x, Leaf) and x.pointer.ref in w.overwritten for x in self.first]
        """Which are arrays of the caller: these stay where they are."""
        self.others: dict[int, Val] = {}
        self.ahead: dict[int, Leaf] = {}
        self.current: list[Value] = []
        self.rotated: set[int] = set()  # arrays that exchange their buffers; they have no second one
        self.can_rotate = {k for k, operand in enumerate(operands) if isinstance(operand, int)}  # not variables
        self.moved: set[tuple[int, int]] = set()  # phis' parts (address, sizes) of arrays that some iteration changes

    def enter(self, k: int, type: Type, x: Array, operand: int | Variable) -> Leaf:
        """Put the array into a buffer that the loop may write."""
        w = self.w
        assert isinstance(type, TensorType)
        slot = None if all(d is not None for d in type.shape) else w.new_slot()
        self.slots[k] = slot
        free = w.overwritable(operand, x) if isinstance(operand, int) else (
            isinstance(x, Leaf) and x.scratch and w.unread(x, operand))
        if free:
            assert isinstance(x, Leaf)
            self.own[k] = x.pointer
            return x
        if slot is None:
            target = w.memory(type.dtype, x.dims)
        else:
            size = w.b.room(x.dims, type.dtype.size)
            target = Leaf(type.dtype, x.dims, w.slot_memory(slot, size), scratch=True)
        self.own[k] = target.pointer
        if isinstance(x, Leaf) and x.flat:
            w.copy(x, target.pointer)
        elif isinstance(x, Map) and x.leaf is not None:
            w.copy(x.leaf, target.pointer)
        else:
            w.store_all([(x, Leaf(type.dtype, x.dims, target.pointer))])
        return target

    def open(self, first: Sequence[Value], before: str) -> Closing:
        """Write the phis of a loop header: `first` are their incoming values from the block `before`. The phis become
        the current values. Returns what `close` needs."""
        b = self.w.b
        current: list[Value] = []
        closings: list[list[Callable[[Val, str], None]]] = []
        for k, (type, x) in enumerate(zip(self.types, first, strict=True)):
            closing: list[Callable[[Val, str], None]] = []
            closings.append(closing)
            place = self.places[k]
            if self.fixed[k] or self.pinned[k]:
                current.append(x)
            elif place is not None:
                current.append(Boxed(place))
            elif isinstance(x, Scalar):
                value, close = b.open_phi(x.val.ty, x.val, before)
                closing.append(close)
                current.append(Scalar(x.dtype, value))
            elif isinstance(x, Listed):
                value, close = b.open_phi("i64", x.length, before)
                closing.append(close)
                current.append(Listed(x.dtype, x.dims, x.pair, value))
            else:
                assert isinstance(x, Leaf) and isinstance(type, TensorType)
                pointer, close = b.open_phi("ptr", x.pointer, before)
                closing.append(close)
                dims: list[Index] = []
                for size, known in zip(x.dims, type.shape, strict=True):
                    if known is None:
                        val, close = b.open_phi("i64", b.i64(size), before)
                        closing.append(close)
                        dims.append(val)
                    else:
                        dims.append(known)
                current.append(Leaf(x.dtype, dims, pointer, scratch=True))
        self.current = current
        return closings

    def restart(self) -> None:
        """Reset, to emit another version of the same loop."""
        self.others.clear()
        self.ahead.clear()
        self.rotated.clear()

    def store_ahead(self, body: Graph) -> None:
        """Let the body compute a next array, or the array that a next array pads, directly in the next array's buffer,
        if it is also used elsewhere in the body."""
        b = self.w.b
        for k, (out, x) in enumerate(zip(body.outputs, self.current, strict=False)):
            node = out.node
            if self.fixed[k] or self.pinned[k] or node is None or not isinstance(x, Leaf) or not all(
                    isinstance(d, int) for d in x.dims):
                continue
            value = out
            chosen: list[Axis | None] = [Axis(0, 1, size) for size in x.dims]
            if node.op.name == "pad":
                value = node.inputs[0]
                pairs = node.params["pairs"]
                if pairs is None or node.params["mode"] != "CONSTANT" or min(map(min, pairs)) < 0:
                    continue
                chosen = [Axis(pair[0], 1, d - sum(pair)) for pair, d in zip(pairs, x.dims, strict=True)]
            if sum(node.inputs.count(value) for node in body.nodes) + body.outputs.count(value) < 2:
                continue
            dims = [part.count for part in chosen if part is not None and part.count is not None]
            self.others[k] = self.other(k, x.dims)
            place = Slicer(b, chosen, dims)(Leaf(x.dtype, x.dims, self.others[k]))
            place.scratch = True
            self.ahead[k] = self.w.places[value] = place

    def advance(self, results: Sequence[Value]) -> list[list[Val]]:
        """Store the next values; returns the incoming operands of each one's phis."""
        w = self.w
        w.move([(p, x.place) for p, x in zip(self.places, results, strict=True)
                if p is not None and isinstance(x, Boxed)])
        results = self.advance_lists([w.as_type(x, type) for x, type in zip(results, self.types, strict=True)])
        final = self._advance_arrays(results)
        taken: list[list[Val]] = []
        for k, result in enumerate(results):
            if self.fixed[k] or isinstance(result, Boxed):
                taken.append([])
            elif isinstance(result, Scalar):
                taken.append([result.val])
            elif isinstance(result, Listed):
                taken.append([result.length])
            else:
                taken.append(self.parts(k, final[k]))
        return taken

    def _advance_arrays(self, results: Sequence[Value]) -> dict[int, Leaf]:
        """Store the next arrays. Those that go to their other buffer are stored first, since they may read current
        arrays that the others then overwrite in place."""
        final: dict[int, Leaf] = {}
        inside: list[tuple[int, Array]] = []
        outside: list[tuple[int, Array]] = []
        news = self._next_arrays(results)
        exchanged = self._exchanged(news)
        self.rotated |= exchanged
        for k, x in news.items():
            if k in exchanged:
                assert isinstance(x, Leaf)
                final[k] = x
            elif _is_memory(x) and x.pointer.ref == self._now(k).pointer.ref:
                final[k] = x
            elif self.pinned[k]:
                self.w.writes_late = True
                final[k] = self._now(k)
            elif not (k in self.ahead and has_part(x, self.ahead[k])) and self.in_place(k, news):
                inside.append((k, x))
            else:
                outside.append((k, x))
        self._store_outside(outside, final)
        for k, x in inside:
            old = self._now(k)
            final[k] = Leaf(x.dtype, old.dims, old.pointer, scratch=True)
        self.store([(x, final[k]) for k, x in inside if not _is_memory(x)])
        for k, x in inside:
            if _is_memory(x):
                self._move(x, final[k])
        return final

    def _next_arrays(self, results: Sequence[Value]) -> dict[int, Array]:
        news: dict[int, Array] = {}
        for k, current in enumerate(self.current):
            if isinstance(current, Leaf) and not self.fixed[k]:
                x = results[k]
                assert isinstance(x, Array)
                news[k] = x.leaf if isinstance(x, (Map, Joined)) and x.leaf is not None else x
        return news

    def _exchanged(self, news: dict[int, Array]) -> set[int]:
        """Arrays that only exchange their memory, as in `u, v = v, u`, so that their buffers do, too."""
        places = {self._now(k).pointer.ref: k for k in news if k in self.can_rotate and not self.pinned[k]}
        source: dict[int, int] = {}
        for k, x in news.items():
            j = places.get(x.pointer.ref, k) if _is_memory(x) and k in places.values() else k
            if j != k and self.types[j] == self.types[k] and same_dims(x.dims, self._now(j).dims):
                source[k] = j
        while source.keys() != set(source.values()):
            source = {k: j for k, j in source.items() if k in source.values() and j in source}
        return set(source)

    def _now(self, k: int) -> Leaf:
        current = self.current[k]
        assert isinstance(current, Leaf)
        return current

    def _store_outside(self, outside: Sequence[tuple[int, Array]], final: dict[int, Leaf]) -> None:
        """Store each array into its other buffer, and record that in `final`."""
        for k, x in outside:
            if k not in self.others:
                self.others[k] = self.other(k, x.dims)
            final[k] = Leaf(x.dtype, x.dims, self.others[k], scratch=True)
        self.store([root for k, x in outside if not _is_memory(x) for root in split(self.w.b, x, final[k])
                    if root[0] is not self.ahead.get(k)])
        for k, x in outside:
            if _is_memory(x) and x is not self.ahead.get(k):
                self.w.copy(x, final[k].pointer)

    def _move(self, x: Leaf, target: Leaf) -> None:
        """Copy an array to a buffer, which may be its own or overlap it."""
        b = self.w.b
        size = b.imul(b.product(x.dims), x.dtype.size)
        with b.when(b.icmp("ne", x.pointer, target.pointer)):
            b.call("void", "llvm.memmove.p0.p0.i64", target.pointer, x.pointer, b.i64(size), Val("i1", "false"))
            self.w.copied(size)

    def advance_lists(self, results: Sequence[Value]) -> list[Value]:
        """Copy lists that are in other memory into the loop's own; through temporary memory, as they may be swapped."""
        w = self.w
        results = list(results)
        foreign = []
        for k, (x, old) in enumerate(zip(results, self.current, strict=True)):
            if isinstance(x, Listed) and isinstance(old, Listed) and not self.fixed[k] and x.pair.ref != old.pair.ref:
                foreign.append(k)
                results[k] = w.copy_list(x)
        for k in foreign:
            x, old = results[k], self.current[k]
            assert isinstance(x, Listed) and isinstance(old, Listed)
            results[k] = w.copy_list(x, old.pair)
        return results

    def store(self, roots: Sequence[tuple[Array, Leaf]]) -> None:
        # loads must not see these stores, which belong to the next iteration
        targets = [(x, Leaf(t.dtype, t.dims, t.pointer, t.strides, bases=t.bases)) for x, t in roots]
        self.w.store_all(targets)

    def in_place(self, k: int, news: dict[int, Array]) -> bool:
        """Whether the next value of array `k` may overwrite its current one: no store reads other elements of that."""
        old = self.current[k]
        assert isinstance(old, Leaf)
        if not same_dims(news[k].dims, old.dims):
            return False
        if isinstance(news[k], Joined) or (isinstance(news[k], Leaf) and news[k].flat):  # stored by itself
            return not any(reads(x, old) for x in news.values())
        for j, x in news.items():
            together = j == k or (same_dims(x.dims, news[k].dims) and not isinstance(x, Leaf))
            if reads(x, old) and not (together and aligned(x, old)):
                return False
        return True

    def other(self, k: int, dims: Sequence[Index]) -> Val:
        """A buffer for the next value of array `k`, other than that of its current value."""
        w, b = self.w, self.w.b
        x = self.current[k]
        assert isinstance(x, Leaf) and k not in self.rotated
        self.can_rotate.discard(k)
        slot = self.slots[k]
        own = self.own[k]
        assert own is not None
        if slot is None:
            second = w.allocate(x.dtype, dims)
            return b.select(b.icmp("eq", x.pointer, own), second, own)
        if self.second[k] is None:
            self.second[k] = w.new_slot()
        first, second = w.pair(slot), w.pair(self.second[k])
        pair = b.select(b.icmp("eq", x.pointer, b.load("ptr", first)), second, first)
        return w.reserved(pair, b.room(dims, x.dtype.size))

    def close(self, taken: Sequence[Sequence[Val]], end: str, closings: Closing) -> None:
        """Add the phi operands `taken` for the latch `end`, which jumps to the header."""
        self.see(taken)
        for closing, vals in zip(closings, taken, strict=True):
            for close, val in zip(closing, vals, strict=True):
                close(val, end)

    def see(self, taken: Sequence[Sequence[Val]]) -> None:
        """Record which phi operands differ from the header's values and from those before the loop."""
        known = zip(self.vals(), self.vals(self.first), strict=True)
        for k, ((now, first), later) in enumerate(zip(known, taken, strict=True)):
            self.moved |= {(k, j) for j, (x, y, z) in enumerate(zip(now, first, later, strict=True))
                           if z.ref not in (x.ref, y.ref)}

    def exit_values(self, exits: Sequence[tuple[list[list[Val]], str]]) -> list[Value]:
        """The values after the loop, given the phi operands at each exit and the exiting blocks. An array that no
        iteration moves is in its original buffer, where an enclosing loop expects it."""
        blocks = [block for _, block in exits]
        for taken, _ in exits:
            self.see(taken)
        merged = [[vals[0] if len({val.ref for val in vals}) == 1
                   else self.w.b.phi(vals[0].ty, *zip(vals, blocks, strict=True)) for vals in zip(*of_one, strict=True)]
                  for of_one in zip(*[taken for taken, _ in exits], strict=True)]
        for k, x in enumerate(self.first):
            if isinstance(x, Leaf) and not self.fixed[k]:
                merged[k] = [now if (k, j) in self.moved else before
                             for j, (before, now) in enumerate(zip(self.parts(k, x), merged[k], strict=True))]
            elif isinstance(x, Listed):
                merged[k] = [self.w.b.hidden(length) for length in merged[k]]
        values = self.rebuilt(merged)
        exchanged = [x.bases for k in self.rotated if isinstance(x := self.first[k], Leaf)]
        for k, (x, first) in enumerate(zip(values, self.first, strict=True)):
            if isinstance(x, Leaf) and isinstance(first, Leaf):
                # the loop writes it if it is dead afterwards: an enclosing loop may own it
                x.bases = x.bases.union(first.bases, *(exchanged if k in self.rotated else ()))
        return values

    def vals(self, values: Sequence[Value] | None = None) -> list[list[Val]]:
        """The phi operands of values; by default of the current ones."""
        found: list[list[Val]] = []
        for k, x in enumerate(self.current if values is None else values):
            if self.fixed[k] or isinstance(x, Boxed):
                found.append([])
            elif isinstance(x, Scalar):
                found.append([x.val])
            elif isinstance(x, Listed):
                found.append([x.length])
            else:
                assert isinstance(x, Leaf)
                found.append(self.parts(k, x))
        return found

    def parts(self, k: int, x: Leaf) -> list[Val]:
        """The phi operands of array `k`: its address and its unknown sizes."""
        if self.pinned[k]:
            return []
        type = self.types[k]
        assert isinstance(type, TensorType)
        return [x.pointer, *[self.w.b.i64(d) for d, known in zip(x.dims, type.shape, strict=True) if known is None]]

    def rebuilt(self, taken: Sequence[Sequence[Val]]) -> list[Value]:
        """The values that lists of phi operands stand for: the inverse of `vals`."""
        made: list[Value] = []
        for k, (type, x) in enumerate(zip(self.types, self.current, strict=True)):
            if self.fixed[k] or self.pinned[k] or isinstance(x, Boxed):
                made.append(x)
            elif isinstance(x, Scalar):
                made.append(Scalar(x.dtype, taken[k][0]))
            elif isinstance(x, Listed):
                made.append(Listed(x.dtype, x.dims, x.pair, taken[k][0]))
            else:
                assert isinstance(x, Leaf) and isinstance(type, TensorType)
                sizes = iter(taken[k][1:])
                made.append(Leaf(x.dtype, [next(sizes) if d is None else d for d in type.shape], taken[k][0],
                                 scratch=True))
        return made


def _is_memory(x: Array) -> TypeGuard[Leaf]:
    """Whether an array is contiguous in memory."""
    return isinstance(x, Leaf) and x.flat


def aligned(x: Array, old: Leaf) -> bool:
    """Whether element i of `x` reads no element of `old` but element i."""
    if isinstance(x, Map) and x.leaf is None:
        return all(aligned(arg, old) for arg in x.args if isinstance(arg, Array))
    if isinstance(x, Map) and x.leaf is not None:
        x = x.leaf
    if isinstance(x, Leaf):
        mine = x.pointer.ref == old.pointer.ref and x.flat and same_dims(x.dims, old.dims)
        return mine or x.bases.isdisjoint(old.bases)
    return not x.reads(old)  # an expression may read any element
