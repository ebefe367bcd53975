"""The structure of arguments: lists, tuples, mappings, and objects by their fields; and what counts as a leaf."""
from __future__ import annotations

import operator
import threading
from array import array
from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from autograph.backend import declared_fields, duplicate, fields_in, is_list
from runtime.core.inaccessible import is_lost
from runtime.core.tensor import EagerList, GraphList, Tensor
from runtime.core.types import ListType, TensorSpec

__all__ = [
    "Names", "children", "decomposing", "fill_shell", "holds_numbers", "is_array", "is_leaf", "key_of_numbers",
    "keys_in_order", "rebuild", "shell", "walk"]


def children(value: Any) -> list[tuple[str, Any]] | None:
    """The labelled children of a list, deque, tuple, mapping, or instance of a dataclass or attrs class. None for a
    leaf."""
    if isinstance(value, (list, tuple)) or is_list(value):
        fields = getattr(value, "_fields", None)
        if fields is not None:
            return [(f".{name}", child) for name, child in zip(fields, value, strict=True)]
        return [(f"[{i}]", child) for i, child in enumerate(value)]
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", value[key]) for key in keys_in_order(value)]
    names = _fields(value)
    return None if names is None else [(f".{name}", getattr(value, name)) for name in names]


Names = frozenset[str] | None
"""The names of attributes; None for all."""


class _Decomposed(threading.local):
    classes: Mapping[type, Names] = MappingProxyType({})


_decomposed: Final = _Decomposed()


@contextmanager
def decomposing(classes: Mapping[type, Names]) -> Iterator[None]:
    """Objects of these plain classes among the arguments are decomposed into their attributes with these names, as
    those of dataclasses are into fields; other objects are compared by identity."""
    before = _decomposed.classes
    _decomposed.classes = {**before, **{
        kind: None if names is None else before.get(kind, names) for kind, names in classes.items()}}
    try:
        yield
    finally:
        _decomposed.classes = before


def _fields(value: Any) -> list[str] | None:
    kind = type(value)
    if kind not in _decomposed.classes:
        return declared_fields(value)
    names, fields = _decomposed.classes[kind], fields_in(value) or {}
    return sorted(fields if names is None else names.intersection(fields))


def keys_in_order(mapping: Mapping[Any, Any]) -> list[Any]:
    """The keys of a mapping, sorted if they are sortable."""
    try:
        return sorted(mapping)
    except TypeError:
        return list(mapping)


def rebuild(value: Any, parts: Sequence[Any]) -> Any:
    """A container like `value` with other children, in the order of `children`."""
    new = shell(value)
    if new is not None:
        fill_shell(new, value, parts)
        return new
    kind: Any = type(value)
    if isinstance(value, Mapping):
        by_key = dict(zip(keys_in_order(value), parts, strict=True))
        return kind({key: by_key[key] for key in value})
    return kind(*parts) if hasattr(value, "_fields") else kind(parts)


def shell(value: Any) -> Any:
    """An empty container like `value`, to be filled by `fill_shell`, so that it may contain itself. None for tuples,
    objects of subclasses of list, and mappings other than dicts, which have to be constructed from their children."""
    kind: Any = type(value)
    if kind is list:
        return []
    if kind is deque:
        return deque(maxlen=value.maxlen)
    if isinstance(value, (list, tuple)) or (isinstance(value, Mapping) and not isinstance(value, dict)):
        return None
    return object.__new__(kind) if kind in _decomposed.classes else duplicate(value)


def fill_shell(new: Any, value: Any, parts: Sequence[Any]) -> None:
    """Add children to `new`, the shell of `value`, in the order of `children`."""
    if isinstance(new, (list, deque)):
        new.extend(parts)
        return
    if isinstance(new, dict):
        by_key = dict(zip(keys_in_order(value), parts, strict=True))
        for key in value:
            new[key] = by_key[key]
        return
    by_name = dict(zip(_fields(value) or (), parts, strict=True))
    if type(value) in _decomposed.classes:
        by_name = {name: by_name[name] for name in fields_in(value) or {} if name in by_name}
    for name, part in by_name.items():
        object.__setattr__(new, name, part)  # works for frozen classes, too


def walk(
    value: Any, path: str, numbers: bool = True, met: dict[int, Any] | None = None
) -> Iterator[tuple[str, Any]]:
    """The leaves of nested containers, each with its path, such as `x`, `x[0]` or `state['h'].w`; a container that
    occurs twice is walked once. `numbers`: whether to include the items of lists and tuples of nothing but Python
    numbers. `met`: the containers met so far, by id."""
    met = {} if met is None else met
    if id(value) in met:
        return
    if holds_numbers(value):
        if numbers:
            yield from [(f"{path}[{i}]", number) for i, number in enumerate(value)]
        return
    parts = children(value)
    if parts is None:
        yield path, value
        return
    if not isinstance(value, tuple):
        met[id(value)] = value
    for label, part in parts:
        yield from walk(part, path + label, numbers, met)


_NUMBERS: Final = frozenset((bool, int, float, complex))


def key_of_numbers(items: Sequence[Any]) -> Hashable:
    """A key that distinguishes lists of Python numbers, computed without Python code per item; None for other items."""
    kind = type(items[0]) if items else None
    if kind not in _NUMBERS:
        return None
    if operator.countOf(map(type, items), kind) == len(items):
        return array("d", items).tobytes() if kind is float else tuple(items)  # nan equals nan; 0.0 is not -0.0
    kinds = tuple(map(type, items))
    if not _NUMBERS.issuperset(kinds):
        return None
    try:
        values = np.frombuffer(array("d", items))
        if values.max() < _EXACT and values.min() > -_EXACT:
            return kinds, values.tobytes()
    except (TypeError, OverflowError):
        pass  # complex numbers, or too large ints
    return kinds, tuple([repr(item) for item in items])


_EXACT: Final = 2.0**53
"""Below this number a float represents every int exactly."""


def holds_numbers(x: Any) -> bool:
    """Whether a value is a list, deque or tuple of nothing but Python numbers; fast for long ones."""
    if not (is_list(x) or type(x) is tuple) or not x:
        return False
    first = type(x[0])
    return first in _NUMBERS and (
        operator.countOf(map(type, x), first) == len(x) or _NUMBERS.issuperset(map(type, x)))


def is_leaf(x: Any) -> bool:
    """Whether an argument becomes one input of the graph. A tensor that is lost stays one, which the trace may only
    pass on or overwrite."""
    if is_lost(x):
        return False
    if isinstance(x, (EagerList, GraphList)):
        return not hasattr(type(x), "__leaves__")
    return isinstance(x, (Tensor, TensorSpec, ListType)) or is_array(x)


def is_array(x: Any) -> bool:
    """Whether `x` is a NumPy array or scalar that can be a tensor; arrays of strings or objects are Python values."""
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc"
