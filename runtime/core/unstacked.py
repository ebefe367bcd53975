"""The elements of an array as eager tensors, without Python code for each: lists of results are long."""
from __future__ import annotations

import collections
import itertools
from typing import Any

import numpy as np

from runtime.core.tensor import EagerTensor

__all__ = ["unstacked"]

_set_array: Any = EagerTensor.__dict__["_array"].__set__  # of the slot


def unstacked(array: np.ndarray[Any, np.dtype[Any]]) -> list[EagerTensor]:
    """The elements along the first axis of a read-only array of rank 1 or more, as views of it."""
    if array.dtype == object:
        return list(map(EagerTensor.own, array))
    tensors = list(map(object.__new__, itertools.repeat(EagerTensor, len(array))))
    # nditer gives 0-d views, where the iterator of an array gives NumPy scalars.
    elements: Any = np.nditer(array, ["zerosize_ok"], order="C") if array.ndim == 1 else array
    collections.deque(map(_set_array, tensors, elements), maxlen=0)
    return tensors
