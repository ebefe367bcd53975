"""Datasets that TensorFlow has in `tf.data.experimental`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.core.public_names import hint_at_public_names
from runtime.core.tensor import Tensor
from runtime.data.arrow_files import ArrowDataset, ParquetDataset
from runtime.data.csv_files import CsvDataset, make_csv_dataset
from runtime.data.dataset import Dataset
from runtime.data.pipeline import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from runtime.data.threads import AUTOTUNE

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "ArrowDataset", "Counter", "CsvDataset",
    "ParquetDataset", "assert_cardinality", "bucket_by_sequence_length", "cardinality", "choose_from_datasets",
    "dense_to_ragged_batch", "enumerate_dataset", "get_single_element", "get_structure", "group_by_window",
    "ignore_errors", "make_csv_dataset", "map_and_batch", "sample_from_datasets", "scan", "snapshot", "take_while",
    "unbatch", "unique",
]


def cardinality(dataset: Dataset) -> Tensor:
    """`dataset.cardinality()` (`tf.data.experimental.cardinality`)."""
    return dataset.cardinality()


# The older form of transformations: functions that make what `Dataset.apply` takes.

Transformation = Callable[[Dataset], Dataset]


def _method(name: str) -> Callable[..., Transformation]:
    def transformation(*args: Any, **options: Any) -> Transformation:
        return lambda dataset: getattr(dataset, name)(*args, **options)

    transformation.__name__ = name
    transformation.__doc__ = f"What `dataset.apply` takes for `dataset.{name}` of these arguments."
    return transformation


assert_cardinality = _method("assert_cardinality")
bucket_by_sequence_length = _method("bucket_by_sequence_length")
dense_to_ragged_batch = _method("ragged_batch")
enumerate_dataset = _method("enumerate")
group_by_window = _method("group_by_window")
ignore_errors = _method("ignore_errors")
scan = _method("scan")
snapshot = _method("snapshot")
take_while = _method("take_while")
unbatch = _method("unbatch")
unique = _method("unique")
Counter = Dataset.counter


def choose_from_datasets(datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = False) -> Dataset:
    """As `Dataset.choose_from_datasets`, which stops at the first dataset that ends unless told otherwise
    (`tf.data.experimental.choose_from_datasets`)."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


sample_from_datasets = Dataset.sample_from_datasets


def get_structure(dataset_or_iterator: Any) -> Any:
    """The `element_spec` of a dataset or an iterator (`tf.data.experimental.get_structure`)."""
    return dataset_or_iterator.element_spec


def map_and_batch(
    map_func: Callable[..., Any], batch_size: Any, num_parallel_batches: Any = None, drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Callable[[Dataset], Dataset]:
    """`map` and then `batch`, for `Dataset.apply` (`tf.data.experimental.map_and_batch`)."""
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


def get_single_element(dataset: Dataset) -> Any:
    """`dataset.get_single_element()` (`tf.data.experimental.get_single_element`)."""
    return dataset.get_single_element()


hint_at_public_names(__name__)
