"""`verify=True`: a call also runs as Python; the first difference raises an error that names the line.

The function runs twice: as Python, on copies of the arguments, and then converted, on the arguments themselves. Printed
text, exception, result and the arguments afterwards are compared, in that order. Other side effects (on globals,
closures, files) happen twice.
"""
from __future__ import annotations

import builtins
import contextlib
import copy
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, NamedTuple

from autograph.core.backend import ambient
from autograph.core.errors import UnsupportedError, VerificationError
from autograph.core.lists import LISTS
from autograph.core.tracebacks import is_internal, prune
from autograph.dispatch import converted_call
from autograph.state.structure import fields_of

__all__ = [
    "Difference", "Printed", "Run", "changed_arguments", "check", "compare", "copied", "observe", "running", "verified",
]

running: Final[ContextVar[str]] = ContextVar("autograph_verifying", default="")
"""The run that the current code is part of: "python", "converted", or empty outside of both."""


class Printed(NamedTuple):
    """A piece of text that was printed, and the user's line that printed it."""

    text: str
    filename: str
    lineno: int


@dataclass
class Run:
    """The observations of one run. `returned` is the line of the return statement that ended it, if any."""

    result: Any = None
    error: Exception | None = None
    printed: list[Printed] = field(default_factory=list)
    returned: int = 0


class Difference(NamedTuple):
    """The first thing in which two runs differ."""

    what: str
    lineno: int
    filename: str


# --- Running ------------------------------------------------------------------------------------------------


class _Recorder:
    """A stream that records what is written and by which line, and forwards it to another stream if there is one."""

    def __init__(self, stream: Any, passes_on: bool) -> None:
        self._stream, self._passes_on = stream, passes_on
        self.printed: list[Printed] = []

    def write(self, text: str) -> int:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and is_internal(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None and text:
            self.printed.append(Printed(text, frame.f_code.co_filename, frame.f_lineno))
        if self._passes_on:
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        if self._passes_on:
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _lines_of_returns(code: CodeType, run: Run) -> Iterator[None]:
    """Record where the function of `code` returns, unless a debugger is active."""
    if sys.gettrace() is not None:
        yield
        return
    place = code.co_filename, code.co_firstlineno, code.co_name

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "return":
            run.returned = frame.f_lineno
        return local

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        called = frame.f_code
        if (called.co_filename, called.co_firstlineno, called.co_name) != place:
            return None
        frame.f_trace_lines = False
        return local

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


class _PrintsValues:
    """Replace `print` in an observed Python run by that of converted code, since it may print values of a backend in
    another form than `str`."""

    def __init__(self) -> None:
        self._lock, self._depth, self._print = threading.Lock(), 0, builtins.print

    def __enter__(self) -> None:
        with self._lock:
            if not self._depth:
                self._print, builtins.print = builtins.print, self._print_values
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth:
                builtins.print = self._print

    def _print_values(self, *args: Any, **kwargs: Any) -> None:
        asks = running.get() == "python" or ambient.backend is not None
        (converted_call.call(self._print) if asks else self._print)(*args, **kwargs)


_prints_values: Final = _PrintsValues()


def observe(call: Callable[[], Any], which: str, code: CodeType) -> Run:
    """Run `call` and record it. Output of the Python run is suppressed; that of the converted run appears as usual."""
    run = Run()
    recorder = _Recorder(sys.stdout, passes_on=which == "converted")
    token = running.set(which)
    try:
        around = _prints_values if which == "python" else contextlib.nullcontext()
        with contextlib.redirect_stdout(recorder), _lines_of_returns(code, run), around:
            run.result = call()
    except Exception as error:
        prune(error)
        run.error = error
    finally:
        running.reset(token)
    run.printed = recorder.printed
    return run


def copied(value: Any, keeps: Callable[[Any], bool] = lambda _: False) -> Any:
    """A deep copy that shares uncopyable objects and the values for which `keeps` is true."""
    memo: dict[int, Any] = {}
    stack, visited = [value], set[int]()
    while stack:
        item = stack.pop()
        if id(item) in visited:
            continue
        visited.add(id(item))
        if keeps(item):
            memo[id(item)] = item
        elif isinstance(item, Mapping):
            stack += [*item.keys(), *item.values()]
        elif isinstance(item, (*LISTS, tuple, set, frozenset)):
            stack += item
        elif hasattr(item, "__dict__") and not isinstance(item, (type, FunctionType)):
            stack += vars(item).values()
    try:
        return copy.deepcopy(value, memo)
    except Exception:
        if type(value) in (list, tuple):
            return type(value)(copied(item, keeps) for item in value)
        if type(value) is dict:
            return {key: copied(item, keeps) for key, item in value.items()}
        return value


# --- Comparing ----------------------------------------------------------------------------------------------


def _same(expected: Any, got: Any) -> bool:
    if type(expected) is not type(got) and type(expected).__qualname__ != type(got).__qualname__:
        return False
    if hasattr(expected, "__array__") and any(
        getattr(expected, name, None) != getattr(got, name, None) for name in ("shape", "dtype")
    ):
        return False
    try:
        equal = expected == got
        if hasattr(equal, "all"):
            return bool((equal | (expected != expected) & (got != got)).all())
        return bool(equal) or bool(expected != expected and got != got)  # not a number
    except Exception:
        return True  # incomparable values count as equal


def differs(
    expected: Any, got: Any, where: str, same: Callable[[Any, Any], bool],
    visited: frozenset[tuple[int, int]] = frozenset(),
) -> str:
    """The first place where two values differ, with both values as text; empty if they are equal."""
    pair = id(expected), id(got)
    if expected is got or pair in visited:
        return ""
    visited |= {pair}
    what = f"{where} is {_shown(expected)} as Python, but {_shown(got)} converted"
    if isinstance(expected, (*LISTS, tuple)) and type(expected) is type(got):
        if len(expected) != len(got):
            return what
        items = [(e, g, f"{where}[{i}]") for i, (e, g) in enumerate(zip(expected, got))]
    elif isinstance(expected, dict) and type(expected) is type(got):
        if list(expected) != list(got):
            return what
        items = [(e, got[key], f"{where}[{key!r}]") for key, e in expected.items()]
    elif type(expected) is type(got) and (names := fields_of(expected)) is not None:
        if names != fields_of(got):
            return f"{where} has the fields {names} as Python, but {fields_of(got)} converted"
        items = [(getattr(expected, name), getattr(got, name), f"{where}.{name}") for name in names]
    elif _compares_by_identity(expected) and type(expected).__qualname__ == type(got).__qualname__:
        if callable(expected) or not hasattr(expected, "__dict__"):
            return ""  # new functions, iterators: nothing can be compared
        if list(vars(expected)) != list(vars(got)):
            return f"{where} has the attributes {list(vars(expected))} as Python, but {list(vars(got))} converted"
        items = [(e, vars(got)[name], f"{where}.{name}") for name, e in vars(expected).items()]
    else:
        return "" if same(expected, got) else what
    return next((found for e, g, path in items if (found := differs(e, g, path, same, visited))), "")


def _compares_by_identity(value: Any) -> bool:
    cls: Any = type(value)
    return cls.__eq__ is object.__eq__ and not hasattr(cls, "__array__")


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= 200 else f"{text[:200]}..."


def _error_line(error: BaseException, code: CodeType) -> int:
    """The line of the user's code that raised: in this function if its frames are in the traceback."""
    lineno, entry = 0, error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == code.co_filename:
            lineno = entry.tb_lineno
        entry = entry.tb_next
    return lineno


def compare(
    expected: Run, got: Run, code: CodeType, same: Callable[[Any, Any], bool] = _same, exact: bool = True
) -> Difference | None:
    """The first difference between two runs. Without `exact`, the converted run may raise another message, and a
    subclass or superclass of Python's exception."""
    name, filename = code.co_name, code.co_filename
    found = _compare_printed(expected.printed, got.printed, name)
    if found is not None:
        return found
    if expected.error is not None or got.error is not None:
        a, b = expected.error, got.error
        if a is None or b is None or not _same_error(a, b, exact):
            raised = a if a is not None else b
            assert raised is not None
            lineno = _error_line(raised, code) or expected.returned or code.co_firstlineno
            return Difference(f"{name} {_ending(expected)} as Python, but {_ending(got)} converted", lineno, filename)
        return None
    what = differs(expected.result, got.result, f"the result of {name}", same)
    if what and got.returned and expected.returned != got.returned:
        what += f" (from line {got.returned})"
    return Difference(what, expected.returned or code.co_firstlineno, filename) if what else None


def _same_error(expected: Exception, got: Exception, exact: bool) -> bool:
    if exact:
        return type(expected) is type(got) and str(expected) == str(got)
    return isinstance(got, type(expected)) or isinstance(expected, type(got))


def _ending(run: Run) -> str:
    if run.error is None:
        return f"returns {_shown(run.result)}"
    return f"raises {type(run.error).__name__}: {str(run.error).splitlines()[0] if str(run.error) else ''}".rstrip(": ")


def _compare_printed(expected: list[Printed], got: list[Printed], name: str) -> Difference | None:
    want, have = ("".join(piece.text for piece in pieces) for pieces in (expected, got))
    if want == have:
        return None
    at = next((i for i, (a, b) in enumerate(zip(want, have)) if a != b), min(len(want), len(have)))
    pieces = expected if at < len(want) else got
    position, place = 0, pieces[-1]
    for piece in pieces:
        position += len(piece.text)
        if position > at:
            place = piece
            break
    lines = [_line_at(text, at) for text in (want, have)]
    shown = [f"prints {line!r}" if line else "prints no more" for line in lines]
    return Difference(f"{name} {shown[0]} as Python, but {shown[1]} converted", place.lineno, place.filename)


def _line_at(text: str, at: int) -> str:
    """The line of `text` that holds the character at `at`; empty if the text ends before it."""
    if at >= len(text):
        return ""
    return text[text.rfind("\n", 0, at) + 1:].partition("\n")[0] + "\n"


def check(difference: Difference | None, got: Run) -> Any:
    """The result of the converted run, or its exception; raises VerificationError if there is a difference."""
    if difference is not None:
        raise VerificationError(
            difference.what, filename=difference.filename, lineno=difference.lineno,
            remedy="If the function depends on nothing but its arguments (no random numbers, time, or state of its own)"
            " this is a fault of the conversion: autograph.to_code shows what runs.",
        ) from got.error
    if got.error is not None:
        raise got.error
    return got.result


# --- Functions ----------------------------------------------------------------------------------------------


def _observe_converted(call: Callable[[], Any], code: CodeType) -> Run:
    """`observe` for the converted run; callees run converted as well."""
    forced = ambient.forced
    try:
        ambient.forced = True
        return observe(call, "converted", code)
    finally:
        ambient.forced = forced


def verified(fn: FunctionType, converted: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper of `converted` that compares each call with one of `fn`, except nested calls.

    UnsupportedError for generator and coroutine functions, whose calls do not run them.
    """
    code = fn.__code__
    if inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
        raise UnsupportedError(
            f"verify=True compares what calls do, and a call of {fn.__qualname__!r} only makes a generator or "
            "coroutine",
            filename=code.co_filename, lineno=code.co_firstlineno, remedy="Verify the function that runs it.")

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        which = running.get()
        if which or ambient.backend is not None:
            return (fn if which == "python" else converted)(*args, **kwargs)
        try:
            own_args, own_kwargs = copied((args, kwargs))
            expected = observe(lambda: fn(*own_args, **own_kwargs), "python", code)
            got = _observe_converted(lambda: converted(*args, **kwargs), code)
            difference = compare(expected, got, code)
            if difference is None:
                what = changed_arguments(fn, (own_args, own_kwargs), (args, kwargs))
                if what:
                    difference = Difference(what, expected.returned or code.co_firstlineno, code.co_filename)
            return check(difference, got)
        except BaseException as error:
            prune(error)
            raise

    run.python_function = fn  # type: ignore[attr-defined]
    return run


def changed_arguments(
    fn: Callable[..., Any], expected: Any, got: Any, same: Callable[[Any, Any], bool] = _same
) -> str:
    """How the arguments of two calls of `fn` differ afterwards; empty if they do not."""
    try:
        parameters = inspect.signature(fn)
        want, have = (parameters.bind(*args, **kwargs).arguments for args, kwargs in (expected, got))
    except TypeError:
        return ""  # the call itself failed
    return next((w for name in want if (w := differs(want[name], have[name], f"after the call {name!r}", same))), "")
