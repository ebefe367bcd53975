"""Generator functions whose control flow depends on tensors: the traced function is traced again, with these generators
as functions that pass their items to the loop over them (`autograph.passes.internal_iteration`).

Suspending a frame cannot be staged, so in the first trace Python values have to decide the control flow in generators.
"""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_GENERATOR
from types import CodeType, FrameType
from typing import Any, Final, TypeVar

from autograph.backend import is_converted, of_trace
from runtime.core.array_mode import TraceAgain
from runtime.core.errors import StagingError, locate
from runtime.core.positions import Position, is_users

__all__ = [
    "asked_in_python", "decided_in_python", "exited_by_tensor", "pulled", "refuse", "stages_calls", "with_generators",
]

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


class _NeedsItemsPassed(TraceAgain):
    """The traced function needs the generator with this code as a function that passes its items to a loop."""

    def __init__(self, code: CodeType, is_attempt: bool) -> None:
        """`is_attempt`: if it fails, the generator runs in Python, and the loop over it is unrolled."""
        super().__init__(code.co_name)
        self.code, self.is_attempt = code, is_attempt


class _Generators(threading.local):
    codes: dict[int, CodeType] | None = None
    """By id: the converted code of the generators that pass their items to loops; None if the traced function cannot be
    traced again."""
    refused: dict[int, str] = {}
    """For some of them, by id of the code: why they have to suspend their frames."""
    tried = 0
    """The number of enclosing attempts to stage a Python loop: a failure in one is not due to a generator."""


_generators: Final = of_trace(_Generators())


def with_generators(trace: Callable[[], T]) -> T:
    """The result of `trace`, which traces a function; repeated if tensors decide the control flow of generators."""
    outer = _generators.codes, _generators.refused, _generators.tried
    codes: dict[int, CodeType] = {}
    refused: dict[int, str] = {}
    attempts: list[int] = []
    first: StagingError | None = None
    try:
        while True:
            _generators.codes, _generators.refused, _generators.tried = codes, refused, 0
            try:
                return trace()
            except _NeedsItemsPassed as needed:
                codes[id(needed.code)] = needed.code
                attempts += [id(needed.code)] * needed.is_attempt
            except StagingError as error:
                if not attempts:
                    if first is None:
                        raise
                    raise first from None
                first = first or error
                refused |= dict.fromkeys(attempts, str(error).splitlines()[0])
                attempts.clear()
    finally:
        _generators.codes, _generators.refused, _generators.tried = outer


@contextmanager
def pulled() -> Iterator[None]:
    """While an attempt is made to stage a Python loop."""
    _generators.tried += 1
    try:
        yield
    finally:
        _generators.tried -= 1


def stages_calls(code: CodeType) -> bool:
    """Whether calls of the generator function with this code pass their items to loops."""
    return id(code) in (_generators.codes or ()) and id(code) not in _generators.refused


def refuse(code: CodeType, why: str) -> None:
    """Record why a generator has to suspend its frame."""
    _generators.refused[id(code)] = why


def asked_in_python() -> tuple[FrameType | None, FrameType | None, str]:
    """Called where Python needs a value that is known only when the graph runs. In the frame of a generator, the
    function is traced again. Returns that frame, the frame that takes its items, and why the generator has to suspend
    its frame."""
    frame = consumer = _users(sys._getframe(1))
    why = ""
    while consumer is not None and _is_generator(consumer.f_code):  # a generator may loop over another one
        _need(consumer.f_code, is_attempt=False)
        why = why or _generators.refused.get(id(consumer.f_code), "")
        consumer = _users(consumer.f_back)
    return None if frame is consumer else frame, consumer, why


def decided_in_python(error: E) -> E | StagingError:
    """The error for a decision that Python has to take by a tensor; in the frame of a generator, one that says why the
    generator is not staged."""
    frame, consumer, why = asked_in_python()
    if frame is None or id(frame.f_code) not in (_generators.codes or ()):
        return error
    code, lineno = frame.f_code, frame.f_lineno
    what = f"a tensor decides here what the generator {code.co_name!r} yields, "
    if why:
        better = StagingError(f"{what}which has to suspend its frame: {why}",
                              remedy="Append the items to a list instead.")
    else:
        place = "" if consumer is None else f" in line {consumer.f_lineno}"
        better = StagingError(f"{what}and Python takes its items one by one{place}",
                              remedy="Loop over it with `for`, once, or make a list of its items: list(...).")
    locate(better, Position(code.co_filename, lineno, code.co_name))
    return better


def _users(frame: FrameType | None) -> FrameType | None:
    """The innermost of the user's frames, from `frame` outwards."""
    while frame is not None and not is_users(frame):
        frame = frame.f_back
    return frame


def exited_by_tensor(iterators: list[Any]) -> None:
    """Called where a tensor decides whether a loop over Python values, which takes items of these iterators, continues.
    If one is a generator, the function is traced again with it passing its items, so that the loop can be staged."""
    for iterator in iterators:
        code = getattr(iterator, "gi_code", None)
        if isinstance(code, CodeType) and _is_generator(code):
            _need(code, is_attempt=True)


def _is_generator(code: CodeType) -> bool:
    return bool(code.co_flags & CO_GENERATOR) and is_converted(code)


def _need(code: CodeType, is_attempt: bool) -> None:
    if _generators.codes is not None and not _generators.tried and id(code) not in _generators.codes:
        raise _NeedsItemsPassed(code, is_attempt)
