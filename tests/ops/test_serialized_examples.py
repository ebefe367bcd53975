"""Serialized examples: written, parsed, and refused where they are damaged."""
import numpy as np
import pytest

import runtime as rt

io, train = rt.io, rt.train
EXAMPLE = train.Example(features=train.Features(feature={
    "x": train.Feature(float_list=train.FloatList(value=[1.5, 2, 3, 4])),
    "n": train.Feature(int64_list=train.Int64List(value=[-7])),
    "word": train.Feature(bytes_list=train.BytesList(value=["é".encode()]))}))
DATA = EXAMPLE.SerializeToString()
TF_DATA = bytes.fromhex(
    "0a400a130a016e120e1a0c0a0af9ffffffffffffffff010a0e0a04776f726412060a040a02c3a90a"
    "190a0178121412120a100000c03f000000400000404000008040")
FEATURES = {"x": io.FixedLenFeature([2, 2], rt.float32), "n": io.FixedLenFeature([], rt.int64),
            "word": io.FixedLenFeature([], rt.string), "more": io.FixedLenFeature([2], rt.int64, default_value=5)}
WAYS = {"eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}


def test_the_message_is_tfs():
    assert DATA == TF_DATA


@pytest.mark.parametrize("way", WAYS)
def test_results(way):
    one = WAYS[way](lambda s: io.parse_single_example(s, FEATURES))(rt.constant(DATA))
    assert one["x"].numpy().tolist() == [[1.5, 2], [3, 4]] and one["n"] == -7 and one["word"].numpy() == "é".encode()
    assert one["more"].numpy().tolist() == [5, 5]
    many = WAYS[way](lambda s: io.parse_example(s, FEATURES))(rt.constant([DATA, DATA]))
    assert many["x"].shape == (2, 2, 2) and many["word"].shape == (2,)
    rows = io.FixedLenSequenceFeature([2], rt.float32, allow_missing=True)
    assert io.parse_single_example(DATA, {"x": rows})["x"].shape == (2, 2)


def test_a_dataset(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    with io.TFRecordWriter(path) as writer:
        writer.write(DATA)
    parsed = rt.data.TFRecordDataset(path).map(lambda s: io.parse_single_example(s, FEATURES)["x"]).batch(1)
    assert next(iter(parsed)).shape == (1, 2, 2)


def test_damaged_messages():
    rng = np.random.default_rng(1)
    for _ in range(300):
        data = bytearray(DATA[:rng.integers(1, len(DATA) + 1)])
        data[rng.integers(len(data))] = rng.integers(256)
        try:
            io.parse_single_example(bytes(data), FEATURES)
        except rt.errors.InvalidArgumentError:
            pass


@pytest.mark.parametrize("feature, error, text", [
    (io.FixedLenFeature([], rt.float32), rt.errors.InvalidArgumentError, "Values size: 4"),
    (io.FixedLenFeature([4], rt.int64), rt.errors.InvalidArgumentError, "Data types don't match"),
    (io.VarLenFeature(rt.int64), rt.errors.UnimplementedError, "no sparse or ragged"),
    (io.FixedLenFeature([4], rt.int32), ValueError, "string, float32 or int64"),
])
def test_errors(feature, error, text):
    with pytest.raises(error, match=text):
        io.parse_single_example(DATA, {"x": feature})
    with pytest.raises(rt.errors.InvalidArgumentError, match="y .data type: int64. is required"):
        io.parse_single_example(DATA, {"y": io.FixedLenFeature([], rt.int64)})
    with pytest.raises(TypeError, match=r"encode text"):
        train.BytesList(["text"])
