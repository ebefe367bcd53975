"""Places in the user's source, for errors, warnings and the nodes of graphs."""
from __future__ import annotations

import bisect
import dis
import inspect
import linecache
import sys
import threading
from types import CodeType, FrameType, TracebackType
from typing import Any, Final, TypeVar

from autograph.backend import PACKAGES, is_internal, per_code
from runtime.core.errors import StagingError, locate

__all__ = ["Position", "asked_by_library", "computed_for", "generated_code", "is_users", "located", "place_of_result",
           "position_at", "return_position", "scope", "staged_statement",
           "staging_error", "user_position"]

E = TypeVar("E", bound=Exception)


class Position:
    """A place in the user's source."""

    __slots__ = ("_code", "_lasti", "derived", "filename", "function", "lineno", "scope")

    def __init__(
        self, filename: str, lineno: int, function: str = "", code: CodeType | None = None, lasti: int = 0,
        derived: str = "", scope: str = "",
    ) -> None:
        self.filename = filename
        self.lineno = lineno
        self.function = function
        self._code = code
        self._lasti = lasti
        self.derived = derived
        """The op at this place whose derivative is computed; empty if this is the computation itself."""
        self.scope = scope
        """The name scopes open at this place, such as that of a layer."""

    def __reduce__(self) -> tuple[type[Position], tuple[str, int, str]]:
        """Pickled errors keep their place, without its code object, which cannot be pickled."""
        return Position, (self.filename, self.lineno, self.function)

    @property
    def instruction(self) -> tuple[int, int]:
        """Identifies the instruction, to distinguish several on one line; valid while its code object is alive."""
        return id(self._code), self._lasti

    def derivative(self, op: str) -> Position:
        """This place, as that of the derivative of the op `op`."""
        return Position(self.filename, self.lineno, self.function, self._code, self._lasti, self.derived or op,
                        self.scope)

    @property
    def span(self) -> tuple[int, int, int] | None:
        """The last line, the first column and the last column of the expression; None if Python does not record them
        (before 3.11)."""
        if self._code is not None and (spans := _spans(self._code)):
            line, end, col, end_col = spans[self._lasti // 2]
            if line == self.lineno and end is not None and col is not None and end_col is not None:
                return int(end), int(col), int(end_col)
        return None

    @property
    def col(self) -> int:
        """The column: of the call if Python records it (from 3.11 on), else of the line's first character."""
        span = self.span
        if span is not None:
            return span[1]
        line_text = linecache.getline(self.filename, self.lineno)
        return len(line_text) - len(line_text.lstrip())

    def __repr__(self) -> str:
        return f"{self.filename}:{self.lineno}" + (f" in {self.function}" if self.function else "")


@per_code
def _spans(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    """The lines and columns of each instruction; empty before Python 3.11."""
    return list(getattr(code, "co_positions", tuple)())


_internal_files: Final[dict[str, bool]] = {}


def is_users(frame: FrameType) -> bool:
    """Whether a frame is the user's: outside of the two packages, of packages that are not converted, such as NumPy,
    and of functools (Keras caches properties with it) and abc (`isinstance`), whose lines are not informative; nor are
    those of methods that `dataclass` generates."""
    filename = frame.f_code.co_filename
    if _is_generated(frame):
        return False
    internal = _internal_files.get(filename)
    if internal is None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        internal = is_internal(filename) or filename.startswith("<frozen ") or package in (
            *PACKAGES, "abc", "functools")
        _internal_files[filename] = internal
    return not internal


def _is_generated(frame: FrameType) -> bool:
    """Whether a frame is of a method that `dataclass` generated."""
    code = frame.f_code
    if code.co_filename != "<string>":  # which code of `python -c` has, too
        return False
    owner = frame.f_locals.get("self")
    return any(generated_code(cls, code.co_name) is code for cls in type(owner).__mro__)


def generated_code(cls: type, method: str) -> CodeType | None:
    """The code of the method that `dataclass` generated for a class: it has no source to convert. None for others."""
    found: Any = vars(cls).get(method) if "__dataclass_fields__" in vars(cls) else None
    code = getattr(inspect.unwrap(found), "__code__", None) if callable(found) else None
    return code if code is not None and code.co_filename == "<string>" else None


class _Scope(threading.local):
    path = ""


scope: Final = _Scope()
"""The open name scopes of this thread, stored in positions."""


class _Origin(threading.local):
    position: Position | None = None


_origin: Final = _Origin()


class computed_for:
    """A context in which computations are attributed to an earlier position of the user, such as that of an op whose
    derivative is computed."""

    __slots__ = ("_outer", "_position")

    def __init__(self, position: Position | None) -> None:
        self._position = position
        self._outer: Position | None = None

    def __enter__(self) -> None:
        self._outer = _origin.position
        _origin.position = self._outer or self._position

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _origin.position = self._outer


def asked_by_library(what: str, remedy: str) -> tuple[str, str]:
    """The message and remedy of an error for a tensor whose value is asked for; if the code of a library asks, these
    name its function, since the user's line shows no more than the call of that."""
    frame: FrameType | None = sys._getframe(1)
    found: FrameType | None = None
    while frame is not None and not is_users(frame):
        filename = frame.f_code.co_filename
        if not (is_internal(filename) or filename.startswith("<frozen ") or _is_generated(frame)):
            found = frame
        frame = frame.f_back
    if found is None or frame is None:
        return what, remedy
    name = found.f_code.co_name
    if name in ("__init__", "__new__"):
        of = found.f_locals.get(found.f_code.co_varnames[0])
        name = (of if isinstance(of, type) else type(of)).__name__
    library = found.f_globals.get("__name__", "").partition(".")[0]
    return (f"{what}, where {name!r} of {library} asks for it",
            "Compose it of functions of rt or of NumPy that have a counterpart (docs/numpy.md), or call it in a"
            " function for rt.numpy_function.")


def user_position() -> Position | None:
    """The position in the user's innermost frame, or the one set by `computed_for`."""
    if _origin.position is not None:
        return _origin.position
    frame: FrameType | None = sys._getframe(1)
    internal = _internal_files.get
    while frame is not None and (internal(frame.f_code.co_filename) or not is_users(frame)):
        frame = frame.f_back
    if frame is None:
        return None
    found = position_at(frame.f_code, frame.f_lasti)
    found.lineno = found.lineno or frame.f_lineno  # slow in long functions
    return found


def position_at(code: CodeType, lasti: int) -> Position:
    """The position of the instruction at that offset; its line is 0 if it has none."""
    line = _lines(code)[lasti // 2] if lasti >= 0 else None
    return Position(code.co_filename, line or 0, code.co_name, code, lasti, scope=scope.path)


@per_code
def _lines(code: CodeType) -> list[int | None]:
    """The line of each instruction. (`f_lineno` searches a table from its start, which for n ops on n lines takes
    O(n^2) time.)"""
    lines: list[int | None] = []
    for start, end, line in code.co_lines():
        lines += [line] * ((end - start) // 2)
    return lines


_STAGING: Final = {"_stage_cond": "if", "_stage_while": "while", "_stage_reduce": "for"}


def staged_statement() -> tuple[str, Position] | None:
    """The innermost statement whose body is being traced into a graph of its own, and its place; None if there is
    none."""
    frame: FrameType | None = sys._getframe(1)
    kind = None
    while frame is not None:
        if kind is not None and is_users(frame):
            return kind, position_at(frame.f_code, frame.f_lasti)
        if frame.f_code.co_name in _STAGING and is_internal(frame.f_code.co_filename):
            kind = kind or _STAGING[frame.f_code.co_name]
        frame = frame.f_back
    return None


def place_of_result(op: str, position: Position | None) -> str:
    """How messages refer to the result of an op."""
    derived = position.derived if position is not None else ""
    return f"the result of {op}, in the derivative of {derived}," if derived else f"the result of {op}"


def staging_error(what: str, remedy: str) -> StagingError:
    """A StagingError with the user's position."""
    return located(StagingError(what, remedy=remedy))


def located(error: E) -> E:
    """The error, with the user's position."""
    locate(error, user_position())
    return error


def return_position(fn: Any, name: str | None = None) -> Position | None:
    """The position of the last `return` of a function, or, with `name`, of the last one that reads that variable."""
    code = getattr(fn, "__code__", None)
    if code is None:
        return None
    starts = sorted((start, line) for start, _, line in code.co_lines() if line is not None)
    reads: dict[int, int] = {}  # by line, the offset of the last read
    found = None
    for instruction in dis.get_instructions(code):
        place = bisect.bisect_right(starts, (instruction.offset, sys.maxsize))  # -1, the last, if before the first
        line = starts[place - 1][1] if starts else 0
        argument = instruction.argval
        names = argument if isinstance(argument, tuple) else (argument,)
        is_read = instruction.opname.startswith("LOAD_") and name in names
        if name is None or is_read:
            reads[line] = instruction.offset
        if instruction.opname in ("RETURN_VALUE", "RETURN_CONST") and line in reads:
            found = Position(code.co_filename, line, code.co_name, code, reads[line])
    return found
