"""Lazily evaluated operands as lambdas.

A walrus in a lambda would assign a variable of the lambda, so it becomes `ag__.bind(lambda: y, value)`, which stores
into the cell of `y`. `ag__.note(value, lambda: k)` declares the variables that nested functions may assign while an
operand runs, as its text does not show them.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gast

from autograph.frontend.tree import FUNCTIONS, bound_to_frame, children, outside, placed

__all__ = [
    "AG", "bind", "bound_in_lambdas", "lambda_of", "lazy", "load", "noting", "operator_call", "parameters_for",
    "walrus_names",
]

AG = "ag__"
_LOAD, _PARAM = gast.Load(), gast.Param()
_new = gast.AST.__new__


def load(name: str, origin: Any) -> Any:
    return _name(name, _LOAD, origin)


def _name(name: str, ctx: Any, origin: Any) -> Any:
    """`placed` for names, the most frequent nodes, faster."""
    place = origin.__dict__
    made = _new(gast.Name)
    made.__dict__ = {
        "id": name, "ctx": ctx, "annotation": None, "type_comment": None, "lineno": place["lineno"],
        "col_offset": place["col_offset"], "end_lineno": place["end_lineno"], "end_col_offset": place["end_col_offset"],
    }
    return made


def operator_call(operator: str, arguments: list[Any], origin: Any, keywords: list[Any] | None = None) -> Any:
    """`ag__.operator(arguments)` at the position of `origin`."""
    operators = load(AG, origin)
    operators.is_operators = True
    function = placed(gast.Attribute, origin, value=operators, attr=operator, ctx=_LOAD)
    # The compiler gives a call of an attribute the line where the attribute ends.
    function.end_lineno, function.end_col_offset = function.lineno, function.col_offset
    return placed(gast.Call, origin, func=function, args=arguments, keywords=keywords or [])


def is_operator(node: Any, name: str) -> bool:
    """Whether it is a call of the operator of that name."""
    return isinstance(node, gast.Call) and getattr(getattr(node.func, "value", None), "is_operators", False) and (
        node.func.attr == name)


def lambda_of(parameters: Iterable[str], body: Any, origin: Any) -> Any:
    """`lambda parameters: body`, marked as made by conversion."""
    body = _bind(body) if bound_to_frame(body) else body
    return placed(gast.Lambda, body, args=parameters_for(parameters, origin), body=body, immediate=True)


def parameters_for(names: Iterable[str], origin: Any) -> Any:
    """Parameters with these names, for a function made by conversion."""
    made = gast.arguments.__new__(gast.arguments)
    made.__dict__ = {
        "args": [_name(n, _PARAM, origin) for n in names],
        "posonlyargs": [], "vararg": None, "kwonlyargs": [], "kw_defaults": [], "kwarg": None, "defaults": [],
    }
    return made


def lazy(body: Any) -> Any:
    """`lambda: body`, evaluated at once or never."""
    return lambda_of((), body, body)


def noting(body: Any, names: Iterable[str]) -> Any:
    """`body`, with a declaration of the variables that its callees may assign."""
    getters = [_getter(name, body) for name in sorted(names)]
    if not getters:
        return body
    return operator_call("note", [body, *getters], body)


def walrus_names(*nodes: Any) -> set[str]:
    """The names that a walrus in these expressions assigns, in the scope that the expressions are in."""
    found: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, gast.NamedExpr):
            found.add(node.target.id)
        is_function = isinstance(node, FUNCTIONS) and not getattr(node, "immediate", False)
        stack += outside(node) if is_function else children(node)
    return found


def bound_in_lambdas(body: Iterable[Any]) -> set[str]:
    """The variables that `ag__.bind` assigns in these statements, except in nested functions; the converted text has to
    declare them."""
    found: set[str] = set()
    stack = list(body)
    while stack:
        node = stack.pop()
        found.add(getattr(node, "binds", ""))
        is_scope = isinstance(node, (*FUNCTIONS, gast.ClassDef)) and not getattr(node, "immediate", False)
        stack += outside(node) if is_scope else children(node)
    return found - {""}


def bind(name: str, value: Any, origin: Any) -> Any:
    """`(name := value)` in a lambda."""
    call = operator_call("bind", [_getter(name, origin), value], origin)
    call.binds = name
    return call


def _getter(name: str, origin: Any) -> Any:
    return placed(gast.Lambda, origin, args=parameters_for((), origin), body=load(name, origin), immediate=True)


def _bind(node: Any) -> Any:
    """The expression with each walrus in its own scope replaced by `ag__.bind`."""
    if not isinstance(node, gast.AST):
        return node
    if isinstance(node, FUNCTIONS):
        for defaults in (node.args.defaults, node.args.kw_defaults):
            defaults[:] = map(_bind, defaults)
        return node
    for name, value in gast.iter_fields(node):
        if isinstance(value, list):
            value[:] = [_bind(item) for item in value]
        elif isinstance(value, gast.AST):
            setattr(node, name, _bind(value))
    return bind(node.target.id, node.value, node) if isinstance(node, gast.NamedExpr) else node
