"""Values during code generation: scalars in registers, and arrays that are in memory or still expressions.

A `Scalar` is a value of rank 0. An `Array` generates the code for one element, at given indices: a `Leaf` loads it, a
`Map` computes it from elements of other arrays, a `Formula` from the indices. So a chain of element-wise ops is one
expression, whose loop is written when its elements are needed in memory (`runtime.backends.native.codegen.fusion`).
Views only change how indices become addresses.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from runtime.backends.native.codegen.scalar_ops import alignment, llvm_type
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.types import DType

__all__ = ["CHEAP", "Array", "Boxed", "Context", "Formula", "Leaf", "Listed", "Map", "Place", "Scalar",
           "broadcast", "reads", "remap", "rows_of", "same", "same_dims"]

CHEAP: Final = 4  # an expression of at most this weight is recomputed rather than stored
_MOST: Final = 1 << 20
_UNWRITTEN: Final = ", !invariant.load !{}"  # on loads of unwritten memory: LLVM may hoist them

Place = Sequence[Index]


def same(a: Index, b: Index) -> bool:
    """Whether two sizes are surely equal."""
    return a == b if isinstance(a, int) or isinstance(b, int) else a.ref == b.ref


def same_dims(a: Sequence[Index], b: Sequence[Index]) -> bool:
    return len(a) == len(b) and all(map(same, a, b))


def rows_of(b: Builder, dims: Sequence[Index]) -> Index:
    """The first size of a shape, or 0 if it has no elements: many empty rows are no work."""
    inner = b.product(dims[1:])
    if not dims or isinstance(inner, int):
        return dims[0] if dims and inner else 0
    return b.select(b.icmp("eq", inner, const("i64", 0)), const("i64", 0), b.i64(dims[0]))


class Context:
    """Where the code for elements is written. With several `lanes` the last index is that of the first lane. `lines`,
    for elements of the largest pieces of concatenations (`runtime.backends.native.codegen.piecewise_arrays`): by
    array, the address from which the last index counts."""

    __slots__ = ("b", "lanes", "lines", "memo")

    def __init__(self, b: Builder, lanes: int = 1, lines: dict[int, Val] | None = None) -> None:
        self.b = b
        self.lanes = lanes
        self.lines = lines
        self.memo: dict[Any, Val] = {}

    def once(self, x: Array, place: Place, value: Callable[[], Val]) -> Val:
        """The element of `x` at `place`: the result of `value`, cached at the first request."""
        key = id(x), *[str(i) for i in place]
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = value()
        return found

    def type(self, dtype: DType) -> str:
        ty = llvm_type(dtype)
        return ty if self.lanes == 1 else f"<{self.lanes} x {ty}>"

    def counted(self, start: Index) -> Val:
        """The last index in each lane, from `start` on: int64."""
        first = self.b.splat(self.b.i64(start), self.lanes)
        if self.lanes == 1:
            return first
        steps = ", ".join(f"i64 {k}" for k in range(self.lanes))
        return self.b.op(first.ty, f"add {first}, <{steps}>")


class Scalar:
    """A value of rank 0, in a register."""

    __slots__ = ("dtype", "val")
    dims: tuple[Index, ...] = ()

    def __init__(self, dtype: DType, val: Val) -> None:
        self.dtype = dtype
        self.val = val

    def at(self, c: Context, place: Place) -> Val:
        return c.b.splat(self.val, c.lanes)


class Boxed:
    """A value that exists only as a Python object, such as a list: its slot in the call's table of objects."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


class Listed:
    """A growable list in memory: contiguous elements of one known shape.

    `pair` is the address of the words that describe the memory (`abi/allocator.py`); `length` is an i64. Without `dims`
    no element was written, and there is no memory. With a None in `dims` elements have several shapes: the memory holds
    a table of them, and a second pair describes a second memory (`ragged_lists.py`). `scratch`: it may be changed in
    place once it is dead. `invariant`: it is defined outside of a loop that does not change it.
    """

    __slots__ = ("dims", "dtype", "invariant", "length", "pair", "scratch")

    def __init__(self, dtype: DType, dims: tuple[Index | None, ...] | None, pair: Val, length: Val,
                 scratch: bool = True, invariant: bool = False) -> None:
        self.dtype = dtype
        self.dims = dims
        self.pair = pair
        self.length = length
        self.scratch = scratch
        self.invariant = invariant

    @property
    def ragged(self) -> bool:
        """Whether the elements have several shapes."""
        return self.dims is not None and None in self.dims

    @property
    def is_open(self) -> bool:
        """Whether the common shape of the elements has unknown sizes."""
        return any([isinstance(size, Val) for size in self.dims or ()])

    @property
    def sizes(self) -> tuple[Index, ...]:
        """The common shape of the elements."""
        return tuple([size for size in self.dims or () if size is not None])

    @property
    def known(self) -> tuple[int, ...]:
        """`sizes` of a list that is not open."""
        assert not self.is_open
        return tuple([size for size in self.dims or () if isinstance(size, int)])

    @property
    def step(self) -> int:
        """The bytes from one element, or its table entry, to the next, of a list that is not open."""
        return 8 * (2 + len(self.dims or ())) if self.ragged else math.prod(self.known) * self.dtype.size

    def bytes(self, b: Builder, length: Index) -> Index:
        """The bytes of the first memory for `length` elements."""
        step = b.imul(b.product(self.sizes), self.dtype.size) if self.is_open else self.step
        return b.iadd(b.imul(length, step), 8 * self.ragged)

    def room(self, b: Builder, length: Index) -> Index:
        """The same for an allocation: it saturates."""
        if self.is_open:
            return b.room([length, *self.sizes], self.dtype.size)
        return b.iadd(b.room([length], self.step), 8 * self.ragged)

    def place(self, b: Builder, at: Index) -> Val:
        """The address, in the first memory, of an element or of its table entry."""
        return b.offset(b.load("ptr", self.pair), self.bytes(b, at), "i8")

    def rows(self, b: Builder) -> Leaf:
        """The elements, of one shape, as the rows of an array, valid until the list is changed."""
        return Leaf(self.dtype, [self.length, *self.sizes], b.load("ptr", self.pair))


class Array:
    """Elements of `dtype` in the shape `dims`.

    flat    `at` also takes a single index: that of the element in C order.
    lined   `at` works with several lanes.
    weight  the cost of an element, approximately: a load is 1, an addition 1, an exp 20.
    uses    how many nodes of the graph use it.
    pieces  whether it is a concatenation, or computed from one.
    """

    __slots__ = ("dims", "dtype", "flat", "lined", "pieces", "uses", "weight")

    def __init__(self, dtype: DType, dims: Sequence[Index], flat: bool, lined: bool, weight: int) -> None:
        self.dtype = dtype
        self.dims = tuple(dims)
        self.flat = flat
        self.lined = lined
        self.weight = min(weight, _MOST)
        self.uses = 1
        self.pieces = False

    def reads(self, memory: Leaf) -> bool:
        """Whether it may load from the memory of an array; formulas conservatively say yes."""
        return True

    def at(self, c: Context, place: Place) -> Val:
        """The element at `place`; with several lanes, the elements from there on along the last axis."""
        raise NotImplementedError

    def reshaped(self, dims: Sequence[Index]) -> Array:
        """A `flat` array reshaped to `dims`, in C order."""
        raise NotImplementedError

    def moved(self, dims: Sequence[Index], back: Callable[[Builder, Place], Place], leaf: Callable[[Leaf], Leaf],
              done: dict[int, Array]) -> Array:
        """A view, whose element at a position is this array's at `back(b, place)`; `leaf` makes it from memory."""
        raise NotImplementedError


class Leaf(Array):
    """Elements in memory: the first at `pointer`, the others by `strides`, counted in elements.

    scratch  the memory belongs to this call, and nothing else reads it. bases    the addresses of the buffers that may
    contain it: a view's address differs from its base's, and after a branch an array is in one of several buffers.
    """

    __slots__ = ("bases", "pointer", "scratch", "strides")

    def __init__(
        self, dtype: DType, dims: Sequence[Index], pointer: Val, strides: Sequence[Index] | None = None,
        scratch: bool = False, bases: frozenset[str] | None = None,
    ) -> None:
        super().__init__(dtype, dims, strides is None, True, 1)
        self.pointer = pointer
        self.bases = frozenset([pointer.ref]) if bases is None else bases
        self.strides = strides  # None: contiguous in C order
        self.scratch = scratch

    def reads(self, memory: Leaf) -> bool:
        return not self.bases.isdisjoint(memory.bases)

    def steps(self, b: Builder) -> tuple[Index, ...]:
        if self.strides is not None:
            return tuple(self.strides)
        steps: list[Index] = []
        step: Index = 1
        for size in reversed(self.dims):
            steps.append(step)
            step = b.imul(step, size)
        return tuple(reversed(steps))

    def address(self, b: Builder, place: Place) -> Val:
        """The address of the element at `place`; for a `flat` array `place` may be a single index in C order."""
        offset: Index = 0
        if self.strides is None and len(place) == 1:
            offset = place[0]
        else:
            for index, step in zip(place, self.steps(b), strict=True):
                offset = b.iadd(offset, b.imul(index, step))
        return b.offset(self.pointer, offset, llvm_type(self.dtype))

    def at(self, c: Context, place: Place) -> Val:
        return c.once(self, place, lambda: self._load(c, place))

    def _load(self, c: Context, place: Place) -> Val:
        b, ty = c.b, llvm_type(self.dtype)
        if c.lanes == 1 or not place:
            mark = _UNWRITTEN if self.bases and self.bases <= b.unwritten else ""
            return b.splat(b.load(ty, self.address(b, place), alignment(self.dtype), mark), c.lanes)
        step = 1 if self.strides is None else self.strides[-1]
        if isinstance(step, int) and step == 1:
            return b.load(c.type(self.dtype), self.address(b, place), alignment(self.dtype))
        if isinstance(step, int) and step == 0:
            return b.splat(b.load(ty, self.address(b, place), alignment(self.dtype)), c.lanes)
        value = Val(c.type(self.dtype), "poison")
        for k in range(c.lanes):
            one = b.load(ty, self.address(b, [*place[:-1], b.iadd(place[-1], k)]), alignment(self.dtype))
            value = b.op(value.ty, f"insertelement {value}, {one}, i64 {k}")
        return value

    def store(self, b: Builder, place: Place, value: Val) -> None:
        b.store(value, self.address(b, place), alignment(self.dtype))

    def reshaped(self, dims: Sequence[Index]) -> Leaf:
        return Leaf(self.dtype, dims, self.pointer, scratch=self.scratch, bases=self.bases)

    def moved(self, dims: Sequence[Index], back: Callable[[Builder, Place], Place], leaf: Callable[[Leaf], Leaf],
              done: dict[int, Array]) -> Array:
        return leaf(self)


Function = Callable[..., Val]  # of a builder and the elements


class Map(Array):
    """An element-wise function of arrays of its own shape, and scalars.

    Once its elements are stored, it loads them from `leaf`. `place`: the destination if it gets stored; None: new
    memory.
    """

    __slots__ = ("args", "function", "leaf", "name", "place")

    def __init__(
        self, name: str, dtype: DType, dims: Sequence[Index], function: Function, args: Sequence[Array | Scalar],
        cost: int = 1,
    ) -> None:
        arrays = [arg for arg in args if isinstance(arg, Array)]
        super().__init__(dtype, dims, all(x.flat for x in arrays), all(x.lined for x in arrays),
                         cost + sum([x.weight for x in arrays]))
        self.name = name
        self.function = function
        self.args = tuple(args)
        self.leaf: Leaf | None = None
        self.place: Leaf | None = None
        self.pieces = any([x.pieces for x in arrays])

    def reads(self, memory: Leaf) -> bool:
        if self.leaf is not None:
            return self.leaf.reads(memory)
        return any([arg.reads(memory) for arg in self.args if isinstance(arg, Array)])

    def at(self, c: Context, place: Place) -> Val:
        if self.leaf is not None:
            return self.leaf.at(c, place)
        return c.once(self, place, lambda: self.function(c.b, *[arg.at(c, place) for arg in self.args]))

    def reshaped(self, dims: Sequence[Index]) -> Array:
        if self.leaf is not None:
            return self.leaf.reshaped(dims)
        return self._with(dims, lambda x: x.reshaped(dims), {})

    def _with(self, dims: Sequence[Index], change: Callable[[Array], Array], done: dict[int, Array]) -> Map:
        args: list[Array | Scalar] = []
        for arg in self.args:
            if isinstance(arg, Map) and arg.leaf is None:
                known = done.get(id(arg))
                if known is None:
                    known = done[id(arg)] = arg._with(dims, change, done)
                args.append(known)
            else:
                args.append(change(arg) if isinstance(arg, Array) else arg)
        return Map(self.name, self.dtype, dims, self.function, args, 1)

    def moved(self, dims: Sequence[Index], back: Callable[[Builder, Place], Place], leaf: Callable[[Leaf], Leaf],
              done: dict[int, Array]) -> Array:
        if self.leaf is not None:
            return leaf(self.leaf)
        known = done.get(id(self))
        if known is None:
            args = [arg.moved(dims, back, leaf, done) if isinstance(arg, Array) else arg for arg in self.args]
            known = done[id(self)] = Map(self.name, self.dtype, dims, self.function, args)
            known.weight = self.weight
        return known


class Formula(Array):
    """Elements computed from their indices: `function(context, place)`.

    `lined`: it also supports several lanes.
    """

    __slots__ = ("function",)

    def __init__(self, dtype: DType, dims: Sequence[Index], function: Callable[[Context, Place], Val],
                 lined: bool = False, cost: int = 2) -> None:
        super().__init__(dtype, dims, len(dims) == 1, lined, cost)
        self.function = function

    def at(self, c: Context, place: Place) -> Val:
        return c.once(self, place, lambda: self.function(c, place))

    def reshaped(self, dims: Sequence[Index]) -> Array:
        if same_dims(self.dims, dims):
            return self

        def function(c: Context, place: Place) -> Val:  # of one dimension
            offset: Index = 0
            for index, size in zip(place, dims, strict=True):
                offset = c.b.iadd(c.b.imul(offset, size), index)
            return self.at(c, [offset])

        made = Formula(self.dtype, dims, function, self.lined, self.weight)
        made.flat = False
        return made

    def moved(self, dims: Sequence[Index], back: Callable[[Builder, Place], Place], leaf: Callable[[Leaf], Leaf],
              done: dict[int, Array]) -> Array:
        return Formula(self.dtype, dims, lambda c, place: self.at(c, back(c.b, place)), False, self.weight)


def remap(x: Array, dims: Sequence[Index], back: Callable[[Builder, Place], Place],
          leaf: Callable[[Leaf], Leaf]) -> Array:
    """A view of `x`; see `Array.moved`."""
    return x.moved(dims, back, leaf, {})


def broadcast(b: Builder, x: Array | Scalar, dims: Sequence[Index], repeats: Sequence[Val | None] = ()
              ) -> Array | Scalar:
    """`x` broadcast to the shape `dims`. `repeats`: for each axis of x, the run-time condition that its size is 1 and
    it is repeated; None: static sizes tell."""
    if isinstance(x, Scalar) or (same_dims(x.dims, dims) and not any(repeats)):
        return x
    missing = len(dims) - len(x.dims)
    unknown = [*repeats] or [None] * len(x.dims)
    repeated = [isinstance(size, int) and size == 1 and not same(size, want)
                for size, want in zip(x.dims, dims[missing:], strict=True)]

    def leaf(x: Leaf) -> Leaf:
        steps: list[Index] = [0] * missing
        for step, repeat, when in zip(x.steps(b), repeated, unknown, strict=True):
            if repeat:
                step = 0
            elif when is not None:
                step = b.select(when, const("i64", 0), b.i64(step))
            steps.append(step)
        return Leaf(x.dtype, dims, x.pointer, steps, bases=x.bases)

    def back(b: Builder, place: Place) -> Place:
        inner: list[Index] = []
        for index, repeat, when in zip(place[missing:], repeated, unknown, strict=True):
            if repeat:
                index = 0
            elif when is not None:
                index = b.select(when, const("i64", 0), b.i64(index))
            inner.append(index)
        return inner

    return remap(x, dims, back, leaf)


def reads(x: object, memory: Leaf) -> bool:
    """Whether a value may load from the memory of an array."""
    return isinstance(x, Array) and x.reads(memory)
