"""State whose types grow with each trace: a statement whose types have a fixpoint is traced a few times, and each of
these would end in an error only after it has become very large."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from autograph.backend import LISTS
from runtime.core.errors import StagingError
from runtime.core.object_mode import want_references
from runtime.core.positions import staging_error
from runtime.staging.values.lattice import Nested, Optional, Spec, text
from runtime.staging.values.nesting import check_nesting

__all__ = ["check_growth", "unsettled"]

_MOST_LINKED: Final = 64


def check_growth(before: Sequence[Spec], specs: Sequence[Spec], start: Sequence[Spec], traces: int) -> None:
    """Raise an error if the state of a loop has grown so that it will not settle, where its size doubles with each
    trace: by many more objects of one class than at the `start`, or by tuples within those that it had `before`."""
    counts, now = (Counter(kind for spec in each for kind in _kinds(spec)) for each in (start, specs))
    if any(count > counts[kind] + _MOST_LINKED for kind, count in now.items()):
        raise unsettled(specs, start, traces)
    for old, new in zip(before, specs, strict=True):
        check_nesting(old, new, "each iteration of this loop")


def unsettled(specs: Sequence[Spec], start: Sequence[Spec], traces: int) -> StagingError:
    """The error for a loop whose state has the specs `specs` after many traces, another one after each."""
    want_references()
    for spec in specs:
        kinds = Counter(_kinds(spec))
        if kinds and kinds.most_common(1)[0][1] >= traces // 2:
            kind = kinds.most_common(1)[0][0].__name__
            return staging_error(
                f"each iteration of this loop links one more {kind} to those before: linked objects cannot grow in a"
                " staged loop", "Keep their parts in lists, and indices in place of references.")
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
