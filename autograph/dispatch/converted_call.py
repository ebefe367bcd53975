"""`ag__.call`: maps each callee of converted code to the function to call in its place.

A Python function is converted at its first call; the conversion is cached by code object. A builtin may be replaced by
the backend of an argument.
"""
from __future__ import annotations

import atexit
import functools
import math
from collections import deque
from collections.abc import Callable, Mapping
from enum import EnumMeta
from operator import index
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, MethodWrapperType
from typing import Any, Final, TypeVar

from autograph.core.allowlist import exclusion_rule
from autograph.core.backend import (
    HEAP_TYPE,
    Backend,
    ambient,
    answered,
    backend_of,
    deciding,
    keyed,
    plain,
    staging_backend,
)
from autograph.core.code_cache import until_gone
from autograph.core.late_binding import Late
from autograph.core.lists import LISTS
from autograph.core.lost_iterators import check_items, lost
from autograph.core.slots import is_users_class
from autograph.core.staged_items import has_staged_items
from autograph.core.tracebacks import is_converted, prune
from autograph.dispatch import special_methods
from autograph.dispatch.at_work import at_work
from autograph.dispatch.frames import OVERRIDES

__all__ = ["CONVERTER", "Converter", "Maker", "at_work", "call", "is_unchanged", "makers", "meet", "note_unchanged",
           "remember"]

T = TypeVar("T")
Maker = Callable[[FunctionType], Any]
"""Makes the converted form of functions of one code object."""


class Converter(Late):
    """Forward declaration of the converter: conversion makes code that calls this module, while a converted module runs
    without the converter and its parser until a callee needs them."""

    maker: Callable[[FunctionType], Maker | None]
    """Returns the maker for a function's code object, or None if such functions are called as they are. Defined by the
    package `autograph`."""

    context: Callable[[FunctionType], Callable[..., Any] | None]
    """Returns the template of the form of a generator function that passes its value to the body of a `with`; None if
    there is none (`api.internal_iteration`)."""


CONVERTER: Final = Converter()


makers: dict[int, tuple[Maker | None, object]] = {}
"""By id of a code object: the maker of the converted form of its functions; None if they are called as they are."""
atexit.register(makers.clear)


_unchanged: Final[dict[int, object]] = {}
"""By id: the code objects in which conversion changes nothing."""
atexit.register(_unchanged.clear)


def note_unchanged(code: CodeType) -> None:
    """Record that conversion changes nothing in functions of this code."""
    _unchanged[id(code)] = until_gone(code, _unchanged, id(code))


def is_unchanged(fn: FunctionType) -> bool:
    """Whether a function is called as it is because conversion changes nothing in it."""
    return id(fn.__code__) in _unchanged


def remember(code: CodeType, maker: Maker | None) -> None:
    """Use `maker` for calls of functions of this code, for the lifetime of the code object."""
    makers[id(code)] = maker, until_gone(code, makers, id(code))


def call(fn: Any, /) -> Any:
    """What to call in place of `fn`: its converted form, the replacement of a builtin, or `fn` itself."""
    if lost.iterators:
        return _with_checked_items(fn)
    return _callee(fn)


def _with_checked_items(fn: Any) -> Any:
    """As `call`, while traced code must not advance certain iterators: the callee checks its arguments first."""
    callee, owner = _callee(fn), getattr(fn, "__self__", None)
    if id(owner) not in lost.iterators and (
            (type(fn) in (FunctionType, MethodType) and exclusion_rule(fn) is None)
            or fn in _TAKE_NO_ITEMS or getattr(fn, "__name__", "") in _HOLDING):
        return callee

    def called(*args: Any, **kwargs: Any) -> Any:
        for value in (owner, *args, *kwargs.values()):
            check_items(value)
        return callee(*args, **kwargs)

    return called


_TAKE_NO_ITEMS = frozenset({isinstance, callable, hasattr, getattr, setattr, delattr, type, id, repr, str, print})
_HOLDING = frozenset({
    "append", "appendleft", "insert", "add", "put", "setdefault", "get", "partial", "breakpoint", "set_trace"})
"""Methods of containers and the like that only store their arguments, and functions that stop in the calling frame."""


def _callee(fn: Any) -> Any:
    cls = type(fn)
    if cls is FunctionType:
        return _function(fn)
    if cls is MethodType:
        return _method(fn)
    if cls is BuiltinFunctionType:
        return _overrides.get(fn, fn) if ambient.backend is None else _builtin_while_tracing(ambient.backend, fn)
    if cls is MethodWrapperType and ambient.backend is not None and (
            has_staged_items(fn.__self__) or type(fn.__self__) in keyed):
        return ambient.backend.callee(fn)
    if cls is MethodWrapperType and isinstance(fn.__self__, type) and fn == _made_by_type.__get__(fn.__self__):
        return _making(fn.__self__, fn)  # `super().__call__` in a metaclass
    if cls is type:
        if ambient.backend is not None and fn in _asked:
            return _asked[fn]
        override = _overrides.get(fn)
        if override is not None:
            return override
        if not fn.__flags__ & HEAP_TYPE:
            return fn if ambient.backend is None else ambient.backend.callee(fn)
    if cls is functools.partial:
        converted = _callee(fn.func)
        return fn if converted is fn.func else functools.partial(converted, *fn.args, **fn.keywords)
    if isinstance(fn, type):
        return _constructor(fn)
    method = _call_of(cls)
    if type(method) is FunctionType:
        converted = _function(method)
        return fn if converted is method else MethodType(converted, fn)
    return fn if ambient.backend is None else ambient.backend.callee(fn)


def _method(fn: MethodType) -> Any:
    function, owner = fn.__func__, type(fn.__self__)
    is_python = type(function) in (FunctionType, functools.partial) or type(_call_of(type(function))) is FunctionType
    if ambient.backend is not None and (
            not is_python  # of a class that Cython compiled, such as a generator of NumPy's
            or (owner in keyed and not is_users_class(owner))):
        return ambient.backend.callee(fn)
    converted = _callee(function) if is_python else function
    return fn if converted is function else MethodType(converted, fn.__self__)


def _call_of(cls: type) -> Any:
    return getattr(cls, "__call__", None)  # noqa: B004


def _function(fn: FunctionType) -> Any:
    entry = makers.get(id(fn.__code__))
    if entry is None and at_work.depth:
        return fn
    maker = entry[0] if entry is not None else _remember(fn)
    if maker is not None:
        return maker(fn) if ambient.backend is None else ambient.backend.converted(fn, maker(fn))
    if ambient.backend is None:
        return fn
    return ambient.backend.converted(fn, fn) if is_converted(fn.__code__) else ambient.backend.callee(fn)


def _remember(fn: FunctionType) -> Maker | None:
    if is_converted(fn.__code__):
        return None
    try:
        maker = at_work.run(lambda: CONVERTER.maker(fn))
    except BaseException as error:
        prune(error)
        raise
    remember(fn.__code__, maker)
    return maker


# --- Classes ------------------------------------------------------------------------------------------------


def meet(cls: type) -> None:
    """Replace the properties and special methods of a class by their converted forms while a backend traces."""
    special_methods.meet(cls, call)


_made_by_type: Final[Any] = type.__dict__["__call__"]


def _constructor(cls: Any) -> Any:
    """What to call in place of a class whose `__init__` or `__new__`, or whose metaclass's `__call__`, converts: it
    does what `type.__call__` does, with the converted forms."""
    if ambient.backend is not None:
        meet(cls)
    made_by = type(cls).__call__
    if made_by is _made_by_type:
        return _making(cls, cls)
    if ambient.backend is not None and isinstance(cls, EnumMeta):
        return ambient.backend.callee(cls)
    converted = _for(made_by)
    return cls if converted is made_by else MethodType(converted, cls)


def _making(cls: Any, by: Any) -> Any:
    """What to call in place of `by`, which makes objects of the class as `type.__call__` does."""
    init, new = cls.__init__, cls.__new__
    converted, making = _for(init), _for(new)
    if converted is not init or making is not new:
        made = functools.partial(_construct, cls, init, converted, making)
        return made if ambient.backend is None else ambient.backend.converted(cls, made)
    if ambient.backend is None:
        return by
    return ambient.backend.callee(cls) if by is cls else ambient.backend.converted(cls, by)


def _for(method: Any) -> Any:
    found = _function(method) if type(method) is FunctionType else method
    return found if type(found) is FunctionType else method


def _construct(cls: Any, init: Any, converted: Any, making: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make an object of the class with its converted `__init__` and `__new__`."""
    try:
        self = making(cls, *args, **kwargs)
        if cls in type(self).__mro__:
            own = type(self).__init__
            result = (converted if own is init else call(own))(self, *args, **kwargs)
            if result is not None:
                raise TypeError(f"__init__() should return None, not '{type(result).__name__}'")
        return self
    except BaseException as error:
        prune(error)
        raise


# --- Builtins -----------------------------------------------------------------------------------------------


def _by_arguments(choose: Callable[..., Callable[..., Any]], name: str) -> Callable[..., Any]:
    """A builtin of that name that calls what `choose` returns for the arguments: those by position, and all."""

    def builtin(*args: Any, **kwargs: Any) -> Any:
        try:
            return choose(args, (*args, *kwargs.values()))(*args, **kwargs)
        except BaseException as error:
            prune(error)
            raise

    builtin.__name__ = builtin.__qualname__ = name
    return builtin


def _override(original: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin that the backend of an argument may replace."""
    # evaluates the truth of items, calls its arguments, or takes items as floats
    judges = original in (any, all, min, max, sorted, filter, map, math.fsum, getattr(math, "sumprod", None))
    is_len = original is len
    is_object, taken = _TAKEN.get(original, _AS_THEY_ARE)
    of_one = _OF_ONE.get(original)

    def answering(args: tuple[Any, ...], values: tuple[Any, ...]) -> Callable[..., Any]:
        # no `len`, which a user may have replaced
        is_one = bool(args) and not args[1:]
        if is_one and type(args[0]) in plain and ambient.backend is None:
            return original
        for value in values:
            if type(value) in keyed:
                backend = ambient.backend if is_len else deciding(value)
            else:
                backend = backend_of(value)
            if backend is None and ambient.backend is not None and type(value) in (*LISTS, tuple):
                backend = next((b for b in map(staging_backend, value) if b is not None), None)
            if backend is not None and original in backend.builtins:
                return backend.builtins[original]
        if ambient.backend is None:
            return original
        if (is_one or original not in (min, max)) and any(map(is_object, args)):
            return lambda *args, **options: _overrides[original](
                *[taken(value) if is_object(value) else value for value in args], **options)
        if of_one is not None and is_one:
            return of_one
        found = ambient.backend.builtins.get(original) if judges else None
        return ambient.backend.callee(original) if found is None else found

    return _by_arguments(answering, original.__name__)


def _makes_iterator(value: Any) -> bool:
    """Whether a value is of a user's class whose `__iter__` returns an iterator, which may be a backend's."""
    kind = type(value)
    return is_users_class(kind) and type(getattr(kind, "__iter__", None)) is FunctionType and not (
        hasattr(kind, "__next__") or backend_of(value) is not None)


def special_result(value: Any, name: str) -> Any:
    """The result of a special method with this name, which Python's C code would call and whose result it would check:
    with the same errors, but the result may be a staged value."""
    kind = getattr(type(value), "__stands_for__", type(value))
    found = call(getattr(type(value), name))(value)
    convert, right = _CHECKING[name]
    if type(found) is right:
        return found
    backend = staging_backend(found)
    if backend is not None:
        backend.operation("check_result", found, lambda x: convert(_returning(kind, name, x)), name == "__len__")
        return found
    return convert(_returning(kind, name, found))


def _returning(kind: type, name: str, found: Any) -> Any:
    """An object of a class with that name whose special method returns `found`: Python checks that."""
    return type(kind.__name__, (), {name: lambda self: found})()


_CHECKING: Final[Mapping[str, tuple[Callable[[Any], Any], type | None]]] = {
    "__len__": (len, None), "__bool__": (bool, bool), "__int__": (int, int), "__float__": (float, float),
    "__complex__": (complex, complex), "__index__": (index, int)}
"""By special method, the function of Python's that checks its result, and the class whose objects it takes as they are.
"""


def _has_index(value: Any) -> bool:
    """Whether a value has a method `__index__` of the user's."""
    kind: Any = getattr(type(value), "__stands_for__", type(value))
    method = getattr(type(value) if kind is object else kind, "__index__", None)  # `object`: one of several classes
    return type(method) is FunctionType and (kind is object or is_users_class(kind))


def as_index(value: Any) -> Any:
    """What the method `__index__` of the user's returns; any other value unchanged."""
    return special_result(value, "__index__") if _has_index(value) else value


_TAKEN: Final[Mapping[Any, tuple[Callable[[Any], bool], Callable[[Any], Any]]]] = {
    **dict.fromkeys(
        (all, any, enumerate, filter, list, map, max, min, sorted, sum, tuple, zip), (_makes_iterator, iter)),
    **dict.fromkeys((bin, chr, hex, oct, range), (_has_index, as_index))}
"""By builtin, the objects of the program for which it calls a special method, and what that returns."""
_AS_THEY_ARE: Final = (lambda value: False), iter


def _len(value: Any) -> Any:
    """`len`, whose result may be a staged value: Python's own requires an int from `__len__`."""
    return special_result(value, "__len__") if type(getattr(type(value), "__len__", None)) is FunctionType else (
        len(value))


def truth_value(value: Any) -> Any:
    """The object whose truth stands for that of `value`, while a backend traces. For a user's class: the result of its
    `__bool__` or `__len__`, because Python's own `bool` requires a bool or int; for a value of the backend's: the
    result of `__truth__`. The value itself in all other cases."""
    kind = type(value)
    if ambient.backend is None or kind in plain:
        return value
    if hasattr(kind, "__truth__"):
        return value.__truth__()
    if not is_users_class(kind) or backend_of(value) is not None:
        return value
    for name in ("__bool__", "__len__"):
        if type(getattr(kind, name, None)) is FunctionType:
            found = special_result(value, name)
            return found if name == "__bool__" else found != 0
    return value


def _bool(value: Any) -> Any:
    """`bool`, whose result may be a staged value."""
    found = truth_value(value)
    return found if staging_backend(found) is not None else bool(found)


def _number(original: Callable[..., Any], *names: str) -> Callable[[Any], Any]:
    """`int`, `float` or `complex`, whose result may be a staged value: Python's own requires a number of Python from
    the special methods with these names, the first of which counts."""

    def convert(value: Any) -> Any:
        kind = type(value)
        name = next((name for name in names if hasattr(kind, name)), "")
        method = getattr(kind, name, None)
        if type(method) is not FunctionType or isinstance(value, (int, float, complex)):
            return original(value)
        found = special_result(value, name)
        return original(found) if staging_backend(found) is None else call(original)(found)

    return convert


_OF_ONE: Final[Mapping[Any, Callable[[Any], Any]]] = {
    len: _len, bool: _bool, int: _number(int, "__int__", "__index__"), float: _number(float, "__float__", "__index__"),
    complex: _number(complex, "__complex__", "__float__", "__index__")}
"""By builtin, what stands for it where it is given one object of the program while a backend traces."""
_python_print = print  # `differential_check` replaces it for a time


def _print(_: tuple[Any, ...], values: tuple[Any, ...]) -> Callable[..., Any]:
    """`print`. While a backend traces, prints of Python values are staged as well, to keep the order of output."""
    backend = ambient.backend or _backend_within(values)
    return _python_print if backend is None else backend.builtins.get(_python_print, _python_print)


def _backend_within(values: Any, depth: int = 4) -> Backend | None:
    """The backend of a value, or of an element of a list, tuple or dict among the values, searched to this depth."""
    for value in values:
        cls = type(value)
        found = backend_of(value)
        if found is None and depth and (cls in LISTS or cls is tuple or cls is dict):
            found = _backend_within(dict.values(value) if cls is dict else value, depth - 1)
        if found is not None:
            return found
    return None


_overrides: dict[Any, Callable[..., Any]] = {
    original: _override(original)
    for original in (
        len, range, int, float, bool, complex, abs, min, max, sum, any, all, enumerate, zip, map, filter, reversed,
        sorted, round, next, iter, list, tuple, pow, divmod, ord, chr, bin, oct, hex,
    )
}
_overrides[_python_print] = _by_arguments(_print, "print")
_overrides.update(OVERRIDES)


@functools.cache
def _ask(original: Callable[..., Any]) -> Callable[..., Any]:
    """A C function that the tracing backend replaces whatever the arguments are."""

    def answer(*_: tuple[Any, ...]) -> Callable[..., Any]:
        return original if ambient.backend is None else ambient.backend.builtins.get(original, original)

    return _by_arguments(answer, original.__name__)


_asked: dict[Any, Callable[..., Any]] = {
    original: _ask(original)
    for original in (
        isinstance, issubclass, callable, hasattr, getattr, setattr, delattr, dir, vars, id, hash, type, dict, set,
        frozenset, deque)
}
"""Replacements while a backend traces."""


def _builtin_while_tracing(backend: Backend, fn: Any) -> Any:
    if isinstance(fn.__self__, (dict, *LISTS, tuple, set)):
        return backend.callee(fn)
    found = _asked.get(fn) or (_ask(fn) if fn in answered else _overrides.get(fn))
    return backend.callee(fn) if found is None else found
