"""Mutations of lists and dicts that staged code cannot propagate to all aliases: they are errors.

A staged list stores the tensors of its elements, not the elements. So a change to a list after it was put into a
staged list, or after it was read from one, would not be visible in the staged list, as it is in Python.

After a statement that rebinds a variable to another list on some paths only, the variable refers to a new list with
the joined contents. A change to it, or to a list that it may alias, would not be visible through the other.
"""
from __future__ import annotations

import operator
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, NoReturn

from autograph.backend import fill, has_staged_items, is_container, objects_in, of_trace, parts_in, same_parts
from runtime.core.errors import StagingError, locate, subject
from runtime.core.positions import Position, staging_error, user_position
from runtime.core.tensor import GraphList, GraphTensor, Tensor
from runtime.core.text import Text
from runtime.staging.values.list import StagedItems, is_staged_list
from runtime.staging.values.optional import MaybeObject

__all__ = [
    "Bodies",
    "Changes",
    "Element",
    "KnownElements",
    "Move",
    "after_return",
    "aliases_of",
    "as_originals",
    "bodies_open",
    "changes_of",
    "check_comparison",
    "compared",
    "contents_of",
    "copies_in",
    "elements_with",
    "forget_exits",
    "has_no_single_original",
    "in_use",
    "is_carried",
    "is_in_use",
    "is_returned",
    "is_same",
    "is_split",
    "isolated",
    "known_elements",
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
    "refuse_change",
    "refuse_comparison",
    "refuse_element",
    "restore_elements",
    "sure_original",
    "tracking",
]


class Changes:
    """True once one of some containers has changed since this was created, even by a nested body that is undone."""

    def __init__(self, containers: Iterable[Any]) -> None:
        self.before = [(container, _contents(container)) for container in containers]
        self.seen = False
        if _open.bodies:
            _open.bodies[-1].changes.append(self)

    def __bool__(self) -> bool:
        self.seen = self.seen or not all(_same(_contents(part), contents) for part, contents in self.before)
        return self.seen


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

    def is_in_step(self) -> bool:
        """Whether the index is still that of the element."""
        owner = self.owner
        return self.items is not None and owner is not None and is_staged_list(owner) and self.items.same(owner[0])


@dataclass
class Move:
    """An element of a staged list that was also put at another index of it, as the first half of an exchange does: it
    is in both places until the one at `index` is replaced. `count`: by how much it raised the number of elements that
    may be in several places."""

    owner: list[Any]
    index: Any
    count: int
    items: StagedItems | None = None
    """The contents of the list since."""

    def is_in_step(self, owner: list[Any]) -> bool:
        return self.owner is owner and self.items is not None and self.items.same(owner[0])


@dataclass(frozen=True)
class _Relation:
    """May-alias pair."""

    value: Any
    other: Any
    changes: tuple[Changes, ...]
    name: str
    place: Position | None


@dataclass
class _Body:
    """What a body knows about containers: `elements`, those put into staged lists or read from one; by id, `copies` and
    their originals, `begins`, possible originals of other containers, and `live_out`, the originals of live-out
    containers; may-alias pairs of it (`relations`) and of nested bodies (`inner`); `split`, several copies of one
    container; `changes`, the watchers."""

    elements: list[Element] = field(default_factory=list)
    changes: list[Changes] = field(default_factory=list)
    copies: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    begins: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    live_out: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    relations: list[_Relation] = field(default_factory=list)
    inner: list[_Relation] = field(default_factory=list)
    split: list[Any] = field(default_factory=list)
    exits: set[int] = field(default_factory=set)
    """The ids of copies that `record_exit` added: containers that are their own copies."""
    is_loop: bool = False
    shared: int = 0
    """For a function: how often it traced code after which several places in staged lists may share one element."""
    moves: list[Move] = field(default_factory=list)
    """For a function: the last puts that may be the first half of an exchange."""
    written: list[Any] = field(default_factory=list)
    """Staged lists whose elements were changed."""
    compared: list[Any] = field(default_factory=list)
    """Containers whose identity the code compares (`is`)."""
    around: tuple[_Body, ...] = ()
    """The enclosing bodies with known elements. Only those of the innermost body can change."""


Bodies = Sequence[_Body]


class _Open(threading.local):
    bodies: tuple[_Body, ...] = ()
    in_use: tuple[Any, ...] = ()
    """The lists that loops run over."""


_open: Final = of_trace(_Open())


class tracking(AbstractContextManager[Any]):
    """Trace a body, or (`alone`) a function, in isolation from the open bodies. At its end, StagingError for changes of
    elements of staged lists that the lists do not have, and for changes of containers that may be aliases."""

    def __init__(self, alone: bool = False) -> None:
        self.alone = alone

    def __enter__(self) -> tracking:
        self.before = _open.bodies
        self.outer = () if self.alone else self.before
        last = self.outer[-1] if self.outer else _Body()
        _open.bodies = (*self.outer, _Body(around=(*last.around, last) if last.elements else last.around))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        body, _open.bodies = _open.bodies[-1], self.before
        if exc is None:
            for element in body.elements:
                if not element.is_own and element.changes:
                    refuse_element(element)
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
        self.body = _open.bodies[-1] if _open.bodies else _Body()
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
        self.body = _open.bodies[-1] if _open.bodies else _Body()
        self.kept = [relation for relation in self.body.relations
                     if not is_returned(relation.name) or any(relation.changes)]

    def __exit__(self, *_: object) -> None:
        for i, relation in enumerate(self.body.relations):
            if not any(relation is kept for kept in self.kept):
                changes = changes_of(relation.value), changes_of(relation.other)
                self.body.relations[i] = _Relation(
                    relation.value, relation.other, changes, relation.name, relation.place)


def is_returned(name: str) -> bool:
    """Whether a variable is the one that conversion introduced for `return`."""
    return re.fullmatch(r"return_\d*", name) is not None


def changes_of(value: Any) -> Changes:
    """A watcher for changes to the containers in a value."""
    return Changes(contents_of(value).values())


def note_changed(containers: Iterable[Any]) -> None:
    """Mark these containers as changed by a body that has just ended: their contents have been restored since."""
    ids = set(map(id, containers))
    for body in _open.bodies if ids else ():
        for changes in body.changes:
            changes.seen = changes.seen or any(id(container) in ids for container, _ in changes.before)


@dataclass
class KnownElements:
    """A snapshot: the open body's elements of staged lists, the number `shared` of its `function`, and the contents of
    the elements, and their lists, that all open bodies know."""

    body: _Body
    elements: Sequence[Element]
    written: int
    function: _Body
    shared: int
    contents: Sequence[tuple[Any, list[tuple[Any, Any]]]]


def known_elements() -> KnownElements | None:
    """A snapshot of what the open bodies know; None if there are none."""
    if not _open.bodies:
        return None
    function, body = _open.bodies[0], _open.bodies[-1]
    return KnownElements(body, [*body.elements], len(body.written), function, function.shared, [
        (one, parts_in(one)) for each in (*body.around, body) for e in each.elements if e.whole is not None
        for one in (e.value, e.owner)])


def restore_elements(known: KnownElements) -> None:
    """Return to the snapshot: forget later records, undo later changes."""
    known.body.elements[:], known.function.shared = known.elements, known.shared
    del known.body.written[known.written:]
    for container, parts in known.contents:
        if not same_parts(parts, parts_in(container)):
            fill(container, parts)


class in_use(AbstractContextManager[Sequence[Any]]):
    """Run or stage a loop over a list, which need not have a name. StagingError if it has another length, which only
    the graph knows, after an iteration in Python."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __enter__(self) -> Sequence[Any]:
        self.was_staged, self.outer = has_staged_items(self.items), _open.in_use
        _open.in_use = (*self.outer, self.items)
        return (self.items,) if self.was_staged else ()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _open.in_use = self.outer
        if kind is None and has_staged_items(self.items) and not self.was_staged:
            raise staging_error(
                "the list that this loop runs over is changed in it, and then only the graph knows its length or items",
                "Loop over a copy, list(xs).")


def is_in_use(x: Any) -> bool:
    """Whether a loop runs over this list."""
    return any(x is one for one in _open.in_use)


def elements_with(value: Any) -> list[Element]:
    """The records of a container as an element of a staged list."""
    return [element for body in _open.bodies for element in body.elements if element.value is value]


def record_split(copies: Iterable[Any]) -> None:
    """Record copies that alias one container in some other iteration."""
    if _open.bodies:
        _open.bodies[-1].split += copies


def note_compared(*values: Any) -> None:
    """Note that code compares the identity of these values (`is`)."""
    for value in values if _open.bodies else ():
        if is_container(value):
            for body in reversed(_open.bodies):
                body.compared.append(value)
                _, value = body.copies.get(id(value), (None, value))


def compared() -> Sequence[Any]:
    """The containers whose identity is compared in the open body or one nested in it."""
    return _open.bodies[-1].compared


def may_alias(value: Any) -> bool:
    """Whether a container may have aliases."""
    return len(aliases_of(value)) > 1 or is_split(value)


def is_split(value: Any) -> bool:
    """Whether the open body begins with several copies of this container's original."""
    return any(value is copy for copy in (_open.bodies[-1].split if _open.bodies else ()))


def record_copies(
    copies: dict[int, tuple[Any, Any]], live_out: dict[int, tuple[Any, Any]], is_loop: bool = False,
    begins: Mapping[int, Sequence[Any]] | None = None,
) -> None:
    """Record, by id, the traced body's `copies` and their originals. The caller later fills `begins` with the possible
    originals of other containers, and `live_out` with the originals of live-out containers."""
    if _open.bodies:
        body = _open.bodies[-1]
        body.copies, body.live_out, body.is_loop = copies, live_out, is_loop
        body.begins = {} if begins is None else begins


def bodies_open() -> Bodies:
    """The open bodies, innermost last."""
    return _open.bodies


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
    for body, container in zip(reversed(_open.bodies), originals_of(value), strict=False):
        if id(container) not in body.copies or body.is_loop:
            return id(container) in body.copies
    return False


def record_exit(value: Any, origin: Any) -> None:
    """Record that the container `value` is live-out of the open body, and is the pre-existing container `origin` or a
    copy of it."""
    if _open.bodies:
        body = _open.bodies[-1]
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
    return _open.bodies[-1].live_out.get(id(value), (None, value))[1] if _open.bodies else value


def forget_exits() -> None:
    """Forget containers recorded by `record_exit`, before a body records its live-out ones: bodies that ran as part of
    the open one may have recorded containers that the open one created."""
    if _open.bodies:
        body = _open.bodies[-1]
        for key in body.exits:
            del body.copies[key]
        body.exits.clear()


def origin_of(value: Any) -> Any:
    """The original of `value`, a copy that the open body received; None if there is none."""
    return _open.bodies[-1].copies.get(id(value), (None, None))[1] if _open.bodies else None


def has_no_single_original(value: Any) -> bool:
    """Whether the open body received a container that has no single original outside it."""
    return bool(_open.bodies) and id(value) in _open.bodies[-1].copies and origin_of(value) is None


def originals_of(value: Any) -> Iterator[Any]:
    """A container, then its originals in the open bodies, innermost first."""
    for body in reversed(_open.bodies):
        yield value
        value = body.copies.get(id(value), (None, None))[1]
        if value is None:
            return
    yield value


def record_alias(value: Any, other: Any, name: str) -> None:
    """Record that variable `name` now refers to `value`, which in Python may be `other`."""
    if _open.bodies:
        changes = changes_of(value), changes_of(other)
        _open.bodies[-1].relations.append(_Relation(value, other, changes, name, user_position()))


def record_replacement(value: Any, other: Any) -> None:
    """Record that `value` replaces `other`: if that is an element, `value` is, too."""
    if _open.bodies and value is not other:
        _open.bodies[-1].elements += [
            replace(element, value=value, changes=Changes([value]), whole=None) for element in elements_with(other)]


def possible_identities(value: Any) -> list[Any]:
    """The containers that `value` may be in Python, according to the open body and those nested in it."""
    if not _open.bodies:
        return []
    body = _open.bodies[-1]
    return [relation.other for relation in (*body.relations, *body.inner) if relation.value is value]


def aliases_of(value: Any) -> list[Any]:
    """The transitive closure of may-alias for a container, itself included."""
    found = [value]
    body = _open.bodies[-1] if _open.bodies else _Body()
    for one in found:  # grows meanwhile
        for relation in (*body.relations, *body.inner):
            for this, other in ((relation.value, relation.other), (relation.other, relation.value)):
                if this is one and not any(other is known for known in found):
                    found.append(other)
    return found


def contents_of(
    value: Any, place: tuple[Any, ...] = (), inside: frozenset[int] = frozenset()
) -> dict[tuple[Any, ...], Any]:
    """The lists, dicts, objects with fields, and staged lists in `value`, by position; `inside`: the ids of the
    enclosing ones, for cycles."""
    kind = type(value)
    if issubclass(kind, MaybeObject):
        value = value.content
        kind = type(value)
    is_whole = is_container(value)
    if (not is_whole and issubclass(kind, (Tensor, int, float, str, Text))) or id(value) in inside:
        return {}
    found = {place: value} if is_whole else {}
    for key, part in objects_in(value):
        found |= contents_of(part, (*place, key), inside | {id(value)})
    return found


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


def refuse_change(value: Any, name: str, place: Position | None) -> NoReturn:
    """Raise the error for a change of `value` through one of two names that may be aliases."""
    kind, copy = _kind(next(iter(contents_of(value).values()), value))
    error = StagingError(
        f"whether {subject(name)} is the same {kind} here as another name is known only when the graph runs, and one"
        " of them is changed: staged code does not see the change by the other name",
        remedy=f"Give each name a {kind} of its own where the program allows it: {copy}(x).")
    locate(error, place)
    raise error


def check_comparison(value: Any, other: Any) -> None:
    """StagingError if the identity of two containers is known only at run time."""
    body = _open.bodies[-1] if _open.bodies else _Body()
    relations = [relation for relation in (*body.relations, *body.inner)
                 if relation.value is value or relation.value is other]
    one, another = ({id(each), *[id(relation.other) for relation in relations if relation.value is each]}
                    for each in (value, other))
    if relations and one & another:
        refuse_comparison(value, relations[-1].name, relations[-1].place)


def refuse_comparison(value: Any, name: str, place: Position | None) -> NoReturn:
    """Raise the error for an identity test (`is`) of `value`, which is a different container in each iteration."""
    kind, _ = _kind(value)
    error = StagingError(
        f"whether {subject(name)} is the same {kind} here as another name is known only when the graph runs, and it is"
        " asked here (`is`)", remedy="Keep a number or bool that says which one it is.")
    locate(error, place)
    raise error


def _kind(value: Any) -> tuple[str, str]:
    """A container's name in messages, and the expression that copies it."""
    if isinstance(value, GraphTensor):
        return "array", "numpy.copy"
    stands_for = getattr(type(value), "__stands_for__", list)
    kind = stands_for.__name__ if hasattr(type(value), "__become__") else type(value).__name__
    return kind, kind if kind in ("list", "dict", "set") else "copy.copy"


def refuse_element(element: Element) -> NoReturn:
    """Raise the error for a changed element."""
    kind, copy = _kind(element.value)
    when = "was put into another list here" if element.is_put else "was read from another list here"
    remedy = (f"Put in a copy: {copy}(x); or change it before." if element.is_put
              else f"Change a copy, and put that in: x = {copy}(xs[i]), then xs[i] = x.")
    error = StagingError(
        f"a {kind} is changed after it {when}, which holds what was in it: staged code does not see the change there",
        remedy=remedy)
    locate(error, element.place)
    raise error
