"""The widths of padding, and mirrored padding (REFLECT and SYMMETRIC mode)."""
from __future__ import annotations

from collections.abc import Sequence

from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.index_expressions import Array, Context, Formula, Place
from runtime.backends.native.kernels.shapes import check_sizes, wide
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.graph import Node

__all__ = ["mirrored", "widths"]

Widths = Sequence[tuple[Index, Index]]


def widths(w: Lowering, node: Node, x: Array, values: Sequence[Value]) -> Widths:
    """The widths in the last operand, for each axis before and after; the kernel raises if one is negative."""
    paddings = values[-1]
    assert isinstance(paddings, Array)
    leaf = w.leaf(paddings)
    found: list[tuple[Index, Index]] = []
    for axis in range(len(x.dims)):
        before, after = (wide(w.b, leaf.at(Context(w.b), [axis, k]), leaf.dtype) for k in range(2))
        check_sizes(w, node, [before, after], values)
        found.append((before, after))
    return found


def mirrored(w: Lowering, node: Node, x: Array, pairs: Widths, values: Sequence[Value]) -> Array:
    """`x` with its own elements mirrored at each end; in REFLECT mode the edge element is not repeated."""
    b = w.b
    least = 1 if node.params["mode"] == "REFLECT" else 0
    dims: list[Index] = []
    for size, (before, after) in zip(x.dims, pairs, strict=True):
        for width in (before, after):
            most = b.isub(size, least)
            if isinstance(width, int) and isinstance(most, int):
                w.fail_if(const("i1", 1) if width > most else None, node, values)
            else:
                w.fail_if(b.icmp("sgt", b.i64(width), b.i64(most)), node, values)
        dims.append(b.iadd(b.iadd(size, before), after))
    source = w.leaf(x)

    def inside(b: Builder, index: Index, size: Index, before: Index) -> Index:
        at = b.i64(b.isub(index, before))
        last = b.i64(b.isub(b.i64(b.isub(b.imul(size, 2), least)), 1))  # the sum of `at` and its mirror image
        low = b.select(b.icmp("slt", at, const("i64", 0)), b.sub(const("i64", least - 1), at), at)
        return b.select(b.icmp("sge", at, b.i64(size)), b.sub(last, at), low)

    def function(c: Context, place: Place) -> Val:
        at = [index if isinstance(before, int) and before == 0 and isinstance(after, int) and after == 0
              else inside(c.b, index, size, before)
              for index, size, (before, after) in zip(place, source.dims, pairs, strict=True)]
        return source.at(Context(c.b), at)

    return w.leaf(Formula(x.dtype, dims, function, cost=4))
