"""Staged lists and dicts whose length a loop over them may change.

As in Python, an iteration reads the current item. The number of iterations of a `reduce` is fixed before the loop. If
the body may change the length of the list, the loop is traced again, as a `while` with the index as state; where that
is not possible, the graph raises if the length has changed and the loop continues.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from autograph.backend import FirstIteration, Unwinding
from runtime.core.errors import UnimplementedError, locate
from runtime.core.graph import Graph, Value
from runtime.core.positions import user_position
from runtime.core.trace import convert_to_tensor
from runtime.ops.effects import raise_unless
from runtime.ops.logic import equal, logical_and, logical_not, logical_or
from runtime.staging.aliases.body_tracing import Branch
from runtime.staging.control.loop_bodies import Truth, Wrapped
from runtime.staging.joins.lattice import Conflict, Static
from runtime.staging.values.iterables import Counted, Staged

__all__ = ["IteratedLists", "Resized", "by_index"]


class Resized(Unwinding):
    """The body of a loop may change the length of the list whose items the loop takes."""


class IteratedLists:
    """The lists from which the items come, and `test`, which tells from an iteration's final state whether the loop
    continues; None: it does."""

    def __init__(self, items: Counted | None, test: Callable[..., Any] | None) -> None:
        self.lists = () if items is None else items.lists
        self.may_resize = items is not None and items.is_there is not None
        self.items, self.test = items, test
        self.began: list[tuple[Any, Sequence[Any], Any]] = []

    def begin(self) -> None:
        """Called at the beginning of an iteration."""
        self.began = [(x, x.__leaves__(), x.length) for x in self.lists]

    def check(self, state: Sequence[Any]) -> None:
        """Called after an iteration, with its state. Raises Resized if a list may have another length, and the loop can
        be a `while`."""
        for x, began, length in self.began:
            now = x.__leaves__()
            if len(now) == len(began) and all(map(operator.is_, now, began)):
                continue
            if self.may_resize and _as_long_as(now[0].value) is not _as_long_as(began[0].value):
                raise Resized
            same = equal(x.length, length)
            going = self.test is None or self.test(*state)
            raise_unless(same if going is True else logical_or(same, logical_not(going)), _resized(x))


    def without_first(self, conflict: Conflict, error: Exception) -> BaseException:
        """`error`, that of a loop whose state has another type after an iteration; or, if only the first one replaces
        a number of Python's, the request to run that before the loop."""
        items, number = self.items, conflict.left
        if items is None or self.lists or type(items.length) is not int or not (
                isinstance(number, Static) and type(number.value) in (int, float, complex, bool)):
            return error
        rest = Counted(items.length - 1, lambda i: items.item(i + 1))
        return FirstIteration(lambda: items.item(0), _Rest(rest), error)


class _Rest(Staged):
    """The items of a loop but the first."""

    def __init__(self, items: Counted) -> None:
        self.items = items

    def __iterable__(self) -> Counted:
        return self.items


def by_index(
    items: Any, body_fn: Branch, test_fn: Branch | None, truth: Truth
) -> tuple[Wrapped, Wrapped]:
    """The test and the body of the `while` for `for item in items: state = body_fn(item, *state)`, which stops when
    `test_fn(*state)` is false. Its state ends with the index."""

    def iteration(body_fn: Branch, *values: Any) -> tuple[Any, ...]:
        *state, index = values
        return (*body_fn(items.item(convert_to_tensor(index)), *state), index + 1)

    def going(_: Branch, *values: Any) -> Any:
        *state, index = values
        is_there = items.is_there(convert_to_tensor(index))
        return is_there if test_fn is None else logical_and(is_there, convert_to_tensor(truth(test_fn(*state))))

    return Wrapped(test_fn or body_fn, going), Wrapped(body_fn, iteration)


def _as_long_as(x: Any) -> Any:
    """The first value of the graph that is a list as long as the list `x`, which was made from it."""
    while isinstance(x, Value) and (node := x.node) is not None:
        if node.op.name in _KEEPING and not node.params.get("grow"):
            x = node.inputs[0]
            continue
        k = node.outputs.index(x)
        if node.op.name == "cond":
            ends = {_outside(graph, _as_long_as(graph.outputs[k])) for graph in node.subgraphs.values()}
            if len(ends) > 1 or None in ends:
                return x
            x = ends.pop()
        elif node.op.name in ("while_loop", "reduce"):
            body: Graph = node.params["body"]
            if _as_long_as(body.outputs[k]) is not body.inputs[k - len(node.outputs)]:
                return x
            x = node.operands[k - len(node.outputs)]
        else:
            return x
    return x


_KEEPING: Final = frozenset({"list_set", "list_cast", "list_scatter"})
"""Ops on lists whose result is as long as the first operand."""


def _outside(graph: Graph, x: Any) -> Any:
    """The value outside of a branch's graph that one of it is; None if it is none."""
    return next((outer for outer, inner in graph.captures if inner is x), None)


def _resized(x: Any) -> Exception:
    """The loop's exception: Python's error, if there is one."""
    if hasattr(type(x), "when_resized"):
        error: Exception = x.when_resized()
        return error
    unknown = UnimplementedError(
        "the list that a loop runs over has another length after an iteration, and the loop goes on",
        remedy="Loop over a copy, list(xs), or leave the loop after the change.")
    locate(unknown, user_position())
    return unknown
