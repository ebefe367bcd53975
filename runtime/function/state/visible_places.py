"""What the reachable code of a trace may read of pre-existing objects: variables, attributes, items and lists, by the
names in the code."""
from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Iterable, Iterator
from types import BuiltinFunctionType, CellType, CodeType, ModuleType, SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np

from autograph.backend import (
    DICTS,
    LISTS,
    UNBOUND,
    Globals,
    Heap,
    Reached,
    is_collection,
    is_of_converted_code,
    is_users_object,
    names_of,
    only_atoms,
)
from runtime.function.state.attribute_state import Place, content_of, path_of

__all__ = ["CONSTANTS", "KEYS", "Constant", "Reading", "Visible", "is_same", "is_within"]

CONSTANTS: Final = frozenset({int, float, complex, bool, str, bytes, type(None)})
_FIXED: Final = frozenset({BuiltinFunctionType, ModuleType})  # not exchanged while a program runs

KEYS: Final = object()
"""Used as a key: all keys of a dict, in order."""

Constant = tuple[Place, Any]


class Reading(NamedTuple):
    """The names of globals and attributes in the code that a trace may run, and the classes that it may instantiate."""

    names: frozenset[str] = frozenset()
    classes: frozenset[type] = frozenset()


def _owned_in(heap: Heap) -> set[int]:
    """The ids of lists and dicts, also nested ones, held by variables and attributes of code that converts, not by the
    standard library."""
    contents: list[Any] = []
    for root, before in heap.records:
        if isinstance(before, dict) and type(root.value) not in DICTS and _is_users(root.value):
            contents += before.values()
    for scope in heap.reach.named:
        contents += [scope.namespace[name] for name in scope.names if name in scope.namespace]
    found = set[int]()
    while contents:
        content = contents.pop()
        if (is_collection(content) or type(content) in (*DICTS, tuple)) and id(content) not in found:
            found.add(id(content))
            parts = list(dict.values(content) if type(content) in DICTS else content)
            contents += [] if only_atoms(parts) else parts
    return found


def _is_users(holder: Any) -> bool:
    kind = type(holder)
    return kind in (CellType, Globals, SimpleNamespace, Namespace) or issubclass(
        kind, (type, ModuleType)) or is_of_converted_code(kind)


class Visible:
    """The places that the reachable code may read."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        codes = [code for code in heap.reach.codes if code.co_name != "__init__"]  # has run for pre-existing objects
        self._asked = _texts_beside(_ASKING, codes)
        """The names of attributes that may be missing."""
        self.names = names_of(codes) | self._asked | _texts_beside(_OPERATORS, codes)
        """The names of globals and attributes."""
        self._owned, self._hidden = _owned_in(heap), _hidden_in(heap, self.names)

    def reading(self) -> Reading:
        """The names in the code, and the classes that it may instantiate."""
        contents = [content for _, content in self._variables()]
        for _, before in self._heap.records:
            contents += before.values() if isinstance(before, dict) else before
        classes = (content for content in contents if issubclass(type(content), type))
        return Reading(self.names, frozenset(filter(is_of_converted_code, classes)))

    def owns(self, holder: Any) -> bool:
        """Whether the content of an object belongs to the user's code."""
        return id(holder) in self._owned if is_collection(holder) or type(holder) in DICTS else _is_users(holder)

    def _roots(self) -> Iterator[tuple[Reached, Any]]:
        """The objects, except globals, and copies of their content before the trace."""
        return ((root, before) for root, before in self._heap.records if type(root.value) is not Globals
                and self.owns(root.value) and id(root.value) not in self._hidden)

    def _variables(self) -> Iterator[Constant]:
        for scope in self._heap.reach.named:
            for name in sorted(scope.names):
                content = scope.namespace.get(name, UNBOUND)
                if content is not UNBOUND and type(content) not in _FIXED:
                    yield (name, scope, name), content

    def constants(self) -> Iterator[Constant]:
        """The places with constants that the trace has not changed, with their contents."""
        yield from self._variables()
        for root, before in self._roots():
            yield from self._constants_of(root, before)
        old = self._heap.copies()
        for root, key, new in self._heap.changes():  # an object created by the first call and found by later ones
            if is_users_object(new) and self.owns(root.value) and (
                    (before := old[id(root.value)].get(key, UNBOUND)) is UNBOUND or before is None):
                yield (path_of(root, key), root.value, key), before

    def _constants_of(self, root: Reached, before: Any) -> Iterator[Constant]:
        holder = Globals(vars(root.value), frozenset()) if issubclass(type(root.value), ModuleType) else root.value
        kind = type(holder)
        if is_collection(holder):
            if is_same(list(content_of(holder, None)), before):
                yield (path_of(root, None), holder, None), list(before)
            return
        if not isinstance(before, dict):
            return
        if kind in DICTS:
            yield (path_of(root, None), holder, KEYS), [*before]
        is_class, whole = issubclass(kind, type), kind in DICTS or kind is CellType
        for key, content in before.items():
            is_read = not _is_of_class(content) if is_class else whole or key in self.names
            if is_read and type(content) not in _FIXED and content_of(holder, key) is content:
                yield (path_of(root, key), holder, key), content
        if not (whole or is_class or kind is Globals):
            inherited = {key for cls in kind.__mro__ for key, content in vars(cls).items() if not _is_of_class(content)}
            members = {key for cls in kind.__mro__ for key in vars(cls)}
            for key in sorted((self.names & inherited) | (self._asked - members)):
                if key not in before:
                    yield (path_of(root, key), holder, key), UNBOUND

    def containers(self) -> frozenset[int]:
        """The ids of lists, dicts, and objects."""
        return frozenset(id(root.value) for root, _ in self._roots()
                         if type(root.value) is not CellType and not issubclass(type(root.value), (type, ModuleType)))

    def arrays(self) -> list[Any]:
        """The writable NumPy arrays, without repetition."""
        contents = [content for _, content in self._variables()]
        for _, before in self._roots():
            contents += before.values() if isinstance(before, dict) else before
        found: dict[int, Any] = {}
        while contents:
            content = contents.pop()
            if issubclass(type(content), tuple):
                contents += tuple.__iter__(content)
            elif issubclass(type(content), np.ndarray) and content.flags.writeable:
                found[id(content)] = content
        return list(found.values())

    def holders_of(self, values: Collection[int]) -> Iterator[Constant]:
        """The places, in objects other than these, that hold a value with one of these ids, possibly in a tuple, with
        their contents."""
        yield from (place for place in self._variables() if is_within(place[1], values))
        for root, _ in self._heap.records:
            keys = list(root.value) if issubclass(type(root.value), (set, frozenset, dict)) else ()
            if id(root.value) not in self._hidden and any(is_within(key, values) for key in keys):
                yield (path_of(root, None), root.value, None), keys
        for root, before in self._roots():
            if id(root.value) in values:
                continue
            holder = root.value
            items = before if not isinstance(before, dict) else holder if isinstance(holder, LISTS) else ()
            if any(is_within(item, values) for item in items):
                yield (path_of(root, None), holder, None), list(items)
            if not isinstance(before, dict):
                continue
            if issubclass(type(holder), ModuleType):
                holder = Globals(vars(holder), frozenset())
            is_whole = type(holder) in (*DICTS, CellType) or issubclass(type(holder), type)
            for key, content in before.items():
                if (is_whole or key in self.names) and is_within(content, values):
                    yield (path_of(root, key), holder, key), content


def is_within(value: Any, ids: Collection[int]) -> bool:
    """Whether a value has one of these ids, or is a tuple that contains such a value."""
    return id(value) in ids or (issubclass(type(value), tuple) and any(
        is_within(part, ids) for part in tuple.__iter__(value)))


def _hidden_in(heap: Heap, names: Collection[str]) -> set[int]:
    """The ids of objects reachable only through attributes that the code does not name."""
    parts = heap.copies()

    def named(holder: Any, all_names: bool) -> Iterator[Any]:
        before = holder if type(holder) is tuple else parts.get(id(holder), ())
        if not isinstance(before, dict):
            yield from before
            return
        every = all_names or type(holder) in (*DICTS, CellType, Globals) or issubclass(
            type(holder), (type, ModuleType))
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
    near = (root.value for root, _ in heap.records if id(root.value) not in far)
    return far - closure([*heap.reach.entries, *near], False)


_ASKING: Final = frozenset({"getattr", "hasattr"})
_OPERATORS: Final = frozenset({"attribute", "to_delete"})
"""The operators of converted code that take the name of an attribute."""


def _texts_beside(functions: frozenset[str], codes: Iterable[CodeType]) -> frozenset[str]:
    """The identifiers among the constants of code that names one of these functions."""
    found, pending = set[str](), [*codes]
    while pending:
        code = pending.pop()
        pending += [nested for nested in code.co_consts if isinstance(nested, CodeType)]
        if not functions.isdisjoint(code.co_names):
            found.update(text for text in code.co_consts if type(text) is str and text.isidentifier())
    return frozenset(found)


def _is_of_class(content: Any) -> bool:
    """Whether a member of a class is a method, property or the like, which is replaced while a function is traced."""
    return type(content) in _FIXED or issubclass(type(content), type) or hasattr(type(content), "__get__")


def is_same(a: Any, b: Any) -> bool:
    """Whether two contents are equal for code that reads them: constants by value (1 is not True or 1.0), also in lists
    and tuples, other objects by identity."""
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) in (tuple, list):
        return len(a) == len(b) and all(map(is_same, a, b))
    return type(a) in CONSTANTS and repr(a) == repr(b)
