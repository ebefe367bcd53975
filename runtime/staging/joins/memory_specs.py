"""The memory of arrays in the specs of the state when a body is traced repeatedly."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from runtime.core.tensor_writes import Leaving, Memory
from runtime.staging.joins.lattice import Custom, Leaf, Nested, Optional, Spec

__all__ = ["same_types", "specs_after"]


def same_types(a: Sequence[Spec], b: Sequence[Spec]) -> bool:
    """Whether specs are equal except for the memory of arrays, which each trace of a body creates anew."""
    def without(spec: Spec) -> Spec:
        return _with_memories(spec, lambda _: frozenset())

    return [*map(without, a)] == [*map(without, b)]


def specs_after(specs: Sequence[Spec], leaving: Leaving) -> list[Spec]:
    """The specs of a body's final state, with representatives for the memory that the body created."""
    found: list[frozenset[Memory]] = []

    def note(memories: frozenset[Memory]) -> frozenset[Memory]:
        found.append(memories)
        return memories

    for spec in specs:
        _with_memories(spec, note)
    final = leaving.memories_after({
        k: tuple([(memory, memory.version) for memory in own]) for k, own in enumerate(found)})
    after = iter([frozenset(memory for memory, _ in own) for own in final.values()])
    return [_with_memories(spec, lambda _: next(after)) for spec in specs]


def _with_memories(spec: Spec, change: Callable[[frozenset[Memory]], frozenset[Memory]]) -> Spec:
    if isinstance(spec, Leaf):
        return dataclasses.replace(spec, memories=change(spec.memories))
    if isinstance(spec, Optional):
        return dataclasses.replace(spec, child=_with_memories(spec.child, change))
    if isinstance(spec, (Nested, Custom)):
        children = tuple([_with_memories(child, change) for child in spec.children])
        return dataclasses.replace(spec, children=children)
    return spec
