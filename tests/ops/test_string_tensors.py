"""Tensors of strings: results are TF's, eagerly and by both executors, and errors say what is wrong."""
import numpy as np
import pytest
from op_checks import sampled_ops, samples, type_of, value_of
from text_results import WAYS, check_text

import runtime as rt
from runtime.core.op import kernel_for
from runtime.core.string_arrays import vector
from runtime.core.tensor import EagerList
from runtime.core.types import ListType, TensorType
from runtime.ops.fingerprint import fingerprint64

WORDS = ["Hello Wörld", "", " a b "]

OPS = {
    "lower": (rt.strings.lower, ["hello wörld", "", " a b "]),
    "upper": (rt.strings.upper, ["HELLO WöRLD", "", " A B "]),
    "upper of all": (lambda x: rt.strings.upper(x, encoding="utf-8"), ["HELLO WÖRLD", "", " A B "]),
    "strip": (rt.strings.strip, ["Hello Wörld", "", "a b"]),
    "length": (rt.strings.length, [12, 0, 5]),
    "length in characters": (lambda x: rt.strings.length(x, unit="UTF8_CHAR"), [11, 0, 5]),
    "regex": (lambda x: rt.strings.regex_replace(x, "(l+)|( )", r"[\1\\]"), ["He[ll\\]o[\\]Wör[l\\]d", "",
                                                                             "[\\]a[\\]b[\\]"]),
    "first match": (lambda x: rt.strings.regex_replace(x, "[ab l]", "", replace_global=False),
                    ["Helo Wörld", "", "a b "]),
    "full match": (lambda x: rt.strings.regex_full_match(x, "[ab ]*"), [False, True, True]),
    "join": (lambda x: rt.strings.join(["<", x, ">"], separator="-"), ["<-Hello Wörld->", "<-->", "<- a b ->"]),
    "reduce_join": (lambda x: rt.strings.reduce_join(x, separator="|"), "Hello Wörld|| a b "),
    "reduce_join with axes": (lambda x: rt.strings.reduce_join(x, keepdims=True)[0], "Hello Wörld a b "),
    "substr": (lambda x: rt.strings.substr(x, [-2, 0, 1], [9, 1, 2]), ["ld", "", "a "]),
    "characters": (lambda x: rt.strings.substr(x[0], 6, 3, unit="UTF8_CHAR"), "Wör"),
    "split": (lambda x: rt.strings.split(x[2]), ["a", "b"]),
    "split by": (lambda x: rt.strings.split(x[2], " "), ["", "a", "b", ""]),
    "buckets": (lambda x: rt.strings.to_hash_bucket_fast(x, 1 << 40), [fingerprint64(w.encode()) % (1 << 40)
                                                                     for w in WORDS]),
    "equal": (lambda x: x == " a b ", [False, False, True]),
    "not equal": (lambda x: x != b"", [True, False, True]),
    "add": (lambda x: "<" + x + ">", ["<Hello Wörld>", "<>", "< a b >"]),
    "where": (lambda x: rt.where(x == "", "none", x), ["Hello Wörld", "none", " a b "]),
    "gather": (lambda x: rt.gather(x, [2, 1]), [" a b ", ""]),
    "concat": (lambda x: rt.concat([x, x[:1]], 0), [*WORDS, "Hello Wörld"]),
    "stack": (lambda x: rt.reshape(rt.stack([x, x], 1), [2, 3])[0], ["Hello Wörld", "Hello Wörld", ""]),
    "unique": (lambda x: rt.unique(rt.concat([x, x], 0)).y, WORDS),
    "item": (lambda x: x[-1], " a b "),
    "zeros": (lambda x: rt.zeros([2], rt.string), ["", ""]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OPS)
def test_results(name, way):
    fn, want = OPS[name]
    check_text(WAYS[way](fn)(rt.constant(WORDS)), want)


def only_bytes(tensor):
    """The value of a tensor of strings, as lists; AssertionError if it holds anything but bytes."""
    array = np.asarray(tensor)
    assert array.dtype == object and all(type(x) is bytes for x in array.flat), array
    return array.tolist()


def written(a, b):
    array = rt.TensorArray(rt.string, size=3).write(0, a).write(1, b)
    return array.stack()


def appended(a, b):
    out = []
    for i in rt.range(2):
        out.append(a if i == 0 else b)
    return rt.stack(out)


SCALARS = {
    "stack": (lambda a, b: rt.stack([a, b]), [b"a", b"bc"]),
    "stack with text": (lambda a, b: rt.stack([a, "q"]), [b"a", b"q"]),
    "convert": (lambda a, b: rt.convert_to_tensor([[a, b], [b, a]]), [[b"a", b"bc"], [b"bc", b"a"]]),
    "array": (written, [b"a", b"bc", b""]),
    "array's rows": (lambda a, b: rt.TensorArray(rt.string, size=2).unstack(rt.stack([a, b])).gather([1, 1]),
                     [b"bc", b"bc"]),
    "list": (appended, [b"a", b"bc"]),
    "map_fn": (lambda a, b: rt.map_fn(lambda x: x + "!", rt.stack([a, b])), [b"a!", b"bc!"]),
    "scan": (lambda a, b: rt.scan(lambda s, x: s + x, rt.stack([a, b])), [b"a", b"abc"]),
    "scatter": (lambda a, b: rt.tensor_scatter_nd_update(["x", "y"], [[0]], [a]), [b"a", b"y"]),
    "scatter one": (lambda a, b: rt.tensor_scatter_nd_update(["x", "y"], [1], a), [b"x", b"a"]),
    "join": (lambda a, b: rt.strings.join([rt.stack([a, b]), "!"]), [b"a!", b"bc!"]),
    "reduce_join": (lambda a, b: rt.strings.reduce_join([a, b]), b"abc"),
    "lower": (lambda a, b: rt.strings.lower(rt.stack([a, b])), [b"a", b"bc"]),
    "lengths": (lambda a, b: rt.as_string(rt.strings.length([a, b])), [b"1", b"2"]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SCALARS)
def test_scalars_in_arrays(name, way):
    fn, want = SCALARS[name]
    assert only_bytes(WAYS[way](fn)(rt.constant("a"), rt.constant("bc"))) == want


def test_scalars_in_variables_and_datasets():
    a, b = rt.constant("a"), rt.constant("bc")
    v = rt.Variable([a, b])
    assert only_bytes(v.read_value()) == [b"a", b"bc"]
    v[0].assign("q")
    assert only_bytes(v.read_value()) == [b"q", b"bc"]
    v.assign([b, a])
    assert only_bytes(v.read_value()) == [b"bc", b"a"]
    numbers = rt.data.Dataset.range(2)
    assert only_bytes(next(iter(numbers.map(lambda i: rt.stack([a, rt.as_string(i)]))))) == [b"a", b"0"]
    assert only_bytes(next(iter(numbers.map(rt.as_string).padded_batch(2)))) == [b"0", b"1"]
    table = rt.lookup.StaticHashTable(rt.lookup.KeyValueTensorInitializer(["a"], ["x"]), "?")
    assert only_bytes(table.lookup(rt.stack([a, b]))) == [b"x", b"?"]


@pytest.mark.parametrize("op", list(sampled_ops()), ids=lambda op: op.name)
def test_ops_that_move_elements_store_bytes(op):
    """Each sample of an op with its floats as strings, where the op's rule accepts these."""
    for arguments, numeric in samples(op):
        arrays, params = [as_strings(x) for x in arguments], {key: as_strings(x) for key, x in numeric.items()}
        try:
            types = op.rule(*map(type_of, arrays), **params)
        except Exception:
            continue
        if op.name != "as_string" and isinstance(types, TensorType) and types.dtype.is_string:
            only_bytes(kernel_for(op, map(type_of, arrays), [types])(*map(value_of, arrays), **params))


def as_strings(x):
    """A float array, or the type of one, as strings; a list of such likewise; any other argument itself."""
    if isinstance(x, EagerList):
        return EagerList([item if item is None else as_strings(item) for item in x.items],
                         ListType(as_strings(x.type.element)))
    if isinstance(x, TensorType):
        return x.with_dtype(rt.string) if x.dtype.is_floating else x
    if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind != "f":
        return x
    return vector([b"%g" % number for number in x.reshape(-1)]).reshape(x.shape)


TEXT = {
    "stack": (lambda: rt.stack(["x", "y"]), ["x", "y"]),
    "concat": (lambda: rt.concat([["x"], ["y"]], 0), ["x", "y"]),
    "tile": (lambda: rt.tile(["x"], [2]), ["x", "x"]),
    "expand_dims": (lambda: rt.expand_dims("x", 0), ["x"]),
    "squeeze": (lambda: rt.squeeze([["x"]], 0), ["x"]),
    "transpose": (lambda: rt.transpose([["x"], ["y"]])[0], ["x", "y"]),
    "reverse": (lambda: rt.reverse(["x", "y"], [0]), ["y", "x"]),
    "roll": (lambda: rt.roll(["x", "y"], 1, 0), ["y", "x"]),
    "repeat": (lambda: rt.repeat("x", 2), ["x", "x"]),
    "unstack": (lambda: rt.unstack(["x", "y"])[1], "y"),
    "split": (lambda: rt.split(["x", "y"], 2)[1], ["y"]),
    "identity": (lambda: rt.identity("x"), "x"),
    "boolean_mask": (lambda: rt.boolean_mask(["x", "y"], [False, True]), ["y"]),
    "gather": (lambda: rt.gather(["x", "y"], 1), "y"),
    "gather_nd": (lambda: rt.gather_nd(["x", "y"], [1]), "y"),
    "slice": (lambda: rt.slice(["x", "y"], [1], [1]), ["y"]),
    "strided_slice": (lambda: rt.strided_slice(["x", "y"], [1], [2]), ["y"]),
    "zeros_like": (lambda: rt.zeros_like(["x", "y"]), ["", ""]),
    "unique": (lambda: rt.unique(["x", "x"]).y, ["x"]),
    "partition": (lambda: rt.dynamic_partition(["x", "y"], [0, 1], 2)[1], ["y"]),
    "stitch": (lambda: rt.dynamic_stitch([[1], [0]], [["x"], ["y"]]), ["y", "x"]),
    "ensure_shape": (lambda: rt.ensure_shape(["x"], [1]), ["x"]),
    "fill": (lambda: rt.fill([2], "x"), ["x", "x"]),
    "pad": (lambda: rt.pad(["x"], [[0, 1]]), ["x", ""]),
    "pad with": (lambda: rt.pad(["x"], [[1, 0]], constant_values="z"), ["z", "x"]),
    "sparse": (lambda: rt.sparse.to_dense(rt.SparseTensor([[1]], ["x"], [2])), ["", "x"]),
    "shape": (lambda: rt.as_string(rt.shape(["x"])), ["1"]),
    "size": (lambda: rt.as_string(rt.size(["x"]) + rt.rank("x")), "1"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TEXT)
def test_text_of_python_is_an_operand(name, way):
    fn, want = TEXT[name]
    assert only_bytes(WAYS[way](fn)()) == ([x.encode() for x in want] if isinstance(want, list) else want.encode())


@pytest.mark.parametrize("data, want", [  # TF's results
    (b"", 1936946117179596765), (b"hello", 3786372426572999798), (b"The quick brown fox", 4094379380414024506),
    (b"x" * 40, 3168538174772784105), (bytes(range(200)), 525935771297148851)])
def test_fingerprints(data, want):
    found = rt.strings.to_hash_bucket_fast(rt.constant(data), (1 << 62) + 12345).numpy()
    assert found == want == fingerprint64(data) % ((1 << 62) + 12345)


def test_what_it_shows():
    assert repr(rt.constant("a")) == "<rt.Tensor: shape=(), dtype=string, numpy=b'a'>"
    assert repr(rt.constant(["a", "é"])) == (
        "<rt.Tensor: shape=(2,), dtype=string, numpy=array([b'a', b'\\xc3\\xa9'], dtype=object)>")
    assert str(rt.constant(["a", "b"])) == "rt.Tensor([b'a' b'b'], shape=(2,), dtype=string)"
    assert rt.constant("a").numpy() == b"a" and rt.constant(np.array(["a", "b"])).dtype is rt.string
    assert not rt.string.is_numeric and rt.TensorSpec([None], rt.string).dtype == "string"


@pytest.mark.parametrize("number, params, want", [
    (1.5, {}, "1.500000"), (1e20, {}, "100000002004087734272.000000"), (True, {}, "true"), (-7, {}, "-7"),
    (3.14159, {"precision": 2, "width": 8, "fill": "0"}, "00003.14"), (3.14159, {"scientific": True}, "3.141590e+00"),
    (3.14159, {"shortest": True}, "3.14159"), (1 + 2j, {}, "(1.000000,2.000000)")])
def test_numbers_as_strings(number, params, want):
    assert rt.as_string(rt.constant(number), **params).numpy() == want.encode()


def test_strings_as_numbers():
    assert rt.strings.to_number([" 1 ", "1e3", "0x10"]).numpy().tolist() == [1, 1000, 16]
    assert rt.strings.to_number("-7", rt.int64) == -7


@pytest.mark.parametrize("way", WAYS)
def test_conditions_and_loops(way):
    def f(s, words):
        n = 0
        while s != "aaaa":
            s += "a"
            n += 1
        for word in words:
            if word == "stop":
                break
            s = rt.strings.join([s, word], ",")
        return s, n

    s, n = WAYS[way](f)(rt.constant("a"), rt.constant(["x", "y", "stop", "z"]))
    assert s.numpy() == b"aaaa,x,y" and n == 3


def test_text_of_python_stays_text():
    @rt.function
    def f(x, mode="double"):
        name = "a" if mode == "double" else "b"
        return x * 2 if name == "a" else x

    assert f(rt.constant(2)) == 4


def test_datasets():
    lines = rt.data.Dataset.from_tensor_slices((["The quick", "Fox"], [1, 2]))
    batch, labels = next(iter(lines.map(lambda s, n: (rt.strings.split(rt.strings.lower(s)), n)).padded_batch(2)))
    assert batch.numpy().tolist() == [[b"the", b"quick"], [b"fox", b""]] and labels.numpy().tolist() == [1, 2]
    kept = rt.data.Dataset.from_tensor_slices(["a", "bc"]).filter(lambda s: rt.strings.length(s) > 1)
    assert list(kept.as_numpy_iterator()) == [b"bc"]


@pytest.mark.parametrize("use, error, text", [
    (lambda x: x + 1, rt.errors.InvalidArgumentError, "1 is no string"),
    (lambda x: x + rt.constant(1.0), rt.errors.InvalidArgumentError, "takes strings, not float32"),
    (lambda x: x * 2, rt.errors.InvalidArgumentError, "string"),
    (lambda x: x < "b", rt.errors.InvalidArgumentError, "less does not take string"),
    (rt.reduce_sum, rt.errors.InvalidArgumentError, "reduce_sum does not take string"),
    (lambda x: rt.cast(x, rt.int32), rt.errors.UnimplementedError, "Cast string to int32 is not supported"),
    (lambda x: rt.strings.substr(x, 5, 1), rt.errors.InvalidArgumentError, "pos 5 out of range for string b'a'"),
    (rt.strings.to_number, rt.errors.InvalidArgumentError, "could not correctly convert string: 'a'"),
    (lambda x: rt.strings.regex_replace(x, "(", ""), rt.errors.InvalidArgumentError, "Invalid pattern"),
    (lambda x: rt.strings.regex_replace(x, "a", r"\1"), rt.errors.InvalidArgumentError, "has 0 groups"),
    (lambda x: rt.strings.regex_replace(x, "[[:punct:]]", ""), rt.errors.UnimplementedError, "classes of RE2"),
    (lambda x: rt.strings.join([x, ["b", "c"]]), ValueError, "differ"),
    (lambda x: rt.strings.split(x), rt.errors.UnimplementedError, "padded_batch"),
    (lambda x: rt.strings.length(1), TypeError, "is no string"),
    (lambda x: rt.constant("a", rt.int32), TypeError, "'a' is text"),
    (lambda x: rt.constant(1, rt.string), TypeError, "1 is no string"),
    (lambda x: rt.constant([["a"], ["b", "c"]]), ValueError, "rows have different lengths"),
    (lambda x: rt.strings.to_hash_bucket_fast(x, 0), rt.errors.InvalidArgumentError, "at least 1 bucket"),
])
def test_errors(use, error, text):
    with pytest.raises(error, match=text):
        use(rt.constant(["a"]))


def test_errors_of_numbers_beside_strings_do_not_say_to_cast() -> None:
    words = rt.constant(["1", "2"])
    for wrong in (lambda: words < 0, lambda: words + rt.constant(1), lambda: rt.sqrt(words),
                  lambda: rt.cast(words, rt.int32), lambda: rt.strings.join([words, rt.constant(1)])):
        with pytest.raises(rt.errors.OpError) as caught:
            wrong()
        assert str(caught.value).endswith("\nUse rt.as_string, or rt.strings.to_number.")


def test_add():
    assert rt.add("a", ["b", "c"]).numpy().tolist() == [b"ab", b"ac"]
    assert rt.function(rt.math.add)(rt.constant(["a"]), "b").numpy().tolist() == [b"ab"]
    assert rt.add(rt.Variable("a"), rt.Variable("b")).numpy() == b"ab"
    with pytest.raises(TypeError, match=r"test_string_tensors.py:\d+: .* is no string"):
        rt.add("a", 1)


def test_text_where_a_signature_says_string() -> None:
    @rt.function(input_signature=[rt.TensorSpec([], rt.string), rt.TensorSpec([None], rt.string)])
    def program(text, more):
        return rt.strings.upper(text), rt.strings.length(more)

    for text in "a", b"a", rt.constant("a"):
        upper, lengths = program(text, ["b", "cd"])
        assert upper.numpy() == b"A" and lengths.numpy().tolist() == [1, 2]
    assert program("a", [])[1].shape == [0]
    with pytest.raises(TypeError, match="'text' of program is int32.*, but its input_signature says string") as e:
        program(1, ["b"])
    assert "rt.as_string" in str(e.value)
    traced = rt.function(lambda x: rt.strings.lower(x)).get_concrete_function(rt.TensorSpec([], rt.string))
    assert traced("Q").numpy() == b"q"
