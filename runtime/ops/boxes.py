"""Boxes in images: drawn, and which of those that overlap are kept."""
from __future__ import annotations

from typing import Any, Final

import numpy as np

from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec, float32, int32
from runtime.ops import math
from runtime.ops.creation import range as range_
from runtime.ops.gather import gather_slices
from runtime.ops.host_functions import numpy_function
from runtime.ops.logic import equal, where
from runtime.ops.op_makers import named
from runtime.ops.reduction import reduce_max
from runtime.ops.shape import dim, dims, size, stack
from runtime.ops.sliding_windows import tensor

__all__ = ["combined_non_max_suppression", "draw_bounding_boxes", "non_max_suppression",
           "non_max_suppression_padded", "non_max_suppression_with_scores"]

_COLORS: Final = ((1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1), (0.5, 0.5, 0, 1),
                  (0.5, 0, 0, 1), (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1))


def draw_bounding_boxes(images: Any, boxes: Any, colors: Any = None, name: str | None = None) -> Tensor:
    """Images, floats [b, h, w, channels], with the outlines of boxes [b, n, (y1, x1, y2, x2)], whose coordinates are
    shares of the height and width; a later box covers earlier ones (`tf.image.draw_bounding_boxes`).

    `colors` [m, channels] are taken in turn; without them there are 10, of at most 4 channels. There is no gradient.
    ShapeError for other shapes.
    """
    x = math.stop_gradient(tensor("draw_bounding_boxes", "images", images, 2))
    places = math.cast(math.stop_gradient(tensor("draw_bounding_boxes", "boxes", boxes, 1)), float32)
    height, width, channels = dims(x, int32)[1:]
    sides = math.cast(stack([height - 1, width - 1] * 2), float32)
    top, left, bottom, right = (math.cast(places * sides, int32)[..., i, None, None] for i in range(4))
    row, column = range_(height)[:, None], range_(width)[None]
    in_rows, in_columns = (row >= top) & (row <= bottom), (column >= left) & (column <= right)
    is_on = (equal(row, top) | equal(row, bottom)) & in_columns | (equal(column, left) | equal(column, right)) & in_rows
    is_box = (top <= bottom) & (left <= right)
    last = reduce_max(where(is_on & is_box, range_(dim(places, 1))[:, None, None], -1), 1)
    table = _table(channels) if colors is None else convert_to_tensor(colors, dtype_hint=x.dtype)
    color = gather_slices(math.cast(table, x.dtype), math.maximum(last, 0) % dim(table, 0))
    return where((last >= 0)[..., None], color, x, name)


def _table(channels: Any) -> Any:
    """The colours of boxes for images of so many channels."""
    if not isinstance(channels, int) or channels > 4:
        raise located(ShapeError(f"draw_bounding_boxes has colours for images of 1 to 4 channels, not of {channels}",
                                 remedy="Pass colors, of the shape [m, channels]."))
    return convert_to_tensor(np.array([color[:channels] if channels > 1 else (1,) for color in _COLORS], np.float32))


def non_max_suppression(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The numbers of at most `max_output_size` of the boxes [n, (y1, x1, y2, x2)], the greatest scores [n] first, none
    of which overlaps a better one by more than `iou_threshold` (intersection over union)
    (`tf.image.non_max_suppression`). Only those with scores above `score_threshold` count."""
    chosen, _ = _chosen(boxes, scores, max_output_size, iou_threshold, score_threshold, 0.0)
    return named(chosen, name)


def non_max_suppression_padded(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False, name: str | None = None, sorted_input: bool = False,
    canonicalized_coordinates: bool = False, tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """As `non_max_suppression`, with the number of boxes (`tf.image.non_max_suppression_padded`): int32 [m], and a
    scalar. With `pad_to_max_output_size`, which images [..., n, 4] with scores [..., n] need, m is `max_output_size`,
    the rest of the numbers is 0, and the results are [..., m] and [...]. The last arguments are hints of TensorFlow's,
    which have no effect. InvalidArgumentError for several images without padding."""
    x, y = convert_to_tensor(boxes, dtype_hint=float32), convert_to_tensor(scores, dtype_hint=float32)
    if not pad_to_max_output_size:
        if x.ndim > 2:
            raise located(InvalidArgumentError(
                f"pad_to_max_output_size must be True for boxes of several images, {x.type}"))
        chosen = non_max_suppression(x, y, max_output_size, iou_threshold, score_threshold, name)
        return chosen, size(chosen)
    most = convert_to_tensor(max_output_size)
    numbers = [convert_to_tensor(value, float32) for value in (iou_threshold, score_threshold)]
    known = None if isinstance(most, GraphTensor) else int(most)
    chosen, count = numpy_function(_suppressed_in_each, [x, y, most, *numbers], [
        TensorSpec([*x.type.shape[:-2], known], int32), TensorSpec(x.type.shape[:-2], int32)])
    return named(chosen, name), count


def _suppressed_in_each(boxes: Any, scores: Any, most: Any, iou: Any, least: Any) -> tuple[Any, Any]:
    """The numbers of the boxes kept in each image, filled up with zeros, and how many these are."""
    lead = boxes.shape[:-2]
    found, count = np.zeros((*lead, int(most)), np.int32), np.zeros(lead, np.int32)
    for at in np.ndindex(lead):
        chosen, _ = _suppressed(boxes[at], scores[at], most, iou, least, np.float32(0))
        found[at][:len(chosen)], count[at] = chosen, len(chosen)
    return found, count


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
            left = left * np.exp(-0.5 * overlap ** 2 / sigma).astype(np.float32)
            is_open &= left > least
        else:
            is_open &= overlap <= iou
    return np.array(chosen, np.int32), np.array(found, np.float32)


def combined_non_max_suppression(
    boxes: Any, scores: Any, max_output_size_per_class: Any, max_total_size: Any, iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"), pad_per_class: bool = False, clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`non_max_suppression` in each class, and of its results the best of all classes
    (`tf.image.combined_non_max_suppression`).

    boxes: [b, n, q, 4], where q is 1 or the number of classes; scores: [b, n, classes]. Returns for each image the
    boxes [b, m, 4], their scores [b, m] and classes [b, m], as floats, and the number of boxes, int32[b]; the rest of
    the m = `max_total_size` are zeros. With `pad_per_class` m is at most `max_output_size_per_class` for each class.
    `clip_boxes`: coordinates are clipped to [0, 1].
    """
    x, y = convert_to_tensor(boxes, float32), convert_to_tensor(scores, float32)
    if x.ndim != 4 or y.ndim != 3 or x.type.shape[3] not in (4, None):
        raise located(ShapeError(f"combined_non_max_suppression takes boxes [b, n, q, 4] and scores [b, n, classes], "
                                 f"not {x.type} and {y.type}"))
    batch, _, classes = y.type.shape
    each, total = (int(np.asarray(size)) for size in (max_output_size_per_class, max_total_size))
    if pad_per_class:
        if classes is None:
            raise located(ShapeError("pad_per_class takes scores of a known number of classes"))
        total = min(total, each * classes)
    results = numpy_function(
        lambda x, y: _best_of_classes(x, y, each, total, iou_threshold, score_threshold, clip_boxes), [x, y],
        [TensorSpec([batch, total, 4], float32), TensorSpec([batch, total], float32),
         TensorSpec([batch, total], float32), TensorSpec([batch], int32)])
    found, best, kinds, count = results
    return named(found, name), best, kinds, count


def _best_of_classes(
    boxes: Any, scores: Any, each: int, total: int, iou: float, least: float, clips: bool
) -> tuple[Any, ...]:
    size, _, classes = scores.shape
    found, best, kinds = (np.zeros(shape, np.float32) for shape in ((size, total, 4), (size, total), (size, total)))
    count = np.zeros(size, np.int32)
    for image in range(size):
        rows = []
        for k in range(classes):
            own = boxes[image, :, k if boxes.shape[2] > 1 else 0]
            chosen, values = _suppressed(own, scores[image, :, k], each, np.float32(iou), np.float32(least), 0)
            rows += [(value, k, own[number]) for number, value in zip(chosen, values, strict=True)]
        rows = sorted(rows, key=lambda row: -row[0])[:total]
        count[image] = len(rows)
        for place, (value, k, box) in enumerate(rows):
            found[image, place], best[image, place], kinds[image, place] = box, value, k
    return np.clip(found, 0, 1) if clips else found, best, kinds, count
