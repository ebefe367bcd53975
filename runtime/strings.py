"""Operations on strings (`tf.strings`)."""
from __future__ import annotations

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

__all__ = [
    "as_string", "join", "length", "lower", "reduce_join", "regex_full_match", "regex_replace", "split", "strip",
    "substr", "to_hash_bucket_fast", "to_number", "upper",
]
