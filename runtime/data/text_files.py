"""Datasets of the lines and records of files."""
from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.core.errors import DataLossError, NotFoundError
from runtime.core.record_files import compression, records
from runtime.core.string_arrays import vector
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec, string
from runtime.data.dataset import Dataset
from runtime.data.elements import one_by_one
from runtime.data.pipeline import UNKNOWN_CARDINALITY, Block

__all__ = ["TFRecordDataset", "TextLineDataset", "opened", "paths_of"]


class _Inflating:
    """A reader that decompresses a file that zlib has compressed."""

    def __init__(self, file: Any) -> None:
        self._file, self._inflate, self._data = file, zlib.decompressobj(), b""

    def read(self, count: int) -> bytes:
        while len(self._data) < count and (more := self._file.read(1 << 16)):
            self._data += self._inflate.decompress(more)
        found, self._data = self._data[:count], self._data[count:]
        return found


def _lines(file: Any) -> Iterator[list[bytes]]:
    rest = b""
    while block := file.read(1 << 16):
        *whole, rest = (rest + block.replace(b"\r", b"")).split(b"\n")
        yield whole
    if rest:
        yield [rest]


def paths_of(filenames: Any) -> list[str]:
    """The paths in an array of strings, or a tensor of them, of any shape."""
    return [name.decode() for name in np.asarray(filenames).reshape(-1).tolist()]


@contextlib.contextmanager
def opened(path: str, kind: str) -> Iterator[Any]:
    """The open file, decompressed. NotFoundError if it is missing, DataLossError if it is damaged."""
    try:
        with (gzip.open if kind == "GZIP" else open)(path, "rb") as file:
            yield _Inflating(file) if kind == "ZLIB" else file
    except FileNotFoundError:
        raise NotFoundError(f"{path}; No such file or directory") from None
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise DataLossError(f"{path} is damaged: {error}") from None


def _of_files(filenames: Any, compression_type: str | None, parts: Callable[[Any], Iterator[list[bytes]]]
              ) -> Dataset:
    kind = compression(compression_type)
    names = convert_to_tensor(filenames, string)

    def blocks(arrays: Sequence[Any]) -> Iterator[Block]:
        for path in paths_of(arrays[0]):
            with opened(path, kind) as file:
                for some in parts(file):
                    yield [vector(some)]

    return Dataset([names], TensorSpec((), string), one_by_one(blocks), UNKNOWN_CARDINALITY, blocks=blocks)


def TextLineDataset(  # TF's name of a class
    filenames: Any, compression_type: str | None = None, buffer_size: int | None = None,
    num_parallel_reads: int | None = None, name: str | None = None,
) -> Dataset:
    """The lines of text files, as strings without their ends (`tf.data.TextLineDataset`).

    `filenames` is a string or a tensor of strings; files are read in order, one block at a time. NotFoundError and
    DataLossError are raised when the iteration reaches a file that is missing or damaged.
    """
    return _of_files(filenames, compression_type, _lines)


def TFRecordDataset(  # TF's name of a class
    filenames: Any, compression_type: str | None = None, buffer_size: int | None = None,
    num_parallel_reads: int | None = None, name: str | None = None,
) -> Dataset:
    """The records of TFRecord files, as strings (`tf.data.TFRecordDataset`). Checksums are verified: DataLossError for
    a damaged file, NotFoundError for a missing one."""
    return _of_files(filenames, compression_type, records)
