"""Lists that a variable has or has not: which it is, only the graph knows."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograph.heap import is_container, parts_in
from autograph.reach import put
from autograph.references import references
from runtime.held import contents_of, kin, may_be, may_be_which, now, originals_of, take_part
from runtime.maybe import MaybeObject
from runtime.specs import Origins

__all__ = ["Way", "settle"]

Place = tuple[Any, ...]


class Way:
    """What the variables hold at the end of a body, or (without `origins`) where it did not run.

    `origins` has the copies that the body was given, `left` what others that it leaves were before, `first` what those
    copies are copies of in the first iteration of a loop.
    """

    def __init__(
        self, values: Sequence[Any], origins: Origins | None = None, left: Origins | None = None,
        first: Origins | None = None,
    ) -> None:
        self.origins, self.left, self.first = origins, left or {}, first or {}
        self.unsure: set[int] = set()
        """The ids of containers that the body made, or of which it has had another copy in another iteration."""
        self.held = [{place: self._originals(content) for place, content in contents_of(value).items()}
                     for value in values]
        """For each variable, by their place in it, the containers that it may have, as the code around the body knows
        them."""

    def _originals(self, content: Any) -> list[Any]:
        before = self.left.get(id(content), (None, content))[1]
        return [self._original(one) for one in (before, *may_be_which(before))]

    def _original(self, content: Any) -> Any:
        if self.origins is None:
            return content
        _, original = self.origins.get(id(content), (None, None))
        if original is not None:
            return original
        _, original = self.first.get(id(content), (None, content))
        self.unsure.add(id(original))
        return original


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
                        _note(content, other, i, names, contents, earlier, way)
    return values


def _surely(i: int, place: Place, ways: Sequence[Way]) -> Any:
    """The container from outside of the bodies that variable `i` has in that place, whichever way was taken."""
    found = [(way, way.held[i][place]) for way in ways if place in way.held[i]]
    first = found[0][1][0] if found else None
    return now(first) if all(len(may_be) == 1 and may_be[0] is first and id(first) not in way.unsure
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
    content: Any, other: Any, i: int, names: Sequence[str], contents: Sequence[Mapping[Place, Any]],
    earlier: Sequence[Mapping[Place, Any]], way: Way,
) -> None:
    for same in kin(other):
        given_up = sum(before is same and after.get(place) is not same
                       for held, after in zip(earlier, contents, strict=True) for place, before in held.items())
        if same is not content and references(originals_of(same)).total() > given_up:
            may_be(content, same, names[i])
    for held, also in zip(contents, way.held, strict=True):
        for place, found in held.items():
            if found is not content and any(x is other for x in also.get(place, ())):
                may_be(content, found, names[i])
