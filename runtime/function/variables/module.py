"""Objects that own variables (`tf.Module`)."""
from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from runtime.function.variables.variable import Variable, name_scope

__all__ = ["Module"]

F = TypeVar("F", bound=Callable[..., Any])


class Module:
    """Base class of objects that own variables: in their attributes, and in lists, dicts and other modules in these
    (`tf.Module`). Attributes are visited in the order of their names, items of dicts in that of their keys, and other
    modules after all variables that are not in one."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()

    @property
    def name(self) -> str:
        return getattr(self, "_name", type(self).__name__.lower())

    @property
    def name_scope(self) -> name_scope:
        """Prefixes the names of variables made inside with the module's name. Its own name is that prefix."""
        scope = name_scope(self.name)
        scope.name = scope.prefix
        return scope

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables, each once."""
        return tuple(x for x in _owned(self, {id(self)}) if isinstance(x, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules nested in this one, each once."""
        return tuple(x for x in _owned(self, {id(self)}) if isinstance(x, Module))

    @classmethod
    def with_name_scope(cls, method: F) -> F:
        """Decorate a method so that it runs inside the `name_scope` of its module."""

        @functools.wraps(method)
        def wrapped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return wrapped  # type: ignore[return-value]


def _owned(module: Module, visited: set[int]) -> Iterator[Variable | Module]:
    """The variables and modules that a module contains, each once: its own, then those of each of these modules."""
    modules = []
    attributes = vars(module)
    for part in _leaves([attributes[name] for name in sorted(attributes)], visited):
        yield part
        if isinstance(part, Module):
            modules.append(part)
    for part in modules:
        yield from _owned(part, visited)


def _leaves(parts: Iterable[Any], visited: set[int]) -> Iterator[Variable | Module]:
    """The variables and modules in nested lists, tuples and dicts that were not visited before."""
    for part in parts:
        if not isinstance(part, (Variable, Module, list, tuple, Mapping)) or id(part) in visited:
            continue
        visited.add(id(part))
        if isinstance(part, (Variable, Module)):
            yield part
        else:
            yield from _leaves(_in_order(part) if isinstance(part, Mapping) else part, visited)


def _in_order(values: Mapping[Any, Any]) -> list[Any]:
    """The values of a dict in the order of its keys, where these have one."""
    try:
        return [values[key] for key in sorted(values)]
    except TypeError:
        return list(values.values())
