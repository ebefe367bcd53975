"""Guards on the pre-existing attributes, variables, lists and dicts that a trace has read.

Each call compares the values that the trace read with the current ones; those that differ become inputs of later
traces, like the state that calls change (`attribute_state.py`). Arrays too large to compare are inputs from the first
call on.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter, is_, itemgetter
from types import CellType
from typing import Any, Final

import numpy as np

from autograph.backend import DICTS, UNBOUND, Globals, is_collection, only_atoms
from runtime.function.arguments.signature import Call, weakly
from runtime.function.state.attribute_state import NeedsAttributes, Place, content_of, holder_of
from runtime.function.state.visible_places import KEYS, Constant, is_same

__all__ = ["MOST", "ConstantGuards", "holds", "large_in"]

MOST: Final = 10_000  # the maximal number of guarded places; a list is one place
_MOST_BYTES: Final = 4096  # the maximal size of an array whose elements are compared


def holds(guards: ConstantGuards | None, call: Call) -> bool:
    """Whether a trace is valid for a call. NeedsAttributes if not, and the changed values can become arguments of the
    call."""
    if guards is None:
        return True
    if (guards.containers and not guards.containers.isdisjoint(call.own)) or call.shares(guards.others):
        return False  # an object that the trace has read elsewhere is an argument here
    if guards.hold():
        return True
    if call.finds_attributes and (changed := guards.changed()):
        raise NeedsAttributes([place for place, _ in changed], before=[content for _, content in changed])
    return False


def large_in(constants: Sequence[Constant], captured: Sequence[Any]) -> list[Place]:
    """The places of writable arrays that are too large to compare at each call, except those in `captured`."""
    known = set(map(id, captured))
    return [place for place, content in constants if any(
        x.nbytes > _MOST_BYTES and x.dtype.kind in "biufc" and id(x) not in known for x in _arrays_in(content))]


def _arrays_in(content: Any) -> list[Any]:
    """The writable array, or those in a list or tuple. (`isinstance` would run code of proxies.)"""
    kind = type(content)
    if issubclass(kind, np.ndarray):
        return [content] if content.flags.writeable else []
    if kind is not list and not issubclass(kind, tuple):
        return []
    return [] if only_atoms(content) else [x for part in content for x in _arrays_in(part)]


class ConstantGuards:
    """The constants on which a trace depends.

    containers, others   the ids of lists, dicts and objects, and the arrays, that must not be arguments
    changing             the ids of those that calls change, for which an equal one is another
    """

    __slots__ = ("_absent", "_arrays", "_attributes", "_cells", "_dicts", "_items", "_keys", "_lists", "_places",
                 "_single", "changing", "containers", "others")

    def __init__(
        self, constants: Sequence[Constant], containers: frozenset[int] = frozenset(), others: Sequence[Any] = (),
        changing: frozenset[int] = frozenset(),
    ) -> None:
        self.containers, self.others, self.changing = containers, others, changing
        items: dict[int, tuple[Any, dict[Any, Any]]] = {}
        attributes: dict[int, tuple[Any, dict[Any, Any]]] = {}
        self._single: list[tuple[Any, Any, Any]] = []
        self._cells: list[tuple[CellType, Any]] = []
        self._lists: list[tuple[Any, list[Any]]] = []
        self._keys: list[tuple[Any, list[Any]]] = []
        self._dicts: list[tuple[Any, Any, Any]] = []  # for subclasses, which may create missing items
        self._arrays: list[tuple[Any, bytes]] = []
        self._absent: list[tuple[Any, Any]] = []
        self._places: list[tuple[str, Any, Any, Any]] = []
        for (path, holder, key), content in constants:
            kept = holder
            if content is UNBOUND:
                kept = weakly(holder)
                self._absent.append((kept, key))
            elif type(holder) is CellType:
                self._cells.append((holder, content))
            elif key is KEYS:
                self._keys.append((holder, content))
                continue
            elif is_collection(holder):
                self._lists.append((holder, content))
            elif type(holder) is not dict and type(holder) in DICTS:
                self._dicts.append((holder, key, content))
            elif type(holder) is Globals or type(holder) is dict:
                namespace = holder.namespace if type(holder) is Globals else holder
                items.setdefault(id(namespace), (namespace, {}))[1][key] = content
                self._single.append((namespace, key, content))
            else:
                kept = weakly(holder)
                attributes.setdefault(id(holder), (kept, {}))[1][key] = content
                self._single.append((kept, key, content))
            self._arrays += [(x, x.tobytes()) for x in _arrays_in(content) if x.nbytes <= _MOST_BYTES]
            self._places.append((path, kept, key, content))
        self._items = [(owner, *_getter(itemgetter, parts)) for owner, parts in items.values()]
        self._attributes = [(owner, *_getter(attrgetter, parts)) for owner, parts in attributes.values()]

    @property
    def items(self) -> Sequence[tuple[Any, Any, Any]] | None:
        """The guards that native code can check: a dict, or a weak reference to an object; a key, or an attribute; and
        the content; for variables of functions None, the cell and the content. None if there are guards of other
        kinds."""
        if self._lists or self._arrays or self._absent or self._keys or self._dicts or not all(
                type(owner) is dict or (type(owner) is weakref.ref and not issubclass(type(owner()), type))
                for owner, _, _ in self._single):
            return None
        return [*self._single, *((None, *cell) for cell in self._cells)]

    def hold(self) -> bool:
        """Whether all constants have their traced values."""
        try:
            for namespace, get, parts in self._items:
                if not all(map(is_, get(namespace), parts)):
                    return not self.changed()
            for kept, get, parts in self._attributes:
                if not all(map(is_, get(holder_of(kept)), parts)):
                    return not self.changed()
            for cell, content in self._cells:
                if cell.cell_contents is not content:
                    return not self.changed()
        except (KeyError, AttributeError, ValueError):  # the item, attribute or variable is gone
            return False
        for holder, contents in self._lists:
            if len(holder) != len(contents) or not all(map(is_, holder, contents)):
                if self.changed():
                    return False
                contents[:] = holder  # equal items: the next call compares their identities
        if not all([*holder] == keys for holder, keys in self._keys):
            return False  # other keys need another trace
        if not all(dict.get(holder, key, UNBOUND) is content for holder, key, content in self._dicts):
            return not self.changed()
        if self._absent and not all(_is_absent(holder_of(kept), key) for kept, key in self._absent):
            return not self.changed()
        return not self._arrays or all(array.tobytes() == elements for array, elements in self._arrays)

    def accept(self) -> None:
        """Make the current contents of the places the guarded ones."""
        if not self.hold():
            places = [(path, holder_of(kept), key) for path, kept, key, _ in self._places]
            now = [(place, content_of(*place[1:])) for place in places if place[1] is not None]
            constants = [(place, list(x) if is_collection(place[1]) else x) for place, x in now]
            constants += [(("", holder, KEYS), [*holder]) for holder, _ in self._keys]
            ConstantGuards.__init__(self, constants, self.containers, self.others, self.changing)

    def changed(self) -> list[Constant]:
        """The places whose contents have changed, with the contents that were traced."""
        found = []
        elements = {id(array): array.tobytes() == before for array, before in self._arrays}
        for path, kept, key, content in self._places:
            holder = holder_of(kept)
            if holder is not None:
                now = content_of(holder, key)
                now = list(now) if is_collection(holder) else now
                if not is_same(now, content) or self._is_replaced(now, content) or not all(
                        elements.get(id(x), True) for x in _arrays_in(now)):
                    found.append(((path, holder, key), content))
        return found

    def _is_replaced(self, now: Any, content: Any) -> bool:
        """Whether an equal content has another list where that of the trace has one that calls change."""
        if now is content or not self.changing or type(content) not in (list, tuple):
            return False
        return id(content) in self.changing or any(map(self._is_replaced, now, content))


def _is_absent(holder: Any, key: Any) -> bool:
    fields = getattr(holder, "__dict__", None)
    return content_of(holder, key) is UNBOUND if fields is None or type(holder) is type else key not in fields


def _getter(kind: Any, parts: dict[Any, Any]) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[Any, ...]]:
    """A function that gets these items or attributes as a tuple, and their traced values."""
    twice = [*parts] if len(parts) > 1 else [*parts, *parts]
    return kind(*twice), tuple([parts[key] for key in twice])
