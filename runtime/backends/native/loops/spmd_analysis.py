"""SPMD loops: which counted loops run several iterations at a time, in the lanes of vector registers.

Such a loop contains loops with data-dependent trip counts, and its iterations are independent except for reductions of
loop-carried state. Each lane starts with the identity, and in the end the lanes are combined: sums and products of
integers, which wrap around, maxima, minima, bitwise and boolean ops are the same in any order, bit for bit. An
arg-select (`if n > most: most = n`, a `Choice`) is compared in the end, together with the index at which it was made,
so that the first of equal ones is kept.

Effects are not allowed: iterations would have them in another order. If a check (`raise_unless`) fails in some
iteration, the results of the lanes are discarded, and the loop runs again sequentially, and raises. The overflow check
of a sum depends on all iterations: in lanes each partial sum is bounded such that no order of the terms overflows.
Floats are not added, since the order of additions shows in the last bits. `spmd_scheduling` writes the loop,
`spmd_codegen` an iteration.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from runtime.backends.native.codegen.scalar_ops import ELEMENTWISE, FAILS, llvm_type
from runtime.backends.native.llvm.builder import Val, const
from runtime.backends.native.loops.if_conversion import LOOPS, Guards, flat, safe, type_of
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import DType, TensorType, int32, int64

__all__ = ["Choice", "LanePlan", "Loop", "planned"]

Sums = dict[Node, tuple[int, bool]]
"""By overflow check of a sum: the number of the operand that is the sum, and whether it is in an inner loop."""
_SUMS: Final = ("add_fits", "subtract_fits")
_PLAIN: Final = {"const", "cast", "undefined"}
_KINDS: Final = {"subtract": "add", **{name: name for name in (
    "add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")}}
_RELATIONS: Final = {"greater": "less", "greater_equal": "less_equal", "less": "greater", "less_equal": "greater_equal"}
_MOST: Final = 64  # lanes
_LONG: Final = 40  # number of ops for which one register per value is enough work


class Refused(Exception):
    """The reason why a loop does not run in lanes."""


class Loop:
    """An inner loop: `while go(turn, state): state = body(state)`.

    items      how many inputs of its body precede the state: 1 (the number of the turn) or 0
    counted    whether an operand before the state is the maximal number of turns
    carried    the places of the state that an iteration changes
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.body: Graph = node.params["body"]
        self.test: Graph | None = node.params.get("test")
        self.items = int(node.op.name == "reduce")
        self.counted = bool(self.items or node.params.get("limited"))
        self.state = self.body.inputs[self.items:]
        self.carried = [k for k, v in enumerate(self.state) if self.body.outputs[k] is not v]

    @property
    def counter(self) -> DType:
        """The dtype of the turn."""
        return type_of(self.node.inputs[0]).dtype

    def first_turn(self) -> Val | None:
        return const(llvm_type(self.counter), 0) if self.counted else None

    @property
    def operands(self) -> list[GraphValue]:
        """The initial state."""
        return self.node.operands[int(self.counted):]

    def captured(self) -> Iterable[tuple[GraphValue, GraphValue]]:
        """The values that its graphs capture: outside and inside."""
        outside = iter(self.node.inputs[len(self.node.operands):])
        for graph in self.node.subgraphs.values():
            for (_, inner), outer in zip(graph.captures, outside, strict=False):
                yield outer, inner


class Choice:
    """State that an iteration replaces or keeps. Of two lanes that replaced it, the one wins whose leading value is in
    `relation` to the other's; of equal ones the first, or the last if the relation includes equality or there is none.

    condition   under which an iteration replaces it; None: always
    slots       the places of the state
    leader      the place of the leading value
    """

    def __init__(self, condition: GraphValue | None, slots: list[int], leader: int | None, relation: str) -> None:
        self.condition = condition
        self.slots = slots
        self.leader = leader
        self.relation = relation


class LanePlan:
    """The plan to run a loop in lanes.

    body      the if-converted body guards    the predicates of its inner loops kinds     by places of the state, the op
    that reduces it choices   the arg-selects, for the other places that an iteration changes only      the inner loop,
    if there is exactly one at the top level: then lanes need not wait for each other index     LLVM's type of the index
    cost      of an iteration in which each inner loop makes one turn, in ops count     the number of lanes checks
    whether an iteration may fail sums      the overflow checks of sums share     placeholders for two numbers, with
    which sums outside of inner loops are checked: a term is within its share of the range if the term plus the first
    number is at most the second
    """

    def __init__(self, body: Graph, guards: Guards, kinds: dict[int, str], choices: list[Choice], bits: int,
                 sums: Sums) -> None:
        self.checks = any(node.op.name == "raise_unless" for node in body.walk())
        self.sums = sums
        self.share = [GraphValue(body, TensorType(int64, ())) for _ in range(2)]
        self.body = body
        self.guards = guards
        self.kinds = kinds
        self.choices = choices
        self.loops = {node: Loop(node) for node in body.walk() if node.op.name in LOOPS}
        first = [node for node in body.nodes if node.op.name in LOOPS]
        self.only = self.loops[first[0]] if len(first) == 1 else None
        self.index = "i32" if type_of(body.inputs[0]).dtype.size <= 4 and _int32_holds(body.inputs[0]) else "i64"
        self.cost = sum(1 for _ in body.walk())
        self.count = self._lanes(bits)

    def _lanes(self, bits: int) -> int:
        """As many lanes as fill two registers of `bits`, to hide latencies, if few values are live at a time; else
        one."""
        dtypes = {type_of(v).dtype for v in _values(self.body)}
        one = bits // (8 * max(dtype.size for dtype in dtypes))
        if one < 4 and any(bits < 32 * dtype.size for dtype in dtypes if dtype.is_floating):
            raise Refused(f"a register has {one} lanes for its widest values")
        one = max(one, 4)  # Python's ints, which have 64 bits, may take two registers
        live = 1 + len(self.kinds) + 2 * len(self.choices) + sum(len(loop.carried) for loop in self.loops.values())
        few = self.cost <= _LONG and live <= (12 if bits >= 512 else 6)
        return min(2 * one if few else one, _MOST)


def _int32_holds(index: GraphValue) -> bool:
    dtype = type_of(index).dtype
    return dtype is int32 or dtype.size < 4


def planned(node: Node, bits: int) -> LanePlan | str | None:
    """The plan for a `reduce` with registers of `bits`; or why it does not run in lanes; None if it has no inner
    loop."""
    body: Graph = node.params["body"]
    if not any(n.op.name in LOOPS for n in body.walk()):
        return None
    if not all(isinstance(v.type, TensorType) and not v.type.shape and not v.type.dtype.is_complex
               for v in _values(body)):
        return None
    try:
        if node.params.get("test") is not None:
            raise Refused("what is carried may end it")
        for n in body.walk():
            _check(n)
        guards: Guards = {}
        graph, _ = flat(body, guards)
        sums: Sums = {}
        kinds, choices = _combined(graph, guards, sums)
        return LanePlan(graph, guards, kinds, choices, bits, sums)
    except Refused as reason:
        return str(reason)


def _values(graph: Graph) -> Iterable[GraphValue]:
    yield from graph.parameters
    for node in graph.nodes:
        yield from node.outputs
        for sub in node.subgraphs.values():
            yield from _values(sub)


def _check(node: Node) -> None:
    name = node.op.name
    if name == "raise_unless":
        return
    if node.params.get("stream") is not None or node.op.effect:
        raise Refused(f"its iterations have effects, whose order counts ({name})")
    if name in FAILS and not safe(node):
        raise Refused(f"an iteration may raise ({name})")
    if name not in ELEMENTWISE and name not in _PLAIN and name not in LOOPS and name != "cond":
        raise Refused(f"{name} does not run in lanes")


# Classification of the state.

def _combined(graph: Graph, guards: Guards, sums: Sums) -> tuple[dict[int, str], list[Choice]]:
    """Classify each loop-carried value: reduction(op), arg-select, or invariant. Returns the reductions by place of the
    state, and the choices. `sums` gets the overflow checks of sums, as in `LanePlan`."""
    state = graph.inputs[1:]
    changed = [k for k, v in enumerate(state) if graph.outputs[k] is not v]
    dependent = _dependent(graph, {state[k] for k in changed}, guards)
    choices = _choices(graph, changed, dependent, guards)
    chosen = {k for choice in choices for k in choice.slots}
    skipped = {choice.condition.node for choice in choices if choice.condition in dependent and choice.condition}
    skipped |= {graph.outputs[k].node for choice in choices if choice.condition for k in choice.slots}
    added = [k for k in changed if k not in chosen]
    kinds = {k: "" for k in added}
    found = {state[k]: k for k in added}
    _follow(graph, found, kinds, guards, state, sums, skipped)
    for k in added:
        if found.get(graph.outputs[k]) != k:
            raise _carried(state[k])
    for choice in choices:
        for k in choice.slots:
            if found.get(graph.outputs[k]) is not None:
                raise _carried(state[k])
    return {k: kind or "add" for k, kind in kinds.items()}, choices


def _dependent(graph: Graph, sources: set[GraphValue], guards: Guards) -> set[GraphValue]:
    """The values that depend on `sources`; of inner loops, only the results that do."""
    found = set(sources)
    for node in graph.nodes:
        if node.op.name in LOOPS:
            found.update(node.outputs if guards.get(node) in found else _dependent_results(Loop(node), found, guards))
        elif any(v in found for v in node.inputs):
            found.update(node.outputs)
    return found


def _dependent_results(loop: Loop, found: set[GraphValue], guards: Guards) -> list[GraphValue]:
    node = loop.node
    tests = [] if loop.test is None else loop.test.inputs
    inside = {inner for outer, inner in loop.captured() if outer in found}
    places = {k for k, v in enumerate(loop.operands) if v in found}
    while True:
        body = _dependent(loop.body, inside | {loop.state[k] for k in places}, guards)
        more = {k for k, v in enumerate(loop.body.outputs) if v in body} - places
        if not more:
            break
        places |= more
    ends = loop.counted and node.inputs[0] in found
    if loop.test is not None:
        ends |= loop.test.outputs[0] in _dependent(loop.test, inside | {tests[k] for k in places}, guards)
    return [v for k, v in enumerate(node.outputs) if ends or k in places]


def _choices(graph: Graph, changed: list[int], dependent: set[GraphValue], guards: Guards) -> list[Choice]:
    state = graph.inputs[1:]
    uses = Counter([*(v for node in graph.nodes for v in node.inputs), *graph.outputs, *guards.values()])
    groups: dict[GraphValue | None, list[int]] = {}
    for k in changed:
        out = graph.outputs[k]
        if not uses[state[k]] and out not in dependent:
            groups.setdefault(None, []).append(k)
        elif out.node is not None and out.node.op.name == "where" and uses[out] == 1:
            condition, new, old = out.node.inputs
            if old is state[k] and new not in dependent:
                groups.setdefault(condition, []).append(k)
    choices = []
    for of, slots in groups.items():
        leader, relation = None, ""
        if of in dependent:
            leader, relation = _leader(graph, of, slots)
            if leader is None or uses[of] != len(slots):
                continue
        if all(uses[state[k]] == (0 if of is None else 2 if k == leader else 1) for k in slots):
            choices.append(Choice(of, slots, leader, relation))
    return choices


def _leader(graph: Graph, condition: GraphValue | None, slots: list[int]) -> tuple[int | None, str]:
    """The place among the replaced ones whose old and new values the condition compares, and the relation."""
    node = condition.node if condition is not None else None
    if node is not None and node.op.name in _RELATIONS:
        x, y = node.inputs
        for k in slots:
            where = graph.outputs[k].node
            assert where is not None
            new, old = where.inputs[1:]
            if (x, y) == (new, old):
                return k, node.op.name
            if (x, y) == (old, new):
                return k, _RELATIONS[node.op.name]
    return None, ""


def _follow(graph: Graph, found: dict[GraphValue, int], kinds: dict[int, str], guards: Guards,
            state: list[GraphValue], sums: Sums, skipped: Iterable[Node | None] = (),
            inside: bool = False) -> None:
    """Find the values that are a place of the state with terms added; Refused if one is used in another way."""
    for node in graph.nodes:
        places = [found.get(v) for v in node.inputs]
        named = [k for k in places if k is not None]
        guard = guards.get(node)
        if guard is not None and guard in found:
            raise _carried(state[found[guard]])
        if not named or node in skipped:
            continue
        k, name = named[0], node.op.name
        refused = _carried(state[k])
        if name in LOOPS:
            _follow_loop(Loop(node), found, kinds, guards, state, sums)
            continue
        if name in _SUMS and len(named) == 1 and (places[0] is not None or name == "add_fits"):
            sums[node] = int(places[0] is None), inside
            continue
        kind = _reduction(node, places, found)
        if kind is None:
            raise refused
        dtype = type_of(node.inputs[-1]).dtype
        if dtype.is_floating:
            raise Refused(f"{_named(state[k])} adds up floats, whose order counts")
        if kind:
            if (dtype.is_bool and not kind.startswith("bitwise")) or (kinds[k] and kinds[k] != kind):
                raise refused
            kinds[k] = kind
        found[node.outputs[0]] = k


def _reduction(node: Node, places: Sequence[int | None], found: dict[GraphValue, int]) -> str | None:
    """The op by which a node reduces into the operand that belongs to a place of the state; "" if it selects between
    two values of one place; None if it does something else."""
    name, named = node.op.name, [k for k in places if k is not None]
    if name == "where":
        logical = _logical(node, found)
        if logical is not None:
            return logical
        return "" if places[0] is None and len(named) > 1 and len(set(named)) == 1 else None
    if len(named) > 1 or (name == "subtract" and places[0] is None):
        return None
    return _KINDS.get(name)


def _logical(node: Node, found: dict[GraphValue, int]) -> str | None:
    """The boolean reduction op of `if c: found = True`, `found or c` and similar nodes; else None."""
    c, x, y = node.inputs
    for holds, kind, other, negated in (
            (x is c or _is(x, True), "bitwise_or", y, False), (y is c or _is(y, False), "bitwise_and", x, False),
            (_is(x, False), "bitwise_and", y, True), (_is(y, True), "bitwise_or", x, True)):
        if holds and (c in found) != (other in found) and not (negated and c in found):
            return kind
    return None


def _is(value: GraphValue, what: bool) -> bool:
    constant = value.constant
    return constant is not None and constant.dtype == bool and bool(constant) is what


def _follow_loop(loop: Loop, found: dict[GraphValue, int], kinds: dict[int, str], guards: Guards,
                 state: list[GraphValue], sums: Sums) -> None:
    node = loop.node
    if loop.counted and node.inputs[0] in found:
        raise _carried(state[found[node.inputs[0]]])
    inside = {inner: found[outer] for outer, inner in loop.captured() if outer in found}
    starts = [found.get(v) for v in loop.operands]
    for inputs in (loop.state, loop.test.inputs if loop.test is not None else ()):
        inside.update({v: k for v, k in zip(inputs, starts, strict=False) if k is not None})
    for graph in (loop.test, loop.body):
        if graph is not None:
            _follow(graph, inside, kinds, guards, state, sums, inside=True)
    ends = [inside.get(v) for v in loop.body.outputs]
    for start, end, out in zip(starts, ends, node.outputs, strict=True):
        if start != end:
            k = end if start is None else start
            assert k is not None
            raise _carried(state[k])
        if start is not None:
            found[out] = start
    if loop.test is not None and loop.test.outputs[0] in inside:
        raise _carried(state[inside[loop.test.outputs[0]]])


def _named(value: GraphValue) -> str:
    return repr(value.hint) if value.hint else "a value that it carries"


def _carried(value: GraphValue) -> Refused:
    return Refused(f"its iterations need {_named(value)} from those before")
