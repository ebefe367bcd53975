"""Small programs that mean the same every way they run: as Python, converted, as the converted text that is shown,
on eager tensors, staged, and staged for tensors of any length; staged ones on both executors.

    @program((3,), (0,))
    def double(n):
        return 2 * n

adds one, to be called with `n=3` and with `n=0`. Arguments are plain Python values; for the ways that run on
tensors, numbers become scalars and lists become tensors (tuples and dicts are structures of these; `fixed(v)`
stays as it is; `dataset([...])` is a dataset there). A way that does not apply is named with its reason:
`@program((3,), staged="the generator would have to be staged")`. Nothing here imports numpy or `runtime`, so that
the programs run on any interpreter; the modules in `NEEDS_RUNTIME` do.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["PROGRAMS", "WAYS", "Dataset", "Fixed", "Program", "dataset", "fixed", "load", "program", "runtime_program"]

WAYS = ("python", "converted", "shown", "eager", "staged", "relaxed", "native", "native relaxed")
PLAIN = (
    "branches", "loops", "jumps", "returns", "expressions", "state", "functions", "objects", "collections_", "lists",
    "elements", "comprehensions", "patterns", "output", "failures", "tries", "contexts", "numbers_", "builtins_",
    "names", "sequences", "algorithms", "comparisons", "heaps", "identity", "reads", "grammar", "newer", "regressions",
)
NEEDS_RUNTIME = ("tensors", "arrays")

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Fixed:
    """An argument that stays a Python value every way."""

    value: Any


@dataclass(frozen=True)
class Dataset:
    """An argument that is a dataset of these elements where tensors are used, and a list in Python."""

    items: tuple[Any, ...]


def takes_list(arguments: tuple[Any, ...]) -> bool:
    """Whether all arguments are numbers and lists, one at least a list: a length may then be unknown."""
    return all(isinstance(a, (bool, int, float, list)) for a in arguments) and any(
        isinstance(a, list) for a in arguments)


fixed = Fixed


def dataset(items: list[Any]) -> Dataset:
    return Dataset(tuple(items))


@dataclass(frozen=True)
class Program:
    """One program: a function, the arguments to call it with, and the ways that do not apply."""

    fn: Callable[..., Any]
    arguments: tuple[tuple[Any, ...], ...]
    without: Mapping[str, str] = field(default_factory=dict)
    needs_runtime: bool = False

    @property
    def name(self) -> str:
        return self.fn.__name__

    def applies(self, way: str) -> bool:
        """Whether the program runs this way: natively as on NumPy. `relaxed` is for those staged ones that take a list
        as a tensor."""
        if way.startswith("native"):
            return self.applies("relaxed" if way == "native relaxed" else "staged")
        if way == "relaxed" and ("staged" in self.without or not any(map(takes_list, self.arguments))):
            return False
        return way not in self.without

    @property
    def subject(self) -> str:
        return self.fn.__module__.rpartition(".")[2]


PROGRAMS: dict[str, Program] = {}


def program(*arguments: tuple[Any, ...], **without: str) -> Callable[[F], F]:
    """Add the decorated function to the programs, to be called with each of `arguments`."""
    return _add(arguments, without, needs_runtime=False)


def runtime_program(*arguments: tuple[Any, ...], **without: str) -> Callable[[F], F]:
    """A program that calls the runtime: the function on eager tensors, as Python runs it, is what it means."""
    reasons = {**dict.fromkeys(("python", "converted", "shown"), "it calls the runtime"), **without}
    return _add(arguments, reasons, needs_runtime=True)


def _add(arguments: tuple[tuple[Any, ...], ...], without: Mapping[str, str], needs_runtime: bool) -> Callable[[F], F]:
    assert arguments, "a program needs arguments to be called with: @program((), ) for none"
    assert all(type(a) is tuple for a in arguments), "each call's arguments are a tuple"
    assert without.keys() <= set(WAYS) and all(without.values()), "a way that does not apply has a reason"

    def add(fn: F) -> F:
        assert fn.__name__ not in PROGRAMS, f"two programs are called {fn.__name__}"
        PROGRAMS[fn.__name__] = Program(fn, arguments, dict(without), needs_runtime)
        return fn

    return add


def load(*, runtime: bool = True) -> dict[str, Program]:
    """All programs by name; `runtime=False` leaves out the modules that import the runtime."""
    for module in (*PLAIN, *(NEEDS_RUNTIME if runtime else ())):
        importlib.import_module(f"programs.{module}")
    return PROGRAMS
