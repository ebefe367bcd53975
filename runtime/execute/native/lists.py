"""Lowerings of ops on lists whose elements have one known shape; other lists are Python's affair.

An update changes the memory in place if the list is not used later as it was, else a copy of it.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runtime.execute.native.arrays import Array, Boxed, Context, Formula, Leaf, Listed, Map, Scalar, same
from runtime.execute.native.emit import Index, Val, const
from runtime.execute.native.indexing import sliced, viewed
from runtime.execute.native.lower import Lowering, NotNative, Value, listed, lowers
from runtime.execute.native.memory import EXTEND
from runtime.execute.native.pieces import Axis
from runtime.execute.native.scalars import cast, is_native, llvm_type
from runtime.execute.native.shapes import as_array, integer, wide
from runtime.execute.native.sites import AllocateSite
from runtime.graph import Node
from runtime.graph import Value as GraphValue
from runtime.types import ListType, int32

__all__: list[str] = []


def _taken(w: Lowering, x: Value, type: Any) -> Listed:
    """A list as one of `type`, in memory."""
    if not listed(type):
        raise NotNative("a list of elements whose shape only the run knows")
    found = w.as_type(x, type)
    assert isinstance(found, Listed)
    return found


def _in_memory(w: Lowering, node: Node, x: Value) -> Listed:
    return _taken(w, x, node.inputs[0].type)


def _own(w: Lowering, x: Listed) -> Listed:
    """The list in memory that may be changed."""
    if x.scratch and 0 in w.dead:
        return x
    return w.copy_list(x, w.new_pair())


def _room(w: Lowering, x: Listed, length: Val) -> None:
    """Make the memory large enough; what is in it stays."""
    b = w.b
    w.module.declare(EXTEND, "ptr", "ptr", "i64", "i64")
    need = b.op("i64", f"mul nsw {length}, {max(x.stride * x.dtype.size, 1)}")
    used = b.op("i64", f"mul nsw {x.length}, {max(x.stride * x.dtype.size, 1)}")
    have = b.load("i64", b.offset(x.pair, 1, "i64"))
    with b.when(b.icmp("ult", have, need)):
        moved = b.call("ptr", EXTEND, x.pair, need, used)
        with b.when(b.icmp("eq", moved, Val("ptr", "null"))):
            w.leave(2)


def _address(w: Lowering, x: Listed, at: Index) -> Val:
    """Of an element."""
    b = w.b
    return b.offset(b.load("ptr", x.pair), b.imul(at, x.stride), llvm_type(x.dtype))


def _move(w: Lowering, x: Listed, start: Val, to: Val, count: Val) -> None:
    """Elements to another place in the list, which may overlap."""
    size = w.b.i64(w.b.imul(count, x.stride * x.dtype.size))
    w.b.call("void", "llvm.memmove.p0.p0.i64", _address(w, x, to), _address(w, x, start), size, Val("i1", "false"))


def _put(w: Lowering, x: Listed, at: Val, value: Value) -> None:
    """Write an element, for which there is room."""
    b = w.b
    assert x.dims is not None
    pointer = _address(w, x, at)
    if not x.dims:
        b.store(w.element(value), pointer, x.dtype.size)
        return
    source = as_array(value)
    w.store_all([(source, Leaf(x.dtype, x.dims, pointer))])


def _fits(x: Listed, value: Value) -> bool:
    return isinstance(value, (Scalar, Array)) and len(value.dims) == len(x.dims or ()) and all(
        isinstance(d, int) and d == want for d, want in zip(value.dims, x.dims or (), strict=True))


@lowers("list_new")
def new(w: Lowering, node: Node, *items: Value) -> Value:
    type = node.outputs[0].type
    assert isinstance(type, ListType)
    if not is_native(type.element.dtype):
        raise NotNative("complex numbers")
    if not items and not listed(type):
        if type.known:
            raise NotNative("a list of elements whose shape only the run knows")
        return Listed(type.element.dtype, None, Val("ptr", "null"), const("i64", 0))
    if not listed(type):
        raise NotNative("a list of elements whose shape only the run knows")
    dims = tuple([d for d in type.element.shape if d is not None])
    made = Listed(type.element.dtype, dims, w.new_pair(), const("i64", len(items)))
    if not all(_fits(made, item) for item in items):
        raise NotNative("elements of several shapes")
    w.reserved(made.pair, len(items) * made.stride * made.dtype.size)
    for k, item in enumerate(items):
        _put(w, made, const("i64", k), item)
    return made


@lowers("list_reserve")
def reserve(w: Lowering, node: Node, size: Value) -> Value:
    type = node.outputs[0].type
    assert isinstance(type, ListType)
    if not is_native(type.element.dtype) or (type.known and not listed(type)):
        raise NotNative("a list of elements whose shape only the run knows")
    length = integer(w, size)
    w.fail_if(w.b.icmp("slt", length, const("i64", 0)), node, [size])
    if listed(type):
        filled = _set_in_order(w, node)
        if filled is not None:
            return _unset(w, type, length, filled)
    made = Listed(type.element.dtype, None, Val("ptr", "null"), length)
    return w.as_type(made, type) if listed(type) else made


def _set_in_order(w: Lowering, node: Node) -> GraphValue | None:
    """What a list becomes in a loop whose iterations set one element after the other, if they do so with all, and
    nobody looks at the list before."""
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
    if setter is None or setter.op.name != "list_set" or tuple(setter.inputs[:2]) != (state, body.inputs[0]):
        return None
    if body.outputs.count(setter.outputs[0]) != 1 or body.outputs[k] is not setter.outputs[0] or (
            state in body.outputs or any(setter.outputs[0] in other.inputs for other in body.nodes)):
        return None
    result: GraphValue = loop.outputs[k]
    return result


def _only_user(nodes: Sequence[Node], value: GraphValue) -> Node | None:
    """The node that uses a value, once; None if there are several, or none."""
    users = [node for node in nodes for x in node.inputs if x is value]
    return users[0] if len(users) == 1 else None


def _unset(w: Lowering, type: ListType, length: Val, filled: GraphValue) -> Listed:
    """A list whose elements are set before they are read, into `filled`. If it is only stacked, and that is a result of
    the whole graph, it lies where the result will be."""
    b = w.b
    dims = tuple([d for d in type.element.shape if d is not None])
    size = b.imul(length, math.prod(dims) * type.element.dtype.size)
    stack = _only_user(w.nodes, filled)
    if stack is None or stack.op.name != "list_stack" or w.nodes is not w.graph.nodes or (
            w.last[filled] == len(w.nodes) or stack.outputs[0] not in w.graph.outputs):
        pair = w.new_pair()
        w.reserved(pair, size)
    else:
        place = w.placed[stack.outputs[0]] = w.new_object()
        (word,) = w.call_python(AllocateSite(type.element.dtype.np, 1 + len(dims), place),
                                [length, *map(b.i64, dims)], 1)
        pair = b.alloca("i64", 2)  # not of the frame, which would free it
        b.store(word, pair)
        b.store(b.i64(size), b.offset(pair, 1, "i64"))
    return Listed(type.element.dtype, dims, pair, length)


@lowers("list_cast")
def cast_(w: Lowering, node: Node, x: Value) -> Value:
    type = node.outputs[0].type
    assert isinstance(type, ListType)
    if isinstance(x, Listed) and x.dims is None:
        made = Listed(type.element.dtype, None, x.pair, x.length)
        return w.as_type(made, type) if listed(type) else w.boxed(made)
    if not (listed(type) and listed(node.inputs[0].type)):
        raise NotNative("a list of elements whose shape only the run knows")
    x = _in_memory(w, node, x)
    source, target = x.dtype, type.element.dtype
    made = Listed(target, x.dims, w.new_pair(), x.length)
    pointer = w.reserved(made.pair, w.b.imul(x.length, x.stride * target.size))
    rows = x.rows(w.b)
    new = rows if source is target else Map("cast", target, rows.dims, lambda b, v: cast(b, v, source, target), [rows])
    w.store_all([(new, Leaf(target, rows.dims, pointer))])
    return made


def _taking(w: Lowering, node: Node, x: Value, item: Value) -> tuple[Listed, Value]:
    """The list that a node makes of `x`, before it takes `item`, and that in a form to be stored."""
    taken = _taken(w, x, node.outputs[0].type)
    if not _fits(taken, item):
        raise NotNative("an element of unknown shape")
    return taken, w.settle(item) if isinstance(item, Array) else item


@lowers("list_append")
def append(w: Lowering, node: Node, x: Value, item: Value) -> Value:
    taken, item = _taking(w, node, x, item)
    mine = _own(w, taken)
    length = w.b.op("i64", f"add nsw {mine.length}, 1")
    _room(w, mine, length)
    _put(w, mine, mine.length, item)
    return Listed(mine.dtype, mine.dims, mine.pair, length)


@lowers("list_extend")
def extend(w: Lowering, node: Node, x: Value, other: Value) -> Value:
    type = node.outputs[0].type
    mine = _own(w, _taken(w, x, type))
    more = _taken(w, other, type)
    b = w.b
    length = b.op("i64", f"add nsw {mine.length}, {more.length.ref}")
    _room(w, mine, length)
    size = b.i64(b.imul(more.length, more.stride * more.dtype.size))
    target = _address(w, mine, mine.length)
    b.call("void", "llvm.memmove.p0.p0.i64", target, b.load("ptr", more.pair), size, Val("i1", "false"))
    return Listed(mine.dtype, mine.dims, mine.pair, length)


def _position(w: Lowering, node: Node, x: Listed, index: Value, values: list[Value], strict: bool) -> Val:
    """The place of an element; the kernel raises if there is none."""
    b = w.b
    at = integer(w, index)
    if not strict:
        at = _from_end(w, at, x.length)
    w.fail_if(b.icmp("uge", at, x.length), node, values)
    return at


@lowers("list_get")
def get(w: Lowering, node: Node, x: Value, index: Value) -> Value:
    found = _in_memory(w, node, x)
    at = _position(w, node, found, index, [found, index], bool(node.params.get("strict")))
    return _element(w, found, at)


def _element(w: Lowering, x: Listed, at: Val) -> Value:
    b = w.b
    pointer = _address(w, x, at)
    if not x.dims:
        return Scalar(x.dtype, b.load(llvm_type(x.dtype), pointer))
    target = w.memory(x.dtype, x.dims)  # the list may change while the element is still used
    w.copy(Leaf(x.dtype, x.dims, pointer), target.pointer)
    return target


@lowers("list_set")
def set_(w: Lowering, node: Node, x: Value, index: Value, item: Value) -> Value:
    taken, item = _taking(w, node, x, item)
    b = w.b
    if not node.params.get("grow"):
        at = _position(w, node, taken, index, [taken, index, item], bool(node.params.get("strict")))
        mine = _own(w, taken)
        _put(w, mine, at, item)
        return mine
    at = integer(w, index)
    if not node.params.get("strict"):
        at = _from_end(w, at, taken.length)
    w.fail_if(b.icmp("slt", at, const("i64", 0)), node, [taken, index, item])
    mine = _lengthened(w, _own(w, taken), b.op("i64", f"add {at}, 1"))
    _put(w, mine, at, item)
    return mine


def _from_end(w: Lowering, at: Val, length: Val) -> Val:
    """A negative index counts from the end."""
    return w.b.select(w.b.icmp("slt", at, const("i64", 0)), w.b.op("i64", f"add {at}, {length.ref}"), at)


def _lengthened(w: Lowering, x: Listed, least: Val) -> Listed:
    """The list with at least so many elements; new ones are zeros."""
    b = w.b
    length = b.intrinsic("smax", x.length, least)
    _room(w, x, length)
    fresh = b.op("i64", f"sub {length}, {x.length.ref}")
    with b.when(b.icmp("sgt", fresh, const("i64", 0))):
        b.call("void", "llvm.memset.p0.i64", _address(w, x, x.length), const("i8", 0),
               b.i64(b.imul(fresh, x.stride * x.dtype.size)), Val("i1", "false"))
    return Listed(x.dtype, x.dims, x.pair, length)


@lowers("list_insert")
def insert(w: Lowering, node: Node, x: Value, index: Value, item: Value) -> Value:
    taken, item = _taking(w, node, x, item)
    b = w.b
    mine = _own(w, taken)
    at = _from_end(w, integer(w, index), mine.length)
    at = b.intrinsic("smin", b.intrinsic("smax", at, const("i64", 0)), mine.length)
    length, after = (b.op("i64", f"add nsw {n}, 1") for n in (mine.length, at))
    _room(w, mine, length)
    _move(w, mine, at, after, b.sub(mine.length, at))
    _put(w, mine, at, item)
    return Listed(mine.dtype, mine.dims, mine.pair, length)


@lowers("list_pop")
def pop(w: Lowering, node: Node, x: Value, *index: Value) -> list[Value]:
    b = w.b
    taken = _in_memory(w, node, x)
    if index:
        at = _position(w, node, taken, index[0], [taken, *index], False)
        item = _element(w, taken, at)
        mine = _own(w, taken)
        after = b.op("i64", f"add nsw {at}, 1")
        _move(w, mine, after, at, b.sub(mine.length, after))
        return [Listed(mine.dtype, mine.dims, mine.pair, b.op("i64", f"sub nsw {mine.length}, 1")), item]
    w.fail_if(b.icmp("eq", taken.length, const("i64", 0)), node, [taken])
    length = b.op("i64", f"sub nsw {taken.length}, 1")
    item = _element(w, taken, length)
    scratch = taken.scratch and 0 in w.dead
    return [Listed(taken.dtype, taken.dims, taken.pair, length, scratch), item]


@lowers("list_length")
def length(w: Lowering, node: Node, x: Value) -> Value:
    if isinstance(x, Boxed):
        raise NotNative("a list of elements whose shape only the run knows")
    assert isinstance(x, Listed)
    return Scalar(int32, w.b.convert("trunc", x.length, "i32"))


@lowers("list_slice")
def slice_(w: Lowering, node: Node, x: Value, *bounds: Value) -> Value:
    found = _in_memory(w, node, x)
    entry = ["?" if given else None for given in node.params["given"]]
    axis = sliced(w, node, found.length, entry, iter(bounds), [found, *bounds])
    assert axis.count is not None
    rows = viewed(w, found.rows(w.b), [axis, *[Axis(0, 1, size) for size in found.dims or ()]])
    return _filled(w, found, rows)


def _filled(w: Lowering, like: Listed, rows: Array) -> Listed:
    """A new list of the rows of an array, with elements as another list has them."""
    made = Listed(like.dtype, like.dims, w.new_pair(), w.b.i64(rows.dims[0]))
    pointer = w.reserved(made.pair, w.b.imul(made.length, made.stride * made.dtype.size))
    w.store_all([(rows, Leaf(made.dtype, rows.dims, pointer))])
    return made


@lowers("list_scatter")
def scatter(w: Lowering, node: Node, x: Value, indices: Value, rows: Value) -> Value:
    taken = _taken(w, x, node.outputs[0].type)
    assert isinstance(indices, Array) and isinstance(rows, Array)
    if not all(isinstance(size, int) and size == want for size, want in zip(
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

    limit = Val("i64", str((1 << 63) - 1)) if grow else taken.length
    bad, greatest = b.folded(0, count, [const("i1", 0), const("i64", -1)], lambda k, state: [
        b.or_(state[0], b.icmp("uge", place(k), limit)), b.intrinsic("smax", state[1], place(k))])
    w.fail_if(bad, node, values)
    mine = _own(w, taken)
    if grow:
        mine = _lengthened(w, mine, b.op("i64", f"add {greatest}, 1"))
    size = const("i64", mine.stride * mine.dtype.size)
    with b.loop(0, count) as k:
        row = b.offset(source.pointer, b.imul(k, mine.stride), llvm_type(mine.dtype))
        b.call("void", "llvm.memcpy.p0.p0.i64", _address(w, mine, place(k)), row, size, Val("i1", "false"))
    return mine


@lowers("list_stack", "list_concat")
def stack(w: Lowering, node: Node, x: Value) -> Value:
    found = _in_memory(w, node, x)
    assert found.dims is not None
    dims: list[Index] = [found.length, *found.dims]
    if node.op.name == "list_concat":
        dims = [w.b.i64(w.b.imul(found.length, found.dims[0])), *found.dims[1:]]
    rows = Leaf(found.dtype, dims, w.b.load("ptr", found.pair))
    if 0 in w.dead and found.scratch and not w.loops:
        return rows
    target = w.memory(found.dtype, rows.dims)
    w.copy(rows, target.pointer)
    return target


@lowers("list_from_tensor")
def from_tensor(w: Lowering, node: Node, x: Value, *size: Value) -> Value:
    type = node.outputs[0].type
    if not listed(type):
        raise NotNative("rows whose shape only the run knows")
    assert isinstance(x, Array) and isinstance(type, ListType)
    b = w.b
    count = b.i64(x.dims[0])
    if size:
        w.fail_if(b.icmp("ne", count, integer(w, size[0])), node, [x, *size])
    dims = tuple([d for d in type.element.shape if d is not None])
    made = Listed(x.dtype, dims, w.new_pair(), count)
    pointer = w.reserved(made.pair, b.imul(count, made.stride * x.dtype.size))
    w.store_all([(x, Leaf(x.dtype, x.dims, pointer))])
    return made


@lowers("list_gather")
def gather(w: Lowering, node: Node, x: Value, indices: Value) -> Value:
    found = _in_memory(w, node, x)
    assert isinstance(indices, Array)
    b = w.b
    places = w.leaf(indices)
    count = places.dims[0]
    with b.loop(0, count) as k:
        at = wide(b, places.at(Context(b), [k]), places.dtype)
        w.fail_if(b.icmp("uge", at, found.length), node, [found, places])
    rows = found.rows(b)

    def function(c: Context, place: Any) -> Val:
        at = wide(c.b, places.at(Context(c.b), [place[0]]), places.dtype)
        return rows.at(Context(c.b), [at, *place[1:]])

    dims: list[Index] = [count, *(found.dims or ())]
    return w.leaf(Formula(found.dtype, dims, function, cost=4))
