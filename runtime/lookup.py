"""Tables that map keys to values (`tf.lookup`)."""
from __future__ import annotations

from runtime.core.public_names import Namespace, hint_at_public_names
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


class experimental(metaclass=Namespace):
    """Tables that a graph changes (`tf.lookup.experimental`)."""

    DenseHashTable = DenseHashTable
    MutableHashTable = MutableHashTable


hint_at_public_names(__name__)
