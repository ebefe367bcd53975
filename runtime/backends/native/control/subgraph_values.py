"""Values at the borders of control flow's subgraphs: captures, results as phis, and the cost of an iteration."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.index_expressions import Array, Boxed, Leaf, Listed, Scalar, same
from runtime.backends.native.codegen.variables import ASSIGN, Variable, changes_any, variables_of
from runtime.backends.native.llvm.builder import Index, Val
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import ListType, TensorType, Type

__all__ = ["captured", "changed", "cost_of", "joined", "pack", "set_variables", "unpack"]


def captured(w: Lowering, node: Node, values: Sequence[Value]) -> list[dict[GraphValue, Value]]:
    """The environment of each subgraph: its captures, computed; buffers that it must not write become read-only
    views."""
    count = len(node.operands)
    envs: list[dict[GraphValue, Value]] = []
    at = count
    for graph in node.subgraphs.values():
        env: dict[GraphValue, Value] = {}
        for _, inner in graph.captures:
            x = w.settle(w.as_type(values[at], inner.type))
            if isinstance(x, Listed) and not (_last(w, node, at) and w.is_alone(x, node.inputs[at])):
                invariant = x.invariant or node.op.name in ("reduce", "while_loop")
                x = Listed(x.dtype, x.dims, x.pair, x.length, scratch=False, invariant=invariant)
            if isinstance(x, Leaf) and x.scratch and not _free(w, node, at, x):
                x = Leaf(x.dtype, x.dims, x.pointer, x.strides, bases=x.bases)
            env[inner] = x
            at += 1
        envs.append(env)
    return envs


def _free(w: Lowering, node: Node, at: int, x: Leaf) -> bool:
    """Whether a branch may write the buffer of a captured value."""
    return _last(w, node, at) and w.unread(x, node.inputs[at])


def _last(w: Lowering, node: Node, at: int) -> bool:
    """Whether the node, a `cond`, is the last use of a captured value."""
    value = node.inputs[at]
    return node.op.name == "cond" and w.last.get(value) == w.node_index and value not in node.operands


def changed(w: Lowering, *graphs: Graph | None) -> list[Variable]:
    """The variables that graphs may assign."""
    if not w.variables:
        return []
    present = [graph for graph in graphs if graph is not None]
    if any(changes_any(node) for graph in present for node in graph.walk()):
        return list(w.variables)
    return variables_of(*present, ops=ASSIGN)


def cost_of(w: Lowering, *graphs: Graph | None) -> Index:
    """A rough lower bound of the nanoseconds per iteration."""
    arrays = [x for x in w.env.values() if isinstance(x, Array) and any(isinstance(d, Val) for d in x.dims)]
    unknown: Index = 1024  # elements of an array of unknown size: the maximum of these sizes
    for x in arrays:
        size = w.b.i64(w.b.product(x.dims))
        unknown = size if isinstance(unknown, int) else w.b.intrinsic("smax", unknown, size)
    known, times = 0, 0
    for graph in graphs:
        for node in graph.walk() if graph is not None else ():
            known += 1
            work = _WORK.get(node.op.name)
            each = 1 if work is None else work(node)
            for shape in _computed(node):
                if None in shape:
                    times += each
                elif shape:
                    known += math.prod(shape) * each // 8  # type: ignore[arg-type]
    return w.b.iadd(known, w.b.imul(w.b.idiv(unknown, 8), times)) if times else known


def _computed(node: Node) -> list[Sequence[int | None]]:
    """The shapes of the results that a node computes. For an update, that of the inserted part: the rest mostly stays
    in place, and otherwise `Lowering.copy` accounts for it."""
    if node.subgraphs:
        return []
    if node.op.name == "scatter":
        return [node.inputs[2].type.shape]  # type: ignore[union-attr]
    shapes: list[Sequence[int | None]] = [v.type.shape for v in node.outputs if isinstance(v.type, TensorType)]
    if node.op.name == "setitem":
        entries = [entry for entry in node.params["index"] if entry is not None]
        return [[size for k, size in enumerate(shapes[0]) if k >= len(entries) or type(entries[k]) is tuple]]
    return shapes


def _inner(node: Node) -> int:
    """The length of the sums in a matrix product, divided by four, plus one."""
    shape = node.inputs[0].type.shape  # type: ignore[union-attr]
    last = shape[-1] if shape else 1
    return 256 if last is None else last // 4 + 1


def _kernel(node: Node) -> int:
    sizes = node.inputs[1].type.shape[:-1]  # type: ignore[union-attr]
    return math.prod([8 if size is None else size for size in sizes]) // 4 + 1


_WORK: Final[dict[str, Callable[[Node], int]]] = {"matmul": _inner, "einsum": _inner, "conv": _kernel}


def joined(w: Lowering, types: Sequence[Type], places: Sequence[int | None], merged: Sequence[Val],
           owners: Sequence[Sequence[Value]]) -> list[Value]:
    """The results after branches, from their phis. `owners`: the results of each branch that reaches its end."""
    results = unpack(w, types, places, merged)
    for k, x in enumerate(results):
        if isinstance(x, Listed):
            lists = [s for mine in owners if isinstance(s := mine[k], Listed)]
            if len({s.pair.ref for s in lists}) == 1:
                x.pair = lists[0].pair
            x.scratch = all(s.scratch for s in lists)
        if isinstance(x, Leaf):
            sources = [mine[k] for mine in owners]
            x.bases = x.bases.union(*[s.bases for s in sources if isinstance(s, Leaf)])
            if not all(isinstance(s, Leaf) for s in sources):
                continue
            leaves = [s for s in sources if isinstance(s, Leaf)]
            # the same buffer in all branches, or buffers that the branches own
            if len({s.pointer.ref for s in leaves}) == 1:
                x.pointer = leaves[0].pointer
            x.scratch = all(s.scratch for s in leaves)
            x.dims = tuple([first if all(same(first, d) for d in others) else d
                            for d, first, *others in zip(x.dims, *[s.dims for s in leaves], strict=True)])
    return results


def pack(w: Lowering, types: Sequence[Type], places: Sequence[int | None], results: Sequence[Value]) -> list[Val]:
    """The phi operands of values: scalars, addresses, unknown dimensions. Objects are moved to their slots."""
    vals: list[Val] = []
    moves = []
    for type, place, x in zip(types, places, results, strict=True):
        if place is not None:
            assert isinstance(x, Boxed)
            moves.append((place, x.place))
            continue
        if isinstance(x, Listed):
            vals += [x.pair, x.length]
            continue
        assert isinstance(type, TensorType)
        if isinstance(x, Scalar):
            vals.append(x.val)
            continue
        leaf = w.leaf(x)
        vals += [leaf.pointer, *[w.b.i64(d) for d, known in zip(leaf.dims, type.shape, strict=True) if known is None]]
    w.move(moves)
    return vals


def unpack(w: Lowering, types: Sequence[Type], places: Sequence[int | None], vals: Sequence[Val]) -> list[Value]:
    packed = iter(vals)
    results: list[Value] = []
    for type, place in zip(types, places, strict=True):
        if place is not None:
            results.append(Boxed(place))
            continue
        if isinstance(type, ListType):
            results.append(Listed(type.element.dtype, tuple(type.element.shape), next(packed), next(packed)))
            continue
        assert isinstance(type, TensorType)
        if not type.shape:
            results.append(Scalar(type.dtype, next(packed)))
        else:
            pointer = next(packed)
            results.append(Leaf(type.dtype, [next(packed) if d is None else d for d in type.shape], pointer))
    return results


def set_variables(w: Lowering, storages: Sequence[Variable], values: Sequence[Value]) -> None:
    for s, x in zip(storages, values, strict=True):
        w.variables[s] = x
