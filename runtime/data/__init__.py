"""Datasets: sequences of elements that stream one at a time (`tf.data`)."""
from __future__ import annotations

from runtime.core.public_names import hint_at_public_names
from runtime.data import experimental
from runtime.data.dataset import Dataset
from runtime.data.iterators import DatasetIterator
from runtime.data.pipeline import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, DatasetSpec, Options
from runtime.data.text_files import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from runtime.data.threads import AUTOTUNE

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset", "DatasetIterator", "DatasetSpec",
           "FixedLengthRecordDataset", "Iterator", "Options", "TFRecordDataset", "TextLineDataset", "experimental"]

Iterator = DatasetIterator
"""`tf.data.Iterator`, the class of the iterators of all datasets."""

hint_at_public_names(__name__)
