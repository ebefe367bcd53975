"""Tables that map keys to values (`tf.lookup`)."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from runtime.core.public_names import hint_at_public_names
from runtime.ops.lookup import (
    KeyValueTensorInitializer,
    StaticHashTable,
    StaticVocabularyTable,
    TextFileIndex,
    TextFileInitializer,
)
from runtime.ops.mutable_tables import DenseHashTable, MutableHashTable

__all__ = ["KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable", "TextFileIndex",
           "TextFileInitializer", "experimental"]

experimental: Final[Any] = SimpleNamespace(DenseHashTable=DenseHashTable, MutableHashTable=MutableHashTable)
"""`tf.lookup.experimental`."""

hint_at_public_names(__name__)
