"""`with` while a backend traces: a `try` around the body, whose handler and end are the manager's `__exit__`. The
generator function of a context manager (`contextlib.contextmanager`) calls the body where it yields."""
from __future__ import annotations

import contextlib
import dis
from collections.abc import Callable, Sequence
from inspect import CO_GENERATOR
from types import CellType, CodeType, FunctionType, GeneratorType
from typing import Any, Final

from autograph.core.allowlist import exclusion_rule
from autograph.core.backend import Backend
from autograph.core.code_cache import per_code
from autograph.core.tracebacks import is_converted, is_internal, settle, stand_in
from autograph.core.versions import TRIES_ARE_TABLES
from autograph.dispatch.converted_call import CONVERTER, call
from autograph.operators.exceptions import end_jumps, standing_for, trace_handlers
from autograph.state.converted_text_bodies import part

__all__ = ["guards_yield", "run_with", "trace_with"]


def run_with(manager: Any, body: Callable[..., Any], jumps: Sequence[str]) -> None:
    """`with manager as value: body(value)`; the body may ignore the value."""
    swallowed, value = True, None
    try:
        with manager as value:
            _run_body(body, value)
            swallowed = False
    finally:
        del manager, value  # an error's traceback may keep this frame
    if swallowed:
        end_jumps(body, jumps)


def _run_body(body: Callable[..., Any], value: Any) -> None:
    """Run the body of a `with`, such that `__exit__` sees its errors as in the original code."""
    arguments = [value][:body.__code__.co_argcount]
    del value  # as in `run_with`
    try:
        part(body)(*arguments)
    except BaseException as error:
        if (local := settle(error)) is not None:
            try:
                raise local
            except UnboundLocalError:
                stand_in(local, error)
                raise
        raise
    finally:
        del arguments


def trace_with(
    backend: Backend, manager: Any, body: Callable[..., Any], jumps: Sequence[str], state: tuple[str, ...],
    cond: Callable[..., None],
) -> None:
    """The statement while `backend` traces. `__enter__` and `__exit__` written in Python are converted, and `__exit__`
    is staged for the errors that the graph may raise; those of other classes run at trace time."""
    made_by = _generator_function(manager)
    if made_by is not None:
        _trace_generator(manager, made_by, body, jumps, cond)
        return
    enter, leave = getattr(type(manager), "__enter__", None), getattr(type(manager), "__exit__", None)
    if type(leave) is not FunctionType or enter is None or not (
        is_converted(leave.__code__) or exclusion_rule(leave) is None or isinstance(manager, contextlib.suppress)
    ):
        mark = backend.checkpoint()
        run_with(manager, body, jumps)
        if _cleans_up(manager) and mark.may_raise((BaseException,)):
            raise backend.error(
                "the body of this `with` may raise when the graph runs, and the generator that makes its context has a "
                "`try` or `with` around its `yield`, which sees only what is raised while it is traced",
                "Let the `yield` be a statement, or write a class with __enter__ and __exit__.")
        return
    manager_ = manager
    value = call(enter)(manager)

    def inner() -> None:
        body(*[value][:body.__code__.co_argcount])

    def leave_by(error: BaseException) -> None:
        def again() -> None:
            raise error

        cond(call(leave)(manager_, type(error), error, error.__traceback__), None, again)
        end_jumps(body, jumps)

    def leave_normally() -> None:
        call(leave)(manager_, None, None, None)

    trace_handlers(backend, standing_for(inner, body), [(None, standing_for(leave_by, body))],
                    standing_for(leave_normally, body), state, (body,))


# `contextlib` keeps the function and its arguments, for use as a decorator, until the context is entered. Without them
# the generator is entered and left by Python.
_FROM_GENERATOR: Final[Any] = type(contextlib.contextmanager(iter)(()))


def _generator_function(manager: Any) -> Callable[..., Any] | None:
    """The generator function of the user's that makes a context manager, in the form that passes its value to a
    function in the cell `ag__body`; None for others, and if its frame has to be suspended."""
    fn = vars(manager).get("func") if type(manager) is _FROM_GENERATOR else None
    if type(fn) is not FunctionType or not fn.__code__.co_flags & CO_GENERATOR or not (
            is_converted(fn.__code__) or exclusion_rule(fn) is None):
        return None
    template = CONVERTER.context(fn)
    return None if template is None else lambda body: template(fn, ag__body=CellType(body), ag__test=CellType(None))


def _trace_generator(
    manager: Any, function: Callable[..., Any], body: Callable[..., Any], jumps: Sequence[str],
    cond: Callable[..., None],
) -> None:
    """The statement as a call of that function. The names of its variables cannot clash with the user's."""
    args, keywords = manager.args, manager.kwds
    del manager.args, manager.kwds, manager.func  # as `__enter__` does, so that it cannot be used again
    ag__body: Any = body
    ag__entered: Any = False
    ag__ended: Any = False

    def again() -> None:
        raise RuntimeError("generator didn't stop")

    def never() -> None:
        raise RuntimeError("generator didn't yield")

    def cancel() -> None:
        end_jumps(ag__body, jumps)

    def run(value: Any) -> None:
        nonlocal ag__entered, ag__ended
        cond(ag__entered, standing_for(again, body), None)
        ag__entered = True
        _run_body(ag__body, value)
        ag__ended = True

    function(standing_for(run, body))(*args, **keywords)
    cond(ag__entered, None, standing_for(never, body))
    cond(ag__ended, None, standing_for(cancel, body))  # the generator has caught an error of the body


def _cleans_up(manager: Any) -> bool:
    """Whether a context manager was made from a user's generator with a `try` or `with` around a `yield`."""
    generator = getattr(manager, "gen", None)
    if not isinstance(manager, contextlib.AbstractContextManager) or not isinstance(generator, GeneratorType):
        return False
    return not is_internal(generator.gi_code.co_filename) and guards_yield(generator.gi_code)


@per_code
def guards_yield(code: CodeType) -> bool:
    """Whether a generator has a `yield` inside a `try` or `with`."""
    instructions = list(dis.get_instructions(code))
    if not TRIES_ARE_TABLES:
        depth = 0
        for instruction in instructions:
            if instruction.opname in ("SETUP_FINALLY", "SETUP_WITH"):
                depth += 1
            elif instruction.opname == "POP_BLOCK":
                depth -= 1
            elif instruction.opname == "YIELD_VALUE" and depth:
                return True
        return False
    named = {instruction.offset: instruction.opname for instruction in instructions}
    found: Any = dis.Bytecode(code)
    entries = [entry for entry in found.exception_entries
               if named.get(entry.target) != "CALL_INTRINSIC_1"]  # the generator's own entry
    yields = [offset for offset, name in named.items() if name == "YIELD_VALUE"]
    return any(entry.start <= offset < entry.end for entry in entries for offset in yields)
