"""Steps of paths: what computes an attribute, whose items can be set, and which places hold a container."""
from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import pytest

from autograph.state.path_steps import (
    computes_items,
    has_namesakes,
    is_computed,
    items_of,
    note_places,
    stores_itself,
    takes_any,
)


class Slots:
    __slots__ = ("x",)


class Watched:
    def __init__(self) -> None:
        self.x = 1

    @property
    def y(self) -> int:
        return self.x

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def append(self, value: Any) -> None:
        self.x = value


def test_attributes_that_are_computed() -> None:
    assert is_computed(Watched(), "y") and not is_computed(Watched(), "x")
    assert not is_computed(Slots(), "x") and not is_computed(SimpleNamespace(x=1), "x")


class Delegating:
    """Keeps all of its attributes in another object."""

    def __init__(self) -> None:
        vars(self)["inner"] = SimpleNamespace()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.inner, name, value)


def test_objects_that_store_an_attribute() -> None:
    assert stores_itself(Watched(), "x") and stores_itself(Watched(), "new") and stores_itself(Slots(), "x")
    assert stores_itself(Delegating(), "inner") and not stores_itself(Delegating(), "x")
    assert not stores_itself(SimpleNamespace, "x") and not stores_itself(Watched(), "__dict__")


def test_whose_methods_move_items() -> None:
    class Tracked(dict[Any, Any]):
        def __setitem__(self, key: Any, value: Any) -> None:
            raise AssertionError

    class Computed(dict[Any, Any]):
        def __getitem__(self, key: Any) -> Any:
            return 1

    class Ordered(OrderedDict[Any, Any]):
        pass

    for holder, cls in ((Tracked(), dict), (Computed(), dict), (Ordered(), OrderedDict), ([1], list)):
        assert items_of(holder) is cls
        assert computes_items(holder) == isinstance(holder, Computed)
    assert computes_items(Watched()) and not computes_items((1, 2))


@pytest.mark.parametrize("holder, kind, can_be_set", [
    ([1], "[]", True), ({}, "[]", True), ((1,), "[]", False), (Slots(), ".", True), (Watched(), ".", False)])
def test_whose_parts_can_be_set(holder: Any, kind: str, can_be_set: bool) -> None:
    assert takes_any(holder, kind) is can_be_set


def test_classes_with_methods_that_have_names_of_those_of_lists() -> None:
    assert has_namesakes(Watched) and not has_namesakes(Slots) and not has_namesakes(list)


def test_the_places_of_containers() -> None:
    inner = [1]
    outer = [inner, (inner, "text")]
    places: dict[int, tuple[Any, set[Any]]] = {}
    note_places(outer, "x", places)
    note_places(inner, "y", places)
    assert places[id(outer)] == (outer, {"x"})
    assert places[id(inner)] == (inner, {(id(outer), 0), (id(outer[1]), 0), "y"})
