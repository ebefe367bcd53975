"""Parsing sequences of features (`tf.io.parse_single_sequence_example`)."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.examples import (
    BytesList,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from runtime.core.op import Op, Sample
from runtime.core.positions import located
from runtime.core.string_arrays import string_array, vector
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import DType, TensorType, as_dtype
from runtime.ops.examples import (
    KINDS,
    FixedLenSequenceFeature,
    VarLenFeature,
    Wanted,
    all_values,
    array_of,
    values_of,
    wanted_of,
)
from runtime.ops.sparse import SparseTensor

__all__ = ["parse_single_sequence_example"]

_Varied = tuple[str, DType]
"""The name and dtype of a feature with any number of values in each step."""


def _stacked(lists: Mapping[str, FeatureList], wanted: Wanted) -> Any:
    """The array [steps, ...] of a list of features, one for each step."""
    name, shape, dtype, default = wanted
    if name not in lists and default is None:
        raise InvalidArgumentError(f"Feature list: {name} (data type: {dtype.name}) is required but could not be "
                                   "found; with allow_missing=True it would have no steps")
    steps = lists[name].feature if name in lists else []
    rows = [array_of({name: step}, (name, shape, dtype, None)) for step in steps]
    return np.stack(rows) if rows else np.empty((0, *shape), dtype.np)


def _varied(lists: Mapping[str, FeatureList], wanted: _Varied) -> tuple[Any, ...]:
    """The indices, values and dense shape of a list of features with any number of values in each step."""
    name, dtype = wanted
    steps = lists[name].feature if name in lists else []
    rows = [[] if step.kind is None else values_of(name, step.kind, dtype) for step in steps]
    indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = vector([x for row in rows for x in row], dtype.np)
    return (np.array(indices, np.int64).reshape(-1, 2), values,
            np.array([len(rows), max(map(len, rows), default=0)], np.int64))


def _kernel(
    serialized: Any, *, context: tuple[Wanted, ...], fixed: tuple[Wanted, ...], varied: tuple[_Varied, ...]
) -> tuple[Any, ...]:
    try:
        example = SequenceExample.FromString(serialized[()])
    except (ValueError, TypeError) as error:
        raise InvalidArgumentError(f"Could not parse example input: {error}") from None
    lists = example.feature_lists.feature_list
    return (*[array_of(example.context.feature, wanted) for wanted in context],
            *[_stacked(lists, wanted) for wanted in fixed],
            *[part for wanted in varied for part in _varied(lists, wanted)])


def _rule(
    serialized: TensorType, *, context: tuple[Wanted, ...], fixed: tuple[Wanted, ...], varied: tuple[_Varied, ...]
) -> tuple[TensorType, ...]:
    return (*[TensorType(dtype, shape) for _, shape, dtype, _ in context],
            *[TensorType(dtype, (None, *shape)) for _, shape, dtype, _ in fixed],
            *[part for _, dtype in varied for part in (
                TensorType(t.int64, (None, 2)), TensorType(dtype, (None,)), TensorType(t.int64, (2,)))])


def _samples(rng: np.random.Generator) -> Iterable[Sample]:
    steps = FeatureList([Feature(int64_list=Int64List([1, 2])), Feature(int64_list=Int64List([3, -4]))])
    words = FeatureList([Feature(bytes_list=BytesList([b"a", b"bc"])), Feature()])
    data = SequenceExample(Features({"x": Feature(float_list=FloatList([1, 2]))}),
                           FeatureLists({"n": steps, "w": words})).SerializeToString()
    yield (string_array(data),), {"context": (("x", (2,), t.float32, None),), "fixed": (("n", (2,), t.int64, None),),
                                  "varied": (("w", t.string),)}


_PARSE: Final = Op("parse_sequence_example", _kernel, _rule, samples=_samples, errors=(InvalidArgumentError,),
                   doc="The features of a serialized sequence example and of its steps.")


def _of_steps(name: str, feature: Any) -> Wanted | _Varied:
    if not isinstance(feature, (FixedLenSequenceFeature, VarLenFeature)):
        raise located(ValueError(f"Unsupported {type(feature).__name__} for key {name!r}: the features of the steps "
                                 "are FixedLenSequenceFeature or VarLenFeature"))
    dtype = as_dtype(feature.dtype)
    if dtype not in KINDS:
        raise located(ValueError(f"the feature {name!r} is string, float32 or int64, not {dtype.name}"))
    if isinstance(feature, VarLenFeature):
        return name, dtype
    return name, tuple(map(int, feature.shape)), dtype, () if feature.allow_missing else None


def parse_single_sequence_example(
    serialized: Any, context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None, example_name: Any = None, name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The features of one serialized `rt.train.SequenceExample`, and those of its steps, by their names
    (`tf.io.parse_single_sequence_example`).

    `context_features`: as for `parse_single_example`. `sequence_features` maps names to `FixedLenSequenceFeature`,
    which gives an array [steps, *shape], or `VarLenFeature`, which gives a SparseTensor [steps, most values]; steps are
    missing only with allow_missing=True, or in a VarLenFeature. InvalidArgumentError if the example is damaged, lacks
    a feature, or has another kind or number of values.
    """
    if not context_features and not sequence_features:
        raise ValueError("Both context_features and sequence_features are None, but at least one should have values.")
    x = convert_to_tensor(serialized, t.string)
    if x.ndim:
        raise located(ShapeError(f"parse_single_sequence_example takes a string scalar, not {x.type}"))
    outer = context_features or {}
    context = tuple([wanted_of(key, feature, True) for key, feature in sorted(outer.items())])
    steps = [_of_steps(key, feature) for key, feature in sorted((sequence_features or {}).items())]
    fixed, varied = (tuple([each for each in steps if len(each) == size]) for size in (4, 2))
    found = iter(apply(_PARSE, x, context=context, fixed=fixed, varied=varied))
    of_context = {key: next(found) for key, *_ in context}
    of_steps: dict[str, Any] = {key: next(found) for key, *_ in fixed}
    of_steps |= {key: SparseTensor(next(found), next(found), next(found)) for key, *_ in varied}
    return {key: all_values(value) if isinstance(outer[key], VarLenFeature) else value
            for key, value in of_context.items()}, of_steps
