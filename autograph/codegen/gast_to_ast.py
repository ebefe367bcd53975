"""From gast, which the passes work on, to the ast of the running Python version, which is compiled."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import gast

from autograph.frontend.tree import placed

__all__ = ["to_ast"]

_FIELDS: dict[type, tuple[type[ast.AST], tuple[str, ...]]] = {}
"""By gast node class: the ast class and its fields."""
_SINGLE: dict[type, ast.AST] = {
    cls: getattr(ast, cls.__name__)()
    for kind in (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
    for name in (sub.__name__ for sub in kind.__subclasses__()) if (cls := getattr(gast, name, None)) is not None
}
"""Contexts and operators: one node serves all places."""
_SINGLE[gast.Param] = ast.Load()


def to_ast(node: Any) -> Any:
    """The ast of a tree that the passes produced, with the positions of its nodes."""
    cls = node.__class__
    return _METHODS.get(cls, _generic)(node)


def _fields(cls: type) -> tuple[type[ast.AST], tuple[str, ...]]:
    target: type[ast.AST] = getattr(ast, cls.__name__)
    found = _FIELDS[cls] = target, target._fields
    return found


def _generic(node: Any) -> Any:
    target, names = _FIELDS.get(node.__class__) or _fields(node.__class__)
    made: Any = target.__new__(target)  # every field is set below
    source, fields = node.__dict__, made.__dict__
    for name in names:
        value = source.get(name)
        if value.__class__ in _SINGLE:
            value = _SINGLE[value.__class__]
        elif value.__class__ is list:
            value = [to_ast(v) if isinstance(v, gast.AST) else v for v in value]
        elif isinstance(value, gast.AST):
            value = to_ast(value)
        fields[name] = value
    if "lineno" in source:
        fields["lineno"], fields["col_offset"] = source["lineno"], source["col_offset"]
        fields["end_lineno"], fields["end_col_offset"] = node.end_lineno, node.end_col_offset
    return made


def _name(node: Any) -> Any:
    if isinstance(node.ctx, gast.Param):
        annotation = node.annotation and to_ast(node.annotation)
        return placed(ast.arg, node, arg=node.id, annotation=annotation, type_comment=node.type_comment)
    return placed(ast.Name, node, id=node.id, ctx=_SINGLE[node.ctx.__class__])


def _constant(node: Any) -> Any:
    runs = getattr(node, "runs", None)
    if runs is not None:  # a branch that only passes, see `functionalize`
        return placed(ast.Name, node, id=runs, ctx=_SINGLE[gast.Load])
    return placed(ast.Constant, node, value=node.value, kind=node.kind)


def _handler(node: Any) -> Any:
    return placed(ast.ExceptHandler, node, type=node.type and to_ast(node.type), name=node.name and node.name.id,
                  body=[to_ast(s) for s in node.body])


_METHODS: dict[type, Callable[[Any], Any]] = {
    gast.Name: _name, gast.Constant: _constant, gast.ExceptHandler: _handler,
}
