"""From ast to gast: what `gast.ast_to_gast` gives, in half of its time."""
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
    """The gast of an ast. What only newer Pythons have, type parameters, is an empty list on older ones."""
    cls = node.__class__
    source = node.__dict__
    if cls is ast.Name:
        made = _made(gast.Name, source)
        made.__dict__.update(id=source["id"], ctx=_CONTEXTS[source["ctx"].__class__], annotation=None,
                             type_comment=None)
        return made
    if cls is ast.Constant:
        made = _made(gast.Constant, source)
        made.__dict__.update(value=source["value"], kind=source.get("kind"))
        return made
    if cls is ast.arg:
        annotation = source.get("annotation")
        made = _made(gast.Name, source)
        made.__dict__.update(id=source["arg"], ctx=_PARAM, annotation=annotation and to_gast(annotation),
                             type_comment=source.get("type_comment"))
        return made
    found = _FIELDS.get(cls)
    if found is None:
        target = getattr(gast, cls.__name__, None)
        if target is None:
            return gast.ast_to_gast(node)
        found = _FIELDS[cls] = target, target._fields
    target, names = found
    made = _made(target, source)
    fields = made.__dict__
    for name in names:
        value = source.get(name)
        if value.__class__ is list:
            value = [to_gast(item) if isinstance(item, _AST) else item for item in value]
        elif isinstance(value, _AST):
            value = to_gast(value)
        fields[name] = value
    if cls is ast.ExceptHandler and made.name:
        made.name = gast.Name(made.name, gast.Store(), None, None)
    elif fields.get("type_params", ()) is None:
        made.type_params = []
    return made


def _made(target: Any, source: dict[str, Any]) -> Any:
    made = _new(target)
    if "lineno" in source:
        fields = made.__dict__
        fields["lineno"], fields["col_offset"] = source["lineno"], source["col_offset"]
        fields["end_lineno"], fields["end_col_offset"] = source["end_lineno"], source["end_col_offset"]
    return made
