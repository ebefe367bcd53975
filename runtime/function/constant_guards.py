"""What a trace has read of attributes, variables and short lists from before.

Each call looks whether they are what they were. Those that are not are arguments of the trace from then on, as what
calls change (`attribute_state.py`); so are arrays that are too large to look at, from the first call on.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter, is_, itemgetter
from types import BuiltinFunctionType, CellType, CodeType, ModuleType
from typing import Any, Final

import numpy as np

from autograph.backend import (
    UNBOUND,
    Globals,
    Heap,
    Reached,
    is_list,
    is_of_converted_code,
    is_users_object,
    names_of,
    only_atoms,
)
from runtime.function.attribute_state import NeedsAttributes, Place, content_of, held_by, path_of
from runtime.function.signature import Call, weakly

__all__ = ["CONSTANTS", "MOST", "Constant", "ConstantGuards", "constants_in", "holds", "is_owned", "large_in",
           "owned_in"]

CONSTANTS: Final = frozenset({int, float, complex, bool, str, bytes, type(None)})
_FIXED: Final = frozenset({BuiltinFunctionType, ModuleType})  # what programs do not exchange as they run
MOST: Final = 256  # constants that calls look at
_MOST_ITEMS: Final = 64  # of a list or dict
_MOST_BYTES: Final = 4096  # of an array whose elements calls look at

Constant = tuple[Place, Any]


def owned_in(heap: Heap) -> set[int]:
    """The ids of lists and dicts that variables and attributes of code that converts hold, also in each other: not
    those of the standard library."""
    contents: list[Any] = []
    for root, before in heap.records:
        if isinstance(before, dict) and type(root.value) is not dict and _is_users(root.value):
            contents += before.values()
    for scope in heap.reach.named:
        contents += [scope.namespace[name] for name in scope.names if name in scope.namespace]
    found = set[int]()
    while contents:
        content = contents.pop()
        if (is_list(content) or type(content) in (dict, tuple)) and id(content) not in found:
            found.add(id(content))
            parts = list(dict.values(content) if type(content) is dict else content)
            contents += [] if only_atoms(parts) else parts
    return found


def _is_users(holder: Any) -> bool:
    kind = type(holder)
    return kind in (CellType, Globals) or issubclass(kind, (type, ModuleType)) or is_of_converted_code(kind)


def is_owned(holder: Any, owned: set[int]) -> bool:
    """Whether what a place holds is the user's. `owned`: `owned_in` the heap."""
    return id(holder) in owned if is_list(holder) or type(holder) is dict else _is_users(holder)


def constants_in(heap: Heap) -> Iterator[Constant]:
    """The places with constants that the code within reach may read and has left as they were, and what they hold."""
    for scope in heap.reach.named:
        for name in sorted(scope.names):
            content = scope.namespace.get(name, UNBOUND)
            if content is not UNBOUND and type(content) not in _FIXED:
                yield (name, scope, name), content
    codes = [code for code in heap.reach.codes if code.co_name != "__init__"]  # objects from before have had that
    asked = frozenset[str]().union(*map(_asked_in, codes))
    names = names_of(codes) | asked
    owned, hidden = owned_in(heap), _hidden_in(heap, names)
    for root, before in heap.records:
        if type(root.value) is not Globals and is_owned(root.value, owned) and id(root.value) not in hidden:
            yield from _constants_of(root, before, names, asked)
    old = heap.copies()
    for root, key, new in heap.changes():  # an object that the first call makes, and later ones find
        if is_users_object(new) and is_owned(root.value, owned) and (
                (before := old[id(root.value)].get(key, UNBOUND)) is UNBOUND or before is None):
            yield (path_of(root, key), root.value, key), before


def _hidden_in(heap: Heap, names: Collection[str]) -> set[int]:
    """The ids of objects that only attributes with other names lead to."""
    parts = heap.copies()

    def named(holder: Any, all_names: bool) -> Iterator[Any]:
        before = holder if type(holder) is tuple else parts.get(id(holder), ())
        if not isinstance(before, dict):
            yield from before
            return
        every = all_names or type(holder) in (dict, CellType, Globals) or issubclass(type(holder), (type, ModuleType))
        yield from (content for key, content in before.items() if every or key in names)

    def closure(values: Iterable[Any], all_names: bool) -> set[int]:
        found, pending = set[int](), list(values)
        while pending:
            value = pending.pop()
            if id(value) not in found and (id(value) in parts or type(value) is tuple):
                found.add(id(value))
                pending += named(value, all_names)
        return found

    others = [content for root, before in heap.records if isinstance(before, dict) and not issubclass(
        type(root.value), (dict, CellType, Globals, type, ModuleType)) for key, content in before.items()
        if key not in names]
    far = closure(others, True)
    globals_ = [scope.namespace[name] for scope in heap.reach.named for name in scope.names if name in scope.namespace]
    return far - closure([*globals_, *(root.value for root, _ in heap.records if id(root.value) not in far)], False)


def _constants_of(root: Reached, before: Any, names: frozenset[str], asked: frozenset[str]) -> Iterator[Constant]:
    """Those of one object. `names`: of the attributes that code may read; `asked`: those that may be missing."""
    holder = Globals(vars(root.value), frozenset()) if issubclass(type(root.value), ModuleType) else root.value
    kind = type(holder)
    if is_list(holder):
        if _is_same(list(content_of(holder, None)), before):
            yield (path_of(root, None), holder, None), list(before)
        return
    if not isinstance(before, dict) or (kind is dict and len(before) > _MOST_ITEMS):
        return
    is_class, whole = issubclass(kind, type), kind in (dict, CellType)
    for key, content in before.items():
        is_read = not _is_of_class(content) if is_class else whole or key in names
        if is_read and type(content) not in _FIXED and content_of(holder, key) is content:
            yield (path_of(root, key), holder, key), content
    if not (whole or is_class or kind is Globals):
        inherited = {key for cls in kind.__mro__ for key, content in vars(cls).items() if not _is_of_class(content)}
        members = {key for cls in kind.__mro__ for key in vars(cls)}
        for key in sorted((names & inherited) | (asked - members)):
            if key not in before:
                yield (path_of(root, key), holder, key), UNBOUND


def _asked_in(code: CodeType) -> frozenset[str]:
    """The names that code may give `getattr` or `hasattr`."""
    found, pending = set[str](), [code]
    while pending:
        part = pending.pop()
        pending += [nested for nested in part.co_consts if isinstance(nested, CodeType)]
        if not {"getattr", "hasattr"}.isdisjoint(part.co_names):
            found.update(text for text in part.co_consts if type(text) is str and text.isidentifier())
    return frozenset(found)


def _is_of_class(content: Any) -> bool:
    """Whether a member of a class is a method, property or the like, instead of which another one stands while a
    function is traced."""
    return type(content) in _FIXED or issubclass(type(content), type) or hasattr(type(content), "__get__")


def holds(guards: ConstantGuards | None, call: Call) -> bool:
    """Whether a trace can be used for a call. NeedsAttributes if it cannot, and the call can have what has changed as
    arguments."""
    if guards is None or guards.hold():
        return True
    if call.finds_attributes and (changed := guards.changed()):
        raise NeedsAttributes([place for place, _ in changed], before=[content for _, content in changed])
    return False


def large_in(constants: Sequence[Constant], captured: Sequence[Any]) -> list[Place]:
    """The places of arrays that can be written and are too large for each call to look at their elements, besides those
    that are `captured`."""
    known = set(map(id, captured))
    return [place for place, x in constants if _is_written(x)
            and x.nbytes > _MOST_BYTES and x.dtype.kind in "biufc" and id(x) not in known]


def _is_written(x: Any) -> bool:
    """Whether it is an array that can be written."""
    return issubclass(type(x), np.ndarray) and bool(x.flags.writeable)  # `isinstance` would run code of proxies


def _is_same(a: Any, b: Any) -> bool:
    """Whether two contents are the same to code that reads them: constants by value (1 is not True or 1.0), also in
    short lists and tuples, other objects by identity."""
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) in (tuple, list):
        return len(a) == len(b) <= _MOST_ITEMS and all(map(_is_same, a, b))
    return type(a) in CONSTANTS and repr(a) == repr(b)


class ConstantGuards:
    """What constants have to be where a trace is used."""

    __slots__ = ("_absent", "_arrays", "_attributes", "_cells", "_items", "_lists", "_places", "_single")

    def __init__(self, constants: Sequence[Constant]) -> None:
        items: dict[int, tuple[Any, dict[Any, Any]]] = {}
        attributes: dict[int, tuple[Any, dict[Any, Any]]] = {}
        self._single: list[tuple[Any, Any, Any]] = []
        self._cells: list[tuple[CellType, Any]] = []
        self._lists: list[tuple[Any, list[Any]]] = []
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
            elif is_list(holder):
                self._lists.append((holder, content))
            elif type(holder) is Globals or type(holder) is dict:
                namespace = holder.namespace if type(holder) is Globals else holder
                items.setdefault(id(namespace), (namespace, {}))[1][key] = content
                self._single.append((namespace, key, content))
            else:
                kept = weakly(holder)
                attributes.setdefault(id(holder), (kept, {}))[1][key] = content
                self._single.append((kept, key, content))
            if _is_written(content) and content.nbytes <= _MOST_BYTES:
                self._arrays.append((content, content.tobytes()))
            self._places.append((path, kept, key, content))
        self._items = [(held, *_getter(itemgetter, parts)) for held, parts in items.values()]
        self._attributes = [(held, *_getter(attrgetter, parts)) for held, parts in attributes.values()]

    @property
    def items(self) -> Sequence[tuple[Any, Any, Any]] | None:
        """What native code can look at: dicts, or weak references to objects; keys, or attributes; and contents; and
        for variables of functions None, the cell and the content. None if there is more."""
        if self._lists or self._arrays or self._absent or not all(
                type(held) is dict or (type(held) is weakref.ref and not issubclass(type(held()), type))
                for held, _, _ in self._single):
            return None
        return [*self._single, *((None, *cell) for cell in self._cells)]

    def hold(self) -> bool:
        """Whether all constants are what they were."""
        try:
            for namespace, get, parts in self._items:
                if not all(map(is_, get(namespace), parts)):
                    return not self.changed()
            for kept, get, parts in self._attributes:
                if not all(map(is_, get(held_by(kept)), parts)):
                    return not self.changed()
            for cell, content in self._cells:
                if cell.cell_contents is not content:
                    return not self.changed()
        except (KeyError, AttributeError, ValueError):  # there is no such item, attribute or variable any more
            return False
        for holder, contents in self._lists:
            if len(holder) != len(contents) or not all(map(is_, holder, contents)):
                return not self.changed()
        if self._absent and not all(_is_absent(held_by(kept), key) for kept, key in self._absent):
            return not self.changed()
        return not self._arrays or all(array.tobytes() == elements for array, elements in self._arrays)

    def accept(self) -> None:
        """Take what the places hold now for what they have to hold."""
        if not self.hold():
            now = [((path, held_by(kept), key), content_of(held_by(kept), key)) for path, kept, key, _ in self._places
                   if held_by(kept) is not None]
            ConstantGuards.__init__(self, [(place, list(x) if is_list(place[1]) else x) for place, x in now
                                           if not is_list(place[1]) or len(x) <= _MOST_ITEMS])

    def changed(self) -> list[Constant]:
        """The places that hold something else now, and what they held."""
        found = []
        elements = {id(array): array.tobytes() == before for array, before in self._arrays}
        for path, kept, key, content in self._places:
            holder = held_by(kept)
            if holder is not None:
                now = content_of(holder, key)
                if not _is_same(list(now) if is_list(holder) else now, content) or not elements.get(id(now), True):
                    found.append(((path, holder, key), content))
        return found


def _is_absent(holder: Any, key: Any) -> bool:
    fields = getattr(holder, "__dict__", None)
    return content_of(holder, key) is UNBOUND if fields is None or type(holder) is type else key not in fields


def _getter(kind: Any, parts: dict[Any, Any]) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[Any, ...]]:
    """A function that gets these items or attributes as a tuple, and what they are."""
    twice = [*parts] if len(parts) > 1 else [*parts, *parts]
    return kind(*twice), tuple([parts[key] for key in twice])
