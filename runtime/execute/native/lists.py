"""Lowerings of ops on lists whose elements have one known shape; other lists are Python's affair.

An update changes the memory in place if the list is not used later as it was, else a copy of it.
"""
from __future__ import annotations

from typing import Any

from runtime.execute.native import memory
from runtime.execute.native.arrays import Array, Boxed, Context, Formula, Leaf, Listed, Map, Scalar
from runtime.execute.native.emit import Index, Val, const
from runtime.execute.native.lower import Lowering, NotNative, Value, listed, lowers
from runtime.execute.native.scalars import cast, is_native, llvm_type
from runtime.execute.native.shapes import as_array, integer, wide
from runtime.graph import Node
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
    w.module.declare("free", "void", "ptr")
    w.module.declare("aligned_alloc", "ptr", "i64", "i64")
    w.module.define("extend", "ptr", ["ptr", "i64", "i64"], memory.extend, attributes="noinline optnone nounwind")
    need = b.op("i64", f"mul nsw {length}, {max(x.stride * x.dtype.size, 1)}")
    used = b.op("i64", f"mul nsw {x.length}, {max(x.stride * x.dtype.size, 1)}")
    have = b.load("i64", b.offset(x.pair, 1, "i64"))
    with b.when(b.icmp("ult", have, need)):
        moved = b.call("ptr", "extend", x.pair, need, used)
        with b.when(b.icmp("eq", moved, Val("ptr", "null"))):
            w.leave(2)


def _put(w: Lowering, x: Listed, at: Val, value: Value) -> None:
    """Write an element, for which there is room."""
    b = w.b
    assert x.dims is not None
    pointer = b.offset(b.load("ptr", x.pair), b.imul(at, x.stride), llvm_type(x.dtype))
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
    made = Listed(type.element.dtype, None, Val("ptr", "null"), length)
    return w.as_type(made, type) if listed(type) else made


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


@lowers("list_append")
def append(w: Lowering, node: Node, x: Value, item: Value) -> Value:
    taken = _taken(w, x, node.outputs[0].type)
    if not _fits(taken, item):
        raise NotNative("an element of unknown shape")
    if isinstance(item, Array):
        item = w.settle(item)
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
    target = b.offset(b.load("ptr", mine.pair), b.imul(mine.length, mine.stride), llvm_type(mine.dtype))
    b.call("void", "llvm.memmove.p0.p0.i64", target, b.load("ptr", more.pair), size, Val("i1", "false"))
    return Listed(mine.dtype, mine.dims, mine.pair, length)


def _position(w: Lowering, node: Node, x: Listed, index: Value, values: list[Value], strict: bool) -> Val:
    """The place of an element; the kernel raises if there is none."""
    b = w.b
    at = integer(w, index)
    if not strict:
        at = b.select(b.icmp("slt", at, const("i64", 0)), b.op("i64", f"add {at}, {x.length.ref}"), at)
    w.fail_if(b.icmp("uge", at, x.length), node, values)
    return at


@lowers("list_get")
def get(w: Lowering, node: Node, x: Value, index: Value) -> Value:
    found = _in_memory(w, node, x)
    at = _position(w, node, found, index, [found, index], bool(node.params.get("strict")))
    return _element(w, found, at)


def _element(w: Lowering, x: Listed, at: Val) -> Value:
    b = w.b
    pointer = b.offset(b.load("ptr", x.pair), b.imul(at, x.stride), llvm_type(x.dtype))
    if not x.dims:
        return Scalar(x.dtype, b.load(llvm_type(x.dtype), pointer))
    target = w.memory(x.dtype, x.dims)  # the list may change while the element is still used
    w.copy(Leaf(x.dtype, x.dims, pointer), target.pointer)
    return target


@lowers("list_set")
def set_(w: Lowering, node: Node, x: Value, index: Value, item: Value) -> Value:
    taken = _taken(w, x, node.outputs[0].type)
    if not _fits(taken, item):
        raise NotNative("an element of unknown shape")
    if isinstance(item, Array):
        item = w.settle(item)
    b = w.b
    if not node.params.get("grow"):
        at = _position(w, node, taken, index, [taken, index, item], bool(node.params.get("strict")))
        mine = _own(w, taken)
        _put(w, mine, at, item)
        return mine
    at = integer(w, index)
    strict = bool(node.params.get("strict"))
    if strict:
        w.fail_if(b.icmp("slt", at, const("i64", 0)), node, [taken, index, item])
    else:
        at = b.select(b.icmp("slt", at, const("i64", 0)), b.op("i64", f"add {at}, {taken.length.ref}"), at)
        w.fail_if(b.icmp("slt", at, const("i64", 0)), node, [taken, index, item])
    mine = _own(w, taken)
    length = b.intrinsic("smax", mine.length, b.op("i64", f"add {at}, 1"))
    _room(w, mine, length)
    size = mine.stride * mine.dtype.size
    start = b.offset(b.load("ptr", mine.pair), b.imul(mine.length, size), "i8")
    fresh = b.op("i64", f"sub {length}, {mine.length.ref}")
    with b.when(b.icmp("sgt", fresh, const("i64", 1))):
        b.call("void", "llvm.memset.p0.i64", start, const("i8", 0), b.i64(b.imul(fresh, size)), Val("i1", "false"))
    _put(w, mine, at, item)
    return Listed(mine.dtype, mine.dims, mine.pair, length)


@lowers("list_pop")
def pop(w: Lowering, node: Node, x: Value, *index: Value) -> list[Value]:
    if index:
        raise NotNative("pop at an index")
    b = w.b
    taken = _in_memory(w, node, x)
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
