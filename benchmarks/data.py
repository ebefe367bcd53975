"""Throughput of datasets, compared with tf.data and PyTorch's DataLoader: elements per second of a complete pass."""
from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import runtime as rt
from benchmarks.measure import OURS, Budget, Row, in_turns
from benchmarks.peers import peer

__all__ = ["COLUMNS", "run"]

COLUMNS = (OURS, "TF", "torch")
BATCH = 32
RNG = np.random.default_rng(0)


def _passes(dataset: Any) -> Callable[[], None]:
    def run() -> None:
        for _ in dataset:
            pass

    return run


def images(tf: Any, pixels: Any, labels: Any) -> Any:
    """Images of 32 x 32 x 3 bytes, converted to floats, normalised, shuffled, in batches."""
    def normalized(image: Any, label: Any) -> Any:
        return tf.cast(image, tf.float32) / 255.0 - 0.5, label

    return tf.data.Dataset.from_tensor_slices((pixels, labels)).map(normalized).shuffle(1000).batch(BATCH).prefetch(2)


def images_of_torch(torch: Any, pixels: Any, labels: Any) -> Any:
    class Images(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(pixels)

        def __getitem__(self, i: int) -> Any:
            return torch.from_numpy(pixels[i]).to(torch.float32) / 255.0 - 0.5, labels[i]

    return torch.utils.data.DataLoader(Images(), batch_size=BATCH, shuffle=True)


def memory(tf: Any, rows: Any) -> Any:
    """Rows of 100 floats, shuffled, in batches, without a function."""
    return tf.data.Dataset.from_tensor_slices(rows).shuffle(1000).batch(BATCH)


def records(tf: Any, path: str) -> Any:
    """Examples of 100 floats and a label, parsed one by one, in batches."""
    features = {"x": tf.io.FixedLenFeature([100], tf.float32), "label": tf.io.FixedLenFeature([], tf.int64)}
    return tf.data.TFRecordDataset(path).map(lambda data: tf.io.parse_single_example(data, features)).batch(BATCH)


def records_in_batches(tf: Any, path: str) -> Any:
    """The same examples, parsed a batch at a time."""
    features = {"x": tf.io.FixedLenFeature([100], tf.float32), "label": tf.io.FixedLenFeature([], tf.int64)}
    return tf.data.TFRecordDataset(path).batch(BATCH).map(lambda data: tf.io.parse_example(data, features))


def lines(tf: Any, path: str) -> Any:
    """Lines of text in lower case, in batches."""
    return tf.data.TextLineDataset(path).map(tf.strings.lower).batch(BATCH)


def table(tf: Any, path: str) -> Any:
    """Records of 8 floats of a CSV file, in batches."""
    return tf.data.experimental.CsvDataset(path, [tf.float32] * 8).batch(BATCH)


def _files(folder: Path, count: int) -> tuple[str, str, str]:
    paths = tuple([str(folder / name) for name in ("records", "lines", "table")])
    with rt.io.TFRecordWriter(paths[0]) as writer:
        for i in range(count):
            writer.write(rt.train.Example(features=rt.train.Features(feature={
                "x": rt.train.Feature(float_list=rt.train.FloatList(value=RNG.random(100).tolist())),
                "label": rt.train.Feature(int64_list=rt.train.Int64List(value=[i % 10]))})).SerializeToString())
    Path(paths[1]).write_text("The quick brown Fox jumps over the lazy Dog and runs\n" * count)
    Path(paths[2]).write_text("".join(",".join(f"{x:.5f}" for x in row) + "\n" for row in RNG.random((count, 8))))
    return paths[0], paths[1], paths[2]


def run(budget: Budget) -> Iterator[Row]:
    count = 4000 // budget.share
    tf, torch = (peer(name) if budget.peers else None for name in ("TF", "torch"))
    pixels, labels = RNG.integers(0, 256, (count, 32, 32, 3), np.uint8), RNG.integers(0, 10, count)
    rows = RNG.random((count, 100), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        of_records, of_lines, of_table = _files(Path(folder), count)
        subjects: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any] | None]] = {
            "images: map, shuffle, batch": (
                lambda tf: images(tf, pixels, labels), lambda torch: images_of_torch(torch, pixels, labels)),
            "rows of floats: shuffle, batch": (
                lambda tf: memory(tf, rows),
                lambda torch: torch.utils.data.DataLoader(rows, batch_size=BATCH, shuffle=True)),
            "TFRecord: parse, batch": (lambda tf: records(tf, of_records), None),
            "TFRecord: batch, parse": (lambda tf: records_in_batches(tf, of_records), None),
            "lines of text: lower, batch": (lambda tf: lines(tf, of_lines), None),
            "CSV: batch": (lambda tf: table(tf, of_table), None)}
        for name, (make, make_torch) in subjects.items():
            runs = {OURS: _passes(make(rt))}
            if tf is not None:
                runs["TF"] = _passes(make(tf))
            if torch is not None and make_torch is not None:
                runs["torch"] = _passes(make_torch(torch))
            times = in_turns(runs, budget)
            yield Row(name, "k/s", {subject: count / seconds / 1e3 for subject, seconds in times.items()})
