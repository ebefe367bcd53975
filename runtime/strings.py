"""Operations on strings (`tf.strings`)."""
from __future__ import annotations

from runtime.core.public_names import hint_at_public_names
from runtime.ops.string_parts import (
    bytes_split,
    ngrams,
    to_hash_bucket,
    to_hash_bucket_strong,
    unicode_decode,
    unicode_encode,
    unicode_split,
    unicode_transcode,
)
from runtime.ops.string_tensors import (
    as_string,
    join,
    length,
    lower,
    reduce_join,
    regex_full_match,
    regex_replace,
    split,
    strip,
    substr,
    to_hash_bucket_fast,
    to_number,
    upper,
)
from runtime.ops.summarized_text import format_text as format

__all__ = [
    "as_string", "bytes_split", "format", "join", "length", "lower", "ngrams", "reduce_join", "regex_full_match",
    "regex_replace", "split", "strip", "substr", "to_hash_bucket", "to_hash_bucket_fast", "to_hash_bucket_strong",
    "to_number", "unicode_decode", "unicode_encode", "unicode_split", "unicode_transcode", "upper",
]

hint_at_public_names(__name__)
