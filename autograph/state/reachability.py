"""The objects that a body can read and change: those reachable from its variables and from the functions and methods
that it may call.

Names in its code lead to globals, and to methods of the objects found, which in turn close over and name others. A
method, or a member of a class or module, is followed if its name occurs in some code found so far.
"""
from __future__ import annotations

import dis
import functools
import gc
import itertools
import operator
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, Final, NamedTuple, cast

from autograph.core.allowlist import exclusion_rule, is_of_standard_library
from autograph.core.backend import backend_for
from autograph.core.code_cache import per_code, per_code_and_nested
from autograph.core.iterator_positions import is_iterator
from autograph.core.lists import LISTS
from autograph.core.slots import Globals, fields_in, is_users_class, slots_of
from autograph.core.tracebacks import is_converted, is_opaque
from autograph.core.untracked_mutables import IN_MEMORY, generators_of, is_other, is_output, is_written
from autograph.core.versions import CELLS_ARE_LOCALS
from autograph.dispatch.converted_call import meet

__all__ = [
    "MOST", "AttributeNames", "Reach", "Reached", "advances_in_python", "assigned_in", "attributes_assigned_in",
    "cell_is_filled", "is_of_converted_code", "is_of_library", "meet_all", "names_in", "names_of",
    "only_atoms", "only_records",
]

_DEPTH: Final = 4  # maximal length of a path
MOST: Final = 20_000  # maximal number of objects to search
_ATOMS: Final = frozenset({int, float, complex, bool, str, bytes, type(None)})
_RECORD: Final = frozenset({tuple})
_GETTING_BY_TEXT: Final = frozenset({
    "getattr", "setattr", "delattr", "vars", "__getattribute__", "attrgetter", "methodcaller", "__dict__",
    "attributes"})  # that of `ag__`, to which `__dict__` is converted


class AttributeNames(frozenset[str]):
    """Names of attributes that a backend's function gets, as a value that its variables lead to."""


class Reached(NamedTuple):
    """A list, dict, object, class, module or cell that was found, with the path that leads to it."""

    path: str | None
    """The path as text, from a variable of the body: `"self.table['k']"`; None if no path leads to it."""
    value: Any
    hint: str
    """A description for errors if no path leads to it."""


class _Found(NamedTuple):
    """A value found whose parts are still to be followed: as `Reached`, with the number of steps that led to it."""

    path: str | None
    value: Any
    depth: int
    hint: str

    def item(self, key: Any) -> str | None:
        return self.path and f"{self.path}[{key!r}]"

    def attribute(self, name: str) -> str | None:
        return self.path and f"{self.path}.{name}"


class Reach:
    def __init__(
        self, variables: Iterable[tuple[str, Any]], codes: Iterable[CodeType] = (),
        namespace: dict[str, Any] | None = None, own: Mapping[str, CellType] = MappingProxyType({}),
        assigned: Collection[str] = (), values: Iterable[Any] = (),
    ) -> None:
        """`namespace`: the globals of the code, with which paths may begin; `own`: the known cells, which shadow these;
        `assigned`: variables that may be reassigned: a path begins with one only if no other path exists; `values`:
        mutable values that can be changed even where no path leads to them."""
        self.objects: list[Reached] = []
        self.iterators: list[tuple[str, Any]] = []
        """Iterators, each with its path or a description."""
        self.named: list[Globals] = []
        """The globals that functions name."""
        self.shadowed, self.namespace = own.keys(), namespace
        self._own = frozenset(map(id, own.values()))
        self._seen: dict[int, Any] = {}
        """The values found, by id; keeping them keeps their ids unique."""
        self._entries: dict[int, Any] = {}
        """By id, the values reached other than as a part of a list, dict or tuple or as an attribute."""
        self._leaves_out = False
        self._names: set[str] = set()
        """The names in the code that was found."""
        self._by_text = False
        """Whether that code may get attributes by text, so that it may use any member of a class."""
        self._codes: dict[int, CodeType] = {}
        self._scopes: list[tuple[str | None, Any, set[str]]] = []
        """Classes and modules, each with its path and the names that have been looked up in it."""
        self._pending: deque[_Found] = deque()
        for code in codes:
            self._code(code, namespace or {}, "module")
        later: list[tuple[str, Any]] = []
        for name, value in variables:
            if name in assigned:
                later.append((name, value))
            else:
                self._meet(name, value, 0, name)
        self.run()
        for name, value in later:
            self._meet(name, value, 0, name)
        self.run()
        self._meet_all(values, 0, "value")
        self.run()

    @property
    def codes(self) -> Collection[CodeType]:
        """The code objects that were found."""
        return self._codes.values()

    @property
    def assigns(self) -> bool:
        """Whether the code that was found assigns attributes, or variables of an enclosing function."""
        return any([attributes_assigned_in(code) or assigned_in(code) for code in self.codes])

    @property
    def scopes(self) -> list[Globals]:
        """The globals, and members of classes and modules, that the found code names."""
        return [*self.named, *(Globals(cast("dict[str, Any]", vars(scope)), frozenset(done))
                               for _, scope, done in self._scopes)]

    @property
    def is_cut(self) -> bool:
        """Whether the search stopped at its limit."""
        return len(self._seen) >= MOST

    @property
    def is_partial(self) -> bool:
        """Whether the search stopped at its limit, or skipped what unconverted functions refer to."""
        return self.is_cut or self._leaves_out

    @property
    def entries(self) -> Collection[Any]:
        """The values that variables, functions and methods refer to directly, not only containers and attributes."""
        return self._entries.values()

    def met(self, value: Any) -> bool:
        """Whether `value` was found."""
        return id(value) in self._seen

    def names_in(self, scope: Any) -> list[str]:
        """The members of a class or module that the found code may read or assign."""
        return [name for name in vars(scope) if not name.startswith("__") and self._may_use(scope, name)]

    def _may_use(self, scope: Any, name: str) -> bool:
        return name in self._names or (isinstance(scope, type) and (self._by_text or name.startswith("__")))

    def run(self) -> None:
        """Follow all that was found, to a fixed point."""
        known = -1
        while known < len(self._names) or self._pending:
            while self._pending:
                self._visit(self._pending.popleft())
            known = len(self._names)
            for path, scope, done in list(self._scopes):
                found = {name for name in vars(scope) if self._may_use(scope, name)} - done
                done |= found
                for name in sorted(found):  # the same order in each process
                    self._meet(path and f"{path}.{name}", vars(scope)[name], 1, name)

    def _meet(self, path: str | None, value: Any, depth: int, hint: str) -> None:
        if type(value) not in _ATOMS:
            self._entries[id(value)] = value
        self._meet_part(path, value, depth, hint)

    def _meet_part(self, path: str | None, value: Any, depth: int, hint: str) -> None:
        """As `_meet`, for a `value` in a list, dict or tuple or in an attribute."""
        kind: Any = type(value)
        if kind in _ATOMS or id(value) in self._seen or len(self._seen) >= MOST:
            return
        if _leads_nowhere(kind):
            self._seen[id(value)] = value
        else:
            self._pending.append(_Found(path if depth <= _DEPTH else None, value, depth, hint))

    def _meet_all(self, values: Iterable[Any], depth: int, hint: str) -> None:
        for value in values:
            self._meet(None, value, depth, hint)

    def _visit(self, found: _Found) -> None:
        value = found.value
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        kind: Any = type(value)  # `isinstance` would run code of proxies
        if is_iterator(value) and not is_output(value) and (kind in IN_MEMORY or not is_written(value)):
            self.iterators.append((found.path or found.hint, value))
        _way_of(kind)(self, found)
        if is_users_class(kind):
            meet(kind)
            self._meet(None, kind, found.depth + 1, kind.__name__)

    # The values reachable from each kind of object.

    def _hold(self, found: _Found) -> None:
        self.objects.append(Reached(found.path, found.value, found.hint))

    def _attribute_names(self, found: _Found) -> None:
        self._names |= found.value

    def _getter(self, found: _Found) -> None:
        self._by_text = True

    def _items(self, found: _Found) -> None:
        value, kind = found.value, type(found.value)
        is_tuple = issubclass(kind, tuple)
        if issubclass(kind, set):
            self._hold(found)
        items = list(tuple.__iter__(value) if is_tuple else value)
        for i, item in enumerate(() if only_atoms(items) else items):
            if is_tuple:
                self._meet_part(found.item(i), item, found.depth + 1, found.hint)
            else:
                self._meet(None, item, found.depth + 1, found.hint)

    def _list(self, found: _Found) -> None:
        self._hold(found)
        kind = next((kind for kind in LISTS if issubclass(type(found.value), kind)), None)
        items = [] if kind is None else list(kind.__iter__(found.value))
        if not only_atoms(items) and not only_records(items):
            for i, item in enumerate(items):
                self._meet_part(found.item(i), item, found.depth + 1, found.hint)

    def _dict(self, found: _Found) -> None:
        self._hold(found)
        if issubclass(type(found.value), defaultdict):
            self._meet(None, found.value.default_factory, found.depth + 1, found.hint)
        is_of_module = "__builtins__" in found.value  # code that uses a name of it leads there
        if not is_of_module and not only_atoms(dict.values(found.value)):
            for key, item in dict.items(found.value):
                path = found.item(key) if type(key) in (str, int) else None
                self._meet_part(path, item, found.depth + 1, found.hint)

    def _def(self, found: _Found) -> None:
        self._function(found.value)

    def _method(self, found: _Found) -> None:
        method = found.value
        self._meet(found.attribute("__self__"), method.__self__, found.depth, found.hint)
        self._meet(None, method.__func__, found.depth + 1, found.hint)

    def _method_in_c(self, found: _Found) -> None:
        owner = found.value.__self__
        if is_iterator(owner) or is_other(owner):
            self._meet(found.attribute("__self__"), owner, found.depth, found.hint)
        elif type(owner) in (*LISTS, dict):
            self._meet(None, owner, found.depth + 1, found.hint)

    def _partial(self, found: _Found) -> None:
        self._meet_all((found.value.func, found.value.args, found.value.keywords), found.depth + 1, found.hint)

    def _wrapped(self, found: _Found) -> None:
        self._meet(None, found.value.__func__, found.depth + 1, found.hint)

    def _property(self, found: _Found) -> None:
        self._meet_all((found.value.fget, found.value.fset, found.value.fdel), found.depth + 1, found.hint)

    def _class(self, found: _Found) -> None:
        cls = found.value
        if self._is_scope(found, cls.__module__):
            meet(cls)
            for base in cls.__bases__:
                self._meet(None, base, found.depth + 1, base.__name__)

    def _module(self, found: _Found) -> None:
        if not self._is_scope(found, found.value.__name__):
            generators = generators_of(found.value)
            if generators is not None:
                self._scopes.append((None, generators, set()))

    def _is_scope(self, found: _Found, module: Any) -> bool:
        """Search a class or module of the user's."""
        is_users = isinstance(module, str) and _is_users(module)  # a descriptor for a class of Cython
        if is_users:
            self._hold(found)
            self._scopes.append((found.path, found.value, set()))
        return is_users

    def _object(self, found: _Found) -> None:
        value, kind = found.value, type(found.value)
        if kind.__module__ == "_csv":  # it refers to the file that it writes or reads
            self._meet_all(gc.get_referents(value), found.depth + 1, found.hint)
            return
        if hasattr(kind, "__become__"):
            self._hold(found)
            return
        if hasattr(kind, "__viewed__"):
            self._meet(None, value.__viewed__(), found.depth, found.hint)
            return
        if hasattr(kind, "__wraps__"):
            self._meet(found.path, value.__wraps__(), found.depth, found.hint)
            return
        fields = fields_in(value)
        if fields is None and not is_other(value, named=True):
            self._meet(None, _wrapped_in(value), found.depth + 1, found.hint)
            return
        has_caches = _changes_only_caches(cast(Hashable, kind))
        if not has_caches:
            self._hold(found)
        nameable = not hasattr(kind, "__stands_for__")  # otherwise the attributes are the placeholder's, not the user's
        for name, item in (fields or {}).items():
            if not (has_caches and _is_cache(item)):
                self._meet_part(found.attribute(name) if nameable else None, item, found.depth + 1, name)

    def _function(self, fn: FunctionType) -> None:
        code = fn.__code__
        if hasattr(fn, "place") or is_opaque(code.co_filename):
            self._meet(None, fn.__dict__.get("__wrapped__"), 1, fn.__name__)  # of a property or special method
            for cell in fn.__closure__ or () if hasattr(fn, "place") else ():
                if cell_is_filled(cell) and type(cell.cell_contents) is FunctionType:  # that it calls
                    self._meet(None, cell.cell_contents, 1, cell.cell_contents.__name__)
            return
        if hasattr(fn, "__autograph_do_not_convert__"):  # it runs at trace time
            self._leaves_out = True
            return
        has_caches = is_of_library(fn)
        for name, cell in zip(code.co_freevars, fn.__closure__ or ()):
            if id(cell) in self._own or id(cell) in self._seen:
                continue
            self._seen[id(cell)] = cell
            if not has_caches:
                self.objects.append(Reached(None, cell, name))
            if cell_is_filled(cell) and not (has_caches and _is_cache(cell.cell_contents)):
                self._meet(None, cell.cell_contents, 1, name)
        if not is_converted(code) and exclusion_rule(fn) is not None:
            self._leaves_out = True
            return
        if fn.__dict__:
            self.objects.append(Reached(None, fn, fn.__name__))
        self._meet_all((fn.__defaults__, fn.__kwdefaults__), 1, fn.__name__)
        self.of_code(code, fn.__globals__, (fn.__module__ or "module").rpartition(".")[2])

    def of_code(self, code: CodeType, namespace: dict[str, Any], module: str) -> None:
        """Follow the globals and attributes that code of a module names."""
        self._code(code, namespace, module)
        self.named.append(Globals(namespace, _names(code)))
        for name in sorted(_names(code)):
            if name in namespace:
                nameable = namespace is self.namespace and name not in self.shadowed
                self._meet(name if nameable else None, namespace[name], 0, name)

    def _code(self, code: CodeType, namespace: dict[str, Any], module: str) -> None:
        if id(code) not in self._codes:
            self._codes[id(code)] = code
            self._names |= _names(code)
            if not _names(code).isdisjoint(_GETTING_BY_TEXT):
                self._by_text = True
                self._names |= _texts(code)
            if _stored(code):
                self.objects.append(Reached(None, Globals(namespace, _stored(code)), module))


_WAYS: Final[tuple[tuple[Any, Callable[[Reach, _Found], None]], ...]] = (
    (AttributeNames, Reach._attribute_names), ((operator.attrgetter, operator.methodcaller), Reach._getter),
    ((tuple, set, frozenset), Reach._items), ((*LISTS, bytearray), Reach._list), (dict, Reach._dict),
    (FunctionType, Reach._def), (MethodType, Reach._method),
    ((BuiltinMethodType, MethodWrapperType), Reach._method_in_c),
    (functools.partial, Reach._partial), ((staticmethod, classmethod), Reach._wrapped), (property, Reach._property),
    (type, Reach._class), (ModuleType, Reach._module))
"""By kind, the method that follows a value; `Reach._object` follows all others."""


@functools.lru_cache(maxsize=1024)
def _way_of(kind: Any) -> Callable[[Reach, _Found], None]:
    return next((way for kinds, way in _WAYS if issubclass(kind, kinds)), Reach._object)


@functools.lru_cache(maxsize=1024)
def _leads_nowhere(kind: Any) -> bool:
    """Whether objects of a class are immutable and refer to nothing mutable, such as a backend's tensors."""
    return (backend_for(kind) is not None and _way_of(kind) is Reach._object and not is_users_class(kind)
            and not slots_of(kind) and not any(hasattr(kind, name) for name in _LEADING))


@functools.lru_cache(maxsize=1024)
def _changes_only_caches(kind: Any) -> bool:
    """Whether a class of the standard library is for descriptors that make methods, or for values such as paths, which
    are hashed by their contents. What changes in these is no state of a program, only a cache of the library's."""
    return _are_of_library(kind) and (_makes_methods(kind) or type(kind.__hash__) is FunctionType)


def _makes_methods(kind: Any) -> bool:
    return hasattr(kind, "__get__") and not hasattr(kind, "__set__")


def is_of_library(fn: FunctionType) -> bool:
    """Whether a function is of the standard library, and does not convert: its variables are no state of a program, but
    may lead to some, such as a function that was decorated."""
    code = fn.__code__
    return is_of_standard_library(code.co_filename) and not is_converted(code) and exclusion_rule(fn) is not None


def _is_cache(part: Any) -> bool:
    """Whether a part of a function or descriptor of the standard library is an object of the library's own, such as a
    WeakKeyDictionary of results, and not what the user passed to it."""
    kind: Any = type(part)
    return _are_of_library(kind) and _way_of(kind) is Reach._object and not _makes_methods(kind)


@functools.lru_cache(maxsize=1024)
def _are_of_library(kind: Any) -> bool:
    """Whether the class of these objects was defined by Python code of the standard library that does not convert."""
    module = kind.__module__
    return (isinstance(module, str) and module.partition(".")[0] in sys.stdlib_module_names
            and is_users_class(kind) and not is_of_converted_code(kind))


_LEADING: Final = "__next__", "__become__", "__viewed__", "__wraps__", "__array_interface__"
"""The methods of iterators, staged lists, views of objects, values that may be None, and arrays."""


def meet_all(*values: Any) -> Reach:
    """Convert the special methods of the classes of these values, and of all that is reachable from them, while a
    function is traced. Returns the search."""
    return Reach([("", value) for value in values])


def _wrapped_in(value: Any) -> Any:
    """The function wrapped by a callable object, as recorded by `functools.update_wrapper`."""
    try:
        return object.__getattribute__(value, "__dict__").get("__wrapped__")
    except AttributeError:
        return None


def cell_is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@per_code_and_nested
def names_in(code: CodeType, nested: Sequence[Sequence[str]]) -> Sequence[str]:
    """The globals and attributes that a code object names, each once."""
    return tuple(dict.fromkeys(itertools.chain(code.co_names, *nested)))


def names_of(codes: Iterable[CodeType]) -> frozenset[str]:
    """The globals and attributes that code objects name."""
    return frozenset().union(*map(_names, codes))


@per_code
def _names(code: CodeType) -> frozenset[str]:
    return frozenset(names_in(code))


@per_code_and_nested
def _texts(code: CodeType, nested: Sequence[frozenset[str]]) -> frozenset[str]:
    """The text in a code object that may name an attribute."""
    return frozenset([text for text in code.co_consts if isinstance(text, str) and text.isidentifier()]).union(*nested)


@per_code_and_nested
def _stored(code: CodeType, nested: Sequence[frozenset[str]]) -> frozenset[str]:
    """The globals that a code object assigns."""
    own = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"} if (
        _STORE_GLOBAL in code.co_code[::2]) else set()
    return frozenset(own).union(*nested)


_STORE_GLOBAL: Final = dis.opmap["STORE_GLOBAL"]


_ASSIGNING: Final = dis.opmap["STORE_DEREF"], dis.opmap["DELETE_DEREF"]


@per_code_and_nested
def assigned_in(code: CodeType, nested: Sequence[frozenset[str]]) -> frozenset[str]:
    """The free variables that a body, or a function nested in it, assigns or deletes."""
    free = code.co_freevars
    first = len(set(code.co_cellvars).union(code.co_varnames if CELLS_ARE_LOCALS else ()))
    names, high, text = set(), 0, code.co_code
    for op, low in zip(text[::2], text[1::2]):  # `dis` decodes more than is needed and takes ten times as long
        if op == dis.EXTENDED_ARG:
            high = (high | low) << 8
            continue
        if op in _ASSIGNING and high | low >= first:
            names.add(free[(high | low) - first])
        high = 0
    return frozenset(names.union(*nested).difference(code.co_cellvars))


@per_code_and_nested
def attributes_assigned_in(code: CodeType, nested: Sequence[frozenset[str]]) -> frozenset[str]:
    """The attributes that a body, or a function nested in it, assigns or deletes."""
    ops = code.co_code[::2]
    own = {i.argval for i in dis.get_instructions(code) if i.opcode in _ASSIGNING_ATTRIBUTES} if any(
        [op in ops for op in _ASSIGNING_ATTRIBUTES]) else set()
    return frozenset(own).union(*nested)


_ASSIGNING_ATTRIBUTES: Final = dis.opmap["STORE_ATTR"], dis.opmap["DELETE_ATTR"]


def advances_in_python(iterator: Any) -> bool:
    """Whether an iterator is of a user's class, whose `__next__` converts."""
    kind = type(iterator)
    return isinstance(kind.__next__, FunctionType) and is_of_converted_code(kind)


def is_of_converted_code(cls: type) -> bool:
    """Whether a class was defined by code that converts: not by the standard library."""
    return is_users_class(cls) and isinstance(cls.__module__, str) and _is_users(cls.__module__)


@functools.lru_cache(maxsize=4096)
def _is_users(module: str) -> bool:
    """Whether the classes and functions of a module convert: they are not internal, and no rule excludes them."""
    path: str = getattr(sys.modules.get(module), "__file__", None) or ""
    probe: Any = FunctionType((lambda: None).__code__.replace(co_filename=path or "<none>"), {"__name__": module})
    return exclusion_rule(probe) is None and module != "builtins"


def only_atoms(values: Iterable[Any]) -> bool:
    """Whether all values are numbers, text or None, so that there is nothing to search."""
    return _ATOMS.issuperset(map(type, values))


def only_records(values: Collection[Any]) -> bool:
    """Whether all values are tuples of numbers, text or None, so that there is nothing to search either."""
    return _RECORD.issuperset(map(type, values)) and only_atoms(itertools.chain.from_iterable(values))
