"""Tables that map keys to values and do not change (`tf.lookup`)."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, InvalidArgumentError, ShapeError
from runtime.core.op import Op, Sample
from runtime.core.positions import located
from runtime.core.string_arrays import string_array
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.trace import convert_to_tensor, init_scope
from runtime.core.types import DType, TensorType, as_dtype
from runtime.ops.fingerprint import fingerprint64
from runtime.ops.op_makers import apply_one, named

__all__ = ["Entries", "KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable"]


class Entries:
    """What is in a table: keys and values as arrays, and the position of each key. What is not there has the default
    value, or for a vocabulary the number of one of `buckets`, after those of the keys."""

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

    TypeError for keys that are neither strings nor ints; ValueError if the lengths differ; InvalidArgumentError if a
    key is there with different values.
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
        """The values of the keys, in a tensor of their shape. TypeError for keys of another dtype."""
        return named(apply_one(_FIND, convert_to_tensor(keys, self.key_dtype), table=self._entries), name)

    def __getitem__(self, keys: Any) -> Tensor:
        return self.lookup(keys)


class StaticHashTable(_Table):
    """A table that does not change (`tf.lookup.StaticHashTable`); keys that are not there have `default_value`."""

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
        """The number of ids, int64: of keys and buckets."""
        return convert_to_tensor(len(self._entries.positions) + self._num_oov_buckets, t.int64)
