"""Several diagonals of matrices at a time: `tf.linalg.diag`, `diag_part` and `set_diag` with all their arguments.

Diagonal d of a matrix consists of the elements [i, i + d]. In an array of diagonals each is a row, the uppermost first;
shorter ones are aligned to the left or to the right, and padded.
"""
from __future__ import annotations

from typing import Any

from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_beside, convert_to_tensor
from runtime.core.types import int64
from runtime.ops import linalg
from runtime.ops.checks import all_of, message, require, same
from runtime.ops.creation import range as range_
from runtime.ops.gather import gather
from runtime.ops.logic import greater_equal, less, less_equal, logical_and, where
from runtime.ops.math import add, cast, clip_by_value, maximum, minimum, multiply, subtract
from runtime.ops.op_makers import named
from runtime.ops.shape import dims, expand_dims, reshape, squeeze

__all__ = ["diag", "diag_part", "set_diag"]

_ALIGN = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def diag(
    diagonal: Any, name: str | None = None, k: Any = 0, num_rows: int = -1, num_cols: int = -1, padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the last axis on their diagonal `k`, elsewhere `padding_value` (`tf.linalg.diag`).

    For a pair `k` of the lowest and the highest diagonal the last two axes are these diagonals, uppermost first;
    `align` tells how shorter ones above and below the main one are aligned. The matrices are square, and as small as
    possible, unless `num_rows` or `num_cols` is given. ShapeError, InvalidArgumentError.
    """
    if type(k) is int and k == 0 and num_rows == num_cols == -1 and type(padding_value) is int and not padding_value:
        return linalg.diag(diagonal, name)
    low, high = _band(k, align)
    x = _rows_of("diag", convert_to_tensor(diagonal), low, high)
    longest = _sizes(x)[-1]
    least = _plus(longest, -min(high, 0)), _plus(longest, max(low, 0))
    if num_rows == num_cols == -1:
        rows = columns = _larger(*least)
    else:
        rows, columns = [size if requested == -1 else requested
                         for size, requested in zip(least, (num_rows, num_cols), strict=True)]
    inside, values = _placed(x, rows, columns, low, high, align)
    return where(inside, values, convert_beside(padding_value, x.dtype), name)


def set_diag(input: Any, diagonal: Any, name: str | None = None, k: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with diagonals `k`, or from `k[0]` to `k[1]`, replaced by those of `diagonal`, in the layout of `diag`
    (`tf.linalg.set_diag`). ShapeError, InvalidArgumentError."""
    x = convert_to_tensor(input)
    low, high = _band(k, align)
    values = _rows_of("set_diag", convert_beside(diagonal, x.dtype), low, high)
    rows, columns = _size("set_diag", x, low, high)
    found, wanted = _sizes(values)[-2:], (high - low + 1, _longest(rows, columns, low, high))
    require(all_of(*map(same, found, wanted)), ShapeError(message(
        "set_diag takes diagonals of the shape ", wanted[low == high:], " here, not ", found[low == high:])))
    if low == high == 0 and type(rows) is int and rows == columns:
        return linalg.set_diag(x, diagonal, name)
    inside, values = _placed(values, rows, columns, low, high, align)
    return where(inside, values, x, name)


def diag_part(
    input: Any, name: str | None = None, k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """The diagonals `k` of matrices [..., n, m] (`tf.linalg.diag_part`).

    For a pair `k` of the lowest and the highest diagonal the last two axes are these diagonals, uppermost first;
    shorter ones are padded with `padding_value` at the end given by `align`. ShapeError, InvalidArgumentError.
    """
    x = convert_to_tensor(input)
    if type(k) is int and k == 0:
        return linalg.diag_part(x, name)
    low, high = _band(k, align)
    rows, columns = _size("diag_part", x, low, high)
    longest = _longest(rows, columns, low, high)
    d = subtract(high, expand_dims(range_(high - low + 1, dtype=int64), 1))
    length = _length(d, rows, columns)
    place = subtract(range_(longest, dtype=int64), _offset(d, length, longest, align))
    there = logical_and(greater_equal(place, 0), less(place, length))
    row, column = subtract(place, minimum(d, 0)), add(place, maximum(d, 0))
    values = _taken(x, 2, add(multiply(row, columns), column))
    found = where(there, values, convert_beside(padding_value, x.dtype))
    return named(found if isinstance(k, (list, tuple)) and low != high else squeeze(found, -2), name)


def _band(k: Any, align: str) -> tuple[int, int]:
    low, high = k if isinstance(k, (list, tuple)) and len(k) == 2 else (k, k)
    if type(low) is not int or type(high) is not int or low > high:
        raise located(InvalidArgumentError(f"k is a diagonal, or the lowest and the highest one, not {k!r}"))
    if align not in _ALIGN:
        raise located(InvalidArgumentError(f"align is one of {', '.join(_ALIGN)}, not {align!r}"))
    return low, high


def _rows_of(op: str, x: Tensor, low: int, high: int) -> Tensor:
    """The diagonals as rows; a single one may be given as a vector."""
    if x.ndim < 1 + (low != high):
        raise located(ShapeError(f"{op} of {high - low + 1} diagonals takes them in the last two axes, not {x.type}"))
    if low == high:
        return expand_dims(x, -2)
    if x.type.shape[-2] not in (None, high - low + 1):
        raise located(ShapeError(f"{op} takes {high - low + 1} diagonals from {low} to {high}, not {x.type}"))
    return x


def _size(op: str, x: Tensor, low: int, high: int) -> tuple[Any, Any]:
    if x.ndim < 2:
        raise located(ShapeError(f"{op} takes a matrix, not {x.type}"))
    rows, columns = _sizes(x)[-2:]
    are_there = all_of(low + _larger(rows, 1) > 0, high < _larger(columns, 1))
    require(are_there, InvalidArgumentError(message(
        f"{op}: a matrix of the shape ", [rows, columns], f" has no diagonals from {low} to {high}")))
    return rows, columns


def _longest(rows: Any, columns: Any, low: int, high: int) -> Any:
    """The length of the longest of the diagonals."""
    return _smaller(_plus(rows, min(high, 0)), _plus(columns, -max(low, 0)))


def _sizes(x: Tensor) -> list[Any]:
    """The sizes of the axes: known ones as ints, others as int64 tensors."""
    return [size if type(size) is int else cast(size, int64) for size in dims(x)]


def _plus(size: Any, n: int) -> Any:
    return size + n if type(size) is int else add(size, n)


def _smaller(x: Any, y: Any) -> Any:
    return min(x, y) if type(x) is int and type(y) is int else minimum(x, y)


def _larger(x: Any, y: Any) -> Any:
    return max(x, y) if type(x) is int and type(y) is int else maximum(x, y)


def _length(d: Tensor, rows: Any, columns: Any) -> Tensor:
    """The lengths of diagonals."""
    return minimum(add(rows, minimum(d, 0)), subtract(columns, maximum(d, 0)))


def _offset(d: Tensor, length: Tensor, longest: Any, align: str) -> Tensor:
    """The offset of diagonals within their rows."""
    above, below = [multiply(int(side == "RIGHT"), subtract(longest, length)) for side in align.split("_")]
    return where(greater_equal(d, 0), where(less_equal(d, 0), minimum(above, below), above), below)


def _placed(x: Tensor, rows: Any, columns: Any, low: int, high: int, align: str) -> tuple[Tensor, Tensor]:
    """For each place in a matrix, whether it is on one of the diagonals, and the element of `x` for it."""
    i, j = expand_dims(range_(rows, dtype=int64), 1), range_(columns, dtype=int64)
    d = subtract(j, i)
    longest = _sizes(x)[-1]
    place = add(minimum(i, j), _offset(d, _length(d, rows, columns), longest, align))
    inside = logical_and(greater_equal(d, low), less_equal(d, high))
    return inside, _taken(x, 2, add(multiply(subtract(high, d), longest), place))


def _taken(x: Tensor, count: int, index: Tensor) -> Tensor:
    """Elements at flat indices into the last `count` axes; out of range, an arbitrary one."""
    sizes = dims(x)
    flat = reshape(x, [*sizes[:-count], -1])
    return gather(flat, clip_by_value(index, 0, _plus(_sizes(flat)[-1], -1)), axis=-1)
