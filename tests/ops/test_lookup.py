"""Tables that map keys to values."""
import numpy as np
import pytest

import runtime as rt

WAYS = {"eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}


def table(default=-1):
    return rt.lookup.StaticHashTable(rt.lookup.KeyValueTensorInitializer(["a", "b"], [5, 7]), default)


@pytest.mark.parametrize("way", WAYS)
def test_results(way):
    words, numbers = table(), rt.lookup.StaticHashTable(
        rt.lookup.KeyValueTensorInitializer([3, 4], ["three", "four"]), "?")
    found, back = WAYS[way](lambda x, y: (words.lookup(x), numbers[y]))(rt.constant([["b", "x", "a"]]), rt.constant(4))
    assert found.numpy().tolist() == [[7, -1, 5]] and back.numpy() == b"four"


@pytest.mark.parametrize("way", WAYS)
def test_vocabulary(way):
    """TF gives these ids."""
    values = rt.constant([0, 1, 2], rt.int64)
    ids = rt.lookup.StaticVocabularyTable(rt.lookup.KeyValueTensorInitializer(["the", "fox", "dog"], values), 5)
    found = WAYS[way](ids.lookup)(rt.constant(["fox", "cat", "wolf", "", "the"]))
    assert found.numpy().tolist() == TF_IDS and found.dtype is rt.int64 and ids.size() == 8


TF_IDS = [1, 4, 5, 6, 0]


def test_size_and_export():
    keys, values = table().export()
    assert table().size() == 2 and keys.numpy().tolist() == [b"a", b"b"] and values.numpy().tolist() == [5, 7]


@pytest.mark.parametrize("use, error, text", [
    (lambda: table().lookup([1]), TypeError, "is no string"),
    (lambda: table().lookup(rt.constant([1])), TypeError, "string is wanted"),
    (lambda: table("x"), TypeError, "'x' is text"),
    (lambda: rt.lookup.KeyValueTensorInitializer(["a"], [1, 2]), ValueError, "1 keys does not have 2 values"),
    (lambda: rt.lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), rt.errors.InvalidArgumentError, "'a' is there"),
    (lambda: rt.lookup.KeyValueTensorInitializer([1.5], [1]), TypeError, "strings or ints"),
    (lambda: rt.lookup.StaticVocabularyTable(rt.lookup.KeyValueTensorInitializer(["a"], [1]), 1), TypeError, "int64"),
    (lambda: rt.lookup.StaticVocabularyTable(rt.lookup.KeyValueTensorInitializer(
        ["a"], np.array([0])), 0), ValueError, "at least 1"),
])
def test_errors(use, error, text):
    with pytest.raises(error, match=text):
        use()
