"""From ast to gast: the result of `gast.ast_to_gast` in half the time."""
from __future__ import annotations

import ast
from typing import Any

import gast

__all__ = ["to_gast"]

_AST = ast.AST
_FIELDS: dict[type, tuple[Any, tuple[str, ...]]] = {}
"""By ast node class: the gast class, and its fields that may hold nodes or that older Pythons lack."""
_NO_NODES = frozenset({"id", "attr", "kind", "level", "type_comment", "conversion", "simple"})
_SINGLE: dict[Any, Any] = {
    cls: getattr(gast, cls.__name__)()
    for kind in (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
    for cls in kind.__subclasses__() if hasattr(gast, cls.__name__) and cls.__module__ == _AST.__module__
}
"""Contexts and operators: one shared node serves all places."""
_PARAM = gast.Param()
_new = ast.AST.__new__


def to_gast(node: Any) -> Any:
    """The gast tree of an ast. Fields that only newer Pythons have, such as type parameters, are empty lists on older
    ones."""
    cls = node.__class__
    source = node.__dict__
    fields = source.copy()  # with the position
    if cls is ast.Name:
        fields["ctx"] = _SINGLE[fields["ctx"].__class__]
        fields["annotation"] = fields["type_comment"] = None
        return _made(gast.Name, fields)
    if cls is ast.Constant:
        fields.setdefault("kind")
        return _made(gast.Constant, fields)
    if cls is ast.arg:
        annotation = source.get("annotation")
        fields.update(id=fields.pop("arg"), ctx=_PARAM, annotation=annotation and to_gast(annotation),
                      type_comment=source.get("type_comment"))
        return _made(gast.Name, fields)
    found = _FIELDS.get(cls)
    if found is None:
        target = getattr(gast, cls.__name__, None)
        if target is None:
            return gast.ast_to_gast(node)
        found = _FIELDS[cls] = target, tuple(name for name in target._fields if name not in _NO_NODES)
    target, names = found
    for name in names:
        value = source.get(name)
        if value.__class__ is list:
            fields[name] = [_SINGLE.get(item.__class__) or to_gast(item) if isinstance(item, _AST) else item
                            for item in value]
        elif isinstance(value, _AST):
            fields[name] = _SINGLE.get(value.__class__) or to_gast(value)
        else:
            fields[name] = value
    if cls is ast.ExceptHandler and fields["name"]:
        fields["name"] = gast.Name(fields["name"], gast.Store(), None, None)
    elif fields.get("type_params", ()) is None:
        fields["type_params"] = []
    return _made(target, fields)


def _made(target: Any, fields: dict[str, Any]) -> Any:
    made = _new(target)
    made.__dict__ = fields
    return made
