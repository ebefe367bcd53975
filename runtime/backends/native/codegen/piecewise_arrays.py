"""Slices of arrays, and concatenations that are not copied.

`concat`, `pad` and `roll` need not copy: a `Joined` array reads its pieces in place. Along all axes but the last the
piece is selected once per line. Along the last axis nearly all elements belong to one piece, the largest: a loop over a
line addresses its elements directly, several at a time, and the few elements before and after it one by one. So a
stencil, such as the game of life on a torus, is one loop over arrays in memory.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from runtime.backends.native.codegen.index_expressions import Array, Context, Formula, Leaf, Map, Place, Scalar, same
from runtime.backends.native.codegen.row_rings import Rows
from runtime.backends.native.codegen.scalar_ops import alignment, llvm_type
from runtime.backends.native.llvm.builder import Builder, Index, Val

__all__ = ["Axis", "Joined", "Slicer", "around", "has_part", "inner_range", "join", "lines_of", "split"]

_LEAST: Final = 256  # elements, from which on the larger code pays
_MOST: Final = 4  # number of parts


class Axis:
    """The slice that an index takes along one axis of the array: start, step, and count (None: one element, and the
    axis is dropped)."""

    def __init__(self, start: Index, step: Index, count: Index | None) -> None:
        self.start = start
        self.step = step
        self.count = count


class Slicer:
    """Makes the view of shape `dims` that slices select from memory; a None in `chosen` is a new axis."""

    def __init__(self, b: Builder, chosen: Sequence[Axis | None], dims: Sequence[Index]) -> None:
        self.b = b
        self.chosen = chosen
        self.dims = dims

    @property
    def keeps_rows(self) -> bool:
        """Whether the view's rows are the array's, or slices of them, in the same order."""
        first = self.chosen[0]
        return first is not None and first.count is not None and isinstance(first.step, int) and first.step == 1

    def __call__(self, x: Leaf) -> Leaf:
        b = self.b
        steps: list[Index] = []
        starts: list[Index] = []
        mine = iter(x.steps(b))
        offset: Index = 0
        for part in self.chosen:
            if part is None:
                steps.append(0)
                continue
            step = next(mine)
            starts.append(part.start)
            offset = b.iadd(offset, b.imul(part.start, step))
            if part.count is not None:
                steps.append(b.imul(part.step, step))
        if isinstance(x, Rows):
            return x.part(b, starts, self.dims, steps)
        pointer = b.offset(x.pointer, offset, llvm_type(x.dtype))
        gapless: Index = 1
        plain = True
        for step, size in zip(reversed(steps), reversed(self.dims), strict=True):
            if isinstance(size, int) and size == 1:
                continue
            plain = plain and same(step, gapless)
            gapless = b.imul(gapless, size) if plain else 0
        return Leaf(x.dtype, self.dims, pointer, None if plain else steps, bases=x.bases)

    def back(self, b: Builder, place: Place) -> Place:
        """The position in the sliced array of the view's element at `place`."""
        rest = iter(place)
        old: list[Index] = []
        for part in self.chosen:
            if part is None:
                next(rest)
            elif part.count is None:
                old.append(part.start)
            else:
                old.append(b.iadd(part.start, b.imul(next(rest), part.step)))
        return old

    def of(self, x: Array) -> Array:
        return x.moved(self.dims, self.back, self, {})


class Joined(Array):
    """Arrays of known shapes concatenated along an axis. `leaf`: where it was stored.

    Elements can be read if all its pieces are in memory; else it can only be stored as a whole.
    """

    __slots__ = ("axis", "leaf", "main", "parts", "readable", "starts")

    def __init__(self, axis: int, parts: Sequence[Array]) -> None:
        parts = [_stored(x) for x in parts]
        sizes = [_known(x.dims[axis]) for x in parts]
        dims = list(parts[0].dims)
        dims[axis] = sum(sizes)
        super().__init__(parts[0].dtype, dims, False, False, 3 + max(x.weight for x in parts))
        self.axis = axis
        self.parts = parts
        self.starts = [0, *accumulate(sizes)]
        self.main = sizes.index(max(sizes))
        self.leaf: Leaf | None = None
        self.pieces = True
        last = axis == len(dims) - 1
        self.readable = all(_unit(x) or (isinstance(x, Leaf) and last and k != self.main) for k, x in enumerate(parts))

    def reads(self, memory: Leaf) -> bool:
        if self.leaf is not None:
            return self.leaf.reads(memory)
        return any(x.reads(memory) for x in self.parts)

    def at(self, c: Context, place: Place) -> Val:
        if self.leaf is not None:
            return self.leaf.at(c, place)
        return c.once(self, place, lambda: c.b.load(
            c.type(self.dtype), self.address(c, place), alignment(self.dtype)))

    def address(self, c: Context, place: Place) -> Val:
        """The address of the element at `place`."""
        if c.lines is not None:
            return c.b.offset(c.lines[id(self)], place[-1], llvm_type(self.dtype))
        return self._address(c.b, place, False)

    def line(self, b: Builder, place: Place, known: Index) -> Val:
        """The address from which the last index counts within the largest pieces; `known` is an index there, if there
        is any."""
        return b.offset(self._address(b, [*place, known], True), b.isub(0, known), llvm_type(self.dtype))

    def _address(self, b: Builder, place: Place, inner: bool) -> Val:
        def of(k: int) -> Val:
            x = self.parts[k]
            shifted = list(place)
            shifted[self.axis] = b.isub(index, self.starts[k])
            if isinstance(x, Joined):
                return x._address(b, shifted, inner)
            assert isinstance(x, Leaf)
            return x.address(b, shifted)

        index = place[self.axis]
        if inner and self.axis == len(self.dims) - 1:
            return of(self.main)
        if isinstance(index, int):
            return of(next(k for k, end in enumerate(self.starts[1:]) if index < end))
        found = of(len(self.parts) - 1)
        for k in reversed(range(len(self.parts) - 1)):
            found = b.select(b.icmp("slt", index, b.i64(self.starts[k + 1])), of(k), found)
        return found

    def reshaped(self, dims: Sequence[Index]) -> Array:
        assert self.leaf is not None
        return self.leaf.reshaped(dims)

    def moved(self, dims: Sequence[Index], back: Callable[[Builder, Place], Place], leaf: Callable[[Leaf], Leaf],
              done: dict[int, Array]) -> Array:
        if self.leaf is not None:
            return leaf(self.leaf)
        known = done.get(id(self))
        if known is None:
            known = self._sliced(leaf) if isinstance(leaf, Slicer) else None
            if known is None:
                known = Formula(self.dtype, dims, lambda c, place: self.at(Context(c.b), back(c.b, place)), False,
                                self.weight)
            done[id(self)] = known
        return known

    def _sliced(self, view: Slicer) -> Array | None:
        """The concatenation of the selected slices of the pieces; None if which pieces overlap is not known
        statically."""
        chosen = list(view.chosen)
        mine = None if None in chosen else chosen[self.axis]
        if mine is None or not isinstance(mine.start, int) or mine.step != 1 or isinstance(mine.count, Val):
            return None
        count = 1 if mine.count is None else mine.count
        axis = sum(part is not None and part.count is not None for part in chosen[:self.axis])
        found: list[Array] = []
        for x, first, end in zip(self.parts, self.starts, self.starts[1:], strict=False):
            start, stop = max(mine.start, first), min(mine.start + count, end)
            if start < stop:
                chosen[self.axis] = Axis(start - first, 1, None if mine.count is None else stop - start)
                dims = list(view.dims)
                if mine.count is not None:
                    dims[axis] = stop - start
                found.append(Slicer(view.b, chosen, dims).of(x))
        if not found:
            return None
        return found[0] if len(found) == 1 else Joined(axis, found)


def _stored(x: Array) -> Array:
    """The array's memory if it was stored, else the array."""
    leaf = x.leaf if isinstance(x, (Map, Joined)) else None
    return x if leaf is None else leaf


def _known(size: Index) -> int:
    assert isinstance(size, int)
    return size


def _unit(x: Array) -> bool:
    """Whether the elements of a line are contiguous."""
    if isinstance(x, Joined):
        return x.readable
    return isinstance(x, Leaf) and bool(x.strides is None or (isinstance(x.strides[-1], int) and x.strides[-1] == 1))


def join(axis: int, parts: Sequence[Array]) -> Joined | None:
    """The concatenation as a `Joined` array; None where copying is better."""
    parts = [y for x in parts for y in (
        x.parts if isinstance(x, Joined) and x.leaf is None and x.axis == axis else [x])]
    parts = [x for x in parts if x.dims[axis] != 0]
    if not 1 < len(parts) <= _MOST or not all(isinstance(d, int) for x in parts for d in x.dims):
        return None
    found = Joined(axis, parts)
    size = 1
    for d in found.dims:
        size *= _known(d)
    return found if size >= _LEAST else None


def around(b: Builder, x: Array, value: Array, chosen: Sequence[Axis | None]) -> Joined | None:
    """`x` with `value`, computed from its elements, in place of a slice: then `value` needs no memory of its own. None
    if this is not known to pay."""
    if not isinstance(x, Leaf) or _stored(value) is not value or not value.reads(x):
        return None
    mine = [part for part in chosen if part is not None and isinstance(part.start, int) and part.step == 1]
    if len(mine) < len(x.dims) or tuple([part.count for part in mine]) != value.dims or not all(
            isinstance(d, int) for d in (*x.dims, *value.dims)):
        return None
    found: Array = value
    for axis in reversed(range(len(x.dims))):
        start, size = _known(mine[axis].start), _known(x.dims[axis])
        stop = start + _known(value.dims[axis])
        ends: list[Array] = []
        for first, last in ((0, start), (stop, size)):
            dims = [*value.dims[:axis], last - first, *x.dims[axis + 1:]]
            cut = [*mine[:axis], Axis(first, 1, last - first), *[Axis(0, 1, d) for d in x.dims[axis + 1:]]]
            ends.append(Slicer(b, cut, dims).of(x))
        if start or stop < size:
            joined = join(axis, [ends[0], found, ends[1]])
            if joined is None:
                return None
            found = joined
    return found if isinstance(found, Joined) else None


def split(b: Builder, x: Array, target: Leaf) -> Iterator[tuple[Array, Leaf]]:
    """The stores, of pieces to slices of `target`, that write `x` to `target`."""
    if not isinstance(x, Joined) or x.leaf is not None:
        yield _stored(x), target
        return
    for part, start in zip(x.parts, x.starts, strict=False):
        chosen: list[Axis | None] = [Axis(0, 1, size) for size in part.dims]
        chosen[x.axis] = Axis(start, 1, part.dims[x.axis])
        yield from split(b, part, Slicer(b, chosen, part.dims)(target))


def has_part(x: Array, part: Leaf) -> bool:
    """Whether `x` is that array, or a concatenation that contains it."""
    if isinstance(x, Joined) and x.leaf is None:
        return any(has_part(y, part) for y in x.parts)
    return _stored(x) is part


def lines_of(b: Builder, x: Array | Scalar, place: Place, found: dict[int, Val], known: Index = 0) -> None:
    """Add to `found`, for all concatenations in `x`, the addresses from which the last index counts, at a position on
    the other axes. For `known` see `Joined.line`."""
    if isinstance(x, Scalar) or not x.pieces or _stored(x) is not x or id(x) in found:
        return
    if isinstance(x, Joined):
        found[id(x)] = x.line(b, place, known)
        return
    assert isinstance(x, Map)
    for arg in x.args:
        lines_of(b, arg, place, found, known)


def inner_range(x: Array | Scalar) -> tuple[int, int] | None:
    """The range on the last axis in which all elements belong to the largest pieces; None: everywhere."""
    if isinstance(x, Scalar) or not x.pieces or _stored(x) is not x:
        return None
    if isinstance(x, Joined):
        last = x.axis == len(x.dims) - 1
        ranges = [inner_range(x.parts[x.main])] if last else list(map(inner_range, x.parts))
    else:
        assert isinstance(x, Map)
        last = False
        ranges = list(map(inner_range, x.args))
    known = [r for r in ranges if r is not None]
    shift = x.starts[x.main] if isinstance(x, Joined) and last else 0
    if isinstance(x, Joined) and last:
        known.append((0, x.starts[x.main + 1] - shift))
    if not known:
        return None
    return max(low for low, _ in known) + shift, min(high for _, high in known) + shift
