"""Datasets of the lines and records of files."""
from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.core.errors import DataLossError, InvalidArgumentError, NotFoundError
from runtime.core.positions import located
from runtime.core.record_files import compression, records
from runtime.core.string_arrays import vector
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec, string
from runtime.data.dataset import Dataset
from runtime.data.elements import one_by_one
from runtime.data.pipeline import UNKNOWN_CARDINALITY, Block

__all__ = ["FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset", "opened", "paths_of"]


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


def FixedLengthRecordDataset(  # TF's name of a class
    filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None, buffer_size: Any = None,
    compression_type: str | None = None, num_parallel_reads: int | None = None, name: str | None = None,
) -> Dataset:
    """The records of `record_bytes` bytes each of binary files, as strings (`tf.data.FixedLengthRecordDataset`).

    `header_bytes` and `footer_bytes`: bytes at the beginning and at the end that are left out. InvalidArgumentError
    where a file has bytes beyond its last whole record, NotFoundError where one is missing.
    """
    size, header, footer = (int(np.asarray(count or 0)) for count in (record_bytes, header_bytes, footer_bytes))
    if size < 1 or header < 0 or footer < 0:
        raise located(InvalidArgumentError(
            f"a record has 1 byte or more, a header and a footer 0 or more, not {size}, {header} and {footer}"))
    return _of_files(filenames, compression_type, lambda file: _equal_parts(file, size, header, footer))


def _equal_parts(file: Any, size: int, header: int, footer: int) -> Iterator[list[bytes]]:
    skipped = b""
    while len(skipped) < header and (more := file.read(header - len(skipped))):
        skipped += more
    rest, read = b"", len(skipped)
    while block := file.read(1 << 16):
        rest, read = rest + block, read + len(block)
        end = max(len(rest) - footer, 0) // size * size
        yield [rest[k:k + size] for k in range(0, end, size)]
        rest = rest[end:]
    if len(rest) != footer or len(skipped) < header:
        raise InvalidArgumentError(f"a file of {read} bytes has no whole number of records of {size} bytes after a"
                                   f" header of {header} and before a footer of {footer} bytes")
