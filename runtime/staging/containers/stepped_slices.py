"""Convertible Python versions of the assignment to, and the deletion of, a slice of a list with a step."""
# The code that converts has no annotations: bounds and items may be Python's or the graph's.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

from autograph.backend import convert_file

__all__ = ["delete_items", "set_items"]

convert_file(__file__)


def set_items(xs, start, stop, step, items):
    """`xs[start:stop:step] = items`, for a list of items that is not `xs`."""
    first, count, _ = _places(xs, start, stop, step)
    if len(items) != count:
        if step == 1:
            raise ValueError(f"attempt to assign a sequence of size {len(items)} to a slice of size {count}, whose step"
                             " of 1 only the graph knows")
        raise ValueError(f"attempt to assign sequence of size {len(items)} to extended slice of size {count}")
    for i in range(count):
        xs[first + i * step] = items[i]


def delete_items(xs, start, stop, step):
    """`del xs[start:stop:step]`."""
    first, count, by = _places(xs, start, stop, step)
    low = first if step > 0 else first + (count - 1) * step
    kept = []
    for i, x in enumerate(xs):
        if i < low or i > low + (count - 1) * by or (i - low) % by != 0:
            kept.append(x)
    xs[:] = kept


def _places(xs, start, stop, step):
    """The first place in a slice, how many there are, and their distance."""
    if step == 0:
        raise ValueError("slice step cannot be zero")
    size = len(xs)
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first, last = (low, high) if step > 0 else (high, low)
    if start is not None:
        first = max(start + size, low) if start < 0 else min(start, high)
    if stop is not None:
        last = max(stop + size, low) if stop < 0 else min(stop, high)
    by = abs(step)
    span = last - first if step > 0 else first - last
    return first, max((span + by - 1) // by, 0), by
