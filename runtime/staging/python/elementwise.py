"""Python code, which converts, for functions of NumPy that call or show Python for each element."""
# The code that converts has no annotations: the values may be anything that the function takes.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import numpy as np

from autograph.backend import convert_file

__all__ = ["along_axis", "nested_lists", "piecewise", "vectorized"]

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


def along_axis(function, axis, x, *args, **keywords):
    """`numpy.apply_along_axis`."""
    axis %= x.ndim
    rows = np.moveaxis(x, axis, -1)
    sizes = rows.shape[:-1]
    found = []
    for row in np.reshape(rows, (-1, rows.shape[-1])):
        found.append(np.asarray(function(row, *args, **keywords)))
    made = np.array(found)
    made = np.reshape(made, (*sizes, *made.shape[1:]))
    for place in range(made.ndim - len(sizes)):
        made = np.moveaxis(made, len(sizes) + place, axis + place)
    return made


def piecewise(x, conditions, functions, *args, **keywords):
    """`numpy.piecewise`."""
    found = np.zeros_like(x)
    is_one = not isinstance(conditions[0], (list, np.ndarray)) and np.ndim(conditions[0]) == 0 and x.ndim != 0
    conditions = [conditions] if is_one else [*conditions]
    if len(functions) == len(conditions) + 1:
        conditions.append(~np.any(np.stack(conditions), axis=0))
    for condition, function in zip(conditions, functions, strict=True):
        if callable(function):
            chosen = x[condition]
            if chosen.size > 0:
                found[condition] = function(chosen, *args, **keywords)
        else:
            found[condition] = function
    return found
