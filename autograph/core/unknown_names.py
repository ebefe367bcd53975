"""The error for a name that a module does not have: it says which name is the nearest."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from autograph.core.late_binding import deferred

__all__ = ["hint_at_names", "nearest", "unknown"]

_difflib = deferred("difflib")  # an error's matter


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that is spelt most alike; None if none is close, or for a private name, which tools ask for."""
    if name.startswith("_"):
        return None
    found = _difflib.get_close_matches(name, names, 3, 0.75)
    of_case = [other for other in found if other.lower() == name.lower()]
    alike = [other for other in found if other[0].lower() == name[0].lower() or len(other) == len(name)]
    return next(iter(of_case + alike), None)


def unknown(
    module: str, name: str, names: Iterable[str], why: Callable[[str], str] = lambda name: ""
) -> AttributeError:
    """The error for a name that a module does not have: with the reason `why` gives for a public name, or the nearest
    of `names`, or, for a public name, where to look.

    It has a `name` and no `obj`, as Python would append a hint of its own to a traceback.
    """
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_") or _is_submodule(module, name):
        return AttributeError(text, name=name)
    if reason := why(name):
        text += f": {reason}"
    elif other := nearest(name, names):
        text += f". Did you mean: {other!r}?"
    else:
        text += f": this version does not have it; dir({module}) lists what there is"
    return AttributeError(text, name=name)


def _is_submodule(module: str, name: str) -> bool:
    """Whether a package has this submodule: `from package import name` asks for the attribute before it imports it."""
    path = getattr(sys.modules.get(module), "__path__", None)
    return path is not None and PathFinder.find_spec(name, path) is not None


def hint_at_names(*modules: ModuleType, why: Callable[[str], str] = lambda name: "") -> None:
    """Let the errors for names that these modules do not have say why, or name the nearest of `__all__`. `why` gives
    the reason for a public name, such as another module that has it, or ""."""
    for module in modules:
        if "__getattr__" not in vars(module):
            vars(module)["__getattr__"] = _getter(module.__name__, module.__all__, why)


def _getter(module: str, names: Iterable[str], why: Callable[[str], str]) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:
        raise unknown(module, name, names, why)

    return __getattr__
