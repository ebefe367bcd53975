"""Properties and special methods, which are called implicitly, run converted while a backend traces.

`obj.size`, `a + b` and `x in box` do not name the functions that they run. While a function is traced, the classes of
the objects it meets have their properties and special methods replaced by ones that run the converted form; the classes
are restored when the trace ends. In other threads, which do not trace, the replacements run the original.
"""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from autograph.core.allowlist import exclusion_rule
from autograph.core.backend import ambient, is_unchangeable, staging_backend
from autograph.core.slots import is_users_class
from autograph.core.trace_cleanup import at_end, of_trace

__all__ = ["meet", "meeting"]

Call = Callable[[Any], Any]
"""What to call in place of a callee: `converted_call.call`, which imports this module and is therefore passed in."""
_BINARY = (
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift", "rshift", "and", "xor",
    "or",
)
SPECIAL = frozenset(
    [f"__{prefix}{name}__" for name in _BINARY for prefix in ("", "r", "i")]
    + [f"__{name}__" for name in (
        "neg", "pos", "abs", "invert", "lt", "le", "gt", "ge", "eq", "ne", "getitem", "setitem", "delitem", "contains",
        "iter", "get", "set", "post_init",
    )])
"""Methods that the interpreter, or the `__init__` of a dataclass, calls implicitly and that may receive tensors,
besides `__next__`."""


class _Met(threading.local):
    """The classes that the traces of this thread have changed or need not change, and how many traces are open."""

    def __init__(self) -> None:
        self.classes: set[type] = set()
        self.depth = 0


_met = of_trace(_Met())
_lock = threading.Lock()
_changed: dict[type, tuple[set[int], dict[str, Any]]] = {}
"""By class: the threads whose traces use the changed class, and its original attributes (None for an absent one)."""


def meet(cls: type, call: Call) -> None:
    """Until the trace ends, replace the properties and special methods of a class by ones that run what `call` returns
    for them."""
    if cls in _met.classes or not _met.depth:
        return
    for each in cls.__mro__:
        if each in _met.classes:
            continue
        _met.classes.add(each)
        if not is_unchangeable(each):
            _change(each, call)
            for value in list(vars(each).values()):
                if is_users_class(type(value)):  # a descriptor
                    meet(type(value), call)


def _change(cls: type, call: Call) -> None:
    with _lock:
        known = _changed.get(cls)
        if known is not None:
            known[0].add(threading.get_ident())
        else:
            made = {name: _converting(name, value, call) for name, value in vars(cls).items()}
            new = {name: value for name, value in made.items() if value is not None}
            unequal: Any = cls.__ne__
            if "__eq__" in new and unequal is object.__ne__:  # object.__ne__ would convert the result of __eq__ to bool
                new["__ne__"] = _not_equal
            _changed[cls] = {threading.get_ident()}, {name: vars(cls).get(name) for name in new}
            for name, value in new.items():
                type.__setattr__(cls, name, value)


class meeting:
    """While a function is traced: the classes of objects that it meets are changed (`meet`), also of those that calls
    make."""

    def __enter__(self) -> None:
        _met.depth += 1

    def __exit__(self, *_: object) -> None:
        _met.depth -= 1
        if not _met.depth:
            _put_back()


@at_end
def _put_back() -> None:
    with _lock:
        for cls in _met.classes:
            users, saved = _changed.get(cls, (set(), {}))
            users.discard(threading.get_ident())
            if users or not saved:
                continue
            for name, value in saved.items():
                if value is not None:
                    type.__setattr__(cls, name, value)
                elif name in vars(cls):
                    type.__delattr__(cls, name)
            _changed.pop(cls)
    _met.classes.clear()


def _converting(name: str, value: Any, call: Call) -> Any:
    """The replacement of a class attribute while a backend traces; None if it is not replaced."""
    if type(value) is FunctionType:
        make = _convert_next if name == "__next__" else _convert_when_called if name in SPECIAL else None
        return make(value, call) if make is not None and exclusion_rule(value) is None else None
    if name == "__class__":  # setting it would change the object's class
        return None
    if type(value) is property:
        parts = [value.fget, value.fset, value.fdel]
        if not any(type(p) is FunctionType and exclusion_rule(p) is None for p in parts):
            return None
        getter, setter, deleter = (p and _convert_when_called(p, call) for p in parts)
        return property(getter, setter, deleter, value.__doc__)
    if type(value) is functools.cached_property and type(value.func) is FunctionType and exclusion_rule(
            value.func) is None:
        made = functools.cached_property(_convert_when_called(value.func, call))
        made.attrname = value.attrname
        return made
    return None


def _convert_when_called(fn: Any, call: Call) -> Callable[..., Any]:
    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        return (fn if ambient.backend is None else call(fn))(*args, **kwargs)

    return run


def _not_equal(self: Any, other: Any, /) -> Any:
    cls: Any = type(self)
    equal = cls.__eq__(self, other)
    if equal is NotImplemented:
        return equal
    backend = staging_backend(equal)
    return not equal if backend is None else backend.operation("not_", equal)


def _convert_next(fn: Any, call: Call) -> Callable[..., Any]:
    """`__next__` converted. Whether there is an item is decided by Python, in the caller."""

    @functools.wraps(fn)
    def run(self: Any, /) -> Any:
        backend = ambient.backend
        if backend is None:
            return fn(self)
        mark = backend.checkpoint()
        item = call(fn)(self)
        if mark.may_raise((StopIteration,), declared=True):
            raise backend.error(
                f"whether {type(self).__name__!r} has another item is decided by a tensor, known only when the graph"
                " runs, and Python asks for it while the function is traced",
                "Let a Python value decide when to raise StopIteration, or write the loop as a `while` on the tensor.")
        return item

    return run
