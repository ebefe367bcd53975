"""Mutated lists and dicts that are aliased in one iteration of a loop but not in another: an error, since the body has
one container per name."""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from autograph.backend import ALIASED, references
from runtime.core.positions import user_position
from runtime.staging.aliases import alias_errors, alias_tracking
from runtime.staging.aliases.open_bodies import contents_of, elements_with, is_followed
from runtime.staging.joins.alias_join import BodyEnd, Place, without_age

__all__ = ["LoopAliases", "holders_of"]

Holders = dict[int, list[tuple[int, Any]]]


@dataclass
class LoopAliases:
    """The containers of a loop's state. All sequences are indexed by variable."""

    names: Sequence[str]
    init: Sequence[Any]
    """The values before the loop."""
    began: Sequence[dict[Any, Any]]
    """By path, the containers at the beginning of the body."""
    end: BodyEnd
    """The end of the body, for all iterations."""
    modified: Sequence[Set[int]]
    """The ids of the containers at the beginning of the body that it changes."""
    read: Sequence[bool]
    """Whether the body or the test may read the variable's value at the beginning of an iteration."""
    ambiguous: Set[int]
    """The ids of containers before the loop that may have aliases."""
    writes: bool
    """Whether the body changes elements of staged lists."""
    compared: Sequence[Any]
    """The containers whose identity the body compares (`is`)."""
    placed: Mapping[int, tuple[Any, Any]]
    """The variables that have elements of a list whose places are part of the state, with the list: what changes in
    these changes in the list."""

    def check(self) -> None:
        """StagingError if an iteration changes a container that is aliased in one iteration but not in another."""
        self.check_start()
        self.check_iterations()
        self.check_parts()
        self.check_other_holders()
        self.check_elements()
        self.check_compared()

    @cached_property
    def changed(self) -> list[bool]:
        """Whether the body changes containers of the variable."""
        return list(map(bool, self.modified))

    @cached_property
    def own(self) -> list[int]:
        """The indices of the user's variables."""
        return [i for i, name in enumerate(self.names) if not alias_tracking.is_returned(name)]

    @cached_property
    def before(self) -> list[dict[Any, Any]]:
        """By path, the containers before the loop."""
        return [contents_of(value) for value in self.init]

    @cached_property
    def holders(self) -> Holders:
        return holders_of(self.names, self.init, self.began)

    def check_start(self) -> None:
        """Check pre-existing containers that the body represents by several, if user code has several names for
        them."""
        counts = references(value for parts in self.before for value in parts.values())
        for key, several in self.holders.items():
            has_names = counts[key] > 1 or key in self.ambiguous
            for (i, one), (j, other) in itertools.combinations(several, 2) if has_names else ():
                if one is not other and self.conflict(i, j, one, other):
                    self.refuse(i, self.init[i])

    def check_iterations(self) -> None:
        """Check containers to which two variables refer after an iteration, and which the next one has twice."""
        for after in self.end.iterations:
            for i, j in itertools.permutations(self.own, 2):
                if not self.conflict(i, j):
                    continue
                shared: dict[int, list[Any]] = {}
                for path, others in after[j].items():
                    for other in others:
                        shared.setdefault(id(other), []).append(self.began[j].get(path))
                for path, others in after[i].items():
                    one = self.began[i].get(path)
                    for other in others:
                        if other is not self.before[i].get(path) and any(
                                (one is None or one is not second) and self.conflict(i, j, one, second)
                                for second in shared.get(id(other), ())):
                            self.refuse(i, other)

    def check_parts(self) -> None:
        """Check containers that the body creates and to which two parts of one variable refer after an iteration."""
        for after in self.end.iterations:
            for i in self.own:
                for paths, value in _shared_parts(after[i]) if self.changed[i] and self.read[i] else ():
                    one, other = (self.began[i].get(path) for path in paths)
                    if id(value) in self.end.made and one is not other and not self.modified[i].isdisjoint(
                            (id(one), id(other))):
                        self.refuse(i, value)

    def check_other_holders(self) -> None:
        """Check containers assigned to variables whose containers the body changes, if they have other references."""
        entering = [(i, other) for i in self.own if self.changed[i] and i not in self.placed
                    for path, others in self.end.contained[i].items()
                    for other in others if other is not self.before[i].get(path)]
        around = {id(other): self.around(other) for _, other in entering}
        counts = references(one for ones in around.values() for one in ones)
        for i, other in entering:
            if any(counts[id(one)] > len(self.holders.get(id(one), ())) for one in around[id(other)]):
                self.refuse(i, other)

    def around(self, value: Any) -> list[Any]:
        """A container, and those that contain it before the loop: a reference to one of these reaches it."""
        return [value, *[parts[path[:end]] for parts in self.before for path, one in parts.items() if one is value
                         for end in range(len(path)) if path[:end] in parts]]

    def check_elements(self) -> None:
        """Check the containers of variables that the body changes for other names: pre-existing ones represented by
        copies, and elements of staged lists, also where the body changes such elements."""
        for i, parts in enumerate(self.end.contained):
            for path, others in parts.items() if i not in self.placed and (self.changed[i] or self.writes) else ():
                before, began = self.before[i].get(path), self.began[i].get(path)
                if self.changed[i] and began is not before and id(before) in self.ambiguous:
                    self.refuse(i, before)
                is_same = all(other is before for other in others)
                for other in (*others, before):
                    for element in elements_with(without_age(other)):
                        if (element.is_put or began is not other) and not (is_same and is_followed(element)):
                            alias_errors.refuse_element(element)

    def check_compared(self) -> None:
        """Check containers whose identity the body compares: an error if they differ between iterations, and one of
        them has another name."""
        for i in self.own if self.compared else ():
            if i in self.placed:
                continue
            for path, copy in self.began[i].items():
                before, others = self.before[i].get(path), self.end.contained[i].get(path, ())
                if any(copy is one for one in self.compared) and any(other is not before for other in others):
                    several = [before, *others]
                    counts = references(several)
                    if any(counts[id(one)] > 1 or id(one) in self.ambiguous or elements_with(without_age(one))
                           for one in several):
                        alias_errors.refuse_comparison(copy, self.names[i], user_position())

    def conflict(self, i: int, j: int, one: Any = None, other: Any = None) -> bool:
        """Whether the body changes one of two variables' initial values, or only the containers `one` and `other` in
        these, and may read the other's."""
        return i != j and not (self.follows(i, j) or self.follows(j, i)) and (
            (self.changes(i, one) and self.may_read(j)) or (self.changes(j, other) and self.may_read(i)))

    def changes(self, i: int, container: Any) -> bool:
        """Whether the body changes this container of a variable's initial value, or, if None, one of all."""
        return self.changed[i] if container is None else id(container) in self.modified[i]

    def follows(self, i: int, j: int) -> bool:
        """Whether a variable with an element changes with another that has its list, or an element of that."""
        return i in self.placed and (j in self.placed or self.init[j] is self.placed[i][0])

    def may_read(self, i: int) -> bool:
        """Whether the body may read the initial value of a variable; one without a user's name is read through
        attributes or items that are variables of the state."""
        return self.read[i] or (self.names[i].startswith(ALIASED) and any(
            is_read and not name.isidentifier() for name, is_read in zip(self.names, self.read, strict=True)))

    def refuse(self, i: int, value: Any) -> NoReturn:
        alias_errors.refuse_change(value, self.names[i], user_position())


def _shared_parts(contained: Mapping[Place, Sequence[Any]]) -> Iterator[tuple[tuple[Place, Place], Any]]:
    """Pairs of paths in a variable that may lead to one container, with that."""
    paths: dict[int, list[Place]] = {}
    for path, others in contained.items():
        for value in others:
            for one in paths.setdefault(id(value), []):
                yield (one, path), without_age(value)
            paths[id(value)].append(path)


def holders_of(names: Sequence[str], init: Sequence[Any], began: Sequence[dict[Any, Any]]) -> Holders:
    """By id, the containers in `init`, each with the variables that refer to it and its representative in the body."""
    holders: Holders = {}
    for i, (before, found) in enumerate(zip(init, began, strict=True)):
        if not alias_tracking.is_returned(names[i]):
            for path, value in contents_of(before).items():
                holders.setdefault(id(value), []).append((i, found.get(path)))
    return holders
