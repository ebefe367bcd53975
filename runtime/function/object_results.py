"""The objects that a traced function has by reference (`runtime.staging.values.arenas`), in the results of its calls:
each call makes all objects of an arena anew."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from autograph.backend import has_staged_items, is_record
from runtime.core.errors import StagingError, locate
from runtime.core.object_mode import known_at_end, want_references
from runtime.core.positions import return_position, staging_error
from runtime.core.tensor import EagerTensor
from runtime.core.trace import convert_to_tensor
from runtime.function.reconstruction import Part, Recipe, Run, Values
from runtime.staging.values.arenas import Arena
from runtime.staging.values.element_layout import classes_in
from runtime.staging.values.list_elements import is_same_element, place_of
from runtime.staging.values.open_bodies import elements_with, resumed
from runtime.staging.values.references import Reference, arenas_in
from runtime.staging.values.shared_elements import may_have_common

__all__ = ["check_identities", "has_objects", "plan_objects", "plan_reference"]


class _Objects(Recipe):
    """The list of the objects in an arena. `attributes`: the recipes of the values of each."""

    def __init__(self, arena: Arena, outputs: list[Any]) -> None:
        super().__init__(arena)
        self.outputs = outputs
        self.attributes: dict[str, Part] = {}

    def make(self, values: Values) -> list[Any]:
        made = values.made[id(self)] = list[Any]()
        for name, part in self.attributes.items():
            found = part(values)
            if not isinstance(found, Run):
                raise staging_error(
                    f"a traced function returns a {self.value.name} here to the one that calls it, which has"
                    " such objects by reference", "Call it as it is without rt.function: f.python_function(...).")
            if not made:
                made += [object.__new__(cls) for cls in self.value.classes_at(found.items)]
            for x, value in zip(made, found.items):  # the last ones may have no such attribute
                if name in self.value.own.get(type(x), ()):
                    object.__setattr__(x, name, value)
        return made


def has_objects(containers: Sequence[Any]) -> bool:
    """Whether there are lists or dicts of the graph, of which a trace of its own would have copies of the objects."""
    return any(_classes_of_items(x) for x in containers)


def _classes_of_items(x: Any) -> set[type]:
    """The classes of the objects that a list or dict of the graph has."""
    return set(classes_in(getattr(x[0], "structure", None))) if has_staged_items(x) else set()


def check_identities(values: Sequence[Any], fn: Any) -> None:
    """StagingError if two of the results of `fn` may be, or have as elements, one object, of which each has a copy."""
    if known_at_end() is None:
        return
    with resumed(known_at_end()):
        lists = [(x, classes) for x in values if (classes := _classes_of_items(x))]
        alone = [x for x in values if is_record(x) and elements_with(x) and place_of(x) != (None, None)]
        for k, x in enumerate(alone):
            owner, _ = place_of(x) or (None, None)
            if any(type(x) in classes and (owner is each or may_have_common(owner, each)) for each, classes in lists):
                _refuse(type(x), fn)
            for other in alone[:k]:
                if type(x) is type(other) and is_same_element(x, other) is not False:
                    _refuse(type(x), fn)
        for k, (x, classes) in enumerate(lists):
            for other, others in lists[:k]:
                if (common := classes & others) and may_have_common(x, other):
                    _refuse(common.pop(), fn)


def _refuse(cls: type, fn: Any) -> NoReturn:
    want_references()
    error = StagingError(
        f"whether two of the results are, or have, one {cls.__name__} is known only when the graph runs",
        remedy="Return the index of the one in the list, or a copy of it: copy.copy(x).")
    locate(error, return_position(fn))
    raise error


def plan_objects(structure: Any, outputs: list[Any], plan: Callable[[Any], Part]) -> None:
    """Plan the objects to which elements of that structure refer. `plan` returns the recipe of the items of a list, and
    appends them to the outputs of the graph."""
    for arena in arenas_in(structure):
        if arena.recipe is None or arena.recipe.outputs is not outputs:
            arena.recipe = _Objects(arena, outputs)
            arena.recipe.attributes = {name: plan(values[0]) for name, values in arena.fields.items() if values}


def plan_reference(
    x: Reference, outputs: list[Any], take: Callable[[list[Any], Any], Part], plan: Callable[[Any], Part]
) -> Part:
    """The recipe of an object in an arena. `take` returns that of a tensor."""
    plan_objects(x.__arena__.layout, outputs, plan)
    objects, index = x.__arena__.recipe, take(outputs, convert_to_tensor(x.__place__))

    def pack(values: Values) -> Any:
        made, place = objects(values), index(values)
        return made[int(place)] if isinstance(place, EagerTensor) else x

    return pack
