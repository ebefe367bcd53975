"""The `ag__` of converted code: what each operator means in Python, and when a backend takes over.

Every operator asks the type of one value. A plain Python value runs the body at once, so converted code keeps
Python's meaning; a value whose type has a backend that stages it (`backend.py`) turns the bodies into pure
functions of the state and hands them over.
"""
from __future__ import annotations

import builtins as _builtins
import functools
import operator as _operator
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, cast

from . import backend as _backend
from .backend import Backend, ambient
from .frames import is_body, is_converted, is_internal, prune
from .state import Body, State, Test

__all__ = [
    "and_", "assert_", "call", "cond", "if_exp", "is_none", "list_comp", "not_", "or_", "reduce", "setitem", "slice",
    "while_loop",
]

slice = _builtins.slice
iadd, isub, imul, imatmul = _operator.iadd, _operator.isub, _operator.imul, _operator.imatmul
itruediv, ifloordiv, imod, ipow = _operator.itruediv, _operator.ifloordiv, _operator.imod, _operator.ipow
ilshift, irshift, iand, ior, ixor = (
    _operator.ilshift, _operator.irshift, _operator.iand, _operator.ior, _operator.ixor
)
_foreign = _backend._foreign
Thunk = Callable[[], Any]


def _staging(value: Any) -> Backend | None:
    """The backend that stages control flow on `value`, or None if Python runs it."""
    cls = type(value)
    found: Backend | None = getattr(cls, "__autograph__", None)
    if found is None:
        if not _foreign:
            return None
        found = _foreign.get(cls)
    return found if found is not None and found.stages(value) else None


# --- Statements ---------------------------------------------------------------------------------------------


def cond(pred: Any, if_true: Thunk | None, if_false: Thunk | None, /, *state: str) -> None:
    """`if pred: if_true() else: if_false()`; None is an empty branch."""
    try:
        try:
            if pred is True or (pred is not False and (backend := _staging(pred)) is None and pred):
                if if_true is not None:
                    if_true()
            elif pred is False or backend is None:
                if if_false is not None:
                    if_false()
            else:
                _stage_cond(backend, pred, if_true, if_false, state)
        except NameError as error:
            _raise_as_local(error, sys._getframe(1))
            raise
    except BaseException as error:
        prune(error)
        raise


def while_loop(test: Thunk, body: Thunk, /, *state: str, **options: Any) -> None:
    """`while test(): body()`. The keywords are those of `set_loop_options`, for a backend."""
    try:
        try:
            tracing = ambient.backend
            if tracing is None:
                while True:
                    going = test()
                    if going is not True and (going is False or not going):
                        return
                    body()
            while True:
                mark = tracing.checkpoint()
                going = test()
                backend = _staging(going)
                if backend is not None:
                    tracing.rollback(mark)
                    _stage_while(backend, test, body, state, options)
                    return
                if not going:
                    return
                body()
        except NameError as error:
            _raise_as_local(error, sys._getframe(1))
            raise
    except BaseException as error:
        prune(error)
        raise


def reduce(
    iterable: Any, body: Callable[[Any], Any], /, *state: str, test: Thunk | None = None, **options: Any
) -> None:
    """`for item in iterable: body(item)`, left when `test()` is false after an iteration."""
    try:
        try:
            backend = _staging(iterable)
            if backend is not None:
                _stage_reduce(backend, iterable, body, test, state, options)
            elif test is None:
                for item in iterable:
                    body(item)
            else:
                iterator = iter(iterable)
                for item in iterator:
                    body(item)
                    going = test()
                    if going is True:
                        continue
                    if going is False:
                        break
                    backend = _staging(going)
                    if backend is not None:
                        _unroll(backend, iterator, body, test, state)
                        break
                    if not going:
                        break
        except NameError as error:
            _raise_as_local(error, sys._getframe(1))
            raise
    except BaseException as error:
        prune(error)
        raise


# How a statement is staged: as pure functions of its state, and of what its bodies turn out to change besides.


def _staged(
    state: tuple[str, ...], backend: Backend, functions: tuple[Any, ...],
    run: Callable[[State, tuple[str, ...]], tuple[Any, ...]],
) -> None:
    names = state
    while True:
        mark = checkpoint()
        variables = State(names, backend.stages, *functions)
        try:
            values = run(variables, names)
        except Exception:
            if not variables.discovered:
                raise
        else:
            if not variables.discovered:
                variables.write(values)
                return
        rollback(mark)
        names = (*names, *sorted(variables.discovered))


def _stage_cond(
    backend: Backend, pred: Any, if_true: Thunk | None, if_false: Thunk | None, state: tuple[str, ...],
    *item: Any,
) -> None:
    def run(variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        true_fn, false_fn = Body(if_true, variables, if_false, *item), Body(if_false, variables, if_true)
        return backend.cond(pred, true_fn, false_fn, variables.read(), names)

    _staged(state, backend, (if_true, if_false), run)


def _stage_while(
    backend: Backend, test: Thunk, body: Thunk, state: tuple[str, ...], options: dict[str, Any]
) -> None:
    def run(variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        return backend.while_loop(Test(test, variables), Body(body, variables), variables.read(), names, options)

    _staged(state, backend, (test, body), run)


def _stage_reduce(
    backend: Backend, iterable: Any, body: Callable[[Any], Any], test: Thunk | None, state: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    def run(variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        test_fn = None if test is None else Test(test, variables)
        return backend.reduce(iterable, Body(body, variables), test_fn, variables.read(), names, options)

    _staged(state, backend, (body, test), run)


def _unroll(
    backend: Backend, iterator: Iterator[Any], body: Callable[[Any], Any], test: Thunk, state: tuple[str, ...]
) -> None:
    """The rest of a loop over Python values that a tensor may leave: each iteration under the test."""
    for count, item in enumerate(iterator):
        if count >= backend.unroll_budget:
            code = cast(FunctionType, body).__code__
            raise backend.unroll_exceeded(code.co_filename, code.co_firstlineno)
        going = test()
        if _staging(going) is None:
            if not going:
                return
            body(item)
            continue
        _stage_cond(backend, going, cast(Thunk, body), None, state, item)


# --- The plain lane -------------------------------------------------------------------------------------------


def truth(value: Any, /) -> Any:
    """`bool(value)` if Python decides on it, else `value` itself, to be staged on."""
    try:
        return bool(value) if _staging(value) is None else value
    except BaseException as error:
        prune(error)
        raise


def stages(value: Any, /) -> bool:
    """Whether control flow on `value` is staged."""
    return _staging(value) is not None


def stages_any(value: Any, /) -> bool:
    """Whether control flow on `value`, or on an item of it if it is a tuple or list, is staged."""
    return _staging(value) is not None or (
        type(value) in (tuple, list) and any(_staging(item) is not None for item in value))


def iterator(iterable: Any, /) -> Any:
    """`iter(iterable)`, which can be iterated on in its turn."""
    try:
        made = iter(iterable)
        return made if hasattr(type(made), "__iter__") else iter(lambda: next(made), _NO_VALUE)
    except BaseException as error:
        prune(error)
        raise


_NO_VALUE = object()


def resume(
    rest: Iterator[Any], body: Callable[[Any], Any], /, *state: str, test: Thunk, **options: Any
) -> None:
    """The rest of a `for` over Python values that a value to be staged on may leave."""
    try:
        backend = _staging(test())
        if backend is not None:
            _unroll(backend, rest, body, test, state)
    except BaseException as error:
        prune(error)
        raise


def checkpoint() -> tuple[Backend, object] | None:
    """A mark in the graph that is being traced, if one is."""
    backend = ambient.backend
    return None if backend is None else (backend, backend.checkpoint())


def rollback(mark: tuple[Backend, object] | None, /) -> None:
    """Take back what was traced since `mark`."""
    if mark is not None:
        mark[0].rollback(mark[1])


# --- Expressions --------------------------------------------------------------------------------------------


def if_exp(pred: Any, then: Thunk, orelse: Thunk, /) -> Any:
    """`then() if pred else orelse()`."""
    try:
        try:
            backend = _staging(pred)
            if backend is not None:
                return backend.if_exp(pred, then, orelse)
            return then() if pred else orelse()
        except NameError as error:
            _raise_as_local(error, sys._getframe(1))
            raise
    except BaseException as error:
        prune(error)
        raise


def and_(value: Any, /, *others: Thunk) -> Any:
    """`value and others[0]() and ...`."""
    try:
        try:
            for other in others:
                backend = _staging(value)
                if backend is not None:
                    value = backend.and_(value, other)
                elif value:
                    value = other()
                else:
                    return value
            return value
        except NameError as error:
            _raise_as_local(error, sys._getframe(1))
            raise
    except BaseException as error:
        prune(error)
        raise


def or_(value: Any, /, *others: Thunk) -> Any:
    """`value or others[0]() or ...`."""
    try:
        try:
            for other in others:
                backend = _staging(value)
                if backend is not None:
                    value = backend.or_(value, other)
                elif value:
                    return value
                else:
                    value = other()
            return value
        except NameError as error:
            _raise_as_local(error, sys._getframe(1))
            raise
    except BaseException as error:
        prune(error)
        raise


def not_(value: Any, /) -> Any:
    """`not value`."""
    if value is True:
        return False
    if value is False:
        return True
    try:
        backend = _staging(value)
        return not value if backend is None else backend.not_(value)
    except BaseException as error:
        prune(error)
        raise


def is_sequence(value: Any, length: int, /) -> bool:
    """Whether a sequence pattern of this length matches: of a tensor, never."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)) and len(value) == length


def list_comp(iterable: Any, element: Callable[..., Any], test: Callable[..., Any] | None = None, /) -> list[Any]:
    """`[element(*item) for item in iterable if test(*item)]`; `element` takes an item, or its parts."""
    try:
        code = element.__code__
        spread = code.co_argcount > 1

        def for_body(item: Any) -> None:
            parts = tuple(item) if spread else (item,)
            if test is None:
                out.append(element(*parts))
            else:
                def if_true() -> None:
                    out.append(element(*parts))

                cast(Any, if_true).place = element
                cond(test(*parts), if_true, None, "out")

        out: list[Any] = []
        cast(Any, for_body).place = element
        reduce(iterable, for_body, "out")
        return out
    except BaseException as error:
        prune(error)
        raise


def is_none(value: Any, /) -> Any:
    """`value is None`, for a variable that a staged branch may have set to None."""
    backend = _staging(value)
    return value is None if backend is None else backend.is_none(value)


def assert_(test: Any, message: Thunk | None = None, /) -> None:
    """`assert test, message()`."""
    try:
        backend = _staging(test)
        if backend is not None:
            backend.assert_(test, message)
        elif __debug__ and not test:
            raise AssertionError() if message is None else AssertionError(message())
    except BaseException as error:
        prune(error)
        raise


def setitem(target: Any, index: Any, value: Any, /) -> Any:
    """What `target` is after `target[index] = value`: itself, or a new value where the backend's are immutable."""
    try:
        backend = _backend.backend_of(target)
        if backend is not None:
            return backend.setitem(target, index, value)
        target[index] = value
        return target
    except BaseException as error:
        prune(error)
        raise


# --- Calls --------------------------------------------------------------------------------------------------


class _Hooks:
    """Set by `api`: converted modules that run without it call their callees as they are."""

    convert: Callable[[FunctionType], Callable[[FunctionType], Any] | None] | None = None


hooks = _Hooks()
_makers: dict[int, tuple[Callable[[FunctionType], Any] | None, object]] = {}
"""By id of a code object: what makes the converted function from a function of this code (None: left alone)."""


def call(fn: Any, /) -> Any:
    """What to call in place of `fn`: its converted form, the backend-aware form of a builtin, or `fn` itself."""
    cls = type(fn)
    if cls is FunctionType:
        entry = _makers.get(id(fn.__code__))
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
    _makers[id(code)] = maker, watch(code, _makers)


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
                backend: Backend | None = getattr(type(value), "__autograph__", None)
                if backend is None and _foreign:
                    backend = _foreign.get(type(value))
                if backend is None and ambient.backend is not None and type(value) in (list, tuple):
                    backend = next((b for b in map(_staging, value) if b is not None), None)
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
        found = _backend.backend_of(value)
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


# --- Unbound variables --------------------------------------------------------------------------------------


def _raise_as_local(error: NameError, frame: Any) -> None:
    """Raise Python's UnboundLocalError if a body read a local of the function it is part of that is not bound.

    The body sees that local as a free variable, for which Python's own error is a NameError.
    """
    if type(error) is not NameError or "free variable" not in str(error):
        return
    name = str(error).split("'")[1]
    frames = []
    entry = error.__traceback__
    while entry is not None:
        frames.append(entry.tb_frame)
        entry = entry.tb_next
    if not is_body(frames[-1].f_code):
        return
    while frame is not None:
        frames.insert(0, frame)
        frame = frame.f_back
    for frame in reversed(frames):
        if not is_internal(frame.f_code.co_filename):
            if name in frame.f_code.co_cellvars:
                break
            if not is_body(frame.f_code):
                return
    else:
        return
    if sys.version_info >= (3, 11):
        text = f"cannot access local variable '{name}' where it is not associated with a value"
    else:
        text = f"local variable '{name}' referenced before assignment"
    local = UnboundLocalError(text)
    local.name = name
    raise local.with_traceback(error.__traceback__) from None
