"""Results of functions of TF's names that were measured in TensorFlow 2.21: values, dtypes and shapes."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_matrix_functions import both

import runtime as rt

INF = np.inf
C = np.array([3 + 4j, 1j, 0], np.complex64)
SPARSE = rt.SparseTensor([[0, 0], [0, 1], [1, 0]], [-3, -1, 2], [3, 2])
M = np.array([[3.0, 0.0], [4.0, 5.0]], np.float32)


@pytest.mark.parametrize(("f", "want"), [
    (lambda: rt.atan2(y=1.0, x=[0.0, -1.0]), np.float32([1.5707964, 2.3561945])),
    (lambda: rt.math.nextafter(x1=1.0, x2=2), np.float32(1.0000001)),
    (lambda: rt.math.lgamma([1.0, INF, -INF, -1.0]), np.float32([0, INF, INF, INF])),
    (lambda: rt.math.squared_difference(C, 1), np.complex64([20, 2, 1])),
    (lambda: rt.math.reduce_euclidean_norm(C), np.complex64(5.0990195)),
    (lambda: rt.math.reduce_euclidean_norm([[3, 4], [2, 2]], 1), np.int32([5, 2])),
    (lambda: rt.norm(C, keepdims=None), np.complex64(5.0990195)),
    (lambda: rt.norm(C, ord=1), np.float32(6)),
    (lambda: rt.norm(M, ord=2, axis=[0, 1]), np.float32(6.7082039)),
    (lambda: rt.math.l2_normalize(C), np.complex64([0.5883484 + 0.7844645j, 0.19611613j, 0])),
    (lambda: rt.math.segment_mean([1, 2, -5, 0], [0, 0, 1, 1]), np.int32([1, -2])),
    (lambda: rt.math.segment_mean(C, [0, 0, 2]), np.complex64([1.5 + 2.5j, 0, 0])),
    (lambda: rt.math.xlogy(2, rt.constant([1.0, 2.0])), np.float32([0, 1.3862944])),
    (lambda: rt.math.xlogy(rt.constant([1.0, 0.0]), 2), np.float32([0.6931472, 0])),
    (lambda: rt.math.xdivy(2, C[:2] + 1), np.complex64([0.25 - 0.25j, 1 - 1j])),
    (lambda: rt.math.multiply_no_nan(C[:2], 2), np.complex64([6 + 8j, 2j])),
    (lambda: rt.math.igamma(2, rt.constant([0.5, 1.0])), np.float32([0.09020401, 0.26424113])),
    (lambda: rt.math.betainc(2.0, rt.constant(3.0, rt.float64), 0.5), np.float64(0.6875)),
    (lambda: rt.math.softmax(rt.constant([[0.0, 0.0]]), axis=None), np.float32([[0.5, 0.5]])),
    (lambda: rt.nn.log_softmax(rt.constant([0.0, 0.0]), None), np.float32([-0.6931472] * 2)),
    (lambda: rt.nn.silu(rt.constant([1.0, -1.0]), beta=rt.constant(2.0)), np.float32([0.88079709, -0.11920292])),
    (lambda: rt.nn.softmax_cross_entropy_with_logits(labels=[[1, 0]], logits=rt.constant([[0.0, 0.0]], rt.float64)),
     np.float64([0.69314718])),
    (lambda: rt.nn.batch_normalization(rt.constant([3.0], rt.float64), rt.constant(1.0), rt.constant(4.0),
                                       rt.constant(1.0), None, 0.0), np.float64([2.0])),
    (lambda: rt.clip_by_norm(rt.constant([3.0, 4.0], rt.float64), rt.constant(1.0)), np.float64([0.6, 0.8])),
    (lambda: rt.linalg.global_norm([None]), np.float32(0)),
    (lambda: rt.saturate_cast(rt.constant([1e9, -INF, 1.0]), rt.float16), np.float16([65504, -65504, 1])),
    (lambda: rt.add_n(M), np.float32([7, 5])),
    (lambda: rt.repeat(7, 2, axis=0), np.int32([7, 7])),
    (lambda: rt.gather(M, [1, 0], batch_dims=-1), np.float32([[0, 3], [5, 4]])),
    (lambda: rt.linspace(0.0, [1.0, 2.0], 1, axis=-1), np.float32([[0], [0]])),
    (lambda: rt.linspace(rt.constant([0.0, 4.0]), 4.0, 3, axis=-1), np.float32([[0, 2, 4], [4, 4, 4]])),
    (lambda: rt.linspace(0.0, [1.0, 2.0], 2), np.float32([[0, 0], [1, 2]])),
    (lambda: rt.tensor_scatter_nd_sub(M, [[0]], [[1, 2]]), np.float32([[2, -2], [4, 5]])),
    (lambda: rt.image.convert_image_dtype(rt.constant([0.5, 1.5, -2.0]), rt.int32, saturate=True),
     np.int32([2 ** 30, 2 ** 31 - 1, -2 ** 31])),
    (lambda: rt.image.non_max_suppression_with_scores(
        [[0.0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3]], [0.9, 0.8, 0.7], 3, soft_nms_sigma=0.5)[1],
     np.float32([0.9, 0.7, 0.4096038])),
    (lambda: rt.sparse.bincount(rt.constant([2, 0, 2])).values, np.int32([1, 2])),
    (lambda: rt.sparse.to_dense(rt.sparse.eye(2, 3)), np.float32([[1, 0, 0], [0, 1, 0]])),
    (lambda: rt.sparse.reduce_max(SPARSE, axis=1), np.int32([-1, 2, 0])),
    (lambda: rt.sparse.reduce_max(SPARSE, axis=[0], keepdims=True), np.int32([[2, -1]])),
    (lambda: rt.sparse.reduce_max(SPARSE), np.int32(2)),
    (lambda: rt.sparse.reduce_max(SPARSE, 1, output_is_sparse=True).indices, np.int64([[0], [1]])),
    (lambda: rt.constant_initializer([1, 2, 3, 4])([2, 2]), np.int32([[1, 2], [3, 4]])),
    (lambda: rt.constant_initializer(2)([2], rt.float32), np.float32([2, 2])),
    (lambda: rt.io.decode_raw(["ab", "abcde"], rt.uint8, True, 4), np.uint8([[97, 98, 0, 0], [97, 98, 99, 100]])),
    (lambda: rt.io.decode_raw(["abcde"], rt.int16, fixed_length=4), np.int16([[25185, 25699]])),
    (lambda: rt.matrix_square_root([[4.0, 0.0], [0.0, 9.0]]), np.float32([[2, 0], [0, 3]])),
    (lambda: rt.batch_to_space(rt.reshape(rt.range(4), [4, 1, 1, 1]), 2, [[0, 0], [0, 0]])[0, :, :, 0],
     np.int32([[0, 1], [2, 3]])),
])
def test_results(f: Callable[[], Any], want: Any) -> None:
    found = both(f)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("x", "text"), [
    ([1 / 3, 0.1, 123456.789, 16777216.0, 1e10, 1e-7, 2.0], "[0.333333343 0.1 123456.789 16777216 1e+10 1e-07 2]"),
    (np.float64([1 / 3, 0.1, 1e10, 2.5]), "[0.33333333333333331 0.1 10000000000 2.5]"),
    (np.float16([1 / 3, np.inf, np.nan]), "[0.333251953 inf nan]"),
])
def test_text_of_floats(x: Any, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = rt.constant(x)
    rt.print(x, output_stream=sys.stdout, summarize=-1)
    assert rt.strings.format("{}", x, summarize=-1).numpy().decode() + "\n" == capsys.readouterr().out == text + "\n"


@pytest.mark.parametrize(("f", "want"), [
    (lambda x: rt.strings.reduce_join(x, [0, 1], separator="-"), b"a-c-b-d"),
    (lambda x: rt.strings.reduce_join(x, [1, 0], separator="-"), b"a-b-c-d"),
    (lambda x: rt.strings.reduce_join(x, [-1, 0], keepdims=True), [[b"abcd"]]),
    (lambda x: rt.strings.reduce_join(x, 0), [b"ac", b"bd"]),
    (lambda x: rt.strings.substr("hello", [1, -2], -1), [b"ello", b"lo"]),
])
def test_strings(f: Callable[[Any], Any], want: Any) -> None:
    x = rt.constant([["a", "b"], ["c", "d"]])
    assert f(x).numpy().tolist() == rt.function(f)(x).numpy().tolist() == want if isinstance(want, list) else (
        f(x).numpy() == rt.function(f)(x).numpy() == want)


PARTS = rt.SparseTensor([[0, 0], [0, 1], [1, 0]], [3, 1, 2], [3, 2])
OTHERS = rt.SparseTensor([[0, 0], [2, 0]], [1, 7], [3, 2])


@pytest.mark.parametrize(("f", "indices", "values", "shape"), [
    (lambda: rt.sets.union(PARTS, OTHERS), [[0, 0], [0, 1], [1, 0], [2, 0]], [1, 3, 2, 7], [3, 2]),
    (lambda: rt.sets.intersection(PARTS, OTHERS), [[0, 0]], [1], [3, 1]),
    (lambda: rt.sets.difference(PARTS, OTHERS), [[0, 0], [1, 0]], [3, 2], [3, 1]),
    (lambda: rt.sets.difference(PARTS, OTHERS, aminusb=False), [[2, 0]], [7], [3, 1]),
    (lambda: rt.sets.union([[1, 1, 2]], [[5, 1, 1]]), [[0, 0], [0, 1], [0, 2]], [1, 2, 5], [1, 3]),
    (lambda: rt.sets.union([["b", "a"]], [["c", "a"]]), [[0, 0], [0, 1], [0, 2]], [b"a", b"b", b"c"], [1, 3]),
    (lambda: rt.sets.union([[[1, 1], [2, 3]]], [[[5, 1], [2, 2]]]),
     [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]], [1, 5, 2, 3], [1, 2, 2]),
    (lambda: rt.sparse.from_dense([["", "a"]]), [[0, 1]], [b"a"], [1, 2]),
])
def test_sets(f: Callable[[], Any], indices: Any, values: Any, shape: Any) -> None:
    for found in (f(), rt.function(f)()):
        assert found.indices.numpy().tolist() == indices
        assert found.values.numpy().tolist() == values
        assert found.dense_shape.numpy().tolist() == shape


def test_sizes_of_sets_and_what_is_no_set() -> None:
    assert rt.sets.size(PARTS).numpy().tolist() == rt.function(lambda: rt.sets.size(PARTS))().numpy().tolist() == [
        2, 1, 0]
    for call, error, text in (
            (lambda: rt.sets.union([1], [2]), rt.errors.InvalidArgumentError, "rank 2 or more"),
            (lambda: rt.sets.union([[1]], [[1], [2]]), rt.errors.InvalidArgumentError, "last axis only"),
            (lambda: rt.sets.union([[1.0]], [[2.0]]), TypeError, "ints and strings, not float32"),
            (lambda: rt.sets.size([[1]]), TypeError, "takes a SparseTensor, not list")):
        with pytest.raises(error, match=text):
            call()


def test_a_directory_stands_for_its_latest_checkpoint(tmp_path: Any) -> None:
    with pytest.raises(rt.errors.NotFoundError, match="no checkpoint in the directory"):
        rt.train.list_variables(tmp_path)
    v = rt.Variable(1.0)
    checkpoint = rt.train.Checkpoint(v=v)
    checkpoint.save(str(tmp_path / "ck"))
    v.assign(2.0)
    checkpoint.save(str(tmp_path / "ck"))
    assert rt.train.load_variable(str(tmp_path), "v/.ATTRIBUTES/VARIABLE_VALUE") == 2.0


def test_the_older_choose_from_datasets_leaves_out_what_is_empty() -> None:
    parts = [rt.data.Dataset.range(1), rt.data.Dataset.range(5, 7)]
    choice = rt.data.Dataset.from_tensor_slices(np.int64([0, 0, 1, 1]))
    for choose, want in ((rt.data.experimental.choose_from_datasets, [0, 5, 6]),
                         (rt.data.Dataset.choose_from_datasets, [0])):
        assert [int(x) for x in choose(parts, choice)] == want


def test_a_tensor_of_another_dtype_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="float32 was given where int64 is wanted"):
        rt.convert_to_tensor(rt.constant(1.0), rt.int64)


def _gradient(f: Callable[[Any], Any], x: Any) -> Any:
    x = rt.constant(x)
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize(("f", "x", "want"), [
    (rt.sign, [1.5, -2.0, 0.0], [0, 0, 0]),
    (rt.floor, [1.5], None),
    (lambda x: rt.math.nextafter(x, [9.0, -9.0]), [1.0, 2.0], [1, 1]),
    (lambda x: rt.math.nextafter([9.0, -9.0], x), [1.0, 2.0], [0, 0]),
    (rt.math.lgamma, [1.0, INF], [-0.5772157, INF]),
    (lambda x: rt.gather(x, [0, 1]), np.zeros((3, 0), np.float32), np.zeros((3, 0))),
    (lambda x: rt.py_function(lambda v: v * 2, [x], [rt.float32])[0], [1.0, 2.0], [2, 2]),
])
def test_derivatives(f: Callable[[Any], Any], x: Any, want: Any) -> None:
    for found in (_gradient(f, x), rt.function(_gradient)(f, x)):
        if want is None:
            assert found is None
        else:
            np.testing.assert_allclose(rt.convert_to_tensor(found), want, rtol=1e-5)


def test_values_that_are_no_numbers() -> None:
    assert rt.stop_gradient(rt.constant(["a"])).numpy().tolist() == [b"a"]
    assert rt.get_static_value(3) == 3
    with pytest.raises(ValueError, match="only at the beginning"):
        rt.debugging.assert_shapes([(M, ("N", ...))])
    with pytest.raises(rt.errors.InvalidArgumentError, match="as many begins as ends and strides, not 1, 2 and 1"):
        rt.strided_slice(M, [0], [1, 1])
