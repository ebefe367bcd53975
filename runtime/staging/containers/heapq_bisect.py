"""Convertible Python versions of C functions, for lists with graph values: `heapq`, `bisect`, and list comparison.

Items of a heap end up in the same places as in Python. They are compared by `<`, in Python's order, and may be tuples
(`comparison.py`).
"""
# The code that converts has no annotations: the values may be anything that is ordered.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Mapping
from typing import Any, Final

from autograph.backend import convert_file

__all__ = ["FUNCTIONS", "compare_items", "equal_items"]

convert_file(__file__)


def equal_items(x, y):
    """Whether two lists have equal items, which are compared only if the lengths are equal, up to a difference."""
    place, end = 0, len(x)
    if end != len(y):
        return False
    while place < end and x[place] == y[place]:
        place += 1
    return place == end


def compare_items(order, x, y):
    """`order` applied to the first items of two lists that differ; if none do, to the lengths."""
    place, end = 0, min(len(x), len(y))
    while place < end and x[place] == y[place]:
        place += 1
    return order(x[place], y[place]) if place < end else order(len(x), len(y))


def _heappush(heap, item, /):
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


def _heappop(heap, /):
    last = heap.pop()
    return _heapreplace(heap, last) if heap else last


def _heapreplace(heap, item, /):
    first = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return first


def _heappushpop(heap, item, /):
    if heap and heap[0] < item:
        return _heapreplace(heap, item)
    return item


def _heapify(heap, /):
    place = len(heap) // 2
    while place > 0:
        place -= 1
        _sink(heap, place)


def _rise(heap, start, place):
    """Move an item towards `start`, until its parent is not greater."""
    item = heap[place]
    while place > start and item < heap[(place - 1) // 2]:
        above = (place - 1) // 2
        heap[place] = heap[above]
        place = above
    heap[place] = item


def _sink(heap, start):
    """Move an item down to a leaf, each time swapping it with the lesser child, and then up from there."""
    end, place, item = len(heap), start, heap[start]
    below = 2 * place + 1
    while below < end:
        if below + 1 < end and not heap[below] < heap[below + 1]:
            below += 1
        heap[place] = heap[below]
        place = below
        below = 2 * place + 1
    heap[place] = item
    _rise(heap, start, place)


def _nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[:max(n, 0)]


def _nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[:max(n, 0)]


def _bisect_left(a, x, lo=0, hi=None, *, key=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    low, high = lo, len(a) if hi is None else hi
    while low < high:
        middle = (low + high) // 2
        if (a[middle] if key is None else key(a[middle])) < x:
            low = middle + 1
        else:
            high = middle
    return low


def _bisect_right(a, x, lo=0, hi=None, *, key=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    low, high = lo, len(a) if hi is None else hi
    while low < high:
        middle = (low + high) // 2
        if x < (a[middle] if key is None else key(a[middle])):
            high = middle
        else:
            low = middle + 1
    return low


def _insort_left(a, x, lo=0, hi=None, *, key=None):
    a.insert(_bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def _insort_right(a, x, lo=0, hi=None, *, key=None):
    a.insert(_bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


FUNCTIONS: Final[Mapping[Any, Callable[..., Any]]] = {
    heapq.heappush: _heappush, heapq.heappop: _heappop, heapq.heapreplace: _heapreplace,
    heapq.heappushpop: _heappushpop, heapq.heapify: _heapify, heapq.nlargest: _nlargest, heapq.nsmallest: _nsmallest,
    bisect.bisect_left: _bisect_left, bisect.bisect_right: _bisect_right, bisect.insort_left: _insort_left,
    bisect.insort_right: _insort_right,
}
"""By function: its convertible replacement in traced functions."""
