"""The two forms of late binding in the project, for what an `import` statement cannot do.

`deferred(name)` is an import that happens when the module is first used: for modules that take long to load (LLVM) or
need not be installed (a parser, SciPy). It stands at the top of a module; tests/test_layers.py counts it as an import.

`Late` is a forward declaration: functions that a module calls and a module above it defines, where the two depend on
each other. Addition of tensors is a method of Tensor and a function on tensors; converted code calls the converter, and
the converter makes code that calls this code. No order of imports serves both.
"""
from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

__all__ = ["Late", "deferred"]


class deferred(ModuleType):
    """A module that is imported on first attribute access. Raises ImportError then if that is impossible.

    For type checkers, a module imports the same name under `if TYPE_CHECKING` instead.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # `inspect` and `doctest` look for it on every object of a module
            raise AttributeError(name)
        value = getattr(importlib.import_module(self.__name__), name)
        vars(self)[name] = value
        return value


class Late:
    """Forward declarations: annotated attributes of a subclass, defined by modules further up.

    The defining modules call `define(name=function)` on the only instance when they are imported, once for each name.
    """

    def define(self, **functions: Any) -> None:
        """Define functions. TypeError for a name that is not declared, or defined already."""
        for name, function in functions.items():
            if name not in type(self).__annotations__ or name in vars(self):
                known = "defined already" if name in vars(self) else "not declared"
                raise TypeError(f"{type(self).__name__}.{name} is {known}")
            vars(self)[name] = function

    def __getattr__(self, name: str) -> Any:
        if name in type(self).__annotations__:
            raise RuntimeError(f"{type(self).__name__}.{name} is not defined: import the whole package")
        raise AttributeError(name)
