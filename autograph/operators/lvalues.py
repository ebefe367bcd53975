"""Item assignment through an attribute or element: `self.grid[i] = v`, `cells[k][i] += v`.

Python reads the attribute and sets the item of its value. If the value is immutable, such as a tensor, a proxy stands
for the place: setting an item of the proxy assigns a new value to the attribute. The same holds while a backend traces
for a list or dict, whose index may be the backend's (`place`).
"""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from autograph.core.backend import ambient, backend_of, keyed, replacing, staging_backend
from autograph.core.lists import LISTS
from autograph.core.slots import is_users_class
from autograph.core.staged_items import has_staged_items
from autograph.core.tracebacks import own_errors
from autograph.core.untracked_mutables import is_array
from autograph.operators.containers import bounds_of, iadd, ibitand, ibitor, imul, isub, item, spread

__all__ = ["attribute", "attributes", "element", "fields", "place"]


@own_errors
def attribute(holder: Any, name: str, /) -> Any:
    """`holder.name`, of which an item is about to be set."""
    value = getattr(holder, name)
    return place(value) if replacing(value) is None else _Attribute(holder, name, value)


@own_errors
def element(holder: Any, key: Any, /) -> Any:
    """`holder[key]`, of which an item is about to be set."""
    value = item(holder, key)
    return place(value, holder) if replacing(value) is None else _Element(holder, key, value)


class _Container:
    """Proxy for a list or dict of which an item is set by an index that may be a backend's."""

    __slots__ = ("around", "container")

    def __init__(self, container: Any, around: Any) -> None:
        self.container, self.around = container, around

    def __getitem__(self, index: Any) -> Any:
        """The item, which an operator of an augmented assignment changes."""
        value = item(self.container, index)
        return _Changing(value) if type(value) in _KINDS else value

    @own_errors
    def __setitem__(self, index: Any, value: Any) -> None:
        is_dict = isinstance(self.container, dict)
        asks = backend_of if is_dict else staging_backend
        backend = ambient.backend
        after = None if backend is None else backend.changing(self.container)
        if backend is not None and (
                asks(index) is not None or has_staged_items(self.container) or is_array(self.container)
                or (is_dict and (type(self.container) in keyed or isinstance(index, tuple)
                                 or is_users_class(type(index)) or hasattr(type(index), "__stands_for__")))
                or (type(index) is slice and _stages_slice(index, value))):
            backend.setitem(self.container, index, value, self.around)
        else:
            self.container[index] = spread(value) if type(index) is slice else value
        if after is not None:
            after()


class _Changing:
    """Proxy for a list or dict on the left of `+=` and the like, which are the backend's where it knows more of it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _in_place(name: str) -> Callable[[_Changing, Any], Any]:
    apply = _OF_CONTAINERS.get(name) or getattr(operator, name)
    return lambda self, other: apply(self.value, other)


_OF_CONTAINERS = {"iadd": iadd, "isub": isub, "imul": imul, "iand": ibitand, "ior": ibitor}
for _name in ("iadd", "isub", "imul", "iand", "ior", "ixor", "imatmul", "itruediv", "ifloordiv", "imod", "ipow",
              "ilshift", "irshift"):
    setattr(_Changing, f"__{_name}__", _in_place(_name))


def _stages_slice(bounds: slice, value: Any) -> bool:
    """Whether a backend stages the assignment of items to a slice of a list."""
    return has_staged_items(value) or hasattr(type(value), "__stands_for__") or any(
        staging_backend(bound) is not None for bound in bounds_of(bounds))


def place(container: Any, around: Any = None, /) -> Any:
    """The proxy for `container`, which may be an item of `around`, in `container[index] = value` while a backend
    traces."""
    if ambient.backend is None or not (type(container) in _KINDS or is_array(container)):
        return container
    return _Container(container, around)


_KINDS = frozenset({*LISTS, *keyed})


def attributes(value: Any, /) -> Any:
    """`value.__dict__`, for an object with attributes that a staged branch may have set."""
    if ambient.backend is not None:
        ambient.backend.check(value, "attributes")
    return value.__dict__


class _Fields:
    """Proxy for an object of which an attribute is set, and which a backend follows: `after` is called then."""

    __slots__ = ("_accessors",)

    _accessors: tuple[Callable[[str], Any], Callable[[str, Any], None]]

    def __init__(self, owner: Any, after: Callable[[], None]) -> None:
        def set_and_tell(name: str, value: Any) -> None:
            setattr(owner, name, value)
            after()

        object.__setattr__(self, "_accessors", (functools.partial(getattr, owner), set_and_tell))

    @own_errors
    def __getattr__(self, name: str) -> Any:
        return self._accessors[0](name)

    @own_errors
    def __setattr__(self, name: str, value: Any) -> None:
        self._accessors[1](name, value)


def fields(owner: Any, /) -> Any:
    """The proxy for `owner` in `owner.name = value`, if a backend has to know of the change; else `owner`."""
    after = None if ambient.backend is None else ambient.backend.changing(owner)
    return owner if after is None else _Fields(owner, after)


class _Place:
    """Proxy for the place where `holder` stores `value`, which a backend handles. The place is read once, as in Python,
    unless an item was set through a proxy since: evaluating the key, or the right side of `+=`, may have done so."""

    last = object()
    """A version stamp: replaced after each item assignment through a proxy."""

    def __init__(self, holder: Any, key: Any, value: Any) -> None:
        self._holder, self._key, self._value, self._last = holder, key, value, _Place.last

    @own_errors
    def __getitem__(self, index: Any) -> Any:
        return self._current()[index]

    @own_errors
    def __setitem__(self, index: Any, value: Any) -> None:
        target = self._current()
        backend = replacing(target)
        if backend is None:  # meanwhile another value, such as a list, was stored
            target[index] = value
            return
        made = backend.setitem(target, index, value)
        _Place.last = object()
        try:
            self._write(made)
        except (AttributeError, TypeError) as error:
            if not _is_pythons_own(error) or backend.raised_by(error) == "staging":
                raise
            raise backend.error(
                f"a tensor does not change in place: what has it is given another, which Python refuses here: {error}",
                "Set the item of a variable, x[i] = value, and put x where it belongs.") from None

    def _current(self) -> Any:
        return self._value if self._last is _Place.last else self._read()

    def _read(self) -> Any:
        raise NotImplementedError

    def _write(self, value: Any) -> None:
        raise NotImplementedError


class _Attribute(_Place):
    """Proxy for `holder.key`."""

    def _read(self) -> Any:
        return getattr(self._holder, self._key)

    def _write(self, value: Any) -> None:
        setattr(fields(self._holder), self._key, value)


class _Element(_Place):
    """Proxy for `holder[key]`."""

    def _read(self) -> Any:
        return item(self._holder, self._key)

    def _write(self, value: Any) -> None:
        place(self._holder)[self._key] = value


def _is_pythons_own(error: BaseException) -> bool:
    """Whether `_write` itself raised the error, not code that it called."""
    entry = error.__traceback__ and error.__traceback__.tb_next
    return entry is not None and entry.tb_next is None
