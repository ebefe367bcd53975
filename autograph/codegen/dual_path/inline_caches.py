"""What a call of the plain lane remembers of its callee, so that the next call finds it without a call of Python code.

Converted code calls what stands for a callee: its converted form, most often. Each call in the code has a `Site`, a
constant of the code object. `callee_lookup.py` compares with it what is called: `f(x)` calls `site.to` if `f is
site.of`, and what `find_callee(site, f)` gives otherwise; `o.m(x)` calls `site.to` if `o.m` is a method of the function
`site.of`, and what `find_method(site, o.m)` gives otherwise.

The attribute is looked up as in Python, each time. A function with defaults is compared with these, too, as they may
be assigned to. A site keeps the first callee it met; others are looked up by `call`. All sites forget theirs when
`converted_call` gives up its table of functions, so they keep no function alive that the table would not.
"""
from __future__ import annotations

import builtins
import operator
import sys
import threading
from collections.abc import Callable, Set
from functools import partial
from itertools import repeat, starmap
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, NoReturn

from autograph.codegen.dual_path.unchanged_callees import class_stands, method_stands
from autograph.core.backend import activity, forget, is_plain, is_unchangeable, lengths, on_trace, python
from autograph.core.tracebacks import prune
from autograph.core.untraced import unseen
from autograph.dispatch.converted_call import (
    CONTAINERS,
    at_work,
    call,
    clears,
    functions,
    has_defaults_of,
    is_in_c,
    is_static,
)
from autograph.dispatch.foreign_calls import looked_at
from autograph.dispatch.impure_builtins import asks_anew

__all__ = ["CONSTANTS", "MARK", "Site", "as_method", "embed", "extract", "find_callee", "find_method", "refuse"]

MARK: Final = "autograph: site"
"""First item of the constant that stands for a site until `embed` puts one there."""
_OPERATORS: Final[dict[str, Any]] = {
    "type": type, "bool": bool, "method": MethodType, "is_plain": is_plain, "activity": activity, "python": python,
    "call": call,
}
CONSTANTS: Final = {name: frozenset({f"autograph: {name}"}) for name in (*_OPERATORS, "find_callee", "find_method")}
"""What `embed` replaces by the operator of that name, which is not looked up then: of a kind that no source text can
hold. An operator that has no hash cannot be a constant."""
SCALARS: Final[frozenset[type]] = frozenset({bool, int, float, complex, str, bytes, type(None)})
"""Types on which every builtin does what it does in Python, also while a backend traces."""
_NOTHING: Final = object()


class Site:
    """One call: `to` stands for the callee `of`, and for `like` as long as that has these defaults."""

    __slots__ = (
        "cls", "code", "converts", "defaults", "func", "init", "kind", "kwdefaults", "like", "made", "mark", "met",
        "new", "of", "to", "type", "types",
    )

    def __init__(self, mark: tuple[Any, ...]) -> None:
        self.mark = mark
        self.of: Any = _NOTHING
        self.like: Any = _NOTHING
        self.to: Any = None
        self.defaults: Any = None
        self.kwdefaults: Any = None
        self.cls: Any = _NOTHING
        """A class that stands for itself."""
        self.made: Any = _NOTHING
        """A class whose `__init__` converts to `to`, and has these defaults."""
        self.init: Any = None
        self.new: Any = None
        """`__init__` and `__new__` of the class `made`."""
        self.func: Any = _NOTHING
        """The function of objects of `partial` that are called as they are."""
        self.converts: Any = _NOTHING
        """The function of such that converts to `to`."""
        self.kind: Any = _NOTHING
        """The class of callees that stand for themselves: objects with a `__call__`, or functions of the code `code`,
        which were made in a converted function."""
        self.code: Any = None
        self.type: Any = _NOTHING
        """Of a call of an attribute, the class of the object, or the object, if it is called as it is: the class is one
        that Python code cannot change, or the method stands for itself."""
        self.met = False
        """Whether `find_method` has seen what is called here."""
        self.types: Set[type] = SCALARS
        """Types of arguments with which the builtin `of` is called as it is."""
        if mark[2] is not None:
            self.of = self.to = getattr(builtins, mark[2])
            self.types = lengths if mark[2] == "len" else SCALARS

    def __reduce__(self) -> tuple[Any, ...]:
        return Site, (self.mark,)


_idle: list[Site] = []
"""Sites that know a class that Python code can change, or have met one while something traced: they learn none then."""
_filled: set[Site] = set()
_lock = threading.RLock()  # to take a callee, a function may have to be converted, which may collect garbage


def _no_init() -> None:
    """What has no defaults, and is no one's `__init__`."""


_UNMET: Final = (*[(name, _NOTHING) for name in ("of", "like", "cls", "made", "func", "converts", "kind", "type")],
                 ("init", _no_init), ("met", False))
_resets: list[tuple[Site, str, Any]] = []
"""What the filled sites are to be when they have forgotten their callees."""
clears.append(partial(next, map(any, map(starmap, repeat(setattr), repeat(_resets)))))
clears.append(partial(list.clear, _idle))


def _give_up_callees() -> None:
    # What a site calls stays until the next time: another thread may just have seen that `of` is what it calls.
    unmet = [site for site in _filled if not site.met]
    for site in unmet:
        site.to = site.init = site.new = site.defaults = site.kwdefaults = site.code = None
    _filled.difference_update(unmet)
    _resets[:] = [reset for reset in _resets if reset[0] in _filled]


forget.insert(0, _give_up_callees)


def _forget_classes() -> None:
    while _idle:
        site = _idle.pop()
        site.of = site.like = site.cls = site.made = site.kind = site.type = _NOTHING  # it is met anew
        site.met = False


on_trace.append(_forget_classes)


@unseen
def find_callee(site: Site, fn: Any, receiver: Any = None, /) -> Any:
    """What to call in place of `fn`, which the site does not know: an attribute of `receiver`, if that is given."""
    tracing, found = activity.tracing, _call(fn)
    if issubclass(type(receiver), type):  # `isinstance` would run code of proxies
        _keep_receiver(site, receiver, receiver, fn)
    is_of_module = type(receiver) is ModuleType and found is fn and is_in_c(fn)
    if is_of_module and not site.met and not at_work.depth:
        _idle.append(site)
        if not activity.tracing:
            site.type = receiver
    _keep(site, fn, found, tracing, is_of_module)
    return found


@unseen
def find_method(site: Site, value: Any, receiver: Any = None, /) -> MethodType:
    """What to call in place of an attribute's value that the site does not know, as a method: its `__func__` is to be
    called with its `__self__` first. The receiver, if it is given, has that attribute."""
    tracing = activity.tracing
    if type(value) is not MethodType:
        found = _call(value)
        owner = value.__self__ if type(value) is BuiltinFunctionType else receiver
        if type(value) is BuiltinFunctionType and _is_fixed(type(owner)):
            is_looked_at = type(owner) in CONTAINERS or looked_at(value) is not value  # while a backend traces
            if is_looked_at:
                _idle.append(site)
            if not (is_looked_at and activity.tracing) and not asks_anew(value):
                site.type = type(owner)
        elif owner is not None:
            _keep_receiver(site, type(owner), owner, value)
        _keep(site, value, found, tracing)
        return as_method(found)
    function, owner = value.__func__, value.__self__
    found = _call(function)
    known = receiver if owner is type(receiver) else owner  # of a class method, the object
    _keep_receiver(site, type(known), known, value)
    _keep(site, function, found, tracing)
    return MethodType(found, owner)


def _keep_receiver(site: Site, cls: type, receiver: Any, value: Any) -> None:
    """Let the site know a class whose attribute is called: of `receiver`, which is an object of it or the class, it is
    `value`. A class that a site knows has to live as long as its module."""
    name = site.mark[3]
    if not name or site.met or at_work.depth or "<locals>" in cls.__qualname__:
        return
    if issubclass(cls, type) and receiver is not cls:  # a class, which may have another method of that name
        return
    member: Any = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)
    function = value.__func__ if type(value) is MethodType else value
    if type(member) in (staticmethod, classmethod):
        own = cls if type(member) is classmethod else None
        stands = member.__func__ is function and method_stands(function, own, on_class=True)
    elif type(function) is FunctionType:
        stands = member is function and method_stands(function, None if receiver is cls else cls)
    elif type(function) is BuiltinFunctionType and receiver is not cls:
        stands = type(member) is MethodDescriptorType
    else:
        stands = value is member and _is_fixed(cls)
    if stands:
        _idle.append(site)
        if not activity.tracing:
            site.type = cls


def _call(fn: Any) -> Any:
    try:
        return functions.get(fn) or call(fn) if type(fn) is FunctionType else call(fn)
    except BaseException as error:
        prune(error)
        raise


def _is_fixed(cls: type) -> bool:
    """Whether Python code can change neither a class nor its objects' methods."""
    return is_unchangeable(cls) and not cls.__dictoffset__


def _keep(site: Site, fn: Any, found: Any, tracing: bool | None, is_of_module: bool = False) -> None:
    """Let the site know a callee that lives as long as its module, and what stood for it when `tracing` was so."""
    if at_work.depth or activity.tracing is not tracing:
        return
    with _lock:
        if site.met:
            return
        if asks_anew(fn):
            if tracing:
                return
            _idle.append(site)
        elif type(fn) is BuiltinFunctionType:  # another may stand for it while something traces
            _idle.append(site)
        site.met = True
        if site.of is not _NOTHING:  # it is for a builtin, whose name stands for something else at present
            return
        if site not in _filled:
            _resets.extend([(site, name, value) for name, value in _UNMET])
            _filled.add(site)
        if type(fn) is FunctionType:
            if not is_static(fn):
                if found is fn:
                    site.code, site.kind = fn.__code__, FunctionType
            elif found is fn or (fn.__defaults__ is None and fn.__kwdefaults__ is None):
                site.to, site.of = found, fn
            elif type(found) is FunctionType and has_defaults_of(fn, found):
                site.defaults, site.kwdefaults = fn.__defaults__, fn.__kwdefaults__
                site.to, site.like = found, fn
        elif is_of_module:
            site.to, site.of = found, fn
        elif type(fn) is BuiltinFunctionType:
            if type(fn.__self__) is ModuleType:
                site.to, site.of = found, fn
        elif issubclass(type(fn), type):
            _keep_class(site, fn, found)
        elif type(fn) is not MethodType:
            _keep_callable(site, fn)


def _keep_callable(site: Site, fn: Any) -> None:
    """Let the site know the class of an object with a `__call__`."""
    cls = type(fn)
    method = getattr(cls, "__call__", None)  # noqa: B004
    if cls is partial:
        function = fn.func
        if type(function) is not FunctionType or not is_static(function):
            return
        found = functions[function]
        if found is not function:
            if function.__defaults__ is None and function.__kwdefaults__ is None:
                site.to, site.converts = found, function
            return
        site.func = function
        if site.mark[3] == "":  # a module has it
            site.to = site.of = fn
        return
    if "<locals>" in cls.__qualname__:
        return
    in_c = type(method) is WrapperDescriptorType or is_unchangeable(cls)
    if in_c or (type(method) is FunctionType and method_stands(method, cls)):
        _idle.append(site)
        if not activity.tracing:
            site.code, site.kind = None, cls


def _keep_class(site: Site, cls: Any, found: Any) -> None:
    init, new = cls.__init__, cls.__new__
    if "<locals>" in cls.__qualname__:
        return
    _idle.append(site)
    if _is_fixed(cls) and found is cls:
        site.to = site.of = site.cls = cls
        return
    if activity.tracing:  # the trace has to meet the classes of what is made
        return
    if found is cls or class_stands(cls):
        site.cls = cls
    elif new is object.__new__ and type(init) is FunctionType and is_static(init) and not hasattr(cls, "__del__"):
        made = functions[init]
        if site.init not in (None, _no_init, init):  # another thread may be calling that
            return
        if has_defaults_of(init, made):
            site.init, site.new, site.to = init, new, made
            site.defaults, site.kwdefaults = init.__defaults__, init.__kwdefaults__
            site.made = cls


def refuse(value: Any, /) -> NoReturn:
    """The error for an `__init__` that returned something."""
    raise TypeError(f"__init__() should return None, not '{type(value).__name__}'")


if sys.version_info >= (3, 11):
    as_method: Callable[[Any], MethodType] = partial(MethodType, operator.call)
    """A callable as a method: called with its `__self__`, its `__func__` calls the callable."""
else:
    def as_method(value: Any) -> MethodType:
        if not callable(value):
            raise TypeError(f"{type(value).__name__!r} object is not callable")
        return MethodType(type(value).__call__, value)


def embed(code: CodeType) -> CodeType:
    """The code with a site for each constant that marks one."""
    return _replace(code, put)


def put(constant: Any) -> Any:
    """What a constant stands for, if it marks a site or an operator; else the constant."""
    if type(constant) is tuple and constant[:1] == (MARK,):
        return Site(constant)
    return _VALUES.get(constant, constant) if type(constant) is frozenset else constant


def extract(code: CodeType) -> CodeType:
    """The code as it was before `embed`: it can be marshalled."""
    return _replace(code, lambda c: c.mark if type(c) is Site else _marks.get(id(c), c))


_OPERATORS.update(find_callee=find_callee, find_method=find_method)
_VALUES: Final = {CONSTANTS[name]: value for name, value in _OPERATORS.items()}
_marks: Final = {id(value): CONSTANTS[name] for name, value in _OPERATORS.items()}


def _replace(code: CodeType, other: Callable[[Any], Any]) -> CodeType:
    constants = tuple([_replace(c, other) if isinstance(c, CodeType) else other(c) for c in code.co_consts])
    return code if all(a is b for a, b in zip(constants, code.co_consts)) else code.replace(co_consts=constants)
