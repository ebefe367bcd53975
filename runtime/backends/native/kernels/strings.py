"""Lowerings of ops on text. Formatting calls Python."""
from __future__ import annotations

from collections.abc import Sequence

from runtime.backends.native.codegen.context import Lowering, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Context, Scalar
from runtime.backends.native.llvm.builder import Val, const
from runtime.core.graph import Node
from runtime.core.types import bool_

__all__: list[str] = []


@lowers("equal_text")
def equal_text(w: Lowering, node: Node, x: Value, y: Value) -> Value:
    assert isinstance(x, Array) and isinstance(y, Array)
    b = w.b
    size = b.i64(x.dims[0])
    same = b.icmp("eq", size, b.i64(y.dims[0]))

    def step(k: Val, state: Sequence[Val]) -> list[Val]:
        return [b.and_(state[0], b.icmp("eq", x.at(Context(b), [k]), y.at(Context(b), [k])))]

    return Scalar(bool_, b.folded(0, b.select(same, size, const("i64", 0)), [same], step)[0])
