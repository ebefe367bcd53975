"""Which staged lists may have an element in common, so that a change of it by one list is not seen by the other.

A new list with elements of another, such as `sorted(rows)`, `rows[:3]` or `[r for r in rows if r.x > 0]`, is linked
with it. That matters as long as user code can reach both: after `rows = sorted(rows)`, only the new list has the
elements. What a body leaves in two lists, and two places in one list, matter until the end of the function.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograph.backend import containers_in, has_staged_items, references
from runtime.core.trace import current_graph
from runtime.core.waiting_operands import Waiting, now
from runtime.staging.aliases.alias_errors import refuse_element
from runtime.staging.aliases.indices import differ_by_iteration
from runtime.staging.aliases.open_bodies import (
    Body,
    Link,
    Slice,
    bodies_open,
    contents_of,
    elements_with,
    open_now,
    own_of,
)
from runtime.staging.values.index_signs import is_from_start
from runtime.staging.values.list import is_staged_list

__all__ = ["forget_slices", "has_twice", "is_shared", "link", "link_entries", "link_replaced", "may_have_common",
           "note_shared", "note_slice", "owners_in", "read_slice", "settle_links", "slice_of"]


def note_shared() -> None:
    """Record that several places in staged lists may have one element until the end of the function."""
    if bodies_open():
        bodies_open()[0].shared += 1


def link(owner: Any, other: Any, index: Any = None) -> None:
    """Record that two lists, or (the same) two places in a list, may have elements in common; None: any list. `index`:
    that in `owner` of the only one, if known."""
    if owner is None or other is None:
        note_shared()
    elif bodies_open():
        bodies_open()[0].links.append(Link(owner, other, now(), index))


def note_slice(owner: Any, source: Any, index: slice) -> None:
    """Record that a list is a slice of another, with which it is linked."""
    link(owner, source)
    start = 0 if index.start is None else index.start
    if bodies_open() and index.step in (None, 1) and is_from_start(start):
        bodies_open()[0].slices[id(owner)] = Slice(owner, source, start, (owner[0], source[0]))


def slice_of(owner: Any) -> Slice | None:
    """What a list is a slice of, if code can reach only the other list, and both are as they were; else None."""
    found = bodies_open()[0].slices.get(id(owner)) if bodies_open() else None
    if found is None or found.owner is not owner or references([owner]).total():
        return None
    same = all(is_staged_list(x) and x[0].same(items)
               for x, items in zip((owner, found.source), found.items, strict=True))
    return found if same else None


def read_slice(part: Slice) -> tuple[list[Any], Any] | None:
    """Called in the body of a loop over a slice: the list that it is of, as the body has it, and where it starts there;
    None if the elements are those of a list of its own."""
    source = own_of(part.source) if id(part.owner) in bodies_open()[0].slices else None
    if source is None or not is_staged_list(source):
        return None
    bodies_open()[-1].read.append((source, source[0]))
    return source, part.start


def forget_slices() -> bool:
    """After a loop's body that changed a list of which it iterates over a slice: slices have elements of their own from
    now on. Returns whether there were any."""
    slices = bodies_open()[0].slices
    had = bool(slices)
    slices.clear()
    return had


def is_shared(owner: list[Any]) -> bool:
    """Whether an element of a list may also be in another place that user code can reach."""
    if not bodies_open():
        return False
    function = bodies_open()[0]
    if function.shared:
        return True
    if not function.links:
        return False
    lists = _Lists()
    own, linked = lists.root(owner), lists.linked(owner)
    return lists.has_twice(linked) or any(
        root != own and lists.is_reachable(root) for root in linked) or lists.may_be_operands(linked)


def has_twice(owner: list[Any]) -> bool:
    """Whether two places in a list may have one element."""
    function = bodies_open()[0]
    lists = _Lists()
    return bool(function.shared or (function.links and lists.has_twice(lists.linked(owner))))


def may_have_common(owner: list[Any] | None, other: list[Any] | None) -> bool:
    """Whether two lists may have an element in common; None: unknown lists."""
    function = bodies_open()[0]
    if function.shared or not function.links:
        return bool(function.shared)
    if owner is None or other is None:
        return True
    lists = _Lists()
    return lists.root(other) in lists.linked(owner)


def link_replaced(owner: Any, other: Any) -> None:
    """Called after a statement that gives a variable the new container `owner` in place of `other`."""
    if bodies_open()[0].links and has_staged_items(owner):
        link(owner, other)


def owners_in(values: Iterable[Any]) -> dict[int, list[Any]]:
    """By id, the containers of Python in these values that have elements of staged lists, with those."""
    found = {}
    for value in values if bodies_open() else ():
        for container in {id(x): x for x in contents_of(value).values()}.values():
            if not has_staged_items(container):
                owners = [e.owner for part in containers_in([container]).values() if part is not container
                          for e in elements_with(part) if not e.is_taken]
                if owners:
                    found[id(container)] = owners
    return found


def link_entries(
    began: Sequence[Mapping[Any, Any]], init: Sequence[Any], owners: Mapping[int, Sequence[Any]]
) -> None:
    """Called at the beginning of a loop's body, with the containers that represent those of the values before it.
    `owners`: of the elements in those that staged lists represent (`owners_in`)."""
    for copies, before in zip(began, init, strict=True) if owners or bodies_open()[0].links else ():
        earlier = contents_of(before)
        for place, copy in copies.items():
            other = earlier.get(place, copy)
            if other is not copy and (has_staged_items(copy) or has_staged_items(other)):
                link(copy, other)
            for owner in owners.get(id(other), ()) if has_staged_items(copy) else ():
                link(copy, owner)


def settle_links(first: int) -> None:
    """Called at the end of a body, whose links begin with that number, while the state is that of the body: an element
    that it leaves in two places is in two in the next iteration, and after the statement."""
    function, body = bodies_open()[0], bodies_open()[-1]
    new = function.links[first:]
    if new:
        lists = _Lists()
        for each in new:
            linked = lists.linked(each.owner)
            has_several = sum(map(lists.is_reachable, linked)) > 1
            if lists.has_twice(linked) or (has_several and body.links_new_lists):
                note_shared()
                break
            if has_several and body.is_loop:
                _check_repeated(body, lists, linked, [each.index for each in new])
        function.links[first:] = [
            each._replace(owner=_outside(each.owner, body.copies), other=_outside(each.other, body.copies))
            for each in new]


def _check_repeated(body: Body, lists: _Lists, linked: set[int], indices: Sequence[Any]) -> None:
    """StagingError if an iteration of a loop may change an element that an earlier one has put in another list: the
    body changes elements of linked lists. It may change the element of the iteration, as in `for r in rows: r.n += 1;
    out.append(r)`. `indices`: those of the elements that the body puts in lists."""
    for e in body.elements:
        if e.is_own and e.changes and e.owner is not None and lists.root(e.owner) in linked and not (
                differ_by_iteration([e.index, *indices], current_graph())):
            refuse_element(e)


def _outside(owner: Any, copies: Mapping[int, tuple[Any, Any]]) -> Any:
    """What a list is outside of a body with these copies: its original, if it has one."""
    original = copies.get(id(owner), (None, None))[1]
    return owner if original is None else original


class _Lists:
    """The linked lists. A list and its copies in the open bodies are one, which the id of its outermost original
    denotes."""

    def __init__(self) -> None:
        self.copies: dict[int, list[Any]] = {}
        """By that id, the list and its copies."""
        function = bodies_open()[0]
        self.in_use = [one for one in open_now.in_use if id(one) not in function.slices]
        """Those that loops run over, but for slices of which they read the elements of other lists."""
        self.links = [(self.root(a), self.root(b)) for a, b, *_ in function.links]
        read = {self.root(x) for body in bodies_open() for x, _ in body.read}
        self.made = [None if id(a) in function.slices and self.root(b) in read else made
                     for a, b, made, _ in function.links]
        for body in bodies_open():
            for copy, original in body.copies.values():
                if original is not None and original is not copy:
                    self.root(copy)

    def root(self, owner: Any) -> int:
        forms = [owner]
        for body in reversed(bodies_open()):
            original = body.copies.get(id(forms[-1]), (None, None))[1]
            if original is not None and original is not forms[-1]:
                forms.append(original)
        known = self.copies.setdefault(id(forms[-1]), [])
        known += [form for form in forms if not any(form is one for one in known)]
        return id(forms[-1])

    def linked(self, owner: Any) -> set[int]:
        """The lists that may have elements of this one, itself included."""
        found = {self.root(owner)}
        while more := {each for pair in self.links if not found.isdisjoint(pair) for each in pair} - found:
            found |= more
        return found

    def has_twice(self, linked: set[int]) -> bool:
        """Whether two places of one of these lists may have one element."""
        return any(a == b and a in linked for a, b in self.links)

    def is_reachable(self, root: int) -> bool:
        """Whether user code can reach a list."""
        forms = self.copies.get(root, [])
        return any(form is one for form in forms for one in self.in_use) or references(forms).total() > 0

    def may_be_operands(self, linked: set[int]) -> bool:
        """Whether one of these lists may be an operand without a name, as in `f(rows[1:], change(rows))`."""
        waiting = Waiting()
        return any(made is not None and not linked.isdisjoint(pair) and waiting.has(made)
                   for pair, made in zip(self.links, self.made, strict=True))
