"""Lowerings of ops between lists and tensors: stacking elements into rows, and splitting rows into elements."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.backends.native.abi.allocator import PAIR
from runtime.backends.native.codegen import ragged_lists
from runtime.backends.native.codegen.context import Lowering, NotNative, Value, lowers
from runtime.backends.native.codegen.element_views import Update, only_measured
from runtime.backends.native.codegen.index_expressions import Array, Context, Formula, Leaf, Listed, same
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.kernels.lists import filled_with, in_memory, lengthened, own, taken_as
from runtime.backends.native.kernels.shapes import integer, wide
from runtime.backends.native.llvm.builder import Index, Val, const
from runtime.core.graph import Node
from runtime.core.types import ListType
from runtime.ops.lists import MOST_ITEMS

__all__: list[str] = []


@lowers("list_scatter")
def scatter(w: Lowering, node: Node, x: Value, indices: Value, rows: Value) -> Value:
    taken = taken_as(w, x, node.outputs[0].type)
    assert isinstance(indices, Array) and isinstance(rows, Array)
    if not all(want is None or (isinstance(size, int) and size == want) for size, want in zip(
            rows.dims[1:], taken.dims or (), strict=True)):
        raise NotNative("an element of unknown shape")
    b, grow = w.b, bool(node.params.get("grow"))
    places, source = w.leaf(indices), w.leaf(rows)
    values: list[Value] = [taken, places, source]
    count = places.dims[0]
    if not same(count, source.dims[0]):
        w.fail_if(b.icmp("ne", b.i64(count), b.i64(source.dims[0])), node, values)

    def place(k: Val) -> Val:
        return wide(b, places.at(Context(b), [k]), places.dtype)

    limit = const("i64", MOST_ITEMS) if grow else taken.length
    bad, greatest = b.folded(0, count, [const("i1", 0), const("i64", -1)], lambda k, state: [
        b.or_(state[0], b.icmp("uge", place(k), limit)), b.intrinsic("smax", state[1], place(k))])
    w.fail_if(bad, node, values)
    mine = own(w, taken)
    if grow:
        mine = lengthened(w, mine, b.op("i64", f"add {greatest}, 1"))
    with b.loop(0, count) as k:
        row = b.offset(source.pointer, b.imul(k, b.product(source.dims[1:])), llvm_type(mine.dtype))
        element = Leaf(mine.dtype, source.dims[1:], row)
        to = ragged_lists.place_for(w, mine, place(k), element.dims).pointer if mine.ragged else mine.place(b, place(k))
        w.copy(element, to)
    return mine


@lowers("list_stack", "list_concat")
def stack(w: Lowering, node: Node, x: Value) -> Value:
    found = in_memory(w, node, x)
    b = w.b
    if found.pair.ref in w.rows and w.owns(0, found):
        row = Leaf(found.dtype, [found.length], b.load("ptr", found.pair), scratch=True)
        w.updates[row.pointer.ref] = w.rows[found.pair.ref]
        return row
    if found.ragged:
        return _stacked(w, node, found, found.length, lambda k: k, [found])
    dims: list[Index] = [found.length, *found.sizes]
    if node.op.name == "list_concat":
        dims = [b.i64(b.room([found.length], found.known[0])), *found.sizes[1:]]
    rows = Leaf(found.dtype, dims, b.load("ptr", found.pair))
    if w.owns(0, found) and not w.loops:
        return rows
    target = w.memory(found.dtype, rows.dims)
    w.copy(rows, target.pointer)
    return target


def _stacked(w: Lowering, node: Node, x: Listed, count: Index, at: Callable[[Val], Val], values: Sequence[Value]
             ) -> Leaf:
    """The elements `at(0)`, `at(1)`, ... of a list of several shapes, stacked as rows of a tensor, or concatenated.

    The kernel raises if their shapes differ. Unwritten elements have the shape of the first written one.
    """
    b, joined = w.b, node.op.name == "list_concat"
    zero, one = const("i64", 0), const("i64", 1)
    first = ragged_lists.first_written(w, x)

    def start(k: Val) -> Val:
        return ragged_lists.begin(b, ragged_lists.entry(b, x, at(k)))

    def shape(k: Val) -> list[Index]:
        """The shape of element k."""
        which = b.select(b.icmp("slt", start(k), zero), first, at(k))
        return ragged_lists.sizes_of(b, x, ragged_lists.entry(b, x, which))

    (missing,) = b.folded(0, count, [const("i1", 0)], lambda k, v: [b.or_(v[0], b.icmp("slt", start(k), zero))])
    w.fail_if(b.and_(missing, b.icmp("slt", first, zero)), node, values)
    known, shapes = x.dims or (), node.params["element"].shape
    some = b.icmp("sgt", b.i64(count), zero)
    missing_sizes = iter(b.either(
        some, lambda: [b.i64(d) for d, size in zip(shape(zero), known, strict=True) if size is None],
        lambda: [const("i64", d or 0) for d, size in zip(shapes, known, strict=True) if size is None]))
    wanted: list[Index] = [next(missing_sizes) if size is None else size for size in known]

    def compared(k: Val, state: Sequence[Val]) -> list[Val]:
        mine, bad = shape(k), state[0]
        for d, size in list(zip(mine, wanted, strict=True))[joined:]:
            bad = b.or_(bad, b.icmp("ne", b.i64(d), b.i64(size)))
        return [bad, b.intrinsic("uadd.sat", state[1], b.i64(mine[0]) if joined else one)]

    bad, rows = b.folded(0, count, [const("i1", 0), zero], compared)
    w.fail_if(bad, node, values)
    target = w.memory(x.dtype, [rows, *wanted[joined:]])

    def copied(k: Val, state: Sequence[Val]) -> list[Val]:
        element = Leaf(x.dtype, shape(k), target.pointer)
        size = b.imul(b.product(element.dims), x.dtype.size)
        ragged_lists.copy_element(w, x, start(k), element, b.offset(target.pointer, state[0], "i8"))
        return [b.add(state[0], b.i64(size))]

    b.folded(0, count, [zero], copied)
    return target


@lowers("list_from_tensor")
def from_tensor(w: Lowering, node: Node, x: Value, *size: Value) -> Value:
    type = node.outputs[0].type
    assert isinstance(x, Array) and isinstance(type, ListType)
    if size:
        w.fail_if(w.b.icmp("ne", w.b.i64(x.dims[0]), integer(w, size[0])), node, [x, *size])
    if w.nodes[w.node_index:w.node_index + 1] == [node] and only_measured(w, w.node_index):
        return Listed(x.dtype, type.element.shape, Val("ptr", "null"), w.b.i64(x.dims[0]), scratch=False)
    update = w.updates.get(x.pointer.ref) if isinstance(x, Leaf) else None
    if update is not None and update.owner.ragged and w.overwritable(0, x):
        return _row_in_place(w, x, update)
    return filled_with(w, x.dtype, type.element.shape, x)


def _row_in_place(w: Lowering, x: Value, row: Update) -> Listed:
    """A row that is changed where it is, in a list, as a list of its scalars."""
    assert isinstance(x, Leaf)
    b, pair = w.b, w.b.alloca("i64", PAIR)  # on the stack: the frame would free the memory
    pointer = ragged_lists.written(w, row.owner, row.at, x)
    room = b.mul(ragged_lists.room_of(b, ragged_lists.entry(b, row.owner, row.at)), const("i64", x.dtype.size))
    for k, word in enumerate((pointer, room, const("i64", 0))):
        b.store(word, b.offset(pair, k, "i64"))
    w.rows[pair.ref] = row
    return Listed(x.dtype, (), pair, b.i64(x.dims[0]))


@lowers("list_split")
def split(w: Lowering, node: Node, x: Value, lengths: Value) -> Value:
    type = node.outputs[0].type
    assert isinstance(x, Array) and isinstance(lengths, Array) and isinstance(type, ListType)
    b = w.b
    rows, counts = w.leaf(x), w.leaf(lengths)

    def length_of(k: Val) -> Val:
        return wide(b, counts.at(Context(b), [k]), counts.dtype)

    (total,) = b.folded(0, counts.dims[0], [const("i64", 0)], lambda k, v: [
        b.intrinsic("uadd.sat", v[0], length_of(k))])  # a negative length makes this exceed any tensor
    w.fail_if(b.icmp("ne", total, b.i64(rows.dims[0])), node, [rows, counts])
    made = w.unwritten(type, b.i64(counts.dims[0]))

    def cut(k: Val, state: Sequence[Val]) -> list[Val]:
        shape: list[Index] = [length_of(k), *rows.dims[1:]]
        part = Leaf(x.dtype, shape, rows.address(b, [state[0], *[0] * len(rows.dims[1:])]))
        w.copy(part, ragged_lists.place_for(w, made, k, shape).pointer)
        return [b.add(state[0], length_of(k))]

    b.folded(0, counts.dims[0], [const("i64", 0)], cut)
    return made


@lowers("list_gather")
def gather(w: Lowering, node: Node, x: Value, indices: Value) -> Value:
    found = in_memory(w, node, x)
    assert isinstance(indices, Array)
    b = w.b
    places = w.leaf(indices)
    count = places.dims[0]

    def at(k: Val) -> Val:
        return wide(b, places.at(Context(b), [k]), places.dtype)

    with b.loop(0, count) as k:
        w.fail_if(b.icmp("uge", at(k), found.length), node, [found, places])
    if found.ragged:
        return _stacked(w, node, found, count, at, [found, places])
    rows = found.rows(b)

    def function(c: Context, place: Any) -> Val:
        at = wide(c.b, places.at(Context(c.b), [place[0]]), places.dtype)
        return rows.at(Context(c.b), [at, *place[1:]])

    return w.leaf(Formula(found.dtype, [count, *found.sizes], function, cost=4))
