"""Immutable tables that map keys to values (`tf.lookup`)."""
from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, InvalidArgumentError, NotFoundError, ShapeError
from runtime.core.op import Op, Sample
from runtime.core.positions import located
from runtime.core.string_arrays import string_array
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.trace import convert_to_tensor, init_scope
from runtime.core.types import DType, TensorType, as_dtype
from runtime.ops.fingerprint import fingerprint64
from runtime.ops.op_makers import apply_one, named

__all__ = ["Entries", "KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable", "TextFileIndex",
           "TextFileInitializer"]


class Entries:
    """The contents of a table: keys and values as arrays, and the position of each key. A missing key has the default
    value or, in a vocabulary, the number of one of `buckets` after the keys' numbers."""

    def __init__(self, keys: Any, values: Any, default: Any, buckets: int = 0) -> None:
        self.keys, self.values, self.default, self.buckets = keys, values, default, buckets
        self.positions = {key: i for i, key in enumerate(keys.tolist())}

    def find(self, keys: Any) -> Any:
        result = np.empty(keys.size, self.values.dtype)
        for i, key in enumerate(keys.reshape(-1).tolist()):
            position = self.positions.get(key)
            if position is not None:
                result[i] = self.values[position]
            else:
                result[i] = self._missing(key) if self.buckets else self.default
        return result.reshape(keys.shape)

    def _missing(self, key: Any) -> int:
        data = key if isinstance(key, bytes) else str(key).encode()
        return len(self.positions) + fingerprint64(data) % self.buckets

    def __repr__(self) -> str:
        return f"<table of {len(self.positions)} keys>"


def _find_kernel(keys: Any, *, table: Entries) -> Any:
    return table.find(keys)


def _find_rule(keys: TensorType, *, table: Entries) -> TensorType:
    wanted = t.dtype_of(table.keys)
    if not isinstance(keys, TensorType) or keys.dtype is not wanted:
        raise DTypeError(f"the keys of this table are of dtype {wanted.name}, not {keys}")
    return TensorType(t.dtype_of(table.values), keys.shape)


def _find_samples(rng: np.random.Generator) -> Iterable[Sample]:
    table = Entries(string_array(["a", "b"]), np.array([5, 7]), np.int64(-1))
    yield (string_array(["b", "c", "a"]),), {"table": table}
    yield (string_array("a"),), {"table": table}
    yield (string_array(["b", "c"]),), {"table": Entries(string_array(["a", "b"]), np.arange(2), None, 3)}
    yield (np.array([1, 4]),), {"table": Entries(np.array([1, 2]), np.array([0.5, 1.5]), np.float64(0))}


_FIND: Final = Op("table_find", _find_kernel, _find_rule, samples=_find_samples,
                  doc="The value of each key in a table that does not change.")


class KeyValueTensorInitializer:
    """The keys and values of a table, vectors of one length (`tf.lookup.KeyValueTensorInitializer`).

    TypeError if keys are neither strings nor ints; ValueError if the lengths differ; InvalidArgumentError if a key
    occurs with different values.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        self.keys, self.values = _vector(keys, key_dtype), _vector(values, value_dtype)
        self.key_dtype, self.value_dtype = t.dtype_of(self.keys), t.dtype_of(self.values)
        if not (self.key_dtype.is_string or self.key_dtype.is_integer):
            raise located(DTypeError(f"the keys of a table are strings or ints, not {self.key_dtype.name}"))
        if self.keys.shape != self.values.shape:
            raise located(ShapeError(f"a table of {self.keys.size} keys does not have {self.values.size} values"))
        known: dict[Any, Any] = {}
        for key, value in zip(self.keys.tolist(), self.values.tolist(), strict=True):
            if known.setdefault(key, value) != value:
                raise located(InvalidArgumentError(f"the key {key!r} is there with the values {known[key]!r} and "
                                                   f"{value!r}"))
        first = sorted(np.unique(self.keys, return_index=True)[1])
        self.keys, self.values = self.keys[first], self.values[first]


class TextFileIndex:
    """The indices, besides column numbers, by which a table takes parts of a file's lines
    (`tf.lookup.TextFileIndex`)."""

    WHOLE_LINE: Final = -2
    LINE_NUMBER: Final = -1


class TextFileInitializer(KeyValueTensorInitializer):
    """The keys and values of a table from the lines of a file (`tf.lookup.TextFileInitializer`): each a column between
    delimiters, the whole line, or the line number, int64, for values plus `value_index_offset`. Columns are strings or
    int64, value columns also float32.

    ValueError for an index below -2 or a dtype that does not suit it. NotFoundError if the file does not exist.
    InvalidArgumentError, with the file and the line, for an empty line, one with too few columns or an invalid number,
    and for fewer lines than `vocab_size`, the number of lines that are read.
    """

    def __init__(
        self, filename: Any, key_dtype: Any, key_index: int, value_dtype: Any, value_index: int,
        vocab_size: int | None = None, delimiter: str = "\t", name: str | None = None, value_index_offset: int = 0,
    ) -> None:
        path = os.fspath(filename)
        keys, values = as_dtype(key_dtype), as_dtype(value_dtype)
        _check_index("key", key_index, keys)
        _check_index("value", value_index, values)
        if len(delimiter.encode()) != 1:
            raise located(InvalidArgumentError(f"delimiter is one character of ASCII, not {delimiter!r}"))
        try:
            with open(path, "rb") as file:
                lines = file.read().replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n")[:vocab_size]
        except FileNotFoundError:
            raise located(NotFoundError(f"{path}; No such file or directory")) from None
        for number, line in enumerate(lines, 1):
            if not line:
                raise located(InvalidArgumentError(f"{path}:{number}: the line is empty"))
        if vocab_size is not None and len(lines) < vocab_size:
            raise located(InvalidArgumentError(f"{path} has {len(lines)} lines, and vocab_size is {vocab_size}"))
        super().__init__(_column(path, lines, delimiter, key_index, keys, 0),
                         _column(path, lines, delimiter, value_index, values, value_index_offset), keys, values)


def _check_index(what: str, index: int, dtype: DType) -> None:
    if index < TextFileIndex.WHOLE_LINE:
        raise located(ValueError(f"{what}_index is the number of a column or of TextFileIndex, not {index}"))
    if index == TextFileIndex.LINE_NUMBER and dtype is not t.int64:
        raise located(ValueError(f"{what}_dtype is int64 for the number of a line, not {dtype.name}"))
    if index == TextFileIndex.WHOLE_LINE and not dtype.is_string:
        raise located(ValueError(f"{what}_dtype is string for a whole line, not {dtype.name}"))
    if dtype not in (t.string, t.int64, t.float32):
        raise located(DTypeError(f"{what}_dtype is string, int64 or float32, not {dtype.name}"))


def _column(path: str, lines: list[bytes], delimiter: str, index: int, dtype: DType, offset: int) -> Any:
    if index == TextFileIndex.LINE_NUMBER:
        return np.arange(offset, offset + len(lines))
    if index == TextFileIndex.WHOLE_LINE:
        return string_array(lines)
    found: list[Any] = []
    for number, line in enumerate(lines, 1):
        fields = line.split(delimiter.encode())
        if index >= len(fields):
            raise located(InvalidArgumentError(f"{path}:{number}: {len(fields)} columns, and column {index} is wanted"))
        try:
            found.append(fields[index] if dtype.is_string else dtype.as_numpy_dtype(fields[index].decode()))
        except (ValueError, OverflowError):
            raise located(InvalidArgumentError(
                f"{path}:{number}: column {index} is no {dtype.name}: {fields[index].decode(errors='replace')}")
            ) from None
    return string_array(found) if dtype.is_string else np.array(found)


def _vector(values: Any, dtype: Any) -> Any:
    with init_scope():
        tensor = convert_to_tensor(values, dtype, strings=True)
    if tensor.ndim != 1 or not isinstance(tensor, EagerTensor):
        raise located(ShapeError(f"a table is made from vectors that have values, not from {tensor.type}"))
    return np.asarray(tensor)


class _Table:
    """A table of an initializer's keys and values."""

    def __init__(self, entries: Entries, key_dtype: DType, value_dtype: DType) -> None:
        self._entries = entries
        self.key_dtype, self.value_dtype = key_dtype, value_dtype

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """The values of the keys, in a tensor of the same shape. TypeError for keys of another dtype."""
        return named(apply_one(_FIND, convert_to_tensor(keys, self.key_dtype), table=self._entries), name)

    def __getitem__(self, keys: Any) -> Tensor:
        return self.lookup(keys)


class StaticHashTable(_Table):
    """An immutable table (`tf.lookup.StaticHashTable`); missing keys have `default_value`."""

    def __init__(
        self, initializer: KeyValueTensorInitializer, default_value: Any, name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        with init_scope():
            default = convert_to_tensor(default_value, initializer.value_dtype)
        if default.ndim:
            raise located(ShapeError(f"default_value is a scalar, not {default.type}"))
        entries = Entries(initializer.keys, initializer.values, np.asarray(default)[()])
        super().__init__(entries, initializer.key_dtype, initializer.value_dtype)
        self.default_value = default

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys, int64."""
        return convert_to_tensor(len(self._entries.positions), t.int64)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """The keys and the values."""
        return EagerTensor(self._entries.keys), EagerTensor(self._entries.values)


class StaticVocabularyTable(_Table):
    """The ids of words (`tf.lookup.StaticVocabularyTable`): an initializer's int64 values, from 0 on; other words have
    one of `num_oov_buckets` ids after these, by their fingerprint. ValueError without buckets."""

    def __init__(
        self, initializer: KeyValueTensorInitializer, num_oov_buckets: int, lookup_key_dtype: Any = None,
        name: str | None = None, experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError(f"num_oov_buckets must be at least 1, not {num_oov_buckets}")
        if initializer.value_dtype is not t.int64:
            raise located(DTypeError(f"the values of a vocabulary are int64, not {initializer.value_dtype.name}",
                                     remedy="Give value_dtype=rt.int64 to the initializer."))
        key_dtype = initializer.key_dtype if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        if key_dtype is not initializer.key_dtype:
            raise located(DTypeError(f"the keys are {initializer.key_dtype.name}, not {key_dtype.name}"))
        entries = Entries(initializer.keys, initializer.values, None, int(num_oov_buckets))
        super().__init__(entries, key_dtype, t.int64)
        self._num_oov_buckets = int(num_oov_buckets)

    def size(self, name: str | None = None) -> Tensor:
        """The number of ids, int64: keys plus buckets."""
        return convert_to_tensor(len(self._entries.positions) + self._num_oov_buckets, t.int64)
