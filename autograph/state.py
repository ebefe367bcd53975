"""The state of a converted statement, and its bodies as pure functions of that state.

Only staging comes here: on plain Python values the bodies run as they are.
"""
from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any, cast

from .backend import UNBOUND
from .frames import is_internal
from .heap import Heap

__all__ = ["Body", "Restage", "State", "Test"]

_Path = tuple[Any, ...]


class Restage(BaseException):
    """A body changed what was not known to be state: the statement is staged again, with it."""


class State:
    """The variables, attributes and items that a statement names, found through the cells of its bodies."""

    def __init__(
        self, names: tuple[str, ...], stages: Callable[[Any], bool], *functions: Callable[..., Any] | None
    ) -> None:
        self.stages = stages
        cells: dict[str, CellType] = {}
        self.globals: dict[str, Any] = {}
        self.codes: list[CodeType] = []
        for fn in functions:
            if fn is not None:
                cells.update(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
                self.globals = fn.__globals__
                self.codes.append(fn.__code__)
        self.of_callees = _add_cells_of_callees(cells)
        self.cells = cells
        self.names = frozenset(names)
        self.discovered: set[str] = set()
        """Attributes and items that a body turned out to change, though the statement does not name them."""
        self.paths = [_path(name) for name in names]

    def reachable(self) -> Iterator[tuple[str, Any]]:
        """The variables that the bodies use, with their values: of the functions around them, and globals."""
        for name, cell in self.cells.items():
            if not _is_empty(cell):
                yield name, cell.cell_contents
        codes = list(self.codes)
        for code in codes:
            codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
            for name in code.co_names:
                if name in self.globals and name not in self.cells:
                    yield name, self.globals[name]

    def read(self) -> tuple[Any, ...]:
        return tuple(self.get(path) for path in self.paths)

    def write(self, values: tuple[Any, ...]) -> None:
        for path, value in zip(self.paths, values):  # variables first: attributes and items hang on them
            if len(path) == 1:
                self.set(path, value)
        for path, value in zip(self.paths, values):
            if len(path) > 1:
                self.set(path, value)

    def get(self, path: _Path) -> Any:
        root = path[0]
        cell = self.cells.get(root)
        try:
            value = cell.cell_contents if cell is not None else self.globals[root]
            for kind, key in path[1:]:
                value = getattr(value, key) if kind == "." else value[self.key(kind, key)]
        except (ValueError, KeyError, AttributeError, IndexError, TypeError):
            return UNBOUND
        return value

    def set(self, path: _Path, value: Any) -> None:
        root = path[0]
        if len(path) == 1:
            cell = self.cells.get(root)
            if cell is not None:
                if value is not UNBOUND:
                    cell.cell_contents = value
                elif not _is_empty(cell):
                    del cell.cell_contents
            elif value is not UNBOUND:
                self.globals[root] = value
            else:
                self.globals.pop(root, None)
            return
        if self.get(path) is value:
            return
        holder = self.get(path[:-1])
        if holder is UNBOUND:
            return
        kind, key = path[-1]
        if kind == ".":
            if value is UNBOUND:
                delattr(holder, key)
            else:
                setattr(holder, key, value)
        elif value is UNBOUND:
            del holder[self.key(kind, key)]
        else:
            holder[self.key(kind, key)] = value

    def key(self, kind: str, key: Any) -> Any:
        return self.get((key,)) if kind == "[name]" else key


@functools.lru_cache(maxsize=4096)
def _path(name: str) -> _Path:
    """`"self.d['k'][i]"` as `('self', ('.', 'd'), ('[]', 'k'), ('[name]', 'i'))`."""
    node: ast.expr = ast.parse(name, mode="eval").body
    steps: list[tuple[str, Any]] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append((".", node.attr))
        else:
            assert isinstance(node, ast.Subscript), name
            key = node.slice
            steps.append(("[name]", key.id) if isinstance(key, ast.Name) else ("[]", ast.literal_eval(key)))
        node = node.value
    return node.id, *reversed(steps)


def _contents(cell: CellType) -> Any:
    return UNBOUND if _is_empty(cell) else cell.cell_contents


def _add_cells_of_callees(cells: dict[str, CellType]) -> list[str]:
    """Add what the functions in the cells close over, as a body that calls them may change that; the names added."""
    known = set(cells)
    pending = list(cells.values())
    for cell in pending:
        callee = None if _is_empty(cell) else cell.cell_contents
        if type(callee) is FunctionType and not is_internal(callee.__code__.co_filename):
            for name, inner in zip(callee.__code__.co_freevars, callee.__closure__ or ()):
                if name not in cells:
                    cells[name] = inner
                    pending.append(inner)
    return [name for name in cells if name not in known]


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


_NOTHING = object()


class Body:
    """A body as a pure function from state to state. Each call leaves all cells as it found them."""

    def __init__(
        self, fn: Callable[..., Any] | None, state: State, place: Callable[..., Any] | None = None,
        item: Any = _NOTHING,
    ) -> None:
        self.fn, self.state, self.item = fn, state, item
        function = fn if fn is not None else place
        code = cast(FunctionType, getattr(function, "place", function)).__code__
        self.filename, self.lineno = code.co_filename, code.co_firstlineno

    def __call__(self, *values: Any) -> Any:
        fn, state = self.fn, self.state
        if fn is None:
            return values
        arguments: tuple[Any, ...] = ()
        if self.item is not _NOTHING:
            arguments = (self.item,)
        elif len(values) > len(state.paths):
            arguments, values = values[:1], values[1:]
        cells = [(cell, _contents(cell)) for cell in fn.__closure__ or ()]
        beyond = [(name, state.cells[name], _contents(state.cells[name])) for name in state.of_callees]
        before = state.read()
        state.write(values)
        heap = Heap(state.reachable())
        try:
            return self.result(fn(*arguments))
        finally:
            state.discovered |= heap.take_back(state.names, state.stages)
            state.discovered |= {
                name for name, cell, value in beyond
                if name not in state.names and _contents(cell) is not value and state.stages(_contents(cell))}
            state.write(before)
            for cell, value in cells + [(cell, value) for name, cell, value in beyond if name not in state.names]:
                if value is not UNBOUND:
                    cell.cell_contents = value
                elif not _is_empty(cell):
                    del cell.cell_contents
            if state.discovered:  # at once: a result that is made of it would be in other variables, too
                raise Restage

    def result(self, _returned: Any) -> Any:
        return self.state.read()


class Test(Body):
    """A test as a pure function from state to predicate."""

    def result(self, returned: Any) -> Any:
        return returned
