"""`try`: a graph region whose errors are caught, and the ops that belong to it.

    results = try_(; body, handler0, handler1, ..., region, kinds)  is

    try:
        results = body()
    except kinds[0] as error:
        results = handler0(*region.state)
    except kinds[1] as error:
        results = handler1(*region.state)

The body has no inputs. The initial state of a handler is set by `keep(*state; region)`, in the body or a graph nested
in it, for the errors of all nodes that run after it: the values of the user's variables there. If the state is not
empty, there is a `keep` before each node that may raise a caught error; an undeclared error (memory, interrupts) before
the first `keep` is passed on. In a handler, and in graphs nested in it, `reraise(; region)` raises the error again, and
`error_text` and `error_part` give its contents.

A node in the body of a region may be needed for its error alone, so nodes that can raise are not dropped there. The
reference executor raises Python exceptions. Native code jumps to the handlers, and keeps the state in memory
(`runtime.backends.native.control.exceptions`).
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final

import numpy as np

from autograph.backend import is_internal
from runtime.core import types as t
from runtime.core.errors import DTypeError, ShapeError, StagingError, locate
from runtime.core.graph import Graph, Node
from runtime.core.op import ANY, Errors, Op
from runtime.core.positions import Position
from runtime.core.tensor import EagerTensor
from runtime.core.types import TensorType, Type, join_types

__all__ = ["ERROR_PART", "ERROR_TEXT", "HOLD_ERROR", "KEEP", "RERAISE", "TRY", "Region", "Run", "caught_by",
           "mark_caught", "may_catch"]

Function = Callable[..., Sequence[Any]]  # a sub-graph with its captures bound: inputs -> outputs


def may_catch(kind: type[BaseException], error: type[BaseException]) -> bool:
    """Whether `except kind` can catch an error declared as `error` (`Op.errors`)."""
    return issubclass(error, kind) or (error in ANY and issubclass(kind, error))


class Run:
    """One run of a region: the initial state for a handler, and the error being handled."""

    __slots__ = ("error", "state")

    def __init__(self, state: Sequence[Any] | None, error: BaseException | None = None) -> None:
        self.state = state  # None: no `keep` has run yet
        self.error = error


_MARK: Final = "__region__"


def mark_caught(exception: BaseException, region: Region) -> None:
    """Mark `exception` as the representative of the error passed to a handler of `region`."""
    exception.__dict__[_MARK] = region


def caught_by(exception: BaseException | None) -> Region | None:
    """The region of the handler whose error `exception` represents, or None.

    StagingError if the trace of that handler has ended.
    """
    region: Region | None = None if exception is None else exception.__dict__.get(_MARK)
    if region is not None and exception is not None and region.handled is not exception:
        error = StagingError(
            f"the error that a handler of the `try` in line {region.line} caught is used after that handler, and a "
            "graph cannot carry it there",
            remedy="Keep what you need of it, such as a number, in the handler, or raise it there.")
        locate(error, _place(exception.__traceback__))
        raise error
    return region


def _place(traceback: TracebackType | None) -> Position | None:
    """The user's innermost line in a traceback."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_internal(code.co_filename):
            found = Position(code.co_filename, traceback.tb_lineno, code.co_name, code, traceback.tb_lasti)
        traceback = traceback.tb_next
    return found


class _Runs(threading.local):
    retained: BaseException | None = None

    def __init__(self) -> None:
        self.open: list[Run] = []


class Region:
    """Data shared by a `try_` node and the nodes that belong to it.

    types    of the state
    caught   errors that the body may raise and a handler may catch
    handled  while a handler is traced: the exception that represents the error
    divided  each raising node is in a `try_` of its own with this region (`runtime.autodiff.errors_as_data`)
    """

    __slots__ = ("_runs", "caught", "divided", "handled", "line", "types")

    def __init__(self, line: int) -> None:
        self.line = line
        self.types: tuple[Type, ...] = ()
        self.caught: Errors = ()
        self.handled: BaseException | None = None
        self.divided = False
        self._runs = _Runs()

    @property
    def runs(self) -> list[Run]:
        """The active runs of the region in this thread, innermost last."""
        return self._runs.open

    @property
    def error(self) -> BaseException:
        """The error passed to the running handler, or held for one."""
        error = self.runs[-1].error if self.runs else self._runs.retained
        assert error is not None, "only a handler asks for its error"
        return error

    def hold(self, retain: bool) -> None:
        """Hold the error of the running handler after its end, or release it."""
        self._runs.retained = self.error if retain else None

    def __repr__(self) -> str:
        return f"line {self.line}"


def _try_kernel(
    *, body: Function, region: Region, kinds: tuple[Errors, ...], **handlers: Function
) -> tuple[Any, ...]:
    run = Run(None if region.types else ())
    region.runs.append(run)
    try:
        return tuple(body())
    except BaseException as error:
        for caught, handler in zip(kinds, handlers.values(), strict=True):
            if isinstance(error, caught) and run.state is not None:
                run.error = error
                return tuple(handler(*run.state))
        raise
    finally:
        region.runs.pop()


def _try_rule(
    *, body: Graph, region: Region, kinds: tuple[Errors, ...], **handlers: Graph
) -> tuple[Type, ...]:
    results = [value.type for value in body.outputs]
    for handler in handlers.values():
        for value, have in zip(handler.inputs, region.types, strict=True):
            if not value.type.accepts(have):
                raise ShapeError(f"try_: a handler takes {value.type}, but the state is {have}")
        for i, (have, value) in enumerate(zip(results, handler.outputs, strict=True)):
            joined = join_types(have, value.type)
            if joined is None:
                raise DTypeError(f"try_: the body gives {have} and a handler {value.type}")
            results[i] = joined
    return tuple(results)


def _try_errors(node: Node) -> Errors:
    """Errors of the body that no handler certainly catches, and errors of the handlers."""
    found: dict[type[BaseException], None] = {}
    for name, graph in node.subgraphs.items():
        for error in graph.errors:
            if name != "body" or not any(issubclass(error, kinds) for kinds in node.params["kinds"]):
                found[error] = None
    return tuple(found)


TRY: Final = Op("try_", _try_kernel, _try_rule, errors=_try_errors,
                doc="`body()`, or if it raises one of `kinds[i]`, the handler number i, of the state kept last.")


def _keep_kernel(*state: Any, region: Region) -> None:
    region.runs[-1].state = state


def _keep_rule(*state: Type, region: Region) -> tuple[()]:
    for want, have in zip(region.types, state, strict=True):
        if not want.accepts(have):
            raise ShapeError(f"keep: a value is {have}, but the state is {want}")
    return ()


KEEP: Final = Op("keep", _keep_kernel, _keep_rule, effect=True,
                 doc="The state that a handler of the region starts with if a later node raises.")


def _reraise_kernel(*values: Any, region: Region, parts: Sequence[int | str] = ()) -> None:
    raise region.error


def _reraise_rule(*values: Type, region: Region, parts: Sequence[int | str] = ()) -> tuple[()]:
    return ()


RERAISE: Final = Op("reraise", _reraise_kernel, _reraise_rule, effect=True, foreign=True,
                    errors=lambda node: node.params["region"].caught,
                    doc="Raise the error again that the region's handler was given. The operands are what derivatives "
                        "need of it: the `parts`, as `error_part` names them.")


def _hold_kernel(*, region: Region, held: bool) -> None:
    region.hold(held)


def _hold_rule(*, region: Region, held: bool) -> tuple[()]:
    return ()


HOLD_ERROR: Final = Op("hold_error", _hold_kernel, _hold_rule, effect=True,
                       doc="Hold the error that the region's handler was given until it is let go (`held=False`), for "
                           "`reraise`, `error_text` and `error_part` outside of the handler.")


def _text_kernel(*, region: Region, part: int | str | None = None) -> Any:
    error = region.error
    return np.frombuffer(str(error if part is None else _part(error, part)).encode(), np.uint8)


def _text_rule(*, region: Region, part: int | str | None = None) -> TensorType:
    return TensorType(t.uint8, (None,))


ERROR_TEXT: Final = Op("error_text", _text_kernel, _text_rule,
                       doc="`str` of the error that the region's handler was given, or of a part of it, as UTF-8.")


def _part(error: BaseException, part: int | str) -> Any:
    return error.args[part] if isinstance(part, int) else vars(error)[part]


def _part_kernel(*, region: Region, part: int | str, type: TensorType) -> Any:
    value = _part(region.error, part)
    return np.asarray(value._array if isinstance(value, EagerTensor) else value, type.dtype.np)


def _part_rule(*, region: Region, part: int | str, type: TensorType) -> TensorType:
    return type


ERROR_PART: Final = Op("error_part", _part_kernel, _part_rule,
                       doc="A number or tensor that the error holds: `args[part]`, or the attribute `part`.")
