"""Bodies in the text of a converted module, made part of the user's functions.

In text each body is a nested function, which Python treats as one of the user's: definitions in it have its name in
their `__qualname__`, tracebacks have an entry for it, and unbound variables belong to an enclosing function. For a live
function, bodies get their names and marks when they are compiled (`codegen/compile.py`); for text they get them here,
when an operator is about to run them.
"""
from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

from autograph.core.tracebacks import BODY, CONVERTED, is_body, is_opaque
from autograph.core.versions import CODE_HAS_QUALNAME

__all__ = ["part"]

F = TypeVar("F", bound=Callable[..., Any])
_MOST = 10_000
_known: dict[int, tuple[CodeType, CodeType]] = {}
"""By id of a body's code object: that code, and the code to run instead."""


def part(body: F, /) -> F:
    """The body, with code that is marked as part of the user's function."""
    function: Any = body
    code = function.__code__
    entry = _known.get(id(code))
    if entry is None:
        if len(_known) > _MOST:
            _known.clear()
        made = code if is_body(code) or is_opaque(code.co_filename) else _as_part(function)
        entry = _known[id(code)] = code, made
    if entry[1] is not code:
        function.__code__ = entry[1]
    return body


def _as_part(function: FunctionType) -> CodeType:
    code = function.__code__
    outer, joint, name = function.__qualname__.rpartition(".<locals>.")
    if not joint or name != code.co_name:
        return code
    code = _renamed(code, f"{function.__qualname__}{joint}", f"{outer}{joint}")
    changes: dict[str, Any] = {
        "co_name": outer.rpartition(".")[2], "co_consts": (*code.co_consts, BODY, CONVERTED)}
    if CODE_HAS_QUALNAME:
        changes["co_qualname"] = outer
    return code.replace(**changes)


def _renamed(code: CodeType, inside: str, outside: str) -> CodeType:
    """The code with the prefix `inside` replaced by `outside` in the qualified names of all definitions in it."""

    def shortened(name: str) -> str:
        return outside + name[len(inside):] if name.startswith(inside) else name

    constants: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner: Any = _renamed(constant, inside, outside)
            if CODE_HAS_QUALNAME:
                inner = inner.replace(co_qualname=shortened(inner.co_qualname))
            constant = inner
        elif type(constant) is str:  # the qualified name in the code of a class; until 3.10 also that of a function
            constant = shortened(constant)
        constants.append(constant)
    return code.replace(co_consts=tuple(constants))
