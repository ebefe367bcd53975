"""Lowerings of constants, casts, shape queries and reshaping."""
from __future__ import annotations

from collections.abc import Sequence

from runtime.backends.native.codegen.context import Lowering, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Context, Leaf, Map, Place, Scalar, remap, same
from runtime.backends.native.codegen.scalar_ops import cast, llvm_type
from runtime.backends.native.kernels.elementwise import misfit, spread
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.errors import ShapeError
from runtime.core.graph import Node
from runtime.core.types import MAX_BYTES, DType, TensorType, float16, float32, uint64

__all__: list[str] = []


def result_type(node: Node, output: int = 0) -> TensorType:
    type = node.outputs[output].type
    assert isinstance(type, TensorType)
    return type


def splat(x: Scalar, dims: Sequence[Index]) -> Map:
    return Map("splat", x.dtype, dims, lambda b, v: v, [x], 0)


def widened(x: Array) -> Array:
    """float16 as float32, in which NumPy computes sums and products of float16."""
    if x.dtype is not float16:
        return x
    return Map("cast", float32, x.dims, lambda b, v: cast(b, v, float16, float32), [x])


def narrowed(w: Lowering, x: Value, dtype: DType) -> Value:
    """A result computed from widened arrays, converted to their dtype."""
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
    """An integer scalar as an i64."""
    assert isinstance(x, (Scalar, Array))
    return wide(w.b, w.element(x), x.dtype)


def wide(b: Builder, value: Val, dtype: DType) -> Val:
    """An index or size as an i64, lane by lane: uint64 saturates at 2**63 - 1, which exceeds any array."""
    value = b.extend(value, dtype.is_unsigned)
    return b.intrinsic("umin", value, const(value.ty, (1 << 63) - 1)) if dtype is uint64 else value


def numbers(w: Lowering, x: Value, count: int) -> list[Index]:
    """The elements of a vector of integers; Python ints where they are constants."""
    assert isinstance(x, Array)
    leaf = x if isinstance(x, Map) and x.weight <= 2 else w.leaf(x)
    found: list[Index] = []
    for k in range(count):
        value = wide(w.b, leaf.at(Context(w.b), [k]), x.dtype)
        found.append(int(value.ref) if value.ref.lstrip("-").isdigit() else value)
    return found


def asked(w: Lowering, node: Node, vector: Sequence[Value], operands: int = 1) -> list[Index]:
    """The sizes that a node asks for by its param `dims`, or by a vector behind its other operands, of which some are
    known to be sizes of tensors."""
    named, known = w.sizes.asked(w.b, node, operands), node.params["dims"]
    found = [size if d is None else d for size, d in zip(named, known, strict=True)]
    if None not in found:
        return [size for size in found if size is not None]
    elements = numbers(w, vector[0], len(known))
    return [element if size is None else size for size, element in zip(found, elements, strict=True)]


def check_sizes(w: Lowering, node: Node, found: Sequence[Index], values: Sequence[Value], least: int = 0) -> None:
    """Write a check that no size is below `least` or more than a tensor can have, so that sums of some of them fit 64
    bits; else the kernel raises."""
    b = w.b
    bad: Val | None = None
    for size in found:
        if isinstance(size, int):
            wrong = const("i1", int(not least <= size <= MAX_BYTES))
        elif w.sizes.has(size):
            continue
        else:
            above = b.op("i64", f"sub {size}, {least}")  # unsigned, so that lower values are too large
            wrong = b.icmp("ugt", above, const("i64", MAX_BYTES - least))
        if wrong.ref != "false":
            bad = wrong if bad is None else b.or_(bad, wrong)
    w.fail_if(bad, node, values)




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
    return _count(w, node, x.dims[node.params["axis"]])


@lowers("size")
def size(w: Lowering, node: Node, x: Value) -> Value:
    assert isinstance(x, (Scalar, Array))
    return _count(w, node, w.b.product(x.dims))


def _count(w: Lowering, node: Node, count: Index) -> Scalar:
    """A number of elements in the dtype of the result; ShapeError if that cannot hold it, as in the kernel."""
    b, dtype = w.b, result_type(node).dtype
    most = dtype.limits[1]
    if most < MAX_BYTES and not (isinstance(count, int) and count <= most):
        with b.when(b.icmp("ugt", b.i64(count), const("i64", most))):
            w.refuse(ShapeError, f"a size does not fit {dtype.name}")
    return Scalar(dtype, b.convert("trunc", b.i64(count), llvm_type(dtype)))


def reshaped(w: Lowering, x: Array, dims: Sequence[Index]) -> Array:
    """The array reshaped to `dims`, in C order; the number of elements is equal."""
    if len(x.dims) == len(dims) and all(map(same, x.dims, dims)):
        return x
    if not x.flat:
        x = w.leaf(x)
    return x.reshaped(dims)


def _reshaped_dims(w: Lowering, node: Node, x: Array, wanted: Sequence[Index], out: Sequence[int | None],
                   values: Sequence[Value]) -> list[Index]:
    """The result's sizes: those in `wanted`, of which one may be -1; sizes in `out` are known statically. The kernel
    raises if the number of elements differs from that of `x`."""
    b = w.b
    check_sizes(w, node, wanted, values, -1)
    minus = [b.icmp("eq", e, const("i64", -1)) if isinstance(e, Val) else const("i1", int(e == -1)) for e in wanted]
    candidates = [(e, free) for e, free in zip(wanted, minus, strict=True) if free.ref != "false"]
    some = const("i1", 0)  # whether a size has to be computed
    for _, free in candidates:
        if some.ref != "false":
            w.fail_if(b.and_(some, free), node, values)
        some = free if some.ref == "false" else b.or_(some, free)
    for e, size, free in zip(wanted, out, minus, strict=True):
        if isinstance(e, Val) and size is not None:
            w.fail_if(b.and_(b.not_(free), b.icmp("ne", e, const("i64", size))), node, values)
    count = b.i64(b.product(x.dims))
    fixed = [size if size is not None else e if free.ref == "false" else b.select(free, const("i64", 1), b.i64(e))
             for e, size, free in zip(wanted, out, minus, strict=True)]
    rest = b.i64(b.room(fixed, 1))
    if some.ref == "false" or None not in out:
        dims = [e if size is None else size for e, size in zip(wanted, out, strict=True)]
        bad = b.icmp("ne", rest, count)
    else:
        none = b.icmp("eq", rest, const("i64", 0))
        missing = b.udiv(count, b.select(none, const("i64", 1), rest))
        dims = [size if size is not None else e if free.ref == "false" else missing if free.ref == "true" else
                b.select(free, missing, b.i64(e)) for e, size, free in zip(wanted, out, minus, strict=True)]
        whole = b.mul(b.select(some, missing, const("i64", 1)), rest)
        bad = b.or_(b.and_(some, none), b.icmp("ne", whole, count))
    if len(dims) > 1:  # if a size is 0, the product says nothing about the others
        fits = b.fits(dims, x.dtype.size, MAX_BYTES)
        bad = bad if fits.ref == "true" else b.or_(bad, b.not_(fits))
    w.fail_if(bad, node, values)
    return dims


@lowers("reshape")
def reshape(w: Lowering, node: Node, x: Value, *shape: Value) -> Value:
    b = w.b
    x = as_array(x)
    out = result_type(node).shape
    values = [x, *shape]
    requested = asked(w, node, shape)
    sure = w.sizes.reshaped(b, node)
    if sure is not None:
        wanted = sure
    elif None in out or not all(isinstance(d, int) for d in (*x.dims, *requested)):
        wanted = _reshaped_dims(w, node, x, requested, out, values)
    else:
        wanted = [d for d in out if d is not None]
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
    out = result_type(node).shape
    values = [x, *shape]
    requested = asked(w, node, shape)
    check_sizes(w, node, requested, values)
    dims: list[Index] = [e if d is None else d for e, d in zip(requested, out, strict=True)]
    bad: Val | None = None
    for size, e in zip(dims, requested, strict=True):
        if isinstance(e, Val) and isinstance(size, int):
            wrong = b.icmp("ne", e, b.i64(size))
            bad = wrong if bad is None else b.or_(bad, wrong)
    if isinstance(x, Scalar):
        w.fail_if(bad, node, values)
        return splat(x, dims) if dims else x
    assert isinstance(x, Array)
    w.fail_if(bad, node, values)
    w.fail_if(misfit(b, x.dims, dims[len(dims) - len(x.dims):]), node, values)
    return spread(w, x, dims)
