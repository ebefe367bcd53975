"""From ast to gast: the result of `gast.ast_to_gast` in half of its time."""
from __future__ import annotations

import ast
from typing import Any

import gast

__all__ = ["to_gast"]

_FIELDS: dict[type, tuple[Any, tuple[str, ...]]] = {}
_CONTEXTS: dict[Any, Any] = {ast.Load: gast.Load(), ast.Store: gast.Store(), ast.Del: gast.Del()}
_PARAM = gast.Param()
_AST = ast.AST
_new = ast.AST.__new__


def to_gast(node: Any) -> Any:
    """The gast tree of an ast. Fields that only newer Pythons have, such as type parameters, are empty lists on older
    ones."""
    cls = node.__class__
    source = node.__dict__
    fields = source.copy()  # with the position
    if cls is ast.Name:
        fields["ctx"] = _CONTEXTS[fields["ctx"].__class__]
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
        found = _FIELDS[cls] = target, target._fields
    target, names = found
    for name in names:
        value = source.get(name)
        if value.__class__ is list:
            value = [to_gast(item) if isinstance(item, _AST) else item for item in value]
        elif isinstance(value, _AST):
            value = to_gast(value)
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
