"""Datasets of the records of CSV files."""
from __future__ import annotations

import dataclasses
import glob
import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from runtime.core import types as t
from runtime.core.errors import InvalidArgumentError
from runtime.core.positions import located, staging_error
from runtime.core.record_files import compression
from runtime.core.string_arrays import boxed, vector
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.trace import convert_to_tensor, init_scope
from runtime.core.types import DType, TensorSpec, as_dtype
from runtime.data.dataset import Dataset
from runtime.data.elements import one_by_one
from runtime.data.pipeline import UNKNOWN_CARDINALITY, Block
from runtime.data.text_files import opened, paths_of
from runtime.ops.host_functions import numpy_function
from runtime.ops.op_makers import named

__all__ = ["CsvDataset", "decode_csv", "make_csv_dataset"]

_DTYPES: Final = (t.int32, t.int64, t.float32, t.float64, t.string)
"""In the order of inference: each dtype can represent the values of the one before it, perhaps rounded."""
_QUOTE: Final = b'"'
F = TypeVar("F")


class _BadRecord(Exception):
    """Tells what is wrong with a record."""


@dataclasses.dataclass(frozen=True)
class _Format:
    """How the fields of records are written."""

    delimiter: bytes
    quotes: bool
    missing: bytes

    @classmethod
    def checked(cls, field_delim: str, use_quote_delim: bool, na_value: str) -> _Format:
        delimiter = field_delim.encode()
        if len(delimiter) != 1 or delimiter in b"\r\n":
            raise located(InvalidArgumentError(f"field_delim is one character of ASCII, not {field_delim!r}"))
        return cls(delimiter, bool(use_quote_delim), na_value.encode())

    def records(self, lines: Iterator[bytes]) -> Iterator[list[bytes] | _BadRecord]:
        """The fields of each record."""
        for line in lines:
            if not self.quotes or _QUOTE not in line:
                yield line.rstrip(b"\r\n").split(self.delimiter)
                continue
            try:
                yield self._quoted_fields(line, lines)
            except _BadRecord as problem:
                yield problem

    def columns(self, lines: list[bytes]) -> list[list[bytes]] | None:
        """The fields of lines by columns. None unless each line is one record, all with the same number of fields."""
        text = b"".join(lines)
        rows = text.splitlines()
        counts = {row.count(self.delimiter) for row in rows}
        if (self.quotes and _QUOTE in text) or len(rows) != len(lines) or len(counts) != 1:
            return None
        width = counts.pop() + 1
        fields = self.delimiter.join(rows).split(self.delimiter)
        return [fields[k::width] for k in range(width)]

    def _quoted_fields(self, line: bytes, more: Iterator[bytes]) -> list[bytes]:
        fields, start, delimiter = [], 0, self.delimiter
        while True:
            if line[start:start + 1] == _QUOTE:
                line, end = _closed(line, start + 1, more)
                fields.append(line[start + 1:end].replace(b'""', _QUOTE))
                end += 1
                if line[end:end + 1] not in (delimiter, b"\r", b"\n", b""):
                    raise _BadRecord(f"field {len(fields) - 1} goes on after its closing quote")
            else:
                end = line.find(delimiter, start)
                end = len(line.rstrip(b"\r\n")) if end < 0 else end
                fields.append(line[start:end])
                if _QUOTE in fields[-1]:
                    raise _BadRecord(f"field {len(fields) - 1} is not quoted, but has quotes inside")
            if line[end:end + 1] != delimiter:
                return fields
            start = end + 1


def _closed(line: bytes, start: int, more: Iterator[bytes]) -> tuple[bytes, int]:
    """The line, joined with the following lines over which a quoted field extends, and the closing quote's position."""
    parts, base, first = [line], 0, start
    while True:
        end = parts[-1].find(_QUOTE, start)
        if end < 0:
            following = next(more, None)
            if following is None:
                raise _BadRecord(f"the quoted field that begins in column {first} is not closed until the file ends")
            base, start = base + len(parts[-1]), 0
            parts.append(following)
        elif parts[-1][end + 1:end + 2] == _QUOTE:
            start = end + 2
        else:
            return b"".join(parts), base + end


class _Lines:
    """The lines of a file, one by one or a block at a time. `number` is that of the last line taken, from 1."""

    def __init__(self, file: Any) -> None:
        self._blocks = _line_blocks(file)
        self._block: list[bytes] = []
        self._taken = 0
        self.number = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._taken == len(self._block):
            self._block, self._taken = next(self._blocks), 0
        self._taken += 1
        self.number += 1
        return self._block[self._taken - 1]

    def ahead(self) -> list[bytes]:
        """The lines that are read but not taken yet; empty at the end of the file."""
        if self._taken == len(self._block):
            self._block, self._taken = next(self._blocks, []), 0
        return self._block[self._taken:] if self._taken else self._block

    def take(self, count: int) -> None:
        self._taken += count
        self.number += count


def _line_blocks(file: Any) -> Iterator[list[bytes]]:
    """Blocks of lines, with their ends: \\n, \\r\\n or \\r."""
    rest: list[bytes] = []
    while block := file.read(1 << 16):
        lines = block.splitlines(keepends=True)
        if rest and not (rest[-1].endswith(b"\r") and not block.startswith(b"\n")):
            lines[0] = b"".join([*rest, lines[0]])
        elif rest:
            yield [b"".join(rest)]
        rest = [] if lines[-1].endswith(b"\n") else [lines.pop()]
        if lines:
            yield lines
    if rest:
        yield [b"".join(rest)]


class _Column:
    """The dtype of a field, and its default (None: the field is required)."""

    def __init__(self, number: int, default: Any) -> None:
        self.number, self.default = number, None
        if isinstance(default, (DType, type, np.dtype)):
            self.dtype = as_dtype(default)
        else:
            with init_scope():
                tensor = convert_to_tensor(default, strings=True)
            if not isinstance(tensor, EagerTensor):
                raise staging_error(
                    f"record_defaults has a tensor for field {number} that is known only when the graph runs",
                    "Give a number or text, or a constant of it; or take an empty field for missing, and use rt.where.")
            values = np.asarray(tensor)
            if values.size > 1 or values.ndim > 1:
                raise located(InvalidArgumentError(
                    f"record_defaults has one value for a field, but for field {number}: {default!r}"))
            self.dtype = t.dtype_of(values)
            if values.size:
                self.default = boxed(values.reshape(-1)[0]) if self.dtype.is_string else values.reshape(-1)[0]
        if self.dtype not in _DTYPES:
            raise located(TypeError(f"a field of a CSV file is of dtype {', '.join(d.name for d in _DTYPES)}, not "
                                    f"{self.dtype.name} (field {number})"))
        self._parse = _parser(self.dtype)

    def value(self, field: bytes, missing: bytes) -> Any:
        if field in (b"", missing):
            return self._default()
        try:
            return self._parse(field)
        except (ValueError, OverflowError):
            raise _BadRecord(f"field {self.number} is not a valid {self.dtype.name}: "
                             f"{field.decode(errors='replace')}") from None

    def values(self, fields: list[bytes], missing: bytes) -> Any:
        """An array of the values of many fields; None if some are missing or invalid."""
        if b"" in fields or (missing and missing in fields):
            return None
        if self.dtype.is_string:
            return vector(fields)
        try:
            numbers = np.array(list(map(int if self.dtype.is_integer else float, fields)),
                               np.int64 if self.dtype.is_integer else np.float64)
        except (ValueError, OverflowError):
            return None
        large = (numbers < self.dtype.min) | (numbers > self.dtype.max)
        if large.any():
            if self.dtype.is_integer:
                return None
            numbers[large] *= math.inf
        return None if b"_" in b"".join(fields) else numbers.astype(self.dtype.np)

    def _default(self) -> Any:
        if self.default is None:
            raise _BadRecord(f"field {self.number} is required but missing")
        return self.default


def _parser(dtype: DType) -> Callable[[bytes], Any]:
    if dtype.is_string:
        return boxed
    make, number = dtype.as_numpy_dtype, int if dtype.is_integer else float
    low, high = number(dtype.min), number(dtype.max)

    def parse_int(field: bytes) -> Any:
        value = int(field)
        if b"_" in field or not low <= value <= high:
            raise ValueError
        return make(value)

    def parse_float(field: bytes) -> Any:
        value = float(field)
        if b"_" in field:
            raise ValueError
        return make(value if low <= value <= high else value * math.inf)  # too large values overflow

    return parse_int if dtype.is_integer else parse_float


class _Selection:
    """Selects fields of a record; `count` is the number of fields expected."""

    def __init__(self, select_cols: Any, exclude_cols: Any, count: int) -> None:
        if select_cols is not None and exclude_cols is not None:
            raise located(InvalidArgumentError("give select_cols or exclude_cols, not both"))
        self._count, self._excluded = count, None if exclude_cols is None else _indices(exclude_cols, "exclude_cols")
        self._selected = None if select_cols is None else _indices(select_cols, "select_cols")
        if self._selected is not None and len(self._selected) != count:
            raise located(InvalidArgumentError(
                f"select_cols has {len(self._selected)} columns, but record_defaults has {count}"))

    def __call__(self, fields: list[F]) -> list[F]:
        if self._selected is not None:
            found = [fields[i] for i in self._selected if i < len(fields)]
        elif self._excluded is not None:
            found = [field for i, field in enumerate(fields) if i not in self._excluded]
        else:
            found = fields
        if len(found) != self._count:
            raise _BadRecord(f"expected {self._count} fields, but there are {len(found)}")
        return found


def _indices(columns: Any, name: str) -> list[int]:
    found = [int(x) for x in columns]
    if any(x < 0 for x in found) or any(a >= b for a, b in itertools.pairwise(found)):
        raise located(InvalidArgumentError(f"{name} holds column numbers from 0 on, each above the last, not {found}"))
    return found


def CsvDataset(  # TF's name of a class
    filenames: Any, record_defaults: Sequence[Any], compression_type: str | None = None,
    buffer_size: int | None = None, header: bool = False, field_delim: str = ",", use_quote_delim: bool = True,
    na_value: str = "", select_cols: Sequence[int] | None = None, exclude_cols: Sequence[int] | None = None,
) -> Dataset:
    """The records of CSV files (RFC 4180) as tuples of scalars (`tf.data.experimental.CsvDataset`).

    `record_defaults` has for each selected field its dtype (int32, int64, float32, float64, string) if the field is
    required, or its value if it is missing or equals `na_value`. `header` skips the first line of each file. Errors are
    raised when reached: NotFoundError for a file, InvalidArgumentError for a record, with file and line.
    """
    columns = _columns(record_defaults)
    return _dataset(filenames, columns, tuple(TensorSpec((), c.dtype) for c in columns), range(len(columns)),
                    _Format.checked(field_delim, use_quote_delim, na_value),
                    _Selection(select_cols, exclude_cols, len(columns)), compression_type, header)


def decode_csv(
    records: Any, record_defaults: Sequence[Any], field_delim: str = ",", use_quote_delim: bool = True,
    na_value: str = "", select_cols: Sequence[int] | None = None, name: str | None = None,
) -> list[Tensor]:
    """The fields of records, strings of any shape: a tensor of that shape for each selected field (`tf.io.decode_csv`).

    As `CsvDataset` takes the lines of a file. InvalidArgumentError for a record, with its number.
    """
    texts = convert_to_tensor(records, t.string)
    columns = _columns(record_defaults)
    format = _Format.checked(field_delim, use_quote_delim, na_value)
    select = _Selection(select_cols, None, len(columns))

    def decode(texts: Any) -> list[Any]:
        shape = np.shape(texts)
        rows = []
        for number, text in enumerate(np.ravel(np.asarray(texts, object))):
            try:
                if _QUOTE not in text and (b"\n" in text or b"\r" in text):
                    raise _BadRecord("it has a line break outside of quotes")
                (record,) = [*format.records(iter([text]))]
                if isinstance(record, _BadRecord):
                    raise record
                rows.append([c.value(x, format.missing) for c, x in zip(columns, select(record), strict=True)])
            except _BadRecord as bad:
                raise InvalidArgumentError(f"record {number}: {bad}") from None
        fields = zip(*rows, strict=True) if rows else [()] * len(columns)
        return [vector([x.item() for x in values], c.dtype.np).reshape(shape)
                for c, values in zip(columns, fields, strict=True)]

    found = numpy_function(decode, [texts], [TensorSpec(texts.type.shape, c.dtype) for c in columns])
    return [named(x, name) for x in found]


def _columns(record_defaults: Sequence[Any]) -> list[_Column]:
    if not record_defaults:
        raise located(InvalidArgumentError("record_defaults has a dtype or a value for each field, and is empty"))
    return [_Column(i, default) for i, default in enumerate(record_defaults)]


def _dataset(
    filenames: Any, columns: list[_Column], spec: Any, order: Sequence[int], format: _Format, select: _Selection,
    compression_type: str | None, header: bool, ignore_errors: bool = False,
) -> Dataset:
    """`order` has the number of the column for each leaf of `spec`."""
    kind, read = compression(compression_type), _Reader(columns, order, format, select, ignore_errors)

    def blocks(arrays: Sequence[Any]) -> Iterator[Block]:
        for path in paths_of(arrays[0]):
            with opened(path, kind) as file:
                yield from read.blocks(path, _Lines(file), header)

    return Dataset([convert_to_tensor(filenames, t.string)], spec, one_by_one(blocks), UNKNOWN_CARDINALITY,
                   blocks=blocks)


@dataclasses.dataclass(frozen=True)
class _Reader:
    """Makes arrays from lines: from simple ones column by column, from others record by record."""

    columns: list[_Column]
    order: Sequence[int]
    format: _Format
    select: _Selection
    ignore_errors: bool

    def blocks(self, path: str, lines: _Lines, header: bool) -> Iterator[Block]:
        """The records of a file."""
        if header:
            next(self.format.records(lines), None)
        while ahead := lines.ahead():
            block = self._in_columns(ahead)
            if block is None:
                yield from self._one_by_one(path, lines)
            else:
                lines.take(len(ahead))
                yield block

    def _in_columns(self, lines: list[bytes]) -> Block | None:
        """The values of lines, if these are simple records without errors; else None."""
        fields = self.format.columns(lines)
        if fields is None:
            return None
        try:
            chosen = self.select(fields)
        except _BadRecord:
            return None
        arrays = [c.values(each, self.format.missing) for c, each in zip(self.columns, chosen, strict=True)]
        return None if any(x is None for x in arrays) else [arrays[i] for i in self.order]

    def _one_by_one(self, path: str, lines: _Lines) -> Iterator[Block]:
        """The values of the records that begin in the lines already read; then the first error, if there is one."""
        rows: list[list[Any]] = []
        problem: InvalidArgumentError | None = None
        last = lines.number + len(lines.ahead())
        while lines.number < last and problem is None:
            number = lines.number + 1
            record = next(self.format.records(lines))
            try:
                if isinstance(record, _BadRecord):
                    raise record
                rows.append([c.value(field, self.format.missing)
                             for c, field in zip(self.columns, self.select(record), strict=True)])
            except _BadRecord as bad:
                if not self.ignore_errors:
                    problem = InvalidArgumentError(f"{path}:{number}: {bad}")
        if rows:
            columns = zip(self.columns, zip(*rows, strict=True), strict=True)
            found = [vector(values, column.dtype.np) for column, values in columns]
            yield [found[i] for i in self.order]
        if problem is not None:
            raise problem


def make_csv_dataset(
    file_pattern: Any, batch_size: int, column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None, label_name: str | None = None,
    select_columns: Sequence[int | str] | None = None, field_delim: str = ",", use_quote_delim: bool = True,
    na_value: str = "", header: bool = True, num_epochs: int | None = None, shuffle: bool = True,
    shuffle_buffer_size: int = 10000, shuffle_seed: int | None = None, prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None, sloppy: bool = False, num_rows_for_inference: int | None = 100,
    compression_type: str | None = None, ignore_errors: bool = False, encoding: str = "utf-8",
) -> Dataset:
    """Batches of the records of the CSV files that match a pattern, or several: dicts of vectors by the names of
    columns, or with `label_name` pairs of such a dict and the vector of labels
    (`tf.data.experimental.make_csv_dataset`).

    The names are those of the header, unless given. Unless `column_defaults` has dtypes and values, as for
    `CsvDataset`, the dtypes are inferred from `num_rows_for_inference` records (None: all), and missing values are 0 or
    "". Without `num_epochs` it repeats endlessly, in full batches. `ignore_errors` skips records with errors.
    ValueError if no file matches, headers differ, or a name is not that of a column; else errors as of `CsvDataset`.
    """
    format, kind = _Format.checked(field_delim, use_quote_delim, na_value), compression(compression_type)
    paths = _matching(file_pattern)
    names = _names(paths, format, kind, column_names, header, encoding)
    selected = list(range(len(names))) if select_columns is None else _numbers(select_columns, names)
    if column_defaults is None:
        column_defaults = _inferred(paths, format, kind, header, selected, len(names), num_rows_for_inference)
    elif len(column_defaults) != len(selected):
        raise located(ValueError(f"column_defaults has {len(column_defaults)} values for {len(selected)} columns"))
    taken = [names[i] for i in selected]
    if label_name is not None and label_name not in taken:
        raise located(ValueError(f"label_name is one of the columns {taken}, not {label_name!r}"))
    columns = _columns(column_defaults)
    spec: Any = {name: TensorSpec((), c.dtype) for name, c in zip(taken, columns, strict=True) if name != label_name}
    order = [taken.index(name) for name in sorted(spec)]
    if label_name is not None:
        order.append(taken.index(label_name))
        spec = (spec, TensorSpec((), columns[order[-1]].dtype))
    select = _Selection(selected if select_columns is not None else None, None, len(columns))

    def records(path: Any) -> Dataset:
        return _dataset(path, columns, spec, order, format, select, kind, header, ignore_errors)

    result = Dataset.from_tensor_slices(paths).shuffle(len(paths), shuffle_seed).flat_map(records) if (
        shuffle) else records(paths)
    if shuffle:
        result = result.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        result = result.repeat(num_epochs)
    return result.batch(batch_size, drop_remainder=num_epochs is None).prefetch(
        1 if prefetch_buffer_size is None else prefetch_buffer_size)


def _matching(file_pattern: Any) -> list[str]:
    patterns = [file_pattern] if isinstance(file_pattern, (str, bytes, os.PathLike)) else list(file_pattern)
    found = [path for pattern in patterns for path in sorted(glob.glob(os.fsdecode(pattern)))]
    if not found:
        raise located(ValueError(f"no files match {file_pattern!r}"))
    return found


def _fields(path: str, format: _Format, kind: str) -> Iterator[list[bytes]]:
    with opened(path, kind) as file:
        lines = _Lines(file)
        number = 1
        for record in format.records(lines):
            if isinstance(record, _BadRecord):
                raise InvalidArgumentError(f"{path}:{number}: {record}")
            yield record
            number = lines.number + 1


def _names(
    paths: list[str], format: _Format, kind: str, column_names: Sequence[str] | None, header: bool, encoding: str
) -> list[str]:
    if column_names is None:
        if not header:
            raise located(ValueError("without a header, column_names has to be given"))
        headers = [[name.decode(encoding) for name in next(_fields(path, format, kind), [])] for path in paths]
        for path, names in zip(paths, headers, strict=True):
            if names != headers[0]:
                raise located(ValueError(
                    f"{path} has the columns {names}, but {paths[0]} has {headers[0]}: the headers must agree"))
        column_names = headers[0]
    names = list(column_names)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise located(ValueError(f"these names of columns are there more than once: {', '.join(twice)}"))
    return names


def _numbers(select_columns: Sequence[int | str], names: list[str]) -> list[int]:
    for column in select_columns:
        if column not in (names if isinstance(column, str) else range(len(names))):
            raise located(ValueError(f"select_columns has {column!r}, but the columns are {names}"))
    numbers = sorted(names.index(x) if isinstance(x, str) else int(x) for x in select_columns)
    if len(set(numbers)) != len(numbers):
        raise located(ValueError(f"select_columns has a column more than once: {list(select_columns)}"))
    return numbers


def _inferred(
    paths: list[str], format: _Format, kind: str, header: bool, selected: list[int], width: int, limit: int | None
) -> list[Any]:
    """For each column a default value, in the first dtype that can represent all fields present."""
    kinds, parsers = [-1] * len(selected), [_parser(dtype) for dtype in _DTYPES]
    rows = ((path, record) for path in paths
            for record in itertools.islice(_fields(path, format, kind), int(header), None))
    for path, record in itertools.islice(rows, limit):
        if len(record) != width:
            raise located(ValueError(f"{path}: a record has {len(record)} fields, but there are {width} columns"))
        for i, column in enumerate(selected):
            if record[column] not in (b"", format.missing):
                kinds[i] = max(kinds[i], 0)
                while not _holds(_DTYPES[kinds[i]], parsers[kinds[i]], record[column]):
                    kinds[i] += 1
    dtypes = [_DTYPES[k] for k in kinds]
    return ["" if dtype.is_string else dtype.as_numpy_dtype(0) for dtype in dtypes]


def _holds(dtype: DType, parse: Callable[[bytes], Any], field: bytes) -> bool:
    try:
        value = parse(field)
    except (ValueError, OverflowError):
        return False
    return not dtype.is_floating or bool(np.isfinite(value)) or not math.isfinite(float(field))
