"""Calls `f(*items)` where only the graph knows how many items there are."""
from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any, Final, NoReturn

from autograph.backend import has_staged_items, is_users_class, operators, with_tuple_of_arguments
from runtime.core.errors import UnimplementedError, locate
from runtime.core.formatting import formatted
from runtime.core.object_mode import lists_of_arenas
from runtime.core.positions import staging_error, user_position
from runtime.core.text import concat_text
from runtime.core.trace import convert_to_tensor
from runtime.ops.effects import raise_unless
from runtime.ops.logic import greater, less_equal, not_equal, where
from runtime.staging.python.spread_functions import (
    OF_SETS,
    SPREAD_FUNCTIONS,
    columns_of,
    columns_of_tuples,
    joined,
    map_columns,
)
from runtime.staging.storage.record_list import StagedRecords
from runtime.staging.values.generators import PassedItems, StagedGenerator, known_items, listed, once
from runtime.staging.values.iterables import Counted, Lazy, Poison, as_iterable, view_of, weak_int
from runtime.staging.values.list import StagedList, is_staged_list, unview

__all__ = ["call_spread", "positional"]

_WHAT: Final = "an unpacking"
_REMEDY: Final = ("Give a function that takes a list the list itself; or unpack what has a known length, or give what"
                  " takes a known number of arguments.")


class Spread(Poison):
    """The items of `*items` in a call, of which only the graph knows how many there are. `items`: a list of them."""

    __slots__ = ("items",)

    def __init__(self, items: Any, error: Callable[[], Exception]) -> None:
        super().__init__(error, "<arguments of unknown number>")
        self.items = items

    def and_others(self, args: Sequence[Any]) -> Spread:
        """One Spread of its items and all further arguments."""
        return Spread(operators.call(joined)(_parts((self, *args))), self.error)

    def __no_class__(self) -> NoReturn:
        self.refuse()


def positional(items: Any) -> Any:
    """What is unpacked for the `items` in `f(*items)`: these, or a Spread."""
    if not (isinstance(items, PassedItems) or (isinstance(items, StagedGenerator) and items.passes_items)):
        made = listed(items) if isinstance(items, StagedGenerator) else items
        found = as_iterable(made)
        if isinstance(found, Counted) and not isinstance(found.length, int):
            error = staging_error(f"the number of items of {_WHAT} is known only when the graph runs", _REMEDY)
            return (Spread(made if is_staged_list(made) else unview(view_of(listed(made))), lambda: error),)
        items = made
    return known_items(items, _WHAT, _REMEDY)


def call_spread(fn: Any, callee: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """`fn(*args, **keywords)`, whose arguments may be Spreads. `callee`: what is called in place of `fn`."""
    if not any(type(arg) is Spread for arg in args):
        return NotImplemented
    if fn is zip and not keywords:
        return once(_Columns(_parts(args)))
    if fn is map and not isinstance(args[0], Spread):
        return operators.call(map_columns)(args[0], _Columns(_parts(args[1:])))
    version = next((version for each, version in SPREAD_FUNCTIONS.items() if each is fn), None)
    if fn is max or fn is min:
        _check_several(args)
    if version is not None:
        return operators.call(version)(_parts(args), **keywords)
    owner, of_sets = getattr(fn, "__self__", None), OF_SETS.get(getattr(fn, "__name__", ""))
    if of_sets is not None and (isinstance(owner, set) or getattr(type(owner), "__stands_for__", None) is set):
        return operators.call(of_sets)(owner, _parts(args))
    if of_sets is not None and any(fn is each for each in _OF_FIRST_SET):
        first, rest = _first_of(_parts(args))
        return operators.call(of_sets)(first, rest)
    return _called(fn, callee, args, keywords)


_OF_FIRST_SET: Final = (set.union, set.intersection, set.difference)


def _check_several(args: tuple[Any, ...]) -> None:
    """StagingError if a single argument may be the iterable of `max` or `min`."""
    if sum(not isinstance(arg, Spread) for arg in args) > 1:
        return
    for arg in args:
        items = view_of(arg.items) if isinstance(arg, Spread) else None
        if items is not None and not (isinstance(items, StagedList) and items.element.shape == ()):
            arg.refuse()


def _parts(args: tuple[Any, ...]) -> list[Any]:
    """The arguments in lists, of which those of Spreads are the graph's."""
    parts: list[Any] = []
    known: list[Any] = []
    for arg in args:
        if isinstance(arg, Spread):
            parts.append(arg.items)
            known = []
        else:
            if not known:
                parts.append(known)
            known.append(arg)
    return parts


def _first_of(parts: list[Any]) -> tuple[Any, list[Any]]:
    """The first argument, and the lists of the others."""
    first, *rest = parts
    size = weak_int(convert_to_tensor(operators.call(len)(first)))
    raise_unless(greater(size, 0), TypeError("unbound method needs an argument"))
    return operators.item(first, 0), [operators.item(first, slice(1, None)), *rest]


class _Columns(Lazy):
    """`zip(*rows)`. `parts`: lists of rows."""

    name = "zip"

    def __init__(self, parts: list[Any]) -> None:
        first = view_of(parts[0])
        structure = first.structure if isinstance(first, StagedRecords) and len(parts) == 1 else None
        if type(structure) is tuple:  # whose items may be of several types
            self._made = operators.call(columns_of_tuples)(parts[0], len(structure))
            self._length = weak_int(where(greater(first.length, 0), len(structure), 0))
        else:
            self._made = operators.call(columns_of)(parts)
            self._length = operators.call(len)(self._made)
        self._rows = tuple([_Rows(part) for part in parts if has_staged_items(part)])

    def __iterable__(self) -> Counted:
        return Counted(self._length, lambda i: operators.item(self._made, i), self._rows)


class _Rows:
    """The rows from which the items of `zip` come, for loops over it: they must not change in the body."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows, self._seen = rows, [self._leaves_of(rows)]

    @staticmethod
    def _leaves_of(rows: list[Any]) -> list[Any]:
        lists = [rows, *lists_of_arenas()]  # the latter have what is in rows by reference
        return [leaf for each in lists if has_staged_items(each) for leaf in view_of(each).__leaves__()]

    def __leaves__(self) -> list[Any]:
        return self._leaves_of(self._rows)

    @property
    def length(self) -> int:
        """Another number after each change."""
        now = self.__leaves__()
        if len(now) != len(self._seen[-1]) or not all(map(operator.is_, now, self._seen[-1])):
            self._seen.append(now)
        return len(self._seen)

    def when_resized(self) -> Exception:
        error = UnimplementedError(
            "the rows that zip(*rows) runs over, or lists that may be these, are changed in its loop",
            remedy="Loop over list(zip(*rows)), which has the items as they were, or over the indices of a row.")
        locate(error, user_position())
        return error


# Functions of the program.

def _called(fn: Any, callee: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """The call of a function of the program, which has a known number of parameters, and perhaps `*rest`. TypeError at
    run time for too few or too many arguments."""
    place = next(i for i, arg in enumerate(args) if isinstance(arg, Spread))
    spread: Spread = args[place]
    parameters, function = _parameters_of(fn), fn
    if parameters is not None and _takes_any(parameters):
        function = with_tuple_of_arguments(fn)
        parameters = None if function is None else _parameters_of(fn, follow_wrapped=False)
    if parameters is None:
        spread.refuse()
    before, after = [*args[:place]], [*args[place + 1:]]
    if function is not fn or any(isinstance(arg, Spread) for arg in after):
        spread, after = spread.and_others(after), []
    if function is fn:
        return callee(*_arguments_of(fn, parameters, before, spread, after, keywords), **keywords)
    name = next(each.name for each in parameters if each.kind is each.VAR_POSITIONAL)
    if name in keywords:
        spread.refuse()
    fixed = sum(each.kind in _BY_PLACE for each in parameters)
    given = _arguments_of(fn, parameters, before[:fixed], spread, after, keywords)
    rest = operators.call(tuple)(operators.item(spread.items, slice(len(given) - len(before[:fixed]), None)))
    rest = operators.add(tuple(before[fixed:]), rest) if before[fixed:] else rest
    return operators.call(function)(*given, **keywords, **{name: rest})


_BY_PLACE: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _takes_any(parameters: list[inspect.Parameter]) -> bool:
    return any(each.kind is each.VAR_POSITIONAL for each in parameters)


def _arguments_of(fn: Any, parameters: list[inspect.Parameter], before: list[Any], spread: Spread, after: list[Any],
                  keywords: Mapping[str, Any]) -> list[Any]:
    """The arguments for the parameters that positional arguments may give, where a Spread is among these."""
    takes = [each for each in parameters if each.kind in _BY_PLACE]
    free = [each for each in takes if each.name not in keywords]
    most = len(free) - len(before) - len(after)
    least = most - sum(each.default is not each.empty for each in free[len(before):])
    if free != takes[:len(free)] or most < 0 or (after and least < most):
        spread.refuse()
    items = view_of(spread.items)
    size = weak_int(convert_to_tensor(items.length))
    least = max(least, 0)
    name, own = _name_of(fn), int(not isinstance(fn, FunctionType))
    for count in range(least):
        missing = [repr(each.name) for each in free[len(before) + count + len(after):] if each.default is each.empty]
        raise_unless(not_equal(size, count), TypeError(
            f"{name}() missing {len(missing)} required positional argument{'s' if len(missing) > 1 else ''}:"
            f" {_listed(missing)}"))
    if not _takes_any(parameters):
        raise_unless(less_equal(size, most), TypeError(concat_text((
            f"{name}() takes {_range_text(own + len(takes) - most + least, own + len(takes))} but ",
            formatted(size + (own + len(before) + len(after))), " were given"))))
    made = [items[i] for i in range(least)]
    for i in range(least, most):
        made.append(_item_or_default(items, i, size, free[len(before) + i].default))
    return [*before, *made, *after]


def _item_or_default(items: Any, i: int, size: Any, default: Any) -> Any:
    return operators.if_exp(greater(size, i), lambda: items[i], lambda: default)


def _parameters_of(fn: Any, follow_wrapped: bool = True) -> list[inspect.Parameter] | None:
    """The parameters of a function, method or class of the program; None for others."""
    if not (isinstance(fn, (FunctionType, MethodType)) or is_users_class(fn if isinstance(fn, type) else type(fn))):
        return None
    try:
        return [*inspect.signature(fn, follow_wrapped=follow_wrapped).parameters.values()]
    except (TypeError, ValueError):
        return None


def _name_of(fn: Any) -> str:
    """The name of a function, method or class, or of what is called for an object, in Python's messages."""
    if isinstance(fn, type):
        return f"{fn.__qualname__}.{'__new__' if fn.__init__ is object.__init__ else '__init__'}"  # type: ignore[misc]
    return str(getattr(fn, "__qualname__", f"{type(fn).__qualname__}.__call__"))


def _listed(names: Sequence[str]) -> str:
    """Names as in Python's messages: `'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`."""
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"


def _range_text(least: int, most: int) -> str:
    numbers = f"{most}" if least == most else f"from {least} to {most}"
    return f"{numbers} positional argument{'' if numbers == '1' else 's'}"
