"""`try` while a backend traces: the part that Python decides, and the part decided when the graph runs.

The body first runs as it is. If no operation that it traced can raise, when the graph runs, an error that a handler
catches, the statement is done. Otherwise the effects of the body are undone, and the statement is staged.
"""
from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any, Final, cast

from autograph.core.backend import Backend, Handler, ambient, staging_backend
from autograph.core.trace_cleanup import of_trace
from autograph.core.tracebacks import prune, settle, stand_in
from autograph.core.unwinding import Remake, Restage
from autograph.state.converted_text_bodies import part
from autograph.state.statement_state import Body, State, snapshot_of, staged

__all__ = [
    "Except", "classes_of", "end_jumps", "kept_handler", "kept_try", "run_try", "standing_for", "trace_handlers",
    "trace_try",
]

Thunk = Callable[[], Any]
Kinds = tuple[type[BaseException], ...]
Except = tuple[Thunk | None, Callable[..., Any]]
"""A function that returns the classes of an `except`, or None for a bare one, and its body, which may take the
error."""


# In Python.

def run_try(
    body: Thunk, handlers: Sequence[Except], orelse: Thunk | None, final: Thunk | None, jumps: Sequence[str] = ()
) -> None:
    """The statement with Python's meaning."""
    if final is not None:
        inner = (lambda: run_try(body, handlers, orelse, None)) if handlers or orelse else part(body)
        _run_final(inner, part(final), jumps)
    elif not handlers:
        part(body)()
    else:
        try:
            part(body)()
        except BaseException as error:
            if (local := settle(error)) is None:
                if not _is_handled(error, handlers):
                    raise
                return
            try:
                raise local  # so that a handler, and what it raises, sees this error
            except UnboundLocalError:
                stand_in(local, error)
                if not _is_handled(local, handlers):
                    raise
            finally:
                del local  # its traceback refers to this frame
        else:
            if orelse is not None:
                part(orelse)()


def _is_handled(error: BaseException, handlers: Sequence[Except]) -> bool:
    """Run the handler for `error`, which is being handled; returns whether there is one."""
    return _handle(error, ((classes_of(kinds), handler) for kinds, handler in handlers))


def _run_final(inner: Thunk, final: Thunk, jumps: Sequence[str]) -> None:
    """`try: inner() finally: final()`, where the flags `jumps` are set if `final` jumps."""
    try:
        inner()
    except BaseException as error:
        if (local := settle(error)) is not None:
            try:
                raise local  # so that what `final` raises has it as its context
            except UnboundLocalError:
                stand_in(local, error)
                if _is_left(final, jumps):
                    return
                raise
            finally:
                del local  # its traceback refers to this frame
        if not _is_left(final, jumps):
            raise
    else:
        final()


def _is_left(final: Thunk, jumps: Sequence[str]) -> bool:
    """Run the `finally` for an error; returns whether it jumps, which discards the error."""
    end_jumps(final, jumps)
    final()
    flags = [cell for name, cell in zip(final.__code__.co_freevars, final.__closure__ or ()) if name in jumps]
    return any(flag.cell_contents for flag in flags)


def _handle(error: BaseException, clauses: Any) -> bool:
    """Run the handler for `error`, which is being handled; returns whether there is one."""
    for kinds, handler in clauses:
        if not set(kinds).isdisjoint(type(error).__mro__):
            part(handler)(*[error][:handler.__code__.co_argcount])
            return True
    return False


def classes_of(kinds: Thunk | None) -> Kinds:
    """The classes of an `except`, which Python evaluates only if there is an error."""
    if kinds is None:
        return (BaseException,)
    found = kinds()
    classes: tuple[Any, ...] = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in classes):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    return classes


def kept_try(first: int, last: int, /, *kinds: Thunk | None) -> None:
    """At the end of the body of a `try` that stays Python, at these lines, while a backend traces: raise an error if
    the graph may raise an error there that the handlers, for these classes, would miss. A `try` without handlers has a
    `finally`."""
    try:
        if ambient.backend is not None:
            classes = [kind for thunk in kinds or (None,) for kind in classes_of(thunk)]
            ambient.backend.refuse_errors(sys._getframe(1).f_code.co_filename, first, last, tuple(classes))
    except BaseException as error:
        prune(error)
        raise


def kept_handler() -> None:
    """At the beginning of a handler of a `try` that stays Python: the traceback of the error shows the user's lines
    alone. Re-raise errors about staging, which the user's handlers must not see."""
    error = sys.exc_info()[1]
    if error is None:
        return
    prune(error)
    if ambient.backend is not None and ambient.backend.raised_by(error) == "staging":
        try:
            raise error
        except BaseException:
            prune(error)
            raise


# While a backend traces.

def trace_try(
    backend: Backend, body: Thunk, handlers: Sequence[Except], orelse: Thunk | None, final: Thunk | None,
    jumps: Sequence[str], state: tuple[str, ...],
) -> None:
    """The statement while `backend` traces."""
    if final is not None:
        inner = functools.partial(trace_handlers, backend, body, handlers, orelse, state) if handlers else body
        functions = (body, *(handler for _, handler in handlers), orelse, final)
        _Final(backend, inner, final, jumps, state, functions).trace()
    else:
        trace_handlers(backend, body, handlers, orelse, state)


class _Staged(threading.local):
    codes: frozenset[CodeType] = frozenset()
    """The bodies of the statements that the trace has staged: these are not attempted again, or nested statements would
    be traced 2^n times."""


_staged: Final = of_trace(_Staged())


class _Attempt:
    """Runs the body as it is. `error`: the error of the user's program that it raised at trace time, if any."""

    def __init__(self, backend: Backend, body: Thunk, functions: tuple[Any, ...], state: tuple[str, ...]) -> None:
        self.backend, self.mark = backend, backend.checkpoint()
        self.snapshot = snapshot_of(state, backend, functions)
        self.error: BaseException | None = None
        try:
            body()
        except (Remake, Restage):
            raise
        except BaseException as error:
            if backend.raised_by(error) == "staging":
                raise
            self.error = settle(error) or error

    def take_back(self) -> None:
        self.snapshot.take_back()
        self.mark.rollback()


def trace_handlers(
    backend: Backend, body: Thunk, handlers: Sequence[Except], orelse: Thunk | None, state: tuple[str, ...],
    users: tuple[Any, ...] = (),
) -> None:
    functions = (body, *(handler for _, handler in handlers), orelse, *users)
    code = getattr(body, "place", body).__code__
    if code in _staged.codes:
        clauses = [(classes_of(kinds), handler) for kinds, handler in handlers]
        _stage_handlers(backend, body, clauses, orelse, state, functions)
        return
    attempt = _Attempt(backend, body, functions, state)
    error, mark = attempt.error, attempt.mark
    clauses = []
    if error is not None or mark.may_raise((BaseException,)):
        clauses = [(classes_of(kinds), handler) for kinds, handler in handlers]
    if clauses and (mark.may_raise(tuple(kind for kinds, _ in clauses for kind in kinds))
                    or (error is not None and backend.raised_by(error) == "graph")):
        attempt.take_back()
        _staged.codes |= {code}
        _stage_handlers(backend, body, clauses, orelse, state, functions)
    elif error is None:
        if orelse is not None:
            orelse()
    else:
        try:
            raise error
        except BaseException:
            prune(error)
            if not _handle(error, clauses):
                raise


def _stage_handlers(
    backend: Backend, body: Thunk, clauses: Sequence[tuple[Kinds, Callable[..., Any]]], orelse: Thunk | None,
    state: tuple[str, ...], functions: tuple[Any, ...],
) -> None:
    follows = False

    def run(variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        nonlocal follows
        handlers = [Handler(kinds, Body(handler, variables, body), bool(handler.__code__.co_argcount))
                    for kinds, handler in clauses]
        following = None if orelse is None else Body(orelse, variables)
        values, follows = _then(backend, Body(body, variables), handlers, following, variables, names)
        return values

    staged(state, backend, functions, run)
    if follows and orelse is not None:
        orelse()


def _then(
    backend: Backend, body: Body, handlers: Sequence[Handler], following: Any, variables: State, names: tuple[str, ...]
) -> tuple[tuple[Any, ...], bool]:
    """The state after `try: body()` with handlers, and after `following` if no handler ran; also returns whether
    `following` still has to run after the statement."""
    if following is None:
        return backend.try_(body, handlers, variables.read(), names, body.read), False
    ended = [Handler(h.kinds, _Ending(h.body, False), h.named) for h in handlers]
    *values, completed = backend.try_(
        _Ending(body, True), ended, (*variables.read(), False), (*names, "completed"),
        lambda: (*body.read(), False))
    if staging_backend(completed) is None:
        return tuple(values), completed
    return backend.cond(completed, following, _At(lambda *values: values, following), tuple(values), names), False


class _Ending:
    """A body that appends to the state whether `else` follows."""

    def __init__(self, body: Any, completed: bool) -> None:
        self.body, self.completed = body, completed
        self.fn, self.filename, self.lineno = body.fn, body.filename, body.lineno

    def __call__(self, *values: Any) -> Any:
        return (*self.body(*values[:-1]), self.completed)


class _Final:
    """`try: inner() finally: final()`. The graph contains `final` twice: after the end of `inner`, and where an error
    leaves `inner`; that error is re-raised afterwards."""

    def __init__(
        self, backend: Backend, inner: Thunk, final: Thunk, jumps: Sequence[str], state: tuple[str, ...],
        functions: tuple[Any, ...],
    ) -> None:
        self.backend, self.inner, self.final, self.jumps = backend, inner, final, jumps
        self.state, self.functions = state, functions
        self.follows = True
        """Whether `final` still has to run after the statement."""

    def trace(self) -> None:
        attempt = _Attempt(self.backend, self.inner, self.functions, self.state)
        error = attempt.error
        if attempt.mark.may_raise((BaseException,)) or (
            error is not None and (self.jumps or self.backend.raised_by(error) == "graph")
        ):
            attempt.take_back()
            staged(self.state, self.backend, self.functions, self.stage)
            if self.follows:
                self.final()
            return

        def outcome() -> None:
            if error is not None:
                raise error

        _run_final(outcome, self.final, self.jumps)

    def stage(self, variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        final = Body(self.final, variables)

        flags = [names.index(flag) for flag in self.jumps]

        def again(*values: Any) -> Any:
            before = variables.read()
            variables.write(values)
            try:
                raise  # the error that is being handled
            except BaseException as error:
                self.backend.body_ended(error)
                raise
            finally:
                variables.write(before)

        def leave(*values: Any) -> Any:
            values = final(*(False if i in flags else value for i, value in enumerate(values)))
            return self.unless(flags, again, values, names, final)

        handler = Handler((BaseException,), _At(leave, final), False)
        inner = Body(self.whole(), variables)
        if flags:
            values, self.follows = _then(self.backend, inner, [handler], final, variables, names)
            return values
        return self.backend.try_(inner, [handler], variables.read(), names, inner.read)

    def unless(
        self, flags: Sequence[int], again: Callable[..., Any], values: Any, names: tuple[str, ...], place: Any
    ) -> Any:
        """`again(*values)`, unless one of the flags says that `final` has jumped."""
        if not flags:
            return again(*values)
        flag = values[flags[0]]

        def following(*values: Any) -> Any:
            return self.unless(flags[1:], again, values, names, place)

        if staging_backend(flag) is not None:
            stay = _At(lambda *values: values, place)
            return self.backend.cond(flag, stay, _At(following, place), tuple(values), names)
        return values if flag else following(*values)

    def whole(self) -> Callable[[], Any]:
        """`inner` as a function at the position of the body."""
        if isinstance(self.inner, FunctionType):
            return self.inner
        inner = self.inner

        def run() -> None:
            inner()

        return standing_for(run, *self.functions)


class _At:
    """`run` at the position of `body`."""

    def __init__(self, run: Callable[..., Any], body: Any) -> None:
        self.run, self.fn, self.filename, self.lineno = run, body.fn, body.filename, body.lineno

    def __call__(self, *values: Any) -> Any:
        return self.run(*values)


def end_jumps(body: Callable[..., Any], jumps: Sequence[str]) -> None:
    """Cancel the jumps out of a body."""
    for name, cell in zip(body.__code__.co_freevars, body.__closure__ or ()):
        if name in jumps:
            cell.cell_contents = False


def standing_for(function: Any, *users: Any) -> FunctionType:
    """`function`, marked as standing for functions of the user's; the first of them gives its position."""
    function.place, function.runs = users[0], tuple(user for user in users if user is not None)
    return cast(FunctionType, function)
