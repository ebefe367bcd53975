"""Matrices by their structure (`tf.linalg.LinearOperator`): what they do to others without the whole matrix, where the
structure allows it. All are batches of matrices, [..., m, n]; what their structure does not tell, they do with
`to_dense`."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from runtime.core.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, TensorShape, as_dtype, broadcast_shapes, float32
from runtime.eigenvalues import eigvals
from runtime.ops import linalg, math
from runtime.ops.complex_numbers import conj
from runtime.ops.concat_split import concat
from runtime.ops.creation import eye, ones, zeros
from runtime.ops.decompositions import eigvalsh, slogdet, triangular_solve
from runtime.ops.diagonals import diag, diag_part, set_diag
from runtime.ops.matrix_functions import cholesky_solve
from runtime.ops.reduction import reduce_prod, reduce_sum
from runtime.ops.shape import broadcast_to, dim, dims, expand_dims, reshape, shape, squeeze

__all__ = ["LinearOperator", "LinearOperatorBlockDiag", "LinearOperatorComposition", "LinearOperatorDiag",
           "LinearOperatorFullMatrix", "LinearOperatorIdentity", "LinearOperatorKronecker",
           "LinearOperatorLowRankUpdate", "LinearOperatorLowerTriangular", "LinearOperatorScaledIdentity",
           "LinearOperatorZeros"]


def _adjoint(x: Tensor) -> Tensor:
    return linalg.matrix_transpose(x, conjugate=True)


class LinearOperator:
    """A batch of matrices [..., m, n]. Subclasses define `to_dense`, and what their structure makes simpler.

    is_non_singular, is_self_adjoint, is_positive_definite, is_square  hints, True, False or None (unknown): they choose
    how a system is solved, and are not checked
    """

    def __init__(self, dtype: DType, sizes: Sequence[Any], is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
                 is_square: bool | None = None, name: str | None = None) -> None:
        self.dtype, self._sizes = dtype, list(sizes)
        self.is_non_singular = True if is_positive_definite else is_non_singular
        self.is_self_adjoint, self.is_positive_definite = is_self_adjoint, is_positive_definite
        self.name = name or type(self).__name__
        rows, columns = self._sizes[-2:]
        self.is_square = rows == columns if isinstance(rows, int) and isinstance(columns, int) else is_square

    # Shapes.

    @property
    def shape(self) -> TensorShape:
        return TensorShape([size if isinstance(size, int) else None for size in self._sizes])

    @property
    def batch_shape(self) -> TensorShape:
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int:
        return len(self._sizes)

    @property
    def range_dimension(self) -> int | None:
        found: int | None = self.shape[-2]
        return found

    @property
    def domain_dimension(self) -> int | None:
        found: int | None = self.shape[-1]
        return found

    def shape_tensor(self) -> Tensor:
        """The shape as a tensor: int32 [rank]."""
        return shape(self.to_dense())

    # What it is.

    def to_dense(self) -> Tensor:
        """The matrices."""
        raise NotImplementedError(f"{type(self).__name__} defines to_dense")

    def diag_part(self) -> Tensor:
        """The diagonals: [..., min(m, n)]."""
        return diag_part(self.to_dense())

    def trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), -1)

    def determinant(self) -> Tensor:
        self._need_square("determinant")
        return linalg.det(self.to_dense())

    def log_abs_determinant(self) -> Tensor:
        """The logarithm of the absolute value of the determinant."""
        self._need_square("log_abs_determinant")
        return math.cast(slogdet(self.to_dense())[1], self.dtype)

    def eigvals(self) -> Tensor:
        """The eigenvalues: [..., n], real of the dtype of a self-adjoint operator, else complex."""
        self._need_square("eigvals")
        x = self.to_dense()
        return math.cast(eigvalsh(x), self.dtype) if self.is_self_adjoint else eigvals(x)

    # What it does.

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str | None = None) -> Any:
        """The product with matrices [..., n, k], or another operator. `adjoint`: that of the adjoint operator."""
        if isinstance(x, LinearOperator):
            return LinearOperatorComposition([self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x])
        y = convert_to_tensor(x, dtype=self.dtype)
        return self._matmul(_adjoint(y) if adjoint_arg else y, adjoint)

    def matvec(self, x: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
        """The product with vectors [..., n]."""
        return squeeze(self.matmul(expand_dims(convert_to_tensor(x, dtype=self.dtype), -1), adjoint), -1)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str | None = None) -> Any:
        """The X with A X = `rhs`, matrices [..., m, k]. UnimplementedError for an operator that is said to be singular
        or is not square."""
        if self.is_non_singular is False or self.is_square is False:
            raise located(UnimplementedError(
                f"{self.name} solves no system: it is {'not square' if self.is_square is False else 'singular'}"))
        if isinstance(rhs, LinearOperator):
            rhs = rhs.to_dense()
        y = convert_to_tensor(rhs, dtype=self.dtype)
        return self._solve(_adjoint(y) if adjoint_arg else y, adjoint)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
        """The x with A x = `rhs`, vectors [..., m]."""
        return squeeze(self.solve(expand_dims(convert_to_tensor(rhs, dtype=self.dtype), -1), adjoint), -1)

    def add_to_tensor(self, x: Any, name: str | None = None) -> Tensor:
        """The sum with matrices."""
        return math.add(self.to_dense(), convert_to_tensor(x, dtype=self.dtype))

    def adjoint(self, name: str | None = None) -> LinearOperator:
        """The conjugate transpose."""
        return self if self.is_self_adjoint else LinearOperatorFullMatrix(
            _adjoint(self.to_dense()), self.is_non_singular, self.is_self_adjoint, self.is_positive_definite)

    H = property(adjoint)

    def inverse(self, name: str | None = None) -> LinearOperator:
        """The inverse. UnimplementedError as for `solve`."""
        n = dim(self.to_dense(), self.tensor_rank - 1)
        return LinearOperatorFullMatrix(self.solve(eye(n, dtype=self.dtype)), True, self.is_self_adjoint,
                                        self.is_positive_definite)

    def cholesky(self, name: str | None = None) -> LinearOperator:
        """The lower triangle L with L L* = A."""
        return LinearOperatorLowerTriangular(linalg.cholesky(self.to_dense()), is_non_singular=True)

    def cond(self, name: str | None = None) -> Tensor:
        """The quotient of the greatest and the least singular value, by those of A* A."""
        squares = eigvalsh(linalg.matmul(self.to_dense(), self.to_dense(), adjoint_a=True))
        return math.sqrt(math.divide(squares[..., -1], squares[..., 0]))

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, shape={self.shape}, dtype={self.dtype.name}>"

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return linalg.matmul(self.to_dense(), x, adjoint_a=adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        matrix = self.to_dense()
        if self.is_positive_definite and self.is_self_adjoint:
            return cholesky_solve(linalg.cholesky(matrix), rhs)
        return linalg.solve(matrix, rhs, adjoint)

    def _need_square(self, what: str) -> None:
        if self.is_square is False:
            raise located(InvalidArgumentError(f"{what} takes an operator that is square, not {self.shape}"))


class LinearOperatorFullMatrix(LinearOperator):
    """The operator of given matrices (`tf.linalg.LinearOperatorFullMatrix`)."""

    def __init__(self, matrix: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None
                 ) -> None:
        self.matrix = convert_to_tensor(matrix)
        if self.matrix.ndim < 2:
            raise located(ShapeError(f"an operator takes matrices, not {self.matrix.type}"))
        super().__init__(self.matrix.dtype, dims(self.matrix), is_non_singular, is_self_adjoint, is_positive_definite,
                         is_square, name)

    def to_dense(self) -> Tensor:
        return self.matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """The operator of the lower triangle of given square matrices (`tf.linalg.LinearOperatorLowerTriangular`)."""

    def __init__(self, tril: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None
                 ) -> None:
        self.tril = linalg.band_part(tril, -1, 0)
        super().__init__(self.tril.dtype, dims(self.tril), is_non_singular, is_self_adjoint, is_positive_definite,
                         is_square, name)

    def to_dense(self) -> Tensor:
        return self.tril

    def determinant(self) -> Tensor:
        return reduce_prod(diag_part(self.tril), -1)

    def log_abs_determinant(self) -> Tensor:
        return math.cast(reduce_sum(math.log(math.abs(diag_part(self.tril))), -1), self.dtype)

    def eigvals(self) -> Tensor:
        return diag_part(self.tril)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return triangular_solve(self.tril, rhs, adjoint=adjoint)


class LinearOperatorDiag(LinearOperator):
    """The operator of diagonal matrices, given by their diagonals, [..., n] (`tf.linalg.LinearOperatorDiag`)."""

    def __init__(self, diag: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None
                 ) -> None:
        self.diag = convert_to_tensor(diag)
        if not self.diag.ndim:
            raise located(ShapeError("a diagonal has at least one axis, not a scalar"))
        own = True if not self.diag.dtype.is_complex else is_self_adjoint
        super().__init__(self.diag.dtype, [*dims(self.diag), dim(self.diag, self.diag.ndim - 1)], is_non_singular, own,
                         is_positive_definite, True, name)

    def to_dense(self) -> Tensor:
        return diag(self.diag)

    def diag_part(self) -> Tensor:
        return self.diag

    def determinant(self) -> Tensor:
        return reduce_prod(self.diag, -1)

    def log_abs_determinant(self) -> Tensor:
        return math.cast(reduce_sum(math.log(math.abs(self.diag)), -1), self.dtype)

    def eigvals(self) -> Tensor:
        return self.diag

    def adjoint(self, name: str | None = None) -> LinearOperator:
        return LinearOperatorDiag(conj(self.diag), self.is_non_singular, self.is_self_adjoint,
                                  self.is_positive_definite)

    def inverse(self, name: str | None = None) -> LinearOperator:
        return LinearOperatorDiag(math.divide(1, self.diag), True, self.is_self_adjoint, self.is_positive_definite)

    def cholesky(self, name: str | None = None) -> LinearOperator:
        return LinearOperatorDiag(math.sqrt(self.diag), is_non_singular=True)

    def add_to_tensor(self, x: Any, name: str | None = None) -> Tensor:
        y = convert_to_tensor(x, dtype=self.dtype)
        return set_diag(y, math.add(diag_part(y), self.diag))

    def _factors(self, adjoint: bool) -> Tensor:
        return expand_dims(conj(self.diag) if adjoint else self.diag, -1)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return math.multiply(self._factors(adjoint), x)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return math.divide(rhs, self._factors(adjoint))


class LinearOperatorScaledIdentity(LinearOperatorDiag):
    """A multiple of the identity of `num_rows` rows, for each number of `multiplier`, [...]
    (`tf.linalg.LinearOperatorScaledIdentity`)."""

    def __init__(self, num_rows: int, multiplier: Any, is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
                 is_square: bool | None = None, assert_proper_shapes: bool = False, name: str | None = None) -> None:
        self.multiplier = convert_to_tensor(multiplier)
        whole = broadcast_to(expand_dims(self.multiplier, -1), [*dims(self.multiplier), num_rows])
        super().__init__(whole, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)


class LinearOperatorIdentity(LinearOperatorScaledIdentity):
    """The identity of `num_rows` rows, for each element of a batch (`tf.linalg.LinearOperatorIdentity`)."""

    def __init__(self, num_rows: int, batch_shape: Any = None, dtype: Any = None, is_non_singular: bool | None = True,
                 is_self_adjoint: bool | None = True, is_positive_definite: bool | None = True,
                 is_square: bool | None = True, assert_proper_shapes: bool = False, name: str | None = None) -> None:
        factors = ones(() if batch_shape is None else batch_shape, as_dtype(dtype or float32))
        super().__init__(num_rows, factors, is_non_singular, is_self_adjoint, is_positive_definite, is_square,
                         assert_proper_shapes, name)


class LinearOperatorZeros(LinearOperator):
    """Matrices of zeros (`tf.linalg.LinearOperatorZeros`)."""

    def __init__(self, num_rows: int, num_columns: int | None = None, batch_shape: Any = None, dtype: Any = None,
                 is_non_singular: bool | None = False, is_self_adjoint: bool | None = True,
                 is_positive_definite: bool | None = False, is_square: bool | None = True,
                 assert_proper_shapes: bool = False, name: str | None = None) -> None:
        sizes = [*(() if batch_shape is None else batch_shape), num_rows, num_columns or num_rows]
        super().__init__(as_dtype(dtype or float32), sizes, is_non_singular,
                         is_self_adjoint and num_columns in (None, num_rows), is_positive_definite, is_square, name)

    def to_dense(self) -> Tensor:
        return zeros(self._sizes, self.dtype)


def _all(operators: Sequence[LinearOperator], hint: str) -> bool | None:
    """True if all of them are: so are then products, and matrices of them as blocks."""
    return True if all(getattr(operator, hint) for operator in operators) else None


def _dtype_of(operators: Sequence[LinearOperator]) -> DType:
    found = {operator.dtype for operator in operators}
    if len(found) != 1:
        raise located(DTypeError(f"operators that are combined are of one dtype, not {sorted(x.name for x in found)}"))
    return found.pop()


class LinearOperatorComposition(LinearOperator):
    """The product of operators: the last one is applied first (`tf.linalg.LinearOperatorComposition`)."""

    def __init__(self, operators: Sequence[LinearOperator], is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
                 is_square: bool | None = None, name: str | None = None) -> None:
        self.operators = list(operators)
        for left, right in zip(self.operators, self.operators[1:], strict=False):
            if None not in (left.domain_dimension, right.range_dimension) and (
                    left.domain_dimension != right.range_dimension):
                raise located(ShapeError(f"operators of the shapes {left.shape} and {right.shape} do not compose"))
        batch = functools.reduce(broadcast_shapes, [tuple(each.batch_shape) for each in self.operators])
        super().__init__(_dtype_of(self.operators),
                         [*batch, self.operators[0].range_dimension, self.operators[-1].domain_dimension],
                         _all(self.operators, "is_non_singular") if is_non_singular is None else is_non_singular,
                         is_self_adjoint, is_positive_definite, is_square, name)

    def to_dense(self) -> Tensor:
        found: Tensor = self.operators[-1].to_dense()
        for operator in self.operators[-2::-1]:
            found = operator.matmul(found)
        return found

    def determinant(self) -> Tensor:
        if all(operator.is_square for operator in self.operators):
            return functools.reduce(math.multiply, [operator.determinant() for operator in self.operators])
        return super().determinant()

    def log_abs_determinant(self) -> Tensor:
        if all(operator.is_square for operator in self.operators):
            return functools.reduce(math.add, [operator.log_abs_determinant() for operator in self.operators])
        return super().log_abs_determinant()

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        for operator in self.operators if adjoint else self.operators[::-1]:
            x = operator.matmul(x, adjoint)
        return x

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        if not all(operator.is_square for operator in self.operators):
            return super()._solve(rhs, adjoint)
        for operator in self.operators[::-1] if adjoint else self.operators:
            rhs = operator.solve(rhs, adjoint)
        return rhs


class LinearOperatorBlockDiag(LinearOperator):
    """Operators as blocks on a diagonal (`tf.linalg.LinearOperatorBlockDiag`)."""

    def __init__(self, operators: Sequence[LinearOperator], is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
                 is_square: bool | None = True, name: str | None = None) -> None:
        self.operators = list(operators)
        batch = functools.reduce(broadcast_shapes, [tuple(each.batch_shape) for each in self.operators])
        sizes = [[each._sizes[axis] for each in self.operators] for axis in (-2, -1)]
        given = (is_non_singular, is_self_adjoint, is_positive_definite)
        hints = [_all(self.operators, hint) if own is None else own for own, hint in zip(
            given, ("is_non_singular", "is_self_adjoint", "is_positive_definite"), strict=True)]
        super().__init__(_dtype_of(self.operators), [*batch, *map(sum, sizes)], hints[0], hints[1], hints[2], is_square,
                         name)

    def to_dense(self) -> Tensor:
        batch, width = self._sizes[:-2], self._sizes[-1]
        rows, before = [], 0
        for operator in self.operators:
            block = operator.to_dense()
            block = broadcast_to(block, [*batch, *dims(block)[-2:]])
            height, own = dims(block)[-2:]
            rows.append(concat([zeros([*batch, height, before], self.dtype), block,
                                zeros([*batch, height, width - before - own], self.dtype)], -1))
            before = before + own
        return concat(rows, -2)

    def determinant(self) -> Tensor:
        return functools.reduce(math.multiply, [operator.determinant() for operator in self.operators])

    def log_abs_determinant(self) -> Tensor:
        return functools.reduce(math.add, [operator.log_abs_determinant() for operator in self.operators])

    def _parts(self, x: Tensor, axis: int) -> list[Tensor]:
        """The rows of `x` for each block."""
        found, before = [], 0
        for operator in self.operators:
            found.append(x[..., before:before + operator._sizes[axis], :])
            before = before + operator._sizes[axis]
        return found

    def _joined(self, parts: Sequence[Tensor]) -> Tensor:
        batch = functools.reduce(broadcast_shapes, [tuple(part.type.shape[:-2]) for part in parts])
        return concat([broadcast_to(part, [*batch, *dims(part)[-2:]]) for part in parts], -2)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        parts = self._parts(x, -2 if adjoint else -1)
        return self._joined([each.matmul(part, adjoint) for each, part in zip(self.operators, parts, strict=True)])

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        parts = self._parts(rhs, -1 if adjoint else -2)
        return self._joined([each.solve(part, adjoint) for each, part in zip(self.operators, parts, strict=True)])


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators (`tf.linalg.LinearOperatorKronecker`)."""

    def __init__(self, operators: Sequence[LinearOperator], is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
                 is_square: bool | None = None, name: str | None = None) -> None:
        self.operators = list(operators)
        batch = functools.reduce(broadcast_shapes, [tuple(each.batch_shape) for each in self.operators])
        sizes = [functools.reduce(lambda a, b: a * b, [each._sizes[axis] for each in self.operators])
                 for axis in (-2, -1)]
        super().__init__(_dtype_of(self.operators), [*batch, *sizes], is_non_singular, is_self_adjoint,
                         is_positive_definite, is_square, name)

    def to_dense(self) -> Tensor:
        found: Tensor = self.operators[0].to_dense()
        for operator in self.operators[1:]:
            other = operator.to_dense()
            product = math.multiply(found[..., :, None, :, None], other[..., None, :, None, :])
            *batch, a, b, c, d = dims(product)
            found = reshape(product, [*batch, a * b, c * d])
        return found


class LinearOperatorLowRankUpdate(LinearOperator):
    """`base_operator` + U D V* (`tf.linalg.LinearOperatorLowRankUpdate`): u [..., m, k], diag_update [..., k], by
    default ones, and v [..., n, k], by default u."""

    def __init__(self, base_operator: LinearOperator, u: Any, diag_update: Any = None, v: Any = None,
                 is_diag_update_positive: bool | None = None, is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
                 is_square: bool | None = None, name: str | None = None) -> None:
        self.base_operator = base_operator
        self.u = convert_to_tensor(u, dtype=base_operator.dtype)
        self.v = self.u if v is None else convert_to_tensor(v, dtype=base_operator.dtype)
        self.diag_update = None if diag_update is None else convert_to_tensor(diag_update, dtype=base_operator.dtype)
        symmetric = v is None and base_operator.is_self_adjoint and not base_operator.dtype.is_complex
        super().__init__(base_operator.dtype, base_operator._sizes, is_non_singular,
                         True if is_self_adjoint is None and symmetric else is_self_adjoint, is_positive_definite,
                         is_square, name)

    def to_dense(self) -> Tensor:
        scaled = self.u if self.diag_update is None else math.multiply(self.u, expand_dims(self.diag_update, -2))
        return self.base_operator.add_to_tensor(linalg.matmul(scaled, self.v, adjoint_b=True))
