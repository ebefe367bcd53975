"""What the bodies being traced know about containers: which are elements of staged lists, which may be aliases.

A staged list stores the tensors of its elements, not the elements. An element that was read, or put in, is tracked with
its list and index: a change of it is made in the list, too, also by the bodies of a statement, which receive the
records of the enclosing body.
"""
from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from autograph.backend import (
    containers_in,
    fill,
    is_container,
    is_leaf,
    objects_in,
    of_trace,
    parts_in,
    same_parts,
    was_before,
)
from runtime.core.object_mode import want_references
from runtime.core.positions import Position, staging_error
from runtime.core.tensor import GraphList, GraphTensor
from runtime.core.waiting_operands import Moment, now
from runtime.staging.values.list import StagedItems, is_staged_list
from runtime.staging.values.optional import MaybeObject

__all__ = [
    "Bodies",
    "Body",
    "Changes",
    "Element",
    "KnownElements",
    "Move",
    "Relation",
    "Slice",
    "begin_body",
    "bodies_open",
    "carrying",
    "contents_of",
    "elements_with",
    "end_body",
    "end_statement",
    "ended_at",
    "enter",
    "has_left_slices",
    "is_followed",
    "is_same",
    "known_elements",
    "note_same_elements",
    "open_now",
    "outermost_of",
    "own_of",
    "places_at_end",
    "restore_elements",
    "track",
    "tracked_elements",
]


CURRENT: Final = 0
"""The state of an element at the end of a body: it is in its list, with the same contents."""
MOVED: Final = 1
"""It may not be in the list any more, or not at that index."""
CHANGED: Final = 2
"""It was changed, and the list was not."""


class Changes:
    """True once one of some containers has changed since this was created, even by a nested body that is undone."""

    def __init__(self, containers: Iterable[Any]) -> None:
        self.before = [(container, _contents(container)) for container in containers]
        self.seen = False
        self.is_settled = False
        if open_now.bodies:
            open_now.bodies[-1].changes.append(self)

    def __bool__(self) -> bool:
        self.seen = self.seen or not (self.is_settled or self.are_same())
        return self.seen

    def are_same(self) -> bool:
        """Whether the containers have their contents from then."""
        return all(_same(_contents(part), contents) for part, contents in self.before)

    def settle(self, seen: bool) -> None:
        """From now on, tell what was so at the end of a body: then its changes are undone."""
        self.seen, self.is_settled = seen, True


@dataclass(frozen=True)
class Element:
    """A list, dict or object that was put into a staged list or read from one, or a part of it; `place`: where."""

    value: Any
    changes: Changes
    place: Position | None
    is_put: bool
    owner: list[Any] | None = None
    """The staged list, if known."""
    index: Any = None
    items: StagedItems | None = None
    """The contents of the list when the element at that index was read or put back."""
    whole: Any = None
    """The element, if it is certainly the one at that index, while the body that read it is open."""
    is_taken: bool = False
    """Whether it was removed from the list."""
    is_own: bool = False
    """Whether changes are allowed: only the list has the element, and it is updated or the element was removed."""
    made: Moment = field(default_factory=now, compare=False)
    """When it was read or put in."""
    may_be_absent: bool = False
    """Whether the variable with the element may be None or unbound; then the index may be any."""

    def is_in_step(self) -> bool:
        """Whether the index is still that of the element."""
        owner = self.owner
        return self.items is not None and owner is not None and is_staged_list(owner) and self.items.same(owner[0])

    def is_current(self) -> bool:
        """Whether the container and its list are known to have the same contents."""
        return self.whole is not None and not (self.is_own or self.is_taken) and self.is_in_step() and not self.changes

    def renewed(self) -> Element:
        """The record of the element after its container and its list have changed in the same way."""
        assert self.owner is not None
        return replace(self, items=self.owner[0], changes=Changes([self.value]))


class Link(NamedTuple):
    """Two lists that may have elements in common (`shared_elements`)."""

    owner: Any
    other: Any
    made: Moment
    index: Any = None
    """The index of the only common element in the list that had it before, if known."""


@dataclass
class Move:
    """An element of a staged list that was also put at another index of it, as the first half of an exchange does: it
    is in both places until the one at `index` is replaced. `count`: by how much it raised the number of elements that
    may be in several places."""

    owner: list[Any]
    index: Any
    count: int
    links: Sequence[Link] = ()
    """The links that it made."""
    items: StagedItems | None = None
    """The contents of the list since."""

    def is_in_step(self, owner: list[Any]) -> bool:
        return self.owner is owner and self.items is not None and self.items.same(owner[0])


@dataclass(frozen=True)
class Slice:
    """A new list that has the elements of `source` from index `start` on. `items`: the contents of both then."""

    owner: Any
    source: Any
    start: Any
    items: tuple[StagedItems, StagedItems]


@dataclass(frozen=True)
class Relation:
    """May-alias pair."""

    value: Any
    other: Any
    changes: tuple[Changes, ...]
    name: str
    place: Position | None


@dataclass
class Body:
    """What a body knows about containers: `elements`, those put into staged lists or read from one; by id, `copies` and
    their originals, `begins`, possible originals of other containers, and `live_out`, the originals of live-out
    containers; may-alias pairs of it (`relations`) and of nested bodies (`inner`); `split`, several copies of one
    container; `changes`, the watchers."""

    elements: list[Element] = field(default_factory=list)
    changes: list[Changes] = field(default_factory=list)
    copies: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    begins: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    live_out: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    settled: int = 0
    """The number of relations after the last statement."""
    inner: list[Relation] = field(default_factory=list)
    split: list[Any] = field(default_factory=list)
    exits: set[int] = field(default_factory=set)
    """The ids of copies that `record_exit` added: containers that are their own copies."""
    is_loop: bool = False
    links: list[Link] = field(default_factory=list)
    slices: dict[int, Slice] = field(default_factory=dict)
    """For a function: by id, the lists that are slices of others."""
    read: list[tuple[Any, StagedItems]] = field(default_factory=list)
    """The lists that iterated slices were read from, with their contents then."""
    kept: list[tuple[Any, Any]] = field(default_factory=list)
    """Lists in which the last statement changed no more than elements, each with its contents before."""
    has_left_slices: bool = False
    """Whether the last nested body changed a list of which it iterates over a slice."""
    first_link: int = 0
    """The number of these when the body began."""
    links_new_lists: bool = True
    """Whether lists may be linked that the body has made."""
    shared: int = 0
    """For a function: how often it traced code after which several places in staged lists may share one element."""
    moves: list[Move] = field(default_factory=list)
    """For a function: the last puts that may be the first half of an exchange."""
    written: list[Any] = field(default_factory=list)
    """Staged lists whose elements were changed."""
    items_written: list[Any] = field(default_factory=list)
    """For a loop: staged lists in which arrays were changed in place."""
    compared: list[Any] = field(default_factory=list)
    """Containers whose identity the code compares (`is`)."""
    around: tuple[Body, ...] = ()
    """The enclosing bodies with known elements. Only those of the innermost body can change."""
    carried: Sequence[Element] = ()
    """Elements that the bodies of the statement being staged receive (`carrying`)."""
    tracked: Sequence[Element] = ()
    """Those that were known before the statement, and that names have, or that the body has received."""
    unused: dict[int, Element] = field(default_factory=dict)
    """By id, those that no name has any more."""
    states: dict[int, int] = field(default_factory=dict)
    """By id, the worst state of each of them at the ends of these bodies: CURRENT, MOVED or CHANGED."""
    renewed: list[Element] = field(default_factory=list)
    """Records of elements after the last statement, until its final state is assigned."""
    received: list[tuple[Element, Element]] = field(default_factory=list)
    """Elements of the enclosing body, each with its record for this one's copies."""
    entering: Sequence[Element] = ()
    """Elements that variables have at its beginning, each with the list outside."""
    has_begun: bool = False
    is_of_statement: bool = False
    """Whether `end_body` is called at its end."""
    ended: Mapping[int, int] | None = None
    """By id, the states of these elements at the body's end, once it ended."""
    changed: Set[int] = frozenset()
    """The ids of the elements that had been changed then."""
    at_end: Mapping[int, Element] = field(default_factory=dict)
    """By id, the containers that are elements of lists, and in step with them, at the body's end."""
    places: Mapping[int, Element] = field(default_factory=dict)
    """`at_end` of the last nested body."""

    def renew(self, records: Iterable[Element]) -> list[Element]:
        """Replace those of the records that are still there by new ones, unless nothing has changed; return these."""
        old, made = set(map(id, records)), []
        for k, e in enumerate(self.elements) if old else ():
            if id(e) in old and self.states.get(id(e)) != CHANGED:
                if self.states.get(id(e)) == MOVED:
                    e = replace(e, items=None, whole=None, changes=Changes([e.value]))
                elif e.whole is None:
                    e = replace(e, changes=Changes([e.value]))
                elif not e.is_current():
                    e = e.renewed()
                self.elements[k] = e
                made.append(e)
        return made

    def receive(self, carried: Sequence[Element]) -> None:
        """Add the records of elements that the enclosing body knows, so that changes of them here are made in their
        lists, too."""
        self.has_begun = True
        if not (carried or self.entering):
            return
        copies: dict[int, list[Any]] = {}
        for copy, original in self.copies.values():
            copies.setdefault(id(original), []).append(copy)
        for e in carried:
            own = [copies.get(id(one), [one]) for one in (e.value, e.owner, e.whole)]
            if all(len(each) == 1 for each in own):
                [value], [owner], [whole] = own
                if is_staged_list(owner) and (value is whole or id(value) in containers_in([whole])):
                    self.received.append((e, replace(e, value=value, owner=owner, whole=whole).renewed()))
        begun = [replace(e, owner=own[0], whole=e.value).renewed() for e in self.entering
                 if len(own := copies.get(id(e.owner), [e.owner])) == 1 and is_staged_list(own[0])]
        self.tracked = [*[own for _, own in self.received], *begun]
        self.elements += self.tracked

    def end(self) -> None:
        """Called at the end of the body, while the state is that of the body."""
        self.has_left_slices |= any(not is_staged_list(owner) or not owner[0].same(items) for owner, items in self.read)
        self.ended = {id(e): self._state(own) for e, own in self.received}
        self.at_end = self.current()
        self.changed = {id(e) for e in self.elements if e.changes}

    def current(self) -> dict[int, Element]:
        """By id, the containers that are elements of lists and in step with them."""
        return {id(e.value): e for e in self.elements if e.whole is e.value and e.is_current()}

    def keep_read(self, kept: Sequence[tuple[Any, Any]]) -> None:
        """Called after changes in elements of lists, each given with its contents before: they have the elements that
        slices were read from."""
        self.read[:] = [(x, x[0] if any(x is owner and items.same(before) for owner, before in kept) else items)
                        for x, items in self.read]

    def settle_relations(self) -> None:
        """After a statement, forget the pairs that it made whose containers are elements of one list: a change of the
        one is made in the other, if that is the same element."""
        new = [relation for relation in self.relations[self.settled:] if not self._has_both(relation)]
        self.relations[self.settled:] = new
        self.settled = len(self.relations)

    def _has_both(self, relation: Relation) -> bool:
        owners = [{id(e.owner) for e in self.elements if e.value is one and e.is_current()}
                  for one in (relation.value, relation.other)]
        return bool(owners[0] & owners[1])

    def _state(self, own: Element) -> int:
        records = [e for e in self.elements if e.value is own.value and e.owner is own.owner and not e.is_own]
        if any(e.is_current() and e.whole is own.whole and e.index is own.index for e in records):
            return CURRENT
        return CHANGED if any(e.changes for e in records) else MOVED

    def hand_back(self, outer: Body) -> None:
        """Forget what the body received, which the enclosing body knows, but for changes; let that know the states of
        the elements."""
        known = {(id(own.value), id(own.owner)) for _, own in self.received}
        own = [e for e in self.elements if e.is_own or (id(e.value), id(e.owner)) not in known]
        self.elements[:] = [replace(e, is_put=False) if (id(e.value), id(e.owner)) in known else e for e in own]
        for e in outer.carried:
            outer.states[id(e)] = max(outer.states.get(id(e), CURRENT), (self.ended or {}).get(id(e), CHANGED))


Bodies = Sequence[Body]


class _Open(threading.local):
    bodies: tuple[Body, ...] = ()
    in_use: tuple[Any, ...] = ()
    """The lists that loops run over."""


open_now: Final = of_trace(_Open())


def bodies_open() -> Bodies:
    """The open bodies, innermost last."""
    return open_now.bodies


def elements_with(value: Any) -> list[Element]:
    """The records of a container as an element of a staged list."""
    return [element for body in open_now.bodies for element in body.elements if element.value is value]


class resumed(AbstractContextManager[None]):
    """Use what a body knew at its end."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def __enter__(self) -> None:
        self.before, open_now.bodies = open_now.bodies, (self.body,)

    def __exit__(self, *_: object) -> None:
        open_now.bodies = self.before


class carrying(AbstractContextManager[None]):
    """Stage a statement whose bodies may change elements that were read before it, and so their lists: after it, they
    are still the elements at these places."""

    def __enter__(self) -> None:
        self.body = body = open_now.bodies[-1] if open_now.bodies else Body()
        self.outer = body.carried, body.states
        body.carried, body.states = [e for e in body.tracked if e.is_current()], {}

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        body = self.body
        if kind is None:
            body.kept += [(e.owner, e.items) for e in body.carried
                          if body.states.get(id(e)) == CURRENT and isinstance(e.index, GraphTensor)]
            body.renewed += body.renew(body.carried)
        body.carried, body.states = self.outer


def track(elements: Sequence[Element]) -> None:
    """Record elements of lists that the bodies of the statement being staged may change, as those before it."""
    if open_now.bodies:
        body = open_now.bodies[-1]
        body.elements += elements
        body.tracked, body.carried = [*body.tracked, *elements], [*body.carried, *elements]


def end_statement() -> None:
    """Called when the final state of the statement has been assigned: items of elements may be part of it."""
    if open_now.bodies:
        body = open_now.bodies[-1]
        body.renew(body.renewed)
        body.keep_read(body.kept)
        body.renewed, body.kept = [], []
        body.elements[:] = [replace(e, changes=Changes([e.value])) if e.changes.is_settled and not e.changes.seen else e
                            for e in body.elements]
        body.settle_relations()


def enter(elements: Sequence[Element]) -> None:
    """Called before the open body begins, with the elements that its variables have then, and their lists outside."""
    if len(open_now.bodies) > 1 and not open_now.bodies[-1].has_begun:
        open_now.bodies[-1].entering = elements


def ended_at(value: Any) -> Element | None:
    """The record of a container as an element of a list at the end of the open body; None if it is none."""
    return open_now.bodies[-1].at_end.get(id(value)) if open_now.bodies else None


def own_of(owner: list[Any]) -> Any:
    """What the open body has for a list outside: a copy, or the list itself; None if it has several."""
    copies = [copy for copy, original in open_now.bodies[-1].copies.values() if original is owner]
    return owner if not copies else copies[0] if len(copies) == 1 else None


def outermost_of(owner: Any) -> Any:
    """What a list is outside of the open bodies, which have copies of it."""
    for body in reversed(open_now.bodies):
        original = body.copies.get(id(owner), (None, None))[1]
        owner = owner if original is None else original
    return owner


def begin_body() -> None:
    """Called at the beginning of the open body, when the state is that of the body, in which elements are in step with
    their lists."""
    if len(open_now.bodies) > 1 and not open_now.bodies[-1].has_begun:
        open_now.bodies[-1].receive(open_now.bodies[-2].carried)


def end_body() -> None:
    """Called at the end of the open body, while the state is that of the body."""
    if open_now.bodies:
        body = open_now.bodies[-1]
        body.end()
        body.is_of_statement = True
        body.links_new_lists = not all(
            id(x) in body.copies or was_before(x)
            for each in open_now.bodies[0].links[body.first_link:] for x in (each.owner, each.other))


def is_followed(element: Element) -> bool:
    """Whether the bodies of the statement being staged have changed the list of an element as they did the element."""
    return any(body.states.get(id(element)) == CURRENT for body in open_now.bodies)


def note_same_elements(owner: Any, before: StagedItems) -> None:
    """Called after a change in an element of a list: the list has the elements that it had with the contents
    `before`."""
    if open_now.bodies:
        open_now.bodies[-1].keep_read([(owner, before)])


def has_left_slices() -> bool:
    """Whether the body that was traced last changed a list of which it iterates over a slice."""
    return bool(open_now.bodies) and open_now.bodies[-1].has_left_slices


def places_at_end() -> Mapping[int, Element]:
    """By id, the containers that were elements of lists at the end of the body that was traced last."""
    return open_now.bodies[-1].places if open_now.bodies else {}


def tracked_elements() -> list[Any]:
    """The elements that were known before the statement being staged, and their lists: changes of the ones are changes
    of the others, too."""
    return [one for e in (open_now.bodies[-1].tracked if open_now.bodies else ()) for one in (e.owner, e.value)]


@dataclass
class KnownElements:
    """A snapshot: the open body's elements of staged lists, with their states, `shared` and `links` of its `function`,
    and the contents of the elements, and their lists, that all open bodies know."""

    body: Body
    elements: Sequence[Element]
    seen: Sequence[bool]
    """Which of these had been changed."""
    read: Sequence[tuple[Any, StagedItems]]
    states: Mapping[int, int]
    written: int
    function: Body
    shared: int
    links: Sequence[Link]
    contents: Sequence[tuple[Any, list[tuple[Any, Any]]]]


def known_elements() -> KnownElements | None:
    """A snapshot of what the open bodies know; None if there are none."""
    if not open_now.bodies:
        return None
    function, body = open_now.bodies[0], open_now.bodies[-1]
    return KnownElements(body, [*body.elements], [e.changes.seen for e in body.elements], [*body.read],
                         {**body.states}, len(body.written), function, function.shared, [*function.links], [
        (one, parts_in(one)) for each in (*body.around, body) for e in each.elements if e.whole is not None
        for one in (e.value, e.owner)])


def restore_elements(known: KnownElements) -> None:
    """Return to the snapshot: forget later records, undo later changes."""
    known.body.elements[:], known.function.shared = known.elements, known.shared
    known.function.links[:] = known.links
    known.body.states, known.body.read[:] = {**known.states}, known.read
    for element, seen in zip(known.elements, known.seen, strict=True):
        element.changes.seen = seen
    del known.body.written[known.written:]
    for container, parts in known.contents:
        if not same_parts(parts, parts_in(container)):
            fill(container, parts)


def contents_of(value: Any) -> dict[tuple[Any, ...], Any]:
    """The lists, dicts, objects with fields, and staged lists in `value`, by position. StagingError if objects lead to
    each other in too many ways."""
    found: dict[tuple[Any, ...], Any] = {}
    _add_contents(found, value, (), frozenset(), {})
    return found


def _add_contents(
    found: dict[tuple[Any, ...], Any], value: Any, place: tuple[Any, ...], inside: frozenset[int],
    parts: dict[int, list[tuple[Any, Any]]],
) -> None:
    """`contents_of` a value at a place. `inside`: the ids of the enclosing containers, for cycles; `parts`: those of
    all containers found, by id."""
    if issubclass(type(value), MaybeObject):
        value = value.content
    if is_leaf(value) or id(value) in inside:
        return
    inside |= {id(value)}
    parts[id(value)] = own = objects_in(value)
    if is_container(value):
        found[place] = value
        if not len(found) % _PLACES and len(found) > _WAYS * sum(map(len, parts.values())):
            want_references(of_containers=True)
            raise staging_error(
                f"objects are part of the state of a statement here that lead to each other in {len(found)} ways or"
                " more, by attributes and lists in them",
                "Keep such objects in one list, and in other lists and attributes their indices there.")
    for key, part in own:
        _add_contents(found, part, (*place, key), inside, parts)


_PLACES: Final = 2048  # their number is checked each time that there are so many more
_WAYS: Final = 64  # most positions for each part of a container; a list that has one object many times has few


def _contents(value: Any) -> tuple[Any, ...]:
    parts = parts_in(value)
    return (*([key for key, _ in parts] if isinstance(value, dict) else ()), *[part for _, part in parts])


def _same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(map(is_same, a, b))


def is_same(a: Any, b: Any) -> bool:
    """Whether two parts of a container are the same value."""
    if a is b or getattr(a, "is_object", False):
        return a is b
    return (type(a) is type(b) and isinstance(a, (GraphTensor, GraphList)) and a.value is b.value) or (
        isinstance(a, StagedItems) and a.same(b))
