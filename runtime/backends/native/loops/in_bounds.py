"""Bounds-check elimination: one test before a loop replaces the bounds checks of its array items.

It applies to innermost loops on scalars and on items of arrays: counted ones, and a `while` that runs as long as a
number, to which it adds the same amount each time, is below (or above) a limit, and whatever else its test asks then,
as `while j >= 0 and x[j] > key`. An index

    base + stride * i        i: the number of the iteration; base, stride: sums of loop invariants

is within an axis of invariant size if its first and last values are. Integer arithmetic wraps, but as all of these
values are positions in the axis, so are the wrapped ones. In a `while`, i is the distance from the first number, up to
the limit.

A loop that takes one item after another of a short axis ends soon, so it runs without polls for signals.
"""
from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from runtime.backends.native.codegen.array_parts import is_part
from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.index_expressions import Array
from runtime.backends.native.kernels.indexing import size_of_part
from runtime.backends.native.kernels.shapes import integer
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.backends.native.loops.if_conversion import LOOPS, type_of
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import DType, TensorType, int32, int64

__all__ = ["Bound", "Plan", "bounded", "ends_soon", "has_loop", "is_simple", "planned", "planned_while", "taken_ahead"]

_ITEMS: Final = ("getitem", "setitem")
_FEW: Final = 8
"""Iterations up to which the test costs more than it saves."""
_UNDIVIDED: Final = 1 << 23
"""Iterations up to which a loop may run without a poll for signals."""
_SHORT_AXIS: Final = 1 << 20
"""Items of an axis up to which the same holds for a loop that takes one after another."""
_SHORT: Final = 12
"""Nodes of a branch whose items may be read speculatively."""
_LONGEST_STEP: Final = 1 << 40
_RELATIONS: Final = {"less": ("slt", "sgt"), "less_equal": ("sle", "sge"), "greater": ("sgt", "slt"),
                     "greater_equal": ("sge", "sle")}
"""The comparisons of ops, and those with exchanged operands."""

_ARITHMETIC: Final = {"add": "add", "subtract": "sub", "multiply": "mul"}
"""Ops on ints, with their names in LLVM."""
_FITS: Final = {f"{name}_fits": short for name, short in _ARITHMETIC.items()}

Sum = frozenset[tuple[GraphValue | None, int]]
"""Loop invariants with their factors; None stands for the constant 1."""
_ONE: Final[Sum] = frozenset({(None, 1)})
_ZERO: Final[Sum] = frozenset()


class Affine(NamedTuple):
    base: Sum
    stride: Sum


class Bound(NamedTuple):
    """A loop goes on only while a number of its state, the one at `place`, is in `relation` to the limit, as the node
    `holds` of the test tells; each iteration adds `step` to it, or subtracts it if `up` is false. `more`: the test asks
    more than that, but may only raise where the number is in that relation."""

    place: int
    relation: str
    up: bool
    limit: GraphValue
    step: GraphValue
    holds: Node
    more: bool

    @property
    def by_ones(self) -> bool:
        return self.step.constant is not None and abs(int(self.step.constant)) == 1


class Plan(NamedTuple):
    """`holds`: whether the items of `nodes` are within bounds in all iterations, and the checks `fitting` pass: that
    sums do not overflow, and, of a `while`, that its number is in bounds (see `Bound.holds`). `undivided`: it runs
    without polls for signals, as it has few iterations: the axis whose items it takes is short, or `holds` tests it,
    as an iteration reads items that earlier ones set, which LLVM keeps in registers if nothing comes in between.
    `in_turn`: such a loop with branches. `scatters`: the loop only sets items that are not side by side to an invariant
    value. For a `while`: its `limit` and `step` (see `Bound`).
    """

    holds: Val
    nodes: frozenset[Node]
    undivided: bool
    fitting: frozenset[Node] = frozenset()
    limit: Val = const("i64", 0)
    step: Val = const("i64", 0)
    in_turn: bool = False
    scatters: bool = False

    def mark(self, b: Builder, times: int = 0) -> str:
        """Metadata for the back edge: LLVM unrolls the loop `times` (0: as it likes). Iterations that wait for each
        other gain nothing from it, and the processor predicts each copy of a branch anew. Nor are vectors of positions
        of use where each item is set by itself."""
        return b.module.back_edge(
            at_runtime=not self.in_turn, vectorize=not self.scatters, times=0 if self.in_turn else times)


def has_loop(graph: Graph) -> bool:
    return any(node.op.name in LOOPS for node in graph.walk())


def planned(w: Lowering, body: Graph, length: Val, state: Sequence[Value], env: Mapping[GraphValue, Value]
            ) -> Plan | None:
    """The plan for a loop over `range(length)`, which starts with `state`; `env` has the captured values. None if it
    does not apply."""
    if not all(map(is_simple, body.walk())) or (length.ref.isdigit() and int(length.ref) <= _FEW):
        return None
    return _Planner(w, body, body.inputs[1:], state, env).plan(length)


def bounded(test: Graph, body: Graph) -> Bound | None:
    """The bound of a `while` loop, if it has one."""
    if not all(is_simple(node) and not (graph is test and node.op.effect) for graph in (test, body)
               for node in graph.walk()):
        return None
    conjuncts = _conjuncts(test.outputs[0])
    for holds in conjuncts:
        later = [node for node in conjuncts if node.op.name == "cond" and holds in _conjuncts(node.inputs[0])]
        if holds.op.name in _RELATIONS and not any(node.errors for node in test.nodes if node not in later):
            found = _bound_by(holds, test, body)
            if found is not None:
                return found
    return None


def _is_invariant(value: GraphValue, graph: Graph, body: Graph) -> bool:
    """Whether a value of the test or body of a loop is the same in all iterations, and known before the loop."""
    if value in graph.inputs:
        k = graph.inputs.index(value)
        return body.outputs[k] is body.inputs[k]
    return value.constant is not None or any(inner is value for _, inner in graph.captures)


def _conjuncts(value: GraphValue) -> list[Node]:
    """The comparisons that a condition computes first, in any case, and that hold if it does; and each `cond` that
    computes the rest of the condition where they hold."""
    node = value.node
    if node is None:
        return []
    if node.op.name in _RELATIONS:
        return [node]
    if node.op.name == "bitwise_and":
        return [found for x in node.inputs for found in _conjuncts(x)]
    if node.op.name == "cond" and _is_false(node.params["false"]):
        return [*_conjuncts(node.inputs[0]), node]
    return []


def _is_false(graph: Graph) -> bool:
    constant = graph.outputs[0].constant
    return constant is not None and not constant.any()


def _bound_by(holds: Node, test: Graph, body: Graph) -> Bound | None:
    """The bound that a comparison of the test is, if it is one."""
    relation, opposite = _RELATIONS[holds.op.name]
    more = holds is not test.outputs[0].node
    left, right = holds.inputs
    for x, limit, name in (left, right, relation), (right, left, opposite):
        place = test.inputs.index(x) if x in test.inputs else -1
        after = body.outputs[place].node
        if place < 0 or after is None or after.op.name not in ("add", "subtract") or (
                type_of(x).dtype not in (int32, int64)):
            continue
        number = body.inputs[place]
        for y, step in (after.inputs, after.inputs[::-1]):
            if y is number and (after.op.name == "add" or y is after.inputs[0]) and (
                    _is_invariant(step, body, body) and _is_invariant(limit, test, body)):
                up = (after.op.name == "add") != (step.constant is not None and int(step.constant) < 0)
                if up == (name[1] == "l"):
                    return Bound(place, name, up, limit, step, holds, more)
    return None


def planned_while(w: Lowering, bound: Bound, test: Graph, body: Graph, state: Sequence[Value],
                  envs: Mapping[str, Mapping[GraphValue, Value]]) -> Plan | None:
    """The plan for a bounded `while` loop, which starts with `state`; None if nothing is gained."""
    planner = _Planner(w, body, body.inputs, state, envs["body"])
    if bound.more:
        planner.add_test(test, envs["test"])
    limit, step = (
        w.constant(x.constant) if x.constant is not None else env[x]
        for x, env in ((bound.limit, {**envs["test"], **dict(zip(test.inputs, state, strict=True))}),
                       (bound.step, planner.known)))
    return planner.plan_while(bound, integer(w, limit), integer(w, step))


def ends_soon(w: Lowering, test: Graph, body: Graph, state: Sequence[Value],
              envs: Mapping[str, Mapping[GraphValue, Value]]) -> bool:
    """Whether a `while` loop, which starts with `state`, has so few iterations that it needs no polls for signals: as
    each takes another item of a short axis, it would soon leave the axis."""
    if not all(is_simple(node) for graph in (test, body) for node in graph.walk()):
        return False
    planner = _Planner(w, body, body.inputs, state, envs["body"])
    planner.add_test(test, envs["test"])
    return planner.ends_soon(test)


def _is_short(tests: Sequence[tuple[Affine, Index, DType]]) -> bool:
    """Whether the positions of an item move along a short axis."""
    return any(isinstance(size, int) and size <= _SHORT_AXIS and 0 < abs(_as_constant(affine.stride) or 0) < _SHORT_AXIS
               for affine, size, _ in tests)


def is_simple(node: Node) -> bool:
    """Whether a node works on scalars and items, also of slices, so that it is small enough to be written twice."""
    if is_part(node):
        return True
    if node.op.name in _ITEMS:
        return all(entry == "?" or type(entry) is int for entry in node.params["index"]) and (
            len(node.params["index"]) == _rank(node.inputs[0]))
    return node.op.name == "cond" or (not node.subgraphs and not any(map(_rank, [*node.inputs, *node.outputs])))


def _rank(value: GraphValue) -> int:
    return len(value.type.shape) if isinstance(value.type, TensorType) else 1


@contextmanager
def taken_ahead(w: Lowering, branch: Graph, env: Mapping[GraphValue, Value]) -> Iterator[None]:
    """Within this context the branch is written. Before it, items that a short branch reads are loaded, if they are
    known to be within bounds: LLVM may then turn the rest into selects."""
    known, ahead = dict(env), []
    if len(branch.nodes) <= _SHORT and any(node in w.in_bounds for node in branch.nodes):
        now = w.current, w.dead, w.operands, w.env, w.last, w.node_index
        for node in branch.nodes:
            item = node.op.name == "getitem" and node in w.in_bounds
            if (item or (node.op.name in _AFFINE and not node.errors)) and known.keys() >= set(node.inputs):
                results = w.node(node, [known[x] for x in node.inputs], frozenset(), known, {}, 0)
                known.update(zip(node.outputs, results, strict=True))
                w.lowered_early[node] = results
                ahead.append(node)
        w.current, w.dead, w.operands, w.env, w.last, w.node_index = now
    yield
    for node in ahead:
        w.lowered_early.pop(node, None)


class _Planner:
    def __init__(self, w: Lowering, body: Graph, inputs: Sequence[GraphValue], state: Sequence[Value],
                 env: Mapping[GraphValue, Value]) -> None:
        """`inputs`: the body's inputs that are state."""
        self.w, self.body, self.inputs = w, body, inputs
        self.nodes = [*body.walk()]  # that run in an iteration
        self.length = const("i64", 0)
        self.outer = _captures(self.nodes)
        self.known = {**env, **dict(zip(inputs, state, strict=True))}
        self.fixed = {*env, *[x for x, after in zip(inputs, body.outputs, strict=True) if x is after]}
        self.counters: dict[GraphValue, Affine] = {}
        self.roots: dict[GraphValue, GraphValue] = {}
        self.affines: dict[GraphValue, Affine | None] = {}
        self.ends_of: dict[GraphValue, tuple[Val, Val] | None] = {}
        self.exact: list[tuple[str, Val, Val]] = []  # sums, differences and products that must not overflow

    def add_test(self, test: Graph, env: Mapping[GraphValue, Value]) -> None:
        """Let the nodes of the test run in each iteration, too; `env`: the values that it captures."""
        nodes = [*test.walk()]
        self.nodes += nodes
        self.outer.update(_captures(nodes))
        self.outer.update(zip(test.inputs, self.inputs, strict=True))
        self.known.update(env)
        self.fixed.update(env)

    def plan(self, length: Val) -> Plan | None:
        self.counters[self.body.inputs[0]] = Affine(_ZERO, _ONE)
        self.length = length
        found, fitting = self.items(), frozenset(filter(self.fits_at_ends, self.nodes))
        if not found and not fitting:
            return None
        recurs, is_short = self.recurs(found), any(map(_is_short, found.values()))
        holds = self.all_hold(found, recurs and not is_short)
        for name, x, y in dict.fromkeys(self.exact):
            holds = self.w.b.and_(holds, self.w.b.not_(self.overflows(name, x, y)))
        return Plan(holds, frozenset(found), recurs or is_short, fitting, in_turn=recurs and self.branches(),
                    scatters=self.scatters(found))

    def plan_while(self, bound: Bound, limit: Val, step: Val) -> Plan | None:
        b, number = self.w.b, self.inputs[bound.place]
        self.counters[number] = Affine(frozenset({(number, 1)}), _times(_ONE, 1 if bound.up else -1))
        found = self.items()
        fitting = frozenset(filter(self.checks_step(bound), self.nodes))
        if not found and not fitting:
            return None
        if bound.step.constant is not None:
            step = const("i64", abs(int(bound.step.constant)))
        first = integer(self.w, self.known[number])
        distance = b.sub(limit, first) if bound.up else b.sub(first, limit)
        self.length = b.add(distance, const("i64", int(bound.relation[2] == "e")))
        recurs, is_short = self.recurs(found), any(map(_is_short, found.values()))
        holds = self.all_hold(found, recurs and not is_short)
        wraps = self.wraps(type_of(number).dtype, "add" if bound.up else "sub", limit, step)
        few = b.icmp("ult", b.sub(step, const("i64", 1)), const("i64", _LONGEST_STEP))
        runs = b.and_(b.icmp(bound.relation, first, limit), b.and_(b.not_(wraps), few))
        if bound.more:
            fitting |= {bound.holds}
        return Plan(b.and_(runs, holds), frozenset(found), recurs or is_short, fitting, limit, step,
                    recurs and self.branches(), self.scatters(found, bound.by_ones))

    def ends_soon(self, test: Graph) -> bool:
        """Whether each iteration takes an item that is a constant distance further along a short axis."""
        self.counters = {x: Affine(frozenset({(x, 1)}), _ZERO) for x in self.inputs}
        moved = [(x, self.affine(after)) for x, after in zip(self.inputs, self.body.outputs, strict=True)]
        steps = {x: _sum(after.base, frozenset({(x, -1)})) for x, after in moved if after is not None}
        self.counters = {x: Affine(frozenset({(x, 1)}), step) for x, step in steps.items()
                         if _as_constant(step) is not None}
        self.affines.clear()
        found = self.items()
        return any(_is_short(found[node]) for node in (*test.nodes, *self.body.nodes) if node in found)

    def fits_at_ends(self, node: Node) -> bool:
        """Whether a node checks that a sum, difference or multiple does not overflow that is affine in the number of
        the iteration: then it does not if it does not in the first and in the last iteration."""
        return node.op.name in _FITS and self.combined(_FITS[node.op.name], node.inputs) is not None

    def is_fixed(self, value: GraphValue) -> bool:
        value = self.root(value)
        return value in self.fixed or value.constant is not None

    def ends(self, value: GraphValue) -> tuple[Val, Val] | None:
        """The values of a scalar in the first and in the last iteration, if it is affine in the iteration's number."""
        b, value = self.w.b, self.root(value)
        node, constant = value.node, value.constant
        if value in self.ends_of:
            return self.ends_of[value]
        found: tuple[Val, Val] | None = None
        if _rank(value) or type_of(value).dtype not in (int32, int64):
            found = None
        elif value in self.counters:
            found = const("i64", 0), b.intrinsic("smax", b.sub(self.length, const("i64", 1)), const("i64", 0))
        elif value in self.fixed:
            number = integer(self.w, self.known[value])
            found = number, number
        elif constant is not None:
            found = const("i64", int(constant)), const("i64", int(constant))
        elif node is not None and node.op.name == "cast" and self.widens(node):
            found = self.ends(node.inputs[0])
        elif node is not None and node.op.name in _ARITHMETIC:
            found = self.combined(_ARITHMETIC[node.op.name], node.inputs)
        self.ends_of[value] = found
        return found

    def combined(self, name: str, values: Sequence[GraphValue]) -> tuple[Val, Val] | None:
        """The `ends` of a sum, difference or product; that these are exact is recorded to be tested."""
        is_linear = name != "mul" or any(map(self.is_fixed, values))
        if not is_linear or any(type_of(x).dtype is not int64 for x in values):
            return None
        left, right = map(self.ends, values)
        if left is None or right is None:
            return None
        pairs = [*zip(left, right, strict=True)]
        self.exact += [(name, x, y) for x, y in pairs]
        first, last = (getattr(self.w.b, name)(x, y) for x, y in pairs)
        return first, last

    def checks_step(self, bound: Bound) -> Callable[[Node], bool]:
        """A predicate: whether a node checks that the sum or difference of the bound does not overflow."""
        after = self.body.outputs[bound.place].node
        assert after is not None
        name, operands = f"{after.op.name}_fits", [self.root(x) for x in after.inputs]
        return lambda node: node.op.name == name and [self.root(x) for x in node.inputs] == operands

    def wraps(self, dtype: DType, name: str, x: Val, y: Val) -> Val:
        """Whether a sum or difference of numbers of a dtype, as i64, overflows the dtype."""
        b = self.w.b
        if dtype is int32:
            found = b.op("i64", f"{name} {x}, {y.ref}")
            return b.icmp("ne", b.extend(b.convert("trunc", found, "i32"), False), found)
        return self.overflows(name, x, y)

    def overflows(self, name: str, x: Val, y: Val) -> Val:
        b, pair = self.w.b, "{ i64, i1 }"
        b.module.declare(f"llvm.s{name}.with.overflow.i64", pair, "i64", "i64")
        return b.op("i1", f"extractvalue {b.call(pair, f'llvm.s{name}.with.overflow.i64', x, y)}, 1")

    def items(self) -> dict[Node, list[tuple[Affine, Index, DType]]]:
        """By node, the tests of the items that can be tested before the loop."""
        found: dict[Node, list[tuple[Affine, Index, DType]]] = {}
        for node in self.nodes:
            if node.op.name in _ITEMS and "?" in node.params["index"]:
                tests = self.tests_of(node)
                if tests is not None:
                    found[node] = tests
        return found

    def all_hold(self, found: Mapping[Node, list[tuple[Affine, Index, DType]]], few: bool) -> Val:
        holds = [self.test(*test) for test in dict.fromkeys([test for tests in found.values() for test in tests])]
        if few:
            holds.append(self.w.b.icmp("ult", self.length, const("i64", _UNDIVIDED)))
        return functools.reduce(self.w.b.and_, holds, const("i1", 1))

    def recurs(self, found: Mapping[Node, Sequence[tuple[Affine, Index, DType]]]) -> bool:
        """Whether an iteration reads an item that one a constant number of iterations earlier sets."""
        places: dict[object, dict[str, set[tuple[int, ...]]]] = {}
        for node, tests in found.items():
            axes = [affine for affine, _, _ in tests]
            kind = (self.root(node.inputs[0]), node.params["index"],
                    *[(x.stride, frozenset(term for term in x.base if term[0] is not None)) for x in axes])
            offsets = tuple([dict(x.base).get(None, 0) for x in axes])
            places.setdefault(kind, {}).setdefault(node.op.name, set()).add(offsets)
        return any(len(of["setitem"] | of["getitem"]) > 1 for of in places.values() if len(of) > 1)

    def branches(self) -> bool:
        return any(node.subgraphs for node in self.body.walk())

    def scatters(self, found: Mapping[Node, Sequence[tuple[Affine, Index, DType]]], by_ones: bool = True) -> bool:
        """Whether the loop only sets items to invariant values, and these are not side by side (`Plan.scatters`).
        `by_ones`: each iteration adds 1 to the number on which the strides are based, or subtracts it."""
        def is_far(node: Node) -> bool:
            strides = iter([affine.stride for affine, _, _ in found[node]])
            *rows, last = [next(strides) if entry == "?" else _ZERO for entry in node.params["index"]]
            return not by_ones or any(rows) or last not in (_ONE, _times(_ONE, -1))

        sets = [node for node in self.nodes if node.op.name == "setitem"]
        counts = all(self.root(x) is self.root(after) or self.affine(after) is not None
                     for x, after in zip(self.inputs, self.body.outputs, strict=True))
        return counts and bool(sets) and not self.branches() and all(
            node in found and self.is_fixed(node.inputs[1]) and is_far(node) for node in sets)

    def tests_of(self, node: Node) -> list[tuple[Affine, Index, DType]] | None:
        """The affine indices of a node, with the sizes of their axes and their dtypes; None if one is not known before
        the loop."""
        operands = iter(node.operands[1 + (node.op.name == "setitem"):])
        tests = []
        for axis, entry in enumerate(node.params["index"]):
            if entry == "?":
                index = next(operands)
                affine, size = self.affine(index), self.size(node.inputs[0], axis)
                if affine is None or size is None:
                    return None
                tests.append((affine, size, type_of(index).dtype))
        return tests

    def root(self, value: GraphValue) -> GraphValue:
        """The value of the loop's body to which a captured value refers; for an array, the one before all item
        assignments."""
        found = self.roots.get(value)
        if found is None:
            found = self.roots[value] = self._root(value)
        return found

    def _root(self, value: GraphValue) -> GraphValue:
        value = self.outer.get(value, value)
        node = value.node
        if value in self.outer:
            return self.root(value)
        if node is not None and node.op.name == "setitem":
            return self.root(node.inputs[0])
        if node is not None and node.op.name == "cond" and _rank(value):
            at = node.outputs.index(value)
            ends = {self.root(graph.outputs[at]) for graph in node.subgraphs.values()}
            return ends.pop() if len(ends) == 1 else value
        return value

    def size(self, array: GraphValue, axis: int) -> Index | None:
        """The size of an axis, if it is invariant."""
        known = type_of(array).shape[axis]
        root = self.root(array)
        if known is None and root not in self.known and root.node is not None and is_part(root.node):
            return size_of_part(self.w.b, root.node, axis, self.size, self.invariant)
        if known is not None or root not in self.known:
            return known
        if root not in self.fixed and self.root(self.body.outputs[self.inputs.index(root)]) is not root:
            return None
        x = self.known[root]
        assert isinstance(x, Array)
        return x.dims[axis]

    def invariant(self, value: GraphValue) -> Index | None:
        """The value of an int, if it is the same in all iterations."""
        value = self.root(value)
        if value.constant is not None:
            return int(value.constant)
        return integer(self.w, self.known[value]) if value in self.fixed else None

    def affine(self, value: GraphValue) -> Affine | None:
        value = self.root(value)
        if value not in self.affines:
            self.affines[value] = self._affine(value)
        return self.affines[value]

    def _affine(self, value: GraphValue) -> Affine | None:
        if _rank(value) or type_of(value).dtype not in (int32, int64):
            return None
        if value in self.counters:
            return self.counters[value]
        if value in self.fixed:
            return Affine(frozenset({(value, 1)}), _ZERO)
        constant, node = value.constant, value.node
        if constant is not None:
            return _constant(int(constant))
        if node is None or node.op.name not in _AFFINE:
            return None
        operands = [self.affine(x) for x in node.operands]
        dtypes = {type_of(x).dtype for x in (value, *node.operands)}
        if None in operands or (len(dtypes) > 1 and not self.widens(node)):
            return None
        return _AFFINE[node.op.name](*operands)

    def widens(self, node: Node) -> bool:
        """Whether a node converts to int64 a number that cannot have wrapped."""
        x = self.root(node.inputs[0])
        return type_of(node.outputs[0]).dtype is int64 and (x in self.counters or x in self.fixed)

    def test(self, affine: Affine, size: Index, dtype: DType) -> Val:
        """Whether an index is within an axis in the first and in the last iteration."""
        b = self.w.b
        base, limit = self.number(affine.base, dtype), b.i64(size)
        if dtype is int32:
            limit = b.intrinsic("smin", limit, const("i64", 1 << 31))
        inside = b.icmp("ult", base, limit)
        if not affine.stride:
            return inside
        stride = self.number(affine.stride, dtype)
        ahead = b.icmp("sgt", stride, const("i64", 0))
        room = b.select(ahead, b.sub(b.sub(limit, const("i64", 1)), base), base)
        step = b.intrinsic("umax", b.select(ahead, stride, b.sub(const("i64", 0), stride)), const("i64", 1))
        last = b.sub(self.length, const("i64", 1))
        return b.and_(inside, b.icmp("ule", last, room if affine.stride == _ONE else b.udiv(room, step)))

    def number(self, total: Sum, dtype: DType) -> Val:
        """A sum as an i64, wrapped to the dtype."""
        b = self.w.b
        found = const("i64", 0)
        for value, factor in sorted(total, key=lambda term: term[0] is not None):
            term = const("i64", 1) if value is None else integer(self.w, self.known[value])
            found = b.add(found, b.mul(term, const("i64", factor)))
        return b.extend(b.convert("trunc", found, "i32"), False) if dtype is int32 else found


def _captures(nodes: Iterable[Node]) -> dict[GraphValue, GraphValue]:
    """By values in branches of these nodes, the values outside that they are."""
    return {inner: outer for node in nodes for branch in node.subgraphs.values() for outer, inner in branch.captures}


def _constant(x: int) -> Affine:
    return Affine(_times(_ONE, x), _ZERO)


def _sum(x: Sum, y: Sum) -> Sum:
    total: Counter[GraphValue | None] = Counter()
    for value, factor in (*x, *y):
        total[value] += factor
    return frozenset({(value, factor) for value, factor in total.items() if factor})


def _times(x: Sum, many: int) -> Sum:
    return frozenset({(value, factor * many) for value, factor in x if many})


def _as_constant(x: Sum) -> int | None:
    """The value of a sum without invariants; else None."""
    return None if any(value is not None for value, _ in x) else sum(factor for _, factor in x)


def _added(x: Affine, y: Affine) -> Affine:
    return Affine(_sum(x.base, y.base), _sum(x.stride, y.stride))


def _negative(x: Affine) -> Affine:
    return Affine(_times(x.base, -1), _times(x.stride, -1))


def _multiplied(x: Affine, y: Affine) -> Affine | None:
    for factor, other in (x, y), (y, x):
        many, each = _as_constant(factor.base), _as_constant(other.stride)
        if factor.stride:
            continue
        if many is not None:
            return Affine(_times(other.base, many), _times(other.stride, many))
        if each is not None and not other.base:  # a multiple of the number of the iteration
            return Affine(_ZERO, _times(factor.base, each))
    return None


_AFFINE: Final[dict[str, Callable[..., Affine | None]]] = {
    "add": _added, "subtract": lambda x, y: _added(x, _negative(y)), "negative": _negative, "cast": lambda x: x,
    "multiply": _multiplied}
