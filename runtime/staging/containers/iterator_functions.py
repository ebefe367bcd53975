"""Convertible Python versions of the functions of `itertools`, and of `heapq.merge`, for iterables with graph values:
each makes the list of all items. They also serve `operator.itemgetter`."""
# The code that converts has no annotations: the items may be anything.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated, misc"
from __future__ import annotations

import heapq
import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from autograph.backend import convert_file
from runtime.staging.values.generators import without_effects

__all__ = ["COUNT", "ITERATORS", "items_at"]

convert_file(__file__)


def _islice(iterable, /, *bounds):
    part = slice(*bounds)
    for bound in (part.start, part.stop, part.step):
        if bound is not None and bound < (bound is part.step):
            raise ValueError("indices and the step of islice() must not be negative, and the step not 0")
    if not hasattr(iterable, "__next__"):
        return list(iterable)[part.start:part.stop:part.step]
    found, place = [], 0
    first, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
    if part.stop is None or part.stop > 0:
        for item in iterable:
            if place >= first and (place - first) % step == 0:
                found.append(item)
            place += 1
            if part.stop is not None and place >= part.stop:
                break
    return found


def _accumulate(iterable, function=operator.add, *, initial=None):
    items = list(iterable)
    found = [] if initial is None else [initial]
    total = initial
    for item in items:
        total = item if total is None else function(total, item)
        found.append(total)
    return found


def _chain(*iterables):
    return _from_iterable(iterables)


def _from_iterable(iterables, /):
    found = []
    for items in iterables:
        found.extend(list(items))
    return found


def _pairwise(iterable, /):
    items = list(iterable)
    return [(items[i], items[i + 1]) for i in range(len(items) - 1)]


def _zip_longest(*iterables, fillvalue=None):
    lists = [list(items) for items in iterables]
    return [tuple([items[i] if i < len(items) else fillvalue for items in lists])
            for i in range(max([len(items) for items in lists]))]


def _compress(data, selectors):
    return [item for item, is_selected in zip(data, selectors) if is_selected]


def _product(*iterables, repeat=1):
    lists = [list(items) for items in iterables] * repeat
    if not lists:
        return [()]
    found = [(item,) for item in lists[0]]
    for items in lists[1:]:
        found = [(*front, item) for front in found for item in items]
    return found


def _combinations(iterable, r):
    return _in_order(list(iterable), r, 1)


def _combinations_with_replacement(iterable, r):
    return _in_order(list(iterable), r, 0)


def _in_order(items, r, step):
    """All tuples of `r` of the items, each at least `step` places after the one before it."""
    if r == 0:
        return [()]
    places = [(i,) for i in range(len(items))]
    for _ in range(r - 1):
        places = [(*front, i) for front in places for i in range(front[-1] + step, len(items))]
    return [tuple([items[i] for i in each]) for each in places]


def _permutations(iterable, r=None):
    items = list(iterable)
    if r is None:
        r = len(items)
    if r == 0:
        return [()]
    places = [(i,) for i in range(len(items))]
    for _ in range(r - 1):
        places = [(*front, i) for front in places for i in range(len(items)) if i not in front]
    return [tuple([items[i] for i in each]) for each in places]


def _takewhile(predicate, iterable, /):
    found = []
    for item in iterable:
        if not predicate(item):
            break
        found.append(item)
    return found


def _dropwhile(predicate, iterable, /):
    found, drops = [], True
    for item in iterable:
        drops = drops and bool(predicate(item))
        if not drops:
            found.append(item)
    return found


def _filterfalse(predicate, iterable, /):
    return [item for item in iterable if not (item if predicate is None else predicate(item))]


def _starmap(function, iterable, /):
    return [function(*arguments) for arguments in iterable]


def _groupby(iterable, key=None):
    items = list(iterable)
    keys = items if key is None else [key(item) for item in items]
    starts = [i for i in range(len(items)) if i == 0 or keys[i] != keys[i - 1]]
    return ((keys[start], iter(items[start:stop])) for start, stop in zip(starts, [*starts[1:], len(items)]))


def _repeat(object, times):
    return [object for _ in range(times)]


def _merge(*iterables, key=None, reverse=False):
    items, places, ends = [], [], []
    for each in iterables:
        places.append(len(items))
        items.extend(list(each))
        ends.append(len(items))
    keys = items if key is None else without_effects(lambda: [key(item) for item in items])
    found = []
    for _ in range(len(items)):
        first = -1
        for k in range(len(places)):
            if places[k] < ends[k] and (first < 0 or (
                    keys[places[first]] < keys[places[k]] if reverse else keys[places[k]] < keys[places[first]])):
                first = k
        found.append(items[places[first]])
        places[first] += 1
    return found


def items_at(places, items):
    """The item at one of the places, or the tuple of those at several."""
    return items[places[0]] if len(places) == 1 else tuple([items[place] for place in places])


class count:
    """`itertools.count` as an object whose fields are state of staged code, so that `next` counts when a graph runs."""

    __module__ = "itertools"

    def __init__(self, start=0, step=1):
        if isinstance(start, (str, bytes, list, tuple)):
            raise TypeError("a number is required")
        self.value, self.step = start, step

    def __iter__(self):
        return self

    def __next__(self):
        value = self.value
        self.value = value + self.step
        return value

    def __counts__(self):
        """The next number, and the difference of two numbers in sequence."""
        return self.value, self.step

    def __repr__(self):
        return f"count({self.value!r}{'' if self.step == 1 else f', {self.step!r}'})"


COUNT: Final[Any] = count
ITERATORS: Final[Mapping[Any, Callable[..., Any]]] = {
    itertools.islice: _islice, itertools.accumulate: _accumulate, itertools.chain: _chain,
    itertools.chain.from_iterable: _from_iterable, itertools.pairwise: _pairwise,
    itertools.zip_longest: _zip_longest, itertools.compress: _compress, itertools.product: _product,
    itertools.combinations: _combinations, itertools.permutations: _permutations,
    itertools.combinations_with_replacement: _combinations_with_replacement,
    itertools.takewhile: _takewhile, itertools.dropwhile: _dropwhile, itertools.filterfalse: _filterfalse,
    itertools.starmap: _starmap, itertools.groupby: _groupby, itertools.repeat: _repeat, heapq.merge: _merge}
"""By function: its convertible replacement in traced functions, which makes a list of the items."""
