"""A report on how a graph was compiled: fused ops, tiled loops, and calls of Python with the reason."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from runtime.backends.native.codegen.context import Lowering
from runtime.core.graph import Node, Value
from runtime.core.types import ListType
from runtime.ops.control import LANE_BY_LANE, RECOMPUTED, SAVED

__all__ = ["report"]


def _place(node: Node) -> str:
    position = node.position
    return "" if position is None else f"{position.filename}:{position.lineno}: "


def _saved(nodes: Iterable[Node]) -> Iterator[str]:
    """What loops save for a backward pass (`runtime.autodiff.loops`)."""
    for node in nodes:
        if node.op.name not in ("while_loop", "reduce"):
            continue
        body = node.params["body"]
        state = {value for value in body.inputs if (value.hint or "").startswith(SAVED)}
        made = [value.node.inputs[1] for value in body.outputs
                if value.node is not None and value.node.op.name in ("list_append", "list_extend")
                and value.node.inputs[0] in state]
        sizes = [None if isinstance(value.type, ListType) else value.type.size for value in made]
        size = sum(n * value.type.dtype.size for n, value in zip(sizes, made) if n is not None)
        if made:
            names = ", ".join(_named(value) for value in made)
            known = f": {size} bytes" if None not in sizes else ""
            yield f"  {_place(node)}{node.op.name} saves in each iteration {names}{known}"
        again = [value for inner in body.nodes for value in inner.outputs
                 if (value.hint or "").startswith(f"{RECOMPUTED}_") and inner.op.name not in ("const", "undefined")]
        if again:
            names = ", ".join(_named(value).removeprefix(f"{RECOMPUTED}_") for value in again)
            yield f"  {_place(node)}{node.op.name} recomputes in each iteration {names}"


def _lane_by_lane(nodes: Iterable[Node]) -> Iterator[str]:
    """The ops of a vectorised map that run lane by lane (`runtime.batching`)."""
    for node in nodes:
        if node.op.name == "reduce" and node.params["body"].name.startswith(LANE_BY_LANE):
            what, _, why = node.params["body"].name.removeprefix(LANE_BY_LANE).partition(": ")
            yield f"  {_place(node)}{what} runs lane by lane: {why}"


def _named(value: Value) -> str:
    name = value.hint or (value.node.op.name if value.node is not None else "a value")
    return f"{name} ({value.type})"


def report(w: Lowering) -> str:
    """The text of `explain_native`."""
    nodes = list(w.graph.walk())
    lines = [f"{w.graph.name}: one native function of {len(nodes)} ops"]
    for names, dims in w.fused:
        counted = Counter(names)
        text = ", ".join(name if n == 1 else f"{n} {name}" for name, n in counted.items())
        shape = ",".join(str(d) if isinstance(d, int) else "?" for d in dims)
        lines.append(f"  one loop over [{shape}]: {text}")
    lines += [f"  {_place(node)}{node.op.name} runs block by block, in registers" for node in w.blocked]
    for node, how in w.laned.items():
        what = f"does not run in lanes: {how}" if isinstance(how, str) else f"runs {how} iterations at a time, in lanes"
        lines.append(f"  {_place(node)}{node.op.name} {what}")
    lines += [f"  {_place(node)}{node.op.name} makes {steps} steps in one pass over memory" for node, steps in w.swept]
    lines += [f"  {_place(node)}{node.op.name} goes on with quotients that it foresees, and checks them"
              for node in w.speculations]
    for node, steps in w.ahead.items():
        many = f"up to {steps}" if steps else "several"
        how = f"step by step: {steps}" if isinstance(steps, str) else f"for {many} steps of the loop at once"
        lines.append(f"  {_place(node)}{node.op.name} is made {how}")
    lines += [f"  {_place(node)}{node.op.name} multiplies by a matrix that is copied once, before the loop"
              for node in w.by_packed]
    lines += [f"  {_place(node)}{node.op.name} is added in place" for node in w.added]
    lines += [f"  {routine.name} is called directly, as a native function" for routine in w.direct]
    lines += _saved(nodes)
    lines += _lane_by_lane(nodes)
    lines += [f"  {_place(node)}{node.op.name} calls Python: {why}" for node, why in w.called_back]
    if not w.called_back:
        lines.append("  nothing calls Python" + (
            ", but to raise, print or assign" if any(node.effect for node in nodes) else ""))
    return "\n".join(lines)
