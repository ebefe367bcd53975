"""Look-ups by a value of the graph in dicts whose keys are known at trace time: `d[k]`, `d[k] = v`, `k in d`,
`d.get(k)`.

The graph finds the position of the first key that equals the value; the dict's values are treated as a list. New keys
cannot be added, since the keys have to be known at trace time.
"""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

import numpy as np

from autograph.backend import backend_of, operators
from runtime.core.errors import UnimplementedError, locate
from runtime.core.positions import staging_error, user_position
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.text import Text
from runtime.core.trace import capture, convert_to_tensor, current_graph, wrap
from runtime.core.types import TensorType, int64
from runtime.ops.effects import raise_unless
from runtime.ops.gather import gather
from runtime.ops.logic import equal, greater_equal, less, less_equal, logical_or, where
from runtime.staging.values import dict_presence
from runtime.staging.values.iterables import first_true, stacked, weak_int
from runtime.staging.values.lattice import Conflict, Leaf, Static, describe, join, text
from runtime.staging.values.optional import Maybe
from runtime.staging.values.select import choose, either
from runtime.staging.values.strings import place_of_text
from runtime.staging.values.trials import refuse_new_key

__all__ = ["has_key", "item_of", "method_of_dict", "put_item_of"]


F = TypeVar("F", bound=Callable[..., Any])


def _else(python: Callable[..., Any]) -> Callable[[F], F]:
    """Decorate: Python handles keys that are neither tensors nor text, but other objects of the backend."""
    def decorated(staged: F) -> F:
        @functools.wraps(staged)
        def called(mapping: Any, key: Any, *rest: Any) -> Any:
            is_value = isinstance(key, (Tensor, Text, *Maybe)) or hasattr(type(key), "__tensor__")
            return (staged if is_value else python)(mapping, key, *rest)

        return cast(F, called)

    return decorated


@_else(dict_presence.item)
def item_of(mapping: dict[Any, Any], key: Any) -> Any:
    """`mapping[key]`. KeyError, when the graph runs, if the key is not there."""
    dict_presence.check_keys(mapping)
    place = _position(list(mapping), key)
    _check(place, len(mapping), key)
    return _at([*mapping.values()], place)


@_else(operator.setitem)
def put_item_of(mapping: dict[Any, Any], key: Any, value: Any) -> None:
    """`mapping[key] = value`. UnimplementedError, when the graph runs, if the key is not there."""
    dict_presence.check_keys(mapping)
    place = _position(list(mapping), key)
    _check_set(mapping, place, key)
    mapping.update([(each, _chosen(equal(place, i), value, old, each))
                    for i, (each, old) in enumerate(mapping.items())])


@_else(operator.contains)
def has_key(mapping: Any, key: Any) -> Any:
    """`key in mapping`, of a dict or a view of its keys: a bool, or a bool scalar tensor."""
    place = _position(list(mapping), key)
    return place < len(mapping)


def method_of_dict(fn: Any) -> Any:
    """The replacement of the bound method `fn` of a dict."""
    staged, found = _METHODS.get(fn.__name__), dict_presence.method_of(fn)
    if staged is None or type(fn.__self__) is not dict:
        return found

    def called(*args: Any, **keywords: Any) -> Any:
        asks = args and not keywords and backend_of(args[0]) is not None
        if asks:
            dict_presence.check_keys(fn.__self__)
        return (functools.partial(staged, fn.__self__) if asks else found)(*args, **keywords)

    return called


@_else(dict.get)
def _get(mapping: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
    place = _position(list(mapping), key)
    if isinstance(place, int):
        return [*mapping.values(), default][place]
    if default is not None:
        return _at([*mapping.values(), default], place)
    values = [*mapping.values()]
    return operators.if_exp(less(place, len(values)), lambda: _at(values, place), lambda: None)


@_else(dict.setdefault)
def _setdefault(mapping: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
    place = _position(list(mapping), key)
    _check_set(mapping, place, key)
    return _at([*mapping.values()], place)


_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "__contains__": has_key, "__getitem__": item_of, "get": _get, "setdefault": _setdefault}


def _check_set(mapping: dict[Any, Any], place: Any, key: Any) -> None:
    """UnimplementedError where the graph would add a key."""
    if isinstance(place, GraphTensor):
        refuse_new_key(place.value, len(mapping))
    _check(place, len(mapping), key, UnimplementedError(_added(mapping)))


def _added(mapping: dict[Any, Any]) -> str:
    keys = repr([*mapping])
    keys = keys if len(keys) <= 60 else keys[:57] + "..."
    return (f"a key is added to a dict with the keys {keys}, and only the graph knows which one: give the dict all its"
            " keys before, such as dict.fromkeys(keys, 0)")


def _check(place: Any, size: int, key: Any, error: Exception | None = None) -> None:
    """Raise the error, by default KeyError, if there is no such key: at once, or when the graph runs."""
    there = less(place, size) if isinstance(place, Tensor) else place < size
    if isinstance(key, Maybe):
        present, key = key.presence.present, key.content
        if present is not None and error is None:
            raise_unless(logical_or(there, present), KeyError(None))
    error = KeyError(key) if error is None else error
    if isinstance(place, Tensor):
        raise_unless(there, error)
    elif not there:
        locate(error, user_position())
        raise error


def _at(values: list[Any], place: Any) -> Any:
    """The item of a temporary list at a position. StagingError if the items have no common type."""
    return values[place] if isinstance(place, int) else choose(values, place)


def _chosen(condition: Any, value: Any, old: Any, key: Any) -> Any:
    """`value` where the condition holds, else the dict's current value. StagingError without a common type."""
    if (made := either(condition, value, old)) is not None:
        return made
    given, held = describe(value), describe(old)
    try:
        joined = join(given, held)
    except Conflict:
        raise staging_error(
            f"an item of a dict is set to {text(given)}, and only the graph knows which one, but the item {key!r} is"
            f" {text(held)}", "Let all items of the dict be of one type.") from None
    if isinstance(joined, Static):
        return old
    if isinstance(joined, Leaf) and isinstance(joined.type, TensorType) and not joined.type.shape:
        return where(condition, value, old)
    return operators.if_exp(condition, lambda: value, lambda: old)


# The position of a key.

def _position(keys: Sequence[Any], key: Any) -> Any:
    """The position of the first key that equals `key`, or the number of keys: an int, or a weak int of the graph.
    TypeError, or the tensor's error, for an invalid key."""
    if isinstance(key, Maybe):
        key.presence.check_bound()
        present, place = key.presence.present, _position(keys, key.content)
        return place if present is None else where(present, place, _position(keys, None))
    if isinstance(key, Text):
        return _position_among([(i, each) for i, each in _comparable(keys, key) if isinstance(each, str)], len(keys),
                            lambda texts: place_of_text(texts, key))
    if hasattr(type(key), "__tensor__"):
        key = convert_to_tensor(key)
    if isinstance(key, EagerTensor) and (graph := current_graph()) is not None:
        key = wrap(capture(graph, key))
    if not isinstance(key, Tensor) or key.ndim:
        hash(key)
        return next((i for i, each in enumerate(keys) if each is key or each == key), len(keys))
    if key.dtype.is_bool:
        key = weak_int(key)
    numbers = [(i, number) for i, each in _comparable(keys, key) if (number := _as_equal(each, key)) is not None]
    return _position_among(numbers, len(keys), lambda numbers: _place_of_number(numbers, key))


def _position_among(candidates: Sequence[tuple[int, Any]], size: int, place_of: Callable[[list[Any]], Any]) -> Any:
    """The position among `size` keys; `candidates`: the keys that may equal another, each with its position."""
    if not candidates:
        return size
    places = [place for place, _ in candidates]
    found = place_of([key for _, key in candidates])
    return found if len(candidates) == size else gather([*places, size], found)


def _place_of_number(numbers: list[Any], key: Tensor) -> Any:
    first, size = numbers[0], len(numbers)
    if type(first) is int and numbers == list(range(first, first + size)):
        inside = greater_equal(key, first) & less_equal(key, numbers[-1])
        held = where(inside, key, first)  # so that the difference is at most the number of keys
        return where(inside, weak_int(held - first) if key.dtype.is_unsigned else weak_int(held) - first, size)
    table = stacked(numbers) if key.type.weak else np.array(numbers, key.dtype.np)
    return first_true(equal(table, key))


def _comparable(keys: Sequence[Any], key: Any) -> Iterator[tuple[int, Any]]:
    """The keys with their positions. StagingError for one whose class defines equality itself."""
    for place, each in enumerate(keys):
        if isinstance(each, np.generic):
            each = each.item()
        if type(each).__eq__ not in _PLAIN:
            raise staging_error(
                f"a key of this dict is a {type(each).__name__}, and only its class knows what equals it, while"
                f" {'text' if isinstance(key, Text) else 'a tensor'} is looked up that is known only when the graph"
                " runs", "Let the keys be numbers or text.")
        yield place, each


_PLAIN: Final[frozenset[Any]] = frozenset(
    kind.__eq__ for kind in (object, int, float, complex, str, bytes, tuple, frozenset, type(None)))


def _as_equal(number: Any, key: Tensor) -> Any:
    """The key of a dict as a number of the tensor's type that equals it; None if there is none."""
    if not isinstance(number, (int, float, complex)):
        return None
    if isinstance(number, complex) and not number.imag:
        number = number.real
    dtype, weak = key.dtype, key.type.weak
    if dtype.is_integer:
        if isinstance(number, complex) or number != number or number in (np.inf, -np.inf) or number != int(number):
            return None
        least, most = (int64 if weak else dtype).limits
        return int(number) if least <= number <= most else None
    if isinstance(number, complex) and dtype.is_floating:
        return None
    try:
        made = (float if dtype.is_floating else complex)(number)
    except OverflowError:
        return None
    if weak:
        return made if isinstance(number, float) or made == number else None
    with np.errstate(over="ignore"):
        held = dtype.np.type(made).item()
    return held if held == number or (isinstance(number, float) and abs(held) != np.inf) else None
