"""The join of alias sets at control-flow merges: which containers a variable may alias."""
from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from autograph.backend import duplicate, fill, is_container, parts_in, put, references, same_parts
from runtime.core.graph import Graph
from runtime.numpy.array_choices import readable
from runtime.numpy.array_objects import StagedArray
from runtime.staging.aliases.alias_tracking import (
    aliases_of,
    copies_in,
    is_split,
    originals_of,
    possible_identities,
    possible_originals,
    record_alias,
    record_replacement,
    sure_original,
)
from runtime.staging.aliases.open_bodies import Bodies, contents_of
from runtime.staging.elements.select import Select, alternatives_of
from runtime.staging.joins.lattice import Origins
from runtime.staging.storage.set import JoinedSet
from runtime.staging.values.iterables import flags
from runtime.staging.values.optional import MaybeObject

__all__ = [
    "BodyEnd", "Place", "Point", "aliases_after_errors", "assigned_values", "surely", "unified", "with_contents",
    "without_age",
]

Place = tuple[Any, ...]

Contained = Sequence[Mapping[Place, Sequence[Any]]]
"""For each variable, by position in it, the containers that may be there."""


class BodyEnd:
    """The state of the variables at the end of a body, or (without `origins`) where it did not run.

    `origins` maps the copies that the body received to their originals; `live_out` maps other containers live-out of
    the body to theirs. A loop iteration begins with the containers `entry`: copies of `first` in the first iteration,
    the results of the previous one in later ones.
    """

    def __init__(
        self, values: Sequence[Any], origins: Origins | None = None, live_out: Origins | None = None,
        entry: Sequence[Mapping[Place, Any]] = (), first: Origins | None = None,
    ) -> None:
        self.origins, self.live_out, self.first = origins, live_out or {}, first or {}
        self.made: set[int] = set()
        """The ids of containers that the body created."""
        self.replaced: set[int] = set()
        """The ids of containers that a variable refers to (by a copy) at the beginning of the first iteration only."""
        found = [{place: self._candidates(content) for place, content in contents_of(value).items()}
                 for value in values]
        once = [{place: [original for _, original in each] for place, each in parts.items()} for parts in found]
        self.iterations: list[Contained] = [once, *self._more(found, once, entry)]
        """What the variables may refer to after one iteration, after two, and so on: containers that exist outside the
        body, or that it created."""
        self.contained: Contained = [
            {place: _distinct(x for each in self.iterations for x in each[i][place]) for place in parts}
            for i, parts in enumerate(found)]
        """The union of `iterations`: what the variables may refer to after any number of iterations."""

    def _candidates(self, content: Any) -> list[tuple[Any, Any]]:
        before = self.live_out.get(id(content), (None, content))[1]
        return [(one, self._original(one)) for one in (before, *possible_identities(before))]

    def _original(self, content: Any) -> Any:
        """The original of a container; that of the first iteration if the loop carries it."""
        if self.origins is None:
            return content
        _, original = self.origins.get(id(content), (None, None))
        if original is not None:
            return original
        if id(content) not in self.first:
            self.made.add(id(content))
            return content
        _, original = self.first[id(content)]
        self.replaced.add(id(original))
        return original

    def _more(
        self, found: Sequence[Mapping[Place, Sequence[tuple[Any, Any]]]], contained: Contained,
        entry: Sequence[Mapping[Place, Any]],
    ) -> Iterator[Contained]:
        """What the variables may refer to after each further iteration, until the sets repeat or have all been
        propagated."""
        begins: dict[int, list[tuple[int, Place]]] = {}
        for i, began in enumerate(entry):
            for place, content in began.items():
                if (self.origins or {}).get(id(content), (None, None))[1] is None:
                    begins.setdefault(id(content), []).append((i, place))
        older: dict[int, _Older] = {}

        def grown_old(value: Any) -> Any:
            if id(value) not in self.made and not isinstance(value, _Older):
                return value
            return older.setdefault(id(value), _Older(value))

        def after(contained: Contained, one: Any, original: Any) -> Iterable[Any]:
            if id(one) not in begins:
                return [original]
            return (grown_old(value) for i, place in begins[id(one)] for value in contained[i].get(place, ()))

        known: set[tuple[tuple[int, ...], ...]] = set()
        for _ in range(sum(map(len, found)) if begins else 0):
            if (ids := _ids(contained)) in known:
                return
            known.add(ids)
            contained = [{place: _distinct(value for each in candidates for value in after(contained, *each))
                          for place, candidates in parts.items()} for parts in found]
            yield contained


@dataclasses.dataclass(frozen=True, eq=False)
class _Older:
    """A container that an earlier iteration created."""

    value: Any


def without_age(value: Any) -> Any:
    """Unwrap `_Older`: one container represents those that all iterations create."""
    while isinstance(value, _Older):
        value = value.value
    return value


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({id(value): value for value in values}.values())


def _ids(contained: Contained) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(id, found)) for parts in contained for found in parts.values())


def assigned_values(
    values: Sequence[Any], init: Sequence[Any], names: Sequence[str], ends: Sequence[BodyEnd]
) -> list[Any]:
    """The values that a statement assigns to its variables in place of `init`, with original containers where the
    variable must refer to them; records may-alias pairs at the `ends` of the paths through the statement."""
    values = [with_contents(value, {place: content for place, made in contents_of(value).items()
                                    if not isinstance(made, JoinedSet)  # which may be one of Python's at an end
                                    and (content := surely(i, place, ends)) is not None})
              for i, value in enumerate(values)]
    contents = list(map(contents_of, values))
    earlier = list(map(contents_of, init))
    chosen = {id(cell): [cell] for cell in _alternatives_in(values)} if flags.objects_are_chosen else {}
    shared: dict[int, list[Any]] = {}
    totals: dict[int, int] = {}
    pairs: dict[tuple[int, int], tuple[Any, Any, str]] = {}
    for i, parts in enumerate(contents):
        for place, content in parts.items():
            others = _distinct(other for end in ends for other in end.contained[i].get(place, ()))
            for other in (other for other in others if other is not content):
                record_replacement(content, without_age(other))
                if id(other) not in shared:
                    shared[id(other)] = chosen.get(id(other), []) + _other_holders(other, contents, earlier, totals)
                for same in shared[id(other)]:
                    if same is not content:
                        pairs.setdefault((id(content), id(same)), (content, same, names[i]))
    for i, content, found in _alias_pairs(contents, ends):
        pairs.setdefault((id(content), id(found)), (content, found, names[i]))
    for pair in pairs.values():
        record_alias(*pair)
    return values


def _alternatives_in(value: Any, seen: dict[int, Any] | None = None) -> Iterator[Any]:
    """The alternatives of Selects in a value. `seen`: the containers that have been searched, by id."""
    seen = {} if seen is None else seen
    if isinstance(value, MaybeObject):
        value = value.content
    if isinstance(value, Select):
        yield from alternatives_of(value)[0]
    elif (isinstance(value, tuple) or is_container(value)) and id(value) not in seen:
        seen[id(value)] = value
        for _, part in parts_in(value):
            yield from _alternatives_in(part, seen)


class Point:
    """The variables at a point where an error may leave the nested `bodies`, of which `bodies[0]` is the outermost, to
    a handler in the graph `outside`. `copies` maps new copies of containers in the values to those containers."""

    def __init__(self, values: Sequence[Any], bodies: Bodies, copies: Origins, outside: Graph | None) -> None:
        self.bodies, self._outside = bodies, outside
        self._inner = copies_in(bodies[1:])
        self._made = dict(copies)
        self.values = list(map(self._now, values))
        self.contents = list(map(contents_of, self.values))
        self.origins: Origins = {id(content): (content, sure_original(self._before(content), bodies))
                                 for parts in self.contents for content in parts.values()}

    def _now(self, value: Any, inside: frozenset[int] = frozenset()) -> Any:
        """`value`, with its containers replaced by an inner body's copies where there are any; `inside`: the ids of the
        enclosing containers, for cycles."""
        if isinstance(value, MaybeObject):
            content = self._now(value.content)
            return value if content is value.content else MaybeObject(content, value.presence)
        if isinstance(value, StagedArray):
            value = readable(value, self._outside)
        while id(value) in self._inner:
            value = self._inner[id(value)]
        if id(value) in inside or not (isinstance(value, tuple) or is_container(value)):
            return value
        if id(value) in self._made:
            return self._made[id(value)][0]
        parts = parts_in(value)
        others = [(key, self._now(part, inside | {id(value)})) for key, part in parts]
        if same_parts(parts, others):
            return value
        if isinstance(value, tuple):
            return tuple.__new__(type(value), [other for _, other in others])
        made = duplicate(value)
        fill(made, others)
        self._made[id(value)] = self._made[id(made)] = made, value
        return made

    def _before(self, content: Any) -> Any:
        return self._made.get(id(content), (None, content))[1]

    def contained(self) -> Contained:
        """For each variable, the possible originals of its containers outside the bodies; themselves, if the bodies
        created them."""
        return [{place: possible_originals(self._before(content), self.bodies) for place, content in parts.items()}
                for parts in self.contents]


def unified(entry: Sequence[Any], copies: Origins, points: Sequence[Point]) -> list[Any]:
    """The newly created values `entry`, with one shared container in all places that refer to the same one at each of
    the points."""
    first: dict[tuple[int, ...], Any] = {}

    def one(value: Any, i: int, place: Place) -> Any:
        if isinstance(value, MaybeObject):
            return MaybeObject(one(value.content, i, place), value.presence)
        if isinstance(value, tuple):
            return tuple.__new__(type(value), [one(part, i, (*place, key)) for key, part in parts_in(value)])
        if id(value) in copies:
            if all(place in point.contents[i] for point in points):
                same = first.setdefault(tuple(id(point.contents[i][place]) for point in points), value)
                if same is not value:
                    del copies[id(value)]
                    return same
            if not hasattr(type(value), "__become__"):
                for key, part in parts_in(value):
                    put(value, key, one(part, i, (*place, key)))
        return value

    return [one(value, i, ()) for i, value in enumerate(entry)]


def aliases_after_errors(
    entry: Sequence[Any], origins: Origins, init: Sequence[Any], names: Sequence[str], points: Sequence[Point]
) -> Iterator[tuple[Any, Any, str]]:
    """May-alias pairs, each with the variable's name, after an error at one of the points: containers of `entry`, which
    replace those of `init`. `origins` maps the containers of `entry` to their certain originals."""
    contents, earlier = list(map(contents_of, entry)), list(map(contents_of, init))
    copies = {id(original): one for one, original in origins.values() if original is not None}
    known = {id(one): original for one, original in origins.values() if original is not None}
    surely = [{place: known.get(id(content), content) for place, content in parts.items()} for parts in contents]
    shared: dict[int, list[Any]] = {}
    totals: dict[int, int] = {}
    met: set[tuple[int, int]] = set()
    for contained in (point.contained() for point in points):
        holders: dict[int, list[tuple[int, Any]]] = {}
        for i, parts in enumerate(contained):
            for place, others in parts.items():
                if place not in contents[i]:
                    continue
                for other in others:
                    record_replacement(contents[i][place], without_age(other))
                    holders.setdefault(id(other), []).append((i, contents[i][place]))
                    if other is surely[i][place]:
                        continue
                    if id(other) not in shared:
                        shared[id(other)] = _other_holders(other, surely, earlier, totals)
                    for same in shared[id(other)]:
                        yield contents[i][place], copies.get(id(same), same), names[i]
        for several in holders.values():
            for (i, one), (_, other) in itertools.permutations(several, 2):
                if one is not other and (id(one), id(other)) not in met:
                    met.add((id(one), id(other)))
                    yield one, other, names[i]


def surely(i: int, place: Place, ends: Sequence[BodyEnd]) -> Any:
    """The pre-existing container that variable `i` must have in that place at all ends; None if there is no single
    one."""
    found = [(end, end.contained[i][place]) for end in ends if place in end.contained[i]]
    first = found[0][1][0] if found else None
    return first if all(len(may_be) == 1 and may_be[0] is first and id(first) not in end.made | end.replaced
                             for end, may_be in found) else None


def with_contents(value: Any, found: Mapping[Place, Any], place: Place = ()) -> Any:
    """`value` with the containers `found`, by place, substituted."""
    if not found:
        return value
    if isinstance(value, MaybeObject):
        return MaybeObject(with_contents(value.content, found, place), value.presence)
    if place in found:
        return found[place]
    if not isinstance(value, tuple) and not is_container(value):
        return value
    parts = parts_in(value)
    others = [with_contents(part, found, (*place, key)) for key, part in parts]
    if all(part is other for (_, part), other in zip(parts, others, strict=True)):
        return value
    if isinstance(value, tuple):
        return tuple.__new__(type(value), others)
    for (key, _), other in zip(parts, others, strict=True):
        put(value, key, other)
    return value


def _other_holders(
    other: Any, contents: Sequence[Mapping[Place, Any]], earlier: Sequence[Mapping[Place, Any]], totals: dict[int, int],
) -> list[Any]:
    """Possible aliases of a container that are still referenced other than by variables that the statement rebinds.
    `totals`: by id, the known numbers of references, which this extends."""
    released = Counter(id(before) for parts, after in zip(earlier, contents, strict=True)
                       for place, before in parts.items() if after.get(place) is not before)
    found = []
    for same in aliases_of(other):
        if id(same) not in totals:
            totals[id(same)] = references(originals_of(same)).total()
        if totals[id(same)] > released[id(same)] or is_split(same):
            found.append(same)
    return found


def _alias_pairs(contents: Sequence[Mapping[Place, Any]], ends: Sequence[BodyEnd]) -> Iterator[tuple[int, Any, Any]]:
    """May-alias pairs of containers of variables after some iteration, each with the index of the first variable."""
    met: set[tuple[int, int]] = set()
    for contained in (iteration for end in ends for iteration in end.iterations):
        holders: dict[int, list[tuple[int, Any]]] = {}
        for i, parts in enumerate(contained):
            for place, others in parts.items():
                content = contents[i].get(place)
                for other in others if content is not None else ():
                    holders.setdefault(id(other), []).append((i, content))
        for key, several in holders.items():
            for (i, content), (_, found) in itertools.permutations(several, 2):
                if content is not found and id(content) != key and (id(content), id(found)) not in met:
                    met.add((id(content), id(found)))
                    yield i, content, found
