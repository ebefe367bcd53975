"""The two forms of late binding in the project, for what an `import` statement cannot do.

`deferred(name)` is an import that happens when the module is first used: of what takes long to load (LLVM) or need not
be installed (a parser, SciPy). It stands at the top of a module, and tests/test_layers.py counts it as an import.

`Late` is a forward declaration: functions that a module calls and a module above it defines, because each is made of
the other. Addition of tensors is a method of Tensor and a function on tensors; converted code calls the converter, and
the converter makes code that calls this code. No order of imports serves both.
"""
from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

__all__ = ["Late", "deferred"]


class deferred(ModuleType):
    """A module that is imported when an attribute of it is first asked for. ImportError then, if it cannot be.

    For type checkers, a module imports the same name under `if TYPE_CHECKING` instead.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # `inspect` and `doctest` look for it in all that a module has
            raise AttributeError(name)
        value = getattr(importlib.import_module(self.__name__), name)
        vars(self)[name] = value
        return value


class Late:
    """Functions that are declared here, as annotated attributes of a subclass, and defined by modules above.

    These call `define(name=function)` on its only instance while they are imported, once for each name.
    """

    def define(self, **functions: Any) -> None:
        """TypeError for a name that is not declared, or is defined already."""
        for name, function in functions.items():
            if name not in type(self).__annotations__ or name in vars(self):
                known = "defined already" if name in vars(self) else "not declared"
                raise TypeError(f"{type(self).__name__}.{name} is {known}")
            vars(self)[name] = function

    def __getattr__(self, name: str) -> Any:
        if name in type(self).__annotations__:
            raise RuntimeError(f"{type(self).__name__}.{name} is not defined: import the whole package")
        raise AttributeError(name)
