"""Sparse tensors (`tf.sparse`)."""
from __future__ import annotations

from runtime.ops.sparse import (
    SparseTensor,
    add,
    concat,
    expand_dims,
    from_dense,
    map_values,
    maximum,
    minimum,
    reduce_sum,
    reorder,
    reshape,
    retain,
    slice,
    sparse_dense_matmul,
    to_dense,
    transpose,
)

__all__ = [
    "SparseTensor", "add", "concat", "expand_dims", "from_dense", "map_values", "maximum", "minimum", "reduce_sum",
    "reorder", "reshape", "retain", "slice", "sparse_dense_matmul", "to_dense", "transpose",
]
