"""Functions of NumPy of a few lines, in traced functions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "result_type": lambda x: (np.zeros(2, np.result_type(x, np.float32)), np.zeros(2, np.result_type(x, 1)),
                              np.zeros(2, np.result_type(x.astype(np.int8), 0.5, np.float16))),
    "asfortranarray": lambda x: np.asfortranarray(x).ravel("K"),
    "sparse meshgrid": lambda x: np.meshgrid(x[0], x[1], sparse=True),
    "sparse meshgrid ij": lambda x: np.meshgrid(x[0], x[1, :2], indexing="ij", sparse=True),
    "rollaxis": lambda x: (np.rollaxis(x, 1), np.rollaxis(x[None], 2, 1), np.rollaxis(x[None], 0, 3),
                           np.rollaxis(x[None], -1), np.rollaxis(x[None], 0, -1)),
    "nan_to_num": lambda x: np.nan_to_num(np.sqrt(x), True, 7.0), "bitwise_count": lambda x: np.bitwise_count(
        np.int16(-200) + x.astype(np.int16)),
    "fromiter": lambda x: (np.fromiter((v * v for v in x[0]), dtype=float), np.fromiter(x[1], np.int32, 2)),
    "round bools": lambda x: (np.round(x > 0), (x > 0).round()), "sums of nothing": lambda x: (
        np.float64(sum(x[:0])), np.float64(sum(x[0, :0], 2.5))), "meshgrid": lambda x: np.meshgrid(x[0], x[1]),
    "kron": lambda x: (np.kron(x, 2.0), np.kron(2.0, x[0]), np.kron(x[0], x), np.kron(x, x[0]), np.kron(x[None], x),
                       np.kron(x, x), np.kron(x[0], x[1]), np.kron(x[0, 0], x[1, 2])),
    "full of a vector": lambda x: (np.full((2, 3), x[0]), np.full((3, 2), x[:, 0], np.float32), np.full((2, 3), x)),
    "array of a list": lambda x: np.array([float(v) for v in x[0]]) / 3,
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_in_numpy(program: Callable[[Any], Any], executor: str) -> None:
    x = np.arange(6.0).reshape(2, 3) - 2
    wanted, found = program(x), on(executor, program)(x)
    assert isinstance(found, tuple) == isinstance(wanted, tuple)
    for want, got in zip(*[y if isinstance(y, (tuple, list)) else (y,) for y in (wanted, found)], strict=True):
        np.testing.assert_allclose(got, want)
        assert np.asarray(got).dtype == want.dtype and np.shape(got) == want.shape


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("window", [np.hanning, np.hamming, np.blackman, np.bartlett])
def test_windows(window: Callable[..., Any], executor: str) -> None:
    f = rt.function(lambda n: window(n), executor=executor)
    for n in (1, 2, 7, 8):
        np.testing.assert_allclose(f(rt.constant(n)), window(n), atol=1e-12)


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_nan_to_num_in_place(executor: str) -> None:
    def f(x):
        y = np.nan_to_num(x, copy=False, nan=5.0)
        y[0] = 7
        return x.sum()

    given, passed = np.array([1.0, np.nan, np.inf]), np.array([1.0, np.nan, np.inf])
    assert float(on(executor, f)(passed)) == f(given)
    np.testing.assert_array_equal(passed, given)
    with pytest.raises(rt.errors.StagingError, match="a tensor does not change"):
        rt.function(lambda x: np.nan_to_num(x, copy=False))(rt.constant([1.0]))


EMPTY: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "norm inf": (lambda x: np.linalg.norm(x[x > 9], np.inf), 0.0),
    "norm inf of rows": (lambda x: np.linalg.norm(x[x[:, 0] > 9], np.inf, axis=0), np.zeros(3)),
    **{f"norm {order} of no columns": (lambda x, order=order: np.linalg.norm(x[:, :0], order), 0.0)
       for order in (None, 1, 2, np.inf, "fro", "nuc")},
    **{f"{function.__name__} of {name}": (lambda x, function=function, take=take: function(take(x), axis=0), want)
       for function in (np.median, np.nanmedian)
       for name, take, want in (("no columns", lambda x: x[:, :0], np.zeros(0)),
                                ("no rows", lambda x: x[x[:, 0] > 9], np.full(3, np.nan)))},
    "nanpercentile": (lambda x: np.nanpercentile(x[x > 9], 50), np.nan),
    "nanquantile": (lambda x: np.nanquantile(x[x > 2], 0.5), 3.0),
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize(("program", "want"), EMPTY.values(), ids=EMPTY)
def test_of_nothing(program: Callable[[Any], Any], want: Any, executor: str) -> None:
    """As in NumPy 2.3 and later; the norms of nothing are errors in earlier ones."""
    np.testing.assert_array_equal(on(executor, program)(np.arange(6.0).reshape(2, 3) - 2), want)
