"""Strings as sequences of characters, words and n-grams, their encodings, and the text of tensors (`tf.strings`).

The parts of several strings are ragged in TF. The ops here can pad them with empty strings, for code that takes these
as padding; the functions with TF's names take one string.
"""
from __future__ import annotations

import base64
import binascii
import codecs
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from runtime.core.op import Op, Sample
from runtime.core.positions import located
from runtime.core.string_arrays import string_array
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType
from runtime.ops.fingerprint import legacy_hash64, sip_hash64
from runtime.ops.op_makers import apply_one, named
from runtime.ops.string_tensors import argument, data_of, elementwise, need_strings, one_of, strings, text_of

__all__ = ["bytes_split", "decode_base64", "encode_base64", "ngrams", "padded_ngrams", "padded_parts",
           "to_hash_bucket", "to_hash_bucket_strong", "unicode_decode", "unicode_encode", "unicode_split",
           "unicode_transcode"]

_PARTS: Final[dict[str, Callable[[bytes], list[bytes]]]] = {
    "words": bytes.split,
    "bytes": lambda x: [x[i:i + 1] for i in range(len(x))],
    "characters": lambda x: list(map(data_of, text_of(x))),
}


def _padded(rows: Sequence[Sequence[bytes]], shape: tuple[int, ...]) -> Any:
    """Rows of parts as an array of this shape and one more axis, with empty strings after the shorter ones."""
    width = max(map(len, rows), default=0)
    flat = [part for row in rows for part in (*row, *[b""] * (width - len(row)))]
    return string_array(flat).reshape(*shape, width) if flat else np.empty((*shape, width), object)


def _parts_kernel(x: Any, *, unit: str) -> Any:
    return _padded([_PARTS[unit](item) for item in x.reshape(-1).tolist()], x.shape)


def _parts_rule(x: TensorType, *, unit: str) -> TensorType:
    need_strings("string_parts", x)
    return TensorType(t.string, (*x.shape, None))


def _parts_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for unit in _PARTS:
        yield (string_array([["a wörd", ""], [" b  c", "d"]]),), {"unit": unit}
        yield (string_array("ab c"),), {"unit": unit}


_STRING_PARTS: Final = Op("string_parts", _parts_kernel, _parts_rule, samples=_parts_samples,
                          doc="The words, bytes or characters of each string, padded with empty strings.")


def padded_parts(x: Any, unit: str) -> Tensor:
    """The "words", "bytes" or "characters" of each string along a new last axis, with empty strings after the shorter
    ones."""
    return apply_one(_STRING_PARTS, strings(x), unit=unit)


def _of_one(what: str, input: Any) -> Tensor:
    x = strings(input)
    if x.ndim:
        raise located(UnimplementedError(
            f"{what} takes one string, not {x.type}: the parts of several are of different numbers, a ragged tensor in "
            "TF", remedy=f"Split each one: dataset.map(rt.strings.{what}), with padded_batch after it for one length."))
    return x


def bytes_split(input: Any, name: str | None = None) -> Tensor:
    """The bytes of one string, as string[n] (`tf.strings.bytes_split`). UnimplementedError for several."""
    return named(padded_parts(_of_one("bytes_split", input), "bytes"), name)


def _check_encoding(what: str, value: str) -> str:
    return one_of(what, value, ("UTF-8", "UTF-16-BE", "UTF-32-BE"))


def unicode_split(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None,
) -> Tensor:
    """The characters of one string in UTF-8, as string[n] (`tf.strings.unicode_split`). UnimplementedError for
    several strings and for other encodings."""
    if _check_encoding("input_encoding", input_encoding) != "UTF-8":
        raise UnimplementedError("unicode_split takes UTF-8", remedy="Use rt.strings.unicode_transcode first.")
    x = unicode_transcode(_of_one("unicode_split", input), "UTF-8", "UTF-8", errors, replacement_char)
    return named(padded_parts(x, "characters"), name)


# Encodings.

def _decoded(x: bytes, encoding: str, errors: str, replacement_char: int) -> str:
    try:
        return x.decode(encoding)
    except UnicodeDecodeError:
        if errors == "strict":
            raise InvalidArgumentError(f"Invalid formatting on input string: {x!r} is not {encoding}") from None
        mark = "" if errors == "ignore" else chr(replacement_char)
        return x.decode(encoding, errors="replace").replace("\ufffd", mark)


def _transcode(x: bytes, source: str, target: str, errors: str, replacement_char: int) -> bytes:
    return codecs.encode(_decoded(x, source, errors, replacement_char), target)


_TRANSCODE: Final = elementwise("unicode_transcode", _transcode, params=(
    {"source": "UTF-8", "target": "UTF-16-BE", "errors": "replace", "replacement_char": 65533},),
    doc="Strings in another encoding.")


def unicode_transcode(
    input: Any, input_encoding: str, output_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> Tensor:
    """Each string in another encoding (`tf.strings.unicode_transcode`): "UTF-8", "UTF-16-BE" or "UTF-32-BE".

    `errors`: what is no text becomes `replacement_char` ("replace"), nothing ("ignore"), or is an InvalidArgumentError
    ("strict").
    """
    if replace_control_characters:
        raise UnimplementedError("unicode_transcode does not replace control characters",
                                 remedy="Use rt.strings.regex_replace.")
    source = one_of("input_encoding", input_encoding.upper(), ("UTF-8", "UTF-16-BE", "UTF-32-BE", "US-ASCII"))
    return named(apply_one(_TRANSCODE, strings(input), source=source,
                           target=_check_encoding("output_encoding", output_encoding),
                           errors=one_of("errors", errors, ("replace", "ignore", "strict")),
                           replacement_char=int(replacement_char)), name)


def _decode_kernel(x: Any, *, encoding: str, errors: str, replacement_char: int) -> Any:
    return np.array(list(map(ord, _decoded(x[()], encoding, errors, replacement_char))), np.int32)


def _decode_rule(x: TensorType, *, encoding: str, errors: str, replacement_char: int) -> TensorType:
    need_strings("unicode_decode", x)
    return TensorType(t.int32, (None,))


def _decode_samples(rng: np.random.Generator) -> Iterable[Sample]:
    yield (string_array("wörd"),), {"encoding": "UTF-8", "errors": "replace", "replacement_char": 65533}


_DECODE: Final = Op("unicode_decode", _decode_kernel, _decode_rule, samples=_decode_samples,
                    errors=(InvalidArgumentError,), doc="The code points of a string: int32[?].")


def unicode_decode(
    input: Any, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
    replace_control_characters: bool = False, name: str | None = None,
) -> Tensor:
    """The code points of one string, as int32[n] (`tf.strings.unicode_decode`). UnimplementedError for several."""
    if replace_control_characters:
        raise UnimplementedError("unicode_decode does not replace control characters")
    return named(apply_one(_DECODE, _of_one("unicode_decode", input), encoding=_check_encoding(
        "input_encoding", input_encoding), errors=one_of("errors", errors, ("replace", "ignore", "strict")),
        replacement_char=int(replacement_char)), name)


def _encode_kernel(x: Any, *, encoding: str, errors: str, replacement_char: int) -> Any:
    def character(code: int) -> str:
        if 0 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF:
            return chr(code)
        if errors == "strict":
            raise InvalidArgumentError(f"Code point is out of range for Unicode, or a noncharacter: {code}")
        return "" if errors == "ignore" else chr(replacement_char)

    rows = x.reshape(-1, x.shape[-1]).tolist() if x.size else [[] for _ in range(int(np.prod(x.shape[:-1])))]
    found = ["".join(map(character, row)).encode(encoding) for row in rows]
    return string_array(found).reshape(x.shape[:-1]) if found else np.empty(x.shape[:-1], object)


def _encode_rule(x: TensorType, *, encoding: str, errors: str, replacement_char: int) -> TensorType:
    if x.dtype is not t.int32:
        raise DTypeError(f"unicode_encode takes code points of dtype int32, not {x}")
    if not x.shape:
        raise ShapeError("unicode_encode takes vectors of code points, not a scalar")
    return TensorType(t.string, x.shape[:-1])


def _encode_samples(rng: np.random.Generator) -> Iterable[Sample]:
    params = {"encoding": "UTF-8", "errors": "replace", "replacement_char": 65533}
    yield (np.array([[97, 246], [98, -1]], np.int32),), params
    yield (np.array([97, 98], np.int32),), params


_ENCODE: Final = Op("unicode_encode", _encode_kernel, _encode_rule, samples=_encode_samples,
                    errors=(InvalidArgumentError,), doc="The strings of code points along the last axis.")


def unicode_encode(
    input: Any, output_encoding: str, errors: str = "replace", replacement_char: int = 65533, name: str | None = None,
) -> Tensor:
    """The strings whose code points are the rows of an int32 tensor (`tf.strings.unicode_encode`)."""
    return named(apply_one(_ENCODE, convert_to_tensor(input), encoding=_check_encoding(
        "output_encoding", output_encoding), errors=one_of("errors", errors, ("replace", "ignore", "strict")),
        replacement_char=int(replacement_char)), name)


def _from_base64(x: bytes) -> bytes:
    try:
        if any(char in x for char in b"+/"):
            raise ValueError
        return base64.b64decode(x.rstrip(b"=") + b"=" * (-len(x.rstrip(b"=")) % 4), b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise InvalidArgumentError(f"decode_base64 takes web-safe base64, not {x!r}") from None


_TO_BASE64: Final = elementwise(
    "encode_base64", lambda x, pad: base64.urlsafe_b64encode(x) if pad else base64.urlsafe_b64encode(x).rstrip(b"="),
    params=({"pad": True}, {"pad": False}), doc="Strings in web-safe base64.")
_OF_BASE64: Final = elementwise("decode_base64", _from_base64, words=("", "YQ", "YWI="),
                                doc="What strings in web-safe base64 stand for.")


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Each string in web-safe base64, with `=` at the end if `pad` (`tf.io.encode_base64`)."""
    return named(apply_one(_TO_BASE64, strings(input), pad=bool(pad)), name)


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """What each string in web-safe base64 stands for (`tf.io.decode_base64`). InvalidArgumentError for others."""
    return named(apply_one(_OF_BASE64, strings(input)), name)


# n-grams.

def _ngrams_kernel(x: Any, *, widths: tuple[int, ...], separator: bytes, is_padded: bool) -> Any:
    rows = x.reshape(-1, x.shape[-1]).tolist() if x.size else [[] for _ in range(int(np.prod(x.shape[:-1])))]
    if is_padded:
        rows = [row[:max([i + 1 for i, part in enumerate(row) if part], default=0)] for row in rows]
    found = [[separator.join(row[i:i + width]) for width in widths for i in range(len(row) - width + 1)]
             for row in rows]
    return _padded(found, x.shape[:-1])


def _ngrams_rule(x: TensorType, *, widths: tuple[int, ...], separator: bytes, is_padded: bool) -> TensorType:
    need_strings("ngrams", x)
    if not x.shape:
        raise ShapeError("ngrams takes vectors of strings, not a scalar")
    size = x.shape[-1]
    count = None if size is None or is_padded else sum(max(0, size - width + 1) for width in widths)
    return TensorType(t.string, (*x.shape[:-1], count))


def _ngrams_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for is_padded in (False, True):
        yield (string_array([["a", "b", "c"], ["d", "e", ""]]),), {
            "widths": (1, 2), "separator": b" ", "is_padded": is_padded}


_NGRAMS: Final = Op("string_ngrams", _ngrams_kernel, _ngrams_rule, samples=_ngrams_samples,
                    doc="The n-grams of the strings along the last axis.")


def ngrams(
    data: Any, ngram_width: Any, separator: str = " ", pad_values: Any = None, padding_width: Any = None,
    preserve_short_sequences: bool = False, name: str | None = None,
) -> Tensor:
    """The n-grams of one or several widths of the strings along the last axis (`tf.strings.ngrams`), without padding
    by `pad_values` (UnimplementedError)."""
    if pad_values is not None or preserve_short_sequences:
        raise UnimplementedError("ngrams has no pad_values and no preserve_short_sequences",
                                 remedy="Pad with rt.concat.")
    return named(_ngrams(data, ngram_width, separator, False), name)


def padded_ngrams(data: Any, ngram_width: Any, separator: str = " ") -> Tensor:
    """The n-grams of rows whose last empty strings are padding, padded themselves."""
    return _ngrams(data, ngram_width, separator, True)


def _ngrams(data: Any, ngram_width: Any, separator: str, is_padded: bool) -> Tensor:
    widths = tuple(map(int, ngram_width)) if isinstance(ngram_width, (list, tuple)) else (int(ngram_width),)
    if not widths or min(widths) < 1:
        raise InvalidArgumentError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
    return apply_one(_NGRAMS, strings(data), widths=widths, separator=data_of(argument("separator", separator)),
                     is_padded=is_padded)


# Numbers of buckets.

_STRONG: Final = elementwise(
    "string_to_hash_bucket_strong", lambda x, num_buckets, key: sip_hash64(key, x) % num_buckets, t.int64,
    params=({"num_buckets": 7, "key": (1, 2)},), doc="The SipHash of each string, modulo the number of buckets.")
_LEGACY: Final = elementwise(
    "string_to_hash_bucket_legacy", lambda x, num_buckets: legacy_hash64(x) % num_buckets, t.int64,
    params=({"num_buckets": 7},), doc="TF's first hash of each string, modulo the number of buckets.")


def _check_buckets(what: str, num_buckets: int) -> int:
    if num_buckets < 1:
        raise InvalidArgumentError(f"{what} takes at least 1 bucket, not {num_buckets}")
    return int(num_buckets)


def to_hash_bucket_strong(input: Any, num_buckets: int, key: Sequence[int], name: str | None = None) -> Tensor:
    """For each string a number from 0 to `num_buckets` - 1, int64: its SipHash with a key of two ints
    (`tf.strings.to_hash_bucket_strong`)."""
    first, second = map(int, key)
    return named(apply_one(_STRONG, strings(input), num_buckets=_check_buckets("to_hash_bucket_strong", num_buckets),
                           key=(first, second)), name)


def to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """For each string a number from 0 to `num_buckets` - 1, int64: its hash as in TF (`tf.strings.to_hash_bucket`)."""
    return named(apply_one(_LEGACY, strings(input), num_buckets=_check_buckets("to_hash_bucket", num_buckets)), name)
