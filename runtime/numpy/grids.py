"""What NumPy's `r_`, `c_`, `mgrid` and `ogrid` give for an index with values of the graph."""
from __future__ import annotations

from typing import Any

import numpy as np

from runtime.core.errors import StagingError
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor, holds_tensor
from runtime.core.types import float64, int64
from runtime.numpy.array_indexing import entries_of, located, numbers_in, plain_index
from runtime.numpy.array_results import from_numpy, made_of, new_array
from runtime.numpy.arrays import arange, astype, concatenate, elements, linspace
from runtime.ops import shape as shapes

__all__ = ["GRIDS", "at_index"]

GRIDS = type(np.r_), type(np.c_), type(np.mgrid), type(np.ogrid)
"""The types of these objects."""


def at_index(container: Any, index: Any) -> Any:
    """`np.r_[index]`, or the same for the others."""
    if not any(isinstance(part, Tensor) or holds_tensor([part]) for part in numbers_in(index)):
        return from_numpy(container[index])
    given, index = index, plain_index(index)
    if isinstance(container, (type(np.mgrid), type(np.ogrid))):
        lines = [_line(part) for part in entries_of(index)]
        if len({line.dtype for line in lines}) > 1:
            lines = [astype(line, float64) for line in lines]
        count = len(lines)
        found = [shapes.reshape(line, [-1 if k == axis else 1 for k in range(count)])
                 for axis, line in enumerate(lines)]
        if not isinstance(index, tuple):
            return new_array(found[0])
        if isinstance(container, type(np.ogrid)):
            return tuple([new_array(x) for x in found])
        sizes = [shapes.dim(line, 0) for line in lines]
        return new_array(shapes.stack([shapes.broadcast_to(x, sizes) for x in found]))
    is_rows = isinstance(container, type(np.r_))
    parts = _parts(index)
    if not is_rows:
        parts = [x if x.ndim > 1 else shapes.reshape(x, [-1, 1]) for x in parts]
    return made_of(concatenate(parts, 0 if is_rows else -1), entries_of(given))


def _line(part: slice) -> Tensor:
    """The numbers of a slice: as many as an imaginary step says, or those of `arange`."""
    start, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
    if isinstance(step, complex):
        line: Tensor = linspace(start, part.stop, int(abs(step)))
        return line
    found = arange(start, part.stop, step)
    return astype(found, int64 if found.dtype.is_integer else float64)


def _parts(index: Any) -> list[Tensor]:
    entries: list[Any] = []
    for part in entries_of(index):
        if isinstance(part, str):
            raise located(StagingError("np.r_ and np.c_ take no text in front of values of the graph",
                                       remedy="Use np.concatenate, np.stack or np.column_stack with an axis."))
        entries.append(_line(part) if isinstance(part, slice) else part)
    own = next((x.dtype for x in entries if isinstance(x, Tensor)), None)
    parts = []
    for x in entries:
        value = x if isinstance(x, Tensor) else elements(x)
        is_number = type(x) in (int, float, complex) and own is not None and value.dtype.level <= own.level
        value = astype(value, own) if is_number else value
        parts.append(value if value.ndim else shapes.reshape(convert_to_tensor(value), [1]))
    return parts
