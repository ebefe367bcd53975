"""Operators for items, displays and comparisons of lists, tuples and dicts, and for `is`, in code that a backend
traces."""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from autograph.core.backend import ambient, backend_of, deciding, indexed, keyed, staging_backend
from autograph.core.lists import LISTS
from autograph.core.lost_iterators import check_items
from autograph.core.staged_items import has_staged_items
from autograph.core.tracebacks import own_errors, prune
from autograph.dispatch.converted_call import as_index, call
from autograph.state.structure import is_container

__all__ = [
    "add", "beside_array", "bitand", "bitor", "bounds_of", "call_spread", "delitem", "dict_of", "eq", "extended",
    "floordiv", "ge", "gt", "iadd", "ibitand", "ibitor", "ifloordiv", "imatmul", "imul", "ipow", "is_bool", "is_none",
    "is_same", "isub", "item", "itruediv", "le", "lt", "matmul", "merged", "mul", "ne", "neg", "own_index", "parts",
    "pos", "positional", "pow", "set_of", "split", "spread", "sub", "truediv", "tuple_display", "united",
]


def _imul(value: Any, other: Any) -> Any:
    value *= other  # a statement, so that a tensor can detect that it is in place
    return value


def _arithmetic(name: str) -> Callable[[Any, Any], Any]:
    python: Callable[[Any, Any], Any] = _imul if name == "imul" else getattr(operator, name)

    @own_errors
    def apply(left: Any, right: Any, /) -> Any:
        if ambient.backend is not None and (
                type(left) in _CHANGING or type(right) in _CHANGING or beside_array(left, right)):
            return ambient.backend.operation(name, left, right)
        return python(left, right)

    apply.__name__ = apply.__qualname__ = name
    return apply


def beside_array(left: Any, right: Any) -> bool:
    """Whether one operand is a list or tuple, and the other an array, whose operators take that as an array."""
    return (type(left) in _OF_ARRAYS and hasattr(type(right), "__array__")) or (
        type(right) in _OF_ARRAYS and hasattr(type(left), "__array__"))


_OF_ARRAYS = frozenset({*LISTS, tuple})
_CHANGING = frozenset({*LISTS, *(kind for kind in keyed)})
add, sub, mul, iadd, isub, imul = map(_arithmetic, ("add", "sub", "mul", "iadd", "isub", "imul"))
bitand, bitor, ibitand, ibitor = map(_arithmetic, ("and_", "or_", "iand", "ior"))
truediv, floordiv, matmul, pow = map(_arithmetic, ("truediv", "floordiv", "matmul", "pow"))
itruediv, ifloordiv, imatmul, ipow = map(_arithmetic, ("itruediv", "ifloordiv", "imatmul", "ipow"))


def _unary(name: str) -> Callable[[Any], Any]:
    python: Callable[[Any], Any] = getattr(operator, name)

    @own_errors
    def apply(value: Any, /) -> Any:
        if ambient.backend is not None and type(value) in _CHANGING:
            return ambient.backend.operation(name, value)
        return python(value)

    apply.__name__ = apply.__qualname__ = name
    return apply


neg, pos = map(_unary, ("neg", "pos"))


@own_errors
def delitem(container: Any, index: Any, /) -> None:
    """`del container[index]`, in code that a backend traces."""
    index = own_index(container, index)
    if ambient.backend is not None and (
            has_staged_items(container) or type(container) in keyed or (type(container) in LISTS and any(
                staging_backend(bound) is not None for bound in bounds_of(index)))):
        ambient.backend.operation("delitem", container, index)
    else:
        del container[index]


@own_errors
def dict_of(*pairs: tuple[Any, Any]) -> Any:
    """`{key: value, ...}`, in code that a backend traces."""
    return dict(pairs) if ambient.backend is None else ambient.backend.operation("dict_of", pairs)


@own_errors
def set_of(*items: Any) -> Any:
    """`{item, ...}`, in code that a backend traces."""
    return set(items) if ambient.backend is None else ambient.backend.operation("set_of", items)


@own_errors
def tuple_display(items: list[Any], /) -> Any:
    """`(*x, y)`, whose items are those of a new list."""
    return tuple(items) if ambient.backend is None else call(tuple)(items)


@own_errors
def united(made: Any, items: Any, /) -> Any:
    """`{*made, *items}`, for a set that nothing else refers to."""
    check_items(items)
    backend = ambient.backend
    return bitor(made, set(items) if backend is None else backend.builtins.get(set, set)(items))


def spread(items: Any, /) -> Any:
    """The `items` in `**items` or `yield from items`. Their number has to be known."""
    check_items(items)
    is_mapping = hasattr(type(items), "keys") and type(items) not in _CHANGING
    backend = None if is_mapping else deciding(items)
    return items if backend is None else backend.items(items, "an unpacking", "Unpack what has a known length.")


def positional(items: Any, /) -> Any:
    """The `items` in `f(*items)`, where `f` is the result of `call_spread`."""
    check_items(items)
    backend = deciding(items)
    found = NotImplemented if backend is None else backend.operation("positional", items)
    return spread(items) if found is NotImplemented else found


def call_spread(fn: Any, /) -> Any:
    """As `call`, for a call with arguments such as `*items`, of which only the graph may know how many there are."""
    callee, backend = call(fn), ambient.backend
    if backend is None:
        return callee

    def called(*args: Any, **keywords: Any) -> Any:
        try:
            result = backend.operation("call_spread", fn, callee, args, keywords)
            return callee(*args, **keywords) if result is NotImplemented else result
        except BaseException as error:
            prune(error)
            raise

    return called


@own_errors
def parts(items: Any, before: int, after: int | None = None, /) -> Any:
    """The `items` in `a, b = items`, which are `before`; or the parts in `a, *rest, b = items`, one of them the list of
    those that are not among the first `before` and the last `after`."""
    check_items(items)
    backend = deciding(items)
    found = NotImplemented if backend is None else backend.operation("parts", items, before, after)
    if found is not NotImplemented:
        return found
    return items if after is None else split(items, before, after)


def split(items: Any, before: int, after: int, /) -> tuple[Any, ...]:
    """The parts of an iterable of a known number of items in `a, *rest, b = items`."""
    if not hasattr(type(items), "__iter__") and not hasattr(type(items), "__getitem__"):
        raise TypeError(f"cannot unpack non-iterable {type(items).__name__} object")
    found = [*items]
    end = len(found) - after
    if end < before:
        raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(found)})")
    return *found[:before], found[before:end], *found[end:]


@own_errors
def item(container: Any, index: Any, /) -> Any:
    """`container[index]`, in code that a backend traces."""
    if ambient.backend is not None:
        index = own_index(container, index)
        if has_staged_items(container):
            return ambient.backend.operation("getitem", container, index)
        if type(index) is int and type(container) in LISTS:
            value = container[index]
            if type(value) not in _NUMBERS:
                ambient.backend.check(value, "value")
            return value
        if type(container) in _SEQUENCES or hasattr(type(container), "__array__"):
            bounds = bounds_of(index, type(container) not in _SEQUENCES)
            if backend_of(container) is None and any(staging_backend(bound) is not None for bound in bounds):
                return ambient.backend.operation("getitem", container, index)
        elif type(container) in keyed or type(container) in indexed:
            return ambient.backend.operation("getitem", container, index)
        value = container[index]
        ambient.backend.check(value, "value")
        return value
    return container[index]


def own_index(container: Any, index: Any) -> Any:
    """The value of an index or key in traced code; of one with a method `__index__`, or a slice of such ones, what
    that returns, if the container is a sequence."""
    if type(index) is int or ambient.backend is None:
        return index
    index = ambient.backend.check(index, "value")
    if type(index) is tuple:
        index = tuple([ambient.backend.check(part, "value") for part in index])
    if type(container) not in _SEQUENCES:
        return index
    if type(index) is slice:
        return slice(*map(as_index, (index.start, index.stop, index.step)))
    return as_index(index)


def bounds_of(index: Any, of_array: bool = False) -> Iterator[Any]:
    """The values in an index: the items of a tuple, and of the lists that are indices `of_array`, and the bounds of
    slices."""
    for part in index if type(index) is tuple else (index,):
        if of_array and type(part) is list and not has_staged_items(part):
            for each in part:
                yield from bounds_of(each, True)
        else:
            yield from (part.start, part.stop, part.step) if type(part) is slice else (part,)


_SEQUENCES = frozenset({*LISTS, tuple, range, str, bytes})


@own_errors
def extended(made: Any, items: Any, /) -> Any:
    """`[*made, *items]`, for a list that nothing else refers to."""
    check_items(items)
    backend = deciding(items)
    items = [*items] if backend is None else backend.builtins.get(list, list)(items)
    return items if type(made) is list and not made else add(made, items)


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    python: Callable[[Any, Any], Any] = getattr(operator, name)

    @own_errors
    def compare(left: Any, right: Any, /) -> Any:
        if ambient.backend is None or type(left) in _NUMBERS or type(right) in _NUMBERS:
            return python(left, right)
        return ambient.backend.operation(name, left, right)

    compare.__name__ = compare.__qualname__ = name
    return compare


_NUMBERS = frozenset({bool, int, float, complex})
lt, le, gt, ge, eq, ne = map(_comparison, ("lt", "le", "gt", "ge", "eq", "ne"))


def is_bool(value: Any, wanted: bool, /) -> Any:
    """`value is wanted`, which is also true of a bool tensor with that value."""
    backend = backend_of(value)
    return value is wanted if backend is None else backend.operation("is_", value, wanted)


def is_none(value: Any, /) -> Any:
    """`value is None`, for a variable that a staged branch may have set to None."""
    backend = staging_backend(value)
    return value is None if backend is None else backend.operation("is_", value, None)


def is_same(value: Any, other: Any, /) -> Any:
    """`value is other`, where a staged branch may have set one to None, or one may alias, or stand for, another
    list."""
    backend = staging_backend(value) or staging_backend(other)
    if backend is None and ambient.backend is not None and any(
            hasattr(type(x), "__stands_for__") or is_container(x) for x in (value, other)):
        backend = ambient.backend
    return value is other if backend is None else backend.operation("is_", value, other)


@own_errors
def merged(items: dict[Any, Any], other: Any, /) -> dict[Any, Any]:
    """`{**items, **other}`; nothing else refers to `items`."""
    if ambient.backend is None or not (type(other) in keyed or staging_backend(other) is not None):
        return {**items, **other}
    ambient.backend.callee(items.update)(other)
    return items
