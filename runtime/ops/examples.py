"""Parsing the messages of TFRecord files (`tf.io.parse_single_example`)."""
from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from runtime.core import types as t
from runtime.core.errors import InvalidArgumentError, ShapeError, UnimplementedError
from runtime.core.example_layouts import FLOATS, INTS, STRINGS, Layout, layout_of
from runtime.core.examples import BytesList, Example, Feature, Features, FloatList, Int64List
from runtime.core.op import Op, Sample
from runtime.core.positions import located, staging_error
from runtime.core.string_arrays import string_array, vector
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor, init_scope
from runtime.core.types import DType, TensorType, as_dtype
from runtime.ops.creation import range as range_
from runtime.ops.shape import size
from runtime.ops.sparse import SparseTensor

__all__ = ["KINDS", "FixedLenFeature", "FixedLenSequenceFeature", "VarLenFeature", "Wanted", "all_values", "array_of",
           "parse_example", "parse_single_example", "values_of", "wanted_of"]


class FixedLenFeature(NamedTuple):
    """A feature of a known shape (`tf.io.FixedLenFeature`); without a default value it is required."""

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of rows of a known shape (`tf.io.FixedLenSequenceFeature`)."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature of any length, which `parse_single_example` returns as a SparseTensor of rank 1."""

    dtype: Any


Wanted = tuple[str, tuple[int | None, ...], DType, tuple[Any, ...] | None]
"""The name, shape, dtype and default values of a feature."""
KINDS: Final = {t.string: BytesList, t.float32: FloatList, t.int64: Int64List}


def values_of(name: str, kind: Any, dtype: DType) -> list[Any]:
    """The values of a feature's list. InvalidArgumentError if they are of another dtype."""
    if not isinstance(kind, KINDS[dtype]):
        raise InvalidArgumentError(f"Key: {name}. Data types don't match. Expected type: {dtype.name}, but the feature "
                                   f"is a {type(kind).__name__}")
    return kind.value


def array_of(features: Mapping[str, Feature], wanted: Wanted) -> Any:
    """The array of a feature, or its default. InvalidArgumentError if it is missing, or of another kind or number."""
    name, shape, dtype, default = wanted
    feature = features.get(name)
    kind = feature.kind if feature is not None else None
    if kind is None:
        if default is None:
            raise InvalidArgumentError(f"Feature: {name} (data type: {dtype.name}) is required but could not be found.")
        values: Any = default
    else:
        values = values_of(name, kind, dtype)
    array = np.empty(len(values), dtype.np)
    array[:] = values
    try:
        return array.reshape([-1 if n is None else n for n in shape])
    except ValueError:
        raise InvalidArgumentError(f"Key: {name}. Number of {dtype.name} values != expected. Values size: "
                                   f"{len(values)} but output shape: {t.shape_text(shape)}") from None


class _Parser:
    """Parses examples for certain features. Layouts of earlier messages, by their lengths, are tried on later ones."""

    def __init__(self, features: tuple[Wanted, ...]) -> None:
        self.features = features
        self._layouts: dict[int, Layout] = {}

    def __call__(self, data: bytes) -> list[Any]:
        layout = self._layouts.get(len(data))
        if layout is None or not layout.fits(data):
            layout = layout_of(data)
            if layout is not None:
                if len(self._layouts) >= _LAYOUTS:
                    self._layouts.clear()
                self._layouts[len(data)] = layout
        found = None if layout is None else self._by_layout(layout, data)
        return self._by_message(data) if found is None else found

    def _by_layout(self, layout: Layout, data: bytes) -> list[Any] | None:
        """The arrays of the features; None if some are missing, or of another kind or number."""
        arrays = []
        array: Any
        for name, shape, dtype, default in self.features:
            values = layout.features.get(name)
            if values is None and default is not None:
                array = vector(default, dtype.np)
            elif values is None or _NUMBERS[values.kind] is not dtype:
                return None
            elif dtype.is_string:
                array = vector(values.strings(data))
            else:
                array = values.numbers(data)
            if array.shape != shape:
                size = -1 if None in shape else math.prod(shape)  # type: ignore[arg-type]
                if size != array.size:
                    return None
                array = array.reshape(shape)
            arrays.append(array)
        return arrays

    def many(self, messages: list[bytes]) -> list[Any] | None:
        """The arrays of the features of several examples with a common layout, with a new first axis; None if they have
        none."""
        size = len(messages[0])
        layout = self._layouts.get(size)
        if layout is None or any(len(data) != size for data in messages):
            return None
        rows = np.frombuffer(b"".join(messages), np.uint8).reshape(-1, size)
        if not layout.fits_rows(rows):
            return None
        arrays = []
        for name, shape, dtype, _ in self.features:
            values = layout.features.get(name)
            if values is None or _NUMBERS[values.kind] is not dtype or None in shape:
                return None
            array = values.in_rows(rows)
            if array is None or array.shape[1] != math.prod(shape):  # type: ignore[arg-type]
                return None
            arrays.append(array.reshape(-1, *shape))
        return arrays

    def _by_message(self, data: bytes) -> list[Any]:
        try:
            example = Example.FromString(data)
        except (ValueError, TypeError) as error:
            raise InvalidArgumentError(f"Could not parse example input: {error}") from None
        return [array_of(example.features.feature, wanted) for wanted in self.features]


_NUMBERS: Final = {STRINGS: t.string, FLOATS: t.float32, INTS: t.int64}
_LAYOUTS: Final = 256
_parser = functools.lru_cache(maxsize=64)(_Parser)


def _parse_kernel(serialized: Any, *, features: tuple[Wanted, ...]) -> tuple[Any, ...]:
    parse = _parser(features)
    if not serialized.ndim:
        return tuple(parse(serialized[()]))
    messages = serialized.tolist()
    if len(messages) > 1 and (found := parse.many(messages)) is not None:
        return tuple(found)
    columns = [list(column) for column in zip(*map(parse, messages), strict=True)] or [[] for _ in features]
    return tuple([
        np.stack(column) if column else np.empty((0, *shape), dtype.np)
        for column, (_, shape, dtype, _) in zip(columns, features, strict=True)])


def _parse_rule(serialized: TensorType, *, features: tuple[Wanted, ...]) -> tuple[TensorType, ...]:
    if serialized.ndim > 1:
        raise ShapeError(f"an example is a string, and several are a vector of strings, not {serialized}")
    return tuple([TensorType(dtype, serialized.shape + shape) for _, shape, dtype, _ in features])


def _parse_samples(rng: np.random.Generator) -> Iterable[Sample]:
    data = Example(Features({"x": Feature(float_list=FloatList([1, 2])),
                             "n": Feature(int64_list=Int64List([-3]))})).SerializeToString()
    wanted = (("x", (2,), t.float32, None), ("n", (), t.int64, None), ("s", (), t.string, (b"none",)))
    for serialized in (data, [data, data]):
        yield (string_array(serialized),), {"features": wanted}


_PARSE: Final = Op("parse_example", _parse_kernel, _parse_rule, samples=_parse_samples, errors=(InvalidArgumentError,),
                   doc="The features of serialized examples.")


def wanted_of(name: str, feature: Any, single: bool) -> Wanted:
    if isinstance(feature, VarLenFeature) and single:
        feature = FixedLenSequenceFeature([], feature.dtype, allow_missing=True)
    if not isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature)):
        raise located(UnimplementedError(
            f"the feature {name!r} is a {type(feature).__name__}, which is not parsed" + " in batches" * isinstance(
                feature, VarLenFeature),
            remedy="Use rt.io.FixedLenFeature; or parse_single_example before batches are made, with VarLenFeature or "
            "FixedLenSequenceFeature(shape, dtype, allow_missing=True)."))
    dtype = as_dtype(feature.dtype)
    if dtype not in KINDS:
        raise located(ValueError(f"the feature {name!r} is string, float32 or int64, not {dtype.name}"))
    shape = tuple(map(int, feature.shape))
    if isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing or not single or feature.default_value is not None:
            raise located(UnimplementedError(
                f"the feature {name!r}: a FixedLenSequenceFeature is parsed by parse_single_example, with "
                "allow_missing=True and no default_value", remedy="Pad afterwards: dataset.padded_batch(n)."))
        return name, (None, *shape), dtype, ()
    if feature.default_value is None:
        return name, shape, dtype, None
    with init_scope():
        default = convert_to_tensor(feature.default_value, dtype)
    if not isinstance(default, EagerTensor):
        raise staging_error(f"the default_value of the feature {name!r} is known only when the graph runs",
                            "Give a number or text, or a constant of it; and use rt.where afterwards.")
    return name, shape, dtype, tuple(np.broadcast_to(np.asarray(default), shape).reshape(-1).tolist())


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of one serialized `rt.train.Example` by their names (`tf.io.parse_single_example`).

    `features` maps names to `FixedLenFeature`, `FixedLenSequenceFeature` or `VarLenFeature`, which gives a SparseTensor
    of all its values. InvalidArgumentError if the example is damaged, lacks a feature, or has another kind or number of
    values.
    """
    return _parsed(serialized, features, 0)


def parse_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Like `parse_single_example`, for a vector of examples: the features have a new first axis
    (`tf.io.parse_example`)."""
    return _parsed(serialized, features, 1)


def _parsed(serialized: Any, features: Mapping[str, Any], rank: int) -> dict[str, Any]:
    if not features:
        raise ValueError("there are no features to parse")
    x = convert_to_tensor(serialized, t.string)
    if x.ndim != rank:
        raise located(ShapeError(f"{'parse_example' if rank else 'parse_single_example'} takes strings of rank {rank}, "
                                 f"not {x.type}"))
    wanted = tuple([wanted_of(key, feature, not rank) for key, feature in sorted(features.items())])
    found = dict(zip([each[0] for each in wanted], apply(_PARSE, x, features=wanted), strict=True))
    return {key: all_values(value) if isinstance(features[key], VarLenFeature) else value
            for key, value in found.items()}


def all_values(values: Tensor) -> SparseTensor:
    """A sparse vector that has a value everywhere."""
    count = size(values, t.int64)
    return SparseTensor(range_(count)[:, None], values, count[None])
