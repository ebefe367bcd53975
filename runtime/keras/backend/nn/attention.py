"""Attention."""
from __future__ import annotations

import math as python_math
from typing import Any

from runtime.core.tensor import Tensor
from runtime.keras.backend.promotion import agreed, in_dtype, result, tensor
from runtime.ops import creation, linalg, logic, nn
from runtime.ops import shape as shapes

__all__ = ["dot_product_attention"]


def dot_product_attention(query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, scale: Any = None,
                          is_causal: bool = False, flash_attention: bool | None = None,
                          attn_logits_soft_cap: float | None = None) -> Tensor:
    """Values [b, s, k, h] weighted by softmax(query · key), for queries [b, t, n, h]: [b, t, n, h].

    Groups of n / k heads share keys and values. The weights are computed in float32 at least. mask (bool) and bias
    broadcast to [b, n, t, s].
    """
    if flash_attention:
        raise RuntimeError("flash attention is a GPU's; the runtime backend has none")
    tensors = [tensor(each) for each in (query, key, value)]
    if any(each.ndim != 4 for each in tensors):
        raise ValueError("`dot_product_attention` only supports 4D inputs. Received: "
                         f"{', '.join(f'{tuple(each.shape)}' for each in tensors)}.")
    q, k, v = (shapes.transpose(each, [0, 2, 1, 3]) for each in agreed(*tensors))
    name = q.dtype.name
    heads, groups = shapes.dim(q, 1), shapes.dim(k, 1)
    sizes = shapes.dims(q)
    shared = k.type.shape[1] != q.type.shape[1]
    if shared:  # a group's heads become more rows of its queries
        q = shapes.reshape(q, [sizes[0], groups, (heads // groups) * sizes[2], sizes[3]])
    wide = result(name, "float32")
    depth = shapes.dim(q, 3)
    factor = 1 / python_math.sqrt(depth) if scale is None else scale
    logits = linalg.matmul(in_dtype(q, wide), in_dtype(k, wide), transpose_b=True) * factor
    per_head = [sizes[0], heads, sizes[2], shapes.dim(k, 2)]
    together = shapes.dims(logits)
    if shared:
        logits = shapes.reshape(logits, per_head)
    if bias is not None:
        logits = logits + in_dtype(_of_rank_4(tensor(bias)), wide)
    logits = _masked(logits, mask, is_causal)
    weights = in_dtype(nn.softmax(logits), name)
    if shared:
        weights = shapes.reshape(weights, together)
    found = linalg.matmul(weights, v)
    if shared:
        found = shapes.reshape(found, [*sizes[:3], shapes.dim(v, 3)])
    return shapes.transpose(found, [0, 2, 1, 3])


def _of_rank_4(x: Tensor) -> Tensor:
    """A mask or bias of rank 4, with an axis for heads."""
    while x.ndim < 4:
        x = shapes.expand_dims(x, 1 if x.ndim == 3 else 0)
    return x


def _masked(logits: Tensor, mask: Any, is_causal: bool) -> Tensor:
    kept = None if mask is None else _of_rank_4(in_dtype(tensor(mask), "bool"))
    if is_causal:
        rows = creation.range(shapes.dim(logits, 2))
        past = logic.greater_equal(rows[:, None], creation.range(shapes.dim(logits, 3)))
        kept = past if kept is None else logic.logical_and(kept, past)
    if kept is None:
        return logits
    return logic.where(kept, logits, -0.7 * float(logits.dtype.max))
