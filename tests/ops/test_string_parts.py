"""Characters, n-grams, encodings and buckets of strings: results are TF's, eagerly and by both executors."""
import numpy as np
import pytest
from text_results import WAYS, check_text

import runtime as rt
from runtime.errors import InvalidArgumentError, UnimplementedError
from runtime.ops.string_parts import padded_ngrams, padded_parts

WORDS = ["Hello World", "a,b,c", "", "café x", "0123456789abcdefg"]
S = rt.strings

OPS = {  # the results are TF's
    "strong": (lambda x: S.to_hash_bucket_strong(x, 1000, [1, 2]), [362, 37, 435, 620, 346]),
    "strong with another key": (lambda x: S.to_hash_bucket_strong(x, 1000, [-5, 2**40]), [541, 671, 942, 205, 225]),
    "legacy": (lambda x: S.to_hash_bucket(x, 1000), [944, 581, 899, 879, 686]),
    "bytes": (lambda x: S.bytes_split(x[3]), [b"c", b"a", b"f", b"\xc3", b"\xa9", b" ", b"x"]),
    "characters": (lambda x: S.unicode_split(x[3], "UTF-8"), ["c", "a", "f", "é", " ", "x"]),
    "code points": (lambda x: S.unicode_decode(x[3], "UTF-8"), [99, 97, 102, 233, 32, 120]),
    "of code points": (lambda x: S.unicode_encode([[97, 98], [233, -1]], "UTF-8"), ["ab", "é\ufffd"]),
    "of code points in UTF-16": (lambda x: S.unicode_encode([97, 98], "UTF-16-BE"), b"\x00a\x00b"),
    "transcode": (lambda x: S.unicode_transcode(x[2:4], "UTF-8", "UTF-16-BE"), [b"", "café x".encode("utf-16-be")]),
    "ngrams": (lambda x: S.ngrams([["a", "b", "c"], ["d", "e", "f"]], (1, 2)),
               [["a", "b", "c", "a b", "b c"], ["d", "e", "f", "d e", "e f"]]),
    "ngrams with a separator": (lambda x: S.ngrams(["a", "b"], 2, separator="-"), ["a-b"]),
    "no ngrams": (lambda x: S.ngrams(["a", "b"], 3), np.empty(0, object)),
    "base64": (lambda x: rt.io.encode_base64(["a", "ab", "abc?>~"]), ["YQ", "YWI", "YWJjPz5-"]),
    "base64 with padding": (lambda x: rt.io.encode_base64(["a", "ab"], pad=True), ["YQ==", "YWI="]),
    "of base64": (lambda x: rt.io.decode_base64(["YQ", "YQ==", "YWI"]), ["a", "a", "ab"]),
    "padded words": (lambda x: padded_parts(x[:3], "words"), [["Hello", "World"], ["a,b,c", ""], ["", ""]]),
    "padded ngrams": (lambda x: padded_ngrams([["a", "b", ""], ["c", "", ""]], (1, 2)), [["a", "b", "a b"],
                                                                                          ["c", "", ""]]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OPS)
def test_results(name, way):
    fn, want = OPS[name]
    check_text(WAYS[way](fn)(rt.constant(WORDS)), want)


def test_errors_in_encodings():
    bad = b"a\xffb"
    assert S.unicode_decode(bad, "UTF-8").numpy().tolist() == [97, 65533, 98]
    assert S.unicode_decode(bad, "UTF-8", errors="ignore").numpy().tolist() == [97, 98]
    with pytest.raises(InvalidArgumentError, match="Invalid formatting on input string"):
        S.unicode_decode(bad, "UTF-8", errors="strict")
    with pytest.raises(InvalidArgumentError, match="web-safe base64"):
        rt.io.decode_base64("+/")


@pytest.mark.parametrize("use, error, text", [
    (lambda: S.bytes_split(["a", "b"]), UnimplementedError, "bytes_split takes one string"),
    (lambda: S.unicode_split(["a", "b"], "UTF-8"), UnimplementedError, "a ragged tensor in TF"),
    (lambda: S.unicode_split("a", "UTF-16-BE"), UnimplementedError, "unicode_split takes UTF-8"),
    (lambda: S.unicode_decode("a", "latin"), ValueError, "input_encoding is one of"),
    (lambda: S.unicode_encode([1.5], "UTF-8"), TypeError, "code points of dtype int32"),
    (lambda: S.ngrams(["a"], 0), InvalidArgumentError, "must be greater than 0"),
    (lambda: S.ngrams(["a"], 2, pad_values="x"), UnimplementedError, "no pad_values"),
    (lambda: S.to_hash_bucket("a", 0), InvalidArgumentError, "at least 1 bucket"),
    (lambda: S.to_hash_bucket_strong("a", 0, [1, 2]), InvalidArgumentError, "at least 1 bucket"),
])
def test_refusals(use, error, text):
    with pytest.raises(error, match=text):
        use()
