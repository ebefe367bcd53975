"""Several diagonals at a time, against loops over their elements (which agree with TensorFlow 2.21)."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt

ALIGN = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
KS: tuple[Any, ...] = (1, -1, (0, 1), (-1, 1), (-1, 0), (0, 0), (1, 1))


def places(n: int, m: int, k: Any, align: str) -> tuple[int, list[tuple[int, int, int, int]]]:
    """The length of the rows of diagonals, and for each element: its row, its place there, and where it is in the
    matrix."""
    low, high = k if isinstance(k, tuple) else (k, k)
    lengths = {d: min(n + min(d, 0), m - max(d, 0)) for d in range(low, high + 1)}
    longest = max(lengths.values())
    above, below = align.split("_")
    found = []
    for row, d in enumerate(range(high, low - 1, -1)):
        to_right = above == "RIGHT" if d > 0 else below == "RIGHT" if d < 0 else above == below == "RIGHT"
        for p in range(lengths[d]):
            found.append((row, p + (longest - lengths[d]) * to_right, p - min(d, 0), p + max(d, 0)))
    return longest, found


@pytest.mark.parametrize("align", ALIGN)
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("size", [(3, 3), (2, 4), (4, 2)])
def test_diagonals(size: tuple[int, int], k: Any, align: str) -> None:
    n, m = size
    x = np.arange(1.0, 2 * n * m + 1).reshape(2, n, m)
    longest, found = places(n, m, k, align)
    rows = 1 + (k[1] - k[0] if isinstance(k, tuple) else 0)
    parts = np.full((2, rows, longest), 9.0)
    changed, made = x.copy(), np.full((2, n, m), 7.0)
    for row, place, i, j in found:
        parts[:, row, place] = x[:, i, j]
        changed[:, i, j] = -x[:, i, j]
        made[:, i, j] = x[:, i, j]
    if rows == 1:
        parts = parts[:, 0]

    def program(x, parts):
        return (rt.linalg.diag_part(x, k=k, padding_value=9, align=align),
                rt.linalg.set_diag(x, -parts, k=k, align=align),
                rt.linalg.diag(parts, k=k, num_rows=n, num_cols=m, padding_value=7, align=align))

    unknown = [rt.TensorSpec([None] * x.ndim, rt.float64), rt.TensorSpec([None] * parts.ndim, rt.float64)]
    ways = [program, rt.function(program, input_signature=unknown, executor="numpy")]
    if align == "RIGHT_LEFT":
        ways.append(rt.function(program))
    for way in ways:
        for result, expected in zip(way(rt.constant(x), rt.constant(parts)), (parts, changed, made), strict=True):
            np.testing.assert_array_equal(result, expected)


def test_sizes_errors_and_derivatives() -> None:
    v = rt.constant([1.0, 2.0])
    assert rt.linalg.diag(v, k=1).shape == [3, 3] and rt.linalg.diag(v, k=-1, num_rows=5).shape == [5, 2]
    assert rt.linalg.diag([[0.0, 2.0], [3.0, 4.0], [5.0, 0.0]], k=(-1, 1)).numpy().tolist() == [[3.0, 2.0], [5.0, 4.0]]
    weights = rt.reshape(rt.range(9.0), [3, 3])
    gradient = rt.grad(lambda v: rt.reduce_sum(rt.linalg.diag(v, k=1) * weights))(v)
    assert gradient.numpy().tolist() == [1.0, 5.0]
    x = rt.ones([2, 3])
    for use, error, what in (
            (lambda: rt.linalg.diag(v, k=(1, 0)), rt.errors.InvalidArgumentError, "the lowest and the highest one"),
            (lambda: rt.linalg.diag(v, k=1, align="LEFT"), rt.errors.InvalidArgumentError, "align is one of"),
            (lambda: rt.linalg.diag(v, k=(0, 1)), rt.errors.ShapeError, "takes them in the last two axes"),
            (lambda: rt.linalg.diag(x, k=(-1, 1)), rt.errors.ShapeError, "takes 3 diagonals from -1 to 1"),
            (lambda: rt.linalg.diag_part(x, k=3), rt.errors.InvalidArgumentError, "has no diagonals from 3 to 3"),
            (lambda: rt.linalg.set_diag(x, v, k=-2), rt.errors.InvalidArgumentError, "has no diagonals from -2"),
            (lambda: rt.linalg.diag_part(v, k=1), rt.errors.ShapeError, "takes a matrix")):
        with pytest.raises(error, match=what) as info:
            use()
        assert "test_diagonals.py" in str(info.value)
