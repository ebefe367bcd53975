"""Linear algebra: products, norms, and systems of equations."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.agreed_operands import agreed
from runtime.core.array_mode import need_objects
from runtime.core.array_promotion import is_of_arrays
from runtime.core.errors import DTypeError, InvalidArgumentError, LinearAlgebraError, ShapeError, locate
from runtime.core.op import Errors, Op, Sample, unknown_shape
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located, user_position
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_beside, convert_to_tensor, promoted_arrays
from runtime.core.types import Shape, TensorType, broadcast_shapes, compatible_shapes, shape_text
from runtime.ops import math
from runtime.ops.checks import all_of, message, require
from runtime.ops.creation import eye
from runtime.ops.creation import range as range_
from runtime.ops.indexing import getitem
from runtime.ops.logic import equal, greater_equal, less, less_equal, logical_and, logical_or, not_equal, where
from runtime.ops.op_makers import INEXACT, NUMERIC, apply_one, check_dtype, named, random_array
from runtime.ops.reduction import add_n, reduce_sum
from runtime.ops.shape import dim, dims, expand_dims, product, reshape, squeeze, transpose
from runtime.ops.static_arguments import axis_of, static_ints

# Products.


def _matmul_kernel(x: Any, y: Any) -> Any:
    try:
        return np.matmul(x, y)
    except ValueError:
        raise ShapeError(f"matmul of {shape_text(x.shape)} and {shape_text(y.shape)}: the inner sizes or the "
                         "leading dimensions do not fit") from None


def _matmul_rule(x: TensorType, y: TensorType) -> TensorType:
    check_dtype("matmul", x.dtype, NUMERIC)
    if x.ndim < 2 or y.ndim < 2:
        raise ShapeError(f"matmul takes tensors of rank 2 or more, not {x} and {y}")
    if x.shape[-1] is not None and y.shape[-2] is not None and x.shape[-1] != y.shape[-2]:
        raise ShapeError(f"matmul of {shape_text(x.shape)} and {shape_text(y.shape)}: the inner sizes differ, "
                         f"{x.shape[-1]} and {y.shape[-2]}")
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2], what="the leading dimensions of what matmul takes")
    return TensorType(x.dtype, (*batch, x.shape[-2], y.shape[-1]), x.weak and y.weak)


def _matmul_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in NUMERIC:
        for x, y in (((2, 3), (3, 4)), ((0, 3), (3, 2)), ((5, 2, 3), (5, 3, 1)), ((2, 3), (4, 3, 2)),
                     ((4, 1, 1, 2), (3, 2, 2)), ((2, 0), (0, 3)), ((2, 3), (3, 0))):
            yield (random_array(rng, dtype, x, -2, 2), random_array(rng, dtype, y, -2, 2)), {}


MATMUL: Final = Op("matmul", _matmul_kernel, _matmul_rule, agree=slice(0, 2), samples=_matmul_samples,
                   doc="The matrix product over the last two axes; leading dimensions broadcast.")


def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
           adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False, output_type: Any = None,
           grad_a: bool = False, grad_b: bool = False, name: str | None = None) -> Tensor:
    """The matrix product over the last two axes, [..., n, k] by [..., k, m] (`tf.matmul`).

    Leading dimensions broadcast. `transpose_*` and `adjoint_*` (which conjugates too) swap the last two axes first.
    `*_is_sparse`, of tensors with many zeros, and `grad_*`, of those of a derivative, have no effect. `output_type`:
    the operands are cast to it.
    """
    if output_type is not None:
        a, b = math.cast(a, output_type), math.cast(b, output_type)
    if transpose_a or adjoint_a:
        a = matrix_transpose(a, conjugate=adjoint_a)
    if transpose_b or adjoint_b:
        b = matrix_transpose(b, conjugate=adjoint_b)
    return named(apply_one(MATMUL, a, b), name)


def _at(x: Any, y: Any) -> Tensor:
    """`x @ y`: matmul, also for operands of rank 1, as in NumPy."""
    x, y = _agreed(x, y)
    if _are_bool_arrays(x, y):
        return not_equal(_at(math.cast(x, t.int64), math.cast(y, t.int64)), 0)
    if x.ndim and y.ndim and (x.ndim == 1 or y.ndim == 1):
        left = expand_dims(x, 0) if x.ndim == 1 else x
        right = expand_dims(y, 1) if y.ndim == 1 else y
        return squeeze(matmul(left, right), ([-2] if x.ndim == 1 else []) + ([-1] if y.ndim == 1 else []))
    return matmul(x, y)


def _are_bool_arrays(*xs: Tensor) -> bool:
    """Whether these are arrays of bools, whose product is one of bools in NumPy."""
    if not all(x.dtype.is_bool and is_of_arrays(x.type) for x in xs):
        return False
    need_objects(located(DTypeError("a product of tensors does not take bool")))
    return True


def _agreed(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Both operands as tensors: a Python list adapts to the other operand's dtype, and a NumPy array to a tensor's.
    Arrays are promoted as in NumPy."""
    found = promoted_arrays([x, y], joins=True)
    if found is None and not (isinstance(x, Tensor) or isinstance(y, Tensor)):
        y = convert_to_tensor(y)
        return convert_to_tensor(x, dtype_hint=y.dtype), y
    left, right = agreed([x, y]) if found is None else found
    return left, right


def matvec(
    a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False, a_is_sparse: bool = False,
    b_is_sparse: bool = False, name: str | None = None,
) -> Tensor:
    """The product of matrices [..., n, k] and vectors [..., k] (`tf.linalg.matvec`). `a_is_sparse` and `b_is_sparse`
    have no effect."""
    return squeeze(matmul(a, expand_dims(b, -1), transpose_a, adjoint_a=adjoint_a), -1, name)


def matrix_transpose(a: Any, name: str | None = None, conjugate: bool = False) -> Tensor:
    """The tensor with its last two axes swapped (`tf.linalg.matrix_transpose`)."""
    x = convert_to_tensor(a)
    if x.ndim < 2:
        raise ShapeError(f"a matrix has rank 2 or more, not {x.type}")
    return transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2], conjugate, name)


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The complex conjugate with the last two axes swapped (`tf.linalg.adjoint`)."""
    return matrix_transpose(matrix, name, conjugate=True)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The product summed over `axes`: a number of last axes of a and first of b, or a pair of lists
    (`tf.tensordot`)."""
    x, y = _agreed(a, b)
    if _are_bool_arrays(x, y):
        return not_equal(tensordot(math.cast(x, t.int64), math.cast(y, t.int64), axes, name), 0)
    if np.ndim(axes) == 0:
        (count,) = static_ints("the axes of tensordot", axes)
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise ShapeError(f"tensordot cannot sum over {count} axes of {x.type} and {y.type}")
        of_x, of_y = list(range(x.ndim - count, x.ndim)), list(range(count))
    else:
        first, second = axes
        of_x = [axis_of("tensordot", i, x.ndim) for i in static_ints("the axes of tensordot", first)]
        of_y = [axis_of("tensordot", i, y.ndim) for i in static_ints("the axes of tensordot", second)]
        if len(of_x) != len(of_y):
            raise ShapeError(f"tensordot takes as many axes of both, not {len(of_x)} and {len(of_y)}")
    if not compatible_shapes(tuple(x.type.shape[i] for i in of_x), tuple(y.type.shape[i] for i in of_y)):
        error = ShapeError(f"tensordot of {x.type} and {y.type}: the sizes of the axes {of_x} and {of_y}, which are"
                           " summed over, differ")
        locate(error, user_position())
        raise error
    free_x = [i for i in range(x.ndim) if i not in of_x]
    free_y = [i for i in range(y.ndim) if i not in of_y]
    sizes_x, sizes_y = dims(x), dims(y)
    inner = product(sizes_x[i] for i in of_x)
    left = reshape(transpose(x, free_x + of_x), [product(sizes_x[i] for i in free_x), inner])
    right = reshape(transpose(y, of_y + free_y), [inner, product(sizes_y[i] for i in free_y)])
    return reshape(matmul(left, right), [*(sizes_x[i] for i in free_x), *(sizes_y[i] for i in free_y)], name)


def _einsum_kernel(*xs: Any, equation: str) -> Any:
    try:
        return np.einsum(equation, *xs, optimize=len(xs) > 1)
    except ValueError as exc:
        raise ShapeError(f"einsum {equation!r}: {exc}") from None


def _einsum_rule(*xs: TensorType, equation: str) -> TensorType:
    inputs, output = equation.split("->")
    sizes: dict[str, int | None] = {}
    labels = inputs.split(",")
    if len(labels) != len(xs):
        raise ShapeError(f"einsum {equation!r} takes {len(labels)} tensors, not {len(xs)}")
    for label, x in zip(labels, xs, strict=True):
        check_dtype("einsum", x.dtype, NUMERIC)
        if len(label) != x.ndim:
            raise ShapeError(f"einsum {equation!r}: {label!r} does not fit a tensor of rank {x.ndim}")
        for letter, size in zip(label, x.shape, strict=True):
            known = sizes.get(letter, 1)
            if known not in (1, None) and size not in (1, None, known):
                raise ShapeError(f"einsum {equation!r}: {letter!r} is both {known} and {size}")
            if known in (1, None) and not (known is None and size == 1):
                sizes[letter] = size
    return TensorType(xs[0].dtype, tuple(sizes[letter] for letter in output))


def _einsum_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for equation, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("ii->i", ((3, 3),)), ("ij->", ((2, 3),)),
                             ("bij,bjk->bik", ((5, 2, 3), (5, 3, 2))), ("i,j,k->kji", ((2,), (3,), (4,))),
                             (",i->i", ((), (3,)))):
        yield tuple(rng.random(shape) for shape in shapes), {"equation": equation}


def _einsum_errors(node: Any) -> Errors:
    """No errors if all sizes are known, unless a tensor has a letter twice, for sizes that may be n and 1."""
    labels = node.params["equation"].split("->")[0].split(",")
    known = all(None not in value.type.shape for value in node.operands)
    return () if known and all(len(set(label)) == len(label) for label in labels) else (ShapeError,)


EINSUM: Final = Op("einsum", _einsum_kernel, _einsum_rule, agree=slice(None), samples=_einsum_samples,
                   errors=_einsum_errors,
                   doc="A product of tensors summed over letters: an equation with `->` and without `...`.")


def einsum(equation: str, *inputs: Any, name: str | None = None, **kwargs: Any) -> Tensor:
    """The product of tensors summed over the letters that are not in the result (`tf.einsum`).

    `...` stands for leading dimensions; without `->` the result has the letters that occur once, in sorted order.
    """
    xs = [convert_to_tensor(x) for x in inputs]
    if _are_bool_arrays(*xs):
        return not_equal(einsum(equation, *[math.cast(x, t.int64) for x in xs], name=name), 0)
    return named(apply_one(EINSUM, *xs, equation=_explicit(equation, [x.ndim for x in xs])), name)


def _explicit(equation: str, ranks: list[int]) -> str:
    """The equation with an explicit `->`, and with letters in place of `...`."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    labels = left.split(",")
    if len(labels) != len(ranks):
        raise ShapeError(f"einsum {equation!r} takes {len(labels)} tensors, not {len(ranks)}")
    if not all(c.isalpha() for c in text.replace("...", "").replace(",", "").replace("->", "")):
        raise InvalidArgumentError(f"einsum {equation!r} is not letters, ',', '...' and '->'")
    if not arrow:
        letters = sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1)
        right = ("..." if "..." in left else "") + "".join(letters)
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in text]
    counts = [rank - len(label) + 3 for label, rank in zip(labels, ranks, strict=True) if "..." in label]
    if any(count < 0 for count in counts):
        raise ShapeError(f"einsum {equation!r} names more dimensions than its tensors have")
    most = max(counts, default=0)
    dots = "".join(free[:most])
    spelled = [label.replace("...", dots[most - (rank - len(label) + 3):] if "..." in label else "")
               for label, rank in zip(labels, ranks, strict=True)]
    right = right.replace("...", dots)
    missing = set(right) - set("".join(spelled))
    if missing or len(set(right)) != len(right):
        raise InvalidArgumentError(f"einsum {equation!r}: each letter of the result must be in a tensor, once")
    return ",".join(spelled) + "->" + right


# Norms.

def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None) -> Tensor:
    """`x` scaled to Euclidean norm 1 along `axis`, or `dim`, its older name (`tf.math.l2_normalize`)."""
    value = convert_to_tensor(x)
    size = math.abs(value) if value.dtype.is_complex else value
    squares = reduce_sum(math.square(size), axis if dim is None else dim, keepdims=True)
    scale = math.rsqrt(math.maximum(squares, epsilon))
    return math.multiply(value, math.cast(scale, value.dtype) if value.dtype.is_complex else scale, name)


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """The Euclidean norm of all elements of several tensors, and rows of `IndexedSlices` (`tf.linalg.global_norm`)."""
    rows = [x.values if hasattr(type(x), "__with_rows__") else x for x in t_list if x is not None]
    squares = [reduce_sum(math.square(math.abs(x))) for x in rows]
    return math.sqrt(add_n(squares or [0.0]), name)


def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
                        ) -> tuple[list[Any], Tensor]:
    """Tensors scaled down by one factor to the global norm `clip_norm`, and their global norm before
    (`tf.clip_by_global_norm`)."""
    length = global_norm(t_list) if use_norm is None else use_norm
    scale = math.divide(clip_norm, math.maximum(length, clip_norm))

    def scaled(x: Any) -> Any:
        return x.__with_rows__(scaled(x.values)) if hasattr(type(x), "__with_rows__") else math.multiply(x, scale)

    return [None if x is None else scaled(x) for x in t_list], length


# Diagonals and triangles.

def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """Matrices with the last axis on their diagonal, 0 elsewhere."""
    x = convert_to_tensor(diagonal)
    if not x.ndim:
        raise ShapeError("diag takes a tensor of rank 1 or more, not a scalar")
    return where(_on_diagonal(*[dim(x, x.ndim - 1)] * 2), expand_dims(x, -1), _zero(x), name)


def diag_part(input: Any, name: str | None = None) -> Tensor:
    """The main diagonals of matrices [..., n, m]: [..., min(n, m)]."""
    x = convert_to_tensor(input)
    rows, columns = _matrix_size("diag_part", x)
    kept = where(_on_diagonal(rows, columns), x, _zero(x))
    if type(rows) is int and type(columns) is int:
        return reduce_sum(kept, -1 if rows <= columns else -2, name=name)
    shorter = math.minimum(rows, columns)
    return getitem(reduce_sum(kept, -1), (..., slice(0, shorter)), name)


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the main diagonal (`tf.linalg.trace`)."""
    x = convert_to_tensor(x)
    return reduce_sum(where(_on_diagonal(*_matrix_size("trace", x)), x, _zero(x)), [-2, -1], name=name)


def set_diag(input: Any, diagonal: Any, name: str | None = None) -> Tensor:
    """Square matrices with their main diagonal replaced."""
    x = convert_to_tensor(input)
    values = convert_beside(diagonal, x.dtype)
    return where(_on_diagonal(*_matrix_size("set_diag", x)), expand_dims(values, -1), x, name)


def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Matrices with zeros outside a band around the diagonal (`tf.linalg.band_part`); -1 keeps the whole triangle.
    InvalidArgumentError for more diagonals than there are."""
    x = convert_to_tensor(input)
    rows, columns = _matrix_size("band_part", x)
    num_lower, num_upper = (n if type(n) is int else math.cast(n, t.int32) for n in (num_lower, num_upper))
    require(all_of(num_lower <= rows, num_upper <= columns), InvalidArgumentError(message(
        "band_part takes no more diagonals than there are rows and columns, ", rows, " and ", columns, ", not ",
        num_lower, " and ", num_upper), remedy="Give -1 to keep the whole triangle."))
    below = math.subtract(expand_dims(range_(rows), 1), range_(columns))
    lower = logical_or(less(num_lower, 0), less_equal(below, num_lower))
    upper = logical_or(less(num_upper, 0), greater_equal(below, math.negative(num_upper)))
    return where(logical_and(lower, upper), x, _zero(x), name)


def _on_diagonal(rows: Any, columns: Any) -> Tensor:
    return equal(expand_dims(range_(rows), 1), range_(columns))


def _matrix_size(op: str, x: Tensor) -> tuple[Any, Any]:
    if x.ndim < 2:
        raise ShapeError(f"{op} takes a matrix, not {x.type}")
    return dim(x, x.ndim - 2), dim(x, x.ndim - 1)


def _zero(x: Tensor) -> Tensor:
    return convert_to_tensor(x.dtype.as_numpy_dtype(0))


# Systems of equations. NumPy does not support 16-bit floats here.

SOLVABLE: Final = tuple(d for d in INEXACT if d is not t.float16)


def square(op: str, x: TensorType) -> Shape:
    """The shape of an operand of `op`: DTypeError or ShapeError unless it is a batch of square matrices."""
    check_dtype(op, x.dtype, SOLVABLE)
    if x.ndim < 2 or (None not in x.shape[-2:] and x.shape[-1] != x.shape[-2]):
        raise ShapeError(f"{op} takes square matrices, not {x}")
    return x.shape


def unless_singular(op: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, raising LinearAlgebraError in place of NumPy's LinAlgError. Its param `function` is the name of the
    function that the user called, if that is not `op`."""
    def checked(*xs: Any, **params: Any) -> Any:
        try:
            return kernel(*xs, **params)
        except np.linalg.LinAlgError as exc:
            raise LinearAlgebraError(f"{params.get('function', op)}: {exc}") from None

    return checked


def _regular(rng: np.random.Generator, dtype: t.DType, shape: tuple[int, ...]) -> Any:
    x = random_array(rng, dtype, shape, -1, 1)
    positive = x @ np.swapaxes(x, -1, -2).conj() + 2 * np.eye(shape[-1])
    return positive.astype(dtype.np)


def matrix_samples(rng: np.random.Generator) -> Iterable[Sample]:
    """Positive definite matrices."""
    for dtype in SOLVABLE:
        for shape in ((3, 3), (2, 2, 2), (1, 1)):
            yield (_regular(rng, dtype, shape),), {}


def _solve_kernel(matrix: Any, rhs: Any, *, function: str = "solve") -> Any:
    batch = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])  # for NumPy, a rhs of lower rank is vectors
    return np.linalg.solve(matrix, np.broadcast_to(rhs, (*batch, *rhs.shape[-2:])))


def _solve_rule(matrix: TensorType, rhs: TensorType, *, function: str = "solve") -> TensorType:
    shape = square("solve", matrix)
    if rhs.ndim < 2 or not t.compatible_shapes(shape[-1:], rhs.shape[-2:-1]):
        raise ShapeError(f"solve of {matrix} takes a right side of shape [..., n, k], not {rhs}")
    batch = broadcast_shapes(shape[:-2], rhs.shape[:-2], what="the leading dimensions of what solve takes")
    return TensorType(matrix.dtype, (*batch, *rhs.shape[-2:]))


def _solve_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in SOLVABLE:
        for shape, rhs in (((3, 3), (3, 2)), ((4, 2, 2), (2, 1)), ((2, 3, 3), (2, 3, 1))):
            yield (_regular(rng, dtype, shape), random_array(rng, dtype, rhs)), {}


SOLVE: Final = Op("solve", unless_singular("solve", _solve_kernel), _solve_rule, agree=slice(0, 2),
                  samples=_solve_samples, errors=(LinearAlgebraError,),
                  doc="The X of A X = B.")
DET: Final = Op("det", np.linalg.det, lambda x: TensorType(x.dtype, square("det", x)[:-2]),
                samples=matrix_samples, errors=unknown_shape, doc="The determinant over the last two axes.")
CHOLESKY: Final = Op("cholesky", unless_singular("cholesky", np.linalg.cholesky),
                     lambda x: TensorType(x.dtype, square("cholesky", x)), samples=matrix_samples,
                     errors=(LinearAlgebraError,),
                     doc="The lower triangle L of X = L Lᴴ.")


def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The solution X of `matrix` X = `rhs`, [..., n, n] and [..., n, k] (`tf.linalg.solve`).

    InvalidArgumentError for a singular matrix.
    """
    a = matrix_transpose(matrix, conjugate=True) if adjoint else matrix
    return named(apply_one(SOLVE, a, rhs), name)


def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of square matrices (`tf.linalg.inv`). InvalidArgumentError if one is singular."""
    x = convert_to_tensor(input)
    a = matrix_transpose(x, conjugate=True) if adjoint else x
    return named(apply_one(SOLVE, a, eye(_matrix_size("inv", x)[0], dtype=x.dtype), function="inv"), name)


def det(input: Any, name: str | None = None) -> Tensor:
    """The determinant of square matrices (`tf.linalg.det`).

    The derivative uses the inverse: InvalidArgumentError for a singular matrix.
    """
    return named(apply_one(DET, input), name)


def cholesky(input: Any, name: str | None = None) -> Tensor:
    """The lower triangle L of positive definite X = L Lᴴ (`tf.linalg.cholesky`). InvalidArgumentError for other X.

    The cotangent of X is Hermitian."""
    return named(apply_one(CHOLESKY, input), name)


OPERATIONS.define(matmul=_at)
