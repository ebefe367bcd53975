"""Datasets of several elements together: padded, bucketed, windows, groups, shards; and elements in files."""
from __future__ import annotations

import numpy as np
import pytest

import runtime as rt

Dataset = rt.data.Dataset


def values(dataset):
    return [rt.nest.map_structure(lambda x: x.tolist(), element) for element in dataset.as_numpy_iterator()]


def ragged(*rows, dtype=rt.int32):
    return Dataset.from_generator(lambda: iter(rows), output_signature=rt.TensorSpec([None], dtype))


def test_padded_batch():
    d = ragged([1], [2, 2], [3, 3, 3]).padded_batch(2)
    assert values(d) == [[[1, 0], [2, 2]], [[3, 3, 3]]] and d.element_spec.shape == [None, None]
    d = ragged([1], [2, 2]).padded_batch(2, padded_shapes=[4], padding_values=-1, drop_remainder=True)
    assert values(d) == [[[1, -1, -1, -1], [2, 2, -1, -1]]] and d.element_spec.shape == [2, 4]
    pairs = Dataset.zip(ragged([1], [2, 2]), Dataset.range(2)).padded_batch(2, padding_values=(-1, np.int64(9)))
    assert values(pairs) == [([[1, -1], [2, 2]], [0, 1])]
    with pytest.raises(ValueError, match=r"an element of shape \(3,\) does not fit into the padded shape \[2\]"):
        values(ragged([1, 2, 3]).padded_batch(1, [2]))
    with pytest.raises(ValueError, match=r"elements of int32\[\?\] are not padded to the shape \[2, 2\]"):
        ragged([1]).padded_batch(1, [2, 2])
    with pytest.raises(TypeError, match=r"padded with a scalar of int32, not float32\[\]"):
        ragged([1]).padded_batch(1, padding_values=0.5)
    with pytest.raises(rt.errors.InvalidArgumentError, match="a batch has at least 1 element, not 0"):
        ragged([1]).padded_batch(0)


def test_buckets():
    rows = [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [13, 14, 15, 16, 19, 20], [21, 22]]
    d = ragged(*rows).bucket_by_sequence_length(
        lambda x: rt.shape(x)[0], bucket_boundaries=[3, 5], bucket_batch_sizes=[2, 2, 2])
    assert values(d) == [
        [[1, 2, 3, 4], [5, 6, 7, 0]], [[7, 8, 9, 10, 11, 0], [13, 14, 15, 16, 19, 20]], [[0, 0], [21, 22]]]
    d = ragged([1], [1, 2, 3]).bucket_by_sequence_length(
        lambda x: rt.shape(x)[0], [3, 5], [1, 1, 1], pad_to_bucket_boundary=True)
    assert values(d) == [[[1, 0]], [[1, 2, 3, 0]]]
    with pytest.raises(ValueError, match="as long as the last boundary"):
        values(ragged([1] * 9).bucket_by_sequence_length(
            lambda x: rt.shape(x)[0], [3], [1, 1], pad_to_bucket_boundary=True))
    with pytest.raises(ValueError, match="increasing boundaries and one batch size more"):
        ragged([1]).bucket_by_sequence_length(lambda x: rt.shape(x)[0], [3], [1])


def test_windows():
    def rows(*args, **options):
        return [values(w) for w in Dataset.range(7).window(*args, **options)]

    assert rows(3) == [[0, 1, 2], [3, 4, 5], [6]]
    assert rows(3, drop_remainder=True) == [[0, 1, 2], [3, 4, 5]]
    assert rows(3, 1, 1, True) == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]]
    assert rows(3, 1, 2, True) == [[0, 2, 4], [1, 3, 5], [2, 4, 6]]
    assert rows(2, 4) == [[0, 1], [4, 5]]
    assert repr(Dataset.range(7).window(2).element_spec) == f"DatasetSpec({rt.TensorSpec([], rt.int64)!r})"
    pairs = Dataset.zip(Dataset.range(4), ragged([1], [2, 2], [3], [4])).window(2)
    assert [(values(a), values(b)) for a, b in pairs] == [([0, 1], [[1], [2, 2]]), ([2, 3], [[3], [4]])]
    joined = pairs.flat_map(lambda a, b: Dataset.zip(a.batch(2), b.padded_batch(2)))
    assert values(joined) == [([0, 1], [[1, 0], [2, 2]]), ([2, 3], [[3], [4]])]
    with pytest.raises(TypeError, match="batch takes elements of tensors, but these hold datasets"):
        Dataset.range(3).window(2).batch(2)
    with pytest.raises(rt.errors.InvalidArgumentError, match="a window has at least 1 element, not 0"):
        Dataset.range(3).window(0)


def test_groups():
    d = Dataset.range(10).group_by_window(
        key_func=lambda x: x % 2, reduce_func=lambda key, window: window.batch(4), window_size=4)
    assert values(d) == [[0, 2, 4, 6], [1, 3, 5, 7], [8], [9]]
    d = Dataset.range(7).group_by_window(
        lambda x: x % 3, lambda key, window: window.map(lambda x: (key, x)).take(2), window_size_func=lambda k: k + 1)
    assert values(d) == [(0, 0), (0, 3), (1, 1), (1, 4), (0, 6), (2, 2), (2, 5)]
    with pytest.raises(ValueError, match="either window_size or window_size_func"):
        Dataset.range(3).group_by_window(lambda x: x, lambda k, w: w)


def test_rebatch_and_shard():
    assert values(Dataset.range(6).batch(2).rebatch(4)) == [[0, 1, 2, 3], [4, 5]]
    assert values(Dataset.range(6).batch(2).rebatch(4, drop_remainder=True)) == [[0, 1, 2, 3]]
    assert values(Dataset.range(8).batch(4).rebatch([2, 1, 1])) == [[0, 1], [2], [3], [4, 5], [6], [7]]
    d = Dataset.range(7).shard(3, 1)
    assert values(d) == [1, 4] and len(d) == 2 and len(Dataset.range(7).shard(3, 0)) == 3
    with pytest.raises(rt.errors.InvalidArgumentError, match="not index 3 of 3"):
        Dataset.range(7).shard(3, 3)


@pytest.fixture
def counted():
    reads = []

    def generate():
        reads.append(1)
        for i in range(3):
            yield i, [0.5] * i

    signature = (rt.TensorSpec([], rt.int32), rt.TensorSpec([None], rt.float32))
    return Dataset.from_generator(generate, output_signature=signature), reads


ELEMENTS = [(0, []), (1, [0.5]), (2, [0.5, 0.5])]


def test_a_cache_in_a_file(tmp_path, counted):
    d, reads = counted
    path = tmp_path / "cache"
    assert values(d.cache(path).take(1)) == ELEMENTS[:1]
    assert not list(tmp_path.iterdir())  # nothing half written
    for _ in range(2):
        assert values(d.cache(path)) == ELEMENTS
    assert len(reads) == 2 and [p.name for p in tmp_path.iterdir()] == ["cache"]
    with pytest.raises(ValueError, match="holds elements of .* not of TensorSpec"):
        values(Dataset.range(2).cache(path))


def test_saved_elements(tmp_path, counted):
    d, _ = counted
    d.map(lambda i, x: {"i": i, "x": (x, i)}).save(tmp_path / "a")
    loaded = Dataset.load(tmp_path / "a")
    assert values(loaded) == [{"i": i, "x": (x, i)} for i, x in ELEMENTS]
    assert loaded.element_spec["x"][0] == rt.TensorSpec([None], rt.float32)
    with pytest.raises(rt.errors.NotFoundError, match="no folder that Dataset.save wrote"):
        Dataset.load(tmp_path / "b")
    snapshot = Dataset.range(3).snapshot(tmp_path / "c")
    assert values(snapshot) == [0, 1, 2] == values(snapshot)


def test_damaged_files(tmp_path, counted):
    d, _ = counted
    path = tmp_path / "cache"
    assert values(d.cache(path)) == ELEMENTS
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(rt.errors.DataLossError, match="is damaged|holds no elements"):
            values(d.cache(path))
    path.write_bytes(whole.replace(b'"version": 1', b'"version": 2'))
    with pytest.raises(rt.errors.DataLossError, match="newer than 1"):
        values(d.cache(path))
