"""Datasets that TensorFlow has in `tf.data.experimental`."""
from __future__ import annotations

from runtime.data.arrow_files import ArrowDataset, ParquetDataset
from runtime.data.csv_files import CsvDataset, make_csv_dataset
from runtime.data.pipeline import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from runtime.data.threads import AUTOTUNE

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "ArrowDataset", "CsvDataset", "ParquetDataset",
           "make_csv_dataset"]
