"""Variables that a loop makes refer to other elements of a list, as `best` does in `if x.score > best.score: best = x`.

Where the element is in its list is then part of the loop's state: so a change of the element, in the loop or after it,
is a change of the list, and whether two names have the same element can be asked.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Protocol

from autograph.backend import Unwinding, has_staged_items, is_container, unwrapped
from runtime.core.tensor import GraphTensor
from runtime.staging.aliases.body_tracing import Branch, checkpoint, rollback
from runtime.staging.aliases.indices import hoisted
from runtime.staging.aliases.list_elements import place_of
from runtime.staging.aliases.open_bodies import elements_with, ended_at, enter, has_left_slices, own_of
from runtime.staging.aliases.shared_elements import forget_slices
from runtime.staging.control.loop_bodies import Wrapped
from runtime.staging.elements.describe import absent
from runtime.staging.elements.list_specs import is_staged_spec
from runtime.staging.joins.alias_join import BodyEnd, without_age
from runtime.staging.joins.branch_elements import any_like, element_at, record_place
from runtime.staging.joins.flatten import StagedBefore, check_staged_before
from runtime.staging.joins.lattice import Origins, Spec
from runtime.staging.values.index_signs import from_start, note_not_negative

__all__ = ["ElementPlaces", "following_elements"]


Place = tuple[Any, Any]
"""The list or dict that has an element, and the index there."""


class _Chosen(Exception):
    """The body of a loop makes these variables, by index, refer to other elements of a list. `specs`: those of the
    variables that have these lists."""

    def __init__(self, found: Mapping[int, Place], specs: Mapping[int, Spec]) -> None:
        super().__init__("a variable refers to other elements of a list")
        self.found, self.specs = found, specs


class _Unknown(Unwinding):
    """Where the element of a variable, given by its index, is in the list is not known after an iteration."""

    def __init__(self, variable: int) -> None:
        super().__init__("the place of an element is not known")
        self.variable = variable


class _Sliced(Exception):
    """The body changes a list of which it iterates over a slice: the slice then has elements of its own."""


class Loop(Protocol):
    """The trace of a loop's body."""

    names: Sequence[str]
    init: list[Any]
    """The values before the loop."""
    specs: list[Spec]
    end: BodyEnd
    origins: Origins


class ElementPlaces:
    """The variables whose places are part of the state of a loop that begins with `init`: by index, the list or dict
    that has the element, and the index there before the loop. `begin`: these of all variables that have elements then;
    `others`: variables whose places cannot be state; `specs`: of the variables that have these lists."""

    def __init__(
        self, init: Sequence[Any], names: Sequence[str], begin: Mapping[int, Place], found: Mapping[int, Place],
        others: Set[int], specs: Mapping[int, Spec],
    ) -> None:
        self.begin, self.found, self.others, self.specs, self.count = begin, found, others, specs, len(init)
        self.init = [*init, *[from_start(index, owner) for owner, index in self.found.values()]]
        self.names = [*names, *[f"{names[i]}_index" for i in self.found]]

    def check(self, loop: Loop) -> None:
        """Called after a trace of the body. Raises _Chosen if there are more such variables; _Sliced if the body has
        changed a list of which it iterates over a slice; StagedBefore if lists must be staged before the loop."""
        if has_left_slices():
            raise _Sliced
        check_staged_before(loop.init[:self.count], loop.specs, True)
        chosen = {i: place for i, place in _chosen(loop, self.begin).items()
                  if i < self.count and i not in self.others and i not in self.found}
        if chosen:
            raise _Chosen(chosen, {i: spec for i, spec in enumerate(loop.specs[:self.count]) if any(
                loop.init[i] is owner for owner, _ in chosen.values())})

    def body(self, body_fn: Branch) -> Branch:
        """The body of the state with the places."""
        return Wrapped(body_fn, self._iteration) if self.found else body_fn

    def test(self, test_fn: Branch) -> Branch:
        """The test of the state with the places."""
        return Wrapped(test_fn, lambda fn, *values: fn(*self._begin(values))) if self.found else test_fn

    def _begin(self, values: Sequence[Any]) -> Sequence[Any]:
        """The values with which a body begins, without the places, which the open body learns."""
        state, indices = values[:-len(self.found)], values[-len(self.found):]
        for index in indices:
            if isinstance(index, GraphTensor):
                note_not_negative(index.value)
        variables = state[-self.count:]
        enter([element_at(variables[i], owner, index)
               for (i, (owner, _)), index in zip(self.found.items(), indices, strict=True)
               if is_container(unwrapped(variables[i]))])
        return state

    def _iteration(self, body_fn: Branch, *values: Any) -> tuple[Any, ...]:
        state = self._begin(values)
        ended = body_fn(*state)
        indices = values[len(state):]
        return (*ended, *[
            index if absent(ended[i]) else _index_after(i, ended[i], owner)
            for (i, (owner, _)), index in zip(self.found.items(), indices, strict=True)])

    def assigned(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The values of the variables after the loop, which are recorded as the elements that they are."""
        variables, indices = values[:self.count], values[self.count:]
        for (i, (owner, _)), index in zip(self.found.items(), indices, strict=True):
            if not absent(variables[i]) and unwrapped(variables[i]) is not unwrapped(self.init[i]):
                record_place(variables[i], owner, index)
        return tuple(variables)


def _chosen(loop: Loop, begin: Mapping[int, Place]) -> dict[int, Place]:
    """The variables that the body makes refer to other elements of a list: the list, and the index before the loop.
    `begin`: those of the elements that variables have then."""
    found: dict[int, Place] = {}
    for i, (before, contained) in enumerate(zip(loop.init, loop.end.contained, strict=True)):
        new = [without_age(one) for one in contained.get((), ()) if one is not unwrapped(before)]
        records = [[e for e in elements_with(one) if e.owner is not None] for one in new]
        if not records or not all(records):
            continue
        owners = [loop.origins.get(id(e.owner), (None, e.owner))[1] for each in records for e in each]
        if owners[0] is None or any(owner is not owners[0] for owner in owners):
            continue
        here, index = begin.get(i, (None, None))
        if absent(before):
            here, index = owners[0], any_like(records[0][-1].index)
        elif here is None and _is_staged_in(owners[0], loop):
            here, index = owners[0], next((k for k, one in enumerate(owners[0]) if one is unwrapped(before)), None)
        if here is owners[0] and index is not None:
            found[i] = here, index
    return found


def _is_staged_in(x: list[Any], loop: Loop) -> bool:
    """Whether a list becomes a staged list when the loop begins."""
    return type(x) is list and not has_staged_items(x) and any(
        init is x and is_staged_spec(spec) for init, spec in zip(loop.init, loop.specs, strict=True))


def _index_after(i: int, value: Any, owner: list[Any]) -> Any:
    """The index in a list of the element that a variable has after an iteration. Raises _Unknown."""
    record = ended_at(unwrapped(value))
    index = hoisted(record.index) if record is not None and record.owner is own_of(owner) else None
    if record is None or record.owner is None or index is None:
        raise _Unknown(i)
    return from_start(index, record.owner)


def _places(init: Sequence[Any]) -> dict[int, Place]:
    return {i: place for i, value in enumerate(init) if (place := place_of(unwrapped(value))) is not None}


def following_elements(
    stage: Callable[[ElementPlaces], tuple[Any, ...]], init: Sequence[Any], names: Sequence[str]
) -> tuple[Any, ...]:
    """The state after a loop with the state `init`, which `stage` traces: again, if it makes variables refer to other
    elements of a list, with their places as state, and if these are not known after an iteration, without them."""
    mark = checkpoint()
    begin = _places(init)
    found: dict[int, Place] = {}
    others: set[int] = set()
    specs: dict[int, Spec] = {}
    while True:
        try:
            places = ElementPlaces(init, names, begin, found, others, specs)
            return places.assigned(stage(places))
        except _Chosen as chosen:
            found, specs = {**found, **chosen.found}, {**specs, **chosen.specs}
        except _Unknown as unknown:
            others.add(unknown.variable)
            found = {i: place for i, place in found.items() if i not in others}
        except _Sliced:
            if not forget_slices():
                raise
        except StagedBefore as staged:
            rollback(mark)
            staged.stage()
            mark, begin = checkpoint(), _places(init)
            specs = {i: spec for i, spec in specs.items() if i not in staged.found}
            continue
        rollback(mark)
