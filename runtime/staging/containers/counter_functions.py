"""Convertible Python versions of the methods and operators of `collections.Counter`, of `OrderedDict` and of
`dict.fromkeys`, for items that only the graph knows."""
# The code that converts has no annotations: the items may be anything.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated, misc"
from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from autograph.backend import convert_file, has_staged_items
from runtime.staging.values.iterables import stages

__all__ = ["COUNTERS", "COUNTER_OPERATORS", "READ_COUNTS", "are_staged_counters", "has_staged_counts"]

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


def _subtracted(self, other, /):
    return _combined(self, other, lambda a, b: a - b)


def _or(self, other, /):
    return _combined(self, other, max)


def _and(self, other, /):
    made = Counter()
    for item, count in self.items():
        found = min(count, other[item])
        if found > 0:
            made[item] = found
    return made


def _combined(self, other, combine):
    made = Counter()
    for item, count in self.items():
        found = combine(count, other[item])
        if found > 0:
            made[item] = found
    for item, count in other.items():
        found = combine(0, count)
        if item not in self and found > 0:
            made[item] = found
    return made


def _pos(self, /):
    return _combined(self, Counter(), lambda a, b: a)


def _neg(self, /):
    return _combined(self, Counter(), lambda a, b: -a)


def _iadd(self, other, /):
    return _become(self, _add(self, other))


def _ior(self, other, /):
    return _become(self, _or(self, other))


def _isub(self, other, /):
    return _become(self, _subtracted(self, other))


def _iand(self, other, /):
    return _become(self, _and(self, other))


def _become(self, other):
    self.clear()
    for item, count in other.items():
        self[item] = count
    return self


def _eq(self, other, /):
    return all(count == other[item] for item, count in self.items()) and all(
        self[item] == count for item, count in other.items())


def _ne(self, other, /):
    return not _eq(self, other)


def _le(self, other, /):
    return all(count <= other[item] for item, count in self.items()) and all(
        self[item] <= count for item, count in other.items())


def _ge(self, other, /):
    return _le(other, self)


def _lt(self, other, /):
    return _le(self, other) and _ne(self, other)


def _gt(self, other, /):
    return _lt(other, self)


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


COUNTER_OPERATORS: Final[Mapping[str, Callable[..., Any]]] = {
    "add": _add, "sub": _subtracted, "or_": _or, "and_": _and, "iadd": _iadd, "isub": _isub, "ior": _ior,
    "iand": _iand, "pos": _pos, "neg": _neg, "eq": _eq, "ne": _ne, "le": _le, "ge": _ge, "lt": _lt, "gt": _gt}
"""By the name of an operator in `operator`: the function for counters."""
COUNTERS: Final[Mapping[Any, Callable[..., Any]]] = {
    Counter: _counter, Counter.update: _update, Counter.subtract: _subtract, Counter.copy: _copy,
    Counter.most_common: _most_common, Counter.total: _total, Counter.elements: _elements, OrderedDict: _ordered,
    dict.fromkeys: _fromkeys,
    **{getattr(Counter, f"__{name.strip('_')}__"): method for name, method in COUNTER_OPERATORS.items()}}
"""By function or class: its convertible replacement in traced functions."""
READ_COUNTS: Final = frozenset({
    Counter.most_common, Counter.elements, *[getattr(Counter, f"__{name.strip('_')}__") for name in COUNTER_OPERATORS]})
"""Those of the functions that compare or repeat by the counts, where the others store and add them."""


def has_staged_counts(x: Any) -> bool:
    """Whether `x` is a counter of known items, of which the graph knows counts."""
    return isinstance(x, Counter) and not has_staged_items(x) and stages(*dict.values(x))


def are_staged_counters(*values: Any) -> bool:
    """Whether all of the values are counters, and the graph knows items or counts of some."""
    return all(isinstance(value, Counter) for value in values) and any(
        has_staged_items(value) or has_staged_counts(value) for value in values)
