"""Differences between versions of Python, each under a name: no other module checks the version."""
from __future__ import annotations

import sys
from typing import Final

__all__ = [
    "ANNOTATES_LATER", "CALLS_SHARE_STACK", "CELLS_ARE_LOCALS", "CODE_HAS_PLACES", "CODE_HAS_QUALNAME",
    "GENERATORS_SHOW_LOCALS", "INLINES_COMPREHENSIONS", "LOGGING_SKIPS_ITSELF", "NESTS_FSTRINGS", "RAISE_HAS_OWN_STATE",
    "STARS_IN_SUBSCRIPTS", "TRIES_ARE_TABLES", "TYPE_PARAMETERS", "unbound_text",
]

_VERSION = sys.version_info[:2]
CODE_HAS_QUALNAME: Final = _VERSION >= (3, 11)
"""`co_qualname`."""
CELLS_ARE_LOCALS: Final = _VERSION >= (3, 11)
"""Instructions number cells after the local variables; earlier versions number them separately."""
CALLS_SHARE_STACK: Final = _VERSION >= (3, 11)
"""Calls of Python functions by Python functions take no C stack."""
CODE_HAS_PLACES: Final = _VERSION >= (3, 11)
"""`co_positions`: lines and columns of each instruction."""
TRIES_ARE_TABLES: Final = _VERSION >= (3, 11)
"""The handlers of a `try` are in `co_exceptiontable`; earlier they are instructions."""
RAISE_HAS_OWN_STATE: Final = _VERSION >= (3, 11)
"""A bare `raise` uses the traceback of the exception; earlier that of the thread state."""
GENERATORS_SHOW_LOCALS: Final = _VERSION >= (3, 11)
"""The garbage collector sees the variables of a suspended generator in the generator; earlier in its frame."""
LOGGING_SKIPS_ITSELF: Final = _VERSION >= (3, 11)
"""`stacklevel` of logging does not count logging's own frames."""
STARS_IN_SUBSCRIPTS: Final = _VERSION >= (3, 11)
"""`x[*a]` (PEP 646)."""
INLINES_COMPREHENSIONS: Final = _VERSION >= (3, 12)
"""Comprehensions run in the enclosing frame (PEP 709)."""
TYPE_PARAMETERS: Final = _VERSION >= (3, 12)
"""`def f[T](x)` (PEP 695): functions and classes have `type_params`."""
NESTS_FSTRINGS: Final = _VERSION >= (3, 12)
"""An f-string may hold its own quotes and backslashes (PEP 701)."""
ANNOTATES_LATER: Final = _VERSION >= (3, 14)
"""`__annotate__` (PEP 649)."""


def unbound_text(name: str) -> str:
    """Python's message for reading an unbound local variable."""
    if _VERSION >= (3, 11):
        return f"cannot access local variable '{name}' where it is not associated with a value"
    return f"local variable '{name}' referenced before assignment"
