"""Creating tensors: constants, fills, ranges, identities."""
from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, InvalidArgumentError, OutOfMemoryError, ShapeError, UnimplementedError
from runtime.core.op import Errors, Op, Sample
from runtime.core.positions import located
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.core.types import DType, TensorType, as_dtype, check_room, dtype_of
from runtime.ops.checks import all_of, message, require
from runtime.ops.logic import equal, greater, less, where
from runtime.ops.math import add, cast, divide, maximum, minimum, multiply, subtract
from runtime.ops.op_makers import REAL, apply_one, check_dtype, named
from runtime.ops.reduction import reduce_max
from runtime.ops.shape import BROADCAST_TO, broadcast_to, dims, expand_dims, reshape, shape_argument
from runtime.ops.static_arguments import axis_of, folded


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """A tensor from a Python value or array; with `shape`, a scalar fills it (`tf.constant`).

    A Python int becomes int32 (int64 if too large), a float float32, `str` and `bytes` strings. ShapeError if the value
    does not fit `shape`.
    """
    x = convert_to_tensor(value, dtype, name=None if name == "Const" else name, strings=True)
    if shape is None:
        return x
    if not x.ndim or x.type.size == 1:
        return broadcast_to(reshape(x, []), shape)
    return reshape(x, shape)


def _check_layout(op: str, layout: Any) -> None:
    """Of TF's distributed tensors, which are not there."""
    if layout is not None:
        raise located(UnimplementedError(f"{op} has no layout: tensors are not distributed", remedy="Leave it out."))


def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Tensor:
    """A tensor of shape `dims` filled with the scalar `value` (`tf.fill`). `layout` must be None."""
    _check_layout("fill", layout)
    x = convert_to_tensor(value, strings=True)
    if x.ndim:
        raise ShapeError(f"fill takes a scalar value, not {x.type}")
    return broadcast_to(x, dims, name)


def zeros(shape: Any, dtype: Any = t.float32, name: str | None = None, layout: Any = None) -> Tensor:
    """All 0, of bool False, of string empty (`tf.zeros`). `layout` must be None."""
    _check_layout("zeros", layout)
    return _filled("zeros", shape, 0, as_dtype(dtype), name)


def ones(shape: Any, dtype: Any = t.float32, name: str | None = None, layout: Any = None) -> Tensor:
    """All 1, of bool True (`tf.ones`). `layout` must be None."""
    _check_layout("ones", layout)
    return _filled("ones", shape, 1, as_dtype(dtype), name)


def _filled(op: str, shape: Any, value: int, dtype: DType, name: str | None) -> Tensor:
    known, operand = shape_argument(op, shape)
    if dtype.is_string and (value or current_graph() is not None):
        if value:
            raise DTypeError("ones does not take string: there is no 1 of it")
        return named(broadcast_to(constant(b""), shape), name)
    if any(size is not None and size < 0 for size in known):
        raise ShapeError(f"{op} takes sizes of at least 0, not {list(known)}")
    if current_graph() is None:
        check_room(f"the result of {op}", known, dtype)  # type: ignore[arg-type]
        try:
            if not value and not dtype.is_string:
                return EagerTensor.own(np.zeros(known, dtype.np))  # pages that are allocated at the first write
            return EagerTensor.own(np.full(known, b"" if dtype.is_string else value, dtype.np))
        except MemoryError as exc:
            raise OutOfMemoryError(f"{op} got no memory: {exc}") from None
    operands = () if operand is None else (operand,)
    return named(apply_one(BROADCAST_TO, dtype.as_numpy_dtype(value), *operands, dims=known), name)


def zeros_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Tensor:
    """All 0, of the shape and, without `dtype`, the dtype of `input` (`tf.zeros_like`). `layout` must be
    None."""
    _check_layout("zeros_like", layout)
    x = convert_to_tensor(input, strings=True)
    return _filled("zeros_like", dims(x), 0, x.dtype if dtype is None else as_dtype(dtype), name)


def ones_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Tensor:
    """All 1, of the shape and, without `dtype`, the dtype of `input` (`tf.ones_like`). `layout` must be
    None."""
    _check_layout("ones_like", layout)
    x = convert_to_tensor(input, strings=True)
    return _filled("ones_like", dims(x), 1, x.dtype if dtype is None else as_dtype(dtype), name)


def identity(input: Any, name: str | None = None) -> Tensor:
    """The value of `input` as a tensor (`tf.identity`); for a variable, its current value."""
    return named(convert_to_tensor(input, strings=True), name)


# Ranges.

_INT32: Final = 1 << 31


_arange: Final[Any] = np.arange  # NumPy's stubs require the dtype


def _range_kernel(start: Any, limit: Any, delta: Any, *, length: int | None) -> Any:
    if not delta:
        raise InvalidArgumentError("range takes a delta that is not 0")
    if start.dtype.kind == "f":
        steps = _float_steps(start, limit, delta)
        _check_length(steps, start)
        if not steps:  # NumPy makes one step if the quotient underflows
            return np.empty(0, start.dtype)
        return _arange(start, limit, delta, start.dtype)
    first, step = int(start), int(delta)  # NumPy would count in the dtype, which may overflow, or in floats
    count = _int_steps(first, int(limit), step)
    _check_length(count, start)
    return _arange(first, first + count * step, step, start.dtype)


def _int_steps(first: int, limit: int, step: int) -> int:
    """The length of a range of ints, even beyond 64 bits, where `len` raises."""
    return max(0, -((first - limit) // step))


def _float_steps(start: Any, limit: Any, delta: Any) -> float:
    """The length as NumPy computes it, in the dtype; may be NaN or infinite."""
    with np.errstate(all="ignore"):
        steps = float(np.ceil(np.float64((limit - start) / delta)))
    return 0.0 if steps < 0 else steps


def _check_length(count: float, start: Any) -> None:
    """Raise an error if the length is NaN or too large for a tensor."""
    if count != count:
        raise ShapeError("range takes a start, limit and delta with a number of steps between them, "
                         "not nan or infinities")
    check_room("the result of range", [int(min(count, 2.0 ** 63))], dtype_of(start))


def _range_rule(start: TensorType, limit: TensorType, delta: TensorType, *, length: int | None) -> TensorType:
    check_dtype("range", start.dtype, REAL)
    if start.ndim or limit.ndim or delta.ndim or not start.dtype is limit.dtype is delta.dtype:
        raise DTypeError(f"range takes scalars of one dtype, not {start}, {limit} and {delta}")
    return TensorType(start.dtype, (length,))


def _range_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in REAL:
        for start, limit, delta in ((0, 5, 1), (2, 11, 3), (4, 4, 1)):
            scalars = tuple(dtype.as_numpy_dtype(v) for v in (start, limit, delta))
            yield scalars, {"length": None}
            yield scalars, {"length": len(builtins.range(start, limit, delta))}
    yield (np.int32(5), np.int32(0), np.int32(-2)), {"length": 3}
    for scalars in ((np.uint16(5), np.uint16(3), np.uint16(1)), (np.int8(-100), np.int8(100), np.int8(3)),
                    (np.int8(100), np.int8(-100), np.int8(-128)),
                    (np.int64(-1 << 63), np.int64(1 << 62), np.int64(1 << 61))):
        yield scalars, {"length": None}


def _range_errors(node: Any) -> Errors:
    limits, delta = node.operands[:2], node.operands[2].constant
    if limits[0].type.dtype.is_floating:
        return InvalidArgumentError, ShapeError
    return () if delta is not None and delta else (InvalidArgumentError,)


RANGE: Final = Op("range", _range_kernel, _range_rule, agree=slice(0, 3), samples=_range_samples,
                  errors=_range_errors,
                  doc="start, start + delta, ... before limit; `length`: how many, where it is known.")


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Tensor:
    """start, start + delta, ... before limit, a tensor of rank 1; `range(n)` from 0 (`tf.range`).

    InvalidArgumentError if delta is 0. Without a step between them, as in `range(5, 0)`, the tensor is empty, as
    Python's range; TF raises InvalidArgumentError.
    """
    if limit is None:
        start, limit = 0, start
    bounds = [_in_reach(start, limit, delta), limit, delta]
    if (dtype is None and current_graph() is None
            and all(type(b) is int and -_INT32 <= b < _INT32 for b in bounds) and delta):
        return EagerTensor.own(_range_kernel(*map(np.int32, bounds), length=None))
    if dtype is not None:
        bounds = [cast(bound, dtype) for bound in bounds]
    elif not any(isinstance(bound, Tensor) for bound in bounds):
        bounds = [convert_to_tensor(b) for b in np.array(bounds)] if _has_numpy(bounds) else _plain(bounds)
    return named(apply_one(RANGE, *bounds, length=_range_length(bounds)), None if name == "range" else name)


def _in_reach(start: Any, limit: Any, delta: Any) -> Any:
    """The start clamped to the limit if it is a weak graph int, such as `i * i`: beyond, int32 may not hold it."""
    if not (isinstance(start, GraphTensor) and start.type.weak is True and start.dtype.is_integer):
        return start
    if isinstance(delta, int):
        return minimum(start, limit) if delta > 0 else maximum(start, limit)
    return where(greater(delta, 0), minimum(start, limit), maximum(start, limit))


def _has_numpy(bounds: list[Any]) -> bool:
    return any(isinstance(bound, (np.generic, np.ndarray)) for bound in bounds)


def _plain(bounds: list[Any]) -> list[Any]:
    """Python numbers as tensors of their common dtype, not weak."""
    kind = t.float32 if any(isinstance(bound, float) for bound in bounds) else None
    if kind is None and any(type(bound) is int and not -_INT32 <= bound < _INT32 for bound in bounds):
        kind = t.int64
    return [convert_to_tensor(bound, kind) for bound in bounds]


def _range_length(bounds: list[Any]) -> int | None:
    """The length of a range as NumPy computes it, if all bounds are known; else None."""
    known = [folded(b.value) if isinstance(b, GraphTensor) else b for b in bounds]
    if any(value is None for value in known):
        return None
    kind = next(b.dtype.as_numpy_dtype for b in bounds if isinstance(b, Tensor))
    start, limit, delta = (kind(np.asarray(value)) for value in known)
    if not delta:
        return None
    if kind(0).dtype.kind != "f":
        return _int_steps(int(start), int(limit), int(delta))
    steps = _float_steps(start, limit, delta)
    return int(steps) if math.isfinite(steps) else None


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: Any = 0) -> Tensor:
    """`num` values evenly spaced from `start` to `stop`, both included, along a new axis (`tf.linspace`).

    The dtype is that of the bound that is a tensor of floats; else float32 for floats of Python and for ints of 8 and
    16 bits, and float64 for other ints, also of Python, as their quotients are.
    """
    bounds = [x if type(x) in (int, float) else convert_to_tensor(x) for x in (start, stop)]
    dtypes = [x.dtype for x in bounds if isinstance(x, Tensor)]
    hint = next((kind for kind in dtypes if not kind.is_integer), None)
    if hint is None:
        is_small = dtypes and all(kind.size < 4 for kind in dtypes)
        hint = t.float32 if is_small or any(type(x) is float for x in bounds) else t.float64
    first, last = (cast(x, hint) if isinstance(x, Tensor) and x.dtype.is_integer else
                   convert_to_tensor(x, dtype_hint=hint) for x in bounds)
    if first.type.shape != last.type.shape:  # they broadcast
        first, last = where(True, first, last), where(False, first, last)
    place = axis_of("linspace", axis, first.ndim + 1)
    count = range(num, dtype=t.int64)
    steps = reshape(count, [-1] + [1] * (first.ndim - place))
    last_index = subtract(cast(num, t.int64), 1)
    low, high = expand_dims(first, place), expand_dims(last, place)
    pieces = cast(where(less(last_index, 1), np.int64(1), last_index), first.dtype)
    even = add(low, multiply(divide(subtract(high, low), pieces), cast(steps, first.dtype)))
    exact = where(equal(steps, last_index), high, even)
    return named(where(equal(last_index, 0), low, exact), name)


# Identities and masks.

def eye(num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = t.float32,
        name: str | None = None) -> Tensor:
    """The identity matrix, or a batch of them (`tf.eye`). ShapeError for a size below 0."""
    columns = num_rows if num_columns is None else num_columns
    require(all_of(num_rows >= 0, columns >= 0), ShapeError(message(
        "eye takes sizes of at least 0, not ", num_rows, " and ", columns)))
    diagonal = equal(expand_dims(range(num_rows, dtype=t.int64), 1), range(columns, dtype=t.int64))
    result = cast(diagonal, dtype)
    if batch_shape is not None:
        batch, operand = shape_argument("eye", batch_shape)
        leading: list[Any] = [b if b is not None else operand[i]  # type: ignore[index]
                              for i, b in enumerate(batch)]
        result = broadcast_to(result, [*leading, *dims(result)])
    return named(result, name)


def one_hot(indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: Any = None,
            dtype: Any = None, name: str | None = None) -> Tensor:
    """`on_value` (1) at the index along a new axis of size `depth`, `off_value` (0) elsewhere (`tf.one_hot`).

    The dtype is that of the values, by default float32. An index out of range sets no `on_value`.
    InvalidArgumentError for a depth below 0.
    """
    x = convert_to_tensor(indices)
    require(depth >= 0, InvalidArgumentError(message("one_hot takes a depth of at least 0, not ", depth)))
    if not x.dtype.is_integer:
        raise DTypeError(f"one_hot takes int indices, not {x.dtype.name}", remedy="Cast them to rt.int32.")
    place = axis_of("one_hot", -1 if axis is None else axis, x.ndim + 1)
    want = None if dtype is None else as_dtype(dtype)
    if want is None:
        value = next((v for v in (on_value, off_value) if v is not None), None)
        want = t.float32 if value is None else convert_to_tensor(value).dtype
    on = convert_to_tensor(1 if on_value is None else on_value, want) if not want.is_bool else on_value is not False
    off = convert_to_tensor(0 if off_value is None else off_value, want) if not want.is_bool else bool(off_value)
    classes = reshape(range(cast(depth, x.dtype)) if isinstance(depth, GraphTensor)
                      else cast(range(depth), x.dtype), [-1] + [1] * (x.ndim - place))
    return named(where(equal(expand_dims(x, place), classes), on, off), name)


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = t.bool_, name: str | None = None) -> Tensor:
    """Whether a position is within each length: bool[..., maxlen], by default the longest (`tf.sequence_mask`)."""
    x = convert_to_tensor(lengths)
    most = reduce_max(x) if maxlen is None else maxlen
    mask = less(range(cast(most, x.dtype)), expand_dims(x, -1))
    return cast(mask, dtype, name)


def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Coordinate grids of tensors of rank 1 (`tf.meshgrid`); `indexing` "xy" swaps the first two axes."""
    if indexing not in ("xy", "ij"):
        raise located(ValueError(f"meshgrid takes the indexing 'xy' or 'ij', not {indexing!r}"))
    xs = [reshape(x, [-1]) for x in args]
    places = list(builtins.range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        places[0], places[1] = 1, 0
    sizes: list[Any] = [None] * len(xs)
    for x, place in zip(xs, places, strict=True):
        (sizes[place],) = dims(x)
    return [broadcast_to(reshape(x, [-1 if axis == place else 1 for axis in builtins.range(len(xs))]), sizes)
            for x, place in zip(xs, places, strict=True)]
