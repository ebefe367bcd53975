"""Division speculation in scalar loops whose iterations wait for a division: `x = x - f(x) / g(x)`.

A division has a longer latency than the rest of such an iteration, and the next iteration depends on it. But its
quotient can be predicted: the reciprocal of the last iteration's divisor, corrected to the second order, gives nearly
all of its bits by multiplications, and the result is added to a much larger `x`, where the error mostly vanishes in
rounding. So an iteration goes on with the predicted state while the division runs in parallel, and then compares the
two. If a bit differs, the state with the true quotient is used: the results are those of the plain loop, bit for bit.
(The processor predicts this branch, so that iterations overlap.)

Mispredicted iterations are wasted. Each consumes some of a credit, which the others slowly restore; when it is used up,
as with a divisor that changes in each iteration, the plain loop takes over.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from runtime.backends.native.codegen.context import Lowering
from runtime.backends.native.codegen.scalar_ops import ELEMENTWISE, FAILS, llvm_type
from runtime.backends.native.llvm.builder import Builder, Val, bits_of, const, is_float
from runtime.backends.native.loops.if_conversion import Registers, flat, safe, type_of
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import TensorType, float32, float64

__all__ = ["Speculation", "planned", "write"]

_MOST_OPS: Final = 64  # the processor cannot overlap longer iterations
_MOST_DIVISIONS: Final = 4
_CREDIT, _LOST, _GAINED = 512, 64, 1

Env = Mapping[GraphValue, Val]


class Speculation(NamedTuple):
    """The speculation in a loop: the `divisions` of its body, and the numbers of its `outputs` that depend on them.
    `items`: how many inputs of the body precede the state; `names`: maps captures of `body` and `test`, which have been
    if-converted, to those of the loop."""

    node: Node
    body: Graph
    test: Graph | None
    items: int
    names: Mapping[GraphValue, GraphValue]
    divisions: Sequence[Node]
    outputs: Sequence[int]


def planned(w: Lowering, node: Node) -> Speculation | None:
    """The speculation for a loop; None if it is impossible or not needed."""
    items = int(node.op.name == "reduce")
    if node.params.get("limited") or w.flags or not w.module.fma or not all(map(_is_plain, node.subgraphs.values())):
        return None
    body, names = flat(node.params["body"])
    test = node.params.get("test")
    if test is not None:
        test, more = flat(test)
        names |= more
    divisions = [n for n in body.nodes if n.op.name == "divide" and type_of(n.outputs[0]).dtype in (float32, float64)
                 and _is_awaited(body, body.inputs[items:], n)]
    if not 0 < len(divisions) <= _MOST_DIVISIONS or len(body.nodes) > _MOST_OPS:
        return None
    later = _dependents(body, {n.outputs[0] for n in divisions})
    return Speculation(node, body, test, items, names, divisions, [k for k, v in enumerate(body.outputs) if v in later])


def _is_plain(graph: Graph) -> bool:
    """Whether a graph consists of scalar arithmetic that cannot raise."""
    values = [*graph.inputs, *graph.outputs, *[inner for _, inner in graph.captures]]
    values += [v for node in graph.nodes for v in node.outputs]
    return all(isinstance(v.type, TensorType) and v.type.shape == () and not v.type.dtype.is_complex for v in values
               ) and all(_is_plain_op(node) for node in graph.nodes)


def _is_plain_op(node: Node) -> bool:
    name = node.op.name
    if name == "cond":
        return all(map(_is_plain, node.subgraphs.values()))
    return name in ("const", "cast") or (name in ELEMENTWISE and (name not in FAILS or safe(node)))


def _dependents(graph: Graph, values: set[GraphValue]) -> set[GraphValue]:
    """These values, and all values that depend on them."""
    found = set(values)
    for node in graph.nodes:
        if not found.isdisjoint(node.inputs):
            found.update(node.outputs)
    return found


def _is_awaited(body: Graph, state: Sequence[GraphValue], division: Node) -> bool:
    """Whether the next iteration's division depends on this one, and its quotient enters the state through a sum with a
    term that is independent of it."""
    later = _dependents(body, {division.outputs[0]})
    for before, after in zip(state, body.outputs, strict=True):
        if _is_summed(after, later) and division.outputs[0] in _dependents(body, {before}):
            return True
    return False


def _is_summed(value: GraphValue, later: set[GraphValue]) -> bool:
    """Whether a value depends on one of `later` through a sum with a term that does not."""
    found = [value] if value in later else []
    for v in found:  # grows during the iteration
        node = v.node
        if node is None:
            continue
        if node.op.name in ("add", "subtract") and not later.issuperset(node.inputs):
            return True
        found += [x for x in dict.fromkeys(node.inputs) if x in later and x not in found]
    return False


def write(w: Lowering, plan: Speculation, first: Sequence[Val], captured: Env, length: Val | None
          ) -> tuple[list[Val], Val]:
    """Run iterations from the state `first` on; returns the state after them, from which the plain loop resumes, and
    their number. `length`: the maximal number of iterations of a counted loop, also returned if its test ends it."""
    b = w.b
    n, zero = len(first), const("i64", 0)
    outer = {mine: captured[inner] for mine, inner in plan.names.items()}
    cell = b.alloca("i64")  # the credit, shared by all runs of the loop in a call
    b.entry.append(f"  store i64 {_CREDIT}, {cell}")
    start = [*first, zero, b.load("i64", cell)]
    start += [const(llvm_type(type_of(node.outputs[0]).dtype), 0) for node in plan.divisions]
    head, goes_on, inside, hit, miss, after = map(b.label, ("foresee", "more", "do", "hit", "miss", "plain"))
    before = b.block
    b.start(head)
    phis = [b.open_phi(x.ty, x, before) for x in start]
    vals = [value for value, _ in phis]
    state, index, credit, reciprocals = vals[:n], vals[n], vals[n + 1], vals[n + 2:]

    goes = _continues(w, plan, outer, state, index, length)
    exits = [b.block]
    b.branch(goes, goes_on, after)
    b.start(goes_on)
    exits.append(b.block)
    b.branch(b.icmp("sge", credit, zero), inside, after)
    b.start(inside)

    env = {**outer, **dict(zip(plan.body.inputs[plan.items:], state, strict=True))}
    if plan.items:
        ty = llvm_type(type_of(plan.body.inputs[0]).dtype)
        env[plan.body.inputs[0]] = index if ty == "i64" else b.convert("trunc", index, ty)
    exact = _run(w, plan.body, env)
    guess = _run(w, plan.body, env, dict(zip(plan.divisions, reciprocals, strict=True)))
    following = b.add(index, const("i64", 1))
    news = [b.fdiv(const(r.ty, 1), exact[node.inputs[1]]) for node, r in zip(plan.divisions, reciprocals, strict=True)]
    w.poll(2 * len(plan.body.nodes))
    outputs = plan.body.outputs
    b.line(f"br {_differ(b, [(exact[outputs[k]], guess[outputs[k]]) for k in plan.outputs])}, label %{miss}, "
           f"label %{hit}{b.module.unlikely()}")
    for label, values, change in ((hit, guess, _GAINED), (miss, exact, -_LOST)):
        b.start(label)
        if values is exact:
            b.line('call void asm sideeffect "", ""()')  # keeps LLVM from converting the branch to selects
        taken = [*[values[v] for v in outputs], following, b.add(credit, const("i64", change)), *news]
        for (_, close), x in zip(phis, taken, strict=True):
            close(x, b.block)
        b.jump(head)

    b.lines.append(f"{after}:")
    b.block, b.done = after, False
    if length is not None:
        index = b.phi("i64", (length, exits[0]), (index, exits[1]))
    b.store(credit, cell)
    w.speculations.append(plan.node)
    w.long = True
    return state, index


def _continues(w: Lowering, plan: Speculation, outer: Env, state: Sequence[Val], index: Val, length: Val | None) -> Val:
    """Whether there is another iteration."""
    b = w.b
    within = None if length is None else b.icmp("slt", index, length)
    if plan.test is None:
        assert within is not None
        return within
    values = _run(w, plan.test, {**outer, **dict(zip(plan.test.inputs, state, strict=True))})
    holds = values[plan.test.outputs[0]]
    if within is None:
        return holds
    return b.and_(within, b.or_(holds, b.icmp("eq", index, const("i64", 0))))  # a counted loop tests after each step


def _run(w: Lowering, graph: Graph, env: Env, reciprocals: Mapping[Node, Val] | None = None) -> Env:
    """The values of a graph's nodes. `reciprocals`: of the divisors of speculated divisions, approximately."""
    registers, values = Registers(w, 1), dict(env)
    for node in graph.nodes:
        (out,) = node.outputs
        if reciprocals and node in reciprocals:
            values[out] = _quotient(w.b, values[node.inputs[0]], values[node.inputs[1]], reciprocals[node])
        else:
            values[out] = registers.node(node, values)
    return values


def _quotient(b: Builder, x: Val, y: Val, reciprocal: Val) -> Val:
    """`x / y`, with an error of the order of the cube of the reciprocal's relative error."""
    error = b.fma(b.fneg(y), reciprocal, const(y.ty, 1))
    nearly = b.fmul(x, reciprocal)
    return b.fma(nearly, b.fma(error, error, error), nearly)


def _differ(b: Builder, pairs: Sequence[tuple[Val, Val]]) -> Val:
    """Whether the bits of any two numbers differ. The right-hand operands are hidden from the optimiser, which would
    otherwise substitute them for the left-hand ones where both are equal."""
    different = const("i64", 0)
    for pair in pairs:
        x, y = [_bits(b, x) for x in pair]
        y = b.op("i64", f'call i64 asm "", "=r,0"({y})')
        different = b.or_(different, b.xor(x, y))
    return b.icmp("ne", different, const("i64", 0))


def _bits(b: Builder, x: Val) -> Val:
    ty = f"i{bits_of(x.ty)}"
    x = b.bitcast(x, ty) if is_float(x.ty) else x
    return x if ty == "i64" else b.convert("zext", x, "i64")
