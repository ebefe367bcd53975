"""Comparisons of tuples, lists, dicts and dataclass objects that contain graph values: the graph finds the first parts
that differ."""
from __future__ import annotations

import dataclasses
import functools
import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any, Final

from autograph.backend import LISTS, has_staged_items, is_container, is_users_class, objects_in, operators
from runtime.core.operations import OPERATIONS
from runtime.core.positions import generated_code
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.ops.logic import bitwise_and, bitwise_or, where
from runtime.staging.containers.counter_functions import COUNTER_OPERATORS, are_staged_counters
from runtime.staging.containers.heapq_bisect import compare_items, equal_items
from runtime.staging.elements.references import Reference, is_hashable_reference, selected
from runtime.staging.elements.select import Select, alternatives_of, use
from runtime.staging.elements.tuple import StagedTuple, is_array_like, list_of
from runtime.staging.storage.deque import DequeMethods
from runtime.staging.storage.dict_presence import have_other_keys
from runtime.staging.values.iterables import StagedRange, view_of
from runtime.staging.values.list import StagedSequence
from runtime.staging.values.optional import Maybe, MaybeObject, MaybeTensor, same_or_none
from runtime.staging.values.truthiness import truth

__all__ = ["compare", "equal_in_turn", "equals"]

_PYTHON: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y}
"""Python's comparison operators as Python functions, so that a tensor whose truth value is requested can tell the
reason from the bytecode (`core/caller_bytecode.py`)."""
_MANY: Final = 32
"""With more parts than this, a graph loop compares containers."""
_METHODS: Final = {name: f"__{name}__" for name in _PYTHON}
_NUMBERS: Final = frozenset({bool, int, float})
_KNOWN: Final = frozenset({bool, int, float, complex, str, bytes, type(None)})


def compare(name: str, left: Any, right: Any) -> Any:
    """The comparison `name` of `operator`. For containers the first parts that differ decide: a bool, or a bool scalar
    tensor; other values are compared by their own methods."""
    if isinstance(left, Maybe) or isinstance(right, Maybe):
        return _compare_optional(name, left, right)
    if are_staged_counters(left, right):
        return operators.call(COUNTER_OPERATORS[name])(left, right)
    if left is right and has_staged_items(left):
        return name in ("eq", "le", "ge")
    if name in ("eq", "ne") and (same := _is_same(left, right)) is not None:
        return same if name == "eq" else operators.not_(same)
    if (found := _compare_objects(name, left, right)) is not None:
        return found
    return _compare_parts(name, left, right)


def _compare_parts(name: str, left: Any, right: Any) -> Any:
    """`compare`, for values of known classes."""
    if isinstance(left, StagedTuple) or isinstance(right, StagedTuple):
        return _compare_tuples(name, left, right)
    if name in ("eq", "ne") and all(isinstance(x, (range, StagedRange)) for x in (left, right)):
        return _compare_parts(name, _items_of_range(left), _items_of_range(right))
    left, right = view_of(left), view_of(right)
    if _are_staged_lists(left, right):
        kinds = [deque if isinstance(one, (deque, DequeMethods)) else list for one in (left, right)]
        if kinds[0] is not kinds[1]:
            return _PYTHON[name](kinds[0](), kinds[1]())
        return _by_a_loop(name, left, right)
    if name not in ("eq", "ne") and _are_chosen_lists(left, right):
        return _by_a_loop(name, left, right)
    parts = _both_parts(name, left, right)
    if parts is None:
        return _PYTHON[name](left, right)
    if name in ("eq", "ne"):
        same = left is right or equals(*parts)
        return same if name == "eq" else operators.not_(same)
    if min(map(len, parts)) > _MANY:
        return _by_a_loop(name, *parts)
    if not all(parts):
        return _PYTHON[name](*map(len, parts))
    if _are_scalars(parts[0]) and _are_scalars(parts[1]):
        return _compare_scalars(name, *parts)
    (one, *rest), (other, *others) = parts
    if _are_scalars([one, other]):
        return _compare_after_scalars(name, [one, *rest], [other, *others])
    same = equals(one, other)
    return operators.or_(operators.and_(same, lambda: compare(name, rest, others)),
                         lambda: operators.and_(operators.not_(same), lambda: compare(name, one, other)))


def _compare_tuples(name: str, left: Any, right: Any) -> Any:
    """`compare`, where one of the values is a tuple of whose length only the graph knows."""
    if is_array_like(left) or is_array_like(right):
        return _PYTHON[name](*[one.__tensor__() if isinstance(one, StagedTuple) else one for one in (left, right)])
    if all(isinstance(one, (tuple, StagedTuple)) for one in (left, right)):
        return _compare_parts(name, *map(list_of, (left, right)))
    return _PYTHON[name](*[() if isinstance(one, StagedTuple) else one for one in (left, right)])


def _compare_objects(name: str, left: Any, right: Any) -> Any:
    """`compare` for objects that only the graph knows, or that are linked by reference; None for other values."""
    if name in ("eq", "ne") and _are_linked(left, right):
        same = OPERATIONS.recursive(_equal_linked, _equal_linked)(left, right)
        return same if name == "eq" else operators.not_(same)
    for one in (left, right):
        if isinstance(chosen := selected(one), Select) and _compares_one_by_one(chosen, name):
            return use(chosen, _compare_one, name, left, right, one)
    return None


def _compares_one_by_one(x: Select, name: str) -> bool:
    """Whether a comparison has a branch for each alternative: their methods were generated, or are those of several
    classes of users, which return NotImplemented for others."""
    kinds = {_class_of(one) for one in alternatives_of(x)[0]}
    return all([_has_generated(kind, name) for kind in kinds]) or (len(kinds) > 1 and all(map(is_users_class, kinds)))


def _class_of(x: Any) -> Any:
    return type(x).__stands_for__ if isinstance(x, Reference) else type(x)


def _are_linked(left: Any, right: Any) -> bool:
    """Whether comparing two objects by reference may compare objects of the same arena in turn."""
    return left is not right and all([
        isinstance(one, Reference) and not is_hashable_reference(one) and one.__arena__.is_linked
        for one in (left, right)])


def _equal_linked(left: Any, right: Any) -> Any:
    """Whether linked objects are equal: a function that the graph calls, since it calls itself for their parts."""
    return _with_known(left, lambda one: _with_known(right, lambda other: truth(_compare_parts("eq", one, other))))


_equal_linked.__methods__ = (_compare_objects,)  # type: ignore[attr-defined]  # which name it: it is recursive


def _with_known(x: Any, use_one: Callable[[Any], Any]) -> Any:
    """The result of `use_one` for an object, with a branch for each class that it may be of."""
    chosen = selected(x)
    return use(chosen, use_one) if isinstance(chosen, Select) else use_one(x)


def _compare_one(alternative: Any, name: str, left: Any, right: Any, chosen: Any) -> Any:
    """`compare`, with `chosen`, which is one or both of the operands, replaced by an alternative."""
    return compare(name, alternative if left is chosen else left, alternative if right is chosen else right)


def _compare_optional(name: str, left: Any, right: Any) -> Any:
    """`compare` for values that may be None; for orders and arrays, the graph checks that they are not."""
    if name not in ("eq", "ne") or any(
            isinstance(one, Maybe) and isinstance(one.content, Tensor) and one.content.ndim != 0
            for one in (left, right)):
        return compare(name, *[
            one.__tensor__() if isinstance(one, MaybeTensor) else one.checked() if isinstance(one, MaybeObject) else one
            for one in (left, right)])
    same = same_or_none(left, right, lambda one, other: truth(compare("eq", one, other)))
    return same if name == "eq" else operators.not_(same)


def _are_scalars(parts: Sequence[Any]) -> bool:
    """Whether all parts are real Python numbers or scalar tensors: comparing these has no effects."""
    return all([type(part) in _NUMBERS or (
        type(part) in (GraphTensor, EagerTensor) and not part.ndim and not part.dtype.is_string) for part in parts])


def _compare_scalars(name: str, x: Sequence[Any], y: Sequence[Any]) -> Any:
    """`compare` for the parts of two containers, all scalars, without branches."""
    if not x or not y:
        return _PYTHON[name](len(x), len(y))
    (one, *rest), (other, *others) = x, y
    if len(x) == len(y) == 1:
        return _PYTHON[name](one, other)
    same = one is other or one == other
    if isinstance(same, bool):
        return _compare_scalars(name, rest, others) if same else _PYTHON[name](one, other)
    return bitwise_or(_PYTHON[name[0] + "t"](one, other), bitwise_and(same, _compare_scalars(name, rest, others)))


def _compare_after_scalars(name: str, x: list[Any], y: list[Any]) -> Any:
    """`compare` for the parts of two containers that begin with scalars. The others are compared in one branch."""
    pairs = zip(x, y)  # up to the end of the shorter one
    size = next((i for i, pair in enumerate(pairs) if not _are_scalars(pair)), min(len(x), len(y)))
    same = _equal_scalars(x[:size], y[:size])
    if same is True:
        return compare(name, x[size:], y[size:])
    decided = _compare_scalars(name[0] + "t", x[:size], y[:size])
    return decided if same is False else operators.if_exp(
        same, lambda: compare(name, x[size:], y[size:]), lambda: decided)


def _equal_scalars(x: Sequence[Any], y: Sequence[Any]) -> Any:
    """`equals` for the parts of two containers, all scalars, without branches."""
    found: Any = True
    for one, other in zip(x, y, strict=True):
        same = one is other or one == other
        if same is False:
            return False
        if same is not True:
            found = same if found is True else bitwise_and(found, same)
    return found


def _by_a_loop(name: str, x: Any, y: Any) -> Any:
    if name in ("eq", "ne"):
        same = operators.call(equal_items)(x, y)
        return same if name == "eq" else operators.not_(same)
    return operators.call(compare_items)(functools.partial(compare, name), x, y)


def equal_in_turn(items: Iterable[Any], value: Any) -> Iterator[Any]:
    """Whether each item equals a value, up to the first that does: the comparison of a later one does not run. (Where
    it runs no code of the program, it is that of all items.)"""
    found: list[Any] = []  # what may be true of the comparisons before
    asks = _runs_code(value)
    for item in items:
        if found and (asks or _runs_code(item)):
            found = [functools.reduce(operator.or_, found)]
            same = _equals_unless(found[0], item, value)
        else:
            same = equals(item, value)
        yield same
        if same is True:
            return
        if same is not False:
            found.append(same)


def _equals_unless(found: Any, item: Any, value: Any) -> Any:
    return operators.and_(operators.not_(found), lambda: equals(item, value))


def _runs_code(x: Any) -> bool:
    """Whether comparing a value may call a method `__eq__` that the program defines."""
    pending, visited = [x], set[int]()
    for value in pending:  # grows meanwhile
        cls = _class_of(value)
        if is_users_class(cls) and type(cls.__eq__) is FunctionType and not _has_generated(cls, "eq"):
            return True
        if id(value) not in visited and not isinstance(value, Tensor):
            visited.add(id(value))
            pending += [part for _, part in objects_in(value)]
    return False


def equals(value: Any, item: Any) -> Any:
    """`value == item`, as Python compares items: a bool, or a bool scalar tensor. Parts of containers are compared one
    by one, up to the first difference."""
    if value is item and isinstance(value, (*LISTS, tuple, dict)):
        return True
    if are_staged_counters(value, item):
        return compare("eq", value, item)
    if have_other_keys(value, item):
        return False
    if (found := _compare_objects("eq", value, item)) is not None:
        return found
    value, item = view_of(value), view_of(item)
    if isinstance(value, (Maybe, StagedTuple)) or isinstance(item, (Maybe, StagedTuple)) or (
            _is_compared_by_identity(value) and _is_compared_by_identity(item)):
        return compare("eq", value, item)
    if _are_staged_lists(value, item):
        return value is item or compare("eq", value, item)
    parts = _both_parts("eq", value, item)
    if parts is None:
        return truth(value is item or value == item)
    if len(parts[0]) != len(parts[1]):
        return False
    if len(parts[0]) > _MANY:
        return _by_a_loop("eq", *parts)
    if _are_scalars(parts[0]) and _are_scalars(parts[1]):
        return _equal_scalars(*parts)
    (one, *rest), (other, *others) = parts
    return operators.and_(equals(one, other), lambda: equals(rest, others))


def _is_same(left: Any, right: Any) -> Any:
    """Whether two objects are equal, if the keys of two dicts, or the identity of the objects decide that; else
    None."""
    if have_other_keys(left, right):
        return False
    both = _is_compared_by_identity(left) and _is_compared_by_identity(right)
    return operators.is_same(left, right) if both else None


def _is_compared_by_identity(x: Any) -> bool:
    """Whether a value is an object of the user's whose class does not define `==`."""
    cls: Any = type(x)
    return cls.__eq__ is object.__eq__ and is_container(x)


def _items_of_range(x: Any) -> tuple[Any, ...]:
    """What tells a range's items: how many there are, and of several the first and the step."""
    length = len(x) if isinstance(x, range) else x.length
    return (length, *[where(length > least, part, 0) if isinstance(length, Tensor) else part if length > least else 0
                      for least, part in ((0, x.start), (1, x.step))])


def _are_staged_lists(x: Any, y: Any) -> bool:
    """Whether the values are two lists, at least one of them staged."""
    return any(isinstance(one, StagedSequence) and isinstance(other, (*LISTS, StagedSequence))
               for one, other in ((x, y), (y, x)))


def _are_chosen_lists(x: Any, y: Any) -> bool:
    """Whether the values are two lists, and only the graph knows which one of them is."""
    alternatives = [alternatives_of(one)[0] if isinstance(one, Select) else [one] for one in (x, y)]
    return any(isinstance(one, Select) for one in (x, y)) and all(
        type(one) is list or (isinstance(one, Sequence) and getattr(one, "__stands_for__", None) is list)
        or (isinstance(one, StagedSequence) and not isinstance(one, DequeMethods))
        for several in alternatives for one in several)


def _both_parts(name: str, x: Any, y: Any) -> tuple[Any, Any] | None:
    """The parts of two containers that Python would compare; None if they are not containers, or Python can compare
    them itself."""
    one, other = (_items(name, x, y) if isinstance(x, dict) and isinstance(y, dict)
                  else (_parts(name, x, y), _parts(name, y, x)))
    if one is None or other is None or type(one) is not type(other) or (_is_known(one) and _is_known(other)):
        return None
    return one, other


def _is_known(value: Any) -> bool:
    """Whether Python can compare a value: a number or text, or a tuple or list of such."""
    return all(map(_is_known, value)) if isinstance(value, (tuple, *LISTS)) else type(value) in _KNOWN


def _parts(name: str, value: Any, other: Any) -> Any:
    """The parts of a container to compare with `other`; None for other values, and if it defines its own comparison."""
    if hasattr(type(value), "__parts__"):
        parts: list[Any] = value.__parts__()
        return parts
    for kind in tuple, *LISTS:
        if isinstance(value, kind):
            is_usual = getattr(type(value), _METHODS[name]) is getattr(kind, _METHODS[name])
            return kind(value) if is_usual else None
    if type(other) is type(value) and _has_generated(_class_of(value), name):
        return tuple([getattr(value, field.name) for field in dataclasses.fields(value) if field.compare])
    return None


def _items(name: str, x: dict[Any, Any], y: dict[Any, Any]) -> tuple[list[Any] | None, list[Any] | None]:
    """The values of two dicts with the same keys, all known at trace time; else a pair of None."""
    usual = all(type(value).__eq__ is dict.__eq__ for value in (x, y))
    if name not in ("eq", "ne") or not usual or x.keys() != y.keys():
        return None, None
    return [x[key] for key in x], [y[key] for key in x]


def _has_generated(cls: Any, name: str) -> bool:
    """Whether `dataclass` generated the method of a class for this comparison."""
    return generated_code(cls, _METHODS["eq" if name == "ne" else name]) is not None


OPERATIONS.define(compare=compare)
