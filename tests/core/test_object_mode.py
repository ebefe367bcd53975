"""When a function is traced again with its objects by reference."""
from __future__ import annotations

from typing import Any

import pytest

from runtime.core.errors import StagingError
from runtime.core.object_mode import NeedsReferences, by_reference, lists_of_arenas, name_of, note_made, want_references


class Job:
    pass


class Arena:
    cls: Any = None

    def __init__(self) -> None:
        self.fields: dict[str, list[Any]] = {"x": [1]}

    def bind(self, cls: type) -> None:
        self.cls = cls


def test_an_error_about_objects_that_the_trace_made() -> None:
    with pytest.raises(NeedsReferences) as info, by_reference({}) as mode:
        assert note_made(Job, ["x"]) is None
        want_references()
        raise StagingError("refused")
    assert str(info.value.error) == "refused"
    assert mode.made == {name_of(Job): ("x",)}


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
        assert lists_of_arenas() == [[1]]
    assert lists_of_arenas() == []
    assert arena.cls is Job
