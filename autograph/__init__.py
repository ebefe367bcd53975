"""Ordinary Python control flow becomes a graph, by source-to-source conversion.

    convert(f)          the converted function; also a decorator
    to_code(f)          its converted source
    explain(f)          which statements stage, which stay Python, and why
    convert_source(t)   the text of a whole module, converted
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .api import Explanation, convert, explain, set_loop_options, to_graph
from .errors import AmbiguousLambdaError, ConversionError, NoSourceError, StaleSourceError, UnsupportedError
from .policy import do_not_convert, include

if TYPE_CHECKING:
    from .text import convert_source, explain_source, to_code

__all__ = [
    "AmbiguousLambdaError", "ConversionError", "Explanation", "NoSourceError", "StaleSourceError", "UnsupportedError",
    "convert", "convert_source", "do_not_convert", "explain", "explain_source", "include", "set_loop_options",
    "to_code", "to_graph",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The functions that print code are loaded when they are first asked for: conversion needs no printer."""
    if name in ("convert_source", "explain_source", "to_code"):
        return getattr(importlib.import_module(".text", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
