"""Rewrite rules, and the tables of them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from runtime.core.graph import Node, Value
from runtime.core.positions import Position

if TYPE_CHECKING:
    from runtime.optimize.builder import Builder

__all__ = ["FAST", "RULES", "Fired", "Result", "Rule", "named", "rule"]

Result = Value | Sequence[Value] | None
Function = Callable[["Builder", Node], Result]


@dataclass(frozen=True, eq=False)
class Rule:
    """One rewrite.

    ops       the ops that it is tried on; if empty: all ops without effect and without sub-graphs
    function  returns replacements for the results of a node whose inputs have been simplified, or None. Itself None
              for rules of control flow or whole graphs, which ask by name whether they are enabled
    sees      it handles errors and shapes itself. Otherwise it is not used on a node that may raise: where shapes
              decide whether it raises, they may also decide the shape of the result
    """

    name: str
    doc: str
    ops: tuple[str, ...] = ()
    function: Function | None = None
    sees: bool = False


class Fired(NamedTuple):
    """A rule that fired: its name, and the op and position of the node that it changed."""

    rule: str
    op: str
    position: Position | None

    def __str__(self) -> str:
        return f"{self.rule}: {self.op}" + (f" at {self.position}" if self.position is not None else "")


RULES: Final[dict[str, Rule]] = {}
"""All exact rules by name, in the order in which they are tried."""
FAST: Final[dict[str, Rule]] = {}
"""Rules that round differently, for `fast_math` only; tried after the others."""


def rule(name: str, *ops: str, sees: bool = False, fast: bool = False) -> Callable[[Function], Function]:
    """Decorator: add the function, whose docstring describes the rule, to `RULES` or `FAST`."""

    def add(function: Function) -> Function:
        _add(Rule(name, " ".join((function.__doc__ or "").split()), ops, function, sees), FAST if fast else RULES)
        return function

    return add


def named(name: str, doc: str) -> str:
    """Add a rule without a function to the table."""
    _add(Rule(name, doc), RULES)
    return name


def _add(rule: Rule, table: dict[str, Rule]) -> None:
    free = rule.name not in RULES and rule.name not in FAST
    assert free and rule.doc, f"a rule has a name of its own and says what it does: {rule.name}"
    table[rule.name] = rule
