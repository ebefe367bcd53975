"""Parquet and Arrow files as datasets."""
from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import runtime as rt
from runtime.data.experimental import ArrowDataset, ParquetDataset


def table(start: int = 0, count: int = 10) -> Any:
    ids = np.arange(start, start + count)
    return pa.table({
        "id": pa.array(ids, pa.int64()), "half": pa.array(ids / 2, pa.float32()), "even": pa.array(ids % 2 == 0),
        "name": pa.array([f"n{i}é" for i in ids]), "raw": pa.array([bytes([i]) for i in ids], pa.binary()),
        "kind": pa.array([("a", "b")[i % 2] for i in ids]).dictionary_encode(),
        "point": pa.FixedSizeListArray.from_arrays(pa.array(np.repeat(ids, 2), pa.float64()), 2)})


@pytest.fixture(params=["parquet", "arrow"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def write(kind: str, data: Any, path: Path) -> str:
    if kind == "parquet":
        pq.write_table(data, path, row_group_size=4)
    else:
        pyarrow.feather.write_feather(data, path, chunksize=4, compression="uncompressed")
    return str(path)


def dataset(kind: str, *args: Any, **kwargs: Any) -> Any:
    return (ParquetDataset if kind == "parquet" else ArrowDataset)(*args, **kwargs)


def test_rows(kind: str, tmp_path: Path) -> None:
    paths = [write(kind, table(0, 10), tmp_path / "a"), write(kind, table(10, 3), tmp_path / "b")]
    rows = dataset(kind, paths)
    assert rows.element_spec["point"] == rt.TensorSpec([2], rt.float64)
    assert rows.element_spec["name"] == rows.element_spec["kind"] == rt.TensorSpec([], rt.string)
    found = list(rows.as_numpy_iterator())
    assert [row["id"] for row in found] == list(range(13)) and found[0]["id"].dtype == np.int64
    last = found[12]
    assert (last["half"], last["even"], last["name"], last["raw"], last["kind"]) == (
        6.0, True, "n12é".encode(), b"\x0c", b"a")
    assert last["point"].tolist() == [12, 12] and last["half"].dtype == np.float32


@pytest.mark.parametrize("size", [1, 3, 4, 6, 13, 50])
def test_batches_go_on_over_row_groups_and_files(kind: str, size: int, tmp_path: Path) -> None:
    paths = [write(kind, table(0, 10), tmp_path / "a"), write(kind, table(10, 3), tmp_path / "b")]
    for drop in (False, True):
        batches = dataset(kind, paths, ["id", "name", "point"], batch_size=size, drop_remainder=drop)
        assert batches.element_spec["point"].shape == [size if drop else None, 2]
        found = list(batches.as_numpy_iterator())
        kept = 13 - 13 % size if drop else 13
        sizes = [size] * (13 // size) + [13 % size] * (not drop and 13 % size > 0)
        assert [len(batch["id"]) for batch in found] == sizes
        assert [i for batch in found for i in batch["id"]] == list(range(kept))
        assert [x for batch in found for x in batch["name"]] == [f"n{i}é".encode() for i in range(kept)]
        assert all((batch["point"] == batch["id"][:, None]).all() for batch in found)


def test_lists_of_several_lengths(kind: str, tmp_path: Path) -> None:
    data = pa.table({"x": [[1.0], [], [2.0, 3.0]], "y": [["a"], ["b", "c"], []]})
    path = write(kind, data, tmp_path / "a")
    rows = dataset(kind, path)
    assert rows.element_spec["x"] == rt.TensorSpec([None], rt.float64)
    assert [row["x"].tolist() for row in rows.as_numpy_iterator()] == [[1.0], [], [2.0, 3.0]]
    assert [row["y"].tolist() for row in rows.as_numpy_iterator()] == [[b"a"], [b"b", b"c"], []]
    (padded,) = rows.padded_batch(3).as_numpy_iterator()
    assert padded["x"].tolist() == [[1, 0], [0, 0], [2, 3]]
    with pytest.raises(TypeError, match="column 'x' of .* has lists of several lengths.*padded_batch"):
        dataset(kind, path, batch_size=2)


def test_missing_values(kind: str, tmp_path: Path) -> None:
    data = pa.table({"f": pa.array([1.0, None, 3.0]), "i": pa.array([1, 2, None]), "s": ["a", None, "c"]})
    path = write(kind, data, tmp_path / "a")
    (batch,) = dataset(kind, path, ["f"], batch_size=3).as_numpy_iterator()
    np.testing.assert_array_equal(batch["f"], [1.0, np.nan, 3.0])
    with pytest.raises(rt.errors.InvalidArgumentError, match=r"a: a value of column 'i' is missing, at or after row 2"):
        list(dataset(kind, path, ["i"]))
    (batch,) = dataset(kind, path, batch_size=3, null_values={"i": -1, "s": "?", "f": 0.0}).as_numpy_iterator()
    assert [batch[name].tolist() for name in "isf"] == [[1, 2, -1], [b"a", b"?", b"c"], [1, 0, 3]]
    with pytest.raises(ValueError, match="null_values has 'z', but the columns are"):
        dataset(kind, path, null_values={"z": 0})


def test_files_that_are_not_there_or_damaged(kind: str, tmp_path: Path) -> None:
    with pytest.raises(rt.errors.NotFoundError, match="nowhere"):
        dataset(kind, str(tmp_path / "nowhere"))
    path = Path(write(kind, table(), tmp_path / "a"))
    data = path.read_bytes()
    for bad in (b"", b"hello", data[:len(data) // 2], data[:-9] + b"\xff" * 9):
        path.write_bytes(bad)
        with pytest.raises(rt.errors.DataLossError, match=f"{path} is damaged"):
            list(dataset(kind, str(path)))
    path.write_bytes(data)
    rows = dataset(kind, [str(path), str(tmp_path / "later")])
    with pytest.raises(rt.errors.NotFoundError, match="later"):
        list(rows)


def test_a_damaged_page(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.random.default_rng(0).random(2000)}), path, compression="zstd",
                   write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[200:3000] = bytes(2800)
    path.write_bytes(data)
    with pytest.raises(rt.errors.DataLossError, match=f"{path} is damaged"):
        list(ParquetDataset(str(path), batch_size=100))


def test_columns(kind: str, tmp_path: Path) -> None:
    path = write(kind, table(), tmp_path / "a")
    with pytest.raises(ValueError, match=r"has no column 'age'; it has \['id'"):
        dataset(kind, path, ["age"])
    with pytest.raises(TypeError, match="columns is a list of names, not 'id'"):
        dataset(kind, path, "id")
    with pytest.raises(ValueError, match="more than once: id"):
        dataset(kind, path, ["id", "id"])
    with pytest.raises(ValueError, match="no column .* is selected"):
        dataset(kind, path, [])
    with pytest.raises(rt.errors.InvalidArgumentError, match="at least 1 element, not 0"):
        dataset(kind, path, batch_size=0)
    with pytest.raises(ValueError, match="there are no files"):
        dataset(kind, rt.constant(["a"])[:0])
    dates = write(kind, pa.table({"d": pa.array([1], pa.timestamp("s"))}), tmp_path / "dates")
    with pytest.raises(TypeError, match=r"column 'd' of .*dates is of type timestamp\[.*leave it out"):
        dataset(kind, dates)


def test_later_files_have_the_columns_of_the_first(kind: str, tmp_path: Path) -> None:
    first = write(kind, pa.table({"x": [1, 2]}), tmp_path / "a")
    other = write(kind, pa.table({"x": [1.0]}), tmp_path / "b")
    without = write(kind, pa.table({"y": [1]}), tmp_path / "c")
    with pytest.raises(rt.errors.InvalidArgumentError, match="'x' of .*b is of type double, but of type int64"):
        list(dataset(kind, [first, other]))
    with pytest.raises(rt.errors.InvalidArgumentError, match="c has no column 'x', which the first file has"):
        list(dataset(kind, [first, without]))


def test_only_a_part_of_a_file_is_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.random.default_rng(0).random(1 << 20)}), path, row_group_size=1 << 14)
    before, most = pa.total_allocated_bytes(), 0
    for batch in ParquetDataset(str(path), batch_size=1000):
        del batch
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < 1 << 21  # of 8 MB


def test_positions_and_graphs(kind: str, tmp_path: Path) -> None:
    rows = dataset(kind, write(kind, table(), tmp_path / "a"), ["id", "half"])
    iterator = iter(rows.shuffle(10, seed=1).batch(2))
    next(iterator)
    state = iterator.state()
    rest = [batch["id"].numpy().tolist() for batch in iterator]
    again = iter(rows.shuffle(10, seed=1).batch(2))
    again.restore(state)
    assert [batch["id"].numpy().tolist() for batch in again] == rest

    @rt.function
    def total(dataset):
        result = 0.0
        for row in dataset:
            result += row["half"] * 2.0
        return result

    assert float(total(rows)) == 45


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else found(name))
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'autograph\[parquet\]'"):
        ParquetDataset("a.parquet")
