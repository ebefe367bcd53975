"""An `rt.data.Dataset` of batches as data of `fit`, `evaluate` and `predict`."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keras.src import tree
from keras.src.trainers.data_adapters.data_adapter import DataAdapter
from keras.src.trainers.epoch_iterator import EpochIterator

from runtime.data.dataset import Dataset

__all__ = ["DatasetAdapter", "batches"]


class DatasetAdapter(DataAdapter):  # type: ignore[misc]
    """Its elements are batches: `x`, `(x, y)` or `(x, y, sample_weight)`."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._iterator: Any = None
        self._begin: Any = None

    def get_numpy_iterator(self) -> Iterator[Any]:
        self._iterator = iter(self._dataset)
        if self._begin is not None:
            self._iterator.restore(self._begin)
            self._begin = None
        return (tree.map_structure(lambda x: x.numpy(), element) for element in self._iterator)

    def position(self) -> Any:
        """Where the iterator that was made last is (`DatasetIterator.state`)."""
        return self._iterator.state()

    def begin_at(self, state: Any) -> None:
        """The next iterator begins at this position."""
        self._begin = state

    @property
    def num_batches(self) -> int | None:
        count = int(self._dataset.cardinality())
        return count if count >= 0 else None

    @property
    def batch_size(self) -> None:
        return None

    @property
    def has_partial_batch(self) -> None:
        return None

    @property
    def partial_batch_size(self) -> None:
        return None


class _Batches(EpochIterator):  # type: ignore[misc]
    """The batches of epochs. ValueError if there is none at all."""

    _has_data = False

    def __next__(self) -> Any:
        try:
            found = super().__next__()
        except StopIteration:
            if not self._has_data:
                raise ValueError("Expected input data to be non-empty: there is no batch in it.") from None
            raise
        self._has_data = True
        return found


def batches(x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, **options: Any) -> Any:
    """The batches of an epoch, of any data that Keras takes and of datasets of this runtime. ValueError, when they are
    taken, if there are none."""
    if isinstance(x, Dataset):
        for name, given in (("y", y), ("sample_weight", sample_weight), ("class_weight", class_weight)):
            if given is not None:
                raise ValueError(f"`{name}` cannot be given beside a dataset, whose elements have all: x, (x, y) or "
                                 "(x, y, sample_weight)")
        x = DatasetAdapter(x)
    return _Batches(x=x, y=y, sample_weight=sample_weight, class_weight=class_weight, **options)
