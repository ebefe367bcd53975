"""Ordinary Python control flow becomes a graph, by source-to-source conversion.

    convert(f)          the converted function; also a decorator
    to_code(f)          its converted source
    explain(f)          which statements stage, which stay Python, and why
    convert_source(t)   the text of a whole module, converted
"""
from .api import Explanation, convert, convert_source, explain, explain_source, set_loop_options, to_code, to_graph
from .errors import AmbiguousLambdaError, ConversionError, NoSourceError, StaleSourceError, UnsupportedError
from .policy import do_not_convert, include

__all__ = [
    "AmbiguousLambdaError", "ConversionError", "Explanation", "NoSourceError", "StaleSourceError", "UnsupportedError",
    "convert", "convert_source", "do_not_convert", "explain", "explain_source", "include", "set_loop_options",
    "to_code", "to_graph",
]
__version__ = "0.1.0"
