"""Bad arguments of ops: the same error eager and staged, with its text."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_ways import E, M, N, S, T, V, eager, i32, staged

import runtime as rt
from runtime import errors
from runtime.ops.indexing import setitem

WRONG: list[tuple[str, Callable[..., Any], tuple[Any, ...], type[Exception], str]] = [
    ("index", lambda x: x[5], (V,), IndexError, "index 5 is out of bounds for axis 0 with size 5"),
    ("index by tensor", lambda x, i: x[i], (V, i32(-6)), IndexError,
     "index -6 is out of bounds for axis 0 with size 5"),
    ("gather", lambda x, i: rt.gather(x, i), (V, i32([1, 9])), IndexError,
     "index 9 is out of bounds for axis 0 with size 5"),
    ("gather negative", lambda x, i: rt.gather(x, i), (V, i32(-1)), IndexError,
     "index -1 is out of bounds for axis 0 with size 5"),
    ("gather_nd", lambda x, i: rt.gather_nd(x, i), (M, i32([[1, 4]])), IndexError,
     "index 4 is out of bounds for axis 1 with size 4"),
    ("scatter", lambda x, i: rt.tensor_scatter_nd_update(x, i, [1.0]), (V, i32([[5]])), IndexError,
     "index 5 is out of bounds for axis 0 with size 5"),
    ("roll", lambda x: rt.roll(x, [1, 2], 0), (V,), errors.ShapeError,
     "roll takes a shift for each axis, not 2 for 1"),
    ("setitem", lambda x, i: setitem(x, i, 1.0), (V, i32(7)), IndexError,
     "index 7 is out of bounds for axis 0 with size 5"),
    ("setitem shape", lambda x: setitem(x, 0, [1.0, 2.0]), (V,), errors.ShapeError,
     "a value of shape [2] does not fit a place of shape []"),
    ("setitem dtype", lambda x: setitem(x, 0, 1.5), (N,), TypeError,
     "the operands of setitem have different dtypes: int32 and a Python float"),
    ("too many indices", lambda x: x[0, 0], (V,), IndexError,
     "\nGive one index for each dimension, 1 at most."),
    ("index of a scalar", lambda x: x[0][0], (V,), IndexError, "\nIt is a scalar: use it without an index."),
    ("too many parts of an index", lambda x: rt.gather_nd(x, [[0, 0]]), (V,), errors.ShapeError,
     "\nMake the last dimension of the indices 1 or less."),
    ("begins of slice", lambda x: rt.slice(x, [0, 0], [1, 1]), (V,), errors.ShapeError,
     "\nGive a begin and a size for each of the 1 dimensions."),
    ("float index", lambda x: x[1.5], (V,), TypeError,
     "an index is an int, a slice, None, `...` or an int or bool tensor, not 1.5 (float)"),
    ("float tensor index", lambda x: x[x[0]], (V,), TypeError, "an index is an int scalar, not float32[]"),
    ("bool index", lambda x: x[True], (V,), TypeError,
     "an index is an int, a slice, None, `...` or an int or bool tensor, not True (bool)"),
    ("slice", lambda x, i: rt.slice(x, [i], [4]), (V, i32(2)), IndexError,
     "slice of 4 elements from 2 is out of bounds for axis 0 with size 5"),
    ("label", lambda x: rt.nn.sparse_softmax_cross_entropy_with_logits([0, 1, 4], x), (M,), IndexError,
     "index 4 is out of bounds for axis 1 with size 4"),
    ("division", lambda x: x // 0, (N,), ZeroDivisionError, "division of integers by zero"),
    ("modulo", lambda x: 1 % x, (N,), ZeroDivisionError, "modulo of integers by zero"),
    ("negative power", lambda x: x ** -1, (N,), errors.InvalidArgumentError,
     "an integer to a negative integer power is no integer"),
    ("dtypes", lambda x, y: x + y, (V, N), TypeError, "the operands of add have different dtypes: float32 and int32"),
    ("int sqrt", rt.sqrt, (N,), TypeError,
     "sqrt does not take int32; it takes float16, float32, float64, complex64, complex128"),
    ("shapes", lambda x, y: x + y, (V, M), ValueError, "the operands of add do not broadcast: [5] and [3,4]"),
    ("logical", lambda x: rt.logical_and(x, x), (N,), TypeError,
     "a tensor of dtype int32 was given where bool is wanted"),
    ("where condition", lambda x: rt.where(x, x, x), (N,), TypeError, "where takes a bool condition, not int32"),
    ("reshape", lambda x: rt.reshape(x, [2, 2]), (V,), ValueError, "a tensor of shape [5] cannot become [2,2]"),
    ("reshape -1", lambda x: rt.reshape(x, [2, -1]), (V,), ValueError, "a tensor of shape [5] cannot become [2,-1]"),
    ("axis", lambda x: rt.reduce_sum(x, 2), (M,), ValueError,
     "axis 2 is out of range for reduce_sum of a tensor of rank 2"),
    ("axis of softmax", lambda x: rt.nn.softmax(x, -3), (M,), ValueError,
     "axis -3 is out of range for softmax of a tensor of rank 2"),
    ("matmul", lambda x: x @ x, (M,), ValueError, "matmul of [3,4] and [3,4]: the inner sizes differ, 4 and 3"),
    ("matmul rank", lambda x: rt.matmul(x, x), (V,), ValueError,
     "matmul takes tensors of rank 2 or more, not float32[5] and float32[5]"),
    ("concat", lambda x, y: rt.concat([x, y], 0), (M, T[0, :, :3]), ValueError,
     "the tensors given to concat differ outside of axis 0: [3,4] and [3,3]"),
    ("concat scalars", lambda x: rt.concat([x, x], 0), (S,), ValueError,
     "concat takes at least one tensor, of rank 1 or more"),
    ("stack", lambda x, y: rt.stack([x, y]), (V, M[0]), ValueError,
     "the tensors given to stack have different shapes: [5] and [4]"),
    ("split", lambda x: rt.split(x, 2), (V,), ValueError, "axis 0 of size 5 does not split into 2 equal parts"),
    ("squeeze", lambda x: rt.squeeze(x, 0), (M,), ValueError,
     "squeeze drops dimensions of size 1, not axes [0] of [3,4]"),
    ("transpose", lambda x: rt.transpose(x, [0, 0]), (M,), ValueError,
     "transpose of a tensor of rank 2 takes a permutation of its axes, not [0, 0]"),
    ("broadcast_to", lambda x: rt.broadcast_to(x, [4]), (V,), ValueError,
     "the tensor and the shape given to broadcast_to do not broadcast: [5] and [4]"),
    ("range delta", lambda x: rt.range(0, 5, x), (i32(0),), errors.InvalidArgumentError,
     "range takes a delta that is not 0"),
    ("top_k", lambda x: rt.math.top_k(x, 9), (V,), errors.InvalidArgumentError, "top_k cannot give 9 of 5 elements"),
    ("argmax empty", lambda x: rt.argmax(x), (E,), ValueError,
     "axis 0 of [0,4] is empty and has no greatest or least element"),
    ("einsum", lambda x: rt.einsum("ij,jk->ik", x, x), (M,), ValueError, "einsum 'ij,jk->ik': 'j' is both 4 and 3"),
    ("einsum result", lambda x: rt.einsum("ij->k", x), (M,), errors.InvalidArgumentError,
     "einsum 'ij->k': each letter of the result must be in a tensor, once"),
    ("singular", rt.linalg.inv, (np.zeros((2, 2)),), errors.InvalidArgumentError, "inv: Singular matrix"),
    ("singular for numpy", np.linalg.inv, (np.zeros((2, 2)),), np.linalg.LinAlgError, "inv: Singular matrix"),
    ("indefinite for numpy", np.linalg.cholesky, (-np.eye(2),), np.linalg.LinAlgError,
     "cholesky: Matrix is not positive definite"),
    ("uniform ints", lambda: rt.random.uniform([2], dtype=rt.int32), (), ValueError,
     "Must specify maxval for integer dtype: random.uniform has no default there"),
    ("fill", lambda x: rt.fill([2], x), (V,), ValueError, "fill takes a scalar value, not float32[5]"),
    ("mask", lambda x: rt.boolean_mask(x, [True]), (V,), ValueError,
     "a tensor and its mask have different shapes: [5] and [1]"),
    ("shape of floats", lambda: rt.zeros([1.5]), (), TypeError, "zeros takes a shape of ints, not [1.5]"),
    ("negative size", lambda: rt.zeros([-1]), (), ValueError, "zeros takes sizes of at least 0, not [-1]"),
]


@pytest.mark.parametrize(("function", "arrays", "kind", "text"), [case[1:] for case in WRONG],
    ids=[c[0] for c in WRONG])
def test_errors(function: Callable[..., Any], arrays: Any, kind: type[Exception], text: str) -> None:
    for way in (eager, staged):
        with pytest.raises(kind) as caught:
            way(function, *arrays)
        assert text in str(caught.value)


def test_an_axis_must_be_known() -> None:
    with pytest.raises(errors.StagingError, match="the axis of reduce_sum must be known when the function is traced"):
        staged(lambda x, a: rt.reduce_sum(x, a), M, i32(0))


def test_a_rank_must_be_known() -> None:
    with pytest.raises(errors.ShapeError, match="squeeze without an axis takes a known shape"):
        staged(rt.squeeze, M, known=False)
    with pytest.raises(errors.ShapeError, match="reshape takes a shape of known length"):
        staged(lambda x, s: rt.reshape(x, s), M, i32([4, 3]), known=False)
