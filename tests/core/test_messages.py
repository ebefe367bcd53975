"""Examples as objects: their bytes, their text, and protobuf's methods."""
from __future__ import annotations

import pytest

from runtime import train

A_FEATURE = train.Feature(int64_list=train.Int64List(value=[1, -2]))
EXAMPLE = train.Example(features=train.Features(feature={
    "a": A_FEATURE,
    "b": train.Feature(float_list=train.FloatList(value=[1.5, 0.1, 1e-30, 3e20, float("nan"), float("inf"), -0.0, 1e8,
                                                         16777216, 1234567.9, 7])),
    "c": train.Feature(bytes_list=train.BytesList(value=[b"hi", b"\x00\xff\"'\\\n\r\tz", "é".encode()])),
    "d": train.Feature(),
    "é": train.Feature(int64_list=train.Int64List())}))
TEXT = r"""features {
  feature {
    key: "a"
    value {
      int64_list {
        value: 1
        value: -2
      }
    }
  }
  feature {
    key: "b"
    value {
      float_list {
        value: 1.5
        value: 0.1
        value: 1e-30
        value: 3e+20
        value: nan
        value: inf
        value: -0
        value: 1e+08
        value: 16777216
        value: 1234567.88
        value: 7
      }
    }
  }
  feature {
    key: "c"
    value {
      bytes_list {
        value: "hi"
        value: "\000\377\"\'\\\n\r\tz"
        value: "\303\251"
      }
    }
  }
  feature {
    key: "d"
    value {
    }
  }
  feature {
    key: "é"
    value {
      int64_list {
      }
    }
  }
}
"""


def sequence() -> train.SequenceExample:
    steps = train.FeatureList(feature=[train.Feature(int64_list=train.Int64List(value=[i])) for i in range(2)])
    return train.SequenceExample(
        context=train.Features(feature={"l": train.Feature(int64_list=train.Int64List(value=[3]))}),
        feature_lists=train.FeatureLists(feature_list={"t": steps}))


def test_text_is_protobufs() -> None:
    assert str(EXAMPLE) == repr(EXAMPLE) == TEXT
    assert str(train.Example()) == "" and str(A_FEATURE.int64_list) == "value: 1\nvalue: -2\n"
    assert "feature_list {\n    key: \"t\"\n    value {\n      feature {\n        int64_list {" in str(sequence())


def test_bytes_are_tensorflows() -> None:
    assert sequence().SerializeToString() == (
        b"\n\x0c\n\n\n\x01l\x12\x05\x1a\x03\n\x01\x03\x12\x15\n\x13\n\x01t\x12\x0e\n\x05\x1a\x03\n\x01\x00\n\x05\x1a\x03"
        b"\n\x01\x01")
    assert train.Example().SerializeToString() == b"" and train.Example(train.Features()).SerializeToString() == b"\n\0"
    assert EXAMPLE.ByteSize() == len(EXAMPLE.SerializeToString())


@pytest.mark.parametrize("message", [EXAMPLE, sequence(), A_FEATURE, train.Example()])
def test_parsed_messages_are_equal(message: train.Example) -> None:
    data = message.SerializeToString()
    made = type(message)()
    assert made.ParseFromString(data) == len(data) and made == message == type(message).FromString(data)
    other = type(message)()
    other.CopyFrom(message)
    assert other == message and other is not message
    other.CopyFrom(other)
    assert other == message
    other.Clear()
    assert other == type(message)() and str(other) == ""


def test_the_kind_of_a_feature_is_the_list_changed_last() -> None:
    feature = train.Feature()
    assert feature.WhichOneof("kind") is None and not feature.HasField("int64_list")
    assert feature.int64_list.value == [] and feature.WhichOneof("kind") is None
    feature.int64_list.value.append(3)
    assert feature.WhichOneof("kind") == "int64_list" and feature.HasField("int64_list")
    feature.float_list.value.extend([1, 2])
    assert feature.WhichOneof("kind") == "float_list" and feature.int64_list.value == []
    feature.ClearField("float_list")
    assert feature.WhichOneof("kind") is None and feature.SerializeToString() == b""
    assert EXAMPLE.features.feature["é"].WhichOneof("kind") == "int64_list"
    feature.MergeFrom(A_FEATURE)
    feature.MergeFrom(A_FEATURE)
    assert feature.int64_list.value == [1, -2, 1, -2]
    feature.MergeFrom(train.Feature(bytes_list=train.BytesList(value=[b"x"])))
    assert feature.WhichOneof("kind") == "bytes_list" and feature.int64_list.value == []


def test_a_message_is_filled_in_place() -> None:
    example = train.Example()
    assert not example.HasField("features")
    example.features.feature["new"].bytes_list.value.append(b"x")
    assert example.HasField("features") and [*example.features.feature] == ["new"]
    example.features.feature["a"].CopyFrom(A_FEATURE)
    example.features.feature["a"].int64_list.value.append(7)
    assert A_FEATURE.int64_list.value == [1, -2]
    other = train.Example()
    other.features.feature["new"].int64_list.value[:] = [1]
    assert other.MergeFromString(example.SerializeToString()) == example.ByteSize() and other == example
    steps = train.SequenceExample()
    steps.feature_lists.feature_list["t"].feature.add().int64_list.value.append(4)
    steps.feature_lists.feature_list["t"].feature.add(int64_list=train.Int64List(value=[5]))
    assert len(steps.feature_lists.feature_list["t"].feature) == 2


def test_errors() -> None:
    for message, text in ((lambda: A_FEATURE.WhichOneof("x"), 'Feature has no oneof "x"'),
                          (lambda: A_FEATURE.HasField("x"), 'Feature has no "x" field'),
                          (lambda: train.Features().HasField("feature"), '"feature" of Features is repeated')):
        with pytest.raises(ValueError, match=text):
            message()
    with pytest.raises(ValueError, match="a number of a message is damaged"):
        train.Example().ParseFromString(b"\xff\xff")
    with pytest.raises(TypeError, match="a Example takes the content of another"):
        train.Example().MergeFrom(A_FEATURE)  # type: ignore[arg-type]
    wrong = train.Feature()
    wrong.bytes_list.value.append("text")
    with pytest.raises(TypeError, match="encode text"):
        wrong.SerializeToString()
