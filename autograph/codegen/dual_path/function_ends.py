"""The end of a function in the plain lane: where Python returns by falling off the end, on the line that ran last.

A conversion that lowers some `return` makes the implicit one explicit, behind a test of the flag of the others. No line
is seen to run for it. But where several ways lead to it, Python would report the line that was compiled before it. So
each way has an end of its own: `sink` puts a copy where the statements before it are left.
"""
from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from autograph.codegen.dual_path.branch_tests import moved_to

__all__ = ["guard", "passes_over_else", "sink", "staged_branch"]

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def staged_branch(name: str, node: Any) -> Any:
    """The `if`, whose branch `name` ("body" or "orelse") is the staged lane."""
    node.staged = name
    return node


def guard(flags: list[str], node: Any) -> Any:
    """The `if`, whose test asks for these flags of the jumps before it."""
    node.flags = flags
    return node


def passes_over_else(body: list[Any]) -> bool:
    """Whether these statements may end with a `break` out of a loop that has an `else`, which is an `if` by now."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        staged = getattr(last, "staged", "")
        return getattr(last, "flags", None) is not None or (staged != "body" and passes_over_else(last.body)) or (
            staged != "orelse" and passes_over_else(last.orelse))
    if isinstance(last, ast.Match):
        return any(passes_over_else(case.body) for case in last.cases)
    if isinstance(last, _TRIES):
        parts = [last.orelse or last.body, *[handler.body for handler in last.handlers]]
        return not last.finalbody and any(map(passes_over_else, parts))
    return isinstance(last, (ast.With, ast.AsyncWith)) and passes_over_else(last.body)


def sink(body: list[Any], end: list[Any]) -> None:
    """Put `end` where the plain lane leaves the last of these statements."""
    last = body[-1]
    if isinstance(last, ast.If):
        staged = getattr(last, "staged", "")
        if staged != "body":
            _close(last.body, end)
        if staged != "orelse":
            _close(last.orelse, end)
        flags = getattr(last, "flags", None)
        pending: Any = last.orelse[:1]
        if flags is not None and len(body) > 1 and isinstance(pending[0].body[0], ast.Pass):
            loop = body[-2].orelse[0] if isinstance(body[-2], ast.If) and body[-2].orelse else body[-2]
            if isinstance(loop, _LOOPS):  # a `break` passes over its `else`
                _sink_breaks(loop.body, end, flags)
    elif isinstance(last, _LOOPS):
        test = getattr(last, "test", None)
        if test is not None and not last.orelse and test.lineno == test.end_lineno:
            # Two ways lead there, from the first test and from the others: so it needs a line, the same for both.
            *others, closing = [moved_to(node, test) for node in end]
            closing.is_end = True
            last.orelse = [*others, closing]
        _close(last.orelse, end)
        _sink_breaks(last.body, end)
    elif isinstance(last, (ast.With, ast.AsyncWith)):
        _close(last.body, end)
    elif isinstance(last, ast.Match):
        for case in last.cases:
            _close(case.body, end)
        if not (case.guard is None and _matches_all(case.pattern)):
            last.cases.append(ast.match_case(pattern=ast.MatchAs(**_place(end[0])), body=[*end]))
    elif isinstance(last, _TRIES) and not last.finalbody:
        for handler in last.handlers if isinstance(last, ast.Try) else ():  # `except*` may hold no `return`
            _close(handler.body, end)
        is_checked = getattr(last, "is_checked", False)  # its `else` is not the user's
        _close(last.body if is_checked or not last.orelse else last.orelse, end)


def _close(body: list[Any], end: list[Any]) -> None:
    if body and (isinstance(body[-1], _LEAVES) or getattr(body[-1], "is_end", body[-1] is end[-1])):
        return  # a body may stand in two places
    if body:
        sink(body, end)
    body += end


def _matches_all(pattern: Any) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return any(map(_matches_all, pattern.patterns))
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _matches_all(pattern.pattern))


def _place(node: Any) -> dict[str, Any]:
    return {name: getattr(node, name) for name in node._attributes}


def _sink_breaks(body: list[Any], end: list[Any], flags: Collection[str] | None = None) -> None:
    """... and where a `break` leaves the loop of this body; if flags are given, one that sets one of them."""
    for index in reversed(range(len(body))):
        node = body[index]
        if isinstance(node, ast.Break):
            before = body[index - 1] if index else None
            if before is not end[-1] and (flags is None or _sets(before, flags)):
                body[index:index] = end
        elif isinstance(node, _LOOPS):
            _sink_breaks(node.orelse, end, flags)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                for name in ("body", "orelse", "finalbody"):
                    inner = getattr(part, name, None)
                    if isinstance(inner, list) and getattr(node, "staged", "") != name:
                        _sink_breaks(inner, end, flags)


def _sets(node: Any, flags: Collection[str]) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in flags
