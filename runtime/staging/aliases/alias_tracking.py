"""Mutations of lists and dicts that staged code cannot propagate to all aliases: they are errors.

A staged list stores the tensors of its elements, not the elements. So a change to a list after it was put into a
staged list, or after it was read from one, would not be visible in the staged list, as it is in Python.

After a statement that rebinds a variable to another list on some paths only, the variable refers to a new list with
the joined contents. A change to it, or to a list that it may alias, would not be visible through the other.
"""
from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import TracebackType
from typing import Any

from autograph.backend import (
    has_staged_items,
    is_container,
)
from runtime.core.positions import user_position
from runtime.staging.aliases.alias_errors import refuse_change, refuse_comparison, refuse_element
from runtime.staging.aliases.open_bodies import (
    Bodies,
    Body,
    Changes,
    Relation,
    contents_of,
    elements_with,
    open_now,
)
from runtime.staging.aliases.shared_elements import link_replaced, settle_links, slice_of

__all__ = [
    "after_return",
    "aliases_of",
    "as_originals",
    "changes_in",
    "changes_of",
    "check_comparison",
    "compared",
    "copies_in",
    "forget_exits",
    "has_no_single_original",
    "in_use",
    "is_carried",
    "is_in_carried_list",
    "is_in_use",
    "is_returned",
    "is_split",
    "isolated",
    "may_alias",
    "note_changed",
    "note_compared",
    "origin_of",
    "originals_of",
    "possible_identities",
    "possible_originals",
    "record_alias",
    "record_copies",
    "record_exit",
    "record_replacement",
    "record_split",
    "relations_of",
    "sure_original",
    "tracking",
]


class tracking(AbstractContextManager[Any]):
    """Trace a body, or (`alone`) a function, in isolation from the open bodies. At its end, StagingError for changes of
    elements of staged lists that the lists do not have, and for changes of containers that may be aliases."""

    def __init__(self, alone: bool = False) -> None:
        self.alone = alone

    def __enter__(self) -> tracking:
        self.before = open_now.bodies
        self.outer = () if self.alone else self.before
        last = self.outer[-1] if self.outer else Body()
        open_now.bodies = (*self.outer, Body(around=(*last.around, last) if last.elements else last.around))
        open_now.bodies[-1].first_link = len(open_now.bodies[0].links)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        body = open_now.bodies[-1]
        if body.ended is None:
            body.end()
        if self.outer:
            settle_links(body.first_link)
        open_now.bodies = self.before
        if self.outer:
            self.outer[-1].places, self.outer[-1].has_left_slices = body.at_end, body.has_left_slices
        if self.outer and self.outer[-1].carried and (exc is None or isinstance(exc, Exception)):
            body.hand_back(self.outer[-1])
        if exc is None:
            for element in body.elements:
                is_changed = id(element) in body.changed if body.is_of_statement else bool(element.changes)
                if is_changed and not element.is_own:
                    refuse_element(element)
                if body.is_of_statement:
                    element.changes.settle(is_changed)
            for relation in body.relations:
                if any(relation.changes):
                    refuse_change(relation.value, relation.name, relation.place)
        if (exc is None or isinstance(exc, Exception)) and self.outer:
            self.outer[-1].elements += [replace(element, whole=None) for element in body.elements]
            self.outer[-1].written += body.written
            self.outer[-1].inner += body.relations + body.inner


class isolated(AbstractContextManager[None]):
    """Trace called code in isolation: its elements and aliases are not recorded in the open bodies. `refuse` is called
    with each value that it puts into a staged list."""

    def __init__(self, refuse: Callable[[Any], object]) -> None:
        self.refuse = refuse

    def __enter__(self) -> None:
        self.body = open_now.bodies[-1] if open_now.bodies else Body()
        self.elements, self.relations = len(self.body.elements), len(self.body.inner)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        added = self.body.elements[self.elements:]
        del self.body.elements[self.elements:], self.body.inner[self.relations:]
        for element in added if kind is None else ():
            if element.is_put:
                self.refuse(element.value)


class after_return(AbstractContextManager[None]):
    """Trace statements that run only if the function has not returned yet: they may change what it returned on other
    paths."""

    def __enter__(self) -> None:
        self.body = open_now.bodies[-1] if open_now.bodies else Body()
        self.kept = [relation for relation in self.body.relations
                     if not is_returned(relation.name) or any(relation.changes)]

    def __exit__(self, *_: object) -> None:
        kept = set(map(id, self.kept))
        for i, relation in enumerate(self.body.relations):
            if id(relation) not in kept:
                changes = changes_of(relation.value), changes_of(relation.other)
                self.body.relations[i] = Relation(
                    relation.value, relation.other, changes, relation.name, relation.place)


def is_returned(name: str) -> bool:
    """Whether a variable is the one that conversion introduced for `return`."""
    return re.fullmatch(r"return_\d*", name) is not None


def changes_of(value: Any) -> Changes:
    """A watcher for changes to the containers in a value."""
    return Changes(contents_of(value).values())


def changes_in(value: Any) -> dict[int, Changes]:
    """By id, the containers in a value, with a watcher for changes to each."""
    containers = {id(container): container for container in contents_of(value).values()}
    return {key: Changes([container]) for key, container in containers.items()}


def note_changed(containers: Iterable[Any]) -> None:
    """Mark these containers as changed by a body that has just ended: their contents have been restored since."""
    ids = set(map(id, containers))
    for body in open_now.bodies if ids else ():
        for changes in body.changes:
            changes.seen = changes.seen or (
                not changes.is_settled and any(id(container) in ids for container, _ in changes.before))


class in_use(AbstractContextManager[Sequence[Any]]):
    """Run or stage a loop over a list, which need not have a name."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __enter__(self) -> Sequence[Any]:
        self.outer = open_now.in_use
        open_now.in_use = (*self.outer, self.items)
        part = slice_of(self.items)
        return (self.items, *(() if part is None else (part.source,))) if has_staged_items(self.items) else ()

    def __exit__(self, *_: object) -> None:
        open_now.in_use = self.outer


def is_in_use(x: Any) -> bool:
    """Whether a loop runs over this list."""
    return any(x is one for one in open_now.in_use)


def record_split(copies: Iterable[Any]) -> None:
    """Record copies that alias one container in some other iteration."""
    if open_now.bodies:
        open_now.bodies[-1].split += copies


def note_compared(*values: Any) -> None:
    """Note that code compares the identity of these values (`is`)."""
    for value in values if open_now.bodies else ():
        if is_container(value):
            for body in reversed(open_now.bodies):
                body.compared.append(value)
                _, value = body.copies.get(id(value), (None, value))


def compared() -> Sequence[Any]:
    """The containers whose identity is compared in the open body or one nested in it."""
    return open_now.bodies[-1].compared


def may_alias(value: Any) -> bool:
    """Whether a container may have aliases."""
    return len(aliases_of(value)) > 1 or is_split(value)


def is_split(value: Any) -> bool:
    """Whether the open body begins with several copies of this container's original."""
    return any(value is copy for copy in (open_now.bodies[-1].split if open_now.bodies else ()))


def record_copies(
    copies: dict[int, tuple[Any, Any]], live_out: dict[int, tuple[Any, Any]], is_loop: bool = False,
    begins: Mapping[int, Sequence[Any]] | None = None,
) -> None:
    """Record, by id, the traced body's `copies` and their originals. The caller later fills `begins` with the possible
    originals of other containers, and `live_out` with the originals of live-out containers."""
    if open_now.bodies:
        body = open_now.bodies[-1]
        body.copies, body.live_out, body.is_loop = copies, live_out, is_loop
        body.begins = {} if begins is None else begins


def sure_original(value: Any, bodies: Bodies) -> Any:
    """The certain original, outside these bodies, of the container `value` of the innermost; None if there is none."""
    for body in reversed(bodies):
        value = body.live_out.get(id(value), (None, value))[1]
        value = body.copies.get(id(value), (None, None if body is bodies[0] else value))[1]
    return value


def copies_in(bodies: Bodies) -> dict[int, Any]:
    """By the id of a container, its copy in one of these bodies."""
    return {id(original): copy for body in bodies for copy, original in body.copies.values()
            if original is not None and original is not copy}


def possible_originals(value: Any, bodies: Bodies) -> list[Any]:
    """The possible originals, outside these bodies, of the container `value` of the innermost; itself, if they created
    it."""
    found = [value]
    for body in reversed(bodies):
        found = [body.live_out.get(id(one), (None, one))[1] for one in found]
        found += [r.other for one in found for r in (*body.relations, *body.inner) if r.value is one]
        inside, found = found, []
        for one in inside:
            origin = body.copies.get(id(one), (None, one))[1]
            found += body.begins.get(id(one), [one]) if origin is None else [origin]
    return list({id(one): one for one in found}.values())


def is_carried(value: Any) -> bool:
    """Whether the innermost traced loop carries a container from one iteration to the next."""
    for body, container in zip(reversed(open_now.bodies), originals_of(value), strict=False):
        if id(container) not in body.copies or body.is_loop:
            return id(container) in body.copies
    return False


def is_in_carried_list(value: Any) -> bool:
    """Whether the innermost traced loop carries a list that has a value as an item."""
    return any(type(x) is list and any(item is value for item in x) and is_carried(x)
               for x, _ in open_now.bodies[-1].copies.values())


def record_exit(value: Any, origin: Any) -> None:
    """Record that the container `value` is live-out of the open body, and is the pre-existing container `origin` or a
    copy of it."""
    if open_now.bodies:
        body = open_now.bodies[-1]
        origin = body.live_out.get(id(origin), (None, origin))[1]
        body.live_out[id(value)] = value, origin
        if id(value) not in body.copies:
            body.exits.add(id(value))
            body.copies[id(value)] = value, body.copies.get(id(origin), (None, origin))[1]


def as_originals(values: Iterable[Any]) -> tuple[Any, ...]:
    """The results of a body that ran as part of the open one, such as an unrolled loop's: with the containers
    themselves in place of copies, since their contents are written back."""
    return tuple(map(_as_original, values))


def _as_original(value: Any) -> Any:
    if isinstance(value, tuple):
        parts = as_originals(value)
        return value if all(map(operator.is_, parts, value)) else tuple.__new__(type(value), parts)
    return open_now.bodies[-1].live_out.get(id(value), (None, value))[1] if open_now.bodies else value


def forget_exits() -> None:
    """Forget containers recorded by `record_exit`, before a body records its live-out ones: bodies that ran as part of
    the open one may have recorded containers that the open one created."""
    if open_now.bodies:
        body = open_now.bodies[-1]
        for key in body.exits:
            del body.copies[key]
        body.exits.clear()


def origin_of(value: Any) -> Any:
    """The original of `value`, a copy that the open body received; None if there is none."""
    return open_now.bodies[-1].copies.get(id(value), (None, None))[1] if open_now.bodies else None


def has_no_single_original(value: Any) -> bool:
    """Whether the open body received a container that has no single original outside it."""
    return bool(open_now.bodies) and id(value) in open_now.bodies[-1].copies and origin_of(value) is None


def originals_of(value: Any) -> Iterator[Any]:
    """A container, then its originals in the open bodies, innermost first."""
    for body in reversed(open_now.bodies):
        yield value
        value = body.copies.get(id(value), (None, None))[1]
        if value is None:
            return
    yield value


def record_alias(value: Any, other: Any, name: str) -> None:
    """Record that variable `name` now refers to `value`, which in Python may be `other`."""
    if open_now.bodies:
        changes = changes_of(value), changes_of(other)
        open_now.bodies[-1].relations.append(Relation(value, other, changes, name, user_position()))


def record_replacement(value: Any, other: Any) -> None:
    """Record that `value` replaces `other`: if that is an element, `value` is, too."""
    if open_now.bodies and value is not other:
        open_now.bodies[-1].elements += [
            replace(element, value=value, changes=Changes([value]), whole=None) for element in elements_with(other)]
        link_replaced(value, other)


def possible_identities(value: Any) -> list[Any]:
    """The containers that `value` may be in Python, according to the open body and those nested in it."""
    return list({id(relation.other): relation.other for relation in relations_of(value)}.values())


def relations_of(value: Any) -> list[Relation]:
    """The may-alias pairs of `value` with what it may be in Python, of the open body and those nested in it."""
    if not open_now.bodies:
        return []
    body = open_now.bodies[-1]
    return [relation for relation in (*body.relations, *body.inner) if relation.value is value]


def aliases_of(value: Any) -> list[Any]:
    """The transitive closure of may-alias for a container, itself included."""
    body = open_now.bodies[-1] if open_now.bodies else Body()
    related: dict[int, list[Any]] = {}
    for relation in (*body.relations, *body.inner):
        related.setdefault(id(relation.value), []).append(relation.other)
        related.setdefault(id(relation.other), []).append(relation.value)
    found, known = [value], {id(value)}
    for one in found:  # grows meanwhile
        for other in related.get(id(one), ()):
            if id(other) not in known:
                known.add(id(other))
                found.append(other)
    return found


def check_comparison(value: Any, other: Any) -> None:
    """StagingError if the identity of two containers is known only at run time, by a pair of any open body."""
    for body in reversed(open_now.bodies):
        relations = [relation for relation in (*body.relations, *body.inner)
                     if relation.value is value or relation.value is other]
        one, another = ({id(each), *[id(relation.other) for relation in relations if relation.value is each]}
                        for each in (value, other))
        if relations and one & another:
            refuse_comparison(value, relations[-1].name, relations[-1].place)
        value, other = (body.copies.get(id(each), (None, each))[1] for each in (value, other))
