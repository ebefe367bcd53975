"""Datasets that TensorFlow has in `tf.data.experimental`."""
from __future__ import annotations

from runtime.core.tensor import Tensor
from runtime.data.arrow_files import ArrowDataset, ParquetDataset
from runtime.data.csv_files import CsvDataset, make_csv_dataset
from runtime.data.dataset import Dataset
from runtime.data.pipeline import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from runtime.data.threads import AUTOTUNE

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "ArrowDataset", "CsvDataset", "ParquetDataset",
           "cardinality", "make_csv_dataset"]


def cardinality(dataset: Dataset) -> Tensor:
    """`dataset.cardinality()` (`tf.data.experimental.cardinality`)."""
    return dataset.cardinality()
