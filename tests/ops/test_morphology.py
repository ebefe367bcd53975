"""Dilation and erosion of images, against windows by Python, with gradients against differences."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

RNG = np.random.default_rng(0)
X, FILTER = RNG.normal(size=(2, 9, 8, 3)), RNG.normal(size=(3, 2, 3))


def dilated(x: Any, kernel: Any, strides: tuple[int, int], rates: tuple[int, int], same: bool) -> Any:
    spans = [(size - 1) * rate + 1 for size, rate in zip(kernel.shape, rates, strict=False)]
    if same:
        counts = [-(-size // step) for size, step in zip(x.shape[1:3], strides, strict=True)]
        missing = [max((n - 1) * step + span - size, 0) for n, step, span, size in zip(
            counts, strides, spans, x.shape[1:3], strict=True)]
        x = np.pad(x, [(0, 0), *[(m // 2, m - m // 2) for m in missing], (0, 0)], constant_values=-np.inf)
    counts = [(size - span) // step + 1 for size, span, step in zip(x.shape[1:3], spans, strides, strict=True)]
    found = np.empty((x.shape[0], *counts, x.shape[3]))
    for i, j in np.ndindex(*counts):
        rows, columns = (slice(at * step, at * step + span, rate) for at, step, span, rate in zip(
            (i, j), strides, spans, rates, strict=True))
        found[:, i, j] = (x[:, rows, columns] + kernel).max((1, 2))
    return found


@pytest.mark.parametrize("executor", ["eager", "native", "numpy"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("strides", "rates"), [((1, 1), (1, 1)), ((2, 3), (1, 1)), ((1, 1), (2, 2))])
def test_dilation_and_erosion(strides: tuple[int, int], rates: tuple[int, int], padding: str, executor: str) -> None:
    def run(x: Any, kernel: Any, function: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch([x, kernel])
            y = function(x, kernel, [1, *strides, 1], padding, "NHWC", [1, *rates, 1])
            loss = rt.reduce_sum(y * y)
        return y, *tape.gradient(loss, [x, kernel])

    expected = dilated(X, FILTER, strides, rates, padding == "SAME")
    opposite = -dilated(-X, FILTER[::-1, ::-1], strides, rates, padding == "SAME")
    for function, wanted in ((rt.nn.dilation2d, expected), (rt.nn.erosion2d, opposite)):
        traced = run if executor == "eager" else on(executor, run)
        y, dx, dkernel = traced(rt.constant(X), rt.constant(FILTER), function)
        np.testing.assert_allclose(y, wanted)
        sign = 1 if function is rt.nn.dilation2d else -1
        np.testing.assert_allclose(rt.reduce_sum(dx), (2 * wanted).sum())  # each window passes all to one element
        np.testing.assert_allclose(rt.reduce_sum(dkernel), sign * (2 * wanted).sum())


def test_errors() -> None:
    ones = [1, 1, 1, 1]
    for error, text, arguments in (
            (rt.errors.ShapeError, "dilation2d takes images .n, h, w, c. and filters", (X[0], FILTER, ones, "SAME")),
            (rt.errors.ShapeError, "dilation2d takes images", (X, FILTER[..., :2], ones, "SAME")),
            (rt.errors.InvalidArgumentError, 'takes the padding "SAME" or "VALID"', (X, FILTER, ones, "FULL")),
            (rt.errors.InvalidArgumentError, "of dilation2d are .1, of rows", (X, FILTER, [2, 1, 1, 1], "SAME")),
            (rt.errors.DTypeError, "dilation2d", (X.astype(int), FILTER.astype(int), ones, "SAME"))):
        with pytest.raises(error, match=text):
            rt.nn.dilation2d(*arguments, "NHWC", ones)
