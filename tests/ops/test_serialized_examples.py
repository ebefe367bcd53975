"""Serialized examples: written, parsed, and refused where they are damaged."""
import numpy as np
import pytest

import runtime as rt
from runtime.core import types
from runtime.core.string_arrays import string_array
from runtime.ops import examples

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
    (1, rt.errors.UnimplementedError, "'x' is a int, which is not parsed"),
    (io.FixedLenFeature([4], rt.int32), ValueError, "string, float32 or int64"),
])
def test_errors(feature, error, text):
    with pytest.raises(error, match=text):
        io.parse_single_example(DATA, {"x": feature})
    with pytest.raises(rt.errors.InvalidArgumentError, match="y .data type: int64. is required"):
        io.parse_single_example(DATA, {"y": io.FixedLenFeature([], rt.int64)})
    with pytest.raises(TypeError, match=r"encode text"):
        train.BytesList(["text"])


def test_a_feature_of_any_length_is_sparse():
    def message(*values):
        feature = train.Feature(int64_list=train.Int64List(values))
        return train.Example(train.Features({"x": feature} if values else {})).SerializeToString()

    features = {"x": io.VarLenFeature(rt.int64)}
    x = io.parse_single_example(message(3, 4, 5), features)["x"]
    assert isinstance(x, rt.SparseTensor) and x.shape == [3] and rt.sparse.to_dense(x).numpy().tolist() == [3, 4, 5]
    rows = rt.data.Dataset.from_tensor_slices([message(1, 2), message(), message(7)]).map(
        lambda data: rt.sparse.to_dense(io.parse_single_example(data, features)["x"]))
    assert [row.numpy().tolist() for row in rows] == [[1, 2], [], [7]]
    with pytest.raises(rt.errors.UnimplementedError, match="VarLenFeature, which is not parsed in batches"):
        io.parse_example([message(1)], features)


def test_layouts_say_what_the_messages_say():
    """Messages of one layout, damaged in random ways: with and without what earlier ones told about them."""
    rng = np.random.default_rng(5)

    def message():
        return train.Example(train.Features({
            "x": train.Feature(float_list=train.FloatList(rng.normal(size=4))),
            "n": train.Feature(int64_list=train.Int64List([int(rng.integers(-3, 300))])),
            "two": train.Feature(int64_list=train.Int64List([1, int(rng.integers(100))])),
            "s": train.Feature(bytes_list=train.BytesList([b"ab", b"c"])),
            "other": train.Feature(int64_list=train.Int64List([5]))})).SerializeToString()

    features = (("d", (), types.int64, (9,)), ("n", (), types.int64, None), ("s", (2,), types.string, None),
                ("two", (2,), types.int64, None), ("x", (2, 2), types.float32, None))
    parse = examples._Parser(features)
    base, without = message(), features[1:]
    hits = 0
    for number in range(3000):
        data = bytearray(message())
        for _ in range(number % 3):
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
        data = bytes(data)
        results = []
        for run in (parse, examples._Parser(features)._by_message):
            try:
                results.append([(x.dtype, x.shape, x.tobytes() if x.dtype != object else x.tolist())
                                for x in run(data)])
            except rt.errors.InvalidArgumentError as error:
                results.append(str(error))
        assert results[0] == results[1], data
        if isinstance(results[1], list):
            several = examples._parse_kernel(string_array([base, data, base]), features=without)
            for x, y in zip(several, examples._Parser(without)._by_message(data), strict=True):
                np.testing.assert_array_equal(x[1], y)
        layout = parse._layouts.get(len(data))
        hits += layout is not None and layout.fits(data)
    assert hits > 1000 and len(parse._layouts) > 1


def test_layouts_that_are_kept_are_bounded():
    parse = examples._Parser((("s", (), types.string, None),))
    for size in range(1000):
        data = train.Example(train.Features({
            "s": train.Feature(bytes_list=train.BytesList([b"a" * size]))})).SerializeToString()
        assert parse(data)[0].tolist() == b"a" * size
    assert 0 < len(parse._layouts) <= 256


def test_a_default_that_the_traced_function_makes() -> None:
    data = rt.train.Example(features=rt.train.Features(feature={})).SerializeToString()

    def parse(x):
        return rt.io.parse_single_example(
            x, {"a": rt.io.FixedLenFeature([], rt.int64, default_value=rt.constant(3, rt.int64))})["a"]

    assert [int(x) for x in rt.data.Dataset.from_tensor_slices([data]).map(parse)] == [3]
    assert int(rt.function(parse)(rt.constant(data))) == 3

    @rt.function
    def given(x, default):
        return rt.io.parse_single_example(x, {"a": rt.io.FixedLenFeature([], rt.int64, default_value=default)})

    with pytest.raises(rt.errors.StagingError, match="the default_value of the feature 'a' is known only when"):
        given(rt.constant(data), rt.constant(1, rt.int64))
