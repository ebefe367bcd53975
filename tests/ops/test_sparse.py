"""Sparse tensors against NumPy on the dense ones: eager, in graphs that know the shapes and in graphs that do not."""
from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.ops import sparse, sparse_shapes
from tests.op_ways import check

RNG = np.random.default_rng(0)
SHAPES = [(2, 3), (4, 2, 3), (2, 2, 5, 3)]


def array(*shape: int, share: float = 0.4) -> Any:
    return np.where(RNG.random(shape) < share, RNG.standard_normal(shape), 0).astype(np.float32)


def agrees(function: Callable[..., Any], expected: Callable[..., Any], *arrays: Any) -> None:
    """`function` of sparse tensors, made of the arrays, is the NumPy function of the arrays."""
    def of_arrays(*xs: Any) -> Any:
        result = function(*[rt.sparse.from_dense(x) for x in xs])
        return rt.sparse.to_dense(result) if sparse.is_sparse(result) else result

    check(of_arrays, expected, *arrays)


@pytest.mark.parametrize("shape", SHAPES)
def test_arithmetic(shape: tuple[int, ...]) -> None:
    a, b, dense = array(*shape), array(*shape), array(*shape, share=1)
    row = dense[..., :1, :]
    agrees(lambda x, y: x + y, np.add, a, b)
    agrees(lambda x, y: x - y, np.subtract, a, b)
    agrees(lambda x: x + dense, lambda x: x + dense, a)
    agrees(lambda x: dense - x, lambda x: dense - x, a)
    agrees(lambda x, y: x * y, np.multiply, a, b)
    agrees(lambda x: x * dense, lambda x: x * dense, a)
    agrees(lambda x: row * x, lambda x: row * x, a)
    agrees(lambda x: -x / 2, lambda x: -x / 2, a)
    agrees(rt.sparse.maximum, np.maximum, a, b)
    agrees(rt.sparse.minimum, np.minimum, a, b)
    agrees(lambda x: rt.sparse.map_values(rt.square, x), np.square, a)
    larger = array(3, *shape, share=1)
    agrees(lambda x: x * larger, lambda x: x * larger, a)


def test_a_quotient_is_not_zero_where_the_divisor_is_none() -> None:
    a, divisor = array(3, 4), array(3, 4, share=0.6)
    divisor[0, 0] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        want = a / divisor
        agrees(lambda x: x / divisor, lambda x: x / divisor, a)
        agrees(lambda x: dense_of_one(x) / x, lambda x: np.float32(1) / x, a)
        slices = rt.IndexedSlices(a[[2, 0]], [2, 0], a.shape)
        rows = a.copy()
        rows[1] = 0
        np.testing.assert_array_equal(rt.sparse.to_dense(slices / divisor), rows / divisor)
    assert isinstance(rt.sparse.from_dense(a) / divisor, rt.SparseTensor) and np.isnan(want[0, 0])


def dense_of_one(x: Any) -> Any:
    return rt.ones(rt.cast(x.dense_shape, rt.int32))


@pytest.mark.parametrize("shape", SHAPES)
def test_moved_positions(shape: tuple[int, ...]) -> None:
    a, b = array(*shape), array(*shape)
    agrees(rt.sparse.transpose, np.transpose, a)
    order = [len(shape) - 1, *range(len(shape) - 1)]
    agrees(lambda x: rt.sparse.reorder(rt.sparse.transpose(x, order)), lambda x: x.transpose(order), a)
    agrees(lambda x: rt.sparse.reshape(x, [-1, 3]), lambda x: x.reshape(-1, 3), a)
    agrees(lambda x: sparse_shapes.squeeze(rt.sparse.expand_dims(x, 1)), lambda x: x, a)
    agrees(lambda x, y: rt.sparse.concat(-1, [x, y]), lambda x, y: np.concatenate([x, y], -1), a, b)
    agrees(lambda x: rt.sparse.retain(x, x.values > 0), lambda x: x * (x > 0), a)
    start, size = [1] + [0] * (len(shape) - 1), [9] + [2] * (len(shape) - 1)
    agrees(lambda x: rt.sparse.slice(x, start, size), lambda x: x[tuple(map(slice, start, [10] + size[1:]))], a)
    positions = rt.sparse.reorder(rt.sparse.transpose(rt.sparse.from_dense(a))).indices.numpy().tolist()
    assert positions == sorted(positions)


@pytest.mark.parametrize("output_is_sparse", [False, True])
@pytest.mark.parametrize("shape", SHAPES[:2])
def test_sums(shape: tuple[int, ...], output_is_sparse: bool) -> None:
    a = array(*shape)
    rows = a.copy()
    rows[0] *= 2
    rows[2:] = 0
    slices = rt.IndexedSlices(a[[1, 0, 0]], [1, 0, 0], shape)
    for count in range(len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            for keep in (False, True):
                def total(x: Any, axes: Any = axes, keep: bool = keep) -> Any:
                    return rt.sparse.reduce_sum(x, axes, keep, output_is_sparse=output_is_sparse)

                agrees(total, lambda x, axes=axes, keep=keep: x.sum(axes, keepdims=keep), a)
                found = total(slices)
                found = rt.sparse.to_dense(found) if sparse.is_sparse(found) else found
                np.testing.assert_allclose(found, rows.sum(axes, keepdims=keep), atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_matrix_products(shape: tuple[int, ...]) -> None:
    a, b = array(*shape), array(*shape[:-2], shape[-1], 4)
    dense = array(*shape[:-2], shape[-1], 4, share=1)
    agrees(lambda x: x @ dense, lambda x: x @ dense, a)
    agrees(lambda x: x @ dense[(0,) * (len(shape) - 2)], lambda x: x @ dense[(0,) * (len(shape) - 2)], a)
    agrees(lambda y: a @ y, lambda y: a @ y, b)
    agrees(lambda x, y: x @ y, np.matmul, a, b)
    left, right = array(3, 4), array(3, 5, share=1)
    agrees(lambda x: rt.sparse.sparse_dense_matmul(x, right, adjoint_a=True), lambda x: x.T @ right, left)
    agrees(lambda x: rt.sparse.sparse_dense_matmul(x, right.T.copy(), adjoint_a=True, adjoint_b=True),
           lambda x: x.T @ right, left)


def test_positions_that_come_twice_add_up() -> None:
    twice = rt.SparseTensor([[0, 1], [1, 0], [0, 1]], [1.0, 2.0, 3.0], [2, 2])
    assert rt.sparse.to_dense(twice, validate_indices=False).numpy().tolist() == [[0, 4], [2, 0]]
    assert (twice + rt.zeros([2, 2])).numpy().tolist() == [[0, 4], [2, 0]]
    assert sparse.without_duplicates(twice).values.numpy().tolist() == [4, 2]
    bits = rt.SparseTensor([[1], [1]], [True, False], [3])
    assert rt.sparse.to_dense(bits, validate_indices=False).numpy().tolist() == [False, True, False]
    assert rt.sparse.to_dense(rt.SparseTensor([[2]], [5], [3]), default_value=-1).numpy().tolist() == [-1, -1, 5]
    empty = rt.SparseTensor([], rt.zeros([0]), [2, 2])
    assert rt.sparse.to_dense(empty + empty).numpy().tolist() == [[0, 0], [0, 0]]
    assert rt.sparse.to_dense(empty @ empty).numpy().tolist() == [[0, 0], [0, 0]]


def test_as_a_structure_of_a_traced_function() -> None:
    @rt.function
    def powers(x: Any, n: Any, w: Any) -> Any:
        product = x
        for _ in rt.range(n):
            product = product @ x
        if rt.reduce_sum(product.values) > 0:
            product = product + x
        return product, product @ w

    a = np.abs(array(4, 4))
    w = array(4, 2, share=1)
    for n in (2, 0):
        want = np.linalg.matrix_power(a, n + 1) + a
        found, dense = powers(rt.sparse.from_dense(a), n=rt.constant(n), w=w)
        assert isinstance(found, rt.SparseTensor) and found.shape == [4, 4]
        np.testing.assert_allclose(rt.sparse.to_dense(found), want, rtol=1e-5)
        np.testing.assert_allclose(dense, want @ w, rtol=1e-4)
    fewer = rt.sparse.from_dense(np.eye(4, dtype=np.float32))
    assert rt.sparse.to_dense(powers(fewer, n=rt.constant(5), w=w)[0]).numpy().tolist() == (2 * np.eye(4)).tolist()
    assert powers.experimental_get_tracing_count() <= 2  # the number of values is no part of the type


def test_derivatives() -> None:
    a, w = array(5, 3), array(3, 2, share=1)
    v = rt.Variable(w)

    @rt.function
    def gradients(indices: Any, values: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(values)
            loss = rt.reduce_sum((rt.SparseTensor(indices, values, [5, 3]) @ v) ** 2)
        return tape.gradient(loss, [v, values])

    x = rt.sparse.from_dense(a)
    by_v, by_values = gradients(x.indices, x.values)
    np.testing.assert_allclose(by_v, 2 * a.T @ (a @ w), rtol=1e-5)
    np.testing.assert_allclose(by_values, (2 * (a @ w) @ w.T)[tuple(x.indices.numpy().T)], rtol=1e-4, atol=1e-6)


def test_large_and_native() -> None:
    scale, n = 200_000, 5_000
    where = RNG.integers(0, scale, (n, 2))
    x = rt.SparseTensor(where, np.ones(n, np.float32), [scale, scale])
    v = np.arange(scale, dtype=np.float32)[:, None]
    want = np.zeros((scale, 1), np.float32)
    np.add.at(want, where[:, 0], v[where[:, 1]])
    np.testing.assert_allclose(rt.function(lambda x, v: x @ v)(x, v), want)
    square = rt.function(lambda x: x @ rt.sparse.transpose(x))(x)  # of 4e10 elements, of which few are not zero
    assert n / 2 < square.values.shape[0] < 2 * n


def test_positions_of_results_are_in_row_major_order() -> None:
    x, y = rt.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2]), rt.SparseTensor([[0, 0]], [3.0], [2, 2])
    for found, where in (
        (rt.sparse.transpose(rt.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])), [[0, 1], [1, 0]]),
        (rt.sparse.add(x, y), [[0, 0], [0, 1], [1, 0]]),
        (rt.sparse.concat(1, [x, x]), [[0, 1], [0, 3], [1, 0], [1, 2]]),
    ):
        assert found.indices.numpy().tolist() == where
        rt.sparse.to_dense(found)


@pytest.mark.parametrize("way", [lambda f: f, rt.function, lambda f: rt.function(f, executor="numpy")])
def test_a_shape_is_reset(way: Any) -> None:
    x = rt.SparseTensor([[0, 1], [1, 0]], [1, 2], [4, 4])
    reset = way(lambda x, n: (rt.sparse.reset_shape(x), rt.sparse.reset_shape(x, [n, 4])))
    least, larger = reset(x, rt.constant(5))
    assert rt.sparse.to_dense(least).numpy().tolist() == [[0, 1], [2, 0]]
    assert larger.dense_shape.numpy().tolist() == [5, 4] and larger.indices.numpy().tolist() == [[0, 1], [1, 0]]
    assert reset(rt.SparseTensor([], rt.zeros([0]), [4, 4]), rt.constant(5))[0].dense_shape.numpy().tolist() == [0, 0]
    with pytest.raises(rt.errors.ShapeError, match=r"\[4, 4\] the same rank and no smaller size, not \[3, 4\]"):
        reset(x, rt.constant(3))


@pytest.mark.parametrize("way", [lambda f: f, rt.function, lambda f: rt.function(f, executor="numpy")])
def test_rows_are_masked(way: Any) -> None:
    rows = rt.IndexedSlices([[1.0], [2.0], [3.0]], rt.constant([12, 26, 37]))
    kept = way(rt.sparse.mask)(rows, rt.constant([12, 45]))
    assert kept.values.numpy().tolist() == [[2], [3]] and kept.indices.numpy().tolist() == [26, 37]


BAD = [
    (lambda: rt.SparseTensor([[0]], [1.0, 2.0], [3]), rt.errors.ShapeError, r"not \[1, 1\] and \[2\]"),
    (lambda: rt.SparseTensor([[0]], [1.0], [3, 3]), rt.errors.ShapeError, "dense_shape has 2 axes"),
    (lambda: rt.SparseTensor([[0.5]], [1.0], [3]), rt.errors.DTypeError, "are integers, not float32"),
    (lambda: rt.sparse.to_dense(rt.SparseTensor([[5]], [1.0], [3])), rt.errors.IndexOutOfRangeError, "index 5 is out"),
    (lambda: rt.SparseTensor([[0, 1]], [1.0], [2, 3]) @ rt.SparseTensor([[0, 1]], [1.0], [2, 3]),
     rt.errors.ShapeError, "cannot be multiplied"),
    (lambda: rt.sparse.reshape(rt.SparseTensor([[0]], [1.0], [6]), [7]), rt.errors.ShapeError, "it has 6 elements"),
    (lambda: rt.SparseTensor([[0]], [1.0], [3]) + rt.SparseTensor([[0]], [1.0], [4]), rt.errors.ShapeError, "not fit"),
    (lambda: rt.IndexedSlices([1.0], [0]) * 2 + 1, rt.errors.InvalidArgumentError, "Give them a dense_shape"),
    (lambda: rt.matmul(rt.SparseTensor([[0]], [1.0], [3]), [[1.0]]), ValueError, "unsupported type"),
    (lambda: rt.sparse.transpose(rt.SparseTensor([[0]], [1.0], [3]), [1]), ValueError, "transpose"),
    (lambda: rt.sparse.concat(0, [rt.SparseTensor([[0, 0]], [1.0], [1, n]) for n in (2, 3)]), rt.errors.ShapeError,
     "cannot be concatenated"),
    (lambda: rt.sparse.map_values(rt.abs, [1.0]), TypeError, "no sparse tensor"),
]


@pytest.mark.parametrize(("bad", "kind", "text"), BAD)
def test_errors(bad: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as info:
        bad()
    assert re.search(text, str(info.value) + getattr(info.value, "remedy", ""))


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_made_in_a_graph_of_as_many_values_as_it_finds(executor: str) -> None:
    def kept(x: Any) -> Any:
        present = x > 0.5
        found = rt.SparseTensor(rt.where(present), rt.boolean_mask(x, present), rt.shape(x, rt.int64))
        return rt.sparse.to_dense(found), rt.sparse.reduce_sum(found, 1)

    traced = rt.function(kept, executor=executor, input_signature=[rt.TensorSpec([None, None], rt.float32)])
    x = RNG.random((3, 4), np.float32)
    dense, sums = traced(x)
    np.testing.assert_array_equal(dense, np.where(x > 0.5, x, 0))
    np.testing.assert_allclose(sums, np.where(x > 0.5, x, 0).sum(1), rtol=1e-6)


def test_cast_keeps_them_sparse():
    x = rt.SparseTensor([[0, 1], [2, 0]], [1.5, 2.0], [3, 2])

    def f(x):
        return rt.cast(x, rt.int32), rt.cast(rt.IndexedSlices([[1.5]], [0], [2, 1]), rt.int64)

    for found, slices in f(x), rt.function(f)(x):
        assert isinstance(found, rt.SparseTensor) and found.dtype is rt.int32
        assert found.values.numpy().tolist() == [1, 2] and found.shape == (3, 2)
        assert isinstance(slices, rt.IndexedSlices) and slices.values.numpy().tolist() == [[1]]


def test_ops_take_the_whole_tensor_of_rows():
    rows = rt.IndexedSlices(rt.ones([2, 3]), rt.constant([1, 1]), rt.constant([3, 3]))
    whole = [[0, 0, 0], [2, 2, 2], [0, 0, 0]]
    assert rt.convert_to_tensor(rows).numpy().tolist() == whole
    assert rt.function(lambda x: rt.multiply(x, 1.0))(rows).numpy().tolist() == whole
    assert rt.reduce_sum(rows) == 6
    with pytest.raises(rt.errors.InvalidArgumentError, match="do not know the shape of the whole"):
        rt.convert_to_tensor(rt.IndexedSlices(rt.ones([2, 3]), [1, 1]))


def test_clipping_rows():
    """By TF: norms are of the rows' values, also if rows of one position are added."""
    rows = rt.IndexedSlices(rt.ones([2, 3]), rt.constant([1, 1]), rt.constant([3, 3]))
    clipped, length = rt.clip_by_global_norm([rows, rt.ones([2])], 1.0)
    for found, value in ((rt.clip_by_norm(rows, 1.0), 0.40824828), (rt.clip_by_value(rows, 0.0, 0.5), 0.5),
                         (clipped[0], 0.35355338)):
        assert isinstance(found, rt.IndexedSlices) and found.shape == (3, 3)
        np.testing.assert_allclose(found.values.numpy(), np.full((2, 3), value), rtol=1e-6)
    np.testing.assert_allclose([length, rt.linalg.global_norm([rows])], [2.828427, 2.4494898], rtol=1e-6)
