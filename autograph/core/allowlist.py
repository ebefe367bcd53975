"""What is left alone, and by which rule. Everything else converts, or raises; a callee without source is left alone.

A function that the user asks to convert (`convert(f)`, `@rt.function`) converts, whatever the module it lives in.
The rules are for what it calls; `explain` shows the one that holds.
"""
from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeVar

from autograph.core.tracebacks import is_converted, is_opaque

__all__ = ["PACKAGES", "do_not_convert", "exclude", "include", "left_alone", "rule_of_library"]

F = TypeVar("F", bound=Callable[..., Any])

# Packages whose Python code does not depend on tensors, or would not gain: left alone with all below them.
PACKAGES: Final = {"numpy", "scipy", "gast", "astunparse", "llvmlite", "numba", "tensorflow", "jax", "torch", "pytest",
            "_pytest", "pluggy", "hypothesis", "coverage", "IPython"}
_OPERATORS: Final = "autograph.operators"
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SITE_PACKAGES = (os.path.join(_STANDARD_LIBRARY, "site-packages"), os.path.join(_STANDARD_LIBRARY, "dist-packages"))

_included: set[str] = set()


def include(*modules: str) -> None:
    """Let functions of these modules or packages convert when converted code calls them, though a rule names them.

    The standard library is left alone unless asked for here: `include("heapq", "json")`.
    """
    _included.update(modules)


def exclude(*modules: str) -> None:
    """Undo `include` of these."""
    _included.difference_update(modules)


def do_not_convert(fn: F) -> F:
    """Mark a function to be called as it is from converted code (TF2: tf.autograph.experimental.do_not_convert)."""
    marked: Any = getattr(fn, "__func__", fn)
    marked.__autograph_do_not_convert__ = True
    return fn


def left_alone(fn: FunctionType, *, asked: bool = False) -> str | None:
    """The rule by which `fn` is called as it is, or None if it converts."""
    code = fn.__code__
    if getattr(fn, "__autograph_do_not_convert__", False):
        return "it is marked do_not_convert"
    operators = fn.__globals__.get("ag__")
    if is_converted(code) or ("ag__" in code.co_names and getattr(operators, "__name__", "") == _OPERATORS):
        return "it is converted already"
    filename = code.co_filename
    if is_opaque(filename):
        return "it is part of autograph or runtime"
    return None if asked else rule_of_library(fn)


def rule_of_library(fn: FunctionType) -> str | None:
    """The rule by which `fn` is called as it is because of the library that it is part of, if any."""
    module = fn.__module__ or fn.__globals__.get("__name__") or ""
    parts = module.split(".")
    if any(".".join(parts[:i]) in _included for i in range(1, len(parts) + 1)):
        return None
    if parts[0] in PACKAGES:
        return f"the package {parts[0]!r} is left alone"
    code = fn.__code__
    if module == "functools" and "_from_" in code.co_name:  # what total_ordering makes of a comparison of the user's
        return None
    filename = code.co_filename
    if filename.startswith("<frozen ") or (
        filename.startswith(_STANDARD_LIBRARY) and not filename.startswith(_SITE_PACKAGES)
    ):
        return "the standard library is left alone unless autograph.include names the module"
    return None


