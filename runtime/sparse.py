"""Sparse tensors (`tf.sparse`)."""
from __future__ import annotations

from runtime.core.public_names import hint_at_public_names
from runtime.ops.segments import sparse_segment_mean as segment_mean
from runtime.ops.segments import sparse_segment_sqrt_n as segment_sqrt_n
from runtime.ops.segments import sparse_segment_sum as segment_sum
from runtime.ops.sparse import (
    SparseTensor,
    add,
    from_dense,
    map_values,
    maximum,
    minimum,
    reduce_sum,
    reorder,
    sparse_dense_matmul,
    to_dense,
)
from runtime.ops.sparse_shapes import concat, expand_dims, mask, reset_shape, reshape, retain, slice, transpose
from runtime.ops.sparse_values import bincount, eye, reduce_max, softmax, to_indicator

__all__ = [
    "SparseTensor", "add", "bincount", "concat", "expand_dims", "eye", "from_dense", "map_values", "mask", "maximum",
    "minimum", "reduce_max", "reduce_sum", "reorder", "reset_shape", "reshape", "retain", "segment_mean",
    "segment_sqrt_n", "segment_sum", "slice", "softmax", "sparse_dense_matmul", "to_dense", "to_indicator",
    "transpose",
]

hint_at_public_names(__name__)
