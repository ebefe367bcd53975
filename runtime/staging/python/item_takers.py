"""Calls of C and library code that takes the items of its arguments: `itertools`, `statistics`, `Counter` and others.

Where only the graph knows these items, a convertible version of the code runs in its place.
"""
from __future__ import annotations

import functools
import heapq
import itertools
import operator
from collections import deque
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

from autograph.backend import LISTS, operators
from runtime.core.trace import current_graph
from runtime.staging.containers.counter_functions import COUNTERS, READ_COUNTS, has_staged_counts
from runtime.staging.containers.iterator_functions import COUNT, ITERATORS, items_at
from runtime.staging.python.statistics_module import STATISTICS_FUNCTIONS
from runtime.staging.storage.dict_keys import is_staged_key
from runtime.staging.values.generators import StagedGenerator, listed, once, without_effects
from runtime.staging.values.iterables import stages
from runtime.staging.values.list import unview

__all__ = ["takes_items", "taking_items"]

_OF_BUILTINS: Final = frozenset({list.__init__, set.__init__, deque.__init__, tuple.__new__, frozenset.__new__})
"""The constructors that subclasses inherit from Python's collections."""


def takes_items(fn: Any) -> bool:
    """Whether a callee that otherwise only stores its arguments takes the items of those that are lists."""
    if isinstance(fn, type):
        return (fn.__module__ in ("collections", "itertools") and fn is not itertools.repeat) or any(
            [getattr(fn, name) in _OF_BUILTINS for name in ("__init__", "__new__")])
    owner = getattr(fn, "__objclass__", None) or getattr(fn, "__self__", fn)
    kind = owner if isinstance(owner, type) else type(owner)
    return issubclass(kind, (frozenset, operator.itemgetter)) or kind.__module__ == "itertools"


def taking_items(fn: Any, python: Callable[..., Any]) -> Callable[..., Any]:
    """What to call in place of `fn`: its convertible version where it takes items that only the graph knows, else
    `python`."""
    if type(fn) is operator.itemgetter:
        places = fn.__reduce__()[1]
        return _choosing(lambda items: operators.call(items_at)(places, items), python, stages)
    if not isinstance(fn, (type, FunctionType, BuiltinFunctionType)):
        return python
    if fn in STATISTICS_FUNCTIONS:
        return functools.partial(_of_data, _choosing(operators.call(STATISTICS_FUNCTIONS[fn]), python, _has_staged))
    if fn in COUNTERS:
        reads = fn in READ_COUNTS
        return _choosing(operators.call(COUNTERS[fn]), python, lambda value: stages(value) or _has_staged(value) or (
            reads and has_staged_counts(value)))
    if fn is itertools.count:
        return lambda *args, **keywords: (python if current_graph() is None else COUNT)(*args, **keywords)
    if fn is itertools.tee:
        return _choosing(_tee, python, _is_staged)
    if fn not in ITERATORS:
        return python
    return _choosing(functools.partial(_iterator, fn), python, _has_staged if fn in _USING else _is_staged)


_USING: Final = frozenset({
    itertools.chain.from_iterable, itertools.starmap, itertools.compress, itertools.dropwhile, itertools.filterfalse,
    itertools.groupby, itertools.takewhile, heapq.merge})
"""The functions that take the items of their arguments' items, compare items, or ask for the truth of items or what is
made of them."""
_LEAVING: Final = frozenset({itertools.islice, itertools.takewhile})
"""The functions that may end before their iterable does, which may be endless."""


def _iterator(fn: Any, /, *args: Any, **keywords: Any) -> StagedGenerator:
    """The iterator that a function of `itertools` returns. StagingError if it is observable that the items are computed
    at once."""
    args = tuple(map(_exited if fn in _LEAVING else _as_list, args))

    def made() -> Any:
        return operators.call(ITERATORS[fn])(*args, **keywords)

    values = () if fn is heapq.merge else (*args, *keywords.values())  # which checks its key alone
    observed = any([isinstance(value, StagedGenerator) or callable(value) for value in values])
    return once(unview(without_effects(made) if observed else made()))


def _choosing(
    staged: Callable[..., Any], python: Callable[..., Any], is_staged: Callable[[Any], bool]
) -> Callable[..., Any]:
    def called(*args: Any, **keywords: Any) -> Any:
        known = current_graph() is None or not any(map(is_staged, (*args, *keywords.values())))
        return (python if known else staged)(*args, **keywords)

    return called


def _is_staged(value: Any) -> bool:
    """Whether only the graph knows the items of a value, so that C code cannot take them one by one."""
    return stages(value) and not (isinstance(value, StagedGenerator) and (value.began or value.is_known()))


def _has_staged(value: Any) -> bool:
    """Whether a value, or an item of it, is known only when the graph runs."""
    return _is_staged(value) or is_staged_key(value) or (
        isinstance(value, (*LISTS, tuple)) and any([stages(item) or is_staged_key(item) for item in value]))


def _of_data(fn: Callable[..., Any], /, data: Any, *args: Any, **keywords: Any) -> Any:
    if isinstance(data, StagedGenerator):
        data = unview(listed(data))
    return fn(list(data) if hasattr(data, "__next__") else data, *args, **keywords)


def _exited(value: Any) -> Any:
    """An argument; a generator as a new one, since it is not known how far Python would run over the old one."""
    return StagedGenerator(value.use(whole=False)) if isinstance(value, StagedGenerator) else value


def _as_list(value: Any) -> Any:
    """An argument; for a generator, the list of its items."""
    return unview(without_effects(lambda: listed(_exited(value)))) if isinstance(value, StagedGenerator) else value


def _tee(iterable: Any, n: int = 2) -> tuple[StagedGenerator, ...]:
    items = unview(listed(_as_list(iterable)))
    return tuple([once(items) for _ in range(n)])
