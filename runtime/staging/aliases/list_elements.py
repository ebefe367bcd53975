"""Elements of staged lists that are lists, dicts or objects: the staged list stores their tensors; reading an element
gives a Python copy.

An assignment to an item of such a copy is also made in the list, where it was read from. A change that staged code
cannot propagate, to another copy or to another list with the element, is an error.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, NoReturn

from autograph.backend import (
    containers_in,
    fill,
    has_staged_items,
    is_container,
    is_reference,
    operators,
    parts_in,
    references,
    refill,
    with_parts,
)
from runtime.core.object_mode import want_references
from runtime.core.positions import staging_error, user_position
from runtime.core.waiting_operands import Waiting
from runtime.ops.logic import less, less_equal, logical_and, where
from runtime.staging.aliases.alias_errors import refuse_element
from runtime.staging.aliases.alias_tracking import aliases_of, is_in_use
from runtime.staging.aliases.indices import is_index
from runtime.staging.aliases.open_bodies import (
    Body,
    Changes,
    Element,
    KnownElements,
    Move,
    bodies_open,
    elements_with,
    note_same_elements,
    outermost_of,
    track,
)
from runtime.staging.aliases.shared_elements import has_twice, is_shared, link, may_have_common, note_shared
from runtime.staging.values.arrays_in_lists import PUTS
from runtime.staging.values.index_signs import from_start, is_from_start
from runtime.staging.values.list import is_staged_list

__all__ = [
    "become_rows", "begin_statement", "check_identity", "check_repeated", "following", "have_other_names",
    "is_same_element", "place_of", "put", "put_back", "record_items", "record_of", "record_places", "record_put",
    "record_read", "record_taken", "refuse_identity", "renewed",
]


_FEW: Final = 4  # elements, for which it takes no time to look after those that no name has


def record_read(x: Any, owner: list[Any], index: Any) -> Any:
    """Record `x` as the element read at that index of a staged list; return it."""
    for value in containers_in([x]).values():
        _record(Element(value, Changes([value]), user_position(), False, owner, index, owner[0], x))
    return x


def record_taken(x: Any, owner: list[Any]) -> Any:
    """Record `x` as an element removed from the list; return it."""
    found = containers_in([x])
    is_own = not found or not bodies_open() or not (is_shared(owner) or _other_copies(found, owner))
    for value in found.values():
        _record(Element(value, Changes([value]), user_position(), False, owner, is_taken=True, is_own=is_own))
    return x


def record_put(x: Any, owner: list[Any] | None = None, except_for: Collection[int] = ()) -> None:
    """Record that `x` becomes an element of a staged list. `except_for`: the ids of parts already recorded."""
    whole = x.__alternatives__() if hasattr(type(x), "__alternatives__") else [x]  # it may be any of several
    for key, value in containers_in(whole).items() if bodies_open() else ():
        if key not in except_for:
            for one in aliases_of(value):
                for e in elements_with(one):
                    if not e.is_taken:
                        link(e.owner, owner, e.index if one is value else None)
            if any(body.is_loop and key in body.copies for body in bodies_open()):
                note_shared()
            _record(Element(value, Changes([value]), user_position(), True, owner))


def record_items(items: Sequence[Any]) -> None:
    """Record that the items of a Python list become the elements of a staged one."""
    found = containers_in(items) if bodies_open() else {}
    if found and (max(references(found.values()).values(), default=0) > 1 or any(
            not e.is_taken for value in found.values() for e in elements_with(value))):
        note_shared()
    for value in found.values():
        _record(Element(value, Changes([value]), user_position(), True))


def have_other_names(items: Sequence[Any], with_elements: bool) -> bool:
    """Whether names, or (if `with_elements`) other staged lists, have elements of a Python list."""
    found = containers_in(items) if bodies_open() else {}
    if any(not e.is_taken for value in found.values() for e in elements_with(value)):
        return with_elements
    return max(references(found.values()).values(), default=0) > 1


def record_places(owner: list[Any], items: Sequence[Any]) -> None:
    """Record that a Python list with these items has become a staged list, of which they are the elements, before the
    statement that is being staged."""
    counts, made = references(containers_in(items).values()), []
    for k, x in enumerate(items):
        for key, value in containers_in([x]).items():
            for e in elements_with(value):
                if not e.is_taken:
                    link(owner, e.owner)
            if counts[key]:
                made.append(Element(value, Changes([value]), user_position(), True, owner, k, owner[0], x))
    track(made)


def _record(element: Element) -> None:
    if bodies_open():
        bodies_open()[-1].elements.append(element)


def put(x: Any, owner: list[Any], index: Any, change: Callable[[], object]) -> None:
    """Call `change`, which sets `x` at that index of a staged list, or (None) appends it; update the records."""
    if not bodies_open():
        change()
        return
    found, body = containers_in([x]), bodies_open()[-1]
    known = [e for e in body.elements if e.owner is owner and e.is_in_step() and not e.is_own]
    back = [e for e in known if id(e.value) in found and is_index(e.index, index)]
    if back:
        _put_back(x, owner, change, known, back, found)
    else:
        _put_new(x, owner, index, change, known, found)


def _put_back(
    x: Any, owner: list[Any], change: Callable[[], object], known: Sequence[Element], back: Sequence[Element],
    found: Collection[int],
) -> None:
    """Put an element where it was read from. `back`: the records of its parts; `found`: the ids of all parts."""
    body, moves = bodies_open()[-1], _moves_in(owner)
    _forget_lists_gone(body)
    record_put(x, owner, {id(e.value) for e in back})
    changed = [e for e in back if e.changes]
    stale = _other_copies(found, owner) if changed else []
    if changed and (is_shared(owner) or not all(_is_one(e, known) and e.whole is not None and not e.changes
                                                       for e in stale)):
        refuse_element(changed[0])
    before = owner[0]
    change()
    note_same_elements(owner, before)
    for move in moves:
        move.items = owner[0]
    for e in {id(e.whole): e for e in stale}.values():
        view = owner[0].view(owner)
        _fill_again(e.whole, view.at(_any_present(e.index, view.length) if e.may_be_absent else e.index))
    stays = [e for e in known if len(back) == len(found) or _keeps_place(e.index, back[0].index)]
    body.elements[:] = [_after(e, changed, stale, stays) for e in body.elements
                        if not (changed and _is_one(e, back)) or _is_one(e, changed)]
    if changed:  # all parts have new records
        record_read(x, owner, changed[0].index)
        body.written.append(owner)


def _put_new(
    x: Any, owner: list[Any], index: Any, change: Callable[[], object], known: Sequence[Element],
    found: Collection[int],
) -> None:
    """Put another element at an index: that is the element there from now on, and the one before is not. An element
    that was read from another place of the list is in both until that is replaced, as in an exchange. `found`: the ids
    of its parts."""
    body, function = bodies_open()[-1], bodies_open()[0]
    moves, shared, count = _moves_in(owner), function.shared, len(body.elements)
    links = len(function.links)
    place = owner[0].view(owner).length if index is None and found else index
    record_put(x, owner)
    before = [e for e in known if e.whole is x and not e.is_taken]
    stay = _staying(owner, known, index)
    if index is not None and before:
        moves.append(Move(owner, before[0].index, function.shared - shared, function.links[links:]))
    change()
    for move in moves:
        move.items = owner[0]
        if is_index(move.index, index):
            function.shared -= move.count
            function.links[:] = [each for each in function.links if not any(each is one for one in move.links)]
    function.moves = [move for move in moves if not is_index(move.index, index)]
    for k, e in enumerate(body.elements):
        if k >= count:
            body.elements[k] = replace(e, index=place, items=owner[0], whole=x)
        elif e.owner is owner and e.whole is x and not e.changes:
            body.elements[k] = replace(e, is_own=True)
        elif _is_one(e, known) and is_index(e.index, index):
            body.elements[k] = replace(e, is_taken=True)
        elif id(e) in stay:
            body.elements[k] = replace(e, items=owner[0], index=stay[id(e)])


def _staying(owner: list[Any], known: Sequence[Element], index: Any) -> dict[int, Any]:
    """By id, the elements that keep their places when another is set at an index, or (None) appended, with their
    indices."""
    if index is not None:
        return {id(e): e.index for e in known if _keeps_place(e.index, index)}
    stay = {id(e): e.index for e in known if is_from_start(e.index)}
    return stay | {id(e): from_start(e.index, owner) for e in known if id(e) not in stay and e.whole is not None}


def _moves_in(owner: list[Any]) -> list[Move]:
    """The last moves of elements of a list that has not changed since."""
    return [move for move in bodies_open()[0].moves if move.is_in_step(owner)]


def _after(e: Element, changed: Sequence[Element], stale: Sequence[Element], stays: Sequence[Element]) -> Element:
    """The new record of an element after it, or another, was put into its list."""
    if _is_one(e, changed):
        return replace(e, is_own=True)
    if _is_one(e, stale):
        return e.renewed()
    return replace(e, items=e.owner[0]) if e.owner is not None and _is_one(e, stays) else e


def _is_one(element: Element, elements: Sequence[Element]) -> bool:
    return any(element is e for e in elements)


def _other_copies(found: Collection[int], owner: list[Any]) -> list[Element]:
    """Records of other containers, still referenced by user code, that may be copies of an element of a list."""
    received = {id(e) for body in bodies_open() for e, _ in body.received}
    others = [e for body in bodies_open() for e in body.elements
              if id(e.value) not in found and not e.is_own and id(e) not in received]
    if not others:
        return []
    known = {id(e.value) for e in others if e.owner is owner and e.is_in_step()}
    others = [e for e in others if e.owner is owner or id(e.value) not in known]
    counts = _live_references([one for e in others for one in (e.value, e.owner) if one is not None])
    waiting, root = Waiting(), outermost_of(owner)
    return [e for e in others if (
        e.owner is None or e.owner is owner or not counts[id(e.owner)] if _has_name(e, counts) else
        waiting.has(e.made) and (e.owner is None or outermost_of(e.owner) is root))]


def _has_name(e: Element, counts: Mapping[int, int]) -> bool:
    """Whether user code can reach an element. `counts`: how often, by id."""
    return bool(counts[id(e.value)]) or is_in_use(e.value)


def _live_references(values: Sequence[Any]) -> Any:
    """How many references there are to each of the values, by id, from others than those without any reference."""
    known = {id(value): value for value in values}
    counts = references(values)
    dead = [value for key, value in known.items() if not counts[key]]
    for value in dead:  # grows meanwhile
        for part in _direct(value):
            counts[id(part)] -= 1
            if id(part) in known and not counts[id(part)]:
                dead.append(part)
    return counts


def _direct(x: Any) -> list[Any]:
    """The containers that are parts of a container, or of tuples in it."""
    return [found for _, part in parts_in(x)
            for found in (_direct(part) if isinstance(part, tuple) else [part] if is_container(part) else [])]


def _any_present(index: Any, length: Any) -> Any:
    """The index of an element of a list that has some: another one if there is none at this index."""
    if isinstance(index, tuple):  # a dict has a value for all keys
        return index
    return where(logical_and(less(index, length), less_equal(-length, index)), index, 0)


def _keeps_place(place: Any, index: Any) -> bool:
    """Whether the element at `place` must keep that index when another is set at `index`."""
    return type(place) is int and place >= 0 and type(index) is int and index >= 0 and index != place


def _fill_again(x: Any, new: Any) -> None:
    """Copy the contents of an element's containers from another's."""
    before, after = parts_in(x), parts_in(new)
    if is_staged_list(new) or is_staged_list(x):  # a row, which may have been put in as a Python list
        fill(x, after)
        return
    for (_, old), (_, part) in zip(before, after, strict=True):
        _fill_again(old, part)
    if is_container(x):
        fill(x, [(key, old if isinstance(old, tuple) or is_container(old) else part)
                 for (key, old), (_, part) in zip(before, after, strict=True)])


def record_of(x: Any) -> Element | None:
    """The record of an unchanged list or dict that is, or is part of, an element that the open body read; else None."""
    own = bodies_open()[-1].elements if bodies_open() else []
    return next((e for e in reversed(own) if e.value is x and e.whole is not None and not e.is_own and e.is_in_step()
                 and not e.changes), None)


def is_same_element(value: Any, other: Any) -> Any:
    """Whether two lists, dicts or objects are one element of a list or dict: a bool, or a bool scalar tensor. None if
    one of them certainly is no element; StagingError if that is not known."""
    if value is other or not (elements_with(value) and elements_with(other)):
        return None
    known = [place_of(each) for each in (value, other)]
    if None in known:
        refuse_identity()
    (owner, index), (second, other_index) = known
    if owner is not second or owner is None:
        if may_have_common(owner, second):
            refuse_identity()
        return False
    if has_twice(owner):
        refuse_identity()
    if isinstance(index, tuple):
        return operators.eq(index[0], other_index[0])
    return is_index(index, other_index) or operators.eq(*[from_start(each, owner) for each in (index, other_index)])


def check_identity(key: Any) -> None:
    """StagingError if a key is hashed by identity, and an object that was read from a list or dict."""
    cls: Any = type(key)
    if cls.__hash__ is object.__hash__ and elements_with(key):
        refuse_identity()


def refuse_identity() -> NoReturn:
    """Raise the error for an identity test (`is`) of elements of lists that no graph can answer."""
    want_references(of_containers=True)
    raise staging_error(
        "whether two names have the same element of a list is asked here (`is`), and that is known only when the graph"
        " runs", "Compare their indices, or a number that each element has of its own.")


def place_of(x: Any) -> Any:
    """The list or dict with an element, and its index there; (None, None) if it was taken out; None if not known."""
    records = [e for e in bodies_open()[-1].elements if e.value is x] if bodies_open() else []
    found = next((e for e in reversed(records) if e.is_current() and e.whole is x), None)
    if found is not None:
        return found.owner, found.index
    return (None, None) if records and records[-1].is_taken else None


def renewed(owner: list[Any], items: Any) -> None:
    """Give a staged list or dict the same elements in other columns, which are not a change of it."""
    body = bodies_open()[-1] if bodies_open() else None
    known = [] if body is None else [e for e in body.elements if e.owner is owner and e.is_in_step()]
    moves = _moves_in(owner) if body is not None else []
    refill(owner, [items])
    if body is not None:
        body.elements[:] = [replace(e, items=items) if _is_one(e, known) else e for e in body.elements]
    for move in moves:
        move.items = items


def become_rows(element: Element | None) -> bool:
    """Let a list of known length that is an element, or part of one, be a row whose length may change, and so those in
    the other elements. Returns whether it is one."""
    if element is None or element.owner is None or type(element.value) is not list:
        return False
    view = element.owner[0].view(element.owner)
    view.fit(_without_items(element.whole, element.value))
    _fill_again(element.whole, view.at(element.index))
    body, items = bodies_open()[-1], element.owner[0]
    body.elements[:] = [replace(e, items=items, changes=Changes([e.value])) if e.whole is element.whole else e
                        for e in body.elements]
    return is_staged_list(element.value)


def _without_items(x: Any, part: list[Any]) -> Any:
    """A copy of an element, where a list that is part of it is empty."""
    if x is part:
        return []
    if has_staged_items(x):
        return x
    return with_parts(x, [(key, _without_items(child, part)) for key, child in parts_in(x)])


def put_back(element: Element) -> None:
    """Set an element in its list, after a change to it."""
    assert element.owner is not None
    with following(element.owner):
        element.owner[0].view(element.owner).put_back(element.index, element.whole)


class following(AbstractContextManager[Element | None]):
    """Change a list, dict or set, which may be an element of a list: that changes with it. A list by reference has its
    items meanwhile."""

    def __init__(self, x: Any) -> None:
        self.open = x[0].opened(x) if is_reference(x) else None
        self.element = None if self.open is not None else record_of(x)

    def __enter__(self) -> Element | None:
        if self.open is not None:
            self.open.__enter__()
        return self.element

    def __exit__(self, kind: type[BaseException] | None, error: Any, traceback: Any) -> None:
        if self.open is not None:
            self.open.__exit__(kind, error, traceback)
        if kind is None and self.element is not None and self.element.changes:
            put_back(self.element)


def begin_statement() -> None:
    """Called before a statement is staged: its bodies may change the elements that names have."""
    if not bodies_open():
        return
    body = bodies_open()[-1]
    _forget_lists_gone(body)
    known = [e for e in body.elements if id(e) not in body.unused and e.is_current()]
    if len(known) > _FEW:
        counts = _live_references([e.value for e in known])
        waiting = Waiting()
        body.unused.update((id(e), e) for e in known if not (_has_name(e, counts) or waiting.has(e.made)))
        known = [e for e in known if id(e) not in body.unused]
    body.renewed, body.tracked = [], known


def _forget_lists_gone(body: Body) -> None:
    """Forget of which lists that code cannot reach any more an element was, if it is one of another list."""
    owners: dict[int, set[int]] = {}
    for e in body.elements:
        if e.owner is not None and e.whole is not None and not e.is_own:
            owners.setdefault(id(e.value), set()).add(id(e.owner))
    several = {key for key, found in owners.items() if len(found) > 1}
    if several:
        lists = {id(e.owner): e.owner for e in body.elements if id(e.value) in several}
        counts = references(lists.values())
        gone = {key for key, x in lists.items() if not (counts[key] or is_in_use(x) or elements_with(x))}
        body.elements[:] = [e for e in body.elements if not (
            id(e.value) in several and id(e.owner) in gone and not owners[id(e.value)] <= gone)]


def check_repeated(known: KnownElements | None) -> bool:
    """Called after tracing a loop's body, with the snapshot before it: an element that the body puts in but did not
    create is put in again in the next iteration, so it is shared. Returns whether the body changes elements;
    StagingError for changes of shared ones."""
    if known is None:
        return False
    body = known.body
    elements = body.elements[len(known.elements):]
    put = [element for element in elements if element.is_put]
    counts = _live_references([element.value for element in put])
    if any(counts.values()):
        note_shared()
    for element in put:
        if counts[id(element.value)] and not element.changes.are_same():  # the body changes it before it puts it in
            refuse_element(element)
    if known.function.shared > known.shared:
        for element in elements:
            if element.is_own and element.changes:
                refuse_element(element)
    return len(body.written) > known.written


def _record_written(owner: list[Any]) -> None:
    for body in bodies_open():
        if body.is_loop:
            body.items_written.append(owner)


def _may_be_written(owner: list[Any] | None) -> bool:
    written = [x for body in bodies_open() for x in body.items_written]
    return bool(written) and (owner is None or any(outermost_of(x) is outermost_of(owner) for x in written))


PUTS.define(record=record_put, written=_record_written, may_be_written=_may_be_written)
