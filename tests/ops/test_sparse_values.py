"""Functions of the values of sparse tensors, against the same on dense ones, and distances of sequences."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

RNG = np.random.default_rng(0)
WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}
IDS = np.array([[1, 1, 4], [0, 4, 2]])
WEIGHTS = np.array([[0.5, 1, 2], [3, 4, 5]], np.float32)


@pytest.mark.parametrize("way", WAYS)
def test_softmax_of_what_is_there(way: str) -> None:
    dense = np.where(RNG.random((2, 3, 5)) > 0.5, RNG.normal(size=(2, 3, 5)) * 4, 0).astype(np.float32)
    sparse = rt.sparse.from_dense(dense)
    found = WAYS[way](rt.sparse.softmax)(sparse)
    exponent = np.where(dense != 0, np.exp(dense), 0)
    expected = exponent / np.maximum(exponent.sum(-1, keepdims=True), 1e-30)
    np.testing.assert_allclose(rt.sparse.to_dense(found), expected, rtol=1e-5)

    def gradient(values: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(values)
            loss = rt.reduce_sum(rt.sparse.softmax(sparse.with_values(values)).values ** 2)
        return tape.gradient(loss, values)

    steep = 2 * expected * (expected - (expected ** 2).sum(-1, keepdims=True))
    np.testing.assert_allclose(WAYS[way](gradient)(sparse.values), steep[dense != 0], rtol=1e-4, atol=1e-6)
    large = rt.sparse.softmax(rt.SparseTensor([[0, 0], [0, 2]], [1000.0, 1000.0], [1, 3]))
    assert large.values.numpy().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("way", WAYS)
def test_indicators(way: str) -> None:
    ids = rt.SparseTensor([[0, 0], [0, 1], [2, 0]], rt.constant([3, 1, 3], rt.int64), [3, 2])
    found = WAYS[way](lambda x: rt.sparse.to_indicator(x, 4))(ids)
    assert found.dtype == rt.bool
    assert found.numpy().astype(int).tolist() == [[0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]
    with pytest.raises(rt.errors.InvalidArgumentError):
        rt.sparse.to_indicator(ids, 3)


def counted(ids: Any, weights: Any, size: int) -> Any:
    return np.stack([np.bincount(row, own, size)[:size] for row, own in zip(ids, weights, strict=True)])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_bincount(weighted: bool, is_sparse: bool, way: str) -> None:
    weights = WEIGHTS if weighted else np.ones_like(WEIGHTS)
    for options, size in (({}, 5), ({"minlength": 8}, 8), ({"maxlength": 3}, 3)):
        for axis in (0, -1):
            def count(x: Any, w: Any, axis: int = axis, options: Any = options) -> Any:
                return rt.sparse.bincount(x, w if weighted else None, axis, **options)

            ids: Any = rt.constant(IDS)
            own: Any = rt.constant(WEIGHTS)
            if is_sparse:
                places = [[i, j] for i in range(2) for j in range(3)]
                ids, own = (rt.SparseTensor(places, x.reshape(-1), [2, 3]) for x in (IDS, WEIGHTS))
            found = WAYS[way](count)(ids, own)
            expected = counted(IDS, weights, 8)
            expected = (expected if axis == -1 else expected.sum(0))[..., :size]
            assert found.values.dtype == (rt.float32 if weighted else rt.int64)
            np.testing.assert_array_equal(rt.sparse.to_dense(found), expected)
            np.testing.assert_array_equal(found.indices, np.argwhere(expected))


def test_bincount_of_presence_and_errors() -> None:
    found = rt.sparse.bincount(IDS, axis=-1, binary_output=True)
    assert found.values.numpy().tolist() == [1] * 5
    assert rt.sparse.bincount(IDS[0], axis=-1).indices.numpy().tolist() == [[1], [4]]
    for error, text, arguments in ((ValueError, "Unsupported axis=1", {"axis": 1}),
                                   (ValueError, "either weights or", {"binary_output": True, "weights": WEIGHTS})):
        with pytest.raises(error, match=text):
            rt.sparse.bincount(IDS, **arguments)


@pytest.mark.parametrize("way", WAYS)
def test_edit_distances(way: str) -> None:
    found = rt.SparseTensor([[0, 0, 0], [1, 0, 0], [1, 0, 1]], ["a", "b", "c"], (2, 2, 2))
    truth = rt.SparseTensor([[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]], [*"abxde"], (2, 2, 3))
    share = WAYS[way](rt.edit_distance)(found, truth)
    assert share.dtype == rt.float32 and share.numpy().tolist() == [[np.inf, 1], [0.5, 1]]
    count = WAYS[way](lambda x, y: rt.edit_distance(x, y, normalize=False))(found, truth)
    assert count.numpy().tolist() == [[1, 1], [1, 2]]
    words = [rt.sparse.from_dense(np.array([[ord(c) for c in word]])) for word in ("kitten", "sitting")]
    assert rt.edit_distance(*words, normalize=False).numpy().tolist() == [3]
    with pytest.raises(rt.errors.ShapeError, match="sequences of equal rank"):
        rt.edit_distance(found, words[0])
    with pytest.raises(rt.errors.DTypeError, match="sequences of one dtype"):
        rt.edit_distance(found, rt.SparseTensor([[0, 0, 0]], [1], [1, 1, 1]))
