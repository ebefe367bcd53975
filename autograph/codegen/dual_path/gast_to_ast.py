"""From gast to ast, node by node: what is the same for all nodes. `statements.py` and
`expressions.py` have what is not.

A node becomes one node of each lane; a name or constant is the same node in all.
"""
from __future__ import annotations

import ast
from typing import Any

import gast

from autograph.codegen.dual_path.branch_tests import LOAD, STAGED, STORE, Decisions, constant_at, name_at, no_parameters
from autograph.frontend.tree import placed

__all__ = ["Remaking", "single"]

_FIELDS: dict[type, tuple[type[ast.AST], tuple[str, ...]]] = {}
_METHODS: dict[type, Any] = {}
"""By the type of a node, the method for it."""
_AST, _NAME, _CONSTANT = gast.AST, gast.Name, gast.Constant
_CONTEXTS = {gast.Load: LOAD, gast.Store: STORE, gast.Del: ast.Del()}
_SINGLE: dict[type, ast.AST] = {
    **_CONTEXTS,
    **{cls: getattr(ast, cls.__name__)() for kind in (ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
       for cls in kind.__subclasses__() if hasattr(gast, cls.__name__)},
}
"""Contexts and operators, one node for all places."""


def single(node: Any) -> Any:
    """What a context or operator becomes."""
    return _SINGLE[node.__class__]


def _fields(cls: type) -> tuple[type[ast.AST], tuple[str, ...]]:
    target: type[ast.AST] = getattr(ast, cls.__name__)
    found = _FIELDS[cls] = target, target._fields
    return found


class Remaking(Decisions):
    """What visits the nodes of a tree; a method `visit_X` is for those of class X."""

    def __init__(self, operators: str) -> None:
        self.operators = operators
        self.memo: tuple[dict[int, Any], ...] = {}, {}, {}
        """By lane and id of a node, what it became."""
        self.named: dict[str, Any] = {}
        """The names that are read `named_at` a place: the places of a test are one after the other."""
        self.named_at: Any = None

    def block(self, body: list[Any], lane: int) -> list[Any]:
        raise NotImplementedError

    def again(self, node: Any, made: Any) -> Any:
        """What stands for a function, which became `made`, where it comes again."""
        raise NotImplementedError

    def visit(self, node: Any, lane: int) -> Any:
        """What a node becomes in a lane."""
        cls = node.__class__
        memo = self.memo[STAGED if cls is _NAME or cls is _CONSTANT else lane]  # which are the same in all
        found = memo.get(id(node))
        if found is None:
            method = _METHODS.get(cls)
            if method is None:
                method = _METHODS[cls] = getattr(type(self), f"visit_{cls.__name__}", Remaking.generic)
            found = memo[id(node)] = method(self, node, lane)
        elif cls is gast.FunctionDef:
            return self.again(node, found)
        return found

    def generic(self, node: Any, lane: int, skip: str = "") -> Any:
        """The same node of ast, but for the field `skip`, with all below it visited."""
        target, names = _FIELDS.get(node.__class__) or _fields(node.__class__)
        made: Any = target.__new__(target)  # every field is set below
        source, fields = node.__dict__, made.__dict__
        for name in names:
            value = source.get(name)
            if name == skip or value is None:
                pass
            elif value.__class__ in _SINGLE:
                value = _SINGLE[value.__class__]
            elif value.__class__ is list:
                if value and isinstance(value[0], gast.stmt):
                    value = self.block(value, lane)
                else:
                    value = [self.visit(v, lane) if isinstance(v, _AST) else v for v in value]
            elif isinstance(value, _AST):
                value = self.visit(value, lane)
            fields[name] = value
        if "lineno" in source:
            fields["lineno"], fields["col_offset"] = source["lineno"], source["col_offset"]
            fields["end_lineno"], fields["end_col_offset"] = node.end_lineno, node.end_col_offset
        return made

    def visit_Name(self, node: Any, lane: int) -> Any:
        if isinstance(node.ctx, gast.Param):
            annotation = node.annotation and self.visit(node.annotation, STAGED)
            return placed(ast.arg, node, arg=node.id, annotation=annotation, type_comment=node.type_comment)
        return name_at(node.id, _CONTEXTS[node.ctx.__class__], node)

    def visit_Constant(self, node: Any, lane: int) -> Any:
        runs = getattr(node, "runs", None)
        if runs is not None:
            return name_at(runs, LOAD, node)
        return constant_at(node.value, node, node.kind)

    def visit_Attribute(self, node: Any, lane: int) -> Any:
        return placed(ast.Attribute, node, value=self.visit(node.value, lane), attr=node.attr,
                      ctx=_SINGLE[node.ctx.__class__])

    def visit_BinOp(self, node: Any, lane: int) -> Any:
        return placed(ast.BinOp, node, left=self.visit(node.left, lane), op=_SINGLE[node.op.__class__],
                      right=self.visit(node.right, lane))

    def visit_AugAssign(self, node: Any, lane: int) -> Any:
        return placed(ast.AugAssign, node, target=self.visit(node.target, lane), op=_SINGLE[node.op.__class__],
                      value=self.visit(node.value, lane))

    def visit_Compare(self, node: Any, lane: int) -> Any:
        ops = [_SINGLE[op.__class__] for op in node.ops]
        return placed(ast.Compare, node, left=self.visit(node.left, lane), ops=ops,
                      comparators=[self.visit(c, lane) for c in node.comparators])

    def visit_arguments(self, node: Any, lane: int) -> Any:
        if node.args or node.posonlyargs or node.kwonlyargs or node.vararg is not None or node.kwarg is not None:
            return self.generic(node, lane)
        return no_parameters()

    def visit_ExceptHandler(self, node: Any, lane: int) -> Any:
        made = self.generic(node, lane, skip="name")
        made.name = node.name and node.name.id
        return made

    def name(self, name: str, origin: Any, store: bool = False) -> Any:
        if store:
            return name_at(name, STORE, origin)
        if origin is not self.named_at:
            self.named_at, self.named = origin, {}
        found = self.named.get(name)
        if found is None:
            found = self.named[name] = name_at(name, LOAD, origin)
        return found

    def assign(self, name: str, value: Any, origin: Any) -> Any:
        return placed(ast.Assign, origin, targets=[self.name(name, origin, True)], value=value)

    def release(self, name: str, target: Any) -> Any:
        """Let go of what a temporary holds, on the line of the target that it was assigned to."""
        return self.assign(name, placed(ast.Constant, target, value=None), target)
