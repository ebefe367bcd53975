"""Sparse tensors (`tf.sparse`)."""
from __future__ import annotations

from runtime.ops.sparse import (
    SparseTensor,
    add,
    from_dense,
    map_values,
    maximum,
    minimum,
    reduce_sum,
    sparse_dense_matmul,
    to_dense,
    transpose,
)
from runtime.ops.sparse_shapes import concat, expand_dims, reorder, reshape, retain, slice

__all__ = [
    "SparseTensor", "add", "concat", "expand_dims", "from_dense", "map_values", "maximum", "minimum", "reduce_sum",
    "reorder", "reshape", "retain", "slice", "sparse_dense_matmul", "to_dense", "transpose",
]
