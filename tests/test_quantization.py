"""Fake quantisation: its numbers, and gradients with those of the ends."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

X = np.array([-7, -5.9, -3.01, -0.1, 0, 0.012, 0.1, 3.3, 6, 7], np.float32)


def reference(x: Any, low: Any, high: Any, bits: int, narrow: bool) -> tuple[Any, Any, Any]:
    """The numbers, and the ends of the range moved so that 0 is one of them."""
    least, most = int(narrow), 2 ** bits - 1
    step = (high - low) / (most - least)
    zero = np.clip(np.floor(least - low / step + 0.5), least, most)
    low, high = (least - zero) * step, (most - zero) * step
    return np.floor((np.clip(x, low, high) - low) / step + 0.5) * step + low, low, high


@pytest.mark.parametrize("executor", ["eager", "native", "numpy"])
@pytest.mark.parametrize(("low", "high"), [(-6.0, 6.0), (-3.0, 5.0), (0.5, 4.0), (-4.0, -0.2)])
@pytest.mark.parametrize(("bits", "narrow"), [(8, False), (5, True)])
def test_numbers_and_gradients(bits: int, narrow: bool, low: float, high: float, executor: str) -> None:
    def run(x: Any, low: Any, high: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch([x, low, high])
            y = rt.quantization.fake_quant_with_min_max_vars(x, low, high, bits, narrow)
            loss = rt.reduce_sum(y * rt.range(10.0))
        return y, *tape.gradient(loss, [x, low, high])

    traced = run if executor == "eager" else on(executor, run)
    y, dx, dlow, dhigh = traced(rt.constant(X), rt.constant(low), rt.constant(high))
    expected, first, last = reference(X.astype(float), low, high, bits, narrow)
    np.testing.assert_allclose(y, expected, atol=1e-5)
    inside = (first - 1e-6 <= X) & (last + 1e-6 >= X)
    np.testing.assert_allclose(dx, np.arange(10) * inside)
    assert dlow == (np.arange(10) * (first - 1e-6 > X)).sum() and dhigh == (np.arange(10) * (last + 1e-6 < X)).sum()
    same = rt.quantization.fake_quant_with_min_max_args(X, low, high, bits, narrow)
    np.testing.assert_allclose(same, y, atol=1e-6)
    assert 0 in same.numpy()


def test_ranges_of_channels() -> None:
    x, low, high = X.reshape(5, 2), np.float32([-3, -1]), np.float32([3, 4])
    low, high = map(rt.constant, (low, high))
    with rt.GradientTape() as tape:
        tape.watch([low, high])
        y = rt.quantization.fake_quant_with_min_max_vars_per_channel(x, low, high)
        loss = rt.reduce_sum(y)
    for channel in range(2):
        own = rt.quantization.fake_quant_with_min_max_vars(x[:, channel], low[channel], high[channel])
        np.testing.assert_array_equal(y[:, channel], own)
    assert [each.numpy().tolist() for each in tape.gradient(loss, [low, high])] == [[1, 1], [1, 1]]


def test_errors() -> None:
    for text, options in (("min has to be smaller than max, was: 2 >= 1", {"min": 2, "max": 1}),
                          ("num_bits must be between 2 and 16, inclusive, not 1", {"num_bits": 1})):
        with pytest.raises(rt.errors.InvalidArgumentError, match=text):
            rt.quantization.fake_quant_with_min_max_args(X, **options)
