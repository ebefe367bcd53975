"""From gast, which the passes work on, to the ast of the running Python version, which can be compiled."""
from __future__ import annotations

import ast
from typing import Any

import gast

__all__ = ["to_ast"]

_AST = ast.AST
_NODES: dict[type, tuple[type[ast.AST], tuple[str, ...]]] = {}
"""By gast node class: the ast class, and its fields that may hold nodes."""
_NO_NODES = frozenset({"id", "arg", "attr", "kind", "lineno", "type_comment", "level", "conversion", "simple"})
_SINGLE: dict[type, ast.AST] = {
    cls: getattr(ast, cls.__name__)()
    for kind in (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
    for name in (sub.__name__ for sub in kind.__subclasses__()) if (cls := getattr(gast, name, None)) is not None
}
"""Contexts and operators: one shared node serves all places."""
_LOAD = _SINGLE[gast.Load]


def to_ast(tree: Any) -> list[Any]:
    """Turn a tree produced by the passes into an ast, in place: nodes change their class. Returns all its nodes."""
    found = [tree]
    for node in found:
        cls = node.__class__
        fields = node.__dict__
        if cls is gast.Name:
            context = fields["ctx"].__class__
            if context is not gast.Param:
                node.__class__ = ast.Name
                fields["ctx"] = _SINGLE[context]
                continue
            node.__class__ = ast.arg
            fields["arg"] = fields["id"]
            if fields["annotation"] is not None:
                found.append(fields["annotation"])
            continue
        if cls is gast.Constant and "runs" in fields:  # a branch that only passes, see `functionalize`
            node.__class__ = ast.Name
            fields["id"], fields["ctx"] = fields["runs"], _LOAD
            continue
        if cls is gast.ExceptHandler and fields["name"] is not None:
            fields["name"] = fields["name"].id
        target, names = _NODES.get(cls) or _entry(cls)
        node.__class__ = target
        for name in names:
            value = fields.get(name)
            if value.__class__ is list:
                if name == "ops":
                    fields[name] = [_SINGLE[op.__class__] for op in value]
                else:
                    found += [item for item in value if isinstance(item, _AST)]
            elif value.__class__ in _SINGLE:
                fields[name] = _SINGLE[value.__class__]
            elif isinstance(value, _AST):
                found.append(value)
    return found


def _entry(cls: type) -> tuple[type[ast.AST], tuple[str, ...]]:
    target: type[ast.AST] = getattr(ast, cls.__name__)
    # A node that occurs twice in the tree has its new class already at the second visit.
    names = () if target is cls else tuple(name for name in target._fields if name not in _NO_NODES)
    found = _NODES[cls] = target, names
    return found
