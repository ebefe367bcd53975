"""Moving averages of variables (`rt.train.ExponentialMovingAverage`)."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt


@pytest.mark.parametrize("trace", [lambda fn: fn, rt.function], ids=["eager", "traced"])
def test_averages(trace: Any) -> None:
    v, w = rt.Variable([1.0, 2.0], name="v"), rt.Variable(3.0)
    ema = rt.train.ExponentialMovingAverage(0.75)
    assert ema.average(v) is None
    update = trace(lambda: ema.apply([v, w]))
    want = np.array([1.0, 2.0])
    for _ in range(3):
        update()
        v.assign_add([1.0, 1.0])
        update()
        want = _after(want, v.numpy() - 1, v.numpy())
    np.testing.assert_allclose(ema.average(v), want, rtol=1e-6)
    assert float(ema.average(w)) == 3.0 and not ema.average(v).trainable
    assert ema.average(v).name == ema.average_name(v) + ":0" == "v/ExponentialMovingAverage:0"
    assert ema.variables_to_restore() == {ema.average_name(v): v, ema.average_name(w): w}


def _after(average: Any, *values: Any) -> Any:
    for value in values:
        average = 0.75 * average + 0.25 * value
    return average


def test_the_decay_of_the_first_updates() -> None:
    v, count = rt.Variable(8.0), rt.Variable(0)
    ema = rt.train.ExponentialMovingAverage(0.9, num_updates=count)
    ema.apply([v])
    v.assign(0.0)
    ema.apply([v])
    assert float(ema.average(v)) == pytest.approx(8.0 * 0.1)
    count.assign(1000)
    ema.apply([v])
    assert float(ema.average(v)) == pytest.approx(8.0 * 0.1 * 0.9)


def test_what_has_no_average() -> None:
    ema = rt.train.ExponentialMovingAverage(0.9)
    for wrong in (rt.constant(1.0), rt.Variable(1)):
        with pytest.raises(rt.errors.InvalidArgumentError, match="there are averages of"):
            ema.apply([wrong])
    with pytest.raises(rt.errors.InvalidArgumentError, match="zero_debias"):
        rt.train.ExponentialMovingAverage(0.9, zero_debias=True)
