"""The errors for changes and identity tests of containers that staged code cannot give Python's meaning."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from autograph.backend import LIST_OR_DICT, containers_in, is_record, parts_in
from runtime.core.errors import StagingError, locate, subject
from runtime.core.object_mode import want_references
from runtime.core.positions import Position
from runtime.core.tensor import GraphTensor

if TYPE_CHECKING:
    from runtime.staging.aliases.open_bodies import Element

__all__ = ["refuse_change", "refuse_comparison", "refuse_element"]


def refuse_change(value: Any, name: str, place: Position | None) -> NoReturn:
    """Raise the error for a change of `value` through one of two names that may be aliases."""
    changed = next(iter(containers_in([value]).values()), value)
    want_references(type(changed) in LIST_OR_DICT)
    kind, copy = _kind(changed)
    links = (" Linked objects cannot grow in staged code: keep their parts in lists, indices in place of references."
             if is_record(changed) and any(part is None or type(part) is type(changed)
                                           for _, part in parts_in(changed)) else "")
    error = StagingError(
        f"whether {subject(name)} is the same {kind} here as another name is known only when the graph runs, and one"
        " of them is changed: staged code does not see the change by the other name",
        remedy=f"Give each name a {kind} of its own where the program allows it: {copy}(x).{links}")
    locate(error, place)
    raise error


def refuse_comparison(value: Any, name: str, place: Position | None) -> NoReturn:
    """Raise the error for an identity test (`is`) of `value`, which is a different container in each iteration."""
    want_references(type(value) in LIST_OR_DICT)
    kind, _ = _kind(value)
    error = StagingError(
        f"whether {subject(name)} is the same {kind} here as another name is known only when the graph runs, and it is"
        " asked here (`is`)", remedy="Keep a number or bool that says which one it is.")
    locate(error, place)
    raise error


def refuse_element(element: Element) -> NoReturn:
    """Raise the error for a changed element."""
    want_references(type(element.value) in LIST_OR_DICT)
    kind, copy = _kind(element.value)
    when = "was put into another list here" if element.is_put else "was read from another list here"
    remedy = (f"Put in a copy: {copy}(x); or change it before." if element.is_put
              else f"Change a copy, and put that in: x = {copy}(xs[i]), then xs[i] = x.")
    error = StagingError(
        f"a {kind} is changed after it {when}, which holds what was in it: staged code does not see the change there",
        remedy=remedy)
    locate(error, element.place)
    raise error


def _kind(value: Any) -> tuple[str, str]:
    """A container's name in messages, and the expression that copies it."""
    if isinstance(value, GraphTensor):
        return "array", "numpy.copy"
    stands_for = getattr(type(value), "__stands_for__", list)
    kind = stands_for.__name__ if hasattr(type(value), "__become__") else type(value).__name__
    return kind, kind if kind in ("list", "dict", "set") else "copy.copy"
