"""Rewrites a traced graph into an equivalent one that runs faster."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from runtime.core.graph import Graph, Value
from runtime.optimize import algebra, array_layout, fast_math_rules, hoist_and_share  # noqa: F401  they fill the tables, in this order
from runtime.optimize.builder import Builder, Context
from runtime.optimize.control_flow import visit
from runtime.optimize.dead_code import sweep
from runtime.optimize.rules import FAST, RULES, Fired, Rule, named

__all__ = ["FAST", "RULES", "Fired", "Rule", "rewrite"]

MOST_WALKS: Final = 3  # sweeping dead code can enable further rules
LATE: Final = named("reduce last", "A reduction that only is returned, such as a loss, comes last: by then what it is "
                                   "made of may have been stored for something else.")
_REDUCTIONS: Final = frozenset(("reduce_all", "reduce_any", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum"))
CAPTURES: Final = named("known scalars", "A scalar tensor that a function has from outside is a constant.")


def rewrite(
    graph: Graph, rules: Iterable[Rule] | None = None, log: list[Fired] | None = None, keep_captures: bool = False,
    fast_math: bool = False,
) -> Graph:
    """A new graph equivalent to `graph`: same inputs, results (bit for bit), effects and errors.

    The rules are those of `RULES`, or only `rules`; with `fast_math` also those of `FAST`, which round differently. The
    rules that fired are appended to `log`. `graph` is not changed. `keep_captures`: keep all captures, even unused
    ones, in their order.
    """
    tables = (RULES, FAST) if fast_math else (RULES,)
    context = Context([rule for table in tables for rule in table.values()] if rules is None else rules, log, visit)
    for _ in range(MOST_WALKS):
        graph = _walk(graph, context)
        if not sweep(graph, context, keep_captures):
            break
    if LATE in context.enabled:
        _reduce_last(graph, context)
    return graph


def _reduce_last(graph: Graph, context: Context) -> None:
    used = {value for node in graph.nodes for value in node.inputs}
    late = [node for node in graph.nodes if node.op.name in _REDUCTIONS and node.outputs[0] not in used
            and not node.errors]
    if late and graph.nodes[-len(late):] != late:
        graph.nodes = [*(node for node in graph.nodes if node not in late), *late]
        for node in late:
            context.fired(LATE, node.op.name, node.position)


def _walk(graph: Graph, context: Context) -> Graph:
    b = Builder(context, graph.name)
    b.graph.parent = graph.parent
    inputs = [b.graph.add_input(value.type, value.hint) for value in graph.inputs]
    for outer, old in graph.captures:
        array = getattr(outer, "_array", None)
        value = b.values[old] = Value(b.graph, old.type, hint=old.hint)
        b.graph.captures.append((outer, value))
        if array is not None and not array.ndim and CAPTURES in context.enabled:
            b.values[old] = context.constant(array)
            context.fired(CAPTURES, "const", None)
    b.values.update(zip(graph.inputs, inputs))
    for node in graph.nodes:
        b.visit(node)
    return b.finish([b.home(value) for value in graph.outputs])
