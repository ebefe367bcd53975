"""Which frames are the user's, and tracebacks that show only those."""
from __future__ import annotations

import dis
import functools
import os
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Final, ParamSpec, TypeVar

from autograph.core.unwinding import Unwinding
from autograph.core.versions import CODE_HAS_PLACES, CODE_HAS_QUALNAME, RAISE_HAS_OWN_STATE, unbound_text

if not RAISE_HAS_OWN_STATE:
    import ctypes

__all__ = [
    "BODY", "CONVERTED", "TEMPORARIES", "add_comprehension", "convert_file", "hide_package", "is_body",
    "is_converted", "is_internal", "is_opaque", "own_errors", "prune", "raised_by_program", "settle", "stand_in",
    "temporaries_in",
]

CONVERTED: Final = "autograph: converted"
"""The last constant of every code object produced by conversion."""
BODY: Final = "autograph: body"
"""The last constant but one in the code of a body or operand that conversion turned into a function."""


TEMPORARIES: Final = "autograph: temporaries"
"""The first item of a constant of converted code: the names of variables that only conversion has."""


def temporaries_in(code: CodeType) -> tuple[str, ...]:
    """The variables of converted code that hold a value for the statement that needs it, and are not the user's."""
    return next((c for c in code.co_consts[-3:] if type(c) is tuple and c[:1] == (TEMPORARIES,)), ())


def is_converted(code: CodeType) -> bool:
    """Whether this code object was produced by conversion."""
    return CONVERTED in code.co_consts[-1:]


def is_body(code: CodeType) -> bool:
    """Whether a code object is a body produced by conversion, not one of the user's functions."""
    return len(code.co_consts) > 1 and code.co_consts[-2] == BODY


# Directories of internal code; `runtime` adds its own.
_internal: list[str] = []
_converting: set[str] = set()
"""Files in these directories whose code converts nevertheless."""
_full = os.environ.get("AUTOGRAPH_FULL_TRACEBACK", "") not in ("", "0")


def hide_package(init_file: str) -> None:
    """Treat all code below the folder of `init_file` as internal, to be omitted from tracebacks."""
    folder = os.path.dirname(os.path.abspath(init_file)) + os.sep
    if folder not in _internal:
        _internal.append(folder)
        is_internal.cache_clear()


@functools.lru_cache(maxsize=4096)
def is_internal(filename: str) -> bool:
    """Whether code of this file is internal: of autograph or runtime. Its name may be relative, or have dots in it, as
    the entry of `sys.path` by which it was imported."""
    return not filename.startswith("<") and os.path.abspath(filename).startswith(tuple(_internal))


hide_package(os.path.dirname(__file__))  # all of autograph


def convert_file(filename: str) -> None:
    """Allow functions of this internal file to convert when converted code calls them: they replace C code. Their
    frames stay hidden."""
    _converting.add(filename)


def is_opaque(filename: str) -> bool:
    """Whether code of this file is internal and does not convert: its frames and closures are not state."""
    return is_internal(filename) and filename not in _converting


_TOGETHER: Final = 64
"""What follows so many entries of the user's has been pruned, where a callee has handled the error: to search it again
at each level of a recursion would take quadratic time."""


def prune(error: BaseException) -> None:
    """Remove internal frames from the traceback of `error`, which is being handled, leaving one entry for each call of
    a user's function, at its current line.

    Afterwards a bare `raise` adds no entry for the raising frame, so the traceback of an internal error ends at the
    user's line that caused it. The environment variable AUTOGRAPH_FULL_TRACEBACK keeps everything.
    """
    if _full or isinstance(error, Unwinding):
        return
    shown: list[TracebackType] = []
    new = together = 0
    for entry in _entries(error.__traceback__):
        if is_internal(entry.tb_frame.f_code.co_filename):
            new, together = len(shown), 0
            continue
        shown.append(entry)
        together += 1
        if together == _TOGETHER:
            break
    rest = shown.pop() if together == _TOGETHER else None
    kept = []
    for i, (entry, inner) in enumerate(zip(shown, [*shown[1:], rest])):
        # A body stands for its function: the place where that function entered the body is redundant. Of what follows
        # the last internal entry, only the first body may be new.
        if i <= new and inner is not None:
            new += i == new and not is_body(inner.tb_frame.f_code)
            if _entered_from(inner.tb_frame, entry.tb_frame):
                continue
        kept.append(entry)
    for entry, following in zip(kept, [*kept[1:], rest]):
        if entry.tb_next is not following:  # assigning it takes time that grows with the length
            entry.tb_next = following
    head = kept[0] if kept else rest
    error.__traceback__ = head
    if not RAISE_HAS_OWN_STATE:
        references: list[object] = [ctypes.py_object(type(error)), ctypes.py_object(error)]
        references.append(ctypes.py_object() if head is None else ctypes.py_object(head))
        for reference in references if head is not None else references[:2]:
            ctypes.pythonapi.Py_IncRef(reference)
        ctypes.pythonapi.PyErr_SetExcInfo(*references)


def _entered_from(frame: FrameType, owner: FrameType) -> bool:
    """Whether `frame` is that of a body, or of a body nested in it, of the function that runs in `owner`."""
    current: FrameType | None = frame
    while current is not None and (is_body(current.f_code) or is_internal(current.f_code.co_filename)):
        current = current.f_back
        if current is owner:
            return True
    return False


def raised_in_converted_code(error: BaseException) -> bool:
    """Whether converted code raised an error or called the C function that did, and not, say, a signal handler."""
    codes = [entry.tb_frame.f_code for entry in _entries(error.__traceback__)]
    last = next((code for code in reversed(codes) if not is_internal(code.co_filename)), None)
    return last is not None and is_converted(last)


def raised_by_program(error: BaseException) -> bool:
    """Whether an error belongs to the program: an Exception, or one that a `raise` statement of converted code raises,
    or SystemExit of a function that it calls; not one of a signal handler, such as the KeyboardInterrupt of Ctrl-C, or
    a MemoryError or RecursionError of the interpreter."""
    if isinstance(error, Exception) and not isinstance(error, (MemoryError, RecursionError)):
        return True
    if isinstance(error, SystemExit):
        return raised_in_converted_code(error)
    last = None
    for last in _entries(error.__traceback__):  # noqa: B007
        pass
    return last is not None and is_converted(code := last.tb_frame.f_code) and (
        code.co_code[last.tb_lasti] in _RAISES)


_RAISES: Final = frozenset({dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]})


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


P = ParamSpec("P")
R = TypeVar("R")


def own_errors(operator: Callable[P, R]) -> Callable[P, R]:
    """Decorate an operator: its errors look as if the user's code had run without it."""

    @functools.wraps(operator)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return operator(*args, **kwargs)
        except BaseException as error:
            if (local := settle(error)) is not None:
                try:
                    raise local
                except UnboundLocalError:
                    stand_in(local, error)
                    raise
            raise

    return run


def settle(error: BaseException) -> UnboundLocalError | None:
    """Prune the traceback of `error`, which an operator is handling; returns the error to raise instead, if any.

    A body sees a local variable of its function as a free variable. If that is unbound, Python raises NameError, where
    the user's function would have raised UnboundLocalError.
    """
    local = _as_local(error) if type(error) is NameError else None
    prune(error)
    return local


def stand_in(local: UnboundLocalError, error: BaseException) -> None:
    """Give `local`, which an operator is about to raise, the traceback and context of `error`, which it replaces."""
    local.__context__ = error.__context__
    prune(local)


def add_comprehension(error: BaseException, *functions: Any) -> None:
    """Add the frame of a comprehension to the traceback of `error`, which is being handled, if its iterable raised it:
    that is the operator's to iterate over. The functions for its items, and for its test or None, have frames that are
    the user's."""
    codes = [function.__code__ for function in functions if function is not None]
    element = codes[0]
    if _full or is_internal(element.co_filename) or is_body(element):
        return
    shown = next((e for e in _entries(error.__traceback__) if not is_internal(e.tb_frame.f_code.co_filename)), None)
    if shown is not None and any(_is_within(shown.tb_frame.f_code, code) for code in codes):
        return
    changes: dict[str, Any] = {
        "co_name": element.co_name, "co_filename": element.co_filename, "co_firstlineno": element.co_firstlineno}
    if CODE_HAS_QUALNAME:
        changes["co_qualname"] = element.co_qualname
    try:
        FunctionType(_RAISE.replace(**changes), {})(error)
    except BaseException as raised:
        if raised is not error:
            raise
    prune(error)


def _raise(error: BaseException) -> None:
    raise error


_SIZE: Final = len(_raise.__code__.co_code)
_RAISE: Final = _raise.__code__.replace(co_linetable=(
    b"".join(bytes([0xe8 | min(7, _SIZE // 2 - start - 1), 0]) for start in range(0, _SIZE // 2, 8))
    if CODE_HAS_PLACES else bytes([_SIZE, 0])))
"""`_raise` on its first line, without columns."""


def _is_within(code: CodeType, outer: CodeType) -> bool:
    return code is outer or any(type(each) is CodeType and _is_within(code, each) for each in outer.co_consts)


def _keeps_operands(code: CodeType) -> bool:
    """Whether this is the lambda that a chained comparison becomes in a converted module, `lambda middle_: ...`."""
    return code.co_name == "<lambda>" and code.co_argcount == 2 and all(
        name.rstrip("0123456789") in ("left_", "middle_") for name in code.co_varnames[:code.co_argcount])


def _as_local(error: NameError) -> UnboundLocalError | None:
    if not all(isinstance(arg, str) for arg in error.args) or "free variable" not in str(error):
        return None
    name = str(error).split("'")[1]
    *_, last = _entries(error.__traceback__)
    frame: FrameType | None = last.tb_frame if is_body(last.tb_frame.f_code) else None
    while frame is not None:
        if not is_internal(frame.f_code.co_filename):
            if name in frame.f_code.co_cellvars:
                break
            if not is_body(frame.f_code) and not _keeps_operands(frame.f_code):
                return None  # a function in between: there it is a free variable
        frame = frame.f_back
    else:
        return None
    local = UnboundLocalError(unbound_text(name))
    local.name = name
    return local.with_traceback(error.__traceback__)
