"""`match` as a chain of `if`s on its subject, which may be staged."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Set
from typing import Any

import gast

from autograph.analysis.scopes import scan
from autograph.frontend.tree import at
from autograph.passes.thunks import bind, lazy, load, operator_call

__all__ = ["match_chain"]

Body = list[Any]
Subject = Callable[[], Any]
"""Makes the expression of a subject, or of a part of one: each use of it is a tree of its own."""

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
        whole = functools.partial(load, subject, origin)
        captured, tests = _captures(case.pattern, whole), _tests(case.pattern, whole)
        body = case.body
        if case.guard is not None and not live.isdisjoint(captured):
            binds = [bind(name, value(), origin) for name, value in captured.items()]
            bound = at(gast.Tuple([*binds, case.guard], gast.Load()), origin)
            last = _constant(len(binds), origin)
            tests.append(at(gast.Subscript(bound, last, gast.Load()), origin))
        else:
            if case.guard is not None:
                tests.append(_substitute(case.guard, captured))
            body = [_assign(name, value(), origin) for name, value in captured.items()] + body
        live |= scan(*([case.guard] if case.guard is not None else []), *case.body).reads - captured.keys()
        if not tests:
            rest = [_invisible(origin), *body]
            continue
        if depth == _DEPTH:
            more, place = flag(), rest[0].test
            flags.append(_assign(more, _constant(False, node.subject), node.subject))
            later.insert(0, _if(load(more, place), rest, [], place))
            rest, depth = [_assign(more, _constant(True, place), place)], 0
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


def _tests(pattern: Any, subject: Subject) -> list[Any]:
    """The conditions for the pattern to match, in the order in which Python tests them."""
    return _TESTS[type(pattern)](pattern, subject)


def _test_singleton(pattern: Any, subject: Subject) -> list[Any]:
    if pattern.value is None:
        return [operator_call("is_none", [subject()], pattern)]
    return [operator_call("is_bool", [subject(), _constant(pattern.value, pattern)], pattern)]


def _test_alternatives(pattern: Any, subject: Subject) -> list[Any]:
    first, *others = [_all(_tests(p, subject), p) for p in pattern.patterns]
    return [operator_call("or_", [first, *map(lazy, others)], pattern)]


def _test_sequence(pattern: Any, subject: Subject) -> list[Any]:
    is_open = any(isinstance(p, gast.MatchStar) for p in pattern.patterns)
    length = _constant(len(pattern.patterns) - is_open, pattern)
    tests = [operator_call("is_sequence", [subject()], pattern)]
    if not is_open or length.value:
        tests.append(operator_call("has_length", [subject(), length, _constant(is_open, pattern)], pattern))
    return tests + _tests_of_parts(pattern, subject)


def _test_mapping(pattern: Any, subject: Subject) -> list[Any]:
    tests = [operator_call("is_mapping", [subject(), *map(_copy, pattern.keys)], pattern)]
    tests += [operator_call("in_", [_copy(key), subject()], key) for key in pattern.keys]
    return tests + _tests_of_parts(pattern, subject)


def _test_class(pattern: Any, subject: Subject) -> list[Any]:
    before = _constant(len(pattern.patterns), pattern)
    tests = [operator_call("is_class", [subject(), _copy(pattern.cls)], pattern)]
    for place in reversed(range(len(pattern.patterns))):  # the last one tells whether there are too many
        tests.append(operator_call("has_part", [subject(), _copy(pattern.cls), _constant(place, pattern)], pattern))
    for name in pattern.kwd_attrs:
        arguments = [subject(), _copy(pattern.cls), _constant(name, pattern), before]
        tests.append(operator_call("has_part", arguments, pattern))
    return tests + _tests_of_parts(pattern, subject)


def _tests_of_parts(pattern: Any, subject: Subject) -> list[Any]:
    return [test for inner, part in _parts(pattern, subject) for test in _tests(inner, part)]


_TESTS: dict[type, Callable[[Any, Subject], list[Any]]] = {
    gast.MatchValue: lambda p, subject: [at(gast.Compare(subject(), [gast.Eq()], [_copy(p.value)]), p)],
    gast.MatchSingleton: _test_singleton,
    gast.MatchOr: _test_alternatives,
    gast.MatchAs: lambda p, subject: [] if p.pattern is None else _tests(p.pattern, subject),
    gast.MatchStar: lambda p, subject: [],
    gast.MatchSequence: _test_sequence,
    gast.MatchMapping: _test_mapping,
    gast.MatchClass: _test_class,
}


def _parts(pattern: Any, subject: Subject) -> Iterator[tuple[Any, Subject]]:
    """The patterns in a sequence, mapping or class pattern, each with the part of the subject that it is for."""
    if isinstance(pattern, gast.MatchMapping):
        for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
            yield inner, _item(subject, key)
    elif isinstance(pattern, gast.MatchClass):
        inners = (*pattern.patterns, *pattern.kwd_patterns)
        for inner, part in zip(inners, (*range(len(pattern.patterns)), *pattern.kwd_attrs), strict=True):
            yield inner, _call(inner, "matched_part", subject, pattern.cls, _constant(part, inner))
    else:
        count = len(pattern.patterns)
        star = next((i for i, p in enumerate(pattern.patterns) if isinstance(p, gast.MatchStar)), count)
        for i, inner in enumerate(pattern.patterns):
            if i == star:
                ends = _constant(i, inner), _constant(count - 1 - i, inner)
                yield inner, _call(inner, "matched_items", subject, *ends)
            else:
                yield inner, _item(subject, _constant(i if i < star else i - count, inner))


def _all(tests: list[Any], origin: Any) -> Any:
    if not tests:
        return _constant(True, origin)
    first, *others = tests
    return operator_call("and_", [first, *map(lazy, others)], origin) if others else first


def _constant(value: Any, origin: Any) -> Any:
    return at(gast.Constant(value, None), origin)


def _item(subject: Subject, key: Any) -> Subject:
    return lambda: at(gast.Subscript(subject(), _copy(key), gast.Load()), key)


def _call(origin: Any, operator: str, subject: Subject, *arguments: Any) -> Subject:
    return lambda: operator_call(operator, [subject(), *map(_copy, arguments)], origin)


def _captures(pattern: Any, subject: Subject) -> dict[str, Subject]:
    """The names that a pattern binds, each with the expression of its value."""
    if isinstance(pattern, gast.MatchOr):
        return _captures_of_alternatives(pattern.patterns, subject)
    if isinstance(pattern, gast.MatchAs):
        inner = {} if pattern.pattern is None else _captures(pattern.pattern, subject)
        return inner if pattern.name is None else {**inner, pattern.name: subject}
    if isinstance(pattern, gast.MatchStar):
        return {} if pattern.name is None else {pattern.name: subject}
    found: dict[str, Subject] = {}
    if isinstance(pattern, (gast.MatchSequence, gast.MatchMapping, gast.MatchClass)):
        for inner_pattern, part in _parts(pattern, subject):
            found |= _captures(inner_pattern, part)
    if isinstance(pattern, gast.MatchMapping) and pattern.rest is not None:
        found[pattern.rest] = _call(pattern, "matched_rest", subject, *pattern.keys)
    return found


def _captures_of_alternatives(patterns: list[Any], subject: Subject) -> dict[str, Subject]:
    """The captures of the first of several patterns that matches; one does."""
    first, *others = patterns
    found = _captures(first, subject)
    if not (others and found):
        return found
    rest = _captures_of_alternatives(others, subject)

    def choice(name: str) -> Subject:
        return lambda: operator_call(
            "if_exp", [_all(_tests(first, subject), first), lazy(found[name]()), lazy(rest[name]())], first)

    return {name: choice(name) for name in found}


class _Substitution(gast.NodeTransformer):  # type: ignore[misc]
    def __init__(self, values: dict[str, Subject]) -> None:
        self.values = values

    def visit_Name(self, node: Any) -> Any:
        return self.values[node.id]() if node.id in self.values and isinstance(node.ctx, gast.Load) else node


def _substitute(guard: Any, captured: dict[str, Subject]) -> Any:
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
