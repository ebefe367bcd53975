"""Which of several boxes that overlap are kept."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 11.1, 0, 10.1],
                  [0, 100, 1, 101]], np.float32)
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], np.float32)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize(("count", "options", "wanted"), [
    (3, {}, [3, 0, 5]), (2, {}, [3, 0]), (9, {"iou_threshold": 0.9}, [3, 0, 1, 2, 4, 5]),
    (9, {"score_threshold": 0.4}, [3, 0]), (9, {"score_threshold": 2.0}, []), (0, {}, [])])
def test_hard_suppression(executor: str, count: int, options: dict[str, Any], wanted: list[int]) -> None:
    traced = rt.function(lambda b, s: rt.image.non_max_suppression(b, s, count, **options), executor=executor)
    found = traced(BOXES, SCORES)
    assert found.dtype == rt.int32 and found.numpy().tolist() == wanted
    chosen, scores = rt.image.non_max_suppression_with_scores(BOXES, SCORES, count, **options)
    assert chosen.numpy().tolist() == wanted
    np.testing.assert_array_equal(scores, SCORES[wanted])


def test_soft_suppression_lowers_scores() -> None:
    chosen, scores = rt.image.non_max_suppression_with_scores(
        BOXES, SCORES, 6, iou_threshold=1.0, soft_nms_sigma=0.5)
    expected = [0.95, 0.9, 0.3, 0.75 * np.exp(-(0.9 / 1.1) ** 2), 0.5 * np.exp(-(0.9 / 1.1) ** 2)]
    last = 0.6 * np.exp(-(0.9 / 1.1) ** 2) * np.exp(-(0.8 / 1.2) ** 2)
    order = np.argsort(-np.array([*expected, last]), kind="stable")
    assert chosen.numpy().tolist() == np.array([3, 0, 5, 1, 4, 2])[order].tolist()
    np.testing.assert_allclose(scores, np.array([*expected, last])[order], rtol=1e-5)


def drawn(images: Any, boxes: Any, colors: Any) -> Any:
    """The outlines pixel by pixel."""
    result = images.copy()
    height, width = images.shape[1:3]
    for image, rows in zip(result, boxes, strict=True):
        for number, box in enumerate(rows):
            top, left, bottom, right = (box * np.float32([height - 1, width - 1] * 2)).astype(int)
            for y in range(max(top, 0), min(bottom + 1, height)):
                for x in range(max(left, 0), min(right + 1, width)):
                    if y in (top, bottom) or x in (left, right):
                        image[y, x] = colors[number % len(colors)]
    return result


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_boxes_are_drawn(channels: int, executor: str) -> None:
    rng = np.random.default_rng(channels)
    images = rng.random((2, 9, 12, channels), np.float32)
    boxes = np.concatenate([rng.uniform(-0.3, 0.6, (2, 13, 2)), rng.uniform(0.3, 1.4, (2, 13, 2))], -1).astype("f4")
    boxes[0, :2] = [[0.8, 0.8, 0.2, 0.2], [-0.5, -0.5, -0.2, -0.2]]  # upside down, and outside
    colors = rng.random((3, channels), np.float32)
    draw = on(executor, rt.image.draw_bounding_boxes)
    np.testing.assert_array_equal(draw(images, boxes, colors), drawn(images, boxes, colors))
    np.testing.assert_array_equal(rt.image.draw_bounding_boxes(images, boxes, colors), drawn(images, boxes, colors))
    np.testing.assert_array_equal(draw(images, boxes[:, :0], colors), images)
    yellow, blue = ([[1, 1, 0, 1], [0, 0, 1, 1]] if channels > 1 else [[1], [1]])
    found = draw(np.zeros_like(images), np.float32([[[0, 0, 0.5, 0.5]], [[0, 0, 0.5, 0.5]]]))
    assert found[0, 0, 0].numpy().tolist() == yellow[:channels] and not found[0, 8, 11].numpy().any()
    found = draw(np.zeros_like(images), np.float32([[[0, 0, 1, 1]] * 2] * 2))
    assert found[0, 0, 0].numpy().tolist() == blue[:channels]


def test_boxes_that_do_not_fit_images() -> None:
    images = np.zeros((1, 4, 4, 5), np.float32)
    for error, text, arguments in (
            (rt.errors.ShapeError, "colours for images of 1 to 4 channels, not of 5", (images, np.zeros((1, 1, 4)))),
            (rt.errors.ShapeError, "takes boxes of rank 3", (images, np.zeros((1, 4), np.float32)))):
        with pytest.raises(error, match=text):
            rt.image.draw_bounding_boxes(*arguments)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_best_boxes_of_all_classes(shared: bool, executor: str) -> None:
    rng = np.random.default_rng(0)
    boxes = np.concatenate([rng.uniform(-0.1, 0.5, (2, 20, 3, 2)), rng.uniform(0.5, 1.1, (2, 20, 3, 2))], -1)
    boxes = boxes[:, :, :1 if shared else 3].astype(np.float32)
    scores = rng.random((2, 20, 3), np.float32)
    traced = rt.function(lambda b, s: rt.image.combined_non_max_suppression(
        b, s, 4, 7, iou_threshold=0.3, score_threshold=0.2), executor=executor)
    found, best, kinds, counts = traced(boxes, scores)
    assert found.shape == (2, 7, 4) and kinds.shape == best.shape == (2, 7)
    for image in range(2):
        rows = [(float(scores[image, i, k]), k, boxes[image, i, 0 if shared else k]) for k in range(3)
                for i in rt.image.non_max_suppression(boxes[image, :, 0 if shared else k], scores[image, :, k], 4, 0.3,
                                                      0.2).numpy()]
        rows = sorted(rows, key=lambda row: -row[0])[:7]
        assert counts[image] == len(rows) and not best[image, len(rows):].numpy().any()
        assert best[image].numpy().tolist()[:len(rows)] == [row[0] for row in rows]
        assert kinds[image].numpy().tolist()[:len(rows)] == [row[1] for row in rows]
        np.testing.assert_array_equal(found[image][:len(rows)], np.clip([row[2] for row in rows], 0, 1))
    padded = rt.image.combined_non_max_suppression(boxes, scores, 2, 9, pad_per_class=True, clip_boxes=False)
    assert padded[0].shape == (2, 6, 4) and padded[0].numpy().max() > 1
    with pytest.raises(rt.errors.ShapeError, match="takes boxes .b, n, q, 4. and scores"):
        rt.image.combined_non_max_suppression(boxes[0], scores, 4, 7)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_suppression_in_several_images(executor: str) -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3], [4, 4, 5, 5]],
                      [[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0.9, 1]]], np.float32)
    scores = np.array([[0.1, 0.9, 0.5, 0.3], [0.4, 0.3, 0.2, 0.1]], np.float32)

    def padded(boxes: Any, scores: Any) -> Any:
        return rt.image.non_max_suppression_padded(boxes, scores, 3, 0.5, 0.2, pad_to_max_output_size=True)

    found, count = on(executor, padded)(boxes, scores)
    assert found.numpy().tolist() == [[1, 2, 3], [0, 0, 0]] and count.numpy().tolist() == [3, 1]
    alone, number = padded(boxes[1], scores[1])
    assert alone.numpy().tolist() == [0, 0, 0] and int(number) == 1
    short, number = rt.image.non_max_suppression_padded(boxes[0], scores[0], 2)
    assert short.numpy().tolist() == [1, 2] and int(number) == 2
    with pytest.raises(rt.errors.InvalidArgumentError, match="pad_to_max_output_size must be True"):
        rt.image.non_max_suppression_padded(boxes, scores, 2)
