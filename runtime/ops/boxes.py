"""Boxes in images: which of those that overlap are kept."""
from __future__ import annotations

from typing import Any

import numpy as np

from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec, float32, int32
from runtime.ops.effects import numpy_function
from runtime.ops.op_makers import named

__all__ = ["non_max_suppression", "non_max_suppression_with_scores"]


def non_max_suppression(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The numbers of at most `max_output_size` of the boxes [n, (y1, x1, y2, x2)], the greatest scores [n] first, none
    of which overlaps a better one by more than `iou_threshold` (intersection over union)
    (`tf.image.non_max_suppression`). Only those with scores above `score_threshold` count."""
    chosen, _ = _chosen(boxes, scores, max_output_size, iou_threshold, score_threshold, 0.0)
    return named(chosen, name)


def non_max_suppression_with_scores(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0, name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The same, and the scores of the boxes; with `soft_nms_sigma` above 0 boxes that overlap better ones are not left
    out, but get lower scores (`tf.image.non_max_suppression_with_scores`; N. Bodla et al., "Soft-NMS", 2017)."""
    return _chosen(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)


def _chosen(boxes: Any, scores: Any, count: Any, iou: Any, least: Any, sigma: Any) -> tuple[Tensor, Tensor]:
    numbers = [convert_to_tensor(x, float32) for x in (iou, least, sigma)]
    chosen, found = numpy_function(
        _suppressed, [convert_to_tensor(boxes, dtype_hint=float32), convert_to_tensor(scores, dtype_hint=float32),
                      convert_to_tensor(count), *numbers],
        [TensorSpec([None], int32), TensorSpec([None], float32)])
    return chosen, found


def _suppressed(boxes: Any, scores: Any, count: Any, iou: Any, least: Any, sigma: Any) -> tuple[Any, Any]:
    boxes = np.asarray(boxes, np.float32)
    corners = np.stack([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])])
    areas = np.prod(corners[1] - corners[0], axis=1)
    left = np.where(scores > least, scores, -np.inf).astype(np.float32)
    is_open = scores > least
    chosen: list[int] = []
    found: list[Any] = []
    while len(chosen) < count and is_open.any():
        best = int(np.argmax(np.where(is_open, left, -np.inf)))
        chosen.append(best)
        found.append(left[best])
        is_open[best] = False
        sides = np.minimum(corners[1], corners[1, best]) - np.maximum(corners[0], corners[0, best])
        inter = np.prod(np.maximum(sides, 0), axis=1)
        total = areas + areas[best] - inter
        overlap = np.where((areas > 0) & (areas[best] > 0), inter / np.where(total > 0, total, 1), 0)
        if sigma > 0:
            left = left * np.where(overlap <= iou, np.exp(-0.5 * overlap ** 2 / sigma), 0).astype(np.float32)
            is_open &= left > least
        else:
            is_open &= overlap <= iou
    return np.array(chosen, np.int32), np.array(found, np.float32)
