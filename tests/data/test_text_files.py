"""Datasets of lines, records and names of files."""
import gzip
import zlib

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
