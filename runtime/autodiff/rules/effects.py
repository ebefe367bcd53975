"""Rules for effects, and the ops whose results are constants for differentiation. Checks pass on the cotangents of
their values."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.rules.registry import Applied, constant, jvp, vjp

constant("it has no operand", "const", "undefined")
constant("random numbers do not depend on anything: what is made of them has its derivative", "random", "random_int",
         "philox_skip", "philox_state", "stateless_random", "stateless_random_int")
constant("it has no result", "print", "raise", "raise_unless", "check", "check_bound", "assert_compare", "reraise",
         "hold_error", "iterator_start", "table_erase", "table_write")
constant("its result is text", "render_text", "render_records", "as_string", "string_format", "text_function")
constant("strings have no derivative", "decode_base64", "decode_raw", "encode_base64", "regex_full_match",
         "regex_replace", "string_join", "string_length", "string_lower", "string_ngrams", "string_parts",
         "string_reduce_join", "string_split", "string_strip", "string_to_hash_bucket", "string_to_hash_bucket_legacy",
         "string_to_hash_bucket_strong", "string_to_number", "string_upper", "substr", "unicode_decode",
         "unicode_encode", "unicode_transcode")
constant("it looks up keys", "hash_find", "hash_slots", "parse_example", "parse_sequence_example", "table_count",
         "table_export", "table_find", "table_read")
constant("its result is of a caught error", "error_text", "error_part")
constant("its result comes from a dataset", "iterator_next", "iterator_next_or_none")
constant("it runs code on NumPy arrays, whose derivative nobody knows: rt.py_function has one", "numpy_function")


@vjp("check_numerics")
@jvp("check_numerics")
def _passed(node: Applied, t: Any) -> Sequence[Any]:
    return [t]
