"""Files as strings, record files, and the bytes of strings (`tf.io`)."""
from __future__ import annotations

import gzip
import os
import zlib
from typing import Any

import numpy as np

from runtime.core.public_names import hint_at_public_names
from runtime.core.record_files import compression, record
from runtime.core.string_arrays import vector
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec, string
from runtime.data import gfile
from runtime.data.csv_files import decode_csv
from runtime.ops.examples import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    parse_example,
    parse_single_example,
)
from runtime.ops.host_functions import numpy_function
from runtime.ops.image_files import (
    decode_bmp,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    is_jpeg,
)
from runtime.ops.op_makers import named
from runtime.ops.sequence_examples import parse_single_sequence_example
from runtime.ops.serialized_tensors import parse_tensor, serialize_tensor
from runtime.ops.string_parts import decode_base64, encode_base64
from runtime.ops.string_tensors import decode_raw
from runtime.ops.whole_files import read_file, write_file

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "TFRecordOptions", "TFRecordWriter", "VarLenFeature",
    "decode_base64", "decode_bmp", "decode_csv", "decode_image", "decode_jpeg", "decode_png", "decode_raw",
    "encode_base64", "encode_jpeg", "encode_png", "gfile", "is_jpeg", "matching_files", "parse_example",
    "parse_single_example", "parse_single_sequence_example", "parse_tensor", "read_file", "serialize_tensor",
    "write_file",
]


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of the files that match a pattern, or one of several, sorted: strings [n] (`tf.io.matching_files`). In
    a graph they are those at the time when it runs."""

    def found(patterns: Any) -> Any:
        texts = [each.decode() for each in np.asarray(patterns).reshape(-1).tolist()]
        return vector([each.encode() for each in sorted({file for text in texts for file in gfile.glob(text)})])

    made: Tensor = numpy_function(found, [convert_to_tensor(pattern, string)], TensorSpec([None], string))
    return named(made, name)


class TFRecordOptions:
    """How a file is compressed: "", "GZIP" or "ZLIB" (`tf.io.TFRecordOptions`)."""

    def __init__(self, compression_type: str | None = None, **tuning: Any) -> None:
        self.compression_type = compression_type or ""


class TFRecordWriter:
    """Writes records to a file that `TFRecordDataset` reads (`tf.io.TFRecordWriter`); also a context manager.

    `options` is a `TFRecordOptions` or the type of compression. InvalidArgumentError for another type.
    """

    def __init__(self, path: str | os.PathLike[str], options: TFRecordOptions | str | None = None) -> None:
        kind = compression(options.compression_type if isinstance(options, TFRecordOptions) else options)
        self._file: Any = gzip.open(path, "wb") if kind == "GZIP" else open(path, "wb")  # noqa: SIM115
        self._deflate = zlib.compressobj() if kind == "ZLIB" else None

    def write(self, record_bytes: bytes) -> None:
        """Append a record of these bytes."""
        if not isinstance(record_bytes, bytes):
            raise TypeError(f"a record consists of bytes, not of {type(record_bytes).__name__}")
        data = record(record_bytes)
        self._file.write(data if self._deflate is None else self._deflate.compress(data))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """End the file. Nothing more can be written."""
        if self._deflate is not None and not self._file.closed:
            self._file.write(self._deflate.flush())
        self._file.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


hint_at_public_names(__name__)
