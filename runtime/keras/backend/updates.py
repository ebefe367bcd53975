"""Parts of tensors, and tensors with parts replaced (Keras' `backend.core`)."""
from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import runtime as rt
from runtime.ops.indexing import setitem

__all__ = ["scatter", "scatter_update", "slice", "slice_update", "unstack"]

_SCATTERS: dict[Any, Any] = {
    None: rt.tensor_scatter_nd_update, "add": rt.tensor_scatter_nd_add, "max": rt.tensor_scatter_nd_max,
    "min": rt.tensor_scatter_nd_min,
}


def scatter(indices: Any, values: Any, shape: Any) -> Any:
    """Zeros of `shape` with `values` added at `indices`."""
    return rt.scatter_nd(rt.convert_to_tensor(indices), rt.convert_to_tensor(values), shape)


def scatter_update(inputs: Any, indices: Any, updates: Any, reduction: str | None = None) -> Any:
    """`inputs` with `updates` at `indices`, shape [..., depth]; `reduction` combines old and new elements."""
    inputs = rt.convert_to_tensor(inputs)
    indices = rt.convert_to_tensor(indices)
    updates = rt.cast(rt.convert_to_tensor(updates), inputs.dtype)
    if reduction == "mul":
        return _scatter_mul(inputs, indices, updates)
    if reduction not in _SCATTERS:
        raise ValueError(f"Unsupported reduction: {reduction}")
    return _SCATTERS[reduction](inputs, indices, updates)


def _scatter_mul(inputs: Any, indices: Any, updates: Any) -> Any:
    """Apply the updates one after the other, as an index may occur twice."""
    depth = int(indices.shape[-1])
    indices = rt.reshape(indices, [-1, depth])
    updates = rt.reshape(updates, [-1, *inputs.shape[depth:]])

    def step(i: Any, x: Any) -> tuple[Any, Any]:
        at = indices[i:i + 1]
        return i + 1, rt.tensor_scatter_nd_update(x, at, rt.gather_nd(x, at) * updates[i:i + 1])

    return rt.while_loop(lambda i, x: i < indices.shape[0], step, (rt.constant(0), inputs))[1]


def slice(inputs: Any, start_indices: Any, shape: Any) -> Any:
    return rt.slice(rt.convert_to_tensor(inputs), start_indices, shape)


def slice_update(inputs: Any, start_indices: Any, updates: Any) -> Any:
    """`inputs` with the block at `start_indices` replaced by `updates`."""
    inputs, updates = rt.convert_to_tensor(inputs), rt.convert_to_tensor(updates)
    index = tuple(builtins.slice(start, start + size) for start, size in _ranges(start_indices, updates))
    return setitem(inputs, index, rt.cast(updates, inputs.dtype))


def _ranges(start_indices: Any, updates: Any) -> Sequence[tuple[Any, int]]:
    starts = [start_indices[i] for i in range(updates.ndim)]
    return list(zip(starts, updates.shape, strict=True))


def unstack(x: Any, num: int | None = None, axis: int = 0) -> Any:
    return rt.unstack(rt.convert_to_tensor(x), num, axis)
