"""Changes by a staged body to objects beyond the variables that its statement names.

A method that the body calls may assign `self.count`, or append to a list; the body's text does not show it. The objects
and containers reachable from a body's cells are compared before and after it is traced. An attribute or item that was
set to a number or a staged value is state, too: the statement is staged again with it.
"""
from __future__ import annotations

import operator
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any, Final

from autograph.core.backend import UNBOUND, backend_of
from autograph.core.lists import is_collection, is_list, items_in, refill
from autograph.core.slots import Globals, fields_in, put, take_out
from autograph.core.staged_items import has_staged_items
from autograph.core.untracked_mutables import Other, is_other
from autograph.state.key_order import reorder
from autograph.state.reachability import Reach, Reached, cell_is_filled, is_of_converted_code, only_atoms
from autograph.state.structure import ATOMS, can_be_record, fill, is_record, parts_in

__all__ = ["Heap", "accept", "becomes_state"]

_MISSING: Final = object()


class _Live:
    """Weak references to the heaps of the statements and functions being staged, some of them dead. Not a WeakSet: that
    runs Python code when an element is freed, where an interrupt would be lost."""

    references: Final[list[weakref.ref[Heap]]] = []
    most = 1000
    """The number of references above which dead ones are removed."""

    def add(self, heap: Heap) -> None:
        found = self.references
        if len(found) > self.most:
            found[:] = [reference for reference in found if reference() is not None]
            self.most = max(_Live.most, 2 * len(found))
        found.append(weakref.ref(heap))


_live: Final = _Live()


def accept(values: Collection[Any]) -> None:
    """Treat the current content of these objects as that before the bodies being traced: what a library sets up once,
    at its first call, such as the parameters of a layer, is not state of a body."""
    ids = set(map(id, values))
    for reference in list(_live.references):
        heap = reference()
        if heap is not None:
            heap.accept(ids)


class Heap:
    """Shallow copies of the reachable objects and containers."""

    def __init__(
        self, reach: Reach, names: Collection[str] = (), others: bool = True, without: Collection[int] = (),
    ) -> None:
        """`names`: the names of the statement; `others`: whether to copy mutable objects that are not state as well (if
        not, sets are treated as collections); `without`: the ids of objects that are left out."""
        self.reach = reach
        self._is_collection = is_list if others else is_collection
        self.records: list[tuple[Reached, Any]] = []
        self.others: list[tuple[Reached, Other]] = []
        self.unnamed: Reached | None = None
        """A change found by `take_back` for which no name exists."""
        for reached in reach.objects:
            if id(reached.value) in without:
                continue
            if others and is_other(reached.value, reached.path in names):
                self.others.append((reached, Other(reached.value)))
            self.records.append((reached, self._copy(reached.value)))
        _live.add(self)

    def accept(self, ids: Collection[int]) -> None:
        self.records = [(reached, self._copy(reached.value) if id(reached.value) in ids else before)
                        for reached, before in self.records]
        self.others = [(reached, Other(reached.value) if id(reached.value) in ids else other)
                       for reached, other in self.others]

    def _copy(self, value: Any) -> Any:
        if self._is_collection(value):
            return list(value)
        return value.__leaves__() if hasattr(type(value), "__become__") else self._parts(value)

    def _parts(self, value: Any) -> dict[Any, Any]:
        kind = type(value)
        if issubclass(kind, dict):
            return dict(items_in(value))
        if kind is CellType:
            return {None: value.cell_contents} if cell_is_filled(value) else {}
        if kind is Globals:
            return {name: value.namespace[name] for name in sorted(value.names) if name in value.namespace}
        if issubclass(kind, (type, ModuleType)):
            return {name: vars(value)[name] for name in self.reach.names_in(value)}
        return dict(vars(value)) if kind is FunctionType else fields_in(value) or {}

    def take_back(
        self, known: frozenset[str], stages: Callable[[Any], bool], root: Callable[[Any, str], str],
        own: Collection[int] = (), chosen: Collection[int] = (), sets_up: bool = True,
    ) -> set[str]:
        """The paths of all changed parts, except `known`; the changes are undone. `own`: ids of the containers that are
        state as a whole; `chosen`: ids of those that become alternatives of a `Choice`, so that they need a variable of
        their own. `root` makes a variable for an object without a path. `sets_up`: see `becomes_state`.
        """
        found: set[str] = set()
        for reached, before in self.records:
            path, value, hint = reached
            whole = is_list(value) or hasattr(type(value), "__become__")
            if id(value) in chosen:
                if not _same(self._copy(value), before):
                    found.add(root(value, hint))
                continue
            if id(value) in own or (path in known and (whole or type(value) is dict)):
                continue
            if whole:
                now = self._copy(value)
                same = _same(now, before) or (len(now) == len(before) and all(
                    a is b or f"{path}[{i}]" in known for i, (a, b) in enumerate(zip(now, before))))
                if same or (is_list(value) and sets_up and _sets_up(before, now, stages)):
                    continue
                found.add(path or root(value, hint))
                _restore(value, before)
                continue
            if has_staged_items(value) or has_staged_items(before):  # no single key is state
                if not _same(self._parts(value), before):
                    found.add(path or root(value, hint))
                    fill(value, [*before.items()])
                continue
            found |= self._parts_taken_back(reached, before, known, stages, root, sets_up)
        return found

    def _parts_taken_back(
        self, reached: Reached, before: dict[Any, Any], known: frozenset[str], stages: Callable[[Any], bool],
        root: Callable[[Any, str], str], sets_up: bool,
    ) -> set[str]:
        """As `take_back`, for an object whose parts are separate state."""
        value, found = reached.value, set[str]()
        now = self._parts(value)
        for key in {**before, **now}:
            old, new = before.get(key, _MISSING), now.get(key, _MISSING)
            if old is new or not (new is _MISSING or becomes_state(old, new, stages, sets_up)):
                continue
            inner = self._name(reached, key, root)
            if inner in known:
                continue
            found.add(inner)
            _put(value, key, old)
        has_moved = issubclass(type(value), OrderedDict) and now.keys() == before.keys() and [*now] != [*before]
        if has_moved and not found:
            self.unnamed = reached  # the order of keys is not state
        if has_moved or (found and issubclass(type(value), dict)):
            reorder(value, before)
        return found

    def _name(self, reached: Reached, key: Any, root: Callable[[Any, str], str]) -> str:
        """The path to the part `key` of an object; to the whole dict if the key has no literal form."""
        path, value, hint = reached
        if type(value) is CellType:
            return root(value, hint)
        if type(value) is Globals:
            if value.namespace is self.reach.namespace and key not in self.reach.shadowed:
                return str(key)
            return f"{root(value.namespace, hint)}[{key!r}]"
        if not issubclass(type(value), dict):
            return f"{path or root(value, hint)}.{key}"
        whole = path or root(value, hint)
        return f"{whole}[{key!r}]" if _is_literal(key) else whole

    def restore(self) -> None:
        """Restore all contents."""
        for reached, before in self.records:
            value = reached.value
            if self._is_collection(value) or hasattr(type(value), "__become__"):
                _restore(value, before)
                continue
            now, is_class = self._parts(value), issubclass(type(value), type)
            for key in {**before, **now}:
                old, new = before.get(key, _MISSING), now.get(key, _MISSING)
                if is_class and (hasattr(type(old), "__get__") or hasattr(type(new), "__get__")):
                    continue  # during a trace, replacements stand for methods and properties
                if old is not new:
                    _put(value, key, old)
            if issubclass(type(value), dict):
                reorder(value, before)
        self.changed()

    def copies(self) -> dict[int, Any]:
        """The copies by the ids of the objects."""
        return {id(reached.value): before for reached, before in self.records}

    def changes(self) -> Iterator[tuple[Reached, Any, Any]]:
        """The changes as (object, key, new value): the key is None for a collection, a cell and a value of a backend;
        the value is UNBOUND if the part was deleted."""
        for reached, before in self.records:
            value = reached.value
            if self._is_collection(value) or hasattr(type(value), "__become__"):
                now = self._copy(value)
                if len(now) != len(before) or not all(map(operator.is_, now, before)):
                    known = set(map(id, before))
                    new = [item for item in now if id(item) not in known]
                    yield reached, None, new
                continue
            parts = self._parts(value)
            if has_staged_items(value):
                if not _same(parts, before):
                    yield reached, None, [*parts.values()]
                continue
            for key in {**before, **parts}:
                old, part = before.get(key, _MISSING), parts.get(key, _MISSING)
                if old is not part:
                    yield reached, key, UNBOUND if part is _MISSING else part

    def part(self, value: Any, key: Any) -> Any:
        """The part `key` of a reachable object or variable, as it is now; UNBOUND if there is none."""
        return _part(value, self._parts(value), key)

    def before(self, value: Any, key: Any) -> Any:
        """The part `key` as it was before; for a list or a value of a backend, a copy with the earlier content."""
        before = next(parts for reached, parts in self.records if reached.value is value)
        if is_list(value) or (key is None and isinstance(value, dict)):
            was = value.copy()
            fill(was, [*enumerate(before)] if is_list(value) else [*before.items()])
            return was
        return value.__rebuild__(before) if hasattr(type(value), "__become__") else _part(value, before, key)

    def changed(self) -> tuple[str, Any] | None:
        """The path or description, and the object, of a change that cannot be state; it is undone. None if there is
        none."""
        found = self.unnamed
        for reached, other in self.others:
            if other.put_back():
                found = reached
        return None if found is None else ((found.path or found.hint).removesuffix(".__self__"), found.value)


def _part(value: Any, parts: dict[Any, Any], key: Any) -> Any:
    """A part of an object or variable by key; if it is missing, the class attribute that it would shadow."""
    if key in parts:
        return parts[key]
    return UNBOUND if issubclass(type(value), (dict, CellType, Globals)) else getattr(type(value), key, UNBOUND)


def _same(now: Any, before: Any) -> bool:
    """Whether two copies of contents are the same."""
    if isinstance(before, dict):
        return now.keys() == before.keys() and all(now[key] is part for key, part in before.items())
    return len(now) == len(before) and all(map(operator.is_, now, before))


def _is_literal(key: Any) -> bool:
    return type(key) in (str, int) or (type(key) is tuple and all(map(_is_literal, key)))


def _restore(value: Any, before: Any) -> None:
    if is_collection(value):
        refill(value, before)
    else:
        value.__become__(before)


def _put(value: Any, key: Any, part: Any) -> None:
    """`put`, or `take_out` for `_MISSING`."""
    if part is _MISSING:
        take_out(value, key)
    else:
        put(value, key, part)


def _is_state(value: Any, stages: Callable[[Any], bool], inside: tuple[int, ...] = ()) -> bool:
    """Whether `value` is a number or staged value, a list or tuple of these, or a dict or object that contains a staged
    value. `inside`: the ids of the enclosing lists, which may occur in it."""
    if type(value) is tuple or is_list(value):
        around = (*inside, id(value))
        return id(value) in inside or all(_is_state(item, stages, around) for item in value)
    if issubclass(type(value), dict) or _is_object(value):
        return _has_staged(value, stages, inside)
    return type(value) in (int, float, bool, complex) or stages(value)


def _is_object(value: Any) -> bool:
    """Whether it is an object that consists of its attributes."""
    return is_record(value) or can_be_record(type(value))


def _has_staged(value: Any, stages: Callable[[Any], bool], inside: tuple[int, ...] = ()) -> bool:
    """Whether a list, tuple, dict or object contains a staged value. `inside`: the ids of the enclosing ones."""
    if stages(value):
        return True
    if type(value) in ATOMS or id(value) in inside:
        return False
    parts = [*(fields_in(value) or {}).values()] if _is_object(value) else [part for _, part in parts_in(value)]
    return any(_has_staged(part, stages, (*inside, id(value))) for part in parts)


def _sets_up(before: list[Any], now: list[Any], stages: Callable[[Any], bool]) -> bool:
    """Whether a body with `sets_up` only made a list longer, by what is not state."""
    added = now[len(before):]
    return bool(added) and all(map(operator.is_, now, before)) and not any(
        becomes_state(_MISSING, item, stages, True) for item in added)


def becomes_state(old: Any, new: Any, stages: Callable[[Any], bool], sets_up: bool) -> bool:
    """Whether a variable or attribute to which a body assigned `new` in place of `old` is state. In a body with
    `sets_up`, storing an object that does not consist of parts, such as a variable, where there was none (`_MISSING`,
    UNBOUND or None) is initialisation, done once at trace time, and not state.
    """
    if not sets_up or only_atoms((new,)) or isinstance(new, (tuple, FunctionType, BuiltinFunctionType)):
        return True
    return _has_parts(new) or _is_state(new, stages) or not (old is None or old is _MISSING or old is UNBOUND)


def _has_parts(value: Any) -> bool:
    """Whether a value is immutable, such as text of a backend's, or consists of what could be state, unlike a
    variable."""
    backend, classes = backend_of(value), type(value).__mro__[:-1]
    return _is_object(value) or is_collection(value) or issubclass(type(value), dict) or is_other(value) or (
        backend is not None and backend.is_immutable(value)) or bool(
            classes and all(map(is_of_converted_code, classes)))
