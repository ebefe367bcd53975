"""Comprehensions and generator expressions become operators: an iterable, and functions for the item and the test.

    [f(x) for x in xs if x > 0]           ag__.list_comp(xs, lambda x: f(x), lambda x: x > 0)
    [f(x) for x in xs]                    ag__.each(xs, lambda x: f(x)), as a statement
    {k: v for k, v in pairs}              ag__.dict_comp(pairs, lambda k, v: (k, v))
    sum(x * y for x in xs for y in ys)    sum(ag__.gen_exp(xs, lambda x: ag__.nested(ys, lambda y: x * y)))

In the operator form each item has its own variables, so a comprehension that defines functions to be called later stays
Python; so does one that contains `await`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from autograph.analysis.scopes import Scope, free_names, scan
from autograph.analysis.staging_candidates import never_tensor
from autograph.core.versions import INLINES_COMPREHENSIONS
from autograph.frontend.tree import FUNCTIONS, at, children, suspends, walk
from autograph.passes.thunks import lambda_of, load, noting, operator_call, walrus_names

__all__ = ["comprehension", "has_frame"]

_OPERATORS = {
    gast.ListComp: "list_comp", gast.SetComp: "set_comp", gast.DictComp: "dict_comp", gast.GeneratorExp: "gen_exp",
}
_FRAMES = {
    **{operator: None if INLINES_COMPREHENSIONS else name for operator, name in (
        ("list_comp", "<listcomp>"), ("set_comp", "<setcomp>"), ("dict_comp", "<dictcomp>"))}, "gen_exp": "<genexpr>"}
"""The name that Python gives the frame of a comprehension, if it has one."""
_LITERALS = (gast.Tuple, gast.List, gast.Set, gast.Dict, gast.Constant)


def has_frame(node: Any) -> bool:
    """Whether Python runs a comprehension in a frame of its own."""
    return not INLINES_COMPREHENSIONS or isinstance(node, gast.GeneratorExp)


def comprehension(
    node: Any, scope: Scope, has_no_cell: Callable[[set[str]], bool], visit: Callable[[Any], Any]
) -> Any:
    """The operator call for a comprehension, or the comprehension itself; `visit` converts its parts. `has_no_cell`:
    whether a nested function cannot assign one of these names."""
    stays = _stays(node, has_no_cell)
    clauses = node.generators
    for clause in clauses:
        clause.iter, clause.ifs = visit(clause.iter), [visit(test) for test in clause.ifs]
    if isinstance(node, gast.DictComp):
        node.key, node.value = visit(node.key), visit(node.value)
        value: Any = at(gast.Tuple([node.key, node.value], gast.Load()), node.key)
    else:
        value = node.elt = visit(node.elt)
    if stays:
        return node
    operator = _OPERATORS[type(node)]

    def function(target: Any, body: Any) -> Any:
        if scope.written and scan(body).calls:
            body = noting(body, scope.written)
        made = _function(target, body, scope)
        made.late, made.frame_name = operator == "gen_exp", _FRAMES[operator]
        return made

    for clause in reversed(clauses):
        arguments = [clause.iter, function(clause.target, value)]
        if clause.ifs:
            first, *others = clause.ifs
            test = operator_call("and_", [first, *(lambda_of((), o, o) for o in others)], node) if others else first
            arguments.append(function(clause.target, test))
        value = operator_call("nested", arguments, node)
    value.func.attr = operator
    return value


def _stays(node: Any, has_no_cell: Callable[[set[str]], bool]) -> bool:
    """Whether a comprehension stays Python. Called before its parts are converted."""
    clauses = node.generators
    dynamic = len(clauses) > 1 or any(not never_tensor(test) for clause in clauses for test in clause.ifs)
    acts = _is_generator(node) and _may_act(node.elt)
    literals = [isinstance(clause.iter, _LITERALS) and not acts for clause in clauses]
    stays = (
        suspends(node) or (all(literals) and not any(clause.ifs for clause in clauses)) or (literals[0] and not dynamic)
        or has_no_cell(walrus_names(node))
        or not all(_is_simple(clause.target) for clause in clauses) or _made_to_be_called_later(node)
    )
    return bool(stays)


def _function(target: Any, body: Any, scope: Scope, later: frozenset[str] = frozenset()) -> Any:
    """`lambda target: body`. A nested tuple is unpacked by a call: `(lambda a: body)(*ag__.unpack(item_, 1))`. If a
    name occurs several times in the target, or again in `later`, its last occurrence is the one bound."""
    elements = [target] if isinstance(target, gast.Name) or len(target.elts) == 1 else target.elts
    parameters: list[str] = []
    for index, element in enumerate(elements):
        following = later.union(*(scan(e).binds for e in elements[index + 1:]))
        if isinstance(element, gast.Name):
            parameters.append(scope.fresh("item_", parameters) if element.id in following else element.id)
            continue
        item = scope.fresh("item_", parameters)
        parameters.append(item)
        inner = _function(element if len(element.elts) > 1 else element.elts[0], body, scope, following)
        count = at(gast.Constant(len(element.elts), None), element)
        parts = operator_call("unpack", [load(item, element), count], element)
        body = at(gast.Call(inner, [at(gast.Starred(parts, gast.Load()), element)], []),
                                  body)
    return lambda_of(parameters, body, target)


def _is_simple(target: Any) -> bool:
    if isinstance(target, (gast.Tuple, gast.List)):
        elements = target.elts
        return bool(elements) and all(map(_is_simple, elements)) and (
            len(elements) > 1 or isinstance(elements[0], gast.Name))
    return isinstance(target, gast.Name)


def _made_to_be_called_later(node: Any) -> bool:
    targets = set().union(*(scan(clause.target).binds for clause in node.generators))
    parts = [part for part in children(node) if not isinstance(part, gast.comprehension)]
    parts += [test for clause in node.generators for test in clause.ifs]
    parts += [clause.iter for clause in node.generators[1:]]
    return any(_captures(part, targets) for part in parts)


def _captures(node: Any, names: set[str]) -> bool:
    """Whether a function or generator defined in an expression, which runs later than the expression, uses one of the
    names."""
    if isinstance(node, FUNCTIONS) and not getattr(node, "immediate", False):
        return not names.isdisjoint(free_names(node))
    if isinstance(node, gast.GeneratorExp) and not names.isdisjoint(scan(node).captured):
        return True
    below = children(node)
    if isinstance(node, gast.Call):  # a generator argument is most likely consumed by the call
        below = [part for child in below for part in (children(child) if _is_generator(child) else [child])]
    return any(_captures(child, names) for child in below)


def _may_act(node: Any) -> bool:
    """Whether an expression may have side effects or raise: then it matters which items a generator computes."""
    return any(not isinstance(each, _PURE) for each in walk(node))


_PURE = (gast.Name, gast.Constant, gast.Compare, gast.UnaryOp, gast.BoolOp, gast.Attribute)


def _is_generator(node: Any) -> bool:
    return isinstance(node, gast.GeneratorExp)
