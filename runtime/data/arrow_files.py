"""Datasets of the rows of Parquet and Arrow files, read by the package pyarrow (`autograph[parquet]`)."""
from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from autograph.backend import deferred
from runtime.core.errors import DataLossError, InvalidArgumentError, NotFoundError
from runtime.core.positions import located
from runtime.core.string_arrays import vector
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, TensorSpec, as_dtype, string
from runtime.data.dataset import Dataset
from runtime.data.elements import one_by_one
from runtime.data.pipeline import UNKNOWN_CARDINALITY, Block
from runtime.data.text_files import paths_of

pyarrow = deferred("pyarrow")
parquet = deferred("pyarrow.parquet")
ipc = deferred("pyarrow.ipc")

__all__ = ["ArrowDataset", "ParquetDataset"]

_ROWS: Final = 1024
"""Minimal number of rows read at once."""
_NUMBERS: Final = frozenset((
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "halffloat", "float", "double", "bool"))
_STRINGS: Final = frozenset(("string", "large_string", "binary", "large_binary", "string_view", "binary_view"))


def ParquetDataset(  # named as TF's datasets of files
    filenames: Any, columns: Sequence[str] | None = None, batch_size: int | None = None, drop_remainder: bool = False,
    null_values: Mapping[str, Any] | None = None,
) -> Dataset:
    """The rows of Parquet files, as dicts by the names of columns; with a `batch_size`, batches of rows.

    Numbers, bools, strings (as bytes) and fixed-size lists of them are tensors of rank 0, 1 and more; lists of varying
    length are vectors, only without a `batch_size`. Files are read in order, one row group at a time. A missing value
    is NaN in a column of floats; in others it is the column's entry in `null_values`, or an error.

    ModuleNotFoundError without pyarrow; NotFoundError and DataLossError for a file that is missing or damaged;
    ValueError for an unknown column, TypeError for one of another type; InvalidArgumentError for a missing value, and
    for a file whose columns differ from the first file's, when it is reached.
    """
    def batches(path: str, names: Sequence[str], rows: int) -> Iterator[Any]:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            _check(path, file.schema_arrow, names)
            for group in range(file.num_row_groups):  # with several at once, pyarrow would read ahead
                yield from file.iter_batches(rows, row_groups=[group], columns=list(names))

    return _dataset(filenames, columns, batch_size, drop_remainder, null_values, parquet, "read_schema", batches)


def ArrowDataset(  # named as TF's datasets of files
    filenames: Any, columns: Sequence[str] | None = None, batch_size: int | None = None, drop_remainder: bool = False,
    null_values: Mapping[str, Any] | None = None,
) -> Dataset:
    """Like `ParquetDataset`, for files in Arrow's format (Feather version 2), one record batch at a time."""
    return _dataset(filenames, columns, batch_size, drop_remainder, null_values, _Ipc, "schema", _Ipc.batches)


class _Ipc:
    """Reads Arrow files, mapped into memory."""

    @staticmethod
    def schema(path: str) -> Any:
        with pyarrow.memory_map(path) as source, ipc.open_file(source) as file:
            return file.schema

    @staticmethod
    def batches(path: str, names: Sequence[str], rows: int) -> Iterator[Any]:
        with pyarrow.memory_map(path) as source, ipc.open_file(source) as file:
            _check(path, file.schema, names)
            for number in range(file.num_record_batches):
                batch = file.get_batch(number).select(list(names))
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)


def _dataset(
    filenames: Any, columns: Sequence[str] | None, batch_size: int | None, drop_remainder: bool,
    null_values: Mapping[str, Any] | None, reader: Any, schema_of: str,
    batches: Callable[[str, Sequence[str], int], Iterator[Any]],
) -> Dataset:
    if importlib.util.find_spec("pyarrow") is None:
        raise located(ModuleNotFoundError(
            "pyarrow, which reads Parquet and Arrow files, is not installed: pip install 'autograph[parquet]'",
            name="pyarrow"))
    if batch_size is not None and batch_size < 1:
        raise located(InvalidArgumentError(f"a batch has at least 1 element, not {batch_size}"))
    sources = convert_to_tensor(filenames, string)
    paths = paths_of(sources)
    if not paths:
        raise located(ValueError("there are no files, so the columns are not known"))
    with _opened(paths[0]):
        schema = getattr(reader, schema_of)(paths[0])
    names = _selected(columns, schema, paths[0])
    specs = {name: _spec(paths[0], name, schema.field(name).type) for name in names}
    for name in null_values or {}:
        if name not in specs:
            raise located(ValueError(f"null_values has {name!r}, but the columns are {names}"))
    if batch_size is not None:
        _check_batches(paths[0], specs)
    ordered = sorted(names)  # as structures order the keys of dicts
    kinds = [schema.field(name).type for name in ordered]

    def blocks(arrays: Sequence[Any]) -> Iterator[Block]:
        for path in paths_of(arrays[0]):
            first = 0
            with _opened(path):
                for batch in batches(path, ordered, max(batch_size or 1, _ROWS)):
                    yield [_Column(path, name, first, null_values or {}).rows(batch.column(k), kind)
                           for k, (name, kind) in enumerate(zip(ordered, kinds, strict=True))]
                    first += batch.num_rows

    ragged = any(None in spec.shape for spec in specs.values())
    rows = Dataset([sources], specs, one_by_one(blocks), UNKNOWN_CARDINALITY, blocks=None if ragged else blocks)
    return rows if batch_size is None else rows.batch(batch_size, drop_remainder)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[None]:
    """Translate pyarrow's errors in the body to errors that name the file."""
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(f"{path}; No such file or directory") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise DataLossError(f"{path} is damaged, or no such file: {error}") from None


def _selected(columns: Sequence[str] | None, schema: Any, path: str) -> list[str]:
    names = list(schema.names)
    if columns is None:
        columns = names
    elif isinstance(columns, str):
        raise located(TypeError(f"columns is a list of names, not {columns!r}"))
    for name in columns:
        if name not in names:
            raise located(ValueError(f"{path} has no column {name!r}; it has {names}"))
    chosen = list(columns)
    if twice := sorted({name for name in chosen if chosen.count(name) > 1 or names.count(name) > 1}):
        raise located(ValueError(f"these columns of {path} are there more than once: {', '.join(twice)}"))
    if not chosen:
        raise located(ValueError(f"no column of {path} is selected; it has {names}"))
    return chosen


def _check(path: str, schema: Any, names: Sequence[str]) -> None:
    """InvalidArgumentError if a file lacks a column. Its type is checked where it is read."""
    for name in names:
        if name not in schema.names:
            raise InvalidArgumentError(f"{path} has no column {name!r}, which the first file has")


def _spec(path: str, name: str, kind: Any) -> TensorSpec:
    shape: list[int | None] = []
    inner = kind
    while pyarrow.types.is_fixed_size_list(inner):
        shape.append(inner.list_size)
        inner = inner.value_type
    if not shape and (pyarrow.types.is_list(inner) or pyarrow.types.is_large_list(inner)):
        shape.append(None)
        inner = inner.value_type
    dtype = _dtype(inner.value_type if pyarrow.types.is_dictionary(inner) else inner)
    if dtype is None:
        raise located(TypeError(
            f"column {name!r} of {path} is of type {kind}, which is no tensor: leave it out (columns=[...]), or write "
            "it as numbers or strings"))
    return TensorSpec(shape, dtype)


def _dtype(kind: Any) -> DType | None:
    text = str(kind)
    if text in _STRINGS or pyarrow.types.is_fixed_size_binary(kind):
        return string
    return as_dtype(kind.to_pandas_dtype()) if text in _NUMBERS else None


def _check_batches(path: str, specs: Mapping[str, TensorSpec]) -> None:
    for name, spec in specs.items():
        if None in spec.shape:
            raise located(TypeError(
                f"column {name!r} of {path} has lists of several lengths, which are no batch: read rows "
                "(batch_size=None) and take padded_batch"))


class _Column:
    """A column of a part of a file; the part begins at row `first`."""

    def __init__(self, path: str, name: str, first: int, null_values: Mapping[str, Any]) -> None:
        self.path, self.name, self.first, self.null_values = path, name, first, null_values

    def rows(self, column: Any, kind: Any) -> Any:
        """The values as NumPy arrays."""
        if column.type != kind:
            raise InvalidArgumentError(
                f"column {self.name!r} of {self.path} is of type {column.type}, but of type {kind} in the first file")
        if pyarrow.types.is_fixed_size_list(kind):
            self._refuse_nulls(column)
            inner = self.rows(column.flatten(), kind.value_type)
            return inner.reshape(len(column), kind.list_size, *inner.shape[1:])
        if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
            self._refuse_nulls(column)
            inner = self.rows(column.flatten(), kind.value_type)
            ends = np.cumsum(column.value_lengths().to_numpy()).tolist()
            return [inner[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        return self._values(column, kind)

    def _values(self, column: Any, kind: Any) -> Any:
        if pyarrow.types.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        if column.null_count and self.name in self.null_values:
            column = column.fill_null(self.null_values[self.name])
        elif not pyarrow.types.is_floating(kind):
            self._refuse_nulls(column)
        if str(kind) in _NUMBERS:
            return column.to_numpy(zero_copy_only=False)
        return vector(column.cast(pyarrow.large_binary()).to_pylist())

    def _refuse_nulls(self, column: Any) -> None:
        if column.null_count:
            row = column.is_null().to_pylist().index(True)
            raise InvalidArgumentError(
                f"{self.path}: a value of column {self.name!r} is missing, at or after row {self.first + row}",
                remedy=f"Give what it stands for: null_values={{{self.name!r}: ...}}.")
