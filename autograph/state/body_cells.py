"""The variables of functions, as cells; finds assignments in a body to variables that its statement does not name."""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import CellType, FunctionType
from typing import Any

from autograph.core.backend import UNBOUND
from autograph.core.trace_cleanup import of_trace
from autograph.core.tracebacks import is_opaque
from autograph.state.heap_snapshot import becomes_state
from autograph.state.reachability import assigned_in, cell_is_filled, is_of_library

__all__ = ["BodyCells", "add_cells_of_callees", "bind", "contents_of", "note", "noted", "put_back"]


def contents_of(cell: CellType) -> Any:
    """The value of a variable; UNBOUND if it is unbound."""
    return UNBOUND if not cell_is_filled(cell) else cell.cell_contents


def put_back(cell: CellType, value: Any) -> None:
    """Restore the earlier value of a variable; UNBOUND: unbind it."""
    if value is not UNBOUND:
        cell.cell_contents = value
    elif cell_is_filled(cell):
        del cell.cell_contents


def add_cells_of_callees(cells: dict[str, CellType]) -> list[str]:
    """Add the cells closed over by functions in these cells, transitively: a body that calls the functions may change
    them. Returns the added names."""
    known = set(cells)
    pending = list(cells.values())
    for cell in pending:
        callee = None if not cell_is_filled(cell) else cell.cell_contents
        if type(callee) is FunctionType and (
            hasattr(callee, "place") or not is_opaque(callee.__code__.co_filename)
        ) and not hasattr(callee, "__autograph_do_not_convert__") and not is_of_library(callee):
            for name, inner in zip(callee.__code__.co_freevars, callee.__closure__ or ()):
                if name not in cells:
                    cells[name] = inner
                    pending.append(inner)
                elif name.startswith("ag__") and not any(inner is cell for cell in pending):
                    cells[f"{name}_{len(cells)}"] = inner  # the cell of an operator around this one
                    pending.append(inner)
    return [name for name in cells if name not in known]


class _Noted(threading.local):
    """Ids of the cells that `bind` and `note` recorded since the running body began."""

    def __init__(self) -> None:
        self.cells: set[int] = set()


noted = of_trace(_Noted())


def bind(variable: Any, value: Any, /) -> Any:
    """`(y := value)` in an operand, where `variable` is `lambda: y`."""
    cell = variable.__closure__[0]
    cell.cell_contents = value
    noted.cells.add(id(cell))
    return value


def note(value: Any, /, *variables: Any) -> Any:
    """`value`, the result of an operand that may have assigned the variables `lambda: k`."""
    for variable in variables:
        noted.cells.add(id(variable.__closure__[0]))
    return value


class BodyCells:
    """The cells of a body's functions and of their callees, with their contents before the body."""

    def __init__(
        self, functions: tuple[Any, ...], names: frozenset[str], cells: Mapping[str, CellType],
        stages: Callable[[Any], bool],
    ) -> None:
        """`names`: of the state; `cells`: of all variables that the bodies use; `stages`: whether a value is staged."""
        self.names, self.stages = names, stages
        self.assigned = frozenset().union(*(assigned_in(function.__code__) for function in functions))
        self.closure = [(name, cell, contents_of(cell)) for function in functions
                        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ())]
        known = {id(cell) for _, cell, _ in self.closure}
        self.beyond = [(name, cell, contents_of(cell)) for name, cell in cells.items() if id(cell) not in known]

    def changed(self, sets_up: bool) -> set[str]:
        """The variables that have to become state. Variables that the body assigns are excluded: they are state
        already, or dead."""
        unassigned = [entry for entry in self.closure if entry[0] not in self.assigned]
        return {name for name, cell, value in (*unassigned, *self.beyond)
                if name not in self.names and (now := contents_of(cell)) is not value
                and (id(cell) in noted.cells or becomes_state(value, now, self.stages, sets_up))}

    def restore(self) -> None:
        """Restore the cells, except those of callees' variables that are state."""
        for _, cell, value in self.closure + [entry for entry in self.beyond if entry[0] not in self.names]:
            put_back(cell, value)
