"""Variables that a traced function is passed: the graph names a placeholder, each call binds it to a variable."""
from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Any, Final

__all__ = ["NO_VARIABLES", "Placeholder", "binding", "bound"]

NO_VARIABLES: Final[Mapping[int, Any]] = MappingProxyType({})


class Placeholder:
    """Stands in a graph for the variable that a call passes."""

    __slots__ = ()

    def is_same(self, other: Any) -> bool:
        """Whether the variable that is passed is `other`, which the trace may depend on from now on."""
        raise NotImplementedError


class _Bindings(threading.local):
    current: Mapping[int, Any] = NO_VARIABLES  # by the id of the placeholder, in the calls that run


_bindings: Final = _Bindings()


def bound(variable: Any) -> Any:
    """The variable itself or, of a placeholder, the one that the running call passes; if none runs, the placeholder."""
    found = variable
    while (passed := _bindings.current.get(id(found))) is not None:  # it may be a placeholder of the calling graph
        found = passed
    return found


class binding:
    """Inside, placeholders stand for these variables, by their ids, in this thread."""

    __slots__ = ("_outer", "_variables")

    def __init__(self, variables: Mapping[int, Any]) -> None:
        self._variables = variables

    def __enter__(self) -> None:
        self._outer = _bindings.current
        _bindings.current = {**self._outer, **self._variables} if self._outer else self._variables

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _bindings.current = self._outer
