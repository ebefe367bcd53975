"""Ops on tensors of strings (`tf.strings`)."""
from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from runtime.core.op import Op, Sample
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located
from runtime.core.string_arrays import holds_text, string_array
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, TensorType, broadcast_shapes
from runtime.ops import math as math_ops
from runtime.ops.fingerprint import fingerprint64
from runtime.ops.op_makers import apply_one, named
from runtime.ops.shape import expand_dims, squeeze
from runtime.ops.static_arguments import axes_of, static_ints

__all__ = ["add", "argument", "as_string", "data_of", "decode_raw", "elementwise", "join", "length", "lower",
           "need_strings", "one_of", "reduce_join", "regex_full_match", "regex_replace", "split", "strings", "strip",
           "substr", "text_of", "to_hash_bucket_fast", "to_number", "upper"]

_WORDS: Final = ("", "a", "Hello wörld ", " 12 ")


def _each(function: Callable[..., Any], dtype: DType, shape: tuple[int, ...], *flats: Iterable[Any]) -> Any:
    """The array of the function's results for each element."""
    found = list(map(function, *flats))
    array = np.empty(len(found), dtype.np)
    array[:] = found
    return array.reshape(shape)


def elementwise(
    name: str, function: Callable[..., Any], out: DType | None = t.string, doc: str = "",
    params: Sequence[dict[str, Any]] = ({},), words: Sequence[str] = _WORDS,
) -> Op:
    """An element-wise op of strings, `function(bytes, **params)`; without `out` the param `out_type` is its dtype.
    `params` and `words` are for tests."""

    def kernel(x: Any, **params: Any) -> Any:
        return _each(functools.partial(function, **params), out or params["out_type"], x.shape, x.flat)

    def rule(x: TensorType, **params: Any) -> TensorType:
        need_strings(name, x)
        return TensorType(out or params["out_type"], x.shape)

    def samples(rng: np.random.Generator) -> Iterable[Sample]:
        for each in params:
            yield (string_array(list(words)),), each
            yield (string_array(words[-1]),), each

    return Op(name, kernel, rule, samples=samples, errors=(InvalidArgumentError,), doc=doc)


def need_strings(op: str, *types: TensorType) -> None:
    for type in types:
        if not isinstance(type, TensorType) or not type.dtype.is_string:
            raise DTypeError(f"{op} takes strings, not {type}", remedy="rt.as_string makes strings of numbers.")


def strings(x: Any) -> Tensor:
    """A tensor of strings. DTypeError for other values."""
    return convert_to_tensor(x, t.string)


def text_of(x: bytes) -> str:
    return x.decode("utf-8", "surrogateescape")


def data_of(x: str) -> bytes:
    return x.encode("utf-8", "surrogateescape")


def one_of(what: str, value: Any, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ValueError(f"{what} is one of {', '.join(map(repr, allowed))}, not {value!r}")
    return str(value)


# One string in, one out.

_ENCODINGS: Final = ({"encoding": ""}, {"encoding": "utf-8"})
_LOWER: Final = elementwise(
    "string_lower", lambda x, encoding: data_of(text_of(x).lower()) if encoding else x.lower(), params=_ENCODINGS,
    doc="Lower case: of ASCII letters, or with the encoding utf-8 of all.")
_UPPER: Final = elementwise(
    "string_upper", lambda x, encoding: data_of(text_of(x).upper()) if encoding else x.upper(), params=_ENCODINGS,
    doc="Upper case: of ASCII letters, or with the encoding utf-8 of all.")
_STRIP: Final = elementwise("string_strip", lambda x: x.strip(), doc="Without white space at both ends.")
_LENGTH: Final = elementwise(
    "string_length", lambda x, unit: len(x) if unit == "BYTE" else sum(byte & 0xC0 != 0x80 for byte in x), t.int32,
    params=({"unit": "BYTE"}, {"unit": "UTF8_CHAR"}), doc="The number of bytes, or of characters in UTF-8.")
_BUCKET: Final = elementwise(
    "string_to_hash_bucket", lambda x, num_buckets: fingerprint64(x) % num_buckets, t.int64,
    params=({"num_buckets": 7},), doc="The FarmHash Fingerprint64 of each string, modulo the number of buckets.")


def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Lower case (`tf.strings.lower`): of ASCII letters, or of all letters with the encoding "utf-8"."""
    return named(apply_one(_LOWER, strings(input), encoding=one_of("encoding", encoding, ("", "utf-8"))), name)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Upper case (`tf.strings.upper`): of ASCII letters, or of all letters with the encoding "utf-8"."""
    return named(apply_one(_UPPER, strings(input), encoding=one_of("encoding", encoding, ("", "utf-8"))), name)


def strip(input: Any, name: str | None = None) -> Tensor:
    """Strips white space at both ends (`tf.strings.strip`)."""
    return named(apply_one(_STRIP, strings(input)), name)


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The length of each string as int32, in bytes, or in characters with the unit "UTF8_CHAR"
    (`tf.strings.length`)."""
    return named(apply_one(_LENGTH, strings(input), unit=one_of("unit", unit, ("BYTE", "UTF8_CHAR"))), name)


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """For each string a number from 0 to `num_buckets` - 1, int64: its FarmHash Fingerprint64 modulo `num_buckets`, as
    in TF (`tf.strings.to_hash_bucket_fast`). InvalidArgumentError for less than one bucket."""
    if num_buckets < 1:
        raise InvalidArgumentError(f"to_hash_bucket_fast takes at least 1 bucket, not {num_buckets}")
    return named(apply_one(_BUCKET, strings(input), num_buckets=int(num_buckets)), name)


# Regular expressions: TF uses RE2; here Python's, with the same meaning for the common subset.

@functools.lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    if "[[:" in pattern or r"\p{" in pattern or r"\C" in pattern:
        raise UnimplementedError(f"the regular expression {pattern!r} has classes of RE2 that Python's re has not",
                                 remedy="Write the characters, such as [A-Za-z].")
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise InvalidArgumentError(f"Invalid pattern: {pattern}, error: {error}") from None


@functools.lru_cache(maxsize=256)
def _rewriting(pattern: str, rewrite: str) -> Callable[[re.Match[str]], str]:
    r"""The replacement of a match: `\0` to `\9` stand for its groups, and two backslashes for one."""
    pieces: list[str | int] = []
    for piece in re.findall(r"\\.?|[^\\]+", rewrite, re.DOTALL):
        group = piece[1:]
        if piece[0] != "\\" or piece == "\\\\":
            pieces.append(piece if piece[0] != "\\" else "\\")
        elif group.isdecimal() and int(group) <= _pattern(pattern).groups:
            pieces.append(int(group))
        else:
            raise InvalidArgumentError(f"the rewrite {rewrite!r} has {piece!r}, but the pattern {pattern!r} has "
                                       f"{_pattern(pattern).groups} groups")
    return lambda match: "".join([piece if isinstance(piece, str) else match[piece] or "" for piece in pieces])


def _replace(x: bytes, pattern: str, rewrite: str, replace_global: bool) -> bytes:
    return data_of(_pattern(pattern).sub(_rewriting(pattern, rewrite), text_of(x), 0 if replace_global else 1))


_REPLACE: Final = elementwise("regex_replace", _replace, params=(
    {"pattern": "(l+)", "rewrite": r"[\1\0]", "replace_global": True},
    {"pattern": "[a-z]", "rewrite": "-", "replace_global": False}), doc="Matches of a pattern replaced.")
_MATCH: Final = elementwise("regex_full_match", lambda x, pattern: _pattern(pattern).fullmatch(text_of(x)) is not None,
                        t.bool_, params=({"pattern": "[a-z]*"},), doc="Whether each whole string matches a pattern.")


def regex_replace(
    input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Each match of the pattern replaced by `rewrite`, in which `\0` to `\9` are the groups; or only the first match
    (`tf.strings.regex_replace`). InvalidArgumentError for an invalid pattern."""
    pattern, rewrite = argument("pattern", pattern), argument("rewrite", rewrite)
    _rewriting(pattern, rewrite)
    return named(apply_one(_REPLACE, strings(input), pattern=pattern, rewrite=rewrite,
                           replace_global=bool(replace_global)), name)


def regex_full_match(input: Any, pattern: str, name: str | None = None) -> Tensor:
    """Whether each string as a whole matches the pattern (`tf.strings.regex_full_match`)."""
    _pattern(pattern := argument("pattern", pattern))
    return named(apply_one(_MATCH, strings(input), pattern=pattern), name)


def argument(what: str, value: Any) -> str:
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"{what} is a Python string, not {value!r}")
    return value if isinstance(value, str) else text_of(value)


# Numbers.

def _number(x: bytes, out_type: DType) -> Any:
    text = x.strip().decode("latin-1")
    try:
        if "_" in text:
            raise ValueError
        if out_type.is_floating:
            return float.fromhex(text) if "x" in text.lower() else float(text)
        number = int(text)
        if not out_type.limits[0] <= number <= out_type.limits[1]:
            raise ValueError
        return number
    except ValueError:
        raise InvalidArgumentError(
            f"StringToNumberOp could not correctly convert string: {text_of(x)!r} is no {out_type.name}") from None


_NUMBER: Final = elementwise("string_to_number", _number, None, words=("1", "-20", " 7 "), params=[
    {"out_type": dtype} for dtype in (t.float32, t.float64, t.int32, t.int64)], doc="The numbers that strings write.")


def to_number(input: Any, out_type: Any = t.float32, name: str | None = None) -> Tensor:
    """The numbers that strings represent, as float32, float64, int32 or int64 (`tf.strings.to_number`).
    InvalidArgumentError for a string that is not such a number."""
    dtype = t.as_dtype(out_type)
    if dtype not in (t.float32, t.float64, t.int32, t.int64):
        raise DTypeError(f"to_number gives float32, float64, int32 or int64, not {dtype.name}")
    return named(apply_one(_NUMBER, strings(input), out_type=dtype), name)


def _as_string_kernel(x: Any, *, float_format: str, int_format: str) -> Any:
    def written(value: Any) -> bytes:
        if isinstance(value, (bool, np.bool_)):
            return b"true" if value else b"false"
        if isinstance(value, complex):
            return f"({float_format % value.real},{float_format % value.imag})".encode()
        text: str = (int_format if isinstance(value, int) else float_format) % value
        return text.encode()

    return _each(written, t.string, x.shape, x.reshape(-1).tolist())


def _as_string_rule(x: TensorType, *, float_format: str, int_format: str) -> TensorType:
    return TensorType(t.string, x.shape)


def _as_string_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in (t.bool_, t.int8, t.float32, t.complex64):
        yield (np.array([[0, 1]], dtype.np),), {"float_format": "%6.2f", "int_format": "%d"}
    yield (np.float64(1.5),), {"float_format": "%f", "int_format": "%d"}


_AS_STRING: Final = Op("as_string", _as_string_kernel, _as_string_rule, samples=_as_string_samples,
                       doc="Numbers and bools as strings, formatted as C's printf does.")


def as_string(
    input: Any, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1,
    fill: str = "", name: str | None = None,
) -> Tensor:
    """Numbers and bools as strings (`tf.strings.as_string`).

    Floats have `precision` digits after the point, by default 6; with `scientific` an exponent; with `shortest` the
    shorter of both forms. `fill` (" ", "0", "-" or "+") pads to `width`. Strings are returned unchanged.
    """
    x = convert_to_tensor(input, strings=True)
    if x.dtype.is_string:
        return named(x, name)
    if scientific and shortest:
        raise InvalidArgumentError("as_string is either scientific or shortest, not both")
    if len(fill) > 1 or fill not in " 0-+":
        raise InvalidArgumentError(f"fill is one of ' ', '0', '-' and '+', not {fill!r}")
    start = "%" + fill + (str(int(width)) if width >= 0 else "")
    digits = f".{int(precision)}" if precision >= 0 else ""
    kind = "e" if scientific else "g" if shortest else "f"
    return named(apply_one(_AS_STRING, x, float_format=start + digits + kind, int_format=start + "d"), name)


# Parts.

def _substr_kernel(x: Any, start: Any, size: Any, *, unit: str) -> Any:
    def part(value: bytes, first: int, count: int) -> bytes:
        units: Any = value if unit == "BYTE" else text_of(value)
        if not -len(units) <= first <= len(units):
            raise InvalidArgumentError(f"pos {first} out of range for string {value!r}")
        first += len(units) if first < 0 else 0
        if unit == "BYTE" and count < 0:  # TF takes the rest then
            count = len(units)
        found = units[first:first + max(count, 0)]
        return found if unit == "BYTE" else data_of(found)

    arrays = np.broadcast_arrays(x, start, size)
    return _each(part, t.string, arrays[0].shape, *[array.reshape(-1).tolist() for array in arrays])


def _substr_rule(x: TensorType, start: TensorType, size: TensorType, *, unit: str) -> TensorType:
    need_strings("substr", x)
    if not start.dtype.is_integer or not size.dtype.is_integer:
        raise DTypeError(f"substr takes ints as positions and lengths, not {start} and {size}")
    return TensorType(t.string, broadcast_shapes(x.shape, start.shape, size.shape, what="the operands of substr"))


def _substr_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for unit in ("BYTE", "UTF8_CHAR"):
        yield (string_array(["Hello", "wörld"]), np.array([-3, 1]), np.int32(2)), {"unit": unit}
        yield (string_array("Hello"), np.int32(1), np.int32(9)), {"unit": unit}


_SUBSTR: Final = Op("substr", _substr_kernel, _substr_rule, samples=_substr_samples, errors=(InvalidArgumentError,),
                    doc="Parts of strings, from a position (from the end if negative) and of a length.")


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The part of each string that starts at `pos` (from the end if negative), of at most `len` bytes or characters;
    all three broadcast (`tf.strings.substr`). InvalidArgumentError for a position outside a string."""
    return named(apply_one(_SUBSTR, strings(input), convert_to_tensor(pos), convert_to_tensor(len),
                           unit=one_of("unit", unit, ("BYTE", "UTF8_CHAR"))), name)


def _split_kernel(x: Any, *, sep: bytes, maxsplit: int) -> Any:
    parts = x[()].split(sep or None, maxsplit)
    return _each(bytes, t.string, (len(parts),), parts)


def _split_rule(x: TensorType, *, sep: bytes, maxsplit: int) -> TensorType:
    need_strings("split", x)
    if x.ndim:
        raise UnimplementedError(
            f"split takes one string, not {x}: the parts of several are of different numbers, a ragged tensor in TF",
            remedy="Split each one: dataset.map(rt.strings.split), with padded_batch after it for one length.")
    return TensorType(t.string, (None,))


def _split_samples(rng: np.random.Generator) -> Iterable[Sample]:
    yield (string_array(" a  b c"),), {"sep": b"", "maxsplit": -1}
    yield (string_array("a,,b"),), {"sep": b",", "maxsplit": 1}


_SPLIT: Final = Op("string_split", _split_kernel, _split_rule, samples=_split_samples,
                   doc="The parts of a string between separators: string[?].")


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Tensor:
    """The parts of one string between separators, by default white space, as string[n] (`tf.strings.split`).
    UnimplementedError for more than one string, whose parts are ragged in TF."""
    separator = b"" if sep is None else data_of(argument("sep", sep))
    return named(apply_one(_SPLIT, strings(input), sep=separator, maxsplit=int(maxsplit)), name)


# Several strings into one.

def _join_kernel(*arrays: Any, separator: bytes) -> Any:
    arrays = tuple(np.broadcast_arrays(*arrays))
    return _each(lambda *parts: separator.join(parts), t.string, arrays[0].shape,
                 *[array.reshape(-1).tolist() for array in arrays])


def _join_rule(*types: TensorType, separator: bytes) -> TensorType:
    need_strings("join", *types)
    return TensorType(t.string, broadcast_shapes(*[type.shape for type in types], what="the operands of join"))


def _join_samples(rng: np.random.Generator) -> Iterable[Sample]:
    yield (string_array(["a", "b"]), string_array("-"), string_array(["", "é"])), {"separator": b", "}
    yield (string_array("a"), string_array("b")), {"separator": b""}


_JOIN: Final = Op("string_join", _join_kernel, _join_rule, samples=_join_samples,
                  doc="The strings of several tensors, one after the other; scalars broadcast.")


def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """The strings of several tensors of one shape, or scalars, joined element-wise with a separator
    (`tf.strings.join`)."""
    if not len(inputs):
        raise ValueError("join takes at least one tensor")
    tensors = list(map(strings, inputs))
    ranked = [x.type.shape for x in tensors if x.type.shape]
    for shape in ranked[1:]:
        if not t.compatible_shapes(shape, ranked[0]):
            raise located(ShapeError(f"the shapes of what is joined differ: {t.shape_text(ranked[0])} and "
                                     f"{t.shape_text(shape)}", remedy="They are equal, or scalars."))
    return named(apply_one(_JOIN, *tensors, separator=data_of(argument("separator", separator))), name)


def _concatenate(x: Any, y: Any) -> Tensor:
    """`x + y`, which broadcast. DTypeError if an operand is not of strings."""
    return apply_one(_JOIN, strings(x), strings(y), separator=b"")


OPERATIONS.define(concatenate_strings=_concatenate)


def add(x: Any, y: Any, name: str | None = None) -> Any:
    """x + y, element-wise, with broadcasting; strings are concatenated (`tf.add`)."""
    if _is_text(x) or _is_text(y):
        return named(_concatenate(x, y), name)
    return math_ops.add(x, y, name)


def _is_text(x: Any) -> bool:
    if hasattr(type(x), "__tensor__") or isinstance(x, Tensor):
        return getattr(x, "dtype", None) is t.string
    return holds_text(x)


def _reduce_join_kernel(x: Any, *, axis: int, separator: bytes) -> Any:
    moved = np.moveaxis(x, axis, -1)
    rows = moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1]).tolist()
    return _each(separator.join, t.string, moved.shape[:-1], rows)


def _reduce_join_rule(x: TensorType, *, axis: int, separator: bytes) -> TensorType:
    need_strings("reduce_join", x)
    return TensorType(t.string, x.shape[:axis] + x.shape[axis + 1:])


def _reduce_join_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for axis in (0, 1):
        yield (string_array([["a", "b", "c"], ["d", "e", "f"]]),), {"axis": axis, "separator": b"-"}


_REDUCE_JOIN: Final = Op("string_reduce_join", _reduce_join_kernel, _reduce_join_rule, samples=_reduce_join_samples,
                         doc="The strings along an axis joined.")


def reduce_join(
    inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "", name: str | None = None
) -> Tensor:
    """The strings along the axes joined, along one after the other, by default the last first; with `keepdims` the axes
    get size 1 (`tf.strings.reduce_join`)."""
    x = strings(inputs)
    data = data_of(argument("separator", separator))
    axes = list(axes_of("reduce_join", axis, x.ndim))
    order = reversed(axes) if axis is None else [each % x.ndim for each in static_ints("axis", axis)]
    for each in order:
        x = expand_dims(apply_one(_REDUCE_JOIN, x, axis=each, separator=data), each)
    return named(x if keepdims or not axes else squeeze(x, axes), name)


# Raw data.

def _raw_kernel(x: Any, *, out_type: DType, little_endian: bool, fixed_length: int | None = None) -> Any:
    items = x.reshape(-1).tolist()
    if fixed_length is not None:
        items = [item[:fixed_length].ljust(fixed_length, b"\0") for item in items]
    sizes = {len(item) for item in items}
    if len(sizes) > 1 or any(size % out_type.size for size in sizes):
        raise InvalidArgumentError(f"decode_raw takes strings of one length, a multiple of {out_type.size} bytes for "
                                   f"{out_type.name}, not of {sorted(sizes)}")
    order = out_type.np.newbyteorder("<" if little_endian else ">")
    flat = np.frombuffer(b"".join(items), order).astype(out_type.np)
    return flat.reshape(*x.shape, sizes.pop() // out_type.size if sizes else (fixed_length or 0) // out_type.size)


def _raw_rule(x: TensorType, *, out_type: DType, little_endian: bool, fixed_length: int | None = None) -> TensorType:
    need_strings("decode_raw", x)
    if fixed_length is not None and (fixed_length <= 0 or fixed_length % out_type.size):
        raise InvalidArgumentError(f"the fixed_length of decode_raw is a multiple of the {out_type.size} bytes of "
                                   f"{out_type.name}, not {fixed_length}")
    return TensorType(out_type, (*x.shape, None if fixed_length is None else fixed_length // out_type.size))


def _raw_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in (t.uint8, t.int16, t.float32):
        yield (string_array([b"abcd", b"efgh"]),), {"out_type": dtype, "little_endian": True}
    yield (string_array(b"abcd"),), {"out_type": t.int32, "little_endian": False}
    yield (string_array([b"a", b"abcd"]),), {"out_type": t.uint8, "little_endian": True, "fixed_length": 3}


_RAW: Final = Op("decode_raw", _raw_kernel, _raw_rule, samples=_raw_samples, errors=(InvalidArgumentError,),
                 doc="The bytes of strings as numbers: one more axis.")


def decode_raw(
    input_bytes: Any, out_type: Any, little_endian: bool = True, fixed_length: Any = None, name: str | None = None,
) -> Tensor:
    """The bytes of strings of one length as numbers, along a new last axis (`tf.io.decode_raw`). `fixed_length`: the
    first so many bytes of each string, with zeros after shorter ones."""
    length = {} if fixed_length is None else {"fixed_length": static_ints("the fixed_length", fixed_length)[0]}
    return named(apply_one(_RAW, strings(input_bytes), out_type=t.as_dtype(out_type),
                           little_endian=bool(little_endian), **length), name)
