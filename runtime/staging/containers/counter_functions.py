"""Convertible Python versions of the methods of `collections.Counter`, of `OrderedDict` and of `dict.fromkeys`, for
items that only the graph knows."""
# The code that converts has no annotations: the items may be anything.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated, misc"
from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from autograph.backend import convert_file

__all__ = ["COUNTERS", "COUNTER_OPERATORS"]

convert_file(__file__)


def _counter(iterable=None, /, **counts):
    made = Counter()
    _update(made, iterable, **counts)
    return made


def _update(self, iterable=None, /, **counts):
    if isinstance(iterable, dict):
        for item, count in iterable.items():
            self[item] = count + self[item]
    elif iterable is not None:
        for item in iterable:
            self[item] += 1
    for item, count in counts.items():
        self[item] += count


def _subtract(self, iterable=None, /, **counts):
    if isinstance(iterable, dict):
        for item, count in iterable.items():
            self[item] = self[item] - count
    elif iterable is not None:
        for item in iterable:
            self[item] -= 1
    for item, count in counts.items():
        self[item] -= count


def _copy(self, /):
    return _counter(self)


def _most_common(self, /, n=None):
    found = sorted(self.items(), key=lambda pair: pair[1], reverse=True)
    return found if n is None else found[:max(n, 0)]


def _total(self, /):
    return sum(self.values())


def _elements(self, /):
    return [item for item, count in self.items() for _ in range(count)]


def _add(self, other, /):
    return _combined(self, other, lambda a, b: a + b)


def _or(self, other, /):
    return _combined(self, other, max)


def _combined(self, other, combine):
    made = Counter()
    for item, count in self.items():
        found = combine(count, other[item])
        if found > 0:
            made[item] = found
    for item, count in other.items():
        if item not in self and count > 0:
            made[item] = count
    return made


def _iadd(self, other, /):
    return _become(self, _add(self, other))


def _ior(self, other, /):
    return _become(self, _or(self, other))


def _become(self, other):
    self.clear()
    for item, count in other.items():
        self[item] = count
    return self


def _ordered(items=(), /, **more):
    made = OrderedDict()
    made.update(items)
    made.update(more)
    return made


def _fromkeys(keys, value=None, /):
    made = {}
    for key in keys:
        made[key] = value
    return made


COUNTERS: Final[Mapping[Any, Callable[..., Any]]] = {
    Counter: _counter, Counter.update: _update, Counter.subtract: _subtract, Counter.copy: _copy,
    Counter.most_common: _most_common, Counter.total: _total, Counter.elements: _elements, OrderedDict: _ordered,
    dict.fromkeys: _fromkeys}
"""By function or class: its convertible replacement in traced functions."""
COUNTER_OPERATORS: Final[Mapping[str, Callable[..., Any]]] = {"add": _add, "or_": _or, "iadd": _iadd, "ior": _ior}
"""By the name of a binary operator in `operator`: the function for two counters."""
