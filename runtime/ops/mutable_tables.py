"""Tables that change (`tf.lookup.experimental`): their reads and writes are effects, which run in program order."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, InvalidArgumentError, ShapeError
from runtime.core.op import Op, Sample
from runtime.core.positions import located
from runtime.core.string_arrays import string_array, vector
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor, init_scope
from runtime.core.types import DType, TensorType, as_dtype, compatible_shapes
from runtime.ops.op_makers import apply_one, named

__all__ = ["DenseHashTable", "MutableHashTable", "Rows"]


class Rows:
    """The contents of a table: the value of each key, an array of a dtype and shape."""

    def __init__(self, key_dtype: DType, value_dtype: DType, shape: tuple[int, ...], reserved: Iterable[Any] = ()
                 ) -> None:
        self.key_dtype, self.value_dtype, self.shape = key_dtype, value_dtype, shape
        self.reserved = frozenset(reserved)
        """Keys that no entry may have."""
        self.values: dict[Any, Any] = {}

    def check(self, keys: list[Any]) -> None:
        for key in keys:
            if key in self.reserved:
                raise InvalidArgumentError(f"the key {key!r} is the table's empty_key or deleted_key")

    def __repr__(self) -> str:
        return f"<mutable table of {len(self.values)} keys>"


def _stacked(rows: list[Any], like: tuple[int, ...], table: Rows) -> Any:
    """The values as one array of the shape `like` + that of a value."""
    if not table.shape:
        return vector(rows, table.value_dtype.np).reshape(like)
    shape = (*like, *table.shape)
    return np.stack(rows).reshape(shape) if rows else np.empty(shape, table.value_dtype.np)


def _check_keys(op: str, keys: TensorType, table: Rows) -> None:
    if not isinstance(keys, TensorType) or keys.dtype is not table.key_dtype:
        raise DTypeError(f"the keys of {op} are of dtype {table.key_dtype.name}, not {keys}")


def _check_values(op: str, keys: TensorType, values: TensorType, table: Rows) -> None:
    if values.dtype is not table.value_dtype:
        raise DTypeError(f"the values of {op} are of dtype {table.value_dtype.name}, not {values}")
    wanted = (*keys.shape, *table.shape)
    if not compatible_shapes(values.shape, wanted):
        raise ShapeError(f"Expected shape {t.shape_text(wanted)} for the values of {op}, got "
                         f"{t.shape_text(values.shape)}")


def _read_kernel(keys: Any, default: Any, *, table: Rows) -> Any:
    flat = keys.reshape(-1).tolist()
    table.check(flat)
    each = default.ndim > len(table.shape)
    defaults = default.reshape(-1, *table.shape) if each else [default[()]] * len(flat)
    rows = [table.values.get(key, other) for key, other in zip(flat, defaults, strict=True)]
    return _stacked(rows, keys.shape, table)


def _read_rule(keys: TensorType, default: TensorType, *, table: Rows) -> TensorType:
    _check_keys("table_read", keys, table)
    if default.shape != table.shape:
        _check_values("table_read", keys, default, table)
    return TensorType(table.value_dtype, (*keys.shape, *table.shape))


def _sample_table() -> Rows:
    table = Rows(t.string, t.int64, ())
    table.values.update({b"a": np.int64(5), b"b": np.int64(7)})
    return table


def _read_samples(rng: np.random.Generator) -> Iterable[Sample]:
    yield (string_array(["b", "c"]), np.array(-1)), {"table": _sample_table()}
    yield (string_array(["b", "c"]), np.array([1, 2])), {"table": _sample_table()}


_READ: Final = Op("table_read", _read_kernel, _read_rule, effect=True, errors=(InvalidArgumentError,),
                  samples=_read_samples, doc="The value of each key in a table that changes, or the default value.")


def _write_kernel(keys: Any, values: Any, *, table: Rows) -> None:
    flat = keys.reshape(-1).tolist()
    table.check(flat)
    rows = values.reshape(len(flat), *table.shape)
    table.values.update(zip(flat, map(np.copy, rows) if table.shape else rows, strict=True))


def _write_rule(keys: TensorType, values: TensorType, *, table: Rows) -> tuple[()]:
    _check_keys("table_write", keys, table)
    _check_values("table_write", keys, values, table)
    return ()


_WRITE: Final = Op("table_write", _write_kernel, _write_rule, effect=True, errors=(InvalidArgumentError,),
                   doc="Set the values of keys in a table.")


def _erase_kernel(keys: Any, *, table: Rows) -> None:
    flat = keys.reshape(-1).tolist()
    table.check(flat)
    for key in flat:
        table.values.pop(key, None)


def _erase_rule(keys: TensorType, *, table: Rows) -> tuple[()]:
    _check_keys("table_erase", keys, table)
    return ()


_ERASE: Final = Op("table_erase", _erase_kernel, _erase_rule, effect=True, errors=(InvalidArgumentError,),
                   doc="Remove keys from a table.")


def _count_kernel(*, table: Rows) -> Any:
    return np.array(len(table.values))


def _count_rule(*, table: Rows) -> TensorType:
    return TensorType(t.int64)


_COUNT: Final = Op("table_count", _count_kernel, _count_rule, effect=True, doc="The number of keys in a table.")


def _export_kernel(*, table: Rows) -> tuple[Any, Any]:
    keys = vector(list(table.values), table.key_dtype.np)
    return keys, _stacked(list(table.values.values()), keys.shape, table)


def _export_rule(*, table: Rows) -> tuple[TensorType, TensorType]:
    return TensorType(table.key_dtype, (None,)), TensorType(table.value_dtype, (None, *table.shape))


_EXPORT: Final = Op("table_export", _export_kernel, _export_rule, effect=True,
                    doc="The keys and the values of a table.")


class MutableHashTable:
    """A table that changes (`tf.lookup.experimental.MutableHashTable`); missing keys have `default_value`, whose shape
    is that of all values. Checkpoints do not save it."""

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, name: str = "MutableHashTable",
        checkpoint: bool = True, experimental_is_anonymous: bool = False,
    ) -> None:
        self._set_up(key_dtype, value_dtype, default_value, name)

    def _set_up(self, key_dtype: Any, value_dtype: Any, default_value: Any, name: str, *reserved: Any) -> None:
        self.key_dtype, self.value_dtype, self.name = as_dtype(key_dtype), as_dtype(value_dtype), name
        if not (self.key_dtype.is_string or self.key_dtype.is_integer):
            raise located(DTypeError(f"the keys of a table are strings or ints, not {self.key_dtype.name}"))
        with init_scope():
            self._default: Any = convert_to_tensor(default_value, self.value_dtype)
            keys = [np.asarray(convert_to_tensor(key, self.key_dtype)).item() for key in reserved]
        if not isinstance(self._default, EagerTensor):
            raise located(ShapeError("default_value is a value that is known when the table is made"))
        self._rows = Rows(self.key_dtype, self.value_dtype, np.asarray(self._default).shape, keys)

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Tensor:
        """The values of the keys; missing keys have `default_value`, or the values in `dynamic_default_values`."""
        default = self._default if dynamic_default_values is None else convert_to_tensor(
            dynamic_default_values, self.value_dtype)
        return named(apply_one(_READ, convert_to_tensor(keys, self.key_dtype), default, table=self._rows), name)

    def __getitem__(self, keys: Any) -> Tensor:
        return self.lookup(keys)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Set the values of keys. ShapeError unless the values have the keys' shape and that of `default_value`."""
        apply(_WRITE, convert_to_tensor(keys, self.key_dtype), convert_to_tensor(values, self.value_dtype),
              table=self._rows)

    def remove(self, keys: Any, name: str | None = None) -> None:
        """Remove keys, if they are there."""
        apply(_ERASE, convert_to_tensor(keys, self.key_dtype), table=self._rows)

    erase = remove

    def size(self, name: str | None = None) -> Tensor:
        """The number of keys, int64."""
        return named(apply_one(_COUNT, table=self._rows), name)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """The keys, in the order in which they were first inserted, and the values."""
        keys, values = apply(_EXPORT, table=self._rows)
        return keys, values


class DenseHashTable(MutableHashTable):
    """A `MutableHashTable` in which no key may be `empty_key` or `deleted_key`
    (`tf.lookup.experimental.DenseHashTable`): InvalidArgumentError for these."""

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any, deleted_key: Any,
        initial_num_buckets: int | None = None, name: str = "MutableDenseHashTable", checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._set_up(key_dtype, value_dtype, default_value, name, empty_key, deleted_key)
