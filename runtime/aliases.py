"""Lists that a variable has or has not: which it is, only the graph knows."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from autograph.heap import is_container, parts_in
from autograph.holders import put
from autograph.references import references
from runtime.held import contents_of, is_apart, kin, may_be, may_be_which, now, originals_of, take_part
from runtime.maybe import MaybeObject
from runtime.specs import Origins

__all__ = ["Way", "settle"]

Place = tuple[Any, ...]


Held = Sequence[Mapping[Place, Sequence[Any]]]
"""For each variable, by their place in it, the containers that it may have."""


class Way:
    """What the variables hold at the end of a body, or (without `origins`) where it did not run.

    `origins` has the copies that the body was given, `left` what others that it leaves were before. An iteration of a
    loop begins with `entry`: in the first one, copies of what `first` tells, in others what the one before has left.
    """

    def __init__(
        self, values: Sequence[Any], origins: Origins | None = None, left: Origins | None = None,
        entry: Sequence[Any] = (), first: Origins | None = None,
    ) -> None:
        self.origins, self.left, self.first = origins, left or {}, first or {}
        self.made: set[int] = set()
        """The ids of containers that the body made."""
        self.replaced: set[int] = set()
        """The ids of those of which a variable only begins the first iteration with a copy."""
        found = [{place: self._candidates(content) for place, content in contents_of(value).items()}
                 for value in values]
        once = [{place: [original for _, original in each] for place, each in parts.items()} for parts in found]
        self.iterations: list[Held] = [once, *self._more(found, once, entry)]
        """What the variables may have after one iteration, after two, and so on, as the code around the body knows it.
        """
        self.held: Held = [{place: _distinct(x for held in self.iterations for x in held[i][place]) for place in parts}
                           for i, parts in enumerate(found)]
        """What they may have after any."""

    def _candidates(self, content: Any) -> list[tuple[Any, Any]]:
        before = self.left.get(id(content), (None, content))[1]
        return [(one, self._original(one)) for one in (before, *may_be_which(before))]

    def _original(self, content: Any) -> Any:
        """What a container is a copy of, in the first iteration at least."""
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
        self, found: Sequence[Mapping[Place, Sequence[tuple[Any, Any]]]], held: Held, entry: Sequence[Any]
    ) -> Iterator[Held]:
        """What the variables may have after each further iteration, until what each had has come to all others."""
        begins: dict[int, list[tuple[int, Place]]] = {}
        for i, value in enumerate(entry):
            for place, content in contents_of(value).items():
                if (self.origins or {}).get(id(content), (None, None))[1] is None:
                    begins.setdefault(id(content), []).append((i, place))
        older: dict[int, _Older] = {}

        def grown_old(value: Any) -> Any:
            if id(value) not in self.made and not isinstance(value, _Older):
                return value
            return older.setdefault(id(value), _Older(value))

        def after(held: Held, one: Any, original: Any) -> Iterable[Any]:
            if id(one) not in begins:
                return [original]
            return (grown_old(value) for i, place in begins[id(one)] for value in held[i].get(place, ()))

        for _ in range(sum(map(len, found)) if begins else 0):
            held = [{place: _distinct(value for each in candidates for value in after(held, *each))
                     for place, candidates in parts.items()} for parts in found]
            yield held


@dataclasses.dataclass(frozen=True, eq=False)
class _Older:
    """What an earlier iteration has made."""

    value: Any


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({id(value): value for value in values}.values())


def settle(values: Sequence[Any], init: Sequence[Any], names: Sequence[str], ways: Sequence[Way]) -> list[Any]:
    """The values that a statement gives its variables in place of `init`, with the containers that they surely have;
    noted is which containers may be what another name has, on one of the `ways` through the statement."""
    values = [_with(value, {place: content for place in contents_of(value)
                            if (content := _surely(i, place, ways)) is not None})
              for i, value in enumerate(values)]
    contents = list(map(contents_of, values))
    earlier = list(map(contents_of, init))
    for i in range(len(names)):
        for place, content in contents[i].items():
            for way in ways:
                for other in way.held[i].get(place, ()):
                    if other is not content:
                        take_part(content, other)
                        _note(content, other, i, place, names, contents, earlier, way)
    return values


def _surely(i: int, place: Place, ways: Sequence[Way]) -> Any:
    """The container from outside of the bodies that variable `i` has in that place, whichever way was taken."""
    found = [(way, way.held[i][place]) for way in ways if place in way.held[i]]
    first = found[0][1][0] if found else None
    return now(first) if all(len(may_be) == 1 and may_be[0] is first and id(first) not in way.made | way.replaced
                             for way, may_be in found) else None


def _with(value: Any, found: Mapping[Place, Any], place: Place = ()) -> Any:
    """`value` with those containers in the places where they are found."""
    if not found:
        return value
    if isinstance(value, MaybeObject):
        return MaybeObject(_with(value.content, found, place), value.presence)
    if place in found:
        return found[place]
    if not isinstance(value, tuple) and not is_container(value):
        return value
    parts = parts_in(value)
    others = [_with(part, found, (*place, key)) for key, part in parts]
    if all(part is other for (_, part), other in zip(parts, others, strict=True)):
        return value
    if isinstance(value, tuple):
        return tuple.__new__(type(value), others)
    for (key, _), other in zip(parts, others, strict=True):
        put(value, key, other)
    return value


def _note(
    content: Any, other: Any, i: int, place: Place, names: Sequence[str], contents: Sequence[Mapping[Place, Any]],
    earlier: Sequence[Mapping[Place, Any]], way: Way,
) -> None:
    for same in kin(other):
        given_up = sum(before is same and after.get(place) is not same
                       for held, after in zip(earlier, contents, strict=True) for place, before in held.items())
        if same is not content and (references(originals_of(same)).total() > given_up or is_apart(same)):
            may_be(content, same, names[i])
    for held in way.iterations:
        if not any(x is other for x in held[i].get(place, ())):
            continue
        for own, also in zip(contents, held, strict=True):
            for there, found in own.items():
                if found is not content and any(x is other for x in also.get(there, ())):
                    may_be(content, found, names[i])
