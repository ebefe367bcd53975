"""`ag__.call`: what converted code calls in place of a callee.

A Python function is converted when it is first called, and remembered by its code object. A builtin lets the
backend of an argument answer.
"""
from __future__ import annotations

import atexit
import functools
import importlib
import math
import sys
import threading
from abc import ABCMeta
from collections import deque
from collections.abc import Callable
from itertools import repeat
from operator import index
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any, Final, TypeVar
from weakref import ref

from autograph.core.allowlist import left_alone
from autograph.core.backend import (
    HEAP_TYPE,
    Backend,
    activity,
    ambient,
    answered,
    backend_of,
    deciding,
    forget,
    forget_after_collection,
    is_plain,
    is_unchangeable,
    keyed,
    kind_of,
    on_announce,
    on_trace,
    plain,
    staging_backend,
)
from autograph.core.code_cache import until_gone
from autograph.core.trace_cleanup import of_trace
from autograph.core.tracebacks import is_converted, prune
from autograph.core.untraced import begins_unseen, resume, unseen
from autograph.dispatch.foreign_calls import looked_at
from autograph.dispatch.impure_builtins import asks_anew, text_of

__all__ = [
    "CONTAINERS", "Maker", "at_work", "call", "clears", "functions", "has_defaults_of", "hooks", "is_in_c", "is_static",
    "makers", "makers_for", "remember", "watch",
]

T = TypeVar("T")
Maker = Callable[[FunctionType], Any]
"""Makes the converted form of functions of one code object."""


def _load_converter(fn: FunctionType, tracing: bool) -> tuple[Maker | None, bool]:
    """The first callee that no rule leaves alone loads `api`. A converted module runs without what that needs to parse
    source, too: then its callees run as they are."""
    if left_alone(fn) is not None:
        return None, False
    try:
        importlib.import_module("autograph.api")
    except ModuleNotFoundError as error:
        if error.name != "gast":
            raise
        hooks.convert = lambda fn, tracing: (None, False)
    return hooks.convert(fn, tracing)


class _Hooks:
    """Set by `api`: what makes the converted form of functions, while nothing traces or while something does; and
    whether these differ."""

    convert: Callable[[FunctionType, bool], tuple[Maker | None, bool]] = staticmethod(_load_converter)
    meet: Callable[[type], None] = staticmethod(lambda cls: None)
    """Set by `classes`: told of the classes that are instantiated while a backend traces."""


hooks = _Hooks()


class _AtWork(threading.local):
    """Whether this thread converts: what conversion calls runs as it is, though code that it uses (`linecache`, `ast`)
    may itself have been converted, and would ask for the conversion of what it calls."""

    depth = 0

    def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, which converts. (A signal may meet the end of a `with`, but not this one.)"""
        depth = self.depth
        try:
            self.depth = depth + 1
            return work()
        finally:
            self.depth = depth


at_work = of_trace(_AtWork())
makers: dict[int, tuple[Maker | None, object]] = {}
"""By id of a code object: what makes the converted form of a function of this code (None: it stands for itself)."""
_traced: dict[int, tuple[Maker | None, object]] = {}
"""The same for while a backend traces, where that may differ: what is None, and which keys a dict has, is then for the
backend to say."""
atexit.register(makers.clear)
atexit.register(_traced.clear)


def makers_for(tracing: bool) -> dict[int, tuple[Maker | None, object]]:
    return _traced if tracing else makers


@unseen
def call(fn: Any, /) -> Any:
    """What to call in place of `fn`: its converted form, the backend-aware form of a builtin, or `fn` itself."""
    cls = type(fn)
    if cls is FunctionType:
        tracing = activity.tracing
        entry = (_traced if tracing else makers).get(id(fn.__code__))
        if entry is None and at_work.depth:
            return fn
        maker = entry[0] if entry is not None else _remember(fn)
        if maker is None:
            if asks_anew(fn):
                return _ask_anew(fn) if tracing else fn
            found = looked_at(fn) if tracing else fn
            if "<locals>" not in fn.__qualname__ and _is_often_called(fn):
                functions[fn] = found
                if activity.tracing is not tracing:  # since a moment ago, in another thread
                    functions.pop(fn, None)
            return found
        converted = maker(fn)
        if is_static(fn) and not (fn.__defaults__ or fn.__kwdefaults__):
            functions[fn] = converted
            if activity.tracing is not tracing:  # as above: it may be the other form
                functions.pop(fn, None)
        return converted
    if cls is MethodType:
        function = fn.__func__
        if type(function) is FunctionType:
            converted = functions[function]
            return fn if converted is function else MethodType(converted, fn.__self__)
        return fn
    if cls is BuiltinFunctionType:
        return _builtin_while_tracing(fn) if activity.tracing else _builtins.get(fn, fn)
    if cls is type:
        if activity.tracing and fn in _asked:
            return _asked[fn]
        override = _builtins.get(fn)
        if override is not None:
            _classes[fn] = override
            return override
        if not fn.__flags__ & HEAP_TYPE:
            found = _classes[fn] = looked_at(fn) if activity.tracing else fn
            _idle.append(fn)
            return found
    if cls is functools.partial:
        converted = functions[fn.func] if type(fn.func) is FunctionType else call(fn.func)
        return fn if converted is fn.func else functools.partial(converted, *fn.args, **fn.keywords)
    if isinstance(fn, type):
        return _constructor(fn)
    method = getattr(cls, "__call__", None)  # noqa: B004
    if type(method) is FunctionType:
        converted = call(method)
        return fn if converted is method else MethodType(converted, fn)
    if activity.tracing:
        return looked_at(fn)
    if not cls.__flags__ & HEAP_TYPE and callable(fn):  # its `__call__` stays what it is
        resolvers[cls] = _same
        _in_c.add(cls)
    return fn


def is_in_c(fn: Any) -> bool:
    """Whether a callable is written in C, and is no object that stands for a Python function."""
    cls = type(fn)
    made = fn if issubclass(cls, type) else cls  # `isinstance` would run code of proxies
    return is_unchangeable(made) and cls not in _OF_FUNCTIONS


_OF_FUNCTIONS: Final = (FunctionType, MethodType, functools.partial)


def is_static(fn: FunctionType) -> bool:
    """Whether a function lives as long as its module or class."""
    if "<locals>" in fn.__qualname__:
        return False
    return fn.__code__.co_freevars in ((), ("__class__",)) or _is_named(fn)


def _is_named(fn: FunctionType) -> bool:
    """Whether a closure is what its module or class has under its name: what `functools.wraps` made there."""
    found: Any = sys.modules.get(fn.__module__)
    for name in fn.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is fn


def _is_often_called(fn: Any) -> bool:
    """Whether what stands for itself has been looked up often. Only then it is put in a table: who asks what refers to
    a function (`gc.get_referrers`, as `trace` does to find the class of a method) sees the table."""
    _counts[id(fn)] = count = _counts.get(id(fn), 0) + 1
    return count >= _OFTEN


_OFTEN = 8
_counts: dict[int, int] = {}


class _Known(dict[Any, Any]):
    """What to call in place of a callee, where that stays the same: a look-up that enters no Python code."""

    __missing__ = staticmethod(call)

    def __setitem__(self, fn: Any, found: Any) -> None:
        forget_after_collection()
        super().__setitem__(fn, found)

    def clear(self) -> None:
        """Let this table, and all that forgets its callees with it, be empty."""
        next(_cleared)


functions = _Known()
"""Functions of modules and classes. They are given up when a code object goes, as it does when another is assigned
to `__code__`, and when a callee is looked up after a full garbage collection. Those with defaults, which may be
assigned to, are not here."""
_classes = _Known()
"""Classes, and what stands for them."""
_idle: list[type] = []
"""Those of them that stand for themselves while nothing traces, whatever their methods become."""
clears: Final[list[functools.partial[None]]] = [
    functools.partial(dict.clear, functions), functools.partial(dict.clear, _classes),
    functools.partial(dict.clear, _counts), functools.partial(list.clear, _idle)]
"""What forgets callees, each at one call of C that gives nothing true."""
_cleared: Final = map(any, map(map, repeat(functools.partial.__call__), repeat(clears)))
"""Its next item does that."""
forget.append(functions.clear)

_same: Callable[[Any], Any] = functools.partial(next, iter(()))
"""The identity, without a frame: `next` of nothing, with its argument as the default."""
_in_c: Final[set[type]] = {WrapperDescriptorType, MethodWrapperType, MethodDescriptorType, ClassMethodDescriptorType}
"""Types of callees that stand for themselves, while nothing traces."""
resolvers: dict[type, Callable[[Any], Any]] = {
    FunctionType: functions.__getitem__, type: _classes.__getitem__, ABCMeta: _classes.__getitem__,
    BuiltinFunctionType: _same,
    **dict.fromkeys(_in_c, _same),
}
"""By the type of a callee: `call` for that type. What is missing goes to `call` itself."""
CONTAINERS: Final = frozenset({dict, list, tuple})
"""Types whose methods, written in C, a backend answers while it traces."""
_LOOKED_AT: Final = (*CONTAINERS, str, bytes, bytearray, memoryview)
native: Final[set[type]] = {bool, int, float, complex, set, frozenset, range, deque, *_LOOKED_AT}
"""Types whose methods are all written in C, and are called as they are: of some, while nothing traces."""


def _remember(fn: FunctionType) -> Maker | None:
    if is_converted(fn.__code__):
        return None
    tracing = bool(activity.tracing)
    try:
        maker, differs = hooks.convert(fn, tracing)
    except BaseException as error:
        prune(error)
        raise
    remember(fn.__code__, maker, tracing, differs)
    return maker


def remember(code: CodeType, maker: Maker | None, tracing: bool, differs: bool) -> None:
    """Let calls of functions of this code use `maker`, as long as the code object lives: also while something traces,
    or nothing does, unless that differs."""
    for table in [makers_for(tracing)] if differs else [makers, _traced]:
        table[id(code)] = maker, watch(code, table)
    if differs and functions.clear not in on_trace:
        on_trace.append(functions.clear)


def watch(code: CodeType, table: dict[int, Any]) -> object:
    """What takes the code's entry out of `table` when the code is gone, and lets all callees be looked up anew: as code
    goes when another is assigned to `__code__`. As all that is done then, it is C (see `until_gone`)."""
    return until_gone(code, table, id(code)), ref(code, functools.partial(next, _cleared))


def _constructor(cls: Any) -> Any:
    """A class whose `__init__` or `__new__` converts is instantiated as `type.__call__` does, with those."""
    if ambient.backend is not None:
        hooks.meet(cls)
    if type(cls).__call__ is not type.__call__:
        return cls
    init, new = cls.__init__, cls.__new__
    converted, making = _for(init), _for(new)
    lives = type(cls) in resolvers and "<locals>" not in cls.__qualname__ and not at_work.depth
    if converted is not init or making is not new:
        found = functools.partial(_construct, cls, init, converted, new, making)
        if lives:
            _classes[cls] = found
        return found
    if activity.tracing:
        return looked_at(cls)
    if lives and _is_often_called(cls):
        _classes[cls] = cls
        _idle.append(cls)
    return cls


def _for(method: Any) -> Any:
    found = functions[method] if type(method) is FunctionType else method
    return found if type(found) is FunctionType else method


@begins_unseen
def _construct(
    tracer: Any, cls: Any, init: Any, converted: Any, new: Any, making: Any, /, *args: Any, **kwargs: Any
) -> Any:
    """An object of the class, by what its `__init__` and `__new__` have become, if they still are `init` and `new`."""
    try:
        if ambient.backend is not None:
            hooks.meet(cls)
        now = cls.__init__, cls.__new__
        if now != (init, new) or not (has_defaults_of(init, converted) and has_defaults_of(new, making)):
            (init, new), (converted, making) = now, map(_for, now)
        resume.get(type(tracer), id)(tracer)
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


def has_defaults_of(fn: Any, converted: Any) -> bool:
    """Whether what stands for a function still has its defaults, which may be assigned to."""
    return fn is converted or (
        fn.__defaults__ is converted.__defaults__ and fn.__kwdefaults__ is converted.__kwdefaults__)


def _forget_idle() -> None:
    while _idle:
        _classes.pop(_idle.pop(), None)


on_trace.append(_forget_idle)


def _by_arguments(choose: Callable[[tuple[Any, ...]], Callable[..., Any]], name: str) -> Callable[..., Any]:
    """A builtin of that name, whose calls call what `choose` gives for the arguments."""

    def builtin(tracer: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            found = choose(args)
            resume.get(type(tracer), id)(tracer)
            return found(*args, **kwargs)
        except BaseException as error:
            prune(error)
            raise

    builtin.__name__ = builtin.__qualname__ = name
    return begins_unseen(builtin)


def _override(original: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin that lets the backend of an argument answer."""
    # asks for the truth of items, calls what it is given, or takes items for floats
    judges = original in (any, all, min, max, sorted, filter, map, math.fsum, getattr(math, "sumprod", None))

    def answering(args: tuple[Any, ...]) -> Callable[..., Any]:
        if len(args) == 1 and type(args[0]) in plain and ambient.backend is None:
            return original
        for value in args:
            backend = deciding(value) if type(value) in keyed else backend_of(value)
            if backend is None and type(value) not in plain and type(value) not in keyed:
                is_plain(value)  # so that the next call need not ask
            if backend is None and ambient.backend is not None and type(value) in (list, tuple):
                backend = next((b for b in map(staging_backend, value) if b is not None), None)
            if backend is not None and original in backend.builtins:
                return backend.builtins[original]
        if ambient.backend is not None and original is len and len(args) == 1:
            return _len
        if ambient.backend is not None and judges:
            return ambient.backend.builtins[original]
        return original if ambient.backend is None else looked_at(original)

    return _by_arguments(answering, original.__name__)


def _len(value: Any) -> Any:
    """`len`, which may be a staged value: Python's own wants an int of `__len__`."""
    method = getattr(type(value), "__len__", None)
    if type(method) is not FunctionType:
        return len(value)
    length = call(method)(value)
    return length if staging_backend(length) is not None else index(length)


_python_print = print  # `differential_check` puts another in its place for a time


def _print(values: tuple[Any, ...]) -> Callable[..., Any]:
    """`print`: while a backend traces, also a print of Python values alone takes its place in program order."""
    backend = ambient.backend or _backend_within(values)
    return _python_print if backend is None else backend.builtins[_python_print]


def _backend_within(values: Any, depth: int = 4) -> Backend | None:
    """The backend of one of the values, or of what a list, tuple or dict among them holds, down to a depth."""
    for value in values:
        cls = kind_of(value)
        found = backend_of(value)
        if found is None and depth and (cls is list or cls is tuple or cls is dict):
            found = _backend_within(dict.values(value) if cls is dict else value, depth - 1)
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
_overrides[_python_print] = _by_arguments(_print, "print")


@functools.cache
def _ask(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function in C that the backend which traces answers, whatever the arguments are."""

    def answer(_: tuple[Any, ...]) -> Callable[..., Any]:
        return original if ambient.backend is None else ambient.backend.builtins.get(original, original)

    return _by_arguments(answer, original.__name__)


@functools.lru_cache(maxsize=256)
def _ask_anew(original: Callable[..., Any]) -> Callable[..., Any]:
    """A clock or the like, which no staged body may ask."""

    def checked(args: tuple[Any, ...]) -> Callable[..., Any]:
        if ambient.backend is not None and (text := text_of(original, args)) is not None:
            ambient.backend.refuse_in_body(*text)
        return original

    return _by_arguments(checked, original.__name__)


_asked: dict[Any, Callable[..., Any]] = {
    original: _ask(original)
    for original in (isinstance, callable, hasattr, getattr, delattr, dir, vars, type, dict)
}
"""What stands for these while a backend traces."""


class _Builtins(dict[Any, Any]):
    __missing__ = staticmethod(_same)


_builtins = _Builtins()
"""`_overrides`, once there is a backend; any other builtin stands for itself."""


def _let_backends_answer() -> None:
    _builtins.update(_overrides)
    _classes.clear()
    functions.clear()
    if functions.clear not in on_trace:
        on_trace.append(functions.clear)
    _let_backends_look()


def _let_backends_look() -> None:
    """While a backend traces, which keys a dict has and which items of a list are equal may be for it to say, and what
    is given to code in C."""
    resolvers[BuiltinFunctionType] = _builtin_while_tracing if activity.tracing else _builtins.__getitem__
    resolvers.update(dict.fromkeys(_in_c, looked_at if activity.tracing else _same))
    for cls in type, dict:
        _classes.pop(cls, None)
    (native.difference_update if activity.tracing else native.update)(_LOOKED_AT)


@unseen
def _builtin_while_tracing(fn: Any) -> Any:
    if ambient.backend is not None:
        if isinstance(fn.__self__, dict):
            return ambient.backend.method_of_dict(fn)
        if isinstance(fn.__self__, (list, tuple)):
            return ambient.backend.method_of_sequence(fn)
    found = _asked.get(fn) or (_ask_anew(fn) if asks_anew(fn) else _ask(fn) if fn in answered else _builtins[fn])
    return looked_at(fn) if found is fn else found


on_announce.append(_let_backends_answer)
on_trace.append(_let_backends_look)
