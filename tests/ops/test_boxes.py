"""Which of several boxes that overlap are kept."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt

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
