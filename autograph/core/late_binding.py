"""The two forms of late binding in the project, for what an `import` statement cannot do.

`deferred(name)` is an import that happens when the module is first used: for modules that take long to load (LLVM) or
need not be installed (a parser, SciPy). `deferred_names` does the same for the names that a package re-exports. They
stand at the top of a module; tests/test_layers.py counts them as imports.

`Late` is a forward declaration: functions that a module calls and a module above it defines, where the two depend on
each other. Addition of tensors is a method of Tensor and a function on tensors; converted code calls the converter, and
the converter makes code that calls this code. No order of imports serves both.
"""
from __future__ import annotations

import importlib
import signal
import sys
import threading
from collections.abc import Iterable, Mapping
from types import FrameType, ModuleType
from typing import Any, ClassVar, Final

__all__ = ["Late", "deferred", "deferred_names"]


_loading: Final = threading.RLock()
"""Held during imports. Python locks a submodule before its package, but a package that imports it has the locks in the
other order: two threads would wait for each other."""


def _imported(name: str) -> ModuleType:
    """The module of this name. An interrupt that arrives during its import is raised afterwards: a module of which a
    part has run would register that part again when it is imported the next time."""
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    arrived: list[tuple[int, FrameType | None]] = []
    with _loading:
        if name in sys.modules or not is_main or not callable(handler):
            return importlib.import_module(name)
        try:
            signal.signal(signal.SIGINT, lambda *signal_and_frame: arrived.append(signal_and_frame))
            return importlib.import_module(name)
        finally:
            signal.signal(signal.SIGINT, handler)
            if arrived:
                handler(*arrived[0])


class deferred(ModuleType):
    """A module that is imported on first attribute access. Raises ImportError then if that is impossible.

    For type checkers, a module imports the same name under `if TYPE_CHECKING` instead.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # `inspect` and `doctest` look for it on every object of a module
            raise AttributeError(name)
        value = getattr(_imported(self.__name__), name)
        vars(self)[name] = value
        return value


class deferred_names(dict[str, tuple[str, str]]):
    """Names of a package that are imported on first access; its `__getattr__` calls `load` for these.

    `imports`: by module, what a `from` import of it would list, as in `"x"` or `"x as y"`. Those of the package itself
    are submodules. For type checkers, the package imports the same names under `if TYPE_CHECKING`.
    """

    def __init__(self, namespace: dict[str, Any], imports: Mapping[str, Iterable[str]]) -> None:
        self.namespace = namespace
        for module, names in imports.items():
            for each in names:
                original, _, alias = each.partition(" as ")
                self[alias or original] = module, original

    def load(self, name: str) -> Any:
        """The value of one of the names, which the package then has as an attribute."""
        (module, original), package = self[name], self.namespace["__name__"]
        value = _imported(f"{package}.{original}") if module == package else getattr(_imported(module), original)
        self.namespace[name] = value
        return value


class Late:
    """Forward declarations: annotated attributes of a subclass, defined by modules further up.

    The defining modules call `define(name=function)` on the only instance when they are imported, once for each name.
    """

    _places: ClassVar[tuple[deferred, ...]] = ()

    def defined_in(self, *modules: deferred) -> None:
        """Load these modules, in this order, when a name is asked for that is not defined yet, until it is."""
        vars(self)["_places"] = modules

    def define(self, **functions: Any) -> None:
        """Define functions. TypeError for a name that is not declared, or defined already."""
        for name, function in functions.items():
            if name not in type(self).__annotations__ or name in vars(self):
                known = "defined already" if name in vars(self) else "not declared"
                raise TypeError(f"{type(self).__name__}.{name} is {known}")
            vars(self)[name] = function

    def __getattr__(self, name: str) -> Any:
        if name in type(self).__annotations__:
            for module in self._places:
                _imported(module.__name__)
                if name in vars(self):
                    return vars(self)[name]
            raise RuntimeError(f"{type(self).__name__}.{name} is not defined: import the whole package")
        raise AttributeError(name)
