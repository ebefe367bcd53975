"""Names of TF 1 that are not there."""
from __future__ import annotations

from typing import Final

__all__ = ["INSTEAD"]

INSTEAD: Final = {
    **dict.fromkeys(("ConfigProto", "InteractiveSession", "Session"), "TF 1's sessions are not there: call functions"),
    **dict.fromkeys(("global_variables_initializer", "local_variables_initializer"),
                    "variables have their values when they are made"),
    "get_variable": "make an rt.Variable, or an rt.Module with variables",
    "placeholder": "TF 1's graphs are not there: arguments of a function that is decorated with rt.function are inputs",
    "variable_scope": "TF 1's scopes are not there: make an rt.Module with variables",
}
"""What to do instead."""
