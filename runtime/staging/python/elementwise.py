"""Python code, which converts, for functions of NumPy that call or show Python for each element."""
# The code that converts has no annotations: the values may be anything that the function takes.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import numpy as np

from autograph.backend import convert_file

__all__ = ["nested_lists", "vectorized"]

convert_file(__file__)


def vectorized(function, dtype, shape, *columns):
    """The results of a function for the elements of flat arrays, in an array of some shape."""
    found = []
    if len(columns) == 1:
        for x in columns[0]:
            found.append(function(x))
    elif len(columns) == 2:
        for x, y in zip(columns[0], columns[1]):
            found.append(function(x, y))
    else:
        for x, y, z in zip(columns[0], columns[1], columns[2]):
            found.append(function(x, y, z))
    made = np.array(found) if dtype is None else np.array(found, dtype)
    return np.reshape(made, shape)


def nested_lists(rows):
    """`rows.tolist()` for an array of rank 2 or more."""
    return [row.tolist() for row in rows]
