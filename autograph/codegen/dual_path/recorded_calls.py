"""What a function calls, where calls are all that conversion changes in it: `unchanged_callees.py` asks for that."""
from __future__ import annotations

import inspect
from types import CodeType
from typing import Any

import gast

from autograph.analysis.scopes import mangled, scan
from autograph.codegen.dual_path.branch_tests import operator_of
from autograph.codegen.dual_path.callee_lookup import ASKING, LEFT
from autograph.codegen.dual_path.unchanged_callees import CALLS, Asked
from autograph.frontend.tree import body_of, own_nodes, walk

__all__ = ["calls_made"]

_RUNS_LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def calls_made(function: Any, original: CodeType, class_name: str | None) -> tuple[Any, ...] | None:
    """The constant for the code of a converted function (a tree that the passes left): each `standing.Asked` that it
    makes; None if conversion changes more than calls, or one of another kind is among them."""
    if original.co_flags & _RUNS_LATER:  # perhaps while a backend traces
        return None
    body = body_of(function)
    operators = [n for s in body for n in walk(s) if isinstance(n, gast.Call) and operator_of(n) is not None]
    if any(operator_of(n) != "call" for n in operators):
        return None
    calls = [n for n in own_nodes(body) if isinstance(n, gast.Call) and isinstance(n.func, gast.Call)]
    calls = [n for n in calls if operator_of(n.func) == "call"]
    if not calls or len(calls) != len(operators):  # one is in a function made here
        return None
    first = original.co_varnames[0] if original.co_argcount else ""
    if first in original.co_cellvars or first in scan(*body).binds:
        first = ""
    own = {*original.co_varnames, *original.co_cellvars, *original.co_freevars}
    found: dict[tuple[Any, ...], None] = {}
    for call in calls:
        if isinstance(getattr(call.func.args[0], "value", None), (gast.Constant, gast.JoinedStr)):
            continue  # a method of a type written in C
        asked = _asked(call, first, own, class_name)
        if asked is None:
            return None
        found[tuple(asked)] = None
    return (CALLS, *found)


def _asked(call: Any, first: str, own: set[str], class_name: str | None) -> Asked | None:
    callee = call.func.args[0]
    passes = bool(first and call.args) and isinstance(call.args[0], gast.Name) and call.args[0].id == first
    if isinstance(callee, gast.Name):
        if callee.id == first:
            return Asked("self", "", "", passes)
        if callee.id in own or callee.id in ASKING:
            return None
        return Asked("builtin" if callee.id in LEFT else "name", callee.id, "", passes)
    if not isinstance(callee, gast.Attribute):
        return None
    holder, attribute = callee.value, mangled(callee.attr, class_name)
    if getattr(holder, "bare_super", False):
        return Asked("super", "", attribute, passes) if first else None
    if not isinstance(holder, gast.Name):
        return None
    if holder.id == first:
        return Asked("self", "", attribute, passes)
    return None if holder.id in own else Asked("class", holder.id, attribute, passes)
