"""The `ag__` of converted code: what each operator means in Python, and when a backend takes over.

Every operator asks the type of one value. A plain Python value runs the body at once, so converted code keeps
Python's meaning; a value whose type has a backend that stages it (`backend.py`) turns the bodies into pure
functions of the state and hands them over.
"""
from __future__ import annotations

import builtins as _builtins
import itertools as _itertools
import operator as _operator
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any, cast

from .backend import Backend, ambient, backend_of, is_plain, plain, staging_backend
from .calls import call, native, resolvers
from .frames import own_errors, prune, settle
from .state import Body, Restage, State, Test

__all__ = [
    "ambient", "and_", "assert_", "bool", "call", "chain", "cond", "if_exp", "in_", "is_none", "is_plain", "list_comp",
    "native", "not_", "or_", "plain", "reduce", "resolvers", "setitem", "slice", "type", "while_loop",
]

slice = _builtins.slice
iadd, isub, imul, imatmul = _operator.iadd, _operator.isub, _operator.imul, _operator.imatmul
itruediv, ifloordiv, imod, ipow = _operator.itruediv, _operator.ifloordiv, _operator.imod, _operator.ipow
ilshift, irshift, iand, ior, ixor = (
    _operator.ilshift, _operator.irshift, _operator.iand, _operator.ior, _operator.ixor
)
Thunk = Callable[[], Any]


# --- Statements ---------------------------------------------------------------------------------------------


def cond(pred: Any, if_true: Thunk | None, if_false: Thunk | None, /, *state: str) -> None:
    """`if pred: if_true() else: if_false()`; None is an empty branch."""
    try:
        if pred is True or (pred is not False and (backend := staging_backend(pred)) is None and pred):
            if if_true is not None:
                if_true()
        elif pred is False or backend is None:
            if if_false is not None:
                if_false()
        else:
            _stage_cond(backend, pred, if_true, if_false, state)
    except BaseException as error:  # not own_errors: recursion through a statement has few frames to spare
        if (local := settle(error)) is not None:
            raise local from None
        raise


def while_loop(test: Thunk, body: Thunk, /, *state: str, **options: Any) -> None:
    """`while test(): body()`. The keywords are those of `set_loop_options`, for a backend."""
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
            backend = staging_backend(going)
            if backend is not None:
                tracing.rollback(mark)
                _stage_while(backend, test, body, state, options)
                return
            if not going:
                return
            body()
    except BaseException as error:  # not own_errors: recursion through a statement has few frames to spare
        if (local := settle(error)) is not None:
            raise local from None
        raise


def reduce(
    iterable: Any, body: Callable[[Any], Any], /, *state: str, test: Thunk | None = None, **options: Any
) -> None:
    """`for item in iterable: body(item)`, left when `test()` is false after an iteration."""
    try:
        backend = staging_backend(iterable)
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
                backend = staging_backend(going)
                if backend is not None:
                    _unroll(backend, iterator, body, test, state)
                    break
                if not going:
                    break
    except BaseException as error:  # not own_errors: recursion through a statement has few frames to spare
        if (local := settle(error)) is not None:
            raise local from None
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
        except Restage:
            rollback(mark)
        else:
            variables.write(values)
            return
        found = sorted(variables.discovered)
        within = tuple(path + step for path in found for step in ".[")
        names = (*(name for name in names if not name.startswith(within)), *found)


def _stage_cond(
    backend: Backend, pred: Any, if_true: Thunk | None, if_false: Thunk | None, state: tuple[str, ...],
    *item: Any,
) -> None:
    if if_true is None and if_false is None:
        return

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
        if staging_backend(going) is None:
            if not going:
                return
            body(item)
            continue
        _stage_cond(backend, going, cast(Thunk, body), None, state, item)


# --- The plain lane -------------------------------------------------------------------------------------------


bool, type, chain = _builtins.bool, _builtins.type, _itertools.chain


def stages_any(value: Any, /) -> _builtins.bool:
    """Whether control flow on `value`, or on an item of it if it is a tuple or list, is staged."""
    return staging_backend(value) is not None or (
        type(value) in (tuple, list) and any(staging_backend(item) is not None for item in value))


@own_errors
def resume(
    rest: Iterator[Any], body: Callable[[Any], Any], /, *state: str, test: Thunk, **options: Any
) -> None:
    """The rest of a `for` over Python values that a value to be staged on may leave."""
    backend = staging_backend(test())
    if backend is not None:
        _unroll(backend, rest, body, test, state)


def checkpoint() -> tuple[Backend, object] | None:
    """A mark in the graph that is being traced, if one is."""
    backend = ambient.backend
    return None if backend is None else (backend, backend.checkpoint())


def rollback(mark: tuple[Backend, object] | None, /) -> None:
    """Take back what was traced since `mark`."""
    if mark is not None:
        mark[0].rollback(mark[1])


# --- Expressions --------------------------------------------------------------------------------------------


@own_errors
def if_exp(pred: Any, then: Thunk, orelse: Thunk, /) -> Any:
    """`then() if pred else orelse()`."""
    backend = staging_backend(pred)
    if backend is not None:
        return backend.if_exp(pred, then, orelse)
    return then() if pred else orelse()


@own_errors
def and_(value: Any, /, *others: Thunk) -> Any:
    """`value and others[0]() and ...`."""
    for other in others:
        backend = staging_backend(value)
        if backend is not None:
            value = backend.and_(value, other)
        elif value:
            value = other()
        else:
            return value
    return value


@own_errors
def or_(value: Any, /, *others: Thunk) -> Any:
    """`value or others[0]() or ...`."""
    for other in others:
        backend = staging_backend(value)
        if backend is not None:
            value = backend.or_(value, other)
        elif value:
            return value
        else:
            value = other()
    return value


def not_(value: Any, /) -> Any:
    """`not value`."""
    if value is True:
        return False
    if value is False:
        return True
    try:
        backend = staging_backend(value)
        return not value if backend is None else backend.not_(value)
    except BaseException as error:
        prune(error)
        raise


@own_errors
def in_(value: Any, container: Any, /) -> Any:
    """`value in container`, for a literal or a range."""
    backend = staging_backend(value) or staging_backend(container)
    if backend is None and type(container) in (tuple, list):
        backend = next((found for item in container if (found := staging_backend(item)) is not None), None)
    return value in container if backend is None else backend.contains(container, value)


def is_sequence(value: Any, length: int, /) -> _builtins.bool:
    """Whether a sequence pattern of this length matches: of a tensor, never."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)) and len(value) == length


@own_errors
def list_comp(iterable: Any, element: Callable[..., Any], test: Callable[..., Any] | None = None, /) -> list[Any]:
    """`[element(*item) for item in iterable if test(*item)]`; `element` takes an item, or its parts."""
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


def is_none(value: Any, /) -> Any:
    """`value is None`, for a variable that a staged branch may have set to None."""
    backend = staging_backend(value)
    return value is None if backend is None else backend.is_none(value)


@own_errors
def assert_(test: Any, message: Thunk | None = None, /) -> None:
    """`assert test, message()`."""
    backend = staging_backend(test)
    if backend is not None:
        backend.assert_(test, message)
    elif __debug__ and not test:
        raise AssertionError() if message is None else AssertionError(message())


def setitem(target: Any, index: Any, value: Any, /) -> Any:
    """What `target` is after `target[index] = value`: itself, or a new value where the backend's are immutable."""
    try:
        backend = backend_of(target)
        if backend is not None:
            return backend.setitem(target, index, value)
        target[index] = value
        return target
    except BaseException as error:
        prune(error)
        raise
