"""Range analysis of the integers of a graph: decides which checks `overflow_checks` may omit.

The bounds of a value hold whenever it is computed, provided that checked ints do not overflow. Unknown values have the
bounds of their dtype. A loop's state is bounded in two ways: by the result of an iteration for any state, and by the
sum of all increments, whose number is at most the product of the trip counts of the enclosing loops.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Final

from runtime.core.graph import Graph, Node, Value
from runtime.core.types import ListType, int64

__all__ = ["INT64", "Bounds", "Interval", "surely_fits", "within"]

Interval = tuple[int, int]
Terms = list[tuple[int, Interval]]  # the maximal number of additions of a term, and its bounds, which include 0

INT64: Final[Interval] = int64.limits
MOST: Final = 1 << 54
"""Upper bound of the number of executions of any op in a run: more than a machine does in months. So a counter, or a
sum of numbers below 256, is assumed to stay below 2**63 even in a `while` without a known trip count."""
_SIZE: Final = (0, 1 << 48)  # of anything in memory
_TERMS: Final = 64
_DEEP: Final = 64
_TWICE: Final = 4  # nesting depth of loops whose bodies are analysed a second time with the refined bounds of the state
_SIZES: Final = frozenset(("dim", "size", "list_length", "argmax", "argmin", "count_nonzero"))
_MOVED: Final = frozenset((
    "getitem", "reshape", "broadcast_to", "transpose", "expand_dims", "squeeze", "reduce_max", "reduce_min", "roll",
    "stop_gradient", "gather", "reverse", "split"))
"""Ops whose results contain elements of the first operand only."""


def within(x: Interval, y: Interval) -> bool:
    """Whether the interval `x` is contained in `y`."""
    return y[0] <= x[0] and x[1] <= y[1]


def _union(intervals: Iterable[Interval]) -> Interval:
    found = list(intervals)
    return min(low for low, _ in found), max(high for _, high in found)


def _common(x: Interval, y: Interval) -> Interval:
    """The intersection; if it is empty, as for unreachable code, an arbitrary interval."""
    low, high = max(x[0], y[0]), min(x[1], y[1])
    return (low, high) if low <= high else x


def exact(op: str, *operands: Interval) -> Interval | None:
    """The bounds of the exact result of an op; None if unknown."""
    rule = _RULES.get(op)
    return None if rule is None else rule(*operands)


def _multiples(limits: Interval, x: Interval, y: Interval) -> Interval:
    """The part of `limits` that products of x and y can reach: if one is constant, only its multiples."""
    by = next((abs(low) for low, high in (x, y) if low == high and low), 1)
    return -(-limits[0] // by * by), limits[1] // by * by


def _corners(function: Callable[[int, int], int]) -> Callable[[Interval, Interval], Interval]:
    """The bounds of a function that is monotonic in each operand."""

    def rule(x: Interval, y: Interval) -> Interval:
        found = [function(a, b) for a, b in product(x, y)]
        return min(found), max(found)

    return rule


def _floordiv(x: Interval, y: Interval) -> Interval:
    divisors = {d for d in (*y, 1, -1) if d and y[0] <= d <= y[1]}
    found = [a // d for a in x for d in divisors] or [0]
    if x[0] <= 0 <= x[1]:
        found.append(0)
    return min(found), max(found)


def _mod(x: Interval, y: Interval) -> Interval:
    low, high = min(y[0] + 1, 0), max(y[1] - 1, 0)
    if 0 <= x[0] <= x[1] < y[0]:
        return x
    return low, min(high, x[1]) if x[0] >= 0 and y[0] > 0 else high


def _bits(x: Interval, y: Interval) -> Interval:
    """The bounds of `|` and `^`: they have no more bits than the wider operand."""
    width = max(max(-low - 1, high).bit_length() for low, high in (x, y))
    return (0 if x[0] >= 0 and y[0] >= 0 else -(1 << width)), (1 << width) - 1


def _and(x: Interval, y: Interval) -> Interval:
    highs = [high for low, high in (x, y) if low >= 0]
    return (0, min(highs)) if highs else _bits(x, y)


def _shifted(left: bool) -> Callable[[Interval, Interval], Interval | None]:
    def rule(x: Interval, y: Interval) -> Interval | None:
        if y[0] < 0:
            return None
        if y[1] > 63:
            return None if left else (min(x[0], 0), max(x[1], 0))
        return _corners(lambda a, b: a << b if left else a >> b)(x, y)

    return rule


def _pow(x: Interval, y: Interval) -> Interval | None:
    if y[0] < 0 or y[1] > 64:
        return None
    most = max(max(map(abs, x)) ** y[1], 1)
    return (-most if x[0] < 0 else 0), most


_RULES: Final[dict[str, Callable[..., Interval | None]]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "multiply": _corners(lambda a, b: a * b),
    "negative": lambda x: (-x[1], -x[0]),
    "abs": lambda x: (max(x[0], -x[1], 0), max(-x[0], x[1])),
    "sign": lambda x: ((x[0] > 0) - (x[0] < 0), (x[1] > 0) - (x[1] < 0)),
    "floordiv": _floordiv, "mod": _mod, "pow": _pow,
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "bitwise_and": _and, "bitwise_or": _bits, "bitwise_xor": _bits,
    "invert": lambda x: (-x[1] - 1, -x[0] - 1),
    "left_shift": _shifted(True), "right_shift": _shifted(False),
    "where": lambda _, x, y: _union((x, y)),
    "stack": lambda *xs: _union(xs), "concat": lambda *xs: _union(xs),
}


def surely_fits(node: Node) -> bool:
    """Whether the result of an op on Python ints certainly fits 64 bits, judging by the operands alone."""
    known: dict[tuple[Value, int], Interval] = {}
    found = exact(node.op.name, *[_seen(value, 4, known) for value in node.operands])
    return found is not None and within(found, INT64)


def _seen(value: Value, depth: int, known: dict[tuple[Value, int], Interval]) -> Interval:
    """The bounds of a value, judging by the ops that it comes from, up to that depth. `known`: those found so far, as
    there are many ways to an operand of an op such as `stack`."""
    if (value, depth) not in known:
        known[value, depth] = _found(value, depth, known)
    return known[value, depth]


def _found(value: Value, depth: int, known: dict[tuple[Value, int], Interval]) -> Interval:
    constant, node = value.constant, value.node
    if constant is not None and constant.size and constant.dtype.kind in "iub":
        return int(constant.min()), int(constant.max())
    if node is not None and node.op.name in _SIZES:
        return _SIZE
    if node is not None and depth and node.op.name == "cast" and _is_int(node.inputs[0]):
        return _seen(node.inputs[0], depth - 1, known)
    if node is not None and depth and _is_int(value) and all(map(_is_int, node.operands)):
        found = exact(node.op.name, *[_seen(operand, depth - 1, known) for operand in node.operands])
        if found is not None and within(found, INT64):
            return found
    return INT64 if _is_int(value) and value.type.weak else _all(value)  # type: ignore[union-attr]


class Bounds:
    """The bounds of the values of a graph and its sub-graphs. `checked`: the nodes that raise on overflow."""

    def __init__(self, graph: Graph, checked: Iterable[Node]) -> None:
        self.checked = frozenset(checked)
        self.found: dict[Value, Interval] = {}
        self.outer: dict[Value, Value] = {}  # captured value -> value of the enclosing graph
        self.times: dict[Node, int] = {}  # by loop: the maximal number of iterations
        self.terms: dict[tuple[Value, Value, int], Terms | None] = {}
        """Results of `_added`, memoised for the loop being visited."""
        self._visit(graph, 0)

    def of(self, value: Value) -> Interval:
        """The bounds of the elements of an int or bool tensor."""
        while value in self.outer:
            value = self.outer[value]
        found = self.found.get(value)
        if found is None:
            constant = value.constant
            if constant is None or not constant.size or constant.dtype.kind not in "iub":
                return _all(value)
            found = self.found[value] = int(constant.min()), int(constant.max())
        return found

    def exact(self, node: Node) -> Interval:
        """The bounds of the exact result of a checked node."""
        return exact(node.op.name, *map(self.of, node.inputs)) or (2 * INT64[0], 2 * INT64[1])

    def _visit(self, graph: Graph, deep: int) -> None:
        for node in graph.nodes:
            captured = iter(node.inputs[len(node.operands):])
            for sub in node.subgraphs.values():
                self.outer.update(zip([inner for _, inner in sub.captures], captured))
            if node.op.name in ("while_loop", "reduce"):
                self._loop(node, deep)
                continue
            for sub in node.subgraphs.values():
                self._visit(sub, deep)
            if node.op.name == "cond":
                branches = zip(*[sub.outputs for sub in node.subgraphs.values()], strict=True)
                for value, ways in zip(node.outputs, branches, strict=True):
                    if _is_int(value):
                        self.found[value] = _union(map(self.of, ways))
            elif node.single and _is_int(node.outputs[0]):
                self._set(node)

    def _set(self, node: Node) -> None:
        (value,) = node.outputs
        name, limits = node.op.name, _all(value)
        if node.op.name == "const":
            return
        found: Interval | None = None
        if name in _SIZES:
            found = _SIZE
        elif name == "cast" or name in _MOVED:
            found = self.of(node.inputs[0]) if _is_int(node.inputs[0]) else None
        elif all(map(_is_int, node.inputs)):
            found = exact(name, *map(self.of, node.inputs))
        if found is not None and node in self.checked:
            if name == "multiply":
                limits = _multiples(limits, *map(self.of, node.inputs))
            self.found[value] = _common(found, limits)
        elif found is not None and within(found, limits):
            self.found[value] = found
        else:
            self.found.pop(value, None)  # unknown, or it may wrap around

    # Loops

    def _loop(self, node: Node, deep: int) -> None:
        body: Graph = node.params["body"]
        state = body.inputs[len(body.inputs) - len(node.outputs):]
        first = node.operands[len(node.operands) - len(state):]
        tests = [] if "test" not in node.params else node.params["test"].inputs
        self.times[node] = self._turns(node)
        for value in (*state, *tests):
            self.found.pop(value, None)
        if node.op.name == "reduce" and node.params.get("stream") is None:
            self.found[body.inputs[0]] = 0, max(self.times[node] - 1, 0)
        subs = node.subgraphs.values()
        for _ in range(2 if deep < _TWICE else 1):
            for sub in subs:
                self._visit(sub, deep + 1)
            better = False
            for k, value in enumerate(state):
                if _is_int(value):
                    found = self._state(node, self.of(first[k]), value, body.outputs[k])
                    better = better or found != self.of(value)
                    self.found[value] = found
                    if tests:
                        self.found[tests[k]] = found
            if not better:
                break
        else:
            for sub in subs:
                self._visit(sub, deep + 1)
        for k, value in enumerate(node.outputs):
            if _is_int(value):
                self.found[value] = self.of(state[k])

    def _turns(self, node: Node) -> int:
        counts = node.params.get("stream") is None if node.op.name == "reduce" else bool(node.params.get("limited"))
        return max(min(self.of(node.inputs[0])[1], MOST), 0) if counts else MOST

    def _state(self, node: Node, first: Interval, value: Value, after: Value) -> Interval:
        """The bounds of a loop-carried value before and after each iteration."""
        found = _union((first, self.of(after)))
        self.terms.clear()
        terms = self._added(after, value, _DEEP)
        if terms is None:
            return found
        low, high = first
        for times, (least, most) in _often(terms, self.times[node]):
            low, high = low + times * least, high + times * most
        return _common(found, (low, high))

    def _added(self, value: Value, to: Value, depth: int) -> Terms | None:
        """The terms that are added to `to` to compute `value`; None if `value` is not computed by additions."""
        while value is not to and value in self.outer:
            value = self.outer[value]
        if value is to:
            return []
        node = value.node
        if node is None or not depth:
            return None
        key = value, to, depth
        if key not in self.terms:
            self.terms[key] = self._added_by(node, value, to, depth)
        return self.terms[key]

    def _added_by(self, node: Node, value: Value, to: Value, depth: int) -> Terms | None:
        name = node.op.name
        if name in ("add", "subtract"):
            for k in (0, 1) if name == "add" else (0,):
                terms = self._added(node.inputs[k], to, depth - 1)
                if terms is not None and len(terms) < _TERMS:
                    low, high = self.of(node.inputs[1 - k])
                    change = (low, high) if name == "add" else (-high, -low)
                    return [*terms, (1, (min(change[0], 0), max(change[1], 0)))]
            return None
        if name == "where":
            ways = [self._added(v, to, depth - 1) for v in node.inputs[1:]]
        elif name == "cond":
            k = node.outputs.index(value)
            ways = [self._added(sub.outputs[k], to, depth - 1) for sub in node.subgraphs.values()]
        elif name in ("while_loop", "reduce"):
            body, k = node.params["body"], node.outputs.index(value)
            lead = len(node.operands) - len(node.outputs)
            state = body.inputs[len(body.inputs) - len(node.outputs) + k]
            inside = self._added(body.outputs[k], state, depth - 1)
            ways = [self._added(node.operands[lead + k], to, depth - 1),
                    None if inside is None else _often(inside, self.times[node])]
        else:
            return None
        found: Terms = []
        for terms in ways:
            if terms is None:
                return None
            found += terms
        return found if len(found) <= _TERMS else None


def _often(terms: Terms, times: int) -> Terms:
    return [(min(count * times, MOST), change) for count, change in terms]


def _is_int(value: Value) -> bool:
    return not isinstance(value.type, ListType) and value.type.dtype.level < 2


def _all(value: Value) -> Interval:
    """The bounds of the dtype; of a value without integers, those of int64."""
    if not _is_int(value):
        return INT64
    dtype = value.type.dtype  # type: ignore[union-attr]
    return (0, 1) if dtype.is_bool else dtype.limits
