"""Calls of C and library code in traced functions: such code must not inspect graph values.

Such a callee runs once, at trace time. It may store a tensor, or text that contains a tensor's value; but code that
examines the text, or writes it somewhere, would see the placeholder.
"""
from __future__ import annotations

import _operator
import builtins
import copy
import enum
import functools
import io
import itertools
import operator
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from types import (
    BuiltinFunctionType,
    FunctionType,
    GeneratorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, Final

import numpy as np

from autograph.backend import (
    LISTS,
    LOGGING_SKIPS_ITSELF,
    ListItems,
    exclusion_rule,
    has_staged_items,
    is_converted,
    is_internal,
    is_unchanged,
    keyed,
    only_atoms,
    operators,
    prune,
    rule_of_library,
)
from runtime.core.array_mode import want_objects
from runtime.core.formatting import (
    method_text,
)
from runtime.core.positions import located, staging_error
from runtime.core.tensor import GraphTensor
from runtime.core.text import Text
from runtime.core.trace import current_graph
from runtime.numpy.array_objects import StagedArray
from runtime.numpy.array_results import from_numpy
from runtime.numpy.dispatch import CHANGING, call_method, call_on_tensors, is_array_method, takes_tensors
from runtime.ops.effects import PRINT, may_be_printed_to, print_text
from runtime.staging.aliases.body_tracing import in_body
from runtime.staging.containers.cached_functions import CACHED, cached_call, method_of_cache
from runtime.staging.containers.comparison_sort import KEY_WRAPPER, wrapped_comparison
from runtime.staging.containers.dict_lookup import method_of_dict
from runtime.staging.containers.heapq_bisect import FUNCTIONS
from runtime.staging.containers.sequence_methods import method_of_sequence
from runtime.staging.elements.select import Select
from runtime.staging.python.enum_classes import member_of
from runtime.staging.python.impure_builtins import check_draw, gives_anew, refusal_of
from runtime.staging.python.item_takers import takes_items, taking_items
from runtime.staging.python.numpy_classes import instead_of
from runtime.staging.python.replaced_functions import replacement
from runtime.staging.python.text_methods import MEMBERS, UNBOUND, function_of_text, method_of_text
from runtime.staging.storage.arenas import constructor
from runtime.staging.storage.dict_presence import check_keys
from runtime.staging.storage.set import method_of_set
from runtime.staging.values.iterables import Poison, flags, stages, view_of
from runtime.staging.values.list import unview
from runtime.staging.values.optional import keys
from runtime.staging.values.trials import trials, watch_call

__all__ = ["callee"]

_HOLDING: Final = frozenset({
    "IPython", "abc", "asyncio", "bdb", "collections", "contextlib", "contextvars", "copy", "coverage", "dataclasses",
    "doctest", "enum", "functools", "gc", "hypothesis", "inspect", "itertools", "operator", "pdb", "pluggy", "pytest",
    "queue", "sys", "thread", "threading", "traceback", "types", "typing", "unittest", "weakref", "weakrefset",
})
"""Modules, by the first part of the name, whose functions and classes only store their arguments, apply Python's
operators to them, or inspect the calling frame."""
_INSPECTING: Final = frozenset({
    ascii, format, input, open, ord, repr, operator.concat, operator.contains, operator.countOf, operator.imod,
    operator.indexOf, operator.mod})
"""The functions of `builtins` and `operator` that inspect their arguments."""
_TYPES: Final = (str, bytes, bytearray, memoryview, int, float, complex, dict)
"""The types of `builtins` whose constructors or methods inspect their arguments."""
_FILE: Final[Any] = io.IOBase.__base__
_TEXT_METHODS: Final = frozenset({"__repr__", "__str__", "__format__"})
_WRITE: Final = frozenset({"csv", "logging", "pprint", "reprlib", "warnings"})
"""Modules that write their arguments, or format them."""
_SET_ITEMS: Final = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
"""Functions of NumPy that set items of an array argument."""
_ACT: Final = frozenset({"logging", "shutil", "subprocess"})
_ACTS: Final = frozenset({
    "input", "time.sleep", *(f"os.{name}" for name in (
        "chdir", "chmod", "kill", "link", "makedirs", "mkdir", "popen", "putenv", "remove", "removedirs", "rename",
        "renames", "replace", "rmdir", "symlink", "system", "truncate", "unlink", "unsetenv", "utime", "write")),
    *(f"pathlib.Path.{name}" for name in (
        "chmod", "hardlink_to", "mkdir", "rename", "replace", "rmdir", "symlink_to", "touch", "unlink", "write_bytes",
        "write_text"))})
"""Functions with external side effects, or that wait: these, and all of the modules in `_ACT`."""
_QUESTIONS: Final = frozenset({"getLogger", "isEnabledFor", "getEffectiveLevel", "hasHandlers", "which", "disk_usage"})
"""Functions of the modules in `_ACT` without such effects."""
_CALL: Final[tuple[Any, ...]] = (
    itertools.accumulate, itertools.dropwhile, itertools.filterfalse, itertools.groupby, itertools.starmap,
    itertools.takewhile)
"""C functions that call their arguments."""
_TAKE_ROWS: Final = frozenset({"writelines", "writerow", "writerows"})
_LAZY: Final = (GeneratorType, map, filter, zip)
_TAKE_LEVEL: Final = frozenset({
    "debug", "info", "warning", "error", "critical", "exception", "log", "fatal"})
"""Functions of `logging` that report their caller's frame."""
_FRAMES: Final = 2
"""The number of internal frames between that frame and the function."""


def callee(fn: Any) -> Any:
    """The callable to use in place of `fn`, which is not converted: it is written in C, belongs to a library, or is a
    method of a list, tuple or dict."""
    if trials.is_watched:
        watch_call(fn)
    kind = type(fn)
    if kind is CACHED or (kind is MethodType and type(fn.__func__) is CACHED):
        return cached_call(fn)
    if kind in _BOUND:
        owner = fn.__self__
        if type(owner) is CACHED:
            return method_of_cache(fn)
        if type(owner) in keyed or (kind is BuiltinFunctionType and isinstance(owner, dict)):
            return method_of_dict(fn)
        if has_staged_items(owner) or (kind is BuiltinFunctionType and isinstance(owner, (*LISTS, tuple))):
            return method_of_sequence(fn)
    if kind in (BuiltinFunctionType, FunctionType) and (instead := replacement(fn)) is not None:
        return instead
    if isinstance(fn, enum.EnumMeta):
        return functools.partial(member_of, fn)
    if gives_anew(fn):
        return functools.partial(_call_anew, fn)
    guarded = functools.partial(_call_guarded, fn) if _may_inspect(fn) else fn
    if kind in _BOUND and type(fn.__self__) is set:
        return method_of_set(fn, guarded)
    if kind is KEY_WRAPPER:  # made before the call
        return wrapped_comparison(fn)
    made = taking_items(fn, guarded)
    return constructor(fn, made) if issubclass(kind, type) else made


_BOUND: Final = (BuiltinFunctionType, MethodType, MethodWrapperType)


def _call_anew(fn: Any, /, *args: Any, **keywords: Any) -> Any:
    """Call a clock or a source of system randomness, which is an error in a staged body."""
    try:
        if current_graph() is not None:
            if in_body() and (message := refusal_of(fn, args)) is not None:
                raise staging_error(*message)
            check_draw(fn, args, any(stages(value) for value in _within((*args, *keywords.values()))))
            if args and isinstance(args[0], (StagedArray, GraphTensor)) and fn.__name__ == "shuffle":
                return _shuffle(fn, *args, **keywords)
        is_guarded = current_graph() is not None and _may_inspect(fn)
        return from_numpy((_guarded(fn, args, keywords) if is_guarded else fn)(*args, **keywords))
    except BaseException as error:
        prune(error)
        raise


def _shuffle(fn: Any, array: StagedArray, axis: int = 0) -> None:
    """Shuffle an array of the graph by a generator of NumPy's, which would exchange views of it."""
    if not isinstance(array, StagedArray):
        raise want_objects(staging_error("a tensor is shuffled here, and it does not change", "Use rt.random.shuffle."))
    size = array.shape[axis]
    if not isinstance(size, int):
        raise staging_error("an array whose length only the graph knows is shuffled here by a generator of NumPy's",
                            "Use rt.random.shuffle.")
    order = np.arange(size)
    fn(order)
    array[...] = operators.call(np.take)(array, order, axis)


def _call_guarded(fn: Any, /, *args: Any, **keywords: Any) -> Any:
    try:
        return fn(*args, **keywords) if current_graph() is None else from_numpy(
            _guarded(fn, args, keywords)(*args, **keywords))
    except BaseException as error:
        if type(error) is TypeError and _is_of_library(error, fn) and any(
                stages(value) or isinstance(value, Select) for value in _within((*args, *keywords.values()))):
            error.remedy = (  # type: ignore[attr-defined]
                "It is given a value that is known only when the graph runs: " + _LATER.format(_name(fn)))
            located(error)
        prune(error)
        raise


def _is_of_library(error: BaseException, fn: Any) -> bool:
    """Whether an error arose in the code of a library callee, not in a user's function that it called."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or current_graph() is None:
        return False
    of = last.tb_frame
    return is_internal(of.f_code.co_filename) or of.f_globals.get("__name__", "").partition(".")[0] == _root(fn)


def _may_inspect(fn: Any) -> bool:
    """Whether `_guarded` may object to an unconverted callee, or replace it; decided without its arguments, which need
    not be evaluated yet."""
    kind = type(fn)
    is_ours = kind is FunctionType and (is_converted(fn.__code__) or is_internal(fn.__code__.co_filename))
    if is_ours or getattr(fn, "__name__", "") in _HOLD_IT:
        return fn is copy.copy or _inspects(fn)
    return keys.are_uncertain or _is_of_lists(fn) or takes_items(fn) or not _holds(_module(fn)) or _inspects(fn)


def _is_of_lists(fn: Any) -> bool:
    """Whether a callee is a function of `operator`, or an unbound method of the class `list`."""
    return getattr(fn, "__self__", None) is _operator or getattr(fn, "__objclass__", None) in LISTS


_HOLD_IT: Final = frozenset({
    "append", "appendleft", "breakpoint", "copy", "deepcopy", "get", "id", "insert", "is_", "is_not", "put",
    "set_trace", "setattr", "setdefault"})
"""Callees that do not inspect the keys of a dict argument. Those that start a debugger stop in the calling frame, so
nothing may call them in between."""


def _inspects(fn: Any) -> bool:
    kind = type(fn)
    if any(fn is each for each in _CALL) or (kind in MEMBERS and fn.__name__ in _TEXT_METHODS) or (
            kind is BuiltinFunctionType and fn.__name__ == "add_note"):
        return True
    if kind is FunctionType:
        rule = exclusion_rule(fn)
        return rule is not None and rule == rule_of_library(fn) and not _holds(_module(fn))
    if issubclass(kind, BuiltinFunctionType):
        owner = fn.__self__
        if isinstance(owner, ModuleType):
            if owner is builtins or owner is _operator:
                return fn in _INSPECTING
            return not _holds(owner.__name__)
        return _type_inspects(_class_of(owner))
    if kind in MEMBERS:
        return _type_inspects(fn.__objclass__)
    if kind is MethodType and type(fn.__func__) is not FunctionType:  # of a class compiled by Cython
        return _type_inspects(_class_of(fn.__self__))
    if not isinstance(fn, type):
        return _type_inspects(kind)
    if issubclass(fn, dict):  # the constructor; methods may inspect
        return False
    made = fn.__init__, fn.__new__
    return any(map(_inspects, made))


def _class_of(owner: Any) -> type:
    return owner if isinstance(owner, type) else type(owner)


def _holds(module: object) -> bool:
    """Whether a class of this `__module__` holds what it is given; Cython's classes have a descriptor there."""
    return isinstance(module, str) and module.partition(".")[0].lstrip("_") in _HOLDING


def _type_inspects(cls: type) -> bool:
    if cls.__module__ == "builtins":
        return cls in _TYPES
    if issubclass(cls, _FILE):
        return True
    return not issubclass(cls, (BaseException, list, tuple, set, frozenset, deque)) and (
        cls in (OrderedDict, operator.methodcaller) or not _holds(cls.__module__))


def _guarded(fn: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[..., Any]:
    """The callable to use for a call of an unconverted callee. StagingError if it would inspect graph values."""
    if type(fn) in MEMBERS and fn.__name__ in _TEXT_METHODS:
        return _method_text(fn)
    inspects = _inspects(fn)
    if not (keys.are_uncertain or flags.lists_are_staged or inspects):
        return fn  # type: ignore[no-any-return]
    found = _of_containers(fn, args)
    if found is not None:
        return found
    values = (*args, *keywords.values())
    if keys.are_uncertain and getattr(fn, "__name__", "") not in _HOLD_IT:
        for value in values:
            if type(value) in keyed:
                check_keys(value)
    if takes_items(fn):
        _check_lists(fn, _taken(fn, values))
    if inspects:
        return _inspecting(fn, args, keywords)
    if type(fn) is FunctionType and not is_unchanged(fn):
        _check_lists(fn, _within(values))
    return fn  # type: ignore[no-any-return]


def _of_containers(fn: Any, args: tuple[Any, ...]) -> Callable[..., Any] | None:
    """The replacement of a function of `heapq`, `bisect`, `copy` or `operator` for a list with staged items, or of an
    unbound method of `list` or `dict`; None for others."""
    if type(fn) in (FunctionType, BuiltinFunctionType) and fn in FUNCTIONS and not _wants_list(fn, args):
        return operators.call(FUNCTIONS[fn])  # type: ignore[no-any-return]
    if any(map(has_staged_items, args)):
        if fn is copy.copy:
            return lambda items: unview(view_of(items).copy())
        if _is_of_lists(fn):
            return lambda *args: _on_views(fn, args)
    if type(fn) in MEMBERS and issubclass(fn.__objclass__, dict) and args and isinstance(args[0], dict):
        return _method_of_dict(fn, args[0])
    return None


def _inspecting(fn: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[..., Any]:
    """The callable to use in place of one that inspects its arguments."""
    if any(fn is each for each in _CALL):
        return lambda *args, **keywords: fn(*map(_called, args), **{k: _called(v) for k, v in keywords.items()})
    if getattr(fn, "__name__", "") in _TAKE_ROWS and len(args) == 1 and type(args[0]) in _LAZY:
        rows = [*args[0]]
        called = _guarded(fn, (rows,), keywords)
        return lambda _, **keywords: called(rows, **keywords)
    values = list(_within((*args, *keywords.values())))
    for value in values:
        if type(value) in keyed and not isinstance(value, dict):
            check_keys(value)
    if takes_tensors(fn, args) and any(
            isinstance(value, (ListItems, GraphTensor)) or hasattr(type(value), "__as_array__") for value in values):
        return functools.partial(call_on_tensors, fn)
    found = _method_of_object(fn, args, values) or instead_of(fn, values)
    if found is not None:
        return found
    _refuse_action(fn, args, keywords)
    found = function_of_text(fn, args, keywords) or method_of_text(fn, args, keywords)
    if found is not None:
        return found
    if not (fn in (int, float) and len(args) == 1):
        _check(fn, values)
    return _one_level_up(fn) if _root(fn) in _WRITE and fn.__name__ in _TAKE_LEVEL else fn


def _method_of_object(fn: Any, args: tuple[Any, ...], values: list[Any]) -> Callable[..., Any] | None:
    """The replacement of an exception's `add_note` given text known only at run time, of an array method given tensors,
    or of a file method; None for others."""
    owner = fn.__self__ if isinstance(fn, BuiltinFunctionType) else None
    if is_array_method(fn) and any(isinstance(value, (ListItems, GraphTensor)) for value in values):
        return functools.partial(call_method, fn)
    if isinstance(owner, BaseException) and fn.__name__ == "add_note" and args and isinstance(args[0], Text):
        return owner.__dict__.setdefault("__notes__", []).append  # type: ignore[no-any-return]
    return _method_of_file(fn, owner, args) if isinstance(owner, _FILE) else None


def _refuse_action(fn: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """StagingError for a callee with external side effects in a staged body."""
    if in_body() and (_acts(fn) or (fn is open and _MODES.intersection(str(_argument(args, keywords, 1, "mode"))))):
        raise staging_error(
            f"staged code calls {_name(fn)!r}: that would happen once, while the code is traced, and not each time it"
            " runs", f"Call it outside of staged loops and branches; or {_LATER.format(_name(fn))}")


def _on_views(fn: Any, args: tuple[Any, ...]) -> Any:
    """The result of a function of `operator`, or an unbound `list` method, for lists with staged items."""
    if fn.__name__ in _OF_LISTS:
        return operators.call(getattr(operators, fn.__name__))(*args)
    views = tuple(map(view_of, args))
    if getattr(fn, "__objclass__", None) in LISTS:
        return unview(getattr(views[0], fn.__name__)(*views[1:]))
    found = fn(*views)
    return args[0] if found is views[0] else unview(found)


_OF_LISTS: Final = frozenset({"add", "mul", "iadd", "imul", "lt", "le", "gt", "ge", "eq", "ne"})


def _wants_list(fn: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function of `heapq` gets an argument that is not a list, for which it raises its own error."""
    no_list = tuple, range, str, bytes, dict, set, frozenset, deque
    return isinstance(fn, BuiltinFunctionType) and _root(fn) == "heapq" and isinstance(args and args[0], no_list)


_MODES: Final = frozenset("wax+")
"""Letters in a file's mode that mean writing."""


def _argument(args: tuple[Any, ...], keywords: dict[str, Any], index: int, name: str) -> Any:
    return args[index] if len(args) > index else keywords.get(name, "")


def _acts(fn: Any) -> bool:
    if type(fn) is FunctionType and _root(fn) in _ACT:
        return not fn.__name__.startswith("_") and fn.__name__ not in _QUESTIONS
    return _name(fn) in _ACTS


def _called(value: Any) -> Any:
    """An argument in the form needed by a callee that calls it."""
    return operators.call(value) if type(value) in (*MEMBERS, BuiltinFunctionType, type) else value


def _method_of_dict(fn: Any, mapping: dict[Any, Any]) -> Callable[..., Any]:
    """An unbound method of `dict`, as in `dict.keys(d)`, for a dict whose keys may be known only at run time."""
    method = method_of_dict(fn.__get__(mapping))
    return lambda _, *args, **keywords: method(*args, **keywords)


def _method_text(fn: Any) -> Callable[..., Any]:
    """`__str__`, `__repr__` or `__format__` of a class written in C, as in `super().__repr__`."""
    if type(fn) not in UNBOUND:
        return functools.partial(method_text, getattr(fn.__objclass__, fn.__name__), fn.__self__)
    return functools.partial(method_text, fn)


def _one_level_up(fn: Any) -> Callable[..., Any]:
    """The callee with `stacklevel` raised, so that its report of the caller skips internal frames."""
    def called(*args: Any, **keywords: Any) -> Any:
        return fn(*args, **{**keywords, "stacklevel": keywords.get("stacklevel", 1) + _FRAMES + own})

    own = 0
    if not LOGGING_SKIPS_ITSELF and _root(fn) == "logging":  # there it counts its own frames, except one
        own = (fn.__name__ == "exception") + ("." not in fn.__qualname__)
    return called


def _written() -> Exception:
    return staging_error(
        "how many characters are written is known only when the graph runs, as the text has the value of a tensor in"
        " it", "Leave what `write` returns.")


def _method_of_file(fn: Any, file: Any, args: tuple[Any, ...]) -> Callable[..., Any] | None:
    """The replacement of a file method, or None: writes to a standard stream are ordered with the graph's output.
    StagingError for a method that reads what the graph prints to the file."""
    if (file is sys.stdout or file is sys.stderr) and len(args) == 1:
        if fn.__name__ == "write" and isinstance(args[0], (str, Text)):
            return functools.partial(_write, file)
        if fn.__name__ == "writelines":
            return lambda texts: [_write(file, text) for text in texts] and None
    if fn.__name__ in _UNCHECKED_METHODS or not may_be_printed_to(file):
        return None
    graph = current_graph()
    while graph is not None:
        if any(node.op is PRINT and node.params.get("file") is file for node in graph.walk()):
            raise staging_error(
                f"what is in this {type(file).__name__} is known only when the graph runs, as the traced function"
                " prints to it",
                f"Call {_name(fn)!r} after the traced function, or put the text together without a file.")
        graph = graph.parent
    return None


def _write(file: Any, text: str | Text) -> Any:
    print_text(text, file)
    return Poison(_written, "<the number of characters>") if isinstance(text, Text) else len(text)


_UNCHECKED_METHODS: Final = frozenset({"close", "fileno", "flush", "isatty", "readable", "seekable", "writable"})


def _check_lists(fn: Any, values: Iterable[Any]) -> None:
    """StagingError if one of the values is the items of a staged list, which the callee would inspect."""
    for value in values:
        if isinstance(value, ListItems):
            raise staging_error(
                f"{_name(fn)!r} is called while the function is traced, and the items of a {_kind_of(value)} that it is"
                " given are known only when the graph runs", f"Give it rt.stack(xs); or {_LATER.format(_name(fn))}")


def _kind_of(items: ListItems) -> str:
    """The type of the list, deque or dict that has these items."""
    return type(getattr(items, "empty", [])).__name__


def _taken(fn: Any, values: Iterable[Any]) -> Iterator[Any]:
    """The items that a callee takes from the lists and dicts among its arguments; a dict that it copies is whole."""
    for value in values:
        if isinstance(value, dict):
            yield from () if isinstance(fn, type) and issubclass(fn, dict) else dict.values(value)
        elif isinstance(value, LISTS):
            yield from value


def _check(fn: Any, values: list[Any]) -> None:
    """StagingError if the callee would inspect one of the values."""
    writes = _root(fn) in _WRITE
    name = getattr(fn, "__name__", "")
    for value in values:
        if name in _SET_ITEMS and isinstance(value, (ListItems, GraphTensor)) and _root(fn) == "numpy" and not (
                isinstance(values[0], StagedArray) and fn in CHANGING):
            raise want_objects(staging_error(
                f"{_name(fn)!r} changes an array, and a NumPy array is a tensor while a function is traced, which does"
                " not change in place", f"Set its items, x[index] = value; or {_LATER.format(_name(fn))}"))
        _check_lists(fn, (value,))
        if isinstance(value, Text):
            if _root(fn) == "builtins" and fn is not open:
                value.refuse()
            raise staging_error(
                "text with the value of a tensor in it is known only when the graph runs: it can be printed, returned,"
                f" compared, and be part of other text, but not be given to {_name(fn)!r}, which is called while the"
                " function is traced",
                f"Ask the tensor itself, such as `x == 1`; or {_LATER.format(_name(fn))}")
        if writes and isinstance(value, GraphTensor):
            raise staging_error(
                f"{_name(fn)!r} is called while the function is traced, and the value of a tensor that it is given is"
                " known only when the graph runs", f"Print it, which may be to a file; or {_LATER.format(_name(fn))}")


_LATER: Final = "call {!r} when the graph runs, in a function that rt.py_function is given."


def _within(value: Any, depth: int = 4) -> Iterator[Any]:
    """The items of a list, tuple or dict, and recursively of those in it, up to a depth."""
    items = [*dict.keys(value), *dict.values(value)] if isinstance(value, dict) else value
    if not only_atoms(items):
        for item in items:
            yield item
            if depth and isinstance(item, (*LISTS, tuple, dict)):
                yield from _within(item, depth - 1)


def _root(fn: Any) -> str:
    """The first part of the name of a callee's module."""
    return _module(fn).partition(".")[0].lstrip("_")


def _module(fn: Any) -> str:
    if type(fn) is FunctionType:  # `functools.wraps` may have assigned another `__module__`
        return str(fn.__globals__.get("__name__"))
    if type(fn) in MEMBERS:
        return str(fn.__objclass__.__module__)
    owner = getattr(fn, "__self__", None)
    if isinstance(owner, ModuleType):
        return owner.__name__
    if owner is not None:
        return str((owner if isinstance(owner, type) else type(owner)).__module__)
    return str(getattr(fn, "__module__", None) or type(fn).__module__)


_CALLED: Final = {"posix": "os", "nt": "os", "posixpath": "os.path", "ntpath": "os.path"}
"""Modules, and the names under which programs import them."""


def _name(fn: Any) -> str:
    """The name of a callee in messages."""
    name = getattr(fn, "__qualname__", None) or type(fn).__qualname__
    path = _module(fn)
    module = ".".join(part for part in path.split(".") if not part.startswith("_")) or path.lstrip("_")
    module = _CALLED.get(module, module)
    return name if module == "builtins" or getattr(builtins, name, None) is fn else f"{module}.{name}"
