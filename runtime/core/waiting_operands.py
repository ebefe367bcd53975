"""Whether a value without a name may still be an operand of the user's code, such as `rows[0]` while
`f(rows[0], change(rows))` calls `change`. Python keeps such values on the stacks of its frames, which no code can read,
so this compares the places of the frames when the value was made with those of now.
"""
from __future__ import annotations

import ast
import dis
import functools
import itertools
import linecache
import sys
import threading
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType
from typing import Final, NamedTuple

from autograph.backend import is_body, of_trace, per_code
from runtime.core.positions import is_users, position_at

__all__ = ["Moment", "Waiting", "now"]

_Span = tuple[tuple[int, int], tuple[int, int]]
"""Line and column of the beginning and the end."""


class _Place(NamedTuple):
    frame: int
    """Its number; no two frames of a trace have the same."""
    code: CodeType
    lasti: int
    """The offset of the instruction that it runs."""


Moment = tuple[_Place, ...]
"""Where the user's frames are, outermost first."""


class _Frames(threading.local):
    known: Mapping[int, tuple[int, FrameType]] = {}
    """The frames that ran when this was last asked, with their numbers, by id. A later frame has another id as long as
    these are kept, until it is asked again or the trace ends."""


_frames: Final = of_trace(_Frames())
_numbers: Final = itertools.count()


def now() -> Moment:
    """Where the user's frames are."""
    before, running = _frames.known, {}
    found = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame):
            known = running[id(frame)] = before.get(id(frame)) or (next(_numbers), frame)
            found.append(_Place(known[0], frame.f_code, frame.f_lasti))
        frame = frame.f_back
    _frames.known = running
    return tuple(reversed(found))


class Waiting:
    """Tells which values may be operands of what the user's frames run at present."""

    def __init__(self) -> None:
        self._places = now()

    def has(self, made: Moment) -> bool:
        """Whether a value that was made when the frames were there may be an operand: the innermost of them that still
        runs evaluates a later operand of the same statement, or calls what has the value."""
        for k, (before, current) in enumerate(zip(made, self._places, strict=False)):
            called = self._places[k + 1] if k + 1 < len(self._places) else None
            if before.frame != current.frame:
                break
            if before.lasti != current.lasti or called is None or k + 1 == len(made) or (
                    made[k + 1].frame != called.frame):
                return _is_operand(before, current, called)
        return False


def _is_operand(made: _Place, current: _Place, called: _Place | None) -> bool:
    """Whether a value may be an operand of what its frame runs, which has called another of the user's frames."""
    code = made.code
    first, later = position_at(code, made.lasti), position_at(code, current.lasti)
    statements = _statements_of(code)
    statement = statements.get(first.lineno)
    if statement is None or statement != statements.get(later.lineno):
        return statement is None
    places = [_ends(each.lineno, *each.span) for each in (first, later) if each.span is not None]
    in_element = any(all(a <= x and y <= b for x, y in places) for a, b in statement.elements)
    if in_element if places else code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>"):
        return True  # the value may be in the result, which has no name yet
    body = called.code if called is not None and is_body(called.code) else None
    if current.lasti == made.lasti:  # of a call that calls several functions, such as `map`, or several times
        return called is not None and body is None
    is_later = current.lasti > made.lasti and (body is None or body.co_firstlineno <= statement.last)
    if not places:  # before Python 3.11
        return is_later and (called is not None or not dis.opname[code.co_code[current.lasti]].startswith("STORE_"))
    (start, end), (from_, to) = places
    is_outside = end <= from_ or to <= start
    return is_later and (is_outside or (called is not None and body is None and (start, end) not in statement.bases)
                         ) and (from_, to) not in statement.targets


def _ends(line: int, last: int, col: int, end: int) -> _Span:
    return (line, col), (last, end)


class _Statement(NamedTuple):
    """A statement, or the header of a compound one: its lines, and the places of what it assigns to, of the elements of
    its comprehensions, and of values of which it only takes an item or attribute."""

    first: int
    last: int
    targets: frozenset[_Span]
    elements: tuple[_Span, ...]
    bases: frozenset[_Span]


@per_code
def _statements_of(code: CodeType) -> dict[int, _Statement]:
    """By line, the innermost statement, as far as the source is known."""
    lines = tuple(linecache.getlines(code.co_filename))
    wanted = {line for _, _, line in code.co_lines() if line is not None}
    found = {}
    for statement in _statements(lines):  # the inner ones are later
        found.update(dict.fromkeys(wanted.intersection(range(statement.first, statement.last + 1)), statement))
    return found


@functools.lru_cache(maxsize=64)
def _statements(lines: tuple[str, ...]) -> list[_Statement]:
    """The statements of a file, in the order of their first lines."""
    try:
        nodes = [*ast.walk(ast.parse("".join(lines)))]
    except (SyntaxError, ValueError):
        return []
    found = []
    for node in nodes:
        if isinstance(node, ast.stmt):
            body, header = getattr(node, "body", None), [*_header(node)]
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            targets = [child for child in ast.iter_child_nodes(node)
                       if isinstance(getattr(child, "ctx", None), ast.Store)]
            called = {each.func for each in header if isinstance(each, ast.Call)}
            bases = [each.value for each in header if isinstance(each, (ast.Attribute, ast.Subscript))
                     and each not in called]
            elements = [part for each in header for part in _elements(each)]
            found.append(_Statement(node.lineno, last, frozenset(map(_span, targets)), tuple(map(_span, elements)),
                                    frozenset(map(_span, bases))))
    return sorted(found, key=lambda each: each.first)


def _header(node: ast.stmt) -> Iterator[ast.AST]:
    """What a statement evaluates, without its body."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from ast.walk(child)


def _elements(node: ast.AST) -> list[ast.expr]:
    """The elements of a comprehension that has a result."""
    if isinstance(node, ast.DictComp):
        return [node.key, node.value]
    return [node.elt] if isinstance(node, (ast.ListComp, ast.SetComp)) else []


def _span(node: ast.AST) -> _Span:
    assert isinstance(node, ast.expr)
    return _ends(node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0)
