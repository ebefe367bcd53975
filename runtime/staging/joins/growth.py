"""State whose types grow with each trace: a statement whose types have a fixpoint is traced a few times, and each of
these would end in an error only after it has become very large."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from autograph.backend import LISTS
from runtime.core.errors import StagingError
from runtime.core.object_mode import want_adoption, want_references
from runtime.core.positions import staging_error
from runtime.staging.elements.nesting import AS_OBJECTS, check_nesting
from runtime.staging.elements.select import Select, alternatives_of
from runtime.staging.joins.lattice import Custom, Nested, Optional, Spec, text
from runtime.staging.storage.arenas import can_be_reference

__all__ = ["check_attempts", "check_choices", "check_growth", "links_more", "unsettled"]

_MOST_LINKED: Final = 64
_MANY_TRACES: Final = 6
_MANY_ATTEMPTS: Final = 4
_MOST_CHOICES: Final = 8
_FEWEST: Final = 3  # alternatives of these


def check_growth(before: Sequence[Spec], specs: Sequence[Spec], start: Sequence[Spec], traces: int) -> None:
    """Raise an error if the state of a loop has grown so that it will not settle, where its size doubles with each
    trace: by many more objects of one class than at the `start`, or by tuples within those that it had `before`; or,
    if objects can be by reference, by one with each trace."""
    if links_more(specs, start, traces):
        raise unsettled(specs, start, traces)
    for old, new in zip(before, specs, strict=True):
        check_nesting(old, new, "each iteration of this loop")
    check_choices(specs)


def links_more(specs: Iterable[Spec], start: Iterable[Spec], traces: int) -> bool:
    """Whether state has many more objects of one class than at the `start`, or, if they can be by reference, more with
    each trace."""
    counts, now = (Counter(kind for spec in each for kind in _kinds(spec)) for each in (start, specs))
    more = {kind: count - counts[kind] for kind, count in now.items()}
    return any(count > _MOST_LINKED for count in more.values()) or (traces >= _MANY_TRACES and any(
        2 * count >= traces and can_be_reference(kind) for kind, count in more.items()) and want_references())


def check_choices(specs: Iterable[Spec], holders: Iterable[Any] = ()) -> None:
    """Have objects from before the call by reference, if they can be, where many variables, or attributes of these
    objects, are one of several of them, as in linked structures: by value, each change reads and sets all of them.
    `holders`: the objects whose attributes are state, which count as well if there is such a choice."""
    choices = sum(map(_is_choice, specs))
    if choices and choices + len({id(x) for x in holders if can_be_reference(type(x))}) >= _MOST_CHOICES:
        want_adoption()


def check_attempts(times: int, holders: Iterable[Any]) -> None:
    """Have objects from before the call by reference, if they can be, where a statement is staged again and again, here
    for the `times`-th time, with attributes of more such objects (`holders`) as state: by value, each way along links
    is copies of its own."""
    if times >= _MANY_ATTEMPTS and any(can_be_reference(type(x)) for x in holders):
        want_adoption()


def _is_choice(spec: Spec) -> bool:
    """Whether a value is one of several objects."""
    if isinstance(spec, Optional):
        return _is_choice(spec.child)
    objects = alternatives_of(spec.like)[0] if isinstance(spec, Custom) and isinstance(spec.like, Select) else ()
    return len(objects) >= _FEWEST and all(can_be_reference(type(one)) for one in objects)


def unsettled(specs: Sequence[Spec], start: Sequence[Spec], traces: int) -> StagingError:
    """The error for a loop whose state has the specs `specs` after many traces, another one after each."""
    want_references()
    for spec in specs:
        kinds = Counter(_kinds(spec))
        if kinds and kinds.most_common(1)[0][1] >= traces // 2:
            kind = kinds.most_common(1)[0][0]
            return staging_error(
                f"each iteration of this loop links one more {kind.__name__} to those before: linked objects cannot"
                " grow in a staged loop", AS_OBJECTS if issubclass(kind, tuple) else
                "Keep their parts in lists, and indices in place of references.")
    return staging_error(
        f"the state of this loop has no type that stays the same: after {traces} traces it is still"
        f" {', '.join(map(text, specs))}, and it was {', '.join(map(text, start))}",
        "Give each of them one type before the loop, and tensors fixed shapes with"
        " set_loop_options(shape_invariants=...).")


def _kinds(spec: Spec) -> Iterator[type]:
    """The types of the objects and tuples in a value, each as often as it occurs."""
    if isinstance(spec, Nested) and not isinstance(spec.like, (*LISTS, dict)):
        yield type(spec.like)
    for child in spec.children if isinstance(spec, Nested) else (spec.child,) if isinstance(spec, Optional) else ():
        yield from _kinds(child)
