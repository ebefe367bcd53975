"""Products in a loop with a loop-invariant matrix, such as `h @ u` in the steps of an RNN: the matrix is packed once.

Any fast matrix product first packs the right matrix in the order in which it is read (`microkernel.py`); BLAS does so
in each call. Here a matrix that a loop captures is packed once before the loop, and each iteration multiplies by it, on
the runtime's threads: a BLAS's threads spin for a while after each call, and would compete with these.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.index_expressions import Leaf
from runtime.backends.native.codegen.parallel import THREADS_WORD
from runtime.backends.native.kernels.matmul import gemm
from runtime.backends.native.kernels.matmul.microkernel import (
    DEPTH,
    PACK_RIGHT,
    PACKED_PRODUCT,
    SIDE,
    Packed,
    fills,
    fits,
)
from runtime.backends.native.kernels.shapes import result_type
from runtime.backends.native.llvm.builder import Index, Val, const
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import DType

__all__ = ["PackedMatrix", "pack_invariants"]

_MOST: Final = 1 << 24  # multiplications: for larger products packing is a small part
_THREADS: Final = 1 << 18  # multiplications from which on several threads pay: they spin until the loop's next product
_WASTE: Final = 1.25  # maximal ratio of tiles to product: BLAS has smaller tiles


class PackedMatrix:
    """A packed matrix. `alone`: no BLAS computes products of the loop on threads of its own, which would compete with
    the runtime's."""

    def __init__(self, w: Lowering, y: Leaf, alone: bool) -> None:
        b = w.b
        self.size, self.columns = y.dims
        self.alone = alone
        self.code = Packed(w.module, y.dtype, False, False)
        self.memory = w.memory(y.dtype, [self.code.room(b, 0, self.size, self.columns)]).pointer
        y_turned, y_step = gemm.layout(w, y)
        copy = Packed(w.module, y.dtype, False, y_turned).declare(PACK_RIGHT)
        b.call("i32", copy, *map(b.i64, y.dims), y.pointer, b.i64(y_step), self.memory)

    def takes(self, w: Lowering, x: Leaf) -> bool:
        """Whether a left matrix has contiguous rows, as required."""
        return x.steps(w.b)[1] == 1

    def divides(self, rows: Index) -> bool:
        """Whether parallel regions may compute a product with `rows` rows: it needs no memory that threads would
        share."""
        return isinstance(rows, int) and rows % self.code.rows == 0

    def multiply(self, w: Lowering, x: Leaf, out: Leaf, alpha: Val | None = None) -> None:
        """Write the product of a matrix for which `takes` is true into `out`; with `alpha`, add that multiple of the
        product."""
        b = w.b
        arguments = [*map(b.i64, (x.dims[0], self.size, self.columns)), x.pointer, b.i64(x.steps(b)[0]), self.memory,
                     out.pointer, b.cell(alpha), self._threads(w, x.dims[0])]
        status = b.call("i32", self.code.declare(PACKED_PRODUCT), w.frame, *arguments)
        if not w.inside:
            w.leave_if_stopped(status)

    def _threads(self, w: Lowering, rows: Index) -> Val:
        """The maximal number of threads; 0: no other threads, and no polls for signals."""
        b = w.b
        if w.inside or not self.alone:
            return const("i64", 0 if w.inside else 1)
        pays = b.icmp("sge", b.i64(b.product([rows, self.size, self.columns])), const("i64", _THREADS))
        return b.select(pays, b.load("i64", w.word(THREADS_WORD)), const("i64", 1))


def pack_invariants(w: Lowering, body: Graph, env: Mapping[GraphValue, Value]) -> None:
    """Pack the matrices by which the body of a loop multiplies. `env`: the body's captures."""
    products = [node for node in body.nodes if node.op.name == "matmul"]
    found = {node: y for node in products if (y := _right(w, node, env)) is not None}
    alone = not any(node not in found and gemm.wakes(w.module, result_type(node).dtype, _sizes(node))
                    for node in products)
    made: dict[GraphValue, PackedMatrix] = {}
    for node in products:
        w.packed_operands.pop(node, None)
        if node in found:
            value = node.inputs[1]
            if value not in made:
                made[value] = PackedMatrix(w, found[node], alone)
            w.packed_operands[node] = made[value]


def _right(w: Lowering, node: Node, env: Mapping[GraphValue, Value]) -> Leaf | None:
    """The right matrix of a large product, if it is loop-invariant and packing pays."""
    y, dtype, work = env.get(node.inputs[1]), result_type(node).dtype, gemm.work_of(_sizes(node))
    if w.inside or not fits(w.module, dtype) or not isinstance(y, Leaf):
        return None
    if y.dtype is not dtype or len(y.dims) != 2 or len(result_type(node).shape) != 2 or not gemm.is_large(dtype, work):
        return None
    size, columns = y.dims
    if not (isinstance(size, int) and isinstance(columns, int) and 0 < size <= DEPTH and 0 < columns <= SIDE):
        return None
    if not _fills(w, dtype, result_type(node).shape[0], columns):
        return None
    return y if (work is None or work <= _MOST) and gemm.straight(w.b, y) is True else None


def _fills(w: Lowering, dtype: DType, rows: int | None, columns: int) -> bool:
    """Whether the tiles do not much exceed a product. For an unknown number of rows, only with 256-bit registers, whose
    tiles have few rows, so that little can be missing."""
    return w.module.vector_bits < 512 if rows is None else fills(w.module, dtype, rows, columns, _WASTE)


def _sizes(node: Node) -> gemm.Sizes:
    """The number of rows of a product, multiplications per element, and columns."""
    x, y = (v.type.shape for v in node.inputs)  # type: ignore[union-attr]
    return x[-2], x[-1], y[-1]
