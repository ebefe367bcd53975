"""Datasets of CSV files. What the records give is what TensorFlow 2.21 gives for the same files."""
import gzip
import zlib

import numpy as np
import pytest

import runtime as rt

CsvDataset = rt.data.experimental.CsvDataset
make_csv_dataset = rt.data.experimental.make_csv_dataset
INT, F, S = rt.int32, rt.float32, rt.string


def written(tmp_path, text, name="a.csv"):
    (tmp_path / name).write_bytes(text.encode())
    return str(tmp_path / name)


@pytest.mark.parametrize("text, defaults, options, expected", [
    ("1,2.5,a\n2,,b\n", [INT, 0.5, S], {}, [(1, 2.5, b"a"), (2, 0.5, b"b")]),
    ('1,"a,""b"\n2,"x\ny"\n', [INT, ""], {}, [(1, b'a,"b'), (2, b"x\ny")]),
    ('"x\r\n\n","1"\r\n', [S, INT], {}, [(b"x\r\n\n", 1)]),
    ('1,"a"\n', [INT, ""], {"use_quote_delim": False}, [(1, b'"a"')]),
    ("a,b\n1,2\n", [INT, INT], {"header": True}, [(1, 2)]),
    ("a,b\n", [INT, INT], {"header": True}, []),
    ("1;2\n", [INT, INT], {"field_delim": ";"}, [(1, 2)]),
    ("1,NA\n2,\n", [INT, 0.5], {"na_value": "NA"}, [(1, 0.5), (2, 0.5)]),
    ("1,2,3\n4,5,6\n", [INT, INT], {"select_cols": [0, 2]}, [(1, 3), (4, 6)]),
    ("1,2,3\n4,5,6\n", [INT, INT], {"exclude_cols": [1]}, [(1, 3), (4, 6)]),
    ("1,a\r\n3,b\r\n", [INT, S], {}, [(1, b"a"), (3, b"b")]),
    ("1,a\r3,b\r", [INT, S], {}, [(1, b"a"), (3, b"b")]),
    (" 1 , 2.0 , a ", [INT, rt.float64, "d"], {}, [(1, 2.0, b" a ")]),
    ('"",1\n,2\n', ["d", "e"], {}, [(b"d", b"1"), (b"d", b"2")]),
    ("\n1\n", [[5]], {}, [(5,), (1,)]),
    ("inf,1e3,1e300\n", [F, rt.float64, F], {}, [(float("inf"), 1000.0, float("inf"))]),
    ("9223372036854775807", [rt.int64], {}, [(2**63 - 1,)]),
    ("", [S], {}, []),
])
def test_records(tmp_path, text, defaults, options, expected):
    dataset = CsvDataset(written(tmp_path, text), defaults, **options)
    assert list(dataset.as_numpy_iterator()) == expected


def test_specs_and_several_files(tmp_path):
    path = written(tmp_path, "1,a\n")
    dataset = CsvDataset([path, path], [0, rt.string])
    assert dataset.element_spec == (rt.TensorSpec((), rt.int32), rt.TensorSpec((), rt.string))
    assert list(dataset.as_numpy_iterator()) == [(1, b"a")] * 2
    files = rt.data.Dataset.list_files(str(tmp_path / "*.csv"))
    assert list(files.flat_map(lambda name: CsvDataset(name, [0, "x"])).as_numpy_iterator()) == [(1, b"a")]


@pytest.mark.parametrize("kind, pack", [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_compression(tmp_path, kind, pack):
    (tmp_path / "a").write_bytes(pack(b"1,2\n3,4\n"))
    assert list(CsvDataset(str(tmp_path / "a"), [INT, INT], kind).as_numpy_iterator()) == [(1, 2), (3, 4)]
    (tmp_path / "a").write_bytes(pack(b"1,2\n3,4\n")[:-9])
    with pytest.raises(rt.errors.DataLossError, match="is damaged"):
        list(CsvDataset(str(tmp_path / "a"), [INT, INT], "GZIP"))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines_at_the_borders_of_blocks(tmp_path, end):
    for pad in range(65530, 65538):
        lines = ["x" * pad, "b,\"c" + end + "\"", ""]
        found = CsvDataset(written(tmp_path, end.join(lines)), [S, "-"], select_cols=[0, 1])
        with pytest.raises(rt.errors.InvalidArgumentError, match="a.csv:1: expected 2 fields"):
            list(found)
        text = end.join([f"{lines[0]},1", lines[1], ""])
        found = CsvDataset(written(tmp_path, text), [S, S]).as_numpy_iterator()
        assert list(found) == [(b"x" * pad, b"1"), (b"b", b"c" + end.encode())]


@pytest.mark.parametrize("text, defaults, message", [
    ("1,2\n,3\n", [INT, INT], ":2: field 0 is required but missing"),
    ("1,2\n3\n", [INT, INT], ":2: expected 2 fields, but there are 1"),
    ("1,2\n3,4,5\n", [INT, INT], ":2: expected 2 fields, but there are 3"),
    ('"a\nb",2\nx,y\n', [S, INT], ":3: field 1 is not a valid int32: y"),
    ("3000000000\n", [INT], ":1: field 0 is not a valid int32: 3000000000"),
    ("1.5\n", [INT], ":1: field 0 is not a valid int32: 1.5"),
    ("1_0\n", [INT], ":1: field 0 is not a valid int32: 1_0"),
    ("4z\n", [F], ":1: field 0 is not a valid float32: 4z"),
    ('1,a"b\n', [INT, S], ":1: field 1 is not quoted, but has quotes inside"),
    ('1,"a"b\n', [INT, S], ":1: field 1 goes on after its closing quote"),
    ('1,"ab\nc', [INT, S], ":1: the quoted field that begins in column 3 is not closed until the file ends"),
])
def test_bad_records(tmp_path, text, defaults, message):
    path = written(tmp_path, text)
    with pytest.raises(rt.errors.InvalidArgumentError) as error:
        list(CsvDataset(path, defaults))
    assert path + message in str(error.value)


@pytest.mark.parametrize("defaults, options, error, message", [
    ([], {}, rt.errors.InvalidArgumentError, "for each field, and is empty"),
    ([[5, 6]], {}, rt.errors.InvalidArgumentError, r"one value for a field, but for field 0: \[5, 6\]"),
    ([rt.bool], {}, TypeError, r"not bool \(field 0\)"),
    ([INT], {"field_delim": ";;"}, rt.errors.InvalidArgumentError, "one character of ASCII, not ';;'"),
    ([INT], {"compression_type": "X"}, rt.errors.InvalidArgumentError, "not 'X'"),
    ([INT], {"select_cols": [0, 2]}, rt.errors.InvalidArgumentError, "2 columns, but record_defaults has 1"),
    ([INT, INT], {"select_cols": [2, 0]}, rt.errors.InvalidArgumentError, r"not \[2, 0\]"),
    ([INT], {"select_cols": [-1]}, rt.errors.InvalidArgumentError, r"not \[-1\]"),
    ([INT], {"select_cols": [0], "exclude_cols": [1]}, rt.errors.InvalidArgumentError, "not both"),
])
def test_bad_arguments(defaults, options, error, message):
    with pytest.raises(error, match=message):
        CsvDataset("a.csv", defaults, **options)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(rt.errors.NotFoundError, match="No such file"):
        list(CsvDataset(str(tmp_path / "missing"), [INT]))


TABLE = "a,b,c,y\n1,2.5,x,0\n2,,y,1\n3000000000,1,z,1\n"


def values(structure):
    return rt.nest.map_structure(lambda x: x.tolist(), structure)


def test_make_csv_dataset(tmp_path):
    path = written(tmp_path, TABLE)
    dataset = make_csv_dataset(path, 2, label_name="y", num_epochs=1, shuffle=False)
    features, label = dataset.element_spec
    assert {name: spec.dtype for name, spec in features.items()} == {"a": rt.int64, "b": F, "c": S}
    assert label == rt.TensorSpec((None,), INT)
    assert [values(x) for x in dataset.as_numpy_iterator()] == [
        ({"a": [1, 2], "b": [2.5, 0.0], "c": [b"x", b"y"]}, [0, 1]),
        ({"a": [3000000000], "b": [1.0], "c": [b"z"]}, [1])]


@pytest.mark.parametrize("options, expected", [
    ({"select_columns": ["c", 0]}, {"a": [1, 2, 3000000000], "c": [b"x", b"y", b"z"]}),
    ({"select_columns": ["y"], "column_defaults": [7.0]}, {"y": [0.0, 1.0, 1.0]}),
    ({"select_columns": [0], "num_rows_for_inference": 1, "ignore_errors": True}, {"a": [1, 2]}),
    ({"select_columns": ["b"], "column_defaults": [9.5]}, {"b": [2.5, 9.5, 1.0]}),
    ({"column_names": list("pqrs"), "select_columns": ["q"]}, {"q": [2.5, 0.0, 1.0]}),
    ({"column_names": list("pqrs"), "header": False, "select_columns": ["q"]}, {"q": [b"b", b"2.5", b"", b"1"]}),
])
def test_columns(tmp_path, options, expected):
    dataset = make_csv_dataset(written(tmp_path, TABLE), 5, num_epochs=1, shuffle=False, **options)
    assert [values(x) for x in dataset.as_numpy_iterator()] == [expected]


def test_shuffled_epochs(tmp_path):
    for name in "ab":
        written(tmp_path, "n\n" + "".join(f"{name}{i}\n" for i in range(5)), f"{name}.csv")
    once = make_csv_dataset(str(tmp_path / "*.csv"), 10, num_epochs=1, shuffle_seed=3)
    (found,) = [x["n"].tolist() for x in once.as_numpy_iterator()]
    assert sorted(found) == [f"{name}{i}".encode() for name in "ab" for i in range(5)] != found
    endless = make_csv_dataset(str(tmp_path / "a.csv"), 3)
    assert endless.element_spec == {"n": rt.TensorSpec((3,), S)}
    assert len(list(endless.take(7))) == 7


@pytest.mark.parametrize("options, message", [
    ({"label_name": "q"}, "one of the columns .* not 'q'"),
    ({"select_columns": ["q"]}, "select_columns has 'q'"),
    ({"select_columns": [4]}, "select_columns has 4"),
    ({"select_columns": [2, "c"]}, "more than once"),
    ({"column_names": list("ppqr")}, "more than once: p"),
    ({"column_names": ["p"]}, "a record has 4 fields, but there are 1 columns"),
    ({"header": False}, "column_names has to be given"),
    ({"column_defaults": [1]}, "1 values for 4 columns"),
    ({"file_pattern": "nothing*"}, "no files match"),
])
def test_bad_tables(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        make_csv_dataset(**{"file_pattern": written(tmp_path, TABLE), "batch_size": 2, **options})


def test_headers_that_differ(tmp_path):
    written(tmp_path, TABLE)
    written(tmp_path, "a,b\n", "b.csv")
    with pytest.raises(ValueError, match=r"b.csv has the columns \['a', 'b'\], but .*a.csv"):
        make_csv_dataset(str(tmp_path / "*.csv"), 2)


def test_lines_that_are_read_by_columns_and_one_by_one_are_the_same(tmp_path):
    rng = np.random.default_rng(3)
    rows = [[str(int(rng.integers(-99, 99))), repr(float(rng.normal() * 10.0 ** int(rng.integers(-50, 50)))),
             rng.choice(["nan", "1e39", "-inf", "3.4028235677973366e38", "7"]), rng.choice(["a_b", "x y", "é"])]
            for _ in range(3000)]
    paths = [str(tmp_path / name) for name in ("plain", "quoted", "mixed")]
    plain = ",".join
    quoted = lambda row: ",".join(f'"{field}"' for field in row)
    for path, form in zip(paths, (plain, quoted, lambda row: (plain, quoted)[int(rng.integers(200)) == 0](row))):
        with open(path, "w", newline="\r\n") as file:
            file.writelines(form(row) + "\n" for row in rows)
    found = []
    for path in paths:
        dataset = rt.data.experimental.CsvDataset(path, [rt.int64, rt.float32, rt.float32, rt.string])
        ones = [np.array(column) for column in zip(*dataset.as_numpy_iterator())]
        batches = [np.concatenate(column) for column in zip(*dataset.batch(7).as_numpy_iterator())]
        found += [ones, batches]
    for other in found[1:]:
        for a, b in zip(found[0], other):
            np.testing.assert_array_equal(a, b)
    assert len(found[0][0]) == 3000


@pytest.mark.parametrize("bad, why", [
    ("x,1", "field 0 is not a valid int32: x"), ("1_0,1", "field 0 is not a valid int32: 1_0"),
    ("1,1_0", "field 1 is not a valid float32: 1_0"), ("3000000000,1", "field 0 is not a valid int32: 3000000000"),
    ("99999999999999999999,1", "field 0 is not a valid int32"), (",1", "field 0 is required but missing"),
    ("1", "expected 2 fields, but there are 1"), ("1,2,3", "expected 2 fields, but there are 3"),
    ('1,"2"3', "field 1 goes on after its closing quote"), ("", "expected 2 fields, but there are 1")])
def test_what_comes_before_a_bad_record_is_read(bad, why, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n" * 20000 + bad + "\n" + "1,2\n" * 10)
    dataset = rt.data.experimental.CsvDataset(str(path), [rt.int32, rt.float32])
    for elements, count in ((dataset, 20000), (dataset.batch(100), 200), (dataset.batch(64), 312)):
        seen = 0
        with pytest.raises(rt.errors.InvalidArgumentError, match=f"a.csv:20001: {why}"):
            for _ in elements:
                seen += 1
        assert seen == count


def test_defaults_and_values_that_stand_for_missing_ones(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n-1,3\n4,\n")
    dataset = rt.data.experimental.CsvDataset(str(path), [[7], [8.0]], na_value="-1")
    for found in (list(dataset.as_numpy_iterator()), list(zip(*next(dataset.batch(9).as_numpy_iterator())))):
        assert found == [(1, 2.0), (7, 3.0), (4, 8.0)]


def test_decoded_records() -> None:
    defaults = [[0], [1.5], ["x"]]
    for decode in rt.io.decode_csv, rt.function(lambda x: rt.io.decode_csv(x, defaults)):
        options = (defaults,) if decode is rt.io.decode_csv else ()
        found = decode(rt.constant([["1,2,"], ["3,,\"a,\"\"b\"\"\""]]), *options)
        assert [x.dtype.name for x in found] == ["int32", "float32", "string"]
        assert [x.numpy().tolist() for x in found] == [[[1], [3]], [[2], [1.5]], [[b"x"], [b'a,"b"']]]
        assert [x.numpy() for x in decode(rt.constant(" 7 ,2,3"), *options)] == [7, 2, b"3"]
    assert [int(x) for x in rt.io.decode_csv("1|NA|3|4", [[0], [5]], "|", na_value="NA", select_cols=[1, 3])] == [0, 4]
    for record, text in (("1,2", "record 0: expected 3 fields, but there are 2"),
                         ("a,2,3", "field 0 is not a valid int32"), ("1,2,3\n", "a line break outside of quotes")):
        with pytest.raises(rt.errors.InvalidArgumentError, match=text):
            rt.io.decode_csv(record, defaults)
    with pytest.raises(rt.errors.InvalidArgumentError, match="field 0 is required but missing"):
        rt.io.decode_csv(",2", [rt.constant([], rt.int32), [0.0]])
    rows = rt.data.Dataset.from_tensor_slices(["1,2,a", "3,4,b"]).map(lambda x: rt.io.decode_csv(x, defaults))
    assert [(int(a), float(b), c.numpy()) for a, b, c in rows] == [(1, 2, b"a"), (3, 4, b"b")]


def test_defaults_that_the_traced_function_makes():
    """As in the book by Géron: `tf.constant([])` says that the last field must not be empty."""
    def parse(line):
        fields = rt.io.decode_csv(line, record_defaults=[rt.constant(7), rt.constant("x"), rt.constant([], rt.float32)])
        return fields[0], rt.stack(fields[2:]), fields[1]

    found = list(rt.data.Dataset.from_tensor_slices(["1,a,3", ",,4"]).map(parse))
    assert [(int(a), float(b[0]), c.numpy()) for a, b, c in found] == [(1, 3.0, b"a"), (7, 4.0, b"x")]
    first, _, _ = rt.function(parse)(rt.constant([",,1", "2,,1"]))
    assert first.numpy().tolist() == [7, 2]

    @rt.function
    def given(line, default):
        return rt.io.decode_csv(line, [default])

    with pytest.raises(rt.errors.StagingError, match="for field 0 that is known only when the graph runs"):
        given(rt.constant(["1"]), rt.constant(0))
