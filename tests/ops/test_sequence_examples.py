"""Sequence examples are parsed as TensorFlow parses them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

io, train = rt.io, rt.train
WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}


def ints(*values: int) -> train.Feature:
    return train.Feature(int64_list=train.Int64List(value=values))


def floats(*values: float) -> train.Feature:
    return train.Feature(float_list=train.FloatList(value=values))


def words(*values: bytes) -> train.Feature:
    return train.Feature(bytes_list=train.BytesList(value=values))


def message(context: dict[str, Any], **lists: list[Any]) -> bytes:
    return train.SequenceExample(
        context=train.Features(feature=context),
        feature_lists=train.FeatureLists(feature_list={
            name: train.FeatureList(feature=steps) for name, steps in lists.items()})).SerializeToString()


DATA = message({"l": ints(3), "v": floats(1, 2, 3)}, t=[ints(i) for i in range(3)],
               m=[floats(i, i + 0.5) for i in range(3)], w=[words(b"a", b"bc"), train.Feature(), words(b"d")], e=[])
CONTEXT = {"l": io.FixedLenFeature([], rt.int64), "v": io.VarLenFeature(rt.float32),
           "z": io.FixedLenFeature([2], rt.float32, default_value=[1, 2])}
STEP, PAIR, WORDS = (io.FixedLenSequenceFeature([], rt.int64), io.FixedLenSequenceFeature([2], rt.float32),
                     io.VarLenFeature(rt.string))


@pytest.mark.parametrize("way", WAYS)
def test_results(way: str) -> None:
    context, steps = WAYS[way](lambda s: io.parse_single_sequence_example(s, CONTEXT, {
        "t": STEP, "m": PAIR, "w": WORDS}))(rt.constant(DATA))
    assert context["l"] == 3 and context["z"].numpy().tolist() == [1, 2]
    assert rt.sparse.to_dense(context["v"]).numpy().tolist() == [1, 2, 3]
    assert steps["t"].numpy().tolist() == [0, 1, 2]
    assert steps["m"].numpy().tolist() == [[0, 0.5], [1, 1.5], [2, 2.5]]
    assert steps["w"].indices.numpy().tolist() == [[0, 0], [0, 1], [2, 0]]
    assert steps["w"].values.numpy().tolist() == [b"a", b"bc", b"d"]
    assert np.asarray(steps["w"].dense_shape).tolist() == [3, 2]


@pytest.mark.parametrize("way", WAYS)
def test_lists_without_steps(way: str) -> None:
    missing = io.FixedLenSequenceFeature([2], rt.int64, allow_missing=True)
    context, steps = WAYS[way](lambda s: io.parse_single_sequence_example(s, None, {
        "e": PAIR, "none": WORDS, "gone": missing}))(rt.constant(DATA))
    assert context == {} and steps["e"].shape == (0, 2) and steps["gone"].shape == (0, 2)
    assert steps["none"].indices.shape == (0, 2) and np.asarray(steps["none"].dense_shape).tolist() == [0, 0]


def test_a_dataset() -> None:
    found = rt.data.Dataset.from_tensors(DATA).map(
        lambda s: io.parse_single_sequence_example(s, None, {"t": STEP})[1]["t"])
    assert [each.numpy().tolist() for each in found] == [[0, 1, 2]]


@pytest.mark.parametrize(("context", "steps", "error", "text"), [
    (None, {"q": STEP}, rt.errors.InvalidArgumentError, "Feature list: q .data type: int64. is required"),
    (None, {"t": PAIR}, rt.errors.InvalidArgumentError, "Key: t. Data types don't match. Expected type: float32"),
    (None, {"t": WORDS}, rt.errors.InvalidArgumentError, "Key: t. Data types don't match. Expected type: string"),
    (None, {"w": io.FixedLenSequenceFeature([], rt.string)}, rt.errors.InvalidArgumentError, "Values size: 2"),
    ({"q": CONTEXT["l"]}, None, rt.errors.InvalidArgumentError, "Feature: q .data type: int64. is required"),
    (None, {"t": CONTEXT["l"]}, ValueError, "Unsupported FixedLenFeature for key 't'"),
    (None, {"t": io.VarLenFeature(rt.int32)}, ValueError, "string, float32 or int64, not int32"),
    (None, None, ValueError, "Both context_features and sequence_features are None"),
])
def test_errors(context: Any, steps: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        io.parse_single_sequence_example(DATA, context, steps)


def test_messages_that_are_none() -> None:
    with pytest.raises(rt.errors.InvalidArgumentError, match="Could not parse example input"):
        io.parse_single_sequence_example(b"abc", None, {"t": STEP})
    with pytest.raises(rt.errors.ShapeError, match="takes a string scalar"):
        io.parse_single_sequence_example([DATA], None, {"t": STEP})
