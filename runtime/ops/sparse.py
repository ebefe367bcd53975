"""Sparse tensors, composed of ops on their indices and values (`tf.sparse`).

In rules for both classes, positions are a matrix: one row per value; that of `IndexedSlices` has one column. Values at
repeated positions add up. Two tensors are matched by numbering their positions in row-major order: the distinct numbers
of both are the positions of the result.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

from runtime.core import types as t
from runtime.core.errors import DTypeError, InvalidArgumentError, ShapeError
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorShape, broadcast_shapes
from runtime.ops import creation, linalg, logic, reduction, shape, sorting
from runtime.ops import math as math_ops
from runtime.ops.checks import message, require
from runtime.ops.complex_numbers import conj
from runtime.ops.concat_split import concat as join
from runtime.ops.concat_split import repeat
from runtime.ops.gather import boolean_mask, gather, scatter_nd, segment_totals
from runtime.ops.gather_nd import gather_nd
from runtime.ops.math import cast
from runtime.ops.op_makers import named
from runtime.ops.shape import product
from runtime.ops.static_arguments import axes_of, axis_of

__all__ = [
    "IndexedSlices",
    "Sparse",
    "SparseTensor",
    "add",
    "combined",
    "dense_of",
    "divide",
    "divided",
    "from_dense",
    "is_sparse",
    "map_values",
    "matmul",
    "maximum",
    "may_be_equal",
    "minimum",
    "multiply",
    "numbered",
    "permuted",
    "reduce_sum",
    "reduced",
    "reorder",
    "scaled",
    "sizes_from",
    "sizes_of",
    "sparse_dense_matmul",
    "text_of",
    "to_dense",
    "unnumbered",
    "without_duplicates",
]

Sizes = tuple[Any, ...]
"""A size for each axis: an int, or an int64 scalar if it is known only at run time."""


class _Operators:
    """Arithmetic of sparse tensors with each other, dense tensors and numbers."""

    __slots__ = ()
    __array_ufunc__: Final = None  # so that `array * sparse` calls the sparse tensor

    def __add__(self, other: Any) -> Any:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return add(self, -other)

    def __rsub__(self, other: Any) -> Any:
        return add(other, -self)

    def __cast__(self, dtype: Any) -> Any:
        return map_values(cast, self, dtype)

    def __neg__(self) -> Any:
        return map_values(lambda values: -values, self)

    def __mul__(self, other: Any) -> Any:
        return multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return divide(other, self)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self)


@dataclasses.dataclass(init=False, repr=False, eq=False, frozen=True)
class SparseTensor(_Operators):
    """A tensor with few non-zero elements (`tf.sparse.SparseTensor`). It can be an argument, a result, or a variable of
    loops and branches, like any structure of tensors.

    `indices`: int64 [n, rank], the position of each value. `values`: [n]. `dense_shape`: the size of each axis, ints or
    a tensor. The order of positions is arbitrary, see `rt.sparse.reorder`. ShapeError if the three are inconsistent,
    DTypeError for indices that are not integers. That indices are within the shape is checked where they are used.
    """

    indices: Tensor
    values: Tensor
    sizes: Sizes

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        sizes = sizes_from(dense_shape)
        values = convert_to_tensor(values, strings=True)
        if isinstance(indices, (list, tuple)) and not indices:
            indices = creation.zeros([0, len(sizes)], t.int64)
        indices = convert_to_tensor(indices)
        if not indices.dtype.is_integer:
            raise DTypeError(f"the indices of a SparseTensor are integers, not {indices.type}",
                             remedy="Cast them: rt.cast(indices, rt.int64).")
        _set(self, "indices", cast(indices, t.int64))
        _set(self, "values", values)
        _set(self, "sizes", sizes)
        places, numbers = indices.type.shape, values.type.shape
        if len(places) != 2 or len(numbers) != 1 or not may_be_equal(places[0], numbers[0]):
            raise ShapeError(f"a SparseTensor has indices of the shape [n, rank] and values of the shape [n], not "
                             f"{text_of(indices.shape)} and {text_of(values.shape)}",
                             remedy="Give one row of indices for each value.")
        if not may_be_equal(places[1], len(sizes)):
            raise ShapeError(f"the indices of the shape {text_of(indices.shape)} have {places[1]} columns, but "
                             f"dense_shape has {len(sizes)} axes", remedy="Give each index one number per axis.")

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return _known(self.sizes)

    @property
    def dense_shape(self) -> Tensor:
        """The shape as a tensor: int64 [rank]."""
        return _as_tensor(self.sizes)

    @property
    def dtype(self) -> t.DType:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return len(self.sizes)

    def get_shape(self) -> TensorShape:
        return self.shape

    def with_values(self, new_values: Any) -> SparseTensor:
        """Other values at the same positions (`tf.SparseTensor.with_values`)."""
        return SparseTensor(self.indices, new_values, self.sizes)

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self.indices!r}, values={self.values!r}, dense_shape={text_of(self.shape)})"


@dataclasses.dataclass(init=False, repr=False, eq=False, frozen=True)
class IndexedSlices(_Operators):
    """Rows `values` for the positions `indices` along the first axis of a tensor that is zero elsewhere
    (`tf.IndexedSlices`). Ops take the whole tensor, in which rows of one position are added; so does `*` of a tensor.

    `values`: [n, ...], `indices`: integers [n]. `dense_shape`: the shape of the whole tensor; without it the rows can
    only be passed to `Variable.scatter_update` and the like.
    """

    values: Any
    indices: Any
    sizes: Sizes | None

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        _set(self, "values", values)
        _set(self, "indices", indices)
        _set(self, "sizes", None if dense_shape is None else sizes_from(dense_shape))

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor."""
        if self.sizes is None:
            return TensorShape([None, *convert_to_tensor(self.values).shape[1:]])
        return _known(self.sizes)

    def __dense__(self) -> Tensor:
        return dense_of(self)

    def numpy(self) -> Any:
        """The whole tensor as an array."""
        return dense_of(self).numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return dense_of(self).__array__(dtype, copy)

    def __mul__(self, other: Any) -> Any:
        return math_ops.multiply(dense_of(self), other) if isinstance(other, Tensor) else multiply(self, other)

    __rmul__ = __mul__

    def __with_rows__(self, values: Any) -> IndexedSlices:
        return IndexedSlices(values, self.indices, self.sizes)

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the whole tensor: int64 [rank]."""
        return None if self.sizes is None else _as_tensor(self.sizes)

    @property
    def dtype(self) -> t.DType:
        return convert_to_tensor(self.values).dtype

    @property
    def ndim(self) -> int:
        return convert_to_tensor(self.values).ndim

    def __repr__(self) -> str:
        return f"IndexedSlices(values={self.values!r}, indices={self.indices!r}, dense_shape={text_of(self.shape)})"


Sparse = SparseTensor | IndexedSlices
_set: Final = object.__setattr__


def is_sparse(x: Any) -> bool:
    return isinstance(x, (SparseTensor, IndexedSlices))


def text_of(sizes: Any) -> str:
    return "[" + ", ".join(["?" if size is None else str(size) for size in sizes]) + "]"


def may_be_equal(m: int | None, n: int | None) -> bool:
    return m is None or n is None or m == n


# Shapes whose sizes may be tensors.

def sizes_from(dense_shape: Any) -> Sizes:
    return tuple([size if isinstance(size, int) else cast(size, t.int64)
                  for size in shape.numbers("the dense_shape of a sparse tensor", dense_shape)])


def _known(sizes: Sizes) -> TensorShape:
    return TensorShape([size if isinstance(size, int) else None for size in sizes])


def _as_tensor(sizes: Sizes) -> Tensor:
    return cast(shape.stack(list(sizes)), t.int64) if sizes else creation.zeros([0], t.int64)


def sizes_of(x: Any) -> Sizes:
    """The sizes of a sparse or dense tensor. InvalidArgumentError for IndexedSlices without a dense_shape."""
    if not is_sparse(x):
        return tuple(shape.dims(x))
    if x.sizes is None:
        raise InvalidArgumentError("these IndexedSlices do not know the shape of the whole",
                                   remedy="Give them a dense_shape.")
    return x.sizes  # type: ignore[no-any-return]


# Positions.

def positions(x: Sparse) -> Tensor:
    """The positions, int64 [n, k]: one row per value."""
    indices = convert_to_tensor(x.indices)
    return indices if isinstance(x, SparseTensor) else cast(indices, t.int64)[:, None]


def at_positions(like: Sparse, where: Tensor, values: Any) -> Any:
    """A sparse tensor of the same class and shape with these positions and values."""
    is_rows = isinstance(like, IndexedSlices)
    return IndexedSlices(values, where[:, 0], like.sizes) if is_rows else SparseTensor(where, values, like.sizes)


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The sparse tensor with `op` applied to the values, whose number must stay the same (`tf.sparse.map_values`).
    Other arguments are passed on to `op`; sparse ones, which must have the same positions, as their values."""
    like = next((x for x in (*args, *kwargs.values()) if is_sparse(x)), None)
    if like is None:
        raise DTypeError("map_values has no sparse tensor among its arguments")
    positional = [x.values if is_sparse(x) else x for x in args]
    named = {name: x.values if is_sparse(x) else x for name, x in kwargs.items()}
    values = op(*positional, **named)
    is_rows = isinstance(like, IndexedSlices)
    return like.__with_rows__(values) if is_rows else SparseTensor(like.indices, values, like.sizes)


def numbered(where: Tensor, sizes: Sequence[Any]) -> Tensor:
    """int64 [n]: the number of each position in row-major order."""
    number = creation.zeros([shape.dim(where, 0)], t.int64)
    for axis, size in enumerate(sizes):
        number = number * size + where[:, axis]
    return number


def unnumbered(numbers: Tensor, sizes: Sequence[Any]) -> Tensor:
    """The positions, int64 [n, k], with these numbers."""
    columns = []
    for size in reversed(sizes):
        columns.append(numbers % size)
        numbers = numbers // size
    return shape.stack(columns[::-1], axis=1) if columns else creation.zeros([shape.dim(numbers, 0), 0], t.int64)


def _columns(x: Sparse) -> Sizes:
    """The sizes of the axes that positions index."""
    return sizes_of(x) if isinstance(x, SparseTensor) else sizes_of(x)[:1]


def _sum_by(values: Tensor, place: Tensor, count: Any) -> Tensor:
    if values.dtype.is_bool:
        return segment_totals(cast(values, t.int32), place, count) > 0
    return segment_totals(values, place, count)


def without_duplicates(x: Sparse, combine: Callable[[Tensor, Tensor, Any], Tensor] = _sum_by) -> Any:
    """The same tensor with distinct positions, of a SparseTensor in row-major order; values at repeated ones are
    added, or combined in another way."""
    sizes = _columns(x)
    distinct, place = sorting.unique(numbered(positions(x), sizes), out_idx=t.int64)
    values = combine(convert_to_tensor(x.values), place, shape.size(distinct))
    return _in_order(at_positions(x, unnumbered(distinct, sizes), values))


def _in_order(x: Sparse) -> Sparse:
    return reorder(x) if isinstance(x, SparseTensor) else x


def _need_one_shape(x: Sparse, y: Sparse) -> None:
    if type(x) is not type(y) or x.ndim != y.ndim or not all(map(may_be_equal, x.shape, y.shape)):
        raise ShapeError(f"{type(x).__name__} of the shape {text_of(x.shape)} and {type(y).__name__} of the shape "
                         f"{text_of(y.shape)} do not fit", remedy="Make one dense: rt.sparse.to_dense(x).")


def combined(
    function: Callable[[Any, Any], Any], x: Sparse, y: Sparse, in_both: bool = False, linear: bool = False
) -> Any:
    """`function` of two sparse tensors of one shape, element by element: at the positions of either or, if `in_both`,
    of both. Elsewhere it must be 0. `linear`: it may be applied before values at repeated positions are added."""
    _need_one_shape(x, y)
    if x.indices is y.indices and (linear or isinstance(x, SparseTensor)):
        return at_positions(x, positions(x), function(x.values, y.values))
    sizes = _columns(x)
    left, right = numbered(positions(x), sizes), numbered(positions(y), sizes)
    distinct, place = sorting.unique(join([left, right], 0), out_idx=t.int64)
    count, n = shape.size(distinct), shape.dim(left, 0)
    a = _sum_by(convert_to_tensor(x.values), place[:n], count)
    b = _sum_by(convert_to_tensor(y.values), place[n:], count)
    if in_both:
        in_x, in_y = [segment_totals(creation.ones_like(part), part, count) for part in (place[:n], place[n:])]
        both = in_x * in_y > 0
        distinct, a, b = boolean_mask(distinct, both), boolean_mask(a, both), boolean_mask(b, both)
    return _in_order(at_positions(x, unnumbered(distinct, sizes), function(a, b)))


def scaled(function: Callable[[Any, Any], Any], x: Sparse, y: Any) -> Any:
    """`function` of a sparse tensor and a dense one or a number, element by element, if it is 0 for zeros of `x`:
    sparse if `y` broadcasts to the shape of `x`, else dense."""
    if isinstance(y, Tensor) and y.ndim:
        if not _fits_into(x, y):
            return function(dense_of(x), y)
        y = gather_nd(shape.broadcast_to(y, list(sizes_of(x))), positions(x))
    return map_values(lambda values: function(values, y), x)


def divided(function: Callable[[Any, Any], Any], x: Sparse, y: Any) -> Any:
    """As `scaled`, for a quotient: it also has the positions where a `y` that is no scalar is 0 or nan."""
    if isinstance(y, Tensor) and y.ndim and _fits_into(x, y):
        more = _undefined(shape.broadcast_to(y, list(sizes_of(x))), x)
        if isinstance(x, IndexedSlices):  # rows of one position stay apart
            present = cast(scatter_nd(positions(x), creation.ones([shape.dim(positions(x), 0)], t.int32),
                                      list(_columns(x))), t.bool_)
            more = boolean_mask(more, logic.logical_not(gather_nd(present, more)))
        values = convert_to_tensor(x.values)
        zeros = creation.zeros([shape.dim(more, 0), *shape.dims(values)[1:]], values.dtype)
        joined = at_positions(x, join([positions(x), more], 0), join([values, zeros], 0))
        x = joined if isinstance(x, IndexedSlices) else without_duplicates(joined)
    return scaled(function, x, y)


def _fits_into(x: Sparse, y: Tensor) -> bool:
    """Whether `y` broadcasts to the shape of `x`."""
    return y.ndim <= x.ndim and broadcast_shapes(tuple(x.shape), tuple(y.shape)) == tuple(x.shape)


def _undefined(divisor: Tensor, x: Sparse) -> Tensor:
    """The positions where 0 divided by the divisor is not 0."""
    wrong = logic.equal(divisor, 0)
    if divisor.dtype.is_floating:
        wrong = logic.logical_or(wrong, math_ops.is_nan(divisor))
    if isinstance(x, IndexedSlices):
        wrong = reduction.reduce_any(wrong, axis=[*range(1, x.ndim)])
    return logic.where(wrong)


# To and from dense tensors.

def to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """The dense tensor (`tf.sparse.to_dense`). Positions without a value get `default_value`. IndexOutOfRangeError for
    a position outside the shape. With `validate_indices`, InvalidArgumentError unless the positions of a SparseTensor
    are in row-major order, each once; without it, values at repeated positions are added."""
    found = dense_of(sp_input, default_value)
    if validate_indices and isinstance(sp_input, SparseTensor):
        place = numbered(sp_input.indices, sp_input.sizes)
        require(reduction.reduce_all(place[1:] > place[:-1]), InvalidArgumentError(
            message("to_dense takes positions in row-major order, each once, not ", sp_input.indices),
            remedy="rt.sparse.reorder(x) sorts them; with validate_indices=False values at repeated ones are added."))
    return named(found, name)


def dense_of(sp_input: Any, default_value: Any = None) -> Tensor:
    """The dense tensor, of positions in any order; values at repeated ones are added."""
    sizes, where, values = list(sizes_of(sp_input)), positions(sp_input), convert_to_tensor(sp_input.values)
    if values.dtype.is_bool:
        dense = scatter_nd(where, cast(values, t.int32), sizes) > 0
    else:
        dense = scatter_nd(where, values, sizes)
    if default_value is None:
        return dense
    present = scatter_nd(where, creation.ones_like(values, dtype=t.int32), sizes) > 0
    return logic.where(present, dense, cast(default_value, dense.dtype))


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The non-zero elements, in row-major order (`tf.sparse.from_dense`)."""
    tensor = convert_to_tensor(tensor, strings=True)
    empty: Any = "" if tensor.dtype.is_string else 0
    where = logic.where(tensor if tensor.dtype.is_bool else logic.not_equal(tensor, empty))
    return SparseTensor(where, gather_nd(tensor, where), sizes_of(tensor))


def _dense(x: Any) -> Tensor:
    return dense_of(x) if is_sparse(x) else convert_to_tensor(x)


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """The same tensor with its positions in row-major order (`tf.sparse.reorder`)."""
    order = sorting.argsort(numbered(sp_input.indices, sp_input.sizes), stable=True)
    return SparseTensor(gather(sp_input.indices, order), gather(sp_input.values, order), sp_input.sizes)


def permuted(sp_input: SparseTensor, perm: Sequence[int] | None) -> SparseTensor:
    """The tensor with its axes permuted (None: reversed); the positions keep their order."""
    rank = sp_input.ndim
    order = [*range(rank)][::-1] if perm is None else [axis_of("transpose", axis, rank) for axis in perm]
    if sorted(order) != [*range(rank)]:
        raise InvalidArgumentError(f"perm={list(perm or ())} is not an order of {rank} axes")
    return SparseTensor(gather(sp_input.indices, order, axis=1), sp_input.values, [sp_input.sizes[i] for i in order])


# Arithmetic.

def add(a: Any, b: Any) -> Any:
    """The sum: sparse if both are sparse, else dense (`tf.sparse.add`)."""
    if is_sparse(a) and is_sparse(b):
        return combined(math_ops.add, a, b, linear=True)
    return _dense(a) + _dense(b)


def maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> Any:
    """The element-wise maximum (`tf.sparse.maximum`)."""
    return combined(math_ops.maximum, sp_a, sp_b)


def minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> Any:
    """The element-wise minimum (`tf.sparse.minimum`)."""
    return combined(math_ops.minimum, sp_a, sp_b)


def _operand(y: Any) -> Any:
    """A dense operand: numbers are kept, so that they adapt to the other's dtype."""
    return y if isinstance(y, (int, float, complex)) else convert_to_tensor(y)


def multiply(x: Any, y: Any) -> Any:
    """The element-wise product: sparse if an operand is sparse. A dense operand broadcasts to the shape of the sparse
    one; if the sparse one would have to broadcast, too, the result is dense."""
    if is_sparse(x) and is_sparse(y):
        return combined(math_ops.multiply, x, y, in_both=True)
    if is_sparse(y):
        x, y = y, x
    return scaled(math_ops.multiply, x, _operand(y))


def divide(x: Any, y: Any) -> Any:
    """`x / y`, element by element: sparse if `x` is sparse and `y` is not. It has the positions of `x`, and those where
    a dense divisor that is no scalar is 0 or nan, whose quotients are not 0."""
    if not is_sparse(x) or is_sparse(y):
        return _dense(x) / _dense(y)
    return divided(math_ops.divide, x, _operand(y))


def reduce_sum(
    sp_input: Any, axis: Any = None, keepdims: bool = False, output_is_sparse: bool = False, name: str | None = None
) -> Any:
    """The sum along axes (None: all): dense, or sparse with `output_is_sparse` (`tf.sparse.reduce_sum`). For
    `IndexedSlices` it is dense if the first axis is summed."""
    found = reduced(sp_input, axes_of("reduce_sum", axis, sp_input.ndim), bool(keepdims), _sum_by)
    return found if output_is_sparse else _dense(found)


def reduced(x: Sparse, gone: Sequence[int], keepdims: bool, combine: Callable[[Tensor, Tensor, Any], Tensor]) -> Any:
    """The values along the axes `gone` combined; of `IndexedSlices` added."""
    sizes = [1 if i in gone else size for i, size in enumerate(sizes_of(x)) if keepdims or i not in gone]
    if isinstance(x, IndexedSlices):
        values = reduction.reduce_sum(x.values, axis=gone, keepdims=keepdims)
        return values if 0 in gone else IndexedSlices(values, x.indices, sizes)
    kept = [i for i in range(x.ndim) if i not in gone]
    kept_sizes = [x.sizes[i] for i in kept]
    where = gather(x.indices, convert_to_tensor(kept, t.int32), axis=1)
    found: SparseTensor = without_duplicates(SparseTensor(where, x.values, kept_sizes), combine)
    if not keepdims:
        return found
    return SparseTensor(unnumbered(numbered(found.indices, kept_sizes), sizes), found.values, sizes)


# Matrix products.

def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The matrix product of a sparse and a dense matrix, in either order (`tf.sparse.sparse_dense_matmul`)."""
    return _dense(matmul(_adjoint(sp_a) if adjoint_a else sp_a, _adjoint(b) if adjoint_b else b))


def _adjoint(x: Any) -> Any:
    x = _transposed(x)
    return map_values(conj, x) if is_sparse(x) else conj(x)


def _transposed(x: Any) -> Any:
    """The tensor with its last two axes exchanged."""
    rank = x.ndim
    order = [*range(rank - 2), rank - 1, rank - 2]
    return permuted(x, order) if isinstance(x, SparseTensor) else shape.transpose(x, order)


def matmul(x: Any, y: Any) -> Any:
    """The matrix product over the last two axes, where one or both operands are sparse: dense, or sparse if both are.
    The leading axes are the same, or the dense operand has none. ShapeError."""
    x, y = [v if isinstance(v, SparseTensor) else _dense(v) for v in (x, y)]
    if x.ndim < 2 or y.ndim < 2 or not (isinstance(x, SparseTensor) or isinstance(y, SparseTensor)):
        return linalg.matmul(x, y) if min(x.ndim, y.ndim) > 1 else linalg.tensordot(_dense(x), _dense(y), 1)
    if not may_be_equal(x.shape[-1], y.shape[-2]):
        raise ShapeError(f"matrices of the shapes {text_of(x.shape)} and {text_of(y.shape)} cannot be multiplied")
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        return _of_sparse(x, y)
    if isinstance(x, SparseTensor):
        return _with_dense(x, y)
    return _transposed(_with_dense(_transposed(y), _transposed(x)))


def _with_dense(x: SparseTensor, y: Tensor) -> Tensor:
    *batch, rows, inner = x.sizes
    columns = shape.dim(y, y.ndim - 1)
    *before, row, column = [x.indices[:, i] for i in range(x.ndim)]
    number = numbered(shape.stack(before, axis=1), batch) if before else 0
    if y.ndim > 2:
        y = shape.reshape(shape.broadcast_to(y, [*batch, inner, columns]), [product([*batch, inner]), columns])
        column = number * inner + column
    parts = x.values[:, None] * gather(y, column)
    found = segment_totals(parts, number * rows + row, product([*batch, rows]))
    return shape.reshape(found, [*batch, rows, columns])


def _of_sparse(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    """Each value of `x` is multiplied by those in the row of `y` that its column selects: consecutive ones if `y` is
    sorted."""
    if x.ndim != y.ndim or not all(map(may_be_equal, x.shape[:-2], y.shape[:-2])):
        raise ShapeError(f"SparseTensors of the shapes {text_of(x.shape)} and {text_of(y.shape)} cannot be multiplied: "
                         "the axes before the matrices differ", remedy="Make one dense: rt.sparse.to_dense(x).")
    *batch, rows, inner = x.sizes
    rank = x.ndim
    key = numbered(gather(x.indices, [*range(rank - 2), rank - 1], axis=1), [*batch, inner])
    other = numbered(y.indices[:, :-1], [*batch, inner])
    order = sorting.argsort(other, stable=True)
    other = gather(other, order)
    first = sorting.searchsorted(other, key, side="left", out_type=t.int64)
    count = sorting.searchsorted(other, key, side="right", out_type=t.int64) - first
    left = repeat(creation.range(shape.size(key, t.int64)), count)
    within = creation.range(shape.size(left, t.int64)) - gather(reduction.cumsum(count, exclusive=True), left)
    right = gather(order, gather(first, left) + within)
    where = join([gather(x.indices[:, :-1], left), gather(y.indices[:, -1:], right)], 1)
    values = gather(x.values, left) * gather(y.values, right)
    product_of: SparseTensor = without_duplicates(SparseTensor(where, values, [*batch, rows, y.sizes[-1]]))
    return product_of
