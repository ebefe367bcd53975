"""Graphs prepared for transformations."""
from __future__ import annotations

from typing import Final

from runtime.core.graph import Graph
from runtime.numbers.widen_python_numbers import with_python_numbers
from runtime.optimize import RULES, rewrite

__all__ = ["prepared"]

_AFTER: Final = ("stop_gradient", "custom gradient", "known scalars")
_BEFORE: Final = [rule for rule in RULES.values() if rule.name not in _AFTER]


def prepared(graph: Graph) -> Graph:
    """The optimised graph of a function, still with the parts that only derivatives need: less computation means less
    to transform and to save."""
    return rewrite(with_python_numbers(graph), _BEFORE)
