"""Variables passed to a traced function: the graph contains a placeholder, and each call binds it to a variable."""
from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Any, Final

__all__ = ["NO_VARIABLES", "Placeholder", "binding", "bound"]

NO_VARIABLES: Final[Mapping[int, Any]] = MappingProxyType({})


class Placeholder:
    """Stands in a graph for the variable passed by a call."""

    __slots__ = ()

    def is_same(self, other: Any) -> bool:
        """Whether the passed variable is `other`; the trace may be specialised to the answer."""
        raise NotImplementedError


class _Bindings(threading.local):
    current: Mapping[int, Any] = NO_VARIABLES  # by the id of the placeholder, for the running calls


_bindings: Final = _Bindings()


def bound(variable: Any) -> Any:
    """The variable itself or, for a placeholder, the one passed by the running call; the placeholder if no call is
    running."""
    found = variable
    while (passed := _bindings.current.get(id(found))) is not None:  # it may be a placeholder of the calling graph
        found = passed
    return found


class binding:
    """Inside, placeholders (by id) stand for these variables, in this thread."""

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
