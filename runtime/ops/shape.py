"""Shapes: querying and changing them."""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, ShapeError
from runtime.core.op import CAST, Errors, Op, Sample, unknown_shape
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located
from runtime.core.string_arrays import of_scalars
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.trace import apply, constant_tensor, convert_to_tensor
from runtime.core.types import (
    DType,
    Shape,
    TensorShape,
    TensorType,
    broadcast_shapes,
    check_room,
    dtype_of,
    shape_text,
)
from runtime.ops.complex_numbers import conj
from runtime.ops.math import multiply
from runtime.ops.op_makers import apply_one, named
from runtime.ops.static_arguments import (
    axes_of,
    axis_of,
    known_elements,
    length_of_range,
    no_ints,
    static_int,
    static_ints,
)

Dims = tuple[int | None, ...]


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """The index `part` along dimension `axis`, with all preceding dimensions complete."""
    return (*(slice(None),) * axis, part)


# Queries.

def _dim_kernel(x: Any, *, axis: int, dtype: DType = t.int32) -> Any:
    return _count_as(x.shape[axis], dtype)


def _count_as(count: int, dtype: DType) -> Any:
    """A number of elements as an int dtype. ShapeError if it does not fit."""
    if count > dtype.limits[1]:
        raise ShapeError(f"a size of {count} does not fit {dtype.name}",
                         remedy="Ask for it as int64: rt.shape(x, out_type=rt.int64), rt.size(x, rt.int64).")
    return dtype.as_numpy_dtype(count)


def _dim_rule(x: TensorType, *, axis: int, dtype: DType = t.int32) -> TensorType:
    if not 0 <= axis < x.ndim:
        raise ShapeError(f"axis {axis} is out of range for a tensor of rank {x.ndim}")
    return TensorType(dtype)


def _dim_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for axis in range(3):
        yield (rng.random((2, 0, 3)),), {"axis": axis}


DIM: Final = Op("dim", _dim_kernel, _dim_rule, samples=_dim_samples,
                doc="The size of one dimension: a scalar of an int dtype.")


def _size_kernel(x: Any, *, dtype: DType) -> Any:
    return _count_as(x.size, dtype)


def _size_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for shape, dtype in (((), t.int32), ((2, 3), t.int64), ((4, 0), t.uint8)):
        yield (rng.random(shape),), {"dtype": dtype}


SIZE: Final = Op("size", _size_kernel, lambda x, *, dtype: TensorType(dtype), samples=_size_samples,
                 doc="The number of elements: a scalar of an int dtype.")


def dim(x: Tensor, axis: int, dtype: DType = t.int32) -> Any:
    """The size of dimension `axis`: an int where it is known, else a scalar tensor of an int dtype.

    ShapeError at run time if `dtype` cannot hold it.
    """
    size = x._array.shape[axis] if isinstance(x, EagerTensor) else x.type.shape[axis]
    if size is not None:
        return size
    axis %= x.ndim
    return apply(DIM, x, axis=axis) if dtype is t.int32 else apply(DIM, x, axis=axis, dtype=dtype)


def dims(x: Tensor, dtype: DType = t.int64) -> list[Any]:
    """The sizes of all dimensions of `x`, as returned by `dim`; int64 can hold any."""
    return [dim(x, axis, dtype) for axis in range(x.ndim)]


def shape(input: Any, out_type: Any = t.int32, name: str | None = None) -> Tensor:
    """The shape as an int tensor of rank 1, known at run time (`tf.shape`); `x.shape` is the static shape."""
    x = convert_to_tensor(input, strings=True)
    dtype = t.as_dtype(out_type)
    sizes = dims(x, dtype)
    if all(type(size) is int for size in sizes):
        return constant_tensor(np.array([_count_as(size, dtype) for size in sizes], dtype.np), name)
    return named(_as_dtype(apply_one(STACK, *sizes, axis=0), dtype), name)


def size(input: Any, out_type: Any = t.int32, name: str | None = None) -> Tensor:
    """The number of elements, a scalar int tensor (`tf.size`)."""
    x = convert_to_tensor(input, strings=True)
    dtype = t.as_dtype(out_type)
    if x.type.size is None:
        return named(apply_one(SIZE, x, dtype=dtype), name)
    return constant_tensor(np.array(_count_as(x.type.size, dtype)), name)


def _as_dtype(x: Tensor, dtype: DType) -> Tensor:
    return x if x.dtype is dtype else apply_one(CAST, x, dtype=dtype)


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions, int32[] (`tf.rank`)."""
    return convert_to_tensor(convert_to_tensor(input, strings=True).ndim, name=name)


def shape_n(input: Sequence[Any], out_type: Any = t.int32, name: str | None = None) -> list[Tensor]:
    """The shape of each of several tensors (`tf.shape_n`)."""
    return [shape(x, out_type, name) for x in input]


def product(sizes: Iterable[Any]) -> Any:
    """The product of ints and integer scalar tensors: an int if all are ints, else int64."""
    known, result = 1, None
    for item in sizes:
        if type(item) is int:
            known *= item
        else:
            wide = _as_dtype(item, t.int64)
            result = wide if result is None else multiply(result, wide)
    return known if result is None else result if known == 1 else multiply(result, known)


# Shapes as arguments. Dims are the known dimensions; if some are unknown, an operand has the whole shape.

def shape_argument(op: str, shape: Any) -> tuple[Dims, Tensor | None]:
    """The known dims of a shape given as ints, tensors, a TensorShape or a mixture; and, if some are unknown, the whole
    shape as a tensor."""
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    if isinstance(shape, GraphTensor) or hasattr(type(shape), "__tensor__"):
        x = convert_to_tensor(shape)
        return _shape_of_graph(op, x) if isinstance(x, GraphTensor) else shape_argument(op, x)
    if isinstance(shape, (EagerTensor, np.ndarray)):
        return static_ints(f"the shape of {op}", shape), None
    items = list(shape) if isinstance(shape, Iterable) else [shape]
    if any(item is None for item in items):
        raise ShapeError(f"{op} takes a known shape, not {shape_text(tuple(items))}",
                         remedy="Take the unknown dimension from a tensor: rt.shape(x)[0].")
    try:
        known = [static_int(item) for item in items]
    except TypeError:
        raise DTypeError(f"{op} takes a shape of ints, not {shape!r}",
                         remedy="Give a list of ints, such as [2, 3], or an int tensor of rank 1.") from None
    if None not in known:
        return tuple(known), None
    kinds = {item.dtype for item in items if isinstance(item, Tensor)}
    if len(kinds) > 1 or not all(_fits(size, kind) for size in known for kind in kinds):  # mixed int dtypes
        items = [_as_dtype(item, t.int64) if isinstance(item, Tensor) else item for item in items]
    return tuple(known), stack(items)


def _shape_of_graph(op: str, x: GraphTensor) -> tuple[Dims, Tensor | None]:
    if not x.dtype.is_integer:
        raise DTypeError(f"{op} takes a shape of ints, not {x.dtype.name}")
    if x.type.shape == (None,) and (length := length_of_range(x)) is not None:
        return shape_argument(op, reshape(x, [length]))  # which checks it
    known = [static_int(x)] if not x.ndim else known_elements(x)
    if known is None:
        raise located(ShapeError(
            f"{op} takes a shape of known length, not a tensor {x.type}: a graph must know every rank",
            remedy="Give the shape as a list, such as [n, 3]."))
    return tuple(known), None if None not in known else x if x.ndim else expand_dims(x, 0)


def _fits(size: int | None, dtype: DType) -> bool:
    return size is None or dtype.limits[0] <= size <= dtype.limits[1]


def numbers(what: str, values: Any) -> list[Any]:
    """The elements of a list or rank-1 tensor of known length: ints if known, else scalar tensors."""
    if not isinstance(values, GraphTensor):
        items = values if isinstance(values, (Sequence, np.ndarray, EagerTensor, TensorShape)) else [values]
        try:
            return [item if static_int(item) is None else static_int(item) for item in items]
        except TypeError:
            raise no_ints(what, values) from None
    known = known_elements(values)
    if known is None:
        raise ShapeError(f"{what} must be a tensor of known length, not {values.type}")
    return [OPERATIONS.getitem(values, i) if item is None else item for i, item in enumerate(known)]


def _wanted(dims: Dims, operand: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape in a kernel: that of the operand, if there is one."""
    return tuple(operand[0].tolist()) if operand else dims  # type: ignore[return-value]


def _check_operand(op: str, operand: tuple[TensorType, ...], dims: Dims) -> None:
    if operand and (operand[0].ndim != 1 or not operand[0].dtype.is_integer):
        raise ShapeError(f"{op} takes its shape as an int tensor of rank 1, not {operand[0]}")
    if operand and operand[0].shape[0] not in (None, len(dims)):
        raise ShapeError(f"{op} takes its shape as an int tensor of {len(dims)} elements, not {operand[0]}")


# Reshape.

def _reshape_kernel(x: Any, *shape: Any, dims: Dims) -> Any:
    wanted = _wanted(dims, shape)
    known = math.prod([size for size in wanted if size != -1])  # NumPy would count in 64 bits, and take -2 for -1
    fits = known == x.size if -1 not in wanted else known and not x.size % known
    if not fits or min(wanted, default=0) < -1 or wanted.count(-1) > 1:
        raise ShapeError(f"a tensor of shape {shape_text(x.shape)} cannot become {shape_text(wanted)}")
    if not x.size:
        check_room("the result of reshape", [max(size, 0) for size in wanted], dtype_of(x))
    return np.reshape(x, wanted)


def _reshape_rule(x: TensorType, *shape: TensorType, dims: Dims) -> TensorType:
    _check_operand("reshape", shape, dims)
    if any(dim is not None and dim < -1 for dim in dims) or dims.count(-1) > 1:
        raise ShapeError(f"reshape takes sizes of at least 0 and at most one -1, not {shape_text(dims)}")
    known = [dim for dim in dims if dim is not None and dim >= 0]
    size, rest = x.size, math.prod(known)
    if size is None or len(known) < len(dims) - 1:
        return x.with_shape(tuple(None if dim == -1 else dim for dim in dims))
    if len(known) < len(dims):  # the missing size follows from the others
        if rest == 0 and size == 0 and None in dims:
            return x.with_shape(dims)
        if rest == 0 or size % rest:
            raise ShapeError(f"a tensor of shape {shape_text(x.shape)} cannot become {shape_text(dims)}")
        return x.with_shape(tuple(size // rest if dim is None or dim == -1 else dim for dim in dims))
    if size != rest:
        raise ShapeError(f"a tensor of shape {shape_text(x.shape)} cannot become {shape_text(dims)}")
    return x.with_shape(dims)


def _reshape_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for source, target in (((), ()), ((), (1, 1)), ((6,), (2, 3)), ((2, 3), (3, -1)), ((2, 0), (0, 5)),
                           ((4, 3), (-1,)), ((2, 3, 4), (6, 4))):
        x = rng.random(source)
        yield (x,), {"dims": target}
        yield (x, np.array(target, np.int32)), {"dims": tuple(None for _ in target)}
        if target:
            yield (x, np.array(target, np.int64)), {"dims": (None, *target[1:])}


def _reshape_errors(node: Any) -> Errors:
    """No errors if the shapes are known, or the result has one dimension of size -1."""
    dims = node.params["dims"]
    flat = len(node.operands) == 1 and -1 in dims and all(dim in (-1, 1) for dim in dims)
    return () if flat else unknown_shape(node)


RESHAPE: Final = Op("reshape", _reshape_kernel, _reshape_rule, samples=_reshape_samples,
                    errors=_reshape_errors,
                    doc="Another shape, whose known dims are `dims`; if one is None, the operand has them all.")


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements in another shape, one size of which may be -1: it is computed (`tf.reshape`).

    ShapeError if the number of elements differs.
    """
    known, operand = shape_argument("reshape", shape)
    if operand is None:
        return named(apply_one(RESHAPE, tensor, dims=known), name)
    return named(apply_one(RESHAPE, tensor, operand, dims=known), name)


# Broadcast.

def _broadcast_kernel(x: Any, *shape: Any, dims: Dims) -> Any:
    wanted = _wanted(dims, shape)
    if min(wanted, default=0) >= 0:
        check_room("the result of broadcast_to", wanted, dtype_of(x))
    try:
        return np.broadcast_to(x, wanted)
    except ValueError:
        raise ShapeError(f"a tensor of shape {shape_text(x.shape)} does not broadcast to "
                         f"{shape_text(wanted)}") from None


def _broadcast_rule(x: TensorType, *shape: TensorType, dims: Dims) -> TensorType:
    _check_operand("broadcast_to", shape, dims)
    if any(dim is not None and dim < 0 for dim in dims):
        raise ShapeError(f"broadcast_to takes sizes of at least 0, not {shape_text(dims)}")
    result = broadcast_shapes(x.shape, dims, what="the tensor and the shape given to broadcast_to")
    if len(result) != len(dims) or any(
            dim is not None and dim != size and size is not None for dim, size in zip(dims, result, strict=True)):
        raise ShapeError(f"a tensor of shape {shape_text(x.shape)} does not broadcast to {shape_text(dims)}")
    return x.with_shape(tuple(size if dim is None else dim for dim, size in zip(dims, result, strict=True)))


def _broadcast_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for source, target in (((), ()), ((), (2, 3)), ((3,), (2, 3)), ((2, 1), (4, 2, 3)), ((1,), (0,))):
        x = rng.random(source)
        yield (x,), {"dims": target}
        yield (x, np.array(target, np.int32)), {"dims": tuple(None for _ in target)}


BROADCAST_TO: Final = Op("broadcast_to", _broadcast_kernel, _broadcast_rule, samples=_broadcast_samples,
                         errors=unknown_shape,
                         doc="The tensor repeated to a shape, whose known dims are `dims`, as in reshape.")


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """The tensor repeated along new and 1-sized dimensions to `shape` (`tf.broadcast_to`)."""
    known, operand = shape_argument("broadcast_to", shape)
    operands = () if operand is None else (operand,)
    return named(apply_one(BROADCAST_TO, input, *operands, dims=known), name)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The TensorShape that two TensorShapes broadcast to (`tf.broadcast_static_shape`)."""
    return TensorShape(broadcast_shapes(tuple(TensorShape(shape_x)), tuple(TensorShape(shape_y))))


# New and 1-sized dimensions.

def _expand_kernel(x: Any, *, axis: tuple[int, ...]) -> Any:
    return np.expand_dims(x, axis)


def _expand_rule(x: TensorType, *, axis: tuple[int, ...]) -> TensorType:
    sizes = iter(x.shape)
    return x.with_shape(tuple(1 if i in axis else next(sizes) for i in range(x.ndim + len(axis))))


def _expand_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for source, axis in (((), (0,)), ((3,), (1,)), ((2, 3), (0, 2)), ((0, 3), (1, 3))):
        yield (rng.random(source),), {"axis": axis}


EXPAND_DIMS: Final = Op("expand_dims", _expand_kernel, _expand_rule, samples=_expand_samples,
                        doc="1-sized dimensions inserted, so that they are at the axes `axis` of the result.")


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """A dimension of size 1 inserted at `axis` of the result (`tf.expand_dims`); a list of axes, at each."""
    x = convert_to_tensor(input, strings=True)
    several = static_ints("the axis of expand_dims", axis)
    axes = axes_of("expand_dims", several, x.ndim + len(several))
    return named(apply_one(EXPAND_DIMS, x, axis=axes), name)


def _squeeze_kernel(x: Any, *, axis: tuple[int, ...]) -> Any:
    if any(x.shape[a] != 1 for a in axis):
        raise ShapeError(f"squeeze drops dimensions of size 1, not axes {list(axis)} of {shape_text(x.shape)}")
    return np.squeeze(x, axis)


def _squeeze_rule(x: TensorType, *, axis: tuple[int, ...]) -> TensorType:
    if any(x.shape[a] not in (1, None) for a in axis):
        raise ShapeError(f"squeeze drops dimensions of size 1, not axes {list(axis)} of {shape_text(x.shape)}")
    return x.with_shape(tuple(size for a, size in enumerate(x.shape) if a not in axis))


def _squeeze_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for source, axis in (((1,), (0,)), ((2, 1, 3, 1), (1, 3)), ((2, 1), (1,)), ((0, 1), (1,)), ((2,), ())):
        yield (rng.random(source),), {"axis": axis}


def _squeeze_errors(node: Any) -> Errors:
    shape = node.operands[0].type.shape
    return () if all(shape[a] == 1 for a in node.params["axis"]) else (ShapeError,)


SQUEEZE: Final = Op("squeeze", _squeeze_kernel, _squeeze_rule, samples=_squeeze_samples,
                    errors=_squeeze_errors,
                    doc="The dimensions `axis`, each of size 1, dropped.")


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """The tensor without the dimensions `axis`, each of size 1; by default without all of size 1 (`tf.squeeze`)."""
    x = convert_to_tensor(input, strings=True)
    if axis is None or axis == []:
        if None in x.type.shape:
            raise ShapeError(f"squeeze without an axis takes a known shape, not {x.type}: a graph must know "
                             "every rank", remedy="Name the axes to drop: rt.squeeze(x, axis=[...]).")
        axes = tuple(a for a, size in enumerate(x.type.shape) if size == 1)
    else:
        axes = tuple(sorted({axis_of("squeeze", a, x.ndim) for a in static_ints("the axis of squeeze", axis)}))
    return named(apply_one(SQUEEZE, x, axis=axes), name)


# Transpose.

def _transpose_kernel(x: Any, *, perm: tuple[int, ...]) -> Any:
    return np.transpose(x, perm)


def _transpose_rule(x: TensorType, *, perm: tuple[int, ...]) -> TensorType:
    if sorted(perm) != list(range(x.ndim)):
        raise ShapeError(f"transpose of a tensor of rank {x.ndim} takes a permutation of its axes, not {list(perm)}")
    return x.with_shape(tuple(x.shape[a] for a in perm))


def _transpose_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for source, perm in (((), ()), ((3,), (0,)), ((2, 3), (1, 0)), ((2, 0, 4), (2, 0, 1))):
        yield (rng.random(source),), {"perm": perm}


TRANSPOSE: Final = Op("transpose", _transpose_kernel, _transpose_rule, samples=_transpose_samples,
                      doc="Axis i of the result is axis `perm[i]`.")


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Tensor:
    """The tensor with its axes in the order `perm`, by default reversed (`tf.transpose`)."""
    x = convert_to_tensor(a, strings=True)
    if perm is None:
        order = tuple(range(x.ndim))[::-1]
    else:
        order = tuple(axis_of("transpose", i, x.ndim) for i in static_ints("the perm of transpose", perm))
    result = apply_one(TRANSPOSE, x, perm=order)
    if conjugate and x.dtype.is_complex:
        result = conj(result)
    return named(result, name)


# Stack, here because partly known shapes are stacks of scalars.

def moveaxis(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """The tensor with one or several axes moved; the others keep their order."""
    places, targets = ([axis % x.ndim for axis in ((axes,) if isinstance(axes, int) else axes)]
                       for axes in (source, destination))
    order = [axis for axis in range(x.ndim) if axis not in places]
    for target, place in sorted(zip(targets, places, strict=True)):
        order.insert(target, place)
    return x if order == sorted(order) else transpose(x, order)


def _stack_kernel(*xs: Any, axis: int) -> Any:
    first = xs[0]
    if not first.ndim:
        return of_scalars(xs, first.dtype)
    if any(x.shape != first.shape for x in xs):
        texts = " and ".join(dict.fromkeys(shape_text(x.shape) for x in xs))
        raise ShapeError(f"the tensors given to stack have different shapes: {texts}")
    return np.stack(xs, axis)


def _stack_rule(*xs: TensorType, axis: int) -> TensorType:
    if not xs:
        raise ShapeError("stack takes at least one tensor")
    shape: Shape = xs[0].shape
    for x in xs:
        if not t.compatible_shapes(shape, x.shape):
            texts = " and ".join(dict.fromkeys(shape_text(x.shape) for x in xs))
            raise ShapeError(f"the tensors given to stack have different shapes: {texts}")
        shape = tuple(b if a is None else a for a, b in zip(shape, x.shape, strict=True))
    shape = (*shape[:axis], len(xs), *shape[axis:])
    return TensorType(xs[0].dtype, shape, all(x.weak for x in xs))


def _stack_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for count, source, axis in ((1, (), 0), (3, (), 0), (2, (3,), 1), (2, (2, 3), 0), (3, (2, 0), 2)):
        yield tuple(rng.random(source) for _ in range(count)), {"axis": axis}


STACK: Final = Op("stack", _stack_kernel, _stack_rule, agree=slice(None), joins=True, samples=_stack_samples,
                  doc="Tensors of one shape along a new axis.")


def stack(values: Any, axis: Any = 0, name: str | None = None) -> Tensor:
    """Tensors of one shape and dtype stacked along a new axis, `axis` of the result (`tf.stack`)."""
    if isinstance(values, (list, tuple)):
        if not values:
            raise ShapeError("stack takes at least one tensor")
        ranks = [item.ndim for item in values if isinstance(item, Tensor)]
        if ranks:  # Python numbers and lists of them adapt to the tensors
            return named(apply_one(STACK, *values, axis=axis_of("stack", axis, ranks[0] + 1)), name)
    x = convert_to_tensor(values, strings=True)
    return x if axis == 0 else named(moveaxis(x, 0, axis_of("stack", axis, x.ndim)), name)


OPERATIONS.define(stack=stack)
