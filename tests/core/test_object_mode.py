"""When a function is traced again with its objects by reference."""
from __future__ import annotations

from typing import Any

import pytest

from runtime.core.errors import StagingError
from runtime.core.object_mode import (
    NeedsAdoption,
    NeedsReferences,
    by_reference,
    lists_of_arenas,
    name_of,
    note_made,
    note_outside,
    want_adoption,
    want_references,
)


class Job:
    pass


class Arena:
    cls: Any = None

    def __init__(self) -> None:
        self.fields: dict[str, list[Any]] = {"x": [1]}

    def takes(self, cls: type) -> bool:
        return cls is Job


def test_an_error_about_objects_that_the_trace_made() -> None:
    with pytest.raises(NeedsReferences) as info, by_reference({}) as mode:
        assert note_made(Job, ["x"]) is None
        want_references()
        raise StagingError("refused")
    assert str(info.value.error) == "refused"
    assert mode.made == {name_of(Job): (Job, ("x",))}


@pytest.mark.parametrize(("makes", "wants"), [(True, False), (False, True)])
def test_other_errors(makes: bool, wants: bool) -> None:
    with pytest.raises(StagingError), by_reference({}):
        if makes:
            note_made(Job, ["x"])
        if wants:
            want_references()
        raise StagingError("refused")


def test_the_arena_of_a_class() -> None:
    arena = Arena()
    with by_reference({name_of(Job): arena}):
        assert note_made(Job, ["x"]) is arena
        assert note_made(type("Job", (), {"__qualname__": Job.__qualname__, "__module__": Job.__module__}), []) is None
        assert lists_of_arenas() == [[1]]
    assert lists_of_arenas() == []


def test_whether_the_function_is_traced_again() -> None:
    assert not want_references()
    with by_reference({}):
        assert not want_references()
        note_made(Job, ["x"])
        assert want_references()


def test_objects_from_before_the_call() -> None:
    """They are a reason to trace again, after an error, or before one if the trace may ask for that; but not if there
    were none when it first asked."""
    found = {name_of(Job): (Job, ("x",))}
    with pytest.raises(NeedsReferences), by_reference({}):
        note_outside(lambda: found)
        want_adoption()
        want_references()
        raise StagingError("refused")
    with pytest.raises(NeedsAdoption), by_reference({}, may_adopt=True):
        note_outside(lambda: found)
        with pytest.raises(NeedsAdoption):  # as where a statement is staged again in place of it
            want_adoption()
        want_adoption()
    with by_reference({}, may_adopt=True):
        want_adoption()
        note_outside(lambda: found)
        want_adoption()
