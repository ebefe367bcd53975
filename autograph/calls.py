"""`ag__.call`: what converted code calls in place of a callee.

A Python function is converted when it is first called, and remembered by its code object. A builtin lets the
backend of an argument answer.
"""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

from .backend import Backend, ambient, backend_of, staging_backend
from .frames import is_converted, prune

__all__ = ["call", "hooks", "makers", "remember", "watch"]


class _Hooks:
    """Set by `api`: converted modules that run without it call their callees as they are."""

    convert: Callable[[FunctionType], Callable[[FunctionType], Any] | None] | None = None


hooks = _Hooks()
makers: dict[int, tuple[Callable[[FunctionType], Any] | None, object]] = {}
"""By id of a code object: what makes the converted function from a function of this code (None: left alone)."""


def call(fn: Any, /) -> Any:
    """What to call in place of `fn`: its converted form, the backend-aware form of a builtin, or `fn` itself."""
    cls = type(fn)
    if cls is FunctionType:
        entry = makers.get(id(fn.__code__))
        maker = entry[0] if entry is not None else _remember(fn)
        return fn if maker is None else maker(fn)
    if cls is MethodType:
        function = fn.__func__
        if type(function) is FunctionType:
            converted = call(function)
            return fn if converted is function else MethodType(converted, fn.__self__)
        return fn
    if cls is BuiltinFunctionType or cls is type:
        override = _overrides.get(fn)
        if override is not None:
            return override
        return fn if cls is BuiltinFunctionType else _constructor(fn)
    if cls is functools.partial:
        converted = call(fn.func)
        return fn if converted is fn.func else functools.partial(converted, *fn.args, **fn.keywords)
    if isinstance(fn, type):
        return _constructor(fn)
    method = getattr(cls, "__call__", None)  # noqa: B004
    if type(method) is FunctionType:
        converted = call(method)
        return fn if converted is method else MethodType(converted, fn)
    return fn


def _remember(fn: FunctionType) -> Callable[[FunctionType], Any] | None:
    if hooks.convert is None or is_converted(fn.__code__):
        return None
    try:
        maker = hooks.convert(fn)
    except BaseException as error:
        prune(error)
        raise
    remember(fn.__code__, maker)
    return maker


def remember(code: CodeType, maker: Callable[[FunctionType], Any] | None) -> None:
    """Let calls of functions of this code use `maker`, as long as the code object lives."""
    makers[id(code)] = maker, watch(code, makers)


def watch(code: CodeType, table: dict[int, Any]) -> object:
    """A weak reference that takes the code's entry out of `table` when the code is gone."""
    key = id(code)
    return weakref.ref(code, lambda _: table.pop(key, None))


def _constructor(cls: Any) -> Any:
    """A class whose `__init__` or `__new__` converts is instantiated as `type.__call__` does, with those."""
    if type(cls).__call__ is not type.__call__:
        return cls
    init, new = cls.__init__, cls.__new__
    if not any(type(f) is FunctionType and call(f) is not f for f in (init, new)):
        return cls
    return functools.partial(_construct, cls)


def _construct(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    try:
        self = call(cls.__new__)(cls, *args, **kwargs)
        if cls in type(self).__mro__:
            result = call(type(self).__init__)(self, *args, **kwargs)
            if result is not None:
                raise TypeError(f"__init__() should return None, not '{type(result).__name__}'")
        return self
    except BaseException as error:
        prune(error)
        raise


def _override(original: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin that lets the backend of an argument answer."""
    judges = original in (any, all, min, max, sorted, filter)  # the truth of items, which may be the backend's

    def builtin(*args: Any, **kwargs: Any) -> Any:
        try:
            for value in args:
                backend = backend_of(value)
                if backend is None and ambient.backend is not None and type(value) in (list, tuple):
                    backend = next((b for b in map(staging_backend, value) if b is not None), None)
                if backend is not None and original in backend.builtins:
                    return backend.builtins[original](*args, **kwargs)
            if judges and ambient.backend is not None:
                return ambient.backend.builtins[original](*args, **kwargs)
            return original(*args, **kwargs)
        except BaseException as error:
            prune(error)
            raise

    builtin.__name__ = builtin.__qualname__ = original.__name__
    return builtin


def _print(*args: Any, **kwargs: Any) -> None:
    """`print`: while a backend traces, also a print of Python values alone takes its place in program order."""
    try:
        backend = ambient.backend or _backend_within(args)
        (print if backend is None else backend.builtins[print])(*args, **kwargs)
    except BaseException as error:
        prune(error)
        raise


def _backend_within(values: Any, depth: int = 4) -> Backend | None:
    """The backend of one of the values, or of what a list, tuple or dict among them holds, down to a depth."""
    for value in values:
        cls = type(value)
        found = backend_of(value)
        if found is None and depth and (cls is list or cls is tuple or cls is dict):
            found = _backend_within(value.values() if cls is dict else value, depth - 1)
        if found is not None:
            return found
    return None


_overrides: dict[Any, Callable[..., Any]] = {
    original: _override(original)
    for original in (
        len, range, int, float, bool, complex, abs, min, max, sum, any, all, enumerate, zip, map, filter, reversed,
        sorted, round, next, iter, list, tuple, pow, divmod,
    )
}
_overrides[print] = _print
