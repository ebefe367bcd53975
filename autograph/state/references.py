"""Counts the references to an object: variables, items and attributes.

If a body assigns another list to a variable, the variable's former list remains state if something else refers to it.
"""
from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Any, Final, TypeVar

from autograph.core.lists import LISTS
from autograph.core.slots import Globals, fields_in, is_users_object, slots_of
from autograph.core.trace_cleanup import of_trace
from autograph.core.tracebacks import is_opaque, temporaries_in
from autograph.state.reachability import MOST, Reach, cell_is_filled, only_atoms, only_records
from autograph.state.structure import ATOMS, unwrapped

__all__ = [
    "is_outermost", "outermost", "references", "scopes", "unreached", "variables", "was_before", "with_more_references",
    "within",
]

_outermost: Final[set[CodeType]] = set()
F = TypeVar("F", bound=Callable[..., Any])


def outermost(fn: F) -> F:
    """Mark a backend's function that calls the function to trace: the search for the user's frames stops at it."""
    _outermost.add(fn.__code__)
    return fn


def is_outermost(code: CodeType) -> bool:
    return code in _outermost


class _Within(threading.local):
    variables: tuple[CellType, ...] = ()
    """The synthetic variables of the running bodies, which do not occur in the user's code."""
    reached: Any = None
    """The objects that the innermost running body could reach when it began (`Reach.objects`)."""
    scopes: tuple[Globals, ...] = ()
    """The globals, and members of classes and modules, that the traced code names."""
    statement: unreached | None = None
    """The innermost statement that is being staged."""
    plain: Mapping[int, tuple[Any, unreached]] = {}
    """By id, long lists and dicts of numbers and text that no body of the statement being staged can change."""


within: Final = of_trace(_Within())


@contextmanager
def variables(*cells: CellType) -> Iterator[None]:
    """Declare cells that count as references, in addition to those of the user's code."""
    outer, within.variables = within.variables, (*within.variables, *cells)
    try:
        yield
    finally:
        within.variables = outer


@contextmanager
def scopes(*named: Globals) -> Iterator[None]:
    """Declare the globals, and members of classes and modules, by which the traced code refers to values."""
    outer, within.scopes = within.scopes, (*within.scopes, *named)
    try:
        yield
    finally:
        within.scopes = outer


class unreached(AbstractContextManager[None]):
    """Stage a statement. Its bodies change only what they can reach, so a long list outside of that is searched only
    once."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    def __enter__(self) -> None:
        self._outer, within.statement = within.statement, self
        within.plain = {key: known for key, known in within.plain.items() if not self._may_change(known[0])}

    def __exit__(self, *_: object) -> None:
        within.statement = self._outer
        within.plain = {key: known for key, known in within.plain.items() if known[1] is not self}

    def _may_change(self, value: Any) -> bool:
        """Whether the bodies may change a list or dict. If they reach iterators, they may run any code."""
        return self._reach.is_partial or bool(self._reach.iterators) or self._reach.met(value)

    @classmethod
    def note(cls, value: Any) -> None:
        """Record that a list or dict holds only numbers and text, or tuples of these, for the outermost statement that
        cannot change it."""
        statement, found = within.statement, None
        while statement is not None and not statement._may_change(value):
            statement, found = statement._outer, statement
        if found is not None:
            within.plain = {**within.plain, id(value): (value, found)}


def was_before(value: Any) -> bool:
    """Whether the innermost running body could reach a container when it began."""
    return any(reached.value is value for reached in within.reached or ())


def references(values: Iterable[Any]) -> Counter[int]:
    """By id, how many variables, items and attributes in the code being traced refer to each of the values."""
    wanted = {id(value): value for value in values}
    return _counted(wanted, {}) if wanted else Counter()


def with_more_references(values: Mapping[int, tuple[Any, int]]) -> Container[int]:
    """The ids of the values, each given with a number by its id, that more variables, items and attributes refer to."""
    if not values:
        return ()
    counts = _counted({key: value for key, (value, _) in values.items()}, {key: n for key, (_, n) in values.items()})
    return {key for key, (_, most) in values.items() if counts[key] > most}


def _counted(wanted: dict[int, Any], most: Mapping[int, int]) -> Counter[int]:
    """The references to the wanted values by id; if `most` has a number for each, counting ends as soon as there are
    more to each."""
    count = _Count(wanted)
    for value in wanted.values():
        count.look_into(value)
    found: Counter[int] = Counter()
    free: dict[str, int] = {}  # variables of the functions that enclose the frames found
    for frame in _frames():
        code = frame.f_code
        for name, local in frame.f_locals.items():
            local = unwrapped(local)
            if id(local) not in wanted:
                count.meet(local)
                continue
            if name.startswith("value_") and name in temporaries_in(code):
                continue
            if name in code.co_freevars:
                free[name] = id(local)
            else:
                free.pop(name, None)
                found[id(local)] += 1
            count.known.add(name)
    found += Counter(free.values())
    if most:
        count.wait_for({key: n + 1 - found[key] for key, n in most.items()})
    count.cells(("", cell) for cell in reversed(within.variables))  # the innermost first
    for scope in within.scopes:
        for name in scope.names & scope.namespace.keys():
            count.meet(scope.namespace[name])
    count.run()
    return found + count.found


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(3)
    while frame is not None and frame.f_code not in _outermost:
        if not is_opaque(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


_SEARCHED: Final = (*LISTS, dict, FunctionType, MethodType)


class _Count:
    """Counts the references to the wanted values in everything that is reached."""

    def __init__(self, wanted: dict[int, Any]) -> None:
        self.wanted = wanted
        self._tuples = any(isinstance(value, tuple) for value in wanted.values())
        self.found: Counter[int] = Counter()
        self.known: set[str] = set()
        """Names of variables already counted in frames: not counted again as closure cells."""
        self._seen: set[int] = set()
        self._pending: list[Any] = []
        self._wait: dict[int, int] = {}
        """By id, how many more references to find before the search may end; if empty, it finds all."""
        self._is_over = False

    def wait_for(self, counts: Mapping[int, int]) -> None:
        """End the search as soon as these references have been found, by id."""
        self._wait = {key: more for key, n in counts.items() if (more := n - self.found[key]) > 0}
        self._is_over = not self._wait

    def meet(self, value: Any) -> None:
        if id(value) in self.wanted:
            self.found[id(value)] += 1
            if id(value) in self._wait:
                self._found_waited(id(value))
            return
        kind: Any = type(value)
        if kind in ATOMS:
            return
        if hasattr(kind, "__wraps__"):  # a name for the wrapper is a name for its content
            self.meet(value.__wraps__())
        elif issubclass(kind, tuple):
            if id(value) not in self._seen and not only_atoms(value):
                self.look_into(value)
        elif issubclass(kind, _SEARCHED) or is_users_object(value) or slots_of(kind) or hasattr(kind, "__viewed__"):
            self.look_into(value)

    def _found_waited(self, key: int) -> None:
        self._wait[key] -= 1
        if not self._wait[key]:
            del self._wait[key]
            self._is_over = not self._wait

    def look_into(self, value: Any) -> None:
        if id(value) not in self._seen and len(self._seen) < MOST:
            self._seen.add(id(value))
            self._pending.append(value)

    def run(self) -> None:
        """Search everything that has been found."""
        for value in self._pending:  # grows meanwhile
            if self._is_over:
                break
            if isinstance(value, MethodType):
                self.meet(value.__self__)
            elif isinstance(value, FunctionType):
                if not is_opaque(value.__code__.co_filename):
                    self.meet(value.__defaults__)
                    self.meet(value.__kwdefaults__)
                    self.cells(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
            else:
                for part in _parts(value, self._tuples):
                    self.meet(part)

    def cells(self, cells: Iterable[tuple[str, CellType]]) -> None:
        for name, cell in cells:
            if self._is_over:
                break
            if cell_is_filled(cell) and id(cell) not in self._seen and not (
                    id(unwrapped(cell.cell_contents)) in self.wanted and name in self.known):
                self._seen.add(id(cell))
                self.meet(cell.cell_contents)


_LONG: Final = 1000


def _parts(holder: Any, tuples: bool) -> Iterable[Any]:
    """What an object holds that may lead to other objects. `tuples`: also tuples of numbers and text."""
    if hasattr(type(holder), "__viewed__"):
        return [holder.__viewed__()]
    if isinstance(holder, (*LISTS, tuple, dict)):
        items = dict.values(holder) if isinstance(holder, dict) else holder
        if id(holder) in within.plain and not tuples:
            return ()
        if not only_atoms(items) and (tuples or not only_records(items)):
            return list(items)
        if len(items) > _LONG:
            unreached.note(holder)
        return ()
    return (fields_in(holder) or {}).values()
