"""Convertible Python code that sorts by comparisons of keys, for keys whose order no columns of numbers have: objects
with `__lt__` of their own, lists, and those of `functools.cmp_to_key`."""
# The code that converts has no annotations: the keys may be anything that is ordered.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment"
from __future__ import annotations

import functools
import gc
from typing import Any, Final

from autograph.backend import convert_file, operators

__all__ = ["KEY_WRAPPER", "cmp_to_key", "order_of_key", "sorted_places", "wrapped_comparison"]

convert_file(__file__)


def _cmp_to_key(mycmp):
    """`functools.cmp_to_key`, with keys that are plain objects."""
    class K:
        __module__ = "functools"
        __compare__ = staticmethod(mycmp)

        def __init__(self, obj):
            self.obj = obj

        def __lt__(self, other):
            return mycmp(self.obj, other.obj) < 0

        def __gt__(self, other):
            return mycmp(self.obj, other.obj) > 0

        def __eq__(self, other):
            return mycmp(self.obj, other.obj) == 0

        def __le__(self, other):
            return mycmp(self.obj, other.obj) <= 0

        def __ge__(self, other):
            return mycmp(self.obj, other.obj) >= 0

        __hash__ = None

    return K


def _sorted_places(keys, size, reverse, less):
    """The places of the keys in their order, equal ones as they are: a merge sort from the bottom up."""
    order = [place for place in range(size)]
    width = 1
    while width < size:
        merged = []
        start = 0
        while start < size:
            left, middle, end = start, min(start + width, size), min(start + 2 * width, size)
            right = middle
            while left < middle or right < end:
                takes_right = right < end
                if takes_right and left < middle:
                    one, other = keys[order[left]], keys[order[right]]
                    takes_right = less(one, other) if reverse else less(other, one)
                if takes_right:
                    merged.append(order[right])
                    right += 1
                else:
                    merged.append(order[left])
                    left += 1
            start = end
        order = merged
        width *= 2
    return order


sorted_places: Final[Any] = _sorted_places
KEY_WRAPPER: Final[type] = type(functools.cmp_to_key(max))


def cmp_to_key(mycmp: Any) -> Any:
    """`functools.cmp_to_key` in traced code."""
    return operators.call(_cmp_to_key)(mycmp)


def wrapped_comparison(key: Any) -> Any:
    """A key of `functools.cmp_to_key` that was made by Python: as one made in traced code."""
    return cmp_to_key(next(each for each in gc.get_referents(key) if each is not KEY_WRAPPER))


def order_of_key(key: Any) -> Any:
    """What compares two items, as `<` does, where the key is one of `functools.cmp_to_key`; else None."""
    key = wrapped_comparison(key) if type(key) is KEY_WRAPPER else key
    mycmp = getattr(key, "__compare__", None) if getattr(key, "__module__", "") == "functools" else None
    return None if mycmp is None else lambda one, other: operators.call(mycmp)(one, other) < 0
