"""Join conflicts of objects that are created in staged code or selected by a tensor."""
from __future__ import annotations

from types import GeneratorType
from typing import Any, NoReturn

from autograph.backend import can_be_record, is_record
from runtime.core.array_mode import want_record, want_sets
from runtime.core.errors import StagingError, subject
from runtime.core.object_mode import want_references
from runtime.core.positions import staging_error
from runtime.staging.elements.select import Select, alternatives_of
from runtime.staging.joins.lattice import Conflict, Nested, Spec, Static, kind_text, value_of
from runtime.staging.storage.set import StagedSet
from runtime.staging.values.trials import trials

__all__ = ["is_row", "refuse_object", "refuse_row", "retrace_for_elements", "retrace_if_objects"]


def refuse_object(conflict: Conflict, what: str) -> StagingError:
    """The error for two conflicting objects, unless the function is retraced with such objects as state."""
    error = staging_error(what, "Give each name a set of its own where the program allows it: s = set(s)."
                          if isinstance(value_of(conflict.left), (set, StagedSet)) else
                          "Make its class a dataclass, or change the attributes of one object.")
    retrace_if_objects(conflict, error)
    return error


def retrace_if_objects(conflict: Conflict, error: StagingError) -> None:
    """Retrace the function if the conflict behind `error` is about sets, objects of plain classes, or lists of which a
    tensor chooses one."""
    want_references(any(map(_has_chosen_list, (conflict.left, conflict.right))))
    sides = [side.value for side in (conflict.left, conflict.right) if isinstance(side, Static)]
    if trials.depth == 0 and sides and all([type(side) is set for side in sides]):
        want_sets(error)
    objects = [value_of(side) for side in (conflict.left, conflict.right)]
    if trials.depth == 0 and all([is_record(one) or can_be_record(type(one)) for one in objects]):
        for one in objects:
            want_record(error, type(one))
    retrace_for_elements(error, conflict.left, conflict.right)


def _has_chosen_list(spec: Spec) -> bool:
    value = value_of(spec)
    return (_is_choice(value) and type(value).__stands_for__ is list) or (
        isinstance(spec, Nested) and any(map(_has_chosen_list, spec.children)))


def retrace_for_elements(error: StagingError, *specs: Spec) -> None:
    """Retrace the function if there are objects of plain classes, or sets, in the lists, tuples and dicts with these
    specs: as state, they can be elements of lists and dicts of the graph."""
    for spec in specs if trials.depth == 0 else ():
        for child in spec.children if isinstance(spec, Nested) else ():
            if isinstance(child, Static) and can_be_record(type(child.value)):
                want_record(error, type(child.value))
            if isinstance(child, Static) and type(child.value) is set:
                want_sets(error)
            retrace_for_elements(error, child)


def is_row(conflict: Conflict) -> bool:
    """Whether a side of the conflict is a tensor's choice among objects, such as a row of a list of lists."""
    return any(_is_choice(value_of(spec)) for spec in (conflict.left, conflict.right))


def _is_choice(value: Any) -> bool:
    return getattr(type(value), "__stands_for__", GeneratorType) is not GeneratorType


def refuse_row(conflict: Conflict, name: str, when: str) -> NoReturn:
    """Raise the error for such a conflict: `when` tells which paths or iterations assign different objects."""
    sides = value_of(conflict.left), value_of(conflict.right)
    want_references(any(map(_has_chosen_list, (conflict.left, conflict.right))))
    one = next(filter(_is_choice, sides))
    what, remedy = (("row of a list of lists", "Copy the row, row[:], or keep its index.")
                    if type(one).__stands_for__ is list else (kind_text(one), "Keep its index, or copy it."))
    error = staging_error(
        f"{subject(name)} is, or has, another {what} {when}, and which one is known only when the graph runs", remedy)
    if trials.depth == 0:
        for side in sides:
            for each in alternatives_of(side)[0] if isinstance(side, Select) else (side,):
                want_record(error, type(each))
    raise error from None
