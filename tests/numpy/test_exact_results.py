"""NumPy's functions of infinities, NaN, ints that wrap, bools and nothing: values and dtypes are NumPy's."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt

INF, NAN = np.inf, np.nan
SPECIAL = np.array([-INF, INF, NAN, -2.0, 0.0, -0.0, 3.0])
INTS, WRAPPING = np.array([-3, 1, 0, 2, -1]), np.array([200, 200, 3, 4], np.uint8)
BOOLS, FEW = np.array([True, False, True, True]), np.array([1.0, INF, 0.0, 2.0, 3.0])
Program = tuple[Callable[..., Any], Any]


def repeated(x: Any) -> Any:
    y, z = x.copy(), x.copy()
    np.putmask(y, x > 0, [7, 8])
    np.putmask(z, x > 2, 2.5)
    return y, z


def copied(x: Any) -> Any:
    y, z = np.zeros(5), np.zeros(5, np.int8)
    np.copyto(y, x)
    np.copyto(z, x * 100, "unsafe", where=x != 1)
    return y, z


def plus(x: Any) -> Any:
    y = +x
    y[0] = 9
    return x, y


SPECIAL_VALUES: dict[str, Program] = {
    "signbit": (lambda x: (np.signbit(x), np.signbit(x.astype(np.float16))), SPECIAL),
    "heaviside": (lambda x: (np.heaviside(x, 1.0), np.heaviside(x, x[::-1]), np.heaviside(2, x)), SPECIAL),
    "imag": (lambda x: (np.imag(x), x.imag, x.real, np.imag(x > 0)), SPECIAL),
    "reciprocal": (lambda x: (np.reciprocal(x), np.reciprocal(x.astype(np.int8)), np.reciprocal(x * 0.5)), INTS),
    "ldexp": (lambda x: (np.ldexp(x, 2000), np.ldexp(x.astype(np.float16), [[300], [-300]])), SPECIAL),
    "convolve": (lambda x: [np.convolve(x, x[:k], mode) for mode in ("full", "same", "valid") for k in (2, 5)], FEW),
    "convolve from the left": (lambda x: (np.convolve(x[::-1] * 1j, [1.0, 0.0]), np.convolve(x[:1], x)), FEW),
    "convolve, long": (lambda x: np.convolve(x, np.append(x, x[::-1])), np.append(np.arange(40.0), INF)),
    "correlate": (lambda x: (np.correlate(x, x, "full"), np.correlate(x, x[:2])), np.array([1.0, NAN, 0.0, INF])),
    "digitize": (lambda x: [np.digitize(x, bins, right) for right in (False, True) for bins in (
        [5, 3, 1], np.array([5, 3, 3, 1]), [1, 3, 5], [3, 3], [2])], np.array([3, 0, 6, 1, 5])),
    "digitize by an argument": (lambda x: (np.digitize(x, x), np.digitize(x, x[::-1], True)), np.array([4.0, 2.0])),
    "cov": (lambda x: (np.cov(x[:0]), np.cov(x[:1]), np.cov(x, ddof=9), np.cov(x[None, :0])), np.array([5.0, 6.0])),
}
SMALL_DTYPES: dict[str, Program] = {
    "trapezoid": (lambda x: [np.trapezoid(a, **given) for a in (x, x.astype(np.int8), x > 9) for given in (
        {}, {"dx": 2}, {"dx": 0.5}, {"x": [1, 2, 4, 8]})], WRAPPING),
    "trapezoid at places": (lambda x: (np.trapezoid(x, x), np.trapezoid(x, x * 0.5), np.trapezoid([1, 2, 5], x[1:])),
                            WRAPPING),
    "unwrap": (lambda x: (np.unwrap(x), np.unwrap(x > 9), np.unwrap(x, period=5.0)), WRAPPING),
    "unwrap ints": (lambda x: [np.unwrap(x.astype(dtype), 3, period=period) for period in (4, 5)
                               for dtype in (np.int8, np.int32, np.int64)], np.array([0, 100, 3, 4, 5])),
    "arange": (lambda x: (np.arange(x[0]), np.arange(1, x[2]), np.arange(x[1], x[0], np.int8(2))), WRAPPING[::-1]),
    "arange of others": (lambda x: (np.arange(x.astype(np.uint64)[0]), np.arange(x.astype(np.float16)[0]),
                                    np.arange(x.astype(np.int16)[0], 9.5)), WRAPPING[2:]),
    "full": (lambda x: (np.full_like(x, 3.7), np.full_like(x, [3, 400, -1, 0]), np.full_like(x, np.int64(300) + x[0]),
                        np.full_like(x, NAN), np.full_like(x, 300, dtype=float)), WRAPPING),
    "bincount": (lambda x: (np.bincount(x), np.bincount(x > 9, minlength=4), np.bincount(x, x)), WRAPPING),
}
OTHERS: dict[str, Program] = {
    "fix": (lambda x: (np.fix(x * 0.5), np.fix(x.astype(np.float32)), np.isposinf(x), np.isneginf(x)), SPECIAL),
    "infinite ints": (lambda x: (np.isposinf(x), np.isneginf(x > 0), np.iscomplex(x), np.isreal(x > 0)), INTS),
    "complex": (lambda x: (np.iscomplex(x), np.isreal(x), np.isnan(x), np.isinf(x), np.isfinite(x), np.isclose(x, x),
                           np.isclose(x, x, equal_nan=True)), np.array([1j, 2.0, NAN * 1j, INF, complex(1, INF)])),
    "indices_from": (lambda x: (*np.tril_indices_from(x, -1), *np.triu_indices_from(x[:, :2], k=1)), np.ones((3, 4))),
    "array_equal": (lambda x: [np.array_equal(x, y, equal_nan=is_nan) for is_nan in (False, True)
                               for y in (x, x + 1, x[:2], x[x > 0])], SPECIAL),
    "array_equal of ints": (lambda x: (np.array_equal(x, x, equal_nan=True), np.array_equal(x, x > 0, equal_nan=True)),
                            BOOLS),
    "extremes of bools": (lambda x: (np.nanmax(x), np.nanmin(x[None], axis=0), max(x), min(x[:1]), min(x), x.max(),
                                     max(x[0], x[1]), np.fmax(x, x[::-1]), abs(x), np.vdot(x, x[::-1])), BOOLS),
    "scalars along an axis": (lambda x: (np.sum(x[0], axis=0), x[1].max(axis=-1), np.prod(x[2], axis=0, keepdims=True),
                                         np.all(x[0], axis=0), np.cumsum(x[3], axis=0), np.argmax(x[0], axis=0),
                                         np.add.reduce(x[1]), np.minimum.reduce(x[1], axis=0)), WRAPPING),
    "where": (lambda x: (np.where(x > 9, x, 255), np.where(x > 9, 0, x), np.where(x > 9, x, 3),
                         np.where(x > 9, [1, 2, 3, 400], x), np.where(x > 9, 0.5, x)), WRAPPING),
    "clip": (lambda x: (np.clip(x, -1, 100), x.clip(5, 300), np.clip(x, -1, 256), np.clip(x, 5, None)), WRAPPING),
    "unique": (lambda x: (*np.unique(x[:0], True, True, True, axis=0), np.unique(x[:, :0], axis=0),
                          np.unique(x[:0], axis=1), np.unique(x, axis=-1)), np.array([[1, 1, 2], [3, 3, 4]])),
    "putmask": (repeated, np.arange(5)), "copyto": (copied, INTS), "+": (plus, SPECIAL[:2]),
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("case", [*SPECIAL_VALUES, *SMALL_DTYPES, *OTHERS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_in_numpy(case: str, executor: str) -> None:
    if case.startswith("trapezoid") and not hasattr(np, "trapezoid"):
        pytest.skip("np.trapezoid is of NumPy 2")
    program, x = (SPECIAL_VALUES | SMALL_DTYPES | OTHERS)[case]
    wanted, found = program(x), on(executor, program)(x)
    for want, got in zip(*[y if isinstance(y, (tuple, list)) else (y,) for y in (wanted, found)], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
        assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("value", [300, -1])
def test_where_takes_ints_that_the_array_can_hold(value: int, executor: str) -> None:
    """As NumPy does since 2.5; before, they wrapped."""
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 5):
        with pytest.raises(OverflowError):
            np.where(WRAPPING > 9, WRAPPING, value)
    with pytest.raises(OverflowError, match=f"{value}.*uint8"):
        rt.function(lambda x: np.where(x > 9, x, value), executor=executor)(WRAPPING)
