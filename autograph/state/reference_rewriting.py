"""What refers to an object: the variables, items and attributes that lead to it.

A body of a staged statement has copies of the lists and objects that it may change, so all by which it can reach one of
them has to lead to the copy while it runs. And where a list becomes a staged list, which is another object, all that
refers to it is made to refer to that: a list that a function was given and appends to grows for its caller too, and for
a tuple that holds it.
"""
from __future__ import annotations

import ctypes
import sys
import threading
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Final, cast

from autograph.core.slots import Globals, fields_in, is_users_object, put, slots_of
from autograph.core.trace_cleanup import of_trace
from autograph.core.tracebacks import is_opaque
from autograph.core.versions import LOCALS_WRITE_THROUGH
from autograph.state.reachability import MOST, Reach, cell_is_filled, only_atoms

__all__ = ["Exchange", "exchange", "outermost", "references", "taken_back_at", "variables", "was_before", "within"]

outermost: Final[list[CodeType]] = []
"""Code of a backend that calls a function to trace it: the user's frames are looked at up to there."""


class _Within(threading.local):
    exchanges: list[Exchange] | None = None
    """Those made while the innermost body runs, which its end takes back; None outside of bodies."""
    variables: tuple[CellType, ...] = ()
    """Of the bodies that run, the variables that no code of the user's has."""
    reached: Any = None
    """What the innermost body that runs could reach when it began: `Held`, as `Reach` has it."""


within: Final = of_trace(_Within())


@contextmanager
def variables(*cells: CellType) -> Iterator[None]:
    """While code runs that refers to what the user's code has in these cells, which no code of the user's has."""
    outer, within.variables = within.variables, (*within.variables, *cells)
    try:
        yield
    finally:
        within.variables = outer


def was_before(value: Any) -> bool:
    """Whether the innermost body that runs could reach a container when it began."""
    return any(held.value is value for held in within.reached or ())


def exchange(*pairs: tuple[Any, Any]) -> None:
    """Let the variables of the user's frames of the function being traced, and all that is in them, refer to the second
    of a pair where they refer to the first."""
    made, reach = Exchange({id(old): (old, new) for old, new in pairs}), Reach(())
    if within.exchanges is not None:
        within.exchanges.append(made)
    for frame in _frames():
        reach.of_code(frame.f_code, frame.f_globals, "module")
        made.in_frame(frame)
    reach.run()
    made.beyond(reach)
    made.cells(("", cell) for cell in within.variables)
    made.run()


class taken_back_at(AbstractContextManager[None]):
    """Exchanges that are made meanwhile are taken back if one of these errors ends it."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self.errors = errors

    def __enter__(self) -> None:
        self.outer, within.exchanges = within.exchanges, []
        self.made = within.exchanges

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        within.exchanges = self.outer
        if kind is not None and issubclass(kind, self.errors):
            for each in reversed(self.made):
                each.take_back()
        elif self.outer is not None:
            self.outer += self.made


def references(values: Iterable[Any]) -> Counter[int]:
    """By id, how many variables, items and attributes have each of the values in the code being traced."""
    pairs = {id(value): (value, value) for value in values}
    count = Exchange(pairs)
    count.look_into(pair[0] for pair in pairs.values())
    variables: Counter[int] = Counter()
    free: dict[str, int] = {}  # variables of functions around the frames that were met
    for frame in _frames():
        code = frame.f_code
        for name, held in frame.f_locals.items():
            if id(held) not in pairs:
                count.of(held)
                continue
            if name in code.co_freevars:
                free[name] = id(held)
            else:
                free.pop(name, None)
                variables[id(held)] += 1
            count.known.add(name)
    count.cells(("", cell) for cell in within.variables)
    count.run()
    return variables + Counter(free.values()) + count.found


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code not in outermost:
        if not is_opaque(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


class Exchange:
    """Puts objects in the place of others, given by id as pairs of the old and the new one, wherever they are met.

    Tuples that hold one of them are made anew, and put in the place of the old ones.
    """

    def __init__(self, pairs: Mapping[int, tuple[Any, Any]]) -> None:
        self.pairs = pairs
        self.found: Counter[int] = Counter()
        """By id, how often each of the old ones was met."""
        self.known: set[str] = set()
        """Variables that closures are not to be looked into for."""
        self._tuples: dict[int, tuple[Any, Any]] = {}
        self._seen: set[int] = set()
        self._pending: list[Any] = []
        self._done: list[tuple[Any, Any, Any]] = []

    def of(self, value: Any) -> Any:
        """What is to be in the place of `value`, which is looked into by `run`."""
        pair = self.pairs.get(id(value))
        if pair is not None:
            self.found[id(value)] += 1
            return pair[1]
        kind = type(value)
        if issubclass(kind, tuple):
            return self._tuple(value)
        if id(value) not in self._seen and len(self._seen) < MOST and (
                issubclass(kind, (list, dict, FunctionType, MethodType)) or is_users_object(value)
                or slots_of(cast(Hashable, kind))):
            self._seen.add(id(value))
            self._pending.append(value)
        return value

    def look_into(self, values: Iterable[Any]) -> None:
        """Have `run` look into these, which are not to be replaced where they are met."""
        for value in values:
            if id(value) not in self._seen:
                self._seen.add(id(value))
                self._pending.append(value)

    def _tuple(self, value: tuple[Any, ...]) -> Any:
        known = self._tuples.get(id(value))
        if known is None and only_atoms(value):
            return value
        if known is None:
            items = [self.of(item) for item in value]
            same = all(a is b for a, b in zip(items, value, strict=True))
            other = value if same else tuple.__new__(type(value), items)
            known = self._tuples[id(value)] = value, other
        return known[1]

    def run(self) -> None:
        """Look into all that has been met."""
        for value in self._pending:  # grows meanwhile
            if isinstance(value, MethodType):
                self.of(value.__self__)
            elif isinstance(value, FunctionType):
                if not is_opaque(value.__code__.co_filename):
                    self._function(value)
            else:
                self._within(value)

    def cells(self, cells: Iterable[tuple[str, CellType]]) -> None:
        for name, cell in cells:
            try:
                value = cell.cell_contents
            except ValueError:  # empty
                continue
            if id(cell) not in self._seen and not (id(value) in self.pairs and name in self.known):
                self._seen.add(id(cell))
                self._within(cell)

    def in_frame(self, frame: FrameType) -> None:
        """The variables of a function that runs."""
        changed = [(name, old, new) for name, old in frame.f_locals.items() if (new := self.of(old)) is not old]
        _set(frame, {name: new for name, _, new in changed})
        self._done += [(frame, old, new) for _, old, new in changed]

    def beyond(self, reach: Reach) -> None:
        """What functions and methods that may be called have of their own, and the classes that were met."""
        for names in reach.named:
            self._within(names)
        for held in reach.held:
            if isinstance(held.value, CellType):
                self.cells([("", held.value)])
            elif isinstance(held.value, type):
                self._within(held.value)
            elif isinstance(held.value, ModuleType):
                self._within(Globals(vars(held.value), frozenset(reach.names_in(held.value))))

    def _function(self, fn: FunctionType) -> None:
        self._within(fn)
        self.of(fn.__kwdefaults__)
        self.cells(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))

    def _within(self, holder: Any) -> None:
        if isinstance(holder, (list, dict)) and only_atoms(dict.values(holder) if isinstance(holder, dict) else holder):
            return
        for key, old in _slots(holder):
            new = self.of(old)
            if new is not old:
                _put(holder, key, new)
                self._done.append((holder, old, new))

    def take_back(self) -> None:
        """Put the old ones in the places of the new ones, as far as these are still in what holds them; variables get
        theirs back in any case."""
        for holder, old, new in reversed(self._done):
            if isinstance(holder, CellType):
                holder.cell_contents = old
                continue
            if isinstance(holder, FrameType):
                _set(holder, {name: old for name, value in holder.f_locals.items() if value is new})
                continue
            for key, value in _slots(holder):
                if value is new:
                    _put(holder, key, old)


def _set(frame: FrameType, values: Mapping[str, Any]) -> None:
    variables = frame.f_locals
    variables.update(values)
    if values and not LOCALS_WRITE_THROUGH:
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def _slots(holder: Any) -> list[tuple[Any, Any]]:
    if isinstance(holder, list):
        return list(enumerate(holder))
    if isinstance(holder, dict):
        return list(dict.items(holder))
    if isinstance(holder, CellType):
        return [(None, holder.cell_contents)] if cell_is_filled(holder) else []
    if isinstance(holder, FunctionType):
        return [(None, holder.__defaults__)]
    if isinstance(holder, Globals):
        return [(name, holder.namespace[name]) for name in holder.names if name in holder.namespace]
    if isinstance(holder, type):
        return [(name, value) for name, value in vars(holder).items() if isinstance(value, (list, dict, tuple))]
    return list((fields_in(holder) or {}).items())


def _put(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, FunctionType):
        holder.__defaults__ = value
    else:
        put(holder, key, value)
