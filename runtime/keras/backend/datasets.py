"""The batches of `fit`, `evaluate` and `predict`, from an `rt.data.Dataset` or from arrays."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from keras.src import tree
from keras.src.backend import floatx, is_float_dtype
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.data_adapter import DataAdapter
from keras.src.trainers.data_adapters.data_adapter_utils import unpack_x_y_sample_weight
from keras.src.trainers.epoch_iterator import EpochIterator

from runtime.core.tensor import EagerTensor
from runtime.data.dataset import Dataset
from runtime.ops.philox import permutation
from runtime.ops.random_sources import global_seed

__all__ = ["Block", "DatasetAdapter", "batches", "leaves"]

_MOST: Final = 16  # batches that are taken from arrays at once
_MEMORY: Final = 1 << 24  # bytes of these


class DatasetAdapter(DataAdapter):  # type: ignore[misc]
    """Adapts a dataset whose elements are batches: `x`, `(x, y)` or `(x, y, sample_weight)`. With `class_weight`, those
    of `(x, y)` get the weights of their classes."""

    def __init__(self, dataset: Dataset, class_weight: Mapping[int, float] | None = None) -> None:
        self._dataset = dataset
        self._class_weight = class_weight
        self._iterator: Any = None
        self._begin: Any = None

    def get_numpy_iterator(self) -> Iterator[Any]:
        self._iterator = iter(self._dataset)
        if self._begin is not None:
            self._iterator.restore(self._begin)
            self._begin = None
        found = (tree.map_structure(lambda x: x.numpy(), element) for element in self._iterator)
        return found if self._class_weight is None else (_weighted(batch, self._class_weight) for batch in found)

    def position(self) -> Any:
        """The position of the last iterator (`DatasetIterator.state`)."""
        return self._iterator.state()

    def begin_at(self, state: Any) -> None:
        """Let the next iterator begin at this position."""
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


def _weighted(batch: Any, class_weight: Mapping[int, float]) -> tuple[Any, Any, Any]:
    """A batch (x, y) with the weights of its labels, which are class numbers or scores of classes along the last axis;
    a class without a weight has 1."""
    x, labels, sample_weight = unpack_x_y_sample_weight(batch)
    if sample_weight is not None:
        raise ValueError("`class_weight` cannot be given beside a dataset of (x, y, sample_weight): multiply the "
                         "weights in its `map` instead")
    if labels is None or tree.is_nested(labels):
        raise ValueError("`class_weight` needs a dataset of (x, y) where y is one array, that of a model with one "
                         "output")
    numbers = labels if labels.ndim < 2 else labels[..., 0] if labels.shape[-1] == 1 else labels.argmax(-1)
    classes, places = np.unique(np.round(numbers).astype(np.int64), return_inverse=True)
    weights = np.array([class_weight.get(number, 1.0) for number in classes.tolist()], floatx())
    return x, labels, weights[places.reshape(numbers.shape)]


class _Batches(EpochIterator):  # type: ignore[misc]
    """The batches of epochs. ValueError if there are none at all."""

    _has_data = False

    def _get_iterator(self) -> Iterator[Any]:
        adapter = self.data_adapter
        if not self._has_arrays:
            return super()._get_iterator()  # type: ignore[no-any-return]
        size = sum(x.nbytes for x in leaves(adapter._inputs)) // adapter.num_batches
        count = max(1, min(_MOST, _MEMORY // max(1, size)))
        return (batch for block in _blocks_of_arrays(adapter, lambda: count) for batch in block)

    @functools.cached_property
    def _has_arrays(self) -> bool:
        adapter = self.data_adapter
        if not isinstance(adapter, ArrayDataAdapter) or adapter._shuffle == "batch" or adapter.num_batches == 0 or (
                not all(type(x) is np.ndarray or isinstance(x, EagerTensor) for x in leaves(adapter._inputs))):
            return False
        adapter._inputs = tree.map_structure(
            lambda x: np.asarray(x) if isinstance(x, EagerTensor) else x, adapter._inputs)
        return True

    @property
    def has_blocks(self) -> bool:
        """Whether `blocks` can produce the batches of an epoch."""
        return self._has_arrays and not self.steps_per_epoch

    def blocks(self, most: Callable[[], int]) -> Iterator[tuple[int, int, Block]]:
        """The batches of an epoch, up to `most()` at a time, with the numbers of the first and the last batch."""
        first = 0
        for block in _blocks_of_arrays(self.data_adapter, most):
            yield first, first + len(block) - 1, block
            first += len(block)

    def __next__(self) -> Any:
        try:
            found = super().__next__()
        except StopIteration:
            if not self._has_data:
                raise ValueError("Expected input data to be non-empty: there is no batch in it.") from None
            raise
        self._has_data = True
        return found


class Block(Sequence[Any]):
    """Batches of equal structure and shapes, stacked."""

    def __init__(self, like: Any, arrays: Sequence[Any]) -> None:
        self.like = like
        """The structure of a batch."""
        self.arrays = arrays
        """The stacked arrays, one for each leaf of the structure that is not None."""

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getitem__(self, index: Any) -> Any:
        parts = iter([x[index] for x in self.arrays])
        return tree.map_structure(lambda _: next(parts), self.like, none_is_leaf=False)


def leaves(batch: Any) -> list[Any]:
    """The leaves of a structure that are not None."""
    return [x for x in tree.flatten(batch) if x is not None]


def _blocks_of_arrays(adapter: ArrayDataAdapter, most: Callable[[], int]) -> Iterator[Block]:
    """The batches of Keras' adapter, in the same order, several at a time: one at a time takes longer than a small
    model's step."""
    arrays, count, size = leaves(adapter._inputs), adapter._num_samples, adapter._batch_size
    order = _shuffled(count) if adapter._shuffle else None
    start = 0
    while start < count:
        batches = max(1, min(most(), (count - start) // size))
        stop = min(start + batches * size, count)
        rows = slice(start, stop) if order is None else order[start:stop]
        shape = batches, (stop - start) // batches
        yield Block(adapter._inputs, [_in_floatx(x[rows]).reshape(*shape, *x.shape[1:]) for x in arrays])
        start = stop


_LARGEST: Final = 2**31 - 1


def _shuffled(count: int) -> Any:
    """An order of rows: after `set_random_seed` the one of Keras on TensorFlow, the same in each epoch."""
    seed = global_seed()
    return np.random.permutation(count) if seed is None else _order_of(seed % _LARGEST, count)


@functools.lru_cache(maxsize=4)
def _order_of(seed: int, count: int) -> Any:
    return permutation((seed, 0 if seed else _LARGEST), count)


def _in_floatx(x: Any) -> Any:
    """Floats in Keras' default dtype, as its adapters of arrays pass them."""
    is_other = x.dtype != object and x.dtype.name != floatx() and is_float_dtype(x.dtype)
    return x.astype(floatx()) if is_other else x


def batches(x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, **options: Any) -> Any:
    """The batches of an epoch, of any data that Keras takes and of datasets of this runtime. Taking them raises
    ValueError if there are none."""
    if isinstance(x, Dataset):
        for name, argument in (("y", y), ("sample_weight", sample_weight)):
            if argument is not None:
                raise ValueError(f"`{name}` cannot be given beside a dataset, whose elements have all: x, (x, y) or "
                                 "(x, y, sample_weight)")
        x, class_weight = DatasetAdapter(x, class_weight), None
    return _Batches(x=x, y=y, sample_weight=sample_weight, class_weight=class_weight, **options)
