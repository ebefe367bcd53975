"""The registry of the batching rules of ops, by the name of the op.

A rule computes an op for all lanes at once. A value that differs between lanes is *batched*: its first axis is that of
the lanes, followed by its axes in one lane; other values are as in one lane. `batching(*names)` registers `rule(call)`
for a `Call` with at least one batched operand. It returns the sequence of the results, batched; a result that is the
same in all lanes is wrapped in `Shared`. If a rule does not apply, it raises `Unbatched(why)`: then the op runs lane by
lane, in a loop. A rule is written in ops of the runtime, so its result is an ordinary graph.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from runtime.core.op import Op
from runtime.core.trace import apply
from runtime.core.types import Type
from runtime.ops.shape import broadcast_to, dims, expand_dims

__all__ = ["BATCHING", "Call", "Rule", "Shared", "Unbatched", "aligned", "batching", "lifted"]


class Unbatched(Exception):
    """Raised by a rule that does not apply, with the reason."""


@dataclass(frozen=True)
class Shared:
    """A result that is the same in all lanes."""

    x: Any


@dataclass(frozen=True)
class Call:
    """One application of an op, as seen by its batching rule.

    op       the op
    inputs   its operands
    batched  for each operand whether it is batched
    types    of the operands in one lane
    outputs  the types of the results in one lane
    params   the params of the op
    size     the number of lanes: an int, or an int32 scalar
    """

    op: Op
    inputs: Sequence[Any]
    batched: Sequence[bool]
    types: Sequence[Any]
    outputs: Sequence[Type]
    params: Mapping[str, Any]
    size: Any

    def all_batched(self) -> list[Any]:
        """The operands, all batched: those that are the same in all lanes are repeated."""
        return [self.lifted(i) for i in range(len(self.inputs))]

    def lifted(self, i: int) -> Any:
        return self.inputs[i] if self.batched[i] else lifted(self.inputs[i], self.size)

    def apply(self, *inputs: Any, **changed: Any) -> list[Any]:
        """The results of the op for these inputs, with the params in `changed` replaced."""
        found = apply(self.op, *inputs, **{**self.params, **changed})
        return list(found) if isinstance(found, tuple) else [found]

    def only(self, *places: int) -> None:
        """Unbatched if an operand other than those at `places` is batched."""
        other = [i for i, batched in enumerate(self.batched) if batched and i not in places]
        if other:
            raise Unbatched(f"operand {other[0]} differs from lane to lane")


def lifted(x: Any, size: Any) -> Any:
    """A tensor repeated for each lane."""
    return broadcast_to(x, [size, *dims(x)])


def aligned(x: Any, rank: int, wanted: int) -> Any:
    """A batched tensor, of `rank` in one lane, reshaped to broadcast with others of rank `wanted` in one lane."""
    return expand_dims(x, list(range(1, 1 + wanted - rank))) if rank < wanted else x


Rule = Callable[[Call], Sequence[Any]]
R = TypeVar("R", bound=Rule)

BATCHING: Final[dict[str, Rule]] = {}


def batching(*names: str) -> Callable[[R], R]:
    """Register the batching rule of the ops."""
    def register(rule: R) -> R:
        for name in names:
            if name in BATCHING:
                raise ValueError(f"there are two batching rules for the op {name!r}")
            BATCHING[name] = rule
        return rule
    return register
