"""Runs the text of a program every way and tells where two runs differ."""
from __future__ import annotations

import importlib
import linecache
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import ways
from programs import Program
from ways import HAS_LLVM, Outcome, difference, run, runtime_has

from fuzz.generate import ARGUMENTS

__all__ = ["PLAIN_WAYS", "TENSOR_WAYS", "Timeout", "Verdict", "judge"]

PLAIN_WAYS = ("converted", "shown")
TENSOR_WAYS = ("converted", "shown", "eager", "staged", *(["native"] if HAS_LLVM else []))
TRACED = ("eager", "staged", "native")
_names = iter(range(10**9))


class Timeout(BaseException):
    """A run took too long."""


@dataclass(frozen=True)
class Verdict:
    """How a program differs: on which way, for which arguments and how; or that staging refused it, with its text."""

    way: str = ""
    arguments: tuple[Any, ...] = ()
    text: str = ""
    refused: str = ""
    error: str = ""
    """The name of the error that came, if one did."""

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        return f"{self.way}{self.arguments}: {self.text}" if self.text else self.refused or "the same"

    @property
    def kind(self) -> tuple[str, str, str]:
        """What stays the same while a failure is made smaller."""
        return self.way, self.error, " ".join(self.text.split()[:2])


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise Timeout in what takes longer, in time of the processor; again and again should it be swallowed."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Timeout

    def unraisable(told: sys.UnraisableHookArgs) -> None:
        if told.exc_type is not Timeout:  # it came in a callback, which swallows it: it will come again
            hook(told)

    before, hook = signal.signal(signal.SIGVTALRM, stop), sys.unraisablehook
    sys.unraisablehook = unraisable
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        sys.unraisablehook = hook


@contextmanager
def loaded(text: str) -> Iterator[Callable[..., Any]]:
    """The `program` that a text defines, with its source where `linecache` finds it."""
    filename = f"<program {next(_names)}>"
    lines = text.splitlines(keepends=True)
    linecache.cache[filename] = len(text), None, lines, filename
    namespace: dict[str, Any] = {"__name__": "fuzzed"}
    try:
        exec(compile(text, filename, "exec"), namespace)
        yield namespace["program"]
    finally:
        del linecache.cache[filename]
        for made in (ways.shown, ways.staged):
            made.cache_clear()


def chain(error: BaseException | None, filename: str, way: str) -> list[Any]:
    """An error and the errors that it came from; for a live function also the user's lines in their tracebacks."""
    found: list[Any] = []
    while error is not None and len(found) < 20:
        within = bool(found) and way == "shown" and isinstance(error, NameError)
        found.append("NameError" if within else type(error).__name__)
        if way != "shown" and not isinstance(error, NameError):  # CPython 3.11 may give these the line before
            entry = error.__traceback__
            while entry is not None:
                if entry.tb_frame.f_code.co_filename == filename:
                    found.append(entry.tb_lineno)
                entry = entry.tb_next
        error = error.__cause__ or error.__context__
    return found


def judge(
    text: str, chosen: tuple[str, ...], calls: tuple[tuple[Any, ...], ...] = ARGUMENTS, seconds: float = 5.0
) -> Verdict:
    """The first difference between Python and the given ways; Timeout if Python itself takes longer than a tenth of
    the seconds that each way has."""
    refused = ""
    with loaded(text) as fn, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = Program(fn, calls)
        for arguments in calls:
            with limited(seconds / 10):
                expected = run(program, "python", arguments)
            for way in chosen:
                if way in TRACED and not runtime_has("function"):
                    continue
                if way in ("staged", "native") and refused:
                    continue
                try:
                    with limited(seconds):
                        got = run(program, way, arguments)
                except Timeout:
                    return Verdict(way, arguments, "endless run")
                except Exception as error:
                    got = Outcome(error=error)
                if way in TRACED:
                    refusal = _refusal(got)
                    if refusal:
                        refused = refusal
                        continue
                told = _as_shown if way == "shown" else _as_it_is
                found = difference(told(expected), told(got), exact=way in PLAIN_WAYS)
                if found is None and way in PLAIN_WAYS:
                    filename = fn.__code__.co_filename
                    want, have = chain(expected.error, filename, way), chain(got.error, filename, way)
                    if want != have:
                        found = f"the traceback: expected {want}, got {have}"
                if found is not None and " object at 0x" not in expected.printed:
                    return Verdict(way, arguments, found, error=type(got.error).__name__ if got.error else "")
    return Verdict(refused=refused)


_UNBOUND = re.compile(
    r"(?:UnboundLocalError|NameError): (?:local variable|free variable|cannot access \w+ variable|name) '(\w+)'.*")


def _as_shown(outcome: Outcome) -> Outcome:
    """With unbound variables told in one way where a handler prints them: to Python, the bodies in a text are functions
    of their own, and the variables in them free ones, until the error leaves the body."""
    printed = _UNBOUND.sub(r"NameError: \1", outcome.printed).replace("UnboundLocalError", "NameError")
    return Outcome(outcome.result, outcome.error, printed, outcome.arguments)


def _as_it_is(outcome: Outcome) -> Outcome:
    return outcome


def _refusal(got: Outcome) -> str:
    """What staging says it cannot do, if that is the outcome."""
    errors = importlib.import_module("runtime.errors")
    refusals = (
        errors.StagingError, errors.DTypeError, errors.OperatorNotAllowedInGraphError, errors.UnimplementedError,
        errors.NumberOverflowError)
    return f"{type(got.error).__name__}: {got.error}" if isinstance(got.error, refusals) else ""
