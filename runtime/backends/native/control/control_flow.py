"""Control flow: `cond`, `while_loop` and `reduce` as basic blocks, with phis for loop-carried values.

Scalars are carried in registers. A loop-carried array has a buffer of its own. The loop writes it in place where each
new element depends only on old elements at the same position, or where an item is set and the old array is dead;
otherwise it swaps two buffers. So a steady-state loop does not allocate.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime.backends.native.codegen.context import Lowering, Value, listed, lowers
from runtime.backends.native.codegen.index_expressions import Leaf, Listed, Scalar
from runtime.backends.native.codegen.variables import Variable
from runtime.backends.native.control.branch_buffers import at_home, homes_of
from runtime.backends.native.control.plain_loops import inside_loop, write_reduce, write_while
from runtime.backends.native.control.subgraph_values import captured, changed, joined, pack, set_variables, unpack
from runtime.backends.native.kernels.shapes import integer
from runtime.backends.native.llvm.builder import Val, const
from runtime.backends.native.loops import (
    division_speculation,
    in_bounds,
    register_tiling,
    spmd_analysis,
    spmd_scheduling,
    time_skewing,
)
from runtime.backends.native.loops.if_conversion import type_of
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import ListType, Type

__all__: list[str] = []


# cond

@lowers("cond")
def cond(w: Lowering, node: Node, *values: Value) -> list[Value]:
    b = w.b
    true, false = node.params["true"], node.params["false"]
    envs = captured(w, node, values)
    kept = {x.pair.ref for x in values if isinstance(x, Listed) and x.scratch}
    storages = changed(w, true, false)
    homes = homes_of(w, node)
    before, dirty = dict(w.variables), dict(w.dirty)
    types: list[Type] = [v.type for v in node.outputs] + [s.type for s in storages]
    places = [w.new_object() if isinstance(type, ListType) and not listed(type) else None for type in types]
    owners: list[list[Value]] = []
    ends: list[dict[Variable, None]] = []

    def branch(graph: Graph, env: dict[GraphValue, Value]) -> Callable[[], list[Val]]:
        def write() -> list[Val]:
            w.variables, w.dirty = dict(before), dict(dirty)
            with w.scope():
                results = w.run(graph, env)
                if b.done:  # an exception was surely raised: nothing may be written after it
                    return []
                results += [w.variables[s] for s in storages]
                results = [w.as_type(x, type) for x, type in zip(results, types, strict=True)]
                results = at_home(w, _unaliased_lists(w, results, kept), homes)
                vals = pack(w, types, places, results)
                owners.append(results)
                ends.append(w.dirty)
            return vals

        return write

    condition = w.element(values[0])
    with in_bounds.taken_ahead(w, true, envs[0]), in_bounds.taken_ahead(w, false, envs[1]):
        merged = b.either(condition, branch(true, envs[0]), branch(false, envs[1]))
    w.variables = dict(before)
    w.dirty = {s: None for end in ends for s in end} if ends else dict(dirty)
    if not ends:
        return [w.undefined(v.type) for v in node.outputs]
    results = joined(w, types, places, merged, owners)
    set_variables(w, storages, results[len(node.outputs):])
    return results[:len(node.outputs)]


def _unaliased_lists(w: Lowering, results: Sequence[Value], kept: set[str]) -> list[Value]:
    """The results of a branch. A list is copied if it shares memory with another result, or with a list that is used,
    and may be changed, after the branch (`kept`: the addresses of such memory)."""
    found: list[Value] = []
    taken: set[str] = set()
    for x in results:
        if isinstance(x, Listed) and x.dims is not None:
            if x.pair.ref in taken or (not x.scratch and x.pair.ref in kept):
                x = w.copy_list(x)
            taken.add(x.pair.ref)
        found.append(x)
    return found


# Loops

def _by_blocks(w: Lowering, node: Node, body: Graph, test: Graph | None, items: int, state: Sequence[Value],
               envs: dict[str, dict[GraphValue, Value]], length: Value | None,
               whole: Callable[[Sequence[Value]], list[Value]]) -> list[Value] | None:
    """Emit the loop as register tiles, if possible. `whole` emits the untiled loop from a given state."""
    b = w.b
    plan = register_tiling.planned(node, body, test, items)
    if plan is None:
        return None
    found = register_tiling.runtime_check(w, plan, state, envs)
    if found is None:
        return None
    dims, fits = found
    w.writes_late |= _has_overwritten(w, state)
    state = [x if isinstance(x, Scalar) else w.leaf(x) for x in state]
    count: Val | None = None
    if length is not None:
        count = integer(w, length)
    w.long = True
    w.blocked.append(node)
    results, failed = register_tiling.write(w, plan, state, envs, count, dims, fits, 2 * len(body.nodes) + 8)
    if failed is None:
        return results
    types = [v.type for v in node.outputs]
    places: list[int | None] = [None] * len(types)

    made = [results]

    def again() -> list[Val]:
        dead, w.dead = w.dead, frozenset()
        with w.scope():
            made.append(whole(state))
            vals = pack(w, types, places, made[1])
        w.dead = dead
        return vals

    joined = unpack(w, types, places, b.either(failed, again, lambda: pack(w, types, places, results)))
    for k, value in enumerate(joined):
        if isinstance(value, Leaf):
            value.bases = value.bases.union(*[w.leaf(values[k]).bases for values in made])
    return joined


def _has_overwritten(w: Lowering, state: Sequence[Value]) -> bool:
    return any(isinstance(x, Leaf) and x.pointer.ref in w.overwritten for x in state)


def _by_sweeps(w: Lowering, node: Node, body: Graph, test: Graph | None, items: int, state: Sequence[Value],
               envs: dict[str, dict[GraphValue, Value]], length: Value | None) -> list[Value] | None:
    """Emit the loop with time skewing (several steps per pass over memory), if possible and worthwhile."""
    plan = time_skewing.planned(w, body, test, items, envs)
    if plan is None:
        return None
    w.swept.append((node, plan.steps))
    w.writes_late |= _has_overwritten(w, state)
    count = None if length is None else integer(w, length)
    with inside_loop(w):
        return time_skewing.write(w, plan, body, test, items, state, envs, count)


def _by_lanes(w: Lowering, node: Node, values: Sequence[Value], envs: dict[str, dict[GraphValue, Value]]
              ) -> list[Value] | None:
    """Emit the loop in SPMD form (iterations in vector lanes), if possible; few iterations run in a scalar loop."""
    plan = spmd_analysis.planned(node, w.module.vector_bits)
    if plan is None:
        return None
    w.laned[node] = plan if isinstance(plan, str) else plan.count
    if isinstance(plan, str):
        return None
    length = integer(w, values[0])
    first = [w.element(x) for x in values[1:1 + len(node.outputs)]]
    captured = [w.element(envs["body"][inner]) for _, inner in node.params["body"].captures]

    def one_by_one() -> list[Val]:
        with w.scope():
            return [w.element(x) for x in write_reduce(w, node, values, envs)]

    found = spmd_scheduling.write(w, plan, length, first, captured, one_by_one)
    return [Scalar(type_of(v).dtype, x) for v, x in zip(node.outputs, found, strict=True)]


def _speculated_steps(w: Lowering, node: Node, state: Sequence[Value], envs: dict[str, dict[GraphValue, Value]],
                 length: Value | None) -> tuple[Sequence[Value], Val]:
    """The state after the steps of a loop that division speculation runs, and their number: the loop resumes there."""
    plan = division_speculation.planned(w, node)
    if plan is None:
        return state, const("i64", 0)
    numbers = [w.element(x) for x in state]
    outer = {inner: w.element(x) for env in envs.values() for inner, x in env.items()}
    found, index = division_speculation.write(w, plan, numbers, outer, None if length is None else integer(w, length))
    return [Scalar(type_of(v).dtype, x) for v, x in zip(plan.body.outputs, found, strict=True)], index


@lowers("while_loop")
def while_loop(w: Lowering, node: Node, *values: Value) -> list[Value]:
    test, body = node.params["test"], node.params["body"]
    limited = bool(node.params.get("limited"))
    envs = dict(zip(node.subgraphs, captured(w, node, values), strict=True))
    count = len(node.operands) - limited
    limit = values[0] if limited else None
    state = values[limited:limited + count]
    found = _by_blocks(w, node, body, test, 0, state, envs, limit,
                       lambda state: write_while(w, node, state, limit, envs, int(limited)))
    if found is None:
        found = _by_sweeps(w, node, body, test, 0, state, envs, limit)
    if found is None:
        later, _ = _speculated_steps(w, node, state, envs, None)
        found = write_while(w, node, later, limit, envs, int(limited))
    return found


@lowers("reduce")
def reduce(w: Lowering, node: Node, *values: Value) -> list[Value]:
    body, test, stream = node.params["body"], node.params.get("test"), node.params.get("stream")
    sources = node.params.get("sources", 1)
    envs = dict(zip(node.subgraphs, captured(w, node, values), strict=True))
    count = len(node.operands) - sources
    items = len(body.inputs) - count
    found: list[Value] | None = None
    if stream is None and test is None:
        found = _by_blocks(w, node, body, None, items, values[1:1 + count], envs, values[0],
                           lambda state: write_reduce(w, node, [values[0], *state], envs))
        if found is None:
            found = _by_sweeps(w, node, body, None, items, values[1:1 + count], envs, values[0])
    if stream is None and found is None:
        found = _by_lanes(w, node, values, envs)
    if found is not None:
        return found
    state, index = _speculated_steps(w, node, values[1:1 + count], envs, values[0]) if stream is None else (
        values[sources:sources + count], const("i64", 0))
    return write_reduce(w, node, [*values[:sources], *state], envs, index)
