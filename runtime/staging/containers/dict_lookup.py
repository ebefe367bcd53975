"""Dicts with graph values as keys: `d[k]`, `d[k] = v`, `del d[k]`, `k in d` and the methods.

While all keys are known at trace time, the graph finds the position of the first key that equals the value, and the
dict's values are treated as a list. Where a key may be added or deleted, the dict becomes a hash table in the graph
(`runtime.staging.storage.dict`), if its keys are such as a table can have.
"""
from __future__ import annotations

import functools
import itertools
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

import numpy as np

from autograph.backend import (
    DICTS,
    MUTATORS,
    Clause,
    duplicate,
    has_staged_items,
    is_container,
    is_reference,
    items_of,
    of_trace,
    operators,
)
from runtime.core.errors import UnimplementedError, locate
from runtime.core.positions import staging_error, user_position
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.text import Text
from runtime.core.trace import capture, convert_to_tensor, current_graph, wrap
from runtime.core.types import TensorType, int64
from runtime.ops.effects import raise_unless
from runtime.ops.gather import gather
from runtime.ops.logic import equal, greater_equal, less, less_equal, logical_and, logical_or, where
from runtime.ops.shape import stack
from runtime.staging.aliases.list_elements import following
from runtime.staging.aliases.shared_elements import link
from runtime.staging.containers.sequence_methods import are_many_empty_lists, method_of_sequence
from runtime.staging.containers.settled_keys import (
    become_table,
    settle_keys,
    settle_names,
    settle_order,
    settle_values,
    table_spec,
)
from runtime.staging.elements.element_layout import may_change
from runtime.staging.elements.key_parts import class_of_record, key_leaves_of, parts_of_key
from runtime.staging.elements.references import is_hashable_reference
from runtime.staging.elements.select import alternatives_of, choose, use
from runtime.staging.elements.select_pairs import either
from runtime.staging.elements.tuple import StagedTuple
from runtime.staging.joins.container_arenas import readable
from runtime.staging.joins.lattice import Conflict, Leaf, Static, describe, join, text
from runtime.staging.joins.object_conflicts import retrace_for_elements
from runtime.staging.joins.spec_text import text_of_key
from runtime.staging.storage import dict_presence
from runtime.staging.storage.dict import StagedDict
from runtime.staging.storage.dict_keys import certain, check_hashable, is_choice, is_staged_key, missing_key
from runtime.staging.values.dict_defaults import with_default
from runtime.staging.values.generators import StagedGenerator, use_up
from runtime.staging.values.iterables import Counted, as_iterable, first_true, stacked, stages, view_of, weak_int
from runtime.staging.values.optional import Maybe, MaybeObject
from runtime.staging.values.strings import place_of_text
from runtime.staging.values.trials import refuse_new_key, refuse_number_as_key

__all__ = ["delete_item_of", "dict_comp", "dict_of", "has_key", "item_of", "method_of_dict", "put_item_of", "union"]


F = TypeVar("F", bound=Callable[..., Any])


def _else(python: Callable[..., Any]) -> Callable[[F], F]:
    """Decorator: Python handles keys known at trace time of dicts whose keys are, too."""
    def decorated(staged: F) -> F:
        @functools.wraps(staged)
        def called(mapping: Any, key: Any, *rest: Any) -> Any:
            if is_choice(key) and called in (item_of, has_key, _get) and not (
                    has_staged_items(mapping) or (called is item_of and _gets_missing(mapping, key))):
                return _for_each_choice(called, mapping, key, *rest)
            return (staged if is_staged_key(key) or has_staged_items(mapping) else python)(mapping, key, *rest)

        return cast(F, called)

    return decorated


def _for_each_choice(function: Callable[..., Any], mapping: Any, key: Any, *rest: Any) -> Any:
    """`function(mapping, key, *rest)`, which reads a dict, for a key that is one of several objects."""
    one_of, at = alternatives_of(key)
    if function is not _get and type(mapping) in DICTS and not has_staged_items(mapping) and (
            function is has_key or _has_all_choices(mapping, key)):
        return choose([function(mapping, one) for one in one_of], at)
    return use(key, _for_choice, function, mapping, *rest)


def _has_all_choices(mapping: dict[Any, Any], key: Any) -> bool:
    """Whether a key is one of several objects all of which are keys of the dict."""
    return is_choice(key) and all([one in mapping for one in alternatives_of(key)[0]])


def _gets_missing(mapping: Any, key: Any) -> bool:
    """Whether a look-up may add a key that is one of several objects."""
    return getattr(mapping, "default_factory", None) is not None and not _has_all_choices(mapping, key)


def _for_choice(one: Any, function: Callable[..., Any], mapping: Any, *rest: Any) -> Any:
    return function(mapping, one, *rest)


def _item_of_known(mapping: dict[Any, Any], key: Any) -> Any:
    """`mapping[key]`, where all keys are known, but not which of them are there."""
    if type(mapping) is defaultdict and dict_presence.bound_of(mapping, key) is not None and (
            settle_keys(mapping) if is_container(certain(dict.get(mapping, key))) else settle_order(mapping, key)):
        return operators.item(mapping, key)
    return dict_presence.item(mapping, key)


@_else(_item_of_known)
def item_of(mapping: dict[Any, Any], key: Any) -> Any:
    """`mapping[key]`. KeyError at run time if the key is missing."""
    if settle_keys(mapping):
        return operators.item(mapping, key)
    if isinstance(mapping, (Counter, defaultdict)):
        with following(mapping):
            return _item_or_default(mapping, key)
    if are_many_empty_lists([*mapping.values()]) and settle_values([mapping]):
        return operators.item(mapping, key)
    place = _position(list(mapping), key)
    _check(place, len(mapping), key)
    _has.last = mapping, [*mapping], key, current_graph()
    return _at([*mapping.values()], place)


def _item_or_default(mapping: dict[Any, Any], key: Any) -> Any:
    """`mapping[key]` of a dict with a default."""
    factory = getattr(mapping, "default_factory", None)
    if isinstance(mapping, Counter):
        return _get(mapping, key, 0)
    if factory is None:
        return item_of(dict(mapping), key)

    def read() -> Any:
        return StagedDict.of(mapping).present(key) if has_staged_items(mapping) else item_of(dict(mapping), key)

    return with_default(mapping, key, functools.partial(_setdefault, mapping, key), read)


class _Has(threading.local):
    """The dict, its keys, the key and the graph of the last look-up that raises if the key is missing."""

    last: tuple[Any, list[Any], Any, Any] = None, [], None, None


_has: Final = of_trace(_Has())


def _is_known(mapping: dict[Any, Any], key: Any) -> bool:
    """Whether the last look-up, in the graph being traced, would have raised if the key were missing."""
    last, keys, known, graph = _has.last
    return last is mapping and graph is current_graph() and _is_same(known, key) and keys == [*mapping]


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, GraphTensor) and isinstance(b, GraphTensor):
        return a.value is b.value
    parts, others = (parts_of_key(a), parts_of_key(b)) if type(a) is type(b) else (None, None)
    return a is b or (parts is not None and others is not None and len(parts) == len(others) and all(
        map(_is_same, parts, others)))


def _becomes_table(mapping: dict[Any, Any], place: Any, key: Any, value: Any) -> bool:
    """Convert the dict to a hash table in the graph where a key is set, if possible and the key may be missing. Returns
    whether that was done."""
    if _has_all_choices(mapping, key):
        return False
    if isinstance(place, GraphTensor):
        is_there = _is_known(mapping, key) or refuse_new_key([place.value], lambda each: each < len(mapping))
    else:
        is_there = refuse_new_key([leaf.value for leaf in key_leaves_of(key) if isinstance(leaf, GraphTensor)],
                                  lambda _: False)
    spec = None if is_there else table_spec(mapping, [(key, value)])
    if spec is not None:
        become_table(mapping, spec)
    elif not is_there:
        retrace_for_elements(staging_error(
            "an object or a set becomes the value of a key that only the graph knows", "Make its class a dataclass, or"
            " keep its parts in dicts of their own."), describe([value]))
    return spec is not None


def _set_known(mapping: dict[Any, Any], key: Any, value: Any) -> None:
    """`mapping[key] = value`, where all keys are known, but not which of them are there."""
    if settle_order(mapping, key):
        StagedDict.of(mapping)[key] = value
    else:
        mapping[key] = value


@_else(_set_known)
def put_item_of(mapping: dict[Any, Any], key: Any, value: Any) -> None:
    """`mapping[key] = value`. The dict becomes a hash table in the graph, unless the key is certainly present. If it
    cannot, UnimplementedError at run time if the key is missing."""
    if has_staged_items(mapping) or settle_keys(mapping):
        StagedDict.of(mapping)[key] = value
        return
    place = _position(list(mapping), key)
    if _becomes_table(mapping, place, key, value):
        StagedDict.of(mapping)[key] = value
        return
    _check_set(mapping, place, key, value)
    dict.update(mapping, [(each, _chosen(equal(place, i), value, old, each))
                    for i, (each, old) in enumerate(mapping.items())])


@_else(dict_presence.has_key)
def has_key(mapping: Any, key: Any) -> Any:
    """`key in mapping`, for a dict or its keys view: a bool, or a bool scalar tensor."""
    if settle_keys(mapping):
        return StagedDict.of(mapping).contains(key)
    place = _position(list(mapping), key)
    return place < len(mapping)


_CHANGING: Final = MUTATORS | {"move_to_end", "__setitem__", "__delitem__"}
"""The methods of a dict that change it."""


_WITHOUT_KEYS: Final = frozenset({
    "__contains__", "__delitem__", "__getitem__", "__len__", "__setitem__", "clear", "copy", "fromkeys", "get", "pop",
    "setdefault"})
"""The methods of a dict that ask for no keys but one."""


def _called_by_reference(mapping: Any, name: str, *args: Any, **keywords: Any) -> Any:
    """Call a method of a dict by reference."""
    if name not in _CHANGING:
        return method_of_dict(getattr(readable(mapping), name))(*args, **keywords)
    with following(mapping):
        return method_of_dict(getattr(mapping, name))(*args, **keywords)


def method_of_dict(fn: Any) -> Any:
    """The replacement of the bound dict method `fn`."""
    if is_reference(fn.__self__):
        return functools.partial(_called_by_reference, fn.__self__, fn.__name__)
    staged, found = _METHODS.get(fn.__name__), dict_presence.method_of(fn)
    if fn.__name__ == "update":
        return functools.partial(_update, fn.__self__, found)
    if has_staged_items(fn.__self__):
        return method_of_sequence(fn)
    if fn.__name__ not in _WITHOUT_KEYS and type(fn.__self__) in DICTS and settle_names(fn.__self__):
        return operators.call(getattr(fn.__self__, fn.__name__))
    if staged is None or type(fn.__self__) not in DICTS:
        return found

    def called(*args: Any, **keywords: Any) -> Any:
        asks = args and (not keywords or [*keywords] == ["last"]) and is_staged_key(args[0])
        if args and not asks and fn.__name__ in _SETTING and settle_order(fn.__self__, args[0]):
            return getattr(StagedDict.of(fn.__self__), fn.__name__)(*args)
        if asks and settle_keys(fn.__self__):
            return getattr(StagedDict.of(fn.__self__), fn.__name__)(*args, **keywords)
        with following(fn.__self__):
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
    if _becomes_table(mapping, place, key, default):
        return StagedDict.of(mapping).setdefault(key, default)
    _check_set(mapping, place, key, default)
    return _at([*mapping.values()], place)


@_else(dict_presence.delete)
def delete_item_of(mapping: dict[Any, Any], key: Any) -> None:
    """`del mapping[key]`. KeyError at run time if the key is missing."""
    _pop(mapping, key)


@_else(dict_presence.pop)
def _pop(mapping: dict[Any, Any], key: Any, /, *default: Any) -> Any:
    if not (has_staged_items(mapping) or settle_keys(mapping)):
        place = _position(list(mapping), key)
        if not isinstance(place, Tensor):  # certainly missing
            _check(place, len(mapping) + len(default), key)
            return default[0]
        _become_table_without(mapping, place, key)
    return StagedDict.of(mapping).pop(key, *default)


def _become_table_without(mapping: dict[Any, Any], place: Any, key: Any) -> None:
    """Convert a dict to a hash table in the graph, from which a key at that place is taken, or where it moves."""
    spec = table_spec(mapping, [(key, next(iter(mapping.values())))])
    if spec is None:
        raise staging_error(
            "a key is taken out of a dict here, and only the graph knows which one: its keys are no numbers, or its"
            " values have several types", "Keep the numbers of its items in another dict.")
    assert isinstance(place, GraphTensor)
    refuse_new_key([place.value], lambda _: False)
    become_table(mapping, spec)


def _move_to_end(mapping: dict[Any, Any], key: Any, last: Any = True) -> None:
    """`mapping.move_to_end(key, last)` of an OrderedDict whose keys are known, for a key that is not."""
    place = _position(list(mapping), key)
    _check(place, len(mapping), key)
    _become_table_without(mapping, place, key)
    StagedDict.of(mapping).move_to_end(key, last)


def _update(mapping: dict[Any, Any], python: Callable[..., Any], /, *others: Any, **keywords: Any) -> None:
    """`mapping.update(...)`, where keys may be known only at run time."""
    is_staged = has_staged_items(mapping)
    for other in others:
        if is_staged or stages(other) or isinstance(other, (list, tuple)):
            _put_all(mapping, other)
        else:
            python(other)
    if keywords:
        (functools.partial(_put_all, mapping) if is_staged else python)(keywords)


def _put_all(mapping: dict[Any, Any], other: Any) -> None:
    """Set the items of a dict from another dict, or an iterable of pairs."""
    other = view_of(other.checked() if isinstance(other, MaybeObject) else other)
    if isinstance(other, dict):
        dict_presence.check_keys(other)
    is_dict = issubclass(getattr(type(other), "__stands_for__", type(other)), (dict, StagedDict))
    clause = Clause(other.items() if is_dict else other, lambda pair: pair, None)
    _fill(mapping, clause)


def union(left: Any, right: Any, in_place: bool) -> Any:
    """`left | right`, or `left |= right`, for dicts."""
    if not (has_staged_items(left) or has_staged_items(right)):
        return dict_presence.union(left, right, in_place)
    made = left if in_place else duplicate(left)
    if not (in_place or (has_staged_items(left) and not may_change(StagedDict.of(left).structure[1]))):
        link(made, left if has_staged_items(left) else None)
    _put_all(made, right)
    return made


def dict_comp(clause: Clause) -> dict[Any, Any]:
    """The dict of a comprehension's pairs."""
    made: dict[Any, Any] = {}
    _fill(made, clause)
    return made


def _fill(mapping: dict[Any, Any], clause: Clause) -> None:
    """Set items of a dict from the pairs of a clause."""
    ag__mapping = mapping

    def for_body(pair: Any) -> None:
        key, value = pair
        put_item_of(ag__mapping, key, value)

    pairs = _known_pairs(clause)
    if pairs is None:
        generator = StagedGenerator(clause)
        use_up(generator, generator.use(), for_body, None, "ag__mapping")
    else:
        for pair in pairs:
            for_body(pair)


def _known_pairs(clause: Clause) -> Iterator[Any] | None:
    """An iterator over the pairs of a clause, if their number and keys are known at trace time; else None."""
    source = clause.iterable
    if isinstance(source, StagedGenerator) and clause.is_map and source.is_known():
        return map(lambda item: clause.element(*clause.arguments(item)), source)
    if not clause.is_map or isinstance(source, StagedGenerator):
        return None
    pairs = items_of(clause, "a dict", "")
    if not stages(source):
        return pairs
    found, graph = as_iterable(source), current_graph()
    if graph is None or not isinstance(found, Counted) or not isinstance(found.length, int):
        return None
    before = len(graph.nodes)
    some = [*itertools.islice(pairs, 1)]
    if some and is_staged_key(some[0][0]) and not any([node.effect for node in graph.nodes[before:]]):
        return None
    return itertools.chain(some, pairs)


def dict_of(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """The dict of a display's pairs."""
    made: dict[Any, Any] = {}
    for key, value in pairs:
        put_item_of(made, key, value)
    return made


_SETTING: Final = frozenset({"__setitem__", "setdefault"})
_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "__contains__": has_key, "__getitem__": item_of, "__setitem__": put_item_of, "__delitem__": delete_item_of,
    "get": _get, "pop": _pop, "setdefault": _setdefault, "move_to_end": _move_to_end}


def _check_set(mapping: dict[Any, Any], place: Any, key: Any, value: Any) -> None:
    """UnimplementedError if a key would be added."""
    if _has_all_choices(mapping, key):
        return
    if not _is_known(mapping, key):
        refuse_number_as_key([leaf.value for leaf in key_leaves_of(key) if isinstance(leaf, GraphTensor)])
    _check(place, len(mapping), key, UnimplementedError(_added(mapping)))


def _added(mapping: dict[Any, Any]) -> str:
    keys = ", ".join(map(text_of_key, mapping))
    keys = keys if len(keys) <= 60 else keys[:57] + "..."
    return (f"a key is added to a dict with the keys [{keys}], and only the graph knows which one: give the dict all"
            " its keys before, such as dict.fromkeys(keys, 0); or keys of one kind, such as numbers, text, members of"
            " an Enum or tuples of these, and values of one type and structure")


def _check(place: Any, size: int, key: Any, error: Exception | None = None) -> None:
    """Raise the error, by default KeyError, if there is no such key: at once, or at run time."""
    there = less(place, size) if isinstance(place, Tensor) else place < size
    if isinstance(key, Maybe):
        present, key = key.presence.present, key.content
        if present is not None and error is None:
            raise_unless(logical_or(there, present), KeyError(None))
    error = missing_key(key) if error is None else error
    if isinstance(place, Tensor):
        raise_unless(there, error)
    elif not there:
        locate(error, user_position())
        raise error


def _at(values: list[Any], place: Any) -> Any:
    """The item of a temporary list at an index. StagingError if the items have no join."""
    return values[place] if isinstance(place, int) else choose(values, place)


def _chosen(condition: Any, value: Any, old: Any, key: Any) -> Any:
    """`value` if the condition holds, else the dict's current value. StagingError if they have no join."""
    if (made := either(condition, value, old)) is not None:
        return made
    new, current = describe(value), describe(old)
    try:
        joined = join(new, current)
    except Conflict:
        raise staging_error(
            f"an item of a dict is set to {text(new)}, and only the graph knows which one, but the item {key!r} is"
            f" {text(current)}", "Let all items of the dict be of one type.") from None
    if isinstance(joined, Static):
        return old
    if isinstance(joined, Leaf) and isinstance(joined.type, TensorType) and not joined.type.shape:
        return where(condition, value, old)
    return operators.if_exp(condition, lambda: value, lambda: old)


# The position of a key.

def _position(keys: Sequence[Any], key: Any) -> Any:
    """The index of the first key equal to `key`, or the number of keys: an int, or a weak int of the graph. TypeError,
    or the tensor's error, for an invalid key."""
    if isinstance(key, Maybe):
        key.presence.check_bound()
        present, place = key.presence.present, _position(keys, key.content)
        return place if present is None else where(present, place, _position(keys, None))
    if (parts := parts_of_key(key)) is not None and is_staged_key(key):
        check_hashable(key)
        return _position_of_parts(keys, class_of_record(key), parts)
    if is_choice(key):
        one_of, at = alternatives_of(key)
        return choose([_position(keys, one) for one in one_of], at)
    if isinstance(key, Text):
        return _position_among([(i, each) for i, each in _comparable(keys, key) if isinstance(each, str)], len(keys),
                            lambda texts: place_of_text(texts, key))
    if isinstance(key, StagedTuple):
        tuples = [(i, each) for i, each in _comparable(keys, key) if type(each) is tuple]
        return _position_among(tuples, len(keys), lambda tuples: first_true(stack(
            [operators.eq(key, each) for each in tuples])))
    if hasattr(type(key), "__tensor__"):
        key = convert_to_tensor(key)
    if isinstance(key, EagerTensor) and (graph := current_graph()) is not None:
        key = wrap(capture(graph, key))
    if is_hashable_reference(key):
        return len(keys)  # a dict with such keys is a table
    if not isinstance(key, Tensor) or key.ndim:
        hash(key)
        return next((i for i, each in enumerate(keys) if each is key or each == key), len(keys))
    if key.dtype.is_bool:
        key = weak_int(key)
    numbers = [(i, number) for i, each in _comparable(keys, key) if (number := _as_equal(each, key)) is not None]
    return _position_among(numbers, len(keys), lambda numbers: _place_of_number(numbers, key))


def _position_of_parts(keys: Sequence[Any], cls: type | None, parts: Sequence[Any]) -> Any:
    """The index of the first key equal to a tuple, or record of a class, that contains graph values."""
    same = [(i, found) for i, each in enumerate(keys) if class_of_record(each) is cls and (
        (found := parts_of_key(each)) is not None and len(found) == len(parts))]
    if not same:
        return len(keys)
    equals = [functools.reduce(logical_and, [equal(_position([part], asked), 0)
                                             for part, asked in zip(each, parts, strict=True)]) for _, each in same]
    return gather([*[i for i, _ in same], len(keys)], first_true(stack(equals)))


def _position_among(candidates: Sequence[tuple[int, Any]], size: int, place_of: Callable[[list[Any]], Any]) -> Any:
    """The index among `size` keys; `candidates`: the keys that may be equal, each with its index."""
    if not candidates:
        return size
    places = [place for place, _ in candidates]
    found = place_of([key for _, key in candidates])
    return found if len(candidates) == size else gather([*places, size], found)


def _place_of_number(numbers: list[Any], key: Tensor) -> Any:
    first, size = numbers[0], len(numbers)
    if type(first) is int and numbers == list(range(first, first + size)):
        inside = greater_equal(key, first) & less_equal(key, numbers[-1])
        clipped = where(inside, key, first)  # bounds the difference by the number of keys
        return where(inside, weak_int(clipped - first) if key.dtype.is_unsigned else weak_int(clipped) - first, size)
    table = stacked(numbers) if key.type.weak else np.array(numbers, key.dtype.np)
    return first_true(equal(table, key))


def _comparable(keys: Sequence[Any], key: Any) -> Iterator[tuple[int, Any]]:
    """The keys with their indices. StagingError for a key whose class defines its own equality."""
    for place, each in enumerate(keys):
        if isinstance(each, np.generic):
            each = each.item()
        if type(each).__eq__ not in _PLAIN and class_of_record(each) is None:
            raise staging_error(
                f"a key of this dict is a {type(each).__name__}, and only its class knows what equals it, while"
                f" {'text' if isinstance(key, Text) else 'a tensor'} is looked up that is known only when the graph"
                " runs", "Let the keys be numbers or text.")
        yield place, each


_PLAIN: Final[frozenset[Any]] = frozenset(
    kind.__eq__ for kind in (object, int, float, complex, str, bytes, tuple, frozenset, type(None)))


def _as_equal(number: Any, key: Tensor) -> Any:
    """A dict's key as an equal number of the tensor's type; None if there is none."""
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
        stored = dtype.np.type(made).item()
    return stored if stored == number or (isinstance(number, float) and abs(stored) != np.inf) else None
