"""Bodies that stand in several lanes: compiled once, where they come first.

Where a body comes again, a function stands in for it that takes the same variables from the scopes around and does
nothing. The docstrings of both tell which is which. In the compiled code the first takes the place of the others, so
that all are one code object, and the docstring goes (`emit.rename`).
"""
from __future__ import annotations

import ast
from collections.abc import Collection
from types import CodeType
from typing import Any, Final

from autograph.codegen.dual_path.branch_tests import LOAD, constant_at, name_at
from autograph.frontend.tree import placed

__all__ = ["TYPE_PARAMETERS", "NotOnce", "number_of", "originals", "stand_in"]

_ORIGINAL, _STAND_IN = "autograph: first body ", "autograph: other body "
TYPE_PARAMETERS: Final = "<generic parameters of "
"""How the name of the scope of type parameters begins."""


class NotOnce(Exception):
    """Bodies are to be compiled each time: the first was in dead code, of which there is no compiled code, or takes
    other variables than what stands in for it."""


def stand_in(body: Any, number: int, variables: Collection[str], others: Collection[str]) -> Any:
    """What stands in for a body that is in the tree already; what that takes from outside are `variables` of functions
    around it, and `others`, of which some may be global names."""
    body.body = [_docstring(_ORIGINAL, number, body), *body.body]
    nothing = [_docstring(_STAND_IN, number, body)]
    if variables:
        nothing.append(placed(ast.Nonlocal, body, names=sorted(variables)))
    if others:
        reads = [name_at(name, LOAD, body) for name in sorted(others)]
        nothing.append(placed(ast.Expr, body, value=placed(ast.Tuple, body, elts=reads, ctx=LOAD)))
    made = ast.FunctionDef.__new__(ast.FunctionDef)
    made.__dict__.update(body.__dict__, body=nothing)
    return made


def _docstring(kind: str, number: int, origin: Any) -> Any:
    return placed(ast.Expr, origin, value=constant_at(f"{kind}{number}", origin))


def number_of(code: CodeType) -> str | None:
    """The number of a body that stands in several lanes, or of what stands in for it."""
    first = code.co_consts[0] if code.co_consts else None
    return first[len(_ORIGINAL):] if type(first) is str and first.startswith((_ORIGINAL, _STAND_IN)) else None


def originals(code: CodeType, inside: str, bodies: set[tuple[str, int]]) -> dict[str, tuple[CodeType, str]]:
    """The bodies below `code` that others stand in for, by number, with their qualified names; `inside` is its own.
    `bodies` are name and line of what conversion made: a docstring of the user's tells nothing."""
    found: dict[str, tuple[CodeType, str]] = {}
    stack = [(code, inside)]
    for outer, path in stack:
        joint = ".<locals>." if outer.co_flags & 0x1 else "."  # CO_OPTIMIZED: a function
        for constant in outer.co_consts:
            if isinstance(constant, CodeType):
                is_scope = constant.co_name.startswith(TYPE_PARAMETERS)
                stack.append((constant, path if is_scope else path + joint + constant.co_name))
                number = number_of(constant) if (constant.co_name, constant.co_firstlineno) in bodies else None
                if number is not None and constant.co_consts[0].startswith(_ORIGINAL):
                    found[number] = stack[-1]
    return found
