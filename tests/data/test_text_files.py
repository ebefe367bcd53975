"""Datasets of lines, records and names of files."""
import gzip
import tracemalloc
import zlib

import numpy as np
import pytest

import runtime as rt

RECORDS = [b"", b"one", bytes(range(256)) * 300]


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_records(tmp_path, compression):
    path = str(tmp_path / "a.tfrecord")
    with rt.io.TFRecordWriter(path, compression) as writer:
        for data in RECORDS:
            writer.write(data)
    dataset = rt.data.TFRecordDataset([path, path], compression)
    assert list(dataset.as_numpy_iterator()) == RECORDS * 2
    assert [int(rt.strings.length(x)) for x in dataset.take(2)] == [0, 3]


@pytest.mark.parametrize("compression, pack", [("", bytes), ("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_lines(tmp_path, compression, pack):
    path = tmp_path / "a.txt"
    path.write_bytes(pack(b"The fox\r\n\nlast \xc3\xa9" + b"x" * 70000))
    lines = list(rt.data.TextLineDataset(str(path), compression).as_numpy_iterator())
    assert lines == [b"The fox", b"", b"last \xc3\xa9" + b"x" * 70000]


def test_a_text_pipeline(tmp_path):
    (tmp_path / "a.txt").write_text("The quick fox\nA dog\n")
    table = rt.lookup.StaticHashTable(rt.lookup.KeyValueTensorInitializer(["the", "fox", "dog"], [1, 2, 3]), 0)
    lines = rt.data.TextLineDataset(str(tmp_path / "a.txt"))
    ids = lines.map(lambda line: table.lookup(rt.strings.split(rt.strings.lower(line)))).padded_batch(2)
    assert next(iter(ids)).numpy().tolist() == [[1, 0, 2], [0, 3, 0]]


def test_names_of_files(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(name)
    names = rt.data.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    assert [x[-5:] for x in names.as_numpy_iterator()] == [b"a.txt", b"b.txt", b"c.txt"]
    assert sorted(rt.data.Dataset.list_files(str(tmp_path / "*.txt"), seed=1).flat_map(
        rt.data.TextLineDataset).as_numpy_iterator()) == [b"a", b"b", b"c"]
    with pytest.raises(rt.errors.NotFoundError, match="No files matched"):
        rt.data.Dataset.list_files(str(tmp_path / "*.csv"))


def test_damaged_files(tmp_path):
    path = tmp_path / "a"
    with rt.io.TFRecordWriter(path) as writer:
        writer.write(b"some data")
        with pytest.raises(TypeError, match="consists of bytes, not of str"):
            writer.write("text")
    whole = path.read_bytes()
    for k in range(len(whole)):
        path.write_bytes(whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1:])
        with pytest.raises(rt.errors.DataLossError, match="corrupted record 0"):
            list(rt.data.TFRecordDataset(str(path)))
        path.write_bytes(whole[:k])
        if k:
            with pytest.raises(rt.errors.DataLossError, match="truncated record 0"):
                list(rt.data.TFRecordDataset(str(path)))
    for kind in ("GZIP", "ZLIB"):
        path.write_bytes(b"neither")
        with pytest.raises(rt.errors.DataLossError, match="is damaged"):
            list(rt.data.TextLineDataset(str(path), kind))
    with pytest.raises(rt.errors.NotFoundError, match="No such file"):
        list(rt.data.TextLineDataset(str(tmp_path / "missing")))
    with pytest.raises(rt.errors.InvalidArgumentError, match="'LZ4'"):
        rt.data.TextLineDataset("a", "LZ4")


@pytest.mark.parametrize("size", [1, 2])
def test_strings_are_kept(tmp_path, size):
    words = ["a", "", "d\xe9" * 300]
    dataset = rt.data.Dataset.from_tensor_slices((words, [1, 2, 3])).batch(size)
    expected = [[x.tolist() for x in pair] for pair in dataset.as_numpy_iterator()]
    dataset.save(tmp_path / "s")
    for kept in (dataset.cache(), dataset.cache(tmp_path / "c"), dataset.snapshot(tmp_path / "n"),
                 rt.data.Dataset.load(tmp_path / "s")):
        for _ in range(2):
            assert [[x.tolist() for x in pair] for pair in kept.as_numpy_iterator()] == expected
    whole = (tmp_path / "c").read_bytes()
    for k in range(0, len(whole), 41):
        (tmp_path / "c").write_bytes(whole[:k])
        with pytest.raises(rt.errors.DataLossError, match="is damaged|holds no elements"):
            list(dataset.cache(tmp_path / "c"))


def test_memory_maps_are_not_copied(tmp_path):
    rows, width = 500_000, 1024
    stored = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(rows, width))
    stored[5], stored[-1] = 5, 7
    del stored  # a sparse file of 2 GB
    tracemalloc.start()
    try:
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        dataset = rt.data.Dataset.from_tensor_slices({"x": mapped, "i": np.arange(rows)})
        head = next(iter(dataset.batch(8)))["x"]
        tail = next(iter(dataset.skip(rows - 2).batch(2)))
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert head.numpy()[:, 3].tolist() == [0, 0, 0, 0, 0, 5, 0, 0]
    assert tail["x"].numpy()[:, -1].tolist() == [0, 7] and tail["i"].numpy().tolist() == [rows - 2, rows - 1]
    assert not np.shares_memory(np.asarray(head), mapped)


@pytest.mark.parametrize("compression, pack", [("", bytes), ("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_records_of_one_length(tmp_path, compression, pack):
    path, data = tmp_path / "a.bin", bytes(range(250)) * 400
    path.write_bytes(pack(b"head" + data + b"end"))
    records = rt.data.FixedLengthRecordDataset([str(path)], 250, 4, 3, compression_type=compression)
    assert list(records.as_numpy_iterator()) == [bytes(range(250))] * 400
    digits = records.map(lambda x: rt.io.decode_raw(x, rt.uint8)[:3])
    assert next(iter(digits)).numpy().tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [0, 5, 6, 7, 8])
def test_bytes_beyond_records_of_one_length(tmp_path, size):
    (tmp_path / "a.bin").write_bytes(b"12345678"[:size])
    records = rt.data.FixedLengthRecordDataset(str(tmp_path / "a.bin"), 2, 2, 2)
    if size in (6, 8):
        assert list(records.as_numpy_iterator()) == [b"34", b"56"][:size // 2 - 2]
        return
    with pytest.raises(rt.errors.InvalidArgumentError, match="has no whole number of records of 2 bytes"):
        list(records)
    with pytest.raises(rt.errors.InvalidArgumentError, match="a record has 1 byte or more"):
        rt.data.FixedLengthRecordDataset(str(tmp_path / "a.bin"), 0)


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_names_of_files_when_a_graph_runs(tmp_path, executor):
    find = rt.function(lambda: rt.io.matching_files([str(tmp_path / "*.txt"), str(tmp_path / "b*")]), executor=executor)
    assert find().numpy().tolist() == []
    for name in ("b.txt", "a.txt", "b.bin"):
        (tmp_path / name).write_text("")
    assert [name.rpartition(b"/")[2] for name in find().numpy().tolist()] == [b"a.txt", b"b.bin", b"b.txt"]


def test_iterators_and_counters_by_their_names():
    assert isinstance(iter(rt.data.Dataset.range(3)), rt.data.Iterator)
    assert [int(x) for x in rt.data.experimental.Counter(3, 2).take(3)] == [3, 5, 7]
