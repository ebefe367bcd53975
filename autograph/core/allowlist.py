"""Which callees are not converted, and by which rule. All others convert or raise; a callee without source runs
unconverted.

A function that the user asks to convert (`convert(f)`, `@rt.function`) converts whatever module it is in. The rules are
for its callees, and for the `__call__` of objects; `explain` names the rule that applies.
"""
from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeVar, overload

from autograph.core.tracebacks import is_converted, is_opaque

__all__ = [
    "PACKAGES", "do_not_convert", "exclude", "exclusion_rule", "include", "is_of_standard_library", "rule_of_library"]

F = TypeVar("F", bound=Callable[..., Any])

# Packages whose Python code does not depend on tensors: not converted, subpackages included.
PACKAGES: Final = {"numpy", "scipy", "gast", "astunparse", "llvmlite", "numba", "tensorflow", "jax", "torch", "pytest",
            "_pytest", "pluggy", "hypothesis", "coverage", "IPython", "keras"}
_OPERATORS: Final = "autograph.operators"
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SITE_PACKAGES = (os.path.join(_STANDARD_LIBRARY, "site-packages"), os.path.join(_STANDARD_LIBRARY, "dist-packages"))

_included: set[str] = set()


def include(*modules: str) -> None:
    """Convert functions of these modules or packages when converted code calls them, though a rule excludes them.

    The standard library is excluded unless asked for here: `include("heapq", "json")`.
    """
    _included.update(modules)


def exclude(*modules: str) -> None:
    """Undo `include` of these."""
    _included.difference_update(modules)


@overload
def do_not_convert(func: F) -> F: ...
@overload
def do_not_convert(func: None = None) -> Callable[[F], F]: ...
def do_not_convert(func: Any = None) -> Any:
    """Mark a function so that converted code calls it as it is (TF2: tf.autograph.experimental.do_not_convert).
    Without a function: a decorator."""
    if func is None:
        return do_not_convert
    marked: Any = getattr(func, "__func__", func)
    marked.__autograph_do_not_convert__ = True
    return func


def exclusion_rule(fn: FunctionType, *, asked: bool = False) -> str | None:
    """The rule by which `fn` is not converted, or None if it is converted."""
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
    """The rule by which the library that `fn` belongs to excludes it from conversion, or None."""
    module = fn.__module__ or fn.__globals__.get("__name__") or ""
    parts = module.split(".")
    if any(".".join(parts[:i]) in _included for i in range(1, len(parts) + 1)):
        return None
    if parts[0] in PACKAGES:
        return f"the package {parts[0]!r} is left alone"
    code = fn.__code__
    if module == "functools" and "_from_" in code.co_name:  # comparisons that total_ordering adds to a user's class
        return None
    if is_of_standard_library(code.co_filename):
        return "the standard library is left alone unless autograph.include names the module"
    return None


def is_of_standard_library(filename: str) -> bool:
    return filename.startswith("<frozen ") or (
        filename.startswith(_STANDARD_LIBRARY) and not filename.startswith(_SITE_PACKAGES))
