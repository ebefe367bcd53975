"""Which methods and classes stand for themselves though they make calls: `super().__init__(name)`, `self.area()`.

Conversion changes nothing in such a function but its calls, and each is of a method that the class of the object has,
of one further on in its order of classes, of a builtin, of what its module has under a name, or of what a module
written in C has: so what is called is known once that class is. Where all of it stands for itself in turn, to call the
original is the same, for objects of exactly that class.

Nothing of this holds while a backend traces, which has to meet the classes of what is made: `inline_caches` sees to
that.
"""
from __future__ import annotations

import builtins
from abc import ABCMeta
from collections.abc import Iterator
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, NamedTuple

from autograph.core.backend import activity, python
from autograph.core.errors import ConversionError
from autograph.dispatch.converted_call import call, is_in_c, makers_for

__all__ = ["CALLS", "Asked", "class_stands", "method_stands"]

CALLS: Final = "autograph: calls"
"""First item of the constant, before the last one, that tells what a function calls if calls are all that conversion
changes in it and all are `Asked`."""
_IN_C: Final = frozenset({
    BuiltinFunctionType, ClassMethodDescriptorType, MethodDescriptorType, WrapperDescriptorType})
_OF_BUILTINS: Final = (BuiltinFunctionType, type)
_MOST: Final = 16
"""How many functions are looked at before the answer is no: each is converted for it."""
_NOTHING: Final = object()


class Asked(NamedTuple):
    """How a call finds its callee."""

    kind: str
    """`"self"`: an attribute of the first parameter, or that itself; `"super"`: of `super()`; `"class"`: of what `name`
    is in the module, a class or another module; `"name"`: what `name` is in the module; `"builtin"`: the builtin
    `name`."""
    name: str
    attribute: str
    passes: bool
    """Whether its first argument is the first parameter."""


class _Receiver(NamedTuple):
    """What the first parameter holds: an object of exactly a class, or that class itself."""

    cls: type
    is_class: bool


def class_stands(cls: Any) -> bool:
    """Whether to make an object of a class runs nothing that conversion changes."""
    return _makes(cls, set())


def method_stands(fn: FunctionType, cls: type | None, on_class: bool = False) -> bool:
    """The same of a function whose first argument is an object of exactly class `cls`, or the class; None: anything."""
    return _stands(fn, None if cls is None else _Receiver(cls, on_class), set())


def _makes(cls: Any, seen: set[Any]) -> bool:
    if type(cls).__call__ is not type.__call__:
        return False
    new, init = _found(cls.__mro__, "__new__"), _found(cls.__mro__, "__init__")
    if type(new) not in _IN_C and type.__subclasses__(cls):  # of which it may give an object, with its own `__init__`
        return False
    return _runs(new, _Receiver(cls, True), True, seen) and _runs(init, _Receiver(cls, False), True, seen)


def _found(classes: tuple[type, ...], name: str) -> Any:
    return next((vars(c)[name] for c in classes if name in vars(c)), _NOTHING)


def _stands(fn: Any, receiver: _Receiver | None, seen: set[Any]) -> bool:
    """Whether a function stands for itself when its first argument is `receiver` (None: anything)."""
    key = id(fn), receiver and (id(receiver.cls), receiver.is_class)
    if key in seen:
        return True
    if len(seen) >= _MOST:
        return False
    seen.add(key)
    try:
        if call(fn) is fn:
            return True
    except ConversionError:  # it is for the call to raise
        return False
    made: Any = (makers_for(bool(activity.tracing)).get(id(fn.__code__)) or (None,))[0]
    if made is None:
        return False
    mark = made.code.co_consts[-2:][0]
    if type(mark) is not tuple or mark[:1] != (CALLS,):
        return False
    return all(_asked_stands(Asked(*each), fn, receiver, seen) for each in mark[1:])


def _asked_stands(asked: Asked, fn: Any, receiver: _Receiver | None, seen: set[Any]) -> bool:
    name, namespace = asked.name, fn.__globals__
    if asked.kind == "builtin":
        builtin = getattr(builtins, name, _NOTHING)
        return name not in namespace and type(builtin) in _OF_BUILTINS and getattr(python, name, builtin) is builtin
    if asked.kind == "name":
        found = namespace.get(name, _NOTHING)
        if type(found) is FunctionType:
            return found.__name__ == name and _stands(found, receiver if asked.passes else None, seen)
        if issubclass(type(found), type):
            return _makes(found, seen)
        return found is not _NOTHING and is_in_c(found) and call(found) is found
    if asked.kind == "class" and type(module := namespace.get(name)) is ModuleType:
        found = vars(module).get(asked.attribute)
        return is_in_c(found) and call(found) is found
    if receiver is None:
        return False
    if asked.attribute == "__new__" and not asked.passes:  # an object of another class
        return False
    cls, is_class = receiver
    if asked.kind == "class":
        base = namespace.get(name, getattr(builtins, name, None))
        if not _is_among(base, cls.__mro__):
            return False
        found = _found(base.__mro__, asked.attribute)
        if type(found) is classmethod:
            return _stands(found.__func__, _Receiver(base, True), seen)
        return _runs(found, receiver, asked.passes, seen)
    if asked.kind == "super":
        start = _own_class(fn)
        if "super" in namespace or not _is_among(start, cls.__mro__):
            return False
        following = cls.__mro__[[c is start for c in cls.__mro__].index(True) + 1:]
        return _runs_of(_found(following, asked.attribute), receiver, asked.passes, seen)
    if is_class:  # what else a metaclass has may come before what the class has
        is_usual = type(cls) in (type, ABCMeta)
    else:
        is_usual = type(_found(cls.__mro__, "__getattribute__")) in _IN_C and not issubclass(cls, type)
    if not is_usual:
        return False
    if not asked.attribute:
        return _makes(cls, seen) if is_class else _runs(_found(cls.__mro__, "__call__"), receiver, True, seen)
    return _runs_of(_found(cls.__mro__, asked.attribute), receiver, asked.passes, seen)


def _runs_of(found: Any, receiver: _Receiver, passes: bool, seen: set[Any]) -> bool:
    """Whether what a class has under a name stands for itself as a method of the receiver."""
    if type(found) is classmethod:
        return _stands(found.__func__, _Receiver(receiver.cls, True), seen)
    return _runs(found, receiver, passes or (type(found) is FunctionType and not receiver.is_class), seen)


def _runs(found: Any, receiver: _Receiver, passes: bool, seen: set[Any]) -> bool:
    """The same if it is called with the receiver (`passes`), or something else, as its first argument."""
    if type(found) is staticmethod:
        found = found.__func__
    if type(found) is FunctionType:
        return _stands(found, receiver if passes else None, seen)
    return type(found) in _IN_C


def _is_among(cls: Any, classes: tuple[type, ...]) -> bool:
    return any(c is cls for c in classes)  # a metaclass may say what is equal


def _own_class(fn: FunctionType) -> Any:
    """The class that a `super()` of the function begins after."""
    cells: Iterator[Any] = (c for n, c in zip(fn.__code__.co_freevars, fn.__closure__ or ()) if n == "__class__")
    try:
        return next(cells).cell_contents
    except (StopIteration, ValueError):
        return None
