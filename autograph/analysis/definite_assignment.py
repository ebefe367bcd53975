"""Definite assignment: which reads of a variable, attribute or item may find it unbound.

Where a staged branch assigns a variable, whether it is bound is known only when the graph runs, and Python raises where
it is read. Operations on the value check that themselves; reads that only copy it (`y = x`, `return x`, `f(x)`,
`del x`) do not, and are marked here. A superfluous mark costs only a call while a backend traces, so all attributes,
items and variables of enclosing functions are marked.
"""
from __future__ import annotations

from collections.abc import Set
from typing import Any

import gast

from autograph.analysis.scopes import Scope, scan
from autograph.analysis.staging_candidates import takes_item
from autograph.frontend.tree import COMPREHENSIONS, FUNCTIONS, LOOPS, TRIES, binds_name, children, outside, own_of

__all__ = ["mark_unsure"]

Sure = frozenset[str] | None
"""The variables that are assigned on all paths to a point; None for an unreachable point."""
_EMPTY: frozenset[str] = frozenset()

_ASKING = (gast.BinOp, gast.UnaryOp, gast.Compare, gast.Attribute, gast.Subscript, gast.FormattedValue, gast.AugAssign)
"""Nodes that check the variable that is their direct operand."""


def mark_unsure(function: Any, scope: Scope, around: Set[str]) -> None:
    """Set `unsure` on each name, attribute and item that a function reads without using it in an operation, or deletes,
    and that may be unbound there. `around`: the variables of enclosing functions."""
    ways = _Ways(function, scope.locals, (around - scope.locals - scope.globals) | scope.nonlocals)
    if isinstance(function, gast.Lambda):
        ways.reads(function.body, frozenset(scope.parameters))
    else:
        ways.block(function.body, frozenset(scope.parameters))


class _Ways:
    def __init__(self, function: Any, names: Set[str], free: Set[str]) -> None:
        self.names, self.free = names, free
        self.unbinds = any(n.__class__ in (gast.Delete, gast.ExceptHandler, gast.ClassDef) for n in own_of(function))
        self.breaks: list[list[Sure]] = []
        """For each enclosing loop: the variables definitely assigned at each `break`."""

    def block(self, body: list[Any], sure: Sure) -> Sure:
        for node in body:
            sure = self.statement(node, sure)
        return sure

    def statement(self, node: Any, sure: Sure) -> Sure:
        if sure is None:
            return None
        cls = type(node)
        if cls is gast.If:
            self.reads(node.test, sure, asks=True)
            return _both(self.block(node.body, sure), self.block(node.orelse, sure))
        if cls in LOOPS:
            return self.loop(node, sure)
        if cls in TRIES:
            return self.guard(node, sure)
        if cls is gast.With or cls is gast.AsyncWith:
            for item in node.items:
                self.reads(item.context_expr, sure)
                sure |= self.bound(item.optional_vars)
            self.block(node.body, sure)
            return sure - self.deleted(node.body)  # an error may end the body early, and the manager may swallow it
        if cls is gast.Match:
            self.reads(node.subject, sure)
            found: Sure = sure
            for case in node.cases:
                inner = sure | self.bound(case.pattern)
                self.reads(case.guard, inner, asks=True)
                found = _both(found, self.block(case.body, inner))
            return found
        if cls in FUNCTIONS or cls is gast.ClassDef:
            for part in outside(node):
                self.reads(part, sure)
            return sure | ({node.name} & self.names)
        if cls is gast.Delete:
            for target in node.targets:
                self.reads(target, sure)
            return sure - self.deleted([node])
        self.reads(node, sure)
        if cls is gast.Break:
            self.breaks[-1].append(sure)
        if cls in (gast.Break, gast.Continue, gast.Return, gast.Raise):
            return None
        return sure | self.bound(node)

    def loop(self, node: Any, sure: frozenset[str]) -> Sure:
        is_while = isinstance(node, gast.While)
        if not is_while:
            self.reads(node.iter, sure)
        sure -= self.deleted(node.body)
        if is_while:
            self.reads(node.test, sure, asks=True)
        self.breaks.append([])
        self.block(node.body, sure if is_while else sure | self.bound(node.target))
        breaks = self.breaks.pop()
        ends = is_while and isinstance(node.test, gast.Constant) and bool(node.test.value)
        found = None if ends else self.block(node.orelse, sure)
        for at_break in breaks:
            found = _both(found, at_break)
        return found

    def guard(self, node: Any, sure: frozenset[str]) -> Sure:
        found = self.block(node.orelse, self.block(node.body, sure))
        caught = sure - self.deleted(node.body)
        for handler in node.handlers:
            self.reads(handler.type, caught)
            own = set() if handler.name is None else {handler.name.id} & self.names
            ended = self.block(handler.body, caught | own)
            found = _both(found, None if ended is None else ended - own)
        before = caught - self.deleted([*node.handlers, *node.orelse])
        after = self.block(node.finalbody, before)
        if found is None or after is None:
            return None
        return (found - self.deleted(node.finalbody)) | (after - before)

    def bound(self, node: Any) -> Set[str]:
        """The variables that a statement without blocks, or a part of one, binds."""
        if node is None:
            return _EMPTY
        if not binds_name(node):
            if node.__class__ is gast.Expr:
                return _EMPTY
            if node.__class__ is gast.Assign and node.targets[0].__class__ is gast.Name and len(node.targets) == 1:
                return {node.targets[0].id} & self.names
        return scan(node).binds & self.names

    def deleted(self, nodes: list[Any]) -> frozenset[str]:
        """The variables that a `del` in these statements, or the end of a handler, unbinds."""
        if not self.unbinds:
            return _EMPTY
        stack, found = list(nodes), set()
        while stack:
            node = stack.pop()
            if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Del):
                found.add(node.id)
            if isinstance(node, gast.ExceptHandler) and node.name is not None:
                found.add(node.name.id)
            if isinstance(node, (gast.stmt, gast.ExceptHandler, gast.match_case)) and not isinstance(node, FUNCTIONS):
                stack += children(node)
        return frozenset(found & self.names)

    def reads(self, node: Any, sure: frozenset[str], asks: bool = False) -> None:
        """Mark the names in an expression or simple statement. `asks`: if it is a name, its use checks it, so it is not
        marked."""
        if node is None:
            return
        cls = node.__class__
        if cls is gast.Name:
            if not asks and node.id not in sure and (node.id in self.names or node.id in self.free) and (
                    not isinstance(node.ctx, (gast.Store, gast.Param))):
                node.unsure = True
            if node.annotation is None:
                return
        elif not asks and (cls is gast.Attribute or (cls is gast.Subscript and not takes_item(node))):
            if isinstance(node.ctx, gast.Load):
                node.unsure = True
        elif cls in COMPREHENSIONS:  # its variables are its own
            sure = sure.union(*(scan(g.target).binds for g in node.generators))
        asking = cls in _ASKING
        callee = node.func if cls is gast.Call else None
        for child in outside(node) if cls in FUNCTIONS else children(node):
            if child.__class__ is not gast.Constant:
                self.reads(child, sure, asking or child is callee)


def _both(one: Sure, other: Sure) -> Sure:
    return other if one is None else one if other is None else one & other
