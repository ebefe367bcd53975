"""Tables that change: reads and writes run in program order, in eager code and in graphs."""
import pytest

import runtime as rt
from runtime.errors import InvalidArgumentError

WAYS = {"eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}
experimental = rt.lookup.experimental


@pytest.mark.parametrize("way", WAYS)
def test_program_order(way):
    table = experimental.MutableHashTable(rt.string, rt.int64, -1)
    table.insert(["x", "y"], [5, 6])

    def step(keys):
        before = table.lookup(keys)
        table.insert(keys, before + 10)
        after, count = table[keys], table.size()
        table.remove(rt.constant(["x"]))
        return before, after, count, table.size()

    run = WAYS[way](step)
    for expected in ([[5, -1], [15, 9], 3, 2], [[-1, 9], [9, 19], 3, 2]):
        assert [x.numpy().tolist() for x in run(rt.constant(["x", "z"]))] == expected
    keys, values = table.export()
    assert dict(zip(keys.numpy().tolist(), values.numpy().tolist(), strict=True)) == {b"y": 6, b"z": 19}


@pytest.mark.parametrize("way", WAYS)
def test_counts_in_a_loop(way):
    counts = experimental.MutableHashTable(rt.string, rt.int64, 0)

    def count(words):
        for i in rt.range(3):
            counts.insert(words[i:i + 1], counts.lookup(words[i:i + 1]) + 1)

    WAYS[way](count)(rt.constant(["a", "b", "a"]))
    assert counts.lookup(["a", "b", "c"]).numpy().tolist() == [2, 1, 0]


def test_values_that_are_vectors():
    table = experimental.MutableHashTable(rt.int64, rt.float32, [0.0, 0.5])
    table.insert([1, 2], [[1.0, 2.0], [3.0, 4.0]])
    assert table.lookup([2, 9]).numpy().tolist() == [[3, 4], [0, 0.5]]
    assert table.lookup([2, 9], [[7.0, 7.0], [8.0, 8.0]]).numpy().tolist() == [[3, 4], [8, 8]]
    assert table.export()[1].shape == (2, 2)
    table.remove([1, 2])
    assert table.export()[1].shape == (0, 2) and table.size() == 0


def test_dense_table():
    table = experimental.DenseHashTable(rt.int64, rt.int64, -1, empty_key=0, deleted_key=-1)
    table.insert([3], [4])
    assert table.lookup([3, 5]).numpy().tolist() == [4, -1]
    with pytest.raises(InvalidArgumentError, match="the key 0 is the table's empty_key or deleted_key"):
        table.insert([0], [4])


@pytest.mark.parametrize("use, error, text", [
    (lambda table: table.insert(["a"], [1, 2]), ValueError, r"Expected shape \[1\]"),
    (lambda table: table.insert(["a"], [1.5]), TypeError, "int64"),
    (lambda table: table.lookup([1]), TypeError, "is no string"),
    (lambda table: experimental.MutableHashTable(rt.float32, rt.int64, 0), TypeError, "strings or ints"),
])
def test_errors(use, error, text):
    with pytest.raises(error, match=text):
        use(experimental.MutableHashTable(rt.string, rt.int64, 0))
