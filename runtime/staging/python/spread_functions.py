"""Convertible Python versions of functions that take any number of arguments, for calls such as `zip(*rows)`: each gets
lists of its positional arguments, of which the graph may know alone how many there are."""
# The code that converts has no annotations: the items may be anything.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated, misc"
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from autograph.backend import convert_file
from runtime.ops.effects import plain_text

__all__ = ["OF_SETS", "SPREAD_FUNCTIONS", "columns_of", "columns_of_tuples", "joined", "map_columns"]

convert_file(__file__)


def joined(parts):
    """The list of the items of some lists."""
    items = list(parts[0])
    for part in parts[1:]:
        items = items + list(part)
    return items


def columns_of(parts):
    """The tuples of the first, second ... items of some rows, as many as the shortest row has."""
    rows = [list(row) for row in joined(parts)]
    length = min([len(row) for row in rows], default=0)
    return [tuple([row[place] for row in rows]) for place in range(length)]


def columns_of_tuples(rows, width):
    """`columns_of` tuples of this length."""
    return [tuple([row[place] for row in rows]) for place in range(width)]


def map_columns(function, columns):
    return (function(*arguments) for arguments in columns)


def _print(parts, sep=None, **options):
    texts = []
    for part in parts:
        for item in part:
            texts.append(plain_text(item))
    print((" " if sep is None else sep).join(texts), **options)


def _max(parts, **options):
    items = joined(parts)
    _check_several(items, "max")
    return max(items, **options)


def _min(parts, **options):
    items = joined(parts)
    _check_several(items, "min")
    return min(items, **options)


def _check_several(items, name):
    if len(items) == 0:
        raise TypeError(f"{name} expected at least 1 argument, got 0")
    if len(items) == 1:
        raise TypeError(f"'{type(items[0]).__name__}' object is not iterable")


def _chain(parts):
    found = []
    for items in joined(parts):
        found.extend(list(items))
    return found


def _gcd(parts):
    found = 0
    for number in joined(parts):
        found = math.gcd(found, number)
    return found


def _lcm(parts):
    found = 1
    for number in joined(parts):
        found = math.lcm(found, number)
    return found


def _union(first, parts):
    found = set(first)
    for items in joined(parts):
        found = found | set(items)
    return found


def _intersection(first, parts):
    found = set(first)
    for items in joined(parts):
        found = found & set(items)
    return found


def _difference(first, parts):
    found = set(first)
    for items in joined(parts):
        found = found - set(items)
    return found


def _update(first, parts):
    for items in joined(parts):
        first.update(items)


SPREAD_FUNCTIONS: Final[Mapping[Any, Callable[..., Any]]] = {
    print: _print, max: _max, min: _min, itertools.chain: _chain, math.gcd: _gcd, math.lcm: _lcm}
"""By function: its version that gets lists of its positional arguments."""
OF_SETS: Final[Mapping[str, Callable[..., Any]]] = {
    "union": _union, "intersection": _intersection, "difference": _difference, "update": _update}
"""By name of a method of sets: its version that gets the set and lists of the further arguments."""
