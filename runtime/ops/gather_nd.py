"""`gather_nd`: rows of indices that each select an element or slice."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core.errors import IndexOutOfRangeError
from runtime.core.op import Op, Sample
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType, int32
from runtime.ops.creation import range as range_
from runtime.ops.creation import zeros
from runtime.ops.gather import are_within, boolean_mask, columns_of, depth_of, ignores, tensor_scatter_nd_update
from runtime.ops.math import cast
from runtime.ops.op_makers import apply_one, named
from runtime.ops.shape import broadcast_to, dims, reshape, stack


def _gather_nd_kernel(x: Any, indices: Any) -> Any:
    index = columns_of(x.shape, indices)
    return x[index] if index else np.broadcast_to(x, (*indices.shape[:-1], *x.shape))


def _gather_nd_rule(x: TensorType, indices: TensorType) -> TensorType:
    depth = depth_of("gather_nd", x, indices)
    return x.with_shape((*indices.shape[:-1], *x.shape[depth:]))


def _gather_nd_samples(rng: np.random.Generator) -> Iterable[Sample]:
    x = rng.random((4, 5, 3))
    for lead in ((), (2,), (2, 3), (0,)):
        for depth in range(4):
            yield (x, rng.integers(0, 3, (*lead, depth))), {}


GATHER_ND: Final = Op("gather_nd", _gather_nd_kernel, _gather_nd_rule, samples=_gather_nd_samples,
                      errors=(IndexOutOfRangeError,),
                      doc="Slices by rows of indices, each of which indexes the leading dimensions.")


def with_places_in_batch(rows: Tensor, batch_dims: int) -> Tensor:
    """Rows of indices, each after its own place along the first axes."""
    sizes = dims(rows)
    grids = []
    for axis in range(batch_dims):
        line = [1] * (rows.ndim - 1)
        line[axis] = -1
        grid = reshape(cast(range_(sizes[axis]), rows.dtype), line)
        grids.append(broadcast_to(grid, sizes[:-1]))
    return stack([*grids, *[rows[..., k] for k in range(rows.type.shape[-1] or 0)]], -1)


def gather_nd(
    params: Any, indices: Any, batch_dims: int = 0, name: str | None = None, bad_indices_policy: str = ""
) -> Tensor:
    """The slices `params[row]` for the rows of `indices` along its last axis (`tf.gather_nd`).

    Shape: indices.shape[:-1] + params.shape[indices.shape[-1]:]. IndexOutOfRangeError; with the
    `bad_indices_policy` "IGNORE" a row that is not within the tensor gives zeros instead.
    """
    x, rows = convert_to_tensor(params, strings=True), convert_to_tensor(indices, dtype_hint=int32)
    if batch_dims:
        rows = with_places_in_batch(rows, batch_dims)
    if not ignores("gather_nd", bad_indices_policy):
        return named(apply_one(GATHER_ND, x, rows), name)
    within = reshape(are_within(x, rows), [-1])
    flat = reshape(rows, [-1, rows.shape[-1]])
    found = apply_one(GATHER_ND, x, boolean_mask(flat, within))
    places = boolean_mask(range_(dims(flat)[0]), within)
    filled = tensor_scatter_nd_update(zeros([dims(flat)[0], *dims(found)[1:]], x.dtype), places[:, None], found)
    return named(reshape(filled, [*dims(rows)[:-1], *dims(found)[1:]]), name)
