"""Lowerings of indexing: views by ints and slices, and item assignment."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from runtime.backends.native.abi.interrupts import PIECE
from runtime.backends.native.codegen.array_parts import Changed, whole_of
from runtime.backends.native.codegen.context import Lowering, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Context, Leaf, Map, Scalar, reads
from runtime.backends.native.codegen.piecewise_arrays import Axis, Slicer, around
from runtime.backends.native.codegen.variables import Variable
from runtime.backends.native.kernels.elementwise import misfit, spread
from runtime.backends.native.kernels.gemm_accumulate import assigned_next
from runtime.backends.native.kernels.shapes import check_sizes, integer, numbers, reshaped, result_type, splat
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.graph import Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import MAX_BYTES

__all__ = ["size_of_part"]

_SMALL_STEP: Final = 1 << 10
_LARGE: Final = 16  # elements


def _selection(w: Lowering, node: Node, x: Array, index: Any, operands: Iterator[Value], values: Sequence[Value]
               ) -> list[Axis | None]:
    """The selection of each entry of the index; None is a new axis. The kernel raises for indices out of range."""
    b = w.b
    found: list[Axis | None] = []
    axis, by_items = 0, False
    for entry in index:
        if entry is None:
            found.append(None)
            continue
        size = x.dims[axis]
        axis += 1
        if type(entry) is tuple:
            found.append(sliced(w, node, size, entry, operands, values))
            continue
        at: Index = integer(w, next(operands)) if entry == "?" else entry
        if isinstance(at, Val) and at.ref.lstrip("-").isdigit():
            at = int(at.ref)
        at = _within(at)
        if isinstance(at, int) and isinstance(size, int):
            if not -size <= at < size:
                w.fail_if(const("i1", 1), node, values)
                at = 0
            found.append(Axis(at % size if size else 0, 1, None))
            continue
        position, length = b.i64(at), b.i64(size)
        if entry == "?" and node in w.in_bounds:
            found.append(Axis(position, 1, None))
            continue
        found.append(Axis(_position(w, node, position, length, values), 1, None))
        by_items = w.loops > 0
    found += [Axis(0, 1, size) for size in x.dims[axis:]]
    w.module.by_items |= by_items and not _is_large([one.count for one in found if one is not None])
    return found


def _position(w: Lowering, node: Node, index: Val, length: Val, values: Sequence[Value]) -> Val:
    """The position of an index of one item in an axis; negative ones count from its end. In loops these take a branch
    of their own, as they are rare."""
    b, key = w.b, (w.b, index.ref, length.ref)
    if key in w.positions:
        return w.positions[key]

    def from_end() -> list[Val]:
        position = b.op("i64", f"add {index}, {length.ref}")
        w.fail_if(b.icmp("uge", position, length), node, values)
        return [position]

    if w.loops and not index.ref.lstrip("-").isdigit():
        inside = b.icmp("ult", index, length)
        w.positions[key] = b.either(inside, lambda: [index], from_end, w.module.unlikely(False))[0]
    else:
        negative = b.icmp("slt", index, const("i64", 0))
        w.positions[key] = b.select(negative, b.op("i64", f"add {index}, {length.ref}"), index)
        w.fail_if(b.icmp("uge", w.positions[key], length), node, values)
    return w.positions[key]


def _is_large(counts: Sequence[Index | None]) -> bool:
    """Whether a slice with these counts (of `Axis`) may be worth a loop of its own."""
    known = [count for count in counts if isinstance(count, int)]
    return any(isinstance(count, Val) for count in counts) or math.prod(known) >= _LARGE


def _within(at: Index) -> Index:
    """A Python integer clamped to 64 bits: beyond MAX_BYTES it is out of range for any axis."""
    return max(-MAX_BYTES, min(at, MAX_BYTES)) if isinstance(at, int) else at


def sliced(w: Lowering, node: Node, size: Index, entry: Any, operands: Iterator[Value], values: Sequence[Value]
           ) -> Axis:
    """The selection of a slice. `entry`: its start, stop and step, where "?" stands for the next operand."""
    b = w.b
    start, stop, step = (_slice_part(w, part, operands) for part in entry)
    if step is None:
        step = 1
    if isinstance(step, int):
        if step == 0:
            w.fail_if(const("i1", 1), node, values)
            step = 1
        if isinstance(size, int) and not isinstance(start, Val) and not isinstance(stop, Val):
            chosen = range(size)[start:stop:step]
            return Axis(chosen.start if len(chosen) else 0, step, len(chosen))
    else:
        w.fail_if(b.icmp("eq", step, const("i64", 0)), node, values)
    return _computed_slice(b, b.i64(size), start, stop, step)


def _slice_part(w: Lowering, part: Any, operands: Iterator[Value]) -> Index | None:
    """The start, stop or step of a slice."""
    value: Index | None = integer(w, next(operands)) if part == "?" else part
    if isinstance(value, Val) and value.ref.lstrip("-").isdigit():
        value = int(value.ref)
    return None if value is None else _within(value)


def _computed_slice(b: Builder, length: Val, start: Index | None, stop: Index | None, step: Index) -> Axis:
    """The selection of a slice with parts known only at run time. `step` is not 0."""
    forward: Val | bool = step > 0 if isinstance(step, int) else b.icmp("sgt", step, const("i64", 0))
    zero, minus = const("i64", 0), const("i64", -1)
    last = b.op("i64", f"sub {length}, 1")

    def choose(ahead: Val, back: Val) -> Val:
        """Choose by the direction of the slice."""
        return (ahead if forward else back) if isinstance(forward, bool) else b.select(forward, ahead, back)

    low, high = choose(zero, minus), choose(length, last)

    def bound(value: Index | None, default: Val) -> Val:
        if value is None:
            return default
        if isinstance(value, int) and value == 0 and forward is True:
            return zero
        position = b.i64(value)
        position = b.select(b.icmp("slt", position, zero), b.op("i64", f"add {position}, {length.ref}"), position)
        return b.intrinsic("smin", b.intrinsic("smax", position, low), high)

    first, end = bound(start, choose(zero, last)), bound(stop, choose(length, minus))
    if isinstance(step, int) and step == 1:
        count = b.intrinsic("smax", b.op("i64", f"sub {end}, {first.ref}"), zero)
        return Axis(first, 1, count)
    if not isinstance(step, int) or abs(step) > _SMALL_STEP:  # longer steps than the axis act alike
        longest = b.op("i64", f"add {length}, 1")
        step = b.intrinsic("smax", b.intrinsic("smin", b.i64(step), longest), b.sub(zero, longest))
    by = b.i64(step)
    span = b.op("i64", f"sub {end}, {first.ref}")
    adjust = b.op("i64", f"sub {by}, {choose(const('i64', 1), minus).ref}")
    count = b.op("i64", f"sdiv {b.op('i64', f'add {span}, {adjust.ref}')}, {by.ref}")
    return Axis(first, step, b.intrinsic("smax", count, zero))


def size_of_part(b: Builder, node: Node, axis: int, size: Callable[[GraphValue, int], Index | None],
                 number: Callable[[GraphValue], Index | None]) -> Index | None:
    """The size of an axis of a slice (`is_part`), by functions for the size of an axis of an array, and for an int;
    None if these do not know it."""
    operands = iter(node.inputs[1:])
    x, before = node.inputs[0], 0  # the axes of `x` before the entry
    for entry in node.params["index"]:
        parts = [number(next(operands)) if part == "?" else part for part in entry] if type(entry) is tuple else []
        if axis == 0 and (entry is None or parts):
            length = size(x, before)
            unknown = entry is not None and any(p is None and q == "?" for p, q in zip(parts, entry, strict=True))
            if entry is None or length is None or unknown:
                return None
            return _computed_slice(b, b.i64(length), _bounded(parts[0]), _bounded(parts[1]), parts[2] or 1).count
        axis -= entry is None or bool(parts)
        before += entry is not None
    return size(x, before + axis)


def _bounded(at: Index | None) -> Index | None:
    return None if at is None else _within(at)


def viewed(w: Lowering, x: Array, chosen: Sequence[Axis | None], known: Sequence[int | None] | None = None) -> Array:
    """The slice of `x` that `chosen` selects, as a view."""
    counts = [1 if part is None else part.count for part in chosen]
    dims: list[Index] = [count for count in counts if count is not None]
    if known is not None:
        dims = [size if d is None else d for d, size in zip(known, dims, strict=True)]

    return Slicer(w.b, chosen, dims).of(x)


@lowers("getitem")
def getitem(w: Lowering, node: Node, x: Value, *operands: Value) -> Value:
    index = node.params["index"]
    if isinstance(x, Scalar):
        return splat(x, [1] * len(index)) if index else x
    assert isinstance(x, Array)
    if isinstance(x, Map) and x.leaf is None and x.weight > 16 and x.uses > 1:
        x = w.leaf(x)
    chosen = _selection(w, node, x, index, iter(operands), [x, *operands])
    if all(part is not None and part.count is None for part in chosen):
        place = [part.start for part in chosen if part is not None]
        return Scalar(x.dtype, x.at(Context(w.b), place))
    return viewed(w, x, chosen, result_type(node).shape)


@lowers("slice")
def slice_(w: Lowering, node: Node, x: Value, begin: Value, size: Value) -> Value:
    if isinstance(x, Scalar):
        return x
    assert isinstance(x, Array)
    b = w.b
    starts, counts = numbers(w, begin, len(x.dims)), numbers(w, size, len(x.dims))
    check_sizes(w, node, starts, [x, begin, size])
    check_sizes(w, node, counts, [x, begin, size], -1)
    chosen: list[Axis | None] = []
    bad: Val | None = None
    for start, count, known, limit in zip(starts, counts, result_type(node).shape, x.dims, strict=True):
        if isinstance(count, int):
            total: Index = b.isub(limit, start) if count == -1 else count
        else:
            total = b.select(b.icmp("eq", count, const("i64", -1)), b.i64(b.isub(limit, start)), count)
        end = b.iadd(start, total)
        if not all(isinstance(v, int) for v in (start, total, limit)):  # starts and counts are not negative
            wrong = b.or_(b.icmp("slt", b.i64(total), const("i64", 0)), b.icmp("sgt", b.i64(end), b.i64(limit)))
            bad = wrong if bad is None else b.or_(bad, wrong)
        elif not 0 <= start <= end <= limit:  # type: ignore[operator]
            bad = const("i1", 1)
        if isinstance(total, int) and total < 0:
            total = 0
        chosen.append(Axis(start, 1, total if known is None else known))
    w.fail_if(bad, node, [x, begin, size])
    return viewed(w, x, chosen, result_type(node).shape)


@lowers("setitem")
def setitem(w: Lowering, node: Node, x: Value, value: Value, *operands: Value) -> Value:
    index = node.params["index"]
    if isinstance(x, Scalar):
        return value if isinstance(value, Scalar) else Scalar(x.dtype, w.element(value))
    assert isinstance(x, Array)
    value = w.settle(value) if not isinstance(value, (Leaf, Map)) else value
    if isinstance(value, Changed) and value.back is node:
        return value.whole
    chosen = _selection(w, node, x, index, iter(operands), [x, value, *operands])
    whole = whole_of(w)
    if whole is not None:
        value = _apart(w, value if isinstance(value, Leaf) else w.settle(value), whole.array)
        _write(w, node, whole.array, viewed(w, whole.slice, chosen), value, [x, value, *operands])
        return whole.slice
    known = {**w.overwritten, **w.updates}  # of arrays of a trial nothing asks for the address
    at_once = bool(known) and isinstance(x, Leaf) and x.pointer.ref in known
    joined = around(w.b, x, value, chosen) if isinstance(value, Map) and not at_once else None
    if joined is not None:
        return joined
    value = w.settle(value) if not isinstance(value, Leaf) else value
    count = w.b.product([1 if axis is None or axis.count is None else axis.count for axis in chosen])
    target, (value,) = owned(w, x, [value], count)
    _write(w, node, target, viewed(w, target, chosen), value, [x, value, *operands])
    return target


def _write(w: Lowering, node: Node, target: Leaf, part: Array, value: Value, values: Sequence[Value]) -> None:
    """Store a value into `part`, a view of `target`."""
    assert isinstance(part, Leaf)
    if w.restores and target.pointer.ref in w.overwritten:
        w.keep(part)
    _fill(w, node, part, value, values)


def owned(w: Lowering, x: Array, others: Sequence[Value], count: Index) -> tuple[Leaf, list[Value]]:
    """The array in memory of which `count` elements may be written: its own memory if dead afterwards, else a copy. And
    the node's other operands, copied where they share that memory."""
    leaf = w.leaf(x)
    beside: list[GraphValue | Variable] = [value for k, value in enumerate(w.operands) if k in w.dead]
    variable = assigned_next(w)
    if variable is not None and isinstance(count, int) and count <= PIECE:  # no poll for signals comes in between
        beside.append(variable)
    if leaf.pointer.ref in w.overwritten:
        _copy_readers(w, leaf)
    if not w.overwritable(0, leaf, beside):
        target = w.memory(leaf.dtype, leaf.dims)
        w.copy(leaf, target.pointer)
        return target, list(others)
    return Leaf(leaf.dtype, leaf.dims, leaf.pointer, scratch=True, bases=leaf.bases), [
        _apart(w, other, leaf) for other in others]


def _apart(w: Lowering, x: Value, leaf: Leaf) -> Value:
    """A value that does not read the memory of `leaf`, which is written next."""
    if not (isinstance(x, Array) and reads(x, leaf)):
        return x
    copied = w.memory(x.dtype, x.dims)
    w.store_all([(x, copied)])
    return copied


def _copy_readers(w: Lowering, leaf: Leaf) -> None:
    """Copy live values that would still be read from the memory of operand 0 after the current node."""
    for value, x in list(w.env.items()):
        if value not in w.operands and value in w.last and isinstance(x, Array) and reads(x, leaf):
            w.env[value] = copied = w.memory(x.dtype, x.dims)
            w.store_all([(x, copied)])


def _fill(w: Lowering, node: Node, part: Leaf, value: Value, values: Sequence[Value]) -> None:
    """Store `value`, broadcast, into a slice of an array."""
    b = w.b
    if not part.dims:
        part.store(b, [], w.element(value))
        return
    if isinstance(value, Array) and len(value.dims) > len(part.dims):
        value = reshaped(w, value, value.dims[len(value.dims) - len(part.dims):])
    source: Array
    if isinstance(value, Array):
        w.fail_if(misfit(b, value.dims, part.dims[len(part.dims) - len(value.dims):]), node, values)
        source = spread(w, value, part.dims)
    else:
        assert isinstance(value, Scalar)
        source = splat(value, part.dims)
    w.store_all([(source, part)])
