"""The objects that a traced function has by reference (`runtime.staging.storage.arenas`), in the results of its calls:
each call makes all objects of an arena anew."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations
from typing import Any, NoReturn

from autograph.backend import LIST_OR_DICT, fill, has_staged_items, is_record, parts_in
from runtime.core.errors import StagingError, locate
from runtime.core.object_mode import arenas_of_objects, known_at_end, want_references
from runtime.core.positions import return_position, staging_error
from runtime.core.tensor import EagerTensor
from runtime.core.trace import convert_to_tensor
from runtime.function.results.reconstruction import Part, Recipe, Run, Values, constant
from runtime.staging.aliases.alias_tracking import relations_of
from runtime.staging.aliases.list_elements import is_same_element, place_of
from runtime.staging.aliases.open_bodies import elements_with, resumed
from runtime.staging.aliases.shared_elements import may_have_common
from runtime.staging.elements.element_classes import arenas_in, classes_in, containers_in
from runtime.staging.elements.references import Reference
from runtime.staging.joins.container_arenas import ContainerArena, ContainerReference, need_references_by
from runtime.staging.storage.arenas import Arena
from runtime.staging.values.iterables import view_of
from runtime.staging.values.list import StagedList

__all__ = [
    "check_identities", "has_adopted", "has_objects", "plan_adopted", "plan_container", "plan_objects",
    "plan_reference"]


class _Objects(Recipe):
    """The list of the objects in an arena. `attributes`: the recipes of the values of each."""

    def __init__(self, arena: Arena, outputs: list[Any]) -> None:
        super().__init__(arena)
        self.outputs = outputs
        self.attributes: dict[str, Part] = {}
        self.numbers: Part = constant(None)
        """The recipe of a list with an item for each object: of several classes, their numbers."""

    def make(self, values: Values) -> list[Any]:
        numbers = self.numbers(values)
        if not isinstance(numbers, Run):
            raise staging_error(
                f"a traced function returns a {self.value.name} here to the one that calls it, which has"
                " such objects by reference", "Call it as it is without rt.function: f.python_function(...).")
        arena = self.value
        made = values.made[id(self)] = [part(values) for part in arena.adopted]
        first = len(made)
        made += [object.__new__(cls) for cls in arena.classes_at(numbers.items)[first:]]
        for name, part in self.attributes.items():
            begin = 0 if name in arena.written else first
            for x, value in zip(made[begin:], part(values).items[begin:]):  # the last ones may have no such attribute
                if name in arena.own.get(type(x), ()):
                    object.__setattr__(x, name, value)
        return made


class _Containers(Recipe):
    """The list of the containers in an arena. `items`: the recipe of the items of each; `arguments`: the containers of
    the call that are in it, each by its number among these with the recipe of its index in the arena."""

    items: Part

    def __init__(self, arena: ContainerArena, outputs: list[Any]) -> None:
        super().__init__(arena)
        self.outputs = outputs
        self.arguments: list[tuple[int, Part]] = []

    def make(self, values: Values) -> list[Any]:
        found = self.items(values)
        if not isinstance(found, Run):
            raise staging_error(
                f"a traced function returns a {self.value.name} here to the one that calls it, which has such"
                " containers by reference", "Call it as it is without rt.function: f.python_function(...).")
        made = values.made[id(self)] = found.items
        containers = values.containers
        for place, index in self.arguments if containers is not None else ():
            assert containers is not None
            container, k = containers[place], int(index(values))
            fill(container, parts_in(made[k]))
            made[k] = container
        return made


def has_objects(containers: Sequence[Any]) -> bool:
    """Whether there are lists or dicts of the graph, of which a trace of its own would have copies of the objects."""
    return any(_classes_of_items(x) for x in containers)


def _classes_of_items(x: Any) -> set[type]:
    """The classes of the objects that a list or dict of the graph has."""
    return set(classes_in(getattr(x[0], "structure", None))) if has_staged_items(x) else set()


def check_identities(values: Sequence[Any], fn: Any) -> None:
    """StagingError if two of the results of `fn` may be, or have as elements, one object, list or dict, of which each
    has a copy."""
    if known_at_end() is None:
        return
    with resumed(known_at_end()):
        cls = next(chain(_chosen_in_doubt(values), _lists_in_doubt(values)), None)
        if cls is not None:
            _refuse(cls, fn)


def _lists_of(values: Sequence[Any]) -> list[tuple[Any, set[type]]]:
    return [(x, kinds) for x in values if (kinds := _kinds_of_items(x))]


def _chosen_in_doubt(values: Sequence[Any]) -> Iterator[type]:
    """The classes of chosen objects, lists and dicts that may be an element of a list, or one another."""
    lists = _lists_of(values)
    chosen = [x for x in values if (is_record(x) or type(x) in LIST_OR_DICT) and elements_with(x) and place_of(
        x) != (None, None)]
    for k, x in enumerate(chosen):
        owner, _ = place_of(x) or (None, None)
        if any(type(x) in kinds and (owner is each or may_have_common(owner, each)) for each, kinds in lists):
            yield type(x)
        if any(type(x) is type(other) and is_same_element(x, other) is not False for other in chosen[:k]):
            yield type(x)


def _lists_in_doubt(values: Sequence[Any]) -> Iterator[type]:
    """The classes of lists and dicts that may be one another, and of elements that two lists may have in common."""
    plain = {id(x): x for x in values if type(x) in LIST_OR_DICT}
    elements = [{id(item) for item in x} for x in plain.values() if type(x) is list]
    for x in plain.values():
        for relation in relations_of(x):
            both = {id(x), id(relation.other)}  # of two elements of one list it is not known whether they can be one
            if both <= plain.keys() and len(both) == 2 and not any(map(both.issubset, elements)):
                need_references_by(relation.name, relation.place)
                yield type(x)
    for (x, kinds), (other, others) in combinations(_lists_of(values), 2):
        if (common := kinds & others) and may_have_common(other, x):
            yield common.pop()


def _kinds_of_items(x: Any) -> set[type]:
    """The classes of the objects, lists and dicts that a list or dict of the graph has."""
    structure = getattr(x[0], "structure", None) if has_staged_items(x) else None
    return set() if structure is None else {*classes_in(structure), *containers_in(structure)}


def _refuse(cls: type, fn: Any) -> NoReturn:
    want_references(of_containers=cls in LIST_OR_DICT)
    error = StagingError(
        f"whether two of the results are, or have, one {cls.__name__} is known only when the graph runs",
        remedy="Return the index of the one in the list, or a copy of it: copy.copy(x).")
    locate(error, return_position(fn))
    raise error


def plan_objects(
    structure: Any, outputs: list[Any], plan: Callable[[Any, bool], Part], numbers: bool = True
) -> None:
    """Plan the objects and lists to which elements of that structure refer. `plan` returns the recipe of the items of a
    list, whose numbers are Python numbers if its second argument is true, and appends them to the outputs of the
    graph. `numbers`: whether those in lists by reference are."""
    for arena in arenas_in(structure):
        if arena.recipe is not None and arena.recipe.outputs is outputs:
            continue
        if isinstance(arena, ContainerArena):
            arena.recipe = _Containers(arena, outputs)
            arena.recipe.items = plan(arena.store[0], numbers)
        else:
            arena.recipe = _Objects(arena, outputs)
            first = next(iter(arena.fields.values()))
            arena.recipe.numbers = plan(StagedList(view_of(first).__leaves__()[0]).owner[0], True)
            arena.recipe.attributes = {name: plan(values[0], True) for name, values in arena.fields.items() if values}


def has_adopted() -> bool:
    """Whether there are objects from before the call in the arenas."""
    return any(arena.adopted for arena in arenas_of_objects().values())


def plan_adopted(outputs: list[Any], plan: Callable[[Any, bool], Part]) -> list[Part]:
    """The recipes of the lists of objects some of which are from before the call, and get other attributes."""
    found = {id(arena): arena for arena in arenas_of_objects().values() if arena.adopted and arena.written}
    for arena in found.values():
        plan_objects(arena.layout, outputs, plan)
    return [arena.recipe for arena in found.values()]


def plan_container(
    x: ContainerReference, outputs: list[Any], take: Callable[[list[Any], Any], Part],
    plan: Callable[[Any, bool], Part], argument: int | None = None,
) -> Part:
    """The recipe of a container in an arena. `take` returns that of a tensor; `argument`: the number of the container
    among those of the call, if it is one of these."""
    plan_objects(x.arena.layout, outputs, plan, argument is not None)
    made, index = x.arena.recipe, take(outputs, convert_to_tensor(x.place))
    if argument is not None:
        made.arguments.append((argument, index))
    return lambda values: made(values)[int(index(values))]


def plan_reference(
    x: Reference, outputs: list[Any], take: Callable[[list[Any], Any], Part], plan: Callable[[Any, bool], Part]
) -> Part:
    """The recipe of an object in an arena. `take` returns that of a tensor."""
    plan_objects(x.__arena__.layout, outputs, plan)
    objects, index = x.__arena__.recipe, take(outputs, convert_to_tensor(x.__place__))

    def pack(values: Values) -> Any:
        made, place = objects(values), index(values)
        return made[int(place)] if isinstance(place, EagerTensor) else x

    return pack
