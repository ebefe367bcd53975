"""Ordinary Python control flow becomes a graph, by source-to-source conversion.

    convert(f)          the converted function; also a decorator
    to_code(f)          its converted source
    explain(f)          which statements stage, which stay Python, and why
    convert_source(t)   the text of a whole module, converted
    install(package)    packages, checked as they are imported
    register(cls, b)    a backend for the values of a framework of one's own

Converted modules import only the operators from here: modules that need a parser or a printer are loaded on first use.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from autograph.codegen.disk_cache import set_cache
from autograph.core.allowlist import do_not_convert, exclusion_rule, include
from autograph.core.backend import Backend, register
from autograph.core.errors import (
    AmbiguousLambdaError,
    ConversionError,
    NoSourceError,
    StaleSourceError,
    UnsupportedError,
    VerificationError,
)
from autograph.core.late_binding import deferred, deferred_names
from autograph.core.unknown_names import unknown
from autograph.dispatch.converted_call import CONVERTER, Maker

if TYPE_CHECKING:
    from autograph import api as _api
    from autograph.api import Explanation, convert, convert_traced, experimental, explain, set_loop_options, to_graph
    from autograph.printing.to_code import convert_source, explain_source, to_code
    from autograph.tools.import_hook import install, uninstall
else:
    _api = deferred("autograph.api")

__all__ = [
    "AmbiguousLambdaError", "Backend", "ConversionError", "Explanation", "NoSourceError", "StaleSourceError",
    "UnsupportedError", "VerificationError", "convert", "convert_source", "convert_traced", "do_not_convert",
    "experimental", "explain", "explain_source", "include", "install", "register", "set_cache",
    "set_loop_options", "to_code", "to_graph", "uninstall",
]
__version__ = "0.1.0"


_LATE = deferred_names(globals(), {
    "autograph.api": (
        "Explanation", "convert", "convert_traced", "experimental", "explain", "set_loop_options", "to_graph"),
    "autograph.printing.to_code": ("convert_source", "explain_source", "to_code"),
    "autograph.tools.import_hook": ("install", "uninstall"),
})


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return _LATE.load(name)
    raise unknown(__name__, name, __all__)


def __dir__() -> list[str]:
    """The public names, without the folders that they come from."""
    return [*__all__, "__doc__", "__file__", "__name__", "__path__", "__version__"]


@functools.cache
def _has_converter() -> bool:
    """Whether the converter can be loaded: converted modules also run where no parser is installed. Then their callees
    run unconverted."""
    try:
        return _api.maker is not None
    except ModuleNotFoundError as error:
        if error.name != "gast":
            raise
        return False


def _maker(fn: FunctionType) -> Maker | None:
    """Loads the converter when called for the first callee that no rule excludes."""
    made: Maker | None = _api.maker(fn) if exclusion_rule(fn) is None and _has_converter() else None
    return made


def _context(fn: FunctionType) -> Callable[..., Any] | None:
    """`api.internal_iteration` of the generator function of a context manager; None if it does not convert."""
    try:
        template: Callable[..., Any] | None = _api.internal_iteration(fn, True) if _has_converter() else None
        return template
    except ConversionError:
        return None


CONVERTER.define(maker=_maker, context=_context)
