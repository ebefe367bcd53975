"""Lowerings of ops on lists.

An update changes the memory in place if the old list is dead, else a copy of it. Elements have one known shape, or
several shapes (`codegen/ragged_lists.py`). `list_stack_unstack.py` has the ops between lists and rows of tensors.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.backends.native.abi.allocator import EXTEND, PAIR, RETREAT
from runtime.backends.native.abi.callbacks import AllocateSite
from runtime.backends.native.codegen import ragged_lists
from runtime.backends.native.codegen.context import Lowering, NotNative, Value, listed, lowers
from runtime.backends.native.codegen.element_views import Update, Use, use_of
from runtime.backends.native.codegen.index_expressions import Array, Boxed, Leaf, Listed, Map, Scalar, same
from runtime.backends.native.codegen.piecewise_arrays import Axis
from runtime.backends.native.codegen.scalar_ops import cast, llvm_type
from runtime.backends.native.kernels.indexing import sliced, viewed
from runtime.backends.native.kernels.shapes import as_array, integer
from runtime.backends.native.llvm.builder import Index, Val, const
from runtime.core.graph import Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import DType, ListType, TensorType, int8, int32, int64
from runtime.ops.lists import MOST_ITEMS

__all__ = ["filled_with", "in_memory", "lengthened", "own", "taken_as"]


def taken_as(w: Lowering, x: Value, type: Any) -> Listed:
    """The list in native memory, in the representation of `type`."""
    if not listed(type):
        raise NotNative("a list of which nothing was written")
    found = w.as_type(x, type)
    assert isinstance(found, Listed)
    return found


def in_memory(w: Lowering, node: Node, x: Value) -> Listed:
    return taken_as(w, x, node.inputs[0].type)


def own(w: Lowering, x: Listed) -> Listed:
    """The list in memory that may be changed: its own, or a copy."""
    if w.owns(0, x):
        return x
    return w.copy_list(x)


def _room(w: Lowering, x: Listed, length: Val) -> None:
    """Enlarge the first memory if it is too small for `length` elements, keeping its content."""
    b = w.b
    if x.pair.ref in w.rows:
        _room_in_place(w, x, length)
        return
    w.module.declare(EXTEND, "ptr", "ptr", "i64", "i64")
    need = b.intrinsic("umax", b.i64(x.room(b, length)), const("i64", 1))
    have = b.load("i64", b.offset(x.pair, 1, "i64"))
    with b.when(b.icmp("ult", have, need)):
        with b.when(b.icmp("ugt", length, const("i64", MOST_ITEMS))):
            w.no_memory()
        moved = b.call("ptr", EXTEND, x.pair, need, b.i64(x.bytes(b, x.length)))
        with b.when(b.icmp("eq", moved, Val("ptr", "null"))):
            w.no_memory()


def _room_in_place(w: Lowering, x: Listed, length: Val) -> None:
    """The same for a row that is an element of a list."""
    b, row = w.b, w.rows[x.pair.ref]
    have = b.offset(x.pair, 1, "i64")
    with b.when(b.icmp("ult", b.load("i64", have), b.mul(length, const("i64", x.step)))):
        pointer, room = ragged_lists.grown(w, row.owner, row.at, x.length, length)
        b.store(pointer, x.pair)
        b.store(b.mul(room, const("i64", x.step)), have)


def _room_before(w: Lowering, x: Listed) -> None:
    """Make space for an element before the first one, if there is none."""
    b = w.b
    w.module.declare(RETREAT, "ptr", "ptr", "i64", "i64")
    with b.when(b.icmp("ult", b.load("i64", b.offset(x.pair, 2, "i64")), const("i64", x.step))):
        with b.when(b.icmp("uge", x.length, const("i64", MOST_ITEMS))):
            w.no_memory()
        moved = b.call("ptr", RETREAT, x.pair, const("i64", x.step), b.i64(x.bytes(b, x.length)))
        with b.when(b.icmp("eq", moved, Val("ptr", "null"))):
            w.no_memory()


def _advance(w: Lowering, x: Listed, count: Index) -> None:
    """Move the start of the list by `count` elements: for a positive number they are dropped."""
    b = w.b
    size = b.i64(b.imul(count, x.step))
    b.store(b.offset(b.load("ptr", x.pair), size, "i8"), x.pair)
    for k, change in (1, b.sub), (2, b.add):
        word = b.offset(x.pair, k, "i64")
        b.store(change(b.load("i64", word), size), word)


def _is_first(x: Listed, index: GraphValue) -> bool:
    """Whether the index is statically that of the first element, where insertion and removal take constant time."""
    return index.constant is not None and int(index.constant) == 0 and not (x.ragged or x.is_open) and x.step > 0


def _move(w: Lowering, x: Listed, start: Val, to: Val, count: Val) -> None:
    """Move elements within the list; source and target may overlap."""
    size = w.b.i64(w.b.imul(count, x.step))
    w.b.call("void", "llvm.memmove.p0.p0.i64", x.place(w.b, to), x.place(w.b, start), size, Val("i1", "false"))


def _longer(w: Lowering, x: Listed, length: Val, at: Val | None = None) -> Listed:
    """The list with one more element, for which there is space: at its end, or before element `at`."""
    made = Listed(x.dtype, x.dims, x.pair, length)
    place = x.length
    if at is not None:
        _move(w, x, at, w.b.op("i64", f"add nsw {at}, 1"), w.b.sub(x.length, at))
        place = at
    if x.ragged:
        ragged_lists.blank(w, made, place, w.b.iadd(place, 1))
    return made


def _put(w: Lowering, x: Listed, at: Val, value: Value) -> None:
    """Write an element, for which there is space."""
    if x.dims == ():
        w.b.store(w.element(value), x.place(w.b, at), x.dtype.size)
        return
    source = as_array(value)
    if x.ragged:
        target = ragged_lists.place_for(w, x, at, source.dims)
    else:
        target = Leaf(x.dtype, x.sizes, x.place(w.b, at))
    w.store_all([(source, target)])


def _fits(x: Listed, value: Value) -> bool:
    return isinstance(value, (Scalar, Array)) and len(value.dims) == len(x.dims or ()) and all(
        not isinstance(want, int) or same(d, want) for d, want in zip(value.dims, x.dims or (), strict=True))


@lowers("list_new")
def new(w: Lowering, node: Node, *items: Value) -> Value:
    type = node.outputs[0].type
    assert isinstance(type, ListType)
    if not listed(type):
        return _nothing(w, type, const("i64", 0))
    made = w.new_list(type, const("i64", len(items)), w.sizes.list_dims(w.b, node.outputs[0]))
    if not all(_fits(made, item) for item in items):
        raise NotNative("elements of several shapes in a list for one")
    if made.ragged:
        made = w.unwritten(type, made.length)
    else:
        w.reserved(made.pair, made.room(w.b, len(items)))
    for k, item in enumerate(items):
        _put(w, made, const("i64", k), item)
    return made


def _nothing(w: Lowering, type: ListType, length: Val) -> Listed:
    """A list of elements of unknown type."""
    return Listed(type.element.dtype, None, Val("ptr", "null"), length)


@lowers("list_reserve")
def reserve(w: Lowering, node: Node, size: Value) -> Value:
    type = node.outputs[0].type
    assert isinstance(type, ListType)
    length = integer(w, size)
    w.fail_if(w.b.icmp("ugt", length, const("i64", MOST_ITEMS)), node, [size])
    if not listed(type):
        return _nothing(w, type, length)
    filled = _set_in_order(w, node) if None not in type.element.shape else None
    return w.unwritten(type, length) if filled is None else _unset(w, type, length, filled)


def _set_in_order(w: Lowering, node: Node) -> GraphValue | None:
    """The result of the loop that fills a list: if the loop sets every element, one per iteration and in order, and the
    list is not read before; else None."""
    made = node.outputs[0]
    loop = _only_user(w.nodes, made)
    if loop is None or w.last[made] == len(w.nodes) or loop.op.name != "reduce":
        return None
    body, sources = loop.params["body"], loop.params.get("sources", 1)
    counts = [value.constant for value in (node.inputs[0], loop.operands[0])]
    if loop.params.get("test") is not None or loop.params.get("stream") is not None or made not in loop.operands or (
            counts[0] is None or counts[1] is None or int(counts[0]) != int(counts[1])):
        return None
    k = loop.operands.index(made) - sources
    state = body.inputs[len(body.inputs) - (len(loop.operands) - sources) + k]
    setter = _only_user(body.nodes, state)
    if setter is None or setter.op.name != "list_set" or setter.inputs[0] is not state or (
            _number(setter.inputs[1]) is not body.inputs[0]):
        return None
    if body.outputs.count(setter.outputs[0]) != 1 or body.outputs[k] is not setter.outputs[0] or (
            state in body.outputs or any(setter.outputs[0] in other.inputs for other in body.nodes)):
        return None
    result: GraphValue = loop.outputs[k]
    return result


def _number(value: GraphValue) -> GraphValue:
    """An index before its cast to int32 or int64."""
    node = value.node
    cast = node is not None and node.op.name == "cast" and node.params["dtype"] in (int32, int64)
    return node.inputs[0] if node is not None and cast else value


def _only_user(nodes: Sequence[Node], value: GraphValue) -> Node | None:
    """The only node that uses a value, once; else None."""
    users = [node for node in nodes for x in node.inputs if x is value]
    return users[0] if len(users) == 1 else None


def _unset(w: Lowering, type: ListType, length: Val, filled: GraphValue) -> Listed:
    """A list without initial values, since a loop sets all elements before they are read; `filled` is the loop's
    result. If that is only stacked, into an output of the outermost graph, the list is in the output's memory."""
    b, made = w.b, w.new_list(type, length)
    size = made.room(b, length)
    stack = _only_user(w.nodes, filled)
    if stack is None or stack.op.name != "list_stack" or w.nodes is not w.graph.nodes or not w.is_whole or (
            w.last[filled] == len(w.nodes) or stack.outputs[0] not in w.graph.outputs):
        w.reserved(made.pair, size)
        return made
    place = w.placed[stack.outputs[0]] = w.new_object()
    (word,) = w.call_python(AllocateSite(made.dtype.np, 1 + len(made.sizes), place, stack),
                            [length, *map(b.i64, made.sizes)], 1)
    pair = b.alloca("i64", PAIR)  # on the stack: the frame would free the memory
    for k, each in enumerate((word, b.i64(size), const("i64", 0))):
        b.store(each, b.offset(pair, k, "i64"))
    return Listed(made.dtype, made.dims, pair, length)


@lowers("list_cast")
def cast_(w: Lowering, node: Node, x: Value) -> Value:
    before, type = node.inputs[0].type, node.outputs[0].type
    assert isinstance(before, ListType) and isinstance(type, ListType)
    if isinstance(x, Listed) and x.dims is None:
        return w.as_type(Listed(type.element.dtype, None, x.pair, x.length), type)
    b, old = w.b, in_memory(w, node, x)
    source, target = old.dtype, type.element.dtype
    if source is target:
        return w.as_type(old, type)
    made = w.new_list(ListType(TensorType(target, before.element.shape)), old.length)
    first = w.reserved(made.pair, made.bytes(b, made.length))
    rows = old.rows(b)
    if old.ragged:
        w.copy(Leaf(int8, [old.bytes(b, old.length)], b.load("ptr", old.pair)), first)
        rows = Leaf(source, [ragged_lists.used(b, old)], ragged_lists.content(b, old))
        first = w.reserved(b.offset(made.pair, PAIR, "i64"), b.imul(rows.dims[0], target.size))
    new = Map("cast", target, rows.dims, lambda b, v: cast(b, v, source, target), [rows])
    w.store_all([(new, Leaf(target, rows.dims, first))])
    return w.as_type(made, type)


def _taking(w: Lowering, node: Node, x: Value, item: Value) -> tuple[Listed, Value]:
    """The operand list in the node's result representation, and the item to store, settled."""
    taken = taken_as(w, x, node.outputs[0].type)
    if not _fits(taken, item):
        raise NotNative("an element of unknown shape")
    return taken, w.settle(item) if isinstance(item, Array) else item


@lowers("list_append")
def append(w: Lowering, node: Node, x: Value, item: Value) -> Value:
    taken, item = _taking(w, node, x, item)
    mine = own(w, taken)
    length = w.b.op("i64", f"add nsw {mine.length}, 1")
    _room(w, mine, length)
    made = _longer(w, mine, length)
    _put(w, made, mine.length, item)
    return made


@lowers("list_extend")
def extend(w: Lowering, node: Node, x: Value, other: Value) -> Value:
    type = node.outputs[0].type
    mine = own(w, taken_as(w, x, type))
    more = taken_as(w, other, type)
    b = w.b
    length = b.op("i64", f"add nsw {mine.length}, {more.length.ref}")
    _room(w, mine, length)
    size = b.i64(b.imul(more.length, more.step))
    target, source = mine.place(b, mine.length), more.place(b, 0)
    b.call("void", "llvm.memmove.p0.p0.i64", target, source, size, Val("i1", "false"))
    made = Listed(mine.dtype, mine.dims, mine.pair, length)
    if mine.ragged:
        ragged_lists.take_over(w, mine, more)
    return made


def _position(w: Lowering, node: Node, x: Listed, index: Value, values: list[Value], strict: bool) -> Val:
    """The position of an element; the kernel raises if the index is out of range."""
    b = w.b
    at = integer(w, index)
    if not strict:
        at = _from_end(w, at, x.length)
    w.fail_if(b.icmp("uge", at, x.length), node, values)
    return at


@lowers("list_get")
def get(w: Lowering, node: Node, x: Value, index: Value) -> Value:
    found = in_memory(w, node, x)
    at = _position(w, node, found, index, [found, index], bool(node.params.get("strict")))
    use = use_of(w, node, found) if found is x and found.dims else None
    if not found.dims or (use is None and not found.invariant):
        return _element(w, node, found, at, [found, index])
    element = _view(w, node, found, at, [found, index], use)
    if use is not None and use.setter is not None:
        w.updates[element.pointer.ref] = Update(use.setter, found, at)
    return element


def _element(w: Lowering, node: Node, x: Listed, at: Val, values: Sequence[Value]) -> Value:
    """An element, copied, since a list may change while the element is live."""
    b = w.b
    if not x.dims:
        return Scalar(x.dtype, b.load(llvm_type(x.dtype), x.place(b, at)))
    element = _view(w, node, x, at, values, Use(None))
    target = w.memory(x.dtype, element.dims)
    w.copy(element, target.pointer)
    return target


def _view(w: Lowering, node: Node, x: Listed, at: Val, values: Sequence[Value], use: Use | None) -> Leaf:
    """An element in the memory of the list."""
    writable = use is not None and use.setter is not None
    if x.ragged:
        element = _one_of_several(w, node, x, at, values, writable)
    else:
        element = Leaf(x.dtype, x.sizes, x.place(w.b, at), scratch=writable)
    element.bases |= {x.pair.ref}
    return element


def _one_of_several(w: Lowering, node: Node, x: Listed, at: Val, values: Sequence[Value], writable: bool) -> Leaf:
    """An element in the memory of the list; zeros in other memory if it was not written."""
    b = w.b
    mine = ragged_lists.entry(b, x, at)
    start = ragged_lists.begin(b, mine)

    def unwritten() -> list[Val]:
        first = ragged_lists.first_written(w, x)
        w.fail_if(b.icmp("slt", first, const("i64", 0)), node, values)
        sizes = ragged_lists.sizes_of(b, x, ragged_lists.entry(b, x, first))
        made = w.memory(x.dtype, sizes)
        size = b.i64(b.imul(b.product(sizes), x.dtype.size))
        b.call("void", "llvm.memset.p0.i64", made.pointer, const("i8", 0), size, Val("i1", "false"))
        return [made.pointer, *map(b.i64, sizes)]

    def written() -> list[Val]:
        place = b.offset(ragged_lists.content(b, x), start, llvm_type(x.dtype))
        return [place, *map(b.i64, ragged_lists.sizes_of(b, x, mine))]

    pointer, *sizes = b.either(b.icmp("slt", start, const("i64", 0)), unwritten, written, w.module.unlikely(True))
    dims = [size if known is None else known for known, size in zip(x.dims or (), sizes, strict=True)]
    return Leaf(x.dtype, dims, pointer, scratch=writable)


@lowers("list_set")
def set_(w: Lowering, node: Node, x: Value, index: Value, item: Value) -> Value:
    taken, item = _taking(w, node, x, item)
    b = w.b
    if isinstance(item, Leaf) and item.pointer.ref in w.updates and _is_in_place(w, node, item):
        assert w.owns(0, taken)
        return taken
    if not node.params.get("grow"):
        at = _position(w, node, taken, index, [taken, index, item], bool(node.params.get("strict")))
        mine = own(w, taken)
        _put(w, mine, at, item)
        return mine
    at = integer(w, index)
    if not node.params.get("strict"):
        at = _from_end(w, at, taken.length)
    w.fail_if(b.icmp("uge", at, const("i64", MOST_ITEMS)), node, [taken, index, item])
    mine = lengthened(w, own(w, taken), b.op("i64", f"add {at}, 1"))
    _put(w, mine, at, item)
    return mine


def _is_in_place(w: Lowering, node: Node, item: Leaf) -> bool:
    """Whether an element has been changed where a `list_set` puts it; record the new length of a row."""
    update = w.updates[item.pointer.ref]
    if update.setter is not node:
        return False
    if update.owner.ragged:
        ragged_lists.written(w, update.owner, update.at, item)
        if len(item.dims) == 1:
            ragged_lists.resized(w.b, update.owner, update.at, item.dims[0])
    return True


def _from_end(w: Lowering, at: Val, length: Val) -> Val:
    """An index where a negative one counts from the end."""
    return w.b.select(w.b.icmp("slt", at, const("i64", 0)), w.b.op("i64", f"add {at}, {length.ref}"), at)


def lengthened(w: Lowering, x: Listed, least: Val) -> Listed:
    """The list extended with zeros to at least `least` elements."""
    b = w.b
    length = b.intrinsic("smax", x.length, least)
    _room(w, x, length)
    fresh = b.op("i64", f"sub {length}, {x.length.ref}")
    with b.when(b.icmp("sgt", fresh, const("i64", 0))):
        if x.ragged:
            ragged_lists.blank(w, x, x.length, length)
        else:
            b.call("void", "llvm.memset.p0.i64", x.place(b, x.length), const("i8", 0),
                   b.i64(b.imul(fresh, x.step)), Val("i1", "false"))
    return Listed(x.dtype, x.dims, x.pair, length)


@lowers("list_insert")
def insert(w: Lowering, node: Node, x: Value, index: Value, item: Value) -> Value:
    taken, item = _taking(w, node, x, item)
    b = w.b
    mine = own(w, taken)
    if _is_first(mine, node.inputs[1]):
        _room_before(w, mine)
        _advance(w, mine, -1)
        made = Listed(mine.dtype, mine.dims, mine.pair, b.op("i64", f"add nsw {mine.length}, 1"))
        _put(w, made, const("i64", 0), item)
        return made
    at = _from_end(w, integer(w, index), mine.length)
    at = b.intrinsic("smin", b.intrinsic("smax", at, const("i64", 0)), mine.length)
    length = b.op("i64", f"add nsw {mine.length}, 1")
    _room(w, mine, length)
    made = _longer(w, mine, length, at)
    _put(w, made, at, item)
    return made


@lowers("list_pop")
def pop(w: Lowering, node: Node, x: Value, *index: Value) -> list[Value]:
    b = w.b
    taken = in_memory(w, node, x)
    if index:
        at = _position(w, node, taken, index[0], [taken, *index], False)
        item = _element(w, node, taken, at, [taken, *index])
        mine = own(w, taken)
        if _is_first(mine, node.inputs[1]):
            _advance(w, mine, 1)
        else:
            after = b.op("i64", f"add nsw {at}, 1")
            _move(w, mine, after, at, b.sub(mine.length, after))
        return [Listed(mine.dtype, mine.dims, mine.pair, b.op("i64", f"sub nsw {mine.length}, 1")), item]
    w.fail_if(b.icmp("eq", taken.length, const("i64", 0)), node, [taken])
    length = b.op("i64", f"sub nsw {taken.length}, 1")
    item = _element(w, node, taken, length, [taken])
    return [Listed(taken.dtype, taken.dims, taken.pair, length, taken.scratch), item]


@lowers("list_length")
def length(w: Lowering, node: Node, x: Value) -> Value:
    if isinstance(x, Boxed):
        raise NotNative("a list of which nothing was written")
    assert isinstance(x, Listed)
    return Scalar(int32, w.b.convert("trunc", x.length, "i32"))


@lowers("list_slice")
def slice_(w: Lowering, node: Node, x: Value, *bounds: Value) -> Value:
    found = in_memory(w, node, x)
    entry = ["?" if is_present else None for is_present in node.params["given"]]
    axis = sliced(w, node, found.length, entry, iter(bounds), [found, *bounds])
    assert axis.count is not None
    if found.ragged:
        made = w.copy_list(found)
        return ragged_lists.picked(w, found, made, axis)
    if not node.params["given"][2] and w.owns(0, found):
        _advance(w, found, axis.start)
        return Listed(found.dtype, found.dims, found.pair, w.b.i64(axis.count))
    rows = viewed(w, found.rows(w.b), [axis, *[Axis(0, 1, size) for size in found.sizes]])
    return filled_with(w, found.dtype, found.known, rows)


def filled_with(w: Lowering, dtype: DType, shape: Sequence[int | None], rows: Array) -> Listed:
    """A new list of the rows of an array."""
    b = w.b
    made = w.new_list(ListType(TensorType(dtype, tuple(shape))), b.i64(rows.dims[0]))
    pointer = ragged_lists.of_rows(w, made, made.length, rows.dims[1:]) if made.ragged else w.reserved(
        made.pair, made.bytes(b, made.length))
    w.store_all([(rows, Leaf(dtype, rows.dims, pointer))])
    return made
