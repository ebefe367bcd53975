"""Arrays that become elements of staged lists, which store their elements, not the arrays."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from autograph.backend import Late, references
from runtime.core.array_mode import note_put, want_objects
from runtime.core.errors import StagingError
from runtime.core.positions import staging_error
from runtime.numpy.array_choices import owners_of
from runtime.numpy.array_objects import ArrayCell, StagedArray

__all__ = ["PUTS", "put_array"]


class Puts(Late):
    """Forward declaration."""

    record: Callable[[Any], None]
    """Record that a mutable value was put into a list: `runtime.staging.aliases.list_elements`."""
    written: Callable[[list[Any]], None]
    """Record that an array which is an element of a list has changed in place."""
    may_be_written: Callable[[list[Any] | None], bool]
    """Whether a loop's body has changed elements of that list in place, so that the next iteration does; None: of any
    list."""


PUTS: Final = Puts()


def put_array(x: StagedArray, target: list[Any] | None, in_rows: bool = False) -> None:
    """Record that an array, or its rows, become elements of a list, which copies their current contents. `target`: the
    list, if known."""
    owners = owners_of(x)
    is_shared = in_rows or not owners or owners[0] is not x or bool(references(owners)[id(x)])
    note_put(is_shared)
    if is_shared and PUTS.may_be_written(target):
        raise want_objects(staging_error(
            "an array with other names is put into a list here, and the loop changes arrays of that list: a list that"
            " changes in staged code holds the elements of the arrays, not the arrays themselves",
            "Put copies in it: xs.append(a.copy())."))
    for owner in owners:
        PUTS.record(owner)
        if is_shared and isinstance(owner, ArrayCell):
            owner.refusal = _is_in_list


def _is_in_list() -> StagingError:
    return StagingError(
        "an array is changed that was put into a list, or of which a view was: a list that changes in staged code holds"
        " the elements of the arrays, not the arrays themselves",
        remedy="Put copies in it, xs.append(a.copy()), and change its items by their index, xs[i][j] = x.")
