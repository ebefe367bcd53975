"""Lists that a variable has or has not: which it is, only the graph knows."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograph.references import references
from runtime.held import contents_of, kin, may_be, may_be_which, originals_of, take_part
from runtime.specs import Origins

__all__ = ["Ways", "note_relations", "originals"]


Ways = Sequence[Mapping[tuple[Any, ...], Sequence[Any]]]
"""For each variable, by their place in it, the containers that it may have."""


def note_relations(values: Sequence[Any], init: Sequence[Any], names: Sequence[str], ways: Sequence[Ways]) -> None:
    """Note which containers in the `values` that a statement gives its variables in place of `init` may be what another
    name has, on one of the `ways` through the statement."""
    contents = list(map(contents_of, values))
    earlier = list(map(contents_of, init))
    for i in range(len(names)):
        for place, content in contents[i].items():
            for way in ways:
                for other in way[i].get(place, ()):
                    if other is not content:
                        take_part(content, other)
                        _note(content, other, i, names, contents, earlier, way)


def _note(
    content: Any, other: Any, i: int, names: Sequence[str], contents: Sequence[Mapping[tuple[Any, ...], Any]],
    earlier: Sequence[Mapping[tuple[Any, ...], Any]], way: Ways,
) -> None:
    for same in kin(other):
        given_up = sum(before is same and now.get(place) is not same
                       for held, now in zip(earlier, contents, strict=True) for place, before in held.items())
        if same is not content and references(originals_of(same)).total() > given_up:
            may_be(content, same, names[i])
    for now, also in zip(contents, way, strict=True):
        for place, found in now.items():
            if found is not content and any(x is other for x in also.get(place, ())):
                may_be(content, found, names[i])


def originals(value: Any, origins: Origins) -> dict[tuple[Any, ...], list[Any]]:
    """The containers that a variable which has `value` at the end of a body may have, by their place in it, as the code
    around the body knows them; `origins` has the copies that the body was given."""
    def original(content: Any) -> Any:
        found = origins.get(id(content), (None, None))[1]
        return content if found is None else found

    return {place: list(map(original, (content, *may_be_which(content))))
            for place, content in contents_of(value).items()}
