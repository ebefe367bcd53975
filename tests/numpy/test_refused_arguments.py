"""Arguments for which NumPy's functions raise: the same class of exception eagerly and in graphs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on, on_both

import runtime as rt

NONE, ONE, SOME, TABLE = np.zeros(0), np.ones(1), np.array([1.0, 2.0, 4.0]), np.zeros((0, 3))
SQUARE = np.array([[1.0, 2.0], [3.0, 4.5]])
PLACES, BOOLS = np.array([0, 2]), np.array([True, False, True])
windows = np.lib.stride_tricks.sliding_window_view

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "max": (lambda x: x.max(), (NONE,)), "min of what is left": (lambda x: x[x > 5].min(), (SOME,)),
    "max of ints": (lambda x: np.max(x[x > 5]), (PLACES,)), "max along": (lambda x: np.max(x, axis=0), (TABLE,)),
    "max along, kept": (lambda x: x.max(axis=0, keepdims=True), (TABLE,)), "ptp": (lambda x: np.ptp(x), (NONE,)),
    "max of no rows": (lambda x: x.max(axis=1), (TABLE[:, :0],)), "reduce": (lambda x: np.minimum.reduce(x), (NONE,)),
    "reduce fmax": (lambda x: np.fmax.reduce(x[x > 5]), (SOME,)), "nanmax": (lambda x: np.nanmax(x), (NONE,)),
    "nanmin": (lambda x: np.nanmin(x[x > 5]), (SOME,)), "nanargmax": (lambda x: np.nanargmax(x), (NONE,)),
    "nanargmin": (lambda x: np.nanargmin(x, 0), (np.array([[1, np.nan], [2, np.nan]]),)),
    "histogram of nan": (lambda x: np.histogram(x), (np.array([1.0, np.nan]),)),
    "histogram to inf": (lambda x: np.histogram(x, range=(0, np.inf)), (SOME,)),
    "histogram reversed": (lambda x: np.histogram(x, range=(2, 1)), (SOME,)),
    "histogram of no bins": (lambda x: np.histogram(x, 0), (SOME,)),
    "histogram, edges": (lambda x: np.histogram(x, [1, 0, 2]), (SOME,)),
    "gradient": (lambda x: np.gradient(x), (ONE,)),
    "gradient of what is left": (lambda x: np.gradient(x[x > 5]), (SOME,)),
    "gradient along": (lambda x: np.gradient(x, axis=0), (TABLE,)),
    "gradient of order 2": (lambda x: np.gradient(x, edge_order=2), (SOME[:2],)),
    "windows": (lambda x: windows(x, 4), (SOME,)), "windows of what is left": (lambda x: windows(x[x > 1], 3), (SOME,)),
    "windows of a negative size": (lambda x: windows(x, -1), (SOME,)),
    "percentile": (lambda x: np.percentile(x, 101), (SOME,)),
    "quantile": (lambda x: np.quantile(x, [0.5, -0.1]), (SOME,)),
    "partition": (lambda x: np.partition(x, 3), (SOME,)), "argpartition": (lambda x: np.argpartition(x, -4), (SOME,)),
    "bincount": (lambda x: np.bincount(x - 1), (PLACES,)),
    "digitize": (lambda x: np.digitize(x, [1.0, 3, 2]), (SOME,)),
    "interp": (lambda x: np.interp(1.0, x, x), (NONE,)), "convolve": (lambda x: np.convolve(x, x), (NONE,)),
    "correlate": (lambda x: np.correlate(x, x[x > 5]), (SOME,)), "insert": (lambda x: np.insert(x, 4, 1.0), (SOME,)),
    "insert several": (lambda x: np.insert(x, [0, 4], 1.0), (SOME,)),
    "polyfit": (lambda x: np.polyfit(x, x, 1), (NONE,)),
    "average": (lambda x: np.average(x, weights=x * 0), (SOME,)), "cross": (lambda x: np.cross(x, x), (np.ones(4),)),
    "choose": (lambda x: np.choose(x, [1.0, 2.0]), (PLACES,)),
    "bincount of floats": (lambda x: np.bincount(x), (SOME,)),
    "bincount of rows": (lambda x: np.bincount(x), (np.array([[1]]),)),
    "bincount of a number": (lambda x: np.bincount(x), (np.array(3),)),
    "bincount, length": (lambda x: np.bincount(x, minlength=-1), (PLACES,)),
    "bincount, complex": (lambda x: np.bincount(x, weights=[1j, 2]), (PLACES,)),
    "convolve rows": (lambda x: np.convolve(x, x), (np.ones((2, 2)),)),
    "convolve by rows": (lambda x: np.convolve([1.0], x), (np.ones((2, 2)),)),
    "correlate by a number": (lambda x: np.correlate(x, 2.0), (SOME,)),
    "nonzero": (lambda x: np.nonzero(x), (np.array(3),)), "where": (lambda x: np.where(x), (np.array(3),)),
    "diff": (lambda x: np.diff(x), (np.array(3),)), "unique": (lambda x: np.unique(x, axis=2), (np.ones((2, 2)),)),
    "indices_from": (lambda x: np.triu_indices_from(x), (SOME,)), "isposinf": (lambda x: np.isposinf(x), (SOME * 1j,)),
    "quantile of complex": (lambda x: np.quantile(x, 0.5), (SOME * 1j,)),
    **{f"norm {order}": (lambda x, order=order: np.linalg.norm(x, order), (NONE,))
       for order in (-np.inf, "fro", "nuc")},
    **{f"norm {order} of rows": (lambda x, order=order: np.linalg.norm(x[x[:, 0] > 5], order), (SQUARE,))
       for order in (-np.inf, -2)}, "norm -1": (lambda x: np.linalg.norm(x[:, :0], -1), (SQUARE,)),
    "norm fro along": (lambda x: np.linalg.norm(x, "fro", 0), (SQUARE,)),
    "norm of three axes": (lambda x: np.linalg.norm(x[None], 2), (SQUARE,)),
    "cond": (lambda x: np.linalg.cond(x[:0, :0]), (SQUARE,)),
}
OF_ARRAYS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "==": (lambda x, y: x == y, (SOME, PLACES)), "!=": (lambda x, y: (x != y).any(), (SOME, PLACES)),
    "max of bools": (lambda x: x[:0].max(), (BOOLS,)),
    "percentile of bools": (lambda x: np.percentile(x, 50), (BOOLS,)),
    "copyto": (lambda x, y: np.copyto(y, x), (SOME[:2], PLACES)), "copyto of a number": (lambda x: np.copyto(x, 2.5), (
        PLACES,)), "copyto of a list": (lambda x: np.copyto(x, [1.5, 2]), (PLACES,)),
    "copyto, safe": (lambda x, y: np.copyto(x, y, casting="safe"), (np.ones(2, np.int8), PLACES)),
    "copyto of ints": (lambda x: np.copyto(x, 3), (BOOLS,)), "putmask": (lambda x, y: np.putmask(y, y > 0, x), (
        SOME[:2], PLACES)), "full_like": (lambda x: np.full_like(x, 300), (np.ones(2, np.uint8),)),
    "a number that does not fit": (lambda x: x + 300, (np.ones(2, np.uint8),)),
    "unwrap": (lambda x: np.unwrap(x, period=4), (np.ones(2, np.uint8),)),
    "+": (lambda x: +x, (BOOLS,)), "bool": (lambda x: bool(x), (SOME,)),
    "gradient of bools": (lambda x: np.gradient(x), (BOOLS,)), "round bools": (lambda x: np.round(x, 1), (BOOLS,)),
}


def python_class(error: BaseException) -> type[BaseException]:
    """The class among Python's own."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


@pytest.mark.parametrize("case", [*CASES, *OF_ARRAYS])
def test_as_numpy(case: str) -> None:
    pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    f, args = (CASES | OF_ARRAYS)[case]
    with pytest.raises(Exception) as wanted:
        f(*args)
    kind, tensors = python_class(wanted.value), [rt.constant(x) for x in args]
    for traced in on_both(f).values():
        with pytest.raises(kind, match=__file__):  # which says where
            traced(*args)
        if case in CASES:
            with pytest.raises(kind):
                traced(*tensors)
    if case in CASES:
        with pytest.raises(kind):
            f(*tensors)


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_what_a_handler_catches(executor: str) -> None:
    def top(x, k):
        try:
            return x[x > k].max()
        except ValueError:
            return -1.0

    staged = on(executor, top)
    assert [float(staged(SOME, k)) for k in (1.0, 3.0, 5.0)] == [4.0, 4.0, -1.0]


def test_tensors_keep_what_tf_says() -> None:
    x, y = rt.ones([3]), rt.ones([2])
    for f in (lambda x, y: x == y, rt.function(lambda x, y: x == y)):
        assert not f(x, y)
    assert float(rt.reduce_max(rt.ones([0]))) == float(rt.function(rt.reduce_max)(rt.ones([0]))) == -np.inf


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="an older NumPy takes one element")
@pytest.mark.parametrize("kind", [float, int, complex])
def test_an_array_is_no_number(kind: type) -> None:
    for x in (SOME[:1], SOME[None, :1]):
        with pytest.raises(TypeError, match=r"(?s)test_refused_arguments.py.*take an element of it, as a\[0\]"):
            rt.function(lambda a: kind(a))(x)
        assert rt.function(lambda a: kind(a.item()))(x) == 1


def test_text() -> None:
    with pytest.raises(ValueError, match=r"autodetected range of \[1.0, inf\] is not finite"):
        rt.function(lambda x: np.histogram(x))(np.array([1.0, np.inf]))
    with pytest.raises(ValueError, match=r"kth\(=3\) out of bounds \(2\)"):
        rt.function(lambda x: np.partition(x[x > 1], 3))(SOME)
