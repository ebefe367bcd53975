"""Lowerings of constants, casts, and ops that ask for shapes or give arrays other shapes."""
from __future__ import annotations

from collections.abc import Sequence

from runtime.execute.native.arrays import Array, Context, Leaf, Map, Place, Scalar, remap, same
from runtime.execute.native.emit import Builder, Index, Val, const
from runtime.execute.native.lower import Lowering, Value, lowers
from runtime.execute.native.pointwise import misfit, spread
from runtime.execute.native.scalars import cast
from runtime.graph import Node
from runtime.types import DType, TensorType, float16, float32, int32

__all__: list[str] = []


def result_type(node: Node, output: int = 0) -> TensorType:
    type = node.outputs[output].type
    assert isinstance(type, TensorType)
    return type


def splat(x: Scalar, dims: Sequence[Index]) -> Map:
    return Map("splat", x.dtype, dims, lambda b, v: v, [x], 0)


def widened(x: Array) -> Array:
    """float16 as float32, in which NumPy computes sums and products of it."""
    if x.dtype is not float16:
        return x
    return Map("cast", float32, x.dims, lambda b, v: cast(b, v, float16, float32), [x])


def narrowed(w: Lowering, x: Value, dtype: DType) -> Value:
    """What was computed of arrays that were widened, in their dtype."""
    if dtype is not float16:
        return x
    if isinstance(x, Scalar):
        return Scalar(float16, cast(w.b, x.val, float32, float16))
    assert isinstance(x, Array)
    return Map("cast", float16, x.dims, lambda b, v: cast(b, v, float32, float16), [x])


def as_array(x: Value) -> Array:
    """A scalar as an array of rank 0."""
    if isinstance(x, Scalar):
        return splat(x, ())
    assert isinstance(x, Array)
    return x


def integer(w: Lowering, x: Value) -> Val:
    """A scalar of ints as an i64."""
    assert isinstance(x, (Scalar, Array))
    return wide(w.b, w.element(x), x.dtype)


def wide(b: Builder, value: Val, dtype: DType) -> Val:
    return b.convert("zext" if dtype.is_unsigned else "sext", value, "i64")


def numbers(w: Lowering, x: Value, count: int) -> list[Index]:
    """The elements of a vector of ints, ints where they are constants."""
    assert isinstance(x, Array)
    leaf = x if isinstance(x, Map) and x.weight <= 2 else w.leaf(x)
    found: list[Index] = []
    for k in range(count):
        value = wide(w.b, leaf.at(Context(w.b), [k]), x.dtype)
        found.append(int(value.ref) if value.ref.lstrip("-").isdigit() else value)
    return found


def size_of(b: Builder, x: Array) -> Index:
    return b.product(x.dims)



@lowers("const")
def const_(w: Lowering, node: Node) -> Value:
    return w.constant(node.params["value"])


@lowers("undefined")
def undefined(w: Lowering, node: Node) -> Value:
    return w.undefined(node.params["type"])


@lowers("cast")
def cast_(w: Lowering, node: Node, x: Value) -> Value:
    target = node.params["dtype"]
    assert isinstance(x, (Scalar, Array))
    source = x.dtype
    if isinstance(x, Scalar):
        return Scalar(target, cast(w.b, x.val, source, target))
    if source is target:
        return x
    return Map("cast", target, x.dims, lambda b, v: cast(b, v, source, target), [x])


@lowers("dim")
def dim(w: Lowering, node: Node, x: Value) -> Value:
    assert isinstance(x, Array)
    size = x.dims[node.params["axis"]]
    return Scalar(int32, const("i32", size) if isinstance(size, int) else w.b.convert("trunc", size, "i32"))


def reshaped(w: Lowering, x: Array, dims: Sequence[Index]) -> Array:
    """The elements in C order in another shape of as many elements."""
    if len(x.dims) == len(dims) and all(map(same, x.dims, dims)):
        return x
    if not x.flat:
        x = w.leaf(x)
    return x.reshaped(dims)


@lowers("reshape")
def reshape(w: Lowering, node: Node, x: Value, *shape: Value) -> Value:
    b = w.b
    x = as_array(x)
    given = node.params["dims"]
    out = result_type(node).shape
    wanted: list[Index]
    elements = numbers(w, shape[0], len(given)) if shape else list(given)
    elements = [e if known is None else known for e, known in zip(elements, given, strict=True)]
    for e, size in zip(elements, out, strict=True):
        if isinstance(e, Val) and size is not None:
            w.fail_if(b.and_(b.icmp("ne", e, const("i64", -1)), b.icmp("ne", e, const("i64", size))), node, [x, *shape])
    if None not in out:
        wanted = [d for d in out if d is not None]
        certain = all(isinstance(d, int) for d in x.dims)
    else:
        total = size_of(b, x)
        rest: Index = 1
        minus = const("i1", int(-1 in elements))  # whether a size is left to find
        for e in elements:
            if isinstance(e, int):
                rest = rest if e == -1 else b.imul(rest, e)
            else:
                this = b.icmp("eq", e, const("i64", -1))
                w.fail_if(b.and_(minus, this), node, [x, *shape])
                minus = b.or_(minus, this)
                rest = b.imul(rest, b.select(this, const("i64", 1), e))
        divisor = b.i64(rest)
        w.fail_if(b.and_(minus, b.icmp("eq", divisor, const("i64", 0))), node, [x, *shape])
        safe = b.select(b.icmp("eq", divisor, const("i64", 0)), const("i64", 1), divisor)
        missing = b.op("i64", f"sdiv {b.i64(total)}, {safe.ref}")
        wanted = []
        for e, known in zip(elements, out, strict=True):
            if known is not None:
                wanted.append(known)
            elif isinstance(e, int):
                wanted.append(missing if e == -1 else e)
            else:
                wanted.append(b.select(b.icmp("eq", e, const("i64", -1)), missing, e))
            last = wanted[-1]
            if isinstance(last, Val):
                w.fail_if(b.icmp("slt", last, const("i64", 0)), node, [x, *shape])
        certain = False
    total, new = size_of(b, x), b.product(wanted)
    if not (certain or (isinstance(total, int) and isinstance(new, int) and total == new)):
        w.fail_if(b.icmp("ne", b.i64(total), b.i64(new)), node, [x, *shape])
    if not wanted:
        return Scalar(x.dtype, x.at(Context(b), [0] * len(x.dims)))
    return reshaped(w, x, wanted)


@lowers("expand_dims")
def expand_dims(w: Lowering, node: Node, x: Value) -> Value:
    axes = node.params["axis"]
    if isinstance(x, Scalar):
        return splat(x, [1] * len(axes))
    assert isinstance(x, Array)
    sizes = iter(x.dims)
    dims = [1 if a in axes else next(sizes) for a in range(len(x.dims) + len(axes))]
    if x.flat:
        return x.reshaped(dims)

    def leaf(x: Leaf) -> Leaf:
        steps = iter(x.steps(w.b))
        return Leaf(x.dtype, dims, x.pointer, [0 if a in axes else next(steps) for a in range(len(dims))],
                    bases=x.bases)

    return remap(x, dims, lambda b, place: [i for a, i in enumerate(place) if a not in axes], leaf)


@lowers("squeeze")
def squeeze(w: Lowering, node: Node, x: Value) -> Value:
    axes = node.params["axis"]
    if isinstance(x, Scalar):
        return x
    assert isinstance(x, Array)
    for a in axes:
        size = x.dims[a]
        if isinstance(size, Val):
            w.fail_if(w.b.icmp("ne", size, const("i64", 1)), node, [x])
    rank = len(x.dims)
    dims = [d for a, d in enumerate(x.dims) if a not in axes]
    if not dims:
        return Scalar(x.dtype, x.at(Context(w.b), [0] * rank))
    if x.flat:
        return x.reshaped(dims)

    def leaf(x: Leaf) -> Leaf:
        steps = x.steps(w.b)
        return Leaf(x.dtype, dims, x.pointer, [steps[a] for a in range(rank) if a not in axes], bases=x.bases)

    def back(b: Builder, place: Place) -> Place:
        rest = iter(place)
        return [0 if a in axes else next(rest) for a in range(rank)]

    return remap(x, dims, back, leaf)


@lowers("transpose")
def transpose(w: Lowering, node: Node, x: Value) -> Value:
    perm = node.params["perm"]
    if isinstance(x, Scalar) or list(perm) == list(range(len(perm))):
        return x
    assert isinstance(x, Array)
    if not isinstance(x, Leaf) and x.weight > 3:
        x = w.leaf(x)
    dims = [x.dims[a] for a in perm]

    def leaf(x: Leaf) -> Leaf:
        steps = x.steps(w.b)
        return Leaf(x.dtype, dims, x.pointer, [steps[a] for a in perm], bases=x.bases)

    def back(b: Builder, place: Place) -> Place:
        old: list[Index] = [0] * len(perm)
        for index, a in zip(place, perm, strict=True):
            old[a] = index
        return old

    return remap(x, dims, back, leaf)


@lowers("broadcast_to")
def broadcast_to(w: Lowering, node: Node, x: Value, *shape: Value) -> Value:
    b = w.b
    known = [a if a is not None else c for a, c in zip(result_type(node).shape, node.params["dims"], strict=True)]
    elements = numbers(w, shape[0], len(known)) if shape else known
    dims: list[Index] = [e if d is None else d for d, e in zip(known, elements, strict=True)]
    bad: Val | None = None
    for size, e in zip(dims, elements, strict=True):
        if isinstance(e, Val):
            wrong = b.icmp("slt", e, const("i64", 0)) if isinstance(size, Val) else b.icmp("ne", e, b.i64(size))
            bad = wrong if bad is None else b.or_(bad, wrong)
    if isinstance(x, Scalar):
        w.fail_if(bad, node, [x, *shape])
        return splat(x, dims) if dims else x
    assert isinstance(x, Array)
    wrong_size = misfit(b, x.dims, dims[len(dims) - len(x.dims):])
    w.fail_if(bad, node, [x, *shape])
    w.fail_if(wrong_size, node, [x, *shape])
    return spread(w, x, dims)
