"""`match` on a staged subject as a chain of `if`s.

`staging_candidates.stageable` decides which statements qualify.
"""
from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

import gast

from autograph.analysis.scopes import scan
from autograph.frontend.tree import at
from autograph.passes.thunks import bind, lazy, load, operator_call

__all__ = ["match_chain"]

Body = list[Any]
_DEPTH = 16
"""How many cases nest before a flag is used, as in `jumps`."""


def match_chain(node: Any, subject: str, live: Set[str], flag: Callable[[], str]) -> Body:
    """The cases of a `match` as `if ... elif ... else`, on the variable `subject`.

    Many cases become several such chains in sequence; a variable, named by `flag`, says whether the next one is to run.

    A captured name is assigned in the branch that is taken; the guard uses the captured expression. If the name is
    `live`, or a later case reads it, it is assigned before the guard, as the guard may fail.
    """
    rest: Body = []
    flags: Body = []
    later: Body = []
    depth = 0
    live = set(live)
    for case in reversed(node.cases):
        origin = case.pattern
        captured = _captures(case.pattern, load(subject, origin))
        tests = _tests(case.pattern, load(subject, origin))
        body = case.body
        if case.guard is not None and not live.isdisjoint(captured):
            binds = [bind(name, value, origin) for name, value in captured.items()]
            bound = at(gast.Tuple([*binds, case.guard], gast.Load()), origin)
            last = at(gast.Constant(len(binds), None), origin)
            tests.append(at(gast.Subscript(bound, last, gast.Load()), origin))
        else:
            if case.guard is not None:
                tests.append(_substitute(case.guard, captured))
            body = [_assign(name, value, origin) for name, value in captured.items()] + body
        live |= scan(*([case.guard] if case.guard is not None else []), *case.body).reads - captured.keys()
        if not tests:
            rest = [_invisible(origin), *body]
            continue
        if depth == _DEPTH:
            more, place = flag(), rest[0].test
            flags.append(_assign(more, at(gast.Constant(False, None), node.subject), node.subject))
            later.insert(0, _if(load(more, place), rest, [], place))
            rest, depth = [_assign(more, at(gast.Constant(True, None), place), place)], 0
        rest, depth = [_if(_all(tests, origin), body, rest, origin)], depth + 1
    return [*flags, *rest, *later]


def _if(test: Any, body: Body, orelse: Body, origin: Any) -> Any:
    made = at(gast.If(test, body, orelse), origin)
    made.python = None
    return made


def _invisible(origin: Any) -> Any:
    """A statement without effect at the line of a pattern that always matches, for trace functions."""
    made = at(gast.Pass(), origin)
    made.invisible = True
    return made


def _assign(name: str, value: Any, origin: Any) -> Any:
    target = at(gast.Name(name, gast.Store(), None, None), origin)
    return at(gast.Assign([target], value, None), origin)


def _tests(pattern: Any, subject: Any) -> list[Any]:
    """The conditions for the pattern to match, in the order in which Python tests them."""
    if isinstance(pattern, gast.MatchValue):
        return [at(gast.Compare(subject, [gast.Eq()], [pattern.value]), pattern)]
    if isinstance(pattern, gast.MatchSingleton):
        if pattern.value is None:
            return [operator_call("is_none", [subject], pattern)]
        constant = at(gast.Constant(pattern.value, None), pattern)
        return [operator_call("is_bool", [subject, constant], pattern)]
    if isinstance(pattern, gast.MatchOr):
        first, *others = [_all(_tests(p, subject), p) for p in pattern.patterns]
        return [operator_call("or_", [first, *map(lazy, others)], pattern)]
    if isinstance(pattern, gast.MatchAs):
        return [] if pattern.pattern is None else _tests(pattern.pattern, subject)
    length = at(gast.Constant(len(pattern.patterns), None), pattern)
    tests = [operator_call("is_sequence", [subject, length], pattern)]
    for index, inner in enumerate(pattern.patterns):
        tests += _tests(inner, _item(subject, index, inner))
    return tests


def _all(tests: list[Any], origin: Any) -> Any:
    if not tests:
        return at(gast.Constant(True, None), origin)
    first, *others = tests
    return operator_call("and_", [first, *map(lazy, others)], origin) if others else first


def _item(subject: Any, index: int, origin: Any) -> Any:
    key = at(gast.Constant(index, None), origin)
    return at(gast.Subscript(subject, key, gast.Load()), origin)


def _captures(pattern: Any, subject: Any) -> dict[str, Any]:
    """The names that a pattern binds, each with the expression of its value."""
    if isinstance(pattern, gast.MatchAs):
        inner = {} if pattern.pattern is None else _captures(pattern.pattern, subject)
        return inner if pattern.name is None else {**inner, pattern.name: subject}
    if isinstance(pattern, gast.MatchSequence):
        found: dict[str, Any] = {}
        for index, inner_pattern in enumerate(pattern.patterns):
            found |= _captures(inner_pattern, subject and _item(subject, index, inner_pattern))
        return found
    return {}


class _Substitution(gast.NodeTransformer):  # type: ignore[misc]
    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def visit_Name(self, node: Any) -> Any:
        return self.values.get(node.id, node) if isinstance(node.ctx, gast.Load) else node


def _substitute(guard: Any, captured: dict[str, Any]) -> Any:
    """The guard with each captured name replaced by its expression; the original is not changed."""
    return _Substitution(captured).visit(_copy(guard)) if captured else guard


def _copy(node: Any) -> Any:
    if isinstance(node, list):
        return [_copy(item) for item in node]
    if not isinstance(node, gast.AST):
        return node
    cls: Any = type(node)
    made = cls.__new__(cls)
    made.__dict__.update({name: _copy(value) for name, value in vars(node).items()})
    return made
