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


STR, LINE, NUMBER = rt.string, rt.lookup.TextFileIndex.WHOLE_LINE, rt.lookup.TextFileIndex.LINE_NUMBER


def of_file(path, *columns, default=-1, **options):
    table = rt.lookup.StaticHashTable(rt.lookup.TextFileInitializer(path, *columns, **options), default)
    return dict(zip(*[x.numpy().tolist() for x in table.export()], strict=True))


@pytest.mark.parametrize("text, columns, options, expected", [
    ("b\na\r\nc d", (STR, LINE, rt.int64, NUMBER), {}, {b"b": 0, b"a": 1, b"c d": 2}),
    ("b\na\nc\n", (STR, LINE, rt.int64, NUMBER), {"vocab_size": 2, "value_index_offset": 5}, {b"b": 5, b"a": 6}),
    ("b\t3\na\t1\n", (STR, 0, rt.int64, 1), {}, {b"b": 3, b"a": 1}),
    ("b\t3\na\t1\n", (rt.int64, NUMBER, STR, 0), {"default": "?"}, {0: b"b", 1: b"a"}),
    ("1,.5\n", (rt.int64, 0, rt.float32, 1), {"delimiter": ","}, {1: 0.5}),
])
def test_tables_of_files(tmp_path, text, columns, options, expected):
    (tmp_path / "v.txt").write_bytes(text.encode())
    assert of_file(tmp_path / "v.txt", *columns, **options) == expected


def test_a_vocabulary_of_a_file(tmp_path):
    (tmp_path / "v.txt").write_text("the\nfox\ndog\n")
    words = rt.lookup.TextFileInitializer(str(tmp_path / "v.txt"), STR, LINE, rt.int64, NUMBER)
    found = rt.lookup.StaticVocabularyTable(words, 5).lookup(rt.constant(["fox", "cat", "wolf", "", "the"]))
    assert found.numpy().tolist() == TF_IDS


@pytest.mark.parametrize("text, columns, options, error, message", [
    ("a\n\nb\n", (STR, LINE, rt.int64, NUMBER), {}, rt.errors.InvalidArgumentError, "v.txt:2: the line is empty"),
    ("a\n", (STR, LINE, rt.int64, NUMBER), {"vocab_size": 2}, rt.errors.InvalidArgumentError, "v.txt has 1 lines"),
    ("a\t1\nb\n", (STR, 0, rt.int64, 1), {}, rt.errors.InvalidArgumentError, "v.txt:2: 1 columns, and column 1 is"),
    ("a\tx\n", (STR, 0, rt.int64, 1), {}, rt.errors.InvalidArgumentError, "v.txt:1: column 1 is no int64: x"),
    ("a\n", (STR, LINE, STR, NUMBER), {}, ValueError, "value_dtype is int64 for the number of a line, not string"),
    ("a\n", (rt.int64, LINE, rt.int64, NUMBER), {}, ValueError, "key_dtype is string for a whole line, not int64"),
    ("a\n", (STR, -3, rt.int64, NUMBER), {}, ValueError, "key_index is .* not -3"),
    ("a\n", (STR, 0, rt.int32, 1), {}, TypeError, "value_dtype is string, int64 or float32, not int32"),
    ("a\n", (STR, 0, rt.int64, 1), {"delimiter": ",,"}, rt.errors.InvalidArgumentError, "one character"),
    (None, (STR, 0, rt.int64, 1), {}, rt.errors.NotFoundError, "v.txt; No such file"),
])
def test_bad_tables_of_files(tmp_path, text, columns, options, error, message):
    if text is not None:
        (tmp_path / "v.txt").write_text(text)
    with pytest.raises(error, match=message):
        of_file(tmp_path / "v.txt", *columns, **options)
