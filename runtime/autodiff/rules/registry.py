"""The registry of the derivatives of ops, by the name of the op.

A rule is written in ops of the runtime, so it can be traced or computed at once, and differentiated again.

`vjp(*names)` registers a vector-Jacobian product (reverse mode): `rule(node, *cotangents)` takes the cotangent of each
output (None: zero) and returns a sequence with the cotangent of each operand, in its type's shape and dtype (None:
zero, or not requested). `jvp(*names)` registers a Jacobian-vector product (forward mode): `rule(node, *tangents)` takes
the tangent of each operand (None: zero) and returns a sequence with the tangent of each output.

A rule should use no more of `node.inputs` and `node.outputs` than necessary: the values that rules use are the
residuals that a forward pass saves for the backward pass. Dtypes and static shapes are free.

Rows and elements. If an op reads a part of a large operand (`x[i]`, a gather, `list_get`), its rule returns
`Update(add)` as that operand's cotangent: `add(total)` returns `total`, the operand's cotangent so far, with this one
added, such as `setitem(total, i, total[i] + ct)`. So a loop that reads n rows adds n rows, not n tensors.

Lists. The cotangent of a list of tensors is a list of the same length and element type: that of `list_append` pops, and
that of `list_pop` appends. Unwritten elements are zero. `zero_list(list)` makes the cotangent from which `Update`
starts if there is none yet; `add_lists(a, b)` adds two (`cotangent_lists.py`). The tangent of a list is a list, too,
and that of an op on lists is mostly the same op on the tangents.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

__all__ = ["CONSTANT", "JVP", "VJP", "Applied", "Rule", "Update", "constant", "jvp", "vjp"]


@dataclass(frozen=True)
class Applied:
    """One application of an op, as seen by its rules.

    name     of the op
    inputs   its operands: tensors or lists
    outputs  its results
    params   its params
    wanted   for each operand whether its cotangent is requested; computing others has no effect
    """

    name: str
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    params: Mapping[str, Any]
    wanted: Sequence[bool]


@dataclass(frozen=True)
class Update:
    """A cotangent that is zero except for a part: `add(total)` adds it to the operand's cotangent so far. `rows`: the
    part as values and indices, if it consists of slices along the first axis."""

    add: Callable[[Any], Any]
    rows: Callable[[], tuple[Any, Any]] | None = None


Rule = Callable[..., Sequence[Any]]
R = TypeVar("R", bound=Rule)

VJP: Final[dict[str, Rule]] = {}
JVP: Final[dict[str, Rule]] = {}
CONSTANT: Final[dict[str, str]] = {}
"""Ops without a derivative, whose results are constant for differentiation, with the reason."""


def vjp(*names: str) -> Callable[[R], R]:
    """Register the vector-Jacobian product of the ops."""
    def register(rule: R) -> R:
        _add(VJP, names, rule)
        return rule
    return register


def jvp(*names: str) -> Callable[[R], R]:
    """Register the Jacobian-vector product of the ops."""
    def register(rule: R) -> R:
        _add(JVP, names, rule)
        return rule
    return register


def constant(reason: str, *names: str) -> None:
    """Register ops whose results do not depend differentiably on their operands."""
    _add(CONSTANT, names, reason)


def _add(table: dict[str, Any], names: Sequence[str], entry: Any) -> None:
    for name in names:
        if name in table:
            raise ValueError(f"there are two rules for the op {name!r}")
        table[name] = entry
